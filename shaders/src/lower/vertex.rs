//! This module makes the vertex shader store its captured outputs itself.
//!
//! A new entry point calls the function of the original one, which may return from anywhere, and then `xfb_vertex` of
//! `shaders/vertex.wgsl`, which stores the outputs. Everything else is unchanged: the pipeline rasterizes as before,
//! and the module's other entry points are kept, although they no longer capture. If one of them has the same function
//! as the vertex shader, or uses its push constants, all of them are removed. The pipeline must then take its other
//! stages from the original module.

use spirv::{BuiltIn, Decoration, ExecutionModel, Op, StorageClass};

use crate::lower::access::User;
use crate::lower::explicit_layout;
use crate::lower::functions::Function;
use crate::lower::interface;
use crate::lower::library::{CaptureStubs, free_spec_ids, library};
use crate::lower::push_constants::{self, PushConstants};
use crate::lower::resources::{Memory, ResourcePlan, Widths};
use crate::lower::store::StoredOutputs;
use crate::lower::strip::strip;
use crate::lower::sysvals::{SysvalsPlace, SysvalsSource, place_block};
use crate::lower::undefined::Undefined;
use crate::lower::uses::Uses;
use crate::lower::{LowerError, Lowered, LoweredKind, LoweredVertex, Shader};
use crate::spirv::Id;
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::{EntryPoint, isolate, shares_function};
use crate::spirv::link::Linker;
use crate::spirv::static_use::StaticUse;

/// The resource plan of this backend. The descriptor plan is not supported, because the descriptors would have to be
/// indexed by values that are not uniform across vertices. It is hardly needed either: devices without device addresses
/// can capture on the compute backend, which has the descriptor plan.
pub(super) const RESOURCES: ResourcePlan = ResourcePlan::DeviceAddress;

/// The largest number of primitives that an instance of a triangle fan may write on this backend.
///
/// The first vertex of a fan is a vertex of all its primitives. The invocation that computes this vertex stores it for
/// all of them, one after the other. An NVIDIA H200 takes 3.3 microseconds per primitive: 0.2 seconds for this limit,
/// while the kernel drivers of small boards abort jobs after about half a second. The limit is also the number of
/// iterations after which llvmpipe ends any loop
/// ([`LP_MAX_TGSI_LOOP_ITERATIONS`](https://gitlab.freedesktop.org/mesa/mesa/-/blob/mesa-22.3.6/src/gallium/auxiliary/gallivm/lp_bld_limits.h)),
/// so that further primitives would be lost without an error. On the compute backend an invocation makes at most two of
/// these stores.
pub const MAX_FAN_PRIMITIVES: u32 = 65_535;

/// The number of vertices of a triangle fan with [`MAX_FAN_PRIMITIVES`].
pub const MAX_FAN_VERTICES: u32 = MAX_FAN_PRIMITIVES + 2;

/// Lowers a vertex shader, with its sysvals in the first push constants. This is for pipelines
/// whose other stages have no push constants.
///
/// # Errors
/// The same errors as [`lower_at`].
pub fn lower(shader: &Shader<'_>) -> Result<Lowered, LowerError> {
    lower_at(shader, SysvalsPlace::default())
}

/// Lowers a vertex shader. `sysvals` says where the lowered shader reads its sysvals.
///
/// The lowered shader reads the application's push constants from memory, so they may overlap the
/// sysvals. Push constants of the other stages must not.
///
/// # Errors
/// [`LowerError`]: the module is invalid, it has no such vertex shader, what to capture does not
/// match the shader, values of specialisation constants are invalid, push constants contain types
/// other than numbers and addresses, or the offset of the sysvals is not aligned or too large.
#[tracing::instrument(name = "lower", level = "debug", skip_all, fields(backend = "vertex"))]
pub fn lower_at(shader: &Shader<'_>, sysvals: SysvalsPlace) -> Result<Lowered, LowerError> {
    sysvals.check()?;
    let (mut module, used_spec_ids) = shader.specialized()?;
    let mut entry = shader.vertex_shader(&module)?;
    // The new entry point calls the shader's function, which therefore must not be that of another
    // entry point; and push constants that another entry point uses must not become `Private`.
    if shares_function(&module, &entry) || push_constants::are_shared(&module, &entry) {
        isolate(&mut module, &mut entry);
    }
    let used = StaticUse::of(&module, entry.function);
    let declarations = Declarations::of(&module);
    let layout = shader.layout_of(&module, &declarations, &entry)?;
    let mut push_constants = PushConstants::of(&module, &declarations, &used)?;
    let uses = Uses::of(&module, &declarations, &used);
    let declarations = push_constants.widen_with(&mut module, declarations, &[])?;
    let undefined = Undefined::of(&module, &declarations, &entry, &layout.outputs);
    interface::remove_push_constants(&mut module, &declarations, &used, &mut entry);
    push_constants.make_private(&mut module);

    undefined.define_values(&mut module, &declarations);
    strip(&mut module, &declarations);
    let memory = Memory::declare(&mut module, RESOURCES, 0, User::Capture, Widths::default());
    let spec_ids = free_spec_ids(&used_spec_ids);

    let first_linked = module.fresh_id();
    let mut linker = Linker::new(&mut module, library()?);
    let access = SysvalsSource::declare(&mut linker.builder, sysvals);
    let mut io = entry.interface.clone();
    let mut index = |builder: &mut Builder<'_>, which| {
        let index = Index::of(builder, &declarations, &entry, which);
        io.push(index.variable);
        index
    };
    let vertex_index = index(&mut linker.builder, BuiltIn::VertexIndex);
    let instance_index = index(&mut linker.builder, BuiltIn::InstanceIndex);
    let xfb_vertex = Function::XfbVertex.id(&mut linker)?;
    let outputs = StoredOutputs {
        layout: &layout,
        declarations: &declarations,
        storage: StorageClass::Output,
    };
    let mut set_up = Code::default();
    push_constants.set(&mut linker, &mut set_up)?;
    undefined.clear(&mut linker.builder, &mut set_up, &outputs);
    let wrapper = emit_wrapper(
        &mut linker.builder,
        &set_up,
        entry.function,
        xfb_vertex,
        [vertex_index, instance_index],
    );
    let mut stubs = CaptureStubs {
        memory,
        sysvals: access,
        outputs,
        undefined: &undefined,
        push_constants: &push_constants,
        spec_ids,
        shading: None,
        later: None,
    };
    linker.finish(&mut stubs)?;
    place_block(&mut module, first_linked, access, sysvals);
    explicit_layout::remove(&mut module);

    interface::move_execution_modes(&mut module, &entry, wrapper);
    interface::set_entry_point(
        &mut module,
        &declarations,
        &entry,
        ExecutionModel::Vertex,
        wrapper,
        io,
    )?;

    tracing::debug!(resources = %RESOURCES, effects = ?uses.effects, "lowered");
    Ok(Lowered {
        kind: LoweredKind::Vertex(LoweredVertex { spec_ids, sysvals }),
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

/// The input variable for the built-in `VertexIndex` or `InstanceIndex`.
#[derive(Debug, Clone, Copy)]
struct Index {
    variable: Id,
    ty: Id,
    is_signed: bool,
}

impl Index {
    /// Finds the shader's own variable for the built-in, because an interface must not contain a
    /// built-in twice. If the shader has no such variable, declares one.
    fn of(
        builder: &mut Builder<'_>,
        declarations: &Declarations,
        entry: &EntryPoint,
        which: BuiltIn,
    ) -> Self {
        if let Some(variable) = interface::find_built_in(declarations, entry, which) {
            let ty = variable.pointee;
            let is_signed = !matches!(declarations.ty(ty), Some(Type::Int { signed: false, .. }));
            return Self { variable: variable.id, ty, is_signed };
        }
        let ty = builder.uint();
        let variable = builder.variable(StorageClass::Input, ty);
        builder.decorate(variable, Decoration::BuiltIn, &[which as u32]);
        Self { variable, ty, is_signed: false }
    }

    fn load(self, builder: &mut Builder<'_>, code: &mut Code) -> Id {
        let value = code.value(builder, Op::Load, self.ty, &[self.variable.0]);
        if !self.is_signed {
            return value;
        }
        let uint = builder.uint();
        code.value(builder, Op::Bitcast, uint, &[value.0])
    }
}

/// Adds the function of the new entry point:
/// `void xfb_main() { set_up; shader(); xfb_vertex(vertex_index, instance_index); }`.
fn emit_wrapper(
    builder: &mut Builder<'_>,
    set_up: &Code,
    shader: Id,
    xfb_vertex: Id,
    indices: [Index; 2],
) -> Id {
    let mut code = Code::default();
    let wrapper = code.begin_procedure(builder);
    let void = builder.void();
    code.copy(set_up.words());
    code.call(builder, void, shader, &[]);
    let arguments = indices.map(|index| index.load(builder, &mut code));
    code.call(builder, void, xfb_vertex, &arguments);
    code.end_procedure(builder, wrapper, "xfb_main");
    wrapper
}
