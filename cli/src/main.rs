//! The command `vkxfb`: parses arguments, calls the library, and shows the results. The exit status
//! is 0 if all is right; 1 if the probe found mismatches, or the benchmark or a comparison found
//! something wrong; and 2 if the command could not run.

mod attributes;
mod bench;
mod broadcast;
mod capture;
mod everything;
mod glslang;
mod hint;
mod info;
mod inspect;
mod layer;
mod log;
mod lower;
mod manual;
mod probe;
mod source;
mod specialize;
mod split;
mod stream_output;
mod strip;
mod supplied;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::builder::Styles;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use owo_colors::OwoColorize;
use serde::Serialize;
use spirv::ExecutionModel;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::MakeWriterExt;
use vkxfb::capture::{BufferMode, CaptureList};
use vkxfb::frontend::NAGA_THREAD;
use vkxfb::internal::lower::{LoweredGeometry, LoweredTessellation};
use vkxfb::internal::tessellator::{Domain, Spacing};
use vkxfb::lower::compute::DomainOrigin;
use vkxfb::lower::{Backend, Shader, compute, native};
use vkxfb::spirv::specialization::SpecializationConstant;
use vkxfb::vertex_input::VertexInput;
use vkxfb_probe::gpu::{Message, Profile, Resources};
use vkxfb_probe::report::{check_writable, write_atomically};
use vkxfb_probe::terminal;

use self::source::LaterStage;

/// The exit status if the command could not run.
const COULD_NOT_RUN: u8 = 2;

/// Transform feedback for every Vulkan device, by compute.
#[derive(Debug, Parser)]
#[command(name = "vkxfb", version, about, after_help = EXAMPLES, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = r#"Examples:
  vkxfb info                          which devices there are, and what each allows
  vkxfb probe                         capture all topologies on every device, by every backend
  vkxfb probe --quick --html out.html the same in short, with pictures
  vkxfb probe --profile bifrost       as on a Mali-G52: Vulkan 1.0, compute alone
  vkxfb probe --report bug.md         with a file for the driver's maintainer
  vkxfb probe compare old.md new.md   which cases another driver made right, and which wrong
  vkxfb bench --plot bench.svg        how fast: beside native, and beside what the memory allows
  vkxfb inspect my.vert.spv           a shader's outputs, and where what is captured of them goes
  vkxfb lower my.wgsl --backend compute --varyings colour,@Position -o out.spv
  vkxfb capture my.vert.spv --mesh bunny.obj -o out.ply
                                      what a shader makes of a mesh: also as CSV, JSON or a picture
  vkxfb capture my.vert --geometry my.geom --vertices 6 --picture out.png
                                      what a geometry shader behind a vertex shader emits
  vkxfb capture my.vert --control my.tesc --evaluation my.tese --patch-control-points 3 --vertices 6
                                      what tessellation shaders make of two patches
  vkxfb probe --shader my.vert.spv --topology triangle-strip --vertices 7
  vkxfb layer install --user          let the Vulkan loader find the layer
  vkxfb completions bash              what a shell completes commands with; vkxfb man prints a page
vkxfb COMMAND --help has more.

Shaders are SPIR-V, vertex shaders in WGSL, or GLSL, which glslang compiles
where it is installed.

--varyings takes outputs by name (colour, block.matrix, light[2].position,
gl_Position) or by place: @3 is the output at location 3, @3.yz the second and
third of that location's components, @Position the built-in. vkxfb inspect
lists both. gl_SkipComponents1 to gl_SkipComponents4 leave a gap,
gl_NextBuffer moves on to the next buffer.

stream-output.json holds Gallium's stream outputs; offsets and strides count
dwords:
  { "strides": [4],
    "outputs": [{ "register_index": 0, "start_component": 0, "num_components": 4,
                  "output_buffer": 0, "dst_offset": 0, "stream": 0 }] }
A register is the number of an output among those written, in the order of
gl_varying_slot. COL0 to VIEWPORT_MASK are at locations 0 to 10 and VARn at 11
+ n; with "locations": "unpacked" VARn is at n. "outputs_written" may give the
mask of slots, which is otherwise worked out.

Set VKXFB_LOG=debug (or trace) to see what is decided, for example
VKXFB_LOG=vkxfb::lower=trace.

Exit status: 0 all right; 1 the probe, the benchmark or a comparison found
something wrong; 2 it could not run."#;

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure how fast captures are, compared with the driver's own and with a kernel that only
    /// moves the bytes.
    Bench(bench::Arguments),
    /// Let a fragment shader write its colour to every attachment.
    BroadcastColor(broadcast::Arguments),
    /// Capture the outputs of a vertex, tessellation evaluation or geometry shader, for a mesh or a
    /// number of vertices.
    Capture(capture::Arguments),
    /// Print a script with which a shell completes commands and options.
    Completions(manual::CompletionArguments),
    /// List the devices, the backends that are available on each, and why others are not.
    Info(info::Arguments),
    /// Show what a shader captures, and the locations that it does not use.
    Inspect(inspect::Arguments),
    /// Install the Vulkan layer, or print its manifest.
    Layer(layer::Arguments),
    /// Rewrite a shader for a backend.
    Lower(lower::Arguments),
    /// Print the manual page, in roff.
    Man,
    /// Make each member of a shader's output blocks and structures a variable.
    SplitBlocks(split::Arguments),
    /// Remove transform feedback from a module, for a driver that should not capture.
    StripXfb(strip::Arguments),
    /// Capture every topology and compare the bytes with a model of the specification.
    Probe(probe::Arguments),
}

/// The stage of the shader that is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StageName {
    /// A vertex shader. The vertex backend captures no other stage; compute captures
    /// later stages by --evaluation and --geometry
    Vertex,
    /// A tessellation evaluation shader
    TessellationEvaluation,
    /// A geometry shader
    Geometry,
}

impl From<StageName> for ExecutionModel {
    fn from(name: StageName) -> Self {
        match name {
            StageName::Vertex => Self::Vertex,
            StageName::TessellationEvaluation => Self::TessellationEvaluation,
            StageName::Geometry => Self::Geometry,
        }
    }
}

/// Options that select a shader of a module.
#[derive(Debug, clap::Args)]
struct Selected {
    /// Stage of the shader; by default the first of these stages that the module has
    #[arg(long, value_name = "STAGE")]
    stage: Option<StageName>,
    /// Name of the entry point, if there are several
    #[arg(long, value_name = "NAME")]
    entry_point: Option<String>,
}

impl Selected {
    /// The stage that `--stage` names. `None` without this option.
    fn stage(&self) -> Option<ExecutionModel> {
        self.stage.map(ExecutionModel::from)
    }

    /// The entry point that `--entry-point` names. `None` without this option.
    fn entry_point(&self) -> Option<&str> {
        self.entry_point.as_deref()
    }
}

/// Selects the features of a device that are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ProfileName {
    /// All features that the backends can use
    #[default]
    Full,
    /// The features of a Bifrost Mali: Vulkan 1.0 with buffer device addresses, but without
    /// geometry shaders, stores in the vertex stage, and indirect commands
    Bifrost,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Full => Self::Full,
            ProfileName::Bifrost => Self::Bifrost,
        }
    }
}

/// How the compute backend accesses memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ResourcesName {
    /// By device addresses if the device supports them, otherwise by descriptors
    #[default]
    Best,
    /// By storage buffer descriptors
    Descriptors,
}

impl From<ResourcesName> for Resources {
    fn from(name: ResourcesName) -> Self {
        match name {
            ResourcesName::Best => Self::Best,
            ResourcesName::Descriptors => Self::Descriptors,
        }
    }
}

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_from_env("VKXFB_LOG").unwrap_or_else(|_| "warn".into()))
        .with_writer((|| log::Screen(std::io::stderr())).and(|| log::Keeper))
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .init();
    leave_naga_silent();
    let given = join_lists(std::env::args_os());
    let is_plain = !given.iter().all(is_printable);
    let arguments = parse(&given, is_plain);
    let command = arguments.unwrap_or_else(|error| leave(suggested(error), is_plain)).command;
    let result = match &command {
        Command::Bench(arguments) => bench::run(arguments),
        Command::BroadcastColor(arguments) => broadcast::run(arguments),
        Command::Capture(arguments) => capture::run(arguments),
        Command::Completions(arguments) => manual::completions(arguments),
        Command::Info(arguments) => info::run(arguments),
        Command::Man => manual::page(),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Layer(arguments) => layer::run(arguments),
        Command::Lower(arguments) => lower::run(arguments),
        Command::SplitBlocks(arguments) => split::run(arguments),
        Command::StripXfb(arguments) => strip::run(arguments),
        Command::Probe(arguments) => probe::run(arguments),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            complain("error:", format_args!("{error:#}"));
            if let Some(hint) = hint::hint(&error, &command) {
                complain("hint:", hint);
            }
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}

/// If the unknown command is `compare`, adds the suggestion `probe compare` to the error.
fn suggested(mut error: clap::Error) -> clap::Error {
    use clap::error::{ContextKind, ContextValue};
    let given = error.get(ContextKind::InvalidSubcommand);
    if matches!(given, Some(ContextValue::String(name)) if name == "compare") {
        let meant = ContextValue::Strings(vec!["probe compare".to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, meant);
    }
    error
}

/// Whether nothing of an argument would control a terminal.
fn is_printable(argument: &OsString) -> bool {
    let argument = argument.to_string_lossy();
    terminal::in_line(&argument) == argument
}

/// Parses the arguments. What is said of them has clap's colours, unless it `is_plain`: among these colours the escape
/// sequences of an argument could not be told apart.
fn parse(given: &[OsString], is_plain: bool) -> Result<Arguments, clap::Error> {
    let mut command = Arguments::command();
    if is_plain {
        command = command.styles(Styles::plain());
    }
    let mut matches = command.try_get_matches_from_mut(given)?;
    Arguments::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Ends the command with an error in its arguments, or with the help that these ask for. With `is_plain` it has no
/// colours, and what an argument would control the terminal with is escaped.
fn leave(error: clap::Error, is_plain: bool) -> ! {
    if !is_plain {
        error.exit();
    }
    let text = error.render().ansi().to_string();
    if error.use_stderr() {
        say(&text)
    } else {
        drop(show(&text))
    }
    std::process::exit(error.exit_code())
}

/// Stops naga's panics from printing messages, because the panics are caught and shown like other errors.
fn leave_naga_silent() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(NAGA_THREAD) {
            hook(panic);
        }
    }));
}

/// Writes text to standard output, where nothing of it controls the terminal.
///
/// What the command prints goes through this function, its relatives below, and [`complain`], [`remark`] and the log.
/// Others print, too: clap, where all arguments are harmless ([`leave`]); progress bars; the handlers of crashes and
/// the hook of panics; and a child process of `probe --isolate`, whose results go to its parent.
fn show(text: &str) -> Result<()> {
    put(anstream::stdout(), terminal::printable(text).as_bytes())
}

/// Like [`show`], for text with colours of our own, whose parts from outside are escaped.
fn show_coloured(text: &str) -> Result<()> {
    put(anstream::stdout(), terminal::coloured(text).as_bytes())
}

/// Writes what other programs read to standard output: byte for byte, unless a terminal shows it.
fn show_data(data: &[u8]) -> Result<()> {
    if std::io::stdout().is_terminal() {
        show(&String::from_utf8_lossy(data))
    } else {
        put(std::io::stdout(), data)
    }
}

fn show_json(value: &impl Serialize) -> Result<()> {
    show_json_text(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Like [`show`], for JSON, which means the same afterwards.
fn show_json_text(json: &str) -> Result<()> {
    put(anstream::stdout(), terminal::json(json).as_bytes())
}

/// Writes to standard output, which `anstream` leaves without colours if it is not a terminal. It is not an error if
/// the reader, such as `head`, has closed the pipe.
fn put(mut out: impl Write, bytes: &[u8]) -> Result<()> {
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}

/// Joins list arguments that the shell has split at the spaces after commas, as in `--varyings a,
/// b`.
fn join_lists(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let is_option = |argument: &OsString| argument.as_encoded_bytes().starts_with(b"--");
    let mut joined: Vec<OsString> = Vec::new();
    for argument in arguments {
        let before = joined.len().checked_sub(2).map(|at| is_option(&joined[at]));
        match joined.last_mut() {
            Some(list)
                if list.as_encoded_bytes().ends_with(b",")
                    && (before == Some(true) || is_option(list))
                    && !argument.as_encoded_bytes().starts_with(b"-") =>
            {
                list.push(argument);
            }
            _ => joined.push(argument),
        }
    }
    joined
}

/// Parses an element of a list. White space around it is ignored.
fn part<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    let part = text.trim();
    if part.is_empty() {
        return Err("nothing between two commas; a list with spaces has to be quoted".to_owned());
    }
    part.parse().map_err(|error: T::Err| error.to_string())
}

/// Writes a line about a problem to standard error and to the log. If standard error is closed,
/// only the exit status tells of the problem.
fn complain(lead: &str, what: impl Display) {
    let what = message(what);
    let _ = writeln!(anstream::stderr(), "{} {what}", lead.red().bold());
    let _ = writeln!(log::Keeper, "{lead} {what}");
}

/// Writes a line that is not about a problem to standard error and to the log.
fn remark(what: impl Display) {
    let what = message(what);
    say(&what);
    let _ = writeln!(log::Keeper, "{what}");
}

/// Writes a line to standard error.
fn say(what: &str) {
    let _ = writeln!(anstream::stderr(), "{}", terminal::printable(what));
}

/// Returns the text of a message, without what would control the terminal. All lines after the first are indented, so
/// that a line break in a name does not make a message of its own, and lists keep their shape.
fn message(what: impl Display) -> String {
    let text = terminal::printable(&what.to_string());
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default().to_owned();
    let indent = |line: &str| if line.is_empty() { String::new() } else { format!("  {line}") };
    std::iter::once(first).chain(lines.map(indent)).collect::<Vec<_>>().join("\n")
}

/// Returns the first message of each kind from the validation layer, with the number of messages of
/// that kind.
fn once_each(messages: &[Message]) -> Vec<String> {
    let mut kinds: Vec<(&Message, usize)> = Vec::new();
    for message in messages {
        match kinds.iter_mut().find(|(first, _)| first.id == message.id) {
            Some((_, count)) => *count += 1,
            None => kinds.push((message, 1)),
        }
    }
    let text = |(message, count): &(&Message, usize)| match count {
        1 => message.to_string(),
        _ => format!("{message} ({count} of that kind)"),
    };
    kinds.iter().map(text).collect()
}

/// Returns a progress bar on standard error. It is hidden if standard error is not a terminal.
fn progress_bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Checks, before the command does its work, that the files for the results can be written, and that no two results go
/// to the same file.
fn check_outputs<'a>(files: impl IntoIterator<Item = &'a Option<PathBuf>>) -> Result<()> {
    let mut places = Vec::new();
    for file in files.into_iter().flatten() {
        check_writable(file).with_context(|| cannot_write(file))?;
        let place = std::path::absolute(file).with_context(|| cannot_write(file))?;
        // Several results may go to the same device or pipe, such as `/dev/null`.
        if places.contains(&place) && (!place.exists() || place.is_file()) {
            bail!("{} is to hold two results", file.display());
        }
        places.push(place);
    }
    Ok(())
}

fn write(file: &Path, contents: &(impl AsRef<[u8]> + ?Sized)) -> Result<()> {
    write_atomically(file, contents.as_ref()).with_context(|| cannot_write(file))
}

fn cannot_write(file: &Path) -> String {
    format!("cannot write {}", file.display())
}

/// Describes the stages after the vertex shader, and the primitives that are captured.
#[derive(Debug, Serialize)]
struct Primitives {
    /// The input primitives: points, lines, lines-adjacency, triangles, triangles-adjacency or patches.
    input: String,
    /// The output primitives: points, line-strips or triangle-strips of a geometry shader; points, lines or triangles
    /// of tessellation shaders without a geometry shader.
    output: &'static str,
    /// The maximum number of vertices that an invocation of the geometry shader emits, or that a patch is divided into.
    max_vertices: u32,
    /// The number of invocations for each input primitive.
    invocations: u32,
    /// How tessellation shaders divide patches.
    #[serde(skip_serializing_if = "Option::is_none")]
    tessellation: Option<Tessellation>,
}

/// How tessellation shaders divide patches.
#[derive(Debug, Serialize)]
struct Tessellation {
    /// The domain: triangles, quads or isolines.
    domain: &'static str,
    /// The spacing: equal, fractional-even or fractional-odd.
    spacing: &'static str,
    /// The primitives that a patch is divided into: points, lines or triangles.
    primitives: &'static str,
    /// The number of control points that the control shader outputs for each patch.
    control_points: u32,
}

impl Primitives {
    /// Describes the stages that `geometry` declares. `stage` is the stage that is captured: geometry, or tessellation
    /// evaluation.
    fn of(geometry: LoweredGeometry, stage: ExecutionModel) -> Self {
        let names = match stage {
            ExecutionModel::Geometry => ["points", "line-strips", "triangle-strips"],
            _ => ["points", "lines", "triangles"],
        };
        let [points, lines, triangles] = names;
        Self {
            input: geometry.input.to_string(),
            output: match geometry.output_vertices {
                1 => points,
                2 => lines,
                _ => triangles,
            },
            max_vertices: geometry.max_vertices,
            invocations: geometry.invocations,
            tessellation: geometry.tessellation.map(Tessellation::from),
        }
    }
}

impl From<LoweredTessellation> for Tessellation {
    fn from(tessellation: LoweredTessellation) -> Self {
        let tessellator = tessellation.tessellator;
        Self {
            domain: match tessellator.domain {
                Domain::Triangles => "triangles",
                Domain::Quads => "quads",
                Domain::Isolines => "isolines",
            },
            spacing: match tessellator.spacing {
                Spacing::Equal => "equal",
                Spacing::FractionalEven => "fractional-even",
                Spacing::FractionalOdd => "fractional-odd",
            },
            primitives: match tessellator.primitive_vertices() {
                1 => "points",
                2 => "lines",
                _ => "triangles",
            },
            control_points: tessellation.control_points,
        }
    }
}

/// The values of specialization constants for the shader that is captured, and for those before it.
struct Specialized<'a> {
    captured: Vec<SpecializationConstant<'a>>,
    before: Vec<Vec<SpecializationConstant<'a>>>,
}

/// The shaders of a pipeline that are involved in a capture.
struct Stages<'a> {
    /// The shader that is captured.
    shader: Shader<'a>,
    /// The shaders before the captured one, beginning with the vertex shader. The field `stage` of each is set.
    before: Vec<Shader<'a>>,
    domain_origin: DomainOrigin,
}

impl<'a> Stages<'a> {
    /// Returns the vertex shader, which reads the vertex input.
    fn first(&self) -> &Shader<'a> {
        self.before.first().unwrap_or(&self.shader)
    }

    /// Returns the shaders in the order in which they run.
    fn all(&self) -> Vec<&Shader<'a>> {
        self.before.iter().chain([&self.shader]).collect()
    }

    /// Returns the shader of a stage before the captured one. `None` if there is no such shader.
    fn before(&self, stage: ExecutionModel) -> Option<&Shader<'a>> {
        self.before.iter().find(|shader| shader.stage == Some(stage))
    }

    fn native(&self) -> native::Options<'_> {
        let mut options = native::Options::new().domain_origin(self.domain_origin);
        options.vertex_shader = self.before(ExecutionModel::Vertex);
        options.control_shader = self.before(ExecutionModel::TessellationControl);
        options.evaluation_shader = self.before(ExecutionModel::TessellationEvaluation);
        options
    }

    fn compute<'b>(&'b self, vertex_input: &'b VertexInput) -> compute::Options<'b> {
        let mut options = compute::Options::new(vertex_input).domain_origin(self.domain_origin);
        options.vertex_shader = self.before(ExecutionModel::Vertex);
        options.control_shader = self.before(ExecutionModel::TessellationControl);
        options.evaluation_shader = self.before(ExecutionModel::TessellationEvaluation);
        options
    }
}

/// The origin of the tessellation domain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum DomainOriginName {
    /// Vulkan's default
    #[default]
    UpperLeft,
    /// As OpenGL has it
    LowerLeft,
}

impl From<DomainOriginName> for DomainOrigin {
    fn from(name: DomainOriginName) -> Self {
        match name {
            DomainOriginName::UpperLeft => Self::UpperLeft,
            DomainOriginName::LowerLeft => Self::LowerLeft,
        }
    }
}

/// Options that select a shader, and the outputs to capture.
#[derive(Debug, clap::Args)]
struct Captured {
    #[command(flatten)]
    selected: Selected,
    /// A tessellation control shader that runs after the vertex shader: SPIR-V or GLSL (.tesc,
    /// .glsl)
    #[arg(long, value_name = "FILE", conflicts_with = "stage", requires = "evaluation")]
    control: Option<PathBuf>,
    /// A tessellation evaluation shader that runs after the tessellation control shader, and is
    /// captured, unless a geometry shader is: SPIR-V or GLSL (.tese, .glsl)
    #[arg(long, value_name = "FILE", conflicts_with = "stage", requires = "control")]
    evaluation: Option<PathBuf>,
    /// Where the origin of the tessellation domain is, which decides about the order of the
    /// vertices of triangles
    #[arg(long, value_name = "ORIGIN", value_enum, default_value_t, requires = "control")]
    domain_origin: DomainOriginName,
    /// A geometry shader that runs after the other shaders, and is captured instead of them: SPIR-V
    /// or GLSL (.geom, .gs, .glsl)
    #[arg(long, value_name = "FILE", conflicts_with = "stage")]
    geometry: Option<PathBuf>,
    /// Capture these outputs, as glTransformFeedbackVaryings would, instead of those with
    /// decorations: by name, or by place as @3 (location), @3.yz (components), @Position (built-in)
    #[arg(long, value_name = "OUTPUT,...", value_delimiter = ',', value_parser = part::<String>)]
    varyings: Vec<String>,
    /// With --varyings: capture each output to its own buffer
    #[arg(long, requires = "varyings")]
    separate: bool,
    /// Capture the outputs in this JSON file, which has Gallium's stream outputs; vkxfb --help has
    /// an example
    #[arg(long, value_name = "FILE", conflicts_with = "varyings")]
    stream_output: Option<PathBuf>,
    #[command(flatten)]
    constants: specialize::Constants,
}

impl Captured {
    /// Returns the files of the shaders after the vertex shader, in the order in which they run.
    fn later(&self) -> Vec<(LaterStage, &Path)> {
        let files = [
            (LaterStage::Control, &self.control),
            (LaterStage::Evaluation, &self.evaluation),
            (LaterStage::Geometry, &self.geometry),
        ];
        let given = files.into_iter().filter_map(|(stage, file)| Some((stage, file.as_deref()?)));
        given.collect()
    }

    /// Returns the files of all shaders, in the order in which they run. `file` is the file of the vertex shader.
    fn files<'a>(&'a self, file: &'a Path) -> Vec<&'a Path> {
        std::iter::once(file).chain(self.later().into_iter().map(|(_, file)| file)).collect()
    }

    /// Returns the file of the shader that is captured. `file` is the file of the vertex shader.
    fn file<'a>(&'a self, file: &'a Path) -> &'a Path {
        self.later().last().map_or(file, |(_, file)| file)
    }

    /// Reads the shaders, and the values for their specialization constants.
    fn read(&self, file: &Path) -> Result<source::Sources> {
        source::read_all(file, self.selected.entry_point(), &self.later(), &self.constants)
    }

    /// Returns the shader that is captured, and those before it, each with the values for its specialization constants.
    fn stages<'a>(
        &'a self,
        sources: &'a source::Sources,
        values: &'a Specialized<'a>,
    ) -> Stages<'a> {
        let shader = |source: &'a source::Source, values: &'a [SpecializationConstant<'a>]| {
            let mut shader = Shader::new(&source.words).specialization(values);
            shader.stage = source.stage.or(self.selected.stage());
            // `--entry-point` is for the shader in the first file.
            if !matches!(source.stage, Some(stage) if stage != ExecutionModel::Vertex) {
                shader.entry_point = self.selected.entry_point();
            }
            shader
        };
        let before = sources.before.iter().zip(&values.before);
        Stages {
            shader: shader(&sources.captured, &values.captured),
            before: before.map(|(source, values)| shader(source, values)).collect(),
            domain_origin: self.domain_origin.into(),
        }
    }

    /// Whether options name the outputs to capture, so that decorations are ignored.
    fn has_list(&self) -> bool {
        !self.varyings.is_empty() || self.stream_output.is_some()
    }

    /// Returns command line options with the same meaning as these values, except for the names of files.
    fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        let mut add = |name: &str, value: String| options.extend([format!("--{name}"), value]);
        if let Some(stage) = self.selected.stage.and_then(|stage| stage.to_possible_value()) {
            add("stage", stage.get_name().to_owned());
        }
        if let Some(name) = &self.selected.entry_point {
            add("entry-point", name.clone());
        }
        if !self.varyings.is_empty() {
            add("varyings", self.varyings.join(","));
        }
        if let Some(file) = &self.stream_output {
            add("stream-output", file.display().to_string());
        }
        let constants = self.constants.to_string();
        if !constants.is_empty() {
            add("constant", constants);
        }
        if self.separate {
            options.push("--separate".to_owned());
        }
        options
    }

    /// Returns the list of outputs to capture from a shader. `None` if no option names outputs: then the decorations in
    /// the shader say what to capture.
    fn list(&self, shader: &Shader<'_>) -> Result<Option<CaptureList>> {
        if !self.has_list() {
            return Ok(None);
        }
        if let Some(file) = &self.stream_output {
            let list = stream_output::read(file)?.capture_list(shader);
            return Ok(Some(list.with_context(|| file.display().to_string())?));
        }
        let mode = if self.separate { BufferMode::Separate } else { BufferMode::Interleaved };
        Ok(Some(shader.varyings(&self.varyings, mode)?))
    }
}

/// Options for the file of a rewritten module, and for the information that is printed about it.
#[derive(Debug, clap::Args)]
#[group(id = "destination", required = true, multiple = true)]
struct Output {
    /// Write the module to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the module as SPIR-V assembly; spirv-dis must be installed
    #[arg(long)]
    text: bool,
    /// Print JSON that says how the module differs from the shader
    #[arg(long, conflicts_with = "text")]
    json: bool,
}

impl Output {
    /// Writes a module as the options say. `report` is printed with `--json`. Returns the exit
    /// status.
    fn put(&self, words: &[u32], report: &impl Serialize) -> Result<u8> {
        if let Some(file) = &self.output {
            write_atomically(file, bytemuck::cast_slice(words))
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        if self.text {
            show_data(&disassemble(words).context("cannot run spirv-dis")?)?;
        }
        if self.json {
            show_json(report)?;
        }
        Ok(0)
    }
}

fn parse_backend(name: &str) -> Result<Backend, String> {
    let found = Backend::ALL.into_iter().find(|b| b.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| "one of: native, vertex, compute".to_owned())
}

/// Returns the module as SPIR-V assembly. `None` if spirv-dis is not installed or fails.
fn disassemble(words: &[u32]) -> Option<Vec<u8>> {
    let mut file = tempfile::NamedTempFile::new().ok()?;
    file.write_all(bytemuck::cast_slice(words)).ok()?;
    let output = std::process::Command::new("spirv-dis").arg(file.path()).output().ok()?;
    output.status.success().then_some(output.stdout)
}
