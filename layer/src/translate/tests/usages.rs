//! Tests the translation of buffers, memory and their chains.

use std::ffi::c_void;

use ash::vk;
use ash::vk::Handle;
use proptest::prelude::*;

use super::super::memory::Arena;
use super::super::usages::{Usages, set_layout};
use crate::chain::structures;

const ADDRESSES: Usages = Usages { addresses: true, descriptors: false, results: false };
const DESCRIPTORS: Usages = Usages { addresses: false, descriptors: true, results: true };
const BOTH: Usages = Usages { addresses: true, descriptors: true, results: true };

fn types(chain: *const c_void) -> Vec<vk::StructureType> {
    unsafe { structures(chain).map(|structure| structure.as_ref().s_type).collect() }
}

proptest! {
    #[test]
    fn buffers(bits in any::<u64>()) {
        use vk::BufferUsageFlags as Usage;
        let xfb = Usage::TRANSFORM_FEEDBACK_BUFFER_EXT | Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT;
        let old = Usage::from_raw(bits as u32);
        for usages in [ADDRESSES, DESCRIPTORS, BOTH] {
            let new = usages.buffer(old);
            prop_assert!(!new.intersects(xfb));
            prop_assert!(new.contains(old & !xfb));
            prop_assert_eq!(usages.buffer(new), new);
            prop_assert_eq!(new.is_empty(), old.is_empty());
            let wide = usages.buffer2(vk::BufferUsageFlags2KHR::from_raw(bits)).as_raw();
            prop_assert_eq!(wide as u32, new.as_raw());
            prop_assert_eq!(wide >> 32, bits >> 32);
        }
    }
}

#[test]
fn buffers_get_what_captures_need() {
    use vk::BufferUsageFlags as Usage;
    for reached in [
        Usage::VERTEX_BUFFER,
        Usage::INDEX_BUFFER,
        Usage::INDIRECT_BUFFER,
        Usage::CONDITIONAL_RENDERING_EXT,
    ] {
        assert_eq!(ADDRESSES.buffer(reached), reached | Usage::SHADER_DEVICE_ADDRESS);
        assert_eq!(DESCRIPTORS.buffer(reached), reached | Usage::STORAGE_BUFFER);
        let both = Usage::SHADER_DEVICE_ADDRESS | Usage::STORAGE_BUFFER;
        assert_eq!(BOTH.buffer(reached), reached | both);
    }
    let counters = Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT;
    assert_eq!(ADDRESSES.buffer(counters), Usage::SHADER_DEVICE_ADDRESS);
    let copied = Usage::TRANSFER_DST;
    assert_eq!(ADDRESSES.buffer(copied), copied);
    assert_eq!(DESCRIPTORS.buffer(copied), copied | Usage::STORAGE_BUFFER);
    let none = Usage::UNIFORM_BUFFER | Usage::TRANSFER_SRC;
    assert_eq!(DESCRIPTORS.buffer(none), none);
}

/// In the new chain, the structures before the replaced one are copies, without those of unknown types. Those after it are
/// the program's own.
#[test]
fn chains_are_copied() {
    use vk::BufferUsageFlags2KHR as Usage;
    let last = vk::BufferOpaqueCaptureAddressCreateInfo::default().opaque_capture_address(7);
    let mut flags = vk::BufferUsageFlags2CreateInfoKHR::default()
        .usage(Usage::TRANSFORM_FEEDBACK_BUFFER_EXT | Usage::from_raw(1 << 40));
    flags.p_next = (&raw const last).cast();
    let unknown = vk::BaseInStructure {
        s_type: vk::StructureType::from_raw(77777),
        p_next: (&raw const flags).cast(),
        ..Default::default()
    };
    let mut first = vk::ExternalMemoryBufferCreateInfo::default()
        .handle_types(vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD);
    first.p_next = (&raw const unknown).cast();
    let mut info = vk::BufferCreateInfo::default().usage(vk::BufferUsageFlags::VERTEX_BUFFER);
    info.p_next = (&raw const first).cast();

    Arena::with(|arena| {
        let new = unsafe { ADDRESSES.buffer_create_info(&info, arena) };
        let all: Vec<_> = unsafe { structures(new.p_next).collect() };
        assert_eq!(types(new.p_next), [first.s_type, flags.s_type, last.s_type]);
        let copied = unsafe { all[0].cast::<vk::ExternalMemoryBufferCreateInfo<'_>>().as_ref() };
        assert_eq!(copied.handle_types, first.handle_types);
        let replaced = unsafe { all[1].cast::<vk::BufferUsageFlags2CreateInfoKHR<'_>>().as_ref() };
        assert_eq!(replaced.usage, Usage::SHADER_DEVICE_ADDRESS | Usage::from_raw(1 << 40));
        assert!(std::ptr::eq(all[2].as_ptr().cast(), &raw const last));
    });
    // The application's chain is unchanged.
    let given = [first.s_type, unknown.s_type, flags.s_type, last.s_type];
    assert_eq!(types(info.p_next), given);
    assert!(flags.usage.contains(Usage::TRANSFORM_FEEDBACK_BUFFER_EXT));
}

#[test]
fn memory_has_addresses() {
    use vk::MemoryAllocateFlags as Flags;
    let flags_of = |info: &vk::MemoryAllocateInfo<'_>| unsafe {
        let mut found = crate::chain::all_of::<vk::MemoryAllocateFlagsInfo<'_>>(info.p_next);
        let first = found.next().map(|info| (info.flags, info.device_mask));
        assert!(found.next().is_none());
        first
    };
    Arena::with(|arena| unsafe {
        let plain = vk::MemoryAllocateInfo::default();
        let new = ADDRESSES.memory_allocate_info(&plain, arena);
        assert_eq!(flags_of(&new), Some((Flags::DEVICE_ADDRESS, 0)));
        let same = ADDRESSES.memory_allocate_info(&new, arena);
        assert!(std::ptr::eq(same.p_next, new.p_next));
        assert!(DESCRIPTORS.memory_allocate_info(&plain, arena).p_next.is_null());

        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(Flags::DEVICE_MASK);
        flags.device_mask = 3;
        let mut import = vk::ImportMemoryFdInfoKHR::default().fd(5);
        import.p_next = (&raw const flags).cast();
        let mut info = plain;
        info.p_next = (&raw const import).cast();
        let new = ADDRESSES.memory_allocate_info(&info, arena);
        assert_eq!(flags_of(&new), Some((Flags::DEVICE_MASK | Flags::DEVICE_ADDRESS, 3)));
        assert_eq!(types(new.p_next), [import.s_type, flags.s_type]);
        assert_eq!(flags.flags, Flags::DEVICE_MASK);

        // Memory that is dedicated to an image gets no flag, because no buffer can be bound to it.
        let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().image(Handle::from_raw(4));
        let info = plain.push_next(&mut dedicated);
        let new = ADDRESSES.memory_allocate_info(&info, arena);
        assert_eq!(flags_of(&new), None);
        let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().buffer(Handle::from_raw(4));
        let info = plain.push_next(&mut dedicated);
        let new = ADDRESSES.memory_allocate_info(&info, arena);
        assert_eq!(flags_of(&new), Some((Flags::DEVICE_ADDRESS, 0)));
    });
}

#[test]
fn external_buffers_are_asked_for_as_they_are_made() {
    use vk::BufferUsageFlags as Usage;
    Arena::with(|arena| {
        let info = vk::PhysicalDeviceExternalBufferInfo::default()
            .usage(Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
        let new = unsafe { DESCRIPTORS.external_buffer_info(&info, arena) };
        assert_eq!(new.usage, Usage::STORAGE_BUFFER);
    });
}

#[test]
fn captures_see_what_vertex_shaders_see() {
    use vk::ShaderStageFlags as Stage;
    let binding = |stages| vk::DescriptorSetLayoutBinding::default().stage_flags(stages);
    let bindings = [
        Stage::VERTEX,
        Stage::FRAGMENT,
        Stage::ALL_GRAPHICS,
        Stage::GEOMETRY,
        Stage::TESSELLATION_CONTROL,
        Stage::TESSELLATION_EVALUATION,
    ]
    .map(binding);
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
    Arena::with(|arena| {
        let new = unsafe { set_layout(&info, arena) };
        let stages = unsafe { crate::chain::slice(new.p_bindings, new.binding_count) };
        let stages: Vec<_> = stages.iter().map(|binding| binding.stage_flags).collect();
        let expected = [Stage::VERTEX, Stage::empty(), Stage::ALL_GRAPHICS];
        assert_eq!(stages[0], expected[0] | Stage::COMPUTE);
        assert_eq!(stages[1], Stage::FRAGMENT);
        assert_eq!(stages[2], expected[2] | Stage::COMPUTE);
        assert_eq!(stages[3], Stage::GEOMETRY | Stage::COMPUTE);
        assert_eq!(stages[4], Stage::TESSELLATION_CONTROL | Stage::COMPUTE);
        assert_eq!(stages[5], Stage::TESSELLATION_EVALUATION | Stage::COMPUTE);
    });
}
