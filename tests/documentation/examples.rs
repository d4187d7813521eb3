//! The examples run, and the README shows what they do.

#![allow(clippy::duplicate_mod, reason = "each example has the common modules for itself")]

use std::path::Path;

#[allow(dead_code, reason = "main, which takes the arguments of a program")]
#[path = "../../examples/capture_mesh/main.rs"]
mod capture_mesh;
#[allow(dead_code, reason = "as above")]
#[path = "../../examples/engine/main.rs"]
mod engine;
#[path = "../../examples/minimal.rs"]
mod minimal;
#[allow(dead_code, reason = "as above")]
#[path = "../../examples/particles/main.rs"]
mod particles;

const README: &str = include_str!("../../README.md");
const WGPU_XFB: &str = include_str!("../../examples/wgpu/src/xfb.rs");

/// Code blocks of a text in Rust, with the attributes after "```rust".
fn rust_blocks(text: &str) -> Vec<(&str, &str)> {
    let blocks = text.split("```rust").skip(1);
    blocks.map(|rest| rest.split_once("```").unwrap().0.split_once('\n').unwrap()).collect()
}

/// Lines without indentation.
fn trimmed(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_start())).collect()
}

/// What the README shows in Rust is run: either doctests run it, or it is a part of an example that a
/// test here runs.
#[test]
fn what_the_readme_shows_is_run() {
    let example = trimmed(include_str!("../../examples/engine/xfb.rs"));
    let blocks = rust_blocks(README);
    assert!(!blocks.is_empty());
    for (attributes, block) in blocks {
        match attributes {
            "" => {}
            ",ignore" => {
                assert!(
                    example.contains(&trimmed(block)),
                    "not in examples/engine/xfb.rs:\n{block}"
                );
            }
            _ => panic!("```rust{attributes} is not run"),
        }
    }
}

/// examples/wgpu, a package of its own, runs what the page about wgpu shows.
#[test]
fn what_the_page_about_wgpu_shows_is_run() {
    let example = [WGPU_XFB, include_str!("../../examples/wgpu/src/main.rs")].map(trimmed);
    let blocks = rust_blocks(include_str!("../../src/guide/wgpu.md"));
    assert!(blocks.len() > 5);
    for (_, block) in blocks {
        let is_shown = example.iter().any(|file| file.contains(&trimmed(block)));
        assert!(is_shown, "not in examples/wgpu/src/:\n{block}");
    }
}

/// Lines of code that name anything of vkxfb, as the page about wgpu and the README count them. Names behind a dot or a colon are
/// of something else.
#[test]
fn wgpu_takes_30_lines_that_name_vkxfb() {
    let exported = include_str!("../../src/lib.rs").split("\npub use ").skip(1);
    let exported = exported.flat_map(|item| item.split(';').next());
    let words = exported.flat_map(|item| item.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let mut names: std::collections::BTreeSet<&str> = words.collect();
    names.extend(["frontend", "compute", "CaptureList", "vertex_input_descriptions", "vkxfb"]);
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
    let lines = WGPU_XFB.lines().map(str::trim).filter(is_code).filter(names_vkxfb);
    assert_eq!(lines.count(), 30);
}

/// The types of wgpu's handles and shaders are vkxfb's.
#[test]
fn there_is_one_version_of_what_wgpu_shares() {
    let lock = include_str!("../../Cargo.lock");
    for name in ["ash", "gpu-allocator", "naga", "spirv"] {
        assert_eq!(lock.matches(&format!("\nname = \"{name}\"\n")).count(), 1, "{name}");
    }
}

/// It checks its own output.
#[test]
fn minimal_captures_a_strip() {
    minimal::main().unwrap_or_else(|error| panic!("{error:#}"));
    assert!(include_str!("../../examples/minimal.rs").lines().count() < 100);
}

/// More frames than are in flight, so that each is used again.
#[test]
fn the_engine_captures_what_it_draws() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("anemone.png");
    let options = engine::Options { frames: 8, output: Some(path.clone()) };
    engine::run(&options).unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(pictures(&path), 1);
}

#[test]
fn a_mesh_is_captured_as_a_mesh_and_a_picture() {
    let directory = tempfile::tempdir().unwrap();
    let output = Some(directory.path().to_owned());
    let options = capture_mesh::Options { output, ..Default::default() };
    capture_mesh::run(&options).unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(pictures(&directory.path().join("captured.png")), 1);

    let file = std::fs::read(directory.path().join("captured.ply")).unwrap();
    let end = b"end_header\n";
    let body = file.windows(end.len()).position(|bytes| bytes == end).unwrap() + end.len();
    let header = std::str::from_utf8(&file[..body]).unwrap();
    assert!(header.starts_with("ply\nformat binary_little_endian 1.0\nelement vertex 1440\n"));
    assert!(header.contains("\nelement face 2760\n"));
    assert_eq!(file.len() - body, 1440 * 24 + 2760 * 13);
}

/// As many frames as it takes to fill the buffer, and some.
#[test]
fn particles_are_captured_until_there_is_no_room() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fireworks.png");
    let options = particles::Options { frames: 64, output: Some(path.clone()) };
    particles::run(&options).unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(pictures(&path), 64);
}

/// How many pictures a file holds that moves, and 1 of one that does not.
fn pictures(path: &Path) -> u32 {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let frames = reader.info().animation_control().map_or(1, |animation| animation.num_frames);
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    for _ in 0..frames {
        reader.next_frame(&mut bytes).unwrap();
    }
    frames
}

/// What a reader of the example has to do with vkxfb: comments, blank lines and imports do not count.
#[test]
fn a_capture_takes_less_than_60_lines() {
    let lines = include_str!("../../examples/capture_mesh/xfb.rs").lines().map(str::trim);
    let counts =
        |line: &&str| !line.is_empty() && !line.starts_with("//") && !line.starts_with("use ");
    let count = lines.filter(counts).count();
    assert!(count < 60, "{count}");
}

#[test]
fn the_picture_is_fresh() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/topologies.svg");
    let picture = vkxfb_probe::picture::overview(vkxfb::topology::ProvokingVertex::First);
    assert!(
        std::fs::read_to_string(file).is_ok_and(|text| text == picture),
        "run cargo run --example topologies > examples/topologies.svg"
    );
}
