//! How much memory recordings take from an arena: an [`ArenaSize`] adds up what an [`ArenaDesc`] counts.

use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::sysval::Batch;
use vkxfb_rewriter::sysval::entries::{
    ENTRIES_PER_BLOCK, ENTRY_BLOCK_SIZE, ENTRY_SIZE, Entries, EntryJob, EntrySums, EntryTables,
    PlaceEntries,
};
use vkxfb_rewriter::sysval::setup::restart_tables_size;

use crate::runtime::device::context::{MAX_ENTRIES, MAX_SHARED_WORKGROUPS};
use crate::runtime::memory::arena::{ArenaSize, aligned};
use crate::runtime::memory::buffers::ALIGNMENT;
use crate::runtime::pipelines::pipeline::Pipeline;
use crate::runtime::recording::collect::most_slices;
use crate::runtime::recording::plan::{LISTED_BYTES, most_entries};

/// What is recorded with an arena until it is [reset](crate::runtime::Arena::reset). It is an estimate: one that is too
/// small causes no error if the arena may [grow](crate::runtime::Arena::growing).
///
/// Later versions may add members, so end a value of this type with `..ArenaDesc::new(captures, draws)`:
///
/// ```
/// use vkxfb::ArenaDesc;
/// use vkxfb::runtime::ArenaSize;
///
/// // A capture that draws one strip of 40,000 indices.
/// let strip = ArenaDesc { restarted_draws: 1, restarted_indices: 40_000, ..ArenaDesc::new(1, 1) };
/// assert!(ArenaSize::from(&strip).scratch > ArenaSize::from(&ArenaDesc::new(1, 1)).scratch);
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct ArenaDesc<'a> {
    /// The number of captures. A kernel that is recorded by itself
    /// ([`Kernels::write_draw_commands`](crate::runtime::Kernels::write_draw_commands),
    /// [`QueryPool::copy_results`](crate::runtime::QueryPool::copy_results)) counts as one.
    pub captures: u64,
    /// The number of draws of all captures. Each draw of a multi-draw counts, an indirect command counts once.
    pub draws: u64,
    /// The number of draws that indirect commands have beyond the first, for each command `draw_count` less 1. Of a
    /// command with a large `draw_count` no more draws need to be counted than records fit into the smallest capture
    /// buffer.
    pub indirect_draws: u64,
    /// How often queries end.
    pub queries: u64,
    /// One more than the largest number of a vertex stream that queries count: 1 if there are none.
    pub queried_streams: u64,
    /// How many of the draws have primitive restart. Indirect draws of one capture count as one if they have the same
    /// index range, index type, restart index and topology.
    pub restarted_draws: u64,
    /// The number of indices of all these draws, within the bound range. For indirect draws it is the number of all
    /// indices in the bound range.
    pub restarted_indices: u64,
    /// The pipelines that have several vertex attributes, push constants, tessellation or geometry shaders. Others may
    /// be left out.
    pub pipelines: &'a [PipelineUse<'a>],
}

/// How a pipeline is used in the recordings of an [`ArenaDesc`]. Only captures of one command buffer share the memory of
/// tessellation and geometry shaders: list such a pipeline once for each command buffer.
///
/// Later versions may add members, so end a value of this type with `..PipelineUse::new(pipeline, binds)`.
#[derive(Debug, Clone, Copy)]
pub struct PipelineUse<'a> {
    /// The pipeline.
    pub pipeline: &'a Pipeline,
    /// The number of captures with the pipeline, and of changes of the pipeline, the vertex buffers or the push
    /// constants between the draws of a capture.
    pub binds: u64,
    /// The number of draws with the pipeline. It matters only for tessellation and geometry shaders, like the members
    /// below.
    pub draws: u64,
    /// The number of input primitives or patches of all these draws and their instances, except for `unknown_draws`.
    /// With primitive restart it is the number of indices.
    pub primitives: u64,
    /// How many of the draws are indirect draws, byte-count draws or draws under conditional rendering, whose number of
    /// primitives only the GPU knows. Together those of a command buffer take 8 MiB.
    pub unknown_draws: u64,
}

impl ArenaDesc<'_> {
    /// The largest amount of upload memory that a draw takes, in bytes.
    const UPLOAD_PER_DRAW: u64 = 280;
    /// The largest amount of scratch memory that a draw takes, in bytes.
    const SCRATCH_PER_DRAW: u64 = 144;
    /// The largest amount of upload memory in bytes that a capture takes in addition to its draws.
    const UPLOAD_PER_SETUP: u64 = 512;
    /// The largest amount of scratch memory in bytes that a capture takes in addition to its draws.
    const SCRATCH_PER_SETUP: u64 = 64;

    /// Describes `captures` captures that have `draws` draws in all, without primitive restart, of shaders that have at
    /// most one attribute and read no push constants.
    pub const fn new(captures: u64, draws: u64) -> Self {
        Self {
            captures,
            draws,
            indirect_draws: 0,
            queries: 0,
            queried_streams: 1,
            restarted_draws: 0,
            restarted_indices: 0,
            pipelines: &[],
        }
    }

    /// The number of vertex streams of which captures may consist. Each of them takes memory as a capture of its own.
    fn streams(&self) -> u64 {
        let captured = self.pipelines.iter().map(|used| u64::from(used.pipeline.stream_count()));
        captured.fold(self.queried_streams.max(1), u64::max)
    }
}

impl From<&ArenaDesc<'_>> for ArenaSize {
    /// Adds up what the recordings take.
    fn from(desc: &ArenaDesc<'_>) -> Self {
        let streams = desc.streams();
        let captures = desc.captures.saturating_mul(streams);
        // The end of a query takes as much as a draw.
        let draws = desc.draws.saturating_add(desc.queries).saturating_mul(streams);
        let indirect = desc.indirect_draws.saturating_mul(streams);
        let upload = captures
            .saturating_mul(ArenaDesc::UPLOAD_PER_SETUP)
            .saturating_add(draws.saturating_mul(ArenaDesc::UPLOAD_PER_DRAW));
        let restarts = restart_tables_size(desc.restarted_draws, desc.restarted_indices);
        let scratch = captures
            .saturating_mul(ArenaDesc::SCRATCH_PER_SETUP)
            .saturating_add(draws.saturating_mul(ArenaDesc::SCRATCH_PER_DRAW))
            .saturating_add(indirect.saturating_mul(ArenaDesc::SCRATCH_PER_DRAW))
            .saturating_add(restarts.saturating_mul(streams));
        // One set for the draws of a capture, and one for its kernels.
        let sets = captures.saturating_mul(2).min(u32::MAX.into()) as u32;
        let size = Self { upload, scratch, descriptor_sets: sets };
        desc.pipelines.iter().fold(size, |size, used| used.add_to(size, streams))
    }
}

impl From<ArenaDesc<'_>> for ArenaSize {
    fn from(desc: ArenaDesc<'_>) -> Self {
        Self::from(&desc)
    }
}

impl From<&Self> for ArenaSize {
    fn from(size: &Self) -> Self {
        *size
    }
}

impl<'a> PipelineUse<'a> {
    /// Describes a pipeline without tessellation and geometry shaders, which is bound `binds` times.
    pub const fn new(pipeline: &'a Pipeline, binds: u64) -> Self {
        Self { pipeline, binds, draws: 0, primitives: 0, unknown_draws: 0 }
    }

    /// Adds what the attributes, push constants and later stages of the pipeline take in captures of `streams` vertex
    /// streams.
    fn add_to(&self, size: ArenaSize, streams: u64) -> ArenaSize {
        let pipeline = self.pipeline;
        let constants = pipeline.push_constants();
        let constants = aligned(u64::from(constants.end.saturating_sub(constants.start)));
        let bytes = aligned(pipeline.attribute_bytes()).saturating_add(constants);
        let bytes = bytes.saturating_mul(self.binds).saturating_mul(streams);
        let size = ArenaSize { upload: size.upload.saturating_add(bytes), ..size };
        let known = self.draws.saturating_sub(self.unknown_draws);
        let size = self.add_later_stages(size, known, self.primitives);
        match self.unknown_draws {
            0 => size,
            draws => self.add_later_stages(size, draws, u64::MAX),
        }
    }

    /// Adds what `draws` draws take in geometry and tessellation shaders. `primitives` is the number of input
    /// primitives or patches of all draws and instances, or `u64::MAX` if only the GPU knows it.
    ///
    /// The size does not depend on what the shader emits: it is 8 to 16 bytes per primitive, up to about 64 MiB, and
    /// a little per draw. For patches it is 8 to 16 bytes for each slice (consecutive primitives of a patch). All
    /// vertex streams are included.
    fn add_later_stages(&self, size: ArenaSize, draws: u64, primitives: u64) -> ArenaSize {
        let pipeline = self.pipeline;
        if pipeline.geometry().is_none() || pipeline.backend() != Backend::Compute {
            return size;
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
        ArenaSize {
            upload: size
                .upload
                .saturating_add(lists.saturating_mul(streams))
                .saturating_add(each(size_of::<Entries>() + size_of::<EntryJob>()))
                .saturating_add(draws.saturating_mul(once as u64)),
            scratch: size
                .scratch
                .saturating_add(shared.saturating_mul(block * ENTRY_SIZE + ENTRY_BLOCK_SIZE))
                .saturating_add(each(size_of::<Entries>() + size_of::<Batch>())),
            ..size
        }
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
