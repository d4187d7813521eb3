//! Computes on the CPU what a case captures, as the specification defines it.

use std::collections::BTreeSet;

use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

use crate::assembly;
use crate::case::{Call, Case, How, Query, Span};
use crate::common::commands::{QueryKind, Range};
use crate::interpret::{self, Event, Inputs, Values};
use crate::program::{Code, Emitted, Program, Source};

/// A primitive that a geometry shader emitted.
#[derive(Debug, Clone)]
pub struct Primitive {
    pub stream: u32,
    /// The outputs of its vertices, in the order in which they are captured.
    pub vertices: Vec<Values>,
}

/// A property of a case for which drivers differ from the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// A buffer that is captured to is not bound, but another one of the same stream is, or no buffer is bound at all.
    Unbound,
    /// Of a stream that is captured no buffer is bound, but one that it is not captured to.
    OnlyOthersBound,
    /// There is a query of primitives written for a stream that is not captured. The specification
    /// does not say what it counts.
    UncapturedStream,
    /// A primitive does not fit, but it would without the gap after the outputs of its last vertex.
    OutputsFit,
    /// An invocation begins more strips than a single strip of `max_vertices` vertices has
    /// primitives.
    ShortStrips,
    /// No draw emits a vertex, so a compiler may have found that none can.
    NeverEmits,
    /// There are indexed indirect draws whose indices do not begin at the start of their buffer.
    IndirectIndexOffset,
    /// There are indirect draws with primitive restart.
    IndirectRestart,
    /// There are indirect draws without a count after some with a count.
    IndirectBehindCount,
    /// There is a byte-count draw with a counter offset.
    ByteCountOffset,
    /// There is a byte-count draw after an indirect draw.
    ByteCountBehindIndirect,
    /// A shader writes elements of its outputs by indices that are not constant.
    IndexedOutputs,
}

/// What the geometry shader invocations of a draw emit.
#[derive(Debug, Default)]
pub struct Emissions {
    pub primitives: Vec<Primitive>,
    /// The largest number of strips that an invocation emits, complete or not.
    pub strips: usize,
    /// Whether any strip has too few vertices for a primitive.
    pub incomplete: bool,
}

impl Emissions {
    /// Returns the emissions of a draw and of another draw after it.
    pub fn and(mut self, other: Self) -> Self {
        self.primitives.extend(other.primitives);
        self.strips = self.strips.max(other.strips);
        self.incomplete |= other.incomplete;
        self
    }
}

/// The memory and queries after a case.
pub struct Expected {
    pub image: Vec<u8>,
    /// For each byte of the memory, whether its value is defined.
    pub defined: Vec<bool>,
    /// The results of the queries. Primitives generated are the first of the two values.
    pub queries: Vec<[u64; 2]>,
    pub facts: BTreeSet<Fact>,
}

/// Returns attribute data: a component of an element.
pub const fn attribute(location: usize, element: u32, component: u32) -> u32 {
    let mixed = (element * 4 + component + 1).wrapping_mul(0x9e37_79b9) >> (3 + 5 * location);
    mixed ^ location as u32
}

struct VertexInputs {
    vertex: u32,
    instance: u32,
    per_instance: Vec<bool>,
}

impl Inputs for VertexInputs {
    fn read(&self, source: &Source, _vertex: u32) -> u32 {
        match source {
            Source::VertexIndex => self.vertex,
            Source::InstanceIndex => self.instance,
            Source::Attribute(location, component) => {
                let element =
                    if self.per_instance[*location] { self.instance } else { self.vertex };
                attribute(*location, element, *component)
            }
            source => panic!("a vertex shader reads {source:?}"),
        }
    }
}

struct GeometryInputs<'a> {
    program: &'a Program,
    /// The outputs of the vertex shader, for each vertex of the primitive.
    vertices: &'a [Values],
    primitive: u32,
    invocation: u32,
}

impl Inputs for GeometryInputs<'_> {
    fn read(&self, source: &Source, vertex: u32) -> u32 {
        match source {
            Source::PrimitiveId => self.primitive,
            Source::InvocationId => self.invocation,
            Source::Input(item, leaf, _) => {
                let vertex = vertex as usize % self.vertices.len();
                let scalar = self.program.vertex_outputs.items[*item].ty.leaves()[*leaf].scalar;
                scalar.load(self.vertices[vertex][*item][*leaf].unwrap())
            }
            source => panic!("a geometry shader reads {source:?}"),
        }
    }
}

/// Returns what a draw emits. The draw is given by the vertices that it reads.
pub fn emitted(
    program: &Program,
    topology: PrimitiveTopology,
    provoking: ProvokingVertex,
    call: &Call,
    vertices: &[Option<u32>],
) -> Emissions {
    let per_instance: Vec<bool> = program.attributes.iter().map(|a| a.per_instance).collect();
    let primitives = assembly::of_instance(topology, provoking, vertices);
    let mut emitted = Emissions::default();
    for instance in (0..call.instance_count).map(|i| call.first_instance + i) {
        let shade = |vertex: &u32| {
            let per_instance = per_instance.clone();
            let inputs = VertexInputs { vertex: *vertex, instance, per_instance };
            interpret::run(&program.vertex, &inputs, &program.vertex_outputs).1
        };
        for (primitive, vertices) in (0..).zip(&primitives) {
            let vertices: Vec<Values> = vertices.iter().map(shade).collect();
            for invocation in 0..program.invocations {
                let inputs = GeometryInputs { program, vertices: &vertices, primitive, invocation };
                let (mut events, _) = interpret::run(&program.geometry, &inputs, &program.outputs);
                let is_vertex = |event: &Event| matches!(event, Event::Vertex(..));
                let mut vertices = (0..events.len()).filter(|at| is_vertex(&events[*at]));
                if let Some(end) = vertices.nth(program.max_vertices as usize) {
                    events.truncate(end);
                }
                let mut strips = 0;
                for stream in 0..program.streams {
                    let of_stream = strips_of(&events, stream);
                    strips += of_stream.len();
                    emitted.incomplete |=
                        of_stream.iter().any(|length| *length < program.emitted.vertices());
                }
                emitted.strips = emitted.strips.max(strips);
                let primitives = assembled(program.emitted, provoking, events);
                emitted.primitives.extend(primitives);
            }
        }
    }
    emitted
}

/// Returns the number of vertices of each strip of a stream that is not empty.
pub fn strips_of(events: &[Event], stream: u32) -> Vec<usize> {
    let strips = events.split(|event| *event == Event::EndPrimitive(stream));
    let is_vertex = |event: &&Event| matches!(event, Event::Vertex(of, _) if *of == stream);
    let lengths = strips.map(|strip| strip.iter().filter(is_vertex).count());
    lengths.filter(|length| *length > 0).collect()
}

/// Returns the primitives of the strips that an invocation emits. An incomplete primitive is not
/// included.
fn assembled(emitted: Emitted, provoking: ProvokingVertex, events: Vec<Event>) -> Vec<Primitive> {
    let mut primitives = Vec::new();
    let mut strips: [Vec<Values>; 4] = Default::default();
    for event in events {
        match event {
            Event::EndPrimitive(stream) => strips[stream as usize].clear(),
            Event::Vertex(stream, values) => {
                let strip = &mut strips[stream as usize];
                strip.push(values);
                let Some(first) = strip.len().checked_sub(emitted.vertices()) else { continue };
                let order: &[usize] = match (emitted, provoking) {
                    (Emitted::TriangleStrip, ProvokingVertex::First) if first % 2 == 1 => {
                        &[0, 2, 1]
                    }
                    (Emitted::TriangleStrip, ProvokingVertex::Last) if first % 2 == 1 => &[1, 0, 2],
                    _ => &[0, 1, 2][..emitted.vertices()],
                };
                let vertices = order.iter().map(|slot| strip[first + slot].clone()).collect();
                primitives.push(Primitive { stream, vertices });
            }
        }
    }
    primitives
}

/// The state of a capture while it is executed.
struct Run<'a> {
    case: &'a Case,
    /// For each buffer, the end of the last output in a record.
    ends: [u64; 4],
    positions: [u64; 4],
    result: Expected,
}

pub fn expected(case: &Case) -> Expected {
    let mut ends = [0; 4];
    for item in &case.program.outputs.items {
        if let Some((buffer, offset)) = item.captured {
            ends[buffer] = u64::from(offset + item.ty.bytes()).max(ends[buffer]);
        }
    }
    let image = case.image.clone();
    let result = Expected {
        defined: vec![true; image.len()],
        image,
        queries: vec![[0; 2]; case.queries.len()],
        facts: BTreeSet::new(),
    };
    let mut run = Run { case, ends, positions: [0; 4], result };
    for number in 0..case.sections.len() {
        run.section(number);
    }
    run.result.facts.extend(draw_facts(case));
    if [&case.program.vertex, &case.program.geometry].into_iter().any(Code::indexes_outputs) {
        run.result.facts.insert(Fact::IndexedOutputs);
    }
    if case.sections.iter().flat_map(|section| &section.emitted).all(|draw| draw.strips == 0) {
        run.result.facts.insert(Fact::NeverEmits);
    }
    let is_of_none = |q: &Query| q.kind == QueryKind::Stream && !case.program.captures(q.stream);
    if case.queries.iter().any(is_of_none) {
        run.result.facts.insert(Fact::UncapturedStream);
    }
    let unbound = |b: &usize| case.program.strides[*b].is_some() && case.captures[*b].is_none();
    for buffer in (0..4).filter(unbound) {
        let is_of_none = run.bound(case.program.buffer_streams[buffer]).is_empty();
        let only_others = is_of_none && case.captures.iter().any(Option::is_some);
        let fact = if only_others { Fact::OnlyOthersBound } else { Fact::Unbound };
        run.result.facts.insert(fact);
    }
    run.result
}

fn draw_facts(case: &Case) -> BTreeSet<Fact> {
    let mut facts = BTreeSet::new();
    let (mut indirect, mut counted) = (false, false);
    for draw in case.sections.iter().flat_map(|section| &section.draws) {
        match draw.how {
            How::Direct => {}
            How::Indirect { count, .. } => {
                if draw.indexed && case.indices.offset > 0 {
                    facts.insert(Fact::IndirectIndexOffset);
                }
                if draw.indexed && case.restart {
                    facts.insert(Fact::IndirectRestart);
                }
                if count.is_none() && counted {
                    facts.insert(Fact::IndirectBehindCount);
                }
                indirect = true;
                counted |= count.is_some();
            }
            How::ByteCount { counter_offset, .. } => {
                if counter_offset > 0 {
                    facts.insert(Fact::ByteCountOffset);
                }
                if indirect {
                    facts.insert(Fact::ByteCountBehindIndirect);
                }
            }
        }
    }
    facts
}

impl Run<'_> {
    fn section(&mut self, number: usize) {
        let section = &self.case.sections[number];
        for buffer in 0..4 {
            self.positions[buffer] =
                if section.begin[buffer] { self.counter(buffer).into() } else { 0 };
        }
        for (draw, Emissions { primitives, strips, .. }) in section.emitted.iter().enumerate() {
            let program = &self.case.program;
            if strips + program.emitted.vertices() > program.max_vertices as usize + 1 {
                self.result.facts.insert(Fact::ShortStrips);
            }
            let (mut all_written, mut all_needed) = ([0; 4], [0; 4]);
            for primitive in primitives {
                all_needed[primitive.stream as usize] += 1;
                all_written[primitive.stream as usize] += u64::from(self.primitive(primitive));
            }
            for (query, result) in self.case.queries.iter().zip(&mut self.result.queries) {
                let counts = match &query.span {
                    Span::Whole => true,
                    Span::Draws { section, draws } => *section == number && draws.contains(&draw),
                };
                if counts {
                    let stream = query.stream as usize;
                    let (written, needed) = (all_written[stream], all_needed[stream]);
                    match query.kind {
                        QueryKind::Stream => {
                            result[0] += written;
                            result[1] += needed;
                        }
                        QueryKind::Generated => result[0] += needed,
                    }
                }
            }
        }
        for buffer in (0..4).filter(|buffer| section.end[*buffer]) {
            let at = self.case.counter(buffer) as usize;
            // A buffer to which nothing is captured keeps its counter.
            if self.is_captured(buffer) {
                let position = self.positions[buffer] as u32;
                self.result.image[at..at + 4].copy_from_slice(&position.to_le_bytes());
            }
        }
    }

    fn is_captured(&self, buffer: usize) -> bool {
        self.case.program.strides[buffer].is_some() && self.case.captures[buffer].is_some()
    }

    fn counter(&self, buffer: usize) -> u32 {
        let at = self.case.counter(buffer) as usize;
        u32::from_le_bytes(self.result.image[at..at + 4].try_into().unwrap())
    }

    /// The buffers that are bound and that the stream is captured to: their numbers, ranges and strides.
    fn bound(&self, stream: u32) -> Vec<(usize, Range, u64)> {
        let program = &self.case.program;
        let of_stream = (0..4).filter(|b| program.buffer_streams[*b] == stream);
        let bound = |b: usize| Some((b, self.case.captures[b]?, u64::from(program.strides[b]?)));
        of_stream.filter_map(bound).collect()
    }

    /// Captures a primitive to all bound buffers of its stream, or to none. Returns whether it counts as
    /// written.
    fn primitive(&mut self, Primitive { stream, vertices }: &Primitive) -> bool {
        let bound = self.bound(*stream);
        if bound.is_empty() {
            return !self.case.program.captures(*stream);
        }
        let number = vertices.len() as u64;
        let fits = |end_of: &dyn Fn(usize, u64) -> u64| {
            bound.iter().all(|(b, range, stride)| {
                self.positions[*b] + (number - 1) * stride + end_of(*b, *stride) <= range.size
            })
        };
        if !fits(&|_, stride| stride) {
            if fits(&|buffer, _| self.ends[buffer]) {
                self.result.facts.insert(Fact::OutputsFit);
            }
            return false;
        }
        for values in vertices {
            for (item, values) in self.case.program.outputs.items.iter().zip(values) {
                let Some((buffer, offset)) = item.captured else { continue };
                let Some((_, range, _)) = bound.iter().find(|(b, ..)| *b == buffer) else {
                    continue;
                };
                let mut at = (range.offset + self.positions[buffer] + u64::from(offset)) as usize;
                for (leaf, value) in item.ty.leaves().iter().zip(values) {
                    let bytes = leaf.scalar.bytes() as usize;
                    let place = at..at + bytes;
                    self.result.defined[place.clone()].fill(value.is_some());
                    let value = value.unwrap_or(0).to_le_bytes();
                    self.result.image[place].copy_from_slice(&value[..bytes]);
                    at += bytes;
                }
            }
            for (buffer, _, stride) in &bound {
                self.positions[*buffer] += stride;
            }
        }
        true
    }
}

impl Expected {
    /// Makes the smallest possible error in the results: flips one bit that is defined.
    pub fn perturb(&mut self) {
        let middle = self.image.len() / 2;
        let at = (middle..self.image.len()).find(|at| self.defined[*at]).unwrap();
        self.image[at] ^= 1;
    }

    /// Compares results with the expected ones. An error describes the first difference.
    pub fn compare(&self, image: &[u8], queries: &[[u64; 2]]) -> Result<(), String> {
        if *queries != self.queries {
            return Err(format!("queries {queries:?} instead of {:?}", self.queries));
        }
        assert_eq!(image.len(), self.image.len());
        let differs = |at: &usize| self.defined[*at] && image[*at] != self.image[*at];
        match (0..image.len()).find(differs) {
            None => Ok(()),
            Some(at) => {
                let at = at / 4 * 4;
                let range = at..(at + 16).min(image.len());
                Err(format!(
                    "byte {at}: {:02x?} instead of {:02x?}, of which are defined {:?}",
                    &image[range.clone()],
                    &self.image[range.clone()],
                    &self.defined[range],
                ))
            }
        }
    }
}
