//! Records kernels, which are compute shaders of the library, that convert counters to arguments of
//! `vkCmdDrawIndirect`, to draw captured vertices.

use std::fmt;

use ash::vk;
use vkxfb::runtime::{DrawCommands, LateDraws};

use crate::arguments::{array, create, owned, required, required_mut};
use crate::capture::VkxfbCapture;
use crate::context::Shared;
use crate::draw::{VkxfbByteCountDraw, size_of_commands};
use crate::error::{Error, VkxfbResult, guard, guard_quietly};

/// Records a kernel (a compute shader of the library) that writes commands for `vkCmdDrawIndirect`.
/// They draw what `vkCmdDrawIndirectByteCountEXT` would draw with the elements of `pDraws`. The
/// application binds the capture buffers as vertex buffers, and records `vkCmdDrawIndirect` with
/// the same buffer, offset, draw count and stride. The topology of its pipeline is a list of the
/// primitives that were captured.
///
/// The kernel writes a `VkDrawIndirectCommand` to `buffer` every `stride` bytes from `offset` on;
/// both are multiples of 4. The buffer must also have the usage
/// `VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT`.
///
/// Barriers order the kernel after captures, after draws that read earlier commands and after
/// transfers, and before the stage `VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT`. For the captured vertices
/// record `vkxfb_context_record_barrier`. The kernel overwrites the same state of the command
/// buffer as `vkxfb_capture_end`.
///
/// Only the memory of `capture` is used, until `vkxfb_capture_reset`. `capture` need not be begun.
/// If it is, the kernel is not a part of the capture. Returns `VKXFB_ERROR_UNAVAILABLE` if
/// `hasIndirectDraws` of `VkxfbContextProperties` is not true. If this fails, nothing is recorded.
///
/// # Safety
/// `capture` is live. `commandBuffer` is a command buffer of its device that is being recorded, for a queue with
/// graphics and compute, outside of a render pass instance and of conditional rendering. `pDraws` points to
/// `drawCount` valid structures. Until the command buffer is reset or freed, the buffers are live; they have the
/// usage that `vkxfb_context_buffer_usage` returns, and contain the counters and the commands. Counters that
/// other commands than captures wrote are visible to `VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT` and
/// `VK_ACCESS_SHADER_READ_BIT`. `firstInstance` is 0 unless the feature `drawIndirectFirstInstance` is enabled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_record_draw_commands(
    capture: *mut VkxfbCapture,
    command_buffer: vk::CommandBuffer,
    draw_count: u32,
    p_draws: *const VkxfbByteCountDraw,
    buffer: vk::Buffer,
    offset: vk::DeviceSize,
    stride: u32,
) -> VkxfbResult {
    guard(|| {
        let (capture, draws) =
            unsafe { (required_mut(capture, "capture")?, array(p_draws, draw_count, "pDraws")?) };
        let converted: Vec<_> =
            draws.iter().map(VkxfbByteCountDraw::as_runtime).collect::<Result<_, _>>()?;
        let commands = draw_commands(buffer, offset, stride)?;
        unsafe {
            for (index, draw) in draws.iter().enumerate() {
                let what = format_args!("counterBuffer of pDraws[{index}]");
                draw.counter_buffer.check(&capture.shared, what)?;
            }
            let what = format_args!("the last draw command (buffer, offset, stride)");
            check(&capture.shared, what, &commands, draw_count)?;
            capture.record(command_buffer, |_, shared, arena| {
                let (context, kernels) = (&shared.context, shared.kernels());
                kernels.write_draw_commands(context, arena, command_buffer, &converted, &commands)
            })
        }
    })
}

/// A recorded kernel that writes draw commands. Draws can be added to it until its command buffer
/// is submitted.
///
/// Only one thread at a time may use it.
pub struct VkxfbLateDraws {
    draws: LateDraws,
    /// The [`VkxfbCapture::memory`] that contains the draws. Nothing of the context is kept, so
    /// late draws may be destroyed after the device.
    memory: u64,
}

/// Records a kernel as `vkxfb_capture_record_draw_commands` does, for draws that are not known yet:
/// `vkxfb_late_draws_add` adds them. This allows recording a render pass whose draws need commands
/// that must be written before the pass.
///
/// Also returns `VKXFB_ERROR_UNAVAILABLE` if captures use descriptors, because then all buffers
/// must be known.
///
/// # Safety
/// The requirements are those of `vkxfb_capture_record_draw_commands`. `pLateDraws` points to
/// memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_late_draws_create(
    capture: *mut VkxfbCapture,
    command_buffer: vk::CommandBuffer,
    p_late_draws: *mut *mut VkxfbLateDraws,
) -> VkxfbResult {
    unsafe {
        create(p_late_draws, "pLateDraws", || {
            let capture = required_mut(capture, "capture")?;
            let draws = capture.record(command_buffer, |_, shared, arena| {
                let (context, kernels) = (&shared.context, shared.kernels());
                kernels.write_draw_commands_later(context, arena, command_buffer)
            })?;
            Ok(VkxfbLateDraws { draws, memory: capture.memory() })
        })
    }
}

/// Adds a draw: the kernel writes a `VkDrawIndirectCommand` at `offset` in `buffer`. If this fails,
/// the draw is not added. Returns `VKXFB_ERROR_INVALID_ARGUMENT` if `capture` is not the one that
/// `lateDraws` was created with, or was reset since then.
///
/// # Safety
/// `lateDraws` and `capture` are live. The command buffer of `lateDraws` is not being executed. The
/// other requirements are those of `vkxfb_capture_record_draw_commands`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_late_draws_add(
    late_draws: *mut VkxfbLateDraws,
    capture: *mut VkxfbCapture,
    p_draw: *const VkxfbByteCountDraw,
    buffer: vk::Buffer,
    offset: vk::DeviceSize,
) -> VkxfbResult {
    guard(|| {
        let (VkxfbLateDraws { draws, memory }, capture, draw) = unsafe {
            (
                required_mut(late_draws, "lateDraws")?,
                required_mut(capture, "capture")?,
                required(p_draw, "pDraw")?,
            )
        };
        let converted = draw.as_runtime()?;
        if *memory != capture.memory() {
            let message =
                "lateDraws was created with another capture, or the capture was reset since";
            return Err(Error::Argument(message.to_owned()));
        }
        let commands = draw_commands(buffer, offset, 0)?;
        unsafe {
            draw.counter_buffer.check(&capture.shared, format_args!("counterBuffer of pDraw"))?;
            let what = format_args!("the draw command (buffer, offset)");
            check(&capture.shared, what, &commands, 1)?;
            capture.with_memory(|_, shared, arena| {
                draws.push(&shared.context, arena, &converted, &commands)
            })
        }
    })
}

/// Destroys late draws. The kernel and its draws stay in the command buffer. This may be called
/// after the capture, the context and the device were destroyed. NULL is ignored.
///
/// # Safety
/// `lateDraws` is live or NULL, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_late_draws_destroy(late_draws: *mut VkxfbLateDraws) {
    guard_quietly(|| drop(unsafe { owned(late_draws) }));
}

fn draw_commands(
    buffer: vk::Buffer,
    offset: vk::DeviceSize,
    stride: u32,
) -> Result<DrawCommands, Error> {
    if buffer == vk::Buffer::null() {
        Err(Error::Null("buffer"))
    } else {
        Ok(DrawCommands { buffer, offset, stride })
    }
}

/// Checks that the buffer is large enough for `count` commands. `what` names the last command in
/// the message.
///
/// # Safety
/// The buffer is a live one of the device.
unsafe fn check(
    shared: &Shared,
    what: fmt::Arguments<'_>,
    commands: &DrawCommands,
    count: u32,
) -> Result<(), Error> {
    let &DrawCommands { buffer, offset, stride } = commands;
    let size = size_of_commands(count, stride, size_of::<vk::DrawIndirectCommand>());
    unsafe { shared.check_range(what, buffer, offset, size) }
}
