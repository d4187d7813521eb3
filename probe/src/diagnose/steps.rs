//! Steps of a submission that did nothing. What came back is no capture then, and to compare it with one would
//! name what is not there: an overrun where nothing was stored.

use super::decode::is_untouched;
use super::{CapturedBuffer, Fault, Mismatch};
use crate::sentinel::Fill;

/// The step that did nothing, where one did. `primitives_written` is what the capture should have written.
///
/// Memory went through these steps: the host filled the memory that is read back; the device filled that and
/// the memory that is captured to, copied the sentinels to the latter, captured, and copied it back. See [`Fill`].
pub fn missing_step(primitives_written: u64, captured: &[CapturedBuffer<'_>]) -> Option<Mismatch> {
    let first = captured.first()?;
    let all = |holds: &dyn Fn(&CapturedBuffer<'_>) -> bool| captured.iter().all(holds);
    let is_filled = |fill: Fill| all(&|c| fill.covers(0, c.bytes));
    let (fault, note) = if is_filled(Fill::BeforeSubmission) {
        let note = "the memory that is read back is as the host left it: neither the capture nor the fills \
                    and copies around it had any effect";
        (Fault::NothingExecuted, note)
    } else if is_filled(Fill::BeforeCopyBack) {
        let note =
            "the device filled the memory that is read back, and the copy to it had no effect";
        (Fault::NothingCopiedBack, note)
    } else if all(&has_unset_guards) {
        let note =
            "the device filled the memory that is captured to, and the copy to it had no effect";
        (Fault::NothingCopiedIn, note)
    } else if primitives_written > 0 && all(&|c| is_untouched(c, 0..c.bytes.len())) {
        let note = "every byte is as it was before the capture: what is around it was executed, and it was \
                    not, or stored nothing";
        (Fault::NothingWritten, note)
    } else {
        return None;
    };
    let byte_offset = match fault {
        Fault::NothingWritten => first.position.cast_signed(),
        _ => -first.bound.start.cast_signed(),
    };
    Some(Mismatch {
        fault,
        also: Vec::new(),
        first: None,
        differing_primitives: primitives_written,
        rotated_primitives: 0,
        buffer: first.buffer,
        byte_offset,
        note: Some(note.to_owned()),
        excerpt: Vec::new(),
    })
}

/// Whether what is around the bound range was never initialised: where nobody stores, so that it holds for a
/// capture that was executed, too.
fn has_unset_guards(captured: &CapturedBuffer<'_>) -> bool {
    let (start, end) = (captured.bound.start, captured.bound.end);
    let range = |from: u64, to: u64| captured.bytes.get(from as usize..to as usize);
    let guards = [(0, range(0, start)), (end, range(end, captured.bytes.len() as u64))];
    let mut guards = guards.iter().filter_map(|(at, bytes)| Some((*at, (*bytes)?)));
    let is_set =
        |(at, bytes): (u64, &[u8])| !bytes.is_empty() && !Fill::BeforeCopyIn.covers(at, bytes);
    captured.bytes.len() as u64 > end.saturating_sub(start) && !guards.any(is_set)
}
