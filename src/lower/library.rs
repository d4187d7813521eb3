//! The shader library (`shaders/*.wgsl`, compiled to `shaders/xfb.spv`) and the bodies of its stubs.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rustc_hash::FxHashSet;
use spirv::{Decoration, MemorySemantics, Op, Scope, SelectionControl};

use super::functions::{MemoryStub, StagingStub, StubName, SysvalsStub};
use super::inputs::Inputs;
use super::push_constants::PushConstants;
use super::resources::Memory;
use super::stages::Later;
use super::staging::Staging;
use super::store::StoredOutputs;
use super::sysvals::SysvalsSource;
use super::undefined::Undefined;
use super::{LowerError, SpecIds, WideAccesses};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::link::{Define, Library, Linker, Stub};
use crate::spirv::{Id, Instruction, Module, ParseError, Section, read_string, words_from_bytes};

static LIBRARY: LazyLock<Result<Library, ParseError>> = LazyLock::new(|| {
    let words = words_from_bytes(include_bytes!("../../shaders/xfb.spv"))?;
    let mut module = Module::parse(&words)?;
    mark_uniform_branches(&mut module);
    Ok(Library::new(module))
});

/// Asks drivers not to flatten selections whose condition is a call of `uniformly`: WGSL cannot
/// express that.
fn mark_uniform_branches(module: &mut Module) {
    let name = |i: &Instruction<'_>| i.operands().get(1..).and_then(read_string);
    let is_marker = |i: &Instruction<'_>| {
        i.is(Op::Name) && name(i).is_some_and(|(name, _)| name == StubName::Uniformly.name())
    };
    let Some(marker) = module.section(Section::Names).find(is_marker).map(|i| i.id(0)) else {
        return;
    };
    let (mut conditions, mut merges) = (FxHashSet::default(), FxHashSet::default());
    let mut merge = None;
    for i in module.section(Section::Functions) {
        match i.op() {
            Some(Op::FunctionCall) if i.id(2) == marker => _ = conditions.insert(i.id(1)),
            Some(Op::LogicalNot) if conditions.contains(&i.id(2)) => _ = conditions.insert(i.id(1)),
            Some(Op::SelectionMerge) => merge = Some(i.id(0)),
            Some(Op::BranchConditional) if conditions.contains(&i.id(0)) => merges.extend(merge),
            _ => {}
        }
    }
    module.edit(Section::Functions, |op, operands| {
        if op == Op::SelectionMerge
            && let [merge, control] = operands
            && merges.contains(&Id(*merge))
        {
            *control = SelectionControl::DONT_FLATTEN.bits();
        }
    });
}

/// The library, parsed once.
pub(super) fn library() -> Result<&'static Library, LowerError> {
    LIBRARY.as_ref().map_err(|error| LowerError::Parse(error.clone()))
}

/// Generates the bodies of the stubs for one shader.
pub(super) struct CaptureStubs<'a> {
    /// The memory accesses.
    pub(super) memory: Memory,
    /// The place of the sysvals.
    pub(super) sysvals: SysvalsSource,
    /// The outputs that `store_record` stores.
    pub(super) outputs: StoredOutputs<'a>,
    /// The outputs and variables that must be initialised to 0.
    pub(super) undefined: &'a Undefined,
    /// For the compute backend: the push constants that are set before the shader runs.
    pub(super) push_constants: &'a PushConstants,
    /// The `SpecId`s of the constants that specialise the shader.
    pub(super) spec_ids: SpecIds,
    /// For the compute backend: the shader for which `set_inputs` and `shade` are generated.
    pub(super) shading: Option<Shading<'a>>,
    /// The stages after the vertex shader.
    pub(super) later: Option<Later<'a>>,
}

/// The application's shader, for the compute entry point.
pub(super) struct Shading<'a> {
    /// The function of the original entry point.
    pub(super) function: Id,
    /// The inputs of the shader.
    pub(super) inputs: Inputs<'a>,
    /// The specialisation constant with the number of invocations per workgroup.
    pub(super) workgroup_size: Id,
    /// The shared memory in which records are collected, if any.
    pub(super) staging: Option<Staging>,
    /// Whether the invocations of a workgroup load their draw together.
    pub(super) shares_draws: bool,
    /// Whether the shader must not run for invocations without a vertex.
    pub(super) existing_only: bool,
}

impl Define for CaptureStubs<'_> {
    type Error = LowerError;

    fn define(
        &mut self,
        linker: &mut Linker<'_, '_>,
        stub: &Stub,
    ) -> Result<Option<Code>, LowerError> {
        let name = stub.name.as_str();
        if let Some(name) = MemoryStub::of(name) {
            return Ok(self.memory.define(&mut linker.builder, name, stub)?);
        }
        if let Some(name) = SysvalsStub::of(name) {
            return Ok(self.sysvals.define(linker, name, stub)?);
        }
        if let Some(name) = StagingStub::of(name)
            && let Some(staging) = self.shading.as_ref().and_then(|s| s.staging.as_ref())
        {
            return Ok(Some(staging.define(linker, &self.outputs, name, stub)?));
        }
        let Some(name) = StubName::of(name) else { return Ok(None) };
        if let Some(later) = &mut self.later
            && let Some(code) = later.define(linker, name, stub, self.undefined, &self.outputs)?
        {
            return Ok(Some(code));
        }
        let code = match (name, &mut self.shading) {
            (StubName::StoreRecord, _) => {
                let [record] = stub.parameters()?;
                self.outputs.store_record(linker, record)?
            }
            (StubName::SetInputs, Some(shading)) => {
                let [vertex_index, instance_index] = stub.parameters()?;
                shading.inputs.set(linker, vertex_index, instance_index)?
            }
            (StubName::Shade, Some(shading)) => {
                let mut code = Code::default();
                self.push_constants.set(linker, &mut code)?;
                let builder = &mut linker.builder;
                match &self.later {
                    Some(later) => later.before_vertex(builder, &mut code, &self.outputs),
                    None => self.undefined.clear(builder, &mut code, &self.outputs),
                }
                let void = builder.void();
                code.call(builder, void, shading.function, &[]);
                code.push(Op::Return, &[]);
                code
            }
            (StubName::WorkgroupSize, Some(shading)) => Code::returning(shading.workgroup_size),
            (StubName::MayLoadBytes, _) => fixed(linker, self.memory.loads_bytes()),
            (StubName::SharesDraws, Some(shading)) => fixed(linker, shading.shares_draws),
            (StubName::ShadesExistingOnly, Some(shading)) => fixed(linker, shading.existing_only),
            (StubName::PipelineTopology, _) => {
                let uint = linker.builder.uint();
                let default = [SpecIds::ANY_TOPOLOGY];
                spec_constant(linker, Op::SpecConstant, uint, &default, self.spec_ids.topology)
            }
            (StubName::MayRestart, _) => may_occur(linker, self.spec_ids.restart),
            (StubName::MayBeGeneral, _) => may_occur(linker, self.spec_ids.general),
            (StubName::MayBeIndexed, _) => may_occur(linker, self.spec_ids.indexed),
            (StubName::IsBatched, _) => is_chosen(linker, self.spec_ids.batched),
            (StubName::IsFused, _) => is_chosen(linker, self.spec_ids.fused),
            (StubName::IsUnchecked, _) => is_chosen(linker, self.spec_ids.unchecked),
            (StubName::MemoryBarrier, _) => memory_barrier(linker),
            (StubName::Arrive, _) => {
                let [address] = stub.parameters()?;
                return Ok(self.memory.arrive(&mut linker.builder, address));
            }
            (StubName::WideLoads, _) => wide_accesses(linker, self.spec_ids.wide_loads),
            (StubName::WideStores, _) => wide_accesses(linker, self.spec_ids.wide_stores),
            (StubName::MayLoop, _) => fixed(linker, true),
            // The vertex backend has no shader that these stubs would be generated for, and does not call
            // them.
            (
                StubName::SetInputs
                | StubName::Shade
                | StubName::ShadesExistingOnly
                | StubName::SharesDraws
                | StubName::WorkgroupSize,
                None,
            ) => return Ok(None),
            // Only kernels call `kernel_width`. Stages after the vertex shader generate the other stubs;
            // without such stages the bodies in WGSL are right.
            (
                StubName::Assembles
                | StubName::AlwaysEmitted
                | StubName::BeginPatch
                | StubName::ControlPhases
                | StubName::ControlPoints
                | StubName::GeometryInvocations
                | StubName::InnerLevels
                | StubName::InputVertices
                | StubName::KernelWidth
                | StubName::MayBePatches
                | StubName::OuterLevels
                | StubName::OutputVertices
                | StubName::PassControlPoint
                | StubName::PassEvaluated
                | StubName::PassPatch
                | StubName::PassVertex
                | StubName::PassedPoints
                | StubName::RunPrimitive
                | StubName::SetControlInputs
                | StubName::SetEvaluationInputs
                | StubName::SetGeometryInputs
                | StubName::ShadeControl
                | StubName::ShadeEvaluation
                | StubName::ShadeGeometry
                | StubName::TessellatedVertices
                | StubName::TessellatorBits
                | StubName::Uniformly,
                _,
            ) => return Ok(None),
        };
        Ok(Some(code))
    }
}

/// The body of a stub whose result is known when the shader is lowered.
fn fixed(linker: &mut Linker<'_, '_>, value: bool) -> Code {
    Code::returning(linker.builder.constant_bool(value))
}

/// A boolean specialisation constant, true by default, that the pipeline may set to false.
fn may_occur(linker: &mut Linker<'_, '_>, spec_id: u32) -> Code {
    let bool_type = linker.builder.bool();
    spec_constant(linker, Op::SpecConstantTrue, bool_type, &[], spec_id)
}

/// A boolean specialisation constant, false by default, that some pipelines set to true.
fn is_chosen(linker: &mut Linker<'_, '_>, spec_id: u32) -> Code {
    let bool_type = linker.builder.bool();
    spec_constant(linker, Op::SpecConstantFalse, bool_type, &[], spec_id)
}

/// A specialisation constant of [`WideAccesses`].
fn wide_accesses(linker: &mut Linker<'_, '_>, spec_id: u32) -> Code {
    let (uint, default) = (linker.builder.uint(), [WideAccesses::Tested as u32]);
    spec_constant(linker, Op::SpecConstant, uint, &default, spec_id)
}

/// A barrier between the invocations of a workgroup, for all buffers. naga's storageBarrier has the
/// scope of the whole device.
fn memory_barrier(linker: &mut Linker<'_, '_>) -> Code {
    let builder = &mut linker.builder;
    let semantics = MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::UNIFORM_MEMORY;
    let scope = builder.constant(Scope::Workgroup as u32);
    let semantics = builder.constant(semantics.bits());
    let mut code = Code::default();
    code.push(Op::ControlBarrier, &[scope.0, scope.0, semantics.0]);
    code.push(Op::Return, &[]);
    code
}

/// The body of a stub that returns a specialisation constant.
fn spec_constant(
    linker: &mut Linker<'_, '_>,
    op: Op,
    ty: Id,
    default: &[u32],
    spec_id: u32,
) -> Code {
    Code::returning(declare_spec_constant(&mut linker.builder, op, ty, default, spec_id))
}

/// Declares a specialisation constant.
pub(super) fn declare_spec_constant(
    builder: &mut Builder<'_>,
    op: Op,
    ty: Id,
    default: &[u32],
    spec_id: u32,
) -> Id {
    let id = builder.module.fresh_id();
    let operands = [&[ty.0, id.0], default].concat();
    builder.module.push(Section::Declarations, op, &operands);
    builder.decorate(id, Decoration::SpecId, &[spec_id]);
    id
}

/// `SpecId`s that the application does not use. Its specialisation constants have become constants,
/// but its own pipelines may still set them.
pub(super) fn free_spec_ids(used: &BTreeSet<u32>) -> SpecIds {
    let mut free = (0..).filter(|id| !used.contains(id));
    let mut next = || free.next().unwrap_or(u32::MAX);
    SpecIds {
        topology: next(),
        restart: next(),
        general: next(),
        indexed: next(),
        batched: next(),
        wide_loads: next(),
        wide_stores: next(),
        fused: next(),
        unchecked: next(),
        workgroup_size: next(),
    }
}
