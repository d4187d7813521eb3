//! The resource plans: captures by device addresses and by descriptors are the same, with any
//! bindings and any number of buffers, and errors name the limits of descriptors.

use ash::vk;
use vkxfb::lower::{Backend, Lowered, ResourcePlan, Shader, compute};
use vkxfb::runtime::{
    Arena, ArenaDesc, Buffer, Capture, CaptureBuffer, CaptureDesc, CounterBuffer, Draw,
    IndexBuffer, IndexType, IndirectDraw, MemoryLocation, Pipeline, PipelineDesc, QueryKind,
    Recorder, RuntimeError,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::VertexInput;
use vkxfb_probe::gpu::{Gpu, GpuError, OpenOptions, Resources};

use crate::common;
use crate::common::descriptor_set::DescriptorSet;
use crate::common::device::{self, RESOURCES};

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
struct Bench {
    gpu: Gpu,
    lowered: Lowered,
    pipeline: Pipeline,
    set: DescriptorSet,
    target: Buffer,
    buffers: Vec<Buffer>,
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

impl Bench {
    fn new(resources: Resources) -> Self {
        let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        let vertex_input = VertexInput::default();
        let options =
            compute::Options::new(&vertex_input).target(gpu.context().compute_target().unwrap());
        let words = common::compile(SHADER, &[]);
        let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
        let usage = gpu.context().capture_buffer_usage(COMPUTE);
        let size = RECORDS * STRIDE;
        let target = gpu.create_buffer(size, usage, MemoryLocation::Device).unwrap();
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER;
        let values = gpu.create_buffer(16, usage, MemoryLocation::Device).unwrap();
        gpu.write(&values, 0, &bytes(&VALUES)).unwrap();
        let device = gpu.context().device();
        let set = DescriptorSet::new(device, vk::DescriptorType::STORAGE_BUFFER);
        // SAFETY: the buffer is one of storage, and nothing was submitted.
        unsafe { set.write(device, values.raw()) };
        let pipeline = make_pipeline(&gpu, &lowered, &[set.layout]).unwrap();
        Self { gpu, lowered, pipeline, set, target, buffers: vec![values] }
    }

    /// Creates a separate buffer for a use.
    fn buffer(&mut self, usage: vk::BufferUsageFlags, words: &[u32]) -> vk::Buffer {
        let size = 4 * words.len() as u64;
        let buffer = self.gpu.create_buffer(size, usage, MemoryLocation::Device).unwrap();
        self.gpu.write(&buffer, 0, &bytes(words)).unwrap();
        let raw = buffer.raw();
        self.buffers.push(buffer);
        raw
    }

    /// Records a capture with the application's set bound, executes it, and returns the captured
    /// data.
    fn capture(
        &mut self,
        arena: &ArenaDesc,
        record: impl FnOnce(&mut Recorder<'_>) -> Result<(), RuntimeError>,
    ) -> Result<Vec<u32>, GpuError> {
        let size = self.target.size();
        self.gpu.write(&self.target, 0, &vec![0xa5; size as usize]).unwrap();
        let mut arena = self.gpu.create_arena(arena)?;
        let (kernels, pipeline, target) = (self.gpu.kernels(), &self.pipeline, &self.target);
        let submitted = self.gpu.submit(|ctx, cmd| {
            let bound = CaptureBuffer::new(target.raw(), size);
            let bound_buffers = [Some(bound)];
            let desc = CaptureDesc::new(pipeline).buffers(&bound_buffers);
            // SAFETY: everything outlives the submission, which is waited for.
            let recorded = unsafe {
                let mut capture = Capture::new(ctx, &kernels);
                let mut recorder = Recorder::begin(&mut capture, &mut arena, cmd, &desc)?;
                record(&mut recorder).and_then(|()| recorder.end(&[]))
            };
            recorded.map(|_| ()).map_err(|source| GpuError::Capture { capture: 0, source })
        });
        self.gpu.destroy_arena(arena);
        submitted?;
        let found = self.gpu.read(&self.target, 0..size)?;
        Ok(found.chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect())
    }

    fn close(mut self) {
        self.gpu.destroy_pipeline(self.pipeline);
        self.gpu.destroy_buffer(self.target);
        for buffer in self.buffers {
            self.gpu.destroy_buffer(buffer);
        }
        // SAFETY: every submission was waited for.
        unsafe { self.set.destroy(self.gpu.context().device()) };
        device::close(self.gpu);
    }
}

fn make_pipeline(
    gpu: &Gpu,
    lowered: &Lowered,
    set_layouts: &[vk::DescriptorSetLayout],
) -> Result<Pipeline, RuntimeError> {
    let vertex_input = VertexInput::default();
    let desc = PipelineDesc::new(lowered)
        .topology(STRIP)
        .dynamic_topology(true)
        .provoking_vertex(ProvokingVertex::First)
        .primitive_restart(true)
        .vertex_input(&vertex_input)
        .set_layouts(set_layouts);
    // SAFETY: the context is of a live device, and the layouts are its.
    unsafe { Pipeline::new(gpu.context(), &desc) }
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
        let mut bench = Bench::new(resources);
        let ctx = bench.gpu.context().clone();
        let arguments = ctx.indirect_buffer_usage(COMPUTE);
        let first = bench.buffer(arguments, &[9, 9, 5, 1, 10, 0]);
        let second = bench.buffer(arguments, &[4, 1, 20, 0, 3, 1, 30, 0, 6, 1, 40, 0]);
        let count = bench.buffer(arguments, &[7, 7, 2]);
        let indexed = bench.buffer(arguments, &[7, 1, 1, 50, 0]);
        // Sixteen bits each, of which the first does not begin a dword of the buffer.
        let indices = [0xffff_0000, 0x0001_0000, 0xffff_0002, 0x0004_0003, 0x0000_0005];
        let indices = bench.buffer(ctx.index_buffer_usage(COMPUTE), &indices);
        let pool = bench.gpu.create_query_pool(QueryKind::TransformFeedbackStream, 2).unwrap();
        bench
            .gpu
            .submit(|ctx, cmd| {
                // SAFETY: the command buffer is being recorded.
                Ok(unsafe { pool.reset(ctx, cmd, 0, 2) }?)
            })
            .unwrap();
        let set = bench.set.raw;
        let arena = ArenaDesc::for_draws(1, 10).scratch(1 << 16).upload(1 << 16);
        let found = bench.capture(&arena, |recorder| {
            // SAFETY: as `capture` says; the arguments lie in their buffers.
            unsafe {
                recorder.bind_descriptor_sets(0, &[set], &[])?;
                recorder.begin_query(&pool, 1)?;
                let draw = |buffer, offset, draw_count, count| IndirectDraw {
                    buffer,
                    offset,
                    draw_count,
                    stride: 16,
                    count,
                };
                recorder.draw_indirect(STRIP, &draw(first, 8, 1, None))?;
                recorder.draw_indirect(STRIP, &draw(second, 0, 3, Some((count, 8))))?;
                recorder.bind_index_buffer(&IndexBuffer {
                    buffer: indices,
                    offset: 4,
                    size: 16,
                    index_type: IndexType::Uint16,
                })?;
                recorder.draw_indexed_indirect(STRIP, &draw(indexed, 0, 1, None))?;
                recorder.end_query(QueryKind::TransformFeedbackStream)
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
        assert_eq!((result.first, result.second), (primitives, primitives), "{resources:?}");
        bench.gpu.destroy_query_pool(pool);
        bench.close();
    }
}

/// Errors name what descriptors do not support.
#[test]
fn limits_of_descriptors_are_named() {
    let mut bench = Bench::new(Resources::Descriptors);
    let ctx = bench.gpu.context().clone();
    let buffers: Vec<vk::Buffer> =
        (0..12).map(|_| bench.buffer(ctx.indirect_buffer_usage(COMPUTE), &[3, 1, 0, 0])).collect();
    let draw = |buffer| IndirectDraw { buffer, offset: 0, draw_count: 1, stride: 16, count: None };
    let arena = ArenaDesc::for_draws(1, 20);
    let set = bench.set.raw;
    let mut errors = Vec::new();
    let found = bench.capture(&arena, |recorder| {
        // SAFETY: as `capture` says.
        unsafe {
            recorder.bind_descriptor_sets(0, &[set], &[])?;
            for buffer in &buffers {
                errors.extend(recorder.draw_indirect(STRIP, &draw(*buffer)).err());
            }
            let size = 1 << 40;
            let index_type = IndexType::Uint32;
            let indices = IndexBuffer::new(buffers[0], size, index_type);
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
    // What the application binds itself does not last: kernels come before the draws, the setup
    // kernel and that of a query of an earlier flush.
    let found = bench.capture(&arena, |recorder| {
        // SAFETY: as `capture` says. The draw is refused, so nothing reads the set.
        unsafe {
            recorder.assume_descriptor_sets(0, 1)?;
            recorder.draw_indirect(STRIP, &draw(buffers[0]))
        }
    });
    let unknown = "what is recorded before the draws disturbs descriptor set 0, which the shader \
                   reads: bind it in the capture (bind_descriptor_sets)";
    assert_eq!(refused(found), unknown);
    let pool = bench.gpu.create_query_pool(QueryKind::PrimitivesGenerated, 1).unwrap();
    let found = bench.capture(&arena, |recorder| {
        // SAFETY: as `capture` says.
        unsafe {
            recorder.assume_descriptor_sets(0, 1)?;
            recorder.begin_query(&pool, 0)?;
            recorder.end_query(QueryKind::PrimitivesGenerated)?;
            recorder.flush()?;
            recorder.draw(STRIP, &Draw::new(3))
        }
    });
    assert_eq!(refused(found), unknown);
    bench.gpu.destroy_query_pool(pool);
    let one = arena.descriptor_sets(1);
    let found = bench.capture(&one, |recorder| {
        // SAFETY: as `capture` says.
        unsafe {
            recorder.bind_descriptor_sets(0, &[set], &[])?;
            recorder.draw_indirect(STRIP, &draw(buffers[0]))
        }
    });
    assert!(refused(found).starts_with("the arena's 1 descriptor sets are used up: reset it"));
    // SAFETY of the allocator is the device's: nothing is made.
    let huge = bench.gpu.create_arena(&arena.upload(1 << 30)).map(|_: Arena| ());
    assert_eq!(
        huge.unwrap_err().to_string(),
        "the size of vkxfb upload in bytes is 1073741824: maxStorageBufferRange is 134217728"
    );

    let refused = |lowered: &Lowered, set_layouts: &[vk::DescriptorSetLayout]| {
        make_pipeline(&bench.gpu, lowered, set_layouts).unwrap_err().to_string()
    };
    let words = common::compile(SHADER, &[]);
    let vertex_input = VertexInput::default();
    let by_address = compute::lower(&Shader::new(&words), &compute::Options::new(&vertex_input));
    assert_eq!(
        refused(&by_address.unwrap(), &[bench.set.layout]),
        "the shader reaches memory by device addresses: this device takes 18 and 6 storage buffers"
    );
    let max = ctx.capabilities().limits.max_descriptor_sets;
    assert_eq!(
        refused(&bench.lowered, &vec![bench.set.layout; max as usize]),
        format!(
            "the number of descriptor set layouts, with one for the buffers of captures, is {}: \
             maxBoundDescriptorSets is {max}",
            max + 1
        )
    );
    assert_eq!(ctx.resource_plan().unwrap(), ResourcePlan::Descriptors { reads: 18, writes: 6 });
    bench.close();
}

/// A shader is lowered without knowledge of the number of set layouts. The pipeline moves the set
/// of the descriptor plan after all of them.
#[test]
fn a_pipeline_may_have_more_sets_than_its_shader_uses() {
    for resources in RESOURCES {
        let mut bench = Bench::new(resources);
        let set = bench.set.raw;
        for (count, optimizes) in [(1, true), (3, true), (3, false)] {
            let mut ctx = bench.gpu.context().clone();
            ctx.set_optimizes_shaders(optimizes);
            let desc = PipelineDesc::new(&bench.lowered);
            let set_layouts = vec![bench.set.layout; count];
            // SAFETY: the context is of a live device, and the layouts are its.
            let made = unsafe { Pipeline::new(&ctx, &desc.set_layouts(&set_layouts)) }.unwrap();
            let before = std::mem::replace(&mut bench.pipeline, made);
            bench.gpu.destroy_pipeline(before);
            let found = bench.capture(&ArenaDesc::for_draws(1, 1), |recorder| {
                // SAFETY: as `capture` says.
                unsafe {
                    recorder.bind_descriptor_sets(0, &[set], &[])?;
                    recorder.draw(STRIP, &Draw::new(4))
                }
            });
            let expected = expected(&[&[0, 1, 2, 3]]);
            assert_eq!(found.unwrap()[..expected.len()], expected, "{resources:?} {count}");
        }
        bench.close();
    }
}

/// Tests counters in separate buffers, and a flush after which another descriptor set is used.
#[test]
fn counters_and_flushes_go_on() {
    for resources in RESOURCES {
        let mut bench = Bench::new(resources);
        let ctx = bench.gpu.context().clone();
        let arguments = ctx.indirect_buffer_usage(COMPUTE);
        let first = bench.buffer(arguments, &[3, 1, 8, 0]);
        let second = bench.buffer(arguments, &[4, 1, 16, 0]);
        let counter = bench.buffer(ctx.counter_buffer_usage(COMPUTE), &[0, 24]);
        let counter = CounterBuffer { buffer: counter, offset: 4 };
        let set = bench.set.raw;
        let (kernels, pipeline, target) = (bench.gpu.kernels(), &bench.pipeline, &bench.target);
        let desc = ArenaDesc::for_draws(3, 8).descriptor_sets(8);
        let mut arena = bench.gpu.create_arena(&desc).unwrap();
        let initial = vec![0xa5; target.size() as usize];
        bench.gpu.write(target, 0, &initial).unwrap();
        bench
            .gpu
            .submit(|ctx, cmd| {
                let bound = CaptureBuffer::new(target.raw(), target.size());
                let captured = [Some(bound)];
                let counters = [Some(counter)];
                let desc = CaptureDesc::new(pipeline).buffers(&captured).counters(&counters);
                let draw = |buffer| IndirectDraw {
                    buffer,
                    offset: 0,
                    draw_count: 1,
                    stride: 16,
                    count: None,
                };
                // SAFETY: everything outlives the submission, which is waited for.
                unsafe {
                    // Without draws the application's set is not needed.
                    Recorder::begin(&mut Capture::new(ctx, &kernels), &mut arena, cmd, &desc)?
                        .end(&[Some(counter)])?;
                    let mut capture = Capture::new(ctx, &kernels);
                    let mut recorder = Recorder::begin(&mut capture, &mut arena, cmd, &desc)?;
                    recorder.bind_descriptor_sets(0, &[set], &[])?;
                    recorder.draw_indirect(STRIP, &draw(first))?;
                    recorder.flush()?;
                    recorder.draw_indirect(STRIP, &draw(second))?;
                    recorder.end(&[Some(counter)])?;
                }
                Ok(())
            })
            .unwrap();
        bench.gpu.destroy_arena(arena);
        let found = bench.gpu.read(&bench.target, 0..bench.target.size()).unwrap();
        let expected = bytes(&expected(&[&[8, 9, 10], &[16, 17, 18, 19]]));
        assert_eq!(found[..24], initial[..24], "{resources:?}");
        assert_eq!(found[24..24 + expected.len()], expected, "{resources:?}");
        assert_eq!(found[24 + expected.len()..], initial[24 + expected.len()..], "{resources:?}");
        let counters = bench.buffers.last().unwrap();
        let counters = bench.gpu.read(counters, 0..8).unwrap();
        assert_eq!(counters, bytes(&[0, 24 + expected.len() as u32]), "{resources:?}");
        bench.close();
    }
}

/// A size for which there is not enough memory is an error, however large it is.
#[test]
fn arenas_of_absurd_sizes_are_refused() {
    for resources in device::RESOURCES {
        let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        for desc in [
            ArenaDesc::new(16, 1 << 62).descriptor_sets(1),
            ArenaDesc::new(u64::MAX, 16).descriptor_sets(1),
            ArenaDesc::for_draws(1 << 31, u64::MAX),
        ] {
            gpu.create_arena(&desc).unwrap_err();
        }
        device::close(gpu);
    }
}
