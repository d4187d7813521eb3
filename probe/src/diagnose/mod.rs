//! Determines what is wrong with a capture, in words that help an engineer to fix it.
//!
//! A capture is a sequence of *records*: one for each vertex of each primitive, with the primitives
//! of all instances one after the other. A record has a part in each capture buffer. The part has a
//! size (the stride), ranges of bytes that outputs cover, and gaps that must not be written.
//! [`Expectation`] says which records a draw writes, according to the model on the CPU
//! ([`Sequence`]). [`CapturedBuffer`] is all memory that was read back, including the guard regions
//! on both sides of the bound range. All of it was filled with [sentinels](super::sentinel) before
//! the capture.
//!
//! [`diagnose`] first compares bytes, which is enough for a right capture. If bytes differ, it first looks for steps of
//! the submission that had no effect ([`missing_step`]). Then it determines which vertices the records contain, and
//! names the difference between the expected and the captured vertices: see [`Fault`]. It reports the fault of the
//! first primitive that differs. But if memory was written that the draw must not write ([`Fault::Overrun`]), it
//! reports that fault instead. Where the device chooses the order of primitives ([`Sequence::Emitted`]), it first finds
//! out which order that is.

#![forbid(unsafe_code)]

mod decode;
mod faults;
mod inputs;
mod judgement;
mod patches;
mod primitives;
mod sequence;
mod spans;
mod steps;
mod streams;
mod surroundings;
#[cfg(test)]
pub(crate) mod tests;

pub use faults::{Fault, Mismatch, PrimitiveDiff, Slot, Verdict, VertexRef};
pub use inputs::{CapturedBuffer, DiagnoseError, Expectation};
pub use sequence::{Patch, Sequence};
pub use steps::missing_step;
pub use streams::verdict_of_streams;

/// Compares a capture with the expectation. If they differ in more than rotations that Vulkan allows, the verdict names
/// a fault: that of the first primitive that differs, unless a step of the submission had no effect, or memory was
/// written that the draw must not write ([`Fault::Overrun`]). A wrong counter is named only if nothing else is wrong.
///
/// Buffers of the layout that are not in `captured` count as not bound. Transform feedback writes
/// nothing for them, and they are ignored here.
///
/// # Errors
/// [`DiagnoseError`] if the inputs contradict each other. Then nothing has been compared.
pub fn diagnose(
    expectation: &Expectation<'_>,
    captured: &[CapturedBuffer<'_>],
) -> Result<Verdict, DiagnoseError> {
    let chosen = chosen(expectation, captured)?;
    let expectation = &expectation.in_order(chosen.as_deref());
    let capture = decode::Capture::new(expectation, captured)?;
    if capture.is_right() {
        return Ok(Verdict::Match);
    }
    if let Some(mismatch) = missing_step(expectation.primitives_written, captured) {
        return Ok(Verdict::Mismatch(Box::new(mismatch)));
    }
    Ok(judgement::judge(&capture))
}

/// Returns up to `limit` primitives of an instance, beginning with `first_primitive`, right or wrong: each as it should
/// be captured, and as it was captured. [`super::picture`] draws them. Primitives that do not fit into the buffers are
/// left out.
///
/// # Errors
/// [`DiagnoseError`] if the inputs contradict each other.
pub fn trace(
    expectation: &Expectation<'_>,
    captured: &[CapturedBuffer<'_>],
    first_primitive: u64,
    instance: u32,
    limit: usize,
) -> Result<Vec<PrimitiveDiff>, DiagnoseError> {
    let chosen = chosen(expectation, captured)?;
    let expectation = &expectation.in_order(chosen.as_deref());
    let capture = decode::Capture::new(expectation, captured)?;
    let first = u64::from(instance) * capture.primitives_per_instance() + first_primitive;
    let mut traced = primitives::excerpt(&capture, first, limit);
    traced.retain(|diff| diff.instance == instance);
    Ok(traced)
}

/// Returns the vertices of the primitives of an instance in the order that the device has [chosen](patches::chosen).
/// `None` if the device has no choice.
fn chosen(
    expectation: &Expectation<'_>,
    captured: &[CapturedBuffer<'_>],
) -> Result<Option<Vec<u32>>, DiagnoseError> {
    match expectation.sequence {
        Sequence::Emitted { vertices, patches, .. } if !patches.is_empty() => {
            let capture = decode::Capture::new(expectation, captured)?;
            Ok(Some(patches::chosen(&capture, vertices, patches)))
        }
        Sequence::Emitted { .. } | Sequence::Assembled { .. } => Ok(None),
    }
}
