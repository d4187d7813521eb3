//! Parses the values of members on the command line: numbers, and matrices that are given by
//! functions.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use anyhow::{Context, Result};
use glam::dcamera::rh;
use glam::{DMat4, DVec3};

/// The value of a member.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// The numbers of the member, in the order of its members and elements. The numbers of a matrix are column by
    /// column (in HLSL row by row), however it is stored. A single number is for all numbers of the member.
    Numbers(Vec<Literal>),
    /// A matrix. If the member has fewer columns or rows, only the first ones are used.
    Matrix(DMat4),
    /// The joint matrices of the mesh's skins, for an array of matrices.
    Skin,
    /// A matrix for each element of an array. Further elements become identity matrices.
    Matrices(Vec<DMat4>),
}

impl Value {
    /// Returns the value with [`Value::Skin`] replaced by the joint matrices of the mesh.
    pub(super) fn with(&self, joints: Option<&[DMat4]>) -> Result<Self> {
        match self {
            Self::Skin => {
                let joints = joints.context("there is no --mesh with a skin")?;
                Ok(Self::Matrices(joints.to_vec()))
            }
            other => Ok(other.clone()),
        }
    }

    /// The number of elements that the value sets if it is the value of a runtime array.
    pub(super) fn elements(&self) -> u32 {
        match self {
            Self::Matrices(matrices) => matrices.len() as u32,
            _ => 1,
        }
    }
}

/// The syntax of values, for messages.
const KNOWN: &str = "numbers with commas between them, or one or a product (*) of identity, \
    perspective(fovy,aspect,near,far), orthographic(left,right,bottom,top,near,far), \
    look_at(x,y,z, of-x,of-y,of-z), translate(x,y,z), rotate(degrees, x,y,z), scale(x,y,z), \
    with fovy in degrees, or skin for an array of the joints of a glTF";

/// The functions, and the numbers that each takes.
const FUNCTIONS: [(&str, &str); 7] = [
    ("identity", ""),
    ("perspective", "fovy,aspect,near,far"),
    ("orthographic", "left,right,bottom,top,near,far"),
    ("look_at", "x,y,z, of-x,of-y,of-z"),
    ("translate", "x,y,z"),
    ("rotate", "degrees, x,y,z"),
    ("scale", "x,y,z"),
];

impl FromStr for Value {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "skin" {
            return Ok(Self::Skin);
        }
        if let Ok(numbers) = literals(text) {
            return Ok(Self::Numbers(numbers));
        }
        let mut product = DMat4::IDENTITY;
        for factor in text.split('*') {
            product *= matrix(factor.trim())?;
        }
        Ok(Self::Matrix(product))
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

/// Parses a matrix that is given by a function, such as `translate(1,0,0)`.
fn matrix(text: &str) -> Result<DMat4, String> {
    let unknown = || format!("'{text}': a value is {KNOWN}");
    let miscounted = |name: &str, arguments: &[f64]| {
        let (_, takes) = FUNCTIONS.iter().find(|(known, _)| *known == name)?;
        let numbers = takes.split(',').filter(|part| !part.is_empty()).count();
        Some(match numbers {
            0 => format!("'{text}': {name} takes no numbers"),
            _ => format!(
                "'{text}': {name} takes {numbers} numbers ({takes}), {} are given",
                arguments.len()
            ),
        })
    };
    let (name, arguments) = match text.split_once('(') {
        None => (text, Vec::new()),
        Some((name, rest)) => {
            let arguments = rest.strip_suffix(')').ok_or_else(unknown)?;
            (name.trim_end(), literals(arguments)?.into_iter().map(Literal::to_f64).collect())
        }
    };
    let refuse = |what: &str| Err(format!("'{text}': {what}"));
    if arguments.iter().any(|number| !number.is_finite()) {
        return refuse("its numbers have to be finite");
    }
    let vector = |at: usize| DVec3::from_slice(&arguments[at..]);
    Ok(match (name, &arguments[..]) {
        ("identity", []) => DMat4::IDENTITY,
        ("perspective", &[fovy, aspect, near, far]) => {
            if !(0.0 < fovy && fovy < 180.0 && aspect > 0.0 && 0.0 < near && near < far) {
                return refuse("0 < fovy < 180 degrees, 0 < aspect, 0 < near < far");
            }
            rh::proj::vulkan::perspective(fovy.to_radians(), aspect, near, far)
        }
        ("orthographic", &[left, right, bottom, top, near, far]) => {
            if left == right || bottom == top || near == far {
                return refuse("it has no width, height or depth");
            }
            rh::proj::vulkan::orthographic(left, right, bottom, top, near, far)
        }
        ("look_at", [_, _, _, _, _, _]) => {
            let (eye, centre) = (vector(0), vector(3));
            let way = (centre - eye).normalize_or_zero();
            // If the view is straight up or down, the y axis cannot be upwards in the picture. The
            // negative z axis is used instead.
            let up = if way.cross(DVec3::Y).length() < 1e-9 { DVec3::NEG_Z } else { DVec3::Y };
            if way == DVec3::ZERO {
                return refuse("it looks at where it is");
            }
            rh::view::look_at_mat4(eye, centre, up)
        }
        ("translate", [_, _, _]) => DMat4::from_translation(vector(0)),
        ("rotate", &[degrees, _, _, _]) => {
            let Some(axis) = vector(1).try_normalize() else { return refuse("it has no axis") };
            DMat4::from_axis_angle(axis, degrees.to_radians())
        }
        ("scale", &[all]) => DMat4::from_scale(DVec3::splat(all)),
        ("scale", [_, _, _]) => DMat4::from_scale(vector(0)),
        (_, arguments) => return Err(miscounted(name, arguments).unwrap_or_else(unknown)),
    })
}

#[cfg(test)]
mod tests {
    use super::Literal::{Float, Int};
    use super::*;

    fn matrix_of(text: &str) -> DMat4 {
        match text.parse() {
            Ok(Value::Matrix(matrix)) => matrix,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn numbers_are_read() {
        assert_eq!("1, -2.5,0x10".parse(), Ok(Value::Numbers(vec![Int(1), Float(-2.5), Int(16)])));
        for wrong in ["", "1,", "one", "perspective", "perspective(60,1,1)", "rotate(1,0,0,0)"] {
            assert!(wrong.parse::<Value>().is_err(), "{wrong}");
        }
        for wrong in ["perspective(0,1,1,2)", "perspective(60,1,2,1)", "look_at(1,1,1,1,1,1)"] {
            assert!(wrong.parse::<Value>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn matrices_do_what_they_are_named_for() {
        let near = |a: DVec3, b: DVec3| assert!((a - b).length() < 1e-12, "{a} {b}");
        // In Vulkan the depth is 0 on the near plane and 1 on the far plane, and y points downwards. The field of view
        // is vertical.
        let lens = matrix_of("perspective(90, 2, 1, 3)");
        near(lens.project_point3(DVec3::new(2.0, 1.0, -1.0)), DVec3::new(1.0, -1.0, 0.0));
        near(lens.project_point3(DVec3::new(0.0, 0.0, -3.0)), DVec3::new(0.0, 0.0, 1.0));
        let eye = matrix_of("look_at(0,0,5, 0,0,0)");
        near(eye.transform_point3(DVec3::new(1.0, 2.0, 0.0)), DVec3::new(1.0, 2.0, -5.0));
        let down = matrix_of("look_at(0,5,0, 0,0,0)");
        near(down.transform_point3(DVec3::new(0.0, 0.0, -1.0)), DVec3::new(0.0, 1.0, -5.0));
        // The last factor is applied first.
        let moved = matrix_of("translate(1,0,0) * rotate(90, 0,0,1)*scale(2)");
        near(moved.transform_point3(DVec3::X), DVec3::new(1.0, 2.0, 0.0));
        let flat = matrix_of("orthographic(-2,2,-1,1,0,4)");
        near(flat.transform_point3(DVec3::new(2.0, 1.0, -4.0)), DVec3::new(1.0, -1.0, 1.0));
    }
}
