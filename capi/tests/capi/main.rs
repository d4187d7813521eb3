//! Tests the C interface: its header and its table, programs in C and in other languages, and invalid arguments.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bounds;
mod calls;
mod commands;
mod create_info;
mod example;
mod geometry;
mod header;
#[cfg(unix)]
mod installed;
mod interface;
mod languages;
mod messages;
#[path = "../../../examples/common/portability.rs"]
mod portability;
mod prepared;
#[path = "../../../tests/common/skip.rs"]
mod skip;
mod tessellation;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A path within this package.
fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Compiles a shader of GLSL, for the stage that the extension of `file` says, with that name of its entry
/// point, and returns the path of the SPIR-V.
fn compiled(directory: &Path, file: &str, source: &str, entry_point: &str) -> PathBuf {
    let (glsl, spirv) = (directory.join(file), directory.join(file).with_extension("spv"));
    std::fs::write(&glsl, source).unwrap();
    let mut command = Command::new("glslangValidator");
    command.args(["-V", "--source-entrypoint", "main", "-e", entry_point]);
    run(command.arg(&glsl).arg("-o").arg(&spirv));
    spirv
}

/// The words of a file of SPIR-V.
fn words(path: &Path) -> Vec<u32> {
    let bytes = std::fs::read(path).unwrap();
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Runs a command, and panics with its output if it fails.
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (said(&output.stdout), said(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{err}", output.status);
    output
}

/// Whether a command is there, and succeeds.
fn works(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
