//! The guide names what there is.

use std::collections::BTreeSet;

const ERRORS: &str = include_str!("../../src/guide/errors.md");

/// The variants of an enumeration, as rustfmt writes them.
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
        (include_str!("../../src/capture/error.rs"), "CaptureError"),
        (include_str!("../../src/lower/error.rs"), "LowerError"),
        (include_str!("../../src/runtime/error.rs"), "RuntimeError"),
    ] {
        let variants = variants(source, name);
        assert!(variants.len() > 10, "{name}: {variants:?}");
        let missing: Vec<_> = variants.iter().filter(|v| !named.contains(*v)).collect();
        assert!(missing.is_empty(), "src/guide/errors.md says nothing of {name}: {missing:?}");
    }
}

#[test]
fn files_that_contributing_and_the_readme_name_are_there() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in ["CONTRIBUTING.md", "README.md"] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        // Without code blocks: what stands between back quotes, or in a link to a file.
        let prose: String = text.split("```").step_by(2).collect();
        let quoted = prose.split('`').skip(1).step_by(2).filter(|name| {
            let is_path = name.contains('/') && !name.contains([' ', '*', '{', '@', '<']);
            is_path && !name.starts_with('/')
        });
        let links = prose.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        let linked = links.filter(|link| !link.is_empty() && !link.contains("://"));
        let missing: Vec<_> =
            quoted.chain(linked).filter(|name| !root.join(name).exists()).collect();
        assert!(missing.is_empty(), "{file} names what is not there: {missing:?}");
    }
}
