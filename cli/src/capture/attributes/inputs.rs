//! Lists the inputs of a shader, one for each vertex attribute that it declares.

use anyhow::Result;
use spirv::StorageClass;
use vkxfb_rewriter::capture::interface_variables;
use vkxfb_rewriter::lower::Shader;
use vkxfb_rewriter::lower::reflect::{AttributeUse, vertex_reads};
use vkxfb_rewriter::spirv::Id;
use vkxfb_rewriter::spirv::declarations::{Declarations, Type};
use vkxfb_rewriter::spirv::entry_point::find_vertex_shader;
use vkxfb_rewriter::spirv::static_use::StaticUse;

/// An input that the shader declares for a vertex attribute, whether or not the shader uses it. A variable with several
/// attributes, such as a matrix, has an input for each.
pub(super) struct Input {
    pub(super) read: AttributeUse,
    /// The name of the input variable, followed by the path to the part of it that is at this location, if
    /// the variable has several parts. `None` if the variable has no name.
    pub(super) name: Option<String>,
    ty: String,
    /// Whether the shader uses the variable.
    pub(super) is_used: bool,
}

impl Input {
    pub(super) fn label(&self) -> String {
        let name = self.name.as_ref().map_or_else(String::new, |name| format!(" '{name}'"));
        format!("input{name} at location {} ({})", self.read.location, self.ty)
    }
}

/// Returns the inputs of a shader, one for each vertex attribute.
pub(super) fn inputs(shader: &Shader<'_>) -> Result<Vec<Input>> {
    let reads = vertex_reads(shader)?;
    let module = shader.module()?;
    let entry = match shader.find(&module) {
        Ok(entry) => entry,
        Err(_) => find_vertex_shader(&module, shader.entry_point)?,
    };
    let used = StaticUse::of(&module, entry.function);
    let declarations = Declarations::of(&module);
    let variables = interface_variables(&declarations, &entry, StorageClass::Input);
    let input = |read: &AttributeUse| {
        // Find the variable to which the location belongs: the one with the highest first location up to
        // `read.location`.
        let begins = variables.iter().filter_map(|v| Some((v.location?, v)));
        let own =
            begins.filter(|(first, _)| *first <= read.location).max_by_key(|(first, _)| *first);
        let Some((first, variable)) = own else {
            let (name, ty, is_used) = (None, "of a type of its own".to_owned(), true);
            return Input { read: *read, name, ty, is_used };
        };
        // Count the attributes of the variable that come before this one. Each scalar, vector or matrix column is an
        // attribute, and an attribute with 64-bit components may take two locations.
        let all = reads.attributes.iter().map(|a| a.location);
        let before = all.filter(|l| (first..read.location).contains(l)).count();
        let ty = declarations.variable(variable.variable).map(|v| v.pointee);
        let ty = ty.and_then(|ty| declarations.type_at(ty, &variable.path));
        let part = ty.and_then(|ty| part(&declarations, ty, &mut { before }));
        let name = variable.name.as_ref().map(|name| name.clone() + &part.unwrap_or_default());
        Input {
            read: *read,
            name,
            ty: variable.ty.clone(),
            is_used: used.contains(variable.variable),
        }
    };
    Ok(reads.attributes.iter().map(input).collect())
}

/// Numbers the scalars, vectors and matrix columns in a type from 0, and returns the path in GLSL to the one with the
/// number `before`. If the type has fewer of them, subtracts their number from `before`, and returns `None`.
fn part(declarations: &Declarations, ty: Id, before: &mut usize) -> Option<String> {
    let same = |part_ty: Id, count: u32, before: &mut usize| {
        (0..count)
            .find_map(|index| Some(format!("[{index}]") + &part(declarations, part_ty, before)?))
    };
    match declarations.ty(ty)? {
        Type::Matrix { column, count } => same(*column, *count, before),
        Type::Array { element, length } => same(*element, declarations.constant(*length)?, before),
        Type::Struct { members } => (0..).zip(members).find_map(|(index, member)| {
            let inner = part(declarations, *member, before)?;
            let name = declarations.member_name(ty, index);
            Some(name.map_or_else(|| format!(".{index}"), |name| format!(".{name}")) + &inner)
        }),
        _ if *before == 0 => Some(String::new()),
        _ => {
            *before -= 1;
            None
        }
    }
}
