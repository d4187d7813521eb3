//! Decodes the numbers of the captured records.

use serde::{Serialize, Serializer};
use vkxfb_rewriter::capture::InterfaceVariable;
use vkxfb_rewriter::capture::{CapturedOutput, Layout};
use vkxfb_rewriter::spirv::NumericClass;

use super::device::Taken;
use super::mesh::meaning;

/// A captured output as a column of a table: a scalar, a vector, or a column of a matrix.
#[derive(Debug, Clone)]
pub(super) struct Column {
    /// The name of the output, or the selector of its location or built-in.
    pub(super) name: String,
    /// The type in GLSL.
    pub(super) ty: String,
    /// Whether the output is the built-in `Position`.
    pub(super) is_position: bool,
    /// The letter of each component; empty for a scalar.
    pub(super) letters: Vec<char>,
    output: CapturedOutput,
}

/// The meaning of an output in a mesh or a picture, according to the output's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Normal,
    Texcoord,
    Color,
}

/// The captured records, one for each vertex.
pub(super) struct Records<'a> {
    pub(super) columns: &'a [Column],
    pub(super) vertices: usize,
    taken: &'a Taken,
    layout: &'a Layout,
}

/// A component of a record, with its type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    /// A float of 32 bits. Floats of 16 bits are converted.
    Float(f32),
    Double(f64),
    Int(i64),
    Uint(u64),
}

/// Returns the columns of a layout. `variables` are the outputs of the shader.
pub(super) fn columns(layout: &Layout, variables: &[InterfaceVariable]) -> Vec<Column> {
    layout.outputs.iter().map(|output| Column::of(output, variables)).collect()
}

/// Returns the column that is a position: the built-in, otherwise the first vector of at least three floats. `None` if
/// there is neither.
pub(super) fn position(columns: &[Column]) -> Option<&Column> {
    let is_place = |column: &&Column| {
        column.output.class == NumericClass::Float && column.output.components >= 3
    };
    let built_in = columns.iter().find(|column| column.is_position && is_place(column));
    built_in.or_else(|| columns.iter().find(is_place))
}

/// Returns the column with positions in space: the first vector of at least three floats whose name says that it is a
/// position, but not the built-in `Position`. If there is none, returns the result of [`position`](position()): the
/// built-in or another vector.
pub(super) fn place(columns: &[Column]) -> Option<&Column> {
    let is_named = |column: &&Column| {
        column.output.class == NumericClass::Float
            && column.output.components >= 3
            && !column.is_position
            && column.is_named("position")
    };
    columns.iter().find(is_named).or_else(|| position(columns))
}

impl<'a> Records<'a> {
    /// Makes the records from the bytes that were captured. Each primitive has
    /// `vertices_per_primitive` vertices.
    pub(super) fn of(
        taken: &'a Taken,
        layout: &'a Layout,
        columns: &'a [Column],
        vertices_per_primitive: u32,
    ) -> Self {
        let vertices = taken.primitives_written as usize * vertices_per_primitive as usize;
        Self { columns, vertices, taken, layout }
    }

    /// Returns the bytes of a column in the record of a vertex.
    pub(super) fn bytes(&self, vertex: usize, column: &Column) -> &'a [u8] {
        let output = &column.output;
        let buffer = output.buffer as usize;
        let stride = self.layout.strides[buffer].unwrap_or(0) as usize;
        let start = vertex * stride + output.offset as usize;
        let bytes = self.taken.buffers[buffer].get(start..start + output.size() as usize);
        bytes.unwrap_or_default()
    }

    /// Returns the components of a column in the record of a vertex.
    pub(super) fn numbers(&self, vertex: usize, column: &Column) -> Vec<Number> {
        let output = &column.output;
        let bytes = self.bytes(vertex, column);
        let components = bytes.chunks_exact(output.bits as usize / 8);
        components.map(|bytes| Number::of(bytes, output.class)).collect()
    }

    /// Returns the components of a position. The fourth is 1 if the column has only three.
    pub(super) fn place(&self, vertex: usize, column: &Column) -> [f64; 4] {
        let mut place = [0.0, 0.0, 0.0, 1.0];
        let numbers = self.numbers(vertex, column).into_iter().map(Number::to_f64);
        place.iter_mut().zip(numbers).for_each(|(to, from)| *to = from);
        place
    }
}

impl Column {
    fn of(output: &CapturedOutput, variables: &[InterfaceVariable]) -> Self {
        let own = variables
            .iter()
            .find(|v| v.variable == output.variable && output.path.starts_with(&v.path));
        let rest = own.map_or(&[][..], |own| &output.path[own.path.len()..]);
        // If single components of a vector are captured, each keeps its letter.
        let component = match (own, rest) {
            (Some(own), [component]) if is_vector(&own.ty) => Some(*component),
            _ => None,
        };
        let name = match (own, component) {
            (Some(own), Some(_)) => own.name.clone().or_else(|| own.selector.clone()),
            // An output without a name gets the selector of its variable, followed by the indices that lead
            // to it.
            (Some(own), None) => output.name.clone().or_else(|| {
                let indices = rest.iter().map(|index| format!("[{index}]"));
                Some(own.selector.clone()? + &indices.collect::<String>())
            }),
            (None, _) => output.name.clone(),
        };
        let per_component = (output.bits / 32).max(1);
        let first = own.map_or(0, |own| output.component.saturating_sub(own.component));
        let first = component.unwrap_or(first / per_component);
        let letters = ['x', 'y', 'z', 'w'].into_iter().skip(first as usize);
        let letters = match (output.components, component) {
            (1, None) => Vec::new(),
            (count, _) => letters.take(count as usize).collect(),
        };
        Self {
            name: name.unwrap_or_else(|| output.variable.to_string()),
            ty: type_name(output),
            is_position: own.is_some_and(|own| own.built_in_name().as_deref() == Some("Position")),
            letters,
            output: output.clone(),
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        match &self.letters[..] {
            [] => vec![self.name.clone()],
            letters => letters.iter().map(|letter| format!("{}.{letter}", self.name)).collect(),
        }
    }

    /// Returns the role of the output according to its name. `None` if the name does not tell a role, if the captured
    /// components do not begin with x, or if the type does not fit the role: three floats for a normal, two for texture
    /// coordinates, and three or four for a colour.
    pub(super) fn role(&self) -> Option<Role> {
        let is_whole = self.letters.first() == Some(&'x');
        if !is_whole || self.class() != NumericClass::Float {
            return None;
        }
        match (meaning(&self.name)?, self.letters.len()) {
            ("normal", 3) => Some(Role::Normal),
            ("texcoord", 2) => Some(Role::Texcoord),
            ("color", 3..) => Some(Role::Color),
            _ => None,
        }
    }

    /// Whether the last words of the output's name mean `what`.
    fn is_named(&self, what: &str) -> bool {
        meaning(&self.name) == Some(what)
    }

    /// Returns a remark that this output is used as a position, although it may be something else. `None` if it is the
    /// built-in `Position`, or if its name says that it is a position.
    pub(super) fn guessed_position(&self) -> Option<String> {
        let is_position = self.is_position || self.is_named("position");
        (!is_position)
            .then(|| format!("no position is captured: vertices are where {} has them", self.name))
    }

    /// The number of bits of a component.
    pub(super) const fn bits(&self) -> u32 {
        self.output.bits
    }

    pub(super) const fn class(&self) -> NumericClass {
        self.output.class
    }

    /// The capture buffer, and the offset in bytes from the start of the record.
    pub(super) const fn place(&self) -> (u32, u32) {
        (self.output.buffer, self.output.offset)
    }
}

fn is_vector(ty: &str) -> bool {
    ty.contains("vec") && !ty.contains(['[', ' '])
}

/// Returns the type of an output in GLSL.
fn type_name(output: &CapturedOutput) -> String {
    let (scalar, prefix) = match (output.class, output.bits) {
        (NumericClass::Float, 16) => ("float16_t", "f16"),
        (NumericClass::Float, 64) => ("double", "d"),
        (NumericClass::Float, _) => ("float", ""),
        (NumericClass::Sint, 8) => ("int8_t", "i8"),
        (NumericClass::Sint, 16) => ("int16_t", "i16"),
        (NumericClass::Sint, 64) => ("int64_t", "i64"),
        (NumericClass::Sint, _) => ("int", "i"),
        (NumericClass::Uint, 8) => ("uint8_t", "u8"),
        (NumericClass::Uint, 16) => ("uint16_t", "u16"),
        (NumericClass::Uint, 64) => ("uint64_t", "u64"),
        (NumericClass::Uint, _) => ("uint", "u"),
    };
    match output.components {
        1 => scalar.to_owned(),
        count => format!("{prefix}vec{count}"),
    }
}

impl Number {
    fn of(bytes: &[u8], class: NumericClass) -> Self {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(wide);
        let unused = 64 - 8 * bytes.len() as u32;
        match (class, bytes.len()) {
            (NumericClass::Float, 2) => Self::Float(half::f16::from_bits(bits as u16).into()),
            (NumericClass::Float, 8) => Self::Double(f64::from_bits(bits)),
            (NumericClass::Float, _) => Self::Float(f32::from_bits(bits as u32)),
            (NumericClass::Sint, _) => Self::Int((bits << unused).cast_signed() >> unused),
            (NumericClass::Uint, _) => Self::Uint(bits),
        }
    }

    /// Returns the bits of the number, to distinguish numbers that are written in the same way.
    pub(super) fn bits(&self) -> String {
        match self {
            Self::Float(value) => format!("{:#010x}", value.to_bits()),
            Self::Double(value) => format!("{:#018x}", value.to_bits()),
            Self::Int(value) => format!("{value:#x}"),
            Self::Uint(value) => format!("{value:#x}"),
        }
    }

    pub(super) fn to_f64(self) -> f64 {
        match self {
            Self::Float(value) => value.into(),
            Self::Double(value) => value,
            Self::Int(value) => value as f64,
            Self::Uint(value) => value as f64,
        }
    }
}

/// Writes the number with as few digits as distinguish it from all other numbers of its type.
impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Double(value) => write!(f, "{value:?}"),
            Self::Int(value) => value.fmt(f),
            Self::Uint(value) => value.fmt(f),
        }
    }
}

/// Numbers that JSON cannot represent become strings: "NaN", "inf", "-inf".
impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Float(value) if value.is_finite() => serializer.serialize_f32(*value),
            Self::Double(value) if value.is_finite() => serializer.serialize_f64(*value),
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Uint(value) => serializer.serialize_u64(*value),
            Self::Float(_) | Self::Double(_) => serializer.collect_str(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_of_their_types() {
        let of = |bytes: &[u8], class| Number::of(bytes, class).to_string();
        assert_eq!(of(&(-2i32).to_le_bytes(), NumericClass::Sint), "-2");
        assert_eq!(of(&(-2i64).to_le_bytes(), NumericClass::Sint), "-2");
        assert_eq!(of(&[0xfe], NumericClass::Sint), "-2");
        assert_eq!(of(&[0xfe, 0xff], NumericClass::Uint), "65534");
        assert_eq!(of(&u64::MAX.to_le_bytes(), NumericClass::Uint), "18446744073709551615");
        assert_eq!(of(&[0x00, 0x38], NumericClass::Float), "0.5");
        assert_eq!(of(&0.1f32.to_le_bytes(), NumericClass::Float), "0.1");
        assert_eq!(of(&1e300f64.to_le_bytes(), NumericClass::Float), "1e300");
        let json = |number| serde_json::to_string(&number).unwrap();
        assert_eq!(json(Number::Float(0.1)), "0.1");
        assert_eq!(json(Number::Float(f32::NAN)), "\"NaN\"");
        assert_eq!(json(Number::Double(f64::NEG_INFINITY)), "\"-inf\"");
    }
}
