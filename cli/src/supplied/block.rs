//! Finds the members of a shader's block by their paths, and where their numbers are in memory.

use std::fmt::{self, Display, Formatter};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use spirv::Decoration;
use vkxfb_rewriter::spirv::Id;
use vkxfb_rewriter::spirv::declarations::{Declarations, Type};

use super::value::{Literal, Value};

/// The maximum number of numbers in a value from the command line: 16 MiB of floats. More have to
/// be supplied by a file.
const MAX_NUMBERS: usize = 1 << 22;

/// A block as one of the shaders declares it.
pub(super) struct Block<'a> {
    pub(super) declarations: &'a Declarations,
    pub(super) ty: Id,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Member {
    /// The offset in bytes from the start of the block.
    pub(crate) offset: u64,
    /// The type in GLSL.
    #[serde(rename = "type")]
    pub(crate) ty: String,
    /// The name, or the number of the member if the module has no names.
    pub(crate) name: String,
}

impl Display for Member {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.ty)
    }
}

/// The place and type of a number in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    /// The offset in bytes from the start of the block.
    pub(super) offset: usize,
    /// The size in bytes.
    pub(super) size: usize,
    kind: ScalarKind,
    /// The place of the number in a matrix. `None` if the number is not in a matrix.
    place: Option<MatrixPlace>,
}

/// The place of a number in a matrix of SPIR-V. Compilers of HLSL transpose every matrix for SPIR-V, so that a column
/// is a row of their source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MatrixPlace {
    column: usize,
    row: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScalarKind {
    Float,
    Int { signed: bool },
}

/// A value in a block, such as a member or an element. `matrix_stride` and `is_row_major` say how the matrices in the
/// value are stored. They are the decorations of the member to which the value belongs.
#[derive(Clone, Copy)]
struct BlockPart {
    ty: Id,
    offset: u64,
    matrix_stride: u32,
    is_row_major: bool,
}

/// A step of a path from a value to a part of it: a member of a structure, or an element.
enum PathStep<'a> {
    Member(&'a str),
    Element(u32),
}

impl Block<'_> {
    /// Returns where in the block each scalar of the value at `path` is. A path is for example `tint` or
    /// `lights[2].place`; `*` is the whole block. A runtime array counts as an array with a single element.
    pub(super) fn numbers(&self, path: &str) -> Result<Vec<Number>> {
        let mut part = self.root()?;
        let mut numbers = None;
        for step in steps(path)? {
            match (step, self.declarations.ty(part.ty)) {
                (PathStep::Member(name), Some(Type::Struct { .. })) if numbers.is_none() => {
                    part = self.member(part, name)?;
                }
                (PathStep::Element(index), Some(Type::Array { element, length }))
                    if numbers.is_none() =>
                {
                    let length = self.declarations.constant(*length).unwrap_or(0);
                    if index >= length {
                        bail!("'{path}': the array has {length} elements");
                    }
                    part = self.element(part, *element, index)?;
                }
                (PathStep::Element(index), Some(Type::RuntimeArray { element }))
                    if numbers.is_none() =>
                {
                    part = self.element(part, *element, index)?;
                }
                // The index selects a column of a matrix, or a component of a vector.
                (PathStep::Element(index), Some(Type::Matrix { .. } | Type::Vector { .. })) => {
                    let all = match numbers.take() {
                        Some(all) => all,
                        None => self.all(part)?,
                    };
                    numbers = Some(element_of(all, index, path)?);
                }
                _ => bail!("'{path}' leads nowhere; {}", self.list()),
            }
        }
        match numbers {
            Some(numbers) => Ok(numbers),
            None => self.all(part),
        }
    }

    /// Returns the whole block. Some compilers, such as naga, wrap a block in another structure;
    /// the inner one is returned.
    fn root(&self) -> Result<BlockPart> {
        let mut part = BlockPart { ty: self.ty, offset: 0, matrix_stride: 16, is_row_major: false };
        while let Some(Type::Struct { members }) = self.declarations.ty(part.ty)
            && let [inner] = members[..]
            && matches!(self.declarations.ty(inner), Some(Type::Struct { .. }))
            && self.declarations.member_name(part.ty, 0).is_none()
        {
            part = self.member(part, "0")?;
        }
        Ok(part)
    }

    pub(super) fn members(&self) -> Result<Vec<Member>> {
        let root = self.root()?;
        let Some(Type::Struct { members }) = self.declarations.ty(root.ty) else {
            bail!("the block is no structure");
        };
        let member = |(index, ty): (u32, &Id)| {
            let behind = Decoration::Offset;
            let behind = self.declarations.member_decoration_value(root.ty, index, behind);
            Member {
                name: self.member_name(root.ty, index),
                ty: self.declarations.type_name(*ty),
                offset: root.offset + u64::from(behind.unwrap_or(0)),
            }
        };
        Ok((0..).zip(members).map(member).collect())
    }

    /// Returns the places in memory of the numbers of a member. A runtime array counts as an array with a single
    /// element.
    pub(super) fn member_numbers(&self, name: &str) -> Result<Vec<Number>> {
        let member = self.member(self.root()?, name)?;
        self.all(member)
    }

    /// Lists the members, for messages.
    pub(super) fn list(&self) -> String {
        match self.members() {
            Ok(members) => {
                let members = members.iter().map(Member::to_string);
                format!("its members are {}", members.collect::<Vec<_>>().join(", "))
            }
            Err(error) => error.to_string(),
        }
    }

    /// Returns the name of a member, or its index if the module has no names.
    fn member_name(&self, ty: Id, index: u32) -> String {
        let name = self.declarations.member_name(ty, index);
        name.map_or_else(|| index.to_string(), str::to_owned)
    }

    fn member(&self, part: BlockPart, name: &str) -> Result<BlockPart> {
        let Some(Type::Struct { members }) = self.declarations.ty(part.ty) else {
            bail!("'{name}' is no member");
        };
        let found = (0..).zip(members).find(|(index, _)| {
            let own = self.declarations.member_name(part.ty, *index);
            own.map_or_else(|| index.to_string() == name, |own| own == name)
        });
        let (index, ty) = found.with_context(|| format!("no member '{name}'; {}", self.list()))?;
        let value = |which| self.declarations.member_decoration_value(part.ty, index, which);
        let behind =
            value(Decoration::Offset).with_context(|| format!("'{name}' has no Offset"))?;
        let row_major = self.declarations.member_decoration(part.ty, index, Decoration::RowMajor);
        Ok(BlockPart {
            ty: *ty,
            offset: part.offset + u64::from(behind),
            matrix_stride: value(Decoration::MatrixStride).unwrap_or(16),
            is_row_major: row_major.is_some(),
        })
    }

    fn element(&self, part: BlockPart, element: Id, index: u32) -> Result<BlockPart> {
        let stride = self.declarations.decoration_value(part.ty, Decoration::ArrayStride);
        let stride = stride.context("an array has no ArrayStride")?;
        let offset = part.offset + u64::from(stride) * u64::from(index);
        Ok(BlockPart { ty: element, offset, ..part })
    }

    /// Returns where in the block each number of a value is, in the order of the value's members and elements. A
    /// runtime array counts as an array with a single element.
    fn all(&self, part: BlockPart) -> Result<Vec<Number>> {
        let mut numbers = Vec::new();
        self.collect(part, &mut numbers)?;
        Ok(numbers)
    }

    fn collect(&self, part: BlockPart, numbers: &mut Vec<Number>) -> Result<()> {
        if numbers.len() > MAX_NUMBERS {
            bail!("more than {MAX_NUMBERS} numbers: a file holds as many");
        }
        match self.declarations.ty(part.ty) {
            Some(Type::Int { .. } | Type::Float { .. }) => {
                numbers.push(self.number(part.ty, part.offset, None)?);
            }
            Some(Type::Vector { component, count }) => {
                for index in 0..u64::from(*count) {
                    let size = self.number(*component, 0, None)?.size as u64;
                    numbers.push(self.number(*component, part.offset + size * index, None)?);
                }
            }
            Some(Type::Matrix { column, count }) => {
                let (scalar, rows) = self.declarations.vector(*column).context("no vectors")?;
                let size = self.number(scalar, 0, None)?.size as u64;
                for column in 0..u64::from(*count) {
                    for row in 0..u64::from(rows) {
                        let (far, near) =
                            if part.is_row_major { (row, column) } else { (column, row) };
                        let offset =
                            part.offset + far * u64::from(part.matrix_stride) + near * size;
                        let place =
                            Some(MatrixPlace { column: column as usize, row: row as usize });
                        numbers.push(self.number(scalar, offset, place)?);
                    }
                }
            }
            Some(Type::Array { element, length }) => {
                let length = self.declarations.constant(*length).context("no length")?;
                for index in 0..length {
                    self.collect(self.element(part, *element, index)?, numbers)?;
                }
            }
            Some(Type::RuntimeArray { element }) => {
                self.collect(self.element(part, *element, 0)?, numbers)?;
            }
            Some(Type::Struct { members }) => {
                for index in 0..members.len() as u32 {
                    let name = self.member_name(part.ty, index);
                    self.collect(self.member(part, &name)?, numbers)?;
                }
            }
            _ => bail!("a value of a type that has no numbers"),
        }
        Ok(())
    }

    fn number(&self, ty: Id, offset: u64, place: Option<MatrixPlace>) -> Result<Number> {
        let (width, kind) = match self.declarations.ty(ty) {
            Some(Type::Int { width, signed }) => (*width, ScalarKind::Int { signed: *signed }),
            Some(Type::Float { width }) => (*width, ScalarKind::Float),
            _ => bail!("a vector of what are no numbers"),
        };
        let size = width as usize / 8;
        Ok(Number { offset: usize::try_from(offset)?, size, kind, place })
    }
}

/// Returns the [`Number`]s (places in memory) of a column of a matrix or, for a vector, that of one component. `all`
/// has the `Number`s of the whole matrix or vector.
fn element_of(all: Vec<Number>, index: u32, path: &str) -> Result<Vec<Number>> {
    let index = index as usize;
    let is_matrix = all.iter().any(|number| number.place.is_some());
    let chosen: Vec<Number> = if is_matrix {
        let own = all.into_iter().filter(|n| n.place.is_some_and(|place| place.column == index));
        own.map(|number| Number { place: None, ..number }).collect()
    } else {
        all.into_iter().skip(index).take(1).collect()
    };
    if chosen.is_empty() {
        bail!("'{path}': there is no [{index}]");
    }
    Ok(chosen)
}

/// Splits a path into its steps. `*` has no steps.
fn steps(path: &str) -> Result<Vec<PathStep<'_>>> {
    if path == "*" {
        return Ok(Vec::new());
    }
    let mut steps = Vec::new();
    for segment in path.split('.') {
        let (name, mut rest) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
        if name.is_empty() {
            bail!("'{path}': no name where one should be");
        }
        steps.push(PathStep::Member(name));
        while let Some((index, behind)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
            let index = index.trim().parse();
            steps.push(PathStep::Element(
                index.with_context(|| format!("'{path}': what is in brackets"))?,
            ));
            rest = behind;
        }
        if !rest.is_empty() {
            bail!("'{path}': '{rest}' is no element");
        }
    }
    Ok(steps)
}

impl Value {
    /// Writes a value to `bytes`, at the places in `numbers`. `bytes` must be large enough.
    pub(super) fn write(&self, numbers: &[Number], bytes: &mut [u8]) -> Result<()> {
        match self {
            Self::Identity => {
                for number in numbers {
                    let place = number.place.context("it is no matrix")?;
                    number.write(Literal::Int((place.column == place.row).into()), bytes)?;
                }
            }
            Self::Numbers(values) => {
                if values.len() != 1 && values.len() != numbers.len() {
                    bail!("it has {} numbers, and {} are given", numbers.len(), values.len());
                }
                for (number, value) in numbers.iter().zip(values.iter().cycle()) {
                    number.write(*value, bytes)?;
                }
            }
        }
        Ok(())
    }
}

impl Number {
    fn write(&self, value: Literal, bytes: &mut [u8]) -> Result<()> {
        let bits = match (self.kind, self.size) {
            (ScalarKind::Float, 2) => u64::from(half::f16::from_f64(value.to_f64()).to_bits()),
            (ScalarKind::Float, 4) => u64::from((value.to_f64() as f32).to_bits()),
            (ScalarKind::Float, _) => value.to_f64().to_bits(),
            (ScalarKind::Int { signed }, size) => {
                let bits = 8 * size as u32;
                let range = if signed {
                    -(1i128 << (bits - 1))..1i128 << (bits - 1)
                } else {
                    0..1i128 << bits
                };
                let int = value.to_int().filter(|int| range.contains(int));
                let Some(int) = int else {
                    bail!(
                        "{value} is no integer of {bits} bits{}",
                        if signed { "" } else { " without a sign" }
                    );
                };
                int as u64
            }
        };
        let place =
            bytes.get_mut(self.offset..self.offset + self.size).context("beyond the block")?;
        place.copy_from_slice(&bits.to_le_bytes()[..self.size]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use spirv::Op;
    use vkxfb_rewriter::spirv::Module;

    use super::*;
    use crate::supplied::{Modules, Read, bytes_of, parse_push};

    /// A module as DXC makes it from `struct { float4x4 view; float4x4 bones[5000]; uint64_t id;
    /// }`.
    fn module() -> Module {
        let mut words = vec![spirv::MAGIC_NUMBER, 0x0001_0300, 0, 20, 0];
        let mut push = |op: Op, operands: &[u32]| {
            words.push(op as u32 | ((1 + operands.len() as u32) << 16));
            words.extend(operands);
        };
        let name = |name: &str| {
            let mut bytes = name.as_bytes().to_vec();
            bytes.resize(name.len() / 4 * 4 + 4, 0);
            bytes
                .chunks(4)
                .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect::<Vec<_>>()
        };
        for (member, text) in ["view", "bones", "id"].into_iter().enumerate() {
            push(Op::MemberName, &[[8, member as u32].to_vec(), name(text)].concat());
        }
        push(Op::Decorate, &[7, spirv::Decoration::ArrayStride as u32, 64]);
        for member in 0..2 {
            push(Op::MemberDecorate, &[8, member, Decoration::RowMajor as u32]);
            push(Op::MemberDecorate, &[8, member, Decoration::MatrixStride as u32, 16]);
        }
        for (member, offset) in [(0, 0), (1, 64), (2, 64 + 64 * 5000)] {
            push(Op::MemberDecorate, &[8, member, Decoration::Offset as u32, offset]);
        }
        push(Op::TypeFloat, &[1, 32]);
        push(Op::TypeVector, &[2, 1, 4]);
        push(Op::TypeMatrix, &[3, 2, 4]);
        push(Op::TypeInt, &[4, 32, 0]);
        push(Op::TypeInt, &[5, 64, 0]);
        push(Op::Constant, &[4, 6, 5000]);
        push(Op::TypeArray, &[7, 3, 6]);
        push(Op::TypeStruct, &[8, 3, 7, 5]);
        push(Op::TypePointer, &[9, spirv::StorageClass::PushConstant as u32, 8]);
        push(Op::Variable, &[9, 10, spirv::StorageClass::PushConstant as u32]);
        Module::parse(&words).unwrap()
    }

    /// Returns the bytes for the values of members, and a list of the members without a value.
    fn given(members: &[&str]) -> Result<(Vec<u8>, Vec<String>)> {
        let modules = Modules(vec![Declarations::of(&module())]);
        let contents: Vec<_> =
            members.iter().map(|text| parse_push(text).unwrap().content).collect();
        let contents: Vec<_> = contents.iter().collect();
        let mut read = Read::default();
        let blocks = modules.push_constants();
        let given = bytes_of(&contents, &blocks, "--push", " ", &mut read)?;
        Ok((given.bytes, read.missing))
    }

    #[test]
    fn a_part_counts_before_the_whole_in_any_order() {
        let of = |members: &[&str]| given(members).unwrap().0;
        let bytes = of(&["bones[1][0]=1,2,3,4", "bones[1]=identity", "id=7", "bones=3", "*=5"]);
        let float = |at: usize| f32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[4 * at + byte]));
        // In memory the columns of an HLSL matrix come one after another, but `[0]` in a path selects a row.
        let bone = |number: usize| [0, 1, 4, 5].map(|at| float(16 + 16 * number + at));
        assert_eq!((float(0), bone(0)), (5.0, [3.0; 4]));
        assert_eq!(bone(1), [1.0, 0.0, 2.0, 1.0]);
        assert_eq!(bytes[64 + 64 * 5000..], 7u64.to_le_bytes());
        assert_eq!(
            of(&["*=5", "bones=3", "id=7", "bones[1]=identity", "bones[1][0]=1,2,3,4"]),
            bytes
        );
    }

    #[test]
    fn what_is_not_given_is_missing_however_large_it_is() {
        let (_, missing) = given(&["view=identity", "id=1"]).unwrap();
        assert_eq!(missing.len(), 1, "{missing:?}");
        assert!(missing[0].starts_with("member 'bones'"), "{missing:?}");
        let (bytes, missing) = given(&["*=1"]).unwrap();
        assert_eq!((bytes.len(), missing.len()), (64 + 64 * 5000 + 8, 0));
    }

    #[test]
    fn integers_are_exact() {
        let id = |text: &str| {
            let (bytes, _) = given(&["*=0", text])?;
            Ok::<_, anyhow::Error>(bytes[64 + 64 * 5000..].to_vec())
        };
        for (text, expected) in [
            ("id=9007199254740993", (1u64 << 53) + 1),
            ("id=18446744073709551615", u64::MAX),
            ("id=0xfffffffffffffffe", u64::MAX - 1),
        ] {
            assert_eq!(id(text).unwrap(), expected.to_le_bytes(), "{text}");
        }
        for wrong in ["id=18446744073709551616", "id=-1", "id=0.5", "id=nan"] {
            assert!(id(wrong).is_err(), "{wrong}");
        }
    }
}
