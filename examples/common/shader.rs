//! Shaders, compiled by naga.

use anyhow::{Context as _, Result, anyhow};
use naga::back::spv;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{Module, ShaderStage};

/// The shader of that name in a source in WGSL.
pub fn wgsl(source: &str, name: &str) -> Result<Vec<u32>> {
    let module = naga::front::wgsl::parse_str(source)
        .map_err(|error| anyhow!(error.emit_to_string(source)))?;
    compile(&module, name)
}

/// A shader in GLSL.
pub fn glsl(source: &str, stage: ShaderStage) -> Result<Vec<u32>> {
    let mut frontend = naga::front::glsl::Frontend::default();
    let module = frontend
        .parse(&stage.into(), source)
        .map_err(|errors| anyhow!(errors.emit_to_string(source)))?;
    compile(&module, "main")
}

fn compile(module: &Module, name: &str) -> Result<Vec<u32>> {
    let info = Validator::new(ValidationFlags::all(), Capabilities::all()).validate(module)?;
    let entry = module.entry_points.iter().find(|entry| entry.name == name);
    let shader_stage = entry.with_context(|| format!("no shader {name}"))?.stage;
    let pipeline = spv::PipelineOptions { shader_stage, entry_point: name.to_owned() };
    // What is captured is found by name. The driver draws points of those shaders only that say how large.
    let flags = spv::WriterFlags::DEBUG
        | spv::WriterFlags::LABEL_VARYINGS
        | spv::WriterFlags::FORCE_POINT_SIZE;
    let options = spv::Options { flags, ..Default::default() };
    Ok(spv::write_vec(module, &info, &options, Some(&pipeline))?)
}

/// The words of a compiled shader.
pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect()
}
