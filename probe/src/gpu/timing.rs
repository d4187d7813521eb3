//! Measures time on the device, and queries the size of its memory.

use std::time::{Duration, Instant};

use ash::vk;

use vkxfb::runtime::Context;

use super::{Gpu, GpuError};

/// The properties of timestamps on the device's queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timestamps {
    /// `timestampValidBits` of the queue family, at least 1.
    pub valid_bits: u32,
    /// `timestampPeriod`: the number of nanoseconds per tick.
    pub period: f32,
}

impl Timestamps {
    /// Returns the nanoseconds between two timestamps. The counter may have overflowed once between
    /// them.
    pub fn nanoseconds(&self, [start, end]: [u64; 2]) -> f64 {
        let unused = 64 - self.valid_bits.min(64);
        let mask = u64::MAX.checked_shr(unused).unwrap_or(0);
        (end.wrapping_sub(start) & mask) as f64 * f64::from(self.period)
    }
}

/// The limits of the device for the sizes of buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimits {
    /// The size in bytes of the largest heap that is `DEVICE_LOCAL`.
    pub device_heap: u64,
    /// The size in bytes of the largest buffer: the lesser of `maxBufferSize` and `maxMemoryAllocationSize`, as far as
    /// the device reports them. `u64::MAX` if it reports neither.
    pub max_buffer: u64,
}

impl Gpu {
    /// The properties of timestamps on the device's queue. `None` if the queue does not support
    /// timestamps.
    pub fn timestamps(&self) -> Option<Timestamps> {
        let raw = &self.instance.raw;
        // SAFETY: the physical device belongs to the instance.
        let (families, properties) = unsafe {
            (
                raw.get_physical_device_queue_family_properties(self.physical_device),
                raw.get_physical_device_properties(self.physical_device),
            )
        };
        let family = families.get(usize::try_from(self.queue_family).ok()?)?;
        let (valid_bits, period) =
            (family.timestamp_valid_bits, properties.limits.timestamp_period);
        (valid_bits > 0 && period > 0.0).then_some(Timestamps { valid_bits, period })
    }

    /// Returns the limits for the sizes of buffers.
    pub fn memory_limits(&self) -> MemoryLimits {
        let raw = &self.instance.raw;
        let version = self.capabilities().api_version;
        let mut max_buffer = u64::MAX;
        if version >= vk::API_VERSION_1_1 {
            let mut maintenance3 = vk::PhysicalDeviceMaintenance3Properties::default();
            let mut maintenance4 = vk::PhysicalDeviceMaintenance4Properties::default();
            let mut properties =
                vk::PhysicalDeviceProperties2::default().push_next(&mut maintenance3);
            if version >= vk::API_VERSION_1_3 {
                properties = properties.push_next(&mut maintenance4);
            }
            // SAFETY: the physical device belongs to the instance, and its version includes the
            // chained structures.
            unsafe { raw.get_physical_device_properties2(self.physical_device, &mut properties) };
            for limit in [maintenance3.max_memory_allocation_size, maintenance4.max_buffer_size] {
                if limit != 0 {
                    max_buffer = max_buffer.min(limit);
                }
            }
        }
        // SAFETY: the physical device belongs to the instance.
        let memory = unsafe { raw.get_physical_device_memory_properties(self.physical_device) };
        let local = vk::MemoryHeapFlags::DEVICE_LOCAL;
        let heaps = memory.memory_heaps_as_slice().iter().filter(|h| h.flags.contains(local));
        MemoryLimits { device_heap: heaps.map(|h| h.size).max().unwrap_or(0), max_buffer }
    }

    /// Like [`submit`](Self::submit), but also returns how long it took from the submission until
    /// the device was idle, measured by the host.
    ///
    /// # Errors
    /// The same as for [`submit`](Self::submit).
    pub fn submit_timed<R>(
        &mut self,
        record: impl FnOnce(&Context, vk::CommandBuffer) -> Result<R, GpuError>,
    ) -> Result<(R, Duration), GpuError> {
        let result = self.record(record)?;
        let start = Instant::now();
        self.submit_and_wait()?;
        Ok((result, start.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_overflow_at_their_valid_bits() {
        let of = |valid_bits| Timestamps { valid_bits, period: 2.0 };
        assert_eq!(of(64).nanoseconds([10, 15]), 10.0);
        assert_eq!(of(64).nanoseconds([u64::MAX, 4]), 10.0);
        assert_eq!(of(36).nanoseconds([(1 << 36) - 1, 4]), 10.0);
        // Bits above the valid ones are ignored.
        assert_eq!(of(36).nanoseconds([1 << 40, 5 | 1 << 50]), 10.0);
    }
}
