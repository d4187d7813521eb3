//! The queries that are active while a compute capture collects draws.

use ash::vk;

use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::host_memory::TryPush;
use crate::runtime::memory::descriptors::purpose::Purpose;
use crate::runtime::recording::collect::Collector;
use crate::runtime::recording::queries::{QueryKind, QueryPool};
use vkxfb_rewriter::sysval::setup::{Operation, operation};
use vkxfb_rewriter::sysval::{Address, split};

/// Identifies a query by the buffer of its pool, and by the number of the query in the pool. An address does not
/// identify a query: under the descriptor plan, each stream has a different address for the same buffer.
pub(super) type QueryName = (vk::Buffer, u32);

/// The addresses of the active query of a kind, or 0 if no such query is active. The addresses must be
/// [resolved](crate::runtime::memory::addresses::resolve) before shaders use them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ActiveQuery {
    pub(super) values: Address,
    ends: Address,
    name: QueryName,
}

impl ActiveQuery {
    pub(super) fn is_active(&self) -> bool {
        self.values != Address::default()
    }
}

impl Collector {
    /// Whether a query of any kind is active for the stream.
    pub(in crate::runtime::recording) fn has_active_query(&self) -> bool {
        self.bound.queries.iter().any(ActiveQuery::is_active)
    }

    /// Whether the query with this name is active for the stream.
    pub(super) fn has_active(&self, name: QueryName) -> bool {
        self.bound.queries.iter().any(|query| query.is_active() && query.name == name)
    }

    /// Begins a query, which must not have begun or ended in this recording.
    ///
    /// # Safety
    /// The requirements of [`Recorder::begin_query`](crate::runtime::Recorder::begin_query) apply.
    pub(super) unsafe fn begin_query(
        &mut self,
        pool: &QueryPool,
        query: u32,
    ) -> Result<(), RuntimeError> {
        let kind = pool.kind() as usize;
        if self.bound.queries[kind].is_active() {
            return Err(RuntimeError::QueryActive);
        }
        let what = format_args!("the buffer of queries");
        let (buffer, size) = (pool.buffer().raw(), pool.buffer().size());
        // SAFETY: the pool's buffer was created with the usage that shaders need, and lives by the caller's contract.
        let start = unsafe { self.address(Purpose::State, what, (buffer, 0, size)) }?;
        let place = pool.place(query);
        let [values, ends] = [place.query, place.ends].map(|place| split(start + place));
        self.bound.queries[kind] = ActiveQuery { values, ends, name: (buffer, query) };
        Ok(())
    }

    /// Ends the active query of a kind, and returns its name.
    pub(super) fn end_query(&mut self, kind: QueryKind) -> Result<QueryName, RuntimeError> {
        let query = std::mem::take(&mut self.bound.queries[kind as usize]);
        if !query.is_active() {
            return Err(RuntimeError::NoQuery);
        }
        let [low, high] = query.ends;
        self.collected.ends.try_push(Operation {
            address: query.values,
            kind: operation::END,
            reserved: 0,
            values: [low, high, 0, 0],
        })?;
        Ok(query.name)
    }
}
