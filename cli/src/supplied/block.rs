//! The members of a shader's block, and where their numbers lie.

use anyhow::{Context, Result, bail};
use glam::DMat4;
use spirv::Decoration;
use vkxfb::internal::spirv::Id;
use vkxfb::internal::spirv::declarations::{Declarations, Type};

use super::value::Value;

/// Numbers of a value that are looked at: as many as a block of 64 KiB has bytes.
const MAX_NUMBERS: usize = 1 << 16;

/// A block, of one of the shaders that have it.
pub(super) struct Block<'a> {
    pub(super) declarations: &'a Declarations,
    pub(super) ty: Id,
}

/// A number in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    /// Bytes from the start of the block.
    pub(super) offset: usize,
    /// Its bytes.
    pub(super) size: usize,
    kind: Kind,
    /// The column and the row of its matrix, if it is of one.
    place: Option<(usize, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Float,
    Int { signed: bool },
}

/// A value in a block, with what its place says of the matrices in it.
#[derive(Clone, Copy)]
struct Part {
    ty: Id,
    offset: u64,
    matrix_stride: u32,
    is_row_major: bool,
}

/// A step from a value to a part of it.
enum Step<'a> {
    Member(&'a str),
    Element(u32),
}

impl Block<'_> {
    /// The numbers of what a path leads to: `tint`, `lights[2].place`, or `*` for all. Of an array without a length these are
    /// so many elements.
    pub(super) fn numbers(&self, path: &str, elements: u32) -> Result<Vec<Number>> {
        let mut part = self.root()?;
        let mut numbers = None;
        for step in steps(path)? {
            match (step, self.declarations.ty(part.ty)) {
                (Step::Member(name), Some(Type::Struct { .. })) if numbers.is_none() => {
                    part = self.member(part, name)?;
                }
                (Step::Element(index), Some(Type::Array { element, length }))
                    if numbers.is_none() =>
                {
                    let length = self.declarations.constant(*length).unwrap_or(0);
                    if index >= length {
                        bail!("'{path}': the array has {length} elements");
                    }
                    part = self.element(part, *element, index)?;
                }
                (Step::Element(index), Some(Type::RuntimeArray { element }))
                    if numbers.is_none() =>
                {
                    part = self.element(part, *element, index)?;
                }
                // A column or a component.
                (Step::Element(index), Some(Type::Matrix { .. } | Type::Vector { .. })) => {
                    let all = match numbers.take() {
                        Some(all) => all,
                        None => self.all(part, elements)?,
                    };
                    numbers = Some(element_of(all, index, path)?);
                }
                _ => bail!("'{path}' leads nowhere; {}", self.list()),
            }
        }
        match numbers {
            Some(numbers) => Ok(numbers),
            None => self.all(part, elements),
        }
    }

    /// The whole of it. What a compiler has put into a structure of its own, as naga does, is taken out.
    fn root(&self) -> Result<Part> {
        let mut part = Part { ty: self.ty, offset: 0, matrix_stride: 16, is_row_major: false };
        while let Some(Type::Struct { members }) = self.declarations.ty(part.ty)
            && let [inner] = members[..]
            && matches!(self.declarations.ty(inner), Some(Type::Struct { .. }))
            && self.declarations.member_name(part.ty, 0).is_none()
        {
            part = self.member(part, "0")?;
        }
        Ok(part)
    }

    /// The names of its members, the type of each, and its numbers.
    pub(super) fn members(&self) -> Vec<(String, String, Vec<Number>)> {
        let Ok(root) = self.root() else { return Vec::new() };
        let Some(Type::Struct { members }) = self.declarations.ty(root.ty) else {
            return Vec::new();
        };
        let member = |(index, ty): (u32, &Id)| {
            let name = self.member_name(root.ty, index);
            let numbers = self.numbers(&name, 1).unwrap_or_default();
            (name, self.declarations.type_name(*ty), numbers)
        };
        (0..).zip(members).map(member).collect()
    }

    /// What members there are, for messages.
    pub(super) fn list(&self) -> String {
        let members = self.members().into_iter().map(|(name, ty, _)| format!("{name} ({ty})"));
        format!("its members are {}", members.collect::<Vec<_>>().join(", "))
    }

    /// Its name, or its number where the module has no names.
    fn member_name(&self, ty: Id, index: u32) -> String {
        let name = self.declarations.member_name(ty, index);
        name.map_or_else(|| index.to_string(), str::to_owned)
    }

    fn member(&self, part: Part, name: &str) -> Result<Part> {
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
        Ok(Part {
            ty: *ty,
            offset: part.offset + u64::from(behind),
            matrix_stride: value(Decoration::MatrixStride).unwrap_or(16),
            is_row_major: row_major.is_some(),
        })
    }

    fn element(&self, part: Part, element: Id, index: u32) -> Result<Part> {
        let stride = self.declarations.decoration_value(part.ty, Decoration::ArrayStride);
        let stride = stride.context("an array has no ArrayStride")?;
        let offset = part.offset + u64::from(stride) * u64::from(index);
        Ok(Part { ty: element, offset, ..part })
    }

    /// The numbers of a value, in their order.
    fn all(&self, part: Part, elements: u32) -> Result<Vec<Number>> {
        let mut numbers = Vec::new();
        self.collect(part, elements, &mut numbers)?;
        Ok(numbers)
    }

    fn collect(&self, part: Part, elements: u32, numbers: &mut Vec<Number>) -> Result<()> {
        if numbers.len() > MAX_NUMBERS {
            bail!("more than {MAX_NUMBERS} numbers");
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
                        let place = Some((column as usize, row as usize));
                        numbers.push(self.number(scalar, offset, place)?);
                    }
                }
            }
            Some(Type::Array { element, length }) => {
                let length = self.declarations.constant(*length).context("no length")?;
                for index in 0..length {
                    self.collect(self.element(part, *element, index)?, elements, numbers)?;
                }
            }
            Some(Type::RuntimeArray { element }) => {
                for index in 0..elements {
                    self.collect(self.element(part, *element, index)?, elements, numbers)?;
                }
            }
            Some(Type::Struct { members }) => {
                for index in 0..members.len() as u32 {
                    let name = self.member_name(part.ty, index);
                    self.collect(self.member(part, &name)?, elements, numbers)?;
                }
            }
            _ => bail!("a value of a type that has no numbers"),
        }
        Ok(())
    }

    fn number(&self, ty: Id, offset: u64, place: Option<(usize, usize)>) -> Result<Number> {
        let (width, kind) = match self.declarations.ty(ty) {
            Some(Type::Int { width, signed }) => (*width, Kind::Int { signed: *signed }),
            Some(Type::Float { width }) => (*width, Kind::Float),
            _ => bail!("a vector of what are no numbers"),
        };
        let size = width as usize / 8;
        Ok(Number { offset: usize::try_from(offset)?, size, kind, place })
    }
}

/// The column of a matrix, or the component of a vector or of a column.
fn element_of(all: Vec<Number>, index: u32, path: &str) -> Result<Vec<Number>> {
    let index = index as usize;
    let is_matrix = all.iter().any(|number| number.place.is_some());
    let chosen: Vec<Number> = match is_matrix {
        true => {
            let own =
                all.into_iter().filter(|n| n.place.is_some_and(|(column, _)| column == index));
            own.map(|number| Number { place: None, ..number }).collect()
        }
        false => all.into_iter().skip(index).take(1).collect(),
    };
    if chosen.is_empty() {
        bail!("'{path}': there is no [{index}]");
    }
    Ok(chosen)
}

/// The steps of a path.
fn steps(path: &str) -> Result<Vec<Step<'_>>> {
    if path == "*" {
        return Ok(Vec::new());
    }
    let mut steps = Vec::new();
    for segment in path.split('.') {
        let (name, mut rest) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
        if name.is_empty() {
            bail!("'{path}': no name where one should be");
        }
        steps.push(Step::Member(name));
        while let Some((index, behind)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
            let index = index.trim().parse();
            steps.push(Step::Element(
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
    /// Writes a value to its numbers, for which the bytes have room.
    pub(super) fn write(&self, numbers: &[Number], bytes: &mut [u8]) -> Result<()> {
        let place =
            |number: &Number| number.place.context("it is no matrix, which the value is one of");
        match self {
            Self::Matrix(matrix) => {
                for number in numbers {
                    let (column, row) = place(number)?;
                    number.write(matrix.col(column)[row], bytes)?;
                }
            }
            Self::Skin => bail!("there is no --mesh with a skin"),
            Self::Matrices(matrices) => {
                let found = numbers.iter().filter(|number| number.place == Some((0, 0))).count();
                if found < matrices.len() {
                    bail!("it has {found} matrices, and the skin {} joints", matrices.len());
                }
                let mut matrices = matrices.iter();
                let mut matrix = &DMat4::IDENTITY;
                for number in numbers {
                    let (column, row) = place(number)?;
                    if (column, row) == (0, 0) {
                        matrix = matrices.next().unwrap_or(&DMat4::IDENTITY);
                    }
                    number.write(matrix.col(column)[row], bytes)?;
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
    fn write(&self, value: f64, bytes: &mut [u8]) -> Result<()> {
        let bits = match (self.kind, self.size) {
            (Kind::Float, 2) => u64::from(half::f16::from_f64(value).to_bits()),
            (Kind::Float, 4) => u64::from((value as f32).to_bits()),
            (Kind::Float, _) => value.to_bits(),
            (Kind::Int { signed }, size) => {
                let bits = 8 * size as u32;
                let range = match signed {
                    true => -(1i128 << (bits - 1))..1i128 << (bits - 1),
                    false => 0..1i128 << bits,
                };
                let int = value as i128;
                if value.fract() != 0.0 || !range.contains(&int) {
                    bail!(
                        "{value} is no integer of {bits} bits{}",
                        if signed { "" } else { " without a sign" }
                    );
                }
                int as u64
            }
        };
        let place =
            bytes.get_mut(self.offset..self.offset + self.size).context("beyond the block")?;
        place.copy_from_slice(&bits.to_le_bytes()[..self.size]);
        Ok(())
    }
}
