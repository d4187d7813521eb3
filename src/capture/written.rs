//! Which outputs an entry point writes, as far as its code tells without being run.

use std::collections::{BTreeSet, HashMap};

use spirv::{Op, StorageClass};

use super::Output;
use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::{EntryPoint, debug_info_sets, reachable_functions};
use crate::spirv::{Id, Instruction, Module, Section, visit_ids};

/// A variable and constant indices into it.
type Place = (Id, Vec<u32>);

/// What an entry point may write of its outputs.
pub(super) struct Written {
    /// Of what is behind these, everything.
    places: BTreeSet<Place>,
}

impl Written {
    /// Follows the pointers to outputs through the entry point's function and those that it calls. An index
    /// that is no constant stands for any, and a pointer that is passed on is written through.
    pub(super) fn of(module: &Module, declarations: &Declarations, entry: &EntryPoint) -> Self {
        let outputs = || declarations.variables(StorageClass::Output);
        let initialized = module
            .section(Section::Declarations)
            .filter(|i| i.is(Op::Variable) && i.operands().len() > 3)
            .map(|i| (i.id(1), vec![]))
            .filter(|(id, _)| outputs().any(|variable| variable.id == *id));
        let mut scan = Scan {
            declarations,
            pointers: outputs().map(|v| (v.id, Pointer::to(v.id))).collect(),
            debug_info: debug_info_sets(module).into_iter().collect(),
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

    /// Whether a scalar, vector or column is written, or a part of it.
    pub(super) fn covers(&self, output: &Output) -> bool {
        let (variable, path) = (output.variable, &output.path);
        let is_written = |path: &[u32]| self.places.contains(&(variable, path.to_vec()));
        // What begins with the path comes next to it.
        let mut from = self.places.range((variable, path.clone())..);
        let is_within = |(of, part): &Place| *of == variable && part.starts_with(path);
        (0..path.len()).any(|length| is_written(&path[..length]))
            || from.next().is_some_and(is_within)
    }
}

/// A pointer to an output, or into it.
#[derive(Debug, Clone)]
struct Pointer {
    place: Place,
    /// Whether an index followed that is no constant; what comes behind it says nothing more.
    any: bool,
}

impl Pointer {
    fn to(variable: Id) -> Self {
        Self { place: (variable, vec![]), any: false }
    }
}

struct Scan<'a> {
    declarations: &'a Declarations,
    pointers: HashMap<Id, Pointer>,
    debug_info: BTreeSet<Id>,
    places: BTreeSet<Place>,
}

impl Scan<'_> {
    fn read(&mut self, i: Instruction<'_>) {
        match i.op() {
            Some(Op::Load) => {}
            Some(Op::ExtInst) if self.debug_info.contains(&i.id(2)) => {}
            Some(Op::Store | Op::CopyMemory) => self.write(i.id(0)),
            Some(Op::CopyObject) => {
                if let Some(pointer) = self.pointers.get(&i.id(2)).cloned() {
                    self.pointers.insert(i.id(1), pointer);
                }
            }
            Some(Op::AccessChain | Op::InBoundsAccessChain) => self.access_chain(i),
            _ => {
                let mut words = i.words().to_vec();
                let mut ids = Vec::new();
                if !visit_ids(&mut words, |id| ids.push(Id(*id))) {
                    ids = i.operands().iter().map(|word| Id(*word)).collect();
                }
                ids.into_iter().for_each(|id| self.write(id));
            }
        }
    }

    fn write(&mut self, pointer: Id) {
        self.places.extend(self.pointers.get(&pointer).map(|pointer| pointer.place.clone()));
    }

    fn access_chain(&mut self, i: Instruction<'_>) {
        let Some(mut pointer) = self.pointers.get(&i.id(2)).cloned() else { return };
        for index in i.operands().iter().skip(3) {
            match self.declarations.constant(Id(*index)) {
                Some(index) if !pointer.any => pointer.place.1.push(index),
                _ => pointer.any = true,
            }
        }
        self.pointers.insert(i.id(1), pointer);
    }
}
