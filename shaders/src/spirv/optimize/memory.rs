//! Tracks the values of `Function` and `Private` variables at each point of the code.

use rustc_hash::FxHashMap;
use spirv::Op;

use crate::spirv::Id;
use crate::spirv::declarations::Type;
use crate::spirv::optimize::limits::{MAX_ALL_LEAVES, MAX_LEAVES, Stop};
use crate::spirv::optimize::values::Values;

/// The values of all tracked variables, by leaf. A leaf is a part of a variable that is neither a
/// structure nor an array. [`NOTHING`] means that nothing was written to the leaf.
pub(super) type TrackedState = Vec<Id>;

/// The id that stands for the absence of a value.
pub(super) const NOTHING: Id = Id(0);

/// A pointer into a tracked variable.
#[derive(Debug, Clone)]
pub(super) struct Pointer {
    /// The id of the variable in the source.
    pub(super) variable: Id,
    /// The number of the first leaf of the pointee, or of the leaf that contains the pointee.
    leaf: usize,
    /// The type of the value from which `rest` selects the pointee; the type of the pointee if `rest` is empty.
    ty: Id,
    /// Indices that select the pointee within the leaf.
    rest: Vec<Id>,
}

#[derive(Debug, Default)]
pub(super) struct Tracked {
    pointers: FxHashMap<Id, Pointer>,
    pub(super) leaf_types: Vec<Id>,
}

impl Tracked {
    /// Returns the pointer that has the id `id` in the output; `None` if this is no pointer into a tracked variable.
    pub(super) fn pointer(&self, id: Id) -> Option<&Pointer> {
        self.pointers.get(&id)
    }

    /// Tracks a variable. Returns the range of its leaves (parts that are neither structures nor arrays), or `None` if
    /// its type is unknown or has too many leaves.
    pub(super) fn add(
        &mut self,
        values: &Values<'_>,
        id: Id,
        variable: Id,
        ty: Id,
    ) -> Option<std::ops::Range<usize>> {
        let first = self.leaf_types.len();
        let most = (first + MAX_LEAVES).min(MAX_ALL_LEAVES);
        if !push_leaves(values, ty, &mut self.leaf_types, most) {
            self.leaf_types.truncate(first);
            return None;
        }
        self.pointers.insert(id, Pointer { variable, leaf: first, ty, rest: Vec::new() });
        Some(first..self.leaf_types.len())
    }

    /// Stops tracking all leaves (parts of variables that are neither structures nor arrays) except the first
    /// `leaves`. Called at the end of the code of an inlined function, whose variables have the other leaves.
    pub(super) fn truncate(&mut self, leaves: usize) {
        self.leaf_types.truncate(leaves);
    }

    pub(super) fn leaves(&self, values: &Values<'_>, id: Id) -> std::ops::Range<usize> {
        match self.pointers.get(&id) {
            Some(pointer) => {
                pointer.leaf..pointer.leaf + count_leaves(values, pointer.ty).unwrap_or(0)
            }
            None => 0..0,
        }
    }

    /// Tracks the result `id` of an access chain, if its base is a pointer into a tracked variable. Fails if the index
    /// of a structure, array or matrix is not a known constant.
    pub(super) fn chain(
        &mut self,
        values: &Values<'_>,
        base: Id,
        indices: &[Id],
        id: Id,
    ) -> Result<(), Stop> {
        let Some(mut pointer) = self.pointers.get(&base).cloned() else { return Ok(()) };
        let stop = || Stop::Untrack(pointer.variable);
        let variable = pointer.variable;
        for index in indices {
            if !pointer.rest.is_empty() {
                pointer.rest.push(*index);
                continue;
            }
            match values.ty(pointer.ty) {
                Some(Type::Struct { members }) => {
                    let number = values.uint(*index).ok_or_else(stop)? as usize;
                    let member = *members.get(number).ok_or_else(stop)?;
                    for before in &members[..number] {
                        pointer.leaf +=
                            count_leaves(values, *before).ok_or(Stop::Untrack(variable))?;
                    }
                    pointer.ty = member;
                }
                Some(Type::Array { element, length }) => {
                    let number = values.uint(*index).ok_or_else(stop)?;
                    let length = values.uint(*length).ok_or_else(stop)?;
                    if number >= length {
                        return Err(stop());
                    }
                    let each = count_leaves(values, *element).ok_or_else(stop)?;
                    (pointer.leaf, pointer.ty) = (pointer.leaf + number as usize * each, *element);
                }
                Some(Type::Vector { .. }) => pointer.rest.push(*index),
                Some(Type::Matrix { .. }) if values.uint(*index).is_some() => {
                    pointer.rest.push(*index);
                }
                _ => return Err(stop()),
            }
        }
        self.pointers.insert(id, pointer);
        Ok(())
    }

    /// Returns the result of a load through `pointer`, which points into a tracked variable. The result is undefined if
    /// nothing was stored there.
    pub(super) fn load(
        &self,
        values: &mut Values<'_>,
        state: &TrackedState,
        pointer: &Pointer,
    ) -> Result<Id, Stop> {
        let mut leaf = pointer.leaf;
        let whole = self.build(values, state, pointer.ty, &mut leaf)?;
        Inside::of(values, pointer)?.load(values, whole)
    }

    fn build(
        &self,
        values: &mut Values<'_>,
        state: &TrackedState,
        ty: Id,
        leaf: &mut usize,
    ) -> Result<Id, Stop> {
        let Some(parts) = parts(values, ty) else {
            let value = state.get(*leaf).copied().unwrap_or(NOTHING);
            *leaf += 1;
            return Ok(if value == NOTHING { values.undefined(ty) } else { value });
        };
        let mut built = Vec::with_capacity(parts.len());
        for part in parts {
            built.push(self.build(values, state, part, leaf)?);
        }
        Ok(values.construct(ty, &built))
    }

    /// Changes `state` for a store of `value` through `pointer`, which points into a tracked variable.
    pub(super) fn store(
        &self,
        values: &mut Values<'_>,
        state: &mut TrackedState,
        pointer: &Pointer,
        value: Id,
    ) -> Result<(), Stop> {
        let mut leaf = pointer.leaf;
        if pointer.rest.is_empty() {
            spread(values, state, pointer.ty, &mut leaf, value);
            return Ok(());
        }
        let old = self.build(values, state, pointer.ty, &mut leaf)?;
        let new = Inside::of(values, pointer)?.store(values, pointer.ty, old, value);
        if let Some(place) = state.get_mut(pointer.leaf) {
            *place = new;
        }
        Ok(())
    }

    /// Stores the value of a variable's initializer in `state`, if the variable is tracked.
    pub(super) fn initialize(
        &self,
        values: &mut Values<'_>,
        state: &mut TrackedState,
        id: Id,
        value: Id,
    ) {
        if let Some(pointer) = self.pointers.get(&id) {
            spread(values, state, pointer.ty, &mut pointer.leaf.clone(), value);
        }
    }
}

/// Stores a value in `state`, from leaf number `leaf` on: each part of the value that is neither a structure nor an
/// array is stored in one leaf.
fn spread(values: &mut Values<'_>, state: &mut TrackedState, ty: Id, leaf: &mut usize, value: Id) {
    let Some(parts) = parts(values, ty) else {
        if let Some(place) = state.get_mut(*leaf) {
            *place = value;
        }
        *leaf += 1;
        return;
    };
    for (number, part) in (0u32..).zip(parts) {
        let part_value = values.extract(part, value, &[number]);
        spread(values, state, part, leaf, part_value);
    }
}

fn parts(values: &Values<'_>, ty: Id) -> Option<Vec<Id>> {
    match values.ty(ty)? {
        Type::Struct { members } => Some(members.clone()),
        Type::Array { element, length } => {
            Some(vec![*element; values.uint(*length).unwrap_or(0) as usize])
        }
        _ => None,
    }
}

/// Appends the types of the leaves of a type: its parts that are neither structures nor arrays. Returns false if
/// `leaves` would have more than `most` elements, or if the type contains a type that is not supported.
fn push_leaves(values: &Values<'_>, ty: Id, leaves: &mut Vec<Id>, most: usize) -> bool {
    match values.ty(ty) {
        // Structures without members are excluded, because they add no leaves, so `most` would not
        // limit the time that nested structures and arrays of them take.
        Some(Type::Struct { members }) => {
            !members.is_empty()
                && members.iter().all(|member| push_leaves(values, *member, leaves, most))
        }
        Some(Type::Array { element, length }) => {
            let Some(length) = values.uint(*length) else { return false };
            length > 0
                && length as usize <= MAX_LEAVES
                && (0..length).all(|_| push_leaves(values, *element, leaves, most))
        }
        Some(
            Type::Int { .. }
            | Type::Float { .. }
            | Type::Vector { .. }
            | Type::Matrix { .. }
            | Type::Other(Op::TypeBool),
        ) => {
            leaves.push(ty);
            leaves.len() <= most
        }
        _ => false,
    }
}

fn count_leaves(values: &Values<'_>, ty: Id) -> Option<usize> {
    Some(match values.ty(ty)? {
        Type::Struct { members } => {
            let mut sum = 0;
            for member in members {
                sum += count_leaves(values, *member)?;
            }
            sum
        }
        Type::Array { element, length } => {
            values.uint(*length)? as usize * count_leaves(values, *element)?
        }
        _ => 1,
    })
}

/// Selects a part of a leaf (a vector or a matrix) by constant indices, and optionally by a last index that is not
/// constant.
struct Inside {
    constant: Vec<u32>,
    /// The type of the vector that the last index selects from, and that index; `None` if all
    /// indices are constant.
    component: Option<(Id, Id)>,
    /// The type of the part.
    ty: Id,
}

impl Inside {
    fn of(values: &Values<'_>, pointer: &Pointer) -> Result<Self, Stop> {
        let mut inside = Self { constant: Vec::new(), component: None, ty: pointer.ty };
        for index in &pointer.rest {
            let stop = Stop::Untrack(pointer.variable);
            let (part, count) = match values.ty(inside.ty) {
                Some(Type::Vector { component, count }) => (*component, *count),
                Some(Type::Matrix { column, count }) => (*column, *count),
                _ => return Err(stop),
            };
            match values.uint(*index) {
                Some(number) if number < count => inside.constant.push(number),
                None if matches!(values.ty(inside.ty), Some(Type::Vector { .. })) => {
                    inside.component = Some((inside.ty, *index));
                }
                _ => return Err(stop),
            }
            inside.ty = part;
        }
        Ok(inside)
    }

    /// Returns the part of `whole`, the value of a leaf, that the indices select.
    fn load(&self, values: &mut Values<'_>, whole: Id) -> Result<Id, Stop> {
        let Some((vector_type, index)) = self.component else {
            return Ok(values.extract(self.ty, whole, &self.constant));
        };
        let vector = values.extract(vector_type, whole, &self.constant);
        Ok(values.value(Op::VectorExtractDynamic, self.ty, &[vector.0, index.0]))
    }

    /// Returns the value `whole` of a leaf, with the selected part replaced by `part`. `leaf` is the type of the leaf
    /// (a part of a variable that is neither a structure nor an array).
    fn store(&self, values: &mut Values<'_>, leaf: Id, whole: Id, part: Id) -> Id {
        let mut part = part;
        if let Some((vector_type, index)) = self.component {
            let vector = values.extract(vector_type, whole, &self.constant);
            let operands = [vector.0, part.0, index.0];
            part = values.value(Op::VectorInsertDynamic, vector_type, &operands);
            if self.constant.is_empty() {
                return part;
            }
        }
        let operands: Vec<u32> =
            [part.0, whole.0].into_iter().chain(self.constant.iter().copied()).collect();
        values.value(Op::CompositeInsert, leaf, &operands)
    }
}
