//! This module represents inputs, outputs and push constants with 8-bit and 16-bit components
//! (*narrow* components) by 32-bit components (*wide* ones).
//!
//! A shader with such variables needs the features `storageInputOutput16`, `storagePushConstant16`
//! or `storagePushConstant8`. If the variables became `Private`, they would need `shaderFloat16`,
//! `shaderInt16` or `shaderInt8`, which the application need not have enabled for a shader that
//! only converts the values. Pointers to the variables are therefore changed to point to 32-bit
//! components, and loads and stores convert the values, by instructions that are allowed without
//! these features ([SPIR-V 1.6, 2.16.1 "Universal Validation
//! Rules"](https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html#_universal_validation_rules)).
//! The capability `StorageInputOutput16` is kept if no other capability allows the types of the
//! converted values. Vertex pulling treats a narrow input as a 32-bit one, and supports all formats
//! that Vulkan allows for the narrow input.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Capability, Op, StorageClass};

use super::LowerError;
use super::inputs::parts::{Constituents, constituents};
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::emit::Code;
use crate::spirv::{Id, Instruction, Module, Section, accesses_of_copy, result_of};

/// Capabilities that allow 16-bit types, even if only in some storage classes.
const MEMORY_16: [Capability; 3] = [
    Capability::StorageBuffer16BitAccess,
    Capability::UniformAndStorageBuffer16BitAccess,
    Capability::StoragePushConstant16,
];

/// The largest number of constituents into which all composites together are split for the conversion. Real interfaces
/// have at most a few hundred components.
const MAX_PARTS: usize = 1 << 14;

pub(super) const INTERFACE: [StorageClass; 2] = [StorageClass::Input, StorageClass::Output];

/// The result of widening a module.
pub(super) struct Widened {
    pub(super) declarations: Declarations,
    /// The wide types, by the narrow types that they replace.
    pub(super) types: WideTypes,
}

/// The capability that allows arithmetic with a narrow scalar, and variables of its type in any
/// storage class.
pub(super) const fn arithmetic(ty: &Type) -> Option<Capability> {
    match ty {
        Type::Int { width: 8, .. } => Some(Capability::Int8),
        Type::Int { width: 16, .. } => Some(Capability::Int16),
        Type::Float { width: 16 } => Some(Capability::Float16),
        _ => None,
    }
}

/// Widens the variables in these storage classes. Returns `None` if none of them has narrow
/// components.
///
/// # Errors
/// [`LowerError::NarrowComposite`]
pub(super) fn widen(
    module: &mut Module,
    declarations: &Declarations,
    storages: &[StorageClass],
) -> Result<Option<Widened>, LowerError> {
    let mut types = Types::new(module, declarations);
    let mut pointers: Vec<Id> = declarations.pointers(storages).collect();
    // The pointer types are sorted, so that the result is deterministic.
    pointers.sort_unstable();
    let mut widened = FxHashMap::default();
    for pointer in pointers {
        let Some(Type::Pointer { storage, pointee }) = declarations.ty(pointer) else { continue };
        let mut clones = Code::default();
        if let Some(wide) = types.wide(*pointee, &mut clones) {
            let is_push_constant = *storage == StorageClass::PushConstant as u32;
            let is_only_moved = is_push_constant && types.only_moved.contains(pointee);
            widened.insert(pointer, Pointer { narrow: *pointee, wide, is_only_moved, clones });
        }
    }
    let mut wide = WideTypes::default();
    if !widened.is_empty() {
        wide = types.declare(&widened);
        convert(module, declarations, &widened, &wide)?;
    }
    if INTERFACE.iter().all(|storage| storages.contains(storage)) && !needs_capability(module) {
        module.remove_capability(Capability::StorageInputOutput16);
    }
    Ok((!widened.is_empty())
        .then(|| Widened { declarations: Declarations::of(module), types: wide }))
}

pub(super) fn has_capability(module: &Module, which: Capability) -> bool {
    module.section(Section::Capabilities).any(|i| i.operand(0) == which as u32)
}

/// Whether the module has 16-bit types that no capability except `StorageInputOutput16` allows.
fn needs_capability(module: &Module) -> bool {
    let has = |which| has_capability(module, which);
    let is_16 = |op| {
        let mut all = module.section(Section::Declarations);
        all.any(|i| i.is(op) && i.operand(1) == 16)
    };
    !MEMORY_16.into_iter().any(has)
        && (is_16(Op::TypeFloat) && !has(Capability::Float16)
            || is_16(Op::TypeInt) && !has(Capability::Int16))
}

/// A pointer type whose pointee is widened: `narrow` is the pointee before, `wide` after.
struct Pointer {
    narrow: Id,
    wide: Id,
    /// Whether values of the narrow type can only be loaded, stored and converted, not constructed, because the module
    /// has no arithmetic capability for a component of it.
    is_only_moved: bool,
    /// The declarations of wide arrays and structures that must come before the pointer type.
    clones: Code,
}

/// For each type, the wide type that replaces it; `None` for a type that has no narrow component.
pub(super) type WideTypes = FxHashMap<Id, Option<Id>>;

/// Declares the wide counterparts of types.
struct Types<'a> {
    module: &'a mut Module,
    declarations: &'a Declarations,
    /// The declared scalars, vectors and matrices, by opcode and operands. They must not be
    /// declared twice.
    known: FxHashMap<Vec<u32>, Id>,
    /// The types in `known` that wide types use. They are moved before all other declarations, because wide types may
    /// be declared before them.
    hoisted: FxHashSet<Id>,
    hoisted_code: Code,
    wide: WideTypes,
    /// The narrow types whose values can only be loaded, stored and converted, because the module has no arithmetic
    /// capability for a component of the type.
    only_moved: FxHashSet<Id>,
    /// For each narrow structure, the wide structure that gets its names and decorations.
    structures: FxHashMap<Id, Id>,
}

impl<'a> Types<'a> {
    fn new(module: &'a mut Module, declarations: &'a Declarations) -> Self {
        let key = |i: Instruction<'_>| {
            let operands = i.operands().get(1..).filter(|_| is_unique(i))?;
            Some(([&[i.opcode().into()], operands].concat(), i.id(0)))
        };
        let known = module.section(Section::Declarations).filter_map(key).collect();
        Self {
            module,
            declarations,
            known,
            hoisted: FxHashSet::default(),
            hoisted_code: Code::default(),
            wide: FxHashMap::default(),
            only_moved: FxHashSet::default(),
            structures: FxHashMap::default(),
        }
    }

    /// Returns the type with all narrow components replaced by 32-bit ones; `None` if it has none.
    /// Arrays and structures that have to be declared for it are added to `clones`.
    fn wide(&mut self, ty: Id, clones: &mut Code) -> Option<Id> {
        if let Some(known) = self.wide.get(&ty) {
            return *known;
        }
        let declarations = self.declarations;
        let wide = match declarations.ty(ty) {
            Some(Type::Int { width: 8 | 16, signed }) => {
                Some(self.unique(Op::TypeInt, &[32, (*signed).into()]))
            }
            Some(Type::Float { width: 8 | 16 }) => Some(self.unique(Op::TypeFloat, &[32])),
            Some(Type::Vector { component, count }) => {
                let component = self.wide(*component, clones);
                component.map(|id| self.unique(Op::TypeVector, &[id.0, *count]))
            }
            Some(Type::Matrix { column, count }) => {
                let column = self.wide(*column, clones);
                column.map(|id| self.unique(Op::TypeMatrix, &[id.0, *count]))
            }
            Some(Type::Array { element, length }) => self.wide(*element, clones).map(|element| {
                let id = self.module.fresh_id();
                clones.push(Op::TypeArray, &[id.0, element.0, length.0]);
                id
            }),
            Some(Type::Struct { members }) => {
                let wide: Vec<Option<Id>> =
                    members.iter().map(|member| self.wide(*member, clones)).collect();
                wide.iter().any(Option::is_some).then(|| {
                    let id = self.module.fresh_id();
                    let members = wide.iter().zip(members).map(|(wide, id)| wide.unwrap_or(*id).0);
                    let operands: Vec<u32> = std::iter::once(id.0).chain(members).collect();
                    clones.push(Op::TypeStruct, &operands);
                    self.structures.insert(ty, id);
                    id
                })
            }
            _ => None,
        };
        self.wide.insert(ty, wide);
        let is_only_moved = match declarations.ty(ty) {
            Some(Type::Vector { component: part, .. } | Type::Matrix { column: part, .. }) => {
                self.only_moved.contains(part)
            }
            Some(Type::Array { element, .. }) => self.only_moved.contains(element),
            Some(Type::Struct { members }) => {
                members.iter().any(|member| self.only_moved.contains(member))
            }
            Some(scalar) => arithmetic(scalar)
                .is_some_and(|capability| !has_capability(self.module, capability)),
            None => false,
        };
        if is_only_moved {
            self.only_moved.insert(ty);
        }
        wide
    }

    /// Returns the scalar, vector or matrix type with this opcode and these operands. If the module
    /// declares it already, the declaration is moved; otherwise it is added. Either way it comes
    /// before all other declarations.
    fn unique(&mut self, op: Op, operands: &[u32]) -> Id {
        let key = [&[op as u32], operands].concat();
        let id = match self.known.get(&key) {
            Some(id) => *id,
            None => {
                let id = self.module.fresh_id();
                self.known.insert(key, id);
                id
            }
        };
        if self.hoisted.insert(id) {
            self.hoisted_code.push(op, &[&[id.0], operands].concat());
        }
        id
    }

    /// Declares the new types, and changes the pointer types. Returns the wide types, by the types
    /// that they replace.
    fn declare(self, widened: &FxHashMap<Id, Pointer>) -> WideTypes {
        let Self { module, hoisted, hoisted_code, structures, wide, .. } = self;
        let mut all = hoisted_code;
        for i in module.section(Section::Declarations) {
            if let Some(pointer) = widened.get(&i.id(0)).filter(|_| i.is(Op::TypePointer)) {
                all.copy(pointer.clones.words());
                all.push(Op::TypePointer, &[i.operand(0), i.operand(1), pointer.wide.0]);
            } else if !(is_unique(i) && hoisted.contains(&i.id(0))) {
                all.copy(i.words());
            }
        }
        module.retain(Section::Declarations, |_| false);
        module.push_code(Section::Declarations, &all);
        for section in [Section::Names, Section::Annotations] {
            let mut copies = Code::default();
            for i in module.section(section) {
                if let Some(clone) = structures.get(&i.id(0)) {
                    let mut words = i.words().to_vec();
                    words[1] = clone.0;
                    copies.copy(&words);
                }
            }
            module.push_code(section, &copies);
        }
        wide
    }
}

/// Whether an instruction declares a type that SPIR-V forbids to declare twice.
fn is_unique(i: Instruction<'_>) -> bool {
    matches!(i.op(), Some(Op::TypeInt | Op::TypeFloat | Op::TypeVector | Op::TypeMatrix))
}

/// Converts values that are loaded and stored through widened pointers.
fn convert(
    module: &mut Module,
    declarations: &Declarations,
    widened: &FxHashMap<Id, Pointer>,
    wide: &WideTypes,
) -> Result<(), LowerError> {
    let mut pointers = FxHashMap::default();
    for i in module.section(Section::Declarations).chain(module.section(Section::Functions)) {
        if let (Some(ty), Some(id)) = result_of(i)
            && let Some(pointer) = widened.get(&ty)
        {
            if i.is(Op::Variable) && i.operands().len() > 3 {
                return Err(composite(declarations, id, pointer.narrow));
            }
            pointers.insert(id, pointer);
        }
    }
    let functions: Vec<Vec<u32>> =
        module.section(Section::Functions).map(|i| i.words().to_vec()).collect();
    let code = Code::default();
    let mut rewriter = Rewriter { module, declarations, wide, pointers, code, parts: 0 };
    for words in functions {
        rewriter.instruction(Instruction::new(&words))?;
    }
    let Rewriter { module, code, .. } = rewriter;
    module.retain(Section::Functions, |_| false);
    module.push_code(Section::Functions, &code);
    Ok(())
}

struct Rewriter<'a> {
    module: &'a mut Module,
    declarations: &'a Declarations,
    wide: &'a WideTypes,
    /// Pointers to widened variables, by id.
    pointers: FxHashMap<Id, &'a Pointer>,
    code: Code,
    /// The number of constituents into which composites have been split so far, at most [`MAX_PARTS`].
    parts: usize,
}

impl<'a> Rewriter<'a> {
    fn instruction(&mut self, i: Instruction<'_>) -> Result<(), LowerError> {
        let pointer = |index| self.pointers.get(&i.id(index)).copied();
        let behind = |index| i.operands().get(index..).unwrap_or_default();
        match i.op() {
            Some(Op::Load) => {
                if let Some(from) = pointer(2) {
                    return self.load(from, i.id(1), behind(2));
                }
            }
            Some(Op::Store) => {
                if let Some(to) = pointer(0) {
                    return self.store(to, i.id(0), i.id(1), behind(2));
                }
            }
            Some(Op::CopyMemory) => {
                let [stored, loaded] = accesses_of_copy(behind(2));
                let loaded = [&[i.operand(1)], &loaded[..]].concat();
                let value = self.module.fresh_id();
                match (pointer(0), pointer(1)) {
                    (None, Some(from)) => {
                        self.load(from, value, &loaded)?;
                        self.code
                            .push(Op::Store, &[&[i.operand(0), value.0], &stored[..]].concat());
                        return Ok(());
                    }
                    (Some(to), None) => {
                        self.code.push(Op::Load, &[&[to.narrow.0, value.0], &loaded[..]].concat());
                        return self.store(to, i.id(0), value, &stored);
                    }
                    // If both pointers are widened, or neither of them, no value has to be converted.
                    _ => {}
                }
            }
            _ => {}
        }
        self.code.copy(i.words());
        Ok(())
    }

    /// Generates `result`: a narrow value that is loaded through a widened pointer and converted.
    /// `access` is the pointer and the memory operands of `OpLoad`.
    fn load(&mut self, from: &Pointer, result: Id, access: &[u32]) -> Result<(), LowerError> {
        let error = || composite(self.declarations, result, from.narrow);
        if from.is_only_moved && conversion(self.declarations, from.narrow).is_none() {
            return Err(error());
        }
        let value = self.module.fresh_id();
        self.code.push(Op::Load, &[&[from.wide.0, value.0], access].concat());
        self.convert(Width::Narrow, from.narrow, value, result).ok_or_else(error)
    }

    /// Generates the conversion of a narrow value, and its store through a widened pointer.
    /// `access` are the memory operands of `OpStore`.
    fn store(
        &mut self,
        to: &Pointer,
        pointer: Id,
        value: Id,
        access: &[u32],
    ) -> Result<(), LowerError> {
        let wide = self.module.fresh_id();
        self.convert(Width::Wide, to.narrow, value, wide)
            .ok_or_else(|| composite(self.declarations, pointer, to.narrow))?;
        self.code.push(Op::Store, &[&[pointer.0, wide.0], access].concat());
        Ok(())
    }

    /// Generates `result`: `value` converted to the width `to`. `narrow` is the narrow one of the value's two types.
    /// Returns `None` if the type cannot be converted, or if composites were split into more than [`MAX_PARTS`]
    /// constituents.
    fn convert(&mut self, to: Width, narrow: Id, value: Id, result: Id) -> Option<()> {
        let target = self.of_width(to, narrow);
        if let Some(op) = conversion(self.declarations, narrow) {
            self.code.push(op, &[target.0, result.0, value.0]);
            return Some(());
        }
        let constituents = constituents(self.declarations, narrow)?;
        let count = match &constituents {
            Constituents::Same(_, count) => *count as usize,
            Constituents::Members(members) => members.len(),
        };
        self.parts = self.parts.checked_add(count).filter(|parts| *parts <= MAX_PARTS)?;
        let parts = match constituents {
            Constituents::Same(part, _) => vec![part; count],
            Constituents::Members(members) => members.to_vec(),
        };
        let mut operands = vec![target.0, result.0];
        for (index, part) in (0u32..).zip(parts) {
            let source = self.of_width(to.other(), part);
            let mut value_of_part = self.module.fresh_id();
            let extract = [source.0, value_of_part.0, value.0, index];
            self.code.push(Op::CompositeExtract, &extract);
            if self.of_width(to, part) != source {
                let converted = self.module.fresh_id();
                self.convert(to, part, value_of_part, converted)?;
                value_of_part = converted;
            }
            operands.push(value_of_part.0);
        }
        self.code.push(Op::CompositeConstruct, &operands);
        Some(())
    }

    /// Returns the type that replaces `narrow` if `width` is wide, otherwise `narrow`.
    fn of_width(&self, width: Width, narrow: Id) -> Id {
        let wide = self.wide.get(&narrow).copied().flatten().filter(|_| width == Width::Wide);
        wide.unwrap_or(narrow)
    }
}

/// The narrow type of a value, or the wide type that replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Narrow,
    Wide,
}

impl Width {
    const fn other(self) -> Self {
        match self {
            Self::Narrow => Self::Wide,
            Self::Wide => Self::Narrow,
        }
    }
}

/// Returns the opcode that converts a scalar or vector of this type from narrow to wide or back; `None`
/// for other types.
fn conversion(declarations: &Declarations, ty: Id) -> Option<Op> {
    let (component, _) = declarations.vector(ty)?;
    match declarations.ty(component)? {
        Type::Int { signed: false, .. } => Some(Op::UConvert),
        Type::Int { signed: true, .. } => Some(Op::SConvert),
        Type::Float { .. } => Some(Op::FConvert),
        _ => None,
    }
}

/// Returns the error for a variable, a pointer or a result with the id `id`, whose type `ty` cannot
/// be converted.
fn composite(declarations: &Declarations, id: Id, ty: Id) -> LowerError {
    LowerError::NarrowComposite { id: declarations.label(id), ty: declarations.type_name(ty) }
}
