//! The slots of the requests: their parts of the buffers that all requests share.

use vkxfb::runtime::{Buffer, Captured};
use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;

use super::{CaptureRequest, CaptureResult};
use crate::gpu::GpuError;
use crate::gpu::buffers::copy_into;
use crate::sentinel::Fill;

/// The alignment in bytes of a slot, which is the part of a buffer that belongs to one request.
pub(super) const SLOT: u64 = 64;

/// The size in bytes of the counters of a request.
pub(super) const COUNTERS: usize = MAX_XFB_BUFFERS * size_of::<u32>();

/// The value of the bytes between slots (the parts of a buffer that belong to requests). A read past the end of vertex
/// data may return it.
const FILL: u8 = 0xA5;

/// Allocates slots in a buffer, one after the other.
#[derive(Default)]
pub(super) struct Slots {
    /// The size in bytes of all slots that were allocated, each rounded up to the alignment.
    pub(super) size: u64,
}

impl Slots {
    /// Allocates a slot of `len` bytes, and returns its start.
    pub(super) fn take(&mut self, len: usize) -> u64 {
        let start = self.size;
        // Even an empty slot takes some bytes, so that the start of each slot is within the buffer.
        self.size += (len as u64).max(1).next_multiple_of(SLOT);
        start
    }
}

/// A request, and the offsets in bytes of its slots in the shared buffers.
pub(super) struct Placed<'a> {
    pub(super) request: &'a CaptureRequest<'a>,
    pub(super) targets: Vec<Option<u64>>,
    pub(super) vertices: Vec<u64>,
    pub(super) indices: u64,
    pub(super) counters: Option<u64>,
}

/// Checks for each capture buffer that the bound range is within its initial contents. `capture` is the index of the
/// request, for the error.
pub(super) fn check_targets(capture: usize, request: &CaptureRequest<'_>) -> Result<(), GpuError> {
    for (buffer, target) in request.buffers.iter().enumerate() {
        let Some(target) = target else { continue };
        let (offset, size, len) = (target.offset, target.size, target.initial.len() as u64);
        if offset.checked_add(size).is_none_or(|end| end > len) {
            return Err(GpuError::TargetRange { capture, buffer, offset, size, len });
        }
    }
    Ok(())
}

/// Writes the initial contents of all slots (the parts of the buffers that belong to the requests), and fills the
/// readback memory with a constant.
pub(super) fn fill(
    placed: &[Placed<'_>],
    initial: &mut Buffer,
    vertices: &mut Buffer,
    back: &mut Buffer,
) {
    // SAFETY: no submission is in flight, so the device does not use these buffers.
    let (initial, vertices, back) =
        unsafe { (initial.mapped_mut(), vertices.mapped_mut(), back.mapped_mut()) };
    Fill::BeforeSubmission.fill(back);
    initial.fill(FILL);
    vertices.fill(FILL);
    for place in placed {
        for (target, start) in place.request.buffers.iter().zip(&place.targets) {
            if let (Some(target), Some(start)) = (target, start) {
                copy_into(initial, *start, target.initial);
            }
        }
        for (data, start) in place.request.vertex_data.iter().zip(&place.vertices) {
            copy_into(vertices, *start, data.bytes);
        }
        copy_into(vertices, place.indices, bytemuck::cast_slice(place.request.indices));
    }
}

/// Makes the result of each request from the contents of its slots in `bytes`, the contents of the readback memory.
pub(super) fn results(
    placed: &[Placed<'_>],
    captured: Vec<Captured>,
    bytes: &[u8],
) -> Vec<CaptureResult> {
    let slot = |start: u64, len: usize| {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        bytes.get(start..start.saturating_add(len)).unwrap_or_default().to_vec()
    };
    placed
        .iter()
        .zip(captured)
        .map(|(place, captured)| CaptureResult {
            captured,
            buffers: (place.request.buffers.iter().zip(&place.targets))
                .map(|(target, start)| Some(slot((*start)?, target.as_ref()?.initial.len())))
                .collect(),
            counters: std::array::from_fn(|buffer| {
                let has = place.targets.get(buffer).is_some_and(Option::is_some);
                let counters = slot(place.counters.filter(|_| has)?, COUNTERS);
                counters.as_chunks().0.get(buffer).map(|bytes| u32::from_le_bytes(*bytes))
            }),
        })
        .collect()
}
