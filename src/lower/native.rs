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
use super::{Backend, Captures, LowerError, Lowered, Shader};
use crate::capture::{CaptureList, Layout, built_in_components, locations_used};
use crate::spirv::Section;
use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::{find_entry_point, find_vertex_shader, isolate, shares_function};
use crate::spirv::specialization::SpecializationConstant;
use crate::spirv::static_use::StaticUse;

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

/// Takes a vertex shader for the driver's own capture: as it is but for specialisation constants, if
/// its decorations say what is captured;
/// decorated anew, as [`emit`] does it, for a list. `max_output_components` is the device's
/// `maxVertexOutputComponents` ([`runtime::Limits`](crate::runtime::Limits)); only a list can need
/// more than there are.
///
/// # Errors
/// [`LowerError`]: no module, no vertex shader, captures that contradict the shader; with a list also what
/// [`emit`] says.
#[tracing::instrument(name = "lower", level = "debug", skip_all, fields(backend = "native"))]
pub fn lower_within(
    shader: &Shader<'_>,
    max_output_components: u32,
) -> Result<Lowered, LowerError> {
    if let Captures::List(list) = shader.captures {
        let mut options = Options { max_output_components, ..Options::new(list) };
        options.entry_point = shader.entry_point;
        options.specialization = shader.specialization;
        return Ok(emit(shader.words, &options)?.lowered);
    }
    let module = shader.module()?;
    let entry = find_vertex_shader(&module, shader.entry_point)?;
    let declarations = Declarations::of(&module);
    let layout = shader.layout(&module, &declarations, &entry)?;
    let used = StaticUse::of(&module, entry.function);
    let uses = Uses::of(&module, &declarations, &used);
    let undefined = Undefined::of(&module, &declarations, &entry, &layout);
    let push_constants = push_constants::block_range(&declarations, &used)?;
    Ok(lowered(module.words(), entry.name, layout, uses, push_constants, undefined))
}

fn lowered(
    words: Vec<u32>,
    entry_point: String,
    layout: Layout,
    uses: Uses,
    push_constants: Range<u32>,
    undefined: Undefined,
) -> Lowered {
    Lowered {
        backend: Backend::Native,
        words,
        entry_point,
        layout,
        spec_ids: None,
        attributes: Vec::new(),
        workgroup_size: 0,
        shared_memory: 0,
        resources: None,
        has_side_effects: uses.has_side_effects,
        descriptor_sets: uses.descriptor_sets,
        push_constants,
        unwritten: undefined.outputs,
        reads_undefined: undefined.has_values,
    }
}

/// What [`emit`] is to decorate.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// `Vertex` or `TessellationEvaluation`.
    pub stage: ExecutionModel,
    /// The shader's name; `None` takes the only one of the stage.
    pub entry_point: Option<&'a str>,
    /// What is captured.
    pub list: &'a CaptureList,
    /// The device's `maxVertexOutputComponents`, or `maxTessellationEvaluationOutputComponents`.
    pub max_output_components: u32,
    /// See [`Shader::specialization`].
    pub specialization: &'a [SpecializationConstant<'a>],
}

impl<'a> Options<'a> {
    /// The only vertex shader, on a device that has no more than it must.
    pub const fn new(list: &'a CaptureList) -> Self {
        Self {
            stage: ExecutionModel::Vertex,
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
    /// Output components in use, as [`Options::max_output_components`] counts them.
    pub output_components: u32,
}

/// Decorates a shader for the driver's own capture of a list. What capture decorations the module has are
/// removed, those of other entry points too.
///
/// # Errors
/// [`LowerError`]: no module, no such shader, another stage, a list that [`Layout::from_list`] refuses, or
/// [`LowerError::LocationBudget`].
#[tracing::instrument(level = "debug", skip_all)]
pub fn emit(words: &[u32], options: &Options<'_>) -> Result<Emitted, LowerError> {
    if ![ExecutionModel::Vertex, ExecutionModel::TessellationEvaluation].contains(&options.stage) {
        return Err(LowerError::Stage(options.stage));
    }
    let specialization = options.specialization;
    let mut module = Shader { specialization, ..Shader::new(words) }.module()?;
    let mut entry = find_entry_point(&module, options.stage, options.entry_point)?;
    // Neither an execution mode nor a call can be of one of two entry points that are one function.
    if shares_function(&module, &entry) {
        isolate(&mut module, &mut entry);
    }
    let used = StaticUse::of(&module, entry.function);
    let declarations = Declarations::of(&module);
    let layout = Layout::from_list(&declarations, &entry, options.list)?;
    layout.trace(&entry.name);
    let uses = Uses::of(&module, &declarations, &used);
    let push_constants = push_constants::block_range(&declarations, &used)?;
    let undefined = Undefined::of(&module, &declarations, &entry, &layout);
    let (inlined, rest) = inline::inline(&declarations, &entry, &layout);

    strip(&mut module, &declarations);
    module.add_capability(Capability::TransformFeedback);
    for target in &inlined {
        target.decorate(&mut module);
    }
    let mut function = entry.function;
    let mut added = explicit::Added::default();
    if !rest.outputs.is_empty() {
        let mut io = entry.interface.clone();
        (function, added) =
            explicit::add_outputs(&mut module, &declarations, &entry, &rest, options)?;
        io.extend(&added.variables);
        interface::move_execution_modes(&mut module, &entry, function);
        interface::set_entry_point(
            &mut module,
            &declarations,
            &entry,
            options.stage,
            function,
            io,
        )?;
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
        lowered: lowered(module.words(), entry.name, layout, uses, push_constants, undefined),
    })
}
