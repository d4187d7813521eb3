//! Describes the primitives that a capture consists of.

use serde::Serialize;
use spirv::ExecutionModel;
use vkxfb_rewriter::lower::{LoweredGeometry, LoweredTessellation};
use vkxfb_rewriter::tessellator::{Domain, Spacing};

/// Describes the stages after the vertex shader, and the primitives that are captured.
#[derive(Debug, Serialize)]
pub(crate) struct Primitives {
    /// The input primitives: points, lines, lines-adjacency, triangles, triangles-adjacency or patches.
    pub(crate) input: String,
    /// The output primitives: points, line-strips or triangle-strips of a geometry shader; points, lines or triangles
    /// of tessellation shaders without a geometry shader.
    pub(crate) output: &'static str,
    /// The maximum number of vertices that an invocation of the geometry shader emits, or that a patch is divided into.
    pub(crate) max_vertices: u32,
    /// The number of invocations for each input primitive.
    pub(crate) invocations: u32,
    /// How tessellation shaders divide patches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tessellation: Option<Tessellation>,
}

/// How tessellation shaders divide patches.
#[derive(Debug, Serialize)]
pub(crate) struct Tessellation {
    /// The domain: triangles, quads or isolines.
    pub(crate) domain: &'static str,
    /// The spacing: equal, fractional-even or fractional-odd.
    pub(crate) spacing: &'static str,
    /// The primitives that a patch is divided into: points, lines or triangles.
    pub(crate) primitives: &'static str,
    /// The number of control points that the control shader outputs for each patch.
    pub(crate) control_points: u32,
}

impl Primitives {
    /// Describes the stages that `geometry` declares. `stage` is the stage that is captured: geometry, or tessellation
    /// evaluation.
    pub(crate) fn of(geometry: LoweredGeometry, stage: ExecutionModel) -> Self {
        let names = match stage {
            ExecutionModel::Geometry => ["points", "line-strips", "triangle-strips"],
            _ => ["points", "lines", "triangles"],
        };
        let [points, lines, triangles] = names;
        Self {
            input: geometry.input.to_string(),
            output: match geometry.output_vertices {
                1 => points,
                2 => lines,
                _ => triangles,
            },
            max_vertices: geometry.max_vertices,
            invocations: geometry.invocations,
            tessellation: geometry.tessellation.map(Tessellation::from),
        }
    }
}

impl From<LoweredTessellation> for Tessellation {
    fn from(tessellation: LoweredTessellation) -> Self {
        let tessellator = tessellation.tessellator;
        Self {
            domain: match tessellator.domain {
                Domain::Triangles => "triangles",
                Domain::Quads => "quads",
                Domain::Isolines => "isolines",
            },
            spacing: match tessellator.spacing {
                Spacing::Equal => "equal",
                Spacing::FractionalEven => "fractional-even",
                Spacing::FractionalOdd => "fractional-odd",
            },
            primitives: match tessellator.primitive_vertices() {
                1 => "points",
                2 => "lines",
                _ => "triangles",
            },
            control_points: tessellation.control_points,
        }
    }
}
