//! Records captures whose counts and positions the CPU knows: computes what `shaders/setup.wgsl`
//! computes on the GPU.

use super::capture::{Attributes, Capture, PendingDraw, Position, TargetBuffer};
use super::listed::MAX_LISTED_DRAWS;
use super::plan::{CaptureStep, Draws, Size, Step, Touched, When};
use super::play::{After, Playback, Written};
use super::queries::{operations_upload, place_operations};
use crate::capture::MAX_XFB_BUFFERS;
use crate::counts::{BoundBuffer, DrawCounts};
use crate::lower::kernel::Kernel;
use crate::runtime::fold::fold;
use crate::runtime::pipeline::{Key, Source};
use crate::runtime::{Barrier, Captured, RuntimeError};
use crate::sysval::setup::{Input, Operation, operation};
use crate::sysval::{Address, DrawSysvals, flags, offset, reciprocal, split};
use crate::topology::{PrimitiveTopology, Shape, XfbTopology};

/// [`Context::max_shared_workgroups`](crate::runtime::Context::max_shared_workgroups), by default:
/// draws of at most this many workgroups share a dispatch, counted in the workgroups that it has. A
/// larger draw has a dispatch of its own: its invocations read the draw from push constants, not from
/// memory. What a small draw would gain from staging does not make up for the time that its code takes
/// to compile.
pub(in crate::runtime) const SMALL: u32 = 64;

/// The most workgroups of a shared dispatch, if two axes allow that many.
const SHARED: u32 = 1 << 20;

/// One dispatch that captures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dispatch {
    /// The first draw and the number of draws, among the placed draws.
    pub(super) first: usize,
    pub(super) count: usize,
    /// The number of the state of the draws.
    pub(super) state: usize,
    pub(super) workgroups: u32,
    /// What the pipeline of the first draw is compiled for, if it has the dispatch alone.
    own: Key,
    /// The topology of the draws, if all are decomposed alike.
    topology: Option<XfbTopology>,
    /// The workgroups of the draws in a dispatch that they share, or `None` if the first one shares
    /// none.
    shared: Option<u32>,
    /// The address of the draws, where they are in memory.
    pub(super) listed: Address,
}

impl Dispatch {
    /// What the pipeline is compiled for. `small` is
    /// [`Context::max_shared_workgroups`](crate::runtime::Context::max_shared_workgroups).
    fn key(&self, small: u32) -> Key {
        match (self.count, self.own.source) {
            (1, Source::Pushed) => self.own,
            _ => self.key_by_kernel(small),
        }
    }

    /// The same if only the GPU knows where the draws are captured.
    pub(super) fn key_by_kernel(&self, small: u32) -> Key {
        let source = if self.count > 1 { Source::Listed } else { Source::Placed };
        let topology = shared_topology(self.topology, self.workgroups.into(), small);
        Key { topology, ..Key::of(source) }
    }
}

/// The topology of a dispatch that another draw joins: `None` if that is decomposed differently.
pub(super) fn joined_topology(
    topology: Option<XfbTopology>,
    joining: PrimitiveTopology,
) -> Option<XfbTopology> {
    topology.filter(|topology| *topology == joining.xfb_topology())
}

/// The topology that the pipeline is compiled for of a dispatch that several draws may share, which has `most`
/// workgroups at most. For little work, a pipeline for each topology would not make up for the time that it
/// takes to compile. `small` is
/// [`Context::max_shared_workgroups`](crate::runtime::Context::max_shared_workgroups).
pub(super) fn shared_topology(
    topology: Option<XfbTopology>,
    most: u64,
    small: u32,
) -> Option<XfbTopology> {
    topology.filter(|_| most > small.into())
}

/// Values that the CPU counted for a query and that were not added to the query yet. They wrap like
/// the sums of the GPU.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    slot: Address,
    values: [u64; 2],
}

impl Tally {
    fn add(&mut self, values: [u64; 2]) {
        let [a, b] = self.values;
        self.values = [a.wrapping_add(values[0]), b.wrapping_add(values[1])];
    }
}

/// The position of the next draw.
pub(super) struct Cursor {
    record: u32,
    captured: Option<Captured>,
    stream: Tally,
    generated: Tally,
}

impl Cursor {
    /// The position of record 0, where all draws have these queries.
    pub(super) fn for_queries(stream: Address, generated: Address) -> Self {
        let tally = |slot| Tally { slot, values: [0; 2] };
        Self { record: 0, captured: None, stream: tally(stream), generated: tally(generated) }
    }

    /// The primitives that were written, and those that were needed.
    pub(super) const fn counted(&self) -> [u64; 2] {
        self.stream.values
    }
}

impl Capture {
    /// Places the draws, of which the first one begins with record number `record`, and finds what is to be
    /// written to counters and queries. Returns the state after them.
    pub(super) fn place_draws(
        &mut self,
        record: u32,
        counters: &[Address; MAX_XFB_BUFFERS],
    ) -> Result<After, RuntimeError> {
        let mut cursor = Cursor {
            record,
            captured: self.captured,
            stream: Tally::default(),
            generated: Tally::default(),
        };
        for number in 0..self.pending.draws.len() {
            let draw = self.pending.draws[number];
            self.place_draw(&draw, &mut cursor)?;
        }
        for tally in [cursor.stream, cursor.generated] {
            self.tell_query(tally);
        }
        let after = After { position: Position::Known(cursor.record), captured: cursor.captured };
        self.counter_operations(&after, counters);
        Ok(after)
    }

    /// Plans captures of the placed draws, and what is written to counters and queries.
    pub(super) fn plan_direct(&mut self) -> Result<(), RuntimeError> {
        if self.captures() && !self.plan.dispatches.is_empty() {
            self.plan.steps.push(Step::Barrier {
                which: Barrier::BetweenCaptures,
                when: When::InOrder,
                then: Touched::Captured,
            });
            let small = self.ctx.max_shared_workgroups();
            for (number, dispatch) in self.plan.dispatches.iter().enumerate() {
                self.plan.steps.push(Step::Capture(CaptureStep {
                    key: dispatch.key(small),
                    state: dispatch.state,
                    draws: match dispatch.count {
                        1 => Draws::Pushed(dispatch.first),
                        _ => Draws::Listed(number),
                    },
                    size: Size::Direct(self.workgroups_of(dispatch).into()),
                }));
            }
        }
        let operations = self.plan.operations.len() as u64;
        if operations > 0 {
            let workgroups = fold(operations, self.ctx.max_workgroups_per_axis())?;
            self.plan.steps.extend([
                Step::Barrier {
                    which: Barrier::BeforeFinish,
                    when: When::Touched,
                    then: Touched::Finished,
                },
                Step::Kernel { kernel: Kernel::Finish, workgroups },
            ]);
        }
        let shared = self.plan.dispatches.iter().filter(|dispatch| dispatch.count > 1);
        self.plan.upload = shared.map(|dispatch| self.listed_upload(dispatch)).sum::<u64>()
            + operations_upload(self.plan.operations.len());
        Ok(())
    }

    /// Writes what [`plan_direct`](Self::plan_direct) planned.
    pub(super) fn write_direct(
        &mut self,
        playback: &mut Playback<'_>,
        written: &mut Written,
    ) -> Result<(), RuntimeError> {
        for number in 0..self.plan.dispatches.len() {
            if self.plan.dispatches[number].count > 1 {
                self.write_listed(playback.arena.upload(), number)?;
            }
        }
        let operations = self.plan.operations.iter();
        let resolved = operations.map(|o| Operation { address: self.resolve(o.address), ..*o });
        let finish = place_operations(&self.ctx, playback.arena.upload(), resolved)?;
        written.parameters = finish.map(|(parameters, _)| parameters);
        Ok(())
    }

    /// Computes what the setup kernel would compute, and adds the draw to a dispatch.
    pub(super) fn place_draw(
        &mut self,
        draw: &PendingDraw,
        cursor: &mut Cursor,
    ) -> Result<(), RuntimeError> {
        let Input { stream_query, generated_query, .. } = draw.input;
        // Each query separately. The operations of one kernel dispatch are not ordered, so there is
        // one operation per query, with the whole sum.
        for (tally, slot) in
            [(&mut cursor.stream, stream_query), (&mut cursor.generated, generated_query)]
        {
            if tally.slot != slot {
                let ended = std::mem::replace(tally, Tally { slot, values: [0; 2] });
                self.tell_query(ended);
            }
        }

        let buffers = self.targets.iter().flatten().map(|t| {
            let written = u64::from(cursor.record) * u64::from(t.buffer.stride);
            BoundBuffer { position: t.buffer.position + written, ..t.buffer }
        });
        let Input { count, instance_count, .. } = draw.input;
        let counts = DrawCounts::new(draw.topology, count, instance_count, buffers);
        cursor.stream.add([counts.primitives_written, counts.primitives_needed]);
        cursor.generated.add([counts.primitives_needed, 0]);
        if self.is_counted()
            && let Some(captured) = &mut cursor.captured
        {
            captured.add(&counts);
        }
        if counts.output_limit == 0 {
            return Ok(());
        }
        let size = self.workgroup_size_of(draw.state, &Key::ANY);
        let [columns, rows] = self.dispatch_size(invocations(draw.topology, &counts), size)?;
        let placed = draw_sysvals(&draw.input, draw.topology, &counts, cursor.record);
        let shared = self.shared_workgroups(draw, &placed);
        let own = self.key_of(draw, columns * rows, shared);
        let dispatch = Dispatch {
            first: self.plan.placed.len(),
            count: 1,
            state: draw.state,
            workgroups: columns * rows,
            shared,
            own,
            topology: Some(draw.topology.xfb_topology()),
            listed: Address::default(),
        };
        self.place(placed, draw, dispatch);
        cursor.record += counts.output_limit;
        Ok(())
    }

    /// The workgroups of a draw in a dispatch that it shares, or `None` if it shares none.
    fn shared_workgroups(&self, draw: &PendingDraw, placed: &DrawSysvals) -> Option<u32> {
        let size = self.workgroup_size_of(draw.state, &Key::of(Source::Listed)).max(1);
        let workgroups = placed.invocations.div_ceil(size);
        let is_small = workgroups <= self.ctx.max_shared_workgroups();
        (draw.input.flags & flags::FAR_ATTRIBUTES == 0 && is_small).then_some(workgroups)
    }

    /// Adds a draw to the last dispatch, or begins with its own.
    fn place(&mut self, mut placed: DrawSysvals, draw: &PendingDraw, own: Dispatch) {
        let per_axis = self.ctx.max_workgroups_per_axis();
        let most = SHARED.min(per_axis.saturating_mul(per_axis));
        let plan = &mut self.plan;
        let last = plan.dispatches.last_mut();
        let last = last.filter(|last| last.state == own.state && last.count < MAX_LISTED_DRAWS);
        if let Some(last) = last
            && let (Some(before), Some(more)) = (last.shared, own.shared)
            && before + more <= most
        {
            placed.first_workgroup = before;
            last.count += 1;
            last.topology = joined_topology(last.topology, draw.topology);
            last.shared = Some(before + more);
            last.workgroups = before + more;
        } else {
            plan.dispatches.push(own);
        }
        plan.placed.push(placed);
    }

    /// Adds an operation that adds the counted values to a query.
    fn tell_query(&mut self, tally: Tally) {
        let Tally { slot, values: [a, b] } = tally;
        if a != 0 || b != 0 {
            let [a, b] = [split(a), split(b)];
            self.push_operation(Operation {
                address: slot,
                kind: operation::ADD,
                values: [a[0], a[1], b[0], b[1]],
                ..Default::default()
            });
        }
    }

    /// Adds an operation, unless its address is null.
    fn push_operation(&mut self, operation: Operation) {
        if operation.address != Address::default() {
            self.plan.operations.push(operation);
        }
    }

    /// The number of workgroups of a dispatch. A fan without checks has fewer than others: three invocations for
    /// two items.
    fn workgroups_of(&self, dispatch: &Dispatch) -> u32 {
        let Dispatch { first, count, state, workgroups, own, topology, .. } = *dispatch;
        let is_unchecked = count == 1 && own.source == Source::Pushed && !own.checked;
        match self.plan.placed.get(first) {
            Some(placed) if is_unchecked && topology == Some(XfbTopology::TriFan) => {
                let invocations = placed.item_count + placed.item_count.div_ceil(2);
                invocations.div_ceil(self.workgroup_size_of(state, &own).max(1))
            }
            _ => workgroups,
        }
    }

    /// What the pipeline for a draw with a dispatch of its own is compiled for.
    fn key_of(&self, draw: &PendingDraw, workgroups: u32, shared: Option<u32>) -> Key {
        let Input { flags, base_vertex, count, instance_count, first_instance, .. } = draw.input;
        let state = self.pending.states.get(draw.state);
        let attributes = state.and_then(|state| self.pending.attributes.get(state.attributes));
        let pipeline = state.and_then(|state| self.pipeline_of(state));
        let (Some(attributes), Some(pipeline)) = (attributes, pipeline) else { return Key::ANY };
        if !self.is_single(draw) {
            return Key::ANY;
        }
        let most = match pipeline.is_staged() {
            true => self.ctx.max_shared_workgroups(),
            false => self.ctx.max_workgroups_per_axis(),
        };
        let end = u64::from(base_vertex) + u64::from(count);
        let indexed = flags & flags::INDEX_SIZE != 0;
        let checked = indexed
            || !self.is_aligned(attributes)
            || workgroups > most
            || instance_count != 1
            || end > attributes.vertices.into()
            || first_instance >= attributes.instances;
        // For little work, a pipeline for each topology would not make up for the time that it takes
        // to compile, unless it compiles fast.
        if checked && shared.is_some() && pipeline.fixed_topology().is_none() {
            return Key::ANY;
        }
        let topology = Some(draw.topology.xfb_topology());
        Key { indexed, checked, topology, ..Key::of(Source::Pushed) }
    }

    /// Whether a pipeline for one draw takes this one: elements of attributes begin within 4 GiB, and
    /// either all accesses are aligned to their size, or the pipeline tests that.
    pub(super) fn is_single(&self, draw: &PendingDraw) -> bool {
        let state = self.pending.states.get(draw.state);
        let attributes = state.and_then(|state| self.pending.attributes.get(state.attributes));
        draw.input.flags & flags::FAR_ATTRIBUTES == 0
            && (self.ctx.tests_alignment() || attributes.is_some_and(|a| self.is_aligned(a)))
    }

    /// Whether accesses to attributes and records are aligned to their size.
    fn is_aligned(&self, attributes: &Attributes) -> bool {
        attributes.are_aligned && self.targets.iter().flatten().all(TargetBuffer::is_aligned)
    }

    /// Returns the draw with a resolved index buffer address.
    pub(super) fn resolved_draw(&self, draw: DrawSysvals) -> DrawSysvals {
        let index_address = self.readable(draw.index_address, draw.index_limit);
        DrawSysvals { index_address, ..draw }
    }
}

/// The number of invocations that capture a draw.
fn invocations(topology: PrimitiveTopology, counts: &DrawCounts) -> u64 {
    let items = u64::from(counts.instance_count) * u64::from(counts.item_count);
    items * u64::from(invocations_per_item(topology))
}

/// A fan needs two invocations for each item: the additional ones write the hub into every
/// primitive. Plain captures need [fewer](Capture::workgroups_of).
pub(super) fn invocations_per_item(topology: PrimitiveTopology) -> u32 {
    match topology.shape() {
        Shape::TriFan => 2,
        _ => 1,
    }
}

/// Converts a direct input to the draw that it describes.
fn draw_sysvals(
    input: &Input,
    topology: PrimitiveTopology,
    counts: &DrawCounts,
    base_record: u32,
) -> DrawSysvals {
    DrawSysvals {
        output_count: counts.output_count,
        output_end: base_record + counts.output_limit,
        item_count: counts.item_count,
        instance_count: counts.instance_count,
        base_record,
        invocations: u32::try_from(invocations(topology, counts)).unwrap_or(u32::MAX),
        reciprocal: reciprocal(counts.item_count * invocations_per_item(topology)),
        ..unclamped_draw(input)
    }
}

/// Converts a direct input to a draw that is not clamped yet: it has the number of vertices or
/// indices as `item_count`.
pub(super) fn unclamped_draw(input: &Input) -> DrawSysvals {
    let size = input.flags & flags::INDEX_SIZE;
    let skipped = input.first.min(input.index_limit);
    DrawSysvals {
        xfb_topology: input.topology,
        flags: input.flags,
        output_count: 0,
        output_end: 0,
        item_count: input.count,
        instance_count: input.instance_count,
        base_vertex: input.base_vertex,
        first_instance: input.first_instance,
        draw_index: input.draw_index,
        base_record: 0,
        first_workgroup: 0,
        index_limit: input.index_limit - skipped,
        index_address: offset(input.index_address, u64::from(skipped) * u64::from(size)),
        invocations: 0,
        reciprocal: 0,
    }
}
