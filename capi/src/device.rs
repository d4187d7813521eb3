//! Before the device exists: whether it can capture by compute, and the extensions and features
//! that it needs.

use std::ffi::c_char;

use ash::vk;
use vkxfb::lower::Backend;
use vkxfb::runtime::{
    Capabilities, CreateInfoAdditions, RequiredFeatures, RuntimeError, required_features,
};

use crate::arguments::{array, owned, required_mut};
use crate::error::{Error, VkxfbResult, guard, guard_quietly};
use crate::extensible::{extensible, read};

/// `PFN_vkGetInstanceProcAddr`, which may be null.
pub type GetInstanceProcAddr = Option<
    unsafe extern "system" fn(
        instance: vk::Instance,
        name: *const c_char,
    ) -> vk::PFN_vkVoidFunction,
>;

/// A physical device, and the means to find its commands.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkxfbPhysicalDeviceInfo {
    /// The `sizeof` of the structure, as `VKXFB_INIT` sets it.
    pub struct_size: usize,
    /// `vkGetInstanceProcAddr`, linked with the program or loaded at run time.
    pub get_instance_proc_addr: GetInstanceProcAddr,
    /// The instance. With a version below Vulkan 1.1, `VK_KHR_get_physical_device_properties2` must
    /// be enabled.
    pub instance: vk::Instance,
    /// The `VkApplicationInfo::apiVersion` with which the instance was created; 0 means Vulkan 1.0.
    pub api_version: u32,
    /// The physical device.
    pub physical_device: vk::PhysicalDevice,
}

extensible!(VkxfbPhysicalDeviceInfo { ..physical_device });

/// The extensions and features that a device needs to capture by compute.
pub struct VkxfbRequiredFeatures {
    pub(crate) instance: ash::Instance,
    pub(crate) physical_device: vk::PhysicalDevice,
    pub(crate) capabilities: Capabilities,
    pub(crate) features: RequiredFeatures,
    additions: CreateInfoAdditions,
}

/// Finds out whether a physical device can capture by compute, and which extensions and features
/// its device needs.
///
/// Returns `VKXFB_ERROR_UNAVAILABLE` if it cannot capture. Then `vkxfb_last_error` lists all
/// reasons.
///
/// # Safety
/// `pInfo` points to a valid structure, and `pRequiredFeatures` to memory for a pointer. The
/// instance outlives the required features and all contexts made with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_required_features_create(
    p_info: *const VkxfbPhysicalDeviceInfo,
    p_required_features: *mut *mut VkxfbRequiredFeatures,
) -> VkxfbResult {
    guard(|| {
        // SAFETY: the caller's contract.
        let (info, created) = unsafe {
            (read(p_info, "pInfo")?, required_mut(p_required_features, "pRequiredFeatures")?)
        };
        // SAFETY: as above.
        let features = unsafe { VkxfbRequiredFeatures::query(&info) }?;
        *created = Box::into_raw(Box::new(features));
        Ok(())
    })
}

/// Adds the required extensions and features to a `VkDeviceCreateInfo`, which the application then
/// passes to `vkCreateDevice`.
///
/// Extensions: `ppEnabledExtensionNames` is replaced by a longer array. Features: if the `pNext`
/// chain contains a structure for a feature, this function sets the feature there, so it writes to
/// structures of the application: `VkPhysicalDeviceFeatures2`, `VkPhysicalDeviceVulkan12Features`
/// and `VkPhysicalDeviceBufferDeviceAddressFeatures`. Otherwise a structure is inserted at the
/// start of the chain, or `pEnabledFeatures` is replaced by a copy in which more features are
/// enabled.
///
/// The memory that `pCreateInfo` points to afterwards is valid until the next call with
/// `requiredFeatures`, or until that is destroyed.
///
/// # Safety
/// `requiredFeatures` is live and not used by another thread. `pCreateInfo` points to a valid
/// structure with a valid chain, whose structures may be written to.
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
/// `requiredFeatures` is live or NULL, and is not used any more.
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
