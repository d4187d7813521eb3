//! Draws that the device generates (`VK_EXT_device_generated_commands`) beside captures in a pass,
//! natively and on the Vulkan layer. They are preprocessed with the state that a command buffer has
//! at that time.

use std::ffi::c_void;

use ash::vk;

use super::program::Program;
use crate::common;
use crate::common::attachment::{self, Attachment, Drawing, Pass};
use crate::common::{discard, layer};

/// Draws a vertex as a point in its column, in the row of its instance.
const DRAWS: &str = "#version 450
    void main() {
        gl_Position = vec4((vec2(gl_VertexIndex, gl_InstanceIndex) + 0.5) * 2.0 / 8.0 - 1.0, 0.0, 1.0);
        gl_PointSize = 1.0;
    }";

const COLOUR: &str = "#version 450
    layout(location = 0) out uvec4 colour;
    void main() {
        colour = uvec4(7);
    }";

const SIDE: u32 = 8;
const TEXELS: usize = (SIDE * SIDE) as usize;

/// The features of `VK_KHR_maintenance5` and of the extension.
#[repr(C)]
struct Features {
    s_type: vk::StructureType,
    p_next: *mut c_void,
    enabled: [u32; 2],
}

#[repr(C)]
struct Token {
    s_type: vk::StructureType,
    p_next: *const c_void,
    ty: i32,
    data: *const c_void,
    offset: u32,
}

#[repr(C)]
struct LayoutInfo {
    s_type: vk::StructureType,
    p_next: *const c_void,
    flags: u32,
    stages: vk::ShaderStageFlags,
    stride: u32,
    pipeline_layout: vk::PipelineLayout,
    token_count: u32,
    tokens: *const Token,
}

#[repr(C)]
struct PipelineInfo {
    s_type: vk::StructureType,
    p_next: *const c_void,
    pipeline: vk::Pipeline,
}

#[repr(C)]
struct RequirementsInfo {
    s_type: vk::StructureType,
    p_next: *const c_void,
    execution_set: u64,
    layout: u64,
    max_sequences: u32,
    max_draws: u32,
}

#[repr(C)]
struct Generated {
    s_type: vk::StructureType,
    p_next: *const c_void,
    stages: vk::ShaderStageFlags,
    execution_set: u64,
    layout: u64,
    address: vk::DeviceAddress,
    size: u64,
    preprocess_address: vk::DeviceAddress,
    preprocess_size: u64,
    max_sequences: u32,
    count_address: vk::DeviceAddress,
    max_draws: u32,
}

type CreateLayout =
    unsafe extern "system" fn(vk::Device, *const LayoutInfo, *const c_void, *mut u64) -> vk::Result;
type DestroyLayout = unsafe extern "system" fn(vk::Device, u64, *const c_void);
type GetRequirements = unsafe extern "system" fn(
    vk::Device,
    *const RequirementsInfo,
    *mut vk::MemoryRequirements2<'_>,
);
type Preprocess = unsafe extern "system" fn(vk::CommandBuffer, *const Generated, vk::CommandBuffer);
type Execute = unsafe extern "system" fn(vk::CommandBuffer, vk::Bool32, *const Generated);

const fn s_type(offset: i32) -> vk::StructureType {
    vk::StructureType::from_raw(1_000_572_000 + offset)
}

const TOKEN_DRAW: i32 = 6;
const EXPLICIT_PREPROCESS: u32 = 1;
const PREPROCESS_BUFFER: vk::BufferUsageFlags2KHR = vk::BufferUsageFlags2KHR::from_raw(1 << 31);
const INDIRECT_BINDABLE: vk::PipelineCreateFlags2KHR =
    vk::PipelineCreateFlags2KHR::from_raw(1 << 38);

/// Captures 5 vertices in a pass, and has the device draw two rows in it.
fn run(is_preprocessed: bool) {
    let mut five = Features {
        s_type: vk::StructureType::PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR,
        p_next: std::ptr::null_mut(),
        enabled: [1, 0],
    };
    let mut generated =
        Features { s_type: s_type(0), p_next: (&raw mut five).cast(), enabled: [1, 0] };
    let extensions = [c"VK_KHR_maintenance5", c"VK_EXT_device_generated_commands"];
    let chain = (&raw mut generated).cast();
    let Some(mut device) = Program::newer(&extensions, chain) else { return };
    use vk::BufferUsageFlags as Usage;
    let (target, captured) = device.buffer(5, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    let (texels, found) = device.buffer(4 * TEXELS, Usage::TRANSFER_DST);
    // Where the layer looks whether passes have to be withheld.
    let indirect = vk::BufferUsageFlags2KHR::INDIRECT_BUFFER;
    let (_, draws, address) = device.buffer_with_address(8, indirect);
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        // Vertices, instances, the first vertex, the first instance.
        draws.cast::<[u32; 8]>().write([SIDE, 1, 0, 2, 3, 1, 4, 5]);
        let format = vk::Format::R32G32B32A32_UINT;
        let raw = &device.raw;
        let image = Attachment::new(raw, format, SIDE);
        let pass = Pass::clearing(raw, format, SIDE, &[image.view]);
        let layout = raw.create_pipeline_layout(&Default::default(), None).unwrap();
        let captures = discard::pipeline(raw, layout, &common::compile(common::CAPTURES, &[]));
        let words = [common::compile(DRAWS, &[]), common::compile_stage("frag", COLOUR, &[])];
        let flags = [vk::ShaderStageFlags::VERTEX, vk::ShaderStageFlags::FRAGMENT];
        let shaders = [(flags[0], &*words[0]), (flags[1], &*words[1])];
        let blend = vk::PipelineColorBlendAttachmentState::default()
            .color_write_mask(vk::ColorComponentFlags::RGBA);
        let points = vk::PrimitiveTopology::POINT_LIST;
        let drawing = Drawing::new(SIDE, blend, 1);
        let mut bindable =
            vk::PipelineCreateFlags2CreateInfoKHR::default().flags(INDIRECT_BINDABLE);
        let drawn = attachment::with_stages(raw, &shaders, |stages| {
            drawing.pipeline(raw, stages, points, layout, pass.raw, (&raw mut bindable).cast())
        });

        let token = Token {
            s_type: s_type(7),
            p_next: std::ptr::null(),
            ty: TOKEN_DRAW,
            data: std::ptr::null(),
            offset: 0,
        };
        let info = LayoutInfo {
            s_type: s_type(6),
            p_next: std::ptr::null(),
            flags: if is_preprocessed { EXPLICIT_PREPROCESS } else { 0 },
            stages: flags[0] | flags[1],
            stride: 16,
            pipeline_layout: vk::PipelineLayout::null(),
            token_count: 1,
            tokens: &raw const token,
        };
        let create: CreateLayout = device.command(c"vkCreateIndirectCommandsLayoutEXT");
        let destroy: DestroyLayout = device.command(c"vkDestroyIndirectCommandsLayoutEXT");
        let requirements: GetRequirements =
            device.command(c"vkGetGeneratedCommandsMemoryRequirementsEXT");
        let preprocess: Preprocess = device.command(c"vkCmdPreprocessGeneratedCommandsEXT");
        let execute: Execute = device.command(c"vkCmdExecuteGeneratedCommandsEXT");
        let mut commands = 0;
        let made = create(raw.handle(), &raw const info, std::ptr::null(), &raw mut commands);
        assert_eq!(made, vk::Result::SUCCESS);
        let of = PipelineInfo { s_type: s_type(13), p_next: std::ptr::null(), pipeline: drawn };
        let of: *const c_void = (&raw const of).cast();
        let info = RequirementsInfo {
            s_type: s_type(2),
            p_next: of,
            execution_set: 0,
            layout: commands,
            max_sequences: 2,
            max_draws: 0,
        };
        let mut needs = vk::MemoryRequirements2::default();
        requirements(raw.handle(), &raw const info, &raw mut needs);
        let size = needs.memory_requirements.size;
        let room = (size / 4).max(1) as usize;
        let (_, _, room) = device.buffer_with_address(room, PREPROCESS_BUFFER);
        let (raw, functions) = (&device.raw, device.xfb());
        let generated = Generated {
            s_type: s_type(4),
            p_next: of,
            stages: flags[0] | flags[1],
            execution_set: 0,
            layout: commands,
            address,
            size: 32,
            preprocess_address: room,
            preprocess_size: size,
            max_sequences: 2,
            count_address: 0,
            max_draws: 0,
        };
        let writes = (
            vk::PipelineStageFlags::TRANSFER | vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT,
            vk::AccessFlags::TRANSFER_WRITE | vk::AccessFlags::TRANSFORM_FEEDBACK_WRITE_EXT,
        );
        device.submit(writes, |cmd| {
            let graphics = vk::PipelineBindPoint::GRAPHICS;
            raw.cmd_bind_pipeline(cmd, graphics, drawn);
            if is_preprocessed {
                preprocess(cmd, &raw const generated, cmd);
                use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
                let from = (Stage::COMMAND_PREPROCESS_NV, Access::COMMAND_PREPROCESS_WRITE_NV);
                device.barrier(cmd, from, (Stage::DRAW_INDIRECT, Access::INDIRECT_COMMAND_READ));
            }
            functions.bind_target(cmd, target, 0, 20);
            let clears = [vk::ClearValue::default()];
            // A pass of its own for the capture, whose pipeline is for dynamic rendering.
            attachment::begin_rendering(raw, cmd);
            raw.cmd_bind_pipeline(cmd, graphics, captures);
            functions.begin(cmd);
            raw.cmd_draw(cmd, 5, 1, 0, 0);
            functions.end(cmd);
            raw.cmd_end_rendering(cmd);
            pass.instance(raw, cmd, &clears, drawn, || {
                execute(cmd, is_preprocessed.into(), &raw const generated);
            });
            image.copy(raw, cmd, SIDE, (texels, 0));
        });
        assert_eq!(captured.cast::<[u32; 5]>().read(), [0, 1, 2, 3, 4]);
        let found = std::slice::from_raw_parts(found.cast::<[u32; 4]>(), TEXELS);
        for (texel, [colour, ..]) in (0_u32..).zip(found) {
            let (row, column) = (texel / SIDE, texel % SIDE);
            let is_drawn = row == 2 || row == 5 && (4..7).contains(&column);
            assert_eq!(*colour, if is_drawn { 7 } else { 0 }, "row {row}, column {column}");
        }
        destroy(raw.handle(), commands, std::ptr::null());
        [captures, drawn].into_iter().for_each(|pipeline| raw.destroy_pipeline(pipeline, None));
        raw.destroy_pipeline_layout(layout, None);
        pass.destroy(raw);
        image.destroy(raw);
    }
}

#[test]
fn generated_draws_stand_beside_captures() {
    for is_preprocessed in [false, true] {
        run(is_preprocessed);
    }
}

#[test]
fn generated_draws_stand_beside_captures_on_the_layer() {
    layer::run_on_it(generated_draws_stand_beside_captures, &[]);
}
