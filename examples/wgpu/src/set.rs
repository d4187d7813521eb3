//! A descriptor set with a uniform buffer, in plain Vulkan: wgpu does not show its sets, nor their layouts.

use anyhow::{Context as _, Result};
use vkxfb::ash::{self, vk};

pub struct UniformSet {
    pub raw: vk::DescriptorSet,
    pub layout: vk::DescriptorSetLayout,
    pool: vk::DescriptorPool,
}

impl UniformSet {
    /// # Safety
    /// The buffer is of the device, and lives as long as the set is used.
    pub unsafe fn new(device: &ash::Device, uniform: vk::Buffer) -> Result<Self> {
        const UNIFORM: vk::DescriptorType = vk::DescriptorType::UNIFORM_BUFFER;
        unsafe {
            let bindings = [vk::DescriptorSetLayoutBinding::default()
                .binding(0)
                .descriptor_type(UNIFORM)
                .descriptor_count(1)
                // Captures by compute read what the vertex stage would.
                .stage_flags(vk::ShaderStageFlags::COMPUTE)];
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let layout = device.create_descriptor_set_layout(&info, None)?;

            let sizes = [vk::DescriptorPoolSize::default().ty(UNIFORM).descriptor_count(1)];
            let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
            let pool = device.create_descriptor_pool(&info, None)?;

            let layouts = [layout];
            let info = vk::DescriptorSetAllocateInfo::default()
                .descriptor_pool(pool)
                .set_layouts(&layouts);
            let sets = device.allocate_descriptor_sets(&info)?;
            let raw = *sets.first().context("no descriptor set")?;
            let buffers =
                [vk::DescriptorBufferInfo::default().buffer(uniform).range(vk::WHOLE_SIZE)];
            let write = vk::WriteDescriptorSet::default()
                .dst_set(raw)
                .dst_binding(0)
                .descriptor_type(UNIFORM)
                .buffer_info(&buffers);
            device.update_descriptor_sets(&[write], &[]);
            Ok(Self { raw, layout, pool })
        }
    }

    /// # Safety
    /// The device, which made it, is idle.
    pub unsafe fn destroy(self, device: &ash::Device) {
        unsafe {
            device.destroy_descriptor_pool(self.pool, None);
            device.destroy_descriptor_set_layout(self.layout, None);
        }
    }
}
