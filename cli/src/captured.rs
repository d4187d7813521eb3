//! The options that select the shaders of a capture and its outputs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use spirv::ExecutionModel;
use vkxfb_rewriter::capture::{BufferMode, CaptureList};
use vkxfb_rewriter::lower::Shader;
use vkxfb_rewriter::lower::compute::DomainOrigin;
use vkxfb_rewriter::spirv::specialization::SpecializationConstant;

use crate::options::{DomainOriginName, StageName, part};
use crate::source::LaterStage;
use crate::specialize::Specialized;
use crate::stages::Stages;
use crate::{source, specialize, stream_output};

/// Options that select the shaders of a pipeline, and the outputs to capture.
#[derive(Debug, clap::Args)]
pub(crate) struct Captured {
    /// Name of the vertex shader's entry point, if there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) entry_point: Option<String>,
    /// A tessellation control shader that runs after the vertex shader: SPIR-V or GLSL (.tesc,
    /// .glsl)
    #[arg(long, value_name = "FILE", requires = "evaluation")]
    pub(crate) control: Option<PathBuf>,
    /// A tessellation evaluation shader that runs after the tessellation control shader, and is
    /// captured, unless a geometry shader is: SPIR-V or GLSL (.tese, .glsl)
    #[arg(long, value_name = "FILE", requires = "control")]
    pub(crate) evaluation: Option<PathBuf>,
    /// A geometry shader that runs after the other shaders, and is captured instead of them: SPIR-V
    /// or GLSL (.geom, .gs, .glsl)
    #[arg(long, value_name = "FILE")]
    pub(crate) geometry: Option<PathBuf>,
    /// Capture these outputs, as glTransformFeedbackVaryings would, instead of those with
    /// decorations: by name, or by place as @3 (location), @3.yz (components), @Position (built-in)
    #[arg(long, value_name = "OUTPUT,...", value_delimiter = ',', value_parser = part::<String>)]
    pub(crate) varyings: Vec<String>,
    #[command(flatten)]
    pub(crate) constants: specialize::Constants,
}

impl Captured {
    /// Returns the files of the shaders after the vertex shader, in the order in which they run.
    pub(crate) fn later(&self) -> Vec<(LaterStage, &Path)> {
        let files = [
            (LaterStage::Control, &self.control),
            (LaterStage::Evaluation, &self.evaluation),
            (LaterStage::Geometry, &self.geometry),
        ];
        let given = files.into_iter().filter_map(|(stage, file)| Some((stage, file.as_deref()?)));
        given.collect()
    }

    /// Returns the files of all shaders, in the order in which they run. `file` is the file of the vertex shader.
    pub(crate) fn files<'a>(&'a self, file: &'a Path) -> Vec<&'a Path> {
        std::iter::once(file).chain(self.later().into_iter().map(|(_, file)| file)).collect()
    }

    /// Returns the file of the shader that is captured. `file` is the file of the vertex shader.
    pub(crate) fn file<'a>(&'a self, file: &'a Path) -> &'a Path {
        self.later().last().map_or(file, |(_, file)| file)
    }

    /// Reads the shaders, and the values for their specialization constants.
    pub(crate) fn read(&self, file: &Path) -> Result<source::Sources> {
        source::read_all(file, self.entry_point.as_deref(), &self.later(), &self.constants)
    }

    /// Returns the shader that is captured, and those before it, each with the values for its specialization constants.
    pub(crate) fn stages<'a>(
        &'a self,
        sources: &'a source::Sources,
        values: &'a Specialized<'a>,
    ) -> Stages<'a> {
        let shader = |source: &'a source::Source, values: &'a [SpecializationConstant<'a>]| {
            let mut shader = Shader::new(&source.words).specialization(values);
            shader.stage = source.stage;
            // `--entry-point` is for the shader in the first file.
            if !matches!(source.stage, Some(stage) if stage != ExecutionModel::Vertex) {
                shader.entry_point = self.entry_point.as_deref();
            }
            shader
        };
        let before = sources.before.iter().zip(&values.before);
        Stages {
            shader: shader(&sources.captured, &values.captured),
            before: before.map(|(source, values)| shader(source, values)).collect(),
            domain_origin: DomainOrigin::default(),
        }
    }

    /// Returns command line options with the same meaning as these values, except for the names of files.
    pub(crate) fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        let mut add = |name: &str, value: String| options.extend([format!("--{name}"), value]);
        if let Some(name) = &self.entry_point {
            add("entry-point", name.clone());
        }
        if !self.varyings.is_empty() {
            add("varyings", self.varyings.join(","));
        }
        let constants = self.constants.to_string();
        if !constants.is_empty() {
            add("constant", constants);
        }
        options
    }

    /// Returns the list of outputs to capture from a shader. `None` if no option names outputs: then the decorations in
    /// the shader say what to capture.
    pub(crate) fn list(&self, shader: &Shader<'_>) -> Result<Option<CaptureList>> {
        let list = || shader.varyings(&self.varyings, BufferMode::Interleaved);
        Ok((!self.varyings.is_empty()).then(list).transpose()?)
    }
}

/// Options of the commands that take shaders without a pipeline, and lists of outputs as translators have them.
#[derive(Debug, clap::Args)]
pub(crate) struct Translated {
    #[command(flatten)]
    pub(crate) captured: Captured,
    /// Stage of the shader; by default the first of these stages that the module has
    #[arg(long, value_name = "STAGE", conflicts_with_all = ["control", "evaluation", "geometry"])]
    pub(crate) stage: Option<StageName>,
    /// Where the origin of the tessellation domain is, which decides about the order of the
    /// vertices of triangles
    #[arg(long, value_name = "ORIGIN", value_enum, default_value_t, requires = "control")]
    pub(crate) domain_origin: DomainOriginName,
    /// Capture the outputs in this JSON file, which has Gallium's stream outputs; vkxfb --help has
    /// an example
    #[arg(long, value_name = "FILE", conflicts_with = "varyings")]
    pub(crate) stream_output: Option<PathBuf>,
}

impl Translated {
    /// Like [`Captured::stages`].
    pub(crate) fn stages<'a>(
        &'a self,
        sources: &'a source::Sources,
        values: &'a Specialized<'a>,
    ) -> Stages<'a> {
        let mut stages = self.captured.stages(sources, values);
        stages.shader.stage = stages.shader.stage.or(self.stage.map(ExecutionModel::from));
        stages.domain_origin = self.domain_origin.into();
        stages
    }

    /// Whether options name the outputs to capture, so that decorations are ignored.
    pub(crate) fn has_list(&self) -> bool {
        !self.captured.varyings.is_empty() || self.stream_output.is_some()
    }

    /// Like [`Captured::list`].
    pub(crate) fn list(&self, shader: &Shader<'_>) -> Result<Option<CaptureList>> {
        let Some(file) = &self.stream_output else { return self.captured.list(shader) };
        let list = stream_output::read(file)?.capture_list(shader);
        Ok(Some(list.with_context(|| file.display().to_string())?))
    }
}
