//! What is drawn: collected draw by draw, with what is bound and which queries are active.

use super::checks::check_topology;
use super::compute::{Attributes, Compute, DrawState, PendingDraw};
use super::draws::Arguments;
use crate::draw::BoundBuffer;
use crate::runtime::descriptors::Purpose;
use crate::runtime::draws::{CounterBuffer, IndexBuffer, IndirectDraw, VertexBuffer};
use crate::runtime::{Pipeline, QueryKind, QueryPool, RuntimeError, pulling};
use crate::sysval::setup::{Input, kind};
use crate::sysval::{AttributeDescriptor, INLINE_ATTRIBUTES, draw_flags, flags, split};
use crate::topology::{PrimitiveTopology, ProvokingVertex, Shape};

#[derive(Debug, Clone, Copy)]
pub(super) struct BoundIndices {
    address: u64,
    limit: u32,
    size: u32,
}

impl Compute<'_> {
    /// # Safety
    /// As [`Recorder::begin`](super::Recorder::begin).
    pub(super) unsafe fn bind_vertex_buffers(
        &mut self,
        buffers: &[VertexBuffer],
    ) -> Result<(), RuntimeError> {
        let pending = &mut self.arena.pending;
        let mut bound = std::mem::take(&mut pending.next_vertex_buffers);
        bound.clear();
        let is_kept = |old: &&VertexBuffer| buffers.iter().all(|new| new.binding != old.binding);
        bound.extend(pending.vertex_buffers.iter().filter(is_kept));
        bound.extend_from_slice(buffers);
        let mut descriptors = std::mem::take(&mut pending.descriptors);
        // SAFETY: the caller's contract.
        let attributes = unsafe { self.place_attributes(&bound, &mut descriptors) };
        let pending = &mut self.arena.pending;
        pending.descriptors = descriptors;
        pending.next_vertex_buffers = bound;
        // What is refused is not bound.
        pending.attributes.extend(attributes?);
        // Swapping would make both vectors reallocate.
        pending.vertex_buffers.clear();
        pending.vertex_buffers.extend_from_slice(&pending.next_vertex_buffers);
        Ok(())
    }

    /// The attributes of the pipeline, if there is one. `descriptors` is room for theirs.
    ///
    /// # Safety
    /// As [`bind_vertex_buffers`](Self::bind_vertex_buffers).
    unsafe fn place_attributes(
        &mut self,
        bound: &[VertexBuffer],
        descriptors: &mut Vec<AttributeDescriptor>,
    ) -> Result<Option<Attributes>, RuntimeError> {
        let Some(pipeline) = self.pipeline else { return Ok(None) };
        descriptors.clear();
        let all = pulling::descriptors(pipeline.attributes(), bound, |b| {
            let what = format_args!("the vertex buffer of binding {}", b.binding);
            // SAFETY: the usage and the memory are the caller's contract.
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

    /// # Safety
    /// As [`Recorder::begin_query`](super::Recorder::begin_query).
    pub(super) unsafe fn begin_query(
        &mut self,
        pool: &QueryPool,
        number: u32,
    ) -> Result<(), RuntimeError> {
        let (buffer, offset, size) = pool.slot(number)?;
        if *self.query(pool.kind()) != 0 {
            return Err(RuntimeError::QueryActive);
        }
        // SAFETY: the pool's buffer has the usage, and lives by the caller's contract.
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
        let state = self.state();
        self.arena.pending.draws.push(PendingDraw {
            topology: PrimitiveTopology::PointList,
            input,
            state,
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

    /// Number of the state that a draw finds now.
    fn state(&mut self) -> usize {
        let pending = &mut self.arena.pending;
        let attributes = pending.attributes.len() - 1;
        let state = DrawState { attributes, sets: pending.sets.current() };
        if pending.states.last() != Some(&state) {
            pending.states.push(state);
        }
        pending.states.len() - 1
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
        let command = IndirectDraw::command_size(input.flags & flags::INDEX_SIZE != 0);
        let Some(last) = draw.draw_count.checked_sub(1) else { return Ok(()) };
        let size = u64::from(last) * u64::from(draw.stride) + u64::from(command);
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
            state: self.state(),
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
            return most_restarted(count, index_limit, instance_count, room)
                .saturating_mul(per_item);
        }
        most_items(draw.topology, count, instance_count, room) * per_item
    }
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

/// The same for indices with restarts, of which the index buffer holds `index_limit`: what shaders/setup.wgsl
/// makes of any number of primitives that an instance may have.
fn most_restarted(count: u32, index_limit: u32, instance_count: u32, room: u64) -> u64 {
    let items = |primitives: u64| {
        let reached = u64::from(index_limit) + 6 * (primitives + 1);
        u64::from(count).min(reached)
    };
    let instances = u64::from(instance_count).min(room);
    // As many primitives take most items where each instance has one.
    instances.saturating_mul(items(room)).min(room.saturating_mul(items(1)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::draw::DrawCounts;

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

    proptest! {
        #[test]
        fn no_restarted_draw_has_more_items_than_the_bound(
            count in 0..300u32,
            most in 0..300u32,
            index_limit in 0..100u32,
            instances in 1..100u64,
            most_instances in 0..100u64,
            primitives in 1..300u64,
            room in 1..2000u64,
        ) {
            let most_instances = instances.max(most_instances) as u32;
            let bound = most_restarted(count.max(most), index_limit, most_instances, room);
            // As draw_of in shaders/setup.wgsl has it.
            let written = (primitives * instances).min(room);
            let instances = (written - 1) / primitives + 1;
            let reached = u64::from(index_limit) + 6 * (primitives.min(written) + 1);
            prop_assert!(instances * u64::from(count).min(reached) <= bound);
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
