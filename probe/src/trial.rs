//! Trials: tests of properties that devices do not report, which run before the cases. They test whether indirect
//! dispatches work, whether vertex shaders can store, whether counters are correct, and how fast captures are.

#![forbid(unsafe_code)]

use std::fmt;

use serde::{Deserialize, Serialize};
use vkxfb_rewriter::lower::Backend;

use crate::names;

/// A trial: a test of a property of the device that no query reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trial {
    /// Whether `vkCmdDispatchIndirect` runs as many workgroups as the device has written into the
    /// arguments.
    IndirectDispatch,
    /// Whether a vertex shader that stores to memory runs for every vertex of a draw, for none that
    /// no primitive uses, and how often.
    VertexStores,
    /// Whether captures are correct if none, some, or all of the buffers have counters.
    Counters,
    /// The number of vertices that are captured per second.
    Speed,
}

impl Trial {
    /// All trials, in the order in which they run.
    pub const ALL: [Self; 4] =
        [Self::IndirectDispatch, Self::VertexStores, Self::Counters, Self::Speed];

    /// The name of the trial in text for readers, which has spaces: `indirect dispatch`. In JSON it has hyphens.
    pub fn title(self) -> String {
        self.to_string().replace('-', " ")
    }
}

/// The name of the trial in JSON.
impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A formatter is a serializer of what is only a name.
        self.serialize(f)
    }
}

/// The result of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialResult {
    /// The device has the property.
    Works,
    /// The device does not have the property, but captures can do without it.
    DoneWithout,
    /// The device does not have the property, so captures may be wrong.
    Wrong,
    /// The trial cannot be made, because the device or the profile lacks the feature or backend that it
    /// needs.
    Absent,
    /// The trial could not be run, for example because a command failed.
    NotRun,
    /// During the trial the device was lost, or the process crashed or did not finish.
    Lost,
}

impl TrialResult {
    /// Whether the trial came out wrong, could not be run, or lost the device, so that captures may be wrong.
    pub(crate) const fn is_bad(self) -> bool {
        match self {
            Self::Works | Self::DoneWithout | Self::Absent => false,
            Self::Wrong | Self::NotRun | Self::Lost => true,
        }
    }
}

/// The name of the result in JSON.
impl fmt::Display for TrialResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The speed at which a backend captures a triangle strip.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// The backend that captured the triangle strip.
    #[serde(with = "names::backend")]
    pub backend: Backend,
    /// The number of vertices of a triangle strip that are captured per second. Each vertex is
    /// captured in three triangles.
    pub vertices_per_second: f64,
}

/// A trial with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialReport {
    /// The trial, which says what was tested.
    pub trial: Trial,
    /// The result.
    pub result: TrialResult,
    /// A description of the result.
    pub text: String,
    /// The measured speeds. Empty except for [`Trial::Speed`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<Rate>,
}

impl TrialReport {
    /// Makes the report of a trial without measured speeds.
    pub fn new(trial: Trial, result: TrialResult, text: impl Into<String>) -> Self {
        Self { trial, result, text: text.into(), rates: Vec::new() }
    }

    /// Returns the description. It begins with the result if that is [`TrialResult::NotRun`] or
    /// [`TrialResult::Lost`].
    pub fn described(&self) -> String {
        let lead = match self.result {
            TrialResult::NotRun => "could not be tried: ",
            TrialResult::Lost => "lost: ",
            TrialResult::Works
            | TrialResult::DoneWithout
            | TrialResult::Wrong
            | TrialResult::Absent => "",
        };
        format!("{lead}{}", self.text)
    }
}
