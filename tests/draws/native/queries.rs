//! The driver's query pools for the queries of a batch.

use ash::vk;
use vkxfb::runtime::Context;
use vkxfb_probe::gpu::GpuError;

use crate::images::failed;
use crate::program::{Program, QueryKind, QueryPlaces, place_queries};

/// The pools, and the index of the first query of each program of a batch.
pub struct Queries {
    pools: [vk::QueryPool; 2],
    pub places: QueryPlaces,
}

impl Queries {
    pub fn new(ctx: &Context, programs: &[Program]) -> Result<Self, GpuError> {
        let (counts, places) = place_queries(programs);
        let mut queries = Self { pools: [vk::QueryPool::null(); 2], places };
        let types =
            [vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT, vk::QueryType::PRIMITIVES_GENERATED_EXT];
        for ((pool, query_type), count) in queries.pools.iter_mut().zip(types).zip(counts) {
            if count > 0 {
                let info =
                    vk::QueryPoolCreateInfo::default().query_type(query_type).query_count(count);
                // SAFETY: the device is live and has queries of that type.
                *pool = unsafe { ctx.device().create_query_pool(&info, None) }
                    .map_err(failed("vkCreateQueryPool"))?;
            }
        }
        Ok(queries)
    }

    pub fn pool(&self, kind: QueryKind) -> vk::QueryPool {
        self.pools[kind as usize]
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
            // SAFETY: the caller's contract.
            unsafe { ctx.device().cmd_reset_query_pool(cmd, self.pool(kind), place, 1) };
        }
    }

    pub fn results(
        &self,
        ctx: &Context,
        places: &[(QueryKind, u32)],
    ) -> Result<Vec<[u64; 2]>, GpuError> {
        let result = |&(kind, place): &(QueryKind, u32)| {
            let pool = self.pool(kind);
            let flags = vk::QueryResultFlags::TYPE_64;
            let (mut two, mut one) = ([[0u64; 2]], [0u64]);
            // SAFETY: the queries are available, as the submission was waited for.
            let got = unsafe {
                match kind {
                    QueryKind::Stream => {
                        ctx.device().get_query_pool_results(pool, place, &mut two, flags)
                    }
                    QueryKind::Generated => {
                        ctx.device().get_query_pool_results(pool, place, &mut one, flags)
                    }
                }
            };
            got.map_err(failed("vkGetQueryPoolResults"))?;
            Ok(if kind == QueryKind::Stream { two[0] } else { [one[0], 0] })
        };
        places.iter().map(result).collect()
    }

    /// # Safety
    /// Nothing is in flight.
    pub unsafe fn destroy(self, ctx: &Context) {
        for pool in self.pools {
            // SAFETY: the caller's contract.
            unsafe { ctx.device().destroy_query_pool(pool, None) };
        }
    }
}
