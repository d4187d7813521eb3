//! The values that are collected: [`Collected`], on which a [plan](crate::runtime::recording::plan) depends, and
//! [`Bindings`], which [play](crate::runtime::recording::play) needs in addition.

#![forbid(unsafe_code)]

use std::ops::Range;

use crate::runtime::device::descriptor_heaps::{BoundHeaps, ParameterTransport};
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::table_limits::MAX_ACCESS;
use crate::runtime::pipelines::pipeline::Key;
use crate::runtime::pipelines::pipeline::Pipeline;
use crate::runtime::recording::capture_desc::Captured;
use crate::runtime::recording::collect::snapshots::{BoundSets, Constants};
use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;
use vkxfb_rewriter::counts::BoundBuffer;
use vkxfb_rewriter::lower::LoweredGeometry;
use vkxfb_rewriter::lower::compute::WorkgroupSizes;
use vkxfb_rewriter::sysval::setup::{DrawCommand, MAX_DRAWS, Operation, kind};
use vkxfb_rewriter::sysval::{Address, AttributeDescriptor, INLINE_ATTRIBUTES, flags};
use vkxfb_rewriter::topology::{PrimitiveTopology, Shape};

/// The largest number of draws of geometry or tessellation shaders that are planned together. A single indirect command
/// may contain many of these draws. Each draw takes memory for at least one workgroup's entries (an entry is a run of
/// primitives that one invocation processes).
const MAX_GEOMETRY_DRAWS: u64 = 1 << 16;

/// The largest number of draw commands that are planned together for geometry or tessellation shaders. Each command may
/// need its own dispatch, which takes memory for at least one block of entries
/// ([`ENTRIES_PER_BLOCK`](vkxfb_rewriter::sysval::entries::ENTRIES_PER_BLOCK)).
const MAX_GEOMETRY_COMMANDS: usize = 1 << 12;

/// One more than the largest number of primitives of a draw of geometry or tessellation shaders, in all its instances.
const MAX_PRIMITIVES: u64 = 1 << 31;

/// The largest number of ended captures in one [`Capture`](crate::runtime::Capture). It is limited because each plan
/// compares the bytes that all of them write.
const MOST_ENDED: usize = 1024;

/// The draws of one vertex stream, and where they are captured. The addresses must be
/// [resolved](crate::runtime::memory::addresses::resolve) before shaders use them.
#[derive(Debug)]
pub(in crate::runtime::recording) struct Collected {
    pub(in crate::runtime::recording) stream: u32,
    /// Whether the shaders capture outputs of this stream. If not, nothing of it can overflow: all its primitives count
    /// as written.
    pub(in crate::runtime::recording) is_captured: bool,
    /// Whether the side effects of the shaders happen when this stream stores its records. The shaders run for each
    /// stream, but their side effects must happen for one stream only.
    pub(in crate::runtime::recording) has_effects: bool,
    /// The captures that were begun in this value before the current one, and have ended
    /// ([`Capture::begin_next`](crate::runtime::Capture::begin_next)), in order. All other members describe the current
    /// capture, except for the lists: `draws` begins with the draws of these captures, and `states`, `ends` and
    /// `reached` belong to all captures.
    pub(in crate::runtime::recording) ended: Vec<EndedCapture>,
    pub(in crate::runtime::recording) targets: Targets,
    /// Whether the current capture begins where the last one in `ended` ended.
    pub(in crate::runtime::recording) continues: bool,
    /// Where the first of the collected draws of the first capture begins in the capture buffers.
    pub(in crate::runtime::recording) position: Position,
    /// For each capture buffer, the address of the counter that the capture was begun with, or 0.
    pub(in crate::runtime::recording) counters: [Address; MAX_XFB_BUFFERS],
    /// The result of the draws that were recorded earlier, or `None` if the CPU does not know it.
    pub(in crate::runtime::recording) captured: Option<Captured>,
    pub(in crate::runtime::recording) draws: Vec<CollectedDraw>,
    /// The states of the draws. A draw with another state than the previous draw adds one.
    pub(in crate::runtime::recording) states: Vec<State>,
    /// The ends of queries, which are executed after all draws.
    pub(in crate::runtime::recording) ends: Vec<Operation>,
    /// The device addresses that captures may read, in buffers for
    /// [`Purpose::Read`](crate::runtime::memory::descriptors::purpose::Purpose): vertices, indices, predicates and
    /// arguments of draws since Begin. Capture buffers, counters and queries are not included, nor is memory that
    /// shaders access through the application's descriptors. Empty under the descriptor plan.
    pub(in crate::runtime::recording) reached: Ranges,
}

/// The bound capture buffers, by number.
pub(in crate::runtime::recording) type Targets = [Option<BoundCaptureBuffer>; MAX_XFB_BUFFERS];

/// A capture that had ended before another one was begun in the same [`Capture`](crate::runtime::Capture).
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::runtime::recording) struct EndedCapture {
    pub(in crate::runtime::recording) targets: Targets,
    /// Whether the capture begins where the one before it ended.
    pub(in crate::runtime::recording) continues: bool,
    /// For each capture buffer, the address of the counter that the end of the capture writes, or 0.
    pub(in crate::runtime::recording) counters: [Address; MAX_XFB_BUFFERS],
    /// The index in [`Collected::draws`] behind the last draw of this capture.
    pub(in crate::runtime::recording) end: usize,
}

/// Draws that are planned together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::runtime::recording) struct Part {
    /// The index of the draws' capture in [`Collected::ended`], or the length of that list for the current capture.
    pub(in crate::runtime::recording) capture: usize,
    /// The indices of the draws.
    pub(in crate::runtime::recording) draws: Range<usize>,
}

/// A bound capture buffer, without its Vulkan handle.
#[derive(Debug, Clone, Copy)]
pub(in crate::runtime::recording) struct BoundCaptureBuffer {
    /// The size and the record stride of the buffer. Its member `position` is where record 0 of the capture begins; it
    /// is correct only if the CPU knows this position.
    pub(in crate::runtime::recording) buffer: BoundBuffer,
    /// The address of the bound range.
    pub(in crate::runtime::recording) address: Address,
}

/// Where in each capture buffer the next record is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime::recording) enum Position {
    /// The CPU knows the number of the next record. Record 0 is the first record of the capture, which begins at
    /// [`BoundBuffer::position`].
    Known(u32),
    /// The GPU reads the positions from the counters that the capture was begun with.
    Counters,
    /// The GPU reads the positions that an earlier recording of the capture wrote to the arena.
    Earlier,
}

#[derive(Debug, Clone, Copy)]
pub(in crate::runtime::recording) struct CollectedDraw {
    pub(in crate::runtime::recording) topology: PrimitiveTopology,
    /// The draw as the setup kernel reads it, except for the group and the table of restarts, which the plan sets.
    pub(in crate::runtime::recording) command: DrawCommand,
    /// The index of its [`State`] in [`Collected::states`].
    pub(in crate::runtime::recording) state: usize,
    /// The largest number of invocations that the draw may need, for any position of its first record in the capture
    /// buffers.
    pub(in crate::runtime::recording) invocations: u64,
}

/// What is bound and set for a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::runtime::recording) struct State {
    /// The index of the pipeline in [`Bindings::pipelines`]. If draws are only counted, there is no such element.
    pub(in crate::runtime::recording) pipeline: usize,
    /// The index of the attribute descriptors in [`Bindings::attributes`].
    pub(in crate::runtime::recording) attributes: usize,
    /// The position of the snapshot of the push constants that the draw [depends on](Pipeline::pushed), for
    /// [`Constants::bytes`].
    pub(in crate::runtime::recording) constants: usize,
    /// The index of the snapshot of the descriptor sets in [`Bindings::sets`].
    pub(in crate::runtime::recording) sets: usize,
    /// The number of elements of [`Bindings::heaps`], the last of which are the bound descriptor heaps.
    pub(in crate::runtime::recording) heaps: usize,
    /// The index in [`Collected::ended`] of the capture of the draws with this state, or the length of that list for
    /// the current capture.
    pub(in crate::runtime::recording) capture: usize,
    pub(in crate::runtime::recording) properties: StateProperties,
}

/// The properties of a state on which a plan depends. They follow from the other members of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::runtime::recording) struct StateProperties {
    /// The workgroup sizes of the pipeline, or `None` if draws are only counted.
    pub(in crate::runtime::recording) sizes: Option<WorkgroupSizes>,
    /// Whether the shader captures any output. If it captures none, it writes no primitives, so [transform feedback
    /// queries](https://docs.vulkan.org/spec/latest/chapters/queries.html#queries-transform-feedback) do not count its
    /// draws, even if buffers are bound.
    pub(in crate::runtime::recording) is_counted: bool,
    /// Whether workgroups collect records in shared memory before they store them (staging). If so, some Vulkan
    /// pipelines of the state's pipeline nevertheless store records directly, for draws that staging does not make
    /// faster.
    pub(in crate::runtime::recording) is_staged: bool,
    pub(in crate::runtime::recording) fixed_topology: Option<PrimitiveTopology>,
    /// The input and output primitives of the geometry or tessellation shaders, or `None` if a vertex shader is
    /// captured.
    pub(in crate::runtime::recording) geometry: Option<LoweredGeometry>,
    /// Whether the shader finds descriptors in heaps by push data of the application. The push data of a dispatch also
    /// has its parameters, and is the same for all its draws.
    pub(in crate::runtime::recording) maps_push_data: bool,
    /// Whether every element of an attribute is aligned to the size of the widest access to it.
    pub(in crate::runtime::recording) has_aligned_attributes: bool,
    /// The number of vertices, and in `instances` the number of instances, for which the bound buffers have the
    /// elements of all attributes.
    pub(in crate::runtime::recording) vertices: u32,
    pub(in crate::runtime::recording) instances: u32,
    /// The number of a descriptor set that draws read but the recorder did not bind, or `None` if there is none.
    pub(in crate::runtime::recording) unbound_set: Option<u32>,
}

/// The bound objects and values to which the [`State`]s of the draws refer by index.
#[derive(Debug, Default)]
pub(in crate::runtime::recording) struct Bindings {
    pub(in crate::runtime::recording) pipelines: Vec<Pipeline>,
    pub(in crate::runtime::recording) attributes: Vec<Attributes>,
    /// The attribute descriptors of all [`Attributes`], except for the inline ones.
    pub(in crate::runtime::recording) attribute_table: Vec<AttributeDescriptor>,
    pub(in crate::runtime::recording) constants: Constants,
    pub(in crate::runtime::recording) sets: BoundSets,
    /// The descriptor heaps, in the order in which they were bound.
    pub(in crate::runtime::recording) heaps: Vec<BoundHeaps>,
}

/// The attribute descriptors with which a pipeline reads the bound vertex buffers.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::runtime::recording) struct Attributes {
    pub(in crate::runtime::recording) inline: [AttributeDescriptor; INLINE_ATTRIBUTES],
    /// The attribute descriptors that are not inline: the index of the first one in [`Bindings::attribute_table`], and
    /// their number.
    pub(in crate::runtime::recording) others: (usize, usize),
    /// Whether any attribute [reaches far](AttributeDescriptor::reaches_far).
    pub(super) reach_far: bool,
    /// Whether all elements are aligned to the size of the [widest
    /// access](crate::runtime::pipelines::pulling::PulledAttribute::access) to them.
    pub(super) are_aligned: bool,
    /// The number of elements that the bound vertex buffers have for all attributes with per-vertex rate: of the one
    /// with the fewest.
    pub(super) vertices: u32,
    /// The number of elements that the bound vertex buffers have for all attributes with per-instance rate: of the one
    /// with the fewest. With a divisor other than 1 it is not a number of instances.
    pub(super) instances: u32,
}

/// Disjoint ranges of addresses, in ascending order. Ranges that touch are joined.
#[derive(Debug, Default)]
pub(in crate::runtime::recording) struct Ranges(Vec<Range<u64>>);

impl Default for Collected {
    fn default() -> Self {
        Self {
            stream: 0,
            is_captured: true,
            has_effects: true,
            ended: Vec::new(),
            targets: Default::default(),
            continues: false,
            position: Position::Known(0),
            counters: Default::default(),
            captured: Some(Captured::default()),
            draws: Vec::new(),
            states: Vec::new(),
            ends: Vec::new(),
            reached: Ranges::default(),
        }
    }
}

impl Collected {
    pub(super) fn clear(&mut self) {
        self.advance(Position::Known(0), Some(Captured::default()));
        self.targets = Default::default();
        self.continues = false;
        self.counters = Default::default();
        self.reached.clear();
    }

    /// Ends the current capture, whose end writes the counters `end`, and begins another one with these buffers, which
    /// reads the counters `begin`. Returns `false`, and changes nothing, if the two could not be planned together, or
    /// if there are many captures already.
    pub(super) fn begin_next(
        &mut self,
        end: &[Address; MAX_XFB_BUFFERS],
        begin: &[Address; MAX_XFB_BUFFERS],
        targets: Targets,
    ) -> bool {
        let is_known = self.position == Position::Known(0) && self.knows_draws();
        let continues = *begin != <[Address; _]>::default();
        // The CPU knows the value of a counter only if it was written by the end of the current capture. All buffers
        // have the same number of records then, from which all positions follow.
        let is_written = |number: usize| match (self.targets[number], targets[number]) {
            (Some(_), Some(_)) => begin[number] == end[number] && begin[number] != [0; 2],
            (None, Some(_)) => false,
            (_, None) => begin[number] == [0; 2],
        };
        let knows_counters = !continues || (0..MAX_XFB_BUFFERS).all(is_written);
        if !is_known || !knows_counters || self.ended.len() >= MOST_ENDED {
            return false;
        }
        self.ended.push(self.current(end));
        (self.targets, self.continues) = (targets, continues);
        true
    }

    /// The current capture as if it ended now, and wrote these counters.
    const fn current(&self, counters: &[Address; MAX_XFB_BUFFERS]) -> EndedCapture {
        let Self { targets, continues, .. } = *self;
        EndedCapture { targets, continues, counters: *counters, end: self.draws.len() }
    }

    /// Whether the CPU knows how many primitives each draw of the current capture generates, and none has a geometry or
    /// tessellation shader.
    pub(in crate::runtime::recording) fn knows_draws(&self) -> bool {
        let first = self.ended.last().map_or(0, |capture| capture.end);
        let mut draws = self.draws.iter().skip(first);
        draws.all(|draw| draw.is_known() && self.properties_of(draw).geometry.is_none())
    }

    /// The capture buffers to which draws with this state are captured.
    pub(in crate::runtime::recording) fn targets_of(&self, state: &State) -> &Targets {
        self.ended.get(state.capture).map_or(&self.targets, |capture| &capture.targets)
    }

    /// Removes the draws, because they were recorded. The capture continues at `position`.
    pub(super) fn advance(&mut self, position: Position, captured: Option<Captured>) {
        (self.position, self.captured) = (position, captured);
        self.ended.clear();
        self.draws.clear();
        self.states.clear();
        self.ends.clear();
    }

    /// Discards the draws of the current capture, which then writes nothing. Its queries still end.
    pub(super) fn discard_current(&mut self) {
        let first = self.ended.last().map_or(0, |capture| capture.end);
        self.draws.truncate(first);
        (self.targets, self.continues) = (Default::default(), false);
        self.counters = Default::default();
        if self.ended.is_empty() {
            (self.position, self.captured) = (Position::default(), Some(Captured::default()));
        }
    }

    /// Discards the draws of all captures, whose last one writes the counters `end` when it ends. Of all counters that
    /// captures write, those that the first capture does not begin with become 0: the captures after it begin with
    /// none, or where the one before them ended.
    pub(super) fn discard_all(&mut self, end: &mut [Address; MAX_XFB_BUFFERS]) {
        for (counter, begin) in end.iter_mut().zip(&self.counters) {
            if *begin != Address::default() {
                *counter = Address::default();
            }
        }
        for ended in &mut self.ended {
            let EndedCapture { counters, .. } = *ended;
            *ended = EndedCapture { counters, ..EndedCapture::default() };
        }
        self.draws.clear();
        (self.targets, self.continues) = (Default::default(), false);
        self.counters = Default::default();
        (self.position, self.captured) = (Position::default(), Some(Captured::default()));
    }

    /// Whether there are neither draws nor ends of queries to record.
    pub(in crate::runtime::recording) const fn is_empty(&self) -> bool {
        self.draws.is_empty() && self.ends.is_empty()
    }

    /// Iterates over all captures, the current one last, as if it ended now and wrote the counters `counters`.
    pub(in crate::runtime::recording) fn captures(
        &self,
        counters: &[Address; MAX_XFB_BUFFERS],
    ) -> impl Iterator<Item = EndedCapture> {
        self.ended.iter().copied().chain([self.current(counters)])
    }

    /// The bound capture buffers of the current capture.
    pub(in crate::runtime::recording) fn bound_targets(
        &self,
    ) -> impl Iterator<Item = &BoundCaptureBuffer> {
        self.targets.iter().flatten()
    }

    /// Whether any capture buffer is bound for the current capture. If not, its primitives are only counted, as needed,
    /// and as written unless the stream [is captured](Self::is_captured).
    pub(in crate::runtime::recording) fn has_targets(&self) -> bool {
        self.bound_targets().next().is_some()
    }

    pub(in crate::runtime::recording) fn properties_of(
        &self,
        draw: &CollectedDraw,
    ) -> StateProperties {
        self.states.get(draw.state).map_or_else(StateProperties::default, |state| state.properties)
    }

    /// Whether a dispatch of listed draws may contain draws with either of these states: the same Vulkan pipeline
    /// captures them with the same descriptor sets or heaps. Everything else that is bound or set is a parameter of
    /// each draw in the list.
    pub(in crate::runtime::recording) fn share_dispatch(&self, one: usize, other: usize) -> bool {
        let [one, other] = [one, other].map(|state| self.states.get(state));
        one.zip(other).is_some_and(|(one, other)| {
            one.pipeline == other.pipeline
                && (one.sets, one.heaps) == (other.sets, other.heaps)
                && (!one.properties.maps_push_data || one.constants == other.constants)
        })
    }

    /// Whether the draws have geometry or tessellation shaders. Either all draws of a [part](Self::parts) have them, or
    /// none has.
    pub(in crate::runtime::recording) fn has_geometry(&self) -> bool {
        self.draws.first().is_some_and(|draw| self.properties_of(draw).geometry.is_some())
    }

    /// Returns the indices of the states with which shaders have to run, in ascending order.
    pub(in crate::runtime::recording) fn used_states(&self) -> impl Iterator<Item = usize> {
        let captures = self.has_targets() || !self.ended.is_empty();
        let is_used = move |draw: &&CollectedDraw| {
            // To count the primitives that a geometry shader emits, the shader must run.
            captures || self.properties_of(draw).geometry.is_some()
        };
        let mut last = None;
        let numbers = self.draws.iter().filter(is_used).map(|draw| draw.state);
        numbers.filter(move |number| last.replace(*number) != Some(*number))
    }

    /// Cuts the draws of each capture into parts, which are planned separately. In a part either all draws have
    /// geometry or tessellation shaders, or none has. A part with such shaders has a limited number of draws, because
    /// each draw takes memory. If there is one capture, and none of its draws has such shaders, the result is empty,
    /// and all draws are planned together.
    pub(in crate::runtime::recording) fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        let has_geometry = self.states.iter().any(|state| state.properties.geometry.is_some());
        if self.ended.is_empty() && !has_geometry {
            return parts;
        }
        let ends = self.ended.iter().map(|capture| capture.end).chain([self.draws.len()]);
        let mut first = 0;
        for (capture, end) in ends.enumerate() {
            // Each capture has a part, even if it has no draws, because its end may write counters.
            parts.push(Part { capture, draws: first..first });
            let (mut last, mut count) = (None, 0);
            for (number, draw) in self.draws.iter().enumerate().take(end).skip(first) {
                let kind = self.properties_of(draw).geometry.is_some();
                let joins = |part: &&mut Part| {
                    let fits = part.draws.len() < MAX_GEOMETRY_COMMANDS
                        && count + draw.count() <= MAX_GEOMETRY_DRAWS;
                    part.draws.is_empty() || (last == Some(kind) && (fits || !kind))
                };
                match parts.last_mut().filter(joins) {
                    Some(part) => {
                        part.draws.end = number + 1;
                        count += draw.count();
                    }
                    None => {
                        parts.push(Part { capture, draws: number..number + 1 });
                        count = draw.count();
                    }
                }
                last = Some(kind);
            }
            first = end;
        }
        parts
    }

    /// Removes the draws and the captures before this part, because they were recorded. Adapts the indices in the
    /// remaining captures, and the indices of captures in the states.
    pub(in crate::runtime::recording) fn forget_recorded(
        &mut self,
        Part { capture, draws }: &Part,
    ) {
        drop(self.draws.drain(..draws.start));
        drop(self.ended.drain(..*capture));
        self.ended.iter_mut().for_each(|ended| ended.end -= draws.start);
        for state in &mut self.states {
            state.capture = state.capture.saturating_sub(*capture);
        }
    }

    /// Returns the number of a descriptor set that a shader reads but the recorder did not bind, or `None` if there is
    /// none.
    pub(in crate::runtime::recording) fn unbound_set(&self) -> Option<u32> {
        let mut states = self.used_states().filter_map(|number| self.states.get(number));
        states.find_map(|state| state.properties.unbound_set)
    }
}

impl Bindings {
    /// Returns the pipeline of a state, or `None` if its draws are only counted.
    pub(in crate::runtime::recording) fn pipeline_of(&self, state: &State) -> Option<&Pipeline> {
        self.pipelines.get(state.pipeline)
    }

    pub(super) fn clear(&mut self) {
        self.pipelines.clear();
        self.attributes.clear();
        self.attribute_table.clear();
        self.constants.clear();
        self.sets.restart();
        self.heaps.clear();
    }

    /// How the pipelines get their parameters.
    pub(in crate::runtime::recording) fn transports(
        &self,
    ) -> impl Iterator<Item = ParameterTransport> {
        self.pipelines.iter().map(|pipeline| match pipeline.heaps() {
            Some(_) => ParameterTransport::PushData,
            None => ParameterTransport::PushConstants,
        })
    }

    /// The descriptor heaps that are bound in a state.
    pub(in crate::runtime::recording) fn heaps_of(&self, state: &State) -> BoundHeaps {
        let last = state.heaps.checked_sub(1).and_then(|last| self.heaps.get(last));
        last.copied().unwrap_or_default()
    }

    /// Removes what only recorded draws refer to. The last pipeline, the descriptor sets and the heaps stay bound.
    pub(super) fn advance(&mut self) {
        self.pipelines.drain(..self.pipelines.len().saturating_sub(1));
        self.attributes.clear();
        self.attribute_table.clear();
        self.constants.forget_snapshots();
        self.heaps.drain(..self.heaps.len().saturating_sub(1));
    }
}

impl BoundCaptureBuffer {
    /// Whether every record begins at a multiple of the largest power of two that divides the record stride, or at a
    /// multiple of 16 bytes if that is less.
    pub(in crate::runtime::recording) const fn is_aligned(&self) -> bool {
        let bits = self.buffer.stride | MAX_ACCESS as u32;
        self.address[0].trailing_zeros() >= bits.trailing_zeros()
    }
}

impl Default for Position {
    fn default() -> Self {
        Self::Known(0)
    }
}

impl Position {
    /// The offset in bytes from the start of the bound range to the next record, or `None` if the CPU does not know it.
    pub(in crate::runtime::recording) fn in_buffer(
        self,
        target: &BoundCaptureBuffer,
    ) -> Option<u64> {
        match self {
            Self::Known(records) => {
                let written = u64::from(records) * u64::from(target.buffer.stride);
                Some(target.buffer.position + written)
            }
            Self::Counters | Self::Earlier => None,
        }
    }
}

impl StateProperties {
    /// Returns the number of primitives that a geometry shader emits for each input primitive, and the number of
    /// vertices of each emitted primitive. Returns `None` without a geometry shader, or if the number of primitives
    /// varies, so that they must be counted.
    pub(in crate::runtime::recording) fn emission(&self) -> Option<[u32; 2]> {
        let geometry = self.geometry?;
        Some([geometry.primitives_each()?, geometry.output_vertices])
    }

    /// The workgroup size of the Vulkan pipeline that `key` selects.
    pub(in crate::runtime::recording) fn workgroup_size(&self, key: &Key) -> u32 {
        self.sizes.map_or(1, |sizes| key.workgroup_size(&sizes)).max(1)
    }
}

impl CollectedDraw {
    /// Whether the CPU knows how many primitives the draw generates: it is direct, has no predicate, and primitive
    /// restart is disabled.
    pub(in crate::runtime::recording) fn is_known(&self) -> bool {
        self.command.kind == kind::DIRECT
            && !self.is_restarted()
            && self.command.predicate == Address::default()
    }

    /// The number of input primitives per instance of a direct draw without primitive restart. For a patch list it is
    /// the number of slices of all patches.
    pub(in crate::runtime::recording) const fn primitives(&self) -> u64 {
        let DrawCommand { count, flags: bits, .. } = self.command;
        match (self.topology, bits >> flags::VERTICES_PER_PRIMITIVE_SHIFT) {
            (PrimitiveTopology::PatchList, 0) => 0,
            (PrimitiveTopology::PatchList, points) => {
                ((count / points) as u64) << flags::slice_bits(bits)
            }
            _ => self.topology.primitive_count(count),
        }
    }

    /// The largest number of draws of the command. It is more than 1 only for indirect commands.
    pub(in crate::runtime::recording) fn count(&self) -> u64 {
        self.command.draw_count.clamp(1, MAX_DRAWS).into()
    }

    /// Checks that a draw of geometry or tessellation shaders has as few primitives, and is as few draws, as the CPU or
    /// the GPU can divide among invocations. How many primitives it has may be known to the GPU alone.
    ///
    /// # Errors
    /// [`RuntimeError::TooManyPrimitives`], [`RuntimeError::TooManyDraws`].
    pub(in crate::runtime::recording) fn check_geometry(&self) -> Result<(), RuntimeError> {
        let draws = self.count();
        if draws > MAX_GEOMETRY_DRAWS {
            return Err(RuntimeError::TooManyDraws { draws, max: MAX_GEOMETRY_DRAWS });
        }
        let primitives = self.primitives().saturating_mul(self.command.instance_count.into());
        if self.is_known() && primitives >= MAX_PRIMITIVES {
            // Patches are counted, not their slices.
            let bits = flags::slice_bits(self.command.flags);
            let is_patches = self.topology == PrimitiveTopology::PatchList;
            return Err(RuntimeError::TooManyPrimitives {
                what: if is_patches { "patches" } else { "primitives before a geometry shader" },
                primitives: primitives >> bits,
                max: (MAX_PRIMITIVES - 1) >> bits,
            });
        }
        Ok(())
    }

    pub(in crate::runtime::recording) const fn is_restarted(&self) -> bool {
        self.command.flags & flags::RESTART != 0
    }

    pub(in crate::runtime::recording) const fn is_indexed(&self) -> bool {
        self.command.flags & flags::INDEX_SIZE != 0
    }

    /// Whether the index buffer ends within a dword of which shaders can read nothing but the indices.
    pub(in crate::runtime::recording) const fn has_partial_indices(&self) -> bool {
        self.command.flags & flags::PARTIAL_INDICES != 0
    }

    /// Whether elements of an attribute may begin 4 GiB or more after the first element.
    pub(in crate::runtime::recording) const fn reaches_far(&self) -> bool {
        self.command.flags & flags::FAR_ATTRIBUTES != 0
    }

    /// The key of a Vulkan pipeline that can capture the draw together with any other draws.
    pub(in crate::runtime::recording) const fn any_key(&self) -> Key {
        Key { restart: self.is_restarted(), ..Key::ANY }
    }

    /// The largest number of workgroups of `size` invocations that the command may need, if each of its draws has its
    /// own workgroups.
    pub(in crate::runtime::recording) fn most_workgroups(&self, size: u32) -> u64 {
        let more = (self.count() - 1).min(self.invocations);
        self.invocations.div_ceil(u64::from(size)) + more
    }
}

impl Ranges {
    pub(in crate::runtime::recording) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(in crate::runtime::recording) fn as_slice(&self) -> &[Range<u64>] {
        &self.0
    }

    pub(in crate::runtime::recording) fn clear(&mut self) {
        self.0.clear();
    }

    pub(in crate::runtime::recording) fn overlaps(&self, range: &Range<u64>) -> bool {
        let next = self.0.partition_point(|other| other.end <= range.start);
        !range.is_empty() && self.0.get(next).is_some_and(|other| other.start < range.end)
    }

    pub(in crate::runtime::recording) fn add(&mut self, range: Range<u64>) {
        let first = self.0.partition_point(|other| other.end < range.start);
        let touching = |other: &&Range<u64>| other.start <= range.end;
        let count = self.0.iter().skip(first).take_while(touching).count();
        match self.0.get_mut(first..first + count).unwrap_or_default() {
            [] if range.is_empty() => {}
            [] => self.0.insert(first, range),
            [one] => *one = one.start.min(range.start)..one.end.max(range.end),
            [one, .., last] => {
                *one = one.start.min(range.start)..last.end.max(range.end);
                drop(self.0.drain(first + 1..first + count));
            }
        }
    }
}

/// The number of invocations per item. A triangle fan needs two: the second one writes copies of the first vertex of
/// the fan. Unchecked captures of fans need fewer.
pub(in crate::runtime::recording) const fn invocations_per_item(
    topology: PrimitiveTopology,
) -> u32 {
    match topology.shape() {
        Shape::TriFan => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_discarded_captures_become_zero_unless_the_first_one_begins_with_them() {
        let counter = |number: u32| [16 * number, 0];
        let target = Some(BoundCaptureBuffer {
            buffer: BoundBuffer { size: 64, position: 0, stride: 4 },
            address: counter(9),
        });
        let end = [counter(1), counter(2), [0; 2], [0; 2]];
        let mut resumed = Collected {
            targets: [target, target, None, None],
            position: Position::Counters,
            counters: [[0; 2], counter(2), [0; 2], [0; 2]],
            captured: None,
            ..Collected::default()
        };
        let mut written = end;
        resumed.discard_all(&mut written);
        assert_eq!(written, [counter(1), [0; 2], [0; 2], [0; 2]]);
        assert!(resumed.position == Position::Known(0) && !resumed.has_targets());

        let mut joined = Collected { targets: [target; 4], ..Collected::default() };
        assert!(joined.begin_next(&end, &[[0; 2]; 4], [target; 4]));
        let mut written = [counter(3), [0; 2], [0; 2], [0; 2]];
        joined.discard_all(&mut written);
        let all: Vec<_> = joined.captures(&written).map(|capture| capture.counters).collect();
        assert_eq!(all, [end, [counter(3), [0; 2], [0; 2], [0; 2]]]);
        assert!(
            joined.captures(&written).all(|capture| capture.targets.iter().all(Option::is_none))
        );
    }
}
