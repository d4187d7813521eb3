//! Each module of a package uses only modules that are listed before it. So a reader who knows a module knows what it can
//! depend on, and nothing goes in circles.

use std::fs;
use std::path::{Path, PathBuf};

/// A package, and its modules from the lowest to the highest, in rooms (groups) where it has some.
struct Package {
    name: &'static str,
    /// The folder of its sources.
    sources: &'static str,
    /// How paths of its modules begin. Each room of the runtime is a folder, so its modules are `folder::name`.
    root: &'static str,
    rooms: &'static [&'static str],
}

const PACKAGES: [Package; 8] = [
    Package {
        name: "vkxfb-rewriter",
        sources: "shaders/src",
        root: "crate::",
        rooms: &[
            // The rules, in numbers alone.
            "setters spirv topology counts tessellator",
            // What a shader captures and reads.
            "capture vertex_input sysval frontend",
            // Rewritten shaders, and conversions from and to ash's types.
            "lower vulkan",
        ],
    },
    Package {
        name: "vkxfb",
        sources: "src/runtime",
        root: "crate::runtime::",
        rooms: &[
            "device::barrier device::identity device::tunings device::unavailable device::error device::parameters \
             device::extensions device::table_limits device::capabilities device::profile device::checks device::workarounds device::features \
             device::choice device::descriptor_heaps device::context device::create_device device::debug_utils \
             device::host_memory",
            "memory::descriptors memory::destroy memory::buffers memory::arena memory::window_table memory::addresses \
             memory::simple_allocator",
            "pipelines::pulling pipelines::pipeline pipelines::kernels pipelines::stages pipelines::variants pipelines::vulkan",
            "recording::job recording::queries recording::checks recording::capture_desc recording::set_arguments \
             recording::collect recording::plan recording::arena_desc recording::play recording::capture \
             recording::draw_arguments recording::drawn recording::graphics recording::recorder",
        ],
    },
    // The head of its lib.rs describes the rooms.
    Package {
        name: "vkxfb-layer",
        sources: "layer/src",
        root: "crate::",
        rooms: &[
            "dispatch_keys error guard registry identity interface log system next chain settings versions test_switches",
            "translate withheld drawn",
            "capture_support features activity instance advertise properties android creation",
            "emulation",
            "command_buffers",
            "hooked_device device",
            "hooks",
        ],
    },
    Package {
        name: "vkxfb-capi",
        sources: "capi/src",
        root: "crate::",
        rooms: &[
            "active_query error arguments extensible device context buffers pipeline capture draw draw_commands query",
        ],
    },
    Package {
        name: "vkxfb-translators",
        sources: "translators/src",
        root: "crate::",
        rooms: &["broadcast slots split_blocks stream_output"],
    },
    Package {
        name: "vkxfb-probe",
        sources: "probe/src",
        root: "crate::",
        rooms: &[
            // What is captured, and what is wrong with it.
            "sentinel diagnose emission shaders names row case system trial contents subject plan reproduce demand",
            // How that is shown.
            "picture report terminal table bug junit compare",
            // The device, and what runs on it.
            "gpu html records run",
        ],
    },
    Package {
        name: "vkxfb-bench",
        sources: "bench/src",
        root: "crate::",
        rooms: &[
            "vertices case roofline memory data by_hand contestant stats report series compare",
            "sample state check clock pipelines plan run table",
        ],
    },
    Package {
        name: "vkxfb-cli",
        sources: "cli/src",
        root: "crate::",
        rooms: &[
            // What commands share.
            "attributes files options log print status output glslang specialize source stages stream_output captured supplied",
            // A module for each command.
            "bench broadcast everything capture layer info primitives inspect lower manual probe split strip",
            // All commands, and what is said of a wrong one.
            "command hint",
        ],
    },
];

/// Returns the Rust files in a directory and its subdirectories, except files and directories named `tests`.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let shipped = entries.filter(|path| path.file_stem() != Some("tests".as_ref()));
    shipped.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns what a source text names by paths that begin with `root`, such as `device::error::RuntimeError`.
fn used<'a>(text: &'a str, root: &str) -> Vec<&'a str> {
    let path = |text: &'a str| {
        let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        &text[..end.unwrap_or(text.len())]
    };
    let mut found = Vec::new();
    for after in text.split(root).skip(1) {
        match after.strip_prefix('{') {
            Some(list) => {
                let list = list.split('}').next().unwrap_or_default();
                found.extend(
                    list.split(',').map(|name| path(name.trim())).filter(|name| !name.is_empty()),
                );
            }
            None => found.push(path(after)),
        }
    }
    found
}

/// Returns the code of a file without comments and without what is compiled for tests alone: an item that begins in its first
/// column ends with a line that begins with its last bracket, or with the first line that has a semicolon.
fn shipped(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut code = String::new();
    while let Some(line) = lines.next() {
        if line != "#[cfg(test)]" {
            code.extend([line, "\n"]);
            continue;
        }
        let _ = lines
            .find(|line| line.starts_with('}') || line.ends_with(';') && !line.starts_with(' '));
    }
    code
}

impl Package {
    /// The modules in order.
    fn order(&self) -> Vec<&'static str> {
        self.rooms.iter().flat_map(|room| room.split_whitespace()).collect()
    }

    /// The place of the module that a path begins with.
    fn place(&self, path: &str) -> usize {
        let is_in = |module: &str| {
            path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        let found = self.order().into_iter().position(is_in);
        found.unwrap_or_else(|| panic!("{}: {path} is in no room", self.name))
    }

    /// Asserts the order of the modules. Returns how often one uses another.
    fn check(&self) -> usize {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(self.sources);
        // How many folders and files deep a module is.
        let depth = self.root.matches("::").count();
        let mut uses = 0;
        for file in files(&source) {
            let path = file.strip_prefix(&source).unwrap().with_extension("");
            let names: Vec<_> = path.iter().map(|name| name.to_str().unwrap()).collect();
            // The roots of the package and of rooms list modules, and export from them.
            if names.iter().take(depth).any(|name| ["lib", "main", "mod"].contains(name)) {
                continue;
            }
            let place = self.place(&names.join("::"));
            let shipped = shipped(&fs::read_to_string(&file).unwrap());
            assert!(
                names.len() > depth || !shipped.lines().any(|line| line.starts_with("use super::")),
                "{}: name the crate, so that this test sees the module",
                file.display()
            );
            // What is visible in a module is no use of it.
            for other in used(&shipped.replace("pub(in crate", "pub(in "), self.root) {
                assert!(self.place(other) <= place, "{}: {other} comes later", file.display());
                uses += 1;
            }
        }
        uses
    }
}

#[test]
fn modules_use_only_those_before_them() {
    let uses = PACKAGES.map(|package| (package.name, package.check()));
    assert!(uses.iter().all(|(_, count)| *count > 0), "{uses:?}");
    assert!(uses.iter().map(|(_, count)| count).sum::<usize>() > 1000, "{uses:?}");
}
