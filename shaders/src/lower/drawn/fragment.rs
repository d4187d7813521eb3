//! This module rewrites fragment shaders behind drawn geometry shaders: their built-in input `PrimitiveId` is what the
//! geometry shader has written to its output of that name. Vertex shaders have no such output, so it becomes an input at a
//! location.

use spirv::{BuiltIn, Capability, Decoration, Op, StorageClass};

use super::locations::end_of_locations;
use crate::lower::interface::find_built_in;
use crate::lower::{LowerError, Shader};
use crate::spirv::Section;
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::emit::Builder;
use crate::spirv::entry_point::{find_fragment_shader, isolate};

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
    /// The SPIR-V words.
    pub words: Vec<u32>,
    /// The input that replaces `PrimitiveId`; `None` if the shader does not read it, so that its words are unchanged.
    pub primitive_id: Option<PrimitiveIdInput>,
}

/// Rewrites a fragment shader. `first` is the first location that the outputs of the geometry shader leave free, which
/// [`output_locations`](super::output_locations) returns.
///
/// # Errors
/// [`LowerError::Parse`], [`LowerError::Specialization`], [`LowerError::EntryPoint`].
pub fn lower(shader: &Shader<'_>, first: u32) -> Result<DrawnFragment, LowerError> {
    let (mut module, _) = shader.specialized()?;
    let mut entry = find_fragment_shader(&module, shader.entry_point)?;
    let declarations = Declarations::of(&module);
    let Some(input) = find_built_in(&declarations, &entry, BuiltIn::PrimitiveId) else {
        return Ok(DrawnFragment { words: shader.words.to_vec(), primitive_id: None });
    };
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
    // Only `PrimitiveId` requires one of these in a fragment shader.
    for capability in [Capability::Geometry, Capability::Tessellation] {
        module.remove_capability(capability);
    }
    module.add_capability(Capability::Shader);
    Ok(DrawnFragment {
        words: module.words(),
        primitive_id: Some(PrimitiveIdInput { location, signed }),
    })
}
