//! `vkGetQueryPoolResults` with `WAIT` of queries that nothing ends: those of the driver, and those of the Vulkan layer.

use std::time::Duration;

use ash::{ext, vk};

use super::program::{self, Program};
use crate::common::bare::BareInstance;
use crate::common::commands::query_pool;
use crate::common::skip::{Why, skip};
use crate::common::{attachment, layer};

/// The queries of the pool: one that was never begun, one that has ended, and one that the host has reset after it had
/// ended.
const COUNT: u32 = 3;
const UNTOUCHED: u64 = 0xa5a5_a5a5_a5a5_a5a5;

/// A device whose queries the host can reset.
fn open() -> Program {
    let mut feature =
        vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
    let mut rendering = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
    let mut resets = vk::PhysicalDeviceHostQueryResetFeatures::default().host_query_reset(true);
    let mut features = vk::PhysicalDeviceFeatures2::default()
        .push_next(&mut feature)
        .push_next(&mut rendering)
        .push_next(&mut resets);
    let extensions = [ext::transform_feedback::NAME.as_ptr()];
    Program::on(BareInstance::open().into_device(&mut features, &extensions))
}

/// Ends queries, or resets them if `resets`.
///
/// # Safety
/// The queries are of the device.
unsafe fn change(program: &Program, pool: vk::QueryPool, queries: &[u32], resets: bool) {
    let raw = &program.raw;
    let writes = (vk::PipelineStageFlags::ALL_COMMANDS, vk::AccessFlags::MEMORY_WRITE);
    // SAFETY: the caller's contract; the submission is waited for.
    unsafe {
        program.submit(writes, |cmd| {
            if resets {
                return queries
                    .iter()
                    .for_each(|query| raw.cmd_reset_query_pool(cmd, pool, *query, 1));
            }
            attachment::begin_rendering(raw, cmd);
            for query in queries {
                raw.cmd_begin_query(cmd, pool, *query, vk::QueryControlFlags::empty());
                raw.cmd_end_query(cmd, pool, *query);
            }
            raw.cmd_end_rendering(cmd);
        });
    }
}

#[test]
fn waits_for_queries_that_nothing_ends_return() {
    if !program::has(&[]) {
        return;
    }
    let program = open();
    let raw = &program.raw;
    // SAFETY: every handle is of the device, and in use only until a submission is done.
    unsafe {
        let instance = BareInstance::open();
        let properties = instance.raw.get_physical_device_properties(instance.physical_device());
        if !layer::is_there() && properties.device_type != vk::PhysicalDeviceType::CPU {
            return skip(Why::Expected("a GPU's driver may wait for seconds, and lose the device"));
        }
        let pool = query_pool(raw, vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT, COUNT);
        change(&program, pool, &[0, 1, 2], true);
        change(&program, pool, &[1, 2], false);
        raw.reset_query_pool(pool, 2, 1);
        let results = |first, count, flags| {
            let get = raw.fp_v1_0().get_query_pool_results;
            let mut found = [[UNTOUCHED; 3]; COUNT as usize];
            let (size, stride) = (size_of_val(&found), size_of_val(&found[0]) as u64);
            let flags = flags | vk::QueryResultFlags::TYPE_64;
            let data = found.as_mut_ptr().cast();
            (get(raw.handle(), pool, first, count, size, data, stride, flags), found)
        };
        let (wait, all) = (vk::QueryResultFlags::WAIT, vk::Result::NOT_READY);
        let with = vk::QueryResultFlags::WITH_AVAILABILITY;
        let (none, ended) = ([UNTOUCHED; 3], [0, 0, UNTOUCHED]);
        assert_eq!(results(0, COUNT, wait), (all, [none, ended, none]));
        let none = [UNTOUCHED, UNTOUCHED, 0];
        assert_eq!(results(0, COUNT, wait | with), (all, [none, [0, 0, 1], none]));
        // Once they have ended, they are available.
        change(&program, pool, &[0, 2], false);
        assert_eq!(results(0, COUNT, wait), (vk::Result::SUCCESS, [ended; COUNT as usize]));
        // The layer does not know that a command which resets a query comes after all that end it. So it waits, and finds
        // what another thread submits late. Drivers may return.
        if layer::is_there() {
            change(&program, pool, &[1], true);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(400));
                    change(&program, pool, &[1], false);
                });
                let none = [UNTOUCHED; 3];
                assert_eq!(results(1, 1, wait), (vk::Result::SUCCESS, [ended, none, none]));
            });
        }
        raw.destroy_query_pool(pool, None);
    }
}

#[test]
fn waits_for_queries_that_nothing_ends_return_on_the_layer() {
    layer::run_on_it(waits_for_queries_that_nothing_ends_return, &[]);
}
