//! Finds windows that cover the ranges which draws access: at most as many windows as there are descriptors, and with
//! few other bytes.

#![forbid(unsafe_code)]

use ash::vk;

/// A range of a buffer, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Window {
    pub(crate) buffer: vk::Buffer,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Window {
    pub(in crate::runtime::memory) fn overlaps(&self, other: &Self) -> bool {
        self.buffer == other.buffer && self.start < other.end && other.start < self.end
    }

    pub(in crate::runtime::memory) const fn holds(&self, other: &Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The smallest range that contains both ranges, which must be in the same buffer.
    pub(in crate::runtime::memory) fn union(self, other: Self) -> Self {
        let (start, end) = (self.start.min(other.start), self.end.max(other.end));
        Self { start, end, ..self }
    }

    pub(crate) const fn size(&self) -> u64 {
        self.end - self.start
    }
}

/// A range of a buffer, and the number of its span. A span is a part of a buffer that one descriptor can cover. Ranges
/// of different spans never share a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime::memory) struct Range {
    pub(in crate::runtime::memory) span: usize,
    pub(in crate::runtime::memory) window: Window,
}

/// Returns windows that cover `ranges`, sorted by span and start, and whether these windows cover any other bytes. A
/// span is a part of a buffer that one descriptor can cover; ranges of different spans never share a window. There are
/// at most `most` windows, provided that the ranges have at most `most` spans.
///
/// Ranges that touch share a window. If that still leaves too many windows, neighbouring ranges of a span share a
/// window, which then also covers the gap between them. The narrowest gaps are covered first, but gaps that overlap one
/// of `others` last. `others` are the ranges that are accessed for other
/// [purposes](crate::runtime::memory::descriptors::purpose::Purpose), for example the ranges to which captures write
/// while `ranges` are read.
pub(in crate::runtime::memory) fn cover(
    mut ranges: Vec<Range>,
    others: impl Iterator<Item = Window>,
    most: usize,
) -> (Vec<Range>, bool) {
    ranges.sort_unstable_by_key(|range| (range.span, range.window.start));
    let exact = join(ranges, |_, last, next| next.window.start <= last.window.end);
    let excess = exact.len().saturating_sub(most);
    if excess == 0 {
        return (exact, false);
    }
    let others = disjoint(others);
    let mut gaps = Vec::with_capacity(exact.len());
    gaps.extend((1usize..).zip(exact.windows(2)).filter_map(|(number, pair)| {
        let [Range { span, window: before }, behind] = pair else { return None };
        let gap = Window { start: before.end, end: behind.window.start, ..*before };
        (behind.span == *span).then(|| (overlaps_any(&others, &gap), gap.size(), number))
    }));
    gaps.sort_unstable();
    let mut is_closed = vec![false; exact.len()];
    for (_, _, number) in gaps.into_iter().take(excess) {
        is_closed[number] = true;
    }
    (join(exact, |number, _, _| is_closed[number]), true)
}

/// Joins neighbouring ranges for which `joins` returns true, if they have the same span. The arguments of `joins` are
/// the index of the second range in `ranges`, the union of the ranges that were joined before it, and the second range.
fn join(ranges: Vec<Range>, joins: impl Fn(usize, &Range, &Range) -> bool) -> Vec<Range> {
    let mut joined: Vec<Range> = Vec::with_capacity(ranges.len());
    for (number, range) in ranges.into_iter().enumerate() {
        match joined.last_mut() {
            Some(last) if last.span == range.span && joins(number, last, &range) => {
                last.window = last.window.union(range.window);
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// The union of `windows` as windows that do not overlap, sorted by buffer and start.
fn disjoint(windows: impl Iterator<Item = Window>) -> Vec<Window> {
    let mut all = Vec::with_capacity(windows.size_hint().1.unwrap_or_default());
    all.extend(windows);
    all.sort_unstable_by_key(|window| (window.buffer, window.start));
    all.dedup_by(|next, last| {
        let touches = next.buffer == last.buffer && next.start <= last.end;
        if touches {
            *last = last.union(*next);
        }
        touches
    });
    all
}

/// Whether `window` overlaps one of `disjoint`, which are sorted and do not overlap each other.
fn overlaps_any(disjoint: &[Window], window: &Window) -> bool {
    let is_before = |other: &Window| (other.buffer, other.end) <= (window.buffer, window.start);
    let next = disjoint.get(disjoint.partition_point(is_before));
    next.is_some_and(|other| other.overlaps(window))
}

#[cfg(test)]
mod tests {
    use ash::vk::Handle;
    use proptest::prelude::*;

    use super::*;

    /// A range that belongs to the span `span`. In these tests each span is in a buffer of its own.
    fn range(span: usize, start: u64, end: u64) -> Range {
        Range { span, window: Window { buffer: vk::Buffer::from_raw(span as u64 + 1), start, end } }
    }

    #[test]
    fn narrow_gaps_are_closed_first() {
        let ranges =
            [range(0, 0, 8), range(0, 96, 100), range(1, 0, 4), range(0, 32, 64), range(0, 16, 32)];
        let of = |others: &[Window], most| {
            let (windows, holds_more) = cover(ranges.to_vec(), others.iter().copied(), most);
            assert_eq!(holds_more, most < 4);
            windows
        };
        let exact = [range(0, 0, 8), range(0, 16, 64), range(0, 96, 100), range(1, 0, 4)];
        assert_eq!(of(&[], 9), exact);
        assert_eq!(of(&[], 4), exact);
        assert_eq!(of(&[], 3), [range(0, 0, 64), range(0, 96, 100), range(1, 0, 4)]);
        assert_eq!(of(&[], 2), [range(0, 0, 100), range(1, 0, 4)]);
        // A gap that overlaps one of the other windows is covered last. Windows that only touch the gap, and windows in
        // another buffer, make no difference.
        let other = [range(0, 15, 16).window, range(1, 70, 80).window];
        assert_eq!(of(&other, 3), [range(0, 0, 8), range(0, 16, 100), range(1, 0, 4)]);
        assert_eq!(of(&other, 2), [range(0, 0, 100), range(1, 0, 4)]);
        let beside = [range(0, 16, 96).window];
        assert_eq!(of(&beside, 3), [range(0, 0, 64), range(0, 96, 100), range(1, 0, 4)]);
    }

    proptest! {
        #[test]
        fn overlaps_are_found_in_what_is_disjoint(
            raw in proptest::collection::vec((0..3usize, 0..60u64, 1..9u64), 0..12),
            (span, start, size) in (0..4usize, 0..70u64, 1..20u64),
        ) {
            let windows: Vec<Window> =
                raw.iter().map(|&(s, at, size)| range(s, at, at + size).window).collect();
            let sought = range(span, start, start + size).window;
            let expected = windows.iter().any(|window| window.overlaps(&sought));
            prop_assert_eq!(overlaps_any(&disjoint(windows.into_iter()), &sought), expected);
        }

        #[test]
        fn every_range_lies_in_one_window(
            raw in proptest::collection::vec((0..3usize, 0..200u64, 1..20u64), 1..30),
            other in (0..200u64, 1..20u64),
            most in 3..12usize,
        ) {
            let ranges: Vec<Range> = raw.iter().map(|&(s, at, size)| range(s, at, at + size)).collect();
            let others = [range(0, other.0, other.0 + other.1).window];
            let (windows, holds_more) = cover(ranges.clone(), others.iter().copied(), most);
            prop_assert!(windows.len() <= most);
            for r in &ranges {
                let holds = |w: &&Range| w.span == r.span && w.window.holds(&r.window);
                prop_assert_eq!(windows.iter().filter(holds).count(), 1);
            }
            // If the number of windows is not limited, they cover only bytes of ranges. No byte is in two windows.
            let named = |byte: u64, span: usize, all: &[Range]| {
                let byte = range(span, byte, byte + 1).window;
                all.iter().filter(|r| r.window.overlaps(&byte)).count()
            };
            let (exact, _) = cover(ranges.clone(), others.iter().copied(), usize::MAX);
            for (span, byte) in (0..3).flat_map(|span| (0..220).map(move |byte| (span, byte))) {
                prop_assert_eq!(named(byte, span, &exact) == 1, named(byte, span, &ranges) > 0);
                prop_assert!(named(byte, span, &windows) <= 1);
            }
            prop_assert_eq!(exact != windows, holds_more);
            prop_assert_eq!(exact.len() > most, holds_more);
        }
    }
}
