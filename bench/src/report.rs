//! The result of a run, which is written as JSON.

#![forbid(unsafe_code)]

use std::fmt;

use serde::{Serialize, Serializer};
use vkxfb_probe::report::{DeviceInfo, TOOL_VERSION};
use vkxfb_rewriter::topology::PrimitiveTopology;

use crate::case::{Case, Workload};
use crate::contestant::Contestant;
use crate::roofline::Spread as RooflineSpread;
use crate::stats::Spread;

/// The version of the JSON format. It is raised if the meaning of a field changes or a field is
/// removed.
pub const SCHEMA: u32 = 1;

/// The machine on which the benchmark ran.
#[derive(Debug, Clone, Serialize)]
pub struct Host {
    /// The name of the operating system.
    pub os: &'static str,
    /// The architecture.
    pub arch: &'static str,
    /// The number of threads that can run at the same time.
    pub cpus: usize,
    /// The name of the processor. `None` if the system does not report it.
    pub cpu: Option<String>,
    /// Whether this program was compiled with optimizations.
    pub optimized: bool,
}

impl Host {
    /// Queries this machine.
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

/// The clock with which times are measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Clock {
    /// Whether ratios are computed from the device's timestamps. Otherwise they are computed from
    /// the host's clock before and after the submission.
    pub timestamps: bool,
    /// The nanoseconds from one timestamp value to the next. `None` if the device has no
    /// timestamps.
    pub period_ns: Option<f32>,
    /// The number of valid bits of a timestamp. `None` if the device has no timestamps.
    pub valid_bits: Option<u32>,
    /// The ratio of the time by the device's clock to that by the host's clock, for work that takes
    /// long. Timestamps are used if it is at least 0.5. `None` if it was not measured.
    pub coverage: Option<f64>,
}

/// The times of a contestant in a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// The contestant to which the times belong.
    pub contestant: Contestant,
    /// The time in nanoseconds from which ratios are computed, see [`Clock`].
    pub time_ns: Spread,
    /// The time in nanoseconds by the device's timestamps. `None` if they are not used.
    pub gpu_ns: Option<Spread>,
    /// The time in nanoseconds from the submission until the host knows that the device has
    /// finished.
    pub wall_ns: Spread,
    /// The time in nanoseconds that the host spends in Begin, the draws and End.
    pub recording_ns: Spread,
    /// The captured bytes per second, in 10^9, computed from the median.
    pub captured_gb_per_s: f64,
    /// The bytes that are read and written per second, in 10^9, computed from the median.
    pub moved_gb_per_s: f64,
    /// The roofline's time divided by this time: less than 1 means slower than the roofline.
    pub to_roofline: Option<f64>,
    /// The native capture's time divided by this time: more than 1 means faster than the native
    /// capture.
    pub to_native: Option<f64>,
    /// The bytes of upload memory that the capture took from the arena.
    pub arena_upload: u64,
    /// The bytes of scratch memory that the capture took from the arena.
    pub arena_scratch: u64,
    /// The variant of the roofline that was fastest. `None` for other contestants.
    pub spread: Option<RooflineSpread>,
}

/// A contestant that did not take part in a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The contestant that is missing.
    pub contestant: Contestant,
    /// The reason why the contestant did not take part.
    pub reason: String,
}

fn display<T: fmt::Display, S: Serializer>(value: &T, s: S) -> Result<S::Ok, S::Error> {
    s.collect_str(value)
}

/// The results of a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseReport {
    /// How the vertices are drawn.
    pub workload: Workload,
    /// The topology of the draws.
    #[serde(serialize_with = "display")]
    pub topology: PrimitiveTopology,
    /// The size of a record in bytes.
    pub record_bytes: u32,
    /// The number of capture buffers.
    pub buffers: u32,
    /// The number of vertices of a draw or, for indexed draws, of indices.
    pub vertices: u32,
    /// The number of draws.
    pub draws: u32,
    /// The number of records that are captured.
    pub records: u64,
    /// The number of bytes that a capture has to read.
    pub bytes_read: u64,
    /// The number of bytes that a capture has to write.
    pub bytes_written: u64,
    /// The number of captures of each contestant that were timed.
    pub rounds: u32,
    /// The times of the contestants.
    pub results: Vec<Measured>,
    /// The contestants that did not take part.
    pub missing: Vec<Missing>,
}

impl CaseReport {
    /// Makes the report of a case, without results.
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

    /// Returns the times of a contestant, if it took part.
    pub fn result(&self, contestant: Contestant) -> Option<&Measured> {
        self.results.iter().find(|r| r.contestant == contestant)
    }

    /// Computes the ratios, after all results have been added.
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
    /// A description of the case.
    pub case: String,
    /// The reason why the case was not measured.
    pub reason: String,
}

/// How the shader of a pipeline was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Maker {
    /// It is a compute shader that was written by hand for the topology and the record size.
    ByHand,
    /// vkxfb lowered it for this contestant.
    #[serde(untagged)]
    Contestant(Contestant),
}

/// The name in the table and in the JSON.
impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The time from a new shader to its first capture, in three parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PipelineReport {
    /// The size of a record in bytes.
    pub record_bytes: u32,
    /// The number of capture buffers.
    pub buffers: u32,
    /// The topology of the draw.
    #[serde(serialize_with = "display")]
    pub topology: PrimitiveTopology,
    /// How the shader was made.
    pub contestant: Maker,
    /// The time in nanoseconds that lowering the shader took; 0 for a shader that was written by
    /// hand.
    pub rewriting_ns: Spread,
    /// The time in nanoseconds that creating the pipeline took. The pipeline is for a single draw
    /// without indices, and the driver has not seen its shader before.
    pub creation_ns: Spread,
    /// The time in nanoseconds from recording a capture of one triangle until the host knows that
    /// the device has finished it.
    pub first_use_ns: Spread,
    /// The number of words of the module.
    pub words: usize,
}

/// The results of a run on one device.
#[derive(Debug, Clone, Serialize)]
pub struct BenchReport {
    /// The version of the JSON format: [`SCHEMA`].
    pub schema: u32,
    /// The version of vkxfb.
    pub tool_version: &'static str,
    /// The device on which the benchmark ran.
    pub device: DeviceInfo,
    /// The size in bytes of the device's largest heap that is `DEVICE_LOCAL`.
    pub device_memory: u64,
    /// The machine on which the benchmark ran.
    pub host: Host,
    /// The clock with which times are measured.
    pub clock: Clock,
    /// The duration of the run in seconds.
    pub elapsed_s: f64,
    /// The cases that were measured.
    pub cases: Vec<CaseReport>,
    /// The times that it took to create pipelines.
    pub pipelines: Vec<PipelineReport>,
    /// The cases that were not measured.
    pub left_out: Vec<LeftOut>,
    /// Descriptions of the wrong captures by backends of vkxfb.
    pub wrong: Vec<String>,
    /// The messages of the validation layer.
    pub validation: Vec<String>,
}

impl BenchReport {
    /// Makes a report without results.
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
}
