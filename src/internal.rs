//! Items for the other packages of this workspace. They are not part of the public API: any version may
//! change them.

#![forbid(unsafe_code)]

use ash::vk;

pub use crate::runtime::barrier::Barrier;
pub use crate::runtime::capabilities::version_string;
pub use crate::runtime::checks::check_limit;
pub use crate::runtime::context::ContextId;
pub use crate::runtime::context::overrides;
pub use crate::runtime::descriptor_heaps::{
    BoundHeaps, CopyAddress, DescriptorPlace, DescriptorState, HeapCommands, HeapInterface,
    HeapRange, MovedData, ParameterTransport, StageChain,
};
pub use crate::runtime::fold::fold;
pub use crate::runtime::host_memory::{TryPush, check_room};
pub use crate::runtime::identity::DeviceIdentity;
pub use crate::runtime::pipeline::compute_pipeline;
pub use crate::runtime::recorder::BufferSet;
pub use crate::runtime::tunings::{TUNINGS, Tuning, TuningEffect};
pub use crate::runtime::workarounds::{WORKAROUNDS, Workaround, WorkaroundEffect};
use crate::runtime::{Arena, Buffer, Context, Kernels, Pipeline, QueryPool, RuntimeError};

/// For `map_err`: makes an error from the name of the failed command and its result.
pub fn vulkan_error(call: &'static str) -> impl FnOnce(vk::Result) -> RuntimeError {
    RuntimeError::vulkan(call)
}

/// Returns kernels without pipelines: those of a device without the compute backend, or a
/// placeholder until kernels are made.
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

/// The inputs and outputs that a shader declares, and the outputs that it writes.
pub mod capture {
    pub use crate::capture::interface::{InterfaceVariable, interface_variables};
    pub use crate::capture::list::locations_used;
    pub use crate::capture::outputs::{Outputs, Space, place_of};
    pub use crate::capture::streams::stream_of;
    pub use crate::capture::written::Written;
}

/// The types that a lowered shader consists of.
pub mod lower {
    pub use crate::lower::lowered::{
        LoweredAttribute, LoweredCompute, LoweredKind, LoweredNative, LoweredStage, LoweredVertex,
        SpecIds, WideAccesses,
    };
    pub use crate::lower::stages::{GeometryInput, LoweredGeometry, LoweredTessellation};
    pub use crate::lower::sysvals::SysvalsPlace;

    /// Functions that read and change a shader's interface.
    pub mod interface {
        pub use crate::lower::interface::{
            InterfaceLimit, built_in, move_execution_modes, set_entry_point,
        };
    }
}

/// SPIR-V at word level.
pub mod spirv {
    pub use crate::spirv::grammar::{read_string, result_of, string_words, visit_ids};
    pub use crate::spirv::id_set::IdSet;
    pub use crate::spirv::module::{Instruction, MAX_OPERANDS, Module, Section};
    pub use crate::spirv::specialization::{DeclaredConstant, declared_constants, specialize};
    pub use crate::spirv::*;

    pub mod declarations {
        pub use crate::spirv::declarations::*;
    }
    pub mod emit {
        pub use crate::spirv::emit::*;
    }
    pub mod entry_point {
        pub use crate::spirv::entry_point::*;
    }
    pub mod link {
        pub use crate::spirv::link::*;
    }
    pub mod merge {
        pub use crate::spirv::merge::*;
    }
    pub mod static_use {
        pub use crate::spirv::static_use::*;
    }
    pub mod types {
        pub use crate::spirv::types::{
            Block, block_type, has_built_in_members, locations_of, structure_of,
        };
    }
}

/// The data that the CPU passes to the shaders of this crate, and that these shaders write.
pub mod sysval {
    pub use crate::sysval::*;
}

/// The rules by which the tessellator divides patches.
pub mod tessellator {
    pub use crate::tessellator::*;
}

/// Compute shaders of this crate.
pub mod kernel {
    pub use crate::lower::kernel::*;
}

/// The inputs that an application must provide for a shader.
pub mod reflect {
    pub use crate::lower::reflect::*;
}
