//! The place of a small layer in the loader's chain: what it answers to the loader, and how it creates instances and
//! devices through the layer or driver below. The layer of the tests, `tests/hiding`, shares this file. The layer of vkxfb
//! has its own, which is made for programs and drivers that do what they should not.

use std::ffi::c_void;

use ash::vk;

use crate::interface::{
    INTERFACE_VERSION, LayerDeviceCreateInfo, LayerFunction, LayerInstanceCreateInfo,
    NEGOTIATE_INTERFACE_STRUCT, NegotiateLayerInterface,
};

/// What a layer answers where the loader breaks its contract.
pub(crate) const FAILED: vk::Result = vk::Result::ERROR_INITIALIZATION_FAILED;

/// Casts a hook to an untyped function pointer, after a check that it has the type of its command.
macro_rules! hook {
    ($function:path as $ty:ident) => {{
        let function: vk::$ty = $function;
        // SAFETY: all function pointers have the same size, and the caller casts the pointer back.
        Some(unsafe { std::mem::transmute::<vk::$ty, unsafe extern "system" fn()>(function) })
    }};
}

pub(crate) use hook;

/// Finds the loader's structure with the layer's link in the chain of a create info.
/// [`LayerDeviceCreateInfo`] begins as [`LayerInstanceCreateInfo`] does.
///
/// # Safety
/// The chain is valid.
unsafe fn link_info(
    first: *const c_void,
    s_type: vk::StructureType,
) -> Option<*mut LayerInstanceCreateInfo> {
    // SAFETY: the caller's contract: the chain is valid, and the type of a structure is what its sType says.
    unsafe {
        let mut next = first.cast::<vk::BaseInStructure<'_>>();
        while let Some(structure) = next.as_ref() {
            let info = next.cast_mut().cast::<LayerInstanceCreateInfo>();
            if structure.s_type == s_type && (*info).function == LayerFunction::LINK_INFO {
                return Some(info);
            }
            next = structure.p_next;
        }
    }
    None
}

/// Creates an instance through the layer or driver below, and returns its `vkGetInstanceProcAddr`.
///
/// # Errors
/// What the layer or driver below answers, and [`FAILED`] where the loader passed no link.
///
/// # Safety
/// The contracts of `vkCreateInstance` and of the loader.
pub(crate) unsafe fn create_instance(
    info: *const vk::InstanceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance,
) -> Result<vk::PFN_vkGetInstanceProcAddr, vk::Result> {
    unsafe {
        let s_type = vk::StructureType::LOADER_INSTANCE_CREATE_INFO;
        let own = link_info((*info).p_next, s_type).ok_or(FAILED)?;
        let link = (*own).layer_info.as_ref().ok_or(FAILED)?;
        (*own).layer_info = link.p_next;
        let get = link.next_get_instance_proc_addr;
        let create = get(vk::Instance::null(), c"vkCreateInstance".as_ptr()).ok_or(FAILED)?;
        let create: vk::PFN_vkCreateInstance = std::mem::transmute(create);
        create(info, allocator, instance).result()?;
        Ok(get)
    }
}

/// Creates a device with `create` of the layer or driver below, and returns its `vkGetDeviceProcAddr`.
///
/// # Errors
/// What the layer or driver below answers, and [`FAILED`] where the loader passed no link.
///
/// # Safety
/// The contracts of `vkCreateDevice` and of the loader.
pub(crate) unsafe fn create_device(
    create: vk::PFN_vkCreateDevice,
    physical_device: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    device: *mut vk::Device,
) -> Result<vk::PFN_vkGetDeviceProcAddr, vk::Result> {
    unsafe {
        let s_type = vk::StructureType::LOADER_DEVICE_CREATE_INFO;
        let own = link_info((*info).p_next, s_type).ok_or(FAILED)?;
        let own = own.cast::<LayerDeviceCreateInfo>();
        let link = (*own).layer_info.as_ref().ok_or(FAILED)?;
        (*own).layer_info = link.p_next;
        let get_device_proc_addr = link.next_get_device_proc_addr;
        create(physical_device, info, allocator, device).result()?;
        Ok(get_device_proc_addr)
    }
}

/// Answers the loader's first call of the layer.
///
/// # Safety
/// The pointer is null, or that of a structure that may be written.
pub(crate) unsafe fn negotiate(
    version: *mut NegotiateLayerInterface,
    get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
    get_device_proc_addr: vk::PFN_vkGetDeviceProcAddr,
) -> vk::Result {
    let Some(version) = (unsafe { version.as_mut() }) else { return FAILED };
    if version.s_type != NEGOTIATE_INTERFACE_STRUCT
        || version.loader_layer_interface_version < INTERFACE_VERSION
    {
        return FAILED;
    }
    version.loader_layer_interface_version = INTERFACE_VERSION;
    version.get_instance_proc_addr = Some(get_instance_proc_addr);
    version.get_device_proc_addr = Some(get_device_proc_addr);
    version.get_physical_device_proc_addr = None;
    vk::Result::SUCCESS
}
