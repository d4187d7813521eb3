//! The commands of a device that are checked. All others are forwarded by the functions below.

use std::ffi::{CStr, c_void};
use std::sync::{LazyLock, Mutex, PoisonError};

use ash::vk;
use ash::vk::Handle;
use rustc_hash::FxHashSet;

use crate::Device;
use crate::chain::slice;
use crate::check::Check;
use crate::links::{FAILED, hook};

/// What a command with a result answers to a violation.
const VIOLATED: vk::Result = vk::Result::ERROR_VALIDATION_FAILED_EXT;

/// The command buffers with a violation since they were begun.
static VIOLATED_BUFFERS: LazyLock<Mutex<FxHashSet<u64>>> = LazyLock::new(Mutex::default);

fn violated_buffers() -> std::sync::MutexGuard<'static, FxHashSet<u64>> {
    VIOLATED_BUFFERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Finds the hook of a command.
pub(crate) fn find(name: &CStr) -> vk::PFN_vkVoidFunction {
    match name.to_bytes() {
        b"vkBeginCommandBuffer" => hook!(begin as PFN_vkBeginCommandBuffer),
        b"vkEndCommandBuffer" => hook!(end as PFN_vkEndCommandBuffer),
        b"vkGetDescriptorSetLayoutSupport" => {
            hook!(set_layout_support::<0> as PFN_vkGetDescriptorSetLayoutSupport)
        }
        b"vkGetDescriptorSetLayoutSupportKHR" => {
            hook!(set_layout_support::<1> as PFN_vkGetDescriptorSetLayoutSupport)
        }
        _ => find_recorded(name).or_else(|| find_answered(name)),
    }
}

/// Finds the function of the layer or driver below, as the type of its command.
macro_rules! next {
    ($device:expr, $name:expr, $PFN:ident) => {
        // The caller vouches for the type, by the name.
        std::mem::transmute::<vk::PFN_vkVoidFunction, Option<vk::$PFN>>($device.next($name))
    };
}

/// Defines the hooks of commands that are recorded, each with its names, numbered, and what it checks; and a function that
/// finds them.
macro_rules! recorded {
    ($($hook:ident $PFN:ident [$($number:literal $name:literal),+]
        ($($parameter:ident: $ty:ty),* $(,)?) |$check:ident| $body:block)*) => {
        $(
            #[allow(clippy::too_many_arguments, reason = "as the command has them")]
            unsafe extern "system" fn $hook<const NUMBER: usize>(
                command_buffer: vk::CommandBuffer,
                $($parameter: $ty),*
            ) {
                const NAMES: &[&CStr] = &[$($name),+];
                unsafe {
                    let Some(device) = Device::of(command_buffer) else { return };
                    let mut $check = Check::new(NAMES[NUMBER]);
                    $body
                    if $check.is_violated() {
                        violated_buffers().insert(command_buffer.as_raw());
                    }
                    let Some(next) = next!(device, NAMES[NUMBER], $PFN) else { return };
                    next(command_buffer, $($parameter),*);
                }
            }
        )*

        fn find_recorded(name: &CStr) -> vk::PFN_vkVoidFunction {
            $($(if name == $name {
                return hook!($hook::<$number> as $PFN);
            })+)*
            None
        }
    };
}

/// Does so for commands with results. What they check also clears what they would create, where Vulkan asks for it.
macro_rules! answered {
    ($($hook:ident $PFN:ident [$($number:literal $name:literal),+]
        ($handle:ident: $Handle:ty, $($parameter:ident: $ty:ty),* $(,)?) |$check:ident| $body:block)*) => {
        $(
            unsafe extern "system" fn $hook<const NUMBER: usize>(
                $handle: $Handle,
                $($parameter: $ty),*
            ) -> vk::Result {
                const NAMES: &[&CStr] = &[$($name),+];
                unsafe {
                    let Some(device) = Device::of($handle) else { return FAILED };
                    let mut $check = Check::new(NAMES[NUMBER]);
                    $body
                    if $check.is_violated() {
                        return VIOLATED;
                    }
                    let Some(next) = next!(device, NAMES[NUMBER], $PFN) else { return FAILED };
                    next($handle, $($parameter),*)
                }
            }
        )*

        fn find_answered(name: &CStr) -> vk::PFN_vkVoidFunction {
            $($(if name == $name {
                return hook!($hook::<$number> as $PFN);
            })+)*
            None
        }
    };
}

recorded! {
    pipeline_barrier PFN_vkCmdPipelineBarrier [0 c"vkCmdPipelineBarrier"] (
        source: vk::PipelineStageFlags,
        destination: vk::PipelineStageFlags,
        flags: vk::DependencyFlags,
        memory_count: u32,
        memory: *const vk::MemoryBarrier<'_>,
        buffer_count: u32,
        buffers: *const vk::BufferMemoryBarrier<'_>,
        image_count: u32,
        images: *const vk::ImageMemoryBarrier<'_>,
    ) |check| {
        check.pipeline_stages("srcStageMask", source.as_raw());
        check.pipeline_stages("dstStageMask", destination.as_raw());
    }
    pipeline_barrier_2 PFN_vkCmdPipelineBarrier2
        [0 c"vkCmdPipelineBarrier2", 1 c"vkCmdPipelineBarrier2KHR"]
        (info: *const vk::DependencyInfo<'_>) |check| {
        check.dependency(info);
    }
    set_event PFN_vkCmdSetEvent [0 c"vkCmdSetEvent"]
        (event: vk::Event, stages: vk::PipelineStageFlags) |check| {
        check.pipeline_stages("stageMask", stages.as_raw());
    }
    set_event_2 PFN_vkCmdSetEvent2 [0 c"vkCmdSetEvent2", 1 c"vkCmdSetEvent2KHR"]
        (event: vk::Event, info: *const vk::DependencyInfo<'_>) |check| {
        check.dependency(info);
    }
    reset_event PFN_vkCmdResetEvent [0 c"vkCmdResetEvent"]
        (event: vk::Event, stages: vk::PipelineStageFlags) |check| {
        check.pipeline_stages("stageMask", stages.as_raw());
    }
    reset_event_2 PFN_vkCmdResetEvent2 [0 c"vkCmdResetEvent2", 1 c"vkCmdResetEvent2KHR"]
        (event: vk::Event, stages: vk::PipelineStageFlags2) |check| {
        check.pipeline_stages_2("stageMask", stages);
    }
    wait_events PFN_vkCmdWaitEvents [0 c"vkCmdWaitEvents"] (
        count: u32,
        events: *const vk::Event,
        source: vk::PipelineStageFlags,
        destination: vk::PipelineStageFlags,
        memory_count: u32,
        memory: *const vk::MemoryBarrier<'_>,
        buffer_count: u32,
        buffers: *const vk::BufferMemoryBarrier<'_>,
        image_count: u32,
        images: *const vk::ImageMemoryBarrier<'_>,
    ) |check| {
        check.pipeline_stages("srcStageMask", source.as_raw());
        check.pipeline_stages("dstStageMask", destination.as_raw());
    }
    wait_events_2 PFN_vkCmdWaitEvents2 [0 c"vkCmdWaitEvents2", 1 c"vkCmdWaitEvents2KHR"]
        (count: u32, events: *const vk::Event, infos: *const vk::DependencyInfo<'_>) |check| {
        for info in slice(infos, count) {
            check.dependency(info);
        }
    }
    write_timestamp PFN_vkCmdWriteTimestamp [0 c"vkCmdWriteTimestamp"]
        (stage: vk::PipelineStageFlags, pool: vk::QueryPool, query: u32) |check| {
        check.pipeline_stages("pipelineStage", stage.as_raw());
    }
    write_timestamp_2 PFN_vkCmdWriteTimestamp2
        [0 c"vkCmdWriteTimestamp2", 1 c"vkCmdWriteTimestamp2KHR"]
        (stage: vk::PipelineStageFlags2, pool: vk::QueryPool, query: u32) |check| {
        check.pipeline_stages_2("stage", stage);
    }
    push_constants PFN_vkCmdPushConstants [0 c"vkCmdPushConstants"] (
        layout: vk::PipelineLayout,
        stages: vk::ShaderStageFlags,
        offset: u32,
        size: u32,
        values: *const c_void,
    ) |check| {
        check.shader_stages("stageFlags", stages);
    }
    push_constants_2 PFN_vkCmdPushConstants2KHR
        [0 c"vkCmdPushConstants2", 1 c"vkCmdPushConstants2KHR"]
        (info: *const vk::PushConstantsInfoKHR<'_>) |check| {
        check.shader_stages("stageFlags", (*info).stage_flags);
    }
    bind_descriptor_sets_2 PFN_vkCmdBindDescriptorSets2KHR
        [0 c"vkCmdBindDescriptorSets2", 1 c"vkCmdBindDescriptorSets2KHR"]
        (info: *const vk::BindDescriptorSetsInfoKHR<'_>) |check| {
        check.shader_stages("stageFlags", (*info).stage_flags);
    }
    push_descriptor_set_2 PFN_vkCmdPushDescriptorSet2KHR
        [0 c"vkCmdPushDescriptorSet2", 1 c"vkCmdPushDescriptorSet2KHR"]
        (info: *const vk::PushDescriptorSetInfoKHR<'_>) |check| {
        check.shader_stages("stageFlags", (*info).stage_flags);
    }
    set_descriptor_buffer_offsets_2 PFN_vkCmdSetDescriptorBufferOffsets2EXT
        [0 c"vkCmdSetDescriptorBufferOffsets2EXT"]
        (info: *const vk::SetDescriptorBufferOffsetsInfoEXT<'_>) |check| {
        check.shader_stages("stageFlags", (*info).stage_flags);
    }
    bind_embedded_samplers_2 PFN_vkCmdBindDescriptorBufferEmbeddedSamplers2EXT
        [0 c"vkCmdBindDescriptorBufferEmbeddedSamplers2EXT"]
        (info: *const vk::BindDescriptorBufferEmbeddedSamplersInfoEXT<'_>) |check| {
        check.shader_stages("stageFlags", (*info).stage_flags);
    }
    // No shader may be bound to a stage that the device does not have, but null may.
    bind_shaders PFN_vkCmdBindShadersEXT [0 c"vkCmdBindShadersEXT"] (
        count: u32,
        stages: *const vk::ShaderStageFlags,
        shaders: *const vk::ShaderEXT,
    ) |check| {
        let shaders = slice(shaders, count);
        for (stage, shader) in slice(stages, count).iter().zip(shaders) {
            if *shader != vk::ShaderEXT::null() {
                check.shader_stages("a stage of pStages", *stage);
            }
        }
    }
    set_primitive_topology PFN_vkCmdSetPrimitiveTopology
        [0 c"vkCmdSetPrimitiveTopology", 1 c"vkCmdSetPrimitiveTopologyEXT"]
        (topology: vk::PrimitiveTopology) |check| {
        check.topology(topology);
    }
    set_rasterization_stream PFN_vkCmdSetRasterizationStreamEXT
        [0 c"vkCmdSetRasterizationStreamEXT"] (stream: u32) |check| {
        check.rasterization_stream(stream);
    }
    begin_query_indexed PFN_vkCmdBeginQueryIndexedEXT [0 c"vkCmdBeginQueryIndexedEXT"]
        (pool: vk::QueryPool, query: u32, flags: vk::QueryControlFlags, stream: u32) |check| {
        if check.hidden.geometry && stream != 0 {
            check.violation(format_args!("index is {stream}"));
        }
    }
}

answered! {
    create_shader_module PFN_vkCreateShaderModule [0 c"vkCreateShaderModule"] (
        device: vk::Device,
        info: *const vk::ShaderModuleCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        module: *mut vk::ShaderModule,
    ) |check| {
        check.module(&*info);
    }
    create_graphics_pipelines PFN_vkCreateGraphicsPipelines [0 c"vkCreateGraphicsPipelines"] (
        device: vk::Device,
        cache: vk::PipelineCache,
        count: u32,
        infos: *const vk::GraphicsPipelineCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        pipelines: *mut vk::Pipeline,
    ) |check| {
        for info in slice(infos, count) {
            check.graphics_pipeline(info);
        }
        if check.is_violated() {
            pipelines.write_bytes(0, count as usize);
        }
    }
    // For the modules that may be in its chain.
    create_compute_pipelines PFN_vkCreateComputePipelines [0 c"vkCreateComputePipelines"] (
        device: vk::Device,
        cache: vk::PipelineCache,
        count: u32,
        infos: *const vk::ComputePipelineCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        pipelines: *mut vk::Pipeline,
    ) |check| {
        for info in slice(infos, count) {
            check.stage(&info.stage);
        }
        if check.is_violated() {
            pipelines.write_bytes(0, count as usize);
        }
    }
    create_shaders PFN_vkCreateShadersEXT [0 c"vkCreateShadersEXT"] (
        device: vk::Device,
        count: u32,
        infos: *const vk::ShaderCreateInfoEXT<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        shaders: *mut vk::ShaderEXT,
    ) |check| {
        for info in slice(infos, count) {
            check.shader(info);
        }
        if check.is_violated() {
            shaders.write_bytes(0, count as usize);
        }
    }
    create_descriptor_set_layout PFN_vkCreateDescriptorSetLayout
        [0 c"vkCreateDescriptorSetLayout"] (
        device: vk::Device,
        info: *const vk::DescriptorSetLayoutCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        layout: *mut vk::DescriptorSetLayout,
    ) |check| {
        check.set_layout(&*info);
    }
    create_pipeline_layout PFN_vkCreatePipelineLayout [0 c"vkCreatePipelineLayout"] (
        device: vk::Device,
        info: *const vk::PipelineLayoutCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        layout: *mut vk::PipelineLayout,
    ) |check| {
        let count = (*info).push_constant_range_count;
        check.push_constant_ranges((*info).p_push_constant_ranges, count);
    }
    create_query_pool PFN_vkCreateQueryPool [0 c"vkCreateQueryPool"] (
        device: vk::Device,
        info: *const vk::QueryPoolCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        pool: *mut vk::QueryPool,
    ) |check| {
        if (*info).query_type == vk::QueryType::PIPELINE_STATISTICS {
            check.statistics((*info).pipeline_statistics);
        }
    }
    create_render_pass PFN_vkCreateRenderPass [0 c"vkCreateRenderPass"] (
        device: vk::Device,
        info: *const vk::RenderPassCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        pass: *mut vk::RenderPass,
    ) |check| {
        check.render_pass(&*info);
    }
    create_render_pass_2 PFN_vkCreateRenderPass2
        [0 c"vkCreateRenderPass2", 1 c"vkCreateRenderPass2KHR"] (
        device: vk::Device,
        info: *const vk::RenderPassCreateInfo2<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        pass: *mut vk::RenderPass,
    ) |check| {
        check.render_pass_2(&*info);
    }
    queue_submit PFN_vkQueueSubmit [0 c"vkQueueSubmit"] (
        queue: vk::Queue,
        count: u32,
        submits: *const vk::SubmitInfo<'_>,
        fence: vk::Fence,
    ) |check| {
        for submit in slice(submits, count) {
            for mask in slice(submit.p_wait_dst_stage_mask, submit.wait_semaphore_count) {
                check.pipeline_stages("an element of pWaitDstStageMask", mask.as_raw());
            }
        }
    }
    queue_submit_2 PFN_vkQueueSubmit2 [0 c"vkQueueSubmit2", 1 c"vkQueueSubmit2KHR"] (
        queue: vk::Queue,
        count: u32,
        submits: *const vk::SubmitInfo2<'_>,
        fence: vk::Fence,
    ) |check| {
        for submit in slice(submits, count) {
            let waits = submit.wait_semaphore_info_count;
            check.semaphores("stageMask of a wait", submit.p_wait_semaphore_infos, waits);
            let signals = submit.signal_semaphore_info_count;
            check.semaphores("stageMask of a signal", submit.p_signal_semaphore_infos, signals);
        }
    }
}

/// Forgets what an earlier recording named. What a secondary command buffer inherits is not checked: only its level, which is
/// not kept here, says whether that pointer is one.
unsafe extern "system" fn begin(
    command_buffer: vk::CommandBuffer,
    info: *const vk::CommandBufferBeginInfo<'_>,
) -> vk::Result {
    unsafe {
        let Some(device) = Device::of(command_buffer) else { return FAILED };
        let next = next!(device, c"vkBeginCommandBuffer", PFN_vkBeginCommandBuffer);
        let Some(next) = next else { return FAILED };
        violated_buffers().remove(&command_buffer.as_raw());
        next(command_buffer, info)
    }
}

/// Fails if a command was recorded that names a hidden stage. The driver ends the command buffer all the same.
unsafe extern "system" fn end(command_buffer: vk::CommandBuffer) -> vk::Result {
    unsafe {
        let Some(device) = Device::of(command_buffer) else { return FAILED };
        let next = next!(device, c"vkEndCommandBuffer", PFN_vkEndCommandBuffer);
        let Some(next) = next else { return FAILED };
        let result = next(command_buffer);
        let is_violated = violated_buffers().remove(&command_buffer.as_raw());
        if is_violated { VIOLATED } else { result }
    }
}

/// Says that the device does not support a layout that names a hidden stage.
unsafe extern "system" fn set_layout_support<const NUMBER: usize>(
    device: vk::Device,
    info: *const vk::DescriptorSetLayoutCreateInfo<'_>,
    support: *mut vk::DescriptorSetLayoutSupport<'_>,
) {
    const NAMES: [&CStr; 2] =
        [c"vkGetDescriptorSetLayoutSupport", c"vkGetDescriptorSetLayoutSupportKHR"];
    unsafe {
        let Some(of) = Device::of(device) else { return };
        let next = next!(of, NAMES[NUMBER], PFN_vkGetDescriptorSetLayoutSupport);
        let Some(next) = next else { return };
        let mut check = Check::new(NAMES[NUMBER]);
        check.set_layout(&*info);
        next(device, info, support);
        if check.is_violated() {
            (*support).supported = vk::FALSE;
        }
    }
}
