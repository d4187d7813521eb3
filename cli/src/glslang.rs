//! Compiles GLSL with glslang. It is a program of its own, so that a source that expands to more than memory holds, or
//! nests more deeply than the stack of a compiler, ends that process and not the command.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, anyhow};
use vkxfb::spirv::words_from_bytes;

/// The names of the program: the one that it has, and the one that it had before, which Debian 12 still gives it.
const PROGRAMS: [&str; 2] = ["glslang", "glslangValidator"];

/// In a vertex shader what has no location or binding gets the first that is free, as in OpenGL. Later stages have to say
/// theirs: the locations are those of the stage before, and the bindings not those of other stages.
const MAPPED: [&str; 2] = ["--aml", "--amb"];

/// Uniforms of a vertex shader may stand outside of blocks, too: they become members of `gl_DefaultUniformBlock`.
const RELAXED: [&str; 3] = ["-R", "--aml", "--amb"];

/// Compiles the shader in a file to SPIR-V 1.0 for Vulkan, which every device takes, with names. `bytes` are those of
/// the file. `stage` is its stage as glslang names it in extensions (`vert`, `tesc`, `tese`, `geom`).
///
/// # Errors
/// What glslang says, which names the file and lines; or that glslang cannot be run.
pub(super) fn compile(file: &Path, bytes: &[u8], stage: &str) -> Result<Vec<u32>> {
    let module = tempfile::NamedTempFile::new().context("cannot make a temporary file")?;
    // A name that begins with - would be taken for an option.
    let is_option = file.as_os_str().as_encoded_bytes().starts_with(b"-");
    let source = if is_option { &*Path::new(".").join(file) } else { file };
    let compile = |options: &[&str]| {
        let run = |program| {
            let mut command = Command::new(program);
            command.args(["--quiet", "-V", "--target-env", "vulkan1.0", "-S", stage]).args(options);
            command.arg("-o").arg(module.path()).arg(source).output()
        };
        run(PROGRAMS[0]).or_else(|_| run(PROGRAMS[1])).map_err(|error| missing(file, stage, &error))
    };
    let output = match stage {
        "vert" => match compile(&MAPPED)? {
            // Not at once, since it adds inputs that the shader does not read, gl_VertexIndex and gl_InstanceIndex.
            output if output.status.code().is_some_and(|code| code != 0) => compile(&RELAXED)?,
            output => output,
        },
        _ => compile(&[])?,
    };
    if !output.status.success() {
        return Err(refused(file, bytes, &output));
    }
    let words = std::fs::read(module.path()).context("cannot read what glslang wrote")?;
    words_from_bytes(&words).with_context(|| format!("{}, compiled by glslang", file.display()))
}

/// The error where neither program can be run.
fn missing(file: &Path, stage: &str, error: &std::io::Error) -> anyhow::Error {
    let others = if stage == "vert" { "SPIR-V or WGSL" } else { "SPIR-V" };
    anyhow!(
        "{} is GLSL, which glslang compiles, and neither {} can be run ({error}): install glslang (of Debian the package \
         glslang-tools, elsewhere it is a part of the Vulkan SDK), or give {others}, which needs no other program",
        file.display(),
        PROGRAMS.join(" nor ")
    )
}

/// The error where a program ran, and wrote no module.
fn refused(file: &Path, bytes: &[u8], output: &Output) -> anyhow::Error {
    let (path, said) = (file.display(), said(output));
    // A process that a signal ends has not said why.
    if output.status.code().is_none() || said.is_empty() {
        return anyhow!(
            "glslang crashed or was killed while it compiled {path} ({}): what the shader expands to may be too large for it",
            output.status
        );
    }
    let mark = match bytes.starts_with("\u{feff}".as_bytes()) {
        true => "\nThe file begins with a byte order mark, which glslang does not take",
        false => "",
    };
    anyhow!("glslang does not compile {path}:\n{said}{mark}")
}

/// The messages of glslang. The first error in a source is followed by lines that count it, and by what it led to.
fn said(output: &Output) -> String {
    let bytes = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(str::trim).take_while(|line| !line.contains("No code generated"));
    let is_summary = |line: &str| {
        let summaries = ["compilation terminated", "SPIR-V is not generated"];
        line.is_empty() || summaries.iter().any(|summary| line.contains(summary))
    };
    lines.filter(|line| !is_summary(line)).collect::<Vec<_>>().join("\n")
}
