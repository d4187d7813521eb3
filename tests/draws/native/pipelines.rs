//! The graphics pipelines of native captures, which are created when they are first needed.

use std::collections::HashMap;

use ash::vk;
use vkxfb::runtime::Context;
use vkxfb::topology::ProvokingVertex;
use vkxfb_probe::gpu::{Gpu, GpuError};

use super::passes::{Part, Passes, Target};
use crate::common::discard;
use crate::images::failed;
use crate::program::State;
use crate::sets::SetLayouts;
use crate::shaders::{CONSTANTS, Shader};

pub struct Pipelines {
    pub passes: Passes,
    /// The layout of all pipelines, so that descriptor sets and push constants stay bound.
    pub layout: vk::PipelineLayout,
    pub set_layouts: SetLayouts,
    modules: HashMap<Shader, vk::ShaderModule>,
    pipelines: HashMap<(State, Target), vk::Pipeline>,
}

impl Pipelines {
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let ctx = gpu.context();
        let device = ctx.device();
        let passes = Passes::new(gpu)?;
        let set_layouts = SetLayouts::new(ctx)?;
        let constants = [vk::PushConstantRange::default()
            .stage_flags(vk::ShaderStageFlags::VERTEX)
            .size(4 * CONSTANTS as u32)];
        let info = vk::PipelineLayoutCreateInfo::default()
            .set_layouts(set_layouts.raw())
            .push_constant_ranges(&constants);
        // SAFETY: the device is live.
        unsafe {
            let layout = device
                .create_pipeline_layout(&info, None)
                .map_err(failed("vkCreatePipelineLayout"))?;
            let (modules, pipelines) = (HashMap::new(), HashMap::new());
            Ok(Self { passes, layout, set_layouts, modules, pipelines })
        }
    }

    /// Returns the pipeline of a state, for a part of a pass.
    pub fn get(
        &mut self,
        ctx: &Context,
        state: &State,
        part: Option<Part>,
    ) -> Result<vk::Pipeline, GpuError> {
        let target = part.map_or(Target::RenderPass, Part::target);
        if let Some(pipeline) = self.pipelines.get(&(*state, target)) {
            return Ok(*pipeline);
        }
        let module = match self.modules.get(&state.shader) {
            Some(module) => *module,
            None => {
                let words = state.shader.words();
                let info = vk::ShaderModuleCreateInfo::default().code(&words);
                // SAFETY: the words are valid.
                let module = unsafe { ctx.device().create_shader_module(&info, None) }
                    .map_err(failed("vkCreateShaderModule"))?;
                self.modules.insert(state.shader, module);
                module
            }
        };
        let pipeline = self.create(ctx, state, target, module)?;
        self.pipelines.insert((*state, target), pipeline);
        Ok(pipeline)
    }

    fn create(
        &self,
        ctx: &Context,
        state: &State,
        target: Target,
        module: vk::ShaderModule,
    ) -> Result<vk::Pipeline, GpuError> {
        let input = state.shader.vertex_input();
        let (bindings, attributes) = discard::vertex_input(&input);
        let vertex_input = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&bindings)
            .vertex_attribute_descriptions(&attributes);
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(state.topology.into())
            .primitive_restart_enable(state.restart);
        let mut last = vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT::default()
            .provoking_vertex_mode(vk::ProvokingVertexModeEXT::LAST_VERTEX);
        let mut rasterization = vk::PipelineRasterizationStateCreateInfo::default()
            .rasterizer_discard_enable(true)
            .line_width(1.0);
        if state.provoking == ProvokingVertex::Last {
            rasterization = rasterization.push_next(&mut last);
        }
        let stages = [vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::VERTEX)
            .module(module)
            .name(c"main")];
        let (render_pass, subpass) = self.passes.of_target(target);
        let info = vk::GraphicsPipelineCreateInfo::default()
            .stages(&stages)
            .vertex_input_state(&vertex_input)
            .input_assembly_state(&assembly)
            .rasterization_state(&rasterization)
            .layout(self.layout)
            .render_pass(render_pass)
            .subpass(subpass);
        // SAFETY: everything that it names is live.
        let made = unsafe { discard::create(ctx.device(), vk::PipelineCache::null(), info) };
        made.map_err(failed("vkCreateGraphicsPipelines"))
    }

    /// # Safety
    /// Nothing is in flight.
    pub unsafe fn destroy(self, ctx: &Context) {
        let device = ctx.device();
        unsafe {
            for pipeline in self.pipelines.into_values() {
                device.destroy_pipeline(pipeline, None);
            }
            for module in self.modules.into_values() {
                device.destroy_shader_module(module, None);
            }
            device.destroy_pipeline_layout(self.layout, None);
            self.set_layouts.destroy(ctx);
            self.passes.destroy(device);
        }
    }
}
