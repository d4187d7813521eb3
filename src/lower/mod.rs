//! Rewriting a vertex shader for a backend: SPIR-V words in, words and a report of what they bind out.

#![forbid(unsafe_code)]

pub mod compute;
pub mod native;
pub mod vertex;

use crate::capture::Layout;
use crate::topology::XfbTopology;

/// Who does the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Backend {
    /// The driver's own `VK_EXT_transform_feedback`.
    Native,
    /// The vertex shader stores its contributions itself, in the application's own draw.
    Vertex,
    /// The vertex shader runs as a compute shader that pulls its vertices.
    Compute,
}

/// A shader rewritten for a backend, and what the runtime has to know about it.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// The backend that it was rewritten for.
    pub backend: Backend,
    /// SPIR-V.
    pub words: Vec<u32>,
    /// Name of the entry point in `words`.
    pub entry_point: String,
    /// What is captured.
    pub layout: Layout,
    /// `SpecId` of the boolean specialisation constant of each [`XfbTopology`], indexed by its value:
    /// whether that topology may occur. All default to true, which decides at run time. Setting all
    /// but one to false folds the decision. `None` on the native backend.
    pub topology_spec_ids: Option<[u32; XfbTopology::COUNT]>,
    /// Compute only: the location of the attribute that each descriptor slot of the sysvals serves,
    /// in slot order.
    pub attribute_locations: Vec<u32>,
    /// Compute only: invocations of a workgroup.
    pub workgroup_size: u32,
    /// Whether the shader itself stores, writes images or uses atomics. Where the application keeps
    /// its draw beside a compute capture, that happens twice.
    pub has_side_effects: bool,
}
