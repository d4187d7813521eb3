//! The committed SPIR-V of GLSL shaders is valid, and is what their sources compile to.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use vkxfb_probe::shaders::{ProbeGeometry, ProbeShader};

use crate::common;

const SHADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/shaders");

/// Folders with shaders in GLSL.
const FOLDERS: [&str; 4] = ["bench", "draws", "probe", "trials"];

/// The index of the header word that tells which compiler, in which version, created the module.
const GENERATOR: usize = 2;

/// Returns the output of a command that has to succeed.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| {
        panic!("{command:?}: {e}; tests/setup.sh installs what the tests need")
    });
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{stdout}{stderr}", output.status);
    stdout
}

/// Returns the words of modules by folder and file stem, without the generator word.
fn modules(directory: &Path) -> BTreeMap<String, Vec<u32>> {
    FOLDERS
        .iter()
        .flat_map(|folder| {
            with_extension(&directory.join(folder), "spv")
                .map(|(stem, bytes)| (format!("{folder}/{stem}"), bytes))
                .collect::<Vec<_>>()
        })
        .map(|(stem, bytes)| {
            let (words, rest) = bytes.as_chunks();
            assert!(rest.is_empty(), "{stem}.spv is not whole words");
            let mut words: Vec<_> = words.iter().map(|w| u32::from_le_bytes(*w)).collect();
            words[GENERATOR] = 0;
            (stem, words)
        })
        .collect()
}

/// Returns the files of a directory with this extension, by file stem.
fn with_extension(directory: &Path, extension: &str) -> impl Iterator<Item = (String, Vec<u8>)> {
    directory.read_dir().unwrap_or_else(|e| panic!("{}: {e}", directory.display())).filter_map(
        move |entry| {
            let path = entry.ok()?.path();
            if path.extension() != Some(OsStr::new(extension)) {
                return None;
            }
            Some((path.file_stem()?.to_str()?.to_owned(), std::fs::read(&path).ok()?))
        },
    )
}

#[test]
fn spirv_is_what_the_sources_compile_to() {
    let fresh = tempfile::tempdir().unwrap();
    run(Command::new("sh")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/regenerate-shaders.sh"))
        .arg(fresh.path()));
    let (fresh, committed) = (modules(fresh.path()), modules(Path::new(SHADERS)));
    assert_eq!(
        fresh.keys().collect::<Vec<_>>(),
        committed.keys().collect::<Vec<_>>(),
        "each source has a .spv, and each .spv a source"
    );
    for (name, words) in fresh {
        assert!(
            words == committed[&name],
            "{name}.spv is not what its source compiles to: run tests/regenerate-shaders.sh. \
             The committed files were made by glslang 12.0.0, as Debian 12 has it; this is {}",
            run(Command::new("glslangValidator").arg("--version"))
        );
    }
}

#[test]
fn spirv_is_valid() {
    for name in modules(Path::new(SHADERS)).keys() {
        let bytes = std::fs::read(format!("{SHADERS}/{name}.spv")).unwrap();
        common::validate(&vkxfb::spirv::words_from_bytes(&bytes).unwrap(), "vulkan1.0");
    }
}

#[test]
fn every_module_is_a_probe_shader() {
    let vertex = ProbeShader::all().into_iter().map(|s| (s.name.to_owned(), s.spirv.to_vec()));
    let geometry = ProbeGeometry::all().into_iter().map(|g| {
        let (name, module) = g.file();
        (name.to_owned(), module.to_vec())
    });
    let (name, module) = ProbeGeometry::CONTROL;
    let control = (name.to_owned(), module.to_vec());
    let known: BTreeMap<_, _> = vertex.chain(geometry).chain([control]).collect();
    assert_eq!(known, with_extension(&Path::new(SHADERS).join("probe"), "spv").collect());
}
