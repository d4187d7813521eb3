//! Lowers, validates and captures batches of shaders on a device.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use vkxfb::capture::CaptureError;
use vkxfb::lower::compute::WorkgroupSizes;
use vkxfb::lower::{Backend, LowerError, Lowered, Shader, compute, native, vertex};
use vkxfb::runtime::{Pipeline, PipelineDesc};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::{CaptureRequest, CaptureTarget, OpenOptions, Resources, VertexData};

use crate::BATCH;
use crate::case::{Case, Target};
use crate::common::batches::{Report, Worker};
use crate::common::device;
use crate::common::settings::has_tools;
use crate::common::test_device::TestDevice;
use crate::generator::Space;
use crate::generator::interface::BuiltIn;
use crate::known;

/// One in this number of shaders is optimised by spirv-opt.
const OPTIMIZED: u64 = 4;

/// A device on which shaders are captured, and the report of these captures.
pub struct ShaderWorker {
    gpu: TestDevice,
    space: Space,
    topologies: Vec<PrimitiveTopology>,
    tools: bool,
    /// Whether the model is made wrong.
    pub perturb: bool,
    pub report: Report,
}

/// A capture that has been prepared for the next submission.
struct Job<'a> {
    case: &'a Case,
    backend: Backend,
    pipeline: Pipeline,
}

impl Worker for ShaderWorker {
    /// Captures shaders with every backend, and compares the results.
    fn batch(&mut self, seeds: &[u64]) {
        let mut cases: Vec<Case> = self.timed("generate", |worker| {
            let case = |seed: &u64| Case::new(*seed, &worker.space, &worker.topologies);
            seeds.iter().map(case).collect()
        });
        if self.tools {
            self.timed("spirv-opt", |worker| {
                for case in cases.iter_mut().filter(|case| case.seed % OPTIMIZED == 0) {
                    case.shader.words = spirv_opt(&case.shader.words);
                    worker.report.count("shaders that spirv-opt saw", 1);
                }
            });
        }
        let mut jobs = Vec::new();
        for case in &cases {
            self.report.count("shaders", 1);
            if let Err(error) = self.validate(&case.shader.words, case.shader.target()) {
                self.fail(case, "the generator", &case.shader.words, &error);
                continue;
            }
            for backend in self.gpu.backends().to_vec() {
                self.prepare(case, backend, &mut jobs);
            }
        }
        self.capture(&jobs);
        for job in jobs {
            self.gpu.destroy_pipeline(job.pipeline);
        }
    }

    fn report(&mut self) -> &mut Report {
        &mut self.report
    }

    fn finish(mut self) -> Report {
        let messages = self.gpu.close();
        self.report.failures.extend(messages.iter().map(|m| format!("at the end: {m}")));
        self.report
    }
}

impl ShaderWorker {
    pub fn new(resources: Resources) -> Self {
        let gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        let caps = gpu.capabilities();
        let mut space = Space::whole();
        space.float64 = caps.shader_float64;
        space.int64 = caps.shader_int64;
        space.clip = caps.shader_clip_distance;
        space.cull = caps.shader_cull_distance;
        let adjacency = gpu.context().enabled().geometry_shader;
        let topologies = PrimitiveTopology::ALL
            .into_iter()
            .filter(|t| adjacency || !t.has_adjacency())
            .collect();
        let (tools, report) = (has_tools(), Report::default());
        Self { gpu, space, topologies, tools, perturb: false, report }
    }

    fn prepare<'a>(&mut self, case: &'a Case, backend: Backend, jobs: &mut Vec<Job<'a>>) {
        let target = self.gpu.compute_target(backend).unwrap();
        let lowered = match self.timed("lower", |_| lower(case, backend, target)) {
            Ok(lowered) => lowered,
            // Types that are not supported yet.
            Err(LowerError::Capture(CaptureError::UnsupportedType { .. })) => {
                let reason = "the layout does not support the type";
                self.report.exclude(backend, reason);
                return;
            }
            Err(error) => {
                return self.fail(case, backend.name(), &case.shader.words, &error.to_string());
            }
        };
        // Native is the module itself, which was validated.
        if backend != Backend::Native
            && let Err(error) = self.validate(&lowered.words, case.shader.target())
        {
            return self.fail(case, backend.name(), &lowered.words, &error);
        }
        if let Some(reason) = known::excluded(&self.gpu, backend, &case.shader, case.topology) {
            self.report.exclude(backend, reason);
            return;
        }
        let desc = PipelineDesc {
            topology: Some(case.topology.into()),
            specialize_topology: case.specialize,
            vertex_input: Some(&case.shader.vertex_input),
            render_pass: self.gpu.render_pass(),
            ..PipelineDesc::new(&lowered)
        };
        if backend != Backend::Native {
            let specialization = desc.specialization(self.gpu.context());
            let words = lowered.specialized(&specialization.constants()).unwrap();
            if let Err(error) = self.validate(&words, case.shader.target()) {
                return self.fail(case, backend.name(), &words, &error);
            }
        }
        let pipeline = self.timed("pipelines", |worker| {
            // SAFETY: the context is of a live device, and the words are valid.
            unsafe { Pipeline::new(worker.gpu.context(), &desc) }
        });
        match pipeline {
            Ok(pipeline) => jobs.push(Job { case, backend, pipeline }),
            Err(error) => self.fail(case, backend.name(), &lowered.words, &error.to_string()),
        }
        for message in self.gpu.take_messages() {
            if known::is_false_message(backend, &message) {
                continue;
            }
            self.fail(case, backend.name(), &lowered.words, &message.to_string());
        }
    }

    fn capture(&mut self, jobs: &[Job<'_>]) {
        let targets: Vec<Vec<Option<Target>>> = jobs.iter().map(|j| j.case.targets()).collect();
        let vertices: Vec<_> = jobs.iter().map(|j| j.case.vertex_buffers()).collect();
        let bound: Vec<Vec<Option<CaptureTarget<'_>>>> = targets
            .iter()
            .map(|targets| targets.iter().map(|t| t.as_ref().map(bind)).collect())
            .collect();
        let data: Vec<Vec<VertexData<'_>>> = vertices
            .iter()
            .map(|v| {
                v.iter().map(|(binding, bytes)| VertexData { binding: *binding, bytes }).collect()
            })
            .collect();
        let pushed: Vec<Vec<Vec<u8>>> = jobs.iter().map(|j| j.case.push_constants()).collect();
        let requests: Vec<CaptureRequest<'_>> = jobs
            .iter()
            .enumerate()
            .map(|(i, job)| CaptureRequest {
                pipeline: &job.pipeline,
                vertex_data: &data[i],
                descriptor_sets: &[],
                push_constants: &pushed[i],
                draws: &job.case.draws,
                buffers: &bound[i],
                indices: &[],
                counters: false,
            })
            .collect();
        // Every other time small draws are captured as large ones are.
        let are_large = jobs.first().is_some_and(|job| (job.case.seed / BATCH) % 2 == 1);
        self.gpu.set(|settings| {
            settings.max_shared_workgroups = if are_large { 0 } else { u32::MAX };
        });
        // SAFETY: the pipelines are of this device; the vertex data holds every vertex.
        let results = self.timed("capture", |worker| unsafe { worker.gpu.capture(&requests) });
        let seeds: Vec<u64> = jobs.iter().map(|j| j.case.seed).collect();
        for message in self.gpu.take_messages() {
            self.report.failures.push(format!("one of the seeds {seeds:?}: {message}"));
        }
        let results = match results {
            Ok(results) => results,
            Err(error) => {
                self.report.failures.push(format!("the seeds {seeds:?}: {error:?}"));
                return;
            }
        };
        let start = Instant::now();
        for (job, result) in jobs.iter().zip(results) {
            let mut expected = job.case.expected();
            if self.perturb {
                expected.perturb();
            }
            let compared = expected.compare(&result);
            let shader = &job.case.shader;
            let fault = known::fault(&self.gpu, shader).filter(|_| job.backend == Backend::Native);
            if let Some(fault) = fault {
                self.report.fault(fault.reason, compared.is_err());
                continue;
            }
            *self.report.compared.entry(job.backend).or_default() += 1;
            if let Err(error) = compared {
                self.fail(job.case, job.backend.name(), &job.case.shader.words, &error);
            }
        }
        *self.report.times.entry("compare").or_default() += start.elapsed();
    }

    fn fail(&mut self, case: &Case, who: &str, words: &[u32], error: &str) {
        let file = if self.perturb { PathBuf::new() } else { write_words(case.seed, who, words) };
        let draws = &case.draws;
        self.report.failures.push(format!(
            "seed {}, {who}: {error}\n  {}\n  {draws:?}\n{}",
            case.seed,
            file.display(),
            describe(case)
        ));
    }

    /// Checks a module with a current spirv-val. The validation layer of Debian checks every module
    /// that is run with its own spirv-val, which is older.
    fn validate(&mut self, words: &[u32], target: &str) -> Result<(), String> {
        if !self.tools {
            return Ok(());
        }
        self.report.count("modules that spirv-val saw", 1);
        self.timed("spirv-val", |_| spirv_val::validate(words, target))
    }
}

fn bind(target: &Target) -> CaptureTarget<'_> {
    CaptureTarget { initial: &target.initial, offset: target.offset, size: target.size }
}

fn lower(case: &Case, backend: Backend, target: compute::Target) -> Result<Lowered, LowerError> {
    let shader = &Shader::new(&case.shader.words);
    match backend {
        Backend::Native => native::lower(shader),
        Backend::Vertex => vertex::lower(shader),
        Backend::Compute => {
            let target = target
                .workgroup_sizes(WorkgroupSizes::all([64, 64, 20][case.seed as usize % 3]))
                .staging([0, 0, 0, 4096, 0, 0, 300, 0][case.seed as usize % 8]);
            let options = compute::Options::new(&case.shader.vertex_input).target(target);
            compute::lower(shader, &options)
        }
    }
}

/// Optimises a shader, so that different code computes the same.
fn spirv_opt(words: &[u32]) -> Vec<u32> {
    let bytes = pipe("spirv-opt", &["-O", "-", "-o", "-"], words).unwrap();
    vkxfb::spirv::words_from_bytes(&bytes).unwrap()
}

/// Runs a tool on a module from standard input, which takes 4 ms. Returns the standard output of
/// the tool, or its error.
fn pipe(tool: &str, arguments: &[&str], words: &[u32]) -> Result<Vec<u8>, String> {
    let mut child = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{tool}: {error} (tests/setup.sh installs it)"));
    let written = child.stdin.take().unwrap().write_all(bytemuck::cast_slice(words));
    let output = child.wait_with_output().unwrap();
    if output.status.success() {
        written.map(|()| output.stdout).map_err(|error| error.to_string())
    } else {
        Err(format!("{tool}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// Writes a module to a file, to be examined. Returns the path.
fn write_words(seed: u64, who: &str, words: &[u32]) -> PathBuf {
    let name = format!("vkxfb-{seed}-{}.spv", who.replace(' ', "-"));
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, bytemuck::cast_slice(words)).unwrap();
    file
}

/// Describes the outputs of a shader in a few lines.
fn describe(case: &Case) -> String {
    let shader = &case.shader;
    let mut text = format!("  {:?}, strides {:?}\n", shader.version, shader.interface.strides);
    for (number, variable) in shader.interface.variables.iter().enumerate() {
        if variable.is_block() {
            let (elements, whole) = (variable.elements(), variable.is_whole_block());
            text += &format!("  out{number}: block, elements {elements:?}, whole {whole}\n");
        }
        for (member, item) in variable.items().iter().enumerate() {
            let which = item.built_in.map_or(String::new(), |b: BuiltIn| format!(" {b:?}"));
            text += &format!(
                "  out{number}.{member}:{which} {:?} location {:?} component {:?} {:?}\n",
                item.ty, item.location, item.component, item.captured
            );
        }
    }
    text
}
