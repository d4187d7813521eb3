//! Primitive topologies: how many primitives a draw has, and which vertices transform feedback writes for each. This is
//! the CPU counterpart of `shaders/decompose.wgsl`, and the reference for every backend.
//!
//! [`PrimitiveTopology::gather`] returns the vertex that is written to a record. It is a transcription of the
//! specification's primitive definitions, one match arm per topology ([drawing
//! commands](https://docs.vulkan.org/spec/latest/chapters/drawing.html#drawing-primitive-topologies), [vertex
//! post-processing](https://docs.vulkan.org/spec/latest/chapters/vertexpostproc.html#vertexpostproc-transform-feedback)).
//!
//! Vertices are counted from 0 within one instance, in the order of the index buffer if there is
//! one. Counts of records and primitives of an instance are `u64`, because `3 * (N - 2)` exceeds
//! `u32` for some valid draws.

// `PrimitiveTopology::scatter` is the inverse of `PrimitiveTopology::gather`: it returns the records that a vertex is
// written to. A shader invocation can compute these records in O(1), so the GPU uses `scatter`.
//
// Scatter works in two steps, here and on the GPU. Adjacency topologies have vertices that are in no captured
// primitive; without these vertices, a plain list or strip remains. The first step therefore numbers the vertices that
// contribute consecutively, as *items* (`PrimitiveTopology::item_of_vertex`). The second step only has to distinguish
// four `Shape`s. A compute capture has one invocation per item, not per vertex, and shades only vertices that are
// captured.

use std::fmt;
use std::str::FromStr;

/// A topology that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// A number that is not a `VkPrimitiveTopology`.
    #[error("{0} is not a VkPrimitiveTopology")]
    UnknownValue(i32),
    /// A name that no topology has.
    #[error("unknown topology '{name}'; one of: {}", PrimitiveTopology::names())]
    UnknownName {
        /// The given name.
        name: String,
    },
}

/// `VkPrimitiveTopology`, with the same values.
///
/// ```
/// use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};
///
/// // Five vertices in a strip are three triangles. In the second one, two vertices are swapped.
/// let strip = PrimitiveTopology::TriangleStrip;
/// let records = strip.output_count(5);
/// let vertices: Vec<u64> =
///     (0..records).map(|record| strip.gather(ProvokingVertex::First, record)).collect();
/// assert_eq!(vertices, [0, 1, 2, 1, 3, 2, 2, 3, 4]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i32)]
pub enum PrimitiveTopology {
    /// `VK_PRIMITIVE_TOPOLOGY_POINT_LIST`
    PointList = 0,
    /// `VK_PRIMITIVE_TOPOLOGY_LINE_LIST`
    LineList = 1,
    /// `VK_PRIMITIVE_TOPOLOGY_LINE_STRIP`
    LineStrip = 2,
    /// `VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST`
    TriangleList = 3,
    /// `VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP`
    TriangleStrip = 4,
    /// `VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN`
    TriangleFan = 5,
    /// `VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY`
    LineListWithAdjacency = 6,
    /// `VK_PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY`
    LineStripWithAdjacency = 7,
    /// `VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY`
    TriangleListWithAdjacency = 8,
    /// `VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP_WITH_ADJACENCY`
    TriangleStripWithAdjacency = 9,
    /// `VK_PRIMITIVE_TOPOLOGY_PATCH_LIST`, for pipelines with tessellation shaders. The number of captured primitives
    /// depends on the tessellation levels, so the functions of this type that count and decompose primitives do not
    /// apply to it.
    PatchList = 10,
}

/// The value of the sysval `xfb_topology`, by which shaders select the decomposition. It differs from
/// `VkPrimitiveTopology` in that the three lists without adjacency share one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum XfbTopology {
    /// Points, lines and triangles: one record per vertex, in order.
    List = 0,
    /// Line strips.
    LineStrip = 1,
    /// Triangle strips.
    TriStrip = 2,
    /// Triangle fans.
    TriFan = 3,
    /// Line lists with adjacency.
    LineListAdj = 4,
    /// Line strips with adjacency.
    LineStripAdj = 5,
    /// Triangle lists with adjacency.
    TriListAdj = 6,
    /// Triangle strips with adjacency.
    TriStripAdj = 7,
}

/// The ways in which the items of a topology form primitives. An item is a vertex that contributes to the capture,
/// except the hub of a fan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Item k is record k.
    List,
    /// Item k is in primitives k and k-1.
    LineStrip,
    /// Item k is in primitives k, k-1 and k-2. The vertices of odd primitives have another order.
    TriStrip,
    /// Item k is vertex k + 1, in primitives k and k-1. Vertex 0, the hub, is not an item; it is in
    /// all primitives.
    TriFan,
}

/// Which vertex of a primitive is its provoking vertex
/// ([`VK_EXT_provoking_vertex`](https://docs.vulkan.org/refpages/latest/refpages/source/VK_EXT_provoking_vertex.html)).
/// This determines the order in which transform feedback that preserves the provoking vertex writes
/// the vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u32)]
pub enum ProvokingVertex {
    /// `VK_PROVOKING_VERTEX_MODE_FIRST_VERTEX_EXT`, Vulkan's default.
    #[default]
    First = 0,
    /// `VK_PROVOKING_VERTEX_MODE_LAST_VERTEX_EXT`.
    Last = 1,
}

impl ProvokingVertex {
    /// Both provoking-vertex modes.
    pub const ALL: [Self; 2] = [Self::First, Self::Last];
}

impl fmt::Display for ProvokingVertex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::First => "first",
            Self::Last => "last",
        })
    }
}

/// The vertex that a record contains, as the number of its primitive and its number in that primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Contribution {
    /// The number of the primitive, counted from 0 in the instance.
    pub primitive: u64,
    /// The number of the vertex in the primitive, below
    /// [`PrimitiveTopology::vertices_per_primitive`].
    pub slot: u32,
}

impl PrimitiveTopology {
    /// Every topology that can be captured without tessellation, in the order of `VkPrimitiveTopology`.
    pub const ALL: [Self; 10] = [
        Self::PointList,
        Self::LineList,
        Self::LineStrip,
        Self::TriangleList,
        Self::TriangleStrip,
        Self::TriangleFan,
        Self::LineListWithAdjacency,
        Self::LineStripWithAdjacency,
        Self::TriangleListWithAdjacency,
        Self::TriangleStripWithAdjacency,
    ];

    /// The value of `VkPrimitiveTopology`.
    pub const fn as_raw(self) -> i32 {
        self as i32
    }

    /// The name in lower case with dashes, as on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PointList => "point-list",
            Self::LineList => "line-list",
            Self::LineStrip => "line-strip",
            Self::TriangleList => "triangle-list",
            Self::TriangleStrip => "triangle-strip",
            Self::TriangleFan => "triangle-fan",
            Self::LineListWithAdjacency => "line-list-with-adjacency",
            Self::LineStripWithAdjacency => "line-strip-with-adjacency",
            Self::TriangleListWithAdjacency => "triangle-list-with-adjacency",
            Self::TriangleStripWithAdjacency => "triangle-strip-with-adjacency",
            Self::PatchList => "patch-list",
        }
    }

    fn names() -> String {
        let names: Vec<&str> = Self::every().map(Self::name).collect();
        names.join(", ")
    }

    /// All topologies: [`ALL`](Self::ALL) and the patch list.
    pub fn every() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().chain([Self::PatchList])
    }

    /// The value of the sysval `xfb_topology`.
    pub const fn xfb_topology(self) -> XfbTopology {
        match self {
            Self::PointList | Self::LineList | Self::TriangleList | Self::PatchList => {
                XfbTopology::List
            }
            Self::LineStrip => XfbTopology::LineStrip,
            Self::TriangleStrip => XfbTopology::TriStrip,
            Self::TriangleFan => XfbTopology::TriFan,
            Self::LineListWithAdjacency => XfbTopology::LineListAdj,
            Self::LineStripWithAdjacency => XfbTopology::LineStripAdj,
            Self::TriangleListWithAdjacency => XfbTopology::TriListAdj,
            Self::TriangleStripWithAdjacency => XfbTopology::TriStripAdj,
        }
    }

    /// The way in which items (vertices that contribute to the capture) form primitives.
    pub const fn shape(self) -> Shape {
        self.xfb_topology().shape()
    }

    /// Whether a graphics pipeline with this topology needs the feature `geometryShader`.
    pub const fn has_adjacency(self) -> bool {
        self.xfb_topology().has_adjacency()
    }

    /// The number of vertices of a captured primitive: 1, 2 or 3. For a patch list it is meaningless.
    pub const fn vertices_per_primitive(self) -> u32 {
        match self {
            Self::PointList | Self::PatchList => 1,
            Self::LineList
            | Self::LineStrip
            | Self::LineListWithAdjacency
            | Self::LineStripWithAdjacency => 2,
            Self::TriangleList
            | Self::TriangleStrip
            | Self::TriangleFan
            | Self::TriangleListWithAdjacency
            | Self::TriangleStripWithAdjacency => 3,
        }
    }

    /// The number of vertices of a geometry shader's input primitive: 1, 2 or 3, with adjacency 4 or 6; 0 for patches.
    pub const fn input_vertices(self) -> u32 {
        match self {
            Self::PatchList => 0,
            Self::LineListWithAdjacency | Self::LineStripWithAdjacency => 4,
            Self::TriangleListWithAdjacency | Self::TriangleStripWithAdjacency => 6,
            _ => self.vertices_per_primitive(),
        }
    }

    /// The vertex of the instance that is vertex number `slot` of a geometry shader's input primitive ([primitive
    /// topologies](https://docs.vulkan.org/spec/latest/chapters/drawing.html#drawing-primitive-topologies)).
    /// `primitive` is the number of the primitive, `primitives` the number of primitives in the instance. Without
    /// adjacency the result is the vertex that transform feedback would capture as vertex number `slot` of the
    /// primitive.
    pub const fn assemble(
        self,
        provoking: ProvokingVertex,
        primitives: u64,
        primitive: u64,
        slot: u32,
    ) -> u64 {
        let (i, s) = (primitive, slot as usize);
        match self {
            Self::LineListWithAdjacency => 4 * i + slot as u64,
            Self::LineStripWithAdjacency => i + slot as u64,
            Self::TriangleListWithAdjacency => 6 * i + slot as u64,
            Self::TriangleStripWithAdjacency => {
                let before = if i == 0 { 1 } else { 2 * i - 2 };
                let after = if i + 1 == primitives { 2 * i + 5 } else { 2 * i + 6 };
                match (i % 2 == 1, provoking) {
                    (false, _) => [2 * i, before, 2 * i + 2, after, 2 * i + 4, 2 * i + 3][s],
                    (true, ProvokingVertex::Last) => {
                        [2 * i + 2, before, 2 * i, 2 * i + 3, 2 * i + 4, after][s]
                    }
                    (true, ProvokingVertex::First) => {
                        [2 * i, 2 * i + 3, 2 * i + 4, after, 2 * i + 2, before][s]
                    }
                }
            }
            _ => self.gather(provoking, i * self.vertices_per_primitive() as u64 + slot as u64),
        }
    }

    /// The vertex that is written to record `output` of an instance (record = primitive *
    /// [`vertices_per_primitive`](Self::vertices_per_primitive) + slot). `slot` is the number of the vertex in its
    /// primitive. The result is meaningless if the primitive does not exist; see [`output_count`](Self::output_count).
    pub const fn gather(self, provoking: ProvokingVertex, output: u64) -> u64 {
        let m = self.vertices_per_primitive() as u64;
        let (i, slot) = (output / m, (output % m) as usize);
        let odd = i % 2 == 1;
        let last = matches!(provoking, ProvokingVertex::Last);
        match self {
            Self::PointList | Self::LineList | Self::TriangleList | Self::PatchList => output,
            Self::LineStrip => [i, i + 1][slot],
            Self::TriangleStrip => match (odd, last) {
                (false, _) => [i, i + 1, i + 2][slot],
                (true, false) => [i, i + 2, i + 1][slot],
                (true, true) => [i + 1, i, i + 2][slot],
            },
            Self::TriangleFan => {
                if last {
                    [0, i + 1, i + 2][slot]
                } else {
                    [i + 1, i + 2, 0][slot]
                }
            }
            Self::LineListWithAdjacency => [4 * i + 1, 4 * i + 2][slot],
            Self::LineStripWithAdjacency => [i + 1, i + 2][slot],
            Self::TriangleListWithAdjacency => [6 * i, 6 * i + 2, 6 * i + 4][slot],
            Self::TriangleStripWithAdjacency => match (odd, last) {
                (false, _) => [2 * i, 2 * i + 2, 2 * i + 4][slot],
                (true, false) => [2 * i, 2 * i + 4, 2 * i + 2][slot],
                (true, true) => [2 * i + 2, 2 * i, 2 * i + 4][slot],
            },
        }
    }

    /// The records that `vertex` is written to in an instance of `vertex_count` vertices. There are at most three,
    /// except for the hub of a fan, its first vertex, which is in every primitive.
    pub fn scatter(
        self,
        provoking: ProvokingVertex,
        vertex_count: u32,
        vertex: u32,
    ) -> impl Iterator<Item = Contribution> {
        let primitives = self.primitive_count(vertex_count);
        let hub = (self.shape() == Shape::TriFan && vertex == 0).then(|| {
            (0..primitives)
                .map(move |primitive| Contribution { primitive, slot: hub_slot(provoking) })
        });
        let rim = self.item_of_vertex(vertex).into_iter().flat_map(move |k| {
            item_contributions(self.shape(), provoking, self.vertices_per_primitive(), k)
        });
        rim.filter(move |c| c.primitive < primitives).chain(hub.into_iter().flatten())
    }

    /// The number that a vertex has as an item (the vertices that contribute to the capture, numbered consecutively),
    /// or `None` for an adjacent vertex, and for the hub (the first vertex) of a fan. Vertices at the end of an
    /// instance have numbers even if they are not captured.
    pub const fn item_of_vertex(self, vertex: u32) -> Option<u32> {
        match self.xfb_topology() {
            XfbTopology::List | XfbTopology::LineStrip | XfbTopology::TriStrip => Some(vertex),
            XfbTopology::TriFan | XfbTopology::LineStripAdj => vertex.checked_sub(1),
            XfbTopology::LineListAdj => match vertex % 4 {
                1 | 2 => Some(vertex / 4 * 2 + vertex % 4 - 1),
                _ => None,
            },
            XfbTopology::TriListAdj | XfbTopology::TriStripAdj => match vertex % 2 {
                0 => Some(vertex / 2),
                _ => None,
            },
        }
    }

    /// The vertex that becomes this item: the inverse of [`item_of_vertex`](Self::item_of_vertex).
    pub const fn vertex_of_item(self, item: u32) -> u32 {
        match self.xfb_topology() {
            XfbTopology::List | XfbTopology::LineStrip | XfbTopology::TriStrip => item,
            XfbTopology::TriFan | XfbTopology::LineStripAdj => item + 1,
            XfbTopology::LineListAdj => item / 2 * 4 + item % 2 + 1,
            XfbTopology::TriListAdj | XfbTopology::TriStripAdj => item * 2,
        }
    }
}

impl XfbTopology {
    /// The way in which items (vertices that contribute to the capture) form primitives.
    pub const fn shape(self) -> Shape {
        match self {
            Self::List | Self::LineListAdj | Self::TriListAdj => Shape::List,
            Self::LineStrip | Self::LineStripAdj => Shape::LineStrip,
            Self::TriStrip | Self::TriStripAdj => Shape::TriStrip,
            Self::TriFan => Shape::TriFan,
        }
    }

    /// Whether some vertices of the topology are never captured.
    pub(crate) const fn has_adjacency(self) -> bool {
        matches!(
            self,
            Self::LineListAdj | Self::LineStripAdj | Self::TriListAdj | Self::TriStripAdj
        )
    }
}

/// Which vertex of each triangle of a fan is the hub, the vertex that all these triangles share: 0, 1 or 2.
const fn hub_slot(provoking: ProvokingVertex) -> u32 {
    match provoking {
        ProvokingVertex::First => 2,
        ProvokingVertex::Last => 0,
    }
}

/// Returns the primitives that item `k` (a vertex that contributes to the capture) is in, and the number of the vertex
/// in each of them. The caller must leave out primitives behind the last primitive of the instance.
fn item_contributions(
    shape: Shape,
    provoking: ProvokingVertex,
    vertices_per_primitive: u32,
    k: u32,
) -> impl Iterator<Item = Contribution> {
    let reach = match shape {
        Shape::List => 1,
        Shape::LineStrip | Shape::TriFan => 2,
        Shape::TriStrip => 3,
    };
    (0..reach).filter_map(move |d: u32| {
        if shape == Shape::List {
            return Some(Contribution {
                primitive: u64::from(k / vertices_per_primitive),
                slot: k % vertices_per_primitive,
            });
        }
        // Primitive k - d begins d items before this item.
        let primitive = k.checked_sub(d)?;
        let slot = match (shape, provoking) {
            (Shape::TriStrip, ProvokingVertex::First) if primitive % 2 == 1 => {
                [0, 2, 1][d as usize]
            }
            (Shape::TriStrip, ProvokingVertex::Last) if primitive % 2 == 1 => [1, 0, 2][d as usize],
            (Shape::TriFan, ProvokingVertex::Last) => d + 1,
            _ => d,
        };
        Some(Contribution { primitive: u64::from(primitive), slot })
    })
}

impl fmt::Display for PrimitiveTopology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PrimitiveTopology {
    type Err = TopologyError;

    fn from_str(name: &str) -> Result<Self, TopologyError> {
        Self::every()
            .find(|t| t.name() == name)
            .ok_or_else(|| TopologyError::UnknownName { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Asserts that every record of the instance is written by exactly the vertex that gather
    /// returns.
    fn assert_inverse(topology: PrimitiveTopology, provoking: ProvokingVertex, n: u32) {
        let m = u64::from(topology.vertices_per_primitive());
        let mut filled = vec![None; topology.output_count(n) as usize];
        for vertex in 0..n {
            for c in topology.scatter(provoking, n, vertex) {
                let record = (c.primitive * m + u64::from(c.slot)) as usize;
                assert_eq!(
                    filled[record].replace(vertex),
                    None,
                    "{topology} {record} written twice"
                );
            }
        }
        for (record, vertex) in filled.into_iter().enumerate() {
            let expected = topology.gather(provoking, record as u64);
            assert_eq!(vertex.map(u64::from), Some(expected), "{topology} N={n} record {record}");
        }
    }

    #[test]
    fn scatter_inverts_gather() {
        for topology in PrimitiveTopology::ALL {
            for provoking in ProvokingVertex::ALL {
                for n in 0..200 {
                    assert_inverse(topology, provoking, n);
                }
            }
        }
    }

    proptest! {
        /// In huge draws, too, `scatter` returns the records for which `gather` returns the vertex. Only single records
        /// are tested, because these draws are too large to enumerate.
        #[test]
        fn scatter_inverts_gather_for_huge_draws(
            topology in proptest::sample::select(&PrimitiveTopology::ALL[..]),
            provoking in proptest::sample::select(&ProvokingVertex::ALL[..]),
            n in (u32::MAX - 64)..=u32::MAX,
            seed in any::<u64>(),
            from_end in any::<bool>(),
        ) {
            let m = u64::from(topology.vertices_per_primitive());
            let outputs = topology.output_count(n);
            let record = if from_end { outputs - 1 - seed % 64 } else { seed % outputs };
            let vertex = u32::try_from(topology.gather(provoking, record)).unwrap();
            prop_assert!(vertex < n);
            let contribution = Contribution { primitive: record / m, slot: (record % m) as u32 };
            if topology.shape() == Shape::TriFan && vertex == 0 {
                prop_assert_eq!(contribution.slot, hub_slot(provoking));
            } else {
                prop_assert!(topology.scatter(provoking, n, vertex).any(|c| c == contribution));
                for c in topology.scatter(provoking, n, vertex) {
                    prop_assert!(c.primitive < topology.primitive_count(n));
                    prop_assert_eq!(
                        topology.gather(provoking, c.primitive * m + u64::from(c.slot)),
                        u64::from(vertex)
                    );
                }
            }
        }

        #[test]
        fn items_number_the_vertices_that_contribute(
            topology in proptest::sample::select(&PrimitiveTopology::ALL[..]),
            item in 0u32..u32::MAX / 4,
        ) {
            let vertex = topology.vertex_of_item(item);
            prop_assert_eq!(topology.item_of_vertex(vertex), Some(item));
        }
    }

    #[test]
    fn item_count_covers_exactly_the_primitives() {
        for topology in PrimitiveTopology::ALL {
            for n in 0..60 {
                let primitives = topology.primitive_count(n);
                let last = (0..topology.output_count(n))
                    .map(|o| topology.gather(ProvokingVertex::First, o) as u32)
                    .filter_map(|v| topology.item_of_vertex(v))
                    .max();
                assert_eq!(
                    topology.item_count(primitives),
                    last.map_or(0, |k| u64::from(k) + 1),
                    "{topology} N={n}"
                );
            }
        }
    }

    #[test]
    fn names_round_trip() {
        for topology in PrimitiveTopology::ALL {
            assert_eq!(topology.name().parse(), Ok(topology));
        }
        assert_eq!("patch-list".parse(), Ok(PrimitiveTopology::PatchList));
        assert!("strip".parse::<PrimitiveTopology>().is_err());
    }
}
