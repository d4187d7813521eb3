//! The locations that a shader leaves free, where `PrimitiveId` is passed on.

use spirv::{Decoration, ExecutionModel, StorageClass};

use crate::lower::{LowerError, Shader};
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::types::locations_of;

/// Returns the first location that the outputs of a geometry shader leave free, with all locations behind it:
/// [`fragment::lower`](super::fragment::lower) takes it.
///
/// # Errors
/// [`LowerError::Parse`], [`LowerError::Specialization`], [`LowerError::EntryPoint`].
pub fn output_locations(geometry: &Shader<'_>) -> Result<u32, LowerError> {
    let (module, _) = geometry.specialized()?;
    let entry = geometry.later_shader(&module, ExecutionModel::Geometry)?;
    Ok(end_of_locations(&Declarations::of(&module), &entry, StorageClass::Output))
}

/// Returns the first location behind all inputs or outputs of an entry point.
pub(super) fn end_of_locations(
    declarations: &Declarations,
    entry: &EntryPoint,
    storage: StorageClass,
) -> u32 {
    let end = |location: Option<u32>, ty| {
        location.map_or(0, |first| first.saturating_add(locations_of(declarations, ty)))
    };
    let ends = declarations.variables(storage).map(|variable| {
        let ty = variable.pointee;
        let own = declarations.decoration_value(variable.id, Decoration::Location);
        let members = match declarations.ty(ty) {
            Some(Type::Struct { members }) => &members[..],
            _ => &[],
        };
        let of_members = (0..).zip(members).map(|(number, member)| {
            let location = Decoration::Location;
            end(declarations.member_decoration_value(ty, number, location), *member)
        });
        let last = of_members.max().unwrap_or(0).max(end(own, ty));
        if entry.interface.contains(&variable.id) { last } else { 0 }
    });
    ends.max().unwrap_or(0)
}
