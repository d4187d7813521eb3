//! Follows the code of an entry point in the order of execution, and writes equivalent code.

use rustc_hash::FxHashSet;
use spirv::{Op, StorageClass};

use crate::spirv::id_set::IdMap;
use crate::spirv::optimize::instructions::{Decorations, is_pure};
use crate::spirv::optimize::limits::{MAX_DEPTH, Stop};
use crate::spirv::optimize::memory::{NOTHING, Tracked, TrackedState};
use crate::spirv::optimize::source::{CodeBlock, Function, Merge, Source, phi_value};
use crate::spirv::optimize::values::Values;
use crate::spirv::{Id, Instruction, Module, Section, result_of, visit_ids};

/// The data that do not change during the walk.
pub(super) struct Known<'s> {
    pub(super) source: &'s Source<'s>,
    /// The variables that stay in memory, because their values are not tracked.
    pub(super) untracked: &'s FxHashSet<Id>,
    /// The functions that cannot be inlined, so that calls of them are kept.
    pub(super) refused: &'s FxHashSet<Id>,
    pub(super) decorations: &'s Decorations<'s>,
    /// The id of the instruction set `GLSL.std.450`; `None` if the module does not import it.
    pub(super) glsl: Option<Id>,
    /// Whether elements with unknown indices are [selected](super::select).
    pub(super) selects: bool,
    /// The largest number of words that may be written.
    pub(super) limit: usize,
    /// Whether the entry point may have `OpReturn` within constructs.
    pub(super) returns_early: bool,
}

/// The state of the walk, and the code that it has written.
pub(super) struct Walk<'s, 'm> {
    pub(super) known: Known<'s>,
    pub(super) values: Values<'m>,
    pub(super) tracked: Tracked,
    pub(super) state: TrackedState,
    /// The blocks with several predecessors to which the current block may branch. The block of the
    /// innermost construct is the last.
    pub(super) targets: Vec<BranchTarget>,
    /// The label in the output of the block that is being written.
    pub(super) block: Id,
    /// The encoded `OpVariable` instructions of the variables that stay in memory, because their values are not
    /// tracked.
    pub(super) variables: Vec<u32>,
    /// The decorations of new ids, as encoded instructions.
    pub(super) annotations: Vec<Vec<u32>>,
    /// The number of calls and constructs that the current block is in.
    pub(super) depth: u32,
    /// The ids of the output, by the ids of the source that they replace; an id that is not in the map stays the same.
    /// One map is enough for all inlined functions, because functions are not recursive.
    pub(super) ids: IdMap<Id>,
    /// For each block of the source, the number of the last frame (inlined call) in which the walk entered the block.
    visited: Vec<u32>,
    /// The number of frames so far: of the entry point, and of each call that was inlined.
    frames: u32,
    /// The number of blocks and instructions of the source that the walk has followed. Beyond `8 * limit` the walk
    /// gives up. The limit on written words is not enough: calls whose code folds away add no words, but their number
    /// may grow exponentially with the call depth.
    steps: usize,
}

/// A branch that was written, as an edge of the control flow graph.
#[derive(Debug)]
pub(super) struct Edge {
    /// The label of the block that ends with the branch: `from` in the source, `block` in the output.
    pub(super) from: Id,
    pub(super) block: Id,
    pub(super) state: TrackedState,
    /// Where the target label of the branch is: an index into the words written so far. The branch may be redirected
    /// there later. 0 if no branch was written.
    pub(super) place: usize,
}

/// A return from an inlined function that was written as a branch: the block in the output that ends with it, the
/// values of the tracked variables there, and the returned value.
#[derive(Debug)]
pub(super) struct Return {
    pub(super) block: Id,
    pub(super) state: TrackedState,
    pub(super) value: Id,
}

/// A block with several predecessors, all of which are written before it.
#[derive(Debug)]
pub(super) struct BranchTarget {
    /// The label of the block: `label` in the source, `out` in the output.
    pub(super) label: Id,
    pub(super) out: Id,
    pub(super) edges: Vec<Edge>,
    pub(super) role: TargetRole,
}

/// The role of a [`BranchTarget`]: the merge block of a construct (`If`, `Switch`, `Loop`), or another block.
#[derive(Debug)]
pub(super) enum TargetRole {
    /// The merge block of a selection by `OpBranchConditional`. The vector has the returns within the selection.
    If(Vec<Return>),
    /// The merge block of an `OpSwitch`. The vector has the returns within the `OpSwitch`.
    Switch(Vec<Return>),
    Loop,
    /// A case of the innermost switch.
    Case,
    /// The continue target of the innermost loop, or while the continue construct is written, the
    /// header of that loop.
    Next,
}

/// A function that is being inlined, or the entry point.
pub(super) struct Frame<'s> {
    pub(super) function: &'s Function,
    /// The number of the frame, from 1 on.
    number: u32,
    pub(super) is_entry: bool,
    /// The number of [`Walk::targets`] when the walk entered the function.
    pub(super) base: usize,
}

/// The block or caller to which the control flow goes after a piece of code.
pub(super) enum WalkStep {
    /// The control flow goes to a block of the source, over these edges (the branches to the block). The label of the
    /// block, and the phis of tracked variables in it, are in the output already.
    At(Id, Vec<Edge>),
    /// The control flow goes to the caller, with the value that the function returns, or [`NOTHING`].
    Returned(Id),
    /// No code follows directly: the branch goes to a [`BranchTarget`] (a block with several predecessors, which is written
    /// after all of them), or the control flow ends, for example at `OpUnreachable`.
    Ended,
}

impl Frame<'_> {
    pub(super) fn refuse(&self) -> Stop {
        Stop::Refuse(self.function.id)
    }
}

impl<'s, 'm> Walk<'s, 'm> {
    pub(super) fn new(known: Known<'s>, values: Values<'m>) -> Self {
        let ids = known.source.id_map();
        let visited = vec![0; known.source.block_count()];
        Self {
            known,
            values,
            tracked: Tracked::default(),
            state: TrackedState::new(),
            targets: Vec::new(),
            block: NOTHING,
            variables: Vec::new(),
            annotations: Vec::new(),
            depth: 0,
            ids,
            visited,
            frames: 0,
            steps: 0,
        }
    }

    /// Returns the output id that replaces an id of the source.
    pub(super) fn lookup(&self, id: Id) -> Id {
        self.ids.get(id).unwrap_or(id)
    }

    /// Tracks the private variables of a module, given as id, type and initializer. This may write
    /// instructions that extract the parts of initializers.
    fn track_private(&mut self, variables: &[(Id, Id, Option<Id>)]) {
        for (id, pointee, initializer) in variables {
            if !self.known.untracked.contains(id) {
                self.track(*id, *id, *pointee, *initializer);
            }
        }
    }

    fn track(&mut self, id: Id, variable: Id, pointee: Id, initializer: Option<Id>) -> bool {
        if self.tracked.add(&self.values, id, variable, pointee).is_none() {
            return false;
        }
        self.state.resize(self.tracked.leaf_types.len(), NOTHING);
        if let Some(value) = initializer {
            self.tracked.initialize(&mut self.values, &mut self.state, id, value);
        }
        true
    }

    /// Follows the code of the entry point from its first block on. `private` are the private
    /// variables of the module.
    pub(super) fn run(
        &mut self,
        function: Id,
        private: &[(Id, Id, Option<Id>)],
    ) -> Result<(), Stop> {
        let function = self.known.source.get(function).ok_or(Stop::GiveUp)?;
        self.block = self.values.fresh();
        self.values.push(Op::Label, &[self.block.0]);
        self.track_private(private);
        let mut frame = self.frame(function, true)?;
        if let WalkStep::Returned(_) =
            self.walk(&mut frame, WalkStep::At(function.first, Vec::new()))?
        {
            self.values.push(Op::Return, &[]);
        }
        if self.values.overflows { Err(Stop::GiveUp) } else { Ok(()) }
    }

    fn frame(&mut self, function: &'s Function, is_entry: bool) -> Result<Frame<'s>, Stop> {
        self.frames += 1;
        let frame = Frame { function, number: self.frames, is_entry, base: self.targets.len() };
        for i in self.known.source.variables(function) {
            self.declare(&frame, i)?;
        }
        Ok(frame)
    }

    fn declare(&mut self, frame: &Frame<'s>, i: Instruction<'_>) -> Result<(), Stop> {
        let (ty, variable, initializer) = (i.id(0), i.id(1), i.operands().get(3));
        let pointee = self.values.pointee_of_type(ty).ok_or(Stop::GiveUp)?;
        let id = self.values.fresh();
        self.ids.insert(variable, id);
        let is_tracked = !self.known.untracked.contains(&variable)
            && self.track(id, variable, pointee, initializer.map(|id| Id(*id)));
        if is_tracked {
            return Ok(());
        }
        let mut operands = vec![ty.0, id.0, StorageClass::Function as u32];
        match initializer {
            Some(value) if frame.is_entry => operands.push(*value),
            // The initializer becomes a store, because the inlined function may be executed again,
            // in a loop.
            Some(value) => self.values.push(Op::Store, &[id.0, *value]),
            None => {}
        }
        self.variables.push((operands.len() as u32 + 1) << 16 | Op::Variable as u32);
        self.variables.extend(operands);
        self.values.note(id, ty);
        self.annotate(variable, id);
        Ok(())
    }

    /// Follows the control flow until it returns from the function, branches to a [`BranchTarget`] (a block with several
    /// predecessors), or ends.
    pub(super) fn walk(
        &mut self,
        frame: &mut Frame<'s>,
        mut step: WalkStep,
    ) -> Result<WalkStep, Stop> {
        while let WalkStep::At(label, edges) = step {
            step = self.enter(frame, label, &edges)?;
        }
        Ok(step)
    }

    fn enter(
        &mut self,
        frame: &mut Frame<'s>,
        label: Id,
        edges: &[Edge],
    ) -> Result<WalkStep, Stop> {
        let source = self.known.source;
        let block = source.block(frame.function, label).ok_or_else(|| frame.refuse())?;
        // In structured control flow, a block with several predecessors is a target. A block that is entered twice in a
        // frame (one inlined call) is therefore not structured.
        if std::mem::replace(&mut self.visited[block.number], frame.number) == frame.number {
            return Err(frame.refuse());
        }
        self.steps += 1 + block.len();
        if self.values.words.len() > self.known.limit
            || self.steps > 8 * self.known.limit
            || self.values.overflows
        {
            return Err(Stop::GiveUp);
        }
        if !edges.is_empty() {
            // All phis of a block are evaluated with the values before the block, not with the new values
            // of other phis.
            let mut phis = Vec::new();
            for phi in source.phis(block) {
                phis.push((phi.id(1), self.phi(frame, phi, edges)?));
            }
            phis.into_iter().for_each(|(phi, id)| self.ids.insert(phi, id));
        }
        match block.merge {
            Merge::Loop { merge, next } => self.walk_loop(frame, label, block, merge, next),
            Merge::None | Merge::Selection { .. } => self.walk_block(frame, label, block),
        }
    }

    /// Returns the id in the output that replaces a phi of the source.
    fn phi(&mut self, frame: &Frame<'s>, i: Instruction<'_>, edges: &[Edge]) -> Result<Id, Stop> {
        let mut values = Vec::with_capacity(edges.len());
        for edge in edges {
            let value = phi_value(i, edge.from).ok_or_else(|| frame.refuse())?;
            values.push((self.lookup_value(value)?, edge.block));
        }
        let end = self.values.words.len();
        let id = self.join_values(i.id(0), &values);
        // If an existing value replaces the phi, the phi's decorations do not apply to that value.
        if self.values.words.len() > end {
            self.annotate(i.id(1), id);
        }
        Ok(id)
    }

    /// Joins values from several blocks, given with the labels of these blocks: returns the value if all are the same,
    /// otherwise a phi. Returns [`NOTHING`] if there are no values.
    pub(super) fn join_values(&mut self, ty: Id, values: &[(Id, Id)]) -> Id {
        let Some((first, _)) = values.first() else { return NOTHING };
        if values.iter().all(|(value, _)| value == first) {
            return *first;
        }
        let mut operands = Vec::with_capacity(2 * values.len());
        for (value, block) in values {
            let value = match *value {
                NOTHING => self.values.undefined(ty),
                value => value,
            };
            operands.extend([value.0, block.0]);
        }
        self.values.define(Op::Phi, ty, &operands)
    }

    /// Returns the output id that replaces an id of the source, or an error if it is a pointer into
    /// a tracked variable.
    pub(super) fn lookup_value(&self, id: Id) -> Result<Id, Stop> {
        let id = self.lookup(id);
        match self.tracked.pointer(id) {
            Some(pointer) => Err(Stop::Untrack(pointer.variable)),
            None => Ok(id),
        }
    }

    /// Begins a call or a construct, and checks that they are not nested too deeply.
    pub(super) fn nest(&mut self) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Stop::GiveUp) } else { Ok(()) }
    }

    pub(super) fn annotate(&mut self, from: Id, to: Id) {
        for decoration in self.known.decorations.get(from) {
            let mut words = decoration.words().to_vec();
            words[1] = to.0;
            self.annotations.push(words);
        }
    }

    pub(super) fn walk_block(
        &mut self,
        frame: &mut Frame<'s>,
        label: Id,
        block: &'s CodeBlock,
    ) -> Result<WalkStep, Stop> {
        for i in self.known.source.body(block) {
            if i.is(Op::FunctionCall) {
                if !self.call(frame, i)? {
                    return Ok(WalkStep::Ended);
                }
            } else {
                self.write(frame, i)?;
            }
        }
        self.leave(frame, label, block)
    }

    fn write(&mut self, frame: &Frame<'s>, i: Instruction<'_>) -> Result<(), Stop> {
        let op = i.op().ok_or_else(|| frame.refuse())?;
        let (ty, result) = result_of(i);
        let id = match (op, ty, result) {
            (Op::Store, ..) => {
                let pointer = self.lookup(i.id(0));
                if let Some(pointer) = self.tracked.pointer(pointer).cloned() {
                    let value = self.lookup_value(i.id(1))?;
                    let (values, state) = (&mut self.values, &mut self.state);
                    return self.tracked.store(values, state, &pointer, value);
                }
                return self.copy(frame, i, op);
            }
            (Op::Load, Some(ty), Some(result)) => {
                let pointer = self.lookup(i.id(2));
                if let Some(pointer) = self.tracked.pointer(pointer).cloned() {
                    self.tracked.load(&mut self.values, &self.state, &pointer)?
                } else if let Some(storage) = self.unchanging(pointer)
                    && i.operands().len() == 3
                    && !self.known.decorations.has(result)
                {
                    self.values.load_unchanging(pointer, storage, ty)
                } else if i.operands().len() == 3
                    && !self.known.decorations.has(result)
                    && self.known.selects
                    && let Some(value) = self.values.load_selected(pointer, ty)
                {
                    value
                } else {
                    return self.copy(frame, i, op);
                }
            }
            (Op::AccessChain | Op::InBoundsAccessChain, Some(ty), Some(result)) => {
                let base = self.lookup(i.id(2));
                let indices: Vec<Id> = i.operands().iter().skip(3).map(|id| Id(*id)).collect();
                let indices: Vec<Id> = indices.iter().map(|id| self.lookup(*id)).collect();
                if self.tracked.pointer(base).is_some() {
                    let id = self.values.fresh();
                    self.tracked.chain(&self.values, base, &indices, id)?;
                    id
                } else if self.known.decorations.has(result) {
                    return self.copy(frame, i, op);
                } else {
                    let operands: Vec<u32> =
                        std::iter::once(base).chain(indices).map(|id| id.0).collect();
                    self.values.value(op, ty, &operands)
                }
            }
            (Op::CopyObject, _, Some(_)) => self.lookup(i.id(2)),
            (Op::Undef, Some(ty), Some(_)) => self.values.undefined(ty),
            (_, Some(ty), Some(result))
                if is_pure(i, self.known.glsl) && !self.known.decorations.has(result) =>
            {
                let operands = self.operands(i)?;
                self.values.value(op, ty, &operands)
            }
            _ => return self.copy(frame, i, op),
        };
        if let Some(result) = result {
            self.ids.insert(result, id);
        }
        Ok(())
    }

    /// The storage class that a pointer points into, if no invocation writes memory of that class.
    fn unchanging(&self, pointer: Id) -> Option<StorageClass> {
        let (storage, _) = self.values.pointee(pointer)?;
        [StorageClass::PushConstant, StorageClass::Input]
            .into_iter()
            .find(|unchanging| *unchanging as u32 == storage)
    }

    /// Writes an instruction with replaced ids, without simplifying it.
    fn copy(&mut self, frame: &Frame<'s>, i: Instruction<'_>, op: Op) -> Result<(), Stop> {
        let mut operands = self.operands(i)?;
        self.repeat_sampled_images(i, &mut operands);
        match result_of(i) {
            (Some(ty), Some(result)) => {
                let id = self.values.define(op, ty, &operands);
                self.annotate(result, id);
                self.ids.insert(result, id);
            }
            (None, None) => self.values.push(op, &operands),
            _ => return Err(frame.refuse()),
        }
        Ok(())
    }

    /// Repeats an `OpSampledImage` whose result is used after an inlined call has begun another block: SPIR-V
    /// requires that the result is used in the same block.
    fn repeat_sampled_images(&mut self, i: Instruction<'_>, operands: &mut [u32]) {
        let first = i.operands().len() - operands.len();
        let mut repeated = Vec::new();
        visit_ids(i, |index| {
            if let Some(place) = index.checked_sub(first)
                && let Some(image) = self.values.definition(Id(operands[place]))
                && image.is(Op::SampledImage)
                && !self.values.is_in_current_block(Id(operands[place]))
            {
                repeated.push((place, image.id(0), image.operands()[2..].to_vec()));
            }
        });
        for (place, ty, of) in repeated {
            operands[place] = self.values.define(Op::SampledImage, ty, &of).0;
        }
    }

    /// Returns the operands of an instruction after result type and result, with ids of the output.
    fn operands(&self, i: Instruction<'_>) -> Result<Vec<u32>, Stop> {
        let first = match result_of(i) {
            (Some(_), Some(_)) => 2,
            _ => 0,
        };
        let mut operands = i.operands().to_vec();
        let mut stop = None;
        visit_ids(i, |index| {
            if index >= first {
                match self.lookup_value(i.id(index)) {
                    Ok(id) => operands[index] = id.0,
                    Err(error) => stop = Some(error),
                }
            }
        });
        match stop {
            Some(stop) => Err(stop),
            None => Ok(operands.split_off(first)),
        }
    }

    /// Inlines a called function, or writes the call if the function cannot be inlined. Returns false if the function
    /// never returns.
    fn call(&mut self, frame: &Frame<'s>, i: Instruction<'_>) -> Result<bool, Stop> {
        let (result, callee) = (i.id(1), i.id(2));
        if self.known.refused.contains(&callee) || !self.known.source.has(callee) {
            self.copy(frame, i, Op::FunctionCall)?;
            return Ok(true);
        }
        let function = self.known.source.get(callee).ok_or(Stop::Refuse(callee))?;
        self.nest()?;
        let arguments = i.operands().iter().skip(3);
        for (parameter, argument) in self.known.source.parameters(function).zip(arguments) {
            self.ids.insert(parameter.id(1), self.lookup(Id(*argument)));
        }
        let leaves = self.tracked.leaf_types.len();
        let mut inner = self.frame(function, false)?;
        let step = self.walk(&mut inner, WalkStep::At(function.first, Vec::new()))?;
        self.depth -= 1;
        self.tracked.truncate(leaves);
        self.state.truncate(leaves);
        // The variables of the inlined function are no longer tracked, so no id may stand for a pointer into them.
        let source = self.known.source;
        for local in source.parameters(function).chain(source.variables(function)) {
            self.ids.remove(local.id(1));
        }
        let WalkStep::Returned(value) = step else { return Ok(false) };
        self.ids.insert(result, value);
        Ok(true)
    }
}

/// The private variables of a module: id, type and initializer.
pub(super) fn private_variables(
    module: &Module,
    pointee: impl Fn(Id) -> Option<Id>,
) -> Vec<(Id, Id, Option<Id>)> {
    module
        .section(Section::Declarations)
        .filter(|i| i.is(Op::Variable) && i.operand(2) == StorageClass::Private as u32)
        .filter_map(|i| {
            let initializer = i.operands().get(3).map(|id| Id(*id));
            Some((i.id(1), pointee(i.id(0))?, initializer))
        })
        .collect()
}
