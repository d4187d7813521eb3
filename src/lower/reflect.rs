//! What a vertex shader reads: for whoever has to supply it without knowing the shader.

use std::collections::BTreeMap;

use spirv::{Decoration, StorageClass};

use super::interface::{Place, built_in, input_place, label};
use super::{LowerError, Shader};
use crate::capture::numeric_vector;
use crate::spirv::Id;
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::entry_point::{find_vertex_shader, isolate};
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
    /// Bits of a component, 32 or 64.
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
/// # Errors
/// [`LowerError`]: no module, no vertex shader, or an input whose type or location no attribute has.
pub fn vertex_reads(shader: &Shader<'_>) -> Result<VertexReads, LowerError> {
    let mut module = shader.module()?;
    let entry = find_vertex_shader(&module, shader.entry_point)?;
    isolate(&mut module, &entry);
    let declarations = Declarations::of(&module);
    let mut attributes = BTreeMap::new();
    let inputs = declarations
        .variables(StorageClass::Input)
        .filter(|variable| entry.interface.contains(&variable.id));
    for variable in inputs {
        if built_in(&declarations, variable.id).is_some() {
            continue;
        }
        let Place { location, component } = input_place(&declarations, variable)?;
        add(&declarations, &mut attributes, variable.pointee, location, component);
    }
    Ok(VertexReads {
        attributes: attributes.into_values().collect(),
        resources: resources(&declarations),
    })
}

/// Adds what a type reads from `location` on, and returns the locations that it takes.
fn add(
    declarations: &Declarations,
    attributes: &mut BTreeMap<u32, AttributeUse>,
    ty: Id,
    location: u32,
    component: u32,
) -> u32 {
    if let Some((class, bits, count)) = numeric_vector(declarations, ty) {
        let components = component / (bits / 32) + count;
        let new = AttributeUse { location, class, bits, components };
        let known = attributes.entry(location).or_insert(new);
        known.components = known.components.max(components);
        return (count * bits / 32).div_ceil(4);
    }
    let (part, count) = match declarations.ty(ty) {
        Some(Type::Matrix { column, count }) => (*column, *count),
        Some(Type::Array { element, length }) => {
            (*element, declarations.constant(*length).unwrap_or(0))
        }
        _ => return 0,
    };
    let mut at = location;
    for _ in 0..count {
        at += add(declarations, attributes, part, at, component);
    }
    at - location
}

fn resources(declarations: &Declarations) -> Vec<String> {
    let mut resources: Vec<String> = declarations
        .variables(StorageClass::PushConstant)
        .map(|v| format!("push constants ({})", label(declarations, v.id)))
        .collect();
    for storage in
        [StorageClass::UniformConstant, StorageClass::Uniform, StorageClass::StorageBuffer]
    {
        for variable in declarations.variables(storage) {
            let number = |decoration| {
                declarations
                    .decoration(variable.id, decoration)
                    .and_then(|parameters| parameters.first())
                    .map_or("?".to_owned(), u32::to_string)
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
