//! Runs cases natively and by compute, and compares both with the model.

use vkxfb::lower::Backend;
use vkxfb::runtime::Barrier;
use vkxfb_probe::gpu::{Message, OpenOptions, Resources};

use crate::case::Case;
use crate::common::batches::{Report, Worker};
use crate::common::device;
use crate::common::settings::number;
use crate::common::test_device::TestDevice;
use crate::compile::{Modules, compile};
use crate::compute;
use crate::generate::draws::case;
use crate::generate::{Draws, Space, Streams};
use crate::known;
use crate::model::{self, Expected};
use crate::native::Native;

/// Devices on which cases are captured, and the report of these cases.
pub struct GeometryWorker {
    pub gpu: TestDevice,
    native: Result<Native, &'static str>,
    space: Space,
    /// Whether the model is made wrong.
    pub perturb: bool,
    pub report: Report,
}

impl Worker for GeometryWorker {
    fn batch(&mut self, seeds: &[u64]) {
        let cases: Vec<Case> = self.timed("generate", |worker| {
            seeds.iter().map(|seed| case(*seed, &worker.space)).collect()
        });
        let programs: Vec<_> = cases.iter().map(|case| &case.program).collect();
        let modules = self.timed("glslc", |_| compile(&programs));
        for (case, modules) in cases.iter().zip(&modules) {
            self.case(case, modules);
        }
    }

    fn report(&mut self) -> &mut Report {
        &mut self.report
    }

    fn finish(mut self) -> Report {
        let messages = self.gpu.close();
        self.report.failures.extend(messages.iter().map(|m| format!("at the end: {m}")));
        self.report
    }
}

impl GeometryWorker {
    pub fn new(draws: Draws, resources: Resources) -> Self {
        let gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        let native = Native::open();
        let mut space = Space::whole(draws);
        let caps = gpu.capabilities();
        // Compute has all streams on every device: what the device lacks natively is compared with the model alone.
        space.streams = Streams::All;
        let has = |of: fn(&Native) -> bool| native.as_ref().map_or(true, of);
        space.float64 = caps.shader_float64 && has(|native| native.float64);
        space.int64 = caps.shader_int64 && has(|native| native.int64);
        Self { gpu, native, space, perturb: false, report: Report::default() }
    }

    /// Opens a worker that captures all kinds of draws, only by compute.
    pub fn by_compute(resources: Resources) -> Self {
        let mut worker = Self::new(Draws::All, resources);
        worker.native = Err("compared elsewhere");
        worker
    }

    /// Returns the validation messages for a compute capture without a barrier.
    pub fn messages_without(&mut self, barrier: Option<Barrier>, seed: u64) -> Vec<Message> {
        // SAFETY: what is captured is not read.
        unsafe { self.gpu.omit_barrier(barrier) };
        let case = case(seed, &self.space);
        let modules = compile(&[&case.program]);
        let lowered =
            compute::lower(&self.gpu, &case, &modules[0]).unwrap_or_else(|e| panic!("{e}"));
        compute::run(&mut self.gpu, &case, &lowered).unwrap_or_else(|e| panic!("{e}"));
        self.gpu.take_messages()
    }

    fn case(&mut self, case: &Case, modules: &Modules) {
        if number("VKXFB_PRINT", 0) != 0 {
            eprintln!("seed {}\n{}", case.seed, case.describe());
        }
        let mut expected = self.timed("model", |_| model::expected(case));
        self.count(case, &expected);
        if self.perturb {
            expected.perturb();
        }
        self.native(case, modules, &expected);
        self.compute(case, modules, &expected);
    }

    fn count(&mut self, case: &Case, expected: &Expected) {
        let emitted = case.sections.iter().flat_map(|section| &section.emitted);
        let primitives = emitted.map(|draw| draw.primitives.len() as u64).sum();
        self.report.count("cases", 1);
        self.report.count("primitives", primitives);
        self.report.count("cases without a primitive", u64::from(primitives == 0));
        let undefined = expected.defined.iter().any(|defined| !defined);
        self.report.count("cases with undefined values", u64::from(undefined));
    }

    fn native(&mut self, case: &Case, modules: &Modules, expected: &Expected) {
        let driver = self.gpu.capabilities().driver_name.clone();
        if let Some(reason) = known::excluded(&driver, expected) {
            return self.report.exclude(Backend::Native, reason);
        }
        let found = self.timed("native", |worker| {
            let native = worker.native.as_ref().map_err(|reason| *reason)?;
            native.takes(case)?;
            let found = native.run(case, modules);
            Ok((found, native.take_messages()))
        });
        let (found, messages) = match found {
            Ok(found) => found,
            Err(reason) => return self.report.exclude(Backend::Native, reason),
        };
        for message in messages {
            self.fail(case, "native", &message);
        }
        let compared = expected.compare(&found.image, &found.queries);
        if let Some(fault) = known::fault(&driver, case, expected) {
            self.report.fault(fault.reason, compared.is_err());
            return;
        }
        *self.report.compared.entry(Backend::Native).or_default() += 1;
        if let Err(error) = compared {
            self.fail(case, "native", &error);
        }
    }

    fn compute(&mut self, case: &Case, modules: &Modules, expected: &Expected) {
        let found = self.timed("compute", |worker| {
            let lowered = compute::lower(&worker.gpu, case, modules)?;
            compute::run(&mut worker.gpu, case, &lowered)
        });
        for message in self.gpu.take_messages() {
            self.fail(case, "compute", &message.to_string());
        }
        match found {
            Err(failure) => self.fail(case, "compute", &failure.to_string()),
            Ok(found) => {
                *self.report.compared.entry(Backend::Compute).or_default() += 1;
                if let Err(error) = expected.compare(&found.image, &found.queries) {
                    self.fail(case, "compute", &error);
                }
            }
        }
    }

    fn fail(&mut self, case: &Case, who: &str, error: &str) {
        let failure = format!("seed {}, {who}: {error}\n{}", case.seed, case.describe());
        self.report.failures.push(failure);
    }
}
