//! This module combines the stages of a pipeline in one SPIR-V module: a vertex shader, and the
//! tessellation shaders and the geometry shader that follow it.
//!
//! Each stage's module is reduced to its entry point ([`isolate`]), and then all are merged into
//! one ([`merge`]). The passes of [`compute`](super::compute) therefore process one module with
//! several entry points. [`passing`] generates copies of the outputs of one stage to the inputs of
//! the next, and [`emission`] replaces the instructions with which a geometry shader emits vertices
//! by calls.

mod copies;
mod emission;
mod followed;
mod guard;
mod leaves;
mod lengths;
pub(in crate::lower) mod modes;
mod passing;
mod phases;
mod relaxed;
mod resets;
mod stage;
mod tessellation;
mod walk;

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, Op, StorageClass};

pub(super) use self::emission::replace_emission;
pub(super) use self::guard::guard_side_effects;
use self::modes::{LoweredGeometry, MAX_PATCH_SIZE};
use self::passing::{Interface, Passing, is_array};
use self::phases::Phases;
use self::resets::Resets;
use self::stage::{Stage, StageContext};
use self::tessellation::Tessellation;
pub(super) use self::walk::{Emission, Output, Strips, emission};
use crate::lower::functions::{Function, StubName};
use crate::lower::interface::{decoration_of, move_execution_modes};
use crate::lower::options::Options;
use crate::lower::store::StoredOutputs;
use crate::lower::strip::strip;
use crate::lower::undefined::Undefined;
use crate::lower::{LowerError, Shader};
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::{EntryPoint, isolate};
use crate::spirv::link::{Linker, Stub};
use crate::spirv::merge::merge;
use crate::spirv::raise::raise;
use crate::spirv::static_use::StaticUse;
use crate::spirv::{Id, Instruction, Module, Section};
use crate::vertex_input::VertexInput;

/// The stages that a capture runs, in one module.
pub(super) struct Stages {
    pub(super) module: Module,
    pub(super) vertex: EntryPoint,
    /// The stages after the vertex shader, in order. The last one is captured.
    pub(super) later: Vec<EntryPoint>,
    /// The input and output primitives of the later stages; `None` if there are none.
    pub(super) modes: Option<LoweredGeometry>,
    /// The phases of the tessellation control shader, which are the parts of its code between barriers; `None` if it
    /// has no barriers.
    pub(super) phases: Option<Phases>,
    /// The variables and functions that any of the stages uses.
    pub(super) used: StaticUse,
    /// The `SpecId`s for which the application's pipelines may set values, so the lowered module must not use them for
    /// other constants.
    pub(super) spec_ids: BTreeSet<u32>,
}

impl Stages {
    /// Reads and merges the shader and the shaders before it.
    ///
    /// # Errors
    /// [`LowerError`]: a module is invalid, it has no such shader, or the stages do not match.
    pub(super) fn of(shader: &Shader<'_>, options: &Options<'_>) -> Result<Self, LowerError> {
        let before = [options.vertex_shader, options.control_shader, options.evaluation_shader];
        let later = later_shaders(before, shader)?;
        let Some(first) = options.vertex_shader else {
            let (mut module, spec_ids) = shader.specialized()?;
            let mut vertex = shader.vertex_shader(&module)?;
            let used = isolate(&mut module, &mut vertex);
            let later = Vec::new();
            return Ok(Self { module, vertex, later, modes: None, phases: None, used, spec_ids });
        };
        let (mut module, mut spec_ids) = first.specialized()?;
        let mut vertex = first.vertex_shader(&module)?;
        isolate(&mut module, &mut vertex);
        let mut parts = vec![(module, vertex)];
        for (shader, stage) in later {
            let (mut module, more_spec_ids) = shader.specialized()?;
            spec_ids.extend(more_spec_ids);
            let mut entry = shader.later_shader(&module, stage)?;
            isolate(&mut module, &mut entry);
            parts.push((module, entry));
        }
        // Only the last stage is captured, so transform feedback is removed from the others.
        let before = parts.len() - 1;
        for (module, _) in &mut parts[..before] {
            let declarations = Declarations::of(module);
            strip(module, &declarations);
        }
        for this in 1..parts.len() {
            let (before, others) = parts.split_at_mut(this);
            for (module, entry) in before {
                raise(module, entry, &others[0].0);
                raise(&mut others[0].0, &mut others[0].1, module);
            }
        }
        let (mut module, vertex) = parts.remove(0);
        let mut later = Vec::new();
        for (other, entry) in parts {
            later.push(merge(&mut module, &other, &entry)?);
        }
        copies::read_inputs_in_place(&mut module);
        let parts: Vec<_> = later.iter().map(|entry| (&module, entry)).collect();
        let modes = LoweredGeometry::of_stages(&parts, options.domain_origin)?;
        let mut phases = None;
        if let (Some(tessellation), [control, evaluation, ..]) =
            (modes.and_then(|modes| modes.tessellation), &mut later[..])
        {
            for entry in [&*control, evaluation] {
                lengths::shorten(&mut module, entry, tessellation.control_points);
            }
            phases = phases::split(&mut module, control, tessellation.control_points)?;
        }
        let mut entries = vec![&vertex];
        for entry in &later {
            merge_modes(&mut module, &entries, entry)?;
            entries.push(entry);
        }
        alias_shared_bindings(&mut module);
        for capability in STAGE_CAPABILITIES {
            module.remove_capability(capability);
        }
        module.add_capability(Capability::Shader);
        let mut used = StaticUse::of(&module, vertex.function);
        for entry in &later {
            used.unite(StaticUse::of(&module, entry.function));
        }
        Ok(Self { module, vertex, later, modes, phases, used, spec_ids })
    }

    pub(super) fn captured(&self) -> &EntryPoint {
        self.later.last().unwrap_or(&self.vertex)
    }

    /// Removes all entry points except that of the captured stage, which is returned. The returned
    /// entry point gets the interface variables of all stages, and the execution modes of the
    /// stages between the vertex shader and the captured stage.
    pub(super) fn join(&mut self) -> EntryPoint {
        let mut entry = self.captured().clone();
        if let Some((captured, others)) = self.later.split_last() {
            entry.interface.extend(&self.vertex.interface);
            entry.interface.extend(others.iter().flat_map(|other| &other.interface));
            for other in others {
                move_execution_modes(&mut self.module, other, captured.function);
            }
            self.module.retain(Section::EntryPoints, |i| captured.is(i));
        }
        entry
    }
}

/// Returns the shaders after the vertex shader, in the order of the pipeline, each with the stage that it must have.
/// The last of them is `captured`. `before` are the vertex shader, the tessellation control shader and the
/// tessellation evaluation shader that the options contain. If `before` contains none, `captured` is the only shader,
/// and the result is empty.
///
/// # Errors
/// [`LowerError::NoVertexShader`], [`LowerError::NoControlShader`].
pub(super) fn later_shaders<'a>(
    before: [Option<&'a Shader<'a>>; 3],
    captured: &'a Shader<'a>,
) -> Result<Vec<(&'a Shader<'a>, ExecutionModel)>, LowerError> {
    let [vertex, control, evaluation] = before;
    let last = match (vertex, control, evaluation) {
        (None, None, None) => return Ok(Vec::new()),
        (None, ..) => return Err(LowerError::NoVertexShader),
        (_, None, Some(_)) => return Err(LowerError::NoControlShader),
        (_, Some(_), None) => ExecutionModel::TessellationEvaluation,
        _ => ExecutionModel::Geometry,
    };
    let control = control.map(|shader| (shader, ExecutionModel::TessellationControl));
    let evaluation = evaluation.map(|shader| (shader, ExecutionModel::TessellationEvaluation));
    Ok(control.into_iter().chain(evaluation).chain([(captured, last)]).collect())
}

/// The shared memory for what the evaluation shader takes of a patch.
#[derive(Debug, Clone, Copy)]
pub(super) struct SharedPatch {
    pub(super) bytes: u32,
    /// The number of variables in shared memory, each of which has an element for each patch, or several.
    pub(super) variables: u32,
}

/// The data from which the stubs for the stages after the vertex shader are generated.
pub(super) struct Later<'a> {
    pub(super) modes: LoweredGeometry,
    declarations: &'a Declarations,
    vertex_resets: Resets,
    vertex_undefined: Undefined,
    /// The copies from the outputs of the vertex shader to the inputs of the next stage.
    passing: Passing,
    tessellation: Option<Tessellation<'a>>,
    geometry: Option<Stage<'a>>,
}

impl<'a> Later<'a> {
    /// Matches the outputs of each stage with the inputs of the next. Also replaces undefined
    /// values by 0 in the stages that are not captured.
    ///
    /// # Errors
    /// [`LowerError::PassedType`], [`LowerError::NoLocation`].
    pub(super) fn new(
        module: &mut Module,
        declarations: &'a Declarations,
        vertex: &EntryPoint,
        later: &[EntryPoint],
        (modes, phases): (LoweredGeometry, Option<Phases>),
        vertex_input: &'a VertexInput,
    ) -> Result<Self, LowerError> {
        let vertex_undefined = Undefined::of(module, declarations, vertex, &[]);
        vertex_undefined.define_values(module, declarations);
        let context = StageContext { declarations, vertex_input };
        let (mut tessellation, mut geometry) = (None, None);
        if let ([control, evaluation, behind @ ..], Some(modes)) = (later, modes.tessellation) {
            let entries = [control, evaluation];
            let mut stages = Tessellation::new(module, context, entries, behind.first(), modes)?;
            stages.set_phases(phases);
            tessellation = Some(stages);
        }
        if let Some(entry) = later.last().filter(|entry| entry.model == ExecutionModel::Geometry) {
            let is_per_run = |v: &Variable| !is_array(declarations, v);
            geometry = Some(Stage::new(module, context, entry, is_per_run));
        }
        let next = later.first().unwrap_or(vertex);
        let most = match modes.tessellation {
            Some(_) => MAX_PATCH_SIZE,
            None => modes.input.vertices(),
        };
        let inputs = Interface::per_vertex(declarations, next, StorageClass::Input);
        let outputs = Interface::per_run(declarations, vertex, StorageClass::Output);
        Ok(Self {
            modes,
            declarations,
            vertex_resets: Resets::of(module, declarations, vertex, true),
            vertex_undefined,
            passing: Passing::new(declarations, &outputs, &inputs)?.for_slots(declarations, most),
            tessellation,
            geometry,
        })
    }

    pub(super) const fn has_geometry(&self) -> bool {
        self.geometry.is_some()
    }

    /// What the evaluation shader takes of a patch, if the vertices of several patches can be evaluated together. `None`
    /// without tessellation shaders, or if a geometry shader follows them.
    pub(super) fn shared_patch(&self) -> Option<SharedPatch> {
        self.tessellation.as_ref().and_then(Tessellation::shared)
    }

    /// Declares the shared memory for what the evaluation shader takes of the patches of `stagers` invocations.
    pub(super) fn share_patches(&mut self, builder: &mut Builder<'_>, stagers: u32) {
        if let Some(tessellation) = &mut self.tessellation {
            tessellation.share(builder, stagers);
        }
    }

    /// Generates the code that runs before each run of the vertex shader: it resets variables, and
    /// sets undefined values to 0.
    pub(super) fn before_vertex(
        &self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        outputs: &StoredOutputs<'_>,
    ) {
        self.vertex_resets.store(builder, code);
        self.vertex_undefined.clear(builder, code, outputs);
    }

    /// Generates the body of a stub; `None` if the stub does not belong to these stages.
    ///
    /// # Errors
    /// [`LowerError::BuiltIn`]
    pub(super) fn define(
        &mut self,
        linker: &mut Linker<'_, '_>,
        name: StubName,
        stub: &Stub,
        undefined: &Undefined,
        outputs: &StoredOutputs<'_>,
    ) -> Result<Option<Code>, LowerError> {
        let constant = |linker: &mut Linker<'_, '_>, value| {
            Ok(Some(Code::returning(linker.builder.constant(value))))
        };
        match name {
            StubName::InputVertices if self.tessellation.is_none() => {
                return constant(linker, self.modes.input.vertices());
            }
            StubName::OutputVertices => return constant(linker, self.modes.output_vertices),
            StubName::AlwaysEmitted => {
                return constant(linker, self.modes.primitives.unwrap_or_default());
            }
            StubName::MostEmitted if self.has_geometry() => {
                return constant(linker, self.modes.max_vertices);
            }
            StubName::GeometryInvocations => return constant(linker, self.modes.invocations),
            StubName::PassVertex => {
                let [slot] = stub.parameters()?;
                let (builder, declarations) = (&mut linker.builder, self.declarations);
                return Ok(Some(self.passing.pass(builder, declarations, Some(slot))));
            }
            _ => {}
        }
        if let Some(tessellation) = &mut self.tessellation
            && let Some(code) = tessellation.define(linker, name, stub, undefined, outputs)?
        {
            return Ok(Some(code));
        }
        let Some(geometry) = &mut self.geometry else { return Ok(None) };
        Ok(Some(match name {
            StubName::RunPrimitive => {
                let arguments: [Id; 2] = stub.parameters()?;
                Function::RunGeometry.called(linker, &arguments)?
            }
            StubName::SetGeometryInputs => {
                let [primitive, invocation] = stub.parameters()?;
                let given =
                    [(BuiltIn::PrimitiveId, primitive), (BuiltIn::InvocationId, invocation)];
                geometry.inputs.set_given(linker, &given)?
            }
            StubName::ShadeGeometry => geometry.shade(linker, undefined, outputs),
            _ => return Ok(None),
        }))
    }

    /// Returns the input variables of the compute shader from which built-ins are copied.
    pub(super) fn interface(self) -> Vec<Id> {
        let tessellation = self.tessellation.into_iter().flat_map(Tessellation::interface);
        let geometry = self.geometry.into_iter().flat_map(|stage| stage.inputs.interface);
        tessellation.chain(geometry).collect()
    }
}

/// The capabilities that apply only to tessellation and geometry shaders, so the compute shader
/// does not need them.
const STAGE_CAPABILITIES: [Capability; 5] = [
    Capability::Geometry,
    Capability::GeometryPointSize,
    Capability::GeometryStreams,
    Capability::Tessellation,
    Capability::TessellationPointSize,
];

/// Removes the execution modes of the entry point `entry` that apply only to its stage, and the
/// execution modes that an earlier stage in `before` also declares. The other modes remain, because
/// they are valid in a compute shader.
///
/// # Errors
/// [`LowerError::FloatControls`].
fn merge_modes(
    module: &mut Module,
    before: &[&EntryPoint],
    entry: &EntryPoint,
) -> Result<(), LowerError> {
    let declarations = Declarations::without_annotations(module);
    // Operands that are ids of constants are compared by the values of the constants.
    let mode_of = |i: Instruction<'_>| {
        let mut mode = i.operands().get(1..)?.to_vec();
        if i.is(Op::ExecutionModeId) {
            for word in mode.iter_mut().skip(1) {
                *word = declarations.constant(Id(*word)).unwrap_or(*word);
            }
        }
        Some(mode)
    };
    let is_before = |i: &Instruction<'_>| before.iter().any(|entry| entry.function == i.id(0));
    let of_others = module.section(Section::ExecutionModes).filter(is_before);
    let modes: FxHashSet<Vec<u32>> = of_others.filter_map(mode_of).collect();
    let mut conflict = None;
    module.retain(Section::ExecutionModes, |i| {
        let (true, Some(mode)) = (i.id(0) == entry.function, mode_of(i)) else { return true };
        if modes.iter().any(|other| contradict(&mode, other)) {
            conflict = ExecutionMode::from_u32(i.operand(1));
        }
        !is_of_stage(i.operand(1)) && !modes.contains(&mode)
    });
    match conflict {
        Some(mode) => Err(LowerError::FloatControls { mode }),
        None => Ok(()),
    }
}

/// Whether `a` and `b` are floating-point execution modes that exclude each other in one shader.
fn contradict(a: &[u32], b: &[u32]) -> bool {
    use ExecutionMode::*;
    let mode = |words: &[u32]| words.first().and_then(|mode| ExecutionMode::from_u32(*mode));
    let (Some(mode_a), Some(mode_b)) = (mode(a), mode(b)) else { return false };
    match (mode_a, mode_b) {
        // The operand of these modes is the width of the numbers.
        (DenormPreserve, DenormFlushToZero)
        | (DenormFlushToZero, DenormPreserve)
        | (RoundingModeRTE, RoundingModeRTZ)
        | (RoundingModeRTZ, RoundingModeRTE) => a.get(1) == b.get(1),
        // The first operand of this mode is the type of the numbers.
        (FPFastMathDefault, FPFastMathDefault) => a.get(1) == b.get(1) && a != b,
        // FPFastMathDefault replaces ContractionOff and SignedZeroInfNanPreserve, and must not be
        // declared together with them.
        (FPFastMathDefault, ContractionOff | SignedZeroInfNanPreserve)
        | (ContractionOff | SignedZeroInfNanPreserve, FPFastMathDefault) => true,
        _ => false,
    }
}

fn is_of_stage(mode: u32) -> bool {
    use ExecutionMode::*;
    ExecutionMode::from_u32(mode).is_some_and(|mode| {
        mode == PointMode
            || (Invocations..=VertexOrderCcw).contains(&mode)
            || (InputPoints..=OutputTriangleStrip).contains(&mode)
    })
}

/// Decorates variables as `Aliased` if several stages have a variable for the same descriptor, and
/// one of these stages may write to the descriptor. A compiler may assume that variables without this
/// decoration do not share memory.
fn alias_shared_bindings(module: &mut Module) {
    let declarations = Declarations::of(module);
    let is_storage = |i: &Instruction<'_>| i.is(Op::TypeImage) && i.operand(6) == STORAGE_IMAGE;
    let images: FxHashSet<Id> =
        module.section(Section::Declarations).filter(is_storage).map(|i| i.id(0)).collect();
    let storages =
        [StorageClass::UniformConstant, StorageClass::Uniform, StorageClass::StorageBuffer];
    let variables = || storages.iter().flat_map(|storage| declarations.variables(*storage));
    let binding = |v: &Variable| {
        let of = |decoration| declarations.decoration_value(v.id, decoration);
        Some((of(Decoration::DescriptorSet)?, of(Decoration::Binding)?))
    };
    let mut bindings: FxHashMap<(u32, u32), Vec<&Variable>> = FxHashMap::default();
    for variable in variables() {
        if let Some(binding) = binding(variable) {
            bindings.entry(binding).or_default().push(variable);
        }
    }
    let is_written = |v: &&Variable| is_writable(&declarations, &images, v);
    let shared = bindings.values().filter(|all| all.len() > 1 && all.iter().any(is_written));
    let of_shared = |v: &&Variable| [v.id, declarations.innermost(v.pointee)];
    let targets: FxHashSet<Id> = shared.flatten().flat_map(of_shared).collect();
    let restrict = [Decoration::Restrict, Decoration::Aliased].map(|d| d as u32);
    module.retain(Section::Annotations, |i| {
        let is_about = decoration_of(i).is_some_and(|decoration| restrict.contains(&decoration));
        !(is_about && targets.contains(&i.id(0)))
    });
    for variable in variables().filter(|v| targets.contains(&v.id)) {
        let operands = [variable.id.0, Decoration::Aliased as u32];
        module.push(Section::Annotations, Op::Decorate, &operands);
    }
}

/// `Sampled` of an `OpTypeImage` that is accessed without a sampler.
const STORAGE_IMAGE: u32 = 2;

/// Whether a shader may write to the descriptor of a variable. `images` are the types of storage
/// images.
fn is_writable(declarations: &Declarations, images: &FxHashSet<Id>, variable: &Variable) -> bool {
    if declarations.decoration(variable.id, Decoration::NonWritable).is_some() {
        return false;
    }
    let ty = declarations.innermost(variable.pointee);
    let is_buffer = variable.storage == StorageClass::StorageBuffer as u32
        || declarations.decoration(ty, Decoration::BufferBlock).is_some();
    match declarations.ty(ty) {
        Some(Type::Struct { members }) if is_buffer => {
            let is_constant = |member| {
                declarations.member_decoration(ty, member, Decoration::NonWritable).is_some()
            };
            !(0u32..).zip(members).all(|(member, _)| is_constant(member))
        }
        _ => images.contains(&ty),
    }
}
