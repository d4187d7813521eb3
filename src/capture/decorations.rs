//! A layout from the decorations `XfbBuffer`, `XfbStride` and `Offset`
//! ([shader interfaces](https://docs.vulkan.org/spec/latest/chapters/interfaces.html),
//! GLSL 4.60 section 4.4.2 "Output layout qualifiers").
//!
//! An output is captured if it, or the member of a block that it is, has an `Offset`. `XfbBuffer` and
//! `XfbStride` alone capture nothing: glslang puts them on `gl_PerVertex` of every module that uses
//! transform feedback.

use spirv::{Decoration, ExecutionMode, Op, StorageClass};

use super::{Layout, MAX_XFB_BUFFERS, MAX_XFB_STRIDE, Output};
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::{Id, Module, Section};
use crate::vertex_input::NumericClass;

/// Decorations that describe no capture, or none that is supported. `output` is the variable's or
/// member's name and id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum CaptureError {
    #[error("the vertex shader '{entry_point}' lacks the execution mode Xfb: it captures nothing")]
    NoXfbMode { entry_point: String },
    #[error("no output has an Offset: there is nothing to capture")]
    NothingCaptured,
    #[error("the module uses decoration groups, which are not supported")]
    DecorationGroups,
    #[error("output {output} has an Offset, but no {missing}")]
    MissingDecoration { output: String, missing: &'static str },
    #[error(
        "output {output} has XfbBuffer {buffer}; the limit is {max} buffers",
        max = MAX_XFB_BUFFERS
    )]
    BufferLimit { output: String, buffer: u32 },
    #[error(
        "output {output} has XfbStride {stride}; it must be a multiple of 4 from 4 to {max}",
        max = MAX_XFB_STRIDE
    )]
    Stride { output: String, stride: u32 },
    #[error("output {output} has XfbStride {stride}, but buffer {buffer} has {other} elsewhere")]
    StrideConflict { output: String, buffer: u32, stride: u32, other: u32 },
    #[error("output {output} has Offset {offset}, which is no multiple of 4")]
    Misaligned { output: String, offset: u32 },
    #[error("output {output} ends at byte {end} of a record of {stride} bytes")]
    BeyondStride { output: String, end: u64, stride: u32 },
    #[error("outputs {first} and {second} overlap in buffer {buffer}")]
    Overlap { first: String, second: String, buffer: u32 },
    #[error("output {output} goes to vertex stream {stream}; a vertex shader has only stream 0")]
    Stream { output: String, stream: u32 },
    #[error(
        "output {output} is {ty}; only 32-bit scalars and vectors can be captured as yet, \
         on their own or as members of a block"
    )]
    UnsupportedType { output: String, ty: String },
}

impl Layout {
    /// What the decorations of `entry`'s outputs capture.
    ///
    /// # Errors
    /// [`CaptureError`]: no mode Xfb, nothing to capture, decorations that contradict each other or
    /// the limits, or types that are not supported.
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
        if module
            .section(Section::Annotations)
            .any(|i| i.is(Op::GroupDecorate) || i.is(Op::GroupMemberDecorate))
        {
            return Err(CaptureError::DecorationGroups);
        }
        let mut layout = Self::default();
        for variable in declarations
            .variables(StorageClass::Output)
            .filter(|variable| entry.interface.contains(&variable.id))
        {
            layout.add_variable(declarations, variable)?;
        }
        if layout.outputs.is_empty() {
            return Err(CaptureError::NothingCaptured);
        }
        layout.outputs.sort_by_key(|o| (o.buffer, o.offset));
        for pair in layout.outputs.windows(2) {
            let [a, b] = pair else { continue };
            if a.buffer == b.buffer && a.offset + a.size() > b.offset {
                return Err(CaptureError::Overlap {
                    first: label(a),
                    second: label(b),
                    buffer: a.buffer,
                });
            }
        }
        Ok(layout)
    }

    fn add_variable(
        &mut self,
        declarations: &Declarations,
        variable: &Variable,
    ) -> Result<(), CaptureError> {
        let of_variable =
            |decoration| declarations.decoration(variable.id, decoration).map(first_parameter);
        let block = block_type(declarations, variable.pointee);
        let Some((block, members)) = block else {
            reject_structure(declarations, variable)?;
            if let Some(offset) = of_variable(Decoration::Offset) {
                let decorated = Decorated {
                    buffer: of_variable(Decoration::XfbBuffer),
                    stride: of_variable(Decoration::XfbStride),
                    stream: of_variable(Decoration::Stream),
                    offset,
                };
                let name = declarations.name(variable.id).map(str::to_owned);
                self.add(declarations, variable, vec![], variable.pointee, name, &decorated)?;
            }
            return Ok(());
        };
        for (member, ty) in members.iter().enumerate().map(|(i, ty)| (i as u32, *ty)) {
            let of_member = |decoration| {
                declarations.member_decoration(block, member, decoration).map(first_parameter)
            };
            // On the variable it would lay out the whole block, which only the types that are still
            // missing can express.
            let offset = match (of_member(Decoration::Offset), of_variable(Decoration::Offset)) {
                (None, None) => continue,
                (Some(offset), _) => offset,
                (None, Some(_)) => {
                    return Err(CaptureError::UnsupportedType {
                        output: labelled(declarations.name(variable.id), variable.id, &[]),
                        ty: "a block with an Offset of its own".to_owned(),
                    });
                }
            };
            let either = |decoration| of_member(decoration).or_else(|| of_variable(decoration));
            let decorated = Decorated {
                buffer: either(Decoration::XfbBuffer),
                stride: either(Decoration::XfbStride),
                stream: either(Decoration::Stream),
                offset,
            };
            let name =
                declarations.member_name(block, member).map(|member_name| {
                    match declarations.name(variable.id) {
                        Some(variable_name) => format!("{variable_name}.{member_name}"),
                        None => member_name.to_owned(),
                    }
                });
            if block != variable.pointee {
                return Err(CaptureError::UnsupportedType {
                    output: labelled(name.as_deref(), variable.id, &[member]),
                    ty: "in an array of blocks".to_owned(),
                });
            }
            self.add(declarations, variable, vec![member], ty, name, &decorated)?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        declarations: &Declarations,
        variable: &Variable,
        path: Vec<u32>,
        ty: Id,
        name: Option<String>,
        decorated: &Decorated,
    ) -> Result<(), CaptureError> {
        let output = labelled(name.as_deref(), variable.id, &path);
        let missing = |missing| CaptureError::MissingDecoration { output: output.clone(), missing };
        let buffer = decorated.buffer.ok_or_else(|| missing("XfbBuffer"))?;
        let stride = decorated.stride.ok_or_else(|| missing("XfbStride"))?;
        let offset = decorated.offset;
        let Some(known_stride) = self.strides.get_mut(buffer as usize) else {
            return Err(CaptureError::BufferLimit { output, buffer });
        };
        if stride == 0 || !stride.is_multiple_of(4) || stride > MAX_XFB_STRIDE {
            return Err(CaptureError::Stride { output, stride });
        }
        match *known_stride.get_or_insert(stride) {
            other if other != stride => {
                return Err(CaptureError::StrideConflict { output, buffer, stride, other });
            }
            _ => {}
        }
        if let Some(stream) = decorated.stream.filter(|stream| *stream != 0) {
            return Err(CaptureError::Stream { output, stream });
        }
        if !offset.is_multiple_of(4) {
            return Err(CaptureError::Misaligned { output, offset });
        }
        let Some((class, components)) = numeric_vector(declarations, ty) else {
            let ty = describe(declarations, ty);
            return Err(CaptureError::UnsupportedType { output, ty });
        };
        let end = u64::from(offset) + u64::from(components) * 4;
        if end > u64::from(stride) {
            return Err(CaptureError::BeyondStride { output, end, stride });
        }
        self.outputs.push(Output {
            buffer,
            offset,
            components,
            class,
            variable: variable.id,
            path,
            name,
        });
        Ok(())
    }
}

/// An Offset in a structure that is no block captures the member too, if it has an XfbBuffer;
/// without one it may be there for the sake of a buffer of that type.
fn reject_structure(declarations: &Declarations, variable: &Variable) -> Result<(), CaptureError> {
    let mut ty = variable.pointee;
    while let Some(Type::Array { element, .. }) = declarations.ty(ty) {
        ty = *element;
    }
    let Some(Type::Struct { members }) = declarations.ty(ty) else { return Ok(()) };
    for member in 0..members.len() as u32 {
        let has = |decoration| declarations.member_decoration(ty, member, decoration).is_some();
        let of_variable = |d| declarations.decoration(variable.id, d).is_some();
        if has(Decoration::Offset)
            && (has(Decoration::XfbBuffer) || of_variable(Decoration::XfbBuffer))
        {
            return Err(CaptureError::UnsupportedType {
                output: labelled(declarations.name(variable.id), variable.id, &[member]),
                ty: "a member of a structure that is no block".to_owned(),
            });
        }
    }
    Ok(())
}

/// The capture decorations that apply to one output.
struct Decorated {
    buffer: Option<u32>,
    stride: Option<u32>,
    stream: Option<u32>,
    offset: u32,
}

fn first_parameter(parameters: &[u32]) -> u32 {
    parameters.first().copied().unwrap_or(0)
}

/// The block of a variable, or of its elements, and the block's members.
fn block_type(declarations: &Declarations, mut ty: Id) -> Option<(Id, &[Id])> {
    loop {
        match declarations.ty(ty)? {
            Type::Array { element, .. } => ty = *element,
            Type::Struct { members } => {
                declarations.decoration(ty, Decoration::Block)?;
                return Some((ty, members));
            }
            _ => return None,
        }
    }
}

/// Class and components of a 32-bit scalar or vector.
pub(crate) fn numeric_vector(declarations: &Declarations, ty: Id) -> Option<(NumericClass, u32)> {
    let (component, count) = declarations.vector(ty)?;
    let class = match declarations.ty(component)? {
        Type::Int { width: 32, signed: false } => NumericClass::Uint,
        Type::Int { width: 32, signed: true } => NumericClass::Sint,
        Type::Float { width: 32 } => NumericClass::Float,
        _ => return None,
    };
    Some((class, count)).filter(|_| (1..=4).contains(&count))
}

/// A type in words.
pub(crate) fn describe(declarations: &Declarations, ty: Id) -> String {
    match declarations.ty(ty) {
        Some(Type::Int { width, signed: true }) => format!("int{width}"),
        Some(Type::Int { width, signed: false }) => format!("uint{width}"),
        Some(Type::Float { width }) => format!("float{width}"),
        Some(Type::Vector { component, count }) => {
            format!("a vector of {count} {}", describe(declarations, *component))
        }
        Some(Type::Matrix { column, count }) => {
            format!("a matrix of {count} columns, each {}", describe(declarations, *column))
        }
        Some(Type::Array { element, .. }) => {
            format!("an array of {}", describe(declarations, *element))
        }
        Some(Type::Struct { .. }) => "a structure".to_owned(),
        Some(Type::Pointer { .. }) => "a pointer".to_owned(),
        Some(Type::Other(op)) => format!("{op:?}"),
        None => "of an unknown type".to_owned(),
    }
}

fn label(output: &Output) -> String {
    labelled(output.name.as_deref(), output.variable, &output.path)
}

fn labelled(name: Option<&str>, variable: Id, path: &[u32]) -> String {
    let path: String = path.iter().map(|member| format!("[{member}]")).collect();
    match name {
        Some(name) => format!("'{name}' ({variable}{path})"),
        None => format!("{variable}{path}"),
    }
}
