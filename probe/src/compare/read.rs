//! Reads the reports that `vkxfb probe` writes with `--json` and `--report`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::CaseKey;
use crate::bug::BUG_REPORT_HEAD;
use crate::names;
use crate::report::{CaseResult, SCHEMA};
use crate::trial::Trial;

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
    pub ids: (u64, u64),
    /// Other properties that may differ between two reports: versions, limits, results of trials (tests of properties
    /// that devices do not report), and the machine.
    pub facts: BTreeMap<String, String>,
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
        let json = json.ok_or_else(|| match text.starts_with(BUG_REPORT_HEAD) {
            true => ReadError::CutOff { file: file.to_owned() },
            false => ReadError::NoReport { file: file.to_owned() },
        })?;
        let value: Value = serde_json::from_str(json)
            .map_err(|source| ReadError::Json { file: file.to_owned(), source })?;
        let parsed = Field { path: String::new(), value: &value }.recorded();
        let recorded = parsed.map_err(|(field, problem)| ReadError::Field {
            file: file.to_owned(),
            field,
            problem,
        })?;
        if recorded.devices.iter().all(|device| device.cases.is_empty()) {
            Err(ReadError::NoCases { file: file.to_owned() })
        } else {
            Ok(recorded)
        }
    }
}

impl RecordedDevice {
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

/// The path to a field of the JSON, and a description of the problem with the field.
type Wrong = (String, String);

/// A value in the JSON, with the path to it for messages.
struct Field<'a> {
    path: String,
    value: &'a Value,
}

impl<'a> Field<'a> {
    fn wrong(&self, problem: impl Into<String>) -> Wrong {
        (self.path.clone(), problem.into())
    }

    /// Returns a member of an object. `None` if it is missing or null.
    fn optional(&self, name: &str) -> Option<Self> {
        let dot = if self.path.is_empty() { "" } else { "." };
        let path = format!("{}{dot}{name}", self.path);
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(Self { path, value })
    }

    fn member(&self, name: &str) -> Result<Self, Wrong> {
        let dot = if self.path.is_empty() { "" } else { "." };
        let missing = || (format!("{}{dot}{name}", self.path), "is missing".to_owned());
        self.optional(name).ok_or_else(missing)
    }

    fn elements(&self) -> Result<Vec<Self>, Wrong> {
        let array = self.value.as_array().ok_or_else(|| self.wrong("is no array"))?;
        let element = |(index, value)| Self { path: format!("{}[{index}]", self.path), value };
        Ok(array.iter().enumerate().map(element).collect())
    }

    fn text(&self) -> Result<&'a str, Wrong> {
        self.value.as_str().ok_or_else(|| self.wrong("is no text"))
    }

    fn number(&self) -> Result<u64, Wrong> {
        self.value.as_u64().ok_or_else(|| self.wrong("is no whole number"))
    }

    fn truth(&self) -> Result<bool, Wrong> {
        self.value.as_bool().ok_or_else(|| self.wrong("is neither true nor false"))
    }

    /// Reads a list of draws, such as `7x1 7x3`: the counts of vertices and instances.
    fn draws(&self) -> Result<Vec<(u32, u32)>, Wrong> {
        names::draws::parse(self.text()?).map_err(|problem| self.wrong(problem))
    }

    fn recorded(&self) -> Result<Recorded, Wrong> {
        let schema = self.member("schema")?;
        let version = schema.number()?;
        if version != u64::from(SCHEMA) {
            return Err(schema.wrong(format!("is {version}, and this vkxfb reads {SCHEMA}")));
        }
        let tool = self.member("tool_version")?.text()?;
        let reports = self.member("reports")?.elements()?;
        let devices = reports.iter().map(|report| report.device(tool));
        let is_injected = reports.iter().any(|report| report.optional("injected").is_some());
        let mut is_quick = false;
        for report in &reports {
            // Reports in Markdown that older versions wrote do not contain the command.
            let command = report.optional("command").map(|command| command.text()).transpose()?;
            is_quick |=
                command.unwrap_or_default().split_whitespace().any(|word| word == "--quick");
        }
        Ok(Recorded { devices: devices.collect::<Result<_, _>>()?, is_injected, is_quick })
    }

    /// Reads the device of a report. `tool` is the version of vkxfb that made the report.
    fn device(&self, tool: &str) -> Result<RecordedDevice, Wrong> {
        let device = self.member("device")?;
        let id = |name: &str| device.member(name)?.number();
        let mut facts = BTreeMap::from([("vkxfb".to_owned(), tool.to_owned())]);
        let mut note = |name: &str, field: Option<Self>| -> Result<(), Wrong> {
            let Some(field) = field else { return Ok(()) };
            let text = match field.value {
                Value::Number(number) => number.to_string(),
                _ => field.text()?.to_owned(),
            };
            if !text.is_empty() {
                facts.insert(name.to_owned(), text);
            }
            Ok(())
        };
        for (name, field) in [
            ("device", "name"),
            ("driver", "driver"),
            ("driver version", "driver_version"),
            ("Vulkan", "api_version"),
            ("conformance", "conformance_version"),
        ] {
            note(name, device.optional(field))?;
        }
        for name in ["profile", "resources"] {
            note(name, self.optional(name))?;
        }
        let host = self.optional("host");
        for name in ["os", "kernel", "architecture", "machine", "cpu", "memory_kib"] {
            note(name, host.as_ref().and_then(|host| host.optional(name)))?;
        }
        if let Some(limits) = device.optional("limits") {
            let names = limits.value.as_object().ok_or_else(|| limits.wrong("is no object"))?;
            for name in names.keys() {
                note(name, limits.optional(name))?;
            }
        }
        // Reports that older versions of vkxfb wrote have no trials (tests of properties that devices do not report).
        let trials = self.optional("trials").map(|trials| trials.elements()).transpose()?;
        for trial in trials.unwrap_or_default() {
            let name = trial.member("trial")?.text()?;
            // The speed differs in each run, so it is not a property to compare.
            if name != Trial::Speed.name() {
                note(name, trial.optional("result"))?;
            }
        }
        let mut cases = BTreeMap::new();
        for results in self.member("results")?.elements()? {
            results.add_cases(&mut cases)?;
        }
        Ok(RecordedDevice {
            name: device.member("name")?.text()?.to_owned(),
            ids: (id("vendor_id")?, id("device_id")?),
            facts,
            cases,
        })
    }

    /// Adds the cases of one pipeline. `self` is the JSON object with the results of that pipeline.
    fn add_cases(&self, cases: &mut BTreeMap<CaseKey, CaseResult>) -> Result<(), Wrong> {
        let text = |name: &str| Ok::<_, Wrong>(self.member(name)?.text()?.to_owned());
        let pipeline = CaseKey {
            device: 0,
            backend: text("backend")?,
            topology: text("topology")?,
            shader: text("shader")?,
            // The field is missing if the outputs of a vertex shader are captured. In reports of older versions of
            // vkxfb it is always missing.
            geometry: self
                .optional("geometry")
                .map(|name| name.text())
                .transpose()?
                .map(str::to_owned),
            provoking: text("provoking")?,
            specialized: self.member("specialized")?.truth()?,
            vertex_count: 0,
            instance_count: 0,
        };
        for (name, result) in [
            ("right", CaseResult::Right),
            ("not_tried", CaseResult::NotTried),
            ("not_run", CaseResult::NotRun),
            ("wrong", CaseResult::Wrong),
        ] {
            let Some(draws) = self.optional(name) else { continue };
            for (vertex_count, instance_count) in draws.draws()? {
                let case = CaseKey { vertex_count, instance_count, ..pipeline.clone() };
                let known = cases.entry(case).or_insert(result);
                // If a case ran twice, the worse result is kept.
                *known = result.max(*known);
            }
        }
        Ok(())
    }
}
