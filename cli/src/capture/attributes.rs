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
use self::choice::{COMPUTED, Choice, Source};
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
    pub(super) reads_instances: bool,
    /// Whether an input reads which joints of a skin move a vertex.
    pub(super) reads_joints: bool,
}

/// The files with columns that inputs can read.
#[derive(Clone, Copy)]
pub(super) struct Files<'a> {
    /// The file with a row for each vertex (`--mesh`), if the user names one.
    pub(super) mesh: Option<&'a Mesh>,
    /// The file with a row for each instance (`--per-instance`), if the user names one.
    pub(super) instances: Option<&'a Mesh>,
}

/// The values that were found for an input of the shader. `parts` has the values of each component: one number for each
/// vertex or instance, or a single number for a constant.
struct Filled<'a> {
    /// The origin of the values, for messages.
    name: String,
    parts: Vec<Cow<'a, Values>>,
    elements: u32,
    rate: Rate,
}

/// The rate at which an input advances to the next element: for each vertex, for each instance, or
/// never, because all vertices read the same value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rate {
    Vertex,
    Instance,
    Never,
}

impl Files<'_> {
    /// Returns a line for each file that lists the columns of the file, for messages. `None` without files.
    fn list(&self) -> Option<String> {
        let line = |file: &Mesh| format!("{} has: {}", file.name, file.list());
        let files = [self.mesh, self.instances].into_iter().flatten();
        let lines: Vec<String> = files.map(line).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// Makes the vertex buffers for a shader. Inputs that the shader uses and for which there are no values are made up for
/// `made_up` vertices; if that is `None`, they are added to `missing`.
pub(super) fn vertex_data(
    shader: &Shader<'_>,
    files: Files<'_>,
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
        let filled = find(input, files, choice)?;
        let made_up = made_up.filter(|_| filled.is_none() && input.is_used);
        if filled.is_none() && input.is_used && made_up.is_none() {
            missing.add(absence(input, files));
            missing.remark(files.list());
            continue;
        }
        // Inputs that the shader declares but does not use need a buffer, too, because the vertex input of a graphics
        // pipeline must have an attribute for each declared input.
        let format = format_of(input, filled.as_ref(), choice)?;
        let (location, offset) = (input.read.location, 0);
        let otherwise = if made_up.is_some() { Rate::Vertex } else { Rate::Never };
        let rate = filled.as_ref().map_or(otherwise, |filled| filled.rate);
        let input_rate = match rate {
            Rate::Instance => InputRate::INSTANCE,
            Rate::Vertex | Rate::Never => InputRate::Vertex,
        };
        let stride = if rate == Rate::Never { 0 } else { format.size() };
        let buffer = VertexBinding { binding, stride, input_rate };
        let bytes = match (&filled, made_up) {
            (Some(filled), _) => {
                let parts: Vec<&Values> = filled.parts.iter().map(|part| &**part).collect();
                encode(&parts, filled.elements as usize, format)
                    .with_context(|| format!("{} for {}", filled.name, input.label()))?
            }
            (None, Some(vertices)) => made_up_vertices(&buffer, vertices, input.read.class),
            (None, None) => vec![0; format.size() as usize],
        };
        data.reads_joints |=
            input.is_used && filled.as_ref().is_some_and(|filled| filled.name == "column joints");
        data.reads_vertices |= rate == Rate::Vertex;
        data.reads_instances |= rate == Rate::Instance;
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
fn absence(input: &Input, files: Files<'_>) -> String {
    let label = input.label();
    let location = input.read.location.to_string();
    let key = input.name.as_ref().unwrap_or(&location);
    let zeros = vec!["0"; input.read.components as usize].join(",");
    let mut ways = if files.mesh.is_some() || files.instances.is_some() {
        vec![format!("--attribute {key}=COLUMN of a file")]
    } else {
        vec!["--mesh FILE with vertices".to_owned()]
    };
    ways.push(format!("--attribute {key}={zeros} for a constant"));
    if meaning(key) == Some("normal") && files.mesh.is_some_and(|mesh| mesh.triangles.is_some()) {
        ways.push(format!("--attribute {key}={COMPUTED} for normals of the triangles"));
    }
    format!("{label}: {}", ways.join(", or "))
}

/// Finds the values for an input: the values that `choice` selects, otherwise a column with the input's name. `None` if
/// there is neither a choice nor such a column. Fails if there are no values for the choice.
fn find<'a>(
    input: &Input,
    files: Files<'a>,
    choice: Option<&Choice>,
) -> Result<Option<Filled<'a>>> {
    let Some(Choice { input: which, source, format }) = choice else {
        return Ok(input.name.as_deref().and_then(|wanted| by_name(wanted, files)));
    };
    Ok(Some(match source {
        Source::Constant(numbers) => {
            let takes = format.map_or(input.read.components, VertexFormat::components) as usize;
            let given = numbers.len();
            if given != 1 && given != takes {
                bail!(
                    "--attribute {which}: {} takes {takes} numbers, and {given} are given",
                    input.label()
                );
            }
            // A single number is used for all components.
            let parts = numbers.iter().cycle().take(takes).cloned().map(Cow::Owned);
            Filled {
                name: "the constant".to_owned(),
                parts: parts.collect(),
                elements: 1,
                rate: Rate::Never,
            }
        }
        Source::Computed => {
            let mesh = files.mesh.with_context(|| {
                format!("--attribute {which}={COMPUTED}: normals are those of a --mesh")
            })?;
            let normals = mesh.computed_normals();
            Filled {
                name: "computed normals".to_owned(),
                parts: normals.with_context(|| mesh.name.clone())?.map(Cow::Owned).to_vec(),
                elements: mesh.vertices,
                rate: Rate::Vertex,
            }
        }
        Source::Column(column) => {
            let found = column_of(files, |name| name.eq_ignore_ascii_case(column));
            found.with_context(|| {
                let list = files.list().unwrap_or_else(|| "there is no --mesh".to_owned());
                format!("--attribute {which}: no column '{column}'; {list}")
            })?
        }
    }))
}

/// Finds the column for the input with the name `wanted`. Looks for these columns, in this order: one with the same
/// name; one that is named as the part of `wanted` after the last dot; one with the same [canonical] name (without
/// prefixes, and with synonyms replaced); one whose canonical name is the [meaning] of `wanted` (what its last words
/// mean). `None` if there is none of these.
fn by_name<'a>(wanted: &str, files: Files<'a>) -> Option<Filled<'a>> {
    let last = wanted.rsplit('.').next().unwrap_or(wanted);
    column_of(files, |name| name.eq_ignore_ascii_case(wanted))
        .or_else(|| column_of(files, |name| name.eq_ignore_ascii_case(last)))
        .or_else(|| column_of(files, |name| canonical(name) == canonical(wanted)))
        .or_else(|| column_of(files, |name| meaning(wanted) == Some(&*canonical(name))))
}

/// Finds the first column with a wanted name: in the mesh, and then in the file with a row for each instance. `None` if
/// neither has such a column.
fn column_of<'a>(files: Files<'a>, is_wanted: impl Fn(&str) -> bool) -> Option<Filled<'a>> {
    let rates = [(files.mesh, Rate::Vertex), (files.instances, Rate::Instance)];
    rates.into_iter().find_map(|(file, rate)| {
        let file = file?;
        let column = file.column(&is_wanted)?;
        let parts = column.parts.iter().map(|part| Cow::Borrowed(&file.scalars[*part].values));
        let name = format!("column {}", column.name);
        Some(Filled { name, parts: parts.collect(), elements: file.vertices, rate })
    })
}

/// Returns the vertex format into which the values are encoded.
fn format_of(
    input: &Input,
    filled: Option<&Filled<'_>>,
    choice: Option<&Choice>,
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
    let found = filled.map_or(components, |filled| filled.parts.len() as u32);
    // Missing components of 64-bit formats have no default values.
    if bits == 64 && found < components {
        let name = filled.map_or("", |filled| &filled.name);
        bail!("{} reads {components} components of 64 bits, and {name} has {found}", input.label());
    }
    let format = VertexFormat::of(class, bits, components.min(found));
    format.with_context(|| format!("{} is of a type that no format fills", input.label()))
}
