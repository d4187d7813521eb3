//! Runs batches of programs on a device, and compares.

use std::collections::BTreeSet;

use ash::vk;
use vkxfb::lower::{Backend, ResourcePlan};
use vkxfb::probe::gpu::{Gpu, GpuError, Message, OpenOptions, Profile, Resources};
use vkxfb::runtime::Barrier;

use crate::common::batches::{Report, Worker};
use crate::common::settings::has_validation;
use crate::compute::Compute;
use crate::generate::{Space, generate};
use crate::known::{self, Fault};
use crate::model::{self, Fact};
use crate::native::Native;
use crate::program::{Draw, Outcome, Program, State, Step};
use crate::shrink::shrink;

/// The barrier that `VKXFB_OMIT_BARRIER` names.
fn omitted() -> Option<Barrier> {
    let name = std::env::var("VKXFB_OMIT_BARRIER").ok()?;
    let all = [
        Barrier::CaptureToConsumer,
        Barrier::BeforeSetup,
        Barrier::RestartToSetup,
        Barrier::SetupToCapture,
        Barrier::BeforeFinish,
        Barrier::Scarce,
    ];
    let found = all.into_iter().find(|barrier| format!("{barrier:?}") == name);
    Some(found.unwrap_or_else(|| panic!("VKXFB_OMIT_BARRIER={name} is none of {all:?}")))
}

/// Failures of a thread that are shrunk, which takes hundreds of runs each.
const SHRUNK: usize = 3;

/// A device, and what was done with it.
pub struct DrawWorker {
    gpu: Gpu,
    space: Space,
    native: Option<Native>,
    compute: Compute,
    /// Makes the model wrong.
    pub perturb: bool,
    pub report: Report,
}

impl Worker for DrawWorker {
    /// Runs programs on every backend, and compares.
    fn batch(&mut self, seeds: &[u64]) {
        let programs: Vec<Program> = self.timed("generate", |worker| {
            seeds.iter().map(|seed| generate(*seed, &worker.space)).collect()
        });
        for program in &programs {
            self.report.count("programs", 1);
            for name in program.draws() {
                self.report.count(name, 1);
            }
        }
        let (native, excluded): (Vec<_>, Vec<_>) = programs
            .iter()
            .cloned()
            .map(|program| (known::excluded(&self.gpu, &model::run(&program).1), program))
            .partition(|(reason, _)| reason.is_none());
        for reason in excluded.into_iter().filter_map(|(reason, _)| reason) {
            self.report.exclude(Backend::Native, reason);
        }
        let native: Vec<Program> = native.into_iter().map(|(_, program)| program).collect();
        self.run(Backend::Native, &native);
        let (taken, left): (Vec<_>, Vec<_>) =
            programs.into_iter().partition(|program| self.takes(program));
        for _ in left {
            self.report.exclude(Backend::Compute, "restarts and indirect draws, on the floor");
        }
        self.run(Backend::Compute, &taken);
    }

    fn report(&mut self) -> &mut Report {
        &mut self.report
    }

    fn finish(mut self) -> Report {
        if let Some(native) = self.native {
            // SAFETY: every submission was waited for.
            unsafe { native.destroy(&self.gpu) };
        }
        self.compute.destroy(&self.gpu);
        let messages = self.gpu.close();
        self.report.failures.extend(messages.iter().map(|m| format!("at the end: {m}")));
        self.report
    }
}

impl DrawWorker {
    /// By descriptors the compute backend alone: native captures know no difference.
    pub fn new(options: &OpenOptions) -> Self {
        let validation = has_validation();
        let options = OpenOptions { validation, robustness: true, ..options.clone() };
        let resources = options.resources;
        let mut gpu = Gpu::open(&options)
            .unwrap_or_else(|error| panic!("{error} (tests/setup.sh installs lavapipe)"));
        gpu.context_mut().omit_barrier(omitted());
        let has_native = resources == Resources::Best && gpu.backends().contains(&Backend::Native);
        let mut space = if has_native { Space::of(&gpu) } else { Space::whole() };
        if let Ok(ResourcePlan::Descriptors { writes, .. }) = gpu.context().resource_plan(0) {
            space.restrict_state(writes);
        }
        let native = has_native.then(|| Native::new(&gpu).unwrap());
        Self {
            gpu,
            space,
            native,
            compute: Compute::default(),
            perturb: false,
            report: Report::default(),
        }
    }

    /// Whether to run a program by compute. On the floor an indirect draw with restarts takes as many invocations
    /// as there are indices, times the primitives that fit: a CPU takes minutes for them. (Shorter ones are in
    /// tests/long_restarts.rs.)
    fn takes(&self, program: &Program) -> bool {
        let is_slow = self.gpu.profile() == Profile::Bifrost
            && self.gpu.capabilities().device_type == vk::PhysicalDeviceType::CPU;
        let any = |is: fn(&Step) -> bool| program.rounds.iter().flatten().any(is);
        !(is_slow
            && any(|s| matches!(s, Step::Bind(State { restart: true, .. })))
            && any(|s| matches!(s, Step::Draw(Draw::Indirect { indexed: true, .. }))))
    }

    /// The outcomes of programs on a backend, if the device has it.
    fn execute(
        &mut self,
        backend: Backend,
        programs: &[Program],
    ) -> Option<Result<Vec<Outcome>, GpuError>> {
        match backend {
            Backend::Native => Some(self.native.as_mut()?.run(&mut self.gpu, programs)),
            Backend::Compute => Some(self.compute.run(&mut self.gpu, programs)),
            Backend::Vertex => None,
        }
    }

    fn run(&mut self, backend: Backend, programs: &[Program]) {
        let Some(outcomes) = self.timed(backend.name(), |w| w.execute(backend, programs)) else {
            return;
        };
        let mut messages = self.gpu.take_messages();
        messages.retain(|message| !known::is_false_message(message));
        let outcomes = match outcomes {
            Ok(outcomes) if messages.is_empty() => outcomes,
            // Alone, each speaks for itself.
            _ if programs.len() > 1 => {
                return programs.chunks(1).for_each(|program| self.run(backend, program));
            }
            result => {
                let errors = result.err().map(|error| format!("{error:?}"));
                let messages = messages.iter().map(ToString::to_string);
                for error in messages.chain(errors) {
                    self.fail(&programs[0], backend, &error);
                }
                return;
            }
        };
        for (program, outcome) in programs.iter().zip(outcomes) {
            self.compare(program, backend, &outcome);
        }
    }

    fn compare(&mut self, program: &Program, backend: Backend, outcome: &Outcome) {
        let (mut expected, facts) = self.timed("model", |_| model::run(program));
        if self.perturb {
            expected.perturb();
        }
        let compared = program.compare(&expected, outcome);
        match (self.faults(backend, &facts).as_slice(), compared) {
            ([], compared) => {
                *self.report.compared.entry(backend).or_default() += 1;
                if let Err(error) = compared {
                    self.fail(program, backend, &error);
                }
            }
            // Only a program of one fault tells whether it is still there.
            ([fault], compared) => {
                self.report.fault(fault.reason, compared.is_err());
            }
            _ => {}
        }
    }

    /// The faults that a backend may show in a program.
    fn faults(&self, backend: Backend, facts: &BTreeSet<Fact>) -> Vec<&'static Fault> {
        match backend {
            Backend::Native => known::faults(&self.gpu, facts),
            Backend::Vertex | Backend::Compute => Vec::new(),
        }
    }

    fn fail(&mut self, program: &Program, backend: Backend, error: &str) {
        let mut text = format!("seed {}, {}: {error}\n", program.seed, backend.name());
        if !self.perturb && self.report.failures.len() < SHRUNK {
            let mut smallest_error = String::new();
            let smallest = shrink(program, |program| {
                let found = self.difference(program, backend);
                if let Some(error) = &found {
                    smallest_error.clone_from(error);
                }
                found.is_some()
            });
            text += &format!("  shrunk: {smallest_error}\n{smallest}");
        }
        self.report.failures.push(text);
    }

    /// The messages about programs by compute without a barrier.
    pub fn messages_without(
        &mut self,
        barrier: Option<Barrier>,
        seeds: std::ops::Range<u64>,
    ) -> Vec<Message> {
        self.gpu.context_mut().omit_barrier(barrier);
        let programs: Vec<_> = seeds.map(|seed| generate(seed, &self.space)).collect();
        self.compute.run(&mut self.gpu, &programs).unwrap();
        self.gpu.take_messages()
    }

    /// How a program fails that was made of another.
    fn difference(&mut self, program: &Program, backend: Backend) -> Option<String> {
        let (expected, facts) = model::run(program);
        if backend == Backend::Native && known::excluded(&self.gpu, &facts).is_some() {
            return None;
        }
        if facts.contains(&Fact::VertexOutOfRange)
            || facts.contains(&Fact::IndexOutOfRange)
            || !self.faults(backend, &facts).is_empty()
        {
            return None;
        }
        let outcomes = self.execute(backend, std::slice::from_ref(program))?.ok()?;
        self.gpu.take_messages();
        program.compare(&expected, &outcomes[0]).err()
    }
}
