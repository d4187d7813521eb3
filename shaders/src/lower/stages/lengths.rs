//! This module shortens the arrays with one element per control point that tessellation shaders read.
//!
//! GLSL compilers give these arrays `gl_MaxPatchVertices` elements, 32, although most patches have 3 or 4 control
//! points. In the compute shader the arrays are variables of each invocation. Compilers for CPUs initialize each of
//! their elements, and with some thousands of them in one block take seconds. On GPUs the arrays take memory.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{BuiltIn, ExecutionModel, Op, StorageClass};

use super::passing::is_per_patch;
use crate::lower::interface::built_in;
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::emit::Builder;
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::{Id, Module, Section, ids_of, result_of};

/// Shortens the input arrays of a tessellation shader to `control_points` elements, the number of invocations of the
/// control shader for a patch, or to more if the shader accesses later elements by constants.
///
/// In an evaluation shader, no valid index is larger. In a control shader, the index must be a constant, or
/// `InvocationId`; arrays with other indices keep their length. So do arrays that the shader copies as a whole.
pub(super) fn shorten(module: &mut Module, entry: &EntryPoint, control_points: u32) {
    let declarations = Declarations::of(module);
    let inputs = declarations.variables(StorageClass::Input);
    let inputs: Vec<_> = inputs.filter(|v| entry.interface.contains(&v.id)).collect();
    let is_invocation = |id: Id| built_in(&declarations, id) == Some(BuiltIn::InvocationId as u32);
    let invocation = inputs.iter().map(|v| v.id).find(|id| is_invocation(*id));
    let arrays = inputs.iter().filter(|v| !is_per_patch(&declarations, v)).filter_map(|v| {
        let Some(Type::Array { element, length }) = declarations.ty(v.pointee) else { return None };
        Some((v.id, (*element, declarations.constant(*length)?)))
    });
    let mut arrays: FxHashMap<Id, (Id, u32)> = arrays.collect();
    let is_control = entry.model == ExecutionModel::TessellationControl;
    // The ids that have the value of `InvocationId`.
    let mut numbers: FxHashSet<Id> = FxHashSet::default();
    let mut length = control_points;
    for i in module.section(Section::Functions) {
        let result = result_of(i).1;
        let is_number = match i.op() {
            Some(Op::Load) => invocation == Some(i.id(2)),
            Some(Op::Bitcast | Op::CopyObject) => numbers.contains(&i.id(2)),
            _ => false,
        };
        numbers.extend(result.filter(|_| is_number));
        for id in ids_of(i).into_iter().filter(|id| Some(*id) != result) {
            let Some((_, declared)) = arrays.get(&id) else { continue };
            let is_chain = matches!(i.op(), Some(Op::AccessChain | Op::InBoundsAccessChain));
            let index = i.operands().get(3).filter(|_| is_chain && i.id(2) == id).map(|id| Id(*id));
            match index.map(|index| (index, declarations.constant(index))) {
                Some((_, Some(number))) if number < *declared => length = length.max(number + 1),
                Some((index, None)) if !is_control || numbers.contains(&index) => {}
                _ => {
                    arrays.remove(&id);
                }
            }
        }
    }
    // Debug information among the declarations may refer to a variable, and would then come before it.
    for i in module.section(Section::Declarations).filter(|i| !i.is(Op::Variable)) {
        arrays.retain(|id, _| !ids_of(i).contains(id));
    }
    let mut arrays: Vec<(Id, (Id, u32))> = arrays.into_iter().collect();
    arrays.retain(|(_, (_, declared))| *declared > length);
    arrays.sort_unstable();
    for (variable, (element, _)) in arrays {
        // The variable has to come after its new type.
        module.retain(Section::Declarations, |i| !(i.is(Op::Variable) && i.id(1) == variable));
        let builder = &mut Builder::new(module);
        let length = builder.constant(length);
        let array = builder.declare_new(Op::TypeArray, &[element.0, length.0]);
        let pointer = builder.pointer(StorageClass::Input, array);
        let operands = [pointer.0, variable.0, StorageClass::Input as u32];
        builder.module.push(Section::Declarations, Op::Variable, &operands);
    }
}
