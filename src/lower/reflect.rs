//! What a vertex shader reads: for whoever has to supply it without knowing the shader.

mod resources;

use std::collections::BTreeMap;

use spirv::{Decoration, StorageClass};

pub use self::resources::{
    DescriptorCount, DescriptorUse, ResourceInterface, ResourceType, resource_interface,
};
use super::inputs::parts::{Part, parts};
use super::interface::{built_in, label};
use super::uses::DESCRIPTORS;
use super::widen::{INTERFACE, widen};
use super::{LowerError, Shader, push_constants};
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::static_use::StaticUse;
use crate::vertex_input::{
    InputRate, NumericClass, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
};

/// An attribute as a shader reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttributeUse {
    /// Location.
    pub location: u32,
    /// Class of the components.
    pub class: NumericClass,
    /// Bits of a component of its formats, 64 or at most 32: those fill inputs of 8 and 16 bits too.
    pub bits: u32,
    /// Components that are read, counted from the first.
    pub components: u32,
}

/// What a vertex shader reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VertexReads {
    /// Attributes, by location.
    pub attributes: Vec<AttributeUse>,
    /// Descriptors and push constants, in words: "descriptor set 0 binding 1 ('image')".
    pub resources: Vec<String>,
}

impl VertexReads {
    /// A vertex input state that holds just what is read: a binding an attribute, tightly packed, by
    /// vertex.
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

/// Reads a vertex shader's interface, whatever it captures.
///
/// Inputs that the shader declares and does not use are among the attributes, since graphics pipelines want
/// an attribute for each; but not those of which no attribute has the type or the location.
///
/// # Errors
/// [`LowerError`]: no module, no vertex shader, or an input in use whose type or location no attribute has.
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
        for Part { location, component, class, bits, count, .. } in parts {
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

/// A member of a push constant block that a shader uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushConstant {
    /// Bytes from the start of the application's push constants.
    pub offset: u32,
    /// Its type as GLSL writes it.
    pub ty: String,
    /// Its name, where there are names.
    pub name: Option<String>,
    /// Whether the shader reads it, or a part of it.
    pub is_read: bool,
}

/// The members of the push constant block that a shader uses.
///
/// # Errors
/// [`LowerError`]: no module, no such shader, or a member of the block without an offset.
pub fn push_constants(shader: &Shader<'_>) -> Result<Vec<PushConstant>, LowerError> {
    let module = shader.module()?;
    let entry = shader.find(&module)?;
    let used = StaticUse::of(&module, entry.function);
    let declarations = Declarations::of(&module);
    let variables = push_constants::used_variables(&declarations, &used);
    let places = push_constants::read_places(&module, &declarations, &used, &variables);
    let mut all = Vec::new();
    for variable in variables {
        let block = variable.pointee;
        let Some(Type::Struct { members }) = declarations.ty(block) else { continue };
        for (index, ty) in (0..).zip(members) {
            let offset = declarations.member_decoration_value(block, index, Decoration::Offset);
            all.push(PushConstant {
                offset: offset.ok_or_else(|| LowerError::PushConstantLayout {
                    member: push_constants::place_label(&declarations, variable, &[index]),
                    problem: "has no Offset".to_owned(),
                })?,
                ty: declarations.type_name(*ty),
                name: declarations.member_name(block, index).map(str::to_owned),
                is_read: places.iter().any(|(read, path)| {
                    read.id == variable.id && path.first().is_none_or(|member| *member == index)
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
        .map(|v| format!("push constants ({})", label(declarations, v.id)))
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
                label(declarations, variable.id)
            ));
        }
    }
    resources
}
