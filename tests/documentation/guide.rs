//! Items that the guide names must exist.

use std::collections::BTreeSet;

const ERRORS: &str = include_str!("../../src/guide/errors.md");

/// Returns the variants of an enumeration in source code that rustfmt has formatted.
fn variants<'a>(source: &'a str, name: &str) -> Vec<&'a str> {
    let (_, rest) = source.split_once(&format!("pub enum {name} {{\n")).unwrap();
    let (body, _) = rest.split_once("\n}").unwrap();
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    names.map(|line| line.split(|c: char| !c.is_alphanumeric()).next().unwrap()).collect()
}

#[test]
fn every_error_has_a_cure() {
    // Rows of tables: what stands in their first column, between back quotes.
    let rows = ERRORS.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |"));
    let named: BTreeSet<&str> =
        rows.flat_map(|(errors, _)| errors.split('`').skip(1).step_by(2)).collect();
    for (source, name) in [
        (include_str!("../../shaders/src/capture/error.rs"), "CaptureError"),
        (include_str!("../../shaders/src/lower/error.rs"), "LowerError"),
        (include_str!("../../src/runtime/device/error.rs"), "RuntimeError"),
    ] {
        let variants = variants(source, name);
        assert!(variants.len() > 10, "{name}: {variants:?}");
        let missing: Vec<_> = variants.iter().filter(|v| !named.contains(*v)).collect();
        assert!(missing.is_empty(), "src/guide/errors.md says nothing of {name}: {missing:?}");
    }
}
