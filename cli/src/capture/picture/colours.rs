//! Determines the colour of each vertex.

use anyhow::{Context, Result};

use crate::capture::records::{Column, Records, Role};

/// The column, or the component of a column, that determines the colours.
pub(super) struct Colouring<'a> {
    column: &'a Column,
    component: Option<usize>,
}

/// Red, green and blue from 0 to 255. If the fourth value is 0, these three are not used, and the visible side of the
/// triangle determines the colour.
pub(super) type Colour = [u8; 4];

/// Stands for the colour that the visible side of the triangle determines.
pub(super) const BY_SIDE: Colour = [0; 4];

/// The colours of numbers from the lowest to the highest: dark purple, green, yellow, with evenly
/// increasing brightness (viridis).
const SCALE: [[f64; 3]; 5] = [
    [0.267, 0.005, 0.329],
    [0.231, 0.322, 0.545],
    [0.129, 0.569, 0.549],
    [0.369, 0.788, 0.384],
    [0.992, 0.906, 0.145],
];

impl<'a> Colouring<'a> {
    /// Colours vertices by a captured output (a column). `name` is the output's name, or its location or built-in
    /// (`@2`, `@Position`), or the name of one component of an output (`tint.y`). If `name` is `None`, colours them by
    /// the first column whose name says that it is a colour; if there is no such column, returns `None`.
    pub(super) fn of(columns: &'a [Column], name: Option<&str>) -> Result<Option<Self>> {
        let whole = |column| Self { column, component: None };
        let Some(wanted) = name else {
            let is_colour = |column: &&Column| column.role() == Some(Role::Color);
            return Ok(columns.iter().find(is_colour).map(whole));
        };
        let is_it = |name: &str| name.eq_ignore_ascii_case(wanted);
        let named = columns
            .iter()
            .find(|column| is_it(&column.name) || column.selector.as_deref().is_some_and(is_it));
        let component = || {
            columns.iter().find_map(|column| {
                let names = column.names();
                let component = names.iter().position(|name| name.eq_ignore_ascii_case(wanted))?;
                Some(Self { column, component: Some(component) })
            })
        };
        let found = named.map(whole).or_else(component).with_context(|| {
            let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
            format!(
                "--colour {wanted}: captured are: {}; a component is one of x, y, z and w, as in {}",
                names.join(", "),
                columns.iter().find_map(|column| Some(format!("{}.{}", column.name, column.letters.first()?)))
                    .unwrap_or_else(|| "tint.y".to_owned())
            )
        })?;
        Ok(Some(found))
    }

    fn numbers(&self, records: &Records<'_>, vertex: usize) -> Vec<f64> {
        let numbers = records.numbers(vertex, self.column).into_iter().map(|n| n.to_f64());
        match self.component {
            None => numbers.collect(),
            Some(component) => numbers.skip(component).take(1).collect(),
        }
    }

    /// Returns the colours of all vertices. Three or four numbers are used as a colour directly if in all vertices the
    /// first three are from 0 to 1 or not finite. Otherwise numbers are scaled by their range, and a text that
    /// describes the range is returned, too.
    pub(super) fn colours(&self, records: &Records<'_>) -> (Vec<Colour>, Option<String>) {
        let all = (0..records.vertices).map(|vertex| self.numbers(records, vertex));
        let all: Vec<Vec<f64>> = all.collect();
        let range = |component: usize| {
            let numbers = all.iter().filter_map(|numbers| numbers.get(component));
            let finite = numbers.copied().filter(|number| number.is_finite());
            finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), n| {
                (low.min(n), high.max(n))
            })
        };
        let ranges: Vec<(f64, f64)> = (0..3).map(range).collect();
        let are_colours = all.first().is_some_and(|numbers| numbers.len() >= 3)
            && ranges.iter().all(|(low, high)| *low >= 0.0 && *high <= 1.0);
        let scaled = |numbers: &[f64], component: usize| {
            let number = numbers.get(component).copied().unwrap_or(0.0);
            let (low, high) = ranges[component];
            match are_colours {
                true => number,
                false if high > low => ((number - low) / (high - low)).clamp(0.0, 1.0),
                false => 0.5,
            }
        };
        let colour = |numbers: &Vec<f64>| {
            let rgb = match numbers.len() {
                0 => return BY_SIDE,
                1 => on_scale(scaled(numbers, 0)),
                2 => [scaled(numbers, 0), scaled(numbers, 1), 0.25],
                _ => [0, 1, 2].map(|component| scaled(numbers, component)),
            };
            // `as` saturates, and makes NaN 0.
            let [red, green, blue] = rgb.map(|value| (value * 255.0).round() as u8);
            [red, green, blue, 255]
        };
        (all.iter().map(colour).collect(), if are_colours { None } else { self.scale(&ranges) })
    }

    /// Says which colours stand for the lowest and the highest number of each component. `None` if there are no
    /// numbers.
    fn scale(&self, ranges: &[(f64, f64)]) -> Option<String> {
        let names = self.column.names().into_iter().skip(self.component.unwrap_or(0));
        let names: Vec<String> = match self.component {
            Some(_) => names.take(1).collect(),
            None => names.take(3).collect(),
        };
        let ends = match names.len() {
            1 => [("dark purple", "yellow"); 3],
            _ => [("no red", "red"), ("no green", "green"), ("no blue", "blue")],
        };
        let parts = names.iter().zip(ranges).zip(ends);
        let parts = parts.filter(|((_, (low, high)), _)| low <= high);
        let parts: Vec<String> = parts
            .map(|((name, (low, high)), (first, last))| {
                // The range is printed with the digits of 32-bit floats, because most captured numbers are 32-bit
                // floats.
                let (low, high) = (*low as f32, *high as f32);
                format!("{name} from {low} ({first}) to {high} ({last})")
            })
            .collect();
        (!parts.is_empty()).then(|| format!("colours are {}", parts.join(", ")))
    }
}

/// Returns the interpolated colour of the scale for a value from 0 to 1.
fn on_scale(value: f64) -> [f64; 3] {
    let last = SCALE.len() - 1;
    let place = if value.is_finite() { value * last as f64 } else { return [0.0; 3] };
    let before = (place as usize).min(last - 1);
    let rest = place - before as f64;
    let (low, high) = (SCALE[before], SCALE[before + 1]);
    [0, 1, 2].map(|component| low[component] + (high[component] - low[component]) * rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_goes_through_its_colours() {
        assert_eq!(on_scale(0.0), SCALE[0]);
        assert_eq!(on_scale(0.5), SCALE[2]);
        assert_eq!(on_scale(1.0), SCALE[4]);
        assert_eq!(on_scale(f64::NAN), [0.0; 3]);
        let between = on_scale(0.125);
        assert!((between[1] - (SCALE[0][1] + SCALE[1][1]) / 2.0).abs() < 1e-12);
    }
}
