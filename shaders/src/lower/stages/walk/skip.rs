//! Code that does not emit is skipped.

use std::rc::Rc;

use rustc_hash::FxHashSet;
use spirv::Op;

use super::EmissionWalk;
use super::run::Run;
use crate::spirv::optimize::source::Function;
use crate::spirv::{Id, Instruction, result_of};

impl<'s> EmissionWalk<'s> {
    /// Skips a call of a function that does not emit. Returns false if the function has to be simulated.
    pub(super) fn passes_call(&mut self, i: Instruction<'s>, run: &mut Run) -> Option<bool> {
        let function = self.source.get(i.id(2))?;
        if !self.pass_over(function.id, function, vec![function.first], None, run)? {
            return Some(false);
        }
        for id in i.operands().iter().skip(3) {
            self.forget(Id(*id), run)?;
        }
        run.forget(i.id(1));
        Some(true)
    }

    /// Skips a construct or a whole function: from then on, the values that its code may change are unknown.
    /// Returns false if the code cannot be skipped. The code begins at the labels `starts`, and ends at
    /// the block `merge`, or at the end of the function if `merge` is `None`. `key` is the label of the
    /// construct's header, or the id of the function.
    pub(super) fn pass_over(
        &mut self,
        key: Id,
        function: &'s Function,
        starts: Vec<Id>,
        merge: Option<Id>,
        run: &mut Run,
    ) -> Option<bool> {
        if !self.lost.contains_key(&key) {
            let lost = self.lost_by(function, starts, merge).map(Rc::from);
            self.lost.insert(key, lost);
        }
        let Some(Some(lost)) = self.lost.get(&key).cloned() else { return Some(false) };
        // Each skipped construct counts as at least one simulated word. So the walk ends in invalid modules, too, in
        // which the merge blocks of loops may be headers of each other.
        self.spend(1 + lost.len())?;
        for id in lost.iter() {
            run.forget(*id);
            self.forget(*id, run)?;
        }
        Some(true)
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
                        lost.extend(arguments.filter(|argument| self.followed.contains(*argument)));
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
}

fn emits(i: Instruction<'_>) -> bool {
    let emitting = [Op::EmitVertex, Op::EndPrimitive, Op::EmitStreamVertex, Op::EndStreamPrimitive];
    i.op().is_some_and(|op| emitting.contains(&op))
}
