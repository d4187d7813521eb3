//! The functions of a module, split into blocks.

use std::cell::OnceCell;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};

use crate::spirv::debug_info::is_of_sets;
use crate::spirv::id_set::IdMap;
use crate::spirv::{Id, Instruction, Module, Section, ids_of, result_of, visit_ids};

/// The merge instruction of a block: `OpSelectionMerge` or `OpLoopMerge`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Merge {
    None,
    Selection { merge: Id },
    Loop { merge: Id, next: Id },
}

/// A range of instructions, as indices in [`Source::instructions`].
type Places = Range<usize>;

#[derive(Debug)]
pub(crate) struct CodeBlock {
    pub(crate) label: Id,
    /// The index of the block among all blocks of the module.
    pub(super) number: usize,
    phis: Places,
    /// The instructions between the phis and the merge instruction.
    body: Places,
    pub(crate) merge: Merge,
    merge_at: Option<usize>,
    terminator: usize,
}

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) id: Id,
    code: Places,
    parameters: Places,
    variables: Places,
    pub(crate) first: Id,
    blocks: Vec<CodeBlock>,
}

impl CodeBlock {
    /// The number of instructions in `body`, including debug info.
    pub(super) fn len(&self) -> usize {
        self.body.len()
    }

    /// The number of instructions in `phis` and `body`, including debug info, which [`Source::phis`] and
    /// [`Source::body`] leave out.
    pub(crate) fn places(&self) -> usize {
        self.phis.len() + self.body.len()
    }
}

impl Function {
    /// The number of parameters and variables, including debug info between them, which [`Source::parameters`] and
    /// [`Source::variables`] leave out.
    pub(crate) fn head_len(&self) -> usize {
        self.parameters.len() + self.variables.len()
    }
}

/// A function that is parsed when it is first reached.
#[derive(Debug)]
struct Unread {
    /// The instructions from `OpFunction` to `OpFunctionEnd`.
    code: Places,
    /// The number of blocks in all functions before this one.
    blocks: usize,
    /// The parsed function. `None` in the cell if it has unsupported code.
    function: OnceCell<Option<Function>>,
}

/// The functions of a module. Most functions of a general shader are never reached, and not parsed.
#[derive(Debug)]
pub(crate) struct Source<'m> {
    module: &'m Module,
    instructions: Vec<Instruction<'m>>,
    /// Instruction sets for debug info, whose instructions are left out.
    dropped: &'m FxHashSet<Id>,
    functions: FxHashMap<Id, Unread>,
    /// For each label, the index of its block among the blocks of the function.
    labels: IdMap<u32>,
    block_count: usize,
    /// The pointer that each access chain, and each copy of a pointer, is derived from.
    bases: IdMap<Id>,
    /// The variables and parameters that are indexed with an index that is neither a constant nor a parameter.
    indexed: Vec<Id>,
    /// The `Private` and `Function` variables, and the parameters, in which something is stored by such an index.
    stored_by_index: Vec<Id>,
    words: usize,
}

impl<'m> Source<'m> {
    /// Finds the functions. `dropped` are the instruction sets for debug info, whose instructions are left out.
    pub(crate) fn of(module: &'m Module, dropped: &'m FxHashSet<Id>) -> Self {
        let instructions: Vec<Instruction<'m>> = module.section(Section::Functions).collect();
        let mut functions = FxHashMap::default();
        let mut labels = module.id_map();
        let (mut bases, mut chains) = (module.id_map(), Vec::new());
        // The pointers into `Private` and `Function` variables that such indices select, and the types of all pointers
        // into these.
        let (mut by_index, mut stored) = (module.id_set(), Vec::new());
        let mut local = module.id_set();
        let is_local = |i: &Instruction<'_>| {
            let storages = [StorageClass::Private, StorageClass::Function];
            i.is(Op::TypePointer) && storages.iter().any(|storage| i.operand(1) == *storage as u32)
        };
        local.extend(module.section(Section::Declarations).filter(is_local).map(|i| i.id(0)));
        // The ids of declarations and parameters. An index with any other id is the result of a
        // computation.
        let mut given = module.id_set();
        given.extend(module.section(Section::Declarations).filter_map(|i| result_of(i).1));
        let (mut begin, mut blocks_before, mut block_count) = (0, 0, 0);
        for (place, i) in instructions.iter().enumerate() {
            match i.op() {
                Some(Op::Function) => (begin, blocks_before) = (place, block_count),
                Some(Op::FunctionParameter) => _ = given.insert(i.id(1)),
                Some(Op::FunctionEnd) => {
                    let code = begin..place + 1;
                    let function = OnceCell::new();
                    let unread = Unread { code, blocks: blocks_before, function };
                    functions.insert(instructions[begin].id(1), unread);
                }
                Some(Op::Label) => {
                    labels.insert(i.id(0), (block_count - blocks_before) as u32);
                    block_count += 1;
                }
                Some(Op::AccessChain | Op::InBoundsAccessChain) => {
                    bases.insert(i.id(1), i.id(2));
                    if i.operands().iter().skip(3).any(|id| !given.contains(Id(*id))) {
                        chains.push(i.id(2));
                        if local.contains(i.id(0)) {
                            by_index.insert(i.id(1));
                        }
                    } else if by_index.contains(i.id(2)) {
                        by_index.insert(i.id(1));
                    }
                }
                Some(Op::Store) if by_index.contains(i.id(0)) => stored.push(i.id(0)),
                Some(Op::CopyObject) => bases.insert(i.id(1), i.id(2)),
                _ => {}
            }
        }
        let words = instructions.iter().map(|i| i.words().len()).sum();
        let mut this = Self {
            module,
            instructions,
            dropped,
            functions,
            labels,
            block_count,
            bases,
            indexed: Vec::new(),
            stored_by_index: Vec::new(),
            words,
        };
        this.indexed = chains.into_iter().map(|base| this.root(base)).collect();
        this.stored_by_index = stored.into_iter().map(|pointer| this.root(pointer)).collect();
        this
    }

    pub(super) fn id_map(&self) -> IdMap<Id> {
        self.module.id_map()
    }

    /// The functions that have unsupported code.
    pub(super) fn not_understood(&self) -> impl Iterator<Item = Id> {
        self.functions.keys().copied().filter(|id| self.get(*id).is_none())
    }

    pub(super) fn has(&self, id: Id) -> bool {
        self.functions.contains_key(&id)
    }

    /// Returns a function, which is parsed at the first call; `None` if it has unsupported code.
    pub(crate) fn get(&self, id: Id) -> Option<&Function> {
        let unread = self.functions.get(&id)?;
        unread.function.get_or_init(|| self.read(unread)).as_ref()
    }

    pub(crate) fn block<'f>(&self, function: &'f Function, label: Id) -> Option<&'f CodeBlock> {
        let number = self.labels.get(label)? as usize;
        function.blocks.get(number).filter(|block| block.label == label)
    }

    pub(super) fn block_count(&self) -> usize {
        self.block_count
    }

    pub(super) fn head(&self, function: &Function) -> Instruction<'m> {
        self.instructions[function.code.start]
    }

    /// All instructions of a function, without debug info.
    pub(crate) fn code(&self, function: &Function) -> impl Iterator<Item = Instruction<'m>> {
        self.followed(&function.code)
    }

    pub(crate) fn parameters(&self, function: &Function) -> impl Iterator<Item = Instruction<'m>> {
        self.followed(&function.parameters)
    }

    pub(crate) fn variables(&self, function: &Function) -> impl Iterator<Item = Instruction<'m>> {
        self.followed(&function.variables)
    }

    pub(crate) fn phis(&self, block: &CodeBlock) -> impl Iterator<Item = Instruction<'m>> {
        self.followed(&block.phis)
    }

    /// The instructions of a block between the phis and the merge instruction, without debug info.
    pub(crate) fn body(&self, block: &CodeBlock) -> impl Iterator<Item = Instruction<'m>> {
        self.followed(&block.body)
    }

    pub(super) fn merge(&self, block: &CodeBlock) -> Option<Instruction<'m>> {
        block.merge_at.map(|place| self.instructions[place])
    }

    pub(crate) fn terminator(&self, block: &CodeBlock) -> Instruction<'m> {
        self.instructions[block.terminator]
    }

    fn followed(&self, places: &Places) -> impl Iterator<Item = Instruction<'m>> {
        let instructions = self.instructions[places.clone()].iter().copied();
        instructions.filter(|i| !is_left_out(*i, self.dropped))
    }

    /// The number of words of all functions.
    pub(super) fn len(&self) -> usize {
        self.words
    }

    pub(super) fn indexed(&self) -> impl Iterator<Item = Id> {
        self.indexed.iter().copied()
    }

    pub(super) fn stored_by_index(&self) -> impl Iterator<Item = Id> {
        self.stored_by_index.iter().copied()
    }

    /// Collects all ids that a function refers to, in its own code or in functions that it calls. For
    /// a function with unsupported code, every word is taken for an id.
    pub(super) fn references(&self, function: Id, found: &mut FxHashSet<Id>) {
        let mut seen = FxHashSet::from_iter([function]);
        let mut open = vec![function];
        while let Some(unread) = open.pop().and_then(|id| self.functions.get(&id)) {
            for i in &self.instructions[unread.code.clone()] {
                for id in ids_of(*i) {
                    found.insert(id);
                    if self.has(id) && seen.insert(id) {
                        open.push(id);
                    }
                }
            }
        }
    }

    fn read(&self, unread: &Unread) -> Option<Function> {
        let Places { start, end } = unread.code;
        let mut function = Function {
            id: self.instructions[start].id(1),
            code: unread.code.clone(),
            parameters: start + 1..start + 1,
            variables: 0..0,
            first: Id(0),
            blocks: Vec::new(),
        };
        let mut open: Option<CodeBlock> = None;
        for place in start + 1..end - 1 {
            let i = self.instructions[place];
            let op = i.op()?;
            if !visit_ids(i, |_| {}) || i.operands().len() < least_operands(op) {
                return None;
            }
            if is_left_out(i, self.dropped) {
                continue;
            }
            let behind = place + 1..place + 1;
            let block = match (op, &mut open) {
                (Op::FunctionParameter, None) if function.blocks.is_empty() => {
                    function.parameters.end = place + 1;
                    continue;
                }
                (Op::Label, None) => {
                    if function.blocks.is_empty() {
                        function.first = i.id(0);
                        function.variables = behind.clone();
                    }
                    open = Some(CodeBlock {
                        label: i.id(0),
                        number: unread.blocks + function.blocks.len(),
                        phis: behind.clone(),
                        body: behind,
                        merge: Merge::None,
                        merge_at: None,
                        terminator: place,
                    });
                    continue;
                }
                (_, Some(block)) => block,
                (_, None) => return None,
            };
            match op {
                // Variables are the first instructions of a function, phis the first of a block.
                Op::Variable if function.variables.end == block.body.end => {
                    function.variables.end = place + 1;
                    (block.phis, block.body) = (behind.clone(), behind);
                }
                Op::Phi if block.body.is_empty() => {
                    block.phis.end = place + 1;
                    block.body = behind;
                }
                Op::Variable | Op::Phi | Op::Label | Op::FunctionParameter => return None,
                Op::SelectionMerge => {
                    block.merge = Merge::Selection { merge: i.id(0) };
                    block.merge_at = Some(place);
                }
                Op::LoopMerge => {
                    block.merge = Merge::Loop { merge: i.id(0), next: i.id(1) };
                    block.merge_at = Some(place);
                }
                Op::Branch
                | Op::BranchConditional
                | Op::Switch
                | Op::Return
                | Op::ReturnValue
                | Op::Kill
                | Op::TerminateInvocation
                | Op::Unreachable => {
                    block.terminator = place;
                    function.blocks.extend(open.take());
                }
                _ if block.merge_at.is_some() => return None,
                _ => block.body.end = place + 1,
            }
        }
        (open.is_none() && function.first != Id(0)).then_some(function)
    }

    /// The variables, and the parameters of the function, that a loop may store to.
    pub(super) fn stored_in_loop(
        &self,
        function: &Function,
        header: Id,
        merge: Id,
    ) -> FxHashSet<Id> {
        let mut inside = FxHashSet::from_iter([header]);
        let mut open = vec![header];
        let mut code = Vec::new();
        while let Some(label) = open.pop() {
            let Some(block) = self.block(function, label) else { continue };
            let mut visit = |label: Id| {
                if label != merge && inside.insert(label) {
                    open.push(label);
                }
            };
            successors(self.terminator(block)).for_each(&mut visit);
            match block.merge {
                Merge::None => {}
                Merge::Selection { merge } => visit(merge),
                Merge::Loop { merge, next } => {
                    visit(merge);
                    visit(next);
                }
            }
            code.push(block.body.clone());
        }
        let mut stored = FxHashSet::default();
        let mut seen = FxHashSet::default();
        while let Some(places) = code.pop() {
            for i in &self.instructions[places] {
                if i.is(Op::Store) {
                    stored.insert(self.root(i.id(0)));
                } else if i.is(Op::FunctionCall) {
                    let arguments = i.operands().iter().skip(3);
                    stored.extend(arguments.map(|argument| self.root(Id(*argument))));
                    if let Some(callee) = self.functions.get(&i.id(2))
                        && seen.insert(i.id(2))
                    {
                        code.push(callee.code.clone());
                    }
                }
            }
        }
        stored
    }

    /// The variable or parameter that a pointer points into.
    fn root(&self, mut pointer: Id) -> Id {
        // In a valid module no pointer is derived from itself. In an invalid module the limit ends the
        // loop.
        for _ in 0..=self.instructions.len() {
            match self.bases.get(pointer) {
                Some(base) => pointer = base,
                None => break,
            }
        }
        pointer
    }
}

/// Whether an instruction is left out of the code that users of [`Source`] get, because it does not affect what the
/// code does.
fn is_left_out(i: Instruction<'_>, dropped: &FxHashSet<Id>) -> bool {
    i.is(Op::Line) || i.is(Op::NoLine) || is_of_sets(i, dropped)
}

/// The least number of operands that an instruction has in a valid module. A function with shorter instructions counts
/// as unsupported, so that the operands can be read without a test.
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

pub(crate) fn successors(terminator: Instruction<'_>) -> impl Iterator<Item = Id> {
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

/// Returns the operand of a phi for the parent block `from`; `None` if the phi does not name this block.
pub(crate) fn phi_value(phi: Instruction<'_>, from: Id) -> Option<Id> {
    let (pairs, _) = phi.operands().get(2..)?.as_chunks::<2>();
    pairs.iter().find(|[_, block]| *block == from.0).map(|[value, _]| Id(*value))
}
