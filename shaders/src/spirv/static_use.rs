//! The functions and declarations that an entry point uses.
//!
//! An entry point [statically
//! uses](https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html#StaticallyUse) everything
//! that the functions in its call tree refer to, whether they are executed or not. A module may
//! declare more: compilers add the declarations of a whole header to every shader.

use spirv::Op;

use crate::spirv::call_tree::reachable_functions;
use crate::spirv::debug_info::{debug_info_sets, is_of_sets};
use crate::spirv::id_set::IdSet;
use crate::spirv::{Id, Instruction, Module, Section, result_of, visit_ids};

/// The functions in an entry point's call tree, and the declarations that they refer to.
#[derive(Debug)]
pub struct StaticUse {
    ids: IdSet,
}

impl StaticUse {
    /// Finds the functions and declarations that the entry point with the function `function` uses.
    /// References in debug info do not count.
    pub fn of(module: &Module, function: Id) -> Self {
        let mut this = Self { ids: module.id_set() };
        let functions = reachable_functions(module, function);
        let debug_info = debug_info_sets(module);
        let mut is_reached = false;
        for i in module.section(Section::Functions) {
            if i.is(Op::Function) {
                is_reached = functions.contains(&i.id(1));
            }
            if is_reached && !is_of_sets(i, &debug_info) {
                this.insert_ids_of(i);
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

    /// Adds the functions and declarations that another entry point of the module uses.
    pub(crate) fn unite(&mut self, other: Self) {
        self.ids.unite(other.ids);
    }

    /// Adds ids, and everything that their declarations refer to.
    pub(super) fn add(&mut self, module: &Module, ids: impl IntoIterator<Item = Id>) {
        if self.insert_all(ids) {
            self.close(module);
        }
    }

    /// Adds the types, constants and other declarations to which used declarations refer.
    fn close(&mut self, module: &Module) {
        let declarations = || module.section(Section::Declarations);
        // The number of operands before the first parameter of a decoration: the target, the number of the
        // member if there is one, and the decoration.
        let parameters = |i: Instruction<'_>| match i.op() {
            Some(Op::DecorateId) => Some(2),
            Some(Op::MemberDecorateIdEXT) => Some(3),
            _ => None,
        };
        let with_ids = || {
            let annotations = module.section(Section::Annotations);
            annotations.filter_map(|i| Some((i, parameters(i)?)))
        };
        // Usually all declarations precede their uses. One pass, from the last declaration to the
        // first, is enough then.
        let repeats =
            declarations().any(|i| i.is(Op::TypeForwardPointer)) || with_ids().next().is_some();
        loop {
            let mut grows = false;
            for (i, first) in with_ids() {
                if self.contains(i.id(0)) {
                    grows |= self.insert_all(i.operands().iter().skip(first).map(|word| Id(*word)));
                }
            }
            for i in declarations().rev() {
                let is_used = match (i.op(), result_of(i).1) {
                    (
                        Some(Op::ExtInst | Op::ExtInstWithForwardRefsKHR | Op::TypeForwardPointer),
                        _,
                    ) => false,
                    (_, Some(id)) => self.contains(id),
                    // An unknown instruction may declare something, so it counts as used.
                    (_, None) => true,
                };
                if is_used {
                    grows |= self.insert_ids_of(i);
                }
            }
            if !(grows && repeats) {
                break;
            }
        }
    }

    /// Adds the operands that are ids, or all operands if the grammar does not tell which operands are ids. Returns
    /// whether any id is new.
    fn insert_ids_of(&mut self, i: Instruction<'_>) -> bool {
        let mut grows = false;
        let known = visit_ids(i, |index| grows |= self.ids.insert(i.id(index)));
        (!known && self.insert_all(i.operands().iter().map(|word| Id(*word)))) | grows
    }

    /// Adds ids. Returns whether any id is new.
    fn insert_all(&mut self, ids: impl IntoIterator<Item = Id>) -> bool {
        ids.into_iter().fold(false, |grows, id| self.ids.insert(id) | grows)
    }
}
