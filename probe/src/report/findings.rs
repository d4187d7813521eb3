//! The results of a part of a run, which a child process of the probe sends to the main process.

use serde::{Deserialize, Serialize};

use crate::report::{Cell, Failure, MAX_FAILURES, ProbeReport, Results, Trace};

/// The results of a part of a run: the fields of a [`ProbeReport`] that change while cases run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Findings {
    cells: Vec<Cell>,
    results: Vec<Results>,
    mismatches: Vec<Failure>,
    mismatch_count: u32,
    traces: Vec<Trace>,
    notes: Vec<String>,
    longest_submission_s: f64,
}

impl ProbeReport {
    /// Moves the results of cases out of the report.
    pub fn take_findings(&mut self) -> Findings {
        Findings {
            cells: std::mem::take(&mut self.cells),
            results: std::mem::take(&mut self.results),
            mismatches: std::mem::take(&mut self.mismatches),
            mismatch_count: std::mem::take(&mut self.mismatch_count),
            traces: std::mem::take(&mut self.traces),
            notes: std::mem::take(&mut self.notes),
            longest_submission_s: self.longest_submission_s,
        }
    }

    /// Adds the results of another part of the run.
    pub fn absorb(&mut self, findings: Findings) {
        let Findings { cells, results, mismatches, mismatch_count, traces, notes, .. } = findings;
        let longest = findings.longest_submission_s;
        self.longest_submission_s = self.longest_submission_s.max(longest);
        for other in cells {
            let cell = self.cell_mut(other.backend, other.row());
            cell.run += other.run;
            cell.passed += other.passed;
            cell.rotated += other.rotated;
            cell.errors += other.errors;
            cell.first_error = cell.first_error.take().or(other.first_error);
            cell.skipped = cell.skipped.take().or(other.skipped);
            cell.not_tried += other.not_tried;
            for why in other.not_tried_because {
                if !cell.not_tried_because.contains(&why) {
                    cell.not_tried_because.push(why);
                }
            }
            cell.first_failure = cell.first_failure.take().or(other.first_failure);
        }
        for other in results {
            match self.results.iter_mut().rfind(|own| own.is_beside(&other)) {
                Some(own) => own.append(other),
                None => self.results.push(other),
            }
        }
        let room = MAX_FAILURES.saturating_sub(self.mismatches.len());
        self.mismatches.extend(mismatches.into_iter().take(room));
        self.mismatch_count += mismatch_count;
        for Trace { backend, case, stream, primitives } in traces {
            self.trace(backend, &case, stream, primitives);
        }
        for note in notes {
            self.note(note);
        }
    }
}
