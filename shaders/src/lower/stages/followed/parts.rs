//! The parts of variables that contain several scalars, as the registers of D3D's shaders do.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;

use super::{Followed, MAX_COMPONENTS, Part, Scalars, pointee};
use crate::lower::stages::relaxed::Relaxed;
use crate::spirv::call_tree::reachable_functions;
use crate::spirv::debug_info::is_of_sets;
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::optimize::source::Source;
use crate::spirv::specialization::fold::Scalar;
use crate::spirv::{Id, Instruction, Module, Section, ids_of};

/// A variable that contains several scalars, and the type of its contents.
#[derive(Debug, Clone, Copy)]
struct Whole {
    variable: Id,
    ty: Id,
}

struct Finder<'a> {
    declarations: &'a Declarations,
    relaxed: &'a Relaxed,
    /// The variable itself, and all access chains into it.
    wholes: FxHashMap<Id, Whole>,
    parts: FxHashMap<Id, Part>,
    /// For each variable, and each path of indices to a scalar or vector in it: the name of the part.
    names: FxHashMap<(Id, Vec<u32>), Id>,
    /// The variables that other instructions may change than those that are followed.
    escaped: FxHashSet<Id>,
}

/// Finds the parts of variables. A variable is followed only if all instructions that use it load from it, store to it,
/// or are access chains that are used in these ways. Returns `None` if a function has a form that is not supported.
pub(super) fn find_parts(
    module: &Module,
    source: &Source<'_>,
    declarations: &Declarations,
    debug_info: &FxHashSet<Id>,
    relaxed: &Relaxed,
    entry: Id,
    followed: &mut Followed,
) -> Option<()> {
    let mut finder = Finder {
        declarations,
        relaxed,
        wholes: FxHashMap::default(),
        parts: FxHashMap::default(),
        names: FxHashMap::default(),
        escaped: FxHashSet::default(),
    };
    let declared = || module.section(Section::Declarations).filter(|i| !is_of_sets(*i, debug_info));
    declared().filter(|i| i.is(Op::Variable)).for_each(|i| finder.begin(i));
    let functions = reachable_functions(module, entry);
    for function in &functions {
        let function = source.get(*function)?;
        source.variables(function).for_each(|i| finder.begin(i));
        source.code(function).filter(is_chain).for_each(|i| finder.chain(i));
    }
    declared().for_each(|i| finder.escape(i));
    for function in &functions {
        source.code(source.get(*function)?).for_each(|i| finder.escape(i));
    }
    finder.finish(followed);
    Some(())
}

fn is_chain(i: &Instruction<'_>) -> bool {
    matches!(i.op(), Some(Op::AccessChain | Op::InBoundsAccessChain))
}

impl Finder<'_> {
    fn begin(&mut self, i: Instruction<'_>) {
        let Some(ty) = pointee(self.declarations, i.id(0)) else { return };
        if Scalar::of(self.declarations, ty).is_some() {
            return;
        }
        let variable = i.id(1);
        self.wholes.insert(variable, Whole { variable, ty });
        if let Some(scalars) = Scalars::of(self.declarations, ty) {
            let is_relaxed = self.relaxed.contains(variable);
            self.parts.insert(variable, Part { name: variable, first: 0, scalars, is_relaxed });
            self.names.insert((variable, Vec::new()), variable);
        }
    }

    fn chain(&mut self, i: Instruction<'_>) {
        let (chain, base) = (i.id(1), i.id(2));
        let Some(whole) = self.wholes.get(&base).copied() else { return };
        self.wholes.insert(chain, whole);
        let indices = i.operands().iter().skip(3).map(|id| self.declarations.constant(Id(*id)));
        let Some(mut path) = indices.collect::<Option<Vec<u32>>>() else { return };
        // The indices of a chain into what another chain points to are not all of the path.
        if base != whole.variable {
            return;
        }
        let Some((scalars, is_component)) = self.select(whole.ty, &path) else { return };
        if Scalars::at(self.declarations, i.id(0)) != Some(scalars) {
            return;
        }
        let first = if is_component { path.pop().unwrap_or(0) } else { 0 };
        let name = *self.names.entry((whole.variable, path)).or_insert(chain);
        let is_relaxed = self.relaxed.contains(whole.variable);
        self.parts.insert(chain, Part { name, first, scalars, is_relaxed });
    }

    /// The type that constant indices select, and whether it is a vector's component; `None` if it is no scalar or vector, if
    /// an index is out of range (what is then changed is undefined), or if a member on the path may have relaxed
    /// precision.
    fn select(&self, mut ty: Id, path: &[u32]) -> Option<(Scalars, bool)> {
        let mut is_component = false;
        for index in path {
            is_component = false;
            let (next, count) = match self.declarations.ty(ty)? {
                Type::Struct { .. } if self.relaxed.has_members(ty) => return None,
                Type::Struct { members } => (*members.get(*index as usize)?, u32::MAX),
                Type::Array { element, length } => (*element, self.declarations.constant(*length)?),
                Type::Matrix { column, count } => (*column, *count),
                Type::Vector { component, count } if *count <= MAX_COMPONENTS => {
                    is_component = true;
                    (*component, *count)
                }
                _ => return None,
            };
            if *index >= count {
                return None;
            }
            ty = next;
        }
        Some((Scalars::of(self.declarations, ty)?, is_component))
    }

    /// Finds the variables that an instruction may change without being noticed.
    fn escape(&mut self, i: Instruction<'_>) {
        let mut others = ids_of(i);
        match i.op() {
            Some(Op::Variable) => others.retain(|id| *id != i.id(1)),
            Some(Op::Load) => return,
            Some(Op::Store) => others.retain(|id| *id != i.id(0) || *id == i.id(1)),
            // In invalid modules a chain may stand before its base.
            Some(Op::AccessChain | Op::InBoundsAccessChain)
                if self.wholes.contains_key(&i.id(1)) =>
            {
                return;
            }
            _ => {}
        }
        let escaped = others.iter().filter_map(|id| self.wholes.get(id));
        self.escaped.extend(escaped.map(|whole| whole.variable));
    }

    fn finish(mut self, followed: &mut Followed) {
        let mut names: FxHashMap<Id, Vec<Id>> = FxHashMap::default();
        for ((variable, _), name) in self.names {
            names.entry(variable).or_default().push(name);
        }
        let names: FxHashMap<Id, Rc<[Id]>> =
            names.into_iter().map(|(variable, names)| (variable, names.into())).collect();
        self.wholes.retain(|_, whole| !self.escaped.contains(&whole.variable));
        self.parts.retain(|pointer, _| self.wholes.contains_key(pointer));
        followed.parts = self.parts;
        let wholes = self.wholes.into_iter();
        followed.wholes = wholes
            .filter_map(|(pointer, whole)| Some((pointer, names.get(&whole.variable)?.clone())))
            .collect();
    }
}
