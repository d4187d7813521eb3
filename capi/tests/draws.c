/* Tests what binds and draws between the beginning and the end of a capture, by what the GPU captures.
 *
 *   draws WAY SHADER.spv
 *
 * WAY is how the context comes about, see make_context_as. SHADER is that of tests/capi/example.rs. It
 * captures a vertex attribute, the instance, a push constant, and the sum of a uniform and a
 * specialization constant; where its outputs are named, in another order. The rest of the application is
 * that of the example.
 */
#include "common.h"

#define UNIFORMS 256 /* bytes from one uniform to the next */
#define EXTRA 1000   /* the specialization constant */
#define MAX_RECORDS 256
#define MANY 200 /* draws: more than the initial memory of a capture */

/* Offsets in the buffer that draws read, in dwords. */
enum { FIRST = 0, SECOND = 16, INDICES = 32, COMMANDS = 40, INDEXED = 60, COUNT = 70, COUNTER = 71 };
enum { UNIFORM = 128, SIZE = 256 };

/* What a later version of the header may declare. */
typedef struct {
    VkxfbIndirectDraw known;
    uint64_t newer;
} NewerIndirectDraw;

static const char *const SWAPPED[2] = {"@0.zw", "@0.xy"};

static uint32_t expected[MAX_RECORDS][4];
static int records;

static void expect(uint32_t attribute, uint32_t drawn_instance, uint32_t pushed, uint32_t uniform) {
    const uint32_t record[4] = {attribute, drawn_instance, pushed, uniform + EXTRA};
    memcpy(expected[records++], record, sizeof(record));
}

/* The same of a pipeline with the varyings SWAPPED. */
static void expect_swapped(uint32_t attribute, uint32_t drawn_instance, uint32_t pushed,
                           uint32_t uniform) {
    const uint32_t record[4] = {pushed, uniform + EXTRA, attribute, drawn_instance};
    memcpy(expected[records++], record, sizeof(record));
}

static VkDescriptorSetLayout make_layout(uint32_t bindings) {
    VkDescriptorSetLayoutBinding binding = {0};
    VkDescriptorSetLayoutCreateInfo info = {0};
    VkDescriptorSetLayout layout;
    binding.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
    binding.descriptorCount = 1;
    binding.stageFlags = VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_COMPUTE_BIT;
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    info.bindingCount = bindings;
    info.pBindings = &binding;
    VK(vkCreateDescriptorSetLayout(device, &info, NULL, &layout));
    return layout;
}

static VkDescriptorSet make_set(VkDescriptorPool *pool, VkDescriptorSetLayout layout,
                                const struct buffer *buffer) {
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, 1};
    VkDescriptorPoolCreateInfo info = {0};
    VkDescriptorSetAllocateInfo allocate = {0};
    VkDescriptorBufferInfo uniform;
    VkWriteDescriptorSet write = {0};
    VkDescriptorSet set;

    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    info.maxSets = 1;
    info.poolSizeCount = 1;
    info.pPoolSizes = &size;
    VK(vkCreateDescriptorPool(device, &info, NULL, pool));
    allocate.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    allocate.descriptorPool = *pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &layout;
    VK(vkAllocateDescriptorSets(device, &allocate, &set));
    uniform.buffer = buffer->buffer;
    uniform.offset = UNIFORM * 4;
    uniform.range = 4;
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = set;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
    write.pBufferInfo = &uniform;
    vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
    return set;
}

static VkxfbPipeline *make(VkxfbContext *context, const char *path, const VkDescriptorSetLayout *sets,
                           VkProvokingVertexModeEXT mode, VkBool32 restart, uint32_t varyings) {
    VkSpecializationMapEntry entry = {3, 4, 4};
    const uint32_t constants[2] = {1, EXTRA};
    VkSpecializationInfo specialization = {1, NULL, sizeof(constants), NULL};
    VkxfbPipelineCreateInfo info = VKXFB_INIT(VkxfbPipelineCreateInfo);
    struct vertex_states states;
    VkxfbPipeline *pipeline;
    uint32_t *code = read_file(path, &info.codeSize);

    describe_vertices(&info, &states, VK_PRIMITIVE_TOPOLOGY_POINT_LIST, restart);
    specialization.pMapEntries = &entry;
    specialization.pData = constants;
    info.pCode = code;
    info.pName = "main";
    info.pSpecializationInfo = &specialization;
    info.varyingCount = varyings;
    info.ppVaryings = SWAPPED;
    info.dynamicTopology = VK_TRUE;
    info.provokingVertexMode = mode;
    info.setLayoutCount = 2;
    info.pSetLayouts = sets;
    VKXFB(vkxfb_pipeline_create(context, &info, &pipeline));
    free(code);
    return pipeline;
}

static void push(VkxfbCapture *capture, uint32_t value) {
    /* The second of two push constants. */
    VKXFB(vkxfb_capture_push_constants(capture, 4, sizeof(value), &value));
}

static void bind_uniform(VkxfbCapture *capture, const VkDescriptorSet *set, uint32_t number) {
    uint32_t offset = number * UNIFORMS;
    VKXFB(vkxfb_capture_bind_descriptor_sets(capture, 1, 1, set, 1, &offset));
}

/* Records draws whose counts the CPU knows, and writes a counter at the end. */
static void record_direct(VkxfbCapture *capture, VkxfbCaptureBeginInfo *begin,
                          const struct buffer *source, const VkDescriptorSet *set,
                          const VkxfbPipeline *last) {
    const VkPrimitiveTopology points = VK_PRIMITIVE_TOPOLOGY_POINT_LIST;
    const VkDrawIndirectCommand instances = {3, 2, 2, 1}, strip = {4, 1, 0, 0};
    VkDrawIndirectCommand one = {1, 1, 0, 0};
    const VkDrawIndexedIndirectCommand indexed = {3, 1, 1, 2, 5};
    const int strip_of_last[6] = {0, 1, 2, 2, 1, 3};
    VkxfbBufferRange second = range(source, SECOND, 16), indices = range(source, INDICES, 4);
    VkxfbCounterBuffer counter;
    VkxfbCaptured captured = VKXFB_INIT(VkxfbCaptured);
    uint32_t vertex, drawn, draws;

    VKXFB(vkxfb_capture_begin(capture, begin));
    bind_uniform(capture, set, 0);
    push(capture, 11);
    VKXFB(vkxfb_capture_draw(capture, points, &instances));
    for (drawn = 1; drawn < 3; drawn++)
        for (vertex = 2; vertex < 5; vertex++)
            expect(100 + vertex, drawn, 11, 7);

    bind_uniform(capture, set, 1);
    push(capture, 12);
    indices.offset += 2;
    indices.size -= 2;
    VKXFB(vkxfb_capture_bind_index_buffer(capture, &indices, VK_INDEX_TYPE_UINT16));
    VKXFB(vkxfb_capture_draw_indexed(capture, points, &indexed));
    /* The indices are 9 8 3 1 4 and so on. The offset skips the first, and firstIndex the second. */
    expect(100 + 3 + 2, 5, 12, 8);
    expect(100 + 1 + 2, 5, 12, 8);
    expect(100 + 4 + 2, 5, 12, 8);

    VKXFB(vkxfb_capture_bind_vertex_buffers(capture, 0, 1, &second));
    VKXFB(vkxfb_capture_draw(capture, points, &one));
    expect(200, 0, 12, 8);
    VKXFB(vkxfb_capture_bind_pipeline(capture, last));
    VKXFB(vkxfb_capture_draw(capture, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, &strip));
    for (vertex = 0; vertex < 6; vertex++)
        expect(200 + (uint32_t)strip_of_last[vertex], 0, 12, 8);

    for (draws = 0; draws < MANY; draws++) {
        one.firstVertex = draws % 16;
        VKXFB(vkxfb_capture_draw(capture, points, &one));
        expect(200 + draws % 16, 0, 12, 8);
    }

    counter = counter_at(source, COUNTER);
    VKXFB(vkxfb_capture_end(capture, cmd, 1, &counter, &captured));
    check(captured.isKnown && captured.primitivesWritten == 12 + MANY &&
              captured.primitivesNeeded == 12 + MANY &&
              captured.positions[0] == (uint64_t)records * 16 && captured.positions[1] == 0,
          "VkxfbCaptured", "is wrong");
}

/* Records draws whose counts only the GPU knows, and which begin with the counter. */
static void record_indirect(VkxfbCapture *capture, VkxfbCaptureBeginInfo *begin,
                            const struct buffer *source, const VkDescriptorSet *set) {
    const VkPrimitiveTopology points = VK_PRIMITIVE_TOPOLOGY_POINT_LIST;
    VkxfbBufferRange indices = range(source, INDICES, 4);
    VkxfbIndirectDraw counted = VKXFB_INIT(VkxfbIndirectDraw);
    NewerIndirectDraw indexed = {0};
    VkxfbCounterBuffer counter;
    VkxfbCaptured captured = VKXFB_INIT(VkxfbCaptured);

    counter = counter_at(source, COUNTER);
    begin->counterBufferCount = 1;
    begin->pCounterBuffers = &counter;
    VKXFB(vkxfb_capture_begin(capture, begin));
    bind_uniform(capture, set, 1);
    push(capture, 13);
    counted.buffer = source->buffer;
    counted.offset = COMMANDS * 4;
    counted.drawCount = 3;
    counted.stride = 20;
    counted.countBuffer = source->buffer;
    counted.countBufferOffset = COUNT * 4;
    VKXFB(vkxfb_capture_draw_indirect(capture, points, &counted));
    /* The count buffer says two of the three draws. */
    expect_swapped(106, 4, 13, 8);
    expect_swapped(109, 3, 13, 8);
    expect_swapped(110, 3, 13, 8);
    VKXFB(vkxfb_capture_bind_index_buffer(capture, &indices, VK_INDEX_TYPE_UINT16));
    indexed.known.structSize = sizeof(indexed);
    indexed.known.buffer = source->buffer;
    indexed.known.offset = INDEXED * 4;
    indexed.known.drawCount = 1;
    VKXFB(vkxfb_capture_draw_indexed_indirect(capture, VK_PRIMITIVE_TOPOLOGY_LINE_STRIP,
                                              &indexed.known));
    /* A line from 1 to 4, a restart, and one from 2 to 5. */
    expect_swapped(100 + 1 + 1, 6, 13, 8);
    expect_swapped(100 + 4 + 1, 6, 13, 8);
    expect_swapped(100 + 2 + 1, 6, 13, 8);
    expect_swapped(100 + 5 + 1, 6, 13, 8);
    VKXFB(vkxfb_capture_end(capture, cmd, 0, NULL, &captured));
    check(!captured.isKnown && captured.primitivesWritten == 0, "VkxfbCaptured", "knows too much");
}

/* Records a draw with a descriptor set that the test binds itself, behind what was captured before. */
static void record_assumed(VkxfbCapture *capture, const VkxfbPipeline *pipeline,
                           const struct buffer *source, const struct buffer *target,
                           const VkDescriptorSet *set) {
    const VkDrawIndirectCommand draw = {2, 1, 3, 0};
    const uint32_t offset = UNIFORMS;
    VkxfbBufferRange captured = range(target, (uint32_t)records * 4, 8);
    VkxfbBufferRange vertices = range(source, FIRST, 16);
    VkxfbCaptureBeginInfo begin = VKXFB_INIT(VkxfbCaptureBeginInfo);
    VkxfbPipelineProperties properties = VKXFB_INIT(VkxfbPipelineProperties);

    VKXFB(vkxfb_pipeline_get_properties(pipeline, &properties));
    check(properties.strides[0] == 16 && properties.strides[1] == 0 &&
              properties.streamCount == 1 && properties.outputCount == 1 &&
              properties.pushConstantOffset == 0 && properties.pushConstantSize == 16,
          "VkxfbPipelineProperties", "are wrong");
    vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, properties.layout, 1, 1, set, 1,
                            &offset);
    begin.pipeline = pipeline;
    begin.bufferCount = 1;
    begin.pBuffers = &captured;
    begin.vertexBufferCount = 1;
    begin.pVertexBuffers = &vertices;
    VKXFB(vkxfb_capture_begin(capture, &begin));
    VKXFB(vkxfb_capture_assume_descriptor_sets(capture, 1, 1));
    push(capture, 14);
    VKXFB(vkxfb_capture_draw(capture, VK_PRIMITIVE_TOPOLOGY_POINT_LIST, &draw));
    VKXFB(vkxfb_capture_end(capture, cmd, 0, NULL, NULL));
    expect(103, 0, 14, 8);
    expect(104, 0, 14, 8);
}

static void fill(const struct buffer *source) {
    const uint16_t indices[8] = {9, 8, 3, 1, 4, 0xffff, 2, 5};
    const VkDrawIndirectCommand commands[3] = {{1, 1, 6, 4}, {2, 1, 9, 3}, {5, 1, 0, 0}};
    const VkDrawIndexedIndirectCommand indexed = {5, 1, 3, 1, 6};
    uint32_t *dwords = (uint32_t *)(void *)source->mapped;
    uint32_t vertex;

    for (vertex = 0; vertex < 16; vertex++) {
        dwords[FIRST + vertex] = 100 + vertex;
        dwords[SECOND + vertex] = 200 + vertex;
    }
    memcpy(dwords + INDICES, indices, sizeof(indices));
    for (vertex = 0; vertex < 3; vertex++)
        memcpy(dwords + COMMANDS + vertex * 5, commands + vertex, sizeof(commands[0]));
    memcpy(dwords + INDEXED, &indexed, sizeof(indexed));
    dwords[COUNT] = 2;
    dwords[UNIFORM] = 7;
    dwords[UNIFORM + UNIFORMS / 4] = 8;
}

int main(int argc, char **argv) {
    VkxfbContext *context;
    VkxfbCapture *capture;
    VkxfbPipeline *first, *last, *restarting;
    VkxfbCaptureBeginInfo begin = VKXFB_INIT(VkxfbCaptureBeginInfo);
    VkxfbBufferRange captured, vertices;
    struct buffer source, target;
    VkDescriptorSetLayout layouts[2];
    VkDescriptorPool descriptors;
    VkDescriptorSet set;
    VkBufferUsageFlags usage;
    int record_number;

    check(argc == 3, "draws", "takes two arguments: a way, and the file of a shader");
    make_instance();
    context = make_context_as(argv[1]);
    VKXFB(vkxfb_capture_create(context, &capture));
    usage = vkxfb_context_buffer_usage(context);
    source = make_buffer(SIZE * 4, usage | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT);
    target = make_buffer(MAX_RECORDS * 16, usage);
    fill(&source);
    layouts[0] = make_layout(0);
    layouts[1] = make_layout(1);
    set = make_set(&descriptors, layouts[1], &source);
    first = make(context, argv[2], layouts, VK_PROVOKING_VERTEX_MODE_FIRST_VERTEX_EXT, VK_FALSE, 0);
    last = make(context, argv[2], layouts, VK_PROVOKING_VERTEX_MODE_LAST_VERTEX_EXT, VK_FALSE, 0);
    restarting =
        make(context, argv[2], layouts, VK_PROVOKING_VERTEX_MODE_FIRST_VERTEX_EXT, VK_TRUE, 2);

    make_commands();
    begin_commands();
    captured = range(&target, 0, MAX_RECORDS * 4);
    vertices = range(&source, FIRST, 16);
    begin.pipeline = first;
    begin.bufferCount = 1;
    begin.pBuffers = &captured;
    begin.vertexBufferCount = 1;
    begin.pVertexBuffers = &vertices;
    record_direct(capture, &begin, &source, &set, last);
    begin.pipeline = restarting;
    record_indirect(capture, &begin, &source, &set);
    record_assumed(capture, first, &source, &target, &set);
    execute_commands(context);

    for (record_number = 0; record_number < records; record_number++) {
        const uint32_t *found = (const uint32_t *)(const void *)target.mapped + 4 * record_number;
        const uint32_t *right = expected[record_number];
        if (memcmp(found, right, 16) != 0) {
            fprintf(stderr, "record %d: %u %u %u %u, expected %u %u %u %u\n", record_number, found[0],
                    found[1], found[2], found[3], right[0], right[1], right[2], right[3]);
            return EXIT_FAILURE;
        }
    }
    printf("%d records\n", records);

    vkDestroyCommandPool(device, command_pool, NULL);
    VKXFB(vkxfb_capture_reset(capture));
    vkDestroyDescriptorPool(device, descriptors, NULL);
    vkxfb_pipeline_destroy(first);
    vkxfb_pipeline_destroy(last);
    vkxfb_pipeline_destroy(restarting);
    vkxfb_context_destroy(context);
    vkxfb_capture_destroy(capture);
    vkDestroyDescriptorSetLayout(device, layouts[0], NULL);
    vkDestroyDescriptorSetLayout(device, layouts[1], NULL);
    destroy_buffer(&target);
    destroy_buffer(&source);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    return EXIT_SUCCESS;
}
