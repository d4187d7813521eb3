//! Descriptor sets of the application: a draw reads the sets that were bound before it, however the
//! draws of a capture are recorded.

use ash::vk;
use vkxfb::lower::{Backend, Lowered, Shader, compute, native, vertex};
use vkxfb::runtime::{
    ArenaDesc, ArenaSize, Buffer, CaptureBuffer, CaptureDesc, ConsumerScope, Context,
    CounterBuffer, Draw, IndirectDraw, Pipeline, PipelineDesc, QueryKind, QueryPool, Recorded,
    Recorder, RuntimeError,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::VertexInput;
use vkxfb_probe::gpu::{Gpu, GpuError, OpenOptions, Profile, Resources};

use crate::common;
use crate::common::descriptor_set::DescriptorSet;
use crate::common::device;
use crate::common::test_device::{Owned, TestDevice};

const POINTS: PrimitiveTopology = PrimitiveTopology::PointList;
const OBJECTS: u32 = 100;
/// The number of vertices of an object.
const VERTICES: u32 = 24;
/// The number of bytes from one object to the next: the largest alignment of dynamic offsets that
/// Vulkan allows.
const SPACING: u32 = 256;
/// The size of a record in bytes.
const STRIDE: u64 = 12;
const BEFORE: u32 = 0xa5a5_a5a5;

/// Captures one dword of each of two sets, and the vertex index.
const SHADER: &str = "#version 450
    layout(set = 0, binding = 0) uniform Frame { uint frame; };
    layout(set = 1, binding = 0) readonly buffer Object { uint object; };
    layout(location = 0, xfb_buffer = 0, xfb_stride = 12, xfb_offset = 0) out flat uvec3 captured;
    void main() {
        captured = uvec3(frame, object, gl_VertexIndex);
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

/// Two sets, each with a dynamic descriptor of one object, and a pipeline whose shader reads them.
struct Objects {
    pipeline: Owned<Pipeline>,
    sets: [Owned<DescriptorSet>; 2],
    /// The buffer that the sets read. It contains the number of each object.
    _numbers: Owned<Buffer>,
    /// A `VkDrawIndirectCommand` for each object.
    arguments: Owned<Buffer>,
    counter: Owned<Buffer>,
    target: Owned<Buffer>,
    pool: Option<Owned<QueryPool>>,
    gpu: TestDevice,
}

/// How draws are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By the CPU.
    Direct,
    /// With arguments that the GPU reads: on the compute backend by the setup kernel.
    Indirect,
    /// Resumed from a counter: on the compute backend by the setup kernel.
    Resumed,
    /// Each draw has its own query, whose result a kernel writes.
    Queries,
}

fn lower(gpu: &Gpu, backend: Backend) -> Lowered {
    let words = common::compile(SHADER, &[]);
    let shader = Shader::new(&words);
    let vertex_input = VertexInput::default();
    match backend {
        Backend::Native => native::lower(&shader),
        Backend::Vertex => vertex::lower(&shader),
        Backend::Compute => {
            let target = gpu.context().compute_target().unwrap();
            compute::lower(&shader, &compute::Options::new(&vertex_input).target(target))
        }
    }
    .unwrap()
}

/// Returns the records of object `drawn`, which is drawn while the sets are bound at `frame` and
/// `object`.
fn records(frame: u32, object: u32, drawn: u32) -> impl Iterator<Item = u32> {
    (0..VERTICES).flat_map(move |vertex| [1000 + frame, 1000 + object, drawn * 7 + vertex])
}

impl Objects {
    fn new(options: OpenOptions, backend: Backend) -> Self {
        let mut gpu = device::open_with(options);
        let ctx = gpu.context().clone();
        let sets = [
            vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC,
            vk::DescriptorType::STORAGE_BUFFER_DYNAMIC,
        ]
        .map(|ty| DescriptorSet::new(&gpu, ty));
        let layouts = sets.each_ref().map(|set| set.layout);
        let lowered = lower(&gpu, backend);
        let input = VertexInput::default();
        let desc = PipelineDesc {
            topology: Some(POINTS.into()),
            provoking_vertex: ProvokingVertex::First,
            vertex_input: Some(&input),
            set_layouts: &layouts,
            render_pass: gpu.render_pass(),
            ..PipelineDesc::new(&lowered)
        };
        let pipeline = gpu.pipeline(&desc);
        let usage = vk::BufferUsageFlags::UNIFORM_BUFFER | vk::BufferUsageFlags::STORAGE_BUFFER;
        let number = |object: u32| [1000 + object; SPACING as usize / 4];
        let numbers = gpu.filled(usage, &(0..OBJECTS).map(number).collect::<Vec<_>>());
        let command = |object| [VERTICES, 1, object * 7, 0];
        let commands: Vec<[u32; 4]> = (0..OBJECTS).map(command).collect();
        let arguments = gpu.filled(ctx.buffer_usages(backend).indirect, &commands);
        let counter = gpu.buffer(4, ctx.buffer_usages(backend).counter);
        let size = u64::from(OBJECTS * VERTICES) * STRIDE;
        let target = gpu.buffer(size, ctx.buffer_usages(backend).capture);
        for set in &sets {
            // SAFETY: the buffer has the usages, and nothing was submitted.
            unsafe { set.write_range(ctx.device(), numbers.raw(), 0, 16) };
        }
        let kind = QueryKind::TransformFeedbackStream;
        let pool = (backend == Backend::Compute).then(|| gpu.query_pool(kind, OBJECTS));
        Self { pipeline, sets, _numbers: numbers, arguments, counter, target, pool, gpu }
    }

    /// Records a capture, and returns the captured data.
    fn capture(
        &mut self,
        way: Way,
        record: impl FnOnce(&Context, vk::CommandBuffer, &mut Scene<'_>) -> Result<(), RuntimeError>,
    ) -> Result<(Recorded, Vec<u32>), GpuError> {
        let size = self.target.size();
        self.gpu.write(&self.target, 0, &BEFORE.to_le_bytes().repeat(size as usize / 4))?;
        self.gpu.write(&self.counter, 0, &[0; 4])?;
        let desc = ArenaDesc::new(u64::from(OBJECTS), 2 * u64::from(OBJECTS));
        let mut arena = self.gpu.arena(desc);
        let pass = (self.gpu.render_pass(), self.gpu.framebuffer());
        let counter = Some(CounterBuffer::new(self.counter.raw()));
        let Self { pipeline, target, pool, gpu, .. } = self;
        let (backend, mut capture) = (pipeline.backend(), gpu.new_capture());
        let buffers = [Some(CaptureBuffer::new(target.raw(), size))];
        let counters = [counter.filter(|_| way == Way::Resumed)];
        let desc =
            CaptureDesc { buffers: &buffers, counters: &counters, ..CaptureDesc::new(pipeline) };
        let sets = self.sets.each_ref().map(|set| set.raw);
        let arguments = self.arguments.raw();
        let recorded = gpu.submit(|ctx, cmd| {
            // SAFETY: everything outlives the submission, which is waited for.
            let recorded = unsafe {
                if let Some(pool) = pool {
                    pool.reset(ctx, cmd, 0, pool.count())?;
                }
                device::begin_render_pass(ctx, cmd, backend, pass);
                let recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                let mut scene = Scene { recorder, way, sets, arguments, pool: pool.as_deref() };
                let recorded = record(ctx, cmd, &mut scene)
                    .and_then(|()| scene.recorder.end(&[counter.filter(|_| way == Way::Resumed)]));
                device::end_render_pass(ctx, cmd, backend);
                ctx.capture_barrier(cmd, backend, ConsumerScope::TRANSFER);
                recorded
            };
            recorded.map_err(|source| GpuError::Capture { capture: 0, source })
        });
        let recorded = recorded?;
        Ok((recorded, self.gpu.contents(&self.target)))
    }
}

/// A capture that is being recorded.
struct Scene<'a> {
    recorder: Recorder<'a>,
    way: Way,
    sets: [vk::DescriptorSet; 2],
    arguments: vk::Buffer,
    pool: Option<&'a QueryPool>,
}

impl Scene<'_> {
    /// Binds sets from set number `first` on, each with the offset of an object.
    ///
    /// # Safety
    /// As [`Recorder::bind_descriptor_sets`].
    unsafe fn bind(&mut self, first: u32, objects: &[u32]) -> Result<(), RuntimeError> {
        let sets = &self.sets[first as usize..][..objects.len()];
        let offsets: Vec<u32> = objects.iter().map(|object| object * SPACING).collect();
        unsafe { self.recorder.bind_descriptor_sets(first, sets, &offsets) }
    }

    /// Draws an object.
    ///
    /// # Safety
    /// As [`Recorder::draw_indirect`].
    unsafe fn draw(&mut self, object: u32) -> Result<(), RuntimeError> {
        let recorder = &mut self.recorder;
        let draw = Draw {
            vertex_count: VERTICES,
            instance_count: 1,
            first_vertex: object * 7,
            first_instance: 0,
        };
        let indirect = IndirectDraw {
            buffer: self.arguments,
            offset: u64::from(object) * 16,
            draw_count: 1,
            stride: 16,
            count: None,
        };
        unsafe {
            match self.way {
                Way::Direct | Way::Resumed => recorder.draw(POINTS, &draw),
                Way::Indirect => recorder.draw_indirect(POINTS, &indirect),
                Way::Queries => {
                    let pool = self.pool.unwrap();
                    recorder.begin_query(pool, object, 0)?;
                    recorder.draw(POINTS, &draw)?;
                    recorder.end_query(pool.kind(), 0)
                }
            }
        }
    }
}

/// Returns every backend, including the compute backend with both resource plans and with the floor
/// profile, and the ways of recording that each supports.
fn backends() -> Vec<(OpenOptions, Backend, &'static [Way])> {
    const ALL: &[Way] = &[Way::Direct, Way::Indirect, Way::Resumed, Way::Queries];
    let mut backends = Vec::new();
    for profile in [Profile::Full, Profile::Bifrost] {
        for resources in device::RESOURCES {
            let options = OpenOptions { profile, resources, ..Default::default() };
            backends.push((options, Backend::Compute, ALL));
        }
    }
    let gpu = device::open(Profile::Full);
    for (backend, ways) in [(Backend::Native, &ALL[..3]), (Backend::Vertex, &ALL[..1])] {
        if gpu.backends().contains(&backend) {
            backends.push((OpenOptions::default(), backend, ways));
        }
    }
    backends
}

/// Captures a hundred objects in one capture, each with its own dynamic offsets. Either both sets
/// are bound at once, or only one of them.
#[test]
fn each_object_reads_its_own_descriptors() {
    for (options, backend, ways) in backends() {
        let mut objects = Objects::new(options.clone(), backend);
        for way in ways {
            let found = objects.capture(*way, |_, _, scene| {
                for object in 0..OBJECTS {
                    // SAFETY: as `capture` says; the arguments lie in their buffer.
                    unsafe {
                        match object % 10 {
                            0 => scene.bind(0, &[object / 10, object])?,
                            5 => {
                                scene.bind(1, &[object])?;
                                scene.bind(0, &[object / 10])?;
                            }
                            _ => scene.bind(1, &[object])?,
                        }
                        scene.draw(object)?;
                    }
                }
                Ok(())
            });
            let (_, found) = found.unwrap();
            let expected: Vec<u32> =
                (0..OBJECTS).flat_map(|object| records(object / 10, object, object)).collect();
            let differ = found.chunks(3).zip(expected.chunks(3)).filter(|(a, b)| a != b).count();
            assert_eq!(differ, 0, "{backend} {way:?} {options:?}: records of another object");
        }
    }
}

/// Draws share a dispatch as long as the sets that they read stay the same, even if sets are bound
/// again.
#[test]
fn draws_of_the_same_sets_share_a_dispatch() {
    for resources in device::RESOURCES {
        let options = OpenOptions { resources, ..Default::default() };
        let mut objects = Objects::new(options, Backend::Compute);
        for way in [Way::Direct, Way::Indirect] {
            let found = objects.capture(way, |_, _, scene| {
                for object in 0..OBJECTS {
                    // SAFETY: as `capture` says; the arguments lie in their buffer.
                    unsafe {
                        let (frame, bound) = sets_of(object);
                        scene.bind(0, &[frame])?;
                        scene.bind(1, &[bound])?;
                        scene.draw(object)?;
                    }
                }
                Ok(())
            });
            let (recorded, found) = found.unwrap();
            let expected = |object| {
                let (frame, bound) = sets_of(object);
                records(frame, bound, object)
            };
            assert!(found.into_iter().eq((0..OBJECTS).flat_map(expected)), "{resources:?} {way:?}");
            assert_eq!(recorded.capture_dispatches, 3, "{resources:?} {way:?}");
        }
    }

    /// Returns the frame and the object that a draw reads. There are three different pairs.
    fn sets_of(object: u32) -> (u32, u32) {
        match object {
            0..50 => (1, 2),
            50..70 => (7, 8),
            _ => (7, 9),
        }
    }
}

/// Sets that the application binds itself are used only if the recorder has not bound any.
#[test]
fn sets_that_the_application_binds_itself() {
    for resources in device::RESOURCES {
        let options = OpenOptions { resources, ..Default::default() };
        let mut objects = Objects::new(options, Backend::Compute);
        let layout = objects.pipeline.raw_layout();
        let found = objects.capture(Way::Direct, |ctx, cmd, scene| {
            let sets = scene.sets;
            let own = |first: u32, object: u32| {
                let set = [sets[first as usize]];
                let offset = [object * SPACING];
                let point = vk::PipelineBindPoint::COMPUTE;
                // SAFETY: the command buffer is being recorded, and the sets are of that layout.
                unsafe {
                    ctx.device().cmd_bind_descriptor_sets(cmd, point, layout, first, &set, &offset);
                }
            };
            // SAFETY: as `capture` says.
            unsafe {
                let error = scene.draw(0).unwrap_err();
                assert!(matches!(error, RuntimeError::MissingDescriptorSet { set: 0 }), "{error}");
                let error = scene.recorder.assume_descriptor_sets(1, 2).unwrap_err();
                assert!(matches!(error, RuntimeError::DescriptorSetRange { .. }), "{error}");
                scene.recorder.assume_descriptor_sets(0, 2)?;
                own(0, 1);
                own(1, 2);
                scene.draw(0)?;
                scene.bind(1, &[3])?;
                own(1, 4);
                scene.draw(1)?;
                scene.bind(0, &[8])?;
                scene.draw(2)?;
                // Draws that are recorded only now read the sets that are bound now, except for
                // those that the recorder bound.
                own(0, 5);
            }
            Ok(())
        });
        let (_, found) = found.unwrap();
        let bound = [(5, 4), (5, 3), (8, 3)];
        let expected: Vec<u32> = (0..)
            .zip(bound)
            .flat_map(|(drawn, (frame, object))| records(frame, object, drawn))
            .collect();
        assert_eq!(found[..expected.len()], expected, "{resources:?}");
        assert!(found[expected.len()..].iter().all(|dword| *dword == BEFORE), "{resources:?}");
    }
}

/// Sets that cannot be used are refused with an error, and the capture continues.
#[test]
fn sets_that_cannot_hold_are_refused() {
    for (options, backend, ways) in backends() {
        let resources = options.resources;
        let mut objects = Objects::new(options, backend);
        for way in ways {
            let mut error = None;
            let found = objects.capture(*way, |_, _, scene| {
                // SAFETY: as `capture` says; the arguments lie in their buffer.
                unsafe {
                    // Whatever is not bound is missed, and the capture goes on.
                    for (before, missing) in [(None, 0), (Some(0), 1)] {
                        if let Some(number) = before {
                            scene.bind(number, &[1])?;
                        }
                        let error = scene.recorder.draw(POINTS, &Draw::new(VERTICES)).unwrap_err();
                        let is_missed =
                            matches!(error, RuntimeError::MissingDescriptorSet { set } if set == missing);
                        assert!(is_missed, "{backend} {way:?} {resources:?}: {error}");
                    }
                    scene.bind(0, &[1, 2])?;
                    let sets = [scene.sets[1]; 2];
                    error = scene.recorder.bind_descriptor_sets(1, &sets, &[0, 0]).err();
                    scene.recorder.bind_descriptor_sets(2, &[], &[])?;
                    scene.draw(0)
                }
            });
            assert_eq!(
                error.unwrap().to_string(),
                "2 descriptor sets are bound from number 1 on: the pipeline has 2 set layouts of the application"
            );
            let (_, found) = found.unwrap();
            assert_eq!(found[..3], [1001, 1002, 0], "{backend} {way:?} {resources:?}");

            // A draw before all sets are bound would read a set that a kernel has replaced.
            if resources != Resources::Descriptors || !matches!(way, Way::Indirect | Way::Resumed) {
                continue;
            }
            for (before, missing) in [(None, 0), (Some(0), 1), (Some(1), 0)] {
                let found = objects.capture(*way, |_, _, scene| {
                    // SAFETY: as above.
                    unsafe {
                        scene.recorder.assume_descriptor_sets(0, 2)?;
                        if let Some(number) = before {
                            scene.bind(number, &[1])?;
                        }
                        scene.draw(0)?;
                        scene.bind(0, &[1, 2])?;
                        scene.draw(1)
                    }
                });
                match found.unwrap_err() {
                    GpuError::Capture {
                        source: RuntimeError::DescriptorSetUnknown { set },
                        ..
                    } => assert_eq!(set, missing),
                    error => panic!("{error}"),
                }
            }
        }
    }
}

/// If an earlier pipeline has fewer sets, the descriptor set of the resource plan replaces a set of
/// the application. This stays known when the rest of a capture is played again after an error.
#[test]
fn what_a_recorded_part_disturbed_is_known_to_who_plays_the_rest() {
    const VERTEX: &str = "#version 450
        void main() { gl_Position = vec4(0.0); }";
    const WITHOUT_SETS: &str = "#version 450
        layout(points) in;
        layout(points, max_vertices = 1) out;
        layout(location = 0, xfb_buffer = 0, xfb_stride = 12, xfb_offset = 0) out flat uvec3 captured;
        void main() {
            captured = uvec3(gl_PrimitiveIDIn);
            EmitVertex();
        }";
    let options = OpenOptions { resources: Resources::Descriptors, ..Default::default() };
    let mut objects = Objects::new(options, Backend::Compute);
    let [vertex, geometry] = [("vert", VERTEX), ("geom", WITHOUT_SETS)]
        .map(|(s, text)| common::compile_stage(s, text, &[]));
    let (vertex, vertex_input) = (Shader::new(&vertex), VertexInput::default());
    let target = objects.gpu.context().compute_target().unwrap();
    let options = compute::Options::new(&vertex_input).vertex_shader(&vertex).target(target);
    let lowered = compute::lower(&Shader::new(&geometry), &options).unwrap();
    let desc = PipelineDesc { topology: Some(POINTS.into()), ..PipelineDesc::new(&lowered) };
    let without_sets = objects.gpu.pipeline(&desc);
    let desc = ArenaSize { descriptor_sets: 8, ..ArenaDesc::new(2, 2).into() };
    let mut arena = objects.gpu.arena(desc);
    let mut capture = objects.gpu.new_capture();
    let Objects { gpu, pipeline, target, .. } = &mut objects;
    let buffers = [Some(CaptureBuffer::new(target.raw(), target.size()))];
    let desc = CaptureDesc { buffers: &buffers, ..CaptureDesc::new(&without_sets) };
    let draw = Draw::new(VERTICES);
    gpu.submit(|_, cmd| {
        // SAFETY: everything outlives the submission, which is waited for.
        unsafe {
            capture.begin(&desc)?;
            let mut recorder = capture.recorder();
            recorder.draw(POINTS, &draw)?;
            recorder.bind_pipeline(pipeline)?;
            recorder.assume_descriptor_sets(0, 2)?;
            recorder.draw(POINTS, &draw)?;
            recorder.end(&[])?;
            for _ in 0..2 {
                let error = capture.play(&mut *arena, cmd).unwrap_err();
                let is_known = matches!(error, RuntimeError::DescriptorSetUnknown { set: 0 });
                assert!(is_known && capture.is_recorded_in_part(), "{error}");
            }
        }
        Ok(())
    })
    .unwrap();
}
