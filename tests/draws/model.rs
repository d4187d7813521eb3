//! A model that executes programs as the specification defines it, one command after the other and
//! one record at a time.
//!
//! Of the crate, it only uses the decomposition of topologies ([`PrimitiveTopology::gather`]).

use std::collections::BTreeSet;

use crate::common::commands::{Counters, Draw, Instances, QueryKind, Range, Span};
use crate::program::{
    BoundSet, Condition, IndexBuffer, Outcome, Program, State, StateChange, Step,
};
use crate::sets::SETS;
use crate::shaders::{CONSTANTS, INSTANCE_STRIDE, Read, VERTEX_STRIDE, Vertex};

/// Something that a program does and that some driver handles wrongly: see [`crate::known`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// A primitive is drawn while a buffer that is captured to is not bound, but another one is, or while no buffer is
    /// bound at all.
    Unbound,
    /// A primitive is drawn while only buffers are bound that are not captured to.
    OnlyOthersBound,
    /// Counters are passed that do not begin with the first buffer.
    FirstCounter,
    /// As [`FirstCounter`](Self::FirstCounter), while a buffer before the last is not bound.
    FirstCounterBesideGap,
    /// An indexed indirect draw has primitive restart.
    IndirectRestart,
    /// A byte-count draw has a `counterOffset` other than 0.
    ByteCountOffset,
    /// A byte-count draw comes after an indirect draw in the same command buffer.
    ByteCountBehindIndirect,
    /// An indirect draw without a count comes after one with a count in the same command buffer.
    IndirectBehindCount,
    /// A multi-draw has primitives, but its first draw is empty.
    MultiDrawEmptyFirst,
    /// A multi-draw with primitives has several draws and several instances.
    MultiDrawInstances,
    /// An indexed multi-draw of several draws has primitives and primitive restart.
    MultiDrawRestart,
    /// A capture begins with a counter that is beyond its buffer, to which nothing is captured.
    UncapturedBeyond,
    /// The outputs of a primitive fit into a buffer, but its strides do not.
    OutputsFitOnly,
    /// An indexed indirect draw uses indices that do not begin at the start of their buffer.
    IndirectIndexOffset,
    /// Primitives are drawn outside of transform feedback while queries of both kinds are active.
    StreamWhileInactive,
    /// A draw is within conditional rendering.
    Conditional,
    /// A counter is written to memory from which a predicate was read.
    CounterOverPredicate,
    /// An instance number exceeds 2^32 - 1 and wraps, and the instance has primitives.
    InstanceWraps,
    /// A primitive restart index other than the largest one is set.
    RestartIndex,
    /// A captured vertex is beyond the bound range. No program does this.
    VertexOutOfRange,
    /// An index is beyond the bound range.
    IndexOutOfRange,
    /// An index is more than a mebibyte beyond the bound range.
    IndexFarOutOfRange,
}

/// The state of the device, as the model executes a program.
#[derive(Debug, Clone)]
pub struct Model {
    pub memory: Vec<u8>,
    /// The value of [`Program::objects`].
    pub objects: u64,
    pub queries: Vec<[u64; 2]>,
    pub facts: BTreeSet<Fact>,
    /// The number of primitives so far.
    pub primitives: u64,
    pub state: Option<State>,
    pub vertices: Option<[Range; 2]>,
    pub indices: Option<IndexBuffer>,
    restart_index: u32,
    pub condition: Option<Condition>,
    /// The positions of predicates that decided about draws.
    predicates: BTreeSet<u64>,
    sets: [Option<BoundSet>; SETS],
    /// The push constants, by dword. `None` if a dword was not set.
    pub constants: [Option<u32>; CONSTANTS],
    captures: [Option<Range>; 4],
    /// The write positions while transform feedback is active, in bytes from the start of the bound
    /// ranges. `None` while it is not.
    pub positions: Option<[u64; 4]>,
    active_queries: Vec<(QueryKind, usize)>,
    indirect_in_round: bool,
    count_in_round: bool,
}

/// Executes a program. Returns its results, and the facts that it causes.
pub fn run(program: &Program) -> (Outcome, BTreeSet<Fact>) {
    let mut model = Model { objects: program.objects, ..Model::new(program.memory.clone()) };
    for round in 0..program.rounds.len() {
        model.begin_round();
        for step in program.executed(round) {
            model.step(step, &program.queries);
        }
    }
    (Outcome { memory: model.memory, queries: model.queries }, model.facts)
}

impl Model {
    pub fn new(memory: Vec<u8>) -> Self {
        Self {
            memory,
            objects: 0,
            queries: Vec::new(),
            facts: BTreeSet::new(),
            primitives: 0,
            state: None,
            vertices: None,
            indices: None,
            restart_index: 0,
            condition: None,
            predicates: BTreeSet::new(),
            sets: [None; SETS],
            constants: [None; CONSTANTS],
            captures: [None; 4],
            positions: None,
            active_queries: Vec::new(),
            indirect_in_round: false,
            count_in_round: false,
        }
    }

    /// Begins a command buffer, in which nothing is bound and no push constants are set.
    pub fn begin_round(&mut self) {
        self.forget();
        self.indirect_in_round = false;
        self.count_in_round = false;
    }

    fn forget(&mut self) {
        (self.state, self.vertices, self.indices) = (None, None, None);
        (self.sets, self.captures) = ([None; SETS], [None; 4]);
        self.condition = None;
        self.constants = [None; CONSTANTS];
    }

    /// Whether all descriptor sets are bound.
    pub fn has_sets(&self) -> bool {
        self.sets.iter().all(Option::is_some)
    }

    pub fn step(&mut self, step: &Step, queries: &[QueryKind]) {
        match step {
            Step::BeginPass(_) | Step::NextPart | Step::EndPass | Step::Barrier => {}
            // A secondary command buffer does not inherit what was bound, and what it binds is not
            // bound after it.
            Step::BeginSecondary(_) | Step::EndSecondary => self.forget(),
            Step::Change(change) => self.change(change),
            Step::CaptureBuffers(ranges) => self.captures = *ranges,
            Step::Begin(counters) => self.begin(counters),
            Step::End(counters) => self.end(counters),
            Step::BeginQuery(query) => {
                self.queries.resize(self.queries.len().max(query + 1), [0; 2]);
                self.queries[*query] = [0; 2];
                self.active_queries.push((queries[*query], *query));
            }
            Step::EndQuery(query) => self.active_queries.retain(|(_, active)| active != query),
            Step::Draw(draw) => self.draw(draw),
        }
    }

    fn change(&mut self, change: &StateChange) {
        match change {
            StateChange::Pipeline(state) => self.state = Some(*state),
            StateChange::ProvokingVertex(provoking) => self.bound_state().provoking = *provoking,
            StateChange::PrimitiveRestart(restart) => self.bound_state().restart = *restart,
            StateChange::VertexBuffers(ranges) => self.vertices = Some(*ranges),
            StateChange::IndexBuffer(buffer) => {
                self.indices = Some(*buffer);
                self.restart_index = IndexBuffer::restart_index(buffer.index_size);
            }
            StateChange::PrimitiveRestartIndex(index) => {
                self.facts.insert(Fact::RestartIndex);
                self.restart_index = *index;
            }
            StateChange::BeginConditionalRendering(condition) => {
                self.condition = Some(*condition);
            }
            StateChange::EndConditionalRendering => self.condition = None,
            StateChange::DescriptorSets { first, sets } => {
                for (bound, set) in self.sets.iter_mut().skip(*first).zip(sets) {
                    *bound = Some(*set);
                }
            }
            StateChange::PushConstants { first, dwords } => {
                for (constant, dword) in self.constants.iter_mut().skip(*first).zip(dwords) {
                    *constant = Some(*dword);
                }
            }
        }
    }

    fn bound_state(&mut self) -> &mut State {
        self.state.as_mut().expect("a pipeline is bound")
    }

    fn begin(&mut self, counters: &Counters) {
        self.note_counters(counters);
        let position = |buffer| counters.of(buffer).map_or(0, |at| u64::from(self.dword(at)));
        let positions = std::array::from_fn(position);
        let strides = self.state.map_or([None; 4], |state| state.shader.strides());
        for (buffer, (range, stride)) in self.captures.iter().zip(strides).enumerate() {
            if let (Some(range), None) = (range, stride)
                && positions[buffer] >= range.size
            {
                self.facts.insert(Fact::UncapturedBeyond);
            }
        }
        self.positions = Some(positions);
    }

    fn end(&mut self, counters: &Counters) {
        self.note_counters(counters);
        let positions = self.positions.take().expect("transform feedback is active");
        for (buffer, position) in positions.into_iter().enumerate() {
            if let Some(at) = counters.of(buffer) {
                if self.predicates.contains(&at) {
                    self.facts.insert(Fact::CounterOverPredicate);
                }
                self.put(at, position as u32);
            }
        }
    }

    fn note_counters(&mut self, counters: &Counters) {
        if counters.first != 0 && counters.counters.iter().any(Option::is_some) {
            self.facts.insert(Fact::FirstCounter);
            if self.captures.contains(&None) {
                self.facts.insert(Fact::FirstCounterBesideGap);
            }
        }
    }

    /// Whether conditional rendering discards draws.
    fn is_discarding(&self) -> bool {
        self.condition.is_some_and(|c| (self.dword(c.offset) == 0) != c.inverted)
    }

    fn draw(&mut self, draw: &Draw) {
        if let Some(condition) = self.condition {
            self.predicates.insert(condition.offset);
            self.facts.insert(Fact::Conditional);
        }
        match draw {
            Draw::Direct { indexed, span, instances } => self.one(*indexed, *span, *instances, 0),
            Draw::Multi { indexed, spans, instances, vertex_offset } => {
                for (index, span) in (0..).zip(spans) {
                    let vertex_offset = vertex_offset.unwrap_or(span.vertex_offset);
                    let before = self.primitives;
                    self.one(*indexed, Span { vertex_offset, ..*span }, *instances, index);
                    let restart = *indexed && self.state.is_some_and(|state| state.restart);
                    if self.primitives > before && restart && spans.len() > 1 {
                        self.facts.insert(Fact::MultiDrawRestart);
                    }
                    if self.primitives > before && spans[0].count == 0 {
                        self.facts.insert(Fact::MultiDrawEmptyFirst);
                    }
                    if self.primitives > before && spans.len() > 1 && instances.count > 1 {
                        self.facts.insert(Fact::MultiDrawInstances);
                    }
                }
            }
            Draw::Indirect { indexed, offset, draw_count, stride, count } => {
                self.indirect_in_round = true;
                self.count_in_round |= count.is_some();
                if self.count_in_round && count.is_none() {
                    self.facts.insert(Fact::IndirectBehindCount);
                }
                if *indexed && self.indices.is_some_and(|indices| indices.range.offset > 0) {
                    self.facts.insert(Fact::IndirectIndexOffset);
                }
                if *indexed && self.state.is_some_and(|state| state.restart) {
                    self.facts.insert(Fact::IndirectRestart);
                }
                let count = count.map_or(u32::MAX, |at| self.dword(at));
                for index in 0..count.min(*draw_count) {
                    let at = offset + u64::from(index) * u64::from(*stride);
                    let [count, instance_count, first, then] =
                        [0, 4, 8, 12].map(|argument| self.dword(at + argument));
                    // Indexed commands have the vertex offset before the first instance.
                    let (vertex_offset, first_instance) = if *indexed {
                        (then.cast_signed(), self.dword(at + 16))
                    } else {
                        (0, then)
                    };
                    let instances = Instances { first: first_instance, count: instance_count };
                    self.one(*indexed, Span { first, count, vertex_offset }, instances, index);
                }
            }
            Draw::ByteCount { instances, counter, counter_offset, vertex_stride } => {
                if *counter_offset != 0 {
                    self.facts.insert(Fact::ByteCountOffset);
                }
                if self.indirect_in_round {
                    self.facts.insert(Fact::ByteCountBehindIndirect);
                }
                let bytes = self.dword(*counter).saturating_sub(*counter_offset);
                let span = Span { first: 0, count: bytes / vertex_stride, vertex_offset: 0 };
                self.one(false, span, *instances, 0);
            }
        }
    }

    /// Executes one of the draws of a command.
    fn one(&mut self, indexed: bool, span: Span, instances: Instances, draw_index: u32) {
        if self.is_discarding() {
            return;
        }
        let state = self.state.expect("a pipeline is bound");
        let base_vertex = if indexed { span.vertex_offset.cast_unsigned() } else { span.first };
        let segments = if indexed {
            self.indexed_segments(span, state.restart)
        } else {
            vec![(0..span.count).map(|i| span.first.wrapping_add(i)).collect()]
        };
        for instance in 0..instances.count {
            let wraps = instances.first.checked_add(instance).is_none();
            for segment in &segments {
                let primitives = state.topology.primitive_count(segment.len() as u32);
                let m = u64::from(state.topology.vertices_per_primitive());
                for primitive in 0..primitives {
                    let vertices: Vec<Vertex> = (primitive * m..(primitive + 1) * m)
                        .map(|output| Vertex {
                            vertex_index: segment
                                [state.topology.gather(state.provoking, output) as usize],
                            instance_index: instances.first.wrapping_add(instance),
                            base_vertex,
                            base_instance: instances.first,
                            draw_index,
                        })
                        .collect();
                    if wraps && self.positions.is_some() {
                        self.facts.insert(Fact::InstanceWraps);
                    }
                    self.primitive(state, &vertices);
                }
            }
        }
    }

    /// Returns the vertices of an instance, split where primitives restart.
    fn indexed_segments(&mut self, span: Span, restart: bool) -> Vec<Vec<u32>> {
        let IndexBuffer { range, index_size } = self.indices.expect("an index buffer is bound");
        let mut segments = vec![Vec::new()];
        for i in 0..u64::from(span.count) {
            let at = (u64::from(span.first) + i) * index_size;
            let index = if at + index_size <= range.size {
                let start = (range.offset + at) as usize;
                let bytes = &self.memory[start..start + index_size as usize];
                bytes.iter().rev().fold(0, |index, byte| index << 8 | u32::from(*byte))
            } else {
                self.facts.insert(Fact::IndexOutOfRange);
                if at > range.size + (1 << 20) {
                    self.facts.insert(Fact::IndexFarOutOfRange);
                }
                0
            };
            if restart && index == self.restart_index {
                segments.push(Vec::new());
            } else if let Some(last) = segments.last_mut() {
                last.push(index.wrapping_add_signed(span.vertex_offset));
            }
        }
        segments
    }

    fn primitive(&mut self, state: State, vertices: &[Vertex]) {
        self.primitives += 1;
        let mut written = 0;
        if let Some(mut positions) = self.positions
            && self.fits(state, vertices.len() as u64, &positions)
        {
            written = 1;
            for vertex in vertices {
                self.record(state, vertex, &mut positions);
            }
            self.positions = Some(positions);
        }
        if self.positions.is_none() && self.active_queries.len() == 2 {
            self.facts.insert(Fact::StreamWhileInactive);
        }
        for (kind, query) in self.active_queries.clone() {
            match kind {
                QueryKind::Generated => self.queries[query][0] += 1,
                QueryKind::Stream if self.positions.is_some() => {
                    self.queries[query][0] += written;
                    self.queries[query][1] += 1;
                }
                QueryKind::Stream => {}
            }
        }
    }

    /// Whether a primitive fits into every buffer that is bound and captured to, measured by
    /// strides. Without such a buffer it is not written.
    fn fits(&mut self, state: State, vertices: u64, positions: &[u64; 4]) -> bool {
        let strides = state.shader.strides();
        let captured =
            || strides.into_iter().enumerate().filter_map(|(b, stride)| Some((b, stride?)));
        let bound = captured().filter(|(buffer, _)| self.captures[*buffer].is_some()).count();
        if bound < captured().count() {
            let only_others = bound == 0 && self.captures.iter().any(Option::is_some);
            self.facts.insert(if only_others { Fact::OnlyOthersBound } else { Fact::Unbound });
        }
        let mut fits = bound > 0;
        let mut outputs_fit = fits;
        for (buffer, stride) in captured() {
            let Some(range) = self.captures[buffer] else { continue };
            fits &= positions[buffer] + vertices * u64::from(stride) <= range.size;
            let outputs = state.shader.outputs();
            let ends = outputs.iter().filter(|o| o.buffer == buffer).map(|o| o.offset + 4);
            let end = u64::from(ends.max().unwrap_or(0));
            outputs_fit &=
                positions[buffer] + (vertices - 1) * u64::from(stride) + end <= range.size;
        }
        if outputs_fit && !fits {
            self.facts.insert(Fact::OutputsFitOnly);
        }
        fits
    }

    fn record(&mut self, state: State, vertex: &Vertex, positions: &mut [u64; 4]) {
        let (vertices, sets, constants) = (self.vertices, self.sets, self.constants);
        let mut is_out_of_range = false;
        let values = state.shader.evaluate(vertex, |read| match read {
            Read::Vertex { binding, element, offset } => {
                let stride = [VERTEX_STRIDE, INSTANCE_STRIDE][binding];
                let at = u64::from(element) * u64::from(stride) + u64::from(offset);
                let range = vertices.expect("vertex buffers are bound")[binding];
                is_out_of_range |= at + 4 > range.size;
                if at + 4 <= range.size { self.dword(range.offset + at) } else { 0 }
            }
            Read::Descriptor { set, binding } => {
                self.dword(sets[set].expect("sets are bound").place(self.objects, binding))
            }
            Read::Constant(dword) => constants[dword].expect("push constants are pushed"),
        });
        if is_out_of_range {
            self.facts.insert(Fact::VertexOutOfRange);
        }
        for (output, value) in state.shader.outputs().into_iter().zip(values) {
            if let Some(range) = self.captures[output.buffer] {
                let record = range.offset + positions[output.buffer];
                self.put(record + u64::from(output.offset), value);
            }
        }
        for (position, stride) in positions.iter_mut().zip(state.shader.strides()) {
            *position += u64::from(stride.unwrap_or(0));
        }
    }

    pub fn dword(&self, at: u64) -> u32 {
        let at = at as usize;
        u32::from_le_bytes(self.memory[at..at + 4].try_into().unwrap())
    }

    fn put(&mut self, at: u64, value: u32) {
        let at = at as usize;
        self.memory[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
}
