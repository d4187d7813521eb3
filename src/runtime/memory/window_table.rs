//! The descriptor plan: a table of the storage buffers that a recording accesses, and the descriptor sets for them.
//!
//! A [`WindowTable`] assigns descriptors to windows, which are ranges of buffers. The address of a byte
//! in a window has the number of the window, counted from 1, in its upper 32 bits, and the offset
//! in the window in its lower 32 bits. Within a window, address arithmetic is therefore the same as
//! with device addresses.
//!
//! | array elements | set for captures | set for fused captures | set for kernels |
//! |---|---|---|---|
//! | binding 0, the first [`TableLimits::writes`] | scratch memory, if read | unused | [`Purpose::State`] |
//! | binding 0, the others | [`Purpose::Read`] | [`Purpose::Read`] | [`Purpose::Read`] |
//! | binding 1 | [`Purpose::Capture`] | [`Purpose::State`], then [`Purpose::Capture`] | [`Purpose::State`] |
//!
//! So each kind of command ([`User`]) has its own sets, with only the buffers that commands of this kind access. With
//! other buffers in the sets, synchronization validation would report accesses that do not happen, because it takes
//! every range in a set as accessed.
//!
//! Windows are assigned when the draws are recorded ([`WindowTable::assign`]), because all ranges are known only then.
//! Until then addresses are provisional: in place of the number of a window they contain the number of a range. Each
//! part of a capture that is recorded by itself assigns windows anew. If the contents of a set differ from those of the
//! last set, it takes a new set, because a set must not be updated after it was bound.
//!
//! As long as there are enough descriptors, each range has its own window. If there are too few, a window also covers
//! the bytes between several ranges; then barriers are recorded before and after the draws
//! ([`WindowTable::is_scarce`]).
//!
//! A *span* is a range of one buffer that one window can cover. Each range belongs to a span, and ranges that do not
//! fit into one window together belong to different spans. The ranges that are bound in a recording have at most as
//! many spans as there are descriptors. So windows can be found for any subset of these ranges.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use ash::vk;

use crate::runtime::device::context::Context;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::table_limits::TableLimits;
use crate::runtime::memory::arena::ArenaAccess;
use crate::runtime::memory::buffers::BufferRange;
use crate::runtime::memory::descriptors::purpose::{Purpose, address};
use crate::runtime::memory::descriptors::windows::{Range, Window, cover};

/// The buffers that a recording accesses, and the windows (ranges that descriptors cover) that are assigned to them.
#[derive(Debug, Default)]
pub(crate) struct WindowTable {
    upload: Window,
    scratch: Window,
    /// The ranges that [`address`](Self::address) was called for, without duplicates.
    ranges: Vec<Reached>,
    /// Maps each requested range and its purpose to an index in `ranges`.
    numbers: HashMap<(Purpose, Window), u32>,
    /// The indices in `ranges` of the ranges that currently have windows.
    used: Vec<usize>,
    /// For each [`Purpose`], the spans of its ranges. A span contains ranges of one buffer that one descriptor can
    /// cover together, and extends from their lowest start to their highest end.
    spans: [Vec<Window>; 3],
    /// The assigned windows for each [`Purpose`]. If the purpose has a window for the arena, it is the first.
    windows: [Vec<Window>; 3],
    /// Whether a window also covers bytes between ranges.
    covers_gaps: bool,
}

/// For each [`User`] (a kind of command), the descriptor set that was written last, with its contents. If the next
/// draws access the same windows, that set is bound for them again.
#[derive(Debug, Default)]
pub(crate) struct LastSets {
    sets: [Option<(vk::DescriptorSet, Bindings)>; 4],
}

/// A range that [`WindowTable::address`] was called for.
#[derive(Debug)]
struct Reached {
    purpose: Purpose,
    /// The requested range, with its start rounded down to a multiple of the alignment.
    range: Range,
    is_used: bool,
    /// The address of the first byte of `range` in the assigned window, or `None` if no window is assigned.
    address: Option<u64>,
}

/// The windows in binding 0 and in binding 1 of a descriptor set.
type Bindings = [Vec<Window>; 2];

/// A flag in the upper 32 bits of a provisional address: the bits below are the number of a range, not of a window.
const PROVISIONAL: u32 = 1 << 31;

impl WindowTable {
    /// Removes all ranges, spans and windows, to begin a new recording. Allocated memory is kept.
    pub(crate) fn restart(&mut self) {
        let Self { mut ranges, mut numbers, mut used, .. } = std::mem::take(self);
        ranges.clear();
        numbers.clear();
        used.clear();
        *self = Self { ranges, numbers, used, ..Self::default() };
    }

    /// Sets the current blocks of the arena, which become the first windows of [`Purpose::Read`] (upload memory) and
    /// [`Purpose::State`] (scratch memory). Must be called before [`assign`](Self::assign).
    pub(crate) const fn set_arena(&mut self, upload: Window, scratch: Window) {
        (self.upload, self.scratch) = (upload, scratch);
    }

    /// Returns a provisional address of a range. After [`assign`](Self::assign), [`resolve`](Self::resolve) translates
    /// it to the address in the assigned window. `what` names the range in errors.
    ///
    /// # Errors
    /// [`RuntimeError::Limit`] if the range is larger than a descriptor can cover, [`RuntimeError::TooManyBuffers`] if
    /// too few descriptors are left.
    pub(crate) fn address(
        &mut self,
        limits: &TableLimits,
        purpose: Purpose,
        what: fmt::Arguments<'_>,
        (buffer, offset, size): BufferRange,
    ) -> Result<u64, RuntimeError> {
        // Nothing is accessed in an empty range. Nevertheless its address must differ from 0, because shaders take the
        // address 0 to mean that no range is bound.
        if size == 0 {
            return Ok(limits.first_address(purpose));
        }
        let too_large = || RuntimeError::Limit {
            what: format!("the size of {what} in bytes"),
            value: size,
            limit: "maxStorageBufferRange",
            max: limits.max_range,
        };
        let end = offset.checked_add(size).ok_or_else(too_large)?;
        let start = offset / limits.alignment * limits.alignment;
        let window = Window { buffer, start, end };
        if window.size() > limits.max_range {
            return Err(too_large());
        }
        let too_many = || RuntimeError::TooManyBuffers {
            what: what.to_string(),
            max: limits.count(purpose),
            storage_buffers: limits.reads + limits.writes,
        };
        let next = u32::try_from(self.ranges.len()).ok().filter(|n| n & PROVISIONAL == 0);
        let most = limits.most_ranges(purpose);
        let number = match self.numbers.entry((purpose, window)) {
            Entry::Occupied(number) => *number.get(),
            Entry::Vacant(entry) => {
                let number = next.ok_or_else(too_many)?;
                let spans = &mut self.spans[purpose as usize];
                let span = span(spans, most, limits.max_range, window).ok_or_else(too_many)?;
                let range = Range { span, window };
                self.ranges.push(Reached { purpose, range, is_used: false, address: None });
                *entry.insert(number)
            }
        };
        Ok(u64::from(PROVISIONAL | number) << 32 | (offset - start))
    }

    /// The window of the arena's memory for a purpose: upload memory is read, scratch memory belongs to `State`. `None`
    /// for capture buffers, because captures do not write to the arena.
    const fn of_arena(&self, purpose: Purpose) -> Option<Window> {
        match purpose {
            Purpose::Read => Some(self.upload),
            Purpose::State => Some(self.scratch),
            Purpose::Capture => None,
        }
    }

    /// Assigns windows to the ranges that `addresses` (provisional addresses) lie in, and removes all earlier windows.
    pub(crate) fn assign(&mut self, limits: &TableLimits, addresses: impl Iterator<Item = u64>) {
        for number in self.used.drain(..) {
            let reached = &mut self.ranges[number];
            (reached.is_used, reached.address) = (false, None);
        }
        for number in addresses.filter_map(range_number) {
            if let Some(reached) = self.ranges.get_mut(number)
                && !std::mem::replace(&mut reached.is_used, true)
            {
                self.used.push(number);
            }
        }
        self.covers_gaps = false;
        for purpose in Purpose::ALL {
            let of_arena = self.of_arena(purpose);
            let most = limits.most_ranges(purpose);
            let used = self.used.iter().map(|number| &self.ranges[*number]);
            // The capacity is an upper bound, so the vector never grows.
            let mut asked = Vec::with_capacity(self.used.len());
            asked.extend(used.clone().filter(|r| r.purpose == purpose).map(|r| r.range));
            let others = used.filter(|r| r.purpose != purpose).map(|r| r.range.window);
            let (windows, covers_gaps) = cover(asked, others, most);
            self.covers_gaps |= covers_gaps;
            let first = limits.first(purpose) + of_arena.iter().len() as u32;
            for number in &self.used {
                let Reached { range, address: assigned, .. } = match &mut self.ranges[*number] {
                    reached if reached.purpose == purpose => reached,
                    _ => continue,
                };
                let holds = |w: &&Range| w.span == range.span && w.window.holds(&range.window);
                *assigned = (first..)
                    .zip(&windows)
                    .find(|(_, window)| holds(window))
                    .map(|(window, w)| address(window, range.window.start - w.window.start));
            }
            let all = &mut self.windows[purpose as usize];
            all.clear();
            all.extend(of_arena.into_iter().chain(windows.iter().map(|range| range.window)));
        }
    }

    /// Translates a provisional address whose range has a window. Returns any other address unchanged.
    pub(crate) fn resolve(&self, address: u64) -> u64 {
        let range = range_number(address).and_then(|number| self.ranges.get(number)?.address);
        range.map_or(address, |start| start + (address & u64::from(u32::MAX)))
    }

    /// Whether a window to which captures write overlaps a window from which captures read. Synchronization validation
    /// then assumes that captures read what other captures write.
    pub(crate) fn captures_overlap(&self) -> bool {
        let [read, _, captured] = &self.windows;
        captured.iter().any(|window| read.iter().any(|other| window.overlaps(other)))
    }

    /// Whether a window may also cover bytes that other commands access, so that barriers are needed.
    pub(crate) fn is_scarce(&self) -> bool {
        self.covers_gaps || self.captures_overlap()
    }

    /// Whether the descriptors suffice for a fused capture: no window covers bytes that other commands access
    /// ([`is_scarce`](Self::is_scarce)), and binding 1 has enough elements for the windows of [`Purpose::State`] and
    /// [`Purpose::Capture`], which share it.
    pub(crate) fn fits_fused(&self, limits: &TableLimits) -> bool {
        let [_, state, captured] = &self.windows;
        !self.is_scarce() && state.len() + captured.len() <= limits.writes as usize
    }

    /// Converts an address in a window of [`Purpose::Capture`] for fused captures. In their sets the windows of
    /// [`Purpose::State`] come first, so capture windows have higher numbers than in the sets of other captures.
    pub(crate) fn behind_state(&self, address: u64) -> u64 {
        let [_, state, _] = &self.windows;
        address + ((state.len() as u64) << 32)
    }

    /// The windows for the bindings of the descriptor set for a kind of command.
    fn bindings(&self, limits: &TableLimits, user: User) -> Bindings {
        let of =
            |purpose| filled(&self.windows[purpose as usize], self.scratch, limits.count(purpose));
        match user {
            User::Kernels => [[of(Purpose::State), of(Purpose::Read)].concat(), of(Purpose::State)],
            User::CapturesBySetup | User::DirectCaptures | User::FusedCaptures => {
                // Only captures for which the setup kernel writes the parameters of the draws read scratch memory
                // through these elements. For other captures the upload memory fills them.
                let first = match user {
                    User::CapturesBySetup => self.scratch,
                    _ => self.upload,
                };
                let first = filled(&[], first, limits.writes);
                let written = match user {
                    User::FusedCaptures => {
                        let [_, state, captured] = &self.windows;
                        filled(&[&state[..], captured].concat(), self.scratch, limits.writes)
                    }
                    _ => of(Purpose::Capture),
                };
                [[first, of(Purpose::Read)].concat(), written]
            }
        }
    }
}

impl LastSets {
    /// Returns a descriptor set with the windows of `table` for the kind of command `user`: the set that was last
    /// written for this kind if its contents are equal, otherwise a new set from the arena.
    ///
    /// # Errors
    /// [`RuntimeError::NoDescriptorSet`] if the arena has none left, or the error of a failed command.
    ///
    /// # Safety
    /// The buffers are live buffers of the device of `ctx`, and contain their windows. `arena` was made for that
    /// device. Since `self` was last cleared, it was used with no other arena, and the arena was not reset.
    pub(crate) unsafe fn get(
        &mut self,
        ctx: &Context,
        limits: &TableLimits,
        table: &WindowTable,
        arena: &mut ArenaAccess<'_>,
        user: User,
    ) -> Result<vk::DescriptorSet, RuntimeError> {
        let bindings = table.bindings(limits, user);
        if let Some((set, holds)) = &self.sets[user as usize]
            && *holds == bindings
        {
            return Ok(*set);
        }
        let set = unsafe { arena.take_set(ctx) }?;
        let info = |window: &Window| vk::DescriptorBufferInfo {
            buffer: window.buffer,
            offset: window.start,
            range: window.size(),
        };
        let infos = [0, 1].map(|binding: usize| bindings[binding].iter().map(info).collect());
        let infos: [Vec<vk::DescriptorBufferInfo>; 2] = infos;
        let write = |binding: usize| {
            vk::WriteDescriptorSet::default()
                .dst_set(set)
                .dst_binding(binding as u32)
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .buffer_info(&infos[binding])
        };
        // SAFETY: the caller's contract; the set is not in use, because no set is taken twice.
        unsafe { ctx.device().update_descriptor_sets(&[write(0), write(1)], &[]) };
        self.sets[user as usize] = Some((set, bindings));
        Ok(set)
    }

    /// Forgets the sets. Must be called when the arena is reset, because the arena may then return the same sets for
    /// other contents.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// The kinds of commands that use descriptor sets. The sets of different kinds contain different windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// Captures for which the setup kernel writes the parameters of the draws to scratch memory.
    CapturesBySetup,
    /// Captures for which the CPU writes the parameters of the draws to push constants or upload memory.
    DirectCaptures,
    FusedCaptures,
    Kernels,
}

/// Returns the index of a span that contains `window`. A span is a range of a buffer that one descriptor can cover. If
/// no span contains `window`, a span is extended or added; the result is `None` if there would be more than `most`
/// spans.
fn span(spans: &mut Vec<Window>, most: usize, max_range: u64, window: Window) -> Option<usize> {
    let holds =
        |span: &Window| span.buffer == window.buffer && span.union(window).size() <= max_range;
    match spans.iter().position(holds) {
        Some(number) => {
            spans[number] = spans[number].union(window);
            Some(number)
        }
        None if spans.len() < most => {
            spans.push(window);
            Some(spans.len() - 1)
        }
        None => None,
    }
}

/// The index of the range in a provisional address, or `None` for any other address.
const fn range_number(address: u64) -> Option<usize> {
    let number = (address >> 32) as u32;
    if number & PROVISIONAL == 0 { None } else { Some((number ^ PROVISIONAL) as usize) }
}

/// Fills `windows` up to `count` elements with its first window, or with `other` if it is empty, because every
/// descriptor must be valid even if no shader accesses it.
fn filled(windows: &[Window], other: Window, count: u32) -> Vec<Window> {
    let mut filled = windows.to_vec();
    filled.resize(count as usize, windows.first().copied().unwrap_or(other));
    filled
}
