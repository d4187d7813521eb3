//! Compiles programs in C against the libraries, and runs them with the validation layer: `examples/c/minimal.c`, and
//! `tests/draws.c`, which binds and draws. `tests/commands.c` and `tests/geometry.c` are run by the modules
//! [`commands`](crate::commands) and [`geometry`](crate::geometry).

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{compiled, here, run};

const VALIDATION: &str = "VK_LAYER_KHRONOS_validation";

/// The system libraries that Rust's standard library needs: `rustc --print native-static-libs`.
const SYSTEM: [&str; 5] = ["-lgcc_s", "-lpthread", "-lm", "-ldl", "-lc"];

pub const MINIMAL: &str = "../examples/c/minimal.c";

pub const MINIMAL_PRINTS: &str =
    "primitive 0: v0 v1 v2\nprimitive 1: v1 v3 v2\nprimitive 2: v2 v3 v4\n";

/// The shader of `examples/c/minimal.c`.
pub fn stream() -> PathBuf {
    here("../shaders/bench/stream.spv")
}

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

/// Compiles a program with the flags for the header and the library.
pub fn compile(
    directory: &Path,
    source: &str,
    flags: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> PathBuf {
    let program = directory.join("program");
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]);
    command.arg(here(source)).args(flags).arg("-lvulkan").arg("-o").arg(&program);
    run(&mut command);
    program
}

/// The directory with the libraries that cargo put beside this test.
pub fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// The flags for one of these libraries.
pub fn flags(library: &str) -> Vec<OsString> {
    let library = libraries().join(library);
    assert!(library.is_file(), "{} is missing", library.display());
    let mut flags = ["include", "../examples/c", "tests"]
        .iter()
        .flat_map(|path| ["-I".into(), here(path).into_os_string()])
        .collect::<Vec<_>>();
    flags.push(library.into_os_string());
    flags.extend(SYSTEM.map(OsString::from));
    flags
}

/// Returns the output of a program, including messages of the validation layer, which go to the
/// standard output. A shared library is found in `libraries`.
pub fn printed(directory: &Path, program: &Path, shaders: &[PathBuf], libraries: &Path) -> String {
    let mut command = Command::new(program);
    command.args(shaders).env("LD_LIBRARY_PATH", libraries);
    validated(directory, &mut command)
}

/// As [`printed`], of any command.
pub fn validated(directory: &Path, command: &mut Command) -> String {
    let settings = "khronos_validation.report_flags = error,warn,perf\n\
        khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT\n";
    std::fs::write(directory.join("vk_layer_settings.txt"), settings).unwrap();
    command.env("VK_LAYER_SETTINGS_PATH", directory);
    command.env("VK_INSTANCE_LAYERS", VALIDATION).env("VK_LOADER_DEBUG", "layer");
    let output = run(command);
    let loader = String::from_utf8_lossy(&output.stderr);
    let inserted = |line: &str| line.contains("nsert") && line.contains(VALIDATION);
    assert!(loader.lines().any(inserted), "the validation layer was not there:\n{loader}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// With the shared library, `installed` compiles it.
#[test]
fn the_example_captures_with_the_static_library() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile(directory.path(), MINIMAL, flags("libvkxfb_capi.a"));
    let captured = printed(directory.path(), &program, &[stream()], &libraries());
    assert_eq!(captured, MINIMAL_PRINTS);
}

/// Its macro shows the message of the call that fails.
#[test]
fn the_example_says_what_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let source = std::fs::read_to_string(here(MINIMAL)).unwrap().replace("\"first\"", "\"absent\"");
    let wrong = directory.path().join("wrong.c");
    std::fs::write(&wrong, source).unwrap();
    let program = compile(directory.path(), wrong.to_str().unwrap(), flags("libvkxfb_capi.a"));
    let output = Command::new(program).arg(stream()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("the shader has no output 'absent'"), "{said}");
}

#[test]
fn all_that_is_drawn_and_bound_is_captured() {
    let directory = tempfile::tempdir().unwrap();
    let shader = compiled(directory.path(), "draws.vert", DRAWS, "main");
    let program = compile(directory.path(), "tests/draws.c", flags("libvkxfb_capi.a"));
    for way in ["addresses", "descriptors"] {
        let arguments = [way.into(), shader.clone()];
        let counted = printed(directory.path(), &program, &arguments, &libraries());
        assert_eq!(counted, "225 records\n", "{way}");
    }
}
