use proptest::prelude::*;
use vkxfb::runtime::descriptor_heaps::{CopyAddress, HeapInterface, MovedData};

use super::*;

const PUSH_DATA: u32 = 256;
/// The address of the copy of push data.
const COPY: u64 = 0x1234_5678_0000;

fn sampler() -> Arc<Sampler> {
    let info = vk::SamplerCreateInfo::default().max_lod(0.5).compare_op(vk::CompareOp::ALWAYS);
    let mode =
        vk::SamplerReductionModeCreateInfo::default().reduction_mode(vk::SamplerReductionMode::MAX);
    let info = vk::SamplerCreateInfo { p_next: (&raw const mode).cast(), ..info };
    // SAFETY: the structures are valid.
    unsafe { Sampler::copied(&raw const info) }.unwrap()
}

/// A lookup with those members that a source with this index has.
fn lookup(index: Index, push_offset: u32, address_offset: u32) -> Lookup {
    let (heap_offset, index_stride, array_stride) = (64, 32, 16);
    match index {
        Index::Constant => Lookup { heap_offset, array_stride, ..Lookup::default() },
        Index::Push => {
            Lookup { heap_offset, push_offset, index_stride, array_stride, address_offset: 0 }
        }
        Index::Indirect => {
            Lookup { heap_offset, push_offset, address_offset, index_stride, array_stride }
        }
        Index::IndirectArray => {
            Lookup { heap_offset, push_offset, address_offset, index_stride, array_stride: 0 }
        }
    }
}

/// Sources that read push data at any place.
fn any_source() -> impl Strategy<Value = MappingSource> {
    let narrow = (0..PUSH_DATA / 4).prop_map(|dword| 4 * dword);
    let wide = (0..PUSH_DATA / 8).prop_map(|qword| 8 * qword);
    let descriptor = |index, [resource, sampler]: [u32; 2], address, is_index_combined| {
        let lookup = |push_offset| lookup(index, push_offset, address);
        let (resource, sampler) = (lookup(resource), lookup(sampler));
        MappingSource::Descriptor { index, resource, sampler, embedded: None, is_index_combined }
    };
    prop_oneof![
        Just(descriptor(Index::Constant, [0; 2], 0, false)),
        ([narrow.clone(), narrow.clone()], any::<bool>())
            .prop_map(move |(offsets, combined)| descriptor(Index::Push, offsets, 0, combined)),
        ([wide.clone(), wide.clone()], 0..8_u32, any::<bool>()).prop_map(
            move |(offsets, dword, is_array)| {
                let index = if is_array { Index::IndirectArray } else { Index::Indirect };
                descriptor(index, offsets, 4 * dword, false)
            }
        ),
        narrow
            .clone()
            .prop_map(|push_offset| MappingSource::HeapData { heap_offset: 256, push_offset }),
        narrow.prop_map(|offset| MappingSource::PushData { offset }),
        wide.clone().prop_map(|offset| MappingSource::PushAddress { offset }),
        wide.prop_map(|push_offset| MappingSource::IndirectAddress {
            push_offset,
            address_offset: 24
        }),
    ]
}

/// What a mapping finds: heap offsets, and the values of indices and addresses. Memory is push data at [`COPY`], and
/// otherwise contains addresses plus one.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Index(u64),
    /// The memory of a buffer.
    Buffer(u64),
    /// A uniform buffer, with these contents.
    Contents(Vec<u8>),
}

struct Machine<'a> {
    /// The program's push data.
    program: &'a [u8],
    /// Push data as the shader sees it.
    pushed: &'a [u8],
}

fn number(bytes: &[u8], at: u64, size: usize) -> u64 {
    let mut number = [0; 8];
    number[..size].copy_from_slice(&bytes[at as usize..at as usize + size]);
    u64::from_le_bytes(number)
}

impl Machine<'_> {
    fn push(&self, offset: u32, size: usize) -> u64 {
        number(self.pushed, offset.into(), size)
    }

    fn memory(&self, address: u64, size: usize) -> u64 {
        match address.checked_sub(COPY).filter(|at| *at < PUSH_DATA.into()) {
            Some(at) => number(self.program, at, size),
            None => address.wrapping_add(1) & (u64::MAX >> (64 - 8 * size)),
        }
    }

    fn index(&self, index: Index, lookup: &Lookup) -> Found {
        let Lookup { push_offset, address_offset, .. } = *lookup;
        Found::Index(match index {
            Index::Constant => 0,
            Index::Push => self.push(push_offset, 4),
            Index::Indirect | Index::IndirectArray => {
                self.memory(self.push(push_offset, 8).wrapping_add(address_offset.into()), 4)
            }
        })
    }

    fn find(&self, source: &MappingSource) -> Vec<Found> {
        match source {
            MappingSource::Descriptor { index, resource, sampler, is_index_combined, .. } => {
                let sampler = (!is_index_combined).then(|| self.index(*index, sampler));
                std::iter::once(self.index(*index, resource)).chain(sampler).collect()
            }
            MappingSource::HeapData { push_offset, .. } => {
                vec![Found::Index(self.push(*push_offset, 4))]
            }
            MappingSource::PushData { offset } => {
                vec![Found::Contents(self.pushed[*offset as usize..].to_vec())]
            }
            MappingSource::PushAddress { offset } => vec![self.buffer(self.push(*offset, 8))],
            MappingSource::IndirectAddress { push_offset, address_offset } => {
                let at = self.push(*push_offset, 8).wrapping_add((*address_offset).into());
                vec![self.buffer(self.memory(at, 8))]
            }
            MappingSource::Other(_) => Vec::new(),
        }
    }

    fn buffer(&self, address: u64) -> Found {
        match address.checked_sub(COPY).filter(|at| *at < PUSH_DATA.into()) {
            Some(at) => Found::Contents(self.program[at as usize..].to_vec()),
            None => Found::Buffer(address),
        }
    }
}

fn mappings(sources: Vec<MappingSource>) -> Mappings {
    let mapping = |(number, source)| Mapping {
        set: 3,
        first_binding: number,
        binding_count: 1,
        resource_mask: 0x7fff_ffff,
        source,
    };
    Mappings((0..).zip(sources).map(mapping).collect())
}

/// Returns what a capture with these mappings needs, in a shader that uses all of them.
fn captured(mappings: &Mappings) -> Result<HeapInterface, MappingError> {
    let used = mappings.0.iter().map(|mapping| UsedBinding {
        set: mapping.set,
        binding: mapping.first_binding,
        is_combined: true,
    });
    let uses: Vec<UsedBinding> = used.collect();
    interface(&[MappedStage { mappings, uses: &uses, first_set: 0 }], PUSH_DATA)
}

proptest! {
    #[test]
    fn captures_find_what_shaders_find(
        sources in proptest::collection::vec(any_source(), 0..24),
        program in proptest::collection::vec(any::<u8>(), PUSH_DATA as usize),
    ) {
        let before = mappings(sources);
        let interface = match captured(&before) {
            Ok(interface) => interface,
            Err(error) => {
                // What cannot be read in memory has to fit beside the parameters and the addresses of copies.
                let is_too_much = matches!(error, MappingError::PushData { needed: 129.., .. });
                prop_assert!(is_too_much);
                prop_assert!(before.0.len() > 10);
                return Ok(());
            }
        };
        // SAFETY: the structures live as long as the interface.
        let after = unsafe { Mappings::of_chain(interface.mappings.as_ptr()) };
        let mut pushed = vec![0xaa; PUSH_DATA as usize];
        let mut taken = [false; PUSH_DATA as usize];
        let mut put = |to: u32, bytes: &[u8]| {
            let place = to as usize..to as usize + bytes.len();
            assert!(to >= HeapInterface::FIRST && to.is_multiple_of(bytes.len() as u32));
            assert!(taken[place.clone()].iter().all(|taken| !taken));
            taken[place.clone()].fill(true);
            pushed[place].copy_from_slice(bytes);
        };
        for MovedData { from, to, size } in &interface.moved {
            put(*to, &program[*from as usize..(from + size) as usize]);
        }
        for CopyAddress { of, to } in &interface.addresses {
            put(*to, &(COPY + u64::from(*of)).to_le_bytes());
        }
        let expected = Machine { program: &program, pushed: &program };
        let found = Machine { program: &program, pushed: &pushed };
        prop_assert_eq!(after.0.len(), before.0.len());
        for (before, after) in before.0.iter().zip(&after.0) {
            prop_assert_eq!((before.set, before.first_binding), (after.set, after.first_binding));
            prop_assert_eq!(expected.find(&before.source), found.find(&after.source));
        }
    }

    #[test]
    fn binaries_contain_mappings(sources in proptest::collection::vec(any_source(), 0..9)) {
        let all = mappings(sources);
        let mut words = all.to_words().unwrap();
        prop_assert_eq!(Mappings::from_words(&words), Some(all));
        // A binary that is cut off is not one.
        prop_assert_eq!(words.pop().and_then(|_| Mappings::from_words(&words)), None);
    }
}

#[test]
fn embedded_samplers_are_copied() {
    let index = Index::Push;
    let embedded = MappingSource::Descriptor {
        index,
        resource: lookup(index, 4, 0),
        sampler: lookup(index, 4, 0),
        embedded: Some(sampler()),
        is_index_combined: false,
    };
    let read = Mappings::from_words(&mappings(vec![embedded]).to_words().unwrap()).unwrap();
    let interface = captured(&read).unwrap();
    // Without the sampler in push data there is one index.
    assert_eq!(interface.moved.len(), 1);
    // SAFETY: the structures live as long as the interface.
    let copied = unsafe { Mappings::of_chain(interface.mappings.as_ptr()) };
    let MappingSource::Descriptor { embedded: Some(copied), .. } = &copied.0[0].source else {
        panic!("no embedded sampler")
    };
    assert_eq!((copied.info.max_lod, copied.info.compare_op), (0.5, vk::CompareOp::ALWAYS));
    // SAFETY: the chain is valid.
    let mode = unsafe { all_of::<vk::SamplerReductionModeCreateInfo<'_>>(copied.info.p_next) };
    assert_eq!(mode.map(|mode| mode.reduction_mode).next(), Some(vk::SamplerReductionMode::MAX));
}

#[test]
fn sources_of_other_pipelines_are_refused() {
    let all = mappings(vec![MappingSource::Other(9)]);
    assert_eq!(captured(&all).unwrap_err(), MappingError::Source(9));
}
