//! Damaged modules with capture lists, as `tests/fuzz.rs` makes them. The last byte selects what is done with one, and
//! whether it is validated: of valid modules the results must be valid.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vkxfb_fuzz::mutate::{Case, Way};
use vkxfb_fuzz::validator::is_valid;

/// What is done, the more seldom the longer it takes.
const WAYS: [Way; 16] = [
    Way::Reflect,
    Way::Reflect,
    Way::Reflect,
    Way::Reflect,
    Way::Native,
    Way::Native,
    Way::Native,
    Way::Native,
    Way::Split,
    Way::Split,
    Way::Broadcast,
    Way::Strip,
    Way::Strip,
    Way::Vertex,
    Way::Vertex,
    Way::Compute,
];

fuzz_target!(|bytes: &[u8]| {
    let Some((last, bytes)) = bytes.split_last() else { return };
    let last = usize::from(*last);
    let case = Case::new(bytes);
    let outcomes = case.run(&[WAYS[last % WAYS.len()]]);
    let none = outcomes.iter().all(|(_, outcome)| outcome.is_err());
    // A validator takes longer than all else.
    let is_validated = (last / WAYS.len()).is_multiple_of(8);
    if !is_validated || none || case.has_open_lengths() || !is_valid(&case.words, false) {
        return;
    }
    for (name, outcome) in outcomes {
        if let Ok(words) = outcome {
            assert!(is_valid(&words, true), "{name}: {case:?}");
        }
    }
});
