//! The hub of a fan does not serialise: a fan takes at most twice as long as a strip of the same size.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(feature = "probe")]

mod common;

use std::time::{Duration, Instant};

use ash::vk;
use common::timing::{self, Comparison};
use vkxfb::lower::{Backend, Shader, compute};
use vkxfb::probe::gpu::{Gpu, OpenOptions};
use vkxfb::runtime::{
    ArenaDesc, Buffer, CaptureBuffer, CaptureDesc, Draw, MemoryLocation, Pipeline, PipelineDesc,
    Recorder, VertexBuffer,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

const VERTICES: u32 = 1_000_000;
const RECORD: u64 = 32;
/// Captures in one submission, so that its cost does not count.
const REPEATS: u32 = 4;

struct Bench {
    gpu: Gpu,
    pipeline: Pipeline,
    vertices: Buffer,
    target: Buffer,
}

impl Bench {
    fn new(specialize: Option<PrimitiveTopology>) -> Self {
        // Without the validation layer: this is about time.
        let mut gpu = Gpu::open(&OpenOptions::default()).unwrap();
        let (words, vertex_input) = timing::stream();
        let options = compute::Options::new(&vertex_input);
        let shader = compute::lower(&Shader::new(&words), &options).unwrap();
        let desc = PipelineDesc {
            shader: &shader,
            topology: specialize.unwrap_or(PrimitiveTopology::PointList),
            provoking_vertex: ProvokingVertex::First,
            primitive_restart: false,
            vertex_input: &vertex_input,
            set_layouts: &[],
            dynamic_topology: specialize.is_none(),
            render_pass: gpu.render_pass(),
            cache: vk::PipelineCache::null(),
        };
        // SAFETY: the context is of a live device.
        let pipeline = unsafe { Pipeline::new(gpu.context(), &desc) }.unwrap();
        let usages = (
            gpu.context().vertex_buffer_usage(Backend::Compute),
            gpu.context().capture_buffer_usage(Backend::Compute),
        );
        let mut buffer =
            |size, usage| gpu.create_buffer(size, usage, MemoryLocation::Device).unwrap();
        let vertices = buffer(u64::from(VERTICES) * 16, usages.0);
        let target =
            buffer(PrimitiveTopology::TriangleStrip.output_count(VERTICES) * RECORD, usages.1);
        Self { gpu, pipeline, vertices, target }
    }

    /// Wall-clock time of one capture.
    fn time(&mut self, topology: PrimitiveTopology) -> Duration {
        let (pipeline, vertices, target) = (&self.pipeline, &self.vertices, &self.target);
        let mut arena =
            self.gpu.create_arena(&ArenaDesc::for_draws(REPEATS.into(), REPEATS.into())).unwrap();
        let kernels = self.gpu.kernels();
        let start = Instant::now();
        let submitted = self.gpu.submit(|ctx, cmd| {
            for _ in 0..REPEATS {
                let buffers =
                    [Some(CaptureBuffer { buffer: target.raw(), offset: 0, size: target.size() })];
                let vertex_buffers = [VertexBuffer {
                    binding: 0,
                    buffer: vertices.raw(),
                    offset: 0,
                    size: vertices.size(),
                    stride: None,
                }];
                let draw = Draw { vertex_count: VERTICES, instance_count: 1, ..Draw::default() };
                // SAFETY: everything outlives the submission, which is waited for.
                unsafe {
                    let desc = CaptureDesc {
                        pipeline,
                        kernels: &kernels,
                        buffers: &buffers,
                        vertex_buffers: &vertex_buffers,
                        counters: &[],
                    };
                    let mut recorder = Recorder::begin(ctx, &mut arena, cmd, &desc)?;
                    recorder.draw(topology, &draw)?;
                    let captured = recorder.end(&[])?.captured;
                    assert_eq!(captured.unwrap().primitives_written, u64::from(VERTICES) - 2);
                }
            }
            Ok(())
        });
        let elapsed = start.elapsed() / REPEATS;
        self.gpu.destroy_arena(arena);
        submitted.unwrap();
        elapsed
    }

    fn destroy(mut self) {
        self.gpu.destroy_pipeline(self.pipeline);
        self.gpu.destroy_buffer(self.vertices);
        self.gpu.destroy_buffer(self.target);
    }
}

#[test]
fn a_fan_costs_at_most_twice_a_strip() {
    let mut bench = Bench::new(None);
    let (fan, strip) = (PrimitiveTopology::TriangleFan, PrimitiveTopology::TriangleStrip);
    let Comparison { milliseconds: [fan, strip], ratio } =
        timing::compare([fan, strip], |topology| bench.time(topology));
    println!(
        "{}: fan {fan:.3} ms, strip {strip:.3} ms, ratio {ratio:.2}",
        bench.gpu.capabilities().device_name,
    );
    bench.destroy();
    assert!(ratio <= 2.0, "a fan takes {ratio:.2} times as long as a strip");
}
