// Captured vertices drawn again, in an engine that creates its own device and takes its memory from the Vulkan Memory
// Allocator.
//
//   flag WAVE.spv CAPTURED.spv WHITE.spv
//
// The files are made of the shaders in this directory by glslangValidator -V. A mesh of triangle strips with primitive
// restart is drawn to a picture, and captured; then as many vertices as were captured, which only the GPU knows, are
// drawn to another picture. Both are the same: this prints the second one, and the exit status is 0.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <vulkan/vulkan.h>

#define VMA_IMPLEMENTATION
#include <vk_mem_alloc.h>

#include "vkxfb.h"

#define VK(call) check((call) == VK_SUCCESS, #call, "a Vulkan command failed")
// The message is asked for in a statement of its own: arguments of one call may be evaluated in any order.
#define VKXFB(call)                                    \
    do {                                               \
        bool is_right = (call) == VKXFB_SUCCESS;        \
        check(is_right, #call, vkxfb_last_error());    \
    } while (0)

namespace {

constexpr uint32_t WIDTH = 48, HEIGHT = 16;
constexpr uint32_t COLUMNS = 9, ROWS = 4;  // of vertices

void check(bool is_right, const char *what, const char *why) {
    if (!is_right) {
        std::fprintf(stderr, "%s: %s\n", what, why);
        std::exit(EXIT_FAILURE);
    }
}

std::vector<uint32_t> read_file(const char *path) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    check(!bytes.empty(), path, "cannot be read");
    std::vector<uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), words.size() * 4);
    return words;
}

struct Buffer {
    VkBuffer buffer;
    VmaAllocation allocation;
    VkDeviceSize size;
    void *mapped;

    VkxfbBufferRange range() const { return {buffer, 0, size}; }
};

// What an engine has anyway. Its device has what the engine itself uses: of vkxfb it knows nothing.
struct Engine {
    VkInstance instance;
    VkPhysicalDevice physical_device;
    VkPhysicalDeviceVulkan12Features features = {};
    VkDeviceCreateInfo created_with = {};
    VkDevice device;
    VkQueue queue;
    VmaAllocator allocator;
    VkCommandPool pool;
    VkRenderPass render_pass;
    VkPipelineLayout layout;

    Engine() {
        VkApplicationInfo application = {};
        application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
        application.apiVersion = VK_API_VERSION_1_2;
        VkInstanceCreateInfo instance_info = {};
        instance_info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
        instance_info.pApplicationInfo = &application;
        // Devices that lack parts of Vulkan, such as those of macOS, are there for those only who ask for them.
        const char *portability = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
        uint32_t extension_count = 0;
        VK(vkEnumerateInstanceExtensionProperties(nullptr, &extension_count, nullptr));
        std::vector<VkExtensionProperties> extensions(extension_count);
        VK(vkEnumerateInstanceExtensionProperties(nullptr, &extension_count, extensions.data()));
        for (const VkExtensionProperties &extension : extensions)
            if (std::strcmp(extension.extensionName, portability) == 0) {
                instance_info.flags = VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
                instance_info.enabledExtensionCount = 1;
                instance_info.ppEnabledExtensionNames = &portability;
            }
        VK(vkCreateInstance(&instance_info, nullptr, &instance));
        uint32_t count = 1;
        VkResult found = vkEnumeratePhysicalDevices(instance, &count, &physical_device);
        check(count == 1 && found >= 0, "vkEnumeratePhysicalDevices", "there is no Vulkan device");

        const float priority = 1;
        VkDeviceQueueCreateInfo queue_info = {};
        queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
        queue_info.queueCount = 1;
        queue_info.pQueuePriorities = &priority;
        features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
        features.bufferDeviceAddress = VK_TRUE;
        created_with.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
        created_with.pNext = &features;
        created_with.queueCreateInfoCount = 1;
        created_with.pQueueCreateInfos = &queue_info;
        VK(vkCreateDevice(physical_device, &created_with, nullptr, &device));
        created_with.queueCreateInfoCount = 0;
        created_with.pQueueCreateInfos = nullptr;
        vkGetDeviceQueue(device, 0, 0, &queue);

        VmaAllocatorCreateInfo allocator_info = {};
        allocator_info.flags = VMA_ALLOCATOR_CREATE_BUFFER_DEVICE_ADDRESS_BIT;
        allocator_info.instance = instance;
        allocator_info.physicalDevice = physical_device;
        allocator_info.device = device;
        allocator_info.vulkanApiVersion = VK_API_VERSION_1_2;
        VK(vmaCreateAllocator(&allocator_info, &allocator));

        VkCommandPoolCreateInfo pool_info = {};
        pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
        VK(vkCreateCommandPool(device, &pool_info, nullptr, &pool));
        make_render_pass();
        VkPipelineLayoutCreateInfo layout_info = {};
        layout_info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
        VK(vkCreatePipelineLayout(device, &layout_info, nullptr, &layout));
    }

    Engine(const Engine &) = delete;
    Engine &operator=(const Engine &) = delete;

    ~Engine() {
        vkDestroyPipelineLayout(device, layout, nullptr);
        vkDestroyRenderPass(device, render_pass, nullptr);
        vkDestroyCommandPool(device, pool, nullptr);
        vmaDestroyAllocator(allocator);
        vkDestroyDevice(device, nullptr);
        vkDestroyInstance(instance, nullptr);
    }

    void make_render_pass() {
        VkAttachmentDescription attachment = {};
        attachment.format = VK_FORMAT_R8G8B8A8_UNORM;
        attachment.samples = VK_SAMPLE_COUNT_1_BIT;
        attachment.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
        attachment.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
        attachment.stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
        attachment.stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
        attachment.finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
        VkAttachmentReference reference = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
        VkSubpassDescription subpass = {};
        subpass.colorAttachmentCount = 1;
        subpass.pColorAttachments = &reference;
        VkSubpassDependency copied = {};
        copied.srcSubpass = 0;
        copied.dstSubpass = VK_SUBPASS_EXTERNAL;
        copied.srcStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
        copied.dstStageMask = VK_PIPELINE_STAGE_TRANSFER_BIT;
        copied.srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
        copied.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
        VkRenderPassCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO;
        info.attachmentCount = 1;
        info.pAttachments = &attachment;
        info.subpassCount = 1;
        info.pSubpasses = &subpass;
        info.dependencyCount = 1;
        info.pDependencies = &copied;
        VK(vkCreateRenderPass(device, &info, nullptr, &render_pass));
    }

    Buffer make_buffer(VkDeviceSize size, VkBufferUsageFlags usage, VmaAllocationCreateFlags flags) const {
        Buffer made = {VK_NULL_HANDLE, nullptr, size, nullptr};
        VkBufferCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
        info.size = size;
        info.usage = usage;
        VmaAllocationCreateInfo allocate = {};
        allocate.flags = flags;
        allocate.usage = VMA_MEMORY_USAGE_AUTO;
        VmaAllocationInfo allocated;
        VK(vmaCreateBuffer(allocator, &info, &allocate, &made.buffer, &made.allocation, &allocated));
        made.mapped = allocated.pMappedData;
        return made;
    }

    void destroy(const Buffer &buffer) const {
        vmaDestroyBuffer(allocator, buffer.buffer, buffer.allocation);
    }

    VkShaderModule make_module(const std::vector<uint32_t> &code) const {
        VkShaderModuleCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
        info.codeSize = code.size() * 4;
        info.pCode = code.data();
        VkShaderModule made;
        VK(vkCreateShaderModule(device, &info, nullptr, &made));
        return made;
    }

    VkPipeline make_pipeline(const std::vector<uint32_t> &vertex_code,
                             const std::vector<uint32_t> &fragment_code,
                             const VkPipelineVertexInputStateCreateInfo &vertex_input,
                             const VkPipelineInputAssemblyStateCreateInfo &assembly) const {
        VkPipelineShaderStageCreateInfo stages[2] = {};
        for (auto &stage : stages) {
            stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
            stage.pName = "main";
        }
        stages[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
        stages[0].module = make_module(vertex_code);
        stages[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
        stages[1].module = make_module(fragment_code);
        const VkViewport viewport = {0, 0, WIDTH, HEIGHT, 0, 1};
        const VkRect2D scissor = {{0, 0}, {WIDTH, HEIGHT}};
        VkPipelineViewportStateCreateInfo view = {};
        view.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO;
        view.viewportCount = view.scissorCount = 1;
        view.pViewports = &viewport;
        view.pScissors = &scissor;
        VkPipelineRasterizationStateCreateInfo rasterization = {};
        rasterization.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO;
        rasterization.lineWidth = 1;
        VkPipelineMultisampleStateCreateInfo multisample = {};
        multisample.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO;
        multisample.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
        VkPipelineColorBlendAttachmentState all = {};
        all.colorWriteMask = 0xf;
        VkPipelineColorBlendStateCreateInfo blend = {};
        blend.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO;
        blend.attachmentCount = 1;
        blend.pAttachments = &all;
        VkGraphicsPipelineCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
        info.stageCount = 2;
        info.pStages = stages;
        info.pVertexInputState = &vertex_input;
        info.pInputAssemblyState = &assembly;
        info.pViewportState = &view;
        info.pRasterizationState = &rasterization;
        info.pMultisampleState = &multisample;
        info.pColorBlendState = &blend;
        info.layout = layout;
        info.renderPass = render_pass;
        VkPipeline made;
        VK(vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &made));
        for (auto &stage : stages)
            vkDestroyShaderModule(device, stage.module, nullptr);
        return made;
    }
};

// A picture that is drawn to, and a buffer that it is copied to.
struct Picture {
    const Engine &engine;
    VkImage image;
    VmaAllocation allocation;
    VkImageView view;
    VkFramebuffer framebuffer;
    Buffer pixels;

    explicit Picture(const Engine &engine) : engine(engine) {
        VkImageCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
        info.imageType = VK_IMAGE_TYPE_2D;
        info.format = VK_FORMAT_R8G8B8A8_UNORM;
        info.extent = {WIDTH, HEIGHT, 1};
        info.mipLevels = info.arrayLayers = 1;
        info.samples = VK_SAMPLE_COUNT_1_BIT;
        info.usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
        VmaAllocationCreateInfo allocate = {};
        allocate.usage = VMA_MEMORY_USAGE_AUTO;
        VK(vmaCreateImage(engine.allocator, &info, &allocate, &image, &allocation, nullptr));
        VkImageViewCreateInfo view_info = {};
        view_info.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
        view_info.image = image;
        view_info.viewType = VK_IMAGE_VIEW_TYPE_2D;
        view_info.format = info.format;
        view_info.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
        VK(vkCreateImageView(engine.device, &view_info, nullptr, &view));
        VkFramebufferCreateInfo framebuffer_info = {};
        framebuffer_info.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO;
        framebuffer_info.renderPass = engine.render_pass;
        framebuffer_info.attachmentCount = 1;
        framebuffer_info.pAttachments = &view;
        framebuffer_info.width = WIDTH;
        framebuffer_info.height = HEIGHT;
        framebuffer_info.layers = 1;
        VK(vkCreateFramebuffer(engine.device, &framebuffer_info, nullptr, &framebuffer));
        pixels = engine.make_buffer(
            WIDTH * HEIGHT * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT,
            VMA_ALLOCATION_CREATE_HOST_ACCESS_RANDOM_BIT | VMA_ALLOCATION_CREATE_MAPPED_BIT);
    }

    Picture(const Picture &) = delete;
    Picture &operator=(const Picture &) = delete;

    ~Picture() {
        engine.destroy(pixels);
        vkDestroyFramebuffer(engine.device, framebuffer, nullptr);
        vkDestroyImageView(engine.device, view, nullptr);
        vmaDestroyImage(engine.allocator, image, allocation);
    }

    // Records a render pass, and a copy of what it draws.
    template <typename Draw> void record(VkCommandBuffer commands, VkPipeline pipeline, Draw draw) const {
        const VkClearValue clear = {};
        VkRenderPassBeginInfo begin = {};
        begin.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO;
        begin.renderPass = engine.render_pass;
        begin.framebuffer = framebuffer;
        begin.renderArea.extent = {WIDTH, HEIGHT};
        begin.clearValueCount = 1;
        begin.pClearValues = &clear;
        vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
        draw();
        vkCmdEndRenderPass(commands);
        VkBufferImageCopy copy = {};
        copy.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
        copy.imageExtent = {WIDTH, HEIGHT, 1};
        vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, pixels.buffer, 1,
                               &copy);
    }

    bool is_drawn(uint32_t x, uint32_t y) const {
        return static_cast<const uint8_t *>(pixels.mapped)[(y * WIDTH + x) * 4] != 0;
    }
};

}  // namespace

int main(int argc, char **argv) {
    check(argc == 4, "flag", "takes three arguments, the files of shaders");
    const auto wave_code = read_file(argv[1]), captured_code = read_file(argv[2]), white = read_file(argv[3]);
    Engine engine;

    // vkxfb is told what the device was created with.
    auto info = VKXFB_INIT(VkxfbPhysicalDeviceInfo);
    info.getInstanceProcAddr = vkGetInstanceProcAddr;
    info.instance = engine.instance;
    info.apiVersion = VK_API_VERSION_1_2;
    info.physicalDevice = engine.physical_device;
    VkxfbContext *context;
    VKXFB(vkxfb_context_create_for_device(&info, engine.device, &engine.created_with, VK_NULL_HANDLE,
                                          &context));
    VkxfbCapture *capture;
    VKXFB(vkxfb_capture_create(context, &capture));
    const VkBufferUsageFlags usage = vkxfb_context_buffer_usage(context);

    // A strip for each two rows of vertices, with a restart between strips.
    const auto upload = VMA_ALLOCATION_CREATE_HOST_ACCESS_SEQUENTIAL_WRITE_BIT | VMA_ALLOCATION_CREATE_MAPPED_BIT;
    Buffer vertices = engine.make_buffer(COLUMNS * ROWS * 8, usage | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, upload);
    auto *place = static_cast<float *>(vertices.mapped);
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t column = 0; column < COLUMNS; column++) {
            *place++ = 2.0f * static_cast<float>(column) / (COLUMNS - 1) - 1;
            *place++ = 2.0f * static_cast<float>(row) / (ROWS - 1) - 1;
        }
    std::vector<uint16_t> strips;
    for (uint32_t row = 0; row + 1 < ROWS; row++) {
        for (uint32_t column = 0; column < COLUMNS; column++)
            for (uint32_t below = 0; below < 2; below++)
                strips.push_back(static_cast<uint16_t>((row + below) * COLUMNS + column));
        strips.push_back(0xffff);
    }
    const auto index_count = static_cast<uint32_t>(strips.size());
    strips.resize((strips.size() + 1) / 2 * 2);
    Buffer indices = engine.make_buffer(strips.size() * 2, usage | VK_BUFFER_USAGE_INDEX_BUFFER_BIT, upload);
    std::memcpy(indices.mapped, strips.data(), strips.size() * 2);
    VK(vmaFlushAllocation(engine.allocator, vertices.allocation, 0, VK_WHOLE_SIZE));
    VK(vmaFlushAllocation(engine.allocator, indices.allocation, 0, VK_WHOLE_SIZE));

    // The pipeline of the flag, and the same for vkxfb.
    const VkVertexInputBindingDescription binding = {0, 8, VK_VERTEX_INPUT_RATE_VERTEX};
    const VkVertexInputAttributeDescription attribute = {0, 0, VK_FORMAT_R32G32_SFLOAT, 0};
    VkPipelineVertexInputStateCreateInfo vertex_input = {};
    vertex_input.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO;
    vertex_input.vertexBindingDescriptionCount = 1;
    vertex_input.pVertexBindingDescriptions = &binding;
    vertex_input.vertexAttributeDescriptionCount = 1;
    vertex_input.pVertexAttributeDescriptions = &attribute;
    VkPipelineInputAssemblyStateCreateInfo assembly = {};
    assembly.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO;
    assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
    assembly.primitiveRestartEnable = VK_TRUE;
    VkPipeline wave = engine.make_pipeline(wave_code, white, vertex_input, assembly);
    const char *const varyings[] = {"gl_Position"};
    auto captured_info = VKXFB_INIT(VkxfbPipelineCreateInfo);
    captured_info.codeSize = wave_code.size() * 4;
    captured_info.pCode = wave_code.data();
    captured_info.varyingCount = 1;
    captured_info.ppVaryings = varyings;
    captured_info.pVertexInputState = &vertex_input;
    captured_info.pInputAssemblyState = &assembly;
    VkxfbPipeline *capturing;
    VKXFB(vkxfb_pipeline_create(context, &captured_info, &capturing));

    // The pipeline that draws what was captured: vkxfb says what a record is.
    auto properties = VKXFB_INIT(VkxfbPipelineProperties);
    VKXFB(vkxfb_pipeline_get_properties(capturing, &properties));
    const VkVertexInputBindingDescription record = {0, properties.strides[0], VK_VERTEX_INPUT_RATE_VERTEX};
    VkVertexInputAttributeDescription position;
    VKXFB(vkxfb_pipeline_get_output(capturing, 0, &position, nullptr));
    position.location = 0;
    vertex_input.pVertexBindingDescriptions = &record;
    vertex_input.pVertexAttributeDescriptions = &position;
    assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
    assembly.primitiveRestartEnable = VK_FALSE;
    VkPipeline again = engine.make_pipeline(captured_code, white, vertex_input, assembly);

    // Room for the most that so many indices can be.
    Buffer captured = engine.make_buffer(VkDeviceSize(index_count) * 3 * record.stride,
                                         usage | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, 0);
    Buffer counter = engine.make_buffer(4, usage, 0);
    Buffer command = engine.make_buffer(sizeof(VkDrawIndirectCommand),
                                        usage | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT, 0);
    Picture drawn(engine), drawn_again(engine);

    VkCommandBufferAllocateInfo allocate = {};
    allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    allocate.commandPool = engine.pool;
    allocate.commandBufferCount = 1;
    VkCommandBuffer commands;
    VK(vkAllocateCommandBuffers(engine.device, &allocate, &commands));
    VkCommandBufferBeginInfo begin_info = {};
    begin_info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    VK(vkBeginCommandBuffer(commands, &begin_info));
    const VkDeviceSize zero = 0;
    drawn.record(commands, wave, [&] {
        vkCmdBindVertexBuffers(commands, 0, 1, &vertices.buffer, &zero);
        vkCmdBindIndexBuffer(commands, indices.buffer, 0, VK_INDEX_TYPE_UINT16);
        vkCmdDrawIndexed(commands, index_count, 1, 0, 0, 0);
    });

    // The capture, and a draw command for as many vertices as it has.
    const VkxfbBufferRange captured_range = captured.range(), vertex_range = vertices.range(),
                           index_range = indices.range();
    const VkxfbCounterBuffer counter_place = {counter.buffer, 0};
    const VkDrawIndexedIndirectCommand draw = {index_count, 1, 0, 0, 0};
    auto begin = VKXFB_INIT(VkxfbCaptureBeginInfo);
    begin.pipeline = capturing;
    begin.bufferCount = 1;
    begin.pBuffers = &captured_range;
    begin.vertexBufferCount = 1;
    begin.pVertexBuffers = &vertex_range;
    vkxfb_capture_begin(capture, &begin);
    vkxfb_capture_bind_index_buffer(capture, &index_range, VK_INDEX_TYPE_UINT16);
    vkxfb_capture_draw_indexed(capture, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, &draw);
    VKXFB(vkxfb_capture_end(capture, commands, 1, &counter_place, nullptr));
    const VkxfbByteCountDraw all = {1, 0, counter_place, 0, record.stride};
    VKXFB(vkxfb_capture_record_draw_commands(capture, commands, 1, &all, command.buffer, 0,
                                             sizeof(VkDrawIndirectCommand)));
    VKXFB(vkxfb_context_record_barrier(context, commands, VK_PIPELINE_STAGE_VERTEX_INPUT_BIT,
                                       VK_ACCESS_VERTEX_ATTRIBUTE_READ_BIT));
    drawn_again.record(commands, again, [&] {
        vkCmdBindVertexBuffers(commands, 0, 1, &captured.buffer, &zero);
        vkCmdDrawIndirect(commands, command.buffer, 0, 1, sizeof(VkDrawIndirectCommand));
    });

    VkMemoryBarrier read = {};
    read.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    read.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    read.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &read, 0,
                         nullptr, 0, nullptr);
    VK(vkEndCommandBuffer(commands));
    VkSubmitInfo submit = {};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    VK(vkQueueSubmit(engine.queue, 1, &submit, VK_NULL_HANDLE));
    VK(vkQueueWaitIdle(engine.queue));

    uint32_t different = 0, pixels = 0;
    for (const Picture *picture : {&drawn, &drawn_again})
        VK(vmaInvalidateAllocation(engine.allocator, picture->pixels.allocation, 0, VK_WHOLE_SIZE));
    for (uint32_t y = 0; y < HEIGHT; y++) {
        for (uint32_t x = 0; x < WIDTH; x++) {
            const bool is_drawn = drawn_again.is_drawn(x, y);
            different += is_drawn != drawn.is_drawn(x, y);
            pixels += is_drawn;
            std::putchar(is_drawn ? '#' : '.');
        }
        std::putchar('\n');
    }
    check(different == 0 && pixels > 0, "the second picture", "is another one");

    for (VkPipeline pipeline : {wave, again})
        vkDestroyPipeline(engine.device, pipeline, nullptr);
    vkxfb_pipeline_destroy(capturing);
    vkxfb_capture_destroy(capture);
    vkxfb_context_destroy(context);
    for (const Buffer &buffer : {vertices, indices, captured, counter, command})
        engine.destroy(buffer);
    return EXIT_SUCCESS;
}
