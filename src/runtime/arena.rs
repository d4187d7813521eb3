//! Memory that recording takes from: what a capture needs beyond push constants.
//!
//! An arena is made ahead of recording. Recording takes from it front to back and never gives back; a
//! command buffer may be executed many times, so what it was recorded with stays until the command
//! buffer itself is reset. Then the application calls [`Arena::reset`].
//!
//! It has two parts: *upload* is written by the host while recording and read by the device; *scratch*
//! is written and read by the device alone, afresh at each execution. Where descriptors take the place of
//! device addresses, it has descriptor sets besides. Each part is a list of blocks. A [recording](super::Capture::play)
//! asks for all that it needs at once, before there is any command of it, and gets it from one block of each part;
//! where no block has it, an arena that is [growing](Arena::growing) gets another one.

mod part;
mod ring;

use std::fmt;

use super::context::ContextId;
use super::descriptors::{Sets, Window};
use super::{Context, MemoryAllocator, Pipeline, RuntimeError};

use self::part::{Kind, Level};
pub(super) use self::part::{Part, Suballocation, aligned};
pub use self::ring::ArenaRing;

/// Alignment of everything in an arena, in bytes: that of a `vec4`.
const ALIGNMENT: u64 = 16;

/// Descriptor sets that an arena grows by.
const SETS_GROWTH: u32 = 16;

/// How much an arena holds.
///
/// What is too little is no error where the arena may [grow](Arena::growing).
///
/// A capture takes 16 bytes of upload for each vertex attribute beyond
/// [`INLINE_ATTRIBUTES`](crate::sysval::INLINE_ATTRIBUTES), and the bytes of push constants that the shader reads,
/// again whenever a pipeline, vertex buffers or constants change between its draws, and for each draw that shares a
/// dispatch with others [`UPLOAD_PER_DRAW`](Self::UPLOAD_PER_DRAW). Counters, indirect arguments, conditional
/// rendering, primitive restart and queries take [`UPLOAD_PER_SETUP`](Self::UPLOAD_PER_SETUP) and
/// [`SCRATCH_PER_SETUP`](Self::SCRATCH_PER_SETUP) a capture, and
/// [`SCRATCH_PER_DRAW`](Self::SCRATCH_PER_DRAW) a draw; primitive restart besides
/// [`restart_scratch`](Self::restart_scratch). The end of a query counts as a draw, a flush as a
/// capture, and each draw of a multi-draw for itself.
///
/// An indirect draw counts as one draw for upload, however many it may be. For scratch it counts as many as it may be
/// (`draw_count`), but all draws of a capture together as no more than records fit in the smallest of its buffers, and
/// one more for each of its dispatches.
///
/// Where descriptors take the place of device addresses, a capture takes one descriptor set, and one more
/// for kernels; two again for each [`flush`](super::Recorder::flush), unless the draws reach the same as
/// those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArenaDesc {
    /// Bytes of host-visible memory.
    pub upload: u64,
    /// Bytes of device memory.
    pub scratch: u64,
    /// Descriptor sets. None are made where there are device addresses.
    pub descriptor_sets: u32,
}

impl ArenaDesc {
    /// Upload of a draw, at most.
    pub const UPLOAD_PER_DRAW: u64 = 176;
    /// Scratch of a draw, at most.
    pub const SCRATCH_PER_DRAW: u64 = 144;
    /// Upload of a capture, at most.
    pub const UPLOAD_PER_SETUP: u64 = 512;
    /// Scratch of a capture, at most.
    pub const SCRATCH_PER_SETUP: u64 = 64;

    /// Scratch for the restarts of a draw whose `index_count` indices lie in the bound range. Indirect draws take all
    /// indices of the range, once in a capture or between two flushes for those that find the same range, index type
    /// and restart index bound and have one topology.
    pub const fn restart_scratch(index_count: u64) -> u64 {
        use crate::sysval::setup::{restart_blocks, restart_table_size};
        restart_table_size(restart_blocks(index_count))
    }

    /// An arena for captures of so many draws in all, of shaders that have no more attributes than
    /// [`INLINE_ATTRIBUTES`](crate::sysval::INLINE_ATTRIBUTES) and read no push constants, without primitive restart:
    /// [`with_pipeline`](Self::with_pipeline) adds what others need. Saturates.
    pub const fn for_draws(captures: u64, draws: u64) -> Self {
        const fn size(captures: u64, per_setup: u64, draws: u64, per_draw: u64) -> u64 {
            captures.saturating_mul(per_setup).saturating_add(draws.saturating_mul(per_draw))
        }
        let sets = captures.saturating_mul(2);
        Self {
            upload: size(captures, Self::UPLOAD_PER_SETUP, draws, Self::UPLOAD_PER_DRAW),
            scratch: size(captures, Self::SCRATCH_PER_SETUP, draws, Self::SCRATCH_PER_DRAW),
            descriptor_sets: if sets > u32::MAX as u64 { u32::MAX } else { sets as u32 },
        }
    }
}

impl ArenaDesc {
    /// Adds what the attributes and push constants of a pipeline take each time that they are bound: once for each
    /// capture with it, and once more whenever pipeline, vertex buffers or push constants change between its draws.
    pub fn with_pipeline(mut self, pipeline: &Pipeline, times: u64) -> Self {
        let constants = pipeline.push_constants();
        let constants = aligned(u64::from(constants.end.saturating_sub(constants.start)));
        let bytes = aligned(pipeline.attribute_bytes()).saturating_add(constants);
        self.upload = self.upload.saturating_add(bytes.saturating_mul(times));
        self
    }
}

// What a draw by the setup kernel takes at most: its input, its group and the range of its restarts; and what it becomes,
// in a group of its own.
const _: () = {
    use crate::sysval::setup::{BATCH_SIZE, Input, RestartRange, RestartedDraw};
    let upload = size_of::<Input>() + size_of::<u32>() + size_of::<RestartRange>();
    assert!(upload as u64 <= ArenaDesc::UPLOAD_PER_DRAW);
    assert!(size_of::<RestartedDraw>() as u64 + BATCH_SIZE <= ArenaDesc::SCRATCH_PER_DRAW);
};

/// Two bump allocators in buffers that shaders reach, and the descriptor sets by which they do.
#[derive(Debug)]
pub struct Arena {
    upload: Part,
    scratch: Part,
    /// Pools of sets. None where there are device addresses.
    sets: Vec<Sets>,
    context: ContextId,
}

/// An [`Arena`], and what it may grow by.
///
/// `&mut Arena` becomes one that does not grow; [`Arena::growing`] makes one that does.
pub struct ArenaAccess<'a> {
    arena: &'a mut Arena,
    allocator: Option<&'a mut (dyn MemoryAllocator + Send + Sync + 'a)>,
}

/// What is taken of an arena.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    upload: Level,
    scratch: Level,
    sets: u32,
}

impl Arena {
    /// Makes an arena.
    ///
    /// # Errors
    /// A failed command or allocation; [`RuntimeError::WrongMemory`] where the upload memory is not
    /// mapped and coherent, which every device has; [`RuntimeError::Limit`] for parts that no descriptor
    /// can hold.
    ///
    /// # Safety
    /// The device of `ctx` is live and is the allocator's, which was made as its implementation asks.
    pub unsafe fn new(
        ctx: &Context,
        allocator: &mut dyn MemoryAllocator,
        desc: &ArenaDesc,
    ) -> Result<Self, RuntimeError> {
        // SAFETY: the caller's contract.
        let upload = unsafe { Part::new(ctx, allocator, Kind::Upload, desc.upload) }?;
        // SAFETY: as above.
        let scratch = unsafe { Part::new(ctx, allocator, Kind::Scratch, desc.scratch) };
        let scratch = match scratch {
            Ok(scratch) => scratch,
            Err(error) => {
                // SAFETY: it was just made, and nothing uses it.
                unsafe { upload.destroy(ctx, allocator) };
                return Err(error);
            }
        };
        let mut this = Self { upload, scratch, sets: Vec::new(), context: ctx.id() };
        // SAFETY: as above.
        match unsafe { this.add_sets(ctx, desc.descriptor_sets) } {
            Ok(()) => Ok(this),
            Err(error) => {
                // SAFETY: as above.
                unsafe { this.destroy(ctx, allocator) };
                Err(error)
            }
        }
    }

    /// The arena, which grows by memory of `allocator` where a recording needs more than it has. What it grew by stays
    /// until it is [destroyed](Self::destroy).
    ///
    /// # Safety
    /// The allocator is of the device that the arena was made for, was made as its implementation asks, and is the
    /// one that the arena is destroyed with.
    pub unsafe fn growing<'a>(
        &'a mut self,
        allocator: &'a mut (dyn MemoryAllocator + Send + Sync + 'a),
    ) -> ArenaAccess<'a> {
        ArenaAccess { arena: self, allocator: Some(allocator) }
    }

    /// The context that it was made with.
    pub(crate) const fn context(&self) -> ContextId {
        self.context
    }

    /// What there is in all.
    pub fn capacity(&self) -> ArenaDesc {
        ArenaDesc {
            upload: self.upload.capacity(),
            scratch: self.scratch.capacity(),
            descriptor_sets: self.sets.iter().map(Sets::capacity).sum(),
        }
    }

    /// What is taken of it.
    pub fn used(&self) -> ArenaDesc {
        ArenaDesc {
            upload: self.upload.used(),
            scratch: self.scratch.used(),
            descriptor_sets: self.sets.iter().map(|sets| sets.used).sum(),
        }
    }

    /// # Safety
    /// The device of `ctx` is live.
    unsafe fn add_sets(&mut self, ctx: &Context, count: u32) -> Result<(), RuntimeError> {
        if let Some(limits) = ctx.table() {
            // SAFETY: the caller's contract.
            self.sets.push(unsafe { Sets::new(ctx, limits, count) }?);
        }
        Ok(())
    }

    /// Takes everything back.
    ///
    /// # Safety
    /// Every command buffer that was recorded with the arena has been reset or freed, and no
    /// [`Capture`](super::Capture) is played any more of which draws were flushed with it.
    pub unsafe fn reset(&mut self) {
        self.upload.was_reset = true;
        self.scratch.was_reset = true;
        self.rewind(Mark { upload: Level::default(), scratch: Level::default(), sets: 0 });
    }

    fn mark(&self) -> Mark {
        Mark {
            upload: self.upload.level(),
            scratch: self.scratch.level(),
            sets: self.used().descriptor_sets,
        }
    }

    fn rewind(&mut self, mark: Mark) {
        self.upload.rewind(mark.upload);
        self.scratch.rewind(mark.scratch);
        let mut left = mark.sets;
        for sets in &mut self.sets {
            sets.used = left.min(sets.capacity());
            left -= sets.used;
        }
    }

    /// Destroys the arena.
    ///
    /// # Safety
    /// No command buffer that was recorded with the arena is executed any more, nor a
    /// [`Capture`](super::Capture) played of which draws were flushed with it; `ctx` and `allocator` are those that
    /// it was made with.
    pub unsafe fn destroy(self, ctx: &Context, allocator: &mut dyn MemoryAllocator) {
        // SAFETY: the caller's contract.
        unsafe {
            self.upload.destroy(ctx, allocator);
            self.scratch.destroy(ctx, allocator);
            for sets in self.sets {
                sets.destroy(ctx);
            }
        }
    }
}

impl fmt::Debug for ArenaAccess<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("ArenaAccess");
        text.field("arena", &self.arena).field("grows", &self.allocator.is_some()).finish()
    }
}

impl<'a> From<&'a mut Arena> for ArenaAccess<'a> {
    fn from(arena: &'a mut Arena) -> Self {
        Self { arena, allocator: None }
    }
}

impl ArenaAccess<'_> {
    /// What is taken now, for [`rewind`](Self::rewind).
    pub(super) fn mark(&self) -> Mark {
        self.arena.mark()
    }

    /// Gives back what was taken since `mark`, of which nothing was recorded.
    pub(super) fn rewind(&mut self, mark: Mark) {
        self.arena.rewind(mark);
    }

    /// Sees to it that so much can be taken, of one block of each part: bytes as [`aligned`] counts them.
    ///
    /// # Errors
    /// [`RuntimeError::ArenaFull`]; [`RuntimeError::NoAddress`] where shaders reach nothing; [`RuntimeError::Limit`]
    /// for more than a descriptor can hold; a failed command or allocation.
    ///
    /// # Safety
    /// The arena was made with `ctx` or a clone of it, whose device is live.
    pub(super) unsafe fn reserve(
        &mut self,
        ctx: &Context,
        upload: u64,
        scratch: u64,
    ) -> Result<(), RuntimeError> {
        let Self { arena, allocator } = self;
        // SAFETY: the caller's contract, and that of `growing`, which gave the allocator.
        unsafe {
            arena.upload.reserve(ctx, allocator.as_deref_mut(), upload)?;
            arena.scratch.reserve(ctx, allocator.as_deref_mut(), scratch)
        }
    }

    pub(super) fn upload(&mut self) -> &mut Part {
        &mut self.arena.upload
    }

    pub(super) fn scratch(&mut self) -> &mut Part {
        &mut self.arena.scratch
    }

    /// The blocks that upload and scratch memory are taken from.
    pub(super) fn windows(&self) -> [Window; 2] {
        [self.arena.upload.window(), self.arena.scratch.window()]
    }

    /// A descriptor set that nobody has.
    ///
    /// # Errors
    /// [`RuntimeError::NoDescriptorSet`], a failed command.
    ///
    /// # Safety
    /// As [`reserve`](Self::reserve).
    pub(super) unsafe fn take_set(
        &mut self,
        ctx: &Context,
    ) -> Result<ash::vk::DescriptorSet, RuntimeError> {
        let Self { arena, allocator } = self;
        let mut set = arena.sets.iter_mut().find_map(Sets::take);
        if set.is_none() && allocator.is_some() {
            // SAFETY: the caller's contract.
            unsafe { arena.add_sets(ctx, SETS_GROWTH) }?;
            set = arena.sets.last_mut().and_then(Sets::take);
        }
        let capacity = arena.capacity().descriptor_sets;
        set.ok_or(RuntimeError::NoDescriptorSet { capacity })
    }
}
