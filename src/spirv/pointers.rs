//! Pointers into variables, followed through the instructions that derive one from another.

use std::collections::HashMap;

use spirv::Op;

use super::declarations::Declarations;
use super::{Id, Instruction};

/// A pointer to a variable, or into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pointer {
    pub(crate) variable: Id,
    /// Constant indices into the variable.
    pub(crate) path: Vec<u32>,
    /// Whether an index followed that is no constant: then the pointer is to some part of what is at `path`.
    pub(crate) is_dynamic: bool,
}

/// What is known of the pointers of a function.
#[derive(Debug)]
pub(crate) struct Pointers<'a> {
    declarations: &'a Declarations,
    known: HashMap<Id, Pointer>,
}

impl<'a> Pointers<'a> {
    /// Pointers to variables, and nothing derived of them yet.
    pub(crate) fn to(
        declarations: &'a Declarations,
        variables: impl IntoIterator<Item = Id>,
    ) -> Self {
        let mut this = Self { declarations, known: HashMap::new() };
        variables.into_iter().for_each(|variable| this.add(variable));
        this
    }

    /// One more variable.
    pub(crate) fn add(&mut self, variable: Id) {
        self.known.insert(variable, Pointer { variable, path: Vec::new(), is_dynamic: false });
    }

    /// Whether an instruction does no more than to derive a pointer from another, which is followed.
    pub(crate) fn follow(&mut self, i: Instruction<'_>) -> bool {
        let is_chain = match i.op() {
            Some(Op::CopyObject) => false,
            Some(Op::AccessChain | Op::InBoundsAccessChain) => true,
            _ => return false,
        };
        let Some(mut pointer) = self.known.get(&i.id(2)).cloned() else { return is_chain };
        for index in i.operands().iter().skip(3) {
            match self.declarations.constant(Id(*index)) {
                Some(index) if !pointer.is_dynamic => pointer.path.push(index),
                _ => pointer.is_dynamic = true,
            }
        }
        self.known.insert(i.id(1), pointer);
        true
    }

    /// Where a pointer leads, if it is a known one.
    pub(crate) fn get(&self, pointer: Id) -> Option<&Pointer> {
        self.known.get(&pointer)
    }
}
