//! Which outputs of a shader are captured, and to which offset in which capture buffer.
//!
//! All backends store captures according to a [`Layout`], and the probe checks the captures against it. A layout is
//! made from the module's own decorations ([`Shader::layout`](crate::lower::Shader::layout), like `nir_gather_xfb_info`
//! in Mesa) or from a [`CaptureList`]. A layout has two views. [`Layout::outputs`] are the values that are stored:
//! scalars, vectors, columns of matrices. [`Layout::varyings`] are the same bytes in the form of OpenGL's program
//! interface: whole matrices, arrays of basic types, members by name.

mod aggregate;
mod decorations;
mod error;
mod interface;
mod list;
mod names;
mod outputs;
mod program_interface;
mod streams;
mod varyings;
mod written;

pub use error::{CaptureError, LengthError};
pub use interface::{InterfaceVariable, interface_variables};
pub use list::{CaptureEntry, CaptureList, Selector, locations_used};
pub use outputs::{Outputs, Space, place_of};
pub use program_interface::{GlType, Varying};
/// SPIR-V's built-ins. [`Selector::BuiltIn`] accepts those that are outputs, such as `Position`.
pub use spirv::BuiltIn;
pub use streams::stream_of;
pub use varyings::BufferMode;
pub use written::Written;

pub(crate) use aggregate::pieces_of;
pub(crate) use list::built_in_components;

use crate::spirv::{Id, NumericClass};

/// The largest number of capture buffers of a shader.
pub const MAX_XFB_BUFFERS: usize = 4;

/// The number of vertex streams of a geometry shader.
pub const MAX_STREAMS: u32 = 4;

/// The largest number of bytes of a vertex's record in one buffer.
pub const MAX_XFB_STRIDE: u32 = 2048;

/// Returns an error unless a stride is a multiple of 4 from 4 to [`MAX_XFB_STRIDE`]. `output` is
/// the output that is captured with this stride, for the message.
fn check_stride(output: &str, stride: u32) -> Result<(), CaptureError> {
    match stride {
        4..=MAX_XFB_STRIDE if stride.is_multiple_of(4) => Ok(()),
        _ => Err(CaptureError::Stride { output: output.to_owned(), stride }),
    }
}

/// A scalar, a vector or a matrix column that is captured.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CapturedOutput {
    /// The number of the capture buffer, below [`MAX_XFB_BUFFERS`].
    pub buffer: u32,
    /// Bytes from the start of the vertex's record, a multiple of 4.
    pub offset: u32,
    /// The number of components, 1 to 4.
    pub components: u32,
    /// The numeric class of the components.
    pub class: NumericClass,
    /// The component size in bits: 32 or 64.
    pub bits: u32,
    /// The result id of the output variable.
    pub variable: Id,
    /// The indices of an access chain from the variable to the captured value.
    pub path: Vec<u32>,
    /// The name of the captured value, if the module has names: `variable`, `variable.member`,
    /// `variable[1].member[2]`.
    pub name: Option<String>,
    /// The location of the captured value; `None` for built-ins.
    pub location: Option<u32>,
    /// The first component that the value occupies in its location, in units of 32 bits.
    pub component: u32,
}

impl CapturedOutput {
    /// The size of the value in a record, in bytes.
    pub const fn size(&self) -> u32 {
        self.components * self.bits / 8
    }

    /// The size of the value in a record, in dwords.
    pub const fn dwords(&self) -> u32 {
        self.components * self.bits / 32
    }
}

/// The captured outputs, with the buffer and the offset of each.
///
/// ```
/// # use vkxfb_rewriter::capture::{BuiltIn, CaptureEntry, CaptureList, Selector};
/// # use vkxfb_rewriter::lower::{Shader, native};
/// # let plain = vkxfb_rewriter::frontend::wgsl::vertex_shader(
/// #     "@vertex fn main() -> @builtin(position) vec4f { return vec4f(); }", None)?;
/// # let built_in = BuiltIn::Position;
/// # let selector = Selector::BuiltIn { built_in, component: 0, components: 4 };
/// # let captures = vec![CaptureEntry::new(selector, 1, 4)];
/// # let list = CaptureList::default().captures(captures).strides([None, Some(20), None, None]);
/// # let spirv = native::lower(&Shader::new(&plain).captures(&list))?.words;
/// // `spirv` has `layout(xfb_buffer = 1, xfb_stride = 20, xfb_offset = 4)` for gl_Position.
/// let layout = Shader::new(&spirv).layout()?;
///
/// assert_eq!(layout.buffers().collect::<Vec<_>>(), [(1, 20)]);
/// for output in layout.outputs_of(1) {
///     assert_eq!((output.offset, output.size()), (4, 16));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Layout {
    /// The size in bytes of a record in each buffer (`XfbStride`); `None` for a buffer that is not
    /// captured to.
    pub strides: [Option<u32>; MAX_XFB_BUFFERS],
    /// The vertex stream that each buffer captures: always 0, except for geometry shaders.
    pub streams: [u32; MAX_XFB_BUFFERS],
    /// The captured outputs, sorted by buffer, then by offset. They do not overlap.
    pub outputs: Vec<CapturedOutput>,
    /// The outputs in the form of OpenGL's program interface, sorted by buffer, then by offset.
    pub varyings: Vec<Varying>,
}

impl Layout {
    /// The buffers that are captured to, with their strides in bytes.
    pub fn buffers(&self) -> impl Iterator<Item = (usize, u32)> {
        self.strides.iter().enumerate().filter_map(|(buffer, stride)| Some((buffer, (*stride)?)))
    }

    pub(crate) fn trace(&self, entry_point: &str) {
        tracing::debug!(entry_point, outputs = self.outputs.len(), strides = ?self.strides, "layout");
        for output in &self.outputs {
            tracing::trace!(?output);
        }
    }

    /// The outputs that are captured to one buffer, sorted by offset.
    pub fn outputs_of(&self, buffer: usize) -> impl Iterator<Item = &CapturedOutput> {
        self.outputs.iter().filter(move |o| o.buffer as usize == buffer)
    }
}
