//! Hooks for barriers, events and timestamps. Their stages are first [translated](crate::drawn::stages) for a driver without
//! geometry shaders, and then for captures, as on other devices.

use crate::chain::slice;
use crate::command_buffers::{FastPath, with_arguments};
use crate::drawn::stages::{dependency_info, for_driver, for_driver32, single, single32};
use crate::hooks::commands::{Observer, observer_hooks};
use crate::hooks::dependencies::{Translate, Translated};
use crate::registry::vk;
use crate::translate::Arena;
use crate::withheld::arguments::{
    PipelineBarrier, PipelineBarrier2, ResetEvent, ResetEvent2, SetEvent, SetEvent2, WaitEvents,
    WaitEvents2, WriteBufferMarker2Amd, WriteBufferMarkerAmd, WriteTimestamp, WriteTimestamp2,
};

observer_hooks! { Merged:
    pipeline_barrier pipeline_barrier2
    reset_event reset_event2 set_event set_event2 wait_events wait_events2
    write_buffer_marker_amd write_buffer_marker2_amd write_timestamp write_timestamp2
}

/// A command of which the stages of geometry shaders are replaced.
trait Merge: Translate {
    /// Returns the command with the stages that the driver has.
    ///
    /// # Safety
    /// The command is valid, and outlives the result.
    unsafe fn merged(&self, arena: &Arena) -> Self;
}

/// The stages of geometry shaders are replaced, and those of captures are added.
struct Merged;

impl<C: Merge> Observer<C> for Merged {
    unsafe fn fast_path<'a>(_: vk::CommandBuffer, _: &C) -> Option<FastPath<'a>> {
        None
    }

    unsafe fn record(cmd: vk::CommandBuffer, command: &C) {
        unsafe {
            with_arguments(cmd, |state, arena| {
                let merged = command.merged(arena);
                if let Some(command) = merged.translated(state, cmd, arena) {
                    state.record(cmd, &command);
                }
            });
        }
    }
}

/// Implements [`Merge`] for commands with 32-bit masks.
macro_rules! merge32 {
    ($($type:ident)*) => {$(
        impl Merge for $type {
            unsafe fn merged(&self, _arena: &Arena) -> Self {
                Self {
                    src_stage_mask: for_driver32(self.src_stage_mask),
                    dst_stage_mask: for_driver32(self.dst_stage_mask),
                    ..*self
                }
            }
        }
    )*};
}

merge32! { PipelineBarrier WaitEvents }

/// Returns a translated copy of the structure. Null stays null.
///
/// # Safety
/// The pointer is null or to a valid structure that outlives the result.
unsafe fn merged_info(
    info: *const vk::DependencyInfo<'static>,
    arena: &Arena,
) -> *const vk::DependencyInfo<'static> {
    match unsafe { info.as_ref() } {
        Some(info) => arena.keep(unsafe { dependency_info(info, arena) }),
        None => info,
    }
}

impl Merge for PipelineBarrier2 {
    unsafe fn merged(&self, arena: &Arena) -> Self {
        Self { p_dependency_info: unsafe { merged_info(self.p_dependency_info, arena) } }
    }
}

impl Merge for SetEvent2 {
    unsafe fn merged(&self, arena: &Arena) -> Self {
        let p_dependency_info = unsafe { merged_info(self.p_dependency_info, arena) };
        Self { p_dependency_info, ..*self }
    }
}

impl Merge for WaitEvents2 {
    unsafe fn merged(&self, arena: &Arena) -> Self {
        let infos = unsafe { slice(self.p_dependency_infos, self.event_count) };
        let infos = arena.map(infos, |info| unsafe { dependency_info(info, arena) });
        Self { p_dependency_infos: infos.as_ptr(), ..*self }
    }
}

/// Implements the translation of commands that have stages and no accesses.
macro_rules! stages {
    ($($type:ident: $translation:ident($stage:ident);)*) => {$(
        impl Observer<$type> for Merged {
            #[inline]
            fn replacement(command: $type) -> $type {
                let merged = $type { $stage: $translation(command.$stage), ..command };
                <Translated as Observer<$type>>::replacement(merged)
            }
        }
    )*};
}

stages! {
    ResetEvent: for_driver32(stage_mask);
    ResetEvent2: for_driver(stage_mask);
    SetEvent: for_driver32(stage_mask);
    WriteBufferMarkerAmd: single32(pipeline_stage);
    WriteBufferMarker2Amd: single(stage);
    WriteTimestamp: single32(pipeline_stage);
    WriteTimestamp2: single(stage);
}
