//! Where captured positions are in space: what pictures from outside show, and what meshes are made of.

/// The axes of captured positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Axes {
    /// Those of Vulkan's clip space: y points downwards, z away from the viewer, and positions are divided by w.
    Clip,
    /// Those of meshes: y points upwards, and z towards a viewer in front.
    Space,
}

/// How far depths pass 0 and 1 if only rounding brings them there.
const DEPTH_ROUNDING: f64 = 1e-3;

impl Axes {
    /// Returns the axes of the built-in `Position` in a mesh: those of clip space if w differs from 1, as a projection
    /// makes it. Where w is 1 throughout, the positions may be those of the mesh that the shader read, which must not
    /// come out turned.
    pub(super) fn in_mesh(mut places: impl Iterator<Item = [f64; 4]>) -> Self {
        if places.any(|[.., w]| w != 1.0) { Self::Clip } else { Self::Space }
    }

    /// Returns the axes of the built-in `Position` in a picture. There they are those of clip space also where w is 1
    /// throughout, unless depths leave the range of Vulkan's view, from 0 to 1: then the shader passes on the positions
    /// of a mesh.
    pub(super) fn in_picture(places: impl Iterator<Item = [f64; 4]> + Clone) -> Self {
        let is_in_view =
            |[_, _, z, _]: [f64; 4]| (-DEPTH_ROUNDING..=1.0 + DEPTH_ROUNDING).contains(&z);
        match Self::in_mesh(places.clone()) {
            Self::Space if places.clone().all(is_in_view) => Self::Clip,
            axes => axes,
        }
    }

    /// Returns a position with the axes of [`Axes::Space`]. One in clip space is divided by w, and y and z are negated.
    /// `None` if its w is not above 0: it is behind the viewer, where there is no such position.
    pub(super) fn in_space(self, [x, y, z, w]: [f64; 4]) -> Option<[f64; 3]> {
        match self {
            Self::Clip => (w > 0.0).then(|| [x / w, -y / w, -z / w]),
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
        for (places, in_picture, in_mesh) in [
            ([at(0.5, 1.0), at(-0.5, 1.0)], Axes::Space, Axes::Space),
            ([at(0.5, 1.0), at(-1e-6, 1.0)], Axes::Clip, Axes::Space),
            ([at(-0.5, 1.0), at(0.5, 2.0)], Axes::Clip, Axes::Clip),
            ([at(0.5, 1.0), at(0.5, f64::NAN)], Axes::Clip, Axes::Clip),
        ] {
            assert_eq!((picture(&places), mesh(&places)), (in_picture, in_mesh), "{places:?}");
        }
        assert_eq!(Axes::Clip.in_space([2.0, 4.0, 6.0, 2.0]), Some([1.0, -2.0, -3.0]));
        assert_eq!(Axes::Clip.in_space([2.0, 4.0, 6.0, 0.0]), None);
        assert_eq!(Axes::Space.in_space([2.0, 4.0, 6.0, 0.0]), Some([2.0, 4.0, 6.0]));
    }
}
