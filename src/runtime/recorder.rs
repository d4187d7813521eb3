//! Recording one capture: `vkCmdBeginTransformFeedbackEXT`, draws, `vkCmdEndTransformFeedbackEXT`,
//! on whichever backend the pipeline is for.
//!
//! Draws are direct and every capture starts at the front of its buffers, so the CPU follows the
//! write positions: each draw gets the address where its first record goes and the number of
//! records that fit. Draws append; they write disjoint ranges and need no barrier between them.

use ash::vk;

use super::extensions::TransformFeedbackFn;
use super::fold::dispatch_size;
use super::pulling::{self, multiple_of_4};
use super::{Arena, Context, Pipeline, RuntimeError};
use crate::capture::MAX_XFB_BUFFERS;
use crate::draw::{BoundBuffer, DrawCounts, MAX_BUFFER_SIZE};
use crate::lower::Backend;
use crate::sysval::{AttributeDescriptor, INLINE_ATTRIBUTES, Sysvals, split};
use crate::topology::{PrimitiveTopology, Shape};

/// The range that a capture buffer is bound with:
/// [`vkCmdBindTransformFeedbackBuffersEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBindTransformFeedbackBuffersEXT.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureBuffer {
    /// A buffer with the usage [`Context::capture_buffer_usage`].
    pub buffer: vk::Buffer,
    /// Bytes from its start, a multiple of 4.
    pub offset: u64,
    /// Bytes, at most [`MAX_BUFFER_SIZE`]. `VK_WHOLE_SIZE` is refused: a handle does not tell how
    /// long its buffer is.
    pub size: u64,
}

/// The range that a vertex buffer is bound with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VertexBuffer {
    /// Number of the binding.
    pub binding: u32,
    /// A buffer with the usage [`Context::vertex_buffer_usage`], or null: then every attribute is
    /// out of range. On the native and vertex backends null needs the feature `nullDescriptor`.
    pub buffer: vk::Buffer,
    /// Bytes from its start. With the offset of each attribute a multiple of the attribute's
    /// [`alignment`](crate::vertex_input::VertexFormat::alignment).
    pub offset: u64,
    /// Bytes. On the compute backend attributes that pass the end are out of range, whose components
    /// are zero, as under
    /// [`robustBufferAccess2`](https://docs.vulkan.org/spec/latest/chapters/features.html#features-robustBufferAccess2);
    /// on the others the device's rules hold. Not `VK_WHOLE_SIZE`.
    pub size: u64,
    /// Bytes from one element to the next, where it is not what the pipeline was made with:
    /// `pStrides` of
    /// [`vkCmdBindVertexBuffers2`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBindVertexBuffers2.html).
    /// Only the compute backend takes another.
    pub stride: Option<u32>,
}

/// [`vkCmdDraw`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDraw.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Draw {
    /// Vertices of one instance.
    pub vertex_count: u32,
    /// Instances.
    pub instance_count: u32,
    /// What `VertexIndex` starts at.
    pub first_vertex: u32,
    /// What `InstanceIndex` starts at.
    pub first_instance: u32,
}

/// What a capture did, by the rules of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Captured {
    /// Primitives written: the first integer of `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT`.
    pub primitives_written: u64,
    /// Primitives needed: its second integer.
    pub primitives_needed: u64,
    /// Bytes from the start of each bound range that records fill: what the counters would hold.
    pub positions: [u64; MAX_XFB_BUFFERS],
}

/// A capture buffer that something is captured to.
#[derive(Debug, Clone, Copy)]
struct Target {
    buffer: BoundBuffer,
    /// Device address of the bound range, 0 on the native backend.
    address: u64,
}

/// A capture that is being recorded.
///
/// Between [`begin`](Self::begin) and [`end`](Self::end) the application binds no other pipeline at
/// the bind point of this one, and does not touch the push constants of its stage. It may bind its
/// descriptor sets, with [`Pipeline::raw_layout`].
#[must_use = "a capture is open until `end`"]
pub struct Recorder<'a> {
    ctx: &'a Context,
    cmd: vk::CommandBuffer,
    pipeline: &'a Pipeline,
    native: Option<&'a TransformFeedbackFn>,
    targets: [Option<Target>; MAX_XFB_BUFFERS],
    attributes: [AttributeDescriptor; INLINE_ATTRIBUTES],
    attribute_table: u64,
    captured: Captured,
}

impl<'a> Recorder<'a> {
    /// Begins a capture into `buffers`, by their `XfbBuffer` number. Outputs of a buffer that is
    /// not bound are ignored, which is no overflow.
    ///
    /// State that is disturbed:
    /// * native: the graphics pipeline, the vertex buffers of the given bindings, the transform
    ///   feedback buffers of the given numbers.
    /// * vertex: the graphics pipeline, the vertex buffers of the given bindings, the push constants
    ///   of the vertex stage.
    /// * compute: the compute pipeline, the push constants of the compute stage. Nothing of the
    ///   graphics state.
    ///
    /// No barrier is recorded: see [`Context::write_scope`] for what the application orders before,
    /// and [`Context::capture_barrier`] for afterwards.
    ///
    /// # Errors
    /// Everything is checked before anything is recorded: [`RuntimeError::TooManyCaptureBuffers`],
    /// [`RuntimeError::NoCaptureBuffer`] (native), [`RuntimeError::Misaligned`],
    /// [`RuntimeError::WholeSize`], [`RuntimeError::Limit`], [`RuntimeError::MissingVertexBuffer`],
    /// [`RuntimeError::DuplicateVertexBuffer`], [`RuntimeError::StaticStride`], [`RuntimeError::NoAddress`],
    /// [`RuntimeError::ArenaFull`].
    ///
    /// # Safety
    /// * `cmd` is being recorded for a queue of the bind point; inside of a render pass instance
    ///   that is compatible with the pipeline's and not multiview for the native and vertex
    ///   backends, outside of one for the compute backend.
    /// * All handles are live, of the device of `ctx`, have the usages that [`Context`] names and
    ///   hold the bound ranges; they and what is taken from `arena` stay so until `cmd` is reset.
    /// * Native: no buffer was bound before in `cmd` to a number that the shader captures to and
    ///   `buffers` leaves out. Vulkan has no command to unbind it, and it would be captured to.
    /// * The capture buffers' ranges do not overlap each other or the vertex buffers'.
    pub unsafe fn begin(
        ctx: &'a Context,
        arena: &mut Arena,
        cmd: vk::CommandBuffer,
        pipeline: &'a Pipeline,
        buffers: &[Option<CaptureBuffer>],
        vertex_buffers: &[VertexBuffer],
    ) -> Result<Self, RuntimeError> {
        let backend = pipeline.backend();
        check_capture_buffers(ctx, backend, buffers)?;
        pulling::check_buffers(backend, pipeline.attributes(), vertex_buffers)?;
        let native = match backend {
            Backend::Native => Some(ctx.transform_feedback()?),
            Backend::Vertex | Backend::Compute => None,
        };

        let mut targets = [None; MAX_XFB_BUFFERS];
        let strides = pipeline.layout().strides;
        for ((target, bound), stride) in targets.iter_mut().zip(buffers).zip(strides) {
            let (Some(bound), Some(stride)) = (bound, stride) else { continue };
            let address = match backend {
                Backend::Native => 0,
                Backend::Vertex | Backend::Compute => {
                    // SAFETY: the usage and the memory are the caller's contract.
                    unsafe { ctx.buffer_address(bound.buffer) }?.wrapping_add(bound.offset)
                }
            };
            let buffer = BoundBuffer { size: bound.size, position: 0, stride };
            *target = Some(Target { buffer, address });
        }

        let mut attributes = [AttributeDescriptor::default(); INLINE_ATTRIBUTES];
        let mut attribute_table = 0;
        if backend == Backend::Compute {
            let all = pulling::descriptors(pipeline.attributes(), vertex_buffers, |buffer| {
                // SAFETY: as above.
                unsafe { ctx.buffer_address(buffer) }
            })?;
            for (inline, descriptor) in attributes.iter_mut().zip(&all) {
                *inline = *descriptor;
            }
            if let Some(rest @ [_, ..]) = all.get(INLINE_ATTRIBUTES..) {
                attribute_table = arena.push(bytemuck::cast_slice(rest))?;
            }
        }

        // SAFETY: the caller's contract.
        unsafe {
            ctx.device().cmd_bind_pipeline(cmd, pipeline.bind_point(), pipeline.raw());
            if backend != Backend::Compute {
                for vb in vertex_buffers {
                    ctx.device().cmd_bind_vertex_buffers(
                        cmd,
                        vb.binding,
                        &[vb.buffer],
                        &[vb.offset],
                    );
                }
            }
            if let Some(native) = native {
                for (index, bound) in (0u32..).zip(buffers) {
                    if let Some(b) = bound {
                        native.bind(cmd, index, b.buffer, b.offset, b.size);
                    }
                }
                native.begin(cmd);
            }
        }
        tracing::debug!(backend = backend.name(), ?buffers, "begin capture");
        let captured = Captured::default();
        Ok(Self { ctx, cmd, pipeline, native, targets, attributes, attribute_table, captured })
    }

    /// Captures a draw, behind those before it.
    ///
    /// Records `vkCmdDraw` on the native and vertex backends, and `vkCmdDispatch` on the compute
    /// backend unless nothing is to be written. Disturbs the push constants that
    /// [`begin`](Self::begin) names. No barrier is recorded.
    ///
    /// # Errors
    /// [`RuntimeError::TopologyMismatch`], [`RuntimeError::IndexOverflow`],
    /// [`RuntimeError::DispatchTooLarge`]. Nothing is recorded then, and the capture may go on.
    ///
    /// # Safety
    /// As [`begin`](Self::begin), with the same render pass instance if there is one. On the native
    /// and vertex backends the vertices lie within their buffers, unless `robustBufferAccess` is
    /// enabled.
    pub unsafe fn draw(
        &mut self,
        topology: PrimitiveTopology,
        draw: &Draw,
    ) -> Result<(), RuntimeError> {
        check_draw(self.pipeline.fixed_topology(), topology, draw)?;
        let counts = DrawCounts::new(
            topology,
            draw.vertex_count,
            draw.instance_count,
            self.targets.iter().flatten().map(|t| t.buffer),
        );
        tracing::trace!(%topology, ?draw, ?counts, "draw");
        // SAFETY: the caller's contract.
        unsafe {
            match self.pipeline.backend() {
                Backend::Native => self.record_draw(draw),
                Backend::Vertex => {
                    let sysvals = self.sysvals(topology, draw, &counts);
                    self.push(vk::ShaderStageFlags::VERTEX, &sysvals);
                    self.record_draw(draw);
                }
                Backend::Compute if counts.output_limit == 0 => {}
                Backend::Compute => {
                    let [x, y] = dispatch_size(
                        invocations(topology, &counts),
                        self.pipeline.workgroup_size(),
                        self.ctx.max_workgroups_per_axis(),
                    )?;
                    let sysvals = self.sysvals(topology, draw, &counts);
                    self.push(vk::ShaderStageFlags::COMPUTE, &sysvals);
                    self.ctx.device().cmd_dispatch(self.cmd, x, y, 1);
                }
            }
        }
        self.captured.primitives_written += counts.primitives_written;
        self.captured.primitives_needed += counts.primitives_needed;
        for target in self.targets.iter_mut().flatten() {
            target.buffer.position += counts.bytes_written(target.buffer.stride);
        }
        Ok(())
    }

    /// Ends the capture.
    ///
    /// No barrier is recorded, as one may not stand in the render pass instance: before the buffers
    /// are read comes [`Context::capture_barrier`].
    ///
    /// # Safety
    /// As [`draw`](Self::draw).
    pub unsafe fn end(self) -> Captured {
        if let Some(native) = self.native {
            // SAFETY: the caller's contract; `begin` recorded the begin.
            unsafe { native.end(self.cmd) };
        }
        let positions = self.targets.map(|t| t.map_or(0, |t| t.buffer.position));
        let captured = Captured { positions, ..self.captured };
        tracing::debug!(?captured, "end capture");
        captured
    }

    fn sysvals(&self, topology: PrimitiveTopology, draw: &Draw, counts: &DrawCounts) -> Sysvals {
        Sysvals {
            xfb_topology: topology.xfb_topology() as u32,
            xfb_output_count: counts.output_count,
            xfb_output_limit: counts.output_limit,
            item_count: counts.item_count,
            instance_count: counts.instance_count,
            provoking_vertex: self.pipeline.provoking_vertex() as u32,
            first_vertex: draw.first_vertex,
            first_instance: draw.first_instance,
            base_vertex: draw.first_vertex,
            draw_index: 0,
            attribute_table: split(self.attribute_table),
            xfb_address: self
                .targets
                .map(|t| split(t.map_or(0, |t| t.address.wrapping_add(t.buffer.position)))),
            attributes: self.attributes,
        }
    }

    /// # Safety
    /// As [`draw`](Self::draw).
    unsafe fn push(&self, stage: vk::ShaderStageFlags, sysvals: &Sysvals) {
        tracing::trace!(?sysvals);
        let bytes = bytemuck::bytes_of(sysvals);
        // SAFETY: the caller's contract; the layout has that range for that stage.
        unsafe {
            let layout = self.pipeline.raw_layout();
            self.ctx.device().cmd_push_constants(self.cmd, layout, stage, 0, bytes);
        }
    }

    /// # Safety
    /// As [`draw`](Self::draw).
    unsafe fn record_draw(&self, draw: &Draw) {
        // SAFETY: the caller's contract.
        unsafe {
            self.ctx.device().cmd_draw(
                self.cmd,
                draw.vertex_count,
                draw.instance_count,
                draw.first_vertex,
                draw.first_instance,
            );
        }
    }
}

/// Invocations that capture a draw: one an item, and for a fan one more, as the hub is written into
/// every primitive by those after the items.
fn invocations(topology: PrimitiveTopology, counts: &DrawCounts) -> u64 {
    let fan = topology.shape() == Shape::TriFan;
    u64::from(counts.instance_count) * u64::from(counts.item_count) * if fan { 2 } else { 1 }
}

fn check_draw(
    fixed: Option<PrimitiveTopology>,
    topology: PrimitiveTopology,
    draw: &Draw,
) -> Result<(), RuntimeError> {
    if let Some(pipeline) = fixed
        && pipeline != topology
    {
        return Err(RuntimeError::TopologyMismatch { draw: topology, pipeline });
    }
    for (what, first, count) in [
        ("vertex", draw.first_vertex, draw.vertex_count),
        ("instance", draw.first_instance, draw.instance_count),
    ] {
        if u64::from(first) + u64::from(count) > 1 << 32 {
            return Err(RuntimeError::IndexOverflow { what, first, count });
        }
    }
    Ok(())
}

fn check_capture_buffers(
    ctx: &Context,
    backend: Backend,
    buffers: &[Option<CaptureBuffer>],
) -> Result<(), RuntimeError> {
    if buffers.len() > MAX_XFB_BUFFERS {
        let (count, max) = (buffers.len(), MAX_XFB_BUFFERS);
        return Err(RuntimeError::TooManyCaptureBuffers { count, max });
    }
    let (mut max, mut limit) = (MAX_BUFFER_SIZE, "the last dword that a 32-bit counter reaches");
    if backend == Backend::Native {
        let Some(last) = buffers.iter().rposition(Option::is_some) else {
            return Err(RuntimeError::NoCaptureBuffer);
        };
        if let Some(support) = &ctx.capabilities().transform_feedback {
            if last >= support.max_buffers as usize {
                return Err(RuntimeError::Limit {
                    what: "the number of the last capture buffer, plus one".to_owned(),
                    value: last as u64 + 1,
                    limit: "maxTransformFeedbackBuffers",
                    max: support.max_buffers.into(),
                });
            }
            if support.max_buffer_size < max {
                (max, limit) = (support.max_buffer_size, "maxTransformFeedbackBufferSize");
            }
        }
    }
    for (index, bound) in buffers.iter().enumerate() {
        let Some(bound) = bound else { continue };
        if bound.size == vk::WHOLE_SIZE {
            return Err(RuntimeError::WholeSize { what: format!("capture buffer {index}") });
        }
        multiple_of_4(|| format!("the offset of capture buffer {index}"), bound.offset)?;
        if bound.size > max {
            let what = format!("the size of capture buffer {index} in bytes");
            return Err(RuntimeError::Limit { what, value: bound.size, limit, max });
        }
    }
    Ok(())
}
