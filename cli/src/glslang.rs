//! Compiles GLSL with glslang. It is a program of its own, so that a source that expands to more than memory holds, or
//! nests more deeply than the stack of a compiler, ends that process and not the command.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Result, anyhow};
use vkxfb_rewriter::spirv::words_from_bytes;

/// The names of the program: the one that it has, and the one that it had before, which Debian 12 still gives it.
const PROGRAMS: [&str; 2] = ["glslang", "glslangValidator"];

/// For vertex shaders: variables without a location or binding get the first one that is free, as in OpenGL. Later
/// stages have to declare theirs, because their locations must match the stage before, and no binding may be that of
/// another stage.
const MAPPED: [&str; 2] = ["--aml", "--amb"];

/// Uniforms of a vertex shader may stand outside of blocks, too: they become members of `gl_DefaultUniformBlock`.
const RELAXED: [&str; 3] = ["-R", "--aml", "--amb"];

/// What glslang gets at most, where the system can limit a process that has begun: bytes of memory, and seconds of a
/// processor's time.
const LIMITS: Option<[u64; 2]> =
    if cfg!(target_os = "linux") { Some([4 << 30, 120]) } else { None };

/// Compiles the shader in a file to SPIR-V 1.0 for Vulkan, which every device takes, with names. `bytes` are those of
/// the file. `stage` is its stage as glslang names it in extensions (`vert`, `tesc`, `tese`, `geom`).
///
/// # Errors
/// What glslang says, which names the file and lines; or that glslang cannot be run.
pub(super) fn compile(file: &Path, bytes: &[u8], stage: &str) -> Result<Vec<u32>> {
    let module = tempfile::NamedTempFile::new().context("cannot make a temporary file")?;
    let (source, input) = source(file, bytes);
    let compile = |options: &[&str]| {
        let run = |program| {
            let mut command = Command::new(program);
            // --stdin, which the source may be, comes before the stage: glslang takes what follows it for the stage.
            command.args(&source).args(["--quiet", "-V", "--target-env", "vulkan1.0", "-S", stage]);
            run(command.args(options).arg("-o").arg(module.path()), input)
        };
        let first = run(PROGRAMS[0]);
        let (program, output) = match first {
            Err(error) if error.kind() == ErrorKind::NotFound => (PROGRAMS[1], run(PROGRAMS[1])),
            output => (PROGRAMS[0], output),
        };
        output.map_err(|error| not_run(file, stage, program, &error))
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

/// Returns the arguments of glslang that name a source, and its standard input. glslang gets the name of the file, so
/// that it looks for included files in the same folder. It gets the contents by its standard input instead if it would
/// take the file for its configuration (`.conf`), or if the file is a pipe, which was read
/// already, or one of this process, such as `/dev/stdin`.
fn source<'a>(file: &Path, bytes: &'a [u8]) -> (Vec<OsString>, Option<&'a [u8]>) {
    let is_conf = file.as_os_str().as_encoded_bytes().ends_with(b".conf");
    let is_of_process = ["/dev/stdin", "/dev/fd", "/proc"].iter().any(|of| file.starts_with(of));
    if is_conf || is_of_process || !file.is_file() {
        let mut includes = OsString::from("-I");
        includes.push(file.parent().filter(|folder| *folder != "").unwrap_or(Path::new(".")));
        return (vec![includes, "--stdin".into()], Some(bytes));
    }
    // A name that begins with - would be taken for an option.
    let is_option = file.as_os_str().as_encoded_bytes().starts_with(b"-");
    let file = if is_option { Path::new(".").join(file) } else { file.to_owned() };
    (vec![file.into()], None)
}

/// Runs a command within the limits on time and memory, with this standard input.
fn run(command: &mut Command, input: Option<&[u8]>) -> io::Result<Output> {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut child = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    limit(&child);
    let stdin = child.stdin.take();
    // The child may write before it has read all.
    std::thread::scope(|scope| {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // A child that does not read all of it says itself why.
            let write = move || stdin.write_all(input).unwrap_or_default();
            std::thread::Builder::new().spawn_scoped(scope, write)?;
        }
        child.wait_with_output()
    })
}

/// Limits what a child takes to [`LIMITS`], or to less, if the command itself has less.
#[cfg(target_os = "linux")]
fn limit(child: &Child) {
    use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

    for (resource, most) in
        [Resource::As, Resource::Cpu].into_iter().zip(LIMITS.into_iter().flatten())
    {
        let own = getrlimit(resource);
        let least = |own: Option<u64>| Some(own.map_or(most, |own| own.min(most)));
        let limit = Rlimit { current: least(own.current), maximum: least(own.maximum) };
        if let Err(error) = prlimit(Some(Pid::from_child(child)), resource, limit) {
            tracing::debug!(%error, ?resource, "glslang has no limit");
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn limit(_: &Child) {}

/// The limits in words. Empty where there are none.
fn limits() -> String {
    LIMITS.map_or_else(String::new, |[memory, time]| {
        format!(", which gets {} GiB of memory and {time} s", memory >> 30)
    })
}

/// The error where `program`, the last one that was tried, cannot be run.
fn not_run(file: &Path, stage: &str, program: &str, error: &io::Error) -> anyhow::Error {
    let path = file.display();
    if error.kind() != ErrorKind::NotFound {
        return anyhow!("{path} is GLSL, and {program}, which compiles it, cannot be run: {error}");
    }
    let others = if stage == "vert" { "SPIR-V or WGSL" } else { "SPIR-V" };
    anyhow!(
        "{path} is GLSL, which glslang compiles, and neither {} can be run ({error}): install glslang (of Debian the \
         package glslang-tools, elsewhere it is a part of the Vulkan SDK), or give {others}, which needs no other program",
        PROGRAMS.join(" nor ")
    )
}

/// The error where a program ran, and wrote no module.
fn refused(file: &Path, bytes: &[u8], output: &Output) -> anyhow::Error {
    let (path, said) = (file.display(), said(file, output));
    // A process that a signal ends has not said why.
    if output.status.code().is_none() || said.is_empty() {
        return anyhow!(
            "glslang crashed or was killed while it compiled {path} ({}): what the shader expands to may be too large for \
             it{}",
            output.status,
            limits()
        );
    }
    let mark = if bytes.starts_with("\u{feff}".as_bytes()) {
        "\nThe file begins with a byte order mark, which glslang does not take"
    } else {
        ""
    };
    anyhow!("glslang does not compile {path}:\n{said}{mark}")
}

/// The messages of glslang on a source. The first error in it is followed by lines that count it, and by what it led
/// to.
fn said(file: &Path, output: &Output) -> String {
    let bytes = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(str::trim).take_while(|line| !line.contains("No code generated"));
    let is_summary = |line: &str| {
        let summaries = ["compilation terminated", "SPIR-V is not generated"];
        line.is_empty() || summaries.iter().any(|summary| line.contains(summary))
    };
    // What it read from standard input it calls so.
    let named = |line: &str| match line.split_once(": stdin:") {
        Some((kind @ ("ERROR" | "WARNING"), rest)) => format!("{kind}: {}:{rest}", file.display()),
        _ => line.to_owned(),
    };
    lines.filter(|line| !is_summary(line)).map(named).collect::<Vec<_>>().join("\n")
}
