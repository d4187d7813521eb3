//! This module finds the *parts* of an input variable: the scalars and vectors that it consists of,
//! each with its location.
//!
//! Elements of arrays, columns of matrices and members of structures have consecutive locations. A
//! vector of more than four dwords has two locations ([location and component
//! assignment](https://docs.vulkan.org/spec/latest/chapters/interfaces.html#interfaces-iointerfaces-locations)).
//! GLSL does not allow structures as inputs of vertex shaders, but Slang wraps matrices in
//! structures.

use spirv::Decoration;

use crate::lower::{LowerError, MAX_INPUT_LOCATIONS};
use crate::spirv::Id;
use crate::spirv::NumericClass;
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::types::numeric_vector;

/// The largest number of types that are visited for one variable. Nested structures could otherwise
/// be visited exponentially often.
const MAX_STEPS: u32 = 1 << 12;

/// A scalar or a vector in an input variable.
#[derive(Debug, Clone, Copy)]
pub(in crate::lower) struct InputPart<'v> {
    pub(in crate::lower) variable: &'v Variable,
    pub(in crate::lower) ty: Id,
    pub(in crate::lower) class: NumericClass,
    /// The component size in bits, 32 or 64.
    pub(in crate::lower) bits: u32,
    /// The number of components, 1 to 4.
    pub(in crate::lower) count: u32,
    pub(in crate::lower) location: u32,
    /// The number of the part's first dword in its location, 0 to 3.
    pub(in crate::lower) component: u32,
}

/// The types of the constituents of a composite type: columns, elements or members.
pub(in crate::lower) enum Constituents<'a> {
    /// The type of all constituents (columns or elements), and their number.
    Same(Id, u32),
    /// The type of each member.
    Members(&'a [Id]),
}

/// Returns the columns of a matrix, the elements of an array or the members of a structure. `None`
/// for other types, and for arrays without a known length.
pub(in crate::lower) fn constituents(
    declarations: &Declarations,
    ty: Id,
) -> Option<Constituents<'_>> {
    Some(match declarations.ty(ty)? {
        Type::Matrix { column, count } => Constituents::Same(*column, *count),
        Type::Array { element, length } => {
            Constituents::Same(*element, declarations.constant(*length)?)
        }
        Type::Struct { members } => Constituents::Members(members),
        _ => return None,
    })
}

/// The location and component at which a value of an input begins.
#[derive(Debug, Clone, Copy)]
struct InputLocation {
    location: u32,
    /// The number of the value's first dword in its location, 0 to 3.
    component: u32,
}

/// Returns the parts of an input that is not a built-in, in the order in which they occur in its
/// type. All locations are below [`MAX_INPUT_LOCATIONS`].
///
/// # Errors
/// [`LowerError::NoLocation`], [`LowerError::LocationLimit`], [`LowerError::InputType`].
pub(in crate::lower) fn parts<'v>(
    declarations: &Declarations,
    variable: &'v Variable,
) -> Result<Vec<InputPart<'v>>, LowerError> {
    let mut walk = PartWalk { declarations, variable, parts: Vec::new() };
    let of_variable = |decoration| declarations.decoration_value(variable.id, decoration);
    let location = of_variable(Decoration::Location);
    let component = of_variable(Decoration::Component).unwrap_or(0);
    let no_location = || LowerError::NoLocation { variable: walk.label() };
    let (ty, mut next) = (variable.pointee, location);
    let members = match declarations.ty(ty) {
        Some(Type::Struct { members }) => members.as_slice(),
        _ => {
            let place = InputLocation { location: location.ok_or_else(no_location)?, component };
            walk.add_all(ty, place)?;
            return Ok(walk.parts);
        }
    };
    // Members of a block may have the decoration `Location`. A member without it follows the
    // previous member.
    for (member, ty) in (0u32..).zip(members) {
        let of_member =
            |decoration| declarations.member_decoration_value(variable.pointee, member, decoration);
        let location = of_member(Decoration::Location).or(next);
        let location = location.ok_or_else(|| LowerError::NoLocation { variable: walk.label() })?;
        let component = of_member(Decoration::Component).unwrap_or(component);
        next = Some(walk.add_all(*ty, InputLocation { location, component })?);
    }
    if walk.parts.is_empty() {
        return Err(walk.unsupported());
    }
    Ok(walk.parts)
}

struct PartWalk<'d, 'v> {
    declarations: &'d Declarations,
    variable: &'v Variable,
    parts: Vec<InputPart<'v>>,
}

impl PartWalk<'_, '_> {
    fn label(&self) -> String {
        self.declarations.label(self.variable.id)
    }

    fn unsupported(&self) -> LowerError {
        let ty = self.declarations.type_name(self.variable.pointee);
        LowerError::InputType { variable: self.label(), ty }
    }

    /// Adds the parts (scalars and vectors) of a value of type `ty` to the list. `place` is the location of the value.
    /// Returns the location after the value, or an error if the type is not supported or the location too high.
    fn add_all(&mut self, ty: Id, place: InputLocation) -> Result<u32, LowerError> {
        let locations = locations(self.declarations, ty, place.component, &mut 0);
        let locations = locations.ok_or_else(|| self.unsupported())?;
        let last = u64::from(place.location).saturating_add(locations - 1);
        if last >= u64::from(MAX_INPUT_LOCATIONS) {
            let max = MAX_INPUT_LOCATIONS;
            return Err(LowerError::LocationLimit { variable: self.label(), last, max });
        }
        Ok(self.add(ty, place))
    }

    /// Adds the parts (scalars and vectors) of a value of type `ty` to the list, and returns the location after the
    /// value. [`locations`] must have accepted the type. The location is not checked.
    fn add(&mut self, ty: Id, InputLocation { location, component }: InputLocation) -> u32 {
        let variable = self.variable;
        if let Some((class, bits, count)) = numeric_vector(self.declarations, ty) {
            self.parts.push(InputPart { variable, ty, class, bits, count, location, component });
            return location + (count * bits / 32).div_ceil(4);
        }
        let place = |location| InputLocation { location, component };
        match constituents(self.declarations, ty) {
            Some(Constituents::Same(ty, count)) => {
                (0..count).fold(location, |location, _| self.add(ty, place(location)))
            }
            Some(Constituents::Members(members)) => {
                members.iter().fold(location, |location, ty| self.add(*ty, place(location)))
            }
            None => location,
        }
    }
}

/// Returns the number of locations that a value takes, at least one. `None` if an input of this
/// type is not supported at component `component`, or if more than [`MAX_STEPS`] types were
/// visited. `steps` is the number of types that were visited before.
fn locations(declarations: &Declarations, ty: Id, component: u32, steps: &mut u32) -> Option<u64> {
    *steps += 1;
    if *steps > MAX_STEPS {
        return None;
    }
    if let Some((_, bits, count)) = numeric_vector(declarations, ty) {
        let dwords = count * bits / 32;
        let is_aligned = component.is_multiple_of(bits / 32);
        // A type with two locations must begin at component 0.
        let fits = component.saturating_add(dwords) <= 4 || (component == 0 && dwords <= 8);
        return Some(dwords.div_ceil(4).into()).filter(|_| is_aligned && fits);
    }
    let locations = match constituents(declarations, ty)? {
        Constituents::Same(ty, count) => {
            locations(declarations, ty, component, steps)?.saturating_mul(count.into())
        }
        Constituents::Members(members) => members.iter().try_fold(0, |sum: u64, ty| {
            Some(sum.saturating_add(locations(declarations, *ty, component, steps)?))
        })?,
    };
    Some(locations).filter(|locations| *locations > 0)
}
