//! Finds passes that change nothing by themselves. If no command in such a *neutral* pass changes anything either, the
//! driver need not execute the pass.

use ash::vk;

use crate::chain::slice;

/// How a pass treats an attachment.
#[derive(Clone, Copy)]
struct Attachment {
    load: vk::AttachmentLoadOp,
    store: vk::AttachmentStoreOp,
}

impl Attachment {
    /// Whether the contents of the attachment stay as they are, unless a command of the pass changes them.
    fn keeps(self) -> bool {
        matches!(self.load, vk::AttachmentLoadOp::LOAD | vk::AttachmentLoadOp::NONE_EXT)
            && matches!(self.store, vk::AttachmentStoreOp::STORE | vk::AttachmentStoreOp::NONE)
    }
}

fn has_stencil(format: vk::Format) -> bool {
    use vk::Format as F;
    let formats = [F::S8_UINT, F::D16_UNORM_S8_UINT, F::D24_UNORM_S8_UINT, F::D32_SFLOAT_S8_UINT];
    formats.contains(&format)
}

/// Implements a function for a version of `VkRenderPassCreateInfo`. `chain` is `p_next` if the structures that it points
/// to have chains.
macro_rules! render_pass {
    ($(#[$doc:meta])* $name:ident $info:ident $($chain:ident)?) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// The structure is valid.
        pub(super) unsafe fn $name(info: &vk::$info<'_>) -> bool {
            let (attachments, subpasses) = unsafe {
                (
                    slice(info.p_attachments, info.attachment_count),
                    slice(info.p_subpasses, info.subpass_count),
                )
            };
            let keeps = attachments.iter().all(|attachment| {
                let (load, store) = (attachment.load_op, attachment.store_op);
                let contents = Attachment { load, store };
                let (load, store) = (attachment.stencil_load_op, attachment.stencil_store_op);
                let stencil = Attachment { load, store };
                attachment.initial_layout == attachment.final_layout
                    && contents.keeps()
                    && (stencil.keeps() || !has_stencil(attachment.format))
                    $(&& attachment.$chain.is_null())?
            });
            let resolves = subpasses.iter().any(|subpass| {
                !subpass.p_resolve_attachments.is_null() $(|| !subpass.$chain.is_null())?
            });
            keeps && !resolves && info.dependency_count == 0 && info.p_next.is_null()
        }
    };
}

render_pass! {
    /// Whether a render pass is neutral: it has no dependencies, which may order commands before it and after it, it
    /// neither clears nor resolves attachments, and they keep their layouts. The result is false for some neutral
    /// ones: those with structures in a chain, which may resolve attachments.
    render_pass RenderPassCreateInfo
}

render_pass! {
    /// Whether a render pass is neutral, as for [`render_pass`](fn@render_pass).
    render_pass2 RenderPassCreateInfo2 p_next
}

/// Whether a neutral render pass stays so with this begin info. Most structures in the chain, such as that of
/// `VK_ARM_render_pass_striped`, make the driver do something beside the commands of the pass.
///
/// # Safety
/// The structure is valid.
pub(crate) unsafe fn begins(info: &vk::RenderPassBeginInfo<'_>) -> bool {
    let next = unsafe { info.p_next.cast::<vk::BaseInStructure<'_>>().as_ref() };
    next.is_none_or(|next| {
        next.s_type == vk::StructureType::RENDER_PASS_ATTACHMENT_BEGIN_INFO && next.p_next.is_null()
    })
}

/// Whether dynamic rendering is neutral. The result is false for some neutral ones: those with structures in the chain.
///
/// # Safety
/// The structure is valid.
pub(crate) unsafe fn rendering(info: &vk::RenderingInfo<'_>) -> bool {
    let (colors, depth, stencil) = unsafe {
        (
            slice(info.p_color_attachments, info.color_attachment_count),
            info.p_depth_attachment.as_ref(),
            info.p_stencil_attachment.as_ref(),
        )
    };
    let keeps = |attachment: &vk::RenderingAttachmentInfo<'_>| {
        let contents = Attachment { load: attachment.load_op, store: attachment.store_op };
        (contents.keeps() || attachment.image_view == vk::ImageView::null())
            && attachment.resolve_mode.is_empty()
            && attachment.p_next.is_null()
    };
    info.p_next.is_null() && colors.iter().chain(depth).chain(stencil).all(keeps)
}

#[cfg(test)]
mod tests;
