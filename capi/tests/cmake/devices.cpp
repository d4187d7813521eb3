// Says of each Vulkan device whether vkxfb can capture on it. A structure without its size is refused.
#include <cstdio>
#include <vector>

#include <vulkan/vulkan.h>

#include "vkxfb.h"

int main() {
    VkApplicationInfo application = VkApplicationInfo();
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_2;
    VkInstanceCreateInfo create_info = VkInstanceCreateInfo();
    create_info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    create_info.pApplicationInfo = &application;
    VkInstance instance;
    if (vkCreateInstance(&create_info, nullptr, &instance) != VK_SUCCESS) return 2;
    uint32_t count = 0;
    vkEnumeratePhysicalDevices(instance, &count, nullptr);
    std::vector<VkPhysicalDevice> devices(count);
    vkEnumeratePhysicalDevices(instance, &count, devices.data());

    for (VkPhysicalDevice device : devices) {
        VkxfbPhysicalDeviceInfo info = VKXFB_INIT(VkxfbPhysicalDeviceInfo);
        info.getInstanceProcAddr = vkGetInstanceProcAddr;
        info.instance = instance;
        info.apiVersion = application.apiVersion;
        info.physicalDevice = device;
        VkxfbRequiredFeatures *features = nullptr;
        if (vkxfb_required_features_create(&info, &features) != VKXFB_SUCCESS) {
            std::printf("%s\n", vkxfb_last_error());
            continue;
        }
        std::printf("captures\n");
        vkxfb_required_features_destroy(features);
        info.structSize = 0;
        if (vkxfb_required_features_create(&info, &features) != VKXFB_ERROR_INVALID_ARGUMENT) return 1;
        std::printf("%s\n", vkxfb_last_error());
    }
    vkDestroyInstance(instance, nullptr);
}
