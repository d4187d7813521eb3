//! Tests barriers for ranges of device addresses, which are in the chain of a `VkDependencyInfo`.

use ash::vk::{AccessFlags2 as Access, PipelineStageFlags2 as Stage};

use super::super::Arena;
use super::super::barriers::{RenderPassScope, dependency_info};
use crate::chain::all_of;
use crate::registry::vk;

type Ranges = vk::MemoryRangeBarriersInfoKHR;

fn barrier(src_stage_mask: Stage, src_access_mask: Access) -> vk::MemoryRangeBarrierKHR {
    vk::MemoryRangeBarrierKHR {
        s_type: <vk::MemoryRangeBarrierKHR as vk::TaggedStructure>::STRUCTURE_TYPE,
        p_next: std::ptr::null(),
        src_stage_mask,
        src_access_mask,
        dst_stage_mask: Stage::VERTEX_SHADER,
        dst_access_mask: Access::SHADER_READ,
        src_queue_family_index: vk::QUEUE_FAMILY_IGNORED,
        dst_queue_family_index: vk::QUEUE_FAMILY_IGNORED,
        address_range: vk::DeviceAddressRangeKHR { address: 4096, size: 16 },
        address_flags: 0,
    }
}

#[test]
fn barriers_on_addresses_are_translated() {
    let captures = barrier(Stage::TRANSFORM_FEEDBACK_EXT, Access::TRANSFORM_FEEDBACK_WRITE_EXT);
    let attachments = barrier(Stage::COLOR_ATTACHMENT_OUTPUT, Access::COLOR_ATTACHMENT_WRITE);
    let all = [captures, attachments];
    let ranges = |count| Ranges {
        s_type: <Ranges as vk::TaggedStructure>::STRUCTURE_TYPE,
        p_next: std::ptr::null(),
        memory_range_barrier_count: count,
        p_memory_range_barriers: all.as_ptr(),
    };
    let translated = |count, scope| {
        let ranges = ranges(count);
        let p_next = (&raw const ranges).cast();
        let info = vk::DependencyInfo { p_next, ..Default::default() };
        Arena::with(|arena| {
            let info = unsafe { dependency_info(&info, scope, arena) }?;
            let found = unsafe { all_of::<Ranges>(info.p_next) }.next().unwrap();
            let count = found.memory_range_barrier_count as usize;
            let found = unsafe { std::slice::from_raw_parts(found.p_memory_range_barriers, count) };
            Some(found.iter().map(|b| (b.src_stage_mask, b.src_access_mask)).collect::<Vec<_>>())
        })
    };
    let outside = RenderPassScope::Outside { also_compute: true };
    let found = translated(2, outside).unwrap();
    assert_eq!(found[0], (Stage::COMPUTE_SHADER, Access::SHADER_WRITE));
    let (stages, access) = found[1];
    assert!(stages.contains(Stage::COLOR_ATTACHMENT_OUTPUT | Stage::COMPUTE_SHADER));
    assert_eq!(access, Access::COLOR_ATTACHMENT_WRITE);
    // Captures are never recorded inside of a pass, so the translated masks do not include compute.
    let kept = (Stage::COLOR_ATTACHMENT_OUTPUT, Access::COLOR_ATTACHMENT_WRITE);
    assert_eq!(translated(2, RenderPassScope::Inside), Some(vec![kept]));
    assert_eq!(translated(1, RenderPassScope::Inside), None);
}
