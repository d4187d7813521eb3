//! The C interface of [`vkxfb`]: captures by compute for programs in C, or in any language that can
//! call C.
//!
//! The public items here are those that `include/vkxfb.h` declares. cbindgen generates that header
//! from this package, including the comments. So these comments are written for users of C.
//! Vulkan's structures come from the Vulkan headers.
//!
//! `INTERFACE.md` says for each item of the Rust interface what corresponds to it in C, or why
//! nothing does.
//!
//! Every function that can fail returns a [`VkxfbResult`], and stores a message for its thread,
//! which [`vkxfb_last_error`] returns. No function lets a panic unwind into C.

mod active_query;
mod arguments;
mod buffers;
mod capture;
mod context;
mod device;
mod draw;
mod draw_commands;
mod error;
mod extensible;
mod pipeline;
mod query;

pub use buffers::{VKXFB_MAX_BUFFERS, VkxfbBufferRange, VkxfbCounterBuffer};
pub use capture::{
    VkxfbCapture, VkxfbCaptureBeginInfo, VkxfbCaptureOrder, VkxfbCaptured, vkxfb_capture_begin,
    vkxfb_capture_begin_queries_only, vkxfb_capture_create, vkxfb_capture_destroy,
    vkxfb_capture_end, vkxfb_capture_finish, vkxfb_capture_order_create,
    vkxfb_capture_order_destroy, vkxfb_capture_order_reset, vkxfb_capture_play,
    vkxfb_capture_reset,
};
pub use context::{
    VkxfbContext, VkxfbContextProperties, vkxfb_context_buffer_usage, vkxfb_context_create,
    vkxfb_context_create_for_device, vkxfb_context_destroy, vkxfb_context_get_properties,
    vkxfb_context_prepare, vkxfb_context_record_barrier,
};
pub use device::{
    GetInstanceProcAddr, VKXFB_DEVICE_DEBUG_NAMES, VKXFB_DEVICE_DESCRIPTORS,
    VKXFB_DEVICE_NO_INDIRECT_DISPATCH, VKXFB_DEVICE_NO_INDIRECT_DRAWS,
    VKXFB_DEVICE_NO_OPTIMIZATION, VkxfbPhysicalDeviceInfo, VkxfbRequiredFeatures,
    vkxfb_required_features_add_to, vkxfb_required_features_create,
    vkxfb_required_features_destroy,
};
pub use draw::{
    VkxfbByteCountDraw, VkxfbIndirectDraw, vkxfb_capture_assume_descriptor_sets,
    vkxfb_capture_begin_conditional_rendering, vkxfb_capture_bind_descriptor_sets,
    vkxfb_capture_bind_index_buffer, vkxfb_capture_bind_pipeline,
    vkxfb_capture_bind_vertex_buffers, vkxfb_capture_bind_vertex_buffers2, vkxfb_capture_draw,
    vkxfb_capture_draw_indexed, vkxfb_capture_draw_indexed_indirect, vkxfb_capture_draw_indirect,
    vkxfb_capture_draw_indirect_byte_count, vkxfb_capture_draw_multi,
    vkxfb_capture_draw_multi_indexed, vkxfb_capture_end_conditional_rendering,
    vkxfb_capture_push_constants, vkxfb_capture_set_patch_control_points,
    vkxfb_capture_set_primitive_restart_enable, vkxfb_capture_set_primitive_restart_index,
    vkxfb_capture_set_provoking_vertex_mode,
};
pub use draw_commands::{
    VkxfbLateDraws, vkxfb_capture_record_draw_commands, vkxfb_late_draws_add,
    vkxfb_late_draws_create, vkxfb_late_draws_destroy,
};
pub use error::{
    VKXFB_VERSION_MAJOR, VKXFB_VERSION_MINOR, VKXFB_VERSION_PATCH, VkxfbResult, vkxfb_last_error,
    vkxfb_version,
};
pub use pipeline::{
    VKXFB_DRAWS_ANY, VKXFB_DRAWS_CHECKED, VKXFB_DRAWS_COUNTED, VKXFB_DRAWS_INDEXED,
    VKXFB_DRAWS_INDIRECT, VKXFB_DRAWS_LARGE, VKXFB_DRAWS_RESTART, VKXFB_DRAWS_SEVERAL,
    VKXFB_PIPELINE_UNALIGNED_ATTRIBUTES, VkxfbExpectedDraws, VkxfbPipeline,
    VkxfbPipelineCreateInfo, VkxfbPipelineProperties, VkxfbShaderInfo, vkxfb_pipeline_create,
    vkxfb_pipeline_destroy, vkxfb_pipeline_get_output, vkxfb_pipeline_get_properties,
    vkxfb_pipeline_prepare,
};
pub use query::{
    VkxfbQueryPool, vkxfb_capture_begin_query_indexed, vkxfb_capture_end_query_indexed,
    vkxfb_query_pool_create, vkxfb_query_pool_destroy, vkxfb_query_pool_get_results,
    vkxfb_query_pool_record_copy_results, vkxfb_query_pool_record_reset, vkxfb_query_pool_reset,
    vkxfb_query_pool_wait,
};
