//! The list that the driver draws for each input primitive: how many vertices it has, and which of them its primitives
//! have.

use std::fmt;

use crate::lower::LowerError;
use crate::lower::stages::modes::LoweredGeometry;
use crate::lower::stages::{Emission, Strips};
use crate::topology::ProvokingVertex;

/// The largest number of vertices in the list for an input primitive, if the geometry shader may emit any smaller number.
/// Each of them runs both shaders: an NVIDIA H200 takes 2.5 times as long as its own geometry stage for a list of 12
/// vertices of which half are emitted.
const MOST_VARYING: u32 = 12;

/// The indices of the list for an input primitive, whose vertices are those that the geometry shader emits in strips.
///
/// The strips never vary, so all input primitives have the same [`pattern`](Self::pattern) of indices. Equal values of this
/// type have equal patterns, so pipelines can share an index list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StripIndices {
    /// The lengths of the strips.
    strips: Vec<u32>,
    /// The number of vertices of a primitive: 2 or 3.
    primitive_vertices: u32,
}

impl StripIndices {
    /// The largest number of strips of an input primitive.
    pub const MOST_STRIPS: usize = 64;
    /// The largest number of vertices of an input primitive. With it, an index list with indices of 16 bits is long enough
    /// for 16 input primitives, so that even these draws have few [parts](Self::items_of_part).
    pub const MOST_VERTICES: u32 = 1 << 12;
    /// The number of vertices that indices of 16 bits can name. No index is a restart: lists have none.
    pub const VERTICES_OF_PART: u32 = 1 << 16;

    /// The lengths of the strips that the geometry shader emits for an input primitive, in all of its invocations. Those
    /// without a primitive are left out.
    pub fn strips(&self) -> &[u32] {
        &self.strips
    }

    /// The number of vertices of each primitive of the list: 2 or 3.
    pub const fn primitive_vertices(&self) -> u32 {
        self.primitive_vertices
    }

    /// The number of vertices that the strips have together.
    pub fn vertices(&self) -> u32 {
        self.strips.iter().sum()
    }

    /// The number of indices in the [`pattern`](Self::pattern).
    pub fn count(&self) -> u32 {
        let primitives =
            self.strips.iter().map(|length| primitives_of(*length, self.primitive_vertices));
        primitives.sum::<u32>() * self.primitive_vertices
    }

    /// The largest number of input primitives whose vertices indices of 16 bits can name: at least 16. A [list](Self::list)
    /// for so many serves all draws: longer draws have parts, each with its vertex offset.
    pub fn items_of_part(&self) -> u32 {
        Self::VERTICES_OF_PART / self.vertices().max(1)
    }

    /// Returns the indices of an input primitive: for each primitive of the strips the numbers of its vertices, all below
    /// [`vertices`](Self::vertices).
    ///
    /// The vertices are in the order in which transform feedback writes them for strips, so the provoking vertex is that of
    /// the strip's primitive, and triangles keep their winding: odd triangles are 0 2 1 or, if the last vertex is the
    /// provoking one, 1 0 2.
    pub fn pattern(&self, provoking: ProvokingVertex) -> Vec<u32> {
        let mut indices = Vec::with_capacity(self.count() as usize);
        let mut first = 0;
        for length in &self.strips {
            for primitive in 0..primitives_of(*length, self.primitive_vertices) {
                let order: &[u32] = match (self.primitive_vertices, primitive % 2, provoking) {
                    (2, ..) => &[0, 1],
                    (_, 0, _) => &[0, 1, 2],
                    (_, _, ProvokingVertex::First) => &[0, 2, 1],
                    (_, _, ProvokingVertex::Last) => &[1, 0, 2],
                };
                indices.extend(order.iter().map(|vertex| first + primitive + vertex));
            }
            first += length;
        }
        indices
    }

    /// Returns the indices of the first `items` input primitives, at most [`items_of_part`](Self::items_of_part):
    /// `item * vertices + pattern[k]`.
    pub fn list(&self, items: u32, provoking: ProvokingVertex) -> Vec<u16> {
        let (vertices, pattern) = (self.vertices(), self.pattern(provoking));
        let items = 0..items.min(self.items_of_part());
        // All are below `VERTICES_OF_PART`.
        items
            .flat_map(|item| pattern.iter().map(move |index| (item * vertices + index) as u16))
            .collect()
    }
}

/// Why a list has no indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unindexed {
    /// [`Options::unindexed`](super::Options::unindexed) is set.
    Requested,
    /// The primitives share no vertices: points, or strips of one primitive each.
    NothingShared,
    /// The geometry shader neither emits always the same strips nor either these or none.
    StripsVary,
    /// There are more than [`StripIndices::MOST_STRIPS`] strips.
    TooManyStrips,
    /// There are more than [`StripIndices::MOST_VERTICES`] vertices.
    TooManyVertices,
}

impl fmt::Display for Unindexed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requested => "a list without indices is wanted",
            Self::NothingShared => "primitives share no vertices",
            Self::StripsVary => "the strips vary",
            Self::TooManyStrips => "there are too many strips",
            Self::TooManyVertices => "there are too many vertices",
        })
    }
}

/// The list for an input primitive.
pub(super) struct List {
    /// The number of vertices: runs of the vertex shader.
    pub(super) vertices: u32,
    pub(super) indices: Result<StripIndices, Unindexed>,
    /// Whether the geometry shader always emits all vertices.
    pub(super) is_fixed: bool,
    /// Whether the geometry shader emits no primitive, whatever it gets. The shader is made for a list of one primitive
    /// then, because it divides by the number of vertices.
    pub(super) is_empty: bool,
}

impl List {
    /// # Errors
    /// [`LowerError::NotDrawn`]: the geometry shader may emit many vertices, but what it emits varies.
    pub(super) fn of(
        geometry: &LoweredGeometry,
        emission: &Emission,
        unindexed: bool,
    ) -> Result<Self, LowerError> {
        let LoweredGeometry { output_vertices, invocations, .. } = *geometry;
        let vertices = |primitives: u32| {
            primitives.checked_mul(output_vertices).and_then(|each| each.checked_mul(invocations))
        };
        let (primitives, strips, is_fixed) = match emission {
            Emission::Always(strips) => (strips.primitives(output_vertices), Some(strips), true),
            Emission::AllOrNothing(strips) => {
                (strips.primitives(output_vertices), Some(strips), false)
            }
            Emission::UpTo(most) => (*most, None, false),
        };
        let most = if strips.is_some() { u32::MAX } else { MOST_VARYING };
        let vertices = vertices(primitives).filter(|vertices| *vertices <= most);
        let vertices =
            vertices.ok_or(LowerError::NotDrawn("a number of primitives that varies"))?;
        let indices = match strips {
            _ if unindexed => Err(Unindexed::Requested),
            Some(strips) => indices(geometry, strips, vertices),
            None => Err(Unindexed::StripsVary),
        };
        let is_empty = vertices == 0;
        let vertices = match &indices {
            Ok(indices) => indices.vertices(),
            Err(_) if is_empty => output_vertices,
            Err(_) => vertices,
        };
        Ok(Self { vertices, indices, is_fixed, is_empty })
    }
}

/// Returns the indices of the strips that each invocation emits. Without indices, the list has `unshared` vertices.
fn indices(
    geometry: &LoweredGeometry,
    strips: &Strips,
    unshared: u32,
) -> Result<StripIndices, Unindexed> {
    let LoweredGeometry { output_vertices, invocations, .. } = *geometry;
    let lengths = strips.of_stream(0);
    let each = lengths.iter().fold(0, |sum: u32, length| sum.saturating_add(*length));
    let vertices = each.saturating_mul(invocations);
    if vertices >= unshared {
        return Err(Unindexed::NothingShared);
    }
    if lengths.len().saturating_mul(invocations as usize) > StripIndices::MOST_STRIPS {
        return Err(Unindexed::TooManyStrips);
    }
    if vertices > StripIndices::MOST_VERTICES {
        return Err(Unindexed::TooManyVertices);
    }
    let strips = lengths.repeat(invocations as usize);
    Ok(StripIndices { strips, primitive_vertices: output_vertices })
}

/// The number of primitives of a strip.
const fn primitives_of(length: u32, vertices: u32) -> u32 {
    (length + 1).saturating_sub(vertices)
}
