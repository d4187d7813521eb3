//! The addresses by which compute captures and kernels access buffers: device addresses, or under the descriptor plan
//! positions in the windows of a [`WindowTable`].

use std::fmt;

use ash::vk;

use crate::runtime::device::checks::multiple_of;
use crate::runtime::device::context::Context;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::memory::buffers::BufferRange;
use crate::runtime::memory::descriptors::purpose::Purpose;
use crate::runtime::memory::window_table::WindowTable;
use vkxfb_rewriter::sysval::{Address, join, split};

/// The size in bytes of the smallest access of shaders that do not load single bytes.
const DWORD: u64 = 4;

/// The size in bytes of the memory that a buffer requires. It is an upper bound of the buffer's size, which Vulkan does
/// not report.
///
/// # Safety
/// The buffer is a live buffer of the device.
pub(crate) unsafe fn memory_of(ctx: &Context, buffer: vk::Buffer) -> u64 {
    unsafe { ctx.device().get_buffer_memory_requirements(buffer) }.size
}

/// Returns the size of a range that is extended to the end of its last dword, or `None` if its end exceeds 2^64 - 1.
pub(crate) fn size_of_whole_dwords(offset: u64, size: u64) -> Option<u64> {
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
/// The buffer is live, was created with the usage flags that [`Context`] returns for such a buffer (for example
/// [`BufferUsages::vertex`](crate::runtime::BufferUsages::vertex)), and contains the range, rounded up to the next multiple of 4 bytes.
pub(crate) unsafe fn address(
    ctx: &Context,
    table: &mut WindowTable,
    purpose: Purpose,
    what: fmt::Arguments<'_>,
    (buffer, offset, size): BufferRange,
) -> Result<u64, RuntimeError> {
    let past_the_end = || RuntimeError::PastTheEnd { what: what.to_string(), offset, size };
    let whole = size_of_whole_dwords(offset, size).ok_or_else(past_the_end)?;
    if whole > size {
        let memory = unsafe { memory_of(ctx, buffer) };
        if offset + whole > memory {
            let (what, end) = (what.to_string(), offset + size);
            return Err(RuntimeError::PartialDword { what, end, memory });
        }
    }
    unsafe { exact_address(ctx, table, purpose, what, (buffer, offset, whole)) }
}

/// Like [`address()`], but for shaders that access only the bytes of the range.
///
/// # Errors
/// [`RuntimeError::PastTheEnd`]; [`RuntimeError::NoAddress`] and [`RuntimeError::Misaligned`]; under the
/// descriptor plan [`RuntimeError::Limit`] and [`RuntimeError::TooManyBuffers`].
///
/// # Safety
/// The buffer is live, was created with the usage flags that [`Context`] returns for such a buffer (for example
/// [`BufferUsages::vertex`](crate::runtime::BufferUsages::vertex)), and contains the range.
pub(crate) unsafe fn exact_address(
    ctx: &Context,
    table: &mut WindowTable,
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
    let start = unsafe { ctx.buffer_address(buffer) }?;
    multiple_of(DWORD, || format!("the device address of {what}"), start)?;
    start.checked_add(offset).ok_or_else(past_the_end)
}

/// Translates an address that [`address()`] returned to the address that shaders use. Under the descriptor plan,
/// descriptors must be [assigned](WindowTable::assign) before.
pub(crate) fn resolve(ctx: &Context, table: &WindowTable, address: Address) -> Address {
    match ctx.table() {
        Some(_) => split(table.resolve(join(address))),
        None => address,
    }
}
