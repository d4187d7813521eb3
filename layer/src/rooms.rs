//! Tests that each module of the layer uses only modules of lower rooms, and those that are listed
//! before it in its own room. A room is a group of modules; the head of `lib.rs` describes them.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules of each room, from the lowest room to the highest. A module uses only modules that
/// are listed before it.
const ROOMS: [&str; 7] = [
    "dispatch_keys error guard registry identity interface log system next chain settings versions test_switches",
    "translate withheld",
    "capture_support features activity instance advertise properties android creation",
    "emulation",
    "command_buffers",
    "device_state device",
    "hooks",
];

/// Returns the Rust files in a directory and its subdirectories, except files and directories named
/// `tests`.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let shipped = entries.filter(|path| path.file_stem() != Some("tests".as_ref()));
    shipped.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns the modules that a source text uses by a path that begins with `crate::`.
fn used(text: &str) -> impl Iterator<Item = &str> {
    text.split("crate::").skip(1).flat_map(|after| {
        let names = match after.strip_prefix('{') {
            Some(list) => {
                let list = list.split('}').next().unwrap_or_default();
                assert!(!list.contains('{'), "one `use` for each module: crate::{{{list}");
                list
            }
            None => after.lines().next().unwrap_or_default(),
        };
        let names = names.split(',').take(if after.starts_with('{') { usize::MAX } else { 1 });
        names.filter_map(|name| {
            name.trim().split(|c: char| !(c.is_alphanumeric() || c == '_')).next()
        })
    })
}

#[test]
fn modules_use_only_those_before_them() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let order: Vec<&str> = ROOMS.iter().flat_map(|room| room.split(' ')).collect();
    let place = |module: &str| {
        let found = order.iter().position(|known| *known == module);
        found.unwrap_or_else(|| panic!("{module} is in no room"))
    };
    let mut uses = 0;
    for file in files(&source) {
        let path = file.strip_prefix(&source).unwrap().with_extension("");
        let module = path.iter().next().unwrap().to_str().unwrap();
        if ["lib", "rooms"].contains(&module) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let shipped = text.split("#[cfg(test)]\nmod ").next().unwrap();
        let code = shipped.lines().filter(|line| !line.trim_start().starts_with("//"));
        let is_top = path.components().count() == 1;
        assert!(!is_top || !shipped.contains("use super::"), "{}: name the crate", file.display());
        for other in used(&code.collect::<Vec<_>>().join("\n")) {
            assert!(place(other) <= place(module), "{}: {other} comes later", file.display());
            uses += 1;
        }
    }
    assert!(uses > 100, "{uses} found");
}
