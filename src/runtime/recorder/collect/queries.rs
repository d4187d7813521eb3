//! Queries of compute captures: which are active, and which have ended.

use std::collections::HashSet;

use super::Collector;
use crate::runtime::descriptors::Purpose;
use crate::runtime::{QueryKind, QueryPool, RuntimeError};
use crate::sysval::setup::{Operation, operation};
use crate::sysval::{Address, join, split};

/// The addresses of the active query of a kind, which must be [resolved](super::resolve); 0 if
/// none is active.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ActiveQuery {
    pub(super) values: Address,
    ends: Address,
}

impl ActiveQuery {
    pub(super) fn is_active(&self) -> bool {
        self.values != Address::default()
    }
}

impl Collector {
    /// The addresses of the active queries.
    pub(super) fn active_queries(&self) -> impl Iterator<Item = u64> {
        let active = self.bound.queries.iter().filter(|query| query.is_active());
        active.map(|query| join(query.values))
    }

    /// `ended` are the addresses of the queries that ended, `active` those of the active queries of other streams.
    ///
    /// # Safety
    /// As [`Recorder::begin_query_indexed`](super::super::Recorder::begin_query_indexed).
    pub(super) unsafe fn begin_query(
        &mut self,
        pool: &QueryPool,
        query: u32,
        ended: &HashSet<u64>,
        active: &[u64],
    ) -> Result<(), RuntimeError> {
        self.check_begun()?;
        pool.check_context(&self.ctx)?;
        pool.check_range(query, 1)?;
        let kind = pool.kind() as usize;
        if self.bound.queries[kind].is_active() {
            return Err(RuntimeError::QueryActive);
        }
        let what = format_args!("the buffer of queries");
        let (buffer, size) = (pool.buffer().raw(), pool.buffer().size());
        // SAFETY: the pool's buffer has the usage, and lives by the caller's contract.
        let start = unsafe { self.address(Purpose::State, what, (buffer, 0, size)) }?;
        let place = pool.place(query);
        if active.contains(&(start + place.query)) {
            return Err(RuntimeError::QueryActive);
        }
        if ended.contains(&(start + place.query)) {
            return Err(RuntimeError::QueryUsed { query });
        }
        self.bound.queries[kind] =
            ActiveQuery { values: split(start + place.query), ends: split(start + place.ends) };
        Ok(())
    }

    /// Returns the address of the query.
    pub(super) fn end_query(&mut self, kind: QueryKind) -> Result<u64, RuntimeError> {
        let query = std::mem::take(&mut self.bound.queries[kind as usize]);
        if !query.is_active() {
            return Err(RuntimeError::NoQuery);
        }
        let [low, high] = query.ends;
        self.collected.ends.push(Operation {
            address: query.values,
            kind: operation::END,
            reserved: 0,
            values: [low, high, 0, 0],
        });
        Ok(join(query.values))
    }
}
