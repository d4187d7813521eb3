//! The state of each command buffer. It is found as vkxfb's layer finds its own: by a table of those that were used
//! last, and only then by one of all.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use ash::vk;
use ash::vk::Handle;
use rustc_hash::FxHashMap;

use super::Device;

/// The largest numbers of what can be bound, on the devices of today: vertex buffers and sets, dynamic offsets, and bytes
/// of push constants.
const BINDINGS: usize = 32;
const OFFSETS: usize = 64;
const CONSTANTS: usize = 256;

/// What is bound at a bind point.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    pub(super) pipeline: vk::Pipeline,
    pub(super) layout: vk::PipelineLayout,
    pub(super) sets: [vk::DescriptorSet; BINDINGS],
    pub(super) dynamic_offsets: [u32; OFFSETS],
}

impl Bound {
    const NONE: Self = Self {
        pipeline: vk::Pipeline::null(),
        layout: vk::PipelineLayout::null(),
        sets: [vk::DescriptorSet::null(); BINDINGS],
        dynamic_offsets: [0; OFFSETS],
    };
}

/// What a captured draw of a command buffer would read.
pub(super) struct CommandBufferState {
    device: Arc<Device>,
    /// For graphics and compute.
    bound: [Bound; 2],
    pub(super) vertex_buffers: [(vk::Buffer, vk::DeviceSize); BINDINGS],
    pub(super) constants: [u8; CONSTANTS],
    /// The arguments of the last push, without its bytes.
    pub(super) pushed: (vk::PipelineLayout, vk::ShaderStageFlags, u32, u32),
}

impl CommandBufferState {
    fn new(device: &Arc<Device>) -> Self {
        Self {
            device: Arc::clone(device),
            bound: [Bound::NONE; 2],
            vertex_buffers: [(vk::Buffer::null(), 0); BINDINGS],
            constants: [0; CONSTANTS],
            pushed: Default::default(),
        }
    }

    /// Returns the functions of the layer or driver below.
    pub(super) fn functions(&self) -> &ash::DeviceFnV1_0 {
        self.device.functions.fp_v1_0()
    }

    /// Returns what is bound at a bind point. Those of extensions are not copied.
    pub(super) fn bound(&mut self, point: vk::PipelineBindPoint) -> Option<&mut Bound> {
        self.bound.get_mut(point.as_raw() as usize)
    }

    /// Forgets what an earlier recording bound.
    pub(super) fn reset(&mut self) {
        *self = Self::new(&Arc::clone(&self.device));
    }
}

/// A command buffer and its state. The memory is never freed, since another thread may compare its handle while the command
/// buffer is freed.
struct Slot {
    /// 0 once the command buffer is freed.
    handle: AtomicU64,
    state: UnsafeCell<Option<CommandBufferState>>,
}

// SAFETY: the application synchronizes what accesses a command buffer, and what allocates and frees it.
unsafe impl Sync for Slot {}

static ALL: LazyLock<Mutex<FxHashMap<u64, &'static Slot>>> = LazyLock::new(Mutex::default);

const HASH_BITS: u32 = 9;

/// For each hash of a handle: the command buffer that was looked up last.
static RECENT: [AtomicPtr<Slot>; 1 << HASH_BITS] =
    [const { AtomicPtr::new(std::ptr::from_ref(&NONE).cast_mut()) }; 1 << HASH_BITS];

static NONE: Slot = Slot { handle: AtomicU64::new(0), state: UnsafeCell::new(None) };

/// Handles are addresses, whose low bits are equal.
fn recent(handle: vk::CommandBuffer) -> &'static AtomicPtr<Slot> {
    let hash = handle.as_raw().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - HASH_BITS);
    &RECENT[hash as usize]
}

/// Finds the state of a command buffer, if it is the one with its hash that was [searched](search) for last.
///
/// # Safety
/// The application synchronizes access to the command buffer, which is not freed during `'a`.
#[inline]
pub(super) unsafe fn find<'a>(handle: vk::CommandBuffer) -> Option<&'a mut CommandBufferState> {
    // SAFETY: slots are never freed; the rest is the caller's contract.
    unsafe {
        let slot = &*recent(handle).load(Ordering::Acquire);
        let is_it = slot.handle.load(Ordering::Relaxed) == handle.as_raw();
        is_it.then(|| (*slot.state.get()).as_mut()).flatten()
    }
}

/// Searches for a command buffer among all, so that [`find`] finds it. Returns whether there is one.
pub(super) fn search(handle: vk::CommandBuffer) -> bool {
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let slot = all.get(&handle.as_raw());
    if let Some(slot) = slot {
        recent(handle).store(std::ptr::from_ref(*slot).cast_mut(), Ordering::Release);
    }
    slot.is_some()
}

/// Adds the state of command buffers that were allocated.
pub(super) fn allocated(device: &Arc<Device>, handles: &[vk::CommandBuffer]) {
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    for handle in handles {
        let slot = Slot {
            handle: AtomicU64::new(handle.as_raw()),
            state: UnsafeCell::new(Some(CommandBufferState::new(device))),
        };
        let before = all.insert(handle.as_raw(), Box::leak(Box::new(slot)));
        before.into_iter().for_each(Slot::free);
    }
}

/// Removes the state of command buffers that are about to be freed.
pub(super) fn freed(handles: &[vk::CommandBuffer]) {
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    for handle in handles {
        all.remove(&handle.as_raw()).into_iter().for_each(Slot::free);
    }
}

impl Slot {
    fn free(&self) {
        self.handle.store(0, Ordering::Release);
        // SAFETY: no command is recorded into a command buffer that is being freed.
        drop(unsafe { (*self.state.get()).take() });
    }
}
