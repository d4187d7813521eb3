//! Runs the command, and makes the files that it reads.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::common;

/// The arguments of a probe of one batch of 14 draws, on all backends.
pub const PROBE_ONE_BATCH: [&str; 10] = [
    "probe",
    "--device",
    "0",
    "--quick",
    "--shader",
    "identify",
    "--topology",
    "triangle-strip",
    "--provoking",
    "first",
];

/// The exit status and the output of a run.
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let status = output.status.code();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        assert!(!stderr.contains("panicked"), "{stderr}");
        let status = status.unwrap_or_else(|| panic!("killed: {}\n{stderr}", output.status));
        Self { status, stdout, stderr }
    }

    #[track_caller]
    pub fn exits(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{}{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}\n{}{}", self.stdout, self.stderr))
    }

    /// Checks that the command could not run, and that its message on standard error contains
    /// `what`.
    #[track_caller]
    pub fn refuses(self, what: &[&str]) {
        let ran = self.exits(2);
        for part in what {
            assert!(ran.stderr.contains(part), "no '{part}' in: {}", ran.stderr);
        }
        assert!(ran.stdout.is_empty(), "{}", ran.stdout);
        // The error is the only one: the log has no other.
        assert!(!ran.stderr.contains(" ERROR "), "{}", ran.stderr);
    }
}

/// Makes a command with the arguments, without standard input, and with the default log level.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vkxfb"));
    command.args(arguments).stdin(Stdio::null()).env_remove("VKXFB_LOG");
    command
}

pub fn vkxfb(arguments: &[&str]) -> Ran {
    Ran::new(command(arguments).output().unwrap())
}

/// A temporary directory with the files of shaders.
pub struct Shaders(pub tempfile::TempDir);

impl Shaders {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub fn glsl(&self, name: &str, source: &str) -> String {
        let words = common::compile(source.trim_start(), &["--target-env", "vulkan1.1"]);
        self.file(name, bytemuck::cast_slice(&words))
    }
}
