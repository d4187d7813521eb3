//! Translates the parts of suspended [dynamic
//! rendering](https://docs.vulkan.org/refpages/latest/refpages/source/VkRenderingInfo.html) into render pass instances of
//! their own.
//!
//! Between a part that is suspended and the one that resumes it, Vulkan allows no other commands, so captures would have
//! no place there. The driver therefore gets no part that suspends or resumes. Each part loads what the one before it has
//! stored, and only the last one resolves.

use ash::vk;
use ash::vk::{AccessFlags as Access, ImageLayout as Layout, PipelineStageFlags as Stage};

use super::memory::Arena;
use super::passes::Barrier;
use crate::chain::{all_of, slice};

/// The flags that no rendering of the driver has.
const BETWEEN_PARTS: vk::RenderingFlags = vk::RenderingFlags::from_raw(
    vk::RenderingFlags::SUSPENDING.as_raw() | vk::RenderingFlags::RESUMING.as_raw(),
);

/// The barrier before a part that resumes: the part loads the attachments that the one before it has stored.
pub(crate) const RESUME: Barrier = Barrier {
    src_stages: Stage::from_raw(
        Stage::EARLY_FRAGMENT_TESTS.as_raw()
            | Stage::LATE_FRAGMENT_TESTS.as_raw()
            | Stage::COLOR_ATTACHMENT_OUTPUT.as_raw(),
    ),
    src_access: Access::from_raw(
        Access::COLOR_ATTACHMENT_WRITE.as_raw() | Access::DEPTH_STENCIL_ATTACHMENT_WRITE.as_raw(),
    ),
    dst_stages: Stage::from_raw(
        Stage::FRAGMENT_SHADER.as_raw()
            | Stage::EARLY_FRAGMENT_TESTS.as_raw()
            | Stage::LATE_FRAGMENT_TESTS.as_raw()
            | Stage::COLOR_ATTACHMENT_OUTPUT.as_raw(),
    ),
    dst_access: Access::from_raw(
        Access::INPUT_ATTACHMENT_READ.as_raw()
            | Access::COLOR_ATTACHMENT_READ.as_raw()
            | Access::COLOR_ATTACHMENT_WRITE.as_raw()
            | Access::DEPTH_STENCIL_ATTACHMENT_READ.as_raw()
            | Access::DEPTH_STENCIL_ATTACHMENT_WRITE.as_raw(),
    ),
};

/// Whether rendering with these flags resumes an earlier part.
pub(crate) const fn resumes(flags: vk::RenderingFlags) -> bool {
    flags.contains(vk::RenderingFlags::RESUMING)
}

/// Translates the info of `vkCmdBeginRendering`.
///
/// # Safety
/// The structure is valid, and outlives the result.
pub(crate) unsafe fn info<'a>(
    info: &vk::RenderingInfo<'a>,
    arena: &Arena,
) -> vk::RenderingInfo<'a> {
    if !info.flags.intersects(BETWEEN_PARTS) {
        return *info;
    }
    let part = |attachment: *const vk::RenderingAttachmentInfo<'a>, read_only: &[Layout]| {
        // SAFETY: the caller's contract.
        match unsafe { attachment.as_ref() } {
            Some(attachment) => &raw const *arena.keep(of_part(attachment, info.flags, read_only)),
            None => attachment,
        }
    };
    // SAFETY: the caller's contract.
    let colors = unsafe { slice(info.p_color_attachments, info.color_attachment_count) };
    let colors = arena.map(colors, |color| of_part(color, info.flags, &[]));
    vk::RenderingInfo {
        flags: without_parts(info.flags),
        p_color_attachments: colors.as_ptr(),
        p_depth_attachment: part(info.p_depth_attachment, &READ_ONLY_DEPTH),
        p_stencil_attachment: part(info.p_stencil_attachment, &READ_ONLY_STENCIL),
        ..*info
    }
}

/// Translates the info of `vkBeginCommandBuffer` for a secondary command buffer, which inherits the flags of rendering.
///
/// # Safety
/// The structure is valid for a secondary command buffer, and outlives the result.
pub(crate) unsafe fn begin_info<'a>(
    info: &vk::CommandBufferBeginInfo<'a>,
    arena: &Arena,
) -> vk::CommandBufferBeginInfo<'a> {
    type Inherited = vk::CommandBufferInheritanceRenderingInfo<'static>;
    // SAFETY: the caller's contract.
    unsafe {
        let Some(inheritance) = info.p_inheritance_info.as_ref() else { return *info };
        let rendering = all_of::<Inherited>(inheritance.p_next).next();
        let Some(rendering) = rendering.filter(|r| r.flags.intersects(BETWEEN_PARTS)) else {
            return *info;
        };
        let new = Inherited { flags: without_parts(rendering.flags), ..*rendering };
        let p_next = arena.replaced(inheritance.p_next, rendering, new);
        let inheritance = arena.keep(vk::CommandBufferInheritanceInfo { p_next, ..*inheritance });
        vk::CommandBufferBeginInfo { p_inheritance_info: &raw const *inheritance, ..*info }
    }
}

/// Returns the flags of rendering for the driver.
fn without_parts(flags: vk::RenderingFlags) -> vk::RenderingFlags {
    flags & !BETWEEN_PARTS
}

/// The layouts in which nothing writes the depth of an attachment.
const READ_ONLY_DEPTH: [Layout; 4] = [
    Layout::READ_ONLY_OPTIMAL,
    Layout::DEPTH_READ_ONLY_OPTIMAL,
    Layout::DEPTH_STENCIL_READ_ONLY_OPTIMAL,
    Layout::DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL,
];

/// The layouts in which nothing writes the stencil of an attachment.
const READ_ONLY_STENCIL: [Layout; 4] = [
    Layout::READ_ONLY_OPTIMAL,
    Layout::STENCIL_READ_ONLY_OPTIMAL,
    Layout::DEPTH_STENCIL_READ_ONLY_OPTIMAL,
    Layout::DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL,
];

/// Translates an attachment of a part with the given flags. In a layout of `read_only`, the part does not write the
/// attachment, so it need not store it.
fn of_part<'a>(
    attachment: &vk::RenderingAttachmentInfo<'a>,
    flags: vk::RenderingFlags,
    read_only: &[Layout],
) -> vk::RenderingAttachmentInfo<'a> {
    let mut part = *attachment;
    if resumes(flags) {
        part.load_op = vk::AttachmentLoadOp::LOAD;
    }
    if flags.contains(vk::RenderingFlags::SUSPENDING) {
        part.store_op = match read_only.contains(&part.image_layout) {
            true => vk::AttachmentStoreOp::NONE,
            false => vk::AttachmentStoreOp::STORE,
        };
        part.resolve_mode = vk::ResolveModeFlags::NONE;
        part.resolve_image_view = vk::ImageView::null();
    }
    part
}
