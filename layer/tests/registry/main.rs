//! Generates code from the registry of Vulkan (`vk.xml`): the files of [`FILES`] and
//! `layer/src/translate/tests/table.rs`. Also checks that the tables that are written by hand fit
//! the registry.
//!
//! The repository does not contain the registry. With `VKXFB_VK_XML=FILE` these tests compare the
//! generated code with the files in the repository. With `VKXFB_REGENERATE=1` as well, they write
//! the files. CONTRIBUTING.md says how to change to the next version of Vulkan.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod ash_types;
mod emit;
#[allow(dead_code, reason = "the layer uses the rest")]
#[path = "../../src/registry/extensions.rs"]
mod extensions;
mod layout;
mod model;
#[path = "../../../tests/common/skip.rs"]
mod skip;
mod stages;
mod verdicts;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ash_types::AshTypes;
use extensions::{HIDDEN, SHOWN};
use model::Registry;
use roxmltree::Document;
use skip::{Why, skip};

/// A function that generates a file.
type Emit = fn(&Registry<'_, '_>) -> String;

/// The generated files, with the functions that generate them.
const FILES: [(&str, Emit); 5] = [
    ("registry/commands.rs", emit::names),
    ("registry/sizes.rs", emit::sizes),
    ("registry/types.rs", emit::types),
    ("withheld/commands.rs", emit::commands),
    ("withheld/structures.rs", emit::structures),
];

/// Reads the registry. `None` if no environment variable names it: then the test is skipped.
fn registry() -> Option<String> {
    let Some(file) = std::env::var_os("VKXFB_VK_XML").map(PathBuf::from) else {
        skip(Why::Expected("VKXFB_VK_XML does not name a vk.xml"));
        return None;
    };
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    Some(text)
}

/// For each device extension, the tables say whether programs see it.
#[test]
fn extensions_are_judged() {
    let Some(text) = registry() else { return };
    let document = Document::parse(&text).unwrap();
    let all = model::extensions(&document);
    let name = |name: &std::ffi::CStr| name.to_str().unwrap().to_owned();
    let judged: BTreeSet<String> =
        SHOWN.iter().map(|n| name(n)).chain(HIDDEN.iter().map(|(n, _)| name(n))).collect();
    let missing: Vec<_> = all.iter().filter(|name| !judged.contains(**name)).collect();
    assert!(missing.is_empty(), "say in src/registry/extensions.rs what becomes of {missing:#?}");
    let gone: Vec<_> = judged.iter().filter(|name| !all.contains(name.as_str())).collect();
    assert!(gone.is_empty(), "no device extensions: {gone:#?}");
}

/// README.md lists each hidden extension, with the same reason as the table.
#[test]
fn hidden_extensions_are_documented() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    for (name, reason) in HIDDEN {
        let name = format!("`{}`", name.to_str().unwrap());
        let row = readme.lines().find(|line| line.starts_with("| `") && line.contains(&name));
        let row = row.unwrap_or_else(|| panic!("README.md does not say that {name} is hidden"));
        assert!(row.ends_with(&format!("| {reason} |")), "{row}: {reason}");
    }
}

/// `VERDICTS` has each command that is recorded, and the generated files are those of the registry.
#[test]
fn files_are_those_of_the_registry() {
    let Some(text) = registry() else { return };
    let document = Document::parse(&text).unwrap();
    let ash = AshTypes::read();
    let registry = Registry::new(&document, &ash);
    for (name, emit) in FILES {
        hold(name, &emit(&registry));
    }
    hold("translate/tests/table.rs", &stages::table(&document, &registry));
    let manifest = include_str!("../../../cli/src/layer/manifest.json");
    let version = format!("\"api_version\": \"1.4.{}\"", registry.version);
    assert!(manifest.contains(&version), "cli/src/layer/manifest.json: {version}");
    let version = format!("Vulkan 1.4.{}", registry.version);
    assert!(include_str!("../../README.md").contains(&version), "README.md: {version}");
}

/// Checks that a file of the layer is the generated one. With `VKXFB_REGENERATE`, writes it first.
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
