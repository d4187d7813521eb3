//! Decides which version of Vulkan the layer or driver below is asked for, and hides from programs what it has because of
//! that.

use std::ffi::CStr;

use ash::vk;

/// The versions of Vulkan of an instance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Versions {
    /// The version that the program requests.
    pub(crate) requested: u32,
    /// The version that the layer or driver below is asked for.
    pub(crate) below: u32,
}

impl Versions {
    /// Returns the versions of an instance for which the program requests `requested`. Below it is the same version, but
    /// 1.2 instead of 1.1: captures use device addresses, which some drivers, such as SwiftShader, have only in 1.2 and
    /// not as an extension.
    ///
    /// Whoever takes 1.1 takes 1.2, too: only implementations of 1.0 may [refuse a newer
    /// version](https://docs.vulkan.org/refpages/latest/refpages/source/VkApplicationInfo.html). Programs of 1.0 get what
    /// they request, because from 1.1 on a driver may treat viewports otherwise, and
    /// `VK_AMD_negative_viewport_height` must not be enabled
    /// ([VUID-VkDeviceCreateInfo-ppEnabledExtensionNames-01840](https://docs.vulkan.org/refpages/latest/refpages/source/VkDeviceCreateInfo.html#VUID-VkDeviceCreateInfo-ppEnabledExtensionNames-01840)).
    pub(crate) const fn new(requested: u32) -> Self {
        let below = match requested {
            vk::API_VERSION_1_1..vk::API_VERSION_1_2 => vk::API_VERSION_1_2,
            other => other,
        };
        Self { requested, below }
    }

    /// Returns the versions of an instance for which the program's version is requested below, too.
    pub(crate) const fn same(requested: u32) -> Self {
        Self { requested, below: requested }
    }

    /// Whether the layer or driver below is asked for a newer version than the program requests.
    pub(crate) const fn are_different(self) -> bool {
        self.below != self.requested
    }

    /// Whether programs do not get a command, because it belongs to a newer version of Vulkan than they request.
    pub(crate) fn hide(self, command: &CStr) -> bool {
        self.are_different() && VULKAN_1_2.binary_search(&command).is_ok()
    }
}

/// The commands of Vulkan 1.2, sorted by name.
const VULKAN_1_2: [&CStr; 13] = [
    c"vkCmdBeginRenderPass2",
    c"vkCmdDrawIndexedIndirectCount",
    c"vkCmdDrawIndirectCount",
    c"vkCmdEndRenderPass2",
    c"vkCmdNextSubpass2",
    c"vkCreateRenderPass2",
    c"vkGetBufferDeviceAddress",
    c"vkGetBufferOpaqueCaptureAddress",
    c"vkGetDeviceMemoryOpaqueCaptureAddress",
    c"vkGetSemaphoreCounterValue",
    c"vkResetQueryPool",
    c"vkSignalSemaphore",
    c"vkWaitSemaphores",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_1_1_is_raised() {
        let patch = |minor| vk::make_api_version(0, 1, minor, 99);
        for same in [0, vk::API_VERSION_1_0, patch(0), vk::API_VERSION_1_2, patch(2), patch(4)] {
            assert!(!Versions::new(same).are_different(), "{same:#x}");
            assert!(!Versions::new(same).hide(c"vkResetQueryPool"));
        }
        // Another variant of Vulkan is another API.
        assert!(!Versions::new(vk::make_api_version(1, 1, 1, 0)).are_different());
        for raised in [vk::API_VERSION_1_1, patch(1)] {
            assert_eq!(Versions::new(raised).below, vk::API_VERSION_1_2);
        }
    }

    #[test]
    fn commands_of_extensions_stay() {
        assert!(VULKAN_1_2.is_sorted());
        let versions = Versions::new(vk::API_VERSION_1_1);
        for name in [c"vkGetBufferDeviceAddress", c"vkResetQueryPool", c"vkWaitSemaphores"] {
            assert!(versions.hide(name), "{name:?}");
        }
        for name in [c"vkGetBufferDeviceAddressKHR", c"vkResetQueryPoolEXT", c"vkTrimCommandPool"] {
            assert!(!versions.hide(name), "{name:?}");
        }
    }
}
