//! This module lists the *leaves* of a variable that one stage passes to the next: the scalars and
//! vectors that it consists of, and the locations or built-ins by which they match.
//!
//! Outputs and inputs match by location and component, or by built-in ([interface
//! matching](https://docs.vulkan.org/spec/latest/chapters/interfaces.html#interfaces-iointerfaces-matching)).
//! Elements of arrays, columns of matrices and members of structures have consecutive locations.

use spirv::Decoration;

use crate::lower::LowerError;
use crate::lower::inputs::parts::{Constituents, constituents};
use crate::spirv::Id;
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::types::{MAX_STEPS, numeric_vector};

/// A scalar or a vector in a variable.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    pub(super) variable: Id,
    /// The constant indices that select the value in the variable. In an array with one element per
    /// vertex, they do not include the index of the vertex.
    pub(super) path: Vec<u32>,
    pub(super) ty: Id,
    /// The component size in bits, 32 or 64.
    pub(super) bits: u32,
    /// The number of components, 1 to 4.
    pub(super) count: u32,
    place: LeafPlace,
}

/// The location or built-in of a value.
#[derive(Debug, Clone, Copy)]
enum LeafPlace {
    Location {
        location: u32,
        /// The number of the value's first dword in its location, 0 to 3.
        component: u32,
    },
    BuiltIn {
        which: u32,
        /// The index of the value in an array such as `ClipDistance`; 0 for other built-ins.
        element: u32,
    },
}

/// The location or built-in of one component. An output component of a stage is passed to the input component of the
/// next stage that has the same `Slot`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Slot {
    /// The location, and the number of the component's first dword in it.
    Location(u32, u32),
    /// The built-in, the index of an element if it is an array, and the number of a component if it
    /// is a vector.
    BuiltIn(u32, u32, u32),
}

impl Leaf {
    /// Returns the leaf (a scalar or vector in a variable) for component `index` of this vector. `ty` is the type of
    /// the component.
    pub(super) fn component(&self, index: u32, ty: Id) -> Self {
        let mut component = Self { ty, count: 1, ..self.clone() };
        component.path.push(index);
        component
    }

    /// Returns the location or built-in of a component.
    pub(super) fn slot(&self, component: u32) -> Slot {
        match self.place {
            LeafPlace::Location { location, component: first } => {
                let dword = first + component * self.bits / 32;
                Slot::Location(location + dword / 4, dword % 4)
            }
            LeafPlace::BuiltIn { which, element } => Slot::BuiltIn(which, element, component),
        }
    }
}

/// Returns the leaves (scalars and vectors) of a variable. If `is_per_vertex` is true, the variable is an array with
/// one element per vertex, like the inputs of geometry shaders, and the leaves are those of one element.
///
/// # Errors
/// [`LowerError::PassedType`], [`LowerError::NoLocation`].
pub(super) fn leaves(
    declarations: &Declarations,
    variable: &Variable,
    is_per_vertex: bool,
) -> Result<Vec<Leaf>, LowerError> {
    let mut walk =
        LeafWalk { declarations, variable, leaves: Vec::new(), path: Vec::new(), steps: 0 };
    let ty = match (is_per_vertex, declarations.ty(variable.pointee)) {
        (false, _) => variable.pointee,
        (true, Some(Type::Array { element, .. })) => *element,
        (true, _) => return Err(walk.unsupported()),
    };
    let of = |decoration| declarations.decoration_value(variable.id, decoration);
    let component = of(Decoration::Component).unwrap_or(0);
    let place = match of(Decoration::BuiltIn) {
        Some(which) => Some(LeafPlace::BuiltIn { which, element: 0 }),
        None => {
            of(Decoration::Location).map(|location| LeafPlace::Location { location, component })
        }
    };
    walk.add(ty, place, true)?;
    Ok(walk.leaves)
}

struct LeafWalk<'d> {
    declarations: &'d Declarations,
    variable: &'d Variable,
    leaves: Vec<Leaf>,
    path: Vec<u32>,
    steps: u32,
}

impl LeafWalk<'_> {
    fn unsupported(&self) -> LowerError {
        LowerError::PassedType {
            variable: self.declarations.label(self.variable.id),
            ty: self.declarations.type_name(self.variable.pointee),
        }
    }

    /// Adds the leaves (scalars and vectors) of a value to the list. Returns the location (or index in a built-in
    /// array) after the value. `is_first` is false in the second and later elements of an array of structures: the
    /// members of these elements take the locations after the previous element, although the structure may declare
    /// locations.
    fn add(
        &mut self,
        ty: Id,
        place: Option<LeafPlace>,
        is_first: bool,
    ) -> Result<Option<LeafPlace>, LowerError> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(self.unsupported());
        }
        let declarations = self.declarations;
        if let Some((_, bits, count)) = numeric_vector(declarations, ty) {
            let place = place.ok_or_else(|| LowerError::NoLocation {
                variable: declarations.label(self.variable.id),
            })?;
            let (variable, path) = (self.variable.id, self.path.clone());
            self.leaves.push(Leaf { variable, path, ty, bits, count, place });
            return Ok(Some(place.after(count * bits / 32)));
        }
        let constituents = constituents(declarations, ty).ok_or_else(|| self.unsupported())?;
        let mut next = place;
        match constituents {
            Constituents::Same(element, count) => {
                for index in 0..count {
                    next = self.add_at(index, element, next, is_first && index == 0)?;
                }
            }
            Constituents::Members(members) => {
                for (index, member) in (0..).zip(members) {
                    let own = self
                        .place_of_member(ty, index)
                        .filter(|place| is_first || matches!(place, LeafPlace::BuiltIn { .. }));
                    let after = self.add_at(index, *member, own.or(next), is_first)?;
                    // A member that is a built-in takes no location.
                    if !matches!(own, Some(LeafPlace::BuiltIn { .. })) {
                        next = after;
                    }
                }
            }
        }
        Ok(next)
    }

    fn add_at(
        &mut self,
        index: u32,
        ty: Id,
        place: Option<LeafPlace>,
        is_first: bool,
    ) -> Result<Option<LeafPlace>, LowerError> {
        self.path.push(index);
        let after = self.add(ty, place, is_first);
        self.path.pop();
        after
    }

    /// Returns the location or built-in with which a member is decorated; `None` if it has neither.
    fn place_of_member(&self, ty: Id, member: u32) -> Option<LeafPlace> {
        let of = |decoration| self.declarations.member_decoration_value(ty, member, decoration);
        if let Some(which) = of(Decoration::BuiltIn) {
            return Some(LeafPlace::BuiltIn { which, element: 0 });
        }
        let component = of(Decoration::Component).unwrap_or(0);
        of(Decoration::Location).map(|location| LeafPlace::Location { location, component })
    }
}

impl LeafPlace {
    /// Returns the [`LeafPlace`] (location or built-in) after a value of `dwords` dwords at this place, in the same
    /// array or structure: one location later, or two if the value has more than four dwords, at the same component.
    /// For a built-in, returns the next element of the array.
    fn after(self, dwords: u32) -> Self {
        match self {
            Self::Location { location, component } => {
                let location = location.saturating_add(dwords.div_ceil(4).max(1));
                Self::Location { location, component }
            }
            Self::BuiltIn { which, element } => Self::BuiltIn { which, element: element + 1 },
        }
    }
}
