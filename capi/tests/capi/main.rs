//! Tests the C interface: its header, programs in C, and invalid arguments.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod calls;
mod create_info;
mod example;
mod header;
mod installed;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A path within this package.
fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs a command, and panics with its output if it fails.
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (said(&output.stdout), said(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{err}", output.status);
    output
}
