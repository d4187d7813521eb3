//! Finds outputs by name: `colour`, `block.matrix`, `light[2].position`, `gl_Position`, and by
//! location or built-in: `@3`, `@Position`.
//!
//! A name (`OpName`) may contain dots and brackets: DXC names an output `out.var.COLOR0`, Slang
//! `entryPointParam_main.colour`. The text is therefore not split at its dots. If the text begins with the
//! names of several outputs, the longest name is used for which the rest of the text is empty, or selects a member or
//! an element of the output.

use std::str::FromStr;

use spirv::BuiltIn;

use super::aggregate::size_of;
use super::interface::{Components, InterfaceVariable, glsl_built_in, list_outputs};
use super::outputs::Outputs;
use super::{CaptureError, Selector};
use crate::spirv::Id;
use crate::spirv::declarations::Type;
use crate::spirv::types::block_type;

/// A value that a name selects.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) variable: Id,
    pub(super) path: Vec<u32>,
    pub(super) ty: Id,
    pub(super) location: Option<u32>,
    pub(super) component: u32,
    /// The name in the module, if the value was selected by its location or built-in; otherwise
    /// `None`.
    pub(super) name: Option<String>,
}

impl Outputs<'_> {
    /// Finds the value that a name, a location or a built-in selects. Returns an error if there is none, or if several
    /// outputs have that location or built-in.
    pub(super) fn resolve(&self, name: &str) -> Result<Named, CaptureError> {
        if let Some(found) = self.longest(name, self.named_roots()) {
            return Ok(found);
        }
        match self.at_place(name)?.or_else(|| self.longest(name, self.built_in_roots())) {
            Some(found) => Ok(found),
            None if self.variables.iter().any(|variable| variable.name.is_some()) => {
                Err(self.missing(quoted(name)))
            }
            None if self.variables.is_empty() => {
                Err(CaptureError::NoOutputs { output: quoted(name) })
            }
            None => Err(CaptureError::NoNames {
                output: quoted(name),
                found: list_outputs(&self.variables),
            }),
        }
    }

    /// Parses a name that was passed to
    /// [`CaptureList::from_varyings`](super::CaptureList::from_varyings). Returns a selector, the
    /// size in bytes in a record, and whether the value has 64-bit components.
    pub(super) fn select(&self, text: &str) -> Result<(Selector, u32, bool), CaptureError> {
        let missing = match self.resolve(text) {
            Ok(found) => {
                let (size, wide) =
                    size_of(self.declarations, found.variable, &found.path, found.ty)?;
                return Ok((Selector::Name(text.to_owned()), size, wide));
            }
            Err(error) => error,
        };
        let parts = text.strip_prefix('@').and_then(|place| {
            let (place, components) = place.split_once('.')?;
            Some((place, Components::parse(components)?))
        });
        let Some((place, Components { first: component, count: components })) = parts else {
            return Err(missing);
        };
        let (selector, wide) = if let Ok(location) = place.parse() {
            let is_wide = self
                .leaves
                .iter()
                .any(|leaf| leaf.output.location == Some(location) && leaf.output.bits == 64);
            (Selector::Location { location, component, components }, is_wide)
        } else if let Ok(built_in) = BuiltIn::from_str(place) {
            (Selector::BuiltIn { built_in, component, components }, false)
        } else {
            return Err(missing);
        };
        Ok((selector, components * 4, wide))
    }

    /// Finds the value that `path` selects. `path` begins with the name of a root ([`named_roots`](Self::named_roots)),
    /// the rest of it selects a member or an element of the root. Of several matching roots, the function uses the root
    /// with the longest name, but skips roots for which the rest of `path` is not valid. `None` if no root is left.
    fn longest(&self, path: &str, roots: Vec<(String, Named)>) -> Option<Named> {
        let mut roots: Vec<(&str, Named)> = roots
            .into_iter()
            .filter_map(|(name, root)| Some((rest_behind(path, &name)?, root)))
            .collect();
        // The sort is stable, so of several outputs with the same name the first is found.
        roots.sort_by_key(|(rest, _)| rest.len());
        roots.into_iter().find_map(|(rest, root)| self.follow(root, rest))
    }

    /// The *roots*: all values whose names may be at the start of a path. Roots are variables, blocks, and members of
    /// blocks without an instance name.
    fn named_roots(&self) -> Vec<(String, Named)> {
        let declarations = self.declarations;
        let mut roots = Vec::new();
        let mut last = None;
        for output in &self.variables {
            // The variable itself is added once, before its first member.
            if last.replace(output.variable) != Some(output.variable)
                && let Some(variable) = declarations.variable(output.variable)
            {
                let block = block_type(declarations, variable.pointee);
                let root = self.named(output.variable, vec![], variable.pointee);
                let of_block = block.and_then(|block| declarations.name(block.ty));
                let names = [declarations.name(output.variable), of_block];
                let named = names.into_iter().flatten();
                roots.extend(named.map(|name| (name.to_owned(), root.clone())));
            }
            if output.path.len() == 1
                && let (None, Some(member)) = (declarations.name(output.variable), &output.name)
            {
                roots.push((member.clone(), self.root(output)));
            }
        }
        roots
    }

    /// Built-ins by their GLSL names, which are found even if the module uses other names.
    fn built_in_roots(&self) -> Vec<(String, Named)> {
        let root = |output: &InterfaceVariable| {
            Some((glsl_built_in(output.built_in?)?.to_owned(), self.root(output)))
        };
        self.variables.iter().filter_map(root).collect()
    }

    /// Finds the value that `@3`, `@3[1].member` or `@Position` selects. `Ok(None)` if `text` has none of these forms,
    /// selects components (`@3.xy`), or selects a value that does not exist. Returns an error if several outputs have
    /// that location or built-in, and `text` selects no part of it.
    fn at_place(&self, text: &str) -> Result<Option<Named>, CaptureError> {
        let Some(text) = text.strip_prefix('@') else { return Ok(None) };
        let (place, rest) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
        let found: Vec<&InterfaceVariable> = match (place.parse(), BuiltIn::from_str(place)) {
            (Ok(location), _) => self
                .variables
                .iter()
                .filter(|output| output.built_in.is_none() && output.location == Some(location))
                .collect(),
            (_, Ok(built_in)) => self
                .variables
                .iter()
                .filter(|output| output.built_in == Some(built_in as u32))
                .collect(),
            _ => return Ok(None),
        };
        match found.as_slice() {
            [only] => Ok(self.follow(self.root(only), rest).map(|found| {
                let name = only.name.as_ref().map(|name| format!("{name}{rest}"));
                Named { name, ..found }
            })),
            // `rest` may select components, such as `.xy`, of a location that several outputs share; or there is no
            // output that begins at the location.
            [] | [_, ..] if !rest.is_empty() => Ok(None),
            // The location may belong to a column or an element of a value that begins at a lower
            // location.
            [] => Ok(place.parse().ok().and_then(|location| self.leaf_at(location))),
            [_, ..] => {
                let found: Vec<InterfaceVariable> = found.into_iter().cloned().collect();
                Err(CaptureError::SeveralOutputs {
                    output: format!("@{text}"),
                    found: list_outputs(&found),
                })
            }
        }
    }

    fn leaf_at(&self, location: u32) -> Option<Named> {
        let is_there = |output: &&super::CapturedOutput| output.location == Some(location);
        let leaf = self.leaves.iter().map(|leaf| &leaf.output).find(is_there)?;
        let variable = self.declarations.variable(leaf.variable)?;
        let ty = self.declarations.type_at(variable.pointee, &leaf.path)?;
        let named = self.named(leaf.variable, leaf.path.clone(), ty);
        Some(Named { name: leaf.name.clone(), ..named })
    }

    fn root(&self, output: &InterfaceVariable) -> Named {
        self.named(output.variable, output.path.clone(), output.type_id)
    }

    /// Describes a value, with the location and component of the first scalar, vector or matrix column in it.
    fn named(&self, variable: Id, path: Vec<u32>, ty: Id) -> Named {
        let leaves = self.leaves.iter().map(|leaf| &leaf.output);
        let mut within =
            leaves.filter(|output| output.variable == variable && output.path.starts_with(&path));
        let first = within.next();
        Named {
            location: first.and_then(|output| output.location),
            component: first.map_or(0, |output| output.component),
            name: None,
            variable,
            path,
            ty,
        }
    }

    /// Selects a member or an element of a value by `.member` and `[element]`. `None` if the value does not contain it.
    fn follow(&self, root: Named, mut rest: &str) -> Option<Named> {
        let declarations = self.declarations;
        let Named { variable, mut path, mut ty, .. } = root;
        while !rest.is_empty() {
            let index = if let Some(member) = rest.strip_prefix('.') {
                let (index, behind) = self.member(ty, member)?;
                rest = behind;
                index
            } else {
                let (index, behind) = rest.strip_prefix('[')?.split_once(']')?;
                let Some(Type::Array { length, .. }) = declarations.ty(ty) else { return None };
                let length = declarations.constant(*length)?;
                rest = behind;
                index.parse().ok().filter(|index| *index < length)?
            };
            path.push(index);
            ty = declarations.type_at(ty, &[index])?;
        }
        Some(self.named(variable, path, ty))
    }

    /// Finds the member of a structure with whose name `path` begins. If there are several, the member with the longest
    /// name is used. Returns the member's number and the rest of `path`. A member without a name is named by its
    /// number. `None` if there is no such member, or if the type is not a structure.
    fn member<'p>(&self, ty: Id, path: &'p str) -> Option<(u32, &'p str)> {
        let Some(Type::Struct { members }) = self.declarations.ty(ty) else { return None };
        let matching = (0u32..).zip(members).filter_map(|(member, _)| {
            let rest = match self.declarations.member_name(ty, member) {
                Some(name) => rest_behind(path, name),
                None => rest_behind(path, &member.to_string()),
            };
            Some((member, rest?))
        });
        matching.min_by_key(|(_, rest)| rest.len())
    }
}

fn quoted(name: &str) -> String {
    format!("'{name}'")
}

/// Returns the rest of a path after a name: empty, `.member` or `[element]`. Returns `None` if the
/// path does not begin with the name.
fn rest_behind<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    path.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_where_a_path_goes_on() {
        assert_eq!(rest_behind("a", "a"), Some(""));
        assert_eq!(rest_behind("a.b[2]", "a"), Some(".b[2]"));
        assert_eq!(rest_behind("a.b[2]", "a.b"), Some("[2]"));
        assert_eq!(rest_behind("ab", "a"), None);
        assert_eq!(rest_behind("a", "ab"), None);
    }
}
