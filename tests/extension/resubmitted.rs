//! Command buffers that are executed several times without being recorded again, natively and with the Vulkan layer:
//! each execution captures behind what the one before it has captured.

use ash::vk;

use super::program::{self, Program};
use crate::common;
use crate::common::{attachment, discard, layer};

const VERTICES: u32 = 3;
/// How often the capture is executed: by each of two primary command buffers twice, each of which is submitted twice.
const EXECUTIONS: u32 = 8;

/// Captures in a secondary command buffer that executes in passes of others, or in the primary ones themselves. Returns
/// what is captured, and the counter.
fn run(is_secondary: bool, more: vk::BufferUsageFlags) -> (Vec<u32>, u32) {
    let mut device = Program::open();
    let dwords = (VERTICES * (EXECUTIONS + 1)) as usize;
    use vk::BufferUsageFlags as Usage;
    let (target, mapped) = device.buffer(dwords, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    let usage = Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT | more;
    let (counters, counter) = device.buffer(1, usage);
    let (raw, functions) = (&device.raw, device.xfb());
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        std::slice::from_raw_parts_mut(mapped, dwords).fill(u32::MAX);
        counter.write(0);
        let layout = raw.create_pipeline_layout(&Default::default(), None).unwrap();
        let pipeline = discard::pipeline(raw, layout, &common::compile(common::CAPTURES, &[]));
        let pool = device.command_pool();
        let allocate = |level, count| device.command_buffers(pool, level, count);
        let capture = |cmd| {
            raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            let size = 4 * dwords as u64;
            functions.bind_target(cmd, target, 0, size);
            let offset = [0_u64];
            let begin = functions.cmd_begin_transform_feedback_ext;
            begin(cmd, 0, 1, &raw const counters, offset.as_ptr());
            raw.cmd_draw(cmd, VERTICES, 1, 0, 0);
            (functions.cmd_end_transform_feedback_ext)(cmd, 0, 1, &counters, offset.as_ptr());
        };
        let again = vk::CommandBufferUsageFlags::SIMULTANEOUS_USE;
        let secondary = allocate(vk::CommandBufferLevel::SECONDARY, 1)[0];
        if is_secondary {
            let mut rendering = vk::CommandBufferInheritanceRenderingInfo::default()
                .rasterization_samples(vk::SampleCountFlags::TYPE_1);
            let inherited = vk::CommandBufferInheritanceInfo::default().push_next(&mut rendering);
            let info = vk::CommandBufferBeginInfo::default()
                .flags(again | vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE)
                .inheritance_info(&inherited);
            raw.begin_command_buffer(secondary, &info).unwrap();
            capture(secondary);
            raw.end_command_buffer(secondary).unwrap();
        }
        let primaries = allocate(vk::CommandBufferLevel::PRIMARY, 2);
        for cmd in &primaries {
            let info = vk::CommandBufferBeginInfo::default().flags(again);
            raw.begin_command_buffer(*cmd, &info).unwrap();
            for _ in 0..2 {
                use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
                let captures = Access::TRANSFORM_FEEDBACK_WRITE_EXT
                    | Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT;
                let accesses = captures | Access::TRANSFORM_FEEDBACK_COUNTER_READ_EXT;
                let stages = Stage::TRANSFORM_FEEDBACK_EXT | Stage::DRAW_INDIRECT;
                device.barrier(*cmd, (stages, captures), (stages, accesses));
                let contents = if is_secondary {
                    vk::RenderingFlags::CONTENTS_SECONDARY_COMMAND_BUFFERS
                } else {
                    vk::RenderingFlags::empty()
                };
                let area = attachment::area(1);
                let info =
                    vk::RenderingInfo::default().flags(contents).render_area(area).layer_count(1);
                raw.cmd_begin_rendering(*cmd, &info);
                if is_secondary {
                    raw.cmd_execute_commands(*cmd, &[secondary])
                } else {
                    capture(*cmd)
                }
                raw.cmd_end_rendering(*cmd);
            }
            raw.end_command_buffer(*cmd).unwrap();
        }
        let all = [primaries[0], primaries[1], primaries[0], primaries[1]];
        device.execute(&all);
        let captured = std::slice::from_raw_parts(mapped, dwords).to_vec();
        raw.destroy_command_pool(pool, None);
        raw.destroy_pipeline(pipeline, None);
        raw.destroy_pipeline_layout(layout, None);
        (captured, counter.read())
    }
}

#[test]
fn executions_capture_one_behind_the_other() {
    if !program::has(&[]) {
        return;
    }
    // On the layer, captures are recorded after the pass, or before it if there is a buffer with indirect usage.
    for more in [vk::BufferUsageFlags::empty(), vk::BufferUsageFlags::INDIRECT_BUFFER] {
        for is_secondary in [false, true] {
            let (captured, counter) = run(is_secondary, more);
            let mut expected: Vec<u32> = (0..EXECUTIONS).flat_map(|_| 0..VERTICES).collect();
            expected.resize(captured.len(), u32::MAX);
            assert_eq!(captured, expected, "in a secondary command buffer: {is_secondary}");
            assert_eq!(counter, 4 * VERTICES * EXECUTIONS);
        }
    }
}

#[test]
fn executions_capture_one_behind_the_other_on_the_layer() {
    for run in [layer::run_on_it, layer::run_below_validation] {
        run(executions_capture_one_behind_the_other, &[]);
        run(executions_capture_one_behind_the_other, &[("VKXFB_DESCRIPTORS", "1")]);
    }
}
