//! Determines the normals by which surfaces are shaded smoothly, from an output whose name says that it is a
//! normal.

use glam::{DMat3, DVec3};

use super::Picture;
use super::view::View;
use crate::capture::output::Shown;
use crate::capture::records::Number;

/// Returns for each vertex a unit vector in the space of `shapes`, or zero if the output of the
/// vertex has no direction. `None` if no output is a normal, or if the rotation from the space of
/// the normals to that of the picture cannot be determined: then triangles are flat.
pub(super) fn normals(
    shown: &Shown<'_>,
    picture: &Picture<'_>,
    shapes: &[[f64; 3]],
) -> Option<Vec<DVec3>> {
    let column = picture.normal?;
    let records = shown.records;
    let own = (0..records.vertices).map(|vertex| {
        let mut numbers = records.numbers(vertex, column).into_iter().map(Number::to_f64);
        let normal = DVec3::from_array([(); 3].map(|()| numbers.next().unwrap_or(0.0)));
        if normal.is_finite() { normal.normalize_or_zero() } else { DVec3::ZERO }
    });
    let own: Vec<DVec3> = own.collect();
    match picture.view {
        // The positions are in the same space as the normals.
        View::From { .. } if !picture.place.is_position => {
            let turned = |normal: &DVec3| picture.view.turned(normal.to_array()).into();
            Some(own.iter().map(turned).collect())
        }
        // The positions are in clip space. Only the shader knows how clip space is rotated relative to the
        // space of the normals, so the rotation is estimated.
        _ => {
            let rotation = best_rotation(shapes, &own)?;
            Some(own.iter().map(|normal| rotation * *normal).collect())
        }
    }
}

/// Returns the rotation, or reflection, that best maps the normals of the vertices to the normals of the triangles in
/// `shapes`: the orthogonal factor of the sum of the outer products of both. `None` if the normals do not determine a
/// rotation, as in a plane.
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
    if !rotation.is_finite() || rotation.determinant().abs() < 1e-6 {
        return None;
    }
    // Newton's iteration for the orthogonal factor. Far from the result, each step about halves the largest
    // stretch; near the result, it doubles the number of right digits.
    for _ in 0..40 {
        rotation = (rotation + rotation.inverse().transpose()) * 0.5;
    }
    rotation.is_finite().then_some(rotation)
}

#[cfg(test)]
mod tests {
    use super::*;

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
