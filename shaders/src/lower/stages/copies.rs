//! This module removes copies of inputs: a stage that copies its inputs to a variable of a function, and then reads the
//! copy, reads the inputs themselves instead.
//!
//! DXC copies all elements of an `InputPatch` to an array of structures, and passes that to functions. As long as the
//! inputs are inputs, this costs little, because drivers know that they do not change. In the compute shader they are
//! variables like any other, and compilers for CPUs take seconds to copy and to index such arrays. After a barrier of a
//! control shader, each invocation would need its own copy ([`phases`](super::phases)).

use std::cell::Cell;
use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};

use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::remove_annotations;
use crate::spirv::id_set::IdSet;
use crate::spirv::{Id, Instruction, Module, Section, ids_of, result_of};

/// The largest depth of instructions that take a copy apart and put it together.
const MAX_DEPTH: u32 = 32;
/// The largest number of indices of a part: what every SPIR-V consumer takes.
const MAX_INDICES: usize = 255;
/// The largest number of instructions that are followed for all parts together. Shaders of hundreds of loads from
/// copies of 32 elements take fewer; what is left behind it stays a copy.
const MAX_STEPS: usize = 1 << 20;

/// An index into a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Index {
    Constant(u32),
    /// The result of an instruction, or a specialization constant.
    Value(Id),
}

/// A variable, and the indices of a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PartPlace {
    variable: Id,
    indices: Vec<Index>,
}

impl PartPlace {
    const fn whole(variable: Id) -> Self {
        Self { variable, indices: Vec::new() }
    }
}

/// What functions do with their variables.
struct Copies<'m> {
    declarations: &'m Declarations,
    /// The parameters of each function.
    parameters: FxHashMap<Id, Vec<Id>>,
    /// The arguments of parameters that are the same in each call.
    arguments: FxHashMap<Id, Option<Id>>,
    /// The instructions that a copy may be made of, by their results.
    values: FxHashMap<Id, Instruction<'m>>,
    /// What pointers point to: inputs, variables of functions, and parts of these. A parameter points to what its
    /// argument points to.
    places: FxHashMap<Id, PartPlace>,
    /// For each variable of a function, the value that is stored to it as a whole.
    stored: FxHashMap<Id, Id>,
    /// The pointers to parts of variables that are loaded from.
    loaded: BTreeSet<Id>,
    /// The variables that are loaded as a whole.
    loaded_whole: FxHashSet<Id>,
    /// The variables that are used in another way, too.
    others: FxHashSet<Id>,
    /// The number of instructions that were followed.
    steps: Cell<usize>,
}

/// What replaces a copy.
#[derive(Default)]
struct Replaced {
    /// The copies, and all pointers into them.
    pointers: FxHashSet<Id>,
    /// For each pointer that is loaded from, the same part of an input, and its type.
    inputs: Vec<(Id, PartPlace, Id)>,
    /// The values of the copies.
    values: Vec<Id>,
    /// For each function that takes copies, which of its arguments are not copies.
    arguments: FxHashMap<Id, Vec<bool>>,
}

/// Replaces loads from copies of inputs by loads from the inputs, and removes the copies.
///
/// A copy is a variable of a function that is stored to once, as a whole, and otherwise only loaded from. A load before
/// that store would be undefined, so it does not matter where the store is.
pub(super) fn read_inputs_in_place(module: &mut Module) {
    // Copies of copies are removed one after the other.
    for _ in 0..MAX_DEPTH {
        let declarations = Declarations::of(module);
        let replaced = Copies::of(module, &declarations).replaced();
        if replaced.pointers.is_empty() {
            return;
        }
        replaced.remove_from(module);
    }
}

impl Replaced {
    fn remove_from(self, module: &mut Module) {
        let builder = &mut Builder::new(module);
        let mut words = shorter_calls(builder, &self.arguments);
        for (pointer, PartPlace { variable, indices }, pointee) in self.inputs {
            let ty = builder.pointer(StorageClass::Input, pointee);
            let mut operands = vec![ty.0, pointer.0, variable.0];
            operands.extend(indices.into_iter().map(|index| match index {
                Index::Constant(number) => builder.constant(number).0,
                Index::Value(id) => id.0,
            }));
            words.insert(pointer, encoded(Op::AccessChain, &operands));
        }
        module.replace(Section::Functions, |i| words.get(&result_of(i).1?).cloned());
        let mut removed = module.id_set();
        for pointer in self.pointers.iter().filter(|id| !words.contains_key(id)) {
            removed.insert(*pointer);
        }
        module.retain(Section::Functions, |i| {
            let is_store = i.is(Op::Store) && self.pointers.contains(&i.id(0));
            !is_store && !result_of(i).1.is_some_and(|id| removed.contains(id))
        });
        remove_unused(module, self.values, &mut removed);
        remove_annotations(module, &removed);
    }
}

fn encoded(op: Op, operands: &[u32]) -> Vec<u32> {
    let mut code = Code::default();
    code.push(op, operands);
    code.words().to_vec()
}

/// Returns the instructions that declare and call functions with fewer arguments, by their results. `arguments` says
/// for each function which of its arguments it keeps.
fn shorter_calls(
    builder: &mut Builder<'_>,
    arguments: &FxHashMap<Id, Vec<bool>>,
) -> FxHashMap<Id, Vec<u32>> {
    let kept = |function: Id, operands: &[u32]| -> Option<Vec<u32>> {
        let kept = operands.iter().zip(arguments.get(&function)?).filter(|(_, is_kept)| **is_kept);
        Some(kept.map(|(operand, _)| *operand).collect())
    };
    let types = builder.module.section(Section::Declarations).filter(|i| i.is(Op::TypeFunction));
    let types: FxHashMap<Id, Vec<u32>> =
        types.map(|i| (i.id(0), i.operands().iter().skip(1).copied().collect())).collect();
    let mut words = FxHashMap::default();
    let mut functions = Vec::new();
    for i in builder.module.section(Section::Functions) {
        let Some((head, operands)) = i.operands().split_at_checked(3) else { continue };
        match i.op() {
            Some(Op::Function) => functions.push((head.to_vec(), i.id(3))),
            Some(Op::FunctionCall) => {
                if let Some(kept) = kept(i.id(2), operands) {
                    words.insert(i.id(1), encoded(Op::FunctionCall, &[head, &kept].concat()));
                }
            }
            _ => {}
        }
    }
    for (mut operands, ty) in functions {
        if let Some((result, parameters)) = types.get(&ty).and_then(|ty| ty.split_first())
            && let Some(kept) = kept(Id(operands[1]), parameters)
        {
            let ty = [&[*result], &kept[..]].concat();
            operands.push(builder.declare(Op::TypeFunction, &ty).0);
            words.insert(Id(operands[1]), encoded(Op::Function, &operands));
        }
    }
    words
}

impl<'m> Copies<'m> {
    fn of(module: &'m Module, declarations: &'m Declarations) -> Self {
        let inputs = declarations.variables(StorageClass::Input).map(|v| v.id);
        let mut this = Self {
            declarations,
            parameters: FxHashMap::default(),
            arguments: FxHashMap::default(),
            values: FxHashMap::default(),
            places: inputs.map(PartPlace::whole).map(|place| (place.variable, place)).collect(),
            stored: FxHashMap::default(),
            loaded: BTreeSet::new(),
            loaded_whole: FxHashSet::default(),
            others: FxHashSet::default(),
            steps: Cell::new(0),
        };
        let mut function = Id(0);
        for i in module.section(Section::Functions) {
            match i.op() {
                Some(Op::Function) => function = i.id(1),
                Some(Op::FunctionParameter) => {
                    this.parameters.entry(function).or_default().push(i.id(1));
                }
                // Without an initializer.
                Some(Op::Variable) if i.operands().len() == 3 => {
                    this.places.insert(i.id(1), PartPlace::whole(i.id(1)));
                }
                _ => {}
            }
        }
        for i in module.section(Section::Functions).filter(|i| i.is(Op::FunctionCall)) {
            let parameters = this.parameters.get(&i.id(2)).into_iter().flatten();
            for (parameter, argument) in parameters.zip(i.operands().iter().skip(3)) {
                let known = this.arguments.entry(*parameter).or_insert(Some(Id(*argument)));
                *known = known.filter(|id| id.0 == *argument);
            }
        }
        for parameter in this.parameters.values().flatten() {
            let mut at = *parameter;
            for _ in 0..MAX_DEPTH {
                at = this.arguments.get(&at).copied().flatten().unwrap_or(at);
            }
            if let Some(place) = this.places.get(&at).cloned() {
                this.places.insert(*parameter, place);
            }
        }
        for i in module.section(Section::Functions) {
            this.read(i);
        }
        this
    }

    fn read(&mut self, i: Instruction<'m>) {
        let result = result_of(i).1;
        match (i.op(), result) {
            (Some(Op::Variable | Op::FunctionParameter), _) => return,
            (Some(Op::AccessChain | Op::InBoundsAccessChain), Some(id)) => {
                let indices = i.operands().get(3..).unwrap_or_default();
                if let Some(base) = self.places.get(&i.id(2))
                    && base.indices.len() + indices.len() <= MAX_INDICES
                {
                    let mut place = base.clone();
                    place.indices.extend(indices.iter().map(|id| self.index(Id(*id))));
                    self.places.insert(id, place);
                    return;
                }
            }
            (Some(Op::Load), Some(id)) => {
                self.values.insert(id, i);
                if let Some(place) = self.places.get(&i.id(2)) {
                    if place.indices.is_empty() {
                        self.loaded_whole.insert(place.variable);
                    } else {
                        self.loaded.insert(i.id(2));
                    }
                    return;
                }
            }
            (Some(Op::Store), _) => {
                if let Some(PartPlace { variable, indices }) = self.places.get(&i.id(0))
                    && indices.is_empty()
                    && self.declarations.variable(*variable).is_none()
                    && !self.places.contains_key(&i.id(1))
                {
                    if self.stored.insert(*variable, i.id(1)).is_some() {
                        self.others.insert(*variable);
                    }
                    return;
                }
            }
            (Some(Op::CompositeConstruct | Op::CompositeExtract), Some(id)) => {
                self.values.insert(id, i);
            }
            (Some(Op::FunctionCall), _) => {
                let parameters = self.parameters.get(&i.id(2)).into_iter().flatten();
                for (parameter, argument) in parameters.zip(i.operands().iter().skip(3)) {
                    if let Some(place) = self.places.get(&Id(*argument))
                        && self.places.get(parameter) != Some(place)
                    {
                        self.others.insert(place.variable);
                    }
                }
                return;
            }
            _ => {}
        }
        let places = ids_of(i).into_iter().filter(|id| Some(*id) != result);
        self.others.extend(places.filter_map(|id| Some(self.places.get(&id)?.variable)));
    }

    /// The copies whose parts that are loaded are parts of inputs.
    fn replaced(&self) -> Replaced {
        let mut kept: FxHashSet<Id> = self.others.union(&self.loaded_whole).copied().collect();
        let mut inputs = Vec::new();
        for pointer in &self.loaded {
            match self.input(*pointer) {
                Some((place, ty)) => inputs.push((*pointer, place, ty)),
                None => {
                    kept.insert(self.places[pointer].variable);
                }
            }
        }
        let is_removed = |id: &Id| self.stored.contains_key(id) && !kept.contains(id);
        let pointers = self.places.iter().filter(|(_, place)| is_removed(&place.variable));
        let pointers: FxHashSet<Id> = pointers.map(|(id, _)| *id).collect();
        inputs.retain(|(pointer, ..)| pointers.contains(pointer));
        let stored = self.stored.iter().filter(|(variable, _)| is_removed(variable));
        let kept = self.parameters.iter().map(|(function, parameters)| {
            (*function, parameters.iter().map(|id| !pointers.contains(id)).collect::<Vec<bool>>())
        });
        Replaced {
            inputs,
            values: stored.map(|(_, value)| *value).collect(),
            arguments: kept.filter(|(_, kept)| kept.contains(&false)).collect(),
            pointers,
        }
    }

    fn index(&self, id: Id) -> Index {
        match self.declarations.constant(id) {
            Some(number) if self.declarations.specialization(id).is_none() => {
                Index::Constant(number)
            }
            _ => Index::Value(id),
        }
    }

    fn is_structure(&self, ty: Id) -> bool {
        matches!(self.declarations.ty(ty), Some(Type::Struct { .. }))
    }

    /// Returns the value that a variable of a function has wherever it is read.
    fn copied(&self, variable: Id) -> Option<Id> {
        self.stored.get(&variable).filter(|_| !self.others.contains(&variable)).copied()
    }

    /// Returns the part of an input that is equal to the part of a copy to which `pointer` points, and its type. `None`
    /// if that is not a copy of inputs.
    fn input(&self, pointer: Id) -> Option<(PartPlace, Id)> {
        let copy = self.places.get(&pointer)?;
        let input = self.source(self.copied(copy.variable)?, &copy.indices, 0)?;
        let variable = self.declarations.variable(input.variable)?;
        let mut ty = variable.pointee;
        for index in &input.indices {
            let number = match index {
                Index::Constant(number) => *number,
                // Which member has which type?
                Index::Value(_) if self.is_structure(ty) => return None,
                Index::Value(_) => 0,
            };
            ty = self.declarations.type_at(ty, &[number])?;
        }
        Some((input, ty))
    }

    /// Returns the part of an input that is equal to the part `indices` of a value.
    fn source(&self, value: Id, indices: &[Index], depth: u32) -> Option<PartPlace> {
        let steps = self.steps.get();
        if depth > MAX_DEPTH || steps == MAX_STEPS {
            return None;
        }
        self.steps.set(steps + 1);
        let i = *self.values.get(&value)?;
        match i.op()? {
            Op::Load => {
                let mut place = self.places.get(&i.id(2))?.clone();
                // The copy may be read where this index is not computed yet.
                if place.indices.iter().any(|index| matches!(index, Index::Value(_))) {
                    return None;
                }
                place.indices.extend(indices);
                if self.declarations.variable(place.variable).is_some() {
                    return Some(place);
                }
                self.source(self.copied(place.variable)?, &place.indices, depth + 1)
            }
            Op::CompositeExtract => {
                let path = i.operands().get(3..)?.iter().map(|number| Index::Constant(*number));
                let path: Vec<Index> = path.chain(indices.iter().copied()).collect();
                self.source(i.id(2), &path, depth + 1)
            }
            Op::CompositeConstruct => {
                let parts = i.operands().get(2..)?;
                let (first, rest) = indices.split_first()?;
                // A part of a vector may be several of its components: such a copy is kept.
                if let Some(Type::Vector { .. }) = self.declarations.ty(i.id(0)) {
                    return None;
                }
                match first {
                    Index::Constant(number) => {
                        self.source(Id(*parts.get(*number as usize)?), rest, depth + 1)
                    }
                    Index::Value(_) if self.is_structure(i.id(0)) => None,
                    Index::Value(_) => self.source_of_all(parts, *first, rest, depth + 1),
                }
            }
            _ => None,
        }
    }

    /// Returns the part of an input that is equal to the part `rest` of the element `index` of an array that is made of
    /// `elements`, whatever the index is.
    fn source_of_all(
        &self,
        elements: &[u32],
        index: Index,
        rest: &[Index],
        depth: u32,
    ) -> Option<PartPlace> {
        let (first, others) = elements.split_first()?;
        let mut place = self.source(Id(*first), rest, depth)?;
        // The sources must differ in exactly one index, which is the number of the element: they are elements of one
        // array. Of a single element the only valid index is 0, which its source already has.
        if others.is_empty() {
            return Some(place);
        }
        let mut at = None;
        for (number, element) in (1..).zip(others) {
            let other = self.source(Id(*element), rest, depth)?;
            if other.variable != place.variable || other.indices.len() != place.indices.len() {
                return None;
            }
            let pairs = place.indices.iter().zip(&other.indices).enumerate();
            let mut differing = pairs.filter(|(_, (one, other))| one != other);
            let (position, (one, other)) = differing.next()?;
            let is_number = *one == Index::Constant(0) && *other == Index::Constant(number);
            if differing.next().is_some() || !is_number || at.is_some_and(|at| at != position) {
                return None;
            }
            at = Some(position);
        }
        *place.indices.get_mut(at?)? = index;
        Some(place)
    }
}

/// Removes instructions whose results are not used, beginning with `results`, and what only they use.
fn remove_unused(module: &mut Module, mut results: Vec<Id>, removed: &mut IdSet) {
    let has_effects = |i: Instruction<'_>| match i.op() {
        // With memory operands it may be volatile.
        Some(Op::Load) => i.operands().len() > 3,
        Some(Op::CompositeConstruct | Op::CompositeExtract) => false,
        Some(Op::AccessChain | Op::InBoundsAccessChain) => false,
        _ => true,
    };
    let mut uses: FxHashMap<Id, u32> = FxHashMap::default();
    let mut made_of: FxHashMap<Id, Vec<Id>> = FxHashMap::default();
    for i in module.section(Section::Functions) {
        let result = result_of(i).1;
        let used: Vec<Id> = ids_of(i).into_iter().filter(|id| Some(*id) != result).collect();
        for id in &used {
            *uses.entry(*id).or_default() += 1;
        }
        if let Some(result) = result.filter(|_| !has_effects(i)) {
            made_of.insert(result, used);
        }
    }
    while let Some(result) = results.pop() {
        if uses.get(&result).is_some_and(|uses| *uses > 0) {
            continue;
        }
        let Some(used) = made_of.remove(&result) else { continue };
        removed.insert(result);
        for id in used {
            if let Some(uses) = uses.get_mut(&id) {
                *uses -= 1;
            }
            results.push(id);
        }
    }
    module.retain(Section::Functions, |i| !result_of(i).1.is_some_and(|id| removed.contains(id)));
}
