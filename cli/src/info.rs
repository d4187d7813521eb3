//! `vkxfb info`: lists the devices, and what works on each.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use ash::vk;
use owo_colors::OwoColorize;
use serde::Serialize;
use vkxfb::runtime::tunings::Tuning;
use vkxfb::runtime::version_string;
use vkxfb::runtime::workarounds::Workaround;
use vkxfb_probe::gpu::{DeviceInfo, OpenOptions, devices};
use vkxfb_probe::terminal::in_line;
use vkxfb_rewriter::lower::Backend;

use crate::layer::{Installed, NAME, installed};

/// The arguments of `vkxfb info`.
#[derive(Debug, clap::Args)]
pub(crate) struct InfoArguments {
    /// Limit the features of the devices that are used
    #[arg(long, value_enum, default_value_t)]
    profile: crate::options::ProfileName,
    /// Load this driver's library directly, without the Vulkan loader
    #[arg(long, value_name = "FILE")]
    driver: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Device<'a> {
    index: usize,
    name: &'a str,
    driver: String,
    api_version: String,
    device_type: &'static str,
    backends: Vec<BackendStatus>,
    /// The workarounds for faults of the device's driver.
    workarounds: Vec<WorkaroundStatus>,
    /// The tunings that make captures faster on the device.
    tunings: Vec<TuningStatus>,
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
}

#[derive(Serialize)]
struct BackendStatus {
    name: &'static str,
    available: bool,
    /// The reasons why the backend is not available. Empty if it is available.
    reasons: Vec<String>,
}

#[derive(Serialize)]
struct WorkaroundStatus {
    name: &'static str,
    effect: &'static str,
    devices: &'static str,
    reason: &'static str,
    link: &'static str,
    removal: &'static str,
}

impl From<&Workaround> for WorkaroundStatus {
    fn from(workaround: &Workaround) -> Self {
        let Workaround { name, devices, reason, link, removal, .. } = *workaround;
        Self { name, effect: workaround.effect.description(), devices, reason, link, removal }
    }
}

#[derive(Serialize)]
struct TuningStatus {
    name: &'static str,
    effect: &'static str,
    devices: &'static str,
    reason: &'static str,
}

impl From<&Tuning> for TuningStatus {
    fn from(tuning: &Tuning) -> Self {
        let Tuning { name, devices, reason, .. } = *tuning;
        Self { name, effect: tuning.effect.description(), devices, reason }
    }
}

/// Runs `vkxfb info`, and returns its exit status.
pub(crate) fn run(arguments: &InfoArguments) -> Result<u8> {
    let devices = devices(&OpenOptions {
        driver: arguments.driver.clone(),
        profile: arguments.profile.into(),
        ..OpenOptions::default()
    })?;
    let installed = installed();
    let devices: Vec<Device<'_>> = devices.iter().map(|info| describe(info, &installed)).collect();
    if arguments.json {
        crate::print::show_json(&devices)?;
        return Ok(0);
    }
    let mut text = String::new();
    for device in devices {
        let Device { name, api_version, driver, device_type, .. } = device;
        writeln!(text, "{} {}", format!("{}:", device.index).bold(), in_line(name).bold())?;
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
        for WorkaroundStatus { name, effect, devices, reason, link, removal } in device.workarounds
        {
            writeln!(text, "   workaround {name}: {effect}")?;
            writeln!(text, "      {reason} ({devices}; {link})")?;
            writeln!(text, "      to be removed when {removal}")?;
        }
        for TuningStatus { name, effect, devices, reason } in device.tunings {
            writeln!(text, "   tuning {name}: {effect}")?;
            writeln!(text, "      {reason} ({devices})")?;
        }
    }
    describe_layer(&installed, &mut text)?;
    crate::print::show_coloured(&text)?;
    Ok(0)
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

fn describe<'a>(info: &'a DeviceInfo, installed: &'a [Installed]) -> Device<'a> {
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
        driver: capabilities.driver(),
        api_version: version_string(capabilities.device_api_version),
        device_type: match capabilities.device_type {
            vk::PhysicalDeviceType::CPU => "CPU",
            vk::PhysicalDeviceType::DISCRETE_GPU => "discrete GPU",
            vk::PhysicalDeviceType::INTEGRATED_GPU => "integrated GPU",
            vk::PhysicalDeviceType::VIRTUAL_GPU => "virtual GPU",
            _ => "other device",
        },
        backends: backends.into(),
        workarounds: capabilities.identity().workarounds().map(Into::into).collect(),
        tunings: capabilities.identity().tunings().map(Into::into).collect(),
        layer: LayerStatus { loaded: tool.is_some(), says, installed },
    }
}
