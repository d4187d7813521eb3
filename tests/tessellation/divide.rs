//! What holds for every divided patch.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use vkxfb_rewriter::tessellator::{Domain, ONE, Patch, Spacing, Tessellator};

use crate::levels::{Levels, count, sets, tessellators};

type Vertex = [u32; 3];

/// The number of segments of a level, as the specification words it, except that levels of fractional spacing are
/// multiples of 2^-16.
fn segments(level: f32, spacing: Spacing) -> u32 {
    let mut level = f64::from(if level > 0.0 { level } else { 0.0 });
    if spacing != Spacing::Equal {
        level = (level * 65536.0).round() / 65536.0;
    }
    match spacing {
        Spacing::Equal => level.clamp(1.0, 64.0).ceil() as u32,
        Spacing::FractionalEven => 2 * (level.clamp(2.0, 64.0) / 2.0).ceil() as u32,
        Spacing::FractionalOdd => 2 * ((level.clamp(1.0, 63.0) - 1.0) / 2.0).ceil() as u32 + 1,
    }
}

/// The segments of an inner level of a patch of which not all levels are 1: those of a level a little above 1.
fn more_than_1(segments: u32, spacing: Spacing) -> u32 {
    match (segments, spacing) {
        (1, Spacing::FractionalOdd) => 3,
        (1, _) => 2,
        _ => segments,
    }
}

/// The numbers of triangles or lines, and of vertices, counted ring by ring and row by row.
fn counted(tessellator: Tessellator, levels: &Levels) -> [u32; 2] {
    let spacing = tessellator.spacing;
    let edges = match tessellator.domain {
        Domain::Triangles => 3,
        Domain::Quads => 4,
        Domain::Isolines => 2,
    };
    if !levels.outer[..edges].iter().all(|level| *level > 0.0) {
        return [0, 0];
    }
    let outer = levels.outer.map(|level| segments(level, spacing));
    let sum: u32 = outer[..edges].iter().sum();
    let inner = levels.inner.map(|level| segments(level, spacing));
    match tessellator.domain {
        Domain::Isolines => {
            let lines = segments(levels.outer[0], Spacing::Equal);
            [lines * outer[1], lines * (outer[1] + 1)]
        }
        Domain::Triangles if sum == 3 && inner[0] == 1 => [1, 3],
        Domain::Triangles => {
            let (mut triangles, mut vertices) = (0, 0);
            let mut around = sum;
            let mut across = more_than_1(inner[0], spacing);
            while across > 1 {
                vertices += around;
                triangles += around + 3 * (across - 2);
                (around, across) = (3 * (across - 2), across - 2);
            }
            match across {
                0 => [triangles, vertices + 1],
                _ => [triangles + 1, vertices + 3],
            }
        }
        Domain::Quads if sum == 4 && inner == [1, 1] => [2, 4],
        Domain::Quads => {
            let [columns, rows] = inner.map(|segments| more_than_1(segments, spacing) - 2);
            let within = (0..rows).map(|_| 2 * columns).sum::<u32>();
            [within + sum + 2 * columns + 2 * rows, sum + (columns + 1) * (rows + 1)]
        }
    }
}

fn each(mut f: impl FnMut(Tessellator, &Levels, &Patch)) {
    for (which, tessellator) in tessellators().into_iter().enumerate() {
        for levels in sets(which, count()) {
            f(tessellator, &levels, &tessellator.divide(levels.outer, levels.inner));
        }
    }
}

#[test]
fn the_number_of_primitives_is_that_of_the_specification() {
    let mut all = 0u64;
    each(|tessellator, levels, patch| {
        let expected = counted(tessellator, levels)[usize::from(tessellator.points)];
        assert_eq!(patch.primitive_count(), expected, "{tessellator:?} {levels:?}");
        assert!(expected <= tessellator.most_primitives(), "{tessellator:?} {levels:?}");
        all += u64::from(expected);
    });
    assert!(all > 100_000, "{all}");
    for tessellator in tessellators() {
        let most = match tessellator.spacing {
            Spacing::FractionalOdd => continue,
            _ => tessellator.divide([99.0; 4], [99.0; 2]).primitive_count(),
        };
        assert_eq!(most, tessellator.most_primitives(), "{tessellator:?}");
    }
}

/// Twice the area, in the plane of the first two coordinates, of a counter-clockwise triangle.
fn area(triangle: &[Vertex]) -> i64 {
    let [a, b, c] =
        [0, 1, 2].map(|v: usize| [0, 1].map(|axis: usize| i64::from(triangle[v][axis])));
    (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])
}

/// The side of the domain that both vertices are on.
fn common_side(domain: Domain, a: Vertex, b: Vertex) -> Option<usize> {
    let is_on = |side: usize, vertex: Vertex| match (domain, side) {
        (Domain::Quads, 2 | 3) => vertex[side - 2] == ONE,
        (_, side) => vertex[side] == 0,
    };
    let sides = if domain == Domain::Quads { 4 } else { 3 };
    (0..sides).find(|side| is_on(*side, a) && is_on(*side, b))
}

/// No triangle is turned, they cover the domain once, and each of their edges either has a partner or lies on the
/// boundary.
#[test]
fn triangles_cover_the_domain_without_a_crack() {
    each(|tessellator, levels, patch| {
        let domain = tessellator.domain;
        if tessellator.points || domain == Domain::Isolines || patch.primitive_count() == 0 {
            return;
        }
        let what = || format!("{tessellator:?} {levels:?}");
        let mut sum = 0;
        let mut edges: HashMap<(Vertex, Vertex), i32> = HashMap::new();
        for primitive in 0..patch.primitive_count() {
            let triangle = [0, 1, 2].map(|slot| patch.vertex(primitive, slot));
            for vertex in triangle {
                assert!(vertex.iter().all(|x| *x <= ONE), "{vertex:?} {}", what());
                let whole = if domain == Domain::Triangles { ONE } else { vertex[0] + vertex[1] };
                assert_eq!(vertex.iter().sum::<u32>(), whole, "{vertex:?} {}", what());
            }
            assert!(area(&triangle) >= 0, "triangle {primitive} {triangle:?} {}", what());
            sum += area(&triangle);
            for (from, to) in [(0, 1), (1, 2), (2, 0)].map(|(a, b)| (triangle[a], triangle[b])) {
                if from != to {
                    *edges.entry((from.min(to), from.max(to))).or_default() +=
                        if from < to { 1 } else { -1 };
                }
            }
        }
        let one = i64::from(ONE);
        assert_eq!(
            sum,
            if domain == Domain::Quads { 2 * one * one } else { one * one },
            "{}",
            what()
        );
        // The edges without partners go once around.
        let mut lengths = BTreeMap::new();
        for ((a, b), net) in edges.into_iter().filter(|(_, net)| *net != 0) {
            let side = common_side(domain, a, b);
            assert!(net.abs() == 1 && side.is_some(), "{a:?} {b:?} {net} {}", what());
            let length = (0..2).map(|axis| a[axis].abs_diff(b[axis])).max().unwrap();
            *lengths.entry(side).or_insert(0) += length;
        }
        assert!(lengths.len() >= 3 && lengths.values().all(|length| *length == ONE), "{}", what());
    });
}

/// The number of vertices of a primitive without point mode.
fn whole_vertices(tessellator: Tessellator) -> u32 {
    Tessellator { points: false, ..tessellator }.primitive_vertices()
}

/// As points there is each vertex of the triangles or lines.
#[test]
fn points_are_the_vertices() {
    each(|tessellator, levels, points| {
        if !tessellator.points {
            return;
        }
        let whole = Tessellator { points: false, ..tessellator }.divide(levels.outer, levels.inner);
        let vertices = 0..whole.primitive_count();
        let slots = whole_vertices(tessellator);
        let of = |primitive| (0..slots).map(move |slot| (primitive, slot));
        let vertices: BTreeSet<Vertex> =
            vertices.flat_map(of).map(|(primitive, slot)| whole.vertex(primitive, slot)).collect();
        let found: Vec<Vertex> =
            (0..points.primitive_count()).map(|point| points.vertex(point, 0)).collect();
        let distinct: BTreeSet<Vertex> = found.iter().copied().collect();
        assert_eq!(distinct, vertices, "{tessellator:?} {levels:?}");
        // Positions may coincide: a new segment begins with no length.
        assert!(found.len() >= vertices.len(), "{tessellator:?} {levels:?}");
        if tessellator.spacing == Spacing::Equal {
            assert_eq!(found.len(), vertices.len(), "{tessellator:?} {levels:?}");
        }
    });
}

/// An edge has the same points whichever domain, side and direction it is seen from.
#[test]
fn edges_are_divided_alike() {
    for spacing in crate::levels::SPACINGS {
        for number in 0..700 {
            let level = 1.0 + number as f32 * 0.0937;
            let points = |domain, side: usize| {
                let tessellator = Tessellator { domain, spacing, flipped: false, points: true };
                let mut outer = [1.5; 4];
                outer[side] = level;
                let patch = tessellator.divide(outer, [3.0; 2]);
                let vertices = (0..patch.primitive_count()).map(|point| patch.vertex(point, 0));
                // Each with its position along the side, as it is and mirrored.
                let (along, fixed, at) = match (domain, side) {
                    (Domain::Triangles, side) => ((side + 1) % 3, side, 0),
                    (_, side) => ((side + 1) % 2, side % 2, if side < 2 { 0 } else { ONE }),
                };
                let on: BTreeSet<u32> = vertices
                    .filter(|vertex| vertex[fixed] == at)
                    .map(|vertex| vertex[along])
                    .collect();
                on
            };
            let expected = points(Domain::Triangles, 0);
            assert_eq!(
                expected.iter().map(|x| ONE - x).collect::<BTreeSet<_>>(),
                expected,
                "{level}"
            );
            for side in 0..3 {
                assert_eq!(points(Domain::Triangles, side), expected, "{spacing:?} {level} {side}");
            }
            for side in 0..4 {
                assert_eq!(points(Domain::Quads, side), expected, "{spacing:?} {level} {side}");
            }
        }
    }
}

/// Turning a tessellator turns its triangles, and nothing else.
#[test]
fn flipped_triangles_are_the_same_turned() {
    for tessellator in tessellators() {
        let flipped = Tessellator { flipped: true, ..tessellator };
        let [a, b] = [tessellator, flipped].map(|t| t.divide([5.0, 2.5, 3.0, 7.0], [6.0, 3.0]));
        assert_eq!(a.primitive_count(), b.primitive_count());
        let turned = tessellator.primitive_vertices() == 3;
        for primitive in 0..a.primitive_count() {
            for slot in 0..tessellator.primitive_vertices() {
                let other = if turned { (3 - slot) % 3 } else { slot };
                assert_eq!(a.vertex(primitive, slot), b.vertex(primitive, other));
            }
        }
    }
}
