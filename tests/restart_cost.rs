//! Primitive restart costs at most three times what the same draw costs without, and huge captures count
//! in 64 bits.
//!
//! `VKXFB_INDICES` says how many indices are drawn, 1 Mi by default.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(feature = "probe")]

mod common;

use std::time::{Duration, Instant};

use ash::vk;
use common::timing::{self, Comparison};
use vkxfb::draw::MAX_BUFFER_SIZE;
use vkxfb::lower::{Backend, Lowered, Shader, compute};
use vkxfb::probe::gpu::{Gpu, OpenOptions};
use vkxfb::probe::shaders::ProbeShader;
use vkxfb::runtime::{
    Arena, ArenaDesc, Buffer, CaptureBuffer, CaptureDesc, CounterBuffer, Draw, DrawIndexed,
    IndexBuffer, IndexType, MemoryLocation, Pipeline, PipelineDesc, Recorder, VertexBuffer,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::VertexInput;

/// Indices of a segment, the restart included.
const SEGMENT: u32 = 101;
/// Vertices of 16 bytes that the indices go through.
const VERTICES: u32 = 1 << 20;

const COMPUTE: Backend = Backend::Compute;

/// 16 bytes in, 32 bytes out.
fn stream(gpu: &Gpu) -> (Lowered, VertexInput) {
    let (words, vertex_input) = timing::stream();
    (lower(gpu, &words, &vertex_input), vertex_input)
}

/// Nothing in, 16 bytes out.
fn identify(gpu: &Gpu) -> (Lowered, VertexInput) {
    let shader = ProbeShader::identify();
    (lower(gpu, &shader.words(), &shader.vertex_input), shader.vertex_input)
}

fn lower(gpu: &Gpu, words: &[u32], vertex_input: &VertexInput) -> Lowered {
    let target = gpu.compute_target(Backend::Compute).unwrap();
    let options = compute::Options { vertex_input, target };
    compute::lower(&Shader::new(words), &options).unwrap()
}

fn pipeline(
    gpu: &Gpu,
    (shader, vertex_input): &(Lowered, VertexInput),
    topology: PrimitiveTopology,
    primitive_restart: bool,
) -> Pipeline {
    let desc = PipelineDesc {
        shader,
        topology,
        provoking_vertex: ProvokingVertex::First,
        primitive_restart,
        vertex_input,
        set_layouts: &[],
        dynamic_topology: true,
        render_pass: vk::RenderPass::null(),
        cache: vk::PipelineCache::null(),
    };
    // SAFETY: the context is of a live device.
    unsafe { Pipeline::new(gpu.context(), &desc) }.unwrap()
}

struct Memory {
    vertices: Buffer,
    indices: Buffer,
    target: Buffer,
    count: u32,
}

impl Memory {
    fn new(gpu: &mut Gpu, count: u32, target: u64) -> Self {
        let ctx = gpu.context().clone();
        let mut buffer =
            |size, usage| gpu.create_buffer(size, usage, MemoryLocation::Device).unwrap();
        let memory = Self {
            vertices: buffer(u64::from(VERTICES) * 16, ctx.vertex_buffer_usage(COMPUTE)),
            indices: buffer(u64::from(count) * 4, ctx.index_buffer_usage(COMPUTE)),
            target: buffer(target, ctx.capture_buffer_usage(COMPUTE)),
            count,
        };
        let index = |i| if i % SEGMENT == SEGMENT - 1 { u32::MAX } else { i % VERTICES };
        let indices: Vec<u32> = (0..count).map(index).collect();
        gpu.write(&memory.indices, 0, bytemuck::cast_slice(&indices)).unwrap();
        memory
    }

    fn destroy(self, gpu: &mut Gpu) {
        for buffer in [self.vertices, self.indices, self.target] {
            gpu.destroy_buffer(buffer);
        }
    }
}

/// Wall-clock time of one capture.
fn time(
    gpu: &mut Gpu,
    arena: &mut Arena,
    pipeline: &Pipeline,
    memory: &Memory,
    topology: PrimitiveTopology,
) -> Duration {
    let kernels = gpu.kernels();
    // SAFETY: the submission before was waited for.
    unsafe { arena.reset() };
    let start = Instant::now();
    gpu.submit(|ctx, cmd| {
        let desc = CaptureDesc {
            pipeline,
            kernels: &kernels,
            buffers: &[Some(CaptureBuffer {
                buffer: memory.target.raw(),
                offset: 0,
                size: memory.target.size(),
            })],
            vertex_buffers: &[VertexBuffer {
                binding: 0,
                buffer: memory.vertices.raw(),
                offset: 0,
                size: memory.vertices.size(),
                stride: None,
            }],
            counters: &[],
        };
        // SAFETY: everything outlives the submission, which is waited for.
        unsafe {
            let mut recorder = Recorder::begin(ctx, arena, cmd, &desc)?;
            recorder.bind_index_buffer(&IndexBuffer {
                buffer: memory.indices.raw(),
                offset: 0,
                size: memory.indices.size(),
                index_type: IndexType::Uint32,
            })?;
            let draw = DrawIndexed {
                index_count: memory.count,
                instance_count: 1,
                ..DrawIndexed::default()
            };
            recorder.draw_indexed(topology, &draw)?;
            recorder.end(&[])?;
        }
        Ok(())
    })
    .unwrap();
    start.elapsed()
}

/// Whatever the driver's own cost, so that small captures are not all submission.
fn ratio(
    gpu: &mut Gpu,
    shader: &(Lowered, VertexInput),
    topology: PrimitiveTopology,
    record: u64,
) -> f64 {
    let count = std::env::var("VKXFB_INDICES").map_or(1 << 20, |v| v.parse().unwrap());
    let size = (topology.output_count(count) * record).min(MAX_BUFFER_SIZE);
    let memory = Memory::new(gpu, count, size);
    let scratch = ArenaDesc::restart_scratch(count.into());
    let desc = ArenaDesc::for_draws(1, 1);
    let desc = ArenaDesc { scratch: desc.scratch + scratch, ..desc };
    let mut arena = gpu.create_arena(&desc).unwrap();
    let [without, with] = [false, true].map(|restart| pipeline(gpu, shader, topology, restart));
    let Comparison { milliseconds, ratio } =
        timing::compare([&with, &without], |p| time(gpu, &mut arena, p, &memory, topology));
    println!(
        "{topology} of {count} indices, {record} bytes a record: without {:.3} ms, with {:.3} ms, \
         ratio {ratio:.2}",
        milliseconds[1], milliseconds[0],
    );
    gpu.destroy_pipeline(without);
    gpu.destroy_pipeline(with);
    gpu.destroy_arena(arena);
    memory.destroy(gpu);
    ratio
}

#[test]
fn restart_costs_at_most_three_times_as_much() {
    let mut gpu = Gpu::open(&OpenOptions::default()).unwrap();
    let (stream, identify) = (stream(&gpu), identify(&gpu));
    let list = ratio(&mut gpu, &stream, PrimitiveTopology::TriangleList, 32);
    let strip = ratio(&mut gpu, &identify, PrimitiveTopology::TriangleStrip, 16);
    let fan = ratio(&mut gpu, &identify, PrimitiveTopology::TriangleFan, 16);
    assert!(list <= 3.0 && strip <= 3.0 && fan <= 3.0, "{list:.2}, {strip:.2}, {fan:.2}");
}

/// A strip whose records pass 2^32 bytes, in a buffer of 2^32 - 4: by the CPU's clamps and by the setup
/// kernel's.
#[test]
#[ignore = "takes 4 GiB of device memory"]
fn captures_fill_the_largest_buffer() {
    let mut gpu = Gpu::open(&OpenOptions::default()).unwrap();
    let shader = identify(&gpu);
    let strip = PrimitiveTopology::TriangleStrip;
    let pipeline = pipeline(&gpu, &shader, strip, false);
    let usage = gpu.context().capture_buffer_usage(COMPUTE);
    let target = gpu.create_buffer(1 << 32, usage, MemoryLocation::Device).unwrap();
    let usage = gpu.context().counter_buffer_usage(COMPUTE);
    let counter = gpu.create_buffer(4, usage, MemoryLocation::Device).unwrap();
    let kernels = gpu.kernels();
    let (records, vertex_count) = (MAX_BUFFER_SIZE / 48 * 3, 100_000_000);
    for resumed in [false, true] {
        let mut arena = gpu.create_arena(&ArenaDesc::for_draws(1, 2)).unwrap();
        gpu.write(&counter, 0, &[0; 4]).unwrap();
        gpu.write(&target, (1 << 32) - 256, &[0xa5; 256]).unwrap();
        gpu.submit(|ctx, cmd| {
            let at = Some(CounterBuffer { buffer: counter.raw(), offset: 0 });
            let bound = CaptureBuffer { buffer: target.raw(), offset: 0, size: MAX_BUFFER_SIZE };
            let desc = CaptureDesc {
                pipeline: &pipeline,
                kernels: &kernels,
                buffers: &[Some(bound)],
                vertex_buffers: &[],
                counters: &[at.filter(|_| resumed)],
            };
            let draw = Draw { vertex_count, instance_count: 3, ..Draw::default() };
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                let mut recorder = Recorder::begin(ctx, &mut arena, cmd, &desc)?;
                recorder.draw(strip, &draw)?;
                recorder.draw(strip, &draw)?;
                recorder.end(&[at])?;
            }
            Ok(())
        })
        .unwrap();
        gpu.destroy_arena(arena);
        let position = gpu.read(&counter, 0..4).unwrap();
        assert_eq!(u32::from_le_bytes(position.try_into().unwrap()) as u64, 16 * records);
        let last = 16 * (records - 1);
        let bytes = gpu.read(&target, last..1 << 32).unwrap();
        let vertex = strip.gather(ProvokingVertex::First, records - 1) as u32;
        assert_eq!(bytes[..4], vertex.to_le_bytes());
        assert!(bytes[16..].iter().all(|byte| *byte == 0xa5), "{:x?}", &bytes[16..]);
    }
    gpu.destroy_buffer(target);
    gpu.destroy_buffer(counter);
    gpu.destroy_pipeline(pipeline);
}
