//! What newer versions of Vulkan allow in captures, natively and on the Vulkan layer: attributes
//! without a description, queries that are reset when they are created (`VK_KHR_maintenance9`), and
//! rendering that is ended by another command (`VK_KHR_maintenance10`).

use std::ffi::c_void;

use ash::vk;

use super::program::Program;
use crate::common::native::WRITES;
use crate::common::{attachment, layer};

/// The first input has an attribute, the others have none.
const SHADER: &str = "#version 450
    layout(location = 0) in uint given;
    layout(location = 1) in uvec4 unsigned_default;
    layout(location = 2) in ivec4 signed_default;
    layout(location = 3) in vec4 float_default;
    layout(location = 0, xfb_buffer = 0, xfb_stride = 52, xfb_offset = 0) out flat uint a;
    layout(location = 1, xfb_buffer = 0, xfb_stride = 52, xfb_offset = 4) out flat uvec4 b;
    layout(location = 2, xfb_buffer = 0, xfb_stride = 52, xfb_offset = 20) out flat ivec4 c;
    layout(location = 3, xfb_buffer = 0, xfb_stride = 52, xfb_offset = 36) out vec4 d;
    void main() {
        a = given;
        b = unsigned_default;
        c = signed_default;
        d = float_default;
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

/// The dwords of a record.
const RECORD: usize = 13;
const POINTS: usize = 5;

/// A structure of features or properties: two words after the chain.
#[repr(C)]
struct Words {
    s_type: vk::StructureType,
    p_next: *mut c_void,
    words: [u32; 2],
}

impl Words {
    const fn new(s_type: i32, p_next: *mut c_void, first: u32) -> Self {
        Self { s_type: vk::StructureType::from_raw(s_type), p_next, words: [first, 0] }
    }
}

const MAINTENANCE_9_FEATURES: i32 = 1_000_584_000;
const MAINTENANCE_9_PROPERTIES: i32 = 1_000_584_001;
const MAINTENANCE_10_FEATURES: i32 = 1_000_630_000;
const QUERY_POOL_CREATE_RESET: u32 = 1;

type EndRendering2 = unsafe extern "system" fn(vk::CommandBuffer, *const c_void);

#[test]
fn what_is_newer_is_captured() {
    let mut ten = Words::new(MAINTENANCE_10_FEATURES, std::ptr::null_mut(), 1);
    let mut nine = Words::new(MAINTENANCE_9_FEATURES, (&raw mut ten).cast(), 1);
    let extensions = [c"VK_KHR_maintenance9", c"VK_KHR_maintenance10"];
    let Some(mut program) = Program::newer(&extensions, (&raw mut nine).cast()) else { return };
    use vk::BufferUsageFlags as Usage;
    let size = 4 * RECORD * POINTS;
    let (target, captured) = program.buffer(RECORD * POINTS, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    let (vertices, given) = program.buffer(POINTS, Usage::VERTEX_BUFFER);
    let (raw, functions) = (&program.raw, program.xfb());
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        let mut default = Words::new(MAINTENANCE_9_PROPERTIES, std::ptr::null_mut(), 0);
        let p_next = (&raw mut default).cast();
        let mut properties = vk::PhysicalDeviceProperties2 { p_next, ..Default::default() };
        let physical = program.instance().enumerate_physical_devices().unwrap()[0];
        program.instance().get_physical_device_properties2(physical, &mut properties);
        let one = default.words[1];
        for point in 0..POINTS {
            given.add(point).write(7 * point as u32);
        }
        let mut info = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT)
            .query_count(2);
        info.flags = vk::QueryPoolCreateFlags::from_raw(QUERY_POOL_CREATE_RESET);
        let pool = raw.create_query_pool(&info, None).unwrap();
        let mut results = [[u32::MAX; 3]; 2];
        let available = vk::QueryResultFlags::WITH_AVAILABILITY;
        let early = raw.get_query_pool_results(pool, 0, &mut results, available);
        assert_eq!(early, Err(vk::Result::NOT_READY));
        assert_eq!(results.map(|[.., available]| available), [0, 0], "they are reset");
        let layout = raw.create_pipeline_layout(&Default::default(), None).unwrap();
        let pipeline = program.pipeline(SHADER, layout);
        let end_rendering: EndRendering2 = program.command(c"vkCmdEndRendering2KHR");
        let end = Words::new(1_000_619_003, std::ptr::null_mut(), 0);
        program.submit(WRITES, |cmd| {
            raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            raw.cmd_bind_vertex_buffers(cmd, 0, &[vertices], &[0]);
            functions.bind_target(cmd, target, 0, size as u64);
            attachment::begin_rendering(raw, cmd);
            raw.cmd_begin_query(cmd, pool, 1, vk::QueryControlFlags::empty());
            functions.begin(cmd);
            raw.cmd_draw(cmd, POINTS as u32, 1, 0, 0);
            functions.end(cmd);
            raw.cmd_end_query(cmd, pool, 1);
            end_rendering(cmd, (&raw const end).cast());
        });
        let mut written = [[0_u32; 2]];
        let wait = vk::QueryResultFlags::WAIT;
        raw.get_query_pool_results(pool, 1, &mut written, wait).unwrap();
        assert_eq!(written, [[POINTS as u32; 2]]);
        let float = if one == 0 { 0 } else { 1.0_f32.to_bits() };
        for (point, record) in
            std::slice::from_raw_parts(captured, RECORD * POINTS).chunks(RECORD).enumerate()
        {
            let expected = [7 * point as u32, 0, 0, 0, one, 0, 0, 0, one, 0, 0, 0, float];
            assert_eq!(record, expected, "point {point}");
        }
        raw.destroy_query_pool(pool, None);
        raw.destroy_pipeline(pipeline, None);
        raw.destroy_pipeline_layout(layout, None);
    }
}

#[test]
fn what_is_newer_is_captured_on_the_layer() {
    layer::run_on_it(what_is_newer_is_captured, &[]);
}
