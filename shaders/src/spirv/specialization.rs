//! Replaces specialisation constants by constants ([Vulkan, specialization
//! constants](https://docs.vulkan.org/spec/latest/chapters/pipelines.html#pipelines-specialization-constants)).
//!
//! The layout of a capture depends on the lengths of arrays, which may depend on specialisation constants. The values
//! are therefore needed when a shader is lowered, not only when a pipeline is created, and the pipeline must have the
//! same values. [`specialize`] guarantees that: it writes the values into the module, where a pipeline can no longer
//! change them, and computes the constants that depend on them.

pub(crate) mod fold;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Decoration, Op};

use self::fold::{ConstantValue, Scalar, fold};
use super::declarations::{Declarations, Type};
use super::{Id, Instruction, Module, Section};

/// The value of a specialisation constant: a `VkSpecializationMapEntry` and its part of `pData`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpecializationConstant<'a> {
    /// `constantID`: the `SpecId` of the module's constant.
    pub constant_id: u32,
    /// `pData[offset..offset + size]`: the value in memory. Its size must be the size of the constant's type.
    /// A boolean has four bytes, because it is a `VkBool32`.
    pub data: &'a [u8],
}

/// The reason why values do not match a module's specialisation constants.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecializationError {
    /// The data have another size than the type of the constant.
    #[error("specialisation constant {constant_id} takes {expected} bytes, and was given {found}")]
    Size {
        /// `SpecId`
        constant_id: u32,
        /// The size of the constant's type in bytes.
        expected: usize,
        /// The size of the data in bytes.
        found: usize,
    },
    /// A constant is given two values.
    #[error("specialisation constant {constant_id} is given two values")]
    Duplicate {
        /// `SpecId`
        constant_id: u32,
    },
}

/// A specialisation constant that a module declares.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeclaredConstant {
    /// `SpecId`
    pub constant_id: u32,
    /// The name, if the module has names.
    pub name: Option<String>,
    /// The type: [`Type::Int`], [`Type::Float`], or `OpTypeBool` as [`Type::Other`].
    pub ty: Type,
    /// The type in GLSL syntax.
    pub type_name: String,
    /// The default value: the bits of the literal, 0 or 1 for a boolean.
    pub default: u64,
}

/// The specialisation constants of a module to which a pipeline can give a value, by `SpecId`.
pub fn declared_constants(module: &Module, declarations: &Declarations) -> Vec<DeclaredConstant> {
    let declared = |i: Instruction<'_>| {
        let default = match i.op()? {
            Op::SpecConstantTrue => 1,
            Op::SpecConstantFalse => 0,
            Op::SpecConstant => literal(i),
            _ => return None,
        };
        let (ty, id) = (i.id(0), i.id(1));
        Some(DeclaredConstant {
            constant_id: declarations.decoration_value(id, Decoration::SpecId)?,
            name: declarations.name(id).map(str::to_owned),
            ty: declarations.ty(ty)?.clone(),
            type_name: declarations.type_name(ty),
            default,
        })
    };
    let mut found: Vec<_> = module.section(Section::Declarations).filter_map(declared).collect();
    found.sort_by_key(|constant| constant.constant_id);
    found
}

/// Replaces the specialisation constants of a module by constants with the value in `values`, or
/// with their default. Operations on integers and booleans are computed; other operations are left
/// to the driver, with the constants as operands. As in Vulkan, a value for a `SpecId` that the
/// module does not have is ignored.
///
/// Returns the `SpecId`s that the module had.
///
/// # Errors
/// [`SpecializationError`]. In this case the module is unchanged.
pub fn specialize(
    module: &mut Module,
    values: &[SpecializationConstant<'_>],
) -> Result<BTreeSet<u32>, SpecializationError> {
    let mut data = BTreeMap::new();
    for SpecializationConstant { constant_id, data: bytes } in values {
        if data.insert(*constant_id, *bytes).is_some() {
            return Err(SpecializationError::Duplicate { constant_id: *constant_id });
        }
    }
    // Opcodes 48 to 52: OpSpecConstantTrue to OpSpecConstantOp.
    let specialized = Op::SpecConstantTrue as u16..=Op::SpecConstantOp as u16;
    if !module.section(Section::Declarations).any(|i| specialized.contains(&i.opcode())) {
        return Ok(BTreeSet::new());
    }
    let is_spec_id =
        |i: Instruction<'_>| i.is(Op::Decorate) && i.operand(1) == Decoration::SpecId as u32;
    let spec_ids: FxHashMap<Id, u32> = module
        .section(Section::Annotations)
        .filter(|i| is_spec_id(*i))
        .map(|i| (i.id(0), i.operand(2)))
        .collect();
    let mut constants = Constants { spec_ids, data, ..Constants::default() };
    let frozen: Result<Vec<_>, _> =
        module.section(Section::Declarations).map(|i| constants.freeze(i)).collect();
    let mut frozen = frozen?.into_iter();
    module.replace(Section::Declarations, |_| frozen.next().flatten());
    module.retain(Section::Annotations, |i| !is_spec_id(i));
    Ok(constants.spec_ids.into_values().collect())
}

/// The values of the constants that were read so far, and the types and decorations from which the values of
/// further constants are computed.
#[derive(Default)]
struct Constants<'a> {
    spec_ids: FxHashMap<Id, u32>,
    data: BTreeMap<u32, &'a [u8]>,
    types: FxHashMap<Id, Scalar>,
    scalars: FxHashMap<Id, ConstantValue>,
    composites: FxHashMap<Id, Vec<Id>>,
    /// The constants that depend on operations which only the driver can compute.
    open: FxHashSet<Id>,
}

impl Constants<'_> {
    /// Stores the type or the value that an instruction declares. Returns the words that replace the instruction, or
    /// `None` if it stays as it is.
    fn freeze(&mut self, i: Instruction<'_>) -> Result<Option<Vec<u32>>, SpecializationError> {
        let (ty, id) = (i.id(0), i.id(1));
        let scalar = self.types.get(&ty).copied();
        match i.op() {
            Some(Op::TypeBool) => self.note_type(ty, Some(Scalar::Bool)),
            Some(Op::TypeInt) => self.note_type(ty, Scalar::int(i.operand(1), i.operand(2) != 0)),
            Some(Op::TypeFloat) => self.note_type(ty, Scalar::float(i.operand(1))),
            Some(Op::ConstantTrue | Op::ConstantFalse | Op::ConstantNull | Op::Constant) => {
                let value = scalar.and_then(|scalar| ConstantValue::of_constant(scalar, i));
                self.scalars.extend(value.map(|value| (id, value)));
            }
            Some(Op::SpecConstantTrue) => return self.scalar(i, 1),
            Some(Op::SpecConstantFalse) => return self.scalar(i, 0),
            Some(Op::SpecConstant) => return self.scalar(i, literal(i)),
            Some(Op::ConstantComposite) => self.note_composite(i),
            Some(Op::SpecConstantComposite) => {
                self.note_composite(i);
                if !self.open.contains(&id) {
                    return Ok(Some(encode(Op::ConstantComposite, i.operands())));
                }
            }
            Some(Op::SpecConstantOp) => match self.operation(i) {
                Some(Computed::Scalar(value)) => {
                    self.scalars.insert(id, value);
                    return Ok(Some(value.declaration(ty, id)));
                }
                Some(Computed::Composite(parts)) => {
                    let words: Vec<u32> = [ty, id].iter().chain(&parts).map(|id| id.0).collect();
                    self.composites.insert(id, parts);
                    return Ok(Some(encode(Op::ConstantComposite, &words)));
                }
                None => _ = self.open.insert(id),
            },
            _ => {}
        }
        Ok(None)
    }

    fn note_type(&mut self, id: Id, scalar: Option<Scalar>) {
        self.types.extend(scalar.map(|scalar| (id, scalar)));
    }

    fn note_composite(&mut self, i: Instruction<'_>) {
        let parts: Vec<Id> = i.operands().iter().skip(2).map(|id| Id(*id)).collect();
        if parts.iter().any(|part| self.open.contains(part)) {
            self.open.insert(i.id(1));
        }
        self.composites.insert(i.id(1), parts);
    }

    /// Replaces a specialisation constant by a constant with the given value, or with the default. Returns the words
    /// of the constant; `None` if its type is not known, so that the instruction stays as it is.
    fn scalar(
        &mut self,
        i: Instruction<'_>,
        default: u64,
    ) -> Result<Option<Vec<u32>>, SpecializationError> {
        let (ty, id) = (i.id(0), i.id(1));
        let Some(scalar) = self.types.get(&ty).copied() else {
            self.open.insert(id);
            return Ok(None);
        };
        let mut value = ConstantValue::new(scalar, default);
        if let Some(constant_id) = self.spec_ids.get(&id).copied()
            && let Some(data) = self.data.get(&constant_id)
        {
            let (expected, found) = (scalar.bytes(), data.len());
            let size = SpecializationError::Size { constant_id, expected, found };
            value = ConstantValue::from_memory(scalar, data).ok_or(size)?;
        }
        self.scalars.insert(id, value);
        Ok(Some(value.declaration(ty, id)))
    }

    /// The result of an `OpSpecConstantOp`; `None` if only the driver can compute it.
    fn operation(&self, i: Instruction<'_>) -> Option<Computed> {
        let op = Op::from_u32(i.operand(2))?;
        let operands = i.operands().get(3..)?;
        if op == Op::CompositeExtract {
            let (composite, indices) = operands.split_first()?;
            let mut found = Id(*composite);
            for index in indices {
                found = *self.composites.get(&found)?.get(*index as usize)?;
            }
            return match self.scalars.get(&found) {
                Some(value) => Some(Computed::Scalar(*value)),
                None if self.open.contains(&found) => None,
                None => self.composites.get(&found).cloned().map(Computed::Composite),
            };
        }
        let scalar = self.types.get(&i.id(0))?;
        let operands: Option<Vec<ConstantValue>> =
            operands.iter().map(|id| self.scalars.get(&Id(*id)).copied()).collect();
        fold(op, *scalar, &operands?).map(Computed::Scalar)
    }
}

enum Computed {
    Scalar(ConstantValue),
    Composite(Vec<Id>),
}

fn literal(i: Instruction<'_>) -> u64 {
    u64::from(i.operand(2)) | u64::from(i.operand(3)) << 32
}

fn encode(op: Op, operands: &[u32]) -> Vec<u32> {
    let mut words = vec![(operands.len() as u32 + 1) << 16 | op as u32];
    words.extend_from_slice(operands);
    words
}
