//! Creates the graphics pipeline of a case.

use ash::vk;
use vkxfb::topology::ProvokingVertex;

use super::Native;
use crate::case::Case;
use crate::common::discard;
use crate::compile::Modules;

impl Native {
    /// # Safety
    /// The modules are valid.
    pub(super) unsafe fn pipeline(&self, case: &Case, modules: &Modules) -> vk::Pipeline {
        let input = case.vertex_input();
        let (bindings, attributes) = discard::vertex_input(&input);
        let vertex_input = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&bindings)
            .vertex_attribute_descriptions(&attributes);
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(vk::PrimitiveTopology::from_raw(case.topology.as_raw()))
            .primitive_restart_enable(case.restart);
        let mode = match case.provoking {
            ProvokingVertex::First => vk::ProvokingVertexModeEXT::FIRST_VERTEX,
            ProvokingVertex::Last => vk::ProvokingVertexModeEXT::LAST_VERTEX,
        };
        let mut provoking = vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT::default()
            .provoking_vertex_mode(mode);
        let raster = vk::PipelineRasterizationStateCreateInfo::default()
            .rasterizer_discard_enable(true)
            .line_width(1.0)
            .push_next(&mut provoking);
        let shaders = [
            (vk::ShaderStageFlags::VERTEX, &*modules.vertex),
            (vk::ShaderStageFlags::GEOMETRY, &*modules.geometry),
        ];
        let info = vk::GraphicsPipelineCreateInfo::default()
            .vertex_input_state(&vertex_input)
            .input_assembly_state(&assembly)
            .rasterization_state(&raster)
            .layout(self.layout)
            .render_pass(self.pass);
        // SAFETY: the caller's contract.
        unsafe { discard::of_shaders(&self.device.raw, &shaders, info) }
    }
}
