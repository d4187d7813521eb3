//! Dynamic rendering that is suspended in one command buffer and resumed in others: captures and draws in its parts,
//! natively and with the Vulkan layer.

use ash::vk;

use super::program::Program;
use crate::common;
use crate::common::attachment::{self, Attachment, Drawing};
use crate::common::layer;

/// The parts of dynamic rendering in a command buffer.
type Parts = &'static [Part];

/// Captures the number of each vertex, and draws it in a row of [`VERTICES`] texels.
const VERTEX: &str = "#version 450
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = gl_VertexIndex;
        vec2 texel = vec2(gl_VertexIndex % 4, gl_VertexIndex / 4);
        gl_Position = vec4((texel + 0.5) * 2.0 / 16.0 - 1.0, 0.0, 1.0);
        gl_PointSize = 1.0;
    }";

const FRAGMENT: &str = "#version 450
    layout(location = 0) out uint colour;
    void main() { colour = 7; }";

const VERTICES: u32 = 4;
const UNTOUCHED: u32 = 0xa5a5_a5a5;

/// The side of the attachment, in texels. Each part draws in a row of its own.
const SIDE: u32 = 16;
const FORMAT: vk::Format = vk::Format::R32_UINT;

/// What the attachment is cleared to when the rendering begins.
const CLEAR: u32 = 3;

/// Records and executes command buffers. Returns the captured data, with room for [`VERTICES`] of each part, and the
/// texels of the attachment.
fn run(command_buffers: &[Parts]) -> (Vec<u32>, Vec<u32>) {
    let mut device = Program::open();
    let parts = command_buffers.concat().len();
    let (dwords, texels) = (parts * VERTICES as usize, (SIDE * SIDE) as usize);
    use vk::BufferUsageFlags as Usage;
    let (target, mapped) = device.buffer(dwords, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    let (copied, found) = device.buffer(texels, Usage::TRANSFER_DST);
    let raw = &device.raw;
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        let mapped = std::slice::from_raw_parts_mut(mapped, dwords);
        mapped.fill(UNTOUCHED);
        let image = Attachment::new(raw, FORMAT, SIDE);
        let layout = raw.create_pipeline_layout(&Default::default(), None).unwrap();
        let modules = [("vert", VERTEX), ("frag", FRAGMENT)].map(|(stage, source)| {
            attachment::shader_module(raw, &common::compile_stage(stage, source, &[]))
        });
        let flags = [vk::ShaderStageFlags::VERTEX, vk::ShaderStageFlags::FRAGMENT];
        let stages = [0, 1].map(|number| {
            let info = vk::PipelineShaderStageCreateInfo::default().name(c"main");
            info.stage(flags[number]).module(modules[number])
        });
        let blend = vk::PipelineColorBlendAttachmentState::default()
            .color_write_mask(vk::ColorComponentFlags::RGBA);
        let formats = [FORMAT];
        let rendering =
            vk::PipelineRenderingCreateInfo::default().color_attachment_formats(&formats);
        let points = vk::PrimitiveTopology::POINT_LIST;
        let (none, chain) = (vk::RenderPass::null(), (&raw const rendering).cast());
        let drawing = Drawing::new(SIDE, blend, 1);
        let pipeline = drawing.pipeline_with(raw, &stages, points, layout, none, chain);

        let info = vk::CommandPoolCreateInfo::default().queue_family_index(device.family);
        let pool = raw.create_command_pool(&info, None).unwrap();
        let allocate = |level, count| {
            let info = vk::CommandBufferAllocateInfo::default()
                .command_pool(pool)
                .level(level)
                .command_buffer_count(count);
            raw.allocate_command_buffers(&info).unwrap()
        };
        let secondaries = allocate(vk::CommandBufferLevel::SECONDARY, parts as u32);
        let handles = allocate(vk::CommandBufferLevel::PRIMARY, command_buffers.len() as u32 + 2);
        let (first, handles) = handles.split_first().unwrap();
        let (last, handles) = handles.split_last().unwrap();
        let scene = Scene { device: &device, pipeline, target, view: image.view };
        raw.begin_command_buffer(*first, &Default::default()).unwrap();
        let attachment = (
            vk::PipelineStageFlags::COLOR_ATTACHMENT_OUTPUT,
            vk::AccessFlags::COLOR_ATTACHMENT_READ | vk::AccessFlags::COLOR_ATTACHMENT_WRITE,
        );
        let nothing = (vk::PipelineStageFlags::TOP_OF_PIPE, vk::AccessFlags::empty());
        transition(raw, *first, image.image, nothing, attachment);
        raw.end_command_buffer(*first).unwrap();
        let mut number = 0;
        for (cmd, parts) in handles.iter().zip(command_buffers) {
            raw.begin_command_buffer(*cmd, &Default::default()).unwrap();
            for part in *parts {
                scene.record(*cmd, secondaries[number as usize], number, *part);
                number += 1;
            }
            raw.end_command_buffer(*cmd).unwrap();
        }
        raw.begin_command_buffer(*last, &Default::default()).unwrap();
        let copies = (vk::PipelineStageFlags::TRANSFER, vk::AccessFlags::TRANSFER_READ);
        transition(raw, *last, image.image, attachment, copies);
        image.copy(raw, *last, SIDE, (copied, 0));
        let barrier = vk::MemoryBarrier::default()
            .src_access_mask(
                vk::AccessFlags::TRANSFORM_FEEDBACK_WRITE_EXT | vk::AccessFlags::TRANSFER_WRITE,
            )
            .dst_access_mask(vk::AccessFlags::HOST_READ);
        raw.cmd_pipeline_barrier(
            *last,
            vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT | vk::PipelineStageFlags::TRANSFER,
            vk::PipelineStageFlags::HOST,
            vk::DependencyFlags::empty(),
            &[barrier],
            &[],
            &[],
        );
        raw.end_command_buffer(*last).unwrap();
        let all = [&[*first], handles, &[*last]].concat();
        let submit = vk::SubmitInfo::default().command_buffers(&all);
        raw.queue_submit(device.queue, &[submit], vk::Fence::null()).unwrap();
        raw.queue_wait_idle(device.queue).unwrap();
        let found = std::slice::from_raw_parts(found, texels).to_vec();
        let captured = mapped.to_vec();
        raw.destroy_command_pool(pool, None);
        raw.destroy_pipeline(pipeline, None);
        modules.into_iter().for_each(|module| raw.destroy_shader_module(module, None));
        raw.destroy_pipeline_layout(layout, None);
        image.destroy(raw);
        (captured, found)
    }
}

/// Makes an image that nobody has used into an attachment, or an attachment into the source of a copy.
///
/// # Safety
/// The command buffer is being recorded, outside of rendering.
unsafe fn transition(
    device: &ash::Device,
    cmd: vk::CommandBuffer,
    image: vk::Image,
    from: (vk::PipelineStageFlags, vk::AccessFlags),
    to: (vk::PipelineStageFlags, vk::AccessFlags),
) {
    let layout = |access: vk::AccessFlags| match access {
        vk::AccessFlags::TRANSFER_READ => vk::ImageLayout::TRANSFER_SRC_OPTIMAL,
        access if access.is_empty() => vk::ImageLayout::UNDEFINED,
        _ => vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL,
    };
    let range = vk::ImageSubresourceRange::default()
        .aspect_mask(vk::ImageAspectFlags::COLOR)
        .level_count(1)
        .layer_count(1);
    let barrier = vk::ImageMemoryBarrier::default()
        .image(image)
        .subresource_range(range)
        .src_access_mask(from.1)
        .dst_access_mask(to.1)
        .old_layout(layout(from.1))
        .new_layout(layout(to.1));
    let none = vk::DependencyFlags::empty();
    // SAFETY: the caller's contract.
    unsafe { device.cmd_pipeline_barrier(cmd, from.0, to.0, none, &[], &[], &[barrier]) };
}

struct Scene<'a> {
    device: &'a Program,
    pipeline: vk::Pipeline,
    target: vk::Buffer,
    view: vk::ImageView,
}

impl Scene<'_> {
    /// Records a part, whose commands may be in a secondary command buffer.
    ///
    /// # Safety
    /// The command buffer is being recorded, and nothing was recorded in the secondary one.
    unsafe fn record(
        &self,
        cmd: vk::CommandBuffer,
        secondary: vk::CommandBuffer,
        number: u32,
        part: Part,
    ) {
        let device = &self.device.raw;
        let flag = |is_set, flag| if is_set { flag } else { vk::RenderingFlags::empty() };
        let flags = flag(part.resumes, vk::RenderingFlags::RESUMING)
            | flag(part.suspends, vk::RenderingFlags::SUSPENDING);
        let contents = vk::RenderingFlags::CONTENTS_SECONDARY_COMMAND_BUFFERS;
        let color = vk::ClearColorValue { uint32: [CLEAR; 4] };
        let colors = [vk::RenderingAttachmentInfo::default()
            .image_view(self.view)
            .image_layout(vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE)
            .clear_value(vk::ClearValue { color })];
        let info = vk::RenderingInfo::default()
            .flags(flags | flag(part.is_secondary, contents))
            .render_area(attachment::area(SIDE))
            .layer_count(1)
            .color_attachments(&colors);
        // SAFETY: the caller's contract.
        unsafe {
            device.cmd_begin_rendering(cmd, &info);
            if part.is_secondary {
                let formats = [FORMAT];
                let mut rendering = vk::CommandBufferInheritanceRenderingInfo::default()
                    .flags(flags)
                    .color_attachment_formats(&formats)
                    .rasterization_samples(vk::SampleCountFlags::TYPE_1);
                let inherited =
                    vk::CommandBufferInheritanceInfo::default().push_next(&mut rendering);
                let info = vk::CommandBufferBeginInfo::default()
                    .flags(vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE)
                    .inheritance_info(&inherited);
                device.begin_command_buffer(secondary, &info).unwrap();
                self.draw(secondary, number, part);
                device.end_command_buffer(secondary).unwrap();
                device.cmd_execute_commands(cmd, &[secondary]);
            } else {
                self.draw(cmd, number, part);
            }
            device.cmd_end_rendering(cmd);
        }
    }

    /// # Safety
    /// The command buffer is being recorded, in rendering.
    unsafe fn draw(&self, cmd: vk::CommandBuffer, number: u32, part: Part) {
        if !part.captures {
            return;
        }
        let (device, functions) = (&self.device.raw, self.device.xfb());
        let (no_counters, no_offsets) = (std::ptr::null(), std::ptr::null());
        let size = u64::from(VERTICES) * 4;
        let offset = u64::from(number) * size;
        // SAFETY: the caller's contract.
        unsafe {
            device.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, self.pipeline);
            let bind = functions.cmd_bind_transform_feedback_buffers_ext;
            bind(cmd, 0, 1, &raw const self.target, &raw const offset, &raw const size);
            (functions.cmd_begin_transform_feedback_ext)(cmd, 0, 0, no_counters, no_offsets);
            device.cmd_draw(cmd, VERTICES, 1, number * VERTICES, 0);
            (functions.cmd_end_transform_feedback_ext)(cmd, 0, 0, no_counters, no_offsets);
        }
    }
}

/// A part of dynamic rendering.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    resumes: bool,
    captures: bool,
    suspends: bool,
    /// Whether its commands are in a secondary command buffer.
    is_secondary: bool,
}

/// Returns the part that letters describe: it (r)esumes, (c)aptures, (s)uspends, and is in a secondary command buffer (x).
const fn part(letters: &str) -> Part {
    let letters = letters.as_bytes();
    let mut part = Part { resumes: false, captures: false, suspends: false, is_secondary: false };
    let mut number = 0;
    while number < letters.len() {
        match letters[number] {
            b'r' => part.resumes = true,
            b'c' => part.captures = true,
            b's' => part.suspends = true,
            _ => part.is_secondary = true,
        }
        number += 1;
    }
    part
}

/// Command buffers with captures in various parts.
const SEQUENCES: [&[Parts]; 9] = [
    &[&[part("cs"), part("rcs"), part("rc")]],
    &[&[part("cs")], &[part("rc")]],
    &[&[part("cs"), part("rcs")], &[part("rcs"), part("rc")]],
    &[&[part("s"), part("rcs")], &[part("rcs"), part("r")]],
    &[&[part("cs")], &[part("rs")], &[part("rc")]],
    &[&[part("cs")], &[part("rs"), part("rs")], &[part("rcs"), part("rc")]],
    // A part that captures is between others, and alone in its command buffer.
    &[&[part("cs")], &[part("rcs")], &[part("r")]],
    &[&[part("cs")], &[part("rcs")], &[part("rcs")], &[part("rc")]],
    &[&[part("csx")], &[part("rcsx"), part("rcs")], &[part("rcx")]],
];

#[test]
fn parts_capture_wherever_they_are() {
    for command_buffers in SEQUENCES {
        let (captured, texels) = run(command_buffers);
        for (number, part) in (0..).zip(command_buffers.concat()) {
            for vertex in 0..VERTICES {
                let of_vertex = number * VERTICES + vertex;
                let expected = if part.captures { of_vertex } else { UNTOUCHED };
                assert_eq!(captured[of_vertex as usize], expected, "{command_buffers:?}");
                // The rendering was cleared once, and what all parts have drawn is there.
                let texel = texels[(number * SIDE + vertex) as usize];
                assert_eq!(texel, if part.captures { 7 } else { CLEAR }, "{command_buffers:?}");
            }
        }
    }
}

#[test]
fn parts_capture_wherever_they_are_on_the_layer() {
    for run in [layer::run_on_it, layer::run_below_validation] {
        run(parts_capture_wherever_they_are, &[]);
    }
}
