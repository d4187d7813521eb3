//! The properties of a capture that the shader determines.

use anyhow::{Result, bail};
use spirv::StorageClass;
use vkxfb::capture::Layout;
use vkxfb::internal::capture::interface_variables;
use vkxfb::internal::spirv::declarations::Declarations;
use vkxfb::lower::Shader;

use super::device::Taken;
use super::records::{Column, Records, columns};

/// The layout of the records, and the columns that are shown.
pub(super) struct Plan {
    pub(super) layout: Layout,
    /// The vertex stream whose records are shown.
    pub(super) stream: u32,
    /// Further streams that are captured but not shown.
    pub(super) other_streams: Vec<u32>,
    /// The columns of the shown stream.
    pub(super) columns: Vec<Column>,
}

impl Plan {
    /// Makes the plan for a shader. The plan shows the given stream, or otherwise the first captured stream.
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

    /// Returns the captured records of `stream` in `taken`. Each primitive has `per_primitive` vertices.
    pub(super) fn records<'a>(&'a self, taken: &'a Taken, per_primitive: u32) -> Records<'a> {
        Records::of(taken, &self.layout, &self.columns, per_primitive)
    }
}
