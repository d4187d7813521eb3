//! `examples/c/minimal.c` is compiled against the libraries, and captures under the validation layer.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{here, run};

const VALIDATION: &str = "VK_LAYER_KHRONOS_validation";

/// What Rust's standard library needs of the system: `rustc --print native-static-libs`.
const SYSTEM: [&str; 5] = ["-lgcc_s", "-lpthread", "-lm", "-ldl", "-lc"];

/// Where cargo put the library of this package: beside this test.
fn beside(name: &str) -> PathBuf {
    let library = std::env::current_exe().unwrap().with_file_name(name);
    assert!(library.is_file(), "{} is missing", library.display());
    library
}

fn compile(program: &Path, library: &Path) {
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]);
    command.arg(here("include")).arg(here("../examples/c/minimal.c")).arg(library);
    run(command.arg("-lvulkan").args(SYSTEM).arg("-o").arg(program));
}

/// Runs it, and panics where the validation layer says anything.
fn captures(program: &Path) {
    let directory = tempfile::tempdir().unwrap();
    let settings = "khronos_validation.report_flags = error,warn,perf\n\
        khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT\n";
    std::fs::write(directory.path().join("vk_layer_settings.txt"), settings).unwrap();
    let mut command = Command::new(program);
    command.arg(here("../shaders/bench/stream.spv"));
    command.env("VK_LAYER_SETTINGS_PATH", directory.path());
    command.env("VK_INSTANCE_LAYERS", VALIDATION).env("VK_LOADER_DEBUG", "layer");
    // The libraries that cargo builds are beside this test.
    command.env("LD_LIBRARY_PATH", std::env::current_exe().unwrap().parent().unwrap());
    let output = run(&mut command);
    // What the layer says goes to the standard output.
    let captured = "primitive 0: v0 v1 v2\nprimitive 1: v1 v3 v2\nprimitive 2: v2 v3 v4\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), captured);
    let loader = String::from_utf8_lossy(&output.stderr);
    let inserted = |line: &str| line.contains("nsert") && line.contains(VALIDATION);
    assert!(loader.lines().any(inserted), "the validation layer was not there:\n{loader}");
}

#[test]
fn it_captures_with_the_static_library() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("minimal");
    compile(&program, &beside("libvkxfb_capi.a"));
    captures(&program);
}

#[test]
fn it_captures_with_the_shared_library() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("minimal");
    compile(&program, &beside("libvkxfb_capi.so"));
    captures(&program);
}
