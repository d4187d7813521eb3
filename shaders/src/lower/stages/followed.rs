//! This module finds the pointers through which the simulation of a geometry shader ([`walk`](super::walk)) knows what
//! is stored and loaded.

mod parts;

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};

use self::parts::find_parts;
use crate::lower::stages::relaxed::Relaxed;
use crate::spirv::call_tree::reachable_functions;
use crate::spirv::debug_info::is_of_sets;
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::optimize::source::Source;
use crate::spirv::specialization::fold::Scalar;
use crate::spirv::{Id, Module, Section, ids_of};

/// The largest number of components of the vectors that are followed.
pub(super) const MAX_COMPONENTS: u32 = 4;

/// A scalar type, or a vector type of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scalars {
    pub scalar: Scalar,
    /// The number of components; 1 for a scalar.
    pub count: u32,
}

impl Scalars {
    /// The type with an id; `None` for other types than scalars and vectors.
    pub(super) fn of(declarations: &Declarations, ty: Id) -> Option<Self> {
        let (ty, count) = match declarations.ty(ty)? {
            Type::Vector { component, count } if *count <= MAX_COMPONENTS => (*component, *count),
            _ => (ty, 1),
        };
        Some(Self { scalar: Scalar::of(declarations, ty)?, count })
    }

    /// Those that a pointer type points to.
    pub(super) fn at(declarations: &Declarations, pointer: Id) -> Option<Self> {
        Self::of(declarations, pointee(declarations, pointer)?)
    }
}

/// What a type of pointers into memory of the invocation points to; `None` for other types.
fn pointee(declarations: &Declarations, pointer: Id) -> Option<Id> {
    const STORAGES: [u32; 2] = [StorageClass::Function as u32, StorageClass::Private as u32];
    match declarations.ty(pointer) {
        Some(Type::Pointer { storage, pointee }) if STORAGES.contains(storage) => Some(*pointee),
        _ => None,
    }
}

/// A scalar or vector in a variable, or a component of a vector.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// The variable, or the first access chain to the scalar or vector, by which all others call it.
    pub name: Id,
    /// The number of the first scalar of the vector.
    pub first: u32,
    pub scalars: Scalars,
    /// Whether the variable is decorated with `RelaxedPrecision`.
    pub is_relaxed: bool,
}

/// The pointers whose contents are known in the simulation.
#[derive(Debug, Default)]
pub(super) struct Followed {
    /// Variables that contain a scalar, and parameters that point to such variables.
    pub scalars: FxHashSet<Id>,
    /// The parts of other variables that the variables themselves, and access chains with constant indices, point to.
    pub parts: FxHashMap<Id, Part>,
    /// For each of these variables, and for each access chain into it: the names of all its parts.
    pub wholes: FxHashMap<Id, Rc<[Id]>>,
}

impl Followed {
    /// Finds the followed pointers. Returns `None` if a function has a form that is not supported.
    pub(super) fn of(
        module: &Module,
        source: &Source<'_>,
        declarations: &Declarations,
        debug_info: &FxHashSet<Id>,
        relaxed: &Relaxed,
        entry: Id,
    ) -> Option<Self> {
        let scalars = scalars(module, source, declarations, debug_info, entry)?;
        let mut followed = Self { scalars, ..Self::default() };
        find_parts(module, source, declarations, debug_info, relaxed, entry, &mut followed)?;
        Some(followed)
    }

    pub(super) fn contains(&self, pointer: Id) -> bool {
        self.scalars.contains(&pointer) || self.wholes.contains_key(&pointer)
    }
}

/// Finds the *followed* pointers to scalars, which are those whose contents the simulation in [`walk`](super::walk) can track:
/// variables that contain a scalar, and parameters that point to such variables. A pointer is followed only if all
/// instructions that use it load from it, store to it, or pass it to a followed parameter, because any other
/// instruction could change the contents without being noticed. Returns `None` if a function has a form that is not
/// supported.
fn scalars(
    module: &Module,
    source: &Source<'_>,
    declarations: &Declarations,
    debug_info: &FxHashSet<Id>,
    entry: Id,
) -> Option<FxHashSet<Id>> {
    let is_followed =
        |ty: Id| pointee(declarations, ty).is_some_and(|ty| Scalar::of(declarations, ty).is_some());
    let mut followed = FxHashSet::default();
    let mut escaped: Vec<Id> = Vec::new();
    for i in module.section(Section::Declarations) {
        if is_of_sets(i, debug_info) {
            continue;
        }
        escaped.extend(ids_of(i).into_iter().filter(|id| followed.contains(id)));
        if i.is(Op::Variable) && is_followed(i.id(0)) {
            followed.insert(i.id(1));
        }
    }
    // For each parameter, the pointers that calls pass for it.
    let mut passed: FxHashMap<Id, Vec<Id>> = FxHashMap::default();
    for function in reachable_functions(module, entry) {
        for i in source.code(source.get(function)?) {
            match i.op()? {
                Op::Variable | Op::FunctionParameter if is_followed(i.id(0)) => {
                    followed.insert(i.id(1));
                }
                Op::Load => {}
                Op::Store => escaped.push(i.id(1)),
                Op::FunctionCall => {
                    let arguments = i.operands().iter().skip(3).map(|id| Id(*id));
                    let parameters = source.parameters(source.get(i.id(2))?);
                    for (argument, parameter) in arguments.zip(parameters) {
                        if !followed.contains(&argument) {
                            continue;
                        }
                        if is_followed(parameter.id(0)) {
                            passed.entry(parameter.id(1)).or_default().push(argument)
                        } else {
                            escaped.push(argument)
                        }
                    }
                }
                _ => escaped.extend(ids_of(i).into_iter().filter(|id| followed.contains(id))),
            }
        }
    }
    while let Some(pointer) = escaped.pop() {
        if followed.remove(&pointer) {
            escaped.extend(passed.get(&pointer).into_iter().flatten());
        }
    }
    Some(followed)
}
