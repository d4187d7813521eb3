//! The inputs and outputs that an entry point declares, with their types and the selectors by which a capture list
//! can name them.

use rustc_hash::FxHashMap;
use spirv::{BuiltIn, Decoration, StorageClass};

use super::GlType;
use super::aggregate::size_of;
use crate::spirv::Id;
use crate::spirv::declarations::{Declarations, Variable};
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::types::{block_type, locations_of};

/// The largest number of elements of an array of blocks that are examined; a malicious module may have 2^32.
const MAX_BLOCKS: u32 = 64;

/// The largest number of outputs that an error lists.
const MAX_LISTED: usize = 24;

/// A variable of an entry point's interface, or a member of a block in the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceVariable {
    /// The id of the variable, or of the variable that contains the block.
    pub variable: Id,
    /// The path of constant indices from the variable: `[member]` for a member of a block, `[element, member]` for a
    /// member in an array of blocks. Empty for a variable that is not a block.
    pub path: Vec<u32>,
    /// The name, if the module has names: `variable`, `variable.member`, `variable[1].member`.
    pub name: Option<String>,
    /// The location; `None` for built-ins.
    pub location: Option<u32>,
    /// The first component of the variable in its location, in units of 32 bits.
    pub component: u32,
    /// The built-in as a value of `SpvBuiltIn`; `None` for other variables.
    pub built_in: Option<u32>,
    /// The type in GLSL syntax.
    pub ty: String,
    /// The size in bytes in a record; `None` if the variable cannot be captured.
    pub size: Option<u32>,
    /// A selector that names the variable by its location or built-in: `@3`, `@3.zw` if other
    /// variables share the location, `@Position`. `None` if no selector names exactly this
    /// variable.
    pub selector: Option<String>,
    pub(super) type_id: Id,
}

impl InterfaceVariable {
    /// The name of the built-in in SPIR-V, or its number if it has no name. `None` for other variables.
    pub fn built_in_name(&self) -> Option<String> {
        let name = |which: u32| match BuiltIn::from_u32(which) {
            Some(which) => format!("{which:?}"),
            None => which.to_string(),
        };
        self.built_in.map(name)
    }

    /// The place of the variable in words: its [`selector`](Self::selector), or if there is none
    /// the name of its built-in, "location 0, component 1", or "no location". An array that shares
    /// its locations with other variables, for example, has no selector.
    pub fn place(&self) -> String {
        let Self { selector, location, component, .. } = self;
        match (selector.clone().or_else(|| self.built_in_name()), location) {
            (Some(named), _) => named,
            (None, Some(location)) => format!("location {location}, component {component}"),
            (None, None) => "no location".to_owned(),
        }
    }
}

/// The variables of an entry point's interface in a storage class, `Input` or `Output`, in the order of the module. A
/// block is not listed itself, but its members are.
pub fn interface_variables(
    declarations: &Declarations,
    entry: &EntryPoint,
    storage: StorageClass,
) -> Vec<InterfaceVariable> {
    let mut found = Vec::new();
    for variable in declarations.variables(storage) {
        if entry.interface.contains(&variable.id) {
            add_variable(declarations, variable, &mut found);
        }
    }
    let mut at_location: FxHashMap<u32, u32> = FxHashMap::default();
    for location in found.iter().filter_map(|variable| variable.location) {
        *at_location.entry(location).or_default() += 1;
    }
    for variable in &mut found {
        let sharing = variable.location.and_then(|location| at_location.get(&location));
        variable.selector = selector(declarations, variable, sharing.is_some_and(|n| *n > 1));
    }
    found
}

fn add_variable(
    declarations: &Declarations,
    variable: &Variable,
    found: &mut Vec<InterfaceVariable>,
) {
    let of_variable = |decoration| declarations.decoration_value(variable.id, decoration);
    let value = |path: Vec<u32>, ty, name, location, component, built_in| InterfaceVariable {
        size: size_of(declarations, variable.id, &path, ty).ok().map(|(size, _)| size),
        variable: variable.id,
        path,
        name,
        location,
        component,
        built_in,
        ty: declarations.type_name(ty),
        selector: None,
        type_id: ty,
    };
    let name = declarations.name(variable.id);
    let mut location = of_variable(Decoration::Location);
    let Some(block) = block_type(declarations, variable.pointee) else {
        let built_in = of_variable(Decoration::BuiltIn);
        let component = of_variable(Decoration::Component).unwrap_or(0);
        let name = name.map(str::to_owned);
        found.push(value(vec![], variable.pointee, name, location, component, built_in));
        return;
    };
    let blocks =
        block.length.map(|length| declarations.constant(length).unwrap_or(0).min(MAX_BLOCKS));
    for element in 0..blocks.unwrap_or(1) {
        for (member, ty) in (0u32..).zip(block.members) {
            let of_member =
                |decoration| declarations.member_decoration_value(block.ty, member, decoration);
            // The decorations give the locations of the first element. The locations of the other elements follow those
            // of the first.
            if element == 0 {
                location = of_member(Decoration::Location).or(location);
            }
            let built_in = of_member(Decoration::BuiltIn);
            let component = of_member(Decoration::Component).unwrap_or(0);
            let index = blocks.map_or(String::new(), |_| format!("[{element}]"));
            let name = declarations.member_name(block.ty, member).map(|member| match name {
                Some(name) => format!("{name}{index}.{member}"),
                None => member.to_owned(),
            });
            let path = if blocks.is_some() { vec![element, member] } else { vec![member] };
            let of_value = location.filter(|_| built_in.is_none());
            found.push(value(path, *ty, name, of_value, component, built_in));
            location = location.map(|l| l.saturating_add(locations_of(declarations, *ty)));
        }
    }
}

/// Returns the [`InterfaceVariable::selector`] of a variable, or `None` if no selector names exactly this variable.
/// `shares_location` says whether other variables have the same location.
fn selector(
    declarations: &Declarations,
    variable: &InterfaceVariable,
    shares_location: bool,
) -> Option<String> {
    if let Some(which) = variable.built_in {
        return Some(format!("@{:?}", BuiltIn::from_u32(which)?));
    }
    let location = variable.location?;
    if !shares_location {
        return Some(format!("@{location}"));
    }
    let basic = GlType::of(declarations, variable.type_id).filter(|ty| ty.columns == 1)?;
    let components = Components { first: variable.component, count: basic.rows * basic.bits / 32 };
    Some(format!("@{location}.{}", components.letters()?))
}

/// Consecutive components of a location. In selectors they are letters, from `x` for the first component to `w` for the
/// fourth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Components {
    pub(super) first: u32,
    pub(super) count: u32,
}

impl Components {
    const LETTERS: &str = "xyzw";

    /// Parses `x`, `xy`, `yzw`. Returns `None` unless the components are contiguous and in order.
    pub(super) fn parse(letters: &str) -> Option<Self> {
        let first = Self::LETTERS.find(letters).filter(|_| !letters.is_empty())?;
        Some(Self { first: first as u32, count: letters.len() as u32 })
    }

    fn letters(self) -> Option<&'static str> {
        let (first, end) = (self.first as usize, self.first.checked_add(self.count)? as usize);
        Self::LETTERS.get(first..end)
    }
}

/// Lists outputs for error messages: the name of each output, followed by its [`place`](InterfaceVariable::place).
pub(super) fn list_outputs(outputs: &[InterfaceVariable]) -> String {
    let listed = |output: &InterfaceVariable| match &output.name {
        Some(name) => format!("{name} ({})", output.place()),
        None => output.place(),
    };
    let mut all: Vec<String> = outputs.iter().map(listed).collect();
    let more = all.len().saturating_sub(MAX_LISTED);
    all.truncate(MAX_LISTED);
    if more > 0 {
        all.push(format!("and {more} more"));
    }
    if all.is_empty() { "no outputs".to_owned() } else { all.join(", ") }
}

/// The GLSL name of a built-in that can be captured; `None` for other built-ins.
pub(super) fn glsl_built_in(which: u32) -> Option<&'static str> {
    Some(match BuiltIn::from_u32(which)? {
        BuiltIn::Position => "gl_Position",
        BuiltIn::PointSize => "gl_PointSize",
        BuiltIn::ClipDistance => "gl_ClipDistance",
        BuiltIn::CullDistance => "gl_CullDistance",
        BuiltIn::PrimitiveId => "gl_PrimitiveID",
        BuiltIn::Layer => "gl_Layer",
        BuiltIn::ViewportIndex => "gl_ViewportIndex",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_a_run_of_letters() {
        let of = |first, count| Some(Components { first, count });
        assert_eq!(Components::parse("x"), of(0, 1));
        assert_eq!(Components::parse("yzw"), of(1, 3));
        for wrong in ["", "xz", "yx", "xyzwx", "r", "X"] {
            assert_eq!(Components::parse(wrong), None, "{wrong}");
        }
        assert_eq!(Components { first: 1, count: 2 }.letters(), Some("yz"));
        assert_eq!(Components { first: 2, count: 3 }.letters(), None);
        assert_eq!(Components { first: u32::MAX, count: 3 }.letters(), None);
    }
}
