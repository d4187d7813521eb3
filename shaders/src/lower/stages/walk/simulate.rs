//! The simulation of functions: which way runs take.

use spirv::Op;

use super::run::Run;
use super::{EmissionWalk, MAX_CALLS, Sought};
use crate::capture::MAX_STREAMS;
use crate::lower::stages::followed::{Part, Scalars};
use crate::spirv::optimize::source::{CodeBlock, Function, Merge, phi_value, successors};
use crate::spirv::specialization::fold::ConstantValue;
use crate::spirv::{Id, Instruction};

/// Where the simulation of a function, or of a part of it, ends.
enum End {
    /// At the merge block of a construct that is being simulated, of which the phis are set.
    Merge(Id),
    /// The function returns this value, if it is a scalar and known.
    Return(Option<ConstantValue>),
}

/// What is left to simulate.
enum Task<'s> {
    /// A run from the instruction `place` of a block's body on.
    Go { block: &'s CodeBlock, place: usize, run: Run },
    /// What follows the selection construct with the merge block `merge`. Its arms have been simulated, as they were
    /// above this task on the stack; the ends from `before` on are those of the arms.
    Meet { merge: Id, before: usize },
}

/// The simulation of a function.
struct Path<'s> {
    function: &'s Function,
    /// A stack. Constructs may be nested more deeply than the stack of a thread allows.
    tasks: Vec<Task<'s>>,
    /// The merge blocks of the constructs whose arms are being simulated.
    merges: Vec<Id>,
    /// The runs that have come to an end.
    ends: Vec<(End, Run)>,
}

/// Whether a run goes on.
#[derive(PartialEq, Eq)]
enum Flow {
    Next,
    End,
}

/// The runs that return from a function, each with the value that it returns, if it is a scalar and known.
type Returned = Vec<(Option<ConstantValue>, Run)>;

impl<'s> EmissionWalk<'s> {
    /// Simulates a function. Runs that end within it are not returned. `None` if the walk ends without a result, as for
    /// code that is not supported.
    pub(super) fn call(&mut self, function: Id, mut run: Run) -> Option<Returned> {
        let source = self.source;
        let function = source.get(function)?;
        // Invalid modules may have recursion, in which a parameter has several values at a time.
        if self.calls.contains(&function.id) || self.calls.len() >= MAX_CALLS {
            return None;
        }
        self.spend(function.head_len())?;
        for i in source.variables(function) {
            self.begin_variable(i, &mut run)?;
        }
        self.calls.push(function.id);
        let (tasks, merges, ends) = (Vec::new(), Vec::new(), Vec::new());
        let mut path = Path { function, tasks, merges, ends };
        self.arrive(&mut path, None, function.first, run)?;
        while let Some(task) = path.tasks.pop() {
            match task {
                Task::Go { block, place, run } => self.go(&mut path, block, place, run)?,
                Task::Meet { merge, before } => self.meet(&mut path, merge, before)?,
            }
        }
        self.calls.pop();
        let mut returned: Returned = Vec::new();
        for (end, run) in path.ends {
            self.spend(1 + returned.len())?;
            let End::Return(value) = end else { return None };
            match returned.iter_mut().find(|(_, other)| other.emitted == run.emitted) {
                Some((known, other)) => {
                    self.spend(run.words())?;
                    *known = known.filter(|known| value == Some(*known));
                    other.join(&run);
                }
                None => returned.push((value, run)),
            }
        }
        Some(returned)
    }

    /// Lets a run come to the block `label` from the block `from`; `None` if that is unknown.
    fn arrive(
        &mut self,
        path: &mut Path<'s>,
        from: Option<Id>,
        label: Id,
        mut run: Run,
    ) -> Option<()> {
        let block = self.source.block(path.function, label)?;
        self.enter(block, from, &mut run)?;
        if self.is_end(path, label)? {
            path.ends.push((End::Merge(label), run));
        } else {
            path.tasks.push(Task::Go { block, place: 0, run });
        }
        Some(())
    }

    /// Whether a block is the merge block of a construct that is being simulated.
    fn is_end(&mut self, path: &Path<'s>, label: Id) -> Option<bool> {
        self.spend(path.merges.len() / 8)?;
        Some(path.merges.contains(&label))
    }

    /// Simulates a run from the instruction `place` of a block's body on, as far as it is one run.
    fn go(
        &mut self,
        path: &mut Path<'s>,
        mut block: &'s CodeBlock,
        mut place: usize,
        mut run: Run,
    ) -> Option<()> {
        let source = self.source;
        loop {
            let label = block.label;
            let (from, next) = if place == 0
                && let Merge::Loop { merge, .. } = block.merge
                && self.pass_over(label, path.function, vec![label], Some(merge), &mut run)?
            {
                (None, merge)
            } else {
                for (number, i) in source.body(block).enumerate().skip(place) {
                    self.spend(i.words().len())?;
                    if !i.is(Op::FunctionCall) {
                        if self.step(i, &mut run)? == Flow::End {
                            return self.end(run);
                        }
                    } else if !self.passes_call(i, &mut run)? {
                        let mut returned = self.function_call(i, run)?;
                        let last = returned.pop();
                        for (_, run) in returned {
                            self.spend(number)?;
                            path.tasks.push(Task::Go { block, place: number + 1, run });
                        }
                        // No run returns.
                        let Some((_, next)) = last else { return Some(()) };
                        run = next;
                    }
                }
                let terminator = source.terminator(block);
                self.spend(terminator.words().len())?;
                let next = match terminator.op()? {
                    Op::Return => {
                        path.ends.push((End::Return(None), run));
                        return Some(());
                    }
                    Op::ReturnValue => {
                        path.ends.push((End::Return(run.value(terminator.id(0))), run));
                        return Some(());
                    }
                    // No run comes here.
                    Op::Unreachable => return Some(()),
                    Op::Branch => Some(terminator.id(0)),
                    Op::BranchConditional => {
                        let condition = run.value(terminator.id(0)).and_then(ConstantValue::truth);
                        condition.map(|holds| terminator.id(if holds { 1 } else { 2 }))
                    }
                    Op::Switch => match run.value(terminator.id(0)) {
                        Some(selector) => Some(case(terminator, selector)?),
                        None => None,
                    },
                    _ => return None,
                };
                match (next, block.merge) {
                    (Some(next), _) => (Some(label), next),
                    (None, merge) => {
                        let arms = self.successors(terminator)?;
                        if let Merge::Selection { merge } = merge
                            && self.pass_over(
                                label,
                                path.function,
                                arms.clone(),
                                Some(merge),
                                &mut run,
                            )?
                        {
                            (None, merge)
                        } else {
                            return self.branch(path, block, arms, run);
                        }
                    }
                }
            };
            block = source.block(path.function, next)?;
            place = 0;
            self.enter(block, from, &mut run)?;
            if self.is_end(path, next)? {
                path.ends.push((End::Merge(next), run));
                return Some(());
            }
        }
    }

    /// Lets runs take each of the arms to which a block branches.
    fn branch(
        &mut self,
        path: &mut Path<'s>,
        block: &'s CodeBlock,
        mut arms: Vec<Id>,
        run: Run,
    ) -> Option<()> {
        arms.sort_unstable();
        arms.dedup();
        if let Merge::Selection { merge } = block.merge {
            path.tasks.push(Task::Meet { merge, before: path.ends.len() });
            path.merges.push(merge);
        }
        let last = arms.pop()?;
        for arm in arms {
            self.spend(run.words())?;
            self.arrive(path, Some(block.label), arm, run.clone())?;
        }
        self.arrive(path, Some(block.label), last, run)
    }

    /// Joins the runs that have come to the merge block of a construct.
    fn meet(&mut self, path: &mut Path<'s>, merge: Id, before: usize) -> Option<()> {
        path.merges.pop();
        let mut runs: Vec<Run> = Vec::new();
        for (end, run) in path.ends.split_off(before) {
            self.spend(1 + runs.len())?;
            if !matches!(end, End::Merge(label) if label == merge) {
                path.ends.push((end, run));
                continue;
            }
            match runs.iter_mut().find(|other| other.emitted == run.emitted) {
                Some(other) => {
                    self.spend(run.words())?;
                    other.join(&run);
                }
                None => runs.push(run),
            }
        }
        // A construct in a loop may be simulated within itself.
        if self.is_end(path, merge)? {
            path.ends.extend(runs.into_iter().map(|run| (End::Merge(merge), run)));
        } else {
            let block = self.source.block(path.function, merge)?;
            path.tasks.extend(runs.into_iter().map(|run| Task::Go { block, place: 0, run }));
        }
        Some(())
    }

    /// Sets the values of a block's phis. `from` is the label of the block before; `None` if it is
    /// unknown. All phis are set at once, because one may be an operand of another. Returns `None` if no words are
    /// left to simulate.
    fn enter(&mut self, block: &CodeBlock, from: Option<Id>, run: &mut Run) -> Option<()> {
        self.spend(block.places())?;
        let mut values = Vec::new();
        for phi in self.source.phis(block) {
            self.spend(phi.words().len())?;
            let Some(scalars) = Scalars::of(self.declarations, phi.id(0)) else { continue };
            let operand = from.and_then(|from| phi_value(phi, from));
            let is_relaxed = self.relaxed.contains(phi.id(1));
            for number in 0..scalars.count {
                let value = operand.and_then(|id| run.typed(id, number, scalars, is_relaxed));
                values.push((phi.id(1), number, value));
            }
        }
        values.into_iter().for_each(|(phi, number, value)| run.set(phi, number, value));
        Some(())
    }

    /// Simulates an instruction, except calls. Returns `None` if it is not supported.
    fn step(&mut self, i: Instruction<'s>, run: &mut Run) -> Option<Flow> {
        match i.op()? {
            Op::EmitVertex => return self.emit(0, run),
            Op::EmitStreamVertex => return self.emit(self.stream(i)?, run),
            Op::EndPrimitive => run.emitted.end_strip(0, self.output.vertices),
            Op::EndStreamPrimitive => {
                run.emitted.end_strip(self.stream(i)?, self.output.vertices);
            }
            Op::Store => self.store(i.id(0), i.id(1), run)?,
            op => self.compute(op, i, run),
        }
        Some(Flow::Next)
    }

    fn stream(&self, i: Instruction<'_>) -> Option<usize> {
        let stream = self.declarations.constant(i.id(0)).filter(|stream| *stream < MAX_STREAMS)?;
        Some(stream as usize)
    }

    fn emit(&self, stream: usize, run: &mut Run) -> Option<Flow> {
        let is_one_too_many = !run.emitted.add(stream);
        match self.sought {
            Sought::Same if is_one_too_many => None,
            // A loop may emit for ever.
            Sought::All if is_one_too_many && run.emitted.is_full(self.output.streams) => {
                Some(Flow::End)
            }
            _ => Some(Flow::Next),
        }
    }

    /// Simulates the function that an instruction calls, and sets the result of the instruction.
    fn function_call(&mut self, i: Instruction<'s>, mut run: Run) -> Option<Returned> {
        let source = self.source;
        let function = source.get(i.id(2))?;
        for (place, parameter) in (3..).zip(source.parameters(function)) {
            let (parameter, ty) = (parameter.id(1), parameter.id(0));
            let argument = Id(*i.operands().get(place)?);
            self.variables.remove(&parameter);
            if let Some(variable) = self.variables.get(&argument).copied() {
                self.variables.insert(parameter, variable);
            } else if let Some(scalars) = Scalars::of(self.declarations, ty) {
                let is_relaxed = self.relaxed.contains(parameter);
                run.copy((parameter, 0), (argument, 0), scalars, is_relaxed);
            }
        }
        let mut returned = self.call(function.id, run)?;
        let scalars = Scalars::of(self.declarations, i.id(0));
        let is_relaxed = self.relaxed.contains(i.id(1)) || self.relaxed.contains(function.id);
        for (value, run) in &mut returned {
            run.forget(i.id(1));
            let is_right = |value: &ConstantValue| {
                scalars.is_some_and(|s| s.count == 1 && s.scalar == value.scalar())
                    && (!is_relaxed || value.fits_relaxed_precision())
            };
            run.set(i.id(1), 0, value.filter(is_right));
        }
        Some(returned)
    }

    /// Returns the labels to which a terminator branches; `None` for an `OpSwitch` whose literals
    /// may have two words.
    pub(super) fn successors(&self, terminator: Instruction<'_>) -> Option<Vec<Id>> {
        let is_understood = !(terminator.is(Op::Switch) && self.has_wide_literals);
        is_understood.then(|| successors(terminator).collect())
    }

    /// Lets a variable of a function or of the module begin to exist.
    pub(super) fn begin_variable(&mut self, i: Instruction<'_>, run: &mut Run) -> Option<()> {
        let variable = i.id(1);
        if self.followed.scalars.contains(&variable) {
            let scalars = Scalars::at(self.declarations, i.id(0))?;
            let is_relaxed = self.relaxed.contains(variable);
            let part = Part { name: variable, first: 0, scalars, is_relaxed };
            self.variables.insert(variable, part);
            match i.operands().get(3) {
                Some(value) => run.copy((variable, 0), (Id(*value), 0), scalars, is_relaxed),
                None => run.forget(variable),
            }
            return Some(());
        }
        // Initializers of other variables are not known.
        self.forget(variable, run)
    }
}

/// Returns the label to which an `OpSwitch` branches; `None` if the selector is not an integer of
/// at most 32 bits.
fn case(switch: Instruction<'_>, selector: ConstantValue) -> Option<Id> {
    let (Op::Constant, [selector, _], 1) = selector.literal() else { return None };
    let (cases, _) = switch.operands().get(2..)?.as_chunks::<2>();
    let case = cases.iter().find(|[literal, _]| *literal == selector);
    Some(case.map_or(switch.id(1), |[_, label]| Id(*label)))
}
