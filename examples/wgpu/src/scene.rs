//! The mesh, and what the vertex shader makes of it, on the CPU.

use bytemuck::{Pod, Zeroable};

/// A vertex of the mesh.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Vertex {
    pub place: [f32; 2],
}

/// A vertex that is captured.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Captured {
    pub clip: [f32; 4],
    pub colour: [f32; 4],
}

/// The uniform.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Wave {
    pub height: f32,
    /// Radians for each unit of x.
    pub waves: f32,
    pub phase: f32,
}

/// Cells of the mesh along x and y, of two triangles each.
const CELLS: [u16; 2] = [24, 10];
pub const INDICES: u32 = CELLS[0] as u32 * CELLS[1] as u32 * 6;

/// A flag: a grid whose triangles share their vertices.
pub fn mesh() -> (Vec<Vertex>, Vec<u16>) {
    let [columns, rows] = CELLS;
    let place = |cell, count| 0.8 * (2.0 * f32::from(cell) / f32::from(count) - 1.0);
    let vertices = (0..=rows).flat_map(|y| {
        (0..=columns).map(move |x| Vertex { place: [place(x, columns), place(y, rows)] })
    });
    let indices = (0..rows).flat_map(|y| {
        (0..columns).flat_map(move |x| {
            let corner = y * (columns + 1) + x;
            [0, 1, columns + 1, columns + 1, 1, columns + 2].map(|step| corner + step)
        })
    });
    (vertices.collect(), indices.collect())
}

impl Wave {
    /// What `bend` in shader.wgsl does.
    pub fn bend(&self, vertex: &Vertex) -> Captured {
        let [x, y] = vertex.place;
        let swing = (self.waves * x + self.phase).sin();
        Captured {
            clip: [x, 0.5 * y + self.height * swing, 0.5, 1.0],
            colour: [0.5 + 0.5 * x, 0.5 + 0.5 * y, 0.5 + 0.5 * swing, 1.0],
        }
    }
}
