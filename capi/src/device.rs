//! Functions that are called before a device is created. They query whether the physical device can
//! capture by compute, and which extensions and features its device needs.

use std::ffi::c_char;

use ash::vk;
use vkxfb::lower::Backend;
use vkxfb::runtime::{
    Capabilities, CreateInfoAdditions, RequiredFeatures, RuntimeError, required_features,
};

use crate::arguments::{create, owned, required_mut, strings, typed_chain};
use crate::error::{Error, VkxfbResult, guard, guard_quietly};
use crate::extensible::{extensible, read};

/// `PFN_vkGetInstanceProcAddr`, which may be null.
pub type GetInstanceProcAddr = Option<
    unsafe extern "system" fn(
        instance: vk::Instance,
        name: *const c_char,
    ) -> vk::PFN_vkVoidFunction,
>;

/// Captures access memory by descriptors, also on a device that has buffer device addresses.
/// Without this bit they do so only if the device has none.
pub const VKXFB_DEVICE_DESCRIPTORS: u32 = 1;
/// Captures do not use `vkCmdDispatchIndirect`, because it does not work on the device. Draws whose
/// size only the GPU knows are then dispatched with as many invocations as the capture buffers have
/// room for.
pub const VKXFB_DEVICE_NO_INDIRECT_DISPATCH: u32 = 2;
/// `vkCmdDrawIndirect` does not work on the device, so the functions that write draw commands fail.
pub const VKXFB_DEVICE_NO_INDIRECT_DRAWS: u32 = 4;
/// Shaders are passed to the driver without being optimized. They capture the same. Use this bit to
/// rule out a fault of the optimizer.
pub const VKXFB_DEVICE_NO_OPTIMIZATION: u32 = 8;
/// Objects get names and commands get labels, for tools such as RenderDoc. The instance must have been
/// created with `VK_EXT_debug_utils`: otherwise this bit is refused.
pub const VKXFB_DEVICE_DEBUG_NAMES: u32 = 16;

/// The bits that [`VkxfbPhysicalDeviceInfo::flags`] may have.
const KNOWN_FLAGS: u32 = VKXFB_DEVICE_DESCRIPTORS
    | VKXFB_DEVICE_NO_INDIRECT_DISPATCH
    | VKXFB_DEVICE_NO_INDIRECT_DRAWS
    | VKXFB_DEVICE_NO_OPTIMIZATION
    | VKXFB_DEVICE_DEBUG_NAMES;

/// The minimum number of storage buffers for captures by descriptors
/// ([`RequiredFeatures::storage_buffers`]).
const MIN_STORAGE_BUFFERS: u32 = 4;

/// A physical device, the means to find its commands, and how captures use it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkxfbPhysicalDeviceInfo {
    /// The `sizeof` of the structure, as `VKXFB_INIT` sets it.
    pub struct_size: usize,
    /// `vkGetInstanceProcAddr`, linked with the program or loaded at run time.
    pub get_instance_proc_addr: GetInstanceProcAddr,
    /// The instance. With a version below Vulkan 1.1, `VK_KHR_get_physical_device_properties2` and
    /// `VK_KHR_device_group_creation` must be enabled.
    pub instance: vk::Instance,
    /// The `VkApplicationInfo::apiVersion` with which the instance was created, such as
    /// `VK_API_VERSION_1_2`; 0 means Vulkan 1.0.
    pub api_version: u32,
    /// The physical device.
    pub physical_device: vk::PhysicalDevice,
    /// `VKXFB_DEVICE_` bits. 0 is correct for every device that supports what it reports.
    pub flags: u32,
    /// If captures access memory by descriptors, the number of storage buffers that a capture may
    /// use of `maxPerStageDescriptorStorageBuffers`, at least 4. The set layouts of the
    /// application's pipelines can use the rest. A quarter of them is for capture buffers, another
    /// quarter for counters, queries and the library's own memory, the rest for buffers that draws
    /// read. 0 stands for the largest useful number, up to 24.
    pub max_storage_buffers: u32,
}

extensible!(VkxfbPhysicalDeviceInfo { ..physical_device, flags, max_storage_buffers });

/// The extensions and features that a device needs to capture by compute.
pub struct VkxfbRequiredFeatures {
    pub(crate) instance: ash::Instance,
    pub(crate) physical_device: vk::PhysicalDevice,
    pub(crate) capabilities: Capabilities,
    pub(crate) features: RequiredFeatures,
    /// The value of [`VkxfbPhysicalDeviceInfo::flags`].
    pub(crate) flags: u32,
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
    unsafe {
        create(p_required_features, "pRequiredFeatures", || {
            VkxfbRequiredFeatures::query(&read(p_info, "pInfo")?, None)
        })
    }
}

/// Adds the required extensions and features to a `VkDeviceCreateInfo`, which the application then
/// passes to `vkCreateDevice`.
///
/// Extensions: `ppEnabledExtensionNames` is replaced by a longer array. Features: if the `pNext`
/// chain contains a structure for a feature, this function sets the feature there, so it writes to
/// structures of the application: `VkPhysicalDeviceFeatures2`, `VkPhysicalDeviceVulkan12Features`,
/// `VkPhysicalDeviceBufferDeviceAddressFeatures`, `VkPhysicalDevice8BitStorageFeatures`,
/// `VkPhysicalDeviceShaderFloat16Int8Features` and, if it enables `vulkanMemoryModel`,
/// `VkPhysicalDeviceVulkanMemoryModelFeatures`. Otherwise a structure is inserted at the
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
        unsafe {
            let required = required_mut(required_features, "requiredFeatures")?;
            let info = required_mut(p_create_info, "pCreateInfo")?;
            let (names, count) = (info.pp_enabled_extension_names, info.enabled_extension_count);
            strings(names, count, "ppEnabledExtensionNames")?;
            typed_chain(info.p_next, "pCreateInfo")?;
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
    guard_quietly(|| drop(unsafe { owned(required_features) }));
}

impl VkxfbRequiredFeatures {
    /// Queries which extensions and features a device needs for captures. `created` is `None`, or
    /// says with what an existing device was created. Then captures use only what that device has.
    ///
    /// # Safety
    /// The contract of [`vkxfb_required_features_create`], and `created` is valid, with its chain.
    pub(crate) unsafe fn query(
        info: &VkxfbPhysicalDeviceInfo,
        created: Option<&vk::DeviceCreateInfo<'_>>,
    ) -> Result<Self, Error> {
        let get_instance_proc_addr =
            info.get_instance_proc_addr.ok_or(Error::Null("getInstanceProcAddr"))?;
        if info.instance == vk::Instance::null() {
            return Err(Error::Null("instance"));
        }
        if info.physical_device == vk::PhysicalDevice::null() {
            return Err(Error::Null("physicalDevice"));
        }
        if info.flags & !KNOWN_FLAGS != 0 {
            let unknown = info.flags & !KNOWN_FLAGS;
            return Err(Error::Argument(format!("flags has unknown bits: {unknown:#x}")));
        }
        let max = info.max_storage_buffers;
        if max != 0 && max < MIN_STORAGE_BUFFERS {
            let least = MIN_STORAGE_BUFFERS;
            let message = format!("maxStorageBuffers is {max}: captures need {least} or more");
            return Err(Error::Argument(message));
        }
        if info.flags & VKXFB_DEVICE_DEBUG_NAMES != 0 {
            // A function that does not exist must not be called: that would abort the program.
            let name = c"vkSetDebugUtilsObjectNameEXT";
            if unsafe { get_instance_proc_addr(info.instance, name.as_ptr()) }.is_none() {
                let message = "flags has VKXFB_DEVICE_DEBUG_NAMES, and instance was created without \
                               VK_EXT_debug_utils";
                return Err(Error::Argument(message.to_owned()));
            }
        }
        let functions = ash::StaticFn { get_instance_proc_addr };
        let (instance, mut capabilities) = unsafe {
            let entry = ash::Entry::from_static_fn(functions.clone());
            let instance = ash::Instance::load(&functions, info.instance);
            let version = info.api_version;
            let queried = Capabilities::query(&entry, &instance, version, info.physical_device);
            let capabilities = queried.map_err(|error| match error {
                RuntimeError::MissingInstanceExtension { name: extension, .. }
                    if version < vk::API_VERSION_1_1 =>
                {
                    Error::ApiVersion { version, extension }
                }
                error => error.into(),
            })?;
            (instance, capabilities)
        };
        if let Some(created) = created {
            unsafe { capabilities.restrict(created) };
        }
        if info.flags & VKXFB_DEVICE_DESCRIPTORS != 0 {
            capabilities.buffer_device_address = None;
            let reasons = capabilities.descriptor_obstacles().join(" and ");
            if !reasons.is_empty() {
                let device = capabilities.device_name;
                let as_created = if created.is_some() { " as it was created" } else { "" };
                return Err(Error::NoDescriptors { device, as_created, reasons });
            }
        }
        let mut features =
            required_features(&capabilities, &[Backend::Compute]).map_err(RuntimeError::from)?;
        if max != 0 {
            features.storage_buffers = features.storage_buffers.min(max);
        }
        Ok(Self {
            instance,
            physical_device: info.physical_device,
            capabilities,
            features,
            flags: info.flags,
            additions: CreateInfoAdditions::default(),
        })
    }
}
