/* Tests what a capture can do beside drawing: byte counts, queries and their copies, conditional rendering, dynamic
 * state, and captures that are played; by what the GPU writes, which the test works out itself.
 *
 *   commands WAY SHADER.spv
 *
 * WAY is how the context comes about, see make_context_as. SHADER is that of tests/capi/commands.rs: of each vertex it
 * captures the attribute, the instance, the number of the draw and the number of the vertex.
 */
#include "common.h"

#define RECORDS 64
#define UNTOUCHED 0xa5a5a5a5u
#define RESTART 0xffffffffu

/* Offsets in `source`, in dwords. */
enum { VERTICES_AT = 0, VERTEX_COUNT = 16, INDICES_AT = 16, INDEX_COUNT = 8, SOURCE = 24 };
/* Offsets in `state`, which the device writes. */
enum { NEVER = 0, ALWAYS, COUNTER, APPENDED, COMMANDS_AT, RESULTS_AT = 24, STATE = 48 };

static const uint32_t INDICES[INDEX_COUNT] = {0, 1, 2, RESTART, 3, 4, 7, 5};

static VkxfbContext *context;
static VkxfbCapture *capture;
static VkxfbPipeline *plain, *restarting;
static struct buffer source, state, target, other;
static int uses_descriptors;
/* Destroyed after the device, which is allowed. */
static VkxfbLateDraws *late;

static const VkPrimitiveTopology points = VK_PRIMITIVE_TOPOLOGY_POINT_LIST;
static const VkPrimitiveTopology lines = VK_PRIMITIVE_TOPOLOGY_LINE_STRIP;

/* The records that `target` or `other` should have. */
static uint32_t expected[RECORDS][4];
static uint32_t records;

static void expect(uint32_t attribute, uint32_t instance_index, uint32_t draw, uint32_t vertex) {
    const uint32_t record[4] = {attribute, instance_index, draw, vertex};
    memcpy(expected[records++], record, sizeof(record));
}

static void compare(const char *what, const struct buffer *buffer) {
    const uint32_t *found = dwords_of(buffer);
    uint32_t number;
    for (number = 0; number < records; number++, found += 4)
        if (memcmp(found, expected[number], 16) != 0) {
            fprintf(stderr, "record %u: %u %u %u %u, expected %u %u %u %u\n", number, found[0],
                    found[1], found[2], found[3], expected[number][0], expected[number][1],
                    expected[number][2], expected[number][3]);
            check(0, what, "captures something else");
        }
    check(*found == UNTOUCHED, what, "captures too much");
    records = 0;
}

static void expect_dwords(const char *what, uint32_t at, const uint32_t *right, uint32_t count) {
    uint32_t dword;
    for (dword = 0; dword < count; dword++)
        if (dwords_of(&state)[at + dword] != right[dword]) {
            fprintf(stderr, "dword %u is %u, expected %u\n", dword, dwords_of(&state)[at + dword],
                    right[dword]);
            check(0, what, "writes something else");
        }
}

static VkxfbPipeline *make(const char *path, VkBool32 restart) {
    static const char *const VARYINGS[1] = {"captured"};
    const VkxfbExpectedDraws kinds[2] = {
        {VK_PRIMITIVE_TOPOLOGY_POINT_LIST, VKXFB_DRAWS_ANY},
        {VK_PRIMITIVE_TOPOLOGY_LINE_STRIP, VKXFB_DRAWS_RESTART | VKXFB_DRAWS_COUNTED}};
    VkxfbPipelineCreateInfo info = VKXFB_INIT(VkxfbPipelineCreateInfo);
    VkVertexInputAttributeDescription output;
    const char *name;
    struct vertex_states states;
    VkxfbPipeline *pipeline;
    uint32_t *code = read_file(path, &info.codeSize);

    describe_vertices(&info, &states, points, restart);
    info.pCode = code;
    info.varyingCount = 1;
    info.ppVaryings = VARYINGS;
    info.dynamicTopology = VK_TRUE;
    VKXFB(vkxfb_pipeline_create(context, &info, &pipeline));
    free(code);
    VKXFB(vkxfb_pipeline_prepare(pipeline, 2, kinds, VK_NULL_HANDLE));
    VKXFB(vkxfb_pipeline_get_output(pipeline, 0, &output, &name));
    check(output.location == 0 && output.binding == 0 && output.offset == 0 &&
              output.format == VK_FORMAT_R32G32B32A32_UINT && strcmp(name, "captured") == 0,
          "vkxfb_pipeline_get_output", "is wrong");
    check(vkxfb_pipeline_get_output(pipeline, 1, &output, NULL) == VKXFB_ERROR_INVALID_ARGUMENT,
          "vkxfb_pipeline_get_output", "knows an output too many");
    return pipeline;
}

/* Begins a capture of the vertices in `source`, with the indices there. */
static void begin(const VkxfbPipeline *pipeline, const struct buffer *to,
                  const VkxfbCounterBuffer *counter) {
    VkxfbCaptureBeginInfo info = VKXFB_INIT(VkxfbCaptureBeginInfo);
    VkxfbBufferRange captured = range(to, 0, RECORDS * 4);
    VkxfbBufferRange vertices = range(&source, VERTICES_AT, VERTEX_COUNT);
    VkxfbBufferRange indices = range(&source, INDICES_AT, INDEX_COUNT);
    info.pipeline = pipeline;
    info.bufferCount = 1;
    info.pBuffers = &captured;
    info.vertexBufferCount = 1;
    info.pVertexBuffers = &vertices;
    info.counterBufferCount = counter != NULL;
    info.pCounterBuffers = counter;
    VKXFB(vkxfb_capture_begin(capture, &info));
    VKXFB(vkxfb_capture_bind_index_buffer(capture, &indices, VK_INDEX_TYPE_UINT32));
}

static void end(const VkxfbCounterBuffer *counter, int is_known) {
    VkxfbCaptured captured = VKXFB_INIT(VkxfbCaptured);
    VKXFB(vkxfb_capture_end(capture, cmd, counter != NULL, counter, &captured));
    check(captured.isKnown == (VkBool32)is_known && captured.dispatchCount > 0, "VkxfbCaptured",
          "is wrong");
}

static void start(void) {
    memset(target.mapped, 0xa5, RECORDS * 16 + 4);
    memset(other.mapped, 0xa5, RECORDS * 16 + 4);
    VKXFB(vkxfb_capture_reset(capture));
    begin_commands();
}

/* After a restart only the GPU knows how much was captured: here 8 records of 7 indices. */
static void test_byte_counts(void) {
    const VkDrawIndexedIndirectCommand strip = {7, 1, 0, 0, 0};
    const uint32_t captured[8] = {0, 1, 1, 2, 3, 4, 4, 7};
    const VkxfbCounterBuffer counter = counter_at(&state, COUNTER);
    VkxfbByteCountDraw draws[2] = {{2, 5, counter, 0, 16}, {3, 0, counter, 32, 16}};
    const uint32_t commands[9] = {8, 2, 0, 0, UNTOUCHED, 6, 3, 0, 0};
    VkxfbBufferRange vertices = range(&target, 0, RECORDS * 4);
    const VkDeviceSize stride = 16;
    VkxfbResult result;
    uint32_t record, drawn;

    start();
    begin(restarting, &target, NULL);
    VKXFB(vkxfb_capture_draw_indexed(capture, lines, &strip));
    end(&counter, 0);
    VKXFB(vkxfb_context_record_barrier(context, cmd, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                       VK_ACCESS_SHADER_READ_BIT));
    begin(plain, &other, NULL);
    VKXFB(vkxfb_capture_bind_vertex_buffers2(capture, 0, 1, &vertices, &stride));
    VKXFB(vkxfb_capture_draw_indirect_byte_count(capture, points, &draws[0]));
    end(NULL, 0);
    draws[0].firstInstance = 0;
    VKXFB(vkxfb_capture_record_draw_commands(capture, cmd, 2, draws, state.buffer, COMMANDS_AT * 4, 20));
    dwords_of(&state)[COMMANDS_AT + 4] = UNTOUCHED;
    result = vkxfb_late_draws_create(capture, cmd, &late);
    if (uses_descriptors) {
        check(result == VKXFB_ERROR_UNAVAILABLE, "vkxfb_late_draws_create", "does not fail");
    } else {
        VKXFB(result);
        draws[1].counterOffset = 16;
        VKXFB(vkxfb_late_draws_add(late, capture, &draws[1], state.buffer, RESULTS_AT * 4));
    }
    execute_commands(context);

    for (record = 0; record < 8; record++)
        expect(100 + captured[record], 0, 0, captured[record]);
    compare("a strip with a restart", &target);
    for (drawn = 5; drawn < 7; drawn++)
        for (record = 0; record < 8; record++)
            expect(100 + captured[record], drawn, 0, record);
    compare("a draw of a byte count", &other);
    check(dwords_of(&state)[COUNTER] == 8 * 16, "the counter", "is wrong");
    expect_dwords("vkxfb_capture_record_draw_commands", COMMANDS_AT, commands, 9);
    if (!uses_descriptors) {
        const uint32_t late_command[4] = {7, 3, 0, 0};
        expect_dwords("vkxfb_late_draws_add", RESULTS_AT, late_command, 4);
    }
}

static void begin_condition(uint32_t at, VkConditionalRenderingFlagsEXT flags) {
    VkConditionalRenderingBeginInfoEXT info = {0};
    info.sType = VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT;
    info.buffer = state.buffer;
    info.offset = at * 4;
    info.flags = flags;
    VKXFB(vkxfb_capture_begin_conditional_rendering(capture, &info));
}

/* Queries count what conditions let pass; and outside of a capture what is only drawn. */
static void test_conditions_and_queries(void) {
    const VkDrawIndirectCommand draws[3] = {{2, 1, 0, 0}, {3, 1, 4, 0}, {1, 1, 9, 7}};
    const VkDrawIndirectCommand inactive = {6, 2, 0, 0};
    const VkQueryResultFlags flags = VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT;
    const uint32_t copied[6] = {4, 0, 4, 0, 1, 0};
    VkxfbQueryPool *streams =
        make_queries(context, VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT, 2);
    VkxfbQueryPool *generated = make_queries(context, VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT, 1);
    VkMemoryBarrier barrier = {0};
    uint32_t vertex, count = 0;

    start();
    begin(plain, &target, NULL);
    VKXFB(vkxfb_capture_begin_query_indexed(capture, streams, 1, 0));
    begin_condition(NEVER, 0);
    VKXFB(vkxfb_capture_draw(capture, points, &draws[0]));
    VKXFB(vkxfb_capture_end_conditional_rendering(capture));
    begin_condition(NEVER, VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT);
    VKXFB(vkxfb_capture_draw(capture, points, &draws[1]));
    VKXFB(vkxfb_capture_end_conditional_rendering(capture));
    begin_condition(ALWAYS, 0);
    VKXFB(vkxfb_capture_draw(capture, points, &draws[2]));
    VKXFB(vkxfb_capture_end_query_indexed(capture, streams, 1, 0));
    end(NULL, 0);
    VKXFB(vkxfb_capture_begin_queries_only(capture));
    VKXFB(vkxfb_capture_begin_query_indexed(capture, generated, 0, 0));
    VKXFB(vkxfb_capture_draw(capture, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, &inactive));
    VKXFB(vkxfb_capture_draw(capture, VK_PRIMITIVE_TOPOLOGY_LINE_LIST, &inactive));
    VKXFB(vkxfb_capture_end_query_indexed(capture, generated, 0, 0));
    end(NULL, 1);
    VKXFB(vkxfb_query_pool_record_copy_results(streams, capture, cmd, 1, 1, state.buffer,
                                               RESULTS_AT * 4, 24, flags));
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vkCmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                         &barrier, 0, NULL, 0, NULL);
    check(vkxfb_query_pool_wait(streams, 1, 1, 1000) == VKXFB_NOT_READY, "a query",
          "has ended before it was submitted");
    execute_commands(context);

    for (vertex = 4; vertex < 7; vertex++)
        expect(100 + vertex, 0, 0, vertex);
    expect(109, 7, 0, 9);
    compare("conditional rendering", &target);
    VKXFB(vkxfb_query_pool_wait(streams, 1, 1, UINT64_MAX));
    expect_dwords("vkxfb_query_pool_record_copy_results", RESULTS_AT, copied, 6);
    VKXFB(vkxfb_query_pool_get_results(generated, 0, 1, 4, &count, 4, 0));
    /* In each of two instances 4 triangles, and 3 lines. */
    check(count == 2 * (4 + 3), "vkxfb_capture_begin_queries_only", "counts something else");
    check(vkxfb_query_pool_wait(streams, 0, 1, 0) == VKXFB_NOT_READY, "a query",
          "has ended that was not begun");
    VKXFB(vkxfb_query_pool_reset(streams, 1, 1));
    check(vkxfb_query_pool_wait(streams, 1, 1, 0) == VKXFB_NOT_READY, "a query",
          "has a result after its reset");
    check(vkxfb_query_pool_wait(streams, 1, 2, 0) == VKXFB_ERROR_INVALID_ARGUMENT, "a query",
          "is there that is not");
    vkxfb_query_pool_destroy(streams);
    vkxfb_query_pool_destroy(generated);
}

/* State that Vulkan sets by commands, and several draws by one. */
static void test_dynamic_state(void) {
    const VkDrawIndirectCommand strip = {4, 1, 0, 0}, many[2] = {{2, 1, 3, 0}, {1, 1, 8, 0}};
    const VkDrawIndexedIndirectCommand line = {3, 1, 4, 0, 0},
                                       many_indexed[2] = {{1, 1, 6, 0, 0}, {1, 2, 7, 2, 0}};
    const uint32_t last[6] = {0, 1, 2, 2, 1, 3};
    uint32_t vertex;

    start();
    begin(restarting, &target, NULL);
    VKXFB(vkxfb_capture_set_provoking_vertex_mode(capture, VK_PROVOKING_VERTEX_MODE_LAST_VERTEX_EXT));
    VKXFB(vkxfb_capture_draw(capture, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, &strip));
    for (vertex = 0; vertex < 6; vertex++)
        expect(100 + last[vertex], 0, 0, last[vertex]);
    VKXFB(vkxfb_capture_draw_multi(capture, points, 2, many));
    expect(103, 0, 0, 3);
    expect(104, 0, 0, 4);
    expect(108, 0, 1, 8);
    VKXFB(vkxfb_capture_draw_multi_indexed(capture, points, 2, many_indexed));
    expect(107, 0, 0, 7);
    expect(107, 0, 1, 7);
    expect(107, 1, 1, 7);
    /* The indices are 3 4 7: a restart at 4 leaves no line, and without restarts there are two. */
    VKXFB(vkxfb_capture_set_primitive_restart_index(capture, 4));
    VKXFB(vkxfb_capture_draw_indexed(capture, lines, &line));
    VKXFB(vkxfb_capture_set_primitive_restart_enable(capture, VK_FALSE));
    VKXFB(vkxfb_capture_draw_indexed(capture, lines, &line));
    expect(103, 0, 0, 3);
    expect(104, 0, 0, 4);
    expect(104, 0, 0, 4);
    expect(107, 0, 0, 7);
    end(NULL, 0);
    execute_commands(context);
    compare("dynamic state", &target);
}

/* A capture that goes on where it ended, each time that it is played. */
static void test_playing(void) {
    const VkDrawIndirectCommand draw = {3, 1, 2, 0};
    const VkxfbCounterBuffer counter = counter_at(&state, APPENDED);
    VkxfbCaptured captured = VKXFB_INIT(VkxfbCaptured);
    VkxfbCaptureOrder *order;
    uint32_t vertex;

    VKXFB(vkxfb_capture_order_create(&order));
    dwords_of(&state)[APPENDED] = 0;
    start();
    begin(plain, &target, &counter);
    VKXFB(vkxfb_capture_draw(capture, points, &draw));
    check(vkxfb_capture_play(capture, cmd, order, NULL) == VKXFB_ERROR_INVALID_ARGUMENT,
          "a capture that has not ended", "is played");
    VKXFB(vkxfb_capture_finish(capture, 1, &counter));
    VKXFB(vkxfb_capture_play(capture, cmd, order, &captured));
    check(!captured.isKnown && captured.dispatchCount > 0, "VkxfbCaptured", "is wrong");
    VKXFB(vkxfb_capture_play(capture, cmd, order, NULL));
    execute_commands(context);
    for (vertex = 0; vertex < 6; vertex++)
        expect(102 + vertex % 3, 0, 0, 2 + vertex % 3);
    compare("playing twice", &target);

    /* A reset is for the memory of what was recorded. */
    start();
    VKXFB(vkxfb_capture_order_reset(order));
    /* Nor do stray commands change what has ended. */
    check(vkxfb_capture_draw(capture, points, &draw) == VKXFB_ERROR_INVALID_ARGUMENT,
          "a capture that has ended", "takes a draw");
    check(vkxfb_capture_finish(capture, 0, NULL) == VKXFB_ERROR_INVALID_ARGUMENT,
          "a capture that has ended", "ends once more");
    check(vkxfb_capture_end(capture, cmd, 0, NULL, NULL) == VKXFB_ERROR_INVALID_ARGUMENT,
          "a capture that has ended", "is recorded by an end");
    VKXFB(vkxfb_capture_play(capture, cmd, order, NULL));
    execute_commands(context);
    check(dwords_of(&target)[0] == UNTOUCHED, "playing once more", "begins anew");
    check(memcmp(dwords_of(&target) + 6 * 4, expected[0], 3 * 16) == 0, "playing once more",
          "captures something else");
    check(dwords_of(&target)[9 * 4] == UNTOUCHED, "playing once more", "captures too much");
    check(dwords_of(&state)[APPENDED] == 9 * 16, "the counter", "is wrong");
    vkxfb_capture_order_destroy(order);
}

int main(int argc, char **argv) {
    VkBufferUsageFlags usage;
    uint32_t vertex;

    check(argc == 3, "commands", "takes two arguments: a way, and the file of a shader");
    uses_descriptors = strstr(argv[1], "descriptors") != NULL;
    make_instance();
    context = make_context_as(argv[1]);
    VKXFB(vkxfb_context_prepare(context, VK_NULL_HANDLE));
    VKXFB(vkxfb_capture_create(context, &capture));
    usage = vkxfb_context_buffer_usage(context);
    source = make_buffer(SOURCE * 4, usage);
    state = make_buffer(STATE * 4, usage | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
    target = make_buffer(RECORDS * 16 + 4, usage);
    other = make_buffer(RECORDS * 16 + 4, usage);
    for (vertex = 0; vertex < VERTEX_COUNT; vertex++)
        dwords_of(&source)[VERTICES_AT + vertex] = 100 + vertex;
    memcpy(dwords_of(&source) + INDICES_AT, INDICES, sizeof(INDICES));
    memset(state.mapped, 0, STATE * 4);
    dwords_of(&state)[ALWAYS] = 1;
    plain = make(argv[2], VK_FALSE);
    restarting = make(argv[2], VK_TRUE);
    make_commands();
    test_byte_counts();
    test_conditions_and_queries();
    test_dynamic_state();
    test_playing();
    printf("captured\n");

    vkDestroyCommandPool(device, command_pool, NULL);
    vkxfb_pipeline_destroy(plain);
    vkxfb_pipeline_destroy(restarting);
    vkxfb_capture_destroy(capture);
    vkxfb_context_destroy(context);
    destroy_buffer(&other);
    destroy_buffer(&target);
    destroy_buffer(&state);
    destroy_buffer(&source);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    vkxfb_late_draws_destroy(late);
    return EXIT_SUCCESS;
}
