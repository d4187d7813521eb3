//! Pipelines that rasterize nothing.

use ash::vk;
use vkxfb::vertex_input::{InputRate, VertexInput};

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
    let info = vk::GraphicsPipelineCreateInfo::default().layout(layout);
    unsafe { of_shaders(device, &[(vk::ShaderStageFlags::VERTEX, words)], info) }
}

/// Does what [`create`] does, with shaders that are named `main`.
///
/// # Safety
/// As there, and the shaders are valid.
pub unsafe fn of_shaders(
    device: &ash::Device,
    shaders: &[(vk::ShaderStageFlags, &[u32])],
    info: vk::GraphicsPipelineCreateInfo<'_>,
) -> vk::Pipeline {
    unsafe {
        attachment::with_stages(device, shaders, |stages| {
            create(device, vk::PipelineCache::null(), info.stages(stages)).unwrap()
        })
    }
}

/// Creates a pipeline with what `info` has. Without a vertex input state it reads no vertex buffers, without an input
/// assembly state it draws points, and without a render pass it is for dynamic rendering, of no attachments and a single
/// view unless the chain begins with something else.
///
/// # Safety
/// What `info` has is valid, and of the device.
pub unsafe fn create(
    device: &ash::Device,
    cache: vk::PipelineCache,
    info: vk::GraphicsPipelineCreateInfo<'_>,
) -> Result<vk::Pipeline, vk::Result> {
    let input = vk::PipelineVertexInputStateCreateInfo::default();
    let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
        .topology(vk::PrimitiveTopology::POINT_LIST);
    let rasterization = vk::PipelineRasterizationStateCreateInfo::default()
        .rasterizer_discard_enable(true)
        .line_width(1.0);
    let mut rendering = vk::PipelineRenderingCreateInfo::default();
    let mut info = info;
    if info.p_vertex_input_state.is_null() {
        info = info.vertex_input_state(&input);
    }
    if info.p_input_assembly_state.is_null() {
        info = info.input_assembly_state(&assembly);
    }
    if info.p_rasterization_state.is_null() {
        info = info.rasterization_state(&rasterization);
    }
    // SAFETY: the caller's contract: the chain is valid.
    let first = unsafe { info.p_next.cast::<vk::BaseInStructure<'_>>().as_ref() };
    let is_rendering = |next: &vk::BaseInStructure<'_>| next.s_type == rendering.s_type;
    if info.render_pass == vk::RenderPass::null() && !first.is_some_and(is_rendering) {
        info = info.push_next(&mut rendering);
    }
    let made = unsafe { device.create_graphics_pipelines(cache, &[info], None) };
    made.map(|made| made[0]).map_err(|(_, error)| error)
}

/// Creates a compute pipeline of a shader that is named `main`, with what `info` has.
///
/// # Safety
/// The shader is valid, and what `info` has is of the device, and has everything that the shader reads.
pub unsafe fn compute(
    device: &ash::Device,
    words: &[u32],
    info: vk::ComputePipelineCreateInfo<'_>,
) -> vk::Pipeline {
    unsafe {
        attachment::with_stages(device, &[(vk::ShaderStageFlags::COMPUTE, words)], |stages| {
            let info = info.stage(stages[0]);
            let made = device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
            made.unwrap()[0]
        })
    }
}

/// Returns the bindings and the attributes of a vertex input state.
pub fn vertex_input(
    input: &VertexInput,
) -> (Vec<vk::VertexInputBindingDescription>, Vec<vk::VertexInputAttributeDescription>) {
    let rate = |rate| match rate {
        InputRate::Vertex => vk::VertexInputRate::VERTEX,
        InputRate::Instance { .. } => vk::VertexInputRate::INSTANCE,
    };
    let bindings = input.bindings.iter().map(|binding| vk::VertexInputBindingDescription {
        binding: binding.binding,
        stride: binding.stride,
        input_rate: rate(binding.input_rate),
    });
    let attributes = input.attributes.iter().map(|attribute| vk::VertexInputAttributeDescription {
        location: attribute.location,
        binding: attribute.binding,
        format: attribute.format.into(),
        offset: attribute.offset,
    });
    (bindings.collect(), attributes.collect())
}
