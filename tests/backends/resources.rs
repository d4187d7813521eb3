//! The resource plans: captures by device addresses and by descriptors are the same, with any
//! bindings and any number of buffers, and errors name the limits of descriptors.

use ash::vk;
use vkxfb::lower::{Backend, Lowered, ResourcePlan, Shader, compute};
use vkxfb::runtime::{
    Arena, ArenaDesc, ArenaSize, Buffer, CaptureBuffer, CaptureDesc, CounterBuffer, Draw,
    IndexBuffer, IndexType, IndirectDraw, Pipeline, PipelineDesc, QueryKind, Recorder,
    RuntimeError,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::VertexInput;
use vkxfb_probe::gpu::{GpuError, OpenOptions, Resources};

use crate::common;
use crate::common::descriptor_set::DescriptorSet;
use crate::common::device::{self, RESOURCES};
use crate::common::test_device::{Owned, TestDevice};

const COMPUTE: Backend = Backend::Compute;
const STRIP: PrimitiveTopology = PrimitiveTopology::TriangleStrip;

/// Captures the vertex index, and a value from a storage buffer of the application.
const SHADER: &str = "#version 450
    layout(set = 0, binding = 0) readonly buffer Values { uint values[4]; };
    layout(location = 0, xfb_buffer = 0, xfb_stride = 8, xfb_offset = 0) out flat uvec2 captured;
    void main() {
        captured = uvec2(gl_VertexIndex, values[gl_VertexIndex % 4]);
        gl_Position = vec4(0.0);
    }";
const VALUES: [u32; 4] = [100, 200, 300, 400];
const STRIDE: u64 = 8;
const RECORDS: u64 = 100;

/// A device, a pipeline with a descriptor set of the application, and the objects to capture with
/// it.
struct Application {
    lowered: Lowered,
    pipeline: Owned<Pipeline>,
    set: Owned<DescriptorSet>,
    target: Owned<Buffer>,
    _values: Owned<Buffer>,
    gpu: TestDevice,
}

impl Application {
    fn new(resources: Resources) -> Self {
        let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        let vertex_input = VertexInput::default();
        let options =
            compute::Options::new(&vertex_input).target(gpu.context().compute_target().unwrap());
        let words = common::compile(SHADER, &[]);
        let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
        let usage = gpu.context().buffer_usages(COMPUTE).capture;
        let target = gpu.buffer(RECORDS * STRIDE, usage);
        let values = gpu.filled(vk::BufferUsageFlags::STORAGE_BUFFER, &VALUES);
        let set = DescriptorSet::new(&gpu, vk::DescriptorType::STORAGE_BUFFER);
        // SAFETY: the buffer is one of storage, and nothing was submitted.
        unsafe { set.write(gpu.context().device(), values.raw()) };
        let pipeline = make_pipeline(&gpu, &lowered, &[set.layout]).unwrap();
        Self { lowered, pipeline, set, target, _values: values, gpu }
    }

    /// Records a capture with the application's set bound, executes it, and returns the captured
    /// data.
    fn capture(
        &mut self,
        arena: impl Into<ArenaSize>,
        record: impl FnOnce(&mut Recorder<'_>) -> Result<(), RuntimeError>,
    ) -> Result<Vec<u32>, GpuError> {
        let size = self.target.size();
        self.gpu.write(&self.target, 0, &vec![0xa5; size as usize]).unwrap();
        let mut arena = self.gpu.arena(arena);
        let (mut capture, pipeline, target) =
            (self.gpu.new_capture(), &self.pipeline, &self.target);
        let submitted = self.gpu.submit(|_, cmd| {
            let bound = CaptureBuffer::new(target.raw(), size);
            let bound_buffers = [Some(bound)];
            let desc = CaptureDesc { buffers: &bound_buffers, ..CaptureDesc::new(pipeline) };
            // SAFETY: everything outlives the submission, which is waited for.
            let recorded = unsafe {
                let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                record(&mut recorder).and_then(|()| recorder.end(&[]))
            };
            recorded.map(|_| ()).map_err(|source| GpuError::Capture { capture: 0, source })
        });
        submitted?;
        Ok(self.gpu.contents(&self.target))
    }
}

fn make_pipeline(
    gpu: &TestDevice,
    lowered: &Lowered,
    set_layouts: &[vk::DescriptorSetLayout],
) -> Result<Owned<Pipeline>, RuntimeError> {
    let vertex_input = VertexInput::default();
    let desc = PipelineDesc {
        topology: Some(STRIP.into()),
        specialize_topology: false,
        provoking_vertex: ProvokingVertex::First,
        primitive_restart: true,
        vertex_input: Some(&vertex_input),
        set_layouts,
        ..PipelineDesc::new(lowered)
    };
    gpu.try_pipeline(&desc)
}

/// Returns what triangle strips of these vertices capture.
fn expected(strips: &[&[u32]]) -> Vec<u32> {
    let records = strips.iter().flat_map(|strip| {
        let vertex = |o: u64| strip[STRIP.gather(ProvokingVertex::First, o) as usize];
        (0..STRIP.output_count(strip.len() as u32)).map(vertex).collect::<Vec<_>>()
    });
    records.flat_map(|vertex| [vertex, VALUES[vertex as usize % 4]]).collect()
}

/// Captures draws whose arguments, counts and indices are in different buffers. The setup kernel
/// processes all of them in one dispatch, so each of its invocations reads another buffer. The
/// shader has a descriptor set of the application.
#[test]
fn draws_may_read_from_many_buffers() {
    for resources in RESOURCES {
        let mut app = Application::new(resources);
        let ctx = app.gpu.context().clone();
        let arguments = ctx.buffer_usages(COMPUTE).indirect;
        let first = app.gpu.filled(arguments, &[9, 9, 5, 1, 10, 0]);
        let second = app.gpu.filled(arguments, &[4, 1, 20, 0, 3, 1, 30, 0, 6, 1, 40, 0]);
        let count = app.gpu.filled(arguments, &[7, 7, 2]);
        let indexed = app.gpu.filled(arguments, &[7, 1, 1, 50, 0]);
        // Sixteen bits each, of which the first does not begin a dword of the buffer.
        let indices = [0xffff_0000_u32, 0x0001_0000, 0xffff_0002, 0x0004_0003, 0x0000_0005];
        let indices = app.gpu.filled(ctx.buffer_usages(COMPUTE).index, &indices);
        let pool = app.gpu.query_pool(QueryKind::TransformFeedbackStream, 2);
        app.gpu
            .submit(|ctx, cmd| {
                // SAFETY: the command buffer is being recorded.
                Ok(unsafe { pool.reset(ctx, cmd, 0, 2) }?)
            })
            .unwrap();
        let set = app.set.raw;
        let arena = ArenaSize { scratch: 1 << 16, upload: 1 << 16, ..ArenaDesc::new(1, 10).into() };
        let found = app.capture(arena, |recorder| {
            // SAFETY: as `capture` says; the arguments lie in their buffers.
            unsafe {
                recorder.bind_descriptor_sets(0, &[set], &[])?;
                recorder.begin_query(&pool, 1, 0)?;
                let draw = |buffer: &Buffer, offset, draw_count, count| IndirectDraw {
                    buffer: buffer.raw(),
                    offset,
                    draw_count,
                    stride: 16,
                    count,
                };
                recorder.draw_indirect(STRIP, &draw(&first, 8, 1, None))?;
                recorder.draw_indirect(STRIP, &draw(&second, 0, 3, Some((count.raw(), 8))))?;
                recorder.bind_index_buffer(&IndexBuffer {
                    buffer: indices.raw(),
                    offset: 4,
                    size: 16,
                    index_type: IndexType::Uint16,
                })?;
                recorder.draw_indexed_indirect(STRIP, &draw(&indexed, 0, 1, None))?;
                recorder.end_query(QueryKind::TransformFeedbackStream, 0)
            }
        });
        let strips: [&[u32]; 5] = [
            &[10, 11, 12, 13, 14],
            &[20, 21, 22, 23],
            &[30, 31, 32],
            // From index 1 on: 1 2, then what is behind the restart.
            &[51, 52],
            &[53, 54, 55, 50],
        ];
        let expected = expected(&strips);
        let found = found.unwrap();
        assert_eq!(found[..expected.len()], expected, "{resources:?}");
        assert!(found[expected.len()..].iter().all(|word| *word == 0xa5a5_a5a5), "{resources:?}");
        // SAFETY: the submission was waited for.
        let result = unsafe { pool.result(1) }.unwrap().unwrap();
        let primitives = expected.len() as u64 / 6;
        assert_eq!(
            (result.primitives_written, result.primitives_needed),
            (primitives, primitives),
            "{resources:?}"
        );
    }
}

/// Returns the indirect draw whose command is at the start of a buffer.
fn draw_of(buffer: &Buffer) -> IndirectDraw {
    IndirectDraw { buffer: buffer.raw(), offset: 0, draw_count: 1, stride: 16, count: None }
}

/// Errors name what descriptors do not support.
#[test]
fn limits_of_descriptors_are_named() {
    let mut app = Application::new(Resources::Descriptors);
    let ctx = app.gpu.context().clone();
    let buffers: [Owned<Buffer>; 12] = std::array::from_fn(|_| {
        app.gpu.filled(ctx.buffer_usages(COMPUTE).indirect, &[3_u32, 1, 0, 0])
    });
    let arena = ArenaDesc::new(1, 20);
    let set = app.set.raw;
    let mut errors = Vec::new();
    let found = app.capture(arena, |recorder| {
        // SAFETY: as `capture` says.
        unsafe {
            recorder.bind_descriptor_sets(0, &[set], &[])?;
            for buffer in &buffers {
                errors.extend(recorder.draw_indirect(STRIP, &draw_of(buffer)).err());
            }
            let size = 1 << 40;
            let index_type = IndexType::Uint32;
            let indices = IndexBuffer::new(buffers[0].raw(), size, index_type);
            errors.extend(recorder.bind_index_buffer(&indices).err());
        }
        Ok(())
    });
    // The arena has one set of twelve descriptors, and a capture continues after a refusal.
    let strip: &[u32] = &[0, 1, 2];
    assert_eq!(found.unwrap()[..66], expected(&[strip; 11]));
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "no descriptor is left for indirect arguments: of the 24 storage buffers that captures take \
             of maxPerStageDescriptorStorageBuffers, 12 are for buffers with the same use",
            "the size of the index buffer in bytes is 1099511627776: maxStorageBufferRange is 134217728",
        ]
    );

    let refused = |found: Result<Vec<u32>, GpuError>| match found.unwrap_err() {
        GpuError::Capture { source, .. } => source.to_string(),
        error => panic!("{error}"),
    };
    // What the application binds itself does not last: kernels come before the draws.
    let found = app.capture(arena, |recorder| {
        // SAFETY: as `capture` says. The draw is refused, so nothing reads the set.
        unsafe {
            recorder.assume_descriptor_sets(0, 1)?;
            recorder.draw_indirect(STRIP, &draw_of(&buffers[0]))
        }
    });
    let unknown = "what is recorded before the draws disturbs descriptor set 0, which the shader \
                   reads: bind it in the capture (bind_descriptor_sets)";
    assert_eq!(refused(found), unknown);
    let one = ArenaSize { descriptor_sets: 1, ..arena.into() };
    let found = app.capture(one, |recorder| {
        // SAFETY: as `capture` says.
        unsafe {
            recorder.bind_descriptor_sets(0, &[set], &[])?;
            recorder.draw_indirect(STRIP, &draw_of(&buffers[0]))
        }
    });
    assert!(refused(found).starts_with("the arena's 1 descriptor sets are used up: reset it"));
    // SAFETY of the allocator is the device's: nothing is made.
    let huge =
        app.gpu.create_arena(ArenaSize { upload: 1 << 30, ..arena.into() }).map(|_: Arena| ());
    assert_eq!(
        huge.unwrap_err().to_string(),
        "the size of vkxfb upload in bytes is 1073741824: maxStorageBufferRange is 134217728"
    );

    let refused = |lowered: &Lowered, set_layouts: &[vk::DescriptorSetLayout]| {
        make_pipeline(&app.gpu, lowered, set_layouts).err().unwrap().to_string()
    };
    let words = common::compile(SHADER, &[]);
    let vertex_input = VertexInput::default();
    let by_address = compute::lower(&Shader::new(&words), &compute::Options::new(&vertex_input));
    assert_eq!(
        refused(&by_address.unwrap(), &[app.set.layout]),
        "the shader is lowered for device addresses, and captures on this device use descriptors \
         (18 storage buffers to read, 6 to write): lower it for the compute_target \
         of the context"
    );
    let max = ctx.capabilities().limits.max_descriptor_sets;
    assert_eq!(
        refused(&app.lowered, &vec![app.set.layout; max as usize]),
        format!(
            "the number of descriptor set layouts, with one for the buffers of captures, is {}: \
             maxBoundDescriptorSets is {max}",
            max + 1
        )
    );
    assert_eq!(
        ctx.compute_target().unwrap().resources,
        ResourcePlan::Descriptors { reads: 18, writes: 6 }
    );
}

/// A shader is lowered without knowledge of the number of set layouts. The pipeline moves the set
/// of the descriptor plan after all of them.
#[test]
fn a_pipeline_may_have_more_sets_than_its_shader_uses() {
    for resources in RESOURCES {
        let mut app = Application::new(resources);
        let set = app.set.raw;
        for (count, optimizes) in [(1, true), (3, true), (3, false)] {
            let mut ctx = app.gpu.context().clone();
            let mut settings = ctx.settings();
            settings.optimizes_shaders = optimizes;
            ctx.set_settings(settings);
            let set_layouts = vec![app.set.layout; count];
            let desc =
                PipelineDesc { set_layouts: &set_layouts, ..PipelineDesc::new(&app.lowered) };
            // SAFETY: the context is of a live device, and the layouts are its.
            let made = unsafe { Pipeline::new(&ctx, &desc) }.unwrap();
            app.pipeline = app.gpu.own(made, |gpu, pipeline| gpu.destroy_pipeline(pipeline));
            let found = app.capture(ArenaDesc::new(1, 1), |recorder| {
                // SAFETY: as `capture` says.
                unsafe {
                    recorder.bind_descriptor_sets(0, &[set], &[])?;
                    recorder.draw(STRIP, &Draw::new(4))
                }
            });
            let expected = expected(&[&[0, 1, 2, 3]]);
            assert_eq!(found.unwrap()[..expected.len()], expected, "{resources:?} {count}");
        }
    }
}

/// Tests counters in a buffer with other data, and captures that go on with them.
#[test]
fn captures_go_on_with_counters() {
    for resources in RESOURCES {
        let mut app = Application::new(resources);
        let ctx = app.gpu.context().clone();
        let arguments = ctx.buffer_usages(COMPUTE).indirect;
        let first = app.gpu.filled(arguments, &[3, 1, 8, 0]);
        let second = app.gpu.filled(arguments, &[4, 1, 16, 0]);
        let counters = app.gpu.filled(ctx.buffer_usages(COMPUTE).counter, &[0_u32, 24]);
        let counter = CounterBuffer { buffer: counters.raw(), offset: 4 };
        let set = app.set.raw;
        let (mut capture, pipeline, target) = (app.gpu.new_capture(), &app.pipeline, &app.target);
        let desc = ArenaSize { descriptor_sets: 8, ..ArenaDesc::new(3, 8).into() };
        let mut arena = app.gpu.arena(desc);
        let initial = vec![0xa5_u8; target.size() as usize];
        app.gpu.write(target, 0, &initial).unwrap();
        app.gpu
            .submit(|_, cmd| {
                let bound = CaptureBuffer::new(target.raw(), target.size());
                let captured = [Some(bound)];
                let counters = [Some(counter)];
                let desc = CaptureDesc {
                    buffers: &captured,
                    counters: &counters,
                    ..CaptureDesc::new(pipeline)
                };
                // SAFETY: everything outlives the submission, which is waited for.
                unsafe {
                    // Without draws the application's set is not needed.
                    Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?
                        .end(&[Some(counter)])?;
                    for arguments in [&first, &second] {
                        let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                        recorder.bind_descriptor_sets(0, &[set], &[])?;
                        recorder.draw_indirect(STRIP, &draw_of(arguments))?;
                        recorder.end(&[Some(counter)])?;
                    }
                }
                Ok(())
            })
            .unwrap();
        let found: Vec<u8> = app.gpu.contents(&app.target);
        let expected = expected(&[&[8, 9, 10], &[16, 17, 18, 19]]);
        let expected: &[u8] = bytemuck::cast_slice(&expected);
        assert_eq!(found[..24], initial[..24], "{resources:?}");
        assert_eq!(&found[24..24 + expected.len()], expected, "{resources:?}");
        assert_eq!(found[24 + expected.len()..], initial[24 + expected.len()..], "{resources:?}");
        let counters: Vec<u32> = app.gpu.contents(&counters);
        assert_eq!(counters, [0, 24 + expected.len() as u32], "{resources:?}");
    }
}

/// A size for which there is not enough memory is an error, however large it is.
#[test]
fn arenas_of_absurd_sizes_are_refused() {
    for resources in device::RESOURCES {
        let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        for desc in [
            ArenaSize { upload: 16, scratch: 1 << 62, descriptor_sets: 1 },
            ArenaSize { upload: u64::MAX, scratch: 16, descriptor_sets: 1 },
            ArenaDesc::new(1 << 31, u64::MAX).into(),
        ] {
            gpu.create_arena(desc).unwrap_err();
        }
    }
}
