//! Compares the inputs of each stage after the vertex shader with the outputs of the stage before.

use std::path::Path;

use anyhow::{Context, Result};
use spirv::{Decoration, StorageClass};
use vkxfb::internal::capture::locations_used;
use vkxfb::internal::spirv::Id;
use vkxfb::internal::spirv::declarations::{Declarations, Type, Variable};
use vkxfb::internal::spirv::static_use::StaticUse;
use vkxfb::lower::Shader;

/// Returns a remark for each location that a shader reads and the shader before it does not write.
/// Such inputs have undefined values, which no driver reports. The shaders are in the order in
/// which they run; `files` has the file of each.
pub(super) fn unwritten(shaders: &[&Shader<'_>], files: &[&Path]) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for (shaders, files) in shaders.windows(2).zip(files.windows(2)) {
        let ([writer, reader], [from, to]) = (shaders, files) else { continue };
        let name = |file: &Path| file.display().to_string();
        let inputs = unwritten_inputs(writer, reader).with_context(|| name(to))?;
        let said =
            |input| format!("{} reads {input}, which {} does not write", name(to), name(from));
        all.extend(inputs.into_iter().map(said));
    }
    Ok(all)
}

/// Names each location that `reader` reads and `writer` does not write.
fn unwritten_inputs(writer: &Shader<'_>, reader: &Shader<'_>) -> Result<Vec<String>> {
    let module = writer.module()?;
    let written = locations_used(&Declarations::of(&module), &writer.find(&module)?);
    let module = reader.module()?;
    let entry = reader.find(&module)?;
    let used = StaticUse::of(&module, entry.function);
    let declarations = Declarations::of(&module);
    let inputs = declarations.variables(StorageClass::Input);
    let inputs = inputs.filter(|input| used.contains(input.id));
    let unwritten = inputs.flat_map(|input| locations(&declarations, input));
    let unwritten = unwritten.filter(|(location, _)| !written.contains(location));
    Ok(unwritten.map(|(location, name)| format!("{name} at location {location}")).collect())
}

/// Returns the location and name of an input. For a block without a location,
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
