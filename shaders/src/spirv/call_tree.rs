//! Finds the functions that a function calls.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;

use crate::spirv::{Id, Module, Section};

/// Returns the ids of a function and of all functions that it calls, directly or indirectly.
pub(crate) fn reachable_functions(module: &Module, root: Id) -> FxHashSet<Id> {
    reachable_from(module, FxHashSet::from_iter([root]))
}

/// Returns the ids of functions and of all functions that these call, directly or indirectly.
pub(super) fn reachable_from(module: &Module, roots: FxHashSet<Id>) -> FxHashSet<Id> {
    if roots.is_empty() {
        return roots;
    }
    let mut calls: FxHashMap<Id, Vec<Id>> = FxHashMap::default();
    let mut function = Id(0);
    for i in module.section(Section::Functions) {
        if i.is(Op::Function) {
            function = i.id(1);
        } else if i.is(Op::FunctionCall) {
            calls.entry(function).or_default().push(i.id(2));
        }
    }
    let mut open: Vec<Id> = roots.iter().copied().collect();
    let mut reachable = roots;
    while let Some(function) = open.pop() {
        for callee in calls.get(&function).into_iter().flatten() {
            if reachable.insert(*callee) {
                open.push(*callee);
            }
        }
    }
    reachable
}
