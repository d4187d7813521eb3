//! What `vkxfb_pipeline_prepare` was told of creates no pipeline when it is recorded.

use std::ffi::{CStr, c_char};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use ash::vk;
use vkxfb_capi::*;

use crate::calls::{Objects, succeeds};
use crate::create_info::Physical;

/// The number of pipelines that were created. Each call creates one.
static CREATED: AtomicU32 = AtomicU32::new(0);
static INSTANCE_COMMANDS: OnceLock<vk::PFN_vkGetInstanceProcAddr> = OnceLock::new();
static DEVICE_COMMANDS: OnceLock<vk::PFN_vkGetDeviceProcAddr> = OnceLock::new();
static CREATE: OnceLock<vk::PFN_vkCreateComputePipelines> = OnceLock::new();

/// A command of which only the caller knows the type.
type Command = unsafe extern "system" fn();

unsafe extern "system" fn get_instance_proc_addr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: Vulkan's contract, which is the caller's; the commands have the types of their names.
    unsafe {
        let found = INSTANCE_COMMANDS.get().unwrap()(instance, name)?;
        if CStr::from_ptr(name) != c"vkGetDeviceProcAddr" {
            return Some(found);
        }
        DEVICE_COMMANDS.get_or_init(|| std::mem::transmute(found));
        Some(std::mem::transmute::<vk::PFN_vkGetDeviceProcAddr, Command>(get_device_proc_addr))
    }
}

unsafe extern "system" fn get_device_proc_addr(
    device: vk::Device,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: as above.
    unsafe {
        let found = DEVICE_COMMANDS.get().unwrap()(device, name)?;
        if CStr::from_ptr(name) != c"vkCreateComputePipelines" {
            return Some(found);
        }
        CREATE.get_or_init(|| std::mem::transmute(found));
        Some(std::mem::transmute::<vk::PFN_vkCreateComputePipelines, Command>(
            create_compute_pipelines,
        ))
    }
}

unsafe extern "system" fn create_compute_pipelines(
    device: vk::Device,
    cache: vk::PipelineCache,
    count: u32,
    infos: *const vk::ComputePipelineCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    pipelines: *mut vk::Pipeline,
) -> vk::Result {
    CREATED.fetch_add(count, Ordering::Relaxed);
    // SAFETY: as above.
    unsafe { CREATE.get().unwrap()(device, cache, count, infos, allocator, pipelines) }
}

const STRIP: vk::PrimitiveTopology = vk::PrimitiveTopology::TRIANGLE_STRIP;

/// This is a single test, because the number is that of the process.
#[test]
fn what_is_prepared_creates_no_pipeline_later() {
    // SAFETY: the loader stays loaded.
    let entry = unsafe { ash::Entry::load() }.unwrap();
    INSTANCE_COMMANDS.set(entry.static_fn().get_instance_proc_addr).unwrap();
    let version = vk::API_VERSION_1_2;
    let mut objects = Objects::on(Physical::through(Some(get_instance_proc_addr), version, 0));
    let (context, capture) = (objects.context, objects.capture);
    let (pool, commands) = objects.begin_commands();
    let (buffer, memory) = memory(&objects);
    let range = VkxfbBufferRange { buffer, offset: 0, size: 1024 };
    let counter = VkxfbCounterBuffer { buffer, offset: 1024 };
    // SAFETY: the arguments are valid; nothing is submitted.
    unsafe { succeeds(vkxfb_context_prepare(context, vk::PipelineCache::null())) };
    let others = VKXFB_DRAWS_COUNTED | VKXFB_DRAWS_INDIRECT | VKXFB_DRAWS_INDEXED;
    for more in (0..=others).filter(|more| more & !others == 0) {
        let flags = VKXFB_DRAWS_RESTART | more;
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(STRIP)
            .primitive_restart_enable(true);
        succeeds(objects.make_pipeline(|info| info.p_input_assembly_state = &assembly));
        CREATED.store(0, Ordering::Relaxed);
        let draws = VkxfbExpectedDraws { topology: STRIP, flags };
        // SAFETY: as above.
        let prepared =
            unsafe { vkxfb_pipeline_prepare(objects.pipeline, 1, &draws, Default::default()) };
        succeeds(prepared);
        assert!(CREATED.swap(0, Ordering::Relaxed) > 0, "the commands are those of the test");
        for is_counted in [false, true] {
            let begin = VkxfbCaptureBeginInfo {
                p_buffers: &range,
                p_vertex_buffers: &range,
                counter_buffer_count: is_counted.into(),
                p_counter_buffers: &counter,
                ..objects.begin_info()
            };
            let draw = vk::DrawIndexedIndirectCommand {
                index_count: 9,
                instance_count: 1,
                ..Default::default()
            };
            // SAFETY: as above.
            unsafe {
                succeeds(vkxfb_capture_begin(capture, &begin));
                let bound = vkxfb_capture_bind_index_buffer(capture, &range, vk::IndexType::UINT16);
                succeeds(bound);
                succeeds(vkxfb_capture_draw_indexed(capture, STRIP, &draw));
                let counters = u32::from(is_counted);
                succeeds(vkxfb_capture_end(capture, commands, counters, &counter, null_mut()));
            }
            let created = CREATED.swap(0, Ordering::Relaxed);
            assert_eq!(created, 0, "flags {flags:#x}, counted: {is_counted}");
        }
        // SAFETY: the command buffer is recorded from its start again.
        unsafe {
            objects.device.reset_command_pool(pool, Default::default()).unwrap();
            objects.device.begin_command_buffer(commands, &Default::default()).unwrap();
            succeeds(vkxfb_capture_reset(capture));
        }
    }
    objects.destroy_commands(pool);
    objects.destroy_buffer(buffer);
    // SAFETY: nothing uses it any more.
    unsafe { objects.device.free_memory(memory, None) };
}

/// A buffer for all that captures access, with its memory.
fn memory(objects: &Objects) -> (vk::Buffer, vk::DeviceMemory) {
    // SAFETY: the context and the device are live; a buffer may have memory of any type that it allows.
    unsafe {
        let usage = vkxfb_context_buffer_usage(objects.context);
        let (buffer, size) = objects.make_buffer(4096, usage);
        let allowed = objects.device.get_buffer_memory_requirements(buffer).memory_type_bits;
        let mut flags =
            vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(size)
            .memory_type_index(allowed.trailing_zeros())
            .push_next(&mut flags);
        let memory = objects.device.allocate_memory(&info, None).unwrap();
        objects.device.bind_buffer_memory(buffer, memory, 0).unwrap();
        (buffer, memory)
    }
}
