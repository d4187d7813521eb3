//! What other packages of this workspace share with the library and embedders have no use for. It is no part of the
//! API: any version may change it.

#![forbid(unsafe_code)]

use ash::vk;

pub use crate::runtime::checks::check_limit;
pub use crate::runtime::context::ContextId;
pub use crate::runtime::fold::fold;
pub use crate::runtime::pipeline::compute_pipelines;
use crate::runtime::{Arena, Buffer, Context, Kernels, Pipeline, QueryPool, RuntimeError};

/// For `map_err`: the failed command and its result.
pub fn vulkan_error(call: &'static str) -> impl FnOnce(vk::Result) -> RuntimeError {
    RuntimeError::vulkan(call)
}

/// Kernels of a device without the compute backend, which stand where none are made yet.
pub const fn no_kernels() -> Kernels {
    Kernels::none()
}

/// Bytes that so many queries take.
pub const fn query_pool_size(count: u32) -> u64 {
    QueryPool::size(count)
}

/// What belongs to one context and its clones.
pub trait HasContext {
    /// The context that it was made with.
    fn context_id(&self) -> ContextId;
}

impl HasContext for Context {
    fn context_id(&self) -> ContextId {
        self.id()
    }
}

impl HasContext for Arena {
    fn context_id(&self) -> ContextId {
        self.context()
    }
}

impl HasContext for Buffer {
    fn context_id(&self) -> ContextId {
        self.context()
    }
}

impl HasContext for Pipeline {
    fn context_id(&self) -> ContextId {
        self.context()
    }
}

impl HasContext for QueryPool {
    fn context_id(&self) -> ContextId {
        self.context()
    }
}
