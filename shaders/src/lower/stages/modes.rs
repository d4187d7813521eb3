//! This module reads from the execution modes of geometry and tessellation shaders which primitives these shaders take
//! and emit.

use std::fmt;

use spirv::{ExecutionMode, Op};

use crate::capture::MAX_STREAMS;
use crate::lower::LowerError;
use crate::lower::options::DomainOrigin;
use crate::lower::stages::walk::{Output, always_emitted};
use crate::spirv::call_tree::reachable_functions;
use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::{Instruction, Module, Section};
use crate::tessellator::{Domain, Spacing, Tessellator};
use crate::topology::PrimitiveTopology;

/// The input primitives of a geometry shader, or of tessellation shaders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GeometryInput {
    /// The execution mode `InputPoints`.
    Points,
    /// The execution mode `InputLines`.
    Lines,
    /// The execution mode `InputLinesAdjacency`.
    LinesAdjacency,
    /// The execution mode `Triangles`.
    Triangles,
    /// The execution mode `InputTrianglesAdjacency`.
    TrianglesAdjacency,
    /// Patches, which are the input primitives of tessellation shaders.
    Patches,
}

impl fmt::Display for GeometryInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Points => "points",
            Self::Lines => "lines",
            Self::LinesAdjacency => "lines-adjacency",
            Self::Triangles => "triangles",
            Self::TrianglesAdjacency => "triangles-adjacency",
            Self::Patches => "patches",
        })
    }
}

impl GeometryInput {
    /// The number of vertices of an input primitive. It is 0 for patches, because the pipeline or
    /// the draw determines the number of their control points.
    pub const fn vertices(self) -> u32 {
        match self {
            Self::Patches => 0,
            Self::Points => 1,
            Self::Lines => 2,
            Self::Triangles => 3,
            Self::LinesAdjacency => 4,
            Self::TrianglesAdjacency => 6,
        }
    }

    /// Whether draws with a topology provide these input primitives
    /// ([VUID-VkGraphicsPipelineCreateInfo-pStages-00738](https://docs.vulkan.org/spec/latest/chapters/pipelines.html#VUID-VkGraphicsPipelineCreateInfo-pStages-00738)).
    pub const fn takes(self, topology: PrimitiveTopology) -> bool {
        topology.input_vertices() == self.vertices()
    }
}

/// What a geometry shader or tessellation shaders declare about their input and output primitives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoweredGeometry {
    /// The input primitives.
    pub input: GeometryInput,
    /// The number of vertices of an output primitive: 1, 2 or 3.
    pub output_vertices: u32,
    /// The number of runs of the geometry shader for each input primitive (`Invocations`); 1 if
    /// there is no geometry shader.
    pub invocations: u32,
    /// The declared maximum of vertices that each run emits; for tessellation shaders the largest
    /// number for one patch.
    pub max_vertices: u32,
    /// The vertex streams that the shader emits to: bit n is set for stream n.
    pub streams: u32,
    /// The number of primitives that each run emits to each of its streams, if the analysis of the code finds that it
    /// is the same for all runs and streams. The primitives of such a shader need not be counted before they are
    /// stored. `None` if the number may vary.
    pub primitives: Option<u32>,
    /// The properties that only tessellation shaders declare; `None` without tessellation shaders.
    pub tessellation: Option<LoweredTessellation>,
}

impl LoweredGeometry {
    /// Reads the execution modes of a geometry shader, and finds in its code to which streams it emits, and how many
    /// primitives.
    ///
    /// # Errors
    /// [`LowerError::GeometryModes`], [`LowerError::Stream`].
    pub(in crate::lower) fn of(module: &Module, entry: &EntryPoint) -> Result<Self, LowerError> {
        let (mut input, mut output) = (None, None);
        let (mut invocations, mut max_vertices) = (1, None);
        for i in module.section(Section::ExecutionModes).filter(|i| i.id(0) == entry.function) {
            match ExecutionMode::from_u32(i.operand(1)) {
                Some(ExecutionMode::InputPoints) => input = Some(GeometryInput::Points),
                Some(ExecutionMode::InputLines) => input = Some(GeometryInput::Lines),
                Some(ExecutionMode::InputLinesAdjacency) => {
                    input = Some(GeometryInput::LinesAdjacency);
                }
                Some(ExecutionMode::Triangles) => input = Some(GeometryInput::Triangles),
                Some(ExecutionMode::InputTrianglesAdjacency) => {
                    input = Some(GeometryInput::TrianglesAdjacency);
                }
                Some(ExecutionMode::OutputPoints) => output = Some(1),
                Some(ExecutionMode::OutputLineStrip) => output = Some(2),
                Some(ExecutionMode::OutputTriangleStrip) => output = Some(3),
                Some(ExecutionMode::Invocations) => invocations = i.operand(2),
                Some(ExecutionMode::OutputVertices) => max_vertices = Some(i.operand(2)),
                _ => {}
            }
        }
        let missing = |what| LowerError::GeometryModes { entry_point: entry.name.clone(), what };
        let max_vertices = max_vertices.filter(|most| *most > 0);
        let max_vertices =
            max_vertices.ok_or_else(|| missing("number of vertices that it emits at most"))?;
        let input = input.ok_or_else(|| missing("primitives that it takes"))?;
        let vertices = output.ok_or_else(|| missing("primitives that it emits"))?;
        let streams = streams(module, entry)?;
        let output = Output { vertices, most: max_vertices, streams };
        Ok(Self {
            input,
            output_vertices: vertices,
            invocations: invocations.max(1),
            max_vertices,
            streams,
            primitives: always_emitted(module, entry.function, output),
            tessellation: None,
        })
    }

    /// Whether the shader emits to vertex stream `stream`.
    pub const fn emits_to(self, stream: u32) -> bool {
        self.streams >> stream & 1 != 0
    }

    /// The largest number of records that all runs for one input primitive emit together to one stream.
    pub(in crate::lower) fn most_records(&self) -> u32 {
        let primitives = self.max_vertices.saturating_sub(self.output_vertices - 1);
        let primitives = self.primitives.unwrap_or(primitives);
        primitives.saturating_mul(self.output_vertices).saturating_mul(self.invocations)
    }

    /// The number of primitives that all runs for one input primitive emit together to each of their streams. `None` if
    /// the number may vary.
    pub fn primitives_each(&self) -> Option<u32> {
        self.primitives.and_then(|primitives| primitives.checked_mul(self.invocations))
    }
}

/// Returns the vertex streams that a shader emits to: bit n is set for stream n.
///
/// # Errors
/// [`LowerError::Stream`]
fn streams(module: &Module, entry: &EntryPoint) -> Result<u32, LowerError> {
    let declarations = Declarations::without_annotations(module);
    let functions = reachable_functions(module, entry.function);
    let (mut streams, mut is_reached) = (0, false);
    for i in module.section(Section::Functions) {
        match i.op() {
            Some(Op::Function) => is_reached = functions.contains(&i.id(1)),
            Some(Op::EmitVertex) if is_reached => streams |= 1,
            Some(op @ (Op::EmitStreamVertex | Op::EndStreamPrimitive)) if is_reached => {
                let stream = declarations.constant(i.id(0));
                let known = stream.filter(|stream| *stream < MAX_STREAMS);
                let known = known.ok_or_else(|| LowerError::Stream {
                    entry_point: entry.name.clone(),
                    stream: stream.map_or_else(|| i.id(0).to_string(), |s| s.to_string()),
                })?;
                if op == Op::EmitStreamVertex {
                    streams |= 1 << known;
                }
            }
            _ => {}
        }
    }
    Ok(streams)
}

/// The largest number of control points of a patch, before and after the control shader. Every
/// device supports this `maxTessellationPatchSize`.
pub const MAX_PATCH_SIZE: u32 = 32;

/// The properties that only tessellation shaders declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoweredTessellation {
    /// The rules by which patches are divided into primitives.
    pub tessellator: Tessellator,
    /// The number of control points that the control shader returns for each patch.
    pub control_points: u32,
}

impl LoweredGeometry {
    /// Reads the execution modes of the stages `later` after a vertex shader, each with its module.
    /// Returns `None` if there are no such stages.
    ///
    /// # Errors
    /// [`LowerError`]: a mode is missing, or the stages do not match.
    pub(in crate::lower) fn of_stages(
        later: &[(&Module, &EntryPoint)],
        origin: DomainOrigin,
    ) -> Result<Option<Self>, LowerError> {
        Ok(Some(match *later {
            [] => return Ok(None),
            [(module, entry)] => Self::of(module, entry)?,
            [control, evaluation] => Self::of_tessellation(control, evaluation, origin)?,
            [control, evaluation, (module, entry), ..] => {
                let before = Self::of_tessellation(control, evaluation, origin)?;
                Self::of(module, entry)?.behind(&before, entry)?
            }
        }))
    }

    /// Reads the execution modes of a tessellation control and evaluation shader. Each mode may be
    /// declared by either shader.
    ///
    /// # Errors
    /// [`LowerError::TessellationModes`].
    fn of_tessellation(
        (control_module, control): (&Module, &EntryPoint),
        (evaluation_module, evaluation): (&Module, &EntryPoint),
        origin: DomainOrigin,
    ) -> Result<Self, LowerError> {
        let (mut domain, mut spacing, mut control_points) = (None, Spacing::Equal, None);
        let (mut is_clockwise, mut points) = (false, false);
        let modes = execution_modes(control_module, control)
            .chain(execution_modes(evaluation_module, evaluation));
        for i in modes {
            match ExecutionMode::from_u32(i.operand(1)) {
                Some(ExecutionMode::Triangles) => domain = Some(Domain::Triangles),
                Some(ExecutionMode::Quads) => domain = Some(Domain::Quads),
                Some(ExecutionMode::Isolines) => domain = Some(Domain::Isolines),
                Some(ExecutionMode::SpacingFractionalEven) => spacing = Spacing::FractionalEven,
                Some(ExecutionMode::SpacingFractionalOdd) => spacing = Spacing::FractionalOdd,
                Some(ExecutionMode::VertexOrderCw) => is_clockwise = true,
                Some(ExecutionMode::PointMode) => points = true,
                Some(ExecutionMode::OutputVertices) => control_points = Some(i.operand(2)),
                _ => {}
            }
        }
        let missing = |entry: &EntryPoint, what| LowerError::TessellationModes {
            entry_point: entry.name.clone(),
            what,
        };
        let domain =
            domain.ok_or_else(|| missing(evaluation, "triangles, quads or isolines of a patch"))?;
        let control_points = control_points.filter(|points| (1..=MAX_PATCH_SIZE).contains(points));
        let control_points = control_points
            .ok_or_else(|| missing(control, "control points, 1 to 32, of a patch"))?;
        // In the tessellation domain, u points to the right, and v points down from an upper left
        // origin, but up from a lower left one. The other origin therefore exchanges clockwise and
        // counterclockwise.
        let flipped = is_clockwise == (origin == DomainOrigin::LowerLeft);
        let tessellator = Tessellator { domain, spacing, flipped, points };
        let output_vertices = tessellator.primitive_vertices();
        Ok(Self {
            input: GeometryInput::Patches,
            output_vertices,
            invocations: 1,
            max_vertices: tessellator.most_primitives() * output_vertices,
            streams: 1,
            primitives: None,
            tessellation: Some(LoweredTessellation { tessellator, control_points }),
        })
    }
}

impl LoweredGeometry {
    /// Combines the modes of this geometry shader with the modes `before` of the tessellation shaders before it: the
    /// input primitives of the result are patches.
    ///
    /// # Errors
    /// [`LowerError::TessellatedPrimitives`].
    fn behind(self, before: &Self, entry: &EntryPoint) -> Result<Self, LowerError> {
        if self.input.vertices() != before.output_vertices {
            return Err(LowerError::TessellatedPrimitives {
                entry_point: entry.name.clone(),
                takes: self.input,
                vertices: before.output_vertices,
            });
        }
        let Self { input, tessellation, .. } = *before;
        Ok(Self { input, tessellation, primitives: None, ..self })
    }
}

fn execution_modes<'m>(
    module: &'m Module,
    entry: &EntryPoint,
) -> impl Iterator<Item = Instruction<'m>> {
    let function = entry.function;
    module.section(Section::ExecutionModes).filter(move |i| i.id(0) == function)
}

/// Declares the opposite order of vertices for the tessellation shaders of a pipeline. This has the
/// same effect as the other origin of the tessellation domain.
pub(in crate::lower) fn reverse_order([control, evaluation]: [(&mut Module, &EntryPoint); 2]) {
    let order = |i: Instruction<'_>| {
        let mode = ExecutionMode::from_u32(i.operand(1));
        mode.filter(|mode| {
            matches!(mode, ExecutionMode::VertexOrderCw | ExecutionMode::VertexOrderCcw)
        })
    };
    let declared = |module: &Module, entry| execution_modes(module, entry).find_map(order);
    let declared = declared(control.0, control.1).or(declared(evaluation.0, evaluation.1));
    let opposite = match declared {
        Some(ExecutionMode::VertexOrderCw) => ExecutionMode::VertexOrderCcw,
        _ => ExecutionMode::VertexOrderCw,
    };
    for (module, entry) in [(&mut *control.0, control.1), (&mut *evaluation.0, evaluation.1)] {
        let is_other = |i: Instruction<'_>| i.id(0) != entry.function || order(i).is_none();
        module.retain(Section::ExecutionModes, is_other);
    }
    let operands = [evaluation.1.function.0, opposite as u32];
    evaluation.0.push(Section::ExecutionModes, Op::ExecutionMode, &operands);
}
