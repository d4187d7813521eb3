//! Generates `src/withheld/{commands,extensions,structures}.rs`, about the commands that are
//! allowed inside of a render pass instance, and `src/chain/sizes.rs`, about structures, from the
//! registry of Vulkan (`vk.xml`).
//!
//! The registry is version 1.3.281, from which ash is generated, and the newest one for sizes. The
//! repository does not contain it: with `VKXFB_VK_XML=FILE` and `VKXFB_NEWEST_VK_XML=FILE` the
//! tests compare the files with it. With `VKXFB_REGENERATE=1` as well, they write the files.

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

/// Calls `test` with the registry that an environment variable names, if it is set.
fn with_registry(variable: &str, test: impl FnOnce(&roxmltree::Document<'_>)) {
    let Some(file) = std::env::var_os(variable).map(PathBuf::from) else {
        return eprintln!("skipped: {variable} does not name a vk.xml");
    };
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    test(&roxmltree::Document::parse(&text).unwrap());
}

/// Compares a file of the layer with what is generated, or writes it.
fn hold(name: &str, source: &str) {
    let source = formatted(source);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name);
    if std::env::var_os("VKXFB_REGENERATE").is_some() {
        std::fs::write(&path, &source).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == source, "{} is not what the registry says", path.display());
}

/// Formats Rust code like `cargo fmt`.
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
