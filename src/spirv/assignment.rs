//! Definite assignment: finds out what a shader has written on every path before it is read.
//!
//! Each scalar of the tracked variables is a bit. A bit is set at a place if every path to that
//! place writes the scalar: a forward data flow analysis over the blocks of each function, with
//! intersection as its meet. Calls add the module's variables that the called function always
//! writes. Everything that is not understood (an index that is not constant, a pointer that is
//! selected or passed on) counts as not written. The analysis is therefore conservative: everything
//! that it reports as always written is always written.

mod bits;
mod scan;

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};

use self::bits::Bits;
use self::scan::{Components, Event, Function, Scan};
use super::declarations::Declarations;
use super::entry_point::{EntryPoint, reachable_functions};
use super::{Id, Instruction, Module, Section};

/// The most passes over the blocks of a function. The number needed is the nesting depth of its
/// loops plus two. If more are needed, nothing in the function counts as written.
const MAX_PASSES: usize = 24;

/// The most bits of all blocks of a function. If more are needed, nothing in the function counts as
/// written.
const MAX_BITS: usize = 1 << 28;

/// The most passes over all functions. The number needed is the nesting depth of calls if callers
/// come after what they call. If more are needed, writes of the deepest functions count as not
/// written.
const MAX_ROUNDS: usize = 8;

/// What may be used before it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Unassigned {
    /// Indices of the places that are not written on every path through the entry point, or are
    /// read before.
    pub(crate) places: Vec<usize>,
    /// `Function` and `Private` variables that may be read before they are written.
    pub(crate) variables: BTreeSet<Id>,
}

impl Unassigned {
    /// Finds out what an entry point may leave undefined: of `places`, which are output variables
    /// and constant indices into them, and of all variables of functions and `Private` variables.
    pub(crate) fn of(
        module: &Module,
        declarations: &Declarations,
        entry: &EntryPoint,
        places: &[(Id, &[u32])],
    ) -> Self {
        let initialized: FxHashSet<Id> = module
            .section(Section::Declarations)
            .filter(|i| is_initialized(*i))
            .map(|i| i.id(1))
            .collect();
        let mut globals = Components::new(declarations);
        let outputs: FxHashSet<Id> = places.iter().map(|(variable, _)| *variable).collect();
        let private = declarations.variables(StorageClass::Private).map(|v| v.id);
        let private = private.filter(|variable| !initialized.contains(variable));
        let of_module: Vec<Id> = outputs.iter().copied().chain(private).collect();
        for variable in &of_module {
            let ty = declarations.variable(*variable).map(|v| v.pointee);
            globals.add(*variable, ty.unwrap_or(Id(0)));
        }

        let reachable = reachable_functions(module, entry.function);
        let functions = Scan { module, declarations, globals: &globals, variables: &of_module }
            .functions(&reachable);
        let summaries = summaries(&functions, globals.count());

        let mut this = Self::default();
        // Ranges of components that are read too early, or that the entry point does not write.
        let mut missing = Vec::new();
        for function in &functions {
            let is_entry = function.id == entry.function;
            let mut at_entry = Bits::none(function.components);
            for variable in
                initialized.iter().filter(|variable| is_entry && outputs.contains(variable))
            {
                globals.of(*variable).into_iter().for_each(|range| at_entry.insert(range));
            }
            let Some(before) = function.solve(&at_entry, &summaries) else {
                missing.extend(is_entry.then(|| 0..globals.count()));
                this.variables.extend(&function.locals);
                continue;
            };
            for (block, mut state) in function.blocks.iter().zip(before) {
                for event in &block.events {
                    if let Event::Read { variable, components } = event
                        && !state.contains(components.clone())
                    {
                        if !outputs.contains(variable) {
                            this.variables.insert(*variable);
                        } else if is_entry {
                            // In other functions it is not known what their callers wrote.
                            missing.push(components.clone());
                        }
                    }
                    event.apply(&mut state, &summaries);
                }
                if is_entry && block.returns {
                    missing.extend(state.gaps(0..globals.count()));
                }
            }
        }
        let is_missing = |(variable, path): &(Id, &[u32])| {
            let range = globals.range(*variable, path);
            range.is_none_or(|range| {
                missing.iter().any(|m| m.start < range.end && range.start < m.end)
            })
        };
        this.places = (0..places.len()).filter(|index| is_missing(&places[*index])).collect();
        this
    }
}

/// Whether an instruction is a variable with an initializer.
fn is_initialized(i: Instruction<'_>) -> bool {
    i.is(Op::Variable) && i.operands().len() > 3
}

/// The module's variables that each function always writes.
fn summaries(functions: &[Function<'_>], globals: usize) -> FxHashMap<Id, Bits> {
    let mut summaries: FxHashMap<Id, Bits> =
        functions.iter().map(|f| (f.id, Bits::none(globals))).collect();
    for _ in 0..MAX_ROUNDS {
        let mut is_changed = false;
        // Compilers put callers first.
        for function in functions.iter().rev() {
            let at_entry = Bits::none(function.components);
            let Some(before) = function.solve(&at_entry, &summaries) else { continue };
            let mut written = Bits::all(globals);
            for (block, mut state) in function.blocks.iter().zip(before) {
                if block.returns {
                    block.events.iter().for_each(|event| event.apply(&mut state, &summaries));
                    written.intersect(&state);
                }
            }
            is_changed |= summaries.get(&function.id) != Some(&written);
            summaries.insert(function.id, written);
        }
        if !is_changed {
            break;
        }
    }
    summaries
}

impl Function<'_> {
    /// What is written before each block, or `None` if the analysis takes too long.
    fn solve(&self, at_entry: &Bits, summaries: &FxHashMap<Id, Bits>) -> Option<Vec<Bits>> {
        if self.blocks.len().saturating_mul(self.components) > MAX_BITS {
            return None;
        }
        let written: Vec<Bits> = self
            .blocks
            .iter()
            .map(|block| {
                let mut written = Bits::none(self.components);
                block.events.iter().for_each(|event| event.apply(&mut written, summaries));
                written
            })
            .collect();
        // Starts with everything, until a path is found that does not write it. Unreachable blocks
        // keep everything.
        let mut before = vec![Bits::all(self.components); self.blocks.len()];
        before.first_mut()?.clone_from(at_entry);
        for _ in 0..MAX_PASSES {
            let mut is_changed = false;
            for (index, block) in self.blocks.iter().enumerate() {
                let mut after = before[index].clone();
                after.unite(&written[index]);
                for successor in &block.successors {
                    // Nothing may branch to a function's first block.
                    is_changed |= *successor > 0 && before[*successor].intersect(&after);
                }
            }
            if !is_changed {
                return Some(before);
            }
        }
        None
    }
}

impl Event {
    /// Adds what the event writes.
    fn apply(&self, state: &mut Bits, summaries: &FxHashMap<Id, Bits>) {
        match self {
            Self::Write(components) => state.insert(components.clone()),
            Self::Call(function) => {
                summaries.get(function).into_iter().for_each(|s| state.unite(s))
            }
            Self::Read { .. } => {}
        }
    }
}
