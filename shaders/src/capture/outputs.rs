//! All outputs of an entry point, to find them by location or built-in.

use spirv::{BuiltIn, StorageClass};

use super::aggregate::{CapturedValue, ValueWalk};
use super::interface::{InterfaceVariable, interface_variables, list_outputs};
use super::{CaptureError, CapturedOutput, MAX_XFB_STRIDE};
use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::EntryPoint;

/// The outputs of an entry point.
pub struct Outputs<'a> {
    /// The declarations of the module.
    pub declarations: &'a Declarations,
    /// Variables and members of blocks, as the module declares them.
    pub(crate) variables: Vec<InterfaceVariable>,
    /// All scalars, vectors and columns in the variables.
    pub(crate) leaves: Vec<Leaf>,
}

/// A set of outputs with a common numbering of their dwords. A [`Selector`](super::Selector) with a location or a
/// built-in selects dwords by these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// The outputs at all locations. A location has four dwords: those of location 1 have the numbers 4 to 7.
    Locations,
    /// One built-in. Its first dword has the number 0.
    BuiltIn(BuiltIn),
}

/// A scalar, vector or column of an output.
pub(crate) struct Leaf {
    pub(crate) output: CapturedOutput,
    pub(crate) built_in: Option<u32>,
}

impl<'a> Outputs<'a> {
    /// Finds the outputs of an entry point. An output that is larger than the largest record, or whose type cannot be
    /// captured, is in `variables`, but has no scalars, vectors or columns in `leaves`.
    pub fn of(declarations: &'a Declarations, entry: &EntryPoint) -> Self {
        let variables = interface_variables(declarations, entry, StorageClass::Output);
        let mut leaves = Vec::new();
        for variable in &variables {
            let value = CapturedValue {
                buffer: 0,
                // Devices limit all outputs of a vertex together to a quarter of this size (`maxVertexOutputComponents`
                // is 128 on most). Without a limit, to list the elements of an array of thousands would take long.
                stride: MAX_XFB_STRIDE,
                variable: variable.variable,
                path: variable.path.clone(),
                name: variable.name.clone(),
                gl_name: String::new(),
                component: variable.component,
            };
            let (mut outputs, mut varyings) = (Vec::new(), Vec::new());
            let location = variable.location;
            let mut walk = ValueWalk::new(declarations, &mut outputs, &mut varyings, 0, location);
            if walk.capture(variable.type_id, &value).is_ok() {
                let built_in = variable.built_in;
                leaves.extend(outputs.into_iter().map(|output| Leaf { output, built_in }));
            }
        }
        Self { declarations, variables, leaves }
    }

    /// The error for an output that does not exist. `output` is the requested name; the message
    /// also lists the outputs that exist.
    pub(crate) fn missing(&self, output: impl Into<String>) -> CaptureError {
        CaptureError::NoSuchOutput { output: output.into(), found: list_outputs(&self.variables) }
    }

    /// The outputs whose dwords have numbers in `space`, each with the number of its first dword.
    pub fn places(&self, space: Space) -> Vec<(u64, &CapturedOutput)> {
        let mut next = 0;
        let place = |leaf: &'_ Leaf| match (space, leaf.output.location, leaf.built_in) {
            (Space::Locations, Some(location), None) => {
                Some(u64::from(location) * 4 + u64::from(leaf.output.component))
            }
            (Space::BuiltIn(wanted), _, Some(built_in)) if wanted as u32 == built_in => {
                let first = next;
                next += u64::from(leaf.output.dwords());
                Some(first)
            }
            _ => None,
        };
        let firsts: Vec<Option<u64>> = self.leaves.iter().map(place).collect();
        let with_outputs = firsts.into_iter().zip(&self.leaves);
        with_outputs.filter_map(|(first, leaf)| Some((first?, &leaf.output))).collect()
    }
}

/// Finds the output that contains a dword, among the `places` of a [`Space`]. Returns the number of the output's first
/// dword, and the output; `None` if no output contains the dword.
pub fn place_of<'o>(
    places: &[(u64, &'o CapturedOutput)],
    dword: u64,
) -> Option<(u64, &'o CapturedOutput)> {
    let holds = |(first, output): &&(u64, &CapturedOutput)| {
        (*first..*first + u64::from(output.dwords())).contains(&dword)
    };
    places.iter().find(holds).copied()
}
