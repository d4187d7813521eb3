//! What the compute pipeline that captures some stages reads in push data and in heaps.
//!
//! The beginning of push data [belongs to vkxfb](HeapInterface::FIRST). What the mappings of the stages read is moved behind
//! that, without gaps. What does not fit there is read through the address of a copy in memory.

use std::collections::BTreeSet;
use std::ffi::c_void;

use spirv::{Decoration, Op};
use vkxfb::runtime::descriptor_heaps::{CopyAddress, HeapInterface, MovedData, StageChain};

use super::{Index, Mapping, MappingError, MappingSource, Mappings};
use crate::registry::vk;

/// A binding that a shader uses.
#[derive(Debug, Clone, Copy)]
pub(in crate::emulation) struct UsedBinding {
    pub(in crate::emulation) set: u32,
    pub(in crate::emulation) binding: u32,
    /// Whether it has combined image samplers.
    pub(in crate::emulation) is_combined: bool,
}

impl Mappings {
    /// The mappings of those bindings that a shader uses.
    fn used<'a>(&'a self, uses: &'a [UsedBinding]) -> impl Iterator<Item = Used> + 'a {
        self.0.iter().filter_map(|mapping| {
            let mut mapped = uses.iter().filter(|used| mapping.contains(used)).peekable();
            mapped.peek()?;
            let has_combined_samplers = mapped.any(|used| used.is_combined);
            Some(Used { mapping: mapping.clone(), has_combined_samplers })
        })
    }
}

impl Mapping {
    /// Whether the mapping is for a set and binding. Which of several mappings for the same binding is for the type of
    /// the descriptor is not looked at: one that is not costs some push data.
    fn contains(&self, used: &UsedBinding) -> bool {
        let number = used.binding.checked_sub(self.first_binding);
        used.set == self.set && number.is_some_and(|number| number < self.binding_count)
    }
}

/// A mapping of descriptors that a shader uses.
struct Used {
    mapping: Mapping,
    /// Whether it maps combined image samplers.
    has_combined_samplers: bool,
}

impl Used {
    /// Calls `visit` with each offset at which the mapping reads push data. A uniform buffer in push data is not among
    /// them.
    fn visit_reads(&mut self, mut visit: impl FnMut(Read, &mut u32)) {
        match &mut self.mapping.source {
            MappingSource::Descriptor { index, resource, sampler, embedded, is_index_combined } => {
                // Without a combined image sampler the sampler's lookup may be anything.
                let has_sampler =
                    self.has_combined_samplers && embedded.is_none() && !*is_index_combined;
                let read = match index {
                    Index::Constant => return,
                    Index::Push => Read::INDEX,
                    Index::Indirect | Index::IndirectArray => Read::POINTER,
                };
                let sampler = has_sampler.then_some(sampler);
                for lookup in std::iter::once(resource).chain(sampler) {
                    visit(read, &mut lookup.push_offset);
                }
            }
            MappingSource::HeapData { push_offset, .. } => visit(Read::HEAP_OFFSET, push_offset),
            MappingSource::PushAddress { offset } => visit(Read::ADDRESS, offset),
            MappingSource::IndirectAddress { push_offset, .. } => visit(Read::POINTER, push_offset),
            MappingSource::PushData { .. } | MappingSource::Other(_) => {}
        }
    }

    /// Changes a mapping that finds an index or an address in push data: it finds them at the same offset from the
    /// address that is at `base` in push data.
    fn make_indirect(&mut self, base: u32) {
        match &mut self.mapping.source {
            MappingSource::Descriptor { index: index @ Index::Push, resource, sampler, .. } => {
                *index = Index::Indirect;
                for lookup in [resource, sampler] {
                    lookup.address_offset = lookup.push_offset;
                    lookup.push_offset = base;
                }
            }
            MappingSource::PushAddress { offset } => {
                let address_offset = *offset;
                self.mapping.source =
                    MappingSource::IndirectAddress { push_offset: base, address_offset };
            }
            _ => {}
        }
    }
}

/// A value that a mapping reads in push data.
#[derive(Debug, Clone, Copy)]
struct Read {
    /// The size in bytes.
    size: u32,
    /// Whether a mapping can [read it in memory](Used::make_indirect) instead.
    can_be_indirect: bool,
}

impl Read {
    /// An index into a heap.
    const INDEX: Self = Self { size: 4, can_be_indirect: true };
    /// The address of a buffer.
    const ADDRESS: Self = Self { size: 8, can_be_indirect: true };
    /// The address of memory that contains an index or the address of a buffer.
    const POINTER: Self = Self { size: 8, can_be_indirect: false };
    /// The offset in a heap of a uniform buffer.
    const HEAP_OFFSET: Self = Self { size: 4, can_be_indirect: false };
}

/// The structures for the chain of a compute shader that captures.
#[derive(Debug)]
struct OwnedChain {
    info: vk::ShaderDescriptorSetAndBindingMappingInfoEXT,
    /// What `info` points to.
    _mappings: Box<[vk::DescriptorSetAndBindingMappingEXT]>,
    /// The embedded samplers that the mappings point to.
    _sources: Vec<Mapping>,
}

// SAFETY: nothing changes the structures after they were made.
unsafe impl Send for OwnedChain {}
// SAFETY: as above.
unsafe impl Sync for OwnedChain {}

// SAFETY: the structure extends VkPipelineShaderStageCreateInfo. The value owns all that it points to, and is boxed, so that
// nothing of it moves.
unsafe impl StageChain for OwnedChain {
    fn as_ptr(&self) -> *const c_void {
        (&raw const self.info).cast()
    }
}

impl OwnedChain {
    fn new(sources: Vec<Mapping>) -> Self {
        type Info = vk::ShaderDescriptorSetAndBindingMappingInfoEXT;
        let mappings: Box<[_]> = sources.iter().map(Mapping::to_vulkan).collect();
        let info = Info {
            s_type: <Info as vk::TaggedStructure>::STRUCTURE_TYPE,
            p_next: std::ptr::null(),
            mapping_count: mappings.len() as u32,
            p_mappings: mappings.as_ptr(),
        };
        Self { info, _mappings: mappings, _sources: sources }
    }
}

/// The mappings of a captured stage, and the bindings that it uses.
pub(in crate::emulation) struct MappedStage<'a> {
    pub(in crate::emulation) mappings: &'a Mappings,
    pub(in crate::emulation) uses: &'a [UsedBinding],
    /// What is added to the numbers of descriptor sets in the module of the stage, so that the sets of different stages
    /// have different numbers in the module that captures.
    pub(in crate::emulation) first_set: u32,
}

/// Returns what the compute pipeline that captures these stages needs, on a device with this `maxPushDataSize`.
///
/// # Errors
/// [`MappingError`]
pub(in crate::emulation) fn interface(
    stages: &[MappedStage<'_>],
    max_push_data: u32,
) -> Result<HeapInterface, MappingError> {
    let mut used = Vec::new();
    for MappedStage { mappings, uses, first_set } in stages {
        for mut mapping in mappings.used(uses) {
            mapping.mapping.set = mapping.mapping.set.saturating_add(*first_set);
            // The stages that have the same mappings and the same sets use them together.
            let same = used.iter_mut().find(|used: &&mut Used| used.mapping == mapping.mapping);
            match same {
                Some(same) => same.has_combined_samplers |= mapping.has_combined_samplers,
                None => used.push(mapping),
            }
        }
    }
    if let Some(other) = used.iter().find_map(|used| match used.mapping.source {
        MappingSource::Other(other) => Some(other),
        _ => None,
    }) {
        return Err(MappingError::Source(other));
    }
    let mut placed = Placed::new(&mut used, max_push_data, false);
    if placed.end > max_push_data {
        // Reading through an address costs the shader another access to memory, so it does that only here.
        placed = Placed::new(&mut used, max_push_data, true);
    }
    if placed.end > max_push_data {
        let needed = placed.end - HeapInterface::FIRST;
        return Err(MappingError::PushData { needed, max: max_push_data });
    }
    placed.move_all(&mut used);
    let copied = if placed.addresses.is_empty() { 0 } else { max_push_data };
    let mappings = Box::new(OwnedChain::new(used.into_iter().map(|used| used.mapping).collect()));
    Ok(HeapInterface { mappings, moved: placed.moved, copied, addresses: placed.addresses })
}

/// Where in push data a capture has what its mappings read.
#[derive(Debug)]
struct Placed {
    moved: Vec<MovedData>,
    addresses: Vec<CopyAddress>,
    /// The first byte behind all of that.
    end: u32,
    /// Whether everything that [can](Read::can_be_indirect) is read in a copy of push data, whose address comes first.
    is_indirect: bool,
}

impl Placed {
    fn new(used: &mut [Used], max_push_data: u32, is_indirect: bool) -> Self {
        let (moved, addresses, end) = (Vec::new(), Vec::new(), HeapInterface::FIRST);
        let mut placed = Self { moved, addresses, end, is_indirect };
        let mut of = BTreeSet::new();
        let (mut wide, mut narrow) = (BTreeSet::new(), BTreeSet::new());
        if is_indirect {
            of.insert(0);
        }
        for used in used {
            if let MappingSource::PushData { offset } = used.mapping.source {
                of.insert(offset);
            }
            used.visit_reads(|read, offset| {
                let is_inside =
                    offset.checked_add(read.size).is_some_and(|end| end <= max_push_data);
                if is_inside && !placed.is_read_in_copy(read) {
                    let reads = if read.size == 8 { &mut wide } else { &mut narrow };
                    reads.insert(*offset);
                }
            });
        }
        // What is aligned to 8 bytes comes first.
        for of in of {
            placed.addresses.push(CopyAddress { of, to: placed.end });
            placed.end += 8;
        }
        for (size, all) in [(8, wide), (4, narrow)] {
            for from in all {
                if placed.new_offset(from, size).is_none() {
                    placed.moved.push(MovedData { from, to: placed.end, size });
                    placed.end += size;
                }
            }
        }
        placed
    }

    const fn is_read_in_copy(&self, read: Read) -> bool {
        self.is_indirect && read.can_be_indirect
    }

    /// Returns where bytes of push data are in a capture.
    fn new_offset(&self, from: u32, size: u32) -> Option<u32> {
        let offset_in = |moved: &MovedData| {
            let offset = from.checked_sub(moved.from)?;
            (offset < moved.size && size <= moved.size - offset).then_some(moved.to + offset)
        };
        self.moved.iter().find_map(offset_in)
    }

    /// Changes all mappings so that they read what they read before.
    fn move_all(&self, used: &mut [Used]) {
        for used in used {
            if let MappingSource::PushData { offset } = used.mapping.source
                && let Some(address) = self.addresses.iter().find(|address| address.of == offset)
            {
                used.mapping.source = MappingSource::PushAddress { offset: address.to };
                continue;
            }
            used.visit_reads(|read, offset| {
                if !self.is_read_in_copy(read)
                    && let Some(new) = self.new_offset(*offset, read.size)
                {
                    *offset = new;
                }
            });
            if self.is_indirect {
                used.make_indirect(HeapInterface::FIRST);
            }
        }
    }
}

/// Adds `first` to the numbers of all descriptor sets in a module.
pub(in crate::emulation) fn with_sets_from(words: &[u32], first: u32) -> Vec<u32> {
    let mut moved = words.to_vec();
    let mut at = 5;
    while let Some(head) = moved.get(at).copied() {
        if head & 0xffff == Op::Decorate as u32
            && moved.get(at + 2) == Some(&(Decoration::DescriptorSet as u32))
            && let Some(set) = moved.get_mut(at + 3)
        {
            *set = set.saturating_add(first);
        }
        at += ((head >> 16) as usize).max(1);
    }
    moved
}
