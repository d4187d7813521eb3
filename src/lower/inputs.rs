//! Where the inputs of a shader come from, once it is a compute shader: the body of `set_inputs`.
//!
//! Every input variable has become a `Private` one, and is set before the shader runs: built-ins from
//! the sysvals, attributes by vertex pulling, what a compute shader has too from itself.

use spirv::{BuiltIn, Decoration, Op, StorageClass};

use super::LowerError;
use super::interface::{Place, built_in, input_place, label};
use crate::capture::{describe, numeric_vector};
use crate::spirv::Id;
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::link::Linker;
use crate::vertex_input::{InputRate, NumericClass, VertexInput};

/// The inputs of a shader that is to run as a compute shader.
pub(super) struct Inputs<'a> {
    declarations: &'a Declarations,
    vertex_input: &'a VertexInput,
    variables: Vec<Variable>,
    /// Location of each descriptor slot.
    pub(super) attribute_locations: Vec<u32>,
    /// Real input variables of the compute shader that built-ins are copied from.
    pub(super) interface: Vec<Id>,
}

/// What fetches need to know.
struct Fetch {
    function: Id,
    vertex_index: Id,
    instance_index: Id,
}

impl<'a> Inputs<'a> {
    /// The inputs as the vertex shader declared them. What is not in its interface it does not read.
    pub(super) fn new(
        declarations: &'a Declarations,
        entry: &EntryPoint,
        vertex_input: &'a VertexInput,
    ) -> Self {
        Self {
            declarations,
            vertex_input,
            variables: declarations
                .variables(StorageClass::Input)
                .filter(|variable| entry.interface.contains(&variable.id))
                .copied()
                .collect(),
            attribute_locations: Vec::new(),
            interface: Vec::new(),
        }
    }

    /// The body of `set_inputs(vertex_index, instance_index)`.
    pub(super) fn set(
        &mut self,
        linker: &mut Linker<'_, '_>,
        vertex_index: Id,
        instance_index: Id,
    ) -> Result<Code, LowerError> {
        let mut code = Code::default();
        for variable in std::mem::take(&mut self.variables) {
            let value = match built_in(self.declarations, variable.id) {
                Some(which) => self.built_in(
                    linker,
                    &mut code,
                    &variable,
                    which,
                    vertex_index,
                    instance_index,
                )?,
                None => {
                    let Place { location, component } = input_place(self.declarations, &variable)?;
                    let fetch =
                        Fetch { function: linker.function("fetch")?, vertex_index, instance_index };
                    let builder = &mut linker.builder;
                    let ty = variable.pointee;
                    self.value(builder, &mut code, &fetch, &variable, ty, location, component)?.0
                }
            };
            code.push(Op::Store, &[variable.id.0, value.0]);
        }
        code.push(Op::Return, &[]);
        Ok(code)
    }

    fn label(&self, variable: &Variable) -> String {
        label(self.declarations, variable.id)
    }

    fn built_in(
        &mut self,
        linker: &mut Linker<'_, '_>,
        code: &mut Code,
        variable: &Variable,
        which: u32,
        vertex_index: Id,
        instance_index: Id,
    ) -> Result<Id, LowerError> {
        let ty = variable.pointee;
        let mut sysval = |code: &mut Code, name: &str| -> Result<Id, LowerError> {
            let function = linker.function(name)?;
            let uint = linker.builder.uint();
            Ok(code.call(&mut linker.builder, uint, function, &[]))
        };
        let value = match BuiltIn::from_u32(which) {
            Some(BuiltIn::VertexIndex) => vertex_index,
            Some(BuiltIn::InstanceIndex) => instance_index,
            Some(BuiltIn::BaseVertex) => sysval(code, "base_vertex")?,
            Some(BuiltIn::BaseInstance) => sysval(code, "base_instance")?,
            Some(BuiltIn::DrawIndex) => sysval(code, "draw_index")?,
            // A capture is never multiview.
            Some(BuiltIn::ViewIndex) => linker.builder.constant(0),
            Some(
                which @ (BuiltIn::DeviceIndex
                | BuiltIn::SubgroupSize
                | BuiltIn::SubgroupLocalInvocationId
                | BuiltIn::SubgroupEqMask
                | BuiltIn::SubgroupGeMask
                | BuiltIn::SubgroupGtMask
                | BuiltIn::SubgroupLeMask
                | BuiltIn::SubgroupLtMask),
            ) => {
                let builder = &mut linker.builder;
                let input = builder.variable(StorageClass::Input, ty);
                builder.decorate(input, Decoration::BuiltIn, &[which as u32]);
                self.interface.push(input);
                return Ok(code.value(builder, Op::Load, ty, &[input.0]));
            }
            known => {
                return Err(LowerError::BuiltIn {
                    variable: self.label(variable),
                    built_in: known.map_or_else(|| which.to_string(), |b| format!("{b:?}")),
                });
            }
        };
        Ok(match self.declarations.ty(ty) {
            Some(Type::Int { signed: false, .. }) => value,
            _ => code.value(&mut linker.builder, Op::Bitcast, ty, &[value.0]),
        })
    }

    /// A value of a type that starts at a location, and the locations that it takes.
    #[allow(clippy::too_many_arguments, reason = "a recursion over types; the rest is context")]
    fn value(
        &mut self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        fetch: &Fetch,
        variable: &Variable,
        ty: Id,
        location: u32,
        component: u32,
    ) -> Result<(Id, u32), LowerError> {
        let unsupported = || LowerError::InputType {
            variable: self.label(variable),
            ty: describe(self.declarations, ty),
        };
        if let Some((class, count)) = numeric_vector(self.declarations, ty) {
            let bits =
                self.fetch(builder, code, fetch, variable, class, location, component, count)?;
            let value = match class {
                NumericClass::Uint => bits,
                _ => code.value(builder, Op::Bitcast, ty, &[bits.0]),
            };
            return Ok((value, 1));
        }
        let (part, count) = match self.declarations.ty(ty) {
            Some(Type::Matrix { column, count }) => (*column, *count),
            Some(Type::Array { element, length }) => {
                (*element, self.declarations.constant(*length).ok_or_else(unsupported)?)
            }
            _ => return Err(unsupported()),
        };
        let mut at = location;
        let mut parts = Vec::new();
        for _ in 0..count {
            let (value, locations) =
                self.value(builder, code, fetch, variable, part, at, component)?;
            parts.push(value.0);
            at += locations;
        }
        Ok((code.value(builder, Op::CompositeConstruct, ty, &parts), at - location))
    }

    /// Components of the attribute at a location, as `u32`s.
    #[allow(clippy::too_many_arguments, reason = "see value")]
    fn fetch(
        &mut self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        fetch: &Fetch,
        variable: &Variable,
        class: NumericClass,
        location: u32,
        component: u32,
        count: u32,
    ) -> Result<Id, LowerError> {
        let missing = |missing: String| LowerError::NoAttribute {
            variable: self.label(variable),
            location,
            missing,
        };
        let attribute =
            self.vertex_input.attribute(location).ok_or_else(|| missing("attribute".to_owned()))?;
        let binding = self
            .vertex_input
            .binding(attribute.binding)
            .ok_or_else(|| missing(format!("binding {}", attribute.binding)))?;
        if attribute.format.class() != class {
            return Err(LowerError::AttributeClass {
                variable: self.label(variable),
                location,
                expected: class,
                found: attribute.format.class(),
            });
        }
        let slot = match self.attribute_locations.iter().position(|l| *l == location) {
            Some(slot) => slot,
            None => {
                self.attribute_locations.push(location);
                self.attribute_locations.len() - 1
            }
        };
        let element = match binding.input_rate {
            InputRate::Vertex => fetch.vertex_index,
            InputRate::Instance => fetch.instance_index,
        };
        let one = match class {
            NumericClass::Float => 1f32.to_bits(),
            NumericClass::Uint | NumericClass::Sint => 1,
        };
        let arguments = [
            builder.constant(slot as u32),
            element,
            builder.constant(attribute.format.components()),
            builder.constant(one),
        ];
        let uvec4 = builder.uvec(4);
        let all = code.call(builder, uvec4, fetch.function, &arguments);
        let ty = builder.uvec(count);
        Ok(match count {
            4 => all,
            1 => code.value(builder, Op::CompositeExtract, ty, &[all.0, component]),
            _ => {
                let mut operands = vec![all.0, all.0];
                operands.extend(component..component + count);
                code.value(builder, Op::VectorShuffle, ty, &operands)
            }
        })
    }
}
