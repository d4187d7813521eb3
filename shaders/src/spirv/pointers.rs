//! Tracks pointers into variables, through the instructions that derive pointers.

use rustc_hash::FxHashMap;
use spirv::Op;

use super::declarations::Declarations;
use super::{Id, Instruction};

/// A pointer to a variable, or to a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pointer {
    pub(crate) variable: Id,
    /// The constant indices that lead from the variable to the part.
    pub(crate) path: Vec<u32>,
    /// Whether the pointer was derived with a further index after `path` that is not constant. In this case
    /// it points to some part of the value at `path`.
    pub(crate) is_dynamic: bool,
}

/// The known pointers of a function.
#[derive(Debug)]
pub(crate) struct Pointers<'a> {
    declarations: &'a Declarations,
    known: FxHashMap<Id, Pointer>,
}

impl<'a> Pointers<'a> {
    /// Returns the pointers that are known before any instruction: the variables, which are pointers to their whole
    /// values.
    pub(crate) fn to(
        declarations: &'a Declarations,
        variables: impl IntoIterator<Item = Id>,
    ) -> Self {
        let mut this = Self { declarations, known: FxHashMap::default() };
        variables.into_iter().for_each(|variable| this.add(variable));
        this
    }

    pub(crate) fn add(&mut self, variable: Id) {
        self.known.insert(variable, Pointer { variable, path: Vec::new(), is_dynamic: false });
    }

    /// If an instruction derives a pointer from a known pointer, adds the new pointer. Returns whether the
    /// instruction is an access chain, or a copy of a known pointer.
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

    /// Returns the variable and the path of a pointer; `None` if the pointer does not point into one of the
    /// variables.
    pub(crate) fn get(&self, pointer: Id) -> Option<&Pointer> {
        self.known.get(&pointer)
    }
}
