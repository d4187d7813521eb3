//! Finds steps of a submission that had no effect. After such a step, the memory that was read back does not contain a
//! capture. A comparison of this memory would report a fault that did not happen, such as an overrun although nothing
//! was stored.

use crate::diagnose::decode::is_untouched;
use crate::diagnose::faults::{Fault, Mismatch};
use crate::diagnose::inputs::CapturedBuffer;
use crate::sentinel::Fill;

/// Returns a mismatch that names the first step without an effect. `None` if each step had an effect.
/// `primitives_written` is the number of primitives that the capture should have written; if it is 0, a capture without
/// an effect is right.
///
/// First the host fills the readback memory. Then the device fills the readback memory and the capture buffers, copies
/// the sentinels to the capture buffers, captures, and copies the capture buffers to the readback memory. The three
/// fills write different constants: see [`Fill`].
pub fn missing_step(primitives_written: u64, captured: &[CapturedBuffer<'_>]) -> Option<Mismatch> {
    let first = captured.first()?;
    let all = |holds: &dyn Fn(&CapturedBuffer<'_>) -> bool| captured.iter().all(holds);
    let is_filled = |fill: Fill| all(&|c| fill.covers(0, c.bytes));
    let (fault, note) = if is_filled(Fill::BeforeSubmission) {
        let note = "the readback memory is as the host left it: neither the capture nor the fills and copies \
                    around it had any effect";
        (Fault::NothingExecuted, note)
    } else if is_filled(Fill::BeforeCopyBack) {
        let note = "the device filled the readback memory, but the copy to it had no effect";
        (Fault::NothingCopiedBack, note)
    } else if all(&has_unset_guards) {
        let note = "the device filled the capture buffers, but the copy of the sentinels to them had no effect";
        (Fault::NothingCopiedIn, note)
    } else if primitives_written > 0 && all(&|c| is_untouched(c, 0..c.bytes.len())) {
        let note = "every byte is as it was before the capture: the copies around the capture were executed, but \
                    the capture was not executed, or stored nothing";
        (Fault::NothingWritten, note)
    } else {
        return None;
    };
    let byte_offset = match fault {
        Fault::NothingWritten => first.position.cast_signed(),
        _ => -first.bound.start.cast_signed(),
    };
    let mismatch = Mismatch::of_no_primitive(fault, first.buffer, byte_offset, note);
    Some(Mismatch { differing_primitives: primitives_written, ..mismatch })
}

/// Whether the guard regions before and after the bound range contain only the constant [`Fill::BeforeCopyIn`], and not
/// their sentinels, which are copied over that constant before the capture. Captures do not write to guard regions. So
/// in this case the sentinels were not copied, even if the capture was executed. `false` if there are no guard regions.
fn has_unset_guards(captured: &CapturedBuffer<'_>) -> bool {
    let (start, end) = (captured.bound.start, captured.bound.end);
    let range = |from: u64, to: u64| captured.bytes.get(from as usize..to as usize);
    let guards = [(0, range(0, start)), (end, range(end, captured.bytes.len() as u64))];
    let mut guards = guards.iter().filter_map(|(at, bytes)| Some((*at, (*bytes)?)));
    let is_set =
        |(at, bytes): (u64, &[u8])| !bytes.is_empty() && !Fill::BeforeCopyIn.covers(at, bytes);
    captured.bytes.len() as u64 > end.saturating_sub(start) && !guards.any(is_set)
}
