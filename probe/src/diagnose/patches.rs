//! Finds out in which order a device captured the primitives of tessellated patches.
//!
//! Vulkan defines the order of patches, the points of each patch, and the winding of triangles or the direction of
//! lines. It leaves to the device in which order it captures the primitives of a patch, with which vertex a triangle
//! begins, and along which diagonals points are connected
//! ([tessellation](https://docs.vulkan.org/spec/latest/chapters/tessellation.html)). What is then expected of a device
//! is the order that it has chosen, corrected where it is none of those that it may choose.
//!
//! Patches with the same levels are divided into the same primitives in the same order (the first rule of [tessellation
//! invariance](https://docs.vulkan.org/spec/latest/appendices/invariance.html)). So all instances are expected to have
//! the same order.

use std::collections::BTreeMap;

use crate::diagnose::decode::Capture;
use crate::diagnose::faults::VertexRef;
use crate::diagnose::sequence::Patch;

/// Returns the vertices of the primitives of an instance in the order that a device has chosen, if every patch was
/// captured in an order that Vulkan allows. Of other patches, the primitives of `vertices` that were captured are where
/// they were captured in the first instance, and the rest fills the places between and behind them. `vertices` is the
/// order of the model.
pub(super) fn chosen(capture: &Capture<'_>, vertices: &[u32], patches: &[Patch]) -> Vec<u32> {
    let m = capture.vertices_per_primitive().max(1) as usize;
    let mut divided: Vec<Divided<'_>> = Vec::new();
    let (mut first_vertex, mut rest) = (0, vertices);
    // For each primitive of the model, the number of its patch.
    let mut owners = Vec::new();
    for (number, patch) in patches.iter().enumerate() {
        let (model, others) = rest.split_at((patch.primitives as usize * m).min(rest.len()));
        owners.extend(model.chunks_exact(m).map(|_| number));
        let model = model.chunks_exact(m).collect();
        divided.push(Divided { patch, first_vertex, model, captured: BTreeMap::new() });
        (first_vertex, rest) = (first_vertex + patch.places.len() as u32, others);
    }
    for primitive in 0..capture.expectation.primitives_written {
        let first = primitive * m as u64;
        let found: Option<Vec<VertexRef>> =
            (first..first + m as u64).map(|record| capture.vertex(record)).collect();
        match found.and_then(|found| of_one_patch(&divided, &found)) {
            Some((owner, instance, found)) => {
                divided[owner].captured.entry(instance).or_default().push(Some(found));
            }
            // These records are of no primitive of a patch.
            None => {
                let place = usize::try_from(primitive).unwrap_or(usize::MAX);
                if let Some(owner) = owners.get(place) {
                    divided[*owner].captured.entry(0).or_default().push(None);
                }
            }
        }
    }
    divided.iter().flat_map(Divided::chosen).collect()
}

/// Returns the number of the patch, the instance and the vertices of a primitive. `None` if the vertices are of several
/// patches or instances.
fn of_one_patch(divided: &[Divided<'_>], found: &[VertexRef]) -> Option<(usize, u32, Vec<u32>)> {
    let instance = found.first()?.instance;
    let vertices: Vec<u32> = found.iter().map(|found| found.vertex).collect();
    let owner = divided.iter().position(|patch| patch.has_all(&vertices))?;
    found.iter().all(|found| found.instance == instance).then_some((owner, instance, vertices))
}

/// A patch, its primitives in the order of the model, and those that were captured.
struct Divided<'a> {
    patch: &'a Patch,
    first_vertex: u32,
    model: Vec<&'a [u32]>,
    /// The captured primitives of each instance, in order. `None` for records of the first instance that are of no
    /// primitive of any patch.
    captured: BTreeMap<u32, Vec<Option<Vec<u32>>>>,
}

impl Divided<'_> {
    fn has_all(&self, vertices: &[u32]) -> bool {
        vertices.iter().all(|vertex| self.place(*vertex).is_some())
    }

    /// Returns the coordinates of a vertex. `None` if it is a vertex of another patch.
    fn place(&self, vertex: u32) -> Option<[i64; 2]> {
        let index = vertex.checked_sub(self.first_vertex)?;
        self.patch.places.get(index as usize).map(|place| place.map(i64::from))
    }

    /// Returns the chosen order of the patch: see [`chosen`].
    fn chosen(&self) -> Vec<u32> {
        let turned = |captured: &Vec<Option<Vec<u32>>>| -> Vec<Option<Vec<u32>>> {
            captured.iter().map(|found| Some(self.turned(found.as_deref()?))).collect()
        };
        let whole = self.captured.values().find_map(|captured| {
            let turned: Vec<Vec<u32>> = turned(captured).into_iter().flatten().collect();
            (self.are_whole(&turned)).then(|| turned.concat())
        });
        whole.unwrap_or_else(|| {
            let (chosen, missing) =
                self.claimed(turned(self.captured.get(&0).unwrap_or(&Vec::new())));
            let mut missing = missing.into_iter();
            let places = chosen.into_iter();
            let mut chosen: Vec<Vec<u32>> =
                places.filter_map(|found| found.or_else(|| missing.next())).collect();
            chosen.extend(missing);
            chosen.concat()
        })
    }

    /// Leaves out captured primitives that the model does not have, and returns those of the model that are not
    /// captured, too.
    fn claimed(&self, captured: Vec<Option<Vec<u32>>>) -> (Vec<Option<Vec<u32>>>, Vec<Vec<u32>>) {
        let mut missing: Vec<Vec<u32>> = self.model.iter().map(|model| model.to_vec()).collect();
        let mut claim = |found: Vec<u32>| {
            missing.remove(missing.iter().position(|model| is_rotated(model, &found))?);
            Some(found)
        };
        let claimed = captured.into_iter().map(|found| claim(found?)).collect();
        (claimed, missing)
    }

    /// Returns the vertices of a primitive in an order with the winding or direction that the model has: as they are,
    /// or with the last two exchanged.
    fn turned(&self, vertices: &[u32]) -> Vec<u32> {
        let model = self.model.first().map_or(0, |model| self.extent(model).signum());
        let mut turned = vertices.to_vec();
        let last = turned.len().saturating_sub(1);
        if last > 0 && self.extent(vertices).signum() == -model {
            turned.swap(last - 1, last);
        }
        turned
    }

    /// Returns twice the signed area of a triangle, and how far a line goes along the first axis. 0 for a point.
    fn extent(&self, vertices: &[u32]) -> i64 {
        let place = |vertex: u32| self.place(vertex).unwrap_or_default();
        match vertices.iter().copied().map(place).collect::<Vec<_>>()[..] {
            [[from, _], [to, _]] => to - from,
            [a, b, c] => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]),
            _ => 0,
        }
    }

    /// Whether these primitives are a division of the patch that Vulkan allows. Those of the model are, in whatever
    /// order, and so are as many triangles that cover the domain once: none is empty, all vertices are used, and each
    /// edge that is not on a side of the domain is that of two triangles, which go along it in opposite directions.
    fn are_whole(&self, primitives: &[Vec<u32>]) -> bool {
        if primitives.len() != self.model.len() {
            return false;
        }
        let (_, missing) = self.claimed(primitives.iter().cloned().map(Some).collect());
        missing.is_empty() || self.cover(primitives)
    }

    /// Whether triangles cover the domain: see [`are_whole`](Self::are_whole).
    fn cover(&self, triangles: &[Vec<u32>]) -> bool {
        if triangles.iter().any(|triangle| triangle.len() != 3) {
            return false;
        }
        let edges = triangles.iter().flat_map(|t| [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]]);
        let mut edges: Vec<[u32; 2]> = edges.collect();
        edges.sort_unstable();
        let is_on_side = |edge: [u32; 2]| {
            let places = edge.map(|vertex| self.place(vertex).unwrap_or_default());
            let sides = [0, i64::from(Patch::UNITS)];
            (0..2).any(|axis| sides.iter().any(|side| places.iter().all(|p| p[axis] == *side)))
        };
        let is_paired = |[from, to]: &[u32; 2]| {
            edges.binary_search(&[*to, *from]).is_ok() != is_on_side([*from, *to])
        };
        let mut vertices = self.first_vertex..self.first_vertex + self.patch.places.len() as u32;
        triangles.iter().all(|triangle| self.extent(triangle) != 0)
            && edges.windows(2).all(|pair| pair[0] != pair[1])
            && edges.iter().all(is_paired)
            && vertices.all(|vertex| triangles.iter().any(|triangle| triangle.contains(&vertex)))
    }
}

/// Whether two primitives have the same vertices in the same cyclic order. The vertices of a line have to be in the
/// same order.
fn is_rotated(one: &[u32], other: &[u32]) -> bool {
    let by = if one.len() == 3 { 3 } else { 1 };
    one.len() == other.len()
        && (0..by).any(|by| one.iter().eq(other[by..].iter().chain(&other[..by])))
}

#[cfg(test)]
mod tests {
    use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

    use crate::diagnose::{CapturedBuffer, Expectation, Fault, Mismatch, Verdict, diagnose};
    use crate::emission::Emission;
    use crate::sentinel;
    use crate::shaders::{Emitted, ProbeGeometry};
    use crate::subject::Subject;

    /// Three patches: of 1, 4 and 9 quads, or 1, 2 and 3 lines.
    const VERTICES: u32 = 9;

    const INSTANCES: u32 = 2;

    /// The vertices of each captured primitive, and the number of its patch.
    type Captured = [(usize, Vec<u32>)];

    fn emission(output: Emitted) -> (Subject, Emission) {
        let name = format!("patches_to_{}", output.name());
        let shader = ProbeGeometry::by_name(&name).unwrap();
        let draw = (PrimitiveTopology::PatchList, ProvokingVertex::First);
        let emission = shader.emission(draw.0, draw.1, VERTICES, INSTANCES).remove(&0).unwrap();
        (Subject::built_in_geometry(shader).unwrap(), emission)
    }

    /// The primitives of the model, each with the number of its patch.
    fn primitives(emission: &Emission) -> Vec<(usize, Vec<u32>)> {
        let m = emission.vertices_per_primitive as usize;
        let patches = emission.patches.iter().enumerate();
        let owners = patches.flat_map(|(n, patch)| (0..patch.primitives).map(move |_| n));
        owners.zip(emission.vertices.chunks_exact(m).map(<[u32]>::to_vec)).collect()
    }

    /// Returns the verdict on a capture of these primitives in both instances.
    fn verdict(output: Emitted, captured: &Captured) -> Verdict {
        verdict_of(output, [captured; 2])
    }

    fn verdict_of(output: Emitted, instances: [&Captured; 2]) -> Verdict {
        let (subject, emission) = emission(output);
        let layout = &subject.layout;
        let right = emission.vertices.len() as u64;
        let buffers = layout.buffers().map(|(buffer, stride)| {
            let stride = stride as usize;
            let spare = 8;
            let mut bytes = vec![0; (right as usize + spare) * INSTANCES as usize * stride];
            sentinel::fill(buffer as u32, &mut bytes);
            let mut to = 0;
            for (instance, captured) in (0..).zip(instances) {
                for vertex in captured.iter().flat_map(|(_, vertices)| vertices) {
                    let from = (instance * emission.vertex_count + vertex) as usize * stride;
                    for output in layout.outputs_of(buffer) {
                        let part = output.offset as usize..(output.offset + output.size()) as usize;
                        bytes[to + part.start..to + part.end].copy_from_slice(
                            &emission.records[buffer][from + part.start..from + part.end],
                        );
                    }
                    to += stride;
                }
            }
            (buffer as u32, bytes)
        });
        let buffers: Vec<_> = buffers.collect();
        let captured = buffers.iter().map(|(buffer, bytes)| CapturedBuffer {
            buffer: *buffer,
            bytes,
            bound: 0..bytes.len() as u64,
            position: 0,
            counter: None,
        });
        let expectation = Expectation {
            sequence: emission.sequence(),
            preserves_provoking_vertex: true,
            instance_count: INSTANCES,
            layout,
            records: emission.records.each_ref().map(Vec::as_slice),
            undefined: &[],
            primitives_written: emission.primitive_count(),
        };
        diagnose(&expectation, &captured.collect::<Vec<_>>()).unwrap()
    }

    fn mismatch(output: Emitted, captured: &Captured) -> Mismatch {
        mismatch_of(output, [captured; 2])
    }

    fn mismatch_of(output: Emitted, instances: [&Captured; 2]) -> Mismatch {
        match verdict_of(output, instances) {
            Verdict::Mismatch(mismatch) => *mismatch,
            other => panic!("{output:?}: {other:?}"),
        }
    }

    /// Primitives in another order within their patches are right, and so are triangles that begin with another vertex,
    /// or are along the other diagonals. In the order of another patch they are not.
    #[test]
    fn the_order_in_a_patch_is_the_devices_choice() {
        for output in Emitted::ALL {
            let mut captured = primitives(&emission(output).1);
            assert_eq!(verdict(output, &captured), Verdict::Match);
            captured.reverse();
            captured.sort_by_key(|(patch, _)| *patch);
            for (number, (_, vertices)) in captured.iter_mut().enumerate() {
                if output == Emitted::Triangles {
                    vertices.rotate_left(number % 3);
                }
            }
            assert_eq!(verdict(output, &captured), Verdict::Match, "{output:?}");
            captured.sort_by_key(|(patch, _)| 9 - *patch);
            assert_eq!(mismatch(output, &captured).fault, Fault::WrongVertex, "{output:?}");
        }
        let mut captured = primitives(&emission(Emitted::Triangles).1);
        // The first patch is a quad, whose triangles share the vertices 0 and 1 in the model.
        assert_eq!([&captured[0].1, &captured[1].1], [&[0, 1, 2], &[0, 3, 1]]);
        captured[0].1 = vec![2, 0, 3];
        captured[1].1 = vec![3, 1, 2];
        assert_eq!(verdict(Emitted::Triangles, &captured), Verdict::Match);
    }

    /// A device that exchanges clockwise and counter-clockwise captures all triangles with the opposite winding, in
    /// whatever order and along whatever diagonals, and a line may go in the wrong direction.
    #[test]
    fn a_flipped_winding_is_named() {
        for output in [Emitted::Triangles, Emitted::Lines] {
            let mut captured = primitives(&emission(output).1);
            captured.reverse();
            captured.sort_by_key(|(patch, _)| *patch);
            for (_, vertices) in &mut captured {
                vertices.reverse();
            }
            let found = mismatch(output, &captured);
            let all = captured.len() as u64 * u64::from(INSTANCES);
            assert_eq!((found.fault, found.also.len()), (Fault::FlippedWinding, 0), "{found}");
            assert_eq!(found.differing_primitives, all, "{output:?}");
            // One of them alone is found, too.
            let mut captured = primitives(&emission(output).1);
            captured[4].1.reverse();
            let found = mismatch(output, &captured);
            assert_eq!((found.fault, found.differing_primitives), (Fault::FlippedWinding, 2));
            assert_eq!(found.first.unwrap().primitive, 4, "{output:?}");
        }
    }

    /// Each vertex and each triangle is in its patch, and the triangles of a patch cover its domain, but the same
    /// triangle is there twice in place of another one.
    #[test]
    fn the_primitives_of_a_patch_are_all_there() {
        for output in Emitted::ALL {
            let right = primitives(&emission(output).1);
            let mut captured = right.clone();
            captured[6] = captured[5].clone();
            let found = mismatch(output, &captured);
            assert_eq!((found.fault, found.differing_primitives), (Fault::WrongVertex, 2));
            // The first instance has one too few or one too many.
            let mut captured = right.clone();
            captured.remove(4);
            let found = mismatch_of(output, [&captured, &right]);
            assert_eq!(found.fault, Fault::MissingPrimitive, "{output:?}: {found}");
            let mut captured = right.clone();
            captured.insert(4, captured[4].clone());
            let found = mismatch_of(output, [&captured, &right]);
            assert_eq!(found.fault, Fault::ExtraPrimitive, "{output:?}: {found}");
        }
    }
}
