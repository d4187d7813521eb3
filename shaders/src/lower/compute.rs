//! This module turns a vertex shader, alone or together with the tessellation and geometry shaders
//! after it, into a compute shader that pulls its vertex attributes from the vertex buffers.
//!
//! Variables in `Input`, `Output` and `PushConstant` become `Private`, and lose their interface
//! decorations. The new entry point is one of the shader library's:
//!
//! * `xfb_compute` (`shaders/compute.wgsl`) captures a vertex shader: it sets the inputs, calls the
//!   original entry point, and stores the outputs. `xfb_compute_staged` (`shaders/staged.wgsl`)
//!   does the same with staging.
//! * `xfb_geometry` (`shaders/geometry.wgsl`) captures the later stages. For a geometry shader, it
//!   runs the vertex shader for the vertices of each input primitive, then the geometry shader,
//!   which stores each vertex that it emits. For tessellation shaders, it runs the vertex shader
//!   for the control points of each patch, then the tessellation control shader, and the
//!   tessellation evaluation shader for each vertex of the primitives that the patch is divided
//!   into (`shaders/patches.wgsl`).
//!
//! The shaders' own descriptors are unchanged: their descriptor set layouts must have the compute stage in
//! `stageFlags`. A [`ResourcePlan`](crate::lower::ResourcePlan) with descriptors adds a descriptor set after them.
//!
//! Inputs and outputs with 8-bit and 16-bit components are represented by 32-bit components. The
//! same applies to push constants if the module has no arithmetic capability for their type. A
//! module that has 16-bit types only because of the capability `StorageInputOutput16` keeps this
//! capability; `StoragePushConstant8` and `StoragePushConstant16` are always kept. The device must
//! have the features for these capabilities enabled, as for the original shader.
//!
//! One dispatch captures one draw, or a batch of draws. The number of a workgroup is
//! `y * NumWorkgroups.x + x`, so that a dispatch with too many workgroups for one axis can use two.

use spirv::{BuiltIn, Capability, Decoration, ExecutionModel, MemoryModel, Op, StorageClass};

use crate::lower::access::User;
use crate::lower::explicit_layout;
use crate::lower::functions::Function;
use crate::lower::inputs::Inputs;
use crate::lower::interface;
use crate::lower::library::{CaptureStubs, Shading, declare_spec_constant, free_spec_ids, library};
pub use crate::lower::options::{
    DEFAULT_WORKGROUP_SIZE, DomainOrigin, Options, Target, WorkgroupSizes,
};
use crate::lower::push_constants::PushConstants;
use crate::lower::resources::{Memory, Widths};
use crate::lower::stages::{Later, Stages, guard_side_effects, replace_emission};
use crate::lower::staging::Staging;
use crate::lower::store::StoredOutputs;
use crate::lower::strip::strip;
use crate::lower::sysvals::SysvalsSource;
use crate::lower::undefined::Undefined;
use crate::lower::uses::Uses;
use crate::lower::widen::INTERFACE;
use crate::lower::{LowerError, Lowered, LoweredCompute, LoweredKind, Shader};
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::Builder;
use crate::spirv::link::Linker;
use crate::spirv::{Id, Instruction, Module, Section};
use crate::sysval::Batch;
use crate::sysval::setup::RestartedDraw;

/// The size in bytes of the shared memory for the parameters of a draw and its batch, if a
/// workgroup loads them together (`shaders/shared.wgsl`).
const SHARED_DRAW_BYTES: u32 = (size_of::<RestartedDraw>() + size_of::<Batch>()) as u32;

/// The largest number of bytes from one vertex to the next in all capture buffers together for which
/// [`WorkgroupSizes::unindexed`] applies.
const MOST_UNINDEXED: u32 = 16;

/// Decorations that `Private` variables cannot have. Transform feedback decorations are not listed, because [`strip`]
/// removes them.
const INTERFACE_DECORATIONS: [Decoration; 12] = [
    Decoration::Location,
    Decoration::Component,
    Decoration::Index,
    Decoration::BuiltIn,
    Decoration::Flat,
    Decoration::NoPerspective,
    Decoration::Centroid,
    Decoration::Sample,
    Decoration::Invariant,
    Decoration::Offset,
    Decoration::Stream,
    Decoration::Patch,
];

/// Capabilities that apply only to inputs and outputs, which the compute shader does not have. Each would require a
/// device feature that the compute shader does not use.
const INTERFACE_CAPABILITIES: [Capability; 8] = [
    Capability::ClipDistance,
    Capability::CullDistance,
    Capability::DrawParameters,
    Capability::MultiView,
    Capability::MultiViewport,
    Capability::ShaderLayer,
    Capability::ShaderViewportIndex,
    Capability::ShaderViewportIndexLayerEXT,
];
const INTERFACE_EXTENSIONS: [&str; 3] =
    ["SPV_KHR_shader_draw_parameters", "SPV_KHR_multiview", "SPV_EXT_shader_viewport_index_layer"];

/// Lowers a vertex shader; or a tessellation evaluation shader or geometry shader, together with the shaders before it:
/// the [vertex shader](Options::vertex_shader), the [tessellation control shader](Options::control_shader) and the
/// [tessellation evaluation shader](Options::evaluation_shader).
///
/// ```
/// # use vkxfb_rewriter::capture::CaptureList;
/// use vkxfb_rewriter::lower::compute;
/// use vkxfb_rewriter::vertex_input::{
///     InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
/// };
/// use vkxfb_rewriter::lower::{Backend, Shader};
///
/// # let spirv = vkxfb_rewriter::frontend::wgsl::vertex_shader(
/// #     "@vertex fn main(@location(0) at: vec3f) -> @builtin(position) vec4f { return vec4f(at, 1.0); }",
/// #     None,
/// # )?;
/// # let list = CaptureList::new(16).output("@Position", 0);
/// // `spirv` is a vertex shader that reads location 0, and `list` captures its position.
/// let (location, binding, offset) = (0, 0, 0);
/// let format = VertexFormat::R32G32B32Sfloat;
/// let vertex_input = VertexInput {
///     bindings: vec![VertexBinding { binding, stride: 12, input_rate: InputRate::Vertex }],
///     attributes: vec![VertexAttribute { location, binding, format, offset }],
/// };
/// let shader = Shader::new(&spirv).captures(&list);
/// // On a device: `compute::Options::new(&vertex_input).target(context.compute_target()?)`.
/// let lowered = compute::lower(&shader, &compute::Options::new(&vertex_input))?;
///
/// assert_eq!(lowered.backend(), Backend::Compute);
/// assert_eq!(lowered.layout.strides, [Some(16), None, None, None]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`LowerError`]: a module is invalid, it has no such shader, what to capture does not match the shader, a workgroup
/// size is 0, values of specialisation constants are invalid, an input is not supported in a compute shader, no
/// descriptor set is left for the resource plan, or the plan has too few or too many storage buffers.
#[tracing::instrument(name = "lower", level = "debug", skip_all, fields(backend = "compute"))]
pub fn lower(shader: &Shader<'_>, options: &Options<'_>) -> Result<Lowered, LowerError> {
    let Target { mut workgroup_sizes, resources, .. } = options.target;
    if workgroup_sizes.each().iter().any(|(size, _)| *size == 0) {
        return Err(LowerError::WorkgroupSize);
    }
    let mut stages = Stages::of(shader, options)?;
    // The layout is computed before `join` adds the interface variables of the other stages to the
    // captured stage, because the outputs of those stages are not captured.
    let declarations = Declarations::of(&stages.module);
    let layout = shader.layout_of(&stages.module, &declarations, stages.captured())?;
    let record: u32 = layout.strides.into_iter().flatten().sum();
    if record > MOST_UNINDEXED || stages.modes.is_some() {
        workgroup_sizes.unindexed = workgroup_sizes.others;
    }
    let entry = stages.join();
    let Stages { mut module, vertex, later, modes, phases, used, spec_ids: used_spec_ids } = stages;
    let mut push_constants = PushConstants::of(&module, &declarations, &used)?;
    let descriptor_set = resources.descriptor_set(&declarations)?;
    let uses = Uses::of(&module, &declarations, &used);
    let declarations = push_constants.widen_with(&mut module, declarations, &INTERFACE)?;
    let undefined = Undefined::of(&module, &declarations, &entry, &layout.outputs);
    undefined.define_values(&mut module, &declarations);
    let mut later = match modes {
        Some(modes) => {
            let input = options.vertex_input;
            let modes = (modes, phases);
            Some(Later::new(&mut module, &declarations, &vertex, &later, modes, input)?)
        }
        None => None,
    };
    strip_interface(&mut module, &declarations);
    push_constants.make_private(&mut module);
    let widths = Widths { int64: options.target.int64_accesses, bytes: options.target.byte_loads };
    let set = descriptor_set.unwrap_or_default();
    let memory = Memory::declare(&mut module, resources, set, User::Capture, widths);
    let spec_ids = free_spec_ids(&used_spec_ids);

    tracing::trace!(vertex_input = ?options.vertex_input);
    let mut linker = Linker::new(&mut module, library()?);
    let default = workgroup_sizes.others;
    let size = declare_workgroup_size(&mut linker.builder, spec_ids.workgroup_size, default);
    // Under memory models other than GLSL450, the accesses to shared memory would need other
    // barriers. So the invocations do not load their draw together there.
    let shares_draws =
        options.target.shared_draws && linker.builder.module.has_memory_model(MemoryModel::GLSL450);
    let shares_draws = shares_draws && later.is_none();
    let mut target = Target { workgroup_sizes, ..options.target };
    if shares_draws {
        target.staging = target.staging.saturating_sub(SHARED_DRAW_BYTES);
    }
    let staging = match &mut later {
        Some(later) => match later.shared_patch() {
            Some(patch) => {
                let staging = Staging::of_patches(&mut linker.builder, &target, patch);
                if let Some(staging) = &staging {
                    later.share_patches(&mut linker.builder, staging.shared_patches());
                }
                staging
            }
            None => Staging::of_emitted(&mut linker.builder, &layout, &target, &later.modes),
        },
        None => Staging::declare(&mut linker.builder, &layout, &target, size),
    };
    let main = match (&later, &staging) {
        (Some(_), _) => Function::XfbGeometry,
        (None, Some(_)) => Function::XfbComputeStaged,
        (None, None) => Function::XfbCompute,
    };
    let function = main.id(&mut linker)?;
    let mut io = linker.entry_interface(main.name())?;
    let mut stubs = CaptureStubs {
        memory,
        sysvals: SysvalsSource::PushConstants,
        outputs: StoredOutputs {
            layout: &layout,
            declarations: &declarations,
            storage: StorageClass::Private,
        },
        undefined: &undefined,
        push_constants: &push_constants,
        spec_ids,
        shading: Some(Shading {
            function: vertex.function,
            inputs: Inputs::new(
                &declarations,
                &vertex,
                options.vertex_input,
                options.unaligned_attributes,
                push_constants.granules(),
            ),
            workgroup_size: size,
            staging,
            shares_draws,
            existing_only: uses.effects.show_invocations(),
        }),
        later,
    };
    if let Some(later) = &stubs.later {
        if later.has_geometry() {
            replace_emission(&mut linker, &declarations)?;
        }
        if uses.effects.side_effects {
            guard_side_effects(&mut linker, &declarations, &used)?;
        }
    }
    linker.finish(&mut stubs)?;
    io.extend(stubs.later.take().into_iter().flat_map(Later::interface));
    let (inputs, staging) = stubs.shading.map(|s| (s.inputs, s.staging)).unzip();
    let (attributes, more_io) =
        inputs.map(|inputs| (inputs.attributes, inputs.interface)).unwrap_or_default();
    let staged_bytes = staging.flatten().map_or(0, |staging| staging.bytes());
    let shared_memory = staged_bytes + if shares_draws { SHARED_DRAW_BYTES } else { 0 };
    io.extend(more_io);
    explicit_layout::remove(&mut module);

    // Execution modes such as float controls are valid in any stage, so the new entry point gets
    // them.
    interface::move_execution_modes(&mut module, &vertex, function);
    interface::move_execution_modes(&mut module, &entry, function);
    interface::set_entry_point(
        &mut module,
        &declarations,
        &entry,
        ExecutionModel::GLCompute,
        function,
        io,
    )?;

    tracing::debug!(
        entry_point = main.name(),
        %resources,
        ?workgroup_sizes,
        shared_memory,
        ?attributes,
        effects = ?uses.effects,
        "lowered"
    );
    Ok(Lowered {
        kind: LoweredKind::Compute(LoweredCompute {
            spec_ids,
            resources,
            descriptor_set,
            vertex_input: options.vertex_input.clone(),
            geometry: modes,
            attributes,
            workgroup_sizes,
            shared_memory,
            is_staged: staged_bytes > 0,
            byte_loads: widths.bytes,
            selects_elements: options.target.selects_elements,
        }),
        stage: entry.model,
        words: module.words(),
        entry_point: entry.name,
        layout,
        effects: uses.effects,
        descriptor_sets: uses.descriptor_sets,
        push_constants: push_constants.range,
        unwritten: undefined.outputs,
        reads_undefined: undefined.has_values,
    })
}

fn declare_workgroup_size(builder: &mut Builder<'_>, spec_id: u32, default: u32) -> Id {
    let (uint, vector, one) = (builder.uint(), builder.uvec(3), builder.constant(1));
    let size = declare_spec_constant(builder, Op::SpecConstant, uint, &[default], spec_id);
    let all = builder.module.fresh_id();
    let operands = [vector.0, all.0, size.0, one.0, one.0];
    builder.module.push(Section::Declarations, Op::SpecConstantComposite, &operands);
    builder.decorate(all, Decoration::BuiltIn, &[BuiltIn::WorkgroupSize as u32]);
    size
}

/// Whether an `OpDecorate` with `BuiltIn` is that of a descriptor heap, which is no input or output of a stage.
fn is_of_heap(i: Instruction<'_>) -> bool {
    const HEAPS: [BuiltIn; 2] = [BuiltIn::SamplerHeapEXT, BuiltIn::ResourceHeapEXT];
    i.is(Op::Decorate) && HEAPS.iter().any(|heap| i.operand(2) == *heap as u32)
}

/// Makes inputs and outputs `Private`, and removes the decorations, capabilities and extensions that only apply to
/// inputs and outputs.
pub(super) fn strip_interface(module: &mut Module, declarations: &Declarations) {
    strip(module, declarations);
    interface::strip_decorations(module, declarations, &INTERFACE, &INTERFACE_DECORATIONS);
    for capability in INTERFACE_CAPABILITIES {
        module.remove_capability(capability);
    }
    for extension in INTERFACE_EXTENSIONS {
        module.remove_extension(extension);
    }
    // `BuiltIn` is also removed from variables of other entry points: the module must not have a
    // second WorkgroupSize, and it no longer has the capabilities that ClipDistance and similar
    // built-ins require.
    module.retain(Section::Annotations, |i| {
        interface::decoration_of(i) != Some(Decoration::BuiltIn as u32) || is_of_heap(i)
    });
    interface::make_private(module, &INTERFACE);
}
