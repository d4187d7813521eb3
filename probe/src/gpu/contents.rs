//! Creates the buffers that a shader reads, and descriptor sets for them.

use ash::vk;
use vkxfb::runtime::Buffer;
use vkxfb::runtime::RuntimeError;
use vkxfb_rewriter::vulkan::RUN_STAGE_FLAGS;

use super::buffers::copy_into;
use super::{Gpu, GpuError};
use crate::contents::{BufferContents, BufferKind, Contents};

/// Buffers with a shader's [`Contents`], and descriptor sets for them, beginning with set 0. Graphics and compute
/// shaders can use the sets. [`Gpu::destroy_contents`] destroys all of these objects.
#[derive(Debug, Default)]
#[must_use = "leaks what is not destroyed"]
pub struct BoundContents {
    layouts: Vec<vk::DescriptorSetLayout>,
    pool: vk::DescriptorPool,
    sets: Vec<vk::DescriptorSet>,
    buffers: Vec<Buffer>,
}

impl BoundContents {
    /// The set layouts, for
    /// [`PipelineDesc::set_layouts`](vkxfb::runtime::PipelineDesc::set_layouts).
    pub fn set_layouts(&self) -> &[vk::DescriptorSetLayout] {
        &self.layouts
    }

    /// The sets, beginning with set 0, for
    /// [`Recorder::bind_descriptor_sets`](vkxfb::runtime::Recorder::bind_descriptor_sets).
    pub fn sets(&self) -> &[vk::DescriptorSet] {
        &self.sets
    }
}

impl Gpu {
    /// Creates buffers with the contents, and descriptor sets for these buffers.
    ///
    /// # Errors
    /// [`GpuError::Runtime`] if there are too many sets for the device, or if a command or an
    /// allocation fails.
    pub fn bind_contents(&mut self, contents: &Contents) -> Result<BoundContents, GpuError> {
        let mut bound = BoundContents::default();
        if contents.buffers.is_empty() {
            return Ok(bound);
        }
        let what = "descriptor sets of a pipeline".to_owned();
        let (sets, max) = (contents.set_count(), self.capabilities().limits.max_descriptor_sets);
        super::buffers::check_limit(what, sets as u64, "maxBoundDescriptorSets", max.into())?;
        match self.fill_bound(contents, &mut bound) {
            Ok(()) => Ok(bound),
            Err(error) => {
                self.destroy_contents(bound);
                Err(error)
            }
        }
    }

    fn fill_bound(
        &mut self,
        contents: &Contents,
        bound: &mut BoundContents,
    ) -> Result<(), GpuError> {
        for BufferContents { kind, bytes, .. } in &contents.buffers {
            let usage = match kind {
                BufferKind::Uniform => vk::BufferUsageFlags::UNIFORM_BUFFER,
                BufferKind::Storage => vk::BufferUsageFlags::STORAGE_BUFFER,
            };
            let size = bytes.len() as u64;
            let mut buffer = self.create_buffer(size, usage, self.upload_location())?;
            // SAFETY: the buffer was not submitted yet, so the device does not use it.
            copy_into(unsafe { buffer.mapped_mut() }, 0, bytes);
            let flushed = self.flush(&buffer);
            bound.buffers.push(buffer);
            flushed?;
        }
        let device = self.context.device();
        for set in 0..contents.set_count() {
            let of_set = contents.buffers.iter().filter(|buffer| buffer.set as usize == set);
            let bindings: Vec<_> = of_set.map(layout_binding).collect();
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            // SAFETY: the device is live, and no binding occurs twice.
            let layout = unsafe { device.create_descriptor_set_layout(&info, None) };
            bound
                .layouts
                .push(layout.map_err(RuntimeError::vulkan("vkCreateDescriptorSetLayout"))?);
        }
        let sizes: Vec<_> = contents
            .buffers
            .iter()
            .map(|buffer| vk::DescriptorPoolSize {
                ty: descriptor_type(buffer.kind),
                descriptor_count: buffer.count,
            })
            .collect();
        let sets = contents.set_count() as u32;
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(sets).pool_sizes(&sizes);
        // SAFETY: the device is live.
        bound.pool = unsafe { device.create_descriptor_pool(&info, None) }
            .map_err(RuntimeError::vulkan("vkCreateDescriptorPool"))?;
        let info = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(bound.pool)
            .set_layouts(&bound.layouts);
        // SAFETY: the pool was created with room for exactly these sets.
        bound.sets = unsafe { device.allocate_descriptor_sets(&info) }
            .map_err(RuntimeError::vulkan("vkAllocateDescriptorSets"))?;
        for (contents, buffer) in contents.buffers.iter().zip(&bound.buffers) {
            let info =
                vk::DescriptorBufferInfo { buffer: buffer.raw(), offset: 0, range: vk::WHOLE_SIZE };
            let infos = vec![info; contents.count as usize];
            let write = vk::WriteDescriptorSet::default()
                .dst_set(bound.sets[contents.set as usize])
                .dst_binding(contents.binding)
                .descriptor_type(descriptor_type(contents.kind))
                .buffer_info(&infos);
            // SAFETY: nothing uses the set yet, and the binding was created with this type and
            // number of descriptors.
            unsafe { device.update_descriptor_sets(&[write], &[]) };
        }
        Ok(())
    }

    /// Destroys the result of [`bind_contents`](Self::bind_contents), which must have been called
    /// for this device.
    pub fn destroy_contents(&mut self, bound: BoundContents) {
        let BoundContents { layouts, pool, buffers, .. } = bound;
        // After a timeout, a submission may still use the objects, and they are leaked.
        if self.state != super::State::Hung {
            let device = self.context.device();
            // SAFETY: no submission is in flight. Destroying null handles is allowed.
            unsafe {
                device.destroy_descriptor_pool(pool, None);
                for layout in layouts {
                    device.destroy_descriptor_set_layout(layout, None);
                }
            }
        }
        for buffer in buffers {
            self.destroy_buffer(buffer);
        }
    }
}

const fn descriptor_type(kind: BufferKind) -> vk::DescriptorType {
    match kind {
        BufferKind::Uniform => vk::DescriptorType::UNIFORM_BUFFER,
        BufferKind::Storage => vk::DescriptorType::STORAGE_BUFFER,
    }
}

fn layout_binding(buffer: &BufferContents) -> vk::DescriptorSetLayoutBinding<'static> {
    vk::DescriptorSetLayoutBinding::default()
        .binding(buffer.binding)
        .descriptor_type(descriptor_type(buffer.kind))
        .descriptor_count(buffer.count)
        .stage_flags(RUN_STAGE_FLAGS | vk::ShaderStageFlags::COMPUTE)
}
