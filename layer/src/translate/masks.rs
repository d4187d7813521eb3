//! Stage and access masks: those of an application that has `VK_EXT_transform_feedback`, as they are meant where
//! captures are dispatches.
//!
//! All that a captured draw does on its way to the capture buffers is done by compute shaders: they read indirect
//! arguments, predicates, counters, indices and vertices, run the application's vertex shader, and write buffers and
//! counters. So where a mask says one of these stages, it says `COMPUTE_SHADER` too, and for accesses of fixed
//! functions it says those of shaders. What was in the mask stays, for draws are still drawn; but the extension's own
//! bits go, as the driver does not have them.
//!
//! The bits of 32-bit masks mean the same in
//! [64-bit ones](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineStageFlagBits2.html), and
//! nothing is added that only these have. So there is one translation for both.
//!
//! [Stages](https://docs.vulkan.org/spec/latest/chapters/synchronization.html#synchronization-pipeline-stages-types)
//! are translated bit by bit: the translation of a union is the union of the translations. Then
//! [`vkCmdWaitEvents`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdWaitEvents.html) still has the
//! union of what was given when its events were set (VUID-vkCmdWaitEvents-srcStageMask-01158).

use ash::vk;
use ash::vk::{AccessFlags2 as Access, PipelineStageFlags2 as Stage};

/// Which side of a dependency a mask is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// What is waited for.
    Source,
    /// What waits.
    Destination,
}

const fn stages(all: &[Stage]) -> Stage {
    let (mut mask, mut i) = (0, 0);
    while i < all.len() {
        mask |= all[i].as_raw();
        i += 1;
    }
    Stage::from_raw(mask)
}

const fn accesses(all: &[Access]) -> Access {
    let (mut mask, mut i) = (0, 0);
    while i < all.len() {
        mask |= all[i].as_raw();
        i += 1;
    }
    Access::from_raw(mask)
}

const TRANSFORM_FEEDBACK: Stage = Stage::TRANSFORM_FEEDBACK_EXT;

/// The extension's accesses.
const TRANSFORM_FEEDBACK_ACCESS: Access = accesses(&[
    Access::TRANSFORM_FEEDBACK_WRITE_EXT,
    Access::TRANSFORM_FEEDBACK_COUNTER_READ_EXT,
    Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT,
]);

/// Stages which a capture has part in when they wait. A stage that waits has the logically later ones wait, too, so
/// these are all up to that of transform feedback. Predicates are read in no particular order.
const AS_DESTINATION: Stage = stages(&[
    Stage::DRAW_INDIRECT,
    Stage::VERTEX_INPUT,
    Stage::INDEX_INPUT,
    Stage::VERTEX_ATTRIBUTE_INPUT,
    Stage::VERTEX_SHADER,
    Stage::TESSELLATION_CONTROL_SHADER,
    Stage::TESSELLATION_EVALUATION_SHADER,
    Stage::GEOMETRY_SHADER,
    Stage::PRE_RASTERIZATION_SHADERS,
    Stage::CONDITIONAL_RENDERING_EXT,
    Stage::ALL_GRAPHICS,
    TRANSFORM_FEEDBACK,
]);

/// The same when they are waited for. With a stage the logically earlier ones are waited for, too, so these are all
/// stages of the pipeline: who waits for `COLOR_ATTACHMENT_OUTPUT` may overwrite the vertices.
const AS_SOURCE: Stage = stages(&[
    AS_DESTINATION,
    Stage::FRAGMENT_SHADING_RATE_ATTACHMENT_KHR,
    Stage::EARLY_FRAGMENT_TESTS,
    Stage::FRAGMENT_SHADER,
    Stage::LATE_FRAGMENT_TESTS,
    Stage::COLOR_ATTACHMENT_OUTPUT,
]);

/// Accesses of captured draws that are reads by shaders of captures.
const READS: Access = accesses(&[
    Access::INDIRECT_COMMAND_READ,
    Access::INDEX_READ,
    Access::VERTEX_ATTRIBUTE_READ,
    Access::CONDITIONAL_RENDERING_READ_EXT,
    Access::TRANSFORM_FEEDBACK_COUNTER_READ_EXT,
    Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT,
]);

/// The same of writes.
const WRITES: Access =
    accesses(&[Access::TRANSFORM_FEEDBACK_WRITE_EXT, Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT]);

/// Accesses that compute shaders have without further features.
const OF_COMPUTE: Access = accesses(&[
    Access::UNIFORM_READ,
    Access::SHADER_READ,
    Access::SHADER_WRITE,
    Access::SHADER_SAMPLED_READ,
    Access::SHADER_STORAGE_READ,
    Access::SHADER_STORAGE_WRITE,
    Access::MEMORY_READ,
    Access::MEMORY_WRITE,
]);

/// Stages, and their accesses to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Scope {
    pub(crate) stages: Stage,
    pub(crate) access: Access,
}

impl Scope {
    /// Of 32-bit masks.
    pub(crate) const fn new32(stages: vk::PipelineStageFlags, access: vk::AccessFlags) -> Self {
        Self {
            stages: Stage::from_raw(stages.as_raw() as u64),
            access: Access::from_raw(access.as_raw() as u64),
        }
    }

    /// What is meant outside of render passes.
    ///
    /// `also_compute` is false in tests alone, which look whether leaving out the translation of something is
    /// noticed.
    pub(crate) fn outside(self, side: Side, also_compute: bool) -> Self {
        let stages = outside_stages(self.stages, side, also_compute);
        // An access is only valid where one of the stages can have it. Masks of accesses may say more than the stages
        // can where a queue family hands over a resource: they are ignored there.
        let shaders = Stage::COMPUTE_SHADER | Stage::ALL_COMMANDS;
        let mut access = self.access & !TRANSFORM_FEEDBACK_ACCESS;
        if also_compute && stages.intersects(shaders) {
            if self.access.intersects(READS) {
                access |= Access::SHADER_READ;
            }
            if self.access.intersects(WRITES) {
                access |= Access::SHADER_WRITE;
            }
        }
        Self { stages, access }
    }

    /// What remains inside of a render pass, where no capture is: a capture that was recorded there is dispatched
    /// before the pass. Only
    /// [stages of graphics](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdPipelineBarrier.html) are
    /// valid (VUID-vkCmdPipelineBarrier-None-07892), and here they stay. Nothing may remain.
    pub(crate) fn inside(self) -> Self {
        Self {
            stages: self.stages & !TRANSFORM_FEEDBACK,
            access: self.access & !TRANSFORM_FEEDBACK_ACCESS,
        }
    }

    /// What a subpass has part in, of a dependency that is declared with a render pass: stages of graphics alone
    /// ([VUID-VkRenderPassCreateInfo-pDependencies-00837](https://docs.vulkan.org/refpages/latest/refpages/source/VkRenderPassCreateInfo.html)
    /// and 00838).
    ///
    /// The extension's stage becomes `VERTEX_SHADER`, which every device with graphics has: the mask does not become
    /// empty, which would need `synchronization2`, and what is logically later or earlier than the one is so of the
    /// other. It is no framebuffer-space stage, and so changes nothing about which masks may go together
    /// (VUID-VkSubpassDependency-srcSubpass-06809 and 02243). Barriers of the subpass stay within what is declared.
    pub(crate) fn in_subpass(self) -> Self {
        let captures = self.stages.intersects(TRANSFORM_FEEDBACK);
        let Self { mut stages, access } = self.inside();
        if captures {
            stages |= Stage::VERTEX_SHADER;
        }
        Self { stages, access }
    }

    /// The part that captures have in it: of a scope of the application, what of it is done by compute shaders.
    /// `ALL_COMMANDS` of a subpass dependency means graphics alone, captures included.
    pub(crate) fn captures(self, side: Side) -> Self {
        let outside = self.outside(side, true);
        if !outside.stages.intersects(Stage::COMPUTE_SHADER | Stage::ALL_COMMANDS) {
            return Self::default();
        }
        let mut access = outside.access & OF_COMPUTE;
        // It would need a feature where the stage is compute alone.
        if outside.access.intersects(Access::ACCELERATION_STRUCTURE_READ_KHR) {
            access |= Access::MEMORY_READ;
        }
        // Of descriptor buffers and of binding tables.
        if outside.access.as_raw() >> 32 & !OF_COMPUTE.as_raw() >> 32 != 0 {
            access |= Access::MEMORY_READ;
        }
        Self { stages: Stage::COMPUTE_SHADER, access }
    }

    /// The same in 32-bit masks, or more where these cannot say it: they are valid everywhere.
    pub(crate) fn to32(self) -> (vk::PipelineStageFlags, vk::AccessFlags) {
        let Self { mut stages, mut access } = self;
        let mut replace = |what: Stage, by: Stage| {
            if stages.intersects(what) {
                stages = stages & !what | by;
            }
        };
        replace(Stage::INDEX_INPUT | Stage::VERTEX_ATTRIBUTE_INPUT, Stage::VERTEX_INPUT);
        // Of its stages some need features.
        replace(Stage::PRE_RASTERIZATION_SHADERS, Stage::ALL_GRAPHICS);
        let transfer = Stage::COPY | Stage::RESOLVE | Stage::BLIT | Stage::CLEAR;
        replace(transfer, Stage::ALL_TRANSFER);
        replace(Stage::from_raw(!0 << 32), Stage::ALL_COMMANDS);
        let mut replace = |what: Access, by: Access| {
            if access.intersects(what) {
                access = access & !what | by;
            }
        };
        replace(Access::SHADER_SAMPLED_READ | Access::SHADER_STORAGE_READ, Access::SHADER_READ);
        replace(Access::SHADER_STORAGE_WRITE, Access::SHADER_WRITE);
        replace(Access::from_raw(!0 << 32), Access::MEMORY_READ | Access::MEMORY_WRITE);
        (
            vk::PipelineStageFlags::from_raw(stages.as_raw() as u32),
            vk::AccessFlags::from_raw(access.as_raw() as u32),
        )
    }
}

/// Stages where nothing is said of memory, outside of render passes.
pub(crate) fn outside_stages(stages: Stage, side: Side, also_compute: bool) -> Stage {
    let kept = stages & !TRANSFORM_FEEDBACK;
    let involved = match side {
        Side::Source => AS_SOURCE,
        Side::Destination => AS_DESTINATION,
    };
    match stages.intersects(involved) {
        // Queue families with graphics and without compute may exist in theory
        // (https://docs.vulkan.org/refpages/latest/refpages/source/VkQueueFlagBits.html): captures cannot be
        // recorded there at all, and what family a mask is for is not known.
        true if also_compute => kept | Stage::COMPUTE_SHADER,
        // 32-bit masks must not be empty. This is what comes first, of which nothing is waited for, or last.
        true if kept.is_empty() => match side {
            Side::Source => Stage::TOP_OF_PIPE,
            Side::Destination => Stage::BOTTOM_OF_PIPE,
        },
        _ => kept,
    }
}

/// The same of a 32-bit mask.
pub(crate) fn outside_stages32(
    stages: vk::PipelineStageFlags,
    side: Side,
    also_compute: bool,
) -> vk::PipelineStageFlags {
    let wide = Stage::from_raw(stages.as_raw().into());
    // Nothing is added that is not among these 32.
    vk::PipelineStageFlags::from_raw(outside_stages(wide, side, also_compute).as_raw() as u32)
}

/// Where a timestamp or a marker is written: a
/// [single stage](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdWriteTimestamp2.html)
/// (VUID-vkCmdWriteTimestamp2-stage-03859), to which none can be added. Compute is valid in render passes, too.
pub(crate) fn single(stage: Stage) -> Stage {
    match stage.intersects(TRANSFORM_FEEDBACK) {
        true => stage & !TRANSFORM_FEEDBACK | Stage::COMPUTE_SHADER,
        false => stage,
    }
}

/// The same of 32 bits.
pub(crate) fn single32(stage: vk::PipelineStageFlags) -> vk::PipelineStageFlags {
    vk::PipelineStageFlags::from_raw(single(Stage::from_raw(stage.as_raw().into())).as_raw() as u32)
}
