//! Emits pure operations. Operations whose result is a constant or a value that exists already need no instruction.

use spirv::{Op, StorageClass};

use crate::spirv::Id;
use crate::spirv::declarations::Type;
use crate::spirv::optimize::limits::MAX_INDICES;
use crate::spirv::optimize::values::Values;
use crate::spirv::specialization::fold::{ConstantValue, Scalar, fold};

/// The largest number of instructions through which the origin of a part of a composite is traced back.
const MAX_STEPS: u32 = 64;

/// The largest number of members and elements of a value in memory, including nested ones, that are loaded separately.
/// A value with more of them is loaded as a whole.
const MAX_LOADS: u32 = 128;

impl Values<'_> {
    /// Returns the result of a pure operation, which is an existing value if possible, and otherwise the
    /// result of a new instruction.
    pub(super) fn value(&mut self, op: Op, ty: Id, operands: &[u32]) -> Id {
        simplify(self, op, ty, operands).unwrap_or_else(|| self.emitted(op, ty, operands))
    }

    pub(super) fn extract(&mut self, ty: Id, composite: Id, path: &[u32]) -> Id {
        if path.is_empty() {
            return composite;
        }
        let operands: Vec<u32> = std::iter::once(composite.0).chain(path.iter().copied()).collect();
        self.value(Op::CompositeExtract, ty, &operands)
    }

    pub(super) fn construct(&mut self, ty: Id, parts: &[Id]) -> Id {
        let operands: Vec<u32> = parts.iter().map(|part| part.0).collect();
        self.value(Op::CompositeConstruct, ty, &operands)
    }

    /// Loads from memory that no invocation writes. Each part of a structure or array is loaded separately, because
    /// usually few parts are needed. A value with more than [`MAX_LOADS`] parts is loaded as a whole.
    pub(super) fn load_unchanging(&mut self, pointer: Id, storage: StorageClass, ty: Id) -> Id {
        if self.has_few_parts(ty, &mut MAX_LOADS.clone()) {
            self.load_parts(pointer, storage, ty)
        } else {
            self.value(Op::Load, ty, &[pointer.0])
        }
    }

    fn load_parts(&mut self, pointer: Id, storage: StorageClass, ty: Id) -> Id {
        let parts = self.parts(ty);
        if parts.is_empty() {
            return self.value(Op::Load, ty, &[pointer.0]);
        }
        let parts: Vec<Id> = (0u32..)
            .zip(parts)
            .map(|(number, part)| {
                let index = self.uint_constant(number);
                let pointer_type = self.builder.pointer(storage, part);
                let at = self.value(Op::AccessChain, pointer_type, &[pointer.0, index.0]);
                self.load_parts(at, storage, part)
            })
            .collect();
        self.construct(ty, &parts)
    }

    /// The types of the members of a structure, or of the elements of an array. Empty for other types, and for an array
    /// whose length is not known or exceeds [`MAX_LOADS`].
    fn parts(&self, ty: Id) -> Vec<Id> {
        match self.ty(ty) {
            Some(Type::Struct { members }) => members.clone(),
            Some(Type::Array { element, length }) => match self.uint(*length) {
                Some(length) if length <= MAX_LOADS => vec![*element; length as usize],
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn has_few_parts(&self, ty: Id, left: &mut u32) -> bool {
        *left = left.saturating_sub(1);
        *left > 0 && self.parts(ty).into_iter().all(|part| self.has_few_parts(part, left))
    }
}

/// Returns an existing value that is equal to the result of a pure operation. Floating-point
/// numbers are never computed.
fn simplify(values: &mut Values<'_>, op: Op, ty: Id, operands: &[u32]) -> Option<Id> {
    match (op, operands) {
        (Op::CompositeExtract, [composite, path @ ..]) => {
            let (from, path) = part_of(values, Id(*composite), path)?;
            if path.is_empty() {
                return Some(from);
            }
            // The result is a part of another composite, from which it can be extracted directly.
            (from.0 != *composite).then(|| values.extract(ty, from, &path))
        }
        (Op::CompositeConstruct, parts) => whole_of(values, ty, parts),
        (Op::VectorShuffle, [a, b, components @ ..]) => {
            shuffled(values, ty, [Id(*a), Id(*b)], components)
        }
        (Op::CopyObject, [a]) => Some(Id(*a)),
        (Op::Bitcast, [a]) => (values.type_of(Id(*a)) == Some(ty)).then_some(Id(*a)),
        (Op::IAddCarry, [a, b]) if values.scalar(Id(*b)).is_some_and(|b| b.bits() == 0) => {
            Some(values.construct(ty, &[Id(*a), Id(*b)]))
        }
        (Op::Select, [_, a, b]) if a == b => Some(Id(*a)),
        (Op::Select, [condition, a, b]) => match same_bool(values, Id(*condition)) {
            Some(true) => Some(Id(*a)),
            Some(false) => Some(Id(*b)),
            None => match (values.bool(Id(*a)), values.bool(Id(*b))) {
                (Some(true), Some(false)) => Some(Id(*condition)),
                (Some(false), Some(true)) => Some(values.value(Op::LogicalNot, ty, &[*condition])),
                (None, Some(false)) => Some(values.value(Op::LogicalAnd, ty, &[*condition, *a])),
                (Some(true), None) => Some(values.value(Op::LogicalOr, ty, &[*condition, *b])),
                _ => None,
            },
        },
        (Op::LogicalNot, [a]) => {
            if let Some(value) = values.bool(Id(*a)) {
                return Some(
                    values.constant(ty, ConstantValue::new(Scalar::Bool, (!value).into())),
                );
            }
            let inner = values.definition(Id(*a)).filter(|i| i.is(Op::LogicalNot))?;
            Some(inner.id(2))
        }
        (Op::AccessChain | Op::InBoundsAccessChain, [base, indices @ ..]) => {
            if indices.is_empty() {
                return Some(Id(*base));
            }
            // An access chain whose base is an access chain becomes one chain with the indices of both.
            let inner = values.definition(Id(*base)).filter(|i| i.is(op))?;
            let inner = inner.operands().get(2..).filter(|inner| inner.len() > 1)?;
            if inner.len() + indices.len() > MAX_INDICES {
                return None;
            }
            let all = [inner, indices].concat();
            Some(values.value(op, ty, &all))
        }
        _ => arithmetic(values, op, ty, operands),
    }
}

/// Returns the value of a boolean constant, or of all components of a vector if they are the same
/// constant.
fn same_bool(values: &Values<'_>, id: Id) -> Option<bool> {
    let Some(vector) = values.definition(id).filter(|i| i.is(Op::CompositeConstruct)) else {
        return values.bool(id);
    };
    let (first, rest) = vector.operands().get(2..)?.split_first()?;
    rest.iter().all(|other| other == first).then(|| values.bool(Id(*first))).flatten()
}

fn arithmetic(values: &mut Values<'_>, op: Op, ty: Id, operands: &[u32]) -> Option<Id> {
    let result = values.scalar_type(ty)?;
    let value = |id: &u32| values.scalar(Id(*id));
    let folded = match operands {
        [a] => value(a).and_then(|a| fold(op, result, &[a])),
        [a, b] => value(a).zip(value(b)).and_then(|(a, b)| fold(op, result, &[a, b])),
        [a, b, c] => {
            let all = value(a).zip(value(b)).zip(value(c));
            all.and_then(|((a, b), c)| fold(op, result, &[a, b, c]))
        }
        _ => None,
    };
    if let Some(folded) = folded {
        return Some(values.constant(ty, folded));
    }
    let [a, b] = *operands else { return None };
    // An operand can replace the result only if the types are the same. Integers may differ in signedness.
    let same = |id: u32| (values.type_of(Id(id)) == Some(ty)).then_some(Id(id));
    let [is_a, is_b] = [a, b].map(|id| {
        let bits = values.scalar(Id(id)).map(ConstantValue::bits);
        move |n: u64| bits == Some(n)
    });
    match op {
        Op::IAdd | Op::BitwiseOr | Op::BitwiseXor if is_b(0) => same(a),
        Op::IAdd | Op::BitwiseOr | Op::BitwiseXor if is_a(0) => same(b),
        Op::ISub | Op::ShiftLeftLogical | Op::ShiftRightLogical | Op::ShiftRightArithmetic
            if is_b(0) =>
        {
            same(a)
        }
        Op::IMul | Op::UDiv if is_b(1) => same(a),
        Op::IMul if is_a(1) => same(b),
        Op::IMul | Op::BitwiseAnd if is_a(0) || is_b(0) => {
            Some(values.constant(ty, ConstantValue::new(result, 0)))
        }
        Op::UMod if is_b(1) => Some(values.constant(ty, ConstantValue::new(result, 0))),
        Op::LogicalAnd if a == b || is_b(1) => Some(Id(a)),
        Op::LogicalAnd if is_a(1) => Some(Id(b)),
        Op::LogicalAnd if is_a(0) || is_b(0) => {
            Some(values.constant(ty, ConstantValue::new(result, 0)))
        }
        Op::LogicalOr if a == b || is_b(0) => Some(Id(a)),
        Op::LogicalOr if is_a(0) => Some(Id(b)),
        Op::LogicalOr if is_a(1) || is_b(1) => {
            Some(values.constant(ty, ConstantValue::new(result, 1)))
        }
        Op::IEqual | Op::ULessThanEqual | Op::UGreaterThanEqual | Op::LogicalEqual if a == b => {
            Some(values.constant(ty, ConstantValue::new(Scalar::Bool, 1)))
        }
        Op::INotEqual | Op::ULessThan | Op::UGreaterThan | Op::LogicalNotEqual if a == b => {
            Some(values.constant(ty, ConstantValue::new(Scalar::Bool, 0)))
        }
        // No unsigned number is less than 0.
        Op::ULessThan if is_b(0) => Some(values.constant(ty, ConstantValue::new(Scalar::Bool, 0))),
        Op::UGreaterThanEqual if is_b(0) => {
            Some(values.constant(ty, ConstantValue::new(Scalar::Bool, 1)))
        }
        _ => None,
    }
}

/// Finds an existing value that contains a part of a composite. Returns the value, and the path in the value to the
/// part. `None` if the instructions that make the composite do not tell where the part comes from.
fn part_of(values: &mut Values<'_>, mut from: Id, path: &[u32]) -> Option<(Id, Vec<u32>)> {
    let mut path = path.to_vec();
    let mut is_found = false;
    for _ in 0..MAX_STEPS {
        if path.is_empty() {
            break;
        }
        let Some(next) = step(values, from, &path) else { break };
        (from, path) = next;
        is_found = true;
    }
    is_found.then_some((from, path))
}

/// Returns part `index` of a composite, if that needs no instruction.
pub(super) fn known_part(values: &mut Values<'_>, composite: Id, index: u32) -> Option<Id> {
    let (part, path) = part_of(values, composite, &[index])?;
    path.is_empty().then_some(part)
}

fn step(values: &mut Values<'_>, from: Id, path: &[u32]) -> Option<(Id, Vec<u32>)> {
    let (index, rest) = path.split_first()?;
    let Some(i) = values.definition(from) else {
        let whole = values.type_of(from)?;
        let ty = match values.ty(whole)? {
            Type::Struct { members } => *members.get(*index as usize)?,
            Type::Array { element, .. } => *element,
            Type::Vector { component, .. } => *component,
            Type::Matrix { column, .. } => *column,
            _ => return None,
        };
        return Some((values.constant_part(from, *index, ty)?, rest.to_vec()));
    };
    let operands = i.operands();
    match i.op()? {
        Op::CompositeConstruct => {
            let parts = &operands[2..];
            let Some(Type::Vector { .. }) = values.ty(i.id(0)) else {
                return Some((Id(*parts.get(*index as usize)?), rest.to_vec()));
            };
            // A vector may be constructed from vectors.
            let mut left = *index;
            for part in parts {
                let ty = values.type_of(Id(*part))?;
                let count = match values.ty(ty)? {
                    Type::Vector { count, .. } => *count,
                    _ => {
                        if left == 0 {
                            return Some((Id(*part), rest.to_vec()));
                        }
                        left -= 1;
                        continue;
                    }
                };
                if left < count {
                    return Some((Id(*part), [&[left], rest].concat()));
                }
                left -= count;
            }
            None
        }
        Op::CompositeInsert => {
            let (object, base, to) = (Id(operands[2]), Id(operands[3]), &operands[4..]);
            if let Some(rest) = path.strip_prefix(to) {
                return Some((object, rest.to_vec()));
            }
            // If the `OpCompositeInsert` changes another part, this part is the same as in the base. If the instruction
            // changes something within this part, the part is not known.
            (!to.starts_with(path)).then(|| (base, path.to_vec()))
        }
        Op::CompositeExtract => Some((Id(operands[2]), [operands.get(3..)?, path].concat())),
        Op::VectorShuffle => {
            let component = *operands.get(4 + *index as usize)?;
            let ty = values.type_of(Id(operands[2]))?;
            let Type::Vector { count, .. } = values.ty(ty)? else { return None };
            match component {
                u32::MAX => None,
                _ if component < *count => Some((Id(operands[2]), vec![component])),
                _ => Some((Id(operands[3]), vec![component - *count])),
            }
        }
        _ => None,
    }
}

/// Returns the composite whose parts, in order, are exactly `parts`, if there is one.
fn whole_of(values: &Values<'_>, ty: Id, parts: &[u32]) -> Option<Id> {
    let part = |number: usize| {
        let i =
            values.definition(Id(*parts.get(number)?)).filter(|i| i.is(Op::CompositeExtract))?;
        match *i.operands().get(2..)? {
            [from, index] if index as usize == number => Some(Id(from)),
            _ => None,
        }
    };
    let whole = part(0)?;
    let is_whole =
        values.type_of(whole) == Some(ty) && (1..parts.len()).all(|n| part(n) == Some(whole));
    is_whole.then_some(whole)
}

/// Returns the result of an `OpVectorShuffle` that does not change a vector, or whose components
/// are known.
fn shuffled(values: &mut Values<'_>, ty: Id, from: [Id; 2], components: &[u32]) -> Option<Id> {
    let of_a = values.type_of(from[0])?;
    if of_a == ty && (0u32..).zip(components).all(|(number, component)| number == *component) {
        return Some(from[0]);
    }
    let Type::Vector { count, .. } = *values.ty(of_a)? else { return None };
    let mut parts = Vec::with_capacity(components.len());
    for component in components {
        let (vector, index) = match *component {
            u32::MAX => return None,
            index if index < count => (from[0], index),
            index => (from[1], index - count),
        };
        match part_of(values, vector, &[index])? {
            (part, path) if path.is_empty() => parts.push(part),
            _ => return None,
        }
    }
    Some(values.construct(ty, &parts))
}
