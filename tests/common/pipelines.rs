//! Compute pipelines that capture draws of any topology.

use vkxfb::lower::{Backend, Lowered, Shader, compute};
use vkxfb::runtime::{Pipeline, PipelineDesc};
use vkxfb::topology::PrimitiveTopology;
use vkxfb::vertex_input::VertexInput;
use vkxfb_probe::gpu::Gpu;
use vkxfb_probe::shaders::ProbeShader;

/// Lowers the shader that reads no attributes and captures 16 bytes, which include the numbers of
/// the vertex and the instance.
pub fn identify(gpu: &Gpu) -> (Lowered, VertexInput) {
    let shader = ProbeShader::identify();
    let target = gpu.compute_target(Backend::Compute).unwrap();
    let options = compute::Options::new(&shader.vertex_input).target(target);
    let lowered = compute::lower(&Shader::new(&shader.words()), &options).unwrap();
    (lowered, shader.vertex_input)
}

/// Creates a pipeline for draws of any topology.
pub fn dynamic(
    gpu: &Gpu,
    (shader, vertex_input): &(Lowered, VertexInput),
    primitive_restart: bool,
) -> Pipeline {
    let desc = PipelineDesc::new(shader)
        .topology(PrimitiveTopology::PointList)
        .dynamic_topology(true)
        .primitive_restart(primitive_restart)
        .vertex_input(vertex_input);
    // SAFETY: the context is of a live device.
    unsafe { Pipeline::new(gpu.context(), &desc) }.unwrap()
}
