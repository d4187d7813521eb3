//! Messages name nothing that only programs in Rust know.

use std::path::{Path, PathBuf};

use crate::here;

/// The files of the library and of the C interface, without what the C interface does not have.
fn add_sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("shaders/src/frontend") {
            add_sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// A command that fails is named at the end of the capture.
#[test]
fn commands_of_a_capture_have_the_names_of_their_functions() {
    let mut count = 0;
    for file in std::fs::read_dir(here("src")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for function in text.split("extern \"C\" fn ").skip(1) {
            let Some((_, rest)) = function.split_once(" command(capture, \"") else { continue };
            let (name, _) = function.split_once('(').unwrap();
            assert_eq!(rest.split_once('"').unwrap().0, name);
            count += 1;
        }
    }
    assert_eq!(count, 26);
}

#[test]
fn no_message_has_a_path_or_code_of_rust() {
    let mut sources = Vec::new();
    add_sources(&here("../src"), &mut sources);
    add_sources(&here("src"), &mut sources);
    let mut count = 0;
    for source in sources {
        let text = std::fs::read_to_string(&source).unwrap();
        for rest in text.split("#[error(").skip(1) {
            let (attribute, _) = rest.split_once(")]").unwrap();
            // What stands in quotation marks; the rest is code that formats.
            let message: String = attribute.split('"').skip(1).step_by(2).collect();
            let is_plain = !message.contains("::") && !message.contains('`');
            assert!(is_plain, "{}: {message}", source.display());
            count += 1;
        }
    }
    assert!(count > 100, "{count} messages were found");
}
