//! The layout of a block (the structure in a buffer or in push constants) of a shader: the offset and the type of each
//! number in it.

use spirv::Decoration;
use vkxfb_rewriter::spirv::Id;
use vkxfb_rewriter::spirv::declarations::{Declarations, Type};

/// The maximum number of values (scalars, vectors, matrices, arrays, structures and their elements) that are visited to
/// determine the layout of a block. That is enough for large blocks: one of 64 KiB has 16384 dwords.
const MAX_STEPS: u32 = 1 << 20;

/// Compilers may pad the size of a block to a multiple of this many bytes, so the user's contents
/// may have that size.
const ROUNDING: u64 = 16;

const POINTER_BITS: u32 = 64;

/// The layout of a block in a buffer or of push constants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct BlockLayout {
    /// The size in bytes without the runtime array: up to the end of the last number before the array, or up to the
    /// start of the array, whichever is larger.
    pub(super) size: u64,
    /// The array stride in bytes of the runtime array. `None` if there is none.
    pub(super) stride: Option<u32>,
    /// Whether the block contains device addresses.
    pub(super) has_pointers: bool,
    /// The size in bytes that contents must at least have: it includes the minimum number of elements of the runtime
    /// array.
    least: u64,
    /// The minimum number of elements of the runtime array; 0 without such an array.
    elements: u64,
    /// The numbers in the block, except those in the runtime array.
    numbers: Vec<Number>,
    /// The offset of the runtime array, and the numbers in its first element. `None` if there is no
    /// such array.
    array: Option<(u64, Vec<Number>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Number {
    /// The offset in bytes from the start of the block.
    offset: u64,
    /// The size in bits.
    width: u32,
    is_float: bool,
}

/// The decorations that say how a matrix is stored. In SPIR-V they are on the member of the block, not on the
/// type.
#[derive(Debug, Clone, Copy, Default)]
struct Matrices {
    stride: Option<u32>,
    is_row_major: bool,
}

struct BlockWalk<'a> {
    declarations: &'a Declarations,
    steps: u32,
    has_pointers: bool,
    numbers: Vec<Number>,
    array: Option<(u64, u32, Vec<Number>)>,
}

impl BlockLayout {
    /// Determines the layout of a block. The error says why the layout is not supported.
    pub(super) fn of(declarations: &Declarations, ty: Id) -> Result<Self, String> {
        let mut walk = BlockWalk {
            declarations,
            steps: 0,
            has_pointers: false,
            numbers: Vec::new(),
            array: None,
        };
        walk.value(ty, 0, Matrices::default())?;
        let BlockWalk { has_pointers, numbers, array, .. } = walk;
        let end = end_of(&numbers);
        // The bytes before the runtime array belong to the block, even if no number is in them.
        let size = array.as_ref().map_or(end, |(start, ..)| end.max(*start));
        let stride = array.as_ref().map(|(_, stride, _)| *stride);
        let array = array.map(|(start, _, numbers)| (start, numbers));
        let this = Self { size, stride, least: size, elements: 0, has_pointers, numbers, array };
        Ok(this.with_elements(1))
    }

    /// Sets the minimum number of elements of the runtime array, if there is one.
    pub(super) fn with_elements(mut self, elements: u64) -> Self {
        if let (Some((_, numbers)), Some(stride)) = (&self.array, self.stride) {
            let others = elements.saturating_sub(1) * u64::from(stride);
            (self.least, self.elements) =
                (self.size.max(end_of(numbers).saturating_add(others)), elements);
        }
        self
    }

    /// Makes a block of which only the size in bytes is known.
    pub(super) fn of_size(size: u64) -> Self {
        Self { size, least: size, ..Self::default() }
    }

    /// Whether contents of this many bytes contain the whole block, with the minimum number of
    /// elements of its runtime array.
    pub(super) const fn is_filled_by(&self, bytes: u64) -> bool {
        bytes >= self.least
    }

    /// Whether contents of this many bytes end at the end of the block or of an element of its
    /// runtime array, with or without the padding after the last number. The contents must be large
    /// enough for the block.
    pub(super) fn ends_with(&self, bytes: u64) -> bool {
        let Some((start, numbers)) = &self.array else {
            return bytes <= self.size.next_multiple_of(ROUNDING);
        };
        let rest = bytes.saturating_sub(*start) % u64::from(self.stride.unwrap_or(1).max(1));
        rest == 0 || rest >= end_of(numbers).saturating_sub(*start)
    }

    /// The size in bytes of contents of which the user supplies some, up to `end`, and the rest is made up. A runtime
    /// array has `elements` elements, or more if the user supplies more or the shader is known to read more.
    pub(super) fn filled_size(&self, end: u64, elements: u64) -> u64 {
        let (Some((start, _)), Some(stride @ 1..)) = (&self.array, self.stride) else {
            return self.size;
        };
        let supplied = end.saturating_sub(*start).div_ceil(stride.into());
        let elements = elements.max(supplied).max(self.elements);
        self.size.max(start.saturating_add(elements.saturating_mul(stride.into())))
    }

    pub(super) fn size_in_words(&self) -> String {
        match self.stride {
            None => format!("{} bytes", self.size),
            Some(stride) if self.size == 0 => format!(
                "{stride} bytes for each element of its array, of which there is at least {}",
                self.elements
            ),
            Some(stride) => format!(
                "{} bytes and {stride} for each element of its array, of which there is at least {}",
                self.size, self.elements
            ),
        }
    }

    /// Writes a made-up number at each offset where the block has a number.
    pub(super) fn make_up(&self, bytes: &mut [u8], seed: u32) {
        for number in &self.numbers {
            number.make_up(bytes, 0, seed);
        }
        let (Some((start, numbers)), Some(stride @ 1..)) = (&self.array, self.stride) else {
            return;
        };
        let elements = (bytes.len() as u64).saturating_sub(*start).div_ceil(stride.into());
        for element in 0..elements {
            for number in numbers {
                number.make_up(bytes, element * u64::from(stride), seed);
            }
        }
    }
}

/// Returns the end of the last number, in bytes; 0 if there are no numbers.
fn end_of(numbers: &[Number]) -> u64 {
    numbers.iter().map(|n| n.offset + u64::from(n.width / 8)).max().unwrap_or(0)
}

impl Number {
    /// Writes a made-up number at `self.offset + behind`, if `bytes` is long enough for it.
    fn make_up(&self, bytes: &mut [u8], behind: u64, seed: u32) {
        let start = (self.offset + behind) as usize;
        let Some(place) = bytes.get_mut(start..start + self.width as usize / 8) else { return };
        let hash = (start as u32 ^ seed).wrapping_mul(0x9e37_79b1);
        let hash = (hash ^ (hash >> 15)).wrapping_mul(0x85eb_ca6b);
        let hash = hash ^ (hash >> 13);
        let value = match (self.is_float, self.width) {
            // A float from 0.25 to 1: the sign is positive, the exponent is one of two, and the mantissa consists of
            // bits of the hash.
            (true, 16) => u64::from(0x3400 + hash % 0x800),
            (true, 32) => u64::from(0x3e80_0000 + (hash >> 8)),
            (true, 64) => 0x3fd0_0000_0000_0000 + (u64::from(hash) << 21),
            _ => u64::from(hash >> 30),
        };
        let length = place.len();
        place.copy_from_slice(&value.to_le_bytes()[..length]);
    }
}

impl BlockWalk<'_> {
    fn value(&mut self, ty: Id, offset: u64, matrices: Matrices) -> Result<(), String> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(format!("it has more than {MAX_STEPS} values"));
        }
        let declarations = self.declarations;
        let number = |ty: &Type| match ty {
            Type::Int { width, .. } => Some((*width, false)),
            Type::Float { width } => Some((*width, true)),
            _ => None,
        };
        match declarations.ty(ty) {
            Some(scalar @ (Type::Int { .. } | Type::Float { .. })) => {
                if let Some((width @ (8 | 16 | 32 | 64), is_float)) = number(scalar) {
                    self.numbers.push(Number { offset, width, is_float });
                }
            }
            Some(Type::Vector { component, count }) => {
                self.vector(*component, *count, offset, None)?;
            }
            Some(Type::Matrix { column, count }) => {
                let stride = matrices.stride.ok_or("a matrix has no MatrixStride")?;
                let rows = declarations.vector(*column).ok_or("a matrix has no vectors")?;
                for index in 0..*count {
                    let scalar = declarations.ty(rows.0).and_then(number);
                    let size = scalar.map_or(4, |(width, _)| width / 8);
                    let (apart, within) =
                        if matrices.is_row_major { (size, Some(stride)) } else { (stride, None) };
                    let column = offset + u64::from(index) * u64::from(apart);
                    self.vector(rows.0, rows.1, column, within)?;
                }
            }
            Some(Type::Array { element, length }) => {
                let stride = self.array_stride(ty)?;
                let length = declarations.constant(*length).ok_or("an array has no length")?;
                for index in 0..u64::from(length) {
                    self.value(*element, offset + index * u64::from(stride), matrices)?;
                }
            }
            Some(Type::RuntimeArray { element }) => {
                let stride = self.array_stride(ty)?;
                let before = std::mem::take(&mut self.numbers);
                self.value(*element, offset, matrices)?;
                let numbers = std::mem::replace(&mut self.numbers, before);
                self.array = Some((offset, stride, numbers));
            }
            Some(Type::Struct { members }) => {
                for (index, member) in (0..).zip(members) {
                    let of = |which| declarations.member_decoration(ty, index, which);
                    let first = |which| of(which).and_then(|words| words.first().copied());
                    let behind = first(Decoration::Offset).ok_or("a member has no Offset")?;
                    let matrices = Matrices {
                        stride: first(Decoration::MatrixStride),
                        is_row_major: of(Decoration::RowMajor).is_some(),
                    };
                    self.value(*member, offset + u64::from(behind), matrices)?;
                }
            }
            Some(Type::Pointer { .. } | Type::UntypedPointer { .. }) => {
                self.has_pointers = true;
                self.numbers.push(Number { offset, width: POINTER_BITS, is_float: false });
            }
            Some(Type::Other(op)) => return Err(format!("it has a value of Op{op:?}")),
            None => return Err("it has a value of an unknown type".to_owned()),
        }
        Ok(())
    }

    /// Adds the components of a vector. `apart` is the distance in bytes from one component to the next. If it is
    /// `None`, the components are adjacent.
    fn vector(&mut self, ty: Id, count: u32, start: u64, apart: Option<u32>) -> Result<(), String> {
        let size = match self.declarations.ty(ty) {
            Some(Type::Int { width, .. } | Type::Float { width }) => width / 8,
            _ => return Err("a vector has no numbers".to_owned()),
        };
        for index in 0..u64::from(count) {
            let offset = start + index * u64::from(apart.unwrap_or(size));
            self.value(ty, offset, Matrices::default())?;
        }
        Ok(())
    }

    fn array_stride(&self, ty: Id) -> Result<u32, String> {
        let stride = self.declarations.decoration(ty, Decoration::ArrayStride);
        let stride = stride.and_then(|words| words.first().copied());
        stride.ok_or_else(|| "an array has no ArrayStride".to_owned())
    }
}
