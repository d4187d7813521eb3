use ash::vk::Handle;

use super::super::layouts;
use super::super::state::State;
use super::*;
use crate::withheld::Templates;

const UNIFORM: vk::DescriptorType = vk::DescriptorType::UNIFORM_BUFFER;
const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const TEXEL: vk::DescriptorType = vk::DescriptorType::UNIFORM_TEXEL_BUFFER;
const SAMPLER: vk::DescriptorType = vk::DescriptorType::SAMPLER;
const STRUCTURE: vk::DescriptorType = vk::DescriptorType::ACCELERATION_STRUCTURE_KHR;

fn binding(number: u32, ty: vk::DescriptorType, count: u32) -> Binding {
    Binding { number, ty, count, has_immutable_samplers: false }
}

/// Returns the bindings of a set: a uniform buffer, two storage buffers, a binding without descriptors, a third storage
/// buffer, and one binding of each other kind.
fn bindings() -> [Binding; 7] {
    [
        binding(0, UNIFORM, 1),
        binding(1, STORAGE, 2),
        binding(2, STORAGE, 0),
        binding(5, STORAGE, 1),
        binding(6, TEXEL, 1),
        binding(7, SAMPLER, 1),
        binding(8, STRUCTURE, 2),
    ]
}

fn buffer(number: u64) -> vk::DescriptorBufferInfo {
    let buffer = vk::Buffer::from_raw(number);
    vk::DescriptorBufferInfo { buffer, offset: 0, range: vk::WHOLE_SIZE }
}

/// Returns (binding, element, handle) of each pushed descriptor.
fn found(pushed: &[Pushed]) -> Vec<(u32, u32, u64)> {
    let handle = |value: &DescriptorValue| match value {
        DescriptorValue::Buffer(info) => info.buffer.as_raw(),
        DescriptorValue::Image(info) => info.sampler.as_raw(),
        DescriptorValue::TexelBuffer(view) => view.as_raw(),
        DescriptorValue::AccelerationStructure(structure) => structure.as_raw(),
    };
    pushed.iter().map(|p| (p.binding, p.element, handle(&p.value))).collect()
}

fn layout(bindings: &[Binding]) -> Arc<SetLayout> {
    layouts::tests::layout(bindings, Default::default())
}

#[test]
fn writes_go_on_in_the_next_binding() {
    let infos = [11, 12].map(buffer);
    let write = vk::WriteDescriptorSet::default()
        .dst_binding(1)
        .dst_array_element(1)
        .descriptor_type(STORAGE)
        .buffer_info(&infos);
    // SAFETY: the structures are valid.
    unsafe {
        assert_eq!(found(&of_write(&write, &bindings())), [(1, 1, 11), (5, 0, 12)]);
        // The element after the last one of a binding is the first element of the next binding.
        let write = write.dst_array_element(2).buffer_info(&infos[..1]);
        assert_eq!(found(&of_write(&write, &bindings())), [(5, 0, 11)]);
        // A binding that the set does not have is ignored.
        let write = write.dst_binding(9);
        assert_eq!(found(&of_write(&write, &bindings())), []);
    }
}

#[test]
fn writes_are_read_by_their_types() {
    let views = [vk::BufferView::from_raw(21)];
    let images = [vk::DescriptorImageInfo::default().sampler(vk::Sampler::from_raw(22))];
    let structures = [23, 24].map(vk::AccelerationStructureKHR::from_raw);
    let mut chained = vk::WriteDescriptorSetAccelerationStructureKHR::default()
        .acceleration_structures(&structures);
    // Pointers that the descriptor type does not use may have any value.
    let anything = std::ptr::dangling();
    let mut texel = vk::WriteDescriptorSet::default()
        .dst_binding(6)
        .descriptor_type(TEXEL)
        .texel_buffer_view(&views);
    texel.p_buffer_info = anything;
    let mut sampler = vk::WriteDescriptorSet::default()
        .dst_binding(7)
        .descriptor_type(SAMPLER)
        .image_info(&images);
    sampler.p_buffer_info = anything;
    let mut structure = vk::WriteDescriptorSet::default()
        .dst_binding(8)
        .descriptor_type(STRUCTURE)
        .descriptor_count(2)
        .push_next(&mut chained);
    structure.p_buffer_info = anything;
    let inline = vk::WriteDescriptorSet {
        descriptor_type: vk::DescriptorType::INLINE_UNIFORM_BLOCK,
        descriptor_count: 16,
        ..structure
    };
    // SAFETY: the structures are valid.
    unsafe {
        assert_eq!(found(&of_write(&texel, &bindings())), [(6, 0, 21)]);
        assert_eq!(found(&of_write(&sampler, &bindings())), [(7, 0, 22)]);
        assert_eq!(found(&of_write(&structure, &bindings())), [(8, 0, 23), (8, 1, 24)]);
        assert_eq!(found(&of_write(&inline, &bindings())), []);
    }
}

#[test]
fn templates_are_read_with_their_offsets_and_strides() {
    #[repr(C, packed)]
    struct Data {
        /// Makes the data that follows unaligned, because Vulkan does not require an alignment.
        odd: u8,
        view: u64,
        first: vk::DescriptorBufferInfo,
        between: u32,
        second: vk::DescriptorBufferInfo,
        structure: u64,
    }
    let data = Data {
        odd: 0xff,
        view: 31,
        first: buffer(32),
        between: u32::MAX,
        second: buffer(33),
        structure: 34,
    };
    let entry = |dst_binding, dst_array_element, count, ty, offset, stride| {
        vk::DescriptorUpdateTemplateEntry {
            dst_binding,
            dst_array_element,
            descriptor_count: count,
            descriptor_type: ty,
            offset,
            stride,
        }
    };
    let stride = std::mem::offset_of!(Data, second) - std::mem::offset_of!(Data, first);
    let entries = [
        entry(6, 0, 1, TEXEL, std::mem::offset_of!(Data, view), 0),
        entry(1, 1, 2, STORAGE, std::mem::offset_of!(Data, first), stride),
        entry(8, 1, 1, STRUCTURE, std::mem::offset_of!(Data, structure), 8),
        entry(8, 0, 0, STRUCTURE, usize::MAX, usize::MAX),
    ];
    let info = vk::DescriptorUpdateTemplateCreateInfo::default()
        .descriptor_update_entries(&entries)
        .pipeline_bind_point(vk::PipelineBindPoint::COMPUTE);
    let (templates, handle) = (Templates::default(), vk::DescriptorUpdateTemplate::from_raw(1));
    // SAFETY: the structures are valid, and `data` contains everything that the template reads.
    let pushed = unsafe {
        templates.created(handle, &info);
        let template = templates.get(handle).unwrap();
        assert_eq!(template.bind_point, vk::PipelineBindPoint::COMPUTE);
        of_template(&template, (&raw const data).cast(), &bindings())
    };
    assert_eq!(found(&pushed), [(6, 0, 31), (1, 1, 32), (5, 0, 33), (8, 1, 34)]);
    templates.destroyed(handle);
    assert!(templates.get(handle).is_none());
}

fn storage(binding: u32, element: u32, number: u64) -> Pushed {
    Pushed { binding, element, ty: STORAGE, value: DescriptorValue::Buffer(buffer(number)) }
}

#[test]
fn pushes_are_merged_by_binding_and_element() {
    let mut sets = PushedSets::default();
    let layouts = [layout(&bindings()), layout(&bindings()), layout(&bindings()[..2])];
    let mut push = |layout: &Arc<SetLayout>, pushed: &[Pushed]| {
        sets.push(3, vk::PipelineLayout::null(), layout, 1, pushed.iter().copied());
        if let Some(set) = sets.0.get_mut(&3) {
            assert_eq!(set.written, vk::DescriptorSet::null());
            set.written = vk::DescriptorSet::from_raw(1);
        }
        found(&sets.get(3).unwrap().descriptors)
    };
    let merged = push(&layouts[0], &[storage(5, 0, 1), storage(1, 0, 2)]);
    assert_eq!(merged, [(1, 0, 2), (5, 0, 1)]);
    let merged = push(&layouts[0], &[storage(1, 1, 3), storage(1, 0, 4), storage(1, 0, 5)]);
    assert_eq!(merged, [(1, 0, 5), (1, 1, 3), (5, 0, 1)]);
    // A layout with the same definition counts as the same layout, so the other descriptors are
    // kept.
    assert_eq!(push(&layouts[1], &[storage(5, 0, 6)]), [(1, 0, 5), (1, 1, 3), (5, 0, 6)]);
    assert_eq!(push(&layouts[2], &[storage(1, 0, 7)]), [(1, 0, 7)]);
}

#[test]
fn descriptors_are_written_as_they_were_pushed() {
    let structure = |element, number| {
        let value =
            DescriptorValue::AccelerationStructure(vk::AccelerationStructureKHR::from_raw(number));
        Pushed { binding: 8, element, ty: STRUCTURE, value }
    };
    let view = DescriptorValue::TexelBuffer(vk::BufferView::from_raw(43));
    let pushed = [
        storage(1, 0, 41),
        storage(1, 1, 42),
        Pushed { binding: 6, element: 0, ty: TEXEL, value: view },
        structure(0, 44),
        structure(1, 45),
    ];
    let set = vk::DescriptorSet::from_raw(46);
    with_writes(&pushed, set, |writes| {
        // SAFETY: the structures are valid.
        let read = |write| unsafe { of_write(write, &bindings()) };
        let read: Vec<_> = writes.iter().flat_map(read).collect();
        assert_eq!(found(&read), found(&pushed));
        let counts: Vec<_> =
            writes.iter().map(|w| (w.descriptor_count, w.p_next.is_null())).collect();
        assert_eq!(counts, [(2, true), (1, true), (2, false)]);
        assert!(writes.iter().all(|write| write.dst_set == set));
    });
    // Without a descriptor at array element 0, the write begins at the first element that was pushed.
    with_writes(&[storage(1, 1, 40)], set, |writes| {
        assert_eq!((writes[0].dst_binding, writes[0].dst_array_element), (1, 1));
    });
}

#[test]
fn a_set_that_is_bound_ends_what_was_pushed() {
    let (point, layout) = (vk::PipelineBindPoint::GRAPHICS, layout(&bindings()));
    let none = vk::PipelineLayout::null();
    let mut state = State::default();
    let pushed = |state: &State| state.sets.pushed(0).map(|set| found(&set.descriptors));
    state.push_descriptors(point, none, 0, &layout, [storage(1, 0, 1)].into_iter());
    assert_eq!(pushed(&state), Some(vec![(1, 0, 1)]));
    // Binding a set at another number, or at the other bind point, does not affect the pushed set.
    let set = vk::DescriptorSet::from_raw(2);
    state.bind_set(point, none, 1, set, &[]);
    state.bind_set(vk::PipelineBindPoint::COMPUTE, none, 0, set, &[]);
    assert_eq!(pushed(&state), Some(vec![(1, 0, 1)]));
    state.bind_set(point, none, 0, set, &[]);
    assert_eq!(pushed(&state), None);
    state.push_descriptors(point, none, 0, &layout, [storage(1, 1, 3)].into_iter());
    assert_eq!(pushed(&state), Some(vec![(1, 1, 3)]));
}
