//! Methods of `Captures` for commands that bind objects and set state for later draws.

use std::ffi::c_void;
use std::sync::{Arc, Once};

use vkxfb::runtime::BufferSet;
use vkxfb::runtime::{CaptureBuffer, IndexType, Limits, vulkan};

use super::Captures;
use crate::emulation::descriptor_buffers;
use crate::emulation::descriptor_heaps;
use crate::emulation::layouts::SetLayout;
use crate::emulation::push_descriptors::{of_template, of_write};
use crate::emulation::shader_objects::BoundShaders;
use crate::emulation::state::BoundIndexBuffer;
use crate::registry::vk;

/// The size of a dword in bytes. The shaders of captures read buffers in whole dwords.
const DWORD: u64 = size_of::<u32>() as u64;

/// Returns how many bytes of a range a storage buffer descriptor can cover. The descriptor begins at `offset`, aligned
/// down as the device requires, and its size is a multiple of 4 bytes.
pub(crate) fn reached_by_descriptor(limits: &Limits, offset: u64, size: u64) -> u64 {
    let before = offset % limits.min_storage_buffer_offset_alignment.max(DWORD);
    size.min((limits.max_storage_buffer_range / DWORD * DWORD).saturating_sub(before))
}

impl Captures {
    pub(crate) fn bind_pipeline(&mut self, point: vk::PipelineBindPoint, pipeline: vk::Pipeline) {
        match point {
            vk::PipelineBindPoint::GRAPHICS => {
                self.state.bound_pipeline = pipeline;
                self.state.shaders = BoundShaders::default();
                self.forget_pipeline();
            }
            vk::PipelineBindPoint::COMPUTE => {
                let changed = self.state.restorable.change();
                (changed.compute_pipeline, changed.compute_shader) =
                    (pipeline, vk::ShaderEXT::null());
            }
            _ => {}
        }
    }

    /// `vkCmdBindShadersEXT`. If `shaders` is empty, no shaders are bound to the stages any more.
    pub(crate) fn bind_shaders(
        &mut self,
        stages: &[vk::ShaderStageFlags],
        shaders: &[vk::ShaderEXT],
    ) {
        let shaders = shaders.iter().copied().chain(std::iter::repeat(vk::ShaderEXT::null()));
        let mut of_graphics = false;
        for (stage, shader) in stages.iter().zip(shaders) {
            if *stage == vk::ShaderStageFlags::COMPUTE {
                let changed = self.state.restorable.change();
                (changed.compute_pipeline, changed.compute_shader) = (vk::Pipeline::null(), shader);
            } else {
                self.state.shaders.bind(*stage, shader);
                of_graphics = true;
            }
        }
        if of_graphics {
            self.state.bound_pipeline = vk::Pipeline::null();
            self.forget_pipeline();
        }
    }

    /// Forgets the pipeline of captured draws, because the program binds another graphics pipeline or other shader
    /// objects. The next draw that is captured looks up the new one with [`find_pipeline`](Self::find_pipeline).
    fn forget_pipeline(&mut self) {
        self.end_counting_with_pipeline();
        self.state.changed.variant = true;
        (self.state.pipeline, self.state.is_pipeline_known) = (None, false);
        self.state.refusal = None;
    }

    #[inline]
    pub(crate) fn bind_sets(
        &mut self,
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        first: u32,
        sets: &[vk::DescriptorSet],
        offsets: &[u32],
    ) {
        match sets {
            // All offsets of a single set are its own.
            [set] => self.state.bind_set(point, layout, first, *set, offsets),
            _ => self.bind_several_sets(point, layout, first, sets, offsets),
        }
    }

    /// Binds sets, each with its own part of the dynamic offsets. The layout, which says how many each has, is found with a
    /// lock.
    fn bind_several_sets(
        &mut self,
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        first: u32,
        sets: &[vk::DescriptorSet],
        mut offsets: &[u32],
    ) {
        let known = if offsets.is_empty() {
            None
        } else {
            self.emulation().objects().pipeline_layouts.get(layout)
        };
        for (number, set) in (first..).zip(sets) {
            let of_set = known.as_ref().and_then(|layout| layout.sets.get(number as usize));
            let count = of_set.map_or(0, |set| set.dynamic_count as usize);
            let (own, others) = offsets.split_at(count.min(offsets.len()));
            offsets = others;
            self.state.bind_set(point, layout, number, *set, own);
        }
    }

    /// `vkCmdBindDescriptorBuffersEXT`
    ///
    /// # Safety
    /// The contract of the command.
    pub(crate) unsafe fn bind_descriptor_buffers(
        &mut self,
        infos: &[vk::DescriptorBufferBindingInfoEXT<'_>],
    ) {
        let buffers = unsafe { descriptor_buffers::bound_buffers(infos) };
        self.state.invalidate_heaps();
        self.state.restorable.change().descriptor_buffers.bind(buffers);
        self.state.changed.sets = true;
    }

    /// `vkCmdSetDescriptorBufferOffsetsEXT`
    pub(crate) fn set_descriptor_buffer_offsets(
        &mut self,
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        first: u32,
        buffers: &[u32],
        offsets: &[vk::DeviceSize],
    ) {
        let command = self.emulation().functions.set_descriptor_buffer_offsets_ext;
        let Some(command) = command else { return };
        for (number, (buffer, offset)) in (first..).zip(buffers.iter().zip(offsets)) {
            let set = BufferSet::Offset { command, buffer: *buffer, offset: *offset };
            self.bind_buffer_set(point, layout, number, set);
        }
    }

    /// `vkCmdBindDescriptorBufferEmbeddedSamplersEXT`
    pub(crate) fn bind_embedded_samplers(
        &mut self,
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        number: u32,
    ) {
        let command = self.emulation().functions.bind_descriptor_buffer_embedded_samplers_ext;
        if let Some(command) = command {
            self.bind_buffer_set(point, layout, number, BufferSet::EmbeddedSamplers { command });
        }
    }

    fn bind_buffer_set(
        &mut self,
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        number: u32,
        set: BufferSet,
    ) {
        self.state.invalidate_heaps();
        self.state.restorable.change().descriptor_buffers.set(point, layout, number, set);
        self.state.changed.sets = true;
    }

    /// `vkCmdBindResourceHeapEXT`
    pub(crate) fn bind_resource_heap(&mut self, info: &vk::BindHeapInfoEXT) {
        self.state.change_heaps().bound.resources = Some(descriptor_heaps::range_of(info));
        self.state.changed.sets = true;
    }

    /// `vkCmdBindSamplerHeapEXT`
    pub(crate) fn bind_sampler_heap(&mut self, info: &vk::BindHeapInfoEXT) {
        self.state.change_heaps().bound.samplers = Some(descriptor_heaps::range_of(info));
        self.state.changed.sets = true;
    }

    /// `vkCmdPushDataEXT`
    ///
    /// # Safety
    /// The contract of the command.
    pub(crate) unsafe fn push_data(&mut self, info: &vk::PushDataInfoEXT) {
        unsafe { self.state.change_heaps().push(info) };
        self.state.changed.constants = true;
    }

    /// Returns how many bytes captures can read from a range of a vertex or index buffer. Without device
    /// addresses, that is at most what a storage buffer descriptor can cover. Reads beyond that are
    /// out of bounds.
    pub(crate) fn reached_size(&self, buffer: vk::Buffer, offset: u64, size: u64) -> u64 {
        let size = self.size(buffer, offset, size);
        let context = self.emulation().context();
        if context.has_addresses() {
            return size;
        }
        let reached = reached_by_descriptor(&context.capabilities().limits, offset, size);
        if reached < size {
            static TOLD: Once = Once::new();
            TOLD.call_once(|| {
                tracing::warn!(
                    size,
                    reached,
                    "a range of vertices or indices is larger than maxStorageBufferRange: captures \
                     do not read the rest"
                );
            });
        }
        reached
    }

    #[inline]
    pub(crate) fn bind_vertex_buffers(
        &mut self,
        first: u32,
        buffers: &[vk::Buffer],
        offsets: &[u64],
        sizes: &[u64],
        strides: &[u64],
    ) {
        let range = first as usize..first as usize + buffers.len();
        let bound = self.state.vertex_buffers.get_mut(range).unwrap_or_default();
        let buffers = buffers.iter().zip(offsets);
        for (number, (bound, (buffer, offset))) in bound.iter_mut().zip(buffers).enumerate() {
            (bound.buffer, bound.offset) = (*buffer, *offset);
            bound.size = sizes.get(number).copied().unwrap_or(vk::WHOLE_SIZE);
            if let Some(stride) = strides.get(number) {
                bound.stride = Some(*stride as u32);
            }
        }
        self.state.changed.vertex_buffers = true;
    }

    pub(crate) fn bind_index_buffer(
        &mut self,
        buffer: vk::Buffer,
        offset: u64,
        size: u64,
        ty: vk::IndexType,
    ) {
        let bound = IndexType::try_from(ty)
            .map(|index_type| BoundIndexBuffer {
                buffer,
                offset,
                size,
                index_type,
                restart_index: None,
            })
            .inspect_err(|error| tracing::error!("vkCmdBindIndexBuffer: {error}"));
        self.state.index_buffer = bound.ok();
        self.state.changed.index_buffer = true;
    }

    /// `vkCmdSetTessellationDomainOriginEXT`
    pub(crate) fn set_domain_origin(&mut self, origin: vk::TessellationDomainOrigin) {
        self.state.domain_origin = origin.into();
        self.state.changed.variant = true;
    }

    /// `vkCmdSetPrimitiveRestartIndexEXT`. The restart index applies until an index buffer is
    /// bound.
    pub(crate) fn set_primitive_restart_index(&mut self, index: u32) {
        if let Some(bound) = &mut self.state.index_buffer {
            bound.restart_index = Some(index);
            self.state.changed.index_buffer = true;
        }
    }

    pub(crate) fn bind_capture_buffers(
        &mut self,
        first: u32,
        buffers: &[vk::Buffer],
        offsets: &[u64],
        sizes: &[u64],
    ) {
        for (number, (buffer, offset)) in buffers.iter().zip(offsets).enumerate() {
            let size = sizes.get(number).copied().unwrap_or(vk::WHOLE_SIZE);
            let size = self.size(*buffer, *offset, size);
            // Captures never write beyond this limit: counters are byte offsets of 32 bits, and a storage buffer
            // descriptor may cover less.
            let size = size.min(self.emulation().context().max_capture_buffer());
            if let Some(bound) = self.state.capture_buffers.get_mut(first as usize + number) {
                *bound = Some(CaptureBuffer { buffer: *buffer, offset: *offset, size });
            }
        }
    }

    pub(crate) fn set_vertex_input(
        &mut self,
        bindings: &[vk::VertexInputBindingDescription2EXT<'_>],
        attributes: &[vk::VertexInputAttributeDescription2EXT<'_>],
    ) {
        let input = vulkan::dynamic_vertex_input(bindings, attributes);
        for binding in input.iter().flat_map(|input| &input.bindings) {
            if let Some(bound) = self.state.vertex_buffers.get_mut(binding.binding as usize) {
                bound.stride = Some(binding.stride);
            }
        }
        // If captures cannot read vertices with the vertex input, that is an error only when a draw
        // is captured.
        self.state.vertex_input = input.map_err(|error| error.to_string());
        self.state.changed.variant = true;
    }

    /// `vkCmdPushDescriptorSet`
    ///
    /// # Safety
    /// The contract of the command.
    pub(crate) unsafe fn push_descriptors(
        &mut self,
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        number: u32,
        writes: &[vk::WriteDescriptorSet<'_>],
    ) {
        let Some(set_layout) = self.set_layout(layout, number) else { return };
        let of_write = |write| unsafe { of_write(write, &set_layout.bindings) };
        let pushed = writes.iter().flat_map(of_write);
        self.state.push_descriptors(point, layout, number, &set_layout, pushed);
    }

    /// `vkCmdPushDescriptorSetWithTemplate`
    ///
    /// # Safety
    /// The contract of the command.
    pub(crate) unsafe fn push_with_template(
        &mut self,
        template: vk::DescriptorUpdateTemplate,
        layout: vk::PipelineLayout,
        number: u32,
        data: *const c_void,
    ) {
        let Some(set_layout) = self.set_layout(layout, number) else { return };
        let Some(template) = self.emulation().templates().get(template) else {
            return tracing::error!(
                "descriptors are pushed with an unknown descriptor update template"
            );
        };
        let pushed = unsafe { of_template(&template, data, &set_layout.bindings) };
        let point = template.bind_point;
        self.state.push_descriptors(point, layout, number, &set_layout, pushed.into_iter());
    }

    fn set_layout(&self, layout: vk::PipelineLayout, number: u32) -> Option<Arc<SetLayout>> {
        let known = self.emulation().objects().pipeline_layouts.get(layout);
        let found = known.and_then(|layout| layout.sets.get(number as usize).cloned());
        if found.is_none() {
            tracing::error!(number, "descriptors are pushed with an unknown pipeline layout");
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture_support::tests::capabilities;

    #[test]
    fn ranges_end_where_a_descriptor_does() {
        let mut limits = capabilities().limits;
        (limits.max_storage_buffer_range, limits.min_storage_buffer_offset_alignment) =
            (1 << 27, 64);
        for (offset, size, reached) in [
            (0, 1 << 27, 1 << 27),
            (0, (1 << 27) + 1, 1 << 27),
            (128, u64::MAX, 1 << 27),
            (130, u64::MAX, (1 << 27) - 2),
            (191, 1 << 26, 1 << 26),
            (0, 0, 0),
        ] {
            let found = reached_by_descriptor(&limits, offset, size);
            assert_eq!(found, reached, "{size} bytes from {offset} on");
        }
        limits.max_storage_buffer_range = 4 * 100 + 3;
        assert_eq!(reached_by_descriptor(&limits, 64, 1000), 400);
    }
}
