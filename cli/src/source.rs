//! Reads files with shaders. Determines their language, from the content or else from the extension, and tells the user
//! how to convert files in unsupported languages.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use spirv::{ExecutionModel, MAGIC_NUMBER};
use vkxfb_rewriter::frontend::{FrontendError, wgsl};
use vkxfb_rewriter::spirv::words_from_bytes;

use crate::glslang;
use crate::specialize::{Constants, Values};

/// The kinds of files that are accepted as vertex shaders, for messages.
pub(super) const ACCEPTED: &str =
    "SPIR-V (by its content), WGSL (.wgsl) and GLSL vertex shaders (.vert, .glsl, .vs, .vsh)";

/// A stage after the vertex shader. Each of these stages has an option that names the file of its shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LaterStage {
    Control,
    Evaluation,
    Geometry,
}

impl LaterStage {
    const fn model(self) -> ExecutionModel {
        match self {
            Self::Control => ExecutionModel::TessellationControl,
            Self::Evaluation => ExecutionModel::TessellationEvaluation,
            Self::Geometry => ExecutionModel::Geometry,
        }
    }

    /// The name of a shader of the stage in messages.
    const fn name(self) -> &'static str {
        match self {
            Self::Control => "a tessellation control shader",
            Self::Evaluation => "a tessellation evaluation shader",
            Self::Geometry => "a geometry shader",
        }
    }

    pub(super) const fn option(self) -> &'static str {
        match self {
            Self::Control => "--control",
            Self::Evaluation => "--evaluation",
            Self::Geometry => "--geometry",
        }
    }

    /// The name of the stage in the extension of files, and for glslang.
    const fn extension(self) -> &'static str {
        match self {
            Self::Control => "tesc",
            Self::Evaluation => "tese",
            Self::Geometry => "geom",
        }
    }

    /// The kinds of files that are accepted, for messages.
    fn accepted(self) -> String {
        let name = self.name().trim_start_matches("a ");
        let more = if self == Self::Geometry { ", .gs" } else { "" };
        format!("SPIR-V (by its content) and GLSL {name}s (.{}{more}, .glsl)", self.extension())
    }

    /// The options with which a command captures a shader of the stage in the file `path`.
    fn usage(self, path: impl std::fmt::Display) -> String {
        match self {
            Self::Control => format!("--control {path} --evaluation SHADER.tese"),
            Self::Evaluation => format!("--control SHADER.tesc --evaluation {path}"),
            Self::Geometry => format!("--geometry {path}"),
        }
    }
}

/// The language of a file. If the file is source code of a stage other than the vertex stage, the value is that stage
/// instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SourceKind {
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
    /// Source code of a tessellation or geometry shader.
    Later(LaterStage),
    /// A file of a format that meshes are read from.
    Mesh,
    Unknown,
}

impl SourceKind {
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
            Some("geom" | "gs") => Self::Later(LaterStage::Geometry),
            Some("tesc") => Self::Later(LaterStage::Control),
            Some("tese") => Self::Later(LaterStage::Evaluation),
            Some("mesh") => Self::Stage("a mesh shader"),
            Some("task") => Self::Stage("a task shader"),
            Some("glb" | "gltf" | "obj" | "ply") => Self::Mesh,
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
            Self::Later(stage) => format!(
                "{path} is {} by its extension, and runs behind a vertex shader, which is given first: \
                 vkxfb capture SHADER.vert {}",
                stage.name(),
                stage.usage(&path)
            ),
            Self::Mesh => format!(
                "{path} is a mesh by its extension, which vkxfb capture takes as --mesh {path}; shaders are {accepted}"
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

/// Reads a vertex shader from a file: SPIR-V, or WGSL or GLSL, which is compiled. In WGSL, the values of `constants`
/// replace overrides. For the other languages they are returned as values for the module's specialization constants.
pub(super) fn read(
    file: &Path,
    entry_point: Option<&str>,
    constants: &Constants,
) -> Result<(Vec<u32>, Values)> {
    read_of(file, &read_bytes(file)?, entry_point, constants)
}

/// Like [`read`], for a file with these bytes.
fn read_of(
    file: &Path,
    bytes: &[u8],
    entry_point: Option<&str>,
    constants: &Constants,
) -> Result<(Vec<u32>, Values)> {
    let path = || file.display().to_string();
    let kind = SourceKind::of(file, bytes);
    let words = match kind {
        SourceKind::Spirv => words_from_bytes(bytes).with_context(path)?,
        SourceKind::Wgsl => {
            let overrides = constants.overrides();
            let overrides: Vec<_> = overrides.iter().map(|(key, v)| (key.as_str(), *v)).collect();
            let source = std::str::from_utf8(bytes).with_context(path)?;
            wgsl::vertex_shader_with(source, entry_point, &overrides).with_context(path)?
        }
        SourceKind::Glsl => glslang::compile(file, bytes, "vert")?,
        _ => return Err(refuse(file, bytes, kind, ACCEPTED)),
    };
    tracing::debug!(file = %file.display(), ?kind, words = words.len(), "read");
    let values = match kind {
        SourceKind::Wgsl => Values::default(),
        _ => constants.values(&words).with_context(path)?,
    };
    Ok((words, values))
}

/// A shader that a command line names.
pub(super) struct Source {
    /// The stage of the shader. `None` if it is the only shader: then options may name the stage.
    pub(super) stage: Option<ExecutionModel>,
    pub(super) words: Vec<u32>,
    /// The values for the specialization constants of the shader.
    pub(super) values: Values,
}

/// The shaders that a command line names.
pub(super) struct Sources {
    /// The shader that is captured.
    pub(super) captured: Source,
    /// The shaders before the captured one, in the order in which they run.
    pub(super) before: Vec<Source>,
}

impl Sources {
    /// Returns the values of specialization constants for lowering the shaders.
    pub(super) fn specialized(&self) -> crate::specialize::Specialized<'_> {
        crate::specialize::Specialized {
            captured: self.captured.values.specialization(),
            before: self.before.iter().map(|source| source.values.specialization()).collect(),
        }
    }
}

/// Reads a vertex shader, and the shaders that follow it. A constant that several shaders have gets its value in each
/// of them. A constant that no shader has is an error.
pub(super) fn read_all(
    file: &Path,
    entry_point: Option<&str>,
    later: &[(LaterStage, &Path)],
    constants: &Constants,
) -> Result<Sources> {
    let (mut of_later, mut others) = (Constants::default(), constants.clone());
    let mut sources = Vec::new();
    for (stage, file) in later {
        let path = || file.display().to_string();
        let words = read_later(*stage, file)?;
        let (own, _) = constants.split(&words).with_context(path)?;
        let values = own.values(&words).with_context(path)?;
        let (found, rest) = others.split(&words).with_context(path)?;
        of_later = of_later.and(&found);
        others = rest;
        sources.push(Source { stage: Some(stage.model()), words, values });
    }
    let (words, values) = read_before(file, entry_point, &of_later, others)?;
    let stage = (!later.is_empty()).then_some(ExecutionModel::Vertex);
    let first = Source { stage, words, values };
    Ok(match sources.pop() {
        None => Sources { captured: first, before: Vec::new() },
        Some(captured) => {
            let before = std::iter::once(first).chain(sources).collect();
            Sources { captured, before }
        }
    })
}

/// Reads the vertex shader that precedes other shaders. `of_later` are the values for constants of later shaders; the
/// vertex shader may have some of these constants, too. The vertex shader must have all constants in `others`.
fn read_before(
    file: &Path,
    entry_point: Option<&str>,
    of_later: &Constants,
    others: Constants,
) -> Result<(Vec<u32>, Values)> {
    // It is read once: a pipe has nothing left then.
    let bytes = read_bytes(file)?;
    if SourceKind::of(file, &bytes) != SourceKind::Wgsl {
        let (words, mut values) = read_of(file, &bytes, entry_point, &others)?;
        let path = || file.display().to_string();
        let (shared, _) = of_later.split(&words).with_context(path)?;
        values.append(shared.values(&words).with_context(path)?);
        return Ok((words, values));
    }
    // Only naga knows which overrides WGSL code declares. naga reports one unknown constant at a time, which is then
    // removed if a later shader has it.
    let mut given = others.and(of_later);
    loop {
        let result = read_of(file, &bytes, entry_point, &given);
        let missing = match &result {
            Err(error) => match error.downcast_ref() {
                Some(FrontendError::NoOverride { key, .. }) => key.clone(),
                _ => return result,
            },
            Ok(_) => return result,
        };
        if !of_later.has(&missing) || !given.remove(&missing) {
            return result;
        }
    }
}

/// Reads a shader after the vertex shader from a file: SPIR-V, or GLSL, which is compiled. WGSL has none of these
/// stages.
fn read_later(stage: LaterStage, file: &Path) -> Result<Vec<u32>> {
    let bytes = read_bytes(file)?;
    match SourceKind::of(file, &bytes) {
        SourceKind::Spirv => words_from_bytes(&bytes).with_context(|| file.display().to_string()),
        SourceKind::Glsl => glslang::compile(file, &bytes, stage.extension()),
        SourceKind::Later(found) if found == stage => {
            glslang::compile(file, &bytes, stage.extension())
        }
        SourceKind::Later(found) => {
            let (path, found, option) = (file.display(), found.name(), stage.option());
            bail!("{path} is {found} by its extension, and {option} takes {}", stage.name())
        }
        kind => Err(refuse(file, &bytes, kind, &stage.accepted())),
    }
}

pub(super) fn read_spirv(file: &Path) -> Result<Vec<u32>> {
    let bytes = read_bytes(file)?;
    let kind = match SourceKind::of(file, &bytes) {
        // Commands that call this function take SPIR-V of any stage. So the error message is about source code in
        // general, not about a stage that is not supported.
        SourceKind::Stage(_) | SourceKind::Later(_) => SourceKind::Glsl,
        kind => kind,
    };
    if kind != SourceKind::Spirv {
        return Err(refuse(file, &bytes, kind, "SPIR-V modules"));
    }
    words_from_bytes(&bytes).with_context(|| file.display().to_string())
}

fn read_bytes(file: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    if bytes.is_empty() { bail!("{} is empty", file.display()) } else { Ok(bytes) }
}

fn refuse(file: &Path, bytes: &[u8], kind: SourceKind, accepted: &str) -> anyhow::Error {
    let refusal = kind.refusal(file, accepted);
    match (kind, words_from_bytes(bytes)) {
        (SourceKind::Unknown, Err(error)) => anyhow!("{}: {error}; {refusal}", file.display()),
        _ => anyhow!(refusal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_counts_before_the_extension() {
        let of = |name: &str, bytes: &[u8]| SourceKind::of(Path::new(name), bytes);
        let [a, b, c, d] = MAGIC_NUMBER.to_le_bytes();
        assert_eq!(of("a.frag", &[a, b, c, d]), SourceKind::Spirv);
        assert_eq!(of("a.hlsl", &[d, c, b, a, 0]), SourceKind::Spirv);
        assert_eq!(of("a.vs", b"DXBC...."), SourceKind::Dxil);
        assert_eq!(of("a.vs", b"void main() {}"), SourceKind::Glsl);
        assert_eq!(of("a.VS", b"float4 main() : SV_Position { return 0; }"), SourceKind::Hlsl);
        assert_eq!(of("a", b"// fine\n#version 450\n"), SourceKind::Glsl);
        assert_eq!(of("a.txt", b"@vertex fn main() {}"), SourceKind::Wgsl);
        assert_eq!(of("a", b"; SPIR-V\n"), SourceKind::Assembly);
        assert_eq!(of("a.spv", b"#version 450\n"), SourceKind::Unknown);
        assert_eq!(of("a", b"\xff\xfe\x00\x01"), SourceKind::Unknown);
    }
}
