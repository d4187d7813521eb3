//! Sets of ids.

use std::collections::HashSet;

use super::Id;

/// A set of ids below a bound.
///
/// Compilers number densely, for which bits are several times as fast as a hash table; a header that claims
/// many more ids than the module has words gets the table, so that memory stays in proportion.
#[derive(Debug)]
pub(crate) enum IdSet {
    /// Bits, of as many ids as there is room for.
    Dense(Vec<u64>),
    /// A table.
    Sparse(HashSet<u32>),
}

impl IdSet {
    /// For ids below `bound` in a module of `words` words.
    pub(super) fn new(bound: u32, words: usize) -> Self {
        let bits = (bound as usize).div_ceil(64);
        match bits <= words {
            true => Self::Dense(vec![0; bits]),
            false => Self::Sparse(HashSet::new()),
        }
    }

    /// Adds an id; false where it was there, or is not below the bound.
    pub(crate) fn insert(&mut self, Id(id): Id) -> bool {
        match self {
            Self::Sparse(ids) => ids.insert(id),
            Self::Dense(bits) => {
                let Some(word) = bits.get_mut(id as usize / 64) else { return false };
                let bit = 1 << (id % 64);
                let is_new = *word & bit == 0;
                *word |= bit;
                is_new
            }
        }
    }

    /// Whether the id is there.
    pub(crate) fn contains(&self, Id(id): Id) -> bool {
        match self {
            Self::Sparse(ids) => ids.contains(&id),
            Self::Dense(bits) => {
                bits.get(id as usize / 64).is_some_and(|word| word & 1 << (id % 64) != 0)
            }
        }
    }
}
