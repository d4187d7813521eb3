//! Recordings of large plain draws that reach memory by descriptors, on devices where all other
//! captures do so by device addresses ([`Context::plain_table`]).
//!
//! All addresses of a capture stay device addresses until a recording is found to consist of such
//! draws only. Its buffers are then assigned to windows, and what its shaders read is translated. A
//! recording whose buffers do not fit is by device addresses, like all others.
//!
//! [`Context::plain_table`]: crate::runtime::Context

use std::ops::Range;

use ash::vk;

use super::capture::{Capture, TargetBuffer};
use super::play::Playback;
use crate::runtime::Pipeline;
use crate::runtime::descriptors::{MAX_ACCESS, Purpose, TableLimits, User, Window};
use crate::sysval::{Address, AttributeDescriptor, join, split};

/// A range of a buffer that is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BoundRange {
    /// The device address of its first byte.
    pub(super) address: u64,
    pub(super) buffer: vk::Buffer,
    /// Bytes from the start of the buffer.
    pub(super) offset: u64,
    /// Bytes, to the end of a dword.
    pub(super) size: u64,
}

/// Device addresses, and the address of the first of them in a window.
#[derive(Debug)]
struct Translation {
    purpose: Purpose,
    addresses: Range<u64>,
    to: u64,
}

/// How a recording translates the addresses that captures reach.
#[derive(Debug, Default)]
pub(super) struct Windows {
    translations: Vec<Translation>,
    /// The descriptor set of the windows; `None` if captures use device addresses.
    set: Option<vk::DescriptorSet>,
}

impl Windows {
    pub(super) fn clear(&mut self) {
        self.translations.clear();
        self.set = None;
    }

    /// The descriptor set of the windows; `None` if captures use device addresses.
    pub(super) const fn set(&self) -> Option<vk::DescriptorSet> {
        self.set
    }

    /// The address by which a capture reaches memory for a purpose. All windows that contain a byte
    /// reach it, and the one that ends last reaches all that any of them does from there on.
    fn translate(&self, purpose: Purpose, address: u64) -> u64 {
        let holds = |t: &&Translation| t.purpose == purpose && t.addresses.contains(&address);
        let found = self.translations.iter().filter(holds).max_by_key(|t| t.addresses.end);
        debug_assert!(address == 0 || found.is_some(), "{address:#x} is in no window");
        found.map_or(0, |t| t.to + (address - t.addresses.start))
    }
}

impl Capture {
    /// The address by which a capture reaches an address that is not [resolved](Self::resolve) yet.
    pub(super) fn reached(&self, purpose: Purpose, address: Address) -> Address {
        match self.plan.windows.set {
            Some(_) => split(self.plan.windows.translate(purpose, join(address))),
            None => self.resolve(address),
        }
    }

    pub(super) fn reached_attribute(&self, attribute: AttributeDescriptor) -> AttributeDescriptor {
        let address = self.readable(attribute.address, attribute.limit);
        AttributeDescriptor { address, ..attribute }
    }

    /// Whether all dispatches of a recording are of large plain draws with pipelines that can reach
    /// memory by descriptors. The set of the buffers may disturb sets that the application bound
    /// itself, so the recorder must have bound all that are used.
    pub(super) fn is_plain(&self) -> bool {
        self.ctx.plain_table().is_some()
            && self.captures()
            && !self.plan.dispatches.is_empty()
            && self.plan.dispatches.iter().all(|dispatch| {
                let state = self.pending.states.get(dispatch.state);
                let pipeline = state.and_then(|state| self.pipeline_of(state));
                dispatch.is_plain()
                    // A descriptor set takes longer than a small draw gains.
                    && dispatch.workgroups > self.ctx.max_shared_workgroups()
                    && pipeline.is_some_and(Pipeline::has_plain_descriptors)
                    && self.workgroups_of(&dispatch.by_descriptors())
                        <= self.ctx.max_workgroups_per_axis()
            })
            && self.unbound_set().is_none()
    }

    /// Assigns windows to what a recording of plain draws reaches, if they fit.
    ///
    /// # Safety
    /// As [`play`](Self::play).
    pub(super) unsafe fn assign_windows(&mut self, playback: &mut Playback<'_>) {
        self.plan.windows.clear();
        let Some(limits) = self.ctx.plain_table().copied() else { return };
        let (windows, upload_address) = (playback.arena.windows(), playback.arena.upload_address());
        if self.find_windows(&limits, windows, upload_address).is_none() {
            self.plan.windows.clear();
            return;
        }
        // Without a set that is left, captures use device addresses.
        // SAFETY: the caller's contract.
        self.plan.windows.set =
            unsafe { self.set_of_windows(playback, &limits, User::DirectCaptures) }.ok();
    }

    /// Returns `None` if a buffer does not fit.
    fn find_windows(
        &mut self,
        limits: &TableLimits,
        [upload, scratch]: [Window; 2],
        upload_address: u64,
    ) -> Option<()> {
        let (table, translations) = (&mut self.table, &mut self.plan.windows.translations);
        table.restart();
        let mut request = |purpose: Purpose, range: BoundRange| {
            let BoundRange { address, buffer, offset, size } = range;
            let addresses = address..address.checked_add(size)?;
            if translations.iter().any(|t| t.purpose == purpose && t.addresses == addresses) {
                return Some(());
            }
            let what = format_args!("a bound range");
            let to = table.address(limits, purpose, what, buffer, offset, size).ok()?;
            translations.push(Translation { purpose, addresses, to });
            Some(())
        };
        for TargetBuffer { range, .. } in self.targets.iter().flatten() {
            // A window that began before the range would count as writing what is there.
            if !range.offset.is_multiple_of(limits.alignment) {
                return None;
            }
            request(Purpose::Capture, *range)?;
        }
        for (state, _) in &self.plan.used_states {
            let (first, count) =
                self.pending.attributes[self.pending.states[*state].attributes].ranges;
            for range in &self.pending.ranges[first..first + count] {
                request(Purpose::Read, *range)?;
            }
        }
        if upload.size() > limits.max_range {
            return None;
        }
        table.set_arena(upload, scratch);
        table.assign(limits, translations.iter().map(|t| t.to));
        // Barriers for bytes that only the windows contain would cost more than is gained.
        if table.is_scarce() {
            return None;
        }
        for translation in &mut *translations {
            translation.to = table.resolve(translation.to);
        }
        translations.push(Translation {
            purpose: Purpose::Read,
            addresses: upload_address..upload_address.checked_add(upload.size())?,
            to: limits.first_address(Purpose::Read),
        });
        // Accesses that are aligned at their device address are aligned in the window, too.
        let is_aligned =
            |t: &Translation| t.to.wrapping_sub(t.addresses.start).is_multiple_of(MAX_ACCESS);
        translations.iter().all(is_aligned).then_some(())
    }
}
