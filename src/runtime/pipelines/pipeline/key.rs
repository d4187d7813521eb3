//! [`Key`]: says which Vulkan pipeline of a [`Pipeline`](crate::runtime::Pipeline) a dispatch needs.

#![forbid(unsafe_code)]

use std::fmt;

use vkxfb_rewriter::lower::compute::WorkgroupSizes;
use vkxfb_rewriter::topology::{PrimitiveTopology, XfbTopology};

/// The properties of draws for which a Vulkan pipeline is specialized. Any combination is allowed, but not every
/// combination has its own Vulkan pipeline: [`normal`](Self::normal) returns the key of the most specialized pipeline
/// that can capture the draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) source: DrawSource,
    pub(crate) indexed: bool,
    /// Whether primitive restart may be enabled. With [`DrawSource::Pushed`]: whether it is enabled.
    pub(crate) restart: bool,
    /// Whether elements of attributes may be missing, accesses may be unaligned, there may be several instances or
    /// indices, or a draw may have more workgroups than one axis of a dispatch. If this is false for a draw with
    /// [`DrawSource::Pushed`], its capture is called *unchecked* in the shaders.
    pub(crate) checked: bool,
    /// The topology of all draws, or `None` if they may have any topology. Dispatches of few workgroups have `None`, so
    /// that they share Vulkan pipelines.
    pub(crate) topology: Option<XfbTopology>,
}

/// Where a dispatch reads the parameters of its draws, and who placed the draws, that is, computed where they are
/// captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DrawSource {
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
    pub(crate) const ANY: Self = Self {
        source: DrawSource::General,
        indexed: true,
        restart: false,
        checked: true,
        topology: None,
    };

    /// Returns the key of a Vulkan pipeline for any draws from `source` without primitive restart.
    pub(crate) const fn of(source: DrawSource) -> Self {
        Self { source, ..Self::ANY }
    }

    /// Returns the key of the Vulkan pipeline to use. `fixed` is the topology of all draws of the
    /// [`Pipeline`](crate::runtime::Pipeline), or `None` if each draw chooses. `may_restart` says whether that
    /// [`Pipeline`](crate::runtime::Pipeline) was created with primitive restart.
    ///
    /// Only Vulkan pipelines for [`DrawSource::Pushed`] omit code for indices and for checks. A dispatch with another
    /// [`DrawSource`] may mix draws with and without indices or checks, and compiling a pipeline for each mixture would
    /// cost more time than it saves.
    pub(super) fn normal(self, fixed: Option<PrimitiveTopology>, may_restart: bool) -> Self {
        let restart = self.restart && may_restart;
        let indexed = self.indexed || restart || self.source != DrawSource::Pushed;
        let checked = self.checked || indexed;
        let topology = fixed.map(PrimitiveTopology::xfb_topology).or(self.topology);
        Self { indexed, restart, checked, topology, ..self }
    }

    pub(crate) const fn workgroup_size(&self, sizes: &WorkgroupSizes) -> u32 {
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
