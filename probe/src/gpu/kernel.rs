//! Compute pipelines of the probe's and the benchmark's own shaders.

use std::ffi::CStr;

use ash::vk;
use vkxfb::runtime::RuntimeError;

/// Creates a compute pipeline from SPIR-V words.
///
/// # Errors
/// [`RuntimeError::Vulkan`] for a failed command.
///
/// # Safety
/// The words are a valid module with the entry point `entry`, and match `layout`, which belongs to `device`.
pub unsafe fn compute_pipeline(
    device: &ash::Device,
    layout: vk::PipelineLayout,
    words: &[u32],
    entry: &CStr,
    constants: &vk::SpecializationInfo<'_>,
) -> Result<vk::Pipeline, RuntimeError> {
    let info = vk::ShaderModuleCreateInfo::default().code(words);
    unsafe {
        let module = device
            .create_shader_module(&info, None)
            .map_err(RuntimeError::vulkan("vkCreateShaderModule"))?;
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(entry)
            .specialization_info(constants);
        let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout);
        let made = device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
        device.destroy_shader_module(module, None);
        // Of a failed call the only handle is null.
        let made = made.map_err(|(_, result)| result);
        let made = made.map_err(RuntimeError::vulkan("vkCreateComputePipelines"))?;
        Ok(made.first().copied().unwrap_or_default())
    }
}
