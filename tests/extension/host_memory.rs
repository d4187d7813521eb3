//! Command buffers with more captures than the host has memory for: with the Vulkan layer, `vkEndCommandBuffer` returns
//! an error, as drivers do, and the program goes on.
#![cfg(target_os = "linux")]

use std::ffi::{c_int, c_ulong};

use ash::vk;

use super::program::{self, Program};
use crate::common::native::WRITES;
use crate::common::{self, attachment, discard, layer};

/// The number of captures of a command buffer. They take more than [`LEFT`].
const CAPTURES: u32 = 300_000;
/// The number of bytes of address space that is left.
const LEFT: u64 = 24 << 20;
const VERTICES: u32 = 3;

/// `RLIMIT_AS`
const ADDRESS_SPACE: c_int = 9;

// Of the C library, which the standard library links. The limits are the soft and the hard one.
unsafe extern "C" {
    fn getrlimit(resource: c_int, limits: *mut [c_ulong; 2]) -> c_int;
    fn setrlimit(resource: c_int, limits: *const [c_ulong; 2]) -> c_int;
}

/// Limits the address space of this process to what it has and `left` bytes, or not at all if that is `None`.
fn limit(left: Option<u64>) {
    let mut limits = [0; 2];
    // SAFETY: there is room for the limits.
    assert_eq!(unsafe { getrlimit(ADDRESS_SPACE, &raw mut limits) }, 0);
    limits[0] = left.map_or(limits[1], |left| {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
        (4096 * pages + left) as c_ulong
    });
    // SAFETY: the limits are valid.
    assert_eq!(unsafe { setrlimit(ADDRESS_SPACE, &raw const limits) }, 0);
}

struct Scene {
    program: Program,
    pipeline: vk::Pipeline,
    target: (vk::Buffer, *mut u32),
    /// The arguments of a draw. Null for direct draws.
    arguments: vk::Buffer,
}

impl Scene {
    /// Records so many captures, each of a draw.
    ///
    /// # Safety
    /// The command buffer is being recorded.
    unsafe fn record(&self, cmd: vk::CommandBuffer, captures: u32) {
        let (raw, xfb) = (&self.program.raw, self.program.xfb());
        let (offset, size) = (0, u64::from(4 * VERTICES));
        unsafe {
            attachment::begin_rendering(raw, cmd);
            raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, self.pipeline);
            xfb.bind_target(cmd, self.target.0, offset, size);
            for _ in 0..captures {
                xfb.begin(cmd);
                if self.arguments == vk::Buffer::null() {
                    raw.cmd_draw(cmd, VERTICES, 1, 0, 0)
                } else {
                    raw.cmd_draw_indirect(cmd, self.arguments, 0, 1, 0)
                }
                xfb.end(cmd);
            }
            raw.cmd_end_rendering(cmd);
        }
    }
}

#[test]
fn captures_without_memory_are_an_error() {
    if !layer::is_there() || !program::has(&[]) {
        return;
    }
    let program = Program::open();
    // SAFETY: every handle is of the device, and in use only until a submission is done.
    unsafe {
        let layout = program.raw.create_pipeline_layout(&Default::default(), None).unwrap();
        let words = common::compile(common::CAPTURES, &[]);
        let pipeline = discard::pipeline(&program.raw, layout, &words);
        let (target, arguments) = ((vk::Buffer::null(), std::ptr::null_mut()), vk::Buffer::null());
        let mut scene = Scene { program, pipeline, target, arguments };
        let usage = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT;
        scene.target = scene.program.buffer(VERTICES as usize, usage);
        // Captures of direct draws are collected together, and those of indirect draws apart.
        for is_direct in [true, false] {
            if !is_direct {
                let (buffer, mapped) =
                    scene.program.buffer(4, vk::BufferUsageFlags::INDIRECT_BUFFER);
                mapped.cast::<[u32; 4]>().write([VERTICES, 1, 0, 0]);
                scene.arguments = buffer;
            }
            let raw = &scene.program.raw;
            let pool = scene.program.command_pool();
            let cmd = scene.program.command_buffers(pool, vk::CommandBufferLevel::PRIMARY, 1)[0];
            raw.begin_command_buffer(cmd, &Default::default()).unwrap();
            limit(Some(LEFT));
            scene.record(cmd, CAPTURES);
            let ended = raw.end_command_buffer(cmd);
            limit(None);
            assert_eq!(ended, Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY), "{is_direct}");
            raw.destroy_command_pool(pool, None);
            let captured = scene.target.1.cast::<[u32; VERTICES as usize]>();
            captured.write([u32::MAX; 3]);
            scene.program.submit(WRITES, |cmd| scene.record(cmd, 2));
            assert_eq!(captured.read(), [0, 1, 2], "{is_direct}");
        }
        scene.program.raw.destroy_pipeline(pipeline, None);
        scene.program.raw.destroy_pipeline_layout(layout, None);
    }
}

#[test]
fn captures_without_memory_are_an_error_on_the_layer() {
    // The validation layer ends the process without memory.
    let variables = [("VKXFB_TEST_VALIDATION", "0")];
    layer::run_on_it(captures_without_memory_are_an_error, &variables);
}
