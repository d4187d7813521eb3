//! Descriptor sets of the application, as draws find them.
//!
//! A command binds several sets at once, with the dynamic offsets of all of them, and only the set layouts tell
//! which offset is whose. So commands are kept whole, and a snapshot says for each set number which command
//! bound it last.

#![forbid(unsafe_code)]

use std::ops::Range;

use ash::vk;

/// In place of a command: nothing was bound to the set number.
const UNBOUND: u32 = u32::MAX;

/// What one call bound: a range of set numbers, and where in [`BoundSets`] its sets and offsets are.
#[derive(Debug, Clone)]
struct Command {
    layout: vk::PipelineLayout,
    numbers: Range<usize>,
    sets: Range<usize>,
    dynamic_offsets: Range<usize>,
}

/// The arguments of `vkCmdBindDescriptorSets`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SetArguments<'a> {
    pub(super) layout: vk::PipelineLayout,
    pub(super) first: u32,
    pub(super) sets: &'a [vk::DescriptorSet],
    pub(super) dynamic_offsets: &'a [u32],
}

/// Every command that bound sets in a recording, and a snapshot behind each.
#[derive(Debug, Default)]
pub(super) struct BoundSets {
    /// Set numbers that there are.
    count: usize,
    commands: Vec<Command>,
    sets: Vec<vk::DescriptorSet>,
    dynamic_offsets: Vec<u32>,
    /// By snapshot and set number the command that bound it, or [`UNBOUND`].
    snapshots: Vec<u32>,
    /// Number of the last snapshot.
    current: usize,
    /// By set number the command that dispatches find recorded, or [`UNBOUND`].
    recorded: Vec<u32>,
}

impl BoundSets {
    /// Begins a recording: nothing is bound, and there are no set numbers.
    pub(super) fn restart(&mut self) {
        self.count = 0;
        self.commands.clear();
        self.sets.clear();
        self.dynamic_offsets.clear();
        self.snapshots.clear();
        self.current = 0;
        self.forget_recorded();
    }

    /// Sees to it that there are so many set numbers, for another pipeline.
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
        self.recorded.resize(new, UNBOUND);
    }

    /// Number of the snapshot of what is bound now.
    pub(super) const fn current(&self) -> usize {
        self.current
    }

    /// Binds sets, whose numbers there are. What is bound already makes no new snapshot.
    pub(super) fn bind(&mut self, arguments: SetArguments<'_>) {
        let SetArguments { layout, first, sets, dynamic_offsets } = arguments;
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
        });
        let last = self.snapshots.len() - self.count;
        self.snapshots.extend_from_within(last..);
        self.current += 1;
        let bound = self.snapshots.iter_mut().skip(self.current * self.count);
        bound.skip(numbers.start).take(numbers.len()).for_each(|bound| *bound = command);
    }

    /// Whether one command bound all of that, and none came behind it.
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
        let Command { layout, numbers, sets, dynamic_offsets } =
            self.commands.get(command as usize)?;
        Some(SetArguments {
            layout: *layout,
            first: numbers.start as u32,
            sets: self.sets.get(sets.clone())?,
            dynamic_offsets: self.dynamic_offsets.get(dynamic_offsets.clone())?,
        })
    }

    /// Whether a set number has something bound in a snapshot.
    pub(super) fn is_set_bound(&self, snapshot: usize, number: u32) -> bool {
        self.snapshot(snapshot).get(number as usize).is_some_and(|command| *command != UNBOUND)
    }

    /// Takes it that dispatches find nothing of what was recorded: others may have bound sets since.
    pub(super) fn forget_recorded(&mut self) {
        self.recorded.clear();
        self.recorded.resize(self.count, UNBOUND);
    }

    /// The first command behind `after` that is to be recorded so that dispatches find what is bound in a snapshot to
    /// the first `count` set numbers, with its number, or `None` once they do. It counts as recorded.
    ///
    /// Commands come in the order in which they were first recorded, as a later one takes set numbers from an
    /// earlier. One with another layout may disturb all of what was bound before, which is recorded again for the
    /// next dispatch.
    pub(super) fn next_command(
        &mut self,
        snapshot: usize,
        count: u32,
        after: Option<u32>,
    ) -> Option<(u32, SetArguments<'_>)> {
        let wanted = self.snapshot(snapshot).iter().zip(&self.recorded).take(count as usize);
        let is_missing = |(wanted, found): &(&u32, &u32)| {
            wanted != found && **wanted != UNBOUND && after.is_none_or(|after| **wanted > after)
        };
        let number = wanted.filter(is_missing).map(|(wanted, _)| *wanted).min()?;
        let Command { layout, numbers, .. } = self.commands.get(number as usize)?.clone();
        self.disturb(layout, numbers.start);
        self.recorded.get_mut(numbers)?.fill(number);
        Some((number, self.arguments(number)?))
    }

    /// Takes it that a set was bound to a number with a layout: what was bound to it, and by
    /// [pipeline layout compatibility](https://docs.vulkan.org/spec/latest/chapters/descriptorsets.html#descriptorsets-compatibility)
    /// perhaps what was bound with another layout, is not found any more.
    pub(super) fn disturb(&mut self, layout: vk::PipelineLayout, first: usize) {
        for (number, recorded) in self.recorded.iter_mut().enumerate() {
            let command = self.commands.get(*recorded as usize);
            let is_other = command.is_some_and(|command| command.layout != layout);
            if is_other || number == first {
                *recorded = UNBOUND;
            }
        }
    }
}

/// Appends to a list; where that is.
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

    /// Set numbers.
    const COUNT: usize = 5;

    /// A call: the first set number, how many, and what tells its arguments from others.
    type Call = (usize, usize, u32);

    /// What a command buffer has bound: by set number the call, with the place of the set in it.
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
        // Fewer offsets than sets, or more, or none.
        let dynamic_offsets: Vec<u32> = (0..which).map(|offset| which * 256 + offset).collect();
        let first = first as u32;
        let layout = vk::PipelineLayout::from_raw(1);
        f(SetArguments { layout, first, sets: &sets, dynamic_offsets: &dynamic_offsets })
    }

    fn call_of(arguments: SetArguments<'_>) -> Call {
        let which = (arguments.sets[0].as_raw() - 1) / 8;
        let call = (arguments.first as usize, arguments.sets.len(), which as u32);
        with_arguments(call, |expected| assert_eq!(arguments, expected));
        call
    }

    proptest! {
        #[test]
        fn dispatches_find_what_was_bound(
            calls in proptest::collection::vec((0..COUNT, 1..=COUNT, 0..3u32), 0..20),
            // A dispatch for the draws behind each call, and whether a kernel comes before it.
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
                // Nothing new makes no new snapshot.
                prop_assert_eq!(bound.current() == before, state == was);
                states.push((bound.current(), state));
            }
            let mut found = State::default();
            for ((snapshot, expected), (is_recorded, is_behind_kernel)) in states.iter().zip(dispatches) {
                if is_behind_kernel {
                    bound.forget_recorded();
                    found = State::default();
                }
                if !is_recorded {
                    continue;
                }
                let (mut commands, mut last) = (0, None);
                while let Some((number, arguments)) = bound.next_command(*snapshot, COUNT as u32, last) {
                    apply(&mut found, call_of(arguments));
                    (commands, last) = (commands + 1, Some(number));
                }
                prop_assert!(commands <= COUNT);
                prop_assert_eq!(&found, expected);
                for (number, set) in (0..).zip(expected) {
                    prop_assert_eq!(bound.is_set_bound(*snapshot, number), set.is_some());
                }
                prop_assert_eq!(bound.next_command(*snapshot, COUNT as u32, None), None);
            }
        }
    }

    #[test]
    fn what_is_bound_again_and_stays_is_not_recorded_again() {
        let mut bound = BoundSets::default();
        bound.restart();
        bound.widen(2);
        let mut recorded = |calls: &[Call]| {
            for call in calls {
                with_arguments(*call, |arguments| bound.bind(arguments));
            }
            let snapshot = bound.current();
            let (mut commands, mut last) = (Vec::new(), None);
            while let Some((number, arguments)) = bound.next_command(snapshot, 2, last) {
                commands.push(call_of(arguments));
                last = Some(number);
            }
            (snapshot, commands)
        };
        assert_eq!(recorded(&[(0, 1, 0), (1, 1, 0)]), (2, vec![(0, 1, 0), (1, 1, 0)]));
        assert_eq!(recorded(&[(0, 1, 0), (1, 1, 0)]), (2, vec![]));
        // Of two that take each other's place the last counts, and the other set stays.
        assert_eq!(recorded(&[(1, 1, 1), (1, 1, 2)]), (4, vec![(1, 1, 2)]));
        // Without set numbers there is nothing to bind.
        bound.restart();
        assert!(!bound.is_set_bound(0, 0) && bound.next_command(0, 2, None).is_none());
    }
}
