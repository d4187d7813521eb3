//! Generates outputs, and chooses which of them are captured.

use super::Space;
use crate::common::rng::Rng;
use crate::program::{BuiltIn, Emitted, Item, Outputs, Place, Scalar, Type};

/// The number of locations for the variables of a stage. With its built-ins, the outputs stay below
/// 64 components.
const LOCATIONS: u32 = 9;

/// The largest size of a record in bytes: the minimum that the specification allows for
/// `maxTransformFeedbackBufferDataSize`, and for `maxTransformFeedbackStreamDataSize` over all
/// buffers.
const RECORD: u32 = 512;

pub fn vertex_outputs(rng: &mut Rng, space: &Space) -> Outputs {
    let mut outputs = Outputs::default();
    add_built_in(rng, &mut outputs, BuiltIn::Position, 70);
    add_built_in(rng, &mut outputs, BuiltIn::PointSize, 20);
    add_built_in(rng, &mut outputs, BuiltIn::ClipDistance, 20);
    add_built_in(rng, &mut outputs, BuiltIn::CullDistance, 15);
    add_variables(rng, space, &mut outputs);
    outputs
}

pub fn geometry_outputs(
    rng: &mut Rng,
    space: &Space,
    emitted: Emitted,
    streams: u32,
) -> (Outputs, [Option<u32>; 4], [u32; 4]) {
    let mut outputs = Outputs::default();
    add_built_in(rng, &mut outputs, BuiltIn::Position, 60);
    // Points need a size.
    let size = if emitted == Emitted::Points { 100 } else { 15 };
    add_built_in(rng, &mut outputs, BuiltIn::PointSize, size);
    add_built_in(rng, &mut outputs, BuiltIn::ClipDistance, 12);
    add_built_in(rng, &mut outputs, BuiltIn::CullDistance, 10);
    add_built_in(rng, &mut outputs, BuiltIn::PrimitiveId, 25);
    add_built_in(rng, &mut outputs, BuiltIn::Layer, 12);
    add_built_in(rng, &mut outputs, BuiltIn::ViewportIndex, 12);
    add_variables(rng, space, &mut outputs);
    // One in several thousand has none of these.
    if outputs.items.is_empty() {
        add_built_in(rng, &mut outputs, BuiltIn::Position, 100);
    }
    if streams > 1 {
        to_streams(rng, &mut outputs, streams);
    }
    let (strides, buffer_streams) = capture(rng, &mut outputs, streams);
    (outputs, strides, buffer_streams)
}

/// Assigns each variable and each block to one of the streams. Built-ins stay in stream 0.
fn to_streams(rng: &mut Rng, outputs: &mut Outputs, streams: u32) {
    let blocks: Vec<u32> = outputs.blocks.iter().map(|_| rng.below(streams)).collect();
    for item in &mut outputs.items {
        item.stream = match item.place {
            Place::Location(_) => rng.below(streams),
            Place::Block(block) => blocks[block],
            Place::BuiltIn(_) => 0,
        };
    }
}

/// Returns an upper bound for the number of components, as limits count them.
pub fn components(outputs: &Outputs) -> u32 {
    outputs.items.iter().map(|item| 4 * item.ty.locations()).sum()
}

fn add_built_in(rng: &mut Rng, outputs: &mut Outputs, which: BuiltIn, percent: u32) {
    if !rng.percent(percent) {
        return;
    }
    let float = Type::Vector(Scalar::Float, 1);
    let ty = match which {
        BuiltIn::Position => Type::Vector(Scalar::Float, 4),
        BuiltIn::PointSize => float,
        BuiltIn::ClipDistance => Type::Array(Box::new(float), rng.range(1, 4)),
        BuiltIn::CullDistance => Type::Array(Box::new(float), rng.range(1, 2)),
        BuiltIn::PrimitiveId | BuiltIn::Layer | BuiltIn::ViewportIndex => {
            Type::Vector(Scalar::Int, 1)
        }
    };
    outputs.items.push(Item {
        place: Place::BuiltIn(which),
        ty,
        flat: false,
        stream: 0,
        captured: None,
    });
}

fn add_variables(rng: &mut Rng, space: &Space, outputs: &mut Outputs) {
    let mut location = rng.below(2);
    let end = location + LOCATIONS;
    let (mut variables, mut blocks) = (rng.range(1, 4), rng.below(2));
    while variables + blocks > 0 {
        if blocks > 0 && rng.percent(40) {
            blocks -= 1;
            let types: Vec<_> = (0..rng.range(1, 3)).map(|_| member(rng, space)).collect();
            let locations: u32 = types.iter().map(Type::locations).sum();
            if location + locations > end {
                continue;
            }
            let place = Place::Block(outputs.blocks.len());
            let item = |ty| Item { place, ty, flat: false, stream: 0, captured: None };
            outputs.items.extend(types.into_iter().map(item));
            outputs.blocks.push(location);
            location += locations;
        } else if variables > 0 {
            variables -= 1;
            let ty = any(rng, space);
            let next = location + ty.locations();
            if next > end {
                continue;
            }
            let (place, flat) = (Place::Location(location), rng.percent(40));
            outputs.items.push(Item { place, ty, flat, stream: 0, captured: None });
            location = next + rng.below(2);
        }
    }
}

fn scalar(rng: &mut Rng, space: &Space) -> Scalar {
    match rng.below(100) {
        0..=7 if space.float64 => Scalar::Double,
        8..=13 if space.int64 => Scalar::Uint64,
        14..=39 => Scalar::Float,
        40..=59 => Scalar::Int,
        _ => Scalar::Uint,
    }
}

fn narrow(rng: &mut Rng) -> Type {
    Type::Vector(rng.pick(&[Scalar::Uint, Scalar::Int, Scalar::Float]), rng.range(1, 4))
}

fn array(rng: &mut Rng, element: Type) -> Type {
    Type::Array(Box::new(element), rng.range(1, 3))
}

/// Returns a vector type, or an array of vectors.
fn member(rng: &mut Rng, space: &Space) -> Type {
    let vector = Type::Vector(scalar(rng, space), rng.range(1, 4));
    if rng.percent(20) { array(rng, vector) } else { vector }
}

fn any(rng: &mut Rng, space: &Space) -> Type {
    match rng.below(100) {
        0..=4 => {
            let inner = narrow(rng);
            let inner = array(rng, inner);
            array(rng, inner)
        }
        5..=19 => {
            let count = rng.range(2, 3);
            let members = (0..count).map(|_| {
                if rng.percent(25) {
                    let element = narrow(rng);
                    array(rng, element)
                } else {
                    narrow(rng)
                }
            });
            let structure = Type::Struct(members.collect());
            if rng.percent(25) { array(rng, structure) } else { structure }
        }
        _ => member(rng, space),
    }
}

/// Chooses at least one output to be captured. Returns the strides and the streams of the buffers.
fn capture(rng: &mut Rng, outputs: &mut Outputs, streams: u32) -> ([Option<u32>; 4], [u32; 4]) {
    let mut buffers = [0usize, 1, 2, 3];
    rng.shuffle(&mut buffers);
    let used = &buffers[..rng.range(streams.min(2), 3.max(streams)) as usize];
    let mut order: Vec<usize> = (0..outputs.items.len()).collect();
    rng.shuffle(&mut order);
    let kept = order[0];
    // One of them captures the output that is captured in any case.
    let mut buffer_streams = [0; 4];
    for (number, buffer) in used.iter().enumerate() {
        buffer_streams[*buffer] = match number {
            _ if streams == 1 => 0,
            0 => outputs.items[kept].stream,
            _ => rng.below(streams),
        };
    }
    let of_stream = |rng: &mut Rng, stream| {
        let of = |buffer: &&usize| buffer_streams[**buffer] == stream;
        let all: Vec<usize> = used.iter().filter(of).copied().collect();
        (!all.is_empty()).then(|| rng.pick(&all))
    };
    // Members of a block share a buffer, as in GLSL.
    let block_streams: Vec<u32> = (0..outputs.blocks.len())
        .map(|block| {
            let is_member = |item: &&Item| item.place == Place::Block(block);
            outputs.items.iter().find(is_member).map_or(0, |item| item.stream)
        })
        .collect();
    let block_buffers: Vec<Option<usize>> =
        block_streams.iter().map(|stream| of_stream(rng, *stream)).collect();
    let per_vertex = of_stream(rng, 0);
    let mut ends = [0u32; 4];
    let mut alignments = [4; 4];
    let mut total = 0;
    for number in order {
        let item = &mut outputs.items[number];
        if number != kept && rng.percent(25) {
            continue;
        }
        let buffer = match item.place {
            Place::Location(_) => of_stream(rng, item.stream),
            Place::Block(block) => block_buffers[block],
            Place::BuiltIn(which) if which.is_per_vertex() => per_vertex,
            Place::BuiltIn(_) => of_stream(rng, 0),
        };
        let Some(buffer) = buffer else { continue };
        let gap = if rng.percent(25) { 4 * rng.range(1, 3) } else { 0 };
        let offset = (ends[buffer] + gap).next_multiple_of(item.ty.alignment());
        let bytes = item.ty.bytes();
        // What is left is for the gaps behind the records.
        if total + gap + 4 + bytes > RECORD - 64 {
            continue;
        }
        total += offset + bytes - ends[buffer];
        ends[buffer] = offset + bytes;
        alignments[buffer] = alignments[buffer].max(item.ty.alignment());
        item.captured = Some((buffer, offset));
    }
    let strides = std::array::from_fn(|buffer| {
        let gap = if rng.percent(40) { 4 * rng.range(1, 4) } else { 0 };
        (ends[buffer] > 0).then(|| (ends[buffer] + gap).next_multiple_of(alignments[buffer]))
    });
    (strides, buffer_streams)
}
