//! Random values: integers that differ from vertex to vertex, and floating-point numbers that no
//! device rounds.

use super::Attribute;
use super::body::{Body, Range};
use super::program::{Expr, Free, Op, Value};
use super::pushed::Step;
use super::types::{Scalar, Type};

impl Body<'_> {
    pub fn value(&mut self, ty: &Type, range: Range) -> Value {
        match ty {
            Type::Scalar(scalar) => Value::Scalar(self.scalar(*scalar, range)),
            _ => {
                let part = |part| self.value(&ty.part(part), range);
                Value::Composite((0..ty.part_count()).map(part).collect())
            }
        }
    }

    pub fn constant(&mut self, ty: &Type) -> Value {
        match ty {
            Type::Scalar(scalar) => Value::Scalar(self.literal(*scalar)),
            _ => {
                let part = |part| self.constant(&ty.part(part));
                Value::Composite((0..ty.part_count()).map(part).collect())
            }
        }
    }

    fn literal(&mut self, scalar: Scalar) -> Expr {
        let small = self.rng.range(1, 40);
        let bits = match scalar {
            Scalar::F32 => (small as f32 / 4.0).to_bits().into(),
            Scalar::F64 => (f64::from(small) / 8.0).to_bits(),
            _ if scalar.is_64() => self.rng.u64(),
            _ => self.rng.u32().into(),
        };
        Expr::Const(scalar, bits)
    }

    /// Returns a push constant of a wanted type, if one is found.
    fn pushed(&mut self, is_wanted: impl Fn(Scalar) -> bool) -> Option<(Scalar, Expr)> {
        let block = self.pushed?;
        let mut tries = (0..4).map(|_| block.ty.path(self.rng));
        let (path, scalar) = tries.find_map(|path| {
            let first = path.iter().map(|step| match step {
                Step::Constant(index) => *index,
                Step::Masked(_) => 0,
            });
            let (_, scalar) = block.ty.scalar_at(&first.collect::<Vec<_>>());
            is_wanted(scalar).then_some((path, scalar))
        })?;
        let computed = path.iter().rposition(|step| matches!(step, Step::Masked(_)));
        let loaded = self.rng.range(computed.map_or(0, |last| last as u32 + 1), path.len() as u32);
        let path = path.into_iter().map(|step| match step {
            Step::Constant(index) => word(index),
            Step::Masked(mask) => self.masked(mask),
        });
        Some((scalar, Expr::Pushed(scalar, path.collect(), loaded as usize)))
    }

    pub fn scalar(&mut self, scalar: Scalar, range: Range) -> Expr {
        match (range, scalar) {
            (Range::Size, _) => {
                let size = binary(Op::Or, Scalar::U32, self.masked(63), word(1));
                return Expr::Convert(Scalar::F32, Box::new(size));
            }
            (Range::Small, _) => return as_type(Scalar::U32, scalar, self.masked(3)),
            _ => {}
        }
        if self.pushed.is_some()
            && self.rng.percent(25)
            && let Some((_, pushed)) = self.pushed(|found| found == scalar)
        {
            return pushed;
        }
        match scalar {
            Scalar::U32 | Scalar::I32 => as_type(Scalar::U32, scalar, self.word()),
            Scalar::F32 => self.float(),
            Scalar::F64 => match self.rng.below(3) {
                0 => self.number(scalar),
                1 => {
                    let op = self.rng.pick(&[Op::Add, Op::Mul, Op::Sub]);
                    binary(op, scalar, self.number(scalar), self.literal(scalar))
                }
                _ => Expr::Pack(scalar, Box::new(self.word()), Box::new(self.normal())),
            },
            Scalar::U64 | Scalar::I64 => {
                let pack = |s: &mut Self| Expr::Pack(scalar, s.word().into(), s.word().into());
                match self.rng.below(3) {
                    0 => pack(self),
                    1 => as_type(
                        Scalar::U64,
                        scalar,
                        Expr::Convert(Scalar::U64, Box::new(self.word())),
                    ),
                    _ => {
                        let op =
                            self.rng.pick(&[Op::Add, Op::Mul, Op::Xor, Op::Sub, Op::And, Op::Shl]);
                        let other = match op {
                            // The base's type is the result's; shifts stay below 64.
                            Op::Shl => Expr::Const(scalar, self.rng.below(64).into()),
                            _ => self.literal(scalar),
                        };
                        binary(op, scalar, pack(self), other)
                    }
                }
            }
        }
    }

    fn float(&mut self) -> Expr {
        if self.rng.percent(self.space.free_percent) {
            let op = self.rng.pick(&[Free::Sin, Free::Sqrt, Free::Divide, Free::Fma, Free::Dot3]);
            return Expr::Free(op, (0..op.arity()).map(|_| self.between_1_and_2()).collect());
        }
        let floats: Vec<usize> = (0..self.attributes.len())
            .filter(|a| self.attributes[*a].scalar == Scalar::F32)
            .collect();
        match self.rng.below(10) {
            0..3 => self.number(Scalar::F32),
            3..5 => {
                let op = self.rng.pick(&[Op::Add, Op::Mul, Op::Sub]);
                binary(op, Scalar::F32, self.number(Scalar::F32), self.literal(Scalar::F32))
            }
            5 => {
                let mut number = || Box::new(self.number(Scalar::F32));
                let matrix = [number(), number(), number(), number()];
                let vector = [number(), number()];
                Expr::MatrixRow(self.rng.below(2), matrix, vector)
            }
            6..8 if !floats.is_empty() => {
                let attribute = self.rng.pick(&floats);
                let component = self.rng.below(self.attributes[attribute].components);
                Expr::Attribute(attribute, component)
            }
            _ => as_type(Scalar::U32, Scalar::F32, self.normal()),
        }
    }

    /// Returns a whole number from 1 to 511.
    fn number(&mut self, scalar: Scalar) -> Expr {
        // Never 0, whose sign optimisers may get wrong.
        let small = binary(Op::Or, Scalar::U32, self.masked(511), word(1));
        Expr::Convert(scalar, Box::new(small))
    }

    fn between_1_and_2(&mut self) -> Expr {
        let one = Expr::Const(Scalar::F32, 1f32.to_bits().into());
        let scale = Expr::Const(Scalar::F32, (1.0 / 1024f32).to_bits().into());
        let fraction = binary(Op::Mul, Scalar::F32, self.number(Scalar::F32), scale);
        binary(Op::Add, Scalar::F32, one, fraction)
    }

    /// Returns the bits of a float, or the high bits of a double, that is neither denormal, nor
    /// infinite, nor NaN: such numbers pass through every device unchanged.
    fn normal(&mut self) -> Expr {
        let kept = binary(Op::And, Scalar::U32, self.word(), word(0x8fff_ffff));
        binary(Op::Or, Scalar::U32, kept, word(0x3000_0000))
    }

    pub fn condition(&mut self) -> Expr {
        let shift = self.rng.below(3);
        let bits = binary(Op::Shr, Scalar::U32, self.word(), word(shift));
        binary(Op::And, Scalar::U32, bits, word(1))
    }

    pub fn masked(&mut self, mask: u32) -> Expr {
        let shift = self.rng.below(16);
        let bits = binary(Op::Shr, Scalar::U32, self.word(), word(shift));
        binary(Op::And, Scalar::U32, bits, word(mask))
    }

    /// Returns a `u32` that differs from vertex to vertex and from instance to instance.
    fn word(&mut self) -> Expr {
        let vertex = binary(Op::Mul, Scalar::U32, Expr::Vertex, word(self.rng.u32() | 1));
        let mut mixed = binary(Op::Add, Scalar::U32, vertex, word(self.rng.u32()));
        if self.rng.percent(40) {
            let instance = binary(Op::Mul, Scalar::U32, Expr::Instance, word(self.rng.u32() | 1));
            mixed = binary(Op::Xor, Scalar::U32, mixed, instance);
        }
        if let Some(number) = self.loops.last() {
            let number = *number;
            let index = binary(Op::Mul, Scalar::U32, Expr::Index(number), word(self.rng.u32() | 1));
            mixed = binary(Op::Add, Scalar::U32, mixed, index);
        }
        if !self.attributes.is_empty() && self.rng.percent(15) {
            let attribute = self.rng.below(self.attributes.len() as u32) as usize;
            let Attribute { scalar, components, .. } = self.attributes[attribute];
            let read = Expr::Attribute(attribute, self.rng.below(components));
            mixed = binary(Op::Sub, Scalar::U32, mixed, as_type(scalar, Scalar::U32, read));
        }
        if self.pushed.is_some()
            && self.rng.percent(15)
            && let Some((scalar, read)) = self.pushed(|found| !found.is_64())
        {
            mixed = binary(Op::Add, Scalar::U32, mixed, as_type(scalar, Scalar::U32, read));
        }
        if self.rng.percent(15) {
            let high = binary(Op::Shr, Scalar::U32, mixed.clone(), word(self.rng.range(7, 20)));
            mixed = binary(Op::Xor, Scalar::U32, mixed, high);
        }
        mixed
    }
}

fn word(value: u32) -> Expr {
    Expr::Const(Scalar::U32, value.into())
}

fn binary(op: Op, scalar: Scalar, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, scalar, Box::new(a), Box::new(b))
}

fn as_type(from: Scalar, to: Scalar, value: Expr) -> Expr {
    if from == to { value } else { Expr::Bits(from, to, Box::new(value)) }
}
