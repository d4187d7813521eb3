//! Creates the graphics pipeline of a case.

use ash::vk;
use vkxfb::topology::ProvokingVertex;
use vkxfb::vertex_input::InputRate;

use super::Native;
use crate::case::Case;
use crate::common::attachment::shader_module;
use crate::compile::Modules;

impl Native {
    /// # Safety
    /// The modules are valid.
    pub(super) unsafe fn pipeline(&self, case: &Case, modules: &Modules) -> vk::Pipeline {
        let device = &self.device.raw;
        let input = case.vertex_input();
        let rate = |rate| match rate {
            InputRate::Vertex => vk::VertexInputRate::VERTEX,
            InputRate::Instance { .. } => vk::VertexInputRate::INSTANCE,
        };
        let bindings: Vec<_> = (input.bindings.iter())
            .map(|binding| vk::VertexInputBindingDescription {
                binding: binding.binding,
                stride: binding.stride,
                input_rate: rate(binding.input_rate),
            })
            .collect();
        let attributes: Vec<_> = (input.attributes.iter())
            .map(|attribute| vk::VertexInputAttributeDescription {
                location: attribute.location,
                binding: attribute.binding,
                format: vk::Format::from_raw(attribute.format.as_raw()),
                offset: attribute.offset,
            })
            .collect();
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
        // SAFETY: the caller's contract.
        unsafe {
            let words = [
                (vk::ShaderStageFlags::VERTEX, &modules.vertex),
                (vk::ShaderStageFlags::GEOMETRY, &modules.geometry),
            ];
            let modules = words.map(|(_, words)| shader_module(device, words));
            let stage = |number: usize| {
                vk::PipelineShaderStageCreateInfo::default()
                    .stage(words[number].0)
                    .module(modules[number])
                    .name(c"main")
            };
            let stages = [stage(0), stage(1)];
            let info = vk::GraphicsPipelineCreateInfo::default()
                .stages(&stages)
                .vertex_input_state(&vertex_input)
                .input_assembly_state(&assembly)
                .rasterization_state(&raster)
                .layout(self.layout)
                .render_pass(self.pass);
            let cache = vk::PipelineCache::null();
            let pipeline = device.create_graphics_pipelines(cache, &[info], None).unwrap()[0];
            modules.into_iter().for_each(|module| device.destroy_shader_module(module, None));
            pipeline
        }
    }
}
