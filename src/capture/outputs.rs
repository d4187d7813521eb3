//! Everything that an entry point puts out, to be found by place or by name.

use spirv::{BuiltIn, Decoration, StorageClass};

use super::aggregate::{Place, Walk};
use super::types::{block_type, describe, locations_of};
use super::{CaptureError, MAX_XFB_STRIDE, Output};
use crate::spirv::Id;
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::entry_point::EntryPoint;

/// A value that a name leads to.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) variable: Id,
    pub(super) path: Vec<u32>,
    pub(super) ty: Id,
    pub(super) location: Option<u32>,
    pub(super) component: u32,
}

/// Every scalar, vector and column that an entry point puts out.
pub(super) struct Outputs<'a> {
    pub(super) declarations: &'a Declarations,
    variables: Vec<Variable>,
    pub(super) leaves: Vec<Leaf>,
}

/// Where dwords of outputs are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    /// Through the locations, four each.
    Locations,
    /// From a built-in's first component on.
    BuiltIn(BuiltIn),
}

/// A scalar, vector or column.
pub(super) struct Leaf {
    pub(super) output: Output,
    pub(super) built_in: Option<u32>,
}

impl<'a> Outputs<'a> {
    /// Reads the outputs of an entry point. What cannot be captured is left out.
    pub(super) fn of(declarations: &'a Declarations, entry: &EntryPoint) -> Self {
        let variables: Vec<Variable> = declarations
            .variables(StorageClass::Output)
            .filter(|variable| entry.interface.contains(&variable.id))
            .copied()
            .collect();
        let mut this = Self { declarations, variables: variables.clone(), leaves: Vec::new() };
        for variable in &variables {
            this.add_variable(variable);
        }
        this
    }

    fn add_variable(&mut self, variable: &Variable) {
        let first = |parameters: &[u32]| parameters.first().copied().unwrap_or(0);
        let of_variable =
            |decoration| self.declarations.decoration(variable.id, decoration).map(first);
        let location = of_variable(Decoration::Location);
        let component = of_variable(Decoration::Component).unwrap_or(0);
        let name = self.declarations.name(variable.id).map(str::to_owned);
        let Some(block) = block_type(self.declarations, variable.pointee) else {
            let built_in = of_variable(Decoration::BuiltIn);
            self.add(variable, vec![], variable.pointee, name, location, component, built_in);
            return;
        };
        let mut location = location;
        for element in 0..block.length.map_or(1, |length| length.unwrap_or(0)).min(64) {
            for (member, ty) in (0u32..).zip(block.members) {
                let of_member = |decoration| {
                    self.declarations.member_decoration(block.ty, member, decoration).map(first)
                };
                if element == 0 {
                    location = of_member(Decoration::Location).or(location);
                }
                let built_in = of_member(Decoration::BuiltIn);
                let component = of_member(Decoration::Component).unwrap_or(0);
                let member_name = self.declarations.member_name(block.ty, member);
                let index = block.length.map_or(String::new(), |_| format!("[{element}]"));
                let name = member_name.map(|member_name| match &name {
                    Some(name) => format!("{name}{index}.{member_name}"),
                    None => member_name.to_owned(),
                });
                let mut path = vec![member];
                if block.length.is_some() {
                    path.insert(0, element);
                }
                let of_value = location.filter(|_| built_in.is_none());
                self.add(variable, path, *ty, name, of_value, component, built_in);
                location = location.map(|l| l.saturating_add(locations_of(self.declarations, *ty)));
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "what a value is, in full")]
    fn add(
        &mut self,
        variable: &Variable,
        path: Vec<u32>,
        ty: Id,
        name: Option<String>,
        location: Option<u32>,
        component: u32,
        built_in: Option<u32>,
    ) {
        let place = Place {
            buffer: 0,
            // As long as all locations that any device has.
            stride: 1 << 16,
            variable: variable.id,
            path,
            name,
            gl_name: String::new(),
            component,
        };
        let (mut outputs, mut varyings) = (Vec::new(), Vec::new());
        let mut walk = Walk::new(self.declarations, &mut outputs, &mut varyings, 0, location);
        if walk.capture(ty, &place).is_ok() {
            self.leaves.extend(outputs.into_iter().map(|output| Leaf { output, built_in }));
        }
    }

    /// The outputs of a space, each with its first dword.
    pub(super) fn places(&self, space: Space) -> Vec<(u64, &Output)> {
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

    /// Follows a name from a variable, or a member of a block without instance name, through members and
    /// elements.
    pub(super) fn resolve(&self, name: &str) -> Result<Named, CaptureError> {
        let missing = || CaptureError::NoSuchOutput { output: format!("'{name}'") };
        let mut steps = Step::parse(name).ok_or_else(missing)?.into_iter();
        let Some(Step::Member(first)) = steps.next() else { return Err(missing()) };
        let declarations = self.declarations;
        if self.variables.iter().all(|v| !self.has_names(v)) {
            return Err(CaptureError::NoNames { output: format!("'{name}'") });
        }
        let of_variable = |id, decoration| {
            let parameters: Option<&[u32]> = declarations.decoration(id, decoration);
            parameters.and_then(|p| p.first().copied())
        };
        let mut found = None;
        for variable in &self.variables {
            let block = block_type(declarations, variable.pointee);
            let member = block.as_ref().filter(|b| b.length.is_none()).and_then(|block| {
                (0u32..).zip(block.members).find_map(|(member, ty)| {
                    let matches = declarations.member_name(block.ty, member) == Some(first);
                    matches.then_some((member, *ty))
                })
            });
            let is_variable = declarations.name(variable.id) == Some(first);
            let is_block_name =
                block.as_ref().is_some_and(|block| declarations.name(block.ty) == Some(first));
            let location = of_variable(variable.id, Decoration::Location);
            let component = of_variable(variable.id, Decoration::Component).unwrap_or(0);
            let variable_id = variable.id;
            if is_variable || is_block_name {
                let (path, ty) = (vec![], variable.pointee);
                found = Some(Named { variable: variable_id, path, ty, location, component });
                break;
            }
            if let (Some((member, ty)), None) = (member, declarations.name(variable.id)) {
                let path = vec![member];
                let location = self.location_of(variable_id, &path);
                found = Some(Named { variable: variable_id, path, ty, location, component });
                break;
            }
        }
        let mut found = found.ok_or_else(missing)?;
        for step in steps {
            let index = match (step, declarations.ty(found.ty)) {
                (Step::Member(member), Some(Type::Struct { members })) => (0u32..)
                    .zip(members)
                    .map(|(i, _)| i)
                    .find(|i| declarations.member_name(found.ty, *i) == Some(member)),
                (Step::Index(index), Some(Type::Array { length, .. })) => {
                    declarations.constant(*length).filter(|n| index < *n).map(|_| index)
                }
                _ => None,
            };
            let index = index.ok_or_else(missing)?;
            found.path.push(index);
            found.ty = declarations.type_at(found.ty, &[index]).ok_or_else(missing)?;
            found.location = self.location_of(found.variable, &found.path);
        }
        Ok(found)
    }

    /// The location of the first piece of a value.
    fn location_of(&self, variable: Id, path: &[u32]) -> Option<u32> {
        let first = self
            .leaves
            .iter()
            .find(|leaf| leaf.output.variable == variable && leaf.output.path.starts_with(path))?;
        first.output.location
    }

    fn has_names(&self, variable: &Variable) -> bool {
        self.declarations.name(variable.id).is_some()
            || block_type(self.declarations, variable.pointee)
                .is_some_and(|block| self.declarations.member_name(block.ty, 0).is_some())
    }

    /// Bytes that a value takes in a record, and whether it has 64-bit components.
    pub(super) fn size_of(&self, named: &Named) -> Result<(u32, bool), CaptureError> {
        let place = Place {
            buffer: 0,
            stride: MAX_XFB_STRIDE,
            variable: named.variable,
            path: named.path.clone(),
            name: None,
            gl_name: String::new(),
            component: 0,
        };
        let (mut outputs, mut varyings) = (Vec::new(), Vec::new());
        let mut walk = Walk::new(self.declarations, &mut outputs, &mut varyings, 0, None);
        walk.capture(named.ty, &place)?;
        let size = walk.offset();
        if size == 0 {
            return Err(CaptureError::UnsupportedType {
                output: named.variable.to_string(),
                ty: describe(self.declarations, named.ty),
            });
        }
        Ok((size, outputs.iter().any(|o| o.bits == 64)))
    }
}

/// The place that holds a dword: its first dword, and the output.
pub(super) fn place_of<'o>(places: &[(u64, &'o Output)], dword: u64) -> Option<(u64, &'o Output)> {
    let holds = |(first, output): &&(u64, &Output)| {
        (*first..*first + u64::from(output.dwords())).contains(&dword)
    };
    places.iter().find(holds).copied()
}

/// A part of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step<'a> {
    Member(&'a str),
    Index(u32),
}

impl<'a> Step<'a> {
    /// `a.b[2].c` as its parts.
    fn parse(name: &'a str) -> Option<Vec<Self>> {
        let mut steps = Vec::new();
        for part in name.split('.') {
            let (member, mut indices) = part.split_at(part.find('[').unwrap_or(part.len()));
            if member.is_empty() {
                return None;
            }
            steps.push(Self::Member(member));
            while !indices.is_empty() {
                let (index, rest) = indices.strip_prefix('[')?.split_once(']')?;
                steps.push(Self::Index(index.parse().ok()?));
                indices = rest;
            }
        }
        Some(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        use Step::{Index, Member};
        assert_eq!(Step::parse("a"), Some(vec![Member("a")]));
        assert_eq!(
            Step::parse("a.b[2][3].c"),
            Some(vec![Member("a"), Member("b"), Index(2), Index(3), Member("c")])
        );
        for wrong in ["", ".a", "a.", "a[", "a[x]", "a[1", "a]1["] {
            assert!(Step::parse(wrong).is_none() || wrong == "a]1[", "{wrong}");
        }
    }
}
