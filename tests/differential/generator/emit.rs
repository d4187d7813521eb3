//! Emits the declarations of a generated shader as SPIR-V.

use std::collections::HashMap;

use spirv::{Capability, Decoration, Op, StorageClass};

use super::emit_pushed::Pushed;
use super::interface::{BuiltIn, Captured, Carrier, Item, Shape, Variable};
use super::module::Module;
use super::program::{Expr, Value};
use super::types::{Length, Scalar, Type};
use super::{Attribute, Generated};

/// The ids of everything that the code refers to.
pub struct Emitter<'a> {
    pub module: Module,
    pub shader: &'a Generated,
    types: HashMap<Type, u32>,
    spec_constants: Vec<u32>,
    spec_sums: HashMap<Length, u32>,
    /// The output variables.
    pub outputs: Vec<u32>,
    /// The input variables of the attributes.
    pub attributes: Vec<u32>,
    pub vertex_index: u32,
    pub instance_index: u32,
    pub signed_indices: bool,
    /// The variable and the types of the push constants.
    pub pushed: Option<Pushed>,
    pub(super) interface: Vec<u32>,
}

/// Returns the words of a shader. `signed_indices` says whether the built-in inputs are signed.
pub fn emit(shader: &Generated, signed_indices: bool) -> Vec<u32> {
    let mut emitter = Emitter {
        module: Module::default(),
        shader,
        types: HashMap::new(),
        spec_constants: Vec::new(),
        spec_sums: HashMap::new(),
        outputs: Vec::new(),
        attributes: Vec::new(),
        vertex_index: 0,
        instance_index: 0,
        signed_indices,
        pushed: None,
        interface: Vec::new(),
    };
    emitter.module.glsl = emitter.module.id();
    emitter.capabilities();
    emitter.declare_spec_constants();
    emitter.declare_inputs();
    emitter.declare_pushed();
    for (number, variable) in shader.interface.variables.iter().enumerate() {
        emitter.declare_output(number, variable);
    }
    let main = emitter.functions();
    emitter.module.words(shader.version, main, &emitter.interface)
}

impl Emitter<'_> {
    fn capabilities(&mut self) {
        let core_layer = self.shader.core_layer;
        self.module.capability(Capability::Shader);
        self.module.capability(Capability::TransformFeedback);
        let has = |which| self.shader.built_in(which).is_some();
        let pushed = self.shader.pushed.as_ref();
        let uses = |test: fn(Scalar) -> bool| {
            self.shader.items().any(|item| item.ty.any_scalar(test))
                || pushed.is_some_and(|block| block.ty.any_scalar(test))
        };
        let [float64, int64] =
            [uses(|s| s == Scalar::F64), uses(|s| s.is_64() && s != Scalar::F64)];
        let (clip, cull) = (has(BuiltIn::ClipDistance), has(BuiltIn::CullDistance));
        let (layer, viewport) = (has(BuiltIn::Layer), has(BuiltIn::ViewportIndex));
        for (used, capability) in [
            (float64, Capability::Float64),
            (int64, Capability::Int64),
            (clip, Capability::ClipDistance),
            (cull, Capability::CullDistance),
            (layer && core_layer, Capability::ShaderLayer),
            (viewport && core_layer, Capability::ShaderViewportIndex),
            ((layer || viewport) && !core_layer, Capability::ShaderViewportIndexLayerEXT),
        ] {
            if used {
                self.module.capability(capability);
            }
        }
        if (layer || viewport) && !core_layer {
            self.module.extensions.push("SPV_EXT_shader_viewport_index_layer");
        }
    }

    fn declare_spec_constants(&mut self) {
        for constant in &self.shader.spec_constants {
            let ty = self.module.ty(Op::TypeInt, &[32, constant.is_signed.into()]);
            let id = self.module.new_value(Op::SpecConstant, ty, &[constant.value]);
            let operands = [id, Decoration::SpecId as u32, constant.id];
            self.module.annotate(Op::Decorate, &operands);
            self.spec_constants.push(id);
        }
    }

    fn declare_inputs(&mut self) {
        let int = self.module.ty(Op::TypeInt, &[32, self.signed_indices.into()]);
        let pointer = self.module.pointer(StorageClass::Input, int);
        let mut index = |which: spirv::BuiltIn| {
            let id = self.module.new_value(Op::Variable, pointer, &[StorageClass::Input as u32]);
            let operands = [id, Decoration::BuiltIn as u32, which as u32];
            self.module.annotate(Op::Decorate, &operands);
            self.interface.push(id);
            id
        };
        self.vertex_index = index(spirv::BuiltIn::VertexIndex);
        self.instance_index = index(spirv::BuiltIn::InstanceIndex);
        for (number, attribute) in self.shader.attributes.iter().enumerate() {
            let Attribute { layout, .. } = attribute;
            let ty = self.ty(&attribute_type(attribute));
            let pointer = self.module.pointer(StorageClass::Input, ty);
            let id = self.module.new_value(Op::Variable, pointer, &[StorageClass::Input as u32]);
            let operands = [id, Decoration::Location as u32, layout.location];
            self.module.annotate(Op::Decorate, &operands);
            self.module.name(id, &format!("in{number}"));
            self.interface.push(id);
            self.attributes.push(id);
        }
    }

    fn declare_output(&mut self, number: usize, variable: &Variable) {
        let initializer = self.shader.program.initializers[number].as_ref();
        let initializer = initializer.map(|value| self.constant(&variable.ty(), value));
        let ty = match &variable.shape {
            Shape::Alone(item) => self.ty(&item.ty),
            Shape::Block { members, array, .. } => {
                let members: Vec<u32> = members.iter().map(|m| self.ty(&m.ty)).collect();
                let block = self.module.new_type(Op::TypeStruct, &members);
                self.decorate_block(number, block, variable);
                match array {
                    Some(length) => {
                        let length = self.module.word(*length);
                        self.module.new_type(Op::TypeArray, &[block, length])
                    }
                    None => block,
                }
            }
        };
        let pointer = self.module.pointer(StorageClass::Output, ty);
        let mut operands = vec![StorageClass::Output as u32];
        operands.extend(initializer);
        let id = self.module.new_value(Op::Variable, pointer, &operands);
        self.module.name(id, &format!("out{number}"));
        self.decorate_variable(id, variable);
        self.outputs.push(id);
        self.interface.push(id);
    }

    fn decorate_block(&mut self, number: usize, block: u32, variable: &Variable) {
        let Shape::Block { members, carrier, .. } = &variable.shape else { return };
        self.module.annotate(Op::Decorate, &[block, Decoration::Block as u32]);
        self.module.name(block, &format!("Block{number}"));
        for (index, member) in (0u32..).zip(members) {
            self.module.member_name(block, index, &format!("member{index}"));
            let mut decorations = interface_decorations(member);
            if let Some(Captured { buffer, offset }) = member.captured {
                if *carrier != Carrier::Whole {
                    decorations.push((Decoration::Offset, offset));
                }
                if *carrier == Carrier::Members {
                    decorations.extend(self.buffer_decorations(buffer));
                }
            }
            for (decoration, value) in decorations {
                let operands = [block, index, decoration as u32, value];
                self.module.annotate(Op::MemberDecorate, &operands);
            }
        }
    }

    fn decorate_variable(&mut self, id: u32, variable: &Variable) {
        let decorations = match &variable.shape {
            Shape::Alone(item) => {
                let mut decorations = interface_decorations(item);
                if let Some(Captured { buffer, offset }) = item.captured {
                    decorations.push((Decoration::Offset, offset));
                    decorations.extend(self.buffer_decorations(buffer));
                }
                decorations
            }
            Shape::Block { members, location, carrier, .. } => {
                let mut decorations = Vec::new();
                decorations.extend(location.map(|l| (Decoration::Location, l)));
                let captured = members.iter().find_map(|m| m.captured);
                match (captured, carrier) {
                    (Some(at), Carrier::Variable) => {
                        decorations.extend(self.buffer_decorations(at.buffer));
                    }
                    (Some(at), Carrier::Whole) => {
                        decorations.push((Decoration::Offset, at.offset));
                        decorations.extend(self.buffer_decorations(at.buffer));
                    }
                    // As glslang does with gl_PerVertex; without an Offset it captures nothing.
                    (None, Carrier::Variable) if self.shader.interface.strides[0].is_some() => {
                        decorations.extend(self.buffer_decorations(0));
                    }
                    _ => {}
                }
                decorations
            }
        };
        for (decoration, value) in decorations {
            self.module.annotate(Op::Decorate, &[id, decoration as u32, value]);
        }
    }

    fn buffer_decorations(&self, buffer: u32) -> [(Decoration, u32); 2] {
        let stride = self.shader.interface.strides[buffer as usize].unwrap();
        [(Decoration::XfbBuffer, buffer), (Decoration::XfbStride, stride)]
    }

    pub fn ty(&mut self, ty: &Type) -> u32 {
        if let Some(id) = self.types.get(ty) {
            return *id;
        }
        let id = match ty {
            Type::Scalar(scalar) => match scalar {
                Scalar::F32 => self.module.ty(Op::TypeFloat, &[32]),
                Scalar::F64 => self.module.ty(Op::TypeFloat, &[64]),
                Scalar::I32 => self.module.ty(Op::TypeInt, &[32, 1]),
                Scalar::U32 => self.module.ty(Op::TypeInt, &[32, 0]),
                Scalar::I64 => self.module.ty(Op::TypeInt, &[64, 1]),
                Scalar::U64 => self.module.ty(Op::TypeInt, &[64, 0]),
            },
            Type::Vector(_, count) => {
                let part = self.ty(&ty.part(0));
                self.module.ty(Op::TypeVector, &[part, *count])
            }
            Type::Matrix(_, columns, _) => {
                let part = self.ty(&ty.part(0));
                self.module.ty(Op::TypeMatrix, &[part, *columns])
            }
            Type::Array(element, length) => {
                let element = self.ty(element);
                let length = self.length(*length);
                self.module.new_type(Op::TypeArray, &[element, length])
            }
            Type::Struct(members) => {
                let members: Vec<u32> = members.iter().map(|m| self.ty(m)).collect();
                self.module.new_type(Op::TypeStruct, &members)
            }
        };
        self.types.insert(ty.clone(), id);
        id
    }

    /// Returns the constant that is a length. Signed constants stay signed: the length of an array
    /// may be signed.
    pub fn length(&mut self, length: Length) -> u32 {
        match length {
            Length::Literal(length) => self.module.word(length),
            Length::Spec(place, _) => self.spec_constants[place],
            Length::SpecSum(place, more, _) => {
                if let Some(id) = self.spec_sums.get(&length) {
                    return *id;
                }
                let uint = self.module.uint();
                let more = self.module.word(more);
                let operands = [Op::IAdd as u32, self.spec_constants[place], more];
                let id = self.module.new_value(Op::SpecConstantOp, uint, &operands);
                self.spec_sums.insert(length, id);
                id
            }
        }
    }

    fn constant(&mut self, ty: &Type, value: &Value) -> u32 {
        let id = self.ty(ty);
        match value {
            Value::Scalar(Expr::Const(scalar, bits)) => self.literal(*scalar, *bits),
            Value::Scalar(other) => panic!("{other:?} is no constant"),
            Value::Composite(parts) => {
                let parts: Vec<u32> =
                    (0..).zip(parts).map(|(i, part)| self.constant(&ty.part(i), part)).collect();
                self.module.constant(Op::ConstantComposite, id, &parts)
            }
        }
    }

    pub fn literal(&mut self, scalar: Scalar, bits: u64) -> u32 {
        let ty = self.ty(&Type::Scalar(scalar));
        let words = [bits as u32, (bits >> 32) as u32];
        let count = if scalar.is_64() { 2 } else { 1 };
        self.module.constant(Op::Constant, ty, &words[..count])
    }
}

pub fn attribute_type(attribute: &Attribute) -> Type {
    match attribute.components {
        1 => Type::Scalar(attribute.scalar),
        count => Type::Vector(attribute.scalar, count),
    }
}

/// Returns all decorations except those for transform feedback.
fn interface_decorations(item: &Item) -> Vec<(Decoration, u32)> {
    let mut decorations = Vec::new();
    if let Some(which) = item.built_in {
        let which = match which {
            BuiltIn::Position => spirv::BuiltIn::Position,
            BuiltIn::PointSize => spirv::BuiltIn::PointSize,
            BuiltIn::ClipDistance => spirv::BuiltIn::ClipDistance,
            BuiltIn::CullDistance => spirv::BuiltIn::CullDistance,
            BuiltIn::Layer => spirv::BuiltIn::Layer,
            BuiltIn::ViewportIndex => spirv::BuiltIn::ViewportIndex,
        };
        decorations.push((Decoration::BuiltIn, which as u32));
    }
    decorations.extend(item.location.map(|l| (Decoration::Location, l)));
    decorations.extend(item.component.map(|c| (Decoration::Component, c)));
    decorations
}
