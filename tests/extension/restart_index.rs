//! Captures of draws whose primitives are restarted by another index than the largest
//! (`VK_EXT_primitive_restart_index`), natively and on the Vulkan layer.

use std::ffi::c_void;

use ash::vk;

use super::program::Program;
use crate::common::native::WRITES;
use crate::common::{self, attachment, discard, layer};

/// The features of the extension.
#[repr(C)]
struct Feature {
    s_type: vk::StructureType,
    p_next: *mut c_void,
    enabled: [u32; 2],
}

const INDICES: [u32; 7] = [0, 1, 7, 2, u32::MAX, 3, 4];

type SetIndex = unsafe extern "system" fn(vk::CommandBuffer, u32);

#[test]
fn another_index_restarts() {
    let mut feature = Feature {
        s_type: vk::StructureType::from_raw(1_000_678_000),
        p_next: std::ptr::null_mut(),
        enabled: [1, 0],
    };
    let chain = (&raw mut feature).cast();
    let Some(mut device) = Program::newer(&[c"VK_EXT_primitive_restart_index"], chain) else {
        return;
    };
    use vk::BufferUsageFlags as Usage;
    let (target, captured) = device.buffer(16, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    let (indices, order) = device.buffer(INDICES.len(), Usage::INDEX_BUFFER);
    let (raw, xfb) = (&device.raw, device.xfb());
    // SAFETY: every handle is of the device, and in use only until the submission is done; the type is that of the
    // command.
    unsafe {
        captured.write_bytes(0xee, 16);
        order.cast::<[u32; INDICES.len()]>().write(INDICES);
        let set_index: SetIndex = device.command(c"vkCmdSetPrimitiveRestartIndexEXT");
        let layout = raw.create_pipeline_layout(&Default::default(), None).unwrap();
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(vk::PrimitiveTopology::LINE_STRIP)
            .primitive_restart_enable(true);
        let info = vk::GraphicsPipelineCreateInfo::default()
            .input_assembly_state(&assembly)
            .layout(layout);
        let shaders = [(vk::ShaderStageFlags::VERTEX, &*common::compile(common::CAPTURES, &[]))];
        let pipeline = discard::of_shaders(raw, &shaders, info);
        device.submit(WRITES, |cmd| {
            raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            xfb.bind_target(cmd, target, 0, 64);
            attachment::begin_rendering(raw, cmd);
            xfb.begin(cmd);
            raw.cmd_bind_index_buffer(cmd, indices, 0, vk::IndexType::UINT32);
            set_index(cmd, 7);
            // The line from 0 to 1; then 7 restarts, and a single vertex is no line.
            raw.cmd_draw_indexed(cmd, 4, 1, 0, 0, 0);
            // With another buffer the largest index restarts again: the line from 3 to 4.
            raw.cmd_bind_index_buffer(cmd, indices, 0, vk::IndexType::UINT32);
            raw.cmd_draw_indexed(cmd, 4, 1, 3, 0, 0);
            xfb.end(cmd);
            raw.cmd_end_rendering(cmd);
        });
        let mut expected = vec![0, 1, 3, 4];
        expected.resize(16, 0xeeee_eeee);
        assert_eq!(std::slice::from_raw_parts(captured, 16), expected);
        raw.destroy_pipeline(pipeline, None);
        raw.destroy_pipeline_layout(layout, None);
    }
}

#[test]
fn another_index_restarts_on_the_layer() {
    layer::run_on_it(another_index_restarts, &[]);
}
