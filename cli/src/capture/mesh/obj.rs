//! Reads Wavefront OBJ files: positions, normals, texture coordinates and colours of faces.

use anyhow::{Result, bail};
use tobj::{LoadOptions, Mesh};

use super::{Parsed, Scalar, Values};

pub(super) fn parse(bytes: &[u8]) -> Result<Parsed> {
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
        // In objects that do not have this attribute, it is 0 if other objects have it.
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
