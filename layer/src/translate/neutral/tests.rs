//! Changes neutral passes, one thing at a time, and checks that they are no longer neutral.

use ash::vk;

use super::{begins, render_pass, render_pass2, rendering};

const LAYOUT: vk::ImageLayout = vk::ImageLayout::GENERAL;

fn attachment() -> vk::AttachmentDescription {
    vk::AttachmentDescription::default()
        .format(vk::Format::R8G8B8A8_UNORM)
        .load_op(vk::AttachmentLoadOp::LOAD)
        .store_op(vk::AttachmentStoreOp::STORE)
        .stencil_load_op(vk::AttachmentLoadOp::DONT_CARE)
        .stencil_store_op(vk::AttachmentStoreOp::DONT_CARE)
        .initial_layout(LAYOUT)
        .final_layout(LAYOUT)
}

/// Whether a render pass with this attachment is neutral, by both versions of its create info.
fn is_neutral(attachment: vk::AttachmentDescription) -> bool {
    let attachments = [attachment];
    let subpasses = [vk::SubpassDescription::default()];
    let info = vk::RenderPassCreateInfo::default().attachments(&attachments).subpasses(&subpasses);
    let attachments = [vk::AttachmentDescription2::default()
        .format(attachment.format)
        .load_op(attachment.load_op)
        .store_op(attachment.store_op)
        .stencil_load_op(attachment.stencil_load_op)
        .stencil_store_op(attachment.stencil_store_op)
        .initial_layout(attachment.initial_layout)
        .final_layout(attachment.final_layout)];
    let subpasses = [vk::SubpassDescription2::default()];
    let info2 =
        vk::RenderPassCreateInfo2::default().attachments(&attachments).subpasses(&subpasses);
    // SAFETY: the structures are valid.
    let found = unsafe { [render_pass(&info), render_pass2(&info2)] };
    assert_eq!(found[0], found[1]);
    found[0]
}

#[test]
fn attachments_stay_as_they_are() {
    use vk::{AttachmentLoadOp as Load, AttachmentStoreOp as Store, Format};
    let of = attachment();
    assert!(is_neutral(of));
    assert!(is_neutral(of.load_op(Load::NONE_EXT).store_op(Store::NONE)));
    assert!(!is_neutral(of.load_op(Load::CLEAR)));
    assert!(!is_neutral(of.load_op(Load::DONT_CARE)));
    assert!(!is_neutral(of.store_op(Store::DONT_CARE)));
    assert!(!is_neutral(of.final_layout(vk::ImageLayout::PRESENT_SRC_KHR)));
    let stencil = of.format(Format::D24_UNORM_S8_UINT);
    assert!(!is_neutral(stencil));
    let stencil = stencil.stencil_load_op(Load::LOAD);
    assert!(!is_neutral(stencil));
    assert!(is_neutral(stencil.stencil_store_op(Store::STORE)));
}

#[test]
fn render_passes_have_no_dependencies_and_resolve_nothing() {
    let attachments = [attachment()];
    let reference = [vk::AttachmentReference::default()];
    let subpasses = [vk::SubpassDescription::default().color_attachments(&reference)];
    let info = vk::RenderPassCreateInfo::default().attachments(&attachments).subpasses(&subpasses);
    // SAFETY: the structures are valid.
    let neutral = |info: &vk::RenderPassCreateInfo<'_>| unsafe { render_pass(info) };
    // SAFETY: the structures are valid.
    let neutral2 = |info: &vk::RenderPassCreateInfo2<'_>| unsafe { render_pass2(info) };
    assert!(neutral(&info));
    let dependencies = [vk::SubpassDependency::default().src_subpass(vk::SUBPASS_EXTERNAL)];
    assert!(!neutral(&info.dependencies(&dependencies)));
    let subpasses = [subpasses[0].resolve_attachments(&reference)];
    assert!(!neutral(&info.subpasses(&subpasses)));

    let mut resolve = vk::SubpassDescriptionDepthStencilResolve::default();
    let subpasses = [vk::SubpassDescription2::default().push_next(&mut resolve)];
    let info = vk::RenderPassCreateInfo2::default().subpasses(&subpasses);
    assert!(!neutral2(&info));
    let mut layouts = vk::AttachmentDescriptionStencilLayout::default();
    let attachments = [vk::AttachmentDescription2::default()
        .load_op(vk::AttachmentLoadOp::LOAD)
        .store_op(vk::AttachmentStoreOp::STORE)
        .push_next(&mut layouts)];
    let info = vk::RenderPassCreateInfo2::default().attachments(&attachments);
    assert!(!neutral2(&info));
}

#[test]
fn other_structures_may_do_something() {
    let mut groups = vk::DeviceGroupRenderPassBeginInfo::default();
    let mut images = vk::RenderPassAttachmentBeginInfo::default();
    let info = vk::RenderPassBeginInfo::default();
    // SAFETY: the structures are valid.
    let neutral = |info: &vk::RenderPassBeginInfo<'_>| unsafe { begins(info) };
    assert!(neutral(&info));
    let info = info.push_next(&mut images);
    assert!(neutral(&info));
    assert!(!neutral(&info.push_next(&mut groups)));
}

#[test]
fn rendering_stays_as_it_is() {
    use vk::Handle;
    let view = vk::ImageView::from_raw(1);
    let of = vk::RenderingAttachmentInfo::default()
        .image_view(view)
        .load_op(vk::AttachmentLoadOp::LOAD)
        .store_op(vk::AttachmentStoreOp::STORE);
    let none = vk::RenderingAttachmentInfo::default();
    let is_neutral = |color: vk::RenderingAttachmentInfo<'_>, depth| {
        let colors = [of, color];
        let info = vk::RenderingInfo::default().color_attachments(&colors).depth_attachment(depth);
        // SAFETY: the structures are valid.
        unsafe { rendering(&info) }
    };
    let clears = of.load_op(vk::AttachmentLoadOp::CLEAR);
    assert!(is_neutral(of, &of));
    assert!(is_neutral(none, &none));
    assert!(!is_neutral(clears, &of));
    assert!(!is_neutral(of, &clears));
    assert!(!is_neutral(of.resolve_mode(vk::ResolveModeFlags::AVERAGE), &of));
    // The resolve of an external format has no image view.
    assert!(!is_neutral(none.resolve_mode(vk::ResolveModeFlags::AVERAGE), &of));
    let mut rate = vk::RenderingFragmentShadingRateAttachmentInfoKHR::default();
    // SAFETY: the structure is valid.
    assert!(!unsafe { rendering(&vk::RenderingInfo::default().push_next(&mut rate)) });
}
