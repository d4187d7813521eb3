//! Gives the shared library the name by which programs find it when they run: cargo-c installs it, and so does
//! `install.sh`, under this name. It changes with each version to which programs have to be linked again.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    // Elsewhere libraries have no such name, or cargo-c gives it.
    if !["linux", "freebsd", "netbsd", "openbsd", "dragonfly"]
        .contains(&variable("CARGO_CFG_TARGET_OS").as_str())
    {
        return;
    }
    let (major, minor) = (variable("CARGO_PKG_VERSION_MAJOR"), variable("CARGO_PKG_VERSION_MINOR"));
    // Before version 1.0 a minor version may change what is there; as cargo-c has it.
    let version = if major == "0" { format!("0.{minor}") } else { major };
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libvkxfb.so.{version}");
}
