//! The examples run, and the README shows what they do.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

#[path = "../examples/embed.rs"]
mod embed;
#[path = "../examples/minimal.rs"]
mod minimal;

const README: &str = include_str!("../README.md");

/// Code blocks of the README in Rust, with the attributes after "```rust".
fn rust_blocks() -> Vec<(&'static str, &'static str)> {
    let blocks = README.split("```rust").skip(1);
    blocks.map(|rest| rest.split_once("```").unwrap().0.split_once('\n').unwrap()).collect()
}

/// All Rust code in the README is run: either by doctests, or as a part of an example that a test
/// here runs.
#[test]
fn what_the_readme_shows_is_run() {
    let example = include_str!("../examples/embed.rs");
    let blocks = rust_blocks();
    assert!(!blocks.is_empty());
    for (attributes, block) in blocks {
        match attributes {
            "" => {}
            ",ignore" => assert!(example.contains(block), "not in examples/embed.rs:\n{block}"),
            _ => panic!("```rust{attributes} is not run"),
        }
    }
}

/// It checks its own output.
#[test]
fn minimal_captures_a_strip() {
    minimal::main().unwrap_or_else(|error| panic!("{error:#}"));
    assert!(include_str!("../examples/minimal.rs").lines().count() < 100);
}

#[test]
fn embed_captures_a_strip_and_a_fan() {
    let (captured, records) = embed::run().unwrap_or_else(|error| panic!("{error:#}"));
    let mut expected = Vec::new();
    for topology in [PrimitiveTopology::TriangleStrip, PrimitiveTopology::TriangleFan] {
        for index in 0..topology.output_count(5) {
            let vertex = topology.gather(ProvokingVertex::First, index) as f32;
            expected.push([[vertex, 0.0, 0.0, 1.0], [2.0, 1.0, 1.0, vertex + 1.0]]);
        }
    }
    assert_eq!(records, expected);
    assert_eq!(captured.primitives_written, 6);
    assert_eq!(captured.positions, [32 * 18, 0, 0, 0]);
    embed::main().unwrap_or_else(|error| panic!("{error:#}"));
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
