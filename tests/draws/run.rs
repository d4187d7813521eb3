//! Runs batches of programs on a device, and compares the results.

use std::collections::BTreeSet;

use ash::vk;
use vkxfb::lower::{Backend, ResourcePlan};
use vkxfb::runtime::Barrier;
use vkxfb_probe::gpu::{Gpu, GpuError, Message, OpenOptions, Profile, Resources};

use crate::BATCH;
use crate::common::batches::{Report, Worker};
use crate::common::commands::Draw;
use crate::common::device;
use crate::common::test_device::TestDevice;
use crate::generate::{Space, counter_combinations, generate};
use crate::known::{self, Fault};
use crate::model::{self, Fact};
use crate::native::{self, Native};
use crate::program::{Outcome, Program, State, StateChange, Step};
use crate::recorder::ByRecorder;
use crate::shrink::shrink;

/// Returns the barrier that `VKXFB_OMIT_BARRIER` names.
fn omitted() -> Option<Barrier> {
    let name = std::env::var("VKXFB_OMIT_BARRIER").ok()?;
    let found = Barrier::ALL.iter().copied().find(|barrier| format!("{barrier:?}") == name);
    Some(found.unwrap_or_else(|| panic!("VKXFB_OMIT_BARRIER={name} is none of {:?}", Barrier::ALL)))
}

/// The largest number of failing programs that a thread shrinks. Shrinking takes hundreds of runs.
const SHRUNK: usize = 3;

/// The way in which programs are run.
enum Executor {
    /// The device's own transform feedback, recorded command by command.
    Commands(Box<Native>),
    Recorder(ByRecorder),
}

impl Executor {
    const fn backend(&self) -> Backend {
        match self {
            Self::Commands(_) => Backend::Native,
            Self::Recorder(recorder) => recorder.backend(),
        }
    }

    fn run(&mut self, gpu: &mut Gpu, programs: &[Program]) -> Result<Vec<Outcome>, GpuError> {
        match self {
            Self::Commands(native) => native.run(gpu, programs),
            Self::Recorder(recorder) => recorder.run(gpu, programs),
        }
    }

    fn destroy(self, gpu: &Gpu) {
        match self {
            // SAFETY: every submission was waited for.
            Self::Commands(native) => unsafe { native.destroy(gpu.context()) },
            Self::Recorder(recorder) => recorder.destroy(gpu),
        }
    }
}

/// A device on which programs are run, and the report of these programs.
pub struct DrawWorker {
    gpu: TestDevice,
    space: Space,
    executors: Vec<Executor>,
    /// Whether the model is made wrong.
    pub perturb: bool,
    pub report: Report,
}

impl Worker for DrawWorker {
    /// Runs programs on every backend, and compares the results.
    fn batch(&mut self, seeds: &[u64]) {
        let programs: Vec<Program> = self.timed("generate", |worker| {
            seeds.iter().map(|seed| generate(*seed, &worker.space)).collect()
        });
        self.run_programs(&programs);
    }

    fn report(&mut self) -> &mut Report {
        &mut self.report
    }

    fn finish(mut self) -> Report {
        for executor in self.executors {
            executor.destroy(&self.gpu);
        }
        let messages = self.gpu.close();
        self.report.failures.extend(messages.iter().map(|m| format!("at the end: {m}")));
        self.report
    }
}

impl DrawWorker {
    /// Runs the programs with each combination of counters on every backend, and compares the
    /// results.
    pub fn run_counter_combinations(&mut self) {
        let programs = counter_combinations(&self.space);
        programs.chunks(BATCH as usize).for_each(|programs| self.run_programs(programs));
    }

    fn run_programs(&mut self, programs: &[Program]) {
        for program in programs {
            self.report.count("programs", 1);
            for name in program.draws() {
                self.report.count(name, 1);
            }
        }
        for executor in 0..self.executors.len() {
            let backend = self.executors[executor].backend();
            let (taken, left): (Vec<_>, Vec<_>) = programs
                .iter()
                .map(|program| (self.obstacle(executor, program), program))
                .partition(|(obstacle, _)| obstacle.is_none());
            for reason in left.into_iter().filter_map(|(obstacle, _)| obstacle) {
                self.report.exclude(backend, reason);
            }
            let taken: Vec<Program> =
                taken.into_iter().map(|(_, program)| program.clone()).collect();
            self.run(executor, &taken);
        }
    }

    /// Opens a worker with the compute backend, and with native captures if the device supports
    /// them. With descriptors it has only the compute backend, because native captures do not
    /// depend on descriptors.
    pub fn new(options: &OpenOptions) -> Self {
        let resources = options.resources;
        Self::open(options, |gpu| {
            let has_native =
                resources == Resources::Best && gpu.backends().contains(&Backend::Native);
            let mut space = if has_native { Space::of(gpu) } else { Space::whole() };
            let target = gpu.context().compute_target().unwrap();
            if let ResourcePlan::Descriptors { writes, .. } = target.resources {
                space.restrict_state(writes);
            }
            let mut executors = Vec::new();
            if has_native {
                executors.push(Executor::Commands(Box::new(Native::new(gpu).unwrap())));
            }
            // This creates a buffer with indirect usage.
            if native::draws_indirectly() {
                let compute = ByRecorder::new(gpu, Backend::Compute).unwrap();
                executors.push(Executor::Recorder(compute));
            }
            (space, executors)
        })
    }

    /// Opens a worker that runs programs on a graphics backend with the recorder.
    pub fn by_recorder(backend: Backend) -> Self {
        Self::open(&OpenOptions::default(), |gpu| {
            let mut space = Space::of(gpu);
            space.restrict_to_recorder(backend, gpu.capabilities());
            let executor = ByRecorder::new(gpu, backend).unwrap();
            (space, vec![Executor::Recorder(executor)])
        })
    }

    fn open(options: &OpenOptions, make: impl FnOnce(&Gpu) -> (Space, Vec<Executor>)) -> Self {
        let mut gpu = device::open_with(OpenOptions { robustness: true, ..options.clone() });
        // SAFETY: without a barrier the tests run on a CPU driver alone, which runs one dispatch
        // after another.
        unsafe { gpu.omit_barrier(omitted()) };
        let (space, executors) = make(&gpu);
        Self { gpu, space, executors, perturb: false, report: Report::default() }
    }

    /// Returns the reason why a program is not run on a backend. On the floor, an indirect draw
    /// with primitive restart needs as many invocations as the number of indices times the number
    /// of primitives that fit, which takes minutes on a CPU. (tests/recorder/long_restarts.rs has
    /// shorter ones.)
    fn obstacle(&self, executor: usize, program: &Program) -> Option<&'static str> {
        let executor = &self.executors[executor];
        let is_unbound =
            |step: &Step| matches!(step, Step::CaptureBuffers([None, None, None, None]));
        match executor.backend() {
            Backend::Native
                if matches!(executor, Executor::Recorder(_))
                    && program.rounds.iter().flatten().any(is_unbound) =>
            {
                Some("no capture buffer, without which the recorder refuses native captures")
            }
            Backend::Native => known::excluded(&self.gpu, program, &model::run(program).1),
            Backend::Vertex => None,
            Backend::Compute => {
                self.is_slow(program).then_some("restarts and indirect draws, on the floor")
            }
        }
    }

    fn is_slow(&self, program: &Program) -> bool {
        let is_slow = self.gpu.profile() == Profile::Bifrost
            && self.gpu.capabilities().device_type == vk::PhysicalDeviceType::CPU;
        let any = |is: fn(&Step) -> bool| program.rounds.iter().flatten().any(is);
        is_slow
            && any(|s| {
                matches!(s, Step::Change(StateChange::Pipeline(State { restart: true, .. })))
            })
            && any(|s| matches!(s, Step::Draw(Draw::Indirect { indexed: true, .. })))
    }

    /// Runs programs with the executor with this index, and compares the results.
    fn run(&mut self, executor: usize, programs: &[Program]) {
        // Of few programs a device may take none.
        if programs.is_empty() {
            return;
        }
        let backend = self.executors[executor].backend();
        let outcomes =
            self.timed(backend.name(), |w| w.executors[executor].run(&mut w.gpu, programs));
        let mut messages = self.gpu.take_messages();
        messages.retain(|message| !known::is_false_message(message));
        let outcomes = match outcomes {
            Ok(outcomes) if messages.is_empty() => outcomes,
            // Separately, so that each program shows its own faults.
            _ if programs.len() > 1 => {
                return programs.chunks(1).for_each(|program| self.run(executor, program));
            }
            result => {
                let errors = result.err().map(|error| format!("{error:?}"));
                let messages = messages.iter().map(ToString::to_string);
                for error in messages.chain(errors) {
                    self.fail(&programs[0], executor, &error);
                }
                return;
            }
        };
        for (program, outcome) in programs.iter().zip(outcomes) {
            self.compare(program, executor, &outcome);
        }
    }

    fn compare(&mut self, program: &Program, executor: usize, outcome: &Outcome) {
        let (mut expected, facts) = self.timed("model", |_| model::run(program));
        if self.perturb {
            expected.perturb();
        }
        let compared = program.compare(&expected, outcome);
        match (self.faults(executor, &facts).as_slice(), compared) {
            ([], compared) => {
                let backend = self.executors[executor].backend();
                *self.report.compared.entry(backend).or_default() += 1;
                if let Err(error) = compared {
                    self.fail(program, executor, &error);
                }
            }
            // Only a program with a single fault shows whether that still exists.
            ([fault], compared) => {
                self.report.fault(fault.reason, compared.is_err());
            }
            _ => {}
        }
    }

    /// Returns the faults that a program may show.
    fn faults(&self, executor: usize, facts: &BTreeSet<Fact>) -> Vec<&'static Fault> {
        let executor = &self.executors[executor];
        match (executor.backend(), executor) {
            (Backend::Compute, _) => Vec::new(),
            (Backend::Vertex, _) => {
                let draws = known::faulty_draws(self.gpu.capabilities());
                let facts = facts.iter().copied().filter(|fact| draws.contains(fact));
                known::faults(&self.gpu, &facts.collect())
            }
            (Backend::Native, Executor::Commands(_)) => known::faults(&self.gpu, facts),
            (Backend::Native, Executor::Recorder(_)) => {
                // The recorder gives counters from the first on, null where there is none.
                let mut facts = facts.clone();
                facts.remove(&Fact::FirstCounter);
                known::faults(&self.gpu, &facts)
            }
        }
    }

    fn fail(&mut self, program: &Program, executor: usize, error: &str) {
        let backend = self.executors[executor].backend();
        let mut text = format!("seed {}, {}: {error}\n", program.seed, backend.name());
        if !self.perturb && self.report.failures.len() < SHRUNK {
            let mut smallest_error = String::new();
            let smallest = shrink(program, |program| {
                let found = self.difference(program, executor);
                if let Some(error) = &found {
                    smallest_error.clone_from(error);
                }
                found.is_some()
            });
            text += &format!("  shrunk: {smallest_error}\n{smallest}");
        }
        self.report.failures.push(text);
    }

    /// Returns the validation messages about programs on the compute backend without a barrier.
    pub fn messages_without(
        &mut self,
        barrier: Option<Barrier>,
        seeds: std::ops::Range<u64>,
    ) -> Vec<Message> {
        // SAFETY: as above.
        unsafe { self.gpu.omit_barrier(barrier) };
        let programs: Vec<_> = seeds.map(|seed| generate(seed, &self.space)).collect();
        for executor in &mut self.executors {
            executor.run(&mut self.gpu, &programs).unwrap();
        }
        self.gpu.take_messages()
    }

    /// Returns how a shrunk program fails, or `None` if it does not.
    fn difference(&mut self, program: &Program, executor: usize) -> Option<String> {
        let (expected, facts) = model::run(program);
        if self.obstacle(executor, program).is_some() {
            return None;
        }
        if facts.contains(&Fact::VertexOutOfRange)
            || facts.contains(&Fact::IndexOutOfRange)
            || !self.faults(executor, &facts).is_empty()
        {
            return None;
        }
        let programs = std::slice::from_ref(program);
        let outcomes = self.executors[executor].run(&mut self.gpu, programs).ok()?;
        self.gpu.take_messages();
        program.compare(&expected, &outcomes[0]).err()
    }
}
