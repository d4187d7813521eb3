//! Renders a scene with the device.

use std::mem::offset_of;

use anyhow::{Context as _, Result, anyhow};
use ash::vk;
use naga::back::spv;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use vkxfb::runtime::MemoryLocation;
use vkxfb_probe::gpu::Gpu;

use super::SIZE;
use super::scene::{Scene, Vertex};
use super::target::{PictureTarget, SAMPLES};

const SHADERS: &str = include_str!("picture.wgsl");

/// The colour of the background, to which distant primitives fade.
const GROUND: [f32; 4] = [0.965, 0.968, 0.975, 1.0];

/// The distance that a point reaches from its centre, and a line from its middle, in pixels.
const POINT: f32 = 2.5;
const LINE: f32 = 0.8;

/// The number of vertices with which a point or a line is drawn, as two triangles.
const CORNERS: u32 = 6;

/// The shaders and settings for primitives with a given number of vertices.
struct Style {
    vertex: &'static str,
    fragment: &'static str,
    reach: f32,
    /// The number of vertices of a primitive, if each primitive is drawn as an instance. Then the shader reads these
    /// vertices as attributes of the instance. `None` if the vertices of a primitive are drawn as vertices.
    instanced: Option<u32>,
}

impl Style {
    const fn of(per_primitive: usize) -> Self {
        match per_primitive {
            1 => Self { vertex: "point", fragment: "disc", reach: POINT, instanced: Some(1) },
            2 => Self { vertex: "line", fragment: "plain", reach: LINE, instanced: Some(2) },
            _ => Self { vertex: "triangle", fragment: "lit", reach: 0.0, instanced: None },
        }
    }
}

/// Renders a scene. Returns red, green, blue and alpha of each pixel, row by row.
pub(super) fn render(gpu: &mut Gpu, scene: &Scene) -> Result<Vec<u8>> {
    let style = Style::of(scene.per_primitive);
    let bytes: &[u8] = bytemuck::cast_slice(&scene.vertices);
    let usage = vk::BufferUsageFlags::VERTEX_BUFFER;
    let length = (bytes.len() as u64).max(4);
    let vertices = gpu.create_buffer(length, usage, MemoryLocation::Device)?;
    let mut target = PictureTarget::default();
    let mut pipeline = Pipeline::default();
    let made = gpu
        .write(&vertices, 0, bytes)
        .map_err(anyhow::Error::from)
        .and_then(|()| target.make(gpu))
        .and_then(|()| pipeline.make(gpu, &style, target.render_pass));
    let count = scene.vertices.len() as u32;
    let (buffer, raw) = (vertices.raw(), pipeline.pipeline);
    let drawn = made.and_then(|()| {
        // SAFETY: the pipeline was created for the render pass, and the buffer contains as many
        // vertices as are drawn.
        unsafe {
            target.draw(gpu, GROUND, |device, cmd| {
                device.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, raw);
                device.cmd_bind_vertex_buffers(cmd, 0, &[buffer], &[0]);
                match style.instanced {
                    Some(vertices) => device.cmd_draw(cmd, CORNERS, count / vertices, 0, 0),
                    None => device.cmd_draw(cmd, count, 1, 0, 0),
                }
            })
        }
    });
    let device = gpu.context().device();
    // SAFETY: every submission was waited for.
    unsafe {
        pipeline.destroy(device);
        target.destroy(device);
    }
    gpu.destroy_buffer(vertices);
    drawn.context("the picture")
}

/// A graphics pipeline, and the objects that it is created from.
#[derive(Default)]
struct Pipeline {
    layout: vk::PipelineLayout,
    modules: Vec<vk::ShaderModule>,
    pipeline: vk::Pipeline,
}

impl Pipeline {
    /// Creates the pipeline. Even if that fails, the caller must call [`destroy`](Self::destroy).
    fn make(&mut self, gpu: &Gpu, style: &Style, render_pass: vk::RenderPass) -> Result<()> {
        let device = gpu.context().device();
        let shaders = compile(style)?;
        for (words, _) in &shaders {
            let info = vk::ShaderModuleCreateInfo::default().code(words);
            // SAFETY: the device is live, and naga only makes valid modules.
            self.modules.push(unsafe { device.create_shader_module(&info, None) }?);
        }
        let layout = vk::PipelineLayoutCreateInfo::default();
        // SAFETY: the device is live.
        self.layout = unsafe { device.create_pipeline_layout(&layout, None) }?;
        let stages = [vk::ShaderStageFlags::VERTEX, vk::ShaderStageFlags::FRAGMENT];
        let stages: Vec<_> = (stages.into_iter().zip(&self.modules))
            .zip(&shaders)
            .map(|((stage, module), (_, name))| {
                let info = vk::PipelineShaderStageCreateInfo::default();
                info.stage(stage).module(*module).name(name)
            })
            .collect();
        let at_once = style.instanced.unwrap_or(1);
        let rate = match style.instanced {
            Some(_) => vk::VertexInputRate::INSTANCE,
            None => vk::VertexInputRate::VERTEX,
        };
        let bindings = [vk::VertexInputBindingDescription::default()
            .stride(at_once * size_of::<Vertex>() as u32)
            .input_rate(rate)];
        let attributes: Vec<_> = (0..at_once).flat_map(attributes).collect();
        let input = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&bindings)
            .vertex_attribute_descriptions(&attributes);
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(vk::PrimitiveTopology::TRIANGLE_LIST);
        let viewport =
            vk::PipelineViewportStateCreateInfo::default().viewport_count(1).scissor_count(1);
        let states = [vk::DynamicState::VIEWPORT, vk::DynamicState::SCISSOR];
        let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(&states);
        let rasterization = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
        let multisample =
            vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(SAMPLES);
        let depth = vk::PipelineDepthStencilStateCreateInfo::default()
            .depth_test_enable(true)
            .depth_write_enable(true)
            .depth_compare_op(vk::CompareOp::LESS_OR_EQUAL);
        let blends = [vk::PipelineColorBlendAttachmentState::default()
            .color_write_mask(vk::ColorComponentFlags::RGBA)];
        let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&blends);
        let info = vk::GraphicsPipelineCreateInfo::default()
            .stages(&stages)
            .vertex_input_state(&input)
            .input_assembly_state(&assembly)
            .viewport_state(&viewport)
            .rasterization_state(&rasterization)
            .multisample_state(&multisample)
            .depth_stencil_state(&depth)
            .color_blend_state(&blend)
            .dynamic_state(&dynamic)
            .layout(self.layout)
            .render_pass(render_pass);
        // SAFETY: the interfaces of the stages match each other and the vertex input, and the
        // render pass has the attachments that they write.
        let made =
            unsafe { device.create_graphics_pipelines(vk::PipelineCache::null(), &[info], None) };
        let made = made.map_err(|(_, result)| result)?;
        self.pipeline = *made.first().context("no pipeline")?;
        Ok(())
    }

    /// Destroys the pipeline and the objects that it was created from, as far as they exist.
    ///
    /// # Safety
    /// The device no longer uses it.
    unsafe fn destroy(self, device: &ash::Device) {
        // SAFETY: the caller's contract. Destroying null handles is allowed.
        unsafe {
            device.destroy_pipeline(self.pipeline, None);
            device.destroy_pipeline_layout(self.layout, None);
            for module in self.modules {
                device.destroy_shader_module(module, None);
            }
        }
    }
}

/// Returns the descriptions of the attributes that belong to vertex `vertex` of a primitive. They begin at location
/// `4 * vertex`.
fn attributes(vertex: u32) -> [vk::VertexInputAttributeDescription; 4] {
    let of = |part: u32, format, offset: usize| {
        vk::VertexInputAttributeDescription::default()
            .location(4 * vertex + part)
            .format(format)
            .offset(vertex * size_of::<Vertex>() as u32 + offset as u32)
    };
    [
        of(0, vk::Format::R32G32B32A32_SFLOAT, offset_of!(Vertex, place)),
        of(1, vk::Format::R32G32B32A32_SFLOAT, offset_of!(Vertex, shape)),
        of(2, vk::Format::R8G8B8A8_UNORM, offset_of!(Vertex, colour)),
        of(3, vk::Format::R32G32B32A32_SFLOAT, offset_of!(Vertex, normal)),
    ]
}

/// Compiles the vertex and the fragment shader. Returns the module and entry point of each.
fn compile(style: &Style) -> Result<Vec<(Vec<u32>, std::ffi::CString)>> {
    let (pixel, reach) = (2.0 / f64::from(SIZE), style.reach);
    let [red, green, blue, _] = GROUND;
    let source = format!(
        "const GROUND = vec3f({red}, {green}, {blue});\nconst PIXEL = {pixel}f;\n\
         const REACH = f32({reach}f);\n{SHADERS}"
    );
    let module = naga::front::wgsl::parse_str(&source)
        .map_err(|error| anyhow!(error.emit_to_string(&source)))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module)?;
    let stages = [naga::ShaderStage::Vertex, naga::ShaderStage::Fragment];
    let shaders = stages.into_iter().zip([style.vertex, style.fragment]).map(|(stage, name)| {
        let options = spv::PipelineOptions { shader_stage: stage, entry_point: name.to_owned() };
        // Without flags, naga does not flip the y coordinate for Vulkan.
        let flags = spv::Options { flags: spv::WriterFlags::empty(), ..spv::Options::default() };
        let words = spv::write_vec(&module, &info, &flags, Some(&options))?;
        Ok((words, std::ffi::CString::new(name)?))
    });
    shaders.collect()
}
