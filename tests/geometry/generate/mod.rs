//! Generates shaders and draws from a seed.

mod code;
mod commands;
pub mod draws;
mod interface;

use crate::common::rng::Rng;
use crate::program::{Attribute, Emitted, Input, Program};

/// The features of the device, and the kinds of draws that are generated.
#[derive(Debug, Clone, Copy)]
pub struct Space {
    pub float64: bool,
    pub int64: bool,
    /// Whether the device supports the last vertex as the provoking vertex. Then the vertices of
    /// odd primitives of strips may be captured in another order.
    pub last_vertex: bool,
    /// Whether there are several vertex streams, and whether they may have lines and triangles.
    pub streams: Streams,
    pub draws: Draws,
}

impl Space {
    /// Returns all features.
    pub const fn whole(draws: Draws) -> Self {
        Self { float64: true, int64: true, last_vertex: true, streams: Streams::All, draws }
    }
}

/// Which vertex streams the device supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    One,
    /// Four streams, but if a shader uses several, they have only points.
    Points,
    All,
}

/// The kinds of draws that are generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draws {
    /// Only `vkCmdDraw` and `vkCmdDrawIndexed`.
    Direct,
    /// Also draws with primitive restart, indirect draws, with a count in memory or without, and
    /// byte-count draws.
    All,
}

/// Returns the shaders of a seed.
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
    // Some shaders emit more than they declare, and the last vertices are ignored.
    let max_vertices = if rng.percent(15) && streams == 1 {
        rng.range(1, emissions.max(1))
    } else {
        (emissions + slack).clamp(1, most)
    };
    Program {
        attributes,
        vertex_outputs,
        vertex,
        input,
        emitted,
        invocations,
        max_vertices,
        streams,
        outputs,
        geometry,
        strides,
        buffer_streams,
    }
}

/// The minimum that the specification allows for `maxGeometryTotalOutputComponents`.
const MIN_TOTAL_COMPONENTS: u32 = 1024;

/// Returns the largest number of vertices that may be emitted.
fn most_vertices(rng: &mut Rng, components: u32) -> u32 {
    let most = if rng.percent(15) { rng.range(13, 40) } else { rng.range(3, 12) };
    most.min(MIN_TOTAL_COMPONENTS / components.max(1))
}
