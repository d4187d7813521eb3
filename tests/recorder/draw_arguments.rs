//! Compares draws with arguments that a kernel computes from counters with
//! `vkCmdDrawIndirectByteCountEXT`. The vertices of both are captured natively, and must be the
//! same.

use ash::vk;
use vkxfb::lower::{Backend, Shader, native};
use vkxfb::runtime::{
    ArenaDesc, Buffer, ByteCountDraw, CaptureBuffer, CaptureDesc, ConsumerScope, CounterBuffer,
    Draw, DrawCommands, IndirectDraw, Pipeline, PipelineDesc, Recorder, RuntimeError, VertexBuffer,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::{InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput};
use vkxfb_probe::gpu::{GpuError, OpenOptions, Profile, Resources};

use crate::common;
use crate::common::device;
use crate::common::test_device::{Owned, TestDevice};

/// Captures an attribute, the vertex index and the instance index.
const ECHO: &str = "#version 450
    layout(location = 0) in uvec4 vertex;
    layout(xfb_buffer = 0, xfb_stride = 24) out;
    layout(location = 0, xfb_offset = 0) out flat uvec4 captured;
    layout(location = 1, xfb_offset = 16) out flat uvec2 place;
    void main() {
        captured = vertex;
        place = uvec2(gl_VertexIndex, gl_InstanceIndex);
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";
/// The size in bytes of a vertex that is first captured, and then drawn.
const STRIDE: u32 = 16;
/// The number of captured vertices.
const VERTICES: u32 = 60;
/// The maximum number of bytes that draws of the captured vertices capture.
const DRAWN: u64 = 24 * 3 * 3 * VERTICES as u64;

/// The number of draws in the test that adds draws later. It is more than the workgroups of the
/// kernel.
const MANY: usize = 40;

/// Counters, each with the stride of a vertex, the number of instances, and the first instance. The
/// first counter is that at the end of the capture.
const DRAWS: [(u32, u32, [u32; 2]); 7] = [
    (STRIDE * VERTICES, STRIDE, [2, 0]),
    (0, STRIDE, [1, 0]),
    (STRIDE - 4, STRIDE, [1, 0]),
    (STRIDE * 7 + 12, STRIDE, [1, 2]),
    (STRIDE * 8, 2 * STRIDE, [3, 1]),
    (100, 28, [1, 0]),
    (STRIDE * 20, STRIDE, [0, 0]),
];

fn echo_pipeline(gpu: &TestDevice, topology: PrimitiveTopology) -> Owned<Pipeline> {
    let words = common::compile(ECHO, &[]);
    let vertex_input = VertexInput {
        bindings: vec![VertexBinding { binding: 0, stride: STRIDE, input_rate: InputRate::Vertex }],
        attributes: vec![VertexAttribute {
            location: 0,
            binding: 0,
            format: VertexFormat::R32G32B32A32Uint,
            offset: 0,
        }],
    };
    let lowered = native::lower(&Shader::new(&words)).unwrap();
    let desc = PipelineDesc {
        topology: Some(topology.into()),
        provoking_vertex: ProvokingVertex::First,
        vertex_input: Some(&vertex_input),
        render_pass: gpu.render_pass(),
        ..PipelineDesc::new(&lowered)
    };
    gpu.pipeline(&desc)
}

/// When draws are passed to the kernel that writes their commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Now,
    /// After the kernel was recorded.
    Later,
}

/// The captured vertices, and the counters.
struct Captured {
    vertices: Owned<Buffer>,
    counters: Owned<Buffer>,
    commands: Owned<Buffer>,
}

impl Captured {
    /// Captures vertices by compute, with one draw that fills the buffer.
    fn new(gpu: &mut TestDevice) -> Self {
        let backend = Backend::Compute;
        let pipeline = device::identifying_pipeline(gpu);
        let ctx = gpu.context();
        let vertex_usage = ctx.buffer_usages(backend).capture | vk::BufferUsageFlags::VERTEX_BUFFER;
        let counter_usage =
            ctx.buffer_usages(backend).counter | ctx.buffer_usages(Backend::Native).counter;
        let command_usage = ctx.buffer_usages(Backend::Compute).draw_commands;
        let vertices = gpu.buffer(u64::from(STRIDE * VERTICES), vertex_usage);
        let counters = gpu.filled(counter_usage, &DRAWS.map(|(counter, ..)| counter));
        let commands = gpu.buffer(4 + 20 * MANY as u64, command_usage);
        let mut arena = gpu.arena(ArenaDesc::new(1, 1));
        let mut capture = gpu.new_capture();
        let (buffer, size) = (vertices.raw(), vertices.size());
        let buffers = [Some(CaptureBuffer::new(buffer, size))];
        let desc = CaptureDesc { buffers: &buffers, ..CaptureDesc::new(&pipeline) };
        gpu.submit(|_, cmd| {
            let draw = Draw { first_vertex: 5, ..Draw::new(VERTICES) };
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                recorder.draw(PrimitiveTopology::PointList, &draw)?;
                recorder.end(&[Some(CounterBuffer::new(counters.raw()))])?;
            }
            Ok(())
        })
        .unwrap();
        Self { vertices, counters, commands }
    }

    fn draws(&self, counter_offset: u32) -> Vec<ByteCountDraw> {
        let draw = |(number, (_, vertex_stride, instances)): (u64, (u32, u32, [u32; 2]))| {
            let [instance_count, first_instance] = instances;
            let counter = CounterBuffer { buffer: self.counters.raw(), offset: 4 * number };
            ByteCountDraw { instance_count, first_instance, counter, counter_offset, vertex_stride }
        };
        (0..).zip(DRAWS).map(draw).collect()
    }

    /// Writes commands every `stride` bytes from byte 4 on, and reads them back.
    fn commands(
        &self,
        gpu: &mut TestDevice,
        draws: &[ByteCountDraw],
        stride: u32,
        when: When,
    ) -> Result<Vec<[u32; 4]>, GpuError> {
        gpu.write(&self.commands, 0, &vec![0xa5; self.commands.size() as usize])?;
        // Draws that are added later take memory for 16 draws, and for twice as many at a time.
        let mut arena = gpu.arena(ArenaDesc::new(1, 48));
        let kernels = gpu.kernels();
        let recorded = gpu.submit(|ctx, cmd| {
            let mut commands = DrawCommands { buffer: self.commands.raw(), offset: 4, stride };
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                match when {
                    When::Now => {
                        kernels.write_draw_commands(ctx, &mut *arena, cmd, draws, &commands)?;
                    }
                    When::Later => {
                        let mut late = kernels.write_draw_commands_later(ctx, &mut *arena, cmd)?;
                        for draw in draws {
                            late.push(ctx, &mut *arena, draw, &commands)?;
                            commands.offset += u64::from(stride);
                        }
                    }
                }
            }
            Ok(())
        });
        recorded?;
        let bytes: Vec<u8> = gpu.contents(&self.commands);
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let mut touched = vec![false; bytes.len() / 4];
        let command = |number: usize| {
            let start = 4 + number * stride as usize;
            touched[start / 4..][..4].fill(true);
            [0, 4, 8, 12].map(|at| word(start + at))
        };
        let commands = (0..draws.len()).map(command).collect();
        let untouched = (0..touched.len()).filter(|dword| !touched[*dword]);
        assert!(untouched.map(|dword| word(4 * dword)).all(|word| word == 0xa5a5_a5a5));
        Ok(commands)
    }

    /// Captures draws of the captured vertices.
    fn draw(
        &self,
        gpu: &mut TestDevice,
        pipeline: &Pipeline,
        record: impl FnOnce(&mut Recorder<'_>) -> Result<(), RuntimeError>,
    ) -> Vec<u8> {
        let usage = gpu.context().buffer_usages(Backend::Native).capture;
        let target = gpu.filled(usage, &[0xa5_u8; DRAWN as usize]);
        let mut arena = gpu.arena(ArenaDesc::new(1, 1));
        let mut capture = gpu.new_capture();
        let vertices = VertexBuffer::new(0, self.vertices.raw(), self.vertices.size());
        let buffers = [Some(CaptureBuffer::new(target.raw(), DRAWN))];
        let vertex_buffers = [vertices];
        let desc = CaptureDesc {
            buffers: &buffers,
            vertex_buffers: &vertex_buffers,
            ..CaptureDesc::new(pipeline)
        };
        let pass = (gpu.render_pass(), gpu.framebuffer());
        gpu.submit(|ctx, cmd| {
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                device::begin_render_pass(ctx, cmd, Backend::Native, pass);
                let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                record(&mut recorder)?;
                recorder.end(&[])?;
                device::end_render_pass(ctx, cmd, Backend::Native);
                ctx.capture_barrier(cmd, Backend::Native, ConsumerScope::TRANSFER);
            }
            Ok(())
        })
        .unwrap();
        gpu.contents(&target)
    }
}

/// Compares each draw by both commands, with every topology that the device can draw natively.
#[test]
fn what_was_captured_is_drawn_as_by_byte_count() {
    let mut gpu = device::open(Profile::Full);
    let captured = Captured::new(&mut gpu);
    for topology in PrimitiveTopology::ALL {
        let pipeline = echo_pipeline(&gpu, topology);
        let draws = captured.draws(0);
        captured.commands(&mut gpu, &draws, 20, When::Now).unwrap();
        for (offset, draw) in (4..).step_by(20).zip(&draws) {
            // SAFETY: as `draw` says.
            let expected = captured.draw(&mut gpu, &pipeline, |recorder| unsafe {
                recorder.draw_indirect_byte_count(topology, draw)
            });
            let buffer = captured.commands.raw();
            let draw = IndirectDraw { buffer, offset, draw_count: 1, stride: 0, count: None };
            // SAFETY: as above.
            let found = captured.draw(&mut gpu, &pipeline, |recorder| unsafe {
                recorder.draw_indirect(topology, &draw)
            });
            assert!(found == expected, "{topology}: {draw:?}");
            let is_drawn = found.iter().any(|byte| *byte != 0xa5);
            assert_eq!(is_drawn, expected.iter().any(|byte| *byte != 0xa5));
        }
        // The first draws the vertices that were captured.
        // SAFETY: as above.
        let found = captured.draw(&mut gpu, &pipeline, |recorder| unsafe {
            recorder.draw_indirect_byte_count(topology, &draws[0])
        });
        let first = u32::from_le_bytes(found[..4].try_into().unwrap());
        let vertex = topology.gather(ProvokingVertex::First, 0) as u32;
        assert_eq!(first, 5 + vertex, "{topology}");
    }
}

/// The commands correspond to the formula, both with addresses and with descriptors, with counter
/// offsets and strides of commands.
#[test]
fn commands_are_what_the_formula_says() {
    for resources in device::RESOURCES {
        let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        let captured = Captured::new(&mut gpu);
        for (counter_offset, stride) in [(0, 16), (16, 20), (104, 16), (u32::MAX - 3, 16)] {
            let draws = captured.draws(counter_offset);
            let found = captured.commands(&mut gpu, &draws, stride, When::Now).unwrap();
            let expected = DRAWS.map(|(counter, vertex_stride, [instances, first])| {
                [counter.saturating_sub(counter_offset) / vertex_stride, instances, 0, first]
            });
            assert_eq!(found, expected, "{resources:?} {counter_offset} {stride}");
        }
        assert_eq!(captured.commands(&mut gpu, &[], 0, When::Now).unwrap(), [[0; 4]; 0]);
        let one = captured.commands(&mut gpu, &captured.draws(0)[..1], 0, When::Now).unwrap();
        assert_eq!(one, [[VERTICES, 2, 0, 0]]);
    }
}

/// Adds so many draws that they are moved to more memory twice.
#[test]
fn draws_can_be_added_after_the_kernel() {
    let mut gpu = device::open(Profile::Full);
    let captured = Captured::new(&mut gpu);
    let draws: Vec<_> = captured.draws(4).into_iter().cycle().take(MANY).collect();
    for count in [0, 1, 16, 17, MANY] {
        let now = captured.commands(&mut gpu, &draws[..count], 16, When::Now).unwrap();
        let later = captured.commands(&mut gpu, &draws[..count], 16, When::Later).unwrap();
        assert_eq!(now, later, "{count}");
    }
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let mut gpu = device::open(Profile::Full);
    let captured = Captured::new(&mut gpu);
    let draws = captured.draws(0);
    let mut text_of = |draws: &[ByteCountDraw], stride, when| {
        captured.commands(&mut gpu, draws, stride, when).unwrap_err().to_string()
    };
    let mut text = |draws: &[ByteCountDraw], stride| text_of(draws, stride, When::Now);
    assert_eq!(text(&draws, 12), "the stride of draw commands is 12 bytes: each takes 16");
    assert_eq!(
        text(&draws, 18),
        "the stride of draw commands is 18 bytes: it must be a multiple of 4"
    );
    let wrong = [ByteCountDraw { vertex_stride: 0, ..draws[0] }];
    let vertex_stride = "vertexStride is 0: the counter is divided by it";
    assert_eq!(text(&wrong, 16), vertex_stride);
    assert_eq!(text_of(&wrong, 16, When::Later), vertex_stride);
    assert_eq!(
        text_of(&draws, 18, When::Later),
        "the offset of draw commands is 22 bytes: it must be a multiple of 4"
    );

    // Descriptors must be written before the draws are known.
    let resources = Resources::Descriptors;
    let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
    let captured = Captured::new(&mut gpu);
    let error = captured.commands(&mut gpu, &[], 16, When::Later).unwrap_err();
    assert_eq!(
        error.to_string(),
        "captures use descriptors: draws cannot be added later, because all buffers must be known when the kernel is \
         recorded"
    );

    // A device on which indirect draws do nothing, as on the floor by default.
    let mut gpu = device::open(Profile::Bifrost);
    let usage = gpu.context().buffer_usages(Backend::Compute).draw_commands;
    let buffer = gpu.buffer(16, usage);
    let mut arena = gpu.arena(ArenaDesc::new(1, 1));
    let kernels = gpu.kernels();
    gpu.submit(|ctx, cmd| {
        let commands = DrawCommands { buffer: buffer.raw(), offset: 0, stride: 16 };
        // SAFETY: nothing is recorded.
        let error = unsafe { kernels.write_draw_commands(ctx, &mut *arena, cmd, &[], &commands) };
        assert_eq!(
            error.unwrap_err().to_string(),
            "indirect draws do nothing on this device: read the counter back, and draw as many vertices as \
             (counter - counterOffset) / vertexStride"
        );
        let mut ctx = ctx.clone();
        let mut settings = ctx.settings();
        settings.indirect_draws = true;
        ctx.set_settings(settings);
        // SAFETY: there is nothing to draw.
        unsafe { kernels.write_draw_commands(&ctx, &mut *arena, cmd, &[], &commands) }?;
        Ok(())
    })
    .unwrap();
}
