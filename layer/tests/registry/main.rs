//! `src/queue/{commands,structures}.rs` are what the registry of Vulkan, `vk.xml`, says of the commands that may stand
//! inside of a render pass instance.
//!
//! The registry is that of the headers that ash is generated from, 1.3.281. It is no part of the repository: with
//! `VKXFB_VK_XML=FILE` the test holds the files against it, and with `VKXFB_REGENERATE=1` besides it writes them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod emit;
mod model;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use model::Registry;

#[test]
fn the_queue_is_that_of_the_registry() {
    let Some(file) = std::env::var_os("VKXFB_VK_XML").map(PathBuf::from) else {
        return eprintln!("skipped: VKXFB_VK_XML does not name a vk.xml");
    };
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let document = roxmltree::Document::parse(&text).unwrap();
    let registry = Registry::new(&document);
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/queue");
    let files = [
        ("commands.rs", emit::commands(&registry)),
        ("extensions.rs", emit::extensions(&registry)),
        ("structures.rs", emit::structures(&registry)),
    ];
    for (name, source) in files {
        let source = formatted(&source);
        let path = directory.join(name);
        if std::env::var_os("VKXFB_REGENERATE").is_some() {
            std::fs::write(&path, &source).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == source, "{} is not what the registry says", path.display());
    }
}

/// As `cargo fmt` leaves it.
fn formatted(source: &str) -> String {
    use std::io::Write as _;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}
