//! The resource plan by descriptors: which storage buffers a record reaches, and the descriptor sets that
//! say so.
//!
//! A [`Table`] gives every buffer a window, one descriptor, and to each byte in it an address: the number of
//! the window counted from 1 in the upper 32 bits, the offset in the window in the lower ones. So what is
//! computed with device addresses is computed with these, as long as it stays in the window.
//!
//! | elements of | set for captures | set for kernels |
//! |---|---|---|
//! | binding 0, as many first ones as binding 1 has | scratch memory, if they read it | [`Purpose::State`] |
//! | binding 0, the others | [`Purpose::Read`] | [`Purpose::Read`] |
//! | binding 1 | [`Purpose::Capture`] | [`Purpose::State`] |
//!
//! So a set names nothing that its user does not touch, as far as the kinds go: what is named counts as
//! touched for synchronization validation.
//!
//! Descriptor sets are immutable once they are bound. A window that grows, or a new one, takes another set;
//! what the old one says holds on, so that addresses stay what they are.

mod sets;

use ash::vk;

pub(super) use self::sets::{Sets, with_layout};
use super::{Context, RuntimeError};
use crate::lower::ResourcePlan;

/// The fewest storage buffers that do: both parts of the arena, what is captured to, and one more.
pub(super) const MIN_STORAGE_BUFFERS: u32 = 4;

/// The most that are used, of however many a device has.
pub(super) const MAX_STORAGE_BUFFERS: u32 = 24;

/// Offsets in a window are dwords', whatever the device asks for.
const MIN_ALIGNMENT: u64 = 4;

/// What a buffer is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Nothing writes it: vertices, indices, arguments of draws.
    Read,
    /// Kernels read and write it: scratch memory, which captures read, counters, queries.
    State,
    /// Captures write it.
    Capture,
}

/// What limits a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableLimits {
    /// Elements of binding 0.
    pub(super) reads: u32,
    /// Elements of binding 1.
    pub(super) writes: u32,
    /// `maxStorageBufferRange`
    pub(super) max_range: u64,
    /// `minStorageBufferOffsetAlignment`
    pub(super) alignment: u64,
}

/// A range of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) buffer: vk::Buffer,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// The buffers that a record reaches.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// By [`Purpose`].
    windows: [Vec<Window>; 3],
    /// Sets that hold the windows as they are, by [`User`].
    sets: [Option<vk::DescriptorSet>; 3],
}

/// The address of a byte in a window.
const fn address(window: u32, offset: u64) -> u64 {
    (window as u64 + 1) << 32 | offset
}

impl TableLimits {
    /// With so many storage buffers in all. A quarter is written.
    pub(super) fn new(storage_buffers: u32, max_range: u64, alignment: u64) -> Self {
        let all = storage_buffers.clamp(MIN_STORAGE_BUFFERS, MAX_STORAGE_BUFFERS);
        let writes = all / 4;
        Self { reads: all - writes, writes, max_range, alignment: alignment.max(MIN_ALIGNMENT) }
    }

    /// The plan, with the descriptor set of that number.
    pub(super) const fn plan(&self, set: u32) -> ResourcePlan {
        ResourcePlan::Descriptors { set, reads: self.reads, writes: self.writes }
    }

    /// The most windows of a purpose.
    const fn count(&self, purpose: Purpose) -> u32 {
        match purpose {
            Purpose::Read => self.reads - self.writes,
            Purpose::State | Purpose::Capture => self.writes,
        }
    }

    /// Element of the first window of a purpose.
    const fn first(&self, purpose: Purpose) -> u32 {
        match purpose {
            Purpose::Read => self.writes,
            Purpose::State | Purpose::Capture => 0,
        }
    }

    /// The address of the first byte of the first window of a purpose.
    pub(super) const fn first_address(&self, purpose: Purpose) -> u64 {
        address(self.first(purpose), 0)
    }

    const fn bindings(&self) -> [u32; 2] {
        [self.reads, self.writes]
    }
}

impl Table {
    /// Forgets all buffers, but for those of an arena, which come first.
    pub(super) fn restart(&mut self, upload: Window, scratch: Window) {
        self.windows.iter_mut().for_each(Vec::clear);
        self.windows[Purpose::Read as usize].push(upload);
        self.windows[Purpose::State as usize].push(scratch);
        self.forget_sets();
    }

    /// The address of `size` bytes at `offset`. The window ends with a whole dword.
    ///
    /// # Errors
    /// [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`].
    pub(super) fn address(
        &mut self,
        limits: &TableLimits,
        purpose: Purpose,
        what: &str,
        buffer: vk::Buffer,
        offset: u64,
        size: u64,
    ) -> Result<u64, RuntimeError> {
        // Nothing is read or written there. But something is bound, so it is not 0.
        if size == 0 {
            return Ok(limits.first_address(purpose));
        }
        let too_large = || RuntimeError::Limit {
            what: format!("the size of {what} in bytes"),
            value: size,
            limit: "maxStorageBufferRange",
            max: limits.max_range,
        };
        let end = offset
            .checked_add(size)
            .and_then(|end| end.checked_next_multiple_of(MIN_ALIGNMENT))
            .ok_or_else(too_large)?;
        let (first, count) = (limits.first(purpose), limits.count(purpose));
        let windows = &mut self.windows[purpose as usize];
        let used = u32::try_from(windows.len()).unwrap_or(u32::MAX);
        // A window is what was asked for, for robust access and synchronization validation to see, while
        // there is room. The last ones begin with their buffers, and then all grow.
        let last = match purpose {
            Purpose::Read | Purpose::Capture => count / 4,
            Purpose::State => count / 2,
        };
        let is_scarce = used + last.max(1) >= count;
        for (number, window) in (first..).zip(windows.iter_mut()) {
            let holds = window.start <= offset && end - window.start <= limits.max_range;
            if window.buffer == buffer && holds && (end <= window.end || is_scarce) {
                if end > window.end {
                    window.end = end;
                    self.sets = [None; 3];
                }
                return Ok(address(number, offset - window.start));
            }
        }
        let start = match is_scarce && end <= limits.max_range {
            true => 0,
            false => offset / limits.alignment * limits.alignment,
        };
        if end - start > limits.max_range {
            return Err(too_large());
        }
        if used >= count {
            let storage_buffers = limits.reads + limits.writes;
            return Err(RuntimeError::TooManyBuffers {
                what: what.to_owned(),
                max: count,
                storage_buffers,
            });
        }
        windows.push(Window { buffer, start, end });
        self.sets = [None; 3];
        Ok(address(first + used, offset - start))
    }

    /// The descriptor set that holds the table.
    ///
    /// # Errors
    /// [`RuntimeError::NoDescriptorSet`].
    ///
    /// # Safety
    /// The buffers are live and of the device of `ctx`, which the sets are of; they hold their windows. For
    /// captures there is something that they write.
    pub(super) unsafe fn set(
        &mut self,
        ctx: &Context,
        limits: &TableLimits,
        sets: &mut Sets,
        user: User,
    ) -> Result<vk::DescriptorSet, RuntimeError> {
        if let Some(set) = self.sets[user as usize] {
            return Ok(set);
        }
        let set = sets.take()?;
        let of = |purpose| filled(&self.windows[purpose as usize], limits.count(purpose));
        let bindings = match user {
            User::Kernels => [[of(Purpose::State), of(Purpose::Read)].concat(), of(Purpose::State)],
            User::CapturesBySetup | User::DirectCaptures => {
                // Scratch memory, or the upload memory in its place.
                let first = match user {
                    User::DirectCaptures => Purpose::Read,
                    _ => Purpose::State,
                };
                let first = self.windows[first as usize].get(..1).unwrap_or_default();
                let first = filled(first, limits.writes);
                [[first, of(Purpose::Read)].concat(), of(Purpose::Capture)]
            }
        };
        let write = |binding: usize| {
            vk::WriteDescriptorSet::default()
                .dst_set(set)
                .dst_binding(binding as u32)
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .buffer_info(&bindings[binding])
        };
        // SAFETY: the caller's contract; the set is not in use, as none is taken twice.
        unsafe { ctx.device().update_descriptor_sets(&[write(0), write(1)], &[]) };
        self.sets[user as usize] = Some(set);
        Ok(set)
    }

    /// Takes the sets from the table, as they were given back.
    pub(super) const fn forget_sets(&mut self) {
        self.sets = [None; 3];
    }
}

/// Whose descriptor set it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    /// Captures of draws that a setup kernel left in the scratch memory.
    CapturesBySetup,
    /// Captures of draws that the CPU knows.
    DirectCaptures,
    Kernels,
}

/// Descriptors of `count` elements. Every one is valid, used or not: the first window stands where there is
/// none.
fn filled(windows: &[Window], count: u32) -> Vec<vk::DescriptorBufferInfo> {
    let first = windows.first().into_iter().cycle();
    let info = |window: &Window| vk::DescriptorBufferInfo {
        buffer: window.buffer,
        offset: window.start,
        range: window.end - window.start,
    };
    windows.iter().chain(first).take(count as usize).map(info).collect()
}

#[cfg(test)]
mod tests {
    use ash::vk::Handle;

    use super::*;
    use Purpose::{Capture, Read, State};

    /// Two that are written, six to read, of which the first two are those of the state.
    fn limits() -> TableLimits {
        TableLimits::new(8, 1024, 64)
    }

    fn buffer(number: u64) -> vk::Buffer {
        vk::Buffer::from_raw(number)
    }

    fn window(number: u64, start: u64, end: u64) -> Window {
        Window { buffer: buffer(number), start, end }
    }

    fn table() -> Table {
        let mut table = Table::default();
        table.restart(window(1, 0, 32), window(2, 0, 16));
        table
    }

    #[test]
    fn a_quarter_is_written() {
        let split = |all| TableLimits::new(all, 1, 1).bindings();
        assert_eq!([split(0), split(4), split(8)], [[3, 1], [3, 1], [6, 2]]);
        assert_eq!([split(16), split(24), split(99)], [[12, 4], [18, 6], [18, 6]]);
    }

    #[test]
    fn windows_are_what_was_asked_for_while_there_is_room() {
        let mut table = table();
        let mut at = |b, offset, size| {
            table.address(&limits(), Read, "it", buffer(b), offset, size).unwrap()
        };
        // Numbers of what is read are behind those of the state; windows are aligned, and end with a dword.
        assert_eq!(at(3, 130, 9), address(3, 2));
        assert_eq!(at(3, 132, 4), address(3, 4));
        assert_eq!(at(3, 300, 20), address(4, 44));
        // One place is left: what it is for begins with the buffer, and what there is grows.
        assert_eq!(at(3, 70, 4), address(5, 70));
        assert_eq!(at(3, 900, 4), address(3, 772));
        assert_eq!(at(3, 8, 100), address(5, 8));
        assert_eq!(
            table.windows[Read as usize],
            [window(1, 0, 32), window(3, 128, 904), window(3, 256, 320), window(3, 0, 108)]
        );
    }

    #[test]
    fn what_lies_far_off_has_an_aligned_window() {
        let mut table = table();
        let mut at = |offset, size| {
            table.address(&limits(), Capture, "it", buffer(3), offset, size).unwrap()
        };
        let far = 0x1_0000_0040;
        assert_eq!(at(far + 6, 800), address(0, 6));
        assert_eq!(at(far + 900, 100), address(0, 900));
        assert_eq!(at(16, 16), address(1, 16));
        let windows = [window(3, far, far + 1000), window(3, 0, 32)];
        assert_eq!(table.windows[Capture as usize], windows);
    }

    #[test]
    fn limits_are_named() {
        let mut table = table();
        let mut at = |purpose, b, offset, size| {
            let table =
                table.address(&limits(), purpose, "vertex buffer 7", buffer(b), offset, size);
            table.map_err(|error| error.to_string())
        };
        let too_large = |size: u64| {
            let what = "the size of vertex buffer 7 in bytes";
            Err(format!("{what} is {size}: maxStorageBufferRange is 1024"))
        };
        assert_eq!(at(Read, 3, 0, 1025), too_large(1025));
        assert_eq!(at(Read, 3, u64::MAX - 2, 1), too_large(1));
        assert_eq!(at(Read, 3, 8, u64::MAX), too_large(u64::MAX));
        // 1024 bytes, and 8 more to the alignment before them.
        assert_eq!(at(Read, 3, 2056, 1024), too_large(1024));
        assert_eq!(at(State, 3, 0, 4), Ok(address(1, 0)));
        assert_eq!(
            at(State, 4, 0, 4),
            Err("vertex buffer 7 has no place among the descriptors of a capture: 2 of the 8 are for \
                 what is used like it (RequiredFeatures::storage_buffers, within \
                 maxPerStageDescriptorStorageBuffers)"
                .to_owned())
        );
        // Something bound that holds nothing is told from nothing.
        assert_ne!(at(State, 4, 0, 0), Ok(0));
    }
}
