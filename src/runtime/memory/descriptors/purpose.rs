//! The purposes of buffers under the descriptor plan, and the descriptors and addresses of each purpose.

use crate::runtime::device::table_limits::TableLimits;

/// How a recording uses a buffer. This decides which array elements of a descriptor set are for the buffer's windows
/// (the ranges that descriptors cover).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// Buffers that shaders only read: vertices, indices, arguments of draws.
    Read,
    /// Buffers that kernels and fused captures read and write: counters, queries, and the scratch memory, which
    /// captures read, too.
    State,
    /// Buffers that captures write.
    Capture,
}

impl Purpose {
    pub(in crate::runtime::memory) const ALL: [Self; 3] = [Self::Read, Self::State, Self::Capture];
}

impl TableLimits {
    /// The number of descriptors for the windows of a purpose. For `Read` and for `State`, the first of these is for
    /// the memory of the arena.
    pub(in crate::runtime::memory) const fn count(&self, purpose: Purpose) -> u32 {
        match purpose {
            Purpose::Read => self.reads - self.writes,
            Purpose::State | Purpose::Capture => self.writes,
        }
    }

    /// The largest number of windows for the buffer ranges of a recording that have this purpose. For `Read` and for
    /// `State` it is one less than the number of descriptors, because the first window is for the arena.
    pub(in crate::runtime::memory) const fn most_ranges(&self, purpose: Purpose) -> usize {
        match purpose {
            Purpose::Read | Purpose::State => self.count(purpose) as usize - 1,
            Purpose::Capture => self.count(purpose) as usize,
        }
    }

    /// The first array element for a purpose in the binding that contains the windows of this purpose.
    pub(in crate::runtime::memory) const fn first(&self, purpose: Purpose) -> u32 {
        match purpose {
            Purpose::Read => self.writes,
            Purpose::State | Purpose::Capture => 0,
        }
    }

    /// The address of the first byte of the first window (a range of a buffer that one descriptor covers) for buffers
    /// that are used as `purpose` says: only read, kept as state, or captured to.
    pub(crate) const fn first_address(&self, purpose: Purpose) -> u64 {
        address(self.first(purpose), 0)
    }

    pub(in crate::runtime::memory) const fn bindings(&self) -> [u32; 2] {
        [self.reads, self.writes]
    }
}

/// The address of the byte at `offset` in the window at the index `window`.
pub(in crate::runtime::memory) const fn address(window: u32, offset: u64) -> u64 {
    (window as u64 + 1) << 32 | offset
}
