//! Finds how many views the subpasses of a pass have
//! ([multiview](https://docs.vulkan.org/spec/latest/chapters/renderpass.html#renderpass-multiview)). The driver executes
//! each draw of a subpass once for each of them, and a query that begins there is several queries.

use std::sync::Arc;

use ash::vk;

use crate::chain::{all_of, slice};

/// The view masks of the subpasses of a pass. `None` if no subpass has several views.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Views(Option<Arc<[u32]>>);

impl Views {
    /// Returns the views of a pass whose subpasses have these masks.
    fn new(masks: impl Iterator<Item = u32> + Clone) -> Self {
        let has_several = masks.clone().any(|mask| mask.count_ones() > 1);
        Self(has_several.then(|| masks.collect()))
    }

    /// Returns the views of a render pass that `vkCreateRenderPass` creates.
    ///
    /// # Safety
    /// The structure is valid.
    pub(crate) unsafe fn of_render_pass(info: &vk::RenderPassCreateInfo<'_>) -> Self {
        unsafe {
            let all = all_of::<vk::RenderPassMultiviewCreateInfo<'_>>(info.p_next).next();
            let masks = all.map_or(&[][..], |all| slice(all.p_view_masks, all.subpass_count));
            Self::new(masks.iter().copied())
        }
    }

    /// Returns the views of a render pass that `vkCreateRenderPass2` creates.
    ///
    /// # Safety
    /// The structure is valid.
    pub(crate) unsafe fn of_render_pass2(info: &vk::RenderPassCreateInfo2<'_>) -> Self {
        let subpasses = unsafe { slice(info.p_subpasses, info.subpass_count) };
        Self::new(subpasses.iter().map(|subpass| subpass.view_mask))
    }

    /// Returns the views of dynamic rendering, which is a single subpass, with this mask.
    pub(crate) fn of_rendering(mask: u32) -> Self {
        Self::new(std::iter::once(mask))
    }

    /// The number of views of a subpass; at least 1.
    pub(super) fn of_subpass(&self, subpass: u32) -> u32 {
        let mask = self.0.as_ref().and_then(|masks| masks.get(subpass as usize));
        mask.map_or(1, |mask| mask.count_ones().max(1))
    }

    /// Whether no subpass has several views.
    pub(super) const fn are_single(&self) -> bool {
        self.0.is_none()
    }
}
