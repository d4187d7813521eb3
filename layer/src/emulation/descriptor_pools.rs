//! Allocates descriptor sets for a command buffer. The layer writes pushed descriptors into them,
//! so that captures can read them.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use ash::vk;
use vkxfb::runtime::RuntimeError;

use super::layouts::SetLayout;

/// The number of sets in the first pool for a layout. Each further pool has twice as many as the
/// one before, but at most `MOST`.
const FEWEST: u32 = 4;
const MOST: u32 = 256;

/// A descriptor pool. All sets in it have the same layout.
struct Pool {
    raw: vk::DescriptorPool,
    /// The layout of the sets. It is compared by its address, which is not used again while this
    /// reference exists.
    layout: Weak<SetLayout>,
    capacity: u32,
    allocated: u32,
}

/// The descriptor pools of a command buffer. If all pools for a layout are full, another one is created. All pools are
/// reset together with the command buffer.
#[derive(Default)]
pub(super) struct DescriptorPools(Vec<Pool>);

impl DescriptorPools {
    /// Allocates a set of a layout. Its descriptors are undefined until the caller writes them.
    ///
    /// # Errors
    /// A Vulkan command fails.
    ///
    /// # Safety
    /// The device is live, and the layout belongs to it.
    pub(super) unsafe fn allocate(
        &mut self,
        device: &ash::Device,
        layout: &Arc<SetLayout>,
    ) -> Result<vk::DescriptorSet, RuntimeError> {
        let is_of_it = |pool: &&mut Pool| std::ptr::eq(pool.layout.as_ptr(), Arc::as_ptr(layout));
        let last = self.0.iter_mut().rfind(is_of_it);
        let capacity = last.as_ref().map_or(FEWEST, |last| (2 * last.capacity).min(MOST));
        let found = self.0.iter_mut().filter(is_of_it).find(|pool| pool.allocated < pool.capacity);
        let pool = match found {
            Some(pool) => pool,
            None => {
                let pool = unsafe { Pool::new(device, layout, capacity) }?;
                self.0.push(pool);
                let last = self.0.len() - 1;
                &mut self.0[last]
            }
        };
        let layouts = [layout.raw];
        let info = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(pool.raw)
            .set_layouts(&layouts);
        // SAFETY: the caller's contract; the pool has room for one more set.
        let sets = unsafe { device.allocate_descriptor_sets(&info) };
        let sets = sets.map_err(|result| failed("vkAllocateDescriptorSets", result))?;
        pool.allocated += 1;
        Ok(sets.first().copied().unwrap_or_default())
    }

    /// Frees all sets, and destroys the pools of layouts that no longer exist.
    ///
    /// # Safety
    /// The device is live, and no submission uses the sets any more.
    pub(super) unsafe fn reset(&mut self, device: &ash::Device) {
        self.0.retain_mut(|pool| {
            let is_kept = pool.layout.strong_count() > 0;
            unsafe {
                match is_kept {
                    // vkResetDescriptorPool cannot fail.
                    true if pool.allocated > 0 => {
                        let flags = vk::DescriptorPoolResetFlags::empty();
                        _ = device.reset_descriptor_pool(pool.raw, flags);
                    }
                    true => {}
                    false => device.destroy_descriptor_pool(pool.raw, None),
                }
            }
            pool.allocated = 0;
            is_kept
        });
    }

    /// # Safety
    /// The contract of [`reset`](Self::reset).
    pub(super) unsafe fn release(&mut self, device: &ash::Device) {
        for pool in self.0.drain(..) {
            unsafe { device.destroy_descriptor_pool(pool.raw, None) };
        }
    }
}

impl Pool {
    /// Creates a pool for `capacity` sets of a layout.
    ///
    /// # Safety
    /// The contract of [`DescriptorPools::allocate`].
    unsafe fn new(
        device: &ash::Device,
        layout: &Arc<SetLayout>,
        capacity: u32,
    ) -> Result<Self, RuntimeError> {
        let mut counts = BTreeMap::<vk::DescriptorType, u32>::new();
        for binding in layout.bindings.iter().filter(|binding| binding.count > 0) {
            *counts.entry(binding.ty).or_default() += binding.count * capacity;
        }
        let size = |(ty, descriptor_count)| vk::DescriptorPoolSize { ty, descriptor_count };
        let sizes: Vec<_> = counts.into_iter().map(size).collect();
        let of_layout = vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL;
        let flags = if layout.flags.contains(of_layout) {
            vk::DescriptorPoolCreateFlags::UPDATE_AFTER_BIND
        } else {
            vk::DescriptorPoolCreateFlags::empty()
        };
        let info = vk::DescriptorPoolCreateInfo::default()
            .flags(flags)
            .max_sets(capacity)
            .pool_sizes(&sizes);
        let raw = unsafe { device.create_descriptor_pool(&info, None) };
        let raw = raw.map_err(|result| failed("vkCreateDescriptorPool", result))?;
        Ok(Self { raw, layout: Arc::downgrade(layout), capacity, allocated: 0 })
    }
}

const fn failed(call: &'static str, result: vk::Result) -> RuntimeError {
    RuntimeError::Vulkan { call, result }
}
