//! Memory for those data of a recording that do not fit into push constants.
//!
//! An arena is created before recording. Recordings take memory from front to back and return none of it: a command
//! buffer may be executed many times, so the memory must stay valid until the command buffer is reset. The application
//! then calls [`Arena::reset`].
//!
//! An arena has two parts. The host writes *upload* memory during recording, and the device reads it. The device writes
//! to it only in fused captures: the workgroups of a fused capture count there how many of them have arrived, and the
//! last workgroup resets that number. Only the device writes and reads *scratch* memory, each time that the command
//! buffer is executed. Under the descriptor plan the arena also has descriptor sets. Each part is a list of blocks,
//! which are buffers. A [recording](crate::runtime::Capture::play) reserves all the memory that it needs before it
//! records the first command, from one block of each part. If no block has enough room, a [growing](Arena::growing)
//! arena allocates a new one.

mod part;
mod ring;

use std::fmt;

use ash::vk;

use crate::runtime::device::context::Context;
use crate::runtime::device::context::{ContextId, Made};
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::host_memory::TryPush;
use crate::runtime::memory::buffers::MemoryAllocator;
use crate::runtime::memory::descriptors::sets::Sets;
use crate::runtime::memory::descriptors::windows::Window;
use crate::runtime::memory::destroy::DestroyObject;

pub(crate) use self::part::{ArenaPart, Suballocation, aligned};
use self::part::{Level, PartKind};
pub use self::ring::ArenaRing;

/// The number of descriptor sets that a growing arena allocates when all its sets are taken.
const SETS_GROWTH: u32 = 16;

/// The size of an [`Arena`]. An [`ArenaDesc`](crate::runtime::ArenaDesc) adds up what recordings need.
///
/// Under the descriptor plan, a capture takes one descriptor set, and one more if it needs kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArenaSize {
    /// The number of bytes of host-visible memory.
    pub upload: u64,
    /// The number of bytes of device memory.
    pub scratch: u64,
    /// The number of descriptor sets. It is ignored if the device uses addresses instead of descriptors.
    pub descriptor_sets: u32,
}

/// Two bump allocators (upload and scratch) over buffers that shaders access, and the descriptor
/// sets for these buffers.
#[derive(Debug)]
pub struct Arena {
    upload: ArenaPart,
    scratch: ArenaPart,
    /// Pools of descriptor sets. The list is empty if the device uses addresses.
    sets: Vec<Sets>,
    /// Scratch memory that the captures in one command buffer use one after the other. `None` if no recording has taken
    /// such memory since the last reset.
    reused: Option<Reused>,
    context: ContextId,
}

/// An [`Arena`], and optionally the allocator with which it may grow.
///
/// `&mut Arena` converts to an access without an allocator; [`Arena::growing`] returns an access with an allocator.
/// `&mut ArenaAccess` converts to another access, so the same access can be used for several recordings.
pub struct ArenaAccess<'a> {
    arena: &'a mut Arena,
    allocator: Option<&'a mut (dyn MemoryAllocator + Send + Sync + 'a)>,
}

/// Scratch memory that captures in the command buffer `cmd` use one after the other.
#[derive(Debug, Clone, Copy)]
struct Reused {
    cmd: vk::CommandBuffer,
    place: Suballocation,
    size: u64,
}

/// How much of an arena was taken at some time. [`ArenaAccess::rewind`] returns to the arena all memory and descriptor
/// sets that were taken after that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    reused: Option<Reused>,
    upload: Level,
    scratch: Level,
    sets: u32,
}

impl Made for Arena {
    fn is_of(&self, context: &Context) -> bool {
        self.context == context.id()
    }
}

impl Arena {
    /// Allocates an arena. Its size is an [`ArenaSize`], or what an [`ArenaDesc`](crate::runtime::ArenaDesc) adds up.
    ///
    /// # Errors
    /// The error of a failed command or allocation; [`RuntimeError::WrongMemory`] if the upload memory is not
    /// host-visible and coherent (every device has such memory); [`RuntimeError::Limit`] if `upload` or `scratch`
    /// exceeds the range that one descriptor can cover.
    ///
    /// # Safety
    /// The device of `ctx` is live, and `allocator` belongs to that device and was created as its implementation
    /// requires.
    pub unsafe fn new(
        ctx: &Context,
        allocator: &mut dyn MemoryAllocator,
        size: impl Into<ArenaSize>,
    ) -> Result<Self, RuntimeError> {
        let size = size.into();
        let upload = unsafe { ArenaPart::new(ctx, allocator, PartKind::Upload, size.upload) }?;
        let scratch = unsafe { ArenaPart::new(ctx, allocator, PartKind::Scratch, size.scratch) };
        let scratch = match scratch {
            Ok(scratch) => scratch,
            Err(error) => {
                // SAFETY: the part was just made, and nothing uses it.
                unsafe { upload.destroy(ctx, allocator) };
                return Err(error);
            }
        };
        let context = ctx.id();
        let mut this = Self { upload, scratch, sets: Vec::new(), reused: None, context };
        match unsafe { this.add_sets(ctx, size.descriptor_sets) } {
            Ok(()) => Ok(this),
            Err(error) => {
                // SAFETY: the arena was just made, and nothing uses it.
                unsafe { ctx.destroy(this, allocator) };
                Err(error)
            }
        }
    }

    /// Lets the arena grow: if a recording needs more memory or descriptor sets than the arena has, the arena allocates
    /// more. Memory comes from `allocator`. The arena keeps the additional memory and sets until the arena is
    /// [destroyed](Context::destroy).
    ///
    /// # Safety
    /// The allocator was created for the arena's device, and the safety requirements of its constructor are met. The
    /// same allocator is passed to [`Context::destroy`].
    pub unsafe fn growing<'a>(
        &'a mut self,
        allocator: &'a mut (dyn MemoryAllocator + Send + Sync + 'a),
    ) -> ArenaAccess<'a> {
        ArenaAccess { arena: self, allocator: Some(allocator) }
    }

    /// The total capacity, including what the arena has grown by.
    pub fn capacity(&self) -> ArenaSize {
        ArenaSize {
            upload: self.upload.capacity(),
            scratch: self.scratch.capacity(),
            descriptor_sets: self.sets.iter().map(Sets::capacity).sum(),
        }
    }

    /// How much of the capacity is taken.
    pub fn used(&self) -> ArenaSize {
        ArenaSize {
            upload: self.upload.used(),
            scratch: self.scratch.used(),
            descriptor_sets: self.sets.iter().map(|sets| sets.used).sum(),
        }
    }

    /// # Safety
    /// The device of `ctx` is live.
    unsafe fn add_sets(&mut self, ctx: &Context, count: u32) -> Result<(), RuntimeError> {
        if let Some(limits) = ctx.table() {
            self.sets.try_room(1)?;
            self.sets.push(unsafe { Sets::new(ctx, limits, count) }?);
        }
        Ok(())
    }

    /// Returns all memory and descriptor sets to the arena.
    ///
    /// # Safety
    /// Every command buffer that was recorded with the arena has been reset or freed. A
    /// [`Capture`](crate::runtime::Capture) of which an error left draws recorded with the arena is not played any more.
    pub unsafe fn reset(&mut self) {
        self.upload.was_reset = true;
        self.scratch.was_reset = true;
        let (upload, scratch) = (Level::default(), Level::default());
        self.rewind(Mark { reused: None, upload, scratch, sets: 0 });
    }

    /// The memory in the current block of scratch memory that an earlier recording into `cmd` took with `take_reused`.
    /// `None` if there is no such memory, if it is in another block, or if it has fewer than `size` bytes. Only the
    /// memory that `take_reused` returned last is considered.
    fn reused(&self, cmd: vk::CommandBuffer, size: u64) -> Option<Suballocation> {
        let block = self.scratch.window().buffer;
        let fits = |reused: &Reused| {
            reused.cmd == cmd && reused.size >= size && reused.place.buffer == block
        };
        self.reused.filter(fits).map(|reused| reused.place)
    }

    fn rewind(&mut self, mark: Mark) {
        self.reused = mark.reused;
        self.upload.rewind(mark.upload);
        self.scratch.rewind(mark.scratch);
        let mut left = mark.sets;
        for sets in &mut self.sets {
            sets.used = left.min(sets.capacity());
            left -= sets.used;
        }
    }
}

impl<A: MemoryAllocator + ?Sized> DestroyObject<A> for Arena {
    unsafe fn destroy(self, ctx: &Context, allocator: &mut A) {
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

impl<'a> From<&'a mut ArenaAccess<'_>> for ArenaAccess<'a> {
    fn from(access: &'a mut ArenaAccess<'_>) -> Self {
        let ArenaAccess { arena, allocator } = access;
        let allocator = allocator
            .as_mut()
            .map(|allocator| &mut **allocator as &mut (dyn MemoryAllocator + Send + Sync));
        Self { arena, allocator }
    }
}

impl ArenaAccess<'_> {
    /// How much of the arena is taken now, for [`rewind`](Self::rewind).
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            upload: self.arena.upload.level(),
            scratch: self.arena.scratch.level(),
            sets: self.arena.used().descriptor_sets,
            reused: self.arena.reused,
        }
    }

    /// Returns to the arena all memory and descriptor sets that were taken after `mark` was read. No recorded command
    /// may use them.
    pub(crate) fn rewind(&mut self, mark: Mark) {
        self.arena.rewind(mark);
    }

    /// Ensures that `upload` and `scratch` bytes can be taken from one block of each part. Both sizes are sums of
    /// [`aligned`] sizes.
    ///
    /// # Errors
    /// [`RuntimeError::ArenaFull`]; [`RuntimeError::NoAddress`] if the arena has no device address;
    /// [`RuntimeError::Limit`] if a size exceeds the range that one descriptor can cover; the error of a failed command
    /// or allocation.
    ///
    /// # Safety
    /// The arena was made with `ctx` or a clone of it, and the device of `ctx` is live.
    pub(crate) unsafe fn reserve(
        &mut self,
        ctx: &Context,
        upload: u64,
        scratch: u64,
    ) -> Result<(), RuntimeError> {
        let Self { arena, allocator } = self;
        // SAFETY: the caller's contract, and the contract of `growing`, which returned the allocator.
        unsafe {
            arena.upload.reserve(ctx, allocator.as_deref_mut(), upload)?;
            arena.scratch.reserve(ctx, allocator.as_deref_mut(), scratch)
        }
    }

    pub(crate) fn upload(&mut self) -> &mut ArenaPart {
        &mut self.arena.upload
    }

    pub(crate) fn scratch(&mut self) -> &mut ArenaPart {
        &mut self.arena.scratch
    }

    /// Returns the number of bytes of scratch memory that have to be reserved for a recording that takes `scratch`
    /// bytes in all. `reused` bytes of these are taken with [`take_reused`](Self::take_reused): they need no
    /// reservation if an earlier recording into `cmd` took enough.
    pub(crate) fn without_reused(&self, cmd: vk::CommandBuffer, scratch: u64, reused: u64) -> u64 {
        // Reused memory must be in the same block as the other scratch memory of the recording.
        let others = scratch.saturating_sub(aligned(reused));
        match self.arena.reused(cmd, reused) {
            Some(_) if others <= self.arena.scratch.left() => others,
            _ => scratch,
        }
    }

    /// Takes scratch memory that later recordings into `cmd` may take again. It is in the same block as the other
    /// scratch memory of the recording. Each recording has to order its accesses to this memory after the accesses of
    /// earlier recordings.
    ///
    /// # Errors
    /// [`RuntimeError::ArenaFull`] if the memory was not reserved and does not fit.
    pub(crate) fn take_reused(
        &mut self,
        cmd: vk::CommandBuffer,
        size: u64,
    ) -> Result<Suballocation, RuntimeError> {
        if let Some(place) = self.arena.reused(cmd, size) {
            return Ok(place);
        }
        let place = self.arena.scratch.take(size)?;
        self.arena.reused = Some(Reused { cmd, place, size });
        Ok(place)
    }

    /// The current block of upload memory and the current block of scratch memory, each as a range of its buffer.
    pub(crate) fn windows(&self) -> [Window; 2] {
        [self.arena.upload.window(), self.arena.scratch.window()]
    }

    /// The address of the first byte of the current block of upload memory.
    pub(crate) fn upload_address(&self) -> u64 {
        self.arena.upload.block_address()
    }

    /// Takes an unused descriptor set. If there is none, a growing arena allocates more.
    ///
    /// # Errors
    /// [`RuntimeError::NoDescriptorSet`], or the error of a failed command.
    ///
    /// # Safety
    /// The requirements of [`reserve`](Self::reserve) apply.
    pub(crate) unsafe fn take_set(
        &mut self,
        ctx: &Context,
    ) -> Result<vk::DescriptorSet, RuntimeError> {
        let Self { arena, allocator } = self;
        let mut set = arena.sets.iter_mut().find_map(Sets::take);
        if set.is_none() && allocator.is_some() {
            unsafe { arena.add_sets(ctx, SETS_GROWTH) }?;
            set = arena.sets.last_mut().and_then(Sets::take);
        }
        let capacity = arena.capacity().descriptor_sets;
        set.ok_or(RuntimeError::NoDescriptorSet { capacity })
    }
}
