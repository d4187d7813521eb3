//! Captures with a graphics pipeline, that is, on the native and the vertex backend. Draws are recorded immediately.

use ash::vk;

use crate::runtime::device::checks::check_limit;
use crate::runtime::device::context::Context;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::extensions::TransformFeedbackFn;
use crate::runtime::device::parameters::{
    Arguments, CounterBuffer, Draw, IndexBuffer, IndirectDraw, VertexBuffer,
};
use crate::runtime::memory::arena::ArenaAccess;
use crate::runtime::pipelines::pipeline::Pipeline;
use crate::runtime::pipelines::pipeline::{check_input, check_topology, check_used_sets};
use crate::runtime::pipelines::pulling;
use crate::runtime::recording::capture_desc::{CaptureDesc, Captured, Recorded};
use crate::runtime::recording::checks::{
    check_buffers, check_capture_buffers, check_counters, check_distinct, check_native_byte_count,
    check_native_indirect, check_push_constants, check_set_range,
};
use crate::runtime::recording::collect::{Constants, SetNumbers};
use crate::runtime::recording::set_arguments::SetArguments;
use vkxfb_rewriter::capture::{Layout, MAX_XFB_BUFFERS};
use vkxfb_rewriter::counts::{BoundBuffer, DrawCounts};
use vkxfb_rewriter::lower::vertex::MAX_FAN_PRIMITIVES;
use vkxfb_rewriter::lower::{Backend, SysvalsPlace};
use vkxfb_rewriter::sysval::{Address, DrawSysvals, Sysvals, draw_flags, split};
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex, Shape};

pub(super) struct Graphics<'a> {
    ctx: Context,
    arena: ArenaAccess<'a>,
    cmd: vk::CommandBuffer,
    pipeline: Pipeline,
    provoking_vertex: ProvokingVertex,
    vertex_buffers: Vec<VertexBuffer>,
    /// Whether the bound vertex buffers were checked against the pipeline.
    are_buffers_checked: bool,
    bound_sets: SetNumbers,
    constants: Constants,
    /// Whether push constants must be recorded before the next draw. Used on the native backend.
    are_constants_new: bool,
    /// The address of the current push constants in memory, or `None` if they were not written yet. Used on the vertex
    /// backend.
    table: Option<Address>,
    /// The capture buffers, with the device addresses of their ranges. Used on the vertex backend.
    targets: [Option<(BoundBuffer, u64)>; MAX_XFB_BUFFERS],
    /// The result of the draws so far, or `None` if the CPU does not know it.
    captured: Option<Captured>,
    base_record: u32,
    has_indices: bool,
}

impl<'a> Graphics<'a> {
    /// # Safety
    /// The requirements of [`Recorder::begin`](crate::runtime::Recorder::begin) apply.
    pub(super) unsafe fn begin(
        ctx: &Context,
        arena: ArenaAccess<'a>,
        cmd: vk::CommandBuffer,
        desc: &CaptureDesc<'_>,
    ) -> Result<Self, RuntimeError> {
        let pipeline = desc.pipeline.clone();
        check_capture_buffers(ctx, &pipeline, desc.buffers)?;
        check_counters(ctx, pipeline.backend(), desc.counters)?;
        ctx.check_made(&pipeline, "the pipeline")?;
        let native = native(ctx, &pipeline)?;
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
            ctx: ctx.clone(),
            arena,
            cmd,
            provoking_vertex: pipeline.provoking_vertex(),
            pipeline,
            vertex_buffers: Vec::new(),
            are_buffers_checked: false,
            bound_sets: SetNumbers::default(),
            constants: Constants::default(),
            are_constants_new: false,
            table: None,
            targets,
            captured: (!resumes).then(Captured::default),
            base_record: 0,
            has_indices: false,
        };
        if native.is_none() && resumes {
            return Err(this.unsupported("counters"));
        }
        this.set_vertex_buffers(desc.vertex_buffers)?;
        this.check_buffers()?;
        unsafe {
            this.record_vertex_buffers(desc.vertex_buffers);
            this.record_pipeline();
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

    /// # Safety
    /// The requirements of [`Recorder::begin`](crate::runtime::Recorder::begin) apply.
    unsafe fn record_pipeline(&self) {
        let (point, raw) = (self.pipeline.bind_point(), self.pipeline.raw());
        unsafe { self.ctx.device().cmd_bind_pipeline(self.cmd, point, raw) };
    }

    /// # Errors
    /// The errors of [`Recorder::bind_pipeline`](crate::runtime::Recorder::bind_pipeline).
    ///
    /// # Safety
    /// The requirements of [`Recorder::bind_pipeline`](crate::runtime::Recorder::bind_pipeline) apply.
    pub(super) unsafe fn bind_pipeline(&mut self, pipeline: &Pipeline) -> Result<(), RuntimeError> {
        self.ctx.check_made(pipeline, "the pipeline")?;
        let is_other = pipeline.backend() != self.pipeline.backend();
        if is_other || pipeline.backend() == Backend::Native {
            return Err(self.unsupported("another pipeline between Begin and End"));
        }
        let Layout { strides, streams, .. } = self.pipeline.layout();
        check_buffers(strides, streams, pipeline)?;
        self.pipeline = pipeline.clone();
        self.provoking_vertex = pipeline.provoking_vertex();
        (self.table, self.are_buffers_checked) = (None, false);
        unsafe { self.record_pipeline() };
        Ok(())
    }

    /// # Errors
    /// [`RuntimeError::Unsupported`].
    pub(super) fn set_provoking_vertex(
        &mut self,
        mode: ProvokingVertex,
    ) -> Result<(), RuntimeError> {
        match self.pipeline.backend() {
            Backend::Native => Err(self.unsupported("a dynamic provoking vertex")),
            Backend::Vertex | Backend::Compute => {
                self.provoking_vertex = mode;
                Ok(())
            }
        }
    }

    /// # Errors
    /// The errors of [`Recorder::push_constants`](crate::runtime::Recorder::push_constants).
    pub(super) fn push_constants(&mut self, offset: u32, bytes: &[u8]) -> Result<(), RuntimeError> {
        check_push_constants(&self.ctx, offset, bytes)?;
        self.constants.push(offset, bytes);
        (self.are_constants_new, self.table) = (true, None);
        Ok(())
    }

    /// Records the push constants that a native pipeline reads, if they have changed.
    ///
    /// # Safety
    /// The requirements of [`Recorder::draw`](crate::runtime::Recorder::draw) apply.
    unsafe fn record_constants(&mut self) {
        let end = self.pipeline.push_constants().end;
        if end == 0 || !std::mem::take(&mut self.are_constants_new) {
            return;
        }
        let (layout, stages) = (self.pipeline.raw_layout(), self.pipeline.stages());
        let bytes = self.constants.current(end);
        // SAFETY: the caller's contract; the layout has that range.
        unsafe { self.ctx.device().cmd_push_constants(self.cmd, layout, stages, 0, bytes) };
    }

    /// Copies to memory the push constants that the shader reads, unless the current ones were copied before. Returns
    /// the address of the copy. Used on the vertex backend.
    ///
    /// # Safety
    /// The requirements of [`Recorder::draw`](crate::runtime::Recorder::draw) apply.
    unsafe fn place_constants(&mut self) -> Result<Address, RuntimeError> {
        let range = self.pipeline.push_constants();
        if range.is_empty() {
            return Ok(Address::default());
        }
        if let Some(address) = self.table {
            return Ok(address);
        }
        let snapshot = self.constants.snapshot(range);
        let bytes = self.constants.bytes(snapshot, range.len());
        let address = unsafe { place(&self.ctx, &mut self.arena, bytes) }?;
        self.constants.forget_snapshots();
        self.table = Some(address);
        Ok(address)
    }

    /// Checks the vertex buffers against the attributes that the pipeline reads, unless that was done before.
    ///
    /// # Errors
    /// The errors that [`Recorder::draw`](crate::runtime::Recorder::draw) returns because of vertex buffers.
    fn check_buffers(&mut self) -> Result<(), RuntimeError> {
        if !self.are_buffers_checked {
            let (backend, attributes) = (self.pipeline.backend(), self.pipeline.attributes());
            pulling::check_buffers(backend, attributes, &self.vertex_buffers)?;
            self.are_buffers_checked = true;
        }
        Ok(())
    }

    pub(super) fn backend(&self) -> Backend {
        self.pipeline.backend()
    }

    /// # Errors
    /// [`RuntimeError::DescriptorSetRange`].
    ///
    /// # Safety
    /// The requirements of [`Recorder::bind_descriptor_sets`](crate::runtime::Recorder::bind_descriptor_sets) apply.
    pub(super) unsafe fn bind_descriptor_sets(
        &mut self,
        first: u32,
        sets: &[vk::DescriptorSet],
        dynamic_offsets: &[u32],
    ) -> Result<(), RuntimeError> {
        check_set_range(&self.pipeline, first, sets.len())?;
        self.bound_sets.add(first, sets.len() as u32);
        if !sets.is_empty() {
            let layout = self.pipeline.raw_layout();
            let arguments = SetArguments::new(layout, first, sets, dynamic_offsets);
            unsafe { arguments.record(self.ctx.device(), self.cmd, self.pipeline.bind_point()) };
        }
        Ok(())
    }

    /// # Errors
    /// [`RuntimeError::DescriptorSetRange`].
    pub(super) fn assume_descriptor_sets(
        &mut self,
        first: u32,
        count: u32,
    ) -> Result<(), RuntimeError> {
        check_set_range(&self.pipeline, first, count as usize)?;
        self.bound_sets.add(first, count);
        Ok(())
    }

    pub(super) fn unsupported(&self, what: &'static str) -> RuntimeError {
        RuntimeError::Unsupported { backend: self.pipeline.backend(), what }
    }

    /// Checks vertex buffers, and stores each in place of the buffer that was bound to the same binding.
    fn set_vertex_buffers(&mut self, buffers: &[VertexBuffer]) -> Result<(), RuntimeError> {
        pulling::check_bound(buffers)?;
        for b in buffers {
            check_limit(
                || "the number of a vertex binding, plus one,".to_owned(),
                u64::from(b.binding) + 1,
                "maxVertexInputBindings",
                self.ctx.capabilities().limits.max_vertex_bindings,
            )?;
        }
        self.are_buffers_checked = false;
        for b in buffers {
            self.vertex_buffers.retain(|old| old.binding != b.binding);
            self.vertex_buffers.push(*b);
        }
        Ok(())
    }

    /// # Safety
    /// The requirements of [`Recorder::begin`](crate::runtime::Recorder::begin) apply.
    unsafe fn record_vertex_buffers(&self, buffers: &[VertexBuffer]) {
        for b in buffers {
            let (buffers, offsets) = ([b.buffer], [b.offset]);
            let device = self.ctx.device();
            unsafe { device.cmd_bind_vertex_buffers(self.cmd, b.binding, &buffers, &offsets) };
        }
    }

    /// # Safety
    /// The requirements of [`Recorder::begin`](crate::runtime::Recorder::begin) apply.
    pub(super) unsafe fn bind_vertex_buffers(
        &mut self,
        buffers: &[VertexBuffer],
    ) -> Result<(), RuntimeError> {
        self.set_vertex_buffers(buffers)?;
        unsafe { self.record_vertex_buffers(buffers) };
        Ok(())
    }

    /// # Safety
    /// The requirements of [`Recorder::begin`](crate::runtime::Recorder::begin) apply.
    pub(super) unsafe fn bind_index_buffer(
        &mut self,
        buffer: &IndexBuffer,
    ) -> Result<(), RuntimeError> {
        if self.pipeline.backend() != Backend::Native {
            return Err(self.unsupported("indexed draws"));
        }
        unsafe {
            self.ctx.device().cmd_bind_index_buffer(
                self.cmd,
                buffer.buffer,
                buffer.offset,
                buffer.index_type.into(),
            );
        }
        self.has_indices = true;
        Ok(())
    }

    /// # Safety
    /// The requirements of [`Recorder::draw`](crate::runtime::Recorder::draw) apply.
    pub(super) unsafe fn record(
        &mut self,
        topology: PrimitiveTopology,
        arguments: Arguments<'_>,
    ) -> Result<(), RuntimeError> {
        check_topology(self.pipeline.fixed_topology(), topology)?;
        check_input(self.pipeline.geometry(), topology)?;
        self.check_buffers()?;
        check_used_sets(&self.pipeline, |set| self.bound_sets.contains(set))?;
        if self.pipeline.backend() != Backend::Native {
            let Arguments::Draw(draw) = arguments else {
                return Err(self.unsupported("draws that are indexed or indirect"));
            };
            return unsafe { self.vertex_draw(topology, draw) };
        }
        let is_indexed = arguments.is_indexed();
        if is_indexed && !self.has_indices {
            return Err(RuntimeError::NoIndexBuffer);
        }
        match arguments {
            Arguments::Draw(_) | Arguments::Indexed(_) => {}
            Arguments::Indirect(draw) | Arguments::IndexedIndirect(draw) => {
                check_native_indirect(&self.ctx, draw)?;
            }
            Arguments::ByteCount(draw) => check_native_byte_count(&self.ctx, draw)?,
        }
        unsafe {
            self.record_constants();
            let device = self.ctx.device();
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
                    self.ctx.transform_feedback()?.draw_byte_count(self.cmd, draw);
                }
            }
        }
        match arguments {
            // The CPU does not know how many primitives a geometry shader emits.
            _ if self.pipeline.geometry().is_some() => self.captured = None,
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
    /// The requirements of [`Recorder::draw`](crate::runtime::Recorder::draw) apply.
    unsafe fn indirect(&self, draw: &IndirectDraw, indexed: bool) -> Result<(), RuntimeError> {
        let (device, cmd) = (self.ctx.device(), self.cmd);
        let (buffer, offset, count) = (draw.buffer, draw.offset, draw.draw_count);
        // For at most one draw the caller's stride does not matter. `vkCmdDraw*IndirectCount` nevertheless requires a
        // valid stride, so the size of a command is passed.
        let stride = if count > 1 { draw.stride } else { IndirectDraw::command_size(indexed) };
        unsafe {
            match (draw.count, indexed) {
                (None, false) => device.cmd_draw_indirect(cmd, buffer, offset, count, stride),
                (None, true) => {
                    device.cmd_draw_indexed_indirect(cmd, buffer, offset, count, stride)
                }
                (Some((count_buffer, at)), _) => {
                    let functions = self.ctx.draw_indirect_count()?;
                    let function = if indexed { functions.indexed } else { functions.direct };
                    function(cmd, buffer, offset, count_buffer, at, count, stride);
                }
            }
        }
        Ok(())
    }

    /// Captures a draw on the vertex backend.
    ///
    /// # Safety
    /// The requirements of [`Recorder::draw`](crate::runtime::Recorder::draw) apply.
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
        let table = unsafe { self.place_constants() }?;
        let sysvals = Sysvals {
            draw: DrawSysvals {
                xfb_topology: topology.xfb_topology() as u32,
                flags: draw_flags(topology, 0, self.provoking_vertex),
                output_count: counts.output_count,
                output_end: self.base_record.wrapping_add(counts.output_limit),
                item_count: counts.item_count,
                instance_count: counts.instance_count,
                base_vertex: draw.first_vertex,
                first_instance: draw.first_instance,
                base_record: self.base_record,
                ..Default::default()
            },
            xfb_address: self.targets.map(|t| split(t.map_or(0, |(_, address)| address))),
            table,
            ..Default::default()
        };
        let sysvals_place = self.pipeline.sysvals();
        let address;
        let pushed: &[u8] = match sysvals_place {
            SysvalsPlace::PushConstants { .. } => bytemuck::bytes_of(&sysvals),
            SysvalsPlace::Memory { .. } => {
                address =
                    unsafe { place(&self.ctx, &mut self.arena, bytemuck::bytes_of(&sysvals)) }?;
                bytemuck::bytes_of(&address)
            }
        };
        let (layout, stage) = (self.pipeline.raw_layout(), vk::ShaderStageFlags::VERTEX);
        // SAFETY: the caller's contract; the layout has that range of push constants for that stage.
        unsafe {
            let device = self.ctx.device();
            device.cmd_push_constants(self.cmd, layout, stage, sysvals_place.offset(), pushed);
            self.cmd_draw(draw);
        }
        self.advance(&counts);
        Ok(())
    }

    /// The counts of a draw. They are correct only if the CPU knows where the draw is captured.
    fn counts(&self, topology: PrimitiveTopology, count: u32, instances: u32) -> DrawCounts {
        let buffers = self.targets.iter().flatten().map(|(buffer, _)| *buffer);
        DrawCounts::new(topology, count, instances, buffers)
    }

    /// Moves the write positions behind the records of a draw.
    fn advance(&mut self, counts: &DrawCounts) {
        if let Some(captured) = &mut self.captured
            && !self.pipeline.layout().outputs.is_empty()
        {
            let Captured { primitives_written: written, primitives_needed: needed, .. } = captured;
            *written = written.wrapping_add(counts.primitives_written);
            *needed = needed.wrapping_add(counts.primitives_needed);
        }
        for (buffer, _) in self.targets.iter_mut().flatten() {
            buffer.position += counts.bytes_written(buffer.stride);
        }
        self.base_record = self.base_record.wrapping_add(counts.output_limit);
    }

    /// # Safety
    /// The requirements of [`Recorder::draw`](crate::runtime::Recorder::draw) apply.
    unsafe fn cmd_draw(&self, draw: &Draw) {
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
    /// The requirements of [`Recorder::end`](crate::runtime::Recorder::end) apply.
    pub(super) unsafe fn end(
        &self,
        counters: &[Option<CounterBuffer>],
    ) -> Result<Recorded, RuntimeError> {
        let checked = check_counters(&self.ctx, self.pipeline.backend(), counters)
            .and_then(|()| check_distinct(counters));
        // `begin` recorded vkCmdBeginTransformFeedbackEXT, so its end must be recorded even if the counters are
        // invalid.
        let counters = if checked.is_ok() { counters } else { &[] };
        match native(&self.ctx, &self.pipeline)? {
            // SAFETY: the caller's contract; `begin` recorded vkCmdBeginTransformFeedbackEXT.
            Some(native) => unsafe { native.end(self.cmd, counters) },
            None if counters.iter().any(Option::is_some) => {
                return Err(self.unsupported("counters"));
            }
            None => {}
        }
        checked?;
        let positions = self.targets.map(|t| t.map_or(0, |(buffer, _)| buffer.position));
        let captured = self.captured.map(|captured| Captured { positions, ..captured });
        Ok(Recorded { captured, ..Default::default() })
    }
}

/// Returns the device's transform feedback commands on the native backend, and `None` on other backends.
fn native<'c>(
    ctx: &'c Context,
    pipeline: &Pipeline,
) -> Result<Option<&'c TransformFeedbackFn>, RuntimeError> {
    match pipeline.backend() {
        Backend::Native => ctx.transform_feedback().map(Some),
        Backend::Vertex | Backend::Compute => Ok(None),
    }
}

/// Copies bytes into upload memory, and returns their address for shaders.
///
/// # Errors
/// The errors of [`ArenaAccess::reserve`].
///
/// # Safety
/// The requirements of [`Recorder::draw`](crate::runtime::Recorder::draw) apply.
unsafe fn place(
    ctx: &Context,
    arena: &mut ArenaAccess<'_>,
    bytes: &[u8],
) -> Result<Address, RuntimeError> {
    unsafe { arena.reserve(ctx, bytes.len() as u64, 0) }?;
    Ok(split(arena.upload().push(bytes.iter().copied())?.address))
}
