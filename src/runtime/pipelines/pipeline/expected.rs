//! [`ExpectedDraws`]: the kinds of draws for which Vulkan pipelines are created in advance.

#![forbid(unsafe_code)]

use ash::vk;

use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::parameters::known_topology;
use crate::runtime::pipelines::pipeline::{DrawSource, Key};

/// A kind of draw for which [`Pipeline::prepare`](crate::runtime::Pipeline::prepare) creates Vulkan
/// pipelines.
///
/// [`new`](Self::new) describes captures of one small draw that is neither indirect nor indexed. A value is exactly
/// one kind: one that is `counted` describes captures with counters, and none without. [`every`](Self::every) describes
/// draws of which less is known.
///
/// ```
/// use ash::vk;
/// use vkxfb::runtime::ExpectedDraws;
///
/// // One large mesh, or many small ones in a capture that resumes from counters.
/// let triangles = ExpectedDraws::new(vk::PrimitiveTopology::TRIANGLE_LIST);
/// let mesh = ExpectedDraws { indexed: true, ..triangles };
/// let kinds = [
///     ExpectedDraws { large: true, ..mesh },
///     ExpectedDraws { several: true, counted: true, ..mesh },
/// ];
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct ExpectedDraws {
    /// The topology of the draws. It is ignored if the pipeline has a fixed topology.
    pub topology: vk::PrimitiveTopology,
    /// Whether a dispatch of the draws may need more than 64 workgroups, as it usually does for more than 4,096
    /// vertices. If only the GPU knows the arguments of the draws, the size of the capture buffers determines the
    /// size of the dispatch, so with large capture buffers the draws are large.
    pub large: bool,
    /// Whether the draws have indices.
    pub indexed: bool,
    /// Whether the draws have indices, and primitive restart is enabled.
    pub restart: bool,
    /// Whether the draws need checks: they have several instances, more workgroups than one axis allows, vertex
    /// buffers of more than 4 GiB, insufficiently aligned buffers, or they read indices or elements beyond the
    /// bound ranges. Without device addresses, so do draws whose index buffers have a bound range that ends within 4
    /// bytes. With device addresses, a Vulkan pipeline for index buffers whose memory ends within 4 bytes is created
    /// when a draw first needs it.
    pub checked: bool,
    /// Whether a capture has several draws.
    pub several: bool,
    /// Whether captures have counters or queries, or continue after an error that left a part of them recorded, whose
    /// number of primitives only the GPU knows.
    pub counted: bool,
    /// Whether only the GPU knows the arguments of the draws, as in indirect draws, byte-count draws and
    /// conditional rendering, or the arguments of other draws in the same capture. Set it also if another draw of
    /// the capture has primitive restart. A draw with primitive restart that is alone in its capture is not of this
    /// kind.
    pub indirect: bool,
}

impl ExpectedDraws {
    /// Describes small draws of one instance that are neither indirect nor indexed, and whose vertex buffers are
    /// aligned and contain all elements that are read.
    pub fn new(topology: impl Into<vk::PrimitiveTopology>) -> Self {
        Self {
            topology: topology.into(),
            large: false,
            indexed: false,
            restart: false,
            checked: false,
            several: false,
            counted: false,
            indirect: false,
        }
    }

    /// Returns all kinds of draws of a topology, also those in captures that mix topologies.
    pub fn every(topology: impl Into<vk::PrimitiveTopology>) -> impl Iterator<Item = Self> {
        let topology = topology.into();
        (0..1 << 7).map(move |bits: u32| {
            let has = |bit: u32| bits >> bit & 1 != 0;
            Self {
                topology,
                large: has(0),
                indexed: has(1),
                restart: has(2),
                checked: has(3),
                several: has(4),
                counted: has(5),
                indirect: has(6),
            }
        })
    }

    /// Returns this kind of draw without primitive restart, for a pipeline that was created without it. Draws with
    /// primitive restart become indexed draws.
    pub(super) const fn without_restart(self) -> Self {
        Self { indexed: self.indexed || self.restart, restart: false, ..self }
    }

    /// Returns the keys of the Vulkan pipelines that these draws may need. `is_fixed` says whether the pipeline has a
    /// fixed topology, and `has_addresses` whether captures use device addresses.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownTopology`].
    pub(super) fn keys(
        &self,
        is_fixed: bool,
        has_addresses: bool,
    ) -> Result<Vec<Key>, RuntimeError> {
        let mut keys = self.whole_keys(is_fixed, has_addresses)?;
        // With device addresses hardly any index buffer needs more.
        if self.checked && !has_addresses && (self.indexed || self.restart) {
            let partial = keys.iter().map(|key| Key { partial_indices: true, ..*key });
            keys.extend(partial.collect::<Vec<_>>());
        }
        Ok(keys)
    }

    /// Returns the keys for index buffers that do not end within a dword.
    fn whole_keys(&self, is_fixed: bool, has_addresses: bool) -> Result<Vec<Key>, RuntimeError> {
        let Self { large, indexed, restart, checked, several, counted, indirect, .. } = *self;
        let topology = Some(known_topology(self.topology)?.xfb_topology());
        let pushed = Key { topology, indexed, restart, checked, ..Key::of(DrawSource::Pushed) };
        let mut keys = Vec::new();
        // Draws that share a dispatch use a Vulkan pipeline that captures any topology. A large draw uses a pipeline
        // for its own topology only.
        let add_shared = |keys: &mut Vec<Key>, key: Key| {
            keys.push(Key { topology: None, ..key });
            keys.extend(large.then_some(Key { topology, ..key }));
        };
        if restart {
            if has_addresses && !indirect {
                add_shared(&mut keys, pushed);
            }
            add_shared(&mut keys, Key { restart, ..Key::ANY });
            return Ok(keys);
        }
        if several && !indirect {
            add_shared(&mut keys, Key::of(DrawSource::Listed));
        }
        if counted && !(several || indirect || large) {
            keys.push(Key { topology, ..Key::of(DrawSource::Fused) });
        }
        if indirect || counted || checked || indexed {
            add_shared(&mut keys, Key::ANY);
        }
        if !indirect && (large || is_fixed || !(indexed || checked)) {
            keys.push(pushed);
        }
        if !indirect && large {
            // If workgroups of the pipeline collect records in shared memory before they store them, a large draw uses
            // a Vulkan pipeline with checks, because Vulkan pipelines without checks do not collect records. A draw
            // with more workgroups than one axis of a dispatch allows uses a Vulkan pipeline with checks, too.
            keys.push(Key { checked: true, ..pushed });
        }
        Ok(keys)
    }
}
