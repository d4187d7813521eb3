//! Shows a comparison as text.

use std::fmt::{self, Display, Formatter};

use super::{CaseKey, Change, Comparison, FactChange};
use crate::report::CaseResult;
use crate::table::printable;

/// The maximum number of pipelines that are listed for each kind of change.
const LISTED: usize = 20;

impl CaseKey {
    /// Whether both cases have the same pipeline.
    fn is_beside(&self, other: &Self) -> bool {
        self.pipeline() == other.pipeline()
    }
}

/// Shows the pipeline of a case as text.
struct PipelineOf<'a>(&'a CaseKey);

impl Display for PipelineOf<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let CaseKey { backend, topology, shader, geometry, provoking, specialized, .. } = self.0;
        write!(f, "{backend} {topology}, shader {}, ", printable(shader))?;
        if let Some(geometry) = geometry {
            write!(f, "geometry shader {}, ", printable(geometry))?;
        }
        write!(f, "{provoking} vertex provokes")?;
        f.write_str(if *specialized { ", topology folded in" } else { "" })
    }
}

impl CaseResult {
    /// The result in plain words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::NotRun => "could not run",
            Self::Wrong => "wrong",
        }
    }
}

/// Lists the changes of one kind, in a line for each pipeline.
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

/// Returns the number of cases that are not right, among cases that only one report has.
fn not_right(changes: &[Change]) -> usize {
    let is_right = |c: &&Change| c.before.or(c.after) != Some(CaseResult::Right);
    changes.iter().filter(is_right).count()
}

impl Comparison {
    /// Summarizes all cases in one line, which begins with the number of cases that became wrong.
    fn verdict(&self) -> String {
        let count = |cases: usize| match cases {
            1 => "1 case".to_owned(),
            _ => format!("{cases} cases"),
        };
        let worse = match self.became_wrong.len() {
            0 => "no case became wrong".to_owned(),
            wrong => format!("{} became wrong", count(wrong)),
        };
        let mut parts = vec![format!("{} right as before", self.still_right)];
        for (cases, what) in [
            (self.still_wrong, "not right as before"),
            (self.became_right.len(), "became right"),
            (self.otherwise_wrong.len(), "wrong in another way"),
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
        format!("{worse}: {}", parts.join("; "))
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.verdict())?;
        let several = self.devices.len() > 1;
        for (device, (before, after)) in self.devices.iter().enumerate() {
            let facts = || self.facts.iter().filter(|fact| fact.device == device);
            let name = |name: &Option<String>| printable(name.as_deref().unwrap_or("-"));
            if before != after {
                writeln!(f, "{} -> {}", name(before), name(after))?;
            } else if several || facts().next().is_some() {
                writeln!(f, "{}", name(before))?;
            }
            for FactChange { name, before, after, .. } in facts() {
                let text = |text: &Option<String>| printable(text.as_deref().unwrap_or("-"));
                writeln!(f, "  {name}: {} -> {}", text(before), text(after))?;
            }
        }
        write_changes(f, "became wrong", &self.became_wrong)?;
        write_changes(f, "became right", &self.became_right)?;
        write_changes(f, "wrong in another way", &self.otherwise_wrong)?;
        // Right cases that only one report has are not listed: the other run was quicker, and left
        // them out.
        let is_not_right = |c: &&Change| c.after != Some(CaseResult::Right);
        let new: Vec<_> = self.new.iter().filter(is_not_right).cloned().collect();
        write_changes(f, "new, and not right", &new)?;
        // A case may be gone because the second run was quicker. If all cases of a pipeline are
        // gone, perhaps nothing captures them any more.
        let is_whole = |c: &&Change| !self.kept.contains(&c.case.pipeline());
        let gone: Vec<_> = self.gone.iter().filter(is_whole).cloned().collect();
        write_changes(f, "gone, with all of their pipeline", &gone)
    }
}
