//! Captures without any draw also write their counters: those of the driver, and those of the
//! Vulkan layer.

use ash::vk;

use super::program::{self, Program};
use crate::common;
use crate::common::{attachment, discard, layer};

const CAPTURES_NOTHING: &str = "#version 450
    void main() {
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

const BEFORE: u32 = 0xa5a5_a5a5;

/// The positions of the counters of a Begin and of its End, in dwords of one buffer.
type Ends = (Option<u64>, Option<u64>);

/// Returns the dwords of a buffer of counters after captures without draws.
fn run(shader: &str, before: [u32; 4], captures: &[Ends]) -> Vec<u32> {
    let mut device = Program::open();
    use vk::BufferUsageFlags as Usage;
    let (target, _) = device.buffer(16, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    let (counters, mapped) = device.buffer(4, Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT);
    let mapped = mapped.cast::<[u32; 4]>();
    let (raw, functions) = (&device.raw, device.xfb());
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        mapped.write(before);
        let layout = raw.create_pipeline_layout(&Default::default(), None).unwrap();
        let pipeline = discard::pipeline(raw, layout, &common::compile(shader, &[]));
        let writes = (
            vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT,
            vk::AccessFlags::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT,
        );
        device.submit(writes, |cmd| {
            raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            functions.bind_target(cmd, target, 0, 64);
            attachment::begin_rendering(raw, cmd);
            for (begin, end) in captures {
                let at = |counter: &Option<u64>| counter.map(|number| (counters, number * 4));
                let (begin, end) = (at(begin), at(end));
                let count = |counter: &Option<_>| u32::from(counter.is_some());
                let ((first, from), (last, to)) =
                    (begin.unwrap_or_default(), end.unwrap_or_default());
                (functions.cmd_begin_transform_feedback_ext)(cmd, 0, count(&begin), &first, &from);
                (functions.cmd_end_transform_feedback_ext)(cmd, 0, count(&end), &last, &to);
            }
            raw.cmd_end_rendering(cmd);
        });
        let found = mapped.read().to_vec();
        raw.destroy_pipeline(pipeline, None);
        raw.destroy_pipeline_layout(layout, None);
        found
    }
}

#[test]
fn counters_are_written_without_draws() {
    if !program::has(&[]) {
        return;
    }
    // From no counter, from a counter to itself, and from a counter to another one.
    let before = [BEFORE, 8, 16, BEFORE];
    let ends = [(None, Some(0)), (Some(1), Some(1)), (Some(2), Some(3))];
    assert_eq!(run(common::CAPTURES, before, &ends), [0, 8, 16, 16]);
}

/// Valid programs do not do this (VUID-vkCmdBeginTransformFeedbackEXT-None-04128), and drivers
/// differ.
#[test]
fn counters_are_written_without_a_pipeline_that_captures() {
    if !program::has(&[]) {
        return;
    }
    if layer::is_there() {
        let ends = [(None, Some(0)), (Some(1), Some(1))];
        let before = [BEFORE, 8, BEFORE, BEFORE];
        assert_eq!(run(CAPTURES_NOTHING, before, &ends), [0, 8, BEFORE, BEFORE]);
    }
}

#[test]
fn counters_hold_on_the_layer() {
    layer::run_on_it(counters_are_written_without_draws, &[]);
    let test = counters_are_written_without_a_pipeline_that_captures;
    layer::run_on_it(test, &[("VKXFB_TEST_VALIDATION", "0")]);
}
