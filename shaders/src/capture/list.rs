//! Capture lists: what to capture from a shader without transform feedback decorations.
//!
//! A [`CaptureList`] names outputs by location, by built-in or by name, each with its buffer and its offset.
//! [`varyings`](super::varyings) makes a list from the arguments of OpenGL's `glTransformFeedbackVaryings`, and the
//! package `vkxfb-translators` makes one from Gallium's stream outputs.

use std::collections::BTreeSet;

use spirv::BuiltIn;

use super::aggregate::{CapturedValue, ValueWalk};
use super::interface::InterfaceVariable;
use super::outputs::{Leaf, Outputs, Space, place_of};
use super::{CaptureError, CapturedOutput, GlType, Layout, MAX_XFB_BUFFERS, Varying, check_stride};
use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::types::locations_of;

/// Selects an output, or a part of an output.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Selector {
    /// The components of a location, in units of 32 bits.
    Location {
        /// The location.
        location: u32,
        /// The first component, 0 to 3.
        component: u32,
        /// The number of components, which may extend into the following locations.
        components: u32,
    },
    /// The components of a built-in, in units of 32 bits, such as those of `gl_Position` and
    /// `gl_ClipDistance[]`.
    BuiltIn {
        /// The built-in.
        built_in: BuiltIn,
        /// The first component. For an array of floats, an element is a component.
        component: u32,
        /// The number of components.
        components: u32,
    },
    /// A variable, member or element by its name: `colour`, `block.matrix`, `light[2].position`.
    /// `@3` names the output at location 3, `@Position` the built-in.
    Name(String),
}

/// An output to capture, and where it is captured.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CaptureEntry {
    /// The output, or the part of an output, to capture.
    pub selector: Selector,
    /// The number of the capture buffer, below [`MAX_XFB_BUFFERS`].
    pub buffer: u32,
    /// Bytes from the start of the vertex's record, a multiple of 4.
    pub offset: u32,
}

impl CaptureEntry {
    /// Captures an output to a buffer, `offset` bytes from the start of the vertex's record.
    pub const fn new(selector: Selector, buffer: u32, offset: u32) -> Self {
        Self { selector, buffer, offset }
    }
}

/// The outputs to capture, and the sizes of the records; by default nothing is captured.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct CaptureList {
    /// The outputs, in any order.
    pub captures: Vec<CaptureEntry>,
    /// The stride of each buffer: the number of bytes of a vertex's record. `None` for buffers that
    /// are not captured to.
    pub strides: [Option<u32>; MAX_XFB_BUFFERS],
}

impl CaptureList {
    /// A list for capture buffer 0 alone, whose records are `stride` bytes long.
    ///
    /// ```
    /// use vkxfb_rewriter::capture::CaptureList;
    ///
    /// let list = CaptureList::new(28).output("@Position", 0).output("normal", 16);
    /// assert_eq!(list.captures.len(), 2);
    /// ```
    #[must_use]
    pub fn new(stride: u32) -> Self {
        Self { captures: Vec::new(), strides: [Some(stride), None, None, None] }
    }

    /// Captures an output by its [name](Selector::Name) to buffer 0, `offset` bytes from the start of the vertex's
    /// record.
    #[must_use]
    pub fn output(mut self, name: impl Into<String>, offset: u32) -> Self {
        let selector = Selector::Name(name.into());
        self.captures.push(CaptureEntry { selector, buffer: 0, offset });
        self
    }

    /// Sets [`captures`](field@Self::captures).
    #[must_use]
    pub fn captures(mut self, captures: Vec<CaptureEntry>) -> Self {
        self.captures = captures;
        self
    }

    /// Sets [`strides`](field@Self::strides).
    #[must_use]
    pub const fn strides(mut self, strides: [Option<u32>; MAX_XFB_BUFFERS]) -> Self {
        self.strides = strides;
        self
    }
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Location { location, component, components } => {
                write!(f, "location {location}, {components} components from {component} on")
            }
            Self::BuiltIn { built_in, component, components } => {
                write!(f, "{built_in:?}, {components} components from {component} on")
            }
            Self::Name(name) => write!(f, "'{name}'"),
        }
    }
}

impl Layout {
    /// Makes the layout of the outputs of `entry` that a list captures. The module's decorations are ignored.
    ///
    /// # Errors
    /// [`CaptureError`]: an output does not exist, strides or offsets exceed their limits, or
    /// outputs overlap.
    pub fn from_list(
        declarations: &Declarations,
        entry: &EntryPoint,
        list: &CaptureList,
    ) -> Result<Self, CaptureError> {
        let outputs = Outputs::of(declarations, entry);
        let mut layout = Self::default();
        if list.captures.is_empty() {
            return Err(CaptureError::NothingCaptured);
        }
        for capture in &list.captures {
            layout.add_capture(&outputs, capture, list)?;
        }
        layout.finish(declarations, entry)
    }

    fn add_capture(
        &mut self,
        outputs: &Outputs<'_>,
        capture: &CaptureEntry,
        list: &CaptureList,
    ) -> Result<(), CaptureError> {
        let CaptureEntry { selector, buffer, offset } = capture;
        let (buffer, offset) = (*buffer, *offset);
        let output = selector.to_string();
        let Some(stride) = list.strides.get(buffer as usize) else {
            return Err(CaptureError::BufferLimit { output, buffer });
        };
        let stride =
            stride.ok_or(CaptureError::MissingStride { output: output.clone(), buffer })?;
        check_stride(&output, stride)?;
        if !offset.is_multiple_of(4) {
            return Err(CaptureError::Misaligned { output, offset, alignment: 4 });
        }
        self.strides[buffer as usize] = Some(stride);
        let destination = Destination { buffer, stride, offset };
        match selector {
            Selector::Name(name) => self.add_named(outputs, name, destination),
            Selector::Location { location, component, components } => {
                let first = u64::from(*location) * 4 + u64::from(*component);
                let places = outputs.places(Space::Locations);
                self.add_dwords(outputs, &places, first, *components, destination, &output)
            }
            Selector::BuiltIn { built_in, component, components } => {
                let places = outputs.places(Space::BuiltIn(*built_in));
                let first = u64::from(*component);
                self.add_dwords(outputs, &places, first, *components, destination, &output)
            }
        }
    }

    /// Adds the dwords `first..first + count` of a [`Space`] (a numbering of the outputs' dwords) to the captured
    /// outputs. `places` are the outputs in that space, each with the number of its first dword; `selector` names the
    /// dwords in errors.
    fn add_dwords(
        &mut self,
        outputs: &Outputs<'_>,
        places: &[(u64, &CapturedOutput)],
        first: u64,
        count: u32,
        destination: Destination,
        selector: &str,
    ) -> Result<(), CaptureError> {
        let missing = || outputs.missing(selector);
        let Destination { buffer, stride, mut offset } = destination;
        let end_in_record = u64::from(offset) + u64::from(count) * 4;
        let (mut at, end) = (first, first + u64::from(count));
        if at == end {
            return Err(missing());
        }
        while at < end {
            let (start, output) = place_of(places, at).ok_or_else(missing)?;
            let dwords_each = output.bits / 32;
            let within = (at - start) as u32;
            let left = (end - at).min(u64::from(output.dwords() - within)) as u32;
            if !within.is_multiple_of(dwords_each) || !left.is_multiple_of(dwords_each) {
                return Err(CaptureError::SplitComponent { output: selector.to_owned() });
            }
            let (from, components) = (within / dwords_each, left / dwords_each);
            let bytes = components * output.bits / 8;
            if u64::from(offset) + u64::from(bytes) > u64::from(stride) {
                let (output, end) = (selector.to_owned(), end_in_record);
                return Err(CaptureError::BeyondStride { output, end, stride });
            }
            self.varyings.push(Varying {
                buffer,
                buffer_index: 0,
                offset,
                ty: GlType { class: output.class, bits: output.bits, columns: 1, rows: components },
                count: 1,
                name: output.name.clone().unwrap_or_else(|| selector.to_owned()),
            });
            if components == output.components {
                self.outputs.push(CapturedOutput { buffer, offset, ..(*output).clone() });
            } else {
                // A part of a vector is captured one component at a time. Lowering merges the
                // stores.
                for i in 0..components {
                    let mut path = output.path.clone();
                    path.push(from + i);
                    self.outputs.push(CapturedOutput {
                        buffer,
                        offset: offset + i * output.bits / 8,
                        components: 1,
                        path,
                        component: output.component.saturating_add((from + i) * dwords_each),
                        name: output.name.as_ref().map(|name| format!("{name}[{}]", from + i)),
                        ..(*output).clone()
                    });
                }
            }
            offset += bytes;
            at += u64::from(left);
        }
        Ok(())
    }

    fn add_named(
        &mut self,
        outputs: &Outputs<'_>,
        name: &str,
        destination: Destination,
    ) -> Result<(), CaptureError> {
        let found = outputs.resolve(name)?;
        let name = found.name.as_deref().unwrap_or(name);
        let value = CapturedValue {
            buffer: destination.buffer,
            stride: destination.stride,
            variable: found.variable,
            path: found.path,
            name: Some(name.to_owned()),
            gl_name: name.to_owned(),
            component: found.component,
        };
        let (pieces, varyings) = (&mut self.outputs, &mut self.varyings);
        let mut walk = ValueWalk::new(
            outputs.declarations,
            pieces,
            varyings,
            destination.offset,
            found.location,
        );
        walk.capture(found.ty, &value)
    }
}

/// The locations of all outputs of an entry point, including outputs that are not captured or cannot be
/// captured.
pub fn locations_used(declarations: &Declarations, entry: &EntryPoint) -> BTreeSet<u32> {
    /// A limit on the listed locations of a variable, because an array may have any length. No device has so many
    /// locations.
    const MAX_LOCATIONS: u32 = 1 << 12;
    let outputs = Outputs::of(declarations, entry);
    let of_leaf = |leaf: &Leaf| {
        let location = leaf.output.location.filter(|_| leaf.built_in.is_none())?;
        // The component is clamped, because it may be invalid.
        let count = (leaf.output.component.min(3) + leaf.output.dwords()).div_ceil(4).max(1);
        Some(location..location.saturating_add(count))
    };
    let of_variable = |variable: &InterfaceVariable| {
        let location = variable.location.filter(|_| variable.built_in.is_none())?;
        let count = locations_of(declarations, variable.type_id).clamp(1, MAX_LOCATIONS);
        Some(location..location.saturating_add(count))
    };
    let without_leaves = outputs.variables.iter().filter(|variable| variable.size.is_none());
    let leaves = outputs.leaves.iter().filter_map(of_leaf);
    leaves.chain(without_leaves.filter_map(of_variable)).flatten().collect()
}

/// The number of components of an entry point's built-in outputs, in units of 32 bits: like
/// locations, they count against the limit on output components.
pub(crate) fn built_in_components(declarations: &Declarations, entry: &EntryPoint) -> u32 {
    let outputs = Outputs::of(declarations, entry);
    let built_ins = outputs.leaves.iter().filter(|leaf| leaf.built_in.is_some());
    built_ins.fold(0, |sum, leaf| sum.saturating_add(leaf.output.dwords()))
}

#[derive(Debug, Clone, Copy)]
struct Destination {
    buffer: u32,
    stride: u32,
    offset: u32,
}
