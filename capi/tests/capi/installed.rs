//! What cargo-c installs is found by pkg-config, and is what the other tests test.

use std::process::Command;

use crate::example::{MINIMAL, MINIMAL_PRINTS, compile, printed, stream};
use crate::skip::{Why, skip};
use crate::{here, run, works};

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

    let read = |path| std::fs::read_to_string(path).unwrap();
    let header = read(prefix.join("include/vkxfb.h"));
    assert!(header == read(here("include/vkxfb.h")), "another header is installed");

    let mut pkg_config = Command::new("pkg-config");
    pkg_config.args(["--cflags", "--libs", "vkxfb"]);
    let flags = run(pkg_config.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))).stdout;
    let flags = String::from_utf8(flags).unwrap();
    let program = compile(directory.path(), MINIMAL, flags.split_whitespace());
    let captured = printed(directory.path(), &program, &[stream()], &prefix.join("lib"));
    assert_eq!(captured, MINIMAL_PRINTS);
}
