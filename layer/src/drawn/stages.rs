//! Translates pipeline stages: the driver's vertex shaders do the work of geometry shaders, so `VERTEX_SHADER` replaces
//! `GEOMETRY_SHADER`, which the driver does not know.
//!
//! The arguments are translated for captures after that (`translate/masks`), in which both stages mean the same.
//! Stages are translated bit by bit, so that the stages of a wait stay the union of those with which its events were set
//! (VUID-vkCmdWaitEvents-srcStageMask-01158), and those of a barrier in a pass a subset of its self-dependency's. Masks
//! that stand for all stages (`ALL_GRAPHICS`, `PRE_RASTERIZATION_SHADERS`) include the vertex stage and stay.

use ash::vk;
use ash::vk::PipelineStageFlags2 as Stage;

use crate::chain::{all_of, slice};
use crate::translate::Arena;

/// The stages that read vertices and indices, which merged shaders read instead. The accesses of shaders are added to those
/// of these stages where they are translated for captures.
const INPUT: Stage = Stage::from_raw(
    Stage::VERTEX_INPUT.as_raw()
        | Stage::INDEX_INPUT.as_raw()
        | Stage::VERTEX_ATTRIBUTE_INPUT.as_raw(),
);

/// Translates stages of a dependency.
pub(crate) fn for_driver(stages: Stage) -> Stage {
    let single = single(stages);
    if stages.intersects(INPUT) { single | Stage::VERTEX_SHADER } else { single }
}

/// Translates the single stage of a timestamp or a marker.
pub(crate) fn single(stage: Stage) -> Stage {
    if stage.intersects(Stage::GEOMETRY_SHADER) {
        stage & !Stage::GEOMETRY_SHADER | Stage::VERTEX_SHADER
    } else {
        stage
    }
}

/// Translates the single 32-bit stage of a timestamp or a marker.
pub(crate) fn single32(stage: vk::PipelineStageFlags) -> vk::PipelineStageFlags {
    vk::PipelineStageFlags::from_raw(single(Stage::from_raw(stage.as_raw().into())).as_raw() as u32)
}

/// Translates 32-bit stages. Their bits mean the same in a 64-bit mask.
pub(crate) fn for_driver32(stages: vk::PipelineStageFlags) -> vk::PipelineStageFlags {
    let translated = for_driver(Stage::from_raw(stages.as_raw().into()));
    vk::PipelineStageFlags::from_raw(translated.as_raw() as u32)
}

/// Translates the stages of a structure, by the names of its members.
macro_rules! translated {
    ($structure:expr, $translation:ident: $($member:ident)*) => {{
        let mut structure = *$structure;
        $(structure.$member = $translation(structure.$member);)*
        structure
    }};
}

/// Translates the barriers of a `VkDependencyInfo`.
///
/// # Safety
/// The structure is valid, and outlives the result.
pub(crate) unsafe fn dependency_info(
    info: &vk::DependencyInfo<'static>,
    arena: &Arena,
) -> vk::DependencyInfo<'static> {
    macro_rules! barriers {
        ($start:ident $count:ident) => {
            arena.map(unsafe { slice(info.$start, info.$count) }, |barrier| {
                translated!(barrier, for_driver: src_stage_mask dst_stage_mask)
            })
        };
    }
    vk::DependencyInfo {
        p_memory_barriers: barriers!(p_memory_barriers memory_barrier_count).as_ptr(),
        p_buffer_memory_barriers: barriers!(p_buffer_memory_barriers buffer_memory_barrier_count)
            .as_ptr(),
        p_image_memory_barriers: barriers!(p_image_memory_barriers image_memory_barrier_count)
            .as_ptr(),
        ..*info
    }
}

/// Translates the batches of `vkQueueSubmit`.
///
/// # Safety
/// The structures are valid, and outlive the result.
pub(crate) unsafe fn submits<'a>(
    submits: &'a [vk::SubmitInfo<'static>],
    arena: &'a Arena,
) -> &'a [vk::SubmitInfo<'static>] {
    arena.map(submits, |submit| {
        let waits = unsafe { slice(submit.p_wait_dst_stage_mask, submit.wait_semaphore_count) };
        let waits = arena.map(waits, |stages| for_driver32(*stages));
        vk::SubmitInfo { p_wait_dst_stage_mask: waits.as_ptr(), ..*submit }
    })
}

/// Translates the batches of `vkQueueSubmit2`.
///
/// # Safety
/// The structures are valid, and outlive the result.
pub(crate) unsafe fn submits2<'a>(
    submits: &'a [vk::SubmitInfo2<'static>],
    arena: &'a Arena,
) -> &'a [vk::SubmitInfo2<'static>] {
    let semaphores = |infos: &[vk::SemaphoreSubmitInfo<'static>]| {
        arena.map(infos, |info| translated!(info, for_driver: stage_mask)).as_ptr()
    };
    arena.map(submits, |submit| {
        let (waits, signals) = unsafe {
            (
                slice(submit.p_wait_semaphore_infos, submit.wait_semaphore_info_count),
                slice(submit.p_signal_semaphore_infos, submit.signal_semaphore_info_count),
            )
        };
        vk::SubmitInfo2 {
            p_wait_semaphore_infos: semaphores(waits),
            p_signal_semaphore_infos: semaphores(signals),
            ..*submit
        }
    })
}

/// Translates the dependencies of a `VkRenderPassCreateInfo`.
///
/// # Safety
/// The structure is valid, and outlives the result.
pub(crate) unsafe fn render_pass<'a>(
    info: &vk::RenderPassCreateInfo<'a>,
    arena: &Arena,
) -> vk::RenderPassCreateInfo<'a> {
    let dependencies = unsafe { slice(info.p_dependencies, info.dependency_count) };
    let dependencies = arena.map(
        dependencies,
        |dependency| translated!(dependency, for_driver32: src_stage_mask dst_stage_mask),
    );
    vk::RenderPassCreateInfo { p_dependencies: dependencies.as_ptr(), ..*info }
}

/// Translates the dependencies of a `VkRenderPassCreateInfo2`. A dependency may have its stages in a `VkMemoryBarrier2` of
/// its chain.
///
/// # Safety
/// The structure is valid, and outlives the result.
pub(crate) unsafe fn render_pass2<'a>(
    info: &vk::RenderPassCreateInfo2<'a>,
    arena: &Arena,
) -> vk::RenderPassCreateInfo2<'a> {
    let dependencies = unsafe { slice(info.p_dependencies, info.dependency_count) };
    let dependencies = arena.map(dependencies, |dependency| {
        let mut new = translated!(dependency, for_driver32: src_stage_mask dst_stage_mask);
        // SAFETY: the caller's contract; the replaced barrier is in the chain.
        unsafe {
            if let Some(barrier) = all_of::<vk::MemoryBarrier2<'_>>(dependency.p_next).next() {
                let merged = translated!(barrier, for_driver: src_stage_mask dst_stage_mask);
                new.p_next = arena.replaced(dependency.p_next, barrier, merged);
            }
        }
        new
    });
    vk::RenderPassCreateInfo2 { p_dependencies: dependencies.as_ptr(), ..*info }
}

#[cfg(test)]
mod tests;
