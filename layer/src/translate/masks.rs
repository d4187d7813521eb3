//! Translates the stage and access masks of an application that uses `VK_EXT_transform_feedback`
//! for a driver where captures are dispatches.
//!
//! Compute shaders do all the work of a captured draw up to the capture buffers: they read indirect arguments,
//! predicates, counters, indices and vertices, run the application's shaders before rasterization, and write capture
//! buffers and counters. So `COMPUTE_SHADER` is added to a mask that contains one of the stages that do this work in
//! the driver. It is also added to a source mask that contains a later stage of the graphics pipeline, because a first
//! synchronization scope includes logically earlier stages. The accesses of shaders are added to a mask that contains
//! the corresponding accesses of fixed functions. Other bits of the mask stay, because the driver also executes the
//! draw to rasterize it. The bits of the extension are removed, because the driver does not have them.
//!
//! A bit of a 32-bit mask means the same in a [64-bit
//! mask](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineStageFlagBits2.html),
//! and the translation adds only bits that are in both. So masks of both sizes are translated in
//! the same way.
//!
//! [Stages](https://docs.vulkan.org/spec/latest/chapters/synchronization.html#synchronization-pipeline-stages-types)
//! are translated bit by bit: the translation of a union is the union of the translations. Vulkan requires that the
//! mask of [`vkCmdWaitEvents`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdWaitEvents.html) is the
//! union of the masks with which its events were set (VUID-vkCmdWaitEvents-srcStageMask-01158). This holds for the
//! translated masks, too.

use ash::vk;
use ash::vk::{AccessFlags2 as Access, PipelineStageFlags2 as Stage};

/// The side of a dependency to which a mask belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The first synchronization scope: the commands that are waited for.
    Source,
    /// The second synchronization scope: the commands that wait.
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

/// `VK_PIPELINE_STAGE_2_COPY_INDIRECT_BIT_KHR`, which ash does not have. In the logical order of
/// stages it is next to `DRAW_INDIRECT`.
const COPY_INDIRECT: Stage = Stage::from_raw(1 << 46);

/// The access flags that `VK_EXT_transform_feedback` adds.
const TRANSFORM_FEEDBACK_ACCESS: Access = accesses(&[
    Access::TRANSFORM_FEEDBACK_WRITE_EXT,
    Access::TRANSFORM_FEEDBACK_COUNTER_READ_EXT,
    Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT,
]);

/// If a second synchronization scope contains one of these stages, it includes captures. Such a
/// scope also includes logically later stages, so these are all stages up to that of transform
/// feedback, and the stage that reads predicates, which is not in the logical order.
const AS_DESTINATION: Stage = stages(&[
    Stage::DRAW_INDIRECT,
    COPY_INDIRECT,
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

/// If a first synchronization scope contains one of these stages, it includes captures. Such a
/// scope also includes logically earlier stages, so these are all stages of the graphics pipeline:
/// after waiting for `COLOR_ATTACHMENT_OUTPUT`, for example, an application may overwrite the
/// vertices.
const AS_SOURCE: Stage = stages(&[
    AS_DESTINATION,
    Stage::FRAGMENT_SHADING_RATE_ATTACHMENT_KHR,
    Stage::EARLY_FRAGMENT_TESTS,
    Stage::FRAGMENT_SHADER,
    Stage::LATE_FRAGMENT_TESTS,
    Stage::COLOR_ATTACHMENT_OUTPUT,
]);

/// The accesses by which the driver's draws read memory. If a draw is captured, compute shaders
/// read that memory, too.
const READS: Access = accesses(&[
    Access::INDIRECT_COMMAND_READ,
    Access::INDEX_READ,
    Access::VERTEX_ATTRIBUTE_READ,
    Access::CONDITIONAL_RENDERING_READ_EXT,
    Access::TRANSFORM_FEEDBACK_COUNTER_READ_EXT,
    Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT,
]);

/// The accesses by which transform feedback writes memory. If the layer captures, compute shaders make these writes
/// instead.
const WRITES: Access =
    accesses(&[Access::TRANSFORM_FEEDBACK_WRITE_EXT, Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT]);

// Checks that each access of the extension is in [`READS`] or [`WRITES`].
const _: () =
    assert!(TRANSFORM_FEEDBACK_ACCESS.as_raw() & !(READS.as_raw() | WRITES.as_raw()) == 0);

/// The accesses that compute shaders can make on every device.
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

/// A synchronization scope: stages, and the accesses to memory by these stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Scope {
    pub(crate) stages: Stage,
    pub(crate) access: Access,
}

impl Scope {
    /// Makes a scope from 32-bit masks.
    pub(crate) const fn new32(stages: vk::PipelineStageFlags, access: vk::AccessFlags) -> Self {
        Self {
            stages: Stage::from_raw(stages.as_raw() as u64),
            access: Access::from_raw(access.as_raw() as u64),
        }
    }

    /// Whether a barrier with this second scope makes memory visible only to captures. Besides captures only draws,
    /// dispatches and indirect copies may wait for it, because counters are also read [in the stage
    /// `DRAW_INDIRECT`](https://docs.vulkan.org/refpages/latest/refpages/source/VkAccessFlagBits2.html).
    pub(crate) fn is_for_captures(self) -> bool {
        let stages = self.stages & !(TRANSFORM_FEEDBACK | Stage::DRAW_INDIRECT);
        let access = self.access & !TRANSFORM_FEEDBACK_ACCESS;
        stages.is_empty() && access.is_empty()
    }

    /// Translates the scope of a command outside of render passes.
    ///
    /// `also_compute` is false only in tests, which check that they notice if captures are not
    /// included.
    pub(crate) fn outside(self, side: Side, also_compute: bool) -> Self {
        let stages = outside_stages(self.stages, side, also_compute);
        // An access is added only if one of the stages supports it, as Vulkan requires. Masks of a
        // queue family ownership transfer may contain accesses that no stage supports; Vulkan
        // ignores them.
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

    /// Translates the scope of a command inside of a render pass. Captures are recorded outside of
    /// the pass, and `COMPUTE_SHADER` would be invalid inside, because only [graphics
    /// stages](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdPipelineBarrier.html)
    /// are allowed (VUID-vkCmdPipelineBarrier-None-07892). So the extension's bits are only
    /// removed, and the result may be empty.
    pub(crate) fn inside(self) -> Self {
        Self {
            stages: self.stages & !TRANSFORM_FEEDBACK,
            access: self.access & !TRANSFORM_FEEDBACK_ACCESS,
        }
    }

    /// Translates the scope of a subpass in a subpass dependency. The result may contain only graphics stages
    /// ([VUID-VkRenderPassCreateInfo-pDependencies-00837](https://docs.vulkan.org/refpages/latest/refpages/source/VkRenderPassCreateInfo.html)
    /// and 00838).
    ///
    /// The transform feedback stage becomes `VERTEX_SHADER`, which every device with graphics supports, because an
    /// empty mask would need `synchronization2`. In the logical order, only the stages of tessellation and geometry
    /// shaders are between these two stages, so only they join or leave the scope. Neither transform feedback nor
    /// `VERTEX_SHADER` is a framebuffer-space stage, so the rules about such stages are still met
    /// (VUID-VkSubpassDependency-srcSubpass-06809 and 02243). The masks of barriers inside of the subpass, which
    /// [`inside`](Self::inside) translates, remain subsets of the masks of the subpass dependency.
    pub(crate) fn in_subpass(self) -> Self {
        let captures = self.stages.intersects(TRANSFORM_FEEDBACK);
        let Self { mut stages, access } = self.inside();
        if captures {
            stages |= Stage::VERTEX_SHADER;
        }
        Self { stages, access }
    }

    /// Returns the scope of the captures that an application's scope includes: compute shaders and their accesses. It
    /// is empty if the application's scope includes no captures. In a subpass dependency `ALL_COMMANDS` means only
    /// graphics stages, but it includes captures, because for the application transform feedback is a graphics stage.
    pub(crate) fn captures(self, side: Side) -> Self {
        let outside = self.outside(side, true);
        if !outside.stages.intersects(Stage::COMPUTE_SHADER | Stage::ALL_COMMANDS) {
            return Self::default();
        }
        let mut access = outside.access & OF_COMPUTE;
        // A scope whose only stage is `COMPUTE_SHADER` may have this access only with a feature, so
        // `MEMORY_READ` replaces it.
        if outside.access.intersects(Access::ACCELERATION_STRUCTURE_READ_KHR) {
            access |= Access::MEMORY_READ;
        }
        // `MEMORY_READ` also replaces accesses without a corresponding bit for compute shaders, for
        // example those of descriptor buffers and of shader binding tables.
        if outside.access.as_raw() >> 32 & !OF_COMPUTE.as_raw() >> 32 != 0 {
            access |= Access::MEMORY_READ;
        }
        Self { stages: Stage::COMPUTE_SHADER, access }
    }

    /// Converts the scope to 32-bit masks, which are valid on every device. If they cannot express
    /// the scope exactly, they include more stages and accesses than the scope.
    pub(crate) fn to32(self) -> (vk::PipelineStageFlags, vk::AccessFlags) {
        let Self { mut stages, mut access } = self;
        let mut replace = |what: Stage, by: Stage| {
            if stages.intersects(what) {
                stages = stages & !what | by;
            }
        };
        replace(Stage::INDEX_INPUT | Stage::VERTEX_ATTRIBUTE_INPUT, Stage::VERTEX_INPUT);
        // `PRE_RASTERIZATION_SHADERS` includes stages that are valid only with a feature, so they are
        // not listed one by one.
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

/// Translates a stage mask to which no access mask belongs, for a command outside of render passes.
pub(crate) fn outside_stages(stages: Stage, side: Side, also_compute: bool) -> Stage {
    let kept = stages & !TRANSFORM_FEEDBACK;
    let involved = match side {
        Side::Source => AS_SOURCE,
        Side::Destination => AS_DESTINATION,
    };
    match stages.intersects(involved) {
        // Vulkan allows queue families with graphics but without compute
        // (https://docs.vulkan.org/refpages/latest/refpages/source/VkQueueFlagBits.html), for which
        // `COMPUTE_SHADER` is invalid. Captures are impossible on them. This case is not handled, because
        // the queue family of a mask is not known here.
        true if also_compute => kept | Stage::COMPUTE_SHADER,
        // A 32-bit mask must not be empty. Like an empty mask, `TOP_OF_PIPE` in a first scope and
        // `BOTTOM_OF_PIPE` in a second scope include no work.
        true if kept.is_empty() => match side {
            Side::Source => Stage::TOP_OF_PIPE,
            Side::Destination => Stage::BOTTOM_OF_PIPE,
        },
        _ => kept,
    }
}

/// Translates a 32-bit stage mask to which no access mask belongs, for a command outside of render passes.
pub(crate) fn outside_stages32(
    stages: vk::PipelineStageFlags,
    side: Side,
    also_compute: bool,
) -> vk::PipelineStageFlags {
    let wide = Stage::from_raw(stages.as_raw().into());
    // The translation adds only bits that 32-bit masks have.
    vk::PipelineStageFlags::from_raw(outside_stages(wide, side, also_compute).as_raw() as u32)
}

/// Translates the stage at which a timestamp or a marker is written. The result must be a [single
/// stage](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdWriteTimestamp2.html)
/// (VUID-vkCmdWriteTimestamp2-stage-03859), so `COMPUTE_SHADER` replaces the transform feedback stage. For these
/// commands `COMPUTE_SHADER` is valid inside of render passes, too.
pub(crate) fn single(stage: Stage) -> Stage {
    if stage.intersects(TRANSFORM_FEEDBACK) {
        stage & !TRANSFORM_FEEDBACK | Stage::COMPUTE_SHADER
    } else {
        stage
    }
}

/// Translates the 32-bit stage at which a timestamp or a marker is written, as [`single`] translates a 64-bit stage.
pub(crate) fn single32(stage: vk::PipelineStageFlags) -> vk::PipelineStageFlags {
    vk::PipelineStageFlags::from_raw(single(Stage::from_raw(stage.as_raw().into())).as_raw() as u32)
}
