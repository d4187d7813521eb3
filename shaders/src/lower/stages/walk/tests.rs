//! Tests the strips that the walk finds, in modules of which only the code matters.

use super::*;
use crate::spirv::module::encode;

/// The ids of what all these modules declare.
const BOOL: u32 = 1;
const UINT: u32 = 2;
const VOID: u32 = 3;
const PROCEDURE: u32 = 4;
const MAIN: u32 = 5;
/// Constants 0 to 3.
const STREAMS: [u32; 4] = [10, 11, 12, 13];
/// The first label of the code.
const BEGIN: u32 = 20;
/// The first of the ids for conditions that nothing decides.
const UNKNOWN: u32 = 30;

/// Makes a module of the instructions of a function, of which the first block has the label `BEGIN`.
fn module(code: &[(Op, &[u32])]) -> Module {
    let mut words = vec![0x0723_0203, 0x1_0000, 0, 1 << 20, 0];
    encode(&mut words, Op::TypeBool, &[BOOL]);
    encode(&mut words, Op::TypeInt, &[UINT, 32, 0]);
    encode(&mut words, Op::TypeVoid, &[VOID]);
    encode(&mut words, Op::TypeFunction, &[PROCEDURE, VOID]);
    for (number, id) in (0..).zip(STREAMS) {
        encode(&mut words, Op::Constant, &[UINT, id, number]);
    }
    encode(&mut words, Op::Function, &[VOID, MAIN, 0, PROCEDURE]);
    encode(&mut words, Op::Label, &[BEGIN]);
    for (op, operands) in code {
        encode(&mut words, *op, operands);
    }
    encode(&mut words, Op::FunctionEnd, &[]);
    Module::parse(&words).unwrap()
}

const EMIT: (Op, &[u32]) = (Op::EmitVertex, &[]);
const END: (Op, &[u32]) = (Op::EndPrimitive, &[]);
const RETURN: (Op, &[u32]) = (Op::Return, &[]);

fn strips(lengths: [&[u32]; 4]) -> Strips {
    let mut emitted = Emitted::new(u32::MAX);
    for (stream, lengths) in lengths.iter().enumerate() {
        for length in *lengths {
            (0..*length).for_each(|_| assert!(emitted.add(stream)));
            emitted.end_strip(stream, 2);
        }
    }
    let strips = emitted.end(2);
    assert_eq!(strips.lengths().each_ref().map(|lengths| &lengths[..]), lengths);
    strips
}

/// Code in which a run either takes the first or the second arm.
fn either(
    then: &[(Op, &'static [u32])],
    otherwise: &[(Op, &'static [u32])],
) -> Vec<(Op, &'static [u32])> {
    let mut code: Vec<(Op, &'static [u32])> = vec![
        (Op::Undef, &[BOOL, UNKNOWN]),
        (Op::SelectionMerge, &[23, 0]),
        (Op::BranchConditional, &[UNKNOWN, 21, 22]),
        (Op::Label, &[21]),
    ];
    code.extend(then);
    code.extend::<[(Op, &'static [u32]); 2]>([(Op::Branch, &[23]), (Op::Label, &[22])]);
    code.extend(otherwise);
    code.extend::<[(Op, &'static [u32]); 3]>([(Op::Branch, &[23]), (Op::Label, &[23]), RETURN]);
    code
}

fn found(vertices: u32, most: u32, streams: u32, code: &[(Op, &[u32])]) -> (Emission, Option<u32>) {
    let module = module(code);
    let output = Output { vertices, most, streams };
    (emission(&module, Id(MAIN), output), always_emitted(&module, Id(MAIN), output))
}

#[test]
fn strips_without_a_primitive_are_left_out() {
    let code = [EMIT, EMIT, EMIT, END, EMIT, END, EMIT, EMIT, RETURN];
    let of = |vertices| found(vertices, 8, 1, &code);
    assert_eq!(of(2), (Emission::Always(strips([&[3, 2], &[], &[], &[]])), Some(3)));
    assert_eq!(of(3), (Emission::Always(strips([&[3], &[], &[], &[]])), Some(1)));
    // All points are one strip.
    assert_eq!(of(1), (Emission::Always(strips([&[6], &[], &[], &[]])), Some(6)));
    assert_eq!(of(4), (Emission::Always(Strips::default()), None));
}

#[test]
fn vertices_that_are_too_many_are_left_out_and_make_the_number_unknown() {
    let code = [EMIT, EMIT, END, EMIT, EMIT, EMIT, END, EMIT, RETURN];
    let of = |most| found(2, most, 1, &code);
    assert_eq!(of(6), (Emission::Always(strips([&[2, 3], &[], &[], &[]])), Some(3)));
    assert_eq!(of(5), (Emission::Always(strips([&[2, 3], &[], &[], &[]])), None));
    assert_eq!(of(4), (Emission::Always(strips([&[2, 2], &[], &[], &[]])), None));
    assert_eq!(of(3), (Emission::Always(strips([&[2], &[], &[], &[]])), None));
    assert_eq!(of(1), (Emission::Always(Strips::default()), None));
    // A loop without an end.
    let endless: [(Op, &[u32]); 7] = [
        (Op::Branch, &[21]),
        (Op::Label, &[21]),
        (Op::LoopMerge, &[23, 21, 0]),
        EMIT,
        (Op::Branch, &[21]),
        (Op::Label, &[23]),
        RETURN,
    ];
    let mut code = endless.to_vec();
    code.swap(2, 3);
    assert_eq!(found(3, 7, 1, &code), (Emission::Always(strips([&[7], &[], &[], &[]])), None));
}

#[test]
fn each_stream_has_its_strips_and_its_limit() {
    let emit = |stream: usize| (Op::EmitStreamVertex, &STREAMS[stream..=stream]);
    let end = |stream: usize| (Op::EndStreamPrimitive, &STREAMS[stream..=stream]);
    let code =
        [emit(0), emit(2), emit(0), emit(2), end(0), emit(2), emit(0), emit(0), end(2), RETURN];
    // Both streams have two lines.
    let all = Emission::Always(strips([&[2, 2], &[], &[3], &[]]));
    assert_eq!(found(2, 4, 0b101, &code), (all, Some(2)));
    let fewer = Emission::Always(strips([&[2], &[], &[3], &[]]));
    assert_eq!(found(2, 3, 0b101, &code), (fewer, None));
    // Instructions for stream 0 are like those without a stream.
    let code = [emit(0), emit(0), end(0), emit(0), emit(0), RETURN];
    let first = Emission::Always(strips([&[2, 2], &[], &[], &[]]));
    assert_eq!(found(2, 4, 1, &code), (first.clone(), Some(2)));
    // The end of a strip of another stream changes nothing.
    let code = [emit(0), emit(0), end(1), end(0), emit(0), emit(0), RETURN];
    assert_eq!(found(2, 4, 1, &code), (first, Some(2)));
}

#[test]
fn runs_differ() {
    let one = strips([&[3], &[], &[], &[]]);
    let triangle = [EMIT, EMIT, EMIT];
    assert_eq!(
        found(3, 8, 1, &either(&triangle, &[])),
        (Emission::AllOrNothing(one.clone()), None)
    );
    // What has no primitive is nothing.
    let code = either(&triangle, &[EMIT, EMIT]);
    assert_eq!(found(3, 8, 1, &code), (Emission::AllOrNothing(one.clone()), None));
    let code = either(&triangle, &[EMIT, END, EMIT, EMIT, EMIT, END]);
    assert_eq!(found(3, 8, 1, &code), (Emission::Always(one), Some(1)));
    // Two strips have another number of vertices than one, even if their primitives are as many.
    let code = either(&[EMIT, EMIT, EMIT, END, EMIT, EMIT, EMIT], &[EMIT, EMIT, EMIT, EMIT]);
    assert_eq!(found(3, 8, 1, &code), (Emission::UpTo(2), None));
    // If only some runs emit too many vertices, the others are counted.
    let code = either(&[EMIT, EMIT, EMIT, EMIT], &triangle);
    let all = Emission::Always(strips([&[3], &[], &[], &[]]));
    assert_eq!(found(3, 3, 1, &code), (all, None));
}

#[test]
fn runs_that_cannot_be_simulated_emit_what_the_shader_declares_at_most() {
    let kill: &[(Op, &[u32])] = &[EMIT, (Op::Kill, &[])];
    assert_eq!(found(3, 8, 1, kill), (Emission::UpTo(6), None));
    assert_eq!(found(3, 2, 1, kill), (Emission::UpTo(0), None));
    assert_eq!(found(1, 8, 0b1011, kill), (Emission::UpTo(24), None));
}

/// Each selection doubles the number of ways in which runs differ.
#[test]
fn a_walk_that_parts_too_often_ends() {
    let mut words: Vec<(Op, Vec<u32>)> = vec![(Op::Undef, vec![BOOL, UNKNOWN])];
    for selection in 0..60 {
        let [then, merge] = [100 + 2 * selection, 101 + 2 * selection];
        words.push((Op::SelectionMerge, vec![merge, 0]));
        words.push((Op::BranchConditional, vec![UNKNOWN, then, merge]));
        words.push((Op::Label, vec![then]));
        words.extend([Op::EmitVertex, Op::EmitVertex, Op::EndPrimitive].map(|op| (op, vec![])));
        words.push((Op::Branch, vec![merge]));
        words.push((Op::Label, vec![merge]));
        words.push((Op::EmitVertex, vec![]));
    }
    words.push((Op::Return, vec![]));
    let code: Vec<(Op, &[u32])> = words.iter().map(|(op, words)| (*op, &words[..])).collect();
    assert_eq!(found(2, 400, 1, &code), (Emission::UpTo(399), None));
}
