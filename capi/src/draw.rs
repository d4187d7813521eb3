//! The commands between the beginning and the end of a capture, which bind and draw.
//!
//! They are collected, and recorded when the capture ends.

use std::ffi::c_void;

use ash::vk;
use vkxfb::runtime::{Draw, DrawIndexed, IndexBuffer, IndexType, IndirectDraw};

use crate::arguments::{array, required, topology};
use crate::capture::{VkxfbBufferRange, VkxfbCapture, command, vertex_buffers_from};
use crate::error::{Error, VkxfbResult};
use crate::extensible::{extensible, read};
use crate::pipeline::VkxfbPipeline;

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
    /// arguments of so many draws.
    pub draw_count: u32,
    /// Bytes from the arguments of one draw to those of the next, a multiple of 4.
    pub stride: u32,
    /// A buffer with the number of draws, or `VK_NULL_HANDLE`.
    pub count_buffer: vk::Buffer,
    /// Offset in bytes of the number in `countBuffer`, a multiple of 4.
    pub count_buffer_offset: vk::DeviceSize,
}

extensible!(VkxfbIndirectDraw { ..count_buffer_offset });

/// Binds another pipeline for the draws that follow. Its records must have the same sizes and vertex
/// streams as those of the first pipeline.
///
/// # Safety
/// `capture` and `pipeline` are live and belong to the same context. The pipeline lives until
/// command buffers with the capture are reset or freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_bind_pipeline(
    capture: *mut VkxfbCapture,
    pipeline: *const VkxfbPipeline,
) -> VkxfbResult {
    // SAFETY: the caller's contract.
    unsafe {
        command(capture, |capture| {
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
    // SAFETY: the caller's contract.
    unsafe {
        command(capture, |capture| {
            let buffers = array(p_buffers, buffer_count, "pBuffers")?;
            let buffers = vertex_buffers_from(first_binding, buffers);
            Ok(capture.recorder().bind_vertex_buffers(&buffers)?)
        })
    }
}

/// Binds an index buffer for the draws that follow, of `VK_INDEX_TYPE_UINT16`,
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
    // SAFETY: the caller's contract.
    unsafe {
        command(capture, |capture| {
            let &VkxfbBufferRange { buffer, offset, size } = required(p_buffer, "pBuffer")?;
            let index_type = IndexType::try_from(index_type)
                .map_err(|_| Error::Argument(format!("indexType is {}", index_type.as_raw())))?;
            let buffer = IndexBuffer { buffer, offset, size, index_type };
            Ok(capture.recorder().bind_index_buffer(&buffer)?)
        })
    }
}

/// Binds descriptor sets for the draws that follow.
///
/// # Safety
/// `capture` is live. The sets are compatible with the set layouts of the pipeline, and are not
/// changed until command buffers with the capture are reset or freed. There is one dynamic offset
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
    // SAFETY: the caller's contract.
    unsafe {
        command(capture, |capture| {
            let sets = array(p_descriptor_sets, descriptor_set_count, "pDescriptorSets")?;
            let offsets = array(p_dynamic_offsets, dynamic_offset_count, "pDynamicOffsets")?;
            Ok(capture.recorder().bind_descriptor_sets(first_set, sets, offsets)?)
        })
    }
}

/// Updates push constants for the draws that follow, `offset` bytes from the start of the shader's
/// block as for `vkCmdPushConstants`. Push constants stay valid until the end of the capture; what
/// `vkCmdPushConstants` sets is not seen.
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
    // SAFETY: the caller's contract.
    unsafe {
        command(capture, |capture| {
            let bytes = array(p_values.cast::<u8>(), size, "pValues")?;
            Ok(capture.recorder().push_constants(offset, bytes)?)
        })
    }
}

/// Captures a draw without indices. As for all draws, `primitiveTopology` is that of the pipeline,
/// unless the pipeline was made with `dynamicTopology`. Its primitives are those that a geometry shader
/// takes.
///
/// # Safety
/// `capture` is live, and `pDraw` points to a valid structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_draw(
    capture: *mut VkxfbCapture,
    primitive_topology: vk::PrimitiveTopology,
    p_draw: *const vk::DrawIndirectCommand,
) -> VkxfbResult {
    // SAFETY: the caller's contract.
    unsafe {
        command(capture, |capture| {
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
    // SAFETY: the caller's contract.
    unsafe {
        command(capture, |capture| {
            let draw = DrawIndexed::from(*required(p_draw, "pDraw")?);
            Ok(capture.recorder().draw_indexed(topology(primitive_topology)?, &draw)?)
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
    // SAFETY: the caller's contract.
    unsafe {
        command(capture, |capture| {
            let draw = read(p_draw, "pDraw")?.as_runtime();
            Ok(capture.recorder().draw_indirect(topology(primitive_topology)?, &draw)?)
        })
    }
}

/// Captures draws with the bound index buffer, whose arguments are in a buffer, as
/// `VkDrawIndexedIndirectCommand` structures.
///
/// # Safety
/// As `vkxfb_capture_draw_indirect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_draw_indexed_indirect(
    capture: *mut VkxfbCapture,
    primitive_topology: vk::PrimitiveTopology,
    p_draw: *const VkxfbIndirectDraw,
) -> VkxfbResult {
    // SAFETY: the caller's contract.
    unsafe {
        command(capture, |capture| {
            let draw = read(p_draw, "pDraw")?.as_runtime();
            Ok(capture.recorder().draw_indexed_indirect(topology(primitive_topology)?, &draw)?)
        })
    }
}

impl VkxfbIndirectDraw {
    fn as_runtime(&self) -> IndirectDraw {
        let has_count = self.count_buffer != vk::Buffer::null();
        IndirectDraw {
            buffer: self.buffer,
            offset: self.offset,
            draw_count: self.draw_count,
            stride: self.stride,
            count: has_count.then_some((self.count_buffer, self.count_buffer_offset)),
        }
    }
}
