//! Where captured positions are in space: what pictures show, and what meshes are made of.

/// What captured positions are, and so which axes they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Axes {
    /// The built-in `Position` in Vulkan's clip space: y points downwards, z away from the viewer, and positions are
    /// divided by w.
    Clip,
    /// The built-in `Position` without a projection, with the axes of [`Axes::Space`]. Its w is 1.
    Model,
    /// Another output, with the axes of meshes: y points upwards, and z towards a viewer in front. Its fourth component
    /// says nothing of where it is.
    Space,
}

/// How far depths pass 0 and 1 if only rounding brings them there.
const DEPTH_ROUNDING: f64 = 1e-3;

/// How far w is from 1 without a projection. It is not just 1 where a shader adds matrices by weights, whose sum is
/// rounded: of four weights in bytes by up to 2/255.
const W_ROUNDING: f64 = 1e-2;

/// Whether a position with this w is in front of the viewer. Shaders discard vertices by a w of 0 or NaN.
fn is_in_front(w: f64) -> bool {
    w > 0.0 && w.is_finite()
}

/// Those of the positions that say whether they are projected.
fn in_front(places: impl Iterator<Item = [f64; 4]>) -> impl Iterator<Item = [f64; 4]> {
    places.filter(|place| place.iter().all(|number| number.is_finite()) && is_in_front(place[3]))
}

impl Axes {
    /// Returns what the built-in `Position` is in a mesh: in clip space if w differs from 1, as a perspective makes it.
    /// Where w is 1 throughout, the positions may be those of the mesh that the shader read, which must not come out
    /// turned.
    pub(super) fn in_mesh(places: impl Iterator<Item = [f64; 4]>) -> Self {
        if in_front(places).any(|[.., w]| (w - 1.0).abs() > W_ROUNDING) {
            Self::Clip
        } else {
            Self::Model
        }
    }

    /// Returns what the built-in `Position` is in a picture. There it is in clip space also where w is 1 throughout,
    /// as after an orthographic projection, unless depths leave the range of Vulkan's view, from 0 to 1: then the
    /// shader passes on the positions of a mesh.
    pub(super) fn in_picture(places: impl Iterator<Item = [f64; 4]> + Clone) -> Self {
        let is_in_view =
            |[_, _, z, _]: [f64; 4]| (-DEPTH_ROUNDING..=1.0 + DEPTH_ROUNDING).contains(&z);
        match Self::in_mesh(places.clone()) {
            Self::Model if in_front(places).all(is_in_view) => Self::Clip,
            axes => axes,
        }
    }

    /// Returns a position with the axes of [`Axes::Space`]. One in clip space is divided by w, and y and z are negated.
    /// `None` for a built-in `Position` whose w is not above 0, or no number: it is behind the viewer, where there is
    /// no such position.
    pub(super) fn in_space(self, [x, y, z, w]: [f64; 4]) -> Option<[f64; 3]> {
        match self {
            Self::Clip => is_in_front(w).then(|| [x / w, -y / w, -z / w]),
            Self::Model => is_in_front(w).then_some([x, y, z]),
            Self::Space => Some([x, y, z]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_that_no_projection_made_has_the_axes_of_meshes() {
        let picture = |places: &[[f64; 4]]| Axes::in_picture(places.iter().copied());
        let mesh = |places: &[[f64; 4]]| Axes::in_mesh(places.iter().copied());
        let at = |z: f64, w: f64| [0.5, 0.5, z, w];
        let (rounded, weighted) = (f64::from(1f32.next_down()), 254.0 / 255.0);
        for (places, in_picture, in_mesh) in [
            ([at(0.5, 1.0), at(-0.5, 1.0)], Axes::Model, Axes::Model),
            ([at(0.5, 1.0), at(-1e-6, 1.0)], Axes::Clip, Axes::Model),
            ([at(-0.5, 1.0), at(0.5, 2.0)], Axes::Clip, Axes::Clip),
            ([at(-0.5, rounded), at(0.5, weighted)], Axes::Model, Axes::Model),
            // One of the two is discarded.
            ([at(-0.5, 1.0), at(0.5, f64::NAN)], Axes::Model, Axes::Model),
            ([at(0.5, 1.0), at(f64::NAN, f64::NAN)], Axes::Clip, Axes::Model),
            ([at(-0.5, 1.0), [0.0; 4]], Axes::Model, Axes::Model),
            ([at(-0.5, 3.0), [0.0; 4]], Axes::Clip, Axes::Clip),
        ] {
            assert_eq!((picture(&places), mesh(&places)), (in_picture, in_mesh), "{places:?}");
        }
        assert_eq!(Axes::Clip.in_space([2.0, 4.0, 6.0, 2.0]), Some([1.0, -2.0, -3.0]));
        assert_eq!(Axes::Model.in_space([2.0, 4.0, 6.0, rounded]), Some([2.0, 4.0, 6.0]));
        for w in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Axes::Clip.in_space([2.0, 4.0, 6.0, w]), None);
            assert_eq!(Axes::Model.in_space([2.0, 4.0, 6.0, w]), None);
            assert_eq!(Axes::Space.in_space([2.0, 4.0, 6.0, w]), Some([2.0, 4.0, 6.0]));
        }
    }
}
