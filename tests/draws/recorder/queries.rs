//! The vkxfb queries of a batch of programs.

use ash::vk;
use vkxfb::runtime::{ArenaDesc, MemoryLocation, QueryPool, QueryResult, ResultTarget};
use vkxfb_probe::gpu::{Gpu, GpuError};

use crate::common::commands::QueryKind;
use crate::images;
use crate::program::{Program, QueryPlaces, place_queries};

/// The query pools of a batch, and the positions of the queries of each program in them.
pub struct Queries {
    pub pools: [QueryPool; 2],
    pub places: QueryPlaces,
}

impl Queries {
    pub fn new(gpu: &mut Gpu, programs: &[Program]) -> Result<Self, GpuError> {
        let (counts, places) = place_queries(programs);
        use vkxfb::runtime::QueryKind as Kind;
        let pools = [
            gpu.create_query_pool(Kind::TransformFeedbackStream, counts[0])?,
            gpu.create_query_pool(Kind::PrimitivesGenerated, counts[1])?,
        ];
        gpu.submit(|ctx, cmd| {
            for pool in &pools {
                // SAFETY: the command buffer is being recorded.
                unsafe { pool.reset(ctx, cmd, 0, pool.count()) }?;
            }
            Ok(())
        })?;
        Ok(Self { pools, places })
    }

    /// Returns the results of all queries. They are read on the host and copied by the device, and
    /// must be the same.
    pub fn results(&self, gpu: &mut Gpu) -> Result<Vec<Vec<[u64; 2]>>, GpuError> {
        let copied = [self.copied(gpu, 0)?, self.copied(gpu, 1)?];
        let result = |&(kind, place): &(QueryKind, u32)| {
            let pool = &self.pools[kind as usize];
            // SAFETY: the device is live.
            let result = unsafe { pool.result(place) }?.unwrap();
            let QueryResult { primitives_written, primitives_needed } = result;
            let both = match kind {
                QueryKind::Stream => [primitives_written, primitives_needed],
                QueryKind::Generated => [primitives_needed, primitives_written],
            };
            assert_eq!(copied[kind as usize][place as usize], both);
            Ok(both)
        };
        self.places.iter().map(|places| places.iter().map(result).collect()).collect()
    }

    fn copied(&self, gpu: &mut Gpu, pool: usize) -> Result<Vec<[u64; 2]>, GpuError> {
        const STRIDE: u64 = 32;
        let pool = &self.pools[pool];
        let size = STRIDE * u64::from(pool.count().max(1));
        let usage = gpu.context().buffer_usages(vkxfb::lower::Backend::Compute).query_results;
        let location = MemoryLocation::Readback;
        let target = gpu.create_buffer(size, usage, location)?;
        let mut arena = gpu.create_arena(ArenaDesc::new(1, 0))?;
        let kernels = gpu.kernels();
        let copied = gpu.submit(|ctx, cmd| {
            let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
            let target = ResultTarget { buffer: target.raw(), offset: 0, stride: STRIDE };
            let (arena, count) = (&mut arena, pool.count());
            // SAFETY: the buffer holds the results.
            unsafe {
                pool.copy_results(ctx, arena, &kernels, cmd, 0, count, &target, flags)?;
                images::barrier(ctx, cmd);
            }
            Ok(())
        });
        // SAFETY: nothing is in flight, and the context is that of the buffer.
        let bytes = unsafe {
            target.invalidate(gpu.context())?;
            target.mapped().to_vec()
        };
        gpu.destroy_buffer(target);
        gpu.destroy_arena(arena);
        copied?;
        let value = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let values = pool.kind().values();
        Ok((0..pool.count() as usize)
            .map(|query| {
                let at = query * STRIDE as usize;
                assert_eq!(value(at + 8 * values), 1, "query {query} is not available");
                [value(at), if values == 2 { value(at + 8) } else { 0 }]
            })
            .collect())
    }

    pub fn destroy(self, gpu: &mut Gpu) {
        self.pools.into_iter().for_each(|pool| gpu.destroy_query_pool(pool));
    }
}
