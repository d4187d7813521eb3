//! How generated code reaches memory: the resource plans, and the stubs of `shaders/stubs.wgsl` whose bodies
//! they decide.

use spirv::Op;

use super::LowerError;
use super::descriptors::{self, Descriptors};
use super::device_address::{self, DeviceAddress};
use super::functions::MemoryStub;
use super::interface::label;
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::{Builder, Code};
use crate::spirv::link::{LinkError, Stub};
use crate::spirv::{Id, Module};

/// How generated code reaches the buffers of a capture: those that are captured to, vertex and index
/// buffers, and what the runtime itself keeps.
///
/// The sysvals and kernels are the same in both plans; what differs is what an
/// [`Address`](crate::sysval::Address) in them is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ResourcePlan {
    /// By device address (`bufferDeviceAddress`). No descriptor is declared.
    #[default]
    DeviceAddress,
    /// By descriptors, for devices without addresses: two arrays of storage buffers, indexed dynamically
    /// (`shaderStorageBufferArrayDynamicIndexing`). An address is a byte offset, and the number of a buffer
    /// counted from 1.
    ///
    /// What is read and what is written are apart, so that compilers and synchronization validation see
    /// which is which. Captures read binding 0 and write binding 1. Of what kernels write, binding 0 has as
    /// many first elements as there are `writes`, for captures to read.
    Descriptors {
        /// The descriptor set. The application's own sets are those below.
        set: u32,
        /// Buffers in the array of binding 0, more than there are `writes`; of both there are at most
        /// [`MAX_STORAGE_BUFFERS`](Self::MAX_STORAGE_BUFFERS).
        reads: u32,
        /// Buffers in the array of binding 1.
        writes: u32,
    },
}

impl std::fmt::Display for ResourcePlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::DeviceAddress => f.write_str("device addresses"),
            Self::Descriptors { set, reads, writes } => {
                write!(f, "{reads} and {writes} storage buffers in descriptor set {set}")
            }
        }
    }
}

impl ResourcePlan {
    /// The most storage buffers of a plan by descriptors. Code is generated for each of them.
    pub const MAX_STORAGE_BUFFERS: u32 = 24;

    /// Checks that nothing else is in the way of the plan: the application's descriptors, behind which the
    /// set is.
    pub(super) fn check(self, declarations: &Declarations) -> Result<(), LowerError> {
        use spirv::{Decoration, StorageClass};
        let Self::Descriptors { set, reads, writes } = self else { return Ok(()) };
        let all = reads.saturating_add(writes);
        if writes == 0 || reads <= writes || all > Self::MAX_STORAGE_BUFFERS {
            return Err(LowerError::StorageBuffers { reads, writes });
        }
        let storages =
            [StorageClass::UniformConstant, StorageClass::Uniform, StorageClass::StorageBuffer];
        for variable in storages.iter().flat_map(|storage| declarations.variables(*storage)) {
            let used = declarations.decoration_value(variable.id, Decoration::DescriptorSet);
            if let Some(used) = used
                && used >= set
            {
                let variable = label(declarations, variable.id);
                return Err(LowerError::DescriptorSet { variable, used, set });
            }
        }
        Ok(())
    }
}

/// Whose memory accesses they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    /// A capture: it reads nothing that it writes.
    Capture,
    /// A kernel.
    Kernel,
}

/// The bodies of the memory stubs.
#[derive(Debug)]
pub(super) enum Memory {
    DeviceAddress(DeviceAddress),
    Descriptors(Descriptors),
}

impl Memory {
    /// Declares what accesses by that plan need.
    pub(super) fn declare(module: &mut Module, plan: ResourcePlan, user: User) -> Self {
        match plan {
            ResourcePlan::DeviceAddress => {
                device_address::declare(module);
                Self::DeviceAddress(DeviceAddress::default())
            }
            ResourcePlan::Descriptors { set, reads, writes } => {
                descriptors::declare(module);
                Self::Descriptors(Descriptors::new(user, set, reads, writes))
            }
        }
    }

    /// The body of a stub.
    pub(super) fn define(
        &mut self,
        builder: &mut Builder<'_>,
        name: MemoryStub,
        stub: &Stub,
    ) -> Result<Code, LinkError> {
        let Some(access) = Access::of(name, stub)? else {
            return Ok(product(builder, stub.parameters()?));
        };
        Ok(match self {
            Self::DeviceAddress(memory) => memory.define(builder, access),
            Self::Descriptors(memory) => memory.define(builder, access),
        })
    }
}

/// What a memory stub does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// The dwords at an address. `any`: each invocation may access another buffer. `aligned`: the address is a
    /// multiple of their size.
    Load { address: Id, components: u32, any: bool, aligned: bool },
    /// Dwords at a dword behind an address.
    Store { address: Id, index: Id, value: Id, components: u32, any: bool, aligned: bool },
    /// The address `a` * `b` bytes behind.
    MultiplyAdd { address: Id, a: Id, b: Id },
}

impl Access {
    /// What a stub does; `None` for the one that is arithmetic alone.
    fn of(name: MemoryStub, stub: &Stub) -> Result<Option<Self>, LinkError> {
        let load = |components, any, aligned| {
            let [address] = stub.parameters()?;
            Ok(Some(Self::Load { address, components, any, aligned }))
        };
        let store = |components, any, aligned| {
            let [address, index, value] = stub.parameters()?;
            Ok(Some(Self::Store { address, index, value, components, any, aligned }))
        };
        match name {
            MemoryStub::Load1 => load(1, false, false),
            MemoryStub::Load2 => load(2, false, false),
            MemoryStub::Load3 => load(3, false, false),
            MemoryStub::Load4 => load(4, false, false),
            MemoryStub::Load1FromAny => load(1, true, false),
            MemoryStub::Load4FromAny => load(4, true, false),
            MemoryStub::Load2Aligned => load(2, false, true),
            MemoryStub::Load4Aligned => load(4, false, true),
            MemoryStub::Store1 => store(1, false, false),
            MemoryStub::Store2 => store(2, false, false),
            MemoryStub::Store3 => store(3, false, false),
            MemoryStub::Store4 => store(4, false, false),
            MemoryStub::Store4ToAny => store(4, true, false),
            MemoryStub::Store2Aligned => store(2, false, true),
            MemoryStub::Store4Aligned => store(4, false, true),
            MemoryStub::MultiplyAdd => {
                let [address, a, b] = stub.parameters()?;
                Ok(Some(Self::MultiplyAdd { address, a, b }))
            }
            MemoryStub::Product => Ok(None),
        }
    }
}

/// a * b in 64 bits: the floor has shaderInt64, but nothing here needs it.
fn product(builder: &mut Builder<'_>, [a, b]: [Id; 2]) -> Code {
    let mut code = Code::default();
    let (uint, uvec2) = (builder.uint(), builder.uvec(2));
    let pair = builder.declare(Op::TypeStruct, &[uint.0, uint.0]);
    let product = code.value(builder, Op::UMulExtended, pair, &[a.0, b.0]);
    let halves =
        [0, 1].map(|half| code.value(builder, Op::CompositeExtract, uint, &[product.0, half]).0);
    let result = code.value(builder, Op::CompositeConstruct, uvec2, &halves);
    code.push(Op::ReturnValue, &[result.0]);
    code
}
