//! [`Ranges`]: a set of byte addresses, stored as ranges.

#![forbid(unsafe_code)]

use std::ops::Range;

/// Disjoint ranges of addresses, in ascending order. Ranges that touch are joined.
#[derive(Debug, Default)]
pub(super) struct Ranges(Vec<Range<u64>>);

impl Ranges {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn as_slice(&self) -> &[Range<u64>] {
        &self.0
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn overlaps(&self, range: &Range<u64>) -> bool {
        let next = self.0.partition_point(|other| other.end <= range.start);
        !range.is_empty() && self.0.get(next).is_some_and(|other| other.start < range.end)
    }

    pub(super) fn add(&mut self, range: Range<u64>) {
        let first = self.0.partition_point(|other| other.end < range.start);
        let touching = |other: &&Range<u64>| other.start <= range.end;
        let count = self.0.iter().skip(first).take_while(touching).count();
        let found = self.0.get(first..first + count).unwrap_or_default();
        match found {
            [] if range.is_empty() => {}
            [] => self.0.insert(first, range),
            [only] if only.start <= range.start && range.end <= only.end => {}
            [one, ..] => {
                let last = found.last().unwrap_or(one);
                let all = one.start.min(range.start)..last.end.max(range.end);
                self.0.splice(first..first + count, [all]);
            }
        }
    }
}
