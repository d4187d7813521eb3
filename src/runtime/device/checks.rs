//! Checks of sizes, offsets and limits, for which the argument `what` names the checked value in the error; and how many
//! workgroups a dispatch has within the limits of its axes ([`fold`]).

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

/// Returns how many workgroups to dispatch along x and y, at most `per_axis` each, so that there are at least
/// `workgroups` in all. `workgroups` is at least 1.
///
/// Many devices allow only 65535 workgroups per axis. Shaders compute the number of a workgroup as `y *
/// num_workgroups.x + x` and skip workgroups beyond the count, so every rectangle with enough workgroups is correct. Of
/// all such rectangles the one with the fewest rows is used, and of those with equally few rows the narrowest. So there
/// are fewer surplus workgroups than rows.
///
/// # Errors
/// [`RuntimeError::DispatchTooLarge`].
pub fn fold(workgroups: u64, per_axis: u32) -> Result<[u32; 2], RuntimeError> {
    let too_large = || RuntimeError::DispatchTooLarge { workgroups, per_axis };
    if per_axis == 0 {
        return Err(too_large());
    }
    let y = workgroups.div_ceil(u64::from(per_axis)).max(1);
    if y > u64::from(per_axis) {
        return Err(too_large());
    }
    let x = workgroups.div_ceil(y).max(1);
    match (u32::try_from(x), u32::try_from(y)) {
        (Ok(x), Ok(y)) => Ok([x, y]),
        _ => Err(too_large()),
    }
}

/// Returns how many workgroups to dispatch along x and y for a compute capture of `invocations` invocations. Shaders
/// compute the index of an invocation in 32 bits, so the indices of surplus invocations must fit into 32 bits, too.
///
/// # Errors
/// [`RuntimeError::DispatchTooLarge`].
pub(crate) fn dispatch_size(
    invocations: u64,
    workgroup_size: u32,
    per_axis: u32,
) -> Result<[u32; 2], RuntimeError> {
    let workgroups = invocations.div_ceil(u64::from(workgroup_size.max(1)));
    let [x, y] = fold(workgroups, per_axis)?;
    let indices = u64::from(x) * u64::from(y) * u64::from(workgroup_size);
    if indices > 1 << 32 {
        return Err(RuntimeError::DispatchTooLarge { workgroups, per_axis });
    }
    Ok([x, y])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_rectangle_holds_the_count_and_little_more(
            workgroups in prop_oneof![1..100u64, 1..(1u64 << 26)],
            per_axis in prop_oneof![1..50u32, Just(65535u32)],
        ) {
            let capacity = u64::from(per_axis) * u64::from(per_axis);
            match fold(workgroups, per_axis) {
                Ok([x, y]) => {
                    let held = u64::from(x) * u64::from(y);
                    prop_assert!(x <= per_axis && y <= per_axis);
                    prop_assert!(held >= workgroups && held - workgroups < u64::from(y));
                }
                Err(_) => prop_assert!(workgroups > capacity),
            }
        }
    }

    #[test]
    fn a_row_is_left_only_where_it_is_full() {
        assert_eq!(fold(65535, 65535).unwrap(), [65535, 1]);
        assert_eq!(fold(65536, 65535).unwrap(), [32768, 2]);
        assert_eq!(fold(9, 3).unwrap(), [3, 3]);
        assert_eq!(
            fold(10, 3).unwrap_err().to_string(),
            "a capture of 10 workgroups: two axes of 3 hold fewer"
        );
        assert!(fold(1, 0).is_err());
    }

    #[test]
    fn invocation_indices_stay_within_32_bits() {
        assert_eq!(dispatch_size(1, 64, 65535).unwrap(), [1, 1]);
        assert_eq!(dispatch_size(65, 64, 65535).unwrap(), [2, 1]);
        assert!(dispatch_size((1 << 32) - (1 << 20), 64, 65535).is_ok());
        assert!(dispatch_size((1 << 32) + 1, 64, 65535).is_err());
    }
}
