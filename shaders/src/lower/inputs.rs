//! This module generates the code that sets the inputs of a shader that was turned into a compute
//! shader, such as the body of `set_inputs` for vertex shaders.
//!
//! Every input variable has become `Private`, and is set before the shader runs: attributes by
//! vertex pulling, most built-ins from parameters of the function or from the sysvals. Built-ins
//! that compute shaders also have are copied from the compute shader's inputs.

mod attribute;
pub(super) mod parts;

use spirv::{BuiltIn, Op, StorageClass};

use self::parts::{Constituents, InputPart, constituents, parts};
use super::functions::Function;
use super::interface::built_in;
use super::{LowerError, LoweredAttribute};
use crate::spirv::Id;
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::emit::Code;
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::link::Linker;
use crate::spirv::types::numeric_vector;
use crate::vertex_input::VertexInput;

/// The inputs of a shader that will run as a compute shader.
pub(super) struct Inputs<'a> {
    declarations: &'a Declarations,
    vertex_input: &'a VertexInput,
    /// Whether all attributes are loaded by bytes.
    unaligned_attributes: bool,
    variables: Vec<Variable>,
    /// The size of the push constants before the first attribute descriptor in
    /// [`Sysvals::table`](crate::sysval::Sysvals::table), in units of 16 bytes (the size of a descriptor).
    first_in_table: u32,
    /// The attributes that the generated code reads, in the order of their descriptors.
    pub(super) attributes: Vec<LoweredAttribute>,
    /// Input variables of the compute shader that built-ins are copied from.
    pub(super) interface: Vec<Id>,
}

#[derive(Debug, Clone, Copy)]
struct Indices {
    vertex: Id,
    instance: Id,
}

impl<'a> Inputs<'a> {
    /// Lists the input variables in the interface of the vertex shader `entry`. `unaligned_attributes` is
    /// [`Options::unaligned_attributes`](super::compute::Options::unaligned_attributes). `first_in_table` is
    /// the size of the push constants before the first attribute descriptor in the table of the
    /// sysvals, in units of 16 bytes.
    pub(super) fn new(
        declarations: &'a Declarations,
        entry: &EntryPoint,
        vertex_input: &'a VertexInput,
        unaligned_attributes: bool,
        first_in_table: u32,
    ) -> Self {
        Self {
            declarations,
            vertex_input,
            unaligned_attributes,
            first_in_table,
            variables: declarations
                .variables(StorageClass::Input)
                .filter(|variable| entry.interface.contains(&variable.id))
                .copied()
                .collect(),
            attributes: Vec::new(),
            interface: Vec::new(),
        }
    }

    /// Takes `variables`, those inputs of a stage after the vertex shader that have one value per run of the stage, not
    /// one per vertex. They have to be built-ins: for other variables, [`set_given`](Self::set_given) fails.
    pub(super) fn of_stage(
        declarations: &'a Declarations,
        variables: impl Iterator<Item = &'a Variable>,
        vertex_input: &'a VertexInput,
    ) -> Self {
        Self {
            declarations,
            vertex_input,
            unaligned_attributes: false,
            first_in_table: 0,
            variables: variables.copied().collect(),
            attributes: Vec::new(),
            interface: Vec::new(),
        }
    }

    /// Generates the body of the function that sets the inputs of a stage after the vertex shader.
    /// `given` are the built-ins whose values are parameters of the function or constants.
    pub(super) fn set_given(
        &mut self,
        linker: &mut Linker<'_, '_>,
        given: &[(BuiltIn, Id)],
    ) -> Result<Code, LowerError> {
        let mut code = Code::default();
        for variable in std::mem::take(&mut self.variables) {
            let which =
                built_in(self.declarations, variable.id).ok_or_else(|| LowerError::PassedType {
                    variable: self.label(&variable),
                    ty: self.declarations.type_name(variable.pointee),
                })?;
            let value = self.built_in(linker, &mut code, &variable, which, given)?;
            code.push(Op::Store, &[variable.id.0, value.0]);
        }
        code.push(Op::Return, &[]);
        Ok(code)
    }

    /// Generates the body of `set_inputs(vertex_index, instance_index)`.
    pub(super) fn set(
        &mut self,
        linker: &mut Linker<'_, '_>,
        vertex_index: Id,
        instance_index: Id,
    ) -> Result<Code, LowerError> {
        let mut code = Code::default();
        let indices = Indices { vertex: vertex_index, instance: instance_index };
        let given =
            [(BuiltIn::VertexIndex, vertex_index), (BuiltIn::InstanceIndex, instance_index)];
        for variable in std::mem::take(&mut self.variables) {
            let value = match built_in(self.declarations, variable.id) {
                Some(which) => self.built_in(linker, &mut code, &variable, which, &given)?,
                None => {
                    let parts = &mut parts(self.declarations, &variable)?.into_iter();
                    self.value(linker, &mut code, indices, &variable, variable.pointee, parts)?
                }
            };
            code.push(Op::Store, &[variable.id.0, value.0]);
        }
        code.push(Op::Return, &[]);
        Ok(code)
    }

    fn label(&self, variable: &Variable) -> String {
        self.declarations.label(variable.id)
    }

    fn built_in(
        &mut self,
        linker: &mut Linker<'_, '_>,
        code: &mut Code,
        variable: &Variable,
        which: u32,
        given: &[(BuiltIn, Id)],
    ) -> Result<Id, LowerError> {
        let ty = variable.pointee;
        let mut sysval = |code: &mut Code, function: Function| -> Result<Id, LowerError> {
            let function = function.id(linker)?;
            let uint = linker.builder.uint();
            Ok(code.call(&mut linker.builder, uint, function, &[]))
        };
        let value = match BuiltIn::from_u32(which) {
            Some(which) if let Some((_, value)) = given.iter().find(|(b, _)| *b == which) => *value,
            Some(BuiltIn::BaseVertex) => sysval(code, Function::BaseVertex)?,
            Some(BuiltIn::BaseInstance) => sysval(code, Function::BaseInstance)?,
            Some(BuiltIn::DrawIndex) => sysval(code, Function::DrawIndex)?,
            // A capture never uses multiview.
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
                let is_mask = self.declarations.vector(ty).is_some_and(|(_, count)| count > 1);
                let unsigned = if is_mask { builder.uvec(4) } else { builder.uint() };
                let input = builder.built_in(which, unsigned);
                self.interface.push(input);
                let value = code.value(builder, Op::Load, unsigned, &[input.0]);
                return Ok(if unsigned == ty {
                    value
                } else {
                    code.value(builder, Op::Bitcast, ty, &[value.0])
                });
            }
            known => {
                return Err(LowerError::BuiltIn {
                    variable: self.label(variable),
                    built_in: known.map_or_else(|| which.to_string(), |b| format!("{b:?}")),
                });
            }
        };
        Ok(match self.declarations.ty(ty) {
            Some(Type::Int { signed: true, .. }) => {
                code.value(&mut linker.builder, Op::Bitcast, ty, &[value.0])
            }
            _ => value,
        })
    }

    /// Generates a value of the type `ty`, which is the type of `variable`, or of a column, element or member of it.
    /// Takes the scalars and vectors of which the value consists from `parts`.
    fn value<'v>(
        &mut self,
        linker: &mut Linker<'_, '_>,
        code: &mut Code,
        indices: Indices,
        variable: &Variable,
        ty: Id,
        parts: &mut impl Iterator<Item = InputPart<'v>>,
    ) -> Result<Id, LowerError> {
        let unsupported = || LowerError::InputType {
            variable: self.declarations.label(variable.id),
            ty: self.declarations.type_name(ty),
        };
        if numeric_vector(self.declarations, ty).is_some() {
            let part = parts.next().ok_or_else(unsupported)?;
            return self.attribute(linker, code, indices, &part);
        }
        let types: Vec<Id> = match constituents(self.declarations, ty).ok_or_else(unsupported)? {
            Constituents::Same(ty, count) => vec![ty; count as usize],
            Constituents::Members(members) => members.to_vec(),
        };
        let mut values = Vec::with_capacity(types.len());
        for ty in types {
            values.push(self.value(linker, code, indices, variable, ty, parts)?.0);
        }
        Ok(code.value(&mut linker.builder, Op::CompositeConstruct, ty, &values))
    }
}
