//! `VK_LAYER_VKXFB_forwarding`: the Vulkan layer with which the benchmark `recording` compares the layer of vkxfb. It is
//! built for the benchmark alone, and never installed.
//!
//! Its hooks do the least that a layer must do which captures draws: they find the state of the command buffer, copy into
//! it what a captured draw would read, and forward the command. What vkxfb's layer costs beyond that is its own fault. So
//! this layer is as fast as a complete one could be: a command buffer is found without a lock, arrays have fixed sizes,
//! and nothing catches panics, because nothing here panics.

#![allow(
    clippy::missing_safety_doc,
    reason = "functions that Vulkan calls have the contracts of its commands"
)]

mod command_buffers;
#[allow(dead_code, reason = "the layer uses all of it")]
#[path = "../../src/dispatch_keys.rs"]
mod dispatch_keys;
#[path = "../../src/interface.rs"]
pub mod interface;
mod links;

use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use ash::vk;

use self::command_buffers::{allocated, find, freed, search};
use self::dispatch_keys::{DispatchKey, DispatchMap};
use self::interface::NegotiateLayerInterface;
use self::links::{FAILED, hook};

static INSTANCES: DispatchMap<Instance> = DispatchMap::new();
static DEVICES: DispatchMap<Device> = DispatchMap::new();

/// The functions of the layer or driver below. They are fetched while the instance is created, because the loader of
/// Debian 12 later returns those of the first layer.
struct Instance {
    get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
    functions: ash::Instance,
}

/// The functions of the layer or driver below.
struct Device {
    get_device_proc_addr: vk::PFN_vkGetDeviceProcAddr,
    functions: ash::Device,
}

impl Device {
    /// Finds the device of a device, queue or command buffer.
    ///
    /// # Safety
    /// The contract of [`DispatchKey::of`].
    unsafe fn of<H: vk::Handle>(handle: H) -> Option<Arc<Self>> {
        DEVICES.get(unsafe { DispatchKey::of(handle) }?)
    }
}

fn instance_hook(name: &CStr) -> vk::PFN_vkVoidFunction {
    match name.to_bytes() {
        b"vkGetInstanceProcAddr" => hook!(get_instance_proc_addr as PFN_vkGetInstanceProcAddr),
        b"vkCreateInstance" => hook!(create_instance as PFN_vkCreateInstance),
        b"vkDestroyInstance" => hook!(destroy_instance as PFN_vkDestroyInstance),
        b"vkCreateDevice" => hook!(create_device as PFN_vkCreateDevice),
        _ => device_hook(name),
    }
}

fn device_hook(name: &CStr) -> vk::PFN_vkVoidFunction {
    match name.to_bytes() {
        b"vkGetDeviceProcAddr" => hook!(get_device_proc_addr as PFN_vkGetDeviceProcAddr),
        b"vkDestroyDevice" => hook!(destroy_device as PFN_vkDestroyDevice),
        b"vkAllocateCommandBuffers" => hook!(allocate as PFN_vkAllocateCommandBuffers),
        b"vkFreeCommandBuffers" => hook!(free as PFN_vkFreeCommandBuffers),
        b"vkBeginCommandBuffer" => hook!(begin as PFN_vkBeginCommandBuffer),
        b"vkCmdBindPipeline" => hook!(bind_pipeline as PFN_vkCmdBindPipeline),
        b"vkCmdBindDescriptorSets" => hook!(bind_descriptor_sets as PFN_vkCmdBindDescriptorSets),
        b"vkCmdBindVertexBuffers" => hook!(bind_vertex_buffers as PFN_vkCmdBindVertexBuffers),
        b"vkCmdPushConstants" => hook!(push_constants as PFN_vkCmdPushConstants),
        b"vkCmdDraw" => hook!(draw as PFN_vkCmdDraw),
        _ => None,
    }
}

/// Defines the hooks of commands that are recorded, from what each copies into the state of the command buffer.
macro_rules! recorded {
    ($($name:ident $next:ident ($($parameter:ident: $ty:ty),* $(,)?) |$recorded:ident| $copy:expr;)*) => {$(
        #[allow(clippy::too_many_arguments, reason = "as the command has them")]
        unsafe extern "system" fn $name(command_buffer: vk::CommandBuffer, $($parameter: $ty),*) {
            // Not inlined, so that the hook saves no registers for it.
            #[inline(never)]
            unsafe extern "system" fn search_first(
                command_buffer: vk::CommandBuffer,
                $($parameter: $ty),*
            ) {
                if search(command_buffer) {
                    unsafe { $name(command_buffer, $($parameter),*) };
                }
            }
            unsafe {
                let Some($recorded) = find(command_buffer) else {
                    return search_first(command_buffer, $($parameter),*);
                };
                $copy;
                ($recorded.functions().$next)(command_buffer, $($parameter),*);
            }
        }
    )*};
}

recorded! {
    bind_pipeline cmd_bind_pipeline(point: vk::PipelineBindPoint, pipeline: vk::Pipeline) |recorded| {
        if let Some(bound) = recorded.bound(point) {
            bound.pipeline = pipeline;
        }
    };
    bind_descriptor_sets cmd_bind_descriptor_sets(
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        first: u32,
        count: u32,
        sets: *const vk::DescriptorSet,
        offset_count: u32,
        offsets: *const u32,
    ) |recorded| {
        if let Some(bound) = recorded.bound(point) {
            bound.layout = layout;
            copy(&mut bound.sets, first, sets, count);
            // Whenever a draw is captured, the layout says which offset belongs to which set.
            copy(&mut bound.dynamic_offsets, 0, offsets, offset_count);
        }
    };
    bind_vertex_buffers cmd_bind_vertex_buffers(
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const vk::DeviceSize,
    ) |recorded| {
        for number in 0..count as usize {
            if let Some(bound) = recorded.vertex_buffers.get_mut(first as usize + number) {
                *bound = (*buffers.add(number), *offsets.add(number));
            }
        }
    };
    push_constants cmd_push_constants(
        layout: vk::PipelineLayout,
        stages: vk::ShaderStageFlags,
        offset: u32,
        size: u32,
        values: *const c_void,
    ) |recorded| {
        copy(&mut recorded.constants, offset, values.cast(), size);
        // With these the constants can be pushed again, after a capture that pushes its own.
        recorded.pushed = (layout, stages, offset, size);
    };
    draw cmd_draw(
        vertex_count: u32,
        instance_count: u32,
        first_vertex: u32,
        first_instance: u32,
    ) |recorded| {};
}

/// Copies an array of a command to `first` of an array of the state. What does not fit is left out.
///
/// # Safety
/// There are `count` values at the pointer.
unsafe fn copy<T: Copy>(to: &mut [T], first: u32, from: *const T, count: u32) {
    let to = to.get_mut(first as usize..).and_then(|to| to.get_mut(..count as usize));
    if let Some(to) = to {
        // SAFETY: the caller's contract: there are `count` elements, which are not those of the state.
        unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
    }
}

unsafe extern "system" fn begin(
    command_buffer: vk::CommandBuffer,
    info: *const vk::CommandBufferBeginInfo<'_>,
) -> vk::Result {
    unsafe {
        if !search(command_buffer) {
            return FAILED;
        }
        let Some(recorded) = find(command_buffer) else { return FAILED };
        recorded.reset();
        (recorded.functions().begin_command_buffer)(command_buffer, info)
    }
}

unsafe extern "system" fn allocate(
    device: vk::Device,
    info: *const vk::CommandBufferAllocateInfo<'_>,
    command_buffers: *mut vk::CommandBuffer,
) -> vk::Result {
    unsafe {
        let Some(of) = Device::of(device) else { return FAILED };
        let next = of.functions.fp_v1_0().allocate_command_buffers;
        let result = next(device, info, command_buffers);
        if result == vk::Result::SUCCESS {
            let count = (*info).command_buffer_count as usize;
            allocated(&of, std::slice::from_raw_parts(command_buffers, count));
        }
        result
    }
}

unsafe extern "system" fn free(
    device: vk::Device,
    pool: vk::CommandPool,
    count: u32,
    command_buffers: *const vk::CommandBuffer,
) {
    unsafe {
        let Some(of) = Device::of(device) else { return };
        if count > 0 {
            freed(std::slice::from_raw_parts(command_buffers, count as usize));
        }
        (of.functions.fp_v1_0().free_command_buffers)(device, pool, count, command_buffers);
    }
}

unsafe extern "system" fn create_instance(
    info: *const vk::InstanceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance,
) -> vk::Result {
    unsafe {
        let get = match links::create_instance(info, allocator, instance) {
            Ok(get) => get,
            Err(error) => return error,
        };
        let entry = ash::StaticFn { get_instance_proc_addr: get };
        let functions = ash::Instance::load(&entry, *instance);
        let data = Instance { get_instance_proc_addr: get, functions };
        let Some(key) = DispatchKey::of(*instance) else { return FAILED };
        INSTANCES.insert(key, Arc::new(data));
    }
    vk::Result::SUCCESS
}

unsafe extern "system" fn destroy_instance(
    instance: vk::Instance,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    unsafe {
        let Some(of) = DispatchKey::of(instance).and_then(|key| INSTANCES.remove(key)) else {
            return;
        };
        (of.functions.fp_v1_0().destroy_instance)(instance, allocator);
    }
}

unsafe extern "system" fn create_device(
    physical_device: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    device: *mut vk::Device,
) -> vk::Result {
    unsafe {
        let of = DispatchKey::of(physical_device).and_then(|key| INSTANCES.get(key));
        let Some(of) = of else { return FAILED };
        let create = of.functions.fp_v1_0().create_device;
        let created = links::create_device(create, physical_device, info, allocator, device);
        let get_device_proc_addr = match created {
            Ok(get) => get,
            Err(error) => return error,
        };
        let load = |name: &CStr| {
            let function = get_device_proc_addr(*device, name.as_ptr());
            std::mem::transmute::<vk::PFN_vkVoidFunction, *const c_void>(function)
        };
        let functions = ash::Device::load_with(load, *device);
        let Some(key) = DispatchKey::of(*device) else { return FAILED };
        DEVICES.insert(key, Arc::new(Device { get_device_proc_addr, functions }));
    }
    vk::Result::SUCCESS
}

unsafe extern "system" fn destroy_device(
    device: vk::Device,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    unsafe {
        let Some(of) = DispatchKey::of(device).and_then(|key| DEVICES.remove(key)) else { return };
        (of.functions.fp_v1_0().destroy_device)(device, allocator);
    }
}

unsafe extern "system" fn get_instance_proc_addr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    unsafe {
        instance_hook(CStr::from_ptr(name)).or_else(|| {
            let of = INSTANCES.get(DispatchKey::of(instance)?)?;
            (of.get_instance_proc_addr)(instance, name)
        })
    }
}

unsafe extern "system" fn get_device_proc_addr(
    device: vk::Device,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    unsafe {
        device_hook(CStr::from_ptr(name)).or_else(|| {
            let of = Device::of(device)?;
            (of.get_device_proc_addr)(device, name)
        })
    }
}

/// The loader's first call of the layer.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is Vulkan's")]
pub unsafe extern "system" fn vkNegotiateLoaderLayerInterfaceVersion(
    version: *mut NegotiateLayerInterface,
) -> vk::Result {
    // SAFETY: the loader's contract: the structure may be written.
    unsafe { links::negotiate(version, get_instance_proc_addr, get_device_proc_addr) }
}
