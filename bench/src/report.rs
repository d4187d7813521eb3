//! The result of a run, for machines.

#![forbid(unsafe_code)]

use serde::{Serialize, Serializer};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::report::{DeviceInfo, TOOL_VERSION};

use super::case::{Case, Workload};
use super::contestant::Contestant;
use super::roofline::Spread as RooflineSpread;
use super::stats::Spread;

/// Version of the JSON. Raised if the meaning of a field changes or a field is removed.
pub const SCHEMA: u32 = 1;

/// The machine with the device.
#[derive(Debug, Clone, Serialize)]
pub struct Host {
    /// Operating system.
    pub os: &'static str,
    /// Architecture.
    pub arch: &'static str,
    /// The number of threads that can run at the same time.
    pub cpus: usize,
    /// Name of the processor, if the system reports it.
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

/// The clock by which times are measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Clock {
    /// Whether ratios are computed from the device's timestamps. Otherwise from the host's clock
    /// around the submission.
    pub timestamps: bool,
    /// The step of the timestamps, in nanoseconds.
    pub period_ns: Option<f32>,
    /// The number of valid bits of a timestamp.
    pub valid_bits: Option<u32>,
    /// The ratio of the device's time to the host's, for work that takes long. Timestamps are used
    /// if it is at least 0.5.
    pub coverage: Option<f64>,
}

/// The times of a contestant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// The contestant.
    pub contestant: Contestant,
    /// The time in nanoseconds from which ratios are computed, see [`Clock`].
    pub time_ns: Spread,
    /// The time in nanoseconds by the device's timestamps.
    pub gpu_ns: Option<Spread>,
    /// Nanoseconds from the submission until the host knows that the device is done.
    pub wall_ns: Spread,
    /// Nanoseconds of the host in Begin, the draws and End.
    pub recording_ns: Spread,
    /// Captured bytes, in 10^9 per second, by the median.
    pub captured_gb_per_s: f64,
    /// Bytes read and written, in 10^9 per second, by the median.
    pub moved_gb_per_s: f64,
    /// The roofline's time divided by this time: 1 is as fast, less than 1 is slower.
    pub to_roofline: Option<f64>,
    /// Native's time divided by this time: more than 1 is faster.
    pub to_native: Option<f64>,
    /// Bytes of upload taken from the arena.
    pub arena_upload: u64,
    /// Bytes of scratch taken from the arena.
    pub arena_scratch: u64,
    /// Roofline only: the form that was fastest.
    pub spread: Option<RooflineSpread>,
}

/// A contestant that did not capture, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The contestant.
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
    /// How the vertices are drawn.
    pub workload: Workload,
    /// Topology of the draws.
    #[serde(serialize_with = "display")]
    pub topology: PrimitiveTopology,
    /// Captured bytes per vertex.
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
    /// The number of captures of each contestant that were timed.
    pub rounds: u32,
    /// The times of the contestants.
    pub results: Vec<Measured>,
    /// The contestants that are missing.
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

    /// The times of a contestant.
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

/// Who makes a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// vkxfb
    Contestant(Contestant),
    /// Somebody who wrote a compute shader for the topology and the record by hand.
    ByHand,
}

impl Maker {
    /// The name in the table and in the JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Contestant(contestant) => contestant.name(),
            Self::ByHand => "by-hand",
        }
    }
}

impl Serialize for Maker {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name())
    }
}

/// How long it takes until a new shader captures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PipelineReport {
    /// Captured bytes per vertex.
    pub record_bytes: u32,
    /// Capture buffers.
    pub buffers: u32,
    /// The topology of the draw.
    #[serde(serialize_with = "display")]
    pub topology: PrimitiveTopology,
    /// Who makes it.
    pub contestant: Maker,
    /// Nanoseconds for lowering the shader; 0 for one that was written by hand.
    pub rewriting_ns: Spread,
    /// Nanoseconds for making the pipeline of a single draw without indices, of a shader that the
    /// driver has not seen before.
    pub creation_ns: Spread,
    /// Nanoseconds for recording a capture of one triangle and waiting for it.
    pub first_use_ns: Spread,
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
    /// The clock by which times are measured.
    pub clock: Clock,
    /// Seconds of the whole run.
    pub elapsed_s: f64,
    /// Cases that were measured.
    pub cases: Vec<CaseReport>,
    /// Pipelines that were made.
    pub pipelines: Vec<PipelineReport>,
    /// Cases that were not measured.
    pub left_out: Vec<LeftOut>,
    /// Descriptions of wrong captures of this crate.
    pub wrong: Vec<String>,
    /// The messages of the validation layer.
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
    /// Errors of `serde_json`, which no report causes.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
