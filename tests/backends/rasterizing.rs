//! The vertex backend in an application's own pipeline: it must rasterize the same as before, and
//! capture the same as the driver.

use ash::vk;
use vkxfb::runtime::vulkan;
use vkxfb::runtime::{
    Arena, ArenaDesc, Buffer, Capture, CaptureBuffer, CaptureDesc, Context, Draw, Kernels,
    MemoryLocation, Pipeline, PipelineDesc, Recorder, RuntimeError,
};
use vkxfb_probe::gpu::{Gpu, GpuError, Profile};
use vkxfb_rewriter::lower::SysvalsPlace;
use vkxfb_rewriter::lower::{Backend, LowerError, Lowered, Shader, native, vertex};
use vkxfb_rewriter::topology::PrimitiveTopology;
use vkxfb_rewriter::vertex_input::VertexInput;

use crate::common;
use crate::common::attachment::{self, Attachment, Drawing, Pass};
use crate::common::device;
use crate::common::skip::{Why, skip};
use crate::common::test_device::Owned;
use crate::common::test_device::TestDevice;

/// The number of texels of the attachment in each direction.
const SIZE: u32 = 16;
const IMAGE_BYTES: u64 = (SIZE * SIZE * 4) as u64;
const CAPTURE_BYTES: u64 = 4096;
const FORMAT: vk::Format = vk::Format::R8G8B8A8_UNORM;
const VERTEX: vk::ShaderStageFlags = vk::ShaderStageFlags::VERTEX;
const FRAGMENT: vk::ShaderStageFlags = vk::ShaderStageFlags::FRAGMENT;

/// The push constants, which both stages read. The vertex stage captures some of them.
const BLOCK: &str = "layout(push_constant) uniform Push { vec4 scale; vec4 colour; } push;";
const PUSHED: u32 = 32;

/// [`CAPTURE_BYTES`] is not a multiple of the size of a primitive, so the last one does not fit.
const DRAWS: [(Draw, [f32; 8]); 3] = [
    (draw(5, 2, 1, 0), [0.9, 0.8, 0.0, 0.1, 1.0, 0.5, 0.25, 1.0]),
    (draw(7, 1, 2, 3), [-0.5, 0.6, 0.2, 0.0, 0.0, 1.0, 0.5, 0.5]),
    (draw(60, 1, 0, 1), [0.3, -0.9, 0.1, 0.3, 0.5, 0.0, 1.0, 0.75]),
];

const fn draw(vertex_count: u32, instance_count: u32, first_vertex: u32, first: u32) -> Draw {
    Draw { vertex_count, instance_count, first_vertex, first_instance: first }
}

fn shaders() -> [Vec<u32>; 2] {
    let vertex = format!(
        "#version 450
        {BLOCK}
        layout(xfb_buffer = 0, xfb_stride = 36) out;
        layout(location = 0, xfb_offset = 16) out vec4 shade;
        layout(location = 1, xfb_offset = 32) flat out uint id;
        out gl_PerVertex {{ layout(xfb_offset = 0) vec4 gl_Position; float gl_PointSize; }};
        void main() {{
            float angle = 2.4 * float(gl_VertexIndex) + float(gl_InstanceIndex);
            gl_PointSize = 1.0;
            gl_Position = vec4(vec2(cos(angle), sin(angle)) * push.scale.xy + push.scale.zw, 0.5, 1.0);
            shade = vec4(fract(angle), push.scale.x, 0.5, 1.0);
            id = gl_VertexIndex;
        }}"
    );
    let fragment = format!(
        "#version 450
        {BLOCK}
        layout(location = 0) in vec4 shade;
        layout(location = 1) flat in uint id;
        layout(location = 0) out vec4 colour;
        void main() {{ colour = shade * push.colour + float(id & 3u) / 16.0; }}"
    );
    [common::compile(&vertex, &[]), common::compile_stage("frag", &fragment, &[])]
}

/// An attachment, and the buffer that it is copied to.
struct Target {
    attachment: Attachment,
    pass: Pass,
    readback: Owned<Buffer>,
}

impl Target {
    fn new(gpu: &mut TestDevice) -> Self {
        let usage = vk::BufferUsageFlags::TRANSFER_DST;
        let readback = gpu.create_buffer(IMAGE_BYTES, usage, MemoryLocation::Readback).unwrap();
        let readback = gpu.own(readback, Gpu::destroy_buffer);
        let device = gpu.context().device();
        // SAFETY: the device is live, and everything is destroyed in `destroy`.
        unsafe {
            let attachment = Attachment::new(device, FORMAT, SIZE);
            let pass = Pass::clearing(device, FORMAT, SIZE, &[attachment.view]);
            Self { attachment, pass, readback }
        }
    }

    /// Returns the image that `draw` renders in a render pass instance.
    fn render(
        &self,
        gpu: &mut TestDevice,
        draw: impl FnOnce(&Context, vk::CommandBuffer) -> Result<(), RuntimeError>,
    ) -> Vec<u8> {
        gpu.submit(|ctx, cmd| {
            let device = ctx.device();
            let clears = [vk::ClearValue::default()];
            let begin = self.pass.begin_info(&clears);
            // SAFETY: all is of this device, and lives until the submission is done.
            unsafe {
                device.cmd_begin_render_pass(cmd, &begin, vk::SubpassContents::INLINE);
                let drawn = draw(ctx, cmd);
                device.cmd_end_render_pass(cmd);
                self.attachment.copy(device, cmd, SIZE, (self.readback.raw(), 0));
                drawn.map_err(GpuError::from)
            }
        })
        .unwrap();
        gpu.read(&self.readback, 0..IMAGE_BYTES).unwrap()
    }

    fn destroy(self, gpu: &mut TestDevice) {
        let device = gpu.context().device();
        // SAFETY: nothing is in flight.
        unsafe {
            self.pass.destroy(device);
            self.attachment.destroy(device);
        }
    }
}

/// Creates the application's pipeline of two stages. The first stage is specialised.
///
/// # Safety
/// The words are valid modules, whose push constants lie within `ranges`.
unsafe fn create_pipeline(
    ctx: &Context,
    words: [&[u32]; 2],
    constants: &vk::SpecializationInfo<'_>,
    ranges: &[vk::PushConstantRange],
    topology: PrimitiveTopology,
    render_pass: vk::RenderPass,
) -> (vk::Pipeline, vk::PipelineLayout) {
    let device = ctx.device();
    unsafe {
        let info = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(ranges);
        let layout = device.create_pipeline_layout(&info, None).unwrap();
        let modules = words.map(|words| attachment::shader_module(device, words));
        let stage = |stage, module| {
            let info = vk::PipelineShaderStageCreateInfo::default();
            info.stage(stage).module(module).name(c"main")
        };
        let stages =
            [stage(VERTEX, modules[0]).specialization_info(constants), stage(FRAGMENT, modules[1])];
        let blend = vk::PipelineColorBlendAttachmentState::default()
            .color_write_mask(vk::ColorComponentFlags::RGBA);
        let topology = vk::PrimitiveTopology::from(topology);
        let raw = Drawing::new(SIZE, blend, 1).pipeline(
            device,
            &stages,
            topology,
            layout,
            render_pass,
            std::ptr::null(),
        );
        modules.iter().for_each(|module| device.destroy_shader_module(*module, None));
        (raw, layout)
    }
}

fn description<'a>(
    shader: &'a Lowered,
    vertex_input: &'a VertexInput,
    topology: PrimitiveTopology,
    render_pass: vk::RenderPass,
) -> PipelineDesc<'a> {
    PipelineDesc {
        topology: Some(topology.into()),
        vertex_input: Some(vertex_input),
        render_pass,
        ..PipelineDesc::new(shader)
    }
}

/// Captures all draws with the recorder, each with its own push constants.
///
/// # Safety
/// As [`Recorder::begin`], and `fragments` is called with a command buffer that is being recorded.
unsafe fn capture(
    (ctx, cmd): (&Context, vk::CommandBuffer),
    pipeline: &Pipeline,
    topology: PrimitiveTopology,
    (arena, kernels): (&mut Arena, &Kernels),
    target: &Buffer,
    push_fragments: impl Fn(&[u8]),
) -> Result<(), RuntimeError> {
    let bound = CaptureBuffer::new(target.raw(), CAPTURE_BYTES - 60);
    let buffers = [Some(bound)];
    let desc = CaptureDesc { buffers: &buffers, ..CaptureDesc::new(pipeline) };
    // SAFETY: the caller's contract; what was recorded with the arena before is done.
    unsafe {
        arena.reset();
        let mut capture = Capture::new(ctx, kernels);
        let mut recorder = Recorder::begin(&mut capture, arena, cmd, &desc)?;
        for (draw, constants) in &DRAWS {
            let bytes: &[u8] = bytemuck::bytes_of(constants);
            push_fragments(bytes);
            recorder.push_constants(0, bytes)?;
            recorder.draw(topology, draw)?;
        }
        recorder.end(&[])?;
    }
    Ok(())
}

#[test]
fn an_own_pipeline_captures_and_rasterizes() {
    let mut gpu = device::open(Profile::Full);
    for backend in [Backend::Native, Backend::Vertex] {
        if !gpu.backends().contains(&backend) {
            return skip(Why::Expected(format!("the device has no {backend} backend")));
        }
    }
    let (words, vertex_input) = (shaders(), VertexInput::default());
    let [vertex_words, fragment_words] = &words;
    let screen = Target::new(&mut gpu);
    let usage = gpu.context().buffer_usages(Backend::Native).capture
        | gpu.context().buffer_usages(Backend::Vertex).capture;
    let target = gpu.buffer(CAPTURE_BYTES, usage);
    let kernels = gpu.kernels();
    let mut arena = gpu.arena(ArenaDesc::new(1, 3));

    let captured_natively = native::lower(&Shader::new(vertex_words)).unwrap();
    let max = gpu.capabilities().limits.max_push_constants;
    let ranges =
        [vk::PushConstantRange { stage_flags: VERTEX | FRAGMENT, offset: 0, size: PUSHED }];
    let places = [
        vulkan::sysvals_place(&ranges, max).unwrap(),
        SysvalsPlace::Memory { offset: PUSHED },
        SysvalsPlace::Memory { offset: max - 8 },
        SysvalsPlace::PushConstants { offset: PUSHED },
    ];
    let behind: Vec<Lowered> = places
        .into_iter()
        .filter(|place| place.offset() + place.size() <= max)
        .map(|place| vertex::lower_at(&Shader::new(vertex_words), place).unwrap())
        .collect();
    assert!(behind.len() >= 3);
    behind.iter().for_each(|lowered| common::validate(&lowered.words, "vulkan1.2"));
    let topologies = PrimitiveTopology::ALL.iter().filter(|topology| !topology.has_adjacency());
    for &topology in topologies {
        // The image without a capture, and the driver's capture.
        let none = vk::SpecializationInfo::default();
        let modules = [&**vertex_words, fragment_words];
        let ctx = gpu.context();
        // SAFETY: the modules have that block.
        let (raw, layout) =
            unsafe { create_pipeline(ctx, modules, &none, &ranges, topology, screen.pass.raw) };
        let expected_image = screen.render(&mut gpu, |ctx, cmd| {
            let device = ctx.device();
            // SAFETY: all is of this device, and lives until the submission is done.
            unsafe {
                device.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, raw);
                for (draw, constants) in &DRAWS {
                    let bytes: &[u8] = bytemuck::bytes_of(constants);
                    device.cmd_push_constants(cmd, layout, VERTEX | FRAGMENT, 0, bytes);
                    let Draw { vertex_count, instance_count, first_vertex, first_instance } = *draw;
                    device.cmd_draw(
                        cmd,
                        vertex_count,
                        instance_count,
                        first_vertex,
                        first_instance,
                    );
                }
            }
            Ok(())
        });
        destroy(&gpu, raw, layout);
        let desc = description(&captured_natively, &vertex_input, topology, gpu.render_pass());
        let oracle = gpu.pipeline(&desc);
        let handles = (gpu.render_pass(), gpu.framebuffer());
        gpu.write(&target, 0, &[0xa5; CAPTURE_BYTES as usize]).unwrap();
        gpu.submit(|ctx, cmd| {
            // SAFETY: all is of this device, and lives until the submission is done.
            unsafe {
                device::begin_render_pass(ctx, cmd, Backend::Native, handles);
                let at = (ctx, cmd);
                let recorded =
                    capture(at, &oracle, topology, (&mut *arena, &kernels), &target, |_| {});
                device::end_render_pass(ctx, cmd, Backend::Native);
                recorded.map_err(GpuError::from)
            }
        })
        .unwrap();
        let expected = gpu.read(&target, 0..CAPTURE_BYTES).unwrap();

        // Both in one pipeline, with the sysvals after the application's push constants.
        for lowered in &behind {
            let desc = description(lowered, &vertex_input, topology, vk::RenderPass::null());
            let own = desc.push_constant_range();
            let ranges = vulkan::push_constant_ranges(&ranges, own).unwrap();
            let specialization = desc.specialization(gpu.context());
            let modules = [&*lowered.words, fragment_words];
            let (ctx, constants) = (gpu.context(), specialization.info());
            // SAFETY: the modules have those blocks; the objects are made as `from_raw` asks for.
            let (raw, layout, own) = unsafe {
                let (raw, layout) =
                    create_pipeline(ctx, modules, &constants, &ranges, topology, screen.pass.raw);
                (raw, layout, Pipeline::from_raw(ctx, &desc, raw, layout).unwrap())
            };
            gpu.write(&target, 0, &[0xa5; CAPTURE_BYTES as usize]).unwrap();
            let image = screen.render(&mut gpu, |ctx, cmd| {
                // SAFETY: all is of this device, and lives until the submission is done.
                unsafe {
                    capture((ctx, cmd), &own, topology, (&mut *arena, &kernels), &target, |bytes| {
                        ctx.device().cmd_push_constants(cmd, layout, FRAGMENT, 0, bytes);
                    })
                }
            });
            let found = gpu.read(&target, 0..CAPTURE_BYTES).unwrap();
            assert!(expected.iter().any(|byte| *byte != 0xa5), "{topology}: nothing is captured");
            assert!(expected_image.iter().any(|byte| *byte != 0), "{topology}: nothing is drawn");
            assert!(found == expected, "{topology}, {:?}: captures differ", lowered.sysvals());
            assert!(image == expected_image, "{topology}, {:?}: images differ", lowered.sysvals());
            gpu.destroy_pipeline(own);
            // The application still owns the objects.
            destroy(&gpu, raw, layout);
        }
    }
    screen.destroy(&mut gpu);
}

fn destroy(gpu: &TestDevice, raw: vk::Pipeline, layout: vk::PipelineLayout) {
    let device = gpu.context().device();
    // SAFETY: nothing is in flight.
    unsafe {
        device.destroy_pipeline(raw, None);
        device.destroy_pipeline_layout(layout, None);
    }
}

#[test]
fn what_no_pipeline_has_is_refused() {
    let gpu = device::open(Profile::Full);
    let [words, _] = shaders();
    let shader = Shader::new(&words);
    for place in [
        SysvalsPlace::PushConstants { offset: 4 },
        SysvalsPlace::PushConstants { offset: 4096 - 120 },
        SysvalsPlace::Memory { offset: 4096 },
        SysvalsPlace::Memory { offset: u32::MAX - 7 },
    ] {
        let error = vertex::lower_at(&shader, place).unwrap_err();
        assert_eq!(error, LowerError::SysvalsOffset(place));
    }
    let vertex_input = VertexInput::default();
    let from_raw = |gpu: &TestDevice, lowered: &Lowered| {
        let list = PrimitiveTopology::TriangleList;
        let desc = description(lowered, &vertex_input, list, vk::RenderPass::null());
        let (raw, layout) = (vk::Pipeline::null(), vk::PipelineLayout::null());
        // SAFETY: it is refused before anything is recorded with it.
        unsafe { Pipeline::from_raw(gpu.context(), &desc, raw, layout) }.unwrap_err()
    };
    let last =
        vertex::lower_at(&shader, SysvalsPlace::PushConstants { offset: 4096 - 128 }).unwrap();
    common::validate(&last.words, "vulkan1.2");
    assert!(common::disassemble(&last.words).contains(" 0 Offset 3968"));
    if gpu.backends().contains(&Backend::Vertex) {
        let error = from_raw(&gpu, &last);
        assert!(matches!(error, RuntimeError::Limit { value: 4096, .. }), "{error}");
    }
    let error = from_raw(&gpu, &native::lower(&shader).unwrap());
    let backend = Backend::Native;
    assert!(
        matches!(error, RuntimeError::Unsupported { backend: b, .. } if b == backend),
        "{error}"
    );
}
