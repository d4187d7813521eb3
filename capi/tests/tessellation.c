/* Tests tessellation shaders, alone and before a geometry shader, by what the GPU captures.
 *
 *   tessellation VERTEX.spv CONTROL.spv EVALUATION.spv GEOMETRY.spv
 *
 * The shaders are those of tests/capi/tessellation.rs, whose rules stand here once more. The rest of the application
 * is that of the example.
 */
#include "common.h"

#define POINTS 7
#define ID(vertex, step) ((100 + (vertex)) * (step)) /* what the vertex shader passes on */
#define UNTOUCHED 0xa5a5a5a5u

/* The patches of the pipeline, and those of a draw that sets another size. */
enum { STEP = 3, OF_PIPELINE = 3, OF_DRAW = 2, ADDED = 1000 };
enum { TARGET = 4096 }; /* bytes of the capture buffer */

static VkxfbContext *context;
static VkxfbCapture *capture;
static struct buffer source, target;

/* A pipeline of all shaders but a geometry shader that is NULL, for patches of OF_PIPELINE vertices. */
static VkxfbPipeline *make(char **files, const char *geometry, VkTessellationDomainOrigin origin) {
    static const char *const FOUND[1] = {"found"}, *const EMITTED[1] = {"emitted"};
    struct vertex_states states;
    VkSpecializationMapEntry entry = {3, 0, 4};
    const uint32_t step = STEP;
    VkSpecializationInfo constants = {1, NULL, sizeof(step), NULL};
    VkPipelineTessellationDomainOriginStateCreateInfo domain = {0};
    VkPipelineTessellationStateCreateInfo tessellation = {0};
    VkxfbPipelineCreateInfo info = VKXFB_INIT(VkxfbPipelineCreateInfo);
    VkxfbShaderInfo later[3] = {VKXFB_INIT(VkxfbShaderInfo), VKXFB_INIT(VkxfbShaderInfo),
                                VKXFB_INIT(VkxfbShaderInfo)};
    VkxfbPipeline *pipeline;
    uint32_t *codes[4] = {NULL, NULL, NULL, NULL};
    uint32_t stage;

    describe_vertices(&info, &states, VK_PRIMITIVE_TOPOLOGY_PATCH_LIST, VK_FALSE);
    codes[0] = read_file(files[1], &info.codeSize);
    for (stage = 1; stage < (geometry == NULL ? 3 : 4); stage++) {
        codes[stage] = read_file(files[stage + 1], &later[stage - 1].codeSize);
        later[stage - 1].pCode = codes[stage];
    }
    constants.pMapEntries = &entry;
    constants.pData = &step;
    info.pCode = codes[0];
    info.pSpecializationInfo = &constants;
    domain.sType = VK_STRUCTURE_TYPE_PIPELINE_TESSELLATION_DOMAIN_ORIGIN_STATE_CREATE_INFO;
    domain.domainOrigin = origin;
    tessellation.sType = VK_STRUCTURE_TYPE_PIPELINE_TESSELLATION_STATE_CREATE_INFO;
    tessellation.pNext = &domain;
    tessellation.patchControlPoints = OF_PIPELINE;
    info.pTessellationState = &tessellation;
    info.pTessellationControlShader = &later[0];
    info.pTessellationEvaluationShader = &later[1];
    info.pGeometryShader = geometry == NULL ? NULL : &later[2];
    info.varyingCount = 1;
    info.ppVaryings = geometry == NULL ? FOUND : EMITTED;
    VKXFB(vkxfb_pipeline_create(context, &info, &pipeline));
    for (stage = 0; stage < 4; stage++)
        free(codes[stage]);
    return pipeline;
}

/* Captures a draw with the pipeline's patches, and one with patches of OF_DRAW vertices. */
static void run(const VkxfbPipeline *pipeline) {
    const VkDrawIndirectCommand draw = {POINTS, 1, 0, 0};
    const uint32_t added = ADDED;
    VkxfbCaptureBeginInfo begin = VKXFB_INIT(VkxfbCaptureBeginInfo);
    VkxfbCaptured captured = VKXFB_INIT(VkxfbCaptured);
    VkxfbBufferRange buffer = range(&target, 0, TARGET / 4), vertices = range(&source, 0, POINTS);

    memset(target.mapped, 0xa5, TARGET);
    begin_commands();
    begin.pipeline = pipeline;
    begin.bufferCount = 1;
    begin.pBuffers = &buffer;
    begin.vertexBufferCount = 1;
    begin.pVertexBuffers = &vertices;
    VKXFB(vkxfb_capture_begin(capture, &begin));
    VKXFB(vkxfb_capture_push_constants(capture, 4, sizeof(added), &added));
    VKXFB(vkxfb_capture_draw(capture, VK_PRIMITIVE_TOPOLOGY_PATCH_LIST, &draw));
    VKXFB(vkxfb_capture_set_patch_control_points(capture, OF_DRAW));
    VKXFB(vkxfb_capture_draw(capture, VK_PRIMITIVE_TOPOLOGY_PATCH_LIST, &draw));
    VKXFB(vkxfb_capture_end(capture, cmd, 0, NULL, &captured));
    check(!captured.isKnown, "VkxfbCaptured", "only the GPU knows what the levels are");
    execute_commands(context);
    VK(vkResetCommandBuffer(cmd, 0));
    VKXFB(vkxfb_capture_reset(capture));
}

static uint32_t dword(uint32_t number) {
    return ((const uint32_t *)(const void *)target.mapped)[number];
}

static void expect(uint32_t number, uint32_t right) {
    if (dword(number) != right) {
        fprintf(stderr, "dword %u is %u, expected %u\n", number, dword(number), right);
        check(0, "what was captured", "is wrong");
    }
}

/* What the control shader returns: the sum of the control points. */
static uint32_t sum(uint32_t patch, uint32_t points) {
    uint32_t point, all = 0;
    for (point = 0; point < points; point++)
        all += ID(patch * points + point, STEP);
    return all;
}

/* Each patch is one triangle, whose corners are in the order that the origin of the domain makes of "ccw". */
static void test_triangles(const VkxfbPipeline *pipeline, uint32_t next) {
    const uint32_t sizes[2] = {OF_PIPELINE, OF_DRAW};
    uint32_t draw, patch, corner, at = 0;
    run(pipeline);
    for (draw = 0; draw < 2; draw++)
        for (patch = 0; patch < POINTS / sizes[draw]; patch++)
            for (corner = 0; corner < 3; corner++, at += 2) {
                expect(at, sum(patch, sizes[draw]) + ADDED);
                check(dword(at + 1) < 3, "a corner", "is none of the patch");
                if (corner > 0)
                    expect(at + 1, (dword(at - 1) + next) % 3);
            }
    expect(at, UNTOUCHED);
}

/* The geometry shader emits a point for each triangle. */
static void test_geometry(const VkxfbPipeline *pipeline) {
    uint32_t patch, at = 0;
    run(pipeline);
    for (patch = 0; patch < POINTS / OF_PIPELINE; patch++)
        expect(at++, sum(patch, OF_PIPELINE) + ADDED);
    for (patch = 0; patch < POINTS / OF_DRAW; patch++)
        expect(at++, sum(patch, OF_DRAW) + ADDED);
    expect(at, UNTOUCHED);
}

int main(int argc, char **argv) {
    VkxfbPipeline *upper, *lower, *emitting;
    VkBufferUsageFlags usage;
    uint32_t vertex;

    check(argc == 5, "tessellation", "takes four arguments, the files of shaders");
    make_instance();
    context = make_context();
    VKXFB(vkxfb_capture_create(context, &capture));
    usage = vkxfb_context_buffer_usage(context);
    source = make_buffer(POINTS * 4, usage);
    for (vertex = 0; vertex < POINTS; vertex++)
        ((uint32_t *)(void *)source.mapped)[vertex] = 100 + vertex;
    target = make_buffer(TARGET, usage);
    upper = make(argv, NULL, VK_TESSELLATION_DOMAIN_ORIGIN_UPPER_LEFT);
    lower = make(argv, NULL, VK_TESSELLATION_DOMAIN_ORIGIN_LOWER_LEFT);
    emitting = make(argv, argv[4], VK_TESSELLATION_DOMAIN_ORIGIN_UPPER_LEFT);

    make_commands();
    test_triangles(upper, 2);
    test_triangles(lower, 1);
    test_geometry(emitting);
    printf("captured\n");

    vkDestroyCommandPool(device, command_pool, NULL);
    vkxfb_pipeline_destroy(upper);
    vkxfb_pipeline_destroy(lower);
    vkxfb_pipeline_destroy(emitting);
    vkxfb_context_destroy(context);
    vkxfb_capture_destroy(capture);
    destroy_buffer(&target);
    destroy_buffer(&source);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    return EXIT_SUCCESS;
}
