//! Mappings as words, which are part of the layer's shader binaries.

use std::sync::Arc;

use super::{Index, Lookup, Mapping, MappingSource, Mappings, Sampler};
use crate::chain::copy::Chain;
use crate::chain::{all_of, structures};
use crate::registry::vk;

impl Mappings {
    /// Serializes the mappings. `None` if an embedded sampler has a structure in its chain for which that is not
    /// implemented: only `VkSamplerReductionModeCreateInfo` may be there.
    pub(in crate::emulation) fn to_words(&self) -> Option<Vec<u32>> {
        let mut words = vec![self.0.len() as u32];
        for mapping in &self.0 {
            let Mapping { set, first_binding, binding_count, resource_mask, source } = mapping;
            words.extend([*set, *first_binding, *binding_count, *resource_mask]);
            source.put(&mut words)?;
        }
        Some(words)
    }

    /// Reads what [`to_words`](Self::to_words) returned. `None` if the words are malformed.
    pub(in crate::emulation) fn from_words(words: &[u32]) -> Option<Self> {
        let mut words = words.iter().copied();
        let count = words.next()?;
        let mut mappings = Vec::new();
        for _ in 0..count {
            mappings.push(Mapping {
                set: words.next()?,
                first_binding: words.next()?,
                binding_count: words.next()?,
                resource_mask: words.next()?,
                source: MappingSource::get(&mut words)?,
            });
        }
        Some(Self(mappings))
    }
}

impl MappingSource {
    const DESCRIPTOR: u32 = 0;
    const HEAP_DATA: u32 = 1;
    const PUSH_DATA: u32 = 2;
    const PUSH_ADDRESS: u32 = 3;
    const INDIRECT_ADDRESS: u32 = 4;
    const OTHER: u32 = 5;

    fn put(&self, words: &mut Vec<u32>) -> Option<()> {
        match *self {
            Self::Descriptor { index, resource, sampler, ref embedded, is_index_combined } => {
                words.extend([Self::DESCRIPTOR, index as u32, is_index_combined.into()]);
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
                index: Index::get(words)?,
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

impl Index {
    const ALL: [Self; 4] = [Self::Constant, Self::Push, Self::Indirect, Self::IndirectArray];

    fn get(words: &mut impl Iterator<Item = u32>) -> Option<Self> {
        let word = words.next()?;
        Self::ALL.into_iter().find(|index| *index as u32 == word)
    }
}

impl Lookup {
    fn put(self, words: &mut Vec<u32>) {
        let Self { heap_offset, push_offset, address_offset, index_stride, array_stride } = self;
        words.extend([heap_offset, push_offset, address_offset, index_stride, array_stride]);
    }

    fn get(words: &mut impl Iterator<Item = u32>) -> Option<Self> {
        Some(Self {
            heap_offset: words.next()?,
            push_offset: words.next()?,
            address_offset: words.next()?,
            index_stride: words.next()?,
            array_stride: words.next()?,
        })
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
