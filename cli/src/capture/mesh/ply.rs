//! Reads PLY files, both text and binary, in either byte order.

use anyhow::{Context, Result, anyhow, bail};
use ply_rs_bw::parser::Parser;
use ply_rs_bw::ply::{DefaultElement, Property, PropertyType, ScalarType};

use super::{Parsed, Scalar, Values, add_face};

/// The names that PLY files use for the property with the vertices of a face.
const FACE_LISTS: [&str; 2] = ["vertex_indices", "vertex_index"];

/// The names of the properties whose integers mean colours from 0 to 1.
const COLORS: [&str; 4] = ["red", "green", "blue", "alpha"];

pub(super) fn parse(mut bytes: &[u8]) -> Result<Parsed> {
    let all = bytes;
    let header = Parser::<DefaultElement>::new().read_ply_header(&mut bytes);
    // Such elements take no bytes, so the end of the file would not end a loop over them.
    let empty = header.ok().and_then(|header| {
        let mut elements = header.elements.into_iter().map(|(_, element)| element);
        elements.find(|element| element.properties.is_empty() && element.count > 0)
    });
    if let Some(empty) = empty {
        bail!("element '{}' has no properties", empty.name);
    }
    bytes = all;
    let ply = Parser::<DefaultElement>::new().read_ply(&mut bytes);
    let ply = ply.map_err(|error| explain(all, &error.to_string()))?;
    let element = |name: &str| Some((ply.header.elements.get(name)?, ply.payload.get(name)?));
    let Some((vertex, vertices)) = element("vertex") else {
        bail!("no element 'vertex'");
    };
    let mut parsed = Parsed { vertices: vertices.len(), ..Parsed::default() };
    for (name, property) in &vertex.properties {
        let PropertyType::Scalar(ty) = &property.data_type else { continue };
        let values = vertices.iter().map(|vertex| vertex.get(name).and_then(PlyNumber::of));
        let values: Vec<PlyNumber> = values
            .collect::<Option<_>>()
            .with_context(|| format!("a vertex without the property '{name}'"))?;
        let values = match values.iter().map(PlyNumber::int).collect::<Option<Vec<i128>>>() {
            Some(values) if is_integer(ty) => Values::Int { values, one: one_of(name, ty) },
            _ => Values::Float(values.iter().map(PlyNumber::float).collect()),
        };
        parsed.scalars.push(Scalar { name: name.clone(), values });
    }
    if let Some((_, faces)) = element("face") {
        let mut triangles = Vec::new();
        for (number, face) in faces.iter().enumerate() {
            let list = FACE_LISTS.iter().find_map(|name| face.get(*name));
            let list = list.and_then(Property::to_u32_list);
            let list = list.with_context(|| format!("face {number} has no list of vertices"))?;
            add_face(&mut triangles, &list);
        }
        // A point cloud may declare an element for faces, and have no faces.
        parsed.triangles = Some(triangles).filter(|triangles| !triangles.is_empty());
    }
    Ok(parsed)
}

/// Returns an error for a file that the parser rejects. The most frequent reason is that the file is cut off, and then
/// the error says so. Otherwise the error contains `message`, which is the parser's message.
fn explain(bytes: &[u8], message: &str) -> anyhow::Error {
    if !bytes.starts_with(b"ply") {
        return anyhow!("it does not begin with 'ply'");
    }
    let text = String::from_utf8_lossy(bytes);
    let Some((header, _)) = text.split_once("end_header") else {
        return anyhow!("it ends at line {}, within its header", text.lines().count());
    };
    let elements = header.lines().filter_map(|line| line.strip_prefix("element "));
    let elements = elements.filter_map(|element| element.trim().split_once(' '));
    let elements: Vec<(&str, u64)> =
        elements.filter_map(|(name, count)| Some((name, count.trim().parse().ok()?))).collect();
    let announced: Vec<String> = elements
        .iter()
        .map(|(name, count)| match (*name, *count) {
            ("vertex", 1) | ("face", 1) => format!("1 {name}"),
            ("vertex", count) => format!("{count} vertices"),
            ("face", count) => format!("{count} faces"),
            (name, count) => format!("{count} of '{name}'"),
        })
        .collect();
    let announced = announced.join(" and ");
    if !header.contains("format ascii") {
        return anyhow!(
            "its {} bytes are not what its header announces, which is {announced}",
            bytes.len()
        );
    }
    let lines = text.lines().count() as u64;
    let expected = elements
        .iter()
        .fold(header.lines().count() as u64 + 1, |sum, (_, count)| sum.saturating_add(*count));
    if lines < expected {
        return anyhow!("it ends at line {lines}; its header announces {announced}");
    }
    // The rest of the parser's message describes its own data structures, so it is left out.
    let lines = message.lines().map(str::trim).take_while(|line| !line.starts_with("Error:"));
    anyhow!("{}", lines.collect::<Vec<_>>().join(" "))
}

#[derive(Debug, Clone, Copy)]
enum PlyNumber {
    Int(i128),
    Float(f64),
}

impl PlyNumber {
    fn of(property: &Property) -> Option<Self> {
        Some(match *property {
            Property::Char(value) => Self::Int(value.into()),
            Property::UChar(value) => Self::Int(value.into()),
            Property::Short(value) => Self::Int(value.into()),
            Property::UShort(value) => Self::Int(value.into()),
            Property::Int(value) => Self::Int(value.into()),
            Property::UInt(value) => Self::Int(value.into()),
            Property::Float(value) => Self::Float(value.into()),
            Property::Double(value) => Self::Float(value),
            _ => return None,
        })
    }

    fn int(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Float(_) => None,
        }
    }

    fn float(&self) -> f64 {
        match self {
            Self::Int(value) => *value as f64,
            Self::Float(value) => *value,
        }
    }
}

const fn is_integer(ty: &ScalarType) -> bool {
    !matches!(ty, ScalarType::Float | ScalarType::Double)
}

/// Returns the integer that becomes 1.0 if a property is read as a float.
fn one_of(name: &str, ty: &ScalarType) -> u32 {
    match ty {
        ScalarType::UChar if COLORS.contains(&name) => u8::MAX.into(),
        ScalarType::UShort if COLORS.contains(&name) => u16::MAX.into(),
        _ => 1,
    }
}
