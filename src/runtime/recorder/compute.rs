//! Captures by compute: what they begin with and end in. Draws are [collected](super::collect), and recorded
//! together.

use ash::vk;

use super::collect::BoundIndices;
use super::direct::Dispatch;
use super::gpu::GpuGroup;
use super::sets::BoundSets;
use super::{CaptureDesc, Captured, Recorded};
use crate::capture::MAX_XFB_BUFFERS;
use crate::draw::{BoundBuffer, DrawCounts};
use crate::runtime::arena::Place;
use crate::runtime::descriptors::Purpose;
use crate::runtime::draws::{CounterBuffer, VertexBuffer};
use crate::runtime::fold::dispatch_size;
use crate::runtime::kernels::Pipelines;
use crate::runtime::{Arena, Context, Kernels, Pipeline, RuntimeError};
use crate::sysval::setup::{Input, Operation, ReductionEntry, kind, operation};
use crate::sysval::{
    Address, AttributeDescriptor, DrawSysvals, INLINE_ATTRIBUTES, Sysvals, flags, split,
};
use crate::topology::{PrimitiveTopology, Shape};

/// Draws that are collected, and what of them changes seldom.
#[derive(Debug, Default)]
pub(in crate::runtime) struct Pending {
    pub(super) draws: Vec<PendingDraw>,
    pub(super) vertex_buffers: Vec<VertexBuffer>,
    /// Room for those that a bind makes of them: kept, so that recording allocates nothing.
    pub(super) next_vertex_buffers: Vec<VertexBuffer>,
    /// What draws find bound, in the order of the draws.
    pub(super) states: Vec<DrawState>,
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
    /// Those of the application.
    pub(super) sets: BoundSets,
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
        self.sets.restart(0);
    }

    /// Forgets the draws.
    fn clear(&mut self) {
        self.draws.clear();
        self.states.clear();
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
    /// Number of its [`DrawState`].
    pub(super) state: usize,
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

/// What a draw finds bound. Draws of one state may share a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DrawState {
    /// Number of the [`Attributes`].
    pub(super) attributes: usize,
    /// Number of the snapshot in [`Pending::sets`].
    pub(super) sets: usize,
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
    pub(super) kernels: &'a Pipelines,
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
    pub(super) indices: Option<BoundIndices>,
    pub(super) restart: bool,
    /// Addresses of the active queries, or 0.
    pub(super) stream_query: u64,
    pub(super) generated_query: u64,
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
        let mut this = unsafe { Self::inactive(ctx, arena, cmd, desc.kernels) }?;
        this.pipeline = Some(pipeline);
        this.arena.pending.sets.restart(pipeline.set_count());
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
        kernels: &'a Kernels,
    ) -> Result<Self, RuntimeError> {
        let kernels = kernels.pipelines()?;
        arena.begin_record();
        Ok(Self {
            ctx,
            kernels,
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
        })
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
        // The application may have bound sets itself.
        self.arena.pending.sets.forget_recorded();
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
