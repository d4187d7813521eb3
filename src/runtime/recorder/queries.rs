//! Queries of compute captures: which are active, and how they end.
//!
//! ```text
//! captures and kernels that count;
//! barrier; ends of queries, one dispatch; barrier to the host
//! ```

use ash::vk;

use super::capture::Capture;
use super::play::Playback;
use crate::lower::kernel::Kernel;
use crate::runtime::arena::{Part, Suballocation, aligned};
use crate::runtime::descriptors::{Purpose, User};
use crate::runtime::fold::fold;
use crate::runtime::{Barrier, Context, QueryKind, QueryPool, RuntimeError};
use crate::sysval::setup::{Finish, Operation, operation};
use crate::sysval::{Address, join, split};

/// The addresses of the active query of a kind, which must be [resolved](Capture::resolve); 0 if
/// none is active.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ActiveQuery {
    pub(super) values: Address,
    ends: Address,
}

impl ActiveQuery {
    fn is_active(&self) -> bool {
        self.values != Address::default()
    }
}

/// A dispatch of the kernel that ends queries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    parameters: Suballocation,
    workgroups: [u32; 2],
    set: Option<vk::DescriptorSet>,
}

impl Capture {
    /// # Safety
    /// As [`Recorder::begin_query`](super::Recorder::begin_query).
    pub(super) unsafe fn begin_query(
        &mut self,
        pool: &QueryPool,
        query: u32,
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
        let start = unsafe { self.address(Purpose::State, what, buffer, 0, size) }?;
        let place = pool.place(query);
        if self.pending.ended_queries.contains(&(start + place.query)) {
            return Err(RuntimeError::QueryUsed { query });
        }
        self.bound.queries[kind] =
            ActiveQuery { values: split(start + place.query), ends: split(start + place.ends) };
        Ok(())
    }

    pub(super) fn end_query(&mut self, kind: QueryKind) -> Result<(), RuntimeError> {
        let query = std::mem::take(&mut self.bound.queries[kind as usize]);
        if !query.is_active() {
            return Err(RuntimeError::NoQuery);
        }
        self.pending.ended_queries.insert(join(query.values));
        let [low, high] = query.ends;
        self.pending.ends.push(Operation {
            address: query.values,
            kind: operation::END,
            reserved: 0,
            values: [low, high, 0, 0],
        });
        Ok(())
    }

    /// Writes the operations that end queries.
    ///
    /// # Safety
    /// As [`play`](Self::play).
    pub(super) unsafe fn place_ends(
        &self,
        playback: &mut Playback<'_>,
    ) -> Result<Option<Ends>, RuntimeError> {
        let resolved = self.pending.ends.iter().map(|end| {
            let [low, high, ..] = end.values;
            let [low, high] = self.resolve([low, high]);
            let address = self.resolve(end.address);
            Operation { address, values: [low, high, 0, 0], ..*end }
        });
        let placed = place_operations(&self.ctx, playback.arena.upload(), resolved)?;
        let Some((parameters, workgroups)) = placed else { return Ok(None) };
        // SAFETY: the caller's contract.
        unsafe { self.make_kernels(&[Kernel::Finish]) }?;
        // SAFETY: as above.
        let set = unsafe { self.descriptor_set(playback, User::Kernels) }?;
        Ok(Some(Ends { parameters, workgroups, set }))
    }

    /// Records the ends of queries.
    ///
    /// # Safety
    /// As [`play`](Self::play).
    pub(super) unsafe fn record_ends(
        &mut self,
        playback: &mut Playback<'_>,
        ends: Option<Ends>,
    ) -> Result<(), RuntimeError> {
        let Some(Ends { parameters, workgroups, set }) = ends else { return Ok(()) };
        // SAFETY: the caller's contract.
        unsafe {
            self.barrier(playback, Barrier::ValuesToEnds);
            self.find_ended();
            self.remember(playback);
            self.dispatch_kernel(playback, set, Kernel::Finish, parameters, workgroups)?;
            self.barrier(playback, Barrier::EndsToHost);
        }
        Ok(())
    }
}

/// Writes operations. Returns the parameters and workgroups of the finish kernel.
pub(super) fn place_operations(
    ctx: &Context,
    upload: &mut Part,
    operations: impl ExactSizeIterator<Item = Operation>,
) -> Result<Option<(Suballocation, [u32; 2])>, RuntimeError> {
    let count = operations.len() as u32;
    if count == 0 {
        return Ok(None);
    }
    let place = upload.push(operations)?;
    let finish = Finish { operations: split(place.address), count, reserved: 0 };
    let parameters = upload.push(std::iter::once(finish))?;
    Ok(Some((parameters, fold(count.into(), ctx.max_workgroups_per_axis())?)))
}

/// The upload memory of `count` operations.
pub(super) const fn operations_upload(count: usize) -> u64 {
    match count {
        0 => 0,
        count => {
            aligned((count * size_of::<Operation>()) as u64) + aligned(size_of::<Finish>() as u64)
        }
    }
}
