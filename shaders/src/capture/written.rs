//! Determines which outputs an entry point writes, by static analysis.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;
use spirv::{Op, StorageClass};

use crate::capture::CapturedOutput;
use crate::spirv::call_tree::reachable_functions;
use crate::spirv::debug_info::{debug_info_sets, is_of_sets};
use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::pointers::Pointers;
use crate::spirv::{Id, Instruction, Module, Section, ids_of};

/// An output variable, and the path of constant indices from it to a member, an element, a column or a component.
type OutputPath = (Id, Vec<u32>);

/// The outputs that an entry point may write.
pub struct Written {
    /// The variables, and the parts of variables, that some instruction may write as a whole.
    places: BTreeSet<OutputPath>,
}

impl Written {
    /// Follows pointers to outputs through the entry point's function and the functions that it calls. A store with an
    /// index that is not constant counts as a store to all elements. Any use of a pointer counts as a store, except
    /// access chains, reads and debug information. So passing the pointer to a function counts as a store, too. A
    /// variable with an initializer counts as written.
    pub fn of(module: &Module, declarations: &Declarations, entry: &EntryPoint) -> Self {
        let outputs = || declarations.variables(StorageClass::Output);
        let initialized = module
            .section(Section::Declarations)
            .filter(|i| i.is(Op::Variable) && i.operands().len() > 3)
            .map(|i| (i.id(1), vec![]))
            .filter(|(id, _)| outputs().any(|variable| variable.id == *id));
        let mut scan = Scan {
            pointers: Pointers::to(declarations, outputs().map(|variable| variable.id)),
            debug_info: debug_info_sets(module),
            places: initialized.collect(),
        };
        let reachable = reachable_functions(module, entry.function);
        let mut is_reached = false;
        for i in module.section(Section::Functions) {
            if i.is(Op::Function) {
                is_reached = reachable.contains(&i.id(1));
            }
            if is_reached {
                scan.read(i);
            }
        }
        Self { places: scan.places }
    }

    /// Whether a scalar, vector or column, or a part of it, may be written.
    pub fn covers(&self, output: &CapturedOutput) -> bool {
        let (variable, path) = (output.variable, &output.path);
        let is_written = |path: &[u32]| self.places.contains(&(variable, path.to_vec()));
        // In sorted order, a path comes directly before the longer paths that begin with it.
        let mut from = self.places.range((variable, path.clone())..);
        let is_within = |(of, part): &OutputPath| *of == variable && part.starts_with(path);
        (0..path.len()).any(|length| is_written(&path[..length]))
            || from.next().is_some_and(is_within)
    }
}

struct Scan<'a> {
    pointers: Pointers<'a>,
    debug_info: FxHashSet<Id>,
    places: BTreeSet<OutputPath>,
}

impl Scan<'_> {
    fn read(&mut self, i: Instruction<'_>) {
        if self.pointers.follow(i) {
            return;
        }
        match i.op() {
            Some(Op::Load) => {}
            _ if is_of_sets(i, &self.debug_info) => {}
            Some(Op::Store | Op::CopyMemory) => self.write(i.id(0)),
            _ => ids_of(i).into_iter().for_each(|id| self.write(id)),
        }
    }

    fn write(&mut self, pointer: Id) {
        let pointer = self.pointers.get(pointer);
        self.places.extend(pointer.map(|pointer| (pointer.variable, pointer.path.clone())));
    }
}
