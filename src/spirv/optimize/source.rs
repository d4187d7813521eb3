//! The functions of a module, split into blocks.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;

use crate::spirv::{Id, Instruction, Module, Section, result_of, visit_ids};

/// The place of an instruction in [`Source::words`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    start: u32,
    length: u16,
}

/// `OpSelectionMerge` or `OpLoopMerge`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Merge {
    None,
    Selection { merge: Id },
    Loop { merge: Id, next: Id },
}

#[derive(Debug)]
pub(super) struct Block {
    /// The place among the blocks of the function.
    pub(super) number: usize,
    pub(super) phis: Vec<Span>,
    /// The instructions between phis and merge instruction.
    pub(super) body: Vec<Span>,
    pub(super) merge: Merge,
    /// The merge instruction, if there is one.
    pub(super) merge_at: Option<Span>,
    pub(super) terminator: Span,
}

#[derive(Debug)]
pub(super) struct Function {
    pub(super) id: Id,
    pub(super) head: Span,
    pub(super) parameters: Vec<Id>,
    /// The variables of the function.
    pub(super) variables: Vec<Span>,
    pub(super) first: Id,
    pub(super) blocks: FxHashMap<Id, Block>,
    /// What each access chain, and each copy of a pointer, is based on.
    bases: FxHashMap<Id, Id>,
    /// The pointers that are stored to, with their blocks, and the arguments of calls.
    stores: Vec<(Id, Id)>,
    calls: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    block: Id,
    function: Id,
    arguments: Vec<Id>,
}

/// The functions of a module that are understood completely.
#[derive(Debug)]
pub(super) struct Source {
    words: Vec<u32>,
    functions: FxHashMap<Id, Function>,
    /// All ids that functions refer to which are not understood, and that these define.
    opaque: FxHashSet<Id>,
    /// What is indexed with a number that is computed.
    indexed: FxHashSet<Id>,
}

impl Source {
    /// Reads the functions. `dropped` are instruction sets whose instructions are left out.
    pub(super) fn of(module: &Module, dropped: &FxHashSet<Id>) -> Self {
        let mut this = Self {
            words: Vec::new(),
            functions: FxHashMap::default(),
            opaque: FxHashSet::default(),
            indexed: FxHashSet::default(),
        };
        let mut spans = Vec::new();
        for i in module.section(Section::Functions) {
            let start = this.words.len() as u32;
            this.words.extend_from_slice(i.words());
            spans.push(Span { start, length: i.words().len() as u16 });
            if i.is(Op::FunctionEnd) {
                match this.function(&spans, dropped) {
                    Some(function) => {
                        this.find_indexed(&function);
                        this.functions.insert(function.id, function);
                    }
                    None => {
                        let ids = spans.iter().flat_map(|span| &this.words[span.range()][1..]);
                        this.opaque.extend(ids.map(|word| Id(*word)));
                    }
                }
                spans.clear();
            }
        }
        this
    }

    /// A function; `None` if not all of it is understood.
    pub(super) fn get(&self, id: Id) -> Option<&Function> {
        self.functions.get(&id)
    }

    pub(super) fn instruction(&self, span: Span) -> Instruction<'_> {
        Instruction::new(&self.words[span.range()])
    }

    /// All words of the functions.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether a function that is not understood may refer to an id.
    pub(super) fn is_opaque(&self, id: Id) -> bool {
        self.opaque.contains(&id)
    }

    fn find_indexed(&mut self, function: &Function) {
        let mut computed = FxHashSet::default();
        let mut indexed = Vec::new();
        let mut blocks: Vec<&Block> = function.blocks.values().collect();
        blocks.sort_unstable_by_key(|block| block.number);
        for span in blocks.iter().flat_map(|block| block.phis.iter().chain(&block.body)) {
            let i = self.instruction(*span);
            let is_chain = matches!(i.op(), Some(Op::AccessChain | Op::InBoundsAccessChain));
            if is_chain && i.operands().iter().skip(3).any(|id| computed.contains(&Id(*id))) {
                indexed.push(function.root(i.id(2)));
            }
            computed.extend(result_of(i).1);
        }
        self.indexed.extend(indexed);
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
            for block in function.blocks.values() {
                for span in block.phis.iter().chain(&block.body) {
                    let i = self.instruction(*span);
                    visit_ids(i, |index| _ = found.insert(i.id(index)));
                }
            }
            let callees = function.calls.iter().map(|call| call.function);
            // A function that is not understood counts as one that refers to everything it names.
            open.extend(callees.filter(|id| self.functions.contains_key(id) && seen.insert(*id)));
        }
    }

    /// All ids that functions refer to which functions that are not understood call.
    pub(super) fn references_of_opaque(&self, found: &mut FxHashSet<Id>) {
        for function in self.functions.keys().filter(|id| self.opaque.contains(id)) {
            self.references(*function, found);
        }
    }

    fn function(&self, spans: &[Span], dropped: &FxHashSet<Id>) -> Option<Function> {
        let (head, rest) = spans.split_first()?;
        let (_, rest) = rest.split_last()?;
        let mut function = Function {
            id: self.instruction(*head).id(1),
            head: *head,
            parameters: Vec::new(),
            variables: Vec::new(),
            first: Id(0),
            blocks: FxHashMap::default(),
            bases: FxHashMap::default(),
            stores: Vec::new(),
            calls: Vec::new(),
        };
        let mut open: Option<(Id, Block)> = None;
        for span in rest {
            let i = self.instruction(*span);
            let op = i.op()?;
            if !visit_ids(i, |_| {}) || i.operands().len() < least_operands(op) {
                return None;
            }
            match op {
                Op::Line | Op::NoLine => continue,
                Op::ExtInst if dropped.contains(&i.id(2)) => continue,
                Op::FunctionParameter => {
                    function.parameters.push(i.id(1));
                    continue;
                }
                Op::Label => {
                    if function.blocks.is_empty() {
                        function.first = i.id(0);
                    }
                    let block = Block {
                        number: function.blocks.len(),
                        phis: Vec::new(),
                        body: Vec::new(),
                        merge: Merge::None,
                        merge_at: None,
                        terminator: *span,
                    };
                    open.replace((i.id(0), block)).is_none().then_some(())?;
                    continue;
                }
                _ => {}
            }
            let (label, block) = open.as_mut()?;
            match op {
                Op::Phi => block.phis.push(*span),
                Op::SelectionMerge => {
                    block.merge = Merge::Selection { merge: i.id(0) };
                    block.merge_at = Some(*span);
                }
                Op::LoopMerge => {
                    block.merge = Merge::Loop { merge: i.id(0), next: i.id(1) };
                    block.merge_at = Some(*span);
                }
                Op::Variable => function.variables.push(*span),
                Op::Branch
                | Op::BranchConditional
                | Op::Switch
                | Op::Return
                | Op::ReturnValue
                | Op::Kill
                | Op::TerminateInvocation
                | Op::Unreachable => {
                    block.terminator = *span;
                    let (label, block) = open.take()?;
                    function.blocks.insert(label, block);
                }
                _ => {
                    match op {
                        Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject => {
                            function.bases.insert(i.id(1), i.id(2));
                        }
                        Op::Store => function.stores.push((*label, i.id(0))),
                        Op::FunctionCall => function.calls.push(Call {
                            block: *label,
                            function: i.id(2),
                            arguments: i.operands().iter().skip(3).map(|id| Id(*id)).collect(),
                        }),
                        _ => {}
                    }
                    block.body.push(*span);
                }
            }
        }
        (open.is_none() && function.first != Id(0)).then_some(function)
    }

    /// The variables that a loop may store to, and parameters of the function.
    pub(super) fn stored_in_loop(
        &self,
        function: &Function,
        header: Id,
        merge: Id,
    ) -> FxHashSet<Id> {
        let mut inside = FxHashSet::from_iter([header]);
        let mut open = vec![header];
        while let Some(block) = open.pop().and_then(|label| function.blocks.get(&label)) {
            let mut visit = |label: Id| {
                if label != merge && inside.insert(label) {
                    open.push(label);
                }
            };
            let terminator = self.instruction(block.terminator);
            successors(terminator).for_each(&mut visit);
            match block.merge {
                Merge::None => {}
                Merge::Selection { merge } => visit(merge),
                Merge::Loop { merge, next } => {
                    visit(merge);
                    visit(next);
                }
            }
        }
        let mut stored = FxHashSet::default();
        let mut seen = FxHashSet::default();
        let mut open = vec![(function, Some(&inside))];
        // All blocks of the functions that it calls.
        while let Some((function, blocks)) = open.pop() {
            let counts = |label: Id| blocks.is_none_or(|blocks| blocks.contains(&label));
            let stores = function.stores.iter().filter(|(block, _)| counts(*block));
            stored.extend(stores.map(|(_, pointer)| function.root(*pointer)));
            for call in function.calls.iter().filter(|call| counts(call.block)) {
                stored.extend(call.arguments.iter().map(|argument| function.root(*argument)));
                if let Some(callee) = self.functions.get(&call.function)
                    && seen.insert(call.function)
                {
                    open.push((callee, None));
                }
            }
        }
        stored
    }
}

impl Function {
    /// The variable or parameter that a pointer points into.
    fn root(&self, mut pointer: Id) -> Id {
        // A chain has no cycles in a valid module.
        for _ in 0..=self.bases.len() {
            match self.bases.get(&pointer) {
                Some(base) => pointer = *base,
                None => break,
            }
        }
        pointer
    }
}

impl Span {
    fn range(self) -> std::ops::Range<usize> {
        let start = self.start as usize;
        start..start + usize::from(self.length)
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
