//! The subpass that is being recorded, which says how many views a query is counted in.

use ash::vk;

use crate::chain::all_of;
use crate::translate::passes::RenderPasses;
use crate::translate::views::Views;

/// A subpass of a pass.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subpass {
    of: Views,
    number: u32,
}

impl Subpass {
    /// Returns the first subpass of a pass.
    pub(crate) const fn first(of: Views) -> Self {
        Self { of, number: 0 }
    }

    /// Returns the subpass in which a secondary command buffer is executed, by what it inherits.
    ///
    /// # Safety
    /// The structure is valid for a command buffer that is executed inside of a pass.
    pub(crate) unsafe fn inherited(
        passes: &RenderPasses,
        info: &vk::CommandBufferInheritanceInfo<'_>,
    ) -> Self {
        if info.render_pass != vk::RenderPass::null() {
            return Self { of: passes.get(info.render_pass).views, number: info.subpass };
        }
        let rendering =
            unsafe { all_of::<vk::CommandBufferInheritanceRenderingInfo<'_>>(info.p_next).next() };
        Self::first(
            rendering
                .map_or_else(Views::default, |rendering| Views::of_rendering(rendering.view_mask)),
        )
    }

    /// Goes on to the next subpass of the pass.
    pub(crate) const fn advance(&mut self) {
        self.number = self.number.saturating_add(1);
    }

    /// The number of views of the subpass; at least 1.
    pub(crate) fn views(&self) -> u32 {
        self.of.of_subpass(self.number)
    }
}
