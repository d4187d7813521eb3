//! How each case came out, for [comparisons](crate::compare) of two reports.

use serde::{Serialize, Serializer};
use vkxfb::lower::Backend;
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

use super::{Case, serialize_backend, serialize_display};

/// How a case came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaseResult {
    /// Every byte is right, or legally rotated.
    Right,
    /// It could not be captured.
    NotRun,
    /// It was captured wrongly.
    Wrong,
}

/// Vertex and instance counts, which JSON has as text: `7x1 7x3`.
type Draws = Vec<(u32, u32)>;

fn serialize_draws<S: Serializer>(draws: &Draws, s: S) -> Result<S::Ok, S::Error> {
    let texts: Vec<_> = draws.iter().map(|(v, i)| format!("{v}x{i}")).collect();
    s.serialize_str(&texts.join(" "))
}

/// How the draws of one pipeline came out. Lists without a draw are left out of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Results {
    /// The backend that captured.
    #[serde(serialize_with = "serialize_backend")]
    pub backend: Backend,
    /// Topology of the draws.
    #[serde(serialize_with = "serialize_display")]
    pub topology: PrimitiveTopology,
    /// Name of the shader.
    pub shader: String,
    /// Convention of the pipeline.
    #[serde(serialize_with = "serialize_display")]
    pub provoking: ProvokingVertex,
    /// Whether the topology was folded into the pipeline by specialisation constants.
    pub specialized: bool,
    /// The draws that came out right.
    #[serde(serialize_with = "serialize_draws", skip_serializing_if = "Vec::is_empty")]
    pub right: Draws,
    /// The draws that could not be captured.
    #[serde(serialize_with = "serialize_draws", skip_serializing_if = "Vec::is_empty")]
    pub not_run: Draws,
    /// The draws that were captured wrongly.
    #[serde(serialize_with = "serialize_draws", skip_serializing_if = "Vec::is_empty")]
    pub wrong: Draws,
}

impl Results {
    /// No draw yet, of the pipeline of `case`.
    pub(super) fn of(backend: Backend, case: &Case) -> Self {
        let Case { topology, shader, provoking, specialized, .. } = case;
        Self {
            backend,
            topology: *topology,
            shader: shader.clone(),
            provoking: *provoking,
            specialized: *specialized,
            right: Draws::new(),
            not_run: Draws::new(),
            wrong: Draws::new(),
        }
    }

    /// Whether `case` is of that pipeline.
    pub(super) fn has(&self, backend: Backend, case: &Case) -> bool {
        let key = (self.topology, self.provoking, self.specialized);
        self.backend == backend
            && key == (case.topology, case.provoking, case.specialized)
            && self.shader == case.shader
    }

    pub(super) fn add(&mut self, case: &Case, result: CaseResult) {
        let list = match result {
            CaseResult::Right => &mut self.right,
            CaseResult::NotRun => &mut self.not_run,
            CaseResult::Wrong => &mut self.wrong,
        };
        list.push((case.vertex_count, case.instance_count));
    }
}
