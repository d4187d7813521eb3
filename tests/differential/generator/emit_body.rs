//! Emits the functions of a generated shader as SPIR-V.

use spirv::{GlslStd450Op, Op, StorageClass};

use super::emit::{Emitter, attribute_type};
use super::module::instruction;
use super::program::{Access, Expr, Free, Op as Binary, Stmt, Value, Via};
use super::types::{Scalar, Type};

/// The code of one function.
#[derive(Default)]
struct Code {
    /// The variables, which come first in the function.
    locals: Vec<u32>,
    words: Vec<u32>,
    /// The label of the block to which the next instruction is added.
    block: u32,
    /// The values of loop indices, by the number of the loop.
    indices: [u32; 16],
}

impl Code {
    fn push(&mut self, op: Op, operands: &[u32]) {
        self.words.extend(instruction(op, operands));
    }

    fn label(&mut self, label: u32) {
        self.push(Op::Label, &[label]);
        self.block = label;
    }
}

/// A function that returns a value.
struct Returning {
    id: u32,
    ty: Type,
    value: Value,
}

/// Emits functions.
struct Functions<'e, 'a> {
    emitter: &'e mut Emitter<'a>,
    ids: Vec<u32>,
    returning: Vec<Returning>,
    code: Code,
}

impl Emitter<'_> {
    /// Emits the program, and returns the id of the entry point.
    pub fn functions(&mut self) -> u32 {
        let program = &self.shader.program;
        let ids: Vec<u32> = program.functions.iter().map(|_| self.module.id()).collect();
        let main = ids[0];
        let mut functions =
            Functions { emitter: self, ids, returning: vec![], code: Code::default() };
        let void = functions.emitter.module.ty(Op::TypeVoid, &[]);
        for (number, body) in program.functions.iter().enumerate() {
            let id = functions.ids[number];
            functions.function(id, void, |f| {
                if f.block(body) {
                    f.code.push(Op::Return, &[]);
                }
            });
            functions.emitter.module.name(id, &format!("function{number}"));
        }
        while let Some(Returning { id, ty, value }) = functions.returning.pop() {
            let result = functions.emitter.ty(&ty);
            functions.function(id, result, |f| {
                let value = f.composite(&ty, &value);
                f.code.push(Op::ReturnValue, &[value]);
            });
        }
        main
    }
}

impl Functions<'_, '_> {
    fn function(&mut self, id: u32, result: u32, body: impl FnOnce(&mut Self)) {
        let ty = self.emitter.module.ty(Op::TypeFunction, &[result]);
        let label = self.emitter.module.id();
        self.code = Code { block: label, ..Code::default() };
        body(self);
        let Code { locals, words, .. } = std::mem::take(&mut self.code);
        let functions = &mut self.emitter.module.functions;
        functions.extend(instruction(Op::Function, &[result, id, 0, ty]));
        functions.extend(instruction(Op::Label, &[label]));
        functions.extend(locals);
        functions.extend(words);
        functions.extend(instruction(Op::FunctionEnd, &[]));
    }

    fn id(&mut self) -> u32 {
        self.emitter.module.id()
    }

    fn value(&mut self, op: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        self.code.push(op, &[&[ty, id], operands].concat());
        id
    }

    fn scalar_type(&mut self, scalar: Scalar) -> u32 {
        self.emitter.ty(&Type::Scalar(scalar))
    }

    /// Emits a block. Returns whether control reaches its end.
    fn block(&mut self, block: &[Stmt]) -> bool {
        // Statements after a return are left out.
        block.iter().all(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Store(access, ty, value, via) => self.store(access, ty, value, *via),
            Stmt::If(condition, then, otherwise) => {
                let condition = self.is_set(condition);
                let [taken, not_taken, merge] = [(); 3].map(|()| self.id());
                let target = if otherwise.is_empty() { merge } else { not_taken };
                self.code.push(Op::SelectionMerge, &[merge, 0]);
                self.code.push(Op::BranchConditional, &[condition, taken, target]);
                self.branch(taken, then, merge);
                if !otherwise.is_empty() {
                    self.branch(not_taken, otherwise, merge);
                }
                self.code.label(merge);
            }
            Stmt::Switch(selector, cases) => {
                let selector = self.expr(selector);
                let labels: Vec<u32> = cases.iter().map(|_| self.id()).collect();
                let merge = self.id();
                self.code.push(Op::SelectionMerge, &[merge, 0]);
                let mut operands = vec![selector, merge];
                operands.extend((0u32..).zip(&labels).flat_map(|(case, label)| [case, *label]));
                self.code.push(Op::Switch, &operands);
                for (label, case) in labels.into_iter().zip(cases) {
                    self.branch(label, case, merge);
                }
                self.code.label(merge);
            }
            Stmt::Loop(number, length, body) => self.repeat(*number, *length, body),
            Stmt::Call(function) => {
                let void = self.emitter.module.ty(Op::TypeVoid, &[]);
                self.value(Op::FunctionCall, void, &[self.ids[*function]]);
            }
            Stmt::Return => {
                self.code.push(Op::Return, &[]);
                return false;
            }
        }
        true
    }

    fn branch(&mut self, label: u32, block: &[Stmt], merge: u32) {
        self.code.label(label);
        if self.block(block) {
            self.code.push(Op::Branch, &[merge]);
        }
    }

    fn repeat(&mut self, number: u32, length: super::types::Length, body: &[Stmt]) {
        let uint = self.emitter.module.uint();
        let bool_type = self.emitter.module.ty(Op::TypeBool, &[]);
        let zero = self.emitter.module.word(0);
        let one = self.emitter.module.word(1);
        let length = self.emitter.length(length);
        let [header, check, start, next, merge, index, following] = [(); 7].map(|()| self.id());
        let before = self.code.block;
        self.code.push(Op::Branch, &[header]);
        self.code.label(header);
        self.code.push(Op::Phi, &[uint, index, zero, before, following, next]);
        self.code.push(Op::LoopMerge, &[merge, next, 0]);
        self.code.push(Op::Branch, &[check]);
        self.code.label(check);
        let goes_on = self.value(Op::ULessThan, bool_type, &[index, length]);
        self.code.push(Op::BranchConditional, &[goes_on, start, merge]);
        self.code.indices[number as usize] = index;
        self.branch(start, body, next);
        self.code.label(next);
        self.code.push(Op::IAdd, &[uint, following, index, one]);
        self.code.push(Op::Branch, &[header]);
        self.code.label(merge);
    }

    fn is_set(&mut self, condition: &Expr) -> u32 {
        let condition = self.expr(condition);
        let bool_type = self.emitter.module.ty(Op::TypeBool, &[]);
        let zero = self.emitter.module.word(0);
        self.value(Op::INotEqual, bool_type, &[condition, zero])
    }

    fn store(&mut self, access: &Access, ty: &Type, value: &Value, via: Via) {
        let type_id = self.emitter.ty(ty);
        if via == Via::Returned {
            let id = self.id();
            self.returning.push(Returning { id, ty: ty.clone(), value: value.clone() });
            let value = self.value(Op::FunctionCall, type_id, &[id]);
            let pointer = self.pointer(access, type_id);
            self.code.push(Op::Store, &[pointer, value]);
            return;
        }
        if via == Via::Store {
            let pointer = self.pointer(access, type_id);
            let value = self.composite(ty, value);
            self.code.push(Op::Store, &[pointer, value]);
            return;
        }
        let local_type = self.emitter.module.pointer(StorageClass::Function, type_id);
        let local = self.id();
        let storage = StorageClass::Function as u32;
        self.code.locals.extend(instruction(Op::Variable, &[local_type, local, storage]));
        match value {
            Value::Scalar(expr) => {
                let value = self.expr(expr);
                self.code.push(Op::Store, &[local, value]);
            }
            Value::Composite(parts) => {
                for (index, part) in (0u32..).zip(parts) {
                    let part_type = ty.part(index);
                    let part_id = self.emitter.ty(&part_type);
                    let pointer = self.emitter.module.pointer(StorageClass::Function, part_id);
                    let index = self.emitter.module.word(index);
                    let place = self.value(Op::AccessChain, pointer, &[local, index]);
                    let part = self.composite(&part_type, part);
                    self.code.push(Op::Store, &[place, part]);
                }
            }
        }
        let pointer = self.pointer(access, type_id);
        if via == Via::Copy {
            self.code.push(Op::CopyMemory, &[pointer, local]);
        } else {
            let whole = self.value(Op::Load, type_id, &[local]);
            self.code.push(Op::Store, &[pointer, whole]);
        }
    }

    fn pointer(&mut self, access: &Access, ty: u32) -> u32 {
        let mut operands = vec![self.emitter.outputs[access.output]];
        if access.path.is_empty() {
            return operands[0];
        }
        operands.extend(access.path.iter().map(|index| self.expr(index)));
        let pointer = self.emitter.module.pointer(StorageClass::Output, ty);
        self.value(Op::AccessChain, pointer, &operands)
    }

    fn composite(&mut self, ty: &Type, value: &Value) -> u32 {
        match value {
            Value::Scalar(expr) => self.expr(expr),
            Value::Composite(parts) => {
                let parts: Vec<u32> =
                    (0..).zip(parts).map(|(i, part)| self.composite(&ty.part(i), part)).collect();
                let ty = self.emitter.ty(ty);
                self.value(Op::CompositeConstruct, ty, &parts)
            }
        }
    }

    fn expr(&mut self, expr: &Expr) -> u32 {
        match expr {
            Expr::Const(scalar, bits) => self.emitter.literal(*scalar, *bits),
            Expr::Vertex => self.index(self.emitter.vertex_index),
            Expr::Instance => self.index(self.emitter.instance_index),
            Expr::Index(number) => self.code.indices[*number as usize],
            Expr::Attribute(attribute, component) => self.attribute(*attribute, *component),
            Expr::Pushed(scalar, path, loaded) => self.pushed(*scalar, path, *loaded),
            Expr::Binary(op, scalar, a, b) => {
                let operands = [self.expr(a), self.expr(b)];
                let ty = self.scalar_type(*scalar);
                self.value(operation(*op, *scalar), ty, &operands)
            }
            Expr::Bits(_, to, a) => {
                let a = self.expr(a);
                let ty = self.scalar_type(*to);
                self.value(Op::Bitcast, ty, &[a])
            }
            Expr::Pack(scalar, low, high) => {
                let words = [self.expr(low), self.expr(high)];
                let pair = self.emitter.ty(&Type::Vector(Scalar::U32, 2));
                let pair = self.value(Op::CompositeConstruct, pair, &words);
                let ty = self.scalar_type(*scalar);
                self.value(Op::Bitcast, ty, &[pair])
            }
            Expr::Convert(scalar, a) => {
                let a = self.expr(a);
                let ty = self.scalar_type(*scalar);
                let op = if scalar.is_float() { Op::ConvertUToF } else { Op::UConvert };
                self.value(op, ty, &[a])
            }
            Expr::MatrixRow(row, matrix, vector) => {
                let float = self.scalar_type(Scalar::F32);
                let matrix_type = self.emitter.ty(&Type::Matrix(Scalar::F32, 2, 2));
                let vector_type = self.emitter.ty(&Type::Vector(Scalar::F32, 2));
                let pair = |f: &mut Self, x: &Expr, y: &Expr| {
                    let parts = [f.expr(x), f.expr(y)];
                    f.value(Op::CompositeConstruct, vector_type, &parts)
                };
                let columns =
                    [pair(self, &matrix[0], &matrix[1]), pair(self, &matrix[2], &matrix[3])];
                let vector = pair(self, &vector[0], &vector[1]);
                let matrix = self.value(Op::CompositeConstruct, matrix_type, &columns);
                let product = self.value(Op::MatrixTimesVector, vector_type, &[matrix, vector]);
                self.value(Op::CompositeExtract, float, &[product, *row])
            }
            Expr::Load(access) => {
                let ty = self.output_type(access);
                let ty = self.emitter.ty(&ty);
                let pointer = self.pointer(access, ty);
                self.value(Op::Load, ty, &[pointer])
            }
            Expr::Free(op, arguments) => {
                let arguments: Vec<u32> = arguments.iter().map(|a| self.expr(a)).collect();
                self.free(*op, &arguments)
            }
        }
    }

    fn output_type(&self, access: &Access) -> Type {
        let whole = self.emitter.shader.program.outputs[access.output].clone();
        access.path.iter().fold(whole, |ty, index| match index {
            Expr::Const(_, index) => ty.part(*index as u32),
            _ => ty.part(0),
        })
    }

    fn index(&mut self, variable: u32) -> u32 {
        let uint = self.emitter.module.uint();
        if !self.emitter.signed_indices {
            return self.value(Op::Load, uint, &[variable]);
        }
        let int = self.scalar_type(Scalar::I32);
        let value = self.value(Op::Load, int, &[variable]);
        self.value(Op::Bitcast, uint, &[value])
    }

    fn attribute(&mut self, number: usize, component: u32) -> u32 {
        let attribute = &self.emitter.shader.attributes[number];
        let ty = attribute_type(attribute);
        let scalar = self.scalar_type(attribute.scalar);
        let variable = self.emitter.attributes[number];
        let ty_id = self.emitter.ty(&ty);
        if ty.part_count() == 0 {
            return self.value(Op::Load, scalar, &[variable]);
        }
        if component.is_multiple_of(2) {
            let pointer = self.emitter.module.pointer(StorageClass::Input, scalar);
            let component = self.emitter.module.word(component);
            let pointer = self.value(Op::AccessChain, pointer, &[variable, component]);
            return self.value(Op::Load, scalar, &[pointer]);
        }
        let vector = self.value(Op::Load, ty_id, &[variable]);
        self.value(Op::CompositeExtract, scalar, &[vector, component])
    }

    fn pushed(&mut self, scalar: Scalar, path: &[Expr], loaded: usize) -> u32 {
        let (chain, literals) = path.split_at(loaded);
        let constant = |index: &Expr| match index {
            Expr::Const(_, index) => Some(*index as u32),
            _ => None,
        };
        let types = self.emitter.pushed.as_ref().unwrap();
        let mut operands = vec![types.variable];
        let ty =
            types.ty(&chain.iter().map(|index| constant(index).unwrap_or(0)).collect::<Vec<_>>());
        operands.extend(chain.iter().map(|index| self.expr(index)));
        let mut pointer = operands[0];
        if !chain.is_empty() {
            let pointer_type = self.emitter.module.pointer(StorageClass::PushConstant, ty);
            pointer = self.value(Op::AccessChain, pointer_type, &operands);
        }
        let value = self.value(Op::Load, ty, &[pointer]);
        if literals.is_empty() {
            return value;
        }
        let scalar = self.scalar_type(scalar);
        let literals = literals.iter().map(|index| constant(index).unwrap());
        let operands: Vec<u32> = std::iter::once(value).chain(literals).collect();
        self.value(Op::CompositeExtract, scalar, &operands)
    }

    fn free(&mut self, op: Free, x: &[u32]) -> u32 {
        let float = self.scalar_type(Scalar::F32);
        let glsl = self.emitter.module.glsl;
        let mut extended = |op: GlslStd450Op| {
            let operands = [&[glsl, op as u32], x].concat();
            self.value(Op::ExtInst, float, &operands)
        };
        match op {
            Free::Sin => extended(GlslStd450Op::Sin),
            Free::Sqrt => extended(GlslStd450Op::Sqrt),
            Free::Fma => extended(GlslStd450Op::Fma),
            Free::Divide => self.value(Op::FDiv, float, x),
            Free::Dot3 => {
                let vector = self.emitter.ty(&Type::Vector(Scalar::F32, 3));
                let [a, b] = [&x[..3], &x[3..]]
                    .map(|parts| self.value(Op::CompositeConstruct, vector, parts));
                self.value(Op::Dot, float, &[a, b])
            }
        }
    }
}

fn operation(op: Binary, scalar: Scalar) -> Op {
    match (op, scalar.is_float()) {
        (Binary::Add, true) => Op::FAdd,
        (Binary::Sub, true) => Op::FSub,
        (Binary::Mul, true) => Op::FMul,
        (Binary::Add, false) => Op::IAdd,
        (Binary::Sub, false) => Op::ISub,
        (Binary::Mul, false) => Op::IMul,
        (Binary::And, _) => Op::BitwiseAnd,
        (Binary::Or, _) => Op::BitwiseOr,
        (Binary::Xor, _) => Op::BitwiseXor,
        (Binary::Shl, _) => Op::ShiftLeftLogical,
        (Binary::Shr, _) => Op::ShiftRightLogical,
    }
}
