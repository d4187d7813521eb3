//! The shaders that take part in a capture.

use spirv::ExecutionModel;
use vkxfb_rewriter::lower::compute::DomainOrigin;
use vkxfb_rewriter::lower::{Shader, compute, native};
use vkxfb_rewriter::vertex_input::VertexInput;

/// The shaders of a pipeline that are involved in a capture.
pub(crate) struct Stages<'a> {
    /// The shader that is captured.
    pub(crate) shader: Shader<'a>,
    /// The shaders before the captured one, beginning with the vertex shader. The field `stage` of each is set.
    pub(crate) before: Vec<Shader<'a>>,
    pub(crate) domain_origin: DomainOrigin,
}

impl<'a> Stages<'a> {
    /// Returns the vertex shader, which reads the vertex input.
    pub(crate) fn first(&self) -> &Shader<'a> {
        self.before.first().unwrap_or(&self.shader)
    }

    /// Returns the shaders in the order in which they run.
    pub(crate) fn all(&self) -> Vec<&Shader<'a>> {
        self.before.iter().chain([&self.shader]).collect()
    }

    /// Returns the shader of a stage before the captured one. `None` if there is no such shader.
    pub(crate) fn before(&self, stage: ExecutionModel) -> Option<&Shader<'a>> {
        self.before.iter().find(|shader| shader.stage == Some(stage))
    }

    pub(crate) fn native(&self) -> native::Options<'_> {
        let mut options = native::Options::new().domain_origin(self.domain_origin);
        options.vertex_shader = self.before(ExecutionModel::Vertex);
        options.control_shader = self.before(ExecutionModel::TessellationControl);
        options.evaluation_shader = self.before(ExecutionModel::TessellationEvaluation);
        options
    }

    pub(crate) fn compute<'b>(&'b self, vertex_input: &'b VertexInput) -> compute::Options<'b> {
        let mut options = compute::Options::new(vertex_input).domain_origin(self.domain_origin);
        options.vertex_shader = self.before(ExecutionModel::Vertex);
        options.control_shader = self.before(ExecutionModel::TessellationControl);
        options.evaluation_shader = self.before(ExecutionModel::TessellationEvaluation);
        options
    }
}
