//! `vkxfb info`

use std::fmt::Write;

use anyhow::Result;
use ash::vk;
use owo_colors::OwoColorize;
use serde::Serialize;
use vkxfb::lower::Backend;
use vkxfb::probe::gpu::{DeviceInfo, devices};
use vkxfb::runtime::{Workaround, version_string};

/// Arguments of `vkxfb info`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Look at the devices as if they were no more than this
    #[arg(long, value_enum, default_value_t)]
    profile: super::ProfileName,
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
    /// What is done differently on it.
    workarounds: Vec<WorkaroundStatus>,
}

#[derive(Serialize)]
struct BackendStatus {
    name: &'static str,
    available: bool,
    /// Why not.
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

/// Runs `vkxfb info`.
pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    let devices = devices(arguments.profile.into(), false)?;
    let devices: Vec<Device<'_>> = devices.iter().map(describe).collect();
    if arguments.json {
        super::show(&format!("{}\n", serde_json::to_string_pretty(&devices)?))?;
        return Ok(0);
    }
    let mut text = String::new();
    for device in devices {
        let Device { name, api_version, driver, device_type, .. } = device;
        writeln!(text, "{} {}", format!("{}:", device.index).bold(), name.bold())?;
        writeln!(text, "   Vulkan {api_version}, {driver}, {device_type}")?;
        for backend in device.backends {
            if backend.available {
                writeln!(text, "   {:8} {}", backend.name, "yes".green())?;
            } else {
                let reasons = backend.reasons.join("; ");
                writeln!(text, "   {:8} {} {reasons}", backend.name, "no:".yellow())?;
            }
        }
        for WorkaroundStatus { name, effect, devices, reason, link, removal } in device.workarounds
        {
            writeln!(text, "   workaround {name}: {effect}")?;
            writeln!(text, "      {reason} ({devices}; {link})")?;
            writeln!(text, "      to be removed when {removal}")?;
        }
    }
    super::show(&text)?;
    Ok(0)
}

fn describe(info: &DeviceInfo) -> Device<'_> {
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
    }
}
