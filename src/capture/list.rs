//! Explicit lists: what is captured of a shader that does not say so itself.
//!
//! A [`CaptureList`] names outputs by location, by built-in or by name, each with its place in a record.
//! [`varyings`](super::varyings) makes one of what OpenGL's `glTransformFeedbackVaryings` takes.

use std::collections::BTreeSet;

use spirv::{BuiltIn, Decoration, StorageClass};

use super::aggregate::{Place, Walk, locations_of};
use super::decorations::{block_type, describe};
use super::{CaptureError, GlType, Layout, MAX_XFB_BUFFERS, MAX_XFB_STRIDE, Output, Varying};
use crate::spirv::Id;
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::entry_point::EntryPoint;

/// Which output.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Selector {
    /// 32-bit components of a location.
    Location {
        /// `Location`
        location: u32,
        /// First of its four components.
        component: u32,
        /// How many; they may run on into the locations behind.
        components: u32,
    },
    /// 32-bit components of a built-in: of `gl_Position`, of `gl_ClipDistance[]`.
    BuiltIn {
        /// `SpvBuiltIn`
        built_in: BuiltIn,
        /// First component; of an array of floats, the first element.
        component: u32,
        /// How many.
        components: u32,
    },
    /// A variable, member or element by its name: `colour`, `block.matrix`, `light[2].position`.
    Name(String),
}

/// A captured output.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Capture {
    /// Which.
    pub selector: Selector,
    /// Capture buffer, below [`MAX_XFB_BUFFERS`].
    pub buffer: u32,
    /// Bytes from the start of the vertex's record, a multiple of 4.
    pub offset: u32,
}

/// What is captured, and how long the records are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct CaptureList {
    /// The outputs, in any order.
    pub captures: Vec<Capture>,
    /// Bytes of a vertex's record in each buffer that something is captured to.
    pub strides: [Option<u32>; MAX_XFB_BUFFERS],
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Location { location, component, components } => {
                write!(f, "location {location}, {components} components from {component} on")
            }
            Self::BuiltIn { built_in, component, components } => {
                write!(f, "{built_in:?}, {components} components from {component} on")
            }
            Self::Name(name) => write!(f, "'{name}'"),
        }
    }
}

impl Layout {
    /// What a list captures of `entry`'s outputs, whatever the module's decorations say.
    ///
    /// # Errors
    /// [`CaptureError`]: an output that is not there, strides or offsets out of their limits, outputs
    /// that overlap.
    pub fn from_list(
        declarations: &Declarations,
        entry: &EntryPoint,
        list: &CaptureList,
    ) -> Result<Self, CaptureError> {
        let outputs = Outputs::of(declarations, entry);
        let mut layout = Self::default();
        for capture in &list.captures {
            layout.add_capture(&outputs, capture, list)?;
        }
        layout.finish()
    }

    fn add_capture(
        &mut self,
        outputs: &Outputs<'_>,
        capture: &Capture,
        list: &CaptureList,
    ) -> Result<(), CaptureError> {
        let Capture { selector, buffer, offset } = capture;
        let (buffer, offset) = (*buffer, *offset);
        let output = selector.to_string();
        let Some(stride) = list.strides.get(buffer as usize) else {
            return Err(CaptureError::BufferLimit { output, buffer });
        };
        let stride =
            stride.ok_or(CaptureError::MissingStride { output: output.clone(), buffer })?;
        if stride == 0 || !stride.is_multiple_of(4) || stride > MAX_XFB_STRIDE {
            return Err(CaptureError::Stride { output, stride });
        }
        if !offset.is_multiple_of(4) {
            return Err(CaptureError::Misaligned { output, offset, alignment: 4 });
        }
        if offset > stride {
            let end = u64::from(offset);
            return Err(CaptureError::BeyondStride { output, end, stride });
        }
        self.strides[buffer as usize] = Some(stride);
        let record = Record { buffer, stride, offset };
        match selector {
            Selector::Name(name) => self.add_named(outputs, name, record),
            Selector::Location { location, component, components } => {
                let all = outputs.leaves.iter().filter_map(|leaf| {
                    let (of_leaf, built_in) = (leaf.output.location?, leaf.built_in);
                    built_in.is_none().then_some((of_leaf, &leaf.output))
                });
                // Dwords are counted through the locations.
                let first = u64::from(*location) * 4 + u64::from(*component);
                let places = all.map(|(location, output)| {
                    (u64::from(location) * 4 + u64::from(output.component), output)
                });
                self.add_dwords(places.collect(), first, *components, record, &output)
            }
            Selector::BuiltIn { built_in, component, components } => {
                let mut next = 0;
                let places = outputs
                    .leaves
                    .iter()
                    .filter(|leaf| leaf.built_in == Some(*built_in as u32))
                    .map(|leaf| {
                        let first = next;
                        next += u64::from(leaf.output.dwords());
                        (first, &leaf.output)
                    });
                let places = places.collect();
                self.add_dwords(places, (*component).into(), *components, record, &output)
            }
        }
    }

    /// Captures dwords `first..first + count` of outputs that each start at a dword.
    fn add_dwords(
        &mut self,
        places: Vec<(u64, &Output)>,
        first: u64,
        count: u32,
        record: Record,
        selector: &str,
    ) -> Result<(), CaptureError> {
        let missing = || CaptureError::NoSuchOutput { output: selector.to_owned() };
        let Record { buffer, stride, mut offset } = record;
        let (mut at, end) = (first, first + u64::from(count));
        if at == end {
            return Err(missing());
        }
        while at < end {
            let (start, output) = places
                .iter()
                .find(|(start, output)| (*start..*start + u64::from(output.dwords())).contains(&at))
                .ok_or_else(missing)?;
            let dwords_each = output.bits / 32;
            let within = (at - start) as u32;
            let left = (end - at).min(u64::from(output.dwords() - within)) as u32;
            if !within.is_multiple_of(dwords_each) || !left.is_multiple_of(dwords_each) {
                return Err(CaptureError::SplitComponent { output: selector.to_owned() });
            }
            let (from, components) = (within / dwords_each, left / dwords_each);
            let bytes = components * output.bits / 8;
            if u64::from(offset) + u64::from(bytes) > u64::from(stride) {
                let end = u64::from(offset) + u64::from(bytes);
                let output = selector.to_owned();
                return Err(CaptureError::BeyondStride { output, end, stride });
            }
            self.varyings.push(Varying {
                buffer,
                buffer_index: 0,
                offset,
                ty: GlType { class: output.class, bits: output.bits, columns: 1, rows: components },
                count: 1,
                name: output.name.clone().unwrap_or_else(|| selector.to_owned()),
            });
            if components == output.components {
                self.outputs.push(Output { buffer, offset, ..(*output).clone() });
            } else {
                // Components of a vector are reached one by one; the stores merge them again.
                for i in 0..components {
                    let mut path = output.path.clone();
                    path.push(from + i);
                    self.outputs.push(Output {
                        buffer,
                        offset: offset + i * output.bits / 8,
                        components: 1,
                        path,
                        component: output.component + (from + i) * dwords_each,
                        name: output.name.as_ref().map(|name| format!("{name}[{}]", from + i)),
                        ..(*output).clone()
                    });
                }
            }
            offset += bytes;
            at += u64::from(left);
        }
        Ok(())
    }

    fn add_named(
        &mut self,
        outputs: &Outputs<'_>,
        name: &str,
        record: Record,
    ) -> Result<(), CaptureError> {
        let found = outputs.resolve(name)?;
        let place = Place {
            buffer: record.buffer,
            stride: record.stride,
            variable: found.variable,
            path: found.path,
            name: Some(name.to_owned()),
            gl_name: name.to_owned(),
            component: found.component,
        };
        let (pieces, varyings) = (&mut self.outputs, &mut self.varyings);
        let mut walk =
            Walk::new(outputs.declarations, pieces, varyings, record.offset, found.location);
        walk.capture(found.ty, &place)
    }
}

/// The locations that the outputs of an entry point take, captured or not.
pub fn locations_used(declarations: &Declarations, entry: &EntryPoint) -> BTreeSet<u32> {
    let outputs = Outputs::of(declarations, entry);
    let of_leaf = |leaf: &Leaf| {
        let location = leaf.output.location.filter(|_| leaf.built_in.is_none())?;
        let last = (leaf.output.component + leaf.output.dwords()).div_ceil(4).max(1);
        Some(location..location.saturating_add(last))
    };
    outputs.leaves.iter().filter_map(of_leaf).flatten().collect()
}

/// Where in a record.
#[derive(Debug, Clone, Copy)]
struct Record {
    buffer: u32,
    stride: u32,
    offset: u32,
}

/// A value that a name leads to.
#[derive(Debug)]
pub(super) struct Named {
    variable: Id,
    path: Vec<u32>,
    pub(super) ty: Id,
    location: Option<u32>,
    component: u32,
}

/// Every scalar, vector and column that an entry point puts out.
pub(super) struct Outputs<'a> {
    pub(super) declarations: &'a Declarations,
    variables: Vec<Variable>,
    leaves: Vec<Leaf>,
}

/// A scalar, vector or column.
struct Leaf {
    output: Output,
    built_in: Option<u32>,
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
