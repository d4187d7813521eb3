//! Attributes that are not aligned to their components (`VK_EXT_legacy_vertex_attributes`), and those of another numeric
//! type than the shader's input, which the extension allows, too: natively and on the Vulkan layer.

use std::ffi::{CStr, c_void};

use ash::{ext, vk};

use super::program::Program;
use crate::common::bare::BareInstance;
use crate::common::native::WRITES;
use crate::common::rng::Rng;
use crate::common::{self, attachment, discard, layer};

const LEGACY: &CStr = c"VK_EXT_legacy_vertex_attributes";

const POINTS: u32 = 6;

/// The dwords of a record: four of each input.
const RECORD: usize = 8;

/// The size of the vertex buffer, with room for every stride and offset.
const BYTES: usize = 1024;

/// `VkPhysicalDeviceLegacyVertexAttributesFeaturesEXT`, which ash does not have.
#[repr(C)]
struct Feature {
    s_type: vk::StructureType,
    p_next: *mut c_void,
    legacy_vertex_attributes: vk::Bool32,
}

/// The vertex input of a draw with two attributes.
#[derive(Debug, Clone, Copy)]
struct Draw {
    formats: [vk::Format; 2],
    offsets: [u32; 2],
    /// Where the buffer is bound.
    start: u64,
    stride: u32,
    /// Whether the stride is bound with the buffer.
    is_bound: bool,
}

/// Conversions of its formats, as of those of the others, are exact.
const ALIGNED: Draw = Draw {
    formats: [vk::Format::R32G32B32_SFLOAT, vk::Format::R8G8B8A8_USCALED],
    offsets: [0, 12],
    start: 0,
    stride: 16,
    is_bound: false,
};

/// Aligned draws and others alternate, so that each needs another variant than the one before.
const DRAWS: [Draw; 8] = [
    ALIGNED,
    Draw { stride: 18, ..ALIGNED },
    Draw { offsets: [2, 15], ..ALIGNED },
    Draw { start: 3, ..ALIGNED },
    ALIGNED,
    Draw { stride: 19, is_bound: true, ..ALIGNED },
    Draw {
        formats: [vk::Format::R16G16B16A16_UINT, vk::Format::A2B10G10R10_UINT_PACK32],
        offsets: [1, 9],
        ..ALIGNED
    },
    Draw { formats: [vk::Format::R16G16_SSCALED, vk::Format::R8G8_SINT], ..ALIGNED },
];

/// The inputs have other numeric types than most of the formats.
const SHADER: &str = "#version 450
    layout(location = 0) in ivec4 first;
    layout(location = 1) in uvec4 second;
    layout(location = 0, xfb_buffer = 0, xfb_stride = 32, xfb_offset = 0) flat out ivec4 a;
    layout(location = 1, xfb_buffer = 0, xfb_stride = 32, xfb_offset = 16) flat out uvec4 b;
    void main() {
        a = first;
        b = second;
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

fn format_of(format: vk::Format) -> vkxfb::vertex_input::VertexFormat {
    format.try_into().unwrap()
}

/// What the specification says that the draw captures.
fn expected(draw: &Draw, bytes: &[u8]) -> Vec<u32> {
    let mut all = Vec::new();
    for point in 0..POINTS as usize {
        for (format, offset) in draw.formats.into_iter().zip(draw.offsets) {
            let at = draw.start as usize + point * draw.stride as usize + offset as usize;
            all.extend(format_of(format).decode(&bytes[at..]).map(|component| component as u32));
        }
    }
    all
}

#[test]
fn attributes_begin_at_any_byte() {
    let mut feature = Feature {
        s_type: vk::StructureType::from_raw(1_000_495_000),
        p_next: std::ptr::null_mut(),
        legacy_vertex_attributes: vk::TRUE,
    };
    let mut dynamic = vk::PhysicalDeviceVertexInputDynamicStateFeaturesEXT::default()
        .vertex_input_dynamic_state(true);
    let mut extensions = vec![ext::vertex_input_dynamic_state::NAME];
    // Older drivers read such attributes, too. They do not say so, and captures do not ask.
    if BareInstance::open_newer().lacks(&[LEGACY]).is_none() {
        extensions.push(LEGACY);
        dynamic.p_next = (&raw mut feature).cast();
    } else if !layer::is_there() {
        return layer::skip_without(&LEGACY.to_string_lossy(), false);
    }
    let Some(mut device) = Program::newer(&extensions, (&raw mut dynamic).cast()) else { return };
    use vk::BufferUsageFlags as Usage;
    let records = DRAWS.len() * POINTS as usize * RECORD;
    let (target, captured) = device.buffer(records, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    let (vertices, given) = device.buffer(BYTES / 4, Usage::VERTEX_BUFFER);
    let mut rng = Rng::new(55);
    let bytes: Vec<u8> = (0..BYTES).map(|_| rng.u64() as u8).collect();
    let (raw, xfb) = (&device.raw, device.xfb());
    let input = ext::vertex_input_dynamic_state::Device::new(device.instance(), raw);
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        captured.write_bytes(0xee, records);
        given.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), BYTES);
        let layout = raw.create_pipeline_layout(&Default::default(), None).unwrap();
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(vk::PrimitiveTopology::POINT_LIST);
        let states = [vk::DynamicState::VERTEX_INPUT_EXT];
        let states = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(&states);
        let info = vk::GraphicsPipelineCreateInfo::default()
            .input_assembly_state(&assembly)
            .dynamic_state(&states)
            .layout(layout);
        let shaders = [(vk::ShaderStageFlags::VERTEX, &*common::compile(SHADER, &[]))];
        let pipeline = discard::of_shaders(raw, &shaders, info);
        device.submit(WRITES, |cmd| {
            raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            let size = 4 * records as u64;
            xfb.bind_target(cmd, target, 0, size);
            attachment::begin_rendering(raw, cmd);
            xfb.begin(cmd);
            for draw in DRAWS {
                let bindings = [vk::VertexInputBindingDescription2EXT::default()
                    .stride(if draw.is_bound { 16 } else { draw.stride })
                    .divisor(1)];
                let attribute = |location: u32| {
                    vk::VertexInputAttributeDescription2EXT::default()
                        .location(location)
                        .format(draw.formats[location as usize])
                        .offset(draw.offsets[location as usize])
                };
                input.cmd_set_vertex_input(cmd, &bindings, &[attribute(0), attribute(1)]);
                let (buffers, starts, strides) = ([vertices], [draw.start], [draw.stride.into()]);
                let strides = draw.is_bound.then_some(&strides[..]);
                raw.cmd_bind_vertex_buffers2(cmd, 0, &buffers, &starts, None, strides);
                raw.cmd_draw(cmd, POINTS, 1, 0, 0);
            }
            xfb.end(cmd);
            raw.cmd_end_rendering(cmd);
        });
        let captured = std::slice::from_raw_parts(captured, records);
        let captured = captured.chunks_exact(POINTS as usize * RECORD);
        for (draw, captured) in DRAWS.iter().zip(captured) {
            assert_eq!(captured, expected(draw, &bytes), "{draw:?}");
        }
        raw.destroy_pipeline(pipeline, None);
        raw.destroy_pipeline_layout(layout, None);
    }
}

#[test]
fn attributes_begin_at_any_byte_on_the_layer() {
    layer::run_on_it(attributes_begin_at_any_byte, &[]);
}

/// Captures that read by descriptors.
#[test]
fn attributes_begin_at_any_byte_by_descriptors_on_the_layer() {
    layer::run_on_it(attributes_begin_at_any_byte, &[("VKXFB_DESCRIPTORS", "1")]);
}
