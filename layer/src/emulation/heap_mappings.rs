//! Mappings of descriptors to descriptor heaps (`VK_EXT_descriptor_heap`): those of a program's shaders, and those of
//! the compute pipelines that capture in their place.
//!
//! A mapping may read push data, at an offset in bytes. In captures the beginning of push data [belongs to
//! vkxfb](HeapInterface::FIRST), so what the mappings of captured shaders read is moved behind that, without gaps. What
//! does not fit there is read through an address of a copy in memory.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::Arc;

use spirv::{Decoration, Op};
use vkxfb::internal::reflect::{DescriptorUse, ResourceType};
use vkxfb::internal::{CopyAddress, HeapInterface, MovedData, StageChain};

use crate::chain::copy::Chain;
use crate::chain::{all_of, slice, structures};
use crate::registry::vk;

/// The reason why the descriptors of a captured pipeline cannot be mapped.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MappingError {
    #[error("descriptors are mapped by the unknown source {0}")]
    Source(vk::DescriptorMappingSourceEXT),
    #[error(
        "mappings of descriptors need {needed} bytes of push data beside those of captures, and maxPushDataSize is {max}"
    )]
    PushData { needed: u32, max: u32 },
}

/// The mappings of a shader: the elements of `VkShaderDescriptorSetAndBindingMappingInfoEXT`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Mappings(Vec<Mapping>);

/// A `VkDescriptorSetAndBindingMappingEXT`.
#[derive(Debug, Clone, PartialEq)]
struct Mapping {
    set: u32,
    first_binding: u32,
    binding_count: u32,
    resource_mask: vk::SpirvResourceTypeFlagsEXT,
    source: Source,
}

/// What a mapping maps to: a `VkDescriptorMappingSourceEXT` with its `VkDescriptorMappingSourceDataEXT`.
#[derive(Debug, Clone, PartialEq)]
enum Source {
    /// A descriptor in a heap. Of a combined image sampler, the image is at `resource` and the sampler at `sampler`.
    Descriptor {
        resource: Lookup,
        sampler: Lookup,
        /// The sampler in place of one in a heap.
        embedded: Option<Arc<Sampler>>,
        /// Whether the image and the sampler of a combined image sampler share an index.
        is_index_combined: bool,
    },
    HeapData {
        heap_offset: u32,
        push_offset: u32,
    },
    PushData {
        offset: u32,
    },
    PushAddress {
        offset: u32,
    },
    IndirectAddress {
        push_offset: u32,
        address_offset: u32,
    },
    /// A source that is not for graphics pipelines, or not known.
    Other(vk::DescriptorMappingSourceEXT),
}

/// Where in a heap a descriptor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lookup {
    heap_offset: u32,
    index: Index,
    index_stride: u32,
    array_stride: u32,
}

/// Where the index of a descriptor is. All offsets are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Index {
    /// There is none: the descriptor is at a constant offset.
    Constant,
    /// In push data.
    Push { offset: u32 },
    /// In memory, at an offset from an address in push data. With `is_array` there is an index for each binding and for
    /// each element of an array.
    Indirect { push_offset: u32, address_offset: u32, is_array: bool },
}

/// `VkDescriptorMappingSourceEXT`, by its values.
mod source {
    pub(super) const CONSTANT_OFFSET: i32 = 0;
    pub(super) const PUSH_INDEX: i32 = 1;
    pub(super) const INDIRECT_INDEX: i32 = 2;
    pub(super) const INDIRECT_INDEX_ARRAY: i32 = 3;
    pub(super) const HEAP_DATA: i32 = 4;
    pub(super) const PUSH_DATA: i32 = 5;
    pub(super) const PUSH_ADDRESS: i32 = 6;
    pub(super) const INDIRECT_ADDRESS: i32 = 7;
}

/// An embedded sampler.
pub(super) struct Sampler {
    /// Its chain is `_chain`.
    info: vk::SamplerCreateInfo<'static>,
    _chain: Chain,
}

// SAFETY: nothing changes a sampler after it was made, and its pointers are to its own chain.
unsafe impl Send for Sampler {}
// SAFETY: as above.
unsafe impl Sync for Sampler {}

impl std::fmt::Debug for Sampler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.info.fmt(formatter)
    }
}

/// A sampler is equal only to itself, because its chain is not compared.
impl PartialEq for Sampler {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Sampler {
    /// # Safety
    /// The pointer is null or to a valid structure.
    unsafe fn copied(info: *const vk::SamplerCreateInfo<'static>) -> Option<Arc<Self>> {
        // SAFETY: the caller's contract.
        unsafe {
            let mut info = *info.as_ref()?;
            let mut chain = Chain::copy(info.p_next);
            // Copies are shallow, and the program's name is not there any more when the copy is used.
            _ = chain.remove::<vk::DebugUtilsObjectNameInfoEXT<'static>>();
            _ = chain.remove::<vk::OpaqueCaptureDescriptorDataCreateInfoEXT<'static>>();
            chain.cut();
            info.p_next = chain.link();
            Some(Arc::new(Self { info, _chain: chain }))
        }
    }
}

impl Mappings {
    /// Copies the mappings in the chain of a shader stage or shader. Without the structure there are none.
    ///
    /// # Safety
    /// The chain is valid.
    pub(super) unsafe fn of_chain(chain: *const c_void) -> Self {
        type Info = vk::ShaderDescriptorSetAndBindingMappingInfoEXT;
        // SAFETY: the caller's contract.
        unsafe {
            let Some(info) = all_of::<Info>(chain).next() else { return Self::default() };
            let mappings = slice(info.p_mappings, info.mapping_count);
            Self(mappings.iter().map(|mapping| Mapping::copied(mapping)).collect())
        }
    }

    /// The mappings of those descriptors that a shader uses.
    fn used<'a>(&'a self, uses: &'a [DescriptorUse]) -> impl Iterator<Item = Used> + 'a {
        self.0.iter().filter_map(|mapping| {
            let mut mapped = uses.iter().filter(|used| mapping.contains(used)).peekable();
            mapped.peek()?;
            let samples = mapped.any(|used| used.resource == ResourceType::CombinedImageSampler);
            Some(Used { mapping: mapping.clone(), has_combined_samplers: samples })
        })
    }
}

/// A mapping of descriptors that a shader uses.
struct Used {
    mapping: Mapping,
    /// Whether it maps combined image samplers.
    has_combined_samplers: bool,
}

impl Mapping {
    /// # Safety
    /// The structure is valid.
    unsafe fn copied(mapping: &vk::DescriptorSetAndBindingMappingEXT) -> Self {
        // SAFETY: the caller's contract; the source says which member of the union is valid.
        let source = unsafe { Source::copied(mapping.source, &mapping.source_data) };
        Self {
            set: mapping.descriptor_set,
            first_binding: mapping.first_binding,
            binding_count: mapping.binding_count,
            resource_mask: mapping.resource_mask,
            source,
        }
    }

    /// Whether the mapping is for a set and binding. Which of several mappings for the same binding is for the type of
    /// the descriptor is not looked at: one that is not costs some push data.
    fn contains(&self, used: &DescriptorUse) -> bool {
        let number = used.binding.checked_sub(self.first_binding);
        used.set == self.set && number.is_some_and(|number| number < self.binding_count)
    }

    fn to_vulkan(&self) -> vk::DescriptorSetAndBindingMappingEXT {
        let (source, source_data) = self.source.to_vulkan();
        vk::DescriptorSetAndBindingMappingEXT {
            s_type: <vk::DescriptorSetAndBindingMappingEXT as vk::TaggedStructure>::STRUCTURE_TYPE,
            p_next: std::ptr::null(),
            descriptor_set: self.set,
            first_binding: self.first_binding,
            binding_count: self.binding_count,
            resource_mask: self.resource_mask,
            source,
            source_data,
        }
    }
}

impl Source {
    /// # Safety
    /// The member of the union that belongs to the source is valid.
    unsafe fn copied(
        source: vk::DescriptorMappingSourceEXT,
        data: &vk::DescriptorMappingSourceDataEXT,
    ) -> Self {
        // SAFETY: the caller's contract.
        unsafe {
            match source {
                source::CONSTANT_OFFSET => {
                    let data = data.constant_offset;
                    let lookup = |heap_offset, array_stride| Lookup {
                        heap_offset,
                        index: Index::Constant,
                        index_stride: 0,
                        array_stride,
                    };
                    Self::Descriptor {
                        resource: lookup(data.heap_offset, data.heap_array_stride),
                        sampler: lookup(data.sampler_heap_offset, data.sampler_heap_array_stride),
                        embedded: Sampler::copied(data.p_embedded_sampler),
                        is_index_combined: false,
                    }
                }
                source::PUSH_INDEX => {
                    let data = data.push_index;
                    Self::Descriptor {
                        resource: Lookup {
                            heap_offset: data.heap_offset,
                            index: Index::Push { offset: data.push_offset },
                            index_stride: data.heap_index_stride,
                            array_stride: data.heap_array_stride,
                        },
                        sampler: Lookup {
                            heap_offset: data.sampler_heap_offset,
                            index: Index::Push { offset: data.sampler_push_offset },
                            index_stride: data.sampler_heap_index_stride,
                            array_stride: data.sampler_heap_array_stride,
                        },
                        embedded: Sampler::copied(data.p_embedded_sampler),
                        is_index_combined: data.use_combined_image_sampler_index == vk::TRUE,
                    }
                }
                source::INDIRECT_INDEX => {
                    let data = data.indirect_index;
                    let index = |push_offset, address_offset| Index::Indirect {
                        push_offset,
                        address_offset,
                        is_array: false,
                    };
                    Self::Descriptor {
                        resource: Lookup {
                            heap_offset: data.heap_offset,
                            index: index(data.push_offset, data.address_offset),
                            index_stride: data.heap_index_stride,
                            array_stride: data.heap_array_stride,
                        },
                        sampler: Lookup {
                            heap_offset: data.sampler_heap_offset,
                            index: index(data.sampler_push_offset, data.sampler_address_offset),
                            index_stride: data.sampler_heap_index_stride,
                            array_stride: data.sampler_heap_array_stride,
                        },
                        embedded: Sampler::copied(data.p_embedded_sampler),
                        is_index_combined: data.use_combined_image_sampler_index == vk::TRUE,
                    }
                }
                source::INDIRECT_INDEX_ARRAY => {
                    let data = data.indirect_index_array;
                    let index = |push_offset, address_offset| Index::Indirect {
                        push_offset,
                        address_offset,
                        is_array: true,
                    };
                    Self::Descriptor {
                        resource: Lookup {
                            heap_offset: data.heap_offset,
                            index: index(data.push_offset, data.address_offset),
                            index_stride: data.heap_index_stride,
                            array_stride: 0,
                        },
                        sampler: Lookup {
                            heap_offset: data.sampler_heap_offset,
                            index: index(data.sampler_push_offset, data.sampler_address_offset),
                            index_stride: data.sampler_heap_index_stride,
                            array_stride: 0,
                        },
                        embedded: Sampler::copied(data.p_embedded_sampler),
                        is_index_combined: data.use_combined_image_sampler_index == vk::TRUE,
                    }
                }
                source::HEAP_DATA => {
                    let vk::DescriptorMappingSourceHeapDataEXT { heap_offset, push_offset } =
                        data.heap_data;
                    Self::HeapData { heap_offset, push_offset }
                }
                source::PUSH_DATA => Self::PushData { offset: data.push_data_offset },
                source::PUSH_ADDRESS => Self::PushAddress { offset: data.push_address_offset },
                source::INDIRECT_ADDRESS => {
                    let data = data.indirect_address;
                    let (push_offset, address_offset) = (data.push_offset, data.address_offset);
                    Self::IndirectAddress { push_offset, address_offset }
                }
                other => Self::Other(other),
            }
        }
    }

    fn to_vulkan(&self) -> (vk::DescriptorMappingSourceEXT, vk::DescriptorMappingSourceDataEXT) {
        use vk::DescriptorMappingSourceDataEXT as Data;
        match *self {
            Self::Descriptor { resource, sampler, ref embedded, is_index_combined } => {
                let embedded = embedded.as_ref();
                let p_embedded_sampler =
                    embedded.map_or(std::ptr::null(), |embedded| &raw const embedded.info);
                let use_combined_image_sampler_index = is_index_combined.into();
                match (resource.index, sampler.index) {
                    (
                        Index::Indirect { push_offset, address_offset, is_array: true },
                        Index::Indirect {
                            push_offset: sampler_push_offset,
                            address_offset: sampler_address_offset,
                            ..
                        },
                    ) => {
                        let data = vk::DescriptorMappingSourceIndirectIndexArrayEXT {
                            heap_offset: resource.heap_offset,
                            push_offset,
                            address_offset,
                            heap_index_stride: resource.index_stride,
                            p_embedded_sampler,
                            use_combined_image_sampler_index,
                            sampler_heap_offset: sampler.heap_offset,
                            sampler_push_offset,
                            sampler_address_offset,
                            sampler_heap_index_stride: sampler.index_stride,
                        };
                        (source::INDIRECT_INDEX_ARRAY, Data { indirect_index_array: data })
                    }
                    (
                        Index::Indirect { push_offset, address_offset, .. },
                        Index::Indirect {
                            push_offset: sampler_push_offset,
                            address_offset: sampler_address_offset,
                            ..
                        },
                    ) => {
                        let data = vk::DescriptorMappingSourceIndirectIndexEXT {
                            heap_offset: resource.heap_offset,
                            push_offset,
                            address_offset,
                            heap_index_stride: resource.index_stride,
                            heap_array_stride: resource.array_stride,
                            p_embedded_sampler,
                            use_combined_image_sampler_index,
                            sampler_heap_offset: sampler.heap_offset,
                            sampler_push_offset,
                            sampler_address_offset,
                            sampler_heap_index_stride: sampler.index_stride,
                            sampler_heap_array_stride: sampler.array_stride,
                        };
                        (source::INDIRECT_INDEX, Data { indirect_index: data })
                    }
                    (Index::Push { offset }, Index::Push { offset: sampler_push_offset }) => {
                        let data = vk::DescriptorMappingSourcePushIndexEXT {
                            heap_offset: resource.heap_offset,
                            push_offset: offset,
                            heap_index_stride: resource.index_stride,
                            heap_array_stride: resource.array_stride,
                            p_embedded_sampler,
                            use_combined_image_sampler_index,
                            sampler_heap_offset: sampler.heap_offset,
                            sampler_push_offset,
                            sampler_heap_index_stride: sampler.index_stride,
                            sampler_heap_array_stride: sampler.array_stride,
                        };
                        (source::PUSH_INDEX, Data { push_index: data })
                    }
                    // Both indices are always of the same kind.
                    _ => {
                        let data = vk::DescriptorMappingSourceConstantOffsetEXT {
                            heap_offset: resource.heap_offset,
                            heap_array_stride: resource.array_stride,
                            p_embedded_sampler,
                            sampler_heap_offset: sampler.heap_offset,
                            sampler_heap_array_stride: sampler.array_stride,
                        };
                        (source::CONSTANT_OFFSET, Data { constant_offset: data })
                    }
                }
            }
            Self::HeapData { heap_offset, push_offset } => {
                let heap_data = vk::DescriptorMappingSourceHeapDataEXT { heap_offset, push_offset };
                (source::HEAP_DATA, Data { heap_data })
            }
            Self::PushData { offset } => (source::PUSH_DATA, Data { push_data_offset: offset }),
            Self::PushAddress { offset } => {
                (source::PUSH_ADDRESS, Data { push_address_offset: offset })
            }
            Self::IndirectAddress { push_offset, address_offset } => {
                let indirect_address =
                    vk::DescriptorMappingSourceIndirectAddressEXT { push_offset, address_offset };
                (source::INDIRECT_ADDRESS, Data { indirect_address })
            }
            Self::Other(other) => (other, Data { push_data_offset: 0 }),
        }
    }
}

impl Used {
    /// Calls `visit` with each offset at which the mapping reads push data. A uniform buffer in push data is not among
    /// them.
    fn visit_reads(&mut self, mut visit: impl FnMut(Read, &mut u32)) {
        match &mut self.mapping.source {
            Source::Descriptor { resource, sampler, embedded, is_index_combined } => {
                // Without a combined image sampler the sampler's lookup may be anything.
                let has_sampler =
                    self.has_combined_samplers && embedded.is_none() && !*is_index_combined;
                let sampler = has_sampler.then_some(sampler);
                for lookup in std::iter::once(resource).chain(sampler) {
                    match &mut lookup.index {
                        Index::Constant => {}
                        Index::Push { offset } => visit(Read::INDEX, offset),
                        Index::Indirect { push_offset, .. } => visit(Read::POINTER, push_offset),
                    }
                }
            }
            Source::HeapData { push_offset, .. } => visit(Read::HEAP_OFFSET, push_offset),
            Source::PushAddress { offset } => visit(Read::ADDRESS, offset),
            Source::IndirectAddress { push_offset, .. } => visit(Read::POINTER, push_offset),
            Source::PushData { .. } | Source::Other(_) => {}
        }
    }

    /// Changes a mapping that finds an index or an address in push data: it finds them at the same offset from the
    /// address that is at `base` in push data.
    fn make_indirect(&mut self, base: u32) {
        match &mut self.mapping.source {
            Source::Descriptor { resource, sampler, .. } => {
                for lookup in [resource, sampler] {
                    if let Index::Push { offset: address_offset } = lookup.index {
                        lookup.index =
                            Index::Indirect { push_offset: base, address_offset, is_array: false };
                    }
                }
            }
            Source::PushAddress { offset } => {
                let address_offset = *offset;
                self.mapping.source = Source::IndirectAddress { push_offset: base, address_offset };
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

/// Mappings as words, to be part of a shader binary.
impl Mappings {
    /// Serializes the mappings. `None` if an embedded sampler has a structure in its chain for which that is not
    /// implemented: only `VkSamplerReductionModeCreateInfo` may be there.
    pub(super) fn to_words(&self) -> Option<Vec<u32>> {
        let mut words = vec![self.0.len() as u32];
        for mapping in &self.0 {
            let Mapping { set, first_binding, binding_count, resource_mask, source } = mapping;
            words.extend([*set, *first_binding, *binding_count, *resource_mask]);
            source.put(&mut words)?;
        }
        Some(words)
    }

    /// Reads what [`to_words`](Self::to_words) returned. `None` if the words are malformed.
    pub(super) fn from_words(words: &[u32]) -> Option<Self> {
        let mut words = words.iter().copied();
        let count = words.next()?;
        let mut mappings = Vec::new();
        for _ in 0..count {
            mappings.push(Mapping {
                set: words.next()?,
                first_binding: words.next()?,
                binding_count: words.next()?,
                resource_mask: words.next()?,
                source: Source::get(&mut words)?,
            });
        }
        Some(Self(mappings))
    }
}

impl Source {
    const DESCRIPTOR: u32 = 0;
    const HEAP_DATA: u32 = 1;
    const PUSH_DATA: u32 = 2;
    const PUSH_ADDRESS: u32 = 3;
    const INDIRECT_ADDRESS: u32 = 4;
    const OTHER: u32 = 5;

    fn put(&self, words: &mut Vec<u32>) -> Option<()> {
        match *self {
            Self::Descriptor { resource, sampler, ref embedded, is_index_combined } => {
                words.extend([Self::DESCRIPTOR, is_index_combined.into()]);
                resource.put(words);
                sampler.put(words);
                words.push(embedded.is_some().into());
                if let Some(embedded) = embedded {
                    embedded.put(words)?;
                }
            }
            Self::HeapData { heap_offset, push_offset } => {
                words.extend([Self::HEAP_DATA, heap_offset, push_offset]);
            }
            Self::PushData { offset } => words.extend([Self::PUSH_DATA, offset]),
            Self::PushAddress { offset } => words.extend([Self::PUSH_ADDRESS, offset]),
            Self::IndirectAddress { push_offset, address_offset } => {
                words.extend([Self::INDIRECT_ADDRESS, push_offset, address_offset]);
            }
            Self::Other(source) => words.extend([Self::OTHER, source.cast_unsigned()]),
        }
        Some(())
    }

    fn get(words: &mut impl Iterator<Item = u32>) -> Option<Self> {
        Some(match words.next()? {
            Self::DESCRIPTOR => Self::Descriptor {
                is_index_combined: words.next()? != 0,
                resource: Lookup::get(words)?,
                sampler: Lookup::get(words)?,
                embedded: match words.next()? {
                    0 => None,
                    _ => Some(Sampler::get(words)?),
                },
            },
            Self::HEAP_DATA => {
                Self::HeapData { heap_offset: words.next()?, push_offset: words.next()? }
            }
            Self::PUSH_DATA => Self::PushData { offset: words.next()? },
            Self::PUSH_ADDRESS => Self::PushAddress { offset: words.next()? },
            Self::INDIRECT_ADDRESS => {
                Self::IndirectAddress { push_offset: words.next()?, address_offset: words.next()? }
            }
            Self::OTHER => Self::Other(words.next()?.cast_signed()),
            _ => return None,
        })
    }
}

impl Lookup {
    fn put(self, words: &mut Vec<u32>) {
        let Self { heap_offset, index, index_stride, array_stride } = self;
        words.extend([heap_offset, index_stride, array_stride]);
        words.extend(match index {
            Index::Constant => [0, 0, 0],
            Index::Push { offset } => [1, offset, 0],
            Index::Indirect { push_offset, address_offset, is_array: false } => {
                [2, push_offset, address_offset]
            }
            Index::Indirect { push_offset, address_offset, is_array: true } => {
                [3, push_offset, address_offset]
            }
        });
    }

    fn get(words: &mut impl Iterator<Item = u32>) -> Option<Self> {
        let (heap_offset, index_stride, array_stride) =
            (words.next()?, words.next()?, words.next()?);
        let index = match (words.next()?, words.next()?, words.next()?) {
            (0, ..) => Index::Constant,
            (1, offset, _) => Index::Push { offset },
            (kind @ (2 | 3), push_offset, address_offset) => {
                Index::Indirect { push_offset, address_offset, is_array: kind == 3 }
            }
            _ => return None,
        };
        Some(Self { heap_offset, index, index_stride, array_stride })
    }
}

impl Sampler {
    fn put(&self, words: &mut Vec<u32>) -> Option<()> {
        let info = &self.info;
        words.extend([
            info.flags.as_raw(),
            info.mag_filter.as_raw().cast_unsigned(),
            info.min_filter.as_raw().cast_unsigned(),
            info.mipmap_mode.as_raw().cast_unsigned(),
            info.address_mode_u.as_raw().cast_unsigned(),
            info.address_mode_v.as_raw().cast_unsigned(),
            info.address_mode_w.as_raw().cast_unsigned(),
            info.mip_lod_bias.to_bits(),
            info.anisotropy_enable,
            info.max_anisotropy.to_bits(),
            info.compare_enable,
            info.compare_op.as_raw().cast_unsigned(),
            info.min_lod.to_bits(),
            info.max_lod.to_bits(),
            info.border_color.as_raw().cast_unsigned(),
            info.unnormalized_coordinates,
        ]);
        // SAFETY: the chain is a valid copy.
        let (mut all, mut modes) = unsafe {
            let modes = all_of::<vk::SamplerReductionModeCreateInfo<'_>>(info.p_next);
            (structures(info.p_next), modes)
        };
        let mode = modes.next();
        words.push(mode.is_some().into());
        words.extend(mode.map(|mode| mode.reduction_mode.as_raw().cast_unsigned()));
        (all.by_ref().count() == usize::from(mode.is_some())).then_some(())
    }

    fn get(words: &mut impl Iterator<Item = u32>) -> Option<Arc<Self>> {
        let info = vk::SamplerCreateInfo::default()
            .flags(vk::SamplerCreateFlags::from_raw(words.next()?))
            .mag_filter(vk::Filter::from_raw(words.next()?.cast_signed()))
            .min_filter(vk::Filter::from_raw(words.next()?.cast_signed()))
            .mipmap_mode(vk::SamplerMipmapMode::from_raw(words.next()?.cast_signed()))
            .address_mode_u(vk::SamplerAddressMode::from_raw(words.next()?.cast_signed()))
            .address_mode_v(vk::SamplerAddressMode::from_raw(words.next()?.cast_signed()))
            .address_mode_w(vk::SamplerAddressMode::from_raw(words.next()?.cast_signed()))
            .mip_lod_bias(f32::from_bits(words.next()?))
            .anisotropy_enable(words.next()? != 0)
            .max_anisotropy(f32::from_bits(words.next()?))
            .compare_enable(words.next()? != 0)
            .compare_op(vk::CompareOp::from_raw(words.next()?.cast_signed()))
            .min_lod(f32::from_bits(words.next()?))
            .max_lod(f32::from_bits(words.next()?))
            .border_color(vk::BorderColor::from_raw(words.next()?.cast_signed()))
            .unnormalized_coordinates(words.next()? != 0);
        // SAFETY: an empty chain is valid.
        let mut chain = unsafe { Chain::copy(std::ptr::null()) };
        if words.next()? != 0 {
            let mode = vk::SamplerReductionMode::from_raw(words.next()?.cast_signed());
            chain.push(&vk::SamplerReductionModeCreateInfo::default().reduction_mode(mode));
        }
        let info = vk::SamplerCreateInfo { p_next: chain.link(), ..info };
        Some(Arc::new(Self { info, _chain: chain }))
    }
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

// SAFETY: the structure belongs to the chain of a stage, and it and all that it points to are members of the value, on the
// heap.
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

/// The mappings of a captured stage, and the descriptors that it uses.
pub(super) struct MappedStage<'a> {
    pub(super) mappings: &'a Mappings,
    pub(super) uses: &'a [DescriptorUse],
    /// What is added to the numbers of descriptor sets in the module of the stage, so that the sets of different stages
    /// have different numbers in the module that captures.
    pub(super) first_set: u32,
}

/// Returns what the compute pipeline that captures these stages needs, on a device with this `maxPushDataSize`.
///
/// # Errors
/// [`MappingError`]
pub(super) fn interface(
    stages: &[MappedStage<'_>],
    max_push_data: u32,
) -> Result<HeapInterface, MappingError> {
    let mut used = Vec::new();
    for MappedStage { mappings, uses, first_set } in stages {
        for mut mapping in mappings.used(uses) {
            mapping.mapping.set += first_set;
            // The stages that have the same mappings and the same sets use them together.
            let same = used.iter_mut().find(|used: &&mut Used| used.mapping == mapping.mapping);
            match same {
                Some(same) => same.has_combined_samplers |= mapping.has_combined_samplers,
                None => used.push(mapping),
            }
        }
    }
    if let Some(other) = used.iter().find_map(|used| match used.mapping.source {
        Source::Other(other) => Some(other),
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
            if let Source::PushData { offset } = used.mapping.source {
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
            if let Source::PushData { offset } = used.mapping.source
                && let Some(address) = self.addresses.iter().find(|address| address.of == offset)
            {
                used.mapping.source = Source::PushAddress { offset: address.to };
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
pub(super) fn with_sets_from(words: &[u32], first: u32) -> Vec<u32> {
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
