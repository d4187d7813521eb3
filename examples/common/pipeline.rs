//! A graphics pipeline that draws into a [`Target`](super::target::Target).

use anyhow::{Context as _, Result};
use ash::vk;

use super::gpu::Gpu;
use super::target::{COLOUR, DEPTH};

/// What it draws, and how.
pub struct Drawing<'a> {
    /// SPIR-V.
    pub vertex: &'a [u32],
    /// SPIR-V.
    pub fragment: &'a [u32],
    /// Bytes of a vertex.
    pub stride: u32,
    pub attributes: &'a [vk::VertexInputAttributeDescription],
    pub topology: vk::PrimitiveTopology,
    pub layout: vk::PipelineLayout,
    /// Whether colours are added to what is there, wherever that is, and not hidden by what is nearer.
    pub is_light: bool,
}

impl Drawing<'_> {
    /// # Safety
    /// The shaders and the layout are valid and match.
    pub unsafe fn pipeline(&self, gpu: &Gpu) -> Result<vk::Pipeline> {
        let bindings = [vk::VertexInputBindingDescription::default().stride(self.stride)];
        let vertex_input = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&bindings)
            .vertex_attribute_descriptions(self.attributes);
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(self.topology);
        let viewport =
            vk::PipelineViewportStateCreateInfo::default().viewport_count(1).scissor_count(1);
        let states = [vk::DynamicState::VIEWPORT, vk::DynamicState::SCISSOR];
        let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(&states);
        let rasterization = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
        let multisample = vk::PipelineMultisampleStateCreateInfo::default()
            .rasterization_samples(vk::SampleCountFlags::TYPE_1);
        let depth = vk::PipelineDepthStencilStateCreateInfo::default()
            .depth_test_enable(!self.is_light)
            .depth_write_enable(!self.is_light)
            .depth_compare_op(vk::CompareOp::LESS);
        let blends = [vk::PipelineColorBlendAttachmentState::default()
            .blend_enable(self.is_light)
            .src_color_blend_factor(vk::BlendFactor::ONE)
            .dst_color_blend_factor(vk::BlendFactor::ONE)
            .color_write_mask(vk::ColorComponentFlags::RGBA)];
        let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&blends);
        let mut rendering = vk::PipelineRenderingCreateInfo::default()
            .color_attachment_formats(&[COLOUR])
            .depth_attachment_format(DEPTH);
        unsafe {
            let modules = [self.vertex, self.fragment].map(|words| {
                let info = vk::ShaderModuleCreateInfo::default().code(words);
                gpu.device.create_shader_module(&info, None)
            });
            let [vertex, fragment] = modules;
            let (vertex, fragment) = (vertex?, fragment?);
            let stage = |stage, module| {
                let info = vk::PipelineShaderStageCreateInfo::default();
                info.stage(stage).module(module).name(c"main")
            };
            let stages = [
                stage(vk::ShaderStageFlags::VERTEX, vertex),
                stage(vk::ShaderStageFlags::FRAGMENT, fragment),
            ];
            let info = vk::GraphicsPipelineCreateInfo::default()
                .stages(&stages)
                .vertex_input_state(&vertex_input)
                .input_assembly_state(&assembly)
                .viewport_state(&viewport)
                .rasterization_state(&rasterization)
                .multisample_state(&multisample)
                .depth_stencil_state(&depth)
                .color_blend_state(&blend)
                .dynamic_state(&dynamic)
                .layout(self.layout)
                .push_next(&mut rendering);
            let cache = vk::PipelineCache::null();
            let made = gpu.device.create_graphics_pipelines(cache, &[info], None);
            gpu.device.destroy_shader_module(vertex, None);
            gpu.device.destroy_shader_module(fragment, None);
            let pipelines = made.map_err(|(_, result)| result)?;
            Ok(*pipelines.first().context("no pipeline")?)
        }
    }
}
