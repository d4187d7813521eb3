//! Collects draws, with what is bound and the active queries.

use super::capture::{Capture, DrawState, PendingDraw, Predicate};
use super::checks::check_topology;
use super::direct::invocations_per_item;
use super::draw_commands::Arguments;
use super::resources::memory_of;
use crate::counts::BoundBuffer;
use crate::runtime::descriptors::Purpose;
use crate::runtime::fold::dispatch_size;
use crate::runtime::parameters::{CounterBuffer, IndirectDraw};
use crate::runtime::pipeline::Key;
use crate::runtime::{Pipeline, QueryKind, RuntimeError};
use crate::sysval::setup::{Input, kind};
use crate::sysval::{Address, draw_flags, flags, split};
use crate::topology::PrimitiveTopology;

impl Capture {
    /// The number of the current state.
    fn state(&mut self) -> usize {
        let range = self.bound.pipeline.as_ref().map(Pipeline::push_constants);
        let constants = range.map_or(0, |range| self.bound.constants.snapshot(range));
        let pending = &mut self.pending;
        let state = DrawState {
            pipeline: pending.pipelines.len().saturating_sub(1),
            attributes: pending.attributes.len().saturating_sub(1),
            constants,
            sets: pending.sets.current(),
        };
        if pending.states.last() != Some(&state) {
            pending.states.push(state);
        }
        pending.states.len() - 1
    }

    /// Whether draws count as captured, whatever buffers are bound: [transform feedback
    /// queries](https://docs.vulkan.org/spec/latest/chapters/queries.html#queries-transform-feedback)
    /// count primitives that are attempted to be written, so none where the shader captures no output.
    pub(super) fn is_counted(&self) -> bool {
        self.bound.pipeline.as_ref().is_some_and(|p| !p.layout().outputs.is_empty())
    }

    /// The members that all kinds of inputs have in common.
    fn input(&self, topology: PrimitiveTopology) -> Input {
        let query = |kind: QueryKind| self.bound.queries[kind as usize].values;
        let stream = match self.is_counted() {
            true => query(QueryKind::TransformFeedbackStream),
            false => Address::default(),
        };
        let (predicate, inverted) = match self.bound.predicate {
            Some(Predicate { address, inverted }) => (address, inverted),
            None => (Address::default(), false),
        };
        let inverted = if inverted { flags::INVERTED } else { 0 };
        let reach_far = self.pending.attributes.last().is_some_and(|bound| bound.reach_far);
        let far = if reach_far { flags::FAR_ATTRIBUTES } else { 0 };
        Input {
            topology: topology.xfb_topology() as u32,
            flags: draw_flags(topology, self.bound.provoking_vertex) | inverted | far,
            predicate,
            stream_query: stream,
            generated_query: query(QueryKind::PrimitivesGenerated),
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
        self.check_begun()?;
        // SAFETY: the caller's contract.
        unsafe { self.find_attributes() }?;
        self.check_used_sets()?;
        let pipeline = self.bound.pipeline.as_ref();
        check_topology(pipeline.and_then(Pipeline::fixed_topology), topology)?;
        let mut input = Input { draw_index, ..self.input(topology) };
        if let Arguments::Indexed(_) | Arguments::IndexedIndirect(_) = arguments {
            let indices = self.bound.indices.ok_or(RuntimeError::NoIndexBuffer)?;
            if let Some((end, memory)) = indices.partial_end
                && pipeline.is_some_and(|pipeline| !pipeline.byte_loads())
            {
                let what = "the index buffer".to_owned();
                return Err(RuntimeError::PartialDword { what, end, memory });
            }
            input.flags |= indices.size | if self.bound.restart { flags::RESTART } else { 0 };
            input.index_address = split(indices.address);
            input.index_limit = indices.limit;
            input.restart_index = indices.restart_index;
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
        input.kind = kind::INDIRECT;
        (input.count, input.instance_count) = (u32::MAX, u32::MAX);
        let command = IndirectDraw::command_size(input.flags & flags::INDEX_SIZE != 0);
        let Some(last) = draw.draw_count.checked_sub(1) else { return Ok(()) };
        let size = u64::from(last) * u64::from(draw.stride) + u64::from(command);
        // SAFETY: the caller's contract.
        unsafe { self.check_commands(draw, size) }?;
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
        input.arguments = split(first);
        (input.draw_count, input.stride) = (draw.draw_count, draw.stride);
        self.push_input(topology, input)
    }

    /// Checks that the buffer of an indirect draw can contain its commands of `size` bytes. A
    /// descriptor must not exceed its buffer. With device addresses no check is needed: only
    /// commands that are counted are read.
    ///
    /// # Errors
    /// [`RuntimeError::CommandsPastTheEnd`].
    ///
    /// # Safety
    /// As [`Recorder::draw_indirect`](super::Recorder::draw_indirect).
    unsafe fn check_commands(&self, draw: &IndirectDraw, size: u64) -> Result<(), RuntimeError> {
        if self.ctx.table().is_none() || draw.draw_count <= 1 {
            return Ok(());
        }
        let end = draw.offset.saturating_add(size);
        // SAFETY: the caller's contract.
        let memory = unsafe { memory_of(&self.ctx, draw.buffer) };
        let draw_count = draw.draw_count;
        match end > memory {
            true => Err(RuntimeError::CommandsPastTheEnd { draw_count, end, memory }),
            false => Ok(()),
        }
    }

    fn push_input(
        &mut self,
        topology: PrimitiveTopology,
        input: Input,
    ) -> Result<(), RuntimeError> {
        let mut draw = PendingDraw { topology, input, state: self.state(), invocations: 0 };
        draw.invocations = self.most_invocations(&draw);
        if draw.is_known() || !self.ctx.has_indirect_dispatch() {
            let size = self.workgroup_size_of(draw.state, &draw.any_key());
            let workgroups = most_workgroups(&draw, size);
            self.dispatch_size(workgroups * u64::from(size), size)?;
        }
        self.pending.draws.push(draw);
        Ok(())
    }

    /// The workgroup size of a pipeline of that state.
    pub(super) fn workgroup_size_of(&self, state: usize, key: &Key) -> u32 {
        let state = self.pending.states.get(state);
        let pipeline = state.and_then(|state| self.pipeline_of(state));
        pipeline.map_or(1, |pipeline| pipeline.workgroup_size(key))
    }

    /// # Errors
    /// [`RuntimeError::DispatchTooLarge`].
    pub(super) fn dispatch_size(
        &self,
        invocations: u64,
        workgroup_size: u32,
    ) -> Result<[u32; 2], RuntimeError> {
        dispatch_size(invocations, workgroup_size, self.ctx.max_workgroups_per_axis())
    }

    /// The most invocations that a draw can need, whatever the position of its first record.
    fn most_invocations(&self, draw: &PendingDraw) -> u64 {
        let Input { count, instance_count, index_limit, .. } = draw.input;
        let vertices = draw.topology.vertices_per_primitive();
        let buffers = self.targets.iter().flatten();
        let buffers = buffers.map(|t| BoundBuffer { position: 0, ..t.buffer });
        let Some(room) = buffers.map(|b| b.primitives_left(vertices)).min() else { return 0 };
        let per_item = u64::from(invocations_per_item(draw.topology));
        if draw.is_restarted() {
            return most_restarted(count, index_limit, instance_count, room)
                .saturating_mul(per_item);
        }
        most_items(draw.topology, count, instance_count, room) * per_item
    }
}

/// The most workgroups of `size` invocations that draws can need, if no two of them share a
/// workgroup.
pub(super) fn most_workgroups(draw: &PendingDraw, size: u32) -> u64 {
    let more = (draw.count() - 1).min(draw.invocations);
    draw.invocations.div_ceil(u64::from(size)) + more
}

/// The most items of a draw of at most `count` vertices and `instance_count` instances of which
/// `room` primitives fit. The first primitive of an instance needs the most items; each further
/// primitive needs the same number of additional items.
fn most_items(topology: PrimitiveTopology, count: u32, instance_count: u32, room: u64) -> u64 {
    let primitives = topology.primitive_count(count);
    let all = primitives.saturating_mul(instance_count.into()).min(room);
    let instances = u64::from(instance_count).min(all);
    let first = topology.item_count(1);
    instances * first + (all - instances) * (topology.item_count(2) - first)
}

/// The same for indices with restarts, where `index_limit` indices are within the bound range.
/// shaders/setup.wgsl computes the same for any number of primitives that an instance can have.
fn most_restarted(count: u32, index_limit: u32, instance_count: u32, room: u64) -> u64 {
    let items = |primitives: u64| {
        let reached = u64::from(index_limit) + 6 * (primitives + 1);
        u64::from(count).min(reached)
    };
    let instances = u64::from(instance_count).min(room);
    // For a given number of primitives, the number of items is largest if each instance has one
    // primitive.
    instances.saturating_mul(items(room)).min(room.saturating_mul(items(1)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::counts::DrawCounts;

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
            // The same as draw_of in shaders/setup.wgsl.
            let written = (primitives * instances).min(room);
            let instances = (written - 1) / primitives + 1;
            let reached = u64::from(index_limit) + 6 * (primitives.min(written) + 1);
            prop_assert!(instances * u64::from(count).min(reached) <= bound);
        }
    }

    /// The last instance may be incomplete, see `workgroups_of` in shaders/setup.wgsl.
    fn items_up_to_the_last(topology: PrimitiveTopology, counts: &DrawCounts) -> u64 {
        let m = u64::from(topology.vertices_per_primitive());
        let whole = u64::from(counts.output_limit) / u64::from(counts.output_count).max(1);
        let rest = u64::from(counts.output_limit) % u64::from(counts.output_count).max(1);
        whole * u64::from(counts.item_count) + topology.item_count(rest / m)
    }
}
