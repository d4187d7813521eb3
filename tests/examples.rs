//! The examples run, and the README's picture is what they print.

#![cfg(feature = "probe")]

#[path = "../examples/embed.rs"]
mod embed;

#[test]
fn embed_runs() {
    embed::main().unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn the_picture_is_fresh() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/topologies.svg");
    let picture = vkxfb::probe::picture::overview(vkxfb::topology::ProvokingVertex::First);
    assert!(
        std::fs::read_to_string(file).is_ok_and(|text| text == picture),
        "run cargo run --example topologies > examples/topologies.svg"
    );
}
