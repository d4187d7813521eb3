//! What a shader captures, and which of the captured outputs the command shows.

use anyhow::{Result, bail};
use spirv::StorageClass;
use vkxfb_rewriter::capture::Layout;
use vkxfb_rewriter::capture::interface_variables;
use vkxfb_rewriter::lower::Shader;
use vkxfb_rewriter::spirv::declarations::Declarations;

use super::device::Taken;
use super::records::{Column, Records, columns};

/// The layout of the captured records, the vertex stream that is shown, and the columns in which its outputs are shown.
pub(super) struct CapturePlan {
    pub(super) layout: Layout,
    /// The vertex stream whose records are shown.
    pub(super) stream: u32,
    /// Further streams that are captured but not shown.
    pub(super) other_streams: Vec<u32>,
    /// The columns of the shown stream.
    pub(super) columns: Vec<Column>,
}

impl CapturePlan {
    /// Determines what a shader captures. The shown vertex stream is `stream` or, if that is `None`, the first stream
    /// that is captured. Fails if nothing of the given stream is captured.
    pub(super) fn of(shader: &Shader<'_>, stream: Option<u32>) -> Result<Self> {
        let module = shader.module()?;
        let entry = shader.find(&module)?;
        let declarations = Declarations::of(&module);
        let layout = shader.layout()?;
        let mut captured = layout.captured_streams();
        let shown = stream.or_else(|| captured.first().copied()).unwrap_or_default();
        let numbers: Vec<String> = captured.iter().map(u32::to_string).collect();
        if !captured.remove(&shown) && stream.is_some() {
            bail!("nothing of vertex stream {shown} is captured, but of {}", numbers.join(", "));
        }
        let variables = interface_variables(&declarations, &entry, StorageClass::Output);
        let columns = columns(&layout.clone().of_stream(shown), &variables);
        let other_streams = captured.into_iter().collect();
        Ok(Self { layout, stream: shown, other_streams, columns })
    }

    /// Returns the records in `taken`, the result of a capture of the shown stream. Each primitive has `per_primitive`
    /// vertices.
    pub(super) fn records<'a>(&'a self, taken: &'a Taken, per_primitive: u32) -> Records<'a> {
        Records::of(taken, &self.layout, &self.columns, per_primitive)
    }
}
