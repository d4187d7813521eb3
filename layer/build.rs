//! How the layer is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Loaders close a layer with the last instance. The log's globals and the destructors of threads outlive
    // that, so the code stays, as it also would where closing a library does nothing.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
