//! Checks of sizes, offsets and limits. The argument `what` names the checked value in the error.

#![forbid(unsafe_code)]

use ash::vk;

use crate::runtime::device::error::RuntimeError;

pub(crate) fn multiple_of_4(
    what: impl FnOnce() -> String,
    value: impl Into<u64>,
) -> Result<(), RuntimeError> {
    multiple_of(4u32, what, value)
}

pub(crate) fn multiple_of(
    alignment: impl Into<u64>,
    what: impl FnOnce() -> String,
    value: impl Into<u64>,
) -> Result<(), RuntimeError> {
    let (value, alignment) = (value.into(), alignment.into());
    if value.is_multiple_of(alignment) {
        Ok(())
    } else {
        Err(RuntimeError::Misaligned { what: what(), value, alignment })
    }
}

/// Checks that a value is at most a limit of the device.
pub(crate) fn check_limit(
    what: impl FnOnce() -> String,
    value: impl Into<u64>,
    limit: &'static str,
    max: impl Into<u64>,
) -> Result<(), RuntimeError> {
    let (value, max) = (value.into(), max.into());
    if value <= max { Ok(()) } else { Err(RuntimeError::Limit { what: what(), value, limit, max }) }
}

/// Returns an error if `size` is `VK_WHOLE_SIZE`: captures need the size of a bound range in bytes.
pub(crate) fn not_whole_size(
    what: impl FnOnce() -> String,
    size: vk::DeviceSize,
) -> Result<(), RuntimeError> {
    match size {
        vk::WHOLE_SIZE => Err(RuntimeError::WholeSize { what: what() }),
        _ => Ok(()),
    }
}

/// Checks that the stride of a vertex binding is a multiple of `alignment`, which the attribute at `location` needs.
pub(crate) fn check_stride(
    binding: u32,
    location: u32,
    stride: u32,
    alignment: u32,
) -> Result<(), RuntimeError> {
    let what = || {
        format!("the stride of vertex binding {binding}, which location {location} is read from,")
    };
    multiple_of(alignment, what, stride)
}
