//! The key that says which Vulkan pipeline of a [`Pipeline`](super::Pipeline) a dispatch needs.

#![forbid(unsafe_code)]

use std::fmt;

use crate::lower::compute::WorkgroupSizes;
use crate::topology::{PrimitiveTopology, XfbTopology};

/// The properties for which a Vulkan pipeline is compiled. They are independent of each other, but not every
/// combination has its own pipeline: [`normal`](Self::normal) returns the key of the most specialized
/// pipeline that supports all properties of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::runtime) struct Key {
    pub(in crate::runtime) source: Source,
    /// Whether draws may have an index buffer.
    pub(in crate::runtime) indexed: bool,
    /// Whether primitive restart may be enabled; with [`Source::Pushed`], whether it is enabled.
    pub(in crate::runtime) restart: bool,
    /// Whether elements of attributes may be missing, accesses may be unaligned, or there may be several
    /// instances. If this is false for a draw with [`Source::Pushed`] and without indices, its capture is
    /// *unchecked* in the words of the shaders.
    pub(in crate::runtime) checked: bool,
    /// The topology of all draws; `None` if they may have any.
    pub(in crate::runtime) topology: Option<XfbTopology>,
}

/// The source of the parameters of a dispatch's draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::runtime) enum Source {
    /// One draw that the CPU placed. Its parameters are push constants, and all elements of an attribute
    /// begin within 4 GiB.
    Pushed,
    /// Draws that the CPU placed, whose parameters are in memory with a list of the draw of each
    /// workgroup. All elements of an attribute begin within 4 GiB.
    Listed,
    /// Draws that a kernel placed, with parameters in memory; or any one draw that the CPU placed,
    /// with push constants.
    General,
    /// One draw that the workgroups of its own dispatch place. Its parameters are push constants, and all
    /// elements of an attribute begin within 4 GiB.
    Fused,
}

impl Key {
    /// The key of a pipeline for any draws without primitive restart.
    pub(in crate::runtime) const ANY: Self = Self {
        source: Source::General,
        indexed: true,
        restart: false,
        checked: true,
        topology: None,
    };

    /// Returns the key of a pipeline for any draws from `source` without primitive restart.
    pub(in crate::runtime) const fn of(source: Source) -> Self {
        Self { source, ..Self::ANY }
    }

    /// Returns the key of the pipeline to use. `fixed` is the topology of all draws of the
    /// [`Pipeline`](super::Pipeline), if it has a fixed one; `may_restart` says whether it was
    /// created with primitive restart.
    ///
    /// Only pipelines for single draws omit code for indices and for checks. Dispatches of the
    /// other sources mix draws, and a pipeline for each mixture would cost more time to compile
    /// than it saves.
    pub(super) fn normal(self, fixed: Option<PrimitiveTopology>, may_restart: bool) -> Self {
        let restart = self.restart && may_restart;
        let indexed = self.indexed || restart || self.source != Source::Pushed;
        let checked = self.checked || indexed;
        let topology = fixed.map(PrimitiveTopology::xfb_topology).or(self.topology);
        Self { indexed, restart, checked, topology, ..self }
    }

    /// The number of invocations per workgroup.
    pub(in crate::runtime) const fn workgroup_size(&self, sizes: &WorkgroupSizes) -> u32 {
        match (self.source, self.restart) {
            (_, true) => sizes.restarted,
            (Source::Listed, false) => sizes.batched,
            (Source::Pushed | Source::General | Source::Fused, false) => sizes.others,
        }
    }
}

/// Formats the name of the Vulkan pipeline, for debugging tools.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, indexed, restart, checked, topology } = self;
        write!(f, "vkxfb compute, {source:?}")?;
        for (is_so, what) in [(*indexed, "indexed"), (*restart, "restart"), (*checked, "checked")] {
            if is_so {
                write!(f, ", {what}")?;
            }
        }
        match topology {
            Some(topology) => write!(f, ", {topology:?}"),
            None => Ok(()),
        }
    }
}
