//! Captures by compute: draws are collected, and recorded together.

use ash::vk;

use super::direct::Dispatch;
use super::gpu::GpuGroup;
use super::resources::BoundSets;
use super::{Arguments, CaptureDesc, Captured, Recorded, check_topology};
use crate::capture::MAX_XFB_BUFFERS;
use crate::draw::{BoundBuffer, DrawCounts};
use crate::runtime::arena::Place;
use crate::runtime::descriptors::Purpose;
use crate::runtime::draws::{CounterBuffer, IndexBuffer, IndirectDraw, VertexBuffer};
use crate::runtime::fold::dispatch_size;
use crate::runtime::pulling;
use crate::runtime::{Arena, Context, Kernels, Pipeline, QueryKind, QueryPool, RuntimeError};
use crate::sysval::setup::{Input, Operation, ReductionEntry, kind, operation};
use crate::sysval::{
    Address, AttributeDescriptor, DrawSysvals, INLINE_ATTRIBUTES, Sysvals, draw_flags, flags, split,
};
use crate::topology::{PrimitiveTopology, ProvokingVertex, Shape};

/// Draws that are collected, and what of them changes seldom.
#[derive(Debug, Default)]
pub(in crate::runtime) struct Pending {
    pub(super) draws: Vec<PendingDraw>,
    pub(super) vertex_buffers: Vec<VertexBuffer>,
    pub(super) attributes: Vec<Attributes>,
    /// Of all [`Attributes`], those beyond the inline ones.
    pub(super) attribute_table: Vec<AttributeDescriptor>,
    pub(super) operations: Vec<Operation>,
    pub(super) placed: Vec<DrawSysvals>,
    pub(super) dispatches: Vec<Dispatch>,
    pub(super) groups: Vec<GpuGroup>,
    /// Draws whose indices are reduced, those of them that take more than one workgroup, and workgroups of
    /// all.
    pub(super) reductions: Vec<ReductionEntry>,
    pub(super) scans: Vec<u32>,
    pub(super) reduction_workgroups: u64,
    pub(super) bound_sets: BoundSets,
    /// Descriptors of the attributes that are bound or placed last.
    pub(super) descriptors: Vec<AttributeDescriptor>,
    /// Numbers of the [`Attributes`] that draws use, and all addresses that they reach.
    pub(super) used_attributes: Vec<usize>,
    pub(super) addresses: Vec<Address>,
}

impl Pending {
    /// Forgets the record.
    pub(in crate::runtime) fn forget(&mut self) {
        self.clear();
        self.vertex_buffers.clear();
        self.attribute_table.clear();
        self.attributes.clear();
        self.attributes.push(Attributes::default());
        self.bound_sets.clear();
    }

    /// Forgets the draws.
    fn clear(&mut self) {
        self.draws.clear();
        self.operations.clear();
        self.placed.clear();
        self.dispatches.clear();
        self.groups.clear();
        self.reductions.clear();
        self.scans.clear();
        self.reduction_workgroups = 0;
        self.used_attributes.clear();
        self.addresses.clear();
    }
}

/// A draw that waits to be recorded.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingDraw {
    pub(super) topology: PrimitiveTopology,
    /// As the setup kernel takes it.
    pub(super) input: Input,
    /// Number of its [`Attributes`].
    pub(super) attributes: usize,
    /// Invocations, at most.
    pub(super) invocations: u64,
    /// Indices that are looked through for restarts, at most.
    pub(super) restart_indices: u64,
}

impl PendingDraw {
    pub(super) const fn is_query_end(&self) -> bool {
        matches!(self.input.kind, kind::STREAM_QUERY_END | kind::GENERATED_QUERY_END)
    }

    /// Whether the CPU knows what is drawn.
    pub(super) const fn is_known(&self) -> bool {
        self.is_query_end() || self.input.kind == kind::DIRECT && !self.is_restarted()
    }

    pub(super) const fn is_restarted(&self) -> bool {
        self.input.flags & flags::RESTART != 0
    }
}

/// Vertex buffers, as the push constants name them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attributes {
    pub(super) inline: [AttributeDescriptor; INLINE_ATTRIBUTES],
    /// The first of the others in [`Pending::attribute_table`], and how many they are.
    pub(super) others: (usize, usize),
    /// Where those are for the draws that are recorded.
    pub(super) table: Address,
}

/// A capture buffer that something is captured to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    /// The position is that of record 0 of the capture, where it is known.
    pub(super) buffer: BoundBuffer,
    /// Address of the bound range.
    pub(super) address: Address,
}

/// Who knows where the next record goes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Position {
    /// The CPU: records behind record 0.
    Known(u32),
    /// The counters that the capture was begun with.
    Counters,
    /// An earlier setup kernel, there.
    State(u64),
}

pub(super) struct Compute<'a> {
    pub(super) ctx: &'a Context,
    pub(super) kernels: Kernels,
    pub(super) arena: &'a mut Arena,
    pub(super) cmd: vk::CommandBuffer,
    /// `None` where draws are counted only.
    pub(super) pipeline: Option<&'a Pipeline>,
    pub(super) targets: [Option<Target>; MAX_XFB_BUFFERS],
    /// Counters to begin with, by buffer.
    pub(super) counters: [Address; MAX_XFB_BUFFERS],
    pub(super) position: Position,
    /// What was captured, where it is known.
    pub(super) captured: Option<Captured>,
    pub(super) recorded: Recorded,
    /// Whether kernels have taken the place of the application's descriptor sets.
    pub(super) sets_disturbed: bool,
    indices: Option<BoundIndices>,
    restart: bool,
    /// Addresses of the active queries, or 0.
    stream_query: u64,
    generated_query: u64,
}

#[derive(Debug, Clone, Copy)]
struct BoundIndices {
    address: u64,
    limit: u32,
    size: u32,
}

impl<'a> Compute<'a> {
    /// # Safety
    /// As [`Recorder::begin`](super::Recorder::begin).
    pub(super) unsafe fn begin(
        ctx: &'a Context,
        arena: &'a mut Arena,
        cmd: vk::CommandBuffer,
        desc: &CaptureDesc<'a, '_>,
    ) -> Result<Self, RuntimeError> {
        let pipeline = desc.pipeline;
        // SAFETY: the caller's contract.
        let mut this = unsafe { Self::inactive(ctx, arena, cmd, desc.kernels) };
        this.pipeline = Some(pipeline);
        let bound = desc.buffers.iter().zip(pipeline.layout().strides);
        for (number, (bound, stride)) in bound.enumerate() {
            let (Some(bound), Some(stride)) = (bound, stride) else { continue };
            let what = format_args!("capture buffer {number}");
            // Records are of whole dwords.
            let size = bound.size / 4 * 4;
            // SAFETY: the usage and the memory are the caller's contract.
            let address =
                unsafe { this.address(Purpose::Capture, what, bound.buffer, bound.offset, size) }?;
            let buffer = BoundBuffer { size: bound.size, position: 0, stride };
            this.targets[number] = Some(Target { buffer, address: split(address) });
        }
        // SAFETY: the caller's contract.
        this.counters = unsafe { this.counter_addresses(desc.counters) }?;
        if desc.counters.iter().any(Option::is_some) {
            this.position = Position::Counters;
            this.captured = None;
        }
        this.restart = pipeline.primitive_restart();
        // SAFETY: the caller's contract.
        unsafe { this.bind_vertex_buffers(desc.vertex_buffers) }?;
        Ok(this)
    }

    /// # Safety
    /// As [`Recorder::begin`](super::Recorder::begin).
    pub(super) unsafe fn inactive(
        ctx: &'a Context,
        arena: &'a mut Arena,
        cmd: vk::CommandBuffer,
        kernels: &Kernels,
    ) -> Self {
        arena.begin_record();
        Self {
            ctx,
            kernels: *kernels,
            arena,
            cmd,
            pipeline: None,
            targets: [None; MAX_XFB_BUFFERS],
            counters: Default::default(),
            position: Position::Known(0),
            captured: Some(Captured::default()),
            recorded: Recorded::default(),
            sets_disturbed: false,
            indices: None,
            restart: false,
            stream_query: 0,
            generated_query: 0,
        }
    }

    /// # Safety
    /// As [`Recorder::begin`](super::Recorder::begin).
    pub(super) unsafe fn bind_vertex_buffers(
        &mut self,
        buffers: &[VertexBuffer],
    ) -> Result<(), RuntimeError> {
        let mut bound = std::mem::take(&mut self.arena.pending.vertex_buffers);
        bound.retain(|old| buffers.iter().all(|new| new.binding != old.binding));
        bound.extend_from_slice(buffers);
        let mut descriptors = std::mem::take(&mut self.arena.pending.descriptors);
        let attributes = self.place_attributes(&bound, &mut descriptors);
        self.arena.pending.vertex_buffers = bound;
        self.arena.pending.descriptors = descriptors;
        self.arena.pending.attributes.extend(attributes?);
        Ok(())
    }

    /// The attributes of the pipeline, if there is one. `descriptors` is room for theirs.
    fn place_attributes(
        &mut self,
        bound: &[VertexBuffer],
        descriptors: &mut Vec<AttributeDescriptor>,
    ) -> Result<Option<Attributes>, RuntimeError> {
        let Some(pipeline) = self.pipeline else { return Ok(None) };
        descriptors.clear();
        let all = pulling::descriptors(pipeline.attributes(), bound, |b| {
            let what = format_args!("the vertex buffer of binding {}", b.binding);
            // SAFETY: the usage and the memory are the contract of `bind_vertex_buffers`.
            unsafe { self.address(Purpose::Read, what, b.buffer, b.offset, b.size) }
        });
        for descriptor in all {
            descriptors.push(descriptor?);
        }
        let mut attributes = Attributes::default();
        for (inline, descriptor) in attributes.inline.iter_mut().zip(&*descriptors) {
            *inline = *descriptor;
        }
        let others = descriptors.get(INLINE_ATTRIBUTES..).unwrap_or_default();
        let table = &mut self.arena.pending.attribute_table;
        attributes.others = (table.len(), others.len());
        table.extend_from_slice(others);
        Ok(Some(attributes))
    }

    /// # Safety
    /// As [`Recorder::begin`](super::Recorder::begin).
    pub(super) unsafe fn bind_index_buffer(
        &mut self,
        buffer: &IndexBuffer,
    ) -> Result<(), RuntimeError> {
        let IndexBuffer { buffer: raw, offset, size: bytes, index_type } = *buffer;
        // SAFETY: the usage and the memory are the caller's contract.
        let address = unsafe {
            self.address(Purpose::Read, format_args!("the index buffer"), raw, offset, bytes)
        }?;
        let size = index_type.size();
        self.indices = Some(BoundIndices {
            address,
            limit: u32::try_from(bytes / u64::from(size)).unwrap_or(u32::MAX),
            size,
        });
        Ok(())
    }

    pub(super) fn set_primitive_restart(&mut self, enable: bool) -> Result<(), RuntimeError> {
        if enable && self.pipeline.is_some_and(|pipeline| !pipeline.primitive_restart()) {
            return Err(RuntimeError::NoRestart);
        }
        self.restart = enable;
        Ok(())
    }

    pub(super) fn begin_query(
        &mut self,
        pool: &QueryPool,
        number: u32,
    ) -> Result<(), RuntimeError> {
        let (buffer, offset, size) = pool.slot(number)?;
        if *self.query(pool.kind()) != 0 {
            return Err(RuntimeError::QueryActive);
        }
        // SAFETY: the pool's buffer has the usage, and lives by the contract of `Recorder::begin`.
        let slot = unsafe {
            self.address(
                Purpose::State,
                format_args!("the buffer of queries"),
                buffer,
                offset,
                size,
            )
        }?;
        *self.query(pool.kind()) = slot;
        Ok(())
    }

    pub(super) fn end_query(&mut self, kind: QueryKind) -> Result<(), RuntimeError> {
        if *self.query(kind) == 0 {
            return Err(RuntimeError::NoQuery);
        }
        let mut input = self.input(PrimitiveTopology::PointList);
        (input.kind, input.stream_query) = match kind {
            // Where nothing is captured, too.
            QueryKind::TransformFeedbackStream => {
                (kind::STREAM_QUERY_END, split(self.stream_query))
            }
            QueryKind::PrimitivesGenerated => (kind::GENERATED_QUERY_END, input.stream_query),
        };
        *self.query(kind) = 0;
        self.arena.pending.draws.push(PendingDraw {
            topology: PrimitiveTopology::PointList,
            input,
            attributes: self.arena.pending.attributes.len() - 1,
            invocations: 0,
            restart_indices: 0,
        });
        Ok(())
    }

    const fn query(&mut self, kind: QueryKind) -> &mut u64 {
        match kind {
            QueryKind::TransformFeedbackStream => &mut self.stream_query,
            QueryKind::PrimitivesGenerated => &mut self.generated_query,
        }
    }

    /// What all inputs have in common.
    fn input(&self, topology: PrimitiveTopology) -> Input {
        let provoking = self.pipeline.map_or(ProvokingVertex::First, Pipeline::provoking_vertex);
        let stream = if self.pipeline.is_some() { self.stream_query } else { 0 };
        Input {
            topology: topology.xfb_topology() as u32,
            flags: draw_flags(topology, provoking),
            stream_query: split(stream),
            generated_query: split(self.generated_query),
            ..Default::default()
        }
    }

    /// # Safety
    /// As [`Recorder::draw`](super::Recorder::draw).
    pub(super) unsafe fn push(
        &mut self,
        topology: PrimitiveTopology,
        arguments: Arguments<'_>,
        draw_index: u32,
    ) -> Result<(), RuntimeError> {
        check_topology(self.pipeline.and_then(Pipeline::fixed_topology), topology)?;
        let mut input = Input { draw_index, ..self.input(topology) };
        if let Arguments::Indexed(_) | Arguments::IndexedIndirect(_) = arguments {
            let indices = self.indices.ok_or(RuntimeError::NoIndexBuffer)?;
            input.flags |= indices.size | if self.restart { flags::RESTART } else { 0 };
            input.index_address = split(indices.address);
            input.index_limit = indices.limit;
        }
        match arguments {
            Arguments::Draw(draw) => {
                input.count = draw.vertex_count;
                input.instance_count = draw.instance_count;
                input.first = draw.first_vertex;
                input.base_vertex = draw.first_vertex;
                input.first_instance = draw.first_instance;
                self.push_input(topology, input)
            }
            Arguments::Indexed(draw) => {
                input.count = draw.index_count;
                input.instance_count = draw.instance_count;
                input.first = draw.first_index;
                input.base_vertex = draw.vertex_offset.cast_unsigned();
                input.first_instance = draw.first_instance;
                self.push_input(topology, input)
            }
            // SAFETY: the caller's contract.
            Arguments::Indirect(draw) | Arguments::IndexedIndirect(draw) => unsafe {
                self.push_indirect(topology, input, draw)
            },
            Arguments::ByteCount(draw) => {
                let CounterBuffer { buffer, offset } = draw.counter;
                // SAFETY: the usage and the memory are the caller's contract.
                let counter = unsafe {
                    self.address(
                        Purpose::State,
                        format_args!("the counter of a draw"),
                        buffer,
                        offset,
                        4,
                    )
                }?;
                input.kind = kind::BYTE_COUNT;
                input.arguments = split(counter);
                input.count = u32::MAX / draw.vertex_stride;
                input.instance_count = draw.instance_count;
                input.first = draw.counter_offset;
                input.base_vertex = draw.vertex_stride;
                input.first_instance = draw.first_instance;
                self.push_input(topology, input)
            }
        }
    }

    /// # Safety
    /// As [`Recorder::draw_indirect`](super::Recorder::draw_indirect).
    unsafe fn push_indirect(
        &mut self,
        topology: PrimitiveTopology,
        mut input: Input,
        draw: &IndirectDraw,
    ) -> Result<(), RuntimeError> {
        // A count that comes from the application is not memory that there is.
        let (has, used) = (self.arena.capacity().upload, self.arena.used().upload);
        let needed = u64::from(draw.draw_count) * size_of::<Input>() as u64;
        if needed > has - used {
            let (part, left, capacity) = ("vkxfb upload", has - used, has);
            return Err(RuntimeError::ArenaFull { part, needed, left, capacity });
        }
        input.kind = kind::INDIRECT;
        (input.count, input.instance_count) = (u32::MAX, u32::MAX);
        let command = match input.flags & flags::INDEX_SIZE {
            0 => size_of::<vk::DrawIndirectCommand>(),
            _ => size_of::<vk::DrawIndexedIndirectCommand>(),
        };
        let Some(last) = draw.draw_count.checked_sub(1) else { return Ok(()) };
        let size = u64::from(last) * u64::from(draw.stride) + command as u64;
        // SAFETY: the usage and the memory are the caller's contract.
        let first = unsafe {
            self.address(
                Purpose::Read,
                format_args!("indirect arguments"),
                draw.buffer,
                draw.offset,
                size,
            )
        }?;
        if let Some((buffer, offset)) = draw.count {
            // SAFETY: as above.
            let address = unsafe {
                self.address(Purpose::Read, format_args!("a draw count"), buffer, offset, 4)
            }?;
            input.count_address = split(address);
        }
        for index in 0..draw.draw_count {
            let offset = u64::from(index) * u64::from(draw.stride);
            input.draw_index = index;
            input.arguments = split(first.wrapping_add(offset));
            self.push_input(topology, input)?;
        }
        Ok(())
    }

    fn push_input(
        &mut self,
        topology: PrimitiveTopology,
        input: Input,
    ) -> Result<(), RuntimeError> {
        let mut draw = PendingDraw {
            topology,
            input,
            attributes: self.arena.pending.attributes.len() - 1,
            invocations: 0,
            restart_indices: 0,
        };
        if draw.is_restarted() {
            draw.restart_indices = u64::from(input.count.min(input.index_limit));
        }
        draw.invocations = self.most_invocations(&draw);
        if draw.is_known() || !self.ctx.has_indirect_dispatch() {
            self.dispatch_size(draw.invocations)?;
        }
        self.arena.pending.draws.push(draw);
        Ok(())
    }

    /// Invocations that a draw takes at most, wherever in the buffers it begins.
    fn most_invocations(&self, draw: &PendingDraw) -> u64 {
        let Input { count, instance_count, index_limit, .. } = draw.input;
        let vertices = draw.topology.vertices_per_primitive();
        let buffers = self.targets.iter().flatten();
        let buffers = buffers.map(|t| BoundBuffer { position: 0, ..t.buffer });
        let Some(room) = buffers.map(|b| b.primitives_left(vertices)).min() else { return 0 };
        let per_item = if draw.topology.shape() == Shape::TriFan { 2 } else { 1 };
        if draw.is_restarted() {
            // As in shaders/setup.wgsl; and every instance may have as few as one primitive.
            let reached = u64::from(index_limit) + 6 * (room + 1);
            let instances = u64::from(instance_count).min(room);
            return (u64::from(count).min(reached) * per_item).saturating_mul(instances);
        }
        most_items(draw.topology, count, instance_count, room) * per_item
    }

    pub(super) fn dispatch_size(&self, invocations: u64) -> Result<[u32; 2], RuntimeError> {
        let size = self.pipeline.map_or(1, Pipeline::workgroup_size);
        dispatch_size(invocations, size, self.ctx.max_workgroups_per_axis())
    }

    /// # Safety
    /// As [`Recorder::flush`](super::Recorder::flush).
    pub(super) unsafe fn flush(&mut self) -> Result<(), RuntimeError> {
        // SAFETY: the caller's contract.
        unsafe { self.record(Default::default()) }
    }

    /// # Safety
    /// As [`Recorder::end`](super::Recorder::end).
    pub(super) unsafe fn end(
        mut self,
        counters: &[Option<CounterBuffer>],
    ) -> Result<Recorded, RuntimeError> {
        // SAFETY: the caller's contract.
        unsafe {
            let counters = self.counter_addresses(counters)?;
            self.record(counters)?;
        }
        let captured = self.captured.map(|captured| Captured {
            positions: self.targets.map(|t| t.map_or(0, |t| self.position_of(&t))),
            ..captured
        });
        Ok(Recorded { captured, ..self.recorded })
    }

    /// Bytes to where the next record goes, where that is known.
    pub(super) fn position_of(&self, target: &Target) -> u64 {
        match self.position {
            Position::Known(records) => {
                target.buffer.position + u64::from(records) * u64::from(target.buffer.stride)
            }
            Position::Counters | Position::State(_) => 0,
        }
    }

    /// Records what is pending, and writes the counters that there are.
    ///
    /// # Safety
    /// As [`Recorder::flush`](super::Recorder::flush).
    unsafe fn record(&mut self, counters: [Address; MAX_XFB_BUFFERS]) -> Result<(), RuntimeError> {
        if self.arena.pending.draws.is_empty() && counters == <[Address; _]>::default() {
            return Ok(());
        }
        let mark = self.arena.mark();
        let known = matches!(self.position, Position::Known(_))
            && self.arena.pending.draws.iter().all(PendingDraw::is_known);
        let result = self.place_memory(counters).and_then(|counters| {
            // SAFETY: the caller's contract.
            unsafe {
                match known {
                    true => self.record_direct(counters),
                    false => self.record_by_setup(counters),
                }?;
                self.order(self.arena.is_scarce(self.ctx));
            }
            Ok(())
        });
        if result.is_err() {
            self.arena.rewind(mark);
        }
        self.arena.pending.clear();
        result
    }

    /// Push constants with everything but the draws.
    pub(super) fn sysvals(&self, attributes: &Attributes) -> Sysvals {
        let target = |t: Option<Target>| t.map_or(Address::default(), |t| self.resolve(t.address));
        Sysvals {
            draw: DrawSysvals::default(),
            xfb_address: self.targets.map(target),
            attribute_table: attributes.table,
            batch: Address::default(),
            attributes: attributes.inline.map(|a| self.resolve_attribute(a)),
        }
    }

    /// # Safety
    /// As [`Recorder::flush`](super::Recorder::flush).
    pub(super) unsafe fn push_constants(&self, pipeline: &Pipeline, sysvals: &Sysvals) {
        tracing::trace!(?sysvals);
        let bytes = bytemuck::bytes_of(sysvals);
        // SAFETY: the caller's contract; the layout has that range for that stage.
        unsafe {
            self.ctx.device().cmd_push_constants(
                self.cmd,
                pipeline.raw_layout(),
                vk::ShaderStageFlags::COMPUTE,
                0,
                bytes,
            );
        }
    }

    /// Operations that write the counters, whose values the CPU knows.
    pub(super) fn counter_operations(&mut self, counters: [Address; MAX_XFB_BUFFERS]) {
        for (buffer, address) in counters.into_iter().enumerate() {
            if address == Address::default() {
                continue;
            }
            let position = self.targets[buffer].map_or(0, |t| self.position_of(&t));
            // A position is at most that of the buffer's end, which is below 4 GiB.
            let values = [u32::try_from(position).unwrap_or(u32::MAX), 0, 0, 0];
            self.arena.pending.operations.push(Operation {
                address,
                kind: operation::STORE,
                reserved: 0,
                values,
            });
        }
    }

    pub(super) fn place_operations(&mut self) -> Result<Option<Place>, RuntimeError> {
        let (upload, _, pending) = self.arena.parts();
        match pending.operations.is_empty() {
            true => Ok(None),
            false => upload.push(pending.operations.iter().copied()).map(Some),
        }
    }
}

/// Invocations that capture a draw: one an item, and for a fan one more, as the hub is written into
/// every primitive by those beside the items.
pub(super) fn invocations(topology: PrimitiveTopology, counts: &DrawCounts) -> u64 {
    let fan = topology.shape() == Shape::TriFan;
    u64::from(counts.instance_count) * u64::from(counts.item_count) * if fan { 2 } else { 1 }
}

/// Items of a draw of at most `count` vertices and `instance_count` instances, of which `room` primitives
/// fit. An instance costs the items of one primitive, and each further primitive one number more.
fn most_items(topology: PrimitiveTopology, count: u32, instance_count: u32, room: u64) -> u64 {
    let primitives = topology.primitive_count(count);
    let all = primitives.saturating_mul(instance_count.into()).min(room);
    let instances = u64::from(instance_count).min(all);
    let first = topology.item_count(1);
    instances * first + (all - instances) * (topology.item_count(2) - first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_draw_has_more_items_than_the_bound(
            topology in proptest::sample::select(&PrimitiveTopology::ALL[..]),
            count in 0..100u32,
            instances in 0..100u32,
            most in 0..100u32,
            most_instances in 0..100u32,
            primitives in 0..2000u64,
        ) {
            let bound =
                most_items(topology, count.max(most), instances.max(most_instances), primitives);
            let size = 4 * u64::from(topology.vertices_per_primitive()) * primitives;
            let buffer = BoundBuffer { size, position: 0, stride: 4 };
            let counts = DrawCounts::new(topology, count, instances, [buffer]);
            prop_assert!(items_up_to_the_last(topology, &counts) <= bound);
        }
    }

    /// The last instance may be cut short, as `workgroups_of` in shaders/setup.wgsl has it.
    fn items_up_to_the_last(topology: PrimitiveTopology, counts: &DrawCounts) -> u64 {
        let m = u64::from(topology.vertices_per_primitive());
        let whole = u64::from(counts.output_limit) / u64::from(counts.output_count).max(1);
        let rest = u64::from(counts.output_limit) % u64::from(counts.output_count).max(1);
        whole * u64::from(counts.item_count) + topology.item_count(rest / m)
    }
}
