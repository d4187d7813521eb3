//! [`CaptureOrder`]: determines between which captures a barrier is needed.

use std::ops::Range;

use crate::runtime::device::barrier::Barrier;
use crate::runtime::recording::collect::{Position, Ranges};
use crate::runtime::recording::plan::Touched;
use crate::runtime::recording::play::{Playback, Player};
use vkxfb_rewriter::sysval::setup::{Operation, operation};
use vkxfb_rewriter::sysval::{Address, join};

/// The largest number of read ranges and of written ranges that are remembered. If there are more, the next capture
/// gets a barrier, because comparing ranges costs more than a barrier.
const MOST_RANGES: usize = 1024;

/// The sizes in bytes of a counter (`COUNTER`) and of the values of a query (`VALUES`).
const COUNTER: u64 = 4;
const VALUES: u64 = 16;

/// The memory that captures in a command buffer have accessed since the last barrier between captures.
/// [`Capture::play_in_order`](crate::runtime::Capture::play_in_order) records another barrier before a capture that
/// accesses the same bytes, if the earlier or the later access is a write. It also records one if the accesses are not
/// known, or too many to remember.
///
/// ```no_run
/// # use ash::vk;
/// # use vkxfb::runtime::{Arena, Capture, CaptureOrder, RuntimeError};
/// # unsafe fn record(
/// #     captures: &mut [Capture], arena: &mut Arena, cmd: vk::CommandBuffer,
/// # ) -> Result<(), RuntimeError> { unsafe {
/// // Make one for each command buffer, and for each time that the command buffer is begun.
/// let mut order = CaptureOrder::default();
/// for capture in captures {
///     capture.play_in_order(&mut *arena, cmd, &mut order)?;
/// }
/// # Ok(())
/// # } }
/// ```
#[derive(Debug, Default)]
pub struct CaptureOrder {
    /// Whether a barrier was recorded since the order was made or [reset](Self::reset). If so, `read` and `written`
    /// have all accesses since the last barrier. If not, the next capture needs a barrier, whatever it accesses.
    is_known: bool,
    read: Ranges,
    written: Ranges,
}

impl CaptureOrder {
    /// Returns to the state of a new order, which knows nothing about earlier commands: the next capture is ordered after
    /// all of them. Keeps the heap memory.
    pub fn reset(&mut self) {
        self.clear();
        self.is_known = false;
    }

    /// Removes all accesses. Called when a barrier orders everything recorded so far.
    fn clear(&mut self) {
        self.is_known = true;
        self.read.clear();
        self.written.clear();
    }

    /// Whether a barrier is needed before commands with these accesses.
    fn precludes(&self, accesses: &Accesses) -> bool {
        let is_long = self.read.as_slice().len().max(self.written.as_slice().len()) > MOST_RANGES;
        let wrote = |range: &Range<u64>| self.written.overlaps(range);
        !self.is_known
            || is_long
            || accesses.read.iter().any(wrote)
            || accesses.written.iter().any(|range| wrote(range) || self.read.overlaps(range))
    }

    fn add(&mut self, accesses: &Accesses) {
        for range in &accesses.read {
            self.read.add(range.clone());
        }
        for range in &accesses.written {
            self.written.add(range.clone());
        }
    }
}

/// The ranges of device addresses that commands read and write.
#[derive(Debug, Default)]
pub(super) struct Accesses {
    read: Vec<Range<u64>>,
    written: Vec<Range<u64>>,
}

impl Accesses {
    pub(super) fn clear(&mut self) {
        self.read.clear();
        self.written.clear();
    }

    /// Adds a write of `size` bytes at an address, unless the address is 0.
    fn write(&mut self, address: Address, size: u64) {
        self.written.extend(bytes_at(address, size));
    }
}

fn bytes_at(address: Address, size: u64) -> Option<Range<u64>> {
    let start = join(address);
    (start != 0).then(|| start..start.saturating_add(size))
}

impl Player<'_> {
    /// Finds the accesses of the steps that follow a barrier, and stores them in
    /// [`Places`](crate::runtime::recording::play::Places).
    ///
    /// They do not include accesses of shaders through the application's descriptors, nor accesses to the arena,
    /// because each recording takes new memory from it. (Recordings share the memory of entry counts, but plans with
    /// entries always record barriers.)
    pub(super) fn find_touched(&mut self, touched: Touched) {
        self.places.accesses.clear();
        match touched {
            Touched::Unknown | Touched::Nothing => {}
            Touched::Captured => self.find_captured(),
            Touched::CapturedAndCounted => {
                self.find_captured();
                self.find_counted();
            }
            Touched::Operations { first, end } => self.find_operations(first, end),
        }
    }

    /// Adds the accesses of the dispatches that capture draws.
    fn find_captured(&mut self) {
        let collected = self.collected;
        let accesses = &mut self.places.accesses;
        accesses.read.extend_from_slice(collected.reached.as_slice());
        match self.plan.after {
            Position::Known(_) => accesses.written.extend_from_slice(&self.plan.written),
            // The capture may write to any byte of its buffers.
            _ => collected.bound_targets().for_each(|target| {
                accesses.write(target.address, target.buffer.size);
            }),
        }
    }

    /// Adds the accesses to counters and queries.
    fn find_counted(&mut self) {
        let collected = self.collected;
        let accesses = &mut self.places.accesses;
        if let Position::Counters = collected.position {
            let begun = collected.counters.iter();
            accesses.read.extend(begun.filter_map(|counter| bytes_at(*counter, COUNTER)));
        }
        self.counters.iter().for_each(|counter| accesses.write(*counter, COUNTER));
        for draw in &collected.draws {
            accesses.write(draw.command.stream_query, VALUES);
            accesses.write(draw.command.generated_query, VALUES);
        }
    }

    /// Adds the accesses of the operations of the finish kernel with indices from `first` to `end`, exclusive.
    fn find_operations(&mut self, first: usize, end: usize) {
        let accesses = &mut self.places.accesses;
        for operation in self.plan.operations.get(first..end).unwrap_or_default() {
            let Operation { address, kind, values: [low, high, ..], .. } = *operation;
            accesses.write(address, operation.size());
            if kind == operation::END {
                accesses.write([low, high], COUNTER);
            }
        }
    }

    /// Records a barrier before commands with the accesses that were found, unless [`CaptureOrder`] knows that no
    /// barrier is needed. Under the descriptor plan there is always a barrier, because commands count as accessing all
    /// bytes that their descriptor set covers.
    ///
    /// # Safety
    /// The requirements of [`record`](Self::record) apply.
    pub(super) unsafe fn barrier_before(&self, playback: &mut Playback<'_>, which: Barrier) {
        let needs_barrier = match &playback.order {
            Some(order) => self.ctx.table().is_some() || order.precludes(&self.places.accesses),
            None => true,
        };
        if needs_barrier {
            unsafe { self.barrier(playback, which) };
        }
        if let Some(order) = &mut playback.order {
            if needs_barrier {
                order.clear();
            }
            order.add(&self.places.accesses);
        }
    }

    /// Remembers the accesses of the commands that follow a barrier. The barrier orders these commands after all
    /// earlier commands.
    pub(super) fn remember(&self, playback: &mut Playback<'_>, touched: Touched) {
        let Some(order) = &mut playback.order else { return };
        match touched {
            Touched::Nothing => {}
            Touched::Unknown => order.reset(),
            _ => {
                order.clear();
                order.add(&self.places.accesses);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use vkxfb_rewriter::sysval::split;

    /// The number of bytes, from address 0 on, that the tests' captures may access.
    const END: u64 = 60;

    fn ranges() -> impl Strategy<Value = Vec<Range<u64>>> {
        // Some ranges are empty, and many are adjacent.
        let range = (0..END / 4, 0..4u64).prop_map(|(start, size)| 4 * start..4 * (start + size));
        proptest::collection::vec(range, 0..3)
    }

    fn captures() -> impl Strategy<Value = Vec<Accesses>> {
        let accesses = (ranges(), ranges());
        let accesses = accesses.prop_map(|(read, written)| Accesses { read, written });
        proptest::collection::vec(accesses, 0..20)
    }

    fn share_a_byte(some: &[Range<u64>], others: &[Range<u64>]) -> bool {
        let has = |ranges: &[Range<u64>], byte| ranges.iter().any(|range| range.contains(&byte));
        (0..2 * END).any(|byte| has(some, byte) && has(others, byte))
    }

    proptest! {
        /// A barrier is recorded before the first capture. Before a later capture, it is recorded if and only if this
        /// capture writes bytes that a capture since the last barrier accesses, or accesses bytes that such a capture
        /// writes.
        #[test]
        fn barriers_are_where_captures_share_bytes(captures in captures()) {
            let mut order = CaptureOrder::default();
            let mut since: Option<usize> = None;
            for (number, capture) in captures.iter().enumerate() {
                let earlier = since.map(|first| &captures[first..number]);
                let expected = earlier.is_none_or(|earlier| earlier.iter().any(|other| {
                    share_a_byte(&capture.written, &other.written)
                        || share_a_byte(&capture.written, &other.read)
                        || share_a_byte(&capture.read, &other.written)
                }));
                prop_assert_eq!(order.precludes(capture), expected, "capture {}", number);
                if expected {
                    order.clear();
                    since = Some(number);
                }
                order.add(capture);
            }
        }
    }

    #[test]
    fn few_ranges_are_remembered() {
        let mut order = CaptureOrder::default();
        let write = |at: u64| {
            let mut accesses = Accesses::default();
            accesses.write(split(at), COUNTER);
            accesses
        };
        let mut barriers = 0;
        for number in 0..100 * MOST_RANGES as u64 {
            let capture = write(8 + 8 * number);
            if order.precludes(&capture) {
                order.clear();
                barriers += 1;
            }
            order.add(&capture);
            assert!(order.written.as_slice().len() <= MOST_RANGES + 1);
        }
        assert!((2..=100).contains(&barriers), "{barriers}");
        order.reset();
        assert!(order.precludes(&write(8)));
    }
}
