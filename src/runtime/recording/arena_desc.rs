//! How much memory recordings take from an arena: the functions of [`ArenaDesc`] that add what captures, draws and
//! pipelines need.

use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::sysval::Batch;
use vkxfb_rewriter::sysval::entries::{
    ENTRIES_PER_BLOCK, ENTRY_BLOCK_SIZE, ENTRY_SIZE, Entries, EntryJob, EntrySums, EntryTables,
    PlaceEntries,
};
use vkxfb_rewriter::sysval::setup::{restart_blocks, restart_table_size};

use crate::runtime::device::context::{MAX_ENTRIES, MAX_SHARED_WORKGROUPS};
use crate::runtime::memory::arena::{ArenaDesc, aligned};
use crate::runtime::memory::buffers::ALIGNMENT;
use crate::runtime::pipelines::pipeline::Pipeline;
use crate::runtime::recording::collect::most_slices;
use crate::runtime::recording::plan::{LISTED_BYTES, most_entries};

impl ArenaDesc {
    /// The largest amount of upload memory that a draw takes, in bytes.
    const UPLOAD_PER_DRAW: u64 = 280;
    /// The largest amount of scratch memory that a draw takes, in bytes.
    const SCRATCH_PER_DRAW: u64 = 144;
    /// The largest amount of upload memory in bytes that a capture takes in addition to its draws.
    const UPLOAD_PER_SETUP: u64 = 512;
    /// The largest amount of scratch memory in bytes that a capture takes in addition to its draws.
    const SCRATCH_PER_SETUP: u64 = 64;

    /// Describes an arena for `captures` captures that have `draws` draws in all, without primitive restart, of shaders
    /// that have at most one attribute and read no push constants. [`with_restarts`](Self::with_restarts) and
    /// [`with_pipeline`](Self::with_pipeline) add memory for other draws and shaders. Includes two descriptor sets per
    /// capture. A size that would overflow is `u64::MAX`.
    pub const fn for_draws(captures: u64, draws: u64) -> Self {
        const fn size(captures: u64, per_setup: u64, draws: u64, per_draw: u64) -> u64 {
            captures.saturating_mul(per_setup).saturating_add(draws.saturating_mul(per_draw))
        }
        let sets = captures.saturating_mul(2);
        Self {
            upload: size(captures, Self::UPLOAD_PER_SETUP, draws, Self::UPLOAD_PER_DRAW),
            scratch: size(captures, Self::SCRATCH_PER_SETUP, draws, Self::SCRATCH_PER_DRAW),
            descriptor_sets: if sets > u32::MAX as u64 { u32::MAX } else { sets as u32 },
        }
    }

    /// Adds the memory for `draws` draws with primitive restart, each with `index_count` indices within the bound
    /// range. For indirect draws, pass the number of all indices in the bound range; those of one capture
    /// count as one draw if they have the same index range, index type, restart index and topology.
    ///
    /// ```
    /// use vkxfb::ArenaDesc;
    ///
    /// // A capture that draws one strip of 40,000 indices.
    /// let desc = ArenaDesc::for_draws(1, 1).with_restarts(1, 40_000);
    /// assert!(desc.scratch > ArenaDesc::for_draws(1, 1).scratch);
    /// ```
    pub const fn with_restarts(mut self, draws: u64, index_count: u64) -> Self {
        let bytes = restart_table_size(restart_blocks(index_count)).saturating_mul(draws);
        self.scratch = self.scratch.saturating_add(bytes);
        self
    }

    /// Adds the memory for the attributes and push constants of a pipeline that is bound `times` times. `times` counts
    /// each capture with the pipeline, and each change of the pipeline, the vertex buffers or the push constants
    /// between the draws of a capture.
    pub fn with_pipeline(mut self, pipeline: &Pipeline, times: u64) -> Self {
        let constants = pipeline.push_constants();
        let constants = aligned(u64::from(constants.end.saturating_sub(constants.start)));
        let bytes = aligned(pipeline.attribute_bytes()).saturating_add(constants);
        self.upload = self.upload.saturating_add(bytes.saturating_mul(times));
        self
    }

    /// Adds the memory for `draws` draws of a pipeline with a geometry shader or tessellation shaders, which
    /// [`for_draws`](Self::for_draws) does not include. Adds nothing for other pipelines and backends. `primitives` is
    /// the number of input primitives or patches of all draws and instances; with primitive restart it is the number of
    /// indices. The size does not depend on what the shader emits: it is 16 to 32 bytes per primitive, up to about 128
    /// MiB, and a little per draw. For patches it is 16 to 32 bytes for each slice (consecutive primitives of a patch).
    /// All vertex streams are included.
    ///
    /// For draws whose number of primitives only the GPU knows, call this function separately, with `u64::MAX` as
    /// `primitives`. Such a call adds 8 MiB.
    ///
    /// The captures of one command buffer share most of this memory. So, apart from such a separate call, call this
    /// function once for each command buffer and pipeline, with the draws and primitives of all captures with that
    /// pipeline.
    pub fn with_later_stages(mut self, pipeline: &Pipeline, draws: u64, primitives: u64) -> Self {
        if pipeline.geometry().is_none() || pipeline.backend() != Backend::Compute {
            return self;
        }
        let is_tessellated = pipeline.geometry().is_some_and(|of| of.tessellation.is_some());
        let primitives = if is_tessellated { most_slices(draws, primitives) } else { primitives };
        let (sizes, streams) = (pipeline.workgroup_sizes(), u64::from(pipeline.stream_count()));
        let each = || sizes.each().into_iter().map(|(size, _)| u64::from(size).max(1));
        let (least, most) = (each().min().unwrap_or(1), each().max().unwrap_or(1));
        // Each draw may need one more entry (a run of primitives that one invocation processes) than its share of the
        // entries of the dispatch. The last workgroup of each draw, and its last block of `ENTRIES_PER_BLOCK` entries,
        // may be partly unused.
        let block = u64::from(ENTRIES_PER_BLOCK);
        let blocks = draws.saturating_mul(most.div_ceil(block) + 1);
        let blocks = blocks.saturating_add(most_entries(primitives).div_ceil(block));
        // Captures in one command buffer reuse the memory of entries (runs of primitives). A capture that needs more
        // than the earlier captures took takes new memory. The number of blocks is rounded up to a power of two, so
        // each allocation is at least twice as large as the one before, and all of them together are less than twice as
        // large as the last one.
        let shared = blocks.checked_next_power_of_two().unwrap_or(u64::MAX).saturating_mul(2);
        // If the CPU knows the parameters of the draws, it writes a list of the workgroups that process their entries
        // (runs of primitives). A capture needs one list for each stream that it captures.
        let known = if primitives == u64::MAX { 0 } else { primitives };
        let listed = blocks.saturating_add(known.min(draws.saturating_mul(MAX_ENTRIES)) / block);
        let lists = listed.saturating_mul(block.div_ceil(least) + 1).saturating_mul(LISTED_BYTES);
        let draws = draws.saturating_mul(streams);
        let each = |bytes: usize| draws.saturating_mul(bytes as u64 + ALIGNMENT);
        let once = size_of::<EntrySums>() + size_of::<PlaceEntries>() + size_of::<EntryTables>();
        self.upload = self
            .upload
            .saturating_add(lists.saturating_mul(streams))
            .saturating_add(each(size_of::<Entries>() + size_of::<EntryJob>()))
            .saturating_add(draws.saturating_mul(once as u64));
        self.scratch = self
            .scratch
            .saturating_add(shared.saturating_mul(block * ENTRY_SIZE + ENTRY_BLOCK_SIZE))
            .saturating_add(each(size_of::<Entries>() + size_of::<Batch>()));
        self
    }
}

// Checks that the `*_PER_DRAW` constants are large enough. A draw that the setup kernel places takes upload memory for
// its `DrawCommand` (the recorded draw command), the workgroup size of its group (the draws of one dispatch) and its
// `RestartRange`. It takes scratch memory for the parameters that the setup kernel writes (`RestartedDraw`) and, if it
// is the only draw of its group, for the group's `Batch`. A draw that the CPU places takes upload memory only.
const _: () = {
    use vkxfb_rewriter::sysval::Sysvals;
    let placed = size_of::<Sysvals>() as u64 + MAX_SHARED_WORKGROUPS as u64 * LISTED_BYTES;
    // A dispatch whose draws are listed (their parameters and the draw of each workgroup are in memory) has at least
    // two draws, so at least two draws share the memory of its batch.
    assert!(2 * placed + size_of::<Batch>() as u64 <= 2 * ArenaDesc::UPLOAD_PER_DRAW);
    use vkxfb_rewriter::sysval::setup::{BATCH_SIZE, DrawCommand, RestartRange, RestartedDraw};
    let upload = size_of::<DrawCommand>() + size_of::<u32>() + size_of::<RestartRange>();
    assert!(upload as u64 <= ArenaDesc::UPLOAD_PER_DRAW);
    assert!(size_of::<RestartedDraw>() as u64 + BATCH_SIZE <= ArenaDesc::SCRATCH_PER_DRAW);
};
