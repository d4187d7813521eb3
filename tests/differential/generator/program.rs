//! The program of a generated shader, and an interpreter that computes its results.
//!
//! Programs consist of few operations. All of them are exact on every device: integers that wrap,
//! moves, bit casts, and floating-point operations on whole numbers that are so small that nothing
//! is rounded. The exception are the *free* operations: devices may round them, within a number of
//! ULP.

use super::types::{Length, Scalar, Type};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

/// Operations that devices may round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Free {
    Sin,
    Sqrt,
    Divide,
    Fma,
    Dot3,
}

impl Free {
    /// By how many ULP a result may differ from the exact one, according to the tables of the
    /// precision of core SPIR-V instructions and of GLSL.std.450 in the Vulkan environment.
    pub const fn tolerance(self) -> u32 {
        match self {
            // 2^-11 for angles below pi; results from 0.8 to 1 have an ULP of 2^-24.
            Self::Sin => 1 << 13,
            // By 1/inversesqrt: 2 and 2.5 ULP.
            Self::Sqrt => 6,
            Self::Divide => 3,
            // A product and a sum of positive numbers, each rounded by 1 ULP.
            Self::Fma => 3,
            Self::Dot3 => 6,
        }
    }

    pub const fn arity(self) -> usize {
        match self {
            Self::Sin | Self::Sqrt => 1,
            Self::Divide => 2,
            Self::Fma => 3,
            Self::Dot3 => 6,
        }
    }

    fn value(self, x: &[f64]) -> f64 {
        match self {
            Self::Sin => x[0].sin(),
            Self::Sqrt => x[0].sqrt(),
            Self::Divide => x[0] / x[1],
            Self::Fma => x[0].mul_add(x[1], x[2]),
            Self::Dot3 => x[0] * x[3] + x[1] * x[4] + x[2] * x[5],
        }
    }
}

/// An expression with a scalar value. It has the type `u32` if no other type is mentioned.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Const(Scalar, u64),
    Vertex,
    Instance,
    /// The index of the loop with this number.
    Index(u32),
    /// A component of an attribute, of the attribute's type.
    Attribute(usize, u32),
    /// A scalar of the push constants, by its indices. The given number of indices is in the access
    /// chain of the load; the others, which are constants, extract from the loaded value.
    Pushed(Scalar, Vec<Expr>, usize),
    Binary(Op, Scalar, Box<Expr>, Box<Expr>),
    /// The same bits as another type of the same size.
    Bits(Scalar, Scalar, Box<Expr>),
    /// A `u64`, `i64` or `double` from two words, the low word first.
    Pack(Scalar, Box<Expr>, Box<Expr>),
    /// A `u32`, which must be small, converted to another type.
    Convert(Scalar, Box<Expr>),
    /// One row of a 2x2 matrix, which is given by columns, times a vector.
    MatrixRow(u32, [Box<Expr>; 4], [Box<Expr>; 2]),
    /// The current value of an output. It must be defined.
    Load(Box<Access>),
    Free(Free, Vec<Expr>),
}

/// A path from an output to a part of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Access {
    pub output: usize,
    pub path: Vec<Expr>,
}

/// A value of any type.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Scalar(Expr),
    Composite(Vec<Value>),
}

/// How a value is stored to its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    Store,
    /// It is stored part by part into a local variable, which is then loaded and stored.
    Local,
    /// It is stored part by part into a local variable, which is then copied with `OpCopyMemory`.
    Copy,
    /// A function returns it. Its expression contains no loop indices.
    Returned,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Stmt {
    Store(Access, Type, Value, Via),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// A switch with cases from 0 on. Other values do nothing.
    Switch(Expr, Vec<Vec<Stmt>>),
    /// A loop: its number, the number of iterations, and the body.
    Loop(u32, Length, Vec<Stmt>),
    /// A call of the function with this index.
    Call(usize),
    Return,
}

#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The functions. The first is the entry point; each function calls only later ones.
    pub functions: Vec<Vec<Stmt>>,
    /// The types of the outputs.
    pub outputs: Vec<Type>,
    /// The initial values of the outputs, if they have any.
    pub initializers: Vec<Option<Value>>,
}

/// The value of a scalar of an output after the shader has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// It was never written.
    Undefined,
    Exact(u64),
    /// The bits of a float, and by how many ULP it may differ.
    Near(u32, u32),
}

/// The inputs of the shader.
pub trait Inputs {
    fn vertex(&self) -> u32;
    fn instance(&self) -> u32;
    /// Returns the bits of a component of an attribute.
    fn attribute(&self, attribute: usize, component: u32) -> u32;
    /// Returns the bits of a scalar of the push constants.
    fn pushed(&self, path: &[u32]) -> u64;
}

impl Program {
    /// Runs the program, and returns the scalars of each output.
    pub fn run(&self, inputs: &dyn Inputs) -> Vec<Vec<Cell>> {
        let undefined = |ty: &Type| vec![Cell::Undefined; ty.scalars() as usize];
        let mut machine = Machine {
            program: self,
            inputs,
            outputs: self.outputs.iter().map(undefined).collect(),
            indices: [0; 16],
        };
        for (output, initializer) in self.initializers.iter().enumerate() {
            if let Some(value) = initializer {
                machine.write(output, 0, value);
            }
        }
        machine.block(&self.functions[0]);
        machine.outputs
    }
}

struct Machine<'a> {
    program: &'a Program,
    inputs: &'a dyn Inputs,
    outputs: Vec<Vec<Cell>>,
    indices: [u32; 16],
}

impl Machine<'_> {
    /// Executes a block. Returns whether control reaches its end.
    fn block(&mut self, block: &[Stmt]) -> bool {
        block.iter().all(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Store(access, _, value, _) => {
                let (output, first) = self.resolve(access);
                self.write(output, first, value);
                true
            }
            Stmt::If(condition, then, otherwise) => {
                let taken = if self.word(condition) != 0 { then } else { otherwise };
                self.block(taken)
            }
            Stmt::Switch(selector, cases) => {
                let case = cases.get(self.word(selector) as usize);
                case.is_none_or(|case| self.block(case))
            }
            Stmt::Loop(number, length, body) => (0..length.get()).all(|index| {
                self.indices[*number as usize] = index;
                self.block(body)
            }),
            Stmt::Call(function) => {
                // A return ends only the function.
                self.block(&self.program.functions[*function]);
                true
            }
            Stmt::Return => false,
        }
    }

    /// Returns the output of an access, and the first scalar that the access selects.
    fn resolve(&self, access: &Access) -> (usize, u32) {
        let output = access.output;
        let mut ty = self.program.outputs[output].clone();
        let mut first = 0;
        for index in &access.path {
            let index = self.word(index);
            assert!(index < ty.part_count(), "the program indexes out of bounds");
            first += ty.scalars_before(index);
            ty = ty.part(index);
        }
        (output, first)
    }

    fn write(&mut self, output: usize, first: u32, value: &Value) -> u32 {
        match value {
            Value::Composite(parts) => {
                parts.iter().fold(first, |at, part| self.write(output, at, part))
            }
            Value::Scalar(expr) => {
                self.outputs[output][first as usize] = self.eval(expr);
                first + 1
            }
        }
    }

    fn word(&self, expr: &Expr) -> u32 {
        self.bits(expr) as u32
    }

    fn bits(&self, expr: &Expr) -> u64 {
        match self.eval(expr) {
            Cell::Exact(bits) => bits,
            other => panic!("the program computes with {other:?}"),
        }
    }

    fn eval(&self, expr: &Expr) -> Cell {
        let small = |expr: &Expr| f32::from_bits(self.word(expr));
        Cell::Exact(match expr {
            Expr::Const(_, bits) => *bits,
            Expr::Vertex => self.inputs.vertex().into(),
            Expr::Instance => self.inputs.instance().into(),
            Expr::Index(number) => self.indices[*number as usize].into(),
            Expr::Attribute(attribute, component) => {
                self.inputs.attribute(*attribute, *component).into()
            }
            Expr::Pushed(_, path, _) => {
                let path: Vec<u32> = path.iter().map(|index| self.word(index)).collect();
                self.inputs.pushed(&path)
            }
            Expr::Binary(op, scalar, a, b) => binary(*op, *scalar, self.bits(a), self.bits(b)),
            Expr::Bits(_, _, a) => self.bits(a),
            Expr::Pack(_, low, high) => self.bits(low) | (self.bits(high) << 32),
            Expr::Convert(scalar, a) => {
                let number = self.word(a);
                match scalar {
                    Scalar::F32 => (number as f32).to_bits().into(),
                    Scalar::F64 => f64::from(number).to_bits(),
                    _ => number.into(),
                }
            }
            Expr::MatrixRow(row, matrix, vector) => {
                let row = *row as usize;
                let sum = small(&matrix[row]) * small(&vector[0])
                    + small(&matrix[2 + row]) * small(&vector[1]);
                sum.to_bits().into()
            }
            Expr::Load(access) => {
                let (output, first) = self.resolve(access);
                return self.outputs[output][first as usize];
            }
            Expr::Free(op, arguments) => {
                let numbers: Vec<f64> = arguments.iter().map(|a| small(a).into()).collect();
                return Cell::Near((op.value(&numbers) as f32).to_bits(), op.tolerance());
            }
        })
    }
}

fn binary(op: Op, scalar: Scalar, a: u64, b: u64) -> u64 {
    let float = |a: f64, b: f64| match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul => a * b,
        _ => panic!("{op:?} of floats"),
    };
    let int = match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Mul => a.wrapping_mul(b),
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Shl => a << b,
        Op::Shr => a >> b,
    };
    match scalar {
        Scalar::F32 => {
            let [a, b] = [a, b].map(|x| f64::from(f32::from_bits(x as u32)));
            (float(a, b) as f32).to_bits().into()
        }
        Scalar::F64 => float(f64::from_bits(a), f64::from_bits(b)).to_bits(),
        _ if scalar.is_64() => int,
        _ => int as u32 as u64,
    }
}
