//! Compares the inputs of each stage after the vertex shader with the outputs of the stage before.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use spirv::{Decoration, StorageClass};
use vkxfb_rewriter::capture::locations_used;
use vkxfb_rewriter::lower::Shader;
use vkxfb_rewriter::spirv::Id;
use vkxfb_rewriter::spirv::declarations::{Declarations, Type, Variable};
use vkxfb_rewriter::spirv::static_use::StaticUse;

/// Returns a remark for each location from which a shader reads components that the shader before it does not write.
/// The values of these components are undefined, which no driver reports. The shaders are in the order in which they
/// run; `files` has the file of each.
pub(super) fn unwritten(shaders: &[&Shader<'_>], files: &[&Path]) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for (shaders, files) in shaders.windows(2).zip(files.windows(2)) {
        let ([writer, reader], [from, to]) = (shaders, files) else { continue };
        let name = |file: &Path| file.display().to_string();
        let inputs = unwritten_inputs(writer, reader).with_context(|| name(to))?;
        let (from, to) = (name(from), name(to));
        all.extend(inputs.into_iter().map(|(input, written)| match written {
            None => format!("{to} reads {input}, which {from} does not write"),
            Some(written) => format!("{to} reads {input}, of which {from} writes {written} only"),
        }));
    }
    Ok(all)
}

/// Returns each location from which `reader` reads components that `writer` does not write, as text. The second text
/// has the components that `writer` does write, or is `None` if `writer` writes nothing to the location.
fn unwritten_inputs(
    writer: &Shader<'_>,
    reader: &Shader<'_>,
) -> Result<Vec<(String, Option<String>)>> {
    let module = writer.module()?;
    let declarations = Declarations::of(&module);
    let entry = writer.find(&module)?;
    let written = locations_used(&declarations, &entry);
    let mut masks: BTreeMap<u32, u32> = BTreeMap::new();
    let outputs = declarations.variables(StorageClass::Output);
    let outputs = outputs.filter(|output| entry.interface.contains(&output.id));
    for InterfacePlace { location, components, .. } in
        outputs.flat_map(|o| places(&declarations, o))
    {
        *masks.entry(location).or_default() |= components.unwrap_or(ALL);
    }
    let module = reader.module()?;
    let entry = reader.find(&module)?;
    let used = StaticUse::of(&module, entry.function);
    let declarations = Declarations::of(&module);
    let inputs = declarations.variables(StorageClass::Input);
    let inputs = inputs.filter(|input| used.contains(input.id));
    let mut unwritten = Vec::new();
    for InterfacePlace { location, name, ty, components } in
        inputs.flat_map(|i| places(&declarations, i))
    {
        // `places` lists an array, structure or matrix only with its first location. Its other locations, which are
        // missing in `masks`, count as written with all components.
        let mask = masks.get(&location).copied().unwrap_or(ALL);
        if !written.contains(&location) {
            unwritten.push((format!("{name} at location {location}"), None));
        } else if let Some(components) = components
            && components & !mask != 0
        {
            let letters = "xyzw".chars().zip(0..).filter(|(_, bit)| mask >> bit & 1 == 1);
            let letters: String = letters.map(|(letter, _)| letter).collect();
            unwritten.push((format!("{name} ({ty}) at location {location}"), Some(letters)));
        }
    }
    Ok(unwritten)
}

/// All components of a location.
const ALL: u32 = 0b1111;

/// An input or output, or a member of a block, at a location.
struct InterfacePlace {
    location: u32,
    /// The name in quotes, or "an input" if there is no name.
    name: String,
    /// The type in GLSL, without the array of vertices.
    ty: String,
    /// The components: bit n is for component n. `None` for other types than scalars and vectors of up to 32 bits.
    components: Option<u32>,
}

/// Returns the first location of an input or output. For a block without a location, returns the first location of
/// each member that has one.
fn places(declarations: &Declarations, variable: &Variable) -> Vec<InterfacePlace> {
    let quoted =
        |name: Option<&str>| name.map_or("an input".to_owned(), |name| format!("'{name}'"));
    let place = |location, name: Option<&str>, ty, component: Option<u32>| {
        let vector = declarations.vector(ty).filter(|(of, _)| match declarations.ty(*of) {
            Some(Type::Int { width, .. } | Type::Float { width, .. }) => *width <= 32,
            _ => false,
        });
        let components = vector.map(|(_, count)| ((1 << count) - 1) << component.unwrap_or(0));
        InterfacePlace { location, name: quoted(name), ty: declarations.type_name(ty), components }
    };
    // The outer array of an arrayed input or output has an element for each vertex of the primitive, or of the patch.
    // Other arrays are replaced by their element, too.
    let of_vertex = match declarations.ty(variable.pointee) {
        Some(Type::Array { element, .. }) => Some(*element),
        _ => None,
    };
    if let Some(location) = declarations.decoration_value(variable.id, Decoration::Location) {
        let component = declarations.decoration_value(variable.id, Decoration::Component);
        let ty = of_vertex.unwrap_or(variable.pointee);
        return vec![place(location, declarations.name(variable.id), ty, component)];
    }
    let block = of_vertex.unwrap_or(variable.pointee);
    let Some(Type::Struct { members }) = declarations.ty(block) else { return Vec::new() };
    let member = |(member, ty): (u32, &Id)| {
        let value = |decoration| declarations.member_decoration_value(block, member, decoration);
        let location = value(Decoration::Location)?;
        let name = declarations.member_name(block, member);
        Some(place(location, name, *ty, value(Decoration::Component)))
    };
    (0..).zip(members).filter_map(member).collect()
}
