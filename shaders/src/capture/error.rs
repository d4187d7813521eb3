//! The errors of layouts and capture lists, and the names of outputs in messages.

use std::ops::RangeInclusive;

use spirv::Op;

use super::{CapturedOutput, MAX_XFB_BUFFERS, MAX_XFB_STRIDE};
use crate::spirv::Id;
use crate::spirv::declarations::Declarations;

/// The reason why a layout or a capture list is invalid or not supported. `output` names a variable or member, or is
/// the text by which a capture list names an output.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
#[non_exhaustive]
pub enum CaptureError {
    #[error(
        "the shader '{entry_point}' lacks the execution mode Xfb, and no outputs are named that are captured"
    )]
    NoXfbMode { entry_point: String },
    #[error("there is nothing to capture: no output has an Offset, and no list names one")]
    NothingCaptured,
    #[error("output {output} has an Offset, but no {missing}")]
    MissingDecoration { output: String, missing: &'static str },
    #[error(
        "output {output} has XfbBuffer {buffer}; the limit is {max} buffers",
        max = MAX_XFB_BUFFERS
    )]
    BufferLimit { output: String, buffer: u32 },
    #[error(
        "output {output} has the stride {stride} (XfbStride); it must be a multiple of 4 from 4 to {max}",
        max = MAX_XFB_STRIDE
    )]
    Stride { output: String, stride: u32 },
    #[error(
        "output {output} has the stride {stride} (XfbStride), but buffer {buffer} has {other} elsewhere"
    )]
    StrideConflict { output: String, buffer: u32, stride: u32, other: u32 },
    #[error("output {output} has Offset {offset}, which is no multiple of {alignment}")]
    Misaligned { output: String, offset: u32, alignment: u32 },
    #[error("output {output} ends at byte {end} of a record of {stride} bytes")]
    BeyondStride { output: String, end: u64, stride: u32 },
    #[error(
        "outputs {first} (bytes {} to {}) and {second} (bytes {} to {}) overlap in buffer {buffer}",
        .first_bytes.start(), .first_bytes.end(), .second_bytes.start(), .second_bytes.end()
    )]
    Overlap {
        first: String,
        first_bytes: RangeInclusive<u32>,
        second: String,
        second_bytes: RangeInclusive<u32>,
        buffer: u32,
    },
    #[error("output {output} goes to buffer {buffer}, for which the list has no stride")]
    MissingStride { output: String, buffer: u32 },
    #[error("the shader has no output {output}; it has: {found}")]
    NoSuchOutput { output: String, found: String },
    #[error("{output} is several outputs; name one of: {found}")]
    SeveralOutputs { output: String, found: String },
    #[error("the shader has no outputs, and so no {output}")]
    NoOutputs { output: String },
    #[error(
        "output {output} cannot be found: the module has no names (OpName); its outputs are: {found}"
    )]
    NoNames { output: String, found: String },
    #[error("output {output} ends inside a 64-bit component")]
    SplitComponent { output: String },
    #[error("{name} has a meaning only where varyings are interleaved")]
    SpecialName { name: String },
    #[error(
        "output {output} goes to vertex stream {stream}; only geometry shaders have others than stream 0, up to stream 3"
    )]
    Stream { output: String, stream: u32 },
    #[error(
        "output {output} goes to vertex stream {stream}, but buffer {buffer} captures stream {other}"
    )]
    StreamConflict { output: String, buffer: u32, stream: u32, other: u32 },
    #[error(
        "output {output} is {ty}; 32-bit and 64-bit numbers can be captured, and what they make up"
    )]
    UnsupportedType { output: String, ty: String },
    #[error("output {output} is an array of unknown length: {reason}")]
    ArrayLength { output: String, reason: LengthError },
}

/// The reason why the length of an array is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LengthError {
    /// The length is a specialisation constant, and
    /// [`specialize`](crate::spirv::specialization::specialize) was not called for the module.
    #[error("{0} is a specialisation constant that has no value yet")]
    NotSpecialized(Id),
    /// The length is an operation on specialisation constants that is not supported.
    #[error("{0} is the specialisation constant operation {1:?}, which cannot be computed here")]
    Operation(Id, Op),
    /// The length is not a 32-bit constant.
    #[error("{0} is no 32-bit constant")]
    NoConstant(Id),
}

impl LengthError {
    pub(super) fn of(declarations: &Declarations, length: Id) -> Self {
        match declarations.specialization(length) {
            None => Self::NoConstant(length),
            Some(Op::SpecConstant) => Self::NotSpecialized(length),
            Some(operation) => Self::Operation(length, operation),
        }
    }
}

/// Returns the name of an output for messages.
pub(super) fn label(output: &CapturedOutput) -> String {
    labelled(output.name.as_deref(), output.variable, &output.path)
}

/// Returns the name of a value in a variable for messages.
pub(super) fn labelled(name: Option<&str>, variable: Id, path: &[u32]) -> String {
    let path: String = path.iter().map(|member| format!("[{member}]")).collect();
    match name {
        Some(name) => format!("'{name}' ({variable}{path})"),
        None => format!("{variable}{path}"),
    }
}
