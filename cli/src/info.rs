//! `vkxfb info`: lists the devices, and what works on each.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use ash::vk;
use owo_colors::OwoColorize;
use serde::Serialize;
use serde_json::{Value, json};
use vkxfb::runtime::{Tuning, Workaround};
use vkxfb_probe::gpu::{DeviceInfo, OpenOptions, Profile, devices, layers};
use vkxfb_probe::run::{driver, version_string};
use vkxfb_probe::terminal::in_line;
use vkxfb_rewriter::lower::Backend;

use crate::layer::{Installed, NAME, installed};

/// The arguments of `vkxfb info`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct InfoArguments {
    /// Limit the features of the devices that are used
    #[arg(long, value_enum, default_value_t)]
    profile: Profile,
    /// Load this driver's library directly, or the one that its manifest (.json) names, without the Vulkan loader
    #[arg(long, value_name = "FILE")]
    driver: Option<PathBuf>,
    /// Also show what is done differently on a device: the workarounds for faults of its driver, and the tunings
    #[arg(short, long)]
    verbose: bool,
    /// Print JSON, which has all of it
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
The first line of a device says whether captures work there, and by what:
native is VK_EXT_transform_feedback, of the driver or of the Vulkan layer, the
only one that programs see which were not written for vkxfb; vertex and
compute are for programs that use vkxfb as a library.

Exit status: 0, or 2 if there is no loader, driver or device. With --json
the error is an object then, { \"error\": \"...\" }, in place of the list.";

#[derive(Serialize)]
struct Device<'a> {
    index: usize,
    name: &'a str,
    driver: String,
    api_version: String,
    device_type: &'static str,
    backends: Vec<BackendStatus>,
    /// The workarounds for faults of the device's driver.
    workarounds: Vec<Value>,
    /// The tunings that make captures faster on the device.
    tunings: Vec<Value>,
    layer: LayerStatus<'a>,
}

/// The places where the Vulkan layer is installed, and whether it is active in this process.
#[derive(Serialize)]
struct LayerStatus<'a> {
    /// Whether the loader has loaded the layer between this command and the driver.
    loaded: bool,
    /// The layer's description of its state on the device. `None` if the layer is not loaded.
    says: Option<&'a str>,
    /// The manifests of the layer that the loader finds.
    installed: &'a [Installed],
    /// The layers that the variable [`ASKED`] names, of this project or another, and that the loader does not find.
    not_found: &'a [String],
}

#[derive(Serialize)]
struct BackendStatus {
    name: &'static str,
    available: bool,
    /// The reasons why the backend is not available. Empty if it is available.
    reasons: Vec<String>,
}

fn of_workaround(workaround: &Workaround) -> Value {
    let Workaround { name, devices, reason, link, removal, .. } = *workaround;
    let effect = workaround.effect.to_string();
    json!({
        "name": name,
        "effect": effect,
        "devices": devices,
        "reason": reason,
        "link": link,
        "removal": removal,
    })
}

fn of_tuning(tuning: &Tuning) -> Value {
    let Tuning { name, devices, reason, .. } = *tuning;
    let effect = tuning.effect.to_string();
    json!({ "name": name, "effect": effect, "devices": devices, "reason": reason })
}

/// The variable by which users ask the loader for layers. It says nothing of those that it does not find, unless
/// VK_LOADER_DEBUG is set.
const ASKED: &str = "VK_INSTANCE_LAYERS";

/// Runs `vkxfb info`, and returns its exit status.
pub(crate) fn run(arguments: &InfoArguments) -> Result<u8> {
    let options = OpenOptions {
        driver: arguments.driver.clone(),
        profile: arguments.profile,
        ..OpenOptions::default()
    };
    let infos = crate::print::error_as_json(devices(&options), arguments.json)?;
    let installed = installed();
    // Without the loader nothing reads the variable.
    let not_found = match (&arguments.driver, std::env::var(ASKED)) {
        (None, Ok(asked)) => not_found(&asked, &layers()?),
        _ => Vec::new(),
    };
    let devices: Vec<Device<'_>> =
        infos.iter().map(|info| describe(info, &installed, &not_found)).collect();
    if arguments.json {
        crate::print::show_json(&devices)?;
        return Ok(0);
    }
    let mut text = String::new();
    for (info, device) in infos.iter().zip(devices) {
        let captures = device.captures();
        let Device { name, api_version, driver, device_type, .. } = device;
        let index = format!("{}:", device.index);
        writeln!(text, "{} {}: {captures}", index.bold(), in_line(name).bold())?;
        writeln!(text, "   Vulkan {api_version}, {}, {device_type}", in_line(&driver))?;
        for backend in device.backends {
            if backend.available {
                writeln!(text, "   {:8} {}", backend.name, "yes".green())?;
            } else {
                let reasons = in_line(&backend.reasons.join("; "));
                writeln!(text, "   {:8} {} {reasons}", backend.name, "no:".yellow())?;
            }
        }
        if let Some(says) = device.layer.says {
            writeln!(text, "   {:8} {}", "layer", in_line(says))?;
        }
        if !arguments.verbose {
            continue;
        }
        let identity = info.capabilities.identity();
        for Workaround { name, effect, devices, reason, link, removal, .. } in
            identity.workarounds()
        {
            writeln!(text, "   workaround {name}: {effect}")?;
            writeln!(text, "      {reason} ({devices}; {link})")?;
            writeln!(text, "      to be removed when {removal}")?;
        }
        for Tuning { name, effect, devices, reason, .. } in identity.tunings() {
            writeln!(text, "   tuning {name}: {effect}")?;
            writeln!(text, "      {reason} ({devices})")?;
        }
    }
    describe_layer(&installed, &mut text)?;
    for name in &not_found {
        let name = in_line(name);
        writeln!(text, "{} {ASKED} names {name}, which the loader does not find", "layer".red())?;
        if name.to_ascii_lowercase().contains("vkxfb") && name != NAME {
            writeln!(text, "   the layer of vkxfb is called {NAME}")?;
        }
    }
    crate::print::show_coloured(&text)?;
    Ok(0)
}

/// Returns the layers in the value of the variable [`ASKED`] that are not among `found`. The loader takes names apart
/// as the system takes paths of `PATH` apart.
fn not_found(asked: &str, found: &[String]) -> Vec<String> {
    let names = std::env::split_paths(asked).map(|name| name.to_string_lossy().trim().to_owned());
    names.filter(|name| !name.is_empty() && !found.contains(name)).collect()
}

impl Device<'_> {
    /// Says whether captures work on the device, and by which backends.
    fn captures(&self) -> String {
        let is_available = |name: &str| self.backends.iter().any(|b| b.name == name && b.available);
        // What the layer says begins so where it is active.
        let is_of_layer = self.layer.says.is_some_and(|says| says.starts_with("active"));
        let available = self.backends.iter().filter(|backend| backend.available);
        let names: Vec<_> = available
            .map(|backend| match backend.name {
                "native" if is_of_layer => "native (of the layer)",
                name => name,
            })
            .collect();
        let Some((last, others)) = names.split_last() else {
            return format!("{}", "captures do not work".red());
        };
        let list = match others {
            [] => (*last).to_owned(),
            others => format!("{} and {last}", others.join(", ")),
        };
        let programs = match (is_available(Backend::Native.name()), self.layer.loaded) {
            (true, _) => "",
            (false, true) => "; the layer gives programs no VK_EXT_transform_feedback",
            (false, false) => "; programs see no VK_EXT_transform_feedback without the layer",
        };
        format!("{} by {list}{programs}", "captures work".green())
    }
}

/// Adds the places where the layer is installed to `text`.
fn describe_layer(installed: &[Installed], text: &mut String) -> Result<()> {
    if installed.is_empty() {
        writeln!(text, "layer not installed; vkxfb layer install --user installs it")?;
    }
    for Installed { manifest, implicit, library, library_missing } in installed {
        let kind = if *implicit { "implicit" } else { "explicit" };
        let path = |path: &Path| in_line(&path.to_string_lossy());
        write!(text, "layer installed ({kind}): {}", path(manifest))?;
        if let Some(library) = library {
            let missing = if *library_missing { ", which is not there" } else { "" };
            write!(text, ", library {}{missing}", path(library))?;
        }
        writeln!(text)?;
    }
    Ok(())
}

fn describe<'a>(
    info: &'a DeviceInfo,
    installed: &'a [Installed],
    not_found: &'a [String],
) -> Device<'a> {
    let tool = info.tools.iter().find(|tool| tool.layer == NAME);
    let says = tool.map(|tool| tool.description.as_str());
    let capabilities = &info.capabilities;
    let backends = Backend::ALL.map(|backend| {
        let reasons = capabilities.availability(backend).err().map(|e| e.reasons);
        BackendStatus {
            name: backend.name(),
            available: reasons.is_none(),
            reasons: reasons.unwrap_or_default(),
        }
    });
    Device {
        index: info.index,
        name: &capabilities.device_name,
        driver: driver(capabilities),
        api_version: version_string(capabilities.device_api_version),
        device_type: match capabilities.device_type {
            vk::PhysicalDeviceType::CPU => "CPU",
            vk::PhysicalDeviceType::DISCRETE_GPU => "discrete GPU",
            vk::PhysicalDeviceType::INTEGRATED_GPU => "integrated GPU",
            vk::PhysicalDeviceType::VIRTUAL_GPU => "virtual GPU",
            _ => "other device",
        },
        backends: backends.into(),
        workarounds: capabilities.identity().workarounds().map(of_workaround).collect(),
        tunings: capabilities.identity().tunings().map(of_tuning).collect(),
        layer: LayerStatus { loaded: tool.is_some(), says, installed, not_found },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_that_the_loader_does_not_find_are_named() {
        let found = ["VK_LAYER_a".to_owned(), "VK_LAYER_b".to_owned()];
        let separator = if cfg!(windows) { ';' } else { ':' };
        let asked = |names: &[&str]| not_found(&names.join(&separator.to_string()), &found);
        assert_eq!(asked(&["VK_LAYER_a", "", "VK_LAYER_c", "VK_LAYER_b"]), ["VK_LAYER_c"]);
        assert!(asked(&[]).is_empty());
    }

    #[test]
    fn the_first_line_says_by_what_captures_work() {
        let line = |available: [bool; 3], says: Option<&str>| {
            let backends = Backend::ALL.into_iter().zip(available).map(|(backend, available)| {
                BackendStatus { name: backend.name(), available, reasons: Vec::new() }
            });
            let device = Device {
                index: 0,
                name: "",
                driver: String::new(),
                api_version: String::new(),
                device_type: "",
                backends: backends.collect(),
                workarounds: Vec::new(),
                tunings: Vec::new(),
                layer: LayerStatus { loaded: says.is_some(), says, installed: &[], not_found: &[] },
            };
            anstream::adapter::strip_str(&device.captures()).to_string()
        };
        assert_eq!(line([true; 3], None), "captures work by native, vertex and compute");
        assert_eq!(
            line([true; 3], Some("active: the driver has no VK_EXT_transform_feedback")),
            "captures work by native (of the layer), vertex and compute"
        );
        assert_eq!(
            line([false, false, true], None),
            "captures work by compute; programs see no VK_EXT_transform_feedback without the layer"
        );
        assert_eq!(
            line([false, false, true], Some("dormant: maxBoundDescriptorSets is 4")),
            "captures work by compute; the layer gives programs no VK_EXT_transform_feedback"
        );
        assert_eq!(line([false; 3], None), "captures do not work");
    }
}
