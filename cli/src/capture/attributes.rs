//! Which columns of a mesh are which inputs of a shader, and their bytes.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use half::f16;
use spirv::StorageClass;
use vkxfb::internal::capture::interface_variables;
use vkxfb::internal::reflect::{AttributeUse, vertex_reads};
use vkxfb::internal::spirv::Id;
use vkxfb::internal::spirv::declarations::{Declarations, Type};
use vkxfb::internal::spirv::entry_point::find_vertex_shader;
use vkxfb::internal::spirv::static_use::StaticUse;
use vkxfb::lower::Shader;
use vkxfb::vertex_input::{
    InputRate, NumericFormat, UnknownFormat, VertexAttribute, VertexBinding, VertexFormat,
    VertexInput,
};

use super::mesh::{Column, Mesh, Values, canonical};

/// A column for the attribute at a location, as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    location: u32,
    column: String,
    /// What its numbers are made into, otherwise what the shader reads.
    format: Option<VertexFormat>,
}

/// Vertex buffers, and what reads them.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct VertexData {
    pub(super) input: VertexInput,
    /// By binding.
    pub(super) buffers: Vec<Vec<u8>>,
}

/// An input of the shader.
struct Input {
    read: AttributeUse,
    /// The variable's name; behind it the way to what is read, where it has several attributes.
    name: Option<String>,
    ty: String,
    is_used: bool,
}

impl Input {
    /// The input as messages name it.
    fn label(&self) -> String {
        let name = self.name.as_ref().map_or_else(String::new, |name| format!(" '{name}'"));
        format!("input{name} at location {} ({})", self.read.location, self.ty)
    }
}

/// Reads `LOCATION=COLUMN[:FORMAT]`.
pub(super) fn parse_chosen(text: &str) -> Result<Chosen, String> {
    let wrong =
        || "LOCATION=COLUMN[:FORMAT], as in 0=position or 1=color:R8G8B8A8_UNORM".to_owned();
    let (location, rest) = text.split_once('=').ok_or_else(wrong)?;
    let (column, format) = match rest.rsplit_once(':') {
        None => (rest, None),
        Some((column, format)) => (column, Some(format)),
    };
    let format = format.map(str::parse).transpose();
    let format = format.map_err(|error: UnknownFormat| error.to_string())?;
    let column = column.trim().to_owned();
    let location = location.trim().parse().map_err(|_| wrong())?;
    if column.is_empty() {
        return Err(wrong());
    }
    Ok(Chosen { location, column, format })
}

/// The vertex buffers for a shader: what it reads, of a mesh.
pub(super) fn vertex_data(
    shader: &Shader<'_>,
    mesh: Option<&Mesh>,
    chosen: &[Chosen],
) -> Result<VertexData> {
    let inputs = inputs(shader)?;
    let mut by_location = BTreeMap::new();
    for choice in chosen {
        if by_location.insert(choice.location, choice).is_some() {
            bail!("--attribute gives location {} two columns", choice.location);
        }
        if inputs.iter().all(|input| input.read.location != choice.location) {
            let all: Vec<_> = inputs.iter().map(Input::label).collect();
            let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
            bail!(
                "--attribute: the shader has no input at location {}; it has: {all}",
                choice.location
            );
        }
    }
    let mut data = VertexData::default();
    for (binding, input) in (0..).zip(&inputs) {
        let choice = by_location.get(&input.read.location).copied();
        let column = match mesh {
            Some(mesh) => find(input, mesh, choice)?.map(|column| (mesh, column)),
            None if input.is_used => {
                bail!("{} needs a vertex attribute: --mesh gives a file of them", input.label())
            }
            None => None,
        };
        // What the shader declares and does not use is read all the same, by a graphics pipeline.
        let format = format_of(input, column.as_ref().map(|(_, column)| column), choice)?;
        let bytes = match &column {
            Some((mesh, column)) => encode(mesh, column, format)
                .with_context(|| format!("column {} for {}", column.name, input.label()))?,
            None => vec![0; format.size() as usize],
        };
        let (location, offset) = (input.read.location, 0);
        // Without a column it is the same element for every vertex.
        let stride = if column.is_some() { format.size() } else { 0 };
        data.input.attributes.push(VertexAttribute { location, binding, format, offset });
        let input_rate = InputRate::Vertex;
        data.input.bindings.push(VertexBinding { binding, stride, input_rate });
        data.buffers.push(bytes);
    }
    Ok(data)
}

/// The inputs of a shader, a location each.
fn inputs(shader: &Shader<'_>) -> Result<Vec<Input>> {
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
        // That which begins last at the location or before it.
        let begins = variables.iter().filter_map(|v| Some((v.location?, v)));
        let own =
            begins.filter(|(first, _)| *first <= read.location).max_by_key(|(first, _)| *first);
        let Some((first, variable)) = own else {
            let (name, ty, is_used) = (None, "of a type of its own".to_owned(), true);
            return Input { read: *read, name, ty, is_used };
        };
        // Each scalar, vector or column is an attribute; one of 64 bits may have two locations.
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

/// The way to a scalar, a vector or a column in a value, as GLSL writes it, where so many come before.
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

/// The column for an input: the one that was chosen, or one of its name.
fn find(input: &Input, mesh: &Mesh, choice: Option<&Chosen>) -> Result<Option<Column>> {
    if let Some(choice) = choice {
        let column = mesh.column(|name| name.eq_ignore_ascii_case(&choice.column));
        let column = column.with_context(|| {
            let Chosen { location, column, .. } = choice;
            let (name, all) = (&mesh.name, mesh.list());
            format!("--attribute {location}: {name} has no column '{column}'; it has: {all}")
        })?;
        return Ok(Some(column));
    }
    let by_name = input.name.as_deref().and_then(|wanted| {
        let last = wanted.rsplit('.').next().unwrap_or(wanted);
        mesh.column(|name| name.eq_ignore_ascii_case(wanted))
            .or_else(|| mesh.column(|name| name.eq_ignore_ascii_case(last)))
            .or_else(|| mesh.column(|name| canonical(name) == canonical(wanted)))
    });
    match by_name {
        Some(column) => Ok(Some(column)),
        None if !input.is_used => Ok(None),
        None => bail!(
            "{} has no column in {}, which has: {}; --attribute {}=COLUMN takes another",
            input.label(),
            mesh.name,
            mesh.list(),
            input.read.location
        ),
    }
}

/// What the numbers of a column are made into.
fn format_of(
    input: &Input,
    column: Option<&Column>,
    choice: Option<&Chosen>,
) -> Result<VertexFormat> {
    let AttributeUse { class, bits, components, .. } = input.read;
    if let Some(format) = choice.and_then(|choice| choice.format) {
        let name = format.to_string();
        if name.contains("PACK") || name.starts_with('B') {
            bail!(
                "{name} for {}: columns are made into formats of whole components, red first",
                input.label()
            );
        }
        return Ok(format);
    }
    let found = column.map_or(components, |column| column.parts.len() as u32);
    // Those of 64 bits have no values that fill them up.
    if bits == 64 && found < components {
        let column = column.map_or("", |column| &column.name);
        bail!(
            "{} reads {components} components of 64 bits, and column {column} has {found}",
            input.label()
        );
    }
    let format = VertexFormat::of(class, bits, components.min(found));
    format.with_context(|| format!("{} is of a type that no format fills", input.label()))
}

/// The bytes of a column, tightly packed; what it lacks of a format is 0, and 1 for the fourth component.
fn encode(mesh: &Mesh, column: &Column, format: VertexFormat) -> Result<Vec<u8>> {
    let parts: Vec<Option<&Values>> = (0..format.components() as usize)
        .map(|part| column.parts.get(part).map(|part| &mesh.scalars[*part].values))
        .collect();
    let width = format.size() * 8 / format.components();
    let mut bytes = Vec::with_capacity(mesh.vertices as usize * format.size() as usize);
    for vertex in 0..mesh.vertices as usize {
        for (part, values) in parts.iter().enumerate() {
            let number = number(*values, vertex, part, format.numeric(), width);
            let number = number.with_context(|| format!("vertex {vertex}, as {format}"))?;
            bytes.extend(&number.to_le_bytes()[..width as usize / 8]);
        }
    }
    Ok(bytes)
}

/// The bits of a component.
fn number(
    values: Option<&Values>,
    vertex: usize,
    part: usize,
    numeric: NumericFormat,
    width: u32,
) -> Result<u64> {
    let absent = if part == 3 { 1 } else { 0 };
    let float = || values.map_or(f64::from(absent), |values| values.float(vertex));
    let normalized = |low: f64, one: f64| (float().clamp(low, 1.0) * one).round();
    Ok(match numeric {
        NumericFormat::Sfloat => match width {
            16 => f16::from_f64(float()).to_bits().into(),
            32 => (float() as f32).to_bits().into(),
            _ => float().to_bits(),
        },
        NumericFormat::Unorm => normalized(0.0, ((1u64 << width) - 1) as f64) as u64,
        NumericFormat::Snorm => {
            (normalized(-1.0, ((1u64 << (width - 1)) - 1) as f64) as i64).cast_unsigned()
        }
        _ => {
            let int = match values {
                None => Some(i128::from(absent)),
                Some(values) => values.int(vertex),
            };
            let int = int.with_context(|| format!("{} is no integer", float()))?;
            let is_signed = matches!(numeric, NumericFormat::Sint | NumericFormat::Sscaled);
            let range = match is_signed {
                true => -(1i128 << (width - 1))..1i128 << (width - 1),
                false => 0..1i128 << width,
            };
            if !range.contains(&int) {
                bail!("{int} is out of range");
            }
            int as u64
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read() {
        let chosen =
            |column: &str, format| Ok(Chosen { location: 1, column: column.into(), format });
        assert_eq!(parse_chosen("1=uv"), chosen("uv", None));
        let format = Some(VertexFormat::R8G8B8A8Unorm);
        assert_eq!(parse_chosen(" 1 = color : r8g8b8a8_unorm"), chosen("color", format));
        for wrong in ["", "1", "1=", "x=uv", "1=uv:", "1=uv:R9", "1=:R8_UINT"] {
            assert!(parse_chosen(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_as_formats_have_them() {
        let bits =
            |values: &Values, numeric, width| number(Some(values), 0, 0, numeric, width).ok();
        let float = |value| Values::Float(vec![value]);
        let byte = |value| Values::Int { values: vec![value], one: 255 };
        assert_eq!(bits(&float(0.5), NumericFormat::Sfloat, 16), Some(0x3800));
        assert_eq!(bits(&float(-2.0), NumericFormat::Sfloat, 32), Some(0xc000_0000));
        assert_eq!(bits(&byte(200), NumericFormat::Unorm, 8), Some(200));
        assert_eq!(bits(&float(1.5), NumericFormat::Unorm, 16), Some(0xffff));
        assert_eq!(bits(&float(-1.0), NumericFormat::Snorm, 8).map(|b| b as u8), Some(0x81));
        assert_eq!(bits(&byte(200), NumericFormat::Uint, 8), Some(200));
        assert_eq!(bits(&byte(-1), NumericFormat::Sint, 32).map(|b| b as u32), Some(u32::MAX));
        assert_eq!(bits(&float(3.0), NumericFormat::Sscaled, 16), Some(3));
        assert_eq!(bits(&float(0.5), NumericFormat::Uint, 32), None);
        assert_eq!(bits(&byte(256), NumericFormat::Uint, 8), None);
        assert_eq!(bits(&byte(-1), NumericFormat::Uint, 32), None);
        assert_eq!(number(None, 0, 3, NumericFormat::Uint, 32).ok(), Some(1));
        assert_eq!(number(None, 0, 2, NumericFormat::Sfloat, 32).ok(), Some(0));
    }
}
