//! Compiles the validator, where it is asked for.

#[cfg(feature = "validator")]
#[path = "src/sources.rs"]
mod sources;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "validator")]
    sources::compile()?;
    Ok(())
}
