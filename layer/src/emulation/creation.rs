//! Hooks for the commands that create and destroy objects that captures use.

use std::borrow::Cow;
use std::ffi::CStr;
use std::sync::Arc;

use ash::vk;
use ash::vk::GraphicsPipelineLibraryFlagsEXT as Has;
use vkxfb::lower::strip::strip_xfb;

use super::Emulation;
use super::objects::{Buffer, PipelineLayout, SetLayout};
use super::pipeline_batches::create_graphics_pipelines;
use super::pipelines::{InputPart, Parts, Pipeline, PipelineError, ShaderPart};
use super::queries::{Queries, kind_of};
use crate::chain::{Chain, all_of, slice};
use crate::device::DeviceData;
use crate::guard::guard;
use crate::translate;

/// What a command returns for an unknown device, or after a panic.
pub(super) const FAILED: vk::Result = vk::Result::ERROR_UNKNOWN;

/// # Safety
/// The device is live.
pub(super) unsafe fn with<R: Copy>(
    name: &'static str,
    otherwise: R,
    device: vk::Device,
    command: impl FnOnce(&Arc<Emulation>) -> R,
) -> R {
    guard(name, otherwise, || {
        // SAFETY: the caller's contract.
        let data = unsafe { DeviceData::of(device) };
        match data.as_ref().and_then(|data| data.emulation()) {
            Some(emulation) => command(emulation),
            None => {
                tracing::error!("{name}: nothing is known of the device");
                otherwise
            }
        }
    })
}

unsafe extern "system" fn create_buffer(
    device: vk::Device,
    info: *const vk::BufferCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    buffer: *mut vk::Buffer,
) -> vk::Result {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        let result = translate::create_buffer(device, info, allocator, buffer);
        if result == vk::Result::SUCCESS {
            with("vkCreateBuffer", (), device, |emulation| {
                let usage = translate::usage_of_buffer(&*info);
                let is_indirect = usage.contains(vk::BufferUsageFlags::INDIRECT_BUFFER);
                let known = Buffer { size: (*info).size, is_indirect };
                emulation.objects().buffer_created(*buffer, known);
            });
        }
        result
    }
}

unsafe extern "system" fn create_set_layout(
    device: vk::Device,
    info: *const vk::DescriptorSetLayoutCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    layout: *mut vk::DescriptorSetLayout,
) -> vk::Result {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with("vkCreateDescriptorSetLayout", FAILED, device, |emulation| {
            let mut own = vk::DescriptorSetLayout::null();
            let mut own_info = *info;
            own_info.flags &= !vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR;
            let (own_info, no_callbacks) = (&raw const own_info, std::ptr::null());
            let result = translate::create_set_layout(device, own_info, no_callbacks, &raw mut own);
            if result != vk::Result::SUCCESS {
                return result;
            }
            let device_table = emulation.context().device().clone();
            let own = Arc::new(SetLayout::new(own, &*own_info, device_table));
            let result = translate::create_set_layout(device, info, allocator, layout);
            if result == vk::Result::SUCCESS {
                _ = emulation.objects().set_layouts.insert(*layout, own);
            }
            result
        })
    }
}

unsafe extern "system" fn create_pipeline_layout(
    device: vk::Device,
    info: *const vk::PipelineLayoutCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    layout: *mut vk::PipelineLayout,
) -> vk::Result {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with("vkCreatePipelineLayout", FAILED, device, |emulation| {
            let next = emulation.context().device().fp_v1_0().create_pipeline_layout;
            let result = next(device, info, allocator, layout);
            if result == vk::Result::SUCCESS {
                let objects = emulation.objects();
                let sets = slice((*info).p_set_layouts, (*info).set_layout_count);
                let known = PipelineLayout {
                    sets: sets.iter().filter_map(|set| objects.set_layout(*set)).collect(),
                };
                _ = objects.pipeline_layouts.insert(*layout, Arc::new(known));
            }
            result
        })
    }
}

unsafe extern "system" fn create_shader_module(
    device: vk::Device,
    info: *const vk::ShaderModuleCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    module: *mut vk::ShaderModule,
) -> vk::Result {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with("vkCreateShaderModule", FAILED, device, |emulation| {
            let next = emulation.context().device().fp_v1_0().create_shader_module;
            let words = std::slice::from_raw_parts((*info).p_code, (*info).code_size / 4);
            match strip_xfb(words) {
                Ok(Cow::Owned(stripped)) => {
                    let mut below = *info;
                    below.p_code = stripped.as_ptr();
                    below.code_size = size_of_val(&stripped[..]);
                    let result = next(device, &raw const below, allocator, module);
                    if result == vk::Result::SUCCESS {
                        _ = emulation.objects().shader_modules.insert(*module, words.into());
                    }
                    result
                }
                // The driver reports an invalid module.
                Ok(Cow::Borrowed(_)) | Err(_) => next(device, info, allocator, module),
            }
        })
    }
}

/// A command that destroys an object. The layer forgets the object first, because another thread
/// may create an object with the same handle as soon as it is destroyed.
macro_rules! destroys {
    ($($function:ident $name:literal $ty:ident $table:ident;)*) => {$(
        unsafe extern "system" fn $function(
            device: vk::Device,
            handle: vk::$ty,
            allocator: *const vk::AllocationCallbacks<'_>,
        ) {
            // SAFETY: Vulkan's contract, which is the caller's.
            unsafe {
                with($name, (), device, |emulation| {
                    _ = emulation.objects().$table.remove(handle);
                    (emulation.context().device().fp_v1_0().$function)(device, handle, allocator);
                });
            }
        }
    )*};
}

destroys! {
    destroy_descriptor_set_layout "vkDestroyDescriptorSetLayout" DescriptorSetLayout set_layouts;
    destroy_pipeline_layout "vkDestroyPipelineLayout" PipelineLayout pipeline_layouts;
    destroy_query_pool "vkDestroyQueryPool" QueryPool queries;
    destroy_shader_module "vkDestroyShaderModule" ShaderModule shader_modules;
}

unsafe extern "system" fn destroy_buffer(
    device: vk::Device,
    buffer: vk::Buffer,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with("vkDestroyBuffer", (), device, |emulation| {
            emulation.objects().buffer_destroyed(buffer);
            (emulation.context().device().fp_v1_0().destroy_buffer)(device, buffer, allocator);
        });
    }
}

unsafe extern "system" fn destroy_pipeline(
    device: vk::Device,
    pipeline: vk::Pipeline,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with("vkDestroyPipeline", (), device, |emulation| {
            _ = emulation.objects().pipelines.remove(pipeline);
            _ = emulation.objects().libraries.remove(pipeline);
            (emulation.context().device().fp_v1_0().destroy_pipeline)(device, pipeline, allocator);
        });
    }
}

unsafe extern "system" fn create_query_pool(
    device: vk::Device,
    info: *const vk::QueryPoolCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    pool: *mut vk::QueryPool,
) -> vk::Result {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with("vkCreateQueryPool", FAILED, device, |emulation| {
            let next = emulation.context().device().fp_v1_0().create_query_pool;
            let Some(kind) = kind_of((*info).query_type) else {
                return next(device, info, allocator, pool);
            };
            let count = (*info).query_count;
            let queries = match Queries::new(emulation.context(), emulation.memory(), kind, count) {
                Ok(queries) => queries,
                Err(error) => {
                    tracing::error!("vkCreateQueryPool: {error}");
                    return error.vk_result().unwrap_or(FAILED);
                }
            };
            let below = vk::QueryPoolCreateInfo::default()
                .query_type(vk::QueryType::OCCLUSION)
                .query_count(count);
            let result = next(device, &raw const below, allocator, pool);
            if result == vk::Result::SUCCESS {
                _ = emulation.objects().queries.insert(*pool, Arc::new(queries));
            }
            result
        })
    }
}

/// The parts of a pipeline's create info that are changed for the driver. The create info points
/// into them.
#[derive(Default)]
pub(super) struct Below {
    /// In place of the create info's own chain.
    pub(super) chain: Option<Chain>,
    /// Stages with a `VkShaderModuleCreateInfo` in the chain, with the changed chains and the words
    /// without transform feedback.
    stages: Vec<vk::PipelineShaderStageCreateInfo<'static>>,
    modules: Vec<(Chain, Vec<u32>)>,
    rasterization: Option<(Box<vk::PipelineRasterizationStateCreateInfo<'static>>, Chain)>,
    dynamic: Option<(Box<vk::PipelineDynamicStateCreateInfo<'static>>, Vec<vk::DynamicState>)>,
}

/// Removes everything from a pipeline that belongs to the extension.
///
/// # Safety
/// The structure is valid.
pub(super) unsafe fn translated(info: &mut vk::GraphicsPipelineCreateInfo<'static>) -> Below {
    // SAFETY: the caller's contract.
    unsafe {
        let mut below = Below::default();
        for (number, stage) in slice(info.p_stages, info.stage_count).iter().enumerate() {
            let module = all_of::<vk::ShaderModuleCreateInfo<'static>>(stage.p_next).next();
            let Some(module) = module.filter(|_| stage.module == vk::ShaderModule::null()) else {
                continue;
            };
            let words = slice(module.p_code, (module.code_size / 4) as u32);
            let Ok(Cow::Owned(stripped)) = strip_xfb(words) else { continue };
            let replaced = vk::ShaderModuleCreateInfo { p_next: std::ptr::null(), ..*module };
            let mut chain = Chain::copy(stage.p_next);
            if let Err(error) = chain.remove::<vk::ShaderModuleCreateInfo<'static>>() {
                tracing::error!("vkCreateGraphicsPipelines: {error}");
            }
            chain.push(&replaced.code(&stripped));
            if below.stages.is_empty() {
                below.stages = slice(info.p_stages, info.stage_count).to_vec();
            }
            below.stages[number].p_next = chain.link();
            below.modules.push((chain, stripped));
        }
        if !below.stages.is_empty() {
            info.p_stages = below.stages.as_ptr();
        }
        let has_rasterization = kind(info).0.contains(Has::PRE_RASTERIZATION_SHADERS);
        if let Some(state) = info.p_rasterization_state.as_ref().filter(|_| has_rasterization) {
            type Stream<'a> = vk::PipelineRasterizationStateStreamCreateInfoEXT<'a>;
            if all_of::<Stream<'_>>(state.p_next).next().is_some() {
                let mut chain = Chain::copy(state.p_next);
                if let Err(error) = chain.remove::<Stream<'static>>() {
                    tracing::error!("vkCreateGraphicsPipelines: {error}");
                }
                let mut state = Box::new(*state);
                state.p_next = chain.link();
                info.p_rasterization_state = &raw const *state;
                below.rasterization = Some((state, chain));
            }
        }
        if let Some(state) = info.p_dynamic_state.as_ref() {
            let states = slice(state.p_dynamic_states, state.dynamic_state_count);
            if states.contains(&vk::DynamicState::RASTERIZATION_STREAM_EXT) {
                let mut kept = states.to_vec();
                kept.retain(|state| *state != vk::DynamicState::RASTERIZATION_STREAM_EXT);
                let mut state = Box::new(*state);
                state.p_dynamic_states = kept.as_ptr();
                state.dynamic_state_count = kept.len() as u32;
                info.p_dynamic_state = &raw const *state;
                below.dynamic = Some((state, kept));
            }
        }
        below
    }
}

/// What the layer keeps for a pipeline.
pub(super) enum Own {
    Nothing,
    Library(Parts),
    Pipeline(Pipeline),
}

/// Finds out what the layer has to keep for a pipeline.
///
/// # Errors
/// The pipeline captures, in a way that is not supported.
///
/// # Safety
/// The structure is valid for `vkCreateGraphicsPipelines`.
pub(super) unsafe fn capturing(
    emulation: &Emulation,
    info: &vk::GraphicsPipelineCreateInfo<'_>,
    cache: vk::PipelineCache,
) -> Result<Own, PipelineError> {
    let objects = emulation.objects();
    // SAFETY: the caller's contract.
    unsafe {
        let layout = || objects.pipeline_layouts.get(info.layout);
        let (has, libraries, is_library) = kind(info);
        let stages = slice(info.p_stages, info.stage_count);
        let mut parts = Parts::default();
        if has.contains(Has::PRE_RASTERIZATION_SHADERS)
            && let Some(vertex) = stage_of(stages, vk::ShaderStageFlags::VERTEX)
        {
            let words = captured_words(emulation, stages, vertex)?;
            if words.is_none() && !is_library {
                return Ok(Own::Nothing);
            }
            parts.shader = Some(Arc::new(ShaderPart::new(info, vertex, words, layout())?));
        }
        for library in libraries {
            if let Some(library) = objects.libraries.get(*library) {
                parts.link(&library);
            }
        }
        // With a mesh shader the vertex input state is ignored, and its pointer may have any value.
        // The shader may be that of a library, while the vertex input is the pipeline's own.
        if has.contains(Has::VERTEX_INPUT_INTERFACE) && (parts.shader.is_some() || is_library) {
            parts.input = Some(Arc::new(InputPart::new(info)));
        }
        if is_library {
            return Ok(Own::Library(parts));
        }
        // If the program does not want to compile now, the variant is made by the first captured
        // draw.
        let compiles = !flags_of(info).contains(FAIL_ON_COMPILE);
        match Pipeline::new(emulation.context(), &parts, layout())? {
            Some(pipeline) if pipeline.prepare(cache, compiles)? => {
                objects.repeat_effects(pipeline.repeated_effects()?, pipeline.entry_point());
                Ok(Own::Pipeline(pipeline))
            }
            _ => Ok(Own::Nothing),
        }
    }
}

/// `VK_PIPELINE_CREATE_2_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT`
const FAIL_ON_COMPILE: vk::PipelineCreateFlags2KHR =
    vk::PipelineCreateFlags2KHR::FAIL_ON_PIPELINE_COMPILE_REQUIRED;

/// Returns the flags of a pipeline: those of `VkPipelineCreateFlags2CreateInfo` if the chain
/// contains it, otherwise the 32-bit flags, which have [the same
/// values](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineCreateFlagBits2.html).
///
/// # Safety
/// The structure is valid for `vkCreateGraphicsPipelines`.
pub(super) unsafe fn flags_of(
    info: &vk::GraphicsPipelineCreateInfo<'_>,
) -> vk::PipelineCreateFlags2KHR {
    // SAFETY: the caller's contract.
    let chained =
        unsafe { all_of::<vk::PipelineCreateFlags2CreateInfoKHR<'_>>(info.p_next) }.next();
    let own = vk::PipelineCreateFlags2KHR::from_raw(info.flags.as_raw().into());
    chained.map_or(own, |chained| chained.flags)
}

/// Returns the parts that a pipeline defines itself, the libraries that it links, and whether it is
/// a library.
///
/// # Safety
/// The structure is valid for `vkCreateGraphicsPipelines`.
unsafe fn kind<'a>(info: &vk::GraphicsPipelineCreateInfo<'a>) -> (Has, &'a [vk::Pipeline], bool) {
    // SAFETY: the caller's contract.
    unsafe {
        let libraries = all_of::<vk::PipelineLibraryCreateInfoKHR<'_>>(info.p_next).next();
        let libraries = libraries.map_or(&[][..], |l| slice(l.p_libraries, l.library_count));
        let library = all_of::<vk::GraphicsPipelineLibraryCreateInfoEXT<'_>>(info.p_next).next();
        let is_library = flags_of(info).contains(vk::PipelineCreateFlags2KHR::LIBRARY);
        let has = match library {
            Some(library) => library.flags,
            // Of a pipeline that links libraries, all parts come from the libraries.
            None if libraries.is_empty() && !is_library => Has::from_raw(u32::MAX),
            None => Has::empty(),
        };
        (has, libraries, is_library)
    }
}

fn stage_of<'a>(
    stages: &'a [vk::PipelineShaderStageCreateInfo<'a>],
    stage: vk::ShaderStageFlags,
) -> Option<&'a vk::PipelineShaderStageCreateInfo<'a>> {
    stages.iter().find(|found| found.stage == stage)
}

/// Returns the words of the vertex shader, if it may capture.
///
/// # Errors
/// [`PipelineError::Stage`] if another stage captures.
///
/// # Safety
/// The structures are valid for `vkCreateGraphicsPipelines`.
unsafe fn captured_words(
    emulation: &Emulation,
    stages: &[vk::PipelineShaderStageCreateInfo<'_>],
    vertex: &vk::PipelineShaderStageCreateInfo<'_>,
) -> Result<Option<Arc<[u32]>>, PipelineError> {
    use vk::ShaderStageFlags as Stage;
    // SAFETY: the caller's contract.
    let words = |stage| unsafe { words_of(emulation, stage) };
    for (stage, name) in
        [(Stage::GEOMETRY, "geometry"), (Stage::TESSELLATION_EVALUATION, "tessellation evaluation")]
    {
        if let Some(last) = stage_of(stages, stage) {
            return match words(last) {
                Some(_) => Err(PipelineError::Stage(name)),
                None => Ok(None),
            };
        }
    }
    Ok(words(vertex))
}

/// Returns the words of a stage as the application gave them, if its module has transform feedback.
///
/// # Safety
/// The structure is valid for `vkCreateGraphicsPipelines`.
unsafe fn words_of(
    emulation: &Emulation,
    stage: &vk::PipelineShaderStageCreateInfo<'_>,
) -> Option<Arc<[u32]>> {
    if stage.module != vk::ShaderModule::null() {
        return emulation.objects().shader_modules.get(stage.module);
    }
    // SAFETY: the caller's contract.
    unsafe {
        let module = all_of::<vk::ShaderModuleCreateInfo<'_>>(stage.p_next).next()?;
        let words = slice(module.p_code, (module.code_size / 4) as u32);
        matches!(strip_xfb(words), Ok(Cow::Owned(_))).then(|| words.into())
    }
}

/// Returns the hook for a command.
pub(super) fn hook(name: &CStr) -> vk::PFN_vkVoidFunction {
    macro_rules! hooks {
        ($($name:literal => $function:ident as $ty:ident,)*) => {
            match name.to_bytes() {
                $($name => {
                    let function: vk::$ty = $function;
                    // SAFETY: the caller casts the pointer back to the type of the command.
                    Some(unsafe {
                        std::mem::transmute::<vk::$ty, unsafe extern "system" fn()>(function)
                    })
                })*
                _ => None,
            }
        };
    }
    hooks! {
        b"vkCreateBuffer" => create_buffer as PFN_vkCreateBuffer,
        b"vkCreateDescriptorSetLayout" => create_set_layout as PFN_vkCreateDescriptorSetLayout,
        b"vkCreateGraphicsPipelines" => create_graphics_pipelines as PFN_vkCreateGraphicsPipelines,
        b"vkCreatePipelineLayout" => create_pipeline_layout as PFN_vkCreatePipelineLayout,
        b"vkCreateQueryPool" => create_query_pool as PFN_vkCreateQueryPool,
        b"vkCreateShaderModule" => create_shader_module as PFN_vkCreateShaderModule,
        b"vkDestroyBuffer" => destroy_buffer as PFN_vkDestroyBuffer,
        b"vkDestroyDescriptorSetLayout" =>
            destroy_descriptor_set_layout as PFN_vkDestroyDescriptorSetLayout,
        b"vkDestroyPipeline" => destroy_pipeline as PFN_vkDestroyPipeline,
        b"vkDestroyPipelineLayout" => destroy_pipeline_layout as PFN_vkDestroyPipelineLayout,
        b"vkDestroyQueryPool" => destroy_query_pool as PFN_vkDestroyQueryPool,
        b"vkDestroyShaderModule" => destroy_shader_module as PFN_vkDestroyShaderModule,
    }
}
