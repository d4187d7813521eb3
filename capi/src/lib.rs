//! The C interface of [`vkxfb`]: captures by compute for programs in C, or in anything that can
//! call C.
//!
//! The public items here are what `include/vkxfb.h` declares. cbindgen generates that header from
//! this package, including the comments, which are therefore written for users of C. Vulkan's
//! structures come from the Vulkan headers.
//!
//! Every function that can fail returns a [`VkxfbResult`], and stores a message for its thread,
//! which [`vkxfb_last_error`] returns. No function lets a panic unwind into C.

mod arguments;
mod capture;
mod context;
mod device;
mod draw;
mod error;
mod extensible;
mod pipeline;
mod query;

pub use capture::{
    VKXFB_MAX_BUFFERS, VkxfbBufferRange, VkxfbCapture, VkxfbCaptureBeginInfo, VkxfbCaptured,
    VkxfbCounterBuffer, vkxfb_capture_begin, vkxfb_capture_create, vkxfb_capture_destroy,
    vkxfb_capture_end, vkxfb_capture_reset,
};
pub use context::{
    VkxfbContext, vkxfb_context_buffer_usage, vkxfb_context_create, vkxfb_context_destroy,
    vkxfb_context_record_barrier,
};
pub use device::{
    GetInstanceProcAddr, VkxfbPhysicalDeviceInfo, VkxfbRequiredFeatures,
    vkxfb_required_features_add_to, vkxfb_required_features_create,
    vkxfb_required_features_destroy,
};
pub use draw::{
    VkxfbIndirectDraw, vkxfb_capture_bind_descriptor_sets, vkxfb_capture_bind_index_buffer,
    vkxfb_capture_bind_pipeline, vkxfb_capture_bind_vertex_buffers, vkxfb_capture_draw,
    vkxfb_capture_draw_indexed, vkxfb_capture_draw_indexed_indirect, vkxfb_capture_draw_indirect,
    vkxfb_capture_push_constants,
};
pub use error::{
    VKXFB_VERSION_MAJOR, VKXFB_VERSION_MINOR, VKXFB_VERSION_PATCH, VkxfbResult, vkxfb_last_error,
    vkxfb_version,
};
pub use pipeline::{
    VkxfbPipeline, VkxfbPipelineCreateInfo, VkxfbShaderInfo, vkxfb_pipeline_create,
    vkxfb_pipeline_destroy,
};
pub use query::{
    VkxfbQueryPool, vkxfb_capture_begin_query_indexed, vkxfb_capture_end_query_indexed,
    vkxfb_query_pool_create, vkxfb_query_pool_destroy, vkxfb_query_pool_get_results,
    vkxfb_query_pool_record_reset,
};
