//! Parses `--attribute`, which tells the values that inputs of the shader read.

use std::str::FromStr;

use anyhow::Result;

use super::inputs::Input;
use crate::capture::mesh::{Values, canonical};
use crate::supplied::{Literal, literals};

/// The values that the user chose for one input of the shader.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::capture) struct Choice {
    pub(super) input: Which,
    pub(super) source: AttributeSource,
}

/// Names an input of the shader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Which {
    Location(u32),
    /// A name that the user wrote. [`is`](Self::is) says which names of inputs it matches.
    Name(String),
}

/// The origin of the values.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AttributeSource {
    /// The name of a column of the mesh.
    Column(String),
    /// A constant for all vertices, with one value for each component.
    Constant(Vec<Values>),
}

/// The choices in one `--attribute` option.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::capture) struct Choices(pub(super) Vec<Choice>);

impl Which {
    /// Whether this value names `input`. A name matches the whole name of the input, the part after its last dot, or
    /// its canonical name (without prefixes, and with synonyms replaced).
    pub(super) fn is(&self, input: &Input) -> bool {
        match (self, &input.name) {
            (Self::Location(location), _) => *location == input.read.location,
            (Self::Name(_), None) => false,
            (Self::Name(wanted), Some(name)) => {
                let last = name.rsplit('.').next().unwrap_or(name);
                name.eq_ignore_ascii_case(wanted)
                    || last.eq_ignore_ascii_case(wanted)
                    || canonical(name) == canonical(wanted)
            }
        }
    }
}

impl std::fmt::Display for Which {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Location(location) => location.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

/// Parses `INPUT=COLUMN,...`. Commas separate choices, and also the numbers of a constant.
impl FromStr for Choices {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts: Vec<String> = Vec::new();
        for part in text.split(',') {
            match parts.last_mut() {
                Some(before) if !part.contains('=') => {
                    before.push(',');
                    before.push_str(part);
                }
                _ => parts.push(part.to_owned()),
            }
        }
        parts.iter().map(|part| choice(part)).collect::<Result<_, _>>().map(Self)
    }
}

fn choice(text: &str) -> Result<Choice, String> {
    let wrong = || "INPUT=COLUMN or INPUT=NUMBER,..., as in 1=color or normal=0,0,1".to_owned();
    let (input, source) = text.split_once('=').ok_or_else(wrong)?;
    let (input, source) = (input.trim(), source.trim());
    if input.is_empty() || source.is_empty() {
        return Err(wrong());
    }
    let input = match input.parse() {
        Ok(location) => Which::Location(location),
        Err(_) => Which::Name(input.to_owned()),
    };
    let source = match constant(source)? {
        Some(numbers) => AttributeSource::Constant(numbers),
        None if source.contains(',') => return Err(wrong()),
        None => AttributeSource::Column(source.to_owned()),
    };
    Ok(Choice { input, source })
}

/// Parses up to four numbers. `None` if the text does not begin like a number.
fn constant(text: &str) -> Result<Option<Vec<Values>>, String> {
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
        return Ok(None);
    }
    let value = |literal| match literal {
        Literal::Int(int) => Values::Int { values: vec![int], one: 1 },
        Literal::Float(float) => Values::Float(vec![float]),
    };
    let numbers: Vec<Values> = literals(text)?.into_iter().map(value).collect();
    match numbers.len() {
        1..=4 => Ok(Some(numbers)),
        count => Err(format!("{count} numbers; an input has up to four")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read() {
        let choice = |input, source| Choice { input, source };
        let of = |text: &str| text.parse::<Choices>().map(|choices| choices.0);
        let column = |name: &str| AttributeSource::Column(name.to_owned());
        let at = Which::Location;
        let uv = choice(at(1), column("uv"));
        assert_eq!(of(" 1 = uv").unwrap(), std::slice::from_ref(&uv));
        let int = |value| Values::Int { values: vec![value], one: 1 };
        let name = || Which::Name("normal".to_owned());
        let numbers = vec![int(0), Values::Float(vec![-0.5]), int(1)];
        assert_eq!(
            of("normal=0,-.5, 1,1=uv").unwrap(),
            [choice(name(), AttributeSource::Constant(numbers)), uv]
        );
        let wrong = ["", "1", "1=", "=uv", "1=uv,x", "1=0,x"];
        for wrong in wrong.into_iter().chain(["1=1,2,3,4,5", "1=0x"]) {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
