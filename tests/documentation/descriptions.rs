//! Tests that the documentation of a description of the runtime says how it is written.

use std::fs;
use std::path::{Path, PathBuf};

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// A description ends with `..X::new(...)` or with `..Default::default()`; or no member has a default.
#[test]
fn each_description_says_how_it_is_written() {
    let mut found = 0;
    for file in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/runtime")) {
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let Some(name) = line.strip_prefix("pub struct ") else { continue };
            let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap();
            if !name.ends_with("Desc") && name != "RawDevice" {
                continue;
            }
            found += 1;
            let is_head = |line: &&&str| line.starts_with("///") || line.starts_with("#[");
            let head: Vec<&str> =
                lines[..number].iter().rev().take_while(is_head).copied().collect();
            let said = head.iter().rev().map(|line| line.trim_start_matches("///"));
            let said = said.collect::<String>();
            let ways = [
                format!("..{name}::new("),
                format!("[`new`]({name}::new)"),
                format!("[`{name}::new`]"),
                "..Default::default()".to_owned(),
                "No member has a default".to_owned(),
            ];
            assert!(
                ways.iter().any(|way| said.contains(way)),
                "{}: {name}: {said}",
                file.display()
            );
        }
    }
    assert!(found > 4, "only {found} descriptions");
}
