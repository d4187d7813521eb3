//! Keeps the layer's state of each command buffer. Hooks for recorded commands look it up by the
//! handle.

mod state;
mod table;

use std::sync::{Arc, Once};

use ash::vk;
use vkxfb::runtime::RuntimeError;
use vkxfb::runtime::descriptor_heaps::BoundHeaps;

use self::state::DeviceTables;
pub(crate) use self::state::{CommandBufferState, FastPath};
use crate::emulation::captures::{Captures, Executed};
use crate::emulation::queries::EndedQueries;
use crate::translate::passes::RenderPasses;
use crate::translate::{Arena, OUT_OF_MEMORY};
use crate::withheld::{Functions, WithheldCommands};

pub(crate) fn allocated(
    device: DeviceTables<'_>,
    pool: vk::CommandPool,
    is_secondary: bool,
    handles: &[vk::CommandBuffer],
) {
    table::insert(device.0, pool, handles, || CommandBufferState::new(device, is_secondary));
}

pub(crate) fn freed(handles: &[vk::CommandBuffer]) {
    table::remove(handles);
}

pub(crate) fn pool_destroyed(device: &Arc<Functions>, pool: vk::CommandPool) {
    table::remove_all_of(device, Some(pool));
}

/// Removes the state of all command buffers of a device that is about to be destroyed. Some
/// programs do not destroy their pools first.
pub(crate) fn device_destroyed(device: &Arc<Functions>) {
    table::remove_all_of(device, None);
}

/// Finds the state of a command buffer. If there is none, an error is logged, and the caller must
/// drop the command.
///
/// # Safety
/// The application synchronizes access to the command buffer.
#[inline]
unsafe fn find<'a>(handle: vk::CommandBuffer) -> Option<&'a mut CommandBufferState> {
    // SAFETY: the caller's contract; the state lives until the application frees the command
    // buffer.
    let found = (unsafe { table::find(handle).as_mut() }).and_then(Option::as_mut);
    if found.is_none() {
        unknown();
    }
    found
}

/// Calls `command` with the state of a command buffer. If `command` panics, recording fails:
/// `vkEndCommandBuffer` returns an error.
///
/// # Safety
/// The application synchronizes access to the command buffer.
#[inline]
pub(crate) unsafe fn with(
    handle: vk::CommandBuffer,
    command: impl FnOnce(&mut CommandBufferState),
) {
    if let Some(state) = unsafe { find(handle) } {
        state.guarded(vk::Result::ERROR_UNKNOWN, command);
    }
}

/// Calls `command` like [`with`], and also passes it an [`Arena`]: memory for the translated arguments of the command.
/// If that memory cannot be allocated, recording fails.
///
/// # Safety
/// The contract of [`with`].
pub(crate) unsafe fn with_arguments(
    handle: vk::CommandBuffer,
    command: impl FnOnce(&mut CommandBufferState, &Arena),
) {
    if let Some(state) = unsafe { find(handle) } {
        state.guarded(OUT_OF_MEMORY, |state| {
            Arena::with(|arena| command(state, arena));
        });
    }
}

/// Records a command that the captures must see. If transform feedback is emulated, `observe` is first called with the
/// captures of the command buffer. Then `command` records the command. It gets the result of `observe`, or `None` if
/// transform feedback is not emulated or `observe` panicked. The command is recorded even after a panic, because a
/// later command may end what this command begins. So each of the two closures has its own guard, which catches panics.
///
/// # Safety
/// The contract of [`with`].
#[inline]
pub(crate) unsafe fn observe<R>(
    handle: vk::CommandBuffer,
    observe: impl FnOnce(&mut Captures) -> R,
    command: impl FnOnce(&mut CommandBufferState, Option<R>),
) {
    let failure = vk::Result::ERROR_UNKNOWN;
    if let Some(state) = unsafe { find(handle) } {
        let observed = state.guarded(failure, |state| state.capture(observe)).flatten();
        state.guarded(failure, |state| command(state, observed));
    }
}

/// Finds the state of a command buffer in the cache of recently used ones.
///
/// # Safety
/// The contract of [`with`].
#[inline]
unsafe fn find_recent<'a>(handle: vk::CommandBuffer) -> Option<&'a mut CommandBufferState> {
    let found = table::find_recent(handle);
    // SAFETY: the caller's contract. The state lives until the application frees the command buffer. The `Option` is
    // not `None`: it belongs to a slot (the table's memory for one command buffer) with this handle. A slot without a
    // state has the handle 0, and Vulkan requires that the handle of a command buffer is not null.
    unsafe { found.as_mut().map(|found| found.as_mut().unwrap_unchecked()) }
}

/// Calls `change`, which changes the state that is tracked for captures, and returns the driver's functions, of which the
/// caller must call the one of the command. Does nothing and returns `None` if the command must be stored until the render
/// pass ends, or if the cache of recently used command buffers does not have this one. The caller must use [`observe`]
/// then.
///
/// # Safety
/// The contract of [`with`].
#[inline]
pub(crate) unsafe fn track<'a>(
    handle: vk::CommandBuffer,
    change: impl FnOnce(&mut Captures),
) -> Option<&'a Functions> {
    unsafe { find_recent(handle) }?.track(change)
}

/// Returns the destination of a command that the captures need not see. `None` if [captures must observe
/// draws](Captures::observes_draws) or [are deferred](Captures::has_deferred), or if the cache of recently used command
/// buffers does not have this one. The caller must use [`with`] then.
///
/// # Safety
/// The contract of [`with`].
#[inline]
pub(crate) unsafe fn fast_path<'a>(handle: vk::CommandBuffer) -> Option<FastPath<'a>> {
    unsafe { find_recent(handle) }?.fast_path()
}

/// Logs that the layer drops the commands of an unknown command buffer, once per process.
#[cold]
fn unknown() {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        tracing::error!(
            "a command buffer was not allocated through the layer: its commands are lost"
        );
    });
}

/// Begins recording: drops everything that was recorded before. For a secondary command buffer, `info` contains the
/// state that it inherits. `passes` are the render passes of the device. `None` if transform feedback is not emulated.
///
/// # Safety
/// The contract of [`with`], and `info` is valid. For a secondary command buffer, its `pInheritanceInfo` is valid, too.
pub(crate) unsafe fn reset(
    handle: vk::CommandBuffer,
    info: &vk::CommandBufferBeginInfo<'_>,
    passes: Option<&RenderPasses>,
) {
    unsafe { with(handle, |found| found.begin(info, passes)) };
}

/// Resets a command buffer. If `releases` is true, the layer frees the memory that it keeps for the
/// command buffer. Otherwise the next recording uses that memory again.
///
/// # Safety
/// The contract of [`with`], and the command buffer is not pending execution.
pub(crate) unsafe fn forget(handle: vk::CommandBuffer, releases: bool) {
    unsafe { with(handle, |found| found.reset(releases)) };
}

/// Resets all command buffers of a pool, as [`forget`] resets one.
///
/// # Safety
/// The contract of [`forget`], for each command buffer, and the application synchronizes access to
/// the pool.
pub(crate) unsafe fn pool_reset(device: &Arc<Functions>, pool: vk::CommandPool, releases: bool) {
    unsafe { table::for_each_of(device, pool, |found| found.reset(releases)) };
}

/// Returns what a secondary command buffer leaves to the command buffers that execute it: captures and computations of
/// draw arguments, which must be recorded outside of the render pass, and the queries that it ends. Several threads may
/// call this at the same time.
///
/// # Errors
/// [`RuntimeError::HostMemory`]
///
/// # Safety
/// Recording of the command buffer has ended, and no thread changes it during the call.
pub(crate) unsafe fn executed(handle: vk::CommandBuffer) -> Result<Executed, RuntimeError> {
    // SAFETY: the caller's contract: other threads may read the state, and no thread writes to it.
    let found = (unsafe { table::find(handle).as_ref() }).and_then(Option::as_ref);
    found.map_or_else(|| Ok(Executed::default()), CommandBufferState::executed)
}

/// The queries of the layer that a command buffer ends. Several threads may call this at the same time.
///
/// # Safety
/// The contract of [`executed`]. The result must not outlive the recording.
pub(crate) unsafe fn ended_queries<'a>(handle: vk::CommandBuffer) -> &'a [EndedQueries] {
    // SAFETY: the caller's contract: other threads may read the state, and no thread writes to it.
    let found = (unsafe { table::find(handle).as_ref() }).and_then(Option::as_ref);
    found.map(CommandBufferState::ended_queries).unwrap_or_default()
}

/// The descriptor heaps that a secondary command buffer inherits. Several threads may call this at the same time.
///
/// # Safety
/// The contract of [`executed`].
pub(crate) unsafe fn inherited_heaps(handle: vk::CommandBuffer) -> BoundHeaps {
    // SAFETY: the caller's contract: other threads may read the state, and no thread writes to it.
    let found = (unsafe { table::find(handle).as_ref() }).and_then(Option::as_ref);
    found.map(CommandBufferState::inherited_heaps).unwrap_or_default()
}

/// Returns the event waits (`vkCmdWaitEvents`) of a secondary command buffer that is executed inside a render pass, and
/// `None` for other command buffers. Several threads may call this at the same time.
///
/// # Safety
/// The contract of [`executed`]. The result must not outlive the recording.
pub(crate) unsafe fn waits<'a>(handle: vk::CommandBuffer) -> Option<&'a WithheldCommands> {
    // SAFETY: the caller's contract: other threads may read the state, and no thread writes to it.
    (unsafe { table::find(handle).as_ref() }).and_then(Option::as_ref)?.waits()
}

/// Ends recording. Returns the error if recording has failed. `None` if it has succeeded, or if the command buffer is
/// unknown.
///
/// # Safety
/// The contract of [`with`].
pub(crate) unsafe fn failure(handle: vk::CommandBuffer) -> Option<vk::Result> {
    unsafe {
        with(handle, |found| found.end(handle));
        find(handle).and_then(|found| found.failure())
    }
}
