//! Graphics pipelines that capture: the parts of their state that are needed for captures, and their variants. A
//! variant is the compute pipeline with which captures replace the graphics pipeline.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::sync::{Arc, OnceLock};

use ash::vk;
use spirv::ExecutionModel;
use vkxfb::runtime::descriptor_heaps::{DescriptorPlace, HeapInterface};
use vkxfb::runtime::{
    Context, ErrorKind, ExpectedDraws, RuntimeError, Stages, StagesError, Variants, vulkan,
};
use vkxfb_rewriter::capture::CaptureError;
use vkxfb_rewriter::lower::compute::DomainOrigin;
use vkxfb_rewriter::lower::reflect::{ResourceType, resource_interface};
use vkxfb_rewriter::lower::{Captures, Effects, LowerError, Shader};
use vkxfb_rewriter::spirv::specialization::SpecializationConstant;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex, TopologyError};
use vkxfb_rewriter::vertex_input::VertexInput;
use vkxfb_rewriter::vulkan::run_stage;

use super::HeapSupport;
use super::default_attributes::{DefaultAttributes, Inputs};
use super::heap_mappings::{self, MappedStage, MappingError, Mappings, UsedBinding};
use super::layouts::{PipelineLayout, SetLayout};
use crate::chain::{all_of, slice};

/// The reason why a graphics pipeline or a draw cannot be captured.
#[derive(Debug, thiserror::Error)]
pub(super) enum PipelineError {
    #[error("the module of a shader before rasterization is unknown to the layer")]
    Module,
    #[error("captures do not run the stage {0:?}")]
    Stage(vk::ShaderStageFlags),
    #[error(transparent)]
    Topology(#[from] TopologyError),
    #[error("the words of a shader are not known, only their identifier")]
    Identifier,
    #[error("the name of a shader's entry point is not UTF-8")]
    EntryPoint,
    #[error("the pipeline layout is unknown to the layer")]
    Layout,
    #[error("{0}")]
    VertexInput(String),
    #[error("the binary code of a shader is not the layer's")]
    ShaderBinary,
    #[error("vertex stream {0} of a shader object cannot be rasterized")]
    RasterizationStream(u32),
    #[error(
        "other descriptor buffers, or descriptor heaps, are bound between the draws of a capture"
    )]
    DescriptorBuffers,
    #[error(
        "the number of control points of a patch is dynamic state, and no vkCmdSetPatchControlPointsEXT sets it"
    )]
    NoPatchControlPoints,
    #[error("the shader reads descriptor set {0}, and none is bound")]
    NoSet(u32),
    #[error(
        "it is in a part of dynamic rendering that is resumed and suspended again: it can be \
         recorded neither before nor after it, because the rendering neither begins nor ends in \
         this command buffer"
    )]
    SuspendedElsewhere,
    #[error(
        "its arguments cannot be computed before the pass, which began before a buffer with \
         indirect usage was created, or was suspended in another command buffer"
    )]
    LateByteCount,
    #[error("it begins at instance {0}, and the device lacks drawIndirectFirstInstance")]
    FirstInstance(u32),
    #[error("the pipeline reads descriptor heaps, and VK_EXT_descriptor_heap is not enabled")]
    NoHeaps,
    #[error("the binary code of a shader cannot contain an embedded sampler with this chain")]
    Sampler,
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// A structure in the chain has to be changed, but comes after an unknown structure.
    #[error(transparent)]
    Chain(crate::error::Error),
    #[cfg(feature = "drawn")]
    #[error("geometry shaders are not drawn with {0}")]
    NotDrawn(&'static str),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error(transparent)]
    Variant(#[from] StagesError),
    /// An error that was found before, of the same pipeline or shaders.
    #[error(transparent)]
    Known(Arc<PipelineError>),
}

/// A pipeline that captures or whose primitives are counted, or the reason why it cannot be captured.
pub(super) type Found = Result<Arc<Pipeline>, Arc<PipelineError>>;

impl PipelineError {
    /// Returns the result for the application: that of the Vulkan command that failed, and
    /// otherwise `ERROR_UNKNOWN`.
    pub(super) fn result(&self) -> vk::Result {
        let result = match self.root() {
            Self::Identifier => Some(vk::Result::PIPELINE_COMPILE_REQUIRED),
            _ => self.runtime().and_then(RuntimeError::vk_result),
        };
        result.unwrap_or(vk::Result::ERROR_UNKNOWN)
    }

    /// The error of a shader that cannot be lowered.
    #[cfg(feature = "drawn")]
    pub(super) fn of_lowering(error: LowerError) -> Self {
        Self::Variant(error.into())
    }

    /// Whether memory ran out. What the program asked for is possible otherwise.
    pub(super) fn is_out_of_memory(&self) -> bool {
        self.runtime().is_some_and(|error| error.kind() == ErrorKind::OutOfMemory)
    }

    /// Whether the device is lost or memory ran out: programs must know of that.
    pub(super) fn is_of_device(&self) -> bool {
        let lost = Some(vk::Result::ERROR_DEVICE_LOST);
        self.is_out_of_memory() || self.runtime().and_then(RuntimeError::vk_result) == lost
    }

    /// The error itself, also of one that is [known](Self::Known).
    pub(super) fn root(&self) -> &Self {
        match self {
            Self::Known(error) => error.root(),
            error => error,
        }
    }

    pub(super) fn runtime(&self) -> Option<&RuntimeError> {
        match self.root() {
            Self::Runtime(error) | Self::Variant(StagesError::Runtime(error)) => Some(error),
            _ => None,
        }
    }
}

/// Returns what was made for captured draws, or for draws that are only counted if `captures` is false. `None` if that is
/// not possible for the latter: what is only counted must not fail, so the reason is logged. Without memory it fails, too.
///
/// # Errors
/// That of `made`.
pub(super) fn unless_only_counted<T>(
    what: &str,
    captures: bool,
    made: Result<T, PipelineError>,
) -> Result<Option<T>, PipelineError> {
    match made {
        Err(error) if !captures && !error.is_out_of_memory() => {
            tracing::warn!("the primitives of {what} are not counted: {error}");
            Ok(None)
        }
        made => made.map(Some),
    }
}

/// Whether each state is dynamic, which means that commands set it, not the pipeline.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Dynamic {
    pub(super) vertex_input: bool,
    pub(super) stride: bool,
    pub(super) topology: bool,
    pub(super) restart: bool,
    pub(super) discard: bool,
    pub(super) provoking_vertex: bool,
    pub(super) patch_control_points: bool,
    pub(super) domain_origin: bool,
}

impl Dynamic {
    const ALL: Self = Self {
        vertex_input: true,
        stride: true,
        topology: true,
        restart: true,
        discard: true,
        provoking_vertex: true,
        patch_control_points: true,
        domain_origin: true,
    };
}

/// The vertex input state and input assembly state of a graphics pipeline or library.
#[derive(Debug, Clone)]
pub(super) struct InputPart {
    /// The vertex input. `Err` has the reason why captures cannot read vertices with it.
    pub(super) vertex_input: Result<VertexInput, String>,
    pub(super) topology: vk::PrimitiveTopology,
    pub(super) restart: bool,
    pub(super) dynamic: Dynamic,
}

/// A shader of a graphics pipeline or library.
#[derive(Clone)]
pub(super) struct StagePart {
    words: Arc<[u32]>,
    model: ExecutionModel,
    entry_point: String,
    specialization: Vec<(u32, Vec<u8>)>,
    /// The mappings of its descriptors to heaps. They are ignored unless the pipeline is for heaps.
    mappings: Arc<Mappings>,
}

/// The shader stages that a capture runs, and what is known of their outputs.
#[derive(Clone)]
pub(super) struct CapturedStages {
    /// The last stage before rasterization, whose outputs are captured.
    pub(super) captured: StagePart,
    /// The stages before `captured`, in order. Empty if `captured` is the vertex shader.
    pub(super) before: Vec<StagePart>,
    /// Whether `captured` has transform feedback. If not, its primitives are only counted.
    pub(super) captures: bool,
    /// Whether `captured` may emit to several vertex streams.
    pub(super) has_streams: bool,
}

impl CapturedStages {
    fn vertex(&self) -> &StagePart {
        self.before.first().unwrap_or(&self.captured)
    }

    /// Returns what the compute pipeline that runs the stages reads in descriptor heaps and in push data. If the stages
    /// map their descriptors differently, also changes their modules: the same set and binding of two stages are then
    /// different descriptors, and the pipeline has one module, so each stage gets other set numbers.
    ///
    /// # Errors
    /// The module of a stage is invalid, or its descriptors cannot be mapped.
    fn map_to_heaps(&mut self, max_push_data: u32) -> Result<HeapInterface, PipelineError> {
        let mut stages: Vec<&mut StagePart> =
            self.before.iter_mut().chain([&mut self.captured]).collect();
        let mut uses = Vec::new();
        for stage in &stages {
            let found = resource_interface(&stage.shader(&stage.constants()));
            let found = found.map_err(|error| PipelineError::Variant(error.into()))?;
            let used = found.descriptors.iter().map(|descriptor| UsedBinding {
                set: descriptor.set,
                binding: descriptor.binding,
                is_combined: descriptor.resource == ResourceType::CombinedImageSampler,
            });
            uses.push(used.collect::<Vec<_>>());
        }
        let mappings: Vec<Arc<Mappings>> =
            stages.iter().map(|stage| Arc::clone(&stage.mappings)).collect();
        let are_equal = mappings.iter().all(|other| *other == mappings[0]);
        let (mut mapped, mut first_set) = (Vec::new(), 0);
        for ((stage, uses), mappings) in stages.iter_mut().zip(&uses).zip(&mappings) {
            mapped.push(MappedStage { mappings, uses, first_set });
            if !are_equal {
                if first_set > 0 {
                    stage.words = heap_mappings::with_sets_from(&stage.words, first_set).into();
                }
                let sets = uses.iter().map(|used| used.set.saturating_add(1));
                first_set = first_set.saturating_add(sets.max().unwrap_or(0));
            }
        }
        Ok(heap_mappings::interface(&mapped, max_push_data)?)
    }

    /// Whether the primitives of draws follow from their topology and number of vertices, because there is a vertex
    /// shader alone, which they are counted without.
    pub(super) const fn are_of_topology(&self) -> bool {
        self.before.is_empty()
    }

    fn is_tessellated(&self) -> bool {
        self.before.iter().any(|stage| stage.model == ExecutionModel::TessellationControl)
    }
}

/// The pre-rasterization shader state of a graphics pipeline or library.
#[derive(Clone)]
pub(super) struct ShaderPart {
    /// The stages that a capture runs. `None` if draws are neither captured nor counted.
    stages: Option<CapturedStages>,
    layout: Option<Arc<PipelineLayout>>,
    pub(super) provoking_vertex: ProvokingVertex,
    /// The number of control points of a patch; at least 1.
    patch_control_points: u32,
    domain_origin: DomainOrigin,
    pub(super) discard: bool,
    pub(super) dynamic: Dynamic,
}

/// The parts of a graphics pipeline that are needed for captures. A part is `None` if neither the pipeline itself nor a
/// library defines it.
#[derive(Clone, Default)]
pub(super) struct Parts {
    pub(super) input: Option<Arc<InputPart>>,
    pub(super) shader: Option<Arc<ShaderPart>>,
}

impl Parts {
    /// Returns the parts for shader objects. Commands set all of the state, so the values of the
    /// state here do not matter.
    pub(super) fn of_shaders(stages: CapturedStages) -> Self {
        let input = InputPart {
            vertex_input: Ok(VertexInput::default()),
            topology: vk::PrimitiveTopology::POINT_LIST,
            restart: false,
            dynamic: Dynamic::ALL,
        };
        let shader = ShaderPart {
            stages: Some(stages),
            layout: None,
            provoking_vertex: ProvokingVertex::First,
            patch_control_points: 1,
            domain_origin: DomainOrigin::UpperLeft,
            discard: false,
            dynamic: Dynamic::ALL,
        };
        Self { input: Some(Arc::new(input)), shader: Some(Arc::new(shader)) }
    }

    /// Takes from `library` the parts that this value lacks.
    pub(super) fn link(&mut self, library: &Self) {
        self.input = self.input.take().or_else(|| library.input.clone());
        self.shader = self.shader.take().or_else(|| library.shader.clone());
    }
}

impl InputPart {
    /// Copies the vertex input state and input assembly state from a create info.
    ///
    /// # Safety
    /// The create info is valid for `vkCreateGraphicsPipelines`, and contains this state.
    pub(super) unsafe fn new(info: &vk::GraphicsPipelineCreateInfo<'_>) -> Self {
        unsafe {
            let dynamic = dynamic_of(info);
            let vertex_input = match info.p_vertex_input_state.as_ref() {
                Some(state) if !dynamic.vertex_input => {
                    vulkan::vertex_input(state).map_err(|error| error.to_string())
                }
                _ => Ok(VertexInput::default()),
            };
            let assembly = info.p_input_assembly_state.as_ref();
            Self {
                vertex_input,
                topology: assembly
                    .map_or(vk::PrimitiveTopology::POINT_LIST, |state| state.topology),
                restart: assembly.is_some_and(|state| state.primitive_restart_enable == vk::TRUE),
                dynamic,
            }
        }
    }
}

impl StagePart {
    /// Copies the entry point and the values of specialization constants from a shader stage.
    ///
    /// # Errors
    /// Captures do not run the stage, the name of the entry point is not UTF-8, or a specialization constant's value
    /// lies outside of `pData`.
    ///
    /// # Safety
    /// The contract of [`InputPart::new`]; the words are those of the stage.
    pub(super) unsafe fn new(
        stage: &vk::PipelineShaderStageCreateInfo<'_>,
        words: Arc<[u32]>,
    ) -> Result<Self, PipelineError> {
        let model = run_stage(stage.stage).ok_or(PipelineError::Stage(stage.stage))?;
        unsafe {
            let specialization = Self::constants_of(stage)?;
            let entry_point = CStr::from_ptr(stage.p_name).to_str();
            let entry_point = entry_point.map_err(|_| PipelineError::EntryPoint)?.to_owned();
            let mappings = Arc::new(Mappings::of_chain(stage.p_next));
            Ok(Self { words, model, entry_point, specialization, mappings })
        }
    }

    /// Copies the values of specialization constants from a shader stage.
    ///
    /// # Errors
    /// A specialization constant's value lies outside of `pData`.
    ///
    /// # Safety
    /// The contract of [`InputPart::new`].
    pub(super) unsafe fn constants_of(
        stage: &vk::PipelineShaderStageCreateInfo<'_>,
    ) -> Result<Vec<(u32, Vec<u8>)>, PipelineError> {
        let Some(info) = (unsafe { stage.p_specialization_info.as_ref() }) else {
            return Ok(Vec::new());
        };
        let constants = unsafe { vulkan::specialization(info) }?.into_iter();
        Ok(constants.map(|constant| (constant.constant_id, constant.data.to_vec())).collect())
    }

    pub(super) fn words(&self) -> &[u32] {
        &self.words
    }

    pub(super) fn entry_point(&self) -> &str {
        &self.entry_point
    }

    /// Returns the shader's side effects, such as stores to memory.
    ///
    /// # Errors
    /// The module is invalid.
    pub(super) fn effects(&self) -> Result<Effects, PipelineError> {
        let found = self.shader(&self.constants()).effects();
        found.map_err(|error| PipelineError::Variant(error.into()))
    }

    /// Serializes the entry point, the specialization constants, the mappings to descriptor heaps and the SPIR-V words, to
    /// be part of a shader binary. The stage is left out, because `VkShaderCreateInfoEXT` contains it. `None` if a mapping
    /// has an embedded sampler that [cannot be serialized](Mappings::to_words).
    pub(super) fn to_words(&self) -> Option<Vec<u32>> {
        fn put(words: &mut Vec<u32>, bytes: &[u8]) {
            words.push(bytes.len() as u32);
            words.extend(bytes.chunks(4).map(|chunk| {
                let mut word = [0; 4];
                word[..chunk.len()].copy_from_slice(chunk);
                u32::from_ne_bytes(word)
            }));
        }
        let mut words = Vec::new();
        put(&mut words, self.entry_point.as_bytes());
        words.push(self.specialization.len() as u32);
        for (constant, data) in &self.specialization {
            words.push(*constant);
            put(&mut words, data);
        }
        let mappings = self.mappings.to_words()?;
        words.push(mappings.len() as u32);
        words.extend_from_slice(&mappings);
        words.extend_from_slice(&self.words);
        Some(words)
    }

    /// Reads the words that [`to_words`](Self::to_words) returned. `None` if they are malformed.
    pub(super) fn from_words(stage: vk::ShaderStageFlags, words: Vec<u32>) -> Option<Self> {
        fn get(words: &mut &[u32]) -> Option<Vec<u8>> {
            let (length, rest) = words.split_first()?;
            let length = *length as usize;
            let (bytes, rest) = rest.split_at_checked(length.div_ceil(4))?;
            *words = rest;
            let mut bytes: Vec<u8> = bytes.iter().flat_map(|word| word.to_ne_bytes()).collect();
            bytes.truncate(length);
            Some(bytes)
        }
        let mut rest = &words[..];
        let entry_point = String::from_utf8(get(&mut rest)?).ok()?;
        let (count, mut rest) = rest.split_first()?;
        let mut specialization = Vec::new();
        for _ in 0..*count {
            let constant;
            (constant, rest) = rest.split_first()?;
            specialization.push((*constant, get(&mut rest)?));
        }
        let (length, rest) = rest.split_first()?;
        let (mappings, rest) = rest.split_at_checked(*length as usize)?;
        let mappings = Arc::new(Mappings::from_words(mappings)?);
        let model = run_stage(stage)?;
        Some(Self { words: rest.into(), model, entry_point, specialization, mappings })
    }

    pub(super) fn constants(&self) -> Vec<SpecializationConstant<'_>> {
        Self::borrowed(&self.specialization)
    }

    pub(super) fn borrowed(all: &[(u32, Vec<u8>)]) -> Vec<SpecializationConstant<'_>> {
        all.iter()
            .map(|(constant_id, data)| SpecializationConstant { constant_id: *constant_id, data })
            .collect()
    }

    pub(super) fn shader<'a>(&'a self, constants: &'a [SpecializationConstant<'a>]) -> Shader<'a> {
        Shader::new(&self.words)
            .stage(self.model)
            .entry_point(self.entry_point.as_str())
            .specialization(constants)
    }
}

impl ShaderPart {
    pub(super) const fn stages(&self) -> Option<&CapturedStages> {
        self.stages.as_ref()
    }

    /// Copies from a create info the pre-rasterization state that is needed for captures.
    ///
    /// # Safety
    /// The contract of [`InputPart::new`].
    pub(super) unsafe fn new(
        info: &vk::GraphicsPipelineCreateInfo<'_>,
        stages: Option<CapturedStages>,
        layout: Option<Arc<PipelineLayout>>,
    ) -> Self {
        type Mode<'a> = vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT<'a>;
        type Origin<'a> = vk::PipelineTessellationDomainOriginStateCreateInfo<'a>;
        unsafe {
            let rasterization = info.p_rasterization_state.as_ref();
            let provoking_vertex = rasterization
                .and_then(|state| all_of::<Mode<'_>>(state.p_next).next())
                .map_or(ProvokingVertex::First, |state| state.provoking_vertex_mode.into());
            let dynamic = dynamic_of(info);
            // Without tessellation shaders Vulkan ignores the pointer, which may have any value.
            let is_tessellated = stages.as_ref().is_some_and(CapturedStages::is_tessellated);
            let tessellation =
                if is_tessellated { info.p_tessellation_state.as_ref() } else { None };
            let domain_origin = tessellation
                .and_then(|state| all_of::<Origin<'_>>(state.p_next).next())
                .map_or(DomainOrigin::UpperLeft, |state| state.domain_origin.into());
            Self {
                stages,
                layout,
                provoking_vertex,
                // If the number of control points is dynamic, Vulkan ignores it here, and it may have any value.
                patch_control_points: match tessellation {
                    Some(state) if !dynamic.patch_control_points => state.patch_control_points,
                    _ => 1,
                },
                domain_origin,
                discard: rasterization.is_some_and(|r| r.rasterizer_discard_enable == vk::TRUE),
                dynamic,
            }
        }
    }
}

/// What gives a pipeline its descriptors.
pub(super) enum Resources<'a> {
    /// Descriptor sets.
    Sets,
    /// Sets in descriptor buffers, with the empty layout of such sets.
    Buffers(Arc<SetLayout>),
    /// Descriptor heaps. There is no pipeline layout.
    Heaps(&'a HeapSupport),
}

/// A graphics pipeline that captures, or whose primitives the layer counts.
pub(super) struct Pipeline {
    stages: CapturedStages,
    shader: Arc<ShaderPart>,
    layout: Arc<PipelineLayout>,
    pub(super) vertex_input: VertexInput,
    /// The inputs of the vertex shader. In a dynamic vertex input, each input without an attribute gets a default
    /// value.
    inputs: Inputs,
    pub(super) dynamic: Dynamic,
    pub(super) topology: vk::PrimitiveTopology,
    pub(super) restart: bool,
    pub(super) discard: bool,
    /// Where the pipeline's descriptors are.
    descriptors: DescriptorPlace,
    variants: Variants,
    /// The variants for the state that the pipeline defines itself, once they have been created: the one for aligned
    /// attributes, and the one for unaligned attributes.
    static_variants: [OnceLock<vkxfb::runtime::Pipeline>; 2],
    ctx: Context,
}

impl Pipeline {
    /// Makes a pipeline from the parts that a capture needs. `None` if draws are neither captured nor counted, or if
    /// `parts` lacks a part. `layout` is the layout of the whole pipeline. If it is `None`, the layout in
    /// [`ShaderPart`] is used. `defaults` has the values of vertex shader inputs without an attribute.
    ///
    /// # Errors
    /// The pipeline cannot be captured by compute.
    pub(super) fn new(
        ctx: &Context,
        parts: &Parts,
        layout: Option<Arc<PipelineLayout>>,
        defaults: Option<&Arc<DefaultAttributes>>,
        resources: Resources<'_>,
    ) -> Result<Option<Self>, PipelineError> {
        let Some(shader) = &parts.shader else { return Ok(None) };
        let Some(mut stages) = shader.stages.clone() else { return Ok(None) };
        let Some(input) = parts.input.clone() else { return Ok(None) };
        if !stages.captures && stages.are_of_topology() {
            return Ok(Some(Self::counted(ctx, stages, shader, &input)));
        }
        let vertex_input = input.vertex_input.clone().map_err(PipelineError::VertexInput)?;
        let layout = || layout.or_else(|| shader.layout.clone()).ok_or(PipelineError::Layout);
        let (layout, descriptors) = match resources {
            Resources::Sets => (layout()?, DescriptorPlace::Sets),
            Resources::Buffers(empty) => {
                (Arc::new(layout()?.of_buffers(&empty)), DescriptorPlace::Buffers)
            }
            Resources::Heaps(support) => {
                let interface = stages.map_to_heaps(support.max_push_data)?;
                (Arc::default(), DescriptorPlace::Heaps(Arc::new(interface)))
            }
        };
        let vertex = stages.vertex();
        let inputs = Inputs::new(&vertex.shader(&vertex.constants()), defaults);
        let vertex_input = if input.dynamic.vertex_input {
            vertex_input
        } else {
            inputs.complete(&vertex_input).into_owned()
        };
        let is_tessellated = stages.is_tessellated();
        Ok(Some(Self {
            inputs,
            stages,
            shader: Arc::clone(shader),
            layout,
            vertex_input,
            dynamic: Dynamic {
                discard: shader.dynamic.discard,
                provoking_vertex: shader.dynamic.provoking_vertex,
                patch_control_points: shader.dynamic.patch_control_points && is_tessellated,
                domain_origin: shader.dynamic.domain_origin && is_tessellated,
                ..input.dynamic
            },
            topology: input.topology,
            restart: input.restart,
            discard: shader.discard,
            descriptors,
            variants: Variants::default(),
            static_variants: Default::default(),
            ctx: ctx.clone(),
        }))
    }

    /// Makes a pipeline that does not capture, and whose primitives follow from the topology. Nothing is read of its shader
    /// and of its vertex input, so that it can be made of any.
    fn counted(
        ctx: &Context,
        stages: CapturedStages,
        shader: &Arc<ShaderPart>,
        input: &InputPart,
    ) -> Self {
        Self {
            stages,
            shader: Arc::clone(shader),
            layout: Arc::default(),
            vertex_input: VertexInput::default(),
            inputs: Inputs::default(),
            dynamic: Dynamic { vertex_input: false, ..input.dynamic },
            topology: input.topology,
            restart: input.restart,
            discard: shader.discard,
            descriptors: DescriptorPlace::Sets,
            variants: Variants::default(),
            static_variants: Default::default(),
            ctx: ctx.clone(),
        }
    }

    /// Creates the variant in advance, so that recording need not wait for a compiler. If the variant depends on
    /// dynamic state, or if the program forbids compilation now (`compiles` is false), only checks that the outputs of
    /// the shader can be captured. Returns whether the pipeline captures or counts.
    ///
    /// # Errors
    /// The errors of [`variant`](Self::variant).
    ///
    /// # Safety
    /// The contract of [`variant`](Self::variant); the cache belongs to the device or is null.
    pub(super) unsafe fn prepare(
        &self,
        cache: vk::PipelineCache,
        compiles: bool,
    ) -> Result<bool, PipelineError> {
        // Variants that only count primitives are created when they are needed, because few programs count them.
        if !self.captures() {
            return Ok(true);
        }
        let prepared = if compiles && !self.has_dynamic_variants() {
            unsafe { self.static_variant(false).and_then(|made| self.compile(&made, cache)) }
        } else {
            // The layout of captured outputs does not depend on the vertex input.
            self.layout_of_captures()
        };
        match prepared {
            Ok(()) => Ok(true),
            Err(error) => match error.root() {
                PipelineError::Variant(StagesError::Lower {
                    error: LowerError::Capture(CaptureError::NoXfbMode { .. }),
                    ..
                }) => Ok(false),
                _ => Err(error),
            },
        }
    }

    /// Whether the variant depends on dynamic state, so that it is chosen when a draw is recorded.
    pub(super) const fn has_dynamic_variants(&self) -> bool {
        self.dynamic.vertex_input || self.dynamic.domain_origin
    }

    /// Returns the [variant](Self::variant) for the state that the pipeline defines itself.
    ///
    /// # Errors
    /// The errors of [`variant`](Self::variant).
    ///
    /// # Safety
    /// The contract of [`variant`](Self::variant).
    pub(super) unsafe fn static_variant(
        &self,
        unaligned_attributes: bool,
    ) -> Result<vkxfb::runtime::Pipeline, PipelineError> {
        let known = &self.static_variants[usize::from(unaligned_attributes)];
        if let Some(found) = known.get() {
            return Ok(found.clone());
        }
        let (input, origin) = (&self.vertex_input, DomainOrigin::default());
        let made = unsafe { self.variant(input, unaligned_attributes, origin) }?;
        Ok(known.get_or_init(|| made).clone())
    }

    /// Compiles the Vulkan pipelines of the variant that the first draw probably needs. That is an indexed draw with
    /// primitive restart if the pipeline itself enables restart, because programs restart primitives only in indexed
    /// draws. Otherwise it is a draw without indices and restart: most draws do not restart primitives, even if restart
    /// is dynamic state. Other Vulkan pipelines are compiled when a draw that needs them is recorded.
    ///
    /// # Errors
    /// The errors of [`variant`](Self::variant).
    ///
    /// # Safety
    /// The contract of [`prepare`](Self::prepare).
    unsafe fn compile(
        &self,
        made: &vkxfb::runtime::Pipeline,
        cache: vk::PipelineCache,
    ) -> Result<(), PipelineError> {
        let topology = PrimitiveTopology::try_from(self.topology);
        let draws = ExpectedDraws::new(topology.unwrap_or(PrimitiveTopology::TriangleList));
        let draws = match (self.restart, self.dynamic.restart) {
            (_, true) => ExpectedDraws { indirect: true, ..draws },
            (true, false) => ExpectedDraws { restart: true, indirect: true, ..draws },
            (false, false) => draws,
        };
        let prepared = unsafe { made.prepare(&self.ctx, &[draws], cache) };
        prepared.map_err(|error| PipelineError::Variant(error.into()))
    }

    /// Checks that the outputs that the shader captures have a valid layout.
    ///
    /// # Errors
    /// The layout is not valid, or the module has no transform feedback.
    fn layout_of_captures(&self) -> Result<(), PipelineError> {
        let constants = self.stages.captured.constants();
        let shader = self.stages.captured.shader(&constants);
        shader.layout().map(|_| ()).map_err(|error| PipelineError::Variant(error.into()))
    }

    /// Adds an attribute to a dynamic vertex input for each input of the vertex shader that the vertex input does not
    /// describe ([`Inputs::complete`]).
    pub(super) fn complete<'a>(&self, vertex_input: &'a VertexInput) -> Cow<'a, VertexInput> {
        self.inputs.complete(vertex_input)
    }

    /// Whether the pipeline has transform feedback. If not, its primitives are only counted.
    pub(super) const fn captures(&self) -> bool {
        self.stages.captures
    }

    pub(super) const fn descriptors(&self) -> &DescriptorPlace {
        &self.descriptors
    }

    pub(super) const fn has_streams(&self) -> bool {
        self.stages.has_streams
    }

    /// Whether the pipeline has variants, because it captures, or has to run to be counted.
    pub(super) const fn has_variants(&self) -> bool {
        self.captures() || !self.is_of_topology()
    }

    /// Whether the primitives of draws [follow from their topology](CapturedStages::are_of_topology).
    pub(super) const fn is_of_topology(&self) -> bool {
        self.stages.are_of_topology()
    }

    /// Returns the name of the entry point of the last stage before rasterization.
    pub(super) fn entry_point(&self) -> &str {
        &self.stages.captured.entry_point
    }

    /// Returns the side effects that may happen more than once for a captured draw. The last stage
    /// runs in the capture and in the driver's draw. A stage before it may also run again for each
    /// primitive that uses the same vertex. There are no such effects if there is a vertex shader
    /// alone, and the pipeline always discards rasterization, because the shader then runs only in
    /// the capture, or does not capture.
    ///
    /// # Errors
    /// The module of a stage is invalid.
    pub(super) fn repeated_effects(&self) -> Result<Effects, PipelineError> {
        let is_once = !self.captures() || self.discard && !self.dynamic.discard;
        if is_once && self.is_of_topology() {
            return Ok(Effects::default());
        }
        let mut effects = self.stages.captured.effects()?;
        for stage in &self.stages.before {
            effects.unite(stage.effects()?);
        }
        Ok(effects)
    }

    /// Returns the variant for a vertex input, for vertex buffers in which attributes may be
    /// [unaligned](Stages::unaligned_attributes) and, if the domain origin is dynamic, for
    /// `dynamic_origin`. Creates the variant if it does not exist yet.
    ///
    /// # Errors
    /// Lowering the shaders fails, or a Vulkan command fails.
    ///
    /// # Safety
    /// The device is live.
    pub(super) unsafe fn variant(
        &self,
        vertex_input: &VertexInput,
        unaligned_attributes: bool,
        dynamic_origin: DomainOrigin,
    ) -> Result<vkxfb::runtime::Pipeline, PipelineError> {
        let domain_origin =
            if self.dynamic.domain_origin { dynamic_origin } else { self.shader.domain_origin };
        let CapturedStages { captured, before, captures, .. } = &self.stages;
        let all: Vec<_> =
            before.iter().chain([captured]).map(|stage| (stage, stage.constants())).collect();
        let shader = |model| {
            let found = all.iter().find(|(stage, _)| stage.model == model);
            found.map(|(stage, constants)| stage.shader(constants))
        };
        let sets: Vec<vk::DescriptorSetLayout> =
            self.layout.sets.iter().map(|set| set.raw).collect();
        let vertex = shader(ExecutionModel::Vertex).ok_or(PipelineError::Module)?;
        let mut stages = Stages {
            captures: if *captures { Captures::Decorations } else { Captures::Nothing },
            vertex_input,
            set_layouts: &sets,
            descriptors: &self.descriptors,
            provoking_vertex: self.shader.provoking_vertex,
            primitive_restart: self.restart || self.dynamic.restart,
            domain_origin,
            unaligned_attributes,
            ..Stages::new(vertex)
        };
        stages.patch_control_points = self.shader.patch_control_points;
        stages.control = shader(ExecutionModel::TessellationControl);
        stages.evaluation = shader(ExecutionModel::TessellationEvaluation);
        stages.geometry = shader(ExecutionModel::Geometry);
        if !self.dynamic.topology {
            let topology = PrimitiveTopology::try_from(self.topology).ok();
            stages.topology = topology.map(Into::into);
        }
        Ok(unsafe { self.variants.get(&self.ctx, &stages) }?)
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // SAFETY: Vulkan requires that no submission uses the application's pipeline when it is
        // destroyed. Command buffers in which draws were captured with the variants have their own
        // references to these.
        unsafe { self.ctx.destroy(std::mem::take(&mut self.variants), &mut ()) };
    }
}

/// Returns for each state that is needed for captures whether it is dynamic in a pipeline.
///
/// # Safety
/// The contract of [`InputPart::new`].
unsafe fn dynamic_of(info: &vk::GraphicsPipelineCreateInfo<'_>) -> Dynamic {
    let states: BTreeSet<vk::DynamicState> = unsafe {
        info.p_dynamic_state
            .as_ref()
            .map(|state| slice(state.p_dynamic_states, state.dynamic_state_count))
            .unwrap_or_default()
            .iter()
            .copied()
            .collect()
    };
    let has = |state| states.contains(&state);
    Dynamic {
        vertex_input: has(vk::DynamicState::VERTEX_INPUT_EXT),
        stride: has(vk::DynamicState::VERTEX_INPUT_BINDING_STRIDE),
        topology: has(vk::DynamicState::PRIMITIVE_TOPOLOGY),
        restart: has(vk::DynamicState::PRIMITIVE_RESTART_ENABLE),
        discard: has(vk::DynamicState::RASTERIZER_DISCARD_ENABLE),
        provoking_vertex: has(vk::DynamicState::PROVOKING_VERTEX_MODE_EXT),
        patch_control_points: has(vk::DynamicState::PATCH_CONTROL_POINTS_EXT),
        domain_origin: has(vk::DynamicState::TESSELLATION_DOMAIN_ORIGIN_EXT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_memory_matters_for_what_is_only_counted() {
        let memory = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        let vulkan =
            |result| PipelineError::Runtime(RuntimeError::Vulkan { call: "vkCreate", result });
        let made = |captures, error| unless_only_counted::<()>("a pipeline", captures, Err(error));
        for error in [|| PipelineError::Module, || PipelineError::Identifier] {
            assert!(matches!(made(false, error()), Ok(None)));
            assert!(made(true, error()).is_err());
        }
        assert!(matches!(made(false, vulkan(vk::Result::ERROR_UNKNOWN)), Ok(None)));
        for captures in [false, true] {
            assert_eq!(made(captures, vulkan(memory)).map_err(|error| error.result()), Err(memory));
            assert!(matches!(unless_only_counted("a pipeline", captures, Ok(1)), Ok(Some(1))));
        }
    }
}
