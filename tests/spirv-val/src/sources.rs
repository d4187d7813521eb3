//! Compiles the validator from the sources that `spirv-tools-sys` comes with.

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sources that the validator shares with the other tools.
const COMMON: [&str; 27] = [
    "assembly_grammar",
    "binary",
    "diagnostic",
    "disassemble",
    "ext_inst",
    "extensions",
    "libspirv",
    "name_mapper",
    "opcode",
    "operand",
    "parsed_operand",
    "print",
    "software_version",
    "spirv_endian",
    "spirv_fuzzer_options",
    "spirv_optimizer_options",
    "spirv_reducer_options",
    "spirv_target_env",
    "spirv_validator_options",
    "table",
    "table2",
    "text",
    "text_handler",
    "to_string",
    "util/bit_vector",
    "util/parse_number",
    "util/string_utils",
];

pub fn compile() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=src/sources.rs");
    let package = sources_of("spirv-tools-sys")?;
    let source = package.join("spirv-tools/source");
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").warnings(false);
    // Compiled in half the time that level 2 takes, and fast enough for modules of a few thousand
    // words.
    build.opt_level(1).debug(false);
    for include in [
        "spirv-tools",
        "spirv-tools/include",
        "generated",
        "spirv-headers/include",
        "spirv-headers/include/spirv/unified1",
    ] {
        build.include(package.join(include));
    }
    let mut sources: Vec<PathBuf> =
        COMMON.iter().map(|name| source.join(name).with_extension("cpp")).collect();
    let mut rules = Vec::new();
    for entry in source.join("val").read_dir()? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "cpp") {
            rules.push(path);
        }
    }
    rules.sort();
    sources.extend(rules);
    build.files(units(&sources)?);
    build.try_compile("spirv-val")?;
    Ok(())
}

/// The number of files that the compiler is given. It is large enough that a few cores have about
/// the same work each.
const UNITS: usize = 4;

/// Writes files that include the sources, and returns their paths. Most of the compile time is
/// spent on headers, which are then read once for each file and not once for each source.
fn units(sources: &[PathBuf]) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let directory = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    let mut units = Vec::new();
    for number in 0..UNITS {
        let mut text = String::new();
        for path in sources.iter().skip(number).step_by(UNITS) {
            writeln!(text, "#include {path:?}")?;
        }
        let unit = directory.join(format!("unit-{number}.cpp"));
        std::fs::write(&unit, text)?;
        units.push(unit);
    }
    Ok(units)
}

/// Finds the sources of a package that this package depends on. Cargo tells a build script only
/// about its own package.
fn sources_of(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let output = Command::new(std::env::var("CARGO")?)
        .args(["metadata", "--format-version=1", "--locked", "--filter-platform"])
        .arg(std::env::var("TARGET")?)
        .arg("--manifest-path")
        .arg(root)
        .output()?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let manifest = packages.filter(|p| p["name"] == name).find_map(|p| p["manifest_path"].as_str());
    let manifest = manifest.ok_or_else(|| format!("cargo metadata names no package {name}"))?;
    Ok(Path::new(manifest).parent().ok_or("a manifest in no directory")?.to_owned())
}
