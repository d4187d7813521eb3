//! This module computes which bytes of a block a value consists of, from the block's explicit
//! layout ([Offset and Stride Assignment][layout]).
//!
//! The layout need not follow any packing rules: all values that are aligned to their scalars are
//! supported.
//!
//! [layout]: https://docs.vulkan.org/spec/latest/chapters/interfaces.html#interfaces-resources-layout

use std::ops::Range;

use spirv::{Decoration, StorageClass};

use crate::spirv::Id;
use crate::spirv::NumericClass;
use crate::spirv::declarations::{Declarations, Type, Variable};

/// The largest number of bytes of push constants of a shader. No device supports more.
pub(in crate::lower) const MAX_PUSH_CONSTANTS: u32 = 4096;

/// The largest number of types that are visited for one value. A value within [`MAX_PUSH_CONSTANTS`] bytes can exceed
/// this number only if members or elements are empty or overlap.
const MAX_STEPS: u32 = 1 << 14;

/// Size in bytes of a `PhysicalStorageBuffer` pointer.
const POINTER_SIZE: u32 = 8;

/// A value of a block, as a tree whose leaves are scalars, vectors and device addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BlockValue {
    /// A scalar or a vector.
    Vector {
        ty: Id,
        component: Id,
        /// The component size in bits: 8, 16, 32 or 64.
        bits: u32,
        class: NumericClass,
        /// The offset of each component in bytes.
        offsets: Vec<u32>,
    },
    /// A device address.
    Pointer { ty: Id, offset: u32 },
    /// A matrix with its columns, an array with its elements, or a structure with its members.
    Composite { ty: Id, parts: Vec<Self> },
}

impl BlockValue {
    pub(super) const fn ty(&self) -> Id {
        match self {
            Self::Vector { ty, .. } | Self::Pointer { ty, .. } | Self::Composite { ty, .. } => *ty,
        }
    }

    /// Appends the range of bytes of each scalar.
    pub(super) fn add_bytes(&self, bytes: &mut Vec<Range<u32>>) {
        match self {
            Self::Vector { bits, offsets, .. } => {
                bytes.extend(offsets.iter().map(|offset| *offset..offset + bits / 8));
            }
            Self::Pointer { offset, .. } => bytes.push(*offset..offset + POINTER_SIZE),
            Self::Composite { parts, .. } => parts.iter().for_each(|part| part.add_bytes(bytes)),
        }
    }
}

/// Returns the value that a path of constant indices selects in a variable, or an error if the
/// layout is not supported.
pub(super) fn value_at(
    declarations: &Declarations,
    variable: &Variable,
    path: &[u32],
) -> Result<BlockValue, String> {
    let mut walk = LayoutWalk { declarations, steps: 0 };
    let (mut ty, mut layout) = (variable.pointee, ValueLayout::default());
    for index in path {
        (ty, layout) = walk.part(ty, layout, *index)?;
    }
    walk.value(ty, layout)
}

/// Returns the longest prefix of a path that selects an existing value: it ends before an index
/// beyond the last element.
pub(super) fn selecting<'p>(declarations: &Declarations, mut ty: Id, path: &'p [u32]) -> &'p [u32] {
    for (depth, index) in path.iter().enumerate() {
        let selected = part_count(declarations, ty)
            .filter(|count| index < count)
            .and_then(|_| declarations.type_at(ty, &[*index]));
        match selected {
            Some(part) => ty = part,
            None => return &path[..depth],
        }
    }
    path
}

/// Returns the number of components, columns, elements or members of a type; `None` if it has none,
/// or an unknown number.
fn part_count(declarations: &Declarations, ty: Id) -> Option<u32> {
    match declarations.ty(ty)? {
        Type::Vector { count, .. } | Type::Matrix { count, .. } => Some(*count),
        Type::Array { length, .. } => declarations.constant(*length),
        Type::Struct { members } => u32::try_from(members.len()).ok(),
        _ => None,
    }
}

/// The offset of a value, and the strides that do not follow from the value's own type: they come from decorations of
/// the structure that contains the value.
#[derive(Debug, Clone, Copy, Default)]
struct ValueLayout {
    /// The offset in bytes from the start of the block. Only values that are not read may exceed
    /// [`MAX_PUSH_CONSTANTS`].
    offset: u64,
    /// The `MatrixStride` of matrices in the value, in bytes. It is a decoration of the structure
    /// member; `None` if the member has none.
    matrix_stride: Option<u32>,
    is_row_major: bool,
    /// The number of bytes from one component to the next, if the value is a column of a row-major
    /// matrix; otherwise `None`.
    component_stride: Option<u32>,
}

impl ValueLayout {
    /// The layout of a value that begins `count` times `stride` bytes after this value.
    fn behind(self, count: u32, stride: u32) -> Self {
        let bytes = u64::from(count) * u64::from(stride);
        Self { offset: self.offset.saturating_add(bytes), ..self }
    }
}

struct LayoutWalk<'a> {
    declarations: &'a Declarations,
    steps: u32,
}

impl LayoutWalk<'_> {
    /// Returns the type and the layout of part `index` (a component, column, element or member) of a value of type
    /// `ty`, or an error if the layout lacks a decoration.
    fn part(&self, ty: Id, layout: ValueLayout, index: u32) -> Result<(Id, ValueLayout), String> {
        let declarations = self.declarations;
        match declarations.ty(ty) {
            Some(Type::Struct { members }) => {
                let of_member =
                    |decoration| declarations.member_decoration_value(ty, index, decoration);
                let is_row_major = declarations.member_decoration(ty, index, Decoration::RowMajor);
                let member = *members.get(index as usize).ok_or_else(|| no("such member"))?;
                let offset = of_member(Decoration::Offset).ok_or_else(|| no("Offset"))?;
                let layout = ValueLayout {
                    matrix_stride: of_member(Decoration::MatrixStride),
                    is_row_major: is_row_major.is_some(),
                    ..layout.behind(1, offset)
                };
                Ok((member, layout))
            }
            Some(Type::Array { element, .. }) => {
                let stride = declarations.decoration_value(ty, Decoration::ArrayStride);
                Ok((*element, layout.behind(index, stride.ok_or_else(|| no("ArrayStride"))?)))
            }
            Some(Type::Matrix { column, .. }) => {
                let stride = layout.matrix_stride.ok_or_else(|| no("MatrixStride"))?;
                if !layout.is_row_major {
                    return Ok((*column, layout.behind(index, stride)));
                }
                let (_, bits, _) = self.vector(*column)?;
                let component_stride = Some(stride);
                Ok((*column, ValueLayout { component_stride, ..layout.behind(index, bits / 8) }))
            }
            Some(Type::Vector { component, .. }) => {
                let (_, bits, _) = self.vector(ty)?;
                let stride = layout.component_stride.unwrap_or(bits / 8);
                Ok((*component, layout.behind(index, stride)))
            }
            _ => Err(no("parts")),
        }
    }

    /// Returns the component type of a scalar or vector, the size of a component in bits, and the
    /// number of components.
    fn vector(&self, ty: Id) -> Result<(Id, u32, u32), String> {
        let (component, count) = self.declarations.vector(ty).ok_or_else(|| no("components"))?;
        match self.declarations.ty(component) {
            Some(
                Type::Int { width: bits @ (8 | 16 | 32 | 64), .. }
                | Type::Float { width: bits @ (16 | 32 | 64) },
            ) if (1..=4).contains(&count) => Ok((component, *bits, count)),
            _ => Err(no("size that is known")),
        }
    }

    fn value(&mut self, ty: Id, layout: ValueLayout) -> Result<BlockValue, String> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(format!("has more than {MAX_STEPS} parts"));
        }
        match self.declarations.ty(ty) {
            Some(Type::Int { .. } | Type::Float { .. } | Type::Vector { .. }) => {
                let (component, bits, count) = self.vector(ty)?;
                let offsets = (0..count).map(|index| {
                    let stride = layout.component_stride.unwrap_or(bits / 8);
                    scalar(layout.behind(index, stride), bits / 8)
                });
                let class = match self.declarations.ty(component) {
                    Some(Type::Int { signed: true, .. }) => NumericClass::Sint,
                    Some(Type::Int { signed: false, .. }) => NumericClass::Uint,
                    _ => NumericClass::Float,
                };
                Ok(BlockValue::Vector {
                    ty,
                    component,
                    bits,
                    class,
                    offsets: offsets.collect::<Result<_, _>>()?,
                })
            }
            Some(Type::Pointer { storage, .. })
                if *storage == StorageClass::PhysicalStorageBuffer as u32 =>
            {
                Ok(BlockValue::Pointer { ty, offset: scalar(layout, POINTER_SIZE)? })
            }
            _ => {
                let count = part_count(self.declarations, ty);
                let count = count.ok_or_else(|| no("length that is known"))?;
                let parts = (0..count).map(|index| {
                    let (ty, layout) = self.part(ty, layout, index)?;
                    self.value(ty, layout)
                });
                Ok(BlockValue::Composite { ty, parts: parts.collect::<Result<_, _>>()? })
            }
        }
    }
}

/// Checks the offset of a scalar of `size` bytes, and returns the offset.
fn scalar(layout: ValueLayout, size: u32) -> Result<u32, String> {
    // Values are read by dwords, so alignment to 4 bytes is enough.
    let alignment = size.min(4);
    match u32::try_from(layout.offset) {
        Ok(offset) if layout.offset + u64::from(size) <= MAX_PUSH_CONSTANTS.into() => {
            if offset.is_multiple_of(alignment) {
                Ok(offset)
            } else {
                Err(format!("is at byte {offset}, no multiple of {alignment}"))
            }
        }
        _ => Err(format!("ends behind byte {MAX_PUSH_CONSTANTS}")),
    }
}

fn no(what: &str) -> String {
    format!("has no {what}")
}

#[cfg(test)]
mod tests {
    use spirv::Op;

    use super::*;
    use crate::spirv::emit::Builder;
    use crate::spirv::{Module, Section};

    fn empty() -> Module {
        Module::parse(&[spirv::MAGIC_NUMBER, 0x0001_0000, 0, 1, 0]).unwrap()
    }

    /// A decoration with its operands.
    type Decorated<'a> = (Decoration, &'a [u32]);

    /// Declares a structure whose members have these types and decorations.
    fn block(b: &mut Builder<'_>, members: &[(Id, &[Decorated<'_>])]) -> Id {
        let types: Vec<u32> = members.iter().map(|(ty, _)| ty.0).collect();
        let block = b.declare_new(Op::TypeStruct, &types);
        for (index, (_, decorations)) in (0..).zip(members) {
            for (decoration, parameters) in *decorations {
                let operands = [&[block.0, index, *decoration as u32], *parameters].concat();
                b.module.push(Section::Annotations, Op::MemberDecorate, &operands);
            }
        }
        block
    }

    /// Returns the bytes of a value in a variable of type `ty`.
    fn ask(mut module: Module, ty: Id, path: &[u32]) -> Result<Vec<Range<u32>>, String> {
        let id = Builder::new(&mut module).variable(StorageClass::PushConstant, ty);
        let declarations = Declarations::of(&module);
        let value = value_at(&declarations, declarations.variable(id).unwrap(), path)?;
        let mut bytes = Vec::new();
        value.add_bytes(&mut bytes);
        Ok(bytes)
    }

    const OFFSET_0: &[(Decoration, &[u32])] = &[(Decoration::Offset, &[0])];

    /// Declares an array of two matrices, each with three rows and two columns, in a structure at
    /// byte 64 of a block. Returns the type of the block.
    fn matrices(order: Decoration, stride: u32) -> (Module, Id) {
        let mut module = empty();
        let b = &mut Builder::new(&mut module);
        let float = b.declare(Op::TypeFloat, &[32]);
        let column = b.declare(Op::TypeVector, &[float.0, 3]);
        let matrix = b.declare_new(Op::TypeMatrix, &[column.0, 2]);
        let two = b.constant(2);
        let array = b.declare_new(Op::TypeArray, &[matrix.0, two.0]);
        b.decorate(array, Decoration::ArrayStride, &[48]);
        let decorations: [(Decoration, &[u32]); 3] =
            [(Decoration::Offset, &[16]), (order, &[]), (Decoration::MatrixStride, &[stride])];
        let inner = block(b, &[(float, OFFSET_0), (array, &decorations)]);
        let outer = block(b, &[(inner, &[(Decoration::Offset, &[64])])]);
        (module, outer)
    }

    fn starts(bytes: &[Range<u32>]) -> Vec<u32> {
        bytes.iter().map(|bytes| bytes.start).collect()
    }

    #[test]
    fn matrices_lie_by_columns_or_by_rows() {
        let starts_at = |order, stride, path: &[u32]| {
            let (module, outer) = matrices(order, stride);
            starts(&ask(module, outer, path).unwrap())
        };
        let (columns, rows) = (Decoration::ColMajor, Decoration::RowMajor);
        let second = [0, 1, 1];
        assert_eq!(starts_at(columns, 16, &second), [128, 132, 136, 144, 148, 152]);
        assert_eq!(starts_at(rows, 8, &second), [128, 136, 144, 132, 140, 148]);
        assert_eq!(starts_at(columns, 16, &[0, 1, 0, 1]), [96, 100, 104]);
        assert_eq!(starts_at(rows, 16, &[0, 1, 0, 1]), [84, 100, 116]);
        assert_eq!(starts_at(rows, 16, &[0, 1, 0, 1, 2]), [116]);
        assert_eq!(starts_at(rows, 16, &[]).len(), 13);
    }

    #[test]
    fn paths_select_what_is_there() {
        let (module, outer) = matrices(Decoration::ColMajor, 16);
        let declarations = Declarations::of(&module);
        let selected = |path: &'static [u32]| selecting(&declarations, outer, path);
        assert_eq!(selected(&[0, 1, 1, 1, 2]), [0, 1, 1, 1, 2]);
        assert_eq!(selected(&[0, 1, 2, 0]), [0, 1]);
        assert_eq!(selected(&[0, 1, 1, 2]), [0, 1, 1]);
        assert_eq!(selected(&[0, 0, 0]), [0, 0]);
        assert_eq!(selected(&[1]), [0; 0]);
    }

    #[test]
    fn scalars_are_as_long_as_they_are() {
        let mut module = empty();
        let b = &mut Builder::new(&mut module);
        let (byte, double) = (b.declare(Op::TypeInt, &[8, 0]), b.declare(Op::TypeFloat, &[64]));
        let (bytes, doubles) = [(byte, 3), (double, 2)]
            .map(|(ty, count)| b.declare(Op::TypeVector, &[ty.0, count]))
            .into();
        let pointer = b.pointer(StorageClass::PhysicalStorageBuffer, double);
        let all = block(
            b,
            &[
                (bytes, &[(Decoration::Offset, &[1])]),
                (doubles, &[(Decoration::Offset, &[4])]),
                (pointer, &[(Decoration::Offset, &[24])]),
            ],
        );
        assert_eq!(ask(module, all, &[]).unwrap(), [1..2, 2..3, 3..4, 4..12, 12..20, 24..32]);
    }

    #[test]
    fn what_has_no_layout_is_refused() {
        let of = |ty: fn(&mut Builder<'_>) -> Id, decorations: &[(Decoration, &[u32])]| {
            let mut module = empty();
            let b = &mut Builder::new(&mut module);
            let ty = ty(b);
            let all = block(b, &[(ty, decorations)]);
            ask(module, all, &[]).unwrap_err()
        };
        let float = |b: &mut Builder<'_>| b.declare(Op::TypeFloat, &[32]);
        assert_eq!(of(float, &[]), "has no Offset");
        assert_eq!(of(float, &[(Decoration::Offset, &[6])]), "is at byte 6, no multiple of 4");
        assert_eq!(of(float, &[(Decoration::Offset, &[4096])]), "ends behind byte 4096");
        assert_eq!(of(float, &[(Decoration::Offset, &[u32::MAX - 3])]), "ends behind byte 4096");
        fn array(b: &mut Builder<'_>) -> Id {
            let (float, length) = (b.declare(Op::TypeFloat, &[32]), b.constant(u32::MAX));
            b.declare_new(Op::TypeArray, &[float.0, length.0])
        }
        assert_eq!(of(array, OFFSET_0), "has no ArrayStride");
        let matrix = |b: &mut Builder<'_>| {
            let float = b.declare(Op::TypeFloat, &[32]);
            let column = b.declare(Op::TypeVector, &[float.0, 2]);
            b.declare_new(Op::TypeMatrix, &[column.0, 2])
        };
        assert_eq!(of(matrix, OFFSET_0), "has no MatrixStride");
        // Both of these types have too many parts: an array whose elements all have the same offset, and nested
        // structures that have no bytes.
        let same = |b: &mut Builder<'_>| {
            let array = array(b);
            b.decorate(array, Decoration::ArrayStride, &[0]);
            array
        };
        assert_eq!(of(same, OFFSET_0), "has more than 16384 parts");
        let nothing = |b: &mut Builder<'_>| {
            (0..200).fold(b.declare_new(Op::TypeStruct, &[]), |part, _| {
                block(b, &[(part, OFFSET_0), (part, OFFSET_0)])
            })
        };
        assert_eq!(of(nothing, OFFSET_0), "has more than 16384 parts");
    }
}
