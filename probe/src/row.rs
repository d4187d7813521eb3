//! The rows of the report's table.

use std::fmt;

use serde::{Deserialize, Serialize};
use vkxfb_rewriter::topology::PrimitiveTopology;

/// The stage whose outputs are captured. Each stage has rows of its own in the report's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapturedStage {
    /// A vertex shader.
    #[default]
    Vertex,
    /// A geometry shader that emits to one vertex stream.
    Geometry,
    /// A geometry shader that emits to several vertex streams.
    GeometryStreams,
    /// A tessellation evaluation shader.
    Tessellation,
}

impl CapturedStage {
    /// All stages, in the order of the rows.
    pub const ALL: [Self; 4] =
        [Self::Vertex, Self::Geometry, Self::GeometryStreams, Self::Tessellation];

    /// The text after the topology in the name of a row.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::Vertex => "",
            Self::Geometry => " into geometry",
            Self::GeometryStreams => " into vertex streams",
            Self::Tessellation => " into tessellation",
        }
    }

    /// The words before the name of a captured shader that is not a vertex shader.
    pub(crate) const fn lead(self) -> &'static str {
        match self {
            Self::Tessellation => "tessellation shaders",
            Self::Vertex | Self::Geometry | Self::GeometryStreams => "geometry shader",
        }
    }
}

/// A row of the table: the captured stage, and the topology of the draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Row {
    /// The captured stage.
    pub stage: CapturedStage,
    /// The topology of the draws.
    pub topology: PrimitiveTopology,
}

impl Row {
    /// Iterates over all rows, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        let of_stage = |stage| {
            let is_tessellated = stage == CapturedStage::Tessellation;
            let topologies = PrimitiveTopology::every();
            let topologies = topologies.filter(move |topology| {
                is_tessellated == (*topology == PrimitiveTopology::PatchList)
            });
            topologies.map(move |topology| Self { stage, topology })
        };
        CapturedStage::ALL.into_iter().flat_map(of_stage)
    }
}

/// Converts a topology to the row for draws with this topology and a vertex shader alone.
impl From<PrimitiveTopology> for Row {
    fn from(topology: PrimitiveTopology) -> Self {
        Self { stage: CapturedStage::Vertex, topology }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.topology, self.stage.suffix())
    }
}
