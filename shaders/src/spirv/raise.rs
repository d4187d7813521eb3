//! Raises the version and the memory model of a module before it is merged into a newer one. Constructs that later
//! versions no longer allow are rewritten:
//!
//! * From 1.4 on, the interface of an entry point lists all global variables that it uses, not only
//!   inputs and outputs. `BufferBlock` no longer exists: a storage buffer is a `Block` in the storage
//!   class `StorageBuffer`.
//! * From 1.6 on, buffer textures are images instead of sampled images, and the labels of an
//!   `OpBranchConditional` must differ.

mod memory_model;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Decoration, Dim, MemoryModel, Op, StorageClass};

use super::declarations::{Declarations, Type};
use super::emit::{Builder, Code};
use super::entry_point::{EntryPoint, remove_annotations};
use super::{Id, Instruction, Module, Section, result_of, visit_ids};

/// Raises the version and the memory model of a module to those of another module, if the others are higher. The
/// module must have been [isolated](super::entry_point::isolate) to the entry point.
pub(crate) fn raise(module: &mut Module, entry: &mut EntryPoint, other: &Module) {
    let from = module.version();
    module.raise_version(other);
    let passes = |version| from < version && version <= module.version();
    let (passes_1_4, passes_1_6) = (passes((1, 4)), passes((1, 6)));
    if passes_1_4 {
        list_globals(module, entry);
        move_storage_buffers(module);
    }
    if passes_1_6 {
        replace_sampled_buffers(module);
        replace_equal_branches(module);
    }
    let is_raised = MODELS.into_iter().any(|model| module.has_memory_model(model));
    if is_raised && other.has_memory_model(MemoryModel::Vulkan) {
        memory_model::raise_to_vulkan(module);
    }
}

/// The memory models that say less than `Vulkan`.
const MODELS: [MemoryModel; 2] = [MemoryModel::Simple, MemoryModel::GLSL450];

/// Adds the module's global variables to the interface, as SPIR-V 1.4 requires. The module has only variables that the
/// entry point uses.
fn list_globals(module: &Module, entry: &mut EntryPoint) {
    let globals = module.section(Section::Declarations).filter(|i| i.is(Op::Variable));
    for global in globals.map(|i| i.id(1)) {
        if !entry.interface.contains(&global) {
            entry.interface.push(global);
        }
    }
}

/// Moves buffers with the decoration `BufferBlock` from `Uniform` to `StorageBuffer`, and decorates them as `Block`
/// instead.
fn move_storage_buffers(module: &mut Module) {
    let is_buffer_block = |op, operands: &[u32]| {
        op == Op::Decorate && operands.get(1) == Some(&(Decoration::BufferBlock as u32))
    };
    let mut blocks = FxHashSet::default();
    module.edit(Section::Annotations, |op, operands| {
        if is_buffer_block(op, operands) {
            blocks.insert(Id(operands[0]));
            operands[1] = Decoration::Block as u32;
        }
    });
    if blocks.is_empty() {
        return;
    }
    let declarations = Declarations::without_annotations(module);
    let uniform = StorageClass::Uniform as u32;
    // Pointer types to blocks with `BufferBlock` are only used for storage buffers, so the types are
    // changed in place and keep their ids.
    let moved: FxHashSet<Id> = declarations
        .pointers(&[StorageClass::Uniform])
        .filter(|ty| match declarations.ty(*ty) {
            Some(Type::Pointer { pointee, .. }) => {
                blocks.contains(&declarations.innermost(*pointee))
            }
            _ => false,
        })
        .collect();
    module.edit(Section::Declarations, |op, operands| match (op, operands) {
        (Op::TypePointer, [ty, storage, _]) if moved.contains(&Id(*ty)) => {
            *storage = StorageClass::StorageBuffer as u32;
        }
        (Op::Variable, [ty, _, storage, ..]) if moved.contains(&Id(*ty)) => {
            *storage = StorageClass::StorageBuffer as u32;
        }
        _ => {}
    });

    // Pointers to members of the blocks may have the same type as pointers to members of uniform buffers, so they get
    // new types.
    let globals = module.section(Section::Declarations).filter(|i| i.is(Op::Variable));
    let moved_globals = globals.filter(|i| moved.contains(&i.id(0)));
    let mut pointers: FxHashSet<Id> = moved_globals.map(|i| i.id(1)).collect();
    let mut retyped: Vec<(Id, Id)> = Vec::new();
    for i in module.section(Section::Functions) {
        let (Some(ty), Some(id)) = result_of(i) else { continue };
        if moved.contains(&ty) {
            pointers.insert(id);
        } else if derives_pointer(i.op())
            && pointers.contains(&i.id(2))
            && let Some(Type::Pointer { storage, pointee }) = declarations.ty(ty)
            && *storage == uniform
        {
            pointers.insert(id);
            retyped.push((id, *pointee));
        }
    }
    let mut builder = Builder::new(module);
    let types: FxHashMap<u32, Id> = retyped
        .into_iter()
        .map(|(id, pointee)| (id.0, builder.pointer(StorageClass::StorageBuffer, pointee)))
        .collect();
    module.edit(Section::Functions, |op, operands| {
        if derives_pointer(Some(op))
            && let [ty, id, ..] = operands
            && let Some(new) = types.get(id)
        {
            *ty = new.0;
        }
    });
}

/// Whether an instruction derives a pointer from its base, the first operand after the result.
const fn derives_pointer(op: Option<Op>) -> bool {
    matches!(
        op,
        Some(
            Op::AccessChain
                | Op::InBoundsAccessChain
                | Op::PtrAccessChain
                | Op::InBoundsPtrAccessChain
                | Op::CopyObject
        )
    )
}

/// Replaces sampled images of buffers by images.
fn replace_sampled_buffers(module: &mut Module) {
    let declarations = || module.section(Section::Declarations);
    let is_buffer =
        |i: &Instruction<'_>| i.is(Op::TypeImage) && i.operand(2) == Dim::DimBuffer as u32;
    let images: FxHashSet<Id> = declarations().filter(is_buffer).map(|i| i.id(0)).collect();
    let sampled =
        declarations().filter(|i| i.is(Op::TypeSampledImage) && images.contains(&i.id(1)));
    let types: FxHashMap<Id, Id> = sampled.map(|i| (i.id(0), i.id(1))).collect();
    if types.is_empty() {
        return;
    }
    let mut removed = module.id_set();
    removed.extend(types.keys().copied());
    module.retain(Section::Declarations, |i| {
        !(i.is(Op::TypeSampledImage) && removed.contains(i.id(0)))
    });
    remove_annotations(module, &removed);
    for section in [Section::Declarations, Section::Functions] {
        module.replace(section, |i| {
            if i.is(Op::Image) && images.contains(&i.id(0)) {
                let mut copy = Code::default();
                copy.push(Op::CopyObject, i.operands());
                return Some(copy.words().to_vec());
            }
            let mut words = i.words().to_vec();
            let mut is_changed = false;
            visit_ids(i, |index| {
                if let Some(image) = types.get(&i.id(index)) {
                    words[index + 1] = image.0;
                    is_changed = true;
                }
            });
            is_changed.then_some(words)
        });
    }
}

/// Replaces conditional branches with two equal labels by `OpBranch`, and removes the `OpSelectionMerge` before them.
fn replace_equal_branches(module: &mut Module) {
    let is_equal = |i: Instruction<'_>| i.is(Op::BranchConditional) && i.id(1) == i.id(2);
    let instructions = || module.section(Section::Functions);
    let followed = instructions().zip(instructions().skip(1)).enumerate();
    let merges: FxHashSet<usize> = followed
        .filter(|(_, (i, next))| i.is(Op::SelectionMerge) && is_equal(*next))
        .map(|(at, _)| at)
        .collect();
    let mut at = 0;
    module.retain(Section::Functions, |_| {
        at += 1;
        !merges.contains(&(at - 1))
    });
    module.replace(Section::Functions, |i| {
        is_equal(i).then(|| {
            let mut branch = Code::default();
            branch.push(Op::Branch, &[i.operand(1)]);
            branch.words().to_vec()
        })
    });
}
