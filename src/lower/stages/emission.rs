//! This module reads from the execution modes of a geometry shader which primitives the shader takes and emits. It also
//! replaces the instructions with which the shader emits vertices.

use std::fmt;

use spirv::{ExecutionMode, Op};

use super::LoweredTessellation;
use super::walk::always_emitted;
use crate::capture::MAX_STREAMS;
use crate::lower::LowerError;
use crate::lower::functions::Function;
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::Code;
use crate::spirv::entry_point::{EntryPoint, reachable_functions};
use crate::spirv::link::{LinkError, Linker};
use crate::spirv::{Id, Instruction, Module, Section};
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
#[non_exhaustive]
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
    /// The number of primitives that each run emits, if the analysis of the code finds that all
    /// runs emit the same number. The primitives of such a shader need not be counted before they are stored.
    /// `None` if the number may vary.
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
        let primitives = output
            .and_then(|vertices| always_emitted(module, entry.function, vertices, max_vertices));
        Ok(Self {
            input: input.ok_or_else(|| missing("primitives that it takes"))?,
            output_vertices: output.ok_or_else(|| missing("primitives that it emits"))?,
            invocations: invocations.max(1),
            max_vertices,
            streams: streams(module, entry)?,
            primitives,
            tessellation: None,
        })
    }

    /// Whether the shader emits to vertex stream `stream`.
    pub const fn emits_to(self, stream: u32) -> bool {
        self.streams >> stream & 1 != 0
    }

    /// The largest number of records that all runs for one input primitive emit together.
    pub(in crate::lower) fn most_records(&self) -> u32 {
        let primitives = self.max_vertices.saturating_sub(self.output_vertices - 1);
        let primitives = self.primitives.unwrap_or(primitives);
        primitives.saturating_mul(self.output_vertices).saturating_mul(self.invocations)
    }

    /// The number of primitives that all runs for one input primitive emit together. `None` if the
    /// number may vary.
    pub(crate) fn primitives_each(&self) -> Option<u32> {
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

/// Replaces the instructions that emit vertices and end strips by calls of functions of the shader
/// library. If the shader uses other streams than 0, these functions take the stream as a
/// parameter, because it is known only at run time which stream a run captures.
///
/// # Errors
/// [`LinkError`]
pub(in crate::lower) fn replace_emission(
    linker: &mut Linker<'_, '_>,
    declarations: &Declarations,
) -> Result<(), LinkError> {
    let is_of_other_stream = |i: Instruction<'_>| {
        matches!(i.op(), Some(Op::EmitStreamVertex | Op::EndStreamPrimitive))
            && declarations.constant(i.id(0)) != Some(0)
    };
    let has_streams = linker.builder.module.section(Section::Functions).any(is_of_other_stream);
    let [emit, end] = if has_streams {
        [Function::EmitStreamVertex, Function::EndStreamPrimitive]
    } else {
        [Function::EmitVertex, Function::EndPrimitive]
    };
    let [emit, end] = [emit.id(linker)?, end.id(linker)?];
    let builder = &mut linker.builder;
    let void = builder.void();
    let numbers = 0..if has_streams { MAX_STREAMS } else { 1 };
    let streams: Vec<Id> = numbers.map(|stream| builder.constant(stream)).collect();
    // The operand of the instruction may be a signed constant, so an unsigned constant of the same
    // value is passed.
    let stream = |id| streams.get(declarations.constant(id)? as usize).copied();
    let called = |i: &Instruction<'_>| match i.op()? {
        Op::EmitVertex => Some((emit, *streams.first()?)),
        Op::EmitStreamVertex => Some((emit, stream(i.id(0))?)),
        Op::EndPrimitive => Some((end, *streams.first()?)),
        Op::EndStreamPrimitive => Some((end, stream(i.id(0))?)),
        _ => None,
    };
    let functions = builder.module.section(Section::Functions).filter_map(|i| called(&i));
    // Each call needs a result id, although the functions return nothing.
    let count = functions.count();
    let mut results = (0..count).map(|_| builder.module.fresh_id()).collect::<Vec<_>>().into_iter();
    builder.module.replace(Section::Functions, |i| {
        let (function, stream) = called(&i)?;
        let operands = [void.0, results.next()?.0, function.0, stream.0];
        let mut call = Code::default();
        call.push(Op::FunctionCall, &operands[..if has_streams { 4 } else { 3 }]);
        Some(call.words().to_vec())
    });
    Ok(())
}
