//! The limits of the rewriting, and the reasons why a walk cannot continue.

use crate::spirv::Id;

/// The largest number of leaves of a variable whose values are tracked. A leaf is a part that is neither a
/// structure nor an array (`memory`).
pub(super) const MAX_LEAVES: usize = 64;
/// The largest length of an array whose element is selected by comparisons, if the index is not known.
pub(super) const MAX_SELECTED: u32 = 3;
/// The largest number of leaves (parts that are neither structures nor arrays) of all tracked variables together. It is
/// limited because the optimizer keeps a copy of the values of all leaves for each branch.
pub(super) const MAX_ALL_LEAVES: usize = 4096;
/// The largest number of indices of an access chain that is combined from several chains.
pub(super) const MAX_INDICES: usize = 64;
/// The largest depth of inlined calls and constructs together. Valid modules have no recursion.
pub(super) const MAX_DEPTH: u32 = 96;
/// The largest number of attempts to rewrite an entry point. Each failed attempt finds functions that cannot be
/// inlined, finds a variable that has to stay in memory, or shows that the entry point needs returns within constructs.
pub(super) const MAX_ATTEMPTS: u32 = 24;
/// The largest size of a rewritten entry point, in words: the first number times the number of words of the module's
/// functions, plus the second number.
pub(super) const MAX_GROWTH: (usize, usize) = (4, 1 << 14);

/// The reason why a walk cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// A variable cannot be tracked, because it is accessed in a way that is not supported.
    Untrack(Id),
    /// A function has control flow that cannot be inlined into another function.
    Refuse(Id),
    /// The module is too large, or not valid.
    GiveUp,
}
