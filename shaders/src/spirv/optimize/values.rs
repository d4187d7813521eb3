//! The output code: instructions with new ids.

use rustc_hash::FxHashMap;
use spirv::{Op, StorageClass};

use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::emit::Builder;
use crate::spirv::specialization::fold::{ConstantValue, Scalar};
use crate::spirv::{Id, Instruction, Module, Section};

/// A flag in elements of `definitions`: the instruction is in [`Values::start`], and the other bits are its
/// index there.
const IN_START: u32 = 1 << 31;

/// Emitted instructions, and the values and types of their results as far as they are known.
pub(super) struct Values<'m> {
    pub(super) builder: Builder<'m>,
    declarations: &'m Declarations,
    /// The instructions from the first label on. Loads that are moved to the beginning are in `start`
    /// instead.
    pub(super) words: Vec<u32>,
    /// The loads of push constants that are written at the beginning of the first block, after its label and before the
    /// other instructions of `words`.
    pub(super) start: Vec<u32>,
    /// The first id that emitted instructions may have. Lower ids belong to the module.
    first: u32,
    /// The position of the instruction that defines each id from `first` on: 1 + the index in `words`, or
    /// [`IN_START`] + the index in `start`. 0 if there is none.
    definitions: Vec<u32>,
    /// The types of the constants, undefined values and global variables that the module declares, and the values of
    /// the constants.
    constants: FxHashMap<Id, Constant>,
    /// The id of the `OpUndef` of each type, if it was declared.
    undefined: FxHashMap<Id, Id>,
    /// The results of emitted pure instructions, by opcode, type and operands. Equal instructions
    /// reuse them.
    known: FxHashMap<Vec<u32>, Id>,
    /// For each open scope ([`begin_scope`](Self::begin_scope)), the keys that are removed from `known` when the scope
    /// ends.
    scopes: Vec<Vec<Vec<u32>>>,
    key: Vec<u32>,
    /// The index in `words` after the last label.
    block: usize,
    /// Whether an instruction was longer than SPIR-V allows.
    pub(super) overflows: bool,
}

#[derive(Debug, Clone)]
struct Constant {
    ty: Id,
    kind: ValueKind,
}

#[derive(Debug, Clone)]
enum ValueKind {
    Scalar(ConstantValue),
    Composite(Vec<Id>),
    Null,
    Other,
}

impl<'m> Values<'m> {
    pub(super) fn new(module: &'m mut Module, declarations: &'m Declarations) -> Self {
        let mut constants = FxHashMap::default();
        for i in module.section(Section::Declarations) {
            let ty = i.id(0);
            let scalar = || {
                ConstantValue::of_constant(Scalar::of(declarations, ty)?, i).map(ValueKind::Scalar)
            };
            let kind = match i.op() {
                Some(Op::ConstantTrue | Op::ConstantFalse | Op::Constant) => {
                    scalar().unwrap_or(ValueKind::Other)
                }
                Some(Op::ConstantComposite) => {
                    ValueKind::Composite(i.operands().iter().skip(2).map(|id| Id(*id)).collect())
                }
                Some(Op::ConstantNull) => scalar().unwrap_or(ValueKind::Null),
                Some(Op::Undef | Op::Variable) => ValueKind::Other,
                _ => continue,
            };
            constants.insert(i.id(1), Constant { ty, kind });
        }
        let builder = Builder::new(module);
        let first = builder.module.fresh_id().0;
        Self {
            builder,
            declarations,
            words: Vec::new(),
            start: Vec::new(),
            first,
            definitions: Vec::new(),
            constants,
            undefined: FxHashMap::default(),
            known: FxHashMap::default(),
            scopes: vec![Vec::new()],
            key: Vec::new(),
            block: 0,
            overflows: false,
        }
    }

    /// Whether a value was emitted after the last label.
    pub(super) fn is_in_current_block(&self, id: Id) -> bool {
        self.place(id).is_some_and(|place| place & IN_START == 0 && place as usize > self.block)
    }

    /// Returns the first word of an instruction. Sets `overflows` if the instruction is too long.
    fn head(&mut self, length: usize, op: Op) -> u32 {
        self.overflows |= length > usize::from(u16::MAX);
        (length as u32) << 16 | op as u32
    }

    pub(super) fn fresh(&mut self) -> Id {
        self.builder.module.fresh_id()
    }

    pub(super) fn ty(&self, id: Id) -> Option<&'m Type> {
        self.declarations.ty(id)
    }

    /// The type of an emitted value, or of a constant or global variable.
    pub(super) fn type_of(&self, id: Id) -> Option<Id> {
        match self.definition(id) {
            Some(i) => Some(i.id(0)),
            None => self.constants.get(&id).map(|constant| constant.ty),
        }
    }

    pub(super) fn definition(&self, id: Id) -> Option<Instruction<'_>> {
        let place = self.place(id)?;
        let (words, at) = match place & IN_START {
            0 => (&self.words, place.checked_sub(1)?),
            _ => (&self.start, place & !IN_START),
        };
        let rest = words.get(at as usize..)?;
        let length = (rest.first()? >> 16) as usize;
        Some(Instruction::new(rest.get(..length)?))
    }

    /// Returns the element of `definitions` for an id, or `None` if the id belongs to the module.
    fn place(&self, id: Id) -> Option<u32> {
        self.definitions.get(id.0.checked_sub(self.first)? as usize).copied()
    }

    /// The value of a scalar constant; `None` for any other id.
    pub(super) fn scalar(&self, id: Id) -> Option<ConstantValue> {
        match self.constants.get(&id)?.kind {
            ValueKind::Scalar(value) => Some(value),
            _ => None,
        }
    }

    /// The value of an integer constant that is not negative and fits into 32 bits; `None` for any other id.
    pub(super) fn uint(&self, id: Id) -> Option<u32> {
        self.scalar(id).and_then(ConstantValue::index)
    }

    pub(super) fn bool(&self, id: Id) -> Option<bool> {
        self.scalar(id).and_then(ConstantValue::truth)
    }

    pub(super) fn scalar_type(&self, ty: Id) -> Option<Scalar> {
        Scalar::of(self.declarations, ty)
    }

    /// Returns part `index` of a composite constant; `None` if `id` is not that of a composite or null constant. `ty`
    /// is the type of the part.
    pub(super) fn constant_part(&mut self, id: Id, index: u32, ty: Id) -> Option<Id> {
        match &self.constants.get(&id)?.kind {
            ValueKind::Composite(parts) => parts.get(index as usize).copied(),
            ValueKind::Null => Some(self.null(ty)),
            _ => None,
        }
    }

    pub(super) fn constant(&mut self, ty: Id, value: ConstantValue) -> Id {
        let (op, [low, high], count) = value.literal();
        let id = self.builder.declare(op, &[ty.0, low, high][..1 + count]);
        self.constants.entry(id).or_insert(Constant { ty, kind: ValueKind::Scalar(value) });
        id
    }

    pub(super) fn uint_constant(&mut self, value: u32) -> Id {
        let ty = self.builder.uint();
        let scalar = Scalar::Int { width: 32, signed: false };
        self.constant(ty, ConstantValue::new(scalar, value.into()))
    }

    fn null(&mut self, ty: Id) -> Id {
        if let Some(scalar) = self.scalar_type(ty) {
            return self.constant(ty, ConstantValue::new(scalar, 0));
        }
        let id = self.builder.declare(Op::ConstantNull, &[ty.0]);
        self.constants.entry(id).or_insert(Constant { ty, kind: ValueKind::Null });
        id
    }

    /// An undefined value, for a variable that was not written.
    pub(super) fn undefined(&mut self, ty: Id) -> Id {
        if let Some(id) = self.undefined.get(&ty) {
            return *id;
        }
        let id = self.fresh();
        self.builder.module.push(Section::Declarations, Op::Undef, &[ty.0, id.0]);
        self.constants.insert(id, Constant { ty, kind: ValueKind::Other });
        self.undefined.insert(ty, id);
        id
    }

    /// Begins a scope. After its end, the values that were emitted in it must not be reused, because later blocks may
    /// be reached without them.
    pub(super) fn begin_scope(&mut self) {
        self.scopes.push(Vec::new());
    }

    pub(super) fn end_scope(&mut self) {
        for key in self.scopes.pop().into_iter().flatten() {
            self.known.remove(&key);
        }
    }

    pub(super) fn push(&mut self, op: Op, operands: &[u32]) {
        let head = self.head(operands.len() + 1, op);
        self.words.push(head);
        self.words.extend_from_slice(operands);
        if op == Op::Label {
            self.block = self.words.len();
        }
    }

    /// Appends an instruction with result type and result, without simplifying it.
    pub(super) fn define(&mut self, op: Op, ty: Id, operands: &[u32]) -> Id {
        let id = self.fresh();
        let place = self.words.len() as u32 + 1;
        let head = self.head(operands.len() + 3, op);
        self.words.extend([head, ty.0, id.0]);
        self.words.extend_from_slice(operands);
        self.set_place(id, place);
        id
    }

    /// Appends an instruction with result type and result to `start`, before all other instructions of the first block.
    fn define_at_start(&mut self, op: Op, ty: Id, operands: &[u32]) -> Id {
        let id = self.fresh();
        let place = self.start.len() as u32 | IN_START;
        let head = self.head(operands.len() + 3, op);
        self.start.extend([head, ty.0, id.0]);
        self.start.extend_from_slice(operands);
        self.set_place(id, place);
        id
    }

    fn set_place(&mut self, id: Id, place: u32) {
        let number = (id.0 - self.first) as usize;
        if self.definitions.len() <= number {
            self.definitions.resize(number + 1, 0);
        }
        self.definitions[number] = place;
    }

    /// Whether an operation is moved to `start`: a load of a push constant whose address does not
    /// depend on the invocation. llvmpipe executes such a load once for all lanes at the start, but
    /// once per lane in a branch; for GPUs it makes no difference.
    fn belongs_to_start(&self, op: Op, ty: Id, operands: &[u32]) -> bool {
        let Some((base, rest)) = operands.split_first() else { return false };
        let base = Id(*base);
        match op {
            Op::AccessChain | Op::InBoundsAccessChain => {
                let storage = match self.ty(ty) {
                    Some(Type::Pointer { storage, .. }) => *storage,
                    _ => return false,
                };
                storage == StorageClass::PushConstant as u32
                    && rest.iter().all(|index| self.uint(Id(*index)).is_some())
                    && (self.constants.contains_key(&base) || self.is_in_start(base))
            }
            Op::Load => rest.is_empty() && self.is_in_start(base),
            _ => false,
        }
    }

    fn is_in_start(&self, id: Id) -> bool {
        self.place(id).is_some_and(|place| place & IN_START != 0)
    }

    /// Returns the result of a pure operation: that of an equal instruction that was emitted before, or otherwise of a
    /// new instruction.
    pub(super) fn emitted(&mut self, op: Op, ty: Id, operands: &[u32]) -> Id {
        self.key.clear();
        self.key.extend([op as u32, ty.0]);
        self.key.extend_from_slice(operands);
        if let Some(id) = self.known.get(&self.key) {
            return *id;
        }
        let id = if self.belongs_to_start(op, ty, operands) {
            self.define_at_start(op, ty, operands)
        } else {
            if let Some(scope) = self.scopes.last_mut() {
                scope.push(self.key.clone());
            }
            self.define(op, ty, operands)
        };
        self.known.insert(self.key.clone(), id);
        id
    }

    /// The storage class and the pointed-to type of a pointer.
    pub(super) fn pointee(&self, pointer: Id) -> Option<(u32, Id)> {
        match self.ty(self.type_of(pointer)?)? {
            Type::Pointer { storage, pointee } => Some((*storage, *pointee)),
            _ => None,
        }
    }

    pub(super) fn pointee_of_type(&self, ty: Id) -> Option<Id> {
        match self.ty(ty)? {
            Type::Pointer { pointee, .. } => Some(*pointee),
            _ => None,
        }
    }

    /// Stores the type of a variable, for [`type_of`](Self::type_of).
    pub(super) fn note(&mut self, id: Id, ty: Id) {
        self.constants.insert(id, Constant { ty, kind: ValueKind::Other });
    }
}
