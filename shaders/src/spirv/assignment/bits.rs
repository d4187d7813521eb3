//! Sets of component numbers (numbers of scalars), as bits.

use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    pub(super) fn none(length: usize) -> Self {
        Self { words: vec![0; length.div_ceil(64)] }
    }

    /// Makes a set of all numbers below `length`. It may also contain higher numbers, which are never queried.
    pub(super) fn all(length: usize) -> Self {
        Self { words: vec![u64::MAX; length.div_ceil(64)] }
    }

    fn has(&self, number: usize) -> bool {
        self.words.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    pub(super) fn insert(&mut self, numbers: Range<usize>) {
        for number in numbers {
            if let Some(word) = self.words.get_mut(number / 64) {
                *word |= 1 << (number % 64);
            }
        }
    }

    pub(super) fn contains(&self, mut numbers: Range<usize>) -> bool {
        numbers.all(|number| self.has(number))
    }

    pub(super) fn intersects(&self, mut numbers: Range<usize>) -> bool {
        numbers.any(|number| self.has(number))
    }

    /// Adds the numbers of another set. Numbers that are not below the length of this set are
    /// ignored.
    pub(super) fn unite(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// Adds the numbers of `set` that are not in `without`.
    pub(super) fn unite_without(&mut self, set: &Self, without: &Self) {
        let words = set.words.iter().zip(&without.words);
        self.words.iter_mut().zip(words).for_each(|(word, (set, without))| *word |= set & !without);
    }

    /// Removes the numbers that are not in another set of at least the same length. Returns whether
    /// any was removed.
    pub(super) fn intersect(&mut self, other: &Self) -> bool {
        let mut is_changed = false;
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            is_changed |= *word & !other != 0;
            *word &= other;
        }
        is_changed
    }
}
