//! The code on the page about wgpu must be that of examples/wgpu, and the numbers on the page must
//! be right.

use std::collections::BTreeSet;

use super::pages::{blocks, read, trimmed};

/// The file that contains everything in the example that uses vkxfb.
const XFB: &str = "examples/wgpu/src/xfb.rs";

/// The example is a separate package, and its own tests run it.
#[test]
fn what_the_page_shows_is_run() {
    let example = [XFB, "examples/wgpu/src/set.rs", "examples/wgpu/src/main.rs"]
        .map(|file| trimmed(&read(file)));
    let page = read("src/guide/wgpu.md");
    let rust: Vec<&str> = blocks(&page)
        .filter(|(language, _)| language.starts_with("rust"))
        .map(|(_, block)| block)
        .collect();
    assert!(rust.len() > 5);
    for block in rust {
        let is_shown = example.iter().any(|file| file.contains(&trimmed(block)));
        assert!(is_shown, "not in examples/wgpu/src/:\n{block}");
    }
}

/// Counts the lines of code that contain a name of vkxfb, as the page and the README do. Names
/// after a dot or a colon belong to something else.
#[test]
fn it_takes_at_most_31_lines_that_name_vkxfb() {
    let library = read("src/lib.rs");
    let exported = library.split("\npub use ").skip(1);
    let exported = exported.filter(|item| !item.starts_with("vkxfb_rewriter"));
    // What is exported, without the modules that it is from.
    let exported = exported.flat_map(|item| item.split(';').next()?.rsplit("::").next());
    let words = exported.flat_map(|item| item.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let mut names: BTreeSet<&str> = words.collect();
    names.extend(["frontend", "compute", "vertex_input_descriptions", "vkxfb"]);
    let names_vkxfb = |line: &&str| {
        let mut before = ' ';
        line.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_').any(|word| {
            let name = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_');
            let is_named = names.contains(name) && !matches!(before, '.' | ':');
            before = word.chars().last().unwrap_or(' ');
            !name.is_empty() && is_named
        })
    };
    let is_code = |line: &&str| !line.starts_with("//") && !line.starts_with("use ");
    let code = read(XFB);
    let lines = code.lines().map(str::trim).filter(is_code).filter(names_vkxfb);
    let count = lines.count();
    assert!((10..=31).contains(&count), "{count}");
}

/// The types of wgpu's handles and shaders must be the same types as vkxfb's.
#[test]
fn there_is_one_version_of_what_is_shared() {
    let lock = read("Cargo.lock");
    for name in ["ash", "gpu-allocator", "naga", "spirv"] {
        assert_eq!(lock.matches(&format!("\nname = \"{name}\"\n")).count(), 1, "{name}");
    }
}
