//! Hooks for the commands that the layer intercepts, and the `vkGet*ProcAddr` functions that return
//! them to programs.
//!
//! The table in this file has the commands of instances and physical devices. The hooks for
//! commands of devices are in the files of this folder, each of which has its own table:
//!
//! * `commands`: commands that the captures need not see, and the functions for all commands that can be in a pass,
//! * `observed`: commands that the captures must see,
//! * `dependencies`: commands with stages and accesses, which are translated,
//! * `drawn`: commands that name shader stages or pipeline stages, where the layer draws geometry shaders,
//! * `lists`: the lists that are drawn in place of draws with geometry shaders,
//! * `generated`: commands that execute or prepare device-generated commands,
//! * `objects`: commands that create and destroy objects,
//! * `queries`: commands of query pools,
//! * `recording`: commands that allocate, begin, end, reset, execute and free command buffers,
//! * `external`: queries of the properties of external buffers.
//!
//! `entry` has the code that these files share.

mod commands;
mod dependencies;
mod drawn;
mod entry;
mod external;
mod generated;
#[cfg(feature = "drawn")]
mod lists;
mod objects;
mod observed;
mod queries;
mod recording;

use std::ffi::{CStr, c_char};

use ash::vk;

use self::entry::untyped;
use crate::advertise::formats;
use crate::device::DeviceData;
use crate::guard::guard;
use crate::instance::InstanceData;
use crate::interface::{
    INTERFACE_VERSION, NEGOTIATE_INTERFACE_STRUCT, NegotiateLayerInterface,
    PFN_GetPhysicalDeviceProcAddr,
};
use crate::registry::KNOWN_COMMANDS;
use crate::{advertise, device, instance, properties};

/// The commands of `VK_EXT_transform_feedback`, sorted by name. On an active device that enables
/// the extension, `vkGetDeviceProcAddr` returns the layer's functions for them.
pub(crate) const EXTENSION_COMMANDS: [&CStr; 6] = [
    c"vkCmdBeginQueryIndexedEXT",
    c"vkCmdBeginTransformFeedbackEXT",
    c"vkCmdBindTransformFeedbackBuffersEXT",
    c"vkCmdDrawIndirectByteCountEXT",
    c"vkCmdEndQueryIndexedEXT",
    c"vkCmdEndTransformFeedbackEXT",
];

/// A command of `VK_EXT_extended_dynamic_state3` and `VK_EXT_shader_object` that exists only on
/// devices with `VK_EXT_transform_feedback`.
const RASTERIZATION_STREAM: &CStr = c"vkCmdSetRasterizationStreamEXT";

/// The object that is the first parameter of a command. It determines which `vkGet*ProcAddr`
/// functions return the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// The command has no such object: it is called before there is an instance.
    Global,
    Instance,
    PhysicalDevice,
    /// A device, or an object of a device. `vkGetDeviceProcAddr` returns only commands of this
    /// level.
    Device,
}

/// How the layer intercepts a command of an instance or physical device.
struct Hook {
    level: Level,
    function: unsafe extern "system" fn(),
    /// Whether an instance has the command. A command of an extension exists only if the layer or driver below has it.
    is_there: fn(&InstanceData) -> bool,
}

/// Generates [`Hook::find`] from a table. Each row is `Level name => function as type`. A row that ends in
/// `, if function` is a command that exists only if the layer or driver below has that function.
macro_rules! instance_hooks {
    ($($level:ident $name:literal => $function:path as $ty:ty $(, if $next:ident)?;)*) => {
        impl Hook {
            fn find(name: &CStr) -> Option<Self> {
                Some(match name.to_bytes() {
                    $($name => Self {
                        level: Level::$level,
                        function: untyped!($function as $ty),
                        is_there: |_instance| true $(&& _instance.optional.$next.is_some())?,
                    },)*
                    _ => return None,
                })
            }
        }
    };
}

instance_hooks! {
    Global b"vkGetInstanceProcAddr" => get_instance_proc_addr as vk::PFN_vkGetInstanceProcAddr;
    Global b"vkCreateInstance" => instance::create_instance as vk::PFN_vkCreateInstance;
    Global b"vkEnumerateInstanceLayerProperties" =>
        properties::enumerate_instance_layer_properties
            as vk::PFN_vkEnumerateInstanceLayerProperties;
    Global b"vkEnumerateInstanceExtensionProperties" =>
        properties::enumerate_instance_extension_properties
            as vk::PFN_vkEnumerateInstanceExtensionProperties;
    Instance b"vk_layerGetPhysicalDeviceProcAddr" =>
        get_physical_device_proc_addr as PFN_GetPhysicalDeviceProcAddr;
    Instance b"vkDestroyInstance" => instance::destroy_instance as vk::PFN_vkDestroyInstance;
    PhysicalDevice b"vkCreateDevice" => device::create_device as vk::PFN_vkCreateDevice;
    PhysicalDevice b"vkEnumerateDeviceLayerProperties" =>
        properties::enumerate_device_layer_properties as vk::PFN_vkEnumerateDeviceLayerProperties;
    PhysicalDevice b"vkEnumerateDeviceExtensionProperties" =>
        properties::enumerate_device_extension_properties
            as vk::PFN_vkEnumerateDeviceExtensionProperties;
    PhysicalDevice b"vkGetPhysicalDeviceExternalBufferProperties" =>
        external::buffer_properties
            as vk::PFN_vkGetPhysicalDeviceExternalBufferProperties, if external_buffers;
    PhysicalDevice b"vkGetPhysicalDeviceExternalBufferPropertiesKHR" =>
        external::buffer_properties_khr
            as vk::PFN_vkGetPhysicalDeviceExternalBufferProperties, if external_buffers_khr;
    PhysicalDevice b"vkGetPhysicalDeviceFeatures" =>
        advertise::get_features as vk::PFN_vkGetPhysicalDeviceFeatures;
    PhysicalDevice b"vkGetPhysicalDeviceFeatures2" =>
        advertise::get_features2 as vk::PFN_vkGetPhysicalDeviceFeatures2, if features2;
    PhysicalDevice b"vkGetPhysicalDeviceFeatures2KHR" =>
        advertise::get_features2_khr as vk::PFN_vkGetPhysicalDeviceFeatures2, if features2_khr;
    PhysicalDevice b"vkGetPhysicalDeviceProperties" =>
        advertise::get_properties as vk::PFN_vkGetPhysicalDeviceProperties;
    PhysicalDevice b"vkGetPhysicalDeviceProperties2" =>
        advertise::get_properties2 as vk::PFN_vkGetPhysicalDeviceProperties2, if properties2;
    PhysicalDevice b"vkGetPhysicalDeviceProperties2KHR" =>
        advertise::get_properties2_khr
            as vk::PFN_vkGetPhysicalDeviceProperties2, if properties2_khr;
    PhysicalDevice b"vkGetPhysicalDeviceFormatProperties" =>
        formats::get_format_properties as vk::PFN_vkGetPhysicalDeviceFormatProperties;
    PhysicalDevice b"vkGetPhysicalDeviceFormatProperties2" =>
        formats::get_format_properties2
            as vk::PFN_vkGetPhysicalDeviceFormatProperties2, if format_properties2;
    PhysicalDevice b"vkGetPhysicalDeviceFormatProperties2KHR" =>
        formats::get_format_properties2_khr
            as vk::PFN_vkGetPhysicalDeviceFormatProperties2, if format_properties2_khr;
    PhysicalDevice b"vkGetPhysicalDeviceToolProperties" =>
        properties::get_tool_properties
            as vk::PFN_vkGetPhysicalDeviceToolProperties, if tool_properties;
    PhysicalDevice b"vkGetPhysicalDeviceToolPropertiesEXT" =>
        properties::get_tool_properties_ext
            as vk::PFN_vkGetPhysicalDeviceToolProperties, if tool_properties_ext;
    Device b"vkGetDeviceProcAddr" => get_device_proc_addr as vk::PFN_vkGetDeviceProcAddr;
    Device b"vkDestroyDevice" => device::destroy_device as vk::PFN_vkDestroyDevice;
}

/// `vkNegotiateLoaderLayerInterfaceVersion`
///
/// # Safety
/// The pointer is null or to a structure that may be written.
pub(crate) unsafe fn negotiate(version: *mut NegotiateLayerInterface) -> vk::Result {
    const FAILED: vk::Result = vk::Result::ERROR_INITIALIZATION_FAILED;
    guard("vkNegotiateLoaderLayerInterfaceVersion", FAILED, || {
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

/// Returns the name that a program passes, as a string. `None` if the pointer is null.
///
/// # Safety
/// The pointer is null or to a null-terminated string that outlives the result.
unsafe fn text<'a>(name: *const c_char) -> Option<&'a CStr> {
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })
}

pub(crate) unsafe extern "system" fn get_instance_proc_addr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    guard("vkGetInstanceProcAddr", None, || {
        let (command, data) = unsafe { (text(name)?, InstanceData::of(instance)) };
        if data.as_ref().is_some_and(|data| data.versions.hide(command)) {
            return None;
        }
        match Hook::find(command) {
            // `data` is `None` if the instance is null or is still being created. The hook is
            // returned then, too: the loader asks with an instance that is still being created, and
            // layers above, such as Mesa's overlay and MangoHud, ask for `vkCreateDevice` with a
            // null instance.
            Some(hook) => data.is_none_or(|data| (hook.is_there)(&data)).then_some(hook.function),
            None => unsafe { (data?.get_instance_proc_addr)(instance, name) },
        }
    })
}

pub(crate) unsafe extern "system" fn get_device_proc_addr(
    device: vk::Device,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    guard("vkGetDeviceProcAddr", None, || {
        let (command, data) = unsafe { (text(name)?, DeviceData::of(device)?) };
        match Hook::find(command).filter(|hook| hook.level == Level::Device) {
            Some(hook) => Some(hook.function),
            None => unsafe { command_of(&data, device, command) },
        }
    })
}

/// Returns the hook for a command, or the command of the layer or driver below. `None` if the device has no such
/// command, or if the layer hides it.
///
/// # Safety
/// The device is live, and `data` is its state.
unsafe fn command_of(
    data: &DeviceData,
    device: vk::Device,
    command: &CStr,
) -> vk::PFN_vkVoidFunction {
    if data.versions.hide(command) {
        return None;
    }
    let is_emulated = data.hooked.as_ref().is_some_and(|hooked| hooked.emulation.is_some());
    let draws_geometry = data.hooked.as_ref().is_some_and(|hooked| hooked.draws_geometry());
    let drawn = || find_drawn(command).filter(|_| draws_geometry);
    let emulated = || drawn().or_else(|| find_emulated(command)).filter(|_| is_emulated);
    // If the layer gives the extension, programs never get the driver's implementation of these
    // commands.
    if data.gives && EXTENSION_COMMANDS.binary_search(&command).is_ok() {
        return emulated();
    }
    let find = |command: &CStr| unsafe { (data.get_device_proc_addr)(device, command.as_ptr()) };
    // The command belongs to `VK_EXT_extended_dynamic_state3` and to `VK_EXT_shader_object`. It is the only command of
    // these extensions that a driver without transform feedback lacks. If the driver has `vkCmdSetPolygonModeEXT`, the
    // program enables one of the two extensions. If it does not enable transform feedback, it may get the driver's
    // function all the same, as it would without the layer.
    if data.gives && command == RASTERIZATION_STREAM && find(c"vkCmdSetPolygonModeEXT").is_some() {
        return emulated().or_else(|| find(command));
    }
    let next = find(command)?;
    if data.hooked.is_none() {
        return Some(next);
    }
    match emulated().or_else(|| recording::hook(command)).or_else(|| commands::hook(command)) {
        None if !is_known(command) => {
            // The layer cannot store a command that it does not know. While the layer stores the commands of a render
            // pass until the pass ends, such a command would go to the driver before them.
            tracing::warn!(
                "{} is hidden: the layer does not know the command",
                command.to_string_lossy()
            );
            None
        }
        hook => Some(hook.unwrap_or(next)),
    }
}

/// Returns the hook for a command of a device on which transform feedback is emulated. `None` if the hook does not
/// depend on that.
fn find_emulated(command: &CStr) -> vk::PFN_vkVoidFunction {
    let by_name = [queries::hook, objects::hook, dependencies::hook, generated::hook];
    let by_function = [observed::hook_of, dependencies::hook_of, generated::hook_of];
    by_name.iter().find_map(|hook| hook(command)).or_else(|| {
        let function = commands::function_of(command)?;
        by_function.iter().find_map(|hook| hook(function))
    })
}

/// Returns the hook for a command of a device on which the layer draws geometry shaders. `None` if it is the same on other
/// devices.
fn find_drawn(command: &CStr) -> vk::PFN_vkVoidFunction {
    drawn::hook_of(commands::function_of(command)?)
}

/// Whether the layer can store a command until the render pass ends, or need not, because the command is not recorded
/// into command buffers.
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
        let (command, data) = unsafe { (text(name)?, InstanceData::of(instance)?) };
        match Hook::find(command) {
            Some(hook) => (hook.level == Level::PhysicalDevice && (hook.is_there)(&data))
                .then_some(hook.function),
            None => unsafe { (data.get_physical_device_proc_addr?)(instance, name) },
        }
    })
}

#[cfg(test)]
mod tests;
