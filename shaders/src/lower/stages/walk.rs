//! This module finds the number of primitives that a geometry shader emits, if the code determines the number,
//! whatever the inputs are.
//!
//! The walk simulates the code with the integers and booleans that are known: constants, results of
//! operations on known values, and contents of variables. If the condition of a branch is known,
//! the walk continues at the branch's target.
//!
//! If the condition is not known, the walk skips the selection construct, provided that all paths
//! lead to its merge block and none emits vertices. It also skips all loops and function calls that
//! do not emit. After skipped code, everything that the code may have changed is unknown. In all other cases, and at
//! unsupported code, the walk ends without a result. A wrong number would lose primitives; without a result, a first
//! run of the shader counts the primitives.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;

use crate::lower::stages::followed::followed;
use crate::spirv::debug_info::debug_info_sets;
use crate::spirv::declarations::Declarations;
use crate::spirv::optimize::source::{CodeBlock, Function, Merge, Source, phi_value, successors};
use crate::spirv::specialization::fold::{ConstantValue, Scalar, fold};
use crate::spirv::{Id, Instruction, Module, Section, result_of};

/// The largest number of instruction words to simulate. A loop that emits a few hundred vertices,
/// the most that devices allow, takes fewer words. Endless or very long loops reach this number
/// within milliseconds.
const MAX_WORDS: usize = 1 << 17;
/// The largest depth of calls, for invalid modules with recursion.
const MAX_CALLS: usize = 64;

/// Returns the number of primitives, with `vertices` vertices each, that a shader emits, if the
/// walk finds that every run emits the same number. Otherwise returns `None`. Also returns `None`
/// if the number is 0, if the shader uses instructions for vertex streams, or if it emits more
/// vertices than its declared maximum `most`, of which the last ones are ignored at run time.
pub(super) fn always_emitted(
    module: &Module,
    function: Id,
    vertices: u32,
    most: u32,
) -> Option<u32> {
    let debug_info = debug_info_sets(module);
    let source = Source::of(module, &debug_info);
    let declarations = Declarations::without_annotations(module);
    let followed = followed(module, &source, &declarations, &debug_info, function)?;
    let mut walk = EmissionWalk {
        source: &source,
        declarations: &declarations,
        followed,
        variables: FxHashMap::default(),
        known: FxHashMap::default(),
        lost: FxHashMap::default(),
        has_wide_literals: false,
        words: MAX_WORDS,
        calls: 0,
        vertices,
        left: most,
        strip: 0,
        primitives: 0,
    };
    walk.declare(module);
    walk.call(function)?;
    walk.end_primitive();
    Some(walk.primitives).filter(|primitives| *primitives > 0)
}

struct EmissionWalk<'s> {
    source: &'s Source<'s>,
    declarations: &'s Declarations,
    followed: FxHashSet<Id>,
    /// For each pointer that [`followed()`] returned: the variable that it points to. A variable is mapped to itself, a
    /// parameter of a simulated function to the variable that was passed.
    variables: FxHashMap<Id, Id>,
    /// The known values of constants, results and contents of variables.
    known: FxHashMap<Id, ConstantValue>,
    /// The ids of results and variables whose values are unknown after the walk has skipped a function or a construct;
    /// `None` if the walk cannot skip it. The key is the id of the function, or the label of the construct's header.
    lost: FxHashMap<Id, Option<Rc<[Id]>>>,
    /// Whether the module has integers of more than 32 bits, so that literals of an `OpSwitch` may
    /// have two words.
    has_wide_literals: bool,
    /// The number of words that may still be simulated.
    words: usize,
    calls: usize,
    /// The number of vertices of a primitive.
    vertices: u32,
    /// The number of vertices that the shader may still emit.
    left: u32,
    /// The number of vertices emitted so far for the current strip.
    strip: u32,
    /// The number of primitives of the strips before the current one.
    primitives: u32,
}

impl<'s> EmissionWalk<'s> {
    /// Reads the constants and variables of the module. In every run, variables begin with the
    /// values of their initializers, which [`Resets`](super::resets::Resets) stores.
    fn declare(&mut self, module: &Module) {
        for i in module.section(Section::Declarations) {
            match i.op() {
                Some(Op::TypeInt) => self.has_wide_literals |= i.operand(1) > 32,
                Some(Op::Variable) => self.begin_variable(i),
                _ => {
                    let scalar = Scalar::of(self.declarations, i.id(0));
                    let value = scalar.and_then(|scalar| ConstantValue::of_constant(scalar, i));
                    self.known.extend(value.map(|value| (i.id(1), value)));
                }
            }
        }
    }

    fn begin_variable(&mut self, i: Instruction<'_>) {
        let variable = i.id(1);
        if self.followed.contains(&variable) {
            self.variables.insert(variable, variable);
            let initializer = i.operands().get(3);
            self.set(variable, initializer.and_then(|id| self.value(Id(*id))));
        }
    }

    fn value(&self, id: Id) -> Option<ConstantValue> {
        self.known.get(&id).copied()
    }

    fn set(&mut self, id: Id, value: Option<ConstantValue>) {
        match value {
            Some(value) => _ = self.known.insert(id, value),
            None => _ = self.known.remove(&id),
        }
    }

    /// Subtracts `words` from the number of words that may still be simulated. Returns `None` if
    /// fewer are left.
    fn spend(&mut self, words: usize) -> Option<()> {
        self.words = self.words.checked_sub(words)?;
        Some(())
    }

    /// Simulates a function. Returns the value that the function returns, in the inner `Option`,
    /// which is `None` if the value is unknown. If the outer `Option` is `None`, the walk ends without a result, as
    /// for code that is not supported.
    fn call(&mut self, function: Id) -> Option<Option<ConstantValue>> {
        let source = self.source;
        let function = source.get(function)?;
        self.spend(function.head_len())?;
        source.variables(function).for_each(|i| self.begin_variable(i));
        let (mut from, mut label) = (None, function.first);
        loop {
            let block = source.block(function, label)?;
            if let Merge::Loop { merge, .. } = block.merge
                && self.pass_over(label, function, vec![label], Some(merge))
            {
                (from, label) = (None, merge);
                continue;
            }
            self.enter(block, from)?;
            for i in source.body(block) {
                self.step(i)?;
            }
            let terminator = source.terminator(block);
            self.spend(terminator.words().len())?;
            let next = match terminator.op()? {
                Op::Return => return Some(None),
                Op::ReturnValue => return Some(self.value(terminator.id(0))),
                Op::Branch => Some(terminator.id(0)),
                Op::BranchConditional => {
                    let condition = self.value(terminator.id(0)).and_then(ConstantValue::truth);
                    condition.map(|holds| terminator.id(if holds { 1 } else { 2 }))
                }
                Op::Switch => match self.value(terminator.id(0)) {
                    Some(selector) => Some(case(terminator, selector)?),
                    None => None,
                },
                _ => return None,
            };
            (from, label) = match (next, block.merge) {
                (Some(next), _) => (Some(label), next),
                (None, Merge::Selection { merge }) => {
                    let arms = self.successors(terminator)?;
                    if !self.pass_over(label, function, arms, Some(merge)) {
                        return None;
                    }
                    (None, merge)
                }
                _ => return None,
            };
        }
    }

    /// Sets the values of a block's phis. `from` is the label of the block before; `None` if it is
    /// unknown. All phis are set at once, because one may be an operand of another. Returns `None` if no words are
    /// left to simulate.
    fn enter(&mut self, block: &CodeBlock, from: Option<Id>) -> Option<()> {
        self.spend(block.places())?;
        let mut values = Vec::new();
        for phi in self.source.phis(block) {
            self.spend(phi.words().len())?;
            let operand = from.and_then(|from| phi_value(phi, from));
            values.push((phi.id(1), operand.and_then(|id| self.value(id))));
        }
        values.into_iter().for_each(|(phi, value)| self.set(phi, value));
        Some(())
    }

    fn step(&mut self, i: Instruction<'s>) -> Option<()> {
        self.spend(i.words().len())?;
        match i.op()? {
            Op::EmitVertex => {
                self.left = self.left.checked_sub(1)?;
                self.strip += 1;
            }
            Op::EndPrimitive => self.end_primitive(),
            // Only stream 0 is counted, and these instructions may be for another stream, so the
            // walk ends.
            Op::EmitStreamVertex | Op::EndStreamPrimitive => return None,
            Op::Store => {
                if let Some(variable) = self.variables.get(&i.id(0)) {
                    self.set(*variable, self.value(i.id(1)));
                }
            }
            Op::FunctionCall => {
                let value = self.function_call(i)?;
                self.set(i.id(1), value);
            }
            op => {
                if let (Some(ty), Some(result)) = result_of(i) {
                    self.set(result, self.result(op, ty, i));
                }
            }
        }
        Some(())
    }

    fn end_primitive(&mut self) {
        self.primitives += self.strip.saturating_sub(self.vertices - 1);
        self.strip = 0;
    }

    fn result(&self, op: Op, ty: Id, i: Instruction<'_>) -> Option<ConstantValue> {
        match op {
            Op::Load => self.value(*self.variables.get(&i.id(2))?),
            Op::CopyObject => self.value(i.id(2)),
            _ => {
                let scalar = Scalar::of(self.declarations, ty)?;
                // The instructions that `fold` supports have no literal operands.
                let operands = i.operands().iter().skip(2).map(|id| self.value(Id(*id)));
                fold(op, scalar, &operands.collect::<Option<Vec<_>>>()?)
            }
        }
    }

    fn function_call(&mut self, i: Instruction<'s>) -> Option<Option<ConstantValue>> {
        let source = self.source;
        let function = source.get(i.id(2))?;
        if self.pass_over(function.id, function, vec![function.first], None) {
            for id in i.operands().iter().skip(3) {
                self.forget(Id(*id));
            }
            return Some(None);
        }
        for (place, parameter) in (3..).zip(source.parameters(function)) {
            let (parameter, argument) = (parameter.id(1), Id(*i.operands().get(place)?));
            match self.variables.get(&argument) {
                Some(variable) => _ = self.variables.insert(parameter, *variable),
                None => {
                    self.variables.remove(&parameter);
                    self.set(parameter, self.value(argument));
                }
            }
        }
        self.calls += 1;
        if self.calls > MAX_CALLS {
            return None;
        }
        let value = self.call(function.id)?;
        self.calls -= 1;
        Some(value)
    }

    fn forget(&mut self, pointer: Id) {
        if let Some(variable) = self.variables.get(&pointer) {
            self.known.remove(variable);
        }
    }

    /// Skips a construct or a whole function: from then on, the values that its code may change are unknown.
    /// Returns false if the code cannot be skipped. The code begins at the labels `starts`, and ends at
    /// the block `merge`, or at the end of the function if `merge` is `None`. `key` is the label of the
    /// construct's header, or the id of the function.
    fn pass_over(
        &mut self,
        key: Id,
        function: &'s Function,
        starts: Vec<Id>,
        merge: Option<Id>,
    ) -> bool {
        if !self.lost.contains_key(&key) {
            let lost = self.lost_by(function, starts, merge).map(Rc::from);
            self.lost.insert(key, lost);
        }
        let Some(Some(lost)) = self.lost.get(&key).cloned() else { return false };
        for id in lost.iter() {
            self.known.remove(id);
            self.forget(*id);
        }
        // Each skipped construct counts as at least one simulated word. So the walk ends in invalid modules, too, in
        // which the merge blocks of loops may be headers of each other.
        self.spend(1 + lost.len()).is_some()
    }

    /// Returns the values that are unknown after the code that [`pass_over`](Self::pass_over)
    /// skips: the results of its instructions, and the variables that the code, or a function that
    /// it calls, may store to. `None` if the code may emit vertices, or may be left in another way
    /// than at its end.
    fn lost_by(
        &mut self,
        function: &'s Function,
        starts: Vec<Id>,
        merge: Option<Id>,
    ) -> Option<Vec<Id>> {
        let source = self.source;
        let mut open: Vec<_> = starts.into_iter().map(|label| (function, label)).collect();
        let (mut seen, mut lost, mut is_left) = (FxHashSet::default(), Vec::new(), merge.is_none());
        while let Some((within, label)) = open.pop() {
            if Some(label) == merge {
                is_left = true;
                continue;
            }
            if !seen.insert(label) {
                continue;
            }
            let block = source.block(within, label)?;
            self.spend(block.places())?;
            for i in source.phis(block).chain(source.body(block)) {
                self.spend(i.words().len())?;
                match i.op()? {
                    _ if emits(i) => return None,
                    Op::Store => lost.push(i.id(0)),
                    Op::FunctionCall => {
                        let arguments = i.operands().iter().skip(3).map(|id| Id(*id));
                        lost.extend(arguments.filter(|argument| self.followed.contains(argument)));
                        let callee = source.get(i.id(2))?;
                        open.push((callee, callee.first));
                    }
                    _ => {}
                }
                lost.extend(result_of(i).1);
            }
            let terminator = source.terminator(block);
            self.spend(terminator.words().len())?;
            match terminator.op()? {
                Op::Return | Op::ReturnValue if merge.is_none() || within.id != function.id => {}
                // A path that ends here is never taken, so it changes no value.
                Op::Unreachable => {}
                Op::Branch | Op::BranchConditional | Op::Switch => {
                    let labels = self.successors(terminator)?.into_iter();
                    open.extend(labels.map(|label| (within, label)));
                }
                _ => return None,
            }
        }
        is_left.then_some(lost)
    }

    /// Returns the labels to which a terminator branches; `None` for an `OpSwitch` whose literals
    /// may have two words.
    fn successors(&self, terminator: Instruction<'_>) -> Option<Vec<Id>> {
        let is_understood = !(terminator.is(Op::Switch) && self.has_wide_literals);
        is_understood.then(|| successors(terminator).collect())
    }
}

fn emits(i: Instruction<'_>) -> bool {
    let emitting = [Op::EmitVertex, Op::EndPrimitive, Op::EmitStreamVertex, Op::EndStreamPrimitive];
    i.op().is_some_and(|op| emitting.contains(&op))
}

/// Returns the label to which an `OpSwitch` branches; `None` if the selector is not an integer of
/// at most 32 bits.
fn case(switch: Instruction<'_>, selector: ConstantValue) -> Option<Id> {
    let (Op::Constant, [selector, _], 1) = selector.literal() else { return None };
    let (cases, _) = switch.operands().get(2..)?.as_chunks::<2>();
    let case = cases.iter().find(|[literal, _]| *literal == selector);
    Some(case.map_or(switch.id(1), |[_, label]| Id(*label)))
}
