//! Places draws whose counts and positions the CPU knows: computes where they are captured, as `shaders/setup.wgsl`
//! does on the GPU. If the CPU knows everything, the plan is:
//!
//! ```text
//! captures;
//! barrier; finish, which writes counters and queries
//! ```

use std::ops::Range;

use crate::runtime::device::barrier::Barrier;
use crate::runtime::device::checks::{dispatch_size, fold};
use crate::runtime::device::error::RuntimeError;
use crate::runtime::pipelines::pipeline::{DrawSource, Key};
use crate::runtime::recording::capture_desc::Captured;
use crate::runtime::recording::collect::{
    BoundCaptureBuffer, CollectedDraw, EndedCapture, Position, Ranges, State, StateProperties,
    Targets, invocations_per_item,
};
use crate::runtime::recording::plan::{
    BlockId, CaptureStep, Draws, Planner, Queries, Size, Step, Touched, When,
};
use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;
use vkxfb_rewriter::counts::{BoundBuffer, DrawCounts};
use vkxfb_rewriter::sysval::setup::{DrawCommand, Operation, operation};
use vkxfb_rewriter::sysval::{Address, DrawSysvals, flags, join, offset, reciprocal, split};
use vkxfb_rewriter::topology::{PrimitiveTopology, XfbTopology};

/// The index of a draw in a dispatch of listed draws.
pub(in crate::runtime::recording) type ListedNumber = u16;

/// The size in bytes of an element of the list that contains the draw of each workgroup.
pub(crate) const LISTED_BYTES: u64 = size_of::<ListedNumber>() as u64;

/// The largest number of draws in a dispatch of listed draws.
pub(super) const MAX_LISTED_DRAWS: usize = 1 << ListedNumber::BITS;

/// A dispatch that several draws share has at most this number of workgroups, and at most the number that the device
/// allows on the axes x and y together.
const SHARED: u32 = 1 << 20;

/// A draw that the CPU placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime::recording) struct Placed {
    /// The draw as shaders read it.
    pub(in crate::runtime::recording) draw: DrawSysvals,
    /// The index of the draw's state.
    pub(in crate::runtime::recording) state: usize,
}

/// A dispatch of draws that the CPU placed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dispatch {
    /// The draws are the `count` elements of [`Plan::placed`](crate::runtime::recording::plan::Plan::placed) from index
    /// `first` on. Their states [share dispatches](crate::runtime::recording::collect::Collected::share_dispatch).
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) workgroups: u32,
    /// The key of the Vulkan pipeline for the first draw, if the dispatch has only that draw.
    own: Key,
    /// Whether the index buffer of any draw ends within a dword ([`Key::partial_indices`]).
    partial_indices: bool,
    /// The topology of the draws, or `None` if they have different decompositions.
    topology: Option<XfbTopology>,
    /// The number of workgroups that the draws have in a shared dispatch. `None` if the first draw needs its own
    /// dispatch.
    shared: Option<u32>,
}

impl Dispatch {
    /// The key of the Vulkan pipeline. `small` is
    /// [`Context::max_shared_workgroups`](crate::runtime::Context::max_shared_workgroups).
    fn key(&self, small: u32) -> Key {
        match (self.count, self.own.source) {
            (1, DrawSource::Pushed) => self.own,
            _ => self.key_by_kernel(small),
        }
    }

    /// The key of the Vulkan pipeline if only the GPU knows where the draws are captured.
    pub(super) fn key_by_kernel(&self, small: u32) -> Key {
        let source = if self.count > 1 { DrawSource::Listed } else { DrawSource::General };
        let topology = shared_topology(self.topology, self.workgroups.into(), small);
        Key { topology, partial_indices: self.partial_indices, ..Key::of(source) }
    }
}

/// Returns the topology that all draws of a dispatch have after a draw of topology `joining` was added, or `None` if
/// they have several. Topologies that are decomposed into primitives in the same way count as one ([`XfbTopology`]).
/// `topology` is the result for the draws before.
pub(super) fn joined_topology(
    topology: Option<XfbTopology>,
    joining: PrimitiveTopology,
) -> Option<XfbTopology> {
    topology.filter(|topology| *topology == joining.xfb_topology())
}

/// Returns the topology for which the Vulkan pipeline of a shared dispatch is specialized, or `None` for a pipeline for
/// all topologies. `most` is the largest number of workgroups that the dispatch may have. If it is at most `small`
/// ([`Context::max_shared_workgroups`](crate::runtime::Context::max_shared_workgroups)), a pipeline per topology would
/// cost more time to compile than it saves.
pub(super) fn shared_topology(
    topology: Option<XfbTopology>,
    most: u64,
    small: u32,
) -> Option<XfbTopology> {
    topology.filter(|_| most > small.into())
}

/// The numbers of primitives that the CPU has counted for a query, and that no [`Operation`] of the plan adds to the
/// query yet. The finish kernel executes these operations. The numbers wrap like the sums on the GPU.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    /// The address of the query, or 0 if there is none.
    query: Address,
    /// The numbers to add to the two values of the query.
    values: [u64; 2],
}

const fn add(sums: &mut [u64; 2], values: [u64; 2]) {
    let [a, b] = *sums;
    *sums = [a.wrapping_add(values[0]), b.wrapping_add(values[1])];
}

/// Where the next draw is captured, and what was counted for the draws before it.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    record: u32,
    /// The numbers of primitives that the draws before the next one write and need, without draws that [are not
    /// counted](StateProperties::is_counted). The numbers wrap, like those of a [`Tally`].
    captured: [u64; 2],
    stream: Tally,
    generated: Tally,
}

impl Cursor {
    /// Returns a cursor at record 0, for draws that all add to these queries.
    pub(super) fn for_queries(queries: &Queries) -> Self {
        let tally = |query| Tally { query, values: [0; 2] };
        let (stream, generated) = (tally(queries.stream), tally(queries.generated));
        Self { stream, generated, ..Self::default() }
    }

    /// The numbers of primitives that the placed draws write and need, if all these draws add to the same transform
    /// feedback query.
    pub(super) const fn counted(&self) -> [u64; 2] {
        self.stream.values
    }
}

impl Planner<'_> {
    /// Places the draws of all captures, and adds the operations that write counters and queries. The first capture
    /// begins at record number `record`, each other one where the one before it ended, or at record 0.
    pub(super) fn place_draws(&mut self, record: u32) -> Result<(), RuntimeError> {
        let collected = self.collected;
        let mut cursor = Cursor { record, ..Cursor::default() };
        let (mut first, mut last) = (0, record);
        let mut captures = collected.captures(self.counters).peekable();
        while let Some(EndedCapture { targets, mut counters, end, .. }) = captures.next() {
            let before = cursor.record;
            let draws = collected.draws.get(first..end).unwrap_or_default();
            draws.iter().try_for_each(|draw| self.place_draw(draw, &mut cursor))?;
            (first, last) = (end, cursor.record);
            match captures.peek().filter(|next| next.continues) {
                // The finish kernel executes its operations in no particular order, so it writes a counter only once:
                // with the value that the last of the captures gives it.
                Some(next) => {
                    let both = counters.iter_mut().zip(&next.counters);
                    let overwritten = both.filter(|(counter, later)| **counter == **later);
                    overwritten.for_each(|(counter, _)| *counter = Address::default());
                }
                None => cursor.record = 0,
            }
            self.write_counters(&targets, &counters, last);
            let [before, after] = [before, last].map(Position::Known);
            self.plan.written.extend(targets.iter().flatten().map(|target| {
                let at = |position: Position| position.in_buffer(target).unwrap_or_default();
                let base = join(target.address);
                base.saturating_add(at(before))..base.saturating_add(at(after))
            }));
        }
        for tally in [cursor.stream, cursor.generated] {
            self.write_query(tally);
        }
        self.plan.after = Position::Known(last);
        let [written, needed] = cursor.captured;
        let captured = collected.captured.filter(|_| collected.ended.is_empty());
        self.plan.captured = captured.map(|before| Captured {
            primitives_written: before.primitives_written.wrapping_add(written),
            primitives_needed: before.primitives_needed.wrapping_add(needed),
            ..before
        });
        Ok(())
    }

    /// Whether the captures can run at the same time: no byte is written twice, and the draws read no byte that is
    /// written. All draws must have been placed.
    pub(super) fn are_apart(&self) -> bool {
        let operations = self.plan.operations.iter().map(|operation| {
            let start = join(operation.address);
            start..start.saturating_add(operation.size())
        });
        let mut written = Ranges::new();
        let is_new = |range: Range<u64>| {
            let is_new = !written.overlaps(&range);
            written.add(range);
            is_new
        };
        self.plan.written.iter().cloned().chain(operations).all(is_new)
            && !self.collected.reached.as_slice().iter().any(|range| written.overlaps(range))
    }

    /// Places the draws, the first one at the position of `cursor`, and moves the cursor behind the last one.
    pub(super) fn place_from(&mut self, cursor: &mut Cursor) -> Result<(), RuntimeError> {
        let collected = self.collected;
        collected.draws.iter().try_for_each(|draw| self.place_draw(draw, cursor))
    }

    /// Places a draw in the same way as the setup kernel, adds it to a dispatch, and moves the cursor behind it.
    fn place_draw(
        &mut self,
        draw: &CollectedDraw,
        cursor: &mut Cursor,
    ) -> Result<(), RuntimeError> {
        let DrawCommand { stream_query, generated_query, .. } = draw.command;
        // The finish kernel executes the operations of a dispatch in no particular order. So each query gets a single
        // operation, which adds the sum of the consecutive draws that the query counts.
        for (tally, query) in
            [(&mut cursor.stream, stream_query), (&mut cursor.generated, generated_query)]
        {
            if tally.query != query {
                let ended = std::mem::replace(tally, Tally { query, values: [0; 2] });
                self.write_query(ended);
            }
        }

        let at = Position::Known(cursor.record);
        let state = self.collected.states.get(draw.state).copied().unwrap_or_default();
        let buffers = self.collected.targets_of(&state).iter().flatten().map(|target| {
            let position = at.in_buffer(target).unwrap_or_default();
            BoundBuffer { position, ..target.buffer }
        });
        let DrawCommand { count, instance_count, .. } = draw.command;
        let properties = state.properties;
        let counts = match properties.emission() {
            Some(each) => DrawCounts::emitted(draw.topology, count, instance_count, each, buffers),
            None => DrawCounts::new(draw.topology, count, instance_count, buffers),
        };
        let written = if self.collected.is_captured {
            counts.primitives_written
        } else {
            counts.primitives_needed
        };
        let written_and_needed = [written, counts.primitives_needed];
        add(&mut cursor.stream.values, written_and_needed);
        add(&mut cursor.generated.values, [counts.primitives_needed, 0]);
        if properties.is_counted {
            add(&mut cursor.captured, written_and_needed);
        }
        if counts.output_limit == 0 {
            return Ok(());
        }
        let size = properties.workgroup_size(&Key::ANY);
        let per_axis = self.limits.workgroups_per_axis;
        let per_item = match properties.geometry {
            Some(_) => 1,
            None => invocations_per_item(draw.topology),
        };
        let [columns, rows] = dispatch_size(invocations(per_item, &counts), size, per_axis)?;
        let mut placed = draw_sysvals(&draw.command, per_item, &counts, cursor.record);
        if properties.geometry.is_some() {
            // For geometry shaders, this member contains the number of input primitives per entry.
            placed.output_count = 1;
        }
        let shared = self.shared_workgroups(draw, &properties, &placed);
        let own = self.key_of(draw, &state, placed.invocations, shared);
        let dispatch = Dispatch {
            first: self.plan.placed.len(),
            count: 1,
            workgroups: columns * rows,
            shared,
            own,
            partial_indices: draw.has_partial_indices(),
            topology: Some(draw.topology.xfb_topology()),
        };
        self.place(placed, draw, dispatch);
        cursor.record += counts.output_limit;
        Ok(())
    }

    /// The number of workgroups that a draw has in a shared dispatch, or `None` if the draw needs its own dispatch.
    fn shared_workgroups(
        &self,
        draw: &CollectedDraw,
        properties: &StateProperties,
        placed: &DrawSysvals,
    ) -> Option<u32> {
        let size = properties.workgroup_size(&Key::of(DrawSource::Listed));
        let workgroups = placed.invocations.div_ceil(size);
        let is_small = workgroups <= self.limits.shared_workgroups;
        (!draw.reaches_far() && is_small).then_some(workgroups)
    }

    /// Adds a draw to the last dispatch if it can share that dispatch with the draws in it. Otherwise adds `own`, a
    /// dispatch of this draw alone.
    fn place(&mut self, mut placed: DrawSysvals, draw: &CollectedDraw, own: Dispatch) {
        let per_axis = self.limits.workgroups_per_axis;
        let most = SHARED.min(per_axis.saturating_mul(per_axis));
        let plan = &mut *self.plan;
        let previous = plan.placed.last().map(|previous| previous.state);
        let shares = previous.is_some_and(|state| self.collected.share_dispatch(state, draw.state));
        let last = plan.dispatches.last_mut();
        if let Some(last) = last.filter(|last| shares && last.count < MAX_LISTED_DRAWS)
            && let (Some(before), Some(more)) = (last.shared, own.shared)
            && before + more <= most
        {
            placed.first_workgroup = before;
            last.count += 1;
            last.topology = joined_topology(last.topology, draw.topology);
            last.partial_indices |= own.partial_indices;
            last.shared = Some(before + more);
            last.workgroups = before + more;
        } else {
            plan.dispatches.push(own);
        }
        plan.placed.push(Placed { draw: placed, state: draw.state });
    }

    /// Adds an operation that adds counted primitives to their query, unless both numbers are 0.
    fn write_query(&mut self, tally: Tally) {
        let Tally { query, values: [a, b] } = tally;
        if a != 0 || b != 0 {
            let [a, b] = [split(a), split(b)];
            self.push_operation(Operation {
                address: query,
                kind: operation::ADD,
                values: [a[0], a[1], b[0], b[1]],
                ..Default::default()
            });
        }
    }

    /// Adds operations that write the counters of a capture to `targets` at the addresses `counters`. `record` is the
    /// number of the first record behind the capture.
    fn write_counters(
        &mut self,
        targets: &Targets,
        counters: &[Address; MAX_XFB_BUFFERS],
        record: u32,
    ) {
        let after = Position::Known(record);
        for (target, address) in targets.iter().zip(counters) {
            let position = target.and_then(|target| after.in_buffer(&target)).unwrap_or_default();
            // A position is at most the end of the buffer, which is below 4 GiB, so it fits into the dword.
            let values = [u32::try_from(position).unwrap_or(u32::MAX), 0, 0, 0];
            self.push_operation(Operation {
                address: *address,
                kind: operation::STORE,
                values,
                ..Default::default()
            });
        }
    }

    /// Adds an operation, unless its address is 0: in that case there is no such query or counter.
    fn push_operation(&mut self, operation: Operation) {
        if operation.address != Address::default() {
            self.plan.operations.push(operation);
        }
    }

    /// The number of workgroups of a dispatch. A draw that has its own dispatch may have larger workgroups than in a
    /// shared one. A vertex capture of an unchecked triangle fan has fewer than other fans: it needs three invocations
    /// for two items, not four.
    pub(super) fn workgroups_of(&self, dispatch: &Dispatch) -> u32 {
        let Dispatch { first, count, workgroups, own, topology, .. } = *dispatch;
        let placed = self.plan.placed.get(first);
        let state = placed.and_then(|placed| self.collected.states.get(placed.state));
        match (placed, state) {
            (Some(Placed { draw, .. }), Some(State { properties, .. }))
                if count == 1 && own.source == DrawSource::Pushed =>
            {
                let is_by_thirds = own.is_unchecked()
                    && topology == Some(XfbTopology::TriFan)
                    && properties.geometry.is_none();
                let invocations = if is_by_thirds {
                    draw.item_count + draw.item_count.div_ceil(2)
                } else {
                    draw.invocations
                };
                invocations.div_ceil(properties.workgroup_size(&own))
            }
            _ => workgroups,
        }
    }

    /// The key of the Vulkan pipeline for a draw with its own dispatch, which needs `invocations` invocations. `shared`
    /// is the number of its workgroups in a shared dispatch.
    pub(super) fn key_of(
        &self,
        draw: &CollectedDraw,
        state: &State,
        invocations: u32,
        shared: Option<u32>,
    ) -> Key {
        let properties = &state.properties;
        let DrawCommand { base_vertex, count, instance_count, first_instance, .. } = draw.command;
        if !self.is_single(draw, state) {
            return Key::ANY;
        }
        let most = if properties.is_staged && properties.geometry.is_none() {
            self.limits.shared_workgroups
        } else {
            self.limits.workgroups_per_axis
        };
        let end = u64::from(base_vertex) + u64::from(count);
        let indexed = draw.is_indexed();
        let own = Key { indexed, ..Key::of(DrawSource::Pushed) };
        let workgroups = invocations.div_ceil(properties.workgroup_size(&own));
        let checked = indexed
            || !self.is_aligned(state)
            || workgroups > most
            || instance_count != 1
            || end > properties.vertices.into()
            || first_instance >= properties.instances;
        // A checked Vulkan pipeline for the topology of a small draw would cost more time to compile than it saves.
        // Unchecked pipelines compile fast, unless they have further stages.
        let compiles_fast = !checked && properties.geometry.is_none();
        if !compiles_fast && shared.is_some() && properties.fixed_topology.is_none() {
            return Key::ANY;
        }
        let topology = Some(draw.topology.xfb_topology());
        let partial_indices = draw.has_partial_indices();
        Key { partial_indices, checked, topology, ..own }
    }

    /// Plans captures of the placed draws.
    pub(super) fn plan_direct(&mut self) -> Result<(), RuntimeError> {
        if !self.plan.dispatches.is_empty() {
            self.plan.steps.push(Step::Barrier {
                which: Barrier::BetweenCaptures,
                when: When::InOrder,
                then: Touched::Captured,
            });
        }
        let per_axis = self.limits.workgroups_per_axis;
        for number in 0..self.plan.dispatches.len() {
            let dispatch = self.plan.dispatches[number];
            let Placed { draw, state } = self.plan.placed[dispatch.first];
            let draws = match dispatch.count {
                1 => Draws::Pushed(draw),
                count => Draws::Listed(self.list(number)?, count),
            };
            self.plan.steps.push(Step::Capture(CaptureStep {
                key: dispatch.key(self.limits.shared_workgroups),
                state,
                draws,
                size: Size::Direct(fold(self.workgroups_of(&dispatch).into(), per_axis)?),
            }));
        }
        Ok(())
    }

    /// Adds a block with the draws of a dispatch and the number of the draw of each workgroup. `number` is the index of
    /// the dispatch.
    pub(super) fn list(&mut self, number: usize) -> Result<BlockId, RuntimeError> {
        let dispatch = self.plan.dispatches[number];
        let per_axis = self.limits.workgroups_per_axis;
        let draws = dispatch.first..dispatch.first + dispatch.count;
        let workgroups = listed_workgroups(dispatch.count, dispatch.workgroups, per_axis)?;
        Ok(self.plan.upload_list(draws, workgroups))
    }

    /// Whether Vulkan pipelines for one draw ([`DrawSource::Pushed`]) support this draw: all elements of an attribute
    /// begin less than 4 GiB after its first element, and either all accesses are aligned to their size, or these
    /// pipelines test the alignment.
    pub(super) fn is_single(&self, draw: &CollectedDraw, state: &State) -> bool {
        !draw.reaches_far() && (self.limits.tests_alignment || self.is_aligned(state))
    }

    /// Whether all accesses to attributes and records are aligned to their size.
    fn is_aligned(&self, state: &State) -> bool {
        let mut targets = self.collected.targets_of(state).iter().flatten();
        state.properties.has_aligned_attributes && targets.all(BoundCaptureBuffer::is_aligned)
    }
}

/// The number of invocations that capture a draw with `counts`.
fn invocations(per_item: u32, counts: &DrawCounts) -> u64 {
    let items = u64::from(counts.instance_count) * u64::from(counts.item_count);
    items * u64::from(per_item)
}

/// Makes the sysvals of a direct draw from its command and its counts.
fn draw_sysvals(
    command: &DrawCommand,
    invocations_per_item: u32,
    counts: &DrawCounts,
    base_record: u32,
) -> DrawSysvals {
    DrawSysvals {
        output_count: counts.output_count,
        output_end: base_record + counts.output_limit,
        item_count: counts.item_count,
        instance_count: counts.instance_count,
        base_record,
        invocations: u32::try_from(invocations(invocations_per_item, counts)).unwrap_or(u32::MAX),
        reciprocal: reciprocal(counts.item_count * invocations_per_item),
        ..unclamped_draw(command)
    }
}

/// Makes the sysvals of a direct draw whose counts are not known yet. In them, `item_count` is the number of all
/// vertices or indices of the draw.
pub(super) fn unclamped_draw(command: &DrawCommand) -> DrawSysvals {
    let size = command.flags & flags::INDEX_SIZE;
    let skipped = command.first.min(command.index_limit);
    DrawSysvals {
        xfb_topology: command.topology,
        flags: command.flags,
        output_count: 0,
        output_end: 0,
        item_count: command.count,
        instance_count: command.instance_count,
        base_vertex: command.base_vertex,
        first_instance: command.first_instance,
        draw_index: command.draw_index,
        base_record: 0,
        first_workgroup: 0,
        index_limit: command.index_limit - skipped,
        index_address: offset(command.index_address, u64::from(skipped) * u64::from(size)),
        invocations: 0,
        reciprocal: 0,
    }
}

/// The length of the list that contains the draw of each workgroup. All workgroups that are dispatched are in the list;
/// surplus workgroups belong to the last draw. The length is 0 for a single draw, which needs no list.
pub(super) fn listed_workgroups(
    draws: usize,
    workgroups: u32,
    per_axis: u32,
) -> Result<usize, RuntimeError> {
    if draws < 2 {
        return Ok(0);
    }
    fold(workgroups.into(), per_axis).map(|[columns, rows]| columns as usize * rows as usize)
}
