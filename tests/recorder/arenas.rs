//! How much memory of an arena captures need, and the errors if there is too little.

use ash::vk;
use vkxfb::lower::{Backend, Shader, compute};
use vkxfb::runtime::vulkan::vertex_input_descriptions;
use vkxfb::runtime::{
    ArenaDesc, ArenaRing, ArenaSize, Buffer, CaptureBuffer, CaptureDesc, CounterBuffer, Draw,
    DrawIndexed, IndexBuffer, IndexType, Pipeline, PipelineDesc, PipelineUse, Recorder,
    RuntimeError, VertexBuffer,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::VertexInput;
use vkxfb_probe::gpu::{OpenOptions, Resources};

use crate::common;
use crate::common::device::{self, RESOURCES};
use crate::common::test_device::{Owned, TestDevice};

const COMPUTE: Backend = Backend::Compute;
const POINTS: PrimitiveTopology = PrimitiveTopology::PointList;
/// The number of attributes of the shader with many attributes.
const ATTRIBUTES: u32 = 16;

/// Returns a shader that captures a dword: the vertex index, or the sum of this many attributes.
fn shader(attributes: u32) -> Vec<u32> {
    let inputs: String =
        (0..attributes).map(|i| format!("layout(location = {i}) in uint a{i};\n")).collect();
    let sum: String = (0..attributes).map(|i| format!(" + a{i}")).collect();
    let source = format!(
        "#version 450
        layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
        {inputs}
        void main() {{
            captured = uint(gl_VertexIndex){sum};
            gl_Position = vec4(0.0);
            gl_PointSize = 1.0;
        }}"
    );
    common::compile(&source, &[])
}

fn pipeline(gpu: &TestDevice, attributes: u32) -> Owned<Pipeline> {
    let bindings =
        [vk::VertexInputBindingDescription { binding: 0, stride: 4, ..Default::default() }];
    let described: Vec<_> = (0..attributes)
        .map(|location| {
            vk::VertexInputAttributeDescription::default()
                .location(location)
                .format(vk::Format::R32_UINT)
        })
        .collect();
    let vertex_input = match attributes {
        0 => VertexInput::default(),
        _ => vertex_input_descriptions(&bindings, &described).unwrap(),
    };
    let target = gpu.context().compute_target().unwrap();
    let options = compute::Options::new(&vertex_input).target(target);
    let words = shader(attributes);
    let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
    let desc = PipelineDesc { topology: Some(POINTS.into()), ..PipelineDesc::new(&lowered) };
    gpu.pipeline(&desc)
}

fn open(resources: Resources) -> TestDevice {
    device::open_with(OpenOptions { resources, ..Default::default() })
}

fn target(gpu: &mut TestDevice) -> Owned<Buffer> {
    gpu.buffer(4, gpu.context().buffer_usages(COMPUTE).capture)
}

/// Records ten frames with a ring of three arenas, each of which has room for one capture. The
/// capture writes a counter, so it uses all parts of an arena. If an arena is not reset, the error
/// says what to do.
#[test]
fn a_ring_serves_frame_after_frame() {
    for resources in RESOURCES {
        let mut gpu = open(resources);
        let pipeline = pipeline(&gpu, 0);
        let target = target(&mut gpu);
        let counter = gpu.buffer(4, gpu.context().buffer_usages(COMPUTE).counter);
        let bound = [Some(CaptureBuffer::new(target.raw(), target.size()))];
        let counters = [Some(CounterBuffer::new(counter.raw()))];
        let desc = CaptureDesc { buffers: &bound, ..CaptureDesc::new(&pipeline) };
        let mut capture = gpu.new_capture();
        let size = ArenaDesc::new(1, 1);
        // SAFETY: each submission is waited for; all is of one device.
        let mut ring = gpu
            .submit_growing(|ctx, allocator, _| unsafe { ArenaRing::new(ctx, allocator, size, 3) })
            .unwrap();
        let mut buffers = std::collections::BTreeSet::new();
        for frame in 0..10 {
            gpu.submit(|_, cmd| {
                // SAFETY: as above.
                unsafe {
                    let arena = ring.next_frame();
                    assert_eq!(arena.used().upload, 0, "frame {frame}");
                    buffers.insert(std::ptr::from_ref(arena) as usize);
                    let mut recorder = Recorder::begin(&mut capture, arena, cmd, &desc)?;
                    recorder.draw(POINTS, &Draw::new(1))?;
                    recorder.end(&counters)?;
                }
                Ok(())
            })
            .unwrap();
        }
        assert_eq!(buffers.len(), 3);

        let mut arena = gpu.arena(size);
        let mut fill = || {
            let filled = gpu.submit(|_, cmd| {
                for _ in 0..100 {
                    // SAFETY: as above.
                    unsafe {
                        let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                        recorder.draw(POINTS, &Draw::new(1))?;
                        recorder.end(&counters)?;
                    }
                }
                Ok(())
            });
            // SAFETY: nothing of it was submitted.
            unsafe { arena.reset() };
            filled.unwrap_err().to_string()
        };
        let (first, second) = (fill(), fill());
        assert!(first.contains("reset it when the device is done"), "{first}");
        assert!(second.contains("or let it grow"), "{second}");
        if resources == Resources::Best {
            assert!(first.contains("it was never reset"), "{first}");
            assert!(!second.contains("it was never reset"), "{second}");
        }
        gpu.submit_growing(|ctx, allocator, _| {
            // SAFETY: as above.
            unsafe { ctx.destroy(ring, allocator) };
            Ok(())
        })
        .unwrap();
    }
}

/// Vertex buffers are bound before each draw, so the attributes need memory each time.
#[test]
fn the_attributes_of_a_pipeline_are_accounted_for() {
    const DRAWS: u64 = 40;
    let mut gpu = open(Resources::Best);
    let pipeline = pipeline(&gpu, ATTRIBUTES);
    let target = target(&mut gpu);
    let usage = gpu.context().buffer_usages(COMPUTE).vertex;
    let source = gpu.buffer(8, usage);
    let bound = [Some(CaptureBuffer::new(target.raw(), target.size()))];
    let mut capture = gpu.new_capture();
    // Room for only the attributes, and not for any draw.
    let used = [PipelineUse::new(&pipeline, DRAWS)];
    let with = ArenaSize::from(ArenaDesc { pipelines: &used, ..ArenaDesc::new(0, 0) });
    assert_eq!(with.upload, DRAWS * 16 * u64::from(ATTRIBUTES - 1));
    let less = ArenaSize { upload: with.upload - 16, ..with };
    let sizes = [(less, false), (ArenaDesc::new(1, 0).into(), false), (with, true)];
    for (size, fits) in sizes {
        let mut arena = gpu.arena(size);
        let result = gpu.submit(|_, cmd| {
            // SAFETY: all outlives the submission, which is waited for.
            unsafe {
                let buffers = [VertexBuffer::new(0, source.raw(), 8)];
                let desc = CaptureDesc {
                    buffers: &bound,
                    vertex_buffers: &buffers,
                    ..CaptureDesc::new(&pipeline)
                };
                let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                for draw in 0..DRAWS {
                    let buffer = VertexBuffer {
                        offset: draw % 2 * 4,
                        ..VertexBuffer::new(0, source.raw(), 4)
                    };
                    recorder.bind_vertex_buffers(&[buffer])?;
                    recorder.draw(POINTS, &Draw::new(1))?;
                    // A draw with other buffers needs another dispatch.
                }
                recorder.end(&[])?;
            }
            Ok(())
        });
        assert_eq!(result.is_ok(), fits, "{size:?}: {result:?}");
    }
}

/// An incomplete capture cannot be played.
#[test]
fn a_dropped_recorder_leaves_a_capture_that_is_not_played() {
    let mut gpu = open(Resources::Best);
    let pipeline = pipeline(&gpu, 0);
    let target = target(&mut gpu);
    let bound = [Some(CaptureBuffer::new(target.raw(), target.size()))];
    let desc = CaptureDesc { buffers: &bound, ..CaptureDesc::new(&pipeline) };
    let mut capture = gpu.new_capture();
    let mut arena = gpu.arena(ArenaDesc::new(2, 2));
    gpu.submit(|_, cmd| {
        // SAFETY: all outlives the submission, which is waited for.
        unsafe {
            let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
            recorder.draw(POINTS, &Draw::new(1))?;
            drop(recorder);
            let error = capture.play(&mut *arena, cmd).unwrap_err();
            assert!(matches!(error, RuntimeError::NotEnded), "{error}");
            // The draws so far can be played, and the next capture works as usual.
            capture.end(&[])?;
            let recorded = capture.play(&mut *arena, cmd)?;
            assert_eq!(recorded.captured.unwrap().primitives_written, 1);
            drop(Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?);
            capture.begin(&desc)?;
            capture.recorder().draw(POINTS, &Draw::new(1))?;
            assert_eq!(capture.play(&mut *arena, cmd)?.capture_dispatches, 1);
        }
        Ok(())
    })
    .unwrap();
}

/// If primitive restart needs more scratch memory than the arena has, the error says what adds it.
#[test]
fn the_memory_of_restarts_is_named() {
    const INDICES: u32 = 40_000;
    for resources in RESOURCES {
        let mut gpu = open(resources);
        let pipeline = device::restarting_pipeline(&gpu, ProvokingVertex::First);
        let target = target(&mut gpu);
        let size = 2 * u64::from(INDICES);
        let indices = gpu.buffer(size, gpu.context().buffer_usages(COMPUTE).index);
        let indices = IndexBuffer::new(indices.raw(), size, IndexType::Uint16);
        let bound = [Some(CaptureBuffer::new(target.raw(), target.size()))];
        let desc = CaptureDesc { buffers: &bound, ..CaptureDesc::new(&pipeline) };
        let mut capture = gpu.new_capture();
        let mut record = |size: &ArenaDesc<'_>| {
            let mut arena = gpu.arena(size);
            gpu.submit(|_, cmd| {
                // SAFETY: the submission is waited for; all is of one device.
                unsafe {
                    let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                    recorder.bind_index_buffer(&indices)?;
                    let draw = DrawIndexed::new(INDICES);
                    recorder.draw_indexed(PrimitiveTopology::TriangleStrip, &draw)?;
                    Ok(recorder.end(&[])?)
                }
            })
        };
        let size = ArenaDesc::new(1, 1);
        let error = record(&size).unwrap_err().to_string();
        let with = ArenaDesc { restarted_draws: 1, restarted_indices: INDICES.into(), ..size };
        let restarts = ArenaSize::from(&with).scratch - ArenaSize::from(&size).scratch;
        let named = format!("{restarts} of them for primitive restart (restarted_draws)");
        assert!(error.contains(&named), "{error}");
        record(&with).unwrap();
    }
}
