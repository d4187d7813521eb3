//! What cargo-c installs, or `install.sh`, is found by pkg-config and CMake, and is what the other tests test.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::example::{MINIMAL, MINIMAL_PRINTS, compile, libraries, printed, stream, validated};
use crate::skip::{Why, skip};
use crate::{here, run, works};

/// The name by which programs find the shared library.
fn soname() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let (compatible, _) = version.rsplit_once('.').unwrap();
    assert!(version.starts_with("0."), "from version 1.0 on it has the major version alone");
    format!("libvkxfb.so.{compatible}")
}

/// Installs what cargo put beside this test, and returns the prefix.
fn install(directory: &Path) -> PathBuf {
    let prefix = directory.join("a prefix");
    let mut command = Command::new(here("install.sh"));
    run(command.arg("--from").arg(libraries()).arg(&prefix));
    prefix
}

/// What `find_package` needs is there.
fn check_files(prefix: &Path) {
    let installed = |path: &str| std::fs::read_to_string(prefix.join(path)).unwrap();
    for (path, own) in [
        ("include/vkxfb.h", "include/vkxfb.h"),
        ("share/cmake/vkxfb/vkxfb-config.cmake", "cmake/vkxfb-config.cmake"),
        ("share/cmake/vkxfb/vkxfb-config-version.cmake", "cmake/vkxfb-config-version.cmake"),
    ] {
        let installed = installed(path);
        // What `install.sh` writes before it.
        let size = format!("set(vkxfb_sizeof_void_p {})\n", size_of::<usize>());
        let installed = installed.strip_prefix(&size).unwrap_or(&installed);
        assert!(installed == std::fs::read_to_string(here(own)).unwrap(), "{path} is another");
    }
    let library = std::fs::canonicalize(prefix.join("lib").join(soname())).unwrap();
    let named = format!("libvkxfb.so.{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(library.file_name().unwrap(), named.as_str());
}

/// Compiles the example with the flags that pkg-config says, and runs it.
fn the_example_captures(directory: &Path, prefix: &Path) {
    let mut pkg_config = Command::new("pkg-config");
    pkg_config.args(["--cflags", "--libs", "vkxfb"]);
    let flags = run(pkg_config.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))).stdout;
    let flags = String::from_utf8(flags).unwrap();
    // A space in a path has a backslash before it.
    let flags = flags.replace("\\ ", "\0");
    let flags = flags.split_whitespace().map(|flag| flag.replace('\0', " "));
    let program = compile(directory, MINIMAL, flags);
    let captured = printed(directory, &program, &[stream()], &prefix.join("lib"));
    assert_eq!(captured, MINIMAL_PRINTS);
}

#[test]
fn the_example_captures_with_what_cargo_c_installs() {
    let cargo = || {
        let mut command = Command::new(env!("CARGO"));
        command.arg("cinstall").current_dir(here("."));
        command
    };
    if !works(cargo().arg("--version")) {
        return skip(Why::Expected("cargo-c is not installed"));
    }
    let directory = tempfile::tempdir().unwrap();
    let prefix = directory.path().join("prefix");
    run(cargo().args(["--release", "--locked", "--libdir=lib", "--prefix"]).arg(&prefix));
    check_files(&prefix);
    the_example_captures(directory.path(), &prefix);
}

/// The library that `cargo build` makes has the name under which it is installed.
#[test]
fn the_example_captures_with_what_is_installed_without_cargo_c() {
    let directory = tempfile::tempdir().unwrap();
    let prefix = install(directory.path());
    check_files(&prefix);
    the_example_captures(directory.path(), &prefix);
    // The shared library is what was tried: without it the program does not start.
    let mut alone = Command::new(directory.path().join("program"));
    let failed = alone.arg(stream()).env("LD_LIBRARY_PATH", directory.path()).output().unwrap();
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success() && said.contains(&soname()), "{said}");
}

/// Files have their modes whatever the build's are, `DESTDIR` is in none of them, and what is relocatable names no prefix.
#[test]
fn what_is_installed_for_a_package_names_the_prefix() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    for (option, prefix) in
        [(None, "/usr/a\\ prefix"), (Some("--relocatable"), "${pcfiledir}/../..")]
    {
        let mut command = Command::new("sh");
        command.args(["-c", "umask 077; exec \"$@\"", "sh"]).arg(here("install.sh"));
        command.arg("--from").arg(libraries()).args(option).arg("/usr/a prefix");
        run(command.env("DESTDIR", &root));
        let prefixed = |path: &str| root.join("usr/a prefix").join(path);
        check_files(&prefixed(""));
        let described = std::fs::read_to_string(prefixed("lib/pkgconfig/vkxfb.pc")).unwrap();
        assert_eq!(described.lines().next(), Some(format!("prefix={prefix}").as_str()));
        for (path, mode) in [
            ("lib", 0o755),
            ("include/vkxfb.h", 0o644),
            ("lib/libvkxfb.a", 0o644),
            ("lib/libvkxfb.so", 0o755),
            ("lib/pkgconfig/vkxfb.pc", 0o644),
            ("share/cmake/vkxfb/vkxfb-config.cmake", 0o644),
            ("share/cmake/vkxfb/vkxfb-config-version.cmake", 0o644),
        ] {
            let permissions = std::fs::metadata(prefixed(path)).unwrap().permissions();
            assert_eq!(permissions.mode() & 0o777, mode, "{path}");
        }
    }
}

/// Where libraries were not built, nothing is installed.
#[test]
fn an_install_without_libraries_says_how_to_build_them() {
    let directory = tempfile::tempdir().unwrap();
    let prefix = directory.path().join("prefix");
    let mut command = Command::new(here("install.sh"));
    let failed = command.arg("--from").arg(directory.path()).arg(&prefix).output().unwrap();
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success() && said.contains("cargo build -p vkxfb-capi"), "{said}");
    assert!(!prefix.exists());
}

/// CMake's `find_package` takes what is installed, for a project in C and C++ (`tests/cmake`).
#[test]
fn cmake_builds_a_project_in_c_and_cpp() {
    if !works(Command::new("cmake").arg("--version")) {
        return skip(Why::Expected("CMake is not installed"));
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let prefix = install(path);
    let configure_with = |before: &str, wanted: &str, built: &Path| {
        let project = std::fs::read_to_string(here("tests/cmake/CMakeLists.txt")).unwrap();
        let source = built.with_extension("source");
        std::fs::create_dir_all(&source).unwrap();
        std::fs::copy(here("tests/cmake/devices.cpp"), source.join("devices.cpp")).unwrap();
        let wanted = format!("{before}find_package(vkxfb {wanted} ");
        let wanted = project.replace("find_package(vkxfb 0.1 ", &wanted);
        std::fs::write(source.join("CMakeLists.txt"), wanted).unwrap();
        let define = |name: &str, value: &Path| format!("-D{name}={}", value.display());
        let mut cmake = Command::new("cmake");
        cmake.arg("-S").arg(&source).arg("-B").arg(built);
        cmake.arg(define("CMAKE_PREFIX_PATH", &prefix));
        cmake.arg(define("EXAMPLES", &here("../examples")));
        cmake
    };
    let configure = |wanted: &str, built: &Path| configure_with("", wanted, built);
    let built = path.join("built");
    run(&mut configure("0.1", &built));
    run(Command::new("cmake").arg("--build").arg(&built));
    for program in ["minimal", "minimal_static"] {
        let mut program = Command::new(built.join(program));
        assert_eq!(validated(path, program.arg(stream())), MINIMAL_PRINTS);
    }
    let devices = validated(path, &mut Command::new(built.join("devices")));
    let (captures, refused) = devices.split_once('\n').unwrap();
    assert_eq!(captures, "captures");
    assert!(refused.starts_with("structSize of VkxfbPhysicalDeviceInfo is 0"), "{devices}");

    for wanted in ["0.2", "0.0.9", "1.0", "0.1.999"] {
        let failed = configure(wanted, &path.join(wanted)).output().unwrap();
        // CMake breaks its messages into lines.
        let said = String::from_utf8_lossy(&failed.stderr);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let told = format!("compatible with requested version \"{wanted}\"");
        assert!(!failed.status.success() && said.contains(&told), "{wanted}: {said}");
    }

    // A toolchain that searches below its root alone.
    let elsewhere =
        "set(CMAKE_FIND_ROOT_PATH /nowhere)\nset(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)\n";
    run(&mut configure_with(elsewhere, "0.1", &path.join("elsewhere")));
    // A project whose pointers have another size.
    let (other, bits) = if size_of::<usize>() == 8 { (4, 64) } else { (8, 32) };
    let other = format!("set(CMAKE_SIZEOF_VOID_P {other})\n");
    let failed = configure_with(&other, "0.1", &path.join("other")).output().unwrap();
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success() && said.contains(&format!("({bits}bit)")), "{said}");
}
