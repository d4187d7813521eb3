//! `include/vkxfb.h` is what cbindgen generates from the sources, and compiles on its own.

use std::collections::BTreeSet;
use std::process::Command;

use crate::skip::{Why, skip};
use crate::{here, run, works};

/// The sources, in the order in which a program calls their functions.
const SOURCES: [&str; 9] = [
    "error",
    "device",
    "context",
    "pipeline",
    "buffers",
    "capture",
    "draw",
    "draw_commands",
    "query",
];

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];

pub fn text() -> String {
    std::fs::read_to_string(here("include/vkxfb.h")).unwrap()
}

/// Returns the names of functions in a text, which are between `before` and `after`.
fn functions<'a>(text: &'a str, before: &str, after: &str) -> BTreeSet<&'a str> {
    let found = text.split(before).skip(1).filter_map(|rest| rest.split_once(after));
    found.map(|(name, _)| name).filter(|name| name.starts_with("vkxfb_")).collect()
}

/// The functions that the header declares.
pub fn declared() -> BTreeSet<String> {
    let header = text().replace('*', " ");
    functions(&header, " ", "(").into_iter().map(str::to_owned).collect()
}

#[test]
fn it_is_what_cbindgen_makes() {
    let config = cbindgen::Config::from_file(here("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(here("src").join(source).with_extension("rs"));
    }
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    // Vulkan's words for what callers have to see to, in place of rustdoc's.
    let made = made.replace(" * # Safety\n", " * Valid usage:\n");
    if std::env::var_os("VKXFB_REGENERATE").is_some() {
        std::fs::write(here("include/vkxfb.h"), made).unwrap();
    } else {
        let command = "VKXFB_REGENERATE=1 cargo test -p vkxfb-capi --test capi it_is";
        assert!(text() == made, "include/vkxfb.h is not up to date: {command}");
    }
}

/// Readers of C need not know words of Rust.
#[test]
fn it_has_no_words_of_rust() {
    let header = text();
    let words: BTreeSet<&str> = header.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    for word in [
        "Safety", "Rust", "panic", "panics", "dangling", "borrow", "slice", "trait", "unsafe",
        "crate",
    ] {
        assert!(!words.contains(word), "{word}");
    }
    for mark in ["&mut", "[`", "Option<", "Err("] {
        assert!(!header.contains(mark), "{mark}");
    }
    // Members of Vulkan's structures are written like this, too.
    let paths = header.lines().filter(|line| line.contains("::"));
    let others: Vec<&str> = paths.filter(|line| !line.contains("`Vk")).collect();
    assert!(others.is_empty(), "{others:#?}");
}

/// If a source were missing in [`SOURCES`], its functions would be missing in the header.
#[test]
fn every_function_is_declared() {
    let mut exported = BTreeSet::new();
    let mut sources = Vec::new();
    for file in std::fs::read_dir(here("src")).unwrap() {
        sources.push(std::fs::read_to_string(file.unwrap().path()).unwrap());
    }
    for source in &sources {
        exported.extend(functions(source, "extern \"C\" fn ", "("));
    }
    assert!(!exported.is_empty());
    assert_eq!(declared(), exported.into_iter().map(str::to_owned).collect());
}

#[test]
fn it_compiles_alone_as_c99() {
    compiles("cc", "c", "c99");
}

#[test]
fn it_compiles_alone_as_cpp() {
    compiles("c++", "c++", "c++11");
}

fn compiles(compiler: &str, language: &str, standard: &str) {
    let directory = tempfile::tempdir().unwrap();
    // Compiling the header itself would warn about an unused declaration.
    let source = directory.path().join("alone");
    let used = "#include \"vkxfb.h\"\n\
        size_t size(void);\n\
        size_t size(void) {\n\
        VkxfbCaptured captured = VKXFB_INIT(VkxfbCaptured);\n\
        captured = VKXFB_INIT(VkxfbCaptured);\n\
        return captured.structSize;\n\
        }\n";
    std::fs::write(&source, used).unwrap();
    let mut command = Command::new(compiler);
    command.args(WARNINGS).arg(format!("-std={standard}")).arg("-fsyntax-only");
    run(command.arg("-I").arg(here("include")).args(["-x", language]).arg(source));
}

/// cffi takes it in `languages.rs`.
#[test]
fn bindgen_takes_it() {
    let directory = tempfile::tempdir().unwrap();
    let small = directory.path().join("small.h");
    std::fs::write(&small, "#include <stddef.h>\nsize_t size(void);\n").unwrap();
    if !works(Command::new("bindgen").arg(small)) {
        return skip(Why::Expected("no bindgen, or it finds no libclang"));
    }
    let mut command = Command::new("bindgen");
    let output =
        run(command.arg(here("include/vkxfb.h")).args(["--allowlist-function", "vkxfb_.*"]));
    let made = String::from_utf8(output.stdout).unwrap();
    let made = functions(&made, "pub fn ", "(");
    assert_eq!(made.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), declared());
}
