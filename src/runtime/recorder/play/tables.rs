//! Writes the tables of the states: the data for which the sysvals have no room, which is push constants of the
//! application and attribute descriptors beyond the inline ones. Also assigns descriptors to buffers.

use super::super::collect::{Attributes, Position, State};
use super::{Playback, Player};
use crate::runtime::RuntimeError;
use crate::runtime::arena::aligned;
use crate::sysval::{Address, AttributeDescriptor, join, split};

impl Player<'_> {
    /// Reserves the memory of the plan and of its tables, and assigns descriptors to all buffers that it accesses.
    ///
    /// # Errors
    /// The errors of [`ArenaAccess::reserve`](crate::runtime::ArenaAccess).
    ///
    /// # Safety
    /// The requirements of [`record`](Self::record) apply.
    pub(super) unsafe fn reserve(
        &mut self,
        playback: &mut Playback<'_>,
    ) -> Result<(), RuntimeError> {
        let states = self.collected.used_states();
        self.places.states.extend(states.map(|state| (state, [0; 2])));
        let (upload, scratch) = self.plan.memory();
        let reused = self.plan.reused_memory();
        let scratch = playback.arena.without_reused(playback.cmd, scratch, reused);
        let mut last = None;
        let mut tables = 0;
        for (number, _) in &self.places.states {
            let key = self.table_key(*number);
            if last != Some(key) {
                tables += self.table_size(*number);
                last = Some(key);
            }
        }
        // SAFETY: the caller's contract.
        unsafe { playback.arena.reserve(self.ctx, upload + tables, scratch) }?;
        self.places.readable = split(playback.arena.upload_address());
        if self.ctx.table().is_some() {
            let [upload, scratch] = playback.arena.windows();
            self.table.set_arena(upload, scratch);
            self.assign();
        }
        Ok(())
    }

    /// Writes the tables of all states that captures use.
    ///
    /// # Errors
    /// [`RuntimeError::ArenaFull`], but not if the memory was reserved.
    pub(super) fn write_tables(&mut self, playback: &mut Playback<'_>) -> Result<(), RuntimeError> {
        let (mut last, mut address) = (None, [0; 2]);
        for used in 0..self.places.states.len() {
            let (number, _) = self.places.states[used];
            let key = self.table_key(number);
            if last != Some(key) {
                (last, address) = (Some(key), self.place_table(playback, number)?);
            }
            self.places.states[used].1 = address;
        }
        Ok(())
    }

    /// Returns what a state's table depends on. States for which this is equal share a table.
    fn table_key(&self, state: usize) -> Option<(usize, usize, usize)> {
        let State { pipeline, attributes, constants, .. } = *self.collected.states.get(state)?;
        Some((pipeline, attributes, constants))
    }

    /// The size in bytes of the table of a state.
    fn table_size(&self, number: usize) -> u64 {
        let Some(state) = self.collected.states.get(number) else { return 0 };
        let constants = self.pipeline_of(number).map_or(0, |p| p.push_constants().len());
        let (_, others) = self.bindings.attributes[state.attributes].others;
        aligned((constants + others * size_of::<AttributeDescriptor>()) as u64)
    }

    fn place_table(
        &mut self,
        playback: &mut Playback<'_>,
        number: usize,
    ) -> Result<Address, RuntimeError> {
        if self.table_size(number) == 0 {
            return Ok([0; 2]);
        }
        let state = self.collected.states[number];
        let (first, count) = self.bindings.attributes[state.attributes].others;
        let mut others = std::mem::take(&mut self.places.descriptors);
        others.clear();
        let table = &self.bindings.attribute_table[first..first + count];
        others.extend(table.iter().map(|attribute| self.readable_attribute(*attribute)));
        let len = self.pipeline_of(number).map_or(0, |p| p.push_constants().len());
        let constants = self.bindings.constants.bytes(state.constants, len);
        let place = playback.arena.upload().push_both(constants, bytemuck::cast_slice(&others));
        self.places.descriptors = others;
        Ok(split(place?.address))
    }

    /// Assigns descriptors to all buffers that the draws access, and to counters and queries.
    fn assign(&mut self) {
        let Some(limits) = self.ctx.table() else { return };
        let collected = self.collected;
        let addresses = &mut self.places.addresses;
        addresses.clear();
        addresses.extend(self.counters);
        if collected.position == Position::Counters {
            addresses.extend(&collected.counters);
        }
        addresses.extend(collected.bound_targets().map(|target| target.address));
        for draw in &collected.draws {
            let mut input = draw.input;
            addresses.extend(input.buffers_mut().map(|address| *address));
        }
        // The operation that ends a query has two addresses. Both are in the buffer of the query's pool, whose whole
        // range has one descriptor, so one of them is enough here.
        addresses.extend(collected.ends.iter().map(|end| end.address));
        let mut last = None;
        for (state, _) in &self.places.states {
            let number = collected.states[*state].attributes;
            if last.replace(number) == Some(number) {
                continue;
            }
            let Attributes { inline, others: (first, count), .. } =
                self.bindings.attributes[number];
            let others = &self.bindings.attribute_table[first..first + count];
            addresses.extend(inline.iter().chain(others).map(|attribute| attribute.address));
        }
        self.table.assign(limits, addresses.iter().copied().map(join));
    }
}
