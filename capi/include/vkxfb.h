/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * vkxfb: transform feedback for every Vulkan device, by compute.
 *
 * A program calls, in this order:
 * 1. vkxfb_required_features_create and vkxfb_required_features_add_to, before vkCreateDevice;
 * 2. vkxfb_context_create with the device. Buffers get the usage vkxfb_context_buffer_usage, too;
 * 3. vkxfb_pipeline_create for each graphics pipeline that captures, and vkxfb_capture_create for each frame in flight;
 * 4. where vkCmdBeginTransformFeedbackEXT and its draws would stand, but outside of a render pass: vkxfb_capture_begin,
 *    the functions that bind and draw, vkxfb_capture_end, and vkxfb_context_record_barrier before the bytes are read;
 * 5. vkxfb_capture_reset with the command buffers of the frame, and what destroys at the end.
 *
 * Functions that return a VkxfbResult leave a message for their thread where they fail: vkxfb_last_error. Members and
 * arguments are not NULL, and handles not VK_NULL_HANDLE, unless it is said that they may be.
 */

#ifndef VKXFB_H
#define VKXFB_H

/* Generated from the sources by cbindgen. Do not edit. */

#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

/**
 * The most capture buffers that a shader can have.
 */
#define VKXFB_MAX_BUFFERS 4

/**
 * What a function returns. `vkxfb_last_error` says the rest.
 */
typedef enum {
  /**
   * Done.
   */
  VKXFB_SUCCESS = 0,
  /**
   * An argument that has to be there is a null pointer, has a value that it cannot have, or contradicts what it
   * is used with. Nothing was done.
   */
  VKXFB_ERROR_INVALID_ARGUMENT = -1,
  /**
   * The physical device cannot capture by compute. The message lists all reasons.
   */
  VKXFB_ERROR_UNAVAILABLE = -2,
  /**
   * The shader is invalid, captures nothing, has something that cannot be captured, or does not fit the rest of its
   * pipeline.
   */
  VKXFB_ERROR_SHADER = -3,
  /**
   * A Vulkan command failed.
   */
  VKXFB_ERROR_VULKAN = -4,
  /**
   * There is no memory for it.
   */
  VKXFB_ERROR_OUT_OF_MEMORY = -5,
  /**
   * A defect of the library, which is not to be trusted with the objects that were passed any further: destroy
   * them.
   */
  VKXFB_ERROR_INTERNAL = -6,
} VkxfbResult;

/**
 * A capture, and the memory that it takes from the library: what stands between `vkCmdBeginTransformFeedbackEXT` and
 * `vkCmdEndTransformFeedbackEXT`.
 *
 * It is begun and ended as often as there are captures. The memory that each takes is taken until
 * `vkxfb_capture_reset`: an application with frames in flight has one for each of them, and resets it where it resets
 * the command buffers. A capture is used by one thread at a time.
 */
typedef struct VkxfbCapture VkxfbCapture;

/**
 * A device that captures: its commands, the pipelines that prepare captures, and an allocator of device memory.
 *
 * It may be used by several threads at once. Pipelines and captures keep what they need of it: the order in which
 * all of them are destroyed does not matter, as long as the device outlives them.
 */
typedef struct VkxfbContext VkxfbContext;

/**
 * A pipeline that captures.
 *
 * It may be used by several threads at once.
 */
typedef struct VkxfbPipeline VkxfbPipeline;

/**
 * What a device has to be created with to capture by compute: extensions and features.
 */
typedef struct VkxfbRequiredFeatures VkxfbRequiredFeatures;

/**
 * A physical device, and how the library gets at its commands.
 */
typedef struct {
  /**
   * `vkGetInstanceProcAddr`, linked with the program or loaded at run time.
   */
  PFN_vkGetInstanceProcAddr getInstanceProcAddr;
  /**
   * The instance. Below Vulkan 1.1 it has `VK_KHR_get_physical_device_properties2` enabled.
   */
  VkInstance instance;
  /**
   * `VkApplicationInfo::apiVersion` that the instance was created with; 0 is Vulkan 1.0.
   */
  uint32_t apiVersion;
  /**
   * The physical device.
   */
  VkPhysicalDevice physicalDevice;
} VkxfbPhysicalDeviceInfo;

/**
 * What a pipeline is made of: those parts of a graphics pipeline that decide what is captured.
 */
typedef struct {
  /**
   * Bytes of `pCode`, a multiple of 4.
   */
  size_t codeSize;
  /**
   * SPIR-V: a vertex shader with transform feedback decorations under the execution mode `Xfb`.
   */
  const uint32_t *pCode;
  /**
   * Name of the entry point. NULL: the only one for vertices.
   */
  const char *pName;
  /**
   * Values of specialization constants. NULL: none.
   */
  const VkSpecializationInfo *pSpecializationInfo;
  /**
   * The vertex input state, with `VkPipelineVertexInputDivisorStateCreateInfoKHR` in its chain if any. NULL: the
   * shader reads no attributes.
   */
  const VkPipelineVertexInputStateCreateInfo *pVertexInputState;
  /**
   * Topology and primitive restart.
   */
  const VkPipelineInputAssemblyStateCreateInfo *pInputAssemblyState;
  /**
   * Whether draws may have other topologies than `pInputAssemblyState` says. A pipeline for one is faster.
   */
  VkBool32 dynamicTopology;
  /**
   * Which vertex of a primitive is the provoking one: it decides in which order the vertices of strips and fans are
   * captured. 0 is `VK_PROVOKING_VERTEX_MODE_FIRST_VERTEX_EXT`.
   */
  VkProvokingVertexModeEXT provokingVertexMode;
  /**
   * Number of `pSetLayouts`.
   */
  uint32_t setLayoutCount;
  /**
   * Descriptor set layouts of the application's pipeline layout. Each binding that the shader uses has
   * `VK_SHADER_STAGE_COMPUTE_BIT` among its stages.
   */
  const VkDescriptorSetLayout *pSetLayouts;
  /**
   * A pipeline cache, or `VK_NULL_HANDLE`.
   */
  VkPipelineCache pipelineCache;
} VkxfbPipelineCreateInfo;

/**
 * A range of a buffer.
 */
typedef struct {
  /**
   * The buffer, with the usage that `vkxfb_context_buffer_usage` names.
   */
  VkBuffer buffer;
  /**
   * Bytes from its start.
   */
  VkDeviceSize offset;
  /**
   * Bytes. Not `VK_WHOLE_SIZE`.
   */
  VkDeviceSize size;
} VkxfbBufferRange;

/**
 * Where four bytes hold a counter: how many bytes of a capture buffer's range are written.
 */
typedef struct {
  /**
   * The buffer, with the usage that `vkxfb_context_buffer_usage` names, or `VK_NULL_HANDLE`: no counter.
   */
  VkBuffer buffer;
  /**
   * Bytes from its start, a multiple of 4.
   */
  VkDeviceSize offset;
} VkxfbCounterBuffer;

/**
 * What a capture begins with.
 */
typedef struct {
  /**
   * The pipeline of the first draws.
   */
  const VkxfbPipeline *pipeline;
  /**
   * Number of `pBuffers`.
   */
  uint32_t bufferCount;
  /**
   * Capture buffers, by the number that the shader's decoration `XfbBuffer` has. Offsets are multiples of 4. Where a
   * buffer is `VK_NULL_HANDLE` its outputs are not captured.
   */
  const VkxfbBufferRange *pBuffers;
  /**
   * Number of `pVertexBuffers`.
   */
  uint32_t vertexBufferCount;
  /**
   * Vertex buffers, by the number of their binding. Where a buffer is `VK_NULL_HANDLE` its attributes are zero.
   */
  const VkxfbBufferRange *pVertexBuffers;
  /**
   * Number of `pCounterBuffers`, at most as many as capture buffers.
   */
  uint32_t counterBufferCount;
  /**
   * Counters, by the number of the capture buffer, which is written from where its counter says. A buffer without a
   * counter is written from the start of its range.
   */
  const VkxfbCounterBuffer *pCounterBuffers;
} VkxfbCaptureBeginInfo;

/**
 * What a capture writes, where the CPU knows it.
 */
typedef struct {
  /**
   * Whether the rest is known: the capture began with no counter, and has neither indirect draws nor primitive
   * restart. Otherwise the rest is 0, and only the GPU knows.
   */
  VkBool32 isKnown;
  /**
   * Primitives that are written.
   */
  uint64_t primitivesWritten;
  /**
   * Primitives that would be written if the buffers were large enough.
   */
  uint64_t primitivesNeeded;
  /**
   * Bytes from the start of the range of each capture buffer that are written.
   */
  uint64_t positions[VKXFB_MAX_BUFFERS];
} VkxfbCaptured;

/**
 * Draws whose arguments the GPU reads from a buffer, as `vkCmdDrawIndirect` and `vkCmdDrawIndirectCount` have them.
 */
typedef struct {
  /**
   * The buffer of the arguments, with the usage that `vkxfb_context_buffer_usage` names.
   */
  VkBuffer buffer;
  /**
   * Bytes from its start to the first arguments, a multiple of 4.
   */
  VkDeviceSize offset;
  /**
   * Draws, or the most draws where there is a `countBuffer`. The buffer holds the arguments of all of them.
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
   * Bytes from its start, a multiple of 4.
   */
  VkDeviceSize countBufferOffset;
} VkxfbIndirectDraw;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library, packed as by `VK_MAKE_API_VERSION` with the variant 0.
 */
uint32_t vkxfb_version(void);

/**
 * What the last function of the library that failed in this thread says of it: one line of UTF-8, without a line
 * break at its end, or "" where none has failed yet. A function that succeeds leaves it as it is.
 *
 * The string is the library's. It is valid until the next function fails in this thread, or the thread ends.
 */
const char *vkxfb_last_error(void);

/**
 * Finds out whether a physical device can capture by compute, and what its device is to be created with.
 *
 * `VKXFB_ERROR_UNAVAILABLE`: it cannot. `vkxfb_last_error` lists all reasons.
 *
 * # Safety
 * `pInfo` points to a valid structure, and `pRequiredFeatures` to where a pointer can be stored. The instance outlives
 * what is returned, and all contexts made with it.
 */
VkxfbResult vkxfb_required_features_create(const VkxfbPhysicalDeviceInfo *pInfo,
                                           VkxfbRequiredFeatures **pRequiredFeatures);

/**
 * Adds what is required to what a device is about to be created with. Then `vkCreateDevice` takes `pCreateInfo`.
 *
 * Extensions: `ppEnabledExtensionNames` becomes a longer array. Features: those that the application enables in a
 * structure of its own are set there, so that the structures of the `pNext` chain are written to:
 * `VkPhysicalDeviceFeatures2`, `VkPhysicalDeviceVulkan12Features` and `VkPhysicalDeviceBufferDeviceAddressFeatures`.
 * Where the chain has no structure for a feature, one is put in front of it, or `pEnabledFeatures` points to another
 * structure, a copy with more features enabled.
 *
 * What `pCreateInfo` then points to is valid until the next call for `requiredFeatures`, or until that is destroyed.
 *
 * # Safety
 * `requiredFeatures` is live and used by no other thread; `pCreateInfo` points to a valid structure with a valid chain,
 * whose structures may be written to.
 */
VkxfbResult vkxfb_required_features_add_to(VkxfbRequiredFeatures *requiredFeatures,
                                           VkDeviceCreateInfo *pCreateInfo);

/**
 * Destroys required features. Contexts that were made with them stay valid. NULL is ignored.
 *
 * # Safety
 * `requiredFeatures` is live or NULL, and not used any more.
 */
void vkxfb_required_features_destroy(VkxfbRequiredFeatures *requiredFeatures);

/**
 * Makes a context for a device that was created with `requiredFeatures`. It compiles the pipelines that prepare
 * captures, and submits nothing.
 *
 * # Safety
 * `requiredFeatures` is live; `device` was created on its physical device with what
 * `vkxfb_required_features_add_to` added, and outlives the context, its pipelines and its captures. `pipelineCache` is
 * a pipeline cache of the device that is not used meanwhile, or `VK_NULL_HANDLE`. `pContext` points to where a pointer
 * can be stored.
 */
VkxfbResult vkxfb_context_create(const VkxfbRequiredFeatures *requiredFeatures,
                                 VkDevice device,
                                 VkPipelineCache pipelineCache,
                                 VkxfbContext **pContext);

/**
 * Destroys a context. NULL is ignored.
 *
 * # Safety
 * `context` is live or NULL, and not used any more. The device has executed what was recorded with it.
 */
void vkxfb_context_destroy(VkxfbContext *context);

/**
 * The usage that the device needs of all buffers that captures read and write, beside what the application uses them
 * for: vertices, indices, draw arguments, counters, and what is captured to.
 *
 * It is either `VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT`, for which memory is allocated with
 * `VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT`, or `VK_BUFFER_USAGE_STORAGE_BUFFER_BIT`. The size of a vertex or index
 * buffer is a multiple of 4 bytes. 0 where `context` is NULL.
 *
 * # Safety
 * `context` is live or NULL.
 */
VkBufferUsageFlags vkxfb_context_buffer_usage(const VkxfbContext *context);

/**
 * Records the barrier between all captures that were recorded before and whoever reads what they wrote: one
 * `vkCmdPipelineBarrier` with one global memory barrier, which disturbs no state.
 *
 * `dstStageMask` and `dstAccessMask` say who reads, for example `VK_PIPELINE_STAGE_VERTEX_INPUT_BIT` and
 * `VK_ACCESS_VERTEX_ATTRIBUTE_READ_BIT`.
 *
 * # Safety
 * `context` is live. `commandBuffer` is a command buffer of its device that is being recorded, for a queue with compute
 * and these stages, outside of a render pass instance.
 */
VkxfbResult vkxfb_context_record_barrier(const VkxfbContext *context,
                                         VkCommandBuffer commandBuffer,
                                         VkPipelineStageFlags dstStageMask,
                                         VkAccessFlags dstAccessMask);

/**
 * Makes a pipeline. What `pCreateInfo` points to is not needed afterwards, but for the set layouts.
 *
 * # Safety
 * `context` is live; `pCreateInfo` points to a valid structure: its SPIR-V is valid, its handles are the device's. The
 * set layouts live as long as the pipeline. `pPipeline` points to where a pointer can be stored.
 */
VkxfbResult vkxfb_pipeline_create(const VkxfbContext *context,
                                  const VkxfbPipelineCreateInfo *pCreateInfo,
                                  VkxfbPipeline **pPipeline);

/**
 * Destroys a pipeline. NULL is ignored.
 *
 * # Safety
 * `pipeline` is live or NULL, and not used any more. The device has executed what was recorded with it, and captures
 * that were begun with it have ended.
 */
void vkxfb_pipeline_destroy(VkxfbPipeline *pipeline);

/**
 * Makes a capture.
 *
 * # Safety
 * `context` is live, and `pCapture` points to where a pointer can be stored.
 */
VkxfbResult vkxfb_capture_create(const VkxfbContext *context, VkxfbCapture **pCapture);

/**
 * Destroys a capture. NULL is ignored.
 *
 * # Safety
 * `capture` is live or NULL, and not used any more. Command buffers that it was recorded into are not executed any
 * more.
 */
void vkxfb_capture_destroy(VkxfbCapture *capture);

/**
 * Takes back the memory of all that was recorded. Without it memory grows with each capture.
 *
 * # Safety
 * `capture` is live. Command buffers that it was recorded into were reset or freed, and are not being executed.
 */
VkxfbResult vkxfb_capture_reset(VkxfbCapture *capture);

/**
 * Begins a capture. Nothing is recorded before `vkxfb_capture_end`.
 *
 * Where it fails, so do the commands up to `vkxfb_capture_end`, which returns this failure once more: it is enough to
 * look at that result.
 *
 * # Safety
 * `capture` is live and `pBeginInfo` points to a valid structure, whose pipeline was made with the context of the
 * capture. Until command buffers with the capture are reset or freed, all handles are live and of the context's device,
 * and the buffers have the usage that `vkxfb_context_buffer_usage` names and hold the ranges. The ranges that are
 * captured to overlap neither each other nor what the draws read.
 */
VkxfbResult vkxfb_capture_begin(VkxfbCapture *capture,
                                const VkxfbCaptureBeginInfo *pBeginInfo);

/**
 * Ends a capture, and records it into a command buffer.
 *
 * `pCounterBuffers` say where the counters go, by the number of the capture buffer. `pCaptured` may be NULL.
 *
 * Of the command buffer's state, the compute pipeline, the push constants of the compute stage and the compute bind
 * point's descriptor sets are disturbed. What reads the captured bytes waits by `vkxfb_context_record_barrier`.
 *
 * Where a command since the beginning failed, nothing is recorded, and its result is returned. Either way another
 * capture can begin.
 *
 * # Safety
 * `capture` is live. `commandBuffer` is a command buffer of its device that is being recorded, for a queue with
 * compute, outside of a render pass instance and of conditional rendering. What the draws read is visible to
 * `VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT` and `VK_ACCESS_SHADER_READ_BIT`, and earlier accesses to what is captured to
 * are ordered before its writes.
 */
VkxfbResult vkxfb_capture_end(VkxfbCapture *capture,
                              VkCommandBuffer commandBuffer,
                              uint32_t counterBufferCount,
                              const VkxfbCounterBuffer *pCounterBuffers,
                              VkxfbCaptured *pCaptured);

/**
 * Binds another pipeline for the draws that follow. It captures records of the same sizes.
 *
 * # Safety
 * `capture` and `pipeline` are live and of one context, and the pipeline lives until command buffers with the capture
 * are reset or freed.
 */
VkxfbResult vkxfb_capture_bind_pipeline(VkxfbCapture *capture,
                                        const VkxfbPipeline *pipeline);

/**
 * Binds vertex buffers to the bindings from `firstBinding` on, for the draws that follow.
 *
 * # Safety
 * `capture` is live; the buffers are as those of `VkxfbCaptureBeginInfo`.
 */
VkxfbResult vkxfb_capture_bind_vertex_buffers(VkxfbCapture *capture,
                                              uint32_t firstBinding,
                                              uint32_t bufferCount,
                                              const VkxfbBufferRange *pBuffers);

/**
 * Binds an index buffer for the draws that follow, of `VK_INDEX_TYPE_UINT16`, `VK_INDEX_TYPE_UINT32` or
 * `VK_INDEX_TYPE_UINT8_EXT`. The offset is a multiple of an index's size.
 *
 * # Safety
 * `capture` is live, and `pBuffer` points to a valid structure; the buffer is as those of `VkxfbCaptureBeginInfo`.
 */
VkxfbResult vkxfb_capture_bind_index_buffer(VkxfbCapture *capture,
                                            const VkxfbBufferRange *pBuffer,
                                            VkIndexType indexType);

/**
 * Binds descriptor sets for the draws that follow.
 *
 * # Safety
 * `capture` is live; the sets fit the set layouts of the pipeline and stay as they are until command buffers with the
 * capture are reset or freed. There is one dynamic offset for each dynamic descriptor, which is as
 * `vkCmdBindDescriptorSets` has it.
 */
VkxfbResult vkxfb_capture_bind_descriptor_sets(VkxfbCapture *capture,
                                               uint32_t firstSet,
                                               uint32_t descriptorSetCount,
                                               const VkDescriptorSet *pDescriptorSets,
                                               uint32_t dynamicOffsetCount,
                                               const uint32_t *pDynamicOffsets);

/**
 * Replaces push constants for the draws that follow. They stay from one draw to the next, not from one capture to
 * the next.
 *
 * # Safety
 * `capture` is live, and `pValues` points to `size` bytes.
 */
VkxfbResult vkxfb_capture_push_constants(VkxfbCapture *capture,
                                         uint32_t offset,
                                         uint32_t size,
                                         const void *pValues);

/**
 * Captures a draw without indices.
 *
 * # Safety
 * `capture` is live, and `pDraw` points to a valid structure.
 */
VkxfbResult vkxfb_capture_draw(VkxfbCapture *capture,
                               VkPrimitiveTopology primitiveTopology,
                               const VkDrawIndirectCommand *pDraw);

/**
 * Captures a draw with the indices that are bound.
 *
 * # Safety
 * `capture` is live, and `pDraw` points to a valid structure.
 */
VkxfbResult vkxfb_capture_draw_indexed(VkxfbCapture *capture,
                                       VkPrimitiveTopology primitiveTopology,
                                       const VkDrawIndexedIndirectCommand *pDraw);

/**
 * Captures draws whose arguments, each a `VkDrawIndirectCommand`, lie in a buffer.
 *
 * # Safety
 * `capture` is live, and `pDraw` points to a valid structure, whose buffers are as those of `VkxfbCaptureBeginInfo`.
 */
VkxfbResult vkxfb_capture_draw_indirect(VkxfbCapture *capture,
                                        VkPrimitiveTopology primitiveTopology,
                                        const VkxfbIndirectDraw *pDraw);

/**
 * Captures draws with the indices that are bound, whose arguments, each a `VkDrawIndexedIndirectCommand`, lie in a
 * buffer.
 *
 * # Safety
 * As `vkxfb_capture_draw_indirect`.
 */
VkxfbResult vkxfb_capture_draw_indexed_indirect(VkxfbCapture *capture,
                                                VkPrimitiveTopology primitiveTopology,
                                                const VkxfbIndirectDraw *pDraw);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* VKXFB_H */
