//! Computes the normals of meshes.

use std::collections::HashMap;

use anyhow::{Context, Result};

use super::{Mesh, Values};

impl Mesh {
    /// Returns a unit vector for each vertex: the mean of the normals of all triangles at its position, weighted by
    /// their angles at this position. So the normal does not depend on how faces were divided into triangles. The
    /// vector is zero for vertices without triangles.
    pub(in crate::capture) fn computed_normals(&self) -> Result<[Values; 3]> {
        let position = self.column(|name| name == "position");
        let position = position.filter(|column| column.parts.len() >= 3);
        let position = position.context("normals are computed of positions, and it has none")?;
        let triangles = self.triangles.as_ref();
        let triangles = triangles.context("normals are computed of triangles, and it has none")?;
        let axis = |axis: usize| &self.scalars[position.parts[axis]].values;
        let axes = [axis(0), axis(1), axis(2)];
        let place = |vertex: u32| axes.map(|values| values.float(vertex as usize));
        // A file may contain a vertex twice, for example with different texture coordinates. Both copies count as the
        // same position.
        let bits = |vertex: u32| place(vertex).map(f64::to_bits);
        let mut sums: HashMap<[u64; 3], [f64; 3]> = HashMap::new();
        for corners in triangles.chunks_exact(3) {
            let at = [0, 1, 2].map(|corner| place(corners[corner]));
            let normal = unit(cross(minus(at[1], at[0]), minus(at[2], at[0])));
            for (corner, vertex) in corners.iter().enumerate() {
                let [own, next, last] = [0, 1, 2].map(|step| at[(corner + step) % 3]);
                let cosine = dot(unit(minus(next, own)), unit(minus(last, own)));
                let angle = cosine.clamp(-1.0, 1.0).acos();
                let sum = sums.entry(bits(*vertex)).or_default();
                (0..3).for_each(|axis| sum[axis] += angle * normal[axis]);
            }
        }
        let mut normals = [(); 3].map(|()| Vec::with_capacity(self.vertices as usize));
        for vertex in 0..self.vertices {
            let sum = sums.get(&bits(vertex)).copied().unwrap_or_default();
            let normal = unit(sum);
            (0..3).for_each(|axis| normals[axis].push(normal[axis]));
        }
        Ok(normals.map(Values::Float))
    }
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Scales a vector to length 1. A zero vector stays zero.
fn unit(a: [f64; 3]) -> [f64; 3] {
    let length = dot(a, a).sqrt();
    if length > 0.0 { a.map(|value| value / length) } else { a }
}
