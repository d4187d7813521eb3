//! This module lists what an application must provide for shaders that it does not know: the vertex attributes,
//! descriptors and push constants that they read. It also lists the input and output primitives that geometry and
//! tessellation shaders declare.

mod resources;

use std::collections::BTreeMap;

use spirv::{Decoration, ExecutionModel, StorageClass};

pub use self::resources::{
    DescriptorCount, DescriptorUse, ResourceInterface, ResourceType, resource_interface,
};
use crate::lower::inputs::parts::{InputPart, parts};
use crate::lower::interface::built_in;
use crate::lower::resources::DESCRIPTORS;
use crate::lower::widen::{INTERFACE, widen};
use crate::lower::{LowerError, LoweredGeometry, Shader, native, push_constants};
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::static_use::StaticUse;
use crate::vertex_input::{
    InputRate, NumericClass, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
};

/// A vertex attribute that a shader reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttributeUse {
    /// The location of the shader's input.
    pub location: u32,
    /// The numeric class of the components.
    pub class: NumericClass,
    /// The size of a component in bits. It is 64 for formats with 64-bit components and 32 for all other formats, even
    /// if the shader's input has 8 or 16 bits.
    pub bits: u32,
    /// The number of components that are read, counted from the first.
    pub components: u32,
}

/// The attributes, descriptors and push constants that a vertex shader reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct VertexReads {
    /// The attributes, in ascending order of their locations.
    pub attributes: Vec<AttributeUse>,
    /// Descriptions of the descriptors and push constants, such as "descriptor set 0 binding 1
    /// ('image')".
    pub resources: Vec<String>,
}

impl VertexReads {
    /// A vertex input state with exactly the attributes that are read: one tightly packed binding
    /// per attribute, with the input rate `VERTEX`.
    pub fn packed_vertex_input(&self) -> VertexInput {
        let mut input = VertexInput::default();
        for (binding, attribute) in (0u32..).zip(&self.attributes) {
            let AttributeUse { location, class, bits, components } = *attribute;
            let Some(format) = VertexFormat::of(class, bits, components) else { continue };
            let input_rate = InputRate::Vertex;
            input.bindings.push(VertexBinding { binding, stride: format.size(), input_rate });
            input.attributes.push(VertexAttribute { location, binding, format, offset: 0 });
        }
        input
    }
}

/// Lists the attributes, descriptors and push constants that a vertex shader reads. The shader's
/// captures do not matter.
///
/// The attributes include inputs that the shader declares but does not use, because graphics
/// pipelines may require attributes for them too. An unused input whose type or location matches no
/// attribute is left out.
///
/// # Errors
/// [`LowerError`]: the module is invalid, it has no such vertex shader, or no attribute matches the
/// type or the location of an input in use.
pub fn vertex_reads(shader: &Shader<'_>) -> Result<VertexReads, LowerError> {
    let mut module = shader.module()?;
    let entry = shader.vertex_shader(&module)?;
    let used = StaticUse::of(&module, entry.function);
    let declarations = Declarations::of(&module);
    let widened = widen(&mut module, &declarations, &INTERFACE)?;
    let declarations = widened.map_or(declarations, |widened| widened.declarations);
    let mut attributes = BTreeMap::new();
    let inputs = declarations
        .variables(StorageClass::Input)
        .filter(|variable| entry.interface.contains(&variable.id))
        .filter(|variable| built_in(&declarations, variable.id).is_none());
    for variable in inputs {
        let parts = match parts(&declarations, variable) {
            Ok(parts) => parts,
            Err(_) if !used.contains(variable.id) => continue,
            Err(error) => return Err(error),
        };
        for InputPart { location, component, class, bits, count, .. } in parts {
            let components = component / (bits / 32) + count;
            let new = AttributeUse { location, class, bits, components };
            let known = attributes.entry(location).or_insert(new);
            known.components = known.components.max(components);
        }
    }
    Ok(VertexReads {
        attributes: attributes.into_values().collect(),
        resources: resources(&declarations, &used),
    })
}

/// Returns the input and output primitives that a geometry shader, or tessellation shaders,
/// declare. `options` has the shaders before `shader`. `None` for a vertex shader, and for a
/// tessellation evaluation shader if `options` has no other shaders.
///
/// # Errors
/// [`LowerError`]: a module is invalid, it has no such shader, the stages do not match, or they do not declare their
/// primitives.
pub fn geometry(
    shader: &Shader<'_>,
    options: &native::Options<'_>,
) -> Result<Option<LoweredGeometry>, LowerError> {
    if let Some(modes) = native::GraphicsStages::of(shader, options)?.modes {
        return Ok(Some(modes));
    }
    let module = shader.module()?;
    let entry = shader.find(&module)?;
    match entry.model {
        ExecutionModel::Geometry => LoweredGeometry::of(&module, &entry).map(Some),
        _ => Ok(None),
    }
}

/// A member of a push constant block that a shader uses.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PushConstant {
    /// The offset in bytes in the application's push constants.
    pub offset: u32,
    /// The type in GLSL syntax.
    pub ty: String,
    /// The name, if the module has names.
    pub name: Option<String>,
    /// Whether the shader reads the member or a part of it.
    pub is_read: bool,
}

/// Lists the members of the push constant block that a shader uses. Where a compiler wraps the block in a structure
/// whose only member has no name, as naga does, these are the members of the inner block.
///
/// # Errors
/// [`LowerError`]: the module is invalid, it has no such shader, or a member of the block has no
/// offset.
pub fn push_constants(shader: &Shader<'_>) -> Result<Vec<PushConstant>, LowerError> {
    let module = shader.module()?;
    let entry = shader.find(&module)?;
    let used = StaticUse::of(&module, entry.function);
    let declarations = Declarations::of(&module);
    let variables = push_constants::used_variables(&declarations, &used);
    let places = push_constants::read_places(&module, &declarations, &used, &variables);
    let mut all = Vec::new();
    for variable in variables {
        let offset_of = |block, path: &[u32]| {
            let member = path.last().copied().unwrap_or_default();
            let offset = declarations.member_decoration_value(block, member, Decoration::Offset);
            offset.ok_or_else(|| LowerError::PushConstantLayout {
                member: push_constants::place_label(&declarations, variable, path),
                problem: "has no Offset".to_owned(),
            })
        };
        let (mut block, mut start, mut path) = (variable.pointee, 0u32, Vec::new());
        while let Some(Type::Struct { members }) = declarations.ty(block)
            && let [inner] = members[..]
            && declarations.member_name(block, 0).is_none_or(str::is_empty)
            && matches!(declarations.ty(inner), Some(Type::Struct { .. }))
        {
            path.push(0);
            start = start.saturating_add(offset_of(block, &path)?);
            block = inner;
        }
        let Some(Type::Struct { members }) = declarations.ty(block) else { continue };
        for (index, ty) in (0..).zip(members) {
            let path = [&path[..], &[index]].concat();
            all.push(PushConstant {
                offset: start.saturating_add(offset_of(block, &path)?),
                ty: declarations.type_name(*ty),
                name: declarations.member_name(block, index).map(str::to_owned),
                is_read: places.iter().any(|(read, read_path)| {
                    read.id == variable.id
                        && (read_path.starts_with(&path) || path.starts_with(read_path))
                }),
            });
        }
    }
    Ok(all)
}

fn resources(declarations: &Declarations, used: &StaticUse) -> Vec<String> {
    let variables =
        |storage| declarations.variables(storage).filter(|variable| used.contains(variable.id));
    let mut resources: Vec<String> = variables(StorageClass::PushConstant)
        .map(|v| format!("push constants ({})", declarations.label(v.id)))
        .collect();
    for storage in DESCRIPTORS {
        for variable in variables(storage) {
            let number = |decoration| {
                declarations
                    .decoration_value(variable.id, decoration)
                    .map_or("?".to_owned(), |number| number.to_string())
            };
            resources.push(format!(
                "descriptor set {} binding {} ({})",
                number(Decoration::DescriptorSet),
                number(Decoration::Binding),
                declarations.label(variable.id)
            ));
        }
    }
    resources
}
