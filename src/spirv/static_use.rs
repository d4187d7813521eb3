//! What an entry point uses of its module.
//!
//! [Static use](https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html#StaticallyUse): what the
//! functions that it calls refer to, whether they are ever run or not. A module may declare more: compilers
//! put the declarations of a whole header into every shader.

use spirv::Op;

use super::entry_point::{debug_info_sets, reachable_functions};
use super::id_set::IdSet;
use super::{Id, Module, Section, ids_of, result_of};

/// The functions that an entry point reaches, and the declarations that these refer to.
#[derive(Debug)]
pub struct StaticUse {
    ids: IdSet,
}

impl StaticUse {
    /// What the entry point of that function uses. Debug info uses nothing.
    pub fn of(module: &Module, function: Id) -> Self {
        let mut this = Self { ids: module.id_set() };
        let functions = reachable_functions(module, function);
        let debug_info = debug_info_sets(module);
        let mut is_reached = false;
        for i in module.section(Section::Functions) {
            if i.is(Op::Function) {
                is_reached = functions.contains(&i.id(1));
            }
            if is_reached && !(i.is(Op::ExtInst) && debug_info.contains(&i.id(2))) {
                this.insert_all(ids_of(i));
            }
        }
        for i in module.section(Section::ExecutionModes) {
            if i.is(Op::ExecutionModeId) && i.id(0) == function {
                this.insert_all(i.operands().iter().skip(2).map(|word| Id(*word)));
            }
        }
        this.close(module);
        this
    }

    /// Whether a function or a declaration is used.
    pub fn contains(&self, id: Id) -> bool {
        self.ids.contains(id)
    }

    /// Adds ids and what their declarations refer to.
    pub(super) fn add(&mut self, module: &Module, ids: impl IntoIterator<Item = Id>) {
        if self.insert_all(ids) {
            self.close(module);
        }
    }

    /// Adds what the declarations that are used refer to: types, constants, initialisers.
    fn close(&mut self, module: &Module) {
        let declarations = || module.section(Section::Declarations);
        let with_ids = || module.section(Section::Annotations).filter(|i| i.is(Op::DecorateId));
        // Otherwise what a declaration refers to stands before it.
        let repeats =
            declarations().any(|i| i.is(Op::TypeForwardPointer)) || with_ids().next().is_some();
        loop {
            let mut grows = false;
            for i in with_ids() {
                if self.contains(i.id(0)) {
                    grows |= self.insert_all(i.operands().iter().skip(2).map(|word| Id(*word)));
                }
            }
            for i in declarations().rev() {
                let is_used = match (i.op(), result_of(i).1) {
                    (Some(Op::ExtInst | Op::TypeForwardPointer), _) => false,
                    (_, Some(id)) => self.contains(id),
                    // What it declares is not known.
                    (_, None) => true,
                };
                if is_used {
                    grows |= self.insert_all(ids_of(i));
                }
            }
            if !(grows && repeats) {
                break;
            }
        }
    }

    /// Whether any of them was not there.
    fn insert_all(&mut self, ids: impl IntoIterator<Item = Id>) -> bool {
        ids.into_iter().fold(false, |grows, id| self.ids.insert(id) | grows)
    }
}
