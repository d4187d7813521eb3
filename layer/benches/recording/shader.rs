//! Assembles the shaders of the benchmark.

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel,
    FunctionControl, MemoryModel, StorageClass,
};

/// The size of the push constants in bytes.
pub const CONSTANTS: u32 = 64;
/// The size in bytes of a vertex, and of a captured vertex.
pub const VERTEX: u32 = 16;

/// Returns a shader that multiplies a vertex attribute by the first of four push constants. If
/// `captures`, the product is captured.
pub fn words(captures: bool) -> Vec<u32> {
    let mut b = Builder::new();
    b.set_version(1, 0);
    b.capability(Capability::Shader);
    if captures {
        b.capability(Capability::TransformFeedback);
    }
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let (void, float) = (b.type_void(), b.type_float(32, None));
    let (uint, vec4) = (b.type_int(32, 0), b.type_vector(float, 4));
    let (zero, four) = (b.constant_bit32(uint, 0), b.constant_bit32(uint, CONSTANTS / 16));
    let constants = b.type_array(vec4, four);
    b.decorate(constants, Decoration::ArrayStride, [Operand::LiteralBit32(16)]);
    let block = b.type_struct([constants]);
    b.decorate(block, Decoration::Block, []);
    b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
    let mut pointer = |class, to| b.type_pointer(None, class, to);
    let (to_input, to_output) =
        (pointer(StorageClass::Input, vec4), pointer(StorageClass::Output, vec4));
    let (to_block, to_constant) =
        (pointer(StorageClass::PushConstant, block), pointer(StorageClass::PushConstant, vec4));
    let input = b.variable(to_input, None, StorageClass::Input, None);
    b.decorate(input, Decoration::Location, [Operand::LiteralBit32(0)]);
    let pushed = b.variable(to_block, None, StorageClass::PushConstant, None);
    let captured = b.variable(to_output, None, StorageClass::Output, None);
    b.decorate(captured, Decoration::Location, [Operand::LiteralBit32(0)]);
    if captures {
        for (decoration, value) in
            [(Decoration::XfbBuffer, 0), (Decoration::XfbStride, VERTEX), (Decoration::Offset, 0)]
        {
            b.decorate(captured, decoration, [Operand::LiteralBit32(value)]);
        }
    }
    let position = b.variable(to_output, None, StorageClass::Output, None);
    b.decorate(position, Decoration::BuiltIn, [Operand::BuiltIn(BuiltIn::Position)]);
    let function = b.type_function(void, []);
    let main = b.begin_function(void, None, FunctionControl::NONE, function).unwrap();
    b.begin_block(None).unwrap();
    let value = b.load(vec4, None, input, None, []).unwrap();
    let factor = b.access_chain(to_constant, None, pushed, [zero, zero]).unwrap();
    let factor = b.load(vec4, None, factor, None, []).unwrap();
    let product = b.f_mul(vec4, None, value, factor).unwrap();
    b.store(captured, product, None, []).unwrap();
    b.store(position, product, None, []).unwrap();
    b.ret().unwrap();
    b.end_function().unwrap();
    b.entry_point(ExecutionModel::Vertex, main, "main", [input, captured, position]);
    if captures {
        b.execution_mode(main, ExecutionMode::Xfb, []);
    }
    b.module().assemble()
}

/// The number of invocations of a workgroup of [`dispatched`].
pub const WORKGROUP: u32 = 64;

/// Returns a compute shader that does nothing.
pub fn dispatched() -> Vec<u32> {
    let mut b = Builder::new();
    b.set_version(1, 0);
    b.capability(Capability::Shader);
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let void = b.type_void();
    let function = b.type_function(void, []);
    let main = b.begin_function(void, None, FunctionControl::NONE, function).unwrap();
    b.begin_block(None).unwrap();
    b.ret().unwrap();
    b.end_function().unwrap();
    b.entry_point(ExecutionModel::GLCompute, main, "main", []);
    b.execution_mode(main, ExecutionMode::LocalSize, [WORKGROUP, 1, 1]);
    b.module().assemble()
}
