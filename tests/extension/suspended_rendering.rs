//! Dynamic rendering that is suspended in one command buffer and resumed in others: captures in its
//! parts, natively and with the Vulkan layer.

use ash::vk;

use super::program::{self, Program};
use crate::common;
use crate::common::bare::HOST_READS;
use crate::common::native::WRITES;
use crate::common::{attachment, discard, layer};

/// The parts of dynamic rendering in a command buffer: for each, whether it resumes, captures, and
/// suspends.
type Parts = &'static [[bool; 3]];

const VERTICES: u32 = 4;
const UNTOUCHED: u32 = 0xa5a5_a5a5;

/// Records and executes command buffers. Each part that captures continues after the previous one.
/// Returns the results of `vkEndCommandBuffer` and, if all succeeded, the captured data.
fn run(command_buffers: &[Parts]) -> (Vec<vk::Result>, Vec<u32>) {
    let mut device = Program::open();
    let dwords = command_buffers.concat().len() * VERTICES as usize;
    let usage = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT;
    let (target, mapped) = device.buffer(dwords, usage);
    let raw = &device.raw;
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        let mapped = std::slice::from_raw_parts_mut(mapped, dwords);
        mapped.fill(UNTOUCHED);
        let layout = raw.create_pipeline_layout(&Default::default(), None).unwrap();
        let pipeline = discard::pipeline(raw, layout, &common::compile(common::CAPTURES, &[]));
        let (pool, count) = (device.command_pool(), command_buffers.len() as u32 + 1);
        let handles = device.command_buffers(pool, vk::CommandBufferLevel::PRIMARY, count);
        let (last, handles) = handles.split_last().unwrap();
        let mut number = 0;
        let mut results = Vec::new();
        for (cmd, parts) in handles.iter().zip(command_buffers) {
            raw.begin_command_buffer(*cmd, &Default::default()).unwrap();
            for part in *parts {
                record(&device, *cmd, pipeline, target, number, *part);
                number += 1;
            }
            results.push(raw.end_command_buffer(*cmd).err().unwrap_or(vk::Result::SUCCESS));
        }
        if results.iter().all(|result| *result == vk::Result::SUCCESS) {
            raw.begin_command_buffer(*last, &Default::default()).unwrap();
            device.barrier(*last, WRITES, HOST_READS);
            raw.end_command_buffer(*last).unwrap();
            device.execute(&[handles, &[*last]].concat());
        }
        let captured = mapped.to_vec();
        raw.destroy_command_pool(pool, None);
        raw.destroy_pipeline(pipeline, None);
        raw.destroy_pipeline_layout(layout, None);
        (results, captured)
    }
}

/// # Safety
/// The command buffer is being recorded, and the handles are of the device.
unsafe fn record(
    program: &Program,
    cmd: vk::CommandBuffer,
    pipeline: vk::Pipeline,
    target: vk::Buffer,
    number: u32,
    [resumes, captures, suspends]: [bool; 3],
) {
    let functions = program.xfb();
    let device = &program.raw;
    let flag = |is_set, flag| if is_set { flag } else { vk::RenderingFlags::empty() };
    let flags = flag(resumes, vk::RenderingFlags::RESUMING)
        | flag(suspends, vk::RenderingFlags::SUSPENDING);
    let info =
        vk::RenderingInfo::default().flags(flags).render_area(attachment::area(1)).layer_count(1);
    unsafe {
        device.cmd_begin_rendering(cmd, &info);
        if captures {
            let size = u64::from(VERTICES) * 4;
            let offset = u64::from(number) * size;
            device.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            functions.bind_target(cmd, target, offset, size);
            functions.begin(cmd);
            device.cmd_draw(cmd, VERTICES, 1, number * VERTICES, 0);
            functions.end(cmd);
        }
        device.cmd_end_rendering(cmd);
    }
}

/// Returns the part that letters describe: it (r)esumes, (c)aptures, (s)uspends.
const fn part(letters: &str) -> [bool; 3] {
    let letters = letters.as_bytes();
    let mut found = [false; 3];
    let mut number = 0;
    while number < letters.len() {
        found[match letters[number] {
            b'r' => 0,
            b'c' => 1,
            _ => 2,
        }] = true;
        number += 1;
    }
    found
}

/// Command buffers with captures in various parts.
const SEQUENCES: [&[Parts]; 6] = [
    &[&[part("cs"), part("rcs"), part("rc")]],
    &[&[part("cs")], &[part("rc")]],
    &[&[part("c"), part("cs"), part("rcs")], &[part("rcs"), part("rc"), part("c")]],
    &[&[part("s"), part("rcs")], &[part("rcs"), part("r")]],
    &[&[part("cs")], &[part("rs")], &[part("rc")]],
    &[&[part("cs")], &[part("rs"), part("rs")], &[part("rcs"), part("rc")]],
];

/// Command buffers in which a part that captures is between others, and alone in its command
/// buffer.
const BETWEEN: &[Parts] = &[&[part("cs")], &[part("rcs")], &[part("r")]];

#[test]
fn parts_capture_wherever_they_are() {
    if !program::has(&[]) {
        return;
    }
    let right = |command_buffers: &[Parts], lost: &[u32]| {
        let (results, captured) = run(command_buffers);
        assert!(results.iter().all(|result| *result == vk::Result::SUCCESS), "{results:?}");
        for (number, [_, captures, _]) in (0..).zip(command_buffers.concat()) {
            for vertex in number * VERTICES..(number + 1) * VERTICES {
                let is_captured = captures && !lost.contains(&number);
                let expected = if is_captured { vertex } else { UNTOUCHED };
                assert_eq!(captured[vertex as usize], expected, "{command_buffers:?}");
            }
        }
    };
    SEQUENCES.into_iter().for_each(|sequence| right(sequence, &[]));
    match (layer::is_there(), layer::is_strict()) {
        (false, _) => right(BETWEEN, &[]),
        // Captures can be recorded neither before nor after such a part.
        (true, false) => right(BETWEEN, &[1]),
        (true, true) => {
            let (results, _) = run(BETWEEN);
            let refused = vk::Result::ERROR_UNKNOWN;
            assert_eq!(results, [vk::Result::SUCCESS, refused, vk::Result::SUCCESS]);
        }
    }
}

#[test]
fn parts_capture_wherever_they_are_on_the_layer() {
    for said in [
        layer::run_on_it(parts_capture_wherever_they_are, &[]),
        layer::run_below_validation(parts_capture_wherever_they_are, &[]),
        layer::run_on_it(parts_capture_wherever_they_are, &[layer::STRICT]),
    ] {
        assert!(said.is_none_or(|said| said.contains("resumed and suspended again")));
    }
}
