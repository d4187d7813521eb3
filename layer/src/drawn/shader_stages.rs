//! Translates shader stages: those that descriptors are visible to, and those that read push constants.
//!
//! *Descriptors.* The driver's vertex shader reads the descriptors of the geometry shader, so `VERTEX` replaces `GEOMETRY`.
//! Equal set layouts stay equal, so compatible pipeline layouts stay compatible. `ALL_GRAPHICS` and `ALL` stay.
//!
//! *Push constants.* A merged vertex shader reads push constants from memory, as captures do, so the driver needs none for
//! the geometry stage: `GEOMETRY` is removed from ranges and from commands. What is empty then is left out.
//!
//! So the rules of `vkCmdPushConstants` are met because the program's own command meets them. For a byte that it writes,
//! each stage that it names is in a range with this byte (VUID-vkCmdPushConstants-offset-01795), and all stages of the
//! ranges with this byte are among those that it names (VUID-vkCmdPushConstants-offset-01796). If one stage is removed from
//! everything, both stay true. They would not if `VERTEX` replaced `GEOMETRY`: a range of the vertex stage and one of the
//! geometry stage would both have the vertex stage, which a layout must not (VUID-VkPipelineLayoutCreateInfo-pPushConstantRanges-00292),
//! and a command to one of the two would have to write both. For the same reason the stage is also removed from
//! `ALL_GRAPHICS` and `ALL`: a command may name all graphics stages, each of which has a range of its own.

use std::ffi::c_void;

use ash::vk;
use ash::vk::ShaderStageFlags as Stage;

use crate::chain::{all_of, slice};
use crate::translate::Arena;

/// Translates the stages that a descriptor is visible to, or those of a command that binds descriptors.
pub(crate) fn of_descriptors(stages: Stage) -> Stage {
    if stages.contains(Stage::ALL_GRAPHICS) || !stages.intersects(Stage::GEOMETRY) {
        stages
    } else {
        stages & !Stage::GEOMETRY | Stage::VERTEX
    }
}

/// Translates the stages of a range of push constants, or of a command that writes some. `None` if the driver does not get
/// the range or the command.
pub(crate) fn of_constants(stages: Stage) -> Option<Stage> {
    let kept = stages & !Stage::GEOMETRY;
    (!kept.is_empty()).then_some(kept)
}

fn ranges<'a>(ranges: &[vk::PushConstantRange], arena: &'a Arena) -> &'a [vk::PushConstantRange] {
    arena.filter_map(ranges, |range| {
        let stage_flags = of_constants(range.stage_flags)?;
        Some(vk::PushConstantRange { stage_flags, ..*range })
    })
}

/// Translates the bindings of a descriptor set layout. They keep their order, because arrays in the chain have one element
/// for each binding.
///
/// # Safety
/// The structure is valid, and outlives the result.
pub(crate) unsafe fn set_layout<'a>(
    info: &vk::DescriptorSetLayoutCreateInfo<'a>,
    arena: &Arena,
) -> vk::DescriptorSetLayoutCreateInfo<'a> {
    let bindings = unsafe { slice(info.p_bindings, info.binding_count) };
    let visible = arena.map(bindings, |binding| {
        let mut visible = *binding;
        visible.stage_flags = of_descriptors(visible.stage_flags);
        visible
    });
    vk::DescriptorSetLayoutCreateInfo { p_bindings: visible.as_ptr(), ..*info }
}

/// Translates the push constant ranges of a pipeline layout.
///
/// # Safety
/// The structure is valid, and outlives the result.
pub(crate) unsafe fn pipeline_layout<'a>(
    info: &vk::PipelineLayoutCreateInfo<'a>,
    arena: &Arena,
) -> vk::PipelineLayoutCreateInfo<'a> {
    let given = unsafe { slice(info.p_push_constant_ranges, info.push_constant_range_count) };
    let ranges = ranges(given, arena);
    vk::PipelineLayoutCreateInfo {
        push_constant_range_count: ranges.len() as u32,
        p_push_constant_ranges: ranges.as_ptr(),
        ..*info
    }
}

/// Translates the push constant ranges of a shader object, which must equal those of pipeline layouts.
///
/// # Safety
/// The structure is valid, and outlives the result.
pub(crate) unsafe fn shader<'a>(
    info: &vk::ShaderCreateInfoEXT<'a>,
    arena: &Arena,
) -> vk::ShaderCreateInfoEXT<'a> {
    let given = unsafe { slice(info.p_push_constant_ranges, info.push_constant_range_count) };
    let ranges = ranges(given, arena);
    vk::ShaderCreateInfoEXT {
        push_constant_range_count: ranges.len() as u32,
        p_push_constant_ranges: ranges.as_ptr(),
        ..*info
    }
}

/// Translates the `VkPipelineLayoutCreateInfo` in the chain of a command, which may have one in place of a pipeline layout
/// (`dynamicPipelineLayout`). Returns the same chain if there is none.
///
/// # Safety
/// The chain is valid, and outlives the result.
pub(crate) unsafe fn chained_layout(chain: *const c_void, arena: &Arena) -> *const c_void {
    // SAFETY: the caller's contract; `found` is in the chain.
    unsafe {
        match all_of::<vk::PipelineLayoutCreateInfo<'_>>(chain).next() {
            None => chain,
            Some(found) => {
                let layout = pipeline_layout(found, arena);
                arena.replaced(chain, found, layout)
            }
        }
    }
}

#[cfg(test)]
mod tests;
