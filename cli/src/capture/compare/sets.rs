//! Compares captures of tessellation shaders as sets of primitives.
//!
//! Vulkan leaves it to the driver in which order it captures the primitives of a patch, with which vertex a triangle
//! begins, and how triangles connect the points of a patch. Tessellators also differ in the last bits of the
//! coordinates. So two vertices are the same if their floats differ by no more than [`TOLERANCE`], and triangles that
//! the captures do not share are the same if they cover the same area with the same winding.

use std::collections::{BTreeMap, HashMap, HashSet};

use vkxfb_rewriter::spirv::NumericClass;

use super::{Compared, in_order};
use crate::capture::device::Taken;
use crate::capture::plan::CapturePlan;
use crate::capture::records::{Column, Number, Records};

/// The largest difference between floats of the same vertex, as a fraction of the range of all values of the component:
/// src/guide/limits.md says that the points are the same to 0.0003 of the domain's size.
const TOLERANCE: f64 = 0.0003;

/// The largest difference between floats of the same vertex, as a fraction of the largest value of the component.
const PRECISION: f64 = 1.0 / (1 << 20) as f64;

/// The number of components by which vertices are looked up. Others are compared, too.
const AXES: usize = 3;

/// Compares the capture `taken` of tessellation shaders with the driver's own capture `native`: byte by byte and, if
/// bytes differ, as sets of primitives.
pub(in crate::capture) fn of_patches(
    plan: &CapturePlan,
    taken: &Taken,
    native: &Taken,
    per_primitive: u32,
) -> Compared {
    let compared = in_order(plan, taken, native, per_primitive);
    if compared == Compared::Equal || taken.primitives_written != native.primitives_written {
        return compared;
    }
    let ours = plan.records(taken, per_primitive);
    let theirs = plan.records(native, per_primitive);
    let mut vertices = ComparedVertices::new(&plan.columns, [&ours, &theirs]);
    let m = per_primitive.max(1) as usize;
    let of = |numbers: &[u32]| -> Vec<Primitive> { numbers.chunks_exact(m).map(turned).collect() };
    let own_numbers = vertices.numbers(&ours);
    let native_numbers = vertices.numbers(&theirs);
    let (own, other) = (of(&own_numbers), of(&native_numbers));
    // How often this capture has a primitive more than the driver's.
    let mut surplus: HashMap<&Primitive, i64> = HashMap::new();
    own.iter().for_each(|primitive| *surplus.entry(primitive).or_default() += 1);
    other.iter().for_each(|primitive| *surplus.entry(primitive).or_default() -= 1);
    surplus.retain(|_, count| *count != 0);
    let kind = match m {
        1 => "points",
        2 => "lines",
        _ => "triangles",
    };
    let missing: i64 = surplus.values().filter(|count| **count > 0).sum();
    if surplus.is_empty() || cover_the_same(&surplus) {
        let mut text = format!("compared as sets of {kind}");
        if missing > 0 {
            text += &format!("; {missing} connect the same points along other edges");
        }
        if vertices.largest > 0.0 {
            text += &format!("; values differ by up to {:.1e} of their range", vertices.largest);
        }
        return Compared::AsSets(text);
    }
    let of_driver: HashSet<u32> = native_numbers.iter().copied().collect();
    let place = own.iter().position(|p| surplus.get(p).is_some_and(|count| *count > 0));
    let place = place.unwrap_or(0);
    let first = own.get(place).cloned().unwrap_or_default();
    let is_reversed = surplus.get(&turned(&reversed(&first))).is_some_and(|count| *count < 0);
    let lonely = (place * m..(place + 1) * m)
        .find(|vertex| own_numbers.get(*vertex).is_some_and(|number| !of_driver.contains(number)));
    let what = match (is_reversed, lonely) {
        (true, _) if m == 2 => "which the driver has in the opposite direction".to_owned(),
        (true, _) => "which the driver has with the opposite winding".to_owned(),
        (false, Some(vertex)) => {
            let text = |column: &Column| {
                let numbers = ours.numbers(vertex, column);
                let numbers: Vec<_> = numbers.iter().map(Number::to_string).collect();
                format!("{} {}", column.name, numbers.join(" "))
            };
            let outputs: Vec<_> = plan.columns.iter().map(text).collect();
            format!("where the driver has no vertex with {}", outputs.join(", "))
        }
        (false, None) => "which the driver does not have".to_owned(),
    };
    let all = own.len();
    Compared::Different(format!(
        "{missing} of {all} {kind}, in whatever order, the first is primitive {place}, {what}"
    ))
}

/// The numbers of the vertices of a primitive.
type Primitive = Vec<u32>;

/// Returns the vertices of a primitive in an order that is the same for all vertices with which a triangle may begin.
fn turned(primitive: &[u32]) -> Primitive {
    let mut turned = primitive.to_vec();
    if turned.len() > 2 {
        let least = (0..turned.len()).min_by_key(|slot| turned[*slot]).unwrap_or(0);
        turned.rotate_left(least);
    }
    turned
}

fn reversed(primitive: &[u32]) -> Primitive {
    primitive.iter().rev().copied().collect()
}

/// Whether the triangles that only one of the captures has cover the same areas with the same winding. Triangles that
/// are connected by vertices cover an area. Its boundary are the edges along which the triangles do not go in both
/// directions.
fn cover_the_same(surplus: &HashMap<&Primitive, i64>) -> bool {
    if surplus.keys().any(|primitive| primitive.len() != 3) {
        return false;
    }
    let mut areas = Areas::default();
    surplus.keys().for_each(|triangle| triangle.iter().for_each(|v| areas.join(triangle[0], *v)));
    // Each area, as each of the captures covers it.
    let mut areas_covered: BTreeMap<u32, [Covered; 2]> = BTreeMap::new();
    for (triangle, count) in surplus {
        let both = areas_covered.entry(areas.of(triangle[0])).or_default();
        let covered = &mut both[usize::from(*count < 0)];
        covered.vertices.extend(triangle.iter());
        for (from, to) in [(0, 1), (1, 2), (2, 0)].map(|(a, b)| (triangle[a], triangle[b])) {
            let step = if from < to { 1 } else { -1 };
            *covered.edges.entry([from.min(to), from.max(to)]).or_default() += step * count.abs();
        }
    }
    areas_covered.into_values().all(|mut both| {
        both.iter_mut().for_each(|covered| covered.edges.retain(|_, times| *times != 0));
        let [own, other] = both;
        // An area without a boundary has the same boundary with the opposite winding.
        own == other && !own.edges.is_empty()
    })
}

/// An area that triangles cover.
#[derive(Default, PartialEq)]
struct Covered {
    vertices: HashSet<u32>,
    /// How often the triangles go along each edge, less how often they go along it in the opposite direction.
    edges: HashMap<[u32; 2], i64>,
}

/// Sets of connected vertices, each of which has one of its vertices as its name.
#[derive(Default)]
struct Areas(HashMap<u32, u32>);

impl Areas {
    fn of(&self, vertex: u32) -> u32 {
        let mut name = vertex;
        while let Some(next) = self.0.get(&name).filter(|next| **next != name) {
            name = *next;
        }
        name
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.of(one), self.of(other));
        self.0.insert(one.max(other), one.min(other));
    }
}

/// A component of the outputs.
struct Component {
    is_float: bool,
    /// The difference between the largest and the smallest finite value.
    range: f64,
    /// The largest difference between values that count as the same.
    tolerance: f64,
}

/// The different vertices of both captures, which are numbered.
struct ComparedVertices<'a> {
    columns: &'a [Column],
    components: Vec<Component>,
    /// The floats by which vertices are looked up.
    axes: Vec<usize>,
    known: Vec<Vec<Number>>,
    /// The numbers of the vertices, by the cell of a grid in which they are.
    cells: HashMap<[i64; AXES], Vec<u32>>,
    /// The largest difference between vertices that count as the same, as a fraction of the range of a component.
    largest: f64,
}

impl<'a> ComparedVertices<'a> {
    fn new(columns: &'a [Column], both: [&Records<'_>; 2]) -> Self {
        let mut components: Vec<Component> = Vec::new();
        for column in columns {
            let is_float = column.class() == NumericClass::Float;
            let values: Vec<Vec<Number>> = both
                .iter()
                .flat_map(|records| (0..records.vertices).map(|v| records.numbers(v, column)))
                .collect();
            let count = values.first().map_or(0, Vec::len);
            components.extend((0..count).map(|component| {
                let values = values.iter().filter_map(|all| Some(all.get(component)?.to_f64()));
                let start = (f64::INFINITY, f64::NEG_INFINITY);
                let (least, most) = values
                    .filter(|value| value.is_finite())
                    .fold(start, |(a, b), value| (a.min(value), b.max(value)));
                let range = (most - least).max(0.0);
                let rounding = least.abs().max(most.abs()) * PRECISION;
                let tolerance = (range * TOLERANCE).max(rounding);
                let tolerance = if is_float && tolerance.is_finite() { tolerance } else { 0.0 };
                Component { is_float, range, tolerance }
            }));
        }
        // The more cells there are, the fewer vertices are in each.
        let cells = |axis: &usize| components[*axis].range / components[*axis].tolerance;
        let mut axes: Vec<usize> =
            (0..components.len()).filter(|axis| components[*axis].tolerance > 0.0).collect();
        axes.sort_by(|a, b| cells(b).total_cmp(&cells(a)));
        axes.truncate(AXES);
        let (known, cells) = (Vec::new(), HashMap::new());
        Self { columns, components, axes, known, cells, largest: 0.0 }
    }

    /// Returns the number of each vertex of a capture.
    fn numbers(&mut self, records: &Records<'_>) -> Vec<u32> {
        (0..records.vertices)
            .map(|vertex| {
                let columns = self.columns.iter();
                let values = columns.flat_map(|column| records.numbers(vertex, column));
                self.number(values.collect())
            })
            .collect()
    }

    fn number(&mut self, values: Vec<Number>) -> u32 {
        let mut cell = [0; AXES];
        for (at, axis) in cell.iter_mut().zip(&self.axes) {
            *at = (values[*axis].to_f64() / self.components[*axis].tolerance).floor() as i64;
        }
        // Most vertices are in the cell where an equal one is, which comes first.
        let by = [0i64, -1, 1];
        let near = by.iter().flat_map(|x| by.iter().flat_map(move |y| by.map(|z| [*x, *y, z])));
        let near = near.map(|by| std::array::from_fn(|axis| cell[axis].saturating_add(by[axis])));
        let found =
            near.flat_map(|cell: [i64; AXES]| self.cells.get(&cell)).flatten().find_map(|number| {
                Some((*number, self.distance(&self.known[*number as usize], &values)?))
            });
        if let Some((number, distance)) = found {
            self.largest = self.largest.max(distance);
            return number;
        }
        let number = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
        self.known.push(values);
        self.cells.entry(cell).or_default().push(number);
        number
    }

    /// Returns the largest difference between the components of two vertices, as a fraction of the range of the
    /// component. `None` if the vertices are not the same.
    fn distance(&self, one: &[Number], other: &[Number]) -> Option<f64> {
        let pairs = one.iter().zip(other).zip(&self.components);
        pairs.into_iter().try_fold(0.0, |largest: f64, ((one, other), component)| {
            if one.bits() == other.bits() {
                return Some(largest);
            }
            let distance = (one.to_f64() - other.to_f64()).abs();
            let is_same = component.is_float && distance <= component.tolerance;
            let range = if component.range > 0.0 { component.range } else { 1.0 };
            is_same.then_some(largest.max(distance / range))
        })
    }
}

#[cfg(test)]
mod tests {
    use vkxfb_rewriter::capture::{CapturedOutput, Layout};
    use vkxfb_rewriter::spirv::Id;

    use super::*;
    use crate::capture::records::columns;

    /// A plan that captures a `vec2` and a `uint`.
    fn plan() -> CapturePlan {
        let output = |offset, components, class, name: &str| CapturedOutput {
            buffer: 0,
            offset,
            components,
            class,
            bits: 32,
            variable: Id(offset + 1),
            path: Vec::new(),
            name: Some(name.to_owned()),
            location: Some(offset),
            component: 0,
        };
        let layout = Layout {
            strides: [Some(12), None, None, None],
            streams: [0; 4],
            outputs: vec![
                output(0, 2, NumericClass::Float, "place"),
                output(8, 1, NumericClass::Uint, "patch_number"),
            ],
            varyings: Vec::new(),
        };
        let columns = columns(&layout, &[]);
        CapturePlan { layout, stream: 0, other_streams: Vec::new(), columns }
    }

    /// A vertex: its place, and the number of its patch.
    type Vertex = ([f32; 2], u32);

    fn compared(ours: &[Vertex], theirs: &[Vertex], per_primitive: u32) -> Compared {
        let taken = |vertices: &[Vertex]| {
            let bytes = vertices.iter().flat_map(|([x, y], patch)| {
                [x.to_le_bytes(), y.to_le_bytes(), patch.to_le_bytes()].concat()
            });
            let count = vertices.len() as u64 / u64::from(per_primitive);
            Taken {
                buffers: [bytes.collect(), Vec::new(), Vec::new(), Vec::new()],
                primitives_written: count,
                primitives_needed: count,
            }
        };
        of_patches(&plan(), &taken(ours), &taken(theirs), per_primitive)
    }

    /// The two triangles of each cell of a grid of `n` cells along each side.
    fn grid(n: u32, patch: u32) -> Vec<[Vertex; 3]> {
        let at = |x: u32, y: u32| ([x as f32 / n as f32, y as f32 / n as f32], patch);
        let cells = (0..n).flat_map(|y| (0..n).map(move |x| (x, y)));
        cells
            .flat_map(|(x, y)| {
                let [a, b, c, d] = [at(x, y), at(x + 1, y), at(x + 1, y + 1), at(x, y + 1)];
                [[a, b, c], [a, c, d]]
            })
            .collect()
    }

    fn is_set(compared: &Compared, says: &str) -> bool {
        matches!(compared, Compared::AsSets(text) if text.contains(says))
    }

    #[track_caller]
    fn differs(compared: &Compared, says: &str) {
        match compared {
            Compared::Different(text) => assert!(text.contains(says), "{text}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_driver_may_choose_is_no_difference() {
        let ours = [grid(3, 0), grid(3, 1)].concat();
        assert_eq!(compared(&ours.concat(), &ours.concat(), 3), Compared::Equal);
        let mut theirs = ours.clone();
        theirs.reverse();
        for (number, triangle) in theirs.iter_mut().enumerate() {
            triangle.rotate_left(number % 3);
            // As a tessellator with 16 bits for fractions says 1/3.
            triangle.iter_mut().for_each(|(place, _)| {
                *place = place.map(|x| (x * 65536.0).floor() / 65536.0);
            });
        }
        let found = compared(&ours.concat(), &theirs.concat(), 3);
        assert!(is_set(&found, "as sets of triangles; values differ by up to 1.0e-5"), "{found:?}");
        // Along the other diagonal of a cell.
        let mut theirs = ours.clone();
        let [[a, b, c], [_, _, d]] = [theirs[8], theirs[9]];
        (theirs[8], theirs[9]) = ([b, c, d], [b, d, a]);
        let found = compared(&ours.concat(), &theirs.concat(), 3);
        assert!(is_set(&found, "2 connect the same points along other edges"), "{found:?}");
    }

    #[test]
    fn what_a_driver_may_not_choose_is_a_difference() {
        let ours = [grid(3, 0), grid(3, 1)].concat();
        let changed = |change: fn(&mut Vec<[Vertex; 3]>)| {
            let mut theirs = ours.clone();
            theirs.reverse();
            change(&mut theirs);
            compared(&ours.concat(), &theirs.concat(), 3)
        };
        let flipped = changed(|all| all.iter_mut().for_each(|triangle| triangle.swap(1, 2)));
        let first = "the first is primitive 0, which the driver has with the opposite winding";
        differs(&flipped, &format!("36 of 36 triangles, in whatever order, {first}"));
        differs(&changed(|all| all[3].swap(0, 1)), "1 of 36 triangles, in whatever order");
        differs(&changed(|all| all[3] = all[4]), "which the driver does not have");
        // The point is elsewhere, or is of another patch.
        let moved = changed(|all| all[31][1].0[1] += 0.01);
        differs(&moved, "primitive 4, where the driver has no vertex with");
        differs(&changed(|all| all[35].iter_mut().for_each(|(_, patch)| *patch = 1)), "1 of 36");
        // Other diagonals do not hide an opposite winding.
        let turned = changed(|all| {
            let [[a, b, c], [_, _, d]] = [all[1], all[0]];
            (all[1], all[0]) = ([b, d, c], [b, a, d]);
        });
        differs(&turned, "2 of 36 triangles");
    }

    #[test]
    fn lines_have_directions_and_points_have_none() {
        let at = |x: u32| ([x as f32 / 3.0, 0.0], 0);
        let ours = [at(0), at(1), at(1), at(2)];
        let theirs = [at(1), at(2), at(0), at(1)];
        assert!(is_set(&compared(&ours, &theirs, 2), "compared as sets of lines"));
        assert!(is_set(&compared(&ours, &theirs, 1), "compared as sets of points"));
        let reversed = [at(1), at(2), at(1), at(0)];
        differs(
            &compared(&ours, &reversed, 2),
            "1 of 2 lines, in whatever order, the first is primitive 0",
        );
        differs(&compared(&ours, &reversed, 2), "in the opposite direction");
        differs(&compared(&ours, &[at(0), at(0), at(1), at(2)], 1), "1 of 4 points");
    }
}
