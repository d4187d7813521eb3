//! Tests of plans as values, without a device.

use crate::runtime::recording::collect::{
    BoundCaptureBuffer, Collected, CollectedDraw, EndedCapture, Position, State, StateProperties,
    most_invocations,
};
use crate::runtime::recording::plan::*;
use vkxfb_rewriter::counts::BoundBuffer;
use vkxfb_rewriter::lower::LoweredTessellation;
use vkxfb_rewriter::lower::compute::WorkgroupSizes;
use vkxfb_rewriter::lower::kernel;
use vkxfb_rewriter::lower::{GeometryInput, LoweredGeometry};
use vkxfb_rewriter::sysval::entries::{ENTRIES_PER_BLOCK, ENTRY_BLOCK_SIZE, ENTRY_SIZE};
use vkxfb_rewriter::sysval::setup::{DrawCommand, kind, operation};
use vkxfb_rewriter::sysval::{draw_flags, flags};
use vkxfb_rewriter::tessellator::{Domain, Spacing, Tessellator};
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

const LIST: PrimitiveTopology = PrimitiveTopology::TriangleList;
const STRIP: PrimitiveTopology = PrimitiveTopology::TriangleStrip;

/// The limits of a device with device addresses.
const ADDRESSES: Limits = Limits {
    workgroups_per_axis: 65535,
    shared_workgroups: 64,
    serial_kernels: false,
    kernel_rounds: 65_535,
    entries: 1 << 10,
    by_descriptors: false,
    indirect_dispatch: true,
    tests_alignment: true,
    ends_first: false,
};
const DESCRIPTORS: Limits = Limits { by_descriptors: true, tests_alignment: false, ..ADDRESSES };

/// The counters that the end of a capture writes: only buffer 0 has one.
const COUNTERS: [Address; 4] = [[16, 0], [0; 2], [0; 2], [0; 2]];
const NO_COUNTERS: [Address; 4] = [[0; 2]; 4];

/// A capture of 16 bytes for each vertex into a large buffer. All draws have one state.
fn captured(draws: &[CollectedDraw]) -> Collected {
    let properties = StateProperties {
        sizes: Some(WorkgroupSizes::all(64)),
        is_counted: true,
        has_aligned_attributes: true,
        vertices: u32::MAX,
        instances: u32::MAX,
        ..StateProperties::default()
    };
    let buffer = BoundBuffer { size: 1 << 30, position: 0, stride: 16 };
    let mut collected = Collected::default();
    collected.targets[0] = Some(BoundCaptureBuffer { buffer, address: [0, 1] });
    collected.states = vec![State { properties, ..State::default() }];
    collected.draws = draws.to_vec();
    for draw in &mut collected.draws {
        draw.invocations = most_invocations(draw.topology, &draw.command, [buffer].into_iter());
    }
    collected
}

fn draw(topology: PrimitiveTopology, count: u32) -> CollectedDraw {
    let command = DrawCommand {
        topology: topology.xfb_topology() as u32,
        flags: draw_flags(topology, 0, ProvokingVertex::First),
        count,
        instance_count: 1,
        ..DrawCommand::default()
    };
    CollectedDraw { topology, command, state: 0, invocations: 0 }
}

/// Makes a draw indexed, with 32-bit indices that are all within the bound range.
fn indexed(mut draw: CollectedDraw, restart: bool) -> CollectedDraw {
    let command = &mut draw.command;
    command.flags |= 4 | if restart { flags::RESTART } else { 0 };
    (command.index_address, command.index_limit) = ([0, 3], 1 << 18);
    draw
}

fn indirect(mut draw: CollectedDraw, draw_count: u32) -> CollectedDraw {
    let command = &mut draw.command;
    (command.kind, command.arguments, command.draw_count) = (kind::INDIRECT, [0, 4], draw_count);
    (command.count, command.instance_count) = (u32::MAX, u32::MAX);
    draw
}

/// Makes a plan, and describes each of its steps in words.
fn plan(limits: &Limits, collected: &Collected, counters: &[Address; 4]) -> Vec<String> {
    let mut plan = Plan::default();
    plan.make(limits, collected, counters, true).unwrap();
    check(&plan);
    plan.steps.iter().map(described).collect()
}

/// Checks the properties that every plan has: blocks refer to earlier blocks, and steps and blocks refer to blocks with
/// the contents that they need.
fn check(plan: &Plan) {
    let upload = |id: BlockId| match &plan.blocks[id.0].contents {
        Contents::Upload(upload) => upload,
        other => panic!("{other:?}"),
    };
    let is_scratch = |id: BlockId, scratch| {
        assert_eq!(plan.blocks[id.0].contents, Contents::Scratch(scratch));
    };
    let is_listed = |id, count| {
        assert!(matches!(upload(id), Upload::Listed { draws, .. } if draws.len() == count));
    };
    let is_within = |batch: BatchId| {
        assert!((batch.number as u64 + 1) * batch.size <= plan.blocks[batch.block.0].size);
    };
    let is_batch = |batch: BatchId| {
        is_scratch(batch.block, Scratch::Batches);
        is_within(batch);
    };
    let is_entries = |block: BlockId| {
        let contents = &plan.blocks[block.0].contents;
        let by_gpu = *contents == Contents::Scratch(Scratch::Entries);
        assert!(by_gpu || matches!(contents, Contents::Upload(Upload::Entries { .. })));
    };
    for (number, block) in plan.blocks.iter().enumerate() {
        let Contents::Upload(contents) = &block.contents else { continue };
        let references = match *contents {
            Upload::Batches { first, count } => {
                let listed = first.0..first.0 + count;
                let kinds = listed.clone().map(|id| upload(BlockId(id)));
                assert!(kinds.into_iter().all(|kind| matches!(kind, Upload::Listed { .. })));
                listed.map(BlockId).collect()
            }
            Upload::Finish { operations, count } => {
                assert!(
                    matches!(upload(operations), Upload::Operations(all) if all.len() == count as usize)
                );
                vec![operations]
            }
            Upload::Resume { known, batches, .. } => {
                assert!(matches!(upload(known), Upload::Batches { .. }));
                is_scratch(batches, Scratch::Batches);
                vec![known, batches]
            }
            Upload::Setup { commands, draws, groups, batches, entry_setup, .. } => {
                assert_eq!(
                    [upload(commands), upload(groups)],
                    [&Upload::DrawCommands, &Upload::WorkgroupSizes]
                );
                is_scratch(draws, Scratch::PlacedDraws);
                is_scratch(batches, Scratch::Batches);
                let tables = entry_setup.map(|entry_setup| entry_setup.tables);
                tables.into_iter().for_each(|tables| {
                    assert!(matches!(upload(tables), Upload::EntryTables { .. }));
                });
                [commands, draws, groups, batches].into_iter().chain(tables).collect()
            }
            Upload::EntryTables { counts, entries } => {
                is_scratch(counts, Scratch::EntryCounts);
                is_scratch(entries, Scratch::Entries);
                vec![counts, entries]
            }
            Upload::Reduction { ranges, .. } => {
                assert_eq!(upload(ranges), &Upload::RestartRanges);
                vec![ranges]
            }
            Upload::Entries { counts } => {
                is_scratch(counts, Scratch::EntryCounts);
                vec![counts]
            }
            Upload::EntrySums { counts, last } => {
                is_scratch(counts, Scratch::EntryCounts);
                is_entries(last.block);
                assert_eq!(last.number, plan.entry_groups.len() - 1);
                let groups = plan.entry_groups.iter().filter_map(|group| group.entries);
                assert!(
                    groups
                        .map(|[first, count]| first + count.div_ceil(ENTRIES_PER_BLOCK))
                        .all(|end| end <= plan.entry_blocks)
                );
                let block = u64::from(ENTRIES_PER_BLOCK) * ENTRY_SIZE + ENTRY_BLOCK_SIZE;
                assert_eq!(plan.blocks[counts.0].size, block * u64::from(plan.entry_blocks));
                vec![counts, last.block]
            }
            Upload::EntryJobs { entries, emit_batches } => {
                is_entries(entries);
                is_scratch(emit_batches, Scratch::Batches);
                vec![entries, emit_batches]
            }
            Upload::PlaceEntries { jobs, .. } => {
                assert!(matches!(upload(jobs), Upload::EntryJobs { .. }));
                vec![jobs]
            }
            Upload::Listed { .. }
            | Upload::Operations(_)
            | Upload::Fused { .. }
            | Upload::DrawCommands
            | Upload::WorkgroupSizes
            | Upload::RestartRanges => vec![],
        };
        assert!(references.iter().all(|id| id.0 < number));
    }
    for step in &plan.steps {
        match *step {
            Step::MovePositions(block) => is_scratch(block, Scratch::MovedPositions),
            Step::Barrier { .. } => {}
            Step::Kernel { kernel, parameters, .. } | Step::Turns { kernel, parameters, .. } => {
                assert!(matches!(
                    (kernel, upload(parameters)),
                    (Kernel::Finish, Upload::Finish { .. })
                        | (Kernel::Resume, Upload::Resume { .. })
                        | (
                            Kernel::Setup(kernel::Setup { makes_entries: false, .. }),
                            Upload::Setup { entry_setup: None, .. }
                        )
                        | (
                            Kernel::Setup(kernel::Setup { makes_entries: true, .. }),
                            Upload::Setup { entry_setup: Some(_), .. }
                        )
                        | (Kernel::EntrySums, Upload::EntrySums { .. })
                        | (Kernel::PlaceEntries { .. }, Upload::PlaceEntries { .. })
                        | (
                            Kernel::Restart
                                | Kernel::RestartScan
                                | Kernel::PatchRestart
                                | Kernel::PatchRestartScan,
                            Upload::Reduction { .. }
                        )
                ))
            }
            Step::Capture(CaptureStep { draws, size, .. }) => {
                match draws {
                    Draws::Pushed(_) => {}
                    Draws::Listed(block, count) => is_listed(block, count),
                    Draws::Emitted { pushed, listed, batch, entries, is_count_pass } => {
                        assert!(pushed.is_none() || listed.is_some_and(|(_, count)| count == 1));
                        listed.into_iter().for_each(|(block, count)| is_listed(block, count));
                        // If the draws are listed, the CPU writes the batch of the count pass.
                        if listed.is_some() && is_count_pass {
                            assert!(matches!(upload(batch.block), Upload::Batches { .. }))
                        } else {
                            is_batch(batch)
                        }
                        is_within(batch);
                        is_entries(entries.block);
                        is_within(entries);
                    }
                    Draws::Resumed(block, count, batch) => {
                        is_listed(block, count);
                        is_batch(batch);
                    }
                    Draws::Batch(batch) => is_batch(batch),
                    Draws::Fused(_, block) => {
                        assert!(matches!(upload(block), Upload::Fused { .. }))
                    }
                    Draws::Restarted(_, block) => is_scratch(block, Scratch::RestartTable),
                }
                if let Size::Indirect(batch) = size {
                    // Barriers go by this.
                    assert!(plan.groups.iter().any(Group::is_indirect));
                    let is_emitted = matches!(draws, Draws::Emitted { .. });
                    assert!(is_emitted || draws == Draws::Batch(batch));
                    is_batch(batch);
                }
            }
        }
    }
}

fn described(step: &Step) -> String {
    match step {
        Step::MovePositions(_) => "positions are moved".to_owned(),
        Step::Barrier { which, when, then } => format!("barrier {which:?} {when:?} {then:?}"),
        Step::Kernel { kernel, workgroups: [x, y], .. } => format!("{kernel} {x} x {y}"),
        Step::Turns { kernel, count, .. } => format!("{kernel} in {count} turns"),
        Step::Capture(CaptureStep { key, draws, size, .. }) => {
            let draws = match draws {
                Draws::Pushed(_) => "one pushed".to_owned(),
                Draws::Listed(_, count) => format!("{count} listed"),
                Draws::Resumed(_, count, _) => format!("{count} resumed"),
                Draws::Emitted { pushed, listed, batch, is_count_pass, .. } => {
                    let draws = match (pushed, listed) {
                        (Some(_), _) => "one pushed".to_owned(),
                        (None, Some((_, count))) => format!("{count} listed"),
                        (None, None) => format!("batch {}", batch.number),
                    };
                    format!("{draws} {}", if *is_count_pass { "counted" } else { "emitted" })
                }
                Draws::Batch(batch) => format!("batch {}", batch.number),
                Draws::Fused(..) => "one fused".to_owned(),
                Draws::Restarted(..) => "one restarted".to_owned(),
            };
            let size = match size {
                Size::Direct([x, y]) => format!("{}", x * y),
                Size::DirectUpTo([x, y]) => format!("up to {}", x * y),
                Size::Indirect(_) => "indirect".to_owned(),
            };
            let key = key.to_string().replace("vkxfb compute, ", "");
            format!("capture {draws}, workgroups {size}: {key}")
        }
    }
}

#[test]
fn draws_that_the_cpu_knows_need_nothing_else() {
    let before = "barrier BetweenCaptures InOrder Captured";
    assert_eq!(
        plan(&ADDRESSES, &captured(&[draw(LIST, 1 << 20)]), &NO_COUNTERS),
        [before, "capture one pushed, workgroups 16384: Pushed, List"]
    );
    assert_eq!(
        plan(&ADDRESSES, &captured(&[draw(LIST, 300); 1000]), &NO_COUNTERS),
        [before, "capture 1000 listed, workgroups 5000: Listed, indexed, checked, List"]
    );
    // A large draw separates the small draws before it from those after it.
    let draws = [draw(LIST, 3), draw(LIST, 6), draw(STRIP, 10_000), draw(LIST, 3)];
    assert_eq!(
        plan(&ADDRESSES, &captured(&draws), &NO_COUNTERS),
        [
            before,
            "capture 2 listed, workgroups 2: Listed, indexed, checked",
            "capture one pushed, workgroups 157: Pushed, TriStrip",
            "capture one pushed, workgroups 1: Pushed, List"
        ]
    );
}

/// If the pipeline stages records, a large draw is checked, because only checked Vulkan pipelines stage, and staging
/// saves more time than omitted checks.
#[test]
fn large_draws_of_pipelines_that_stage_are_checked() {
    let staged = |count| {
        let mut collected = captured(&[draw(LIST, count)]);
        collected.states[0].properties.is_staged = true;
        plan(&ADDRESSES, &collected, &NO_COUNTERS)[1].clone()
    };
    assert_eq!(staged(1 << 20), "capture one pushed, workgroups 16384: Pushed, checked, List");
    assert_eq!(staged(600), "capture one pushed, workgroups 10: Pushed, List");
}

/// Single draws without indices may have larger workgroups than all others.
#[test]
fn each_dispatch_has_workgroups_of_its_pipeline() {
    let large = draw(LIST, 1 << 20);
    let mut collected = captured(&[
        large,
        indexed(large, false),
        draw(PrimitiveTopology::TriangleFan, 1 << 20),
        draw(LIST, 300),
    ]);
    let sizes = WorkgroupSizes::all(64).unindexed(128);
    collected.states[0].properties.sizes = Some(sizes);
    let captures = |collected: &Collected, counters| {
        let steps = plan(&ADDRESSES, collected, counters).into_iter();
        steps.filter(|step| step.starts_with("capture")).collect::<Vec<_>>()
    };
    assert_eq!(
        captures(&collected, &NO_COUNTERS),
        [
            "capture one pushed, workgroups 8192: Pushed, List",
            "capture one pushed, workgroups 16384: Pushed, indexed, checked, List",
            "capture one pushed, workgroups 12288: Pushed, TriFan",
            "capture one pushed, workgroups 3: Pushed, List",
        ]
    );
    // Neither resumed, fused nor listed draws have such workgroups.
    (collected.position, collected.counters) = (Position::Counters, COUNTERS);
    let resumed = captures(&collected, &NO_COUNTERS);
    assert_eq!(resumed[0], "capture 1 resumed, workgroups 16384: General, indexed, checked, List");
    let mut few = captured(&[draw(LIST, 300); 2]);
    few.states[0].properties.sizes = Some(sizes);
    assert_eq!(
        captures(&few, &NO_COUNTERS),
        ["capture 2 listed, workgroups 10: Listed, indexed, checked"]
    );
    few.draws.truncate(1);
    assert_eq!(
        captures(&few, &COUNTERS),
        ["capture one fused, workgroups 5: Fused, indexed, checked, List"]
    );
}

/// The list of a dispatch contains what is bound for each draw, except for the pipeline and the descriptor sets.
#[test]
fn small_draws_with_the_same_pipeline_and_sets_share_a_dispatch() {
    let planned = |maps_push_data, change: fn(&mut State)| {
        let mut collected = captured(&[draw(LIST, 300); 4]);
        collected.states[0].properties.maps_push_data = maps_push_data;
        let mut other = collected.states[0];
        change(&mut other);
        collected.states.push(other);
        collected.draws[1].state = 1;
        collected.draws[2].state = 1;
        plan(&ADDRESSES, &collected, &NO_COUNTERS).split_off(1)
    };
    let with = |change| planned(false, change);
    let shared = ["capture 4 listed, workgroups 20: Listed, indexed, checked"];
    assert_eq!(with(|state| state.attributes = 1), shared);
    assert_eq!(with(|state| state.constants = 1), shared);
    assert_eq!(with(|state| state.properties.vertices = 299), shared);
    let alone = "capture one pushed, workgroups 5: Pushed, List";
    let apart = [alone, "capture 2 listed, workgroups 10: Listed, indexed, checked", alone];
    assert_eq!(with(|state| state.pipeline = 1), apart);
    assert_eq!(with(|state| state.sets = 1), apart);
    assert_eq!(with(|state| state.heaps = 1), apart);
    // If the shader finds descriptors by push data, draws with other push data have their own dispatch.
    assert_eq!(planned(true, |state| state.constants = 1), apart);
    assert_eq!(planned(true, |state| state.attributes = 1), shared);
}

/// Draws of a pipeline that captures no output are not counted, even if buffers are bound.
#[test]
fn draws_without_captured_outputs_are_not_counted() {
    let mut collected = captured(&[draw(LIST, 3), draw(LIST, 6)]);
    let mut other = collected.states[0];
    other.properties.is_counted = false;
    collected.states.push(other);
    collected.draws[1].state = 1;
    let mut plan = Plan::default();
    plan.make(&ADDRESSES, &collected, &NO_COUNTERS, true).unwrap();
    assert_eq!(plan.captured.unwrap().primitives_written, 1);
    assert_eq!(plan.after, Position::Known(9));
}

#[test]
fn what_does_not_fit_or_draws_nothing_is_not_dispatched() {
    let mut full = captured(&[draw(LIST, 3)]);
    full.targets[0].as_mut().unwrap().buffer.size = 47;
    assert_eq!(plan(&ADDRESSES, &full, &NO_COUNTERS), [""; 0]);
    assert_eq!(plan(&ADDRESSES, &captured(&[draw(STRIP, 2)]), &NO_COUNTERS), [""; 0]);
}

#[test]
fn counters_take_a_kernel_or_none() {
    let fused = [
        "barrier BeforeFused Touched CapturedAndCounted",
        "capture one fused, workgroups 5: Fused, indexed, checked, TriStrip",
    ];
    assert_eq!(plan(&ADDRESSES, &captured(&[draw(STRIP, 300)]), &COUNTERS), fused);
    let mut resumed = captured(&[draw(STRIP, 300)]);
    (resumed.position, resumed.counters) = (Position::Counters, COUNTERS);
    assert_eq!(plan(&ADDRESSES, &resumed, &COUNTERS), fused);
    // The CPU knows the counter that the first capture writes, but not where the capture that resumes from it begins.
    assert_eq!(
        plan(&ADDRESSES, &captured(&[draw(LIST, 300); 3]), &COUNTERS),
        [
            "barrier BetweenCaptures InOrder Captured",
            "capture 3 listed, workgroups 15: Listed, indexed, checked",
            "barrier BeforeFinish Touched Operations { first: 0, end: 1 }",
            "Finish 1 x 1"
        ]
    );
    let mut resumed = captured(&[draw(LIST, 300); 3]);
    (resumed.position, resumed.counters) = (Position::Counters, COUNTERS);
    assert_eq!(
        plan(&ADDRESSES, &resumed, &COUNTERS),
        [
            "barrier BeforeSetup Always Unknown",
            "Resume 1 x 1",
            "barrier SetupToCapture Always Captured",
            "capture 3 resumed, workgroups 15: Listed, indexed, checked"
        ]
    );
    // Under the descriptor plan only the setup kernel resumes captures.
    assert_eq!(
        plan(&DESCRIPTORS, &resumed, &COUNTERS),
        [
            "barrier BeforeSetup Always Unknown",
            "Setup 1 x 1",
            "barrier SetupToCapture Always Captured",
            "capture batch 0, workgroups up to 15: General, indexed, checked"
        ]
    );
    resumed.position = Position::Earlier;
    assert_eq!(plan(&DESCRIPTORS, &resumed, &COUNTERS)[0], "positions are moved");
}

#[test]
fn restarts_are_found_before_what_they_cut() {
    let one = captured(&[indexed(draw(STRIP, 100_000), true)]);
    let kernels = [
        "barrier BeforeSetup Always Unknown",
        "Restart 13 x 1",
        "barrier RestartToScan Always Unknown",
        "RestartScan 1 x 1",
    ];
    assert_eq!(
        plan(&ADDRESSES, &one, &NO_COUNTERS),
        [
            &kernels[..],
            &[
                "barrier RestartToSetup Always CapturedAndCounted",
                "Setup with restarts 1 x 1",
                "capture one restarted, workgroups up to 1563: Pushed, indexed, restart, checked, TriStrip"
            ]
        ]
        .concat()
    );
    assert_eq!(
        plan(&DESCRIPTORS, &one, &NO_COUNTERS),
        [
            &kernels[..],
            &[
                "barrier RestartToSetup Always Unknown",
                "Setup with restarts 1 x 1",
                "barrier SetupToCapture Always Captured",
                "capture batch 0, workgroups indirect: General, indexed, restart, checked, TriStrip"
            ]
        ]
        .concat()
    );
}

#[test]
fn what_is_indirect_is_placed_by_the_gpu() {
    let draws = [
        indirect(draw(LIST, 0), 7),
        indirect(indexed(draw(STRIP, 0), true), 1),
        indexed(draw(STRIP, 50), false),
    ];
    let before = [
        "barrier BeforeSetup Always Unknown",
        "Restart 33 x 1",
        "barrier RestartToScan Always Unknown",
        "RestartScan 1 x 1",
        "barrier RestartToSetup Always Unknown",
        "Setup with restarts of several draws 1 x 1",
        "barrier SetupToCapture Always Captured",
    ];
    assert_eq!(
        plan(&ADDRESSES, &captured(&draws), &NO_COUNTERS),
        [
            &before[..],
            &[
                "capture batch 0, workgroups indirect: General, indexed, checked, List",
                "capture batch 1, workgroups indirect: General, indexed, restart, checked, TriStrip",
                "capture batch 2, workgroups up to 1: General, indexed, checked"
            ]
        ]
        .concat()
    );
    // If the position of a draw is not known, the setup kernel places the draw even if the CPU knows its counts.
    let mixed = [draw(LIST, 1 << 20), indirect(draw(LIST, 0), 7), draw(LIST, 1 << 20)];
    let mut mixed = captured(&mixed);
    mixed.position = Position::Counters;
    assert_eq!(
        plan(&ADDRESSES, &mixed, &COUNTERS),
        [
            "barrier BeforeSetup Always Unknown",
            "Setup of several draws 1 x 1",
            "barrier SetupToCapture Always Captured",
            "capture batch 0, workgroups up to 16384: General, indexed, checked, List",
            "capture batch 1, workgroups indirect: General, indexed, checked, List",
            "capture batch 2, workgroups up to 16384: General, indexed, checked, List",
        ]
    );
    // If indirect dispatches do not work, the largest number of workgroups that may be needed is dispatched directly.
    let direct = Limits { indirect_dispatch: false, ..ADDRESSES };
    let mut small = captured(&draws[..1]);
    small.targets[0].as_mut().unwrap().buffer.size = 16 * 300;
    small.draws[0].invocations = 300;
    assert_eq!(
        plan(&direct, &small, &NO_COUNTERS).last().unwrap(),
        "capture batch 0, workgroups up to 11: General, indexed, checked"
    );
}

/// A kernel of a single invocation has a turn for each 10,917 draws, of which llvmpipe executes all rounds of loops.
#[test]
fn kernels_of_one_invocation_work_in_turns() {
    let limits = Limits { serial_kernels: true, ..ADDRESSES };
    let planned = |draws: &[CollectedDraw]| {
        let mut plan = Plan::default();
        plan.make(&limits, &captured(draws), &COUNTERS, true).unwrap();
        check(&plan);
        let turns = plan.blocks.iter().find_map(|block| match block.contents {
            Contents::Upload(Upload::Setup { turn_draws, .. }) => Some(turn_draws),
            _ => None,
        });
        let kernels = plan.steps.iter().map(described);
        let kernels = kernels.filter(|step| !step.starts_with("capture"));
        (turns, kernels.collect::<Vec<_>>())
    };
    let [before, after] =
        ["barrier BeforeSetup Always Unknown", "barrier SetupToCapture Always Captured"];
    let many = indirect(draw(LIST, 0), 10_917);
    let one = [before, "Setup by one invocation 1 x 1", after].map(str::to_owned).to_vec();
    assert_eq!(planned(&[many]), (Some(u32::MAX), one));
    let two = [before, "Setup by one invocation in 2 turns", after].map(str::to_owned).to_vec();
    assert_eq!(planned(&[many, draw(LIST, 3)]), (Some(10_917), two));
    let (turns, steps) = planned(&[indirect(indexed(draw(STRIP, 0), true), 5000)]);
    assert_eq!(turns, Some(897));
    let kernel = "Setup with restarts by one invocation in 6 turns".to_owned();
    assert!(steps.contains(&kernel), "{steps:?}");

    // Draws of geometry shaders are processed twice, and the place kernel may have turns, too.
    let limits = Limits { kernel_rounds: 332, entries: 1 << 17, ..limits };
    let draws = with_later_stages(&[indirect(draw(LIST, 0), 40)]);
    let captured = "batch 0 counted, workgroups indirect: General, indexed, checked, List";
    let steps = [
        before,
        "Setup of later stages by one invocation in 2 turns",
        "barrier SetupToCapture Always Unknown",
        &format!("capture {captured}"),
        "barrier CountsToSums Always Unknown",
        "EntrySums 128 x 1",
        "barrier SumsToPlace Always Unknown",
        "PlaceEntries by one invocation in 2 turns",
        "barrier PlaceToCapture Always Captured",
        &format!("capture {}", captured.replace("counted", "emitted")),
    ];
    assert_eq!(plan(&limits, &draws, &NO_COUNTERS), steps);
}

/// A capture of draws with a geometry shader that converts triangles to lines.
fn with_later_stages(draws: &[CollectedDraw]) -> Collected {
    let mut collected = captured(draws);
    collected.states[0].properties.geometry = Some(LoweredGeometry {
        input: GeometryInput::Triangles,
        output_vertices: 2,
        invocations: 1,
        max_vertices: 8,
        streams: 1,
        primitives: None,
        tessellation: None,
    });
    collected
}

#[test]
fn geometry_shaders_count_before_they_store() {
    let count_pass = [
        "barrier BeforeCountPass Always Unknown",
        "capture 3 listed counted, workgroups 8: Listed, indexed, checked",
        "barrier CountsToSums Always Unknown",
        "EntrySums 1 x 1",
        "barrier SumsToPlace Always Unknown",
        "PlaceEntries 1 x 1",
    ];
    let emit_pass = [
        "barrier PlaceToCapture Always Captured",
        "capture 3 listed emitted, workgroups 8: Listed, indexed, checked",
    ];
    let draws = [draw(LIST, 300), draw(STRIP, 130), draw(LIST, 2), indexed(draw(LIST, 600), false)];
    let collected = with_later_stages(&draws);
    let both = [&count_pass[..], &emit_pass[..]].concat();
    assert_eq!(plan(&ADDRESSES, &collected, &NO_COUNTERS), both);
    // A large draw has a Vulkan pipeline for single draws, a small one that for any draws.
    let limits = Limits { entries: 1 << 22, ..ADDRESSES };
    let counted = |vertices| {
        let collected = with_later_stages(&[draw(LIST, vertices)]);
        plan(&limits, &collected, &NO_COUNTERS).into_iter().nth(1)
    };
    assert_eq!(
        [3 << 10, 3 << 20].map(counted),
        [
            Some("capture 1 listed counted, workgroups 16: General, indexed, checked".to_owned()),
            Some("capture one pushed counted, workgroups 16384: Pushed, List".to_owned()),
        ]
    );
    // Unchecked captures have exactly one entry for each invocation, and one item for each entry.
    let mut uneven = with_later_stages(&[draw(LIST, 3 << 20)]);
    uneven.states[0].properties.sizes = Some(WorkgroupSizes::all(96));
    let counted = "capture one pushed counted, workgroups 10923: Pushed, List";
    assert_eq!(plan(&limits, &uneven, &NO_COUNTERS)[1], counted);
    let halved = Limits { entries: 1 << 19, ..limits };
    let counted = "capture one pushed counted, workgroups 5462: Pushed, checked, List";
    assert_eq!(plan(&halved, &uneven, &NO_COUNTERS)[1], counted);
    // A draw that pipelines for single draws do not support has a pipeline for any draws, with its topology.
    let mut far = indexed(draw(LIST, 3 << 20), false);
    far.command.flags |= flags::PARTIAL_INDICES | flags::FAR_ATTRIBUTES;
    let counted = "capture 1 listed counted, workgroups 16384: General, indexed, partial indices, checked, List";
    assert_eq!(plan(&limits, &with_later_stages(&[far]), &NO_COUNTERS)[1], counted);
    // Push constants may change from draw to draw.
    let mut changed = with_later_stages(&draws);
    changed.states.push(State { constants: 1, ..changed.states[0] });
    changed.draws[3].state = 1;
    assert_eq!(plan(&ADDRESSES, &changed, &NO_COUNTERS), both);
    assert_eq!(plan(&DESCRIPTORS, &collected, &COUNTERS), both);
    // Without a capture buffer no record is stored, but queries still count primitives.
    let mut unbound = with_later_stages(&draws);
    unbound.targets = Default::default();
    assert_eq!(plan(&ADDRESSES, &unbound, &NO_COUNTERS), count_pass);
    // For a single draw the workgroups need no list of their draws, so the Vulkan pipeline is `General`.
    let one = plan(&ADDRESSES, &with_later_stages(&draws[..1]), &NO_COUNTERS);
    assert_eq!(one[1], "capture 1 listed counted, workgroups 2: General, indexed, checked");
    assert_eq!(one[7], "capture 1 listed emitted, workgroups 2: General, indexed, checked");
    // Draws that add to different queries have separate dispatches.
    let mut queried = with_later_stages(&[draw(LIST, 3); 2]);
    queried.draws[1].command.generated_query = [32, 0];
    assert_eq!(plan(&ADDRESSES, &queried, &NO_COUNTERS).len(), 10);
}

/// Patches are planned like the input primitives of a geometry shader that emits varying numbers of primitives, even if
/// there is no geometry shader.
#[test]
fn patches_are_counted_before_they_are_stored() {
    let mut patches = draw(PrimitiveTopology::PatchList, 300);
    patches.command.flags = draw_flags(patches.topology, 3, ProvokingVertex::First);
    let mut collected = with_later_stages(&[patches]);
    let geometry = collected.states[0].properties.geometry.as_mut().unwrap();
    geometry.tessellation = Some(LoweredTessellation {
        tessellator: Tessellator {
            domain: Domain::Quads,
            spacing: Spacing::Equal,
            flipped: false,
            points: false,
        },
        control_points: 3,
    });
    let counted = with_later_stages(&[draw(LIST, 300)]);
    let [found, expected] = [&collected, &counted].map(|c| plan(&ADDRESSES, c, &NO_COUNTERS));
    assert_eq!(found, expected);
}

/// If a geometry shader always emits the same number of primitives, and the CPU knows everything else, its draws are
/// placed like draws without geometry shaders.
#[test]
fn geometry_shaders_that_always_emit_as_much_are_not_counted() {
    let mut collected = with_later_stages(&[draw(LIST, 300), draw(STRIP, 1 << 20)]);
    let geometry = collected.states[0].properties.geometry.as_mut().unwrap();
    (geometry.primitives, geometry.invocations) = (Some(3), 2);
    let direct = [
        "barrier BetweenCaptures InOrder Captured",
        "capture one pushed, workgroups 2: General, indexed, checked",
        "capture one pushed, workgroups 16384: Pushed, TriStrip",
    ];
    assert_eq!(plan(&ADDRESSES, &collected, &NO_COUNTERS), direct);
    let mut plan_of_both = Plan::default();
    plan_of_both.make(&ADDRESSES, &collected, &NO_COUNTERS, true).unwrap();
    let [list, strip] = plan_of_both.placed[..] else { panic!("{:?}", plan_of_both.placed) };
    // Each triangle of a fan is an item, and the shader has no invocations for the fan's first vertex.
    let mut fan = with_later_stages(&[draw(PrimitiveTopology::TriangleFan, (1 << 20) + 2)]);
    fan.states[0].properties.geometry = collected.states[0].properties.geometry;
    let alone = "capture one pushed, workgroups 16384: Pushed, TriFan";
    assert_eq!(plan(&ADDRESSES, &fan, &NO_COUNTERS)[1], alone);
    // Each triangle becomes six lines: three in each of two invocations.
    assert_eq!((list.draw.item_count, list.draw.output_end), (100, 100 * 6 * 2));
    assert_eq!((strip.draw.base_record, strip.draw.item_count), (1200, (1 << 20) - 2));
    assert_eq!(plan_of_both.captured.unwrap().primitives_needed, (100 + (1 << 20) - 2) * 6);
    // If the position of the first draw is not known, the GPU counts the emitted primitives, although their number
    // follows from the draws.
    collected.position = Position::Earlier;
    assert!(
        plan(&ADDRESSES, &collected, &NO_COUNTERS)
            .iter()
            .any(|step| step.starts_with("PlaceEntries"))
    );
}

/// However large the draws are, a dispatch has only as many entries beyond the limit as are needed to fill up
/// workgroups.
#[test]
fn large_draws_have_long_entries() {
    let mut plan = Plan::default();
    let draws = [draw(LIST, 3 << 20), draw(LIST, 3), draw(STRIP, (1 << 30) + 2)];
    plan.make(&ADDRESSES, &with_later_stages(&draws), &NO_COUNTERS, true).unwrap();
    let [group] = plan.entry_groups[..] else { panic!("{:?}", plan.entry_groups) };
    let length = ((1u64 << 20) + 1 + (1 << 30)).div_ceil(1 << 10) as u32;
    assert!(plan.placed.iter().all(|placed| placed.draw.output_count == length));
    let entries: Vec<u32> = plan.placed.iter().map(|placed| placed.draw.invocations).collect();
    assert_eq!(entries, [1, 1, (1 << 30) / length + 1]);
    assert!(group.entries.unwrap()[1] <= 1024 + 3 * 64, "{group:?}");
    let is_scratch = |block: &&MemoryBlock| matches!(block.contents, Contents::Scratch(_));
    let scratch: u64 = plan.blocks.iter().filter(is_scratch).map(|block| block.size).sum();
    assert!(scratch < 20 << 10, "{scratch} bytes");

    let refused = draw(STRIP, u32::MAX).check_geometry().unwrap_err().to_string();
    assert!(
        refused.starts_with("a draw has 4294967293 primitives before a geometry shader"),
        "{refused}"
    );
    // Each patch has sixteen slices.
    let mut patches = draw(PrimitiveTopology::PatchList, 3 << 28);
    patches.command.flags = draw_flags(patches.topology, 3, ProvokingVertex::First)
        | 4 << vkxfb_rewriter::sysval::flags::SLICE_SHIFT;
    let refused = patches.check_geometry().unwrap_err().to_string();
    assert_eq!(
        refused,
        "a draw has 268435456 patches with all its instances; at most 134217727 are supported"
    );
}

#[test]
fn what_geometry_shaders_draw_indirectly_is_divided_into_entries_by_the_gpu() {
    let draws = [
        indirect(draw(LIST, 0), 7),
        indirect(indexed(draw(STRIP, 0), true), 1),
        indexed(draw(STRIP, 50), true),
    ];
    assert_eq!(
        plan(&ADDRESSES, &with_later_stages(&draws), &NO_COUNTERS),
        [
            "barrier BeforeSetup Always Unknown",
            "Restart 34 x 1",
            "barrier RestartToScan Always Unknown",
            "RestartScan 1 x 1",
            "barrier RestartToSetup Always Unknown",
            "Setup with restarts of later stages of several draws 1 x 1",
            "barrier SetupToCapture Always Unknown",
            "capture batch 0 counted, workgroups indirect: General, indexed, checked, List",
            "capture batch 1 counted, workgroups indirect: General, indexed, restart, checked, TriStrip",
            "barrier CountsToSums Always Unknown",
            "EntrySums 4 x 1",
            "barrier SumsToPlace Always Unknown",
            "PlaceEntries 1 x 1",
            "barrier PlaceToCapture Always Captured",
            "capture batch 0 emitted, workgroups indirect: General, indexed, checked, List",
            "capture batch 1 emitted, workgroups indirect: General, indexed, restart, checked, TriStrip",
        ]
    );
    // Memory for entries is taken for the largest number of primitives that these draws may have, not for the largest
    // number of entries that the device can process: one block is enough.
    let mut plan = Plan::default();
    let few = with_later_stages(&[indexed(draw(STRIP, 50), true); 3]);
    plan.make(&ADDRESSES, &few, &NO_COUNTERS, true).unwrap();
    assert_eq!(plan.entry_blocks, 1);
    // A command with more draws than can be divided into entries is refused.
    let refused = indirect(draw(LIST, 0), 1 << 17).check_geometry();
    assert!(matches!(refused, Err(RuntimeError::TooManyDraws { .. })));
}

#[test]
fn draws_with_and_without_geometry_shaders_are_parted() {
    let mut collected = with_later_stages(&[draw(LIST, 3); 5]);
    assert_eq!(collected.parts().len(), 1);
    let mut other = collected.states[0];
    other.properties.geometry = None;
    collected.states.push(other);
    for number in [1, 4] {
        collected.draws[number].state = 1;
    }
    assert_eq!(drawn(&collected), [0..1, 1..2, 2..4, 4..5]);
    assert_eq!(drawn(&captured(&[draw(LIST, 3); 2])), []);
    // A part has a limited number of draws with a geometry shader, because they take memory.
    let many = [&[indirect(draw(LIST, 0), 60_000); 2][..], &[draw(LIST, 3); 5000]].concat();
    assert_eq!(drawn(&with_later_stages(&many)), [0..1, 1..4097, 4097..5002]);
}

#[test]
fn ends_of_queries_come_last() {
    let mut collected = captured(&[draw(LIST, 3); 2]);
    for draw in &mut collected.draws {
        draw.command.stream_query = [32, 0];
    }
    let end = Operation { address: [32, 0], kind: operation::END, ..Operation::default() };
    collected.ends = vec![end];
    assert_eq!(
        plan(&ADDRESSES, &collected, &NO_COUNTERS),
        [
            "barrier BetweenCaptures InOrder Captured",
            "capture 2 listed, workgroups 2: Listed, indexed, checked",
            "barrier BeforeFinish Touched Operations { first: 0, end: 1 }",
            "Finish 1 x 1",
            "barrier ValuesToEnds Always Operations { first: 1, end: 2 }",
            "Finish 1 x 1",
            "barrier EndsToHost Always Nothing"
        ]
    );
    // With `ends_first`, which a test sets when it omits the barrier `ValuesToEnds`, queries end before the commands
    // that write their values, so that their results are certainly wrong.
    let first = Limits { ends_first: true, ..ADDRESSES };
    let steps = plan(&first, &collected, &NO_COUNTERS);
    assert_eq!(steps[1..3], ["Finish 1 x 1", "barrier EndsToHost Always Nothing"]);
    // Without draws, only the ends of queries are planned: a finish kernel between two barriers.
    collected.draws.clear();
    assert_eq!(plan(&ADDRESSES, &collected, &NO_COUNTERS).len(), 3);
}

#[test]
fn sets_that_kernels_would_disturb_are_refused() {
    let mut collected = captured(&[indirect(draw(LIST, 0), 1)]);
    collected.states[0].properties.unbound_set = Some(2);
    let mut plan = Plan::default();
    let refused = plan.make(&DESCRIPTORS, &collected, &NO_COUNTERS, true);
    assert!(matches!(refused, Err(RuntimeError::DescriptorSetUnknown { set: 2 })));
    plan.make(&ADDRESSES, &collected, &NO_COUNTERS, true).unwrap();
    // Whether there is an error does not depend on the size of the draw.
    for count in [3, 100_000] {
        let mut resumed = captured(&[draw(LIST, count)]);
        (resumed.position, resumed.counters) = (Position::Counters, COUNTERS);
        resumed.states[0].properties.unbound_set = Some(2);
        let refused = plan.make(&DESCRIPTORS, &resumed, &NO_COUNTERS, true);
        assert!(matches!(refused, Err(RuntimeError::DescriptorSetUnknown { set: 2 })));
    }
}

/// The indices of the draws of each part: draws that are planned together.
fn drawn(collected: &Collected) -> Vec<Range<usize>> {
    collected.parts().into_iter().map(|part| part.draws).collect()
}

/// Two captures of a triangle list in one [`Collected`], to buffers that are `distance` bytes apart, each with a
/// counter.
fn two_captures(distance: u32) -> Collected {
    let mut collected = captured(&[draw(LIST, 300)]);
    let targets = collected.targets;
    let counters = [[32, 0], [0; 2], [0; 2], [0; 2]];
    collected.ended = vec![EndedCapture { targets, continues: false, counters, end: 1 }];
    for target in collected.targets.iter_mut().flatten() {
        target.address[0] += distance;
    }
    let state = State { capture: 1, ..collected.states[0] };
    collected.states.push(state);
    let draw = CollectedDraw { state: 1, ..collected.draws[0] };
    collected.draws.push(draw);
    collected
}

/// Whether the captures of `collected` are planned together. If so, checks the steps of the plan.
fn are_joined(collected: &Collected) -> bool {
    let mut plan = Plan::default();
    let joined = plan.make_joined(&ADDRESSES, collected, &COUNTERS).unwrap();
    if joined {
        check(&plan);
        let steps: Vec<String> = plan.steps.iter().map(described).collect();
        assert_eq!(
            steps,
            [
                "barrier BetweenCaptures InOrder Captured",
                "capture 2 listed, workgroups 10: Listed, indexed, checked",
                "barrier BeforeFinish Touched Operations { first: 0, end: 2 }",
                "Finish 2 x 1"
            ]
        );
        let stored = plan.operations.iter().map(|operation| operation.values[0]);
        assert_eq!(stored.collect::<Vec<_>>(), [4800; 2]);
        assert_eq!((plan.after, plan.captured), (Position::Known(300), None));
    }
    joined
}

/// Captures are recorded together only if none accesses bytes that another one writes.
#[test]
fn captures_are_joined_where_they_are_apart() {
    assert!(are_joined(&two_captures(4800)));
    assert!(!are_joined(&two_captures(4799)));
    let with = |change: fn(&mut Collected)| {
        let mut collected = two_captures(4800);
        change(&mut collected);
        are_joined(&collected)
    };
    // Draws may read bytes behind the captured bytes, but neither captured bytes nor a counter that is written.
    assert!(with(|collected| collected.reached.add((1 << 32) + 9600..(1 << 32) + 9700)));
    assert!(!with(|collected| collected.reached.add((1 << 32) + 9599..(1 << 32) + 9700)));
    assert!(!with(|collected| collected.reached.add(32..36)));
    // The captures are not joined if both write the same counter, or if a counter lies in the captured bytes.
    assert!(!with(|collected| collected.ended[0].counters = COUNTERS));
    assert!(!with(|collected| collected.ended[0].counters[0] = [4, 1]));
    // The captures are not joined if only the GPU knows the counts of a draw.
    assert!(!with(|collected| collected.draws[1] = indirect(collected.draws[1], 1)));
}

/// A capture that begins where the one before it ended is placed behind it, with no barrier between the two. The
/// counter is written once, with the end of the last capture.
#[test]
fn captures_that_continue_are_placed_behind_each_other() {
    let mut collected = two_captures(0);
    collected.ended[0].counters = COUNTERS;
    collected.continues = true;
    let mut plan = Plan::default();
    assert!(plan.make_joined(&ADDRESSES, &collected, &COUNTERS).unwrap());
    check(&plan);
    assert_eq!(
        plan.placed.iter().map(|placed| placed.draw.base_record).collect::<Vec<_>>(),
        [0, 300]
    );
    let stored: Vec<_> =
        plan.operations.iter().map(|operation| (operation.address, operation.values[0])).collect();
    assert_eq!(stored, [(COUNTERS[0], 9600)]);
    assert_eq!(plan.after, Position::Known(600));
    // A third capture that begins at record 0 overwrites what the first one wrote.
    collected.ended.push(EndedCapture { continues: true, end: 2, ..collected.ended[0] });
    collected.continues = false;
    collected.draws.push(collected.draws[1]);
    assert!(!plan.make_joined(&ADDRESSES, &collected, &NO_COUNTERS).unwrap());
}

/// Each capture in a [`Collected`] has its own parts, even if it has no draws.
#[test]
fn captures_are_parts() {
    let mut collected = two_captures(4800);
    collected.ended.push(EndedCapture { end: 2, ..collected.ended[0] });
    let parts: Vec<_> = [0..1, 1..2, 2..2].into_iter().enumerate().collect();
    let found = collected.parts().into_iter().map(|part| (part.capture, part.draws));
    assert_eq!(found.collect::<Vec<_>>(), parts);
    // The first two captures were recorded.
    let part = collected.parts().pop().unwrap();
    collected.forget_recorded(&part);
    assert!(collected.draws.is_empty() && collected.ended.is_empty());
    assert_eq!(collected.states[1].capture, 0);
}
