//! Groups similar results, which are shown together.

use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::PrimitiveTopology;

use crate::report::{Case, Failure, LostCase, ProbeReport, Row};

/// One or more results that are similar.
pub(crate) struct Group<'a, T> {
    /// The result that is shown in full: the first one whose draw has a primitive, otherwise the first.
    pub first: &'a T,
    /// The other results, which are only listed.
    pub others: Vec<&'a T>,
}

/// Groups results that have the same key. Groups are in the order of their first results.
fn grouped<'a, T: OnBackend, K: PartialEq>(
    all: impl Iterator<Item = &'a T>,
    key: impl Fn(&'a T) -> K,
) -> Vec<Group<'a, T>> {
    let mut groups: Vec<(K, Group<'a, T>)> = Vec::new();
    for item in all {
        let key = key(item);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.others.push(item),
            None => groups.push((key, Group { first: item, others: Vec::new() })),
        }
    }
    let mut groups: Vec<_> = groups.into_iter().map(|(_, group)| group).collect();
    for Group { first, others } in &mut groups {
        // A draw without primitives is a poor example.
        if !has_primitives(first.case())
            && let Some(better) = others.iter_mut().find(|other| has_primitives(other.case()))
        {
            std::mem::swap(first, better);
        }
    }
    groups
}

fn has_primitives(case: &Case) -> bool {
    match case.topology {
        PrimitiveTopology::PatchList => case.vertex_count > 0,
        topology => topology.primitive_count(case.vertex_count) > 0,
    }
}

impl ProbeReport {
    /// Groups the lost cases by row and by the description of the loss.
    pub(crate) fn loss_groups(&self) -> Vec<Group<'_, LostCase>> {
        grouped(self.losses.iter(), |lost| (lost.case.row(), lost.how.as_str()))
    }

    /// Groups wrong cases by their fault, and those with a picture also by row, because pictures of different
    /// topologies cannot be compared. Only the cases that were kept with all details are included: the first ones of
    /// the run, and the first of each cell of the table.
    pub(crate) fn failure_groups(&self) -> Vec<Group<'_, Failure>> {
        let first_of_cells = self.cells.iter().filter_map(|cell| cell.first_failure.as_ref());
        let is_kept = |failure: &&Failure| {
            let is_it =
                |kept: &Failure| (kept.backend, &kept.case) == (failure.backend, &failure.case);
            self.mismatches.iter().any(is_it)
        };
        let others = first_of_cells.filter(|failure| !is_kept(failure));
        grouped(self.mismatches.iter().chain(others), |failure| {
            let has_picture = !failure.mismatch.excerpt.is_empty();
            (failure.mismatch.fault, has_picture.then(|| failure.case.row()))
        })
    }
}

pub(crate) trait OnBackend {
    fn backend(&self) -> Backend;
    fn case(&self) -> &Case;
}

impl OnBackend for LostCase {
    fn backend(&self) -> Backend {
        self.backend
    }

    fn case(&self) -> &Case {
        &self.case
    }
}

impl OnBackend for Failure {
    fn backend(&self) -> Backend {
        self.backend
    }

    fn case(&self) -> &Case {
        &self.case
    }
}

impl<T: OnBackend> Group<'_, T> {
    fn all(&self) -> impl Iterator<Item = &T> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// Names the row of the first case, and says how many other rows there are.
    pub(crate) fn rows(&self) -> String {
        let first = self.first.case().row();
        let mut others: Vec<Row> = Vec::new();
        for row in self.all().map(|of| of.case().row()) {
            if row != first && !others.contains(&row) {
                others.push(row);
            }
        }
        match others.len() {
            0 => first.to_string(),
            1 => format!("{first} and another row"),
            count => format!("{first} and {count} other rows"),
        }
    }

    /// Lists the backends, for a sentence.
    pub(crate) fn backends(&self) -> String {
        let has_backend = |backend: &Backend| self.all().any(|of| of.backend() == *backend);
        let names: Vec<_> =
            Backend::ALL.iter().filter(|b| has_backend(b)).map(Backend::to_string).collect();
        match names.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        }
    }

    /// Lists the other cases: a line for each pipeline, with its draws as `7x3` (7 vertices, 3 instances).
    pub(crate) fn other_draws(&self) -> Vec<String> {
        let is_beside = |a: &&T, b: &&T| {
            let (first, second) = (a.case(), b.case());
            let same_size = Case {
                vertex_count: first.vertex_count,
                instance_count: first.instance_count,
                ..second.clone()
            };
            a.backend() == b.backend() && *first == same_size
        };
        let lines = self.others.chunk_by(|a, b| is_beside(a, b)).filter_map(|of_pipeline| {
            let first = of_pipeline.first()?;
            let draws = of_pipeline.iter().map(|of| of.case());
            let draws: Vec<_> = draws
                .map(|case| format!("{}x{}", case.vertex_count, case.instance_count))
                .collect();
            let (backend, pipeline) = (first.backend(), first.case().pipeline());
            Some(format!("{backend}, {pipeline}: {}", draws.join(" ")))
        });
        lines.collect()
    }
}
