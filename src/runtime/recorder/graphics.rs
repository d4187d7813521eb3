//! Captures by a graphics pipeline: the driver's own, and the vertex backend's.

use ash::vk;

use super::checks::{
    check_native_byte_count, check_native_indirect, check_set_range, check_topology,
};
use super::draws::Arguments;
use super::resources::bind_sets;
use super::sets::SetArguments;
use super::{CaptureDesc, Captured, Recorded};
use crate::capture::MAX_XFB_BUFFERS;
use crate::draw::{BoundBuffer, DrawCounts};
use crate::lower::Backend;
use crate::lower::vertex::MAX_FAN_PRIMITIVES;
use crate::runtime::checks::check_limit;
use crate::runtime::draws::{CounterBuffer, Draw, IndexBuffer, IndirectDraw, VertexBuffer};
use crate::runtime::extensions::TransformFeedbackFn;
use crate::runtime::{Context, Pipeline, RuntimeError};
use crate::sysval::{DrawSysvals, Sysvals, draw_flags, split};
use crate::topology::{PrimitiveTopology, Shape};

pub(super) struct Graphics<'a> {
    pub(super) ctx: &'a Context,
    cmd: vk::CommandBuffer,
    pub(super) pipeline: &'a Pipeline,
    native: Option<&'a TransformFeedbackFn>,
    /// What the vertex backend captures to: the buffer, and the device address of its range.
    targets: [Option<(BoundBuffer, u64)>; MAX_XFB_BUFFERS],
    /// What was captured, where it is known.
    captured: Option<Captured>,
    base_record: u32,
    has_indices: bool,
}

impl<'a> Graphics<'a> {
    /// # Errors
    /// [`RuntimeError::DescriptorSetRange`].
    ///
    /// # Safety
    /// As [`Recorder::bind_descriptor_sets`](super::Recorder::bind_descriptor_sets).
    pub(super) unsafe fn bind_descriptor_sets(
        &self,
        arguments: SetArguments<'_>,
    ) -> Result<(), RuntimeError> {
        check_set_range(self.pipeline, arguments.first, arguments.sets)?;
        if !arguments.sets.is_empty() {
            // SAFETY: the caller's contract.
            unsafe { bind_sets(self.ctx, self.cmd, self.pipeline, arguments) };
        }
        Ok(())
    }

    /// # Safety
    /// As [`Recorder::begin`](super::Recorder::begin).
    pub(super) unsafe fn begin(
        ctx: &'a Context,
        cmd: vk::CommandBuffer,
        desc: &CaptureDesc<'a, '_>,
    ) -> Result<Self, RuntimeError> {
        let pipeline = desc.pipeline;
        let native = match pipeline.backend() {
            Backend::Native => Some(ctx.transform_feedback()?),
            Backend::Vertex | Backend::Compute => None,
        };
        let mut targets = [None; MAX_XFB_BUFFERS];
        for ((target, bound), stride) in
            targets.iter_mut().zip(desc.buffers).zip(pipeline.layout().strides)
        {
            let (Some(bound), Some(stride)) = (bound, stride) else { continue };
            let address = match native {
                Some(_) => 0,
                // SAFETY: the usage and the memory are the caller's contract.
                None => unsafe { ctx.buffer_address(bound.buffer) }?.wrapping_add(bound.offset),
            };
            *target = Some((BoundBuffer { size: bound.size, position: 0, stride }, address));
        }
        let resumes = desc.counters.iter().any(Option::is_some);
        let mut this = Self {
            ctx,
            cmd,
            pipeline,
            native,
            targets,
            captured: (!resumes).then(Captured::default),
            base_record: 0,
            has_indices: false,
        };
        if native.is_none() && resumes {
            return Err(this.unsupported("counters"));
        }
        // SAFETY: the caller's contract.
        unsafe {
            this.bind_vertex_buffers(desc.vertex_buffers)?;
            ctx.device().cmd_bind_pipeline(cmd, pipeline.bind_point(), pipeline.raw());
            if let Some(native) = native {
                for (index, bound) in (0u32..).zip(desc.buffers) {
                    if let Some(b) = bound {
                        native.bind(cmd, index, b.buffer, b.offset, b.size);
                    }
                }
                native.begin(cmd, desc.counters);
            }
        }
        Ok(this)
    }

    pub(super) fn unsupported(&self, what: &'static str) -> RuntimeError {
        RuntimeError::Unsupported { backend: self.pipeline.backend(), what }
    }

    /// # Safety
    /// As [`Recorder::begin`](super::Recorder::begin).
    pub(super) unsafe fn bind_vertex_buffers(
        &mut self,
        buffers: &[VertexBuffer],
    ) -> Result<(), RuntimeError> {
        for b in buffers {
            check_limit(
                || "the number of a vertex binding, plus one,".to_owned(),
                u64::from(b.binding) + 1,
                "maxVertexInputBindings",
                self.ctx.capabilities().limits.max_vertex_bindings,
            )?;
        }
        for b in buffers {
            // SAFETY: the caller's contract.
            unsafe {
                self.ctx.device().cmd_bind_vertex_buffers(
                    self.cmd,
                    b.binding,
                    &[b.buffer],
                    &[b.offset],
                );
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`Recorder::begin`](super::Recorder::begin).
    pub(super) unsafe fn bind_index_buffer(
        &mut self,
        buffer: &IndexBuffer,
    ) -> Result<(), RuntimeError> {
        if self.native.is_none() {
            return Err(self.unsupported("indexed draws"));
        }
        // SAFETY: the caller's contract.
        unsafe {
            self.ctx.device().cmd_bind_index_buffer(
                self.cmd,
                buffer.buffer,
                buffer.offset,
                buffer.index_type.raw(),
            );
        }
        self.has_indices = true;
        Ok(())
    }

    /// # Safety
    /// As [`Recorder::draw`](super::Recorder::draw).
    pub(super) unsafe fn record(
        &mut self,
        topology: PrimitiveTopology,
        arguments: Arguments<'_>,
    ) -> Result<(), RuntimeError> {
        check_topology(self.pipeline.fixed_topology(), topology)?;
        let device = self.ctx.device();
        let Some(native) = self.native else {
            let Arguments::Draw(draw) = arguments else {
                return Err(self.unsupported("draws that are indexed or indirect"));
            };
            // SAFETY: the caller's contract.
            return unsafe { self.vertex_draw(topology, draw) };
        };
        let is_indexed = matches!(arguments, Arguments::Indexed(_) | Arguments::IndexedIndirect(_));
        if is_indexed && !self.has_indices {
            return Err(RuntimeError::NoIndexBuffer);
        }
        // SAFETY: the caller's contract.
        unsafe {
            match arguments {
                Arguments::Draw(draw) => self.cmd_draw(draw),
                Arguments::Indexed(draw) => device.cmd_draw_indexed(
                    self.cmd,
                    draw.index_count,
                    draw.instance_count,
                    draw.first_index,
                    draw.vertex_offset,
                    draw.first_instance,
                ),
                Arguments::Indirect(draw) => self.indirect(draw, false)?,
                Arguments::IndexedIndirect(draw) => self.indirect(draw, true)?,
                Arguments::ByteCount(draw) => {
                    check_native_byte_count(self.ctx, draw)?;
                    native.draw_byte_count(self.cmd, draw);
                }
            }
        }
        match arguments {
            Arguments::Draw(draw) => {
                self.advance(&self.counts(topology, draw.vertex_count, draw.instance_count));
            }
            Arguments::Indexed(draw) if !self.pipeline.primitive_restart() => {
                self.advance(&self.counts(topology, draw.index_count, draw.instance_count));
            }
            _ => self.captured = None,
        }
        Ok(())
    }

    /// # Safety
    /// As [`Recorder::draw`](super::Recorder::draw).
    unsafe fn indirect(&self, draw: &IndirectDraw, indexed: bool) -> Result<(), RuntimeError> {
        check_native_indirect(self.ctx, draw)?;
        let (device, cmd) = (self.ctx.device(), self.cmd);
        let (buffer, offset, count) = (draw.buffer, draw.offset, draw.draw_count);
        // With a count Vulkan wants a valid one in any case.
        let stride = if count > 1 { draw.stride } else { IndirectDraw::command_size(indexed) };
        // SAFETY: the caller's contract.
        unsafe {
            match (draw.count, indexed) {
                (None, false) => device.cmd_draw_indirect(cmd, buffer, offset, count, stride),
                (None, true) => {
                    device.cmd_draw_indexed_indirect(cmd, buffer, offset, count, stride)
                }
                (Some((count_buffer, at)), _) => {
                    let functions = self.ctx.draw_indirect_count()?;
                    let function = match indexed {
                        false => functions.direct,
                        true => functions.indexed,
                    };
                    function(cmd, buffer, offset, count_buffer, at, count, stride);
                }
            }
        }
        Ok(())
    }

    /// Captures by the vertex shader's own stores.
    ///
    /// # Safety
    /// As [`Recorder::draw`](super::Recorder::draw).
    unsafe fn vertex_draw(
        &mut self,
        topology: PrimitiveTopology,
        draw: &Draw,
    ) -> Result<(), RuntimeError> {
        let counts = self.counts(topology, draw.vertex_count, draw.instance_count);
        if topology.shape() == Shape::TriFan {
            check_limit(
                || {
                    "the number of primitives that the first vertex of a triangle fan is stored into".to_owned()
                },
                counts.output_count / topology.vertices_per_primitive(),
                "lower::vertex::MAX_FAN_PRIMITIVES",
                MAX_FAN_PRIMITIVES,
            )?;
        }
        let base_record = self.base_record;
        self.advance(&counts);
        let sysvals = Sysvals {
            draw: DrawSysvals {
                xfb_topology: topology.xfb_topology() as u32,
                flags: draw_flags(topology, self.pipeline.provoking_vertex()),
                output_count: counts.output_count,
                output_limit: counts.output_limit,
                item_count: counts.item_count,
                instance_count: counts.instance_count,
                base_vertex: draw.first_vertex,
                first_instance: draw.first_instance,
                base_record,
                ..Default::default()
            },
            xfb_address: self.targets.map(|t| split(t.map_or(0, |(_, address)| address))),
            ..Default::default()
        };
        // SAFETY: the caller's contract; the layout has that range for that stage.
        unsafe {
            self.ctx.device().cmd_push_constants(
                self.cmd,
                self.pipeline.raw_layout(),
                vk::ShaderStageFlags::VERTEX,
                0,
                bytemuck::bytes_of(&sysvals),
            );
            self.cmd_draw(draw);
        }
        Ok(())
    }

    /// What a draw captures, as far as the write positions are known.
    fn counts(&self, topology: PrimitiveTopology, count: u32, instances: u32) -> DrawCounts {
        let buffers = self.targets.iter().flatten().map(|(buffer, _)| *buffer);
        DrawCounts::new(topology, count, instances, buffers)
    }

    /// Follows the write positions behind a draw.
    fn advance(&mut self, counts: &DrawCounts) {
        if let Some(captured) = &mut self.captured {
            captured.add(counts);
        }
        for (buffer, _) in self.targets.iter_mut().flatten() {
            buffer.position += counts.bytes_written(buffer.stride);
        }
        self.base_record = self.base_record.wrapping_add(counts.output_limit);
    }

    /// # Safety
    /// As [`Recorder::draw`](super::Recorder::draw).
    unsafe fn cmd_draw(&self, draw: &Draw) {
        // SAFETY: the caller's contract.
        unsafe {
            self.ctx.device().cmd_draw(
                self.cmd,
                draw.vertex_count,
                draw.instance_count,
                draw.first_vertex,
                draw.first_instance,
            );
        }
    }

    /// # Safety
    /// As [`Recorder::end`](super::Recorder::end).
    pub(super) unsafe fn end(
        self,
        counters: &[Option<CounterBuffer>],
    ) -> Result<Recorded, RuntimeError> {
        match self.native {
            // SAFETY: the caller's contract; `begin` recorded the begin.
            Some(native) => unsafe { native.end(self.cmd, counters) },
            None if counters.iter().any(Option::is_some) => {
                return Err(self.unsupported("counters"));
            }
            None => {}
        }
        let positions = self.targets.map(|t| t.map_or(0, |(buffer, _)| buffer.position));
        let captured = self.captured.map(|captured| Captured { positions, ..captured });
        Ok(Recorded { captured, ..Default::default() })
    }
}
