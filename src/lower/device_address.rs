//! Access to memory by buffer device addresses (`SPV_KHR_physical_storage_buffer`).

use spirv::{AddressingModel, Capability, Decoration, MemoryAccess, Op, StorageClass};

use super::resources::{Access, Source};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::{Id, Module, Section};

/// The alignment in bytes that every access has, whatever its width.
const DWORD: u32 = 4;

/// Declares what accesses through device addresses need.
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

/// The bodies of the memory stubs.
#[derive(Debug, Default)]
pub(super) struct DeviceAddress {
    /// The type of a pointer to a structure with one runtime array of dwords, if it was declared
    /// already.
    dwords: Option<Id>,
}

impl DeviceAddress {
    /// The body of a stub.
    pub(super) fn define(&mut self, builder: &mut Builder<'_>, access: Access) -> Code {
        let alignment = |components: u32, aligned| if aligned { 4 * components } else { DWORD };
        match access {
            Access::Load { address, components, source } => {
                let aligned = source == Source::Aligned;
                load(builder, address, components, alignment(components, aligned))
            }
            Access::Store { address, index, value, components, aligned, any: _ } => {
                let alignment = alignment(components, aligned);
                self.store(builder, [address, index, value], components, alignment)
            }
            Access::MultiplyAdd { address, a, b } => multiply_add(builder, address, a, b),
        }
    }

    fn store(
        &mut self,
        builder: &mut Builder<'_>,
        [address, index, value]: [Id; 3],
        components: u32,
        alignment: u32,
    ) -> Code {
        let mut code = Code::default();
        let dwords = *self.dwords.get_or_insert_with(|| dword_array_pointer(builder));
        let base = code.value(builder, Op::Bitcast, dwords, &[address.0]);
        let uint = builder.uint();
        let element = builder.pointer(StorageClass::PhysicalStorageBuffer, uint);
        let zero = builder.constant(0);
        let chain = [base.0, zero.0, index.0];
        let mut pointer = code.value(builder, Op::AccessChain, element, &chain);
        if components > 1 {
            let vector = builder.uvec(components);
            let wide = builder.pointer(StorageClass::PhysicalStorageBuffer, vector);
            pointer = code.value(builder, Op::Bitcast, wide, &[pointer.0]);
        }
        code.push(Op::Store, &[pointer.0, value.0, MemoryAccess::ALIGNED.bits(), alignment]);
        code.push(Op::Return, &[]);
        code
    }
}

fn load(builder: &mut Builder<'_>, address: Id, components: u32, alignment: u32) -> Code {
    let mut code = Code::default();
    let ty = builder.uvec(components);
    let pointer_type = builder.pointer(StorageClass::PhysicalStorageBuffer, ty);
    let pointer = code.value(builder, Op::Bitcast, pointer_type, &[address.0]);
    let aligned = [pointer.0, MemoryAccess::ALIGNED.bits(), alignment];
    let value = code.value(builder, Op::Load, ty, &aligned);
    code.push(Op::ReturnValue, &[value.0]);
    code
}

/// address + a * b, with a 32-bit carry, so that shaderInt64 is not needed.
fn multiply_add(builder: &mut Builder<'_>, address: Id, a: Id, b: Id) -> Code {
    let mut code = Code::default();
    let uint = builder.uint();
    let pair = builder.declare(Op::TypeStruct, &[uint.0, uint.0]);
    let uvec2 = builder.uvec(2);
    let extract = |code: &mut Code, builder: &mut Builder<'_>, composite: Id, index: u32| {
        code.value(builder, Op::CompositeExtract, uint, &[composite.0, index])
    };
    let product = code.value(builder, Op::UMulExtended, pair, &[a.0, b.0]);
    let product_low = extract(&mut code, builder, product, 0);
    let product_high = extract(&mut code, builder, product, 1);
    let low = extract(&mut code, builder, address, 0);
    let high = extract(&mut code, builder, address, 1);
    let sum = code.value(builder, Op::IAddCarry, pair, &[low.0, product_low.0]);
    let sum_low = extract(&mut code, builder, sum, 0);
    let carry = extract(&mut code, builder, sum, 1);
    let high = code.value(builder, Op::IAdd, uint, &[high.0, product_high.0]);
    let high = code.value(builder, Op::IAdd, uint, &[high.0, carry.0]);
    let result = code.value(builder, Op::CompositeConstruct, uvec2, &[sum_low.0, high.0]);
    code.push(Op::ReturnValue, &[result.0]);
    code
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
