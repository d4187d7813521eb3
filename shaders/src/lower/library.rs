//! This module loads the shader library (`shaders/*.wgsl`, compiled to `shaders/xfb.spv`), and
//! generates the bodies of its stubs for captures.

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
    let words = words_from_bytes(include_bytes!("../../xfb.spv"))?;
    let mut module = Module::parse(&words)?;
    mark_uniform_branches(&mut module);
    Ok(Library::new(module))
});

/// Sets the selection control `DontFlatten`, for which WGSL has no syntax, on each selection whose condition is a call
/// of `uniformly`. It asks the driver to branch instead of executing both sides of the selection.
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

/// Returns the shader library, which is parsed in the first call.
pub(super) fn library() -> Result<&'static Library, LowerError> {
    LIBRARY.as_ref().map_err(|error| LowerError::Parse(error.clone()))
}

/// The data from which the bodies of the stubs are generated for one shader.
pub(super) struct CaptureStubs<'a> {
    pub(super) memory: Memory,
    pub(super) sysvals: SysvalsSource,
    /// The outputs that `store_record` stores.
    pub(super) outputs: StoredOutputs<'a>,
    /// The outputs and variables that must be set to 0 before the shader runs, because it may leave them unwritten.
    pub(super) undefined: &'a Undefined,
    /// The push constants that the stub `shade` sets before it runs the shader. The vertex backend
    /// does not call this stub.
    pub(super) push_constants: &'a PushConstants,
    /// The `SpecId`s of the specialisation constants with which a pipeline removes code that it does not need.
    pub(super) spec_ids: SpecIds,
    /// The vertex shader, for which the stubs `set_inputs` (its inputs) and `shade` (its call) are generated; `None`
    /// on the vertex backend, where the shader gets its inputs from the pipeline and calls the library.
    pub(super) shading: Option<Shading<'a>>,
    /// The stages after the vertex shader; `None` if there are none.
    pub(super) later: Option<Later<'a>>,
}

/// The application's vertex shader, which the entry point of the compute backend runs.
pub(super) struct Shading<'a> {
    /// The function of the vertex shader's original entry point.
    pub(super) function: Id,
    pub(super) inputs: Inputs<'a>,
    /// The id of the specialisation constant with the number of invocations per workgroup.
    pub(super) workgroup_size: Id,
    /// The shared memory in which records are collected; `None` without staging.
    pub(super) staging: Option<Staging>,
    /// Whether the invocations of a workgroup load the parameters of their draw together.
    pub(super) shares_draws: bool,
    /// Whether the shader must not run for invocations without a vertex, because an application
    /// could observe that.
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
            return Ok(staging.define(linker, &self.outputs, name, stub)?);
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
            (StubName::MayLoadBytes, _) if self.memory.loads_bytes() => {
                may_occur(linker, self.spec_ids.partial_indices)
            }
            (StubName::MayLoadBytes, _) => fixed(linker, false),
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
            // The vertex backend does not call these stubs.
            (
                StubName::SetInputs
                | StubName::Shade
                | StubName::ShadesExistingOnly
                | StubName::SharesDraws
                | StubName::WorkgroupSize,
                None,
            ) => return Ok(None),
            // These stubs keep their bodies in WGSL. Only kernels call `makes_entries` and `has_several`, and take
            // `kernel_width` for anything but 256; `uniformly` is a marker. The bodies of the other stubs in WGSL are
            // right if no stage follows the vertex shader; otherwise `Later::define` has generated
            // bodies before.
            (
                StubName::MakesEntries
                | StubName::HasSeveral
                | StubName::AlwaysEmitted
                | StubName::BeginPatch
                | StubName::ControlPhases
                | StubName::ControlPoints
                | StubName::GeometryInvocations
                | StubName::InnerLevels
                | StubName::InputVertices
                | StubName::KernelWidth
                | StubName::MayBePatches
                | StubName::MostEmitted
                | StubName::OuterLevels
                | StubName::OutputVertices
                | StubName::PassControlPoint
                | StubName::PassEvaluated
                | StubName::PassPatch
                | StubName::PassVertex
                | StubName::ShareControlPoint
                | StubName::SharePatch
                | StubName::TakeControlPoint
                | StubName::TakePatch
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

/// Returns the body of a stub whose result is known when the shader is lowered.
fn fixed(linker: &mut Linker<'_, '_>, value: bool) -> Code {
    Code::returning(linker.builder.constant_bool(value))
}

/// Returns the body of a stub for a case that may occur. It returns a boolean specialisation constant: true by
/// default, false in pipelines for which the case cannot occur.
fn may_occur(linker: &mut Linker<'_, '_>, spec_id: u32) -> Code {
    let bool_type = linker.builder.bool();
    spec_constant(linker, Op::SpecConstantTrue, bool_type, &[], spec_id)
}

/// Returns the body of a stub for a kind of dispatch. It returns a boolean specialisation constant: false by default,
/// true in pipelines for this kind of dispatch.
fn is_chosen(linker: &mut Linker<'_, '_>, spec_id: u32) -> Code {
    let bool_type = linker.builder.bool();
    spec_constant(linker, Op::SpecConstantFalse, bool_type, &[], spec_id)
}

/// The body of a stub that returns a specialisation constant with a value of [`WideAccesses`].
fn wide_accesses(linker: &mut Linker<'_, '_>, spec_id: u32) -> Code {
    let (uint, default) = (linker.builder.uint(), [WideAccesses::Tested as u32]);
    spec_constant(linker, Op::SpecConstant, uint, &default, spec_id)
}

/// The body of the stub `memory_barrier`: a barrier for the invocations of a workgroup and for
/// their accesses to buffers. naga compiles `storageBarrier` to a barrier with the scope `Device`,
/// which is more than needed.
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

fn spec_constant(
    linker: &mut Linker<'_, '_>,
    op: Op,
    ty: Id,
    default: &[u32],
    spec_id: u32,
) -> Code {
    Code::returning(declare_spec_constant(&mut linker.builder, op, ty, default, spec_id))
}

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

/// Returns `SpecId`s that are not in `used`, the `SpecId`s of the application. The application's specialisation
/// constants have become constants, but its pipelines may nevertheless set values for these ids.
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
        partial_indices: next(),
    }
}
