//! Whether the capture and the picture are those that the CPU computes.

use anyhow::{Result, ensure};

use super::picture::{GROUND_PIXEL, SIZE};
use super::scene::Captured;

/// The driver computes sines and interpolates colours with less than the CPU's precision.
const TOLERANCE: f32 = 1e-4;
const COLOUR_TOLERANCE: f32 = 1.5 / 255.0;

/// Holds what was captured against what the CPU makes of the mesh.
pub fn capture(found: &[Captured], expected: &[Captured]) -> Result<()> {
    ensure!(found.len() == expected.len(), "{} vertices, not {}", found.len(), expected.len());
    for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
        let scalars = |vertex: &Captured| bytemuck::cast::<_, [f32; 8]>(*vertex);
        let pairs = scalars(found).into_iter().zip(scalars(expected));
        let is_near = pairs.into_iter().all(|(f, e)| (f - e).abs() <= TOLERANCE);
        ensure!(is_near, "vertex {number} is {found:?}, not {expected:?}");
    }
    Ok(())
}

/// Looks at the pixel in the middle of each triangle, which has the colours of its corners there, and at the corners of
/// the picture, where no triangle is.
pub fn picture(pixels: &[u8], triangles: &[Captured]) -> Result<()> {
    let pixel = |x: u32, y: u32| {
        let at = (y * SIZE[0] + x) as usize * 4;
        [pixels[at], pixels[at + 1], pixels[at + 2], pixels[at + 3]]
    };
    for (x, y) in [(0, 0), (SIZE[0] - 1, 0), (0, SIZE[1] - 1), (SIZE[0] - 1, SIZE[1] - 1)] {
        ensure!(pixel(x, y) == GROUND_PIXEL, "pixel {x}, {y} is {:?}", pixel(x, y));
    }
    for triangle in triangles.as_chunks::<3>().0 {
        let places = triangle.map(|vertex| on_picture(&vertex));
        let [x, y] = [0, 1].map(|axis| (places.iter().map(|p| p[axis]).sum::<f32>() / 3.0).floor());
        let weights = weights(&places, [x + 0.5, y + 0.5]);
        // The middle of the pixel is not that of the triangle, but in it, too.
        ensure!(
            weights.iter().all(|weight| *weight > 0.0),
            "a triangle is too small to be checked"
        );
        let found = pixel(x as u32, y as u32);
        for (channel, found) in found.iter().enumerate() {
            let corners = triangle.iter().zip(weights);
            let expected: f32 = corners.map(|(v, weight)| v.colour[channel] * weight).sum();
            let difference = f32::from(*found) / 255.0 - expected;
            ensure!(
                difference.abs() <= COLOUR_TOLERANCE,
                "pixel {x}, {y} is {found} in channel {channel}, not {}",
                expected * 255.0
            );
        }
    }
    Ok(())
}

/// Pixels from the left and from the top. In WebGPU y points up.
fn on_picture(vertex: &Captured) -> [f32; 2] {
    let [x, y, _, w] = vertex.clip;
    [(1.0 + x / w) / 2.0 * SIZE[0] as f32, (1.0 - y / w) / 2.0 * SIZE[1] as f32]
}

/// How much of each corner of a triangle a point has.
fn weights(corners: &[[f32; 2]; 3], point: [f32; 2]) -> [f32; 3] {
    let area =
        |[a, b, c]: [[f32; 2]; 3]| (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    [0, 1, 2].map(|corner| {
        let mut others = *corners;
        others[corner] = point;
        area(others) / area(*corners)
    })
}
