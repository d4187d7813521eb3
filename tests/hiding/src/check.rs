//! Checks the arguments of a command, and says what is wrong with them.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_void};
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

use ash::vk;

use crate::chain::{find, slice};
use crate::hidden::{Hidden, hidden};
use crate::modules;

/// What was said, and how many violations there were, also those that were not said again.
static SAID: Mutex<(BTreeSet<String>, u64)> = Mutex::new((BTreeSet::new(), 0));

/// Returns how many violations there were in this process.
pub(crate) fn violations() -> u64 {
    SAID.lock().unwrap_or_else(PoisonError::into_inner).1
}

/// A call of a command that is being checked.
pub(crate) struct Check {
    command: &'static CStr,
    pub(crate) hidden: Hidden,
    is_violated: bool,
}

impl Check {
    pub(crate) fn new(command: &'static CStr) -> Self {
        Self { command, hidden: hidden(), is_violated: false }
    }

    /// Whether the call has to fail.
    pub(crate) const fn is_violated(&self) -> bool {
        self.is_violated
    }

    /// Counts a violation, and says it if it is a new one.
    pub(crate) fn violation(&mut self, what: impl Display) {
        self.is_violated = true;
        let line = format!("hiding layer: {}: {what}", self.command.to_string_lossy());
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        said.1 += 1;
        if !said.0.contains(&line) {
            eprintln!("{line}");
            said.0.insert(line);
        }
    }

    /// Checks a mask of stages of shaders.
    pub(crate) fn shader_stages(&mut self, of: impl Display, mask: vk::ShaderStageFlags) {
        if self.hidden.is_named(mask) {
            self.violation(format_args!("{of} has GEOMETRY"));
        }
    }

    /// Checks a mask of stages of pipelines, of either size.
    pub(crate) fn pipeline_stages(&mut self, of: impl Display, mask: impl Into<u64>) {
        if let Some(name) = self.hidden.named_in(mask.into()) {
            self.violation(format_args!("{of} has {name}"));
        }
    }

    pub(crate) fn pipeline_stages_2(&mut self, of: &str, mask: vk::PipelineStageFlags2) {
        self.pipeline_stages(of, mask.as_raw());
    }

    /// # Safety
    /// The pointer is null, or that of a valid dependency.
    pub(crate) unsafe fn dependency(&mut self, info: *const vk::DependencyInfo<'_>) {
        let Some(info) = (unsafe { info.as_ref() }) else { return };
        let mut both = |kind: &str, source, destination| {
            self.pipeline_stages_2(&format!("srcStageMask of a {kind}"), source);
            self.pipeline_stages_2(&format!("dstStageMask of a {kind}"), destination);
        };
        // SAFETY: the caller's contract.
        unsafe {
            for it in slice(info.p_memory_barriers, info.memory_barrier_count) {
                both("VkMemoryBarrier2", it.src_stage_mask, it.dst_stage_mask);
            }
            for it in slice(info.p_buffer_memory_barriers, info.buffer_memory_barrier_count) {
                both("VkBufferMemoryBarrier2", it.src_stage_mask, it.dst_stage_mask);
            }
            for it in slice(info.p_image_memory_barriers, info.image_memory_barrier_count) {
                both("VkImageMemoryBarrier2", it.src_stage_mask, it.dst_stage_mask);
            }
        }
    }

    /// Checks the stages that semaphores wait for or signal.
    ///
    /// # Safety
    /// The pointer is null or points to `count` elements.
    pub(crate) unsafe fn semaphores(
        &mut self,
        of: &str,
        infos: *const vk::SemaphoreSubmitInfo<'_>,
        count: u32,
    ) {
        for info in unsafe { slice(infos, count) } {
            self.pipeline_stages_2(of, info.stage_mask);
        }
    }

    /// # Safety
    /// The pointer is null or points to `count` elements.
    pub(crate) unsafe fn push_constant_ranges(
        &mut self,
        ranges: *const vk::PushConstantRange,
        count: u32,
    ) {
        for range in unsafe { slice(ranges, count) } {
            self.shader_stages("stageFlags of a VkPushConstantRange", range.stage_flags);
        }
    }

    /// # Safety
    /// The create info is valid.
    pub(crate) unsafe fn set_layout(&mut self, info: &vk::DescriptorSetLayoutCreateInfo<'_>) {
        for binding in unsafe { slice(info.p_bindings, info.binding_count) } {
            let number = binding.binding;
            self.shader_stages(format_args!("stageFlags of binding {number}"), binding.stage_flags);
        }
    }

    pub(crate) fn statistics(&mut self, statistics: vk::QueryPipelineStatisticFlags) {
        let hidden = vk::QueryPipelineStatisticFlags::GEOMETRY_SHADER_INVOCATIONS
            | vk::QueryPipelineStatisticFlags::GEOMETRY_SHADER_PRIMITIVES;
        if self.hidden.geometry && statistics.intersects(hidden) {
            self.violation(format_args!("pipelineStatistics has {:?}", statistics & hidden));
        }
    }

    pub(crate) fn topology(&mut self, topology: vk::PrimitiveTopology) {
        let is_hidden = matches!(
            topology,
            vk::PrimitiveTopology::LINE_LIST_WITH_ADJACENCY
                | vk::PrimitiveTopology::LINE_STRIP_WITH_ADJACENCY
                | vk::PrimitiveTopology::TRIANGLE_LIST_WITH_ADJACENCY
                | vk::PrimitiveTopology::TRIANGLE_STRIP_WITH_ADJACENCY
        );
        if self.hidden.geometry && is_hidden {
            self.violation(format_args!("the topology is {topology:?}"));
        }
    }

    /// Checks the stream that is rasterized. Without `geometryStreams` there is the first alone.
    pub(crate) fn rasterization_stream(&mut self, stream: u32) {
        if self.hidden.geometry && stream != 0 {
            self.violation(format_args!("rasterizationStream is {stream}"));
        }
    }

    /// Checks the words of a module.
    pub(crate) fn words(&mut self, words: &[u32]) {
        for found in modules::violations(self.hidden, words) {
            self.violation(found);
        }
    }

    /// # Safety
    /// The create info is valid.
    pub(crate) unsafe fn module(&mut self, info: &vk::ShaderModuleCreateInfo<'_>) {
        let words = u32::try_from(info.code_size / 4).unwrap_or(u32::MAX);
        self.words(unsafe { slice(info.p_code, words) });
    }

    /// Checks a stage of a pipeline, with the module that may be in its chain.
    ///
    /// # Safety
    /// The structure is valid.
    pub(crate) unsafe fn stage(&mut self, stage: &vk::PipelineShaderStageCreateInfo<'_>) {
        self.shader_stages("stage of a VkPipelineShaderStageCreateInfo", stage.stage);
        if let Some(inline) = unsafe { find::<vk::ShaderModuleCreateInfo<'_>>(stage.p_next) } {
            unsafe { self.module(inline) };
        }
    }

    /// # Safety
    /// The create info is valid.
    pub(crate) unsafe fn graphics_pipeline(&mut self, info: &vk::GraphicsPipelineCreateInfo<'_>) {
        // SAFETY: the caller's contract. What belongs to parts that the pipeline does not have may be no pointer at all.
        unsafe {
            let parts = parts(info);
            let has = |part| parts.contains(part);
            let before = has(vk::GraphicsPipelineLibraryFlagsEXT::PRE_RASTERIZATION_SHADERS);
            let stages = if before || has(vk::GraphicsPipelineLibraryFlagsEXT::FRAGMENT_SHADER) {
                slice(info.p_stages, info.stage_count)
            } else {
                &[]
            };
            for stage in stages {
                self.stage(stage);
            }
            let is_mesh = |stage: &vk::PipelineShaderStageCreateInfo<'_>| {
                stage.stage.intersects(vk::ShaderStageFlags::MESH_EXT)
            };
            if has(vk::GraphicsPipelineLibraryFlagsEXT::VERTEX_INPUT_INTERFACE)
                && !stages.iter().any(is_mesh)
                && let Some(assembly) = info.p_input_assembly_state.as_ref()
            {
                self.topology(assembly.topology);
            }
            if before && let Some(state) = info.p_rasterization_state.as_ref() {
                let chosen = find::<vk::PipelineRasterizationStateStreamCreateInfoEXT<'_>>;
                if let Some(chosen) = chosen(state.p_next) {
                    self.rasterization_stream(chosen.rasterization_stream);
                }
            }
        }
    }

    /// # Safety
    /// The create info is valid.
    pub(crate) unsafe fn shader(&mut self, info: &vk::ShaderCreateInfoEXT<'_>) {
        self.shader_stages("stage of a VkShaderCreateInfoEXT", info.stage);
        self.shader_stages("nextStage of a VkShaderCreateInfoEXT", info.next_stage);
        // SAFETY: the caller's contract.
        unsafe {
            self.push_constant_ranges(info.p_push_constant_ranges, info.push_constant_range_count);
            if info.code_type == vk::ShaderCodeTypeEXT::SPIRV {
                let words = u32::try_from(info.code_size / 4).unwrap_or(u32::MAX);
                self.words(slice(info.p_code.cast(), words));
            }
        }
    }

    /// # Safety
    /// The create info is valid.
    pub(crate) unsafe fn render_pass(&mut self, info: &vk::RenderPassCreateInfo<'_>) {
        for it in unsafe { slice(info.p_dependencies, info.dependency_count) } {
            self.pipeline_stages(
                "srcStageMask of a VkSubpassDependency",
                it.src_stage_mask.as_raw(),
            );
            self.pipeline_stages(
                "dstStageMask of a VkSubpassDependency",
                it.dst_stage_mask.as_raw(),
            );
        }
    }

    /// # Safety
    /// The create info is valid.
    pub(crate) unsafe fn render_pass_2(&mut self, info: &vk::RenderPassCreateInfo2<'_>) {
        for it in unsafe { slice(info.p_dependencies, info.dependency_count) } {
            // A barrier in the chain replaces the masks of the dependency.
            if let Some(barrier) = unsafe { find::<vk::MemoryBarrier2<'_>>(it.p_next) } {
                let of = "srcStageMask of a VkMemoryBarrier2";
                self.pipeline_stages_2(of, barrier.src_stage_mask);
                let of = "dstStageMask of a VkMemoryBarrier2";
                self.pipeline_stages_2(of, barrier.dst_stage_mask);
                continue;
            }
            let of = "srcStageMask of a VkSubpassDependency2";
            self.pipeline_stages(of, it.src_stage_mask.as_raw());
            let of = "dstStageMask of a VkSubpassDependency2";
            self.pipeline_stages(of, it.dst_stage_mask.as_raw());
        }
    }
}

/// Returns the parts of a graphics pipeline that its create info describes, rather than libraries that it links.
///
/// # Safety
/// The create info is valid.
unsafe fn parts(info: &vk::GraphicsPipelineCreateInfo<'_>) -> vk::GraphicsPipelineLibraryFlagsEXT {
    let first: *const c_void = info.p_next;
    // SAFETY: the caller's contract.
    unsafe {
        if let Some(library) = find::<vk::GraphicsPipelineLibraryCreateInfoEXT<'_>>(first) {
            return library.flags;
        }
        let links = find::<vk::PipelineLibraryCreateInfoKHR<'_>>(first)
            .is_some_and(|linked| linked.library_count > 0);
        let is_library = match find::<vk::PipelineCreateFlags2CreateInfoKHR<'_>>(first) {
            Some(more) => more.flags.contains(vk::PipelineCreateFlags2KHR::LIBRARY),
            None => info.flags.contains(vk::PipelineCreateFlags::LIBRARY_KHR),
        };
        if links || is_library {
            vk::GraphicsPipelineLibraryFlagsEXT::empty()
        } else {
            vk::GraphicsPipelineLibraryFlagsEXT::VERTEX_INPUT_INTERFACE
                | vk::GraphicsPipelineLibraryFlagsEXT::PRE_RASTERIZATION_SHADERS
                | vk::GraphicsPipelineLibraryFlagsEXT::FRAGMENT_SHADER
                | vk::GraphicsPipelineLibraryFlagsEXT::FRAGMENT_OUTPUT_INTERFACE
        }
    }
}
