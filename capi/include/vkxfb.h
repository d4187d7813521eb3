/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * vkxfb: transform feedback for every Vulkan device, by compute.
 *
 * A program calls, in this order:
 * 1. vkxfb_required_features_create and vkxfb_required_features_add_to, before vkCreateDevice;
 * 2. vkxfb_context_create with the device; for a device that others created, vkxfb_context_create_for_device in
 *    place of both. Buffers get the usage vkxfb_context_buffer_usage, too;
 * 3. vkxfb_pipeline_create for each graphics pipeline that captures, with the names of the outputs that are captured,
 *    and vkxfb_capture_create for each frame in flight;
 * 4. in place of vkCmdBeginTransformFeedbackEXT and its draws, but outside of a render pass: vkxfb_capture_begin,
 *    the functions that bind, draw and query, vkxfb_capture_end, and vkxfb_context_record_barrier before the bytes are
 *    read. The command buffer is for a queue with compute. This rasterizes nothing: to show the draws, the program
 *    also draws them with its own pipeline, as without vkxfb;
 * 5. vkxfb_capture_reset with the command buffers of the frame, and the functions that destroy at the end.
 *
 * The header is C99 and C++11.
 *
 * If a function that returns a VkxfbResult fails, vkxfb_last_error returns a message in the same
 * thread. A function that creates an object then writes NULL in place of the object; what other functions fill in
 * stays as it was. Members and arguments must not be NULL, and handles must not be VK_NULL_HANDLE, unless their
 * documentation allows it. An array of which the count is 0 may be NULL.
 *
 * What a function says under "Valid usage" is for the program to see to, as in Vulkan: the library does not check it, and
 * otherwise anything may happen. What it checks gives a VkxfbResult. An object is live from the function that creates
 * it to the one that destroys it.
 *
 * Later versions may add members to the end of a structure whose first member is structSize. By the size the
 * library knows which members the caller knows; the others are zero. VKXFB_INIT sets it, and all other members to zero.
 * From another language, set it to the size of the structure, and all other bytes to zero, padding included. A
 * program may thus be newer or older than the library. If it sets a member that the library does not know, the call
 * fails. Structures that are elements of arrays (VkxfbBufferRange, VkxfbCounterBuffer, VkxfbByteCountDraw,
 * VkxfbExpectedDraws) never change.
 */

#ifndef VKXFB_H
#define VKXFB_H

/* Generated from the sources by cbindgen. Do not edit. */

#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

/* A structure of this type with its size, and zero in all other members, within a function:
 * VkxfbCaptureBeginInfo begin = VKXFB_INIT(VkxfbCaptureBeginInfo); */
#ifdef __cplusplus
extern "C++" {
template <typename Type> inline Type VkxfbInit() {
  Type made = Type();
  made.structSize = sizeof(Type);
  return made;
}
}
#define VKXFB_INIT(Type) VkxfbInit<Type>()
#else
#define VKXFB_INIT(Type) ((Type){.structSize = sizeof(Type)})
#endif

/* Between the two comments that say "declarations" and no more, there are only declarations and constants, with
 * types of Vulkan. Parsers that are not compilers, such as that of cffi for Python, can read this part. */

#ifdef __cplusplus
extern "C" {
#endif
/* declarations */

/**
 * The major version of this header.
 */
#define VKXFB_VERSION_MAJOR 0

/**
 * The minor version of this header.
 */
#define VKXFB_VERSION_MINOR 1

/**
 * The patch version of this header.
 */
#define VKXFB_VERSION_PATCH 0

/**
 * Captures access memory by descriptors, also on a device that has buffer device addresses.
 * Without this bit they do so only if the device has none.
 */
#define VKXFB_DEVICE_DESCRIPTORS 1

/**
 * Captures do not use `vkCmdDispatchIndirect`, because it does not work on the device. Draws whose
 * size only the GPU knows are then dispatched with as many invocations as the capture buffers have
 * room for.
 */
#define VKXFB_DEVICE_NO_INDIRECT_DISPATCH 2

/**
 * `vkCmdDrawIndirect` does not work on the device, so the functions that write draw commands fail.
 */
#define VKXFB_DEVICE_NO_INDIRECT_DRAWS 4

/**
 * Shaders are passed to the driver without being optimized. They capture the same. Use this bit to
 * rule out a fault of the optimizer.
 */
#define VKXFB_DEVICE_NO_OPTIMIZATION 8

/**
 * Objects get names and commands get labels, for tools such as RenderDoc. The instance must have been
 * created with `VK_EXT_debug_utils`: otherwise this bit is refused.
 */
#define VKXFB_DEVICE_DEBUG_NAMES 16

/**
 * Vertex buffers may be bound with offsets or strides with which attributes are not aligned to their
 * components or packed words. Without this bit they may only if `pVertexInputState` itself describes
 * attributes so. Shaders load what may not be aligned by bytes, which takes up to two loads for each dword.
 */
#define VKXFB_PIPELINE_UNALIGNED_ATTRIBUTES 1

/**
 * Draws may be large: capturing them may take a dispatch of more than 64 workgroups, which is usual
 * for more than 4,096 vertices. A draw whose arguments only the GPU knows counts as large if the
 * capture buffers have room for so many vertices.
 */
#define VKXFB_DRAWS_LARGE 1

/**
 * Draws have indices.
 */
#define VKXFB_DRAWS_INDEXED 2

/**
 * Draws have indices, and primitive restart is enabled. With `VKXFB_DRAWS_INDEXED`, there are draws with and
 * without primitive restart.
 */
#define VKXFB_DRAWS_RESTART 4

/**
 * Draws may have several instances, vertex buffers of more than 4 GiB, buffers that are not
 * aligned to the largest accesses to them, or indices and vertices outside of their buffers.
 */
#define VKXFB_DRAWS_CHECKED 8

/**
 * A capture may have several draws.
 */
#define VKXFB_DRAWS_SEVERAL 16

/**
 * Captures may have counters or queries.
 */
#define VKXFB_DRAWS_COUNTED 32

/**
 * Possibly only the GPU knows how much this or another draw of the capture draws: it is an indirect draw, a
 * draw by byte count, or a draw with conditional rendering or primitive restart.
 */
#define VKXFB_DRAWS_INDIRECT 64

/**
 * Draws of every kind, also in captures that mix them.
 */
#define VKXFB_DRAWS_ANY 128

/**
 * The maximum number of capture buffers of a shader.
 */
#define VKXFB_MAX_BUFFERS 4

/**
 * The result of a function. `vkxfb_last_error` returns a message with details.
 */
typedef enum {
  /**
   * The function succeeded.
   */
  VKXFB_SUCCESS = 0,
  /**
   * A query has not ended yet. Only `vkxfb_query_pool_get_results` and `vkxfb_query_pool_wait`
   * return this. It is not a failure, and has no message.
   */
  VKXFB_NOT_READY = 1,
  /**
   * An argument is NULL although it must not be, has an invalid value, or contradicts another
   * argument. The function did nothing.
   */
  VKXFB_ERROR_INVALID_ARGUMENT = -1,
  /**
   * The physical device, or the device as it was created, cannot capture by compute, or does not
   * support the request. The message lists all reasons.
   */
  VKXFB_ERROR_UNAVAILABLE = -2,
  /**
   * The shader is invalid, captures nothing, contains something that cannot be captured, or does
   * not match the rest of its pipeline.
   */
  VKXFB_ERROR_SHADER = -3,
  /**
   * A Vulkan command failed.
   */
  VKXFB_ERROR_VULKAN = -4,
  /**
   * There is not enough host or device memory.
   */
  VKXFB_ERROR_OUT_OF_MEMORY = -5,
  /**
   * A mistake in the library. The objects that were passed must not be used any more, except to
   * destroy them.
   */
  VKXFB_ERROR_INTERNAL = -6,
  /**
   * The request is larger than what the device supports at once: split it into several draws or
   * captures, or use less. The function did nothing.
   */
  VKXFB_ERROR_TOO_LARGE = -7,
} VkxfbResult;

/**
 * A capture, which corresponds to the commands from `vkCmdBeginTransformFeedbackEXT` to
 * `vkCmdEndTransformFeedbackEXT`, and the memory that it needs.
 *
 * Draws of a capture are not rasterized. To show them, the application also draws them in its
 * render pass, with its own pipeline.
 *
 * A capture can be begun and ended many times. The memory that this takes stays in use until
 * `vkxfb_capture_reset`: an application with several frames in flight has a capture for each
 * frame, and resets it when it resets the command buffers of the frame. Only one thread at a time
 * may use a capture.
 *
 * The pipelines, buffers, descriptor sets and query pools that are used in it must be live until
 * the capture is begun again, ended by `vkxfb_capture_end` or destroyed, and every command buffer
 * that it was recorded or played into is reset or freed. `vkxfb_capture_finish` does not shorten
 * this, because the capture can still be played.
 */
typedef struct VkxfbCapture VkxfbCapture;

/**
 * The memory that captures in a command buffer have accessed, so that barriers are recorded only
 * between those that access the same bytes. Such captures may write to the same bytes, add to the
 * same queries, resume from counters of others, and read vertices, indices and arguments of draws
 * that others captured. The order does not know which memory shaders access by the application's
 * descriptors and addresses, and which buffers share memory.
 *
 * Each command buffer needs its own order. Only one thread at a time may use an order.
 */
typedef struct VkxfbCaptureOrder VkxfbCaptureOrder;

/**
 * A device that captures: its commands, internal pipelines that prepare captures, and an allocator
 * of device memory.
 *
 * Several threads may use it at the same time. Contexts, pipelines, captures and query pools can be
 * destroyed in any order, as long as the device outlives them all.
 */
typedef struct VkxfbContext VkxfbContext;

/**
 * A recorded kernel that writes draw commands. Draws can be added to it until its command buffer
 * is submitted.
 *
 * Only one thread at a time may use it.
 */
typedef struct VkxfbLateDraws VkxfbLateDraws;

/**
 * A pipeline that captures.
 *
 * Several threads may use it at the same time.
 */
typedef struct VkxfbPipeline VkxfbPipeline;

/**
 * A pool of queries that count captures, like a `VkQueryPool`. Queries of a `VkQueryPool` would
 * count the application's own draws instead.
 *
 * Several threads may use it at the same time.
 */
typedef struct VkxfbQueryPool VkxfbQueryPool;

/**
 * The extensions and features that a device needs to capture by compute.
 */
typedef struct VkxfbRequiredFeatures VkxfbRequiredFeatures;

/**
 * A physical device, the means to find its commands, and how captures use it.
 */
typedef struct {
  /**
   * The `sizeof` of the structure, as `VKXFB_INIT` sets it.
   */
  size_t structSize;
  /**
   * `vkGetInstanceProcAddr`, linked with the program or loaded at run time.
   */
  PFN_vkGetInstanceProcAddr getInstanceProcAddr;
  /**
   * The instance. With a version below Vulkan 1.1, `VK_KHR_get_physical_device_properties2` and
   * `VK_KHR_device_group_creation` must be enabled.
   */
  VkInstance instance;
  /**
   * The `VkApplicationInfo::apiVersion` with which the instance was created, such as
   * `VK_API_VERSION_1_2`; 0 means Vulkan 1.0.
   */
  uint32_t apiVersion;
  /**
   * The physical device.
   */
  VkPhysicalDevice physicalDevice;
  /**
   * `VKXFB_DEVICE_` bits. 0 is correct for every device that supports what it reports.
   */
  uint32_t flags;
  /**
   * If captures access memory by descriptors, the number of storage buffers that a capture may
   * use of `maxPerStageDescriptorStorageBuffers`, at least 4. The set layouts of the
   * application's pipelines can use the rest. A quarter of them is for capture buffers, another
   * quarter for counters, queries and the library's own memory, the rest for buffers that draws
   * read. 0 stands for the largest useful number, up to 24.
   */
  uint32_t maxStorageBuffers;
} VkxfbPhysicalDeviceInfo;

/**
 * Properties of a context.
 */
typedef struct {
  /**
   * The `sizeof` of the structure, as `VKXFB_INIT` sets it.
   */
  size_t structSize;
  /**
   * The result of `vkxfb_context_buffer_usage`.
   */
  VkBufferUsageFlags bufferUsage;
  /**
   * The flags with which memory of such buffers must be allocated:
   * `VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT` or none.
   */
  VkMemoryAllocateFlags memoryAllocateFlags;
  /**
   * The largest range of a capture buffer, in bytes.
   */
  VkDeviceSize maxCaptureBufferSize;
  /**
   * Whether captures access memory by descriptors, because there are no device addresses, or
   * because of `VKXFB_DEVICE_DESCRIPTORS`. Then a recording disturbs all descriptor sets of the
   * compute bind point, and accesses at most `storageBuffers` buffers.
   */
  VkBool32 usesDescriptors;
  /**
   * The number of storage buffers that a capture uses, or 0 if it uses addresses.
   */
  uint32_t storageBuffers;
  /**
   * Whether the size of an index buffer may be any number of bytes, not only a multiple of 4.
   */
  VkBool32 hasByteLoads;
  /**
   * Whether `vkxfb_capture_record_draw_commands` and `vkxfb_late_draws_create` may be called.
   */
  VkBool32 hasIndirectDraws;
} VkxfbContextProperties;

/**
 * A shader after the vertex shader. Its members have the same meanings as those for the vertex
 * shader in `VkxfbPipelineCreateInfo`.
 */
typedef struct {
  /**
   * The `sizeof` of the structure, as `VKXFB_INIT` sets it.
   */
  size_t structSize;
  /**
   * Size in bytes of `pCode`, a multiple of 4.
   */
  size_t codeSize;
  /**
   * SPIR-V with the shader. It may be the same code as that of the vertex shader.
   */
  const uint32_t *pCode;
  /**
   * Name of the entry point. It may be NULL if the code has only one entry point for that stage.
   */
  const char *pName;
  /**
   * Values of specialization constants, or NULL. The values for the vertex shader do not apply
   * to this shader.
   */
  const VkSpecializationInfo *pSpecializationInfo;
} VkxfbShaderInfo;

/**
 * The parameters of a pipeline: the parts of a graphics pipeline that determine what is captured.
 */
typedef struct {
  /**
   * The `sizeof` of the structure, as `VKXFB_INIT` sets it.
   */
  size_t structSize;
  /**
   * Size in bytes of `pCode`, a multiple of 4.
   */
  size_t codeSize;
  /**
   * SPIR-V with the vertex shader. If `ppVaryings` says what is captured, this may be the code
   * of the graphics pipeline's own shader.
   */
  const uint32_t *pCode;
  /**
   * Name of the entry point. It may be NULL if the code has only one vertex shader.
   */
  const char *pName;
  /**
   * Values of specialization constants, or NULL.
   */
  const VkSpecializationInfo *pSpecializationInfo;
  /**
   * Number of elements of `ppVaryings`. If it is 0, the last shader must have transform feedback
   * decorations and the execution mode `Xfb`, which glslangValidator generates for `xfb_buffer`,
   * `xfb_stride` and `xfb_offset` in GLSL. Such code is not valid for a `VkShaderModule` of a
   * device that was created without the feature `transformFeedback`.
   */
  uint32_t varyingCount;
  /**
   * Names of the outputs of the last shader that are captured, as for
   * `glTransformFeedbackVaryings` with `GL_INTERLEAVED_ATTRIBS`: a record contains them in this
   * order, without gaps. `gl_SkipComponents1` to `gl_SkipComponents4` leave a gap of 1 to 4
   * times 4 bytes, and `gl_NextBuffer` begins the record of the next capture buffer. All outputs
   * of a buffer must be of one vertex stream. Unlike in OpenGL, an output may be named several times.
   * A member of a block is named with the block or with its instance: `Block.member`, `instance.member`.
   *
   * `@3` is the output at location 3, `@3.yz` its second and third component, and `@Position` the
   * output with that `BuiltIn` decoration, also if the module has no names. Transform feedback
   * decorations are ignored.
   */
  const char *const *ppVaryings;
  /**
   * The vertex input state, whose chain may contain
   * `VkPipelineVertexInputDivisorStateCreateInfoKHR`. NULL if the shader reads no attributes.
   */
  const VkPipelineVertexInputStateCreateInfo *pVertexInputState;
  /**
   * Topology and primitive restart. The topology must match the input primitives of the stage after
   * the vertex shader, if there is one: with tessellation shaders it is
   * `VK_PRIMITIVE_TOPOLOGY_PATCH_LIST`.
   */
  const VkPipelineInputAssemblyStateCreateInfo *pInputAssemblyState;
  /**
   * Whether draws may have other topologies than that of `pInputAssemblyState`. A pipeline for a
   * single topology is faster.
   */
  VkBool32 dynamicTopology;
  /**
   * The provoking vertex mode, which decides the order in which the vertices of strips and fans
   * are captured. 0 is `VK_PROVOKING_VERTEX_MODE_FIRST_VERTEX_EXT`.
   */
  VkProvokingVertexModeEXT provokingVertexMode;
  /**
   * Number of elements of `pSetLayouts`.
   */
  uint32_t setLayoutCount;
  /**
   * Descriptor set layouts of the application's pipeline layout. The stages of each binding that
   * the shaders use must include `VK_SHADER_STAGE_COMPUTE_BIT`. Push constant ranges are those
   * that the shaders declare.
   */
  const VkDescriptorSetLayout *pSetLayouts;
  /**
   * `VK_NULL_HANDLE`, or a pipeline cache with which the Vulkan pipelines for the topology of
   * `pInputAssemblyState` are compiled immediately. Other Vulkan pipelines, and without a cache
   * all of them, are compiled when a draw that needs them is first recorded.
   */
  VkPipelineCache pipelineCache;
  /**
   * The geometry shader, or NULL if there is none. If there is one, its outputs are captured,
   * and transform feedback decorations of the other shaders are ignored. It runs as a part of a
   * compute shader, so the device needs neither `geometryShader` nor `geometryStreams`.
   */
  const VkxfbShaderInfo *pGeometryShader;
  /**
   * The tessellation control shader, or NULL if there are no tessellation shaders.
   */
  const VkxfbShaderInfo *pTessellationControlShader;
  /**
   * The tessellation evaluation shader, or NULL if there are no tessellation shaders. If there is one,
   * and no geometry shader, its outputs are captured. The device does not need `tessellationShader`.
   */
  const VkxfbShaderInfo *pTessellationEvaluationShader;
  /**
   * The number of control points of a patch, 1 to 32. The chain may contain
   * `VkPipelineTessellationDomainOriginStateCreateInfo`. The structure is ignored if there are
   * no tessellation shaders.
   */
  const VkPipelineTessellationStateCreateInfo *pTessellationState;
  /**
   * `VKXFB_PIPELINE_` bits.
   */
  uint64_t flags;
} VkxfbPipelineCreateInfo;

/**
 * Draws for which `vkxfb_pipeline_prepare` compiles pipelines.
 */
typedef struct {
  /**
   * The topology. A pipeline without `dynamicTopology` uses its own topology instead.
   */
  VkPrimitiveTopology topology;
  /**
   * `VKXFB_DRAWS_` bits. 0 stands for small direct draws with one instance and without indices,
   * each of which is the only draw of its capture. Each bit except `VKXFB_DRAWS_INDEXED` and
   * `VKXFB_DRAWS_RESTART` adds draws to those that the other bits stand for. Draws with indices and draws
   * without need two elements. If in doubt, use `VKXFB_DRAWS_ANY`.
   */
  uint32_t flags;
} VkxfbExpectedDraws;

/**
 * Properties of a pipeline.
 */
typedef struct {
  /**
   * The `sizeof` of the structure, as `VKXFB_INIT` sets it.
   */
  size_t structSize;
  /**
   * The pipeline layout, with which the application can bind descriptor sets itself: see
   * `vkxfb_capture_assume_descriptor_sets`. It is destroyed with the pipeline.
   */
  VkPipelineLayout layout;
  /**
   * The size in bytes of a record in each capture buffer, or 0 if nothing is captured to the
   * buffer.
   */
  uint32_t strides[VKXFB_MAX_BUFFERS];
  /**
   * The vertex stream that each capture buffer captures.
   */
  uint32_t streams[VKXFB_MAX_BUFFERS];
  /**
   * The number of outputs that are captured.
   */
  uint32_t outputCount;
  /**
   * The number of vertex streams: 1, or more with a geometry shader.
   */
  uint32_t streamCount;
  /**
   * The first byte of push constants that the shaders read, rounded down to a multiple of 16.
   */
  uint32_t pushConstantOffset;
  /**
   * The number of bytes of push constants that the shaders read from there on, rounded up to a
   * multiple of 16.
   */
  uint32_t pushConstantSize;
} VkxfbPipelineProperties;

/**
 * A range of a buffer.
 *
 * A range that ends past the end of its buffer is an error, and so is a counter or a draw command
 * there. The end is compared with the size of the buffer's memory
 * (`vkGetBufferMemoryRequirements`), which can be a little larger than the buffer.
 */
typedef struct {
  /**
   * The buffer, with the usage that `vkxfb_context_buffer_usage` returns.
   */
  VkBuffer buffer;
  /**
   * Offset in bytes from the start of the buffer.
   */
  VkDeviceSize offset;
  /**
   * Size in bytes. It must not be `VK_WHOLE_SIZE`.
   */
  VkDeviceSize size;
} VkxfbBufferRange;

/**
 * The place of a counter: four bytes that say how many bytes of a capture buffer's range have been
 * written.
 */
typedef struct {
  /**
   * The buffer, with the usage that `vkxfb_context_buffer_usage` returns, or `VK_NULL_HANDLE`
   * for no counter.
   */
  VkBuffer buffer;
  /**
   * Offset in bytes from the start of the buffer, a multiple of 4.
   */
  VkDeviceSize offset;
} VkxfbCounterBuffer;

/**
 * The parameters of the beginning of a capture.
 */
typedef struct {
  /**
   * The `sizeof` of the structure, as `VKXFB_INIT` sets it.
   */
  size_t structSize;
  /**
   * The pipeline of the first draws.
   */
  const VkxfbPipeline *pipeline;
  /**
   * Number of elements of `pBuffers`.
   */
  uint32_t bufferCount;
  /**
   * Capture buffers: the index is the number in the shader's `XfbBuffer` decoration, or how many
   * times `gl_NextBuffer` stands before the output in `ppVaryings`. Offsets are multiples of 4. If
   * a buffer is `VK_NULL_HANDLE`, its outputs are not captured.
   *
   * A range gets one record for each vertex of each point, line or triangle that is drawn, or
   * that the geometry shader emits, so a strip of N vertices has up to 3 * (N - 2) records.
   * Primitives that do not fit into the ranges of all buffers of their vertex stream are not
   * written. This is not an error.
   */
  const VkxfbBufferRange *pBuffers;
  /**
   * Number of elements of `pVertexBuffers`.
   */
  uint32_t vertexBufferCount;
  /**
   * Vertex buffers: the index is the number of the binding. Each binding that the pipeline reads needs an
   * element. If its buffer is `VK_NULL_HANDLE`, its attributes are zero until another one is bound.
   */
  const VkxfbBufferRange *pVertexBuffers;
  /**
   * Number of elements of `pCounterBuffers`, at most `VKXFB_MAX_BUFFERS`.
   */
  uint32_t counterBufferCount;
  /**
   * Counters: the index is the number of the capture buffer. A counter says where writing to its
   * buffer starts. Writing to a buffer without a counter starts at the start of its range. Several
   * buffers may have the same counter here, though not at the end of a capture.
   */
  const VkxfbCounterBuffer *pCounterBuffers;
} VkxfbCaptureBeginInfo;

/**
 * The results of a capture, as far as the CPU knows them, and how many commands were recorded for
 * it.
 */
typedef struct {
  /**
   * The `sizeof` of the structure, as `VKXFB_INIT` sets it.
   */
  size_t structSize;
  /**
   * Whether the numbers of primitives and the positions are known. They are known if the capture
   * began without counters, and has no indirect draws, no draws by byte count, no conditional
   * rendering, no primitive restart, and no geometry shader that emits to several vertex streams
   * or not always the same number of vertices. Otherwise they are 0, and only counters and
   * queries return the values.
   */
  VkBool32 isKnown;
  /**
   * Number of primitives that are written.
   */
  uint64_t primitivesWritten;
  /**
   * Number of primitives that would be written if the buffers were large enough.
   */
  uint64_t primitivesNeeded;
  /**
   * Number of bytes that are written, from the start of the range of each capture buffer.
   */
  uint64_t positions[VKXFB_MAX_BUFFERS];
  /**
   * Number of dispatches that were recorded.
   */
  uint32_t dispatchCount;
  /**
   * Number of pipeline barriers that were recorded.
   */
  uint32_t barrierCount;
} VkxfbCaptured;

/**
 * Draws whose arguments the GPU reads from a buffer, as for `vkCmdDrawIndirect` and
 * `vkCmdDrawIndirectCount`.
 */
typedef struct {
  /**
   * The `sizeof` of the structure, as `VKXFB_INIT` sets it.
   */
  size_t structSize;
  /**
   * The buffer with the arguments, with the usage that `vkxfb_context_buffer_usage` returns.
   */
  VkBuffer buffer;
  /**
   * Offset in bytes of the arguments of the first draw, a multiple of 4.
   */
  VkDeviceSize offset;
  /**
   * Number of draws, or the maximum number if there is a `countBuffer`. The buffer contains the
   * arguments of that many draws.
   */
  uint32_t drawCount;
  /**
   * Bytes from the arguments of one draw to those of the next, a multiple of 4.
   */
  uint32_t stride;
  /**
   * A buffer with the number of draws, or `VK_NULL_HANDLE`.
   */
  VkBuffer countBuffer;
  /**
   * Offset in bytes of the number in `countBuffer`, a multiple of 4.
   */
  VkDeviceSize countBufferOffset;
} VkxfbIndirectDraw;

/**
 * A draw of the vertices that a capture wrote, with the arguments of
 * `vkCmdDrawIndirectByteCountEXT`. It has `(counter - counterOffset) / vertexStride` vertices,
 * from vertex 0 on.
 */
typedef struct {
  /**
   * Number of instances.
   */
  uint32_t instanceCount;
  /**
   * The first value of `gl_InstanceIndex`.
   */
  uint32_t firstInstance;
  /**
   * The counter that `vkxfb_capture_end` wrote.
   */
  VkxfbCounterBuffer counterBuffer;
  /**
   * Bytes that are subtracted from the counter, a multiple of 4.
   */
  uint32_t counterOffset;
  /**
   * The size of a vertex in bytes, a multiple of 4 and not 0. It is the size of a record of the
   * capture buffer if the captured vertices are drawn unchanged.
   */
  uint32_t vertexStride;
} VkxfbByteCountDraw;

/**
 * Returns the version of the library that is linked, packed as by `VK_MAKE_API_VERSION` with
 * variant 0. `VKXFB_VERSION_MAJOR`, `VKXFB_VERSION_MINOR` and `VKXFB_VERSION_PATCH` are the
 * version of the header.
 */
uint32_t vkxfb_version(void);

/**
 * Returns the message of the last function of the library that failed in this thread: one line of
 * UTF-8, without a line break at its end, or "" if none has failed yet. A function that succeeds
 * does not change the message.
 *
 * The library owns the string. It is valid until the next function fails in this thread, or the
 * thread ends. Call this in a statement after the function that failed: as another argument of the
 * same call it may be evaluated before that function.
 */
const char *vkxfb_last_error(void);

/**
 * Finds out whether a physical device can capture by compute, and which extensions and features
 * its device needs.
 *
 * Returns `VKXFB_ERROR_UNAVAILABLE` if it cannot capture. Then `vkxfb_last_error` lists all
 * reasons.
 *
 * Valid usage:
 * `pInfo` points to a valid structure, and `pRequiredFeatures` to memory for a pointer. The
 * instance outlives the required features and all contexts made with them.
 */
VkxfbResult vkxfb_required_features_create(const VkxfbPhysicalDeviceInfo *pInfo,
                                           VkxfbRequiredFeatures **pRequiredFeatures);

/**
 * Adds the required extensions and features to a `VkDeviceCreateInfo`, which the application then
 * passes to `vkCreateDevice`.
 *
 * Extensions: `ppEnabledExtensionNames` is replaced by a longer array. Features: if the `pNext`
 * chain contains a structure for a feature, this function sets the feature there, so it writes to
 * structures of the application: `VkPhysicalDeviceFeatures2`, `VkPhysicalDeviceVulkan12Features`,
 * `VkPhysicalDeviceBufferDeviceAddressFeatures`, `VkPhysicalDevice8BitStorageFeatures`,
 * `VkPhysicalDeviceShaderFloat16Int8Features` and, if it enables `vulkanMemoryModel`,
 * `VkPhysicalDeviceVulkanMemoryModelFeatures`. Otherwise a structure is inserted at the
 * start of the chain, or `pEnabledFeatures` is replaced by a copy in which more features are
 * enabled.
 *
 * The memory that `pCreateInfo` points to afterwards is valid until the next call with
 * `requiredFeatures`, or until that is destroyed.
 *
 * Valid usage:
 * `requiredFeatures` is live and not used by another thread. `pCreateInfo` points to a valid
 * structure with a valid chain, whose structures may be written to.
 */
VkxfbResult vkxfb_required_features_add_to(VkxfbRequiredFeatures *requiredFeatures,
                                           VkDeviceCreateInfo *pCreateInfo);

/**
 * Destroys required features. Contexts that were made with them stay valid. NULL is ignored.
 *
 * Valid usage:
 * `requiredFeatures` is live or NULL, and is not used any more.
 */
void vkxfb_required_features_destroy(VkxfbRequiredFeatures *requiredFeatures);

/**
 * Creates a context for a device that was created with `requiredFeatures`. This submits nothing.
 *
 * The library cannot query what a device was created with. If it was created without what
 * `vkxfb_required_features_add_to` added, this succeeds nevertheless, and captures may work or
 * not. The validation layer then reports `VUID-vkGetBufferDeviceAddress-bufferDeviceAddress-03324`
 * or `VUID-VkShaderModuleCreateInfo-pCode-01091`.
 *
 * If `pipelineCache` is a pipeline cache, the internal pipelines that prepare captures are
 * compiled with it immediately. If it is `VK_NULL_HANDLE`, each of them is compiled when a capture
 * that needs it is first recorded.
 *
 * Valid usage:
 * `requiredFeatures` is live. `device` was created on its physical device with what
 * `vkxfb_required_features_add_to` added, and outlives the context, its pipelines, its captures and
 * its query pools. `pipelineCache` is `VK_NULL_HANDLE` or a pipeline cache of the device that nothing
 * else uses meanwhile. `pContext` points to memory for a pointer.
 */
VkxfbResult vkxfb_context_create(const VkxfbRequiredFeatures *requiredFeatures,
                                 VkDevice device,
                                 VkPipelineCache pipelineCache,
                                 VkxfbContext **pContext);

/**
 * Creates a context for an existing device, which for example an engine or another library
 * created. This submits nothing.
 *
 * `pCreateInfo` says what the device was created with: its extensions in
 * `ppEnabledExtensionNames`, and its features in `pEnabledFeatures` or in the chain. Queues are
 * not read. The structure need not be the one that the device was created with, and may leave out
 * extensions and features that captures do not need. Returns `VKXFB_ERROR_UNAVAILABLE` if captures
 * need something that the structure does not contain; `vkxfb_last_error` names it.
 *
 * Captures need `bufferDeviceAddress` (below Vulkan 1.2 with `VK_KHR_buffer_device_address`).
 * Without it they use descriptors, and need `shaderStorageBufferArrayDynamicIndexing` (below
 * Vulkan 1.1 with `VK_KHR_storage_buffer_storage_class`). A device with `vulkanMemoryModel` also
 * needs `vulkanMemoryModelDeviceScope`, so `vulkanMemoryModel` must not be left out. Captures also make use of:
 * - `storageBuffer8BitAccess` and `shaderInt8` (below Vulkan 1.2 with `VK_KHR_8bit_storage` and
 *   `VK_KHR_shader_float16_int8`): index buffers of any size, not only of multiples of 4 bytes;
 * - `shaderInt64`: faster captures on llvmpipe.
 *
 * The library cannot query what a device was created with, so it does not notice if `pCreateInfo`
 * has what the device lacks. Captures may then work or not, and the validation layer reports the
 * errors that `vkxfb_context_create` names. If you do not know whether a feature was enabled,
 * leave it out. For `vulkanMemoryModel` that is no answer: the validation layer reports
 * `VUID-RuntimeSpirv-vulkanMemoryModel-06265` if it was enabled without `vulkanMemoryModelDeviceScope`.
 *
 * The argument `pipelineCache` is that of `vkxfb_context_create`.
 *
 * Valid usage:
 * `pInfo` and `pCreateInfo` point to valid structures; the device was created on the physical device, with
 * everything in `pCreateInfo`. The instance and the device outlive the context, its pipelines, its captures
 * and its query pools. `pipelineCache` is `VK_NULL_HANDLE` or a pipeline cache of the device that nothing
 * else uses meanwhile. `pContext` points to memory for a pointer.
 */
VkxfbResult vkxfb_context_create_for_device(const VkxfbPhysicalDeviceInfo *pInfo,
                                            VkDevice device,
                                            const VkDeviceCreateInfo *pCreateInfo,
                                            VkPipelineCache pipelineCache,
                                            VkxfbContext **pContext);

/**
 * Destroys a context. NULL is ignored.
 *
 * Valid usage:
 * `context` is live or NULL, and is not used any more. The device has executed everything that was
 * recorded with it.
 */
void vkxfb_context_destroy(VkxfbContext *context);

/**
 * Returns the usage that all buffers that captures read and write must have, in addition to the
 * usage that the application needs: vertex buffers, index buffers, buffers of draw arguments,
 * counter buffers and capture buffers.
 *
 * This is `VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT` or `VK_BUFFER_USAGE_STORAGE_BUFFER_BIT`. With
 * the former the memory must be allocated with `VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT`.
 * The size of a vertex buffer must be a multiple of 4 bytes, and so must that of an index buffer if
 * the device lacks `storageBuffer8BitAccess` or `shaderInt8`. Returns 0 if `context` is NULL.
 *
 * Valid usage:
 * `context` is live or NULL.
 */
VkBufferUsageFlags vkxfb_context_buffer_usage(const VkxfbContext *context);

/**
 * Returns the properties of a context.
 *
 * Valid usage:
 * `context` is live, and `pProperties` points to a valid structure.
 */
VkxfbResult vkxfb_context_get_properties(const VkxfbContext *context,
                                         VkxfbContextProperties *pProperties);

/**
 * Compiles all internal pipelines that prepare captures and that are not compiled yet, so that no
 * recording waits for a compiler. Any thread may call this while others record.
 *
 * Valid usage:
 * `context` is live. `pipelineCache` is `VK_NULL_HANDLE` or a pipeline cache of the device that nothing
 * else uses meanwhile.
 */
VkxfbResult vkxfb_context_prepare(const VkxfbContext *context,
                                  VkPipelineCache pipelineCache);

/**
 * Records a barrier after all captures that were recorded before, for commands that read what the
 * captures wrote: one `vkCmdPipelineBarrier` with one global memory barrier, which changes no
 * state of the command buffer.
 *
 * `dstStageMask` and `dstAccessMask` are the stages and accesses that read, for example
 * `VK_PIPELINE_STAGE_VERTEX_INPUT_BIT` and `VK_ACCESS_VERTEX_ATTRIBUTE_READ_BIT`.
 *
 * Valid usage:
 * `context` is live. `commandBuffer` is a command buffer of its device that is being recorded, for
 * a queue with compute and these stages, outside of a render pass instance.
 */
VkxfbResult vkxfb_context_record_barrier(const VkxfbContext *context,
                                         VkCommandBuffer commandBuffer,
                                         VkPipelineStageFlags dstStageMask,
                                         VkAccessFlags dstAccessMask);

/**
 * Creates a pipeline. After that, the memory that `pCreateInfo` points to is no longer needed, but
 * the set layouts are.
 *
 * Valid usage:
 * `context` is live. `pCreateInfo` points to a valid structure, whose SPIR-V is valid and whose
 * handles belong to the device. The set layouts outlive the pipeline. `pPipeline` points to memory
 * for a pointer.
 */
VkxfbResult vkxfb_pipeline_create(const VkxfbContext *context,
                                  const VkxfbPipelineCreateInfo *pCreateInfo,
                                  VkxfbPipeline **pPipeline);

/**
 * Compiles the Vulkan pipelines for these draws that are not compiled yet, so that no
 * recording waits for a compiler. Any thread may call this while others record. A pipeline that is
 * compiled during a recording does not use a pipeline cache.
 *
 * Valid usage:
 * `pipeline` is live, and `pDraws` points to `drawCount` structures. `pipelineCache` is `VK_NULL_HANDLE` or a
 * pipeline cache of the device that nothing else uses meanwhile.
 */
VkxfbResult vkxfb_pipeline_prepare(const VkxfbPipeline *pipeline,
                                   uint32_t drawCount,
                                   const VkxfbExpectedDraws *pDraws,
                                   VkPipelineCache pipelineCache);

/**
 * Returns the properties of a pipeline.
 *
 * Valid usage:
 * `pipeline` is live, and `pProperties` points to a valid structure.
 */
VkxfbResult vkxfb_pipeline_get_properties(const VkxfbPipeline *pipeline,
                                          VkxfbPipelineProperties *pProperties);

/**
 * Returns the position of a captured output in a record, as the vertex attribute with which
 * another pipeline can read it: `binding` is the number of the capture buffer, `offset` counts
 * from the start of the record, and `format` is the format of the output's components. `location`
 * is that of the output, or `UINT32_MAX` for a built-in output. Outputs are numbered by capture
 * buffer, then by offset. Each column of a matrix and each element of an array is a separate
 * output.
 *
 * `ppName` may be NULL. Otherwise the name of the output is written to it, or "" if the SPIR-V has
 * no names. The string is valid until the pipeline is destroyed.
 *
 * Valid usage:
 * `pipeline` is live, and `pAttribute` points to memory for a structure. `ppName` is NULL or
 * points to memory for a pointer.
 */
VkxfbResult vkxfb_pipeline_get_output(const VkxfbPipeline *pipeline,
                                      uint32_t output,
                                      VkVertexInputAttributeDescription *pAttribute,
                                      const char **ppName);

/**
 * Destroys a pipeline. NULL is ignored.
 *
 * Valid usage:
 * `pipeline` is live or NULL, and is not used any more. Every capture that was begun with it, or that it was
 * bound in, was begun again, ended by `vkxfb_capture_end` or destroyed. Every command buffer that such a capture
 * was recorded or played into was reset or freed, or was executed and will not be again.
 */
void vkxfb_pipeline_destroy(VkxfbPipeline *pipeline);

/**
 * Creates a capture.
 *
 * Valid usage:
 * `context` is live, and `pCapture` points to memory for a pointer.
 */
VkxfbResult vkxfb_capture_create(const VkxfbContext *context, VkxfbCapture **pCapture);

/**
 * Destroys a capture. NULL is ignored.
 *
 * Valid usage:
 * `capture` is live or NULL, and is not used any more. Command buffers into which it was recorded or
 * played are not executed any more.
 */
void vkxfb_capture_destroy(VkxfbCapture *capture);

/**
 * Makes the memory of everything that was recorded available again. Without this, each capture
 * needs more memory. A capture that `vkxfb_capture_finish` has ended is kept, and can be played
 * again.
 *
 * Valid usage:
 * `capture` is live. Command buffers into which it was recorded were reset or freed, and are not
 * being executed.
 */
VkxfbResult vkxfb_capture_reset(VkxfbCapture *capture);

/**
 * Begins a capture. Its commands are collected, and `vkxfb_capture_end` records them. If the
 * capture was begun before and has not ended, the draws of that time are dropped.
 *
 * If this or a later command fails, all commands up to `vkxfb_capture_end` fail, too, with the same result
 * and with a message that names the command: it is enough to check the result of `vkxfb_capture_end`.
 *
 * Valid usage:
 * `capture` is live and `pBeginInfo` points to a valid structure, whose pipeline was made with the
 * context of the capture. All handles belong to the context's device. They and the pipeline are live until
 * the capture is begun again, ended by `vkxfb_capture_end` or destroyed, and every command buffer that it was
 * recorded or played into is reset or freed. The buffers have the usage that
 * `vkxfb_context_buffer_usage` returns, and contain the ranges. The ranges of capture buffers
 * overlap neither each other nor memory that the draws read.
 */
VkxfbResult vkxfb_capture_begin(VkxfbCapture *capture,
                                const VkxfbCaptureBeginInfo *pBeginInfo);

/**
 * Begins to count draws that are not captured, for queries of `VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT`: the
 * draws outside of `vkCmdBeginTransformFeedbackEXT` and `vkCmdEndTransformFeedbackEXT`. There is no pipeline,
 * and pipelines, vertex buffers and descriptor sets that are bound have no effect. The topology of each
 * draw decides how its primitives are counted.
 *
 * Valid usage:
 * `capture` is live. The other requirements are those of `vkxfb_capture_begin`.
 */
VkxfbResult vkxfb_capture_begin_queries_only(VkxfbCapture *capture);

/**
 * Ends a capture, and records it into a command buffer.
 *
 * `pCounterBuffers` says where the counters are written; the index is the number of the capture
 * buffer. Each counter has four bytes of its own. `pCaptured` may be NULL.
 *
 * A capture that begins with these counters goes on where this one has ended. It is ordered after this one,
 * so there need not be a barrier between them.
 *
 * This overwrites state of the command buffer: the compute pipeline, the push constants of the
 * compute stage, and the descriptor sets of the compute bind point. Commands that read the
 * captured bytes need `vkxfb_context_record_barrier` before them.
 *
 * If a command since the beginning failed, nothing is recorded, and the result of that command is
 * returned. In any case the capture can be begun again.
 *
 * Valid usage:
 * `capture` is live. `commandBuffer` is a command buffer of its device that is being recorded, for
 * a queue with compute, outside of a render pass instance and of conditional rendering. Memory
 * that the draws read is visible to `VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT` and
 * `VK_ACCESS_SHADER_READ_BIT`, as is all that the host wrote before `vkQueueSubmit`, and earlier
 * accesses to the capture buffers and counters are ordered before the writes of this capture.
 */
VkxfbResult vkxfb_capture_end(VkxfbCapture *capture,
                              VkCommandBuffer commandBuffer,
                              uint32_t counterBufferCount,
                              const VkxfbCounterBuffer *pCounterBuffers,
                              VkxfbCaptured *pCaptured);

/**
 * Ends a capture as `vkxfb_capture_end` does, without recording it. `vkxfb_capture_play` records
 * it each time it is called, until the capture is begun again. Until then all other commands of
 * the capture fail, and change nothing.
 *
 * Valid usage:
 * The requirements are those of `vkxfb_capture_end`, for the command buffers that the capture is
 * played into. Its pipelines, buffers, descriptor sets and query pools, and the counters that are
 * passed here, are live until the capture is begun again or destroyed, and every command buffer
 * that it was played into is reset or freed.
 */
VkxfbResult vkxfb_capture_finish(VkxfbCapture *capture,
                                 uint32_t counterBufferCount,
                                 const VkxfbCounterBuffer *pCounterBuffers);

/**
 * Records a capture that `vkxfb_capture_finish` has ended into a command buffer. It starts from
 * the same state each time. Counters are read, and queries are added to, each time that the
 * commands are executed.
 *
 * `order` may be NULL. Then barriers order the kernels of this capture after those of earlier
 * captures, and the application records a barrier with the stage
 * `VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT` between captures to the same bytes. With an order, the
 * capture is ordered after all earlier captures that were played with it, whatever they access:
 * see `VkxfbCaptureOrder`. `pCaptured` may be NULL.
 *
 * If this fails, nothing is recorded, and it may be called again. There is one exception: if some
 * draws have a geometry shader and others have none, or if they emit to several vertex streams, a
 * part of the capture may be recorded.
 *
 * Valid usage:
 * The requirements are those of `vkxfb_capture_end`. `order` is live or NULL. All captures since
 * it was created or forgotten were played into this command buffer with it, and no other function
 * of the library has recorded into the command buffer since.
 */
VkxfbResult vkxfb_capture_play(VkxfbCapture *capture,
                               VkCommandBuffer commandBuffer,
                               VkxfbCaptureOrder *order,
                               VkxfbCaptured *pCaptured);

/**
 * Creates an order without any accesses: the next capture is ordered after everything before it.
 *
 * Valid usage:
 * `pOrder` points to memory for a pointer.
 */
VkxfbResult vkxfb_capture_order_create(VkxfbCaptureOrder **pOrder);

/**
 * Resets an order to the state in which it was created, for another command buffer, or because
 * commands were recorded that the order does not know.
 *
 * Valid usage:
 * `order` is live.
 */
VkxfbResult vkxfb_capture_order_reset(VkxfbCaptureOrder *order);

/**
 * Destroys an order. NULL is ignored.
 *
 * Valid usage:
 * `order` is live or NULL, and is not used any more.
 */
void vkxfb_capture_order_destroy(VkxfbCaptureOrder *order);

/**
 * Binds another pipeline for the draws that follow. Its records must have the same sizes and vertex
 * streams as those of the first pipeline.
 *
 * Valid usage:
 * `capture` and `pipeline` are live and belong to the same context. The pipeline lives until the capture is
 * begun again, ended by `vkxfb_capture_end` or destroyed, and every command buffer that it was recorded or
 * played into is reset or freed.
 */
VkxfbResult vkxfb_capture_bind_pipeline(VkxfbCapture *capture,
                                        const VkxfbPipeline *pipeline);

/**
 * Binds vertex buffers to the bindings from `firstBinding` on, for the draws that follow.
 *
 * Valid usage:
 * `capture` is live; the requirements for the buffers are those of `VkxfbCaptureBeginInfo`.
 */
VkxfbResult vkxfb_capture_bind_vertex_buffers(VkxfbCapture *capture,
                                              uint32_t firstBinding,
                                              uint32_t bufferCount,
                                              const VkxfbBufferRange *pBuffers);

/**
 * Does what `vkxfb_capture_bind_vertex_buffers` does, with other strides than those of the
 * pipeline, as `vkCmdBindVertexBuffers2` sets them. `pStrides` has as many elements as `pBuffers`,
 * each at most `UINT32_MAX`. If it is NULL, the strides are those of the pipeline.
 *
 * Valid usage:
 * The requirements are those of `vkxfb_capture_bind_vertex_buffers`.
 */
VkxfbResult vkxfb_capture_bind_vertex_buffers2(VkxfbCapture *capture,
                                               uint32_t firstBinding,
                                               uint32_t bufferCount,
                                               const VkxfbBufferRange *pBuffers,
                                               const VkDeviceSize *pStrides);

/**
 * Binds an index buffer for the draws that follow. The type is `VK_INDEX_TYPE_UINT16`,
 * `VK_INDEX_TYPE_UINT32` or `VK_INDEX_TYPE_UINT8_EXT`. The offset must be a multiple of the size
 * of an index.
 *
 * Valid usage:
 * `capture` is live, and `pBuffer` points to a valid structure; the requirements for the buffer
 * are those of `VkxfbCaptureBeginInfo`.
 */
VkxfbResult vkxfb_capture_bind_index_buffer(VkxfbCapture *capture,
                                            const VkxfbBufferRange *pBuffer,
                                            VkIndexType indexType);

/**
 * Binds descriptor sets for the draws that follow. None of them may be `VK_NULL_HANDLE`: sets around one that is not
 * bound take two calls.
 *
 * Valid usage:
 * `capture` is live. The sets are compatible with the set layouts of the pipeline. They are live and not
 * changed until the capture is begun again, ended by `vkxfb_capture_end` or destroyed, and every command
 * buffer that it was recorded or played into is reset or freed. There is one dynamic offset
 * for each dynamic descriptor, with the requirements of `vkCmdBindDescriptorSets`.
 */
VkxfbResult vkxfb_capture_bind_descriptor_sets(VkxfbCapture *capture,
                                               uint32_t firstSet,
                                               uint32_t descriptorSetCount,
                                               const VkDescriptorSet *pDescriptorSets,
                                               uint32_t dynamicOffsetCount,
                                               const uint32_t *pDynamicOffsets);

/**
 * Says that the application binds the sets `firstSet` to `firstSet + descriptorSetCount - 1`
 * itself, with `vkCmdBindDescriptorSets`, `vkCmdPushDescriptorSetKHR` or a similar command, at the
 * compute bind point and with the layout of `VkxfbPipelineProperties`. The draws that follow then
 * need no `vkxfb_capture_bind_descriptor_sets` for these sets. If captures use descriptors, some
 * draws fail nevertheless, because they need further compute shaders of the library: those with
 * counters, queries, indirect arguments, conditional rendering or primitive restart.
 *
 * Valid usage:
 * `capture` is live. The sets are bound in the command buffer when `vkxfb_capture_end` records the draws.
 */
VkxfbResult vkxfb_capture_assume_descriptor_sets(VkxfbCapture *capture,
                                                 uint32_t firstSet,
                                                 uint32_t descriptorSetCount);

/**
 * Enables or disables primitive restart for the draws that follow, as
 * `vkCmdSetPrimitiveRestartEnable` does. The pipeline must have been created with
 * `primitiveRestartEnable`. At first primitive restart is enabled.
 *
 * Valid usage:
 * `capture` is live.
 */
VkxfbResult vkxfb_capture_set_primitive_restart_enable(VkxfbCapture *capture,
                                                       VkBool32 primitiveRestartEnable);

/**
 * Sets the index that restarts primitives, instead of the largest index of the type, until another
 * index buffer is bound, as `vkCmdSetPrimitiveRestartIndexEXT` does.
 *
 * Valid usage:
 * `capture` is live.
 */
VkxfbResult vkxfb_capture_set_primitive_restart_index(VkxfbCapture *capture,
                                                      uint32_t primitiveRestartIndex);

/**
 * Sets the number of control points of a patch for the draws that follow, as `vkCmdSetPatchControlPointsEXT` does. At
 * first it is that of the pipeline, which must have tessellation shaders.
 *
 * Valid usage:
 * `capture` is live.
 */
VkxfbResult vkxfb_capture_set_patch_control_points(VkxfbCapture *capture,
                                                   uint32_t patchControlPoints);

/**
 * Sets the provoking vertex of the draws that follow, as `vkCmdSetProvokingVertexModeEXT` does. At
 * first it is the provoking vertex of the pipeline.
 *
 * Valid usage:
 * `capture` is live.
 */
VkxfbResult vkxfb_capture_set_provoking_vertex_mode(VkxfbCapture *capture,
                                                    VkProvokingVertexModeEXT provokingVertexMode);

/**
 * Begins conditional rendering, as `vkCmdBeginConditionalRenderingEXT` does: the device discards
 * the draws that follow if the dword in the buffer is 0 or, with
 * `VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT`, if it is not 0. A discarded draw captures nothing,
 * and adds to no query and no counter. The device needs neither the extension nor its feature.
 * Conditional rendering also ends when the capture ends.
 *
 * Valid usage:
 * `capture` is live. `pConditionalRenderingBegin` points to a valid structure, whose chain is ignored; the
 * requirements for the buffer are those of `VkxfbCaptureBeginInfo`.
 */
VkxfbResult vkxfb_capture_begin_conditional_rendering(VkxfbCapture *capture,
                                                      const VkConditionalRenderingBeginInfoEXT *pConditionalRenderingBegin);

/**
 * Ends conditional rendering, as `vkCmdEndConditionalRenderingEXT` does.
 *
 * Valid usage:
 * `capture` is live.
 */
VkxfbResult vkxfb_capture_end_conditional_rendering(VkxfbCapture *capture);

/**
 * Updates push constants for the draws that follow. `offset` is the offset in bytes in the
 * shader's block, as for `vkCmdPushConstants`. Push constants stay valid until the end of the
 * capture. Captures do not use the push constants that `vkCmdPushConstants` sets.
 *
 * Valid usage:
 * `capture` is live, and `pValues` points to `size` bytes.
 */
VkxfbResult vkxfb_capture_push_constants(VkxfbCapture *capture,
                                         uint32_t offset,
                                         uint32_t size,
                                         const void *pValues);

/**
 * Captures a draw without indices. `primitiveTopology` must be that of the pipeline, unless the
 * pipeline was created with `dynamicTopology`. This also holds for the other draws. If there is a
 * geometry shader, the topology must match its input primitives.
 *
 * Valid usage:
 * `capture` is live, and `pDraw` points to a valid structure.
 */
VkxfbResult vkxfb_capture_draw(VkxfbCapture *capture,
                               VkPrimitiveTopology primitiveTopology,
                               const VkDrawIndirectCommand *pDraw);

/**
 * Captures a draw with the bound index buffer.
 *
 * Valid usage:
 * `capture` is live, and `pDraw` points to a valid structure.
 */
VkxfbResult vkxfb_capture_draw_indexed(VkxfbCapture *capture,
                                       VkPrimitiveTopology primitiveTopology,
                                       const VkDrawIndexedIndirectCommand *pDraw);

/**
 * Captures several draws, in which `gl_DrawID` is 0, 1, 2 and so on, as for `vkCmdDrawMultiEXT`.
 *
 * Valid usage:
 * `capture` is live, and `pDraws` points to `drawCount` structures.
 */
VkxfbResult vkxfb_capture_draw_multi(VkxfbCapture *capture,
                                     VkPrimitiveTopology primitiveTopology,
                                     uint32_t drawCount,
                                     const VkDrawIndirectCommand *pDraws);

/**
 * Captures several draws with the bound index buffer, in which `gl_DrawID` is 0, 1, 2 and so on, as for
 * `vkCmdDrawMultiIndexedEXT`.
 *
 * Valid usage:
 * The requirements are those of `vkxfb_capture_draw_multi`.
 */
VkxfbResult vkxfb_capture_draw_multi_indexed(VkxfbCapture *capture,
                                             VkPrimitiveTopology primitiveTopology,
                                             uint32_t drawCount,
                                             const VkDrawIndexedIndirectCommand *pDraws);

/**
 * Captures draws whose arguments are in a buffer, as `VkDrawIndirectCommand` structures.
 *
 * Valid usage:
 * `capture` is live, and `pDraw` points to a valid structure; the requirements for its buffers are
 * those of `VkxfbCaptureBeginInfo`.
 */
VkxfbResult vkxfb_capture_draw_indirect(VkxfbCapture *capture,
                                        VkPrimitiveTopology primitiveTopology,
                                        const VkxfbIndirectDraw *pDraw);

/**
 * Captures draws with the bound index buffer, whose arguments are in a buffer, as
 * `VkDrawIndexedIndirectCommand` structures.
 *
 * Valid usage:
 * The requirements are those of `vkxfb_capture_draw_indirect`.
 */
VkxfbResult vkxfb_capture_draw_indexed_indirect(VkxfbCapture *capture,
                                                VkPrimitiveTopology primitiveTopology,
                                                const VkxfbIndirectDraw *pDraw);

/**
 * Captures a draw with the number of vertices that an earlier capture wrote, as for
 * `vkCmdDrawIndirectByteCountEXT`. To rasterize these vertices, see
 * `vkxfb_capture_record_draw_commands`.
 *
 * Valid usage:
 * `capture` is live, and `pDraw` points to a valid structure; the requirements for its counter are those of
 * `VkxfbCaptureBeginInfo`.
 */
VkxfbResult vkxfb_capture_draw_indirect_byte_count(VkxfbCapture *capture,
                                                   VkPrimitiveTopology primitiveTopology,
                                                   const VkxfbByteCountDraw *pDraw);

/**
 * Records a kernel (a compute shader of the library) that writes commands for `vkCmdDrawIndirect`.
 * They draw what `vkCmdDrawIndirectByteCountEXT` would draw with the elements of `pDraws`. The
 * application binds the capture buffers as vertex buffers, and records `vkCmdDrawIndirect` with
 * the same buffer, offset, draw count and stride. The topology of its pipeline is a list of the
 * primitives that were captured.
 *
 * The kernel writes a `VkDrawIndirectCommand` to `buffer` every `stride` bytes from `offset` on;
 * both are multiples of 4. The buffer must also have the usage
 * `VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT`.
 *
 * Barriers order the kernel after captures, after draws that read earlier commands and after
 * transfers, and before the stage `VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT`. For the captured vertices
 * record `vkxfb_context_record_barrier`. The kernel overwrites the same state of the command
 * buffer as `vkxfb_capture_end`.
 *
 * Only the memory of `capture` is used, until `vkxfb_capture_reset`. `capture` need not be begun.
 * If it is, the kernel is not a part of the capture. Returns `VKXFB_ERROR_UNAVAILABLE` if
 * `hasIndirectDraws` of `VkxfbContextProperties` is not true. If this fails, nothing is recorded.
 *
 * Valid usage:
 * `capture` is live. `commandBuffer` is a command buffer of its device that is being recorded, for a queue with
 * graphics and compute, outside of a render pass instance and of conditional rendering. `pDraws` points to
 * `drawCount` valid structures. Until the command buffer is reset or freed, the buffers are live; they have the
 * usage that `vkxfb_context_buffer_usage` returns, and contain the counters and the commands. Counters that
 * other commands than captures wrote are visible to `VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT` and
 * `VK_ACCESS_SHADER_READ_BIT`. `firstInstance` is 0 unless the feature `drawIndirectFirstInstance` is enabled.
 */
VkxfbResult vkxfb_capture_record_draw_commands(VkxfbCapture *capture,
                                               VkCommandBuffer commandBuffer,
                                               uint32_t drawCount,
                                               const VkxfbByteCountDraw *pDraws,
                                               VkBuffer buffer,
                                               VkDeviceSize offset,
                                               uint32_t stride);

/**
 * Records a kernel as `vkxfb_capture_record_draw_commands` does, for draws that are not known yet:
 * `vkxfb_late_draws_add` adds them. This allows recording a render pass whose draws need commands
 * that must be written before the pass.
 *
 * Also returns `VKXFB_ERROR_UNAVAILABLE` if captures use descriptors, because then all buffers
 * must be known.
 *
 * Valid usage:
 * The requirements are those of `vkxfb_capture_record_draw_commands`. `pLateDraws` points to
 * memory for a pointer.
 */
VkxfbResult vkxfb_late_draws_create(VkxfbCapture *capture,
                                    VkCommandBuffer commandBuffer,
                                    VkxfbLateDraws **pLateDraws);

/**
 * Adds a draw: the kernel writes a `VkDrawIndirectCommand` at `offset` in `buffer`. If this fails,
 * the draw is not added. Returns `VKXFB_ERROR_INVALID_ARGUMENT` if `capture` is not the one that
 * `lateDraws` was created with, or was reset since then.
 *
 * Valid usage:
 * `lateDraws` and `capture` are live. The command buffer of `lateDraws` is not being executed. The
 * other requirements are those of `vkxfb_capture_record_draw_commands`.
 */
VkxfbResult vkxfb_late_draws_add(VkxfbLateDraws *lateDraws,
                                 VkxfbCapture *capture,
                                 const VkxfbByteCountDraw *pDraw,
                                 VkBuffer buffer,
                                 VkDeviceSize offset);

/**
 * Destroys late draws. The kernel and its draws stay in the command buffer. This may be called
 * after the capture, the context and the device were destroyed. NULL is ignored.
 *
 * Valid usage:
 * `lateDraws` is live or NULL, and is not used any more.
 */
void vkxfb_late_draws_destroy(VkxfbLateDraws *lateDraws);

/**
 * Creates a pool of queries of `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT`, which count
 * primitives written and primitives needed, or of `VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT`. They
 * are in the reset state, so each can be begun once.
 *
 * Valid usage:
 * `context` is live. `pCreateInfo` points to a valid structure, whose chain and flags are ignored.
 * `pQueryPool` points to memory for a pointer.
 */
VkxfbResult vkxfb_query_pool_create(const VkxfbContext *context,
                                    const VkQueryPoolCreateInfo *pCreateInfo,
                                    VkxfbQueryPool **pQueryPool);

/**
 * Destroys a pool of queries. NULL is ignored.
 *
 * Valid usage:
 * `queryPool` is live or NULL, and is not used any more. Every capture that used it was begun again, ended by
 * `vkxfb_capture_end` or destroyed. Every command buffer that such a capture was recorded or played into, and
 * every other one with the queries, was reset or freed, or was executed and will not be again.
 */
void vkxfb_query_pool_destroy(VkxfbQueryPool *queryPool);

/**
 * Records a reset of queries, as `vkCmdResetQueryPool` does, with the barriers that it needs. A
 * query that has ended must be reset before it is begun again. The reset is executed before
 * everything that `vkxfb_capture_end` records later.
 *
 * Valid usage:
 * `queryPool` is live until the command buffer is reset or freed. `commandBuffer` is a command buffer
 * of its device that is being recorded, for a queue with compute, outside of a render pass instance.
 */
VkxfbResult vkxfb_query_pool_record_reset(const VkxfbQueryPool *queryPool,
                                          VkCommandBuffer commandBuffer,
                                          uint32_t firstQuery,
                                          uint32_t queryCount);

/**
 * Resets queries on the host, as `vkResetQueryPool` does.
 *
 * Valid usage:
 * `queryPool` is live. Nothing that uses the queries is being executed, and no other thread reads their results
 * meanwhile.
 */
VkxfbResult vkxfb_query_pool_reset(const VkxfbQueryPool *queryPool,
                                   uint32_t firstQuery,
                                   uint32_t queryCount);

/**
 * Reads results of queries, with the arguments of `vkGetQueryPoolResults`. The result of a query
 * of `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT` is the number of primitives written, followed
 * by the number of primitives needed, which would be written if the buffers were large enough.
 *
 * This needs no barrier, and may be called while the device executes. Returns `VKXFB_NOT_READY` if
 * a query has not ended: without `VK_QUERY_RESULT_PARTIAL_BIT` its values in `pData` are not
 * changed. `VK_QUERY_RESULT_WAIT_BIT` is an error, because the library does not know when the
 * device is lost: wait for a fence, or call `vkxfb_query_pool_wait`, which has a timeout.
 *
 * Valid usage:
 * `queryPool` is live, and `pData` points to `dataSize` bytes.
 */
VkxfbResult vkxfb_query_pool_get_results(const VkxfbQueryPool *queryPool,
                                         uint32_t firstQuery,
                                         uint32_t queryCount,
                                         size_t dataSize,
                                         void *pData,
                                         VkDeviceSize stride,
                                         VkQueryResultFlags flags);

/**
 * Waits until queries have ended, at most for `timeout` nanoseconds. Returns `VKXFB_NOT_READY` if
 * they have not ended by then, which also happens if the device is lost.
 *
 * Valid usage:
 * `queryPool` is live. The command buffers that end the queries were submitted.
 */
VkxfbResult vkxfb_query_pool_wait(const VkxfbQueryPool *queryPool,
                                  uint32_t firstQuery,
                                  uint32_t queryCount,
                                  uint64_t timeout);

/**
 * Records a copy of results of queries into a buffer, with the arguments of
 * `vkCmdCopyQueryPoolResults`. The results include everything that was submitted to the queue
 * before. If a query has not ended by then, its values in the buffer are not changed; with
 * `VK_QUERY_RESULT_PARTIAL_BIT` or `VK_QUERY_RESULT_WAIT_BIT` the values counted so far are
 * written.
 *
 * For barriers the copy is a transfer, like Vulkan's command: the stage
 * `VK_PIPELINE_STAGE_TRANSFER_BIT` with `VK_ACCESS_TRANSFER_WRITE_BIT`. It overwrites the same
 * state of the command buffer as `vkxfb_capture_end`.
 *
 * Only the memory of `capture` is used, until `vkxfb_capture_reset`. `capture` need not be begun.
 * If it is, the copy is not a part of the capture. If this fails, nothing is recorded.
 *
 * Valid usage:
 * `queryPool` and `capture` are live and belong to the same context. `commandBuffer` is a command buffer of its
 * device that is being recorded, for a queue with compute, outside of a render pass instance and of conditional
 * rendering. Until it is reset or freed, the pool and `dstBuffer` are live; the buffer has the usage that
 * `vkxfb_context_buffer_usage` returns, and is large enough.
 */
VkxfbResult vkxfb_query_pool_record_copy_results(const VkxfbQueryPool *queryPool,
                                                 VkxfbCapture *capture,
                                                 VkCommandBuffer commandBuffer,
                                                 uint32_t firstQuery,
                                                 uint32_t queryCount,
                                                 VkBuffer dstBuffer,
                                                 VkDeviceSize dstOffset,
                                                 VkDeviceSize stride,
                                                 VkQueryResultFlags flags);

/**
 * Begins a query for a vertex stream, as `vkCmdBeginQueryIndexedEXT` does: it counts what the
 * draws that follow emit to the stream `index`, until `vkxfb_capture_end_query_indexed`. Without a
 * geometry shader, and with one that does not use streams, everything is emitted to stream 0. A
 * stream has at most one active query of each type.
 *
 * A query begins and ends within a capture: after `vkxfb_capture_begin`, without which this function fails, and before
 * `vkxfb_capture_end`. A query that is still active at `vkxfb_capture_end` has no result yet
 * (`VKXFB_NOT_READY`). It can be continued: begin it again in a later capture, without a reset.
 *
 * Valid usage:
 * `capture` and `queryPool` are live and belong to the same context. The pool lives until the capture is begun
 * again, ended by `vkxfb_capture_end` or destroyed, and every command buffer that it was recorded or played
 * into is reset or freed.
 */
VkxfbResult vkxfb_capture_begin_query_indexed(VkxfbCapture *capture,
                                              const VkxfbQueryPool *queryPool,
                                              uint32_t query,
                                              uint32_t index);

/**
 * Ends a query before `vkxfb_capture_end`. The arguments are those with which it was begun.
 *
 * Valid usage:
 * The requirements are those of `vkxfb_capture_begin_query_indexed`.
 */
VkxfbResult vkxfb_capture_end_query_indexed(VkxfbCapture *capture,
                                            const VkxfbQueryPool *queryPool,
                                            uint32_t query,
                                            uint32_t index);

/* declarations */
#ifdef __cplusplus
}
#endif

#endif /* VKXFB_H */
