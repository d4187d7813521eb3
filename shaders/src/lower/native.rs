//! This module prepares a shader for capture by the driver (`VK_EXT_transform_feedback`), as the
//! shader's decorations or a capture list say.
//!
//! A driver captures variables and members of blocks that are decorated: always as a whole, tightly
//! packed from their `Offset` on. A capture list assigns single dwords to offsets. Lowering
//! implements a list as follows:
//!
//! - If the captured dwords of a variable are the whole variable, in the order in which a driver
//!   would capture it, the variable is decorated. It is *inlined*: its capture costs nothing. The
//!   same applies to members of blocks.
//! - All other captured dwords become additional outputs, the *explicit* outputs: those that are contiguous in a record
//!   become a `uint` or a vector of up to four. A new entry point writes these outputs after it calls the shader.
//!   Explicit outputs take locations, and devices have few locations.
//!
//! The following are not inlined:
//!
//! - structures with padding before 64-bit members, because drivers disagree about the padding. If
//!   `split_blocks` of the package `vkxfb-translators` was called first, the members are variables,
//!   which can be inlined;
//! - structures that a buffer uses too, because the offsets of their members are those in the
//!   buffer;
//! - arrays of blocks, because one decoration would capture to several buffers;
//! - blocks whose type is also the type of another variable;
//! - members of a block of which an earlier member is inlined to another buffer, because a block is captured to one
//!   buffer;
//! - variables and members with 64-bit components, unless their offset and the stride are multiples of 8.
//!
//! After a geometry shader has emitted a vertex, all its outputs are undefined. The explicit
//! outputs that belong to a vertex stream are therefore written before each instruction that emits
//! a vertex to this stream.
//!
//! A device's limit on output components includes the components of built-ins and of all locations up to the last one
//! in use, including unused locations before the last one. Explicit outputs therefore take unused locations between the
//! shader's own ones first.

mod explicit;
mod inline;

use std::ops::Range;

use spirv::{Capability, ExecutionMode, ExecutionModel, Op};

use crate::capture::{CaptureList, Layout, built_in_components, locations_used};
use crate::lower::interface;
use crate::lower::options::DomainOrigin;
use crate::lower::push_constants;
use crate::lower::stages::later_shaders;
use crate::lower::stages::modes::reverse_order;
use crate::lower::strip::strip;
use crate::lower::undefined::Undefined;
use crate::lower::uses::Uses;
use crate::lower::{
    Captures, LowerError, Lowered, LoweredGeometry, LoweredKind, LoweredNative, LoweredStage,
    Shader,
};
use crate::setters;
use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::{CAPTURED_STAGES, EntryPoint, isolate, shares_function};
use crate::spirv::specialization::SpecializationConstant;
use crate::spirv::static_use::StaticUse;
use crate::spirv::{Instruction, Module, Section};

/// The minimum of `maxVertexOutputComponents` in the specification ([required
/// limits](https://docs.vulkan.org/spec/latest/chapters/limits.html#limits-minmax)).
pub const MIN_OUTPUT_COMPONENTS: u32 = 64;

/// The options of a native lowering.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
#[must_use]
pub struct Options<'a> {
    /// The vertex shader of the graphics pipeline, if a `vkxfb::runtime::Pipeline` is to be
    /// created from a tessellation evaluation shader or a geometry shader. Its own captures are removed: the
    /// specification allows captures only in the last of these stages.
    pub vertex_shader: Option<&'a Shader<'a>>,
    /// The tessellation control shader of the graphics pipeline, if the shader to lower is a
    /// tessellation evaluation shader, or a geometry shader that follows tessellation shaders.
    pub control_shader: Option<&'a Shader<'a>>,
    /// The tessellation evaluation shader of the graphics pipeline, if the shader to lower is a
    /// geometry shader that follows tessellation shaders.
    pub evaluation_shader: Option<&'a Shader<'a>>,
    /// The origin of the tessellation domain in the application's pipeline. For
    /// [`LowerLeft`](DomainOrigin::LowerLeft), the lowered shaders declare the opposite order of
    /// vertices, so a pipeline with them has to use Vulkan's default origin.
    pub domain_origin: DomainOrigin,
    /// The device's limit on output components of the captured stage ([`EmitOptions::max_output_components`] says which
    /// limits of Vulkan that are); `vkxfb::runtime::Limits` contains the limit for vertex shaders.
    /// It matters only for capture lists, which may need additional outputs.
    pub max_output_components: u32,
}

impl Options<'_> {
    /// Options for a device with the minimum limits, without shaders before the captured shader.
    pub const fn new() -> Self {
        Self {
            vertex_shader: None,
            control_shader: None,
            evaluation_shader: None,
            domain_origin: DomainOrigin::UpperLeft,
            max_output_components: MIN_OUTPUT_COMPONENTS,
        }
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Options<'a> {
    setters! {
        vertex_shader?: &'a Shader<'a>,
        control_shader?: &'a Shader<'a>,
        evaluation_shader?: &'a Shader<'a>,
        domain_origin: DomainOrigin,
        max_output_components: u32,
    }
}

/// Calls [`lower_with`] with the default options: the module runs on any device.
///
/// # Errors
/// The same errors as [`lower_with`].
pub fn lower(shader: &Shader<'_>) -> Result<Lowered, LowerError> {
    lower_with(shader, &Options::new())
}

/// Lowers a shader for capture by the driver. If its decorations specify what to capture, only specialisation constants
/// are replaced. If nothing is to be captured ([`Captures::Nothing`]), the shader's decorations for captures are
/// removed. For a capture list the shader is decorated as by [`emit`].
///
/// If the options contain a [vertex shader](Options::vertex_shader), the shaders before the
/// captured one are lowered, too, for a `vkxfb::runtime::Pipeline`. Each shader stays a
/// separate module.
///
/// # Errors
/// [`LowerError`]: a module is invalid, or has no such shader; what to capture does not match it; the shaders are not
/// those of consecutive stages, or lack execution modes; for a list also the errors of [`emit`].
#[tracing::instrument(name = "lower", level = "debug", skip_all, fields(backend = "native"))]
pub fn lower_with(shader: &Shader<'_>, options: &Options<'_>) -> Result<Lowered, LowerError> {
    let GraphicsStages { all: mut stages, modes } = GraphicsStages::of(shader, options)?;
    let (Some((module, entry)), Some(geometry)) = (stages.pop(), modes) else {
        return lower_alone(shader, options.max_output_components);
    };
    let words = module.words();
    let shader = Shader { words: &words, stage: Some(entry.model), specialization: &[], ..*shader };
    lower_alone(&shader, options.max_output_components)?.behind(stages, geometry)
}

/// The stages of a graphics pipeline, each a module of its own.
pub(super) struct GraphicsStages {
    /// The stages in order, the captured one last. Empty if no vertex shader is given.
    all: Vec<(Module, EntryPoint)>,
    /// The input and output primitives of the stages after the vertex shader. `None` if there are none.
    pub(super) modes: Option<LoweredGeometry>,
}

impl GraphicsStages {
    /// Reads the shader and the shaders before it.
    ///
    /// # Errors
    /// [`LowerError`]: a module is invalid, it has no such shader, or the stages do not match.
    pub(super) fn of(shader: &Shader<'_>, options: &Options<'_>) -> Result<Self, LowerError> {
        let before = [options.vertex_shader, options.control_shader, options.evaluation_shader];
        let later = later_shaders(before, shader)?;
        let mut all = Vec::new();
        if let Some(vertex) = options.vertex_shader {
            let module = vertex.module()?;
            let entry = vertex.vertex_shader(&module)?;
            all.push((module, entry));
        }
        for (shader, stage) in later {
            let module = shader.module()?;
            let entry = shader.later_shader(&module, stage)?;
            all.push((module, entry));
        }
        if let [_, control, evaluation, ..] = &mut all[..]
            && options.domain_origin == DomainOrigin::LowerLeft
        {
            reverse_order([(&mut control.0, &control.1), (&mut evaluation.0, &evaluation.1)]);
        }
        let later: Vec<_> = all.iter().skip(1).map(|(module, entry)| (module, entry)).collect();
        let modes = LoweredGeometry::of_stages(&later, DomainOrigin::UpperLeft)?;
        Ok(Self { all, modes })
    }
}

fn lower_alone(shader: &Shader<'_>, max_output_components: u32) -> Result<Lowered, LowerError> {
    if let Some(list) = shader.list()? {
        return Ok(decorate(shader, &list, max_output_components)?.lowered);
    }
    let (mut module, entry) = captured_shader(shader)?;
    let declarations = Declarations::of(&module);
    if matches!(shader.captures, Captures::Nothing) {
        strip(&mut module, &declarations);
    }
    let layout = shader.layout_of(&module, &declarations, &entry)?;
    let report = Report::of(&module, &declarations, &entry, &layout)?;
    Ok(report.lowered(module.words(), entry, layout))
}

impl Lowered {
    /// Adds the shaders before the captured one to `self`, with their effects and the resources that they use.
    fn behind(
        mut self,
        stages: Vec<(Module, EntryPoint)>,
        geometry: LoweredGeometry,
    ) -> Result<Self, LowerError> {
        let mut before = Vec::new();
        for (mut module, entry) in stages {
            let declarations = Declarations::of(&module);
            let used = StaticUse::of(&module, entry.function);
            let uses = Uses::of(&module, &declarations, &used);
            self.effects.unite(uses.effects);
            self.descriptor_sets.extend(uses.descriptor_sets);
            self.push_constants =
                hull(self.push_constants, push_constants::block_range(&declarations, &used)?);
            self.reads_undefined |= Undefined::of(&module, &declarations, &entry, &[]).has_values;
            strip(&mut module, &declarations);
            let EntryPoint { model: stage, name: entry_point, .. } = entry;
            before.push(LoweredStage { stage, words: module.words(), entry_point });
        }
        self.descriptor_sets.sort_unstable();
        self.descriptor_sets.dedup();
        self.kind = LoweredKind::Native(LoweredNative { before, geometry: Some(geometry) });
        Ok(self)
    }
}

/// Returns the smallest range that contains both ranges. An empty range is contained in every range.
fn hull(a: Range<u32>, b: Range<u32>) -> Range<u32> {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b,
        (_, true) => a,
        _ => a.start.min(b.start)..a.end.max(b.end),
    }
}

/// Returns the module of a shader and its entry point, or an error if the entry point's stage cannot be captured.
fn captured_shader(shader: &Shader<'_>) -> Result<(Module, EntryPoint), LowerError> {
    let module = shader.module()?;
    let entry = shader.find(&module)?;
    if CAPTURED_STAGES.contains(&entry.model) {
        Ok((module, entry))
    } else {
        Err(LowerError::Stage(entry.model))
    }
}

/// The members of [`Lowered`] that do not depend on how the captures are implemented.
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
        let mut undefined = Undefined::of(module, declarations, entry, &layout.outputs);
        if entry.model == ExecutionModel::Geometry {
            // The analysis does not apply to geometry shaders: a vertex needs only the outputs of its stream, and all
            // outputs become undefined each time that a vertex is emitted.
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
            kind: LoweredKind::Native(LoweredNative::default()),
            stage: entry.model,
            words,
            entry_point: entry.name,
            layout,
            effects: uses.effects,
            descriptor_sets: uses.descriptor_sets,
            push_constants,
            unwritten: undefined.outputs,
            reads_undefined: undefined.has_values,
        }
    }
}

/// The options of [`emit`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
#[must_use]
pub struct EmitOptions<'a> {
    /// The stage of the shader. `None` selects the first of vertex, tessellation evaluation and geometry that the
    /// module has.
    pub stage: Option<ExecutionModel>,
    /// The name of the entry point; `None` selects the only one of the stage.
    pub entry_point: Option<&'a str>,
    /// The outputs to capture.
    pub list: &'a CaptureList,
    /// The device's `maxVertexOutputComponents` or `maxTessellationEvaluationOutputComponents`; for
    /// a geometry shader the lower of two limits: `maxGeometryOutputComponents`, and
    /// `maxGeometryTotalOutputComponents` divided by the shader's `OutputVertices`.
    pub max_output_components: u32,
    /// The values of specialisation constants, which are written into the module ([`Shader::specialization`]).
    pub specialization: &'a [SpecializationConstant<'a>],
}

impl<'a> EmitOptions<'a> {
    /// Options for the only shader of a module, on a device with the minimum limits.
    pub const fn new(list: &'a CaptureList) -> Self {
        Self {
            stage: None,
            entry_point: None,
            list,
            max_output_components: MIN_OUTPUT_COMPONENTS,
            specialization: &[],
        }
    }

    setters! {
        stage?: ExecutionModel,
        entry_point?: &'a str,
        max_output_components: u32,
        specialization: &'a [SpecializationConstant<'a>],
    }
}

/// A module that was decorated for a capture list.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Emitted {
    /// The lowered shader. Its layout refers to the outputs of the original shader, not to added outputs.
    pub lowered: Lowered,
    /// The number of variables and members of blocks that were decorated.
    pub inlined: u32,
    /// The number of outputs that lowering added to the shader.
    pub explicit: u32,
    /// The locations of the added outputs, in ascending order.
    pub locations: Vec<u32>,
    /// The number of output components in use, as counted for
    /// [`EmitOptions::max_output_components`].
    pub output_components: u32,
}

/// Decorates a shader so that the driver captures what a list says. Existing capture decorations
/// are removed from the module, including those of other entry points.
///
/// # Errors
/// [`LowerError`]: the module is invalid, it has no such shader, the stage is not captured,
/// [`Layout::from_list`] refuses the list, or [`LowerError::LocationBudget`].
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
    // If two entry points share a function, an execution mode or a call can't be added to only one
    // of them, so the other entry points are removed.
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
        // Functions that emit vertices are changed. Another geometry shader may use the same
        // functions, so the other entry points are removed.
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

fn has_others(module: &Module, model: ExecutionModel) -> bool {
    let is_of_stage = |i: &Instruction<'_>| i.is(Op::EntryPoint) && i.operand(0) == model as u32;
    module.section(Section::EntryPoints).filter(is_of_stage).nth(1).is_some()
}
