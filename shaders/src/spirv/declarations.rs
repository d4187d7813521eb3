//! The declarations of a module: types, constants, variables, names and decorations, by id.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Decoration, Op, StorageClass};

use super::{Id, Instruction, Module, Section, read_string};

/// The largest depth of nested types: the specification's universal limit for structures. Deeper types count as
/// unknown, so that functions may visit the parts of a type by recursion.
const MAX_TYPE_DEPTH: u32 = 255;

/// A type, with the details that captures need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// `OpTypeInt`
    Int {
        /// The number of bits.
        width: u32,
        /// Whether the integer is signed.
        signed: bool,
    },
    /// `OpTypeFloat`
    Float {
        /// The number of bits.
        width: u32,
    },
    /// `OpTypeVector`
    Vector {
        /// The type of a component.
        component: Id,
        /// The number of components.
        count: u32,
    },
    /// `OpTypeMatrix`
    Matrix {
        /// The type of a column.
        column: Id,
        /// The number of columns.
        count: u32,
    },
    /// `OpTypeArray`
    Array {
        /// The type of an element.
        element: Id,
        /// The constant that contains the length.
        length: Id,
    },
    /// `OpTypeRuntimeArray`
    RuntimeArray {
        /// The type of an element.
        element: Id,
    },
    /// `OpTypeStruct`
    Struct {
        /// The types of the members.
        members: Vec<Id>,
    },
    /// `OpTypePointer`
    Pointer {
        /// `SpvStorageClass`
        storage: u32,
        /// The pointee type.
        pointee: Id,
    },
    /// `OpTypeUntypedPointerKHR`
    UntypedPointer {
        /// `SpvStorageClass`
        storage: u32,
    },
    /// Any other type, by its opcode.
    Other(Op),
}

/// A global `OpVariable`, or an `OpUntypedVariableKHR` with a data type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// The result id.
    pub id: Id,
    /// `SpvStorageClass`
    pub storage: u32,
    /// The pointer type.
    pub pointer: Id,
    /// The type of the value.
    pub pointee: Id,
}

type Decorations = Vec<(u32, Vec<u32>)>;

/// The declarations of a module.
#[derive(Debug, Clone, Default)]
pub struct Declarations {
    types: FxHashMap<Id, Type>,
    constants: FxHashMap<Id, u32>,
    /// For each specialisation constant, its opcode. For an `OpSpecConstantOp`, the opcode of the
    /// operation.
    specialized: FxHashMap<Id, Op>,
    /// The variables, in the order of the module.
    variables: Vec<Variable>,
    variable_indices: FxHashMap<Id, usize>,
    names: FxHashMap<Id, String>,
    member_names: FxHashMap<(Id, u32), String>,
    decorations: FxHashMap<Id, Decorations>,
    member_decorations: FxHashMap<(Id, u32), Decorations>,
}

impl Declarations {
    /// Reads a module's declarations.
    pub fn of(module: &Module) -> Self {
        let mut this = Self::without_annotations(module);
        for i in module.section(Section::Names) {
            this.read_name(i);
        }
        for i in module.section(Section::Annotations) {
            let words = i.operands();
            if i.is(Op::Decorate) && words.len() >= 2 {
                this.decorations.entry(i.id(0)).or_default().push((words[1], words[2..].to_vec()));
            } else if i.is(Op::MemberDecorate) && words.len() >= 3 {
                let member = (i.id(0), words[1]);
                let decorations = this.member_decorations.entry(member).or_default();
                decorations.push((words[2], words[3..].to_vec()));
            }
        }
        this
    }

    /// Reads types, constants and variables, without names and decorations, which take most of the
    /// time.
    pub(crate) fn without_annotations(module: &Module) -> Self {
        let mut this = Self::default();
        let mut nesting = Nesting::default();
        for i in module.section(Section::Declarations) {
            this.read_declaration(i, &mut nesting);
        }
        this
    }

    fn read_name(&mut self, i: Instruction<'_>) {
        let name = |at: usize| i.operands().get(at..).and_then(read_string).map(|(name, _)| name);
        if i.is(Op::Name) {
            self.names.extend(name(1).map(|name| (i.id(0), name)));
        } else if i.is(Op::MemberName) {
            self.member_names.extend(name(2).map(|name| ((i.id(0), i.operand(1)), name)));
        }
    }

    fn read_declaration(&mut self, i: Instruction<'_>, nesting: &mut Nesting) {
        let Some(op) = i.op() else { return };
        let ty = match op {
            Op::TypeInt => Type::Int { width: i.operand(1), signed: i.operand(2) != 0 },
            // A third operand is the encoding of another floating-point format, for example bfloat16.
            Op::TypeFloat if i.operands().len() > 2 => Type::Other(op),
            Op::TypeFloat => Type::Float { width: i.operand(1) },
            Op::TypeVector => Type::Vector { component: i.id(1), count: i.operand(2) },
            Op::TypeMatrix => Type::Matrix { column: i.id(1), count: i.operand(2) },
            Op::TypeArray => Type::Array { element: i.id(1), length: i.id(2) },
            Op::TypeRuntimeArray => Type::RuntimeArray { element: i.id(1) },
            Op::TypeStruct => Type::Struct {
                members: i.operands().iter().skip(1).map(|word| Id(*word)).collect(),
            },
            Op::TypePointer => Type::Pointer { storage: i.operand(1), pointee: i.id(2) },
            Op::TypeUntypedPointerKHR => Type::UntypedPointer { storage: i.operand(1) },
            Op::TypeVoid
            | Op::TypeBool
            | Op::TypeFunction
            | Op::TypeImage
            | Op::TypeSampler
            | Op::TypeSampledImage => Type::Other(op),
            Op::Constant => {
                if let [_, id, value] = *i.operands() {
                    self.constants.insert(Id(id), value);
                }
                return;
            }
            Op::SpecConstant => {
                self.specialized.insert(i.id(1), op);
                return;
            }
            Op::SpecConstantOp => {
                let operation = Op::from_u32(i.operand(2)).unwrap_or(op);
                self.specialized.insert(i.id(1), operation);
                return;
            }
            Op::Variable => {
                let pointer = i.id(0);
                if let Some(Type::Pointer { pointee, .. }) = self.types.get(&pointer) {
                    let (id, storage, pointee) = (i.id(1), i.operand(2), *pointee);
                    self.add_variable(Variable { id, storage, pointer, pointee });
                }
                return;
            }
            Op::UntypedVariableKHR => {
                if let [pointer, id, storage, pointee, ..] = *i.operands() {
                    let (pointer, id, pointee) = (Id(pointer), Id(id), Id(pointee));
                    self.add_variable(Variable { id, storage, pointer, pointee });
                }
                return;
            }
            _ => return,
        };
        if nesting.admit(i.id(0), &ty) {
            self.types.insert(i.id(0), ty);
        }
    }

    fn add_variable(&mut self, variable: Variable) {
        self.variable_indices.insert(variable.id, self.variables.len());
        self.variables.push(variable);
    }

    /// The type with this id. `None` if the id is not that of a type, or if the type is nested too deeply.
    pub fn ty(&self, id: Id) -> Option<&Type> {
        self.types.get(&id)
    }

    /// The value of a 32-bit `OpConstant`; `None` for any other id. Specialisation constants have a value after the
    /// module was [specialised](super::specialization::specialize).
    pub fn constant(&self, id: Id) -> Option<u32> {
        self.constants.get(&id).copied()
    }

    /// The opcode of a specialisation constant: `OpSpecConstant`, or the operation of an
    /// `OpSpecConstantOp`. `None` for any other id.
    pub fn specialization(&self, id: Id) -> Option<Op> {
        self.specialized.get(&id).copied()
    }

    /// The types that pointers into these storage classes point to.
    pub fn pointees(&self, storages: &[StorageClass]) -> impl Iterator<Item = Id> {
        self.types.values().filter_map(move |ty| match ty {
            Type::Pointer { storage, pointee } => {
                storages.iter().any(|s| *s as u32 == *storage).then_some(*pointee)
            }
            _ => None,
        })
    }

    /// The pointer types into these storage classes, typed or untyped.
    pub fn pointers(&self, storages: &[StorageClass]) -> impl Iterator<Item = Id> {
        self.types.iter().filter_map(move |(id, ty)| match ty {
            Type::Pointer { storage, .. } | Type::UntypedPointer { storage } => {
                storages.iter().any(|s| *s as u32 == *storage).then_some(*id)
            }
            _ => None,
        })
    }

    /// The global variables in one storage class.
    pub fn variables(&self, storage: StorageClass) -> impl Iterator<Item = &Variable> {
        self.variables.iter().filter(move |v| v.storage == storage as u32)
    }

    /// The global variable with this id; `None` if the id is not that of a global variable.
    pub fn variable(&self, id: Id) -> Option<&Variable> {
        self.variables.get(*self.variable_indices.get(&id)?)
    }

    /// The `OpName`, if it exists and is not empty.
    pub fn name(&self, id: Id) -> Option<&str> {
        self.names.get(&id).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// The `OpMemberName`, if it exists and is not empty.
    pub fn member_name(&self, ty: Id, member: u32) -> Option<&str> {
        self.member_names.get(&(ty, member)).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// The parameters of a decoration of `id`, or `None` if `id` does not have the decoration.
    pub fn decoration(&self, id: Id, decoration: Decoration) -> Option<&[u32]> {
        find(self.decorations.get(&id), decoration)
    }

    /// The parameters of a decoration of a member, or `None` if the member does not have the
    /// decoration.
    pub fn member_decoration(&self, ty: Id, member: u32, decoration: Decoration) -> Option<&[u32]> {
        find(self.member_decorations.get(&(ty, member)), decoration)
    }

    /// The first parameter of a decoration of an id, for example a location, an offset or a stride. `None` if the id
    /// does not have the decoration.
    pub fn decoration_value(&self, id: Id, decoration: Decoration) -> Option<u32> {
        self.decoration(id, decoration)?.first().copied()
    }

    /// The first parameter of a decoration of a member, for example a location or an offset. `None` if the member does
    /// not have the decoration.
    pub fn member_decoration_value(
        &self,
        ty: Id,
        member: u32,
        decoration: Decoration,
    ) -> Option<u32> {
        self.member_decoration(ty, member, decoration)?.first().copied()
    }

    /// The type of the component, column, element or member that a path of constant indices selects in a value of type
    /// `ty`. `None` if there is no such member, or if a type on the path has no parts.
    pub fn type_at(&self, mut ty: Id, path: &[u32]) -> Option<Id> {
        for index in path {
            ty = match self.ty(ty)? {
                Type::Struct { members } => *members.get(*index as usize)?,
                Type::Array { element, .. } => *element,
                Type::Matrix { column, .. } => *column,
                Type::Vector { component, .. } => *component,
                _ => return None,
            };
        }
        Some(ty)
    }

    /// Returns the element type of an array, or of the innermost of nested arrays. Any other type
    /// is returned unchanged.
    pub(crate) fn innermost(&self, mut ty: Id) -> Id {
        while let Some(Type::Array { element, .. } | Type::RuntimeArray { element }) = self.ty(ty) {
            ty = *element;
        }
        ty
    }

    /// The component type and the number of components of a scalar or vector. `None` for other
    /// types.
    pub fn vector(&self, ty: Id) -> Option<(Id, u32)> {
        match self.ty(ty)? {
            Type::Vector { component, count } => Some((*component, *count)),
            Type::Int { .. } | Type::Float { .. } => Some((ty, 1)),
            _ => None,
        }
    }
}

/// Excludes types that contain themselves or that are nested too deeply.
#[derive(Default)]
struct Nesting {
    depths: FxHashMap<Id, u32>,
    /// All ids to which the types that were read so far refer, whether these ids are declared or not.
    parts: FxHashSet<Id>,
}

impl Nesting {
    fn admit(&mut self, id: Id, ty: &Type) -> bool {
        let parts: &[Id] = match ty {
            Type::Vector { component: part, .. }
            | Type::Matrix { column: part, .. }
            | Type::Array { element: part, .. }
            | Type::RuntimeArray { element: part } => std::slice::from_ref(part),
            Type::Struct { members } => members,
            // Functions that visit the members and elements of a type do not follow pointers. The pointee may be
            // declared after the pointer type (`OpTypeForwardPointer`).
            Type::Pointer { .. } | Type::UntypedPointer { .. } => return true,
            Type::Int { .. } | Type::Float { .. } | Type::Other(_) => &[],
        };
        self.parts.extend(parts);
        let depth_of = |part| self.depths.get(part).copied().unwrap_or(0);
        let depth = parts.iter().map(depth_of).max().map_or(0, |deepest| deepest + 1);
        self.depths.insert(id, depth);
        depth <= MAX_TYPE_DEPTH && !self.parts.contains(&id)
    }
}

fn find(decorations: Option<&Decorations>, decoration: Decoration) -> Option<&[u32]> {
    decorations?
        .iter()
        .find(|(kind, _)| *kind == decoration as u32)
        .map(|(_, parameters)| parameters.as_slice())
}
