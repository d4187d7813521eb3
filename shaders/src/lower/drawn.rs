//! This module merges a vertex shader and a geometry shader into a vertex shader, for devices without geometry shaders:
//! the driver draws a list of the primitives that the geometry shader may emit.
//!
//! The entry point is `xfb_drawn` of `shaders/drawn.wgsl`. The invocation for a vertex of the list runs both shaders for
//! an input primitive, as captures do (`shaders/geometry.wgsl`), and keeps the outputs of one emitted vertex. So no
//! compute shader runs before the draw, and no memory is needed for what the shaders emit.
//!
//! Inputs, and the outputs of both shaders, become `Private`, as in [`compute`]. The outputs of the
//! geometry shader have copies in `Output`, with the same locations, built-ins and decorations (`outputs`). The merged
//! shader has no push constants: its parameters are in memory, and their address is a vertex attribute.

pub mod fragment;
mod list;
mod locations;
mod outputs;

use std::ops::Range;

use spirv::{BuiltIn, Decoration, ExecutionModel, Op, StorageClass};

use self::list::List;
pub use self::list::{StripIndices, Unindexed};
pub use self::locations::output_locations;
use self::outputs::{DrawnOutputs, OutputPlan};
use crate::lower::access::User;
use crate::lower::compute::{self, strip_interface};
use crate::lower::explicit_layout;
use crate::lower::functions::{DrawnStub, Function, StubName};
use crate::lower::inputs::Inputs;
use crate::lower::interface;
use crate::lower::library::{CaptureStubs, Shading, free_spec_ids, library};
use crate::lower::push_constants::PushConstants;
use crate::lower::resources::{Memory, ResourcePlan, Widths};
use crate::lower::stages::{Emission, Later, Output, Stages, emission, replace_emission};
use crate::lower::store::StoredOutputs;
use crate::lower::sysvals::SysvalsSource;
use crate::lower::undefined::Undefined;
use crate::lower::uses::Uses;
use crate::lower::widen::INTERFACE;
use crate::lower::{
    Captures, LowerError, LoweredAttribute, LoweredGeometry, Shader, SpecIds, WideAccesses,
};
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::find_entry_point;
use crate::spirv::link::{Define, Linker, Stub};
use crate::spirv::optimize::optimize;
use crate::spirv::{Id, Module};
use crate::vertex_input::VertexInput;

/// The location of the only vertex attribute of a drawn shader: two dwords, the address of the
/// [`Sysvals`](crate::sysval::Sysvals) of the draw, low dword first. It must be the same for all vertices and instances.
pub const PARAMETERS_LOCATION: u32 = 0;

/// The options of [`lower`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
#[must_use]
pub struct Options<'a> {
    /// The vertex shader of the graphics pipeline. Its transform feedback decorations are ignored.
    pub vertex_shader: &'a Shader<'a>,
    /// The vertex input state of the graphics pipeline.
    pub vertex_input: &'a VertexInput,
    /// Whether vertex buffers may be bound with offsets or strides with which attributes are not aligned to their
    /// components: [`compute::Options::unaligned_attributes`].
    pub unaligned_attributes: bool,
    /// Whether vertex shaders may write `Layer` and `ViewportIndex` (`shaderOutputLayer` and
    /// `shaderOutputViewportIndex`). Otherwise everything is drawn to layer 0 and viewport 0.
    pub layer_outputs: bool,
    /// The output to which the geometry shader's `PrimitiveId` is written, if the fragment shader reads it:
    /// [`fragment::lower`] returns it. It is 0 if the geometry shader does not write its `PrimitiveId`.
    pub primitive_id: Option<fragment::PrimitiveIdInput>,
    /// Whether the list has no indices in any case: [`Drawn::indices`] is [`Unindexed::Requested`]. An indirect draw of an
    /// unknown number of vertices needs such a list, because an index list has an end.
    pub unindexed: bool,
}

impl<'a> Options<'a> {
    /// Options for a pipeline whose attributes are aligned, on a device without layers in vertex shaders, with a fragment
    /// shader that does not read `PrimitiveId`.
    pub const fn new(vertex_shader: &'a Shader<'a>, vertex_input: &'a VertexInput) -> Self {
        Self {
            vertex_shader,
            vertex_input,
            unaligned_attributes: false,
            layer_outputs: false,
            primitive_id: None,
            unindexed: false,
        }
    }

    crate::setters! {
        unaligned_attributes: bool,
        layer_outputs: bool,
        primitive_id?: fragment::PrimitiveIdInput,
        unindexed: bool,
    }
}

/// A vertex shader that draws what a geometry shader emits, with the information that a pipeline with it requires.
///
/// Its draws are lists of points, lines or triangles, as [`LoweredGeometry::output_vertices`] says, with
/// [`vertices`](Self::vertices) vertices for each input primitive of an instance: those of input primitive `item` begin
/// at number `item * vertices`.
///
/// - Without [`indices`](Self::indices), a draw for `n` input primitives has the `n * vertices` vertices in order.
/// - With indices, `vkCmdDrawIndexed` has for each input primitive the indices `item * vertices + pattern[k]`, for each
///   `k` of the [`pattern`](StripIndices::pattern) for the provoking vertex mode, which the flags of the draw have, too.
///   The shader goes by `VertexIndex`, which contains the vertex offset of the draw. So one [list](StripIndices::list),
///   which begins at input primitive 0, serves draws of any length: they are drawn in parts, each of which has the vertex
///   offset `item * vertices` of its first input primitive. Then 16 bits are enough for an index.
///
/// A draw begins at vertex 0 and instance 0, but for its parts. If several instances are drawn in several parts, each
/// instance has parts of its own, with its number as first instance: otherwise primitives of later instances would be
/// drawn too early.
///
/// The parameters are a [`Sysvals`](crate::sysval::Sysvals) with the draw that the application recorded, without
/// primitive restart, and with addresses of its vertex and index buffers. They are the same for all parts.
/// [`DrawSysvals::item_count`](crate::sysval::DrawSysvals::item_count) is the number of input primitives of an
/// instance. The draws have no multiview: the `ViewIndex` of both shaders is 0.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Drawn {
    /// The SPIR-V words.
    pub words: Vec<u32>,
    /// The name of the entry point in `words`.
    pub entry_point: String,
    /// The input and output primitives of the geometry shader.
    pub geometry: LoweredGeometry,
    /// The number of vertices in the list for an input primitive. With [`indices`](Self::indices), it is the number of
    /// those that the geometry shader emits in strips; otherwise, the number of those that its primitives have
    /// together. The driver runs the shader for each of them, and the shader runs the application's vertex shader for
    /// all vertices of the input primitive, then its geometry shader. 0 if the geometry shader emits no primitive, whatever
    /// it gets: nothing is drawn.
    pub vertices: u32,
    /// The indices of the list for an input primitive, or why the list has none.
    pub indices: Result<StripIndices, Unindexed>,
    /// Whether each vertex of the list is one that the geometry shader emits. Otherwise some may be placed outside of the
    /// clip volume, with all others of their primitives, so queries may count more primitives than the shader emits.
    pub is_fixed: bool,
    /// The attributes that the shader reads, in the order of their descriptors in the sysvals and the table.
    pub attributes: Vec<LoweredAttribute>,
    /// The range of bytes of the push constants that both shaders read, rounded to multiples of 16: the
    /// [table](crate::sysval::Sysvals::table) begins with it.
    pub push_constants: Range<u32>,
    /// The numbers of the descriptor sets that both shaders use, ascending.
    pub descriptor_sets: Vec<u32>,
}

/// Merges a vertex shader and a geometry shader into a vertex shader.
///
/// # Errors
/// The errors of [`compute::lower`], and [`LowerError::NotDrawn`] for what a vertex shader cannot draw: side effects or
/// subgroup operations, several vertex streams, outputs with 8-bit or 16-bit components, and a geometry shader that may
/// emit many vertices, but neither always the same number of primitives nor either these or none.
#[tracing::instrument(name = "lower", level = "debug", skip_all, fields(backend = "drawn"))]
pub fn lower(shader: &Shader<'_>, options: &Options<'_>) -> Result<Drawn, LowerError> {
    let shader = Shader { captures: Captures::Nothing, ..*shader };
    let compute = compute::Options::new(options.vertex_input)
        .vertex_shader(options.vertex_shader)
        .unaligned_attributes(options.unaligned_attributes);
    let mut stages = Stages::of(&shader, &compute)?;
    let declarations = Declarations::of(&stages.module);
    let layout = shader.layout_of(&stages.module, &declarations, stages.captured())?;
    let captured = stages.captured().clone();
    let entry = stages.join();
    let Stages { mut module, vertex, later, modes, phases, used, spec_ids } = stages;
    let geometry = modes.filter(|modes| modes.tessellation.is_none());
    let geometry = geometry.ok_or(LowerError::Stage(captured.model))?;
    let emission = emission_of(&module, captured.function, &geometry)?;
    let list = List::of(&geometry, &emission, options.unindexed)?;
    let uses = Uses::of(&module, &declarations, &used);
    if uses.effects.side_effects {
        return Err(LowerError::NotDrawn("side effects"));
    }
    if uses.effects.show_invocations() {
        return Err(LowerError::NotDrawn("subgroup operations"));
    }
    let outputs = OutputPlan::of(&module, &declarations, &captured, options)?;

    let mut push_constants = PushConstants::of(&module, &declarations, &used)?;
    let declarations = push_constants.widen_with(&mut module, declarations, &INTERFACE)?;
    let undefined = Undefined::of(&module, &declarations, &entry, &layout.outputs);
    undefined.define_values(&mut module, &declarations);
    let modes = (geometry, phases);
    let input = options.vertex_input;
    let later = Later::new(&mut module, &declarations, &vertex, &later, modes, input)?;
    strip_interface(&mut module, &declarations);
    push_constants.make_private(&mut module);
    let widths = Widths::default();
    let memory =
        Memory::declare(&mut module, ResourcePlan::DeviceAddress, 0, User::Capture, widths);
    let outputs = outputs.declare(&mut module, &declarations, geometry.output_vertices, options);

    let mut linker = Linker::new(&mut module, library()?);
    let drawn = Function::XfbDrawn.id(&mut linker)?;
    let (function, mut io) = emit_entry(&mut linker.builder, drawn);
    io.extend(outputs.variables());
    let one = linker.builder.constant(1);
    let captures = CaptureStubs {
        memory,
        sysvals: SysvalsSource::PushConstants,
        outputs: StoredOutputs {
            layout: &layout,
            declarations: &declarations,
            storage: StorageClass::Private,
        },
        undefined: &undefined,
        push_constants: &push_constants,
        spec_ids: free_spec_ids(&spec_ids),
        shading: Some(Shading {
            function: vertex.function,
            inputs: Inputs::new(
                &declarations,
                &vertex,
                options.vertex_input,
                options.unaligned_attributes,
                push_constants.granules(),
            ),
            workgroup_size: one,
            staging: None,
            shares_draws: false,
            existing_only: false,
        }),
        later: Some(later),
    };
    let mut stubs = DrawnStubs { captures, outputs, list: &list };
    replace_emission(&mut linker, &declarations)?;
    linker.finish(&mut stubs)?;
    let CaptureStubs { later, shading, .. } = stubs.captures;
    io.extend(later.into_iter().flat_map(Later::interface));
    let (attributes, more) =
        shading.map(|s| (s.inputs.attributes, s.inputs.interface)).unwrap_or_default();
    io.extend(more);
    explicit_layout::remove(&mut module);
    interface::move_execution_modes(&mut module, &vertex, function);
    interface::move_execution_modes(&mut module, &entry, function);
    let model = ExecutionModel::Vertex;
    interface::set_entry_point(&mut module, &declarations, &entry, model, function, io)?;

    // This also removes what only captures need, such as the push constants with their sysvals.
    let new = find_entry_point(&module, model, Some(&entry.name))?;
    if !optimize(&mut module, &new, false) {
        return Err(LowerError::NotDrawn("control flow or a size that is not inlined"));
    }
    let words = module.words();
    let List { vertices, indices, is_fixed, is_empty } = list;
    let vertices = if is_empty { 0 } else { vertices };
    tracing::debug!(vertices, ?indices, is_fixed, words = words.len(), ?attributes, "lowered");
    Ok(Drawn {
        words,
        entry_point: entry.name,
        geometry,
        vertices,
        indices,
        is_fixed,
        attributes,
        push_constants: push_constants.range,
        descriptor_sets: uses.descriptor_sets,
    })
}

/// Finds what the runs of the geometry shader `function` emit.
///
/// # Errors
/// [`LowerError::NotDrawn`]
fn emission_of(
    module: &Module,
    function: Id,
    geometry: &LoweredGeometry,
) -> Result<Emission, LowerError> {
    let LoweredGeometry { output_vertices: vertices, max_vertices: most, streams, .. } = *geometry;
    if streams & !1 != 0 {
        return Err(LowerError::NotDrawn("several vertex streams"));
    }
    Ok(emission(module, function, Output { vertices, most, streams }))
}

/// Adds the function of the entry point: `void xfb_main() { xfb_drawn(parameters, vertex, instance); }`. Returns it, and
/// its inputs.
fn emit_entry(builder: &mut Builder<'_>, drawn: Id) -> (Id, Vec<Id>) {
    let (uint, address) = (builder.uint(), builder.uvec(2));
    let parameters = builder.variable(StorageClass::Input, address);
    builder.decorate(parameters, Decoration::Location, &[PARAMETERS_LOCATION]);
    let vertex = builder.built_in(BuiltIn::VertexIndex, uint);
    let instance = builder.built_in(BuiltIn::InstanceIndex, uint);
    let mut code = Code::default();
    let function = code.begin_procedure(builder);
    let inputs = [(parameters, address), (vertex, uint), (instance, uint)];
    let arguments = inputs.map(|(input, ty)| code.value(builder, Op::Load, ty, &[input.0]));
    let void = builder.void();
    code.call(builder, void, drawn, &arguments);
    code.end_procedure(builder, function, "xfb_main");
    (function, inputs.map(|(input, _)| input).to_vec())
}

/// The stubs of a drawn shader: a few are other than those of a capture.
struct DrawnStubs<'a> {
    captures: CaptureStubs<'a>,
    outputs: DrawnOutputs,
    list: &'a List,
}

impl Define for DrawnStubs<'_> {
    type Error = LowerError;

    fn define(
        &mut self,
        linker: &mut Linker<'_, '_>,
        stub: &Stub,
    ) -> Result<Option<Code>, LowerError> {
        let builder = &mut linker.builder;
        if let Some(name) = DrawnStub::of(&stub.name) {
            return Ok(Some(match name {
                DrawnStub::IsDrawn => Code::returning(builder.constant_bool(true)),
                DrawnStub::DrawnVertices => Code::returning(builder.constant(self.list.vertices)),
                DrawnStub::EmitsAllDrawn => {
                    Code::returning(builder.constant_bool(self.list.is_fixed))
                }
                DrawnStub::IsDrawnIndexed => {
                    Code::returning(builder.constant_bool(self.list.indices.is_ok()))
                }
                DrawnStub::KeepVertex => {
                    self.outputs.keep(builder, self.captures.outputs.declarations)
                }
                DrawnStub::DropVertex => self.outputs.drop(builder),
            }));
        }
        Ok(Some(match StubName::of(&stub.name) {
            // What is bound is in memory, as that of listed draws.
            Some(StubName::IsBatched | StubName::MayBeIndexed) => {
                Code::returning(builder.constant_bool(true))
            }
            Some(
                StubName::IsFused
                | StubName::IsUnchecked
                | StubName::MayBeGeneral
                | StubName::MayLoadBytes
                | StubName::MayRestart,
            ) => Code::returning(builder.constant_bool(false)),
            Some(StubName::PipelineTopology) => {
                Code::returning(builder.constant(SpecIds::ANY_TOPOLOGY))
            }
            Some(StubName::WideLoads | StubName::WideStores) => {
                Code::returning(builder.constant(WideAccesses::Tested as u32))
            }
            _ => return self.captures.define(linker, stub),
        }))
    }
}
