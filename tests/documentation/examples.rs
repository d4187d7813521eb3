//! Runs the examples of the repository.

#![allow(clippy::duplicate_mod, reason = "each example has the common modules for itself")]

use std::path::Path;

#[allow(dead_code, reason = "main, which takes the arguments of a program")]
#[path = "../../examples/capture_mesh/main.rs"]
mod capture_mesh;
#[allow(dead_code, reason = "as above")]
#[path = "../../examples/engine/main.rs"]
mod engine;
#[allow(dead_code, reason = "as above")]
#[path = "../../examples/minimal.rs"]
mod minimal;
#[allow(dead_code, reason = "as above")]
#[path = "../../examples/particles/main.rs"]
mod particles;
#[path = "../../examples/streams/main.rs"]
mod streams;
#[allow(dead_code, reason = "as above")]
#[path = "../../examples/tessellation/main.rs"]
mod tessellation;

/// The three triangles of a strip of five vertices, of which every other one turns the other way round.
#[test]
fn minimal_captures_a_strip() {
    let captured = minimal::capture().unwrap_or_else(|error| panic!("{error:#}"));
    let expected = [0, 1, 2, 1, 3, 2, 2, 3, 4].map(|vertex| [vertex as f32, 0.0, 0.0, 1.0]);
    assert_eq!(captured, expected);
    assert!(include_str!("../../examples/minimal.rs").lines().count() <= 50);
}

#[test]
fn geometry_shaders_with_streams_capture_what_they_emit() {
    streams::main().unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn tessellation_captures_a_hill() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hill.obj");
    tessellation::run(Some(path.clone())).unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 4 * 30);
}

/// There are more frames than are in flight, so that the objects of each are used again.
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

/// There are more frames than the buffer has room for.
#[test]
fn particles_are_captured_until_there_is_no_room() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fireworks.png");
    let options = particles::Options { frames: 64, output: Some(path.clone()) };
    particles::run(&options).unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(pictures(&path), 64);
}

/// Returns the number of frames of an animated picture, or 1 for a picture that is not animated.
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

/// Counts the lines that have to do with vkxfb. Comments, blank lines and imports do not count.
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
