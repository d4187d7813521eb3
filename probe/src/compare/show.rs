//! Shows a comparison as text.

use std::fmt::{self, Display, Formatter};

use super::{CaseKey, Change, Comparison, FactChange, GoneRow, TrialChange};
use crate::report::{CaseResult, FOLDED};
use crate::terminal::in_line;
use crate::trial::TrialResult;

/// The maximum number of pipelines that are listed for each kind of change.
const LISTED: usize = 20;

impl CaseKey {
    /// Whether both cases have the same pipeline.
    fn is_beside(&self, other: &Self) -> bool {
        self.pipeline() == other.pipeline()
    }
}

/// The topology of all cases with tessellation shaders, as reports name it.
const PATCHES: &str = "patch-list";

struct PipelineOf<'a>(&'a CaseKey);

impl Display for PipelineOf<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let CaseKey { backend, topology, shader, geometry, provoking, specialized, .. } = self.0;
        write!(f, "{backend} {topology}, shader {}, ", in_line(shader))?;
        if let Some(geometry) = geometry {
            let lead = if topology == PATCHES { "tessellation shaders" } else { "geometry shader" };
            write!(f, "{lead} {}, ", in_line(geometry))?;
        }
        write!(f, "{provoking} vertex provokes")?;
        f.write_str(if *specialized { FOLDED } else { "" })
    }
}

impl CaseResult {
    /// The result in plain words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::NotTried => "not tried",
            Self::NotRun => "could not run",
            Self::Wrong => "wrong",
        }
    }
}

/// Lists the changes of one kind: one line for each pipeline, for at most [`LISTED`] pipelines. Writes nothing if there
/// are no changes.
fn write_changes(f: &mut Formatter<'_>, name: &str, changes: &[Change]) -> fmt::Result {
    if changes.is_empty() {
        return Ok(());
    }
    writeln!(f, "{name} ({}):", changes.len())?;
    let alike = |a: &Change, b: &Change| {
        a.case.is_beside(&b.case) && (a.before, a.after) == (b.before, b.after)
    };
    for (index, group) in changes.chunk_by(alike).enumerate() {
        if index == LISTED {
            writeln!(f, "  and others; --json lists all")?;
            break;
        }
        let Some(first) = group.first() else { continue };
        let result = |result: Option<CaseResult>| result.map_or("-", CaseResult::name);
        let (before, after) = (result(first.before), result(first.after));
        let draws = group.iter().map(|c| (c.case.vertex_count, c.case.instance_count));
        let draws: Vec<_> = draws.map(|(v, i)| format!("{v}x{i}")).collect();
        writeln!(f, "  {}", PipelineOf(&first.case))?;
        writeln!(f, "    {before} -> {after}: {}", draws.join(" "))?;
    }
    Ok(())
}

/// What a case that was right can be now, in words.
const NO_MORE_RIGHT: [(CaseResult, &str); 3] = [
    (CaseResult::Wrong, "became wrong"),
    (CaseResult::NotRun, "could not run any more"),
    (CaseResult::NotTried, "not tried any more"),
];

/// Returns the number of cases that are not right, among cases that only one report has.
fn not_right(changes: &[Change]) -> usize {
    let is_right = |c: &&Change| c.before.or(c.after) != Some(CaseResult::Right);
    changes.iter().filter(is_right).count()
}

impl Comparison {
    /// Summarizes the comparison in one line, which begins with what is worse: cases, trials, and missing devices,
    /// backends and topologies.
    fn verdict(&self) -> String {
        let count = |cases: usize, what: &str| match cases {
            1 => format!("1 {what}"),
            _ => format!("{cases} {what}s"),
        };
        let mut worse = Vec::new();
        for (now, how) in NO_MORE_RIGHT {
            match self.no_more_right(now).count() {
                0 => {}
                cases => worse.push(format!("{} {how}", count(cases, "case"))),
            }
        }
        for TrialChange { trial, after, .. } in &self.worse_trials {
            let how = match after {
                TrialResult::NotRun => "could not be tried",
                TrialResult::Lost => "was lost",
                _ => "became wrong",
            };
            worse.push(format!("the trial of {} {how}", trial.title()));
        }
        worse.extend(self.gone_devices().map(|name| format!("{} is gone", in_line(name))));
        for (_, backend) in &self.gone_backends {
            worse.push(format!("the {backend} backend is gone"));
        }
        let is_named = |row: &GoneRow| {
            let is_it = |(device, backend): &(usize, String)| {
                (*device, backend) == (row.device, &row.backend)
            };
            let is_of_gone = self.devices.get(row.device).is_some_and(|(_, after)| after.is_none());
            is_of_gone || self.gone_backends.iter().any(is_it)
        };
        let rows: Vec<_> =
            self.gone_rows.iter().filter(|row| row.left == 0 && !is_named(row)).collect();
        match rows.as_slice() {
            [] => {}
            [row] => worse.push(format!("{row} is gone")),
            [first, others @ ..] => {
                worse.push(format!("{first} and {} are gone", count(others.len(), "other row")));
            }
        }
        match self.new_not_right().count() {
            0 => {}
            1 => worse.push("1 new case is not right".to_owned()),
            cases => worse.push(format!("{cases} new cases are not right")),
        }
        if worse.is_empty() {
            worse.push("no case became wrong".to_owned());
        }
        let mut parts = vec![format!("{} right as before", self.still_right)];
        for (cases, what) in [
            (self.still_wrong, "not right as before"),
            (self.became_right.len(), "became right"),
            (self.otherwise_wrong.len(), "not right in another way"),
        ] {
            if cases > 0 {
                parts.push(format!("{cases} {what}"));
            }
        }
        for (cases, what) in [(&self.new, "new"), (&self.gone, "gone")] {
            match (cases.len(), not_right(cases)) {
                (0, _) => {}
                (all, 0) => parts.push(format!("{all} {what}, all right")),
                (all, wrong) => parts.push(format!("{all} {what}, {wrong} of them not right")),
            }
        }
        format!("{}: {}", worse.join(", "), parts.join("; "))
    }

    /// Iterates over the cases that were right and have this result now.
    fn no_more_right(&self, now: CaseResult) -> impl Iterator<Item = &Change> {
        self.became_wrong.iter().filter(move |change| change.after == Some(now))
    }

    /// Lists the cases that only the first report has, in a line for each [`GoneRow`].
    fn write_gone(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // If only the second probe was quick, most rows have fewer cases than before. Then only
        // rows without any case in the second report are listed.
        let is_listed = |row: &&GoneRow| row.left == 0 || !self.quick.1 || self.quick.0;
        let (listed, quick): (Vec<&GoneRow>, Vec<_>) = self.gone_rows.iter().partition(is_listed);
        if listed.is_empty() {
            return Ok(());
        }
        writeln!(f, "gone ({}):", self.gone.len())?;
        for row in listed {
            let left = match row.left {
                0 => "none is left".to_owned(),
                left => format!("{left} are left"),
            };
            writeln!(f, "  {row}: {}, {left}", row.gone)?;
        }
        match quick.iter().map(|row| row.gone).sum() {
            0 => Ok(()),
            cases => writeln!(f, "  others, which --quick leaves out: {cases}"),
        }
    }
}

impl Display for GoneRow {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let geometry = if !self.geometry {
            ""
        } else if self.topology == PATCHES {
            " into tessellation"
        } else {
            " into geometry"
        };
        write!(f, "{} {}{geometry}", self.backend, self.topology)
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.verdict())?;
        match self.quick {
            (true, false) => writeln!(f, "the first probe was --quick, which leaves out cases")?,
            (false, true) => writeln!(f, "the second probe was --quick, which leaves out cases")?,
            _ => {}
        }
        let injected = match self.injected {
            (true, true) => "both probes",
            (true, false) => "the first probe",
            (false, true) => "the second probe",
            (false, false) => "",
        };
        if !injected.is_empty() {
            writeln!(f, "faults were injected in {injected}: this says nothing about a driver")?;
        }
        let several = self.devices.len() > 1;
        for (device, (before, after)) in self.devices.iter().enumerate() {
            let facts = || self.facts.iter().filter(|fact| fact.device == device);
            let name = |name: &Option<String>| in_line(name.as_deref().unwrap_or("-"));
            if before != after {
                writeln!(f, "{} -> {}", name(before), name(after))?;
            } else if several || facts().next().is_some() {
                writeln!(f, "{}", name(before))?;
            }
            for FactChange { name, before, after, .. } in facts() {
                let text = |text: &Option<String>| in_line(text.as_deref().unwrap_or("-"));
                writeln!(f, "  {name}: {} -> {}", text(before), text(after))?;
            }
        }
        for (now, how) in NO_MORE_RIGHT {
            let changes: Vec<_> = self.no_more_right(now).cloned().collect();
            write_changes(f, how, &changes)?;
        }
        write_changes(f, "became right", &self.became_right)?;
        write_changes(f, "not right in another way", &self.otherwise_wrong)?;
        // New cases that are right are not listed: usually the first probe was run with `--quick`,
        // and left them out.
        let new: Vec<_> = self.new_not_right().cloned().collect();
        write_changes(f, "new, and not right", &new)?;
        self.write_gone(f)
    }
}
