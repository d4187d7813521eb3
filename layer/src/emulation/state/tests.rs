use ash::vk::Handle;
use vkxfb::runtime::descriptor_heaps::HeapRange;

use super::*;

const VERTEX: vk::ShaderStageFlags = vk::ShaderStageFlags::VERTEX;
const FRAGMENT: vk::ShaderStageFlags = vk::ShaderStageFlags::FRAGMENT;

fn push(state: &mut State, stages: vk::ShaderStageFlags, offset: u32, bytes: &[u8]) {
    state.push(vk::PipelineLayout::null(), stages, offset, bytes);
}

/// Returns the pushes that are kept, as offsets and bytes.
fn pushes(restorable: &RestorableState) -> Vec<(u32, &[u8])> {
    restorable.pushes.iter().map(|push| (push.offset, &push.bytes[..])).collect()
}

#[test]
fn a_range_that_is_pushed_again_keeps_its_place() {
    let mut state = State::default();
    push(&mut state, VERTEX, 0, &[1; 4]);
    push(&mut state, FRAGMENT, 4, &[2; 4]);
    push(&mut state, VERTEX, 0, &[3; 4]);
    assert_eq!(pushes(&state.restorable.now), [(0, &[3; 4][..]), (4, &[2; 4][..])]);
    assert!(state.changed.constants);
}

#[test]
fn ranges_that_overlap_keep_their_order() {
    let mut state = State::default();
    push(&mut state, VERTEX, 0, &[1; 8]);
    push(&mut state, VERTEX, 4, &[2; 8]);
    // The range is that of the first push, but what it writes must win over the second.
    push(&mut state, VERTEX, 0, &[3; 8]);
    assert_eq!(pushes(&state.restorable.now), [(4, &[2; 8][..]), (0, &[3; 8][..])]);
    let mut constants = vec![9; 20];
    state.restorable.captured_constants(&mut constants);
    assert_eq!(constants, [3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2]);
    // Those that a push overwrites completely are forgotten.
    push(&mut state, VERTEX, 0, &[4; 12]);
    assert_eq!(pushes(&state.restorable.now), [(0, &[4; 12][..])]);
}

#[test]
fn captures_before_a_pass_restore_what_it_began_with() {
    let mut state = State::default();
    push(&mut state, VERTEX, 0, &[1]);
    for value in [2, 5] {
        state.restorable.begin_pass(None);
        let began = state.restorable.before().pushes[0].bytes[0];
        for value in [value, value + 1, value + 2] {
            push(&mut state, VERTEX, 0, &[value]);
            assert_eq!(pushes(state.restorable.before()), [(0, &[began][..])]);
        }
        state.restorable.end_pass();
        assert_eq!(pushes(state.restorable.before()), [(0, &[value + 2][..])]);
        push(&mut state, VERTEX, 0, &[value + 2]);
        assert!(state.restorable.before.is_none());
    }
}

#[test]
fn what_secondary_command_buffers_leave_is_forgotten() {
    let mut limits = Limits::default();
    limits.max_vertex_bindings = 3;
    let mut state = State::new(&limits);
    let buffer = vk::Buffer::from_raw(1);
    let condition = ConditionalRendering { buffer, offset: 0, inverted: false };
    let capture = CaptureBuffer { buffer, offset: 0, size: 4 };
    state.vertex_buffers[2] = BoundVertexBuffer { buffer, offset: 4, size: 8, stride: Some(4) };
    state.capture_buffers[1] = Some(capture);
    state.set_condition(Some(condition));
    push(&mut state, VERTEX, 0, &[1]);
    state.forget(BoundHeaps::default());
    assert!(state.vertex_buffers.iter().all(|bound| bound.buffer.is_null()));
    assert_eq!((state.vertex_buffers.len(), pushes(state.restorable.before()).len()), (3, 0));
    assert!(state.capture_buffers[1].is_some() && state.conditional_rendering.is_some());
    state.reset();
    assert!(state.capture_buffers[1].is_none() && state.conditional_rendering.is_none());
    assert_eq!(state.vertex_buffers.len(), 3);
}

fn heap(address: vk::DeviceAddress) -> HeapRange {
    HeapRange { address, size: 64, reserved_offset: 0, reserved_size: 0 }
}

/// Descriptor sets and push constants invalidate heaps and push data, and the reverse.
#[test]
fn heaps_and_sets_invalidate_each_other() {
    let mut state = State::default();
    let both = BoundHeaps { resources: Some(heap(1)), samplers: Some(heap(2)) };
    let (none, set) = (vk::PipelineLayout::null(), vk::DescriptorSet::null());
    state.bind_set(vk::PipelineBindPoint::GRAPHICS, none, 0, set, &[]);
    push(&mut state, VERTEX, 0, &[1]);
    assert_eq!(state.restorable.before().descriptors(), DescriptorState::Sets);
    state.change_heaps().bound = both;
    assert_eq!(state.restorable.before().descriptors(), DescriptorState::Heaps(both));
    assert_eq!((state.sets.bound.len(), pushes(state.restorable.before()).len()), (0, 0));
    push(&mut state, VERTEX, 0, &[1]);
    assert_eq!(state.restorable.before().descriptors(), DescriptorState::Sets);
}

/// After secondary command buffers, a heap is bound of the kind that all of them inherit.
#[test]
fn inherited_heaps_stay_bound() {
    let bound = BoundHeaps { resources: Some(heap(1)), samplers: Some(heap(2)) };
    for (inherited, left) in [
        (bound, DescriptorState::Heaps(bound)),
        (
            BoundHeaps { samplers: None, ..bound },
            DescriptorState::Heaps(BoundHeaps { samplers: None, ..bound }),
        ),
        (BoundHeaps::default(), DescriptorState::Sets),
    ] {
        let mut state = State::default();
        state.change_heaps().bound = bound;
        state.forget(inherited);
        assert_eq!(state.restorable.before().descriptors(), left);
    }
}
