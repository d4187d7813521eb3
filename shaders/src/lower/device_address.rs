//! This module generates memory accesses by buffer device addresses
//! (`SPV_KHR_physical_storage_buffer`).

use rustc_hash::FxHashMap;
use spirv::{
    AddressingModel, Capability, Decoration, MemoryAccess, MemoryModel, MemorySemantics, Op, Scope,
    StorageClass,
};

use crate::lower::access::{Access, byte, ulongs, widen_byte};
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
    /// For each type that is accessed by an index: the type of a pointer to a structure with one runtime array of that
    /// type.
    arrays: FxHashMap<Id, Id>,
}

impl DeviceAddress {
    pub(super) fn new(int64: bool) -> Self {
        Self { int64, arrays: FxHashMap::default() }
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
            Access::Load { address, index, components, source } => {
                let shape = self.shape(builder, components, source.is_aligned());
                Some(self.load(builder, code, address, index, &shape))
            }
            Access::LoadByte { address } => {
                let shape =
                    Shape { ty: byte(builder), components: 1, is_converted: false, alignment: 1 };
                let loaded = self.load(builder, code, address, None, &shape);
                Some(widen_byte(builder, code, loaded))
            }
            Access::Store { address, index, value, components, aligned, any: _ } => {
                let shape = self.shape(builder, components, aligned);
                self.store(builder, code, [address, index, value], &shape);
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
        let ty =
            if is_converted { ulongs(builder, components / 2) } else { builder.uvec(components) };
        Shape { ty, components, is_converted, alignment }
    }

    /// Appends the code of a load from `address` + 4 * `index`.
    fn load(
        &mut self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        address: Id,
        index: Option<Id>,
        shape: &Shape,
    ) -> Id {
        let pointer = match index {
            Some(index) => self.element(builder, code, [address, index], shape),
            None => {
                let ty = builder.pointer(StorageClass::PhysicalStorageBuffer, shape.ty);
                code.value(builder, Op::Bitcast, ty, &[address.0])
            }
        };
        let aligned = [pointer.0, MemoryAccess::ALIGNED.bits(), shape.alignment];
        let value = code.value(builder, Op::Load, shape.ty, &aligned);
        if !shape.is_converted {
            return value;
        }
        let dwords = builder.uvec(shape.components);
        code.value(builder, Op::Bitcast, dwords, &[value.0])
    }

    /// Appends the code of a store to `address` + 4 * `index`.
    fn store(
        &mut self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        [address, index, value]: [Id; 3],
        shape: &Shape,
    ) {
        let pointer = self.element(builder, code, [address, index], shape);
        let value = if shape.is_converted {
            code.value(builder, Op::Bitcast, shape.ty, &[value.0])
        } else {
            value
        };
        let aligned = [MemoryAccess::ALIGNED.bits(), shape.alignment];
        code.push(Op::Store, &[pointer.0, value.0, aligned[0], aligned[1]]);
    }

    /// Appends the code of a pointer to `address` + 4 * `index`. The address is cast to a pointer to an array of the
    /// accessed type: SwiftShader takes a cast from pointer to pointer for one to integers. A constant index becomes an
    /// offset in the instruction; only what is left of it behind a multiple of the array's stride is added to the
    /// address.
    fn element(
        &mut self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        [address, index]: [Id; 2],
        shape: &Shape,
    ) -> Id {
        let uint = builder.uint();
        let zero = builder.constant(0);
        // The stride of the array, in dwords.
        let stride = shape.components.next_power_of_two();
        let (mut base, mut element) = (address, index);
        if stride > 1 {
            let bits = builder.constant(stride.trailing_zeros());
            element = code.value(builder, Op::ShiftRightLogical, uint, &[index.0, bits.0]);
        }
        // If the address is aligned to the stride, the index is a multiple of it.
        if shape.alignment < DWORD * stride {
            let (mask, dword_bits) = (builder.constant(stride - 1), builder.constant(2));
            let left = code.value(builder, Op::BitwiseAnd, uint, &[index.0, mask.0]);
            let left = code.value(builder, Op::ShiftLeftLogical, uint, &[left.0, dword_bits.0]);
            base = add(builder, code, address, [left, zero]);
        }
        let array = *self
            .arrays
            .entry(shape.ty)
            .or_insert_with(|| array_pointer(builder, shape.ty, stride));
        let base = code.value(builder, Op::Bitcast, array, &[base.0]);
        let pointer_type = builder.pointer(StorageClass::PhysicalStorageBuffer, shape.ty);
        code.value(builder, Op::AccessChain, pointer_type, &[base.0, zero.0, element.0])
    }
}

/// The pointee type and the alignment of a memory access.
struct Shape {
    ty: Id,
    /// The number of dwords.
    components: u32,
    /// Whether the access needs an `OpBitcast` to or from `u32`s, because `ty` consists of 64-bit
    /// integers.
    is_converted: bool,
    /// The alignment of the address in bytes.
    alignment: u32,
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
    let scope = if builder.module.has_memory_model(MemoryModel::Vulkan) {
        Scope::QueueFamily
    } else {
        Scope::Device
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

/// Declares a pointer to a structure with one runtime array, whose elements are `stride` dwords apart.
fn array_pointer(builder: &mut Builder<'_>, element: Id, stride: u32) -> Id {
    let array = builder.declare_new(Op::TypeRuntimeArray, &[element.0]);
    builder.decorate(array, Decoration::ArrayStride, &[DWORD * stride]);
    let block = builder.declare_new(Op::TypeStruct, &[array.0]);
    builder.decorate(block, Decoration::Block, &[]);
    let offset = [block.0, 0, Decoration::Offset as u32, 0];
    builder.module.push(Section::Annotations, Op::MemberDecorate, &offset);
    builder.name(block, "xfb_accessed");
    builder.pointer(StorageClass::PhysicalStorageBuffer, block)
}
