//! The examples in other languages than C: in C++ with the Vulkan Memory Allocator, and in Python with cffi. They
//! need what `tests/languages.sh` fetches.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::example::{MINIMAL_PRINTS, flags, libraries, printed, stream, validated};
use crate::skip::{Why, skip};
use crate::{compiled, here, run, works};

fn fetched(path: &str) -> PathBuf {
    here("../target/languages").join(path)
}

/// A shader of the example in C++.
fn shader(directory: &Path, file: &str) -> PathBuf {
    let source = std::fs::read_to_string(here("../examples/cpp").join(file)).unwrap();
    compiled(directory, file, &source, "main")
}

/// The program itself compares what it draws with what it captures and draws again.
#[test]
fn captured_vertices_are_drawn_in_cpp() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let cpp = || {
        let mut command = Command::new("c++");
        command.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic"]);
        // Warnings in the allocator are not ours.
        command.arg("-isystem").arg(fetched("include"));
        command
    };
    let including = path.join("including.cpp");
    std::fs::write(&including, "#include <vk_mem_alloc.h>\n").unwrap();
    if !works(cpp().arg("-E").arg(&including)) {
        return skip(Why::Expected("no vk_mem_alloc.h"));
    }
    let program = path.join("flag");
    let mut command = cpp();
    command.arg(here("../examples/cpp/flag.cpp")).args(flags("libvkxfb_capi.a"));
    run(command.arg("-lvulkan").arg("-o").arg(&program));
    let shaders = ["wave.vert", "captured.vert", "white.frag"].map(|file| shader(path, file));
    let picture = printed(path, &program, &shaders, &libraries());
    assert_eq!(picture.lines().count(), 16, "{picture}");
    let is_pixel = |pixel| ['.', '#', '\n'].contains(&pixel);
    assert!(picture.contains('#') && picture.chars().all(is_pixel), "{picture}");
}

/// cffi takes the header, and what the example in C captures.
#[test]
fn a_strip_is_captured_in_python() {
    let directory = tempfile::tempdir().unwrap();
    let python = || {
        let mut command = Command::new("python3");
        command.env("PYTHONPATH", fetched("python")).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    };
    if !works(python().args(["-c", "import cffi, vulkan"])) {
        return skip(Why::Expected("python3 has no cffi or no vulkan"));
    }
    let mut command = python();
    command.arg(here("../examples/python/strip.py")).arg(here("include/vkxfb.h"));
    command.arg(libraries().join("libvkxfb_capi.so")).arg(stream());
    assert_eq!(validated(directory.path(), &mut command), MINIMAL_PRINTS);
}
