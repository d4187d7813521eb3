//! Determines the normals by which surfaces are shaded smoothly, from an output whose name says that it is a
//! normal.

use glam::{DMat3, DVec3};

use super::View;
use crate::capture::output::Shown;
use crate::capture::records::{Column, Number};

/// Returns the normal of each vertex as a unit vector. It is in the space of `shapes`: these are the positions of the
/// vertices in the picture, without perspective. The normal is zero if the captured output of the vertex is zero or not
/// finite. `None` if no output is a normal, or if the rotation from the space of the normals to that of the picture
/// cannot be determined. In the latter case a remark says that the triangles are shaded flat. There is no
/// remark if all normals are the same, because smooth shading would then look like flat shading.
pub(super) fn normals(
    shown: &Shown<'_>,
    column: Option<&Column>,
    view: View<'_>,
    shapes: &[[f64; 3]],
    remarks: &mut Vec<String>,
) -> Option<Vec<DVec3>> {
    let column = column?;
    let records = shown.records;
    let own = (0..records.vertices).map(|vertex| {
        let mut numbers = records.numbers(vertex, column).into_iter().map(Number::to_f64);
        let normal = DVec3::from_array([(); 3].map(|()| numbers.next().unwrap_or(0.0)));
        if normal.is_finite() { normal.normalize_or_zero() } else { DVec3::ZERO }
    });
    let own: Vec<DVec3> = own.collect();
    if !view.place.is_position {
        // The positions are in the same space as the normals.
        return Some(own.iter().map(|normal| DVec3::new(normal.x, -normal.y, -normal.z)).collect());
    }
    // Only the shader knows how the space of `Position` is rotated relative to that of the normals, so the rotation is
    // estimated.
    let Some(rotation) = best_rotation(shapes, &own) else {
        // If all normals are the same, smooth shading would not differ from flat triangles, so there is no remark.
        if own.iter().any(|normal| Some(normal) != own.first()) {
            remarks.push(format!(
                "triangles are flat: how {} lies on the screen cannot be told from triangles that all face one way; \
                 with --varyings that name a position in space, without Position, it is taken as it is",
                column.name
            ));
        }
        return None;
    };
    Some(own.iter().map(|normal| rotation * *normal).collect())
}

/// The smallest singular value, relative to the largest, that does not count as 0. Smaller singular values come from
/// the rounding of 32-bit floats.
const LEAST_STRETCH: f64 = 1e-4;

/// Returns the rotation, or reflection, that best maps the normals of the vertices to the normals of the triangles in
/// `shapes`: the orthogonal factor of the sum of the outer products of both. `None` if the normals do not determine a
/// rotation, for example if all triangles face the same way.
fn best_rotation(shapes: &[[f64; 3]], normals: &[DVec3]) -> Option<DMat3> {
    let mut sum = DMat3::ZERO;
    for (corners, normals) in shapes.chunks_exact(3).zip(normals.chunks_exact(3)) {
        let [a, b, c] = [0, 1, 2].map(|corner| DVec3::from_array(corners[corner]));
        let of_triangle = (b - a).cross(c - a);
        let mean: DVec3 = normals.iter().sum();
        if of_triangle.is_finite() {
            let (of_triangle, mean) = (of_triangle.normalize_or_zero(), mean.normalize_or_zero());
            let product = [mean.x, mean.y, mean.z].map(|number| of_triangle * number);
            sum += DMat3::from_cols(product[0], product[1], product[2]);
        }
    }
    let size = sum.to_cols_array().iter().map(|number| number.abs()).fold(0.0, f64::max);
    let mut rotation = sum * size.recip();
    // The matrix of the cofactors has the singular vectors of `rotation`. Each of its singular values is the product of
    // two of the three singular values of `rotation`.
    let cofactors = DMat3::from_cols_array_2d(&[1, 2, 0].map(|column| {
        let (second, third) = (rotation.col(column), rotation.col((column + 1) % 3));
        second.cross(third).to_array()
    }));
    let largest = cofactors.to_cols_array().iter().map(|number| number.abs()).fold(0.0, f64::max);
    if !rotation.is_finite() || largest < LEAST_STRETCH {
        return None;
    }
    // If all normals are in one plane, as those of a cylinder, the third singular value is 0. The two directions in the
    // plane determine the rotation, and the cofactors supply the third direction, perpendicular to the plane.
    if rotation.determinant().abs() < LEAST_STRETCH * largest {
        rotation += cofactors * largest.recip();
    }
    // Newton's iteration for the orthogonal factor. Far from the result, each step about halves the largest singular
    // value. Near the result, it doubles the number of right digits.
    for _ in 0..40 {
        rotation = (rotation + rotation.inverse().transpose()) * 0.5;
    }
    rotation.is_finite().then_some(rotation)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The side of a cylinder has normals in a plane. So they determine the rotation only up to a reflection at this
    /// plane, which changes none of the normals.
    #[test]
    fn normals_in_a_plane_are_turned() {
        let turn = DMat3::from_euler(glam::EulerRot::XYZ, 0.3, -1.2, 2.0);
        let mirror = turn * DMat3::from_diagonal(DVec3::new(1.0, -1.0, 1.0));
        for expected in [turn, mirror] {
            let (mut shapes, mut normals) = (Vec::new(), Vec::new());
            for side in 0..12 {
                let at = |side: i32| {
                    let (sin, cos) = (f64::from(side) * std::f64::consts::TAU / 12.0).sin_cos();
                    DVec3::new(cos, 0.0, sin)
                };
                let (this, next) = (at(side), at(side + 1));
                let mut corners = [this + DVec3::Y, next + DVec3::Y, this - DVec3::Y];
                if expected.determinant() < 0.0 {
                    corners.swap(0, 1);
                }
                shapes.extend(corners.map(|corner| (expected * corner).to_array()));
                normals.extend([(this + next).normalize(); 3]);
            }
            let found = best_rotation(&shapes, &normals).unwrap();
            for normal in normals {
                let (found, expected) = (found * normal, expected * normal);
                assert!(found.abs_diff_eq(expected, 1e-12), "{found} {expected}");
            }
        }
        // Triangles in one plane do not determine a rotation, even if the normals of their vertices differ.
        let shapes = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].repeat(2);
        let normals = [DVec3::Z, DVec3::Z, DVec3::Z, DVec3::X, DVec3::Z, DVec3::Z];
        assert_eq!(best_rotation(&shapes, &normals), None);
    }

    #[test]
    fn the_rotation_between_two_spaces_is_found() {
        let expected = DMat3::from_euler(glam::EulerRot::XYZ, 0.3, -1.2, 2.0);
        for expected in [expected, -expected] {
            // The sides of an octahedron, whose normals are all (±1, ±1, ±1).
            let (mut shapes, mut normals) = (Vec::new(), Vec::new());
            for side in 0..8 {
                let signs = [0, 1, 2].map(|axis| if side >> axis & 1 == 0 { 1.0 } else { -1.0 });
                let normal = DVec3::from_array(signs);
                let mut corners = [DVec3::X, DVec3::Y, DVec3::Z].map(|axis| axis * normal);
                let out = (corners[1] - corners[0]).cross(corners[2] - corners[0]).dot(normal);
                // A reflection reverses the order of the corners.
                if (out < 0.0) != (expected.determinant() < 0.0) {
                    corners.swap(0, 1);
                }
                shapes.extend(corners.map(|corner| (expected * corner).to_array()));
                normals.extend([normal.normalize(); 3]);
            }
            let found = best_rotation(&shapes, &normals).unwrap();
            assert!(found.abs_diff_eq(expected, 1e-12), "{found} {expected}");
            assert_eq!(best_rotation(&shapes[..3], &normals[..3]), None);
        }
    }
}
