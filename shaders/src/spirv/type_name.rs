//! Names of types, in GLSL syntax.

use spirv::Op;

use super::Id;
use super::declarations::{Declarations, Type};

impl Declarations {
    /// The type in GLSL syntax: `vec4`, `dmat3x4`, `float[3][5]`, `struct Light[2]`. A type that
    /// has no name in GLSL is named by its SPIR-V opcode.
    pub fn type_name(&self, ty: Id) -> String {
        let sized = |columns, rows, component| {
            let names = self.ty(component).and_then(scalar_names);
            names.map(|names| glsl_name(names, columns, rows))
        };
        let named = match self.ty(ty) {
            Some(Type::Int { .. } | Type::Float { .. } | Type::Other(Op::TypeBool)) => {
                sized(1, 1, ty)
            }
            Some(Type::Vector { component, count }) => sized(1, *count, *component),
            Some(Type::Matrix { column, count }) => match self.ty(*column) {
                Some(Type::Vector { component, count: rows }) => sized(*count, *rows, *component),
                _ => None,
            },
            Some(Type::Array { .. }) => Some(self.array_name(ty)),
            Some(Type::RuntimeArray { element }) => Some(self.type_name(*element) + "[]"),
            Some(Type::Struct { .. }) => Some(match self.name(ty) {
                Some(name) => format!("struct {name}"),
                None => "struct".to_owned(),
            }),
            Some(Type::Pointer { .. } | Type::UntypedPointer { .. }) => {
                Some("a pointer".to_owned())
            }
            Some(Type::Other(op)) => Some(format!("Op{op:?}")),
            None => Some("of an unknown type".to_owned()),
        };
        named.unwrap_or_else(|| "of a type that GLSL lacks".to_owned())
    }

    /// The GLSL name of an array type: the name of the element type, followed by the lengths, the outermost
    /// first. The loop ends, because [`Declarations`] limit the nesting of types.
    fn array_name(&self, mut ty: Id) -> String {
        let mut lengths = String::new();
        while let Some(Type::Array { element, length }) = self.ty(ty) {
            let length = self.constant(*length).map_or(String::new(), |n| n.to_string());
            lengths.push_str(&format!("[{length}]"));
            ty = *element;
        }
        self.type_name(ty) + &lengths
    }

    /// Names a variable in messages: `'name' (%id)`. A variable that has no name gets the name of
    /// its block. If the block has no name either, only the id is returned.
    pub fn label(&self, variable: Id) -> String {
        let of_block = || {
            let mut ty = self.variable(variable)?.pointee;
            while let Some(Type::Array { element, .. }) = self.ty(ty) {
                ty = *element;
            }
            matches!(self.ty(ty), Some(Type::Struct { .. })).then(|| self.name(ty))?
        };
        match self.name(variable).or_else(of_block) {
            Some(name) => format!("'{name}' ({variable})"),
            None => variable.to_string(),
        }
    }
}

/// The GLSL names of a scalar type: its own name, and the prefix of `vec` and `mat` in the names of
/// its vectors and matrices.
pub(crate) type ScalarNames = (&'static str, &'static str);

pub(crate) fn scalar_names(ty: &Type) -> Option<ScalarNames> {
    Some(match ty {
        Type::Int { width: 8, signed: true } => ("int8_t", "i8"),
        Type::Int { width: 8, signed: false } => ("uint8_t", "u8"),
        Type::Int { width: 16, signed: true } => ("int16_t", "i16"),
        Type::Int { width: 16, signed: false } => ("uint16_t", "u16"),
        Type::Int { width: 32, signed: true } => ("int", "i"),
        Type::Int { width: 32, signed: false } => ("uint", "u"),
        Type::Int { width: 64, signed: true } => ("int64_t", "i64"),
        Type::Int { width: 64, signed: false } => ("uint64_t", "u64"),
        Type::Float { width: 16 } => ("float16_t", "f16"),
        Type::Float { width: 32 } => ("float", ""),
        Type::Float { width: 64 } => ("double", "d"),
        Type::Other(Op::TypeBool) => ("bool", "b"),
        _ => return None,
    })
}

pub(crate) fn glsl_name((scalar, prefix): ScalarNames, columns: u32, rows: u32) -> String {
    match (columns, rows) {
        (1, 1) => scalar.to_owned(),
        (1, _) => format!("{prefix}vec{rows}"),
        _ if columns == rows => format!("{prefix}mat{columns}"),
        _ => format!("{prefix}mat{columns}x{rows}"),
    }
}
