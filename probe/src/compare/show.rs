//! A comparison as text.

use std::fmt::{self, Display, Formatter};

use super::{CaseKey, Change, Comparison, FactChange};
use crate::report::CaseResult;
use crate::table::printable;

/// The number of pipelines that are listed of each kind of change.
const LISTED: usize = 20;

impl CaseKey {
    /// Whether both are of one pipeline.
    fn is_beside(&self, other: &Self) -> bool {
        let Self { vertex_count, instance_count, .. } = *self;
        *self == Self { vertex_count, instance_count, ..other.clone() }
    }
}

/// The pipeline of a case.
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
    /// In plain words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::NotRun => "could not run",
            Self::Wrong => "wrong",
        }
    }
}

/// Changes of one kind, by pipeline.
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

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (device, (before, after)) in self.devices.iter().enumerate() {
            let (before, after) = (before.as_deref(), after.as_deref());
            match (before, after) {
                (Some(before), Some(after)) if before == after => {
                    writeln!(f, "{}", printable(before))?;
                }
                _ => {
                    let name = |name: Option<&str>| printable(name.unwrap_or("-"));
                    writeln!(f, "{} -> {}", name(before), name(after))?;
                }
            }
            for fact in self.facts.iter().filter(|fact| fact.device == device) {
                let FactChange { name, before, after, .. } = fact;
                let text = |text: &Option<String>| printable(text.as_deref().unwrap_or("-"));
                writeln!(f, "  {name}: {} -> {}", text(before), text(after))?;
            }
        }
        write_changes(f, "became wrong", &self.became_wrong)?;
        write_changes(f, "became right", &self.became_right)?;
        write_changes(f, "wrong in another way", &self.otherwise_wrong)?;
        write_changes(f, "new", &self.new)?;
        write_changes(f, "gone", &self.gone)?;
        let (right, wrong) = (self.still_right, self.still_wrong);
        writeln!(f, "as before: {right} right, {wrong} not")
    }
}
