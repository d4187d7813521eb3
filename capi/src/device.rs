//! Before the device exists: whether it can capture by compute, and what it is created with.

use std::ffi::c_char;

use ash::vk;
use vkxfb::lower::Backend;
use vkxfb::runtime::{
    Capabilities, CreateInfoAdditions, RequiredFeatures, RuntimeError, required_features,
};

use crate::arguments::{array, owned, required, required_mut};
use crate::error::{Error, VkxfbResult, guard, guard_quietly};

/// `PFN_vkGetInstanceProcAddr`, which may be null.
pub type GetInstanceProcAddr = Option<
    unsafe extern "system" fn(
        instance: vk::Instance,
        name: *const c_char,
    ) -> vk::PFN_vkVoidFunction,
>;

/// A physical device, and how the library gets at its commands.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkxfbPhysicalDeviceInfo {
    /// `vkGetInstanceProcAddr`, linked with the program or loaded at run time.
    pub get_instance_proc_addr: GetInstanceProcAddr,
    /// The instance. Below Vulkan 1.1 it has `VK_KHR_get_physical_device_properties2` enabled.
    pub instance: vk::Instance,
    /// `VkApplicationInfo::apiVersion` that the instance was created with; 0 is Vulkan 1.0.
    pub api_version: u32,
    /// The physical device.
    pub physical_device: vk::PhysicalDevice,
}

/// What a device has to be created with to capture by compute: extensions and features.
pub struct VkxfbRequiredFeatures {
    pub(crate) instance: ash::Instance,
    pub(crate) physical_device: vk::PhysicalDevice,
    pub(crate) capabilities: Capabilities,
    pub(crate) features: RequiredFeatures,
    additions: CreateInfoAdditions,
}

/// Finds out whether a physical device can capture by compute, and what its device is to be created with.
///
/// `VKXFB_ERROR_UNAVAILABLE`: it cannot. `vkxfb_last_error` lists all reasons.
///
/// # Safety
/// `pInfo` points to a valid structure, and `pRequiredFeatures` to where a pointer can be stored. The instance outlives
/// what is returned, and all contexts made with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_required_features_create(
    p_info: *const VkxfbPhysicalDeviceInfo,
    p_required_features: *mut *mut VkxfbRequiredFeatures,
) -> VkxfbResult {
    guard(|| {
        // SAFETY: the caller's contract.
        let (info, created) = unsafe {
            (required(p_info, "pInfo")?, required_mut(p_required_features, "pRequiredFeatures")?)
        };
        // SAFETY: as above.
        let features = unsafe { VkxfbRequiredFeatures::query(info) }?;
        *created = Box::into_raw(Box::new(features));
        Ok(())
    })
}

/// Adds what is required to what a device is about to be created with. Then `vkCreateDevice` takes `pCreateInfo`.
///
/// Extensions: `ppEnabledExtensionNames` becomes a longer array. Features: those that the application enables in a
/// structure of its own are set there, so that the structures of the `pNext` chain are written to:
/// `VkPhysicalDeviceFeatures2`, `VkPhysicalDeviceVulkan12Features` and `VkPhysicalDeviceBufferDeviceAddressFeatures`.
/// Where the chain has no structure for a feature, one is put in front of it, or `pEnabledFeatures` points to another
/// structure, a copy with more features enabled.
///
/// What `pCreateInfo` then points to is valid until the next call for `requiredFeatures`, or until that is destroyed.
///
/// # Safety
/// `requiredFeatures` is live and used by no other thread; `pCreateInfo` points to a valid structure with a valid chain,
/// whose structures may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_required_features_add_to(
    required_features: *mut VkxfbRequiredFeatures,
    p_create_info: *mut vk::DeviceCreateInfo<'_>,
) -> VkxfbResult {
    guard(|| {
        // SAFETY: the caller's contract.
        unsafe {
            let required = required_mut(required_features, "requiredFeatures")?;
            let info = required_mut(p_create_info, "pCreateInfo")?;
            let (names, count) = (info.pp_enabled_extension_names, info.enabled_extension_count);
            array(names, count, "ppEnabledExtensionNames")?;
            *info = required.features.add_to(*info, &mut required.additions);
        }
        Ok(())
    })
}

/// Destroys required features. Contexts that were made with them stay valid. NULL is ignored.
///
/// # Safety
/// `requiredFeatures` is live or NULL, and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_required_features_destroy(
    required_features: *mut VkxfbRequiredFeatures,
) {
    // SAFETY: the caller's contract.
    guard_quietly(|| drop(unsafe { owned(required_features) }));
}

impl VkxfbRequiredFeatures {
    /// # Safety
    /// As [`vkxfb_required_features_create`].
    unsafe fn query(info: &VkxfbPhysicalDeviceInfo) -> Result<Self, Error> {
        let get_instance_proc_addr =
            info.get_instance_proc_addr.ok_or(Error::Null("getInstanceProcAddr"))?;
        if info.instance == vk::Instance::null() {
            return Err(Error::Null("instance"));
        }
        if info.physical_device == vk::PhysicalDevice::null() {
            return Err(Error::Null("physicalDevice"));
        }
        let functions = ash::StaticFn { get_instance_proc_addr };
        // SAFETY: the caller's contract.
        let (instance, capabilities) = unsafe {
            let entry = ash::Entry::from_static_fn(functions.clone());
            let instance = ash::Instance::load(&functions, info.instance);
            let capabilities =
                Capabilities::query(&entry, &instance, info.api_version, info.physical_device)?;
            (instance, capabilities)
        };
        let features =
            required_features(&capabilities, &[Backend::Compute]).map_err(RuntimeError::from)?;
        Ok(Self {
            instance,
            physical_device: info.physical_device,
            capabilities,
            features,
            additions: CreateInfoAdditions::default(),
        })
    }
}
