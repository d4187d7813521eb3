//! A device with the validation layer, and a model of complete captures on the CPU.

#![allow(dead_code, reason = "each test uses some of it")]
#![allow(clippy::unwrap_used, missing_docs, reason = "a test may panic, and is no API")]

use ash::vk;
use vkxfb::lower::{Backend, Lowered, Shader, compute, native, vertex};
use vkxfb::runtime::{Context, Draw, Pipeline, PipelineDesc};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::VertexInput;
use vkxfb_probe::gpu::{
    CaptureRequest, CaptureResult, CaptureTarget, Gpu, OpenOptions, Profile, Resources, VertexData,
};
use vkxfb_probe::plan::Plan;
use vkxfb_probe::report::ProbeReport;
use vkxfb_probe::run::{Event, run_together};
use vkxfb_probe::sentinel;
use vkxfb_probe::shaders::ProbeShader;
use vkxfb_probe::subject::Subject;

use super::descriptor_set::DescriptorSet;
use super::settings::has_validation;
use super::test_device::{Owned, TestDevice};

/// The bytes before and after a bound range, in which nothing may be written.
pub const GUARD: u64 = 64;

/// Opens the first device, with the validation layer unless `VKXFB_TEST_VALIDATION` is 0. That
/// setting is for machines that have a GPU but not the layer.
pub fn open(profile: Profile) -> TestDevice {
    open_with(OpenOptions { profile, ..Default::default() })
}

/// The ways in which compute captures access memory: the best one for the device, and descriptors.
pub const RESOURCES: [Resources; 2] = [Resources::Best, Resources::Descriptors];

/// Opens the first device like [`open`], with further options.
pub fn open_with(options: OpenOptions) -> TestDevice {
    TestDevice::open(&OpenOptions { validation: has_validation(), ..options })
}

/// Runs a plan, and records the results in `report`.
pub fn probe(gpu: &mut Gpu, plan: &Plan, report: &mut ProbeReport) {
    let mut findings = Vec::new();
    let mut tell = |event| {
        match event {
            Event::Findings(found) => findings.push(found),
            Event::Lost(how) => panic!("{how}"),
            _ => {}
        }
        Ok(())
    };
    run_together(gpu, plan, report, &mut tell).unwrap();
    findings.into_iter().for_each(|found| report.absorb(*found));
}

/// Begins a render pass instance, if captures of the backend must be in one.
///
/// # Safety
/// `cmd` is being recorded, outside of a render pass instance; the handles are those of the
/// device's [`Gpu::render_pass`] and [`Gpu::framebuffer`].
pub unsafe fn begin_render_pass(
    ctx: &Context,
    cmd: vk::CommandBuffer,
    backend: Backend,
    (render_pass, framebuffer): (vk::RenderPass, vk::Framebuffer),
) {
    let info = vk::RenderPassBeginInfo::default()
        .render_pass(render_pass)
        .framebuffer(framebuffer)
        .render_area(vk::Rect2D::default().extent(vk::Extent2D { width: 1, height: 1 }));
    if backend != Backend::Compute {
        unsafe { ctx.device().cmd_begin_render_pass(cmd, &info, vk::SubpassContents::INLINE) };
    }
}

/// Ends the render pass instance that [`begin_render_pass`] began.
///
/// # Safety
/// `cmd` is being recorded, and was given to [`begin_render_pass`].
pub unsafe fn end_render_pass(ctx: &Context, cmd: vk::CommandBuffer, backend: Backend) {
    if backend != Backend::Compute {
        unsafe { ctx.device().cmd_end_render_pass(cmd) };
    }
}

/// Lowers a probe shader for a backend of the device.
pub fn lower(gpu: &Gpu, shader: &ProbeShader, backend: Backend) -> Lowered {
    let target = gpu.compute_target(backend).unwrap();
    Subject::built_in(shader.clone()).unwrap().lower(backend, &target).unwrap()
}

/// How the draws of a test need their pipeline.
#[derive(Clone, Copy)]
pub struct PipelineOptions {
    pub topology: PrimitiveTopology,
    pub provoking: ProvokingVertex,
    pub specialize: bool,
}

impl PipelineOptions {
    /// For draws of any topology.
    pub const ANY: Self = Self {
        topology: PrimitiveTopology::PointList,
        provoking: ProvokingVertex::First,
        specialize: false,
    };
}

/// Creates a pipeline of a lowered probe shader.
pub fn pipeline(
    gpu: &TestDevice,
    shader: &ProbeShader,
    lowered: &Lowered,
    options: PipelineOptions,
) -> Owned<Pipeline> {
    let pipeline = pipeline_of(gpu.context(), gpu.render_pass(), shader, lowered, options);
    gpu.own(pipeline, |gpu, pipeline| gpu.destroy_pipeline(pipeline))
}

/// Does what [`pipeline`] does, with another context of the device. The test destroys the pipeline.
pub fn pipeline_of(
    ctx: &Context,
    render_pass: vk::RenderPass,
    shader: &ProbeShader,
    lowered: &Lowered,
    options: PipelineOptions,
) -> Pipeline {
    let desc = PipelineDesc {
        topology: Some(options.topology.into()),
        specialize_topology: options.specialize,
        provoking_vertex: options.provoking,
        vertex_input: Some(&shader.vertex_input),
        render_pass,
        ..PipelineDesc::new(lowered)
    };
    // SAFETY: the context is of a live device.
    unsafe { Pipeline::new(ctx, &desc) }.unwrap()
}

/// Creates a compute pipeline for any draw of [`ProbeShader::identify`].
pub fn identifying_pipeline(gpu: &TestDevice) -> Owned<Pipeline> {
    let shader = ProbeShader::identify();
    pipeline(gpu, &shader, &lower(gpu, &shader, Backend::Compute), PipelineOptions::ANY)
}

/// Does what [`identifying_pipeline`] does, with primitive restart.
pub fn restarting_pipeline(gpu: &TestDevice, provoking_vertex: ProvokingVertex) -> Owned<Pipeline> {
    let shader = ProbeShader::identify();
    let lowered = lower(gpu, &shader, Backend::Compute);
    let desc = PipelineDesc {
        topology: Some(PrimitiveTopology::TriangleStrip.into()),
        specialize_topology: false,
        provoking_vertex,
        primitive_restart: true,
        vertex_input: Some(&shader.vertex_input),
        ..PipelineDesc::new(&lowered)
    };
    gpu.pipeline(&desc)
}

/// The bound range of a capture buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The bytes from the end of the guard to the range, a multiple of 4.
    pub offset: u64,
    /// The size of the range in bytes.
    pub size: u64,
}

/// The draws between a Begin and an End, and the capture buffers.
#[derive(Debug, Clone)]
pub struct Capture {
    pub draws: Vec<(PrimitiveTopology, Draw)>,
    /// The ranges of the capture buffers, by buffer number.
    pub buffers: Vec<Option<Bound>>,
}

/// The contents of the capture buffers, with their guards, and the counts after a capture.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub allocations: Vec<Option<Vec<u8>>>,
    pub primitives_written: u64,
    pub primitives_needed: u64,
    pub positions: [u64; 4],
}

impl Capture {
    /// Returns buffers that are large enough, filled with [`sentinel`] bytes.
    pub fn allocations(&self) -> Vec<Option<Vec<u8>>> {
        let fill = |(buffer, bound): (u32, &Option<Bound>)| {
            bound.map(|bound| {
                let mut bytes = vec![0; (bound.offset + bound.size + 2 * GUARD) as usize];
                sentinel::fill(buffer, &mut bytes);
                bytes
            })
        };
        (0u32..).zip(&self.buffers).map(fill).collect()
    }

    /// Computes the result of the capture as the specification defines it, primitive by primitive.
    /// The only closed formulas are those of the topology.
    pub fn model(&self, shader: &ProbeShader, provoking: ProvokingVertex) -> Outcome {
        let mut allocations = self.allocations();
        let mut positions = [0u64; 4];
        let (mut written, mut needed) = (0, 0);
        let captured = |buffer: usize| {
            let bound = self.buffers.get(buffer).copied().flatten()?;
            Some((bound, u64::from(shader.stride(buffer)?)))
        };
        let is_captured = (0..4).any(|buffer| captured(buffer).is_some());
        for (topology, draw) in &self.draws {
            let m = u64::from(topology.vertices_per_primitive());
            // After a primitive that does not fit, no other primitive of the draw fits.
            let mut overflowed = !is_captured;
            for instance in 0..draw.instance_count {
                for primitive in 0..topology.primitive_count(draw.vertex_count) {
                    needed += 1;
                    overflowed |= (0..4)
                        .filter_map(|b| Some((b, captured(b)?)))
                        .any(|(b, (bound, stride))| positions[b] + m * stride > bound.size);
                    if overflowed {
                        continue;
                    }
                    written += 1;
                    for buffer in 0..4 {
                        let Some((bound, stride)) = captured(buffer) else { continue };
                        for slot in 0..m {
                            let vertex = topology.gather(provoking, primitive * m + slot) as u32;
                            let at = (GUARD + bound.offset + positions[buffer]) as usize;
                            let bytes = allocations[buffer].as_mut().unwrap();
                            shader.record(
                                buffer,
                                draw.first_instance + instance,
                                draw.first_vertex + vertex,
                                &mut bytes[at..at + stride as usize],
                            );
                            positions[buffer] += stride;
                        }
                    }
                }
            }
        }
        Outcome { allocations, primitives_written: written, primitives_needed: needed, positions }
    }
}

/// Runs captures with the same pipeline.
///
/// The captures share a command buffer, except for native captures that leave out a buffer: in a
/// shared command buffer, the buffer of an earlier capture would still be bound.
pub fn run(
    gpu: &mut Gpu,
    shader: &ProbeShader,
    pipeline: &Pipeline,
    captures: &[Capture],
) -> Vec<Outcome> {
    let leaves_out = |capture: &Capture| {
        pipeline.backend() == Backend::Native && capture.buffers.iter().any(Option::is_none)
    };
    if captures.len() > 1 && captures.iter().any(leaves_out) {
        let one = |capture| run(gpu, shader, pipeline, std::slice::from_ref(capture)).remove(0);
        return captures.iter().map(one).collect();
    }
    let allocations: Vec<_> = captures.iter().map(Capture::allocations).collect();
    let targets: Vec<Vec<Option<CaptureTarget<'_>>>> = captures
        .iter()
        .zip(&allocations)
        .map(|(capture, allocations)| {
            capture
                .buffers
                .iter()
                .zip(allocations)
                .map(|(bound, initial)| {
                    let bound = bound.as_ref()?;
                    Some(CaptureTarget {
                        initial: initial.as_deref()?,
                        offset: GUARD + bound.offset,
                        size: bound.size,
                    })
                })
                .collect()
        })
        .collect();
    let vertex_buffers: Vec<Vec<(u32, Vec<u8>)>> =
        captures.iter().map(|capture| vertex_buffers(shader, capture)).collect();
    let vertex_data: Vec<Vec<VertexData<'_>>> = vertex_buffers
        .iter()
        .map(|buffers| {
            buffers.iter().map(|(binding, bytes)| VertexData { binding: *binding, bytes }).collect()
        })
        .collect();
    let requests: Vec<CaptureRequest<'_>> = captures
        .iter()
        .zip(&targets)
        .zip(&vertex_data)
        .map(|((capture, targets), vertex_data)| CaptureRequest {
            pipeline,
            vertex_data,
            descriptor_sets: &[],
            push_constants: &[],
            draws: &capture.draws,
            buffers: targets,
            indices: &[],
            counters: false,
        })
        .collect();
    // SAFETY: the pipeline is of this device; the vertex data holds every vertex.
    let results = unsafe { gpu.capture(&requests) }.unwrap();
    results
        .into_iter()
        .map(|CaptureResult { captured, buffers, .. }| Outcome {
            allocations: buffers,
            primitives_written: captured.primitives_written,
            primitives_needed: captured.primitives_needed,
            positions: captured.positions,
        })
        .collect()
}

fn vertex_buffers(shader: &ProbeShader, capture: &Capture) -> Vec<(u32, Vec<u8>)> {
    let end = |f: fn(&Draw) -> u32| capture.draws.iter().map(|(_, d)| f(d)).max().unwrap_or(0);
    let elements =
        end(|d| d.first_vertex + d.vertex_count).max(end(|d| d.first_instance + d.instance_count));
    let bindings = &shader.vertex_input.bindings;
    bindings
        .iter()
        .map(|b| (b.binding, shader.vertex_buffer(b.binding, elements).unwrap()))
        .collect()
}

/// Panics with the first difference of two outcomes, instead of printing megabytes.
pub fn assert_same(found: &Outcome, expected: &Outcome, what: &dyn std::fmt::Display) {
    assert_eq!(
        (found.primitives_written, found.primitives_needed, found.positions),
        (expected.primitives_written, expected.primitives_needed, expected.positions),
        "{what}: primitives written and needed, positions"
    );
    for (buffer, (a, b)) in found.allocations.iter().zip(&expected.allocations).enumerate() {
        let (Some(a), Some(b)) = (a, b) else {
            assert_eq!(a.is_some(), b.is_some(), "{what}: buffer {buffer}");
            continue;
        };
        assert_eq!(a.len(), b.len(), "{what}: buffer {buffer}");
        if let Some(at) = a.iter().zip(b).position(|(a, b)| a != b) {
            let at = at / 4 * 4;
            panic!(
                "{what}: buffer {buffer} differs at byte {at} of {} (guard {GUARD}): {:02x?}, not {:02x?}",
                a.len(),
                &a[at..(at + 16).min(a.len())],
                &b[at..(at + 16).min(b.len())],
            );
        }
    }
}

/// Lowers a shader for a backend of the device.
pub fn lower_on(
    gpu: &Gpu,
    backend: Backend,
    shader: &Shader<'_>,
    vertex_input: &VertexInput,
) -> Lowered {
    let target = gpu.compute_target(backend).unwrap();
    let lowered = match backend {
        Backend::Native => native::lower(shader),
        Backend::Vertex => vertex::lower(shader),
        Backend::Compute => {
            compute::lower(shader, &compute::Options::new(vertex_input).target(target))
        }
    };
    lowered.unwrap()
}

/// Draws of a lowered shader in one capture, for which a pipeline is created.
pub struct Draws<'a> {
    pub lowered: &'a Lowered,
    pub vertex_input: &'a VertexInput,
    /// The data of the vertex buffers, by binding number.
    pub vertex_data: &'a [Vec<u8>],
    /// The descriptor sets, from set 0 on.
    pub sets: &'a [&'a DescriptorSet],
    /// The push constants of each draw; empty if there are none.
    pub push_constants: &'a [Vec<u8>],
    pub topology: PrimitiveTopology,
    pub draws: &'a [Draw],
}

impl Draws<'_> {
    /// Captures the draws into buffers that are just large enough and filled with `0xa5`. Returns
    /// the contents of each buffer.
    pub fn capture(&self, gpu: &mut Gpu) -> Vec<Option<Vec<u8>>> {
        let &Draws { lowered, vertex_input, topology, push_constants, .. } = self;
        let set_layouts: Vec<_> = self.sets.iter().map(|set| set.layout).collect();
        let sets: Vec<_> = self.sets.iter().map(|set| set.raw).collect();
        let desc = PipelineDesc {
            topology: Some(topology.into()),
            specialize_topology: false,
            vertex_input: Some(vertex_input),
            set_layouts: &set_layouts,
            render_pass: gpu.render_pass(),
            ..PipelineDesc::new(lowered)
        };
        // SAFETY: the context is of a live device.
        let pipeline = unsafe { Pipeline::new(gpu.context(), &desc) }.unwrap();
        let records: u64 = (self.draws.iter())
            .map(|draw| {
                topology.primitive_count(draw.vertex_count) * u64::from(draw.instance_count)
            })
            .map(|primitives| primitives * u64::from(topology.vertices_per_primitive()))
            .sum();
        let of_buffer = |stride: &Option<u32>| {
            vec![0xa5; stride.map_or(0, |stride| stride as usize * records as usize)]
        };
        let initial: Vec<Vec<u8>> = lowered.layout.strides.iter().map(of_buffer).collect();
        let targets: Vec<Option<CaptureTarget<'_>>> = initial
            .iter()
            .map(|initial| CaptureTarget { initial, offset: 0, size: initial.len() as u64 })
            .map(|target| (target.size > 0).then_some(target))
            .collect();
        let vertex_data: Vec<VertexData<'_>> = (0..)
            .zip(self.vertex_data)
            .map(|(binding, bytes)| VertexData { binding, bytes })
            .collect();
        let draws: Vec<_> = self.draws.iter().map(|draw| (topology, *draw)).collect();
        let request = CaptureRequest {
            pipeline: &pipeline,
            vertex_data: &vertex_data,
            descriptor_sets: &sets,
            push_constants,
            draws: &draws,
            buffers: &targets,
            indices: &[],
            counters: false,
        };
        // SAFETY: the pipeline is of this device, and the vertex data holds what is drawn.
        let found = unsafe { gpu.capture(&[request]) }.unwrap().remove(0).buffers;
        gpu.destroy_pipeline(pipeline);
        found
    }
}

/// Captures a triangle strip of a shader that reads only indices: 5 triangles in each of two
/// instances. The buffers are filled with `0xa5` before. Returns the contents of each buffer.
pub fn capture(gpu: &mut Gpu, lowered: &Lowered) -> Vec<Option<Vec<u8>>> {
    let draws = Draws {
        lowered,
        vertex_input: &VertexInput::default(),
        vertex_data: &[],
        sets: &[],
        push_constants: &[],
        topology: PrimitiveTopology::TriangleStrip,
        draws: &[Draw { vertex_count: 7, instance_count: 2, first_vertex: 3, first_instance: 1 }],
    };
    draws.capture(gpu)
}
