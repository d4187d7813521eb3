//! Parses values for specialization constants on the command line.

use anyhow::{Context, Result, bail};
use spirv::Op;
use vkxfb_rewriter::spirv::Module;
use vkxfb_rewriter::spirv::declarations::{Declarations, Type};
use vkxfb_rewriter::spirv::specialization::SpecializationConstant;
use vkxfb_rewriter::spirv::{DeclaredConstant, declared_constants};

/// The option that gives values to specialization constants, as an application does when it creates
/// a pipeline.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Constants {
    /// Set a specialization constant to a value of its type: 4=5, 4=-5, 4=0.5 or 4=true. An
    /// override of WGSL is named by its @id, or by its name if it has none
    #[arg(long = "constant", value_name = "ID=VALUE,...", value_delimiter = ',', value_parser = parse)]
    constants: Vec<(String, Value)>,
}

/// A value from the command line, before the constant's type is known.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Bool(bool),
    Int(i128),
    Float(f64),
}

/// Values of constants as bytes in memory, with the `SpecId` of each.
#[derive(Default)]
pub(super) struct Values(Vec<(u32, Vec<u8>)>);

impl Values {
    pub(super) fn append(&mut self, mut others: Self) {
        self.0.append(&mut others.0);
    }

    /// Returns the values in the form that lowering takes.
    pub(super) fn specialization(&self) -> Vec<SpecializationConstant<'_>> {
        self.0
            .iter()
            .map(|(constant_id, data)| SpecializationConstant { constant_id: *constant_id, data })
            .collect()
    }
}

impl Constants {
    /// Returns the values for the overrides of a WGSL source.
    pub(super) fn overrides(&self) -> Vec<(String, f64)> {
        self.constants.iter().map(|(key, value)| (key.clone(), value.number())).collect()
    }

    /// Returns the values of this option, followed by `others`.
    pub(super) fn and(mut self, others: &Self) -> Self {
        self.constants.extend_from_slice(&others.constants);
        self
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.constants.iter().any(|(found, _)| found == key)
    }

    /// Removes the value of a constant. Returns whether there was one.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        let before = self.constants.len();
        self.constants.retain(|(found, _)| found != key);
        self.constants.len() < before
    }

    /// Splits the values into values for constants that a module has, and values for other constants.
    pub(super) fn split(&self, words: &[u32]) -> Result<(Self, Self)> {
        let module = Module::parse(words)?;
        let declared = declared_constants(&module, &Declarations::of(&module));
        let has = |(key, _): &(String, Value)| {
            let id = key.parse::<u32>();
            id.is_ok_and(|id| declared.iter().any(|constant| constant.constant_id == id))
        };
        let (own, others) = self.constants.iter().cloned().partition(has);
        Ok((Self { constants: own }, Self { constants: others }))
    }

    /// Returns the values for the constants of a module. Vulkan ignores values for constants that
    /// the module does not have, but here that is an error.
    pub(super) fn values(&self, words: &[u32]) -> Result<Values> {
        if self.constants.is_empty() {
            return Ok(Values(vec![]));
        }
        let module = Module::parse(words)?;
        let declared = declared_constants(&module, &Declarations::of(&module));
        let values = self.constants.iter().map(|(key, value)| {
            let id = key.parse::<u32>();
            let id = id.with_context(|| {
                format!("{key}={value}: specialisation constants have numbers, as in {EXAMPLES}")
            })?;
            let Some(constant) = declared.iter().find(|constant| constant.constant_id == id) else {
                let all: Vec<String> = declared.iter().map(describe).collect();
                let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
                bail!("the shader has no specialisation constant {id}; it has: {all}");
            };
            let bytes = value.to_memory(&constant.ty).with_context(|| {
                format!("specialisation constant {} cannot be {value}", describe(constant))
            })?;
            Ok((id, bytes))
        });
        Ok(Values(values.collect::<Result<_>>()?))
    }
}

/// Formats the values as the option takes them.
impl std::fmt::Display for Constants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all = self.constants.iter().map(|(id, value)| format!("{id}={value}"));
        f.write_str(&all.collect::<Vec<_>>().join(","))
    }
}

/// Describes a constant for messages: `4 (int COUNT = 2)`.
fn describe(constant: &DeclaredConstant) -> String {
    let DeclaredConstant { constant_id, name, type_name, .. } = constant;
    let name = name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
    format!("{constant_id} ({type_name}{name} = {})", default_of(constant))
}

/// Formats the default value of a constant, according to its type.
pub(super) fn default_of(constant: &DeclaredConstant) -> String {
    let bits = constant.default;
    match constant.ty {
        Type::Other(Op::TypeBool) => (bits != 0).to_string(),
        Type::Int { signed: true, width: 64 } => bits.cast_signed().to_string(),
        // In SPIR-V, the literal of an integer with less than 32 bits is sign-extended to a word.
        Type::Int { signed: true, .. } => (bits as u32).cast_signed().to_string(),
        Type::Float { width: 64 } => f64::from_bits(bits).to_string(),
        Type::Float { width: 32 } => f32::from_bits(bits as u32).to_string(),
        Type::Float { .. } => format!("{bits:#x}"),
        _ => bits.to_string(),
    }
}

impl Value {
    /// Returns the value as a double, because WebGPU takes the values of overrides as doubles.
    const fn number(self) -> f64 {
        match self {
            Self::Bool(value) => value as u8 as f64,
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// Returns the bytes of the value for a constant of this type, as they are in memory.
    fn to_memory(self, ty: &Type) -> Result<Vec<u8>> {
        Ok(match (self, ty) {
            (Self::Bool(value), Type::Other(Op::TypeBool)) => vk_bool(value),
            (Self::Int(value @ (0 | 1)), Type::Other(Op::TypeBool)) => vk_bool(value == 1),
            (Self::Int(value), Type::Float { width: 32 }) => (value as f32).to_ne_bytes().into(),
            (Self::Float(value), Type::Float { width: 32 }) => (value as f32).to_ne_bytes().into(),
            (Self::Int(_) | Self::Float(_), Type::Float { width: 64 }) => {
                self.number().to_ne_bytes().into()
            }
            (Self::Int(value), Type::Int { width, signed }) => {
                let width = (*width).clamp(8, 64);
                let least = if *signed { -1 << (width - 1) } else { 0 };
                if !(least..least + (1 << width)).contains(&value) {
                    bail!("it is out of the type's range");
                }
                match width {
                    8 => (value as u8).to_ne_bytes().into(),
                    16 => (value as u16).to_ne_bytes().into(),
                    32 => (value as u32).to_ne_bytes().into(),
                    _ => (value as u64).to_ne_bytes().into(),
                }
            }
            _ => bail!("it is of another type"),
        })
    }
}

fn vk_bool(value: bool) -> Vec<u8> {
    u32::from(value).to_ne_bytes().into()
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}

/// Examples of the option's syntax, for messages.
const EXAMPLES: &str = "3=5, 3=-5, 3=0.5 or 3=true";

fn parse(text: &str) -> Result<(String, Value), String> {
    let wrong = || format!("a constant's ID and its value: {EXAMPLES}");
    let (id, value) = text.split_once('=').ok_or_else(wrong)?;
    let value = match value.trim() {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        value => match value.parse() {
            Ok(value) => Some(Value::Int(value)),
            Err(_) => value.parse().ok().map(Value::Float),
        },
    };
    let id = id.trim();
    if id.is_empty() {
        return Err(wrong());
    }
    Ok((id.to_owned(), value.ok_or_else(wrong)?))
}

/// The values of specialization constants for the shader that is captured, and for those before it.
pub(crate) struct Specialized<'a> {
    pub(crate) captured: Vec<SpecializationConstant<'a>>,
    pub(crate) before: Vec<Vec<SpecializationConstant<'a>>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_the_type_has_them() {
        let int = |width, signed| Type::Int { width, signed };
        let bytes = |text: &str, ty: &Type| parse(text).unwrap().1.to_memory(ty).ok();
        assert_eq!(bytes("1=-5", &int(32, true)), Some((-5i32).to_ne_bytes().into()));
        assert_eq!(bytes("1=-5", &int(32, false)), None);
        assert_eq!(bytes("1=4294967296", &int(32, false)), None);
        assert_eq!(bytes("1=4294967296", &int(64, false)), Some((1u64 << 32).to_ne_bytes().into()));
        assert_eq!(bytes("1=255", &int(8, false)), Some(vec![255]));
        // A number without a decimal point is accepted for a constant of type float.
        let float = Type::Float { width: 32 };
        assert_eq!(bytes("1=3", &float), Some(3f32.to_ne_bytes().into()));
        assert_eq!(bytes("1=1e-3", &float), Some(1e-3f32.to_ne_bytes().into()));
        assert_eq!(bytes("1=0.5", &int(32, true)), None);
        let bool = Type::Other(Op::TypeBool);
        assert_eq!(bytes("1=true", &bool), Some(1u32.to_ne_bytes().into()));
        assert_eq!(bytes("1=2", &bool), None);
    }
}
