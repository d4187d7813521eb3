//! Vertex streams. Only geometry shaders have several. All outputs that are captured to one buffer
//! must have the same stream (`VUID-StandaloneSpirv-Stream-04698`, [Validation Rules within a
//! Module](https://docs.vulkan.org/spec/latest/appendices/spirvenv.html#spirvenv-module-validation)).

use std::collections::BTreeSet;

use spirv::{Decoration, ExecutionModel};

use super::error::label;
use super::{CaptureError, CapturedOutput, Layout, MAX_STREAMS};
use crate::spirv::declarations::Declarations;
use crate::spirv::types::block_type;

/// The vertex stream of an output: the decoration of the block's member takes precedence over the decoration of the
/// variable. Without either, it is stream 0.
pub fn stream_of(declarations: &Declarations, output: &CapturedOutput) -> u32 {
    let of_member = || {
        let block = block_type(declarations, declarations.variable(output.variable)?.pointee)?;
        let member = output.path.get(usize::from(block.length.is_some()))?;
        declarations.member_decoration_value(block.ty, *member, Decoration::Stream)
    };
    let of_variable = || declarations.decoration_value(output.variable, Decoration::Stream);
    of_member().or_else(of_variable).unwrap_or(0)
}

impl Layout {
    /// The vertex streams that are captured, ascending.
    pub fn captured_streams(&self) -> BTreeSet<u32> {
        self.buffers().map(|(buffer, _)| self.streams[buffer]).collect()
    }

    /// Returns the part of the layout that captures a vertex stream.
    pub fn of_stream(mut self, stream: u32) -> Self {
        let streams = self.streams;
        let is_of_it = |buffer: u32| streams.get(buffer as usize) == Some(&stream);
        self.outputs.retain(|output| is_of_it(output.buffer));
        self.varyings.retain(|varying| is_of_it(varying.buffer));
        for (stride, of) in self.strides.iter_mut().zip(streams) {
            *stride = stride.filter(|_| of == stream);
        }
        self
    }

    /// Sets the stream of each buffer to the stream of the outputs that it captures. Returns an error if the outputs of
    /// a buffer have several streams, or a stream that does not exist.
    pub(super) fn find_streams(
        &mut self,
        declarations: &Declarations,
        model: ExecutionModel,
    ) -> Result<(), CaptureError> {
        let mut streams = [None; super::MAX_XFB_BUFFERS];
        for output in &self.outputs {
            let stream = stream_of(declarations, output);
            let exists = stream < MAX_STREAMS && model == ExecutionModel::Geometry;
            if stream != 0 && !exists {
                return Err(CaptureError::Stream { output: label(output), stream });
            }
            let Some(known) = streams.get_mut(output.buffer as usize) else { continue };
            match *known.get_or_insert(stream) {
                other if other != stream => {
                    let (output, buffer) = (label(output), output.buffer);
                    return Err(CaptureError::StreamConflict { output, buffer, stream, other });
                }
                _ => {}
            }
        }
        self.streams = streams.map(Option::unwrap_or_default);
        Ok(())
    }
}
