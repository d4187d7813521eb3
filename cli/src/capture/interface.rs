//! Compares the inputs of a geometry shader with the outputs of the vertex shader before it.

use anyhow::Result;
use spirv::{Decoration, StorageClass};
use vkxfb::internal::capture::locations_used;
use vkxfb::internal::spirv::Id;
use vkxfb::internal::spirv::declarations::{Declarations, Type, Variable};
use vkxfb::internal::spirv::static_use::StaticUse;

use crate::Stages;

/// Names each location that the geometry shader reads and the vertex shader does not write. Such
/// inputs have undefined values, which no driver reports.
pub(super) fn unwritten(stages: &Stages<'_>) -> Result<Vec<String>> {
    let Some(vertex) = &stages.vertex else { return Ok(Vec::new()) };
    let module = vertex.module()?;
    let written = locations_used(&Declarations::of(&module), &vertex.find(&module)?);
    let module = stages.shader.module()?;
    let entry = stages.shader.find(&module)?;
    let used = StaticUse::of(&module, entry.function);
    let declarations = Declarations::of(&module);
    let inputs = declarations.variables(StorageClass::Input);
    let inputs = inputs.filter(|input| used.contains(input.id));
    let unwritten = inputs.flat_map(|input| locations(&declarations, input));
    let unwritten = unwritten.filter(|(location, _)| !written.contains(location));
    Ok(unwritten.map(|(location, name)| format!("{name} at location {location}")).collect())
}

/// Returns the location and name of an input of a geometry shader. For a block without a location,
/// returns those of its members.
fn locations(declarations: &Declarations, input: &Variable) -> Vec<(u32, String)> {
    let quoted =
        |name: Option<&str>| name.map_or("an input".to_owned(), |name| format!("'{name}'"));
    if let Some(location) = declarations.decoration_value(input.id, Decoration::Location) {
        return vec![(location, quoted(declarations.name(input.id)))];
    }
    // The outer array has an element for each vertex of the primitive.
    let block: Option<Id> = match declarations.ty(input.pointee) {
        Some(Type::Array { element, .. }) => Some(*element),
        _ => None,
    };
    let Some((block, Type::Struct { members })) =
        block.and_then(|block| Some((block, declarations.ty(block)?)))
    else {
        return Vec::new();
    };
    let location = |member| {
        let location = declarations.member_decoration_value(block, member, Decoration::Location)?;
        Some((location, quoted(declarations.member_name(block, member))))
    };
    (0..members.len() as u32).filter_map(location).collect()
}
