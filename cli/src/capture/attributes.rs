//! Determines which values each input of the shader reads, and makes the vertex buffers from them.

mod choice;
mod encode;
mod inputs;

use std::borrow::Cow;

use anyhow::{Context, Result, bail};
use vkxfb_probe::subject::made_up_vertices;
use vkxfb_rewriter::lower::Shader;
use vkxfb_rewriter::lower::reflect::AttributeUse;
use vkxfb_rewriter::vertex_input::{
    InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
};

pub(super) use self::choice::Choices;
use self::choice::{AttributeSource, Choice};
use self::encode::encode;
use self::inputs::{Input, inputs};
use super::mesh::{Mesh, Values, canonical, meaning};
use super::missing::Missing;

/// The vertex buffers, and the vertex input that reads them.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct VertexData {
    pub(super) input: VertexInput,
    /// The contents of the vertex buffer of each binding.
    pub(super) buffers: Vec<Vec<u8>>,
    /// Whether any attribute has a value for each vertex.
    pub(super) reads_vertices: bool,
}

/// The values that were found for an input of the shader.
struct Filled<'a> {
    /// The origin of the values, for messages.
    name: String,
    /// The values of each component: one number for each vertex, or a single number for all vertices.
    parts: Vec<Cow<'a, Values>>,
    /// The number of vertices. `None` if all vertices read the same value.
    vertices: Option<u32>,
}

/// Returns a line that lists the columns of a mesh, for messages.
fn list(mesh: &Mesh) -> String {
    format!("{} has: {}", mesh.name, mesh.list())
}

/// Makes the vertex buffers for a shader. Inputs that the shader uses and for which there are no values are made up for
/// `made_up` vertices; if that is `None`, they are added to `missing`.
pub(super) fn vertex_data(
    shader: &Shader<'_>,
    mesh: Option<&Mesh>,
    chosen: &[Choices],
    made_up: Option<u32>,
    missing: &mut Missing,
) -> Result<VertexData> {
    let inputs = inputs(shader)?;
    let chosen: Vec<&Choice> = chosen.iter().flat_map(|choices| &choices.0).collect();
    check(&inputs, &chosen)?;
    let mut data = VertexData::default();
    for (binding, input) in (0..).zip(&inputs) {
        let choice = chosen.iter().copied().find(|choice| choice.input.is(input));
        let filled = find(input, mesh, choice)?;
        let made_up = made_up.filter(|_| filled.is_none() && input.is_used);
        if filled.is_none() && input.is_used && made_up.is_none() {
            missing.add(absence(input, mesh));
            missing.remark(mesh.map(list));
            continue;
        }
        // Inputs that the shader declares but does not use need a buffer, too, because the vertex input of a graphics
        // pipeline must have an attribute for each declared input.
        let format = format_of(input, filled.as_ref())?;
        let (location, offset) = (input.read.location, 0);
        let by_vertex =
            made_up.is_some() || filled.as_ref().is_some_and(|filled| filled.vertices.is_some());
        let stride = if by_vertex { format.size() } else { 0 };
        let buffer = VertexBinding { binding, stride, input_rate: InputRate::Vertex };
        let bytes = match (&filled, made_up) {
            (Some(filled), _) => {
                let parts: Vec<&Values> = filled.parts.iter().map(|part| &**part).collect();
                encode(&parts, filled.vertices.unwrap_or(1) as usize, format)
                    .with_context(|| format!("{} for {}", filled.name, input.label()))?
            }
            (None, Some(vertices)) => made_up_vertices(&buffer, vertices, input.read.class),
            (None, None) => vec![0; format.size() as usize],
        };
        data.reads_vertices |= by_vertex;
        data.input.attributes.push(VertexAttribute { location, binding, format, offset });
        data.input.bindings.push(buffer);
        data.buffers.push(bytes);
    }
    Ok(data)
}

/// Checks that each choice names an input of the shader, and that no two choices name the same
/// input.
fn check(inputs: &[Input], chosen: &[&Choice]) -> Result<()> {
    for (at, choice) in chosen.iter().enumerate() {
        let which = &choice.input;
        if inputs.iter().all(|input| !which.is(input)) {
            let all: Vec<_> = inputs.iter().map(Input::label).collect();
            let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
            bail!("--attribute {which}: the shader has no such input; it has: {all}");
        }
        let before = &chosen[..at];
        let is_twice = |input: &&Input| which.is(input) && before.iter().any(|c| c.input.is(input));
        if let Some(input) = inputs.iter().find(is_twice) {
            bail!("--attribute says twice what {} reads", input.label());
        }
    }
    Ok(())
}

/// Returns a message about an input without values, which says how the user can provide them.
fn absence(input: &Input, mesh: Option<&Mesh>) -> String {
    let label = input.label();
    let location = input.read.location.to_string();
    let key = input.name.as_ref().unwrap_or(&location);
    let zeros = vec!["0"; input.read.components as usize].join(",");
    let of_mesh = match mesh {
        Some(_) => format!("--attribute {key}=COLUMN of the mesh"),
        None => "--mesh FILE with vertices".to_owned(),
    };
    format!("{label}: {of_mesh}, or --attribute {key}={zeros} for a constant")
}

/// Finds the values for an input: the values that `choice` selects, otherwise a column with the input's name. `None` if
/// there is neither a choice nor such a column. Fails if there are no values for the choice.
fn find<'a>(
    input: &Input,
    mesh: Option<&'a Mesh>,
    choice: Option<&Choice>,
) -> Result<Option<Filled<'a>>> {
    let Some(Choice { input: which, source }) = choice else {
        return Ok(input.name.as_deref().and_then(|wanted| by_name(wanted, mesh?)));
    };
    Ok(Some(match source {
        AttributeSource::Constant(numbers) => {
            let (takes, given) = (input.read.components as usize, numbers.len());
            if given != 1 && given != takes {
                bail!(
                    "--attribute {which}: {} takes {takes} numbers, and {given} are given",
                    input.label()
                );
            }
            // A single number is used for all components.
            let parts = numbers.iter().cycle().take(takes).cloned().map(Cow::Owned);
            Filled { name: "the constant".to_owned(), parts: parts.collect(), vertices: None }
        }
        AttributeSource::Column(column) => {
            let found =
                mesh.and_then(|mesh| column_of(mesh, |name| name.eq_ignore_ascii_case(column)));
            found.with_context(|| {
                let list = mesh.map_or_else(|| "there is no --mesh".to_owned(), list);
                format!("--attribute {which}: no column '{column}'; {list}")
            })?
        }
    }))
}

/// Finds the column for the input with the name `wanted`. Looks for these columns, in this order: one with the same
/// name; one that is named as the part of `wanted` after the last dot; one with the same [canonical] name (without
/// prefixes, and with synonyms replaced); one whose canonical name is the [meaning] of `wanted` (what its last words
/// mean). `None` if there is none of these.
fn by_name<'a>(wanted: &str, mesh: &'a Mesh) -> Option<Filled<'a>> {
    let last = wanted.rsplit('.').next().unwrap_or(wanted);
    column_of(mesh, |name| name.eq_ignore_ascii_case(wanted))
        .or_else(|| column_of(mesh, |name| name.eq_ignore_ascii_case(last)))
        .or_else(|| column_of(mesh, |name| canonical(name) == canonical(wanted)))
        .or_else(|| column_of(mesh, |name| meaning(wanted) == Some(&*canonical(name))))
}

/// Finds the first column of a mesh with a wanted name.
fn column_of(mesh: &Mesh, is_wanted: impl Fn(&str) -> bool) -> Option<Filled<'_>> {
    let column = mesh.column(is_wanted)?;
    let parts = column.parts.iter().map(|part| Cow::Borrowed(&mesh.scalars[*part].values));
    let name = format!("column {}", column.name);
    Some(Filled { name, parts: parts.collect(), vertices: Some(mesh.vertices) })
}

/// Returns the vertex format into which the values are encoded.
fn format_of(input: &Input, filled: Option<&Filled<'_>>) -> Result<VertexFormat> {
    let AttributeUse { class, bits, components, .. } = input.read;
    let found = filled.map_or(components, |filled| filled.parts.len() as u32);
    // Missing components of 64-bit formats have no default values.
    if bits == 64 && found < components {
        let name = filled.map_or("", |filled| &filled.name);
        bail!("{} reads {components} components of 64 bits, and {name} has {found}", input.label());
    }
    let format = VertexFormat::of(class, bits, components.min(found));
    format.with_context(|| format!("{} is of a type that no format fills", input.label()))
}
