//! Tests the translation of suspended dynamic rendering.

use ash::vk;
use ash::vk::Handle as _;
use ash::vk::{
    AttachmentLoadOp as Load, AttachmentStoreOp as Store, RenderingFlags as Flags,
    ResolveModeFlags as Resolve,
};

use super::super::memory::Arena;
use super::super::rendering;
use crate::chain::slice;

const SECONDARY: Flags = Flags::CONTENTS_SECONDARY_COMMAND_BUFFERS;

/// An attachment that is cleared, resolved, and not stored.
fn attachment(layout: vk::ImageLayout) -> vk::RenderingAttachmentInfo<'static> {
    vk::RenderingAttachmentInfo::default()
        .image_view(vk::ImageView::from_raw(1))
        .image_layout(layout)
        .load_op(Load::CLEAR)
        .store_op(Store::DONT_CARE)
        .resolve_mode(Resolve::AVERAGE)
        .resolve_image_view(vk::ImageView::from_raw(2))
}

#[test]
fn parts_hand_over_their_attachments() {
    let layouts = [
        vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL,
        vk::ImageLayout::DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL,
    ];
    let [color, depth] = layouts.map(attachment);
    for (flags, load, stored, read_only, resolve) in [
        (Flags::empty(), Load::CLEAR, Store::DONT_CARE, Store::DONT_CARE, Resolve::AVERAGE),
        (Flags::SUSPENDING, Load::CLEAR, Store::STORE, Store::NONE, Resolve::NONE),
        (Flags::RESUMING, Load::LOAD, Store::DONT_CARE, Store::DONT_CARE, Resolve::AVERAGE),
        (Flags::SUSPENDING | Flags::RESUMING, Load::LOAD, Store::STORE, Store::NONE, Resolve::NONE),
    ] {
        let colors = [color; 2];
        let info = vk::RenderingInfo::default()
            .flags(flags | SECONDARY)
            .color_attachments(&colors)
            .depth_attachment(&depth)
            .stencil_attachment(&depth);
        Arena::with(|arena| unsafe {
            let found = rendering::info(&info, arena);
            assert_eq!(found.flags, SECONDARY);
            let colors = slice(found.p_color_attachments, found.color_attachment_count);
            assert_eq!(colors.len(), 2);
            let depth = found.p_depth_attachment.as_ref().unwrap();
            let stencil = found.p_stencil_attachment.as_ref().unwrap();
            for (found, store) in
                [(&colors[0], stored), (&colors[1], stored), (depth, read_only), (stencil, stored)]
            {
                assert_eq!((found.load_op, found.store_op), (load, store), "{flags:?}");
                assert_eq!(found.resolve_mode, resolve, "{flags:?}");
                assert_eq!(found.resolve_image_view.is_null(), resolve == Resolve::NONE);
                assert_eq!(found.image_view, color.image_view);
            }
        });
    }
    // Without attachments.
    let info = vk::RenderingInfo::default().flags(Flags::SUSPENDING);
    Arena::with(|arena| unsafe {
        let found = rendering::info(&info, arena);
        assert!(found.p_depth_attachment.is_null() && found.p_stencil_attachment.is_null());
        assert_eq!((found.color_attachment_count, found.flags), (0, Flags::empty()));
    });
}
