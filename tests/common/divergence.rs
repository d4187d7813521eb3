//! Finds barriers at which the invocations of a workgroup may arrive one after the other.
//!
//! Mesa's compiler for Mali before v9 (25.0) makes invocations that took different branches wait
//! for each other only at the end of a block whose successor has several predecessors. The merge
//! block of a loop with a single exit has one predecessor. If invocations leave such a loop in
//! different iterations, and a barrier follows before branches join again, each of them arrives
//! alone at the barrier.

use std::collections::{HashMap, HashSet};

use vkxfb_rewriter::spirv::headers::{BuiltIn, Decoration, Op, StorageClass};
use vkxfb_rewriter::spirv::{Id, Instruction, Module, Section};

/// A block: its label, and the instructions after the label.
type Block<'a> = (Id, Vec<Instruction<'a>>);

/// Returns the loops, by the label of their header, that invocations may leave at different times,
/// and after which a barrier comes before branches join.
pub fn barriers_behind_divergent_exits(words: &[u32]) -> Vec<Id> {
    let module = Module::parse(words).unwrap();
    let divergent = divergent(&module);
    let blocks = blocks(&module);
    let by_label: HashMap<Id, &Block<'_>> = blocks.iter().map(|block| (block.0, block)).collect();
    let mut predecessors: HashMap<Id, Vec<Id>> = HashMap::new();
    for (label, code) in &blocks {
        for successor in successors(code) {
            predecessors.entry(successor).or_default().push(*label);
        }
    }
    let joins = |label: Id| predecessors.get(&label).is_some_and(|found| found.len() > 1);
    let only_one = |label: Id| match predecessors.get(&label).map(Vec::as_slice) {
        Some([one]) => Some(*one),
        _ => None,
    };
    let leaves_divergently = |merge: Id| {
        // An unconditional branch may stand between the condition and the exit.
        let mut at = only_one(merge);
        while let Some(label) = at {
            let last = by_label[&label].1.last().unwrap();
            if last.is(Op::BranchConditional) {
                return divergent.contains(&last.id(0));
            }
            at = only_one(label);
        }
        false
    };
    let comes_to_a_barrier = |merge: Id| {
        let (mut reached, mut rest) = (HashSet::new(), vec![merge]);
        while let Some(label) = rest.pop() {
            if joins(label) || !reached.insert(label) {
                continue;
            }
            let code = &by_label[&label].1;
            if code.iter().any(|i| i.is(Op::ControlBarrier)) {
                return true;
            }
            rest.extend(successors(code));
        }
        false
    };
    let loops = blocks.iter().filter_map(|(label, code)| {
        let merge = code.iter().find(|i| i.is(Op::LoopMerge))?;
        Some((*label, merge.id(0)))
    });
    let found = loops.filter(|(_, merge)| leaves_divergently(*merge) && comes_to_a_barrier(*merge));
    found.map(|(header, _)| header).collect()
}

fn blocks(module: &Module) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for i in module.section(Section::Functions) {
        match (i.op(), blocks.last_mut()) {
            (Some(Op::Label), _) => blocks.push((i.id(0), Vec::new())),
            (Some(Op::Function | Op::FunctionParameter | Op::FunctionEnd), _) | (_, None) => {}
            (_, Some((_, code))) => code.push(i),
        }
    }
    blocks
}

fn successors(code: &[Instruction<'_>]) -> Vec<Id> {
    let last = code.last().unwrap();
    match last.op() {
        Some(Op::Branch) => vec![last.id(0)],
        Some(Op::BranchConditional) => vec![last.id(1), last.id(2)],
        // The literals of the switch have 32 bits.
        Some(Op::Switch) => {
            let cases = last.operands()[2..].chunks_exact(2).map(|case| Id(case[1]));
            [last.id(1)].into_iter().chain(cases).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the ids whose values may differ between the invocations of a workgroup.
fn divergent(module: &Module) -> HashSet<Id> {
    let numbers = [
        BuiltIn::LocalInvocationIndex,
        BuiltIn::LocalInvocationId,
        BuiltIn::GlobalInvocationId,
        BuiltIn::SubgroupLocalInvocationId,
    ];
    let mut found: HashSet<Id> = module
        .section(Section::Annotations)
        .filter(|i| i.is(Op::Decorate) && i.operand(1) == Decoration::BuiltIn as u32)
        .filter(|i| numbers.iter().any(|number| *number as u32 == i.operand(2)))
        .map(|i| i.id(0))
        .collect();
    let own = [StorageClass::Private, StorageClass::Function];
    let is_own = |i: &Instruction<'_>| own.iter().any(|own| *own as u32 == i.operand(2));
    let variables: HashSet<Id> = module
        .section(Section::Declarations)
        .chain(module.section(Section::Functions))
        .filter(|i| i.is(Op::Variable) && is_own(i))
        .map(|i| i.id(1))
        .collect();
    // For each pointer, the variable that it points into.
    let mut bases: HashMap<Id, Id> = variables.iter().map(|id| (*id, *id)).collect();
    loop {
        let before = found.len();
        let mut phis_of: HashSet<Id> = HashSet::new();
        let (mut merge, mut label) = (None, Id(0));
        for i in module.section(Section::Functions) {
            match i.op() {
                Some(Op::Label) => label = i.id(0),
                Some(Op::SelectionMerge) => merge = Some(i.id(0)),
                Some(Op::BranchConditional | Op::Switch) => {
                    if let Some(merge) = merge.take()
                        && found.contains(&i.id(0))
                    {
                        phis_of.insert(merge);
                    }
                }
                Some(Op::FunctionParameter) => _ = found.insert(i.id(1)),
                Some(Op::Store) => {
                    if found.contains(&i.id(1))
                        && let Some(base) = bases.get(&i.id(0))
                    {
                        found.insert(*base);
                    }
                }
                Some(op) => {
                    let (Some(_), Some(result)) = vkxfb_rewriter::spirv::result_of(i) else {
                        continue;
                    };
                    if op == Op::AccessChain
                        && let Some(base) = bases.get(&i.id(2)).copied()
                    {
                        bases.insert(result, base);
                    }
                    let is_atomic = format!("{op:?}").starts_with("Atomic");
                    let ids = match op {
                        Op::CompositeExtract => 2..3,
                        Op::CompositeInsert | Op::VectorShuffle => 2..4,
                        Op::ExtInst => 4..i.operands().len(),
                        Op::Load => 2..3,
                        _ => 2..i.operands().len(),
                    };
                    let uses = i.operands()[ids].iter().any(|word| found.contains(&Id(*word)));
                    let reads = op == Op::Load
                        && bases.get(&i.id(2)).is_some_and(|base| found.contains(base));
                    if is_atomic || uses || reads || (op == Op::Phi && phis_of.contains(&label)) {
                        found.insert(result);
                    }
                }
                None => {}
            }
        }
        if found.len() == before {
            return found;
        }
    }
}
