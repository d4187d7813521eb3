//! Recording where the CPU knows everything: the twin of `shaders/setup.wgsl`.

use ash::vk;

use super::compute::{Compute, PendingDraw, Position, invocations};
use crate::capture::MAX_XFB_BUFFERS;
use crate::draw::{BoundBuffer, DrawCounts};
use crate::lower::kernel::Kernel;
use crate::runtime::descriptors::User;
use crate::runtime::fold::fold;
use crate::runtime::{Barrier, Captured, RuntimeError};
use crate::sysval::setup::{Finish, Input, Operation, QUERY_AVAILABILITY, kind, operation};
use crate::sysval::{Address, Batch, DrawSysvals, flags, join, split};

/// Draws of at most so many workgroups share a dispatch. A larger one has its own: its invocations
/// read the draw from push constants, not from memory.
const SMALL: u32 = 64;

/// Workgroups that draws which share a dispatch may have together, if two axes hold them.
const SHARED: u32 = 1 << 20;

/// One dispatch that captures.
#[derive(Debug, Clone, Copy)]
pub(in crate::runtime) struct Dispatch {
    /// Its draws, among those that are placed.
    first: usize,
    count: usize,
    /// Number of the state of its draws.
    state: usize,
    workgroups: u32,
    /// Where there is more than one draw.
    batch: Address,
}

/// What the CPU counted for a query that the GPU does not know yet. It wraps, as sums of the GPU do.
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

/// Where the next draw goes.
struct Cursor {
    record: u32,
    captured: Option<Captured>,
    stream: Tally,
    generated: Tally,
}

impl Compute<'_> {
    /// # Safety
    /// As [`Recorder::flush`](super::Recorder::flush).
    pub(super) unsafe fn record_direct(
        &mut self,
        counters: [Address; MAX_XFB_BUFFERS],
    ) -> Result<(), RuntimeError> {
        let Position::Known(record) = self.position else { return Ok(()) };
        let mut cursor = Cursor {
            record,
            captured: self.captured,
            stream: Tally::default(),
            generated: Tally::default(),
        };
        for i in 0..self.arena.pending.draws.len() {
            let draw = self.arena.pending.draws[i];
            self.place_draw(&draw, &mut cursor)?;
        }
        for tally in [cursor.stream, cursor.generated] {
            self.tell_query(tally);
        }
        let before = std::mem::replace(&mut self.position, Position::Known(cursor.record));
        self.counter_operations(counters);
        // SAFETY: the caller's contract.
        let result = unsafe { self.record_placed() };
        match result {
            Ok(()) => self.captured = cursor.captured,
            Err(_) => self.position = before,
        }
        result
    }

    /// Computes what the setup kernel would, and finds a dispatch for it.
    fn place_draw(&mut self, draw: &PendingDraw, cursor: &mut Cursor) -> Result<(), RuntimeError> {
        let Input { stream_query, generated_query, .. } = draw.input;
        let ended = match draw.input.kind {
            kind::STREAM_QUERY_END => Some(stream_query),
            kind::GENERATED_QUERY_END => Some(generated_query),
            _ => None,
        };
        if let Some(slot) = ended {
            self.push_operation(Operation {
                address: offset(slot, QUERY_AVAILABILITY),
                kind: operation::STORE,
                values: [1, 0, 0, 0],
                ..Default::default()
            });
            return Ok(());
        }
        // Each on its own: operations have no order, so what is added to a query is added at once.
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
        if self.pipeline.is_some()
            && let Some(captured) = &mut cursor.captured
        {
            captured.add(&counts);
        }
        if counts.output_limit == 0 {
            return Ok(());
        }
        let [columns, rows] = self.dispatch_size(invocations(draw.topology, &counts))?;
        let placed = draw_sysvals(&draw.input, &counts, cursor.record);
        self.place(placed, draw.state, columns * rows);
        cursor.record += counts.output_limit;
        Ok(())
    }

    /// Adds a draw to the last dispatch, or makes a new one.
    fn place(&mut self, mut placed: DrawSysvals, state: usize, workgroups: u32) {
        let per_axis = self.ctx.max_workgroups_per_axis();
        let most = SHARED.min(per_axis.saturating_mul(per_axis));
        let pending = &mut self.arena.pending;
        let first = pending.placed.len();
        match pending.dispatches.last_mut() {
            Some(last)
                if last.state == state
                    && workgroups <= SMALL
                    // The first of them is small too.
                    && (last.count > 1 || last.workgroups <= SMALL)
                    && last.workgroups + workgroups <= most =>
            {
                placed.first_workgroup = last.workgroups;
                last.count += 1;
                last.workgroups += workgroups;
            }
            _ => pending.dispatches.push(Dispatch {
                first,
                count: 1,
                state,
                workgroups,
                batch: Address::default(),
            }),
        }
        pending.placed.push(placed);
    }

    /// Tells the GPU what was counted.
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

    /// An operation, unless there is nothing that it is for.
    fn push_operation(&mut self, operation: Operation) {
        if operation.address != Address::default() {
            self.arena.pending.operations.push(operation);
        }
    }

    /// # Safety
    /// As [`Recorder::flush`](super::Recorder::flush).
    unsafe fn record_placed(&mut self) -> Result<(), RuntimeError> {
        // Whatever may fail comes before the first command.
        if self.sets_disturbed
            && let Some(first) = self.arena.pending.dispatches.first()
        {
            // What is bound once stays, so that the first of them has the fewest sets.
            self.check_sets(first.state)?;
        }
        for i in 0..self.arena.pending.dispatches.len() {
            let dispatch = self.arena.pending.dispatches[i];
            fold(dispatch.workgroups.into(), self.ctx.max_workgroups_per_axis())?;
            if dispatch.count > 1 {
                let (upload, _, pending) = self.arena.parts();
                let placed = &pending.placed[dispatch.first..][..dispatch.count];
                let draws = upload.push(placed.iter().copied())?;
                let batch = Batch {
                    draws: split(draws.address),
                    draw_count: dispatch.count as u32,
                    ..Default::default()
                };
                self.arena.pending.dispatches[i].batch = split(self.arena.push(&[batch])?.address);
            }
        }
        let finish = match self.place_operations()? {
            None => None,
            Some(operations) => {
                let count = self.arena.pending.operations.len() as u32;
                let parameters = self.arena.push(&[Finish {
                    operations: split(operations.address),
                    count,
                    reserved: 0,
                }])?;
                Some((parameters, fold(count.into(), self.ctx.max_workgroups_per_axis())?))
            }
        };

        let pipeline = self.capturing().filter(|_| !self.arena.pending.dispatches.is_empty());
        let mut set = |is_needed: bool, user| match is_needed {
            // SAFETY: the caller's contract.
            true => unsafe { self.arena.descriptor_set(self.ctx, user) },
            false => Ok(None),
        };
        let for_captures = set(pipeline.is_some(), User::DirectCaptures)?;
        let for_kernels = set(finish.is_some(), User::Kernels)?;

        if let Some(pipeline) = pipeline {
            // SAFETY: the caller's contract.
            unsafe { self.bind_table(pipeline, for_captures) };
            let (mut bound, point) = (vk::Pipeline::null(), vk::PipelineBindPoint::COMPUTE);
            for i in 0..self.arena.pending.dispatches.len() {
                let dispatch = self.arena.pending.dispatches[i];
                let state = self.arena.pending.states[dispatch.state];
                let mut sysvals = self.sysvals(&self.arena.pending.attributes[state.attributes]);
                match dispatch.count {
                    1 => sysvals.draw = self.arena.pending.placed[dispatch.first],
                    _ => sysvals.batch = dispatch.batch,
                }
                let is_plain = dispatch.count == 1 && sysvals.draw.flags & flags::INDEX_SIZE == 0;
                let wanted = if is_plain { pipeline.plain() } else { pipeline.raw() };
                if bound != wanted {
                    // SAFETY: the caller's contract.
                    unsafe { self.ctx.device().cmd_bind_pipeline(self.cmd, point, wanted) };
                    bound = wanted;
                }
                let workgroups = dispatch.workgroups.into();
                let [x, y] = fold(workgroups, self.ctx.max_workgroups_per_axis())?;
                // SAFETY: the caller's contract.
                unsafe {
                    self.order(match i {
                        0 => self.arena.is_scarce(self.ctx),
                        _ => self.arena.captures_overlap(self.ctx),
                    });
                    self.bind_application_sets(pipeline, state.sets);
                    self.push_constants(pipeline, &sysvals);
                    self.ctx.device().cmd_dispatch(self.cmd, x, y, 1);
                }
            }
            self.recorded.captures += self.arena.pending.dispatches.len() as u32;
        }
        if let Some((parameters, workgroups)) = finish {
            // SAFETY: the caller's contract.
            unsafe {
                let barriers = self.ctx.kernel_barrier(self.cmd, Barrier::BeforeFinish);
                self.recorded.barriers += barriers;
                self.dispatch_kernel(for_kernels, Kernel::Finish, parameters, workgroups);
            }
        }
        Ok(())
    }
}

/// An address behind another one, or none behind none.
fn offset(address: Address, bytes: u64) -> Address {
    match address {
        [0, 0] => address,
        address => split(join(address) + bytes),
    }
}

/// The draw that a direct input describes.
fn draw_sysvals(input: &Input, counts: &DrawCounts, base_record: u32) -> DrawSysvals {
    let size = input.flags & flags::INDEX_SIZE;
    let skipped = input.first.min(input.index_limit);
    DrawSysvals {
        xfb_topology: input.topology,
        flags: input.flags,
        output_count: counts.output_count,
        output_limit: counts.output_limit,
        item_count: counts.item_count,
        instance_count: counts.instance_count,
        base_vertex: input.base_vertex,
        first_instance: input.first_instance,
        draw_index: input.draw_index,
        base_record,
        first_workgroup: 0,
        index_limit: input.index_limit - skipped,
        index_address: offset(input.index_address, u64::from(skipped) * u64::from(size)),
        restart_table: Address::default(),
    }
}
