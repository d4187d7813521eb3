//! Random sets of levels.

use vkxfb_rewriter::tessellator::{Domain, Spacing, Tessellator};

use crate::common::rng::Rng;
use crate::common::settings::{cases, number};

pub const DOMAINS: [Domain; 3] = [Domain::Triangles, Domain::Quads, Domain::Isolines];
pub const SPACINGS: [Spacing; 3] =
    [Spacing::Equal, Spacing::FractionalEven, Spacing::FractionalOdd];

/// All domains with all spacings, as points and otherwise.
pub fn tessellators() -> Vec<Tessellator> {
    let mut all = Vec::new();
    for domain in DOMAINS {
        for spacing in SPACINGS {
            for points in [false, true] {
                all.push(Tessellator { domain, spacing, flipped: false, points });
            }
        }
    }
    all
}

/// The levels of a patch.
#[derive(Debug, Clone, Copy)]
pub struct Levels {
    pub outer: [f32; 4],
    pub inner: [f32; 2],
}

/// What every spacing has to get right.
const SPECIAL: [Levels; 9] = [
    Levels { outer: [1.0; 4], inner: [1.0; 2] },
    Levels { outer: [1.0; 4], inner: [2.0; 2] },
    Levels { outer: [2.0, 1.0, 1.0, 1.0], inner: [1.0; 2] },
    Levels { outer: [1.0; 4], inner: [1.0, 1.0001] },
    Levels { outer: [64.0; 4], inner: [64.0; 2] },
    Levels { outer: [f32::INFINITY; 4], inner: [f32::MAX; 2] },
    Levels { outer: [3.0, 4.0, 5.0, 6.0], inner: [f32::NAN, -7.0] },
    Levels { outer: [f32::MIN_POSITIVE; 4], inner: [-0.0, f32::NEG_INFINITY] },
    Levels { outer: [63.000004, 62.999996, 64.0, 2.0000002], inner: [5.0000005, 4.9999995] },
];

/// The sets for one of [`tessellators`]: the special ones, then random ones.
pub fn sets(which: usize, count: u64) -> Vec<Levels> {
    let first = number("VKXFB_SEED", 0);
    let random = (first..).map(|seed| Levels::random(&mut Rng::new(seed * 31 + which as u64)));
    SPECIAL.into_iter().chain(random).take(count as usize).collect()
}

/// The number of sets for each of [`tessellators`].
pub fn count() -> u64 {
    cases("VKXFB_LEVELS", 7200).div_ceil(18)
}

impl Levels {
    fn random(rng: &mut Rng) -> Self {
        // Most patches are small, so that there is time for many.
        let most = rng.pick(&[4.0, 9.0, 20.0, 66.0]);
        let broken = rng.percent(15);
        let mut level = || match rng.below(12) {
            0 if broken => rng.pick(&[0.0, -0.0, -1.5, f32::NAN, f32::NEG_INFINITY, 1e-30]),
            1 => rng.pick(&[1e9, f32::INFINITY, 65.0, 1.0, 0.25]),
            2 | 3 => 1.0 + (rng.below(most as u32) as f32),
            // Next to whole numbers, where rounding shows.
            4 => {
                let whole = 1.0 + rng.below(most as u32) as f32;
                if rng.percent(50) { whole.next_up() } else { whole.next_down() }
            }
            _ => 0.5 + rng.u32() as f32 / (1u64 << 32) as f32 * most,
        };
        Self { outer: std::array::from_fn(|_| level()), inner: std::array::from_fn(|_| level()) }
    }
}
