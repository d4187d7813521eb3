//! Makes a layout from the decorations `XfbBuffer`, `XfbStride` and `Offset` ([shader
//! interfaces](https://docs.vulkan.org/spec/latest/chapters/interfaces.html), GLSL 4.60 section
//! 4.4.2 "Output layout qualifiers").
//!
//! An output variable or a member of an output block is captured if it has an `Offset`. `XfbBuffer` and `XfbStride`
//! alone capture nothing: glslang adds them to `gl_PerVertex` of every module that uses transform feedback. The
//! execution mode `Xfb` without any `Offset` is legal, and captures nothing: no buffer is written, but queries count
//! primitives.

use spirv::{Decoration, ExecutionMode, StorageClass};

use super::aggregate::{CapturedValue, ValueWalk, size_of};
use super::error::{label, labelled};
use super::{CaptureError, CapturedOutput, Layout, LengthError, check_stride};
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::types::{Block, block_type, locations_of};
use crate::spirv::{Id, Module, Section};

impl Layout {
    /// Makes the layout of the outputs of `entry` that the module's decorations capture. The layout may be empty.
    ///
    /// # Errors
    /// [`CaptureError`]: the execution mode Xfb is missing, decorations contradict each other or
    /// exceed the limits, or types are not supported.
    pub fn from_decorations(
        module: &Module,
        declarations: &Declarations,
        entry: &EntryPoint,
    ) -> Result<Self, CaptureError> {
        let has_xfb = module
            .section(Section::ExecutionModes)
            .any(|i| i.id(0) == entry.function && i.operand(1) == ExecutionMode::Xfb as u32);
        if !has_xfb {
            return Err(CaptureError::NoXfbMode { entry_point: entry.name.clone() });
        }
        let mut layout = Self::default();
        for variable in declarations
            .variables(StorageClass::Output)
            .filter(|variable| entry.interface.contains(&variable.id))
        {
            layout.add_variable(declarations, variable)?;
        }
        layout.finish(declarations, entry)
    }

    /// Sorts a layout after all outputs were added. Checks that the outputs of a buffer have the same vertex
    /// stream, and do not overlap.
    pub(super) fn finish(
        mut self,
        declarations: &Declarations,
        entry: &EntryPoint,
    ) -> Result<Self, CaptureError> {
        self.sort();
        self.find_streams(declarations, entry.model)?;
        for pair in self.outputs.windows(2) {
            let [a, b] = pair else { continue };
            if a.buffer == b.buffer && a.offset + a.size() > b.offset {
                let bytes = |o: &CapturedOutput| o.offset..=o.offset + o.size().saturating_sub(1);
                return Err(CaptureError::Overlap {
                    first: label(a),
                    first_bytes: bytes(a),
                    second: label(b),
                    second_bytes: bytes(b),
                    buffer: a.buffer,
                });
            }
        }
        Ok(self)
    }

    /// Sorts the outputs and the varyings of the layout by buffer and offset, and sets
    /// [`Varying::buffer_index`](super::Varying::buffer_index).
    fn sort(&mut self) {
        self.outputs.sort_by_key(|o| (o.buffer, o.offset));
        self.varyings.sort_by_key(|v| (v.buffer, v.offset));
        let active: Vec<u32> = self.buffers().map(|(buffer, _)| buffer as u32).collect();
        for varying in &mut self.varyings {
            let index = active.iter().position(|buffer| *buffer == varying.buffer);
            varying.buffer_index = index.unwrap_or(0) as u32;
        }
    }

    fn add_variable(
        &mut self,
        declarations: &Declarations,
        variable: &Variable,
    ) -> Result<(), CaptureError> {
        let of_variable =
            |decoration| declarations.decoration(variable.id, decoration).map(first_parameter);
        let decorated = Decorated {
            buffer: of_variable(Decoration::XfbBuffer),
            stride: of_variable(Decoration::XfbStride),
            offset: of_variable(Decoration::Offset),
            follows: false,
            location: of_variable(Decoration::Location),
            component: of_variable(Decoration::Component).unwrap_or(0),
        };
        let name = declarations.name(variable.id);
        let block = block_type(declarations, variable.pointee);
        if block.is_none() {
            check_structure(declarations, variable)?;
        }
        match block {
            Some(block) => self.add_block(declarations, variable, &block, &decorated),
            None if decorated.offset.is_some() => {
                let gl_name = name.map_or_else(|| variable.id.to_string(), str::to_owned);
                let names = Names { name: name.map(str::to_owned), gl_name };
                self.add(declarations, variable, vec![], variable.pointee, names, &decorated)
                    .map(|_| ())
            }
            None => Ok(()),
        }
    }

    /// Adds the captured members of a block, or of each block of an array. The members of array element k are captured
    /// to the buffer whose number is that of the decorations, plus k.
    fn add_block(
        &mut self,
        declarations: &Declarations,
        variable: &Variable,
        block: &Block<'_>,
        of_variable: &Decorated,
    ) -> Result<(), CaptureError> {
        let captures = |member: u32| {
            of_variable.offset.is_some()
                || declarations.member_decoration(block.ty, member, Decoration::Offset).is_some()
        };
        if !(0u32..).zip(block.members).any(|(member, _)| captures(member)) {
            return Ok(());
        }
        let is_array = block.length.is_some();
        let count = match block.length {
            None => 1,
            Some(length) => {
                declarations.constant(length).ok_or_else(|| CaptureError::ArrayLength {
                    output: labelled(declarations.name(variable.id), variable.id, &[]),
                    reason: LengthError::of(declarations, length),
                })?
            }
        };
        let mut location = of_variable.location;
        for element in 0..count {
            // If the variable is decorated with an `Offset`, the members are contiguous from this offset on. A member
            // may nevertheless have its own `Offset`.
            let mut next_offset = of_variable.offset;
            for (member, ty) in (0u32..).zip(block.members) {
                let of_member = |decoration| {
                    declarations
                        .member_decoration(block.ty, member, decoration)
                        .map(first_parameter)
                };
                if let Some(of_member) = of_member(Decoration::Location) {
                    // The decorations give the locations of the first element. The locations of each further element
                    // follow those of the previous element.
                    let locations = block_locations(declarations, block);
                    location = Some(of_member.saturating_add(element.saturating_mul(locations)));
                }
                let names = block_names(declarations, variable, block, member, element);
                let mut path = vec![member];
                if is_array {
                    path.insert(0, element);
                }
                let buffer = of_member(Decoration::XfbBuffer).or(of_variable.buffer);
                let member_location = match of_member(Decoration::BuiltIn) {
                    Some(_) => None,
                    None => location,
                };
                let decorated = Decorated {
                    buffer: buffer.map(|buffer| buffer.saturating_add(element)),
                    stride: of_member(Decoration::XfbStride).or(of_variable.stride),
                    offset: of_member(Decoration::Offset).or(next_offset),
                    follows: member > 0 && of_member(Decoration::Offset).is_none(),
                    location: member_location,
                    component: of_member(Decoration::Component).unwrap_or(0),
                };
                if decorated.offset.is_some() {
                    let end = self.add(declarations, variable, path, *ty, names, &decorated)?;
                    next_offset = next_offset.map(|_| end);
                }
                location = location
                    .map(|location| location.saturating_add(locations_of(declarations, *ty)));
            }
        }
        Ok(())
    }

    /// Adds a captured value. Returns the end of the value, in bytes from the start of the record.
    fn add(
        &mut self,
        declarations: &Declarations,
        variable: &Variable,
        path: Vec<u32>,
        ty: Id,
        names: Names,
        decorated: &Decorated,
    ) -> Result<u32, CaptureError> {
        let output = labelled(names.name.as_deref(), variable.id, &path);
        let missing = |missing| CaptureError::MissingDecoration { output: output.clone(), missing };
        let buffer = decorated.buffer.ok_or_else(|| missing("XfbBuffer"))?;
        let stride = decorated.stride.ok_or_else(|| missing("XfbStride"))?;
        let offset = decorated.offset.unwrap_or(0);
        let Some(known_stride) = self.strides.get_mut(buffer as usize) else {
            return Err(CaptureError::BufferLimit { output, buffer });
        };
        check_stride(&output, stride)?;
        match *known_stride.get_or_insert(stride) {
            other if other != stride => {
                return Err(CaptureError::StrideConflict { output, buffer, stride, other });
            }
            _ => {}
        }
        let value = CapturedValue {
            buffer,
            stride,
            variable: variable.id,
            path,
            name: names.name,
            gl_name: names.gl_name,
            component: decorated.component,
        };
        let first = self.outputs.len();
        let location = decorated.location;
        let (outputs, varyings) = (&mut self.outputs, &mut self.varyings);
        let mut walk = ValueWalk::new(declarations, outputs, varyings, offset, location);
        walk.capture(ty, &value)?;
        let end = walk.offset();
        let alignment = if self.outputs[first..].iter().any(|o| o.bits == 64) { 8 } else { 4 };
        if !decorated.follows && !offset.is_multiple_of(alignment) {
            return Err(CaptureError::Misaligned { output, offset, alignment });
        }
        Ok(end)
    }
}

/// Returns an error if a variable is a structure that is not a block, and a member of the structure would be captured
/// on its own, which is not supported: the member has an `Offset`, and the member or the variable has an `XfbBuffer`.
/// An `Offset` without any `XfbBuffer` is allowed, because a uniform or storage buffer may have the same type, and the
/// members of such a buffer have `Offset`s. If the variable has an `Offset`, it is captured as a whole, and its members
/// may have the `Offset`s that result from that, as in modules of glslang, but no `XfbBuffer`.
fn check_structure(declarations: &Declarations, variable: &Variable) -> Result<(), CaptureError> {
    let mut ty = variable.pointee;
    while let Some(Type::Array { element, .. }) = declarations.ty(ty) {
        ty = *element;
    }
    let Some(Type::Struct { members }) = declarations.ty(ty) else { return Ok(()) };
    let of_variable = |d| declarations.decoration(variable.id, d).is_some();
    let is_whole = of_variable(Decoration::Offset);
    // The end of the previous member in the structure, or `None` if the variable has no `Offset`, or a previous member
    // cannot be captured.
    let mut end = is_whole.then_some(0u32);
    for (member, ty_of_member) in (0u32..).zip(members) {
        let size = size_of(declarations, variable.id, &[member], *ty_of_member).ok();
        let place = end
            .zip(size)
            .map(|(end, (_, is_wide))| if is_wide { end.next_multiple_of(8) } else { end });
        end = place.zip(size).map(|(place, (size, _))| place.saturating_add(size));
        let of_member = |decoration| declarations.member_decoration(ty, member, decoration);
        let has_buffer = of_member(Decoration::XfbBuffer).is_some();
        let Some(offset) = of_member(Decoration::Offset).map(first_parameter) else { continue };
        let agrees = !has_buffer && place == Some(offset);
        if !agrees && (has_buffer || of_variable(Decoration::XfbBuffer)) {
            return Err(CaptureError::UnsupportedType {
                output: labelled(declarations.name(variable.id), variable.id, &[member]),
                ty: "a member of a structure that is no block".to_owned(),
            });
        }
    }
    Ok(())
}

/// The capture decorations that apply to one value.
struct Decorated {
    buffer: Option<u32>,
    stride: Option<u32>,
    offset: Option<u32>,
    /// Whether the value is a member of a block, other than the first, without an `Offset` of its own. It is captured
    /// only if the variable has an `Offset`. Then `offset` is the end of the previous member, and may be rounded up to
    /// align the value.
    follows: bool,
    location: Option<u32>,
    component: u32,
}

/// The names of a value in the module and in OpenGL.
struct Names {
    name: Option<String>,
    gl_name: String,
}

/// Returns the names of a member. In OpenGL a member is named with the name of the block, or
/// without it if the block has no instance name.
fn block_names(
    declarations: &Declarations,
    variable: &Variable,
    block: &Block<'_>,
    member: u32,
    element: u32,
) -> Names {
    let index = block.length.map_or(String::new(), |_| format!("[{element}]"));
    let instance = declarations.name(variable.id);
    let Some(member_name) = declarations.member_name(block.ty, member) else {
        let name = None;
        return Names { name, gl_name: format!("{}{index}.{member}", variable.id) };
    };
    let qualified = |of: Option<&str>| match of {
        Some(of) => format!("{of}{index}.{member_name}"),
        None => member_name.to_owned(),
    };
    let block_name = instance.and(declarations.name(block.ty));
    Names { name: Some(qualified(instance)), gl_name: qualified(block_name) }
}

fn block_locations(declarations: &Declarations, block: &Block<'_>) -> u32 {
    block.members.iter().fold(0, |sum, ty| sum.saturating_add(locations_of(declarations, *ty)))
}

fn first_parameter(parameters: &[u32]) -> u32 {
    parameters.first().copied().unwrap_or(0)
}
