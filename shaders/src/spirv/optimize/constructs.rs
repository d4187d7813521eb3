//! Writes selections, branches out of constructs, and returns.

use spirv::Op;

use crate::spirv::optimize::limits::Stop;
use crate::spirv::optimize::memory::NOTHING;
use crate::spirv::optimize::source::{CodeBlock, Merge, phi_value};
use crate::spirv::optimize::walk::{BranchTarget, Edge, Frame, Return, TargetRole, Walk, WalkStep};
use crate::spirv::specialization::fold::Scalar;
use crate::spirv::{Id, Instruction};

impl<'s> Walk<'s, '_> {
    /// Writes the terminator of a block, or the whole selection construct of which the block is the header. Returns
    /// where the control flow goes after that.
    pub(super) fn leave(
        &mut self,
        frame: &mut Frame<'s>,
        label: Id,
        block: &'s CodeBlock,
    ) -> Result<WalkStep, Stop> {
        let terminator = self.known.source.terminator(block);
        match terminator.op() {
            Some(Op::Branch) => self.go(frame, label, terminator.id(0)),
            Some(Op::BranchConditional) => {
                let (yes, no) = (terminator.id(1), terminator.id(2));
                let condition = self.lookup_value(terminator.id(0))?;
                match self.values.bool(condition) {
                    _ if yes == no => self.go(frame, label, yes),
                    Some(true) => self.go(frame, label, yes),
                    Some(false) => self.go(frame, label, no),
                    None => match block.merge {
                        Merge::Selection { merge } => {
                            self.select(frame, label, block, merge, condition, terminator)
                        }
                        // The branch has no merge instruction: the `OpLoopMerge` of a loop's header was written in a
                        // block before this one.
                        Merge::None | Merge::Loop { .. } => {
                            self.escape(frame, label, condition, terminator)
                        }
                    },
                }
            }
            Some(Op::Switch) => match block.merge {
                Merge::Selection { merge } => self.switch(frame, label, block, merge, terminator),
                Merge::None | Merge::Loop { .. } => Err(frame.refuse()),
            },
            Some(Op::Return) => self.give_back(frame, NOTHING),
            Some(Op::ReturnValue) => {
                let value = self.lookup_value(terminator.id(0))?;
                self.give_back(frame, value)
            }
            Some(op) => {
                self.values.push(op, &[]);
                Ok(WalkStep::Ended)
            }
            None => Err(frame.refuse()),
        }
    }

    /// Follows a branch to the block `to`. If this block has one predecessor, its code is appended to the current
    /// block of the output. Otherwise it is a [`BranchTarget`] (a block with several predecessors), and is written after all
    /// of them.
    fn go(&mut self, frame: &Frame<'s>, from: Id, to: Id) -> Result<WalkStep, Stop> {
        match self.target(frame, to) {
            Some(number) => {
                self.check_exit(frame, number)?;
                let place = self.values.words.len() + 1;
                let out = self.targets[number].out;
                self.values.push(Op::Branch, &[out.0]);
                self.reach(number, from, place);
                Ok(WalkStep::Ended)
            }
            None => Ok(WalkStep::At(to, vec![self.edge(from, 0)])),
        }
    }

    /// Checks that SPIR-V allows a branch to target `number` (a block with several predecessors). It may lead to the
    /// merge block of the innermost construct, out of the innermost switch (if the branch is in no loop inside of it),
    /// or to the merge block or the continue target of the innermost loop. If all paths out of a selection except one
    /// return, the code after the selection becomes a part of the selection ([`merge`](Self::merge)), and branches in
    /// this code may leave more constructs than in the source.
    fn check_exit(&self, frame: &Frame<'s>, number: usize) -> Result<(), Stop> {
        let mut inner = self.targets[number + 1..].iter();
        let is_wrong = match self.targets[number].role {
            TargetRole::If(_) | TargetRole::Case => {
                inner.any(|target| !matches!(target.role, TargetRole::Case | TargetRole::Next))
            }
            TargetRole::Switch(_) => {
                inner.any(|target| matches!(target.role, TargetRole::Switch(_) | TargetRole::Loop))
            }
            TargetRole::Loop | TargetRole::Next => {
                inner.any(|target| matches!(target.role, TargetRole::Loop))
            }
        };
        if is_wrong { Err(frame.refuse()) } else { Ok(()) }
    }

    /// Returns the index in `targets` of the block that has this label in the current function, or `None` if the block
    /// is not a [`BranchTarget`] (a block with several predecessors).
    fn target(&self, frame: &Frame<'s>, label: Id) -> Option<usize> {
        let targets = self.targets.get(frame.base..)?;
        targets.iter().rposition(|target| target.label == label).map(|n| n + frame.base)
    }

    fn edge(&self, from: Id, place: usize) -> Edge {
        Edge { from, block: self.block, state: self.state.clone(), place }
    }

    /// Adds a branch to the edges (the branches to the block) of target `number`. `place` is where the label of the
    /// target is in the branch: an index into the words written so far ([`Edge::place`]).
    fn reach(&mut self, number: usize, from: Id, place: usize) {
        let edge = self.edge(from, place);
        self.targets[number].edges.push(edge);
    }

    /// Writes a conditional branch without merge instruction. At least one side of the branch has to leave a construct.
    fn escape(
        &mut self,
        frame: &mut Frame<'s>,
        label: Id,
        condition: Id,
        terminator: Instruction<'_>,
    ) -> Result<WalkStep, Stop> {
        match self.branch(frame, label, condition, terminator)?[..] {
            [] => Ok(WalkStep::Ended),
            [(to, place)] => {
                let edge = self.edge(label, place);
                self.begin_block(Some(place));
                Ok(WalkStep::At(to, vec![edge]))
            }
            // Neither side leaves a construct, so the branch would need a merge instruction.
            _ => Err(frame.refuse()),
        }
    }

    /// Writes a conditional branch. Returns the sides of the branch that stay inside the construct. For each of them:
    /// the label in the source, and the index in the written words at which the label in the output must be written.
    fn branch(
        &mut self,
        frame: &Frame<'s>,
        label: Id,
        condition: Id,
        terminator: Instruction<'_>,
    ) -> Result<Vec<(Id, usize)>, Stop> {
        let at = self.values.words.len() + 1;
        let mut operands = terminator.operands().to_vec();
        operands[0] = condition.0;
        self.values.push(Op::BranchConditional, &operands);
        let mut inside = Vec::new();
        for number in [1, 2] {
            let (to, place) = (terminator.id(number), at + number);
            match self.target(frame, to) {
                Some(target) => {
                    self.check_exit(frame, target)?;
                    self.values.words[place] = self.targets[target].out.0;
                    self.reach(target, label, place);
                }
                None => inside.push((to, place)),
            }
        }
        Ok(inside)
    }

    /// Begins a block. If `place` is not `None`, it is the index in the written words of the branch
    /// operand that gets the label of the block.
    pub(super) fn begin_block(&mut self, place: Option<usize>) -> Id {
        let out = self.values.fresh();
        if let Some(place) = place {
            self.values.words[place] = out.0;
        }
        self.values.push(Op::Label, &[out.0]);
        self.block = out;
        out
    }

    fn select(
        &mut self,
        frame: &mut Frame<'s>,
        label: Id,
        block: &'s CodeBlock,
        merge: Id,
        condition: Id,
        terminator: Instruction<'_>,
    ) -> Result<WalkStep, Stop> {
        let begin = self.values.words.len();
        self.open(block, merge, TargetRole::If(Vec::new()))?;
        let arms = self.branch(frame, label, condition, terminator)?;
        let (header, state) = (self.block, self.state.clone());
        let is_direct_no = arms.len() == 1 && arms[0].0 == terminator.id(1);
        let empty = self.values.words.len() + 4 * arms.len();
        for (to, place) in arms {
            (self.block, self.state) = (header, state.clone());
            let edge = self.edge(label, place);
            self.begin_block(Some(place));
            self.values.begin_scope();
            self.walk(frame, WalkStep::At(to, vec![edge]))?;
            self.values.end_scope();
        }
        let target = self.close()?;
        if self.values.words.len() == empty
            && let [a, b] = &target.edges[..]
            && matches!(&target.role, TargetRole::If(returns) if returns.is_empty())
        {
            let (yes, no) = if is_direct_no { (b, a) } else { (a, b) };
            if self.flatten(frame, merge, condition, [yes, no], begin)? {
                self.block = header;
                return Ok(WalkStep::At(merge, Vec::new()));
            }
        }
        self.merge(frame, target)
    }

    /// Replaces a selection without instructions by `OpSelect`, if the values that differ on its two sides are
    /// scalars. Returns true if the selection was replaced; otherwise it is kept. `begin` is the index in the written
    /// words of the selection's first word.
    fn flatten(
        &mut self,
        frame: &mut Frame<'s>,
        merge: Id,
        condition: Id,
        [yes, no]: [&Edge; 2],
        begin: usize,
    ) -> Result<bool, Stop> {
        let source = self.known.source;
        let block = source.block(frame.function, merge).ok_or_else(|| frame.refuse())?;
        let mut phis = Vec::new();
        for i in source.phis(block) {
            let of = |edge: &Edge| phi_value(i, edge.from).ok_or_else(|| frame.refuse());
            let (a, b) = (self.lookup_value(of(yes)?)?, self.lookup_value(of(no)?)?);
            if a != b && self.values.scalar_type(i.id(0)).is_none() {
                return Ok(false);
            }
            phis.push((i.id(1), i.id(0), a, b));
        }
        let differ = |n: usize| yes.state.get(n) != no.state.get(n);
        let types = &self.tracked.leaf_types;
        let is_scalar =
            |n: usize| types.get(n).is_some_and(|t| self.values.scalar_type(*t).is_some());
        if (0..yes.state.len()).any(|n| differ(n) && !is_scalar(n)) {
            return Ok(false);
        }
        self.values.words.truncate(begin);
        let mut state = yes.state.clone();
        for (number, value) in state.iter_mut().enumerate() {
            let other = no.state.get(number).copied().unwrap_or(NOTHING);
            *value = match (*value, other) {
                (a, b) if a == b => a,
                (NOTHING, b) => b,
                (a, NOTHING) => a,
                (a, b) => {
                    let ty = self.tracked.leaf_types[number];
                    self.values.value(Op::Select, ty, &[condition.0, a.0, b.0])
                }
            };
        }
        self.state = state;
        for (id, ty, a, b) in phis {
            let value = self.values.value(Op::Select, ty, &[condition.0, a.0, b.0]);
            self.ids.insert(id, value);
        }
        Ok(true)
    }

    fn switch(
        &mut self,
        frame: &mut Frame<'s>,
        label: Id,
        block: &'s CodeBlock,
        merge: Id,
        terminator: Instruction<'_>,
    ) -> Result<WalkStep, Stop> {
        let selector = self.lookup_value(terminator.id(0))?;
        let ty = self.values.type_of(selector).and_then(|ty| self.values.scalar_type(ty));
        // For wider integers, the literals of the `OpSwitch` have two words.
        let Some(Scalar::Int { width: 32, .. }) = ty else { return Err(frame.refuse()) };
        let (pairs, _) = terminator.operands()[2..].as_chunks::<2>();
        let mut operands = vec![selector.0, terminator.operand(1)];
        match self.values.scalar(selector).map(|value| value.bits() as u32) {
            // If the selector is known, the `OpSwitch` is written nevertheless, because branches in the selected case
            // may leave the switch. The selected case becomes the default.
            Some(known) => {
                let case = pairs.iter().find(|[literal, _]| *literal == known);
                operands[1] = case.map_or(operands[1], |[_, label]| *label);
            }
            None => operands.extend(pairs.as_flattened()),
        }
        self.open(block, merge, TargetRole::Switch(Vec::new()))?;
        let at = self.values.words.len() + 1;
        let mut cases: Vec<Id> = operands[1..].iter().step_by(2).map(|id| Id(*id)).collect();
        self.values.push(Op::Switch, &operands);
        let source = self.known.source;
        let number = |case| source.block(frame.function, case).map(|block| block.number);
        cases.sort_by_key(|case| (number(*case), *case));
        cases.dedup();
        let (header, state) = (self.block, self.state.clone());
        let first = self.targets.len();
        let mut outside = Vec::new();
        for case in cases {
            let out = self.values.fresh();
            for place in (1..operands.len()).step_by(2).filter(|n| operands[*n] == case.0) {
                self.values.words[at + place] = out.0;
            }
            match self.target(frame, case) {
                Some(target) if target < first => outside.push((target, out)),
                _ => {
                    let edges = vec![self.edge(label, 0)];
                    self.targets.push(BranchTarget {
                        label: case,
                        out,
                        edges,
                        role: TargetRole::Case,
                    });
                }
            }
        }
        for (target, out) in outside {
            (self.block, self.state) = (out, state.clone());
            self.values.push(Op::Label, &[out.0]);
            let place = self.values.words.len() + 1;
            let to = self.targets[target].out;
            self.values.push(Op::Branch, &[to.0]);
            self.reach(target, label, place);
        }
        // The cases are written in the order of the source, because a case may fall through to the
        // next one.
        while self.targets.len() > first {
            let case = self.targets.remove(first);
            self.block = header;
            self.values.begin_scope();
            self.join(&case.edges, case.out);
            self.walk(frame, WalkStep::At(case.label, case.edges))?;
            self.values.end_scope();
        }
        let target = self.close()?;
        self.merge(frame, target)
    }

    /// Begins a selection construct whose merge block is `merge`.
    fn open(&mut self, block: &CodeBlock, merge: Id, role: TargetRole) -> Result<(), Stop> {
        let control = self.known.source.merge(block).map_or(0, |i| i.operand(1));
        let out = self.values.fresh();
        self.values.push(Op::SelectionMerge, &[out.0, control]);
        self.targets.push(BranchTarget { label: merge, out, edges: Vec::new(), role });
        self.nest()
    }

    /// Ends the innermost construct, and returns the [`BranchTarget`] that stands for its merge block.
    pub(super) fn close(&mut self) -> Result<BranchTarget, Stop> {
        self.depth -= 1;
        self.targets.pop().ok_or(Stop::GiveUp)
    }

    /// Writes the code after a construct that has ended. `target` stands for the construct's merge block.
    pub(super) fn merge(
        &mut self,
        frame: &mut Frame<'s>,
        target: BranchTarget,
    ) -> Result<WalkStep, Stop> {
        let BranchTarget { label, out, mut edges, role } = target;
        let returns = match &role {
            TargetRole::If(returns) | TargetRole::Switch(returns) => returns.len(),
            _ => 0,
        };
        match (returns, edges.len()) {
            (0, 0) => {
                self.values.push(Op::Label, &[out.0]);
                self.values.push(Op::Unreachable, &[]);
                Ok(WalkStep::Ended)
            }
            (0, _) => {
                self.join(&edges, out);
                Ok(WalkStep::At(label, edges))
            }
            (_, 0) => self.join_returns(frame, out, role),
            // All paths except one return. The code after the selection becomes a part of the selection, on the path
            // that does not return.
            (_, 1) => {
                let edge = edges.remove(0);
                self.values.begin_scope();
                self.begin_block(Some(edge.place));
                self.state.clone_from(&edge.state);
                self.targets.push(BranchTarget { label: NOTHING, out, edges, role });
                self.nest()?;
                self.walk(frame, WalkStep::At(label, vec![edge]))?;
                self.values.end_scope();
                let target = self.close()?;
                self.join_returns(frame, out, target.role)
            }
            _ => Err(frame.refuse()),
        }
    }

    /// Writes a return within a selection as a branch to the merge block of the innermost selection. There, all paths
    /// that return are joined, and leave the enclosing selection in the same way. Outside of constructs nothing is
    /// written, and a return from within a loop is refused. If the entry point may return early, its returns become
    /// `OpReturn`.
    pub(super) fn give_back(&mut self, frame: &mut Frame<'s>, value: Id) -> Result<WalkStep, Stop> {
        if frame.is_entry && self.known.returns_early {
            self.values.push(Op::Return, &[]);
            return Ok(WalkStep::Ended);
        }
        let targets = self.targets.get_mut(frame.base..).unwrap_or_default();
        let Some(target) =
            targets.iter_mut().rfind(|target| !matches!(target.role, TargetRole::Case))
        else {
            return Ok(WalkStep::Returned(value));
        };
        let (TargetRole::If(returns) | TargetRole::Switch(returns)) = &mut target.role else {
            return Err(frame.refuse());
        };
        returns.push(Return { block: self.block, state: self.state.clone(), value });
        let out = target.out;
        self.values.push(Op::Branch, &[out.0]);
        Ok(WalkStep::Ended)
    }
}
