//! This module replaces the instructions with which a geometry shader emits vertices.

use spirv::Op;

use crate::capture::MAX_STREAMS;
use crate::lower::functions::Function;
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::Code;
use crate::spirv::link::{LinkError, Linker};
use crate::spirv::{Id, Instruction, Section};

/// Whether an instruction emits a vertex to another vertex stream than 0, or ends a strip there.
fn is_of_other_stream(declarations: &Declarations, i: Instruction<'_>) -> bool {
    matches!(i.op(), Some(Op::EmitStreamVertex | Op::EndStreamPrimitive))
        && declarations.constant(i.id(0)) != Some(0)
}

/// Replaces the instructions that emit vertices and end strips by calls of functions of the shader
/// library. If the shader uses other streams than 0, these functions take the stream as a
/// parameter, because it is known only at run time which stream a run captures.
///
/// # Errors
/// [`LinkError`]
pub(in crate::lower) fn replace_emission(
    linker: &mut Linker<'_, '_>,
    declarations: &Declarations,
) -> Result<(), LinkError> {
    let has_streams = (linker.builder.module.section(Section::Functions))
        .any(|i| is_of_other_stream(declarations, i));
    let [emit, end] = if has_streams {
        [Function::EmitStreamVertex, Function::EndStreamPrimitive]
    } else {
        [Function::EmitVertex, Function::EndPrimitive]
    };
    let [emit, end] = [emit.id(linker)?, end.id(linker)?];
    let builder = &mut linker.builder;
    let void = builder.void();
    let numbers = 0..if has_streams { MAX_STREAMS } else { 1 };
    let streams: Vec<Id> = numbers.map(|stream| builder.constant(stream)).collect();
    // The operand of the instruction may be a signed constant, so an unsigned constant of the same
    // value is passed.
    let stream = |id| streams.get(declarations.constant(id)? as usize).copied();
    let called = |i: &Instruction<'_>| match i.op()? {
        Op::EmitVertex => Some((emit, *streams.first()?)),
        Op::EmitStreamVertex => Some((emit, stream(i.id(0))?)),
        Op::EndPrimitive => Some((end, *streams.first()?)),
        Op::EndStreamPrimitive => Some((end, stream(i.id(0))?)),
        _ => None,
    };
    let functions = builder.module.section(Section::Functions).filter_map(|i| called(&i));
    // Each call needs a result id, although the functions return nothing.
    let count = functions.count();
    let mut results = (0..count).map(|_| builder.module.fresh_id()).collect::<Vec<_>>().into_iter();
    builder.module.replace(Section::Functions, |i| {
        let (function, stream) = called(&i)?;
        let operands = [void.0, results.next()?.0, function.0, stream.0];
        let mut call = Code::default();
        call.push(Op::FunctionCall, &operands[..if has_streams { 4 } else { 3 }]);
        Some(call.words().to_vec())
    });
    Ok(())
}
