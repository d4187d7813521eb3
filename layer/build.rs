//! How the layer is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Loaders close the library of a layer when the last instance is destroyed. The globals of the
    // log and the destructors of thread-local variables are used after that, so the library must
    // stay loaded.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
