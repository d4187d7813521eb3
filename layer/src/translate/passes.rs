//! Translates render passes. If captures take part in a subpass dependency, barriers outside of the
//! pass replace it.
//!
//! Captures are dispatched before the pass that they were recorded in, or after it if nothing in the pass can
//! be ordered with them. A [subpass
//! dependency](https://docs.vulkan.org/refpages/latest/refpages/source/VkSubpassDependency.html) cannot
//! include captures, because a subpass has only graphics stages. Instead, barriers before and after the
//! captures replace the dependency. This module computes these barriers when the render pass is created. The
//! layer records them for each pass that has captures, depending on where the captures are:
//!
//! ```text
//! before; captures; after_captures; vkCmdBeginRenderPass ... vkCmdEndRenderPass; after_pass
//! vkCmdBeginRenderPass ... vkCmdEndRenderPass; before; captures; after_captures; after_pass
//! ```
//!
//! The `VK_SUBPASS_EXTERNAL` side of a dependency may contain any stages. It is translated like a
//! barrier outside of passes, so it includes the captures of earlier or later passes.

use std::sync::{PoisonError, RwLock};

use ash::vk;
use rustc_hash::FxHashMap;

use super::kind::Kind;
use super::masks::{Scope, Side};
use super::memory::Arena;
use super::neutral;
use super::views::Views;
use crate::chain::{all_of, slice};

/// A global memory barrier outside of render passes. Its masks are valid on every device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Barrier {
    pub(crate) src_stages: vk::PipelineStageFlags,
    pub(crate) src_access: vk::AccessFlags,
    pub(crate) dst_stages: vk::PipelineStageFlags,
    pub(crate) dst_access: vk::AccessFlags,
}

impl Barrier {
    /// The barrier after captures that the layer records behind barriers of the program. It does for them what these
    /// barriers would have done: they were [for captures](Scope::is_for_captures).
    pub(crate) const AFTER_DEFERRED: Self = Self {
        src_stages: vk::PipelineStageFlags::COMPUTE_SHADER,
        src_access: vk::AccessFlags::SHADER_WRITE,
        dst_stages: vk::PipelineStageFlags::from_raw(
            vk::PipelineStageFlags::COMPUTE_SHADER.as_raw()
                | vk::PipelineStageFlags::DRAW_INDIRECT.as_raw(),
        ),
        dst_access: vk::AccessFlags::from_raw(
            vk::AccessFlags::SHADER_READ.as_raw() | vk::AccessFlags::SHADER_WRITE.as_raw(),
        ),
    };

    /// Makes a barrier from two scopes. The barrier is empty if one of the scopes has no stages.
    pub(crate) fn new(source: Scope, destination: Scope) -> Self {
        if source.stages.is_empty() || destination.stages.is_empty() {
            return Self::default();
        }
        let ((src_stages, src_access), (dst_stages, dst_access)) =
            (source.to32(), destination.to32());
        Self { src_stages, src_access, dst_stages, dst_access }
    }

    /// Whether the barrier waits for nothing, so that it need not be recorded.
    pub(crate) const fn is_empty(&self) -> bool {
        self.src_stages.is_empty()
    }

    fn add(&mut self, other: Self) {
        self.src_stages |= other.src_stages;
        self.src_access |= other.src_access;
        self.dst_stages |= other.dst_stages;
        self.dst_access |= other.dst_access;
    }

    /// Records the barrier, if it is not empty. A test may omit the barriers of `kind`.
    ///
    /// # Safety
    /// The function belongs to the device of the command buffer, which is being recorded, outside
    /// of a render pass.
    pub(crate) unsafe fn record(
        &self,
        kind: Kind,
        pipeline_barrier: vk::PFN_vkCmdPipelineBarrier,
        command_buffer: vk::CommandBuffer,
    ) {
        if self.is_empty() || !kind.is_translated() {
            return;
        }
        let memory = vk::MemoryBarrier::default()
            .src_access_mask(self.src_access)
            .dst_access_mask(self.dst_access);
        let (flags, none) = (vk::DependencyFlags::empty(), std::ptr::null());
        let (src, dst) = (self.src_stages, self.dst_stages);
        unsafe {
            pipeline_barrier(
                command_buffer,
                src,
                dst,
                flags,
                1,
                &raw const memory,
                0,
                none,
                0,
                std::ptr::null(),
            );
        }
    }
}

/// The barriers before and after captures that the dependencies of a render pass require.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CaptureBarriers {
    /// The barrier that is recorded before the first capture. It replaces dependencies from
    /// `VK_SUBPASS_EXTERNAL` to a subpass.
    pub(crate) before: Barrier,
    /// The barrier that is recorded after the last capture. It replaces dependencies within the
    /// pass, whose draws may read captured data.
    pub(crate) after_captures: Barrier,
    /// The barrier that is recorded after both the pass and its captures. It replaces dependencies
    /// from a subpass to `VK_SUBPASS_EXTERNAL`.
    pub(crate) after_pass: Barrier,
    /// Whether a dependency within the pass includes captures on both sides. The layer then records
    /// a barrier before each capture of the pass.
    ///
    /// If it is false, no capture can be ordered after a draw with a vertex shader in the same
    /// pass. So captures do not overwrite data that such a draw reads, and do not read data that
    /// shaders of such a draw write.
    pub(crate) captures_wait_for_captures: bool,
    /// Whether there are dependencies within the pass. They may order a draw of the pass after a
    /// capture, whatever stages the dependencies contain, so captures have to be recorded before
    /// the pass.
    pub(crate) orders_captures: bool,
    /// Whether the render pass is [neutral]. It requires no barriers then.
    pub(crate) is_neutral: bool,
}

impl CaptureBarriers {
    /// Whether the render pass requires no barriers.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self { is_neutral: self.is_neutral, ..Self::default() }
    }

    /// Adds the barriers for one subpass dependency. For each side, the arguments are the subpass
    /// and the application's scope.
    fn add(&mut self, source: (u32, Scope), destination: (u32, Scope)) {
        let (src, dst) = (external(source.1), external(destination.1));
        let captures = (src.captures(Side::Source), dst.captures(Side::Destination));
        match (source.0, destination.0) {
            (vk::SUBPASS_EXTERNAL, _) => {
                self.before.add(Barrier::new(src.outside(Side::Source, true), captures.1));
            }
            (_, vk::SUBPASS_EXTERNAL) => {
                self.after_pass.add(Barrier::new(captures.0, dst.outside(Side::Destination, true)));
            }
            _ => {
                self.captures_wait_for_captures |= !Barrier::new(captures.0, captures.1).is_empty();
                self.after_captures.add(Barrier::new(captures.0, destination.1.inside()));
                self.orders_captures = true;
            }
        }
    }
}

/// Converts a scope of a subpass dependency to a scope of a barrier outside of render passes. In such a barrier
/// `ALL_COMMANDS` includes compute, and thus captures. In a subpass dependency it [means only graphics
/// stages](https://docs.vulkan.org/refpages/latest/refpages/source/VkSubpassDependency.html). So `ALL_GRAPHICS` is
/// added, for which the translation adds `COMPUTE_SHADER`, the stage of captures.
fn external(scope: Scope) -> Scope {
    use vk::PipelineStageFlags2 as Stage;
    if scope.stages.intersects(Stage::ALL_COMMANDS) {
        Scope { stages: scope.stages | Stage::ALL_GRAPHICS, ..scope }
    } else {
        scope
    }
}

/// Returns the scopes of a subpass dependency for the driver. Both sides are given as the subpass
/// and the application's scope.
fn declared(
    (source, src): (u32, Scope),
    (destination, dst): (u32, Scope),
    also_compute: bool,
) -> (Scope, Scope) {
    let side = |subpass, scope: Scope, side| match subpass {
        vk::SUBPASS_EXTERNAL => external(scope).outside(side, also_compute),
        _ => scope.in_subpass(),
    };
    (side(source, src, Side::Source), side(destination, dst, Side::Destination))
}

/// Translates the create info of `vkCreateRenderPass`, and returns the barriers that the render
/// pass requires for captures.
///
/// # Safety
/// The structure is valid, and outlives the result.
pub(crate) unsafe fn render_pass<'a>(
    info: &vk::RenderPassCreateInfo<'a>,
    also_compute: bool,
    arena: &Arena,
) -> (vk::RenderPassCreateInfo<'a>, CaptureBarriers) {
    let (dependencies, is_neutral) =
        unsafe { (slice(info.p_dependencies, info.dependency_count), neutral::render_pass(info)) };
    let mut barriers = CaptureBarriers { is_neutral, ..CaptureBarriers::default() };
    let translated = arena.map(dependencies, |dependency| {
        let source = Scope::new32(dependency.src_stage_mask, dependency.src_access_mask);
        let destination = Scope::new32(dependency.dst_stage_mask, dependency.dst_access_mask);
        let source = (dependency.src_subpass, source);
        let destination = (dependency.dst_subpass, destination);
        if also_compute {
            barriers.add(source, destination);
        }
        let (src, dst) = declared(source, destination, also_compute);
        // The translation adds only bits that 32-bit masks have.
        vk::SubpassDependency {
            src_stage_mask: vk::PipelineStageFlags::from_raw(src.stages.as_raw() as u32),
            src_access_mask: vk::AccessFlags::from_raw(src.access.as_raw() as u32),
            dst_stage_mask: vk::PipelineStageFlags::from_raw(dst.stages.as_raw() as u32),
            dst_access_mask: vk::AccessFlags::from_raw(dst.access.as_raw() as u32),
            ..*dependency
        }
    });
    (vk::RenderPassCreateInfo { p_dependencies: translated.as_ptr(), ..*info }, barriers)
}

/// Translates the create info of `vkCreateRenderPass2`, and returns the barriers that the render
/// pass requires for captures.
///
/// # Safety
/// The structure is valid, and outlives the result.
pub(crate) unsafe fn render_pass2<'a>(
    info: &vk::RenderPassCreateInfo2<'a>,
    also_compute: bool,
    arena: &Arena,
) -> (vk::RenderPassCreateInfo2<'a>, CaptureBarriers) {
    let (dependencies, is_neutral) =
        unsafe { (slice(info.p_dependencies, info.dependency_count), neutral::render_pass2(info)) };
    let mut barriers = CaptureBarriers { is_neutral, ..CaptureBarriers::default() };
    let translated = arena.map(dependencies, |dependency| {
        let own = (
            Scope::new32(dependency.src_stage_mask, dependency.src_access_mask),
            Scope::new32(dependency.dst_stage_mask, dependency.dst_access_mask),
        );
        let (from, to) = (dependency.src_subpass, dependency.dst_subpass);
        let barrier = unsafe { all_of::<vk::MemoryBarrier2<'_>>(dependency.p_next) }.next();
        // If the chain contains a VkMemoryBarrier2, the masks of the dependency are ignored.
        let (source, destination) = barrier.map_or(own, |barrier| {
            (
                Scope { stages: barrier.src_stage_mask, access: barrier.src_access_mask },
                Scope { stages: barrier.dst_stage_mask, access: barrier.dst_access_mask },
            )
        });
        if also_compute {
            barriers.add((from, source), (to, destination));
        }
        let p_next = match barrier {
            None => dependency.p_next,
            Some(barrier) => {
                let (src, dst) = declared((from, source), (to, destination), also_compute);
                let new = vk::MemoryBarrier2 {
                    src_stage_mask: src.stages,
                    src_access_mask: src.access,
                    dst_stage_mask: dst.stages,
                    dst_access_mask: dst.access,
                    ..*barrier
                };
                // SAFETY: `barrier` was found in this chain.
                unsafe { arena.replaced(dependency.p_next, barrier, new) }
            }
        };
        let (src, dst) = declared((from, own.0), (to, own.1), also_compute);
        vk::SubpassDependency2 {
            p_next,
            src_stage_mask: vk::PipelineStageFlags::from_raw(src.stages.as_raw() as u32),
            src_access_mask: vk::AccessFlags::from_raw(src.access.as_raw() as u32),
            dst_stage_mask: vk::PipelineStageFlags::from_raw(dst.stages.as_raw() as u32),
            dst_access_mask: vk::AccessFlags::from_raw(dst.access.as_raw() as u32),
            ..*dependency
        }
    });
    (vk::RenderPassCreateInfo2 { p_dependencies: translated.as_ptr(), ..*info }, barriers)
}

/// What captures and queries need of a render pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RenderPass {
    pub(crate) barriers: CaptureBarriers,
    pub(crate) views: Views,
}

impl RenderPass {
    fn is_default(&self) -> bool {
        self.barriers == CaptureBarriers::default() && self.views.are_single()
    }
}

/// Has the render passes that require barriers for captures, are neutral, or have subpasses with several views.
#[derive(Debug, Default)]
pub(crate) struct RenderPasses(RwLock<FxHashMap<vk::RenderPass, RenderPass>>);

impl RenderPasses {
    /// Returns what captures and queries need of a render pass.
    pub(crate) fn get(&self, render_pass: vk::RenderPass) -> RenderPass {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&render_pass).cloned().unwrap_or_default()
    }

    pub(crate) fn created(&self, handle: vk::RenderPass, render_pass: RenderPass) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // An earlier render pass with the same handle may still be here.
        if render_pass.is_default() {
            all.remove(&handle)
        } else {
            all.insert(handle, render_pass)
        };
    }

    pub(crate) fn destroyed(&self, render_pass: vk::RenderPass) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&render_pass);
    }
}
