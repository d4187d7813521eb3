//! Records the steps of captures (the copies to the capture buffers, the captures, and the copies from them) into the
//! command buffers of one or several submissions.

use ash::vk;
use vkxfb::runtime::{
    Arena, Buffer, Capture, CaptureBuffer, CaptureDesc, Captured, ConsumerScope, Context,
    CounterBuffer, DrawIndexed, IndexBuffer, IndexType, Kernels, Recorder, RuntimeError,
    VertexBuffer,
};
use vkxfb_rewriter::lower::Backend;

use super::Step;
use super::slots::Placed;
use crate::gpu::buffers::transfer_to_host;
use crate::gpu::{GpuError, begin_render_pass};
use crate::sentinel::Fill;

/// The buffers that the requests of a call share: the capture buffers (`targets`), the vertices and
/// indices, the initial contents of the capture buffers, and the readback memory (`back`).
pub(super) struct Buffers<'a> {
    pub(super) targets: &'a Buffer,
    pub(super) vertices: &'a Buffer,
    pub(super) initial: &'a Buffer,
    pub(super) back: &'a Buffer,
}

/// Records the capture of one request. Returns its results, as far as the recorder knows them.
///
/// # Safety
/// The same as for [`Recorder::begin`].
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
    let counters = place.counters.map(|start| {
        let counter = |(buffer, target): (u64, &Option<CaptureBuffer>)| {
            let buffer = CounterBuffer {
                offset: start + 4 * buffer,
                ..CounterBuffer::new(buffers.targets.raw())
            };
            target.is_some().then_some(buffer)
        };
        (0..).zip(&bound).map(counter).collect::<Vec<_>>()
    });
    let pipeline = request.pipeline;
    unsafe {
        let desc = CaptureDesc {
            buffers: &bound,
            vertex_buffers: &vertex_buffers,
            ..CaptureDesc::new(pipeline)
        };
        let mut capture = Capture::new(ctx, kernels);
        let mut recorder = Recorder::begin(&mut capture, arena, cmd, &desc)?;
        // The capture is ended even if a draw failed. After that, the first error is returned.
        let drawn = draw(&mut recorder, place, buffers);
        let ended = recorder.end(counters.as_deref().unwrap_or_default());
        // The recorder knows the results, because these are direct draws that capture to the start of the buffers. The
        // results are unknown only for a geometry shader: then the default is returned.
        Ok(drawn.and(ended)?.captured.unwrap_or_default())
    }
}

/// Records the draws of a request.
///
/// # Safety
/// The same as for [`Recorder::draw`].
unsafe fn draw(
    recorder: &mut Recorder<'_>,
    place: &Placed<'_>,
    buffers: &Buffers<'_>,
) -> Result<(), RuntimeError> {
    let request = place.request;
    unsafe {
        recorder.bind_descriptor_sets(0, request.descriptor_sets, &[])?;
        if !request.indices.is_empty() {
            let size = size_of_val(request.indices) as u64;
            recorder.bind_index_buffer(&IndexBuffer {
                offset: place.indices,
                ..IndexBuffer::new(buffers.vertices.raw(), size, IndexType::Uint32)
            })?;
        }
        let mut pushed = request.push_constants.iter();
        for (topology, draw) in request.draws {
            if let Some(bytes) = pushed.next() {
                recorder.push_constants(0, bytes)?;
            }
            if request.indices.is_empty() {
                recorder.draw(*topology, draw)?;
            } else {
                let indexed = DrawIndexed {
                    index_count: draw.vertex_count,
                    instance_count: draw.instance_count,
                    first_index: 0,
                    vertex_offset: draw.first_vertex.cast_signed(),
                    first_instance: draw.first_instance,
                };
                recorder.draw_indexed(*topology, &indexed)?;
            }
        }
    }
    Ok(())
}

/// Records the steps of captures: the copies to the capture buffers, the captures, and the copies from the capture
/// buffers. Each step begins and ends outside of render pass instances.
pub(super) struct Steps<'a> {
    pub(super) placed: &'a [Placed<'a>],
    pub(super) buffers: &'a Buffers<'a>,
    /// The backends of the captures, without repetitions.
    pub(super) backends: Vec<Backend>,
    pub(super) kernels: Kernels,
    pub(super) render_pass: vk::RenderPass,
    pub(super) framebuffer: vk::Framebuffer,
    pub(super) omitted: Option<Step>,
}

impl Steps<'_> {
    /// Fills a range of the capture buffers and of the readback memory with constants, and then copies the initial
    /// contents to that range of the capture buffers.
    ///
    /// # Safety
    /// `cmd` is being recorded, outside of a render pass instance; the range lies within the buffers, in whole dwords.
    pub(super) unsafe fn copy_in(
        &self,
        ctx: &Context,
        cmd: vk::CommandBuffer,
        start: u64,
        size: u64,
    ) {
        let (device, Buffers { targets, initial, back, .. }) = (ctx.device(), self.buffers);
        // SAFETY: the caller's contract; all these buffers have the same size.
        unsafe {
            for (buffer, fill) in [(targets, Fill::BeforeCopyIn), (back, Fill::BeforeCopyBack)] {
                device.cmd_fill_buffer(cmd, buffer.raw(), start, size, fill.dword());
            }
            fills_to_copies(ctx, cmd);
            if self.omitted != Some(Step::CopyIn) {
                let part = vk::BufferCopy { src_offset: start, dst_offset: start, size };
                device.cmd_copy_buffer(cmd, initial.raw(), targets.raw(), &[part]);
            }
            transfer_to_captures(ctx, cmd, &self.backends);
        }
    }

    /// Records the captures, and a barrier that makes their results visible to copies.
    ///
    /// # Safety
    /// The pipelines and descriptor sets are of the device of `ctx`. On the native and vertex backends the draws stay
    /// within their vertex data. `cmd` is being recorded, outside of a render pass instance.
    pub(super) unsafe fn capture(
        &self,
        ctx: &Context,
        cmd: vk::CommandBuffer,
        arena: &mut Arena,
    ) -> Result<Vec<Captured>, GpuError> {
        let device = ctx.device();
        let mut inside = false;
        let mut all = Vec::with_capacity(self.placed.len());
        for (capture, place) in self.placed.iter().enumerate() {
            if self.omitted == Some(Step::Capture) {
                all.push(Captured::default());
                continue;
            }
            let graphics = place.request.pipeline.backend() != Backend::Compute;
            // SAFETY: the caller's contract; `inside` says whether a render pass instance is being
            // recorded.
            unsafe {
                match (inside, graphics) {
                    (false, true) => {
                        begin_render_pass(ctx, cmd, self.render_pass, self.framebuffer);
                    }
                    (true, false) => device.cmd_end_render_pass(cmd),
                    (false, false) | (true, true) => {}
                }
            }
            inside = graphics;
            // SAFETY: the caller's contract; the slots (parts of the buffers) of different requests do not overlap.
            let captured = unsafe { record(ctx, &self.kernels, cmd, place, self.buffers, arena) };
            all.push(captured.map_err(|source| GpuError::Capture { capture, source })?);
        }
        // SAFETY: the caller's contract; `inside` says whether a render pass instance is being
        // recorded.
        unsafe {
            if inside {
                device.cmd_end_render_pass(cmd);
            }
            for &backend in &self.backends {
                ctx.capture_barrier(cmd, backend, ConsumerScope::TRANSFER);
            }
        }
        Ok(all)
    }

    /// Copies a range of the capture buffers to the readback memory.
    ///
    /// # Safety
    /// `cmd` is being recorded, outside of a render pass instance; the range lies within the buffers, in whole dwords.
    pub(super) unsafe fn copy_back(
        &self,
        ctx: &Context,
        cmd: vk::CommandBuffer,
        start: u64,
        size: u64,
    ) {
        let Buffers { targets, back, .. } = self.buffers;
        // SAFETY: the caller's contract; both buffers have the same size.
        unsafe {
            if self.omitted != Some(Step::CopyBack) {
                let part = vk::BufferCopy { src_offset: start, dst_offset: start, size };
                ctx.device().cmd_copy_buffer(cmd, targets.raw(), back.raw(), &[part]);
            }
            transfer_to_host(ctx, cmd);
        }
    }
}

/// Orders fills before copies to the same memory. [`transfer_to_captures`] orders the captures after the copy to the
/// capture buffers, and [`Context::capture_barrier`] orders the copy to the readback memory after the captures.
///
/// # Safety
/// `cmd` is being recorded, outside of a render pass instance.
unsafe fn fills_to_copies(ctx: &Context, cmd: vk::CommandBuffer) {
    let barrier = vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
        .dst_access_mask(vk::AccessFlags::TRANSFER_WRITE);
    let (stage, none) = (vk::PipelineStageFlags::TRANSFER, vk::DependencyFlags::empty());
    unsafe { ctx.device().cmd_pipeline_barrier(cmd, stage, stage, none, &[barrier], &[], &[]) };
}

/// Makes the result of the copy to the capture buffers visible to the captures, and orders the
/// captures after it.
///
/// The copied bytes become visible to the copy back only through the barrier after the captures
/// ([`Context::capture_barrier`]), which forms a dependency chain with the barrier that this function records.
/// Synchronization validation does not see stores through device addresses, but it sees the copy to the capture buffers
/// and the copy back. So it reports an error if the barrier after the captures is missing.
///
/// # Safety
/// `cmd` is being recorded, outside of a render pass instance. Its queue supports the pipeline
/// stages of `backends`, which is not empty.
unsafe fn transfer_to_captures(ctx: &Context, cmd: vk::CommandBuffer, backends: &[Backend]) {
    let none = (vk::PipelineStageFlags::empty(), vk::AccessFlags::empty());
    let (stages, access) = backends.iter().fold(none, |(stages, access), &backend| {
        let (stage, write) = Context::write_scope(backend);
        (stages | stage, access | write)
    });
    let barrier = vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
        .dst_access_mask(access);
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
