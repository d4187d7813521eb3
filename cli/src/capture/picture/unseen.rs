//! Determines why primitives are not seen in a picture, so that an empty or incomplete picture is explained.

use super::{PictureKind, View};
use crate::capture::output::Shown;

/// The reasons why a primitive is not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// A component of a position is NaN or infinite.
    NotFinite,
    /// The fourth component of all positions of the primitive is 0, for example because they were never written.
    NoW,
    /// The fourth component is 0 or less in all positions of the primitive. If the picture does not clip primitives,
    /// one such position is enough.
    Behind,
    /// The primitive is outside of one side of the view volume.
    Outside,
    /// The vertices of the triangle are on a line.
    Flat,
}

const REASONS: [Reason; 5] =
    [Reason::NotFinite, Reason::NoW, Reason::Behind, Reason::Outside, Reason::Flat];

impl Reason {
    /// Describes the primitives that are not seen for this reason.
    const fn text(self) -> &'static str {
        match self {
            Self::NotFinite => "with positions that are not finite",
            Self::NoW => "with positions whose w is 0",
            Self::Behind => "behind the viewer (w is 0 or less)",
            Self::Outside => "outside of the shader's view",
            Self::Flat => "without area",
        }
    }
}

/// The number of all primitives and, for each of the [`REASONS`], the number of primitives that are not seen for that
/// reason.
pub(super) struct Unseen {
    primitives: usize,
    counts: [usize; REASONS.len()],
    /// The number of primitives that have a vertex outside of the view to which the picture is clipped.
    clipped: usize,
}

impl Unseen {
    /// Counts the primitives that a picture does not show.
    pub(super) fn of(shown: &Shown<'_>, kind: PictureKind, view: View<'_>) -> Self {
        // Only what the device renders as the shader sees it is clipped. The edges need all positions.
        let is_clipped = kind == PictureKind::Png && view.is_of_shader();
        let records = shown.records;
        let per_primitive = shown.topology.vertices_per_primitive() as usize;
        let primitives = records.vertices / per_primitive;
        let mut this = Self { primitives, counts: [0; 5], clipped: 0 };
        for first in (0..this.primitives * per_primitive).step_by(per_primitive) {
            let vertices = first..first + per_primitive;
            let places = vertices.map(|vertex| records.place(vertex, view.place));
            let places = places.collect::<Vec<_>>();
            let reason = reason(&places, is_clipped, view);
            if let Some(reason) = reason {
                this.counts[reason as usize] += 1;
            }
            // Positions that are not finite, or without w, are counted as such.
            let is_wrong = matches!(reason, Some(Reason::NotFinite | Reason::NoW));
            if is_clipped && !is_wrong && places.iter().any(is_beyond_view) {
                this.clipped += 1;
            }
        }
        this
    }

    /// Returns texts for the user if no primitive is seen, if the positions are probably wrong, or if the picture does
    /// not show all.
    pub(super) fn remarks(&self) -> Vec<String> {
        let all = self.primitives;
        let found = |reason: &Reason| self.counts[*reason as usize] > 0;
        let is_empty = all > 0 && self.counts.iter().sum::<usize>() == all;
        if !is_empty {
            let wrong = [Reason::NotFinite, Reason::NoW];
            let wrong: Vec<String> = wrong
                .iter()
                .filter(|reason| found(reason))
                .map(|reason| self.say(*reason))
                .collect();
            let wrong = (!wrong.is_empty())
                .then(|| format!("not seen of {all} primitives: {}", wrong.join(", ")));
            return wrong.into_iter().chain(self.clipping()).collect();
        }
        let why: Vec<String> =
            REASONS.iter().filter(|reason| found(reason)).map(|reason| self.say(*reason)).collect();
        vec![format!("none of {all} primitives is seen: {}", why.join(", "))]
    }

    /// Says how many primitives the picture does not show, or not as a whole, because it is clipped. `None` if it shows
    /// all of them.
    fn clipping(&self) -> Option<String> {
        let part = match self.clipped.checked_mul(100)? / self.primitives.max(1) {
            _ if self.clipped == 0 => return None,
            0 => "less than 1 %".to_owned(),
            percent => format!("{percent} %"),
        };
        Some(format!(
            "{part} of the primitives are outside of, or cut by, the shader's view; an .svg has all"
        ))
    }

    fn say(&self, reason: Reason) -> String {
        match self.counts[reason as usize] {
            count if count == self.primitives => format!("all {}", reason.text()),
            count => format!("{count} {}", reason.text()),
        }
    }
}

/// Whether a position in clip space is outside of the view volume.
fn is_beyond_view(&[x, y, z, w]: &[f64; 4]) -> bool {
    x.abs() > w || y.abs() > w || z < 0.0 || z > w
}

/// Returns why a primitive with these positions is not seen. `None` if it is seen.
fn reason(places: &[[f64; 4]], is_clipped: bool, view: View<'_>) -> Option<Reason> {
    let all = |is: fn([f64; 4]) -> bool| places.iter().all(|place| is(*place));
    let any = |is: fn([f64; 4]) -> bool| places.iter().any(|place| is(*place));
    if any(|place| place.iter().any(|number| !number.is_finite())) {
        return Some(Reason::NotFinite);
    }
    if all(|[.., w]| w == 0.0) {
        return Some(Reason::NoW);
    }
    let is_behind: fn([f64; 4]) -> bool = |[.., w]| w <= 0.0;
    if all(is_behind) || (!is_clipped && any(is_behind)) {
        return Some(Reason::Behind);
    }
    let is_outside = all(|[x, _, _, w]| x < -w)
        || all(|[x, _, _, w]| x > w)
        || all(|[_, y, _, w]| y < -w)
        || all(|[_, y, _, w]| y > w)
        || all(|[_, _, z, _]| z < 0.0)
        || all(|[_, _, z, w]| z > w);
    if is_clipped && is_outside {
        return Some(Reason::Outside);
    }
    let seen = places.iter().map(|place| view.seen(*place));
    let seen: Vec<[f64; 3]> = seen.collect::<Option<_>>()?;
    is_flat(&seen).then_some(Reason::Flat)
}

/// Whether a triangle has no area in the picture.
fn is_flat(seen: &[[f64; 3]]) -> bool {
    let [a, b, c] = seen else { return false };
    let edge = |end: &[f64; 3]| [end[0] - a[0], end[1] - a[1]];
    let (first, second) = (edge(b), edge(c));
    let length = |[x, y]: [f64; 2]| x.hypot(y);
    let area = first[0] * second[1] - first[1] * second[0];
    // The limit is for the sine of the angle between the edges. Below it, the vertices are on a
    // line except for rounding.
    area.abs() <= 1e-9 * length(first) * length(second)
}
