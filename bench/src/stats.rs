//! Statistics of measured times.

#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

/// A distribution of times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The median: half of the samples are less than this.
    pub median: f64,
    /// A tenth of the samples are less than this.
    pub p10: f64,
    /// Nine tenths of the samples are less than this.
    pub p90: f64,
    /// The smallest sample.
    pub min: f64,
}

impl Spread {
    /// Computes the distribution. `None` if there are no samples.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let min = *sorted.first()?;
        Some(Self {
            median: quantile(&sorted, 0.5),
            p10: quantile(&sorted, 0.1),
            p90: quantile(&sorted, 0.9),
            min,
        })
    }

    /// Returns the distribution of the time of one part, if the samples are the times of `parts`
    /// equal parts together.
    pub fn divided(self, parts: u32) -> Self {
        let each = |time: f64| time / f64::from(parts.max(1));
        Self {
            median: each(self.median),
            p10: each(self.p10),
            p90: each(self.p90),
            min: each(self.min),
        }
    }
}

/// Returns a quantile of sorted samples, interpolated linearly.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q * sorted.len().saturating_sub(1) as f64;
    let (below, part) = (at.floor() as usize, at.fract());
    let sample = |i: usize| sorted.get(i).or(sorted.last()).copied().unwrap_or_default();
    sample(below) + (sample(below + 1) - sample(below)) * part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_samples_in_proportion() {
        assert_eq!(Spread::of(&[]), None);
        let one = Spread::of(&[3.0]).unwrap();
        assert_eq!(one, Spread { median: 3.0, p10: 3.0, p90: 3.0, min: 3.0 });
        let samples: Vec<f64> = (0..=10).rev().map(f64::from).collect();
        let spread = Spread::of(&samples).unwrap();
        assert_eq!(spread, Spread { median: 5.0, p10: 1.0, p90: 9.0, min: 0.0 });
        assert_eq!(Spread::of(&[1.0, 2.0]).unwrap().median, 1.5);
        assert_eq!(spread.divided(10).p90, 0.9);
    }
}
