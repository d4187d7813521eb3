//! [`Stages`]: what of a graphics pipeline decides what it captures.

use ash::vk;
use spirv::ExecutionModel;

use crate::runtime::device::context::Context;
use crate::runtime::device::descriptor_heaps::DescriptorPlace;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::pipelines::pipeline::{Pipeline, PipelineDesc};
use vkxfb_rewriter::lower::compute::{self, DomainOrigin};
use vkxfb_rewriter::lower::{Captures, LowerError, Lowered, Shader};
use vkxfb_rewriter::spirv::entry_point::stage_name;
use vkxfb_rewriter::topology::ProvokingVertex;
use vkxfb_rewriter::vertex_input::VertexInput;

/// The stages of a graphics pipeline up to the one that is captured, and the state of the pipeline that has an effect
/// on captures. [`Pipeline::from_stages`] creates a pipeline of the compute backend from it.
///
/// The last stage is captured: the geometry shader, or without one the tessellation evaluation shader, or the vertex
/// shader.
///
/// ```
/// use ash::vk;
/// use vkxfb::runtime::Stages;
/// # use vkxfb::vertex_input::VertexInput;
/// # fn describe(vertex: &[u32], geometry: &[u32], vertex_input: &VertexInput) {
/// // SPIR-V of two stages. Of each vertex that the geometry shader emits, 16 bytes of its position are captured, and
/// // after them the output at location 0.
/// let stages = Stages {
///     vertex_input,
///     topology: Some(vk::PrimitiveTopology::TRIANGLE_LIST),
///     ..Stages::new(vertex).geometry(geometry).varyings(&["@Position", "@0"])
/// };
/// # }
/// ```
///
/// Later versions may add members, so end a value of this type with `..Stages::new(vertex)`.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Stages<'a> {
    /// The vertex shader.
    pub vertex: Shader<'a>,
    /// The tessellation control shader, or `None` without tessellation.
    pub control: Option<Shader<'a>>,
    /// The tessellation evaluation shader, or `None` without tessellation.
    pub evaluation: Option<Shader<'a>>,
    /// The geometry shader, or `None`.
    pub geometry: Option<Shader<'a>>,
    /// What is captured of the outputs of the last stage. [`Captures::Decorations`] stands for the
    /// [`captures`](field@Shader::captures) of that stage's own [`Shader`], which are the decorations by default.
    pub captures: Captures<'a>,
    /// The vertex input state of the pipeline, or the dynamic vertex input state of a draw.
    pub vertex_input: &'a VertexInput,
    /// The number of control points of a patch, unless a draw sets another number. It is ignored without tessellation
    /// shaders.
    pub patch_control_points: u32,
    /// The origin of the tessellation domain. It is ignored without tessellation shaders.
    pub domain_origin: DomainOrigin,
    /// The topology of all draws, or `None` if each draw chooses.
    pub topology: Option<vk::PrimitiveTopology>,
    /// The provoking vertex, unless a draw sets another one.
    pub provoking_vertex: ProvokingVertex,
    /// Whether primitive restart may be enabled.
    pub primitive_restart: bool,
    /// Whether vertex buffers may be bound so that [attributes are not
    /// aligned](compute::Options::unaligned_attributes).
    pub unaligned_attributes: bool,
    /// The set layouts of the pipeline layout. Bindings that the shaders use must be visible to the compute stage:
    /// [`SetLayoutInfo`](crate::runtime::vulkan::SetLayoutInfo) makes them visible.
    pub set_layouts: &'a [vk::DescriptorSetLayout],
    /// Where the application's descriptors are.
    pub descriptors: &'a DescriptorPlace,
}

/// Why no pipeline was created from [`Stages`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StagesError {
    /// The shaders cannot be lowered. The message names the shader at fault, if one is.
    #[error("{}{error}", at_fault(*stage))]
    Lower {
        /// The stage of the shader at fault. `None` if several stages do not match each other, or together exceed what
        /// captures can do.
        stage: Option<ExecutionModel>,
        /// The error, which names the variable if there is one.
        error: LowerError,
    },
    /// The pipeline cannot be created.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

/// Returns the beginning of a message about a shader.
fn at_fault(stage: Option<ExecutionModel>) -> String {
    stage.map_or_else(String::new, |stage| format!("{} shader: ", stage_name(stage)))
}

impl From<LowerError> for StagesError {
    /// An error of no certain stage.
    fn from(error: LowerError) -> Self {
        Self::Lower { stage: None, error }
    }
}

/// The vertex input state of a pipeline whose vertex shader reads no attributes.
static NO_ATTRIBUTES: VertexInput = VertexInput { bindings: Vec::new(), attributes: Vec::new() };

impl<'a> Stages<'a> {
    /// Describes a pipeline with a vertex shader alone, which reads no attributes and no descriptors. Its transform
    /// feedback decorations say what is captured. Each draw chooses its topology; the first vertex is the provoking
    /// vertex, and there is no primitive restart.
    pub fn new(vertex: impl Into<Shader<'a>>) -> Self {
        Self {
            vertex: vertex.into(),
            control: None,
            evaluation: None,
            geometry: None,
            captures: Captures::Decorations,
            vertex_input: &NO_ATTRIBUTES,
            patch_control_points: 0,
            domain_origin: DomainOrigin::UpperLeft,
            topology: None,
            provoking_vertex: ProvokingVertex::First,
            primitive_restart: false,
            unaligned_attributes: false,
            set_layouts: &[],
            descriptors: &DescriptorPlace::Sets,
        }
    }

    /// Adds tessellation shaders, for patches of `control_points` vertices.
    pub fn tessellation(
        mut self,
        control: impl Into<Shader<'a>>,
        evaluation: impl Into<Shader<'a>>,
        control_points: u32,
    ) -> Self {
        (self.control, self.evaluation) = (Some(control.into()), Some(evaluation.into()));
        self.patch_control_points = control_points;
        self
    }

    /// Adds a geometry shader. Its transform feedback decorations, also those of several vertex streams, say what is
    /// captured, unless [`captures`](field@Self::captures) does.
    pub fn geometry(mut self, geometry: impl Into<Shader<'a>>) -> Self {
        self.geometry = Some(geometry.into());
        self
    }

    /// Captures the outputs with these names, one after the other in a record, as `glTransformFeedbackVaryings` does:
    /// [`Shader::varyings`] says how outputs can be named. Decorations are ignored.
    pub const fn varyings(mut self, names: &'a [&'a str]) -> Self {
        self.captures = Captures::Varyings(names);
        self
    }

    /// Returns the last stage, with what is captured of it.
    pub(super) fn captured(&self) -> Shader<'a> {
        let mut last = self.geometry.or(self.evaluation).unwrap_or(self.vertex);
        if !matches!(self.captures, Captures::Decorations) {
            last.captures = self.captures;
        }
        last
    }

    /// # Errors
    /// The errors of [`Pipeline::from_stages`].
    fn lower(&self, target: compute::Target) -> Result<Lowered, LowerError> {
        match (&self.control, &self.evaluation) {
            (None, Some(_)) => return Err(LowerError::NoControlShader),
            (Some(_), None) => return Err(LowerError::NoEvaluationShader),
            _ => {}
        }
        let has_later = self.evaluation.is_some() || self.geometry.is_some();
        let mut options = compute::Options::new(self.vertex_input)
            .domain_origin(self.domain_origin)
            .unaligned_attributes(self.unaligned_attributes)
            .target(target);
        options.vertex_shader = has_later.then_some(&self.vertex);
        options.control_shader = self.control.as_ref();
        options.evaluation_shader = self.evaluation.as_ref().filter(|_| self.geometry.is_some());
        compute::lower(&self.captured(), &options)
    }
}

impl Stages<'_> {
    /// Returns the stage of the shader because of which these cannot be lowered. `None` if it is not one shader's fault.
    fn at_fault(&self, error: &LowerError, target: compute::Target) -> Option<ExecutionModel> {
        use ExecutionModel as Model;
        let all = [
            (Model::Vertex, Some(self.vertex)),
            (Model::TessellationControl, self.control),
            (Model::TessellationEvaluation, self.evaluation),
            (Model::Geometry, self.geometry),
        ];
        let last = all.iter().rev().find(|(_, shader)| shader.is_some()).map(|(stage, _)| *stage);
        match error {
            // These are about stages as such, or about the way in which one follows another.
            LowerError::NoVertexShader
            | LowerError::NoControlShader
            | LowerError::NoEvaluationShader
            | LowerError::TessellationModes { .. }
            | LowerError::Merge(_)
            | LowerError::PassedType { .. }
            | LowerError::FloatControls { .. } => return None,
            LowerError::Capture(_) | LowerError::Stage(_) => return last,
            LowerError::OtherStage { expected, .. } => return Some(*expected),
            LowerError::NativeOnly { .. } => return Some(Model::Vertex),
            LowerError::ControlBarrier { .. } => return Some(Model::TessellationControl),
            LowerError::GeometryModes { .. }
            | LowerError::Stream { .. }
            | LowerError::TessellatedPrimitives { .. } => return Some(Model::Geometry),
            _ => {}
        }
        // A shader that cannot even be read.
        for (stage, shader) in all {
            let shader = shader.map(|shader| shader.stage(shader.stage.unwrap_or(stage)));
            if shader.is_some_and(|shader| shader.effects().as_ref().err() == Some(error)) {
                return Some(stage);
            }
        }
        // The shader with which fewer stages fail in the same way.
        let fails = |fewer: &Self| fewer.lower(target).as_ref().err() == Some(error);
        let vertex = Self {
            control: None,
            evaluation: None,
            geometry: None,
            captures: Captures::Nothing,
            ..*self
        };
        if last == Some(Model::Vertex) || fails(&vertex) {
            return Some(Model::Vertex);
        }
        let tessellated = Self { control: self.control, evaluation: self.evaluation, ..vertex };
        (self.geometry.is_some() && !(self.evaluation.is_some() && fails(&tessellated)))
            .then_some(Model::Geometry)
    }
}

impl Pipeline {
    /// Creates a pipeline of the compute backend from the stages of a graphics pipeline. Vulkan pipelines are created
    /// when draws need them, or by [`prepare`](Self::prepare).
    ///
    /// # Errors
    /// The errors of [`compute::lower`] and of [`new`](Self::new).
    ///
    /// # Safety
    /// The device of `ctx` is live, the shaders are valid, and the set layouts belong to the device.
    pub unsafe fn from_stages(ctx: &Context, stages: &Stages<'_>) -> Result<Self, StagesError> {
        let target = ctx.compute_target()?;
        let shader = stages.lower(target).map_err(|error| StagesError::Lower {
            stage: stages.at_fault(&error, target),
            error,
        })?;
        let desc = PipelineDesc {
            provoking_vertex: stages.provoking_vertex,
            primitive_restart: stages.primitive_restart,
            patch_control_points: stages.patch_control_points,
            set_layouts: stages.set_layouts,
            descriptors: stages.descriptors,
            topology: stages.topology,
            ..PipelineDesc::new(&shader)
        };
        Ok(unsafe { Self::new(ctx, &desc) }?)
    }
}
