//! A run of a geometry shader in the simulation: what is known of its values, and what it has emitted.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::strips::Emitted;
use crate::lower::stages::followed::{MAX_COMPONENTS, Scalars};
use crate::spirv::Id;
use crate::spirv::specialization::fold::ConstantValue;

/// The known scalars of constants, results and contents of variables, each with its number: 0, or that of a vector's
/// component. What is undefined is not known. A value that is known has the type of its id.
pub(super) type Known = FxHashMap<(Id, u32), ConstantValue>;

/// A run up to some point.
#[derive(Debug, Clone)]
pub(super) struct Run {
    /// The constants of the module, which all runs share.
    constants: Rc<Known>,
    known: Known,
    pub(super) emitted: Emitted,
}

impl Run {
    pub(super) fn new(constants: Rc<Known>, emitted: Emitted) -> Self {
        Self { constants, known: Known::default(), emitted }
    }

    /// The value of a scalar.
    pub(super) fn value(&self, id: Id) -> Option<ConstantValue> {
        self.component(id, 0)
    }

    pub(super) fn component(&self, id: Id, number: u32) -> Option<ConstantValue> {
        let key = (id, number);
        self.known.get(&key).or_else(|| self.constants.get(&key)).copied()
    }

    /// The value of a component, if it has this type, and remains the same at relaxed precision, if that applies.
    pub(super) fn typed(
        &self,
        id: Id,
        number: u32,
        scalars: Scalars,
        is_relaxed: bool,
    ) -> Option<ConstantValue> {
        let value = self.component(id, number)?;
        let is_kept = !is_relaxed || value.fits_relaxed_precision();
        (value.scalar() == scalars.scalar && is_kept).then_some(value)
    }

    pub(super) fn set(&mut self, id: Id, number: u32, value: Option<ConstantValue>) {
        match value {
            Some(value) => _ = self.known.insert((id, number), value),
            None => _ = self.known.remove(&(id, number)),
        }
    }

    /// Makes scalars of `to`, from number `to_first` on, equal to those of `from`. They are of type `scalars`: in
    /// invalid modules those of `from` may not be, and are then not known. At relaxed precision some values are lost.
    pub(super) fn copy(
        &mut self,
        (to, to_first): (Id, u32),
        (from, from_first): (Id, u32),
        scalars: Scalars,
        is_relaxed: bool,
    ) {
        for number in 0..scalars.count {
            let place = from_first.checked_add(number);
            let value = place.and_then(|place| self.typed(from, place, scalars, is_relaxed));
            self.set(to, to_first + number, value);
        }
    }

    /// Makes a scalar or vector unknown.
    pub(super) fn forget(&mut self, id: Id) {
        (0..MAX_COMPONENTS).for_each(|number| self.set(id, number, None));
    }

    /// Makes one run of two that are at the same point and have emitted the same: it knows what both know.
    pub(super) fn join(&mut self, other: &Self) {
        self.known.retain(|id, value| other.known.get(id) == Some(value));
    }

    /// How long it takes to copy the run, or to join it with another, in words that are simulated. A table that has lost
    /// most of its entries is copied with all its room.
    pub(super) fn words(&self) -> usize {
        8 + self.known.capacity() + self.emitted.len()
    }
}
