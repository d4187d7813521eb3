//! This module cuts a tessellation control shader at its barriers, so that one invocation of the compute shader can run
//! all invocations of the control shader one after the other: first each invocation up to the first barrier, then each
//! invocation up to the next barrier.
//!
//! The parts of the shader between barriers are its *phases*. The function of the entry point becomes one `OpSwitch`,
//! whose cases are the phases. Values, variables of the function, and `Private` variables that later phases of the same
//! invocation may use are saved in arrays with one element per invocation. Outputs need not be saved, because all
//! invocations share them.
//!
//! A barrier must be where every invocation executes it exactly once: in the function of the entry point, outside of
//! loops and selections, and before any return. GLSL requires the same.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Decoration, Op, StorageClass};

use crate::lower::LowerError;
use crate::spirv::call_tree::reachable_functions;
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::optimize::source::successors;
use crate::spirv::static_use::StaticUse;
use crate::spirv::{Id, Instruction, Module, Section, ids_of, result_of, visit_ids};

/// The phases of a tessellation control shader: the parts of its code between barriers.
#[derive(Debug, Clone)]
pub(in crate::lower) struct Phases {
    pub(super) count: u32,
    /// The `Private` variables from which the shader reads the numbers of the phase and of the
    /// invocation to run.
    pub(super) phase: Id,
    pub(super) invocation: Id,
    /// The variables that must not be cleared before the shader runs: `phase`, `invocation`, and
    /// the arrays of saved values.
    pub(super) kept: FxHashSet<Id>,
}

/// A block of the original function, or the part of such a block before, between or after barriers.
struct PhaseBlock {
    label: Id,
    code: Vec<Vec<u32>>,
    /// Whether the block ends at a barrier. Otherwise its last instruction is a terminator.
    ends_at_barrier: bool,
}

impl PhaseBlock {
    fn terminator(&self) -> Option<Instruction<'_>> {
        let last = self.code.last().filter(|_| !self.ends_at_barrier)?;
        Some(Instruction::new(last))
    }
}

/// Cuts the function of an entry point into phases. Returns `None` if it has no barriers. `invocations` is the number
/// of invocations for a patch.
///
/// # Errors
/// [`LowerError::ControlBarrier`] if not every invocation executes a barrier exactly once, or if a value that is used
/// after a barrier has a type that cannot be saved.
pub(super) fn split(
    module: &mut Module,
    entry: &mut EntryPoint,
    invocations: u32,
) -> Result<Option<Phases>, LowerError> {
    let error = |what| LowerError::ControlBarrier { entry_point: entry.name.clone(), what };
    let functions: Vec<Vec<u32>> =
        module.section(Section::Functions).map(|i| i.words().to_vec()).collect();
    let Some(range) = function_with_barriers(module, &functions, entry) else { return Ok(None) };
    let range = range.ok_or_else(|| error("in a function that the entry point calls"))?;
    let (head, variables, mut blocks) = read(module, &functions[range.clone()]);
    let parts =
        parts(&blocks).ok_or_else(|| error("in a loop or a selection, or behind a return"))?;
    drop_dead_parents(&mut blocks, &parts);

    let declarations = Declarations::without_annotations(module);
    let used = StaticUse::of(module, entry.function);
    let privates = declarations.variables(StorageClass::Private);
    let privates: Vec<(Id, Id)> =
        privates.filter(|v| used.contains(v.id)).map(|v| (v.id, v.pointee)).collect();
    let locals = variables.iter().filter_map(|words| {
        let i = Instruction::new(words);
        match declarations.ty(i.id(0)) {
            Some(Type::Pointer { pointee, .. }) => Some((i.id(1), *pointee)),
            _ => None,
        }
    });
    let crossing = Crossing::of(&blocks, &parts, &declarations);
    let locals = locals.filter(|(id, _)| crossing.several.contains(id));
    let persistent: Vec<(Id, Id)> = privates.into_iter().chain(locals).collect();
    let all = persistent.iter().chain(&crossing.values).map(|(_, ty)| *ty);
    if !all.into_iter().all(|ty| can_be_saved(&declarations, ty)) {
        return Err(error("between a value that cannot be saved and its use"));
    }

    let annotations = module.section(Section::Annotations);
    let non_uniform: FxHashSet<Id> = annotations
        .filter(|i| i.is(Op::Decorate) && i.operand(1) == Decoration::NonUniform as u32)
        .map(|i| i.id(0))
        .collect();

    let builder = &mut Builder::new(module);
    let uint = builder.uint();
    let [phase, invocation] = [(); 2].map(|()| builder.variable(StorageClass::Private, uint));
    let mut kept = FxHashSet::from_iter([phase, invocation]);
    let length = builder.constant(invocations);
    // For each variable and each value that later phases may use: the array in which it is saved.
    let mut arrays = FxHashMap::default();
    for (id, ty) in persistent.iter().chain(&crossing.values) {
        let array = builder.declare_new(Op::TypeArray, &[ty.0, length.0]);
        let array = builder.variable(StorageClass::Private, array);
        kept.insert(array);
        arrays.insert(*id, array);
    }
    entry.interface.extend(&kept);
    let saved = Saved { arrays, invocation };
    for (number, part) in parts.iter().enumerate() {
        // The code at the beginning of the phase restores variables, loads the saved values that the phase uses, and
        // repeats the instructions of earlier phases whose results cannot be saved.
        let mut before = Code::default();
        let mut renamed = FxHashMap::default();
        if number > 0 {
            for (variable, ty) in &persistent {
                let value = saved.load(builder, &mut before, *variable, *ty);
                before.push(Op::Store, &[variable.0, value.0]);
            }
            for (value, ty) in
                crossing.values.iter().filter(|(id, _)| crossing.is_used(*id, number))
            {
                renamed.insert(*value, saved.load(builder, &mut before, *value, *ty));
            }
            for (value, words) in
                crossing.repeated.iter().filter(|(id, _)| crossing.is_used(*id, number))
            {
                let mut words = words.clone();
                rename(&mut words, &renamed);
                let new = builder.module.fresh_id();
                words[2] = new.0;
                before.copy(&words);
                renamed.insert(*value, new);
            }
            for (old, new) in &renamed {
                if non_uniform.contains(old) {
                    builder.decorate(*new, Decoration::NonUniform, &[]);
                }
            }
        }
        // The code at the end of the phase saves variables, and the phase's own values that later
        // phases use.
        let mut after = Code::default();
        if number + 1 < parts.len() {
            for (variable, ty) in &persistent {
                let value = after.value(builder, Op::Load, *ty, &[variable.0]);
                saved.store(builder, &mut after, *variable, *ty, value);
            }
            for (value, ty) in crossing.values.iter().filter(|(id, _)| crossing.is_of(*id, number))
            {
                saved.store(builder, &mut after, *value, *ty, *value);
            }
        }
        for (place, block) in part.iter().enumerate() {
            let block = &mut blocks[*block];
            for words in &mut block.code {
                rename(words, &renamed);
            }
            if place == 0 {
                block.code.splice(0..0, instructions(&before));
            }
            if block.ends_at_barrier {
                block.code.extend(instructions(&after));
            }
        }
    }

    let mut code = Code::default();
    functions[..range.start].iter().for_each(|words| code.copy(words));
    code.copy(&head);
    let [first, merge] = [(); 2].map(|()| builder.module.fresh_id());
    code.label(first);
    variables.iter().for_each(|words| code.copy(words));
    let selector = code.value(builder, Op::Load, uint, &[phase.0]);
    code.push(Op::SelectionMerge, &[merge.0, 0]);
    let labels: Vec<Id> = parts.iter().map(|part| blocks[part[0]].label).collect();
    let mut cases = vec![selector.0, labels[0].0];
    cases.extend((1..).zip(&labels[1..]).flat_map(|(number, label)| [number, label.0]));
    code.push(Op::Switch, &cases);
    for block in parts.iter().flatten().map(|number| &blocks[*number]) {
        code.label(block.label);
        block.code.iter().for_each(|words| code.copy(words));
        if block.ends_at_barrier {
            code.push(Op::Branch, &[merge.0]);
        }
    }
    code.label(merge);
    code.push(Op::Return, &[]);
    code.push(Op::FunctionEnd, &[]);
    functions[range.end..].iter().for_each(|words| code.copy(words));
    builder.module.retain(Section::Functions, |_| false);
    builder.module.push_code(Section::Functions, &code);
    Ok(Some(Phases { count: parts.len() as u32, phase, invocation, kept }))
}

/// Returns the range of the instructions of the entry point's function, if it has barriers. `None` if no function has
/// barriers, `Some(None)` if a function other than that of the entry point has a barrier.
#[allow(clippy::option_option, reason = "two questions")]
fn function_with_barriers(
    module: &Module,
    functions: &[Vec<u32>],
    entry: &EntryPoint,
) -> Option<Option<std::ops::Range<usize>>> {
    let reachable = reachable_functions(module, entry.function);
    let (mut start, mut current) = (0, Id(0));
    let (mut found, mut barriers) = (None, FxHashSet::default());
    for (number, words) in functions.iter().enumerate() {
        let i = Instruction::new(words);
        match i.op() {
            Some(Op::Function) => (start, current) = (number, i.id(1)),
            Some(Op::ControlBarrier) if reachable.contains(&current) => {
                barriers.insert(current);
            }
            Some(Op::FunctionEnd) if current == entry.function => found = Some(start..number + 1),
            _ => {}
        }
    }
    match barriers.len() {
        0 => None,
        _ => Some(found.filter(|_| barriers.iter().all(|function| *function == entry.function))),
    }
}

/// Reads a function. Returns its `OpFunction`, its variables, and its blocks, cut at barriers. Line
/// information (`OpLine`) is dropped.
fn read(module: &mut Module, function: &[Vec<u32>]) -> (Vec<u32>, Vec<Vec<u32>>, Vec<PhaseBlock>) {
    let (mut head, mut variables, mut blocks) = (Vec::new(), Vec::new(), Vec::<PhaseBlock>::new());
    // For each block that was cut: its label, and the label of its part after the last barrier, which phis must name
    // as the parent.
    let mut lasts = FxHashMap::default();
    let mut label = Id(0);
    for words in function {
        let i = Instruction::new(words);
        let ends_at_barrier = false;
        match i.op() {
            Some(Op::Function) => head.clone_from(words),
            Some(Op::Variable) => variables.push(words.clone()),
            Some(Op::Label) => {
                label = i.id(0);
                blocks.push(PhaseBlock { label, code: Vec::new(), ends_at_barrier });
            }
            Some(Op::ControlBarrier) => {
                if let Some(last) = blocks.last_mut() {
                    last.ends_at_barrier = true;
                }
                let next = module.fresh_id();
                lasts.insert(label, next);
                blocks.push(PhaseBlock { label: next, code: Vec::new(), ends_at_barrier });
            }
            Some(Op::Line | Op::NoLine | Op::FunctionEnd) => {}
            _ => blocks.last_mut().into_iter().for_each(|block| block.code.push(words.clone())),
        }
    }
    for words in blocks.iter_mut().flat_map(|block| &mut block.code) {
        if Instruction::new(words).is(Op::Phi) {
            for parent in words.iter_mut().skip(4).step_by(2) {
                *parent = lasts.get(&Id(*parent)).map_or(*parent, |last| last.0);
            }
        }
    }
    (head, variables, blocks)
}

/// Returns, for each phase, the indices of its blocks; the block with which the phase begins is the
/// first. `None` if a phase may end at different barriers, or either at a barrier or by a return,
/// or if a block belongs to several phases.
fn parts(blocks: &[PhaseBlock]) -> Option<Vec<Vec<usize>>> {
    let numbers: FxHashMap<Id, usize> =
        (0..).zip(blocks).map(|(n, block)| (block.label, n)).collect();
    let (mut parts, mut seen) = (Vec::new(), FxHashSet::default());
    let mut start = Some(0);
    while let Some(first) = start {
        let (mut part, mut open) = (FxHashSet::default(), vec![first]);
        // `ends` are the blocks after the barriers at which the phase may end; `returns` is true if
        // it may end by a return.
        let (mut ends, mut returns) = (FxHashSet::default(), false);
        while let Some(number) = open.pop() {
            if !part.insert(number) {
                continue;
            }
            let block = &blocks[number];
            let Some(terminator) = block.terminator() else {
                ends.insert(number + 1);
                continue;
            };
            // Merge blocks and continue targets must stay in the phase of their construct, even if
            // nothing branches to them.
            let before = block.code.iter().rev().nth(1).map(|words| Instruction::new(words));
            for label in before.into_iter().flat_map(merges) {
                open.push(*numbers.get(&label)?);
            }
            match terminator.op()? {
                Op::Return => returns = true,
                Op::Branch | Op::BranchConditional | Op::Switch => {
                    for label in successors(terminator) {
                        open.push(*numbers.get(&label)?);
                    }
                }
                // Control does not continue after other terminators, such as `OpUnreachable`.
                _ => {}
            }
        }
        if ends.len() + usize::from(returns) > 1 || part.iter().any(|number| !seen.insert(*number))
        {
            return None;
        }
        let mut part: Vec<usize> = part.into_iter().collect();
        part.sort_unstable();
        // The block to which the `OpSwitch` branches has to be the first.
        part.sort_by_key(|number| *number != first);
        parts.push(part);
        start = ends.into_iter().next();
    }
    Some(parts)
}

/// Removes the operands of phis whose parent block is in no phase. Such a block is unreachable, so it is left out of
/// the rewritten function.
fn drop_dead_parents(blocks: &mut [PhaseBlock], parts: &[Vec<usize>]) {
    let live: FxHashSet<u32> =
        parts.iter().flatten().map(|number| blocks[*number].label.0).collect();
    let code = blocks.iter_mut().flat_map(|block| &mut block.code);
    for words in code.filter(|words| Instruction::new(words).is(Op::Phi)) {
        let (head, operands) = words.split_at(3);
        let (pairs, _) = operands.as_chunks::<2>();
        let pairs = pairs.iter().filter(|[_, parent]| live.contains(parent));
        let kept: Vec<u32> = head.iter().chain(pairs.flatten()).copied().collect();
        *words = kept;
        words[0] = (words.len() as u32) << 16 | Op::Phi as u32;
    }
}

/// Returns the merge block of an `OpSelectionMerge`, or the merge block and the continue target of
/// an `OpLoopMerge`. Empty for other instructions.
fn merges(i: Instruction<'_>) -> impl Iterator<Item = Id> + use<> {
    let count = match i.op() {
        Some(Op::SelectionMerge) => 1,
        Some(Op::LoopMerge) => 2,
        _ => 0,
    };
    let labels: Vec<Id> = (0..count).map(|operand| i.id(operand)).collect();
    labels.into_iter()
}

/// The values that one phase computes and another phase uses.
struct Crossing {
    values: Vec<(Id, Id)>,
    /// The instructions that compute pointers into variables, or load inputs or handles of images and samplers, in
    /// order. Pointers and handles cannot be saved, and inputs need not be: each phase that uses one has its
    /// instruction again.
    repeated: Vec<(Id, Vec<u32>)>,
    /// For each value, the index of the phase (the code between two barriers) that computes it.
    of: FxHashMap<Id, usize>,
    /// Pairs of a value and a phase that uses it.
    uses: FxHashSet<(Id, usize)>,
    /// The ids that several phases use.
    several: FxHashSet<Id>,
}

impl Crossing {
    fn of(blocks: &[PhaseBlock], parts: &[Vec<usize>], declarations: &Declarations) -> Self {
        let (mut of, mut types) = (FxHashMap::default(), FxHashMap::default());
        let mut uses: FxHashSet<(Id, usize)> = FxHashSet::default();
        let mut repeated: Vec<(Id, Vec<u32>)> = Vec::new();
        let used_by = |i: Instruction<'_>| {
            let result = result_of(i).1;
            ids_of(i).into_iter().filter(move |id| Some(*id) != result)
        };
        // The input variables, and pointers into them.
        let inputs = declarations.variables(StorageClass::Input);
        let mut from_inputs: FxHashSet<Id> = inputs.map(|v| v.id).collect();
        for (number, part) in parts.iter().enumerate() {
            for words in part.iter().flat_map(|block| &blocks[*block].code) {
                let i = Instruction::new(words);
                uses.extend(used_by(i).map(|id| (id, number)));
                let (Some(ty), Some(result)) = result_of(i) else { continue };
                of.insert(result, number);
                types.insert(result, ty);
                let is_repeated = match i.op() {
                    Some(Op::AccessChain | Op::InBoundsAccessChain) => {
                        if from_inputs.contains(&i.id(2)) {
                            from_inputs.insert(result);
                        }
                        true
                    }
                    // A handle or an input is the same wherever it is loaded.
                    Some(Op::Load) => is_handle(declarations, ty) || from_inputs.contains(&i.id(2)),
                    Some(Op::SampledImage | Op::Image | Op::CopyObject) => {
                        !can_be_saved(declarations, ty)
                    }
                    _ => false,
                };
                if is_repeated {
                    repeated.push((result, words.clone()));
                }
            }
        }
        // A phase that repeats an instruction also uses its operands. An operand may be the result of an earlier one,
        // so they are visited from the last to the first.
        for (value, words) in repeated.iter().rev() {
            for part in 0..parts.len() {
                if of.get(value) != Some(&part) && uses.contains(&(*value, part)) {
                    uses.extend(used_by(Instruction::new(words)).map(|id| (id, part)));
                }
            }
        }
        let mut first = FxHashMap::default();
        let mut several = FxHashSet::default();
        for (id, number) in &uses {
            if *first.entry(*id).or_insert(*number) != *number {
                several.insert(*id);
            }
        }
        let crosses = |id: Id| {
            let own = of.get(&id).copied();
            own.is_some() && (0..parts.len()).any(|at| own != Some(at) && uses.contains(&(id, at)))
        };
        repeated.retain(|(id, _)| crosses(*id));
        let are_repeated: FxHashSet<Id> = repeated.iter().map(|(id, _)| *id).collect();
        let values = types.iter().filter(|(id, _)| crosses(**id) && !are_repeated.contains(id));
        let mut values: Vec<(Id, Id)> = values.map(|(id, ty)| (*id, *ty)).collect();
        values.sort_unstable();
        Self { values, repeated, of, uses, several }
    }

    fn is_used(&self, value: Id, part: usize) -> bool {
        !self.is_of(value, part) && self.uses.contains(&(value, part))
    }

    fn is_of(&self, value: Id, part: usize) -> bool {
        self.of.get(&value) == Some(&part)
    }
}

/// Whether a type is that of handles, which only `OpLoad` makes, of variables that do not change.
fn is_handle(declarations: &Declarations, ty: Id) -> bool {
    let Some(Type::Other(op)) = declarations.ty(ty) else { return false };
    matches!(op, Op::TypeImage | Op::TypeSampler | Op::TypeSampledImage)
}

/// Whether values of a type can be saved: numbers, booleans, and composites of these.
fn can_be_saved(declarations: &Declarations, ty: Id) -> bool {
    match declarations.ty(ty) {
        Some(Type::Int { .. } | Type::Float { .. } | Type::Other(Op::TypeBool)) => true,
        Some(
            Type::Vector { component: part, .. }
            | Type::Matrix { column: part, .. }
            | Type::Array { element: part, .. },
        ) => can_be_saved(declarations, *part),
        Some(Type::Struct { members }) => members.iter().all(|ty| can_be_saved(declarations, *ty)),
        _ => false,
    }
}

/// The arrays in which values are saved between phases.
struct Saved {
    arrays: FxHashMap<Id, Id>,
    invocation: Id,
}

impl Saved {
    fn pointer(&self, builder: &mut Builder<'_>, code: &mut Code, of: Id, ty: Id) -> Id {
        let uint = builder.uint();
        let array = self.arrays.get(&of).copied().unwrap_or(of);
        let invocation = code.value(builder, Op::Load, uint, &[self.invocation.0]);
        let pointer = builder.pointer(StorageClass::Private, ty);
        code.value(builder, Op::AccessChain, pointer, &[array.0, invocation.0])
    }

    fn load(&self, builder: &mut Builder<'_>, code: &mut Code, of: Id, ty: Id) -> Id {
        let pointer = self.pointer(builder, code, of, ty);
        code.value(builder, Op::Load, ty, &[pointer.0])
    }

    fn store(&self, builder: &mut Builder<'_>, code: &mut Code, of: Id, ty: Id, value: Id) {
        let pointer = self.pointer(builder, code, of, ty);
        code.push(Op::Store, &[pointer.0, value.0]);
    }
}

fn rename(words: &mut [u32], renamed: &FxHashMap<Id, Id>) {
    let mut places = Vec::new();
    visit_ids(Instruction::new(words), |place| places.push(place + 1));
    for place in places {
        if let Some(word) = words.get_mut(place)
            && let Some(new) = renamed.get(&Id(*word))
        {
            *word = new.0;
        }
    }
}

fn instructions(code: &Code) -> Vec<Vec<u32>> {
    let (mut rest, mut all) = (code.words(), Vec::new());
    while let Some(first) = rest.first() {
        let (one, others) = rest.split_at((*first >> 16).max(1) as usize);
        all.push(one.to_vec());
        rest = others;
    }
    all
}
