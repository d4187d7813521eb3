//! The Vulkan pipelines of compute captures are created when a draw first needs them, or in
//! advance.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ash::vk;
use vkxfb::runtime::ArenaSize;
use vkxfb::runtime::{DrawIndexed, ExpectedDraws, IndexBuffer, IndexType};
use vkxfb::{
    Arena, ArenaDesc, Backend, Capture, CaptureBuffer, CaptureDesc, Draw, Kernels, Pipeline,
    PipelineDesc, PrimitiveTopology, Recorder, RuntimeError, Shader, VertexInput,
};
use vkxfb_rewriter::lower::compute;
use vkxfb_rewriter::lower::kernel::Kernel;

use super::application::Application;
use crate::common;

/// The number of pipelines that were created. Each call creates one.
static CREATED: AtomicU32 = AtomicU32::new(0);
/// Whether the replaced command fails as if the driver were out of memory.
static FAILS: AtomicBool = AtomicBool::new(false);
static DRIVER: OnceLock<vk::PFN_vkCreateComputePipelines> = OnceLock::new();

unsafe extern "system" fn create_compute_pipelines(
    device: vk::Device,
    cache: vk::PipelineCache,
    count: u32,
    infos: *const vk::ComputePipelineCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    pipelines: *mut vk::Pipeline,
) -> vk::Result {
    assert_eq!(count, 1);
    if FAILS.load(Ordering::Relaxed) {
        unsafe { *pipelines = vk::Pipeline::null() };
        return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
    }
    CREATED.fetch_add(1, Ordering::Relaxed);
    let driver = DRIVER.get().unwrap();
    unsafe { driver(device, cache, count, infos, allocator, pipelines) }
}

fn created() -> u32 {
    CREATED.swap(0, Ordering::Relaxed)
}

/// This is a single test, because the counts are those of the process.
#[test]
fn pipelines_are_created_when_they_are_needed() {
    let counting = |real: ash::Device| {
        let known = real.fp_v1_0().clone();
        DRIVER.set(known.create_compute_pipelines).unwrap();
        ash::Device::from_parts_1_3(
            real.handle(),
            ash::DeviceFnV1_0 { create_compute_pipelines, ..known },
            real.fp_v1_1().clone(),
            real.fp_v1_2().clone(),
            real.fp_v1_3().clone(),
        )
    };
    let mut app = Application::open(counting, |_, _| ());
    let Application { device, ctx, allocator, .. } = &mut app;
    let ctx = &*ctx;
    // SAFETY: the handles are of one live device, and nothing is submitted.
    unsafe {
        let words = common::compile(common::CAPTURES, &[]);
        let vertex_input = VertexInput::default();
        let target = ctx.compute_target().unwrap();
        let options = compute::Options::new(&vertex_input).target(target);
        let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
        let no_cache = vk::PipelineCache::null();
        let desc = PipelineDesc::new(&lowered);

        // None of its own accord.
        let pipeline = Pipeline::new(ctx, &desc).unwrap();
        let kernels = Kernels::new(ctx).unwrap();
        assert_eq!(created(), 0);
        assert_eq!(pipeline.raw(), vk::Pipeline::null());
        // As many as are asked for.
        let several =
            ExpectedDraws { several: true, ..ExpectedDraws::new(PrimitiveTopology::PointList) };
        let prepared = Pipeline::new(ctx, &PipelineDesc { prepared: &[several], ..desc }).unwrap();
        // One for several, and one for those among them that share no dispatch.
        assert_eq!(created(), 2);
        prepared.prepare(ctx, &[several, several], no_cache).unwrap();
        assert_eq!(created(), 0);
        kernels.prepare_each(ctx, &[Kernel::Results, Kernel::Results], no_cache).unwrap();
        assert_eq!(created(), 1);

        let desc = ArenaSize { scratch: 32 << 20, ..ArenaDesc::new(400, 4000).into() };
        let mut arena = Arena::new(ctx, allocator, desc).unwrap();
        let desc = vkxfb::BufferDesc {
            name: "captured",
            size: 1 << 20,
            usage: ctx.buffer_usages(Backend::Compute).capture,
            location: vkxfb::MemoryLocation::Device,
        };
        let captured = vkxfb::Buffer::new(ctx, allocator, &desc).unwrap();
        let pool = device.create_command_pool(&Default::default(), None).unwrap();
        let info =
            vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        let cmd = device.allocate_command_buffers(&info).unwrap()[0];
        device.begin_command_buffer(cmd, &Default::default()).unwrap();
        let bound = [Some(CaptureBuffer::new(captured.raw(), captured.size()))];
        let mut capture = Capture::new(ctx, &kernels);
        let mut record_draws = |draws: &[(PrimitiveTopology, u32)], pipeline: &Pipeline| {
            let desc = CaptureDesc { buffers: &bound, ..CaptureDesc::new(pipeline) };
            let mut recorder = Recorder::begin(&mut capture, &mut arena, cmd, &desc)?;
            for (topology, vertices) in draws {
                recorder.draw(*topology, &Draw::new(*vertices))?;
            }
            recorder.end(&[])
        };
        let (points, strip) = (PrimitiveTopology::PointList, PrimitiveTopology::LineStrip);
        let mut record =
            |draws: usize, pipeline: &Pipeline| record_draws(&vec![(points, 3); draws], pipeline);
        // Nothing for a capture without draws; and nothing is recorded by a call that fails.
        record(0, &pipeline).unwrap();
        assert_eq!(created(), 0);
        FAILS.store(true, Ordering::Relaxed);
        for _ in 0..2 {
            let error = record(1, &pipeline).unwrap_err();
            let RuntimeError::Vulkan { call, result } = error else { panic!("{error}") };
            assert_eq!(call, "vkCreateComputePipelines");
            assert_eq!(result, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
        }
        FAILS.store(false, Ordering::Relaxed);
        // The pipeline for a single draw, and then the one for several, each once.
        for (draws, more) in [(1, 1), (1, 0), (2, 1), (2, 0), (1, 0)] {
            assert_eq!(record(draws, &pipeline).unwrap().capture_dispatches, 1);
            assert_eq!(created(), more, "{draws} draws");
        }
        assert_eq!(record(2, &prepared).unwrap().capture_dispatches, 1);
        assert_eq!(created(), 0);
        // Many or large draws of one topology have one of their own.
        let list = PrimitiveTopology::LineList;
        for (draws, more) in [
            ([(strip, 4000), (points, 4000)], 0),
            ([(points, 4000); 2], 1),
            ([(points, 4000); 2], 0),
            ([(list, 4000), (points, 4000)], 0),
            ([(strip, 4000); 2], 1),
            ([(strip, 2000); 2], 0),
        ] {
            assert_eq!(record_draws(&draws, &pipeline).unwrap().capture_dispatches, 1);
            assert_eq!(created(), more, "{draws:?}");
        }
        // Those of other topologies can be prepared, too.
        let fan = PrimitiveTopology::TriangleFan;
        let fans = ExpectedDraws { several: true, large: true, ..ExpectedDraws::new(fan) };
        for more in [3, 0] {
            pipeline.prepare(ctx, &[fans], no_cache).unwrap();
            assert_eq!(created(), more);
        }
        assert_eq!(record_draws(&[(fan, 2000); 2], &pipeline).unwrap().capture_dispatches, 1);
        assert_eq!(created(), 0);

        // Draws with primitive restart have pipelines of their own, and the others have those of
        // pipelines without.
        let desc = PipelineDesc { primitive_restart: true, ..PipelineDesc::new(&lowered) };
        let restarting = Pipeline::new(ctx, &desc).unwrap();
        let any = ExpectedDraws { indirect: true, ..ExpectedDraws::new(points) };
        restarting.prepare(ctx, &[any, ExpectedDraws { restart: true, ..any }], no_cache).unwrap();
        assert_eq!(created(), 2);
        restarting.prepare(ctx, &[several], no_cache).unwrap();
        assert_eq!(created(), 2);
        kernels.prepare(ctx, no_cache).unwrap();
        created();
        let mut record_indexed = |draws: &[(PrimitiveTopology, bool, u32)]| {
            let desc = CaptureDesc { buffers: &bound, ..CaptureDesc::new(&restarting) };
            let mut recorder = Recorder::begin(&mut capture, &mut arena, cmd, &desc)?;
            // Nothing is submitted.
            recorder.bind_index_buffer(&IndexBuffer::new(
                captured.raw(),
                1 << 16,
                IndexType::Uint32,
            ))?;
            for (topology, restart, indices) in draws {
                recorder.set_primitive_restart(*restart)?;
                recorder.draw_indexed(*topology, &DrawIndexed::new(*indices))?;
            }
            recorder.end(&[])
        };
        for (draws, dispatches, more) in [
            (&[(strip, false, 3), (points, false, 3)][..], 1, 0),
            (&[(strip, true, 3), (fan, true, 3)], 1, 0),
            (&[(fan, false, 3), (fan, true, 3), (points, false, 3)], 3, 0),
            // Large ones of one topology have one of their own.
            (&[(strip, true, 9000), (strip, true, 3)], 1, 1),
            (&[(strip, true, 9000), (fan, true, 3)], 1, 0),
            // Single ones, too: small ones one for any topology.
            (&[(strip, false, 3)], 1, 0),
            (&[(strip, false, 9000)], 1, 1),
            (&[(fan, true, 3)], 1, 1),
            (&[(strip, true, 3)], 1, 0),
            (&[(strip, true, 9000)], 1, 1),
            (&[(strip, true, 9001)], 1, 0),
        ] {
            assert_eq!(record_indexed(draws).unwrap().capture_dispatches, dispatches, "{draws:?}");
            assert_eq!(created(), more, "{draws:?}");
        }
        // Everything that may be needed.
        let every = PrimitiveTopology::ALL.into_iter().flat_map(ExpectedDraws::every);
        restarting.prepare(ctx, &every.collect::<Vec<_>>(), no_cache).unwrap();
        created();
        for topology in PrimitiveTopology::ALL {
            for (restart, indices) in
                [(false, 3), (false, 300), (false, 9000), (true, 3), (true, 9000)]
            {
                for more in [&[][..], &[(topology, false, 9)], &[(points, true, 70_000)]] {
                    let draws = [&[(topology, restart, indices)][..], more].concat();
                    record_indexed(&draws).unwrap();
                    assert_eq!(created(), 0, "{draws:?}");
                }
            }
        }
        device.end_command_buffer(cmd).unwrap();

        device.destroy_command_pool(pool, None);
        let pipelines = [pipeline, restarting, prepared];
        ctx.destroy((captured, arena, kernels, pipelines), allocator);
    }
    app.close();
}
