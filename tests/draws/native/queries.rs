//! The driver's query pools for the queries of a batch.

use ash::vk;
use vkxfb::runtime::Context;
use vkxfb_probe::gpu::GpuError;

use crate::common::commands::{QueryKind, QueryPools};
use crate::images::failed;
use crate::program::{Program, QueryPlaces, place_queries};

/// The pools, and the index of the first query of each program of a batch.
pub struct Queries {
    pools: QueryPools,
    pub places: QueryPlaces,
}

impl Queries {
    pub fn new(ctx: &Context, programs: &[Program]) -> Self {
        let (counts, places) = place_queries(programs);
        Self { pools: QueryPools::new(ctx.device(), counts), places }
    }

    pub const fn pool(&self, kind: QueryKind) -> vk::QueryPool {
        self.pools.of(kind)
    }

    /// Resets some queries of a program.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a pass.
    pub unsafe fn reset(
        &self,
        ctx: &Context,
        cmd: vk::CommandBuffer,
        program: usize,
        queries: impl Iterator<Item = usize>,
    ) {
        for query in queries {
            let (kind, place) = self.places[program][query];
            unsafe { ctx.device().cmd_reset_query_pool(cmd, self.pool(kind), place, 1) };
        }
    }

    /// Returns the results of the queries at these places, whose submission was waited for.
    pub fn results(&self, places: &[(QueryKind, u32)]) -> Result<Vec<[u64; 2]>, GpuError> {
        let result = |&(kind, place): &(QueryKind, u32)| self.pools.result(kind, place);
        let results: Result<_, _> = places.iter().map(result).collect();
        results.map_err(failed("vkGetQueryPoolResults"))
    }

    /// # Safety
    /// Nothing is in flight.
    pub unsafe fn destroy(self) {
        unsafe { self.pools.destroy() };
    }
}
