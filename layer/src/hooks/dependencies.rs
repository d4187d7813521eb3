//! Hooks for commands with stages or accesses among their arguments: barriers, events, timestamps
//! and submissions.

use super::commands::{Observer, observer_hooks};
use super::entry::{hooks, with_device};
use crate::chain::slice;
use crate::command_buffers::{CommandBufferState, FastPath, ended_queries, with_arguments};
use crate::drawn::stages;
use crate::emulation::queries::EndedQueries;
use crate::registry::vk;
use crate::translate::barriers::{self, Dependency, RenderPassScope};
use crate::translate::masks::{Side, outside_stages, outside_stages32, single, single32};
use crate::translate::{Arena, Kind, OUT_OF_MEMORY, submits};
use crate::withheld::Command;
use crate::withheld::arguments::{
    PipelineBarrier, PipelineBarrier2, ResetEvent, ResetEvent2, SetEvent, SetEvent2, WaitEvents,
    WaitEvents2, WriteBufferMarker2Amd, WriteBufferMarkerAmd, WriteTimestamp, WriteTimestamp2,
};

hooks! {
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
        unsafe { state.play_deferred(cmd) }
    }
}

/// A command whose arguments are translated when it is recorded.
pub(super) trait Translate: Command {
    /// Returns the command for the driver. `None` if it is not needed.
    ///
    /// # Safety
    /// The command is valid, and is recorded into the command buffer now.
    unsafe fn translated(
        &self,
        state: &mut CommandBufferState,
        cmd: vk::CommandBuffer,
        arena: &Arena,
    ) -> Option<Self>;
}

/// The stages and accesses of the command are translated.
pub(super) struct Translated;

impl<C: Translate> Observer<C> for Translated {
    unsafe fn fast_path<'a>(_: vk::CommandBuffer, _: &C) -> Option<FastPath<'a>> {
        None
    }

    unsafe fn record(cmd: vk::CommandBuffer, command: &C) {
        unsafe {
            with_arguments(cmd, |state, arena| {
                if let Some(command) = command.translated(state, cmd, arena) {
                    state.record(cmd, &command);
                }
            });
        }
    }
}

observer_hooks! { Translated:
    pipeline_barrier pipeline_barrier2
    reset_event reset_event2 set_event set_event2 wait_events wait_events2
    write_buffer_marker_amd write_buffer_marker2_amd write_timestamp write_timestamp2
}

/// Implements, for commands with 32-bit masks, a method for their dependency, and one that replaces it.
macro_rules! dependencies32 {
    ($($type:ident)*) => {$(
        impl $type {
            /// # Safety
            /// The command is valid.
            unsafe fn dependency(&self) -> Dependency<'_> {
                unsafe {
                    Dependency {
                        src_stages: self.src_stage_mask,
                        dst_stages: self.dst_stage_mask,
                        memory: slice(self.p_memory_barriers, self.memory_barrier_count),
                        buffers: slice(self.p_buffer_memory_barriers, self.buffer_memory_barrier_count),
                        images: slice(self.p_image_memory_barriers, self.image_memory_barrier_count),
                    }
                }
            }

            const fn with(&self, dependency: &Dependency<'_>) -> Self {
                Self {
                    src_stage_mask: dependency.src_stages,
                    dst_stage_mask: dependency.dst_stages,
                    p_memory_barriers: dependency.memory.as_ptr(),
                    p_buffer_memory_barriers: dependency.buffers.as_ptr(),
                    p_image_memory_barriers: dependency.images.as_ptr(),
                    ..*self
                }
            }
        }
    )*};
}

dependencies32! { PipelineBarrier WaitEvents }

impl Translate for PipelineBarrier {
    unsafe fn translated(
        &self,
        state: &mut CommandBufferState,
        cmd: vk::CommandBuffer,
        arena: &Arena,
    ) -> Option<Self> {
        unsafe {
            let given = self.dependency();
            pass_or_play(state, cmd, given.is_for_captures());
            Some(self.with(&given.translated(pass_scope(state), arena)?))
        }
    }
}

impl Translate for PipelineBarrier2 {
    unsafe fn translated(
        &self,
        state: &mut CommandBufferState,
        cmd: vk::CommandBuffer,
        arena: &Arena,
    ) -> Option<Self> {
        unsafe {
            let info = self.p_dependency_info.as_ref()?;
            pass_or_play(state, cmd, barriers::is_for_captures(info));
            let info = barriers::dependency_info(info, pass_scope(state), arena)?;
            Some(Self { p_dependency_info: arena.keep(info) })
        }
    }
}

/// The wait is recorded twice if the commands of the pass are stored until it ends: before the pass, because the
/// captures are recorded there, and in the pass. The second wait does no harm, because an event stays set, and barriers
/// in a pass do not change image layouts.
impl Translate for WaitEvents {
    unsafe fn translated(
        &self,
        state: &mut CommandBufferState,
        cmd: vk::CommandBuffer,
        arena: &Arena,
    ) -> Option<Self> {
        unsafe {
            let command = self.with(&self.dependency().translated(event_scope(), arena)?);
            state.before_pass(cmd, &command);
            Some(command)
        }
    }
}

/// Like [`WaitEvents`], it may be recorded twice.
impl Translate for WaitEvents2 {
    unsafe fn translated(
        &self,
        state: &mut CommandBufferState,
        cmd: vk::CommandBuffer,
        arena: &Arena,
    ) -> Option<Self> {
        unsafe {
            let infos = slice(self.p_dependency_infos, self.event_count);
            let infos = arena.map(infos, |info| {
                // Barriers are dropped only inside of passes, so the result is never `None` for
                // events.
                barriers::dependency_info(info, event_scope(), arena).unwrap_or(*info)
            });
            let command = Self { p_dependency_infos: infos.as_ptr(), ..*self };
            state.before_pass(cmd, &command);
            Some(command)
        }
    }
}

impl Translate for SetEvent2 {
    unsafe fn translated(
        &self,
        _state: &mut CommandBufferState,
        _cmd: vk::CommandBuffer,
        arena: &Arena,
    ) -> Option<Self> {
        let info = unsafe {
            barriers::dependency_info(self.p_dependency_info.as_ref()?, event_scope(), arena)
        }?;
        Some(Self { p_dependency_info: arena.keep(info), ..*self })
    }
}

fn event_stages32(stages: vk::PipelineStageFlags) -> vk::PipelineStageFlags {
    outside_stages32(stages, Side::Source, Kind::Event.is_translated())
}

fn event_stages(stages: vk::PipelineStageFlags2) -> vk::PipelineStageFlags2 {
    outside_stages(stages, Side::Source, Kind::Event.is_translated())
}

/// Implements the translation of commands that have stages and no accesses.
macro_rules! stages {
    ($($type:ident: $translation:ident($stage:ident);)*) => {$(
        impl Observer<$type> for Translated {
            #[inline]
            fn replacement(command: $type) -> $type {
                $type { $stage: $translation(command.$stage), ..command }
            }
        }
    )*};
}

stages! {
    ResetEvent: event_stages32(stage_mask);
    ResetEvent2: event_stages(stage_mask);
    SetEvent: event_stages32(stage_mask);
    WriteBufferMarkerAmd: single32(pipeline_stage);
    WriteBufferMarker2Amd: single(stage);
    WriteTimestamp: single32(pipeline_stage);
    WriteTimestamp2: single(stage);
}

macro_rules! submits {
    ($($function:ident $name:literal $info:ident $translated:ident $command_buffers:ident;)*) => {$(
        unsafe extern "system" fn $function(
            queue: vk::Queue,
            count: u32,
            infos: *const vk::$info<'_>,
            fence: vk::Fence,
        ) -> vk::Result {
            unsafe {
                with_device($name, OUT_OF_MEMORY, queue, |device| {
                    let (next, infos) = (device.next.$function?, slice(infos.cast(), count));
                    // Behind the submission the program may reset or free the command buffers.
                    let mut ended = Vec::new();
                    for command_buffer in infos.iter().flat_map(|info| submits::$command_buffers(info)) {
                        let queries = ended_queries(command_buffer);
                        if ended.try_reserve(queries.len()).is_err() {
                            return Some(OUT_OF_MEMORY);
                        }
                        ended.extend_from_slice(queries);
                    }
                    let result = Arena::with(|arena| {
                        let also_compute = Kind::Submit.is_translated();
                        let infos = if device.draws_geometry() {
                            stages::$translated(infos, arena)
                        } else {
                            infos
                        };
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
