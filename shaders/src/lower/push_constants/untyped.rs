//! Gives types to the pointers by which a shader accesses push constants
//! ([`SPV_KHR_untyped_pointers`](https://github.khronos.org/SPIRV-Registry/extensions/KHR/SPV_KHR_untyped_pointers.html)).
//! Push constants become `Private` variables, which have no untyped pointers.

use rustc_hash::FxHashMap;
use spirv::{Op, StorageClass};

use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::emit::Builder;
use crate::spirv::module::encode;
use crate::spirv::{Id, Instruction, Module, Section, ids_of};

const PUSH_CONSTANT: u32 = StorageClass::PushConstant as u32;

/// Replaces untyped variables for push constants, and the pointers to their parts, by typed ones. Does nothing if that
/// is not possible, because an access has another type than the part of the variable that it is to, or because a
/// pointer is used for something else than accesses.
pub(in crate::lower) fn make_typed(module: &mut Module) {
    let variables = module.section(Section::Declarations);
    let variables: Vec<(Id, Option<Id>)> = variables
        .filter(|i| i.is(Op::UntypedVariableKHR) && i.operand(2) == PUSH_CONSTANT)
        .map(|i| (i.id(1), i.operands().get(3).map(|ty| Id(*ty))))
        .collect();
    if variables.is_empty() {
        return;
    }
    let mut pointees = FxHashMap::default();
    for (variable, ty) in &variables {
        let Some(ty) = ty else { return };
        pointees.insert(*variable, *ty);
    }
    let declarations = Declarations::without_annotations(module);
    for i in module.section(Section::Functions) {
        if follow(&declarations, &mut pointees, i).is_none() {
            return;
        }
    }
    let mut builder = Builder::new(module);
    let types: FxHashMap<Id, Id> = pointees
        .iter()
        .map(|(pointer, pointee)| (*pointer, builder.pointer(StorageClass::PushConstant, *pointee)))
        .collect();
    // A variable is declared behind its type.
    let is_replaced =
        |i: Instruction<'_>| i.is(Op::UntypedVariableKHR) && types.contains_key(&i.id(1));
    module.retain(Section::Declarations, |i| !is_replaced(i));
    for (variable, _) in variables {
        let operands = [types[&variable].0, variable.0, PUSH_CONSTANT];
        module.push(Section::Declarations, Op::Variable, &operands);
    }
    module.replace(Section::Functions, |i| {
        let (op, [_, id, operands @ ..]) = (i.op()?, i.operands()) else { return None };
        let ty = types.get(&Id(*id))?;
        let (op, operands) = match op {
            // The first operand is the type of the base.
            Op::UntypedAccessChainKHR => (Op::AccessChain, operands.get(1..)?),
            Op::UntypedInBoundsAccessChainKHR => (Op::InBoundsAccessChain, operands.get(1..)?),
            Op::CopyObject => (op, operands),
            _ => return None,
        };
        let mut words = Vec::new();
        encode(&mut words, op, &[&[ty.0, *id], operands].concat());
        Some(words)
    });
}

/// If an instruction derives a pointer from one in `pointees`, adds the new pointer with the type of what it points to.
/// Returns `None` if the instruction uses a pointer in a way that has no typed equivalent.
fn follow(
    declarations: &Declarations,
    pointees: &mut FxHashMap<Id, Id>,
    i: Instruction<'_>,
) -> Option<()> {
    match (i.op(), i.operands()) {
        (
            Some(Op::UntypedAccessChainKHR | Op::UntypedInBoundsAccessChainKHR),
            [_, id, base_type, base, indices @ ..],
        ) if pointees.contains_key(&Id(*base)) => {
            let mut ty = pointees[&Id(*base)];
            if ty != Id(*base_type) {
                return None;
            }
            for index in indices {
                // The members of a structure have different types. Any element of other types has the same one.
                let number = match declarations.ty(ty)? {
                    Type::Struct { .. } => declarations.constant(Id(*index))?,
                    _ => 0,
                };
                ty = declarations.type_at(ty, &[number])?;
            }
            pointees.insert(Id(*id), ty);
        }
        (Some(Op::CopyObject), [_, id, pointer]) if pointees.contains_key(&Id(*pointer)) => {
            pointees.insert(Id(*id), pointees[&Id(*pointer)]);
        }
        (Some(Op::Load), [ty, _, pointer, ..]) if pointees.contains_key(&Id(*pointer)) => {
            return (pointees[&Id(*pointer)] == Id(*ty)).then_some(());
        }
        // Debug info may name the variable.
        (Some(Op::ExtInst | Op::ExtInstWithForwardRefsKHR), _) => {}
        _ if ids_of(i).iter().any(|id| pointees.contains_key(id)) => return None,
        _ => {}
    }
    Some(())
}
