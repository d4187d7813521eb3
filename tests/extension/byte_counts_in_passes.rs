//! Byte-count draws of captured vertices, in short and in long passes, natively and with the Vulkan
//! layer. The layer withholds a pass in which such draws may come, or only its beginning if the
//! pass is long.

use ash::vk;

use super::program::{self, Program};
use crate::common;
use crate::common::attachment::{self, Attachment, Drawing, Pass};
use crate::common::native::WRITES;
use crate::common::{discard, layer};

/// Draws each vertex as a point in the row that a push constant and the first instance select.
const DRAWS: &str = "#version 450
    layout(push_constant) uniform Constants { uint row; };
    void main() {
        gl_Position = vec4((vec2(gl_VertexIndex, row + gl_InstanceIndex) + 0.5) * 2.0 / 24.0 - 1.0, 0.0, 1.0);
        gl_PointSize = 1.0;
    }";

const COLOUR: &str = "#version 450
    layout(location = 0) out uvec4 colour;
    void main() {
        colour = uvec4(7);
    }";

/// The number of rows and columns of the attachment. Each row is drawn by a separate draw. There
/// are more draws than the layer initially has room for.
const SIDE: u32 = 24;
const TEXELS: usize = (SIDE * SIDE) as usize;

/// The number of vertices that are captured for a row.
const fn vertices(row: u32) -> u32 {
    row * 7 % SIDE
}

/// Captures vertices for each row, and then draws them in a pass, after `commands` draws that draw
/// nothing. Returns the first component of the texels.
fn run(commands: u32) -> Vec<u32> {
    let mut device = Program::open();
    use vk::BufferUsageFlags as Usage;
    let (target, _) = device.buffer(SIDE as usize, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    let usage = Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT | Usage::INDIRECT_BUFFER;
    let (counters, _) = device.buffer(SIDE as usize, usage);
    let (texels, found) = device.buffer(4 * TEXELS, Usage::TRANSFER_DST);
    let (raw, functions) = (&device.raw, device.xfb());
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        let format = vk::Format::R32G32B32A32_UINT;
        let image = Attachment::new(raw, format, SIDE);
        let pass = Pass::clearing(raw, format, SIDE, &[image.view]);
        let ranges =
            [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::VERTEX).size(4)];
        let info = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&ranges);
        let layout = raw.create_pipeline_layout(&info, None).unwrap();
        let captures = discard::pipeline(raw, layout, &common::compile(common::CAPTURES, &[]));
        let words = [common::compile(DRAWS, &[]), common::compile_stage("frag", COLOUR, &[])];
        let flags = [vk::ShaderStageFlags::VERTEX, vk::ShaderStageFlags::FRAGMENT];
        let shaders = [(flags[0], &*words[0]), (flags[1], &*words[1])];
        let blend = vk::PipelineColorBlendAttachmentState::default()
            .color_write_mask(vk::ColorComponentFlags::RGBA);
        let points = vk::PrimitiveTopology::POINT_LIST;
        let drawing = Drawing::new(SIDE, blend, 1);
        let draws = attachment::with_stages(raw, &shaders, |stages| {
            drawing.pipeline(raw, stages, points, layout, pass.raw, std::ptr::null())
        });
        let writes = (vk::PipelineStageFlags::TRANSFER, vk::AccessFlags::TRANSFER_WRITE);
        device.submit(writes, |cmd| {
            let graphics = vk::PipelineBindPoint::GRAPHICS;
            raw.cmd_bind_pipeline(cmd, graphics, captures);
            functions.bind_target(cmd, target, 0, u64::from(4 * SIDE));
            attachment::begin_rendering(raw, cmd);
            for row in 0..SIDE {
                let at = u64::from(4 * row);
                functions.begin(cmd);
                raw.cmd_draw(cmd, vertices(row), 1, 0, 0);
                (functions.cmd_end_transform_feedback_ext)(cmd, 0, 1, &counters, &at);
            }
            raw.cmd_end_rendering(cmd);
            use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
            device.barrier(cmd, WRITES, (Stage::DRAW_INDIRECT, Access::INDIRECT_COMMAND_READ));
            pass.instance(raw, cmd, &[vk::ClearValue::default()], draws, || {
                let push = |row: u32| {
                    let (stage, bytes) = (vk::ShaderStageFlags::VERTEX, row.to_ne_bytes());
                    raw.cmd_push_constants(cmd, layout, stage, 0, &bytes);
                };
                push(0);
                for _ in 0..commands {
                    raw.cmd_draw(cmd, 0, 1, 0, 0);
                }
                for row in 0..SIDE {
                    let instance = row % 3;
                    push(row - instance);
                    let draw = functions.cmd_draw_indirect_byte_count_ext;
                    draw(cmd, 1, instance, counters, u64::from(4 * row), 0, 4);
                }
            });
            image.copy(raw, cmd, SIDE, (texels, 0));
        });
        let found = std::slice::from_raw_parts(found.cast::<[u32; 4]>(), TEXELS);
        let found = found.iter().map(|texel| texel[0]).collect();
        [captures, draws].into_iter().for_each(|pipeline| raw.destroy_pipeline(pipeline, None));
        raw.destroy_pipeline_layout(layout, None);
        pass.destroy(raw);
        image.destroy(raw);
        found
    }
}

#[test]
fn what_was_captured_is_drawn() {
    if !program::has(&[]) {
        return;
    }
    for commands in [0, 255, 2000] {
        let found = run(commands);
        for (row, texels) in (0..).zip(found.chunks(SIDE as usize)) {
            let drawn = vertices(row) as usize;
            let expected = |column| if column < drawn { 7 } else { 0 };
            let expected: Vec<u32> = (0..texels.len()).map(expected).collect();
            assert_eq!(texels, expected, "row {row} after {commands} draws of nothing");
        }
    }
}

#[test]
fn what_was_captured_is_drawn_on_the_layer() {
    let test = what_was_captured_is_drawn;
    for run in [layer::run_on_it, layer::run_below_validation] {
        let variables = [("VKXFB_LOG", "vkxfb_layer=trace")];
        let Some(said) = run(test, &variables) else { return };
        let late = "its arguments are computed before the pass";
        // In both long passes, of the three that there are.
        assert_eq!(said.matches(late).count(), 2 * SIDE as usize, "{said}");
    }
}
