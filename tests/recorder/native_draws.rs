//! Native captures of indirect and byte-count draws by the recorder: the features and limits that
//! the device must have been created with. (Tests in tests/draws check what they capture.)

use ash::vk;
use vkxfb::capture::{BuiltIn, CaptureEntry, CaptureList, Selector};
use vkxfb::frontend::wgsl::vertex_shader;
use vkxfb::lower::{Backend, Lowered, Shader, native};
use vkxfb::runtime::{
    ArenaDesc, Buffer, ByteCountDraw, Capabilities, Capture, CaptureBuffer, CaptureDesc,
    ConsumerScope, Context, CounterBuffer, IndirectDraw, Pipeline, PipelineDesc, Recorder,
    RequiredFeatures, RuntimeError,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::VertexInput;
use vkxfb_probe::gpu::Profile;
use vkxfb_probe::shaders::ProbeShader;

use crate::common::device::{self, PipelineOptions};
use crate::common::skip::{Why, skip};
use crate::common::test_device::{Owned, TestDevice};

const NATIVE: Backend = Backend::Native;
const POINTS: PrimitiveTopology = PrimitiveTopology::PointList;
/// The size of a record in bytes.
const STRIDE: usize = 16;

/// Indirect commands, followed by the number of draws and a counter.
const ARGUMENTS: [u32; 14] = [1, 1, 10, 0, 2, 1, 20, 0, 3, 1, 30, 0, 2, 4 * 7];
const COUNT_AT: u64 = 48;
const COUNTER_AT: u64 = 52;

/// A shader, a buffer to capture to, and [`ARGUMENTS`].
struct NativeCaptures {
    shader: ProbeShader,
    lowered: Lowered,
    target: Owned<Buffer>,
    arguments: Owned<Buffer>,
    gpu: TestDevice,
}

fn indirect(buffer: vk::Buffer, draw_count: u32, stride: u32, is_counted: bool) -> IndirectDraw {
    let count = is_counted.then_some((buffer, COUNT_AT));
    IndirectDraw { buffer, offset: 0, draw_count, stride, count }
}

fn byte_count(buffer: vk::Buffer, vertex_stride: u32) -> ByteCountDraw {
    ByteCountDraw {
        instance_count: 1,
        first_instance: 0,
        counter: CounterBuffer { buffer, offset: COUNTER_AT },
        counter_offset: 0,
        vertex_stride,
    }
}

impl NativeCaptures {
    fn new() -> Option<Self> {
        let mut gpu = device::open(Profile::Full);
        if !gpu.backends().contains(&NATIVE) {
            skip(Why::Expected("the device has no transform feedback"));
            return None;
        }
        let shader = ProbeShader::identify();
        let lowered = device::lower(&gpu, &shader, NATIVE);
        let ctx = gpu.context().clone();
        let target = gpu.buffer(64 * STRIDE as u64, ctx.buffer_usages(NATIVE).capture);
        let usage = ctx.buffer_usages(NATIVE).indirect | ctx.buffer_usages(NATIVE).counter;
        let arguments = gpu.filled(usage, &ARGUMENTS);
        Some(Self { shader, lowered, target, arguments, gpu })
    }

    /// Records with a context of a device that supports less, or was created with less. Returns the
    /// result of the recorder, and the captured vertices.
    fn capture(
        &mut self,
        restrict: impl FnOnce(&mut Capabilities, &mut RequiredFeatures),
        record: impl FnOnce(&mut Recorder<'_>, vk::Buffer) -> Result<(), RuntimeError>,
    ) -> (Result<(), String>, Vec<u32>) {
        let ctx = self.gpu.context();
        let (mut caps, mut enabled) = (ctx.capabilities().clone(), ctx.enabled().clone());
        restrict(&mut caps, &mut enabled);
        let (instance, device) = (self.gpu.instance(), ctx.device());
        // SAFETY: the device has that and more.
        let ctx = unsafe { Context::new(instance, device, caps, enabled) }.unwrap();
        let size = self.target.size();
        self.gpu.write(&self.target, 0, &vec![0xff; size as usize]).unwrap();
        let mut arena = self.gpu.arena(ArenaDesc::new(1, 1));
        let kernels = self.gpu.kernels();
        let pass = (self.gpu.render_pass(), self.gpu.framebuffer());
        let provoking = ProvokingVertex::First;
        let options = PipelineOptions { topology: POINTS, provoking, specialize: true };
        let pipeline = device::pipeline_of(&ctx, pass.0, &self.shader, &self.lowered, options);
        let buffers = [Some(CaptureBuffer::new(self.target.raw(), size))];
        let desc = CaptureDesc { buffers: &buffers, ..CaptureDesc::new(&pipeline) };
        let arguments = self.arguments.raw();
        let said = self.gpu.submit(|_, cmd| {
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                device::begin_render_pass(&ctx, cmd, NATIVE, pass);
                let mut capture = Capture::new(&ctx, &kernels);
                let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                let said = record(&mut recorder, arguments).map_err(|error| error.to_string());
                recorder.end(&[])?;
                device::end_render_pass(&ctx, cmd, NATIVE);
                ctx.capture_barrier(cmd, NATIVE, ConsumerScope::TRANSFER);
                Ok(said)
            }
        });
        let said = said.unwrap();
        // SAFETY: the submission was waited for.
        unsafe { ctx.destroy(pipeline, &mut ()) };
        let records: Vec<[u32; STRIDE / 4]> = self.gpu.contents(&self.target);
        let vertices = records.iter().map(|record| record[0]);
        (said, vertices.take_while(|vertex| *vertex != u32::MAX).collect())
    }
}

/// A draw that needs a feature that the device was not created with is refused with an error,
/// whether or not the feature's commands can be called, and the capture continues.
#[test]
fn features_of_indirect_draws_count_as_they_are_enabled() {
    let Some(mut native) = NativeCaptures::new() else { return };
    let one = [10];
    // SAFETY: as `capture` says; the arguments lie in their buffer.
    let first = |recorder: &mut Recorder<'_>, arguments| unsafe {
        recorder.draw_indirect(POINTS, &indirect(arguments, 1, 0, false))
    };
    let (said, found) = native.capture(
        |_, enabled| enabled.multi_draw_indirect = false,
        |recorder, arguments| {
            first(recorder, arguments)?;
            // SAFETY: as above.
            unsafe { recorder.draw_indirect(POINTS, &indirect(arguments, 3, 16, false)) }
        },
    );
    let expected = "a native indirect draw of 3 draws needs the feature multiDrawIndirect, which the device was \
                    created without";
    assert_eq!((said, &found[..]), (Err(expected.to_owned()), &one[..]));

    let (said, found) = native.capture(
        |_, enabled| enabled.draw_indirect_count = false,
        |recorder, arguments| {
            first(recorder, arguments)?;
            // SAFETY: as above.
            unsafe { recorder.draw_indirect(POINTS, &indirect(arguments, 3, 16, true)) }
        },
    );
    let expected = "a native indirect draw with a count needs the feature drawIndirectCount, which the device was \
                    created without";
    assert_eq!((said, &found[..]), (Err(expected.to_owned()), &one[..]));

    let (said, found) = native.capture(
        |caps, _| caps.transform_feedback.as_mut().unwrap().draw = false,
        |recorder, arguments| {
            first(recorder, arguments)?;
            // SAFETY: as above.
            unsafe { recorder.draw_indirect_byte_count(POINTS, &byte_count(arguments, 4)) }
        },
    );
    let expected =
        "a native byte-count draw needs transformFeedbackDraw, which the device does not have";
    assert_eq!((said, &found[..]), (Err(expected.to_owned()), &one[..]));
}

/// Errors name the limits of the native commands, and strides that Vulkan does not allow.
#[test]
fn limits_of_indirect_draws_are_named() {
    let Some(mut native) = NativeCaptures::new() else { return };
    if !native.gpu.context().enabled().multi_draw_indirect {
        return;
    }
    let (said, _) = native.capture(
        |caps, _| caps.limits.max_draw_indirect_count = 2,
        // SAFETY: as `capture` says; the arguments lie in their buffer.
        |recorder, arguments| unsafe {
            recorder.draw_indirect(POINTS, &indirect(arguments, 3, 16, false))
        },
    );
    let expected = "the number of draws of an indirect draw is 3: maxDrawIndirectCount is 2";
    assert_eq!(said, Err(expected.to_owned()));
    let (said, _) = native.capture(
        |caps, _| caps.transform_feedback.as_mut().unwrap().max_buffer_data_stride = 512,
        // SAFETY: as above.
        |recorder, arguments| unsafe {
            recorder.draw_indirect_byte_count(POINTS, &byte_count(arguments, 516))
        },
    );
    let expected = "vertexStride is 516: maxTransformFeedbackBufferDataStride is 512";
    assert_eq!(said, Err(expected.to_owned()));
    let (said, _) = native.capture(
        |_, _| {},
        // SAFETY: as above.
        |recorder, arguments| unsafe {
            recorder.draw_indirect(POINTS, &indirect(arguments, 2, 12, false))
        },
    );
    let expected = "the stride of indirect arguments is 12 bytes: each takes 16";
    assert_eq!(said, Err(expected.to_owned()));
}

/// The stride is ignored if there are fewer than two draws. Vulkan's command with a count does not
/// ignore it.
#[test]
fn strides_of_one_draw_are_ignored() {
    let Some(mut native) = NativeCaptures::new() else { return };
    if native.gpu.context().enabled().draw_indirect_count {
        let (said, found) = native.capture(
            |_, _| {},
            // SAFETY: as `capture` says; the arguments lie in their buffer.
            |recorder, arguments| unsafe {
                recorder.draw_indirect(POINTS, &indirect(arguments, 1, 0, true))
            },
        );
        assert_eq!((said, &found[..]), (Ok(()), &[10][..]));
    }
}

/// The scopes include all accesses of native captures to their buffers and counters, and nothing
/// that devices for the other backends may lack.
#[test]
fn scopes_have_the_accesses_of_counters() {
    use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
    let (stages, access) = Context::write_scope(NATIVE);
    assert_eq!(stages, Stage::TRANSFORM_FEEDBACK_EXT);
    assert!(access.contains(Access::TRANSFORM_FEEDBACK_WRITE_EXT));
    assert!(access.contains(Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT));
    let (stages, access) = Context::argument_scope(NATIVE);
    // Of a capture that resumes, and of a byte-count draw.
    assert!(stages.contains(Stage::TRANSFORM_FEEDBACK_EXT | Stage::DRAW_INDIRECT));
    assert!(access.contains(Access::TRANSFORM_FEEDBACK_COUNTER_READ_EXT));
    assert!(access.contains(Access::INDIRECT_COMMAND_READ | Access::INDEX_READ));
    for backend in [Backend::Vertex, Backend::Compute] {
        for (stages, _) in [Context::write_scope(backend), Context::argument_scope(backend)] {
            assert!(!stages.intersects(Stage::TRANSFORM_FEEDBACK_EXT), "{backend}");
        }
    }
}

/// The data of a vertex in a capture buffer counts from the start of the record, so bytes that no output fills are counted,
/// and the data of a stream is the sum over its buffers.
#[test]
fn unfilled_bytes_count_against_the_limits_of_data() {
    let Some(native) = NativeCaptures::new() else { return };
    let position = Selector::BuiltIn { built_in: BuiltIn::Position, component: 0, components: 4 };
    let captures =
        vec![CaptureEntry::new(position.clone(), 0, 64), CaptureEntry::new(position, 1, 16)];
    let list = CaptureList::default().captures(captures).strides([Some(80), Some(32), None, None]);
    let words =
        vertex_shader("@vertex fn main() -> @builtin(position) vec4f { return vec4f(); }", None);
    let lowered = native::lower(&Shader::new(&words.unwrap()).captures(&list)).unwrap();
    let no_attributes = VertexInput::default();
    let create = |buffer_size, stream_size| {
        let ctx = native.gpu.context();
        let mut caps = ctx.capabilities().clone();
        let limits = caps.transform_feedback.as_mut().unwrap();
        (limits.max_buffer_data_size, limits.max_stream_data_size) = (buffer_size, stream_size);
        // SAFETY: the device has that and more.
        let ctx = unsafe {
            Context::new(native.gpu.instance(), ctx.device(), caps, ctx.enabled().clone())
        }
        .unwrap();
        let desc = PipelineDesc {
            topology: Some(PrimitiveTopology::TriangleList.into()),
            vertex_input: Some(&no_attributes),
            render_pass: native.gpu.render_pass(),
            ..PipelineDesc::new(&lowered)
        };
        // SAFETY: the context is of a live device, and nothing uses the pipeline.
        let created =
            unsafe { Pipeline::new(&ctx, &desc).map(|pipeline| ctx.destroy(pipeline, &mut ())) };
        created.map_err(|error| error.to_string())
    };
    assert_eq!(
        [create(79, 112), create(80, 111), create(80, 112)],
        [
            Err("the data of a vertex in capture buffer 0 in bytes is 80: maxTransformFeedbackBufferDataSize is 79".to_owned()),
            Err("the captured data of a vertex of stream 0 in bytes is 112: maxTransformFeedbackStreamDataSize is 111".to_owned()),
            Ok(()),
        ]
    );
}
