//! Captures from bytes to bytes, many in one submission.
//!
//! All requests of a call share three buffers: what they capture to, in device memory; what that
//! starts as and the vertex data, in upload memory; what is read back. Each request has slots of its
//! own in them, so that thousands of small captures cost one submission.

use ash::vk;

use super::buffers::{copy_into, transfer_to_host};
use super::{Gpu, GpuError, begin_render_pass};
use crate::lower::Backend;
use crate::runtime::{
    Arena, Buffer, CaptureBuffer, Captured, ConsumerScope, Context, Draw, MemoryLocation, Pipeline,
    Recorder, RuntimeError, VertexBuffer,
};
use crate::topology::PrimitiveTopology;

/// Alignment of a slot in bytes.
const SLOT: u64 = 64;

/// What lies between slots: a read past the end of vertex data finds it.
const FILL: u8 = 0xA5;

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

/// Where the slots of the requests lie.
#[derive(Default)]
struct Slots {
    /// Bytes of all slots.
    size: u64,
}

impl Slots {
    /// Takes the next slot and returns its start.
    fn take(&mut self, len: usize) -> u64 {
        let start = self.size;
        // Never empty, so that the start of each lies within the buffer.
        self.size += (len as u64).max(1).next_multiple_of(SLOT);
        start
    }
}

/// A request with the starts of its slots.
struct Placed<'a> {
    request: &'a CaptureRequest<'a>,
    targets: Vec<Option<u64>>,
    vertices: Vec<u64>,
}

impl Gpu {
    /// Runs captures, in order, in one submission, and reads their buffers back.
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
        let arena_bytes = requests.iter().map(|r| r.pipeline.arena_bytes()).sum();
        self.with_buffer(targets, capture_usage, MemoryLocation::Device, |gpu, targets| {
            gpu.with_buffer(vertices, vertex_usage, MemoryLocation::Upload, |gpu, vertices| {
                // What the targets start as goes to them through here, and what they become comes
                // back.
                gpu.with_buffer(targets.size(), none, MemoryLocation::Upload, |gpu, initial| {
                    gpu.with_buffer(targets.size(), none, MemoryLocation::Readback, |gpu, back| {
                        fill(&placed, initial, vertices);
                        let mut arena = gpu.create_arena(arena_bytes)?;
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
                capture | Context::capture_buffer_usage(backend),
                vertex | Context::vertex_buffer_usage(backend),
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
        let mut backends: Vec<Backend> =
            placed.iter().map(|p| p.request.pipeline.backend()).collect();
        backends.sort_unstable();
        backends.dedup();
        let size = buffers.targets.size();
        let whole = vk::BufferCopy { src_offset: 0, dst_offset: 0, size };
        self.submit(|ctx, cmd| {
            let device = ctx.device();
            // SAFETY: copies are of the whole of buffers of one size; barriers stand outside of the
            // render pass instance.
            unsafe {
                device.cmd_copy_buffer(cmd, buffers.initial.raw(), buffers.targets.raw(), &[whole]);
                transfer_to_captures(ctx, cmd, &backends);
            }
            let mut inside = false;
            let mut all = Vec::with_capacity(placed.len());
            for (capture, place) in placed.iter().enumerate() {
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
                let captured = unsafe { record(ctx, cmd, place, buffers, arena) };
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
                device.cmd_copy_buffer(cmd, buffers.targets.raw(), buffers.back.raw(), &[whole]);
                transfer_to_host(ctx, cmd);
            }
            Ok(all)
        })
    }
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
        })
        .collect();
    let pipeline = request.pipeline;
    // SAFETY: the caller's contract.
    unsafe {
        if !request.descriptor_sets.is_empty() {
            ctx.device().cmd_bind_descriptor_sets(
                cmd,
                pipeline.bind_point(),
                pipeline.raw_layout(),
                0,
                request.descriptor_sets,
                &[],
            );
        }
        let mut recorder = Recorder::begin(ctx, arena, cmd, pipeline, &bound, &vertex_buffers)?;
        for (topology, draw) in request.draws {
            recorder.draw(*topology, draw)?;
        }
        Ok(recorder.end())
    }
}

/// Makes what the copy wrote available to the captures, and orders them behind it.
///
/// # Safety
/// `cmd` is being recorded, outside of a render pass instance, for a queue with the stages of
/// `backends`.
unsafe fn transfer_to_captures(ctx: &Context, cmd: vk::CommandBuffer, backends: &[Backend]) {
    // The copy back reads what was not captured to.
    let copy = (vk::PipelineStageFlags::TRANSFER, vk::AccessFlags::TRANSFER_READ);
    let (stages, access) = backends.iter().fold(copy, |(stages, access), &backend| {
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

/// Checks that every bound range lies within the bytes of its target.
fn check_targets(capture: usize, request: &CaptureRequest<'_>) -> Result<(), GpuError> {
    for (buffer, target) in request.buffers.iter().enumerate() {
        let Some(target) = target else { continue };
        let (offset, size, len) = (target.offset, target.size, target.initial.len() as u64);
        if offset.checked_add(size).is_none_or(|end| end > len) {
            return Err(GpuError::TargetRange { capture, buffer, offset, size, len });
        }
    }
    Ok(())
}

/// Fills the slots.
fn fill(placed: &[Placed<'_>], initial: &mut Buffer, vertices: &mut Buffer) {
    // SAFETY: nothing is in flight, and these buffers were not submitted yet.
    let (initial, vertices) = unsafe { (initial.mapped_mut(), vertices.mapped_mut()) };
    initial.fill(FILL);
    vertices.fill(FILL);
    for place in placed {
        for (target, start) in place.request.buffers.iter().zip(&place.targets) {
            if let (Some(target), Some(start)) = (target, start) {
                copy_into(initial, *start, target.initial);
            }
        }
        for (data, start) in place.request.vertex_data.iter().zip(&place.vertices) {
            copy_into(vertices, *start, data.bytes);
        }
    }
}

/// Takes the slots of each request out of what was read back.
fn results(placed: &[Placed<'_>], captured: Vec<Captured>, bytes: &[u8]) -> Vec<CaptureResult> {
    let slot = |start: u64, len: usize| {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        bytes.get(start..start.saturating_add(len)).unwrap_or_default().to_vec()
    };
    placed
        .iter()
        .zip(captured)
        .map(|(place, captured)| CaptureResult {
            captured,
            buffers: (place.request.buffers.iter().zip(&place.targets))
                .map(|(target, start)| Some(slot((*start)?, target.as_ref()?.initial.len())))
                .collect(),
        })
        .collect()
}
