//! Determines the colour of each vertex.

use crate::capture::records::{Column, Number, Records};

/// Red, green and blue from 0 to 255. If the fourth value is 0, these three are not used, and the visible side of the
/// triangle determines the colour.
pub(super) type Colour = [u8; 4];

/// Stands for the colour that the visible side of the triangle determines.
pub(super) const BY_SIDE: Colour = [0; 4];

/// Returns the colours of all vertices, from an output of three or four numbers, of which a screen shows those from 0
/// to 1.
pub(super) fn colours(records: &Records<'_>, column: &Column) -> Vec<Colour> {
    let colour = |vertex| {
        let mut numbers = records.numbers(vertex, column).into_iter().map(Number::to_f64);
        // `as` saturates, and makes NaN 0.
        let mut level = || (numbers.next().unwrap_or(0.0) * 255.0).round() as u8;
        [level(), level(), level(), 255]
    };
    (0..records.vertices).map(colour).collect()
}
