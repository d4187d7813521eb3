//! Makes up shaders and draws, from a seed alone.

mod code;
mod commands;
pub mod draws;
mod interface;

use crate::common::rng::Rng;
use crate::program::{Attribute, Emitted, Input, Program};

/// What the device has, and which draws are made up.
#[derive(Debug, Clone, Copy)]
pub struct Space {
    pub float64: bool,
    pub int64: bool,
    /// Whether odd primitives of strips may be written in another order.
    pub last_vertex: bool,
    /// Whether there are several vertex streams, and whether they may have lines and triangles.
    pub streams: Streams,
    pub draws: Draws,
}

impl Space {
    /// All that there is.
    pub const fn whole(draws: Draws) -> Self {
        Self { float64: true, int64: true, last_vertex: true, streams: Streams::All, draws }
    }
}

/// The vertex streams of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    One,
    /// Four, of which other than one have points alone.
    Points,
    All,
}

/// Which draws are made up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draws {
    /// `vkCmdDraw` and `vkCmdDrawIndexed`.
    Direct,
    /// Also with primitive restart, indirect, with a count in memory, and by a byte count.
    All,
}

/// Shaders of a seed.
pub fn program(rng: &mut Rng, space: &Space) -> Program {
    let input = rng.pick(&Input::ALL);
    let streams = match space.streams {
        Streams::Points | Streams::All if rng.percent(40) => rng.range(2, 4),
        _ => 1,
    };
    let emitted = match rng.pick(&Emitted::ALL) {
        _ if streams > 1 && space.streams == Streams::Points => Emitted::Points,
        emitted => emitted,
    };
    let invocations = if rng.percent(60) { 1 } else { rng.range(2, 4) };
    let attribute =
        |rng: &mut Rng| Attribute { components: rng.range(1, 4), per_instance: rng.percent(30) };
    let attributes: Vec<_> = (0..rng.below(3)).map(|_| attribute(rng)).collect();
    let vertex_outputs = interface::vertex_outputs(rng, space);
    let (outputs, strides, buffer_streams) =
        interface::geometry_outputs(rng, space, emitted, streams);
    let vertex = code::vertex(rng, &attributes, &vertex_outputs);
    let most = most_vertices(rng, interface::components(&outputs));
    // As many strips as there are vertices are no more than what drivers expect, with so many vertices over.
    let over = if rng.percent(85) { emitted.vertices() as u32 - 1 } else { 0 };
    let (size, budget) = (emitted.vertices() as u32, most.saturating_sub(over).max(1));
    let sizes = code::Sizes { primitive: size, most: budget, streams };
    let (geometry, emissions) = code::geometry(rng, &vertex_outputs, &outputs, sizes);
    let slack = over + if rng.percent(20) { rng.below(4) } else { 0 };
    Program {
        attributes,
        vertex_outputs,
        vertex,
        input,
        emitted,
        invocations,
        max_vertices: (emissions + slack).clamp(1, most),
        streams,
        outputs,
        geometry,
        strides,
        buffer_streams,
    }
}

/// The least that the specification allows as `maxGeometryTotalOutputComponents`.
const MIN_TOTAL_COMPONENTS: u32 = 1024;

/// How many vertices may be emitted.
fn most_vertices(rng: &mut Rng, components: u32) -> u32 {
    let most = if rng.percent(15) { rng.range(13, 40) } else { rng.range(3, 12) };
    most.min(MIN_TOTAL_COMPONENTS / components.max(1))
}
