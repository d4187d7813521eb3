//! Runs a plan on a device.

use std::collections::HashSet;
use std::time::Instant;

use vkxfb_probe::gpu::Gpu;
use vkxfb_probe::run::device_info;
use vkxfb_rewriter::counts::MAX_BUFFER_SIZE;

use crate::case::Case;
use crate::clock;
use crate::contestant::{Contestant, Pipelines};
use crate::memory::{Memory, MemoryError, Sources};
use crate::pipelines;
use crate::plan::Plan;
use crate::report::{BenchReport, CaseReport, Clock, LeftOut, Measured, Missing};
use crate::roofline::{Rooflines, Spread as RooflineSpread};
use crate::sample::{Sample, Timer, Tools};
use crate::series::{SLOW, Series};
use crate::state::{Bench, Refusal, sample_failed};
pub use crate::state::{BenchError, Effort};
use crate::stats::Spread;

/// The progress of a run.
#[derive(Debug, Clone)]
pub struct Progress {
    /// The number of cases that have been measured.
    pub done: usize,
    /// The number of all cases, including those of pipelines.
    pub total: usize,
    /// A description of what is measured now.
    pub what: String,
}

/// Runs a plan.
///
/// Wrong captures of vkxfb are reported, and not timed. If native captures are wrong, native is
/// reported as a contestant that did not take part.
///
/// # Errors
/// [`BenchError`]
pub fn run(
    gpu: &mut Gpu,
    plan: &Plan,
    effort: &Effort,
    mut observe: impl FnMut(&Progress),
) -> Result<BenchReport, BenchError> {
    let start = Instant::now();
    let timer = Timer::new(gpu)?;
    let timestamps = timer.timestamps();
    let clock = Clock {
        timestamps: timestamps.is_some(),
        period_ns: timestamps.map(|t| t.period),
        valid_bits: timestamps.map(|t| t.valid_bits),
        coverage: None,
    };
    let report = BenchReport::new(device_info(gpu), gpu.memory_limits().device_heap, clock);
    let tools = Tools { pipelines: Pipelines::default(), rooflines: Rooflines::default(), timer };
    let mut bench = Bench {
        gpu,
        tools,
        sources: Sources::default(),
        effort: *effort,
        report,
        checked: HashSet::new(),
        last: None,
    };
    let mut result = bench.check_clock(plan);
    if result.is_ok() {
        result = bench.run(plan, &mut observe);
    }
    if let Err(Stop::Clock) = result {
        bench.forget();
        result = bench.run(plan, &mut observe);
    }
    let Bench { gpu, tools, mut sources, mut report, .. } = bench;
    sources.destroy(gpu);
    tools.destroy(gpu);
    match result {
        Ok(()) => {}
        Err(Stop::Error(error)) => return Err(error),
        // `Stop::Clock` means that timestamps are not plausible. The run was already repeated
        // without them, so this cannot happen again.
        Err(Stop::Clock) => return Err(BenchError::Clock("the clock changed".to_owned())),
    }
    report.elapsed_s = start.elapsed().as_secs_f64();
    Ok(report)
}

/// The reason why a run stops before its end.
enum Stop {
    Error(BenchError),
    /// A median by the device's timestamps is not plausible compared with the host's clock, so the run is
    /// repeated without timestamps.
    Clock,
}

impl From<BenchError> for Stop {
    fn from(error: BenchError) -> Self {
        Self::Error(error)
    }
}

impl Bench<'_> {
    /// Determines which clock to use.
    fn check_clock(&mut self, plan: &Plan) -> Result<(), Stop> {
        let contestants = &plan.contestants;
        let coverage = clock::coverage(self.gpu, &mut self.tools, &mut self.sources, contestants)
            .map_err(|error| BenchError::Clock(error.to_string()))?;
        self.report.clock.coverage = coverage;
        if coverage.is_some_and(|coverage| coverage < clock::MIN_COVERAGE) {
            self.forget();
        }
        Ok(())
    }

    /// Stops using timestamps, and removes the results that were measured with them.
    fn forget(&mut self) {
        self.tools.timer.distrust();
        let report = &mut self.report;
        report.clock.timestamps = false;
        report.cases.clear();
        report.left_out.clear();
        report.wrong.clear();
        self.last = None;
    }

    fn run(&mut self, plan: &Plan, mut observe: impl FnMut(&Progress)) -> Result<(), Stop> {
        let total = plan.cases.len() + plan.pipelines.len();
        for case in &plan.too_large {
            self.leave_out(case, format!("a capture buffer has at most {MAX_BUFFER_SIZE} bytes"));
        }
        for (done, case) in plan.cases.iter().enumerate() {
            observe(&Progress { done, total, what: case.to_string() });
            let (captures, limit) = (self.effort.min_rounds + 2, self.effort.limit);
            let slow = self.last.as_ref().map(|last| last.too_slow(case, captures, limit));
            let slow = match slow.unwrap_or(Ok(Vec::new())) {
                Ok(slow) => slow,
                Err(reason) => {
                    self.leave_out(case, reason);
                    continue;
                }
            };
            // Small cases are compared before the memory of the case itself is allocated, because
            // both use the same vertex buffer.
            let mut refused = self.check_small(case, &plan.contestants)?;
            for (contestant, refusal) in &mut refused {
                if slow.contains(contestant) && refusal.is_none() {
                    let reason =
                        format!("more than {SLOW} times as slow as the roofline, and too long");
                    *refusal = Some(Refusal::Unavailable(reason));
                }
            }
            match Memory::new(self.gpu, &mut self.sources, case) {
                Ok(mut memory) => {
                    let result = self.measure(case, refused, &mut memory);
                    memory.destroy(self.gpu);
                    self.last = Some(Series { case: *case, captures: result?, slow });
                }
                Err(error) if error.is_limit() => self.leave_out(case, error.to_string()),
                Err(MemoryError::TooMuch(reason)) => self.leave_out(case, reason),
                Err(MemoryError::Gpu(error)) => return Err(BenchError::from(error).into()),
            }
        }
        for (done, record) in plan.pipelines.iter().enumerate() {
            let what = format!("pipelines of {record}");
            observe(&Progress { done: plan.cases.len() + done, total, what });
            match pipelines::measure(self.gpu, &mut self.sources, *record, &plan.contestants) {
                Ok(made) => self.report.pipelines.extend(made),
                Err(error) => self.report.left_out.push(LeftOut {
                    case: format!("pipelines of {record}"),
                    reason: error.to_string(),
                }),
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, case: &Case, reason: String) {
        self.report.left_out.push(LeftOut { case: case.to_string(), reason });
    }

    /// Measures a case. Returns for each contestant how many seconds a capture took.
    fn measure(
        &mut self,
        case: &Case,
        contestants: Vec<(Contestant, Option<Refusal>)>,
        memory: &mut Memory,
    ) -> Result<Vec<(Contestant, f64)>, Stop> {
        let mut report = CaseReport::new(case);
        let mut present = Vec::new();
        let mut spread = RooflineSpread::default();
        for (contestant, mut refused) in contestants {
            if refused.is_none() {
                refused = match contestant {
                    Contestant::Roofline => match self.find_roofline(case, memory)? {
                        Ok(fastest) => {
                            spread = fastest;
                            None
                        }
                        Err(refusal) => Some(refusal),
                    },
                    _ => self.check(case, contestant, memory, spread)?.err(),
                };
            }
            let reason = match refused {
                None => {
                    present.push(contestant);
                    continue;
                }
                Some(Refusal::Unavailable(reason)) => reason,
                Some(Refusal::Wrong(mismatch)) => {
                    if contestant != Contestant::Native {
                        self.report.wrong.push(mismatch.to_string());
                    }
                    mismatch.to_string()
                }
            };
            report.missing.push(Missing { contestant, reason });
        }

        let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); present.len()];
        let mut start = Instant::now();
        let mut round = 0;
        loop {
            for i in 0..present.len() {
                let i = (i + round as usize) % present.len();
                let (Some(contestant), Some(samples)) = (present.get(i), samples.get_mut(i)) else {
                    continue;
                };
                let sample = self.tools.sample(self.gpu, case, memory, *contestant, spread);
                let sample = sample.map_err(|error| sample_failed(case, error))?;
                // The first round is not counted: it warms up the device, which was idle during the
                // comparison.
                if round > 0 {
                    samples.push(sample);
                }
            }
            if round == 0 {
                start = Instant::now();
            }
            round += 1;
            let Effort { min_rounds, max_rounds, per_case, .. } = self.effort;
            let is_enough = round > min_rounds && start.elapsed() >= per_case;
            if is_enough || round > max_rounds.max(min_rounds) || present.is_empty() {
                break;
            }
        }
        report.rounds = round.saturating_sub(1);
        let measured = |(contestant, samples): (&Contestant, &Vec<Sample>)| {
            measured(*contestant, samples, &report, spread)
        };
        report.results = present.iter().zip(&samples).filter_map(measured).collect();
        report.set_ratios();
        let is_believable = |result: &Measured| {
            let device = result.gpu_ns.map_or(f64::INFINITY, |gpu| gpu.median);
            clock::is_believable(device, result.wall_ns.median)
        };
        if !report.results.iter().all(is_believable) {
            return Err(Stop::Clock);
        }
        let seconds = |r: &Measured| (r.contestant, r.wall_ns.median / 1e9);
        let captures = report.results.iter().map(seconds).collect();
        self.report.cases.push(report);
        Ok(captures)
    }

    /// Finds the fastest variant of the roofline for a case.
    fn find_roofline(
        &mut self,
        case: &Case,
        memory: &mut Memory,
    ) -> Result<Result<RooflineSpread, Refusal>, BenchError> {
        let roofline = Contestant::Roofline;
        let spreads = match RooflineSpread::all(self.gpu.context(), case) {
            Ok(spreads) => spreads,
            Err(reason) => return Ok(Err(Refusal::Unavailable(reason))),
        };
        let mut fastest = (f64::INFINITY, RooflineSpread::default());
        for spread in &spreads {
            if let Err(refusal) = self.check(case, roofline, memory, *spread)? {
                return Ok(Err(refusal));
            }
        }
        for _ in 0..2 {
            for &spread in &spreads {
                let sample = self.tools.sample(self.gpu, case, memory, roofline, spread);
                let sample = sample.map_err(|error| sample_failed(case, error))?;
                let time = sample.gpu.unwrap_or(sample.wall);
                if time < fastest.0 {
                    fastest = (time, spread);
                }
            }
        }
        Ok(Ok(fastest.1))
    }
}

fn measured(
    contestant: Contestant,
    samples: &[Sample],
    case: &CaseReport,
    spread: RooflineSpread,
) -> Option<Measured> {
    let of = |f: fn(&Sample) -> f64| Spread::of(&samples.iter().map(f).collect::<Vec<_>>());
    let gpu: Option<Vec<f64>> = samples.iter().map(|s| s.gpu).collect();
    let gpu_ns = gpu.and_then(|gpu| Spread::of(&gpu));
    let wall_ns = of(|s| s.wall)?;
    let time_ns = gpu_ns.unwrap_or(wall_ns);
    let per_ns =
        |bytes: u64| if time_ns.median > 0.0 { bytes as f64 / time_ns.median } else { 0.0 };
    let arena = samples.last()?.arena;
    Some(Measured {
        contestant,
        time_ns,
        gpu_ns,
        wall_ns,
        recording_ns: of(|s| s.recording)?,
        captured_gb_per_s: per_ns(case.bytes_written),
        moved_gb_per_s: per_ns(case.bytes_written + case.bytes_read),
        to_roofline: None,
        to_native: None,
        arena_upload: arena.upload,
        arena_scratch: arena.scratch,
        spread: (contestant == Contestant::Roofline).then_some(spread),
    })
}
