//! Tests the hooks for commands whose arguments are translated. The test driver logs the arguments
//! that it gets.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::sync::Once;

use ash::vk::{AccessFlags as Access, Handle, PipelineStageFlags as Stage};

use super::super::{commands, objects, recording};
use super::*;
use crate::device::DeviceData;
use crate::translate::{Translation, Usages};

thread_local! {
    /// The calls that reached the test driver on this thread, with their arguments.
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn log(text: String) {
    LOG.with_borrow_mut(|log| log.push(text));
}

fn logged() -> Vec<String> {
    LOG.take()
}

fn hook(command: &CStr) -> vk::PFN_vkVoidFunction {
    super::hook(command).or_else(|| hook_of(commands::function_of(command)?))
}

/// The functions of the test driver, which log their arguments.
mod driver {
    use super::*;

    pub unsafe extern "system" fn pipeline_barrier(
        _: vk::CommandBuffer,
        src: Stage,
        dst: Stage,
        _: vk::DependencyFlags,
        count: u32,
        memory: *const vk::MemoryBarrier<'_>,
        _: u32,
        _: *const vk::BufferMemoryBarrier<'_>,
        _: u32,
        _: *const vk::ImageMemoryBarrier<'_>,
    ) {
        let memory = unsafe { slice(memory, count) }.iter();
        let memory: Vec<_> = memory.map(|m| (m.src_access_mask, m.dst_access_mask)).collect();
        log(format!("barrier {src:?} -> {dst:?} {memory:?}"));
    }

    pub unsafe extern "system" fn pipeline_barrier2(
        _: vk::CommandBuffer,
        info: *const vk::DependencyInfo<'_>,
    ) {
        log(unsafe { dependency("barrier2", &*info) });
    }

    /// # Safety
    /// The structure is valid.
    pub unsafe fn dependency(name: &str, info: &vk::DependencyInfo<'_>) -> String {
        let all = unsafe { slice(info.p_buffer_memory_barriers, info.buffer_memory_barrier_count) };
        let all = all.iter().map(|b| (b.src_stage_mask, b.dst_stage_mask, b.dst_access_mask));
        format!("{name} {:?}", all.collect::<Vec<_>>())
    }

    pub unsafe extern "system" fn set_event(_: vk::CommandBuffer, _: vk::Event, stages: Stage) {
        log(format!("event {stages:?}"));
    }

    pub unsafe extern "system" fn set_event2(
        _: vk::CommandBuffer,
        _: vk::Event,
        info: *const vk::DependencyInfo<'_>,
    ) {
        log(unsafe { dependency("event2", &*info) });
    }

    pub unsafe extern "system" fn wait_events2(
        _: vk::CommandBuffer,
        count: u32,
        _: *const vk::Event,
        infos: *const vk::DependencyInfo<'_>,
    ) {
        unsafe { slice(infos, count) }.iter().for_each(|i| log(unsafe { dependency("event2", i) }));
    }

    pub unsafe extern "system" fn write_timestamp(
        _: vk::CommandBuffer,
        stage: Stage,
        _: vk::QueryPool,
        query: u32,
    ) {
        log(format!("timestamp {stage:?} {query}"));
    }

    pub unsafe extern "system" fn queue_submit(
        _: vk::Queue,
        count: u32,
        infos: *const vk::SubmitInfo<'_>,
        _: vk::Fence,
    ) -> vk::Result {
        for info in unsafe { slice(infos, count) } {
            let waits = unsafe { slice(info.p_wait_dst_stage_mask, info.wait_semaphore_count) };
            log(format!("submit {waits:?}"));
        }
        vk::Result::SUCCESS
    }

    pub unsafe extern "system" fn queue_submit2(
        _: vk::Queue,
        count: u32,
        infos: *const vk::SubmitInfo2<'_>,
        _: vk::Fence,
    ) -> vk::Result {
        for info in unsafe { slice(infos, count) } {
            let (waits, signals) = unsafe {
                (
                    slice(info.p_wait_semaphore_infos, info.wait_semaphore_info_count),
                    slice(info.p_signal_semaphore_infos, info.signal_semaphore_info_count),
                )
            };
            let stages = |infos: &[vk::SemaphoreSubmitInfo<'_>]| {
                infos.iter().map(|info| info.stage_mask).collect::<Vec<_>>()
            };
            log(format!("submit2 {:?} {:?}", stages(waits), stages(signals)));
        }
        vk::Result::SUCCESS
    }

    pub unsafe extern "system" fn create_render_pass(
        _: vk::Device,
        info: *const vk::RenderPassCreateInfo<'_>,
        _: *const vk::AllocationCallbacks<'_>,
        made: *mut vk::RenderPass,
    ) -> vk::Result {
        let all = unsafe { slice((*info).p_dependencies, (*info).dependency_count) };
        log(format!("pass {:?}", all[0].src_stage_mask));
        unsafe { made.write(vk::RenderPass::from_raw(9)) };
        vk::Result::SUCCESS
    }

    pub unsafe extern "system" fn destroy_render_pass(
        _: vk::Device,
        _: vk::RenderPass,
        _: *const vk::AllocationCallbacks<'_>,
    ) {
    }

    pub unsafe extern "system" fn create_buffer(
        _: vk::Device,
        info: *const vk::BufferCreateInfo<'_>,
        _: *const vk::AllocationCallbacks<'_>,
        _: *mut vk::Buffer,
    ) -> vk::Result {
        log(format!("buffer {:?}", unsafe { (*info).usage }));
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
    }

    pub unsafe extern "system" fn allocate(
        _: vk::Device,
        _: *const vk::CommandBufferAllocateInfo<'_>,
        _: *mut vk::CommandBuffer,
    ) -> vk::Result {
        vk::Result::SUCCESS
    }

    pub unsafe extern "system" fn begin(
        _: vk::CommandBuffer,
        _: *const vk::CommandBufferBeginInfo<'_>,
    ) -> vk::Result {
        vk::Result::SUCCESS
    }

    pub unsafe extern "system" fn begin_rendering(
        _: vk::CommandBuffer,
        _: *const vk::RenderingInfo<'_>,
    ) {
        log("begin".to_owned());
    }

    pub unsafe extern "system" fn end_rendering(_: vk::CommandBuffer) {
        log("end".to_owned());
    }

    pub unsafe extern "system" fn destroy_device(
        _: vk::Device,
        _: *const vk::AllocationCallbacks<'_>,
    ) {
    }
}

unsafe extern "system" fn get(_: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
    let function: *const () = match unsafe { CStr::from_ptr(name) }.to_str().unwrap() {
        "vkAllocateCommandBuffers" => driver::allocate as _,
        "vkBeginCommandBuffer" => driver::begin as _,
        "vkCmdBeginRendering" => driver::begin_rendering as _,
        "vkCmdEndRendering" => driver::end_rendering as _,
        "vkCmdPipelineBarrier" => driver::pipeline_barrier as _,
        "vkCmdPipelineBarrier2KHR" => driver::pipeline_barrier2 as _,
        "vkCmdSetEvent" => driver::set_event as _,
        "vkCmdSetEvent2" => driver::set_event2 as _,
        "vkCmdWaitEvents2" => driver::wait_events2 as _,
        "vkCmdWriteTimestamp" => driver::write_timestamp as _,
        "vkCreateBuffer" => driver::create_buffer as _,
        "vkCreateRenderPass" => driver::create_render_pass as _,
        "vkDestroyRenderPass" => driver::destroy_render_pass as _,
        "vkQueueSubmit" => driver::queue_submit as _,
        "vkQueueSubmit2" => driver::queue_submit2 as _,
        _ => return None,
    };
    unsafe { std::mem::transmute(function) }
}

/// A dispatchable object. Its address is the handle of the device. The handles of command buffers are addresses of
/// copies of this object.
static OBJECT: [usize; 2] = [0x7151, 0];

fn device() -> vk::Device {
    static INSERTED: Once = Once::new();
    let device = vk::Device::from_raw((&raw const OBJECT).addr() as u64);
    INSERTED.call_once(|| unsafe {
        let usages = Usages { addresses: true, descriptors: false, results: false };
        DeviceData::insert(device, get, driver::destroy_device, Translation::new(usages));
    });
    device
}

/// Returns a new command buffer, which is never freed. If `continues`, it is a secondary command
/// buffer with `RENDER_PASS_CONTINUE`.
fn command_buffer(continues: bool) -> vk::CommandBuffer {
    let object: &'static [usize; 2] = Box::leak(Box::new(OBJECT));
    let mut handle = vk::CommandBuffer::from_raw((&raw const *object).addr() as u64);
    let level =
        if continues { vk::CommandBufferLevel::SECONDARY } else { vk::CommandBufferLevel::PRIMARY };
    let info = vk::CommandBufferAllocateInfo::default().command_buffer_count(1).level(level);
    let inheritance = vk::CommandBufferInheritanceInfo::default();
    let flags = vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE;
    let mut begin = vk::CommandBufferBeginInfo::default();
    if continues {
        begin = begin.flags(flags).inheritance_info(&inheritance);
    }
    let name = |name| recording::hook(name);
    unsafe {
        call::<vk::PFN_vkAllocateCommandBuffers>(name(c"vkAllocateCommandBuffers"))(
            device(),
            &raw const info,
            &raw mut handle,
        )
        .result()
        .unwrap();
        call::<vk::PFN_vkBeginCommandBuffer>(name(c"vkBeginCommandBuffer"))(
            handle,
            &raw const begin,
        )
        .result()
        .unwrap();
    }
    handle
}

/// # Safety
/// The function is of this type.
unsafe fn call<F: Copy>(function: vk::PFN_vkVoidFunction) -> F {
    const { assert!(size_of::<F>() == size_of::<vk::PFN_vkVoidFunction>()) };
    unsafe { std::mem::transmute_copy(&function.unwrap()) }
}

/// # Safety
/// The command buffer was allocated through the layer.
unsafe fn barrier(cmd: vk::CommandBuffer, src: Stage, dst: Stage) {
    let memory = vk::MemoryBarrier::default()
        .src_access_mask(Access::TRANSFORM_FEEDBACK_WRITE_EXT)
        .dst_access_mask(Access::VERTEX_ATTRIBUTE_READ);
    let none = vk::DependencyFlags::empty();
    let barrier: vk::PFN_vkCmdPipelineBarrier = unsafe { call(hook(c"vkCmdPipelineBarrier")) };
    let (buffers, images) = (std::ptr::null(), std::ptr::null());
    unsafe { barrier(cmd, src, dst, none, 1, &raw const memory, 0, buffers, 0, images) };
}

const XFB: Stage = Stage::TRANSFORM_FEEDBACK_EXT;

#[test]
fn barriers_outside_and_inside() {
    logged();
    let cmd = command_buffer(false);
    let begin: vk::PFN_vkCmdBeginRendering =
        unsafe { call(commands::hook(c"vkCmdBeginRendering")) };
    let end: vk::PFN_vkCmdEndRendering = unsafe { call(commands::hook(c"vkCmdEndRendering")) };
    let outside = "barrier COMPUTE_SHADER -> VERTEX_INPUT | COMPUTE_SHADER \
                   [(SHADER_WRITE, VERTEX_ATTRIBUTE_READ | SHADER_READ)]";
    let info = vk::RenderingInfo::default();
    unsafe {
        barrier(cmd, XFB, Stage::VERTEX_INPUT);
        assert_eq!(logged(), [outside]);
        begin(cmd, &raw const info);
        // Inside of a pass, the translation removes all stages of this barrier, so the barrier is
        // dropped.
        barrier(cmd, XFB, Stage::VERTEX_INPUT);
        barrier(cmd, XFB | Stage::VERTEX_SHADER, Stage::VERTEX_INPUT);
        end(cmd);
        let inside = "barrier VERTEX_SHADER -> VERTEX_INPUT [(, VERTEX_ATTRIBUTE_READ)]";
        assert_eq!(logged(), ["begin", inside, "end"]);
        // All commands of this secondary command buffer are inside of a pass.
        let secondary = command_buffer(true);
        barrier(secondary, XFB, Stage::VERTEX_INPUT);
        assert_eq!(logged(), Vec::<String>::new());
        barrier(secondary, XFB | Stage::VERTEX_SHADER, Stage::VERTEX_INPUT);
        assert_eq!(logged(), [inside]);
    }
}

#[test]
fn events_are_waited_for_as_they_were_set() {
    use vk::{AccessFlags2 as Access2, PipelineStageFlags2 as Stage2};
    logged();
    let (cmd, secondary) = (command_buffer(false), command_buffer(true));
    let barriers = [vk::BufferMemoryBarrier2::default()
        .src_stage_mask(Stage2::TRANSFORM_FEEDBACK_EXT)
        .dst_stage_mask(Stage2::INDEX_INPUT)
        .dst_access_mask(Access2::INDEX_READ)];
    let info = vk::DependencyInfo::default().buffer_memory_barriers(&barriers);
    let event = vk::Event::null();
    unsafe {
        call::<vk::PFN_vkCmdSetEvent2>(hook(c"vkCmdSetEvent2KHR"))(cmd, event, &raw const info);
        let wait: vk::PFN_vkCmdWaitEvents2 = call(hook(c"vkCmdWaitEvents2"));
        wait(cmd, 1, &raw const event, &raw const info);
        wait(secondary, 1, &raw const event, &raw const info);
        let all = logged();
        assert_eq!(all.len(), 3);
        assert!(all.iter().all(|text| *text == all[0]), "{all:?}");
        assert!(all[0].contains("(COMPUTE_SHADER, COMPUTE_SHADER | INDEX_INPUT,"), "{all:?}");
        // The captures of a pass whose commands are stored are recorded before it, so the wait is recorded there, too.
        let begin: vk::PFN_vkCmdBeginRendering = call(commands::hook(c"vkCmdBeginRendering"));
        let end: vk::PFN_vkCmdEndRendering = call(commands::hook(c"vkCmdEndRendering"));
        begin(cmd, &vk::RenderingInfo::default());
        wait(cmd, 1, &raw const event, &raw const info);
        assert_eq!(logged(), [all[0].as_str()]);
        end(cmd);
        assert_eq!(logged(), ["begin", all[0].as_str(), "end"]);
        let set: vk::PFN_vkCmdSetEvent = call(hook(c"vkCmdSetEvent"));
        set(cmd, event, XFB | Stage::TRANSFER);
        assert_eq!(logged(), ["event COMPUTE_SHADER | TRANSFER"]);
        let barrier2: vk::PFN_vkCmdPipelineBarrier2 = call(hook(c"vkCmdPipelineBarrier2"));
        barrier2(cmd, &raw const info);
        barrier2(secondary, &raw const info);
        assert_eq!(logged().len(), 1);
        let timestamp: vk::PFN_vkCmdWriteTimestamp = call(hook(c"vkCmdWriteTimestamp"));
        timestamp(cmd, XFB, vk::QueryPool::null(), 3);
        assert_eq!(logged(), ["timestamp COMPUTE_SHADER 3"]);
    }
}

#[test]
fn submissions_and_creations() {
    logged();
    let device = device();
    let queue = vk::Queue::from_raw(device.as_raw());
    let waits = [Stage::VERTEX_INPUT, Stage::COLOR_ATTACHMENT_OUTPUT, XFB];
    let semaphores = [vk::Semaphore::null(); 3];
    let submits = [
        vk::SubmitInfo::default().wait_semaphores(&semaphores).wait_dst_stage_mask(&waits),
        vk::SubmitInfo::default(),
    ];
    let info = |stages| vk::SemaphoreSubmitInfo::default().stage_mask(stages);
    let output = [info(vk::PipelineStageFlags2::COLOR_ATTACHMENT_OUTPUT)];
    let submit2 =
        vk::SubmitInfo2::default().wait_semaphore_infos(&output).signal_semaphore_infos(&output);
    let none = std::ptr::null();
    unsafe {
        call::<vk::PFN_vkQueueSubmit>(hook(c"vkQueueSubmit"))(
            queue,
            2,
            submits.as_ptr(),
            vk::Fence::null(),
        )
        .result()
        .unwrap();
        let expected =
            "submit [VERTEX_INPUT | COMPUTE_SHADER, COLOR_ATTACHMENT_OUTPUT, COMPUTE_SHADER]";
        assert_eq!(logged(), [expected, "submit []"]);
        let submit: vk::PFN_vkQueueSubmit2 = call(hook(c"vkQueueSubmit2KHR"));
        submit(queue, 1, &raw const submit2, vk::Fence::null()).result().unwrap();
        let expected =
            "submit2 [COLOR_ATTACHMENT_OUTPUT] [COLOR_ATTACHMENT_OUTPUT | COMPUTE_SHADER]";
        assert_eq!(logged(), [expected]);

        let dependencies = [vk::SubpassDependency::default()
            .dst_subpass(vk::SUBPASS_EXTERNAL)
            .src_stage_mask(XFB)
            .dst_stage_mask(Stage::TRANSFER)];
        let info = vk::RenderPassCreateInfo::default().dependencies(&dependencies);
        let mut pass = vk::RenderPass::null();
        let create: vk::PFN_vkCreateRenderPass = call(objects::hook(c"vkCreateRenderPass"));
        create(device, &raw const info, none, &raw mut pass).result().unwrap();
        assert_eq!(logged(), ["pass VERTEX_SHADER"]);
        let data = DeviceData::of(device).unwrap();
        let passes = &data.translation().unwrap().render_passes;
        let after = passes.get(pass).barriers.after_pass;
        assert_eq!((after.src_stages, after.dst_stages), (Stage::COMPUTE_SHADER, Stage::TRANSFER));
        let cmd = vk::CommandBuffer::null();
        after.record(Kind::AfterPass, driver::pipeline_barrier, cmd);
        passes.get(pass).barriers.before.record(
            Kind::BeforeCaptures,
            driver::pipeline_barrier,
            cmd,
        );
        assert_eq!(logged(), ["barrier COMPUTE_SHADER -> TRANSFER [(, )]"]);
        let destroy: vk::PFN_vkDestroyRenderPass = call(objects::hook(c"vkDestroyRenderPass"));
        destroy(device, pass, none);
        assert!(passes.get(pass).barriers.after_pass.is_empty());

        let info = vk::BufferCreateInfo::default()
            .usage(vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT);
        let mut buffer = vk::Buffer::null();
        let create: vk::PFN_vkCreateBuffer = call(objects::hook(c"vkCreateBuffer"));
        let result = create(device, &raw const info, none, &raw mut buffer);
        assert_eq!(result, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
        assert_eq!(logged(), ["buffer SHADER_DEVICE_ADDRESS"]);
    }
}

/// Checks that the test `submissions_and_creations` fails if the stages of semaphores are not translated.
/// Synchronization validation would not notice that, because it does not compare submissions.
#[test]
fn submissions_left_out() {
    let run = |omitted: &[(&str, &str)]| {
        let test = "hooks::dependencies::tests::submissions_and_creations";
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env_remove("VKXFB_OMIT_TRANSLATION")
            .envs(omitted.iter().copied())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.success(), said.contains("submit [VERTEX_INPUT, COLOR_ATTACHMENT_OUTPUT, "))
    };
    assert_eq!(run(&[]), (true, false));
    assert_eq!(run(&[("VKXFB_OMIT_TRANSLATION", "Submit")]), (false, true));
}
