//! The result of a run, for machines.

#![forbid(unsafe_code)]

use serde::{Serialize, Serializer};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::report::{DeviceInfo, TOOL_VERSION};

use super::case::{Case, Workload};
use super::contestant::Contestant;
use super::roofline::Spread as RooflineSpread;
use super::stats::Spread;

/// Version of the JSON; raised where the meaning of a field changes or one goes away.
pub const SCHEMA: u32 = 1;

/// The machine around the device.
#[derive(Debug, Clone, Serialize)]
pub struct Host {
    /// Operating system.
    pub os: &'static str,
    /// Architecture.
    pub arch: &'static str,
    /// Threads that run at a time.
    pub cpus: usize,
    /// Name of the processor, where the system tells.
    pub cpu: Option<String>,
    /// Whether this program was compiled with optimisations.
    pub optimized: bool,
}

impl Host {
    /// This machine.
    pub fn here() -> Self {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = info.lines().find_map(|line| line.strip_prefix("model name"));
        Self {
            os: std::env::consts::OS,
            arch: std::env::consts::ARCH,
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            cpu: name.map(|name| name.trim_matches([' ', '\t', ':']).to_owned()),
            optimized: !cfg!(debug_assertions),
        }
    }
}

/// What times are taken by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Clock {
    /// Whether the times that ratios are made of are the device's timestamps; else the host's clock
    /// around the submission.
    pub timestamps: bool,
    /// Nanoseconds of a step of the timestamps.
    pub period_ns: Option<f32>,
    /// Bits of a timestamp.
    pub valid_bits: Option<u32>,
    /// The device's time by the host's, of work that takes long: timestamps are used if it is 0.5 at
    /// least.
    pub coverage: Option<f64>,
}

/// What a contestant took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Who.
    pub contestant: Contestant,
    /// Nanoseconds that ratios are made of, see [`Clock`].
    pub time_ns: Spread,
    /// Nanoseconds by the device's timestamps.
    pub gpu_ns: Option<Spread>,
    /// Nanoseconds from the submission until the host knows that the device is done.
    pub wall_ns: Spread,
    /// Nanoseconds of the host in Begin, the draws and End.
    pub recording_ns: Spread,
    /// Captured bytes, 10^9 a second: by the median.
    pub captured_gb_per_s: f64,
    /// Bytes read and written, 10^9 a second: by the median.
    pub moved_gb_per_s: f64,
    /// Time of the roofline by this time: 1 is as fast, less is slower.
    pub to_roofline: Option<f64>,
    /// Time of native by this time: more than 1 is faster.
    pub to_native: Option<f64>,
    /// Bytes of upload taken from the arena.
    pub arena_upload: u64,
    /// Bytes of scratch taken from the arena.
    pub arena_scratch: u64,
    /// Roofline only: the shape that was fastest.
    pub spread: Option<RooflineSpread>,
}

/// Who did not capture, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Who.
    pub contestant: Contestant,
    /// Why.
    pub reason: String,
}

fn display<T: std::fmt::Display, S: Serializer>(value: &T, s: S) -> Result<S::Ok, S::Error> {
    s.collect_str(value)
}

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseReport {
    /// How the vertices come.
    pub workload: Workload,
    /// Topology of the draws.
    #[serde(serialize_with = "display")]
    pub topology: PrimitiveTopology,
    /// Bytes captured of a vertex.
    pub record_bytes: u32,
    /// Capture buffers.
    pub buffers: u32,
    /// Vertices of a draw, or indices.
    pub vertices: u32,
    /// Draws.
    pub draws: u32,
    /// Vertices captured.
    pub records: u64,
    /// Bytes that a capture has to read.
    pub bytes_read: u64,
    /// Bytes that it has to write.
    pub bytes_written: u64,
    /// Captures of each contestant that were timed.
    pub rounds: u32,
    /// What they took.
    pub results: Vec<Measured>,
    /// Who is missing.
    pub missing: Vec<Missing>,
}

impl CaseReport {
    /// The report of a case without results.
    pub fn new(case: &Case) -> Self {
        Self {
            workload: case.workload,
            topology: case.topology,
            record_bytes: case.record.bytes(),
            buffers: case.record.buffers(),
            vertices: case.vertices,
            draws: case.draws(),
            records: case.records(),
            bytes_read: case.bytes_read(),
            bytes_written: case.bytes_written(),
            rounds: 0,
            results: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// What a contestant took.
    pub fn result(&self, contestant: Contestant) -> Option<&Measured> {
        self.results.iter().find(|r| r.contestant == contestant)
    }

    /// Computes the ratios, once all results are there.
    pub fn set_ratios(&mut self) {
        let median = |c| self.result(c).map(|r| r.time_ns.median);
        let [roofline, native] = [Contestant::Roofline, Contestant::Native].map(median);
        for result in &mut self.results {
            let time = result.time_ns.median;
            let ratio = |other: f64| (time > 0.0).then(|| other / time);
            result.to_roofline = roofline.and_then(ratio);
            result.to_native = native.and_then(ratio);
        }
    }
}

/// A case that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// In words.
    pub case: String,
    /// Why.
    pub reason: String,
}

/// What it takes to make a pipeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PipelineReport {
    /// Bytes captured of a vertex.
    pub record_bytes: u32,
    /// Capture buffers.
    pub buffers: u32,
    /// For whom.
    pub contestant: Contestant,
    /// Nanoseconds of rewriting the shader.
    pub rewriting_ns: Spread,
    /// Nanoseconds of the driver, for a shader that it has not seen before.
    pub creation_ns: Spread,
    /// Words of the module.
    pub words: usize,
}

/// A run on one device.
#[derive(Debug, Clone, Serialize)]
pub struct BenchReport {
    /// [`SCHEMA`]
    pub schema: u32,
    /// Version of vkxfb.
    pub tool_version: &'static str,
    /// The device.
    pub device: DeviceInfo,
    /// Bytes of its largest local heap.
    pub device_memory: u64,
    /// The machine.
    pub host: Host,
    /// What times are taken by.
    pub clock: Clock,
    /// Seconds of the whole run.
    pub elapsed_s: f64,
    /// Cases that were measured.
    pub cases: Vec<CaseReport>,
    /// Pipelines that were made.
    pub pipelines: Vec<PipelineReport>,
    /// Cases that were not measured.
    pub left_out: Vec<LeftOut>,
    /// Captures of this crate that came out wrong, in words.
    pub wrong: Vec<String>,
    /// What the validation layer said.
    pub validation: Vec<String>,
}

impl BenchReport {
    /// A report without a case.
    pub fn new(device: DeviceInfo, device_memory: u64, clock: Clock) -> Self {
        Self {
            schema: SCHEMA,
            tool_version: TOOL_VERSION,
            device,
            device_memory,
            host: Host::here(),
            clock,
            elapsed_s: 0.0,
            cases: Vec::new(),
            pipelines: Vec::new(),
            left_out: Vec::new(),
            wrong: Vec::new(),
            validation: Vec::new(),
        }
    }

    /// Indented, with a line break at the end.
    ///
    /// # Errors
    /// None that a report can cause; `serde_json`'s are passed on.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
