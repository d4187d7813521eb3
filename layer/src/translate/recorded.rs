//! Hooks for commands that are recorded and have stages or accesses among their arguments.

use ash::vk;

use super::Kind;
use super::barriers::{self, Dependency, RenderPassScope};
use super::hooks::{FAILED, with};
use super::masks::{Side, outside_stages, outside_stages32, single, single32};
use super::memory::Arena;
use crate::chain::slice;
use crate::command_buffers::{self, Recorded, fail, is_inside};
use crate::guard::guard;
use crate::withheld::commands as withheld;

/// Translates the arguments of a command, and records it by the hook in `withheld`, which has its
/// own guard. If the arguments cannot be translated, recording has failed.
///
/// # Safety
/// The application synchronizes access to the command buffer.
unsafe fn record(
    name: &'static str,
    command_buffer: vk::CommandBuffer,
    command: impl FnOnce(&Arena),
) {
    let done = guard(name, false, || {
        Arena::with(command);
        true
    });
    if !done {
        // SAFETY: the caller's contract.
        unsafe { fail(command_buffer, FAILED) };
    }
}

/// Returns where a barrier is recorded.
///
/// # Safety
/// As [`record`].
unsafe fn pass_scope(command_buffer: vk::CommandBuffer) -> RenderPassScope {
    // SAFETY: the caller's contract.
    match unsafe { is_inside(command_buffer) } {
        true => RenderPassScope::Inside,
        false => RenderPassScope::Outside { also_compute: Kind::PipelineBarrier.is_translated() },
    }
}

/// Events are set and reset outside of passes, and may be waited for inside of one. A wait must
/// have the masks that the event was set with, and may contain all stages even inside of a pass. So
/// masks of events are always translated in the same way.
fn event_scope() -> RenderPassScope {
    RenderPassScope::Outside { also_compute: Kind::Event.is_translated() }
}

/// Records a wait for events. If a pass is withheld, the wait is also recorded before it, where its
/// captures are. Waiting twice does no harm, because an event stays set, and barriers in a pass do
/// not change image layouts. Waits of secondary command buffers inside of a pass are not repeated.
///
/// # Safety
/// As [`record`].
unsafe fn wait(command_buffer: vk::CommandBuffer, command: impl Fn(&mut Recorded)) {
    // SAFETY: the caller's contract.
    unsafe {
        command_buffers::with(command_buffer, |recorded| {
            recorded.before_pass(&command);
            command(recorded);
        });
    }
}

pub(super) unsafe extern "system" fn pipeline_barrier(
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
        record("vkCmdPipelineBarrier", command_buffer, |arena| {
            let given = Dependency {
                src_stages,
                dst_stages,
                memory: slice(memory.cast(), memory_count),
                buffers: slice(buffers.cast(), buffer_count),
                images: slice(images.cast(), image_count),
            };
            let Some(translated) = given.translated(pass_scope(command_buffer), arena) else {
                return;
            };
            withheld::pipeline_barrier(
                command_buffer,
                translated.src_stages,
                translated.dst_stages,
                flags,
                memory_count,
                translated.memory.as_ptr(),
                buffer_count,
                translated.buffers.as_ptr(),
                image_count,
                translated.images.as_ptr(),
            );
        });
    }
}

pub(super) unsafe extern "system" fn pipeline_barrier2(
    command_buffer: vk::CommandBuffer,
    info: *const vk::DependencyInfo<'_>,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        record("vkCmdPipelineBarrier2", command_buffer, |arena| {
            let Some(info) = info.cast::<vk::DependencyInfo<'static>>().as_ref() else { return };
            if let Some(info) = barriers::dependency_info(info, pass_scope(command_buffer), arena) {
                withheld::pipeline_barrier2(command_buffer, &raw const info);
            }
        });
    }
}

pub(super) unsafe extern "system" fn wait_events(
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
        record("vkCmdWaitEvents", command_buffer, |arena| {
            let given = Dependency {
                src_stages,
                dst_stages,
                memory: slice(memory.cast(), memory_count),
                buffers: slice(buffers.cast(), buffer_count),
                images: slice(images.cast(), image_count),
            };
            let Some(translated) = given.translated(event_scope(), arena) else { return };
            wait(command_buffer, |recorded| {
                recorded.wait_events(
                    command_buffer,
                    event_count,
                    events,
                    translated.src_stages,
                    translated.dst_stages,
                    memory_count,
                    translated.memory.as_ptr(),
                    buffer_count,
                    translated.buffers.as_ptr(),
                    image_count,
                    translated.images.as_ptr(),
                );
            });
        });
    }
}

pub(super) unsafe extern "system" fn wait_events2(
    command_buffer: vk::CommandBuffer,
    event_count: u32,
    events: *const vk::Event,
    infos: *const vk::DependencyInfo<'_>,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        record("vkCmdWaitEvents2", command_buffer, |arena| {
            let infos = slice(infos.cast::<vk::DependencyInfo<'static>>(), event_count);
            let infos = arena.map(infos, |info| {
                // The scope is that of outside of passes, where no barrier is dropped.
                barriers::dependency_info(info, event_scope(), arena).unwrap_or(*info)
            });
            wait(command_buffer, |recorded| {
                recorded.wait_events2(command_buffer, event_count, events, infos.as_ptr());
            });
        });
    }
}

pub(super) unsafe extern "system" fn set_event2(
    command_buffer: vk::CommandBuffer,
    event: vk::Event,
    info: *const vk::DependencyInfo<'_>,
) {
    let name = "vkCmdSetEvent2";
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            name,
            (),
            command_buffer,
            |n| n.set_event2,
            |_, next, arena| {
                let Some(info) = info.cast::<vk::DependencyInfo<'static>>().as_ref() else {
                    return;
                };
                if let Some(info) = barriers::dependency_info(info, event_scope(), arena) {
                    next(command_buffer, event, &raw const info);
                }
            },
        );
    }
}

pub(super) unsafe extern "system" fn set_event(
    command_buffer: vk::CommandBuffer,
    event: vk::Event,
    stages: vk::PipelineStageFlags,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            "vkCmdSetEvent",
            (),
            command_buffer,
            |n| n.set_event,
            |_, next, _| next(command_buffer, event, event_stages(stages)),
        );
    }
}

pub(super) unsafe extern "system" fn reset_event(
    command_buffer: vk::CommandBuffer,
    event: vk::Event,
    stages: vk::PipelineStageFlags,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            "vkCmdResetEvent",
            (),
            command_buffer,
            |n| n.reset_event,
            |_, next, _| next(command_buffer, event, event_stages(stages)),
        );
    }
}

fn event_stages(stages: vk::PipelineStageFlags) -> vk::PipelineStageFlags {
    outside_stages32(stages, Side::Source, Kind::Event.is_translated())
}

pub(super) unsafe extern "system" fn reset_event2(
    command_buffer: vk::CommandBuffer,
    event: vk::Event,
    stages: vk::PipelineStageFlags2,
) {
    let stages = outside_stages(stages, Side::Source, Kind::Event.is_translated());
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            "vkCmdResetEvent2",
            (),
            command_buffer,
            |n| n.reset_event2,
            |_, next, _| next(command_buffer, event, stages),
        );
    }
}

pub(super) unsafe extern "system" fn write_timestamp(
    command_buffer: vk::CommandBuffer,
    stage: vk::PipelineStageFlags,
    pool: vk::QueryPool,
    query: u32,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe { withheld::write_timestamp(command_buffer, single32(stage), pool, query) }
}

pub(super) unsafe extern "system" fn write_timestamp2(
    command_buffer: vk::CommandBuffer,
    stage: vk::PipelineStageFlags2,
    pool: vk::QueryPool,
    query: u32,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe { withheld::write_timestamp2(command_buffer, single(stage), pool, query) }
}

pub(super) unsafe extern "system" fn write_buffer_marker(
    command_buffer: vk::CommandBuffer,
    stage: vk::PipelineStageFlags,
    buffer: vk::Buffer,
    offset: vk::DeviceSize,
    marker: u32,
) {
    let stage = single32(stage);
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe { withheld::write_buffer_marker_amd(command_buffer, stage, buffer, offset, marker) }
}

pub(super) unsafe extern "system" fn write_buffer_marker2(
    command_buffer: vk::CommandBuffer,
    stage: vk::PipelineStageFlags2,
    buffer: vk::Buffer,
    offset: vk::DeviceSize,
    marker: u32,
) {
    let stage = single(stage);
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe { withheld::write_buffer_marker2_amd(command_buffer, stage, buffer, offset, marker) }
}
