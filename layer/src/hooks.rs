//! The commands that the layer intercepts, in one table, and the functions that hand them out.

use std::ffi::{CStr, c_char};

use ash::vk;

use crate::advertise::formats;
use crate::device::DeviceData;
use crate::guard::guard;
use crate::instance::InstanceData;
use crate::interface::{
    INTERFACE_VERSION, NEGOTIATE_INTERFACE_STRUCT, NegotiateLayerInterface,
    PFN_GetPhysicalDeviceProcAddr,
};
use crate::translate::external;
use crate::withheld::KNOWN_COMMANDS;
use crate::{advertise, device, emulation, instance, properties, recording, translate};

/// The object that a command is called with. It decides which function finds the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// None.
    Global,
    /// An instance.
    Instance,
    /// A physical device.
    PhysicalDevice,
    /// A device, or an object of a device: found by `vkGetDeviceProcAddr`, too.
    Device,
}

/// A command that is intercepted.
struct Hook {
    level: Level,
    function: unsafe extern "system" fn(),
    /// Whether the command exists: a command of an extension exists only if the next in the chain
    /// has it.
    is_there: fn(&InstanceData) -> bool,
}

/// Casts a function to an untyped pointer. The type that is given is that of the command, and is
/// checked.
macro_rules! untyped {
    ($function:path as $ty:ty) => {{
        let function: $ty = $function;
        // SAFETY: the caller casts the pointer back to the type of the command.
        unsafe { std::mem::transmute::<$ty, unsafe extern "system" fn()>(function) }
    }};
}

impl Hook {
    /// Finds the hook for a command.
    fn find(name: &CStr) -> Option<Self> {
        let always = |_: &InstanceData| true;
        let hook = |level, function| Some(Self { level, function, is_there: always });
        match name.to_bytes() {
            b"vkGetInstanceProcAddr" => hook(
                Level::Global,
                untyped!(get_instance_proc_addr as vk::PFN_vkGetInstanceProcAddr),
            ),
            b"vkCreateInstance" => {
                hook(Level::Global, untyped!(instance::create_instance as vk::PFN_vkCreateInstance))
            }
            b"vkEnumerateInstanceLayerProperties" => hook(
                Level::Global,
                untyped!(
                    properties::enumerate_instance_layer_properties
                        as vk::PFN_vkEnumerateInstanceLayerProperties
                ),
            ),
            b"vkEnumerateInstanceExtensionProperties" => hook(
                Level::Global,
                untyped!(
                    properties::enumerate_instance_extension_properties
                        as vk::PFN_vkEnumerateInstanceExtensionProperties
                ),
            ),
            b"vk_layerGetPhysicalDeviceProcAddr" => hook(
                Level::Instance,
                untyped!(get_physical_device_proc_addr as PFN_GetPhysicalDeviceProcAddr),
            ),
            b"vkDestroyInstance" => hook(
                Level::Instance,
                untyped!(instance::destroy_instance as vk::PFN_vkDestroyInstance),
            ),
            b"vkCreateDevice" => hook(
                Level::PhysicalDevice,
                untyped!(device::create_device as vk::PFN_vkCreateDevice),
            ),
            b"vkEnumerateDeviceLayerProperties" => hook(
                Level::PhysicalDevice,
                untyped!(
                    properties::enumerate_device_layer_properties
                        as vk::PFN_vkEnumerateDeviceLayerProperties
                ),
            ),
            b"vkEnumerateDeviceExtensionProperties" => hook(
                Level::PhysicalDevice,
                untyped!(
                    properties::enumerate_device_extension_properties
                        as vk::PFN_vkEnumerateDeviceExtensionProperties
                ),
            ),
            b"vkGetPhysicalDeviceExternalBufferProperties" => Some(Self {
                level: Level::PhysicalDevice,
                function: untyped!(
                    external::buffer_properties
                        as vk::PFN_vkGetPhysicalDeviceExternalBufferProperties
                ),
                is_there: |instance| instance.external_buffers.is_some(),
            }),
            b"vkGetPhysicalDeviceExternalBufferPropertiesKHR" => Some(Self {
                level: Level::PhysicalDevice,
                function: untyped!(
                    external::buffer_properties_khr
                        as vk::PFN_vkGetPhysicalDeviceExternalBufferProperties
                ),
                is_there: |instance| instance.external_buffers_khr.is_some(),
            }),
            b"vkGetPhysicalDeviceFeatures2" => Some(Self {
                level: Level::PhysicalDevice,
                function: untyped!(
                    advertise::get_features2 as vk::PFN_vkGetPhysicalDeviceFeatures2
                ),
                is_there: |instance| instance.features2.is_some(),
            }),
            b"vkGetPhysicalDeviceFeatures2KHR" => Some(Self {
                level: Level::PhysicalDevice,
                function: untyped!(
                    advertise::get_features2_khr as vk::PFN_vkGetPhysicalDeviceFeatures2
                ),
                is_there: |instance| instance.features2_khr.is_some(),
            }),
            b"vkGetPhysicalDeviceProperties2" => Some(Self {
                level: Level::PhysicalDevice,
                function: untyped!(
                    advertise::get_properties2 as vk::PFN_vkGetPhysicalDeviceProperties2
                ),
                is_there: |instance| instance.properties2.is_some(),
            }),
            b"vkGetPhysicalDeviceProperties2KHR" => Some(Self {
                level: Level::PhysicalDevice,
                function: untyped!(
                    advertise::get_properties2_khr as vk::PFN_vkGetPhysicalDeviceProperties2
                ),
                is_there: |instance| instance.properties2_khr.is_some(),
            }),
            b"vkGetPhysicalDeviceFormatProperties" => hook(
                Level::PhysicalDevice,
                untyped!(
                    formats::get_format_properties as vk::PFN_vkGetPhysicalDeviceFormatProperties
                ),
            ),
            b"vkGetPhysicalDeviceFormatProperties2" => Some(Self {
                level: Level::PhysicalDevice,
                function: untyped!(
                    formats::get_format_properties2 as vk::PFN_vkGetPhysicalDeviceFormatProperties2
                ),
                is_there: |instance| instance.format_properties2.is_some(),
            }),
            b"vkGetPhysicalDeviceFormatProperties2KHR" => Some(Self {
                level: Level::PhysicalDevice,
                function: untyped!(
                    formats::get_format_properties2_khr
                        as vk::PFN_vkGetPhysicalDeviceFormatProperties2
                ),
                is_there: |instance| instance.format_properties2_khr.is_some(),
            }),
            b"vkGetPhysicalDeviceToolProperties" => Some(Self {
                level: Level::PhysicalDevice,
                function: untyped!(
                    properties::get_tool_properties as vk::PFN_vkGetPhysicalDeviceToolProperties
                ),
                is_there: |instance| instance.get_tool_properties.is_some(),
            }),
            b"vkGetPhysicalDeviceToolPropertiesEXT" => Some(Self {
                level: Level::PhysicalDevice,
                function: untyped!(
                    properties::get_tool_properties_ext
                        as vk::PFN_vkGetPhysicalDeviceToolProperties
                ),
                is_there: |instance| instance.get_tool_properties_ext.is_some(),
            }),
            b"vkGetDeviceProcAddr" => {
                hook(Level::Device, untyped!(get_device_proc_addr as vk::PFN_vkGetDeviceProcAddr))
            }
            b"vkDestroyDevice" => {
                hook(Level::Device, untyped!(device::destroy_device as vk::PFN_vkDestroyDevice))
            }
            _ => None,
        }
    }
}

/// `vkNegotiateLoaderLayerInterfaceVersion`
///
/// # Safety
/// The pointer is null or to a structure that may be written.
pub(crate) unsafe fn negotiate(version: *mut NegotiateLayerInterface) -> vk::Result {
    const FAILED: vk::Result = vk::Result::ERROR_INITIALIZATION_FAILED;
    guard("vkNegotiateLoaderLayerInterfaceVersion", FAILED, || {
        // SAFETY: the caller's contract.
        let Some(version) = (unsafe { version.as_mut() }) else { return FAILED };
        if version.s_type != NEGOTIATE_INTERFACE_STRUCT
            || version.loader_layer_interface_version < INTERFACE_VERSION
        {
            return FAILED;
        }
        version.loader_layer_interface_version = INTERFACE_VERSION;
        version.get_instance_proc_addr = Some(get_instance_proc_addr);
        version.get_device_proc_addr = Some(get_device_proc_addr);
        version.get_physical_device_proc_addr = Some(get_physical_device_proc_addr);
        vk::Result::SUCCESS
    })
}

/// # Safety
/// The pointer is null or to a null-terminated string that outlives the result.
unsafe fn text<'a>(name: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller's contract.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })
}

/// `vkGetInstanceProcAddr`
pub(crate) unsafe extern "system" fn get_instance_proc_addr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    guard("vkGetInstanceProcAddr", None, || {
        // SAFETY: Vulkan's contract, which is the caller's.
        let (command, data) = unsafe { (text(name)?, InstanceData::of(instance)) };
        match Hook::find(command) {
            // The loader also asks with an instance that has not been created yet, and layers above,
            // such as Mesa's overlay and MangoHud, ask for vkCreateDevice with a null instance.
            Some(hook) => data.is_none_or(|data| (hook.is_there)(&data)).then_some(hook.function),
            // SAFETY: Vulkan's contract, which is the caller's.
            None => unsafe { (data?.get_instance_proc_addr)(instance, name) },
        }
    })
}

/// `vkGetDeviceProcAddr`
pub(crate) unsafe extern "system" fn get_device_proc_addr(
    device: vk::Device,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    guard("vkGetDeviceProcAddr", None, || {
        // SAFETY: Vulkan's contract, which is the caller's.
        let (command, data) = unsafe { (text(name)?, DeviceData::of(device)?) };
        match Hook::find(command).filter(|hook| hook.level == Level::Device) {
            Some(hook) => Some(hook.function),
            // SAFETY: Vulkan's contract, which is the caller's.
            None => unsafe { command_of(&data, device, command) },
        }
    })
}

/// Finds a command of a device that the layer does not hook on every device.
///
/// # Safety
/// The device is live, and `data` is its state.
unsafe fn command_of(
    data: &DeviceData,
    device: vk::Device,
    command: &CStr,
) -> vk::PFN_vkVoidFunction {
    // Where the layer gives the extension, its commands are never the driver's.
    if data.gives && emulation::COMMANDS.binary_search(&command).is_ok() {
        return data.emulation().and_then(|_| emulation::hook(command));
    }
    // SAFETY: the caller's contract.
    let next = unsafe { (data.get_device_proc_addr)(device, command.as_ptr()) }?;
    if data.recording.is_none() {
        return Some(next);
    }
    let emulates = data.emulation().and_then(|_| emulation::hook(command));
    let translates = || data.translation().and_then(|_| translate::hook(command));
    match emulates.or_else(translates).or_else(|| recording::hook(command)) {
        None if !is_known(command) => {
            // Inside of a withheld pass, the command would be recorded before the pass.
            tracing::warn!(
                "{} is hidden: the layer does not know the command",
                command.to_string_lossy()
            );
            None
        }
        hook => Some(hook.unwrap_or(next)),
    }
}

/// Whether a command is not recorded into command buffers, or the layer knows where it may be
/// recorded.
fn is_known(command: &CStr) -> bool {
    !command.to_bytes().starts_with(b"vkCmd") || KNOWN_COMMANDS.binary_search(&command).is_ok()
}

/// `vk_layerGetPhysicalDeviceProcAddr`: a loader calls it to find out which commands of unknown
/// extensions take a physical device.
pub(crate) unsafe extern "system" fn get_physical_device_proc_addr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    guard("vk_layerGetPhysicalDeviceProcAddr", None, || {
        // SAFETY: Vulkan's contract, which is the caller's.
        let (command, data) = unsafe { (text(name)?, InstanceData::of(instance)?) };
        match Hook::find(command) {
            Some(hook) => (hook.level == Level::PhysicalDevice && (hook.is_there)(&data))
                .then_some(hook.function),
            // SAFETY: Vulkan's contract, which is the caller's.
            None => unsafe { (data.get_physical_device_proc_addr?)(instance, name) },
        }
    })
}

#[cfg(test)]
mod tests;
