//! Finds differences that are not in the records of primitives: in guard regions around the bound range, in gaps (bytes
//! of records that no output covers), in the bytes before and after the records, and in counters.

use std::ops::Range;

use crate::diagnose::decode::{Capture, DecodedBuffer, counters, from_bound};
use crate::diagnose::faults::{Fault, Finding};
use crate::diagnose::inputs::CapturedBuffer;
use crate::diagnose::primitives;
use crate::sentinel;

pub(super) fn findings(capture: &Capture<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for buffer in &capture.buffers {
        findings.extend(overruns(buffer));
        findings.extend(gap(capture, buffer));
        findings.extend(behind(capture, buffer));
    }
    for idle in &capture.idle {
        findings.extend(
            touched(idle, 0..idle.bytes.len())
                .map(|at| overrun(idle, at, "in a buffer that nothing is captured to".to_owned())),
        );
    }
    for (captured, expected) in counters(capture) {
        if let Some(counter) = captured.counter.filter(|c| *c != expected) {
            findings.push(Finding {
                fault: Fault::WrongCounter,
                place: capture.expectation.primitives_written,
                first: None,
                buffer: captured.buffer,
                byte_offset: i64::from(counter),
                note: Some(format!(
                    "the counter of buffer {} is {counter} instead of {expected}",
                    captured.buffer
                )),
            });
        }
    }
    findings
}

/// Returns the offset in the allocation of the first written byte of a range. `None` if no byte of the range was
/// written.
fn touched(captured: &CapturedBuffer<'_>, range: Range<usize>) -> Option<u64> {
    let bytes = captured.bytes.get(range.clone()).unwrap_or_default();
    sentinel::first_touched(captured.buffer, range.start as u64, bytes)
}

fn overrun(captured: &CapturedBuffer<'_>, at: u64, place: String) -> Finding {
    Finding {
        fault: Fault::Overrun,
        place: 0,
        first: None,
        buffer: captured.buffer,
        byte_offset: from_bound(captured, at),
        note: Some(format!("buffer {}: written {place}", captured.buffer)),
    }
}

fn behind_by(bytes: u64) -> String {
    match bytes {
        0 => "right behind".to_owned(),
        1 => "one byte behind".to_owned(),
        _ => format!("{bytes} bytes behind"),
    }
}

fn overruns(buffer: &DecodedBuffer<'_>) -> Option<Finding> {
    let captured = buffer.captured;
    let bound = captured.bound.start as usize..captured.bound.end as usize;
    let behind = || {
        let at = touched(captured, bound.end..captured.bytes.len())?;
        let by = at - captured.bound.end;
        Some(overrun(captured, at, format!("{} the end of the bound range", behind_by(by))))
    };
    let before = || {
        let at = touched(captured, 0..bound.start)?;
        let by = captured.bound.start - at;
        Some(overrun(captured, at, format!("{by} bytes before the bound range")))
    };
    let below = || {
        let at = touched(captured, bound.start..buffer.start)?;
        let by = buffer.start as u64 - at;
        Some(overrun(captured, at, format!("{by} bytes before the position to start from")))
    };
    behind().or_else(before).or_else(below)
}

fn gap(capture: &Capture<'_>, buffer: &DecodedBuffer<'_>) -> Option<Finding> {
    if buffer.gaps.is_empty() {
        return None;
    }
    let m = capture.vertices_per_primitive();
    (0u64..).zip((buffer.start..buffer.end).step_by(buffer.stride)).find_map(|(record, start)| {
        let at = buffer
            .gaps
            .iter()
            .find_map(|gap| touched(buffer.captured, start + gap.start..start + gap.end))?;
        let primitive = record / m;
        let mut diff = primitives::trace(capture, primitive, capture.expected(primitive));
        diff.fault = Some(Fault::TouchedGap);
        Some(Finding {
            fault: Fault::TouchedGap,
            place: primitive,
            first: Some(diff),
            buffer: buffer.captured.buffer,
            byte_offset: buffer.offset_in_bound(at),
            note: Some(format!(
                "buffer {}: byte {} of a record of {} is no output's, and has changed",
                buffer.captured.buffer,
                at - start as u64,
                buffer.stride
            )),
        })
    })
}

/// Finds data after the last expected record in the bound range. `None` if nothing was written there.
fn behind(capture: &Capture<'_>, buffer: &DecodedBuffer<'_>) -> Option<Finding> {
    let end = buffer.captured.bound.end as usize;
    let at = touched(buffer.captured, buffer.end..end)?;
    let m = capture.vertices_per_primitive();
    let record = (at - buffer.start as u64) / buffer.stride as u64;
    let place = record / m;
    let diff = capture.has_room_for((place + 1) * m - 1).then(|| {
        // The list of expected vertices is empty, because nothing should be written after the last expected record,
        // even if the draw has a further primitive that does not fit.
        primitives::trace(capture, place, Vec::new())
    });
    Some(Finding {
        fault: Fault::ExtraPrimitive,
        place,
        first: diff,
        buffer: buffer.captured.buffer,
        byte_offset: buffer.offset_in_bound(at),
        note: Some(format!(
            "buffer {}: written {} the last primitive",
            buffer.captured.buffer,
            behind_by(at - buffer.end as u64)
        )),
    })
}
