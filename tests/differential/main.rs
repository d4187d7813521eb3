//! Thousands of random vertex shaders, captured by every backend of the device and compared with a
//! model that runs them on the CPU. For variety, spirv-opt optimises some of them first.
//!
//! | variable | |
//! | `VKXFB_SHADERS` | the number of shaders: by default 300 with `VKXFB_FULL=1`, and 160 without |
//! | `VKXFB_SHADERS` | how many: by default 300 with `VKXFB_FULL=1`, and 160 without |
//! | `VKXFB_TEST_VALIDATION=0` | runs without the validation layer |
//! | `VKXFB_TEST_TOOLS=0` | runs without spirv-val and spirv-opt |
//!
//! A failure names its seed: `VKXFB_SEED=<seed> VKXFB_SHADERS=1` repeats it. Modules that failed
//! are written to the directory for temporary files as `vkxfb-<seed>-<who>.spv`. For seeds,
//! threads, and crashes of drivers see tests/common/batches.rs.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(missing_docs, reason = "no API")]

mod case;
#[path = "../common/mod.rs"]
mod common;
mod generator;
mod known;
mod run;

use std::collections::{BTreeMap, BTreeSet};

use common::batches::{self, Worker};
use common::settings::{cases, is_full, number, sample_of};
use generator::interface::{BuiltIn, Shape};
use generator::program::Cell;
use generator::pushed::{Block, Laid};
use generator::types::{Scalar, Type};
use generator::{Generated, Space, generate};
use run::ShaderWorker;
use vkxfb_probe::gpu::Resources;

/// The number of shaders with which the generator reaches every feature.
const SAMPLE: u64 = 160;

/// The number of shaders in one submission.
const BATCH: u64 = 20;

#[test]
fn random_shaders_capture_what_the_model_says() {
    let count = number("VKXFB_SHADERS", if is_full() { 300 } else { SAMPLE });
    batches::run("differential", count, BATCH, || ShaderWorker::new(Resources::Best)).check();
}

/// Some of the shaders are captured again, with descriptors instead of device addresses.
#[test]
fn random_shaders_capture_the_same_by_descriptors() {
    let count = cases("VKXFB_SHADERS", 300);
    let open = || ShaderWorker::new(Resources::Descriptors);
    batches::run("differential-descriptors", count, BATCH, open).check();
}

/// Some of the shaders are captured with the Vulkan layer instead of the driver's own captures.
#[test]
fn random_shaders_capture_the_same_on_the_layer() {
    let test = random_shaders_capture_what_the_model_says;
    common::layer::run_on_it(test, &[("VKXFB_SHADERS", &sample_of(120).to_string())]);
}

/// On every backend, a wrong model must be noticed.
#[test]
fn a_wrong_model_is_found_out() {
    let mut worker = ShaderWorker::new(Resources::Best);
    worker.perturb = true;
    worker.batch(&(0..8).collect::<Vec<_>>());
    let report = worker.finish();
    let captured: u64 = report.compared.values().sum();
    assert!(captured > 8, "{report}");
    assert_eq!(report.failures.len() as u64, captured, "{report}");
}

/// The generator produces every kind of shader, also in the sample, and most captured values are
/// defined.
#[test]
fn the_generator_reaches_everything() {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let mut sampled = BTreeSet::new();
    let (mut cells, mut undefined, mut near) = (0, 0, 0);
    for seed in 0..600 {
        let shader = generate(seed, &Space::whole());
        for cell in shader.cells(0, 1, 5) {
            cells += 1;
            undefined += u32::from(cell == Cell::Undefined);
            near += u32::from(matches!(cell, Cell::Near(..)));
        }
        let features = features(&shader);
        if seed < SAMPLE {
            sampled.extend(features.iter().copied());
        }
        for feature in features {
            *seen.entry(feature).or_default() += 1;
        }
    }
    assert!(undefined > cells / 50 && undefined < cells / 4, "{undefined} of {cells}");
    assert!(near > cells / 500 && near < cells / 20, "{near} of {cells}");
    let all = [
        "array of arrays",
        "array of blocks",
        "array of structures",
        "attributes",
        "block",
        "block with an offset",
        "clip distances",
        "component",
        "cull distances",
        "double",
        "four buffers",
        "gap",
        "initializer",
        "int64",
        "layer",
        "location on block",
        "location on member",
        "matrix",
        "matrix of doubles",
        "point size",
        "position",
        "push constants",
        "push constants of doubles",
        "push constants of matrices",
        "push constants of structures",
        "specialised length",
        "structure in structure",
        "viewport index",
    ];
    let missing: Vec<_> = all.iter().filter(|f| seen.get(*f).is_none_or(|n| *n < 5)).collect();
    assert!(missing.is_empty(), "{missing:?} of {seen:?}");
    assert!(all.iter().all(|feature| sampled.contains(feature)), "{sampled:?} of {all:?}");
}

/// The same seed gives the same shader, independently of the seeds before.
#[test]
fn shaders_depend_on_the_seed_alone() {
    for seed in 0..50 {
        let words = generate(seed, &Space::whole()).words;
        assert_eq!(words, generate(seed, &Space::whole()).words);
        assert_ne!(words, generate(seed + 1, &Space::whole()).words);
    }
}

/// Returns the names of the features that a shader has.
fn features(shader: &Generated) -> Vec<&'static str> {
    let mut features = Vec::new();
    for variable in &shader.interface.variables {
        if variable.items().iter().all(|item| item.captured.is_none()) {
            continue;
        }
        if let Shape::Block { location, .. } = &variable.shape {
            features.push("block");
            features.extend(location.map(|_| "location on block"));
            features.extend(variable.elements().map(|_| "array of blocks"));
            features.extend(variable.is_whole_block().then_some("block with an offset"));
            let on_member = variable.items().iter().any(|m| m.location.is_some());
            features.extend(on_member.then_some("location on member"));
        }
    }
    for item in shader.items().filter(|item| item.captured.is_some()) {
        features.extend(item.built_in.map(|which| match which {
            BuiltIn::Position => "position",
            BuiltIn::PointSize => "point size",
            BuiltIn::ClipDistance => "clip distances",
            BuiltIn::CullDistance => "cull distances",
            BuiltIn::Layer => "layer",
            BuiltIn::ViewportIndex => "viewport index",
        }));
        features.extend(item.component.map(|_| "component"));
        types(&item.ty, &mut features);
    }
    let bytes = shader.captured.iter().map(|c| c.scalar.bytes()).sum::<u32>();
    let strides = shader.interface.strides.iter().flatten();
    features.extend((bytes < strides.clone().sum()).then_some("gap"));
    features.extend((strides.count() == 4).then_some("four buffers"));
    features.extend((!shader.attributes.is_empty()).then_some("attributes"));
    if let Some(Block { ty: Laid::Struct(members), .. }) = &shader.pushed {
        let any = |test: fn(&Laid) -> bool| members.iter().any(|(_, member)| test(member));
        features.push("push constants");
        let doubles = any(|member| member.any_scalar(|scalar| scalar == Scalar::F64));
        features.extend(doubles.then_some("push constants of doubles"));
        let matrices = any(|member| matches!(member, Laid::Matrix { is_row_major: true, .. }));
        features.extend(matrices.then_some("push constants of matrices"));
        let structures = any(|member| matches!(member, Laid::Struct(_)));
        features.extend(structures.then_some("push constants of structures"));
    }
    let initialized = shader.program.initializers.iter().any(Option::is_some);
    features.extend(initialized.then_some("initializer"));
    features.sort_unstable();
    features.dedup();
    features
}

fn types(ty: &Type, features: &mut Vec<&'static str>) {
    let scalar = match ty {
        Type::Scalar(scalar) | Type::Vector(scalar, _) | Type::Matrix(scalar, ..) => Some(scalar),
        _ => None,
    };
    features.extend(scalar.and_then(|scalar| match scalar {
        Scalar::F64 => Some("double"),
        Scalar::I64 | Scalar::U64 => Some("int64"),
        _ => None,
    }));
    match ty {
        Type::Matrix(Scalar::F64, ..) => features.push("matrix of doubles"),
        Type::Matrix(..) => features.push("matrix"),
        Type::Array(element, length) => {
            features.extend((!length.is_literal()).then_some("specialised length"));
            match **element {
                Type::Array(..) => features.push("array of arrays"),
                Type::Struct(..) => features.push("array of structures"),
                _ => {}
            }
            types(element, features);
        }
        Type::Struct(members) => {
            let nested = members.iter().any(|m| matches!(m, Type::Struct(_)));
            features.extend(nested.then_some("structure in structure"));
            members.iter().for_each(|m| types(m, features));
        }
        _ => {}
    }
}
