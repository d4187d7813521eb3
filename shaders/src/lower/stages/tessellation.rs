//! This module generates the code that runs tessellation shaders for a patch.
//!
//! One invocation of the compute shader runs all invocations of the control shader for a patch, one after the other.
//! If the control shader has barriers, all its invocations run up to a barrier before any of them continues
//! ([`phases`](super::phases)). Then the evaluation shader runs for each vertex of the primitives that the patch is
//! divided into (`shaders/patches.wgsl`).

use spirv::{BuiltIn, Op, StorageClass};

use crate::lower::LowerError;
use crate::lower::functions::{Function, StubName};
use crate::lower::interface::built_in;
use crate::lower::stages::SharedPatch;
use crate::lower::stages::modes::{LoweredTessellation, MAX_PATCH_SIZE};
use crate::lower::stages::passing::{Interface, Passing, is_array, is_per_patch};
use crate::lower::stages::phases::Phases;
use crate::lower::stages::resets::Resets;
use crate::lower::stages::stage::{Stage, StageContext};
use crate::lower::store::StoredOutputs;
use crate::lower::undefined::Undefined;
use crate::spirv::declarations::{Declarations, Variable};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::link::{Linker, Stub};
use crate::spirv::{Id, Module};

/// The data from which the stubs for tessellation shaders are generated.
pub(super) struct Tessellation<'a> {
    declarations: &'a Declarations,
    control: Stage<'a>,
    control_undefined: Undefined,
    phases: Option<Phases>,
    /// The values that the control shader's outputs get before its first invocation for a patch.
    cleared: Resets,
    /// The control shader's outputs `TessLevelOuter` and `TessLevelInner`; `None` if it does not
    /// have them.
    outer: Option<Id>,
    inner: Option<Id>,
    /// The copies from outputs of the control shader to inputs of the evaluation shader: those with
    /// one element per control point, and those with one value per patch.
    points: Passing,
    patch: Passing,
    /// The smallest array length of the control shader's outputs and the evaluation shader's inputs: the largest number
    /// of control points that can be passed.
    most_passed: u32,
    evaluation: Stage<'a>,
    /// The copies from the evaluation shader to a geometry shader, and the undefined values of the
    /// evaluation shader. `None` if no geometry shader follows.
    evaluated: Option<(Passing, Undefined)>,
    modes: LoweredTessellation,
    /// The shared memory for the inputs of the evaluation shader, with the elements of several patches: those of control
    /// points, and those of the patch. `None` if there is none.
    shared: Option<[Vec<Id>; 2]>,
}

impl<'a> Tessellation<'a> {
    /// Matches the outputs of the control shader with the inputs of the evaluation shader, and the
    /// outputs of the evaluation shader with the inputs of the geometry shader `behind` it. Also
    /// replaces undefined values by 0 in the stages that are not captured.
    ///
    /// # Errors
    /// [`LowerError::PassedType`], [`LowerError::NoLocation`].
    pub(super) fn new(
        module: &mut Module,
        context: StageContext<'a>,
        [control, evaluation]: [&EntryPoint; 2],
        behind: Option<&EntryPoint>,
        modes: LoweredTessellation,
    ) -> Result<Self, LowerError> {
        let declarations = context.declarations;
        let control_undefined = Undefined::of(module, declarations, control, &[]);
        control_undefined.define_values(module, declarations);
        let is_per_run =
            |v: &Variable| !is_array(declarations, v) && !is_per_patch(declarations, v);
        let mut cleared = Resets::of(module, declarations, control, true);
        let cleared = cleared.take_outputs(declarations);
        let level = |which: BuiltIn| {
            let mut outputs = declarations.variables(StorageClass::Output);
            let is_level = |v: &&Variable| {
                control.interface.contains(&v.id)
                    && built_in(declarations, v.id) == Some(which as u32)
            };
            outputs.find(is_level).map(|v| v.id)
        };
        let mut control_stage = Stage::new(module, context, control, is_per_run);
        // Outputs are reset only once for each patch, because the invocations for a patch write the same outputs.
        control_stage.resets.take_outputs(declarations);
        let mut evaluation_stage = Stage::new(module, context, evaluation, is_per_run);
        let mut evaluated = None;
        if let Some(behind) = behind {
            let undefined = Undefined::of(module, declarations, evaluation, &[]);
            undefined.define_values(module, declarations);
            let from = Interface::per_run(declarations, evaluation, StorageClass::Output);
            let to = Interface::per_vertex(declarations, behind, StorageClass::Input);
            evaluated = Some((Passing::new(declarations, &from, &to)?, undefined));
            evaluation_stage.resets = Resets::of(module, declarations, evaluation, true);
        }
        let [from, to] = [(control, StorageClass::Output), (evaluation, StorageClass::Input)];
        let taken = Interface::per_vertex(declarations, to.0, to.1);
        let given = Interface::per_vertex(declarations, from.0, from.1);
        let most = [&taken, &given].map(|of| of.least_elements(declarations));
        Ok(Self {
            declarations,
            control: control_stage,
            control_undefined,
            phases: None,
            cleared,
            outer: level(BuiltIn::TessLevelOuter),
            inner: level(BuiltIn::TessLevelInner),
            most_passed: most.into_iter().flatten().min().unwrap_or(MAX_PATCH_SIZE),
            points: Passing::new(declarations, &given, &taken)?,
            patch: Passing::new(
                declarations,
                &Interface::per_patch(declarations, from.0, from.1),
                &Interface::per_patch(declarations, to.0, to.1),
            )?,
            evaluation: evaluation_stage,
            evaluated,
            modes,
            shared: None,
        })
    }

    /// The number of control points that the evaluation shader takes.
    fn passed_points(&self) -> u32 {
        self.modes.control_points.min(self.most_passed)
    }

    /// See [`Later::shared_patch`](super::Later::shared_patch).
    pub(super) fn shared(&self) -> Option<SharedPatch> {
        if self.evaluated.is_some() {
            return None;
        }
        let points = self.points.shared_bytes()?.checked_mul(self.passed_points())?;
        let bytes = self.patch.shared_bytes()?.checked_add(points)?;
        let variables = self.points.shared_variables() + self.patch.shared_variables();
        Some(SharedPatch { bytes, variables })
    }

    /// See [`Later::share_patches`](super::Later::share_patches).
    pub(super) fn share(&mut self, builder: &mut Builder<'_>, stagers: u32) {
        let points = self.points.declare_shared(builder, stagers * self.passed_points());
        let patch = self.patch.declare_shared(builder, stagers);
        self.shared = Some([points, patch]);
    }

    /// Sets the phases of the control shader, which are the parts of its code between barriers; `None` if it has no
    /// barriers. The shader's function is called once for each phase of each invocation, and before each call the
    /// variables that it may read before it writes them are set to 0. The variables in [`Phases::kept`] are excluded
    /// from that: they say which phase of which invocation to run, or keep values from one call to the next.
    pub(super) fn set_phases(&mut self, phases: Option<Phases>) {
        if let Some(phases) = &phases {
            self.control_undefined.keep(&phases.kept);
        }
        self.phases = phases;
    }

    /// Generates the body of a stub; `None` if the stub does not belong to tessellation shaders.
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
        let LoweredTessellation { tessellator, control_points, .. } = self.modes;
        let declarations = self.declarations;
        Ok(Some(match name {
            StubName::RunPrimitive => {
                let arguments: [Id; 2] = stub.parameters()?;
                let function = match self.evaluated {
                    Some(_) => Function::RunSliceGeometry,
                    None => Function::RunSlice,
                };
                function.called(linker, &arguments)?
            }
            StubName::InputVertices => returning(linker, Function::PatchControlPoints)?,
            StubName::TessellatorBits => {
                Code::returning(linker.builder.constant(tessellator.bits()))
            }
            StubName::ControlPoints => Code::returning(linker.builder.constant(control_points)),
            StubName::PassedPoints => {
                Code::returning(linker.builder.constant(self.passed_points()))
            }
            StubName::BeginPatch => {
                let mut code = Code::default();
                self.cleared.store(&mut linker.builder, &mut code);
                code.push(Op::Return, &[]);
                code
            }
            StubName::SetControlInputs => {
                let [primitive, invocation, vertices, phase] = stub.parameters()?;
                let given = [
                    (BuiltIn::PrimitiveId, primitive),
                    (BuiltIn::InvocationId, invocation),
                    (BuiltIn::PatchVertices, vertices),
                ];
                let mut code = Code::default();
                if let Some(phases) = &self.phases {
                    code.push(Op::Store, &[phases.phase.0, phase.0]);
                    code.push(Op::Store, &[phases.invocation.0, invocation.0]);
                }
                code.copy(self.control.inputs.set_given(linker, &given)?.words());
                code
            }
            StubName::ControlPhases => {
                let count = self.phases.as_ref().map_or(1, |phases| phases.count);
                Code::returning(linker.builder.constant(count))
            }
            StubName::ShadeControl => self.control.shade(linker, &self.control_undefined, outputs),
            StubName::OuterLevels => level_bits(&mut linker.builder, self.outer, 4),
            StubName::InnerLevels => level_bits(&mut linker.builder, self.inner, 2),
            StubName::PassControlPoint => {
                let [slot] = stub.parameters()?;
                self.points.pass(&mut linker.builder, declarations, Some(slot))
            }
            StubName::PassPatch => self.patch.pass(&mut linker.builder, declarations, None),
            StubName::ShareControlPoint | StubName::TakeControlPoint => {
                let Some([points, _]) = &self.shared else { return Ok(None) };
                let [sharer, slot] = stub.parameters()?;
                let (builder, mut code) = (&mut linker.builder, Code::default());
                let (uint, each) = (builder.uint(), builder.constant(self.passed_points()));
                let first = code.value(builder, Op::IMul, uint, &[sharer.0, each.0]);
                let index = code.value(builder, Op::IAdd, uint, &[first.0, slot.0]);
                let is_taken = name == StubName::TakeControlPoint;
                let copied = self.points.by_shared(
                    builder,
                    declarations,
                    Some(slot),
                    (points, index),
                    is_taken,
                );
                code.copy(copied.words());
                code
            }
            StubName::SharePatch | StubName::TakePatch => {
                let Some([_, patch]) = &self.shared else { return Ok(None) };
                let [sharer] = stub.parameters()?;
                let is_taken = name == StubName::TakePatch;
                let builder = &mut linker.builder;
                self.patch.by_shared(builder, declarations, None, (patch, sharer), is_taken)
            }
            StubName::SetEvaluationInputs => {
                let [primitive, coordinates] = stub.parameters()?;
                let given = [
                    (BuiltIn::PrimitiveId, primitive),
                    (BuiltIn::TessCoord, coordinates),
                    (BuiltIn::PatchVertices, linker.builder.constant(control_points)),
                ];
                self.evaluation.inputs.set_given(linker, &given)?
            }
            StubName::ShadeEvaluation => {
                let own = self.evaluated.as_ref().map(|(_, undefined)| undefined);
                self.evaluation.shade(linker, own.unwrap_or(undefined), outputs)
            }
            StubName::MayBePatches => Code::returning(linker.builder.constant_bool(true)),
            StubName::TessellatedVertices => {
                Code::returning(linker.builder.constant(tessellator.primitive_vertices()))
            }
            StubName::PassEvaluated if let Some((passing, _)) = &self.evaluated => {
                let [slot] = stub.parameters()?;
                passing.pass(&mut linker.builder, declarations, Some(slot))
            }
            _ => return Ok(None),
        }))
    }

    /// Returns the input variables of the compute shader from which built-ins are copied.
    pub(super) fn interface(self) -> impl Iterator<Item = Id> {
        self.control.inputs.interface.into_iter().chain(self.evaluation.inputs.interface)
    }
}

/// Generates the body of a stub that returns the result of a function of the shader library.
fn returning(linker: &mut Linker<'_, '_>, function: Function) -> Result<Code, LowerError> {
    let function = function.id(linker)?;
    let (uint, mut code) = (linker.builder.uint(), Code::default());
    let value = code.call(&mut linker.builder, uint, function, &[]);
    code.push(Op::ReturnValue, &[value.0]);
    Ok(code)
}

/// Generates the body of a stub that returns the bits of `count` tessellation levels. `levels` is
/// the output with the levels; if the shader has none, the levels are 0.
fn level_bits(builder: &mut Builder<'_>, levels: Option<Id>, count: u32) -> Code {
    let mut code = Code::default();
    let (uint, vector) = (builder.uint(), builder.uvec(count));
    let bits: Vec<u32> = (0..count)
        .map(|index| {
            let Some(levels) = levels else { return builder.constant(0).0 };
            let float = builder.declare(Op::TypeFloat, &[32]);
            let pointer = builder.pointer(StorageClass::Private, float);
            let operands = [levels.0, builder.constant(index).0];
            let pointer = code.value(builder, Op::AccessChain, pointer, &operands);
            let level = code.value(builder, Op::Load, float, &[pointer.0]);
            code.value(builder, Op::Bitcast, uint, &[level.0]).0
        })
        .collect();
    let all = code.construct(builder, vector, &bits);
    code.push(Op::ReturnValue, &[all.0]);
    code
}
