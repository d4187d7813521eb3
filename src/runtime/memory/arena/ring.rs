//! Arenas for frames in flight.

use crate::runtime::device::context::Context;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::memory::arena::{Arena, ArenaSize};
use crate::runtime::memory::buffers::MemoryAllocator;
use crate::runtime::memory::destroy::DestroyObject;

/// An [`Arena`] for each frame in flight: while the device executes earlier frames, the next frame
/// is recorded with another arena.
///
/// ```no_run
/// # use ash::vk;
/// # use vkxfb::runtime::{ArenaRing, Capture, CaptureDesc, Draw, Recorder, RuntimeError};
/// # use vkxfb::topology::PrimitiveTopology;
/// # unsafe fn frame(
/// #     device: &ash::Device, ring: &mut ArenaRing, capture: &mut Capture, cmd: vk::CommandBuffer,
/// #     fence: vk::Fence, desc: &CaptureDesc<'_>,
/// # ) -> Result<(), RuntimeError> { unsafe {
/// // Wait for the last submission that used `cmd` and the next arena of the ring.
/// device.wait_for_fences(&[fence], true, u64::MAX).map_err(|result| {
///     RuntimeError::Vulkan { call: "vkWaitForFences", result }
/// })?;
/// let mut recorder = Recorder::begin(capture, ring.next_frame(), cmd, desc)?;
/// recorder.draw(PrimitiveTopology::TriangleList, &Draw::new(3))?;
/// recorder.end(&[])?;
/// # Ok(())
/// # } }
/// ```
#[derive(Debug)]
pub struct ArenaRing {
    /// The arenas, one for each frame in flight, at least one.
    arenas: Vec<Arena>,
    /// The index in `arenas` of the arena that `next_frame` returned last.
    current: usize,
}

impl ArenaRing {
    /// Creates `frames` arenas, each of this [size](Arena::new). A `frames` of 0 counts as 1.
    ///
    /// # Errors
    /// The errors of [`Arena::new`].
    ///
    /// # Safety
    /// The requirements of [`Arena::new`] apply.
    pub unsafe fn new(
        ctx: &Context,
        allocator: &mut dyn MemoryAllocator,
        size: impl Into<ArenaSize>,
        frames: usize,
    ) -> Result<Self, RuntimeError> {
        let size = size.into();
        let mut this = Self { arenas: Vec::new(), current: 0 };
        for _ in 0..frames.max(1) {
            match unsafe { Arena::new(ctx, allocator, size) } {
                Ok(arena) => this.arenas.push(arena),
                Err(error) => {
                    // SAFETY: nothing was recorded with the arenas.
                    unsafe { ctx.destroy(this, allocator) };
                    return Err(error);
                }
            }
        }
        Ok(this)
    }

    /// Moves to the next frame: [resets](Arena::reset) the least recently used arena and returns
    /// it.
    ///
    /// # Safety
    /// The requirements of [`Arena::reset`] apply to everything that was recorded with the returned arena, which is the
    /// arena that this function returned as many calls ago as the ring has frames.
    pub unsafe fn next_frame(&mut self) -> &mut Arena {
        self.current = (self.current + 1) % self.arenas.len();
        let arena = &mut self.arenas[self.current];
        unsafe { arena.reset() };
        arena
    }

    /// The arena of the current frame, which the last call of [`next_frame`](Self::next_frame)
    /// returned.
    pub fn current(&mut self) -> &mut Arena {
        &mut self.arenas[self.current]
    }
}

impl<A: MemoryAllocator + ?Sized> DestroyObject<A> for ArenaRing {
    unsafe fn destroy(self, ctx: &Context, allocator: &mut A) {
        unsafe { ctx.destroy(self.arenas, allocator) };
    }
}
