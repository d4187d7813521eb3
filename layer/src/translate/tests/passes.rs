//! Tests the translation of subpass dependencies.

use ash::vk;
use ash::vk::{AccessFlags as Access, PipelineStageFlags as Stage};

use super::super::memory::Arena;
use super::super::passes::{Barrier, CaptureBarriers, render_pass, render_pass2};
use crate::chain::{all_of, slice};

const EXTERNAL: u32 = vk::SUBPASS_EXTERNAL;
const XFB: Stage = Stage::TRANSFORM_FEEDBACK_EXT;
const XFB_WRITE: Access = Access::TRANSFORM_FEEDBACK_WRITE_EXT;

fn dependency(
    (from, to): (u32, u32),
    (src, read): (Stage, Access),
    (dst, write): (Stage, Access),
) -> vk::SubpassDependency {
    vk::SubpassDependency::default()
        .src_subpass(from)
        .dst_subpass(to)
        .src_stage_mask(src)
        .src_access_mask(read)
        .dst_stage_mask(dst)
        .dst_access_mask(write)
}

fn barrier(src: (Stage, Access), dst: (Stage, Access)) -> Barrier {
    Barrier { src_stages: src.0, src_access: src.1, dst_stages: dst.0, dst_access: dst.1 }
}

type Masks = ((Stage, Access), (Stage, Access));

/// Translates a dependency. Returns the masks that the driver gets, and the barriers for captures.
/// Checks that the result is the same for all structures that can express the dependency.
fn translated(dependency: vk::SubpassDependency, also_compute: bool) -> (Masks, CaptureBarriers) {
    Arena::with(|arena| unsafe {
        let all = [dependency];
        let info = vk::RenderPassCreateInfo::default().dependencies(&all);
        let (new, barriers) = render_pass(&info, also_compute, arena);
        let new = slice(new.p_dependencies, new.dependency_count)[0];
        let masks =
            ((new.src_stage_mask, new.src_access_mask), (new.dst_stage_mask, new.dst_access_mask));

        let mut second = vk::SubpassDependency2::default()
            .src_subpass(dependency.src_subpass)
            .dst_subpass(dependency.dst_subpass)
            .src_stage_mask(dependency.src_stage_mask)
            .src_access_mask(dependency.src_access_mask)
            .dst_stage_mask(dependency.dst_stage_mask)
            .dst_access_mask(dependency.dst_access_mask);
        let all = [second];
        let info = vk::RenderPassCreateInfo2::default().dependencies(&all);
        let (new, barriers2) = render_pass2(&info, also_compute, arena);
        let new = slice(new.p_dependencies, new.dependency_count)[0];
        let masks2 =
            ((new.src_stage_mask, new.src_access_mask), (new.dst_stage_mask, new.dst_access_mask));
        assert_eq!((masks, barriers), (masks2, barriers2));

        // The masks of a `VkMemoryBarrier2` in the chain replace those of the dependency.
        let wide = |stages: Stage| vk::PipelineStageFlags2::from_raw(stages.as_raw().into());
        let wide_access = |access: Access| vk::AccessFlags2::from_raw(access.as_raw().into());
        let mut memory = vk::MemoryBarrier2::default()
            .src_stage_mask(wide(dependency.src_stage_mask))
            .src_access_mask(wide_access(dependency.src_access_mask))
            .dst_stage_mask(wide(dependency.dst_stage_mask))
            .dst_access_mask(wide_access(dependency.dst_access_mask));
        (second.src_stage_mask, second.dst_stage_mask) = (XFB, XFB);
        (second.src_access_mask, second.dst_access_mask) = (XFB_WRITE, XFB_WRITE);
        let all = [second.push_next(&mut memory)];
        let info = vk::RenderPassCreateInfo2::default().dependencies(&all);
        let (new, barriers3) = render_pass2(&info, also_compute, arena);
        let new = slice(new.p_dependencies, new.dependency_count)[0];
        assert!(!(new.src_stage_mask | new.dst_stage_mask).intersects(XFB));
        assert!(!(new.src_access_mask | new.dst_access_mask).intersects(XFB_WRITE));
        let memory = all_of::<vk::MemoryBarrier2<'_>>(new.p_next).next().unwrap();
        assert_eq!(memory.src_stage_mask, wide(masks.0.0));
        assert_eq!(memory.src_access_mask, wide_access(masks.0.1));
        assert_eq!(memory.dst_stage_mask, wide(masks.1.0));
        assert_eq!(memory.dst_access_mask, wide_access(masks.1.1));
        assert_eq!(barriers, barriers3);
        (masks, barriers)
    })
}

#[test]
fn from_outside() {
    let src = (Stage::TRANSFER, Access::TRANSFER_WRITE);
    let dst = (Stage::VERTEX_INPUT, Access::VERTEX_ATTRIBUTE_READ);
    let before = barrier(src, (Stage::COMPUTE_SHADER, Access::SHADER_READ));
    let (masks, barriers) = translated(dependency((EXTERNAL, 0), src, dst), true);
    // Captures read the vertices in compute shaders, so a barrier is recorded before the captures. The draws of the
    // pass read the vertices as before, so the dependency itself is unchanged.
    assert_eq!(masks, (src, dst));
    assert_eq!(barriers, CaptureBarriers { before, ..Default::default() });

    // Earlier captures were dispatched outside of the pass, so the external side includes compute.
    let (masks, barriers) = translated(dependency((EXTERNAL, 0), (XFB, XFB_WRITE), dst), true);
    let dispatches = (Stage::COMPUTE_SHADER, Access::SHADER_WRITE);
    assert_eq!(masks, (dispatches, dst));
    let before = barrier(dispatches, (Stage::COMPUTE_SHADER, Access::SHADER_READ));
    assert_eq!(barriers, CaptureBarriers { before, ..Default::default() });

    // Writes to attachments do not affect captures, so there is no barrier.
    let output = (Stage::COLOR_ATTACHMENT_OUTPUT, Access::COLOR_ATTACHMENT_WRITE);
    let (_, barriers) = translated(dependency((EXTERNAL, 0), src, output), true);
    assert_eq!(barriers, CaptureBarriers::default());
}

#[test]
fn to_outside() {
    let dst = (Stage::VERTEX_INPUT, Access::VERTEX_ATTRIBUTE_READ);
    let (masks, barriers) = translated(dependency((0, EXTERNAL), (XFB, XFB_WRITE), dst), true);
    let pulls = (
        Stage::VERTEX_INPUT | Stage::COMPUTE_SHADER,
        Access::VERTEX_ATTRIBUTE_READ | Access::SHADER_READ,
    );
    assert_eq!(masks, ((Stage::VERTEX_SHADER, Access::empty()), pulls));
    let after_pass = barrier((Stage::COMPUTE_SHADER, Access::SHADER_WRITE), pulls);
    assert_eq!(barriers, CaptureBarriers { after_pass, ..Default::default() });
    // In a subpass dependency, `ALL_COMMANDS` means the graphics stages. One of these is transform feedback, for which
    // captures stand, so `COMPUTE_SHADER` is added on the side outside of the pass.
    let dst = (Stage::ALL_COMMANDS, Access::MEMORY_READ);
    let (masks, _) = translated(dependency((0, EXTERNAL), (XFB, XFB_WRITE), dst), true);
    assert!(masks.1.0.contains(Stage::ALL_COMMANDS | Stage::COMPUTE_SHADER));
}

#[test]
fn within() {
    let (src, counters) = (Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT, Stage::DRAW_INDIRECT);
    let dst = (counters | XFB, Access::TRANSFORM_FEEDBACK_COUNTER_READ_EXT);
    for subpasses in [(0, 0), (0, 1)] {
        let (masks, barriers) = translated(dependency(subpasses, (XFB, src), dst), true);
        let none = Access::empty();
        let draws = Stage::DRAW_INDIRECT | Stage::VERTEX_SHADER;
        assert_eq!(masks, ((Stage::VERTEX_SHADER, none), (draws, none)));
        let writes = (Stage::COMPUTE_SHADER, Access::SHADER_READ | Access::SHADER_WRITE);
        let expected = CaptureBarriers {
            after_captures: barrier(writes, (Stage::DRAW_INDIRECT, none)),
            captures_wait_for_captures: true,
            orders_captures: true,
            ..Default::default()
        };
        assert_eq!(barriers, expected);
    }
    let fragments = (Stage::FRAGMENT_SHADER, Access::SHADER_WRITE);
    let (masks, barriers) = translated(dependency((0, 0), fragments, fragments), true);
    assert_eq!(masks, (fragments, fragments));
    // A dependency within the pass may make a draw wait for a capture. The draw may write data that the capture reads.
    assert!(!barriers.captures_wait_for_captures && barriers.orders_captures);
}

/// Tests can omit the stages of captures. The bits of the extension are removed even then.
#[test]
fn left_out() {
    let dst = (XFB, XFB_WRITE);
    for subpasses in [(EXTERNAL, 0), (0, EXTERNAL), (0, 0)] {
        let (masks, barriers) = translated(dependency(subpasses, dst, dst), false);
        assert_eq!(barriers, CaptureBarriers::default());
        let stages = masks.0.0 | masks.1.0;
        assert!(!stages.intersects(XFB | Stage::COMPUTE_SHADER));
        assert!(!masks.0.0.is_empty() && !masks.1.0.is_empty());
        assert!((masks.0.1 | masks.1.1).is_empty());
    }
}
