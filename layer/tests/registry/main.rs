//! `src/withheld/{commands,extensions,structures}.rs` are what the registry of Vulkan, `vk.xml`, says of the commands
//! that may stand inside of a render pass instance, `src/chain/sizes.rs` what it says of structures.
//!
//! The registry is that of the headers that ash is generated from, 1.3.281, for sizes the newest there is. It is no
//! part of the repository: with `VKXFB_VK_XML=FILE` and `VKXFB_NEWEST_VK_XML=FILE` the tests hold the files against
//! it, and with `VKXFB_REGENERATE=1` besides they write them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod emit;
mod model;
mod sizes;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use model::Registry;

#[test]
fn the_queue_is_that_of_the_registry() {
    with_registry("VKXFB_VK_XML", |document| {
        let registry = Registry::new(document);
        hold("withheld/commands.rs", &emit::commands(&registry));
        hold("withheld/extensions.rs", &emit::extensions(&registry));
        hold("withheld/structures.rs", &emit::structures(&registry));
    });
}

#[test]
fn sizes_are_those_of_the_registry() {
    with_registry("VKXFB_NEWEST_VK_XML", |document| {
        hold("chain/sizes.rs", &sizes::sizes(document));
    });
}

/// Does something with the registry that a variable names, if it does.
fn with_registry(variable: &str, test: impl FnOnce(&roxmltree::Document<'_>)) {
    let Some(file) = std::env::var_os(variable).map(PathBuf::from) else {
        return eprintln!("skipped: {variable} does not name a vk.xml");
    };
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    test(&roxmltree::Document::parse(&text).unwrap());
}

/// Holds a file of the layer against what is generated, or writes it.
fn hold(name: &str, source: &str) {
    let source = formatted(source);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name);
    if std::env::var_os("VKXFB_REGENERATE").is_some() {
        std::fs::write(&path, &source).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == source, "{} is not what the registry says", path.display());
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
