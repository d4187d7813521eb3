//! Sets of ids, and maps by id.
//!
//! Compilers number ids densely, so a vector is several times as fast as a hash table. If a header
//! claims many more ids than the module has words, a hash table is used, so that memory stays
//! proportional to the module.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Id;

/// A set of ids below a bound.
#[derive(Debug)]
pub enum IdSet {
    /// A bit set for all ids below the bound.
    Dense(Vec<u64>),
    /// A hash table, for a module whose header claims too many ids for `Dense`.
    Sparse(FxHashSet<u32>),
}

impl IdSet {
    /// Makes a set for ids below `bound`, for a module with `words` words.
    pub(super) fn new(bound: u32, words: usize) -> Self {
        let bits = (bound as usize).div_ceil(64);
        if bits <= words { Self::Dense(vec![0; bits]) } else { Self::Sparse(FxHashSet::default()) }
    }

    /// Adds an id. Returns false if the set contained the id before, or if the id is too large for a `Dense` set.
    pub fn insert(&mut self, Id(id): Id) -> bool {
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

    /// Adds ids.
    pub fn extend(&mut self, ids: impl IntoIterator<Item = Id>) {
        ids.into_iter().for_each(|id| _ = self.insert(id));
    }

    /// Adds the ids of another set for the same module.
    pub(super) fn unite(&mut self, other: Self) {
        match (self, other) {
            (Self::Dense(bits), Self::Dense(more)) => {
                bits.iter_mut().zip(more).for_each(|(bits, more)| *bits |= more);
            }
            (Self::Sparse(ids), Self::Sparse(more)) => ids.extend(more),
            // All sets for one module are of the same kind.
            _ => debug_assert!(false, "sets for different modules"),
        }
    }

    /// Whether the id is in the set.
    pub fn contains(&self, Id(id): Id) -> bool {
        match self {
            Self::Sparse(ids) => ids.contains(&id),
            Self::Dense(bits) => {
                bits.get(id as usize / 64).is_some_and(|word| word & 1 << (id % 64) != 0)
            }
        }
    }
}

/// A map from ids below a bound.
#[derive(Debug)]
pub(crate) enum IdMap<T> {
    /// A value for each id below the bound.
    Dense(Vec<Option<T>>),
    /// A hash table, for a module whose header claims too many ids for `Dense`.
    Sparse(FxHashMap<u32, T>),
}

impl<T: Copy> IdMap<T> {
    /// Makes a map for ids below `bound`, for a module with `words` words.
    pub(super) fn new(bound: u32, words: usize) -> Self {
        if bound as usize <= words {
            Self::Dense(vec![None; bound as usize])
        } else {
            Self::Sparse(FxHashMap::default())
        }
    }

    /// Sets the value of an id. A `Dense` map ignores ids that are not below its bound.
    pub(crate) fn insert(&mut self, Id(id): Id, value: T) {
        match self {
            Self::Sparse(values) => _ = values.insert(id, value),
            Self::Dense(values) => {
                if let Some(place) = values.get_mut(id as usize) {
                    *place = Some(value);
                }
            }
        }
    }

    pub(crate) fn remove(&mut self, Id(id): Id) {
        match self {
            Self::Sparse(values) => _ = values.remove(&id),
            Self::Dense(values) => {
                if let Some(place) = values.get_mut(id as usize) {
                    *place = None;
                }
            }
        }
    }

    pub(crate) fn get(&self, Id(id): Id) -> Option<T> {
        match self {
            Self::Sparse(values) => values.get(&id).copied(),
            Self::Dense(values) => *values.get(id as usize)?,
        }
    }
}
