//! Tests what the generator generates.

use std::collections::{BTreeMap, BTreeSet};

use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

use crate::case::{Case, How, Span};
use crate::common::commands::QueryKind;
use crate::generate::draws::case;
use crate::generate::{Draws, Space};
use crate::model::{self, Fact};
use crate::program::{BuiltIn, Code, Emitted, Expr, Input, Place, Scalar, Statement, Type};

/// The cases that run by default contain every kind of shader and of draw, and most of them capture
/// something.
#[test]
fn the_generator_reaches_everything() {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let (mut empty, mut undefined, mut bytes) = (0, 0, 0);
    const CASES: u64 = 300;
    for seed in 0..CASES {
        let case = case(seed, &Space::whole(Draws::All));
        let features = features(&case);
        empty += u32::from(!features.contains("primitives"));
        for feature in features {
            *seen.entry(feature).or_default() += 1;
        }
        let defined = model::expected(&case).defined;
        undefined += defined.iter().filter(|defined| !**defined).count();
        bytes += defined.len();
    }
    assert!(empty < CASES as u32 / 2, "{empty} cases without a primitive");
    assert!(undefined > 0 && undefined < bytes / 10, "{undefined} of {bytes}");
    let missing: Vec<String> = all()
        .into_iter()
        .filter(|feature| seen.get(feature).is_none_or(|number| *number < 3))
        .collect();
    assert!(missing.is_empty(), "{missing:?} of {seen:?}");
}

/// The same seed gives the same case, independently of the seeds before.
#[test]
fn cases_depend_on_the_seed_alone() {
    let of = |seed| {
        let case = case(seed, &Space::whole(Draws::All));
        (case.describe(), case.image)
    };
    for seed in 0..20 {
        assert!(of(seed) == of(seed), "seed {seed}");
        assert!(of(seed) != of(seed + 1), "seed {seed}");
    }
}

fn all() -> Vec<String> {
    let mut all: Vec<String> = [
        "primitives",
        "invocations",
        "overflow",
        "no room",
        "Double",
        "Uint64",
        "structure",
        "array of arrays",
        "block",
        "gap",
        "three buffers",
        "break",
        "continue",
        "return",
        "helper",
        "loop by data",
        "incomplete strip",
        "resume",
        "counter beyond the end",
        "query of a draw",
        "query of everything",
        "Last",
        "restart",
        "streams",
        "several captured streams",
        "no captured stream 0",
        "query of a stream",
        "indexed",
        "indirect",
        "count",
        "byte count",
        "Unbound",
        "OnlyOthersBound",
        "OutputsFit",
        "UncapturedStream",
    ]
    .map(str::to_owned)
    .to_vec();
    all.extend(PrimitiveTopology::ALL.map(|topology| topology.name().to_owned()));
    all.extend(Input::ALL.map(|input| format!("{input:?}")));
    all.extend(Emitted::ALL.map(|emitted| format!("emits {emitted:?}")));
    all.extend([QueryKind::Stream, QueryKind::Generated].map(|kind| format!("{kind:?}")));
    let built_ins = [
        BuiltIn::Position,
        BuiltIn::PointSize,
        BuiltIn::ClipDistance,
        BuiltIn::CullDistance,
        BuiltIn::PrimitiveId,
        BuiltIn::Layer,
        BuiltIn::ViewportIndex,
    ];
    all.extend(built_ins.map(|built_in| format!("{built_in:?}")));
    all
}

fn features(case: &Case) -> BTreeSet<String> {
    let program = &case.program;
    let mut found = vec![
        format!("{:?}", program.input),
        format!("emits {:?}", program.emitted),
        case.topology.name().to_owned(),
    ];
    let mut add = |holds: bool, what: &str| found.extend(holds.then(|| what.to_owned()));
    let emitted = || case.sections.iter().flat_map(|section| &section.emitted);
    let primitives: usize = emitted().map(|draw| draw.primitives.len()).sum();
    add(primitives > 0, "primitives");
    add(program.invocations > 1, "invocations");
    add(case.provoking == ProvokingVertex::Last, "Last");
    add(case.restart, "restart");
    add(program.streams > 1, "streams");
    let streams = program.buffer_streams.into_iter().zip(program.strides);
    let captured: BTreeSet<u32> =
        streams.filter_map(|(stream, stride)| stride.map(|_| stream)).collect();
    add(captured.len() > 1, "several captured streams");
    add(!captured.contains(&0), "no captured stream 0");
    add(program.strides.iter().flatten().count() == 3, "three buffers");
    let captured: u32 = (program.outputs.items.iter())
        .filter(|item| item.captured.is_some())
        .map(|item| item.ty.bytes())
        .sum();
    add(captured < program.strides.iter().flatten().sum(), "gap");
    for item in program.outputs.items.iter().filter(|item| item.captured.is_some()) {
        for leaf in item.ty.leaves() {
            add(leaf.scalar == Scalar::Double, "Double");
            add(leaf.scalar == Scalar::Uint64, "Uint64");
        }
        add(matches!(item.place, Place::Block(_)), "block");
        if let Place::BuiltIn(built_in) = item.place {
            add(true, &format!("{built_in:?}"));
        }
        let element = match &item.ty {
            Type::Array(element, _) => element,
            ty => ty,
        };
        add(matches!(element, Type::Struct(_)), "structure");
        add(element != &item.ty && matches!(element, Type::Array(..)), "array of arrays");
    }
    code(&program.geometry, &mut add);
    for (number, section) in case.sections.iter().enumerate() {
        add(number > 0 && section.begin.contains(&true), "resume");
        for draw in &section.draws {
            add(draw.indexed, "indexed");
            add(matches!(draw.how, How::Indirect { .. }), "indirect");
            add(matches!(draw.how, How::Indirect { count: Some(_), .. }), "count");
            add(matches!(draw.how, How::ByteCount { .. }), "byte count");
        }
    }
    for (buffer, capture) in case.captures.iter().enumerate() {
        let at = case.counter(buffer) as usize;
        let counter = u32::from_le_bytes(case.image[at..at + 4].try_into().unwrap());
        let beyond = capture.is_some_and(|capture| u64::from(counter) > capture.size);
        add(beyond && case.sections[0].begin[buffer], "counter beyond the end");
    }
    let expected = model::expected(case);
    let facts = [Fact::Unbound, Fact::OnlyOthersBound, Fact::OutputsFit, Fact::UncapturedStream];
    for fact in facts {
        add(expected.facts.contains(&fact), &format!("{fact:?}"));
    }
    for (query, [written, needed]) in case.queries.iter().zip(expected.queries) {
        add(true, &format!("{:?}", query.kind));
        add(query.stream > 0, "query of a stream");
        add(query.span == Span::Whole, "query of everything");
        add(query.span != Span::Whole, "query of a draw");
        if query.kind == QueryKind::Stream {
            add(0 < written && written < needed, "overflow");
            add(0 == written && written < needed, "no room");
        }
    }
    let short = emitted().any(|draw| draw.strips > 0 && draw.incomplete);
    add(short, "incomplete strip");
    found.into_iter().collect()
}

fn code(code: &Code, add: &mut impl FnMut(bool, &str)) {
    fn block(statements: &[Statement], code: &Code, add: &mut impl FnMut(bool, &str)) {
        for statement in statements {
            match statement {
                Statement::If(_, then, otherwise) => {
                    block(then, code, add);
                    block(otherwise, code, add);
                }
                Statement::Loop { trips, body, .. } => {
                    let is_constant = matches!(trips, Expr::Const(_));
                    add(!is_constant, "loop by data");
                    block(body, code, add);
                }
                Statement::Call(helper, _) => {
                    add(true, "helper");
                    block(&code.helpers[*helper], code, add);
                }
                Statement::Break(_) => add(true, "break"),
                Statement::Continue(_) => add(true, "continue"),
                Statement::Return(_) => add(true, "return"),
                Statement::Set(..)
                | Statement::Write { .. }
                | Statement::Emit(_)
                | Statement::End(_) => {}
            }
        }
    }
    block(&code.main, code, add);
}
