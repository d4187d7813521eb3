//! The commands between the beginning and the end of a capture, which bind objects, set state and
//! draw.
//!
//! The commands are collected, and recorded when the capture ends.

use std::ffi::c_void;

use ash::vk;
use vkxfb::runtime::{
    ByteCountDraw, ConditionalRendering, Draw, DrawIndexed, IndexBuffer, IndexType, IndirectDraw,
};

use crate::arguments::{array, provoking_vertex, required, topology};
use crate::buffers::{VkxfbBufferRange, VkxfbCounterBuffer};
use crate::capture::{VkxfbCapture, command};
use crate::context::Shared;
use crate::error::{Error, VkxfbResult};
use crate::extensible::{extensible, read};
use crate::pipeline::VkxfbPipeline;

/// The size of a condition in bytes.
const CONDITION: u64 = 4;
/// The size of a number of draws in bytes.
const DRAW_COUNT: u64 = 4;

/// Draws whose arguments the GPU reads from a buffer, as for `vkCmdDrawIndirect` and
/// `vkCmdDrawIndirectCount`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkxfbIndirectDraw {
    /// The `sizeof` of the structure, as `VKXFB_INIT` sets it.
    pub struct_size: usize,
    /// The buffer with the arguments, with the usage that `vkxfb_context_buffer_usage` returns.
    pub buffer: vk::Buffer,
    /// Offset in bytes of the arguments of the first draw, a multiple of 4.
    pub offset: vk::DeviceSize,
    /// Number of draws, or the maximum number if there is a `countBuffer`. The buffer contains the
    /// arguments of that many draws.
    pub draw_count: u32,
    /// Bytes from the arguments of one draw to those of the next, a multiple of 4.
    pub stride: u32,
    /// A buffer with the number of draws, or `VK_NULL_HANDLE`.
    pub count_buffer: vk::Buffer,
    /// Offset in bytes of the number in `countBuffer`, a multiple of 4.
    pub count_buffer_offset: vk::DeviceSize,
}

extensible!(VkxfbIndirectDraw { ..count_buffer_offset });

/// A draw of the vertices that a capture wrote, with the arguments of
/// `vkCmdDrawIndirectByteCountEXT`. It has `(counter - counterOffset) / vertexStride` vertices,
/// from vertex 0 on.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkxfbByteCountDraw {
    /// Number of instances.
    pub instance_count: u32,
    /// The first value of `gl_InstanceIndex`.
    pub first_instance: u32,
    /// The counter that `vkxfb_capture_end` wrote.
    pub counter_buffer: VkxfbCounterBuffer,
    /// Bytes that are subtracted from the counter, a multiple of 4.
    pub counter_offset: u32,
    /// The size of a vertex in bytes, a multiple of 4 and not 0. It is the size of a record of the
    /// capture buffer if the captured vertices are drawn unchanged.
    pub vertex_stride: u32,
}

/// Binds another pipeline for the draws that follow. Its records must have the same sizes and vertex
/// streams as those of the first pipeline.
///
/// # Safety
/// `capture` and `pipeline` are live and belong to the same context. The pipeline lives until the capture is
/// begun again, ended by `vkxfb_capture_end` or destroyed, and every command buffer that it was recorded or
/// played into is reset or freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_bind_pipeline(
    capture: *mut VkxfbCapture,
    pipeline: *const VkxfbPipeline,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_bind_pipeline", |capture| {
            let pipeline = required(pipeline, "pipeline")?;
            Ok(capture.recorder().bind_pipeline(&pipeline.pipeline)?)
        })
    }
}

/// Binds vertex buffers to the bindings from `firstBinding` on, for the draws that follow.
///
/// # Safety
/// `capture` is live; the requirements for the buffers are those of `VkxfbCaptureBeginInfo`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_bind_vertex_buffers(
    capture: *mut VkxfbCapture,
    first_binding: u32,
    buffer_count: u32,
    p_buffers: *const VkxfbBufferRange,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_bind_vertex_buffers", |capture| {
            let buffers = array(p_buffers, buffer_count, "pBuffers")?;
            let buffers = capture.vertex_buffers("pBuffers", first_binding, buffers, &[])?;
            Ok(capture.recorder().bind_vertex_buffers(&buffers)?)
        })
    }
}

/// Does what `vkxfb_capture_bind_vertex_buffers` does, with other strides than those of the
/// pipeline, as `vkCmdBindVertexBuffers2` sets them. `pStrides` has as many elements as `pBuffers`,
/// each at most `UINT32_MAX`. If it is NULL, the strides are those of the pipeline.
///
/// # Safety
/// The requirements are those of `vkxfb_capture_bind_vertex_buffers`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_bind_vertex_buffers2(
    capture: *mut VkxfbCapture,
    first_binding: u32,
    buffer_count: u32,
    p_buffers: *const VkxfbBufferRange,
    p_strides: *const vk::DeviceSize,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_bind_vertex_buffers2", |capture| {
            let buffers = array(p_buffers, buffer_count, "pBuffers")?;
            let strides =
                if p_strides.is_null() { &[] } else { array(p_strides, buffer_count, "pStrides")? };
            let strides = strides.iter().map(|&stride| {
                let large = || format!("an element of pStrides is {stride}: at most {}", u32::MAX);
                u32::try_from(stride).map_err(|_| Error::Argument(large()))
            });
            let strides: Vec<_> = strides.collect::<Result<_, _>>()?;
            let buffers = capture.vertex_buffers("pBuffers", first_binding, buffers, &strides)?;
            Ok(capture.recorder().bind_vertex_buffers(&buffers)?)
        })
    }
}

/// Binds an index buffer for the draws that follow. The type is `VK_INDEX_TYPE_UINT16`,
/// `VK_INDEX_TYPE_UINT32` or `VK_INDEX_TYPE_UINT8_EXT`. The offset must be a multiple of the size
/// of an index.
///
/// # Safety
/// `capture` is live, and `pBuffer` points to a valid structure; the requirements for the buffer
/// are those of `VkxfbCaptureBeginInfo`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_bind_index_buffer(
    capture: *mut VkxfbCapture,
    p_buffer: *const VkxfbBufferRange,
    index_type: vk::IndexType,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_bind_index_buffer", |capture| {
            let &VkxfbBufferRange { buffer, offset, size } = required(p_buffer, "pBuffer")?;
            let index_type = IndexType::try_from(index_type)
                .map_err(|_| Error::Argument(format!("indexType is {}", index_type.as_raw())))?;
            capture.shared.check_range(format_args!("pBuffer"), buffer, offset, size)?;
            let buffer = IndexBuffer { buffer, offset, size, index_type };
            Ok(capture.recorder().bind_index_buffer(&buffer)?)
        })
    }
}

/// Binds descriptor sets for the draws that follow. None of them may be `VK_NULL_HANDLE`: sets around one that is not
/// bound take two calls.
///
/// # Safety
/// `capture` is live. The sets are compatible with the set layouts of the pipeline. They are live and not
/// changed until the capture is begun again, ended by `vkxfb_capture_end` or destroyed, and every command
/// buffer that it was recorded or played into is reset or freed. There is one dynamic offset
/// for each dynamic descriptor, with the requirements of `vkCmdBindDescriptorSets`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_bind_descriptor_sets(
    capture: *mut VkxfbCapture,
    first_set: u32,
    descriptor_set_count: u32,
    p_descriptor_sets: *const vk::DescriptorSet,
    dynamic_offset_count: u32,
    p_dynamic_offsets: *const u32,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_bind_descriptor_sets", |capture| {
            let sets = array(p_descriptor_sets, descriptor_set_count, "pDescriptorSets")?;
            let offsets = array(p_dynamic_offsets, dynamic_offset_count, "pDynamicOffsets")?;
            if sets.contains(&vk::DescriptorSet::null()) {
                return Err(Error::NullElement("pDescriptorSets"));
            }
            Ok(capture.recorder().bind_descriptor_sets(first_set, sets, offsets)?)
        })
    }
}

/// Says that the application binds the sets `firstSet` to `firstSet + descriptorSetCount - 1`
/// itself, with `vkCmdBindDescriptorSets`, `vkCmdPushDescriptorSetKHR` or a similar command, at the
/// compute bind point and with the layout of `VkxfbPipelineProperties`. The draws that follow then
/// need no `vkxfb_capture_bind_descriptor_sets` for these sets. If captures use descriptors, some
/// draws fail nevertheless, because they need further compute shaders of the library: those with
/// counters, queries, indirect arguments, conditional rendering or primitive restart.
///
/// # Safety
/// `capture` is live. The sets are bound in the command buffer when `vkxfb_capture_end` records the draws.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_assume_descriptor_sets(
    capture: *mut VkxfbCapture,
    first_set: u32,
    descriptor_set_count: u32,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_assume_descriptor_sets", |capture| {
            Ok(capture.recorder().assume_descriptor_sets(first_set, descriptor_set_count)?)
        })
    }
}

/// Enables or disables primitive restart for the draws that follow, as
/// `vkCmdSetPrimitiveRestartEnable` does. The pipeline must have been created with
/// `primitiveRestartEnable`. At first primitive restart is enabled.
///
/// # Safety
/// `capture` is live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_set_primitive_restart_enable(
    capture: *mut VkxfbCapture,
    primitive_restart_enable: vk::Bool32,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_set_primitive_restart_enable", |capture| {
            Ok(capture.recorder().set_primitive_restart(primitive_restart_enable != vk::FALSE)?)
        })
    }
}

/// Sets the index that restarts primitives, instead of the largest index of the type, until another
/// index buffer is bound, as `vkCmdSetPrimitiveRestartIndexEXT` does.
///
/// # Safety
/// `capture` is live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_set_primitive_restart_index(
    capture: *mut VkxfbCapture,
    primitive_restart_index: u32,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_set_primitive_restart_index", |capture| {
            Ok(capture.recorder().set_primitive_restart_index(primitive_restart_index)?)
        })
    }
}

/// Sets the number of control points of a patch for the draws that follow, as `vkCmdSetPatchControlPointsEXT` does. At
/// first it is that of the pipeline, which must have tessellation shaders.
///
/// # Safety
/// `capture` is live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_set_patch_control_points(
    capture: *mut VkxfbCapture,
    patch_control_points: u32,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_set_patch_control_points", |capture| {
            Ok(capture.recorder().set_patch_control_points(patch_control_points)?)
        })
    }
}

/// Sets the provoking vertex of the draws that follow, as `vkCmdSetProvokingVertexModeEXT` does. At
/// first it is the provoking vertex of the pipeline.
///
/// # Safety
/// `capture` is live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_set_provoking_vertex_mode(
    capture: *mut VkxfbCapture,
    provoking_vertex_mode: vk::ProvokingVertexModeEXT,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_set_provoking_vertex_mode", |capture| {
            let mode = provoking_vertex(provoking_vertex_mode)?;
            Ok(capture.recorder().set_provoking_vertex(mode)?)
        })
    }
}

/// Begins conditional rendering, as `vkCmdBeginConditionalRenderingEXT` does: the device discards
/// the draws that follow if the dword in the buffer is 0 or, with
/// `VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT`, if it is not 0. A discarded draw captures nothing,
/// and adds to no query and no counter. The device needs neither the extension nor its feature.
/// Conditional rendering also ends when the capture ends.
///
/// # Safety
/// `capture` is live. `pConditionalRenderingBegin` points to a valid structure, whose chain is ignored; the
/// requirements for the buffer are those of `VkxfbCaptureBeginInfo`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_begin_conditional_rendering(
    capture: *mut VkxfbCapture,
    p_conditional_rendering_begin: *const vk::ConditionalRenderingBeginInfoEXT<'_>,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_begin_conditional_rendering", |capture| {
            let begin = required(p_conditional_rendering_begin, "pConditionalRenderingBegin")?;
            if begin.buffer == vk::Buffer::null() {
                return Err(Error::Null("buffer"));
            }
            let what = format_args!("the condition (buffer, offset)");
            capture.shared.check_range(what, begin.buffer, begin.offset, CONDITION)?;
            let condition = ConditionalRendering {
                buffer: begin.buffer,
                offset: begin.offset,
                inverted: begin.flags.contains(vk::ConditionalRenderingFlagsEXT::INVERTED),
            };
            Ok(capture.recorder().begin_conditional_rendering(&condition)?)
        })
    }
}

/// Ends conditional rendering, as `vkCmdEndConditionalRenderingEXT` does.
///
/// # Safety
/// `capture` is live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_end_conditional_rendering(
    capture: *mut VkxfbCapture,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_end_conditional_rendering", |capture| {
            Ok(capture.recorder().end_conditional_rendering()?)
        })
    }
}

/// Updates push constants for the draws that follow. `offset` is the offset in bytes in the
/// shader's block, as for `vkCmdPushConstants`. Push constants stay valid until the end of the
/// capture. Captures do not use the push constants that `vkCmdPushConstants` sets.
///
/// # Safety
/// `capture` is live, and `pValues` points to `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_push_constants(
    capture: *mut VkxfbCapture,
    offset: u32,
    size: u32,
    p_values: *const c_void,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_push_constants", |capture| {
            let bytes = array(p_values.cast::<u8>(), size, "pValues")?;
            Ok(capture.recorder().push_constants(offset, bytes)?)
        })
    }
}

/// Captures a draw without indices. `primitiveTopology` must be that of the pipeline, unless the
/// pipeline was created with `dynamicTopology`. This also holds for the other draws. If there is a
/// geometry shader, the topology must match its input primitives.
///
/// # Safety
/// `capture` is live, and `pDraw` points to a valid structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_draw(
    capture: *mut VkxfbCapture,
    primitive_topology: vk::PrimitiveTopology,
    p_draw: *const vk::DrawIndirectCommand,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_draw", |capture| {
            let draw = Draw::from(*required(p_draw, "pDraw")?);
            Ok(capture.recorder().draw(topology(primitive_topology)?, &draw)?)
        })
    }
}

/// Captures a draw with the bound index buffer.
///
/// # Safety
/// `capture` is live, and `pDraw` points to a valid structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_draw_indexed(
    capture: *mut VkxfbCapture,
    primitive_topology: vk::PrimitiveTopology,
    p_draw: *const vk::DrawIndexedIndirectCommand,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_draw_indexed", |capture| {
            let draw = DrawIndexed::from(*required(p_draw, "pDraw")?);
            Ok(capture.recorder().draw_indexed(topology(primitive_topology)?, &draw)?)
        })
    }
}

/// Captures several draws, in which `gl_DrawID` is 0, 1, 2 and so on, as for `vkCmdDrawMultiEXT`.
///
/// # Safety
/// `capture` is live, and `pDraws` points to `drawCount` structures.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_draw_multi(
    capture: *mut VkxfbCapture,
    primitive_topology: vk::PrimitiveTopology,
    draw_count: u32,
    p_draws: *const vk::DrawIndirectCommand,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_draw_multi", |capture| {
            let draws = array(p_draws, draw_count, "pDraws")?;
            let draws: Vec<_> = draws.iter().copied().map(Draw::from).collect();
            Ok(capture.recorder().draw_multi(topology(primitive_topology)?, &draws)?)
        })
    }
}

/// Captures several draws with the bound index buffer, in which `gl_DrawID` is 0, 1, 2 and so on, as for
/// `vkCmdDrawMultiIndexedEXT`.
///
/// # Safety
/// The requirements are those of `vkxfb_capture_draw_multi`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_draw_multi_indexed(
    capture: *mut VkxfbCapture,
    primitive_topology: vk::PrimitiveTopology,
    draw_count: u32,
    p_draws: *const vk::DrawIndexedIndirectCommand,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_draw_multi_indexed", |capture| {
            let draws = array(p_draws, draw_count, "pDraws")?;
            let draws: Vec<_> = draws.iter().copied().map(DrawIndexed::from).collect();
            Ok(capture.recorder().draw_multi_indexed(topology(primitive_topology)?, &draws)?)
        })
    }
}

/// Captures draws whose arguments are in a buffer, as `VkDrawIndirectCommand` structures.
///
/// # Safety
/// `capture` is live, and `pDraw` points to a valid structure; the requirements for its buffers are
/// those of `VkxfbCaptureBeginInfo`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_draw_indirect(
    capture: *mut VkxfbCapture,
    primitive_topology: vk::PrimitiveTopology,
    p_draw: *const VkxfbIndirectDraw,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_draw_indirect", |capture| {
            let command = size_of::<vk::DrawIndirectCommand>();
            let draw = read(p_draw, "pDraw")?.as_runtime(&capture.shared, command)?;
            Ok(capture.recorder().draw_indirect(topology(primitive_topology)?, &draw)?)
        })
    }
}

/// Captures draws with the bound index buffer, whose arguments are in a buffer, as
/// `VkDrawIndexedIndirectCommand` structures.
///
/// # Safety
/// The requirements are those of `vkxfb_capture_draw_indirect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_draw_indexed_indirect(
    capture: *mut VkxfbCapture,
    primitive_topology: vk::PrimitiveTopology,
    p_draw: *const VkxfbIndirectDraw,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_draw_indexed_indirect", |capture| {
            let command = size_of::<vk::DrawIndexedIndirectCommand>();
            let draw = read(p_draw, "pDraw")?.as_runtime(&capture.shared, command)?;
            Ok(capture.recorder().draw_indexed_indirect(topology(primitive_topology)?, &draw)?)
        })
    }
}

/// Captures a draw with the number of vertices that an earlier capture wrote, as for
/// `vkCmdDrawIndirectByteCountEXT`. To rasterize these vertices, see
/// `vkxfb_capture_record_draw_commands`.
///
/// # Safety
/// `capture` is live, and `pDraw` points to a valid structure; the requirements for its counter are those of
/// `VkxfbCaptureBeginInfo`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_draw_indirect_byte_count(
    capture: *mut VkxfbCapture,
    primitive_topology: vk::PrimitiveTopology,
    p_draw: *const VkxfbByteCountDraw,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_draw_indirect_byte_count", |capture| {
            let draw = required(p_draw, "pDraw")?;
            draw.counter_buffer.check(&capture.shared, format_args!("counterBuffer of pDraw"))?;
            let draw = draw.as_runtime()?;
            Ok(capture.recorder().draw_indirect_byte_count(topology(primitive_topology)?, &draw)?)
        })
    }
}

impl VkxfbByteCountDraw {
    pub(crate) fn as_runtime(&self) -> Result<ByteCountDraw, Error> {
        let Self { instance_count, first_instance, counter_buffer, counter_offset, vertex_stride } =
            *self;
        let counter = counter_buffer.counter()?;
        Ok(ByteCountDraw { instance_count, first_instance, counter, counter_offset, vertex_stride })
    }
}

/// Returns the number of bytes from the first of `count` commands to the end of the last one. Each
/// has `command` bytes.
pub(crate) fn size_of_commands(count: u32, stride: u32, command: usize) -> u64 {
    count.checked_sub(1).map_or(0, |last| u64::from(last) * u64::from(stride) + command as u64)
}

impl VkxfbIndirectDraw {
    /// Checks that the buffers contain the arguments of all draws, each of `command` bytes, and the
    /// number of draws.
    ///
    /// # Safety
    /// The buffers are null, or live ones of the device.
    unsafe fn as_runtime(&self, shared: &Shared, command: usize) -> Result<IndirectDraw, Error> {
        let &Self { buffer, offset, draw_count, stride, count_buffer, count_buffer_offset, .. } =
            self;
        unsafe {
            let what = format_args!("the last draw (buffer, offset, stride)");
            let size = size_of_commands(draw_count, stride, command);
            shared.check_range(what, buffer, offset, size)?;
            let what = format_args!("the number of draws (countBuffer, countBufferOffset)");
            shared.check_range(what, count_buffer, count_buffer_offset, DRAW_COUNT)?;
        }
        let has_count = count_buffer != vk::Buffer::null();
        let count = has_count.then_some((count_buffer, count_buffer_offset));
        Ok(IndirectDraw { buffer, offset, draw_count, stride, count })
    }
}
