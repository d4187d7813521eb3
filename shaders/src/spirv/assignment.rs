//! Definite assignment: finds out which variables a shader has written on every path before they are
//! read.
//!
//! Each scalar of the tracked variables is a bit, a *component*. A bit is set at a point of the code if every path to
//! that point writes the scalar. This is a forward data flow analysis over the blocks of each function, with
//! intersection as its meet. A call adds the module-scope variables that the called function always writes, and reads
//! the outputs that the function may read before it writes them. Outputs are read where the entry point returns, or
//! where a geometry shader emits a vertex. Unsupported code (an index that is not constant, a pointer that is selected
//! or passed on) counts as not writing. The analysis is therefore conservative: everything that it reports as always
//! written is always written.

mod bits;
mod scan;

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{ExecutionModel, Op, StorageClass};

use self::bits::Bits;
use self::scan::{Components, Event, Function, Scan};
use crate::spirv::call_tree::reachable_functions;
use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::{Id, Instruction, Module, Section};

/// The largest number of passes over the blocks of a function. The number needed is the nesting depth
/// of its loops plus two. If more are needed, nothing in the function counts as written.
const MAX_PASSES: usize = 24;

/// The largest number of bits that the analysis of a function takes: one for each tracked scalar in each block. If
/// more are needed, nothing in the function counts as written.
const MAX_BITS: usize = 1 << 28;

/// The largest number of passes over all functions. The number needed is the nesting depth of calls, if callers come
/// after the functions that they call. If more are needed, writes in the most deeply nested calls count as not made.
const MAX_ROUNDS: usize = 8;

/// The values that may be used before they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Unassigned {
    /// Indices into the parameter `places` of [`of`](Self::of). On some path through the entry point, these outputs or
    /// parts of outputs are read before they are written, or are not written when the entry point returns (in a
    /// geometry shader: when it emits a vertex).
    pub(crate) places: Vec<usize>,
    /// `Function` and `Private` variables that may be read before they are written.
    pub(crate) variables: BTreeSet<Id>,
}

impl Unassigned {
    /// Finds out which values an entry point may leave undefined, among `places`, all variables of functions, and
    /// `Private` variables. Each of `places` is an output variable, or the part of it that constant indices select.
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

        let mut of_outputs = Bits::none(globals.count());
        let mut at_start = Bits::none(globals.count());
        for variable in &outputs {
            let Some(range) = globals.of(*variable) else { continue };
            of_outputs.insert(range.clone());
            if initialized.contains(variable) {
                at_start.insert(range);
            }
        }
        let exposed = exposed(&functions, globals.count(), &of_outputs, &summaries);

        let mut this = Self::default();
        // The scalars of outputs that may be read before they are written, or that the entry point may leave
        // unwritten.
        let mut missing = Bits::none(globals.count());
        if let Some(exposed) = exposed.get(&entry.function) {
            missing.unite_without(exposed, &at_start);
        }
        for function in &functions {
            let is_entry = function.id == entry.function;
            let mut at_entry = Bits::none(function.components);
            if is_entry {
                at_entry.unite(&at_start);
            }
            let Some(before) = function.solve(&at_entry, &summaries) else {
                if is_entry {
                    missing.unite(&of_outputs);
                }
                this.variables.extend(&function.locals);
                continue;
            };
            for (block, mut state) in function.blocks.iter().zip(before) {
                for event in &block.events {
                    if let Event::Read { variable, components } = event
                        && !state.contains(components.clone())
                        && !outputs.contains(variable)
                    {
                        this.variables.insert(*variable);
                    }
                    event.apply(&mut state, &summaries);
                }
                // The outputs of a geometry shader are captured when it emits a vertex, not when it returns.
                if is_entry && block.returns && entry.model != ExecutionModel::Geometry {
                    missing.unite_without(&of_outputs, &state);
                }
            }
        }
        let is_missing = |(variable, path): &(Id, &[u32])| {
            globals.range(*variable, path).is_none_or(|range| missing.intersects(range))
        };
        this.places = (0..places.len()).filter(|index| is_missing(&places[*index])).collect();
        this
    }
}

fn is_initialized(i: Instruction<'_>) -> bool {
    i.is(Op::Variable) && i.operands().len() > 3
}

/// For each function, the components (numbered scalars) of module-scope variables that it always writes.
fn summaries(functions: &[Function<'_>], globals: usize) -> FxHashMap<Id, Bits> {
    let mut summaries: FxHashMap<Id, Bits> =
        functions.iter().map(|f| (f.id, Bits::none(globals))).collect();
    for _ in 0..MAX_ROUNDS {
        let mut is_changed = false;
        // Compilers put callers before the functions that they call, so the reverse order visits
        // called functions first.
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

/// For each function, the components (numbered scalars) of outputs that it may read before it writes them, in its own
/// code or in functions that it calls.
fn exposed(
    functions: &[Function<'_>],
    globals: usize,
    outputs: &Bits,
    summaries: &FxHashMap<Id, Bits>,
) -> FxHashMap<Id, Bits> {
    // Most shaders read no output. For the functions of other shaders, the analysis starts with all outputs,
    // and removes those that are not read. If it stops early, the result contains too many outputs.
    let mut callers: FxHashMap<Id, Vec<Id>> = FxHashMap::default();
    let mut open = Vec::new();
    for function in functions {
        for event in function.blocks.iter().flat_map(|block| &block.events) {
            match event {
                Event::Call(callee) => callers.entry(*callee).or_default().push(function.id),
                Event::Emit => open.push(function.id),
                Event::Read { components, .. } if outputs.intersects(components.clone()) => {
                    open.push(function.id);
                }
                Event::Read { .. } | Event::Write(_) => {}
            }
        }
    }
    let mut exposed: FxHashMap<Id, Bits> = FxHashMap::default();
    while let Some(function) = open.pop() {
        if exposed.insert(function, outputs.clone()).is_none() {
            open.extend(callers.get(&function).into_iter().flatten());
        }
    }
    for _ in 0..MAX_ROUNDS {
        let mut is_changed = false;
        for function in functions.iter().rev() {
            if !exposed.contains_key(&function.id) {
                continue;
            }
            let at_entry = Bits::none(function.components);
            let Some(before) = function.solve(&at_entry, summaries) else { continue };
            let mut read = Bits::none(globals);
            for (block, mut state) in function.blocks.iter().zip(before) {
                for event in &block.events {
                    match event {
                        Event::Emit => read.unite_without(outputs, &state),
                        Event::Call(callee) => {
                            if let Some(exposed) = exposed.get(callee) {
                                read.unite_without(exposed, &state);
                            }
                        }
                        Event::Read { components, .. }
                            if outputs.intersects(components.clone()) =>
                        {
                            let mut all = Bits::none(globals);
                            all.insert(components.clone());
                            read.unite_without(&all, &state);
                        }
                        Event::Read { .. } | Event::Write(_) => {}
                    }
                    event.apply(&mut state, summaries);
                }
            }
            is_changed |= exposed.get(&function.id) != Some(&read);
            exposed.insert(function.id, read);
        }
        if !is_changed {
            break;
        }
    }
    exposed
}

impl Function<'_> {
    /// For each block, the components (numbered scalars) that are written on every path to the block. `None` if the
    /// analysis takes too long.
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
        // All components (numbered scalars) begin as written, and the passes remove those that some path does not
        // write. Unreachable blocks keep all components.
        let mut before = vec![Bits::all(self.components); self.blocks.len()];
        before.first_mut()?.clone_from(at_entry);
        for _ in 0..MAX_PASSES {
            let mut is_changed = false;
            for (index, block) in self.blocks.iter().enumerate() {
                let mut after = before[index].clone();
                after.unite(&written[index]);
                for successor in &block.successors {
                    // Valid code does not branch to the first block of a function.
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
    /// Adds to `state` the components (numbered scalars) that this event always writes. Only the events `Write` and
    /// `Call` write components.
    fn apply(&self, state: &mut Bits, summaries: &FxHashMap<Id, Bits>) {
        match self {
            Self::Write(components) => state.insert(components.clone()),
            Self::Call(function) => {
                summaries.get(function).into_iter().for_each(|s| state.unite(s))
            }
            Self::Read { .. } | Self::Emit => {}
        }
    }
}
