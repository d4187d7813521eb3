//! `vkxfb capture`: captures the outputs of a vertex, tessellation evaluation or geometry shader, and
//! shows them.

mod attributes;
mod compare;
mod contents;
mod count_query;
mod device;
mod drawn;
mod interface;
mod mesh;
mod missing;
mod output;
mod picture;
mod plan;
mod progress;
mod records;
mod space;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use spirv::ExecutionModel;
use vkxfb_probe::gpu::{DeviceSelector, Gpu, OpenOptions, Profile, Resources};
use vkxfb_probe::report::Outcome;
use vkxfb_probe::subject::has_later_point_size;
use vkxfb_rewriter::capture::MAX_STREAMS;
use vkxfb_rewriter::lower::reflect;
use vkxfb_rewriter::lower::{Backend, Captures};
use vkxfb_rewriter::topology::ProvokingVertex;

use self::attributes::Choices;
use self::compare::Compared;
use self::device::Job;
use self::drawn::DrawArguments;
use self::mesh::Mesh;
use self::missing::Missing;
use self::output::{Format, Shown};
use self::picture::{Picture, PictureArguments};
use self::plan::CapturePlan;
use self::progress::Steps;
use self::records::place;
use crate::everything;
use crate::stages::Stages;

/// The arguments of `vkxfb capture`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CaptureArguments {
    /// A vertex shader in SPIR-V, WGSL (.wgsl) or GLSL (.vert, .glsl, .vs)
    shader: PathBuf,
    #[command(flatten)]
    captured: crate::captured::Captured,
    #[command(flatten)]
    draw: DrawArguments,
    /// What the input with this name or location reads, if the name does not tell: a column (0=position), or numbers
    /// for all vertices (normal=0,0,1, or one number for all components)
    #[arg(long = "attribute", value_name = "INPUT=COLUMN|NUMBERS")]
    attributes: Vec<Choices>,
    #[command(flatten)]
    supplied: crate::supplied::Supplied,
    /// Make up what is not given, the same at each run: numbers for attributes, for buffers and push constants, also for
    /// members of which others are given, and patches of as many vertices as the control shader makes of each
    #[arg(long, requires = "vertices", conflicts_with_all = ["mesh", "indices"])]
    made_up: bool,
    /// The backend that captures: native, vertex or compute
    #[arg(long, value_parser = crate::options::parse_backend, default_value = "compute")]
    backend: Backend,
    /// Capture with the driver as well, and compare; the exit status is 1 if they differ
    #[arg(long)]
    compare: bool,
    /// The device: its index, or a part of its name; by default the first
    #[arg(long)]
    device: Option<DeviceSelector>,
    /// Limit the features of the device that are used
    #[arg(long, value_enum, default_value_t)]
    profile: Profile,
    /// How the compute backend accesses memory
    #[arg(long, value_enum, default_value_t)]
    resources: Resources,
    /// Run under the validation layer; its messages are errors
    #[arg(long)]
    validate: bool,
    /// The provoking vertex of a primitive: first or last
    #[arg(long, value_parser = crate::options::parse_provoking, default_value = "first")]
    provoking: ProvokingVertex,
    /// Vertex stream to show, for a geometry shader that emits to several; by default the first
    /// that is captured
    #[arg(long, value_name = "NUMBER", requires = "geometry",
        value_parser = clap::value_parser!(u32).range(..MAX_STREAMS as i64))]
    stream: Option<u32>,
    /// How vertices are shown; by default in the format for the extension of --output, otherwise as
    /// a table. With --picture they are shown only if this or --output is given
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write the vertices to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    picture: PictureArguments,
}

const EXAMPLES: &str = "Examples:
  vkxfb capture my.wgsl --vertices 6
      a shader that makes its vertices of their numbers
  vkxfb capture my.vert.spv --mesh bunny.obj --uniform 0.0=camera.bin \\
      --push model.bin -o out.ply
      what its decorations capture, as a mesh (--format ply-text: not binary)
  vkxfb capture my.vert.spv --mesh bunny.obj --uniform 0.0.tint=1,0.5,0 \\
      --uniform 0.0.camera=identity --push model=identity --picture bunny.png
  vkxfb capture my.vert --mesh points.csv --topology line-strip \\
      --varyings gl_Position,colour --format json \\
      --attribute 0=place,sway=0.5,0
  vkxfb capture my.vert.spv --mesh grid.ply --compare --picture out.svg
  vkxfb capture my.vert.spv --geometry my.geom --mesh bunny.obj \\
      --varyings gl_Position -o out.ply
      what a geometry shader emits
  vkxfb capture my.vert.spv --control my.tesc --evaluation my.tese \\
      --patch-control-points 4 --vertices 8 --compare
      what tessellation shaders divide two patches into
  vkxfb capture my.vert --geometry my.geom --made-up --vertices 48 --compare
      whether the driver captures the same, whatever the shaders read
  vkxfb capture my.vert --geometry two_streams.geom --vertices 9 --stream 1

Without --varyings, and where the shader's decorations say nothing of it, the
position and all outputs with locations are captured.

A mesh has columns: OBJ has position, normal, texcoord and color; glTF these,
tangent, uv1, joints and weights, of all meshes of its scene, where their
nodes are, without animations, morph targets and the matrices of skins; PLY
and CSV have those whose scalars are named x y z, nx ny nz, u v (or s t), red
green blue alpha, and others by the names of their scalars: speed, offset.x
offset.y, weights[0] weights[1]. Inputs take the column of their name,
whatever stands before it: inPosition, a_pos and in.var.POSITION0 take
position. --attribute says what others take: a column, or numbers that are the
same for all vertices.

Files of --uniform and --push are bytes as the shader reads them: blocks in
their std140, std430 or scalar layout. A .json has members by their names:
{\"tint\": [1, 0.5, 0], \"view\": \"identity\", \"lights\": [{\"power\": 2}]}.
Images and samplers cannot be given. Members take numbers in their order
(tint=1,0.5,0; one number is for all of them), those of a matrix column by
column (of HLSL row by row), or identity. vkxfb inspect shows a shader's
inputs, outputs and push constants.

PLY and glTF have their vertices where an output that is named as a position
has them (worldPos), otherwise where Position is: as it was captured where its
w is 1, also after an orthographic projection; one with perspective as it is
seen, at x/w, -y/w, -z/w with y upwards and z towards the viewer. Primitives
that reach behind the viewer are left out. All of this is said, in the file as
well. Normals, texture coordinates and colours by their names, too: vNormal,
outUV, geomColour. The last word of a name says what it is. PLY is binary;
--format ply-text writes it as text. Where no position is captured, the first
output of three or four floats is taken for one, which is said. In PLY a
colour from 0 to 1 becomes bytes (red green blue alpha), as other programs
read it. Normals also shade a PNG smoothly.

Exit status: 0 captured; 1 the driver captured something else (--compare); 2
something kept it from running, or the validation layer objected. After
tessellation, primitives are compared as sets, with a tolerance for floats: in
what order a patch's primitives are captured, how its points are connected,
and the last bits are left to the driver (src/guide/limits.md#tessellation).";

impl CaptureArguments {
    /// Checks the arguments, as far as that is possible without reading files.
    fn check(&self) -> Result<()> {
        crate::files::check_outputs([&self.output, &self.picture.picture])?;
        if self.backend == Backend::Vertex
            && let Some((stage, _)) = self.captured.later().first()
        {
            let option = stage.option();
            bail!(
                "the vertex backend takes vertex shaders alone: --backend compute or native takes {option}"
            );
        }
        Ok(())
    }

    /// Returns the format in which vertices are shown on standard output or in a file. `None` if
    /// only a picture is wanted.
    fn shown_as(&self) -> Result<Option<Format>> {
        if self.format == Some(Format::Glb) && self.output.is_none() {
            bail!("--format glb: --output says which file");
        }
        if self.format == Some(Format::Ply)
            && self.output.is_none()
            && std::io::stdout().is_terminal()
        {
            bail!(
                "--format ply is binary: --output says which file; --format ply-text is for reading"
            );
        }
        match (self.format, &self.output, &self.picture.picture) {
            (Some(format), ..) => Ok(Some(format)),
            (None, Some(file), _) => Format::of(file).map(Some),
            (None, None, Some(_)) => Ok(None),
            (None, None, None) => Ok(Some(Format::Table)),
        }
    }
}

/// Runs `vkxfb capture`, and returns its exit status.
pub(crate) fn run(arguments: &CaptureArguments) -> Result<u8> {
    arguments.check()?;
    let format = arguments.shown_as()?;
    let sources = arguments.captured.read(&arguments.shader)?;
    let values = sources.specialized();
    let mut stages = arguments.captured.stages(&sources, &values);
    if stages.before.is_empty() {
        stages.shader = stages.shader.stage(ExecutionModel::Vertex);
    }
    let file = arguments.captured.file(&arguments.shader);
    let in_file = || file.display().to_string();
    let list = match arguments.captured.list(&stages.shader).with_context(in_file)? {
        None => everything::list(&stages.shader, arguments.stream).with_context(in_file)?,
        given => given,
    };
    stages.shader.captures = list.as_ref().map_or(Captures::Decorations, Captures::List);
    let plan = CapturePlan::of(&stages.shader, arguments.stream).with_context(in_file)?;
    if let Some(format) = format {
        format.check(&plan.columns).with_context(in_file)?;
    }
    let picture = arguments.picture.of(&plan.columns).with_context(in_file)?;
    for what in interface::unwritten(&stages.all(), &arguments.captured.files(&arguments.shader))? {
        crate::print::complain("warning:", what);
    }
    let progress = Steps::new(picture.is_some());
    progress.begin("reading");
    // If the file cannot be read, the error names it.
    let mesh = arguments.draw.mesh.as_deref().map(Mesh::read).transpose()?;
    let shows = Shows { plan: &plan, picture: picture.as_ref(), format };
    // What is missing or wrong may be of any of the shaders.
    let in_files = || {
        let files = arguments.captured.files(&arguments.shader);
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        files.join(" and ")
    };
    capture(arguments, &stages, mesh.as_ref(), &shows, &progress).with_context(in_files)
}

/// The captured outputs, and how they are shown.
struct Shows<'a> {
    plan: &'a CapturePlan,
    picture: Option<&'a Picture<'a>>,
    format: Option<Format>,
}

fn capture(
    arguments: &CaptureArguments,
    stages: &Stages<'_>,
    mesh: Option<&Mesh>,
    shows: &Shows<'_>,
    progress: &Steps,
) -> Result<u8> {
    let Shows { plan, picture, format } = *shows;
    let mut missing = Missing::default();
    let made_up = arguments.made_up;
    let vertices = arguments.draw.vertices.filter(|_| made_up);
    let vertex_data = attributes::vertex_data(
        stages.first(),
        mesh,
        &arguments.attributes,
        vertices,
        &mut missing,
    )?;
    let contents = contents::of(&arguments.supplied, stages, made_up, &mut missing)?;
    arguments.draw.note_missing(&mut missing);
    let is_tessellated = arguments.captured.control.is_some();
    let geometry = reflect::geometry(&stages.shader, &stages.native())?;
    let assembly = arguments.draw.assembly(geometry, is_tessellated, made_up, &mut missing)?;
    missing.check()?;
    mesh.and_then(|mesh| mesh.remark.as_ref()).into_iter().for_each(crate::print::remark);
    let drawn = arguments.draw.drawn(mesh, &vertex_data)?;
    if let Some(remark) = drawn.left_over(assembly) {
        crate::print::remark(remark);
    }
    let job = Job {
        stages,
        geometry,
        vertex_data: &vertex_data,
        contents: &contents,
        drawn: &drawn,
        assembly,
        layout: &plan.layout,
        stream: plan.stream,
        provoking: arguments.provoking,
    };
    let mut later_point_size = false;
    for shader in stages.all() {
        later_point_size |= has_later_point_size(shader.words)?;
    }
    let mut gpu = Gpu::open(&OpenOptions {
        device: arguments.device.clone(),
        profile: arguments.profile,
        resources: arguments.resources,
        validation: arguments.validate,
        later_point_size,
        ..OpenOptions::default()
    })?;
    device::check(&gpu, arguments.backend, &job)?;
    if arguments.compare {
        device::check(&gpu, Backend::Native, &job).context("--compare")?;
    }
    progress.begin("capturing");
    let taken = device::take(&mut gpu, arguments.backend, &job)?;
    let native = if arguments.compare {
        Some(device::take(&mut gpu, Backend::Native, &job).context("--compare")?)
    } else {
        None
    };
    let device = gpu.capabilities().device_name.clone();
    let per_primitive = job.captured_topology().vertices_per_primitive();
    let records = plan.records(&taken, per_primitive);
    let shown = Shown {
        device: &device,
        backend: arguments.backend.name(),
        topology: job.captured_topology(),
        primitives_written: taken.primitives_written,
        primitives_needed: taken.primitives_needed,
        stream: plan.stream,
        others: &plan.other_streams,
        records: &records,
    };
    // All output is made before the first file is written, so that no file is left after an error.
    let mut files = Vec::new();
    if let (Some(Format::Ply | Format::PlyText | Format::Glb), Some(place)) =
        (format, place(records.columns))
        && let Some(remark) = place.guessed_position()
    {
        crate::print::remark(match &arguments.output {
            Some(file) => format!("{}: {remark}", file.display()),
            None => remark,
        });
    }
    if let Some(picture) = picture {
        progress.begin("drawing");
        let name =
            |file: &Path| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let names = arguments.captured.files(&arguments.shader).into_iter().map(name);
        let name = names.collect::<Vec<_>>().join(" and ");
        files.push((picture.file, picture.render(&mut gpu, &shown, &name)?));
    }
    let messages = crate::print::once_each(&gpu.close());
    progress.begin("writing");
    let is_seen = arguments.output.is_none() && std::io::stdout().is_terminal();
    let bytes = match format {
        Some(Format::Table) if is_seen => Some(shown.table_for_terminal().into_bytes()),
        format => format.map(|format| shown.render(format, progress)).transpose()?,
    };
    // What is not written to a file is printed.
    let printed = match (&arguments.output, bytes) {
        (Some(file), Some(bytes)) => {
            files.push((file.as_path(), bytes));
            None
        }
        (_, bytes) => bytes,
    };
    for (file, bytes) in &files {
        crate::files::write(file, bytes)?;
    }
    progress.end();
    match (printed, format) {
        (Some(json), Some(Format::Json)) => {
            crate::print::show_json_text(&String::from_utf8_lossy(&json))?
        }
        (Some(table), Some(Format::Table)) => crate::print::show(&String::from_utf8_lossy(&table))?,
        (Some(data), _) => crate::print::show_data(&data)?,
        (None, _) => {
            let names = files.iter().map(|(file, _)| file.display().to_string());
            let names = names.collect::<Vec<_>>().join(", ");
            crate::print::show(&format!("{names}: {}\n", shown.summary()))?;
        }
    }
    let mut outcome = Outcome::AllRight;
    let compare = if is_tessellated { compare::of_patches } else { compare::in_order };
    let records = records.vertices;
    match native.map(|native| compare(plan, &taken, &native, per_primitive)) {
        Some(Compared::Different(difference)) => {
            crate::print::complain("the driver captured something else:", difference);
            outcome = Outcome::Mismatches;
        }
        // The result of the comparison goes to standard error, because other programs may read the
        // captured vertices from standard output.
        Some(Compared::Equal) => {
            crate::print::remark(format_args!(
                "equal to the driver's own capture, {records} records"
            ));
        }
        Some(Compared::AsSets(how)) => {
            crate::print::remark(format_args!(
                "equal to the driver's own capture, {records} records, {how}; see \
                 src/guide/limits.md#tessellation"
            ));
        }
        None => {}
    }
    for message in &messages {
        crate::print::complain("validation:", message);
        outcome = Outcome::CouldNotRun;
    }
    Ok(outcome.exit_code())
}
