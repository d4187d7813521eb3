//! `vkxfb capture`

mod attributes;
mod count_query;
mod device;
mod drawn;
mod mesh;
mod output;
mod picture;
mod records;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use spirv::{ExecutionModel, StorageClass};
use vkxfb::capture::MAX_STREAMS;
use vkxfb::internal::capture::{InterfaceVariable, interface_variables};
use vkxfb::internal::reflect;
use vkxfb::internal::spirv::declarations::Declarations;
use vkxfb::lower::{Backend, Captures, Shader};
use vkxfb::topology::ProvokingVertex;
use vkxfb_probe::contents::{Contents, Missing};
use vkxfb_probe::gpu::{DeviceSelector, Gpu, OpenOptions};
use vkxfb_probe::report::Outcome;
use vkxfb_probe::subject::has_geometry_point_size;

use self::attributes::Chosen;
use self::device::{Job, Taken};
use self::drawn::DrawArguments;
use self::mesh::Mesh;
use self::output::{Format, Shown};
use self::records::Records;
use super::Stages;

/// Arguments of `vkxfb capture`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A vertex shader in SPIR-V, WGSL (.wgsl) or GLSL (.vert, .glsl, .vs)
    shader: PathBuf,
    #[command(flatten)]
    captured: super::Captured,
    #[command(flatten)]
    draw: DrawArguments,
    /// Which column of the mesh an input reads, where its name does not tell: 0=position, 1=color:R8G8B8A8_UNORM. The
    /// format is what the numbers are made into; without it, what the shader declares
    #[arg(long = "attribute", value_name = "LOCATION=COLUMN[:FORMAT],...", value_delimiter = ',',
        value_parser = attributes::parse_chosen, requires = "mesh")]
    attributes: Vec<Chosen>,
    #[command(flatten)]
    supplied: super::supplied::Supplied,
    /// Who captures: native, vertex or compute
    #[arg(long, value_parser = super::parse_backend, default_value = "compute")]
    backend: Backend,
    /// Capture by the driver as well, and compare; exit status 1 where they differ
    #[arg(long)]
    compare: bool,
    /// The device: its index, or a part of its name; by default the first
    #[arg(long)]
    device: Option<DeviceSelector>,
    /// Use no more of the device than this
    #[arg(long, value_enum, default_value_t)]
    profile: super::ProfileName,
    /// How captures by compute reach memory
    #[arg(long, value_enum, default_value_t)]
    resources: super::ResourcesName,

    /// Give the driver shaders as they are lowered, to rule out the optimizer that they otherwise go through
    #[arg(long)]
    unoptimized: bool,
    /// Run under the validation layer; its messages are errors
    #[arg(long)]
    validate: bool,
    /// Which vertex of a primitive provokes: first or last
    #[arg(long, value_parser = super::probe::parse_provoking, default_value = "first")]
    provoking: ProvokingVertex,
    /// Of a geometry shader that emits to several vertex streams, the one to show; by default the first that is captured
    #[arg(long, value_name = "NUMBER", requires = "geometry",
        value_parser = clap::value_parser!(u32).range(..MAX_STREAMS as i64))]
    stream: Option<u32>,
    /// Bytes of each capture buffer, to see what does not fit; by default there is room for everything
    #[arg(long, value_name = "BYTES")]
    buffer_size: Option<u64>,
    /// How vertices are shown; by default as the extension of --output says, otherwise as a table
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write the vertices here
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draw the captured primitives: an .svg
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  vkxfb capture my.wgsl --vertices 6 --varyings @Position
                                                    a shader that makes its vertices of their numbers
  vkxfb capture my.vert.spv --mesh bunny.obj --uniform 0.0=camera.bin --push model.bin -o out.ply
                                                    what its decorations capture, as a mesh
  vkxfb capture my.vert --mesh points.csv --topology line-strip --varyings gl_Position,colour \\
      --attribute 0=place,1=tint:R8G8B8A8_UNORM --format json
  vkxfb capture my.vert.spv --mesh grid.ply --compare --picture out.svg
  vkxfb capture my.vert.spv --geometry my.geom --mesh bunny.obj --varyings gl_Position -o out.ply
                                                    what a geometry shader emits
  vkxfb capture my.vert --geometry two_streams.geom --vertices 9 --stream 1

A mesh has columns: OBJ has position, normal, texcoord and color; PLY and CSV have those whose
scalars are named x y z, nx ny nz, u v (or s t), red green blue alpha, and others by the names of
their scalars: speed, offset.x offset.y, weights[0] weights[1]. Inputs take the column of their name,
whatever stands before it: inPosition, a_pos and in.var.POSITION0 take position.

Files of --uniform and --push are bytes as the shader reads them: blocks in their std140, std430 or
scalar layout. vkxfb inspect shows a shader's inputs, outputs and push constants.

Exit status: 0 captured; 1 the driver captured something else (--compare); 2 something kept it from
running, or the validation layer objected.";

impl Arguments {
    /// Whether it is said beside the shader what to capture.
    pub(super) fn has_list(&self) -> bool {
        self.captured.has_list()
    }
}

/// Runs `vkxfb capture`.
pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    if let Some(file) = &arguments.picture {
        picture::check_name(file)?;
    }
    super::check_outputs([&arguments.output, &arguments.picture])?;
    let stage = arguments.captured.selected.stage().unwrap_or(ExecutionModel::Vertex);
    if stage != ExecutionModel::Vertex {
        bail!("only vertex shaders are captured: pipelines take no others");
    }
    if arguments.backend == Backend::Vertex && arguments.captured.geometry.is_some() {
        bail!(
            "the vertex backend takes vertex shaders alone: --backend compute or native takes --geometry"
        );
    }
    let sources = arguments.captured.read(&arguments.shader)?;
    let values = sources.specialized();
    let mut stages = arguments.captured.stages(&sources, &values);
    if stages.vertex.is_none() {
        stages.shader = stages.shader.stage(ExecutionModel::Vertex);
    }
    let captured = arguments.captured.file(&arguments.shader);
    let list = arguments.captured.list(&stages.shader);
    let list = list.with_context(|| captured.display().to_string())?;
    stages.shader.captures = list.as_ref().map_or(Captures::Decorations, Captures::List);
    capture(arguments, &stages).with_context(|| captured.display().to_string())
}

fn capture(arguments: &Arguments, stages: &Stages<'_>) -> Result<u8> {
    let shader = &stages.shader;
    let mesh = arguments.draw.mesh.as_deref().map(Mesh::read).transpose()?;
    let vertex_data =
        attributes::vertex_data(stages.first(), mesh.as_ref(), &arguments.attributes)?;
    let reads_mesh = !vertex_data.buffers.is_empty();
    let drawn = arguments.draw.drawn(mesh.as_ref(), reads_mesh)?;
    let contents =
        Contents::of_stages(&stages.all(), &arguments.supplied.read()?, Missing::Refuse)?;
    let job = Job {
        stages,
        geometry: reflect::geometry(shader)?,
        vertex_data: &vertex_data,
        contents: &contents,
        drawn: &drawn,
        topology: arguments.draw.topology,
        stream: arguments.stream,
        provoking: arguments.provoking,
        buffer_size: arguments.buffer_size,
    };
    let mut gpu = Gpu::open(&OpenOptions {
        device: arguments.device.clone(),
        profile: arguments.profile.into(),
        resources: arguments.resources.into(),
        unoptimized: arguments.unoptimized,
        validation: arguments.validate,
        geometry_point_size: has_geometry_point_size(shader.words)?,
        ..OpenOptions::default()
    })?;
    let taken = device::take(&mut gpu, arguments.backend, &job)?;
    let native = match arguments.compare {
        true => Some(device::take(&mut gpu, Backend::Native, &job).context("--compare")?),
        false => None,
    };
    let device = gpu.capabilities().device_name.clone();
    let messages = super::once_each(&gpu.close());

    let variables = outputs(shader)?;
    let per_primitive = job.captured_topology().vertices_per_primitive();
    let records = Records::of(&taken, &variables, per_primitive);
    let shown = Shown {
        device: &device,
        backend: arguments.backend.name(),
        topology: job.captured_topology(),
        primitives_written: taken.primitives_written,
        primitives_needed: taken.primitives_needed,
        stream: taken.stream,
        others: &taken.other_streams,
        records: &records,
    };
    show(arguments, &shown)?;
    let mut outcome = Outcome::AllRight;
    match native.map(|native| difference(&taken, &native, &variables, per_primitive)) {
        Some(Some(difference)) => {
            super::complain("the driver captured something else:", difference);
            outcome = Outcome::Mismatches;
        }
        // Beside what was captured, which standard output has for other programs.
        Some(None) => {
            let records = records.vertices;
            super::remark(format_args!("equal to the driver's own capture, {records} records"));
        }
        None => {}
    }
    for message in &messages {
        super::complain("validation:", message);
        outcome = Outcome::CouldNotRun;
    }
    Ok(outcome.exit_code())
}

/// The outputs that there are.
fn outputs(shader: &Shader<'_>) -> Result<Vec<InterfaceVariable>> {
    let module = shader.module()?;
    let entry = shader.find(&module)?;
    Ok(interface_variables(&Declarations::of(&module), &entry, StorageClass::Output))
}

/// Writes and prints what was captured.
fn show(arguments: &Arguments, shown: &Shown<'_>) -> Result<()> {
    if let Some(file) = &arguments.picture {
        let name = arguments.shader.file_name().unwrap_or_default().to_string_lossy();
        super::write(file, &picture::draw(shown, &name)?)?;
    }
    match &arguments.output {
        Some(file) => {
            let text = shown.render(arguments.format.unwrap_or_else(|| Format::of(file)))?;
            super::write(file, &text)?;
            super::show(&format!("{}\n", shown.summary()))
        }
        None => super::show(&shown.render(arguments.format.unwrap_or(Format::Table))?),
    }
}

/// What of a capture the driver has otherwise, in words.
fn difference(
    taken: &Taken,
    native: &Taken,
    variables: &[InterfaceVariable],
    per_primitive: u32,
) -> Option<String> {
    let (ours, theirs) = (taken.primitives_written, native.primitives_written);
    if ours != theirs {
        return Some(format!("{theirs} primitives, not {ours}"));
    }
    let ours = Records::of(taken, variables, per_primitive);
    let theirs = Records::of(native, variables, per_primitive);
    let bits = |numbers: &[records::Number]| -> Vec<String> {
        numbers.iter().map(|number| format!("{number:?}")).collect()
    };
    let columns = || ours.columns.iter().zip(&theirs.columns);
    let differs = |vertex: usize| {
        columns().find_map(|(own, other)| {
            let (a, b) = (ours.numbers(vertex, own), theirs.numbers(vertex, other));
            (bits(&a) != bits(&b)).then_some((vertex, &own.name, a, b))
        })
    };
    let different: Vec<_> = (0..ours.vertices).filter_map(differs).collect();
    let (vertex, name, own, other) = different.first()?;
    let list = |numbers: &[records::Number]| {
        numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let count = different.len();
    let vertices = ours.vertices;
    Some(format!(
        "{count} of {vertices} vertices, the first is vertex {vertex}, whose {name} is {} and not {}",
        list(other),
        list(own)
    ))
}
