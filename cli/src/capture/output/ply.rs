//! Writes the captured records as PLY. Each record becomes a vertex, each triangle a face, and each line an edge.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use ply_rs_bw::ply::{
    Addable, DefaultElement, ElementDef, Encoding, Header, Property, PropertyDef, PropertyType,
    ScalarType,
};
use ply_rs_bw::writer::Writer;
use vkxfb_probe::terminal::in_line;
use vkxfb_rewriter::spirv::NumericClass;

use super::Shown;
use super::vertices::Vertices;
use crate::capture::progress::Steps;
use crate::capture::records::{Column, Number, Records, Role};

/// Checks that PLY can represent the numbers of these columns.
pub(super) fn check(columns: &[Column]) -> Result<()> {
    columns.iter().try_for_each(|column| scalar_type(column).map(drop))
}

/// How many vertices or primitives are made at a time. Each takes much more memory than in the file.
const AT_A_TIME: usize = 4096;

/// Returns the file: binary, or as text if the encoding says so.
pub(super) fn render(shown: &Shown<'_>, encoding: Encoding, progress: &Steps) -> Result<Vec<u8>> {
    let records = shown.records;
    let vertices = Vertices::of(shown)?;
    let mut taken = BTreeSet::new();
    // Readers of PLY expect the position first, by its names.
    let mut ordered: Vec<&Column> = records.columns.iter().collect();
    ordered.sort_by_key(|column| !vertices.are_of(column));
    let mut columns = Vec::new();
    for column in ordered {
        let (names, role) = property_names(column, vertices.are_of(column), &mut taken);
        let ty = match role {
            // Most readers of PLY take only bytes for colours.
            Some(Role::Color) if fits_bytes(records, &vertices, column) => ScalarType::UChar,
            _ => scalar_type(column)?,
        };
        columns.push((column, names, ty));
    }

    let count = vertices.records.len();
    let mut vertex = ElementDef::new("vertex".to_owned());
    vertex.count = count;
    for (_, names, ty) in &columns {
        for name in names {
            vertex.properties.add(PropertyDef::new(name.clone(), PropertyType::Scalar(ty.clone())));
        }
    }
    let primitives = primitives(shown, count);
    let mut header = Header::new();
    header.encoding = encoding;
    // A comment is one line.
    header.comments.push(shown.summary());
    header.comments.extend(vertices.remarks.iter().map(|remark| in_line(remark)));
    header.elements.add(vertex.clone());
    header.elements.extend(primitives.clone().map(|element| (element.name.clone(), element)));

    let make_vertex = |index: usize| {
        let mut element = DefaultElement::new();
        for (column, names, ty) in &columns {
            let numbers = if vertices.are_of(column) {
                vertices.positions[index].map(Number::Double).to_vec()
            } else {
                records.numbers(vertices.records[index], column)
            };
            let numbers = numbers.into_iter().map(|number| property(number, ty));
            element.extend(names.iter().cloned().zip(numbers));
        }
        Ok(element)
    };
    let mut bytes = Vec::new();
    Writer::<DefaultElement>::new().write_header(&mut bytes, &header)?;
    let mut done = 0;
    let all = count + primitives.as_ref().map_or(0, |element| element.count);
    let mut add = |element: &ElementDef, make: &dyn Fn(usize) -> Result<DefaultElement>| {
        let writer = Writer::new();
        for first in (0..element.count).step_by(AT_A_TIME) {
            let of_part = first..element.count.min(first + AT_A_TIME);
            done += of_part.len();
            let elements = of_part.map(make).collect::<Result<Vec<_>>>()?;
            writer.write_payload_of_element(&mut bytes, &elements, element, &header)?;
            progress.within(done, all);
        }
        anyhow::Ok(())
    };
    add(&vertex, &make_vertex)?;
    if let Some(element) = &primitives {
        add(element, &|index| primitive(&element.name, index))?;
    }
    Ok(bytes)
}

/// Returns the definition of the primitives of `vertices` vertices: a face for each triangle, or an edge for each line.
/// `None` for points, which need only their vertices.
fn primitives(shown: &Shown<'_>, vertices: usize) -> Option<ElementDef> {
    let per_primitive = shown.per_primitive();
    let int = || PropertyType::Scalar(ScalarType::Int);
    let (name, properties) = match per_primitive {
        3 => {
            let list = PropertyType::List(ScalarType::UChar, ScalarType::Int);
            ("face", vec![("vertex_indices", list)])
        }
        2 => ("edge", vec![("vertex1", int()), ("vertex2", int())]),
        _ => return None,
    };
    let mut element = ElementDef::new(name.to_owned());
    element.count = vertices.div_ceil(per_primitive);
    for (name, ty) in properties {
        element.properties.add(PropertyDef::new(name.to_owned(), ty));
    }
    Some(element)
}

/// Makes the face or the edge with this number.
fn primitive(name: &str, index: usize) -> Result<DefaultElement> {
    let mut element = DefaultElement::new();
    if name == "face" {
        let first = i32::try_from(index * 3 + 2)? - 2;
        let list = Property::ListInt(vec![first, first + 1, first + 2]);
        element.insert("vertex_indices".to_owned(), list);
    } else {
        let first = i32::try_from(index * 2 + 1)? - 1;
        element.insert("vertex1".to_owned(), Property::Int(first));
        element.insert("vertex2".to_owned(), Property::Int(first + 1));
    }
    Ok(element)
}

/// Returns the names of the properties for a column, and its role if readers of PLY know names for that role. Otherwise
/// the names are made from the column's name. No name is used twice.
fn property_names(
    column: &Column,
    is_position: bool,
    taken: &mut BTreeSet<String>,
) -> (Vec<String>, Option<Role>) {
    let count = column.letters.len().max(1);
    let role = column.role().filter(|_| !is_position);
    let known: &[&str] = match role {
        _ if is_position => &["x", "y", "z"],
        Some(Role::Normal) => &["nx", "ny", "nz"],
        Some(Role::Texcoord) => &["u", "v"],
        Some(Role::Color) => &["red", "green", "blue", "alpha"],
        None => &[],
    };
    let known = &known[..count.min(known.len())];
    if !known.is_empty() && known.iter().all(|name| !taken.contains(*name)) {
        let names: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
        taken.extend(names.iter().cloned());
        return (names, role);
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut unique = Vec::new();
    for name in column.names() {
        let name: String = name.chars().map(plain).collect();
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut free = std::iter::once(name.clone()).chain(numbered);
        unique.extend(free.find(|name| taken.insert(name.clone())));
    }
    (unique, None)
}

/// Whether all numbers of a column are from 0 to 1, so that a colour can be written as bytes from 0 to 255.
fn fits_bytes(records: &Records<'_>, vertices: &Vertices<'_>, column: &Column) -> bool {
    let numbers = vertices.records.iter().flat_map(|record| records.numbers(*record, column));
    numbers.map(Number::to_f64).all(|number| (0.0..=1.0).contains(&number))
}

fn scalar_type(column: &Column) -> Result<ScalarType> {
    Ok(match (column.class(), column.bits()) {
        (NumericClass::Float, 64) => ScalarType::Double,
        (NumericClass::Float, _) => ScalarType::Float,
        (_, 64) => bail!("PLY has no integers of 64 bits, which '{}' is", column.name),
        (NumericClass::Sint, _) => ScalarType::Int,
        (NumericClass::Uint, _) => ScalarType::UInt,
    })
}

/// Converts a number to a property of type `ty`. `UChar` is only for colours. 64-bit integers do not occur here:
/// [`check`] rejects them.
fn property(number: Number, ty: &ScalarType) -> Property {
    match number {
        _ if *ty == ScalarType::UChar => Property::UChar((number.to_f64() * 255.0).round() as u8),
        // Positions are computed with doubles.
        _ if *ty == ScalarType::Float => Property::Float(number.to_f64() as f32),
        Number::Float(value) => Property::Float(value),
        Number::Double(value) => Property::Double(value),
        Number::Int(value) => Property::Int(value as i32),
        Number::Uint(value) => Property::UInt(value as u32),
    }
}
