//! Vertex buffers of 4 GiB and more: offsets of elements take 64 bits, which only some draws pay for.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use vkxfb::lower::reflect::vertex_reads;
use vkxfb::lower::{Backend, Shader, compute};
use vkxfb::runtime::{
    ArenaDesc, Buffer, Capture, CaptureBuffer, CaptureDesc, Draw, DrawIndexed, IndexBuffer,
    IndexType, MemoryLocation, Pipeline, PipelineDesc, Recorder, VertexBuffer,
};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::{Gpu, OpenOptions};

const COMPUTE: Backend = Backend::Compute;
const STRIP: PrimitiveTopology = PrimitiveTopology::TriangleStrip;
const STRIDE: u64 = 16;
const VERTICES: u32 = 100;
/// Bytes that the draws capture: three instances of a strip, twice.
const CAPTURED: u64 = 2 * 3 * (VERTICES as u64 - 2) * 3 * STRIDE;

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

/// What a draw with and one without indices capture from `first` on, in a vertex buffer that is bound
/// with that size.
fn captured(
    gpu: &mut Gpu,
    pipeline: &Pipeline,
    vertices: &Buffer,
    size: u64,
    first: u32,
) -> Vec<u8> {
    let usage = gpu.context().capture_buffer_usage(COMPUTE);
    let target = gpu.create_buffer(CAPTURED, usage, MemoryLocation::Device).unwrap();
    let usage = gpu.context().index_buffer_usage(COMPUTE);
    let indices =
        gpu.create_buffer(4 * u64::from(VERTICES), usage, MemoryLocation::Device).unwrap();
    let backwards: Vec<u32> = (0..VERTICES).rev().collect();
    gpu.write(&indices, 0, bytemuck::cast_slice(&backwards)).unwrap();
    gpu.write(&target, 0, &vec![0xa5; CAPTURED as usize]).unwrap();
    let kernels = gpu.kernels();
    let mut arena = gpu.create_arena(&ArenaDesc::for_draws(1, 2)).unwrap();
    gpu.submit(|ctx, cmd| {
        let buffers = [Some(CaptureBuffer::new(target.raw(), CAPTURED))];
        let vertex_buffers = [VertexBuffer::new(0, vertices.raw(), size)];
        let desc = CaptureDesc::new(pipeline).buffers(&buffers).vertex_buffers(&vertex_buffers);
        // SAFETY: everything outlives the submission, which is waited for; the draws read only what
        // the vertex buffer has.
        unsafe {
            let mut capture = Capture::new(ctx, &kernels);
            let mut recorder = Recorder::begin(&mut capture, &mut arena, cmd, &desc)?;
            recorder.draw(STRIP, &Draw::new(VERTICES).instance_count(3).first_vertex(first))?;
            let size = indices.size();
            recorder.bind_index_buffer(&IndexBuffer::new(
                indices.raw(),
                size,
                IndexType::Uint32,
            ))?;
            let draw = DrawIndexed::new(VERTICES).instance_count(3);
            recorder.draw_indexed(STRIP, &draw.vertex_offset(first.cast_signed()))?;
            recorder.end(&[])?;
        }
        Ok(())
    })
    .unwrap();
    let bytes = gpu.read(&target, 0..CAPTURED).unwrap();
    gpu.destroy_arena(arena);
    gpu.destroy_buffer(target);
    gpu.destroy_buffer(indices);
    bytes
}

fn elements() -> Vec<u32> {
    (0..VERTICES).flat_map(|i| [i, 7 * i, !i, i << 20]).collect()
}

/// Compares buffers of `size` bytes, of which the last ones are read, with one of only these.
fn compare(gpu: &mut Gpu, allocated: u64, size: u64, first: u32) {
    let pipeline = pipeline(gpu);
    let bytes = STRIDE * u64::from(VERTICES);
    let usage = gpu.context().vertex_buffer_usage(COMPUTE);
    let [near, far] = [bytes, allocated]
        .map(|size| gpu.create_buffer(size, usage, MemoryLocation::Device).unwrap());
    gpu.write(&near, 0, bytemuck::cast_slice(&elements())).unwrap();
    gpu.write(&far, STRIDE * u64::from(first), bytemuck::cast_slice(&elements())).unwrap();
    let expected = captured(gpu, &pipeline, &near, bytes, 0);
    assert_eq!(expected[..16], bytemuck::cast_slice::<u32, u8>(&elements())[..16]);
    assert!(captured(gpu, &pipeline, &far, size, first) == expected);
    gpu.destroy_buffer(near);
    gpu.destroy_buffer(far);
    gpu.destroy_pipeline(pipeline);
}

/// The buffer only says that it is so large, so that every device can do it.
#[test]
fn the_code_for_far_elements_reads_near_ones() {
    let mut gpu = Gpu::open(&OpenOptions::default()).unwrap();
    compare(&mut gpu, STRIDE * u64::from(VERTICES), (1 << 32) + STRIDE, 0);
}

#[test]
#[ignore = "takes 4 GiB of device memory, and maxBufferSize beyond that"]
fn elements_beyond_4_gib_are_read() {
    let mut gpu = Gpu::open(&OpenOptions::default()).unwrap();
    let first = ((1u64 << 32) / STRIDE) as u32 - VERTICES / 2;
    let size = STRIDE * u64::from(first + VERTICES);
    compare(&mut gpu, size, size, first);
}
