//! Runs trials (tests of properties that devices do not report), which come before the cases (the captures).

use crate::gpu::{Gpu, GpuError};
use crate::plan::Plan;
use crate::run::error::{BatchError, error_chain};
use crate::run::{counters, speed};
use crate::trial::{Trial, TrialReport, TrialResult};

/// Runs a trial (a test of a property that devices do not report). If the result is [`TrialResult::Lost`], the device
/// cannot be used any more.
pub fn run_trial(gpu: &mut Gpu, plan: &Plan, trial: Trial) -> TrialReport {
    let of_gpu = |result: Result<TrialReport, GpuError>| result.map_err(BatchError::from);
    let tried = match trial {
        Trial::IndirectDispatch => of_gpu(gpu.try_indirect_dispatch()),
        Trial::VertexStores => of_gpu(gpu.try_vertex_stores()),
        Trial::Counters => counters::try_counters(gpu, plan),
        Trial::Speed => speed::measure(gpu, plan),
    };
    tried.unwrap_or_else(|error| {
        let result = if error.is_fatal() { TrialResult::Lost } else { TrialResult::NotRun };
        TrialReport::new(trial, result, error_chain(&error))
    })
}
