//! This module defines the resource plans, which say how generated code accesses memory, and generates the bodies of
//! those stubs in `shaders/stubs.wgsl` that depend on the plan.

use spirv::{Capability, Decoration, Op, StorageClass};

use crate::lower::LowerError;
use crate::lower::access::{Access, User};
use crate::lower::descriptors::{self, Descriptors};
use crate::lower::device_address::{self, DeviceAddress};
use crate::lower::functions::MemoryStub;
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::{Builder, Code};
use crate::spirv::link::{LinkError, Stub};
use crate::spirv::{Id, Module, Section};

/// The storage classes of variables to which descriptors are bound.
pub(super) const DESCRIPTORS: [StorageClass; 3] =
    [StorageClass::UniformConstant, StorageClass::Uniform, StorageClass::StorageBuffer];

/// How generated code accesses the buffers of a capture: capture buffers, vertex and index buffers,
/// and the buffers of the runtime.
///
/// Shaders read and write the same data under both plans; only the addresses in it have another
/// meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ResourcePlan {
    /// Buffers are accessed by device addresses (`bufferDeviceAddress`). No descriptors are
    /// declared.
    #[default]
    DeviceAddress,
    /// Buffers are accessed by descriptors, for devices without addresses: through two arrays of
    /// storage buffers, which are indexed dynamically (`shaderStorageBufferArrayDynamicIndexing`).
    /// An address consists of a byte offset and the number of a buffer, counted from 1.
    ///
    /// Buffers that are only read are in binding 0, and buffers that are written are in binding 1,
    /// so that compilers and synchronization validation can distinguish them. Through the first
    /// `writes` elements of binding 0, captures read buffers that kernels have written.
    ///
    /// Both arrays are in one descriptor set, whose number is higher than those of the
    /// application's sets.
    Descriptors {
        /// The number of buffers in the array of binding 0. Must be greater than `writes`; the sum is at most
        /// [`MAX_STORAGE_BUFFERS`](Self::MAX_STORAGE_BUFFERS).
        reads: u32,
        /// The number of buffers in the array of binding 1.
        writes: u32,
    },
}

impl std::fmt::Display for ResourcePlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::DeviceAddress => f.write_str("device addresses"),
            Self::Descriptors { reads, writes } => {
                write!(f, "descriptors ({reads} storage buffers to read, {writes} to write)")
            }
        }
    }
}

impl ResourcePlan {
    /// The largest number of storage buffers of a descriptor plan. It is limited because some
    /// accesses generate code for each buffer.
    pub const MAX_STORAGE_BUFFERS: u32 = 24;

    /// Checks the numbers of buffers. Returns the number of the descriptor set for the buffers,
    /// which is the first one after all sets of the module; `None` under the plan with device
    /// addresses.
    ///
    /// # Errors
    /// [`LowerError::StorageBuffers`], and [`LowerError::DescriptorSet`] if no set is left.
    pub(super) fn descriptor_set(
        self,
        declarations: &Declarations,
    ) -> Result<Option<u32>, LowerError> {
        let Self::Descriptors { reads, writes } = self else { return Ok(None) };
        let all = reads.saturating_add(writes);
        if writes == 0 || reads <= writes || all > Self::MAX_STORAGE_BUFFERS {
            return Err(LowerError::StorageBuffers { reads, writes });
        }
        let last = descriptor_sets(declarations).max_by_key(|(_, set)| *set);
        let Some((variable, used)) = last else { return Ok(Some(0)) };
        match used.checked_add(1) {
            Some(set) => Ok(Some(set)),
            None => {
                let variable = declarations.label(variable);
                Err(LowerError::DescriptorSet { variable, used, set: used })
            }
        }
    }
}

/// The variables of a module that are in descriptor sets, each with the number of its set.
pub(super) fn descriptor_sets(declarations: &Declarations) -> impl Iterator<Item = (Id, u32)> {
    let variables = DESCRIPTORS.iter().flat_map(|storage| declarations.variables(*storage));
    variables.filter_map(|variable| {
        let set = declarations.decoration_value(variable.id, Decoration::DescriptorSet)?;
        Some((variable.id, set))
    })
}

/// Gives the descriptor set `from` of a module the number `to`.
pub(super) fn move_descriptor_set(module: &mut Module, from: u32, to: u32) {
    module.edit(Section::Annotations, |op, operands| {
        if op == Op::Decorate
            && let [_, decoration, set] = operands
            && *decoration == Decoration::DescriptorSet as u32
            && *set == from
        {
            *set = to;
        }
    });
}

/// Checks that the module uses only sets with lower numbers than `to`. The set with the number
/// `but`, which is that of the resource plan, is not checked.
///
/// # Errors
/// [`LowerError::DescriptorSet`]
pub(super) fn check_sets_before(module: &Module, but: u32, to: u32) -> Result<(), LowerError> {
    let declarations = Declarations::of(module);
    let in_the_way = descriptor_sets(&declarations).find(|(_, used)| *used != but && *used >= to);
    match in_the_way {
        None => Ok(()),
        Some((variable, used)) => {
            let variable = declarations.label(variable);
            Err(LowerError::DescriptorSet { variable, used, set: to })
        }
    }
}

/// Which accesses of other sizes than a dword are generated.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Widths {
    /// Whether 64-bit integers are accessed:
    /// [`Target::int64_accesses`](super::compute::Target::int64_accesses).
    pub(super) int64: bool,
    /// Whether bytes are loaded: [`Target::byte_loads`](super::compute::Target::byte_loads).
    pub(super) bytes: bool,
}

/// Generates the bodies of the memory stubs under one resource plan.
#[derive(Debug)]
pub(super) struct Memory {
    plan: AccessPlan,
    widths: Widths,
}

#[derive(Debug)]
enum AccessPlan {
    DeviceAddress(DeviceAddress),
    Descriptors(Descriptors),
}

impl Memory {
    /// Declares the capabilities and extensions for accesses under the plan. The plan's descriptors
    /// are in set `set`.
    pub(super) fn declare(
        module: &mut Module,
        plan: ResourcePlan,
        set: u32,
        user: User,
        widths: Widths,
    ) -> Self {
        if widths.int64 {
            module.add_capability(Capability::Int64);
        }
        if widths.bytes {
            module.add_capability(Capability::StorageBuffer8BitAccess);
            // A device address is cast to a pointer to a byte, which needs `Int8`: `StorageBuffer8BitAccess` allows
            // only loads, stores and conversions of bytes.
            module.add_capability(Capability::Int8);
            if module.version() < (1, 5) {
                module.add_extension("SPV_KHR_8bit_storage");
            }
        }
        let plan = match plan {
            ResourcePlan::DeviceAddress => {
                device_address::declare(module);
                AccessPlan::DeviceAddress(DeviceAddress::new(widths.int64))
            }
            ResourcePlan::Descriptors { reads, writes } => {
                descriptors::declare(module);
                AccessPlan::Descriptors(Descriptors::new(user, set, [reads, writes], widths.int64))
            }
        };
        Self { plan, widths }
    }

    pub(super) const fn loads_bytes(&self) -> bool {
        self.widths.bytes
    }

    /// Returns the body of the stub `arrive`. `None` under the descriptor plan, for which the stub
    /// keeps its body in WGSL: the counter of arrived workgroups is in the upload part of the
    /// arena, which captures may only read.
    pub(super) fn arrive(&self, builder: &mut Builder<'_>, address: Id) -> Option<Code> {
        match self.plan {
            AccessPlan::DeviceAddress(_) => Some(device_address::arrive(builder, address)),
            AccessPlan::Descriptors(_) => None,
        }
    }

    /// Returns the body of a stub. `None` if the stub keeps its body in WGSL: `load_byte`, if bytes
    /// are not loaded.
    pub(super) fn define(
        &mut self,
        builder: &mut Builder<'_>,
        name: MemoryStub,
        stub: &Stub,
    ) -> Result<Option<Code>, LinkError> {
        if name == MemoryStub::LoadByte && !self.widths.bytes {
            return Ok(None);
        }
        let Some(access) = Access::of(name, stub)? else {
            return Ok(Some(product(builder, stub.parameters()?)));
        };
        let mut code = Code::default();
        let value = match &mut self.plan {
            AccessPlan::DeviceAddress(memory) => memory.access(builder, &mut code, access),
            AccessPlan::Descriptors(memory) => memory.access(builder, &mut code, access),
        };
        match value {
            Some(value) => code.push(Op::ReturnValue, &[value.0]),
            None => code.push(Op::Return, &[]),
        }
        Ok(Some(code))
    }
}

/// Generates the body of the stub `product`: `a * b` in 64 bits, without `shaderInt64`.
fn product(builder: &mut Builder<'_>, [a, b]: [Id; 2]) -> Code {
    let mut code = Code::default();
    let (uint, uvec2) = (builder.uint(), builder.uvec(2));
    let pair = builder.declare(Op::TypeStruct, &[uint.0, uint.0]);
    let product = code.value(builder, Op::UMulExtended, pair, &[a.0, b.0]);
    let halves = [0, 1].map(|half| code.extract(builder, product, half).0);
    let result = code.value(builder, Op::CompositeConstruct, uvec2, &halves);
    code.push(Op::ReturnValue, &[result.0]);
    code
}
