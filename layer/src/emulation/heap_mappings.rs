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
    source: MappingSource,
}

/// What a mapping maps to: a `VkDescriptorMappingSourceEXT` with its `VkDescriptorMappingSourceDataEXT`.
#[derive(Debug, Clone, PartialEq)]
enum MappingSource {
    /// A descriptor in a heap. Of a combined image sampler, the image is at `resource` and the sampler at `sampler`.
    Descriptor {
        index: Index,
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

/// Where the index of a descriptor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Index {
    /// There is none: the descriptor is at a constant offset.
    Constant,
    /// In push data, at [`Lookup::push_offset`].
    Push,
    /// In memory, at [`Lookup::address_offset`] from the address that is in push data at [`Lookup::push_offset`].
    Indirect,
    /// As `Indirect`, but there is an index for each binding and for each element of an array.
    IndirectArray,
}

/// Where in a heap a descriptor is, in bytes. The [`Index`] says which members have a meaning; the others are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Lookup {
    heap_offset: u32,
    push_offset: u32,
    address_offset: u32,
    index_stride: u32,
    array_stride: u32,
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
        let source = unsafe { MappingSource::copied(mapping.source, &mapping.source_data) };
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

impl MappingSource {
    /// # Safety
    /// The member of the union that belongs to the source is valid.
    unsafe fn copied(
        source: vk::DescriptorMappingSourceEXT,
        data: &vk::DescriptorMappingSourceDataEXT,
    ) -> Self {
        unsafe {
            match source {
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
                other => Self::descriptor(other, data).unwrap_or(Self::Other(other)),
            }
        }
    }

    fn to_vulkan(&self) -> (vk::DescriptorMappingSourceEXT, vk::DescriptorMappingSourceDataEXT) {
        use vk::DescriptorMappingSourceDataEXT as Data;
        match *self {
            Self::Descriptor { index, resource, sampler, ref embedded, is_index_combined } => {
                let embedded = embedded.as_ref();
                let embedded =
                    embedded.map_or(std::ptr::null(), |embedded| &raw const embedded.info);
                Self::descriptor_to_vulkan(index, resource, sampler, embedded, is_index_combined)
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

/// Writes the conversions between [`MappingSource::Descriptor`] and Vulkan's sources that map to a descriptor. A row begins with
/// the [`Index`], the source, the member of the union that belongs to the source, and the type of that member. In braces it has,
/// for each member of a [`Lookup`] (behind the colon), the fields of that type that contain it: the first for the resource, the
/// second for the sampler. In brackets is the field that says whether both share an index, if the type has one.
macro_rules! descriptor_sources {
    ($($index:ident: $source:ident, $member:ident, $structure:ident {
        $($resource:ident, $sampler:ident: $lookup:ident;)+
    } [$($combined:ident)?])+) => {
        impl MappingSource {
            /// `None` for a source that maps to something else.
            ///
            /// # Safety
            /// The member of the union that belongs to the source is valid.
            #[allow(clippy::needless_update, reason = "one of the sources has all members of a lookup")]
            unsafe fn descriptor(
                source: vk::DescriptorMappingSourceEXT,
                data: &vk::DescriptorMappingSourceDataEXT,
            ) -> Option<Self> {
                unsafe {
                    Some(match source {
                        $(source::$source => {
                            let data = data.$member;
                            Self::Descriptor {
                                index: Index::$index,
                                resource: Lookup { $($lookup: data.$resource,)+ ..Lookup::default() },
                                sampler: Lookup { $($lookup: data.$sampler,)+ ..Lookup::default() },
                                embedded: Sampler::copied(data.p_embedded_sampler),
                                is_index_combined: false $(| (data.$combined == vk::TRUE))?,
                            }
                        })+
                        _ => return None,
                    })
                }
            }

            fn descriptor_to_vulkan(
                index: Index,
                resource: Lookup,
                sampler: Lookup,
                p_embedded_sampler: *const vk::SamplerCreateInfo<'static>,
                is_index_combined: bool,
            ) -> (vk::DescriptorMappingSourceEXT, vk::DescriptorMappingSourceDataEXT) {
                match index {
                    $(Index::$index => {
                        let data = vk::$structure {
                            $($resource: resource.$lookup, $sampler: sampler.$lookup,)+
                            p_embedded_sampler,
                            $($combined: is_index_combined.into(),)?
                        };
                        (source::$source, vk::DescriptorMappingSourceDataEXT { $member: data })
                    })+
                }
            }
        }
    };
}

descriptor_sources! {
    Constant: CONSTANT_OFFSET, constant_offset, DescriptorMappingSourceConstantOffsetEXT {
        heap_offset, sampler_heap_offset: heap_offset;
        heap_array_stride, sampler_heap_array_stride: array_stride;
    } []
    Push: PUSH_INDEX, push_index, DescriptorMappingSourcePushIndexEXT {
        heap_offset, sampler_heap_offset: heap_offset;
        push_offset, sampler_push_offset: push_offset;
        heap_index_stride, sampler_heap_index_stride: index_stride;
        heap_array_stride, sampler_heap_array_stride: array_stride;
    } [use_combined_image_sampler_index]
    Indirect: INDIRECT_INDEX, indirect_index, DescriptorMappingSourceIndirectIndexEXT {
        heap_offset, sampler_heap_offset: heap_offset;
        push_offset, sampler_push_offset: push_offset;
        address_offset, sampler_address_offset: address_offset;
        heap_index_stride, sampler_heap_index_stride: index_stride;
        heap_array_stride, sampler_heap_array_stride: array_stride;
    } [use_combined_image_sampler_index]
    IndirectArray: INDIRECT_INDEX_ARRAY, indirect_index_array, DescriptorMappingSourceIndirectIndexArrayEXT {
        heap_offset, sampler_heap_offset: heap_offset;
        push_offset, sampler_push_offset: push_offset;
        address_offset, sampler_address_offset: address_offset;
        heap_index_stride, sampler_heap_index_stride: index_stride;
    } [use_combined_image_sampler_index]
}
