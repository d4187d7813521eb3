//! Types of outputs, and the three units in which they are counted: scalars, bytes of a record, and
//! locations.
//!
//! The captured layout of a type follows only the specification (chapter "Transform feedback"), and
//! shares no code with the crate: components are consecutive, everything is tightly packed, and a
//! type that contains 64-bit components starts at a multiple of 8.

use crate::common::rng::Rng;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scalar {
    F32,
    I32,
    U32,
    F64,
    I64,
    U64,
}

impl Scalar {
    pub const fn is_64(self) -> bool {
        matches!(self, Self::F64 | Self::I64 | Self::U64)
    }

    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    pub const fn bytes(self) -> u32 {
        if self.is_64() { 8 } else { 4 }
    }
}

/// The length of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Length {
    Literal(u32),
    /// A specialisation constant: its index in the list of [`super::Generated`], and its value.
    Spec(usize, u32),
    /// `OpSpecConstantOp IAdd` of a specialisation constant and a literal: the index, the literal,
    /// and the sum.
    SpecSum(usize, u32, u32),
}

impl Length {
    pub const fn get(self) -> u32 {
        match self {
            Self::Literal(length) | Self::Spec(_, length) | Self::SpecSum(_, _, length) => length,
        }
    }

    pub const fn is_literal(self) -> bool {
        matches!(self, Self::Literal(_))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    Scalar(Scalar),
    Vector(Scalar, u32),
    /// The type of the components, the number of columns, and the number of rows.
    Matrix(Scalar, u32, u32),
    Array(Box<Type>, Length),
    Struct(Vec<Type>),
}

/// A scalar of a captured value, with its bytes from the start of the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedScalar {
    pub offset: u32,
    pub scalar: Scalar,
}

impl Type {
    /// The number of parts that an index can select.
    pub fn part_count(&self) -> u32 {
        match self {
            Self::Scalar(_) => 0,
            Self::Vector(_, count) | Self::Matrix(_, count, _) => *count,
            Self::Array(_, length) => length.get(),
            Self::Struct(members) => members.len() as u32,
        }
    }

    pub fn part(&self, index: u32) -> Type {
        match self {
            Self::Scalar(_) => panic!("a scalar has no parts"),
            Self::Vector(scalar, _) => Self::Scalar(*scalar),
            Self::Matrix(scalar, _, rows) => Self::Vector(*scalar, *rows),
            Self::Array(element, _) => (**element).clone(),
            Self::Struct(members) => members[index as usize].clone(),
        }
    }

    /// Whether `is_wanted` is true for the type, or for a type that it consists of.
    pub fn contains(&self, is_wanted: fn(&Type) -> bool) -> bool {
        let inside = match self {
            Self::Scalar(_) | Self::Vector(..) | Self::Matrix(..) => false,
            Self::Array(element, _) => element.contains(is_wanted),
            Self::Struct(members) => members.iter().any(|m| m.contains(is_wanted)),
        };
        inside || is_wanted(self)
    }

    /// Whether all parts have the same type, so that an index may be computed.
    pub const fn is_uniform(&self) -> bool {
        matches!(self, Self::Vector(..) | Self::Matrix(..) | Self::Array(..))
    }

    pub fn scalars(&self) -> u32 {
        match self {
            Self::Scalar(_) => 1,
            Self::Vector(_, count) => *count,
            Self::Matrix(_, columns, rows) => columns * rows,
            Self::Array(element, length) => element.scalars() * length.get(),
            Self::Struct(members) => members.iter().map(Self::scalars).sum(),
        }
    }

    /// The number of scalars before a part.
    pub fn scalars_before(&self, index: u32) -> u32 {
        match self {
            Self::Struct(members) => members[..index as usize].iter().map(Self::scalars).sum(),
            _ => self.part(0).scalars() * index,
        }
    }

    pub fn any_scalar(&self, test: fn(Scalar) -> bool) -> bool {
        match self {
            Self::Scalar(scalar) | Self::Vector(scalar, _) | Self::Matrix(scalar, ..) => {
                test(*scalar)
            }
            Self::Array(element, _) => element.any_scalar(test),
            Self::Struct(members) => members.iter().any(|m| m.any_scalar(test)),
        }
    }

    /// The alignment in bytes with which the type is captured.
    pub fn alignment(&self) -> u32 {
        if self.any_scalar(Scalar::is_64) { 8 } else { 4 }
    }

    /// Whether the size of the type depends on a specialisation constant.
    pub fn is_specialised(&self) -> bool {
        match self {
            Self::Array(element, length) => !length.is_literal() || element.is_specialised(),
            Self::Struct(members) => members.iter().any(Self::is_specialised),
            _ => false,
        }
    }

    /// Returns where the scalars of the type are captured, relative to a multiple of its alignment,
    /// and where the last one ends.
    pub fn places(&self) -> (Vec<CapturedScalar>, u32) {
        let mut places = Vec::new();
        let end = self.place(0, &mut places);
        (places, end)
    }

    fn place(&self, at: u32, places: &mut Vec<CapturedScalar>) -> u32 {
        let at = at.next_multiple_of(self.alignment());
        match self {
            Self::Scalar(scalar) => {
                places.push(CapturedScalar { offset: at, scalar: *scalar });
                at + scalar.bytes()
            }
            _ => (0..self.part_count()).fold(at, |at, index| self.part(index).place(at, places)),
        }
    }

    pub fn bytes(&self) -> u32 {
        self.places().1
    }

    /// The number of locations that the type takes in the interface.
    pub fn locations(&self) -> u32 {
        match self {
            Self::Scalar(_) => 1,
            Self::Vector(scalar, count) => 1 + u32::from(scalar.is_64() && *count > 2),
            Self::Matrix(scalar, columns, rows) => {
                columns * Self::Vector(*scalar, *rows).locations()
            }
            Self::Array(element, length) => element.locations() * length.get(),
            Self::Struct(members) => members.iter().map(Self::locations).sum(),
        }
    }
}

/// The types that a random type may consist of.
#[derive(Debug, Clone)]
pub struct Palette {
    pub scalars: Vec<Scalar>,
    pub aggregates: bool,
    /// Lengths that specialisation constants determine.
    pub spec_lengths: Vec<Length>,
}

impl Palette {
    /// Returns a random type of at most `locations` locations.
    pub fn any(&self, rng: &mut Rng, locations: u32, depth: u32) -> Type {
        // Most big types do not fit: a few tries, then something small.
        for _ in 0..6 {
            let ty = self.draw(rng, depth);
            if ty.locations() <= locations {
                return ty;
            }
        }
        Type::Vector(rng.pick(&[Scalar::F32, Scalar::U32, Scalar::I32]), rng.range(2, 4))
    }

    fn draw(&self, rng: &mut Rng, depth: u32) -> Type {
        let scalar = rng.pick(&self.scalars);
        let kind = if self.aggregates { rng.below(100) } else { rng.below(45) };
        match kind {
            0..15 => Type::Scalar(scalar),
            15..45 => Type::Vector(scalar, rng.range(2, 4)),
            45..62 => {
                let scalar = match scalar {
                    Scalar::F64 | Scalar::I64 | Scalar::U64
                        if self.scalars.contains(&Scalar::F64) =>
                    {
                        Scalar::F64
                    }
                    _ => Scalar::F32,
                };
                Type::Matrix(scalar, rng.range(2, 4), rng.range(2, 4))
            }
            _ if depth == 0 => Type::Scalar(scalar),
            62..82 => {
                let length = if self.spec_lengths.is_empty() || rng.percent(70) {
                    Length::Literal(rng.range(1, 4))
                } else {
                    rng.pick(&self.spec_lengths)
                };
                Type::Array(Box::new(self.draw(rng, depth - 1)), length)
            }
            _ => self.structure(rng, depth - 1),
        }
    }

    fn structure(&self, rng: &mut Rng, depth: u32) -> Type {
        let members: Vec<Type> = (0..rng.range(1, 4)).map(|_| self.draw(rng, depth)).collect();
        Type::Struct(even(members))
    }
}

/// Adds one dword if the members end in the middle of 8 bytes. The rules for SPIR-V say that a
/// structure with 64-bit components ends where its last member ends, and GLSL that it ends at the
/// next multiple of 8. This matters only for a 32-bit value after it in another structure or array.
/// With the dword, both rules give the same result.
fn even(mut members: Vec<Type>) -> Vec<Type> {
    let whole = Type::Struct(members.clone());
    if whole.alignment() == 8 && !whole.bytes().is_multiple_of(8) {
        members.push(Type::Scalar(Scalar::U32));
    }
    members
}
