//! A descriptor set of the application, in addition to those that captures bind.

use ash::vk;

use super::test_device::{Owned, TestDevice};

/// A set with one descriptor: binding 0, visible to vertex and compute shaders.
pub struct DescriptorSet {
    pub layout: vk::DescriptorSetLayout,
    pool: vk::DescriptorPool,
    pub raw: vk::DescriptorSet,
    ty: vk::DescriptorType,
}

impl DescriptorSet {
    pub fn new(gpu: &TestDevice, ty: vk::DescriptorType) -> Owned<Self> {
        let device = gpu.context().device();
        let bindings = [vk::DescriptorSetLayoutBinding::default()
            .descriptor_type(ty)
            .descriptor_count(1)
            .stage_flags(vk::ShaderStageFlags::VERTEX | vk::ShaderStageFlags::COMPUTE)];
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: the device is live.
        let layout = unsafe { device.create_descriptor_set_layout(&info, None) }.unwrap();
        let sizes = [vk::DescriptorPoolSize { ty, descriptor_count: 1 }];
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
        // SAFETY: the device is live.
        let pool = unsafe { device.create_descriptor_pool(&info, None) }.unwrap();
        let info = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(pool)
            .set_layouts(std::slice::from_ref(&layout));
        // SAFETY: the pool has room for this one set.
        let raw = unsafe { device.allocate_descriptor_sets(&info) }.unwrap()[0];
        gpu.own(Self { layout, pool, raw, ty }, |gpu, set| {
            let device = gpu.context().device();
            // SAFETY: every submission that used the set was waited for.
            unsafe {
                device.destroy_descriptor_pool(set.pool, None);
                device.destroy_descriptor_set_layout(set.layout, None);
            }
        })
    }

    /// Makes the descriptor refer to a whole buffer.
    ///
    /// # Safety
    /// The buffer is live and has the usage of the descriptor's type, and no submission uses the
    /// set.
    pub unsafe fn write(&self, device: &ash::Device, buffer: vk::Buffer) {
        unsafe { self.write_range(device, buffer, 0, vk::WHOLE_SIZE) };
    }

    /// Makes the descriptor refer to a range of a buffer.
    ///
    /// # Safety
    /// As [`write`](Self::write), and the range lies in the buffer.
    pub unsafe fn write_range(
        &self,
        device: &ash::Device,
        buffer: vk::Buffer,
        offset: u64,
        range: u64,
    ) {
        let infos = [vk::DescriptorBufferInfo { buffer, offset, range }];
        let write = vk::WriteDescriptorSet::default()
            .dst_set(self.raw)
            .descriptor_type(self.ty)
            .buffer_info(&infos);
        unsafe { device.update_descriptor_sets(&[write], &[]) };
    }
}
