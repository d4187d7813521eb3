//! Functions for other packages of this workspace. They are not part of the API: any version may
//! change them.

#![forbid(unsafe_code)]

use ash::vk;

pub use crate::runtime::barrier::Barrier;
pub use crate::runtime::checks::check_limit;
pub use crate::runtime::context::ContextId;
pub use crate::runtime::context::overrides;
pub use crate::runtime::fold::fold;
pub use crate::runtime::pipeline::compute_pipeline;
use crate::runtime::{Arena, Buffer, Context, Kernels, Pipeline, QueryPool, RuntimeError};

/// For `map_err`: makes an error from the name of the failed command and its result.
pub fn vulkan_error(call: &'static str) -> impl FnOnce(vk::Result) -> RuntimeError {
    RuntimeError::vulkan(call)
}

/// The kernels of a device without the compute backend. Used as a placeholder until kernels are
/// made.
pub const fn no_kernels() -> Kernels {
    Kernels::none()
}

/// The size in bytes of a query pool with `count` queries.
pub const fn query_pool_size(count: u32) -> u64 {
    QueryPool::size(count)
}

/// An object that belongs to one context and its clones.
pub trait HasContext {
    /// The id of the context that the object was made with.
    fn context_id(&self) -> ContextId;
}

macro_rules! has_context {
    ($($object:ident: $id:ident,)*) => {
        $(impl HasContext for $object {
            fn context_id(&self) -> ContextId {
                self.$id()
            }
        })*
    };
}

has_context! {
    Context: id,
    Arena: context,
    Buffer: context,
    Pipeline: context,
    QueryPool: context,
}
