/*
 * Captures a draw by VK_EXT_transform_feedback, and compares what the driver wrote with what the Vulkan specification
 * demands. case.h has the draw and the records that it has to write, compare.h the comparison; the shaders are beside it.
 *
 *     cc main.c -o reproduce -lvulkan && ./reproduce [NUMBER OF THE DEVICE]
 *
 * Exit status: 0 every byte is as demanded, 1 some are not, 2 the draw cannot be captured.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>
#include "case.h"

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof *(array)))
#define ROOM(size) (((size) + 2 * GUARD - 1) / GUARD * GUARD)
#define NEED(condition, what) ((condition) ? (void)0 : (fprintf(stderr, "cannot capture: %s\n", what), exit(2)))
#define CHECK(call) NEED((call) == VK_SUCCESS, #call)
#define NEED_FEATURE(feature) \
    if (!(feature)) fprintf(stderr, "cannot capture: no feature %s\n", strrchr(#feature, '.') + 1), exit(2);
#define LOAD(get, from, name) PFN_##name name = (PFN_##name)get(from, #name)
#define S(name) .sType = VK_STRUCTURE_TYPE_##name
#define CREATE(what, name, handle, ...) \
    CHECK(vkCreate##what(device, &(Vk##what##CreateInfo){S(name##_CREATE_INFO), __VA_ARGS__}, NULL, handle))
#include "compare.h"

static VkShaderModule load(VkDevice device, const char *file) {
    static uint32_t words[1 << 16];
    VkShaderModule module;
    FILE *opened = fopen(file, "rb");
    NEED(opened, file);
    CREATE(ShaderModule, SHADER_MODULE, &module, .codeSize = fread(words, 1, sizeof words, opened), .pCode = words);
    fclose(opened);
    return module;
}

int main(int argc, char **argv) {
    /* The device, with the features that the draw needs. */
    uint32_t n = 16, number = argc > 1 ? (uint32_t)atoi(argv[1]) : 0, family = 0, has[2] = {0, 0}, type = 0;
    const char *names[2] = {VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME, VK_EXT_PROVOKING_VERTEX_EXTENSION_NAME};
    const char *query[1] = {VK_KHR_GET_PHYSICAL_DEVICE_PROPERTIES_2_EXTENSION_NAME};
    static VkExtensionProperties extensions[1024];
    VkInstance instance; VkPhysicalDevice devices[16]; VkQueueFamilyProperties families[16];
    CHECK(vkCreateInstance(&(VkInstanceCreateInfo){S(INSTANCE_CREATE_INFO), .enabledExtensionCount = 1,
        .ppEnabledExtensionNames = query}, NULL, &instance));
    NEED(vkEnumeratePhysicalDevices(instance, &n, devices) >= 0 && number < n, "no such device");
    VkPhysicalDevice physical = devices[number];
    vkGetPhysicalDeviceQueueFamilyProperties(physical, (n = COUNT(families), &n), families);
    while (family < n && !(families[family].queueFlags & VK_QUEUE_GRAPHICS_BIT)) family++;
    NEED(family < n, "no queue draws");
    vkEnumerateDeviceExtensionProperties(physical, NULL, (n = COUNT(extensions), &n), extensions);
    for (uint32_t i = 0; i < 2 * n; i++) has[i % 2] |= !strcmp(extensions[i / 2].extensionName, names[i % 2]);
    NEED(has[0], "the device has no VK_EXT_transform_feedback");
    VkPhysicalDeviceProvokingVertexPropertiesEXT fans = {S(PHYSICAL_DEVICE_PROVOKING_VERTEX_PROPERTIES_EXT)};
    VkPhysicalDeviceTransformFeedbackPropertiesEXT limits = {S(PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_PROPERTIES_EXT),
        has[1] ? &fans : NULL};
    VkPhysicalDeviceProperties2 properties = {S(PHYSICAL_DEVICE_PROPERTIES_2), &limits};
    VkPhysicalDeviceProvokingVertexFeaturesEXT mode = {S(PHYSICAL_DEVICE_PROVOKING_VERTEX_FEATURES_EXT)};
    VkPhysicalDeviceTransformFeedbackFeaturesEXT xfb = {S(PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT),
        has[1] ? &mode : NULL};
    VkPhysicalDeviceFeatures2 features = {S(PHYSICAL_DEVICE_FEATURES_2), &xfb};
    LOAD(vkGetInstanceProcAddr, instance, vkGetPhysicalDeviceProperties2KHR);
    LOAD(vkGetInstanceProcAddr, instance, vkGetPhysicalDeviceFeatures2KHR);
    vkGetPhysicalDeviceProperties2KHR(physical, &properties);
    vkGetPhysicalDeviceFeatures2KHR(physical, &features);
    NEEDS(NEED_FEATURE)
    features.features = (VkPhysicalDeviceFeatures)FEATURES;
    int rotated = !mode.transformFeedbackPreservesProvokingVertex ||
                  (IS_FAN && !fans.transformFeedbackPreservesTriangleFanProvokingVertex);
    VkDevice device; VkQueue queue;
    VkDeviceQueueCreateInfo queues = {S(DEVICE_QUEUE_CREATE_INFO), NULL, 0, family, 1, (float[]){1}};
    CHECK(vkCreateDevice(physical, &(VkDeviceCreateInfo){S(DEVICE_CREATE_INFO), &features, .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queues, .enabledExtensionCount = 1 + has[1], .ppEnabledExtensionNames = names}, NULL, &device));
    vkGetDeviceQueue(device, family, 0, &queue);

    /* One buffer, which the host sees: counters, the bound ranges, and what vertices read. */
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t size = GUARD, at = GUARD, differences = 0;
    for (uint32_t i = 0; i < COUNT(captured); i++) size += ROOM(captured[i].size);
    for (uint32_t i = 0; i < vertex_buffer_count; i++) size += ROOM(vertex_buffers[i].size);
    VkPhysicalDeviceMemoryProperties memories; VkMemoryRequirements needs; VkDeviceMemory memory;
    VkBuffer buffer, counters[4] = {VK_NULL_HANDLE}; /* capture buffers have numbers, of which some may be missing */
    unsigned char *mapped, *begin[COUNT(captured)];
    CREATE(Buffer, BUFFER, &buffer, .size = size, .usage = VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT |
        VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_COUNTER_BUFFER_BIT_EXT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT);
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    vkGetPhysicalDeviceMemoryProperties(physical, &memories);
    while (type < memories.memoryTypeCount && (!(needs.memoryTypeBits >> type & 1) ||
           (memories.memoryTypes[type].propertyFlags & wanted) != wanted)) type++;
    NEED(type < memories.memoryTypeCount, "the host sees no memory of the buffer");
    CHECK(vkAllocateMemory(device, &(VkMemoryAllocateInfo){S(MEMORY_ALLOCATE_INFO), NULL, needs.size, type}, NULL, &memory));
    CHECK(vkBindBufferMemory(device, buffer, memory, 0));
    CHECK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, (void **)&mapped));
    memset(mapped, FILLED, size);

    /* The pipeline, which rasterizes nothing, in a render pass without attachments. */
    VkRenderPass pass; VkFramebuffer framebuffer; VkPipelineLayout layout; VkPipeline pipeline;
    VkPipelineShaderStageCreateInfo infos[COUNT(stages)];
    CREATE(RenderPass, RENDER_PASS, &pass, .subpassCount = 1, .pSubpasses = &(VkSubpassDescription){0});
    CREATE(Framebuffer, FRAMEBUFFER, &framebuffer, .renderPass = pass, .width = 1, .height = 1, .layers = 1);
    CREATE(PipelineLayout, PIPELINE_LAYOUT, &layout, .flags = 0);
    for (uint32_t i = 0; i < COUNT(stages); i++)
        infos[i] = (VkPipelineShaderStageCreateInfo){S(PIPELINE_SHADER_STAGE_CREATE_INFO), .stage = stages[i].stage,
            .module = load(device, stages[i].file), .pName = "main"};
    VkPipelineVertexInputStateCreateInfo input = {S(PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO), NULL, 0,
        vertex_buffer_count, bindings, attribute_count, attributes};
    VkPipelineInputAssemblyStateCreateInfo assembly = {S(PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO), .topology = TOPOLOGY};
    VkPipelineTessellationStateCreateInfo patch = {S(PIPELINE_TESSELLATION_STATE_CREATE_INFO), .patchControlPoints = PATCH};
    VkPipelineRasterizationProvokingVertexStateCreateInfoEXT provoking = {
        S(PIPELINE_RASTERIZATION_PROVOKING_VERTEX_STATE_CREATE_INFO_EXT), .provokingVertexMode = PROVOKING};
    VkPipelineRasterizationStateCreateInfo rasterization = {S(PIPELINE_RASTERIZATION_STATE_CREATE_INFO),
        PROVOKING ? &provoking : NULL, .rasterizerDiscardEnable = VK_TRUE, .lineWidth = 1};
    CHECK(vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &(VkGraphicsPipelineCreateInfo){
        S(GRAPHICS_PIPELINE_CREATE_INFO), .stageCount = COUNT(stages), .pStages = infos, .pVertexInputState = &input,
        .pInputAssemblyState = &assembly, .pTessellationState = &patch, .pRasterizationState = &rasterization,
        .layout = layout, .renderPass = pass}, NULL, &pipeline));

    /* The draw. */
    VkCommandPool pool; VkCommandBuffer commands;
    LOAD(vkGetDeviceProcAddr, device, vkCmdBindTransformFeedbackBuffersEXT);
    LOAD(vkGetDeviceProcAddr, device, vkCmdBeginTransformFeedbackEXT);
    LOAD(vkGetDeviceProcAddr, device, vkCmdEndTransformFeedbackEXT);
    CREATE(CommandPool, COMMAND_POOL, &pool, .queueFamilyIndex = family);
    CHECK(vkAllocateCommandBuffers(device, &(VkCommandBufferAllocateInfo){S(COMMAND_BUFFER_ALLOCATE_INFO), NULL, pool,
        VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1}, &commands));
    CHECK(vkBeginCommandBuffer(commands, &(VkCommandBufferBeginInfo){S(COMMAND_BUFFER_BEGIN_INFO)}));
    for (uint32_t i = 0; i < COUNT(captured); at += ROOM(captured[i].size), i++) {
        vkCmdBindTransformFeedbackBuffersEXT(commands, captured[i].binding, 1, &buffer, &(VkDeviceSize){at},
            &(VkDeviceSize){captured[i].size});
        counters[captured[i].binding] = buffer;
        begin[i] = mapped + at;
    }
    for (uint32_t i = 0; i < vertex_buffer_count; at += ROOM(vertex_buffers[i].size), i++) {
        memcpy(mapped + at, vertex_buffers[i].contents, vertex_buffers[i].size);
        vkCmdBindVertexBuffers(commands, vertex_buffers[i].binding, 1, &buffer, &(VkDeviceSize){at});
    }
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdBeginRenderPass(commands, &(VkRenderPassBeginInfo){S(RENDER_PASS_BEGIN_INFO), NULL, pass, framebuffer,
        {{0, 0}, {1, 1}}, 0, NULL}, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBeginTransformFeedbackEXT(commands, 0, 0, NULL, NULL);
    vkCmdDraw(commands, VERTICES, INSTANCES, FIRST_VERTEX, FIRST_INSTANCE);
    vkCmdEndTransformFeedbackEXT(commands, 0, captured[COUNT(captured) - 1].binding + 1, counters,
        (VkDeviceSize[]){0, 4, 8, 12});
    vkCmdEndRenderPass(commands);
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFORM_FEEDBACK_BIT_EXT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
        &(VkMemoryBarrier){S(MEMORY_BARRIER), NULL, VK_ACCESS_TRANSFORM_FEEDBACK_WRITE_BIT_EXT |
        VK_ACCESS_TRANSFORM_FEEDBACK_COUNTER_WRITE_BIT_EXT, VK_ACCESS_HOST_READ_BIT}, 0, NULL, 0, NULL);
    CHECK(vkEndCommandBuffer(commands));
    CHECK(vkQueueSubmit(queue, 1, &(VkSubmitInfo){S(SUBMIT_INFO), .commandBufferCount = 1,
        .pCommandBuffers = &commands}, VK_NULL_HANDLE));
    CHECK(vkQueueWaitIdle(queue));

    printf("%s\n%s\n%s", properties.properties.deviceName, DESCRIPTION,
           rotated ? "On this device, triangles may begin with any of their vertices.\n" : "");
    for (uint32_t i = 0; i < COUNT(captured); i++)
        differences += compare(&captured[i], begin[i], ((uint32_t *)mapped)[captured[i].binding], rotated);
    printf("%u differences\n", differences);
    return differences != 0;
}
