//! What a frame needs, as often as there are frames in flight; and what all of them share.

use anyhow::{Context as _, Result};
use ash::vk;
use vkxfb::Backend;

use super::common::gpu::Gpu;
use super::memory::{Buffer, Memory};
use super::scene::{self, ARMS, BONES, Skinned};
use super::xfb::Xfb;

/// Frames in flight.
pub const FRAMES: usize = 3;

/// Bytes of a skeleton.
const SKELETON: u64 = size_of::<[glam::Mat4; BONES]>() as u64;

/// What all frames share.
pub struct Scene {
    pub vertices: Buffer,
    pub indices: Buffer,
    pub index_count: u32,
    /// Bytes from one skeleton to the next, in the uniform buffers.
    pub skeleton_stride: u32,
    pub set_layout: vk::DescriptorSetLayout,
    descriptors: vk::DescriptorPool,
}

/// What a frame has of its own until its fence has signalled.
pub struct Frame {
    pub cmd: vk::CommandBuffer,
    pub pool: vk::CommandPool,
    pub fence: vk::Fence,
    /// The skeletons.
    pub uniforms: Buffer,
    pub set: vk::DescriptorSet,
    /// What is captured, and drawn.
    pub captured: Buffer,
}

/// The layout of descriptor set 0: a skeleton, at an offset that each draw says.
///
/// # Safety
/// The device is live.
pub unsafe fn set_layout(gpu: &Gpu) -> Result<vk::DescriptorSetLayout> {
    let bindings = [vk::DescriptorSetLayoutBinding::default()
        .descriptor_type(vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC)
        .descriptor_count(1)
        // Captures by compute read what the vertex stage reads.
        .stage_flags(vk::ShaderStageFlags::VERTEX | vk::ShaderStageFlags::COMPUTE)];
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
    Ok(unsafe { gpu.device.create_descriptor_set_layout(&info, None) }?)
}

impl Scene {
    /// # Safety
    /// The device is live. The set layout is the scene's from now on.
    pub unsafe fn new(
        gpu: &Gpu,
        memory: &mut Memory<'_>,
        xfb: &Xfb,
        set_layout: vk::DescriptorSetLayout,
    ) -> Result<Self> {
        let (vertices, indices) = scene::mesh();
        let alignment = gpu.properties.limits.min_uniform_buffer_offset_alignment;
        let sizes = [vk::DescriptorPoolSize {
            ty: vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC,
            descriptor_count: FRAMES as u32,
        }];
        let info =
            vk::DescriptorPoolCreateInfo::default().max_sets(FRAMES as u32).pool_sizes(&sizes);
        unsafe {
            let usage = vk::BufferUsageFlags::VERTEX_BUFFER
                | xfb.context.buffer_usages(Backend::Compute).vertex;
            let vertices = memory.filled_buffer(usage, bytemuck::cast_slice(&vertices))?;
            let usage = vk::BufferUsageFlags::INDEX_BUFFER
                | xfb.context.buffer_usages(Backend::Compute).index;
            let index_count = indices.len() as u32;
            let indices = memory.filled_buffer(usage, bytemuck::cast_slice(&indices))?;
            Ok(Self {
                vertices,
                indices,
                index_count,
                skeleton_stride: SKELETON.next_multiple_of(alignment) as u32,
                set_layout,
                descriptors: gpu.device.create_descriptor_pool(&info, None)?,
            })
        }
    }

    /// Vertices that a frame captures.
    pub fn vertex_count(&self) -> u32 {
        self.index_count * ARMS as u32
    }

    /// # Safety
    /// The device is idle.
    pub unsafe fn destroy(self, gpu: &Gpu, memory: &mut Memory<'_>) {
        unsafe {
            gpu.device.destroy_descriptor_pool(self.descriptors, None);
            gpu.device.destroy_descriptor_set_layout(self.set_layout, None);
            memory.destroy_buffer(self.vertices);
            memory.destroy_buffer(self.indices);
        }
    }
}

impl Frame {
    /// # Safety
    /// The device is live.
    pub unsafe fn new(
        gpu: &Gpu,
        memory: &mut Memory<'_>,
        xfb: &Xfb,
        scene: &Scene,
    ) -> Result<Self> {
        unsafe {
            let (pool, cmd) = gpu.commands()?;
            let info = vk::FenceCreateInfo::default().flags(vk::FenceCreateFlags::SIGNALED);
            let fence = gpu.device.create_fence(&info, None)?;
            let size = u64::from(scene.skeleton_stride) * ARMS as u64;
            let uniforms = memory.buffer(size, vk::BufferUsageFlags::UNIFORM_BUFFER, true)?;
            let size = u64::from(scene.vertex_count()) * size_of::<Skinned>() as u64;
            let usage = vk::BufferUsageFlags::VERTEX_BUFFER
                | vk::BufferUsageFlags::TRANSFER_SRC
                | xfb.context.buffer_usages(Backend::Compute).capture;
            let captured = memory.buffer(size, usage, false)?;

            let layouts = [scene.set_layout];
            let info = vk::DescriptorSetAllocateInfo::default()
                .descriptor_pool(scene.descriptors)
                .set_layouts(&layouts);
            let sets = gpu.device.allocate_descriptor_sets(&info)?;
            let set = *sets.first().context("no descriptor set")?;
            let buffers =
                [vk::DescriptorBufferInfo::default().buffer(uniforms.raw).range(SKELETON)];
            let write = vk::WriteDescriptorSet::default()
                .dst_set(set)
                .descriptor_type(vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC)
                .buffer_info(&buffers);
            gpu.device.update_descriptor_sets(&[write], &[]);
            Ok(Self { cmd, pool, fence, uniforms, set, captured })
        }
    }

    /// Poses all arms.
    ///
    /// # Safety
    /// The device is done with the frame.
    pub unsafe fn pose(&mut self, number: u64, stride: u32) {
        let uniforms = unsafe { self.uniforms.mapped() };
        for (arm, target) in uniforms.chunks_exact_mut(stride as usize).enumerate() {
            let skeleton = scene::skeleton(arm, number);
            target[..SKELETON as usize].copy_from_slice(bytemuck::bytes_of(&skeleton));
        }
    }

    /// # Safety
    /// The device is idle.
    pub unsafe fn destroy(self, gpu: &Gpu, memory: &mut Memory<'_>) {
        unsafe {
            gpu.device.destroy_fence(self.fence, None);
            gpu.device.destroy_command_pool(self.pool, None);
            memory.destroy_buffer(self.uniforms);
            memory.destroy_buffer(self.captured);
        }
    }
}
