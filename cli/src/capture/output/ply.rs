//! Writes what was captured as PLY. Each captured record becomes a vertex, and each primitive a
//! face or an edge.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use ply_rs_bw::ply::{
    Addable, DefaultElement, ElementDef, Encoding, Ply, Property, PropertyDef, PropertyType,
    ScalarType,
};
use ply_rs_bw::writer::Writer;
use vkxfb::spirv::NumericClass;

use super::Shown;
use crate::capture::mesh::canonical;
use crate::capture::records::{Column, Number, place};

/// Checks that PLY can represent the numbers of these columns.
pub(super) fn check(columns: &[Column]) -> Result<()> {
    columns.iter().try_for_each(|column| scalar_type(column).map(drop))
}

/// Returns the text of a PLY file.
pub(super) fn render(shown: &Shown<'_>) -> Result<Vec<u8>> {
    let records = shown.records;
    let position = place(records.columns).map(|column| &raw const *column);
    let mut taken = BTreeSet::new();
    let mut columns = Vec::new();
    for column in records.columns {
        let is_position = position == Some(&raw const *column);
        let names = property_names(column, is_position, &mut taken);
        columns.push((column, names, scalar_type(column)?));
    }
    // Readers of PLY expect the position first.
    columns.sort_by_key(|(column, ..)| position != Some(&raw const **column));

    let mut ply = Ply::<DefaultElement>::new();
    ply.header.encoding = Encoding::Ascii;
    ply.header.comments.push(shown.summary());
    let mut element = ElementDef::new("vertex".to_owned());
    for (_, names, ty) in &columns {
        for name in names {
            element
                .properties
                .add(PropertyDef::new(name.clone(), PropertyType::Scalar(ty.clone())));
        }
    }
    ply.header.elements.add(element);
    let vertex = |vertex| {
        let mut element = DefaultElement::new();
        for (column, names, _) in &columns {
            let numbers = records.numbers(vertex, column).into_iter().map(property);
            element.extend(names.iter().cloned().zip(numbers));
        }
        element
    };
    ply.payload.insert("vertex".to_owned(), (0..records.vertices).map(vertex).collect());
    add_primitives(shown, &mut ply)?;
    let mut bytes = Vec::new();
    Writer::new().write_ply(&mut bytes, &mut ply)?;
    Ok(bytes)
}

/// Adds a face for each triangle, or an edge for each line. Points need only their vertices.
fn add_primitives(shown: &Shown<'_>, ply: &mut Ply<DefaultElement>) -> Result<()> {
    let vertices = i32::try_from(shown.records.vertices)?;
    let (name, firsts) = match shown.topology.vertices_per_primitive() {
        3 => ("face", (0..vertices).step_by(3)),
        2 => ("edge", (0..vertices).step_by(2)),
        _ => return Ok(()),
    };
    let mut element = ElementDef::new(name.to_owned());
    let int = || PropertyType::Scalar(ScalarType::Int);
    if name == "face" {
        let list = PropertyType::List(ScalarType::UChar, ScalarType::Int);
        element.properties.add(PropertyDef::new("vertex_indices".to_owned(), list));
    } else {
        for end in ["vertex1", "vertex2"] {
            element.properties.add(PropertyDef::new(end.to_owned(), int()));
        }
    }
    ply.header.elements.add(element);
    let primitive = |first: i32| {
        let mut element = DefaultElement::new();
        if name == "face" {
            let list = Property::ListInt(vec![first, first + 1, first + 2]);
            element.insert("vertex_indices".to_owned(), list);
        } else {
            element.insert("vertex1".to_owned(), Property::Int(first));
            element.insert("vertex2".to_owned(), Property::Int(first + 1));
        }
        element
    };
    ply.payload.insert(name.to_owned(), firsts.map(primitive).collect());
    Ok(())
}

/// Returns the property names of a column: those that readers of PLY know, otherwise names made
/// from its own. No name is used twice.
fn property_names(column: &Column, is_position: bool, taken: &mut BTreeSet<String>) -> Vec<String> {
    let count = column.letters.len().max(1);
    let known: &[&str] = match (is_position, &*canonical(&column.name), count) {
        (true, ..) => &["x", "y", "z", "w"],
        (_, "normal", 3) => &["nx", "ny", "nz"],
        (_, "texcoord", 2) => &["u", "v"],
        _ => &[],
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let own = column.names().into_iter().map(|name| name.chars().map(plain).collect());
    let names: Vec<String> = match known.is_empty() {
        true => own.collect(),
        false => known.iter().take(count).map(|name| (*name).to_owned()).collect(),
    };
    let mut unique = Vec::new();
    for name in names {
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut free = std::iter::once(name.clone()).chain(numbered);
        unique.extend(free.find(|name| taken.insert(name.clone())));
    }
    unique
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

/// Converts a number to a property. Integers of 64 bits have been rejected before.
fn property(number: Number) -> Property {
    match number {
        Number::Float(value) => Property::Float(value),
        Number::Double(value) => Property::Double(value),
        Number::Int(value) => Property::Int(value as i32),
        Number::Uint(value) => Property::UInt(value as u32),
    }
}
