//! Compiles programs in C against the libraries, and runs them with the validation layer:
//! `examples/c/minimal.c`, and `tests/draws.c`, which calls every function.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{here, run};

const VALIDATION: &str = "VK_LAYER_KHRONOS_validation";

/// The system libraries that Rust's standard library needs: `rustc --print native-static-libs`.
const SYSTEM: [&str; 5] = ["-lgcc_s", "-lpthread", "-lm", "-ldl", "-lc"];

const MINIMAL: &str = "../examples/c/minimal.c";

/// The shader of `tests/draws.c`.
const DRAWS: &str = "#version 450
    layout(location = 0) in uint pulled;
    layout(push_constant) uniform Constants { uint first, pushed; };
    layout(set = 1, binding = 0) uniform Uniform { uint value; };
    layout(constant_id = 3) const uint extra = 1;
    layout(location = 0, xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0) out flat uvec4 captured;
    void main() {
        captured = uvec4(pulled, gl_InstanceIndex, pushed, value + extra);
        gl_Position = vec4(0.0);
    }";

/// Compiles a program with one of the libraries that cargo put beside this test.
fn compile(directory: &Path, source: &str, library: &str) -> PathBuf {
    let library = std::env::current_exe().unwrap().with_file_name(library);
    assert!(library.is_file(), "{} is missing", library.display());
    let program = directory.join("program");
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]);
    command.arg("-I").arg(here("include")).arg("-I").arg(here("../examples/c"));
    command.arg(here(source)).arg(library).arg("-lvulkan").args(SYSTEM).arg("-o").arg(&program);
    run(&mut command);
    program
}

/// Returns the output of a program, including messages of the validation layer, which go to the
/// standard output.
fn printed(directory: &Path, program: &Path, shader: &Path) -> String {
    let settings = "khronos_validation.report_flags = error,warn,perf\n\
        khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT\n";
    std::fs::write(directory.join("vk_layer_settings.txt"), settings).unwrap();
    let mut command = Command::new(program);
    command.arg(shader).env("VK_LAYER_SETTINGS_PATH", directory);
    command.env("VK_INSTANCE_LAYERS", VALIDATION).env("VK_LOADER_DEBUG", "layer");
    // To find the shared library.
    command.env("LD_LIBRARY_PATH", std::env::current_exe().unwrap().parent().unwrap());
    let output = run(&mut command);
    let loader = String::from_utf8_lossy(&output.stderr);
    let inserted = |line: &str| line.contains("nsert") && line.contains(VALIDATION);
    assert!(loader.lines().any(inserted), "the validation layer was not there:\n{loader}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The C code in the README is a part of the example.
#[test]
fn what_the_readme_shows_is_run() {
    let read = |path| std::fs::read_to_string(here(path)).unwrap();
    let (readme, example) = (read("../README.md"), read(MINIMAL));
    let blocks: Vec<&str> =
        readme.split("```c\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        assert!(example.contains(block), "not in examples/c/minimal.c:\n{block}");
    }
}

fn the_example_captures(library: &str) {
    let directory = tempfile::tempdir().unwrap();
    let program = compile(directory.path(), MINIMAL, library);
    let shader = here("../shaders/bench/stream.spv");
    let expected = "primitive 0: v0 v1 v2\nprimitive 1: v1 v3 v2\nprimitive 2: v2 v3 v4\n";
    assert_eq!(printed(directory.path(), &program, &shader), expected);
}

#[test]
fn the_example_captures_with_the_static_library() {
    the_example_captures("libvkxfb_capi.a");
}

#[test]
fn the_example_captures_with_the_shared_library() {
    the_example_captures("libvkxfb_capi.so");
}

#[test]
fn all_that_is_drawn_and_bound_is_captured() {
    let directory = tempfile::tempdir().unwrap();
    let (source, shader) =
        (directory.path().join("draws.vert"), directory.path().join("draws.spv"));
    std::fs::write(&source, DRAWS).unwrap();
    run(Command::new("glslangValidator").arg("-V").arg(&source).arg("-o").arg(&shader));
    let program = compile(directory.path(), "tests/draws.c", "libvkxfb_capi.a");
    assert_eq!(printed(directory.path(), &program, &shader), "223 records\n");
}
