//! This module finds the pointers through which the simulation of a geometry shader ([`walk`](super::walk)) knows what
//! is stored and loaded.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};

use crate::spirv::call_tree::reachable_functions;
use crate::spirv::debug_info::is_of_sets;
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::optimize::source::Source;
use crate::spirv::specialization::fold::Scalar;
use crate::spirv::{Id, Module, Section, ids_of};

/// Finds the *followed* pointers, which are those whose contents the simulation in [`walk`](super::walk) can track:
/// variables that contain a scalar, and parameters that point to such variables. A pointer is followed only if all
/// instructions that use it load from it, store to it, or pass it to a followed parameter, because any other
/// instruction could change the contents without being noticed. Returns `None` if a function has a form that is not
/// supported.
pub(super) fn followed(
    module: &Module,
    source: &Source<'_>,
    declarations: &Declarations,
    debug_info: &FxHashSet<Id>,
    entry: Id,
) -> Option<FxHashSet<Id>> {
    let storages = [StorageClass::Function as u32, StorageClass::Private as u32];
    let is_followed = |ty: Id| match declarations.ty(ty) {
        Some(Type::Pointer { storage, pointee }) => {
            storages.contains(storage) && Scalar::of(declarations, *pointee).is_some()
        }
        _ => false,
    };
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
