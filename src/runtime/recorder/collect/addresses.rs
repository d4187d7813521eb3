//! The addresses by which compute captures access buffers.

use std::fmt;

use ash::vk;

use super::Collector;
use crate::runtime::checks::multiple_of;
use crate::runtime::descriptors::{Purpose, Table};
use crate::runtime::{Context, RuntimeError};
use crate::sysval::{Address, join, split};

/// The size in bytes of the smallest access of shaders that do not load single bytes.
const DWORD: u64 = 4;

/// A range of a buffer: the buffer, the offset and the size, both in bytes.
pub(in crate::runtime) type BufferRange = (vk::Buffer, u64, u64);

/// The size in bytes of the memory that a buffer requires. It is an upper bound of the buffer's size, which Vulkan does
/// not report.
///
/// # Safety
/// The buffer is a live buffer of the device.
pub(super) unsafe fn memory_of(ctx: &Context, buffer: vk::Buffer) -> u64 {
    // SAFETY: the caller's contract.
    unsafe { ctx.device().get_buffer_memory_requirements(buffer) }.size
}

/// Returns the size of a range that is extended to the end of its last dword, or `None` if its end exceeds 2^64 - 1.
fn size_of_whole_dwords(offset: u64, size: u64) -> Option<u64> {
    match size {
        0 => Some(0),
        _ => Some(offset.checked_add(size)?.checked_next_multiple_of(DWORD)? - offset),
    }
}

/// Returns the address of a range of a buffer, which [`resolve`] must translate before shaders use it. `what` names the
/// range in errors.
///
/// Shaders read whole dwords. So the address is valid for the dword in which the range ends, even if the rest of this
/// dword is not in the range.
///
/// # Errors
/// [`RuntimeError::PartialDword`] if the buffer does not contain that dword, and the errors of [`exact_address`].
///
/// # Safety
/// The buffer is live, has the usage that [`Context`] returns for its use, and contains the range, rounded up to the
/// next multiple of 4 bytes.
pub(in crate::runtime) unsafe fn address(
    ctx: &Context,
    table: &mut Table,
    purpose: Purpose,
    what: fmt::Arguments<'_>,
    (buffer, offset, size): BufferRange,
) -> Result<u64, RuntimeError> {
    let past_the_end = || RuntimeError::PastTheEnd { what: what.to_string(), offset, size };
    let whole = size_of_whole_dwords(offset, size).ok_or_else(past_the_end)?;
    if whole > size {
        // SAFETY: the caller's contract.
        let memory = unsafe { memory_of(ctx, buffer) };
        if offset + whole > memory {
            let (what, end) = (what.to_string(), offset + size);
            return Err(RuntimeError::PartialDword { what, end, memory });
        }
    }
    // SAFETY: the caller's contract.
    unsafe { exact_address(ctx, table, purpose, what, (buffer, offset, whole)) }
}

/// Like [`address()`], but for shaders that access only the bytes of the range.
///
/// # Errors
/// [`RuntimeError::PastTheEnd`]; [`RuntimeError::NoAddress`] and [`RuntimeError::Misaligned`]; under the
/// descriptor plan [`RuntimeError::Limit`] and [`RuntimeError::TooManyBuffers`].
///
/// # Safety
/// The buffer is live, has the usage that [`Context`] returns for its use, and contains the range.
unsafe fn exact_address(
    ctx: &Context,
    table: &mut Table,
    purpose: Purpose,
    what: fmt::Arguments<'_>,
    range: BufferRange,
) -> Result<u64, RuntimeError> {
    let (buffer, offset, size) = range;
    let past_the_end = || RuntimeError::PastTheEnd { what: what.to_string(), offset, size };
    offset.checked_add(size).ok_or_else(past_the_end)?;
    if let Some(limits) = ctx.table() {
        return table.address(limits, purpose, what, range);
    }
    // SAFETY: the caller's contract.
    let start = unsafe { ctx.buffer_address(buffer) }?;
    multiple_of(DWORD, || format!("the device address of {what}"), start)?;
    start.checked_add(offset).ok_or_else(past_the_end)
}

/// Translates an address that [`address()`] returned to the address that shaders use. Under the descriptor plan,
/// descriptors must be [assigned](Table::assign) before.
pub(in crate::runtime) fn resolve(ctx: &Context, table: &Table, address: Address) -> Address {
    match ctx.table() {
        Some(_) => split(table.resolve(join(address))),
        None => address,
    }
}

impl Collector {
    /// Calls [`address()`] for a buffer that draws access.
    ///
    /// # Errors
    /// The errors of [`address()`].
    ///
    /// # Safety
    /// The requirements of [`address()`] apply.
    pub(super) unsafe fn address(
        &mut self,
        purpose: Purpose,
        what: fmt::Arguments<'_>,
        range: BufferRange,
    ) -> Result<u64, RuntimeError> {
        // SAFETY: the caller's contract.
        let start = unsafe { address(&self.ctx, &mut self.table, purpose, what, range) }?;
        self.note_reached(purpose, start, range);
        Ok(start)
    }

    /// Returns the address of the indices in a range of a buffer, and
    /// [`BoundIndices::partial_end`](super::BoundIndices::partial_end). The latter is `None` unless the device can load
    /// single bytes, and the range ends within a dword whose remaining bytes shaders cannot read. If the device cannot
    /// load single bytes, the range is handled as by [`address()`].
    ///
    /// # Errors
    /// The errors of [`address()`].
    ///
    /// # Safety
    /// The requirements of [`address()`] apply. If single bytes are loaded, the buffer need not contain more than the
    /// range.
    pub(super) unsafe fn index_address(
        &mut self,
        range: BufferRange,
    ) -> Result<(u64, Option<(u64, u64)>), RuntimeError> {
        let (what, purpose) = (format_args!("the index buffer"), Purpose::Read);
        if !self.ctx.enabled().byte_loads {
            // SAFETY: the caller's contract.
            return Ok((unsafe { self.address(purpose, what, range) }?, None));
        }
        // SAFETY: the caller's contract.
        let start = unsafe { exact_address(&self.ctx, &mut self.table, purpose, what, range) }?;
        self.note_reached(purpose, start, range);
        let (buffer, offset, size) = range;
        let whole = size_of_whole_dwords(offset, size);
        if whole == Some(size) {
            return Ok((start, None));
        }
        // SAFETY: the caller's contract.
        let memory = unsafe { memory_of(&self.ctx, buffer) };
        let end = whole.and_then(|whole| offset.checked_add(whole));
        // Shaders can also read the rest of the dword if the buffer's memory contains it. Under the descriptor plan
        // they never can, because a descriptor covers only the range.
        let is_there = self.ctx.table().is_none() && end.is_some_and(|end| end <= memory);
        Ok((start, (!is_there).then_some((offset + size, memory))))
    }

    /// Notes that captures read a range of device addresses. Does nothing for purposes other than `Read`, and under the
    /// descriptor plan.
    fn note_reached(&mut self, purpose: Purpose, start: u64, (.., size): BufferRange) {
        if purpose == Purpose::Read && self.ctx.table().is_none() {
            self.collected.reached.add(start..start.saturating_add(size));
        }
    }
}
