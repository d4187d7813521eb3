//! Collects draws, each with its state and with the queries that are active.

use crate::runtime::device::checks::dispatch_size;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::host_memory::TryPush;
use crate::runtime::device::parameters::{Arguments, CounterBuffer, IndirectDraw};
use crate::runtime::memory::addresses::memory_of;
use crate::runtime::memory::descriptors::purpose::Purpose;
use crate::runtime::pipelines::pipeline::Pipeline;
use crate::runtime::pipelines::pipeline::{check_input, check_topology, check_used_sets};
use crate::runtime::recording::collect::values::invocations_per_item;
use crate::runtime::recording::collect::{
    ActiveQuery, CollectedDraw, Collector, Predicate, State, StateProperties,
};
use crate::runtime::recording::queries::QueryKind;
use vkxfb_rewriter::counts::BoundBuffer;
use vkxfb_rewriter::sysval::setup::{DrawCommand, kind};
use vkxfb_rewriter::sysval::{Address, draw_flags, flags, split};
use vkxfb_rewriter::topology::PrimitiveTopology;

impl Collector {
    /// Returns the index of the current state in
    /// [`Collected::states`](crate::runtime::recording::collect::values::Collected::states), and adds the state if it
    /// differs from the last one.
    ///
    /// # Errors
    /// [`RuntimeError::HostMemory`]
    fn state(&mut self) -> Result<usize, RuntimeError> {
        let range = self.bound.pipeline.as_ref().map(Pipeline::pushed);
        let constants = range.map_or(0, |range| self.bindings.constants.snapshot(&range));
        let state = State {
            pipeline: self.bindings.pipelines.len().saturating_sub(1),
            attributes: self.bindings.attributes.len().saturating_sub(1),
            constants,
            sets: self.bindings.sets.current(),
            heaps: self.bindings.heaps.len(),
            capture: self.collected.ended.len(),
            properties: StateProperties::default(),
        };
        let last = self.collected.states.last();
        // `properties` follows from the other members, so only these are compared.
        if last.is_none_or(|last| State { properties: last.properties, ..state } != *last) {
            let properties = self.properties();
            self.collected.states.try_push(State { properties, ..state })?;
        }
        Ok(self.collected.states.len() - 1)
    }

    fn properties(&self) -> StateProperties {
        let Some(pipeline) = &self.bound.pipeline else { return StateProperties::default() };
        let attributes = self.bindings.attributes.last().copied().unwrap_or_default();
        let sets = &self.bindings.sets;
        let is_unbound = |set: &u32| !sets.is_set_bound(sets.current(), *set);
        StateProperties {
            sizes: Some(pipeline.workgroup_sizes()),
            is_counted: pipeline.captures_outputs(),
            is_staged: pipeline.is_staged(),
            fixed_topology: pipeline.fixed_topology(),
            geometry: pipeline.geometry(),
            maps_push_data: pipeline.heaps().is_some_and(|heaps| !heaps.read().is_empty()),
            has_aligned_attributes: attributes.are_aligned,
            vertices: attributes.vertices,
            instances: attributes.instances,
            unbound_set: pipeline.used_sets().iter().copied().find(is_unbound),
        }
    }

    /// Whether the next draw must be collected for this stream: the draw can emit to the stream, and the stream is
    /// captured or counted. Stream 0 also collects draws that are neither captured nor counted, so that their arguments
    /// are checked.
    fn takes_draws(&self) -> bool {
        let stream = self.collected.stream;
        let emits = match self.bound.pipeline.as_ref().and_then(Pipeline::geometry) {
            Some(geometry) => geometry.emits_to(stream),
            None => stream == 0,
        };
        let has_queries = || self.bound.queries.iter().any(ActiveQuery::is_active);
        emits && (stream == 0 || self.collected.has_targets() || has_queries())
    }

    /// Returns the [`DrawCommand`] of the next draw, with only those members set that all kinds of draws need.
    fn command(&self, topology: PrimitiveTopology) -> DrawCommand {
        let query = |kind: QueryKind| self.bound.queries[kind as usize].values;
        let pipeline = self.bound.pipeline.as_ref();
        let stream = if pipeline.is_some_and(Pipeline::captures_outputs) {
            query(QueryKind::TransformFeedbackStream)
        } else {
            Address::default()
        };
        let (predicate, inverted) = match self.bound.predicate {
            Some(Predicate { address, inverted }) => (address, inverted),
            None => (Address::default(), false),
        };
        let inverted = if inverted { flags::INVERTED } else { 0 };
        let control_points = self.bound.patch_control_points;
        let reach_far = self.bindings.attributes.last().is_some_and(|bound| bound.reach_far);
        let far = if reach_far { flags::FAR_ATTRIBUTES } else { 0 };
        DrawCommand {
            topology: topology.xfb_topology() as u32,
            flags: draw_flags(topology, control_points, self.bound.provoking_vertex)
                | inverted
                | far,
            predicate,
            stream_query: stream,
            generated_query: query(QueryKind::PrimitivesGenerated),
            ..Default::default()
        }
    }

    /// # Safety
    /// The requirements of [`Recorder::draw`](crate::runtime::Recorder::draw) apply.
    pub(super) unsafe fn push(
        &mut self,
        topology: PrimitiveTopology,
        arguments: Arguments<'_>,
        draw_index: u32,
    ) -> Result<(), RuntimeError> {
        if !self.takes_draws() {
            return Ok(());
        }
        if !self.bound.has_attributes {
            unsafe { self.find_attributes() }?;
        }
        let pipeline = self.bound.pipeline.as_ref();
        if let Some(pipeline) = pipeline {
            let sets = &self.bindings.sets;
            let is_bound = |set| sets.is_set_bound(sets.current(), set) || sets.is_assumed(set);
            check_used_sets(pipeline, is_bound)?;
        }
        check_topology(pipeline.and_then(Pipeline::fixed_topology), topology)?;
        check_input(pipeline.and_then(Pipeline::geometry), topology)?;
        let mut command = DrawCommand { draw_index, ..self.command(topology) };
        if arguments.is_indexed() {
            let indices = self.bound.indices.ok_or(RuntimeError::NoIndexBuffer)?;
            if let Some((end, memory)) = indices.partial_end
                && pipeline.is_some_and(|pipeline| !pipeline.byte_loads())
            {
                let what = "the index buffer".to_owned();
                return Err(RuntimeError::PartialDword { what, end, memory });
            }
            command.flags |= indices.size | if self.bound.restart { flags::RESTART } else { 0 };
            if indices.partial_end.is_some() {
                command.flags |= flags::PARTIAL_INDICES;
            }
            command.index_address = split(indices.address);
            command.index_limit = indices.limit;
            command.restart_index = indices.restart_index;
        }
        match arguments {
            Arguments::Draw(draw) => {
                command.count = draw.vertex_count;
                command.instance_count = draw.instance_count;
                command.first = draw.first_vertex;
                command.base_vertex = draw.first_vertex;
                command.first_instance = draw.first_instance;
                self.push_command(topology, command)
            }
            Arguments::Indexed(draw) => {
                command.count = draw.index_count;
                command.instance_count = draw.instance_count;
                command.first = draw.first_index;
                command.base_vertex = draw.vertex_offset.cast_unsigned();
                command.first_instance = draw.first_instance;
                self.push_command(topology, command)
            }
            Arguments::Indirect(draw) | Arguments::IndexedIndirect(draw) => unsafe {
                self.push_indirect(topology, command, draw)
            },
            Arguments::ByteCount(draw) => {
                let CounterBuffer { buffer, offset } = draw.counter;
                let (what, range) = (format_args!("the counter of a draw"), (buffer, offset, 4));
                // SAFETY: the usage and the memory are the caller's contract.
                let counter = unsafe { self.address(Purpose::State, what, range) }?;
                command.kind = kind::BYTE_COUNT;
                command.arguments = split(counter);
                command.count = u32::MAX / draw.vertex_stride;
                command.instance_count = draw.instance_count;
                command.first = draw.counter_offset;
                command.base_vertex = draw.vertex_stride;
                command.first_instance = draw.first_instance;
                self.push_command(topology, command)
            }
        }
    }

    /// # Safety
    /// The requirements of [`Recorder::draw_indirect`](crate::runtime::Recorder::draw_indirect) apply.
    unsafe fn push_indirect(
        &mut self,
        topology: PrimitiveTopology,
        mut command: DrawCommand,
        draw: &IndirectDraw,
    ) -> Result<(), RuntimeError> {
        command.kind = kind::INDIRECT;
        (command.count, command.instance_count) = (u32::MAX, u32::MAX);
        let command_size = IndirectDraw::command_size(command.flags & flags::INDEX_SIZE != 0);
        let Some(last) = draw.draw_count.checked_sub(1) else { return Ok(()) };
        let size = u64::from(last) * u64::from(draw.stride) + u64::from(command_size);
        unsafe { self.check_commands(draw, size) }?;
        let (what, range) = (format_args!("indirect arguments"), (draw.buffer, draw.offset, size));
        // SAFETY: the usage and the memory are the caller's contract.
        let first = unsafe { self.address(Purpose::Read, what, range) }?;
        if let Some((buffer, offset)) = draw.count {
            let (what, range) = (format_args!("a draw count"), (buffer, offset, 4));
            // SAFETY: the usage and the memory are the caller's contract.
            let address = unsafe { self.address(Purpose::Read, what, range) }?;
            command.count_address = split(address);
        }
        command.arguments = split(first);
        (command.draw_count, command.stride) = (draw.draw_count, draw.stride);
        self.push_command(topology, command)
    }

    /// Under the descriptor plan, checks that the buffer of an indirect draw can contain all its commands, which take
    /// `size` bytes: a descriptor must not exceed its buffer. With device addresses no check is needed, because the GPU
    /// reads only as many commands as the draw executes.
    ///
    /// # Errors
    /// [`RuntimeError::CommandsPastTheEnd`].
    ///
    /// # Safety
    /// The requirements of [`Recorder::draw_indirect`](crate::runtime::Recorder::draw_indirect) apply.
    unsafe fn check_commands(&self, draw: &IndirectDraw, size: u64) -> Result<(), RuntimeError> {
        if self.ctx.table().is_none() || draw.draw_count <= 1 {
            return Ok(());
        }
        let end = draw.offset.saturating_add(size);
        let memory = unsafe { memory_of(&self.ctx, draw.buffer) };
        let draw_count = draw.draw_count;
        if end > memory {
            Err(RuntimeError::CommandsPastTheEnd { draw_count, end, memory })
        } else {
            Ok(())
        }
    }

    fn push_command(
        &mut self,
        topology: PrimitiveTopology,
        mut command: DrawCommand,
    ) -> Result<(), RuntimeError> {
        if topology == PrimitiveTopology::PatchList {
            let points = self.bound.patch_control_points;
            command.flags |=
                slice_bits(&command, points, self.ctx.limits_loops()) << flags::SLICE_SHIFT;
        }
        let state = self.state()?;
        let buffers = self.collected.bound_targets().map(|target| target.buffer);
        let draw = CollectedDraw {
            topology,
            command,
            state,
            invocations: most_invocations(topology, &command, buffers),
        };
        if self.collected.properties_of(&draw).geometry.is_some() {
            draw.check_geometry()?;
        } else if draw.is_known() || !self.ctx.settings().indirect_dispatch {
            let size = self.collected.properties_of(&draw).workgroup_size(&draw.any_key());
            let invocations = draw.most_workgroups(size) * u64::from(size);
            dispatch_size(invocations, size, self.ctx.settings().max_workgroups_per_axis)?;
        }
        self.collected.draws.try_push(draw)
    }
}

/// The patches of a draw are cut into slices (runs of consecutive primitives of a patch), each for one invocation. If a
/// draw has few patches, they are cut into about this many slices in all, which is enough for a large GPU.
const SLICED_ITEMS: u64 = 1 << 16;

/// The largest number of slices of a patch. It is limited, because each invocation runs the vertex and the control
/// shader of its patch again.
const MOST_SLICES: u64 = 128;
const _: () =
    assert!(MOST_SLICES.ilog2() <= flags::slice_bits(u32::MAX), "the flags of a draw have no room");

/// The number of slices per patch if only the GPU knows the number of patches.
const UNKNOWN_SLICES: u64 = 8;

/// The smallest number of slices per patch on devices with the workaround
/// [`ShortLoops`](crate::runtime::device::workarounds::WorkaroundEffect::ShortLoops). The more slices a patch has, the
/// fewer iterations the loops of an invocation have.
const LEAST_LIMITED_SLICES: u64 = 16;

/// The largest number of slices of `draws` draws that have `patches` patches in all.
pub(crate) fn most_slices(draws: u64, patches: u64) -> u64 {
    let few = draws.saturating_mul(SLICED_ITEMS);
    let many = patches.saturating_mul(LEAST_LIMITED_SLICES);
    patches.saturating_mul(MOST_SLICES).min(few.saturating_add(many))
}

/// The binary logarithm of the number of slices of each patch of a draw. The fewer patches a draw has, the more slices
/// each patch is cut into, so that there is work for the whole GPU. With primitive restart any index may begin a patch,
/// so each index counts as a patch here.
fn slice_bits(command: &DrawCommand, control_points: u32, limits_loops: bool) -> u32 {
    let step = if command.flags & flags::RESTART == 0 { control_points.max(1) } else { 1 };
    let patches = u64::from(command.count / step);
    let slices = match command.kind {
        kind::DIRECT => SLICED_ITEMS / (patches * u64::from(command.instance_count)).max(1),
        _ => UNKNOWN_SLICES,
    };
    let least = if limits_loops { LEAST_LIMITED_SLICES } else { 1 };
    slices.clamp(least, MOST_SLICES).ilog2()
}

/// Returns the largest number of invocations that a draw may need, for any position of its first record in the capture
/// buffers.
pub(in crate::runtime::recording) fn most_invocations(
    topology: PrimitiveTopology,
    command: &DrawCommand,
    buffers: impl Iterator<Item = BoundBuffer>,
) -> u64 {
    let DrawCommand { count, instance_count, index_limit, flags: bits, .. } = *command;
    let vertices = topology.vertices_per_primitive();
    let buffers = buffers.map(|buffer| BoundBuffer { position: 0, ..buffer });
    let Some(room) = buffers.map(|buffer| buffer.primitives_left(vertices)).min() else { return 0 };
    let items = match bits & flags::RESTART {
        0 => most_items(topology, count, instance_count, room),
        _ => most_restarted(count, index_limit, instance_count, room),
    };
    items.saturating_mul(invocations_per_item(topology).into())
}

/// Returns the largest number of items (captured vertices of a draw) of a draw with at most `count` vertices per
/// instance and `instance_count` instances, if `room` primitives fit into the capture buffers. The first primitive of
/// an instance needs the most items. Each further primitive of the instance needs a fixed number of additional items,
/// at most as many as the first one.
fn most_items(topology: PrimitiveTopology, count: u32, instance_count: u32, room: u64) -> u64 {
    let primitives = topology.primitive_count(count);
    let all = primitives.saturating_mul(instance_count.into()).min(room);
    let instances = u64::from(instance_count).min(all);
    let first = topology.item_count(1);
    instances * first + (all - instances) * (topology.item_count(2) - first)
}

/// The largest number of items (indices that invocations process) of a draw with primitive restart. `index_limit` is
/// the number of its indices within the bound range of the index buffer, and `room` the number of primitives that fit
/// into the capture buffers. shaders/setup.wgsl computes the number of items from the number of primitives per
/// instance; this function returns an upper bound for every such number.
fn most_restarted(count: u32, index_limit: u32, instance_count: u32, room: u64) -> u64 {
    let items = |primitives: u64| {
        let reached = u64::from(index_limit) + 6 * (primitives + 1);
        u64::from(count).min(reached)
    };
    let instances = u64::from(instance_count).min(room);
    // For a fixed total number of primitives, the number of items is largest if each instance has only one primitive.
    instances.saturating_mul(items(room)).min(room.saturating_mul(items(1)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use vkxfb_rewriter::counts::DrawCounts;

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
            // `draw_of` in shaders/setup.wgsl computes the number of items in the same way.
            let written = (primitives * instances).min(room);
            let instances = (written - 1) / primitives + 1;
            let reached = u64::from(index_limit) + 6 * (primitives.min(written) + 1);
            prop_assert!(instances * u64::from(count).min(reached) <= bound);
        }
    }

    /// Returns the number of items up to the last one that is captured. The last instance may be captured incompletely,
    /// see `invocations_of` in shaders/placing.wgsl.
    fn items_up_to_the_last(topology: PrimitiveTopology, counts: &DrawCounts) -> u64 {
        let m = u64::from(topology.vertices_per_primitive());
        let whole = u64::from(counts.output_limit) / u64::from(counts.output_count).max(1);
        let rest = u64::from(counts.output_limit) % u64::from(counts.output_count).max(1);
        whole * u64::from(counts.item_count) + topology.item_count(rest / m)
    }
}
