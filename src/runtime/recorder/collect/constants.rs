//! [`Constants`]: the application's push constants, and their values for each draw.

#![forbid(unsafe_code)]

use std::ops::Range;

/// The current push constants, and copies of them (snapshots) for the collected draws. Consecutive draws share a
/// snapshot if the bytes have not changed.
#[derive(Debug, Default)]
pub(in super::super) struct Constants {
    /// The current value of each byte, by its offset. Bytes that the application did not set are undefined in Vulkan,
    /// and 0 here.
    current: Vec<u8>,
    snapshots: Vec<u8>,
    /// The position of the last snapshot in `snapshots`, and the range of push constants that it contains. `None` if
    /// there is no snapshot.
    last: Option<(usize, Range<u32>)>,
}

impl Constants {
    /// Sets all push constants to 0, and removes the snapshots.
    pub(in super::super) fn clear(&mut self) {
        self.current.clear();
        self.snapshots.clear();
        self.last = None;
    }

    /// Removes the snapshots. The current values stay.
    pub(in super::super) fn forget_snapshots(&mut self) {
        self.snapshots.clear();
        self.last = None;
    }

    /// Sets push constants from `offset` on. The range must be within the limits of the device.
    pub(in super::super) fn push(&mut self, offset: u32, bytes: &[u8]) {
        let start = offset as usize;
        let end = start + bytes.len();
        if self.current.len() < end {
            self.current.resize(end, 0);
        }
        if let Some(current) = self.current.get_mut(start..end) {
            current.copy_from_slice(bytes);
        }
    }

    /// Returns the current values of the bytes before offset `end`.
    pub(in super::super) fn current(&mut self, end: u32) -> &[u8] {
        if self.current.len() < end as usize {
            self.current.resize(end as usize, 0);
        }
        self.current.get(..end as usize).unwrap_or_default()
    }

    /// Takes a snapshot of the current bytes in `range`, and returns its position for [`bytes`](Self::bytes). If the
    /// bytes have not changed since the last snapshot, returns the position of that snapshot.
    pub(in super::super) fn snapshot(&mut self, range: &Range<u32>) -> usize {
        if range.is_empty() {
            return 0;
        }
        self.current(range.end);
        let now = self.current.get(range.start as usize..range.end as usize).unwrap_or_default();
        if let Some((start, last)) = &self.last
            && last == range
            && self.bytes(*start, now.len()) == now
        {
            return *start;
        }
        let start = self.snapshots.len();
        self.snapshots.extend_from_slice(now);
        self.last = Some((start, range.clone()));
        start
    }

    /// Returns the `len` bytes of the snapshot at a position.
    pub(in super::super) fn bytes(&self, snapshot: usize, len: usize) -> &[u8] {
        self.snapshots.get(snapshot..).and_then(|bytes| bytes.get(..len)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn draws_find_what_was_pushed(
            steps in proptest::collection::vec(
                (0..8u32, proptest::collection::vec(any::<u8>(), 0..40), 0..4u32, 0..6u32),
                1..30,
            ),
        ) {
            let mut constants = Constants::default();
            let mut model = [0u8; 256];
            let mut expected = Vec::new();
            for (offset, bytes, start, size) in &steps {
                let at = 4 * *offset as usize;
                model[at..at + bytes.len()].copy_from_slice(bytes);
                constants.push(4 * offset, bytes);
                let range = 16 * start..16 * (start + size);
                let snapshot = constants.snapshot(&range);
                // Unchanged bytes do not make another snapshot.
                prop_assert_eq!(constants.snapshot(&range), snapshot);
                expected.push((snapshot, model[16 * *start as usize..][..16 * *size as usize].to_vec()));
                prop_assert_eq!(constants.current(96), &model[..96]);
            }
            for (snapshot, bytes) in expected {
                prop_assert_eq!(constants.bytes(snapshot, bytes.len()), bytes);
            }
        }
    }
}
