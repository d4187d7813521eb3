//! Raises the memory model of a module to `Vulkan`, for a module has only one and the other stages may have that one.
//!
//! What `GLSL450` says of variables (the decorations `Coherent` and `Volatile`) the model `Vulkan` says of each access.
//! It is said here of every access to memory that other invocations see, if the module says it of any variable: which
//! variables a pointer may lead to need not be known, and accesses that are more visible than they must be are right.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{
    Capability, Decoration, ImageOperands, MemoryAccess, MemoryModel, MemorySemantics, Op, Scope,
    StorageClass,
};

use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::grammar::{OrderOperand, order_operands};
use crate::spirv::{Id, Instruction, Module, Section, accesses_of_copy, result_of};

/// The storage classes that other invocations see, but for images, which are not accessed by pointers.
const SHARED: [StorageClass; 3] =
    [StorageClass::StorageBuffer, StorageClass::Uniform, StorageClass::PhysicalStorageBuffer];

/// Gives a module with the memory model `Simple` or `GLSL450` the model `Vulkan`, without the extension that declares
/// it before SPIR-V 1.5. Does nothing if variables are coherent or volatile and there are untyped pointers, of whose
/// accesses nothing is known here.
pub(super) fn raise_to_vulkan(module: &mut Module) {
    let [coherent, volatile] = [Decoration::Coherent, Decoration::Volatile]
        .map(|decoration| module.section(Section::Annotations).any(|i| decorates(i, decoration)));
    let is_untyped = |i: Instruction<'_>| i.operand(0) == Capability::UntypedPointersKHR as u32;
    if (coherent || volatile) && module.section(Section::Capabilities).any(is_untyped) {
        return;
    }
    module.edit(Section::MemoryModel, |_, operands| {
        if let [_, model] = operands {
            *model = MemoryModel::Vulkan as u32;
        }
    });
    module.add_capability(Capability::VulkanMemoryModel);

    module.retain(Section::Annotations, |i| {
        !decorates(i, Decoration::Coherent) && !decorates(i, Decoration::Volatile)
    });
    replace_scopes(module, volatile);
    if coherent || volatile {
        share_accesses(module, volatile);
    }
}

fn decorates(i: Instruction<'_>, decoration: Decoration) -> bool {
    match i.op() {
        Some(Op::Decorate) => i.operand(1) == decoration as u32,
        Some(Op::MemberDecorate) => i.operand(2) == decoration as u32,
        _ => false,
    }
}

/// Replaces the scope `Device`, which takes a feature in the model `Vulkan`, by `QueueFamily`, which is what it meant.
/// Makes atomic operations volatile if they are to be.
fn replace_scopes(module: &mut Module, is_volatile: bool) {
    let declarations = Declarations::without_annotations(module);
    let new_value = |i: Instruction<'_>, operand: usize, kind: OrderOperand| {
        let value = declarations.constant(i.id(operand))?;
        let is_barrier = matches!(i.op(), Some(Op::MemoryBarrier | Op::ControlBarrier));
        match kind {
            OrderOperand::Scope => {
                (value == Scope::Device as u32).then_some(Scope::QueueFamily as u32)
            }
            OrderOperand::Semantics => {
                (is_volatile && !is_barrier).then_some(value | MemorySemantics::VOLATILE.bits())
            }
        }
    };
    let values: FxHashSet<u32> = module
        .section(Section::Functions)
        .flat_map(|i| order_operands(i).filter_map(move |(at, kind)| new_value(i, at, kind)))
        .collect();
    let mut builder = Builder::new(module);
    let constants: FxHashMap<u32, Id> =
        values.into_iter().map(|value| (value, builder.constant(value))).collect();
    if constants.is_empty() {
        return;
    }
    module.replace(Section::Functions, |i| {
        let mut replaced = None;
        for (at, kind) in order_operands(i) {
            if let Some(id) = new_value(i, at, kind).and_then(|value| constants.get(&value)) {
                replaced.get_or_insert_with(|| i.words().to_vec())[at + 1] = id.0;
            }
        }
        replaced
    });
}

/// Makes what accesses to buffers and images store available to other invocations, and what others store visible to
/// them.
fn share_accesses(module: &mut Module, is_volatile: bool) {
    let shared = shared_pointers(module);
    let scope = Builder::new(module).constant(Scope::QueueFamily as u32);
    let mut access = MemoryAccess::NON_PRIVATE_POINTER;
    let mut texel = ImageOperands::NON_PRIVATE_TEXEL;
    if is_volatile {
        access |= MemoryAccess::VOLATILE;
        texel |= ImageOperands::VOLATILE_TEXEL;
    }
    // What another model says of accesses has no parameter but an alignment.
    let with = |operands: &[u32], pointer: Id, added: MemoryAccess| match operands {
        _ if !shared.contains_key(&pointer) => operands.to_vec(),
        [] => vec![(access | added).bits(), scope.0],
        [mask, alignment @ ..] => {
            [&[mask | (access | added).bits()], alignment, &[scope.0]].concat()
        }
    };
    let load = |operands: &[u32], from| with(operands, from, MemoryAccess::MAKE_POINTER_VISIBLE);
    let store = |operands: &[u32], to| with(operands, to, MemoryAccess::MAKE_POINTER_AVAILABLE);
    // Image operands are no wider: what has parameters behind these bits, storage images do not take.
    let with_texel = |operands: &[u32], added: ImageOperands| {
        let (mask, parameters) = operands.split_first().unwrap_or((&0, &[]));
        [&[mask | (texel | added).bits()], parameters, &[scope.0]].concat()
    };

    let mut code = Code::default();
    let instructions: Vec<Vec<u32>> =
        module.section(Section::Functions).map(|i| i.words().to_vec()).collect();
    for words in &instructions {
        let i = Instruction::new(words);
        let split = |at: usize| i.operands().split_at(at.min(i.operands().len()));
        match i.op() {
            Some(op @ Op::Load) => {
                let (before, access) = split(3);
                code.push(op, &[before, &load(access, i.id(2))].concat());
            }
            Some(op @ Op::Store) => {
                let (before, access) = split(2);
                code.push(op, &[before, &store(access, i.id(0))].concat());
            }
            // Before SPIR-V 1.4 both sides of a copy share the operands, which one of them may not take.
            Some(Op::CopyMemory) => match shared.get(&i.id(0)).or_else(|| shared.get(&i.id(1))) {
                Some(ty) => {
                    let [stored, loaded] = accesses_of_copy(split(2).1);
                    let value = module.fresh_id();
                    let loaded = load(&loaded, i.id(1));
                    code.push(Op::Load, &[&[ty.0, value.0, i.operand(1)], &loaded[..]].concat());
                    let stored = store(&stored, i.id(0));
                    code.push(Op::Store, &[&[i.operand(0), value.0], &stored[..]].concat());
                }
                None => code.copy(words),
            },
            Some(op @ (Op::ImageRead | Op::ImageSparseRead)) => {
                let (before, operands) = split(4);
                let operands = with_texel(operands, ImageOperands::MAKE_TEXEL_VISIBLE);
                code.push(op, &[before, &operands].concat());
            }
            Some(op @ Op::ImageWrite) => {
                let (before, operands) = split(3);
                let operands = with_texel(operands, ImageOperands::MAKE_TEXEL_AVAILABLE);
                code.push(op, &[before, &operands].concat());
            }
            _ => code.copy(words),
        }
    }
    module.retain(Section::Functions, |_| false);
    module.push_code(Section::Functions, &code);
}

/// The pointers to memory that other invocations see, and the types that they point to.
fn shared_pointers(module: &Module) -> FxHashMap<Id, Id> {
    let declarations = Declarations::without_annotations(module);
    let sections = [Section::Declarations, Section::Functions].map(|s| module.section(s));
    let results = sections.into_iter().flatten().map(result_of);
    results
        .filter_map(|(ty, id)| match declarations.ty(ty?)? {
            Type::Pointer { storage, pointee } if SHARED.map(|s| s as u32).contains(storage) => {
                Some((id?, *pointee))
            }
            _ => None,
        })
        .collect()
}
