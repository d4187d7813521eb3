//! Values of scalar constants, and operations on them
//! ([`OpSpecConstantOp`](https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html#OpSpecConstantOp)).

use spirv::Op;

use super::{encode, literal};
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::{Id, Instruction};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    Bool,
    /// An integer of 8, 16, 32 or 64 bits.
    Int {
        width: u32,
        signed: bool,
    },
    /// A float of 16, 32 or 64 bits.
    Float {
        width: u32,
    },
}

impl Scalar {
    /// A type that `OpTypeInt` declares, or `None` for an unknown width.
    pub(in crate::spirv) fn int(width: u32, signed: bool) -> Option<Self> {
        [8, 16, 32, 64].contains(&width).then_some(Self::Int { width, signed })
    }

    /// A type that `OpTypeFloat` declares, or `None` for an unknown width.
    pub(in crate::spirv) fn float(width: u32) -> Option<Self> {
        [16, 32, 64].contains(&width).then_some(Self::Float { width })
    }

    /// The scalar type with an id, or `None` for any other type.
    pub(crate) fn of(declarations: &Declarations, ty: Id) -> Option<Self> {
        match declarations.ty(ty)? {
            Type::Int { width, signed } => Self::int(*width, *signed),
            Type::Float { width } => Self::float(*width),
            Type::Other(Op::TypeBool) => Some(Self::Bool),
            _ => None,
        }
    }

    /// The size of a value in memory in bytes. A boolean is a `VkBool32`.
    pub(in crate::spirv) fn bytes(self) -> usize {
        match self {
            Self::Bool => 4,
            Self::Int { width, .. } | Self::Float { width } => width as usize / 8,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConstantValue {
    scalar: Scalar,
    /// The bits of the value; the bits above the type's width are zero.
    bits: u64,
}

impl ConstantValue {
    /// Makes a value from the low bits of `bits`.
    pub(crate) fn new(scalar: Scalar, bits: u64) -> Self {
        let bits = match scalar {
            Scalar::Bool => u64::from(bits != 0),
            Scalar::Int { width, .. } | Scalar::Float { width } => {
                bits & (u64::MAX >> (64 - width))
            }
        };
        Self { scalar, bits }
    }

    /// The value that an instruction declares, if it is a constant. `scalar` is the type of the
    /// instruction.
    pub(crate) fn of_constant(scalar: Scalar, i: Instruction<'_>) -> Option<Self> {
        let bits = match i.op()? {
            Op::ConstantTrue => 1,
            Op::ConstantFalse | Op::ConstantNull => 0,
            Op::Constant => literal(i),
            _ => return None,
        };
        Some(Self::new(scalar, bits))
    }

    /// Reads a value from memory. `None` if the data do not have the size of the type.
    pub(in crate::spirv) fn from_memory(scalar: Scalar, data: &[u8]) -> Option<Self> {
        let bits = if data.len() == scalar.bytes() {
            match *data {
                [a] => a.into(),
                [a, b] => u16::from_ne_bytes([a, b]).into(),
                [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
                _ => u64::from_ne_bytes(data.try_into().ok()?),
            }
        } else {
            return None;
        };
        Some(Self::new(scalar, bits))
    }

    /// The instruction that declares the value as a constant.
    pub(in crate::spirv) fn declaration(self, ty: Id, id: Id) -> Vec<u32> {
        let (op, [low, high], count) = self.literal();
        encode(op, &[ty.0, id.0, low, high][..2 + count])
    }

    /// The opcode of the instruction that declares the value, the words of its literal, and the
    /// number of these words.
    pub(crate) fn literal(self) -> (Op, [u32; 2], usize) {
        let words = [self.bits as u32, (self.bits >> 32) as u32];
        match self.scalar {
            Scalar::Bool if self.bits == 0 => (Op::ConstantFalse, words, 0),
            Scalar::Bool => (Op::ConstantTrue, words, 0),
            // Narrow signed literals are sign-extended.
            Scalar::Int { width: 8 | 16, signed: true } => {
                (Op::Constant, [self.signed() as u32, 0], 1)
            }
            Scalar::Int { width: 64, .. } | Scalar::Float { width: 64 } => (Op::Constant, words, 2),
            Scalar::Int { .. } | Scalar::Float { .. } => (Op::Constant, words, 1),
        }
    }

    pub(in crate::spirv) fn bits(self) -> u64 {
        self.bits
    }

    /// The value of an integer, if it is at least 0 and fits into 32 bits, so that it can be an
    /// index.
    pub(crate) fn index(self) -> Option<u32> {
        self.width()?;
        u32::try_from(self.signed()).ok().or_else(|| match self.scalar {
            Scalar::Int { signed: false, .. } => u32::try_from(self.bits).ok(),
            _ => None,
        })
    }

    pub(crate) fn truth(self) -> Option<bool> {
        (self.scalar == Scalar::Bool).then_some(self.bits != 0)
    }

    pub(crate) fn scalar(self) -> Scalar {
        self.scalar
    }

    /// Whether the value is the same at [relaxed
    /// precision](https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html#_relaxed_precision), where integers may
    /// have 16 bits, whether these are taken as signed or not. Floats may differ, even the integers among them.
    pub(crate) fn fits_relaxed_precision(self) -> bool {
        match self.scalar {
            Scalar::Bool => true,
            Scalar::Int { .. } => self.index().is_some_and(|value| i16::try_from(value).is_ok()),
            Scalar::Float { .. } => false,
        }
    }

    /// The value of a float of 32 or 64 bits, if it is zero or normal. The sign of zero does not matter.
    fn float(self) -> Option<f64> {
        let value = match self.scalar {
            Scalar::Float { width: 32 } => {
                let narrow = f32::from_bits(self.bits as u32);
                (narrow.is_normal() || narrow == 0.0).then_some(f64::from(narrow))?
            }
            Scalar::Float { width: 64 } => f64::from_bits(self.bits),
            _ => return None,
        };
        (value.is_normal() || value == 0.0).then_some(value)
    }

    /// The value of a float that is an operand of arithmetic, if it has few digits.
    fn short_float(self) -> Option<f64> {
        self.float().filter(|value| is_short(*value))
    }

    fn width(self) -> Option<u32> {
        match self.scalar {
            Scalar::Int { width, .. } => Some(width),
            _ => None,
        }
    }

    /// The value of an integer, read as two's complement of its width.
    fn signed(self) -> i64 {
        let unused = 64 - self.width().unwrap_or(64);
        (self.bits << unused) as i64 >> unused
    }
}

/// Computes an operation on integers or booleans. Returns `None` for operations on other types, for operations that
/// SPIR-V leaves undefined (a division by 0, a shift by the width), and for operands whose types do not match.
pub(crate) fn fold(op: Op, result: Scalar, operands: &[ConstantValue]) -> Option<ConstantValue> {
    let bits = match *operands {
        [a] => unary(op, result, a)?,
        [a, b] if a.scalar == Scalar::Bool && b.scalar == Scalar::Bool => {
            logical(op, a.bits != 0, b.bits != 0)?.into()
        }
        [a, b] => match (comparison(op, a, b), result) {
            (Some(holds), Scalar::Bool) if a.width()? == b.width()? => holds.into(),
            (None, Scalar::Int { width, .. }) if a.width()? == width => arithmetic(op, a, b)?,
            _ => return None,
        },
        [condition, a, b] if op == Op::Select && condition.scalar == Scalar::Bool => {
            let chosen = if condition.bits != 0 { a } else { b };
            if a.scalar != result || b.scalar != result {
                return None;
            }
            chosen.bits
        }
        _ => return None,
    };
    Some(ConstantValue::new(result, bits))
}

/// As [`fold()`], but also for floats of 32 and 64 bits and bit casts of them, where all devices have to get the same
/// result, whatever their rounding is, and whatever their compilers do: combine operations to one, or reorder those that
/// are associative or distributive but for rounding. So numbers have few digits, of which none is ever rounded. Denormals, which may be
/// flushed to zero, and results that are zero, of which the sign may be ignored, are not computed: their bits may be cast.
pub(crate) fn fold_exactly(
    op: Op,
    result: Scalar,
    operands: &[ConstantValue],
) -> Option<ConstantValue> {
    match (result, operands) {
        (_, [a]) if !matches!((a.scalar, result), (Scalar::Int { .. }, Scalar::Int { .. })) => {
            exact_unary(op, result, *a).or_else(|| fold(op, result, operands))
        }
        (_, [a, b]) if matches!(a.scalar, Scalar::Float { .. }) => exact_binary(op, result, *a, *b),
        _ => fold(op, result, operands),
    }
}

fn exact_unary(op: Op, result: Scalar, a: ConstantValue) -> Option<ConstantValue> {
    match (op, result) {
        (Op::Bitcast, Scalar::Int { .. } | Scalar::Float { .. }) => {
            let is_cast = a.scalar != Scalar::Bool && a.scalar.bytes() == result.bytes();
            is_cast.then(|| ConstantValue::new(result, a.bits))
        }
        (Op::FNegate, _) if a.scalar == result => exact_float(result, -a.short_float()?),
        (Op::FConvert, _) => exact_float(result, a.short_float()?),
        (Op::ConvertSToF, _) => {
            exact_float(result, i32::try_from(a.width().map(|_| a.signed())?).ok()?.into())
        }
        (Op::ConvertUToF, _) => {
            exact_float(result, u32::try_from(a.width().map(|_| a.bits)?).ok()?.into())
        }
        // What is out of range is undefined.
        (Op::ConvertFToS | Op::ConvertFToU, Scalar::Int { width, .. }) => {
            let value = a.float()?.trunc();
            let is_signed = op == Op::ConvertFToS;
            let end = 2f64.powi(width as i32 - i32::from(is_signed));
            let begin = if is_signed { -end } else { 0.0 };
            (begin..end).contains(&value).then(|| ConstantValue::new(result, value as i128 as u64))
        }
        _ => None,
    }
}

fn exact_binary(
    op: Op,
    result: Scalar,
    a: ConstantValue,
    b: ConstantValue,
) -> Option<ConstantValue> {
    if a.scalar != b.scalar {
        return None;
    }
    if result == Scalar::Bool {
        // None is NaN, for which ordered and unordered comparisons differ. Compilers may compare `x` with `z - y` where the
        // code compares `x + y` with `z`.
        let (x, y) = (a.short_float()?, b.short_float()?);
        let holds = match op {
            Op::FOrdEqual | Op::FUnordEqual => x == y,
            Op::FOrdNotEqual | Op::FUnordNotEqual => x != y,
            Op::FOrdLessThan | Op::FUnordLessThan => x < y,
            Op::FOrdLessThanEqual | Op::FUnordLessThanEqual => x <= y,
            Op::FOrdGreaterThan | Op::FUnordGreaterThan => x > y,
            Op::FOrdGreaterThanEqual | Op::FUnordGreaterThanEqual => x >= y,
            _ => return None,
        };
        return Some(ConstantValue::new(result, holds.into()));
    }
    let (x, y) = (a.short_float()?, b.short_float()?);
    // These are exact: with so few digits no 64-bit result is rounded.
    let exact = match op {
        Op::FAdd => x + y,
        Op::FSub => x - y,
        Op::FMul => x * y,
        _ => return None,
    };
    (a.scalar == result).then(|| exact_float(result, exact))?
}

/// Whether a number has so few digits that sums of several such numbers are exact in 32 bits, too.
fn is_short(value: f64) -> bool {
    value.abs() < 4096.0 && (value * 1024.0).fract() == 0.0
}

/// The float of this value, if it has few digits and is not zero.
fn exact_float(scalar: Scalar, value: f64) -> Option<ConstantValue> {
    let bits = match scalar {
        Scalar::Float { width: 32 } => u64::from((value as f32).to_bits()),
        Scalar::Float { width: 64 } => value.to_bits(),
        _ => return None,
    };
    (is_short(value) && value != 0.0).then(|| ConstantValue::new(scalar, bits))
}

fn unary(op: Op, result: Scalar, a: ConstantValue) -> Option<u64> {
    match (op, result, a.scalar) {
        (Op::LogicalNot, Scalar::Bool, Scalar::Bool) => Some(a.bits ^ 1),
        (Op::UConvert, Scalar::Int { .. }, Scalar::Int { .. }) => Some(a.bits),
        (Op::SConvert, Scalar::Int { .. }, Scalar::Int { .. }) => Some(a.signed() as u64),
        (_, Scalar::Int { width, .. }, Scalar::Int { width: of_operand, .. })
            if width == of_operand =>
        {
            match op {
                Op::SNegate => Some(a.bits.wrapping_neg()),
                Op::Not => Some(!a.bits),
                Op::Bitcast => Some(a.bits),
                _ => None,
            }
        }
        _ => None,
    }
}

fn logical(op: Op, a: bool, b: bool) -> Option<bool> {
    Some(match op {
        Op::LogicalOr => a || b,
        Op::LogicalAnd => a && b,
        Op::LogicalEqual => a == b,
        Op::LogicalNotEqual => a != b,
        _ => return None,
    })
}

fn comparison(op: Op, a: ConstantValue, b: ConstantValue) -> Option<bool> {
    let (signed_a, signed_b) = (a.signed(), b.signed());
    Some(match op {
        Op::IEqual => a.bits == b.bits,
        Op::INotEqual => a.bits != b.bits,
        Op::ULessThan => a.bits < b.bits,
        Op::ULessThanEqual => a.bits <= b.bits,
        Op::UGreaterThan => a.bits > b.bits,
        Op::UGreaterThanEqual => a.bits >= b.bits,
        Op::SLessThan => signed_a < signed_b,
        Op::SLessThanEqual => signed_a <= signed_b,
        Op::SGreaterThan => signed_a > signed_b,
        Op::SGreaterThanEqual => signed_a >= signed_b,
        _ => return None,
    })
}

/// Computes an operation whose result has the width of its first operand. Bits above that width are
/// arbitrary in the result.
fn arithmetic(op: Op, a: ConstantValue, b: ConstantValue) -> Option<u64> {
    let (width, width_b) = (a.width()?, b.width()?);
    let (signed_a, signed_b) = (a.signed(), b.signed());
    let shift = u32::try_from(b.bits).ok().filter(|shift| *shift < width);
    match op {
        Op::ShiftRightLogical => return Some(a.bits >> shift?),
        Op::ShiftRightArithmetic => return Some((signed_a >> shift?) as u64),
        Op::ShiftLeftLogical => return Some(a.bits << shift?),
        _ if width != width_b => return None,
        _ => {}
    }
    // The lowest integer divided by -1 is undefined too.
    let lowest = i64::MIN >> (64 - width);
    let divides = signed_b != 0 && (signed_a, signed_b) != (lowest, -1);
    Some(match op {
        Op::IAdd => a.bits.wrapping_add(b.bits),
        Op::ISub => a.bits.wrapping_sub(b.bits),
        Op::IMul => a.bits.wrapping_mul(b.bits),
        Op::UDiv => a.bits.checked_div(b.bits)?,
        Op::UMod => a.bits.checked_rem(b.bits)?,
        Op::SDiv if divides => (signed_a / signed_b) as u64,
        Op::SRem if divides => (signed_a % signed_b) as u64,
        // The result has the sign of the divisor.
        Op::SMod if divides => {
            let remainder = signed_a % signed_b;
            let differs = remainder != 0 && (remainder < 0) != (signed_b < 0);
            (if differs { remainder + signed_b } else { remainder }) as u64
        }
        Op::BitwiseOr => a.bits | b.bits,
        Op::BitwiseXor => a.bits ^ b.bits,
        Op::BitwiseAnd => a.bits & b.bits,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: Scalar = Scalar::Int { width: 32, signed: true };
    const BYTE: Scalar = Scalar::Int { width: 8, signed: true };

    fn int(scalar: Scalar, value: i64) -> ConstantValue {
        ConstantValue::new(scalar, value as u64)
    }

    #[test]
    fn remainders_have_the_sign_that_the_specification_says() {
        for a in -7i64..=7 {
            for b in (-4i64..=4).filter(|b| *b != 0) {
                let of = |op, scalar| {
                    fold(op, scalar, &[int(scalar, a), int(scalar, b)]).map(ConstantValue::signed)
                };
                for scalar in [INT, BYTE] {
                    assert_eq!(of(Op::SRem, scalar), Some(a - a / b * b));
                    assert_eq!(
                        of(Op::SMod, scalar),
                        Some(a - (a as f64 / b as f64).floor() as i64 * b)
                    );
                    assert_eq!(of(Op::SDiv, scalar), Some(a / b));
                }
            }
        }
    }

    #[test]
    fn what_is_undefined_is_not_computed() {
        let of = |op, a, b| fold(op, BYTE, &[int(BYTE, a), int(BYTE, b)]);
        for op in [Op::SDiv, Op::SRem, Op::SMod] {
            assert_eq!(of(op, -128, -1), None);
            assert_eq!(of(op, 5, 0), None);
        }
        assert_eq!(of(Op::UDiv, 5, 0), None);
        assert_eq!(of(Op::UMod, 5, 0), None);
        assert_eq!(of(Op::ShiftLeftLogical, 1, 8), None);
        assert_eq!(of(Op::ShiftLeftLogical, 1, 7), Some(int(BYTE, -128)));
        assert_eq!(of(Op::FAdd, 1, 1), None);
        assert_eq!(fold(Op::IAdd, INT, &[int(BYTE, 1), int(BYTE, 1)]), None);
    }

    #[test]
    fn values_are_as_wide_as_their_types() {
        assert_eq!(fold(Op::IAdd, BYTE, &[int(BYTE, 127), int(BYTE, 1)]), Some(int(BYTE, -128)));
        let wide = Scalar::Int { width: 64, signed: false };
        assert_eq!(fold(Op::SConvert, wide, &[int(BYTE, -1)]), Some(int(wide, -1)));
        assert_eq!(fold(Op::UConvert, wide, &[int(BYTE, -1)]), Some(int(wide, 255)));
        let unsigned = Scalar::Int { width: 8, signed: false };
        assert_eq!(fold(Op::Bitcast, unsigned, &[int(BYTE, -1)]), Some(int(unsigned, 255)));
        assert_eq!(fold(Op::Bitcast, wide, &[int(BYTE, -1)]), None);
        assert_eq!(int(BYTE, -1).declaration(Id(1), Id(2)), [4 << 16 | 43, 1, 2, u32::MAX]);
        assert_eq!(
            int(wide, -2).declaration(Id(1), Id(2)),
            [5 << 16 | 43, 1, 2, u32::MAX - 1, u32::MAX]
        );
        assert_eq!(ConstantValue::from_memory(BYTE, &[0, 0]), None);
    }

    const FLOAT: Scalar = Scalar::Float { width: 32 };
    const HALF: Scalar = Scalar::Float { width: 16 };
    const DOUBLE: Scalar = Scalar::Float { width: 64 };

    fn float(value: f32) -> ConstantValue {
        ConstantValue::new(FLOAT, value.to_bits().into())
    }

    fn exactly(op: Op, operands: &[f32]) -> Option<f32> {
        let operands: Vec<_> = operands.iter().map(|value| float(*value)).collect();
        fold_exactly(op, FLOAT, &operands).map(|value| f32::from_bits(value.bits as u32))
    }

    #[test]
    fn floats_are_computed_where_nothing_is_rounded() {
        assert_eq!(exactly(Op::FAdd, &[0.0, 1.0]), Some(1.0));
        assert_eq!(exactly(Op::FAdd, &[-0.0, 1.0]), Some(1.0));
        assert_eq!(exactly(Op::FSub, &[1.0, 0.25]), Some(0.75));
        assert_eq!(exactly(Op::FMul, &[-3.0, 0.5]), Some(-1.5));
        assert_eq!(exactly(Op::FNegate, &[2.0]), Some(-2.0));
        for unknown in [
            exactly(Op::FAdd, &[0.1, 0.2]),
            exactly(Op::FAdd, &[4000.0, 96.0]),
            exactly(Op::FMul, &[1.0 / 1024.0, 0.5]),
            exactly(Op::FDiv, &[1.0, 0.5]),
            // A zero that is computed may have another sign.
            exactly(Op::FSub, &[1.0, 1.0]),
            exactly(Op::FMul, &[0.0, -1.0]),
            exactly(Op::FNegate, &[0.0]),
            exactly(Op::FAdd, &[f32::NAN, 1.0]),
            exactly(Op::FAdd, &[f32::INFINITY, 1.0]),
            // Denormals may be flushed.
            exactly(Op::FAdd, &[f32::from_bits(1), 1.0]),
            exactly(Op::FNegate, &[f32::from_bits(1)]),
        ] {
            assert_eq!(unknown, None);
        }
        // Operands or results of other types.
        let [one, half] = [float(1.0), ConstantValue::new(HALF, 0x3c00)];
        assert_eq!(fold_exactly(Op::FAdd, DOUBLE, &[one, one]), None);
        assert_eq!(fold_exactly(Op::FAdd, FLOAT, &[one, half]), None);
        assert_eq!(fold_exactly(Op::FAdd, HALF, &[half, half]), None);
        assert_eq!(fold_exactly(Op::FAdd, FLOAT, &[one, int(INT, 1)]), None);
        assert_eq!(fold_exactly(Op::FNegate, INT, &[one]), None);
        assert_eq!(fold_exactly(Op::IAdd, INT, &[one, one]), None);
    }

    #[test]
    fn floats_are_compared_unless_they_are_denormals_or_not_numbers() {
        let compared = |op, a, b| {
            fold_exactly(op, Scalar::Bool, &[float(a), float(b)]).and_then(ConstantValue::truth)
        };
        for (ordered, unordered) in [
            (Op::FOrdEqual, Op::FUnordEqual),
            (Op::FOrdNotEqual, Op::FUnordNotEqual),
            (Op::FOrdLessThan, Op::FUnordLessThan),
            (Op::FOrdLessThanEqual, Op::FUnordLessThanEqual),
            (Op::FOrdGreaterThan, Op::FUnordGreaterThan),
            (Op::FOrdGreaterThanEqual, Op::FUnordGreaterThanEqual),
        ] {
            for (a, b) in [(0.125, 0.25), (0.25, 0.125), (0.125, 0.125)] {
                assert_eq!(compared(ordered, a, b), compared(unordered, a, b));
                assert!(compared(ordered, a, b).is_some());
            }
            // A sum on the other side may become a difference on this one, which is rounded.
            for other in [f32::NAN, f32::INFINITY, f32::from_bits(1), 0.1, 2.999_999] {
                assert_eq!(compared(ordered, other, 1.0), None);
                assert_eq!(compared(unordered, 1.0, other), None);
            }
        }
        assert_eq!(compared(Op::FOrdEqual, 0.0, -0.0), Some(true));
        assert_eq!(compared(Op::FOrdLessThan, -0.0, 0.0), Some(false));
        assert_eq!(compared(Op::FOrdLessThan, 0.125, 0.25), Some(true));
    }

    #[test]
    fn floats_are_converted_where_nothing_is_rounded() {
        let uint = Scalar::Int { width: 32, signed: false };
        let to = |op, scalar, value| fold_exactly(op, scalar, &[value]);
        assert_eq!(to(Op::ConvertSToF, FLOAT, int(INT, -3)), Some(float(-3.0)));
        assert_eq!(to(Op::ConvertUToF, FLOAT, int(uint, 3)), Some(float(3.0)));
        assert_eq!(to(Op::ConvertSToF, FLOAT, int(INT, 0)), None);
        assert_eq!(to(Op::ConvertSToF, FLOAT, int(INT, (1 << 24) + 1)), None);
        assert_eq!(to(Op::ConvertSToF, HALF, int(INT, 1)), None);
        assert_eq!(to(Op::ConvertFToS, INT, float(-2.9)), Some(int(INT, -2)));
        assert_eq!(to(Op::ConvertFToS, INT, float(3e9)), None);
        assert_eq!(to(Op::ConvertFToU, uint, float(3e9)), Some(int(uint, 3_000_000_000)));
        assert_eq!(to(Op::ConvertFToU, uint, float(-1.0)), None);
        assert_eq!(to(Op::FConvert, HALF, float(1.0)), None);
        assert_eq!(
            to(Op::FConvert, DOUBLE, float(1.5)),
            Some(ConstantValue::new(DOUBLE, 1.5f64.to_bits()))
        );
        assert_eq!(to(Op::FConvert, DOUBLE, float(0.1)), None);
        // Casts keep the bits of all numbers.
        for bits in [0, 1, 0x8000_0000, 0x7fc0_0000, u32::MAX] {
            let number = int(uint, bits.into());
            let cast = to(Op::Bitcast, FLOAT, number);
            assert_eq!(cast.and_then(|cast| to(Op::Bitcast, uint, cast)), Some(number));
        }
        assert_eq!(to(Op::Bitcast, DOUBLE, float(1.0)), None);
        assert_eq!(to(Op::Bitcast, FLOAT, ConstantValue::new(Scalar::Bool, 1)), None);
        assert_eq!(to(Op::Bitcast, Scalar::Bool, float(1.0)), None);
        // Others are not cast where the result is written as a constant.
        assert_eq!(fold(Op::Bitcast, FLOAT, &[int(uint, 1)]), None);
    }

    #[test]
    fn integers_of_16_bits_are_the_same_at_relaxed_precision() {
        let uint = Scalar::Int { width: 32, signed: false };
        let fits = |scalar, value| int(scalar, value).fits_relaxed_precision();
        assert!(fits(INT, 32767) && fits(INT, 0) && fits(uint, 32767));
        assert!(!fits(INT, 32768) && !fits(INT, -1) && !fits(uint, 32768) && !fits(uint, 65536));
        assert!(ConstantValue::new(Scalar::Bool, 1).fits_relaxed_precision());
        assert!(!float(1.0).fits_relaxed_precision());
    }
}
