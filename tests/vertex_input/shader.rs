//! Vertex shaders that capture the bits of their attributes, assembled without a compiler.

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{
    AddressingModel, Capability, Decoration, ExecutionMode, ExecutionModel, FunctionControl,
    MemoryModel, StorageClass,
};
use vkxfb::vertex_input::NumericClass;

/// An input variable, all components of which are captured.
#[derive(Debug, Clone, Copy)]
pub struct Input {
    pub location: u32,
    /// The `Component` decoration, in dwords.
    pub component: u32,
    pub class: NumericClass,
    /// The number of bits of a component.
    pub bits: u32,
    /// The number of components.
    pub count: u32,
}

impl Input {
    /// Returns the number of dwords that the input captures.
    pub fn dwords(&self) -> u32 {
        self.count * self.bits / 32
    }
}

/// Returns the size of a record in bytes.
pub fn stride(inputs: &[Input]) -> u32 {
    inputs.iter().map(Input::dwords).sum::<u32>() * 4
}

/// Returns a shader that captures its inputs to buffer 0, one after the other.
pub fn assemble(inputs: &[Input]) -> Vec<u32> {
    let mut b = Builder::new();
    b.set_version(1, 0);
    b.capability(Capability::Shader);
    b.capability(Capability::TransformFeedback);
    for (class, capability) in [
        (NumericClass::Float, Capability::Float64),
        (NumericClass::Uint, Capability::Int64),
        (NumericClass::Sint, Capability::Int64),
    ] {
        if inputs.iter().any(|input| input.bits == 64 && input.class == class) {
            b.capability(capability);
        }
    }
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let void = b.type_void();
    let procedure = b.type_function(void, vec![]);
    let uint = b.type_int(32, 0);
    let vector = |b: &mut Builder, scalar, count| match count {
        1 => scalar,
        _ => b.type_vector(scalar, count),
    };
    let mut interface = Vec::new();
    let mut variables = Vec::new();
    let (mut offset, mut output_location) = (0, 0);
    for input in inputs {
        let scalar = match input.class {
            NumericClass::Float => b.type_float(input.bits, None),
            NumericClass::Uint => b.type_int(input.bits, 0),
            NumericClass::Sint => b.type_int(input.bits, 1),
        };
        let ty = vector(&mut b, scalar, input.count);
        let pointer = b.type_pointer(None, StorageClass::Input, ty);
        let source = b.variable(pointer, None, StorageClass::Input, None);
        interface.push(source);
        let literal = Operand::LiteralBit32;
        b.decorate(source, Decoration::Location, [literal(input.location)]);
        if input.component > 0 {
            b.decorate(source, Decoration::Component, [literal(input.component)]);
        }
        // Up to four dwords are an output.
        let per_output = 4 / (input.bits / 32);
        let mut outputs = Vec::new();
        for first in (0..input.count).step_by(per_output as usize) {
            let components = per_output.min(input.count - first);
            let dwords = components * input.bits / 32;
            let output_ty = vector(&mut b, uint, dwords);
            let pointer = b.type_pointer(None, StorageClass::Output, output_ty);
            let output = b.variable(pointer, None, StorageClass::Output, None);
            interface.push(output);
            for (decoration, value) in [
                (Decoration::Location, output_location),
                (Decoration::XfbBuffer, 0),
                (Decoration::XfbStride, stride(inputs)),
                (Decoration::Offset, offset),
            ] {
                b.decorate(output, decoration, [literal(value)]);
            }
            output_location += 1;
            offset += dwords * 4;
            outputs.push((output, output_ty, first, components));
        }
        variables.push((input, source, scalar, ty, outputs));
    }
    let main = b.begin_function(void, None, FunctionControl::NONE, procedure).unwrap();
    b.begin_block(None).unwrap();
    for (input, source, scalar, ty, outputs) in variables {
        let value = b.load(ty, None, source, None, []).unwrap();
        for (output, output_ty, first, components) in outputs {
            let part = match components {
                _ if components == input.count => value,
                1 => b.composite_extract(scalar, None, value, [first]).unwrap(),
                _ => {
                    let part_ty = vector(&mut b, scalar, components);
                    let picked = first..first + components;
                    b.vector_shuffle(part_ty, None, value, value, picked).unwrap()
                }
            };
            let bits = match (input.class, input.bits) {
                (NumericClass::Uint, 32) => part,
                _ => b.bitcast(output_ty, None, part).unwrap(),
            };
            b.store(output, bits, None, []).unwrap();
        }
    }
    b.ret().unwrap();
    b.end_function().unwrap();
    b.entry_point(ExecutionModel::Vertex, main, "main", interface);
    b.execution_mode(main, ExecutionMode::Xfb, []);
    b.module().assemble()
}
