//! Adds a linker argument that keeps the layer's library loaded until the process ends.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Loaders close the library of a layer when the last instance is destroyed. After that, globals
    // of the log and destructors of thread-local variables are still used, so the library must not
    // be unloaded.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
