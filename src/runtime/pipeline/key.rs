//! [`Key`]: says which Vulkan pipeline of a [`Pipeline`](super::Pipeline) a dispatch needs.

#![forbid(unsafe_code)]

use std::fmt;

use crate::lower::compute::WorkgroupSizes;
use crate::topology::{PrimitiveTopology, XfbTopology};

/// The properties of draws for which a Vulkan pipeline is specialized. Any combination is allowed, but not every
/// combination has its own Vulkan pipeline: [`normal`](Self::normal) returns the key of the most specialized pipeline
/// that can capture the draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::runtime) struct Key {
    pub(in crate::runtime) source: Source,
    pub(in crate::runtime) indexed: bool,
    /// Whether primitive restart may be enabled. With [`Source::Pushed`]: whether it is enabled.
    pub(in crate::runtime) restart: bool,
    /// Whether elements of attributes may be missing, accesses may be unaligned, there may be several instances or
    /// indices, or a draw may have more workgroups than one axis of a dispatch. If this is false for a draw with
    /// [`Source::Pushed`], its capture is called *unchecked* in the shaders.
    pub(in crate::runtime) checked: bool,
    /// The topology of all draws, or `None` if they may have any topology. Dispatches of few workgroups have `None`, so
    /// that they share Vulkan pipelines.
    pub(in crate::runtime) topology: Option<XfbTopology>,
}

/// Where a dispatch reads the parameters of its draws, and who placed the draws, that is, computed where they are
/// captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::runtime) enum Source {
    /// One draw for which the CPU computed where it is captured. Its parameters are push constants, and all elements of
    /// an attribute begin within 4 GiB.
    Pushed,
    /// Draws for which the CPU computed where they are captured. Their parameters are in memory, together with a list
    /// that contains the draw of each workgroup. All elements of an attribute begin within 4 GiB.
    Listed,
    /// Draws for which a kernel computed where they are captured, and whose parameters are in memory; or a single draw
    /// for which the CPU computed it, and whose parameters are push constants. Elements of attributes may begin
    /// anywhere.
    General,
    /// One draw for which the workgroups of its dispatch themselves compute where it is captured. Its parameters are
    /// push constants, and all elements of an attribute begin within 4 GiB.
    Fused,
}

impl Key {
    /// The key of a Vulkan pipeline for any draws without primitive restart.
    pub(in crate::runtime) const ANY: Self = Self {
        source: Source::General,
        indexed: true,
        restart: false,
        checked: true,
        topology: None,
    };

    /// Returns the key of a Vulkan pipeline for any draws from `source` without primitive restart.
    pub(in crate::runtime) const fn of(source: Source) -> Self {
        Self { source, ..Self::ANY }
    }

    /// Returns the key of the Vulkan pipeline to use. `fixed` is the topology of all draws of the
    /// [`Pipeline`](super::Pipeline), or `None` if each draw chooses. `may_restart` says whether that
    /// [`Pipeline`](super::Pipeline) was created with primitive restart.
    ///
    /// Only Vulkan pipelines for [`Source::Pushed`] omit code for indices and for checks. A dispatch with another
    /// [`Source`] may mix draws with and without indices or checks, and compiling a pipeline for each mixture would
    /// cost more time than it saves.
    pub(super) fn normal(self, fixed: Option<PrimitiveTopology>, may_restart: bool) -> Self {
        let restart = self.restart && may_restart;
        let indexed = self.indexed || restart || self.source != Source::Pushed;
        let checked = self.checked || indexed;
        let topology = fixed.map(PrimitiveTopology::xfb_topology).or(self.topology);
        Self { indexed, restart, checked, topology, ..self }
    }

    pub(in crate::runtime) const fn workgroup_size(&self, sizes: &WorkgroupSizes) -> u32 {
        if self.restart { sizes.restarted } else { sizes.others }
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
