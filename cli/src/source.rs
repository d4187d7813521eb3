//! Reads files with shaders. Determines their language, from the content or else from the
//! extension, and tells the user how to convert unsupported ones.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};
use spirv::MAGIC_NUMBER;
use vkxfb::frontend::{FrontendError, glsl, wgsl};
use vkxfb::spirv::words_from_bytes;

use super::specialize::{Constants, Values};

/// The kinds of files that are accepted as vertex shaders, for messages.
pub(super) const ACCEPTED: &str =
    "SPIR-V (by its content), WGSL (.wgsl) and GLSL vertex shaders (.vert, .glsl, .vs, .vsh)";

/// The name of the stage of geometry shaders in messages.
const GEOMETRY: &str = "a geometry shader";

/// The language of a file, or the stage of its shader if that is not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Spirv,
    Wgsl,
    Glsl,
    Assembly,
    Hlsl,
    Slang,
    Dxil,
    Metal,
    /// Source code of a stage that cannot be captured. The text names the stage, with an article,
    /// such as "a fragment shader".
    Stage(&'static str),
    /// Source code of a stage that can be captured only as SPIR-V. The text names the stage, with
    /// an article.
    CapturedStage(&'static str),
    Unknown,
}

impl Kind {
    /// Determines the kind of a file. SPIR-V and DirectX bytecode are recognized by their magic numbers,
    /// whatever the extension is. Any other file is recognized by its extension or, if the extension is
    /// ambiguous or unknown, by its text.
    fn of(file: &Path, bytes: &[u8]) -> Self {
        let magics = [MAGIC_NUMBER.to_le_bytes(), MAGIC_NUMBER.to_be_bytes()];
        if magics.iter().any(|magic| bytes.starts_with(magic)) {
            return Self::Spirv;
        }
        if bytes.starts_with(b"DXBC") {
            return Self::Dxil;
        }
        let extension = file.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
        let text = std::str::from_utf8(bytes).ok();
        match extension.as_deref() {
            Some("wgsl") => Self::Wgsl,
            Some("vert" | "glsl") => Self::Glsl,
            // Vertex shaders in HLSL have these extensions, too.
            Some("vs" | "vsh") => match text.map(Self::of_text) {
                Some(Self::Hlsl) => Self::Hlsl,
                _ => Self::Glsl,
            },
            Some("hlsl" | "hlsli" | "fx" | "fxh") => Self::Hlsl,
            Some("slang") => Self::Slang,
            Some("spvasm" | "spvas" | "spirvasm") => Self::Assembly,
            Some("metal" | "msl") => Self::Metal,
            Some("dxil" | "dxbc" | "cso") => Self::Dxil,
            Some("frag" | "fs" | "fsh" | "ps") => Self::Stage("a fragment shader"),
            Some("comp" | "cs") => Self::Stage("a compute shader"),
            Some("geom" | "gs") => Self::CapturedStage(GEOMETRY),
            Some("tesc") => Self::Stage("a tessellation control shader"),
            Some("tese") => Self::CapturedStage("a tessellation evaluation shader"),
            Some("mesh") => Self::Stage("a mesh shader"),
            Some("task") => Self::Stage("a task shader"),
            Some("spv" | "spirv") => Self::Unknown,
            _ => text.map_or(Self::Unknown, Self::of_text),
        }
    }

    /// Recognizes a language by words that do not occur in the other languages.
    fn of_text(text: &str) -> Self {
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if text.trim_start().starts_with("; SPIR-V") || has(&["OpMemoryModel", "OpEntryPoint"]) {
            Self::Assembly
        } else if has(&["SV_Position", "SV_POSITION", "SV_VertexID", "cbuffer ", "[shader("]) {
            Self::Hlsl
        } else if has(&["@vertex"]) {
            Self::Wgsl
        } else if has(&["#version", "gl_Position"]) {
            Self::Glsl
        } else {
            Self::Unknown
        }
    }

    /// Returns a message that names the kind of an unsupported file, and says how to convert the file to
    /// SPIR-V.
    fn refusal(self, file: &Path, accepted: &str) -> String {
        let path = file.display();
        let spirv = file.with_extension("spv");
        let spirv = spirv.display();
        match self {
            Self::Assembly => format!(
                "{path} is SPIR-V assembly, which has to be assembled first: spirv-as {path} -o {spirv}"
            ),
            Self::Hlsl => format!(
                "{path} is HLSL, which has to be compiled first: \
                 dxc -spirv -T vs_6_0 -E main {path} -Fo {spirv}"
            ),
            Self::Slang => format!(
                "{path} is Slang, which has to be compiled first: \
                 slangc {path} -target spirv -stage vertex -entry main -o {spirv}"
            ),
            Self::Dxil => format!(
                "{path} is DirectX bytecode; the HLSL from which it was made can be compiled to SPIR-V (dxc -spirv)"
            ),
            Self::Metal => format!("{path} is Metal's language; accepted are {accepted}"),
            Self::Stage(stage) => {
                format!("{path} is {stage} by its extension; accepted are {accepted}")
            }
            Self::CapturedStage(GEOMETRY) => format!(
                "{path} is {GEOMETRY} by its extension, and runs behind a vertex shader, which is given first: \
                 vkxfb capture SHADER.vert --geometry {path}"
            ),
            Self::CapturedStage(stage) => format!(
                "{path} is {stage} by its extension, and has to be compiled first: glslang -V {path} -o {spirv}"
            ),
            Self::Wgsl => format!(
                "{path} is WGSL; accepted are {accepted}. naga compiles it: naga {path} {spirv}"
            ),
            Self::Glsl => format!(
                "{path} is GLSL; accepted are {accepted}. glslang compiles it: glslang -V {path} -o {spirv}"
            ),
            Self::Spirv | Self::Unknown => format!("accepted are {accepted}"),
        }
    }
}

/// Reads a vertex shader from a file: SPIR-V, or WGSL or GLSL, which is compiled. In WGSL, the
/// values of `constants` replace overrides. Otherwise they are returned as values for the module's
/// specialization constants.
pub(super) fn read(
    file: &Path,
    entry_point: Option<&str>,
    constants: &Constants,
) -> Result<(Vec<u32>, Values)> {
    let path = || file.display().to_string();
    let bytes = read_bytes(file)?;
    let source = || std::str::from_utf8(&bytes).with_context(path);
    let kind = Kind::of(file, &bytes);
    let words = match kind {
        Kind::Spirv => words_from_bytes(&bytes).with_context(path)?,
        Kind::Wgsl => {
            let overrides = constants.overrides();
            let overrides: Vec<_> = overrides.iter().map(|(key, v)| (key.as_str(), *v)).collect();
            wgsl::vertex_shader_with(source()?, entry_point, &overrides).with_context(path)?
        }
        Kind::Glsl => match glsl::vertex_shader(source()?) {
            Ok(words) => words,
            Err(error) => compile_instead(file, &error).with_context(path)?,
        },
        _ => return Err(refuse(file, &bytes, kind, ACCEPTED)),
    };
    tracing::debug!(file = %file.display(), ?kind, words = words.len(), "read");
    let values = match kind {
        Kind::Wgsl => Values::default(),
        _ => constants.values(&words).with_context(path)?,
    };
    Ok((words, values))
}

/// The shaders that a command line names.
pub(super) struct Sources {
    /// The words of the shader's file.
    pub(super) words: Vec<u32>,
    /// The values for its specialization constants.
    pub(super) values: Values,
    /// The words and values of the file of --geometry. `None` without that option.
    pub(super) geometry: Option<(Vec<u32>, Values)>,
}

impl Sources {
    /// Returns the values of specialization constants for lowering the shaders.
    pub(super) fn specialized(&self) -> super::Specialized<'_> {
        let geometry = self.geometry.as_ref().map(|(_, values)| values.specialization());
        [self.values.specialization(), geometry.unwrap_or_default()]
    }
}

/// Reads a vertex shader, and the geometry shader that follows it, if there is one. A constant that
/// both have gets its value in both. It is an error if neither has a constant.
pub(super) fn read_all(
    file: &Path,
    entry_point: Option<&str>,
    geometry: Option<&Path>,
    constants: &Constants,
) -> Result<Sources> {
    let Some(behind) = geometry else {
        let (words, values) = read(file, entry_point, constants)?;
        return Ok(Sources { words, values, geometry: None });
    };
    let words = read_geometry(behind)?;
    let (own, others) = constants.split(&words)?;
    let own_values = own.values(&words).with_context(|| behind.display().to_string())?;
    let (vertex, values) = read_before(file, entry_point, &own, others)?;
    Ok(Sources { words: vertex, values, geometry: Some((words, own_values)) })
}

/// Reads the vertex shader that precedes a geometry shader. The shader may have some of the constants in
/// `of_geometry`, and must have all constants in `others`.
fn read_before(
    file: &Path,
    entry_point: Option<&str>,
    of_geometry: &Constants,
    others: Constants,
) -> Result<(Vec<u32>, Values)> {
    if Kind::of(file, &read_bytes(file)?) != Kind::Wgsl {
        let (words, mut values) = read(file, entry_point, &others)?;
        let (shared, _) = of_geometry.split(&words)?;
        values.append(shared.values(&words).with_context(|| file.display().to_string())?);
        return Ok((words, values));
    }
    // Only naga knows which overrides WGSL code declares. It reports one unknown constant at a
    // time, which is then removed if the geometry shader has it.
    let mut given = others.and(of_geometry);
    loop {
        let result = read(file, entry_point, &given);
        let missing = match &result {
            Err(error) => match error.downcast_ref() {
                Some(FrontendError::NoOverride { key, .. }) => key.clone(),
                _ => return result,
            },
            Ok(_) => return result,
        };
        if !of_geometry.has(&missing) || !given.remove(&missing) {
            return result;
        }
    }
}

/// Reads a geometry shader from a file: SPIR-V, or GLSL, which glslangValidator compiles.
fn read_geometry(file: &Path) -> Result<Vec<u32>> {
    const ACCEPTED: &str = "SPIR-V (by its content) and GLSL geometry shaders (.geom, .gs, .glsl)";
    let bytes = read_bytes(file)?;
    match Kind::of(file, &bytes) {
        Kind::Spirv => words_from_bytes(&bytes).with_context(|| file.display().to_string()),
        Kind::CapturedStage(GEOMETRY) | Kind::Glsl => compile_geometry(file),
        kind => Err(refuse(file, &bytes, kind, ACCEPTED)),
    }
}

/// Compiles a geometry shader with glslangValidator, because naga, which compiles vertex shaders,
/// does not support geometry shaders.
fn compile_geometry(file: &Path) -> Result<Vec<u32>> {
    let path = file.display();
    compile(file, &["-S", "geom"])?.map_err(|refusal| match refusal {
        Refusal::CannotRun(error) => anyhow!(error).context(format!(
            "{path} is a geometry shader in GLSL, and {COMPILER}, which would compile it, cannot be run: install \
             glslang, or give the SPIR-V"
        )),
        Refusal::Errors(said) => anyhow!("{COMPILER} does not compile {path}:\n{said}"),
    })
}

/// Compiles a vertex shader that naga does not support, for example because it has combined image samplers or
/// `xfb_*` layouts. Uniforms outside of blocks are in the block `gl_DefaultUniformBlock`. Outputs without a
/// location, and resources without a binding, get the first number that is free.
fn compile_instead(file: &Path, error: &FrontendError) -> Result<Vec<u32>> {
    compile(file, &["-S", "vert", "-R", "--aml", "--amb"])?.map_err(|refusal| match refusal {
        Refusal::CannotRun(_) => anyhow!(
            "{error}\n{COMPILER}, which takes what naga does not, would be asked as well if it were installed"
        ),
        Refusal::Errors(said) => anyhow!("{error}\n{COMPILER} does not compile it either:\n{said}"),
    })
}

const COMPILER: &str = "glslangValidator";

/// The reason why glslangValidator does not compile a shader.
enum Refusal {
    CannotRun(std::io::Error),
    Errors(String),
}

/// Compiles a shader for Vulkan with glslangValidator.
fn compile(file: &Path, options: &[&str]) -> Result<Result<Vec<u32>, Refusal>> {
    let module = tempfile::NamedTempFile::new().context("cannot make a temporary file")?;
    let mut command = Command::new(COMPILER);
    command.args(["--quiet", "-V"]).args(options).arg("-o").arg(module.path()).arg(file);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return Ok(Err(Refusal::CannotRun(error))),
    };
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        // The output ends with lines that only count the errors.
        let is_summary = |line: &&str| {
            let summaries =
                ["compilation terminated", "No code generated", "SPIR-V is not generated"];
            line.is_empty() || summaries.iter().any(|summary| line.contains(summary))
        };
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|l| !is_summary(l)).collect();
        return Ok(Err(Refusal::Errors(lines.join("\n"))));
    }
    let bytes = read_bytes(module.path())?;
    Ok(Ok(words_from_bytes(&bytes).with_context(|| file.display().to_string())?))
}

/// Reads the words of a SPIR-V file.
pub(super) fn read_spirv(file: &Path) -> Result<Vec<u32>> {
    let bytes = read_bytes(file)?;
    let kind = match Kind::of(file, &bytes) {
        // A file with this extension may have a stage that is supported only as SPIR-V, so the message is the
        // one for source code.
        Kind::Stage(_) | Kind::CapturedStage(_) => Kind::Glsl,
        kind => kind,
    };
    if kind != Kind::Spirv {
        return Err(refuse(file, &bytes, kind, "SPIR-V modules"));
    }
    words_from_bytes(&bytes).with_context(|| file.display().to_string())
}

fn read_bytes(file: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    match bytes.is_empty() {
        true => bail!("{} is empty", file.display()),
        false => Ok(bytes),
    }
}

fn refuse(file: &Path, bytes: &[u8], kind: Kind, accepted: &str) -> anyhow::Error {
    let refusal = kind.refusal(file, accepted);
    match (kind, words_from_bytes(bytes)) {
        (Kind::Unknown, Err(error)) => anyhow!("{}: {error}; {refusal}", file.display()),
        _ => anyhow!(refusal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_counts_before_the_extension() {
        let of = |name: &str, bytes: &[u8]| Kind::of(Path::new(name), bytes);
        let [a, b, c, d] = MAGIC_NUMBER.to_le_bytes();
        assert_eq!(of("a.frag", &[a, b, c, d]), Kind::Spirv);
        assert_eq!(of("a.hlsl", &[d, c, b, a, 0]), Kind::Spirv);
        assert_eq!(of("a.vs", b"DXBC...."), Kind::Dxil);
        assert_eq!(of("a.vs", b"void main() {}"), Kind::Glsl);
        assert_eq!(of("a.VS", b"float4 main() : SV_Position { return 0; }"), Kind::Hlsl);
        assert_eq!(of("a", b"// fine\n#version 450\n"), Kind::Glsl);
        assert_eq!(of("a.txt", b"@vertex fn main() {}"), Kind::Wgsl);
        assert_eq!(of("a", b"; SPIR-V\n"), Kind::Assembly);
        assert_eq!(of("a.spv", b"#version 450\n"), Kind::Unknown);
        assert_eq!(of("a", b"\xff\xfe\x00\x01"), Kind::Unknown);
    }
}
