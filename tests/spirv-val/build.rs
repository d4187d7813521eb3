//! Compiles the validator if the feature for it is enabled.

#[cfg(feature = "validator")]
#[path = "src/sources.rs"]
mod sources;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "validator")]
    if !is_for_clippy() {
        sources::compile()?;
    }
    Ok(())
}

/// Returns whether clippy, which links nothing, checks this package.
#[cfg(feature = "validator")]
fn is_for_clippy() -> bool {
    println!("cargo:rerun-if-env-changed=RUSTC_WORKSPACE_WRAPPER");
    let wrapper = std::env::var("RUSTC_WORKSPACE_WRAPPER").unwrap_or_default();
    wrapper.ends_with("clippy-driver")
}
