//! A mesh, from a file and into one.

use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use bytemuck::{Pod, Zeroable};
use glam::Vec3;

/// Corners of a triangle.
const CORNERS: usize = 3;

/// A vertex: what is deformed, and what is captured.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Vertex {
    pub position: Vec3,
    pub normal: Vec3,
}

/// Vertices, and the triangles that they make.
pub struct Mesh {
    pub vertices: Vec<Vertex>,
    pub indices: Vec<u32>,
}

impl Mesh {
    /// Reads all models of a file of Wavefront's OBJ. Normals of the file are not read, but made of the triangles.
    pub fn read(path: &Path) -> Result<Self> {
        let (models, _) = tobj::load_obj(path, &tobj::GPU_LOAD_OPTIONS)
            .with_context(|| path.display().to_string())?;
        let (mut positions, mut indices) = (Vec::new(), Vec::new());
        for model in models {
            let first = positions.len() as u32;
            let xyz = model.mesh.positions.chunks_exact(3);
            positions.extend(xyz.map(Vec3::from_slice));
            indices.extend(model.mesh.indices.iter().map(|index| first + index));
        }
        ensure!(!indices.is_empty(), "{} has no triangles", path.display());
        let mut normals = vec![Vec3::ZERO; positions.len()];
        for triangle in indices.chunks_exact(CORNERS) {
            let corners = [0, 1, 2].map(|corner| triangle[corner] as usize);
            let [a, b, c] = corners.map(|index| positions[index]);
            // Twice the area long: large triangles count for more.
            let normal = (b - a).cross(c - a);
            corners.iter().for_each(|index| normals[*index] += normal);
        }
        let vertex = |(position, normal): (Vec3, Vec3)| Vertex {
            position,
            normal: normal.normalize_or_zero(),
        };
        let vertices = positions.into_iter().zip(normals).map(vertex).collect();
        Ok(Self { vertices, indices })
    }

    /// Writes a binary file in Stanford's [PLY](https://paulbourke.net/dataformats/ply/).
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut file = Vec::new();
        writeln!(
            file,
            "ply\nformat binary_little_endian 1.0\nelement vertex {}",
            self.vertices.len()
        )?;
        for property in ["x", "y", "z", "nx", "ny", "nz"] {
            writeln!(file, "property float {property}")?;
        }
        writeln!(file, "element face {}", self.indices.len() / CORNERS)?;
        writeln!(file, "property list uchar uint vertex_indices\nend_header")?;
        for vertex in &self.vertices {
            let numbers = [vertex.position, vertex.normal].map(|v| v.to_array());
            file.extend(numbers.as_flattened().iter().flat_map(|number| number.to_le_bytes()));
        }
        for triangle in self.indices.chunks_exact(CORNERS) {
            file.push(CORNERS as u8);
            file.extend(triangle.iter().flat_map(|index| index.to_le_bytes()));
        }
        std::fs::write(path, file).with_context(|| path.display().to_string())
    }
}
