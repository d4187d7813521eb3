//! Types of a shader's inputs and outputs: numbers, blocks, and the locations that they take.

use spirv::Decoration;

use super::Id;
use super::declarations::{Declarations, Type};

/// Numeric class of a format or of a shader's variable; the two must be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NumericClass {
    /// `UINT` formats, `OpTypeInt` without sign.
    Uint,
    /// `SINT` formats, `OpTypeInt` with sign.
    Sint,
    /// All other formats, `OpTypeFloat`.
    Float,
}

/// Types that a walk over one value may visit. A record has at most 512 dwords, each a few types deep.
pub(crate) const MAX_STEPS: u32 = 1 << 12;

/// The block that a variable is, or is an array of.
pub(crate) struct Block<'a> {
    pub(crate) ty: Id,
    pub(crate) members: &'a [Id],
    /// Of an array: the constant that is its length.
    pub(crate) length: Option<Id>,
}

/// The block of a variable, or of its elements, and the block's members.
pub(crate) fn block_type(declarations: &Declarations, ty: Id) -> Option<Block<'_>> {
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

/// Class and bits of a scalar of 32 or 64 bits.
pub(crate) fn numeric_scalar(declarations: &Declarations, ty: Id) -> Option<(NumericClass, u32)> {
    match declarations.ty(ty)? {
        Type::Int { width: bits @ (32 | 64), signed: false } => Some((NumericClass::Uint, *bits)),
        Type::Int { width: bits @ (32 | 64), signed: true } => Some((NumericClass::Sint, *bits)),
        Type::Float { width: bits @ (32 | 64) } => Some((NumericClass::Float, *bits)),
        _ => None,
    }
}

/// Class, bits of a component (32 or 64) and components of a scalar or vector.
pub(crate) fn numeric_vector(
    declarations: &Declarations,
    ty: Id,
) -> Option<(NumericClass, u32, u32)> {
    let (component, count) = declarations.vector(ty)?;
    let (class, bits) = numeric_scalar(declarations, component)?;
    Some((class, bits, count)).filter(|_| (1..=4).contains(&count))
}

/// Locations that a type takes, captured or not: one for each vector of up to four dwords, two for longer ones.
/// 0 for a type that no walk would get through.
pub(crate) fn locations_of(declarations: &Declarations, ty: Id) -> u32 {
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
