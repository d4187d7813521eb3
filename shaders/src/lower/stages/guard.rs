//! This module restricts the side effects of shaders to one of the passes of a capture with a geometry shader: they
//! happen in an emit pass, and not in the count pass.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;

use crate::lower::effects::for_each_side_effect;
use crate::lower::functions::Function;
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::{Builder, Code};
use crate::spirv::link::{LinkError, Linker};
use crate::spirv::static_use::StaticUse;
use crate::spirv::{Id, Instruction, Section, ids_of, result_of};

/// Makes each side effect of the shaders depend on `has_effects` of the shader library, so that it
/// happens in one pass only: an emit pass, and never the count pass (see `shaders/geometry.wgsl`).
///
/// Two kinds of side effects happen in all passes nevertheless. The first kind are atomic operations whose result is
/// used, because other instructions need the result. The second kind are side effects in the header of a loop: the
/// loop's merge instruction comes after them in this block, so the block cannot be split.
///
/// # Errors
/// [`LinkError`]
pub(in crate::lower) fn guard_side_effects(
    linker: &mut Linker<'_, '_>,
    declarations: &Declarations,
    used: &StaticUse,
) -> Result<(), LinkError> {
    let has_effects = Function::HasEffects.id(linker)?;
    let builder = &mut linker.builder;
    let guarded = guarded(builder, declarations, used);
    let functions: Vec<Vec<u32>> =
        builder.module.section(Section::Functions).map(|i| i.words().to_vec()).collect();
    let bool = builder.bool();
    let mut code = Code::default();
    // For each block that was split: its label, and the label of the last of the blocks into which it was split, which
    // phis must name.
    let mut lasts = FxHashMap::default();
    let mut label = Id(0);
    for (number, words) in functions.iter().enumerate() {
        let i = Instruction::new(words);
        if i.is(Op::Label) {
            label = i.id(0);
        }
        if !guarded.contains(&number) {
            code.copy(words);
            continue;
        }
        let condition = code.call(builder, bool, has_effects, &[]);
        let behind = code.begin_if(builder, condition);
        code.copy(words);
        code.end_if(behind);
        lasts.insert(label, behind);
    }
    builder.module.retain(Section::Functions, |_| false);
    builder.module.push_code(Section::Functions, &code);
    builder.module.edit(Section::Functions, |op, operands| {
        if op == Op::Phi {
            for parent in operands.iter_mut().skip(3).step_by(2) {
                *parent = lasts.get(&Id(*parent)).map_or(*parent, |last| last.0);
            }
        }
    });
    Ok(())
}

/// Returns the indices, in the section of functions, of the side effects that can be made
/// conditional.
fn guarded(
    builder: &Builder<'_>,
    declarations: &Declarations,
    used: &StaticUse,
) -> FxHashSet<usize> {
    let module = &*builder.module;
    let (mut guarded, mut results) = (FxHashSet::default(), FxHashMap::default());
    for_each_side_effect(module, declarations, used, |number, i| {
        guarded.insert(number);
        if let Some(result) = result_of(i).1 {
            results.insert(result, number);
        }
    });
    let mut first = 0;
    for (number, i) in module.section(Section::Functions).enumerate() {
        match i.op() {
            Some(Op::Label) => first = number,
            Some(Op::LoopMerge) => guarded.retain(|effect| !(first..number).contains(effect)),
            _ => {}
        }
        let made = result_of(i).1;
        for id in ids_of(i) {
            if made != Some(id)
                && let Some(atomic) = results.get(&id)
            {
                guarded.remove(atomic);
            }
        }
    }
    guarded
}
