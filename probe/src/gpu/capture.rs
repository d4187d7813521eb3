//! Captures from bytes to bytes, many in one submission.
//!
//! All requests of a call share three buffers: what they capture to, in device memory; what that
//! starts as and the vertex data, in upload memory; what is read back. Each request has slots of its
//! own in them, so that thousands of small captures cost one submission.

mod slots;

use ash::vk;
use vkxfb::capture::MAX_XFB_BUFFERS;
use vkxfb::lower::Backend;
use vkxfb::runtime::{
    Arena, ArenaDesc, Buffer, Capture, CaptureBuffer, CaptureDesc, Captured, ConsumerScope,
    Context, Draw, Kernels, MemoryLocation, Pipeline, Recorder, RuntimeError, VertexBuffer,
};
use vkxfb::topology::PrimitiveTopology;

use self::slots::{Placed, SLOT, Slots, check_targets, fill, results};
use super::buffers::transfer_to_host;
use super::{Gpu, GpuError, begin_render_pass};
use crate::sentinel::Fill;

/// What is bound to a vertex binding.
#[derive(Debug, Clone, Copy)]
pub struct VertexData<'a> {
    /// Number of the binding.
    pub binding: u32,
    /// The bound range.
    pub bytes: &'a [u8],
}

/// What is captured to.
#[derive(Debug, Clone, Copy)]
pub struct CaptureTarget<'a> {
    /// What the buffer holds before: the bound range, and guard areas before and behind it.
    pub initial: &'a [u8],
    /// Start of the bound range in `initial`, a multiple of 4.
    pub offset: u64,
    /// Bytes of the bound range.
    pub size: u64,
}

/// One Begin/End.
#[derive(Debug, Clone, Copy)]
pub struct CaptureRequest<'a> {
    /// The pipeline, whose backend captures. Graphics pipelines are made for
    /// [`Gpu::render_pass`].
    pub pipeline: &'a Pipeline,
    /// Vertex buffers.
    pub vertex_data: &'a [VertexData<'a>],
    /// Bound to the sets from 0 on.
    pub descriptor_sets: &'a [vk::DescriptorSet],
    /// Push constants from byte 0 on, which the draw of the same number finds, and those behind the last.
    pub push_constants: &'a [Vec<u8>],
    /// The draws, in order.
    pub draws: &'a [(PrimitiveTopology, Draw)],
    /// The capture buffers, by their `XfbBuffer` number.
    pub buffers: &'a [Option<CaptureTarget<'a>>],
}

/// What a request gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureResult {
    /// Counts and positions, as the recorder computed them.
    pub captured: Captured,
    /// Each buffer as it is afterwards, guard areas included.
    pub buffers: Vec<Option<Vec<u8>>>,
}

/// A step of [`Gpu::capture`].
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Every submission, of this device.
    Submission,
    /// The copy of what capture buffers hold before.
    CopyIn,
    /// The captures.
    Capture,
    /// The copy of what they hold afterwards.
    CopyBack,
}

impl Gpu {
    /// Runs captures, in order, and reads their buffers back.
    ///
    /// Memory that is copied to is filled with the constants of [`Fill`] before, so that who compares sees
    /// which step did nothing where one did.
    ///
    /// They go in one submission, but for native ones that leave out a buffer which an earlier one
    /// bound: that takes a fresh command buffer.
    ///
    /// # Errors
    /// [`GpuError::TargetRange`], [`GpuError::Capture`] with the first request that cannot be
    /// recorded, those of [`submit`](Self::submit), or a failed allocation.
    ///
    /// # Safety
    /// The pipelines and descriptor sets are of this device. On the native and vertex backends the
    /// draws stay within their vertex data.
    pub unsafe fn capture(
        &mut self,
        requests: &[CaptureRequest<'_>],
    ) -> Result<Vec<CaptureResult>, GpuError> {
        self.fail_if_injected(requests)?;
        let mut results = Vec::with_capacity(requests.len());
        for batch in batches(requests) {
            let first = results.len();
            // SAFETY: the caller's contract.
            let batch = unsafe { self.capture_batch(batch) };
            results.extend(batch.map_err(|error| error.offset_capture(first))?);
        }
        Ok(results)
    }

    /// Runs captures in one submission.
    ///
    /// # Safety
    /// As [`capture`](Self::capture); [`batches`] put them together.
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
            });
        }
        let (targets, vertices) = (target_slots.size.max(SLOT), vertex_slots.size.max(SLOT));
        let (capture_usage, vertex_usage) = self.usages();
        let none = vk::BufferUsageFlags::empty();
        let arena = arena_for(requests);
        self.with_buffer(targets, capture_usage, MemoryLocation::Device, |gpu, targets| {
            gpu.with_buffer(vertices, vertex_usage, MemoryLocation::Upload, |gpu, vertices| {
                // What the targets start as goes to them through here, and what they become comes
                // back.
                gpu.with_buffer(targets.size(), none, MemoryLocation::Upload, |gpu, initial| {
                    gpu.with_buffer(targets.size(), none, MemoryLocation::Readback, |gpu, back| {
                        fill(&placed, initial, vertices, back);
                        // SAFETY: it was made with the context, and nothing is in flight.
                        unsafe { back.flush(&gpu.context) }?;
                        let mut arena = gpu.create_arena(&arena)?;
                        let buffers = Buffers { targets, vertices, initial, back };
                        // SAFETY: the caller's contract.
                        let captured = unsafe { gpu.run(&placed, &buffers, &mut arena) };
                        gpu.destroy_arena(arena);
                        let bytes = captured.and_then(|c| Ok((c, gpu.host_bytes(back)?)));
                        bytes.map(|(captured, bytes)| results(&placed, captured, &bytes))
                    })
                })
            })
        })
    }

    /// Usage of capture buffers and of vertex buffers for every backend of the device.
    fn usages(&self) -> (vk::BufferUsageFlags, vk::BufferUsageFlags) {
        let none = (vk::BufferUsageFlags::empty(), vk::BufferUsageFlags::empty());
        self.backends().iter().fold(none, |(capture, vertex), &backend| {
            (
                capture | self.context.capture_buffer_usage(backend),
                vertex | self.context.vertex_buffer_usage(backend),
            )
        })
    }

    /// Records and submits everything.
    ///
    /// # Safety
    /// As [`capture`](Self::capture); the buffers hold the slots of `placed`.
    unsafe fn run(
        &mut self,
        placed: &[Placed<'_>],
        buffers: &Buffers<'_>,
        arena: &mut Arena,
    ) -> Result<Vec<Captured>, GpuError> {
        let (render_pass, framebuffer) = (self.render_pass, self.framebuffer);
        let kernels = self.kernels();
        let mut backends: Vec<Backend> =
            placed.iter().map(|p| p.request.pipeline.backend()).collect();
        backends.sort_unstable();
        backends.dedup();
        let size = buffers.targets.size();
        let whole = vk::BufferCopy { src_offset: 0, dst_offset: 0, size };
        let omitted = self.omitted;
        self.submit(|ctx, cmd| {
            let device = ctx.device();
            let (targets, back) = (buffers.targets.raw(), buffers.back.raw());
            // SAFETY: fills and copies are of the whole of buffers of one size; barriers stand outside of
            // the render pass instance.
            unsafe {
                for (buffer, fill) in [(targets, Fill::BeforeCopyIn), (back, Fill::BeforeCopyBack)]
                {
                    device.cmd_fill_buffer(cmd, buffer, 0, vk::WHOLE_SIZE, fill.dword());
                }
                fills_to_copies(ctx, cmd);
                if omitted != Some(Step::CopyIn) {
                    device.cmd_copy_buffer(cmd, buffers.initial.raw(), targets, &[whole]);
                }
                transfer_to_captures(ctx, cmd, &backends);
            }
            let mut inside = false;
            let mut all = Vec::with_capacity(placed.len());
            for (capture, place) in placed.iter().enumerate() {
                if omitted == Some(Step::Capture) {
                    all.push(Captured::default());
                    continue;
                }
                let graphics = place.request.pipeline.backend() != Backend::Compute;
                // SAFETY: the command buffer is where `inside` says.
                unsafe {
                    match (inside, graphics) {
                        (false, true) => begin_render_pass(ctx, cmd, render_pass, framebuffer),
                        (true, false) => device.cmd_end_render_pass(cmd),
                        (false, false) | (true, true) => {}
                    }
                }
                inside = graphics;
                // SAFETY: the caller's contract; the slots of different requests do not overlap.
                let captured = unsafe { record(ctx, &kernels, cmd, place, buffers, arena) };
                all.push(captured.map_err(|source| GpuError::Capture { capture, source })?);
            }
            // SAFETY: as above.
            unsafe {
                if inside {
                    device.cmd_end_render_pass(cmd);
                }
                for &backend in &backends {
                    ctx.capture_barrier(cmd, backend, ConsumerScope::TRANSFER);
                }
                if omitted != Some(Step::CopyBack) {
                    device.cmd_copy_buffer(cmd, targets, back, &[whole]);
                }
                transfer_to_host(ctx, cmd);
            }
            Ok(all)
        })
    }
}

/// Splits requests where a native one leaves out a buffer that an earlier one bound: within a
/// command buffer that binding would stay.
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

/// The buffers of a call.
struct Buffers<'a> {
    targets: &'a Buffer,
    vertices: &'a Buffer,
    initial: &'a Buffer,
    back: &'a Buffer,
}

/// Records one request.
///
/// # Safety
/// As [`Recorder::begin`].
unsafe fn record(
    ctx: &Context,
    kernels: &Kernels,
    cmd: vk::CommandBuffer,
    place: &Placed<'_>,
    buffers: &Buffers<'_>,
    arena: &mut Arena,
) -> Result<Captured, RuntimeError> {
    let request = place.request;
    let bound: Vec<_> = request
        .buffers
        .iter()
        .zip(&place.targets)
        .map(|(target, start)| {
            let (target, start) = (target.as_ref()?, (*start)?);
            Some(CaptureBuffer {
                buffer: buffers.targets.raw(),
                offset: start + target.offset,
                size: target.size,
            })
        })
        .collect();
    let vertex_buffers: Vec<_> = request
        .vertex_data
        .iter()
        .zip(&place.vertices)
        .map(|(data, &offset)| VertexBuffer {
            binding: data.binding,
            buffer: buffers.vertices.raw(),
            offset,
            size: data.bytes.len() as u64,
            stride: None,
        })
        .collect();
    let pipeline = request.pipeline;
    // SAFETY: the caller's contract.
    unsafe {
        let desc = CaptureDesc {
            pipeline,
            buffers: &bound,
            vertex_buffers: &vertex_buffers,
            counters: &[],
        };
        let mut capture = Capture::new(ctx, kernels);
        let mut recorder = Recorder::begin(&mut capture, arena, cmd, &desc)?;
        recorder.bind_descriptor_sets(0, request.descriptor_sets, &[])?;
        let mut pushed = request.push_constants.iter();
        for (topology, draw) in request.draws {
            if let Some(bytes) = pushed.next() {
                recorder.push_constants(0, bytes)?;
            }
            recorder.draw(*topology, draw)?;
        }
        // Direct draws from the start of the buffers: everything is known.
        Ok(recorder.end(&[])?.captured.unwrap_or_default())
    }
}

/// What the requests take.
fn arena_for(requests: &[CaptureRequest<'_>]) -> ArenaDesc {
    let draws = requests.iter().map(|r| r.draws.len() as u64).sum();
    let desc = ArenaDesc::for_draws(requests.len() as u64, draws);
    let table = |request: &CaptureRequest<'_>| {
        let pipeline = request.pipeline;
        let constants = pipeline.push_constants().len() as u64;
        // Draws that find other constants have attributes of their own beside them.
        let count = request.push_constants.len().max(1) as u64;
        count * (pipeline.attribute_bytes() + constants)
    };
    let tables: u64 = requests.iter().map(table).sum();
    ArenaDesc { upload: desc.upload + tables, ..desc }
}

/// Orders fills before the copies to the same memory. What is copied back is not read by it: see
/// [`transfer_to_captures`].
///
/// # Safety
/// `cmd` is being recorded, outside of a render pass instance.
unsafe fn fills_to_copies(ctx: &Context, cmd: vk::CommandBuffer) {
    let barrier = vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
        .dst_access_mask(vk::AccessFlags::TRANSFER_WRITE);
    let (stage, none) = (vk::PipelineStageFlags::TRANSFER, vk::DependencyFlags::empty());
    // SAFETY: the caller's contract.
    unsafe { ctx.device().cmd_pipeline_barrier(cmd, stage, stage, none, &[barrier], &[], &[]) };
}

/// Makes what the copy wrote available to the captures, and orders them behind it.
///
/// Only to the captures: that the copy back sees it too comes from the barrier behind them
/// ([`Context::capture_barrier`]), by the chain of both. Synchronization validation sees no store
/// through a device address, but it sees those two copies, and so the lack of that barrier.
///
/// # Safety
/// `cmd` is being recorded, outside of a render pass instance, for a queue with the stages of
/// `backends`, of which there is one at least.
unsafe fn transfer_to_captures(ctx: &Context, cmd: vk::CommandBuffer, backends: &[Backend]) {
    let none = (vk::PipelineStageFlags::empty(), vk::AccessFlags::empty());
    let (stages, access) = backends.iter().fold(none, |(stages, access), &backend| {
        let (stage, write) = Context::write_scope(backend);
        (stages | stage, access | write)
    });
    let barrier = vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
        .dst_access_mask(access);
    // SAFETY: the caller's contract.
    unsafe {
        ctx.device().cmd_pipeline_barrier(
            cmd,
            vk::PipelineStageFlags::TRANSFER,
            stages,
            vk::DependencyFlags::empty(),
            &[barrier],
            &[],
            &[],
        );
    }
}
