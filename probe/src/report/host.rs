//! The machine on which a probe runs. Maintainers of drivers need to know it.

use std::ffi::CStr;
use std::fs::read_to_string;

use serde::{Deserialize, Serialize};

use crate::system;

/// The machine, as the operating system describes it. A property is `None` if it is not known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostInfo {
    /// The name of the operating system.
    pub os: String,
    /// The release of the kernel.
    pub kernel: Option<String>,
    /// The architecture for which the probe was built.
    pub architecture: String,
    /// The name of the board in its device tree, or of the product in the firmware.
    pub machine: Option<String>,
    /// The name of the processor.
    pub cpu: Option<String>,
    /// The size of main memory in KiB.
    pub memory_kib: Option<u64>,
}

impl HostInfo {
    /// Queries this machine.
    pub fn query() -> Self {
        if cfg!(windows) {
            let memory_kib = system::windows_memory_kib();
            return Self { memory_kib, ..Self::of_registry(system::registry_value) };
        }
        if cfg!(target_os = "macos") {
            return Self::of_sysctl(system::macos_value);
        }
        let first_text = |files: &[&str]| files.iter().find_map(|file| text(file));
        Self {
            os: std::env::consts::OS.to_owned(),
            kernel: text("/proc/sys/kernel/osrelease"),
            architecture: std::env::consts::ARCH.to_owned(),
            machine: first_text(&["/proc/device-tree/model", "/sys/class/dmi/id/product_name"])
                .or_else(|| android_machine(system::android_property)),
            cpu: read_to_string("/proc/cpuinfo").ok().as_deref().and_then(cpu),
            memory_kib: read_to_string("/proc/meminfo").ok().as_deref().and_then(memory_kib),
        }
    }

    /// Returns the properties of the machine that are in the registry of Windows, which does not have the size of main
    /// memory. `value` returns a value in `HKEY_LOCAL_MACHINE`, by its key and name.
    fn of_registry(value: impl Fn(&str, &str) -> Option<String>) -> Self {
        let of_system = |name: &str| value(r"SOFTWARE\Microsoft\Windows NT\CurrentVersion", name);
        let number = |name: &str| of_system(name).unwrap_or_else(|| "0".to_owned());
        let kernel = of_system("CurrentBuildNumber").map(|build| {
            let [major, minor] =
                ["CurrentMajorVersionNumber", "CurrentMinorVersionNumber"].map(number);
            format!("{major}.{minor}.{build}.{}", number("UBR"))
        });
        let hardware = |key: &str, name: &str| {
            trimmed(&value(&format!(r"HARDWARE\DESCRIPTION\System\{key}"), name)?)
        };
        Self {
            os: std::env::consts::OS.to_owned(),
            kernel,
            architecture: std::env::consts::ARCH.to_owned(),
            machine: hardware("BIOS", "SystemProductName"),
            cpu: hardware(r"CentralProcessor\0", "ProcessorNameString"),
            memory_kib: None,
        }
    }

    /// Returns what the kernel of macOS says. `value` returns the bytes of a value of `sysctl`, by its name.
    fn of_sysctl(value: impl Fn(&CStr) -> Option<Vec<u8>>) -> Self {
        let text = |name: &CStr| {
            let value = value(name)?;
            trimmed(CStr::from_bytes_until_nul(&value).ok()?.to_str().ok()?)
        };
        let machine = text(c"hw.model").map(|model| match text(c"kern.osproductversion") {
            Some(release) => format!("{model}, macOS {release}"),
            None => model,
        });
        let bytes = value(c"hw.memsize").and_then(|value| value.try_into().ok());
        Self {
            os: std::env::consts::OS.to_owned(),
            kernel: text(c"kern.osrelease"),
            architecture: std::env::consts::ARCH.to_owned(),
            machine,
            cpu: text(c"machdep.cpu.brand_string"),
            memory_kib: bytes.map(|bytes| u64::from_ne_bytes(bytes) / 1024),
        }
    }

    /// The known properties, as pairs of name and value.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let os = match &self.kernel {
            Some(kernel) => format!("{} {kernel}", self.os),
            None => self.os.clone(),
        };
        let memory = self.memory_kib.map(|kib| format!("{} MiB", kib / 1024));
        let known = [
            ("kernel", Some(os)),
            ("architecture", Some(self.architecture.clone())),
            ("machine", self.machine.clone()),
            ("processor", self.cpu.clone()),
            ("main memory", memory),
        ];
        known.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// Returns the name of an Android device: its manufacturer, its model, its chip and the release of the system, as far
/// as they are known. `None` if the model is not known. `property` returns a system property by its name.
fn android_machine(property: impl Fn(&CStr) -> Option<String>) -> Option<String> {
    let model = property(c"ro.product.model")?;
    let mut name = property(c"ro.product.manufacturer").map_or(model.clone(), |m| m + " " + &model);
    if let Some(chip) = property(c"ro.soc.model") {
        name = format!("{name} ({chip})");
    }
    if let Some(release) = property(c"ro.build.version.release") {
        name = format!("{name}, Android {release}");
    }
    Some(name)
}

/// Reads a file with one line. In a device tree such a file ends with a zero byte, which is removed. `None` if the file
/// cannot be read or is empty.
fn text(file: &str) -> Option<String> {
    trimmed(read_to_string(file).ok()?.trim_end_matches('\0'))
}

/// Returns a text without the white space around it. `None` if nothing is left.
fn trimmed(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the name of the processor in `/proc/cpuinfo`. On 64-bit Arm the file has no name, but numbers for the
/// implementer and the part of each core. The result then lists these numbers; a number that several cores have is
/// listed once. `None` if the file has neither a name nor these numbers.
fn cpu(cpuinfo: &str) -> Option<String> {
    let values = |wanted: &str| {
        let mut values: Vec<&str> = cpuinfo
            .lines()
            .filter_map(|line| line.split_once(':'))
            .filter(|(name, _)| name.trim() == wanted)
            .map(|(_, value)| value.trim())
            .collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    if let Some(name) = values("model name").first() {
        return Some((*name).to_owned());
    }
    let (implementers, parts) = (values("CPU implementer"), values("CPU part"));
    let known = !implementers.is_empty() && !parts.is_empty();
    known.then(|| format!("implementer {}, part {}", implementers.join(", "), parts.join(", ")))
}

fn memory_kib(meminfo: &str) -> Option<u64> {
    let rest = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_of_pcs_and_boards_are_named() {
        let pc = "processor\t: 0\nmodel name\t: A Processor 9000\n\nprocessor\t: 1\n";
        assert_eq!(cpu(pc).as_deref(), Some("A Processor 9000"));
        let core = |part: &str| format!("CPU implementer\t: 0x41\nCPU part\t: {part}\n\n");
        let board = [core("0xd05"), core("0xd05"), core("0xd0b")].concat();
        assert_eq!(cpu(&board).as_deref(), Some("implementer 0x41, part 0xd05, 0xd0b"));
        assert_eq!(cpu("processor\t: 0\n"), None);
        assert_eq!(memory_kib("MemFree: 1 kB\nMemTotal:        3903856 kB\n"), Some(3_903_856));
    }

    #[test]
    fn the_registry_of_windows_describes_the_machine() {
        let system = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion";
        let values = [
            (system, "CurrentMajorVersionNumber", "10"),
            (system, "CurrentMinorVersionNumber", "0"),
            (system, "CurrentBuildNumber", "22631"),
            (system, "UBR", "3296"),
            (r"HARDWARE\DESCRIPTION\System\BIOS", "SystemProductName", "A Laptop "),
            (r"HARDWARE\DESCRIPTION\System\CentralProcessor\0", "ProcessorNameString", " A CPU  "),
        ];
        let find = |key: &str, name: &str| {
            let found = values.iter().find(|(k, n, _)| (*k, *n) == (key, name));
            found.map(|(.., value)| (*value).to_owned())
        };
        let host = HostInfo::of_registry(find);
        assert_eq!(host.kernel.as_deref(), Some("10.0.22631.3296"));
        assert_eq!(host.machine.as_deref(), Some("A Laptop"));
        assert_eq!(host.cpu.as_deref(), Some("A CPU"));
        let host = HostInfo::of_registry(|_, _| None);
        assert_eq!((host.kernel, host.machine, host.cpu), (None, None, None));
    }

    #[test]
    fn the_kernel_of_macos_describes_the_machine() {
        let memory = (16_u64 << 30).to_ne_bytes();
        let values: [(&CStr, &[u8]); 5] = [
            (c"kern.osrelease", b"24.1.0\0"),
            (c"kern.osproductversion", b"15.1\0"),
            (c"hw.model", b"Model1,1\0"),
            (c"machdep.cpu.brand_string", b"A Chip \0"),
            (c"hw.memsize", &memory),
        ];
        let find = |name: &CStr| {
            values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_vec())
        };
        let host = HostInfo::of_sysctl(find);
        assert_eq!(host.kernel.as_deref(), Some("24.1.0"));
        assert_eq!(host.machine.as_deref(), Some("Model1,1, macOS 15.1"));
        assert_eq!(host.cpu.as_deref(), Some("A Chip"));
        assert_eq!(host.memory_kib, Some(16 << 20));
        // If a value does not have the expected form, the property is `None`.
        let host = HostInfo::of_sysctl(|_| Some(vec![1, 2]));
        assert_eq!((host.kernel, host.machine, host.memory_kib), (None, None, None));
        assert_eq!(HostInfo::of_sysctl(|_| None).cpu, None);
    }

    #[test]
    fn android_says_what_it_runs_on() {
        let values = [
            (c"ro.product.manufacturer", "Maker"),
            (c"ro.product.model", "Phone 1"),
            (c"ro.soc.model", "CHIP1"),
            (c"ro.build.version.release", "15"),
        ];
        let with = |count: usize| {
            android_machine(|name| {
                let found = values[..count].iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(with(4).as_deref(), Some("Maker Phone 1 (CHIP1), Android 15"));
        assert_eq!(with(2).as_deref(), Some("Maker Phone 1"));
        assert_eq!(with(1), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_a_kernel() {
        let host = HostInfo::query();
        let release = std::process::Command::new("uname").arg("-r").output().unwrap();
        let release = String::from_utf8(release.stdout).unwrap();
        assert_eq!(host.kernel.as_deref(), Some(release.trim()));
        assert!(host.facts().iter().any(|(name, value)| {
            *name == "kernel" && *value == format!("linux {}", release.trim())
        }));
    }
}
