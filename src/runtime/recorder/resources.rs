//! The addresses by which compute captures reach memory, and the application's descriptor sets.

use std::fmt;

use ash::vk;

use super::capture::Capture;
use super::sets::SetArguments;
use crate::runtime::checks::multiple_of;
use crate::runtime::descriptors::{Purpose, Table};
use crate::runtime::{Context, RuntimeError};
use crate::sysval::{Address, join, split};

/// The smallest access of shaders, in bytes.
const DWORD: u64 = 4;

impl SetArguments<'_> {
    /// Records `vkCmdBindDescriptorSets`.
    ///
    /// # Safety
    /// As [`Recorder::bind_descriptor_sets`](super::Recorder::bind_descriptor_sets).
    pub(super) unsafe fn record(
        self,
        device: &ash::Device,
        cmd: vk::CommandBuffer,
        point: vk::PipelineBindPoint,
    ) {
        let Self { layout, first, sets, dynamic_offsets } = self;
        // SAFETY: the caller's contract.
        unsafe {
            device.cmd_bind_descriptor_sets(cmd, point, layout, first, sets, dynamic_offsets)
        };
    }
}

/// Returns the address for shaders of `size` bytes at `offset` of a buffer, which [`resolve`]
/// takes. `what` is its name in messages.
///
/// Shaders read whole dwords, including the one in which the range ends.
///
/// # Errors
/// [`RuntimeError::PartialDword`], [`RuntimeError::PastTheEnd`]; [`RuntimeError::NoAddress`] and
/// [`RuntimeError::Misaligned`]; under the descriptor plan [`RuntimeError::Limit`] and
/// [`RuntimeError::TooManyBuffers`].
///
/// # Safety
/// The buffer is live, has the usage that [`Context`] names, and contains the range, rounded up to
/// the next multiple of 4 bytes.
pub(in crate::runtime) unsafe fn address(
    ctx: &Context,
    table: &mut Table,
    purpose: Purpose,
    what: fmt::Arguments<'_>,
    (buffer, offset, size): (vk::Buffer, u64, u64),
) -> Result<u64, RuntimeError> {
    let past_the_end = || RuntimeError::PastTheEnd { what: what.to_string(), offset, size };
    let end = offset.checked_add(size).ok_or_else(past_the_end)?;
    if size > 0 && !end.is_multiple_of(DWORD) {
        // A handle does not tell the size of its buffer, but its memory requirements are an upper
        // bound.
        // SAFETY: the caller's contract.
        let memory = unsafe { ctx.device().get_buffer_memory_requirements(buffer) }.size;
        let needed = end.checked_next_multiple_of(DWORD).ok_or_else(past_the_end)?;
        if needed > memory {
            return Err(RuntimeError::PartialDword { what: what.to_string(), end, memory });
        }
    }
    if let Some(limits) = ctx.table() {
        return table.address(limits, purpose, what, buffer, offset, size);
    }
    // SAFETY: the caller's contract.
    let start = unsafe { ctx.buffer_address(buffer) }?;
    multiple_of(DWORD, || format!("the device address of {what}"), start)?;
    start.checked_add(offset).ok_or_else(past_the_end)
}

/// Returns the address that shaders use for a result of [`address()`]. Descriptors must be assigned
/// before.
pub(in crate::runtime) fn resolve(ctx: &Context, table: &Table, address: Address) -> Address {
    match ctx.table() {
        Some(_) => split(table.resolve(join(address))),
        None => address,
    }
}

impl Capture {
    /// Calls [`address()`] for a buffer that the draws reach.
    ///
    /// # Errors
    /// As [`address()`].
    ///
    /// # Safety
    /// As [`address()`].
    pub(super) unsafe fn address(
        &mut self,
        purpose: Purpose,
        what: fmt::Arguments<'_>,
        buffer: vk::Buffer,
        offset: u64,
        size: u64,
    ) -> Result<u64, RuntimeError> {
        let range = (buffer, offset, size);
        // SAFETY: the caller's contract.
        let start = unsafe { address(&self.ctx, &mut self.table, purpose, what, range) }?;
        if purpose == Purpose::Read && self.ctx.table().is_none() {
            self.reached.add(start..start.saturating_add(size));
        }
        Ok(start)
    }

    /// Calls [`resolve`] for an address of this capture.
    pub(super) fn resolve(&self, address: Address) -> Address {
        resolve(&self.ctx, &self.table, address)
    }

    /// Whether captures must be ordered after each other:
    /// [`Table::captures_overlap`](crate::runtime::descriptors::Table::captures_overlap).
    pub(super) fn captures_overlap(&self) -> bool {
        self.ctx.table().is_some() && self.table.captures_overlap()
    }

    /// Whether everything that is recorded must be ordered with the commands before and after it:
    /// [`Table::is_scarce`](crate::runtime::descriptors::Table::is_scarce).
    pub(super) fn is_scarce(&self) -> bool {
        self.ctx.table().is_some() && self.table.is_scarce()
    }
}
