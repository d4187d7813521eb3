//! The mode `Xfb` without an `Offset` is legal, and captures nothing. Primitives are counted, but
//! buffers and counters do not change.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use vkxfb::lower::{Lowered, ResourcePlan, Shader, compute, native, vertex};
use vkxfb::vertex_input::VertexInput;

/// What glslang makes of it has the mode, and XfbBuffer and XfbStride on gl_PerVertex.
const SOURCE: &str = "#version 450
    layout(xfb_buffer = 0, xfb_stride = 16) out;
    out gl_PerVertex { vec4 gl_Position; };
    layout(location = 0) out vec4 colour;
    void main() { gl_Position = vec4(gl_VertexIndex); colour = vec4(1.0); }";

/// By native, vertex and compute, the last by addresses, by descriptors and with staging.
fn all(words: &[u32]) -> [Lowered; 5] {
    let shader = &Shader::new(words);
    let vertex_input = VertexInput::default();
    let to_compute = |resources, staging| {
        let target = compute::Target { resources, staging, ..Default::default() };
        compute::lower(shader, &compute::Options { vertex_input: &vertex_input, target }).unwrap()
    };
    [
        native::lower(shader).unwrap(),
        vertex::lower(shader).unwrap(),
        to_compute(ResourcePlan::DeviceAddress, 0),
        to_compute(ResourcePlan::Descriptors { set: 0, reads: 12, writes: 4 }, 0),
        to_compute(ResourcePlan::DeviceAddress, 4096),
    ]
}

#[test]
fn nothing_is_captured_by_valid_modules() {
    for (version, target) in [("spirv1.0", "vulkan1.0"), ("spirv1.6", "vulkan1.3")] {
        let words = common::compile(SOURCE, &["--target-env", version]);
        let text = common::disassemble(&words);
        assert!(text.contains(" Xfb\n") && text.contains("XfbStride 16"), "{text}");
        for lowered in all(&words) {
            common::validate(&lowered.words, target);
            assert!(lowered.layout.outputs.is_empty());
            assert_eq!(lowered.layout.buffers().count(), 0);
        }
    }
}

mod on_a_device {
    use super::*;
    use crate::common::device;
    use vkxfb::lower::Backend;
    use vkxfb::runtime::{
        ArenaDesc, Capture, CaptureBuffer, CaptureDesc, ConsumerScope, CounterBuffer, Draw,
        IndirectDraw, MemoryLocation, Pipeline, PipelineDesc, QueryKind, QueryResult, Recorder,
    };
    use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
    use vkxfb_probe::gpu::{Gpu, OpenOptions};

    const STRIP: PrimitiveTopology = PrimitiveTopology::TriangleStrip;
    /// 10 triangles in each of 2 instances.
    const DRAW: Draw =
        Draw { vertex_count: 12, instance_count: 2, first_vertex: 0, first_instance: 0 };
    /// What counter and capture buffer hold.
    const COUNTER: u32 = 20;

    fn lower(gpu: &Gpu, backend: Backend) -> Lowered {
        let words = common::compile(SOURCE, &[]);
        let shader = &Shader::new(&words);
        let vertex_input = &VertexInput::default();
        match backend {
            Backend::Native => native::lower(shader),
            Backend::Vertex => vertex::lower(shader),
            Backend::Compute => {
                let target = gpu.compute_target(backend).unwrap();
                compute::lower(shader, &compute::Options { vertex_input, target })
            }
        }
        .unwrap()
    }

    fn pipeline(gpu: &Gpu, lowered: &Lowered) -> Pipeline {
        let desc = PipelineDesc {
            shader: lowered,
            topology: STRIP,
            provoking_vertex: ProvokingVertex::First,
            primitive_restart: false,
            vertex_input: &VertexInput::default(),
            set_layouts: &[],
            dynamic_topology: false,
            render_pass: gpu.render_pass(),
            prepared: &[],
            cache: ash::vk::PipelineCache::null(),
        };
        // SAFETY: the context is of a live device.
        unsafe { Pipeline::new(gpu.context(), &desc) }.unwrap()
    }

    #[test]
    fn draws_leave_buffers_alone() {
        for resources in device::RESOURCES {
            let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
            for backend in gpu.backends().to_vec() {
                let lowered = lower(&gpu, backend);
                let found = device::capture(&mut gpu, &lowered);
                assert!(found.iter().all(Option::is_none), "{backend}");
            }
            device::close(gpu);
        }
    }

    /// A direct and an indirect draw, from a counter on and to it.
    #[test]
    fn queries_count_and_counters_stay() {
        for resources in device::RESOURCES {
            for is_indirect in [false, true] {
                count(resources, is_indirect);
            }
        }
    }

    fn count(resources: vkxfb_probe::gpu::Resources, is_indirect: bool) {
        let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        let lowered = lower(&gpu, Backend::Compute);
        let pipeline = pipeline(&gpu, &lowered);
        let context = gpu.context();
        let usage = context.capture_buffer_usage(Backend::Compute)
            | context.counter_buffer_usage(Backend::Compute)
            | context.indirect_buffer_usage(Backend::Compute);
        let memory = gpu.create_buffer(1024, usage, MemoryLocation::Device).unwrap();
        let arguments = [DRAW.vertex_count, DRAW.instance_count, 0, 0];
        gpu.write(&memory, 0, bytemuck::cast_slice(&[COUNTER; 256])).unwrap();
        gpu.write(&memory, 512, bytemuck::cast_slice(&arguments)).unwrap();
        let expected = gpu.read(&memory, 0..1024).unwrap();
        let pools = [QueryKind::TransformFeedbackStream, QueryKind::PrimitivesGenerated]
            .map(|kind| gpu.create_query_pool(kind, 1).unwrap());
        let kernels = gpu.kernels();
        let mut arena = gpu.create_arena(&ArenaDesc::for_draws(4, 8)).unwrap();
        let buffer = memory.raw();
        let submitted = gpu.submit(|ctx, cmd| {
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                for pool in &pools {
                    pool.reset(ctx, cmd, 0, 1)?;
                }
                let counter = Some(CounterBuffer { buffer, offset: 0 });
                let desc = CaptureDesc {
                    pipeline: &pipeline,
                    buffers: &[Some(CaptureBuffer { buffer, offset: 256, size: 256 })],
                    vertex_buffers: &[],
                    counters: &[counter],
                };
                let mut capture = Capture::new(ctx, &kernels);
                let mut recorder = Recorder::begin(&mut capture, &mut arena, cmd, &desc)?;
                for pool in &pools {
                    recorder.begin_query(pool, 0)?;
                }
                if is_indirect {
                    let draws = IndirectDraw {
                        buffer,
                        offset: 512,
                        draw_count: 1,
                        stride: 16,
                        count: None,
                    };
                    recorder.draw_indirect(STRIP, &draws)?;
                } else {
                    recorder.draw(STRIP, &DRAW)?;
                }
                for pool in &pools {
                    recorder.end_query(pool.kind())?;
                }
                recorder.end(&[counter])?;
                ctx.capture_barrier(cmd, Backend::Compute, ConsumerScope::HOST);
            }
            Ok(())
        });
        submitted.unwrap();
        assert_eq!(gpu.read(&memory, 0..1024).unwrap(), expected);
        for (pool, second) in pools.iter().zip([20, 0]) {
            // SAFETY: nothing uses the queries any more.
            let result = unsafe { pool.result(0) }.unwrap();
            assert_eq!(result, Some(QueryResult { first: 20, second }), "{:?}", pool.kind());
        }
        gpu.destroy_arena(arena);
        pools.into_iter().for_each(|pool| gpu.destroy_query_pool(pool));
        gpu.destroy_buffer(memory);
        gpu.destroy_pipeline(pipeline);
        device::close(gpu);
    }
}
