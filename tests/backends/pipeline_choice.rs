//! Draws that are just at the limits between the Vulkan pipelines of a compute pipeline: vertex
//! buffers of 4 GiB and more, where offsets of elements take 64 bits, buffers that are not aligned
//! to vectors, elements that do not exist, and draws that are just small enough.

use vkxfb::runtime::{
    ArenaDesc, Buffer, Capture, CaptureBuffer, CaptureDesc, Draw, DrawIndexed, IndexBuffer,
    IndexType, Pipeline, PipelineDesc, PipelineUse, Recorder, VertexBuffer,
};
use vkxfb_probe::gpu::{OpenOptions, Resources};
use vkxfb_rewriter::lower::reflect::vertex_reads;
use vkxfb_rewriter::lower::{Backend, Shader, compute};
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_rewriter::vertex_input::VertexInput;

use crate::common;
use crate::common::test_device::{Owned, TestDevice};

const COMPUTE: Backend = Backend::Compute;
const STRIP: PrimitiveTopology = PrimitiveTopology::TriangleStrip;
const STRIDE: u64 = 16;
const VERTICES: u32 = 100;
const ELEMENTS: u64 = VERTICES as u64 * STRIDE;

const SHADER: &str = "#version 450
    layout(location = 0) in uvec4 element;
    layout(location = 0, xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0) out flat uvec4 captured;
    void main() { captured = element + gl_InstanceIndex; gl_Position = vec4(0.0); }";

/// The parameters of a draw.
#[derive(Debug, Clone, Copy)]
struct Drawn {
    vertices: u32,
    instances: u32,
    first: u32,
    is_indexed: bool,
}

/// The buffers of a draw.
#[derive(Debug, Clone, Copy)]
struct Bound {
    offset: u64,
    size: u64,
    /// The offset of the range in the capture buffer.
    captured_at: u64,
}

impl Drawn {
    /// Returns the number of records of an instance.
    fn records(self) -> u64 {
        (u64::from(self.vertices) - 2) * 3
    }

    fn captured_bytes(self) -> u64 {
        u64::from(self.instances) * self.records() * STRIDE
    }
}

/// Creates a pipeline. `staging` is the size of the shared memory in which records may be
/// collected.
fn pipeline(
    gpu: &TestDevice,
    staging: u32,
    topology: Option<PrimitiveTopology>,
) -> Owned<Pipeline> {
    let words = common::compile(SHADER, &[]);
    let shader = Shader::new(&words);
    let vertex_input = vertex_reads(&shader).unwrap().packed_vertex_input();
    let target = gpu.compute_target(COMPUTE).unwrap().staging(staging);
    let options = compute::Options::new(&vertex_input).target(target);
    let lowered = compute::lower(&shader, &options).unwrap();
    assert_eq!(lowered.compute().unwrap().is_staged, staging > 0);
    let desc = PipelineDesc::new(&lowered);
    let desc =
        topology.map_or(desc, |topology| PipelineDesc { topology: Some(topology.into()), ..desc });
    gpu.pipeline(&desc)
}

/// Returns what a draw captures that has its own dispatch.
fn captured(
    gpu: &mut TestDevice,
    pipeline: &Pipeline,
    vertices: &Buffer,
    bound: Bound,
    drawn: Drawn,
) -> Vec<u8> {
    let Bound { offset, size, captured_at } = bound;
    let usage = gpu.context().buffer_usages(COMPUTE).capture;
    let end = captured_at + drawn.captured_bytes();
    let target = gpu.filled(usage, &vec![0xa5_u8; end as usize]);
    let usage = gpu.context().buffer_usages(COMPUTE).index;
    let backwards: Vec<u32> = (0..drawn.vertices).rev().collect();
    let indices = gpu.filled(usage, &backwards);
    let kernels = gpu.kernels();
    let mut arena = gpu.arena(ArenaDesc::new(1, 1));
    gpu.submit(|ctx, cmd| {
        let size_of_captured = drawn.captured_bytes();
        let buffers = [Some(CaptureBuffer {
            offset: captured_at,
            ..CaptureBuffer::new(target.raw(), size_of_captured)
        })];
        let vertex_buffers =
            [VertexBuffer { offset, ..VertexBuffer::new(0, vertices.raw(), size) }];
        let desc = CaptureDesc {
            buffers: &buffers,
            vertex_buffers: &vertex_buffers,
            ..CaptureDesc::new(pipeline)
        };
        // SAFETY: everything outlives the submission, which is waited for; the draws read only what
        // the vertex buffer has.
        unsafe {
            let mut capture = Capture::new(ctx, &kernels);
            let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
            if drawn.is_indexed {
                let (raw, size) = (indices.raw(), indices.size());
                recorder.bind_index_buffer(&IndexBuffer::new(raw, size, IndexType::Uint32))?;
                let draw = DrawIndexed {
                    instance_count: drawn.instances,
                    ..DrawIndexed::new(drawn.vertices)
                };
                let draw = DrawIndexed { vertex_offset: drawn.first.cast_signed(), ..draw };
                recorder.draw_indexed(STRIP, &draw)?;
            } else {
                let draw = Draw { instance_count: drawn.instances, ..Draw::new(drawn.vertices) };
                recorder.draw(STRIP, &Draw { first_vertex: drawn.first, ..draw })?;
            }
            recorder.end(&[])?;
        }
        Ok(())
    })
    .unwrap();
    gpu.read(&target, captured_at..end).unwrap()
}

fn element(i: u32) -> [u32; 4] {
    [i, i.wrapping_mul(7), !i, i << 20]
}

fn elements(count: u32) -> Vec<u8> {
    (0..count).flat_map(|i| bytemuck::cast::<[u32; 4], [u8; 16]>(element(i))).collect()
}

/// Returns what the model captures if only the first `existing` elements exist.
fn expected(drawn: Drawn, existing: u64) -> Vec<u8> {
    expected_of(drawn, |vertex| (u64::from(vertex) < existing).then_some(vertex))
}

/// Returns the same for any assignment of elements to vertices: `element_of` returns the element of
/// a vertex, or `None` if it does not exist.
fn expected_of(drawn: Drawn, element_of: impl Fn(u32) -> Option<u32>) -> Vec<u8> {
    let vertex = |instance: u32, record: u64| {
        let vertex = STRIP.gather(ProvokingVertex::First, record) as u32;
        let vertex = if drawn.is_indexed { drawn.vertices - 1 - vertex } else { vertex };
        let values = element_of(vertex).map_or([0; 4], element);
        values.map(|value| value.wrapping_add(instance))
    };
    let vertex = &vertex;
    let records = |instance| (0..drawn.records()).map(move |record| vertex(instance, record));
    let values: Vec<[u32; 4]> = (0..drawn.instances).flat_map(records).collect();
    bytemuck::cast_slice(&values).to_vec()
}

const DRAWN: Drawn = Drawn { vertices: VERTICES, instances: 3, first: 0, is_indexed: false };

/// Creates a vertex buffer of `allocated` bytes with elements from `at` on, and checks the captures
/// of draws with and without indices, and of one instance.
fn check(gpu: &mut TestDevice, (allocated, at): (u64, u64), bound: Bound, first: u32) {
    let pipeline = pipeline(gpu, 0, Some(STRIP));
    let usage = gpu.context().buffer_usages(COMPUTE).vertex;
    let vertices = gpu.buffer(allocated, usage);
    gpu.write(&vertices, at, &elements(VERTICES)).unwrap();
    let existing = bound.size / STRIDE - u64::from(first);
    for (is_indexed, instances) in [(false, 3), (true, 3), (false, 1)] {
        let drawn = Drawn { first, is_indexed, instances, ..DRAWN };
        let found = captured(gpu, &pipeline, &vertices, bound, drawn);
        assert!(found == expected(drawn, existing), "{drawn:?} {bound:?}");
    }
}

/// Only the bound range is that large, not the buffer, so that every device can run this test.
#[test]
fn the_code_for_far_elements_reads_near_ones() {
    let mut gpu = TestDevice::open(&OpenOptions::default());
    let bound = Bound { offset: 0, size: (1 << 32) + STRIDE, captured_at: 0 };
    check(&mut gpu, (ELEMENTS, 0), bound, 0);
}

#[test]
#[ignore = "takes 4 GiB of device memory, and maxBufferSize beyond that"]
fn elements_beyond_4_gib_are_read() {
    let mut gpu = TestDevice::open(&OpenOptions::default());
    let first = ((1u64 << 32) / STRIDE) as u32 - VERTICES / 2;
    let at = STRIDE * u64::from(first);
    let bound = Bound { offset: 0, size: at + ELEMENTS, captured_at: 0 };
    check(&mut gpu, (at + ELEMENTS, at), bound, first);
}

#[test]
fn buffers_need_not_be_aligned_to_vectors() {
    for resources in [Resources::Best, Resources::Descriptors] {
        let mut gpu = TestDevice::open(&OpenOptions { resources, ..Default::default() });
        for (offset, captured_at) in [(0, 0), (4, 0), (0, 4), (12, 8), (16, 16)] {
            let bound = Bound { offset, size: ELEMENTS, captured_at };
            check(&mut gpu, (offset + ELEMENTS, offset), bound, 0);
        }
    }
}

#[test]
fn elements_that_do_not_exist_are_zeros() {
    for resources in [Resources::Best, Resources::Descriptors] {
        let mut gpu = TestDevice::open(&OpenOptions { resources, ..Default::default() });
        for size in [ELEMENTS - 1, ELEMENTS - STRIDE, ELEMENTS - STRIDE + 4, STRIDE, 4] {
            let bound = Bound { offset: 0, size, captured_at: 0 };
            check(&mut gpu, (ELEMENTS, 0), bound, 0);
        }
    }
}

/// Vertex numbers are modulo 2^32: the highest number is followed by the first element. No pipeline
/// may treat such draws as if all their elements existed.
#[test]
fn numbers_of_vertices_wrap() {
    let bound = Bound { offset: 0, size: ELEMENTS, captured_at: 0 };
    for (resources, max_shared_workgroups) in [
        (Resources::Best, None),
        (Resources::Best, Some(0)),
        (Resources::Descriptors, None),
        (Resources::Descriptors, Some(0)),
    ] {
        let parallel_kernels = max_shared_workgroups.is_some();
        let options = OpenOptions {
            resources,
            max_shared_workgroups,
            parallel_kernels,
            ..Default::default()
        };
        let mut gpu = TestDevice::open(&options);
        let usage = gpu.context().buffer_usages(COMPUTE).vertex;
        let vertices = gpu.buffer(ELEMENTS, usage);
        gpu.write(&vertices, 0, &elements(VERTICES)).unwrap();
        for topology in [Some(STRIP), None] {
            let pipeline = pipeline(&gpu, 0, topology);
            for first in [u32::MAX, u32::MAX - 1, u32::MAX - VERTICES + 2] {
                for (is_indexed, instances) in [(false, 3), (true, 3), (false, 1), (true, 1)] {
                    let drawn = Drawn { first, is_indexed, instances, ..DRAWN };
                    let found = captured(&mut gpu, &pipeline, &vertices, bound, drawn);
                    let element = |v| Some(first.wrapping_add(v)).filter(|e| *e < VERTICES);
                    let is_right = found == expected_of(drawn, element);
                    assert!(is_right, "{resources:?} {max_shared_workgroups:?} {drawn:?}");
                }
            }
        }
    }
}

/// Draws without indices collect records in shared memory if they have more than 64 workgroups, and
/// indexed draws always do. With more than 64 workgroups, indexed draws use the pipeline for their
/// topology.
#[test]
fn draws_are_captured_with_and_without_staging() {
    for resources in [Resources::Best, Resources::Descriptors] {
        let mut gpu = TestDevice::open(&OpenOptions { resources, ..Default::default() });
        let most = 64 * gpu.compute_target(COMPUTE).unwrap().workgroup_sizes.others;
        let usage = gpu.context().buffer_usages(COMPUTE).vertex;
        let size = u64::from(most + 1) * STRIDE;
        let vertices = gpu.buffer(size, usage);
        gpu.write(&vertices, 0, &elements(most + 1)).unwrap();
        for topology in [Some(STRIP), None] {
            let pipeline = pipeline(&gpu, 2048, topology);
            let counts = [most, most + 1];
            for (count, is_indexed) in counts.into_iter().flat_map(|n| [(n, false), (n, true)]) {
                let drawn = Drawn { vertices: count, instances: 1, is_indexed, ..DRAWN };
                let bound = Bound { offset: 0, size, captured_at: 0 };
                let found = captured(&mut gpu, &pipeline, &vertices, bound, drawn);
                let is_right = found == expected(drawn, u64::MAX);
                assert!(is_right, "{resources:?} {topology:?} {count} {is_indexed}");
            }
        }
    }
}

/// A shader that counts its runs.
const COUNTING_SHADER: &str = "#version 450
    #extension GL_EXT_buffer_reference : require
    layout(buffer_reference, std430) buffer Runs { uint count; };
    layout(push_constant) uniform Pushed { Runs runs; };
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        atomicAdd(runs.count, 1);
        captured = gl_VertexIndex;
        gl_Position = vec4(0.0);
    }";

/// Tests draws that capture nothing with every pipeline: with indices or without, with primitive
/// restart, alone or with others.
#[test]
fn draws_of_nothing_run_no_shader() {
    for max_shared_workgroups in [None, Some(0)] {
        let parallel_kernels = max_shared_workgroups.is_some();
        let options = OpenOptions { max_shared_workgroups, parallel_kernels, ..Default::default() };
        let mut gpu = TestDevice::open(&options);
        if !gpu.context().has_addresses() {
            continue;
        }
        for (restart, topology) in [(false, None), (true, None), (true, Some(STRIP))] {
            let pipeline = counting_pipeline(&gpu, restart, topology);
            for (vertices, instances) in [(0, 1), (VERTICES, 0), (VERTICES, 1)] {
                for (is_indexed, times) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
                    let drawn = Drawn { vertices, instances, first: 0, is_indexed };
                    let runs = runs(&mut gpu, &pipeline, drawn, times);
                    let is_nothing = vertices == 0 || instances == 0;
                    let what = format!("{runs} runs: {drawn:?} {restart} {topology:?} {times}");
                    assert_eq!(runs == 0, is_nothing, "{what}");
                }
            }
        }
    }
}

fn counting_pipeline(
    gpu: &TestDevice,
    restart: bool,
    topology: Option<PrimitiveTopology>,
) -> Owned<Pipeline> {
    let words = common::compile(COUNTING_SHADER, &["--target-env", "vulkan1.1"]);
    let vertex_input = VertexInput::default();
    let options = compute::Options::new(&vertex_input).target(gpu.compute_target(COMPUTE).unwrap());
    let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
    let desc = PipelineDesc { primitive_restart: restart, ..PipelineDesc::new(&lowered) };
    let desc =
        topology.map_or(desc, |topology| PipelineDesc { topology: Some(topology.into()), ..desc });
    gpu.pipeline(&desc)
}

/// Returns how often the shader runs for `times` draws of a capture.
fn runs(gpu: &mut TestDevice, pipeline: &Pipeline, drawn: Drawn, times: u32) -> u32 {
    let ctx = gpu.context();
    let usage = ctx.buffer_usages(COMPUTE).capture | ctx.buffer_usages(COMPUTE).index;
    let mut buffer = |size| gpu.buffer(size, usage);
    let (target, indices, counter) = (buffer(1 << 16), buffer(4 * u64::from(VERTICES)), buffer(4));
    let all: Vec<u32> = (0..VERTICES).collect();
    gpu.write(&indices, 0, bytemuck::cast_slice(&all)).unwrap();
    gpu.write(&counter, 0, &[0; 4]).unwrap();
    let kernels = gpu.kernels();
    let used = PipelineUse::new(pipeline, 2);
    let mut arena = gpu.arena(ArenaDesc {
        restarted_draws: 2,
        restarted_indices: 2 * u64::from(VERTICES),
        pipelines: &[used],
        ..ArenaDesc::new(1, 2)
    });
    gpu.submit(|ctx, cmd| {
        let buffers = [Some(CaptureBuffer::new(target.raw(), target.size()))];
        let desc = CaptureDesc { buffers: &buffers, ..CaptureDesc::new(pipeline) };
        // SAFETY: everything outlives the submission, which is waited for, and the draws read only what
        // the index buffer has.
        unsafe {
            let mut capture = Capture::new(ctx, &kernels);
            let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
            recorder.push_constants(0, &counter.address().to_ne_bytes())?;
            let (raw, size) = (indices.raw(), indices.size());
            recorder.bind_index_buffer(&IndexBuffer::new(raw, size, IndexType::Uint32))?;
            for _ in 0..times {
                if drawn.is_indexed {
                    let draw = DrawIndexed::new(drawn.vertices);
                    recorder.draw_indexed(
                        STRIP,
                        &DrawIndexed { instance_count: drawn.instances, ..draw },
                    )?;
                } else {
                    let draw = Draw::new(drawn.vertices);
                    recorder.draw(STRIP, &Draw { instance_count: drawn.instances, ..draw })?;
                }
            }
            recorder.end(&[])?;
        }
        Ok(())
    })
    .unwrap();
    let bytes = gpu.read(&counter, 0..4).unwrap();
    u32::from_le_bytes(bytes.try_into().unwrap())
}
