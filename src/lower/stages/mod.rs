//! The stages of a pipeline, as one module: a vertex shader, and the geometry shader that follows it.
//!
//! Each stage is isolated, and both are merged into one module ([`merge`]). The passes of
//! [`compute`](super::compute) then see one module with two entry points. [`passing`] copies the outputs of
//! one stage to the inputs of the next, and [`emission`] replaces the instructions with which a geometry
//! shader emits vertices by calls.

mod emission;
mod followed;
mod guard;
mod leaves;
mod passing;
mod resets;
mod walk;

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Capability, Decoration, ExecutionMode, Op, StorageClass};

pub(super) use self::emission::replace_emission;
pub use self::emission::{GeometryInput, LoweredGeometry};
pub(super) use self::guard::guard_side_effects;
use self::passing::Passing;
use self::resets::Resets;
use super::compute::Options;
use super::functions::StubName;
use super::inputs::Inputs;
use super::interface::decoration_of;
use super::store::StoredOutputs;
use super::strip::strip;
use super::undefined::Undefined;
use super::{LowerError, Shader};
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::{EntryPoint, isolate};
use crate::spirv::link::{Linker, Stub};
use crate::spirv::merge::merge;
use crate::spirv::raise::raise;
use crate::spirv::static_use::StaticUse;
use crate::spirv::{Id, Instruction, Module, Section};
use crate::vertex_input::VertexInput;

/// The stages that a capture runs.
pub(super) struct Stages {
    pub(super) module: Module,
    pub(super) vertex: EntryPoint,
    /// The geometry shader, if it is the captured stage.
    pub(super) geometry: Option<(EntryPoint, LoweredGeometry)>,
    /// The variables and functions that all stages use.
    pub(super) used: StaticUse,
    /// The `SpecId`s that the application's pipelines may still set.
    pub(super) spec_ids: BTreeSet<u32>,
}

impl Stages {
    /// Reads and merges the shader and the vertex shader before it.
    ///
    /// # Errors
    /// [`LowerError`]: a module is invalid, it has no such shader, or the stages do not match.
    pub(super) fn of(shader: &Shader<'_>, options: &Options<'_>) -> Result<Self, LowerError> {
        let Some(vertex) = options.vertex_shader else {
            let (mut module, spec_ids) = shader.specialized()?;
            let mut vertex = shader.vertex_shader(&module)?;
            let used = isolate(&mut module, &mut vertex);
            return Ok(Self { module, vertex, geometry: None, used, spec_ids });
        };
        let (mut module, mut spec_ids) = vertex.specialized()?;
        let mut vertex = vertex.vertex_shader(&module)?;
        isolate(&mut module, &mut vertex);
        // Only the last stage captures.
        let declarations = Declarations::of(&module);
        strip(&mut module, &declarations);

        let (mut other, more_spec_ids) = shader.specialized()?;
        spec_ids.extend(more_spec_ids);
        let mut entry = shader.geometry_shader(&other)?;
        isolate(&mut other, &mut entry);
        raise(&mut module, &mut vertex, &other);
        raise(&mut other, &mut entry, &module);
        let geometry = merge(&mut module, &other, &entry)?;
        let modes = LoweredGeometry::of(&module, &geometry)?;
        merge_modes(&mut module, &vertex, &geometry)?;
        alias_shared_bindings(&mut module);
        for capability in GEOMETRY_CAPABILITIES {
            module.remove_capability(capability);
        }
        module.add_capability(Capability::Shader);
        let mut used = StaticUse::of(&module, vertex.function);
        used.unite(StaticUse::of(&module, geometry.function));
        Ok(Self { module, vertex, geometry: Some((geometry, modes)), used, spec_ids })
    }

    /// The captured stage.
    pub(super) fn captured(&self) -> &EntryPoint {
        self.geometry.as_ref().map_or(&self.vertex, |(geometry, _)| geometry)
    }

    /// Removes the entry point of the vertex shader. That of the captured stage gets the variables of both.
    pub(super) fn join(&mut self) -> EntryPoint {
        let mut entry = self.captured().clone();
        if self.geometry.is_some() {
            entry.interface.extend(&self.vertex.interface);
            let captured = entry.clone();
            self.module.retain(Section::EntryPoints, |i| captured.is(i));
        }
        entry
    }
}

/// A geometry shader, in a module together with the vertex shader before it.
pub(super) struct Geometry<'a> {
    function: Id,
    pub(super) modes: LoweredGeometry,
    declarations: &'a Declarations,
    passing: Passing,
    /// The inputs that have one value per run, not per vertex.
    inputs: Inputs<'a>,
    vertex_resets: Resets,
    resets: Resets,
    vertex_undefined: Undefined,
}

impl<'a> Geometry<'a> {
    /// Finds out which outputs are passed on. Undefined values of the vertex shader are replaced.
    ///
    /// # Errors
    /// [`LowerError::PassedType`], [`LowerError::NoLocation`].
    pub(super) fn new(
        module: &mut Module,
        declarations: &'a Declarations,
        vertex: &EntryPoint,
        geometry: &EntryPoint,
        modes: LoweredGeometry,
        vertex_input: &'a VertexInput,
    ) -> Result<Self, LowerError> {
        let vertex_undefined = Undefined::of(module, declarations, vertex, &[]);
        vertex_undefined.define_values(module, declarations);
        let is_per_vertex =
            |v: &Variable| matches!(declarations.ty(v.pointee), Some(Type::Array { .. }));
        let inputs = || {
            let inputs = declarations.variables(StorageClass::Input);
            inputs.filter(|variable| geometry.interface.contains(&variable.id))
        };
        let per_vertex = inputs().filter(|v| is_per_vertex(v));
        Ok(Self {
            function: geometry.function,
            modes,
            declarations,
            passing: Passing::new(declarations, vertex, per_vertex)?,
            inputs: Inputs::of_geometry(
                declarations,
                inputs().filter(|v| !is_per_vertex(v)),
                vertex_input,
            ),
            vertex_resets: Resets::of(module, declarations, vertex, true),
            resets: Resets::of(module, declarations, geometry, false),
            vertex_undefined,
        })
    }

    /// Generates the code that runs before the vertex shader.
    pub(super) fn before_vertex(
        &self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        outputs: &StoredOutputs<'_>,
    ) {
        self.vertex_resets.store(builder, code);
        self.vertex_undefined.clear(builder, code, outputs);
    }

    /// The body of a stub; `None` if the stub is not one of geometry shaders.
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
        Ok(Some(match name {
            StubName::InputVertices => {
                Code::returning(linker.builder.constant(self.modes.input.vertices()))
            }
            StubName::OutputVertices => {
                Code::returning(linker.builder.constant(self.modes.output_vertices))
            }
            StubName::AlwaysEmitted => {
                let primitives = self.modes.primitives.unwrap_or_default();
                Code::returning(linker.builder.constant(primitives))
            }
            StubName::GeometryInvocations => {
                Code::returning(linker.builder.constant(self.modes.invocations))
            }
            StubName::PassVertex => {
                let [slot] = stub.parameters()?;
                self.passing.pass_vertex(&mut linker.builder, self.declarations, slot)
            }
            StubName::SetGeometryInputs => {
                let [primitive, invocation] = stub.parameters()?;
                self.inputs.set_for_geometry(linker, primitive, invocation)?
            }
            StubName::ShadeGeometry => {
                let builder = &mut linker.builder;
                let mut code = Code::default();
                self.resets.store(builder, &mut code);
                undefined.clear(builder, &mut code, outputs);
                let void = builder.void();
                code.call(builder, void, self.function, &[]);
                code.push(Op::Return, &[]);
                code
            }
            _ => return Ok(None),
        }))
    }

    /// Input variables of the compute shader that built-ins are copied from.
    pub(super) fn interface(self) -> Vec<Id> {
        self.inputs.interface
    }
}

/// Capabilities that only describe what a geometry shader does.
const GEOMETRY_CAPABILITIES: [Capability; 3] =
    [Capability::Geometry, Capability::GeometryPointSize, Capability::GeometryStreams];

/// Keeps the execution modes that apply in any stage, without duplicates.
///
/// # Errors
/// [`LowerError::FloatControls`].
fn merge_modes(
    module: &mut Module,
    vertex: &EntryPoint,
    geometry: &EntryPoint,
) -> Result<(), LowerError> {
    let declarations = Declarations::without_annotations(module);
    // Parameters that are constants are compared by their values.
    let mode_of = |i: Instruction<'_>| {
        let mut mode = i.operands().get(1..)?.to_vec();
        if i.is(Op::ExecutionModeId) {
            for word in mode.iter_mut().skip(1) {
                *word = declarations.constant(Id(*word)).unwrap_or(*word);
            }
        }
        Some(mode)
    };
    let of_vertex = module.section(Section::ExecutionModes).filter(|i| i.id(0) == vertex.function);
    let modes: FxHashSet<Vec<u32>> = of_vertex.filter_map(mode_of).collect();
    let mut conflict = None;
    module.retain(Section::ExecutionModes, |i| {
        let (true, Some(mode)) = (i.id(0) == geometry.function, mode_of(i)) else { return true };
        if modes.iter().any(|other| contradict(&mode, other)) {
            conflict = ExecutionMode::from_u32(i.operand(1));
        }
        !is_of_geometry(i.operand(1)) && !modes.contains(&mode)
    });
    match conflict {
        Some(mode) => Err(LowerError::FloatControls { mode }),
        None => Ok(()),
    }
}

/// Whether one shader cannot have both of these modes for floating-point numbers.
fn contradict(a: &[u32], b: &[u32]) -> bool {
    use ExecutionMode::*;
    let mode = |words: &[u32]| words.first().and_then(|mode| ExecutionMode::from_u32(*mode));
    let (Some(mode_a), Some(mode_b)) = (mode(a), mode(b)) else { return false };
    match (mode_a, mode_b) {
        // Modes for numbers of one width.
        (DenormPreserve, DenormFlushToZero)
        | (DenormFlushToZero, DenormPreserve)
        | (RoundingModeRTE, RoundingModeRTZ)
        | (RoundingModeRTZ, RoundingModeRTE) => a.get(1) == b.get(1),
        // Modes for numbers of one type.
        (FPFastMathDefault, FPFastMathDefault) => a.get(1) == b.get(1) && a != b,
        // FPFastMathDefault replaces these modes, and must not be declared with them.
        (FPFastMathDefault, ContractionOff | SignedZeroInfNanPreserve)
        | (ContractionOff | SignedZeroInfNanPreserve, FPFastMathDefault) => true,
        _ => false,
    }
}

fn is_of_geometry(mode: u32) -> bool {
    use ExecutionMode::*;
    matches!(
        ExecutionMode::from_u32(mode),
        Some(
            InputPoints
                | InputLines
                | InputLinesAdjacency
                | Triangles
                | InputTrianglesAdjacency
                | OutputPoints
                | OutputLineStrip
                | OutputTriangleStrip
                | Invocations
                | OutputVertices
        )
    )
}

/// Decorates descriptors as `Aliased` if both stages access them and may write them.
///
/// Each stage has its own variable for the same memory. A compiler may assume that variables do not share
/// memory unless they are `Aliased`.
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

/// Whether a shader may write to a descriptor through a variable. `images` are the types of storage images.
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
