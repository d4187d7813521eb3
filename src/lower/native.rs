//! Capture by the driver's own `VK_EXT_transform_feedback`, of a list in place of decorations if need be.
//!
//! A driver captures what is decorated: whole variables, and whole members of blocks, each tightly packed
//! from its `Offset` on. A list says which dwords go where, whatever they belong to. So
//!
//! - captures are merged, and where they cover all of a variable as its decoration would lay it out, that
//!   variable is decorated: it is *inlined*, and costs nothing;
//! - of all else, dwords that lie side by side in a record become an output of their own, a `uint` or a
//!   vector of up to four, which a new entry point writes after the shader's body: *explicit* outputs.
//!   These take locations, of which a device has few.
//!
//! Structures that have padding before 64-bit members are not inlined: there drivers disagree.
//! [`split_blocks`](super::split_blocks) first makes variables of their members, and then they are. Nor are
//! structures that a buffer has too, whose members' offsets are the buffer's, arrays of blocks (one decoration
//! would fill several buffers), blocks whose type another variable has too, and 64-bit components that the list
//! does not align to 8 bytes.
//!
//! What a geometry shader puts out is undefined once a vertex was emitted, so that there explicit outputs are
//! written before each vertex, each in its own vertex stream.
//!
//! The limit on output components counts those of built-ins, and the locations up to the last one; gaps
//! between the shader's own locations are filled first.

mod explicit;
mod inline;

use std::ops::Range;

use spirv::{Capability, ExecutionMode, ExecutionModel, Op};

use super::interface;
use super::push_constants;
use super::strip::strip;
use super::undefined::Undefined;
use super::uses::Uses;
use super::{Captures, LowerError, Lowered, LoweredKind, Shader};
use crate::capture::{CaptureList, Layout, built_in_components, locations_used};
use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::{CAPTURED_STAGES, EntryPoint, isolate, shares_function};
use crate::spirv::specialization::SpecializationConstant;
use crate::spirv::static_use::StaticUse;
use crate::spirv::{Instruction, Module, Section};

/// The least `maxVertexOutputComponents` that the specification allows
/// ([required limits](https://docs.vulkan.org/spec/latest/chapters/limits.html#limits-minmax)).
pub const MIN_OUTPUT_COMPONENTS: u32 = 64;

/// [`lower_within`] [`MIN_OUTPUT_COMPONENTS`]: a module for any device.
///
/// # Errors
/// As [`lower_within`].
pub fn lower(shader: &Shader<'_>) -> Result<Lowered, LowerError> {
    lower_within(shader, MIN_OUTPUT_COMPONENTS)
}

/// Takes a shader for the driver's own capture: as it is but for specialisation constants, if
/// its decorations say what is captured;
/// decorated anew, as [`emit`] does it, for a list. `max_output_components` is
/// [`EmitOptions::max_output_components`], for a vertex shader that of
/// [`runtime::Limits`](crate::runtime::Limits); only a list can need more than there are.
///
/// # Errors
/// [`LowerError`]: no module, no such shader, captures that contradict it; with a list also what
/// [`emit`] says.
#[tracing::instrument(name = "lower", level = "debug", skip_all, fields(backend = "native"))]
pub fn lower_within(
    shader: &Shader<'_>,
    max_output_components: u32,
) -> Result<Lowered, LowerError> {
    if let Captures::List(list) = shader.captures {
        return Ok(decorate(shader, list, max_output_components)?.lowered);
    }
    let (module, entry) = captured_shader(shader)?;
    let declarations = Declarations::of(&module);
    let layout = shader.layout(&module, &declarations, &entry)?;
    let report = Report::of(&module, &declarations, &entry, &layout)?;
    Ok(report.lowered(module.words(), entry, layout))
}

/// The module of a shader, and the shader in it, of a stage that is captured.
fn captured_shader(shader: &Shader<'_>) -> Result<(Module, EntryPoint), LowerError> {
    let module = shader.module()?;
    let entry = shader.find(&module)?;
    match CAPTURED_STAGES.contains(&entry.model) {
        true => Ok((module, entry)),
        false => Err(LowerError::Stage(entry.model)),
    }
}

/// What a shader does beside what is captured.
struct Report {
    uses: Uses,
    push_constants: Range<u32>,
    undefined: Undefined,
}

impl Report {
    fn of(
        module: &Module,
        declarations: &Declarations,
        entry: &EntryPoint,
        layout: &Layout,
    ) -> Result<Self, LowerError> {
        let used = StaticUse::of(module, entry.function);
        let mut undefined = Undefined::of(module, declarations, entry, layout);
        if entry.model == ExecutionModel::Geometry {
            // What counts is what was written when a vertex is emitted, not when the shader returns.
            undefined.outputs.clear();
        }
        Ok(Self {
            uses: Uses::of(module, declarations, &used),
            push_constants: push_constants::block_range(declarations, &used)?,
            undefined,
        })
    }

    fn lowered(self, words: Vec<u32>, entry: EntryPoint, layout: Layout) -> Lowered {
        let Self { uses, push_constants, undefined } = self;
        Lowered {
            kind: LoweredKind::Native,
            stage: entry.model,
            words,
            entry_point: entry.name,
            layout,
            has_side_effects: uses.has_side_effects,
            descriptor_sets: uses.descriptor_sets,
            push_constants,
            unwritten: undefined.outputs,
            reads_undefined: undefined.has_values,
        }
    }
}

/// What [`emit`] is to decorate.
#[derive(Debug, Clone, Copy)]
pub struct EmitOptions<'a> {
    /// The stage, as in [`Shader::stage`].
    pub stage: Option<ExecutionModel>,
    /// The shader's name; `None` takes the only one of the stage.
    pub entry_point: Option<&'a str>,
    /// What is captured.
    pub list: &'a CaptureList,
    /// The device's `maxVertexOutputComponents`, `maxTessellationEvaluationOutputComponents`, or of a geometry
    /// shader `maxGeometryOutputComponents` and, if that is less, `maxGeometryTotalOutputComponents` for each of its
    /// vertices (`OutputVertices`).
    pub max_output_components: u32,
    /// See [`Shader::specialization`].
    pub specialization: &'a [SpecializationConstant<'a>],
}

impl<'a> EmitOptions<'a> {
    /// The only shader, on a device that has no more than it must.
    pub const fn new(list: &'a CaptureList) -> Self {
        Self {
            stage: None,
            entry_point: None,
            list,
            max_output_components: MIN_OUTPUT_COMPONENTS,
            specialization: &[],
        }
    }
}

/// A module decorated as a list says.
#[derive(Debug, Clone)]
pub struct Emitted {
    /// The shader. Its layout is in terms of the shader's own outputs.
    pub lowered: Lowered,
    /// Variables and members of blocks that were decorated.
    pub inlined: u32,
    /// Outputs that were added.
    pub explicit: u32,
    /// The locations that were added, in ascending order.
    pub locations: Vec<u32>,
    /// Output components in use, as [`EmitOptions::max_output_components`] counts them.
    pub output_components: u32,
}

/// Decorates a shader for the driver's own capture of a list. What capture decorations the module has are
/// removed, those of other entry points too.
///
/// # Errors
/// [`LowerError`]: no module, no such shader, another stage, a list that [`Layout::from_list`] refuses, or
/// [`LowerError::LocationBudget`].
#[tracing::instrument(level = "debug", skip_all)]
pub fn emit(words: &[u32], options: &EmitOptions<'_>) -> Result<Emitted, LowerError> {
    let &EmitOptions { stage, entry_point, list, max_output_components, specialization } = options;
    let captures = Captures::List(list);
    let shader = Shader { words, stage, entry_point, captures, specialization };
    decorate(&shader, list, max_output_components)
}

fn decorate(
    shader: &Shader<'_>,
    list: &CaptureList,
    max_output_components: u32,
) -> Result<Emitted, LowerError> {
    let (mut module, mut entry) = captured_shader(shader)?;
    // Neither an execution mode nor a call can be of one of two entry points that are one function.
    if shares_function(&module, &entry) {
        isolate(&mut module, &mut entry);
    }
    let declarations = Declarations::of(&module);
    let layout = Layout::from_list(&declarations, &entry, list)?;
    layout.trace(&entry.name);
    let report = Report::of(&module, &declarations, &entry, &layout)?;
    let (inlined, rest) = inline::inline(&declarations, &entry, &layout);

    strip(&mut module, &declarations);
    module.add_capability(Capability::TransformFeedback);
    for output in &inlined {
        output.decorate(&mut module);
    }
    let mut function = entry.function;
    let mut added = explicit::Added::default();
    if !rest.outputs.is_empty() {
        // Functions that emit vertices are changed, and may be those of another geometry shader too.
        if entry.model == ExecutionModel::Geometry && has_others(&module, entry.model) {
            isolate(&mut module, &mut entry);
        }
        let shader =
            explicit::ExplicitShader { declarations: &declarations, entry: &entry, rest: &rest };
        (function, added) = shader.add_outputs(&mut module, max_output_components)?;
        let mut io = entry.interface.clone();
        io.extend(&added.variables);
        interface::move_execution_modes(&mut module, &entry, function);
        let model = entry.model;
        interface::set_entry_point(&mut module, &declarations, &entry, model, function, io)?;
    }
    let operands = [function.0, ExecutionMode::Xfb as u32];
    module.push(Section::ExecutionModes, Op::ExecutionMode, &operands);

    tracing::debug!(
        inlined = inlined.len(),
        explicit = added.variables.len(),
        locations = ?added.locations,
        "decorated"
    );
    let used = locations_used(&declarations, &entry);
    let last = used.last().into_iter().chain(&added.locations).max();
    let locations = last.map_or(0, |last| last.saturating_add(1));
    Ok(Emitted {
        inlined: inlined.len() as u32,
        explicit: added.variables.len() as u32,
        locations: added.locations,
        output_components: locations
            .saturating_mul(4)
            .saturating_add(built_in_components(&declarations, &entry)),
        lowered: report.lowered(module.words(), entry, layout),
    })
}

/// Whether a module has several shaders of a stage.
fn has_others(module: &Module, model: ExecutionModel) -> bool {
    let is_of_stage = |i: &Instruction<'_>| i.is(Op::EntryPoint) && i.operand(0) == model as u32;
    module.section(Section::EntryPoints).filter(is_of_stage).nth(1).is_some()
}
