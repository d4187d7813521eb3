//! Keeps the result of each case, so that [comparisons](crate::compare) of two reports can find
//! cases that changed.

use serde::{Deserialize, Serialize};
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

use crate::case::Case;
use crate::names;

/// The result of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaseResult {
    /// Every byte is right, or triangles are rotated where the specification allows that.
    Right,
    /// The case was not tried, because too many others were lost.
    NotTried,
    /// The case could not be captured.
    NotRun,
    /// The capture is wrong.
    Wrong,
}

/// The numbers of vertices and instances of each draw.
type Draws = Vec<(u32, u32)>;

/// The results of the draws of one pipeline. Lists without elements are omitted in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// The backend that captured the draws.
    #[serde(with = "names::backend")]
    pub backend: Backend,
    /// The topology of the draws.
    #[serde(with = "names::topology")]
    pub topology: PrimitiveTopology,
    /// The name of the vertex shader.
    pub shader: String,
    /// The name of the geometry shader or tessellation shaders whose outputs are captured. `None`
    /// if the outputs of the vertex shader are captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geometry: Option<String>,
    /// The provoking vertex of the pipeline.
    #[serde(with = "names::provoking")]
    pub provoking: ProvokingVertex,
    /// Whether the topology is compiled into the pipeline, by specialization constants.
    pub specialized: bool,
    /// The draws whose captures are right.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "names::draws")]
    pub right: Draws,
    /// The draws that were not tried, because too many others were lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "names::draws")]
    pub not_tried: Draws,
    /// The draws that could not be captured.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "names::draws")]
    pub not_run: Draws,
    /// The draws whose captures are wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "names::draws")]
    pub wrong: Draws,
}

impl Results {
    /// Makes the results of the pipeline of `case`, without any draws yet.
    pub(super) fn of(backend: Backend, case: &Case) -> Self {
        let Case { topology, shader, geometry, provoking, specialized, .. } = case;
        Self {
            backend,
            topology: *topology,
            shader: shader.clone(),
            geometry: geometry.clone(),
            provoking: *provoking,
            specialized: *specialized,
            right: Draws::new(),
            not_tried: Draws::new(),
            not_run: Draws::new(),
            wrong: Draws::new(),
        }
    }

    /// Whether these are the results of the pipeline of `case` on the given backend.
    pub(super) fn has(&self, backend: Backend, case: &Case) -> bool {
        let key = (self.topology, self.provoking, self.specialized);
        self.backend == backend
            && key == (case.topology, case.provoking, case.specialized)
            && (&self.shader, &self.geometry) == (&case.shader, &case.geometry)
    }

    /// Whether two results are of the same pipeline.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        let key = |r: &Self| (r.backend, r.topology, r.provoking, r.specialized);
        key(self) == key(other)
            && (&self.shader, &self.geometry) == (&other.shader, &other.geometry)
    }

    pub(super) fn append(&mut self, mut other: Self) {
        self.right.append(&mut other.right);
        self.not_tried.append(&mut other.not_tried);
        self.not_run.append(&mut other.not_run);
        self.wrong.append(&mut other.wrong);
    }

    pub(super) fn add(&mut self, case: &Case, result: CaseResult) {
        let list = match result {
            CaseResult::Right => &mut self.right,
            CaseResult::NotTried => &mut self.not_tried,
            CaseResult::NotRun => &mut self.not_run,
            CaseResult::Wrong => &mut self.wrong,
        };
        list.push((case.vertex_count, case.instance_count));
    }
}
