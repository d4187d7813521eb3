//! Captures by commands that take device addresses (`VK_KHR_device_address_commands`), natively and on
//! the Vulkan layer.

use std::ffi::c_void;

use ash::vk;

use super::program::Program;
use crate::common::{attachment, layer};

const SHADER: &str = "#version 450
    layout(location = 0) in uint given;
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = given;
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

const POINTS: u32 = 4;
/// What is captured in two passes, in bytes.
const SIZE: u64 = 4 * (POINTS as u64 + 2);

const fn s_type(offset: i32) -> vk::StructureType {
    vk::StructureType::from_raw(1_000_318_000 + offset)
}

const USAGE_CAPTURED: u32 = 1 << 4;

#[repr(C)]
struct Feature {
    s_type: vk::StructureType,
    p_next: *mut c_void,
    enabled: [u32; 2],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Range {
    address: vk::DeviceAddress,
    size: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Strided {
    address: vk::DeviceAddress,
    size: u64,
    stride: u64,
}

#[repr(C)]
struct IndexBuffer {
    s_type: vk::StructureType,
    p_next: *const c_void,
    range: Range,
    flags: u32,
    ty: vk::IndexType,
}

#[repr(C)]
struct VertexBuffer {
    s_type: vk::StructureType,
    p_next: *const c_void,
    sets_stride: vk::Bool32,
    range: Strided,
    flags: u32,
}

#[repr(C)]
struct Indirect {
    s_type: vk::StructureType,
    p_next: *const c_void,
    range: Strided,
    flags: u32,
    count: u32,
}

#[repr(C)]
struct Captured {
    s_type: vk::StructureType,
    p_next: *const c_void,
    range: Range,
    flags: u32,
}

#[repr(C)]
struct RangeBarrier {
    s_type: vk::StructureType,
    p_next: *const c_void,
    from: (vk::PipelineStageFlags2, vk::AccessFlags2),
    to: (vk::PipelineStageFlags2, vk::AccessFlags2),
    families: [u32; 2],
    range: Range,
    flags: u32,
}

#[repr(C)]
struct RangeBarriers {
    s_type: vk::StructureType,
    p_next: *const c_void,
    count: u32,
    barriers: *const RangeBarrier,
}

type Cmd = vk::CommandBuffer;
type BindIndexBuffer3 = unsafe extern "system" fn(Cmd, *const IndexBuffer);
type BindVertexBuffers3 = unsafe extern "system" fn(Cmd, u32, u32, *const VertexBuffer);
type DrawIndirect2 = unsafe extern "system" fn(Cmd, *const Indirect);
type OfCaptures = unsafe extern "system" fn(Cmd, u32, u32, *const Captured);
type ByteCount2 = unsafe extern "system" fn(Cmd, u32, u32, *const Captured, u32, u32);
type CopyResults = unsafe extern "system" fn(
    Cmd,
    vk::QueryPool,
    u32,
    u32,
    *const Strided,
    u32,
    vk::QueryResultFlags,
);

#[test]
fn commands_of_addresses_capture() {
    let mut five = Feature {
        s_type: vk::StructureType::PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR,
        p_next: std::ptr::null_mut(),
        enabled: [1, 0],
    };
    let mut feature =
        Feature { s_type: s_type(6), p_next: (&raw mut five).cast(), enabled: [1, 0] };
    let extensions = [c"VK_KHR_maintenance5", c"VK_KHR_device_address_commands"];
    let Some(mut device) = Program::newer(&extensions, (&raw mut feature).cast()) else { return };
    use vk::BufferUsageFlags2KHR as Usage;
    let of_captures = Usage::TRANSFORM_FEEDBACK_BUFFER_EXT | Usage::VERTEX_BUFFER;
    let (_, first, first_at) = device.buffer_with_address(8, of_captures);
    let (_, second, second_at) = device.buffer_with_address(8, of_captures);
    let of_counters = Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT | Usage::INDIRECT_BUFFER;
    let (_, _, counters) = device.buffer_with_address(4, of_counters);
    let (_, given, vertices) = device.buffer_with_address(8, Usage::VERTEX_BUFFER);
    let (_, order, indices) = device.buffer_with_address(8, Usage::INDEX_BUFFER);
    let (_, draws, indirect) = device.buffer_with_address(8, Usage::INDIRECT_BUFFER);
    let (_, results, results_at) = device.buffer_with_address(4, Usage::TRANSFER_DST);
    let raw = &device.raw;
    // SAFETY: every handle is of the device, and in use only until the submission is done; each type is that
    // of its command.
    unsafe {
        let bind_indices: BindIndexBuffer3 = device.command(c"vkCmdBindIndexBuffer3KHR");
        let bind_vertices: BindVertexBuffers3 = device.command(c"vkCmdBindVertexBuffers3KHR");
        let draw_indirect: DrawIndirect2 = device.command(c"vkCmdDrawIndexedIndirect2KHR");
        let bind: OfCaptures = device.command(c"vkCmdBindTransformFeedbackBuffers2EXT");
        let begin: OfCaptures = device.command(c"vkCmdBeginTransformFeedback2EXT");
        let end: OfCaptures = device.command(c"vkCmdEndTransformFeedback2EXT");
        let draw_byte_count: ByteCount2 = device.command(c"vkCmdDrawIndirectByteCount2EXT");
        let copy_results: CopyResults = device.command(c"vkCmdCopyQueryPoolResultsToMemoryKHR");
        for point in 0..POINTS {
            given.add(point as usize).write(100 + point);
            // Behind one index that is not read.
            order.add(point as usize + 1).write(POINTS - 1 - point);
        }
        // Behind three dwords that are not read: indices, instances, the first index, a vertex offset, an instance.
        draws.add(3).cast::<[u32; 5]>().write_unaligned([POINTS, 1, 0, 0, 0]);
        first.write_bytes(0xff, 8);
        second.write_bytes(0xff, 8);
        let info = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT)
            .query_count(1);
        let pool = raw.create_query_pool(&info, None).unwrap();
        let layout = raw.create_pipeline_layout(&Default::default(), None).unwrap();
        let pipeline = device.pipeline(SHADER, layout);

        let captured = |address, size| Captured {
            s_type: s_type(13),
            p_next: std::ptr::null(),
            range: Range { address, size },
            flags: USAGE_CAPTURED,
        };
        let counter = |number: u64| Captured { flags: 0, ..captured(counters + 4 * number, 4) };
        let vertex_buffer = |address, size, flags| VertexBuffer {
            s_type: s_type(8),
            p_next: std::ptr::null(),
            sets_stride: vk::FALSE,
            range: Strided { address, size, stride: 4 },
            flags,
        };
        let writes = (
            vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT | vk::PipelineStageFlags::TRANSFER,
            vk::AccessFlags::TRANSFORM_FEEDBACK_WRITE_EXT | vk::AccessFlags::TRANSFER_WRITE,
        );
        device.submit(writes, |cmd| {
            let barrier = |from, to, address, size| {
                let barrier = RangeBarrier {
                    s_type: s_type(5),
                    p_next: std::ptr::null(),
                    from,
                    to,
                    families: [vk::QUEUE_FAMILY_IGNORED; 2],
                    range: Range { address, size },
                    flags: 0,
                };
                let barriers = RangeBarriers {
                    s_type: s_type(4),
                    p_next: std::ptr::null(),
                    count: 1,
                    barriers: &raw const barrier,
                };
                let p_next = (&raw const barriers).cast();
                let info = vk::DependencyInfo { p_next, ..Default::default() };
                raw.cmd_pipeline_barrier2(cmd, &info);
            };
            use vk::{AccessFlags2 as Access, PipelineStageFlags2 as Stage};
            let counted =
                (Stage::TRANSFORM_FEEDBACK_EXT, Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT);
            let written = (Stage::TRANSFORM_FEEDBACK_EXT, Access::TRANSFORM_FEEDBACK_WRITE_EXT);
            let in_pass = |commands: &dyn Fn()| {
                let area = attachment::area(1);
                let info = vk::RenderingInfo::default().render_area(area).layer_count(1);
                raw.cmd_begin_rendering(cmd, &info);
                commands();
                raw.cmd_end_rendering(cmd);
            };
            raw.cmd_reset_query_pool(cmd, pool, 0, 1);
            raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            bind_vertices(cmd, 0, 1, &vertex_buffer(vertices, 16, 0));
            let index_buffer = IndexBuffer {
                s_type: s_type(7),
                p_next: std::ptr::null(),
                range: Range { address: indices + 4, size: 16 },
                flags: 0,
                ty: vk::IndexType::UINT32,
            };
            bind_indices(cmd, &raw const index_buffer);
            bind(cmd, 0, 1, &captured(first_at, SIZE));
            in_pass(&|| {
                raw.cmd_begin_query(cmd, pool, 0, vk::QueryControlFlags::empty());
                begin(cmd, 0, 0, std::ptr::null());
                let draw = Indirect {
                    s_type: s_type(9),
                    p_next: std::ptr::null(),
                    range: Strided { address: indirect + 12, size: 20, stride: 20 },
                    flags: 0,
                    count: 1,
                };
                draw_indirect(cmd, &raw const draw);
                end(cmd, 0, 1, &counter(0));
                raw.cmd_end_query(cmd, pool, 0);
            });
            let resumed =
                (Stage::TRANSFORM_FEEDBACK_EXT, Access::TRANSFORM_FEEDBACK_COUNTER_READ_EXT);
            barrier(counted, resumed, counters, 16);
            in_pass(&|| {
                begin(cmd, 0, 1, &counter(0));
                raw.cmd_draw(cmd, 2, 1, 0, 0);
                end(cmd, 0, 1, &counter(1));
            });
            barrier(counted, (Stage::DRAW_INDIRECT, Access::INDIRECT_COMMAND_READ), counters, 16);
            let read = (Stage::VERTEX_ATTRIBUTE_INPUT, Access::VERTEX_ATTRIBUTE_READ);
            barrier(written, read, first_at, SIZE);
            bind_vertices(cmd, 0, 1, &vertex_buffer(first_at, SIZE, USAGE_CAPTURED));
            bind(cmd, 0, 1, &captured(second_at, SIZE));
            in_pass(&|| {
                begin(cmd, 0, 0, std::ptr::null());
                draw_byte_count(cmd, 1, 0, &counter(1), 0, 4);
                end(cmd, 0, 0, std::ptr::null());
            });
            let range = Strided { address: results_at + 4, size: 8, stride: 8 };
            copy_results(cmd, pool, 0, 1, &raw const range, 0, vk::QueryResultFlags::WAIT);
        });
        let mut expected = vec![103, 102, 101, 100, 100, 101];
        expected.resize(8, u32::MAX);
        for captured in [first, second] {
            assert_eq!(std::slice::from_raw_parts(captured, 8), expected);
        }
        assert_eq!(results.add(1).cast::<[u32; 2]>().read(), [POINTS; 2]);
        raw.destroy_query_pool(pool, None);
        raw.destroy_pipeline(pipeline, None);
        raw.destroy_pipeline_layout(layout, None);
    }
}

#[test]
fn commands_of_addresses_capture_on_the_layer() {
    layer::run_on_it(commands_of_addresses_capture, &[]);
}
