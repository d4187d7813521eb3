//! Loads elements of short arrays whose index is not known, by comparisons.
//!
//! A geometry shader that reads `input[i % 3]` makes most compilers keep the inputs of all vertices in memory. If each
//! element is loaded by a constant index, and the wanted one selected, they stay in registers.
//!
//! Modules that also store elements of such arrays by unknown indices (other than parameters of functions) are left as they
//! are: their arrays may have to be in memory in any case, and NVIDIA's compiler (580.159.04) crashes by some of those that
//! have both.

use spirv::{Op, StorageClass};

use crate::spirv::Id;
use crate::spirv::declarations::Type;
use crate::spirv::optimize::limits::MAX_SELECTED;
use crate::spirv::optimize::values::Values;
use crate::spirv::specialization::fold::ConstantValue;

/// A pointer to a part of an element of an array whose index is not known.
struct Selected {
    /// The operands of the access chain, without type and result.
    chain: Vec<u32>,
    pointer_type: Id,
    /// The place of the index in `chain`.
    place: usize,
    /// The number of elements of the array.
    length: u32,
}

impl Values<'_> {
    /// Returns the result, with the type `ty`, of a load through `pointer`, if this points into a short array of a
    /// `Private` or `Function` variable, and the index is not known. Otherwise returns `None`, also for several such
    /// indices.
    pub(super) fn load_selected(&mut self, pointer: Id, ty: Id) -> Option<Id> {
        let Selected { mut chain, pointer_type, place, length } = self.selected(pointer)?;
        let index = Id(chain[place]);
        let index_type = self.type_of(index)?;
        let scalar = self.scalar_type(index_type)?;
        let bool = self.builder.bool();
        let bools = match self.ty(ty)? {
            // Before SPIR-V 1.4, a vector has a condition for each component.
            Type::Vector { count, .. } => {
                Some((self.builder.declare(Op::TypeVector, &[bool.0, *count]), *count as usize))
            }
            _ if self.scalar_type(ty).is_some() => None,
            _ => return None,
        };
        let mut loaded: Option<Id> = None;
        for number in 0..length {
            let number = self.constant(index_type, ConstantValue::new(scalar, number.into()));
            chain[place] = number.0;
            let element = self.value(Op::AccessChain, pointer_type, &chain);
            let element = self.define(Op::Load, ty, &[element.0]);
            loaded = Some(match loaded {
                None => element,
                Some(before) => {
                    let mut condition = self.value(Op::IEqual, bool, &[index.0, number.0]);
                    if let Some((bools, count)) = bools {
                        condition = self.construct(bools, &vec![condition; count]);
                    }
                    self.value(Op::Select, ty, &[condition.0, element.0, before.0])
                }
            });
        }
        loaded
    }

    fn selected(&self, pointer: Id) -> Option<Selected> {
        let i = self.definition(pointer)?;
        if !matches!(i.op(), Some(Op::AccessChain | Op::InBoundsAccessChain)) {
            return None;
        }
        let (storage, mut ty) = self.pointee(i.id(2))?;
        if ![StorageClass::Private, StorageClass::Function].iter().any(|s| *s as u32 == storage) {
            return None;
        }
        let mut found = None;
        for (number, index) in i.operands().iter().enumerate().skip(3) {
            ty = match self.ty(ty)? {
                Type::Struct { members } => *members.get(self.uint(Id(*index))? as usize)?,
                Type::Array { element, length } => {
                    if self.uint(Id(*index)).is_none() {
                        let length = self.uint(*length).filter(|length| *length <= MAX_SELECTED)?;
                        if found.replace((number - 2, length)).is_some() {
                            return None;
                        }
                    }
                    *element
                }
                Type::Vector { component, .. } => *component,
                Type::Matrix { column, .. } => *column,
                _ => return None,
            };
        }
        let (place, length) = found?;
        Some(Selected { chain: i.operands()[2..].to_vec(), pointer_type: i.id(0), place, length })
    }
}
