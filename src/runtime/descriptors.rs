//! The resource plan by descriptors: which storage buffers a record reaches, and the descriptor sets that
//! say so.
//!
//! A [`Table`] gives every buffer a window, one descriptor, and to each byte in it an address: the number of
//! the window counted from 1 in the upper 32 bits, the offset in the window in the lower ones. So what is
//! computed with device addresses is computed with these, as long as it stays in the window.
//!
//! Descriptor sets are immutable once they are bound. A window that grows, or a new one, takes another set;
//! what the old one says holds on, so that addresses stay what they are.

use ash::vk;

use super::{Context, RuntimeError};

/// The fewest storage buffers that do: both parts of the arena, what is captured to, and one more.
pub(super) const MIN_STORAGE_BUFFERS: u32 = 4;

/// The most that are used, of however many a device has.
pub(super) const MAX_STORAGE_BUFFERS: u32 = 16;

/// Offsets in a window are dwords', whatever the device asks for.
const MIN_ALIGNMENT: u64 = 4;

/// What limits a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableLimits {
    /// Windows.
    pub(super) count: u32,
    /// `maxStorageBufferRange`
    pub(super) max_range: u64,
    /// `minStorageBufferOffsetAlignment`
    pub(super) alignment: u64,
}

/// A range of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) buffer: vk::Buffer,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// The buffers that a record reaches.
#[derive(Debug, Default)]
pub(super) struct Table {
    windows: Vec<Window>,
    /// Holds the windows as they are.
    set: Option<vk::DescriptorSet>,
}

/// The address of a byte in a window.
pub(super) const fn address(window: u32, offset: u64) -> u64 {
    (window as u64 + 1) << 32 | offset
}

impl Table {
    /// Forgets all buffers, but for those that every record reaches.
    pub(super) fn restart(&mut self, always: &[Window]) {
        self.windows.clear();
        self.windows.extend_from_slice(always);
        self.set = None;
    }

    /// The address of `size` bytes at `offset`. The window ends with a whole dword.
    ///
    /// # Errors
    /// [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`].
    pub(super) fn address(
        &mut self,
        limits: &TableLimits,
        what: &str,
        buffer: vk::Buffer,
        offset: u64,
        size: u64,
    ) -> Result<u64, RuntimeError> {
        // Nothing is read or written there. But something is bound, so it is not 0.
        if size == 0 {
            return Ok(address(0, 0));
        }
        let too_large = || RuntimeError::Limit {
            what: format!("the size of {what} in bytes"),
            value: size,
            limit: "maxStorageBufferRange",
            max: limits.max_range,
        };
        let end = offset
            .checked_add(size)
            .and_then(|end| end.checked_next_multiple_of(MIN_ALIGNMENT))
            .ok_or_else(too_large)?;
        for (number, window) in (0u32..).zip(&mut self.windows) {
            let holds = window.start <= offset && end - window.start <= limits.max_range;
            if window.buffer == buffer && holds {
                if end > window.end {
                    window.end = end;
                    self.set = None;
                }
                return Ok(address(number, offset - window.start));
            }
        }
        // From the start of the buffer if the limit allows, so that what else is used of it has a place.
        let alignment = limits.alignment.max(MIN_ALIGNMENT);
        let start = if end <= limits.max_range { 0 } else { offset / alignment * alignment };
        if end - start > limits.max_range {
            return Err(too_large());
        }
        let number = u32::try_from(self.windows.len()).unwrap_or(u32::MAX);
        if number >= limits.count {
            return Err(RuntimeError::TooManyBuffers { what: what.to_owned(), max: limits.count });
        }
        self.windows.push(Window { buffer, start, end });
        self.set = None;
        Ok(address(number, offset - start))
    }

    /// The descriptor set that holds the table.
    ///
    /// # Errors
    /// [`RuntimeError::NoDescriptorSet`].
    ///
    /// # Safety
    /// The buffers are live and of the device of `ctx`, which the sets are of; they hold their windows.
    pub(super) unsafe fn set(
        &mut self,
        ctx: &Context,
        limits: &TableLimits,
        sets: &mut Sets,
    ) -> Result<vk::DescriptorSet, RuntimeError> {
        if let Some(set) = self.set {
            return Ok(set);
        }
        let set = sets.take()?;
        // Every element is valid, used or not: the first window stands where there is none.
        let unused = self.windows.first().into_iter().cycle();
        let infos: Vec<_> = (self.windows.iter())
            .chain(unused)
            .take(limits.count as usize)
            .map(|window| vk::DescriptorBufferInfo {
                buffer: window.buffer,
                offset: window.start,
                range: window.end - window.start,
            })
            .collect();
        let write = vk::WriteDescriptorSet::default()
            .dst_set(set)
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .buffer_info(&infos);
        // SAFETY: the caller's contract; the set is not in use, as none is taken twice.
        unsafe { ctx.device().update_descriptor_sets(&[write], &[]) };
        self.set = Some(set);
        Ok(set)
    }

    /// Takes the set from the table, as it was given back.
    pub(super) const fn forget_set(&mut self) {
        self.set = None;
    }
}

/// Descriptor sets for tables, made ahead.
#[derive(Debug)]
pub(super) struct Sets {
    layout: vk::DescriptorSetLayout,
    pool: vk::DescriptorPool,
    sets: Vec<vk::DescriptorSet>,
    pub(super) used: u32,
}

impl Sets {
    /// Makes `count` sets.
    ///
    /// # Errors
    /// A failed command.
    ///
    /// # Safety
    /// The device of `ctx` is live.
    pub(super) unsafe fn new(
        ctx: &Context,
        limits: &TableLimits,
        count: u32,
    ) -> Result<Self, RuntimeError> {
        let device = ctx.device();
        let count = count.max(1);
        let mut this = Self {
            // SAFETY: the caller's contract.
            layout: unsafe { create_layout(ctx, limits) }?,
            pool: vk::DescriptorPool::null(),
            sets: Vec::new(),
            used: 0,
        };
        let sizes = [vk::DescriptorPoolSize {
            ty: vk::DescriptorType::STORAGE_BUFFER,
            descriptor_count: limits.count.saturating_mul(count),
        }];
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(count).pool_sizes(&sizes);
        // SAFETY: as above; the pool holds that many sets.
        let made = unsafe {
            device
                .create_descriptor_pool(&info, None)
                .map_err(RuntimeError::vulkan("vkCreateDescriptorPool"))
                .and_then(|pool| {
                    this.pool = pool;
                    let layouts = vec![this.layout; count as usize];
                    let info = vk::DescriptorSetAllocateInfo::default()
                        .descriptor_pool(pool)
                        .set_layouts(&layouts);
                    device
                        .allocate_descriptor_sets(&info)
                        .map_err(RuntimeError::vulkan("vkAllocateDescriptorSets"))
                })
        };
        match made {
            Ok(sets) => Ok(Self { sets, ..this }),
            Err(error) => {
                // SAFETY: nothing uses them.
                unsafe { this.destroy(ctx) };
                Err(error)
            }
        }
    }

    /// How many there are.
    pub(super) fn capacity(&self) -> u32 {
        u32::try_from(self.sets.len()).unwrap_or(u32::MAX)
    }

    fn take(&mut self) -> Result<vk::DescriptorSet, RuntimeError> {
        let set = self.sets.get(self.used as usize);
        let set = *set.ok_or(RuntimeError::NoDescriptorSet { capacity: self.capacity() })?;
        self.used += 1;
        Ok(set)
    }

    /// # Safety
    /// The device no longer uses the sets; `ctx` is the one that they were made with.
    pub(super) unsafe fn destroy(self, ctx: &Context) {
        // SAFETY: the caller's contract; the sets go with their pool.
        unsafe {
            ctx.device().destroy_descriptor_pool(self.pool, None);
            ctx.device().destroy_descriptor_set_layout(self.layout, None);
        }
    }
}

/// Calls with the layout of a table's descriptor set, which is needed only while a pipeline layout is made.
///
/// # Errors
/// A failed command.
///
/// # Safety
/// The device of `ctx` is live.
pub(super) unsafe fn with_layout<R>(
    ctx: &Context,
    limits: &TableLimits,
    f: impl FnOnce(vk::DescriptorSetLayout) -> Result<R, RuntimeError>,
) -> Result<R, RuntimeError> {
    // SAFETY: the caller's contract.
    let layout = unsafe { create_layout(ctx, limits) }?;
    let result = f(layout);
    // SAFETY: what was made with it does not need it any more.
    unsafe { ctx.device().destroy_descriptor_set_layout(layout, None) };
    result
}

/// # Safety
/// The device of `ctx` is live.
unsafe fn create_layout(
    ctx: &Context,
    limits: &TableLimits,
) -> Result<vk::DescriptorSetLayout, RuntimeError> {
    let bindings = [vk::DescriptorSetLayoutBinding::default()
        .binding(0)
        .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
        .descriptor_count(limits.count)
        .stage_flags(vk::ShaderStageFlags::COMPUTE)];
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
    // SAFETY: the caller's contract.
    unsafe { ctx.device().create_descriptor_set_layout(&info, None) }
        .map_err(RuntimeError::vulkan("vkCreateDescriptorSetLayout"))
}

#[cfg(test)]
mod tests {
    use ash::vk::Handle;

    use super::*;

    const LIMITS: TableLimits = TableLimits { count: 3, max_range: 1024, alignment: 64 };

    fn buffer(number: u64) -> vk::Buffer {
        vk::Buffer::from_raw(number)
    }

    fn window(number: u64, start: u64, end: u64) -> Window {
        Window { buffer: buffer(number), start, end }
    }

    #[test]
    fn what_one_window_can_hold_shares_it() {
        let mut table = Table::default();
        let mut at =
            |b, offset, size| table.address(&LIMITS, "it", buffer(b), offset, size).unwrap();
        assert_eq!(at(1, 100, 10), address(0, 100));
        assert_eq!(at(2, 4, 4), address(1, 4));
        // The window ends with a dword, and grows.
        assert_eq!(at(1, 300, 9), address(0, 300));
        assert_eq!(at(1, 0, 4), address(0, 0));
        assert_eq!(table.windows, [window(1, 0, 312), window(2, 0, 8)]);
    }

    #[test]
    fn what_lies_far_off_has_an_aligned_window() {
        let mut table = Table::default();
        let mut at = |offset, size| table.address(&LIMITS, "it", buffer(1), offset, size).unwrap();
        assert_eq!(at(0x1_0000_0000 + 70, 800), address(0, 6));
        assert_eq!(at(0x1_0000_0000 + 900, 100), address(0, 900 - 64));
        assert_eq!(at(16, 16), address(1, 16));
        let far = 0x1_0000_0040;
        assert_eq!(table.windows, [window(1, far, far + 936), window(1, 0, 32)]);
    }

    #[test]
    fn limits_are_named() {
        let mut table = Table::default();
        let mut at = |b, offset, size| {
            table
                .address(&LIMITS, "vertex buffer 7", buffer(b), offset, size)
                .map_err(|error| error.to_string())
        };
        let too_large = |size: u64| {
            Err(format!(
                "the size of vertex buffer 7 in bytes is {size}: maxStorageBufferRange is 1024"
            ))
        };
        assert_eq!(at(1, 0, 1025), too_large(1025));
        assert_eq!(at(1, u64::MAX - 2, 1), too_large(1));
        assert_eq!(at(1, 8, u64::MAX), too_large(u64::MAX));
        // 1024 bytes, and 8 more to the alignment before them.
        assert_eq!(at(1, 2056, 1024), too_large(1024));
        for b in 1..=3 {
            assert_eq!(at(b, 0, 1024), Ok(address(b as u32 - 1, 0)));
        }
        assert_eq!(
            at(4, 0, 4),
            Err("vertex buffer 7 is one buffer too many: a capture by descriptors reaches 3 \
                 (maxPerStageDescriptorStorageBuffers, less what the application keeps)"
                .to_owned())
        );
        // Something bound that holds nothing is told from nothing.
        assert_ne!(at(4, 0, 0), Ok(0));
    }
}
