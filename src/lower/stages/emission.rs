//! What a geometry shader declares, and what it emits.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{ExecutionMode, Op};

use crate::lower::LowerError;
use crate::lower::functions::Function;
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::Code;
use crate::spirv::entry_point::{EntryPoint, reachable_functions};
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
    /// The primitives that it emits each time, if it always emits as many, and code without branches says so. Then
    /// they need not be counted before they are stored.
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
        let function = entry.function;
        let primitives = output.and_then(|vertices| always_emitted(module, function, vertices));
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

/// The primitives of `vertices` vertices that a shader emits to stream 0, if it runs through every instruction that
/// emits, in one order.
fn always_emitted(module: &Module, function: Id, vertices: u32) -> Option<u32> {
    let mut functions: FxHashMap<Id, Vec<Instruction<'_>>> = FxHashMap::default();
    let mut current = function;
    for i in module.section(Section::Functions) {
        if i.is(Op::Function) {
            current = i.id(1);
        }
        functions.entry(current).or_default().push(i);
    }
    let emitting = functions.iter().filter(|(_, code)| code.iter().any(|i| emits(i)));
    let emitting = emitting.map(|(id, _)| *id).collect();
    let mut walk =
        Walk { module, functions: &functions, emitting, strip: 0, primitives: 0, vertices };
    walk.function(function)?;
    walk.end_primitive();
    Some(walk.primitives).filter(|primitives| *primitives > 0)
}

/// A walk through code without branches.
struct Walk<'a> {
    module: &'a Module,
    functions: &'a FxHashMap<Id, Vec<Instruction<'a>>>,
    /// The functions that emit by themselves.
    emitting: FxHashSet<Id>,
    /// The vertices of the current strip.
    strip: u32,
    /// The primitives of the strips before it.
    primitives: u32,
    /// The vertices of a primitive.
    vertices: u32,
}

impl Walk<'_> {
    /// Walks through a function, if that is necessary. Returns `None` where the code branches.
    fn function(&mut self, function: Id) -> Option<()> {
        if reachable_functions(self.module, function).is_disjoint(&self.emitting) {
            return Some(());
        }
        let code = self.functions.get(&function)?;
        // There are as many blocks at most, unless a loop never ends.
        let mut blocks = code.len();
        let mut place = 0;
        loop {
            let i = code.get(place)?;
            place += 1;
            match i.op() {
                Some(Op::Branch) => {
                    let label =
                        |i: &Instruction<'_>| i.is(Op::Label) && i.id(0) == code[place - 1].id(0);
                    place = code.iter().position(label)?;
                    blocks = blocks.checked_sub(1)?;
                }
                Some(Op::FunctionCall) => self.function(i.id(2))?,
                Some(Op::Return | Op::ReturnValue) => return Some(()),
                Some(
                    Op::BranchConditional
                    | Op::Switch
                    | Op::Kill
                    | Op::Unreachable
                    | Op::TerminateInvocation
                    | Op::FunctionEnd,
                ) => return None,
                Some(Op::EmitVertex) => self.strip += 1,
                Some(Op::EndPrimitive) => self.end_primitive(),
                // Of which stream, only a constant says.
                Some(Op::EmitStreamVertex | Op::EndStreamPrimitive) => return None,
                _ => {}
            }
        }
    }

    fn end_primitive(&mut self) {
        self.primitives += self.strip.saturating_sub(self.vertices - 1);
        self.strip = 0;
    }
}

/// Whether an instruction emits a vertex, or ends a strip.
fn emits(i: &Instruction<'_>) -> bool {
    let emitting = [Op::EmitVertex, Op::EndPrimitive, Op::EmitStreamVertex, Op::EndStreamPrimitive];
    i.op().is_some_and(|op| emitting.contains(&op))
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
