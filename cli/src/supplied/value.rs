//! Parses the values of members on the command line.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use anyhow::Result;

/// The value of a member.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// The numbers of the member, in the order of its members and elements. The numbers of a matrix are column by
    /// column (in HLSL row by row), however it is stored. A single number is for all numbers of the member.
    Numbers(Vec<Literal>),
    /// The identity, for a matrix or an array of matrices.
    Identity,
}

impl FromStr for Value {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "identity" => Ok(Self::Identity),
            text => literals(text).map(Self::Numbers).map_err(|_| {
                format!("'{text}': a value is numbers with commas between them, or identity for a matrix")
            }),
        }
    }
}

/// A number as it is written. Integers are kept separately, because floats cannot represent all of
/// them exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Literal {
    Int(i128),
    Float(f64),
}

impl Literal {
    pub(super) const fn to_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    pub(super) fn to_int(self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(value),
            Self::Float(value) => Some(value as i128).filter(|_| value.fract() == 0.0),
        }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}

/// Parses numbers that are separated by commas. Integers may be hexadecimal.
pub(crate) fn literals(text: &str) -> Result<Vec<Literal>, String> {
    let literal = |word: &str| {
        let word = word.trim();
        let int = match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).map(i128::from),
            None => word.parse(),
        };
        match int {
            // `-0` becomes a float, because an integer cannot represent it.
            Ok(0) if word.starts_with('-') => Ok(Literal::Float(-0.0)),
            Ok(int) => Ok(Literal::Int(int)),
            Err(_) => {
                word.parse().map(Literal::Float).map_err(|_| format!("'{word}' is no number"))
            }
        }
    };
    text.split(',').map(literal).collect()
}

#[cfg(test)]
mod tests {
    use super::Literal::{Float, Int};
    use super::*;

    #[test]
    fn values_are_read() {
        assert_eq!("1, -2.5,0x10".parse(), Ok(Value::Numbers(vec![Int(1), Float(-2.5), Int(16)])));
        assert_eq!(" identity".parse(), Ok(Value::Identity));
        for wrong in ["", "1,", "one", "identity()", "scale(2)"] {
            assert!(wrong.parse::<Value>().is_err(), "{wrong}");
        }
    }
}
