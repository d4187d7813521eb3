//! Random passes and secondary command buffers.

use super::Generator;
use crate::program::{Pass, PassKind, Step};

/// The number of primitives up to which a secondary command buffer may be executed again.
const MANY_AGAIN: u64 = 800;

impl Generator<'_> {
    /// Adds a command buffer.
    pub(super) fn round(&mut self) {
        self.begin_round();
        // Render passes begin in primary command buffers alone.
        let has_rendering = self.space.passes.contains(&PassKind::Rendering);
        let is_secondary = has_rendering && self.rng.percent(20);
        let times = if self.rng.percent(50) { 2 } else { 1 };
        if is_secondary {
            self.push(Step::BeginSecondary(1));
        }
        self.maybe_begin_query(15);
        for _ in 0..self.rng.range(1, 2) {
            self.pass(is_secondary);
        }
        self.end_queries(false);
        if is_secondary {
            self.end_secondary(times);
        }
    }

    /// Adds a pass. `is_secondary` says whether the command buffer is a secondary one, which
    /// executes no others.
    fn pass(&mut self, is_secondary: bool) {
        let mut kinds = self.space.passes.clone();
        kinds.retain(|kind| !is_secondary || kind.is_dynamic());
        let kind = self.rng.pick(&kinds);
        let secondaries = !is_secondary && self.rng.percent(30);
        if secondaries {
            // None is executed while a query of these kinds is active.
            self.end_queries(false);
        }
        let pass = Pass { kind, secondaries };
        self.push(Step::BeginPass(pass));
        self.pass = Some(pass);
        let parts = self.rng.range(1, PassKind::PARTS);
        for part in 0..parts {
            if part > 0 && kind.has_parts() {
                self.push(Step::NextPart);
            }
            self.part(pass);
        }
        self.end_queries(true);
        self.push(Step::EndPass);
        self.pass = None;
        self.is_unseen = false;
        self.push(Step::Barrier);
        self.maybe_end_queries();
    }

    fn part(&mut self, Pass { kind, secondaries }: Pass) {
        let captures = !self.is_unseen && self.rng.percent(80);
        // There must be a barrier between its executions.
        let is_repeated = secondaries && !(captures && kind.is_dynamic()) && self.rng.percent(40);
        // A pass cannot reset them for the second time.
        self.has_queries = !is_repeated;
        if secondaries {
            self.push(Step::BeginSecondary(1));
        }
        self.maybe_begin_query(25);
        match self.rng.below(8) {
            _ if !captures => self.outside(),
            0..3 if self.space.byte_count && !self.captured.is_empty() => self.consume(),
            _ => self.capture(),
        }
        if captures {
            self.show_capture(is_repeated);
        }
        if secondaries || kind.has_parts() {
            self.end_queries(true)
        } else {
            self.maybe_end_queries()
        }
        if secondaries {
            self.end_secondary(if is_repeated { 2 } else { 1 });
        }
        self.has_queries = true;
    }

    /// Makes the captured data visible, with a barrier or by starting the next part.
    fn show_capture(&mut self, is_repeated: bool) {
        match self.pass.unwrap_or_default().kind {
            PassKind::Suspended => self.is_unseen = true,
            PassKind::Rendering => {}
            PassKind::Subpasses if !is_repeated => {}
            _ => self.push(Step::Barrier),
        }
    }

    /// Ends a secondary command buffer, and executes it `times` times if that is allowed.
    fn end_secondary(&mut self, times: u32) {
        self.push(Step::EndSecondary);
        if times < 2 {
            return;
        }
        let steps = self.program.rounds.last().unwrap();
        let is_begin = |step: &Step| matches!(step, Step::BeginSecondary(_));
        let begin = steps.iter().rposition(is_begin).unwrap();
        if let Some(model) = self.executed(&steps[begin..], MANY_AGAIN) {
            self.model = model;
            self.program.rounds.last_mut().unwrap()[begin] = Step::BeginSecondary(times);
        }
    }
}
