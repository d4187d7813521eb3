//! This module removes explicit layouts from the types of variables whose types must not have an explicit layout.
//!
//! In a buffer, a structure has offsets for its members, and an array has a stride: an explicit layout. From SPIR-V 1.5
//! on, the types of `Private` and `Function` variables must not have an explicit layout
//! (`VUID-StandaloneSpirv-None-10684`, in the appendix [Vulkan Environment for
//! SPIR-V](https://docs.vulkan.org/spec/latest/appendices/spirvenv.html)); those of `Workgroup` variables must not have
//! one in any version, unless the module has the capability `WorkgroupMemoryExplicitLayoutKHR`. Lowering can produce
//! such variables with an explicit layout: a variable that becomes `Private` may have been a block, or an output with
//! `Offset`, and naga decorates every structure and array with a layout.
//!
//! If no buffer, input or output uses the type of such a variable, the layout is removed from the type. If one of them
//! uses the type too, then from SPIR-V 1.5 on the variable gets a copy of the type without layout, and loads and stores
//! convert values between the two types with `OpCopyLogical`.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Decoration, Op, StorageClass};

use super::interface::decoration_of;
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::emit::Code;
use crate::spirv::{Id, Instruction, Module, Section, accesses_of_copy, result_of};

const LAYOUT_DECORATIONS: [Decoration; 7] = [
    Decoration::Block,
    Decoration::BufferBlock,
    Decoration::Offset,
    Decoration::ArrayStride,
    Decoration::MatrixStride,
    Decoration::RowMajor,
    Decoration::ColMajor,
];

const WITH_LAYOUT: [StorageClass; 7] = [
    StorageClass::Uniform,
    StorageClass::StorageBuffer,
    StorageClass::PushConstant,
    StorageClass::PhysicalStorageBuffer,
    StorageClass::ShaderRecordBufferKHR,
    StorageClass::Input,
    StorageClass::Output,
];

const WITHOUT_LAYOUT: [StorageClass; 3] =
    [StorageClass::Private, StorageClass::Function, StorageClass::Workgroup];

pub(super) fn remove(module: &mut Module) {
    let declarations = Declarations::without_annotations(module);
    let laid_out = composites(&declarations, &WITH_LAYOUT);
    let without_layout = composites(&declarations, &WITHOUT_LAYOUT);
    let is_layout = |i: Instruction<'_>| {
        decoration_of(i)
            .is_some_and(|d| LAYOUT_DECORATIONS.iter().any(|layout| *layout as u32 == d))
    };
    let has_no_layout = |ty: Id| without_layout.contains(&ty) && !laid_out.contains(&ty);
    module.retain(Section::Annotations, |i| !(is_layout(i) && has_no_layout(i.id(0))));
    // Before SPIR-V 1.5, `Private` and `Function` variables may have the type of a buffer, so nothing has to be copied.
    // From 1.5 on, `OpCopyLogical` (SPIR-V 1.4) is available.
    if module.version() < (1, 5) {
        return;
    }
    let decorated: FxHashSet<Id> = module
        .section(Section::Annotations)
        .filter(|i| is_layout(*i) && without_layout.contains(&i.id(0)))
        .map(|i| i.id(0))
        .collect();
    if !decorated.is_empty() {
        Split::new(module, &declarations, &without_layout, &decorated).rewrite(module);
    }
}

/// Returns the structures and arrays that pointers into these storage classes point to, and the structures and arrays
/// nested in them. Pointers that are members are not followed.
fn composites(declarations: &Declarations, storages: &[StorageClass]) -> FxHashSet<Id> {
    let mut composites = FxHashSet::default();
    let mut open: Vec<Id> = declarations.pointees(storages).collect();
    while let Some(ty) = open.pop() {
        let parts = parts(declarations, ty);
        if !parts.is_empty() && composites.insert(ty) {
            open.extend(parts);
        }
    }
    composites
}

fn parts(declarations: &Declarations, ty: Id) -> &[Id] {
    match declarations.ty(ty) {
        Some(Type::Struct { members }) => members,
        Some(Type::Array { element, .. } | Type::RuntimeArray { element }) => {
            std::slice::from_ref(element)
        }
        _ => &[],
    }
}

/// The types that get a copy without explicit layout, the pointers to such types, and the constants of such types,
/// each with what replaces it.
struct Split {
    /// The copied types, each with its copy without explicit layout. A type is copied if a buffer uses it, too, or if
    /// it contains a copied type.
    copies: FxHashMap<Id, Id>,
    /// For each pointer type that now points to a copy: the type with explicit layout, to which it pointed before.
    pointer_types: FxHashMap<Id, Id>,
    /// For each variable or other pointer whose type is in `pointer_types`: the type with explicit
    /// layout, to which it pointed before.
    pointers: FxHashMap<Id, Id>,
    /// For each constant that initialises a variable, and for the constants that it is composed of: the constant of
    /// the type without layout.
    constants: FxHashMap<Id, Id>,
}

impl Split {
    fn new(
        module: &mut Module,
        declarations: &Declarations,
        without_layout: &FxHashSet<Id>,
        decorated: &FxHashSet<Id>,
    ) -> Self {
        let mut this = Self {
            copies: FxHashMap::default(),
            pointer_types: FxHashMap::default(),
            pointers: FxHashMap::default(),
            constants: FxHashMap::default(),
        };
        // The types are visited in the order of their declarations, so that the types of members and elements come
        // before a type that contains them: a type is copied, too, if it contains a copied type.
        let mut types = Vec::new();
        for i in module.section(Section::Declarations) {
            let (Some(op), Some(id)) = (i.op(), result_of(i).1) else { continue };
            if op == Op::TypePointer {
                types.push((id, Some(i.operand(1)), i.id(2)));
            } else if without_layout.contains(&id) {
                types.push((id, None, id));
            }
        }
        for (id, storage, pointee) in types {
            let Some(storage) = storage else {
                let is_copied = |part: &Id| this.copies.contains_key(part);
                if decorated.contains(&id) || parts(declarations, id).iter().any(is_copied) {
                    let copy = module.fresh_id();
                    this.copies.insert(id, copy);
                }
                continue;
            };
            let has_no_layout = WITHOUT_LAYOUT.iter().any(|class| *class as u32 == storage);
            if has_no_layout && this.copies.contains_key(&pointee) {
                this.pointer_types.insert(id, pointee);
            }
        }
        this.find_constants(module);
        this
    }

    /// Finds the constants that need a copy of the new type: the initialisers of variables, and the
    /// constants that these consist of.
    fn find_constants(&mut self, module: &mut Module) {
        let of_sections = [Section::Declarations, Section::Functions]
            .into_iter()
            .flat_map(|section| module.section(section));
        let mut needed: FxHashSet<Id> = of_sections
            .filter(|i| i.is(Op::Variable) && i.operands().len() > 3)
            .filter(|i| self.pointer_types.contains_key(&i.id(0)))
            .map(|i| i.id(3))
            .collect();
        let mut found = Vec::new();
        for i in module.section(Section::Declarations).rev() {
            let (Some(ty), Some(id)) = result_of(i) else { continue };
            if needed.contains(&id) && self.copies.contains_key(&ty) {
                found.push(id);
                if is_composite(i) {
                    needed.extend(i.operands().iter().skip(2).map(|part| Id(*part)));
                }
            }
        }
        for id in found {
            let copy = module.fresh_id();
            self.constants.insert(id, copy);
        }
    }

    fn rewrite(mut self, module: &mut Module) {
        let mut declarations = Code::default();
        for i in module.section(Section::Declarations) {
            self.declaration(&mut declarations, i);
        }
        let functions: Vec<Vec<u32>> =
            module.section(Section::Functions).map(|i| i.words().to_vec()).collect();
        let mut code = Code::default();
        for words in functions {
            self.instruction(module, &mut code, Instruction::new(&words));
        }
        for (section, code) in [(Section::Declarations, declarations), (Section::Functions, code)] {
            module.retain(section, |_| false);
            module.push_code(section, &code);
        }
        let mut names = Code::default();
        for i in module.section(Section::Names) {
            names.copy(i.words());
            if let Some(copy) = self.copies.get(&i.id(0)) {
                let mut operands = i.operands().to_vec();
                operands[0] = copy.0;
                names.push(i.op().unwrap_or(Op::Name), &operands);
            }
        }
        module.retain(Section::Names, |_| false);
        module.push_code(Section::Names, &names);
    }

    /// Appends a declaration to `code`, and after it the declaration of its counterpart without
    /// layout, if it has one.
    fn declaration(&mut self, code: &mut Code, i: Instruction<'_>) {
        let (ty, result) = result_of(i);
        let (Some(op), Some(id)) = (i.op(), result) else { return code.copy(i.words()) };
        let copied =
            |id: &u32, copies: &FxHashMap<Id, Id>| copies.get(&Id(*id)).map_or(*id, |c| c.0);
        if let Some(pointee) = self.pointer_types.get(&id) {
            let copy = self.copies[pointee];
            return code.push(op, &[id.0, i.operand(1), copy.0]);
        }
        if op == Op::Variable {
            return code.copy(&self.variable(i));
        }
        code.copy(i.words());
        if let Some(copy) = self.copies.get(&id) {
            let parts = i.operands().iter().skip(1).map(|part| copied(part, &self.copies));
            let operands: Vec<u32> = std::iter::once(copy.0).chain(parts).collect();
            code.push(op, &operands);
        }
        if let (Some(copy), Some(ty)) = (self.constants.get(&id), ty) {
            let parts = i.operands().iter().skip(2).map(|part| copied(part, &self.constants));
            let head = [copied(&ty.0, &self.copies), copy.0];
            let operands: Vec<u32> = head.into_iter().chain(parts).collect();
            code.push(op, &operands);
        }
    }

    /// Returns the words of a variable, in which the initialiser is replaced by the constant of the
    /// copied type.
    fn variable(&mut self, i: Instruction<'_>) -> Vec<u32> {
        let mut words = i.words().to_vec();
        if let Some(pointee) = self.pointer_types.get(&i.id(0)) {
            self.pointers.insert(i.id(1), *pointee);
            if let Some(initializer) = words.get_mut(4)
                && let Some(copy) = self.constants.get(&Id(*initializer))
            {
                *initializer = copy.0;
            }
        }
        words
    }

    /// Appends an instruction of a function to `code`. Values that it loads or stores through a
    /// pointer to a copied type are converted.
    fn instruction(&mut self, module: &mut Module, code: &mut Code, i: Instruction<'_>) {
        if i.is(Op::Variable) {
            return code.copy(&self.variable(i));
        }
        if let (Some(ty), Some(id)) = result_of(i)
            && let Some(pointee) = self.pointer_types.get(&ty)
        {
            self.pointers.insert(id, *pointee);
        }
        let pointee = |index| self.pointers.get(&i.id(index)).copied();
        let memory = |from: usize| i.operands().get(from..).unwrap_or_default();
        match i.op() {
            Some(Op::Load) if pointee(2) == Some(i.id(0)) => {
                let (ty, id) = (i.id(0), i.id(1));
                let value = self.load(module, code, (i.id(2), ty), memory(3));
                code.push(Op::CopyLogical, &[ty.0, id.0, value.0]);
            }
            Some(Op::Store) => match pointee(0) {
                Some(ty) => {
                    let value = module.fresh_id();
                    code.push(Op::CopyLogical, &[self.copies[&ty].0, value.0, i.operand(1)]);
                    code.push(Op::Store, &[&[i.operand(0), value.0], memory(2)].concat());
                }
                None => code.copy(i.words()),
            },
            Some(Op::CopyMemory) => {
                let [stored, loads] = accesses_of_copy(memory(2));
                let value = module.fresh_id();
                match (pointee(0), pointee(1)) {
                    (Some(ty), None) => {
                        let loaded = module.fresh_id();
                        let operands = [ty.0, loaded.0, i.operand(1)];
                        code.push(Op::Load, &[&operands, &loads[..]].concat());
                        code.push(Op::CopyLogical, &[self.copies[&ty].0, value.0, loaded.0]);
                    }
                    (None, Some(ty)) => {
                        let loaded = self.load(module, code, (i.id(1), ty), &loads);
                        code.push(Op::CopyLogical, &[ty.0, value.0, loaded.0]);
                    }
                    _ => return code.copy(i.words()),
                }
                code.push(Op::Store, &[&[i.operand(0), value.0], &stored[..]].concat());
            }
            _ => code.copy(i.words()),
        }
    }

    /// Generates the load of a value whose type is the copy of `ty`. The caller converts the value
    /// to `ty`.
    fn load(
        &self,
        module: &mut Module,
        code: &mut Code,
        (pointer, ty): (Id, Id),
        memory: &[u32],
    ) -> Id {
        let value = module.fresh_id();
        let operands = [self.copies[&ty].0, value.0, pointer.0];
        code.push(Op::Load, &[&operands, memory].concat());
        value
    }
}

fn is_composite(i: Instruction<'_>) -> bool {
    i.is(Op::ConstantComposite) || i.is(Op::SpecConstantComposite)
}
