//! A pipeline that captures: a vertex shader, optionally tessellation shaders and a geometry shader
//! after it, and the state of a graphics pipeline that affects captures.

use std::ffi::{CString, c_char};
use std::sync::Arc;

use ash::vk;
use vkxfb::capture::CapturedOutput;
use vkxfb::lower::compute::DomainOrigin;
use vkxfb::lower::{LowerError, Shader};
use vkxfb::runtime::{ExpectedDraws, Pipeline, Stages, StagesError, vulkan};
use vkxfb::spirv::NumericClass;
use vkxfb::spirv::headers::ExecutionModel;
use vkxfb::spirv::specialization::SpecializationConstant;
use vkxfb::vertex_input::VertexInput;

use crate::arguments::{
    array, create, owned, provoking_vertex, required, required_mut, string, strings, topology,
    typed_chain,
};
use crate::buffers::VKXFB_MAX_BUFFERS;
use crate::context::{Shared, VkxfbContext};
use crate::error::{Error, VkxfbResult, guard, guard_quietly};
use crate::extensible::{Output, extensible, read};

/// A shader after the vertex shader. Its members have the same meanings as those for the vertex
/// shader in `VkxfbPipelineCreateInfo`.
#[repr(C)]
pub struct VkxfbShaderInfo<'a> {
    /// The `sizeof` of the structure, as `VKXFB_INIT` sets it.
    pub struct_size: usize,
    /// Size in bytes of `pCode`, a multiple of 4.
    pub code_size: usize,
    /// SPIR-V with the shader. It may be the same code as that of the vertex shader.
    pub p_code: *const u32,
    /// Name of the entry point. It may be NULL if the code has only one entry point for that stage.
    pub p_name: *const c_char,
    /// Values of specialization constants, or NULL. The values for the vertex shader do not apply
    /// to this shader.
    pub p_specialization_info: *const vk::SpecializationInfo<'a>,
}

/// The parameters of a pipeline: the parts of a graphics pipeline that determine what is captured.
#[repr(C)]
pub struct VkxfbPipelineCreateInfo<'a> {
    /// The `sizeof` of the structure, as `VKXFB_INIT` sets it.
    pub struct_size: usize,
    /// Size in bytes of `pCode`, a multiple of 4.
    pub code_size: usize,
    /// SPIR-V with the vertex shader. If `ppVaryings` says what is captured, this may be the code
    /// of the graphics pipeline's own shader.
    pub p_code: *const u32,
    /// Name of the entry point. It may be NULL if the code has only one vertex shader.
    pub p_name: *const c_char,
    /// Values of specialization constants, or NULL.
    pub p_specialization_info: *const vk::SpecializationInfo<'a>,
    /// Number of elements of `ppVaryings`. If it is 0, the last shader must have transform feedback
    /// decorations and the execution mode `Xfb`, which glslangValidator generates for `xfb_buffer`,
    /// `xfb_stride` and `xfb_offset` in GLSL. Such code is not valid for a `VkShaderModule` of a
    /// device that was created without the feature `transformFeedback`.
    pub varying_count: u32,
    /// Names of the outputs of the last shader that are captured, as for
    /// `glTransformFeedbackVaryings` with `GL_INTERLEAVED_ATTRIBS`: a record contains them in this
    /// order, without gaps. `gl_SkipComponents1` to `gl_SkipComponents4` leave a gap of 1 to 4
    /// times 4 bytes, and `gl_NextBuffer` begins the record of the next capture buffer. All outputs
    /// of a buffer must be of one vertex stream. Unlike in OpenGL, an output may be named several times.
    /// A member of a block is named with the block or with its instance: `Block.member`, `instance.member`.
    ///
    /// `@3` is the output at location 3, `@3.yz` its second and third component, and `@Position` the
    /// output with that `BuiltIn` decoration, also if the module has no names. Transform feedback
    /// decorations are ignored.
    pub pp_varyings: *const *const c_char,
    /// The vertex input state, whose chain may contain
    /// `VkPipelineVertexInputDivisorStateCreateInfoKHR`. NULL if the shader reads no attributes.
    pub p_vertex_input_state: *const vk::PipelineVertexInputStateCreateInfo<'a>,
    /// Topology and primitive restart. The topology must match the input primitives of the stage after
    /// the vertex shader, if there is one: with tessellation shaders it is
    /// `VK_PRIMITIVE_TOPOLOGY_PATCH_LIST`.
    pub p_input_assembly_state: *const vk::PipelineInputAssemblyStateCreateInfo<'a>,
    /// Whether draws may have other topologies than that of `pInputAssemblyState`. A pipeline for a
    /// single topology is faster.
    pub dynamic_topology: vk::Bool32,
    /// The provoking vertex mode, which decides the order in which the vertices of strips and fans
    /// are captured. 0 is `VK_PROVOKING_VERTEX_MODE_FIRST_VERTEX_EXT`.
    pub provoking_vertex_mode: vk::ProvokingVertexModeEXT,
    /// Number of elements of `pSetLayouts`.
    pub set_layout_count: u32,
    /// Descriptor set layouts of the application's pipeline layout. The stages of each binding that
    /// the shaders use must include `VK_SHADER_STAGE_COMPUTE_BIT`. Push constant ranges are those
    /// that the shaders declare.
    pub p_set_layouts: *const vk::DescriptorSetLayout,
    /// `VK_NULL_HANDLE`, or a pipeline cache with which the Vulkan pipelines for the topology of
    /// `pInputAssemblyState` are compiled immediately. Other Vulkan pipelines, and without a cache
    /// all of them, are compiled when a draw that needs them is first recorded.
    pub pipeline_cache: vk::PipelineCache,
    /// The geometry shader, or NULL if there is none. If there is one, its outputs are captured,
    /// and transform feedback decorations of the other shaders are ignored. It runs as a part of a
    /// compute shader, so the device needs neither `geometryShader` nor `geometryStreams`.
    pub p_geometry_shader: *const VkxfbShaderInfo<'a>,
    /// The tessellation control shader, or NULL if there are no tessellation shaders.
    pub p_tessellation_control_shader: *const VkxfbShaderInfo<'a>,
    /// The tessellation evaluation shader, or NULL if there are no tessellation shaders. If there is one,
    /// and no geometry shader, its outputs are captured. The device does not need `tessellationShader`.
    pub p_tessellation_evaluation_shader: *const VkxfbShaderInfo<'a>,
    /// The number of control points of a patch, 1 to 32. The chain may contain
    /// `VkPipelineTessellationDomainOriginStateCreateInfo`. The structure is ignored if there are
    /// no tessellation shaders.
    pub p_tessellation_state: *const vk::PipelineTessellationStateCreateInfo<'a>,
    /// `VKXFB_PIPELINE_` bits.
    pub flags: u64,
}

/// Vertex buffers may be bound with offsets or strides with which attributes are not aligned to their
/// components or packed words. Without this bit they may only if `pVertexInputState` itself describes
/// attributes so. Shaders load what may not be aligned by bytes, which takes up to two loads for each dword.
pub const VKXFB_PIPELINE_UNALIGNED_ATTRIBUTES: u64 = 1;

extensible! {
    VkxfbShaderInfo<'a> { ..p_specialization_info }
    VkxfbPipelineCreateInfo<'a> {
        ..pipeline_cache,
        p_geometry_shader,
        p_tessellation_control_shader,
        p_tessellation_evaluation_shader,
        p_tessellation_state,
        flags
    }
}

/// A pipeline that captures.
///
/// Several threads may use it at the same time.
pub struct VkxfbPipeline {
    pub(crate) pipeline: Pipeline,
    /// The names of the captured outputs. They are empty if the module has no names.
    names: Vec<CString>,
    shared: Arc<Shared>,
}

/// Properties of a pipeline.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkxfbPipelineProperties {
    /// The `sizeof` of the structure, as `VKXFB_INIT` sets it.
    pub struct_size: usize,
    /// The pipeline layout, with which the application can bind descriptor sets itself: see
    /// `vkxfb_capture_assume_descriptor_sets`. It is destroyed with the pipeline.
    pub layout: vk::PipelineLayout,
    /// The size in bytes of a record in each capture buffer, or 0 if nothing is captured to the
    /// buffer.
    pub strides: [u32; VKXFB_MAX_BUFFERS],
    /// The vertex stream that each capture buffer captures.
    pub streams: [u32; VKXFB_MAX_BUFFERS],
    /// The number of outputs that are captured.
    pub output_count: u32,
    /// The number of vertex streams: 1, or more with a geometry shader.
    pub stream_count: u32,
    /// The first byte of push constants that the shaders read, rounded down to a multiple of 16.
    pub push_constant_offset: u32,
    /// The number of bytes of push constants that the shaders read from there on, rounded up to a
    /// multiple of 16.
    pub push_constant_size: u32,
}

extensible!(VkxfbPipelineProperties { ..push_constant_size });

/// Draws may be large: capturing them may take a dispatch of more than 64 workgroups, which is usual
/// for more than 4,096 vertices. A draw whose arguments only the GPU knows counts as large if the
/// capture buffers have room for so many vertices.
pub const VKXFB_DRAWS_LARGE: u32 = 1;
/// Draws have indices.
pub const VKXFB_DRAWS_INDEXED: u32 = 2;
/// Draws have indices, and primitive restart is enabled. With `VKXFB_DRAWS_INDEXED`, there are draws with and
/// without primitive restart.
pub const VKXFB_DRAWS_RESTART: u32 = 4;
/// Draws may have several instances, vertex buffers of more than 4 GiB, buffers that are not
/// aligned to the largest accesses to them, or indices and vertices outside of their buffers.
pub const VKXFB_DRAWS_CHECKED: u32 = 8;
/// A capture may have several draws.
pub const VKXFB_DRAWS_SEVERAL: u32 = 16;
/// Captures may have counters or queries.
pub const VKXFB_DRAWS_COUNTED: u32 = 32;
/// Possibly only the GPU knows how much this or another draw of the capture draws: it is an indirect draw, a
/// draw by byte count, or a draw with conditional rendering or primitive restart.
pub const VKXFB_DRAWS_INDIRECT: u32 = 64;
/// Draws of every kind, also in captures that mix them.
pub const VKXFB_DRAWS_ANY: u32 = 128;

/// The properties that draws may have or not.
const POSSIBLE_DRAWS: u32 = VKXFB_DRAWS_LARGE
    | VKXFB_DRAWS_CHECKED
    | VKXFB_DRAWS_SEVERAL
    | VKXFB_DRAWS_COUNTED
    | VKXFB_DRAWS_INDIRECT;

/// Draws for which `vkxfb_pipeline_prepare` compiles pipelines.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkxfbExpectedDraws {
    /// The topology. A pipeline without `dynamicTopology` uses its own topology instead.
    pub topology: vk::PrimitiveTopology,
    /// `VKXFB_DRAWS_` bits. 0 stands for small direct draws with one instance and without indices,
    /// each of which is the only draw of its capture. Each bit except `VKXFB_DRAWS_INDEXED` and
    /// `VKXFB_DRAWS_RESTART` adds draws to those that the other bits stand for. Draws with indices and draws
    /// without need two elements. If in doubt, use `VKXFB_DRAWS_ANY`.
    pub flags: u32,
}

/// Creates a pipeline. After that, the memory that `pCreateInfo` points to is no longer needed, but
/// the set layouts are.
///
/// # Safety
/// `context` is live. `pCreateInfo` points to a valid structure, whose SPIR-V is valid and whose
/// handles belong to the device. The set layouts outlive the pipeline. `pPipeline` points to memory
/// for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_pipeline_create(
    context: *const VkxfbContext,
    p_create_info: *const VkxfbPipelineCreateInfo<'_>,
    p_pipeline: *mut *mut VkxfbPipeline,
) -> VkxfbResult {
    unsafe {
        create(p_pipeline, "pPipeline", || {
            let shared = Arc::clone(&required(context, "context")?.shared);
            let pipeline = make(&shared, &read(p_create_info, "pCreateInfo")?)?;
            let outputs = pipeline.layout().outputs.iter();
            let name = |output: &CapturedOutput| output.name.clone().map(CString::new);
            let names = outputs.map(|output| name(output).and_then(Result::ok).unwrap_or_default());
            let names = names.collect();
            Ok(VkxfbPipeline { pipeline, names, shared })
        })
    }
}

/// Compiles the Vulkan pipelines for these draws that are not compiled yet, so that no
/// recording waits for a compiler. Any thread may call this while others record. A pipeline that is
/// compiled during a recording does not use a pipeline cache.
///
/// # Safety
/// `pipeline` is live, and `pDraws` points to `drawCount` structures. `pipelineCache` is `VK_NULL_HANDLE` or a
/// pipeline cache of the device that nothing else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_pipeline_prepare(
    pipeline: *const VkxfbPipeline,
    draw_count: u32,
    p_draws: *const VkxfbExpectedDraws,
    pipeline_cache: vk::PipelineCache,
) -> VkxfbResult {
    guard(|| {
        let (VkxfbPipeline { pipeline, shared, .. }, draws) =
            unsafe { (required(pipeline, "pipeline")?, array(p_draws, draw_count, "pDraws")?) };
        let mut expected = Vec::new();
        for draws in draws {
            draws.add_to(&mut expected)?;
        }
        Ok(unsafe { pipeline.prepare(&shared.context, &expected, pipeline_cache) }?)
    })
}

/// Returns the properties of a pipeline.
///
/// # Safety
/// `pipeline` is live, and `pProperties` points to a valid structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_pipeline_get_properties(
    pipeline: *const VkxfbPipeline,
    p_properties: *mut VkxfbPipelineProperties,
) -> VkxfbResult {
    guard(|| {
        let (pipeline, properties) = unsafe {
            (required(pipeline, "pipeline")?, Output::required(p_properties, "pProperties")?)
        };
        let pipeline = &pipeline.pipeline;
        let (layout, pushed) = (pipeline.layout(), pipeline.push_constants());
        let made = VkxfbPipelineProperties {
            struct_size: size_of::<VkxfbPipelineProperties>(),
            layout: pipeline.raw_layout(),
            strides: layout.strides.map(Option::unwrap_or_default),
            streams: layout.streams,
            output_count: layout.outputs.len() as u32,
            stream_count: pipeline.stream_count(),
            push_constant_offset: pushed.start,
            push_constant_size: pushed.end - pushed.start,
        };
        unsafe { properties.write(&made) };
        Ok(())
    })
}

/// Returns the position of a captured output in a record, as the vertex attribute with which
/// another pipeline can read it: `binding` is the number of the capture buffer, `offset` counts
/// from the start of the record, and `format` is the format of the output's components. `location`
/// is that of the output, or `UINT32_MAX` for a built-in output. Outputs are numbered by capture
/// buffer, then by offset. Each column of a matrix and each element of an array is a separate
/// output.
///
/// `ppName` may be NULL. Otherwise the name of the output is written to it, or "" if the SPIR-V has
/// no names. The string is valid until the pipeline is destroyed.
///
/// # Safety
/// `pipeline` is live, and `pAttribute` points to memory for a structure. `ppName` is NULL or
/// points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_pipeline_get_output(
    pipeline: *const VkxfbPipeline,
    output: u32,
    p_attribute: *mut vk::VertexInputAttributeDescription,
    pp_name: *mut *const c_char,
) -> VkxfbResult {
    guard(|| {
        let (VkxfbPipeline { pipeline, names, .. }, attribute, name) = unsafe {
            let attribute = required_mut(p_attribute, "pAttribute")?;
            (required(pipeline, "pipeline")?, attribute, pp_name.as_mut())
        };
        let outputs = &pipeline.layout().outputs;
        let number = output as usize;
        let (Some(output), Some(text)) = (outputs.get(number), names.get(number)) else {
            let message = format!("output is {number}: the pipeline captures {}", outputs.len());
            return Err(Error::Argument(message));
        };
        *attribute = vk::VertexInputAttributeDescription {
            location: output.location.unwrap_or(u32::MAX),
            binding: output.buffer,
            format: format_of(output),
            offset: output.offset,
        };
        if let Some(name) = name {
            *name = text.as_ptr();
        }
        Ok(())
    })
}

/// Returns the format of a vertex attribute that reads a captured output.
fn format_of(output: &CapturedOutput) -> vk::Format {
    use vk::Format as F;
    let [unsigned, signed, float] = match output.bits {
        64 => [
            [F::R64_UINT, F::R64G64_UINT, F::R64G64B64_UINT, F::R64G64B64A64_UINT],
            [F::R64_SINT, F::R64G64_SINT, F::R64G64B64_SINT, F::R64G64B64A64_SINT],
            [F::R64_SFLOAT, F::R64G64_SFLOAT, F::R64G64B64_SFLOAT, F::R64G64B64A64_SFLOAT],
        ],
        _ => [
            [F::R32_UINT, F::R32G32_UINT, F::R32G32B32_UINT, F::R32G32B32A32_UINT],
            [F::R32_SINT, F::R32G32_SINT, F::R32G32B32_SINT, F::R32G32B32A32_SINT],
            [F::R32_SFLOAT, F::R32G32_SFLOAT, F::R32G32B32_SFLOAT, F::R32G32B32A32_SFLOAT],
        ],
    };
    let formats = match output.class {
        NumericClass::Uint => unsigned,
        NumericClass::Sint => signed,
        NumericClass::Float => float,
    };
    let number = output.components.wrapping_sub(1) as usize;
    formats.get(number).copied().unwrap_or(F::UNDEFINED)
}

impl VkxfbExpectedDraws {
    /// Adds the draws that the flags describe.
    fn add_to(&self, expected: &mut Vec<ExpectedDraws>) -> Result<(), Error> {
        let (topology, flags) = (topology(self.topology)?, self.flags);
        let unknown = flags & !(2 * VKXFB_DRAWS_ANY - 1);
        if unknown != 0 {
            return Err(Error::Argument(format!("flags has unknown bits: {unknown:#x}")));
        }
        if flags & VKXFB_DRAWS_ANY != 0 {
            expected.extend(ExpectedDraws::every(topology));
            return Ok(());
        }
        // Draws with indices have them in each kind, with and without restart where both are named.
        let indices = match flags & (VKXFB_DRAWS_INDEXED | VKXFB_DRAWS_RESTART) {
            0 => &[0][..],
            VKXFB_DRAWS_INDEXED => &[VKXFB_DRAWS_INDEXED],
            VKXFB_DRAWS_RESTART => &[VKXFB_DRAWS_RESTART],
            _ => &[VKXFB_DRAWS_INDEXED, VKXFB_DRAWS_RESTART],
        };
        // The other properties are those that draws may have, so each kind has some of them.
        let kinds =
            (0..=flags & POSSIBLE_DRAWS).filter(|kind| kind & !(flags & POSSIBLE_DRAWS) == 0);
        expected.extend(kinds.flat_map(|kind| {
            indices.iter().map(move |indices| {
                let has = |flag| (kind | indices) & flag != 0;
                ExpectedDraws {
                    large: has(VKXFB_DRAWS_LARGE),
                    indexed: has(VKXFB_DRAWS_INDEXED | VKXFB_DRAWS_RESTART),
                    restart: has(VKXFB_DRAWS_RESTART),
                    checked: has(VKXFB_DRAWS_CHECKED),
                    several: has(VKXFB_DRAWS_SEVERAL),
                    counted: has(VKXFB_DRAWS_COUNTED),
                    indirect: has(VKXFB_DRAWS_INDIRECT),
                    ..ExpectedDraws::new(topology)
                }
            })
        }));
        Ok(())
    }
}

/// Destroys a pipeline. NULL is ignored.
///
/// # Safety
/// `pipeline` is live or NULL, and is not used any more. Every capture that was begun with it, or that it was
/// bound in, was begun again, ended by `vkxfb_capture_end` or destroyed. Every command buffer that such a capture
/// was recorded or played into was reset or freed, or was executed and will not be again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_pipeline_destroy(pipeline: *mut VkxfbPipeline) {
    guard_quietly(|| {
        if let Some(owned) = unsafe { owned(pipeline) } {
            let VkxfbPipeline { pipeline, shared, .. } = *owned;
            unsafe { shared.context.destroy(pipeline, &mut ()) };
        }
    });
}

/// # Safety
/// The contract of [`vkxfb_pipeline_create`].
unsafe fn make(shared: &Shared, info: &VkxfbPipelineCreateInfo<'_>) -> Result<Pipeline, Error> {
    let (vertex, tessellation, geometry) = unsafe {
        let geometry = (info.p_geometry_shader, "pGeometryShader");
        (
            CallerShader::vertex(info)?,
            Tessellation::new(info)?,
            CallerShader::later(geometry, ExecutionModel::Geometry)?,
        )
    };
    let (varyings, assembly, set_layouts, vertex_input) = unsafe {
        (
            strings(info.pp_varyings, info.varying_count, "ppVaryings")?,
            required(info.p_input_assembly_state, "pInputAssemblyState")?,
            array(info.p_set_layouts, info.set_layout_count, "pSetLayouts")?,
            match info.p_vertex_input_state.as_ref() {
                Some(info) => {
                    typed_chain(info.p_next, "pVertexInputState")?;
                    vulkan::vertex_input(info)?
                }
                None => VertexInput { bindings: Vec::new(), attributes: Vec::new() },
            },
        )
    };
    let unknown = info.flags & !VKXFB_PIPELINE_UNALIGNED_ATTRIBUTES;
    if unknown != 0 {
        return Err(Error::Argument(format!("flags has unknown bits: {unknown:#x}")));
    }
    let mut stages = Stages {
        vertex_input: &vertex_input,
        unaligned_attributes: info.flags & VKXFB_PIPELINE_UNALIGNED_ATTRIBUTES != 0,
        provoking_vertex: provoking_vertex(info.provoking_vertex_mode)?,
        primitive_restart: assembly.primitive_restart_enable != vk::FALSE,
        set_layouts,
        ..Stages::new(vertex.shader())
    };
    if !varyings.is_empty() {
        stages = stages.varyings(&varyings);
    }
    if let Some(Tessellation { control, evaluation, patch_control_points, domain_origin }) =
        &tessellation
    {
        stages = stages.tessellation(control.shader(), evaluation.shader(), *patch_control_points);
        stages.domain_origin = *domain_origin;
    }
    stages.geometry = geometry.as_ref().map(CallerShader::shader);
    let topology = topology(assembly.topology)?;
    stages.topology = (info.dynamic_topology == vk::FALSE).then_some(topology.into());
    // SAFETY: as above.
    let pipeline = unsafe { Pipeline::from_stages(&shared.context, &stages) };
    let pipeline = pipeline.map_err(|error| match error {
        StagesError::Lower { error: error @ LowerError::Parse(_), .. } => vertex.error(error),
        error @ StagesError::Lower { .. } => Error::Stages(error),
        StagesError::Runtime(error) => error.into(),
        other => Error::Argument(other.to_string()),
    })?;
    if info.pipeline_cache != vk::PipelineCache::null() {
        let draws: Vec<_> = ExpectedDraws::every(topology).collect();
        // SAFETY: as above; nothing uses the pipeline yet.
        unsafe {
            if let Err(error) = pipeline.prepare(&shared.context, &draws, info.pipeline_cache) {
                shared.context.destroy(pipeline, &mut ());
                return Err(error.into());
            }
        }
    }
    Ok(pipeline)
}

/// The tessellation shaders of the caller, and their state.
struct Tessellation<'a> {
    control: CallerShader<'a>,
    evaluation: CallerShader<'a>,
    patch_control_points: u32,
    domain_origin: DomainOrigin,
}

impl<'a> Tessellation<'a> {
    /// # Safety
    /// The contract of [`vkxfb_pipeline_create`].
    unsafe fn new(info: &VkxfbPipelineCreateInfo<'a>) -> Result<Option<Self>, Error> {
        let names = ["pTessellationControlShader", "pTessellationEvaluationShader"];
        let control = (info.p_tessellation_control_shader, names[0]);
        let evaluation = (info.p_tessellation_evaluation_shader, names[1]);
        let (control, evaluation) = unsafe {
            (
                CallerShader::later(control, ExecutionModel::TessellationControl)?,
                CallerShader::later(evaluation, ExecutionModel::TessellationEvaluation)?,
            )
        };
        let (control, evaluation) = match (control, evaluation) {
            (None, None) => return Ok(None),
            (Some(control), Some(evaluation)) => (control, evaluation),
            (control, _) => {
                let (given, missing) = if control.is_some() { (0, 1) } else { (1, 0) };
                let message = format!("{} is NULL, and {} is not", names[missing], names[given]);
                return Err(Error::Argument(message));
            }
        };
        let (patch_control_points, domain_origin) = unsafe {
            let state = required(info.p_tessellation_state, "pTessellationState")?;
            typed_chain(state.p_next, "pTessellationState")?;
            vulkan::tessellation(state)
        };
        Ok(Some(Self { control, evaluation, patch_control_points, domain_origin }))
    }
}

/// A shader of the caller, with its entry point and specialization constants.
struct CallerShader<'a> {
    words: &'a [u32],
    /// The stage of the shader. `None` for the vertex shader, because lowering looks for a vertex
    /// shader by default.
    stage: Option<ExecutionModel>,
    entry_point: Option<&'a str>,
    specialization: Vec<SpecializationConstant<'a>>,
}

impl<'a> CallerShader<'a> {
    /// # Safety
    /// The contract of [`vkxfb_pipeline_create`].
    unsafe fn vertex(info: &VkxfbPipelineCreateInfo<'a>) -> Result<Self, Error> {
        let info = VkxfbShaderInfo {
            struct_size: size_of::<VkxfbShaderInfo<'_>>(),
            code_size: info.code_size,
            p_code: info.p_code,
            p_name: info.p_name,
            p_specialization_info: info.p_specialization_info,
        };
        unsafe { Self::new(&info, None) }
    }

    /// Reads a shader after the vertex shader. `None` if the pointer is null. `name` is the name of
    /// the member that contains the pointer.
    ///
    /// # Safety
    /// The contract of [`vkxfb_pipeline_create`].
    unsafe fn later(
        (start, name): (*const VkxfbShaderInfo<'a>, &'static str),
        stage: ExecutionModel,
    ) -> Result<Option<Self>, Error> {
        let made = || {
            let stage = unsafe { Self::new(&read(start, name)?, Some(stage)) }?;
            // The entry point is looked up here, because a later error would not say which of the
            // shaders has none.
            let shader = stage.shader();
            let module = shader.module().map_err(|error| stage.error(error))?;
            shader.find(&module).map_err(LowerError::from)?;
            Ok(stage)
        };
        let made = (!start.is_null()).then(made).transpose();
        made.map_err(|error| Error::Within(name, Box::new(error)))
    }

    /// # Safety
    /// What the structure points to is valid for as long as the result is used.
    unsafe fn new(
        info: &VkxfbShaderInfo<'a>,
        stage: Option<ExecutionModel>,
    ) -> Result<Self, Error> {
        let size = info.code_size;
        if !size.is_multiple_of(size_of::<u32>()) {
            let message = format!("codeSize is {size}: it counts bytes, in a multiple of 4");
            return Err(Error::Argument(message));
        }
        if info.p_code.is_null() {
            return Err(Error::Null("pCode"));
        }
        let (words, entry_point, specialization) = unsafe {
            (
                std::slice::from_raw_parts(info.p_code, size / size_of::<u32>()),
                string(info.p_name, "pName")?,
                info.p_specialization_info.as_ref(),
            )
        };
        let constants = specialization.map(|info| unsafe { vulkan::specialization(info) });
        let specialization = constants.transpose()?.unwrap_or_default();
        Ok(Self { words, stage, entry_point, specialization })
    }

    /// Returns an error of lowering for the caller. If the words are not SPIR-V, the shader is `self`: later stages
    /// than the vertex shader are parsed on their own.
    fn error(&self, source: LowerError) -> Error {
        match source {
            LowerError::Parse(_) => Error::Code { code_size: size_of_val(self.words), source },
            source => Error::Lower(source),
        }
    }

    fn shader(&self) -> Shader<'_> {
        let mut shader = Shader::new(self.words).specialization(&self.specialization);
        (shader.stage, shader.entry_point) = (self.stage, self.entry_point);
        shader
    }
}

#[cfg(test)]
mod tests {
    use vkxfb::topology::PrimitiveTopology;

    use super::*;

    fn expected(flags: u32) -> Vec<ExpectedDraws> {
        let mut expected = Vec::new();
        let draws = VkxfbExpectedDraws { topology: vk::PrimitiveTopology::LINE_STRIP, flags };
        draws.add_to(&mut expected).unwrap();
        expected
    }

    /// Whether everything is in `all`.
    fn are_in(some: &[ExpectedDraws], all: &[ExpectedDraws]) -> bool {
        some.iter().all(|draws| all.contains(draws))
    }

    /// A draw with primitive restart is one of which only the GPU knows how much it draws, but alone in its capture it
    /// is another kind of draw than one that follows an indirect draw.
    #[test]
    fn more_flags_stand_for_more_draws() {
        let indices = VKXFB_DRAWS_INDEXED | VKXFB_DRAWS_RESTART;
        for flags in 0..VKXFB_DRAWS_ANY {
            let all = expected(flags);
            assert!(are_in(&all, &expected(VKXFB_DRAWS_ANY)));
            for fewer in (0..flags).filter(|fewer| fewer & !flags == 0) {
                // Draws with indices never are draws without.
                let is_less = fewer & indices != 0 || flags & indices == 0;
                assert_eq!(are_in(&expected(fewer), &all), is_less, "{fewer:#x}, {flags:#x}");
            }
        }
    }

    #[test]
    fn flags_are_kinds_of_draws() {
        let draws = ExpectedDraws::new(PrimitiveTopology::LineStrip);
        assert_eq!(expected(0), [draws]);
        let indexed = ExpectedDraws { indexed: true, ..draws };
        assert_eq!(expected(VKXFB_DRAWS_INDEXED), [indexed]);
        let restart = ExpectedDraws { restart: true, ..indexed };
        assert_eq!(
            expected(VKXFB_DRAWS_RESTART | VKXFB_DRAWS_INDIRECT),
            [restart, ExpectedDraws { indirect: true, ..restart }]
        );
        let several = |draws| ExpectedDraws { several: true, ..draws };
        let both = expected(VKXFB_DRAWS_RESTART | VKXFB_DRAWS_INDEXED | VKXFB_DRAWS_SEVERAL);
        assert_eq!(both, [indexed, restart, several(indexed), several(restart)]);
    }
}
