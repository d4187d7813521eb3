//! Creates graphics pipelines: changes the create info for the driver, and collects the data that
//! the layer keeps for each pipeline.

use std::sync::Arc;

use ash::vk;
use ash::vk::GraphicsPipelineLibraryFlagsEXT as Has;
use vkxfb::runtime::RuntimeError;
use vkxfb_rewriter::vulkan::RUN_STAGE_FLAGS;

use super::Emulation;
use super::layouts::PipelineLayout;
use super::pipelines::{
    CapturedStages, Found, InputPart, Parts, Pipeline, PipelineError, Resources, ShaderPart,
    StagePart, unless_only_counted,
};
use super::shader_modules::{ShaderModule, Stripped};
use crate::chain::copy::Chain;
use crate::chain::{all_of, slice};

/// The structure that selects the rasterized vertex stream.
type Stream<'a> = vk::PipelineRasterizationStateStreamCreateInfoEXT<'a>;

/// Memory for the parts of a pipeline's create info that the layer changes for the driver. The
/// changed create info points to this memory.
#[derive(Default)]
pub(super) struct Below {
    /// The changed `pNext` chain of the create info. `None` if that chain is unchanged.
    pub(super) chain: Option<Chain>,
    /// The stages, if the layer changed some of them; empty otherwise.
    stages: Vec<vk::PipelineShaderStageCreateInfo<'static>>,
    modules: Vec<(Chain, Vec<u32>)>,
    rasterization: Option<(Box<vk::PipelineRasterizationStateCreateInfo<'static>>, Chain)>,
}

impl Below {
    /// Returns the stages so that they can be changed. The first call copies them.
    ///
    /// # Safety
    /// The structure is valid.
    unsafe fn stages_of(
        &mut self,
        info: &vk::GraphicsPipelineCreateInfo<'static>,
    ) -> &mut [vk::PipelineShaderStageCreateInfo<'static>] {
        if self.stages.is_empty() {
            self.stages = unsafe { slice(info.p_stages, info.stage_count) }.to_vec();
        }
        &mut self.stages
    }
}

/// Creates, for the driver, a shader module that emits only to the vertex stream `stream`.
///
/// # Errors
/// The module cannot be created.
///
/// # Safety
/// The device is live.
unsafe fn module_of_stream(
    emulation: &Emulation,
    words: &[u32],
    stream: u32,
) -> Result<vk::ShaderModule, RuntimeError> {
    let stripped = Stripped::of(words, stream).words;
    unsafe { create_module(emulation, stripped.as_deref().unwrap_or(words)) }
}

/// Creates a shader module for the driver.
///
/// # Errors
/// The module cannot be created.
///
/// # Safety
/// The device is live.
pub(super) unsafe fn create_module(
    emulation: &Emulation,
    words: &[u32],
) -> Result<vk::ShaderModule, RuntimeError> {
    let info = vk::ShaderModuleCreateInfo::default().code(words);
    let made = unsafe { emulation.context().device().create_shader_module(&info, None) };
    made.map_err(|result| RuntimeError::Vulkan { call: "vkCreateShaderModule", result })
}

/// Returns the rasterization state of a create info; `None` if it does not define it.
///
/// # Safety
/// The structure is valid for `vkCreateGraphicsPipelines`.
unsafe fn rasterization_of<'a>(
    info: &vk::GraphicsPipelineCreateInfo<'a>,
) -> Option<&'a vk::PipelineRasterizationStateCreateInfo<'a>> {
    unsafe {
        let has_it = kind(info).0.contains(Has::PRE_RASTERIZATION_SHADERS);
        if has_it { info.p_rasterization_state.as_ref() } else { None }
    }
}

/// Returns the vertex stream that a pipeline rasterizes.
///
/// # Safety
/// The structure is valid for `vkCreateGraphicsPipelines`.
pub(super) unsafe fn rasterized_stream(info: &vk::GraphicsPipelineCreateInfo<'_>) -> u32 {
    unsafe {
        let stream =
            rasterization_of(info).and_then(|state| all_of::<Stream<'_>>(state.p_next).next());
        stream.map_or(0, |state| state.rasterization_stream)
    }
}

/// Removes `VK_EXT_transform_feedback` from the create info of a pipeline. Returns the memory that `info` points to
/// after that. Adds to `temporary` the modules that the driver needs until the pipeline is created.
///
/// # Errors
/// A module cannot be created.
///
/// # Safety
/// The structure is valid, and the device is live.
pub(super) unsafe fn translated(
    emulation: &Emulation,
    info: &mut vk::GraphicsPipelineCreateInfo<'static>,
    temporary: &mut Vec<vk::ShaderModule>,
) -> Result<Below, PipelineError> {
    unsafe {
        let mut below = Below::default();
        let rasterized = rasterized_stream(info);
        for (number, stage) in slice(info.p_stages, info.stage_count).iter().enumerate() {
            let is_geometry = stage.stage == vk::ShaderStageFlags::GEOMETRY;
            let stream = if is_geometry { rasterized } else { 0 };
            if stage.module != vk::ShaderModule::null() {
                // The module that the driver got in `vkCreateShaderModule` emits only to stream 0. For another stream
                // the layer makes a module from the application's words.
                let known = emulation.objects().shader_modules.get(stage.module);
                let Some(known) = known.filter(|_| stream != 0) else { continue };
                let made = module_of_stream(emulation, &known.words, stream)?;
                temporary.push(made);
                below.stages_of(info)[number].module = made;
                continue;
            }
            let module = all_of::<vk::ShaderModuleCreateInfo<'static>>(stage.p_next).next();
            let identified = match module {
                Some(_) => None,
                None => identified(emulation, stage)?.filter(ShaderModule::is_stripped),
            };
            let words = match (module, &identified) {
                (Some(module), _) => slice(module.p_code, (module.code_size / 4) as u32),
                // The driver got only the rewritten module, so it does not know the identifier that belongs to the
                // application's words. So the application's words, rewritten for this pipeline, replace the identifier.
                (None, Some(module)) => &module.words[..],
                (None, None) => continue,
            };
            let Some(stripped) = Stripped::of(words, stream).words else { continue };
            let replaced = vk::ShaderModuleCreateInfo {
                p_next: std::ptr::null(),
                ..module.copied().unwrap_or_default()
            };
            let mut chain = Chain::copy(stage.p_next);
            let removed = chain.remove::<vk::ShaderModuleCreateInfo<'static>>();
            if let Err(error) = removed.and_then(|()| chain.remove::<Identifier<'static>>()) {
                tracing::error!("vkCreateGraphicsPipelines: {error}");
            }
            chain.push(&replaced.code(&stripped));
            below.stages_of(info)[number].p_next = chain.link();
            below.modules.push((chain, stripped));
        }
        if !below.stages.is_empty() {
            info.p_stages = below.stages.as_ptr();
        }
        if let Some(state) = rasterization_of(info)
            && all_of::<Stream<'_>>(state.p_next).next().is_some()
        {
            let mut chain = Chain::copy(state.p_next);
            if let Err(error) = chain.remove::<Stream<'static>>() {
                tracing::error!("vkCreateGraphicsPipelines: {error}");
            }
            let mut state = Box::new(*state);
            state.p_next = chain.link();
            info.p_rasterization_state = &raw const *state;
            below.rasterization = Some((state, chain));
        }
        Ok(below)
    }
}

/// The data that the layer keeps for a pipeline: nothing, the parts of a pipeline library, or a pipeline that captures
/// or whose primitives are counted, or the reason why it cannot be captured.
pub(super) enum Own {
    Nothing,
    Library(Parts),
    Pipeline(Found),
}

/// Returns the data that the layer has to keep for the graphics pipeline that `info` describes. If the pipeline
/// captures, also creates its variant (the compute pipeline that replaces it) in advance, unless the variant depends on
/// dynamic state or the program forbids compilation now.
///
/// # Errors
/// What captures need of the create info is invalid, memory ran out or the device is lost. If the pipeline captures in a
/// way that is not supported, that is an error only with the setting `strict`; otherwise its captures are lost.
///
/// # Safety
/// The structure is valid for `vkCreateGraphicsPipelines`.
pub(super) unsafe fn capturing(
    emulation: &Emulation,
    info: &vk::GraphicsPipelineCreateInfo<'_>,
    cache: vk::PipelineCache,
) -> Result<Own, PipelineError> {
    let objects = emulation.objects();
    unsafe {
        let layout = || objects.pipeline_layouts.get(info.layout);
        let (has, libraries, is_library) = kind(info);
        let stages = slice(info.p_stages, info.stage_count);
        let mut parts = Parts::default();
        if has.contains(Has::PRE_RASTERIZATION_SHADERS)
            && let Some(vertex) = stage_of(stages, vk::ShaderStageFlags::VERTEX)
        {
            let captured = captured_stages(emulation, stages, vertex)?;
            if captured.is_none() && !is_library {
                return Ok(Own::Nothing);
            }
            parts.shader = Some(Arc::new(ShaderPart::new(info, captured, layout())));
        }
        for library in libraries {
            if let Some(library) = objects.libraries.get(*library) {
                parts.link(&library);
            }
        }
        // With a mesh shader the vertex input state is ignored, and its pointer may have any value. So the state is
        // read only if the pipeline has a vertex shader, or in a library: the pipeline that links the library may have
        // such a shader.
        if has.contains(Has::VERTEX_INPUT_INTERFACE) && (parts.shader.is_some() || is_library) {
            parts.input = Some(Arc::new(InputPart::new(info)));
        }
        if is_library {
            return Ok(Own::Library(parts));
        }
        let stages = parts.shader.as_ref().and_then(|shader| shader.stages());
        let captures = stages.is_none_or(|stages| stages.captures);
        let made = prepared(emulation, info, &parts, layout(), cache);
        match unless_only_counted(A_PIPELINE, captures, made) {
            Ok(made) => Ok(match made.flatten() {
                Some(pipeline) => Own::Pipeline(Ok(Arc::new(pipeline))),
                None => Own::Nothing,
            }),
            // The driver's pipeline is made, and draws. The log has an error when a capture with it is lost.
            Err(error) if emulation.losses.allows(&error) => {
                tracing::info!("a pipeline cannot be captured: {error}");
                Ok(Own::Pipeline(Err(Arc::new(error))))
            }
            Err(error) => Err(error),
        }
    }
}

/// What the log calls a pipeline whose primitives are not counted.
const A_PIPELINE: &str = "a pipeline";

/// Makes the pipeline of these parts, and [prepares](Pipeline::prepare) it. `None` if its draws are neither captured nor
/// counted.
///
/// # Errors
/// The draws can be neither captured nor counted in the way that is needed.
///
/// # Safety
/// The contract of [`capturing`].
unsafe fn prepared(
    emulation: &Emulation,
    info: &vk::GraphicsPipelineCreateInfo<'_>,
    parts: &Parts,
    layout: Option<Arc<PipelineLayout>>,
    cache: vk::PipelineCache,
) -> Result<Option<Pipeline>, PipelineError> {
    let objects = emulation.objects();
    unsafe {
        // If the program forbids compilation during creation, the variant is only created when the
        // first draw is captured.
        let flags = flags_of(info);
        let compiles = !flags.contains(FAIL_ON_COMPILE);
        let resources = if flags.contains(DESCRIPTOR_HEAP) {
            Resources::Heaps(emulation.heaps.as_ref().ok_or(PipelineError::NoHeaps)?)
        } else if flags.contains(DESCRIPTOR_BUFFER) {
            Resources::Buffers(objects.empty_of_buffers(emulation.context().device())?)
        } else {
            Resources::Sets
        };
        let made = Pipeline::new(
            emulation.context(),
            parts,
            layout,
            emulation.default_attributes.as_ref(),
            resources,
        )?;
        let Some(pipeline) = made else { return Ok(None) };
        if !pipeline.prepare(cache, compiles)? {
            return Ok(None);
        }
        let effects = pipeline.repeated_effects()?;
        // A variant that only counts primitives does not run the shader's stores a second time. An atomic operation runs
        // again only if the shader uses its result.
        if pipeline.captures() || effects.atomic_results {
            objects.repeat_effects(effects, pipeline.entry_point());
        }
        Ok(Some(pipeline))
    }
}

/// `VK_PIPELINE_CREATE_2_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT`
const FAIL_ON_COMPILE: vk::PipelineCreateFlags2KHR =
    vk::PipelineCreateFlags2KHR::FAIL_ON_PIPELINE_COMPILE_REQUIRED;

/// `VK_PIPELINE_CREATE_2_DESCRIPTOR_BUFFER_BIT_EXT`
const DESCRIPTOR_BUFFER: vk::PipelineCreateFlags2KHR =
    vk::PipelineCreateFlags2KHR::DESCRIPTOR_BUFFER_EXT;

/// `VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT`, which ash does not have.
pub(super) const DESCRIPTOR_HEAP: vk::PipelineCreateFlags2KHR =
    vk::PipelineCreateFlags2KHR::from_raw(1 << 36);

/// Returns the flags of a pipeline: those of `VkPipelineCreateFlags2CreateInfo` if the chain
/// contains it, and otherwise the 32-bit flags, which have [the same
/// values](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineCreateFlagBits2.html).
///
/// # Safety
/// The structure is valid for `vkCreateGraphicsPipelines`.
pub(super) unsafe fn flags_of(
    info: &vk::GraphicsPipelineCreateInfo<'_>,
) -> vk::PipelineCreateFlags2KHR {
    let chained =
        unsafe { all_of::<vk::PipelineCreateFlags2CreateInfoKHR<'_>>(info.p_next) }.next();
    let own = vk::PipelineCreateFlags2KHR::from_raw(info.flags.as_raw().into());
    chained.map_or(own, |chained| chained.flags)
}

/// Returns which parts of a graphics pipeline this create info defines itself, which libraries it
/// links, and whether it creates a library.
///
/// # Safety
/// The structure is valid for `vkCreateGraphicsPipelines`.
pub(super) unsafe fn kind<'a>(
    info: &vk::GraphicsPipelineCreateInfo<'a>,
) -> (Has, &'a [vk::Pipeline], bool) {
    unsafe {
        let libraries = all_of::<vk::PipelineLibraryCreateInfoKHR<'_>>(info.p_next).next();
        let libraries = libraries.map_or(&[][..], |l| slice(l.p_libraries, l.library_count));
        let library = all_of::<vk::GraphicsPipelineLibraryCreateInfoEXT<'_>>(info.p_next).next();
        let is_library = flags_of(info).contains(vk::PipelineCreateFlags2KHR::LIBRARY);
        let has = match library {
            Some(library) => library.flags,
            // Without `VkGraphicsPipelineLibraryCreateInfoEXT`, a pipeline that links libraries
            // takes all its parts from them. Any other pipeline defines all parts itself.
            None if libraries.is_empty() && !is_library => Has::from_raw(u32::MAX),
            None => Has::empty(),
        };
        (has, libraries, is_library)
    }
}

pub(super) fn stage_of<'a, 'b>(
    stages: &'a [vk::PipelineShaderStageCreateInfo<'b>],
    stage: vk::ShaderStageFlags,
) -> Option<&'a vk::PipelineShaderStageCreateInfo<'b>> {
    stages.iter().find(|found| found.stage == stage)
}

/// Returns the stages that a capture runs, which are all stages before rasterization. `None` if the last of these
/// stages has no transform feedback and is not counted by the layer, which counts those that emit to several vertex
/// streams, and [maybe all](Emulation::count_generated). `None`, too, if it has no transform feedback and the stages cannot
/// be run to count them.
///
/// # Errors
/// [`PipelineError::Module`], [`PipelineError::Identifier`], and the errors of [`StagePart::new`].
///
/// # Safety
/// The structures are valid for `vkCreateGraphicsPipelines`.
unsafe fn captured_stages(
    emulation: &Emulation,
    stages: &[vk::PipelineShaderStageCreateInfo<'_>],
    vertex: &vk::PipelineShaderStageCreateInfo<'_>,
) -> Result<Option<CapturedStages>, PipelineError> {
    use vk::ShaderStageFlags as Stage;
    let geometry = stage_of(stages, Stage::GEOMETRY);
    let control = stage_of(stages, Stage::TESSELLATION_CONTROL);
    let evaluation = stage_of(stages, Stage::TESSELLATION_EVALUATION);
    unsafe {
        let last = geometry.or(evaluation).unwrap_or(vertex);
        let Some(module) = module_of(emulation, last)? else { return Ok(None) };
        let has_streams = module.has_streams && geometry.is_some();
        if !module.captures && !has_streams && !emulation.counts_generated {
            return Ok(None);
        }
        let captures = module.captures;
        let made = || {
            let captured = StagePart::new(last, module.words)?;
            let mut before = Vec::new();
            let earlier = [Some(vertex), control, evaluation].into_iter().flatten();
            for stage in earlier.filter(|stage| stage.stage != last.stage) {
                let module = module_of(emulation, stage)?.ok_or(PipelineError::Module)?;
                before.push(StagePart::new(stage, module.words)?);
            }
            Ok(CapturedStages { captured, before, captures, has_streams })
        };
        unless_only_counted(A_PIPELINE, captures, made())
    }
}

/// Returns the layer's copy of the module of a stage, with the application's words. `None` if the
/// layer keeps none, because captures do not need that module.
///
/// # Errors
/// The errors of [`identified`].
///
/// # Safety
/// The structure is valid for `vkCreateGraphicsPipelines`.
pub(super) unsafe fn module_of(
    emulation: &Emulation,
    stage: &vk::PipelineShaderStageCreateInfo<'_>,
) -> Result<Option<ShaderModule>, PipelineError> {
    if stage.module != vk::ShaderModule::null() {
        return Ok(emulation.objects().shader_modules.get(stage.module));
    }
    unsafe {
        let Some(module) = all_of::<vk::ShaderModuleCreateInfo<'_>>(stage.p_next).next() else {
            return identified(emulation, stage);
        };
        let words = slice(module.p_code, (module.code_size / 4) as u32);
        Ok(Some(Stripped::of(words, 0).module(words)))
    }
}

type Identifier<'a> = vk::PipelineShaderStageModuleIdentifierCreateInfoEXT<'a>;

/// Returns the layer's copy of a module that a stage names by a shader module identifier. `None` if the stage has no
/// identifier, or if captures do not need the module.
///
/// # Errors
/// [`PipelineError::Identifier`] if the stage is before rasterization and the layer has never seen
/// the module with this identifier, because the module may have transform feedback.
///
/// # Safety
/// The contract of [`module_of`].
unsafe fn identified(
    emulation: &Emulation,
    stage: &vk::PipelineShaderStageCreateInfo<'_>,
) -> Result<Option<ShaderModule>, PipelineError> {
    let identifier = unsafe {
        let found = all_of::<Identifier<'_>>(stage.p_next).next();
        found.map_or(&[][..], |found| slice(found.p_identifier, found.identifier_size))
    };
    if identifier.is_empty() || !RUN_STAGE_FLAGS.contains(stage.stage) {
        return Ok(None);
    }
    emulation.objects().identified.get(identifier).ok_or(PipelineError::Identifier)
}
