//! Splits a captured value into the scalars, vectors and matrix columns that are stored.
//!
//! Arrays, matrices and structures are written tightly packed, in order. A type that contains
//! 64-bit components is aligned to 8 bytes, and its size is rounded up to a multiple of 8 bytes
//! (GLSL 4.60 section 4.4.2.1 "Transform Feedback Layout Qualifiers").
//!
//! A malicious module may nest types infinitely deep, or in cycles. The recursion into such a type ends when its
//! members exceed the stride of the record, when the nesting is too deep, or when too many types were visited. The
//! limit on visited types also ends the recursion for types without a size, such as empty structures.

use super::error::labelled;
use super::{CaptureError, CapturedOutput, GlType, LengthError, Varying};
use crate::spirv::Id;
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::types::MAX_STEPS;

const MAX_DEPTH: u32 = 64;

/// A captured value, which a [`ValueWalk`] splits into the scalars, vectors and matrix columns that are stored.
#[derive(Debug)]
pub(super) struct CapturedValue {
    pub(super) buffer: u32,
    /// The size in bytes of a record in the buffer (`XfbStride`).
    pub(super) stride: u32,
    pub(super) variable: Id,
    /// The path of constant indices from the variable to the value.
    pub(super) path: Vec<u32>,
    /// The name of the value, if the module has names.
    pub(super) name: Option<String>,
    /// The name of the value in OpenGL, as in [`Varying::name`].
    pub(super) gl_name: String,
    /// The first component of the value in its location, in units of 32 bits.
    pub(super) component: u32,
}

impl CapturedValue {
    /// Describes an element or a member of the value; `suffix` is `[2]` or `.member`.
    fn inner(&self, index: u32, suffix: &str) -> Self {
        let path = self.path.iter().copied().chain([index]).collect();
        Self {
            path,
            name: self.name.as_ref().map(|name| format!("{name}{suffix}")),
            gl_name: format!("{}{suffix}", self.gl_name),
            buffer: self.buffer,
            stride: self.stride,
            variable: self.variable,
            component: self.component,
        }
    }
}

/// A walk over captured values, which adds the scalars, vectors and matrix columns of each value to a layout.
pub(super) struct ValueWalk<'a> {
    declarations: &'a Declarations,
    outputs: &'a mut Vec<CapturedOutput>,
    varyings: &'a mut Vec<Varying>,
    steps: u32,
    /// The offset of the next value, in bytes from the start of the record. 64 bits, so that the
    /// error for a value beyond the record can tell where the value ends.
    offset: u64,
    /// The location of the next value; `None` for built-ins.
    location: Option<u32>,
}

impl<'a> ValueWalk<'a> {
    /// Begins to split values. The first value is at `offset` bytes in the record, and at `location`, which is `None`
    /// for built-ins.
    pub(super) fn new(
        declarations: &'a Declarations,
        outputs: &'a mut Vec<CapturedOutput>,
        varyings: &'a mut Vec<Varying>,
        offset: u32,
        location: Option<u32>,
    ) -> Self {
        Self { declarations, outputs, varyings, steps: 0, offset: offset.into(), location }
    }

    /// Adds a value, and checks that it lies within the record.
    pub(super) fn capture(&mut self, ty: Id, value: &CapturedValue) -> Result<(), CaptureError> {
        let start = self.offset;
        self.visit(ty, value, 0)?;
        // `visit` checks scalars. A value without scalars, such as an empty structure, must begin within the record.
        self.fit(start, 0, value).map(|_| ())
    }

    /// The end of the last value, in bytes from the start of the record. It lies within the record.
    pub(super) fn offset(&self) -> u32 {
        self.offset as u32
    }

    /// Returns `start` if `size` bytes from there on lie within the record, otherwise an error.
    fn fit(&self, start: u64, size: u32, value: &CapturedValue) -> Result<u32, CaptureError> {
        let end = start + u64::from(size);
        match u32::try_from(start) {
            Ok(start) if end <= u64::from(value.stride) => Ok(start),
            _ => {
                let (output, stride) = (self.label(value), value.stride);
                Err(CaptureError::BeyondStride { output, end, stride })
            }
        }
    }

    fn visit(&mut self, ty: Id, value: &CapturedValue, depth: u32) -> Result<(), CaptureError> {
        self.step(value, depth)?;
        if let Some(basic) = GlType::of(self.declarations, ty) {
            return self.basic(basic, ty, 1, value);
        }
        let wide = self.contains_wide(ty, value, depth)?;
        self.align(wide);
        match self.declarations.ty(ty) {
            Some(Type::Array { element, length }) => {
                let element = *element;
                let count = self.length(*length, value)?;
                match GlType::of(self.declarations, element) {
                    Some(basic) => self.basic(basic, ty, count, value)?,
                    None => {
                        for i in 0..count {
                            self.visit(element, &value.inner(i, &format!("[{i}]")), depth + 1)?;
                        }
                    }
                }
            }
            Some(Type::Struct { members }) => {
                for (i, member) in (0u32..).zip(members) {
                    let suffix = match self.declarations.member_name(ty, i) {
                        Some(name) => format!(".{name}"),
                        None => format!(".{i}"),
                    };
                    self.visit(*member, &value.inner(i, &suffix), depth + 1)?;
                }
            }
            _ => return Err(self.unsupported(ty, value)),
        }
        self.align(wide);
        Ok(())
    }

    /// Adds the outputs of a scalar, vector or matrix, or of an array of them, and one varying for
    /// all of these outputs.
    fn basic(
        &mut self,
        ty: GlType,
        id: Id,
        count: u32,
        value: &CapturedValue,
    ) -> Result<(), CaptureError> {
        self.align(ty.bits == 64);
        let start = self.offset;
        let is_array = matches!(self.declarations.ty(id), Some(Type::Array { .. }));
        for i in 0..count {
            let element = if is_array { &value.inner(i, &format!("[{i}]")) } else { value };
            if ty.columns == 1 {
                self.output(ty, element)?;
            } else {
                for column in 0..ty.columns {
                    self.output(ty, &element.inner(column, &format!("[{column}]")))?;
                }
            }
        }
        self.varyings.push(Varying {
            buffer: value.buffer,
            buffer_index: 0,
            offset: self.fit(start, 0, value)?,
            ty,
            count,
            name: value.gl_name.clone(),
        });
        Ok(())
    }

    /// Adds a scalar, a vector or a matrix column to the outputs.
    fn output(&mut self, ty: GlType, value: &CapturedValue) -> Result<(), CaptureError> {
        self.step(value, 0)?;
        let size = ty.rows * ty.bits / 8;
        let output = CapturedOutput {
            buffer: value.buffer,
            offset: self.fit(self.offset, size, value)?,
            components: ty.rows,
            class: ty.class,
            bits: ty.bits,
            variable: value.variable,
            path: value.path.clone(),
            name: value.name.clone(),
            location: self.location,
            component: value.component,
        };
        self.offset += u64::from(size);
        // dvec3 and dvec4 take two locations.
        let locations = output.dwords().div_ceil(4);
        self.location = self.location.map(|location| location.saturating_add(locations));
        self.outputs.push(output);
        Ok(())
    }

    fn align(&mut self, wide: bool) {
        if wide {
            self.offset = self.offset.next_multiple_of(8);
        }
    }

    /// Whether a type contains 64-bit components. Returns an error if the type is nested too deeply.
    fn contains_wide(
        &mut self,
        ty: Id,
        value: &CapturedValue,
        depth: u32,
    ) -> Result<bool, CaptureError> {
        self.step(value, depth)?;
        if let Some(basic) = GlType::of(self.declarations, ty) {
            return Ok(basic.bits == 64);
        }
        match self.declarations.ty(ty) {
            Some(Type::Array { element, .. }) => self.contains_wide(*element, value, depth + 1),
            Some(Type::Struct { members }) => {
                for member in members {
                    if self.contains_wide(*member, value, depth + 1)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    fn length(&self, length: Id, value: &CapturedValue) -> Result<u32, CaptureError> {
        self.declarations.constant(length).ok_or_else(|| CaptureError::ArrayLength {
            output: self.label(value),
            reason: LengthError::of(self.declarations, length),
        })
    }

    fn step(&mut self, value: &CapturedValue, depth: u32) -> Result<(), CaptureError> {
        self.steps += 1;
        if self.steps > MAX_STEPS || depth > MAX_DEPTH {
            return Err(CaptureError::UnsupportedType {
                output: self.label(value),
                ty: "nested too deeply".to_owned(),
            });
        }
        Ok(())
    }

    fn unsupported(&self, ty: Id, value: &CapturedValue) -> CaptureError {
        CaptureError::UnsupportedType {
            output: self.label(value),
            ty: self.declarations.type_name(ty),
        }
    }

    fn label(&self, value: &CapturedValue) -> String {
        labelled(value.name.as_deref(), value.variable, &value.path)
    }
}

/// Splits a value of a variable into the scalars, vectors and matrix columns that are stored, with offsets from the
/// start of the value. The result is empty if the value cannot be captured.
pub(crate) fn pieces_of(
    declarations: &Declarations,
    variable: Id,
    path: Vec<u32>,
    ty: Id,
) -> Vec<CapturedOutput> {
    captured_alone(declarations, variable, &path, ty)
        .map_or_else(|_| Vec::new(), |(outputs, _)| outputs)
}

/// Returns the size in bytes of a value in a record, and whether the value has 64-bit components; an error if the value
/// cannot be captured, or has no components.
pub(super) fn size_of(
    declarations: &Declarations,
    variable: Id,
    path: &[u32],
    ty: Id,
) -> Result<(u32, bool), CaptureError> {
    let (outputs, size) = captured_alone(declarations, variable, path, ty)?;
    if size == 0 {
        return Err(CaptureError::UnsupportedType {
            output: labelled(declarations.name(variable), variable, path),
            ty: declarations.type_name(ty),
        });
    }
    Ok((size, outputs.iter().any(|output| output.bits == 64)))
}

/// Splits a value as [`pieces_of`] does, but returns an error if the value cannot be captured. Also returns the size of
/// the value in bytes.
fn captured_alone(
    declarations: &Declarations,
    variable: Id,
    path: &[u32],
    ty: Id,
) -> Result<(Vec<CapturedOutput>, u32), CaptureError> {
    let value = CapturedValue {
        buffer: 0,
        stride: super::MAX_XFB_STRIDE,
        variable,
        path: path.to_vec(),
        name: None,
        gl_name: String::new(),
        component: 0,
    };
    let (mut outputs, mut varyings) = (Vec::new(), Vec::new());
    let mut walk = ValueWalk::new(declarations, &mut outputs, &mut varyings, 0, None);
    walk.capture(ty, &value)?;
    let size = walk.offset();
    Ok((outputs, size))
}
