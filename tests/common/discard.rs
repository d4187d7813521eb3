//! Pipelines that rasterize nothing.

use ash::vk;

use super::attachment;

/// Creates a pipeline of a vertex shader that draws points, for dynamic rendering.
///
/// # Safety
/// The layout belongs to the device, and has everything that the shader reads.
pub unsafe fn pipeline(
    device: &ash::Device,
    layout: vk::PipelineLayout,
    words: &[u32],
) -> vk::Pipeline {
    // SAFETY: the caller's contract; the module is valid.
    unsafe {
        let module = attachment::shader_module(device, words);
        let stages = [vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::VERTEX)
            .module(module)
            .name(c"main")];
        let input = vk::PipelineVertexInputStateCreateInfo::default();
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(vk::PrimitiveTopology::POINT_LIST);
        let rasterization = vk::PipelineRasterizationStateCreateInfo::default()
            .rasterizer_discard_enable(true)
            .line_width(1.0);
        let mut rendering = vk::PipelineRenderingCreateInfo::default();
        let info = vk::GraphicsPipelineCreateInfo::default()
            .stages(&stages)
            .vertex_input_state(&input)
            .input_assembly_state(&assembly)
            .rasterization_state(&rasterization)
            .layout(layout)
            .push_next(&mut rendering);
        let made = device.create_graphics_pipelines(vk::PipelineCache::null(), &[info], None);
        device.destroy_shader_module(module, None);
        made.unwrap()[0]
    }
}
