/* Tests geometry shaders behind a vertex shader, and queries of vertex streams, by what the GPU captures.
 *
 *   geometry VERTEX.spv AMPLIFY.spv STREAMS.spv BOTH.spv
 *
 * The shaders are those of tests/capi/geometry.rs, whose rules stand here once more; BOTH has those of VERTEX
 * and STREAMS. The rest of the application is that of the example.
 */
#include "common.h"

#define POINTS 7
#define ID(vertex, step) ((100 + (vertex)) * (step)) /* what the vertex shader passes on */
#define UNTOUCHED 0xa5a5a5a5u

/* Of the amplifying shader: a strip of EMITTED vertices for each line. */
enum { LINES = POINTS - 1, STEP = 3, EMITTED = 5, ADDED = 1000, TRIANGLES = LINES * (EMITTED - 2) };
/* Of the shader with streams: how many points there is room for in the second buffer. */
enum { ROOM_OF_SECOND = 6 };

enum { TARGET = 4096 }; /* bytes of a capture buffer */

static VkxfbContext *context;
static VkxfbCapture *capture;
static VkxfbQueryPool *streams, *generated;
static struct buffer source, targets[2];

static const char *const AMPLIFIED[2] = {"made", "@2"};
static const char *const STREAMED[3] = {"first", "gl_NextBuffer", "second"};

/* A pipeline of both shaders. What is not named is captured as the decorations say. */
static VkxfbPipeline *make(const char *vertex, const char *geometry, const char *entry,
                           VkPrimitiveTopology topology, VkBool32 is_specialized,
                           uint32_t varyings, const char *const *names) {
    struct vertex_states states;
    VkSpecializationMapEntry entries[2] = {{3, 0, 4}, {3, 4, 4}};
    const uint32_t constants[2] = {STEP, EMITTED};
    VkSpecializationInfo of_vertex = {1, NULL, sizeof(constants), NULL};
    VkSpecializationInfo of_geometry = {1, NULL, sizeof(constants), NULL};
    VkxfbPipelineCreateInfo info = VKXFB_INIT(VkxfbPipelineCreateInfo);
    VkxfbShaderInfo shader = VKXFB_INIT(VkxfbShaderInfo);
    VkxfbPipeline *pipeline;
    uint32_t *code = read_file(vertex, &info.codeSize);
    uint32_t *geometry_code = read_file(geometry, &shader.codeSize);

    describe_vertices(&info, &states, topology, VK_FALSE);
    /* The same constant_id has a value of its own in each shader. */
    of_vertex.pMapEntries = &entries[0];
    of_vertex.pData = constants;
    of_geometry.pMapEntries = &entries[1];
    of_geometry.pData = constants;
    shader.pCode = geometry_code;
    shader.pName = entry;
    info.pCode = code;
    if (is_specialized) {
        info.pSpecializationInfo = &of_vertex;
        shader.pSpecializationInfo = &of_geometry;
    }
    info.varyingCount = varyings;
    info.ppVaryings = names;
    info.pGeometryShader = &shader;
    VKXFB(vkxfb_pipeline_create(context, &info, &pipeline));
    free(code);
    free(geometry_code);
    return pipeline;
}

/* Captures one draw to buffers of these sizes, with a query of both types for each of two streams. Returns what the
   CPU knows of it. */
static VkxfbCaptured run(const VkxfbPipeline *pipeline, VkPrimitiveTopology topology,
                         uint32_t first_size, uint32_t second_size) {
    const VkDrawIndirectCommand draw = {POINTS, 1, 0, 0};
    const uint32_t added = ADDED;
    VkxfbCaptureBeginInfo begin = VKXFB_INIT(VkxfbCaptureBeginInfo);
    VkxfbCaptured captured = VKXFB_INIT(VkxfbCaptured);
    VkxfbBufferRange buffers[2], vertices = range(&source, 0, POINTS);
    uint32_t stream;

    buffers[0] = range(&targets[0], 0, first_size / 4);
    buffers[1] = range(&targets[1], 0, second_size / 4);
    memset(targets[0].mapped, 0xa5, TARGET);
    memset(targets[1].mapped, 0xa5, TARGET);

    begin_commands();
    VKXFB(vkxfb_query_pool_record_reset(streams, cmd, 0, 2));
    VKXFB(vkxfb_query_pool_record_reset(generated, cmd, 0, 2));
    begin.pipeline = pipeline;
    begin.bufferCount = second_size == 0 ? 1 : 2;
    begin.pBuffers = buffers;
    begin.vertexBufferCount = 1;
    begin.pVertexBuffers = &vertices;
    VKXFB(vkxfb_capture_begin(capture, &begin));
    for (stream = 0; stream < 2; stream++) {
        VKXFB(vkxfb_capture_begin_query_indexed(capture, streams, stream, stream));
        VKXFB(vkxfb_capture_begin_query_indexed(capture, generated, 1 - stream, stream));
    }
    VKXFB(vkxfb_capture_push_constants(capture, 4, sizeof(added), &added));
    VKXFB(vkxfb_capture_draw(capture, topology, &draw));
    for (stream = 0; stream < 2; stream++) {
        VKXFB(vkxfb_capture_end_query_indexed(capture, streams, stream, stream));
        VKXFB(vkxfb_capture_end_query_indexed(capture, generated, 1 - stream, stream));
    }
    VKXFB(vkxfb_capture_end(capture, cmd, 0, NULL, &captured));
    execute_commands(context);
    VK(vkResetCommandBuffer(cmd, 0));
    VKXFB(vkxfb_capture_reset(capture));
    return captured;
}

static void expect_queries(uint32_t stream, uint64_t written, uint64_t needed) {
    uint64_t of_stream[2];
    uint32_t of_generated[2]; /* with its availability */
    VKXFB(vkxfb_query_pool_get_results(streams, stream, 1, sizeof(of_stream), of_stream,
                                       sizeof(of_stream), VK_QUERY_RESULT_64_BIT));
    VKXFB(vkxfb_query_pool_get_results(generated, 1 - stream, 1, sizeof(of_generated), of_generated,
                                       sizeof(of_generated),
                                       VK_QUERY_RESULT_WITH_AVAILABILITY_BIT));
    if (of_stream[0] != written || of_stream[1] != needed || of_generated[0] != needed ||
        of_generated[1] != 1) {
        fprintf(stderr, "stream %u: %u of %u, %u generated\n", stream, (unsigned)of_stream[0],
                (unsigned)of_stream[1], of_generated[0]);
        check(0, "a query", "is wrong");
    }
}

static void expect(const struct buffer *target, uint32_t dword, uint32_t right) {
    uint32_t found = ((const uint32_t *)(const void *)target->mapped)[dword];
    if (found != right) {
        fprintf(stderr, "dword %u is %u, expected %u\n", dword, found, right);
        check(0, "what was captured", "is wrong");
    }
}

/* Triangle i of a strip has the vertices i, i + 1 and i + 2; every other one swaps the last two of them. */
static void test_amplification(const VkxfbPipeline *pipeline) {
    const uint32_t fit = TRIANGLES - 1;
    uint32_t line, triangle, corner, dword = 0;
    VkxfbCaptured captured =
        run(pipeline, VK_PRIMITIVE_TOPOLOGY_LINE_STRIP, (fit * 3 + 2) * 12, 0);

    check(captured.isKnown && captured.primitivesWritten == fit &&
              captured.primitivesNeeded == TRIANGLES && captured.positions[0] == fit * 3 * 12,
          "VkxfbCaptured", "a constant number is emitted, which the CPU knows");
    for (line = 0; line < LINES; line++)
        for (triangle = 0; triangle < EMITTED - 2; triangle++)
            for (corner = 0; corner < 3; corner++) {
                uint32_t odd = triangle % 2;
                uint32_t emitted = triangle + (corner == 0   ? 0
                                               : corner == 1 ? 1 + odd
                                                             : 2 - odd);
                if (dword >= fit * 3 * 3)
                    break;
                expect(&targets[0], dword++, ID(line + emitted % 2, STEP) + ADDED);
                expect(&targets[0], dword++, line * 100 + emitted);
                expect(&targets[0], dword++, 7 * emitted);
            }
    expect(&targets[0], dword, UNTOUCHED);
    expect_queries(0, fit, TRIANGLES);
    expect_queries(1, 0, 0);
}

static void test_streams(const VkxfbPipeline *pipeline) {
    uint32_t point, copy, emitted = 0;
    VkxfbCaptured captured =
        run(pipeline, VK_PRIMITIVE_TOPOLOGY_POINT_LIST, POINTS * 4, ROOM_OF_SECOND * 8);

    check(!captured.isKnown, "VkxfbCaptured", "only the GPU knows what is emitted");
    for (point = 0; point < POINTS; point++) {
        expect(&targets[0], point, ID(point, 1));
        for (copy = 0; copy < ID(point, 1) % 4; copy++, emitted++)
            if (emitted < ROOM_OF_SECOND) {
                expect(&targets[1], emitted * 2, ID(point, 1));
                expect(&targets[1], emitted * 2 + 1, copy);
            }
    }
    expect(&targets[0], POINTS, UNTOUCHED);
    expect(&targets[1], ROOM_OF_SECOND * 2, UNTOUCHED);
    check(emitted > ROOM_OF_SECOND, "the test", "fills no buffer");
    expect_queries(0, POINTS, POINTS);
    expect_queries(1, ROOM_OF_SECOND, emitted);
}

int main(int argc, char **argv) {
    VkxfbPipeline *amplifying, *decorated, *named;
    VkBufferUsageFlags usage;
    uint32_t vertex, result;

    check(argc == 5, "geometry", "takes four arguments, the files of shaders");
    make_instance();
    context = make_context();
    VKXFB(vkxfb_capture_create(context, &capture));
    usage = vkxfb_context_buffer_usage(context);
    source = make_buffer(POINTS * 4, usage);
    for (vertex = 0; vertex < POINTS; vertex++)
        ((uint32_t *)(void *)source.mapped)[vertex] = 100 + vertex;
    targets[0] = make_buffer(TARGET, usage);
    targets[1] = make_buffer(TARGET, usage);
    streams = make_queries(context, VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT, 2);
    generated = make_queries(context, VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT, 2);
    check(vkxfb_query_pool_get_results(generated, 0, 1, 4, &result, 4, 0) == VKXFB_NOT_READY,
          "a query that was not begun", "has a result");
    amplifying = make(argv[1], argv[2], "amplify", VK_PRIMITIVE_TOPOLOGY_LINE_STRIP, VK_TRUE, 2,
                      AMPLIFIED);
    decorated =
        make(argv[1], argv[3], NULL, VK_PRIMITIVE_TOPOLOGY_POINT_LIST, VK_FALSE, 0, NULL);
    named = make(argv[4], argv[4], NULL, VK_PRIMITIVE_TOPOLOGY_POINT_LIST, VK_FALSE, 3, STREAMED);

    make_commands();
    test_amplification(amplifying);
    test_streams(decorated);
    test_streams(named);
    printf("captured\n");

    vkDestroyCommandPool(device, command_pool, NULL);
    vkxfb_pipeline_destroy(amplifying);
    vkxfb_pipeline_destroy(decorated);
    vkxfb_pipeline_destroy(named);
    vkxfb_context_destroy(context);
    vkxfb_capture_destroy(capture);
    vkxfb_query_pool_destroy(streams);
    vkxfb_query_pool_destroy(generated);
    destroy_buffer(&targets[0]);
    destroy_buffer(&targets[1]);
    destroy_buffer(&source);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    return EXIT_SUCCESS;
}
