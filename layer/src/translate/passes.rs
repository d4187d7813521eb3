//! Render passes: dependencies of their subpasses, of which what concerns captures moves out of the pass.
//!
//! Captures are dispatched before the pass that they were recorded in, or after it where nothing in the pass can be
//! ordered with them. So what a
//! [dependency](https://docs.vulkan.org/refpages/latest/refpages/source/VkSubpassDependency.html) says of them the
//! render pass cannot say: a subpass has stages of graphics alone. It is said by barriers around the captures, which
//! are found here by the render pass, and are recorded where a pass has captures:
//!
//! ```text
//! before; captures; after_captures; vkCmdBeginRenderPass ... vkCmdEndRenderPass; after_pass
//! vkCmdBeginRenderPass ... vkCmdEndRenderPass; before; captures; after_captures; after_pass
//! ```
//!
//! The other side of a dependency with `VK_SUBPASS_EXTERNAL` may be of any stages, and is translated as barriers are
//! outside of passes: captures that come before or later are among them.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use ash::vk;

use super::Kind;
use super::masks::{Scope, Side};
use super::memory::Arena;
use crate::chain::{all_of, slice};

/// A global memory barrier, with masks that are valid everywhere outside of render passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Barrier {
    pub(crate) src_stages: vk::PipelineStageFlags,
    pub(crate) src_access: vk::AccessFlags,
    pub(crate) dst_stages: vk::PipelineStageFlags,
    pub(crate) dst_access: vk::AccessFlags,
}

impl Barrier {
    /// Nothing, if one of the sides is.
    pub(crate) fn new(source: Scope, destination: Scope) -> Self {
        if source.stages.is_empty() || destination.stages.is_empty() {
            return Self::default();
        }
        let ((src_stages, src_access), (dst_stages, dst_access)) =
            (source.to32(), destination.to32());
        Self { src_stages, src_access, dst_stages, dst_access }
    }

    /// Whether there is nothing to record.
    pub(crate) const fn is_empty(&self) -> bool {
        self.src_stages.is_empty()
    }

    /// One barrier for two.
    fn add(&mut self, other: Self) {
        self.src_stages |= other.src_stages;
        self.src_access |= other.src_access;
        self.dst_stages |= other.dst_stages;
        self.dst_access |= other.dst_access;
    }

    /// Records it as one of that kind, if it is not empty.
    ///
    /// # Safety
    /// The function is of the command buffer's device, which is being recorded, outside of a render pass.
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
        // SAFETY: the caller's contract.
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

/// What the dependencies of a render pass ask of captures in its passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Around {
    /// Before the first capture, of dependencies of `VK_SUBPASS_EXTERNAL` to a subpass.
    pub(crate) before: Barrier,
    /// After the last capture, of dependencies within the pass: draws of it may consume captures.
    pub(crate) after_captures: Barrier,
    /// After the pass and its captures, of dependencies of a subpass to `VK_SUBPASS_EXTERNAL`.
    pub(crate) after_pass: Barrier,
    /// Whether a dependency within the pass has captures on both sides. No barrier says it: captures are ordered as
    /// they come.
    ///
    /// Where it is false no capture of a pass can be ordered after a draw with a vertex shader in the same pass: neither
    /// does it overwrite what such a draw reads, nor does it read what shaders of the draw store.
    pub(crate) captures_wait_for_captures: bool,
    /// Whether there are dependencies within the pass: whatever their stages, captures come before them, and they may
    /// order a draw of the pass after a capture, which then has to come before the pass.
    pub(crate) orders_captures: bool,
}

impl Around {
    /// Takes a dependency in, as the application gave it.
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

/// `ALL_COMMANDS` of a dependency of subpasses
/// [means graphics](https://docs.vulkan.org/refpages/latest/refpages/source/VkSubpassDependency.html), and not compute:
/// said as well, captures are.
fn external(scope: Scope) -> Scope {
    use vk::PipelineStageFlags2 as Stage;
    match scope.stages.intersects(Stage::ALL_COMMANDS) {
        true => Scope { stages: scope.stages | Stage::ALL_GRAPHICS, ..scope },
        false => scope,
    }
}

/// Source and destination as the driver is given them.
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

/// Translates what is given to `vkCreateRenderPass`.
///
/// # Safety
/// The structure is valid, and outlives the result.
pub(crate) unsafe fn render_pass<'a>(
    info: &vk::RenderPassCreateInfo<'a>,
    also_compute: bool,
    arena: &Arena,
) -> (vk::RenderPassCreateInfo<'a>, Around) {
    // SAFETY: the caller's contract.
    let dependencies = unsafe { slice(info.p_dependencies, info.dependency_count) };
    let mut around = Around::default();
    let translated = arena.map(dependencies, |dependency| {
        let source = Scope::new32(dependency.src_stage_mask, dependency.src_access_mask);
        let destination = Scope::new32(dependency.dst_stage_mask, dependency.dst_access_mask);
        let source = (dependency.src_subpass, source);
        let destination = (dependency.dst_subpass, destination);
        if also_compute {
            around.add(source, destination);
        }
        let (src, dst) = declared(source, destination, also_compute);
        // Nothing is added that is not among 32 bits, and nothing of these is replaced.
        vk::SubpassDependency {
            src_stage_mask: vk::PipelineStageFlags::from_raw(src.stages.as_raw() as u32),
            src_access_mask: vk::AccessFlags::from_raw(src.access.as_raw() as u32),
            dst_stage_mask: vk::PipelineStageFlags::from_raw(dst.stages.as_raw() as u32),
            dst_access_mask: vk::AccessFlags::from_raw(dst.access.as_raw() as u32),
            ..*dependency
        }
    });
    (vk::RenderPassCreateInfo { p_dependencies: translated.as_ptr(), ..*info }, around)
}

/// Translates what is given to `vkCreateRenderPass2`.
///
/// # Safety
/// The structure is valid, and outlives the result.
pub(crate) unsafe fn render_pass2<'a>(
    info: &vk::RenderPassCreateInfo2<'a>,
    also_compute: bool,
    arena: &Arena,
) -> (vk::RenderPassCreateInfo2<'a>, Around) {
    // SAFETY: the caller's contract.
    let dependencies = unsafe { slice(info.p_dependencies, info.dependency_count) };
    let mut around = Around::default();
    let translated = arena.map(dependencies, |dependency| {
        let own = (
            Scope::new32(dependency.src_stage_mask, dependency.src_access_mask),
            Scope::new32(dependency.dst_stage_mask, dependency.dst_access_mask),
        );
        let (from, to) = (dependency.src_subpass, dependency.dst_subpass);
        // SAFETY: the caller's contract.
        let barrier = unsafe { all_of::<vk::MemoryBarrier2<'_>>(dependency.p_next) }.next();
        // With a structure of its own the dependency's masks are ignored.
        let (source, destination) = barrier.map_or(own, |barrier| {
            (
                Scope { stages: barrier.src_stage_mask, access: barrier.src_access_mask },
                Scope { stages: barrier.dst_stage_mask, access: barrier.dst_access_mask },
            )
        });
        if also_compute {
            around.add((from, source), (to, destination));
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
                // SAFETY: it was found in that chain.
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
    (vk::RenderPassCreateInfo2 { p_dependencies: translated.as_ptr(), ..*info }, around)
}

/// The render passes of a device that ask something of captures.
#[derive(Debug, Default)]
pub(crate) struct RenderPasses(RwLock<HashMap<vk::RenderPass, Around>>);

impl RenderPasses {
    /// What a render pass asks.
    pub(crate) fn around(&self, render_pass: vk::RenderPass) -> Around {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&render_pass).copied().unwrap_or_default()
    }

    pub(super) fn created(&self, render_pass: vk::RenderPass, around: Around) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // A handle may be that of one that is gone.
        match around == Around::default() {
            true => all.remove(&render_pass),
            false => all.insert(render_pass, around),
        };
    }

    pub(super) fn destroyed(&self, render_pass: vk::RenderPass) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&render_pass);
    }
}
