//! Keeps the layer's state of each instance, and has the commands that create and destroy
//! instances.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::sync::{Arc, Mutex, PoisonError};

use ash::{ext, khr, vk};
use vkxfb::runtime::{Capabilities, RequiredFeatures, RuntimeError};

use crate::activity::{Activity, Reason};
use crate::capture_support::CaptureSupport;
use crate::chain::{self, OwnLink};
use crate::dispatch_keys::{DispatchKey, DispatchMap};
use crate::error::Error;
use crate::guard::guard;
use crate::interface::{LayerInstanceLink, PFN_GetPhysicalDeviceProcAddr};
use crate::next::next;
use crate::settings::{Settings, Sources};
use crate::versions::Versions;
use crate::{identity, log, system};

static INSTANCES: DispatchMap<InstanceData> = DispatchMap::new();

/// The state of an instance.
///
/// All functions are fetched while the instance is created. Later the loader of Debian 12 returns
/// the functions of the first layer in the chain, which may be this layer.
pub(crate) struct InstanceData {
    /// The instance, with the functions of the layer or driver below.
    pub(crate) next: ash::Instance,
    /// The `vkGetInstanceProcAddr` of the layer or driver below, for commands that the layer does not intercept.
    pub(crate) get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
    /// The `vk_layerGetPhysicalDeviceProcAddr` of the next layer below that has this function.
    /// `None` if no layer below has it.
    pub(crate) get_physical_device_proc_addr: Option<PFN_GetPhysicalDeviceProcAddr>,
    pub(crate) versions: Versions,
    /// Commands that not every instance has.
    pub(crate) optional: Optional,
    pub(crate) settings: Settings,
    /// For each physical device that a program has used: whether the layer is active on it.
    activities: Mutex<HashMap<vk::PhysicalDevice, Activity>>,
}

next! {
    /// Commands of the layer or driver below that not every instance has, because they belong to a later version of
    /// Vulkan or to an extension.
    ///
    /// Each name of a command has a function of its own, which a program that calls this name gets: the validation layer
    /// knows by the function to which version or extension a call belongs.
    struct Optional {
        external_buffers PFN_vkGetPhysicalDeviceExternalBufferProperties
            [c"vkGetPhysicalDeviceExternalBufferProperties"];
        external_buffers_khr PFN_vkGetPhysicalDeviceExternalBufferProperties
            [c"vkGetPhysicalDeviceExternalBufferPropertiesKHR"];
        features2 PFN_vkGetPhysicalDeviceFeatures2 [c"vkGetPhysicalDeviceFeatures2"];
        features2_khr PFN_vkGetPhysicalDeviceFeatures2 [c"vkGetPhysicalDeviceFeatures2KHR"];
        format_properties2 PFN_vkGetPhysicalDeviceFormatProperties2
            [c"vkGetPhysicalDeviceFormatProperties2"];
        format_properties2_khr PFN_vkGetPhysicalDeviceFormatProperties2
            [c"vkGetPhysicalDeviceFormatProperties2KHR"];
        properties2 PFN_vkGetPhysicalDeviceProperties2 [c"vkGetPhysicalDeviceProperties2"];
        properties2_khr PFN_vkGetPhysicalDeviceProperties2 [c"vkGetPhysicalDeviceProperties2KHR"];
        tool_properties PFN_vkGetPhysicalDeviceToolProperties
            [c"vkGetPhysicalDeviceToolProperties"];
        tool_properties_ext PFN_vkGetPhysicalDeviceToolProperties
            [c"vkGetPhysicalDeviceToolPropertiesEXT"];
    }
}

impl InstanceData {
    /// Finds the instance state for a handle of an instance or a physical device. `None` if the instance was not
    /// created through the layer.
    ///
    /// # Safety
    /// The contract of [`DispatchKey::of`].
    pub(crate) unsafe fn of<H: vk::Handle>(handle: H) -> Option<Arc<Self>> {
        INSTANCES.get(unsafe { DispatchKey::of(handle) }?)
    }

    /// Whether the driver captures on a device, and the layer only withholds the commands of all passes from the driver
    /// until the passes end. This is a setting for tests.
    pub(crate) const fn withholds(&self, activity: &Activity) -> bool {
        self.settings.withhold_passes && matches!(activity, Activity::Active(..))
    }

    /// Returns the capture support if the layer gives transform feedback to programs. `None` if the layer is dormant,
    /// or if the driver captures because of the setting `withhold_passes`, which is for tests.
    pub(crate) const fn capture_support<'a>(
        &self,
        activity: &'a Activity,
    ) -> Option<&'a Arc<CaptureSupport>> {
        match activity {
            Activity::Active(_, support) if !self.settings.withhold_passes => Some(support),
            _ => None,
        }
    }

    /// Whether a device has the feature `drawIndirectFirstInstance`: indirect draws may have a `firstInstance` other
    /// than 0.
    ///
    /// # Safety
    /// The physical device belongs to the instance, which is live.
    pub(crate) unsafe fn has_first_instances(&self, physical_device: vk::PhysicalDevice) -> bool {
        let features = unsafe { self.next.get_physical_device_features(physical_device) };
        features.draw_indirect_first_instance == vk::TRUE
    }

    /// Fetches the functions of the layer or driver below for a new instance.
    ///
    /// # Safety
    /// The layer or driver below has just created the instance, the functions are its own, and `vkCreateInstance` has
    /// not returned.
    unsafe fn new(
        instance: vk::Instance,
        link: &LayerInstanceLink,
        versions: Versions,
        settings: Settings,
    ) -> Self {
        let get = link.next_get_instance_proc_addr;
        // SAFETY: the caller's contract; each function is of the type that its name says.
        unsafe {
            Self {
                next: ash::Instance::load(&ash::StaticFn { get_instance_proc_addr: get }, instance),
                get_instance_proc_addr: get,
                get_physical_device_proc_addr: link.next_get_physical_device_proc_addr(),
                versions,
                optional: Optional::load(|name| get(instance, name.as_ptr())),
                settings,
                activities: Mutex::default(),
            }
        }
    }

    /// Returns whether the layer is active on a physical device. The first call for a physical
    /// device decides that, and logs the decision.
    ///
    /// # Safety
    /// The physical device belongs to the instance, which is live.
    pub(crate) unsafe fn activity(&self, device: vk::PhysicalDevice) -> Activity {
        let known = || self.activities.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(activity) = known().get(&device) {
            return activity.clone();
        }
        // The lock is not held during these calls of the layer or driver below. If two threads decide at the same time,
        // they come to the same decision. SAFETY: the caller's contract.
        let asked = unsafe { self.capabilities(device) };
        let lists_it = || unsafe { self.lists_the_extension(device) };
        let activity = Activity::decide(asked, lists_it, &self.settings);
        let properties = unsafe { self.next.get_physical_device_properties(device) };
        let name = properties.device_name_as_c_str().unwrap_or_default().to_string_lossy();
        match &activity {
            // This decision is not kept, because the driver may succeed the next time.
            Activity::Dormant(Reason::Unknown(_)) => tracing::warn!(device = %name, "{activity}"),
            _ => {
                if known().insert(device, activity.clone()).is_none() {
                    tracing::info!(device = %name, "{activity}");
                    if self
                        .capture_support(&activity)
                        .is_some_and(|support| support.draws_geometry())
                    {
                        tracing::info!(
                            device = %name,
                            "geometry shaders are drawn by the layer (experimental)"
                        );
                    }
                }
            }
        }
        activity
    }

    /// Whether the layer or driver below lists `VK_EXT_transform_feedback` among the device's extensions.
    ///
    /// # Safety
    /// The physical device belongs to the instance, which is live.
    unsafe fn lists_the_extension(&self, device: vk::PhysicalDevice) -> Result<bool, vk::Result> {
        let listed = unsafe { self.next.enumerate_device_extension_properties(device) }?;
        let name = ext::transform_feedback::NAME;
        Ok(listed.iter().any(|extension| extension.extension_name_as_c_str() == Ok(name)))
    }

    /// Queries the capabilities of a physical device.
    ///
    /// # Errors
    /// The errors of [`Capabilities::query`].
    ///
    /// # Safety
    /// The physical device belongs to the instance, which is live.
    unsafe fn capabilities(
        &self,
        device: vk::PhysicalDevice,
    ) -> Result<Capabilities, RuntimeError> {
        // SAFETY: `fetched` is a `vkGetInstanceProcAddr`; the rest is the caller's contract.
        unsafe {
            let entry =
                ash::Entry::from_static_fn(ash::StaticFn { get_instance_proc_addr: fetched });
            Capabilities::query(&entry, &self.next, self.versions.below, device)
        }
    }
}

/// The `vkGetInstanceProcAddr` that the runtime gets, to look up the commands of
/// `VK_KHR_get_physical_device_properties2`. Returns the functions that were fetched while the
/// instance was created, because the loader might now return this layer's own. If the instance has
/// these commands only under their Vulkan 1.1 names, the functions for those names are returned.
unsafe extern "system" fn fetched(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    guard("vkGetInstanceProcAddr", None, || {
        // SAFETY: Vulkan's contract, which is the caller's; the caller casts the pointer back to
        // the type of the command.
        unsafe {
            let data = InstanceData::of(instance)?;
            match CStr::from_ptr(name).to_bytes() {
                b"vkGetPhysicalDeviceFeatures2KHR" => {
                    let Optional { features2, features2_khr, .. } = data.optional;
                    features2_khr.or(features2).map(|f| std::mem::transmute(f))
                }
                b"vkGetPhysicalDeviceProperties2KHR" => {
                    let Optional { properties2, properties2_khr, .. } = data.optional;
                    properties2_khr.or(properties2).map(|f| std::mem::transmute(f))
                }
                _ => None,
            }
        }
    })
}

pub(crate) unsafe extern "system" fn create_instance(
    create_info: *const vk::InstanceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance,
) -> vk::Result {
    guard("vkCreateInstance", vk::Result::ERROR_INITIALIZATION_FAILED, || {
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
    let sources = unsafe { Sources::of_process(create_info.p_next) };
    let (settings, problems) = Settings::read(sources);
    system::keep_loaded();
    log::start(&settings.log);
    for problem in problems {
        tracing::warn!("{problem}");
    }

    // SAFETY: the caller's contract; the link does not leave this call.
    let mut own = unsafe { OwnLink::<LayerInstanceLink>::find(create_info.p_next) }?;
    // SAFETY: the caller's contract: the pointer to the application info is null or valid.
    let api_version = unsafe { create_info.p_application_info.as_ref() }
        .map(|application| application.api_version)
        .filter(|version| *version != 0)
        .unwrap_or(vk::API_VERSION_1_0);
    let mut versions = Versions::new(api_version);
    let mut call =
        |versions| unsafe { create_below(create_info, versions, allocator, instance, &mut own) };
    match call(versions) {
        // Vulkan does not allow that for a newer version. Where it happens all the same, the program gets what it would
        // get without the layer.
        Err(error) if versions.are_different() => {
            tracing::warn!("no instance of Vulkan {} below: {error}", Version(versions.below));
            versions = Versions::same(api_version);
            call(versions)?;
        }
        result => result?,
    }
    // SAFETY: the instance was created, so its handle has a key.
    let (data, key) = unsafe {
        let data = InstanceData::new(*instance, own.link(), versions, settings);
        (data, DispatchKey::of(*instance).ok_or(Error::Null("the new instance"))?)
    };
    tracing::info!(
        layer = identity::IMPLEMENTATION_VERSION,
        api = %Version(versions.requested),
        below = %Version(versions.below),
        settings = ?data.settings,
        "instance created"
    );
    INSTANCES.insert(key, Arc::new(data));
    Ok(())
}

/// Calls the layer or driver below to create the instance. Also enables the instance extensions that the layer needs,
/// if they exist, and asks for [the version that they need](Versions::new).
///
/// # Safety
/// `vkCreateInstance`'s contract.
unsafe fn create_below(
    create_info: &vk::InstanceCreateInfo<'_>,
    versions: Versions,
    allocator: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance,
    own: &mut OwnLink<LayerInstanceLink>,
) -> Result<(), Error> {
    let get = own.link().next_get_instance_proc_addr;
    let create = unsafe { get(vk::Instance::null(), c"vkCreateInstance".as_ptr()) };
    let create = create.ok_or(Error::NoCommand("vkCreateInstance"))?;
    // SAFETY: the function has the type of the command.
    let create: vk::PFN_vkCreateInstance = unsafe { std::mem::transmute(create) };
    // SAFETY: the caller's contract: the pointer is null or valid.
    let application = unsafe { create_info.p_application_info.as_ref() };
    let application = application.copied().unwrap_or_default().api_version(versions.below);
    let mut create_info = *create_info;
    if versions.are_different() {
        create_info.p_application_info = &raw const application;
    }
    let mut call = |create_info: &vk::InstanceCreateInfo<'_>| {
        own.advance();
        unsafe { create(create_info, allocator, instance) }.result().map_err(Error::Below)
    };

    // With an instance of Vulkan 1.0, the layer needs extensions to query features and to create devices. It cannot ask
    // which instance extensions exist, because no way to do that works with all loaders. So it tries to enable the
    // extensions, and leaves them out if that fails.
    let enabled = unsafe { enabled_extensions(&create_info) };
    let missing: Vec<_> = RequiredFeatures::instance_extensions(versions.below)
        .iter()
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
    call(&create_info)
}

/// # Safety
/// The create info is valid.
unsafe fn enabled_extensions(create_info: &vk::InstanceCreateInfo<'_>) -> Vec<*const c_char> {
    let (names, count) =
        (create_info.pp_enabled_extension_names, create_info.enabled_extension_count);
    unsafe { chain::slice(names, count) }.to_vec()
}

pub(crate) unsafe extern "system" fn destroy_instance(
    instance: vk::Instance,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    guard("vkDestroyInstance", (), || {
        let Some(key) = (unsafe { DispatchKey::of(instance) }) else { return };
        match INSTANCES.remove(key) {
            Some(data) => unsafe { (data.next.fp_v1_0().destroy_instance)(instance, allocator) },
            None => tracing::error!("vkDestroyInstance: {}", Error::Unknown("the instance")),
        }
    });
}

/// A version of Vulkan, formatted as `major.minor`.
struct Version(u32);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", vk::api_version_major(self.0), vk::api_version_minor(self.0))
    }
}
