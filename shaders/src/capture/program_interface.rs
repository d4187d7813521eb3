//! Captured outputs in the form of OpenGL's program interface (`GL_TRANSFORM_FEEDBACK_VARYING`,
//! [OpenGL 4.6 section 7.3.1](https://registry.khronos.org/OpenGL/specs/gl/glspec46.core.pdf)).
//!
//! An array of a basic type is one varying with a size. Other arrays are split into their elements,
//! and structures into their members.

use std::fmt;

use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::type_name::{glsl_name, scalar_names};
use crate::spirv::types::numeric_scalar;
use crate::spirv::{Id, NumericClass};

/// A captured output as OpenGL lists it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Varying {
    /// The number of the capture buffer.
    pub buffer: u32,
    /// The index of the buffer among the buffers that are captured to, in ascending order.
    pub buffer_index: u32,
    /// Bytes from the start of the vertex's record.
    pub offset: u32,
    /// The type of an element.
    pub ty: GlType,
    /// The number of elements; 1 for a value that is not an array.
    pub count: u32,
    /// The name; if the module has no names, the variable's id and the path to the value.
    pub name: String,
}

/// A basic type of OpenGL: a scalar, vector or matrix. `Display` writes the token, such as
/// `GL_FLOAT_VEC4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GlType {
    /// The numeric class of the components.
    pub class: NumericClass,
    /// The component size in bits: 32 or 64.
    pub bits: u32,
    /// The number of columns; 1 for scalars and vectors.
    pub columns: u32,
    /// The number of components of a column.
    pub rows: u32,
}

impl GlType {
    /// The type of a scalar, vector or matrix with 32-bit or 64-bit components; `None` for other
    /// types.
    pub(super) fn of(declarations: &Declarations, ty: Id) -> Option<Self> {
        let (columns, column) = match declarations.ty(ty)? {
            Type::Matrix { column, count } => (*count, *column),
            _ => (1, ty),
        };
        let (component, rows) = declarations.vector(column)?;
        let (class, bits) = numeric_scalar(declarations, component)?;
        let in_range = (1..=4).contains(&rows) && (1..=4).contains(&columns);
        in_range.then_some(Self { class, bits, columns, rows })
    }

    /// The type in GLSL syntax: `vec4`, `dmat3x4`, `uint`.
    pub fn glsl(self) -> String {
        let Self { class, bits: width, columns, rows } = self;
        let scalar = match class {
            NumericClass::Float => Type::Float { width },
            NumericClass::Sint => Type::Int { width, signed: true },
            NumericClass::Uint => Type::Int { width, signed: false },
        };
        scalar_names(&scalar).map_or_else(String::new, |names| glsl_name(names, columns, rows))
    }
}

impl fmt::Display for GlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scalar = match (self.class, self.bits) {
            (NumericClass::Float, 64) => "GL_DOUBLE",
            (NumericClass::Float, _) => "GL_FLOAT",
            (NumericClass::Sint, 64) => "GL_INT64",
            (NumericClass::Sint, _) => "GL_INT",
            (NumericClass::Uint, 64) => "GL_UNSIGNED_INT64",
            (NumericClass::Uint, _) => "GL_UNSIGNED_INT",
        };
        // The tokens of 64-bit integers are from the extension GL_ARB_gpu_shader_int64.
        let suffix = if self.bits == 64 && self.class != NumericClass::Float { "_ARB" } else { "" };
        let Self { columns, rows, .. } = *self;
        match (columns, rows) {
            (1, 1) => write!(f, "{scalar}{suffix}"),
            (1, _) => write!(f, "{scalar}_VEC{rows}{suffix}"),
            _ if columns == rows => write!(f, "{scalar}_MAT{columns}"),
            _ => write!(f, "{scalar}_MAT{columns}x{rows}"),
        }
    }
}
