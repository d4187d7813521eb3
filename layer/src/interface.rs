//! The interface between loader and layers:
//! [`vk_layer.h`](https://github.com/KhronosGroup/Vulkan-Headers/blob/v1.4.341/include/vulkan/vk_layer.h)
//! of the Vulkan headers, which `ash` does not contain. Its use is described in the loader's
//! [`LoaderLayerInterface.md`](https://github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderLayerInterface.md).
//!
//! The loader creates these structures; the layer reads them, fills in the version and functions of
//! [`NegotiateLayerInterface`], and advances the pointers to links. Where a structure ends in a
//! union, only the member that the layer reads is defined here, with the condition under which that
//! member is valid.

use std::ffi::{c_char, c_void};

use ash::vk;

/// The version of the interface that the layer implements
/// (`CURRENT_LOADER_LAYER_INTERFACE_VERSION`): the first version with negotiation.
pub const INTERFACE_VERSION: u32 = 2;

/// `LAYER_NEGOTIATE_INTERFACE_STRUCT`, the only value of `VkNegotiateLayerStructType`.
pub const NEGOTIATE_INTERFACE_STRUCT: i32 = 1;

/// `PFN_GetPhysicalDeviceProcAddr`
#[allow(non_camel_case_types, reason = "as ash spells types of functions")]
pub type PFN_GetPhysicalDeviceProcAddr =
    unsafe extern "system" fn(vk::Instance, *const c_char) -> vk::PFN_vkVoidFunction;

/// `VkNegotiateLayerInterface`
#[repr(C)]
#[derive(Debug)]
pub struct NegotiateLayerInterface {
    /// The type of this structure, a `VkNegotiateLayerStructType`, which is not a
    /// `VkStructureType`.
    pub s_type: i32,
    /// Always null in this version of the interface.
    pub p_next: *mut c_void,
    /// On input, the newest version that the loader supports. On output, the version that loader
    /// and layer use.
    pub loader_layer_interface_version: u32,
    /// Output: `vkGetInstanceProcAddr` of the layer.
    pub get_instance_proc_addr: Option<vk::PFN_vkGetInstanceProcAddr>,
    /// Output: `vkGetDeviceProcAddr` of the layer.
    pub get_device_proc_addr: Option<vk::PFN_vkGetDeviceProcAddr>,
    /// Output: `vk_layerGetPhysicalDeviceProcAddr` of the layer.
    pub get_physical_device_proc_addr: Option<PFN_GetPhysicalDeviceProcAddr>,
}

/// `VkLayerFunction`: which member is valid in the union at the end of a create info of the loader.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerFunction(pub i32);

impl LayerFunction {
    /// `VK_LAYER_LINK_INFO`
    pub const LINK_INFO: Self = Self(0);
}

/// `VkLayerInstanceCreateInfo` or `VkLayerDeviceCreateInfo`. The `pNext` chain of `VkInstanceCreateInfo` or
/// `VkDeviceCreateInfo` contains one such structure for each `VkLayerFunction`.
#[repr(C)]
#[derive(Debug)]
pub struct LayerCreateInfo<L> {
    /// `VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO` or `VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO`
    pub s_type: vk::StructureType,
    /// The next structure of the chain.
    pub p_next: *const c_void,
    /// Which member of the union at the end of this structure is valid.
    pub function: LayerFunction,
    /// This layer's link, if the function is [`LayerFunction::LINK_INFO`]. The layer advances this pointer to the next
    /// link before it calls the layer or driver below.
    pub layer_info: *mut L,
}

/// `VkLayerInstanceCreateInfo`
pub type LayerInstanceCreateInfo = LayerCreateInfo<LayerInstanceLink>;

/// `VkLayerDeviceCreateInfo`
pub type LayerDeviceCreateInfo = LayerCreateInfo<LayerDeviceLink>;

/// `VkLayerInstanceLink`
#[repr(C)]
#[derive(Debug)]
pub struct LayerInstanceLink {
    /// The link that the layer below uses.
    pub p_next: *mut Self,
    /// `vkGetInstanceProcAddr` of the layer below, or of the loader's terminator.
    pub next_get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
    /// `vk_layerGetPhysicalDeviceProcAddr` of the next layer below that has this function. `None`
    /// if no layer below has it.
    ///
    /// The loader of Android does not have this member.
    #[cfg(not(target_os = "android"))]
    pub next_get_physical_device_proc_addr: Option<PFN_GetPhysicalDeviceProcAddr>,
}

// On Android, `LayerInstanceLink` has only the first two members. The layer must not read memory behind them.
#[cfg(target_os = "android")]
const _: () = assert!(size_of::<LayerInstanceLink>() == 2 * size_of::<*mut ()>());

impl LayerInstanceLink {
    /// Returns `vk_layerGetPhysicalDeviceProcAddr` of the next layer below that has this function.
    /// `None` if no layer below has it, and always on Android.
    pub const fn next_get_physical_device_proc_addr(
        &self,
    ) -> Option<PFN_GetPhysicalDeviceProcAddr> {
        #[cfg(not(target_os = "android"))]
        let next = self.next_get_physical_device_proc_addr;
        #[cfg(target_os = "android")]
        let next = None;
        next
    }
}

/// `VkLayerDeviceLink`
#[repr(C)]
#[derive(Debug)]
pub struct LayerDeviceLink {
    /// The link that the layer below uses.
    pub p_next: *mut Self,
    /// `vkGetInstanceProcAddr` of the layer below, or of the loader's terminator.
    pub next_get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
    /// `vkGetDeviceProcAddr` of the layer below, or of the driver.
    pub next_get_device_proc_addr: vk::PFN_vkGetDeviceProcAddr,
}
