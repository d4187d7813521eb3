use proptest::prelude::*;

use super::*;
use crate::translate::masks::{Side, outside_stages, single};

const GEOMETRY: Stage = Stage::GEOMETRY_SHADER;
const VERTEX: Stage = Stage::VERTEX_SHADER;
const FRAGMENT: Stage = Stage::FRAGMENT_SHADER;
const GEOMETRY32: vk::PipelineStageFlags = vk::PipelineStageFlags::GEOMETRY_SHADER;
const VERTEX32: vk::PipelineStageFlags = vk::PipelineStageFlags::VERTEX_SHADER;
const FRAGMENT32: vk::PipelineStageFlags = vk::PipelineStageFlags::FRAGMENT_SHADER;

/// Each stage alone, as a timestamp has it, stays what it is, except for the geometry stage.
#[test]
fn the_vertex_stage_replaces_the_geometry_stage_alone() {
    for bit in 0..64 {
        let stage = Stage::from_raw(1 << bit);
        let expected = if stage == GEOMETRY { VERTEX } else { stage };
        assert_eq!(super::single(stage), expected);
        if bit < 32 {
            let stage = vk::PipelineStageFlags::from_raw(1 << bit);
            let expected = if stage == GEOMETRY32 { VERTEX32 } else { stage };
            assert_eq!(super::single32(stage), expected);
        }
    }
    assert_eq!(super::single(Stage::NONE), Stage::NONE);
}

/// Merged shaders read vertices and indices, so the vertex stage waits and is waited for where the stages do that read them
/// for other shaders.
#[test]
fn the_vertex_stage_joins_those_that_read_vertices_and_indices() {
    use vk::PipelineStageFlags as Stage32;
    for bit in 0..64 {
        let stage = Stage::from_raw(1 << bit);
        let reads = stage.intersects(INPUT);
        let expected = if reads { stage | VERTEX } else { super::single(stage) };
        assert_eq!(for_driver(stage), expected);
    }
    assert_eq!(for_driver32(Stage32::VERTEX_INPUT), Stage32::VERTEX_INPUT | VERTEX32);
    assert_eq!(for_driver(Stage::NONE), Stage::NONE);
}

proptest! {
    /// The stages of a wait are the union of those of its events. What captures need of a mask is the same before and
    /// after the translation.
    #[test]
    fn masks_are_translated_bit_by_bit(a: u64, b: u64) {
        let [one, other] = [a, b].map(Stage::from_raw);
        let both = for_driver(one | other);
        prop_assert_eq!(both, for_driver(one) | for_driver(other));
        prop_assert_eq!(for_driver(both), both);
        prop_assert!(!both.intersects(GEOMETRY));
        prop_assert_eq!(both & !VERTEX, (one | other) & !VERTEX & !GEOMETRY);
        for side in [Side::Source, Side::Destination] {
            let late = for_driver(outside_stages(one, side, true));
            prop_assert_eq!(outside_stages(for_driver(one), side, true), late);
        }
        let stage = Stage::from_raw(1 << (a % 64));
        prop_assert_eq!(single(super::single(stage)), super::single(single(stage)));
    }
}

#[test]
fn every_barrier_of_a_dependency_is_translated() {
    let memory = [vk::MemoryBarrier2::default()
        .src_stage_mask(GEOMETRY | FRAGMENT)
        .dst_stage_mask(GEOMETRY)
        .dst_access_mask(vk::AccessFlags2::SHADER_READ)];
    let buffers =
        [vk::BufferMemoryBarrier2::default().src_stage_mask(FRAGMENT).dst_stage_mask(GEOMETRY)];
    let images =
        [vk::ImageMemoryBarrier2::default().src_stage_mask(GEOMETRY).dst_stage_mask(FRAGMENT)];
    let info = vk::DependencyInfo::default()
        .memory_barriers(&memory)
        .buffer_memory_barriers(&buffers)
        .image_memory_barriers(&images);
    Arena::with(|arena| {
        // SAFETY: the structures are valid.
        let (memory, buffers, images) = unsafe {
            let new = dependency_info(&*(&raw const info).cast(), arena);
            (
                slice(new.p_memory_barriers, new.memory_barrier_count),
                slice(new.p_buffer_memory_barriers, new.buffer_memory_barrier_count),
                slice(new.p_image_memory_barriers, new.image_memory_barrier_count),
            )
        };
        let [memory] = memory else { panic!("not one") };
        assert_eq!((memory.src_stage_mask, memory.dst_stage_mask), (VERTEX | FRAGMENT, VERTEX));
        assert_eq!(memory.dst_access_mask, vk::AccessFlags2::SHADER_READ);
        let [buffer] = buffers else { panic!("not one") };
        assert_eq!((buffer.src_stage_mask, buffer.dst_stage_mask), (FRAGMENT, VERTEX));
        let [image] = images else { panic!("not one") };
        assert_eq!((image.src_stage_mask, image.dst_stage_mask), (VERTEX, FRAGMENT));
    });
    assert_eq!(memory[0].dst_stage_mask, GEOMETRY);
}

#[test]
fn submissions_wait_for_the_vertex_stage() {
    let (waits, semaphores) = ([GEOMETRY32 | FRAGMENT32, FRAGMENT32], [vk::Semaphore::null(); 2]);
    let submit = vk::SubmitInfo::default().wait_semaphores(&semaphores).wait_dst_stage_mask(&waits);
    let info = |stage| vk::SemaphoreSubmitInfo::default().stage_mask(stage).value(5);
    let (before, after) = ([info(GEOMETRY)], [info(FRAGMENT), info(GEOMETRY | FRAGMENT)]);
    let submit2 =
        vk::SubmitInfo2::default().wait_semaphore_infos(&before).signal_semaphore_infos(&after);
    Arena::with(|arena| {
        // SAFETY: the structures are valid.
        let (waits, before, after) = unsafe {
            let new = submits(slice((&raw const submit).cast(), 1), arena)[0];
            let new2 = submits2(slice((&raw const submit2).cast(), 1), arena)[0];
            (
                slice(new.p_wait_dst_stage_mask, new.wait_semaphore_count),
                slice(new2.p_wait_semaphore_infos, new2.wait_semaphore_info_count),
                slice(new2.p_signal_semaphore_infos, new2.signal_semaphore_info_count),
            )
        };
        assert_eq!(waits, [VERTEX32 | FRAGMENT32, FRAGMENT32]);
        let stages = |infos: &[vk::SemaphoreSubmitInfo<'_>]| -> Vec<_> {
            infos.iter().map(|info| (info.stage_mask, info.value)).collect()
        };
        assert_eq!(stages(before), [(VERTEX, 5)]);
        assert_eq!(stages(after), [(FRAGMENT, 5), (VERTEX | FRAGMENT, 5)]);
    });
}

#[test]
fn dependencies_of_render_passes_are_translated() {
    let dependencies = [vk::SubpassDependency::default()
        .src_subpass(vk::SUBPASS_EXTERNAL)
        .src_stage_mask(GEOMETRY32)
        .dst_stage_mask(GEOMETRY32 | FRAGMENT32)];
    let info = vk::RenderPassCreateInfo::default().dependencies(&dependencies);
    let mut barrier =
        vk::MemoryBarrier2::default().src_stage_mask(FRAGMENT).dst_stage_mask(GEOMETRY);
    let dependencies2 = [
        vk::SubpassDependency2::default().src_stage_mask(FRAGMENT32).dst_stage_mask(GEOMETRY32),
        vk::SubpassDependency2::default().push_next(&mut barrier),
    ];
    let info2 = vk::RenderPassCreateInfo2::default().dependencies(&dependencies2);
    Arena::with(|arena| {
        // SAFETY: the structures are valid.
        let (new, new2) = unsafe {
            let (new, new2) = (render_pass(&info, arena), render_pass2(&info2, arena));
            (
                slice(new.p_dependencies, new.dependency_count),
                slice(new2.p_dependencies, new2.dependency_count),
            )
        };
        let [new] = new else { panic!("not one") };
        assert_eq!((new.src_stage_mask, new.dst_stage_mask), (VERTEX32, VERTEX32 | FRAGMENT32));
        assert_eq!(new.src_subpass, vk::SUBPASS_EXTERNAL);
        let [own, chained] = new2 else { panic!("not two") };
        assert_eq!((own.src_stage_mask, own.dst_stage_mask), (FRAGMENT32, VERTEX32));
        // SAFETY: the chain is valid.
        let barriers: Vec<_> = unsafe { all_of::<vk::MemoryBarrier2<'_>>(chained.p_next) }
            .map(|barrier| (barrier.src_stage_mask, barrier.dst_stage_mask))
            .collect();
        assert_eq!(barriers, [(FRAGMENT, VERTEX)]);
    });
}
