//! `vkxfb lower`

use std::path::PathBuf;

use anyhow::{Context, Result};
use vkxfb::lower::reflect::vertex_reads;
use vkxfb::lower::{Backend, Captures, ResourcePlan, Shader, compute, native, vertex};

/// Arguments of `vkxfb lower`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A vertex shader: SPIR-V, WGSL (.wgsl) or GLSL (.vert, .glsl)
    shader: PathBuf,
    /// native, vertex or compute
    #[arg(long, value_parser = super::parse_backend)]
    backend: Backend,
    #[command(flatten)]
    captured: super::Captured,
    /// Invocations of a workgroup of the compute backend
    #[arg(long, value_name = "N", default_value_t = compute::DEFAULT_WORKGROUP_SIZE)]
    workgroup_size: u32,
    /// Of the compute backend: bytes of shared memory in which a workgroup collects records, 0 for none
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    staging: u32,
    /// Of the compute backend: reach memory by the storage buffers of this descriptor set, not by device
    /// address
    #[arg(long, value_name = "SET")]
    descriptor_set: Option<u32>,
    /// With --varyings, of the native backend: the device's maxVertexOutputComponents
    #[arg(long, value_name = "N", default_value_t = native::MIN_OUTPUT_COMPONENTS)]
    max_output_components: u32,
    #[command(flatten)]
    output: super::Output,
}

impl Arguments {
    fn resources(&self) -> ResourcePlan {
        self.descriptor_set.map_or(ResourcePlan::DeviceAddress, |set| ResourcePlan::Descriptors {
            set,
            reads: 18,
            writes: 6,
        })
    }
}

/// Runs `vkxfb lower`.
pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    let words = super::read(&arguments.shader, arguments.captured.entry_point())?;
    let lowered =
        lower(arguments, &words).with_context(|| arguments.shader.display().to_string())?;
    arguments.output.put(&lowered)
}

fn lower(arguments: &Arguments, words: &[u32]) -> Result<Vec<u32>> {
    let entry_point = arguments.captured.entry_point();
    let specialization = arguments.captured.constants.specialization();
    let shader = Shader { entry_point, specialization: &specialization, ..Shader::new(words) };
    let list = arguments.captured.list(&shader)?;
    let captures = list.as_ref().map_or(Captures::Decorations, Captures::List);
    let shader = Shader { captures, ..shader };
    let lowered = match arguments.backend {
        Backend::Native => native::lower_within(&shader, arguments.max_output_components)?,
        Backend::Vertex => vertex::lower(&shader)?,
        Backend::Compute => {
            // What would be bound is not known here: tightly packed, as the shader reads it.
            let reads = vertex_reads(&shader)?;
            let vertex_input = reads.packed_vertex_input();
            let target = compute::Target {
                workgroup_size: arguments.workgroup_size,
                resources: arguments.resources(),
                staging: arguments.staging,
            };
            compute::lower(&shader, &compute::Options { vertex_input: &vertex_input, target })?
        }
    };
    Ok(lowered.words)
}
