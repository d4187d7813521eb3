//! Adds declarations and code to a module.

use rustc_hash::FxHashMap;
use spirv::{BuiltIn, Decoration, Op, StorageClass};

use crate::spirv::module::encode;
use crate::spirv::{Id, Module, Section, string_words};

/// Adds declarations to a module, unless the module already has an equal declaration.
///
/// SPIR-V forbids equal scalar, vector and function types. Other types are not reused if they are
/// decorated, because the decoration may not be right for the new use.
#[derive(Debug)]
pub struct Builder<'m> {
    /// The module.
    pub module: &'m mut Module,
    /// The ids of declarations, by opcode and operands without the result.
    known: FxHashMap<Vec<u32>, Id>,
    key: Vec<u32>,
}

impl<'m> Builder<'m> {
    /// Makes a builder with the existing declarations of the module.
    pub fn new(module: &'m mut Module) -> Self {
        let mut decorated = module.id_set();
        decorated.extend(module.section(Section::Annotations).map(|i| i.id(0)));
        let mut known = FxHashMap::default();
        for i in module.section(Section::Declarations) {
            let Some(op) = i.op() else { continue };
            let Some(result) = result_index(op) else { continue };
            let id = i.id(result);
            if (is_unique(op) || !decorated.contains(id)) && i.operands().len() > result {
                let (before, after) = (&i.operands()[..result], &i.operands()[result + 1..]);
                known.entry([&[op as u32], before, after].concat()).or_insert(id);
            }
        }
        Self { module, known, key: Vec::new() }
    }

    /// Declares a type or constant. `operands` do not include the result id.
    ///
    /// Structures and arrays are never reused, because the caller adds layout decorations.
    pub fn declare(&mut self, op: Op, operands: &[u32]) -> Id {
        let Some(result) = result_index(op) else { return self.declare_new(op, operands) };
        self.key.clear();
        self.key.push(op as u32);
        self.key.extend_from_slice(operands);
        if let Some(id) = self.known.get(&self.key) {
            return *id;
        }
        let id = self.module.fresh_id();
        let mut with_result = operands.to_vec();
        with_result.insert(result.min(operands.len()), id.0);
        self.module.push(Section::Declarations, op, &with_result);
        self.known.insert(self.key.clone(), id);
        id
    }

    /// Declares a type that is never reused. `operands` do not include the result id, which is the
    /// first operand of the instruction.
    pub fn declare_new(&mut self, op: Op, operands: &[u32]) -> Id {
        let id = self.module.fresh_id();
        let mut words = vec![id.0];
        words.extend_from_slice(operands);
        self.module.push(Section::Declarations, op, &words);
        id
    }

    /// Declares `void`.
    pub fn void(&mut self) -> Id {
        self.declare(Op::TypeVoid, &[])
    }

    /// Declares `bool`.
    pub fn bool(&mut self) -> Id {
        self.declare(Op::TypeBool, &[])
    }

    /// Declares `u32`.
    pub fn uint(&mut self) -> Id {
        self.declare(Op::TypeInt, &[32, 0])
    }

    /// Declares `i32`.
    pub fn int(&mut self) -> Id {
        self.declare(Op::TypeInt, &[32, 1])
    }

    /// Declares `u32` for one component, or a vector of `u32` for 2 to 4 components.
    pub fn uvec(&mut self, components: u32) -> Id {
        let uint = self.uint();
        match components {
            1 => uint,
            _ => self.declare(Op::TypeVector, &[uint.0, components]),
        }
    }

    /// Declares a pointer type.
    pub fn pointer(&mut self, storage: StorageClass, pointee: Id) -> Id {
        self.declare(Op::TypePointer, &[storage as u32, pointee.0])
    }

    /// Declares the type of a function without parameters that returns nothing.
    pub fn procedure(&mut self) -> Id {
        let void = self.void();
        self.declare(Op::TypeFunction, &[void.0])
    }

    /// Declares a `u32` constant.
    pub fn constant(&mut self, value: u32) -> Id {
        let uint = self.uint();
        self.declare(Op::Constant, &[uint.0, value])
    }

    /// Declares a `bool` constant.
    pub fn constant_bool(&mut self, value: bool) -> Id {
        let ty = self.bool();
        self.declare(if value { Op::ConstantTrue } else { Op::ConstantFalse }, &[ty.0])
    }

    /// Declares a global variable without initializer.
    pub fn variable(&mut self, storage: StorageClass, pointee: Id) -> Id {
        let pointer = self.pointer(storage, pointee);
        let id = self.module.fresh_id();
        let operands = [pointer.0, id.0, storage as u32];
        self.module.push(Section::Declarations, Op::Variable, &operands);
        id
    }

    /// Declares the input variable of a built-in, of which an entry point may have only one.
    pub(crate) fn built_in(&mut self, which: BuiltIn, ty: Id) -> Id {
        // Variables are no other keys: two equal ones may differ.
        let key = vec![Op::Variable as u32, StorageClass::Input as u32, which as u32];
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = self.variable(StorageClass::Input, ty);
        self.decorate(id, Decoration::BuiltIn, &[which as u32]);
        self.known.insert(key, id);
        id
    }

    /// Adds an `OpName`.
    pub fn name(&mut self, id: Id, name: &str) {
        let mut words = vec![id.0];
        words.extend(string_words(name));
        self.module.push(Section::Names, Op::Name, &words);
    }

    /// Adds an `OpDecorate`.
    pub fn decorate(&mut self, id: Id, decoration: Decoration, parameters: &[u32]) {
        let mut words = vec![id.0, decoration as u32];
        words.extend_from_slice(parameters);
        self.module.push(Section::Annotations, Op::Decorate, &words);
    }
}

/// The index of the result among the operands of a declaration that may be reused; `None` for declarations
/// that may not.
pub(super) fn result_index(op: Op) -> Option<usize> {
    match op {
        Op::TypeVoid
        | Op::TypeBool
        | Op::TypeInt
        | Op::TypeFloat
        | Op::TypeVector
        | Op::TypePointer
        | Op::TypeFunction => Some(0),
        Op::Constant
        | Op::ConstantTrue
        | Op::ConstantFalse
        | Op::ConstantNull
        | Op::ConstantComposite => Some(1),
        _ => None,
    }
}

/// Whether SPIR-V forbids to declare a type with this opcode and equal operands twice, for the opcodes of
/// [`result_index`].
fn is_unique(op: Op) -> bool {
    use Op::*;
    matches!(op, TypeVoid | TypeBool | TypeInt | TypeFloat | TypeVector | TypeFunction)
}

impl Module {
    /// Appends instructions to a section.
    pub fn push_code(&mut self, section: Section, code: &Code) {
        self.push_encoded(section, code.words());
    }
}

/// Encoded instructions of a function body.
#[derive(Debug, Default)]
pub struct Code {
    words: Vec<u32>,
}

impl Code {
    /// Appends an instruction without result. Operands beyond [`MAX_OPERANDS`](super::module::MAX_OPERANDS)
    /// are left out.
    pub fn push(&mut self, op: Op, operands: &[u32]) {
        encode(&mut self.words, op, operands);
    }

    /// Appends an instruction with result type and result. Returns the result.
    pub fn value(&mut self, builder: &mut Builder<'_>, op: Op, ty: Id, operands: &[u32]) -> Id {
        let id = builder.module.fresh_id();
        let mut words = vec![ty.0, id.0];
        words.extend_from_slice(operands);
        self.push(op, &words);
        id
    }

    /// The body of a function that returns a given value.
    pub(crate) fn returning(value: Id) -> Self {
        let mut code = Self::default();
        code.push(Op::ReturnValue, &[value.0]);
        code
    }

    /// Appends an `OpCompositeExtract` of a `u32`.
    pub(crate) fn extract(&mut self, builder: &mut Builder<'_>, composite: Id, index: u32) -> Id {
        let uint = builder.uint();
        self.value(builder, Op::CompositeExtract, uint, &[composite.0, index])
    }

    /// Makes a value from its parts: by `OpCompositeConstruct`, or for a scalar the part itself.
    pub(crate) fn construct(&mut self, builder: &mut Builder<'_>, ty: Id, parts: &[u32]) -> Id {
        match parts {
            [part] => Id(*part),
            _ => self.value(builder, Op::CompositeConstruct, ty, parts),
        }
    }

    /// Begins a function without parameters and result, up to its first instruction. Returns its
    /// id.
    pub fn begin_procedure(&mut self, builder: &mut Builder<'_>) -> Id {
        let void = builder.void();
        let procedure = builder.procedure();
        let function = self.value(builder, Op::Function, void, &[0, procedure.0]);
        let label = builder.module.fresh_id();
        self.label(label);
        function
    }

    /// Ends a function that [`begin_procedure`](Self::begin_procedure) began, and adds it to the
    /// module.
    pub fn end_procedure(mut self, builder: &mut Builder<'_>, function: Id, name: &str) {
        self.push(Op::Return, &[]);
        self.push(Op::FunctionEnd, &[]);
        builder.module.push_code(Section::Functions, &self);
        builder.name(function, name);
    }

    /// Appends an `OpLabel`. Every block begins with one, including the first block of a function.
    pub fn label(&mut self, label: Id) {
        self.push(Op::Label, &[label.0]);
    }

    /// Appends an `OpFunctionCall`.
    pub fn call(
        &mut self,
        builder: &mut Builder<'_>,
        ty: Id,
        function: Id,
        arguments: &[Id],
    ) -> Id {
        let operands: Vec<u32> =
            std::iter::once(function).chain(arguments.iter().copied()).map(|id| id.0).collect();
        self.value(builder, Op::FunctionCall, ty, &operands)
    }

    /// Begins code that is executed only if `condition` is true. Returns the label of the merge
    /// block, which [`end_if`](Self::end_if) takes.
    pub fn begin_if(&mut self, builder: &mut Builder<'_>, condition: Id) -> Id {
        let [then, merge] = [(); 2].map(|()| builder.module.fresh_id());
        self.push(Op::SelectionMerge, &[merge.0, 0]);
        self.push(Op::BranchConditional, &[condition.0, then.0, merge.0]);
        self.label(then);
        merge
    }

    /// Ends the code that [`begin_if`](Self::begin_if) began.
    pub fn end_if(&mut self, merge: Id) {
        self.push(Op::Branch, &[merge.0]);
        self.label(merge);
    }

    /// Appends an encoded instruction of a parsed module.
    pub fn copy(&mut self, words: &[u32]) {
        self.words.extend_from_slice(words);
    }

    /// The encoded instructions.
    pub fn words(&self) -> &[u32] {
        &self.words
    }
}
