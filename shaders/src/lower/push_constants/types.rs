//! This module checks the types of push constants, which become `Private` variables.
//!
//! With the capabilities `StoragePushConstant8` and `StoragePushConstant16`, a block may have
//! members of 8 and 16 bits, which may only be loaded and converted. In other storage classes, such
//! types require arithmetic capabilities, which not all devices support. Without these
//! capabilities, the `Private` variable gets 32-bit types instead.

use rustc_hash::FxHashSet;
use spirv::StorageClass;

use crate::lower::LowerError;
use crate::lower::widen::{arithmetic, has_capability};
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::{Id, Module};

/// Checks all types in a variable. Returns whether some of them are only allowed in push constants,
/// because the module has no arithmetic capability for them.
///
/// # Errors
/// [`LowerError::PushConstantType`]
pub(super) fn check(
    module: &Module,
    declarations: &Declarations,
    variable: &Variable,
) -> Result<bool, LowerError> {
    let (seen, is_only_moved) = (FxHashSet::default(), false);
    let mut check = Check { module, declarations, variable, seen, is_only_moved };
    check.visit(variable.pointee, &mut Vec::new())?;
    Ok(check.is_only_moved)
}

/// The name of a value in messages, such as `'lights[0].colour' of 'params' (%12)`.
pub(in crate::lower) fn place_label(
    declarations: &Declarations,
    variable: &Variable,
    path: &[u32],
) -> String {
    let (mut ty, mut name) = (variable.pointee, String::new());
    for index in path {
        let part = match declarations.ty(ty) {
            Some(Type::Struct { .. }) => {
                let dot = if name.is_empty() { "" } else { "." };
                let member = declarations.member_name(ty, *index);
                member.map_or_else(|| format!("{dot}{index}"), |member| format!("{dot}{member}"))
            }
            _ => format!("[{index}]"),
        };
        name.push_str(&part);
        ty = declarations.type_at(ty, &[*index]).unwrap_or(ty);
    }
    let variable = declarations.label(variable.id);
    if name.is_empty() { variable } else { format!("'{name}' of {variable}") }
}

struct Check<'a> {
    module: &'a Module,
    declarations: &'a Declarations,
    variable: &'a Variable,
    seen: FxHashSet<Id>,
    is_only_moved: bool,
}

impl Check<'_> {
    /// Checks a type and the types of its components, elements and members. `path` is the path to the first value of
    /// this type in the variable, for messages.
    fn visit(&mut self, ty: Id, path: &mut Vec<u32>) -> Result<(), LowerError> {
        if !self.seen.insert(ty) {
            return Ok(());
        }
        let declarations = self.declarations;
        match declarations.ty(ty) {
            Some(Type::Int { width: 32 | 64, .. } | Type::Float { width: 32 | 64 }) => Ok(()),
            Some(scalar @ (Type::Int { width: 8 | 16, .. } | Type::Float { width: 16 })) => {
                let needed = arithmetic(scalar);
                self.is_only_moved |=
                    needed.is_some_and(|needed| !has_capability(self.module, needed));
                Ok(())
            }
            Some(Type::Vector { component: part, .. } | Type::Matrix { column: part, .. }) => {
                self.visit(*part, path)
            }
            Some(Type::Array { element, .. }) => {
                path.push(0);
                self.visit(*element, path)?;
                path.pop();
                Ok(())
            }
            Some(Type::Struct { members }) => {
                for (index, member) in (0..).zip(members) {
                    path.push(index);
                    self.visit(*member, path)?;
                    path.pop();
                }
                Ok(())
            }
            Some(Type::Pointer { storage, .. })
                if *storage == StorageClass::PhysicalStorageBuffer as u32 =>
            {
                Ok(())
            }
            _ => Err(LowerError::PushConstantType {
                member: place_label(declarations, self.variable, path),
                ty: declarations.type_name(ty),
            }),
        }
    }
}
