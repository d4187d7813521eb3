//! Thousands of random programs of draws: Begin and End with counters, every draw command,
//! primitive restart, state that changes between draws, and queries. They are run with every
//! backend of the device, with the compute backend under both resource plans, and compared with a
//! model of the specification.
//!
//! | variable | |
//! |---|---|
//! | `VKXFB_DRAWS` | the number of programs: by default 360 with `VKXFB_FULL=1`, and a quarter of
//! that without |
//! | `VKXFB_INDIRECT=0` | runs native programs without indirect draws and byte-count draws |
//! | `VKXFB_OMIT_BARRIER` | a barrier of the compute backend to leave out, `SetupToCapture` for example: on a GPU the test then fails, and by descriptors everywhere |
//! | `VKXFB_SOAK` | the number of minutes that the soak lasts, instead of a few steps of each
//! thread |
//! | `VKXFB_TEST_VALIDATION=0` | runs without the validation layer |
//!
//! A failure names its seed, and the first ones show the program shrunk: `VKXFB_SEED=<seed>
//! VKXFB_DRAWS=1` repeats it. For seeds, threads, and crashes of drivers see
//! tests/common/batches.rs.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]
#![allow(missing_docs, reason = "no API")]

#[path = "../common/mod.rs"]
mod common;
mod generate;
mod images;
mod known;
mod model;
mod native;
mod program;
mod recorder;
mod run;
mod sets;
mod shaders;
mod shrink;
mod soak;

use std::collections::{BTreeMap, BTreeSet};

use crate::common::skip::{Why, skip};
use common::batches::{self, Report, Worker};
use common::commands::Draw;
use common::settings::{cases, has_validation, sample_of};
use generate::{Space, generate};
use program::{Pass, PassKind, State, StateChange, Step};
use run::DrawWorker;
use shaders::CONSTANTS;
use vkxfb::lower::Backend;
use vkxfb::runtime::Barrier;
use vkxfb_probe::gpu::{OpenOptions, Profile, Resources};

/// The number of programs in one submission.
const BATCH: u64 = 50;

/// Runs programs on devices that are opened with these options.
fn run_programs(options: &OpenOptions) -> Report {
    run_part_of_programs(options, 1)
}

/// Runs one in `part` of the programs.
fn run_part_of_programs(options: &OpenOptions, part: u64) -> Report {
    let count = cases("VKXFB_DRAWS", 360).div_ceil(part);
    batches::run("draws", count, BATCH, || DrawWorker::new(options))
}

#[test]
fn random_draws_capture_what_the_model_says() {
    run_programs(&OpenOptions::default()).check();
}

/// Tests counters at Begin, at End, and at both, for some of the buffers: a capture that begins
/// without a counter has no counter address.
#[test]
fn every_combination_of_counters_holds() {
    let every_draw_is_large = OpenOptions {
        max_shared_workgroups: Some(0),
        parallel_kernels: true,
        ..Default::default()
    };
    let floor = OpenOptions { profile: Profile::Bifrost, ..Default::default() };
    let descriptors = by_descriptors(Profile::Full, None);
    for options in [OpenOptions::default(), every_draw_is_large, floor, descriptors] {
        let mut worker = DrawWorker::new(&options);
        worker.run_counter_combinations();
        let report = worker.finish();
        eprintln!("{report}");
        hold(&report);
    }
}

#[test]
fn every_combination_of_counters_holds_on_the_layer() {
    common::layer::run_on_it(every_combination_of_counters_holds, &[]);
}

/// Runs a sample of `all` programs with the layer instead of the driver's own captures.
fn run_programs_on_the_layer(all: u64, variables: &[(&str, &str)]) -> Option<String> {
    let count = sample_of(all).to_string();
    let variables = [&[("VKXFB_DRAWS", count.as_str())], variables].concat();
    common::layer::run_on_it(random_draws_capture_what_the_model_says, &variables)
}

/// Runs programs with the Vulkan layer instead of the driver's own captures.
#[test]
fn random_draws_hold_on_the_layer() {
    run_programs_on_the_layer(120, &[]);
}

/// Runs programs where the layer counts generated primitives itself, also those of draws that capture nothing.
#[test]
fn random_draws_hold_on_the_layer_that_counts() {
    run_programs_on_the_layer(90, &[common::layer::COUNTS_GENERATED]);
}

/// Runs a program that the layer once captured wrongly: a capture joins another one, and a query ends before both do.
#[test]
fn a_program_that_once_failed_holds_on_the_layer() {
    let variables = [("VKXFB_SEED", "4294967585"), ("VKXFB_DRAWS", "1")];
    common::layer::run_on_it(random_draws_capture_what_the_model_says, &variables);
}

/// Runs programs without indirect draws: the layer records their captures after the passes.
#[test]
fn random_direct_draws_hold_on_the_layer() {
    let variables = [("VKXFB_INDIRECT", "0"), ("VKXFB_LOG", "vkxfb_layer=trace")];
    let Some(said) = run_programs_on_the_layer(300, &variables) else { return };
    for what in ["captures are recorded after their pass", "together with the one before"] {
        assert!(said.contains(what), "{said}");
    }
}

/// Runs programs with passes that are withheld for a single command, so that captures come after
/// most of these passes.
#[test]
fn random_draws_hold_on_the_layer_in_long_passes() {
    let variables = [("VKXFB_LONG_PASS", "1"), ("VKXFB_LOG", "vkxfb_layer=trace")];
    let Some(said) = run_programs_on_the_layer(120, &variables) else { return };
    for what in ["a long pass is not withheld further", "captures are recorded after their pass"] {
        assert!(said.contains(what), "{said}");
    }
}

/// Runs programs with the validation layer also above the layer, to check what the layer reports to
/// programs.
#[test]
fn random_draws_hold_on_the_layer_below_validation() {
    let test = random_draws_capture_what_the_model_says;
    let count = sample_of(50).to_string();
    common::layer::run_below_validation(test, &[("VKXFB_DRAWS", &count)]);
}

/// Threads capture with the layer for as long as `VKXFB_SOAK` says.
#[test]
fn a_soak_of_threads_holds_on_the_layer() {
    if common::layer::is_there() {
        soak::run()
    } else {
        // With an arena per thread, much freed memory would stay resident.
        let variables = [("MALLOC_ARENA_MAX", "1")];
        let test = a_soak_of_threads_holds_on_the_layer;
        common::layer::run_below_validation(test, &variables);
    }
}

/// Runs native captures with the recorder, instead of recording each Vulkan command.
#[test]
fn random_draws_hold_natively_by_the_recorder() {
    hold_by_recorder(Backend::Native);
}

#[test]
fn random_draws_hold_by_vertex_shaders() {
    hold_by_recorder(Backend::Vertex);
}

/// Runs programs with a separate dispatch for each draw, as large draws have it.
#[test]
fn random_draws_hold_as_large_ones() {
    let options = OpenOptions {
        max_shared_workgroups: Some(0),
        parallel_kernels: true,
        ..Default::default()
    };
    hold(&run_part_of_programs(&options, 4));
}

/// Runs programs whose kernels place a draw or a few in a turn.
#[test]
fn random_draws_hold_in_turns() {
    let kernel_rounds = Some(72);
    for options in [OpenOptions::default(), by_descriptors(Profile::Full, None)] {
        hold(&run_part_of_programs(&OpenOptions { kernel_rounds, ..options }, 4));
    }
}

/// Runs programs with only the features of a Mali-G52, and without indirect dispatch.
#[test]
fn random_draws_hold_on_the_floor() {
    hold_by_compute(&OpenOptions { profile: Profile::Bifrost, ..Default::default() });
}

#[test]
fn random_draws_hold_by_descriptors() {
    let options = by_descriptors(Profile::Full, None);
    hold_by_compute(&OpenOptions { parallel_kernels: true, ..options });
}

/// Runs programs with the minimum that Vulkan 1.0 guarantees: also without device addresses, and
/// with workgroups of 128 invocations.
#[test]
fn random_draws_hold_on_what_every_device_has() {
    let workgroup_invocations = Some(128);
    let options = by_descriptors(Profile::Bifrost, None);
    hold_by_compute(&OpenOptions { workgroup_invocations, ..options });
}

/// Runs programs with so few descriptors that several ranges share most of them. With the fewest,
/// descriptors overlap capture buffers. With fewer than 16 there are not enough for all kinds of
/// state.
#[test]
fn random_draws_hold_by_few_descriptors() {
    for storage_buffers in [16, 8, 4] {
        let options = by_descriptors(Profile::Full, Some(storage_buffers));
        hold(&run_part_of_programs(&options, 4));
    }
}

fn by_descriptors(profile: Profile, storage_buffers: Option<u32>) -> OpenOptions {
    let resources = Resources::Descriptors;
    OpenOptions { profile, resources, storage_buffers, ..Default::default() }
}

fn hold_by_compute(options: &OpenOptions) {
    hold(&run_programs(options));
}

fn hold(report: &Report) {
    report.check();
    assert!(report.compared[&Backend::Compute] > 0);
}

fn hold_by_recorder(backend: Backend) {
    let device = common::device::open(Profile::Full);
    let lacks = if !device.backends().contains(&backend) {
        Some(format!("the device has no {backend} backend"))
    } else if !device.capabilities().shader_draw_parameters {
        Some("the shaders of draws take shaderDrawParameters".to_owned())
    } else {
        None
    };
    drop(device);
    if let Some(reason) = lacks {
        return skip(Why::Expected(reason));
    }
    let count = cases("VKXFB_DRAWS", 360);
    let report = batches::run("draws", count, BATCH, || DrawWorker::by_recorder(backend));
    report.check();
    assert!(report.compared[&backend] > 0);
}

/// Synchronization validation reports each barrier that is left out.
/// ([`Barrier::CaptureToConsumer`] is tested in tests/recorder/recording.rs: between the captures
/// of these programs, barriers of kernels replace it.)
#[test]
fn barriers_that_lack_are_reported() {
    if !has_validation() {
        return skip(Why::Expected("without the validation layer"));
    }
    let of_kernels = [
        Barrier::BeforeSetup,
        Barrier::RestartToSetup,
        Barrier::SetupToCapture,
        Barrier::BeforeFinish,
        Barrier::BeforeFused,
    ];
    for (storage_buffers, barriers) in [(None, &of_kernels[..]), (Some(4), &[Barrier::Scarce])] {
        let mut worker = DrawWorker::new(&by_descriptors(Profile::Full, storage_buffers));
        for barrier in [None].into_iter().chain(barriers.iter().copied().map(Some)) {
            let mut reported = 0;
            for start in (0..100).step_by(10) {
                let messages = worker.messages_without(barrier, start..start + 10);
                assert!(messages.iter().all(|m| m.id.starts_with("SYNC-HAZARD")), "{messages:?}");
                reported += messages.len();
                // One message is enough to show that the barrier is needed.
                if reported > 0 {
                    break;
                }
            }
            eprintln!(
                "{storage_buffers:?} storage buffers, {barrier:?} left out: {reported} messages"
            );
            assert_eq!(reported > 0, barrier.is_some(), "{barrier:?}: {reported} messages");
        }
        assert!(worker.finish().failures.is_empty());
    }
}

/// On every backend, a wrong model must be noticed.
#[test]
fn a_wrong_model_is_found_out() {
    let mut worker = DrawWorker::new(&OpenOptions::default());
    worker.perturb = true;
    worker.batch(&(0..20).collect::<Vec<_>>());
    let report = worker.finish();
    let compared: u64 = report.compared.values().sum();
    assert!(compared > 5, "{report}");
    assert_eq!(report.failures.len() as u64, compared, "{report}");
}

/// The same seed gives the same program, independently of the seeds before.
#[test]
fn programs_depend_on_the_seed_alone() {
    let text = |seed| {
        let program = generate(seed, &Space::whole());
        format!("{:?} {:?}", program.rounds, program.memory)
    };
    for seed in 0..20 {
        assert_eq!(text(seed), text(seed));
        assert_ne!(text(seed), text(seed + 1));
    }
}

/// Programs contain every command, topology, kind of query and index type, and every fact except
/// the forbidden one, also in the sample.
#[test]
fn the_generator_reaches_everything() {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut sampled = BTreeSet::new();
    for seed in 0..1000 {
        let program = generate(seed, &Space::whole());
        let (_, facts) = model::run(&program);
        let mut features: BTreeSet<String> = program.draws().map(str::to_owned).collect();
        features.extend(facts.iter().map(|fact| format!("{fact:?}")));
        features.extend(program.queries.iter().map(|kind| format!("{kind:?}")));
        let mut pass = None;
        for step in program.rounds.iter().flatten() {
            match step {
                Step::BeginPass(Pass { kind, secondaries }) => {
                    pass = Some(*kind);
                    let of = if *secondaries { "secondaries in " } else { "" };
                    features.insert(format!("{of}{kind:?}"));
                }
                Step::EndPass => pass = None,
                Step::BeginSecondary(times) => {
                    let place = if pass.is_some() { "in a pass" } else { "around passes" };
                    features.insert(format!("a secondary {place}, times {times}"));
                }
                Step::Change(StateChange::Pipeline(state)) => {
                    let State { topology, provoking, restart, .. } = state;
                    features.extend([
                        topology.to_string(),
                        format!("{provoking:?}"),
                        format!("restart {restart}"),
                    ]);
                }
                Step::Change(StateChange::IndexBuffer(buffer)) => {
                    features.insert(format!("indices of {}", buffer.index_size));
                }
                Step::Change(StateChange::DescriptorSets { first, sets }) => {
                    features.insert(format!("{} sets from {first} on", sets.len()));
                }
                Step::Change(StateChange::PushConstants { first, .. }) => {
                    features.insert(format!("push constants from {first} on"));
                }
                Step::Change(StateChange::ProvokingVertex(provoking)) => {
                    features.insert(format!("dynamic {provoking:?}"));
                }
                Step::Change(StateChange::BeginConditionalRendering(condition)) => {
                    features.insert(format!("conditional rendering {}", condition.inverted));
                }
                Step::Change(StateChange::PrimitiveRestart(restart)) => {
                    features.insert(format!("dynamic restart {restart}"));
                }
                _ => {}
            }
        }
        if seed < sample_of(360) {
            sampled.extend(features.iter().cloned());
        }
        for feature in features {
            *seen.entry(feature).or_default() += 1;
        }
    }
    assert!(!seen.contains_key("VertexOutOfRange"), "{seen:?}");
    let facts = 21;
    let (commands, topologies, provoking, restart, indices, queries) = (9, 10, 2, 2, 3, 2);
    let state = 3 + 2 + 2 + 2 + CONSTANTS;
    let passes = 2 * PassKind::ALL.len() + 4;
    let all =
        commands + topologies + provoking + restart + indices + queries + state + passes + facts;
    assert_eq!(seen.len(), all, "{seen:?}");
    assert!(seen.keys().all(|feature| sampled.contains(feature)), "{sampled:?} of {seen:?}");
    let rare: Vec<_> = seen.iter().filter(|(_, count)| **count < 10).collect();
    assert!(rare.is_empty(), "{rare:?} of {seen:?}");
}

/// What nothing orders is undefined: no command reads a counter that another capture wrote since the last barrier, and none is
/// written that a draw or another capture read or wrote. A driver on the CPU, which executes commands in their order, would hide it.
#[test]
fn barriers_order_what_programs_read_and_write() {
    for seed in 0..2000 {
        let program = generate(seed, &Space::whole());
        for round in 0..program.rounds.len() {
            let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
            let (mut kind, mut begun) = (PassKind::default(), Vec::new());
            for step in program.executed(round) {
                let reads = match step {
                    Step::BeginPass(pass) => {
                        kind = pass.kind;
                        continue;
                    }
                    Step::NextPart if !kind.orders_parts() => continue,
                    Step::NextPart | Step::Barrier => {
                        read.clear();
                        written.clear();
                        continue;
                    }
                    Step::End(counters) => {
                        for counter in counters.counters.iter().flatten() {
                            assert!(!read.contains(counter), "{seed}: {program}");
                            assert!(written.insert(*counter), "{seed}: {program}");
                        }
                        read.extend(begun.drain(..));
                        continue;
                    }
                    // A capture writes the counters that it read itself at its End.
                    Step::Begin(counters) => {
                        begun = counters.counters.iter().flatten().copied().collect();
                        let is_seen = begun.iter().all(|counter| !written.contains(counter));
                        assert!(is_seen, "{seed}: {program}");
                        continue;
                    }
                    Step::Draw(Draw::ByteCount { counter, .. }) => *counter,
                    Step::Change(StateChange::BeginConditionalRendering(condition)) => {
                        condition.offset
                    }
                    _ => continue,
                };
                assert!(!written.contains(&reads), "{seed}: {program}");
                read.insert(reads);
            }
        }
    }
}
