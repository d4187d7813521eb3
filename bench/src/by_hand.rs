//! Compute shaders that were written by hand for one topology and one record size: `by_hand_*.comp`
//! in `shaders/bench`. They show the minimum time that a driver takes to compile a shader that
//! captures such draws.

use std::time::{Duration, Instant};

use ash::vk;
use vkxfb::runtime::{ConsumerScope, RuntimeError};
use vkxfb_probe::gpu::{Gpu, GpuError, compute_pipeline};
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::spirv::words_from_bytes;
use vkxfb_rewriter::topology::{PrimitiveTopology, Shape};

use crate::case::Case;
use crate::data::SALT;
use crate::memory::Memory;

/// The push constants of the shaders.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Push {
    source: u64,
    target: u64,
    count: u32,
    reserved: u32,
}

/// The size in bytes of a record. All of it goes to one buffer.
const RECORD: u32 = 32;

/// Returns the shader for a case. `None` if no shader was written for it, or if the device does not
/// support buffer device addresses.
pub(super) fn shader(gpu: &Gpu, case: &Case) -> Option<&'static [u8]> {
    if case.record.bytes() != RECORD || case.record.buffers() != 1 || !gpu.context().has_addresses()
    {
        return None;
    }
    match (case.topology, case.topology.shape()) {
        (_, Shape::List) => Some(include_bytes!("../../shaders/bench/by_hand_list.spv")),
        (PrimitiveTopology::TriangleStrip, _) => {
            Some(include_bytes!("../../shaders/bench/by_hand_strip.spv"))
        }
        _ => None,
    }
}

/// Creates the pipeline of a shader, and dispatches it once. Returns how long each took.
pub(super) fn measure(
    gpu: &mut Gpu,
    shader: &[u8],
    case: &Case,
    memory: &Memory,
    salt: f32,
) -> Result<[Duration; 2], GpuError> {
    let words =
        words_from_bytes(shader).map_err(|error| RuntimeError::InvalidShader(error.to_string()))?;
    let context = gpu.context().clone();
    let device = context.device();
    let stage = vk::ShaderStageFlags::COMPUTE;
    let size = size_of::<Push>() as u32;
    let ranges = [vk::PushConstantRange { stage_flags: stage, offset: 0, size }];
    let entry = vk::SpecializationMapEntry { constant_id: SALT, offset: 0, size: 4 };
    let (entries, data) = ([entry], salt.to_le_bytes());
    let constants = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
    let start = Instant::now();
    let info = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&ranges);
    // SAFETY: the device is live, the module is valid, and the layout has the push constants that
    // the module declares.
    let (layout, made) = unsafe {
        let layout = device
            .create_pipeline_layout(&info, None)
            .map_err(RuntimeError::vulkan("vkCreatePipelineLayout"))?;
        (layout, compute_pipeline(device, layout, &words, c"main", &constants))
    };
    let creation = start.elapsed();
    let push = Push {
        source: memory.reached.source.address,
        target: memory.reached.targets[0].address,
        count: case.vertices,
        reserved: 0,
    };
    let used = made.map_err(GpuError::from).and_then(|pipeline| {
        let start = Instant::now();
        let used = gpu.submit(|ctx, cmd| {
            // SAFETY: everything outlives the submission; the buffers are those of the case.
            unsafe {
                let point = vk::PipelineBindPoint::COMPUTE;
                ctx.device().cmd_bind_pipeline(cmd, point, pipeline);
                let bytes = bytemuck::bytes_of(&push);
                ctx.device().cmd_push_constants(cmd, layout, stage, 0, bytes);
                ctx.device().cmd_dispatch(cmd, case.vertices.div_ceil(64), 1, 1);
                ctx.capture_barrier(cmd, Backend::Compute, ConsumerScope::HOST);
            }
            Ok(())
        });
        let first_use = start.elapsed();
        // SAFETY: the submission was waited for.
        unsafe { device.destroy_pipeline(pipeline, None) };
        used.map(|()| first_use)
    });
    // SAFETY: the pipelines that were created with the layout are destroyed.
    unsafe { device.destroy_pipeline_layout(layout, None) };
    Ok([creation, used?])
}
