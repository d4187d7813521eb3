//! Draws to come, for which Vulkan pipelines are created ahead.

#![forbid(unsafe_code)]

use super::key::{Key, Source};
use crate::setters::setters;
use crate::topology::PrimitiveTopology;

/// A kind of draws, for which [`Pipeline::prepare`](super::Pipeline::prepare) creates Vulkan pipelines.
///
/// [`new`](Self::new) describes a small direct draw without indices, alone in its capture. The other
/// functions say in what a kind differs from that:
///
/// ```
/// use vkxfb::runtime::ExpectedDraws;
/// use vkxfb::topology::PrimitiveTopology;
///
/// // One large mesh, or many small ones in a capture that resumes from counters.
/// let mesh = ExpectedDraws::new(PrimitiveTopology::TriangleList).indexed(true);
/// let kinds = [mesh.large(true), mesh.several(true).counted(true)];
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct ExpectedDraws {
    topology: PrimitiveTopology,
    large: bool,
    indexed: bool,
    restart: bool,
    checked: bool,
    several: bool,
    counted: bool,
    indirect: bool,
}

impl ExpectedDraws {
    /// Describes small draws of one instance, whose vertex buffers are aligned and contain all elements that
    /// are read. A pipeline for one topology takes that in place of `topology`.
    pub const fn new(topology: PrimitiveTopology) -> Self {
        Self {
            topology,
            large: false,
            indexed: false,
            restart: false,
            checked: false,
            several: false,
            counted: false,
            indirect: false,
        }
    }

    /// All kinds of draws of a topology, also those of captures that mix it with others.
    pub fn every(topology: PrimitiveTopology) -> impl Iterator<Item = Self> {
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

    setters! {
        /// Whether a dispatch of the draws, which have this topology, may need more than 64 workgroups:
        /// usually for more than 4,096 vertices. Of draws whose arguments only the GPU knows, as many
        /// count as the capture buffers have room for.
        large: bool,
        /// Whether the draws have indices.
        indexed: bool,
        /// Whether the draws have indices, and primitive restart is enabled.
        restart: bool,
        /// Whether the draws may have several instances, more workgroups than one axis has, vertex buffers of more
        /// than 4 GiB, buffers that are not aligned to what is accessed at once, or indices and elements that do not
        /// exist.
        checked: bool,
        /// Whether a capture has several draws.
        several: bool,
        /// Whether captures have counters or queries, or go on after a flush of draws that only the GPU knows.
        counted: bool,
        /// Whether only the GPU knows what is drawn: indirect draws, byte counts, conditional rendering; or other
        /// draws of the same capture are such, or have primitive restart.
        indirect: bool,
    }

    /// The same draws where primitive restart cannot be enabled.
    pub(super) const fn without_restart(self) -> Self {
        Self { indexed: self.indexed || self.restart, restart: false, ..self }
    }

    /// The keys that these draws may have. `is_fixed` is whether all draws of the pipeline have the same
    /// topology, `has_addresses` whether captures reach memory by device addresses.
    pub(super) fn keys(&self, is_fixed: bool, has_addresses: bool) -> Vec<Key> {
        let Self { large, indexed, restart, checked, several, counted, indirect, .. } = *self;
        let topology = Some(self.topology.xfb_topology());
        let pushed = Key { topology, indexed, restart, checked, ..Key::of(Source::Pushed) };
        let mut keys = Vec::new();
        // What several draws may share has a topology only where there is much to do.
        let add_shared = |keys: &mut Vec<Key>, key: Key| {
            keys.push(Key { topology: None, ..key });
            keys.extend(large.then_some(Key { topology, ..key }));
        };
        if restart {
            if has_addresses && !indirect {
                add_shared(&mut keys, pushed);
            }
            add_shared(&mut keys, Key { restart, ..Key::ANY });
            return keys;
        }
        if several && !indirect {
            add_shared(&mut keys, Key::of(Source::Listed));
        }
        if counted && !(several || indirect || large) {
            keys.push(Key { topology, ..Key::of(Source::Fused) });
        }
        if indirect || counted || checked || indexed {
            add_shared(&mut keys, Key::ANY);
        }
        if !indirect && (large || is_fixed || !(indexed || checked)) {
            keys.push(pushed);
        }
        if !indirect && large {
            // A draw that is too large for a pipeline without checks, which stages nothing.
            keys.push(Key { checked: true, ..pushed });
        }
        keys
    }
}
