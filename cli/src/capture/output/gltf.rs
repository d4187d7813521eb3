//! Writes the captured records as binary glTF. Each record becomes a vertex, and there are no indices.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use gltf::binary::{Glb, Header};
use serde_json::{Map, Value, json};

use super::Shown;
use super::vertices::Vertices;
use crate::capture::records::{Column, Number, Role};

/// Values that
/// [glTF](https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html#schema-reference-accessor)
/// defines for accessors and buffer views.
const FLOAT: u32 = 5126;
const ARRAY_BUFFER: u32 = 34962;
/// The types of accessors, by the number of components less one.
const TYPES: [&str; 4] = ["SCALAR", "VEC2", "VEC3", "VEC4"];

/// The meaning of an attribute for readers of glTF, which determines how its values are converted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The position of the vertex, with three components.
    Position,
    /// A normal, scaled to length 1.
    Normal,
    AsIs,
}

struct Attribute<'a> {
    name: String,
    column: &'a Column,
    meaning: Meaning,
    components: usize,
}

pub(super) fn render(shown: &Shown<'_>) -> Result<Vec<u8>> {
    if shown.records.vertices == 0 {
        bail!("nothing was captured, and a mesh of glTF has vertices");
    }
    let vertices = Vertices::of(shown)?;
    let mut binary = Vec::new();
    let (mut views, mut accessors, mut attributes) = (Vec::new(), Vec::new(), Map::new());
    for attribute in self::attributes(shown, &vertices) {
        let offset = binary.len();
        let (low, high) = attribute.write(shown, &vertices, &mut binary)?;
        attributes.insert(attribute.name.clone(), json!(accessors.len()));
        let mut accessor = json!({
            "bufferView": views.len(),
            "componentType": FLOAT,
            "count": vertices.records.len(),
            "type": TYPES[attribute.components - 1],
        });
        if attribute.meaning == Meaning::Position {
            (accessor["min"], accessor["max"]) = (json!(low), json!(high));
        }
        accessors.push(accessor);
        let length = binary.len() - offset;
        let view = json!({
            "buffer": 0, "byteOffset": offset, "byteLength": length, "target": ARRAY_BUFFER,
        });
        views.push(view);
    }
    let mode = match shown.topology.vertices_per_primitive() {
        1 => 0,
        2 => 1,
        _ => 4,
    };
    let mut asset = json!({ "version": "2.0", "generator": format!("vkxfb: {}", shown.summary()) });
    if !vertices.remarks.is_empty() {
        asset["extras"] = json!({ "remarks": vertices.remarks });
    }
    let document = json!({
        "asset": asset,
        "scene": 0,
        "scenes": [{ "nodes": [0] }],
        "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [{ "attributes": attributes, "mode": mode }] }],
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{ "byteLength": binary.len() }],
    });
    in_chunks(&document, &binary)
}

/// Returns the attributes for all columns. The position, and the first normal, texture coordinates and colour, get the
/// names that glTF's specification has for them. Every other attribute gets a name that is made from the name of its
/// column. No name is used twice.
fn attributes<'a>(shown: &Shown<'a>, vertices: &Vertices<'_>) -> Vec<Attribute<'a>> {
    let columns = shown.records.columns;
    let mut taken = BTreeSet::new();
    let mut attributes = Vec::new();
    for column in columns {
        let count = column.letters.len().max(1);
        let (name, meaning, components) = match column.role() {
            _ if vertices.are_of(column) => ("POSITION", Meaning::Position, 3),
            Some(Role::Normal) => ("NORMAL", Meaning::Normal, 3),
            Some(Role::Texcoord) => ("TEXCOORD_0", Meaning::AsIs, 2),
            Some(Role::Color) => ("COLOR_0", Meaning::AsIs, count),
            None => ("", Meaning::AsIs, count),
        };
        // The names of attributes that are not in the specification begin with an underscore.
        let own = || {
            let plain =
                |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
            format!("_{}", column.name.chars().map(plain).collect::<String>())
        };
        let known = Some(name.to_owned()).filter(|name| !name.is_empty() && !taken.contains(name));
        let is_known = known.is_some();
        let name = known.unwrap_or_else(own);
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut free = std::iter::once(name.clone()).chain(numbered);
        let Some(name) = free.find(|name| taken.insert(name.clone())) else { continue };
        let (meaning, components) =
            if is_known { (meaning, components) } else { (Meaning::AsIs, count) };
        attributes.push(Attribute { name, column, meaning, components });
    }
    attributes
}

impl Attribute<'_> {
    /// Writes the values for the vertices, and returns the minimum and maximum of each component.
    fn write(
        &self,
        shown: &Shown<'_>,
        vertices: &Vertices<'_>,
        binary: &mut Vec<u8>,
    ) -> Result<(Vec<f32>, Vec<f32>)> {
        let records = shown.records;
        let mut low = vec![f32::INFINITY; self.components];
        let mut high = vec![f32::NEG_INFINITY; self.components];
        for (index, &vertex) in vertices.records.iter().enumerate() {
            let numbers: Vec<f64> = match self.meaning {
                Meaning::Position => vertices.positions[index].to_vec(),
                Meaning::Normal | Meaning::AsIs => {
                    let numbers = records.numbers(vertex, self.column);
                    if let Some(number) = numbers.iter().find(|number| !is_held(**number)) {
                        let name = &self.column.name;
                        bail!(
                            "vertex {vertex} of {name} has {number}, and glTF's floats have no such \
                             integer; --varyings leaves an output out"
                        );
                    }
                    numbers.into_iter().map(Number::to_f64).collect()
                }
            };
            let length = numbers.iter().map(|number| number * number).sum::<f64>().sqrt();
            let divisor =
                if self.meaning == Meaning::Normal && length > 0.0 { length } else { 1.0 };
            for (component, number) in numbers.into_iter().take(self.components).enumerate() {
                let number = (number / divisor) as f32;
                if !number.is_finite() {
                    let name = &self.column.name;
                    bail!("vertex {vertex} of {name} has {number}, which glTF has no number for");
                }
                low[component] = low[component].min(number);
                high[component] = high[component].max(number);
                binary.extend(number.to_le_bytes());
            }
        }
        Ok((low, high))
    }
}

/// Whether a 32-bit float can represent the number exactly. Only integers are checked: floats and doubles are always
/// accepted.
const fn is_held(number: Number) -> bool {
    match number {
        Number::Int(value) => value as f32 as i128 == value as i128,
        Number::Uint(value) => value as f32 as i128 == value as i128,
        Number::Float(_) | Number::Double(_) => true,
    }
}

/// Returns a binary glTF file with a chunk of JSON and a chunk of bytes, each padded to whole
/// dwords.
fn in_chunks(document: &Value, binary: &[u8]) -> Result<Vec<u8>> {
    let json = serde_json::to_vec(document)?;
    let all = json.len() + binary.len() + 64;
    u32::try_from(all).context("more bytes than a file of glTF has")?;
    let header = Header { magic: *b"glTF", version: 2, length: 0 };
    Ok(Glb { header, json: json.into(), bin: Some(binary.into()) }.to_vec()?)
}
