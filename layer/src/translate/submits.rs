//! Translates the stage masks of semaphore waits and signals in `vkQueueSubmit` and
//! `vkQueueSubmit2`, and finds their command buffers.

use ash::vk;

use super::masks::{Side, outside_stages, outside_stages32};
use super::memory::Arena;
use crate::chain::slice;

/// Translates the batches of `vkQueueSubmit`. Their semaphore waits have stages.
///
/// # Safety
/// The structures are valid, and outlive the result.
pub(crate) unsafe fn submits<'a>(
    submits: &'a [vk::SubmitInfo<'static>],
    also_compute: bool,
    arena: &'a Arena,
) -> &'a [vk::SubmitInfo<'static>] {
    arena.map(submits, |submit| {
        let waits = unsafe { slice(submit.p_wait_dst_stage_mask, submit.wait_semaphore_count) };
        let waits =
            arena.map(waits, |stages| outside_stages32(*stages, Side::Destination, also_compute));
        vk::SubmitInfo { p_wait_dst_stage_mask: waits.as_ptr(), ..*submit }
    })
}

/// Translates the batches of `vkQueueSubmit2`. Their semaphore waits and signals have stages.
///
/// # Safety
/// The contract of [`submits`].
pub(crate) unsafe fn submits2<'a>(
    submits: &'a [vk::SubmitInfo2<'static>],
    also_compute: bool,
    arena: &'a Arena,
) -> &'a [vk::SubmitInfo2<'static>] {
    let semaphores = |infos: &[vk::SemaphoreSubmitInfo<'static>], side| {
        let translated = arena.map(infos, |info| vk::SemaphoreSubmitInfo {
            stage_mask: outside_stages(info.stage_mask, side, also_compute),
            ..*info
        });
        translated.as_ptr()
    };
    arena.map(submits, |submit| {
        let (waits, signals) = unsafe {
            (
                slice(submit.p_wait_semaphore_infos, submit.wait_semaphore_info_count),
                slice(submit.p_signal_semaphore_infos, submit.signal_semaphore_info_count),
            )
        };
        vk::SubmitInfo2 {
            p_wait_semaphore_infos: semaphores(waits, Side::Destination),
            p_signal_semaphore_infos: semaphores(signals, Side::Source),
            ..*submit
        }
    })
}

/// Returns the command buffers of a batch of `vkQueueSubmit`.
///
/// # Safety
/// The structure is valid.
pub(crate) unsafe fn command_buffers(
    submit: &vk::SubmitInfo<'_>,
) -> impl Iterator<Item = vk::CommandBuffer> {
    unsafe { slice(submit.p_command_buffers, submit.command_buffer_count) }.iter().copied()
}

/// Returns the command buffers of a batch of `vkQueueSubmit2`.
///
/// # Safety
/// The structure is valid.
pub(crate) unsafe fn command_buffers2(
    submit: &vk::SubmitInfo2<'_>,
) -> impl Iterator<Item = vk::CommandBuffer> {
    let infos = unsafe { slice(submit.p_command_buffer_infos, submit.command_buffer_info_count) };
    infos.iter().map(|info| info.command_buffer)
}
