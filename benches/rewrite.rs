//! Measures lowering: of a shader of common size, and of two that are ten and a hundred times
//! larger, for which the time should grow in proportion. The same for declarations.
//!
//! The modules consist of a probe shader and functions that it calls, as many as needed:
//! straight-line code and a branch with floats, with the names and decorations that compilers emit.
//! `cargo bench --bench rewrite`

#![allow(clippy::unwrap_used, reason = "a benchmark may panic")]

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use spirv::{Decoration, Op, StorageClass};
use vkxfb_rewriter::lower::reflect::vertex_reads;
use vkxfb_rewriter::lower::{Shader, compute, vertex};
use vkxfb_rewriter::spirv::emit::{Builder, Code};
use vkxfb_rewriter::spirv::specialization::SpecializationConstant;
use vkxfb_rewriter::spirv::words_from_bytes;
use vkxfb_rewriter::spirv::{Id, Module, Section};

/// The minimum sizes of the modules, in words. The last function may exceed it.
const SIZES: [usize; 3] = [5_000, 50_000, 500_000];

/// The number of operations of a function.
const STEPS: u32 = 40;

fn main() {
    divan::main();
}

#[divan::bench(args = SIZES)]
fn parse(bencher: Bencher<'_, '_>, size: usize) {
    let words = module(size);
    bencher.counter(ItemsCount::new(words.len())).bench(|| Module::parse(black_box(&words)));
}

#[divan::bench(args = SIZES)]
fn lower_vertex(bencher: Bencher<'_, '_>, size: usize) {
    let words = module(size);
    bencher
        .counter(ItemsCount::new(words.len()))
        .bench(|| vertex::lower(&Shader::new(black_box(&words))).unwrap());
}

#[divan::bench(args = SIZES)]
fn lower_compute(bencher: Bencher<'_, '_>, size: usize) {
    let words = module(size);
    let vertex_input = vertex_reads(&Shader::new(&words)).unwrap().packed_vertex_input();
    let options = compute::Options::new(&vertex_input);
    bencher
        .counter(ItemsCount::new(words.len()))
        .bench(|| compute::lower(&Shader::new(black_box(&words)), &options).unwrap());
}

/// What a pipeline for a single draw of triangle strips is made of.
#[divan::bench(args = SIZES)]
fn specialize_compute(bencher: Bencher<'_, '_>, size: usize) {
    let words = module(size);
    let vertex_input = vertex_reads(&Shader::new(&words)).unwrap().packed_vertex_input();
    let options = compute::Options::new(&vertex_input);
    let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
    let ids = lowered.spec_ids().unwrap();
    let (strips, no) = (2u32.to_ne_bytes(), 0u32.to_ne_bytes());
    let constant = |constant_id, data| SpecializationConstant { constant_id, data };
    let constants =
        [constant(ids.topology, &strips), constant(ids.restart, &no), constant(ids.general, &no)];
    bencher
        .counter(ItemsCount::new(lowered.words.len()))
        .bench(|| lowered.specialized(black_box(&constants)).unwrap());
}

/// Global variables instead of code, in a version of SPIR-V whose entry points list all of them.
#[divan::bench(args = [1_000, 10_000, 100_000])]
fn lower_vertex_globals(bencher: Bencher<'_, '_>, count: usize) {
    let mut words = words_from_bytes(include_bytes!("../shaders/probe/attributes.spv")).unwrap();
    words[1] = 0x0001_0400;
    let mut module = Module::parse(&words).unwrap();
    let mut builder = Builder::new(&mut module);
    let float = builder.declare(Op::TypeFloat, &[32]);
    for _ in 0..count {
        builder.variable(StorageClass::Private, float);
    }
    let words = builder.module.words();
    bencher
        .counter(ItemsCount::new(count))
        .bench(|| vertex::lower(&Shader::new(black_box(&words))).unwrap());
}

/// Makes a module of at least `size` words.
fn module(size: usize) -> Vec<u32> {
    let words = words_from_bytes(include_bytes!("../shaders/probe/attributes.spv")).unwrap();
    let mut module = Module::parse(&words).unwrap();
    let mut builder = Builder::new(&mut module);
    let mut length = words.len();
    let mut functions = Vec::new();
    while length < size {
        let (function, words) = add_function(&mut builder, functions.len());
        functions.push(function);
        length += words;
    }
    call_all(&mut builder, &functions);
    builder.module.words()
}

/// Lets the entry point call the functions before it returns.
fn call_all(builder: &mut Builder<'_>, functions: &[Id]) {
    let entry = builder.module.section(Section::EntryPoints).next().unwrap().id(1);
    let float = builder.declare(Op::TypeFloat, &[32]);
    let one = builder.declare(Op::Constant, &[float.0, 1f32.to_bits()]);
    let old: Vec<Vec<u32>> =
        builder.module.section(Section::Functions).map(|i| i.words().to_vec()).collect();
    let mut code = Code::default();
    let mut is_entry = false;
    for words in old {
        let op = Op::from_u32(words[0] & 0xffff);
        if op == Some(Op::Function) {
            is_entry = words[2] == entry.0;
        }
        if is_entry && op == Some(Op::Return) {
            for function in functions {
                code.call(builder, float, *function, &[one]);
            }
        }
        code.push(op.unwrap(), &words[1..]);
    }
    builder.module.retain(Section::Functions, |_| false);
    builder.module.push_code(Section::Functions, &code);
}

/// Adds `float step(float x) { float y = x; ...; if (x < y) y = -y; return y; }`. Returns its ID,
/// and its size in words.
fn add_function(builder: &mut Builder<'_>, number: usize) -> (Id, usize) {
    let float = builder.declare(Op::TypeFloat, &[32]);
    let ty = builder.declare(Op::TypeFunction, &[float.0, float.0]);
    let pointer = builder.pointer(StorageClass::Function, float);
    let mut code = Code::default();
    let mut decorated: Vec<Id> = Vec::new();

    let function = code.value(builder, Op::Function, float, &[0, ty.0]);
    let x = code.value(builder, Op::FunctionParameter, float, &[]);
    let [entry, then, merge] = [(); 3].map(|()| builder.module.fresh_id());
    code.label(entry);
    let y = code.value(builder, Op::Variable, pointer, &[StorageClass::Function as u32]);
    code.push(Op::Store, &[y.0, x.0]);
    for step in 0..STEPS {
        let loaded = code.value(builder, Op::Load, float, &[y.0]);
        let op = [Op::FMul, Op::FAdd, Op::FSub][step as usize % 3];
        let result = code.value(builder, op, float, &[loaded.0, x.0]);
        code.push(Op::Store, &[y.0, result.0]);
        if step.is_multiple_of(4) {
            decorated.push(result);
        }
    }
    let loaded = code.value(builder, Op::Load, float, &[y.0]);
    let bool_type = builder.bool();
    let is_less = code.value(builder, Op::FOrdLessThan, bool_type, &[x.0, loaded.0]);
    code.push(Op::SelectionMerge, &[merge.0, 0]);
    code.push(Op::BranchConditional, &[is_less.0, then.0, merge.0]);
    code.label(then);
    let negated = code.value(builder, Op::FNegate, float, &[loaded.0]);
    code.push(Op::Store, &[y.0, negated.0]);
    code.push(Op::Branch, &[merge.0]);
    code.label(merge);
    let result = code.value(builder, Op::Load, float, &[y.0]);
    code.push(Op::ReturnValue, &[result.0]);
    code.push(Op::FunctionEnd, &[]);

    builder.module.push_code(Section::Functions, &code);
    builder.name(function, &format!("step{number}"));
    for result in &decorated {
        builder.decorate(*result, Decoration::NoContraction, &[]);
    }
    (function, code.words().len() + 5 + 3 * decorated.len())
}
