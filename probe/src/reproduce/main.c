/*
 * Captures a draw by VK_EXT_transform_feedback, and compares what the driver wrote with what the Vulkan specification
 * demands. case.h has the draw and the records that it has to write; the shaders are beside it.
 *
 *     cc main.c -o reproduce -lvulkan && ./reproduce [NUMBER OF THE DEVICE]
 *
 * Exit status: 0 every byte is as demanded, 1 some are not, 2 the draw cannot be captured.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

typedef struct {
    VkShaderStageFlagBits stage;
    const char *file; /* a SPIR-V module, whose entry point is main */
} Stage;

typedef struct {
    uint32_t binding, size; /* in bytes */
    const uint32_t *contents;
} VertexBuffer;

typedef struct {
    uint32_t binding, stride, size; /* in bytes; the size is that of the bound range */
    uint32_t per_primitive;         /* the vertices of each captured primitive */
    uint32_t vertices;              /* the vertices of each instance */
    const uint32_t *records;        /* the record of each vertex of each instance */
    uint32_t expected_count;
    const uint32_t *expected; /* which of these records have to be written, in this order */
} Captured;

#include "case.h"

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof *(array)))
#define GUARD 256   /* bytes behind each bound range, which must not be written */
#define FILLED 0xcd /* the bytes before the draw */
#define CHECK(call) ((call) == VK_SUCCESS ? (void)0 : fail(#call))

static void fail(const char *what) {
    fprintf(stderr, "cannot capture: %s\n", what);
    exit(2);
}

static VkPhysicalDevice physical;
static VkDevice device;

/* Makes a buffer in memory that the host sees, filled, and with `contents` at its begin unless these are NULL. */
static VkBuffer make_buffer(VkBufferUsageFlags usage, uint32_t size, const void *contents, unsigned char **mapped) {
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties memories;
    VkMemoryRequirements needs;
    VkDeviceMemory memory;
    VkBuffer buffer;
    uint32_t type = 0;
    CHECK(vkCreateBuffer(device, &(VkBufferCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size,
                                                       .usage = usage}, NULL, &buffer));
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    vkGetPhysicalDeviceMemoryProperties(physical, &memories);
    while (type < memories.memoryTypeCount && (!(needs.memoryTypeBits >> type & 1) ||
           (memories.memoryTypes[type].propertyFlags & wanted) != wanted))
        type++;
    if (type == memories.memoryTypeCount) fail("no memory that the host sees");
    CHECK(vkAllocateMemory(device, &(VkMemoryAllocateInfo){.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                           .allocationSize = needs.size, .memoryTypeIndex = type}, NULL, &memory));
    CHECK(vkBindBufferMemory(device, buffer, memory, 0));
    CHECK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, (void **)mapped));
    memset(*mapped, FILLED, size);
    if (contents) memcpy(*mapped, contents, size);
    return buffer;
}

static VkShaderModule load(const char *file) {
    static uint32_t words[1 << 16];
    VkShaderModule module;
    FILE *opened = fopen(file, "rb");
    if (!opened) fail(file);
    size_t size = fread(words, 1, sizeof words, opened);
    fclose(opened);
    CHECK(vkCreateShaderModule(device, &(VkShaderModuleCreateInfo){
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = size, .pCode = words}, NULL, &module));
    return module;
}

static int is_record(const Captured *of, const unsigned char *bytes, uint32_t number) {
    return !memcmp(bytes, (const char *)of->records + (size_t)number * of->stride, of->stride);
}

/* Prints which vertices the records of a primitive are of: ? is of none, and - was not written. */
static void print_captured(const Captured *of, const unsigned char *records) {
    for (uint32_t i = 0; i < of->per_primitive; i++, records += of->stride) {
        uint32_t number = 0, filled = 0;
        while (number < of->vertices * INSTANCES && !is_record(of, records, number)) number++;
        while (filled < of->stride && records[filled] == FILLED) filled++;
        if (number < of->vertices * INSTANCES)
            printf(" v%u", number % of->vertices);
        else
            printf(" %c", filled == of->stride ? '-' : '?');
    }
}

/* Whether the records are those that are expected, where a triangle may begin with any vertex if `rotated`. */
static int is_expected(const Captured *of, const unsigned char *records, const uint32_t *expected, int rotated) {
    for (uint32_t first = 0; first < (rotated && of->per_primitive == 3 ? 3 : 1); first++) {
        uint32_t same = 0;
        while (same < of->per_primitive &&
               is_record(of, records + same * of->stride, expected[(first + same) % of->per_primitive]))
            same++;
        if (same == of->per_primitive) return 1;
    }
    return 0;
}

/* Compares a capture buffer and its counter, prints both, and returns the number of differences. */
static int compare(const Captured *of, const unsigned char *bytes, uint32_t counter, int rotated) {
    uint32_t written = of->expected_count * of->stride, differences = 0;
    printf("buffer %u\n", of->binding);
    for (uint32_t first = 0; first < of->expected_count; first += of->per_primitive) {
        const uint32_t *expected = of->expected + first;
        const unsigned char *records = bytes + first * of->stride;
        int is_right = is_expected(of, records, expected, rotated);
        differences += !is_right;
        if (first >= 192 && is_right) continue; /* far behind, only what differs is printed */
        printf("  primitive %u, instance %u: demanded", first / of->per_primitive, expected[0] / of->vertices);
        for (uint32_t i = 0; i < of->per_primitive; i++) printf(" v%u", expected[i] % of->vertices);
        printf(", captured");
        print_captured(of, records);
        printf(is_right ? "\n" : "  <-- differs\n");
    }
    uint32_t behind = written;
    while (behind < of->size + GUARD && bytes[behind] == FILLED) behind++;
    if (behind < of->size + GUARD && ++differences)
        printf("  byte %u was written: the records end at %u, the bound range at %u\n", behind, written, of->size);
    if (counter != written && ++differences) printf("  the counter is %u: it has to be %u\n", counter, written);
    return differences;
}

int main(int argc, char **argv) {
    VkInstance instance;
    VkPhysicalDevice devices[16];
    VkQueueFamilyProperties families[16];
    uint32_t count = COUNT(devices), family = 0, number = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    CHECK(vkCreateInstance(&(VkInstanceCreateInfo){.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                                   .pApplicationInfo = &application}, NULL, &instance));
    if (vkEnumeratePhysicalDevices(instance, &count, devices) < 0 || number >= count) fail("no such device");
    physical = devices[number];
    count = COUNT(families);
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    while (family < count && !(families[family].queueFlags & VK_QUEUE_GRAPHICS_BIT)) family++;
    if (family == count) fail("no graphics queue");

    /* The device, with what the draw needs of the features that it supports. */
    const char *names[2] = {VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME, VK_EXT_PROVOKING_VERTEX_EXTENSION_NAME};
    static VkExtensionProperties extensions[1024];
    uint32_t has[2] = {0, 0};
    count = COUNT(extensions);
    vkEnumerateDeviceExtensionProperties(physical, NULL, &count, extensions);
    for (uint32_t i = 0; i < 2 * count; i++) has[i % 2] |= !strcmp(extensions[i / 2].extensionName, names[i % 2]);
    VkPhysicalDeviceProvokingVertexPropertiesEXT limits = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROVOKING_VERTEX_PROPERTIES_EXT};
    VkPhysicalDeviceTransformFeedbackPropertiesEXT xfb_limits = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_PROPERTIES_EXT,
        .pNext = has[1] ? &limits : NULL};
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &xfb_limits};
    VkPhysicalDeviceProvokingVertexFeaturesEXT provoking = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROVOKING_VERTEX_FEATURES_EXT};
    VkPhysicalDeviceTransformFeedbackFeaturesEXT xfb = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT,
        .pNext = has[1] ? &provoking : NULL};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &xfb};
    if (!has[0]) fail("the device has no VK_EXT_transform_feedback");
    VkPhysicalDeviceProperties plain;
    vkGetPhysicalDeviceProperties(physical, &plain);
    if (plain.apiVersion < VK_API_VERSION_1_1) fail("the device has no Vulkan 1.1");
    vkGetPhysicalDeviceProperties2(physical, &properties);
    vkGetPhysicalDeviceFeatures2(physical, &features);
    if (!xfb.transformFeedback) fail("the device has no feature transformFeedback");
    int is_last = PROVOKING == VK_PROVOKING_VERTEX_MODE_LAST_VERTEX_EXT, has_geometry = COUNT(stages) > 1;
    if (is_last && !provoking.provokingVertexLast) fail("the device has no feature provokingVertexLast");
    int has_adjacency = TOPOLOGY >= VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY;
    if ((has_geometry || has_adjacency) && !features.features.geometryShader)
        fail("the device has no feature geometryShader");
    features.features = (VkPhysicalDeviceFeatures){.geometryShader = features.features.geometryShader};
    if (STREAMS > 1 && !xfb.geometryStreams) fail("the device has no feature geometryStreams");
    if (STREAMS > 1 && captured[0].per_primitive > 1 && !xfb_limits.transformFeedbackStreamsLinesTriangles)
        fail("the device has vertex streams for points alone (transformFeedbackStreamsLinesTriangles)");
    int rotated = !provoking.transformFeedbackPreservesProvokingVertex ||
                  (TOPOLOGY == VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN && !has_geometry &&
                   !limits.transformFeedbackPreservesTriangleFanProvokingVertex);
    VkDeviceQueueCreateInfo queue_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = family, .queueCount = 1, .pQueuePriorities = (float[]){1}};
    VkQueue queue;
    CHECK(vkCreateDevice(physical, &(VkDeviceCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &features, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue_info,
        .enabledExtensionCount = 1 + has[1], .ppEnabledExtensionNames = names}, NULL, &device));
    vkGetDeviceQueue(device, family, 0, &queue);
#define LOAD(name) PFN_##name name = (PFN_##name)vkGetDeviceProcAddr(device, #name)
    LOAD(vkCmdBindTransformFeedbackBuffersEXT);
    LOAD(vkCmdBeginTransformFeedbackEXT);
    LOAD(vkCmdEndTransformFeedbackEXT);

    /* The pipeline, which rasterizes nothing, in a render pass without attachments. */
    VkRenderPass pass;
    VkFramebuffer framebuffer;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    CHECK(vkCreateRenderPass(device, &(VkRenderPassCreateInfo){.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
        .subpassCount = 1, .pSubpasses = &(VkSubpassDescription){0}}, NULL, &pass));
    CHECK(vkCreateFramebuffer(device, &(VkFramebufferCreateInfo){.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
        .renderPass = pass, .width = 1, .height = 1, .layers = 1}, NULL, &framebuffer));
    CHECK(vkCreatePipelineLayout(device, &(VkPipelineLayoutCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO}, NULL, &layout));
    VkPipelineShaderStageCreateInfo stage_infos[COUNT(stages)];
    for (uint32_t i = 0; i < COUNT(stages); i++)
        stage_infos[i] = (VkPipelineShaderStageCreateInfo){
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = stages[i].stage,
            .module = load(stages[i].file), .pName = "main"};
    VkPipelineVertexInputStateCreateInfo input = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
        .vertexBindingDescriptionCount = vertex_buffer_count, .pVertexBindingDescriptions = bindings,
        .vertexAttributeDescriptionCount = attribute_count, .pVertexAttributeDescriptions = attributes};
    VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO, .topology = TOPOLOGY};
    VkPipelineRasterizationProvokingVertexStateCreateInfoEXT mode = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_PROVOKING_VERTEX_STATE_CREATE_INFO_EXT,
        .provokingVertexMode = PROVOKING};
    VkPipelineRasterizationStateCreateInfo rasterization = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .pNext = is_last ? &mode : NULL,
        .rasterizerDiscardEnable = VK_TRUE, .lineWidth = 1};
    CHECK(vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &(VkGraphicsPipelineCreateInfo){
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, .stageCount = COUNT(stages), .pStages = stage_infos,
        .pVertexInputState = &input, .pInputAssemblyState = &assembly, .pRasterizationState = &rasterization,
        .layout = layout, .renderPass = pass}, NULL, &pipeline));

    /* The draw. */
    VkCommandPool pool;
    VkCommandBuffer commands;
    /* By the number of the capture buffer: some may be missing between others. */
    VkBuffer counters[4] = {VK_NULL_HANDLE};
    VkDeviceSize offsets[4] = {0};
    unsigned char *mapped[COUNT(captured)], *counted, *ignored;
    CHECK(vkCreateCommandPool(device, &(VkCommandPoolCreateInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                                                 .queueFamilyIndex = family}, NULL, &pool));
    CHECK(vkAllocateCommandBuffers(device, &(VkCommandBufferAllocateInfo){
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1},
                                   &commands));
    CHECK(vkBeginCommandBuffer(commands, &(VkCommandBufferBeginInfo){
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO}));
    VkBuffer counter = make_buffer(VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_COUNTER_BUFFER_BIT_EXT, 4 * COUNT(captured), NULL,
                                   &counted);
    for (uint32_t i = 0; i < COUNT(captured); i++) {
        VkBuffer buffer = make_buffer(VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT, captured[i].size + GUARD, NULL,
                                      &mapped[i]);
        vkCmdBindTransformFeedbackBuffersEXT(commands, captured[i].binding, 1, &buffer, &(VkDeviceSize){0},
                                             &(VkDeviceSize){captured[i].size});
        counters[captured[i].binding] = counter;
        offsets[captured[i].binding] = 4 * i;
    }
    for (uint32_t i = 0; i < vertex_buffer_count; i++) {
        VkBuffer buffer = make_buffer(VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, vertex_buffers[i].size,
                                      vertex_buffers[i].contents, &ignored);
        vkCmdBindVertexBuffers(commands, vertex_buffers[i].binding, 1, &buffer, &(VkDeviceSize){0});
    }
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdBeginRenderPass(commands, &(VkRenderPassBeginInfo){.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
        .renderPass = pass, .framebuffer = framebuffer, .renderArea.extent = {1, 1}}, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBeginTransformFeedbackEXT(commands, 0, 0, NULL, NULL);
    vkCmdDraw(commands, VERTICES, INSTANCES, FIRST_VERTEX, FIRST_INSTANCE);
    vkCmdEndTransformFeedbackEXT(commands, 0, captured[COUNT(captured) - 1].binding + 1, counters, offsets);
    vkCmdEndRenderPass(commands);
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .dstAccessMask = VK_ACCESS_HOST_READ_BIT,
        .srcAccessMask = VK_ACCESS_TRANSFORM_FEEDBACK_WRITE_BIT_EXT |
                         VK_ACCESS_TRANSFORM_FEEDBACK_COUNTER_WRITE_BIT_EXT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFORM_FEEDBACK_BIT_EXT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                         &barrier, 0, NULL, 0, NULL);
    CHECK(vkEndCommandBuffer(commands));
    CHECK(vkQueueSubmit(queue, 1, &(VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
                                                  .pCommandBuffers = &commands}, VK_NULL_HANDLE));
    CHECK(vkQueueWaitIdle(queue));

    int differences = 0;
    printf("%s\n%s\n%s", properties.properties.deviceName, DESCRIPTION,
           rotated ? "On this device, triangles may begin with any of their vertices.\n" : "");
    for (uint32_t i = 0; i < COUNT(captured); i++)
        differences += compare(&captured[i], mapped[i], ((const uint32_t *)counted)[i], rotated);
    printf("%d differences\n", differences);
    return differences != 0;
}
