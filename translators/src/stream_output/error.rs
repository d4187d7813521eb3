//! The errors of converting Gallium's stream outputs.

use std::fmt;

use vkxfb_rewriter::capture::MAX_XFB_STRIDE;
use vkxfb_rewriter::lower::LowerError;

use crate::slots::VaryingSlot;

/// The reason why stream outputs cannot be converted to a capture list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureListError {
    /// The module is invalid, or has no such shader.
    #[error(transparent)]
    Shader(#[from] LowerError),
    /// A stream output does not match the shader.
    #[error(transparent)]
    Output(#[from] StreamOutputError),
}

/// A stream output that cannot be captured, with the field that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stream output {index}: {field} is {value}; {problem}")]
pub struct StreamOutputError {
    /// The index of the stream output in
    /// [`StreamOutputInfo::outputs`](super::StreamOutputInfo::outputs).
    pub index: usize,
    /// The invalid field.
    pub field: StreamOutputField,
    /// The value of the field.
    pub value: u32,
    /// What is wrong with the value.
    pub problem: StreamOutputProblem,
}

/// A field of `pipe_stream_output`. `Display` writes Gallium's spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "those of StreamOutput")]
pub enum StreamOutputField {
    RegisterIndex,
    StartComponent,
    NumComponents,
    OutputBuffer,
    DstOffset,
    Stream,
}

impl fmt::Display for StreamOutputField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::RegisterIndex => "register_index",
            Self::StartComponent => "start_component",
            Self::NumComponents => "num_components",
            Self::OutputBuffer => "output_buffer",
            Self::DstOffset => "dst_offset",
            Self::Stream => "stream",
        })
    }
}

/// What can be wrong with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
#[non_exhaustive]
pub enum StreamOutputProblem {
    #[error("it may be {min} to {max}")]
    Range { min: u32, max: u32 },
    #[error("the shader has that output in vertex stream {actual}")]
    Stream { actual: u32 },
    #[error("the shader writes {written} outputs")]
    NotWritten { written: usize },
    #[error("the shader has no output that is {slot}")]
    NoOutput { slot: VaryingSlot },
    #[error("{slot} has no component {component}")]
    NoComponent { slot: VaryingSlot, component: u32 },
    #[error("a 64-bit component of {slot} is captured by half")]
    SplitComponent { slot: VaryingSlot },
    #[error(
        "the stride of that buffer is {stride} dwords; it may be 1 to {max}",
        max = MAX_XFB_STRIDE / 4
    )]
    Stride { stride: u32 },
    #[error("it ends beyond the stride of {stride} dwords")]
    BeyondStride { stride: u32 },
    #[error("it overlaps stream output {other}")]
    Overlap { other: usize },
}
