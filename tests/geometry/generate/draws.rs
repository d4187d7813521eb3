//! Generates the draws of a program, and their memory.

use vkxfb::runtime::IndexType;
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

use super::{Draws, Space, Streams, commands, program};
use crate::case::{Call, Case, Draw, Query, Section, Span};
use crate::common::commands::{QueryKind, Range};
use crate::common::rng::Rng;
use crate::model::{self, Emissions};

/// The number of elements in the vertex buffers. All vertices and instances of draws are below it.
const ELEMENTS: u32 = 24;
/// The number of indices.
pub(super) const INDICES: u32 = 32;

/// Returns the case of a seed.
pub fn case(seed: u64, space: &Space) -> Case {
    let rng = &mut Rng::new(seed);
    let program = program(rng, space);
    let topology = rng.pick(program.input.topologies());
    let provoking = if space.last_vertex && rng.percent(35) {
        ProvokingVertex::Last
    } else {
        ProvokingVertex::First
    };
    let index_type = rng.pick(&[IndexType::Uint16, IndexType::Uint32]);
    // Lists are not restarted without a feature.
    let restart = space.draws == Draws::All && !is_list(topology) && rng.percent(60);
    let restart_index = restart.then(|| index_type.restart_index());
    let index = |rng: &mut Rng| match restart_index.filter(|_| rng.percent(15)) {
        Some(restart) => restart,
        None => rng.range(4, ELEMENTS - 5),
    };
    let indices: Vec<u32> = (0..INDICES).map(|_| index(rng)).collect();
    let draws: Vec<Vec<Draw>> = (0..if rng.percent(60) { 1 } else { rng.range(2, 3) })
        .map(|_| {
            let draws = if rng.percent(50) { 1 } else { rng.range(0, 4) };
            (0..draws).map(|_| commands::draw(rng, space.draws)).collect()
        })
        .collect();
    let section = |draws: Vec<Draw>| {
        let of_draw = |draw: &Draw| {
            let of_call = |call| {
                let vertices = vertices(draw.indexed, call, &indices, restart_index);
                model::emitted(&program, topology, provoking, call, &vertices)
            };
            draw.calls.iter().map(of_call).fold(Emissions::default(), Emissions::and)
        };
        let emitted = draws.iter().map(of_draw).collect();
        Section { begin: [false; 4], end: [false; 4], draws, emitted }
    };
    let sections = draws.into_iter().map(section).collect();
    let mut case = Case {
        seed,
        program,
        topology,
        provoking,
        restart,
        image: Vec::new(),
        vertices: Vec::new(),
        indices: Range { offset: 0, size: 0 },
        index_type,
        counters: 0,
        captures: [None; 4],
        sections,
        queries: Vec::new(),
    };
    place(rng, &mut case, &indices, space.draws);
    counters(rng, &mut case);
    queries(rng, &mut case, space.streams != Streams::One);
    case
}

const fn is_list(topology: PrimitiveTopology) -> bool {
    matches!(
        topology,
        PrimitiveTopology::PointList
            | PrimitiveTopology::LineList
            | PrimitiveTopology::TriangleList
            | PrimitiveTopology::LineListWithAdjacency
            | PrimitiveTopology::TriangleListWithAdjacency
    )
}

/// Returns the numbers of the vertices of a draw; `None` is a restart.
fn vertices(
    indexed: bool,
    call: &Call,
    indices: &[u32],
    restart_index: Option<u32>,
) -> Vec<Option<u32>> {
    let vertex = |number: u32| {
        if indexed {
            let index = indices[number as usize];
            let vertex = index.wrapping_add_signed(call.vertex_offset);
            (restart_index != Some(index)).then_some(vertex)
        } else {
            Some(number)
        }
    };
    (call.first..call.first + call.count).map(vertex).collect()
}

/// A memory that grows.
pub(super) struct Image<'a> {
    pub(super) rng: &'a mut Rng,
    bytes: Vec<u8>,
}

impl Image<'_> {
    /// Adds bytes that nothing writes.
    fn gap(&mut self) {
        let dwords = self.rng.range(4, 12);
        for _ in 0..dwords {
            self.bytes.extend(self.rng.u32().to_le_bytes());
        }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) -> Range {
        let bound = Range { offset: self.bytes.len() as u64, size: bytes.len() as u64 };
        self.bytes.extend(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.gap();
        bound
    }
}

/// Assigns positions in the memory to everything.
fn place(rng: &mut Rng, case: &mut Case, indices: &[u32], draws: Draws) {
    let sizes = sizes(rng, case);
    let mut image = Image { rng, bytes: Vec::new() };
    // lavapipe reads the indices of indirect draws from the start of the buffer on.
    if draws == Draws::Direct || image.rng.percent(40) {
        image.gap();
    }
    let size = case.index_type.size() as usize;
    let bytes = indices.iter().flat_map(|index| index.to_le_bytes().into_iter().take(size));
    case.indices = image.add(&bytes.collect::<Vec<_>>());
    for (location, attribute) in case.program.attributes.iter().enumerate() {
        let components = attribute.components;
        let words = (0..ELEMENTS).flat_map(|e| (0..components).map(move |c| (e, c)));
        let bytes = words.flat_map(|(e, c)| model::attribute(location, e, c).to_le_bytes());
        case.vertices.push(image.add(&bytes.collect::<Vec<_>>()));
    }
    for draw in case.sections.iter_mut().flat_map(|section| &mut section.draws) {
        commands::place(&mut image, draw);
    }
    let strides = case.program.strides;
    let counters: Vec<u8> = (0..4)
        .flat_map(|buffer| counter(image.rng, strides[buffer], sizes[buffer]).to_le_bytes())
        .collect();
    case.counters = image.add(&counters).offset;
    for (capture, size) in case.captures.iter_mut().zip(sizes) {
        if let Some(size) = size {
            let bytes: Vec<u8> = (0..size).map(|_| image.rng.u32() as u8).collect();
            *capture = Some(image.add(&bytes));
        }
    }
    case.image = image.bytes;
}

/// Returns the value of a counter before the first capture: a multiple of the stride, which may be
/// beyond the end of the buffer.
fn counter(rng: &mut Rng, stride: Option<u32>, size: Option<u64>) -> u32 {
    match (stride, size) {
        (Some(stride), Some(size)) if rng.percent(40) => {
            stride * rng.below((size as u32).div_ceil(stride) + 2)
        }
        (Some(_), _) => 0,
        _ => rng.u32(),
    }
}

/// Returns the sizes of the capture buffers. In half of the cases there is room for everything, if
/// no counter skips some of it. Otherwise there is room for some of the primitives, and the
/// remaining bytes may be less than a primitive.
fn sizes(rng: &mut Rng, case: &Case) -> [Option<u64>; 4] {
    let primitives =
        |section: &Section| section.emitted.iter().map(|draw| draw.primitives.len()).sum::<usize>();
    let all = case.sections.iter().map(primitives).sum::<usize>() as u32;
    let fits = rng.percent(50);
    // Now and then buffers are left out, and others are bound that nothing is captured to.
    let leaves_out = rng.percent(10);
    std::array::from_fn(|buffer| {
        let Some(stride) = case.program.strides[buffer].map(u64::from) else {
            return (leaves_out && rng.percent(30)).then_some(16);
        };
        if leaves_out && rng.percent(60) {
            return None;
        }
        let size = stride * case.program.emitted.vertices() as u64;
        let room = if fits || rng.percent(30) { all } else { rng.below(all + 1) };
        let over = match rng.below(10) {
            0..=2 => 4 * u64::from(rng.below((size / 4) as u32)),
            3..=5 => size.saturating_sub(4 * u64::from(rng.range(1, 3))),
            _ => 0,
        };
        Some((u64::from(room) * size + over).max(4))
    })
}

fn counters(rng: &mut Rng, case: &mut Case) {
    let resumes = rng.percent(75);
    for (number, section) in case.sections.iter_mut().enumerate() {
        for buffer in 0..4 {
            if case.captures[buffer].is_none() || case.program.strides[buffer].is_none() {
                continue;
            }
            section.end[buffer] = rng.percent(if resumes { 95 } else { 40 });
            section.begin[buffer] = match number {
                0 => rng.percent(30),
                _ => rng.percent(if resumes { 95 } else { 40 }),
            };
        }
    }
}

fn queries(rng: &mut Rng, case: &mut Case, has_streams: bool) {
    let streams = case.program.streams;
    // Now and then one to which nothing is emitted.
    let stream = |rng: &mut Rng| match streams {
        1 if !has_streams || rng.percent(95) => 0,
        1 => rng.below(4),
        _ => rng.below(streams),
    };
    for kind in [QueryKind::Stream, QueryKind::Generated] {
        if rng.percent(40) {
            let stream = stream(rng);
            case.queries.push(Query { kind, stream, span: Span::Whole });
            continue;
        }
        for (number, section) in case.sections.iter().enumerate() {
            let draws = section.draws.len() as u32;
            if draws > 0 && rng.percent(60) {
                let first = rng.below(draws);
                let last = rng.range(first, draws - 1);
                let draws = first as usize..last as usize + 1;
                let span = Span::Draws { section: number, draws };
                case.queries.push(Query { kind, stream: stream(rng), span });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_and_instances_have_elements() {
        for seed in 0..300 {
            let case = case(seed, &Space::whole(Draws::All));
            let draws = case.sections.iter().flat_map(|section| &section.draws);
            let calls = draws.flat_map(|draw| draw.calls.iter().map(|call| (draw.indexed, call)));
            for (indexed, call) in calls {
                assert!(call.first_instance + call.instance_count <= ELEMENTS);
                let indices = [4, ELEMENTS - 5].repeat(INDICES as usize / 2);
                for vertex in vertices(indexed, call, &indices, None).into_iter().flatten() {
                    assert!(vertex < ELEMENTS, "seed {seed}: {call:?}");
                }
            }
        }
    }
}
