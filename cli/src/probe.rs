//! `vkxfb probe`: captures every topology and compares the bytes with a model of the specification.

mod compare;
mod isolate;
mod reproduce;
mod running;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use vkxfb_probe::bug::{BugReport, Failing, FailingShader, bug_report};
use vkxfb_probe::gpu::{DeviceSelector, Gpu, OpenOptions, Profile, Resources, TIMEOUT, devices};
use vkxfb_probe::html;
use vkxfb_probe::junit;
use vkxfb_probe::plan::{MAX_BATCH_BYTES, Plan, batch_bytes_within};
use vkxfb_probe::report::{self, Failure, Outcome, ProbeReport};
use vkxfb_probe::run::{self, Position, Progress};
use vkxfb_probe::shaders::{ProbeGeometry, ProbeShader};
use vkxfb_probe::subject::Subject;
use vkxfb_probe::table;
use vkxfb_rewriter::lower::{Backend, Captures};
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

use self::running::Running;

/// The arguments of `vkxfb probe`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct ProbeArguments {
    #[command(subcommand)]
    command: Option<Subcommand>,
    /// Only this shader of the probe: identify, two_buffers or attributes, or a geometry shader or tessellation shaders
    /// behind identify, such as lines_to_triangles_cut
    #[arg(long, value_name = "NAME", value_parser = parse_built_in)]
    shader: Option<BuiltIn>,
    #[command(flatten)]
    run: RunArguments,
}

/// The arguments of `vkxfb probe shader`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = SHADER_EXAMPLES,
    // They are taken to say which command takes them.
    mut_arg("control", |option| option.hide(true)),
    mut_arg("evaluation", |option| option.hide(true))
)]
struct ShaderArguments {
    /// A vertex shader in SPIR-V, WGSL (.wgsl) or GLSL (.vert, .glsl, .vs)
    #[arg(value_name = "FILE")]
    shader: PathBuf,
    #[command(flatten)]
    captured: crate::captured::Captured,
    #[command(flatten)]
    supplied: crate::supplied::Supplied,
    #[command(flatten)]
    run: RunArguments,
}

/// The options that say how a probe runs, whichever shaders it captures.
#[derive(Debug, clap::Args)]
struct RunArguments {
    /// The device: its index, or a part of its name; by default every device
    #[arg(long)]
    device: Option<DeviceSelector>,
    /// Load this driver's library directly, or the one that its manifest (.json) names, without the Vulkan loader, which
    /// need not be installed
    #[arg(long, value_name = "FILE", conflicts_with = "validate")]
    driver: Option<PathBuf>,
    /// Limit the features of the device that are used
    #[arg(long, value_enum, default_value_t)]
    profile: Profile,
    /// How the compute backend accesses memory
    #[arg(long, value_enum, default_value_t)]
    resources: Resources,

    /// Pass lowered shaders to the driver without optimizing them, to rule out faults of the optimizer
    #[arg(long)]
    unoptimized: bool,
    /// Only this backend: native, vertex or compute
    #[arg(long, value_parser = crate::options::parse_backend)]
    backend: Option<Backend>,
    /// Only this topology, for example triangle-strip
    #[arg(long, value_parser = parse_topology)]
    topology: Option<PrimitiveTopology>,
    /// Only this provoking vertex: first or last
    #[arg(long, value_parser = crate::options::parse_provoking)]
    provoking: Option<ProvokingVertex>,
    /// Only draws with this number of vertices
    #[arg(long, value_name = "N")]
    vertices: Option<u32>,
    /// Only draws with this number of instances
    #[arg(long, value_name = "N")]
    instances: Option<u32>,
    /// Use fewer vertex counts, and no large draws
    #[arg(long)]
    quick: bool,
    /// Stop after the first batch (draws that are submitted together) with a case that is wrong or
    /// could not run
    #[arg(long)]
    fail_fast: bool,
    /// Memory for captures and their copies, such as 256M: draws that need more are left out. By
    /// default 256M if the machine has at most 4 GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<u64>,
    /// Capture one case at a time from the start, which also finds cases that hang in the
    /// driver
    #[arg(long)]
    isolate: bool,
    /// Time limit of a submission, by default 120
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    timeout: Option<u32>,
    /// Maximum time that a submission should take, by default 300, and unlimited on a CPU. Captures
    /// are divided into submissions accordingly
    #[arg(long, value_name = "MILLISECONDS")]
    submission_limit: Option<u32>,
    /// Run under the validation layer; its messages are errors
    #[arg(long)]
    validate: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write a page with the results and a picture of each topology
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the results as JUnit XML, which CI systems show: a suite for each device and backend, with a test for each
    /// topology
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write what a driver's maintainer needs: the first mismatch, if there is one, with its
    /// shader; device, driver, machine and limits; the result of every case, for `probe compare`
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Run as a child process that captures cases: for the probe's own use
    #[arg(long, hide = true, value_parser = |text: &str| serde_json::from_str::<isolate::Task>(text))]
    worker: Option<isolate::Task>,
}

#[derive(Debug, clap::Subcommand)]
enum Subcommand {
    /// Compare two reports: which cases became right or wrong, and which are new or gone
    Compare(compare::CompareArguments),
    /// Write a C program that captures one draw without vkxfb, and compares it with the specification
    Reproduce(reproduce::ReproduceArguments),
    /// Capture a shader of yours with every topology, and compare the backends
    Shader(Box<ShaderArguments>),
}

/// A shader of the probe.
#[derive(Debug, Clone)]
enum BuiltIn {
    Vertex(ProbeShader),
    /// A geometry shader or tessellation shaders, behind a vertex shader.
    Geometry(ProbeGeometry),
}

/// What one run of the command probes, and how.
struct Job<'a> {
    arguments: &'a RunArguments,
    /// The only shaders that are captured. `None` for all of the probe's own.
    subject: Option<Subject>,
    /// The options that describe shaders of the user's, except the names of their files.
    shader_options: Vec<String>,
}

const EXAMPLES: &str = "Examples:
  vkxfb probe --quick --html out.html            every topology and backend, with pictures
  vkxfb probe --profile bifrost                  as on a Mali-G52: Vulkan 1.0, compute alone
  vkxfb probe --report bug.md                    with a file for the driver's maintainer
  vkxfb probe reproduce --topology line-strip DIR  a C program that shows a draw without vkxfb
  vkxfb probe compare old.md new.md              which cases another driver made right, and which wrong
  vkxfb probe --quick --junit probe.xml          for a CI system, which shows each topology as a test
  vkxfb probe --driver libvulkan_panfrost.so     on a board that has no Vulkan loader
  vkxfb probe --isolate --timeout 20             with a driver whose calls never return
  vkxfb probe --backend compute --topology triangle-strip --vertices 7 --json
  vkxfb probe --shader lines_to_triangles_cut
  vkxfb probe shader my.vert.spv                 a shader of yours

Geometry shaders are named after the primitives that they take and emit:
{points, lines, triangles, lines_adjacency, triangles_adjacency}_to_
{points, lines, triangles}, with _cut where each primitive has strips of other
lengths. These emit to several vertex streams: points_to_triangles_2_streams,
points_to_{points, lines}_4_streams. patches_to_{points, lines, triangles} are
tessellation shaders, for --topology patch-list.

Where a shader emits to several streams, the buffer of one of them is too
small in most draws: it has to hold what fits, and the other streams
everything.

The probe captures in a child process. Where the device is lost, or does not
finish in time, or the driver crashes that process, it goes on in another one,
with one case at a time, names the case that did it, and starts another child
for the next one. A call of the driver that never returns is ended only with
--isolate, 10 s after the time that --timeout gives the device.

First it is tried, whatever the device reports, whether indirect dispatches
run, whether vertex stores are sound (each vertex of a draw is stored, and
none that no primitive uses; a device may store one again), and whether
captures go on where their counters say, with counters for all, some or none
of the buffers.

While a probe runs, FILE.running, beside the FILE of --report, --html or
--junit, has a line that names what runs. It is on the disk before the device
gets the work, so it is there after a freeze of the whole machine. The probe
removes it at its end.

Exit status: 0 all right; 1 a capture came out wrong, or a trial of what vkxfb
relies on; 2 something kept the probe from running, a case or a trial was
lost, or the validation layer objected.";

const SHADER_EXAMPLES: &str = "Examples:
  vkxfb probe shader my.vert.spv --quick
  vkxfb probe shader my.vert.spv --topology triangle-strip --vertices 7
  vkxfb probe shader my.wgsl --varyings @Position --uniform 0.0=camera.bin
  vkxfb probe shader my.vert.spv --geometry my.geom --varyings gl_Position

What each draw should write is captured first from a list of its vertices, and
compared between the backends. A geometry shader is captured of each topology
that it takes. What it emits is captured first from a list of the same
primitives, which an index buffer assembles, so that what the device makes of
strips and fans is compared with that. vkxfb capture --compare takes
tessellation shaders.

Without --varyings, and where the shader's decorations say nothing of it, its
position and all outputs with locations are captured.

Attributes hold made-up numbers, and so do descriptors and push constants for
which no file is given: small ones, and the same for every backend.

vkxfb probe --help says what the probe tries before, how it goes on where a
driver crashes, and what the exit status means.";

fn parse_built_in(name: &str) -> Result<BuiltIn, String> {
    let vertex = ProbeShader::by_name(name).map(BuiltIn::Vertex);
    let found = vertex.or_else(|| ProbeGeometry::by_name(name).map(BuiltIn::Geometry));
    found.ok_or_else(|| {
        let names = ProbeShader::all().map(|shader| shader.to_string()).join(", ");
        format!(
            "one of {names}, or a geometry shader that vkxfb probe --help names; vkxfb probe shader FILE takes a file"
        )
    })
}

/// Parses the name of a topology, as this command writes it (`triangle-list`) or as Vulkan does
/// (`VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST`, or without that prefix).
fn parse_topology(name: &str) -> Result<PrimitiveTopology, String> {
    let own = name.to_ascii_lowercase().replace('_', "-");
    let own = own.strip_prefix("vk-primitive-topology-").unwrap_or(&own);
    own.parse().map_err(|_| {
        let names: Vec<_> =
            PrimitiveTopology::every().map(|topology| topology.to_string()).collect();
        format!("one of: {}", names.join(", "))
    })
}

fn parse_seconds(text: &str) -> Result<u32, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0);
    seconds.ok_or_else(|| "whole seconds, at least 1".to_owned())
}

/// Parses a number of bytes. K, M or G after it stands for a binary multiple.
fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || "a number, and K, M or G behind it, such as 256M".to_owned();
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err(wrong()),
    };
    let number = digits.parse::<u64>().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(|| "more bytes than there are".to_owned())
}

/// Runs `vkxfb probe`, and returns its exit status.
pub(crate) fn run(arguments: &ProbeArguments) -> Result<u8> {
    match &arguments.command {
        Some(Subcommand::Compare(files)) => compare::run(files),
        Some(Subcommand::Reproduce(draw)) => reproduce::run(draw),
        // Files are read before any device is opened, so that errors are reported before the long run.
        Some(Subcommand::Shader(shader)) => probe(&Job {
            arguments: &shader.run,
            subject: Some(shader.subject()?),
            shader_options: [shader.captured.options(), shader.supplied.options()].concat(),
        }),
        None => {
            let subject = arguments.shader.as_ref().map(|shader| match shader {
                BuiltIn::Vertex(shader) => Subject::built_in(shader.clone()),
                BuiltIn::Geometry(geometry) => Subject::built_in_geometry(*geometry),
            });
            let (subject, shader_options) = (subject.transpose()?, Vec::new());
            probe(&Job { arguments: &arguments.run, subject, shader_options })
        }
    }
}

/// Probes the devices, and returns the exit status.
fn probe(job: &Job<'_>) -> Result<u8> {
    let arguments = job.arguments;
    let running = |is_own| {
        let files = [&arguments.report, &arguments.html, &arguments.junit];
        let file = files.into_iter().find_map(|file| file.as_deref());
        Running::beside(file, is_own).context("cannot write what runs beside the report")
    };
    if let Some(task) = &arguments.worker {
        let running = running(false)?;
        let device = DeviceSelector::Index(task.device);
        let Opened { gpu, mut plan, mut report } = open(job, device)?;
        let is_slow = |backend: &Backend| task.slow.contains(&backend.to_string());
        plan.slow = Backend::ALL.into_iter().filter(is_slow).collect();
        isolate::work(task, gpu, &plan, &mut report, running)?;
        return Ok(Outcome::AllRight.exit_code());
    }
    #[cfg(windows)]
    isolate::show_no_dialogs();
    let outputs = [
        ("--html", &arguments.html),
        ("--junit", &arguments.junit),
        ("--report", &arguments.report),
    ];
    for (option, file) in outputs {
        if file.as_deref() == Some(Path::new("-")) {
            bail!("{option} takes a file; {option} /dev/stdout writes to standard output");
        }
    }
    crate::files::check_outputs(outputs.map(|(_, file)| file))?;
    let mut running = running(true)?;
    let mut probed = Probed::default();
    match job.selectors() {
        Ok(selectors) => probed.probe_all(job, selectors, &mut running),
        Err(error) => probed.errors.push(error),
    }
    let Probed { reports, failing, mut errors } = probed;
    // Programs read what could not run where they read results.
    let error = errors.iter().map(|error| format!("{error:#}")).collect::<Vec<_>>().join("; ");
    let error = Some(error.as_str()).filter(|_| !errors.is_empty());
    if arguments.json {
        crate::print::show_json_text(&report::to_json(&reports, error)?)?;
    }
    if let Some(file) = &arguments.junit {
        crate::files::write(file, &junit::render(&reports, error)?)?;
    }
    // The only error is told at the end, and several were told when they came.
    if reports.is_empty() && errors.len() == 1 {
        return Err(errors.remove(0));
    }
    if let Some(file) = &arguments.html {
        crate::files::write(file, &html::render(&reports))?;
    }
    if let Some(file) = &arguments.report {
        let bug =
            BugReport { reports: &reports, failing: failing.as_ref(), log: &crate::log::kept() };
        crate::files::write(file, &bug_report(&bug)?)?;
    }
    let outcome = report::outcome(&reports);
    let outcome = if errors.is_empty() { outcome } else { outcome.worse(Outcome::CouldNotRun) };
    Ok(outcome.exit_code())
}

/// The results of a run.
#[derive(Default)]
struct Probed {
    reports: Vec<ProbeReport>,
    /// The case that the report for a driver's maintainer is about.
    failing: Option<Failing>,
    /// The reasons why devices could not be probed.
    errors: Vec<anyhow::Error>,
}

impl Probed {
    /// Probes devices, one after the other. If one of several devices fails, the remaining ones are probed all the same.
    fn probe_all(
        &mut self,
        job: &Job<'_>,
        selectors: Vec<DeviceSelector>,
        running: &mut Option<Running>,
    ) {
        let several = selectors.len() > 1;
        for selector in selectors {
            match probe_device(job, selector, running) {
                Ok((report, failed)) => {
                    let is_enough = job.arguments.fail_fast && report.has_failures();
                    self.reports.push(report);
                    self.failing = self.failing.take().or(failed);
                    if is_enough {
                        break;
                    }
                }
                Err(error) => {
                    if several {
                        crate::print::complain("error:", format_args!("{error:#}"));
                    }
                    self.errors.push(error);
                }
            }
        }
    }
}

impl Job<'_> {
    /// The devices to probe: the one that the user selects, or all.
    fn selectors(&self) -> Result<Vec<DeviceSelector>> {
        if let Some(selector) = &self.arguments.device {
            return Ok(vec![selector.clone()]);
        }
        let devices = devices(&self.arguments.open_options())?.into_iter();
        Ok(devices.map(|device| DeviceSelector::Index(device.index)).collect())
    }
}

impl ProbeArguments {
    /// Whether decorations say what is captured of a shader of the user's.
    pub(super) fn captures_decorations(&self) -> bool {
        matches!(&self.command, Some(Subcommand::Shader(shader)) if shader.captured.varyings.is_empty())
    }
}

impl RunArguments {
    /// The maximum memory for captures in bytes. `None` if it is not limited.
    fn memory(&self) -> Option<u64> {
        let is_small = || report::HostInfo::query().memory_kib.is_some_and(|kib| kib <= 4 << 20);
        self.memory.or_else(|| is_small().then_some(256 << 20))
    }

    /// The options for opening a device, except for the choice of the device.
    fn open_options(&self) -> OpenOptions {
        OpenOptions {
            driver: self.driver.clone(),
            profile: self.profile,
            resources: self.resources,
            unoptimized: self.unoptimized,
            validation: self.validate,
            ..OpenOptions::default()
        }
    }

    /// The time limit of a submission. If no option sets it, child processes that run cases one by one get a default
    /// limit, and other processes `None`.
    fn case_timeout(&self) -> Option<Duration> {
        let said = self.timeout.map(|seconds| Duration::from_secs(seconds.into()));
        let worker = self.worker.as_ref();
        let one_by_one = worker.filter(|task| self.isolate || task.is_one_by_one());
        said.or_else(|| one_by_one.map(|_| TIMEOUT))
    }

    /// Returns the options that affect how cases run. Options that have their own fields in a report are left out.
    /// `with_device` says whether to include `--device`, which is needed if the report has no device number.
    fn run_options(&self, with_device: bool) -> Vec<String> {
        let device = self.device.as_ref().filter(|_| with_device).map(DeviceSelector::to_string);
        let valued = [
            ("--device", device),
            ("--timeout", self.timeout.map(|seconds| seconds.to_string())),
            ("--submission-limit", self.submission_limit.map(|ms| ms.to_string())),
            ("--memory", self.memory.map(|bytes| bytes.to_string())),
        ];
        let set = [("--unoptimized", self.unoptimized), ("--isolate", self.isolate)];
        let set = set.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name.to_owned());
        let valued = valued.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?]));
        set.chain(valued.flatten()).collect()
    }
}

impl ShaderArguments {
    /// Reads the shaders and the contents of their descriptors.
    fn subject(&self) -> Result<Subject> {
        let (captured, file) = (&self.captured, self.shader.as_path());
        if captured.control.is_some() {
            bail!(
                "the probe takes no tessellation shaders from files: vkxfb capture --compare takes --control and --evaluation"
            );
        }
        // The command that repeats a case would take the name for that of the probe's shader.
        let name = file.display();
        if parse_built_in(&name.to_string()).is_ok() {
            bail!(
                "{name} is a shader of the probe, which --shader {name} takes; ./{name} is a file"
            );
        }
        let sources = captured.read(file)?;
        let values = sources.specialized();
        let crate::stages::Stages { mut shader, before, .. } = captured.stages(&sources, &values);
        let name = captured.file(file).display().to_string();
        let list = match captured.list(&shader).with_context(|| name.clone())? {
            None => crate::everything::list(&shader, None).with_context(|| name.clone())?,
            given => given,
        };
        shader.captures = list.as_ref().map_or(Captures::Decorations, Captures::List);
        let all: Vec<_> = before.iter().chain([&shader]).collect();
        let crate::supplied::Read { given, missing, .. } =
            self.supplied.read(&all).with_context(|| name.clone())?;
        if !missing.is_empty() {
            bail!("{}", missing.join("; "));
        }
        Ok(match before.first() {
            None => Subject::from_shader(&name, &shader, &given)?,
            Some(vertex) => {
                let file = file.display().to_string();
                Subject::from_stages(&file, vertex, Some((&name, &shader)), &given)?
            }
        })
    }
}

/// The time between two lines about the progress, which are written instead of a progress bar if standard error is not
/// a terminal.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// The name of the environment variable that simulates a fault of the driver. It is for tests, and for users
/// who want to see whether their CI notices the fault.
const INJECTED: &str = "VKXFB_INJECT_FAULT";

/// An open device, the plan of the captures on it, and a report without results.
struct Opened {
    gpu: Gpu,
    plan: Plan,
    report: ProbeReport,
}

fn open(job: &Job<'_>, device: DeviceSelector) -> Result<Opened> {
    let Job { arguments, subject, shader_options } = job;
    let subject = subject.as_ref();
    let options = OpenOptions {
        device: Some(device),
        // Shaders may use made-up integers as array indices, which may be out of bounds.
        robustness: subject.is_some_and(|subject| !subject.contents.made_up.is_empty()),
        later_point_size: subject
            .and_then(|subject| subject.geometry.as_ref())
            .is_some_and(|geometry| geometry.has_point_size),
        ..arguments.open_options()
    };
    let mut gpu = Gpu::open(&options)?;
    if let Some(timeout) = arguments.case_timeout() {
        gpu.set_timeout(timeout);
    }
    if let Some(limit) = arguments.submission_limit {
        gpu.set_submission_limit(Duration::from_millis(limit.into()));
    }
    let injected = std::env::var(INJECTED).ok();
    if let Some(fault) = &injected {
        gpu.inject(fault.parse().map_err(anyhow::Error::msg).context(INJECTED)?);
    }
    let plan = plan(arguments, &gpu, subject)?;
    let profile = match arguments.profile {
        Profile::Full => "",
        Profile::Bifrost => "bifrost",
    };
    let mut report = ProbeReport::new(run::device_info(&gpu), profile);
    if let Some(fault) = injected {
        report.injected = Some(format!(
            "faults were injected ({INJECTED}={fault}): this says nothing about the driver"
        ));
    }
    if arguments.resources == Resources::Descriptors {
        report.resources = "descriptors".to_owned();
    }
    report.shader_options.clone_from(shader_options);
    report.options = arguments.run_options(report.device.index.is_none());
    if let Some(driver) = &arguments.driver {
        report.options.extend(["--driver".to_owned(), driver.display().to_string()]);
    }
    if let Some(memory) = plan.large_left_out().and(arguments.memory()) {
        let mib = memory >> 20;
        report.note(format!("large draws are left out: they take more than {mib} MiB (--memory)"));
    }
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| report::shell_word(&word.to_string_lossy()).into_owned());
    report.command = std::iter::once("vkxfb".to_owned()).chain(words).collect::<Vec<_>>().join(" ");
    Ok(Opened { gpu, plan, report })
}

/// Probes one device, and prints the results as a table, unless JSON is requested.
fn probe_device(
    job: &Job<'_>,
    device: DeviceSelector,
    running: &mut Option<Running>,
) -> Result<(ProbeReport, Option<Failing>)> {
    let arguments = job.arguments;
    let mut say = |what: &str| {
        if let Some(Err(error)) = running.as_mut().map(|running| running.say(what)) {
            tracing::warn!("cannot write what runs beside the report: {error}");
        }
    };
    say("opening the device");
    let Opened { gpu, mut plan, mut report } = open(job, device)?;
    let start = Instant::now();
    let bar = crate::print::progress_bar();
    let told = Cell::new(start);
    let observe = |Progress { done, total, batch }: Progress<'_>| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        let (backend, row) = (batch.group.backend, batch.group.row());
        bar.set_message(format!("{backend} {row}"));
        if bar.is_hidden() && told.get().elapsed() >= TELL_EVERY {
            told.set(Instant::now());
            crate::print::remark(format_args!("batch {} of {total}: {backend} {row}", done + 1));
        }
    };
    let timeout = arguments.case_timeout().unwrap_or(TIMEOUT);
    let one_by_one = arguments.isolate;
    let works = isolate::Isolated { gpu: &gpu, plan: &plan, timeout, one_by_one }
        .run_trials(&mut report)?;
    let rates: Vec<_> = report.trials.iter().flat_map(|tried| tried.rates.clone()).collect();
    let limit = gpu.submission_limit();
    if plan.leave_out_slow(&rates, limit) {
        let (names, ms) = (plan.slow.iter().map(Backend::to_string), limit.as_millis());
        let names = names.collect::<Vec<_>>().join(" and ");
        let note = "take longer at a time than";
        report.note(format!(
            "large draws by {names} are left out: they {note} {ms} ms (--submission-limit)"
        ));
    }
    if !arguments.json {
        crate::print::show_coloured(&table::render_head(&report, true))?;
    }
    let isolated = isolate::Isolated { gpu: &gpu, plan: &plan, timeout, one_by_one };
    if one_by_one || !works {
        isolated.run(Position::default(), &mut report, observe)?;
    } else {
        isolated.run_together(&mut report, observe)?;
    }
    bar.finish_and_clear();
    say("all cases have run");
    report.elapsed_s = start.elapsed().as_secs_f64();

    let failure = report.example().filter(|_| arguments.report.is_some());
    let with_shaders = |failure: &Failure| -> Result<Failing> {
        let target = gpu.compute_target(failure.backend)?;
        let shaders = run::failing_shaders(failure, &plan, &target)?.into_iter();
        let shaders = shaders.map(|(stage, spirv)| {
            let disassembly = crate::output::disassemble(&spirv);
            let disassembly = disassembly.map(|text| String::from_utf8_lossy(&text).into_owned());
            FailingShader { stage, spirv, disassembly }
        });
        Ok(Failing { failure: failure.clone(), shaders: shaders.collect() })
    };
    let failing = failure.map(with_shaders).transpose()?;
    isolate::add_messages(&mut report, crate::print::once_each(&gpu.close()));
    if !arguments.json {
        crate::print::show_coloured(&table::render_results(&report, true))?;
    }
    // With `--json`, the messages are not only in the JSON, but are also printed to standard error.
    for message in report.validation.iter().filter(|_| arguments.json) {
        crate::print::complain("validation:", message);
    }
    Ok((report, failing))
}

fn plan(arguments: &RunArguments, gpu: &Gpu, subject: Option<&Subject>) -> Result<Plan> {
    let backends = match arguments.backend {
        None => gpu.backends().to_vec(),
        Some(backend) => {
            gpu.capabilities().availability(backend)?;
            if !gpu.backends().contains(&backend) {
                bail!("the profile does not include the backend {backend}");
            }
            vec![backend]
        }
    };
    let mut plan = Plan::full(&backends, gpu.context().settings().max_workgroups_per_axis)?;
    plan.max_capture_buffer = gpu.context().max_capture_buffer();
    plan.max_batch_bytes = arguments.memory().map_or(MAX_BATCH_BYTES, batch_bytes_within);
    plan.fail_fast = arguments.fail_fast;
    if arguments.quick {
        plan.quick();
    }
    if let Some(subject) = subject {
        plan.subjects = vec![subject.clone()];
    }
    plan.topologies = arguments.topology.map_or(plan.topologies, |topology| vec![topology]);
    if let (Some(topology), Some(subject)) = (arguments.topology, subject)
        && !subject.takes(topology)
    {
        let name = subject.captured_name();
        bail!("{name} takes no primitives of {topology}");
    }
    plan.provoking = arguments.provoking.map_or(plan.provoking, |provoking| vec![provoking]);
    plan.instance_counts = arguments.instances.map_or(plan.instance_counts, |n| vec![n]);
    if let Some(vertices) = arguments.vertices {
        plan.vertex_counts = vec![vertices];
        plan.geometry_vertex_counts = vec![vertices];
        plan.large = None;
    }
    plan.check()?;
    Ok(plan)
}
