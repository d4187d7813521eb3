//! The functions of [`Collector`] that set the state of the following draws: pipelines, buffers with their addresses,
//! descriptor sets and dynamic state.

use std::fmt;

use ash::vk;

use crate::runtime::device::checks::multiple_of_4;
use crate::runtime::device::descriptor_heaps::BoundHeaps;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::host_memory::TryPush;
use crate::runtime::device::parameters::{ConditionalRendering, IndexBuffer, VertexBuffer};
use crate::runtime::memory::addresses::{address, exact_address, memory_of, size_of_whole_dwords};
use crate::runtime::memory::buffers::BufferRange;
use crate::runtime::memory::descriptors::purpose::Purpose;
use crate::runtime::pipelines::pipeline::Pipeline;
use crate::runtime::pipelines::pipeline::check_control_points;
use crate::runtime::pipelines::pulling;
use crate::runtime::recording::checks::{check_buffers, check_push_constants, check_set_range};
use crate::runtime::recording::collect::{Attributes, BoundIndices, Collector, Predicate};
use crate::runtime::recording::set_arguments::{BufferSet, SetArguments};
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::sysval::{AttributeDescriptor, INLINE_ATTRIBUTES, split};
use vkxfb_rewriter::topology::ProvokingVertex;
use vkxfb_rewriter::vertex_input::InputRate;

impl Collector {
    /// Binds a compute pipeline of the same context.
    ///
    /// # Errors
    /// The errors of [`Recorder::bind_pipeline`](crate::runtime::Recorder::bind_pipeline).
    pub(super) fn bind_pipeline(&mut self, pipeline: &Pipeline) -> Result<(), RuntimeError> {
        if self.bound.pipeline.is_none() {
            let what = "a pipeline among draws that are counted only";
            return Err(RuntimeError::Unsupported { backend: Backend::Compute, what });
        }
        check_buffers(&self.bound.strides, &self.bound.streams, pipeline)?;
        self.set_pipeline(pipeline)
    }

    /// Binds a pipeline without checks.
    ///
    /// # Errors
    /// [`RuntimeError::HostMemory`]
    pub(super) fn set_pipeline(&mut self, pipeline: &Pipeline) -> Result<(), RuntimeError> {
        self.bound.provoking_vertex = pipeline.provoking_vertex();
        self.bound.patch_control_points = pipeline.patch_control_points();
        self.bound.restart = pipeline.primitive_restart();
        if !self.bindings.pipelines.last().is_some_and(|last| last.is(pipeline)) {
            self.bindings.pipelines.try_push(pipeline.clone())?;
            self.bindings.sets.widen(pipeline.set_count());
            self.bound.has_attributes = false;
            self.bound.pipeline = Some(pipeline.clone());
        }
        Ok(())
    }

    /// # Errors
    /// The errors of [`check_bound`](pulling::check_bound).
    pub(in crate::runtime::recording) fn bind_vertex_buffers(
        &mut self,
        buffers: &[VertexBuffer],
    ) -> Result<(), RuntimeError> {
        pulling::check_bound(buffers)?;
        let bound = &mut self.bound.vertex_buffers;
        for buffer in buffers {
            match bound.iter_mut().find(|old| old.binding == buffer.binding) {
                Some(old) if old == buffer => {}
                Some(old) => (*old, self.bound.has_attributes) = (*buffer, false),
                None => {
                    bound.push(*buffer);
                    self.bound.has_attributes = false;
                }
            }
        }
        Ok(())
    }

    /// Computes the attribute descriptors with which the bound pipeline reads the bound vertex buffers.
    ///
    /// # Errors
    /// The errors that [`Recorder::draw`](crate::runtime::Recorder::draw) returns because of vertex buffers.
    ///
    /// # Safety
    /// The requirements of [`Recorder::draw`](crate::runtime::Recorder::draw) apply.
    pub(super) unsafe fn find_attributes(&mut self) -> Result<(), RuntimeError> {
        let pipeline = self.bound.pipeline.clone();
        let buffers = std::mem::take(&mut self.bound.vertex_buffers);
        let attributes = unsafe { self.attributes_of(pipeline.as_ref(), &buffers) };
        self.bound.vertex_buffers = buffers;
        self.bindings.attributes.try_push(attributes?)?;
        self.bound.has_attributes = true;
        Ok(())
    }

    /// Returns the attribute descriptors with which a pipeline reads vertex buffers. Without a pipeline there are none.
    ///
    /// # Safety
    /// The requirements of [`find_attributes`](Self::find_attributes) apply.
    unsafe fn attributes_of(
        &mut self,
        pipeline: Option<&Pipeline>,
        bound: &[VertexBuffer],
    ) -> Result<Attributes, RuntimeError> {
        let mut attributes = Attributes::default();
        let Some(pipeline) = pipeline else { return Ok(attributes) };
        pulling::check_buffers(pipeline.backend(), pipeline.attributes(), bound)?;
        let mut descriptors = std::mem::take(&mut self.descriptors);
        descriptors.clear();
        let all = pulling::descriptors(pipeline.attributes(), bound, |b| {
            let VertexBuffer { binding, buffer, offset, size, .. } = *b;
            let what = format_args!("the vertex buffer of binding {binding}");
            // SAFETY: the usage and the memory are the caller's contract.
            unsafe { self.address(Purpose::Read, what, (buffer, offset, size)) }
        });
        let found = all.into_iter().try_for_each(|descriptor| {
            descriptors.push(descriptor?);
            Ok(())
        });
        for (inline, descriptor) in attributes.inline.iter_mut().zip(&descriptors) {
            *inline = *descriptor;
        }
        attributes.reach_far = descriptors.iter().any(AttributeDescriptor::reaches_far);
        let mut elements = descriptors.iter().zip(pipeline.attributes());
        attributes.are_aligned =
            elements.all(|(d, a)| (d.address[0] | d.stride).is_multiple_of(a.access()));
        let least = |input_rate: fn(&InputRate) -> bool| {
            let elements = descriptors.iter().zip(pipeline.attributes());
            let limits = elements.filter(|(_, a)| input_rate(&a.input_rate)).map(|(d, _)| d.limit);
            limits.min().unwrap_or(u32::MAX)
        };
        attributes.vertices = least(|rate| *rate == InputRate::Vertex);
        // The divisors are not considered, because this limit is used only for draws of one instance, which read
        // element `first_instance` whatever the divisor is. For draws of several instances the shader checks every
        // access.
        attributes.instances = least(|rate| *rate != InputRate::Vertex);
        let others = descriptors.get(INLINE_ATTRIBUTES..).unwrap_or_default();
        if found.is_ok() {
            let table = &mut self.bindings.attribute_table;
            attributes.others = (table.len(), others.len());
            table.try_room(others.len())?;
            table.extend_from_slice(others);
        }
        self.descriptors = descriptors;
        found.map(|()| attributes)
    }

    /// # Errors
    /// The errors of [`Recorder::push_constants`](crate::runtime::Recorder::push_constants).
    pub(in crate::runtime::recording) fn push_constants(
        &mut self,
        offset: u32,
        bytes: &[u8],
    ) -> Result<(), RuntimeError> {
        check_push_constants(&self.ctx, offset, bytes)?;
        self.bindings.constants.push(offset, bytes);
        Ok(())
    }

    /// # Errors
    /// [`RuntimeError::Misaligned`].
    pub(in crate::runtime::recording) fn push_data(
        &mut self,
        offset: u32,
        bytes: &[u8],
    ) -> Result<(), RuntimeError> {
        multiple_of_4(|| "the offset of push data".to_owned(), offset)?;
        multiple_of_4(|| "the size of push data".to_owned(), bytes.len() as u64)?;
        self.bindings.constants.push(offset, bytes);
        Ok(())
    }

    pub(in crate::runtime::recording) fn bind_heaps(&mut self, heaps: BoundHeaps) {
        if self.bindings.heaps.last() != Some(&heaps) {
            self.bindings.heaps.push(heaps);
        }
    }

    /// # Errors
    /// [`RuntimeError::DescriptorSetRange`].
    pub(in crate::runtime::recording) fn bind_descriptor_sets(
        &mut self,
        first: u32,
        sets: &[vk::DescriptorSet],
        dynamic_offsets: &[u32],
    ) -> Result<(), RuntimeError> {
        let Some(pipeline) = &self.bound.pipeline else { return Ok(()) };
        check_set_range(pipeline, first, sets.len())?;
        let layout = pipeline.raw_layout();
        self.bindings.sets.bind(SetArguments::new(layout, first, sets, dynamic_offsets));
        Ok(())
    }

    /// # Errors
    /// [`RuntimeError::DescriptorSetRange`].
    pub(in crate::runtime::recording) fn bind_buffer_set(
        &mut self,
        set: u32,
        buffer_set: BufferSet,
    ) -> Result<(), RuntimeError> {
        let Some(pipeline) = &self.bound.pipeline else { return Ok(()) };
        check_set_range(pipeline, set, 1)?;
        let layout = pipeline.raw_layout();
        self.bindings.sets.bind(SetArguments::of_buffer(layout, set, buffer_set));
        Ok(())
    }

    /// # Errors
    /// [`RuntimeError::DescriptorSetRange`].
    pub(in crate::runtime::recording) fn assume_descriptor_sets(
        &mut self,
        first: u32,
        count: u32,
    ) -> Result<(), RuntimeError> {
        let Some(pipeline) = &self.bound.pipeline else { return Ok(()) };
        check_set_range(pipeline, first, count as usize)?;
        self.bindings.sets.assume(first, count);
        Ok(())
    }

    /// # Safety
    /// The requirements of [`Recorder::begin`](crate::runtime::Recorder::begin) apply.
    pub(in crate::runtime::recording) unsafe fn bind_index_buffer(
        &mut self,
        buffer: &IndexBuffer,
    ) -> Result<(), RuntimeError> {
        let IndexBuffer { buffer: raw, offset, size: bytes, index_type } = *buffer;
        // A null buffer contains no indices, and its address must not be queried.
        let bytes = if raw == vk::Buffer::null() { 0 } else { bytes };
        let (address, partial_end) = if raw == vk::Buffer::null() && self.ctx.table().is_none() {
            (0, None)
        } else {
            // SAFETY: the usage and the memory are the caller's contract.
            unsafe { self.index_address((raw, offset, bytes)) }?
        };
        let size = index_type.size();
        self.bound.indices = Some(BoundIndices {
            address,
            limit: u32::try_from(bytes / u64::from(size)).unwrap_or(u32::MAX),
            size,
            restart_index: index_type.restart_index(),
            partial_end,
        });
        Ok(())
    }

    pub(in crate::runtime::recording) const fn set_provoking_vertex(
        &mut self,
        mode: ProvokingVertex,
    ) {
        self.bound.provoking_vertex = mode;
    }

    pub(in crate::runtime::recording) fn set_patch_control_points(
        &mut self,
        points: u32,
    ) -> Result<(), RuntimeError> {
        let geometry = self.bound.pipeline.as_ref().and_then(Pipeline::geometry);
        if geometry.and_then(|geometry| geometry.tessellation).is_none() {
            return Err(RuntimeError::NoTessellation);
        }
        check_control_points(points)?;
        self.bound.patch_control_points = points;
        Ok(())
    }

    pub(in crate::runtime::recording) fn set_primitive_restart(
        &mut self,
        enable: bool,
    ) -> Result<(), RuntimeError> {
        if enable
            && self.bound.pipeline.as_ref().is_some_and(|pipeline| !pipeline.primitive_restart())
        {
            return Err(RuntimeError::NoRestart);
        }
        self.bound.restart = enable;
        Ok(())
    }

    pub(in crate::runtime::recording) fn set_primitive_restart_index(
        &mut self,
        index: u32,
    ) -> Result<(), RuntimeError> {
        let indices = self.bound.indices.as_mut().ok_or(RuntimeError::NoIndexBuffer)?;
        indices.restart_index = index;
        Ok(())
    }

    /// # Safety
    /// The requirements of
    /// [`Recorder::begin_conditional_rendering`](crate::runtime::Recorder::begin_conditional_rendering) apply.
    pub(in crate::runtime::recording) unsafe fn begin_conditional_rendering(
        &mut self,
        condition: &ConditionalRendering,
    ) -> Result<(), RuntimeError> {
        let ConditionalRendering { buffer, offset, inverted } = *condition;
        if self.bound.predicate.is_some() {
            return Err(RuntimeError::ConditionalRenderingActive);
        }
        multiple_of_4(|| "the offset of a predicate".to_owned(), offset)?;
        let (what, range) = (format_args!("a predicate"), (buffer, offset, 4));
        let address = unsafe { self.address(Purpose::Read, what, range) }?;
        self.bound.predicate = Some(Predicate { address: split(address), inverted });
        Ok(())
    }

    pub(in crate::runtime::recording) fn end_conditional_rendering(
        &mut self,
    ) -> Result<(), RuntimeError> {
        self.bound.predicate.take().map(|_| ()).ok_or(RuntimeError::NoConditionalRendering)
    }

    /// Calls [`address()`] for a buffer that draws access.
    ///
    /// # Errors
    /// The errors of [`address()`].
    ///
    /// # Safety
    /// The requirements of [`address()`] apply.
    pub(super) unsafe fn address(
        &mut self,
        purpose: Purpose,
        what: fmt::Arguments<'_>,
        range: BufferRange,
    ) -> Result<u64, RuntimeError> {
        let start = unsafe { address(&self.ctx, &mut self.table, purpose, what, range) }?;
        self.note_reached(purpose, start, range);
        Ok(start)
    }

    /// Returns the address of the indices in a range of a buffer, and
    /// [`BoundIndices::partial_end`](crate::runtime::recording::collect::BoundIndices::partial_end). The latter is
    /// `Some` only if the device can load single bytes and the range ends within a dword whose remaining bytes shaders
    /// cannot read. If the device cannot load single bytes, the range is handled as by [`address()`].
    ///
    /// # Errors
    /// The errors of [`address()`].
    ///
    /// # Safety
    /// The requirements of [`address()`] apply. If single bytes are loaded, the buffer need not contain more than the
    /// range.
    pub(super) unsafe fn index_address(
        &mut self,
        range: BufferRange,
    ) -> Result<(u64, Option<(u64, u64)>), RuntimeError> {
        let (what, purpose) = (format_args!("the index buffer"), Purpose::Read);
        if !self.ctx.enabled().byte_loads {
            return Ok((unsafe { self.address(purpose, what, range) }?, None));
        }
        let start = unsafe { exact_address(&self.ctx, &mut self.table, purpose, what, range) }?;
        self.note_reached(purpose, start, range);
        let (buffer, offset, size) = range;
        let whole = size_of_whole_dwords(offset, size);
        if whole == Some(size) {
            return Ok((start, None));
        }
        let memory = unsafe { memory_of(&self.ctx, buffer) };
        let end = whole.and_then(|whole| offset.checked_add(whole));
        // Shaders can also read the rest of the dword if the buffer's memory contains it. Under the descriptor plan
        // they never can, because a descriptor covers only the range.
        let is_there = self.ctx.table().is_none() && end.is_some_and(|end| end <= memory);
        Ok((start, (!is_there).then_some((offset + size, memory))))
    }

    /// Notes that captures read a range of device addresses. Does nothing for purposes other than `Read`, and under the
    /// descriptor plan.
    fn note_reached(&mut self, purpose: Purpose, start: u64, (.., size): BufferRange) {
        if purpose == Purpose::Read && self.ctx.table().is_none() {
            self.collected.reached.add(start..start.saturating_add(size));
        }
    }
}
