use ash::vk::Handle;

use super::*;

const VERTEX: vk::ShaderStageFlags = vk::ShaderStageFlags::VERTEX;
const FRAGMENT: vk::ShaderStageFlags = vk::ShaderStageFlags::FRAGMENT;

fn push(state: &mut State, stages: vk::ShaderStageFlags, offset: u32, bytes: &[u8]) {
    state.push(vk::PipelineLayout::null(), stages, offset, bytes);
}

/// Returns the pushes that are kept, as offsets and bytes.
fn pushes(disturbed: &Disturbed) -> Vec<(u32, &[u8])> {
    disturbed.pushes.iter().map(|push| (push.offset, &push.bytes[..])).collect()
}

#[test]
fn a_range_that_is_pushed_again_keeps_its_place() {
    let mut state = State::default();
    push(&mut state, VERTEX, 0, &[1; 4]);
    push(&mut state, FRAGMENT, 4, &[2; 4]);
    push(&mut state, VERTEX, 0, &[3; 4]);
    assert_eq!(pushes(&state.disturbed.now), [(0, &[3; 4][..]), (4, &[2; 4][..])]);
    assert!(state.changed.constants);
}

#[test]
fn ranges_that_overlap_keep_their_order() {
    let mut state = State::default();
    push(&mut state, VERTEX, 0, &[1; 8]);
    push(&mut state, VERTEX, 4, &[2; 8]);
    // The range is that of the first push, but what it writes must win over the second.
    push(&mut state, VERTEX, 0, &[3; 8]);
    assert_eq!(pushes(&state.disturbed.now), [(4, &[2; 8][..]), (0, &[3; 8][..])]);
    let mut constants = vec![9; 20];
    state.disturbed.captured_constants(&mut constants);
    assert_eq!(constants, [3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2]);
    // Those that a push overwrites completely are forgotten.
    push(&mut state, VERTEX, 0, &[4; 12]);
    assert_eq!(pushes(&state.disturbed.now), [(0, &[4; 12][..])]);
}

#[test]
fn captures_before_a_pass_restore_what_it_began_with() {
    let mut state = State::default();
    push(&mut state, VERTEX, 0, &[1]);
    for value in [2, 5] {
        state.disturbed.begin_pass(None);
        let began = state.disturbed.before().pushes[0].bytes[0];
        for value in [value, value + 1, value + 2] {
            push(&mut state, VERTEX, 0, &[value]);
            assert_eq!(pushes(state.disturbed.before()), [(0, &[began][..])]);
        }
        state.disturbed.end_pass();
        assert_eq!(pushes(state.disturbed.before()), [(0, &[value + 2][..])]);
        push(&mut state, VERTEX, 0, &[value + 2]);
        assert!(state.disturbed.before.is_none());
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
    state.forget(false);
    assert!(state.vertex_buffers.iter().all(|bound| bound.buffer.is_null()));
    assert_eq!((state.vertex_buffers.len(), pushes(state.disturbed.before()).len()), (3, 0));
    assert!(state.capture_buffers[1].is_some() && state.conditional_rendering.is_some());
    state.reset();
    assert!(state.capture_buffers[1].is_none() && state.conditional_rendering.is_none());
    assert_eq!(state.vertex_buffers.len(), 3);
}
