//! The size and viewpoint of a picture.

use std::str::FromStr;

use crate::capture::space::Axes;

/// The size of a picture in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) width: u32,
    pub(super) height: u32,
}

/// The maximum width and height in pixels.
const MOST: u32 = 16384;

impl Default for Size {
    fn default() -> Self {
        Self { width: 1024, height: 1024 }
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("WIDTHxHEIGHT, up to {MOST} each, as in 1280x720");
        let (width, height) = text.split_once(['x', 'X']).ok_or_else(wrong)?;
        let pixels = |text: &str| {
            let pixels = text.trim().parse().ok();
            pixels.filter(|pixels| (1..=MOST).contains(pixels)).ok_or_else(wrong)
        };
        Ok(Self { width: pixels(width)?, height: pixels(height)? })
    }
}

/// The viewpoint of a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum View {
    /// The view is the shader's own: the captured `Position` is used as clip-space coordinates.
    Shader,
    /// The mesh is seen from outside, without perspective, and is fully in view. The angles are in
    /// degrees: the azimuth turns from the front to the right side, and the elevation upwards.
    From { azimuth: f64, elevation: f64 },
}

const NAMED: [(&str, View); 8] = [
    ("shader", View::Shader),
    ("front", View::FRONT),
    ("back", View::From { azimuth: 180.0, elevation: 0.0 }),
    ("left", View::From { azimuth: -90.0, elevation: 0.0 }),
    ("right", View::From { azimuth: 90.0, elevation: 0.0 }),
    ("top", View::From { azimuth: 0.0, elevation: 90.0 }),
    ("bottom", View::From { azimuth: 0.0, elevation: -90.0 }),
    ("corner", View::CORNER),
];

impl View {
    pub(super) const FRONT: Self = Self::From { azimuth: 0.0, elevation: 0.0 };
    pub(super) const CORNER: Self = Self::From { azimuth: 35.0, elevation: 25.0 };

    /// Returns a position in the axes of the picture: to the right, downwards, and away from the viewer at this azimuth
    /// and elevation. `None` for a position in clip space that is behind the viewer.
    pub(super) fn seen(self, place: [f64; 4], axes: Axes) -> Option<[f64; 3]> {
        Some(self.turned(axes.in_space(place)?))
    }

    /// Rotates a direction into the axes of the picture: to the right, downwards, and away from the viewer at this
    /// azimuth and elevation. In the argument, y points upwards, and z towards a viewer in front (azimuth and elevation
    /// 0). `Shader` has azimuth and elevation 0.
    pub(super) fn turned(self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let (azimuth, elevation) = match self {
            Self::Shader => (0.0, 0.0),
            Self::From { azimuth, elevation } => (azimuth, elevation),
        };
        let (sin, cos) = azimuth.to_radians().sin_cos();
        let (up, level) = elevation.to_radians().sin_cos();
        let right = x * cos - z * sin;
        let towards = x * sin + z * cos;
        [right, towards * up - y * level, -(towards * level + y * up)]
    }
}

impl FromStr for View {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, view)) = NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(*view);
        }
        let angle = |text: &str| text.trim().parse().ok().filter(|angle: &f64| angle.is_finite());
        let angles = text.split_once(',').map(|(a, e)| (angle(a), angle(e)));
        match angles {
            Some((Some(azimuth), Some(elevation))) => Ok(Self::From { azimuth, elevation }),
            _ => {
                let names = NAMED.map(|(name, _)| name).join(", ");
                Err(format!("{names}, or two angles in degrees, as in 30,20"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_and_sizes_are_read() {
        assert_eq!("top".parse(), Ok(View::From { azimuth: 0.0, elevation: 90.0 }));
        assert_eq!("-30, 20".parse(), Ok(View::From { azimuth: -30.0, elevation: 20.0 }));
        for wrong in ["", "up", "1", "1,", "nan,0"] {
            assert!(wrong.parse::<View>().is_err(), "{wrong}");
        }
        assert_eq!("1280x720".parse(), Ok(Size { width: 1280, height: 720 }));
        for wrong in ["", "1280", "0x1", "1x16385", "-1x1"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }
}
