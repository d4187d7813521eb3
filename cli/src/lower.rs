//! `vkxfb lower`: rewrites a shader for a backend.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use vkxfb_rewriter::lower::compute::WorkgroupSizes;
use vkxfb_rewriter::lower::reflect::vertex_reads;
use vkxfb_rewriter::lower::{Backend, Captures, Lowered, ResourcePlan, compute, native, vertex};
use vkxfb_rewriter::vertex_input::{InputRate, VertexAttribute, VertexBinding, VertexInput};

use crate::primitives::Primitives;
use crate::source::Sources;

/// The arguments of `vkxfb lower`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LowerArguments {
    /// A shader in SPIR-V (a vertex shader; for the native backend also a tessellation evaluation
    /// or geometry shader), or a vertex shader in WGSL (.wgsl) or GLSL (.vert, .glsl, .vs)
    shader: PathBuf,
    /// The backend: native, vertex or compute
    #[arg(long, value_parser = crate::options::parse_backend)]
    backend: Backend,
    #[command(flatten)]
    translated: crate::captured::Translated,
    #[command(flatten)]
    attributes: crate::attributes::Attributes,
    /// For the compute backend: number of invocations of a workgroup
    #[arg(long, value_name = "N", default_value_t = compute::DEFAULT_WORKGROUP_SIZE)]
    workgroup_size: u32,
    /// For the compute backend: size in bytes of the shared memory in which a workgroup collects
    /// records; 0 for none
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    staging: u32,
    /// For the compute backend: access memory through storage buffers in this descriptor set, which
    /// must come after all sets that the shader uses, instead of by device address
    #[arg(long, value_name = "SET")]
    descriptor_set: Option<u32>,
    /// For the native backend with a capture list: the device's maxVertexOutputComponents,
    /// maxTessellationEvaluationOutputComponents or maxGeometryOutputComponents
    #[arg(long, value_name = "N", default_value_t = native::MIN_OUTPUT_COMPONENTS)]
    max_output_components: u32,
    #[command(flatten)]
    output: crate::output::Output,
}

const EXAMPLES: &str = "Examples:
  vkxfb lower my.vert.spv --backend compute --text
  vkxfb lower my.wgsl --backend vertex --varyings colour,@Position -o out.spv
  vkxfb lower my.vert.spv --backend native --stream-output stream-output.json -o out.spv
  vkxfb lower my.vert.spv --geometry my.geom.spv --backend compute -o out.spv
                                          a geometry shader and the vertex shader before it, in one
  vkxfb lower my.vert.spv --control my.tesc --evaluation my.tese --backend native -o out.spv
                                          a tessellation evaluation shader for the driver's capture
  vkxfb lower my.vert.spv --backend compute -o out.spv --json \\
      --attribute 0=R32G32B32_SFLOAT@0,1=R8G8B8A8_UNORM@0+12,2=R32G32B32A32_SFLOAT@1 \\
      --binding 0=16,1=16/instance

Formats and rates of attributes are compiled into the module. It gets
bindings, offsets and strides at run time; --json shows those that were given
or assumed.

With --geometry or --evaluation, that shader is captured. By compute all
shaders become one module. Natively the last shader is written, and those
before it stay as they are (vkxfb strip-xfb, if they capture, too).

vkxfb inspect shows a shader's inputs and outputs. vkxfb --help has an example
of stream-output.json.

Exit status: 0, or 2 if the shader cannot be lowered in this way.";

impl LowerArguments {
    /// Whether options name the outputs to capture, so that decorations are ignored.
    pub(super) fn has_list(&self) -> bool {
        self.translated.has_list()
    }

    fn resources(&self) -> ResourcePlan {
        match self.descriptor_set {
            None => ResourcePlan::DeviceAddress,
            Some(_) => ResourcePlan::Descriptors { reads: 18, writes: 6 },
        }
    }
}

/// Runs `vkxfb lower`, and returns its exit status.
pub(crate) fn run(arguments: &LowerArguments) -> Result<u8> {
    if arguments.backend != Backend::Compute && !arguments.attributes.is_empty() {
        bail!(
            "--attribute and --binding are for the compute backend: the others leave vertex input to the driver"
        );
    }
    if arguments.backend == Backend::Vertex
        && let Some((stage, _)) = arguments.translated.captured.later().first()
    {
        let option = stage.option();
        bail!(
            "{option} is for the native and the compute backend: the vertex backend takes vertex shaders alone"
        );
    }
    let sources = arguments.translated.captured.read(&arguments.shader)?;
    let file = arguments.translated.captured.file(&arguments.shader);
    let (lowered, vertex_input) =
        lower(arguments, &sources).with_context(|| file.display().to_string())?;
    arguments.output.put(&lowered.words, &report(&lowered, vertex_input.as_ref()))
}

/// Lowers the shader. Also returns the vertex input for the compute backend, whose shaders pull attributes (read them
/// from the vertex buffers themselves).
fn lower(arguments: &LowerArguments, sources: &Sources) -> Result<(Lowered, Option<VertexInput>)> {
    let values = sources.specialized();
    let stages = arguments.translated.stages(sources, &values);
    let mut shader = stages.shader;
    let list = arguments.translated.list(&shader)?;
    shader.captures = list.as_ref().map_or(Captures::Decorations, Captures::List);
    Ok(match arguments.backend {
        Backend::Native => {
            let options = stages.native().max_output_components(arguments.max_output_components);
            (native::lower_with(&shader, &options)?, None)
        }
        Backend::Vertex => (vertex::lower(&shader)?, None),
        Backend::Compute => {
            let vertex_input = arguments.attributes.vertex_input(&vertex_reads(stages.first())?)?;
            let target = compute::Target::default()
                .workgroup_sizes(WorkgroupSizes::all(arguments.workgroup_size))
                .resources(arguments.resources())
                .staging(arguments.staging);
            let options = stages.compute(&vertex_input).target(target);
            let mut lowered = compute::lower(&shader, &options)?;
            if let Some(set) = arguments.descriptor_set {
                lowered.move_descriptor_set(set)?;
            }
            (lowered, Some(vertex_input))
        }
    })
}

/// The properties of the lowered module that a program has to know, for `--json`.
fn report(lowered: &Lowered, vertex_input: Option<&VertexInput>) -> Value {
    let compute = lowered.compute();
    let bindings = vertex_input.map_or(&[][..], |input| &input.bindings);
    let attributes = vertex_input.map_or(&[][..], |input| &input.attributes);
    let resources = lowered.resources().map(|plan| {
        match lowered.compute().and_then(|compute| compute.descriptor_set) {
            Some(set) => format!("{plan} in descriptor set {set}"),
            None => plan.to_string(),
        }
    });
    let spec_ids = lowered.spec_ids().map(|ids| {
        json!({
            "topology": ids.topology,
            "restart": ids.restart,
            "general": ids.general,
            "fused": ids.fused,
            "indexed": ids.indexed,
            "partial_indices": ids.partial_indices,
            "batched": ids.batched,
            "wide_loads": ids.wide_loads,
            "wide_stores": ids.wide_stores,
            "plain": ids.unchecked,
            "workgroup_size": ids.workgroup_size,
        })
    });
    let binding = |b: &VertexBinding| {
        // The number of instances that share an element. `None` for the vertex rate.
        let instance_divisor = match b.input_rate {
            InputRate::Vertex => None,
            InputRate::Instance { divisor } => Some(divisor),
        };
        json!({ "binding": b.binding, "stride": b.stride, "instance_divisor": instance_divisor })
    };
    let attribute = |a: &VertexAttribute| {
        let format = a.format.to_string();
        json!({ "location": a.location, "binding": a.binding, "format": format, "offset": a.offset })
    };
    // The location of the attribute that each attribute descriptor in the sysvals describes.
    let read = compute.map_or(&[][..], |compute| &compute.attributes);
    let push_constants = Some(&lowered.push_constants).filter(|range| !range.is_empty());
    let geometry = lowered.geometry().map(|of| Primitives::of(of, lowered.stage));
    json!({
        "backend": lowered.backend().name(),
        "entry_point": lowered.entry_point,
        // The 128-bit XXH3 hash of the module's words.
        "cache_key": format!("{:032x}", lowered.cache_key()),
        // The stride in bytes of each capture buffer. `None` for a buffer that is not captured to.
        "strides": lowered.layout.strides,
        "has_side_effects": lowered.effects.side_effects,
        "uses_atomic_results": lowered.effects.atomic_results,
        "has_subgroup_operations": lowered.effects.subgroup_operations,
        "resources": resources,
        // The descriptor sets of the application that the shader uses.
        "descriptor_sets": lowered.descriptor_sets,
        // The range in bytes of push constants that the application's shader reads, in multiples of 16. For the native
        // backend, the whole block. `None` if the shader reads none.
        "push_constants": push_constants,
        "spec_ids": spec_ids,
        // The declarations of the stages after the vertex shader. `None` if there is only one shader.
        "geometry": geometry,
        // This field and all that follow are only for the compute backend.
        "workgroup_size": compute.map_or(0, |compute| compute.workgroup_sizes.others),
        "shared_memory": compute.map_or(0, |compute| compute.shared_memory),
        "attribute_locations": read.iter().map(|a| a.location).collect::<Vec<_>>(),
        "bindings": bindings.iter().map(binding).collect::<Vec<_>>(),
        "attributes": attributes.iter().map(attribute).collect::<Vec<_>>(),
    })
}
