//! Mappings of descriptors to descriptor heaps (`VK_EXT_descriptor_heap`): those of a program's shaders, and those of
//! the compute pipelines that capture in their place.
//!
//! A mapping may read push data, at an offset in bytes.

mod capture;
#[cfg(test)]
mod tests;
mod words;

use std::ffi::c_void;
use std::sync::Arc;

pub(super) use self::capture::{MappedStage, UsedBinding, interface, with_sets_from};
use crate::chain::copy::Chain;
use crate::chain::{all_of, slice};
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
