/* What the tests in C share, beside what the example has of an application. */
#define main minimal
#include "minimal.c"
#undef main

static VkCommandPool command_pool;
static VkCommandBuffer cmd;
static VkQueue queue;

/* How a context comes about: for a device that the test creates with what vkxfb asks for, or for one that it creates
   without asking; how captures reach memory; and whether they do without what they can do without. */
static inline VkxfbContext *make_context_as(const char *way) {
    const int uses_descriptors = strstr(way, "descriptors") != NULL;
    VkxfbPhysicalDeviceInfo info = VKXFB_INIT(VkxfbPhysicalDeviceInfo);
    VkxfbRequiredFeatures *required;
    VkxfbContext *context;
    VkxfbContextProperties properties = VKXFB_INIT(VkxfbContextProperties);
    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queue_info = {0};
    VkDeviceCreateInfo create = {0};
    VkPhysicalDeviceFeatures core = {0};
    VkPhysicalDeviceVulkan12Features vulkan12 = {0};

    info.getInstanceProcAddr = vkGetInstanceProcAddr;
    info.instance = instance;
    info.apiVersion = VK_API_VERSION_1_2;
    info.physicalDevice = physical_device;
    queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue_info.queueCount = 1;
    queue_info.pQueuePriorities = &priority;
    create.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    create.queueCreateInfoCount = 1;
    create.pQueueCreateInfos = &queue_info;
    if (strstr(way, "adopted") != NULL) {
        vulkan12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
        vulkan12.bufferDeviceAddress = !uses_descriptors;
        core.shaderStorageBufferArrayDynamicIndexing = uses_descriptors;
        create.pNext = &vulkan12;
        create.pEnabledFeatures = &core;
        VK(vkCreateDevice(physical_device, &create, NULL, &device));
        VKXFB(vkxfb_context_create_for_device(&info, device, &create, VK_NULL_HANDLE, &context));
    } else {
        if (uses_descriptors) {
            info.flags = VKXFB_DEVICE_DESCRIPTORS;
            info.maxStorageBuffers = 16;
        }
        if (strstr(way, "unoptimized") != NULL)
            info.flags |= VKXFB_DEVICE_NO_OPTIMIZATION | VKXFB_DEVICE_NO_INDIRECT_DISPATCH;
        VKXFB(vkxfb_required_features_create(&info, &required));
        VKXFB(vkxfb_required_features_add_to(required, &create));
        VK(vkCreateDevice(physical_device, &create, NULL, &device));
        VKXFB(vkxfb_context_create(required, device, VK_NULL_HANDLE, &context));
        vkxfb_required_features_destroy(required);
    }
    VKXFB(vkxfb_context_get_properties(context, &properties));
    check(properties.bufferUsage == vkxfb_context_buffer_usage(context) &&
              properties.usesDescriptors == (VkBool32)uses_descriptors &&
              (properties.bufferUsage & VK_BUFFER_USAGE_STORAGE_BUFFER_BIT) ==
                  (uses_descriptors ? (VkFlags)VK_BUFFER_USAGE_STORAGE_BUFFER_BIT : 0) &&
              properties.memoryAllocateFlags ==
                  (uses_descriptors ? 0 : (VkFlags)VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT) &&
              (properties.storageBuffers == 16 || info.maxStorageBuffers == 0) &&
              (properties.storageBuffers > 0) == uses_descriptors && properties.hasIndirectDraws,
          way, "the context has other properties");
    return context;
}

/* A range of dwords. */
static inline VkxfbBufferRange range(const struct buffer *buffer, uint32_t first, uint32_t dwords) {
    VkxfbBufferRange made;
    made.buffer = buffer->buffer;
    made.offset = first * 4;
    made.size = dwords * 4;
    return made;
}

static inline VkxfbCounterBuffer counter_at(const struct buffer *buffer, uint32_t dword) {
    VkxfbCounterBuffer made;
    made.buffer = buffer->buffer;
    made.offset = dword * 4;
    return made;
}

static inline uint32_t *dwords_of(const struct buffer *buffer) {
    return (uint32_t *)(void *)buffer->mapped;
}

/* The state of pipelines that read one dword for each vertex, at location 0. */
struct vertex_states {
    VkVertexInputBindingDescription binding;
    VkVertexInputAttributeDescription attribute;
    VkPipelineVertexInputStateCreateInfo vertex_input;
    VkPipelineInputAssemblyStateCreateInfo assembly;
};

static inline void describe_vertices(VkxfbPipelineCreateInfo *info, struct vertex_states *states,
                                     VkPrimitiveTopology topology, VkBool32 restart) {
    memset(states, 0, sizeof(*states));
    states->binding.stride = 4;
    states->attribute.format = VK_FORMAT_R32_UINT;
    states->vertex_input.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO;
    states->vertex_input.vertexBindingDescriptionCount = 1;
    states->vertex_input.pVertexBindingDescriptions = &states->binding;
    states->vertex_input.vertexAttributeDescriptionCount = 1;
    states->vertex_input.pVertexAttributeDescriptions = &states->attribute;
    states->assembly.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO;
    states->assembly.topology = topology;
    states->assembly.primitiveRestartEnable = restart;
    info->pVertexInputState = &states->vertex_input;
    info->pInputAssemblyState = &states->assembly;
}

static inline VkxfbQueryPool *make_queries(VkxfbContext *context, VkQueryType type, uint32_t count) {
    VkQueryPoolCreateInfo info = {0};
    VkxfbQueryPool *pool;
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = type;
    info.queryCount = count;
    VKXFB(vkxfb_query_pool_create(context, &info, &pool));
    return pool;
}

static inline void make_commands(void) {
    VkCommandPoolCreateInfo info = {0};
    VkCommandBufferAllocateInfo allocate = {0};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    VK(vkCreateCommandPool(device, &info, NULL, &command_pool));
    allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    allocate.commandPool = command_pool;
    allocate.commandBufferCount = 1;
    VK(vkAllocateCommandBuffers(device, &allocate, &cmd));
    vkGetDeviceQueue(device, 0, 0, &queue);
}

static inline void begin_commands(void) {
    VkCommandBufferBeginInfo info = {0};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    VK(vkBeginCommandBuffer(cmd, &info));
}

/* Executes the commands, and waits until the host can read what they captured. */
static inline void execute_commands(VkxfbContext *context) {
    VkSubmitInfo submit = {0};
    VKXFB(vkxfb_context_record_barrier(context, cmd, VK_PIPELINE_STAGE_HOST_BIT,
                                       VK_ACCESS_HOST_READ_BIT));
    VK(vkEndCommandBuffer(cmd));
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &cmd;
    VK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
    VK(vkQueueWaitIdle(queue));
}
