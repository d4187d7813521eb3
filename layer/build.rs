//! Adds a linker argument that keeps the layer's library loaded until the process ends.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Loaders close the library of a layer when the last instance is destroyed. After that, globals
    // of the log and destructors of thread-local variables are still used, so the library must not
    // be unloaded.
    let os = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if ["android", "linux"].contains(&os.as_str()) {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
    // Android 15 and later have devices with pages of 16 KiB.
    if os == "android" {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,max-page-size=16384");
    }
}
