//! Translates pipeline barriers, and waits for events.

use super::masks::{Scope, Side};
use super::memory::Arena;
use crate::chain::slice;
use crate::registry::vk;

/// Whether a command is recorded inside or outside of a render pass; Vulkan calls this its render
/// pass scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RenderPassScope {
    /// The command is recorded outside of render passes, as captures are. So the translation adds the stages and
    /// accesses of captures to masks. It does not add them if `also_compute` is false, which is the case only in tests.
    Outside { also_compute: bool },
    /// The command is recorded inside of a render pass, where there are no captures.
    Inside,
}

/// A dependency with 32-bit masks: the arguments of `vkCmdPipelineBarrier` and `vkCmdWaitEvents`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dependency<'a> {
    pub(crate) src_stages: vk::PipelineStageFlags,
    pub(crate) dst_stages: vk::PipelineStageFlags,
    pub(crate) memory: &'a [vk::MemoryBarrier<'static>],
    pub(crate) buffers: &'a [vk::BufferMemoryBarrier<'static>],
    pub(crate) images: &'a [vk::ImageMemoryBarrier<'static>],
}

impl<'a> Dependency<'a> {
    /// Whether a barrier with this dependency is [for captures](Scope::is_for_captures), and transfers no buffer or image
    /// between queue families or layouts. Captures may stay deferred past such a barrier.
    pub(crate) fn is_for_captures(&self) -> bool {
        let of_memory = self.memory.iter().map(|barrier| barrier.dst_access_mask);
        let of_buffers = self.buffers.iter().map(|barrier| barrier.dst_access_mask);
        let access = of_memory.chain(of_buffers).fold(vk::AccessFlags::empty(), |all, of| all | of);
        Scope::new32(self.dst_stages, access).is_for_captures()
            && self
                .buffers
                .iter()
                .all(|buffer| buffer.src_queue_family_index == buffer.dst_queue_family_index)
            && self.images.is_empty()
    }

    /// Returns the dependency for the driver. `None` if a stage mask contained only transform
    /// feedback and the command is inside of a pass: then the dependency is not needed.
    pub(crate) fn translated(&self, pass_scope: RenderPassScope, arena: &'a Arena) -> Option<Self> {
        let (source, destination) = (self.src_stages, self.dst_stages);
        let of = |stages, access, side| {
            let scope = Scope::new32(stages, access);
            let scope = match pass_scope {
                RenderPassScope::Outside { also_compute } => scope.outside(side, also_compute),
                RenderPassScope::Inside => scope.inside(),
            };
            // The translation adds only bits that 32-bit masks have.
            let stages = vk::PipelineStageFlags::from_raw(scope.stages.as_raw() as u32);
            (stages, vk::AccessFlags::from_raw(scope.access.as_raw() as u32))
        };
        let src_stages = of(source, vk::AccessFlags::empty(), Side::Source).0;
        let dst_stages = of(destination, vk::AccessFlags::empty(), Side::Destination).0;
        // Inside of a pass, a barrier is dropped if a stage mask contains only the transform
        // feedback stage, because captures are not in the pass. An empty mask from the program is
        // valid with `synchronization2`, and such a barrier is kept.
        if is_emptied(source, src_stages) || is_emptied(destination, dst_stages) {
            return None;
        }
        macro_rules! map {
            ($barriers:expr) => {
                arena.map($barriers, |barrier| {
                    let mut barrier = *barrier;
                    barrier.src_access_mask = of(source, barrier.src_access_mask, Side::Source).1;
                    barrier.dst_access_mask =
                        of(destination, barrier.dst_access_mask, Side::Destination).1;
                    barrier
                })
            };
        }
        Some(Self {
            src_stages,
            dst_stages,
            memory: map!(self.memory),
            buffers: map!(self.buffers),
            images: map!(self.images),
        })
    }
}

fn is_emptied(before: vk::PipelineStageFlags, after: vk::PipelineStageFlags) -> bool {
    after.is_empty() && !before.is_empty()
}

/// A barrier structure of `synchronization2` (`VkMemoryBarrier2` and so on), which contains its
/// stage masks as well as its access masks.
pub(crate) trait Barrier2: Copy {
    fn scopes(&self) -> (Scope, Scope);
    fn with(self, source: Scope, destination: Scope) -> Self;
}

macro_rules! barrier2 {
    ($($structure:ty)*) => {$(
        impl Barrier2 for $structure {
            fn scopes(&self) -> (Scope, Scope) {
                (
                    Scope { stages: self.src_stage_mask, access: self.src_access_mask },
                    Scope { stages: self.dst_stage_mask, access: self.dst_access_mask },
                )
            }

            fn with(self, source: Scope, destination: Scope) -> Self {
                Self {
                    src_stage_mask: source.stages,
                    src_access_mask: source.access,
                    dst_stage_mask: destination.stages,
                    dst_access_mask: destination.access,
                    ..self
                }
            }
        }
    )*};
}

barrier2! {
    vk::MemoryBarrier2<'static>
    vk::BufferMemoryBarrier2<'static>
    vk::ImageMemoryBarrier2<'static>
}

/// Translates a barrier of `synchronization2`. `None` if a stage mask contained only transform
/// feedback and the command is inside of a pass: then the barrier is not needed.
pub(crate) fn barrier2<B: Barrier2>(barrier: &B, pass_scope: RenderPassScope) -> Option<B> {
    let (source, destination) = barrier.scopes();
    let is_emptied =
        |before: Scope, after: Scope| after.stages.is_empty() && !before.stages.is_empty();
    match pass_scope {
        RenderPassScope::Outside { also_compute } => Some(barrier.with(
            source.outside(Side::Source, also_compute),
            destination.outside(Side::Destination, also_compute),
        )),
        RenderPassScope::Inside => {
            let (src, dst) = (source.inside(), destination.inside());
            (!is_emptied(source, src) && !is_emptied(destination, dst))
                .then(|| barrier.with(src, dst))
        }
    }
}

/// The arrays of barriers of a `VkDependencyInfo`.
struct Arrays<'a> {
    memory: &'a [vk::MemoryBarrier2<'static>],
    buffers: &'a [vk::BufferMemoryBarrier2<'static>],
    images: &'a [vk::ImageMemoryBarrier2<'static>],
}

impl<'a> Arrays<'a> {
    /// # Safety
    /// The structure is valid.
    unsafe fn new(info: &vk::DependencyInfo<'static>) -> Self {
        unsafe {
            Self {
                memory: slice(info.p_memory_barriers, info.memory_barrier_count),
                buffers: slice(info.p_buffer_memory_barriers, info.buffer_memory_barrier_count),
                images: slice(info.p_image_memory_barriers, info.image_memory_barrier_count),
            }
        }
    }

    const fn len(&self) -> usize {
        self.memory.len() + self.buffers.len() + self.images.len()
    }
}

/// Whether a barrier is for captures, as [`Dependency::is_for_captures`] says.
///
/// # Safety
/// The structure is valid.
pub(crate) unsafe fn is_for_captures(info: &vk::DependencyInfo<'static>) -> bool {
    let all = unsafe { Arrays::new(info) };
    let waits = |scope: Scope| scope.is_for_captures();
    info.p_next.is_null()
        && all.memory.iter().all(|barrier| waits(barrier.scopes().1))
        && all.buffers.iter().all(|barrier| {
            waits(barrier.scopes().1)
                && barrier.src_queue_family_index == barrier.dst_queue_family_index
        })
        && all.images.is_empty()
}

/// Translates a `VkDependencyInfo`. `None` if it had barriers, and [`barrier2()`] drops all of them.
///
/// # Safety
/// The structure is valid, and outlives the result.
pub(crate) unsafe fn dependency_info(
    info: &vk::DependencyInfo<'static>,
    pass_scope: RenderPassScope,
    arena: &Arena,
) -> Option<vk::DependencyInfo<'static>> {
    let all = unsafe { Arrays::new(info) };
    let kept = Arrays {
        memory: arena.filter_map(all.memory, |barrier| barrier2(barrier, pass_scope)),
        buffers: arena.filter_map(all.buffers, |barrier| barrier2(barrier, pass_scope)),
        images: arena.filter_map(all.images, |barrier| barrier2(barrier, pass_scope)),
    };
    (kept.len() > 0 || all.len() == 0).then_some(vk::DependencyInfo {
        memory_barrier_count: kept.memory.len() as u32,
        p_memory_barriers: kept.memory.as_ptr(),
        buffer_memory_barrier_count: kept.buffers.len() as u32,
        p_buffer_memory_barriers: kept.buffers.as_ptr(),
        image_memory_barrier_count: kept.images.len() as u32,
        p_image_memory_barriers: kept.images.as_ptr(),
        ..*info
    })
}
