//! The functions of a module, split into blocks.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;

use crate::spirv::id_set::{IdMap, IdSet};
use crate::spirv::{Id, Instruction, Module, Section, result_of, visit_ids};

/// `OpSelectionMerge` or `OpLoopMerge`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Merge {
    None,
    Selection { merge: Id },
    Loop { merge: Id, next: Id },
}

#[derive(Debug)]
pub(super) struct Block<'m> {
    label: Id,
    /// The place among all blocks.
    pub(super) number: usize,
    /// The places of its instructions in [`Source::instructions`].
    phis: Range<usize>,
    /// Those between phis and merge instruction.
    body: Range<usize>,
    pub(super) merge: Merge,
    /// The merge instruction, if there is one.
    pub(super) merge_at: Option<Instruction<'m>>,
    pub(super) terminator: Instruction<'m>,
}

#[derive(Debug)]
pub(super) struct Function<'m> {
    pub(super) id: Id,
    /// `OpFunction`
    pub(super) head: Instruction<'m>,
    /// The places in [`Source::instructions`].
    parameters: Range<usize>,
    variables: Range<usize>,
    pub(super) first: Id,
    /// The numbers of its blocks.
    blocks: Range<usize>,
}

/// The functions of a module that are understood completely.
///
/// Most functions of a general shader are read, and never reached: what is read lies in few vectors
/// for all functions, and what the walk needs of a function only at times is found when it does.
#[derive(Debug)]
pub(super) struct Source<'m> {
    /// The instructions that the walk follows, in the order of the module: without labels, merge
    /// instructions, terminators and lines.
    instructions: Vec<Instruction<'m>>,
    blocks: Vec<Block<'m>>,
    functions: FxHashMap<Id, Function<'m>>,
    /// The number of each block, by its label.
    labels: IdMap<usize>,
    /// What each access chain, and each copy of a pointer, is based on.
    bases: IdMap<Id>,
    /// All ids that functions refer to which are not understood, and that these define.
    opaque: IdSet,
    /// What is indexed with a number that is computed.
    indexed: Vec<Id>,
    /// The words of the functions.
    words: usize,
}

impl<'m> Source<'m> {
    /// Reads the functions. `dropped` are instruction sets whose instructions are left out.
    pub(super) fn of(module: &'m Module, dropped: &FxHashSet<Id>) -> Self {
        let all: Vec<Instruction<'m>> = module.section(Section::Functions).collect();
        let mut this = Self {
            instructions: Vec::with_capacity(all.len()),
            blocks: Vec::new(),
            functions: FxHashMap::default(),
            labels: module.id_map(),
            bases: module.id_map(),
            opaque: module.id_set(),
            indexed: Vec::new(),
            words: all.iter().map(|i| i.words().len()).sum(),
        };
        let mut computed = module.id_set();
        for code in all.split_inclusive(|i| i.is(Op::FunctionEnd)) {
            let (instructions, blocks) = (this.instructions.len(), this.blocks.len());
            match this.function(code, dropped) {
                Some(function) => {
                    this.find_indexed(&function, &mut computed);
                    this.functions.insert(function.id, function);
                }
                None => {
                    this.instructions.truncate(instructions);
                    this.blocks.truncate(blocks);
                    let words = code.iter().flat_map(|i| i.operands());
                    words.for_each(|word| _ = this.opaque.insert(Id(*word)));
                }
            }
        }
        this
    }

    /// A function; `None` if not all of it is understood.
    pub(super) fn get(&self, id: Id) -> Option<&Function<'m>> {
        self.functions.get(&id)
    }

    /// The block of a function with a label.
    pub(super) fn block(&self, function: &Function<'m>, label: Id) -> Option<&Block<'m>> {
        let number = self.labels.get(label).filter(|number| function.blocks.contains(number))?;
        self.blocks.get(number).filter(|block| block.label == label)
    }

    /// The number of all blocks.
    pub(super) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    pub(super) fn parameters(
        &self,
        function: &Function<'m>,
    ) -> impl Iterator<Item = Instruction<'m>> + '_ {
        self.instructions[function.parameters.clone()].iter().copied()
    }

    /// The variables of a function.
    pub(super) fn variables(
        &self,
        function: &Function<'m>,
    ) -> impl Iterator<Item = Instruction<'m>> + '_ {
        self.instructions[function.variables.clone()].iter().copied()
    }

    pub(super) fn phis(&self, block: &Block<'m>) -> impl Iterator<Item = Instruction<'m>> + '_ {
        self.instructions[block.phis.clone()].iter().copied()
    }

    /// The instructions of a block between phis and merge instruction.
    pub(super) fn body(
        &self,
        block: &Block<'m>,
    ) -> impl ExactSizeIterator<Item = Instruction<'m>> + '_ {
        self.instructions[block.body.clone()].iter().copied()
    }

    /// All words of the functions.
    pub(super) fn len(&self) -> usize {
        self.words
    }

    /// Whether a function that is not understood may refer to an id.
    pub(super) fn is_opaque(&self, id: Id) -> bool {
        self.opaque.contains(id)
    }

    fn find_indexed(&mut self, function: &Function<'m>, computed: &mut IdSet) {
        for block in &self.blocks[function.blocks.clone()] {
            for i in &self.instructions[block.phis.start..block.body.end] {
                let is_chain = matches!(i.op(), Some(Op::AccessChain | Op::InBoundsAccessChain));
                if is_chain && i.operands().iter().skip(3).any(|id| computed.contains(Id(*id))) {
                    self.indexed.push(self.root(function, i.id(2)));
                }
                if let (_, Some(result)) = result_of(*i) {
                    computed.insert(result);
                }
            }
        }
    }

    /// The variables that are indexed with a number that is computed.
    pub(super) fn indexed(&self) -> impl Iterator<Item = Id> {
        self.indexed.iter().copied()
    }

    /// All ids that a function refers to, itself or in functions that it calls.
    pub(super) fn references(&self, function: Id, found: &mut FxHashSet<Id>) {
        let mut seen = FxHashSet::from_iter([function]);
        let mut open = vec![function];
        while let Some(function) = open.pop().and_then(|id| self.functions.get(&id)) {
            for block in &self.blocks[function.blocks.clone()] {
                for i in &self.instructions[block.phis.start..block.body.end] {
                    visit_ids(*i, |index| _ = found.insert(i.id(index)));
                    // A function that is not understood counts as one that refers to everything it
                    // names.
                    if i.is(Op::FunctionCall)
                        && self.functions.contains_key(&i.id(2))
                        && seen.insert(i.id(2))
                    {
                        open.push(i.id(2));
                    }
                }
            }
        }
    }

    /// All ids that functions refer to which functions that are not understood call.
    pub(super) fn references_of_opaque(&self, found: &mut FxHashSet<Id>) {
        for function in self.functions.keys().filter(|id| self.opaque.contains(**id)) {
            self.references(*function, found);
        }
    }

    /// Reads a function, from `OpFunction` to `OpFunctionEnd`.
    fn function(
        &mut self,
        code: &[Instruction<'m>],
        dropped: &FxHashSet<Id>,
    ) -> Option<Function<'m>> {
        let ([head, rest @ ..], first) = (code, self.instructions.len()) else { return None };
        let (_, rest) = rest.split_last()?;
        let mut function = Function {
            id: head.id(1),
            head: *head,
            parameters: first..first,
            variables: first..first,
            first: Id(0),
            blocks: self.blocks.len()..self.blocks.len(),
        };
        let mut open: Option<Block<'m>> = None;
        for i in rest {
            let op = i.op()?;
            if !visit_ids(*i, |_| {}) || i.operands().len() < least_operands(op) {
                return None;
            }
            let at = self.instructions.len();
            match op {
                Op::Line | Op::NoLine => continue,
                Op::ExtInst if dropped.contains(&i.id(2)) => continue,
                Op::FunctionParameter => {
                    self.instructions.push(*i);
                    function.parameters.end = at + 1;
                    function.variables = at + 1..at + 1;
                    continue;
                }
                Op::Label => {
                    if function.blocks.is_empty() {
                        function.first = i.id(0);
                    }
                    let block = Block {
                        label: i.id(0),
                        number: self.blocks.len(),
                        phis: at..at,
                        body: at..at,
                        merge: Merge::None,
                        merge_at: None,
                        terminator: *i,
                    };
                    open.replace(block).is_none().then_some(())?;
                    continue;
                }
                _ => {}
            }
            let block = open.as_mut()?;
            match op {
                // Variables are the first instructions of a function, and phis of a block.
                Op::Variable => {
                    (function.variables.end == at).then_some(())?;
                    self.instructions.push(*i);
                    function.variables.end = at + 1;
                    (block.phis, block.body) = (at + 1..at + 1, at + 1..at + 1);
                }
                Op::Phi => {
                    (block.phis.end == at).then_some(())?;
                    self.instructions.push(*i);
                    block.phis.end = at + 1;
                    block.body = at + 1..at + 1;
                }
                Op::SelectionMerge => {
                    block.merge = Merge::Selection { merge: i.id(0) };
                    block.merge_at = Some(*i);
                }
                Op::LoopMerge => {
                    block.merge = Merge::Loop { merge: i.id(0), next: i.id(1) };
                    block.merge_at = Some(*i);
                }
                Op::Branch
                | Op::BranchConditional
                | Op::Switch
                | Op::Return
                | Op::ReturnValue
                | Op::Kill
                | Op::TerminateInvocation
                | Op::Unreachable => {
                    block.terminator = *i;
                    let block = open.take()?;
                    self.labels.insert(block.label, block.number);
                    self.blocks.push(block);
                    function.blocks.end = self.blocks.len();
                }
                _ => {
                    if matches!(op, Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject) {
                        self.bases.insert(i.id(1), i.id(2));
                    }
                    self.instructions.push(*i);
                    block.body.end = at + 1;
                }
            }
        }
        (open.is_none() && function.first != Id(0)).then_some(function)
    }

    /// The variables that a loop may store to, and parameters of the function.
    pub(super) fn stored_in_loop(
        &self,
        function: &Function<'m>,
        header: Id,
        merge: Id,
    ) -> FxHashSet<Id> {
        let mut inside = FxHashSet::from_iter([header]);
        let mut open = vec![header];
        let mut blocks = Vec::new();
        while let Some(label) = open.pop() {
            let Some(block) = self.block(function, label) else { continue };
            let mut visit = |label: Id| {
                if label != merge && inside.insert(label) {
                    open.push(label);
                }
            };
            successors(block.terminator).for_each(&mut visit);
            match block.merge {
                Merge::None => {}
                Merge::Selection { merge } => visit(merge),
                Merge::Loop { merge, next } => {
                    visit(merge);
                    visit(next);
                }
            }
            blocks.push((function, block));
        }
        let mut stored = FxHashSet::default();
        let mut seen = FxHashSet::default();
        while let Some((function, block)) = blocks.pop() {
            for i in self.body(block) {
                if i.is(Op::Store) {
                    stored.insert(self.root(function, i.id(0)));
                } else if i.is(Op::FunctionCall) {
                    let arguments = i.operands().iter().skip(3);
                    stored.extend(arguments.map(|argument| self.root(function, Id(*argument))));
                    // All blocks of the functions that it calls.
                    if let Some(callee) = self.functions.get(&i.id(2))
                        && seen.insert(callee.id)
                    {
                        let all = &self.blocks[callee.blocks.clone()];
                        blocks.extend(all.iter().map(|block| (callee, block)));
                    }
                }
            }
        }
        stored
    }

    /// The variable or parameter that a pointer of a function points into.
    fn root(&self, function: &Function<'m>, mut pointer: Id) -> Id {
        // A chain has no cycles in a valid module.
        let blocks = &self.blocks[function.blocks.clone()];
        let end = blocks.last().map_or(function.variables.end, |block| block.body.end);
        for _ in function.variables.end..=end {
            match self.bases.get(pointer) {
                Some(base) => pointer = base,
                None => break,
            }
        }
        pointer
    }
}

/// The operands that an instruction of a valid module has at least, if the walk relies on it.
const fn least_operands(op: Op) -> usize {
    match op {
        Op::Branch | Op::Label | Op::ReturnValue => 1,
        Op::SelectionMerge | Op::Store | Op::Switch | Op::Phi | Op::FunctionParameter => 2,
        Op::BranchConditional
        | Op::LoopMerge
        | Op::Variable
        | Op::Load
        | Op::AccessChain
        | Op::InBoundsAccessChain
        | Op::CopyObject
        | Op::FunctionCall
        | Op::CompositeExtract => 3,
        Op::CompositeInsert | Op::VectorShuffle | Op::ExtInst => 4,
        Op::Select => 5,
        _ => 0,
    }
}

/// The labels that a terminator branches to.
pub(super) fn successors(terminator: Instruction<'_>) -> impl Iterator<Item = Id> {
    let mut labels = Vec::new();
    match terminator.op() {
        Some(Op::Branch) => labels.push(terminator.id(0)),
        Some(Op::BranchConditional) => labels.extend([terminator.id(1), terminator.id(2)]),
        Some(Op::Switch) => {
            visit_ids(terminator, |index| labels.extend((index > 0).then(|| terminator.id(index))));
        }
        _ => {}
    }
    labels.into_iter()
}
