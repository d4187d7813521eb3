//! What the application changes between draws, with snapshots (copies of the state for the draws that follow):
//! [`Constants`], its push constants, and [`BoundSets`], its descriptor sets.

#![forbid(unsafe_code)]

use std::ops::Range;

use ash::vk;

use crate::runtime::recording::set_arguments::{BufferSet, SetArguments};

/// The current push constants, and copies of them (snapshots) for the collected draws. Consecutive draws share a
/// snapshot if the bytes have not changed.
#[derive(Debug, Default)]
pub(in crate::runtime::recording) struct Constants {
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
    pub(in crate::runtime::recording) fn clear(&mut self) {
        self.current.clear();
        self.snapshots.clear();
        self.last = None;
    }

    /// Removes the snapshots. The current values stay.
    pub(in crate::runtime::recording) fn forget_snapshots(&mut self) {
        self.snapshots.clear();
        self.last = None;
    }

    /// Sets push constants from `offset` on. The range must be within the limits of the device.
    pub(in crate::runtime::recording) fn push(&mut self, offset: u32, bytes: &[u8]) {
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
    pub(in crate::runtime::recording) fn current(&mut self, end: u32) -> &[u8] {
        if self.current.len() < end as usize {
            self.current.resize(end as usize, 0);
        }
        self.current.get(..end as usize).unwrap_or_default()
    }

    /// Takes a snapshot of the current bytes in `range`, and returns its position for [`bytes`](Self::bytes). If the
    /// bytes have not changed since the last snapshot, returns the position of that snapshot.
    pub(in crate::runtime::recording) fn snapshot(&mut self, range: &Range<u32>) -> usize {
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
    pub(in crate::runtime::recording) fn bytes(&self, snapshot: usize, len: usize) -> &[u8] {
        self.snapshots.get(snapshot..).and_then(|bytes| bytes.get(..len)).unwrap_or_default()
    }
}

/// The value in a snapshot for a set number to which no set is bound.
const UNBOUND: u32 = u32::MAX;

/// The arguments of a call that binds sets: `numbers` are its set numbers; `sets` and `dynamic_offsets` are ranges of
/// the lists in [`BoundSets`].
#[derive(Debug, Clone)]
struct Command {
    layout: vk::PipelineLayout,
    numbers: Range<usize>,
    sets: Range<usize>,
    dynamic_offsets: Range<usize>,
    buffer_set: Option<BufferSet>,
}

#[derive(Debug, Default)]
pub(in crate::runtime::recording) struct SetNumbers(Vec<u32>);

impl SetNumbers {
    pub(in crate::runtime::recording) fn add(&mut self, first: u32, count: u32) {
        for number in first..first.saturating_add(count) {
            if !self.contains(number) {
                self.0.push(number);
            }
        }
    }

    pub(in crate::runtime::recording) fn contains(&self, number: u32) -> bool {
        self.0.contains(&number)
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// All calls that bound sets in a recording, and a snapshot after each call.
///
/// A single call binds several sets, with the dynamic offsets of all of them. Only the set layouts tell which offset
/// belongs to which set, so calls are stored as a whole. A snapshot says for each set number which call bound it last.
#[derive(Debug, Default)]
pub(in crate::runtime::recording) struct BoundSets {
    /// The length of a snapshot. It has an element for each descriptor set number below `count`.
    count: usize,
    commands: Vec<Command>,
    sets: Vec<vk::DescriptorSet>,
    dynamic_offsets: Vec<u32>,
    /// The snapshots, one after the other. For each set number, a snapshot has the index in `commands` of the call that
    /// bound the set last, or [`UNBOUND`].
    snapshots: Vec<u32>,
    /// The index of the last snapshot.
    current: usize,
    /// The numbers of the sets that the application binds itself.
    assumed: SetNumbers,
}

impl BoundSets {
    /// Begins a recording: no sets are bound, and snapshots have no elements until
    /// [`widen`](Self::widen) adds some.
    pub(super) fn restart(&mut self) {
        self.count = 0;
        self.commands.clear();
        self.sets.clear();
        self.dynamic_offsets.clear();
        self.snapshots.clear();
        self.assumed.clear();
        self.current = 0;
    }

    /// Ensures that snapshots have elements for at least `count` set numbers. `count` is the number of sets of a
    /// pipeline.
    pub(super) fn widen(&mut self, count: u32) {
        let (old, new) = (self.count, count as usize);
        if new <= old {
            return;
        }
        if self.commands.is_empty() {
            self.snapshots.resize(new, UNBOUND);
        } else {
            let mut wide = Vec::with_capacity((self.current + 1) * new);
            for snapshot in 0..=self.current {
                wide.extend_from_slice(self.snapshot(snapshot));
                wide.resize((snapshot + 1) * new, UNBOUND);
            }
            self.snapshots = wide;
        }
        self.count = new;
    }

    pub(super) const fn current(&self) -> usize {
        self.current
    }

    /// Binds sets. Snapshots must already have elements for the numbers of these sets. If exactly these sets are
    /// already bound, no new snapshot is made.
    pub(super) fn bind(&mut self, arguments: SetArguments<'_>) {
        let SetArguments { layout, first, sets, dynamic_offsets, buffer_set } = arguments;
        let numbers = first as usize..first as usize + sets.len();
        if sets.is_empty() || self.is_bound(&numbers, arguments) {
            return;
        }
        let command = self.commands.len() as u32;
        self.commands.push(Command {
            layout,
            numbers: numbers.clone(),
            sets: append(&mut self.sets, sets),
            dynamic_offsets: append(&mut self.dynamic_offsets, dynamic_offsets),
            buffer_set,
        });
        let last = self.snapshots.len() - self.count;
        self.snapshots.extend_from_within(last..);
        self.current += 1;
        let bound = self.snapshots.iter_mut().skip(self.current * self.count);
        bound.skip(numbers.start).take(numbers.len()).for_each(|bound| *bound = command);
    }

    /// Notes that the application binds these sets itself.
    pub(super) fn assume(&mut self, first: u32, count: u32) {
        self.assumed.add(first, count);
    }

    /// Whether the application binds the set with this number itself.
    pub(super) fn is_assumed(&self, number: u32) -> bool {
        self.assumed.contains(number)
    }

    /// Whether a single call bound exactly these sets, and no later call replaced one of them.
    fn is_bound(&self, numbers: &Range<usize>, arguments: SetArguments<'_>) -> bool {
        let Some(bound) = self.snapshot(self.current).get(numbers.clone()) else { return false };
        match bound {
            [command, others @ ..] if *command != UNBOUND => {
                others.iter().all(|other| other == command)
                    && self.arguments(*command) == Some(arguments)
            }
            _ => false,
        }
    }

    fn snapshot(&self, number: usize) -> &[u32] {
        self.snapshots.get(number * self.count..).and_then(|s| s.get(..self.count)).unwrap_or(&[])
    }

    fn arguments(&self, command: u32) -> Option<SetArguments<'_>> {
        let Command { layout, numbers, sets, dynamic_offsets, buffer_set } =
            self.commands.get(command as usize)?;
        Some(SetArguments {
            layout: *layout,
            first: numbers.start as u32,
            sets: self.sets.get(sets.clone())?,
            dynamic_offsets: self.dynamic_offsets.get(dynamic_offsets.clone())?,
            buffer_set: *buffer_set,
        })
    }

    /// Whether a set is bound to a set number in a snapshot.
    pub(super) fn is_set_bound(&self, snapshot: usize, number: u32) -> bool {
        self.snapshot(snapshot).get(number as usize).is_some_and(|command| *command != UNBOUND)
    }
}

/// The sets that a command buffer has bound: for each set number the index in [`BoundSets::commands`] of the call that
/// bound it, or [`UNBOUND`].
#[derive(Debug, Default)]
pub(in crate::runtime::recording) struct RecordedSets(Vec<u32>);

impl RecordedSets {
    /// Assumes that no set is bound any more, because other commands may have bound sets.
    pub(in crate::runtime::recording) fn forget(&mut self, bound: &BoundSets) {
        self.0.clear();
        self.0.resize(bound.count, UNBOUND);
    }

    /// Returns the next call that must be recorded to bind the first `count` sets of a snapshot of `bound`, with its
    /// index, which is higher than `after`. Marks its sets as bound. Returns `None` if all sets are bound.
    ///
    /// Calls are returned in their original order, because a later call replaces sets of an earlier one. A call with
    /// another layout may disturb all sets that were bound before; the next dispatch binds these sets again.
    pub(in crate::runtime::recording) fn next<'a>(
        &mut self,
        bound: &'a BoundSets,
        snapshot: usize,
        count: u32,
        after: Option<u32>,
    ) -> Option<(u32, SetArguments<'a>)> {
        let wanted = bound.snapshot(snapshot).iter().zip(&self.0).take(count as usize);
        let is_missing = |(wanted, found): &(&u32, &u32)| {
            wanted != found && **wanted != UNBOUND && after.is_none_or(|after| **wanted > after)
        };
        let number = wanted.filter(is_missing).map(|(wanted, _)| *wanted).min()?;
        let Command { layout, numbers, .. } = bound.commands.get(number as usize)?.clone();
        self.disturb(bound, layout, numbers.start);
        self.0.get_mut(numbers)?.fill(number);
        Some((number, bound.arguments(number)?))
    }

    /// Notes that a call bound a set at number `first` with `layout`. This set replaces the previous set with that
    /// number. By the rules of [pipeline layout
    /// compatibility](https://docs.vulkan.org/spec/latest/chapters/descriptorsets.html#descriptorsets-compatibility)
    /// the call may also disturb all sets that were bound with another layout.
    pub(in crate::runtime::recording) fn disturb(
        &mut self,
        bound: &BoundSets,
        layout: vk::PipelineLayout,
        first: usize,
    ) {
        for (number, recorded) in self.0.iter_mut().enumerate() {
            let command = bound.commands.get(*recorded as usize);
            let is_other = command.is_some_and(|command| command.layout != layout);
            if is_other || number == first {
                *recorded = UNBOUND;
            }
        }
    }
}

fn append<T: Copy>(list: &mut Vec<T>, values: &[T]) -> Range<usize> {
    let start = list.len();
    list.extend_from_slice(values);
    start..list.len()
}

#[cfg(test)]
mod tests {
    use ash::vk::Handle;
    use proptest::prelude::*;

    use super::*;

    /// The number of descriptor sets of the test's pipelines.
    const COUNT: usize = 5;

    /// A bind call: the first set number, the number of sets, and a value that makes its arguments distinct.
    type Call = (usize, usize, u32);

    /// The sets that a command buffer has bound: for each set number the call that bound the set, and the index of the
    /// set in that call.
    type State = [Option<(Call, usize)>; COUNT];

    fn apply(state: &mut State, call: Call) {
        let (first, count, _) = call;
        for place in 0..count {
            state[first + place] = Some((call, place));
        }
    }

    fn with_arguments<R>((first, count, which): Call, f: impl FnOnce(SetArguments<'_>) -> R) -> R {
        let set =
            |place: usize| vk::DescriptorSet::from_raw(u64::from(which) * 8 + place as u64 + 1);
        let sets: Vec<_> = (0..count).map(set).collect();
        // The number of dynamic offsets may differ from the number of sets, and it may be 0.
        let dynamic_offsets: Vec<u32> = (0..which).map(|offset| which * 256 + offset).collect();
        let first = first as u32;
        let layout = vk::PipelineLayout::from_raw(1);
        f(SetArguments::new(layout, first, &sets, &dynamic_offsets))
    }

    fn call_of(arguments: SetArguments<'_>) -> Call {
        let which = (arguments.sets[0].as_raw() - 1) / 8;
        let call = (arguments.first as usize, arguments.sets.len(), which as u32);
        with_arguments(call, |expected| assert_eq!(arguments, expected));
        call
    }

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

    proptest! {
        #[test]
        fn dispatches_find_what_was_bound(
            calls in proptest::collection::vec((0..COUNT, 1..=COUNT, 0..3u32), 0..20),
            // For each dispatch: whether draws are recorded before it, and whether a kernel is recorded before it.
            dispatches in proptest::collection::vec((any::<bool>(), any::<bool>()), 21),
        ) {
            let mut bound = BoundSets::default();
            bound.restart();
            bound.widen(COUNT as u32);
            let mut state = State::default();
            let mut states = vec![(bound.current(), state)];
            for (first, count, which) in calls {
                let call = (first, count.min(COUNT - first), which);
                let (before, was) = (bound.current(), state);
                with_arguments(call, |arguments| bound.bind(arguments));
                apply(&mut state, call);
                // A call that changes nothing makes no new snapshot.
                prop_assert_eq!(bound.current() == before, state == was);
                states.push((bound.current(), state));
            }
            let mut found = State::default();
            let mut recorded = RecordedSets::default();
            recorded.forget(&bound);
            for ((snapshot, expected), (is_recorded, is_behind_kernel)) in states.iter().zip(dispatches) {
                if is_behind_kernel {
                    recorded.forget(&bound);
                    found = State::default();
                }
                if !is_recorded {
                    continue;
                }
                let (mut commands, mut last) = (0, None);
                while let Some((number, arguments)) =
                    recorded.next(&bound, *snapshot, COUNT as u32, last)
                {
                    apply(&mut found, call_of(arguments));
                    (commands, last) = (commands + 1, Some(number));
                }
                prop_assert!(commands <= COUNT);
                prop_assert_eq!(&found, expected);
                for (number, set) in (0..).zip(expected) {
                    prop_assert_eq!(bound.is_set_bound(*snapshot, number), set.is_some());
                }
                prop_assert_eq!(recorded.next(&bound, *snapshot, COUNT as u32, None), None);
            }
        }
    }

    #[test]
    fn what_is_bound_again_and_stays_is_not_recorded_again() {
        let mut bound = BoundSets::default();
        bound.restart();
        bound.widen(2);
        let mut in_buffer = RecordedSets::default();
        in_buffer.forget(&bound);
        let mut recorded = |calls: &[Call]| {
            for call in calls {
                with_arguments(*call, |arguments| bound.bind(arguments));
            }
            let snapshot = bound.current();
            let (mut commands, mut last) = (Vec::new(), None);
            while let Some((number, arguments)) = in_buffer.next(&bound, snapshot, 2, last) {
                commands.push(call_of(arguments));
                last = Some(number);
            }
            (snapshot, commands)
        };
        assert_eq!(recorded(&[(0, 1, 0), (1, 1, 0)]), (2, vec![(0, 1, 0), (1, 1, 0)]));
        assert_eq!(recorded(&[(0, 1, 0), (1, 1, 0)]), (2, vec![]));
        // Two calls bind a set at number 1: the second replaces the set of the first. The sets with other numbers stay
        // bound.
        assert_eq!(recorded(&[(1, 1, 1), (1, 1, 2)]), (4, vec![(1, 1, 2)]));
        // If snapshots have no elements, nothing is bound, and no call has to be recorded.
        bound.restart();
        in_buffer.forget(&bound);
        assert!(!bound.is_set_bound(0, 0) && in_buffer.next(&bound, 0, 2, None).is_none());
    }
}
