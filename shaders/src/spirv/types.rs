//! Types of a shader's inputs and outputs: numbers, blocks, and their locations.

use spirv::Decoration;

use super::Id;
use super::declarations::{Declarations, Type};

/// The numeric class of a vertex format, or of a shader's input or output. A format must have the
/// class of the input that reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NumericClass {
    /// `UINT` formats, unsigned `OpTypeInt`.
    Uint,
    /// `SINT` formats, signed `OpTypeInt`.
    Sint,
    /// All other formats, `OpTypeFloat`.
    Float,
}

/// The largest number of types that may be visited for one value. A record has at most 512 dwords, with a few nested
/// types each.
pub(crate) const MAX_STEPS: u32 = 1 << 12;

/// A block, or an array of blocks.
pub struct Block<'a> {
    /// The structure type.
    pub ty: Id,
    /// The types of its members.
    pub members: &'a [Id],
    /// The constant that contains the length of the array; `None` for a single block.
    pub length: Option<Id>,
}

/// Returns the structure type `ty`, or the structure type that `ty` is a (nested) array of, with
/// the types of its members. `None` for other types.
pub fn structure_of(declarations: &Declarations, ty: Id) -> Option<(Id, &[Id])> {
    let ty = declarations.innermost(ty);
    match declarations.ty(ty)? {
        Type::Struct { members } => Some((ty, members)),
        _ => None,
    }
}

/// Whether a structure has built-in members. In this case all of its members are built-ins.
pub fn has_built_in_members(declarations: &Declarations, ty: Id, members: &[Id]) -> bool {
    let is_built_in =
        |member| declarations.member_decoration(ty, member, Decoration::BuiltIn).is_some();
    (0..members.len() as u32).any(is_built_in)
}

/// Returns the block type `ty`, or the block type that `ty` is an array of. `None` for a type that
/// is no structure, or not decorated as a `Block`.
pub fn block_type(declarations: &Declarations, ty: Id) -> Option<Block<'_>> {
    let (ty, length) = match declarations.ty(ty)? {
        Type::Array { element, length } => (*element, Some(*length)),
        _ => (ty, None),
    };
    match declarations.ty(ty)? {
        Type::Struct { members } => {
            declarations.decoration(ty, Decoration::Block)?;
            Some(Block { ty, members, length })
        }
        _ => None,
    }
}

/// The class and the number of bits of a scalar. `None` for other types, and for scalars that have
/// neither 32 nor 64 bits.
pub(crate) fn numeric_scalar(declarations: &Declarations, ty: Id) -> Option<(NumericClass, u32)> {
    match declarations.ty(ty)? {
        Type::Int { width: bits @ (32 | 64), signed: false } => Some((NumericClass::Uint, *bits)),
        Type::Int { width: bits @ (32 | 64), signed: true } => Some((NumericClass::Sint, *bits)),
        Type::Float { width: bits @ (32 | 64) } => Some((NumericClass::Float, *bits)),
        _ => None,
    }
}

/// The class, the number of bits of a component (32 or 64) and the number of components of a scalar
/// or vector. `None` for other types.
pub(crate) fn numeric_vector(
    declarations: &Declarations,
    ty: Id,
) -> Option<(NumericClass, u32, u32)> {
    let (component, count) = declarations.vector(ty)?;
    let (class, bits) = numeric_scalar(declarations, component)?;
    Some((class, bits, count)).filter(|_| (1..=4).contains(&count))
}

/// The number of locations that a type takes as an input or output: one for each vector of up to
/// four dwords, two for each longer one. 0 for a type that cannot be an input or output, or that contains too many
/// types.
pub fn locations_of(declarations: &Declarations, ty: Id) -> u32 {
    fn count(declarations: &Declarations, ty: Id, steps: &mut u32) -> Option<u32> {
        *steps += 1;
        if *steps > MAX_STEPS {
            return None;
        }
        if let Some((component, rows)) = declarations.vector(ty) {
            let bits = match declarations.ty(component)? {
                Type::Int { width, .. } | Type::Float { width } => *width,
                _ => return None,
            };
            return (1..=4).contains(&rows).then(|| rows.saturating_mul(bits).div_ceil(128));
        }
        match declarations.ty(ty)? {
            Type::Matrix { column, count: columns } => {
                count(declarations, *column, steps)?.checked_mul(*columns)
            }
            Type::Array { element, length } => {
                let each = count(declarations, *element, steps)?;
                each.checked_mul(declarations.constant(*length)?)
            }
            Type::Struct { members } => {
                let mut sum = 0u32;
                for member in members {
                    sum = sum.checked_add(count(declarations, *member, steps)?)?;
                }
                Some(sum)
            }
            _ => None,
        }
    }
    count(declarations, ty, &mut 0).unwrap_or(0)
}
