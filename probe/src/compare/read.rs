//! Reads the reports that `vkxfb probe` writes with `--json` and `--report`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::error::Category;

use super::CaseKey;
use crate::bug::BUG_REPORT_HEAD;
use crate::report::{CaseResult, Comparable, Root, SCHEMA};
use crate::trial::{Trial, TrialResult};

/// The reason why a file cannot be read as a report.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read {}", .file.display())]
    File {
        /// The path of the file.
        file: PathBuf,
        /// The error of the file system.
        #[source]
        source: std::io::Error,
    },
    /// The file is neither JSON nor Markdown with a block of JSON in it.
    #[error("{}: no report of a probe: neither JSON nor Markdown with a block of JSON", .file.display())]
    NoReport {
        /// The path of the file.
        file: PathBuf,
    },
    /// The block of JSON in the Markdown has no end, as if the file was copied in part.
    #[error("{}: the report is cut off: its last part, with the results of every case, is missing or has no end", .file.display())]
    CutOff {
        /// The path of the file.
        file: PathBuf,
    },
    /// The report has no case.
    #[error("{}: the report has no case, so that there is nothing to compare", .file.display())]
    NoCases {
        /// The path of the file.
        file: PathBuf,
    },
    /// The JSON is not valid.
    #[error("{}: no report of a probe: its JSON is broken", .file.display())]
    Json {
        /// The path of the file.
        file: PathBuf,
        /// The error of the JSON parser, which contains the line number.
        #[source]
        source: serde_json::Error,
    },
    /// A field is missing, or its type or value is wrong.
    #[error("{}: {field}: {problem}", .file.display())]
    Field {
        /// The path of the file.
        file: PathBuf,
        /// The field, such as `reports[0].results[3].right`.
        field: String,
        /// The problem with the field.
        problem: String,
    },
}

/// A report that was read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The devices that were probed.
    pub devices: Vec<RecordedDevice>,
    /// Whether faults were simulated, so that the report says nothing about a driver.
    pub is_injected: bool,
    /// Whether the probe was run with `--quick`. `false` if the report does not contain its
    /// command.
    pub is_quick: bool,
}

/// A device in a report that was read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedDevice {
    /// The name of the device.
    pub name: String,
    /// The vendor ID and the device ID.
    pub ids: (u32, u32),
    /// Other properties that may differ between two reports: versions, limits, results of trials (tests of properties
    /// that devices do not report), and the machine.
    pub facts: BTreeMap<String, String>,
    pub(super) trials: BTreeMap<Trial, TrialResult>,
    cases: BTreeMap<CaseKey, CaseResult>,
}

impl Recorded {
    /// Reads a report from a file.
    ///
    /// # Errors
    /// [`ReadError`]
    pub fn read(file: &Path) -> Result<Self, ReadError> {
        let of_file = || file.to_owned();
        let text = std::fs::read_to_string(file)
            .map_err(|source| ReadError::File { file: of_file(), source })?;
        Self::parse(file, &text)
    }

    /// Reads a report from the text of a file. Errors contain the path `file`.
    ///
    /// # Errors
    /// [`ReadError`], except [`ReadError::File`].
    pub fn parse(file: &Path, text: &str) -> Result<Self, ReadError> {
        let is_json = text.trim_start().starts_with('{');
        let json = if is_json { Some(text) } else { fenced_json(text) };
        let json = json.ok_or_else(|| {
            if text.starts_with(BUG_REPORT_HEAD) {
                ReadError::CutOff { file: file.to_owned() }
            } else {
                ReadError::NoReport { file: file.to_owned() }
            }
        })?;
        // What another version wrote may have other fields, which are not the problem then.
        let Version { schema } = deserialize(file, json)?;
        if schema != SCHEMA {
            return Err(ReadError::Field {
                file: file.to_owned(),
                field: "schema".to_owned(),
                problem: format!("is {schema}, and this vkxfb reads {SCHEMA}"),
            });
        }
        let recorded = Self::of(deserialize(file, json)?);
        if recorded.devices.iter().all(|device| device.cases.is_empty()) {
            Err(ReadError::NoCases { file: file.to_owned() })
        } else {
            Ok(recorded)
        }
    }

    fn of(root: Root<Comparable<'_>>) -> Self {
        let Root { tool_version, reports, .. } = root;
        let is_quick = |report: &Comparable<'_>| {
            report.command.split_whitespace().any(|word| word == "--quick")
        };
        Self {
            is_injected: reports.iter().any(|report| report.injected.is_some()),
            is_quick: reports.iter().any(is_quick),
            devices: reports
                .into_iter()
                .map(|report| RecordedDevice::of(report, &tool_version))
                .collect(),
        }
    }
}

/// The version of a report's format, which every version has.
#[derive(Deserialize)]
struct Version {
    schema: u32,
}

/// Reads JSON. Errors name the field that is wrong.
fn deserialize<'de, T: Deserialize<'de>>(file: &Path, json: &'de str) -> Result<T, ReadError> {
    let syntax = |source| ReadError::Json { file: file.to_owned(), source };
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let field = error.path().to_string();
        match error.into_inner() {
            source if source.classify() == Category::Data => {
                ReadError::Field { file: file.to_owned(), field, problem: source.to_string() }
            }
            source => syntax(source),
        }
    })?;
    deserializer.end().map_err(syntax)?;
    Ok(value)
}

impl RecordedDevice {
    /// Takes what is compared from a report. `tool` is the version of vkxfb that made it.
    fn of(report: Comparable<'_>, tool: &str) -> Self {
        let Comparable { device, host, profile, resources, trials, results, .. } = report;
        let (device, host) = (device.into_owned(), host.into_owned());
        // The speed differs in each run, so it is not a property to compare.
        let trials = trials.iter().filter(|tried| tried.trial != Trial::Speed);
        let trials: BTreeMap<_, _> = trials.map(|tried| (tried.trial, tried.result)).collect();
        let mut facts = device.limits;
        facts.extend(trials.iter().map(|(trial, result)| (trial.to_string(), result.to_string())));
        for (name, value) in [
            ("vkxfb", Some(tool.to_owned())),
            ("device", Some(device.name.clone())),
            ("driver", Some(device.driver)),
            ("driver version", Some(device.driver_version)),
            ("Vulkan", Some(device.api_version)),
            ("conformance", device.conformance_version),
            ("profile", Some(profile.into_owned())),
            ("resources", Some(resources.into_owned())),
            ("os", Some(host.os)),
            ("kernel", host.kernel),
            ("architecture", Some(host.architecture)),
            ("machine", host.machine),
            ("cpu", host.cpu),
            ("memory_kib", host.memory_kib.map(|kib| kib.to_string())),
        ] {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                facts.insert(name.to_owned(), value);
            }
        }
        let mut cases = BTreeMap::new();
        for pipeline in results.iter() {
            for (result, draws) in [
                (CaseResult::Right, &pipeline.right),
                (CaseResult::NotTried, &pipeline.not_tried),
                (CaseResult::NotRun, &pipeline.not_run),
                (CaseResult::Wrong, &pipeline.wrong),
            ] {
                for (vertex_count, instance_count) in draws {
                    let case = CaseKey {
                        device: 0,
                        backend: pipeline.backend.to_string(),
                        topology: pipeline.topology.to_string(),
                        shader: pipeline.shader.clone(),
                        geometry: pipeline.geometry.clone(),
                        provoking: pipeline.provoking.to_string(),
                        specialized: pipeline.specialized,
                        vertex_count: *vertex_count,
                        instance_count: *instance_count,
                    };
                    let known = cases.entry(case).or_insert(result);
                    // If a case ran twice, the worse result is kept.
                    *known = result.max(*known);
                }
            }
        }
        let ids = (device.vendor_id, device.device_id);
        Self { name: device.name, ids, facts, trials, cases }
    }

    /// Returns the result of each case. [`CaseKey::device`] is set to `device`.
    pub(super) fn results(&self, device: usize) -> BTreeMap<CaseKey, CaseResult> {
        let with_place =
            |(key, result): (&CaseKey, &CaseResult)| (CaseKey { device, ..key.clone() }, *result);
        self.cases.iter().map(with_place).collect()
    }
}

/// Returns the last block of JSON in Markdown. The fence of the block may be longer than three backticks. `None` if
/// there is no such block, or if a block has no end.
fn fenced_json(text: &str) -> Option<&str> {
    let mut found = None;
    let mut rest = text;
    while let Some(at) = rest.find("```json\n") {
        let fence = &rest[rest[..at].rfind('\n').map_or(0, |line| line + 1)..at + 3];
        let code = &rest[at + "```json\n".len()..];
        if !fence.bytes().all(|byte| byte == b'`') {
            rest = code;
            continue;
        }
        let end = code.find(&format!("\n{fence}\n"))?;
        found = Some(&code[..end]);
        rest = &code[end..];
    }
    found
}
