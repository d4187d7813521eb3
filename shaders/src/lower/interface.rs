//! This module has functions that several passes use to change a shader's interface.

use rustc_hash::FxHashSet;
use spirv::{BuiltIn, Decoration, ExecutionModel, Op, StorageClass};

use super::LowerError;
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::emit::Code;
use crate::spirv::entry_point::{EntryPoint, remove_annotations, remove_debug_info};
use crate::spirv::static_use::StaticUse;
use crate::spirv::{Id, Instruction, Module, Section, ids_of, string_words};

/// Returns the operand of a variable's decoration `BuiltIn`; `None` if the variable is not a
/// built-in.
pub fn built_in(declarations: &Declarations, variable: Id) -> Option<u32> {
    declarations.decoration_value(variable, Decoration::BuiltIn)
}

/// Returns the entry point's input variable for a built-in; `None` if it has none.
pub(crate) fn find_built_in(
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

/// Removes unused push constants: from the interface of an entry point that does not use them, and
/// from the module if no entry point uses them. Drivers may count push constants that are only
/// declared.
pub(crate) fn remove_push_constants(
    module: &mut Module,
    declarations: &Declarations,
    used: &StaticUse,
    entry: &mut EntryPoint,
) {
    let mut unused: FxHashSet<Id> = declarations
        .variables(StorageClass::PushConstant)
        .map(|variable| variable.id)
        .filter(|variable| !used.contains(*variable))
        .collect();
    if unused.is_empty() {
        return;
    }
    entry.interface.retain(|id| !unused.contains(id));
    let others = module.section(Section::EntryPoints).filter(|i| !entry.is(*i));
    for i in others.chain(module.section(Section::Functions)) {
        ids_of(i).iter().for_each(|id| _ = unused.remove(id));
    }
    let mut removed = module.id_set();
    removed.extend(unused);
    remove_debug_info(module, &mut removed);
    module.retain(Section::Declarations, |i| !(i.is(Op::Variable) && removed.contains(i.id(1))));
    remove_annotations(module, &removed);
}

/// Moves variables of these storage classes, and all pointers to them, to `Private`.
pub(crate) fn make_private(module: &mut Module, storages: &[StorageClass]) {
    let is_in = |storage: u32| storages.iter().any(|s| *s as u32 == storage);
    module.edit(Section::Declarations, |op, operands| {
        // The index of the operand with the storage class.
        let at = match op {
            Op::TypePointer => 1,
            Op::Variable => 2,
            _ => return,
        };
        if let Some(storage) = operands.get_mut(at)
            && is_in(*storage)
        {
            *storage = StorageClass::Private as u32;
        }
    });
}

/// Returns the structure types of variables in these storage classes, including the types of members and array
/// elements.
pub(crate) fn interface_types(
    declarations: &Declarations,
    storages: &[StorageClass],
) -> FxHashSet<Id> {
    let variables = storages.iter().flat_map(|storage| declarations.variables(*storage));
    structures(declarations, variables.map(|variable| variable.pointee).collect())
}

/// Returns the structure types in `open`, and the structure types of the members and array elements of the types in
/// `open`.
pub(crate) fn structures(declarations: &Declarations, mut open: Vec<Id>) -> FxHashSet<Id> {
    let mut types = FxHashSet::default();
    while let Some(ty) = open.pop() {
        match declarations.ty(ty) {
            Some(Type::Array { element, .. } | Type::RuntimeArray { element }) => {
                open.push(*element);
            }
            Some(Type::Struct { members }) if types.insert(ty) => open.extend(members),
            _ => {}
        }
    }
    types
}

/// The storage classes whose structures have an explicit layout.
const BUFFER_STORAGES: [StorageClass; 5] = [
    StorageClass::Uniform,
    StorageClass::StorageBuffer,
    StorageClass::PushConstant,
    StorageClass::PhysicalStorageBuffer,
    StorageClass::ShaderRecordBufferKHR,
];

/// Returns the structure types that buffers contain. A decoration of a member applies wherever the
/// structure type is used, so changing the decoration would change the layout of the buffers.
pub(crate) fn buffer_structures(declarations: &Declarations) -> FxHashSet<Id> {
    structures(declarations, declarations.pointees(&BUFFER_STORAGES).collect())
}

/// Removes the decorations in `which` from the variables of these storage classes and from their
/// structures. `Offset` is kept for structures that buffers use too.
pub(crate) fn strip_decorations(
    module: &mut Module,
    declarations: &Declarations,
    storages: &[StorageClass],
    which: &[Decoration],
) {
    let mut targets = interface_types(declarations, storages);
    targets.extend(storages.iter().flat_map(|s| declarations.variables(*s)).map(|v| v.id));
    let buffers = buffer_structures(declarations);
    module.retain(Section::Annotations, |i| {
        let Some(decoration) = decoration_of(i) else { return true };
        let is_in = which.iter().any(|d| *d as u32 == decoration);
        let is_of_buffer = decoration == Decoration::Offset as u32 && buffers.contains(&i.id(0));
        !(targets.contains(&i.id(0)) && is_in) || is_of_buffer
    });
}

/// Returns the decoration of an `OpDecorate` or `OpMemberDecorate`; `None` for other instructions.
pub(crate) fn decoration_of(i: Instruction<'_>) -> Option<u32> {
    match i.op() {
        Some(Op::Decorate) => Some(i.operand(1)),
        Some(Op::MemberDecorate) => Some(i.operand(2)),
        _ => None,
    }
}

/// Moves the execution modes of the entry point to `function`.
pub fn move_execution_modes(module: &mut Module, entry: &EntryPoint, function: Id) {
    module.edit(Section::ExecutionModes, |_, operands| {
        if let Some(target) = operands.first_mut()
            && *target == entry.function.0
        {
            *target = function.0;
        }
    });
}

/// The error for an interface with more variables than `OpEntryPoint` can list. The member is the number of
/// variables.
#[derive(Debug)]
pub struct InterfaceLimit(pub usize);

impl From<InterfaceLimit> for LowerError {
    fn from(InterfaceLimit(variables): InterfaceLimit) -> Self {
        Self::InterfaceLimit(variables)
    }
}

/// Replaces the `OpEntryPoint` of `old` by an `OpEntryPoint` with the execution model `model`, this function and the
/// same name. `interface` are the inputs and outputs. From SPIR-V 1.4 on, the instruction must list all global
/// variables that the entry point uses, so those in the interface of `old` and those that lowering declared are added.
/// All other variables may belong to other entry points.
pub fn set_entry_point(
    module: &mut Module,
    declarations: &Declarations,
    old: &EntryPoint,
    model: ExecutionModel,
    function: Id,
    mut interface: Vec<Id>,
) -> Result<(), InterfaceLimit> {
    if module.version() >= (1, 4) {
        interface.extend(&old.interface);
        let globals = module.section(Section::Declarations).filter(|i| i.is(Op::Variable));
        let new = globals.map(|i| i.id(1)).filter(|id| declarations.variable(*id).is_none());
        interface.extend(new);
    }
    let mut seen = FxHashSet::default();
    interface.retain(|id| seen.insert(*id));

    let mut operands = vec![model as u32, function.0];
    operands.extend(string_words(&old.name));
    if operands.len() + interface.len() >= usize::from(u16::MAX) {
        return Err(InterfaceLimit(interface.len()));
    }
    operands.extend(interface.iter().map(|id| id.0));
    let mut new = Code::default();
    new.push(Op::EntryPoint, &operands);
    module.replace(Section::EntryPoints, |i| old.is(i).then(|| new.words().to_vec()));
    Ok(())
}

/// Returns the structure types of all buffers, and of all inputs, outputs and private variables except `variable`. If a
/// member of such a structure type is decorated, the decoration applies to the member in all these buffers and
/// variables.
pub(crate) fn structures_of_others(
    declarations: &Declarations,
    variable: &Variable,
) -> FxHashSet<Id> {
    let storages = [StorageClass::Input, StorageClass::Output, StorageClass::Private];
    let others = storages
        .iter()
        .flat_map(|storage| declarations.variables(*storage))
        .filter(|other| other.id != variable.id)
        .map(|other| other.pointee)
        .chain(declarations.pointees(&BUFFER_STORAGES));
    structures(declarations, others.collect())
}
