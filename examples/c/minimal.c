/* A triangle strip captured in C, on a device that needs no VK_EXT_transform_feedback.
 *
 *   minimal SHADER.spv
 *
 * SHADER is shaders/bench/stream.spv, whose outputs are the position and its components in reverse plus 1.
 * capi/README.md says how to compile this. The exit status is 0 if what was captured is right. With
 * VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation in the environment the validation layer looks on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan.h>

#include "vkxfb.h"

#define VERTICES 5
#define PRIMITIVES (VERTICES - 2)

#define VK(call) check((call) == VK_SUCCESS, #call, "a Vulkan command failed")
/* The message is asked for in a statement of its own: arguments of one call may be evaluated in any order. */
#define VKXFB(call)                                    \
    do {                                               \
        int is_right = (call) == VKXFB_SUCCESS;        \
        check(is_right, #call, vkxfb_last_error());    \
    } while (0)

static void check(int is_right, const char *what, const char *why) {
    if (!is_right) {
        fprintf(stderr, "%s: %s\n", what, why);
        exit(EXIT_FAILURE);
    }
}

/* What the application has anyway: a device, a buffer, a command buffer. */

static VkInstance instance;
static VkPhysicalDevice physical_device;
static VkDevice device;

struct buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    float *mapped;
};

static struct buffer make_buffer(VkDeviceSize size, VkBufferUsageFlags usage) {
    struct buffer made;
    VkBufferCreateInfo info = {0};
    VkMemoryAllocateFlagsInfo flags = {0};
    VkMemoryAllocateInfo allocate = {0};
    VkMemoryRequirements requirements;
    VkPhysicalDeviceMemoryProperties memory;
    VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t type = 0;
    void *mapped;

    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = size;
    info.usage = usage;
    VK(vkCreateBuffer(device, &info, NULL, &made.buffer));

    vkGetBufferMemoryRequirements(device, made.buffer, &requirements);
    vkGetPhysicalDeviceMemoryProperties(physical_device, &memory);
    while (type + 1 < memory.memoryTypeCount &&
           (!(requirements.memoryTypeBits & 1u << type) ||
            (memory.memoryTypes[type].propertyFlags & wanted) != wanted))
        type++;
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    if (usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT)
        flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocate.pNext = &flags;
    allocate.allocationSize = requirements.size;
    allocate.memoryTypeIndex = type;
    VK(vkAllocateMemory(device, &allocate, NULL, &made.memory));
    VK(vkBindBufferMemory(device, made.buffer, made.memory, 0));
    VK(vkMapMemory(device, made.memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    made.mapped = mapped;
    return made;
}

static void destroy_buffer(struct buffer *buffer) {
    vkDestroyBuffer(device, buffer->buffer, NULL);
    vkFreeMemory(device, buffer->memory, NULL);
}

/* Devices that lack parts of Vulkan, such as those of macOS, are there for those only who ask for them. */
static void show_portable_devices(VkInstanceCreateInfo *info) {
    static const char *const name = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
    VkExtensionProperties *found;
    uint32_t count = 0, i;

    VK(vkEnumerateInstanceExtensionProperties(NULL, &count, NULL));
    found = calloc(count ? count : 1, sizeof *found);
    check(found != NULL, "extensions", "there is no memory for them");
    VK(vkEnumerateInstanceExtensionProperties(NULL, &count, found));
    for (i = 0; i < count; ++i)
        if (strcmp(found[i].extensionName, name) == 0) {
            info->flags = VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
            info->enabledExtensionCount = 1;
            info->ppEnabledExtensionNames = &name;
        }
    free(found);
}

static void make_instance(void) {
    VkApplicationInfo application = {0};
    VkInstanceCreateInfo info = {0};
    uint32_t count = 1;
    VkResult result;

    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_2;
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    show_portable_devices(&info);
    VK(vkCreateInstance(&info, NULL, &instance));
    result = vkEnumeratePhysicalDevices(instance, &count, &physical_device);
    check(count == 1 && (result == VK_SUCCESS || result == VK_INCOMPLETE),
          "vkEnumeratePhysicalDevices", "there is no Vulkan device");
}

static uint32_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    long length;
    uint32_t *words;

    check(file != NULL, path, "cannot be opened");
    check(fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) > 0, path, "has no size");
    rewind(file);
    words = malloc((size_t)length);
    check(words != NULL, path, "there is no memory for it");
    check(fread(words, 1, (size_t)length, file) == (size_t)length, path, "cannot be read");
    fclose(file);
    *size = (size_t)length;
    return words;
}

/* What vkxfb is asked for. */

static VkxfbContext *make_context(void) {
    VkxfbPhysicalDeviceInfo info = VKXFB_INIT(VkxfbPhysicalDeviceInfo);
    VkxfbRequiredFeatures *required;
    VkxfbContext *context;
    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queue = {0};
    VkDeviceCreateInfo create = {0};

    info.getInstanceProcAddr = vkGetInstanceProcAddr;
    info.instance = instance;
    info.apiVersion = VK_API_VERSION_1_2;
    info.physicalDevice = physical_device;
    VKXFB(vkxfb_required_features_create(&info, &required));
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    create.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    create.queueCreateInfoCount = 1;
    create.pQueueCreateInfos = &queue;
    VKXFB(vkxfb_required_features_add_to(required, &create));
    VK(vkCreateDevice(physical_device, &create, NULL, &device));
    VKXFB(vkxfb_context_create(required, device, VK_NULL_HANDLE, &context));
    vkxfb_required_features_destroy(required);
    return context;
}

static VkxfbPipeline *make_pipeline(VkxfbContext *context, const char *path) {
    VkVertexInputBindingDescription binding = {0, 4 * sizeof(float), VK_VERTEX_INPUT_RATE_VERTEX};
    VkVertexInputAttributeDescription attribute = {0, 0, VK_FORMAT_R32G32B32A32_SFLOAT, 0};
    VkPipelineVertexInputStateCreateInfo vertex_input = {0};
    VkPipelineInputAssemblyStateCreateInfo assembly = {0};
    VkxfbPipelineCreateInfo info = VKXFB_INIT(VkxfbPipelineCreateInfo);
    VkxfbPipeline *pipeline;
    uint32_t *code = read_file(path, &info.codeSize);

    vertex_input.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO;
    vertex_input.vertexBindingDescriptionCount = 1;
    vertex_input.pVertexBindingDescriptions = &binding;
    vertex_input.vertexAttributeDescriptionCount = 1;
    vertex_input.pVertexAttributeDescriptions = &attribute;
    assembly.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO;
    assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
    static const char *const VARYINGS[] = {"first", "second"};

    info.pCode = code;
    info.varyingCount = 2;
    info.ppVaryings = VARYINGS;
    info.pVertexInputState = &vertex_input;
    info.pInputAssemblyState = &assembly;
    VKXFB(vkxfb_pipeline_create(context, &info, &pipeline));
    free(code);
    return pipeline;
}

static void record(VkxfbContext *context, VkxfbCapture *capture, VkCommandBuffer command_buffer,
                   const VkxfbPipeline *pipeline, VkxfbBufferRange captured,
                   VkxfbBufferRange vertices) {
    VkDrawIndirectCommand draw = {VERTICES, 1, 0, 0};
    VkxfbCaptureBeginInfo begin = VKXFB_INIT(VkxfbCaptureBeginInfo);
    VkxfbCaptured written = VKXFB_INIT(VkxfbCaptured);

    begin.pipeline = pipeline;
    begin.bufferCount = 1;
    begin.pBuffers = &captured;
    begin.vertexBufferCount = 1;
    begin.pVertexBuffers = &vertices;
    /* What fails before the end is told again at the end. */
    vkxfb_capture_begin(capture, &begin);
    vkxfb_capture_draw(capture, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, &draw);
    VKXFB(vkxfb_capture_end(capture, command_buffer, 0, NULL, &written));
    VKXFB(vkxfb_context_record_barrier(context, command_buffer, VK_PIPELINE_STAGE_HOST_BIT,
                                       VK_ACCESS_HOST_READ_BIT));
    check(written.isKnown && written.primitivesWritten == PRIMITIVES, "vkxfb_capture_end",
          "wrong number of primitives");
}

/* Whether the vertex with that number was captured: its position is (number, 0, 0, 1). */
static int is_vertex(const float *record, int number) {
    const float expected[8] = {(float)number, 0, 0, 1, 2, 1, 1, (float)number + 1};
    return memcmp(record, expected, sizeof(expected)) == 0;
}

int main(int argc, char **argv) {
    VkxfbContext *context;
    VkxfbCapture *capture;
    VkxfbPipeline *pipeline;
    struct buffer source, target;
    VkxfbBufferRange vertices = {0}, captured = {0};
    VkCommandPool pool;
    VkCommandPoolCreateInfo pool_info = {0};
    VkCommandBufferAllocateInfo allocate = {0};
    VkCommandBufferBeginInfo begin = {0};
    VkCommandBuffer command_buffer;
    VkSubmitInfo submit = {0};
    VkQueue queue;
    int vertex, primitive;

    check(argc == 2, "minimal", "takes one argument, the file of a shader");
    make_instance();
    context = make_context();
    VKXFB(vkxfb_capture_create(context, &capture));
    pipeline = make_pipeline(context, argv[1]);

    vertices.size = VERTICES * 4 * sizeof(float);
    source = make_buffer(vertices.size, vkxfb_context_buffer_usage(context));
    vertices.buffer = source.buffer;
    for (vertex = 0; vertex < VERTICES; vertex++) {
        const float position[4] = {(float)vertex, 0, 0, 1};
        memcpy(source.mapped + 4 * vertex, position, sizeof(position));
    }
    captured.size = PRIMITIVES * 3 * 8 * sizeof(float);
    target = make_buffer(captured.size, vkxfb_context_buffer_usage(context));
    captured.buffer = target.buffer;

    pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    VK(vkCreateCommandPool(device, &pool_info, NULL, &pool));
    allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    allocate.commandPool = pool;
    allocate.commandBufferCount = 1;
    VK(vkAllocateCommandBuffers(device, &allocate, &command_buffer));
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    VK(vkBeginCommandBuffer(command_buffer, &begin));
    record(context, capture, command_buffer, pipeline, captured, vertices);
    VK(vkEndCommandBuffer(command_buffer));
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &command_buffer;
    vkGetDeviceQueue(device, 0, 0, &queue);
    VK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
    VK(vkQueueWaitIdle(queue));

    /* Triangle i of a strip has the vertices i, i + 1 and i + 2; every other one swaps the last two of them. */
    for (primitive = 0; primitive < PRIMITIVES; primitive++) {
        const float *records = target.mapped + primitive * 3 * 8;
        check(is_vertex(records, primitive) &&
                  is_vertex(records + 8, primitive + 1 + primitive % 2) &&
                  is_vertex(records + 16, primitive + 2 - primitive % 2),
              "what was captured", "is wrong");
        printf("primitive %d: v%g v%g v%g\n", primitive, records[0], records[8], records[16]);
    }

    vkDestroyCommandPool(device, pool, NULL);
    destroy_buffer(&target);
    destroy_buffer(&source);
    vkxfb_pipeline_destroy(pipeline);
    vkxfb_capture_destroy(capture);
    vkxfb_context_destroy(context);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    return EXIT_SUCCESS;
}
