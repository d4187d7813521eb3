//! Combines the verdicts on the vertex streams of a capture, each of which was compared separately.

use crate::diagnose::faults::{Fault, Mismatch, Verdict};

/// Combines the verdicts on the streams of a capture. If several streams have a mismatch, the result is the mismatch of
/// the first of them, with the faults and the numbers of primitives of the other streams added. If no stream has a
/// mismatch, the numbers of legally rotated primitives are added up.
pub fn verdict_of_streams(verdicts: impl IntoIterator<Item = (u32, Verdict)>) -> Verdict {
    let verdicts: Vec<_> = verdicts.into_iter().collect();
    let are_several = verdicts.len() > 1;
    verdicts.into_iter().fold(Verdict::Match, |all, (stream, verdict)| match (all, verdict) {
        (Verdict::Mismatch(first), Verdict::Mismatch(other)) => {
            Verdict::Mismatch(Box::new(joined(*first, &other)))
        }
        (Verdict::Mismatch(first), _) => Verdict::Mismatch(first),
        (_, Verdict::Mismatch(mut mismatch)) => {
            mismatch.stream = are_several.then_some(stream);
            Verdict::Mismatch(mismatch)
        }
        (
            Verdict::RotationAllowed { primitives, first },
            Verdict::RotationAllowed { primitives: others, .. },
        ) => Verdict::RotationAllowed { primitives: primitives + others, first },
        (rotated @ Verdict::RotationAllowed { .. }, Verdict::Match) => rotated,
        (Verdict::Match, verdict) => verdict,
    })
}

/// Adds the faults and the numbers of primitives of another stream to the mismatch of the first stream.
fn joined(mut first: Mismatch, other: &Mismatch) -> Mismatch {
    let faults: Vec<Fault> = std::iter::once(other.fault).chain(other.also.clone()).collect();
    for fault in faults {
        if fault != first.fault && !first.also.contains(&fault) {
            first.also.push(fault);
        }
    }
    first.differing_primitives += other.differing_primitives;
    first.rotated_primitives += other.rotated_primitives;
    first
}

#[cfg(test)]
mod tests {
    use vkxfb_rewriter::topology::PrimitiveTopology;

    use super::*;
    use crate::diagnose::tests::injections::samples;

    #[test]
    fn the_first_wrong_stream_is_named_and_the_others_are_counted() {
        let verdict = |name: &str| {
            let mut samples = samples(PrimitiveTopology::TriangleStrip).into_iter();
            samples.find(|(sample, _)| *sample == name).unwrap().1
        };
        let (flipped, short) = ("last two vertices swapped", "counter one primitive short");
        let wrong = verdict_of_streams([
            (0, verdict("nothing")),
            (1, verdict(flipped)),
            (3, verdict(short)),
        ]);
        let Verdict::Mismatch(wrong) = wrong else { panic!("{wrong:?}") };
        assert_eq!((wrong.stream, wrong.fault), (Some(1), Fault::FlippedWinding));
        assert_eq!(wrong.also, [Fault::WrongCounter]);
        assert!(wrong.to_string().starts_with("vertex stream 1: primitive "), "{wrong}");

        // If there is only one stream, the mismatch does not name it.
        let alone = verdict_of_streams([(0, verdict(flipped))]);
        assert_eq!(alone, verdict(flipped));
        let rotated = verdict("rotated, and no order promised");
        assert_eq!(verdict_of_streams([(0, Verdict::Match), (1, rotated.clone())]), rotated);
        assert_eq!(verdict_of_streams([(0, rotated.clone()), (1, Verdict::Match)]), rotated);
        assert_eq!(verdict_of_streams([(0, Verdict::Match), (1, Verdict::Match)]), Verdict::Match);
    }
}
