//! The data of a run, and the reasons why a run or a contestant in it stops.

use std::collections::HashSet;
use std::time::Duration;

use vkxfb_probe::gpu::{Gpu, GpuError};

use crate::case::Case;
use crate::compare::Mismatch;
use crate::contestant::Contestant;
use crate::memory::Sources;
use crate::report::BenchReport;
use crate::sample::{SampleError, Tools};
use crate::series::Series;

/// The number of times that captures are measured, and limits for the time that this may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// The minimum number of rounds of a case. Each contestant captures once in a round.
    pub min_rounds: u32,
    /// The maximum number of rounds of a case.
    pub max_rounds: u32,
    /// Rounds are made until this time and the minimum number of rounds have both been reached.
    pub per_case: Duration,
    /// The maximum time for a case. A case is left out if it would take longer, as predicted from a
    /// smaller case of its series.
    pub limit: Duration,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            min_rounds: 5,
            max_rounds: 31,
            per_case: Duration::from_millis(200),
            limit: Duration::from_secs(5),
        }
    }
}

/// The reason why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// An operation of the device failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The device's clock could not be compared with the host's.
    #[error("comparing the device's clock with the host's: {0}")]
    Clock(String),
    /// A pipeline could not be created from a shader of the benchmark.
    #[error("pipelines of {record}: {reason}")]
    Pipelines {
        /// A description of the record.
        record: String,
        /// The reason why the pipeline could not be created.
        reason: String,
    },
}

/// The data of a run while it is in progress.
pub(crate) struct Bench<'a> {
    pub(crate) gpu: &'a mut Gpu,
    pub(crate) tools: Tools,
    pub(crate) sources: Sources,
    pub(crate) effort: Effort,
    pub(crate) report: BenchReport,
    /// The small cases that were compared, with contestants that captured them correctly.
    pub(crate) checked: HashSet<(Case, Contestant)>,
    pub(crate) last: Option<Series>,
}

pub(crate) fn sample_failed(case: &Case, error: SampleError) -> BenchError {
    match error {
        SampleError::Gpu(error) => error.into(),
        SampleError::Pipeline(error) => {
            BenchError::Pipelines { record: case.to_string(), reason: error.to_string() }
        }
    }
}

/// The reason why a contestant cannot take part in a case.
pub(crate) enum Refusal {
    Unavailable(String),
    Wrong(Box<Mismatch>),
}
