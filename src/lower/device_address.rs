//! This module generates memory accesses by buffer device addresses
//! (`SPV_KHR_physical_storage_buffer`).

use spirv::{
    AddressingModel, Capability, Decoration, MemoryAccess, MemoryModel, MemorySemantics, Op, Scope,
    StorageClass,
};

use super::resources::{Access, Source, byte, ulongs, widen_byte};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::{Id, Module, Section};

/// The minimum alignment in bytes of the address of a dword.
const DWORD: u32 = 4;

pub(super) fn declare(module: &mut Module) {
    module.add_capability(Capability::PhysicalStorageBufferAddresses);
    module.add_extension("SPV_KHR_physical_storage_buffer");
    module.edit(Section::MemoryModel, |op, operands| {
        if op == Op::MemoryModel
            && let Some(addressing) = operands.first_mut()
        {
            *addressing = AddressingModel::PhysicalStorageBuffer64 as u32;
        }
    });
}

/// Generates the accesses in the bodies of the memory stubs (`shaders/stubs.wgsl`).
#[derive(Debug)]
pub(super) struct DeviceAddress {
    /// Whether aligned accesses move pairs of dwords as 64-bit integers.
    int64: bool,
    /// The type of a pointer to a structure with one runtime array of dwords; `None` until it is
    /// declared.
    dwords: Option<Id>,
}

impl DeviceAddress {
    pub(super) const fn new(int64: bool) -> Self {
        Self { int64, dwords: None }
    }

    /// Appends the code of an access. Returns the value that it loads or computes; `None` for a
    /// store.
    pub(super) fn access(
        &mut self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        access: Access,
    ) -> Option<Id> {
        match access {
            Access::Load { address, components, source } => {
                let shape = self.shape(builder, components, source == Source::Aligned);
                Some(load(builder, code, address, components, &shape))
            }
            Access::LoadByte { address } => {
                let shape = Shape { ty: byte(builder), is_converted: false, alignment: 1 };
                let loaded = load(builder, code, address, 1, &shape);
                Some(widen_byte(builder, code, loaded))
            }
            Access::Store { address, index, value, components, aligned, any: _ } => {
                let shape = self.shape(builder, components, aligned);
                self.store(builder, code, [address, index, value], components, &shape);
                None
            }
            Access::AddBytes { address, bytes } => {
                let zero = builder.constant(0);
                Some(add(builder, code, address, [bytes, zero]))
            }
            Access::MultiplyAdd { address, a, b } => {
                Some(multiply_add(builder, code, address, [a, b]))
            }
        }
    }

    /// Declares the type of an access to `components` dwords. If `aligned` is true, the address is a multiple of the
    /// size of these dwords, and if `int64` is true as well, pairs of dwords are 64-bit integers.
    fn shape(&self, builder: &mut Builder<'_>, components: u32, aligned: bool) -> Shape {
        let alignment = if aligned { 4 * components } else { DWORD };
        let is_converted = self.int64 && aligned && components.is_multiple_of(2);
        let ty = match is_converted {
            true => ulongs(builder, components / 2),
            false => builder.uvec(components),
        };
        Shape { ty, is_converted, alignment }
    }

    fn store(
        &mut self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        [address, index, value]: [Id; 3],
        components: u32,
        shape: &Shape,
    ) {
        let dwords = *self.dwords.get_or_insert_with(|| dword_array_pointer(builder));
        let base = code.value(builder, Op::Bitcast, dwords, &[address.0]);
        let uint = builder.uint();
        let element = builder.pointer(StorageClass::PhysicalStorageBuffer, uint);
        let zero = builder.constant(0);
        let chain = [base.0, zero.0, index.0];
        let mut pointer = code.value(builder, Op::AccessChain, element, &chain);
        if components > 1 {
            let wide = builder.pointer(StorageClass::PhysicalStorageBuffer, shape.ty);
            pointer = code.value(builder, Op::Bitcast, wide, &[pointer.0]);
        }
        let value = match shape.is_converted {
            true => code.value(builder, Op::Bitcast, shape.ty, &[value.0]),
            false => value,
        };
        let aligned = [MemoryAccess::ALIGNED.bits(), shape.alignment];
        code.push(Op::Store, &[pointer.0, value.0, aligned[0], aligned[1]]);
    }
}

/// The pointee type and the alignment of a memory access.
struct Shape {
    ty: Id,
    /// Whether the access needs an `OpBitcast` to or from `u32`s, because `ty` consists of 64-bit
    /// integers.
    is_converted: bool,
    /// The alignment of the address in bytes.
    alignment: u32,
}

fn load(
    builder: &mut Builder<'_>,
    code: &mut Code,
    address: Id,
    components: u32,
    shape: &Shape,
) -> Id {
    let pointer_type = builder.pointer(StorageClass::PhysicalStorageBuffer, shape.ty);
    let pointer = code.value(builder, Op::Bitcast, pointer_type, &[address.0]);
    let aligned = [pointer.0, MemoryAccess::ALIGNED.bits(), shape.alignment];
    let value = code.value(builder, Op::Load, shape.ty, &aligned);
    if !shape.is_converted {
        return value;
    }
    let dwords = builder.uvec(components);
    code.value(builder, Op::Bitcast, dwords, &[value.0])
}

/// Generates the body of the stub `arrive`, which atomically increments the dword at `address` and
/// returns its previous value.
pub(super) fn arrive(builder: &mut Builder<'_>, address: Id) -> Code {
    let mut code = Code::default();
    let uint = builder.uint();
    let pointer_type = builder.pointer(StorageClass::PhysicalStorageBuffer, uint);
    let pointer = code.value(builder, Op::Bitcast, pointer_type, &[address.0]);
    // Under the memory model `Vulkan`, the scope Device needs another capability. QueueFamily is
    // enough, because all workgroups of a dispatch run in one queue family.
    let scope = match builder.module.has_memory_model(MemoryModel::Vulkan) {
        true => Scope::QueueFamily,
        false => Scope::Device,
    };
    let semantics = MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::UNIFORM_MEMORY;
    let operands = [scope as u32, semantics.bits()].map(|value| builder.constant(value).0);
    let operands = [pointer.0, operands[0], operands[1]];
    let before = code.value(builder, Op::AtomicIIncrement, uint, &operands);
    code.push(Op::ReturnValue, &[before.0]);
    code
}

fn multiply_add(builder: &mut Builder<'_>, code: &mut Code, address: Id, [a, b]: [Id; 2]) -> Id {
    let uint = builder.uint();
    let pair = builder.declare(Op::TypeStruct, &[uint.0, uint.0]);
    let product = code.value(builder, Op::UMulExtended, pair, &[a.0, b.0]);
    let halves = [0, 1].map(|half| code.extract(builder, product, half));
    add(builder, code, address, halves)
}

/// Generates the 64-bit sum of `address` and a number from 32-bit additions with carry, so that
/// `shaderInt64` is not needed.
fn add(builder: &mut Builder<'_>, code: &mut Code, address: Id, [low, high]: [Id; 2]) -> Id {
    let (uint, uvec2) = (builder.uint(), builder.uvec(2));
    let pair = builder.declare(Op::TypeStruct, &[uint.0, uint.0]);
    let [address_low, address_high] = [0, 1].map(|half| code.extract(builder, address, half));
    let sum = code.value(builder, Op::IAddCarry, pair, &[address_low.0, low.0]);
    let [sum_low, carry] = [0, 1].map(|half| code.extract(builder, sum, half));
    let sum_high = code.value(builder, Op::IAdd, uint, &[address_high.0, high.0]);
    let sum_high = code.value(builder, Op::IAdd, uint, &[sum_high.0, carry.0]);
    code.value(builder, Op::CompositeConstruct, uvec2, &[sum_low.0, sum_high.0])
}

fn dword_array_pointer(builder: &mut Builder<'_>) -> Id {
    let uint = builder.uint();
    let array = builder.declare_new(Op::TypeRuntimeArray, &[uint.0]);
    builder.decorate(array, Decoration::ArrayStride, &[4]);
    let block = builder.declare_new(Op::TypeStruct, &[array.0]);
    builder.decorate(block, Decoration::Block, &[]);
    let offset = [block.0, 0, Decoration::Offset as u32, 0];
    builder.module.push(Section::Annotations, Op::MemberDecorate, &offset);
    builder.name(block, "xfb_dwords");
    builder.pointer(StorageClass::PhysicalStorageBuffer, block)
}
