//! Records what replaces draws with geometry shaders.

use ash::vk;

use crate::command_buffers::CommandBufferState;
use crate::emulation::drawn::DrawnInstead;
use crate::withheld::arguments;

/// Records the list that replaces a draw with a geometry shader, and sets again what is dynamic in the program's pipeline.
///
/// # Safety
/// The contract of the draw.
pub(super) unsafe fn draw_instead(
    state: &mut CommandBufferState,
    cmd: vk::CommandBuffer,
    instead: &DrawnInstead,
) {
    let DrawnInstead { list, binding, has_strides, topology, restarts } = *instead;
    let (buffer, offset) = list.parameters;
    let restart = |enable: bool| arguments::SetPrimitiveRestartEnable {
        primitive_restart_enable: enable.into(),
    };
    unsafe {
        if has_strides {
            // All vertices and instances have the same parameters.
            let stride = 0;
            state.record(
                cmd,
                &arguments::BindVertexBuffers2 {
                    first_binding: binding,
                    binding_count: 1,
                    p_buffers: &raw const buffer,
                    p_offsets: &raw const offset,
                    p_sizes: std::ptr::null(),
                    p_strides: &raw const stride,
                },
            );
        } else {
            state.record(
                cmd,
                &arguments::BindVertexBuffers {
                    first_binding: binding,
                    binding_count: 1,
                    p_buffers: &raw const buffer,
                    p_offsets: &raw const offset,
                },
            );
        }
        if let Some([primitive_topology, _]) = topology {
            state.record(cmd, &arguments::SetPrimitiveTopology { primitive_topology });
        }
        if restarts {
            state.record(cmd, &restart(false));
        }
        let (vertex_count, instance_count) = (list.vertex_count, list.instance_count);
        let (first_vertex, first_instance) = (0, 0);
        state.record(
            cmd,
            &arguments::Draw { vertex_count, instance_count, first_vertex, first_instance },
        );
        if let Some([_, primitive_topology]) = topology {
            state.record(cmd, &arguments::SetPrimitiveTopology { primitive_topology });
        }
        if restarts {
            state.record(cmd, &restart(true));
        }
    }
}
