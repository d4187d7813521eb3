//! This module rewrites fragment shaders behind drawn geometry shaders: their built-in input `PrimitiveId` is what the
//! geometry shader has written to its output of that name. Vertex shaders have no such output, so it becomes an input at a
//! location. The capabilities for geometry and tessellation shaders, which their built-in inputs need elsewhere, are
//! removed.

use spirv::{BuiltIn, Capability, Decoration, Op, StorageClass};

use super::locations::end_of_locations;
use crate::lower::interface::find_built_in;
use crate::lower::{LowerError, Shader};
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::emit::Builder;
use crate::spirv::entry_point::{find_fragment_shader, isolate};
use crate::spirv::{Instruction, Module, Section};

/// The input that replaces `PrimitiveId` in a fragment shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrimitiveIdInput {
    /// Its location: the first one after all other inputs of the shader, and all outputs of the geometry shader.
    pub location: u32,
    /// Whether it is an `int`. Otherwise it is a `uint`.
    pub signed: bool,
}

/// A fragment shader that was rewritten.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DrawnFragment {
    /// The SPIR-V words. They are those of the shader, with its specialization constants, if nothing had to be changed.
    /// Otherwise the constants have their values.
    pub words: Vec<u32>,
    /// The input that replaces `PrimitiveId`; `None` if the shader does not read it.
    pub primitive_id: Option<PrimitiveIdInput>,
}

/// Rewrites a fragment shader. `first` is the first location that the outputs of the geometry shader leave free, which
/// [`output_locations`](super::output_locations) returns. `layer_outputs` is that of the
/// [options](super::Options::layer_outputs).
///
/// # Errors
/// [`LowerError::Parse`], [`LowerError::Specialization`], [`LowerError::EntryPoint`]; [`LowerError::NotDrawn`] if the shader
/// reads `Layer` or `ViewportIndex`, and `layer_outputs` is false.
pub fn lower(
    shader: &Shader<'_>,
    first: u32,
    layer_outputs: bool,
) -> Result<DrawnFragment, LowerError> {
    let (mut module, _) = shader.specialized()?;
    let mut entry = find_fragment_shader(&module, shader.entry_point)?;
    let declarations = Declarations::of(&module);
    let reads = |which| find_built_in(&declarations, &entry, which);
    let layers = [
        (BuiltIn::Layer, Capability::ShaderLayer),
        (BuiltIn::ViewportIndex, Capability::ShaderViewportIndex),
    ];
    let layers: Vec<_> = layers.into_iter().filter(|(which, _)| reads(*which).is_some()).collect();
    if !layers.is_empty() && !layer_outputs {
        return Err(LowerError::NotDrawn("a fragment shader that reads Layer or ViewportIndex"));
    }
    let primitive_id = reads(BuiltIn::PrimitiveId).map(|input| {
        // Other entry points may have the variable as a built-in.
        isolate(&mut module, &mut entry);
        let location = end_of_locations(&declarations, &entry, StorageClass::Input).max(first);
        let signed = matches!(declarations.ty(input.pointee), Some(Type::Int { signed: true, .. }));
        let is_decoration = |operands: &[u32], which: Decoration| {
            operands.first() == Some(&input.id.0) && operands.get(1) == Some(&(which as u32))
        };
        module.retain(Section::Annotations, |i| {
            !(i.is(Op::Decorate) && is_decoration(i.operands(), Decoration::BuiltIn))
        });
        let is_flat = module
            .section(Section::Annotations)
            .any(|i| i.is(Op::Decorate) && is_decoration(i.operands(), Decoration::Flat));
        let builder = &mut Builder::new(&mut module);
        builder.decorate(input.id, Decoration::Location, &[location]);
        if !is_flat {
            builder.decorate(input.id, Decoration::Flat, &[]);
        }
        PrimitiveIdInput { location, signed }
    });
    // Only these built-ins require one of the capabilities in a fragment shader.
    let removed = [Capability::Geometry, Capability::Tessellation];
    let is_removed = |i: Instruction<'_>| removed.iter().any(|c| i.operand(0) == *c as u32);
    let is_same = primitive_id.is_none()
        && layers.is_empty()
        && !module.section(Section::Capabilities).any(is_removed);
    if is_same {
        return Ok(DrawnFragment { words: shader.words.to_vec(), primitive_id });
    }
    for capability in removed {
        module.remove_capability(capability);
    }
    module.add_capability(Capability::Shader);
    for (_, capability) in layers {
        add_layer_capability(&mut module, capability);
    }
    Ok(DrawnFragment { words: module.words(), primitive_id })
}

/// Adds a capability for `Layer` or `ViewportIndex` outside of geometry shaders.
pub(super) fn add_layer_capability(module: &mut Module, capability: Capability) {
    if module.version() >= (1, 5) {
        module.add_capability(capability);
    } else {
        module.add_extension("SPV_EXT_shader_viewport_index_layer");
        module.add_capability(Capability::ShaderViewportIndexLayerEXT);
    }
}
