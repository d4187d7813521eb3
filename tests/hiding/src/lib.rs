//! `VK_LAYER_VKXFB_hiding`: a Vulkan layer for tests, which makes a driver look like one without geometry shaders. It is
//! loaded below vkxfb's layer, which draws geometry shaders by vertex shaders, and proves that nothing of the stage reaches
//! the driver: lavapipe has geometry shaders, and would silently draw what a driver without them refuses. It is never
//! installed.
//!
//! Features, limits and masks of stages lose what belongs to the stage. Each call of a command that names the stage all the
//! same is a violation: a module, a stage of a pipeline, a mask, a layout, a topology with adjacency. It is written to
//! standard error, `hiding layer: COMMAND: WHAT`, once for equal ones, and the command fails. A command that is recorded
//! cannot fail, so it is forwarded, and `vkEndCommandBuffer` fails. With the instance the layer says how many violations
//! there were, and with the first one what it hides, so that a test can tell that it was there.
//!
//! Some of what is a violation here Vulkan allows, such as a binding of a set layout that is visible to a stage which the
//! device does not have. A driver without the stage still has no reason to expect its bit, and vkxfb none to pass it on.
//!
//! The variable `VKXFB_HIDE` lists what is hidden: `geometry`, which is the default, and `transform_feedback`, with which
//! the extension is hidden, and `VK_EXT_primitives_generated_query`, which depends on it, so that vkxfb's layer is active
//! although the driver captures.
//!
//! It is loaded as an explicit layer, by a copy of `manifest.json` with the path of the library: `VK_INSTANCE_LAYERS` lists
//! vkxfb's layer before it, and `VK_ADD_LAYER_PATH` the directory of vkxfb's manifest before that of this one, because the
//! loader of Debian 12 orders layers as it finds them.
//!
//! Not checked is what a secondary command buffer inherits, what device-generated commands and pipelines of ray tracing
//! name, and shader objects in another code than SPIR-V.
//!
//! It need not be fast: the functions below are looked up for each call.

#![allow(
    clippy::missing_safety_doc,
    reason = "functions that Vulkan calls have the contracts of its commands"
)]

mod chain;
mod check;
#[allow(dead_code, reason = "the layer uses all of it")]
#[path = "../../../layer/src/dispatch_keys.rs"]
mod dispatch_keys;
mod hidden;
mod hooks;
#[allow(dead_code, reason = "the layer uses all of it")]
#[path = "../../../layer/src/interface.rs"]
mod interface;
#[path = "../../../layer/benches/forwarding/links.rs"]
mod links;
mod modules;
mod offered;

use std::ffi::{CStr, c_char};
use std::sync::{Arc, Once};

use ash::vk;

use self::check::Check;
use self::dispatch_keys::{DispatchKey, DispatchMap};
use self::hidden::hidden;
use self::interface::NegotiateLayerInterface;
use self::links::{FAILED, hook};

/// The name in the manifest.
const NAME: &CStr = c"VK_LAYER_VKXFB_hiding";

static INSTANCES: DispatchMap<Instance> = DispatchMap::new();
static DEVICES: DispatchMap<Device> = DispatchMap::new();

/// The functions of the layer or driver below. They are fetched while the instance is created, because the loader of
/// Debian 12 later returns those of the first layer.
struct Instance {
    get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
    functions: ash::Instance,
    /// Of Vulkan 1.1 and of the extension: the validation layer knows by the function which of them is called.
    features_2: [Option<vk::PFN_vkGetPhysicalDeviceFeatures2>; 2],
    properties_2: [Option<vk::PFN_vkGetPhysicalDeviceProperties2>; 2],
}

impl Instance {
    /// Finds the instance of an instance or physical device.
    ///
    /// # Safety
    /// The contract of [`DispatchKey::of`].
    unsafe fn of<H: vk::Handle>(handle: H) -> Option<Arc<Self>> {
        INSTANCES.get(unsafe { DispatchKey::of(handle) }?)
    }
}

/// A device, and where the functions of the layer or driver below are found.
struct Device {
    handle: vk::Device,
    get_device_proc_addr: vk::PFN_vkGetDeviceProcAddr,
}

impl Device {
    /// Finds the device of a device, queue or command buffer.
    ///
    /// # Safety
    /// The contract of [`DispatchKey::of`].
    unsafe fn of<H: vk::Handle>(handle: H) -> Option<Arc<Self>> {
        DEVICES.get(unsafe { DispatchKey::of(handle) }?)
    }

    /// Finds a function of the layer or driver below.
    ///
    /// # Safety
    /// The device is live.
    unsafe fn next(&self, name: &CStr) -> vk::PFN_vkVoidFunction {
        unsafe { (self.get_device_proc_addr)(self.handle, name.as_ptr()) }
    }
}

fn instance_hook(name: &CStr) -> vk::PFN_vkVoidFunction {
    match name.to_bytes() {
        b"vkGetInstanceProcAddr" => hook!(get_instance_proc_addr as PFN_vkGetInstanceProcAddr),
        b"vkCreateInstance" => hook!(create_instance as PFN_vkCreateInstance),
        b"vkDestroyInstance" => hook!(destroy_instance as PFN_vkDestroyInstance),
        b"vkCreateDevice" => hook!(create_device as PFN_vkCreateDevice),
        b"vkEnumerateDeviceExtensionProperties" => {
            hook!(extensions as PFN_vkEnumerateDeviceExtensionProperties)
        }
        b"vkGetPhysicalDeviceFeatures" => hook!(features as PFN_vkGetPhysicalDeviceFeatures),
        b"vkGetPhysicalDeviceFeatures2" => {
            hook!(features_2::<0> as PFN_vkGetPhysicalDeviceFeatures2)
        }
        b"vkGetPhysicalDeviceFeatures2KHR" => {
            hook!(features_2::<1> as PFN_vkGetPhysicalDeviceFeatures2)
        }
        b"vkGetPhysicalDeviceProperties" => hook!(properties as PFN_vkGetPhysicalDeviceProperties),
        b"vkGetPhysicalDeviceProperties2" => {
            hook!(properties_2::<0> as PFN_vkGetPhysicalDeviceProperties2)
        }
        b"vkGetPhysicalDeviceProperties2KHR" => {
            hook!(properties_2::<1> as PFN_vkGetPhysicalDeviceProperties2)
        }
        _ => device_hook(name),
    }
}

fn device_hook(name: &CStr) -> vk::PFN_vkVoidFunction {
    match name.to_bytes() {
        b"vkGetDeviceProcAddr" => hook!(get_device_proc_addr as PFN_vkGetDeviceProcAddr),
        b"vkDestroyDevice" => hook!(destroy_device as PFN_vkDestroyDevice),
        _ => hooks::find(name),
    }
}

unsafe extern "system" fn create_instance(
    info: *const vk::InstanceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance,
) -> vk::Result {
    static SAY: Once = Once::new();
    if let Some(problem) = hidden::problem() {
        Check::new(c"vkCreateInstance").violation(problem);
        return FAILED;
    }
    unsafe {
        let get = match links::create_instance(info, allocator, instance) {
            Ok(get) => get,
            Err(error) => return error,
        };
        let load = |name: &CStr| get(*instance, name.as_ptr());
        // SAFETY: each function has the type of its command, and all pointers to functions have the same size.
        let features = |name| {
            let function = load(name);
            std::mem::transmute::<
                vk::PFN_vkVoidFunction,
                Option<vk::PFN_vkGetPhysicalDeviceFeatures2>,
            >(function)
        };
        let properties = |name| {
            let function = load(name);
            std::mem::transmute::<
                vk::PFN_vkVoidFunction,
                Option<vk::PFN_vkGetPhysicalDeviceProperties2>,
            >(function)
        };
        let data = Instance {
            get_instance_proc_addr: get,
            functions: ash::Instance::load(
                &ash::StaticFn { get_instance_proc_addr: get },
                *instance,
            ),
            features_2: [c"vkGetPhysicalDeviceFeatures2", c"vkGetPhysicalDeviceFeatures2KHR"]
                .map(features),
            properties_2: [c"vkGetPhysicalDeviceProperties2", c"vkGetPhysicalDeviceProperties2KHR"]
                .map(properties),
        };
        let Some(key) = DispatchKey::of(*instance) else { return FAILED };
        INSTANCES.insert(key, Arc::new(data));
    }
    SAY.call_once(|| eprintln!("the hiding layer is there: {:?}", hidden()));
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
        let violations = check::violations();
        if violations > 0 {
            eprintln!("the hiding layer counted {violations} violations");
        }
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
        let Some(of) = Instance::of(physical_device) else { return FAILED };
        let mut check = Check::new(c"vkCreateDevice");
        let names =
            chain::slice((*info).pp_enabled_extension_names, (*info).enabled_extension_count);
        for name in names.iter().map(|name| CStr::from_ptr(*name)) {
            if offered::is_hidden(check.hidden, name) {
                check.violation(format_args!("{} is enabled", name.to_string_lossy()));
            }
        }
        if check.is_violated() {
            return vk::Result::ERROR_EXTENSION_NOT_PRESENT;
        }
        for feature in offered::enabled(check.hidden, &*info) {
            check.violation(format_args!("{feature} is enabled"));
        }
        if check.is_violated() {
            return vk::Result::ERROR_FEATURE_NOT_PRESENT;
        }
        let create = of.functions.fp_v1_0().create_device;
        let created = links::create_device(create, physical_device, info, allocator, device);
        let get_device_proc_addr = match created {
            Ok(get) => get,
            Err(error) => return error,
        };
        let Some(key) = DispatchKey::of(*device) else { return FAILED };
        DEVICES.insert(key, Arc::new(Device { handle: *device, get_device_proc_addr }));
    }
    vk::Result::SUCCESS
}

unsafe extern "system" fn destroy_device(
    device: vk::Device,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    unsafe {
        let Some(of) = DispatchKey::of(device).and_then(|key| DEVICES.remove(key)) else { return };
        let next = of.next(c"vkDestroyDevice");
        // SAFETY: the function has the type of the command.
        let next =
            std::mem::transmute::<vk::PFN_vkVoidFunction, Option<vk::PFN_vkDestroyDevice>>(next);
        if let Some(next) = next {
            next(device, allocator);
        }
    }
}

unsafe extern "system" fn extensions(
    physical_device: vk::PhysicalDevice,
    layer: *const c_char,
    count: *mut u32,
    properties: *mut vk::ExtensionProperties,
) -> vk::Result {
    unsafe {
        let Some(of) = Instance::of(physical_device) else { return FAILED };
        if layer.is_null() {
            match of.functions.enumerate_device_extension_properties(physical_device) {
                Ok(all) => offered::list(hidden(), all, count, properties),
                Err(error) => error,
            }
        } else if CStr::from_ptr(layer) == NAME {
            *count = 0;
            vk::Result::SUCCESS
        } else {
            let next = of.functions.fp_v1_0().enumerate_device_extension_properties;
            next(physical_device, layer, count, properties)
        }
    }
}

unsafe extern "system" fn features(
    physical_device: vk::PhysicalDevice,
    features: *mut vk::PhysicalDeviceFeatures,
) {
    unsafe {
        let Some(of) = Instance::of(physical_device) else { return };
        (of.functions.fp_v1_0().get_physical_device_features)(physical_device, features);
        offered::hide_features(hidden(), features);
    }
}

unsafe extern "system" fn features_2<const NAME: usize>(
    physical_device: vk::PhysicalDevice,
    features: *mut vk::PhysicalDeviceFeatures2<'_>,
) {
    unsafe {
        let Some(of) = Instance::of(physical_device) else { return };
        let Some(next) = of.features_2[NAME] else { return };
        next(physical_device, features);
        offered::hide_features_2(hidden(), features);
    }
}

unsafe extern "system" fn properties(
    physical_device: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceProperties,
) {
    unsafe {
        let Some(of) = Instance::of(physical_device) else { return };
        (of.functions.fp_v1_0().get_physical_device_properties)(physical_device, properties);
        offered::hide_properties(hidden(), &mut *properties);
    }
}

unsafe extern "system" fn properties_2<const NAME: usize>(
    physical_device: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceProperties2<'_>,
) {
    unsafe {
        let Some(of) = Instance::of(physical_device) else { return };
        let Some(next) = of.properties_2[NAME] else { return };
        next(physical_device, properties);
        offered::hide_properties_2(hidden(), properties);
    }
}

unsafe extern "system" fn get_instance_proc_addr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    unsafe {
        let named = CStr::from_ptr(name);
        let hook = instance_hook(named);
        let Some(of) = DispatchKey::of(instance).and_then(|key| INSTANCES.get(key)) else {
            return hook;
        };
        let next = || (of.get_instance_proc_addr)(instance, name);
        match named.to_bytes() {
            // What the instance does not have is not there with the layer either. All others it has, and of commands of
            // devices the loader says nothing here.
            b"vkGetPhysicalDeviceFeatures2"
            | b"vkGetPhysicalDeviceFeatures2KHR"
            | b"vkGetPhysicalDeviceProperties2"
            | b"vkGetPhysicalDeviceProperties2KHR" => next().and(hook),
            _ => hook.or_else(next),
        }
    }
}

unsafe extern "system" fn get_device_proc_addr(
    device: vk::Device,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    unsafe {
        let name = CStr::from_ptr(name);
        let next = Device::of(device)?.next(name)?;
        device_hook(name).or(Some(next))
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
