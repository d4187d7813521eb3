//! Instances: what is known of each, and the commands that create and destroy them.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::sync::{Arc, Mutex, PoisonError};

use ash::{khr, vk};
use vkxfb::runtime::{Capabilities, RequiredFeatures, RuntimeError};

use crate::activity::{Activity, Reason};
use crate::chain::{self, OwnLink};
use crate::error::Error;
use crate::guard::guard;
use crate::interface::{LayerInstanceLink, PFN_GetPhysicalDeviceProcAddr};
use crate::registry::{Key, Registry};
use crate::settings::{Settings, Sources};
use crate::{identity, log};

/// Every instance that lives.
static INSTANCES: Registry<InstanceData> = Registry::new();

/// What is known of an instance.
///
/// All that is to be called is fetched when it is created. Behind that, the loader of Debian 12 answers from the
/// table of the whole chain, whose top may be this layer.
pub(crate) struct InstanceData {
    /// The next in the chain.
    pub(crate) next: ash::Instance,
    /// Its `vkGetInstanceProcAddr`, for commands that the layer does not have.
    pub(crate) get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
    /// The `vk_layerGetPhysicalDeviceProcAddr` of the next that has one.
    pub(crate) get_physical_device_proc_addr: Option<PFN_GetPhysicalDeviceProcAddr>,
    /// The version of Vulkan that the program asks for.
    api_version: u32,
    /// `vkGetPhysicalDeviceFeatures2`, of Vulkan 1.1.
    pub(crate) features2: Option<vk::PFN_vkGetPhysicalDeviceFeatures2>,
    /// `vkGetPhysicalDeviceFeatures2KHR`, of `VK_KHR_get_physical_device_properties2`.
    pub(crate) features2_khr: Option<vk::PFN_vkGetPhysicalDeviceFeatures2>,
    /// `vkGetPhysicalDeviceProperties2`, of Vulkan 1.1.
    pub(crate) properties2: Option<vk::PFN_vkGetPhysicalDeviceProperties2>,
    /// `vkGetPhysicalDeviceProperties2KHR`, of `VK_KHR_get_physical_device_properties2`.
    pub(crate) properties2_khr: Option<vk::PFN_vkGetPhysicalDeviceProperties2>,
    /// `vkGetPhysicalDeviceToolProperties`, of Vulkan 1.3.
    pub(crate) get_tool_properties: Option<vk::PFN_vkGetPhysicalDeviceToolProperties>,
    /// `vkGetPhysicalDeviceToolPropertiesEXT`, of `VK_EXT_tooling_info`.
    pub(crate) get_tool_properties_ext: Option<vk::PFN_vkGetPhysicalDeviceToolProperties>,
    /// `vkGetPhysicalDeviceExternalBufferProperties`, of Vulkan 1.1.
    pub(crate) external_buffers: Option<vk::PFN_vkGetPhysicalDeviceExternalBufferProperties>,
    /// `vkGetPhysicalDeviceExternalBufferPropertiesKHR`, of `VK_KHR_external_memory_capabilities`.
    pub(crate) external_buffers_khr: Option<vk::PFN_vkGetPhysicalDeviceExternalBufferProperties>,
    /// What the user wants.
    pub(crate) settings: Settings,
    /// What was decided for each physical device.
    activities: Mutex<HashMap<vk::PhysicalDevice, Activity>>,
}

impl InstanceData {
    /// That of an instance or of a physical device.
    ///
    /// # Safety
    /// As [`Key::of`].
    pub(crate) unsafe fn of<H: vk::Handle>(handle: H) -> Option<Arc<Self>> {
        // SAFETY: the caller's contract.
        INSTANCES.get(unsafe { Key::of(handle) }?)
    }

    /// Whether passes are withheld on a device, and the driver's own captures with them: for tests.
    pub(crate) const fn withholds(&self, activity: &Activity) -> bool {
        self.settings.withhold_passes && matches!(activity, Activity::Active(..))
    }

    /// Fetches everything from the next in the chain.
    ///
    /// # Safety
    /// The instance was just created by the next in the chain, whose function it is, and `vkCreateInstance` has not
    /// returned.
    unsafe fn new(
        instance: vk::Instance,
        link: &LayerInstanceLink,
        api_version: u32,
        settings: Settings,
    ) -> Self {
        let get = link.next_get_instance_proc_addr;
        // SAFETY: the caller's contract; each function is of the type that its name says.
        unsafe {
            let find = |name: &CStr| get(instance, name.as_ptr());
            macro_rules! next {
                ($ty:ident: $name:literal) => {
                    std::mem::transmute::<vk::PFN_vkVoidFunction, Option<vk::$ty>>(find($name))
                };
            }
            Self {
                next: ash::Instance::load(&ash::StaticFn { get_instance_proc_addr: get }, instance),
                get_instance_proc_addr: get,
                get_physical_device_proc_addr: link.next_get_physical_device_proc_addr,
                api_version,
                features2: next!(
                    PFN_vkGetPhysicalDeviceFeatures2: c"vkGetPhysicalDeviceFeatures2"
                ),
                features2_khr: next!(
                    PFN_vkGetPhysicalDeviceFeatures2: c"vkGetPhysicalDeviceFeatures2KHR"
                ),
                properties2: next!(
                    PFN_vkGetPhysicalDeviceProperties2: c"vkGetPhysicalDeviceProperties2"
                ),
                properties2_khr: next!(
                    PFN_vkGetPhysicalDeviceProperties2: c"vkGetPhysicalDeviceProperties2KHR"
                ),
                get_tool_properties: next!(
                    PFN_vkGetPhysicalDeviceToolProperties: c"vkGetPhysicalDeviceToolProperties"
                ),
                get_tool_properties_ext: next!(
                    PFN_vkGetPhysicalDeviceToolProperties: c"vkGetPhysicalDeviceToolPropertiesEXT"
                ),
                external_buffers: next!(
                    PFN_vkGetPhysicalDeviceExternalBufferProperties:
                        c"vkGetPhysicalDeviceExternalBufferProperties"
                ),
                external_buffers_khr: next!(
                    PFN_vkGetPhysicalDeviceExternalBufferProperties:
                        c"vkGetPhysicalDeviceExternalBufferPropertiesKHR"
                ),
                settings,
                activities: Mutex::default(),
            }
        }
    }

    /// Whether the layer is active on a physical device. The first to ask has it decided and logged.
    ///
    /// # Safety
    /// The device is of the instance, which is live.
    pub(crate) unsafe fn activity(&self, device: vk::PhysicalDevice) -> Activity {
        let known = || self.activities.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(activity) = known().get(&device) {
            return activity.clone();
        }
        // Without the lock, for it calls down the chain. Two threads that come first decide the same.
        // SAFETY: the caller's contract.
        let activity = unsafe { Activity::decide(self, device) };
        // SAFETY: the caller's contract.
        let properties = unsafe { self.next.get_physical_device_properties(device) };
        let name = properties.device_name_as_c_str().unwrap_or_default().to_string_lossy();
        match &activity {
            // Asked again, it may answer.
            Activity::Dormant(Reason::Unknown(_)) => tracing::warn!(device = %name, "{activity}"),
            _ => {
                if known().insert(device, activity.clone()).is_none() {
                    tracing::info!(device = %name, "{activity}");
                }
            }
        }
        activity
    }

    /// What a physical device can do.
    ///
    /// # Errors
    /// As [`Capabilities::query`].
    ///
    /// # Safety
    /// The device is of the instance, which is live.
    pub(crate) unsafe fn capabilities(
        &self,
        device: vk::PhysicalDevice,
    ) -> Result<Capabilities, RuntimeError> {
        // SAFETY: the function is one that finds commands; the rest is the caller's contract.
        unsafe {
            let entry =
                ash::Entry::from_static_fn(ash::StaticFn { get_instance_proc_addr: fetched });
            Capabilities::query(&entry, &self.next, self.api_version, device)
        }
    }
}

/// `vkGetInstanceProcAddr` for the runtime, which asks by it for commands of
/// `VK_KHR_get_physical_device_properties2`: the next in the chain's, as they were fetched. Asked now, the loader may
/// answer with this layer's own. A device of Vulkan 1.0 is asked by the same commands where the instance has them by
/// another name.
unsafe extern "system" fn fetched(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    guard("vkGetInstanceProcAddr", None, || {
        // SAFETY: Vulkan's contract, which is the caller's; whoever calls a function by its name gives it its type
        // again.
        unsafe {
            let data = InstanceData::of(instance)?;
            match CStr::from_ptr(name).to_bytes() {
                b"vkGetPhysicalDeviceFeatures2KHR" => {
                    data.features2_khr.or(data.features2).map(|f| std::mem::transmute(f))
                }
                b"vkGetPhysicalDeviceProperties2KHR" => {
                    data.properties2_khr.or(data.properties2).map(|f| std::mem::transmute(f))
                }
                _ => None,
            }
        }
    })
}

/// `vkCreateInstance`
pub(crate) unsafe extern "system" fn create_instance(
    create_info: *const vk::InstanceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance,
) -> vk::Result {
    guard("vkCreateInstance", vk::Result::ERROR_INITIALIZATION_FAILED, || {
        // SAFETY: Vulkan's contract, which is the caller's.
        let created = unsafe {
            match create_info.as_ref() {
                Some(create_info) => create(create_info, allocator, instance),
                None => Err(Error::Null("pCreateInfo")),
            }
        };
        match created {
            Ok(()) => vk::Result::SUCCESS,
            Err(error) => error.report("vkCreateInstance"),
        }
    })
}

/// # Safety
/// `vkCreateInstance`'s contract.
unsafe fn create(
    create_info: &vk::InstanceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance,
) -> Result<(), Error> {
    // SAFETY: the caller's contract.
    let sources = unsafe { Sources::of_process(create_info.p_next) };
    let (settings, problems) = Settings::read(sources);
    log::start(&settings.log);
    for problem in problems {
        tracing::warn!("{problem}");
    }

    // SAFETY: the caller's contract; the link does not leave this call.
    let mut own = unsafe { chain::instance_link(create_info.p_next) }?;
    // SAFETY: the caller's contract: where there is an application's info, it is valid.
    let api_version = unsafe { create_info.p_application_info.as_ref() }
        .map(|application| application.api_version)
        .filter(|version| *version != 0)
        .unwrap_or(vk::API_VERSION_1_0);
    // SAFETY: the caller's contract.
    unsafe { create_below(create_info, api_version, allocator, instance, &mut own) }?;
    // SAFETY: it was created, so it is there and has a key.
    let (data, key) = unsafe {
        let data = InstanceData::new(*instance, own.link(), api_version, settings);
        (data, Key::of(*instance).ok_or(Error::Null("the new instance"))?)
    };
    tracing::info!(
        layer = identity::IMPLEMENTATION_VERSION,
        api = %Version(api_version),
        settings = ?data.settings,
        "instance created"
    );
    INSTANCES.insert(key, Arc::new(data));
    Ok(())
}

/// Has the next in the chain create the instance, with what the layer needs.
///
/// # Safety
/// `vkCreateInstance`'s contract.
unsafe fn create_below(
    create_info: &vk::InstanceCreateInfo<'_>,
    api_version: u32,
    allocator: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance,
    own: &mut OwnLink<LayerInstanceLink>,
) -> Result<(), Error> {
    let get = own.link().next_get_instance_proc_addr;
    // SAFETY: the caller's contract.
    let create = unsafe { get(vk::Instance::null(), c"vkCreateInstance".as_ptr()) };
    let create = create.ok_or(Error::NoCommand("vkCreateInstance"))?;
    // SAFETY: the name says the type.
    let create: vk::PFN_vkCreateInstance = unsafe { std::mem::transmute(create) };
    let mut call = |create_info: &vk::InstanceCreateInfo<'_>| {
        own.advance();
        // SAFETY: the caller's contract.
        unsafe { create(create_info, allocator, instance) }.result().map_err(Error::Below)
    };

    // Instances of Vulkan 1.0 are asked for features by an extension, and devices depend on another. No loader lists
    // extensions to layers in a way that works everywhere, so whether they are there is found by trying.
    // SAFETY: the caller's contract.
    let enabled = unsafe { enabled_extensions(create_info) };
    let missing: Vec<_> = RequiredFeatures::instance_extensions(api_version)
        .iter()
        // SAFETY: the caller's contract.
        .filter(|missing| !enabled.iter().any(|name| unsafe { CStr::from_ptr(*name) } == **missing))
        .collect();
    let features =
        missing.iter().filter(|name| ***name == khr::get_physical_device_properties2::NAME);
    for more in [missing.clone(), features.copied().collect()] {
        if more.is_empty() {
            break;
        }
        let names: Vec<_> =
            enabled.iter().copied().chain(more.iter().map(|name| name.as_ptr())).collect();
        match call(&create_info.enabled_extension_names(&names)) {
            Err(Error::Below(vk::Result::ERROR_EXTENSION_NOT_PRESENT)) => {}
            result => return result,
        }
    }
    call(create_info)
}

/// # Safety
/// The create info is valid.
unsafe fn enabled_extensions(create_info: &vk::InstanceCreateInfo<'_>) -> Vec<*const c_char> {
    let (names, count) =
        (create_info.pp_enabled_extension_names, create_info.enabled_extension_count);
    // SAFETY: the caller's contract.
    unsafe { chain::slice(names, count) }.to_vec()
}

/// `vkDestroyInstance`
pub(crate) unsafe extern "system" fn destroy_instance(
    instance: vk::Instance,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    guard("vkDestroyInstance", (), || {
        // SAFETY: Vulkan's contract, which is the caller's.
        let Some(key) = (unsafe { Key::of(instance) }) else { return };
        match INSTANCES.remove(key) {
            // SAFETY: Vulkan's contract, which is the caller's.
            Some(data) => unsafe { (data.next.fp_v1_0().destroy_instance)(instance, allocator) },
            None => tracing::error!("vkDestroyInstance: {}", Error::Unknown("the instance")),
        }
    });
}

/// A version as people write it.
struct Version(u32);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", vk::api_version_major(self.0), vk::api_version_minor(self.0))
    }
}
