//! What the rewriting passes change of a shader's interface.

use std::collections::HashSet;

use spirv::{BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, Op, StorageClass};

use super::{LowerError, MAX_INPUT_LOCATIONS};
use crate::capture::{describe, numeric_vector};
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::{Id, Instruction, Module, Section, result_of, string_words};

/// A variable's name or id, for messages.
pub(super) fn label(declarations: &Declarations, variable: Id) -> String {
    match declarations.name(variable) {
        Some(name) => format!("'{name}' ({variable})"),
        None => variable.to_string(),
    }
}

/// The built-in that a variable is.
pub(super) fn built_in(declarations: &Declarations, variable: Id) -> Option<u32> {
    declarations.decoration(variable, Decoration::BuiltIn)?.first().copied()
}

/// The input variable of the entry point that is that built-in.
pub(super) fn find_built_in(
    declarations: &Declarations,
    entry: &EntryPoint,
    which: BuiltIn,
) -> Option<Variable> {
    declarations
        .variables(StorageClass::Input)
        .find(|v| {
            entry.interface.contains(&v.id) && built_in(declarations, v.id) == Some(which as u32)
        })
        .copied()
}

/// Where an input that is no built-in begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// `Location`
    pub(super) location: u32,
    /// `Component`
    pub(super) component: u32,
}

/// Location and component of an input. All that it takes is below [`MAX_INPUT_LOCATIONS`], and its type
/// consists of scalars and vectors of 32 or 64 bits a component.
pub(super) fn input_place(
    declarations: &Declarations,
    variable: &Variable,
) -> Result<Place, LowerError> {
    let parameter = |decoration| declarations.decoration(variable.id, decoration)?.first().copied();
    let label = || label(declarations, variable.id);
    let location = parameter(Decoration::Location)
        .ok_or_else(|| LowerError::NoLocation { variable: label() })?;
    let component = parameter(Decoration::Component).unwrap_or(0);
    let locations = locations(declarations, variable.pointee, component)
        .filter(|locations| *locations > 0)
        .ok_or_else(|| LowerError::InputType {
            variable: label(),
            ty: describe(declarations, variable.pointee),
        })?;
    let last = u64::from(location).saturating_add(locations - 1);
    if last >= u64::from(MAX_INPUT_LOCATIONS) {
        return Err(LowerError::LocationLimit {
            variable: label(),
            last,
            max: MAX_INPUT_LOCATIONS,
        });
    }
    Ok(Place { location, component })
}

/// Locations that a type takes, if attributes can fill it from `component` on.
fn locations(declarations: &Declarations, ty: Id, component: u32) -> Option<u64> {
    if let Some((_, bits, count)) = numeric_vector(declarations, ty) {
        let dwords = count * bits / 32;
        let is_aligned = component.is_multiple_of(bits / 32);
        // What takes two locations starts at the front of the first.
        let fits = component.saturating_add(dwords) <= 4 || (component == 0 && dwords <= 8);
        return Some(dwords.div_ceil(4).into()).filter(|_| is_aligned && fits);
    }
    let (part, count) = match declarations.ty(ty)? {
        Type::Matrix { column, count } => (*column, *count),
        Type::Array { element, length } => (*element, declarations.constant(*length)?),
        _ => return None,
    };
    Some(locations(declarations, part, component)?.saturating_mul(count.into()))
}

/// The sysvals are the one push constant block that an entry point may have.
pub(super) fn reject_push_constants(declarations: &Declarations) -> Result<(), LowerError> {
    match declarations.variables(StorageClass::PushConstant).next() {
        None => Ok(()),
        Some(variable) => {
            Err(LowerError::PushConstants { variable: label(declarations, variable.id) })
        }
    }
}

/// Structure types that variables of a storage class consist of.
pub(super) fn interface_types(
    declarations: &Declarations,
    storages: &[StorageClass],
) -> HashSet<Id> {
    let variables = storages.iter().flat_map(|storage| declarations.variables(*storage));
    structures(declarations, variables.map(|variable| variable.pointee).collect())
}

/// Structure types that types consist of.
fn structures(declarations: &Declarations, mut open: Vec<Id>) -> HashSet<Id> {
    let mut types = HashSet::new();
    while let Some(ty) = open.pop() {
        match declarations.ty(ty) {
            Some(Type::Array { element, .. }) => open.push(*element),
            Some(Type::Struct { members }) if types.insert(ty) => open.extend(members),
            _ => {}
        }
    }
    types
}

/// Decorations of structures that buffers need.
const BUFFER_DECORATIONS: [Decoration; 2] = [Decoration::Offset, Decoration::Block];

/// Storage classes whose structures have a layout.
const BUFFER_STORAGES: [StorageClass; 5] = [
    StorageClass::Uniform,
    StorageClass::StorageBuffer,
    StorageClass::PushConstant,
    StorageClass::PhysicalStorageBuffer,
    StorageClass::ShaderRecordBufferKHR,
];

/// Removes the decorations in `which` from the variables of the storage classes and their structures.
/// What a structure has for a buffer of the same type stays.
pub(super) fn strip_decorations(
    module: &mut Module,
    declarations: &Declarations,
    storages: &[StorageClass],
    which: &[Decoration],
) {
    let mut targets = interface_types(declarations, storages);
    targets.extend(storages.iter().flat_map(|s| declarations.variables(*s)).map(|v| v.id));
    let buffers = structures(declarations, declarations.pointees(&BUFFER_STORAGES).collect());
    let is_in = |list: &[Decoration], decoration: u32| list.iter().any(|d| *d as u32 == decoration);
    module.retain(Section::Annotations, |i| {
        let Some(decoration) = decoration_of(i) else { return true };
        let is_of_buffer = buffers.contains(&i.id(0)) && is_in(&BUFFER_DECORATIONS, decoration);
        !(targets.contains(&i.id(0)) && is_in(which, decoration)) || is_of_buffer
    });
}

/// The decoration of `OpDecorate` or `OpMemberDecorate`.
pub(super) fn decoration_of(i: Instruction<'_>) -> Option<u32> {
    match i.op() {
        Some(Op::Decorate) => Some(i.operand(1)),
        Some(Op::MemberDecorate) => Some(i.operand(2)),
        _ => None,
    }
}

/// Capture decorations of outputs.
pub(super) const XFB_DECORATIONS: [Decoration; 4] =
    [Decoration::XfbBuffer, Decoration::XfbStride, Decoration::Offset, Decoration::Stream];

/// Removes what makes the driver capture, also of structures that no variable has any more: without the
/// capability the decorations may not be there.
pub(super) fn strip_xfb_mode(module: &mut Module) {
    module.retain(Section::ExecutionModes, |i| i.operand(1) != ExecutionMode::Xfb as u32);
    module.remove_capability(Capability::TransformFeedback);
    const BUFFER: [u32; 2] = [Decoration::XfbBuffer as u32, Decoration::XfbStride as u32];
    module.retain(Section::Annotations, |i| {
        decoration_of(i).is_none_or(|decoration| !BUFFER.contains(&decoration))
    });
}

/// Lets the execution modes of the entry point be those of `function`.
pub(super) fn move_execution_modes(module: &mut Module, entry: &EntryPoint, function: Id) {
    module.edit(Section::ExecutionModes, |_, operands| {
        if let Some(target) = operands.first_mut()
            && *target == entry.function.0
        {
            *target = function.0;
        }
    });
}

/// Replaces the entry point's instruction. `interface` lists inputs and outputs; from SPIR-V 1.4 on the
/// other global variables are added: those of the old interface, and those that are new. The rest may
/// be the interface of another entry point.
pub(super) fn set_entry_point(
    module: &mut Module,
    declarations: &Declarations,
    old: &EntryPoint,
    model: ExecutionModel,
    function: Id,
    mut interface: Vec<Id>,
) -> Result<(), LowerError> {
    if module.version() >= (1, 4) {
        interface.extend(&old.interface);
        let globals = module.section(Section::Declarations).filter(|i| i.is(Op::Variable));
        let new = globals.map(|i| i.id(1)).filter(|id| declarations.variable(*id).is_none());
        interface.extend(new);
    }
    let mut seen = HashSet::new();
    interface.retain(|id| seen.insert(*id));

    let mut operands = vec![model as u32, function.0];
    operands.extend(string_words(&old.name));
    if operands.len() + interface.len() >= usize::from(u16::MAX) {
        return Err(LowerError::InterfaceLimit(interface.len()));
    }
    operands.extend(interface.iter().map(|id| id.0));
    module.retain(Section::EntryPoints, |i| !old.is(i));
    module.push(Section::EntryPoints, Op::EntryPoint, &operands);
    Ok(())
}

/// Whether the shader changes memory that others see.
pub(super) fn has_side_effects(module: &Module, declarations: &Declarations) -> bool {
    const SHARED: [StorageClass; 4] = [
        StorageClass::StorageBuffer,
        StorageClass::Uniform,
        StorageClass::PhysicalStorageBuffer,
        StorageClass::Image,
    ];
    let types: HashSet<Id> = declarations.pointers(&SHARED).collect();
    let variables = SHARED.iter().flat_map(|storage| declarations.variables(*storage));
    let mut pointers: HashSet<Id> = variables.map(|variable| variable.id).collect();
    module.section(Section::Functions).any(|i| {
        // Most shaders have no such type, and an empty set is asked for nothing.
        if !types.is_empty()
            && let (Some(ty), Some(id)) = result_of(i)
            && types.contains(&ty)
        {
            pointers.insert(id);
        }
        match i.op() {
            Some(Op::Store | Op::CopyMemory | Op::CopyMemorySized) => pointers.contains(&i.id(0)),
            Some(op) => op == Op::ImageWrite || is_atomic_write(op),
            None => false,
        }
    })
}

/// Whether a structure of a variable is part of what another variable or pointer is, so that its members'
/// decorations are not of that variable alone.
pub(super) fn shares_structure(declarations: &Declarations, variable: &Variable) -> bool {
    let ours = structures(declarations, vec![variable.pointee]);
    let storages = [StorageClass::Input, StorageClass::Output, StorageClass::Private];
    let others = storages
        .iter()
        .flat_map(|storage| declarations.variables(*storage))
        .filter(|other| other.id != variable.id)
        .map(|other| other.pointee)
        .chain(declarations.pointees(&BUFFER_STORAGES));
    !structures(declarations, others.collect()).is_disjoint(&ours)
}

/// Whether an atomic instruction changes memory.
fn is_atomic_write(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        AtomicStore
            | AtomicExchange
            | AtomicCompareExchange
            | AtomicCompareExchangeWeak
            | AtomicIIncrement
            | AtomicIDecrement
            | AtomicIAdd
            | AtomicISub
            | AtomicSMin
            | AtomicUMin
            | AtomicSMax
            | AtomicUMax
            | AtomicAnd
            | AtomicOr
            | AtomicXor
            | AtomicFlagTestAndSet
            | AtomicFlagClear
            | AtomicFMinEXT
            | AtomicFMaxEXT
            | AtomicFAddEXT
    )
}
