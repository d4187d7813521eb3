//! This module chooses under which fault a capture with several faults is reported.

use crate::diagnose::decode::Capture;
use crate::diagnose::faults::{Fault, Finding, Mismatch, Verdict};
use crate::diagnose::{primitives, surroundings};

/// Determines the verdict on a capture that differs from the expectation.
pub(super) fn judge(capture: &Capture<'_>) -> Verdict {
    let scan = primitives::scan(capture);
    let mut findings = scan.findings;
    findings.extend(surroundings::findings(capture));
    findings.sort_by_key(|finding| match finding.fault {
        Fault::Overrun => (0, 0),
        Fault::WrongCounter => (2, 0),
        _ => (1, finding.place),
    });
    let mut findings = findings.into_iter();
    let Some(primary) = findings.next() else {
        return match scan.first_rotation {
            Some(first) => Verdict::RotationAllowed { primitives: scan.rotated, first },
            None => Verdict::Match,
        };
    };
    let mut also = Vec::new();
    for Finding { fault, .. } in findings {
        if fault != primary.fault && !also.contains(&fault) {
            also.push(fault);
        }
    }
    let outside = u64::from(scan.differing == 0 && primary.first.is_some());
    Verdict::Mismatch(Box::new(Mismatch {
        fault: primary.fault,
        stream: None,
        also,
        differing_primitives: scan.differing + outside,
        rotated_primitives: scan.rotated,
        buffer: primary.buffer,
        byte_offset: primary.byte_offset,
        note: primary.note,
        excerpt: primitives::around(capture, primary.place, primary.first.as_ref()),
        first: primary.first,
    }))
}
