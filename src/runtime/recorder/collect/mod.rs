//! The first of three phases: checks the application's bindings, draws and queries, and collects them as values.
//! Nothing is recorded, and this phase does not decide how the draws will be captured.
//!
//! The entry point is [`Streams`], with a [`Collector`] for each vertex stream. The next phase,
//! [plan](super::plan), uses only [`Collected`], which contains no Vulkan handles. The last phase,
//! [play](super::play), also uses the [`Bindings`] and the descriptors of the buffers.

mod addresses;
mod bind;
mod constants;
mod draws;
mod queries;
mod sets;
mod streams;
mod values;

pub(in crate::runtime) use self::addresses::{BufferRange, address, resolve};
pub(super) use self::constants::Constants;
#[cfg(test)]
pub(super) use self::draws::most_invocations;
pub(in crate::runtime) use self::draws::most_slices;
use self::queries::ActiveQuery;
use self::sets::BoundSets;
pub(super) use self::sets::{RecordedSets, SetNumbers};
pub(super) use self::streams::Streams;
pub(super) use self::values::{
    Collected, CollectedDraw, MAX_ASSEMBLED_DRAWS, Position, State, Target, Traits,
    invocations_per_item,
};
use super::checks::{check_capture_buffers, check_counters, check_distinct};
use super::{CaptureDesc, Captured};
use crate::capture::{Layout, MAX_XFB_BUFFERS};
use crate::counts::BoundBuffer;
use crate::lower::Backend;
use crate::runtime::descriptors::{Purpose, Table};
use crate::runtime::parameters::{CounterBuffer, VertexBuffer};
use crate::runtime::{Context, Pipeline, RuntimeError};
use crate::sysval::{Address, AttributeDescriptor, INLINE_ATTRIBUTES, split};
use crate::topology::ProvokingVertex;

/// Collects the draws of one vertex stream of a capture. Without geometry shaders there is only stream 0.
#[derive(Debug)]
pub(super) struct Collector {
    pub(super) ctx: Context,
    pub(super) collected: Collected,
    pub(super) bindings: Bindings,
    /// The buffers that draws access, from which the descriptors are written under the descriptor plan. Unused on a
    /// device with addresses.
    pub(super) table: Table,
    /// For each capture buffer, the address of the counter that the end of the capture writes, or 0.
    pub(super) end_counters: [Address; MAX_XFB_BUFFERS],
    begun: bool,
    bound: Bound,
    /// The attribute descriptors that are computed when attributes are bound. This temporary list is a member so that
    /// its heap memory is reused.
    descriptors: Vec<AttributeDescriptor>,
}

/// What is bound and set for the next draw.
#[derive(Debug, Default)]
struct Bound {
    /// The bound pipeline, or `None` if draws are only counted.
    pipeline: Option<Pipeline>,
    vertex_buffers: Vec<VertexBuffer>,
    /// Whether the last element of [`Bindings::attributes`] belongs to the bound pipeline and vertex buffers.
    has_attributes: bool,
    indices: Option<BoundIndices>,
    provoking_vertex: ProvokingVertex,
    patch_control_points: u32,
    restart: bool,
    /// For each capture buffer: the record stride, and in `streams` the vertex stream that it captures.
    strides: [Option<u32>; MAX_XFB_BUFFERS],
    streams: [u32; MAX_XFB_BUFFERS],
    /// The active query of each [`QueryKind`](crate::runtime::QueryKind).
    queries: [ActiveQuery; 2],
    /// The predicate of conditional rendering, or `None` if conditional rendering is not active.
    predicate: Option<Predicate>,
}

#[derive(Debug, Clone, Copy)]
struct BoundIndices {
    address: u64,
    limit: u32,
    size: u32,
    restart_index: u32,
    /// The end of the bound range in the buffer, and the size of the buffer's memory, both in bytes. `None` unless
    /// shaders that cannot load single bytes would read beyond that memory, or beyond the range's descriptor.
    partial_end: Option<(u64, u64)>,
}

/// The dword in a buffer that decides whether conditional rendering discards draws.
#[derive(Debug, Clone, Copy)]
struct Predicate {
    address: Address,
    inverted: bool,
}

/// The bound objects and values to which the [`State`]s of the draws refer by index.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    pub(super) pipelines: Vec<Pipeline>,
    pub(super) attributes: Vec<Attributes>,
    /// The attribute descriptors of all [`Attributes`], except for the inline ones.
    pub(super) attribute_table: Vec<AttributeDescriptor>,
    pub(super) constants: Constants,
    pub(super) sets: BoundSets,
}

/// The attribute descriptors with which a pipeline reads the bound vertex buffers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attributes {
    pub(super) inline: [AttributeDescriptor; INLINE_ATTRIBUTES],
    /// The attribute descriptors that are not inline: the index of the first one in [`Bindings::attribute_table`], and
    /// their number.
    pub(super) others: (usize, usize),
    /// Whether any attribute [reaches far](AttributeDescriptor::reaches_far).
    reach_far: bool,
    /// Whether all elements are aligned to the size of the [widest
    /// access](crate::runtime::pulling::PulledAttribute::access) to them.
    are_aligned: bool,
    /// The number of vertices for which the bound vertex buffers have the elements of all attributes with per-vertex
    /// rate.
    vertices: u32,
    /// The number of instances for which the bound vertex buffers have the elements of all attributes with per-instance
    /// rate.
    instances: u32,
}

impl Collector {
    fn new(ctx: &Context, stream: u32) -> Self {
        Self {
            ctx: ctx.clone(),
            collected: Collected { stream, ..Collected::default() },
            bindings: Bindings::default(),
            table: Table::default(),
            end_counters: Default::default(),
            begun: false,
            bound: Bound::default(),
            descriptors: Vec::new(),
        }
    }

    /// Begins a capture without draws.
    ///
    /// # Errors
    /// The errors of [`Recorder::begin`](super::Recorder::begin); [`RuntimeError::Unsupported`] for pipelines of other
    /// backends.
    ///
    /// # Safety
    /// The requirements of [`Recorder::begin`](super::Recorder::begin) apply.
    pub(super) unsafe fn begin(&mut self, desc: &CaptureDesc<'_>) -> Result<(), RuntimeError> {
        let pipeline = desc.pipeline;
        self.begin_inactive();
        self.check_pipeline(pipeline)?;
        check_capture_buffers(&self.ctx, pipeline, desc.buffers)?;
        check_counters(&self.ctx, Backend::Compute, desc.counters)?;
        let Layout { strides, streams, .. } = *pipeline.layout();
        (self.bound.strides, self.bound.streams) = (strides, streams);
        for (number, (bound, stride)) in desc.buffers.iter().zip(strides).enumerate() {
            let (Some(bound), Some(stride)) = (bound, stride) else { continue };
            if streams[number] != self.collected.stream {
                continue;
            }
            let what = format_args!("capture buffer {number}");
            // Records consist of whole dwords, so no record is written to a partial dword at the end of the range.
            let size = bound.size / 4 * 4;
            // SAFETY: the usage and the memory are the caller's contract.
            let address = unsafe {
                self.address(Purpose::Capture, what, (bound.buffer, bound.offset, size))
            }?;
            let buffer = BoundBuffer { size: bound.size, position: 0, stride };
            self.collected.targets[number] = Some(Target { buffer, address: split(address) });
        }
        // SAFETY: the caller's contract.
        self.collected.counters = unsafe { self.counter_addresses(desc.counters) }?;
        if self.collected.counters != <[Address; _]>::default() {
            self.collected.position = Position::Counters;
            self.collected.captured = None;
        }
        self.set_pipeline(pipeline);
        self.bind_vertex_buffers(desc.vertex_buffers)?;
        // SAFETY: the caller's contract.
        unsafe { self.find_attributes() }
    }

    /// Begins counting draws that are not captured.
    const fn begin_inactive(&mut self) {
        self.begun = true;
    }

    /// Checks the counters that the end of the capture writes, and returns their addresses.
    ///
    /// # Errors
    /// The errors of [`Capture::end`](super::Capture::end).
    ///
    /// # Safety
    /// The requirements of [`Recorder::end`](super::Recorder::end) apply.
    pub(super) unsafe fn end(
        &mut self,
        counters: &[Option<CounterBuffer>],
    ) -> Result<[Address; MAX_XFB_BUFFERS], RuntimeError> {
        self.check_begun()?;
        check_counters(&self.ctx, Backend::Compute, counters)?;
        check_distinct(counters)?;
        // SAFETY: the caller's contract.
        unsafe { self.counter_addresses(counters) }
    }

    /// Removes all draws and bindings. The heap memory is kept.
    pub(super) fn clear(&mut self) {
        self.begun = false;
        self.end_counters = Default::default();
        self.collected.clear();
        self.bindings.clear();
        self.table.restart();
        let mut vertex_buffers = std::mem::take(&mut self.bound.vertex_buffers);
        vertex_buffers.clear();
        self.bound = Bound { vertex_buffers, ..Bound::default() };
    }

    /// Removes the draws, because they were recorded. The capture continues at `position`.
    pub(super) fn advance(&mut self, position: Position, captured: Option<Captured>) {
        self.collected.advance(position, captured);
        // The attributes of the removed draws are dropped, too, so the next draw has to compute its attributes again.
        self.bindings.advance();
        self.bound.has_attributes = false;
    }

    pub(super) const fn has_begun(&self) -> bool {
        self.begun
    }

    /// # Errors
    /// [`RuntimeError::NotBegun`].
    pub(super) const fn check_begun(&self) -> Result<(), RuntimeError> {
        if self.begun { Ok(()) } else { Err(RuntimeError::NotBegun) }
    }

    /// # Errors
    /// [`RuntimeError::Unsupported`], [`RuntimeError::OtherContext`].
    fn check_pipeline(&self, pipeline: &Pipeline) -> Result<(), RuntimeError> {
        self.ctx.check_made(pipeline.context(), "the pipeline")?;
        match pipeline.backend() {
            Backend::Compute => Ok(()),
            backend => {
                let what = "a pipeline among the draws of a capture by compute";
                Err(RuntimeError::Unsupported { backend, what })
            }
        }
    }

    /// Returns the addresses of the counters of those buffers that capture the stream. For other buffers the address is
    /// 0.
    ///
    /// # Safety
    /// The counters are in live buffers with the usage
    /// [`Context::counter_buffer_usage`](crate::runtime::Context::counter_buffer_usage).
    unsafe fn counter_addresses(
        &mut self,
        counters: &[Option<CounterBuffer>],
    ) -> Result<[Address; MAX_XFB_BUFFERS], RuntimeError> {
        let mut addresses = [Address::default(); MAX_XFB_BUFFERS];
        for (number, (address, counter)) in addresses.iter_mut().zip(counters).enumerate() {
            if let Some(counter) = counter
                && self.bound.streams[number] == self.collected.stream
            {
                let what = format_args!("counter {number}");
                let range = (counter.buffer, counter.offset, 4);
                // SAFETY: the caller's contract.
                let start = unsafe { self.address(Purpose::State, what, range) }?;
                *address = split(start);
            }
        }
        Ok(addresses)
    }
}

impl Bindings {
    /// Returns the pipeline of a state, or `None` if its draws are only counted.
    pub(super) fn pipeline_of(&self, state: &State) -> Option<&Pipeline> {
        self.pipelines.get(state.pipeline)
    }

    fn clear(&mut self) {
        self.pipelines.clear();
        self.attributes.clear();
        self.attribute_table.clear();
        self.constants.clear();
        self.sets.restart();
    }

    /// Removes what only recorded draws refer to. The last pipeline and the descriptor sets stay bound.
    fn advance(&mut self) {
        self.pipelines.drain(..self.pipelines.len().saturating_sub(1));
        self.attributes.clear();
        self.attribute_table.clear();
        self.constants.forget_snapshots();
    }
}
