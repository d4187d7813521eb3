//! Push constants of random types with random layouts: their positions in the block, and their
//! values.
//!
//! The rules are those of the specification for `std430` (chapter "Shader Interfaces", "Offset and
//! Stride Assignment"), with random gaps. Nothing of the crate under test is used.

use super::types::{Length, Scalar};
use crate::common::rng::Rng;

/// The minimum of `maxPushConstantsSize` that Vulkan requires.
const MAX_BYTES: u32 = 128;

/// A type with its layout.
#[derive(Debug, Clone, PartialEq)]
pub enum Laid {
    Scalar(Scalar),
    Vector(Scalar, u32),
    Matrix {
        scalar: Scalar,
        columns: u32,
        rows: u32,
        stride: u32,
        is_row_major: bool,
    },
    Array {
        element: Box<Laid>,
        length: Length,
        stride: u32,
    },
    /// A structure, with each member at its offset.
    Struct(Vec<(u32, Laid)>),
}

/// A push constant block, and its values, which differ for each draw.
#[derive(Debug, Clone)]
pub struct Block {
    /// The type of the block, a structure.
    pub ty: Laid,
    seed: u32,
}

/// An index on the path to a scalar of a block.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Constant(u32),
    /// The low bits of an expression, of the given number.
    Masked(u32),
}

impl Laid {
    pub fn alignment(&self) -> u32 {
        match self {
            Self::Scalar(scalar) => scalar.bytes(),
            Self::Vector(scalar, count) => scalar.bytes() * [1, 2, 4, 4][*count as usize - 1],
            Self::Matrix { scalar, columns, rows, is_row_major, .. } => {
                let across = if *is_row_major { *columns } else { *rows };
                Self::Vector(*scalar, across).alignment()
            }
            Self::Array { element, .. } => element.alignment(),
            Self::Struct(members) => members.iter().map(|(_, m)| m.alignment()).max().unwrap_or(4),
        }
    }

    /// Returns the size in bytes, up to the end of the last scalar. The last column of a
    /// column-major matrix also has padding after it: the specification does not say so, but
    /// spirv-val does not allow any other size.
    pub fn size(&self) -> u32 {
        match self {
            Self::Scalar(scalar) => scalar.bytes(),
            Self::Vector(scalar, count) => scalar.bytes() * count,
            Self::Matrix { columns, stride, is_row_major: false, .. } => stride * columns,
            Self::Matrix { scalar, columns, rows, stride, is_row_major: true } => {
                stride * (rows - 1) + scalar.bytes() * columns
            }
            Self::Array { element, length, stride } => stride * (length.get() - 1) + element.size(),
            Self::Struct(members) => members.iter().map(|(at, m)| at + m.size()).max().unwrap_or(0),
        }
    }

    pub fn part_count(&self) -> u32 {
        match self {
            Self::Scalar(_) => 0,
            Self::Vector(_, count) | Self::Matrix { columns: count, .. } => *count,
            Self::Array { length, .. } => length.get(),
            Self::Struct(members) => members.len() as u32,
        }
    }

    pub fn any_scalar(&self, test: fn(Scalar) -> bool) -> bool {
        match self {
            Self::Scalar(scalar) | Self::Vector(scalar, _) | Self::Matrix { scalar, .. } => {
                test(*scalar)
            }
            Self::Array { element, .. } => element.any_scalar(test),
            Self::Struct(members) => members.iter().any(|(_, member)| member.any_scalar(test)),
        }
    }

    /// Returns the byte and the type of the scalar that indices lead to.
    pub fn scalar_at(&self, path: &[u32]) -> (u32, Scalar) {
        match (self, path) {
            (Self::Scalar(scalar), []) => (0, *scalar),
            (Self::Vector(scalar, count), [component]) if component < count => {
                (component * scalar.bytes(), *scalar)
            }
            (Self::Matrix { scalar, columns, rows, stride, is_row_major }, [column, row])
                if column < columns && row < rows =>
            {
                let (far, near) = if *is_row_major { (row, column) } else { (column, row) };
                (far * stride + near * scalar.bytes(), *scalar)
            }
            (Self::Array { element, length, stride }, [index, rest @ ..])
                if *index < length.get() =>
            {
                let (at, scalar) = element.scalar_at(rest);
                (index * stride + at, scalar)
            }
            (Self::Struct(members), [member, rest @ ..]) => {
                let (offset, member) = &members[*member as usize];
                let (at, scalar) = member.scalar_at(rest);
                (offset + at, scalar)
            }
            _ => panic!("{path:?} leads out of {self:?}"),
        }
    }

    /// Returns a random path to a scalar.
    pub fn path(&self, rng: &mut Rng) -> Vec<Step> {
        let step = |rng: &mut Rng| {
            let count = self.part_count();
            if matches!(self, Self::Struct(_)) || rng.percent(70) {
                Step::Constant(rng.below(count))
            } else {
                Step::Masked((1 << count.ilog2()) - 1)
            }
        };
        match self {
            Self::Scalar(_) => vec![],
            Self::Vector(..) => vec![step(rng)],
            Self::Matrix { scalar, rows, .. } => {
                [vec![step(rng)], Self::Vector(*scalar, *rows).path(rng)].concat()
            }
            Self::Array { element, .. } => [vec![step(rng)], element.path(rng)].concat(),
            Self::Struct(members) => {
                let member = rng.below(members.len() as u32);
                let rest = members[member as usize].1.path(rng);
                [vec![Step::Constant(member)], rest].concat()
            }
        }
    }
}

impl Block {
    pub fn random(rng: &mut Rng, scalars: &[Scalar], aggregates: bool, lengths: &[Length]) -> Self {
        let lay = Lay { scalars, aggregates, lengths };
        let mut members = Vec::new();
        let mut next = if rng.percent(70) { 0 } else { 4 * rng.below(8) };
        for _ in 0..rng.range(1, 6) {
            let member = lay.any(rng, 2);
            let at = behind(rng, next, &member);
            if at + member.size() <= MAX_BYTES {
                next = end(at, &member);
                members.push((at, member));
            }
        }
        if members.is_empty() {
            members.push((0, Laid::Vector(Scalar::U32, 4)));
        }
        // Members need not be declared in the order of their offsets.
        if rng.percent(20) {
            rng.shuffle(&mut members);
        }
        Self { ty: Laid::Struct(members), seed: rng.u32() }
    }

    /// Returns the push constants of a draw, from byte 0 on.
    pub fn bytes(&self, draw: u32) -> Vec<u8> {
        (0..self.ty.size() / 4).flat_map(|index| self.dword(draw, index).to_le_bytes()).collect()
    }

    /// Returns the bits of the scalar that indices lead to.
    pub fn bits(&self, draw: u32, path: &[u32]) -> u64 {
        let (at, scalar) = self.ty.scalar_at(path);
        let dword = |index| u64::from(self.dword(draw, at / 4 + index));
        if scalar.is_64() { dword(0) | dword(1) << 32 } else { dword(0) }
    }

    /// Returns the bits of a float that is not denormal, infinite or NaN. Two such dwords are also
    /// such a double.
    fn dword(&self, draw: u32, index: u32) -> u32 {
        let place = u64::from(self.seed) << 16 | u64::from(draw << 8 | index);
        Rng::new(place).u32() & 0x8fff_ffff | 0x3000_0000
    }
}

struct Lay<'a> {
    scalars: &'a [Scalar],
    aggregates: bool,
    lengths: &'a [Length],
}

impl Lay<'_> {
    fn any(&self, rng: &mut Rng, depth: u32) -> Laid {
        let scalar = rng.pick(self.scalars);
        let kind = if self.aggregates { rng.below(100) } else { rng.below(45) };
        match kind {
            0..15 => Laid::Scalar(scalar),
            15..45 => Laid::Vector(scalar, rng.range(2, 4)),
            45..65 => {
                let is_wide = scalar.is_64() && self.scalars.contains(&Scalar::F64);
                let scalar = if is_wide { Scalar::F64 } else { Scalar::F32 };
                let (columns, rows) = (rng.range(2, 4), rng.range(2, 4));
                let is_row_major = rng.percent(50);
                let across = Laid::Vector(scalar, if is_row_major { columns } else { rows });
                let stride = stride(rng, &across);
                Laid::Matrix { scalar, columns, rows, stride, is_row_major }
            }
            _ if depth == 0 => Laid::Scalar(scalar),
            65..85 => {
                let element = Box::new(self.any(rng, depth - 1));
                let length = if self.lengths.is_empty() || rng.percent(70) {
                    Length::Literal(rng.range(1, 4))
                } else {
                    rng.pick(self.lengths)
                };
                let stride = stride(rng, &element);
                Laid::Array { element, length, stride }
            }
            _ => {
                let (count, mut next) = (rng.range(1, 3), 0);
                let member = |_| {
                    let member = self.any(rng, depth - 1);
                    let at = behind(rng, next, &member);
                    next = end(at, &member);
                    (at, member)
                };
                Laid::Struct((0..count).map(member).collect())
            }
        }
    }
}

/// Returns a random position for a value after byte `end`.
fn behind(rng: &mut Rng, end: u32, value: &Laid) -> u32 {
    let gap = if rng.percent(75) { 0 } else { rng.range(1, 2) };
    end.next_multiple_of(value.alignment()) + gap * value.alignment()
}

/// Returns the end of a value at position `at`. An array, matrix or structure occupies all bytes up
/// to its alignment.
fn end(at: u32, value: &Laid) -> u32 {
    match value {
        Laid::Scalar(_) | Laid::Vector(..) => at + value.size(),
        _ => at + value.size().next_multiple_of(value.alignment()),
    }
}

/// Returns a random number of bytes from an element to the next.
fn stride(rng: &mut Rng, value: &Laid) -> u32 {
    let gap = if rng.percent(75) { 0 } else { rng.range(1, 2) };
    value.size().next_multiple_of(value.alignment()) + gap * value.alignment()
}
