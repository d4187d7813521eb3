//! Captures from host memory to host memory. One call makes many captures in one submission.
//!
//! All requests of a call share these buffers: the capture buffers in device memory, upload memory for the vertex data
//! and for the initial contents of the capture buffers, and readback memory. Each request has its part of each buffer,
//! a *slot*. So thousands of small captures need only one submission. On a slow device the captures are split into
//! several submissions, each with its own buffers.

mod slots;
mod steps;

use ash::vk;
use vkxfb::runtime::{
    Arena, ArenaDesc, ArenaSize, Captured, Draw, MemoryLocation, Pipeline, PipelineUse,
};
use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::PrimitiveTopology;

use self::slots::{COUNTERS, Placed, SLOT, Slots, check_targets, fill, results};
use self::steps::{Buffers, Steps};
use super::pace::work;
use super::{Gpu, GpuError};

/// The contents of the vertex buffer for a binding.
#[derive(Debug, Clone, Copy)]
pub struct VertexData<'a> {
    /// The number of the binding.
    pub binding: u32,
    /// The bytes of the bound range.
    pub bytes: &'a [u8],
}

/// A capture buffer of a request.
#[derive(Debug, Clone, Copy)]
pub struct CaptureTarget<'a> {
    /// The contents of the allocation before the capture: a guard region, the bound range, and
    /// another guard region.
    pub initial: &'a [u8],
    /// The start of the bound range in `initial`, in bytes. It is a multiple of 4.
    pub offset: u64,
    /// The size of the bound range in bytes.
    pub size: u64,
}

/// A capture, from Begin to End.
#[derive(Debug, Clone, Copy)]
pub struct CaptureRequest<'a> {
    /// The pipeline that captures. A graphics pipeline must be created for [`Gpu::render_pass`].
    pub pipeline: &'a Pipeline,
    /// The vertex buffers.
    pub vertex_data: &'a [VertexData<'a>],
    /// The descriptor sets to bind, beginning with set 0.
    pub descriptor_sets: &'a [vk::DescriptorSet],
    /// The push constants of each draw, from byte 0 on. If there are more draws than elements, the
    /// last element is for the remaining draws.
    pub push_constants: &'a [Vec<u8>],
    /// The draws, in order.
    pub draws: &'a [(PrimitiveTopology, Draw)],
    /// The contents of an index buffer. Each draw reads the first `vertex_count` of these indices, and adds the
    /// `first_vertex` of the draw to them. Empty if the draws are not indexed.
    pub indices: &'a [u32],
    /// The capture buffers, by their number. `None` for a buffer that is not bound.
    pub buffers: &'a [Option<CaptureTarget<'a>>],
    /// Whether End writes a counter for each buffer. The vertex backend cannot write counters.
    pub counters: bool,
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureResult {
    /// The numbers of primitives, and the ends of the captured data, which the recorder computed. The default value if
    /// only the device knows them, as for a geometry shader.
    pub captured: Captured,
    /// The contents of the allocation of each buffer after the capture, including the guard
    /// regions.
    pub buffers: Vec<Option<Vec<u8>>>,
    /// The counter of each buffer after End: bytes from the start of the bound range. `None` if
    /// [counters](CaptureRequest::counters) were not requested.
    pub counters: [Option<u32>; MAX_XFB_BUFFERS],
}

/// A step of [`Gpu::capture`] that tests can leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The host flushes the memory that it has written.
    Flush,
    /// The host invalidates the memory that it reads.
    Invalidation,
    /// The device executes the submission.
    Submission,
    /// The device copies the initial contents to the capture buffers.
    CopyIn,
    /// The device executes the captures.
    Capture,
    /// The device copies the capture buffers to the readback memory.
    CopyBack,
}

impl Gpu {
    /// Makes captures, in order, and returns the contents of their buffers.
    ///
    /// Before each copy to the capture buffers or to the readback memory, the destination of the copy is filled with a
    /// constant of [`Fill`](crate::sentinel::Fill). If the copy has no effect, that constant is in the results.
    ///
    /// The captures are in one submission, unless that would probably exceed the [time
    /// limit](Self::set_submission_limit). A native capture also begins a new submission, and so a new command buffer,
    /// if it leaves a buffer unbound that an earlier capture bound: in the same command buffer, that buffer would still
    /// be bound.
    ///
    /// # Errors
    /// [`GpuError::TargetRange`], [`GpuError::Capture`] with the first request that cannot be recorded, the errors of
    /// [`submit`](Self::submit), or a failed allocation.
    ///
    /// # Safety
    /// The pipelines and descriptor sets are of this device. On the native and vertex backends the
    /// draws stay within their vertex data.
    pub unsafe fn capture(
        &mut self,
        requests: &[CaptureRequest<'_>],
    ) -> Result<Vec<CaptureResult>, GpuError> {
        let mut results = Vec::with_capacity(requests.len());
        for mut batch in batches(requests) {
            while !batch.is_empty() {
                let count = self.pace.fitting(batch.iter().map(work));
                let (now, later) = batch.split_at(count);
                batch = later;
                let first = results.len();
                self.fail_if_injected(now)?;
                let captured = unsafe { self.capture_batch(now) };
                let mut captured = captured.map_err(|error| error.offset_capture(first))?;
                for (request, result) in now.iter().zip(&mut captured) {
                    self.swap_if_injected(request, result);
                }
                results.extend(captured);
            }
        }
        Ok(results)
    }

    /// Makes captures in a single submission. If the capture buffers are too large for that, the copies to and from
    /// them are in submissions of their own.
    ///
    /// # Safety
    /// The pipelines and descriptor sets are of this device. On the native and vertex backends the draws stay within
    /// their vertex data. The requests are within one of the slices that [`batches`] returns.
    unsafe fn capture_batch(
        &mut self,
        requests: &[CaptureRequest<'_>],
    ) -> Result<Vec<CaptureResult>, GpuError> {
        let (mut target_slots, mut vertex_slots) = (Slots::default(), Slots::default());
        let mut placed = Vec::with_capacity(requests.len());
        for (capture, request) in requests.iter().enumerate() {
            check_targets(capture, request)?;
            let targets = request.buffers.iter();
            let vertices = request.vertex_data.iter();
            placed.push(Placed {
                request,
                targets: targets
                    .map(|b| b.as_ref().map(|b| target_slots.take(b.initial.len())))
                    .collect(),
                vertices: vertices.map(|v| vertex_slots.take(v.bytes.len())).collect(),
                indices: vertex_slots.take(size_of_val(request.indices)),
                counters: request.counters.then(|| target_slots.take(COUNTERS)),
            });
        }
        let (targets, vertices) = (target_slots.size.max(SLOT), vertex_slots.size.max(SLOT));
        let (capture_usage, vertex_usage) = self.usages();
        let none = vk::BufferUsageFlags::empty();
        let upload = self.upload_location();
        let arena = arena_for(requests);
        self.with_buffer(targets, capture_usage, MemoryLocation::Device, |gpu, targets| {
            gpu.with_buffer(vertices, vertex_usage, upload, |gpu, vertices| {
                // The initial contents are copied from `initial`, and the results to `back`.
                gpu.with_buffer(targets.size(), none, upload, |gpu, initial| {
                    gpu.with_buffer(targets.size(), none, MemoryLocation::Readback, |gpu, back| {
                        fill(&placed, initial, vertices, back);
                        for filled in [&*initial, vertices, back] {
                            gpu.flush(filled)?;
                        }
                        let mut arena = gpu.create_arena(arena)?;
                        let buffers = Buffers { targets, vertices, initial, back };
                        let captured = unsafe { gpu.run(&placed, &buffers, &mut arena) };
                        gpu.destroy_arena(arena);
                        let bytes = captured.and_then(|c| Ok((c, gpu.host_bytes(back)?)));
                        bytes.map(|(captured, bytes)| results(&placed, captured, &bytes))
                    })
                })
            })
        })
    }

    /// Returns the usage flags of capture buffers with counters, and those of vertex and index buffers. Both contain
    /// the flags that any of the device's backends needs.
    fn usages(&self) -> (vk::BufferUsageFlags, vk::BufferUsageFlags) {
        let none = (vk::BufferUsageFlags::empty(), vk::BufferUsageFlags::empty());
        let ctx = &self.context;
        self.backends().iter().fold(none, |(capture, vertex), &backend| {
            let (mut capture, mut vertex) = (
                capture | ctx.buffer_usages(backend).capture,
                vertex | ctx.buffer_usages(backend).vertex,
            );
            if backend != Backend::Vertex {
                capture |= ctx.buffer_usages(backend).counter;
                vertex |= ctx.buffer_usages(backend).index;
            }
            (capture, vertex)
        })
    }

    /// Records and submits the requests. The capture buffers are filled before the captures, and copied to readback
    /// memory after them. If the capture buffers are too large for a single submission, the copies to and from them are
    /// split into ranges of bytes, each with its own submission.
    ///
    /// # Safety
    /// The pipelines and descriptor sets are of this device. On the native and vertex backends the draws stay within
    /// their vertex data. The buffers contain the slots (the parts of the buffers) of the requests in `placed`.
    unsafe fn run(
        &mut self,
        placed: &[Placed<'_>],
        buffers: &Buffers<'_>,
        arena: &mut Arena,
    ) -> Result<Vec<Captured>, GpuError> {
        let mut backends: Vec<Backend> =
            placed.iter().map(|p| p.request.pipeline.backend()).collect();
        backends.sort_unstable();
        backends.dedup();
        let steps = Steps {
            placed,
            buffers,
            backends,
            kernels: self.kernels(),
            render_pass: self.render_pass,
            framebuffer: self.framebuffer,
            omitted: self.omitted,
        };
        let all_work = placed.iter().map(|place| work(place.request)).sum();
        let size = buffers.targets.size();
        let at_a_time = self.pace.copy();
        if size <= at_a_time {
            let (captured, time) = self.submit_timed(|ctx, cmd| {
                // SAFETY: the caller's contract; the copied part is the whole of the buffers.
                unsafe {
                    steps.copy_in(ctx, cmd, 0, size);
                    let captured = steps.capture(ctx, cmd, arena)?;
                    steps.copy_back(ctx, cmd, 0, size);
                    Ok(captured)
                }
            })?;
            self.pace.measured(all_work, time);
            return Ok(captured);
        }
        let parts = (0..size.div_ceil(at_a_time)).map(|part| {
            let start = part * at_a_time;
            (start, at_a_time.min(size - start))
        });
        for (start, size) in parts.clone() {
            self.submit(|ctx, cmd| {
                // SAFETY: the caller's contract; the part is within the buffers.
                unsafe { steps.copy_in(ctx, cmd, start, size) };
                Ok(())
            })?;
        }
        // SAFETY: the caller's contract; the copies to the buffers have finished.
        let captured = self.submit_timed(|ctx, cmd| unsafe { steps.capture(ctx, cmd, arena) });
        let (captured, time) = captured?;
        self.pace.measured(all_work, time);
        for (start, size) in parts {
            self.submit(|ctx, cmd| {
                // SAFETY: the caller's contract; the part is within the buffers.
                unsafe { steps.copy_back(ctx, cmd, start, size) };
                Ok(())
            })?;
        }
        Ok(captured)
    }
}

/// Splits requests into slices of consecutive requests, whose captures may be in one command buffer. A native capture
/// begins a new slice if it leaves a buffer unbound that an earlier capture bound, because the buffer would still be
/// bound in the same command buffer.
fn batches<'a, 'b>(
    requests: &'a [CaptureRequest<'b>],
) -> impl Iterator<Item = &'a [CaptureRequest<'b>]> {
    let mut rest = requests;
    std::iter::from_fn(move || {
        let mut bound = [false; MAX_XFB_BUFFERS];
        let len = rest.iter().take_while(|request| {
            if request.pipeline.backend() != Backend::Native {
                return true;
            }
            let is_bound = |i: usize| request.buffers.get(i).is_some_and(Option::is_some);
            let mut captured = request.pipeline.layout().buffers();
            if captured.any(|(i, _)| bound.get(i) == Some(&true) && !is_bound(i)) {
                return false;
            }
            for (i, bound) in bound.iter_mut().enumerate() {
                *bound |= is_bound(i);
            }
            true
        });
        let (batch, others) = rest.split_at(len.count());
        rest = others;
        (!batch.is_empty()).then_some(batch)
    })
}

/// How a capture uses its pipeline.
fn use_of<'a>(request: &CaptureRequest<'a>) -> PipelineUse<'a> {
    let primitives = request.draws.iter().map(|(topology, draw)| {
        // A patch has at least one vertex, so there are at most as many patches as vertices.
        let of_instance = match topology {
            PrimitiveTopology::PatchList => draw.vertex_count.into(),
            topology => topology.primitive_count(draw.vertex_count),
        };
        of_instance.saturating_mul(draw.instance_count.into())
    });
    PipelineUse {
        pipeline: request.pipeline,
        binds: request.push_constants.len().max(1) as u64,
        draws: request.draws.len() as u64,
        primitives: primitives.fold(0, u64::saturating_add),
        unknown_draws: 0,
    }
}

/// The arena for captures, which has room for all of them.
fn arena_for(requests: &[CaptureRequest<'_>]) -> ArenaSize {
    let pipelines: Vec<_> = requests.iter().map(use_of).collect();
    let draws = pipelines.iter().map(|used| used.draws).sum();
    ArenaDesc { pipelines: &pipelines, ..ArenaDesc::new(requests.len() as u64, draws) }.into()
}
