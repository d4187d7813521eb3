//! Checks of the arguments of a capture. Checks that depend on the pipeline's shaders are in
//! [pulling](crate::runtime::pipelines::pulling) and [pipeline](crate::runtime::pipelines::pipeline).

#![forbid(unsafe_code)]

use crate::runtime::device::checks::{check_limit, multiple_of, multiple_of_4, not_whole_size};
use crate::runtime::device::context::Context;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::parameters::{
    ByteCountDraw, CaptureBuffer, CounterBuffer, IndexBuffer, IndirectDraw,
};
use crate::runtime::pipelines::pipeline::Pipeline;
use vkxfb_rewriter::capture::{Layout, MAX_XFB_BUFFERS};
use vkxfb_rewriter::counts::MAX_BUFFER_SIZE;
use vkxfb_rewriter::lower::Backend;

/// Checks the ranges of the capture buffers, and their number.
pub(super) fn check_capture_buffers(
    ctx: &Context,
    pipeline: &Pipeline,
    buffers: &[Option<CaptureBuffer>],
) -> Result<(), RuntimeError> {
    if buffers.len() > MAX_XFB_BUFFERS {
        let (count, max) = (buffers.len(), MAX_XFB_BUFFERS);
        return Err(RuntimeError::TooManyCaptureBuffers { count, max });
    }
    let (mut max, mut limit) = (MAX_BUFFER_SIZE, "the last dword that a 32-bit counter reaches");
    if pipeline.backend() == Backend::Native {
        match buffers.iter().rposition(Option::is_some) {
            Some(last) => {
                check_number(ctx, "the number of the last capture buffer, plus one", last)?;
            }
            None if pipeline.layout().outputs.is_empty() => {}
            None => return Err(RuntimeError::NoCaptureBuffer),
        }
        if let Some(support) = &ctx.capabilities().transform_feedback
            && support.max_buffer_size < max
        {
            (max, limit) = (support.max_buffer_size, "maxTransformFeedbackBufferSize");
        }
    }
    for (index, bound) in buffers.iter().enumerate() {
        let Some(bound) = bound else { continue };
        not_whole_size(|| format!("capture buffer {index}"), bound.size)?;
        multiple_of_4(|| format!("the offset of capture buffer {index}"), bound.offset)?;
        let what = || format!("the size of capture buffer {index} in bytes");
        check_limit(what, bound.size, limit, max)?;
    }
    Ok(())
}

/// Checks the counters at the begin or the end of a capture.
pub(super) fn check_counters(
    ctx: &Context,
    backend: Backend,
    counters: &[Option<CounterBuffer>],
) -> Result<(), RuntimeError> {
    if counters.len() > MAX_XFB_BUFFERS {
        let (count, max) = (counters.len(), MAX_XFB_BUFFERS);
        return Err(RuntimeError::TooManyCounters { count, max });
    }
    if backend == Backend::Native
        && let Some(last) = counters.iter().rposition(Option::is_some)
    {
        check_number(ctx, "the number of the last counter, plus one", last)?;
    }
    for (index, counter) in counters.iter().enumerate() {
        if let Some(counter) = counter {
            multiple_of_4(|| format!("the offset of counter {index}"), counter.offset)?;
        }
    }
    Ok(())
}

/// Checks that the end of a capture does not write two counters at the same address. At the begin of a capture, buffers
/// may share a counter.
pub(super) fn check_distinct(counters: &[Option<CounterBuffer>]) -> Result<(), RuntimeError> {
    for (second, counter) in counters.iter().enumerate() {
        // Counters cannot overlap partially, because offsets are multiples of 4.
        if counter.is_some()
            && let Some(first) = counters.iter().take(second).position(|other| other == counter)
        {
            return Err(RuntimeError::DuplicateCounter { first, second });
        }
    }
    Ok(())
}

/// Checks `number`, the index of a capture buffer or counter, against `maxTransformFeedbackBuffers` if the device has
/// native transform feedback. `what` names the buffer or counter in the error.
fn check_number(ctx: &Context, what: &str, number: usize) -> Result<(), RuntimeError> {
    let Some(support) = &ctx.capabilities().transform_feedback else { return Ok(()) };
    let limit = "maxTransformFeedbackBuffers";
    check_limit(|| what.to_owned(), number as u64 + 1, limit, support.max_buffers)
}

/// Checks that a pipeline has the same record strides and vertex streams as the pipeline that the
/// capture was begun with.
pub(super) fn check_buffers(
    begun_strides: &[Option<u32>; MAX_XFB_BUFFERS],
    begun_streams: &[u32; MAX_XFB_BUFFERS],
    pipeline: &Pipeline,
) -> Result<(), RuntimeError> {
    let Layout { strides, streams, .. } = *pipeline.layout();
    for buffer in 0..MAX_XFB_BUFFERS {
        let (begun, pipeline) = (begun_strides[buffer], strides[buffer]);
        if begun != pipeline {
            return Err(RuntimeError::StrideMismatch { buffer, begun, pipeline });
        }
        let (begun, pipeline) = (begun_streams[buffer], streams[buffer]);
        if begun != pipeline {
            return Err(RuntimeError::StreamMismatch { buffer, begun, pipeline });
        }
    }
    Ok(())
}

/// Checks the offset and the size of push constants.
pub(super) fn check_push_constants(
    ctx: &Context,
    offset: u32,
    bytes: &[u8],
) -> Result<(), RuntimeError> {
    multiple_of_4(|| "the offset of push constants".to_owned(), offset)?;
    multiple_of_4(|| "the size of push constants".to_owned(), bytes.len() as u64)?;
    let (size, max) = (bytes.len() as u64, ctx.capabilities().limits.max_push_constants);
    if u64::from(offset) + size <= u64::from(max) {
        Ok(())
    } else {
        Err(RuntimeError::PushConstantRange { offset, size, max })
    }
}

pub(super) fn check_index_buffer(buffer: &IndexBuffer) -> Result<(), RuntimeError> {
    not_whole_size(|| "the index buffer".to_owned(), buffer.size)?;
    let alignment = buffer.index_type.size();
    multiple_of(alignment, || "the offset of the index buffer".to_owned(), buffer.offset)
}

/// Checks that the `count` set numbers from `first` on belong to set layouts of the application. The number after the
/// application's last set belongs to the descriptor plan.
pub(super) fn check_set_range(
    pipeline: &Pipeline,
    first: u32,
    count: usize,
) -> Result<(), RuntimeError> {
    let max = pipeline.set_count();
    if count as u64 + u64::from(first) <= u64::from(max) {
        Ok(())
    } else {
        Err(RuntimeError::DescriptorSetRange { first, count, sets: max })
    }
}

/// Checks the offset and the stride of indirect commands, each of which has `command` bytes.
pub(super) fn check_indirect(draw: &IndirectDraw, command: u32) -> Result<(), RuntimeError> {
    multiple_of_4(|| "the offset of indirect arguments".to_owned(), draw.offset)?;
    multiple_of_4(|| "the stride of indirect arguments".to_owned(), draw.stride)?;
    if draw.draw_count > 1 && draw.stride < command {
        let (what, stride, size) = ("indirect arguments", draw.stride.into(), command.into());
        return Err(RuntimeError::SmallStride { what, stride, size });
    }
    match draw.count {
        Some((_, offset)) => multiple_of_4(|| "the offset of a draw count".to_owned(), offset),
        None => Ok(()),
    }
}

/// For the native backend: checks that the device has the limits, and was created with the features, that an indirect
/// draw needs.
pub(super) fn check_native_indirect(
    ctx: &Context,
    draw: &IndirectDraw,
) -> Result<(), RuntimeError> {
    // If the draw count is in a buffer, only the application can ensure that it does not exceed `maxDrawIndirectCount`.
    if draw.count.is_some() || draw.draw_count <= 1 {
        return Ok(());
    }
    if !ctx.enabled().multi_draw_indirect {
        let what = format!("a native indirect draw of {} draws", draw.draw_count);
        return Err(RuntimeError::FeatureNotEnabled { what, feature: "multiDrawIndirect" });
    }
    let max = ctx.capabilities().limits.max_draw_indirect_count;
    let what = || "the number of draws of an indirect draw".to_owned();
    check_limit(what, draw.draw_count, "maxDrawIndirectCount", max)
}

/// For the native backend: checks that the device supports byte-count draws and their stride.
pub(super) fn check_native_byte_count(
    ctx: &Context,
    draw: &ByteCountDraw,
) -> Result<(), RuntimeError> {
    let Some(support) = &ctx.capabilities().transform_feedback else { return Ok(()) };
    if !support.draw {
        let what = "a native byte-count draw".to_owned();
        return Err(RuntimeError::MissingProperty { what, property: "transformFeedbackDraw" });
    }
    let (limit, max) = ("maxTransformFeedbackBufferDataStride", support.max_buffer_data_stride);
    check_limit(|| "vertexStride".to_owned(), draw.vertex_stride, limit, max)
}

pub(crate) fn check_byte_count(draw: &ByteCountDraw) -> Result<(), RuntimeError> {
    multiple_of_4(|| "the offset of the counter".to_owned(), draw.counter.offset)?;
    multiple_of_4(|| "counterOffset".to_owned(), draw.counter_offset)?;
    multiple_of_4(|| "vertexStride".to_owned(), draw.vertex_stride)?;
    match draw.vertex_stride {
        0 => Err(RuntimeError::ZeroStride),
        _ => Ok(()),
    }
}
