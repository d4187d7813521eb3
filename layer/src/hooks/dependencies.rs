//! Hooks for commands with stages or accesses among their arguments: barriers, events, timestamps
//! and submissions.

use vkxfb::runtime::host_memory::TryPush;

use super::commands::{self, Unobserved};
use super::entry::{hooks, with_device};
use crate::chain::slice;
use crate::command_buffers::{CommandBufferState, ended_queries, with, with_arguments};
use crate::emulation::queries::EndedQueries;
use crate::registry::vk;
use crate::translate::barriers::{self, Dependency, RenderPassScope};
use crate::translate::masks::{Side, outside_stages, outside_stages32, single, single32};
use crate::translate::{Arena, Kind, OUT_OF_MEMORY, submits};
use crate::withheld::Command;
use crate::withheld::arguments::{PipelineBarrier, PipelineBarrier2, WaitEvents, WaitEvents2};

hooks! {
    b"vkCmdPipelineBarrier" => pipeline_barrier as PFN_vkCmdPipelineBarrier,
    b"vkCmdPipelineBarrier2" | b"vkCmdPipelineBarrier2KHR" =>
        pipeline_barrier2 as PFN_vkCmdPipelineBarrier2,
    b"vkCmdResetEvent" => reset_event as PFN_vkCmdResetEvent,
    b"vkCmdResetEvent2" | b"vkCmdResetEvent2KHR" => reset_event2 as PFN_vkCmdResetEvent2,
    b"vkCmdSetEvent" => set_event as PFN_vkCmdSetEvent,
    b"vkCmdSetEvent2" | b"vkCmdSetEvent2KHR" => set_event2 as PFN_vkCmdSetEvent2,
    b"vkCmdWaitEvents" => wait_events as PFN_vkCmdWaitEvents,
    b"vkCmdWaitEvents2" | b"vkCmdWaitEvents2KHR" => wait_events2 as PFN_vkCmdWaitEvents2,
    b"vkCmdWriteBufferMarkerAMD" => write_buffer_marker as PFN_vkCmdWriteBufferMarkerAMD,
    b"vkCmdWriteBufferMarker2AMD" => write_buffer_marker2 as PFN_vkCmdWriteBufferMarker2AMD,
    b"vkCmdWriteTimestamp" => write_timestamp as PFN_vkCmdWriteTimestamp,
    b"vkCmdWriteTimestamp2" | b"vkCmdWriteTimestamp2KHR" =>
        write_timestamp2 as PFN_vkCmdWriteTimestamp2,
    b"vkQueueSubmit" => queue_submit as PFN_vkQueueSubmit,
    b"vkQueueSubmit2" | b"vkQueueSubmit2KHR" => queue_submit2 as PFN_vkQueueSubmit2,
}

/// Returns whether a barrier that is recorded next is inside of a pass. The stages of the barrier are translated
/// accordingly.
fn pass_scope(state: &CommandBufferState) -> RenderPassScope {
    if state.is_inside() {
        RenderPassScope::Inside
    } else {
        RenderPassScope::Outside { also_compute: Kind::PipelineBarrier.is_translated() }
    }
}

/// Returns how the stages of events are translated: always like those of commands outside of passes. A wait must have
/// the same masks as the commands that set its events. Those commands are recorded outside of passes, but the wait may
/// be inside of a pass. A wait inside of a pass may contain all stages, so the same masks are valid there.
fn event_scope() -> RenderPassScope {
    RenderPassScope::Outside { also_compute: Kind::Event.is_translated() }
}

/// Records a wait for events. If the commands of the pass are stored until it ends, the wait is recorded twice: before
/// the pass, because the captures are recorded there, and in the pass. The second wait does no harm, because an event
/// stays set, and barriers in a pass do not change image layouts.
///
/// # Safety
/// The contract of [`CommandBufferState::record`].
unsafe fn wait(state: &mut CommandBufferState, cmd: vk::CommandBuffer, command: &impl Command) {
    // SAFETY: the caller's contract.
    unsafe {
        state.before_pass(cmd, command);
        state.record(cmd, command);
    }
}

/// Records the captures that were deferred before a barrier, unless it is for captures: they stay deferred then.
///
/// # Safety
/// The command buffer is being recorded.
unsafe fn pass_or_play(
    state: &mut CommandBufferState,
    cmd: vk::CommandBuffer,
    is_for_captures: bool,
) {
    if is_for_captures {
        _ = state.capture(|captures| captures.pass_barrier());
    } else {
        // SAFETY: the caller's contract.
        unsafe { state.play_deferred(cmd) }
    }
}

unsafe extern "system" fn pipeline_barrier(
    command_buffer: vk::CommandBuffer,
    src_stages: vk::PipelineStageFlags,
    dst_stages: vk::PipelineStageFlags,
    flags: vk::DependencyFlags,
    memory_count: u32,
    memory: *const vk::MemoryBarrier<'_>,
    buffer_count: u32,
    buffers: *const vk::BufferMemoryBarrier<'_>,
    image_count: u32,
    images: *const vk::ImageMemoryBarrier<'_>,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with_arguments(command_buffer, |state, arena| {
            let given = Dependency {
                src_stages,
                dst_stages,
                memory: slice(memory.cast(), memory_count),
                buffers: slice(buffers.cast(), buffer_count),
                images: slice(images.cast(), image_count),
            };
            pass_or_play(state, command_buffer, given.is_for_captures());
            let Some(translated) = given.translated(pass_scope(state), arena) else {
                return;
            };
            let command = PipelineBarrier {
                src_stage_mask: translated.src_stages,
                dst_stage_mask: translated.dst_stages,
                dependency_flags: flags,
                memory_barrier_count: memory_count,
                p_memory_barriers: translated.memory.as_ptr(),
                buffer_memory_barrier_count: buffer_count,
                p_buffer_memory_barriers: translated.buffers.as_ptr(),
                image_memory_barrier_count: image_count,
                p_image_memory_barriers: translated.images.as_ptr(),
            };
            state.record(command_buffer, &command);
        });
    }
}

unsafe extern "system" fn pipeline_barrier2(
    command_buffer: vk::CommandBuffer,
    info: *const vk::DependencyInfo<'_>,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with_arguments(command_buffer, |state, arena| {
            let Some(info) = info.cast::<vk::DependencyInfo<'static>>().as_ref() else { return };
            pass_or_play(state, command_buffer, barriers::is_for_captures(info));
            if let Some(info) = barriers::dependency_info(info, pass_scope(state), arena) {
                state.record(
                    command_buffer,
                    &PipelineBarrier2 { p_dependency_info: &raw const info },
                );
            }
        });
    }
}

unsafe extern "system" fn wait_events(
    command_buffer: vk::CommandBuffer,
    event_count: u32,
    events: *const vk::Event,
    src_stages: vk::PipelineStageFlags,
    dst_stages: vk::PipelineStageFlags,
    memory_count: u32,
    memory: *const vk::MemoryBarrier<'_>,
    buffer_count: u32,
    buffers: *const vk::BufferMemoryBarrier<'_>,
    image_count: u32,
    images: *const vk::ImageMemoryBarrier<'_>,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with_arguments(command_buffer, |state, arena| {
            let given = Dependency {
                src_stages,
                dst_stages,
                memory: slice(memory.cast(), memory_count),
                buffers: slice(buffers.cast(), buffer_count),
                images: slice(images.cast(), image_count),
            };
            let Some(translated) = given.translated(event_scope(), arena) else { return };
            let command = WaitEvents {
                event_count,
                p_events: events,
                src_stage_mask: translated.src_stages,
                dst_stage_mask: translated.dst_stages,
                memory_barrier_count: memory_count,
                p_memory_barriers: translated.memory.as_ptr(),
                buffer_memory_barrier_count: buffer_count,
                p_buffer_memory_barriers: translated.buffers.as_ptr(),
                image_memory_barrier_count: image_count,
                p_image_memory_barriers: translated.images.as_ptr(),
            };
            wait(state, command_buffer, &command);
        });
    }
}

unsafe extern "system" fn wait_events2(
    command_buffer: vk::CommandBuffer,
    event_count: u32,
    events: *const vk::Event,
    infos: *const vk::DependencyInfo<'_>,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with_arguments(command_buffer, |state, arena| {
            let infos = slice(infos.cast::<vk::DependencyInfo<'static>>(), event_count);
            let infos = arena.map(infos, |info| {
                // Barriers are dropped only inside of passes, so the result is never `None` for
                // events.
                barriers::dependency_info(info, event_scope(), arena).unwrap_or(*info)
            });
            let (p_events, p_dependency_infos) = (events, infos.as_ptr());
            wait(state, command_buffer, &WaitEvents2 { event_count, p_events, p_dependency_infos });
        });
    }
}

unsafe extern "system" fn set_event2(
    command_buffer: vk::CommandBuffer,
    event: vk::Event,
    info: *const vk::DependencyInfo<'_>,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(command_buffer, |state| state.play_deferred(command_buffer));
        with_device("vkCmdSetEvent2", (), command_buffer, |device| {
            let next = device.next.set_event2?;
            let Some(info) = info.cast::<vk::DependencyInfo<'static>>().as_ref() else {
                return Some(());
            };
            Arena::with(|arena| {
                if let Some(info) = barriers::dependency_info(info, event_scope(), arena) {
                    next(command_buffer, event, &raw const info);
                }
            });
            Some(())
        });
    }
}

unsafe extern "system" fn set_event(
    command_buffer: vk::CommandBuffer,
    event: vk::Event,
    stages: vk::PipelineStageFlags,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(command_buffer, |state| state.play_deferred(command_buffer));
        with_device("vkCmdSetEvent", (), command_buffer, |device| {
            device.next.set_event?(command_buffer, event, event_stages(stages));
            Some(())
        });
    }
}

unsafe extern "system" fn reset_event(
    command_buffer: vk::CommandBuffer,
    event: vk::Event,
    stages: vk::PipelineStageFlags,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(command_buffer, |state| state.play_deferred(command_buffer));
        with_device("vkCmdResetEvent", (), command_buffer, |device| {
            device.next.reset_event?(command_buffer, event, event_stages(stages));
            Some(())
        });
    }
}

fn event_stages(stages: vk::PipelineStageFlags) -> vk::PipelineStageFlags {
    outside_stages32(stages, Side::Source, Kind::Event.is_translated())
}

unsafe extern "system" fn reset_event2(
    command_buffer: vk::CommandBuffer,
    event: vk::Event,
    stages: vk::PipelineStageFlags2,
) {
    let stages = outside_stages(stages, Side::Source, Kind::Event.is_translated());
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(command_buffer, |state| state.play_deferred(command_buffer));
        with_device("vkCmdResetEvent2", (), command_buffer, |device| {
            device.next.reset_event2?(command_buffer, event, stages);
            Some(())
        });
    }
}

unsafe extern "system" fn write_timestamp(
    command_buffer: vk::CommandBuffer,
    stage: vk::PipelineStageFlags,
    pool: vk::QueryPool,
    query: u32,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe { commands::write_timestamp::<Unobserved>(command_buffer, single32(stage), pool, query) }
}

unsafe extern "system" fn write_timestamp2(
    command_buffer: vk::CommandBuffer,
    stage: vk::PipelineStageFlags2,
    pool: vk::QueryPool,
    query: u32,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe { commands::write_timestamp2::<Unobserved>(command_buffer, single(stage), pool, query) }
}

unsafe extern "system" fn write_buffer_marker(
    command_buffer: vk::CommandBuffer,
    stage: vk::PipelineStageFlags,
    buffer: vk::Buffer,
    offset: vk::DeviceSize,
    marker: u32,
) {
    let stage = single32(stage);
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        commands::write_buffer_marker_amd::<Unobserved>(
            command_buffer,
            stage,
            buffer,
            offset,
            marker,
        )
    }
}

unsafe extern "system" fn write_buffer_marker2(
    command_buffer: vk::CommandBuffer,
    stage: vk::PipelineStageFlags2,
    buffer: vk::Buffer,
    offset: vk::DeviceSize,
    marker: u32,
) {
    let stage = single(stage);
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        commands::write_buffer_marker2_amd::<Unobserved>(
            command_buffer,
            stage,
            buffer,
            offset,
            marker,
        )
    }
}

macro_rules! submits {
    ($($function:ident $name:literal $info:ident $translated:ident $command_buffers:ident;)*) => {$(
        unsafe extern "system" fn $function(
            queue: vk::Queue,
            count: u32,
            infos: *const vk::$info<'_>,
            fence: vk::Fence,
        ) -> vk::Result {
            // SAFETY: Vulkan's contract, which is the caller's.
            unsafe {
                with_device($name, OUT_OF_MEMORY, queue, |device| {
                    let (next, infos) = (device.next.$function?, slice(infos.cast(), count));
                    // Behind the submission the program may reset or free the command buffers.
                    let mut ended = Vec::new();
                    for command_buffer in infos.iter().flat_map(|info| submits::$command_buffers(info)) {
                        if ended.try_extend(ended_queries(command_buffer)).is_err() {
                            return Some(OUT_OF_MEMORY);
                        }
                    }
                    let result = Arena::with(|arena| {
                        let also_compute = Kind::Submit.is_translated();
                        let infos = submits::$translated(infos, also_compute, arena);
                        next(queue, count, infos.as_ptr(), fence)
                    });
                    if result == vk::Result::SUCCESS {
                        ended.iter().for_each(EndedQueries::submitted);
                    }
                    Some(result)
                })
            }
        }
    )*};
}

submits! {
    queue_submit "vkQueueSubmit" SubmitInfo submits command_buffers;
    queue_submit2 "vkQueueSubmit2" SubmitInfo2 submits2 command_buffers2;
}

#[cfg(test)]
mod tests;
