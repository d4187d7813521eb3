//! `INTERFACE.md` names every function of the header and every item of `vkxfb::runtime`, and nothing that is not
//! there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::header::{self, declared};
use crate::here;

fn text() -> String {
    std::fs::read_to_string(here("INTERFACE.md")).unwrap()
}

/// What stands in backticks.
fn named(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_function_of_the_header_is_in_the_table() {
    let text = text();
    let named = named(&text);
    let functions: BTreeSet<&str> =
        named.into_iter().filter(|name| name.starts_with("vkxfb_")).collect();
    let header = declared();
    assert_eq!(functions, header.iter().map(String::as_str).collect());
}

/// The words of a text: identifiers, and what else is made of such characters.
fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').collect()
}

/// Whether the header has a type, or a member of it, written `VkxfbType::member`.
fn has_type(header: &str, name: &str) -> bool {
    let Some((name, member)) = name.split_once("::") else { return words(header).contains(name) };
    let structure = header
        .split_once(&format!("}} {name};"))
        .and_then(|(before, _)| before.rsplit_once("typedef "));
    let is_code = |line: &&str| !line.trim_start().starts_with(['*', '/']);
    structure.is_some_and(|(_, members)| {
        members.lines().filter(is_code).any(|line| words(line).contains(member))
    })
}

#[test]
fn types_and_constants_are_those_of_the_header() {
    let (text, header) = (text(), header::text());
    let named = named(&text);
    let of_c: BTreeSet<_> = named
        .into_iter()
        .filter(|name| name.starts_with("Vkxfb") || name.starts_with("VKXFB_"))
        .collect();
    let (found, none) =
        ("VkxfbContextProperties::usesDescriptors", "VkxfbContextProperties::flags");
    assert!(of_c.contains(found) && has_type(&header, found) && !has_type(&header, none));
    let unknown: Vec<_> = of_c.iter().filter(|name| !has_type(&header, name)).collect();
    assert!(unknown.is_empty(), "of these INTERFACE.md says too much: {unknown:?}");
}

/// The public functions of each type in a file, by how rustfmt writes them.
fn add_functions(file: &Path, functions: &mut BTreeMap<String, BTreeSet<String>>) {
    let source = std::fs::read_to_string(file).unwrap();
    let identifier = |text: &str| -> String {
        text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut current = String::new();
    for line in source.lines() {
        if let Some(rest) = line.strip_prefix("impl") {
            // Of `impl<'a> Type<'a> {`, and nothing of `impl Trait for Type {`.
            let rest = if rest.starts_with('<') { rest.split_once('>').unwrap().1 } else { rest };
            let is_trait = rest.contains(" for ");
            current = if is_trait { String::new() } else { identifier(rest.trim_start()) };
        } else if let Some(rest) = line.strip_prefix("    pub ")
            && !current.is_empty()
            && let Some((before, name)) = rest.split_once("fn ")
            && ["", "const ", "unsafe ", "const unsafe "].contains(&before)
        {
            functions.entry(current.clone()).or_default().insert(identifier(name));
        }
    }
}

fn rust_files(directory: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn every_item_of_the_rust_interface_is_in_the_table() {
    let text = text();
    let named = named(&text);
    let root = here("../src/runtime");
    let exports = std::fs::read_to_string(root.join("mod.rs")).unwrap();
    let mut items = BTreeSet::new();
    for statement in exports.split("\npub use ").skip(1) {
        let statement = statement.split_once(';').unwrap().0;
        let (_, list) = statement.rsplit_once("::").unwrap();
        let list = list.trim_matches(['{', '}']);
        items.extend(list.split(',').map(str::trim).filter(|item| !item.is_empty()));
    }
    assert!(items.contains("Recorder") && items.contains("CaptureNeeds"), "{items:?}");

    let mut files = Vec::new();
    rust_files(&root, &mut files);
    let mut functions = BTreeMap::new();
    files.iter().for_each(|file| add_functions(file, &mut functions));
    assert!(functions["Recorder"].contains("draw_multi"), "{functions:?}");

    let mut missing = Vec::new();
    let mut known = BTreeSet::new();
    for item in items {
        let prefix = format!("{item}::");
        let of_item = functions.remove(item).unwrap_or_default();
        known.extend(of_item.iter().map(|function| format!("{prefix}{function}")));
        if named.iter().any(|name| name.starts_with(&prefix)) {
            let all = of_item.iter().map(|function| format!("{prefix}{function}"));
            missing.extend(all.filter(|function| !named.contains(function.as_str())));
        } else if !named.contains(item) {
            missing.push(item.to_owned());
        }
    }
    assert!(missing.is_empty(), "not in INTERFACE.md: {missing:#?}");
    // Of the header and of modules there are paths, too.
    let is_function = |name: &str| {
        let is_type = name.starts_with(char::is_uppercase) && !name.starts_with("Vkxfb");
        is_type && name.contains("::")
    };
    let unknown: Vec<_> =
        named.iter().filter(|name| is_function(name) && !known.contains(**name)).collect();
    assert!(unknown.is_empty(), "of these INTERFACE.md says too much: {unknown:?}");
}
