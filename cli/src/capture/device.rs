//! Makes the capture: creates buffers and a pipeline, and records commands, as a program does that
//! embeds the library.

use anyhow::{Context as _, Result, bail};
use ash::vk;
use vkxfb::runtime::{
    Arena, ArenaDesc, ArenaSize, Buffer, Capture, CaptureBuffer, CaptureDesc, ConsumerScope,
    CounterBuffer, IndexBuffer, IndexType, MemoryLocation, Pipeline, PipelineDesc, PipelineUse,
    Recorded, Recorder, RuntimeError, VertexBuffer,
};
use vkxfb_probe::contents::Contents;
use vkxfb_probe::gpu::{BoundContents, Gpu, begin_render_pass};
use vkxfb_probe::subject::writes_point_size;
use vkxfb_rewriter::capture::{Layout, MAX_XFB_BUFFERS};
use vkxfb_rewriter::lower::LoweredGeometry;
use vkxfb_rewriter::lower::{Backend, Lowered, compute, native, vertex};
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

use super::attributes::VertexData;
use super::count_query::CountQuery;
use super::drawn::{Assembly, Drawn};
use crate::stages::Stages;

/// The size in bytes of a counter.
const COUNTER: u64 = 4;

/// The shaders, the data that they read, the draw, and the outputs to capture.
pub(super) struct Job<'a> {
    pub(super) stages: &'a Stages<'a>,
    /// The declarations of the stages after the vertex shader, such as the size of the output primitives. `None` if a
    /// vertex shader is captured.
    pub(super) geometry: Option<LoweredGeometry>,
    pub(super) vertex_data: &'a VertexData,
    pub(super) contents: &'a Contents,
    pub(super) drawn: &'a Drawn,
    pub(super) assembly: Assembly,
    pub(super) provoking: ProvokingVertex,
    pub(super) layout: &'a Layout,
    /// The vertex stream whose records are shown.
    pub(super) stream: u32,
}

impl Job<'_> {
    /// The topology of the captured primitives: that of the draw or, for later stages, a list of points, lines or
    /// triangles.
    pub(super) fn captured_topology(&self) -> PrimitiveTopology {
        match self.geometry {
            None => self.assembly.topology,
            Some(LoweredGeometry { output_vertices: 1, .. }) => PrimitiveTopology::PointList,
            Some(LoweredGeometry { output_vertices: 2, .. }) => PrimitiveTopology::LineList,
            Some(_) => PrimitiveTopology::TriangleList,
        }
    }

    /// The number of primitives for which the first capture has room. For a vertex shader this is the number of all
    /// primitives. For later stages it is not known in advance how many primitives a geometry shader emits, or a patch
    /// is divided into. So there is room for the largest possible number. But this number is limited to
    /// [`MOST_EXPECTED`] or to the number of primitives drawn, whichever is larger, and to what fits into capture buffers
    /// of `most_bytes` bytes: a shader mostly emits much less than it may, and what does emit more is captured again.
    fn expected_primitives(&self, most_bytes: u64) -> u64 {
        let drawn = self.drawn.primitives(self.assembly);
        let Some(LoweredGeometry { invocations, max_vertices, .. }) = self.geometry else {
            return drawn;
        };
        let most = u64::from(invocations) * u64::from(max_vertices);
        let expected = drawn.saturating_mul(most).min(MOST_EXPECTED.max(drawn));
        let per_primitive = u64::from(self.captured_topology().vertices_per_primitive());
        let largest = self.layout.buffers().map(|(_, stride)| u64::from(stride)).max();
        let bytes = per_primitive * largest.unwrap_or(0).max(1);
        expected.min((most_bytes / bytes).max(1))
    }
}

/// The first capture has room for at most this many primitives of later stages, unless more primitives are drawn.
const MOST_EXPECTED: u64 = 1 << 20;

/// Each capture buffer of the first capture of later stages has at most this many bytes.
const MOST_EXPECTED_BYTES: u64 = 1 << 27;

/// The result of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taken {
    /// The bytes that were written for the shown stream, by capture buffer.
    pub(super) buffers: [Vec<u8>; MAX_XFB_BUFFERS],
    pub(super) primitives_written: u64,
    pub(super) primitives_needed: u64,
}

/// Objects that live as long as the capture, and are destroyed even if the capture fails.
#[derive(Default)]
struct Made {
    buffers: Vec<Buffer>,
    pipeline: Option<Pipeline>,
    arena: Option<Arena>,
    contents: BoundContents,
    query: Option<CountQuery>,
}

/// Captures what `job` describes on one backend. [`check`] must have accepted the job.
pub(super) fn take(gpu: &mut Gpu, backend: Backend, job: &Job<'_>) -> Result<Taken> {
    let room = job.expected_primitives(MOST_EXPECTED_BYTES.min(largest_buffer(gpu, backend)));
    let taken = take_once(gpu, backend, job, room)?;
    // The first capture counted all primitives of the later stages. If some of them did not fit, a
    // second capture has buffers that are large enough for all.
    if taken.primitives_written < taken.primitives_needed {
        take_once(gpu, backend, job, taken.primitives_needed)
    } else {
        Ok(taken)
    }
}

/// The largest size in bytes of a capture buffer that a backend takes on the device.
fn largest_buffer(gpu: &Gpu, backend: Backend) -> u64 {
    let native = gpu.capabilities().transform_feedback.as_ref();
    match (backend, native) {
        (Backend::Native, Some(native)) => native.max_buffer_size,
        _ => gpu.context().max_capture_buffer(),
    }
}

/// Captures once, with space for `room` primitives in the capture buffers.
fn take_once(gpu: &mut Gpu, backend: Backend, job: &Job<'_>, room: u64) -> Result<Taken> {
    let mut made = Made::default();
    let taken = take_with(gpu, backend, job, room, &mut made);
    let Made { buffers, pipeline, arena, contents, query } = made;
    query.into_iter().for_each(|query| query.destroy(gpu));
    buffers.into_iter().for_each(|buffer| gpu.destroy_buffer(buffer));
    pipeline.into_iter().for_each(|pipeline| gpu.destroy_pipeline(pipeline));
    arena.into_iter().for_each(|arena| gpu.destroy_arena(arena));
    gpu.destroy_contents(contents);
    taken
}

/// Checks what the library requires of its callers, and rejects captures whose result is undefined in Vulkan.
pub(super) fn check(gpu: &Gpu, backend: Backend, job: &Job<'_>) -> Result<()> {
    gpu.capabilities().availability(backend)?;
    if !gpu.backends().contains(&backend) {
        bail!("the profile does not include the backend {backend}");
    }
    if backend == Backend::Compute {
        return Ok(());
    }
    let topology = job.assembly.topology;
    let draws_points = topology == PrimitiveTopology::PointList && job.geometry.is_none();
    if draws_points && !writes_point_size(job.stages.shader.words)? {
        bail!(
            "the shader writes no PointSize, without which the {backend} backend may draw no points"
        );
    }
    let (has, feature) = (gpu.draw_features(), "primitiveTopologyPatchListRestart");
    let is_restarted = matches!(job.drawn, Drawn::Indices { restart: true, .. });
    if is_restarted && topology == PrimitiveTopology::PatchList && !has.patch_list_restart {
        bail!("primitive restart of patch lists on the {backend} backend needs {feature}");
    }
    let attributes = &job.vertex_data.input.attributes;
    match attributes.iter().find(|attribute| !gpu.has_vertex_format(attribute.format)) {
        None => Ok(()),
        Some(attribute) => bail!("the device has no vertex buffers of {}", attribute.format),
    }
}

fn lower(gpu: &Gpu, backend: Backend, job: &Job<'_>) -> Result<Lowered> {
    let components = gpu.capabilities().limits.max_vertex_output_components;
    let stages = job.stages;
    let shader = &stages.shader;
    Ok(match backend {
        Backend::Native => {
            let mut options = stages.native();
            if stages.before.is_empty() {
                options.max_output_components = components;
            }
            native::lower_with(shader, &options)?
        }
        Backend::Vertex => vertex::lower(shader)?,
        Backend::Compute => {
            let target = gpu.compute_target(backend)?;
            let vertex_input = &job.vertex_data.input;
            compute::lower(shader, &stages.compute(vertex_input).target(target))?
        }
    })
}

fn take_with(
    gpu: &mut Gpu,
    backend: Backend,
    job: &Job<'_>,
    room: u64,
    made: &mut Made,
) -> Result<Taken> {
    let lowered = lower(gpu, backend, job)?;
    let Job { layout, stream, .. } = job;
    made.contents = gpu.bind_contents(job.contents)?;
    make_pipeline(gpu, &lowered, job, made)?;
    let per_primitive = job.captured_topology().vertices_per_primitive();
    let vertices = u128::from(room) * u128::from(per_primitive);
    if job.geometry.is_some() {
        made.query = Some(CountQuery::new(gpu, backend, *stream)?);
    }
    let targets = make_targets(gpu, backend, vertices, job, made)?;
    let captured_to = made.buffers.len();
    let counters = make_counters(gpu, backend, &targets, made)?;
    let inputs = make_inputs(gpu, backend, job, made)?;
    let recorded = submit(gpu, backend, job, made, &targets, &counters, &inputs)?;

    let made_for: Vec<usize> = layout.buffers().map(|(buffer, _)| buffer).collect();
    let layout = Layout::clone(layout).of_stream(*stream);
    let strides: Vec<_> = layout.buffers().collect();
    let mut written = u64::try_from(vertices).unwrap_or(u64::MAX);
    for (buffer, stride) in &strides {
        let position = match counters[*buffer] {
            Some(counter) => {
                let bytes =
                    gpu.read(&made.buffers[captured_to], counter.offset..counter.offset + COUNTER)?;
                bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)).into()
            }
            None => recorded.captured.context("the counts are not known")?.positions[*buffer],
        };
        written = written.min(position / u64::from(*stride));
    }
    let mut buffers = [const { Vec::new() }; MAX_XFB_BUFFERS];
    for (buffer, made) in made_for.iter().zip(&made.buffers[..captured_to]) {
        let Some(stride) = &layout.strides[*buffer] else { continue };
        let size = (written * u64::from(*stride)).min(made.size());
        buffers[*buffer] = gpu.read(made, 0..size)?;
    }
    let primitives_written = written / u64::from(per_primitive);
    let primitives_needed = match &made.query {
        Some(query) => query.needed(gpu)?,
        None => room,
    };
    Ok(Taken { buffers, primitives_written, primitives_needed })
}

fn make_pipeline(gpu: &mut Gpu, lowered: &Lowered, job: &Job<'_>, made: &mut Made) -> Result<()> {
    let indices = match job.drawn {
        Drawn::Indices { indices, restart: true, .. } => Some(indices.len() as u64),
        _ => None,
    };
    let desc = PipelineDesc {
        vertex_input: Some(&job.vertex_data.input),
        topology: Some(job.assembly.topology.into()),
        patch_control_points: job.assembly.patch_control_points,
        provoking_vertex: job.provoking,
        primitive_restart: indices.is_some(),
        set_layouts: made.contents.set_layouts(),
        render_pass: gpu.render_pass(),
        ..PipelineDesc::new(lowered)
    };
    // SAFETY: the device is live, and all handles in `desc` belong to it. The set layouts contain
    // what the shader uses, and `check` made sure that the device supports the vertex formats.
    let pipeline = unsafe { Pipeline::new(gpu.context(), &desc) }?;
    let used = PipelineUse {
        pipeline: &pipeline,
        binds: 1,
        draws: 1,
        primitives: job.drawn.items(job.assembly),
        unknown_draws: 0,
    };
    let size = ArenaSize::from(ArenaDesc {
        restarted_draws: indices.is_some().into(),
        restarted_indices: indices.unwrap_or(0),
        pipelines: &[used],
        ..ArenaDesc::new(1, 1)
    });
    made.pipeline = Some(pipeline);
    made.arena = Some(gpu.create_arena(size)?);
    Ok(())
}

/// Creates the capture buffers, with space for `vertices` records. Returns them indexed by their numbers: `None` for a
/// buffer to which nothing is captured.
fn make_targets(
    gpu: &mut Gpu,
    backend: Backend,
    vertices: u128,
    job: &Job<'_>,
    made: &mut Made,
) -> Result<[Option<CaptureBuffer>; MAX_XFB_BUFFERS]> {
    let usage = gpu.context().buffer_usages(backend).capture;
    let mut targets = [None; MAX_XFB_BUFFERS];
    for (number, stride) in job.layout.buffers() {
        let all = vertices * u128::from(stride);
        let size = u64::try_from(all)
            .with_context(|| format!("{all} bytes are captured, more than memory has"))?;
        // Vulkan allows no empty buffers.
        let buffer = gpu.create_buffer(size.max(COUNTER), usage, MemoryLocation::Device)?;
        targets[number] = Some(CaptureBuffer::new(buffer.raw(), size));
        made.buffers.push(buffer);
    }
    Ok(targets)
}

/// Creates a counter for each capture buffer, all in one buffer. The vertex backend gets none, because it cannot write
/// counters, and the number of its records is known in advance.
fn make_counters(
    gpu: &mut Gpu,
    backend: Backend,
    targets: &[Option<CaptureBuffer>; MAX_XFB_BUFFERS],
    made: &mut Made,
) -> Result<[Option<CounterBuffer>; MAX_XFB_BUFFERS]> {
    if backend == Backend::Vertex {
        return Ok([None; MAX_XFB_BUFFERS]);
    }
    let usage = gpu.context().buffer_usages(backend).counter;
    let size = COUNTER * MAX_XFB_BUFFERS as u64;
    let buffer = gpu.create_buffer(size, usage, MemoryLocation::Device)?;
    let counter = |number| CounterBuffer {
        offset: COUNTER * number as u64,
        ..CounterBuffer::new(buffer.raw())
    };
    let counters = std::array::from_fn(|number| targets[number].map(|_| counter(number)));
    made.buffers.push(buffer);
    Ok(counters)
}

/// The buffers that the draw reads: vertex buffers, and the index buffer if there is one.
struct Inputs {
    vertex_buffers: Vec<VertexBuffer>,
    index_buffer: Option<IndexBuffer>,
}

fn make_inputs(gpu: &mut Gpu, backend: Backend, job: &Job<'_>, made: &mut Made) -> Result<Inputs> {
    let usage = gpu.context().buffer_usages(backend).vertex;
    let mut vertex_buffers = Vec::new();
    for (binding, bytes) in (0..).zip(&job.vertex_data.buffers) {
        let raw = upload(gpu, made, bytes, usage)?;
        vertex_buffers.push(VertexBuffer::new(binding, raw, bytes.len() as u64));
    }
    let Drawn::Indices { indices, .. } = job.drawn else {
        return Ok(Inputs { vertex_buffers, index_buffer: None });
    };
    let bytes = bytemuck::cast_slice(indices);
    let usage = gpu.context().buffer_usages(backend).index;
    let raw = upload(gpu, made, bytes, usage)?;
    let index_buffer = Some(IndexBuffer::new(raw, bytes.len() as u64, IndexType::Uint32));
    Ok(Inputs { vertex_buffers, index_buffer })
}

/// Creates a buffer with these bytes, rounded up to whole dwords, because shaders read whole
/// dwords.
fn upload(
    gpu: &mut Gpu,
    made: &mut Made,
    bytes: &[u8],
    usage: vk::BufferUsageFlags,
) -> Result<vk::Buffer> {
    let size = (bytes.len() as u64).max(1).next_multiple_of(COUNTER);
    let mut buffer = gpu.create_buffer(size, usage, MemoryLocation::Upload)?;
    // SAFETY: the buffer was not submitted yet, so the device does not use it.
    if let Some(place) = unsafe { buffer.mapped_mut() }.get_mut(..bytes.len()) {
        place.copy_from_slice(bytes);
    }
    let raw = buffer.raw();
    made.buffers.push(buffer);
    Ok(raw)
}

/// Submits the capture with its draw, and waits for it.
fn submit(
    gpu: &mut Gpu,
    backend: Backend,
    job: &Job<'_>,
    made: &mut Made,
    targets: &[Option<CaptureBuffer>],
    counters: &[Option<CounterBuffer>],
    inputs: &Inputs,
) -> Result<Recorded> {
    let Made { contents, arena: Some(arena), pipeline: Some(pipeline), query, .. } = made else {
        bail!("no pipeline");
    };
    // Buffers after the last one that is captured to must not be bound.
    let used = targets.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    let desc = CaptureDesc {
        buffers: &targets[..used],
        vertex_buffers: &inputs.vertex_buffers,
        ..CaptureDesc::new(pipeline)
    };
    let counters = if backend == Backend::Vertex { &[] } else { &counters[..used] };
    let (render_pass, framebuffer) = (gpu.render_pass(), gpu.framebuffer());
    let kernels = gpu.kernels();
    let is_graphics = backend != Backend::Compute;
    let recorded = gpu.submit(|context, cmd| {
        let mut capture = Capture::new(context, &kernels);
        // SAFETY: the command buffer is outside of a render pass, except that graphics draws are
        // inside of one. Everything that is bound belongs to this device, outlives the submission,
        // and contains all data that the draw reads.
        unsafe {
            if let Some(query) = query {
                query.reset(context, cmd);
            }
            if is_graphics {
                begin_render_pass(context, cmd, render_pass, framebuffer);
            }
            let mut recorder = Recorder::begin(&mut capture, arena, cmd, &desc)?;
            // The query and the capture are ended even if the draw fails. After that, the first error is returned.
            let counted = query.as_ref().map_or(Ok(()), |query| query.begin(cmd, &mut recorder));
            let drawn = draw(&mut recorder, job, contents.sets(), inputs.index_buffer.as_ref());
            let counted = counted.and_then(|()| {
                query.as_ref().map_or(Ok(()), |query| query.end(cmd, &mut recorder))
            });
            let ended = recorder.end(counters);
            let recorded = drawn.and(counted).and(ended)?;
            if is_graphics {
                context.device().cmd_end_render_pass(cmd);
            }
            context.capture_barrier(cmd, backend, ConsumerScope::TRANSFER);
            Ok(recorded)
        }
    })?;
    Ok(recorded)
}

/// Records the draw. The capture must be begun.
///
/// # Safety
/// The same as for [`Recorder::draw`] and [`Recorder::draw_indexed`].
unsafe fn draw(
    recorder: &mut Recorder<'_>,
    job: &Job<'_>,
    sets: &[vk::DescriptorSet],
    indices: Option<&IndexBuffer>,
) -> Result<(), RuntimeError> {
    unsafe {
        if !sets.is_empty() {
            recorder.bind_descriptor_sets(0, sets, &[])?;
        }
        if !job.contents.push_constants.is_empty() {
            recorder.push_constants(0, &job.contents.push_constants)?;
        }
        match (job.drawn, indices) {
            (Drawn::Indices { draw, .. }, Some(indices)) => {
                recorder.bind_index_buffer(indices)?;
                recorder.draw_indexed(job.assembly.topology, draw)
            }
            (Drawn::Indices { .. }, None) => Ok(()),
            (Drawn::Vertices(draw), _) => recorder.draw(job.assembly.topology, draw),
        }
    }
}
