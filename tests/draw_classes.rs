//! Buffers that only the class of all draws takes: vertex buffers of 4 GiB and more, because offsets of
//! elements take 64 bits there, and by descriptors buffers that are not aligned to vectors.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use vkxfb::lower::reflect::vertex_reads;
use vkxfb::lower::{Backend, Shader, compute};
use vkxfb::runtime::{
    ArenaDesc, Buffer, Capture, CaptureBuffer, CaptureDesc, Draw, DrawIndexed, IndexBuffer,
    IndexType, MemoryLocation, Pipeline, PipelineDesc, Recorder, VertexBuffer,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_probe::gpu::{Gpu, OpenOptions, Resources};

const COMPUTE: Backend = Backend::Compute;
const STRIP: PrimitiveTopology = PrimitiveTopology::TriangleStrip;
const STRIDE: u64 = 16;
const VERTICES: u32 = 100;
const INSTANCES: u32 = 3;
/// Records of an instance.
const RECORDS: u64 = (VERTICES as u64 - 2) * 3;
const ELEMENTS: u64 = VERTICES as u64 * STRIDE;
const CAPTURED: u64 = INSTANCES as u64 * RECORDS * STRIDE;

const SHADER: &str = "#version 450
    layout(location = 0) in uvec4 element;
    layout(location = 0, xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0) out flat uvec4 captured;
    void main() { captured = element + gl_InstanceIndex; gl_Position = vec4(0.0); }";

fn pipeline(gpu: &Gpu) -> Pipeline {
    let words = common::compile(SHADER, &[]);
    let shader = Shader::new(&words);
    let vertex_input = vertex_reads(&shader).unwrap().packed_vertex_input();
    let options = compute::Options::new(&vertex_input).target(gpu.compute_target(COMPUTE).unwrap());
    let lowered = compute::lower(&shader, &options).unwrap();
    let desc = PipelineDesc::new(&lowered, &vertex_input).topology(STRIP);
    // SAFETY: the device of the context is live.
    unsafe { Pipeline::new(gpu.context(), &desc) }.unwrap()
}

/// What is bound, and where in it the elements begin.
#[derive(Clone, Copy)]
struct Bound<'a> {
    vertices: &'a Buffer,
    offset: u64,
    size: u64,
    first: u32,
    /// The offset of the capture buffer.
    captured_at: u64,
}

/// What a draw captures, which has a dispatch of its own.
fn captured(gpu: &mut Gpu, pipeline: &Pipeline, bound: Bound<'_>, is_indexed: bool) -> Vec<u8> {
    let Bound { vertices, offset, size, first, captured_at } = bound;
    let usage = gpu.context().capture_buffer_usage(COMPUTE);
    let end = captured_at + CAPTURED;
    let target = gpu.create_buffer(end, usage, MemoryLocation::Device).unwrap();
    gpu.write(&target, 0, &vec![0xa5; end as usize]).unwrap();
    let usage = gpu.context().index_buffer_usage(COMPUTE);
    let backwards: Vec<u32> = (0..VERTICES).rev().collect();
    let indices = gpu
        .create_buffer(size_of_val(&backwards[..]) as u64, usage, MemoryLocation::Device)
        .unwrap();
    gpu.write(&indices, 0, bytemuck::cast_slice(&backwards)).unwrap();
    let kernels = gpu.kernels();
    let mut arena = gpu.create_arena(&ArenaDesc::for_draws(1, 1)).unwrap();
    gpu.submit(|ctx, cmd| {
        let buffers = [Some(CaptureBuffer::new(target.raw(), CAPTURED).offset(captured_at))];
        let vertex_buffers = [VertexBuffer::new(0, vertices.raw(), size).offset(offset)];
        let desc = CaptureDesc::new(pipeline).buffers(&buffers).vertex_buffers(&vertex_buffers);
        // SAFETY: everything outlives the submission, which is waited for; the draws read only what
        // the vertex buffer has.
        unsafe {
            let mut capture = Capture::new(ctx, &kernels);
            let mut recorder = Recorder::begin(&mut capture, &mut arena, cmd, &desc)?;
            if is_indexed {
                let (raw, size) = (indices.raw(), indices.size());
                recorder.bind_index_buffer(&IndexBuffer::new(raw, size, IndexType::Uint32))?;
                let draw = DrawIndexed::new(VERTICES).instance_count(INSTANCES);
                recorder.draw_indexed(STRIP, &draw.vertex_offset(first.cast_signed()))?;
            } else {
                let draw = Draw::new(VERTICES).instance_count(INSTANCES);
                recorder.draw(STRIP, &draw.first_vertex(first))?;
            }
            recorder.end(&[])?;
        }
        Ok(())
    })
    .unwrap();
    let bytes = gpu.read(&target, captured_at..end).unwrap();
    gpu.destroy_arena(arena);
    gpu.destroy_buffer(target);
    gpu.destroy_buffer(indices);
    bytes
}

fn elements() -> Vec<u32> {
    (0..VERTICES).flat_map(|i| [i, 7 * i, !i, i << 20]).collect()
}

/// What is captured, by the model.
fn expected(is_indexed: bool) -> Vec<u8> {
    let elements = elements();
    let vertex = |instance: u32, record: u64| {
        let vertex = STRIP.gather(ProvokingVertex::First, record) as usize;
        let vertex = if is_indexed { VERTICES as usize - 1 - vertex } else { vertex };
        elements[4 * vertex..][..4].iter().map(move |value| value.wrapping_add(instance))
    };
    let records = |instance| (0..RECORDS).flat_map(move |record| vertex(instance, record));
    let values: Vec<u32> = (0..INSTANCES).flat_map(records).collect();
    bytemuck::cast_slice(&values).to_vec()
}

/// Creates a vertex buffer of `allocated` bytes with elements from `at` on, binds it with that offset
/// and size, and checks what draws capture from vertex `first` on.
fn check(
    gpu: &mut Gpu,
    (allocated, at): (u64, u64),
    (offset, size): (u64, u64),
    first: u32,
    captured_at: u64,
) {
    let pipeline = pipeline(gpu);
    let usage = gpu.context().vertex_buffer_usage(COMPUTE);
    let vertices = gpu.create_buffer(allocated, usage, MemoryLocation::Device).unwrap();
    gpu.write(&vertices, at, bytemuck::cast_slice(&elements())).unwrap();
    let bound = Bound { vertices: &vertices, offset, size, first, captured_at };
    for is_indexed in [false, true] {
        let found = captured(gpu, &pipeline, bound, is_indexed);
        assert!(found == expected(is_indexed), "{is_indexed}, {offset}, {captured_at}");
    }
    gpu.destroy_buffer(vertices);
    gpu.destroy_pipeline(pipeline);
}

/// The buffer only says that it is so large, so that every device can do it.
#[test]
fn the_code_for_far_elements_reads_near_ones() {
    let mut gpu = Gpu::open(&OpenOptions::default()).unwrap();
    check(&mut gpu, (ELEMENTS, 0), (0, (1 << 32) + STRIDE), 0, 0);
}

#[test]
#[ignore = "takes 4 GiB of device memory, and maxBufferSize beyond that"]
fn elements_beyond_4_gib_are_read() {
    let mut gpu = Gpu::open(&OpenOptions::default()).unwrap();
    let first = ((1u64 << 32) / STRIDE) as u32 - VERTICES / 2;
    let at = STRIDE * u64::from(first);
    check(&mut gpu, (at + ELEMENTS, at), (0, at + ELEMENTS), first, 0);
}

#[test]
fn buffers_need_not_be_aligned_to_vectors() {
    for resources in [Resources::Best, Resources::Descriptors] {
        let mut gpu = Gpu::open(&OpenOptions { resources, ..Default::default() }).unwrap();
        for (offset, captured_at) in [(0, 0), (4, 0), (0, 4), (12, 8), (16, 16)] {
            check(&mut gpu, (offset + ELEMENTS, offset), (offset, ELEMENTS), 0, captured_at);
        }
    }
}
