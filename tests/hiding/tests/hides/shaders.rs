//! Assembles the shaders of the tests.

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel,
    FunctionControl, MemoryModel, StorageClass,
};

/// Returns a shader of a stage that does nothing but store constants: the position and size of a point, or a colour.
fn stores(
    model: ExecutionModel,
    capabilities: &[Capability],
    vector: [f32; 4],
    is_vertex: bool,
) -> Vec<u32> {
    let mut b = Builder::new();
    b.set_version(1, 0);
    b.capability(Capability::Shader);
    for capability in capabilities {
        b.capability(*capability);
    }
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let (void, float) = (b.type_void(), b.type_float(32, None));
    let vec4 = b.type_vector(float, 4);
    let one = b.constant_bit32(float, 1_f32.to_bits());
    let parts = vector.map(|part| b.constant_bit32(float, part.to_bits()));
    let value = b.constant_composite(vec4, parts);
    let to_vec4 = b.type_pointer(None, StorageClass::Output, vec4);
    let to_float = b.type_pointer(None, StorageClass::Output, float);
    let output = b.variable(to_vec4, None, StorageClass::Output, None);
    let size = is_vertex.then(|| b.variable(to_float, None, StorageClass::Output, None));
    if let Some(size) = size {
        b.decorate(output, Decoration::BuiltIn, [Operand::BuiltIn(BuiltIn::Position)]);
        b.decorate(size, Decoration::BuiltIn, [Operand::BuiltIn(BuiltIn::PointSize)]);
    } else {
        b.decorate(output, Decoration::Location, [Operand::LiteralBit32(0)]);
    }
    let function = b.type_function(void, []);
    let main = b.begin_function(void, None, FunctionControl::NONE, function).unwrap();
    b.begin_block(None).unwrap();
    b.store(output, value, None, []).unwrap();
    if let Some(size) = size {
        b.store(size, one, None, []).unwrap();
    }
    b.ret().unwrap();
    b.end_function().unwrap();
    let interface: Vec<_> = [output].into_iter().chain(size).collect();
    b.entry_point(model, main, "main", interface);
    if model == ExecutionModel::Fragment {
        b.execution_mode(main, ExecutionMode::OriginUpperLeft, []);
    }
    b.module().assemble()
}

/// Returns a vertex shader of a point in the middle.
pub fn vertex() -> Vec<u32> {
    stores(ExecutionModel::Vertex, &[], [0.0, 0.0, 0.0, 1.0], true)
}

/// Returns a fragment shader that is magenta. It declares what it does not use.
pub fn fragment(capabilities: &[Capability]) -> Vec<u32> {
    stores(ExecutionModel::Fragment, capabilities, [1.0, 0.0, 1.0, 1.0], false)
}

/// Returns a geometry shader without vertices.
pub fn geometry() -> Vec<u32> {
    let mut b = Builder::new();
    b.set_version(1, 0);
    b.capability(Capability::Geometry);
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let void = b.type_void();
    let function = b.type_function(void, []);
    let main = b.begin_function(void, None, FunctionControl::NONE, function).unwrap();
    b.begin_block(None).unwrap();
    b.ret().unwrap();
    b.end_function().unwrap();
    b.entry_point(ExecutionModel::Geometry, main, "main", []);
    for (mode, values) in [
        (ExecutionMode::InputPoints, &[][..]),
        (ExecutionMode::Invocations, &[1]),
        (ExecutionMode::OutputPoints, &[]),
        (ExecutionMode::OutputVertices, &[1]),
    ] {
        b.execution_mode(main, mode, values);
    }
    b.module().assemble()
}
