//! Records commands with a test driver that logs the stages that it gets.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use std::sync::Arc;

use ash::vk::Handle;
use ash::vk::{PipelineStageFlags as Stage, PipelineStageFlags2 as Stage2, ShaderStageFlags};

use super::*;
use crate::chain::slice;
use crate::command_buffers::{allocated, device_destroyed, reset};
use crate::hooks::commands::function_of;
use crate::withheld::{Functions, Templates};

thread_local! {
    /// The calls that reached the test driver on this thread, with their stages.
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn log(text: String) {
    LOG.with_borrow_mut(|log| log.push(text));
}

mod driver {
    use super::*;

    pub unsafe extern "system" fn pipeline_barrier(
        _: vk::CommandBuffer,
        src: Stage,
        dst: Stage,
        _: vk::DependencyFlags,
        _: u32,
        _: *const vk::MemoryBarrier<'_>,
        _: u32,
        _: *const vk::BufferMemoryBarrier<'_>,
        _: u32,
        _: *const vk::ImageMemoryBarrier<'_>,
    ) {
        log(format!("barrier {src:?} -> {dst:?}"));
    }

    pub unsafe extern "system" fn pipeline_barrier2(
        _: vk::CommandBuffer,
        info: *const vk::DependencyInfo<'_>,
    ) {
        let all = unsafe { slice((*info).p_memory_barriers, (*info).memory_barrier_count) };
        all.iter().for_each(|b| log(format!("{:?} -> {:?}", b.src_stage_mask, b.dst_stage_mask)));
    }

    pub unsafe extern "system" fn set_event(_: vk::CommandBuffer, _: vk::Event, stages: Stage) {
        log(format!("event {stages:?}"));
    }

    pub unsafe extern "system" fn wait_events2(
        cmd: vk::CommandBuffer,
        count: u32,
        _: *const vk::Event,
        infos: *const vk::DependencyInfo<'_>,
    ) {
        for info in unsafe { slice(infos, count) } {
            unsafe { pipeline_barrier2(cmd, info) };
        }
    }

    pub unsafe extern "system" fn write_timestamp2(
        _: vk::CommandBuffer,
        stage: Stage2,
        _: vk::QueryPool,
        _: u32,
    ) {
        log(format!("timestamp {stage:?}"));
    }

    pub unsafe extern "system" fn push_constants(
        _: vk::CommandBuffer,
        _: vk::PipelineLayout,
        stages: ShaderStageFlags,
        offset: u32,
        size: u32,
        values: *const c_void,
    ) {
        let values = unsafe { slice(values.cast::<u8>(), size) };
        log(format!("push {stages:?} {offset} {values:?}"));
    }

    pub unsafe extern "system" fn push_constants2(
        _: vk::CommandBuffer,
        info: *const vk::PushConstantsInfoKHR<'_>,
    ) {
        let info = unsafe { &*info };
        log(format!("push2 {:?} {} {}", info.stage_flags, info.offset, info.size));
    }

    pub unsafe extern "system" fn bind_descriptor_sets2(
        _: vk::CommandBuffer,
        info: *const vk::BindDescriptorSetsInfoKHR<'_>,
    ) {
        log(format!("sets {:?}", unsafe { (*info).stage_flags }));
    }
}

fn find(name: &CStr) -> vk::PFN_vkVoidFunction {
    let function: *const () = match name.to_str().unwrap() {
        "vkCmdPipelineBarrier" => driver::pipeline_barrier as _,
        "vkCmdPipelineBarrier2" => driver::pipeline_barrier2 as _,
        "vkCmdSetEvent" => driver::set_event as _,
        "vkCmdWaitEvents2" => driver::wait_events2 as _,
        "vkCmdWriteTimestamp2" => driver::write_timestamp2 as _,
        "vkCmdPushConstants" => driver::push_constants as _,
        "vkCmdPushConstants2" => driver::push_constants2 as _,
        "vkCmdBindDescriptorSets2" => driver::bind_descriptor_sets2 as _,
        _ => return None,
    };
    // SAFETY: the function has the type that belongs to its name.
    unsafe { std::mem::transmute(function) }
}

/// Returns what the driver gets of what `record` records into a command buffer.
fn recorded(record: impl FnOnce(vk::CommandBuffer)) -> Vec<String> {
    LOG.take();
    // SAFETY: the functions have the types that belong to their names.
    let functions = Arc::new(unsafe { Functions::load(find) });
    let templates = Arc::new(Templates::new(vk::Device::null(), None));
    // The address of an object of this call is a handle that no other test has meanwhile.
    let object = Box::new(0_u64);
    let cmd = vk::CommandBuffer::from_raw((&raw const *object).addr() as u64);
    allocated((&functions, &templates, None), vk::CommandPool::null(), false, &[cmd]);
    // SAFETY: only this thread uses the command buffer.
    unsafe { reset(cmd, &vk::CommandBufferBeginInfo::default(), None) };
    record(cmd);
    device_destroyed(&functions);
    LOG.take()
}

/// # Safety
/// The hook is of this type.
unsafe fn hook<F: Copy>(command: &CStr) -> F {
    const { assert!(size_of::<F>() == size_of::<vk::PFN_vkVoidFunction>()) };
    let found = hook_of(function_of(command).unwrap()).unwrap();
    unsafe { std::mem::transmute_copy(&found) }
}

#[test]
fn dependencies_name_the_vertex_stage_and_that_of_captures() {
    let barriers = [vk::MemoryBarrier2::default()
        .src_stage_mask(Stage2::GEOMETRY_SHADER)
        .dst_stage_mask(Stage2::FRAGMENT_SHADER)];
    let info = vk::DependencyInfo::default().memory_barriers(&barriers);
    let (geometry, none) = (Stage::GEOMETRY_SHADER, vk::DependencyFlags::empty());
    let event = vk::Event::null();
    // SAFETY: the hooks have these types, and the arguments are valid.
    let all = recorded(|cmd| unsafe {
        let barrier: vk::PFN_vkCmdPipelineBarrier = hook(c"vkCmdPipelineBarrier");
        let (memory, buffers, images) = (std::ptr::null(), std::ptr::null(), std::ptr::null());
        barrier(cmd, Stage::TRANSFER, geometry, none, 0, memory, 0, buffers, 0, images);
        hook::<vk::PFN_vkCmdPipelineBarrier2>(c"vkCmdPipelineBarrier2KHR")(cmd, &raw const info);
        hook::<vk::PFN_vkCmdSetEvent>(c"vkCmdSetEvent")(cmd, event, geometry);
        let wait: vk::PFN_vkCmdWaitEvents2 = hook(c"vkCmdWaitEvents2");
        wait(cmd, 1, &raw const event, &raw const info);
        let timestamp: vk::PFN_vkCmdWriteTimestamp2 = hook(c"vkCmdWriteTimestamp2");
        timestamp(cmd, Stage2::GEOMETRY_SHADER, vk::QueryPool::null(), 3);
    });
    let expected = [
        "barrier TRANSFER -> VERTEX_SHADER | COMPUTE_SHADER",
        "VERTEX_SHADER | COMPUTE_SHADER -> FRAGMENT_SHADER",
        "event VERTEX_SHADER | COMPUTE_SHADER",
        "VERTEX_SHADER | COMPUTE_SHADER -> FRAGMENT_SHADER",
        "timestamp VERTEX_SHADER",
    ];
    assert_eq!(all, expected);
}

#[test]
fn the_driver_gets_no_constants_of_geometry_shaders() {
    use ShaderStageFlags as Stages;
    let layout = vk::PipelineLayout::from_raw(3);
    // SAFETY: the hooks have these types, and the arguments are valid.
    let all = recorded(|cmd| unsafe {
        let push: vk::PFN_vkCmdPushConstants = hook(c"vkCmdPushConstants");
        let push2: vk::PFN_vkCmdPushConstants2KHR = hook(c"vkCmdPushConstants2");
        for stages in [Stages::GEOMETRY, Stages::GEOMETRY | Stages::VERTEX, Stages::FRAGMENT] {
            push(cmd, layout, stages, 4, 4, [1_u8, 2, 3, 4].as_ptr().cast());
            let info = vk::PushConstantsInfoKHR::default()
                .layout(layout)
                .stage_flags(stages)
                .offset(8)
                .values(&[5; 4]);
            push2(cmd, &raw const info);
        }
        let bind: vk::PFN_vkCmdBindDescriptorSets2KHR = hook(c"vkCmdBindDescriptorSets2");
        let info =
            vk::BindDescriptorSetsInfoKHR::default().layout(layout).stage_flags(Stages::GEOMETRY);
        bind(cmd, &raw const info);
    });
    let expected = [
        "push VERTEX 4 [1, 2, 3, 4]",
        "push2 VERTEX 8 4",
        "push FRAGMENT 4 [1, 2, 3, 4]",
        "push2 FRAGMENT 8 4",
        "sets VERTEX",
    ];
    assert_eq!(all, expected);
}

/// Each command that has stages and a hook here has one for other devices, too.
#[test]
fn hooks_are_of_commands_that_others_hook() {
    let commands = [
        c"vkCmdPipelineBarrier",
        c"vkCmdPipelineBarrier2",
        c"vkCmdResetEvent",
        c"vkCmdResetEvent2",
        c"vkCmdSetEvent",
        c"vkCmdSetEvent2",
        c"vkCmdWaitEvents",
        c"vkCmdWaitEvents2",
        c"vkCmdWriteBufferMarkerAMD",
        c"vkCmdWriteBufferMarker2AMD",
        c"vkCmdWriteTimestamp",
        c"vkCmdWriteTimestamp2",
        c"vkCmdPushConstants",
        c"vkCmdPushConstants2",
        c"vkCmdBindDescriptorSets2",
        c"vkCmdPushDescriptorSet2",
        c"vkCmdPushDescriptorSetWithTemplate2",
        c"vkCmdSetDescriptorBufferOffsets2EXT",
        c"vkCmdBindDescriptorBufferEmbeddedSamplers2EXT",
    ];
    for command in commands {
        let drawn = crate::hooks::find_drawn(command);
        let found = crate::hooks::find_emulated(command);
        assert!(drawn.is_some() && found.is_some(), "{command:?}");
    }
    for command in [c"vkCmdDraw", c"vkCmdBindDescriptorSets", c"vkQueueSubmit"] {
        assert!(crate::hooks::find_drawn(command).is_none(), "{command:?}");
    }
}
