//! Rewrites an entry point as one function without calls, without branches that are never taken, and
//! without variables whose values are known.
//!
//! Drivers do the same when they compile a pipeline, but it takes most of their compile time, because they first
//! process every function and branch of a general shader. Here a *walk* (`walk`) follows the code in the order of
//! execution, with the values of constants and variables that are known at each point. Functions that are never reached
//! are not parsed.
//!
//! Floating-point operations stay as they are, in the same order and with the same decorations, so
//! that results are identical to the bit. Control flow stays structured (`constructs`): a block is
//! written after all blocks that branch to it, except for the header of a loop. If one side of a selection is
//! empty, it is left out (`sides`).
//!
//! What cannot be rewritten in this way is kept: a function that has an unknown instruction, or that returns from
//! within a loop, is called as before; a variable with an index that is not known stays in memory; a module that would
//! grow beyond a limit is not changed at all.

mod constructs;
mod dead;
mod instructions;
mod joins;
mod limits;
mod loops;
mod memory;
mod select;
mod sides;
mod simplify;
pub(crate) mod source;
mod values;
mod walk;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;

use self::instructions::{Decorations, instructions};
use self::limits::{MAX_ATTEMPTS, MAX_GROWTH, Stop};
use self::source::Source;
use self::values::Values;
use self::walk::{Known, Walk, private_variables};
use crate::spirv::call_tree::reachable_from;
use crate::spirv::debug_info::is_of_sets;
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::entry_point::{EntryPoint, isolate, remove_annotations};
use crate::spirv::{Id, Instruction, Module, Section, read_string, result_of};

/// Rewrites an entry point, and removes everything that it does not need: other entry points,
/// functions, declarations, names. Specialisation constants must have been
/// [replaced](super::specialization::specialize). `selects` says whether elements of short arrays with unknown indices are
/// [selected](select). Returns false if the module is unchanged.
pub(crate) fn optimize(module: &mut Module, entry: &EntryPoint, selects: bool) -> bool {
    let optimized = try_optimize(module, entry, selects);
    let is_optimized = optimized.is_ok();
    if let Ok(optimized) = optimized {
        *module = optimized;
    }
    is_optimized
}

fn try_optimize(module: &Module, entry: &EntryPoint, selects: bool) -> Result<Module, Stop> {
    let mut entry = entry.clone();
    let set = |wanted: fn(&str) -> bool| {
        let is_wanted = move |i: &Instruction<'_>| {
            let name = i.operands().get(1..).and_then(read_string);
            name.is_some_and(|(name, _)| wanted(&name))
        };
        module
            .section(Section::Imports)
            .filter(is_wanted)
            .map(|i| i.id(0))
            .collect::<FxHashSet<Id>>()
    };
    let dropped = set(|name| name.contains("DebugInfo"));
    let glsl = set(|name| name == "GLSL.std.450").into_iter().min_by_key(|id| id.0);
    let source = Source::of(module, &dropped);
    let declarations = Declarations::without_annotations(module);
    let decorations = Decorations::of(module);
    let pointee = |ty| match declarations.ty(ty) {
        Some(Type::Pointer { pointee, .. }) => Some(*pointee),
        _ => None,
    };
    let private = private_variables(module, pointee);
    let variable_types: FxHashMap<Id, Id> = [Section::Declarations, Section::Functions]
        .into_iter()
        .flat_map(|section| module.section(section))
        .filter(|i| i.is(Op::Variable))
        .map(|i| (i.id(1), i.id(0)))
        .collect();
    let limit = source.len() * MAX_GROWTH.0 + MAX_GROWTH.1;

    let mut untracked: FxHashSet<Id> = FxHashSet::default();
    // Variables with arrays are not tracked if they are indexed with an index that is not constant. The walk might find
    // that the index has a known value, but trying that is not worth another attempt.
    let has_array = |variable: &Id| match variable_types.get(variable) {
        Some(ty) => pointee(*ty).is_some_and(|ty| has_array(&declarations, ty)),
        None => false,
    };
    untracked.extend(source.indexed().filter(has_array));
    let selects = selects && !source.stored_by_index().any(|variable| has_array(&variable));
    let mut refused: FxHashSet<Id> = FxHashSet::default();
    // Whether the entry point may have `OpReturn` within a construct. This is tried only if the code cannot
    // be rewritten without it, because some drivers turn such returns into variables and branches.
    let mut returns_early = false;
    for _ in 0..MAX_ATTEMPTS {
        let known = Known {
            source: &source,
            untracked: &untracked,
            refused: &refused,
            decorations: &decorations,
            glsl,
            selects,
            limit,
            returns_early,
        };
        // Every attempt begins with a fresh copy of the module, without the declarations of previous
        // attempts.
        let mut attempt = module.without(Section::Functions);
        let values = Values::new(&mut attempt, &declarations);
        match Written::of(known, values, &private, entry.function) {
            Ok(written) => {
                written.finish(&mut attempt, module, &mut entry, &dropped);
                return Ok(attempt);
            }
            Err(Stop::Untrack(variable)) => {
                tracing::debug!(%variable, name = name_of(module, variable), "in memory");
                untracked.insert(variable);
            }
            Err(Stop::Refuse(function)) if function != entry.function => {
                tracing::debug!(%function, name = name_of(module, function), "called");
                // If a function has unsupported code, all functions with unsupported code are called, and not inlined,
                // from the next attempt on.
                let others = source.get(function).is_none().then(|| source.not_understood());
                for function in others.into_iter().flatten().chain([function]) {
                    refused.insert(function);
                    // A called function may access all variables that it refers to, so these must
                    // stay in memory.
                    source.references(function, &mut untracked);
                }
            }
            Err(Stop::Refuse(_)) if !returns_early => returns_early = true,
            Err(stop) => return Err(stop),
        }
    }
    Err(Stop::GiveUp)
}

struct Written {
    /// The instructions from `OpLabel` to the last terminator.
    code: Vec<u32>,
    /// The decorations of ids in `code`.
    annotations: Vec<Vec<u32>>,
}

impl Written {
    fn of(
        known: Known<'_>,
        values: Values<'_>,
        private: &[(Id, Id, Option<Id>)],
        function: Id,
    ) -> Result<Self, Stop> {
        let glsl = known.glsl;
        let mut walk = Walk::new(known, values);
        walk.run(function, private)?;
        let Walk { values, variables, mut annotations, .. } = walk;
        let (code, live) = dead::remove(&values, &variables, glsl);
        annotations.retain(|words| live.contains(&Id(words[1])));
        Ok(Self { code: sides::leave_out_empty(&code), annotations })
    }

    /// Adds the function of the entry point to the module, and those functions of `source` that it calls. Removes
    /// everything that is no longer referred to.
    fn finish(
        self,
        module: &mut Module,
        source: &Module,
        entry: &mut EntryPoint,
        dropped: &FxHashSet<Id>,
    ) {
        let calls = instructions(&self.code).filter(|i| i.is(Op::FunctionCall));
        let called = reachable_from(source, calls.map(|i| i.id(2)).collect());
        let is_dropped = |i: Instruction<'_>| is_of_sets(i, dropped);
        let mut is_kept = false;
        let mut removed = source.id_set();
        let mut head: &[u32] = &[];
        for i in source.section(Section::Functions) {
            if i.is(Op::Function) && i.id(1) == entry.function {
                (head, is_kept) = (i.words(), false);
                continue;
            }
            if i.is(Op::Function) {
                is_kept = called.contains(&i.id(1));
            }
            if !is_kept {
                removed.extend(result_of(i).1);
            } else if !is_dropped(i) {
                module.push_encoded(Section::Functions, i.words());
            }
        }
        for section in [Section::Names, Section::Processes] {
            module.retain(section, |_| false);
        }
        module.retain(Section::Declarations, |i| !is_dropped(i));
        remove_annotations(module, &removed);
        module.push_encoded(Section::Functions, head);
        module.push_encoded(Section::Functions, &self.code);
        module.push(Section::Functions, Op::FunctionEnd, &[]);
        for words in &self.annotations {
            module.push_encoded(Section::Annotations, words);
        }
        isolate(module, entry);
    }
}

fn has_array(declarations: &Declarations, ty: Id) -> bool {
    let (mut seen, mut open) = (FxHashSet::from_iter([ty]), vec![ty]);
    while let Some(ty) = open.pop() {
        match declarations.ty(ty) {
            Some(Type::Array { .. }) => return true,
            Some(Type::Struct { members }) => {
                open.extend(members.iter().filter(|member| seen.insert(**member)));
            }
            _ => {}
        }
    }
    false
}

fn name_of(module: &Module, id: Id) -> Option<String> {
    let mut names = module.section(Section::Names).filter(|i| i.is(Op::Name));
    let name = names.find(|i| i.id(0) == id)?;
    name.operands().get(1..).and_then(read_string).map(|(name, _)| name)
}
