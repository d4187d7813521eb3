//! The outputs of a drawn shader: for each output that the geometry shader declares, a variable in `Output` with the same
//! type and decorations. What the geometry shader writes goes to variables that have become `Private`, and is copied where
//! it emits the wanted vertex.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{BuiltIn, Capability, Decoration, Op, StorageClass};

use crate::lower::LowerError;
use crate::lower::drawn::Options;
use crate::lower::drawn::fragment::add_layer_capability;
use crate::lower::interface::{built_in, interface_types};
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::{Id, Instruction, Module, Section};

/// Decorations that the copies do not have: those of transform feedback, and of vertex streams.
const LEFT_OUT: [Decoration; 4] =
    [Decoration::XfbBuffer, Decoration::XfbStride, Decoration::Offset, Decoration::Stream];

/// A coordinate far outside of the clip volume, as a float: -2^20. Some devices do not clip points whose centre is only
/// just outside.
const FAR: f32 = -1_048_576.0;

/// The outputs of the geometry shader, as they are before they become `Private`.
pub(super) struct OutputPlan {
    variables: Vec<Variable>,
    /// The output `PrimitiveId`, which has no copy of its own.
    primitive_id: Option<Variable>,
    /// The built-in members of structures that no code writes, by variable and number.
    unwritten: FxHashSet<(Id, u32)>,
    /// The decorations of the variables and of their structures, as operands of `OpDecorate` and `OpMemberDecorate`.
    decorations: FxHashMap<Id, Vec<(Op, Vec<u32>)>>,
}

impl OutputPlan {
    /// # Errors
    /// [`LowerError::NotDrawn`]
    pub(super) fn of(
        module: &Module,
        declarations: &Declarations,
        geometry: &EntryPoint,
        options: &Options<'_>,
    ) -> Result<Self, LowerError> {
        let is_kept = |variable: &&Variable| {
            geometry.interface.contains(&variable.id)
                && match built_in(declarations, variable.id).and_then(BuiltIn::from_u32) {
                    // Vertex shaders have no such output.
                    Some(BuiltIn::PrimitiveId) => false,
                    Some(BuiltIn::Layer | BuiltIn::ViewportIndex) => options.layer_outputs,
                    _ => true,
                }
        };
        let outputs = || declarations.variables(StorageClass::Output);
        let variables: Vec<Variable> = outputs().filter(is_kept).copied().collect();
        let is_primitive_id = |variable: &&Variable| {
            geometry.interface.contains(&variable.id)
                && built_in(declarations, variable.id) == Some(BuiltIn::PrimitiveId as u32)
        };
        let primitive_id = outputs().find(is_primitive_id).copied();
        for variable in &variables {
            if has_narrow_components(declarations, variable.pointee) {
                return Err(LowerError::NotDrawn("outputs with 8-bit or 16-bit components"));
            }
        }
        let mut decorated = interface_types(declarations, &[StorageClass::Output]);
        decorated.extend(variables.iter().map(|variable| variable.id));
        let mut decorations: FxHashMap<Id, Vec<(Op, Vec<u32>)>> = FxHashMap::default();
        for i in module.section(Section::Annotations) {
            let decoration = match i.op() {
                Some(Op::Decorate) => i.operand(1),
                Some(Op::MemberDecorate) => i.operand(2),
                _ => continue,
            };
            let is_left_out = LEFT_OUT.iter().any(|left_out| *left_out as u32 == decoration);
            if let Some(op) = i.op()
                && decorated.contains(&i.id(0))
                && !is_left_out
            {
                decorations.entry(i.id(0)).or_default().push((op, i.operands().to_vec()));
            }
        }
        let unwritten = unwritten_members(module, declarations, &variables);
        Ok(Self { variables, primitive_id, unwritten, decorations })
    }

    /// Declares the copies. The outputs of the geometry shader, whose primitives have `vertices` vertices, have become
    /// `Private`.
    pub(super) fn declare(
        self,
        module: &mut Module,
        declarations: &Declarations,
        vertices: u32,
        options: &Options<'_>,
    ) -> DrawnOutputs {
        let builder = &mut Builder::new(module);
        let mut copies = Vec::new();
        let mut types = FxHashMap::default();
        for variable in &self.variables {
            let ty = self.copied_type(builder, declarations, &mut types, variable.pointee);
            let output = builder.variable(StorageClass::Output, ty);
            self.decorate(builder, variable.id, output);
            copies.push(CopiedOutput { from: *variable, to: output });
        }
        let mut outputs =
            DrawnOutputs { copies, types, unwritten: self.unwritten, ..DrawnOutputs::default() };
        outputs.position = outputs.place_of(declarations, BuiltIn::Position);
        if vertices == 1 {
            outputs.declare_point_size(builder, declarations);
        }
        outputs.primitive_id = options.primitive_id.map(|input| {
            let ty = if input.signed { builder.int() } else { builder.uint() };
            let to = builder.variable(StorageClass::Output, ty);
            builder.decorate(to, Decoration::Location, &[input.location]);
            builder.decorate(to, Decoration::Flat, &[]);
            DrawnPrimitiveId { from: self.primitive_id, to, ty }
        });
        outputs.add_capabilities(builder.module, declarations);
        outputs
    }

    /// Returns a type equal to `ty`, with copies of the structures in it, because only these may have decorations.
    fn copied_type(
        &self,
        builder: &mut Builder<'_>,
        declarations: &Declarations,
        types: &mut FxHashMap<Id, Id>,
        ty: Id,
    ) -> Id {
        if let Some(copied) = types.get(&ty) {
            return *copied;
        }
        let copied = match declarations.ty(ty) {
            Some(Type::Array { element, length }) => {
                let copied = self.copied_type(builder, declarations, types, *element);
                if copied == *element {
                    ty
                } else {
                    builder.declare_new(Op::TypeArray, &[copied.0, length.0])
                }
            }
            Some(Type::Struct { members }) => {
                let members = members.iter();
                let members: Vec<u32> = members
                    .map(|member| self.copied_type(builder, declarations, types, *member).0)
                    .collect();
                let copied = builder.declare_new(Op::TypeStruct, &members);
                self.decorate(builder, ty, copied);
                copied
            }
            _ => ty,
        };
        types.insert(ty, copied);
        copied
    }

    fn decorate(&self, builder: &mut Builder<'_>, from: Id, to: Id) {
        for (op, operands) in self.decorations.get(&from).into_iter().flatten() {
            let operands = [&[to.0], operands.get(1..).unwrap_or_default()].concat();
            builder.module.push(Section::Annotations, *op, &operands);
        }
    }
}

/// An output, and the `Private` variable that the geometry shader writes.
#[derive(Debug, Clone, Copy)]
struct CopiedOutput {
    from: Variable,
    to: Id,
}

/// The output at a location that has the `PrimitiveId` of the geometry shader.
#[derive(Debug, Clone, Copy)]
struct DrawnPrimitiveId {
    /// The `Private` variable that the geometry shader writes, if it does.
    from: Option<Variable>,
    to: Id,
    ty: Id,
}

/// An output variable, or a member of one.
#[derive(Debug, Clone, Copy)]
struct OutputPlace {
    variable: Id,
    member: Option<u32>,
}

/// The outputs of a drawn shader.
#[derive(Debug, Default)]
pub(super) struct DrawnOutputs {
    copies: Vec<CopiedOutput>,
    /// The types of the outputs, by those of the `Private` variables.
    types: FxHashMap<Id, Id>,
    unwritten: FxHashSet<(Id, u32)>,
    position: Option<OutputPlace>,
    /// Where the size of points is stored that the geometry shader does not write.
    point_size: Option<OutputPlace>,
    /// A variable for the size, if the geometry shader declares none.
    own_point_size: Option<Id>,
    primitive_id: Option<DrawnPrimitiveId>,
}

impl DrawnOutputs {
    pub(super) fn variables(&self) -> impl Iterator<Item = Id> {
        let copies = self.copies.iter().map(|copy| copy.to);
        copies.chain(self.own_point_size).chain(self.primitive_id.map(|output| output.to))
    }

    /// Generates the copies from the variables that the geometry shader writes to the outputs.
    pub(super) fn keep(&self, builder: &mut Builder<'_>, declarations: &Declarations) -> Code {
        let mut code = Code::default();
        for copy in &self.copies {
            let CopiedOutput { from, to } = *copy;
            self.copy(builder, &mut code, declarations, [from.id, to], from.pointee, Some(from.id));
        }
        if let Some(DrawnPrimitiveId { from, to, ty }) = self.primitive_id {
            let mut value = builder.declare(Op::ConstantNull, &[ty.0]);
            if let Some(from) = from {
                value = code.value(builder, Op::Load, from.pointee, &[from.id.0]);
                if from.pointee != ty {
                    value = code.value(builder, Op::Bitcast, ty, &[value.0]);
                }
            }
            code.push(Op::Store, &[to.0, value.0]);
        }
        if let Some(place) = self.point_size {
            let one = float(builder, 1.0);
            store(builder, &mut code, place, one.ty, one.value);
        }
        code.push(Op::Return, &[]);
        code
    }

    /// Generates the copy of a value of the type `ty` from one pointer to another. `variable` is the variable that the
    /// first one points to as a whole.
    fn copy(
        &self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        declarations: &Declarations,
        pointers: [Id; 2],
        ty: Id,
        variable: Option<Id>,
    ) {
        let parts = match declarations.ty(ty) {
            // A structure has another type as an output.
            _ if self.types.get(&ty) == Some(&ty) => None,
            Some(Type::Struct { members }) => Some(members.clone()),
            Some(Type::Array { element, length }) => {
                let length = declarations.constant(*length).unwrap_or(0);
                Some(vec![*element; length as usize])
            }
            _ => None,
        };
        let Some(parts) = parts else {
            let value = code.value(builder, Op::Load, ty, &[pointers[0].0]);
            code.push(Op::Store, &[pointers[1].0, value.0]);
            return;
        };
        for (number, part) in (0u32..).zip(parts) {
            if variable.is_some_and(|variable| self.unwritten.contains(&(variable, number))) {
                continue;
            }
            let index = builder.constant(number);
            let copied = self.types.get(&part).copied().unwrap_or(part);
            let types = [(StorageClass::Private, part), (StorageClass::Output, copied)];
            let mut inner = pointers;
            for (pointer, (storage, ty)) in inner.iter_mut().zip(types) {
                let pointer_type = builder.pointer(storage, ty);
                *pointer =
                    code.value(builder, Op::AccessChain, pointer_type, &[pointer.0, index.0]);
            }
            self.copy(builder, code, declarations, inner, part, None);
        }
    }

    /// Generates a store of a position far outside of the clip volume.
    pub(super) fn drop(&self, builder: &mut Builder<'_>) -> Code {
        let mut code = Code::default();
        if let Some(place) = self.position {
            let (far, one) = (float(builder, FAR), float(builder, 1.0));
            let ty = builder.declare(Op::TypeVector, &[far.ty.0, 4]);
            let parts = [ty.0, far.value.0, far.value.0, far.value.0, one.value.0];
            let value = builder.declare(Op::ConstantComposite, &parts);
            store(builder, &mut code, place, ty, value);
        }
        code.push(Op::Return, &[]);
        code
    }

    /// Returns where a built-in is among the outputs.
    fn place_of(&self, declarations: &Declarations, which: BuiltIn) -> Option<OutputPlace> {
        let which = which as u32;
        self.copies.iter().find_map(|copy| {
            let Variable { id, pointee, .. } = copy.from;
            let variable = copy.to;
            if built_in(declarations, id) == Some(which) {
                return Some(OutputPlace { variable, member: None });
            }
            let member = member_of(declarations, pointee, which)?;
            Some(OutputPlace { variable, member: Some(member) })
        })
    }

    /// Whether the geometry shader writes a built-in.
    fn is_written(&self, declarations: &Declarations, which: BuiltIn) -> bool {
        self.copies.iter().any(|CopiedOutput { from, .. }| {
            built_in(declarations, from.id) == Some(which as u32)
                || member_of(declarations, from.pointee, which as u32)
                    .is_some_and(|member| !self.unwritten.contains(&(from.id, member)))
        })
    }

    /// Points have the size 1 if the geometry shader writes none.
    fn declare_point_size(&mut self, builder: &mut Builder<'_>, declarations: &Declarations) {
        if self.is_written(declarations, BuiltIn::PointSize) {
            return;
        }
        self.point_size = self.place_of(declarations, BuiltIn::PointSize);
        if self.point_size.is_none() {
            let ty = float(builder, 1.0).ty;
            let variable = builder.variable(StorageClass::Output, ty);
            builder.decorate(variable, Decoration::BuiltIn, &[BuiltIn::PointSize as u32]);
            self.own_point_size = Some(variable);
            self.point_size = Some(OutputPlace { variable, member: None });
        }
    }

    /// Adds the capabilities that vertex shaders need for built-in outputs.
    fn add_capabilities(&self, module: &mut Module, declarations: &Declarations) {
        for (which, capability) in [
            (BuiltIn::ClipDistance, Capability::ClipDistance),
            (BuiltIn::CullDistance, Capability::CullDistance),
            (BuiltIn::Layer, Capability::ShaderLayer),
            (BuiltIn::ViewportIndex, Capability::ShaderViewportIndex),
        ] {
            if !self.is_written(declarations, which) {
                continue;
            }
            if matches!(which, BuiltIn::Layer | BuiltIn::ViewportIndex) {
                add_layer_capability(module, capability);
            } else {
                module.add_capability(capability);
            }
        }
    }
}

struct Float {
    ty: Id,
    value: Id,
}

fn float(builder: &mut Builder<'_>, value: f32) -> Float {
    let ty = builder.declare(Op::TypeFloat, &[32]);
    Float { ty, value: builder.declare(Op::Constant, &[ty.0, value.to_bits()]) }
}

fn store(builder: &mut Builder<'_>, code: &mut Code, place: OutputPlace, ty: Id, value: Id) {
    let mut pointer = place.variable;
    if let Some(member) = place.member {
        let index = builder.constant(member);
        let pointer_type = builder.pointer(StorageClass::Output, ty);
        pointer = code.value(builder, Op::AccessChain, pointer_type, &[pointer.0, index.0]);
    }
    code.push(Op::Store, &[pointer.0, value.0]);
}

/// Returns the member of a structure that is a built-in.
fn member_of(declarations: &Declarations, ty: Id, which: u32) -> Option<u32> {
    let Some(Type::Struct { members }) = declarations.ty(ty) else { return None };
    (0..members.len() as u32).find(|member| {
        declarations.member_decoration_value(ty, *member, Decoration::BuiltIn) == Some(which)
    })
}

/// Returns the built-in members of outputs that no code accesses. glslang declares all members of `gl_PerVertex`, also
/// those that the device may not support.
fn unwritten_members(
    module: &Module,
    declarations: &Declarations,
    variables: &[Variable],
) -> FxHashSet<(Id, u32)> {
    let mut unwritten = FxHashSet::default();
    for variable in variables {
        let Some(Type::Struct { members }) = declarations.ty(variable.pointee) else { continue };
        let is_built_in = |member: &u32| {
            let ty = variable.pointee;
            declarations.member_decoration(ty, *member, Decoration::BuiltIn).is_some()
        };
        let members = (0..members.len() as u32).filter(is_built_in);
        unwritten.extend(members.map(|member| (variable.id, member)));
    }
    for i in module.section(Section::Functions) {
        let is_chain = matches!(i.op(), Some(Op::AccessChain | Op::InBoundsAccessChain));
        for variable in variables.iter().filter(|variable| mentions(i, variable.id)) {
            let member = declarations.constant(i.id(3)).filter(|_| is_chain);
            unwritten.retain(|(id, number)| {
                *id != variable.id || member.is_some_and(|member| member != *number)
            });
        }
    }
    unwritten
}

fn mentions(i: Instruction<'_>, id: Id) -> bool {
    i.operands().contains(&id.0)
}

/// Whether a type has components of less than 32 bits.
fn has_narrow_components(declarations: &Declarations, ty: Id) -> bool {
    match declarations.ty(ty) {
        Some(Type::Int { width, .. } | Type::Float { width, .. }) => *width < 32,
        Some(
            Type::Vector { component: part, .. }
            | Type::Matrix { column: part, .. }
            | Type::Array { element: part, .. },
        ) => has_narrow_components(declarations, *part),
        Some(Type::Struct { members }) => {
            members.iter().any(|member| has_narrow_components(declarations, *member))
        }
        _ => false,
    }
}
