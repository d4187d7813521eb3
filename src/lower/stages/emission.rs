//! What a geometry shader declares, and what it emits.

use spirv::{ExecutionMode, Op};

use super::walk::always_emitted;
use crate::lower::LowerError;
use crate::lower::functions::Function;
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::Code;
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::link::{LinkError, Linker};
use crate::spirv::{Id, Instruction, Module, Section};
use crate::topology::PrimitiveTopology;

/// The primitives that a geometry shader takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GeometryInput {
    /// `InputPoints`
    Points,
    /// `InputLines`
    Lines,
    /// `InputLinesAdjacency`
    LinesAdjacency,
    /// `Triangles`
    Triangles,
    /// `InputTrianglesAdjacency`
    TrianglesAdjacency,
}

impl GeometryInput {
    /// The vertices of a primitive.
    pub const fn vertices(self) -> u32 {
        match self {
            Self::Points => 1,
            Self::Lines => 2,
            Self::Triangles => 3,
            Self::LinesAdjacency => 4,
            Self::TrianglesAdjacency => 6,
        }
    }

    /// Whether draws with that topology have such primitives
    /// ([VUID-VkGraphicsPipelineCreateInfo-pStages-00738](https://docs.vulkan.org/spec/latest/chapters/pipelines.html#VUID-VkGraphicsPipelineCreateInfo-pStages-00738)).
    pub const fn takes(self, topology: PrimitiveTopology) -> bool {
        topology.input_vertices() == self.vertices()
    }
}

/// What a geometry shader declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoweredGeometry {
    /// The primitives that it takes.
    pub input: GeometryInput,
    /// The vertices of a primitive that it emits: 1, 2 or 3.
    pub output_vertices: u32,
    /// How often it runs for each primitive.
    pub invocations: u32,
    /// The most vertices that it emits each time.
    pub max_vertices: u32,
    /// The primitives that it emits each time, if it always emits as many, and its code says so: what decides about it,
    /// such as the lengths of loops, are constants. Then they need not be counted before they are stored.
    pub primitives: Option<u32>,
}

impl LoweredGeometry {
    /// Reads the execution modes of a geometry shader.
    ///
    /// # Errors
    /// [`LowerError::GeometryModes`].
    pub(in crate::lower) fn of(module: &Module, entry: &EntryPoint) -> Result<Self, LowerError> {
        let (mut input, mut output) = (None, None);
        let (mut invocations, mut max_vertices) = (1, 0);
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
                Some(ExecutionMode::OutputVertices) => max_vertices = i.operand(2),
                _ => {}
            }
        }
        let primitives = output
            .and_then(|vertices| always_emitted(module, entry.function, vertices, max_vertices));
        let missing = |what| LowerError::GeometryModes { entry_point: entry.name.clone(), what };
        Ok(Self {
            input: input.ok_or_else(|| missing("primitives that it takes"))?,
            output_vertices: output.ok_or_else(|| missing("primitives that it emits"))?,
            invocations: invocations.max(1),
            max_vertices,
            primitives,
        })
    }

    /// The most records that it emits for each primitive that it takes, with all its invocations.
    pub(in crate::lower) fn most_records(&self) -> u32 {
        let primitives = self.max_vertices.saturating_sub(self.output_vertices - 1);
        let primitives = self.primitives.unwrap_or(primitives);
        primitives.saturating_mul(self.output_vertices).saturating_mul(self.invocations)
    }

    /// The primitives that it emits for each that it takes, with all its invocations, if they need not be counted.
    pub(crate) fn primitives_each(&self) -> Option<u32> {
        self.primitives.and_then(|primitives| primitives.checked_mul(self.invocations))
    }
}

/// Replaces the instructions that emit to stream 0 by calls, and removes those for other streams.
///
/// # Errors
/// [`LinkError`]
pub(in crate::lower) fn replace_emission(
    linker: &mut Linker<'_, '_>,
    declarations: &Declarations,
) -> Result<(), LinkError> {
    let emit_vertex = Function::EmitVertex.id(linker)?;
    let end_primitive = Function::EndPrimitive.id(linker)?;
    let builder = &mut linker.builder;
    let void = builder.void();
    let is_first_stream = |stream: Id| declarations.constant(stream) == Some(0);
    builder.module.retain(Section::Functions, |i| match i.op() {
        Some(Op::EmitStreamVertex | Op::EndStreamPrimitive) => is_first_stream(i.id(0)),
        _ => true,
    });
    let function = |i: &Instruction<'_>| match i.op()? {
        Op::EmitVertex | Op::EmitStreamVertex => Some(emit_vertex),
        Op::EndPrimitive | Op::EndStreamPrimitive => Some(end_primitive),
        _ => None,
    };
    let functions = builder.module.section(Section::Functions).filter_map(|i| function(&i));
    // Each call has a result, although it is void.
    let count = functions.count();
    let mut results = (0..count).map(|_| builder.module.fresh_id()).collect::<Vec<_>>().into_iter();
    builder.module.replace(Section::Functions, |i| {
        let function = function(&i)?;
        let mut call = Code::default();
        call.push(Op::FunctionCall, &[void.0, results.next()?.0, function.0]);
        Some(call.words().to_vec())
    });
    Ok(())
}
