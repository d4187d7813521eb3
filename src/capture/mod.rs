//! What a shader captures: which components of which outputs go where in which buffer.
//!
//! A [`Layout`] is the one description that all backends store by and that the probe checks against. It comes from
//! the module's own decorations ([`Layout::from_decorations`], what Mesa calls `nir_gather_xfb_info`) or from a
//! [`CaptureList`], and has two views. [`Layout::outputs`] are the pieces that are stored: scalars, vectors, columns
//! of matrices. [`Layout::varyings`] are the same bytes as OpenGL's program interface lists them: whole matrices,
//! arrays of basic types, members by name.

#![forbid(unsafe_code)]

mod aggregate;
mod decorations;
mod error;
mod interface;
mod list;
mod names;
mod outputs;
mod program_interface;
mod stream_output;
mod streams;
mod varyings;
mod written;

pub use error::{CaptureError, LengthError};
pub use interface::{InterfaceVariable, interface_variables};
pub use list::{CaptureEntry, CaptureList, Selector, locations_used};
pub use program_interface::{GlType, Varying};
/// Built-ins, as [`Selector::BuiltIn`] names them.
pub use spirv::BuiltIn;
pub use stream_output::{
    SlotLocations, StreamOutput, StreamOutputError, StreamOutputField, StreamOutputInfo,
    StreamOutputProblem,
};
pub use varyings::BufferMode;

pub(crate) use aggregate::pieces_of;
pub(crate) use list::built_in_components;

use crate::spirv::{Id, NumericClass};

/// Capture buffers that a shader may name.
pub const MAX_XFB_BUFFERS: usize = 4;

/// Most bytes that a vertex's record may have in one buffer.
pub const MAX_XFB_STRIDE: u32 = 2048;

/// A scalar, a vector or a column of a matrix that is captured.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CapturedOutput {
    /// Capture buffer, below [`MAX_XFB_BUFFERS`].
    pub buffer: u32,
    /// Bytes from the start of the vertex's record, a multiple of 4.
    pub offset: u32,
    /// Components, 1 to 4.
    pub components: u32,
    /// What the components are.
    pub class: NumericClass,
    /// Bits of a component: 32 or 64.
    pub bits: u32,
    /// Result id of the output variable.
    pub variable: Id,
    /// Indices of the access chain from the variable to the captured value.
    pub path: Vec<u32>,
    /// `variable`, `variable.member`, `variable[1].member[2]`, where the module has names.
    pub name: Option<String>,
    /// `Location`; `None` for built-ins.
    pub location: Option<u32>,
    /// First of the location's four 32-bit components that it occupies.
    pub component: u32,
}

impl CapturedOutput {
    /// Captured bytes.
    pub const fn size(&self) -> u32 {
        self.components * self.bits / 8
    }

    /// Captured dwords.
    pub const fn dwords(&self) -> u32 {
        self.components * self.bits / 32
    }
}

/// Where captured outputs go.
///
/// ```
/// # use vkxfb::capture::{BuiltIn, CaptureEntry, CaptureList, Layout, Selector};
/// # use vkxfb::lower::{Shader, native};
/// # use vkxfb::spirv::declarations::Declarations;
/// # let plain = vkxfb::frontend::wgsl::vertex_shader(
/// #     "@vertex fn main() -> @builtin(position) vec4f { return vec4f(); }", None)?;
/// # let built_in = BuiltIn::Position;
/// # let selector = Selector::BuiltIn { built_in, component: 0, components: 4 };
/// # let captures = vec![CaptureEntry { selector, buffer: 1, offset: 4 }];
/// # let list = CaptureList { captures, strides: [None, Some(20), None, None] };
/// # let spirv = native::lower(&Shader::new(&plain).captures(&list))?.words;
/// // `spirv` has `layout(xfb_buffer = 1, xfb_stride = 20, xfb_offset = 4)` for gl_Position.
/// let shader = Shader::new(&spirv);
/// let module = shader.module()?;
/// let (declarations, entry) = (Declarations::of(&module), shader.find(&module)?);
/// let layout = Layout::from_decorations(&module, &declarations, &entry)?;
///
/// assert_eq!(layout.buffers().collect::<Vec<_>>(), [(1, 20)]);
/// for output in layout.outputs_of(1) {
///     assert_eq!((output.offset, output.size()), (4, 16));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Layout {
    /// `XfbStride` in bytes of each buffer that something is captured to.
    pub strides: [Option<u32>; MAX_XFB_BUFFERS],
    /// The vertex stream that each buffer captures: 0, but of a geometry shader's.
    pub streams: [u32; MAX_XFB_BUFFERS],
    /// The captured outputs, by buffer, then offset. They do not overlap.
    pub outputs: Vec<CapturedOutput>,
    /// The same as OpenGL lists it, by buffer, then offset.
    pub varyings: Vec<Varying>,
}

impl Layout {
    /// Buffers that something is captured to, with their strides in bytes.
    pub fn buffers(&self) -> impl Iterator<Item = (usize, u32)> {
        self.strides.iter().enumerate().filter_map(|(buffer, stride)| Some((buffer, (*stride)?)))
    }

    /// Tells the log what is captured.
    pub(crate) fn trace(&self, entry_point: &str) {
        tracing::debug!(entry_point, outputs = self.outputs.len(), strides = ?self.strides, "layout");
        for output in &self.outputs {
            tracing::trace!(?output);
        }
    }

    /// The outputs of one buffer, by offset.
    pub fn outputs_of(&self, buffer: usize) -> impl Iterator<Item = &CapturedOutput> {
        self.outputs.iter().filter(move |o| o.buffer as usize == buffer)
    }
}
