//! Input assembly: which vertices the geometry shader gets for each primitive, as the specification
//! lists them ([primitive
//! topologies](https://docs.vulkan.org/spec/latest/chapters/drawing.html#drawing-primitive-topologies),
//! [geometry shader input
//! primitives](https://docs.vulkan.org/spec/latest/chapters/geometry.html#geometry-input)). The
//! lists are for the first vertex as the provoking vertex. In the other mode the provoking vertex
//! is the last vertex in the list of a primitive that is not an adjacent vertex
//! ([modes](https://docs.vulkan.org/refpages/latest/refpages/source/VkProvokingVertexModeEXT.html)).
//! The list is rotated if that is not yet the case.

use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

/// Returns the vertices of each primitive of `count` consecutive vertices, in the order of `gl_in`.
pub fn primitives(
    topology: PrimitiveTopology,
    provoking: ProvokingVertex,
    count: usize,
) -> Vec<Vec<usize>> {
    use PrimitiveTopology as T;
    // What primitives advance by, and the vertices that one takes.
    let (step, size) = match topology {
        T::PointList => (1, 1),
        T::LineList => (2, 2),
        T::LineStrip => (1, 2),
        T::TriangleList => (3, 3),
        T::TriangleStrip | T::TriangleFan => (1, 3),
        T::LineListWithAdjacency => (4, 4),
        T::LineStripWithAdjacency => (1, 4),
        T::TriangleListWithAdjacency => (6, 6),
        T::TriangleStripWithAdjacency => (2, 6),
        T::PatchList => panic!("no geometry shader takes patches"),
    };
    if count < size {
        return Vec::new();
    }
    let number = (count - size) / step + 1;
    let vertices = |i: usize| match topology {
        T::TriangleStrip if i % 2 == 1 => vec![i, i + 2, i + 1],
        T::TriangleFan => vec![i + 1, i + 2, 0],
        T::TriangleStripWithAdjacency => strip_with_adjacency(i, i + 1 == number),
        _ => (step * i..step * i + size).collect(),
    };
    let turned = |i: usize| {
        let mut vertices = vertices(i);
        // What is between two of the corners of a triangle goes with them.
        let corner = vertices.len() / 3;
        match topology {
            T::TriangleFan if provoking == ProvokingVertex::Last => vertices.rotate_right(corner),
            T::TriangleStrip | T::TriangleStripWithAdjacency
                if provoking == ProvokingVertex::Last && i % 2 == 1 =>
            {
                vertices.rotate_right(corner);
            }
            _ => {}
        }
        vertices
    };
    (0..number).map(turned).collect()
}

/// Returns the vertices of triangle `i`, which consists of every other vertex. For each edge that
/// the triangle shares with another triangle of the strip, the adjacent vertex is the vertex of
/// that triangle which is not on the edge. For the other edges it is a separate vertex.
fn strip_with_adjacency(i: usize, is_last: bool) -> Vec<usize> {
    let [a, b, c] = [2 * i, 2 * i + 2, 2 * i + 4];
    let beyond_ab = if i == 0 { 1 } else { a - 2 };
    let beyond_bc = if is_last { 2 * i + 5 } else { c + 2 };
    let beyond_ca = 2 * i + 3;
    match i % 2 {
        0 => vec![a, beyond_ab, b, beyond_bc, c, beyond_ca],
        _ => vec![a, beyond_ca, c, beyond_bc, b, beyond_ab],
    }
}

/// Returns the primitives of an instance from the vertices of a draw; `None` is a restart.
pub fn of_instance(
    topology: PrimitiveTopology,
    provoking: ProvokingVertex,
    vertices: &[Option<u32>],
) -> Vec<Vec<u32>> {
    let of_segment = |segment: &[Option<u32>]| {
        let segment: Vec<u32> = segment.iter().flatten().copied().collect();
        let primitives = primitives(topology, provoking, segment.len()).into_iter();
        let vertices = move |slots: Vec<usize>| slots.iter().map(|slot| segment[*slot]).collect();
        primitives.map(vertices).collect::<Vec<_>>()
    };
    vertices.split(Option::is_none).flat_map(of_segment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_with_adjacency_share_their_triangles() {
        let topology = PrimitiveTopology::TriangleStripWithAdjacency;
        let of = |count| primitives(topology, ProvokingVertex::First, count);
        assert!(of(5).is_empty());
        assert_eq!(of(7), [[0, 1, 2, 5, 4, 3]]);
        assert_eq!(of(8), [[0, 1, 2, 6, 4, 3], [2, 5, 6, 7, 4, 0]]);
        assert_eq!(of(10)[1..], [[2, 5, 6, 8, 4, 0], [4, 2, 6, 9, 8, 7]]);
        let last = primitives(topology, ProvokingVertex::Last, 8);
        assert_eq!(last, [[0, 1, 2, 6, 4, 3], [4, 0, 2, 5, 6, 7]]);
    }
}
