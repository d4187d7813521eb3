//! Captures by compute, with the crate's interface.

use std::fmt;

use ash::vk;
use vkxfb::lower::compute::{self, WorkgroupSizes};
use vkxfb::lower::{Backend, LowerError, Lowered, Shader};
use vkxfb::runtime::{
    Arena, ArenaDesc, ArenaSize, Capture, CaptureBuffer, CaptureDesc, ConsumerScope, Context,
    CounterBuffer, IndexBuffer, Kernels, Pipeline, PipelineDesc, PipelineUse, QueryKind, QueryPool,
    Recorder, RuntimeError, VertexBuffer,
};
use vkxfb_probe::gpu::{Gpu, GpuError};

use crate::case::{Call, Case, How, Query, Section, Span};
use crate::common::commands::{self, Range};
use crate::common::test_device::TestDevice;
use crate::compile::Modules;
use crate::native::Found;

/// Returns the smallest arena that the documentation of [`ArenaDesc`] allows.
fn arena(case: &Case, pipeline: &Pipeline) -> ArenaSize {
    let queried = case.queries.iter().map(|query| query.stream + 1).max().unwrap_or(1);
    let captures = case.sections.len() as u64;
    // Of draws that the CPU knows, and of others.
    let (mut draws, mut primitives, mut restarted_draws) = ([0u64; 2], 0, 0);
    let indices = case.indices.size / u64::from(case.index_type.size());
    for draw in case.sections.iter().flat_map(|section| &section.draws) {
        let restarted = case.restart && draw.indexed;
        match draw.how {
            How::Direct => {
                for Call { count, instance_count, .. } in &draw.calls {
                    draws[0] += 1;
                    primitives += u64::from(*instance_count)
                        * match restarted {
                            true => u64::from(*count),
                            false => case.topology.primitive_count(*count),
                        };
                }
            }
            How::Indirect { most, .. } => draws[1] += u64::from(most.max(1)),
            _ => draws[1] += 1,
        }
        restarted_draws += u64::from(restarted);
    }
    let used = PipelineUse {
        pipeline,
        binds: captures,
        draws: draws[0] + draws[1],
        primitives,
        unknown_draws: draws[1],
    };
    ArenaSize::from(ArenaDesc {
        queries: case.queries.len() as u64 * captures,
        queried_streams: queried.into(),
        restarted_draws,
        restarted_indices: restarted_draws * indices,
        pipelines: &[used],
        ..ArenaDesc::new(captures, draws[0] + draws[1])
    })
}

/// The reason why there is no result.
pub enum Failure {
    Lower(LowerError),
    Gpu(GpuError),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lower(error) => error.fmt(f),
            Self::Gpu(error) => write!(f, "{error:?}"),
        }
    }
}

impl From<GpuError> for Failure {
    fn from(error: GpuError) -> Self {
        Self::Gpu(error)
    }
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Self {
        Self::Gpu(error.into())
    }
}

/// Lowers the shaders of a case for the compute backend.
pub fn lower(gpu: &Gpu, case: &Case, modules: &Modules) -> Result<Lowered, Failure> {
    let vertex_input = case.vertex_input();
    let vertex = Shader::new(&modules.vertex);
    // None, room for what most workgroups emit, and for what some of them do.
    let most = gpu.capabilities().limits.max_shared_memory;
    let staging = [0, most.min(32 << 10), 4 << 10][(case.seed % 3) as usize];
    let mut target = gpu.compute_target(Backend::Compute)?.staging(staging);
    target.selects_elements = case.seed.is_multiple_of(2);
    // Workgroups that do not fill blocks of entries, others for restarted draws, and many.
    target.workgroup_sizes = match case.seed % 15 {
        0 => WorkgroupSizes::all(96),
        3 => WorkgroupSizes::all(64).restarted(8),
        6 => WorkgroupSizes::all(8).restarted(64),
        9 => WorkgroupSizes::all(64).restarted(96),
        12 => WorkgroupSizes::all(8),
        _ => target.workgroup_sizes,
    };
    let options = compute::Options::new(&vertex_input).vertex_shader(&vertex).target(target);
    compute::lower(&Shader::new(&modules.geometry), &options).map_err(Failure::Lower)
}

/// Captures a case, and returns its memory and queries.
pub fn run(gpu: &mut TestDevice, case: &Case, lowered: &Lowered) -> Result<Found, Failure> {
    let vertex_input = case.vertex_input();
    let desc = PipelineDesc {
        topology: Some(case.topology.into()),
        specialize_topology: !case.seed.is_multiple_of(4),
        provoking_vertex: case.provoking,
        primitive_restart: case.restart,
        vertex_input: Some(&vertex_input),
        ..PipelineDesc::new(lowered)
    };
    let pipeline = gpu.try_pipeline(&desc)?;
    let ctx = gpu.context();
    let usage = ctx.buffer_usages(Backend::Compute).capture
        | ctx.buffer_usages(Backend::Compute).vertex
        | ctx.buffer_usages(Backend::Compute).index
        | ctx.buffer_usages(Backend::Compute).indirect
        | ctx.buffer_usages(Backend::Compute).counter;
    let memory = gpu.filled(usage, &case.image);
    let count = case.queries.len().max(1) as u32;
    let pools = [
        gpu.query_pool(QueryKind::TransformFeedbackStream, count),
        gpu.query_pool(QueryKind::PrimitivesGenerated, count),
    ];
    let mut arena = gpu.arena(arena(case, &pipeline));
    let kernels = gpu.kernels();
    gpu.submit(|ctx, cmd| {
        let (memory, kernels, pools) =
            (memory.raw(), &kernels, pools.each_ref().map(|pool| &**pool));
        let recording = Recording { ctx, kernels, cmd, case, pipeline: &pipeline, memory, pools };
        // SAFETY: everything outlives the submission, which is waited for.
        Ok(unsafe { recording.record(&mut arena) }?)
    })?;
    let result = |(place, query): (u32, &Query)| {
        // SAFETY: the device is live.
        let result = unsafe { pools[query.kind as usize].result(place) }?;
        Ok(result.map_or([u64::MAX; 2], |result| match query.kind {
            commands::QueryKind::Stream => [result.primitives_written, result.primitives_needed],
            commands::QueryKind::Generated => [result.primitives_needed, result.primitives_written],
        }))
    };
    let queries: Result<_, RuntimeError> = (0..).zip(&case.queries).map(result).collect();
    Ok(Found { image: gpu.contents(&memory), queries: queries? })
}

/// Records the command buffer of a case.
struct Recording<'a> {
    ctx: &'a Context,
    kernels: &'a Kernels,
    cmd: vk::CommandBuffer,
    case: &'a Case,
    pipeline: &'a Pipeline,
    memory: vk::Buffer,
    /// The query pools, by kind.
    pools: [&'a QueryPool; 2],
}

impl Recording<'_> {
    /// # Safety
    /// The command buffer is being recorded, and everything lives until it was executed.
    unsafe fn record(&self, arena: &mut Arena) -> Result<(), RuntimeError> {
        for (number, section) in self.case.sections.iter().enumerate() {
            if number > 0 {
                let (stages, access) = Context::write_scope(Backend::Compute);
                let (more, reads) = Context::argument_scope(Backend::Compute);
                let next = ConsumerScope { stages: stages | more, access: access | reads };
                unsafe { self.ctx.capture_barrier(self.cmd, Backend::Compute, next) };
            }
            unsafe { self.section(arena, number, section) }?;
        }
        Ok(())
    }

    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn section(
        &self,
        arena: &mut Arena,
        number: usize,
        section: &Section,
    ) -> Result<(), RuntimeError> {
        let case = self.case;
        let buffer = self.memory;
        let bound = |Range { offset, size }: Range| CaptureBuffer { buffer, offset, size };
        let captures = case.captures.map(|capture| capture.map(bound));
        let vertices: Vec<VertexBuffer> = (0..)
            .zip(&case.vertices)
            .map(|(binding, bound)| VertexBuffer {
                offset: bound.offset,
                ..VertexBuffer::new(binding, buffer, bound.size)
            })
            .collect();
        let begin = self.counters(&section.begin);
        let desc = CaptureDesc {
            buffers: &captures,
            vertex_buffers: &vertices,
            counters: &begin,
            ..CaptureDesc::new(self.pipeline)
        };
        let is_last = number + 1 == case.sections.len();
        unsafe {
            let mut capture = Capture::new(self.ctx, self.kernels);
            let mut recorder = Recorder::begin(&mut capture, arena, self.cmd, &desc)?;
            let indices = IndexBuffer::new(buffer, case.indices.size, case.index_type);
            recorder.bind_index_buffer(&IndexBuffer { offset: case.indices.offset, ..indices })?;
            let whole = |span: &Span| *span == Span::Whole;
            // A query goes on where the next recorder begins it again.
            self.begin_queries(&mut recorder, whole)?;
            for (place, draw) in section.draws.iter().enumerate() {
                let is_at = |span: &Span, end: fn(&std::ops::Range<usize>) -> usize| {
                    matches!(span, Span::Draws { section, draws }
                        if *section == number && end(draws) == place)
                };
                self.begin_queries(&mut recorder, |span| is_at(span, |draws| draws.start))?;
                draw.command().record(&mut recorder, case.topology, buffer)?;
                self.end_queries(&mut recorder, |span| is_at(span, |draws| draws.end - 1))?;
            }
            if is_last {
                self.end_queries(&mut recorder, whole)?;
            }
            recorder.end(&self.counters(&section.end))?;
        }
        Ok(())
    }

    fn counters(&self, given: &[bool; 4]) -> [Option<CounterBuffer>; 4] {
        let counters = self.case.counters_of(given);
        [0, 1, 2, 3].map(|b| Some(CounterBuffer { buffer: self.memory, offset: counters.of(b)? }))
    }

    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn begin_queries(
        &self,
        recorder: &mut Recorder<'_>,
        which: impl Fn(&Span) -> bool,
    ) -> Result<(), RuntimeError> {
        for (place, query) in (0..).zip(&self.case.queries) {
            if which(&query.span) {
                unsafe { recorder.begin_query(self.pool(query.kind), place, query.stream) }?;
            }
        }
        Ok(())
    }

    fn end_queries(
        &self,
        recorder: &mut Recorder<'_>,
        which: impl Fn(&Span) -> bool,
    ) -> Result<(), RuntimeError> {
        for query in self.case.queries.iter().filter(|query| which(&query.span)) {
            recorder.end_query(self.pool(query.kind).kind(), query.stream)?;
        }
        Ok(())
    }

    const fn pool(&self, kind: commands::QueryKind) -> &QueryPool {
        self.pools[kind as usize]
    }
}
