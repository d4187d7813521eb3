//! Reads Wavefront OBJ files: positions, normals, texture coordinates and colours of faces.

use anyhow::{Context, Result, bail};
use tobj::{LoadOptions, Mesh};

use super::{Parsed, Scalar, Values};

pub(super) fn parse(bytes: &[u8]) -> Result<Parsed> {
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        let line = String::from_utf8_lossy(line);
        check_face(&line)
            .and_then(|()| check_numbers(&line))
            .with_context(|| format!("line {number}"))?;
    }
    let options = LoadOptions {
        single_index: true,
        triangulate: true,
        ignore_points: true,
        ignore_lines: true,
    };
    // Materials are ignored, because they contain no vertex data.
    let no_materials = |_: &std::path::Path| Ok(Default::default());
    let (models, _) = tobj::load_obj_buf(&mut &*bytes, &options, no_materials)?;
    let mut parsed = Parsed { triangles: Some(Vec::new()), ..Parsed::default() };
    for model in &models {
        let first = parsed.vertices as u64;
        for index in &model.mesh.indices {
            let Ok(index) = u32::try_from(first + u64::from(*index)) else {
                bail!("more vertices than indices reach");
            };
            parsed.triangles.get_or_insert_default().push(index);
        }
        parsed.vertices += model.mesh.positions.len() / 3;
    }
    if parsed.triangles.as_ref().is_none_or(Vec::is_empty) {
        bail!("no faces");
    }
    type Numbers = fn(&Mesh) -> &Vec<f32>;
    let kinds: [(&[&str], Numbers); 4] = [
        (&["x", "y", "z"], |mesh| &mesh.positions),
        (&["nx", "ny", "nz"], |mesh| &mesh.normals),
        (&["u", "v"], |mesh| &mesh.texcoords),
        (&["red", "green", "blue"], |mesh| &mesh.vertex_color),
    ];
    for (names, numbers) in kinds {
        // An attribute that only some objects have is 0 in the others.
        if models.iter().all(|model| numbers(&model.mesh).is_empty()) {
            continue;
        }
        for (part, name) in names.iter().enumerate() {
            let mut values = Vec::with_capacity(parsed.vertices);
            for model in &models {
                let vertices = model.mesh.positions.len() / 3;
                let own = numbers(&model.mesh).iter().skip(part).step_by(names.len());
                let own = own.map(|value| f64::from(*value)).chain(std::iter::repeat(0.0));
                values.extend(own.take(vertices));
            }
            let values = Values::Float(values);
            parsed.scalars.push(Scalar { name: (*name).to_owned(), values });
        }
    }
    Ok(parsed)
}

/// Checks a line if it is a position, normal or texture coordinate, because the parser's errors do not say in which
/// line they are.
fn check_numbers(line: &str) -> Result<()> {
    let mut words = line.split_whitespace();
    let (what, takes) = match words.next() {
        Some("v") => ("position", 3),
        Some("vn") => ("normal", 3),
        Some("vt") => ("texture coordinate", 2),
        _ => return Ok(()),
    };
    let numbers: Vec<&str> = words.take_while(|word| !word.starts_with('#')).take(takes).collect();
    // A backslash at the end continues the line on the next one.
    if numbers.last() == Some(&"\\") {
        return Ok(());
    }
    if let Some(word) = numbers.iter().find(|word| word.parse::<f32>().is_err()) {
        bail!("'{word}' is no number of a {what}");
    }
    if numbers.len() < takes {
        bail!("a {what} with {} numbers, and not {takes}", numbers.len());
    }
    Ok(())
}

/// Checks a line if it is a face: the face must have at least three corners, and all corners must have the same parts.
/// The parser silently leaves out a face that it does not understand, such as an incomplete face in the last line of a
/// file that is cut off.
fn check_face(line: &str) -> Result<()> {
    let mut words = line.split_whitespace();
    if words.next() != Some("f") {
        return Ok(());
    }
    let corners: Vec<&str> = words.take_while(|word| !word.starts_with('#')).collect();
    // A backslash at the end continues the line on the next one.
    if corners.last() == Some(&"\\") {
        return Ok(());
    }
    let parts = |corner: &str| corner.split('/').map(|part| !part.is_empty()).collect::<Vec<_>>();
    for corner in &corners {
        let mut numbers = corner.split('/').enumerate();
        let is_right = numbers.all(|(at, part)| match part {
            "" => at > 0,
            _ => at < 3 && part.parse::<i64>().is_ok_and(|number| number != 0),
        });
        if !is_right || parts(corner) != parts(corners[0]) {
            bail!("'{corner}' is no corner of a face as '{}' is", corners[0]);
        }
    }
    if corners.len() < 3 {
        bail!("a face with {} corners, and not 3 or more", corners.len());
    }
    Ok(())
}
