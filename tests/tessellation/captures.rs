//! Random pipelines with tessellation, captured by compute and natively, against the model in `program.rs`.

use spirv::{BuiltIn, Decoration, Op};
use vkxfb::Shader;
use vkxfb::runtime::{
    ArenaDesc, Capture, CaptureBuffer, CaptureDesc, CounterBuffer, IndexBuffer, IndexType,
    PipelineDesc, PipelineUse, QueryKind, QueryPool, Recorder,
};
use vkxfb_probe::gpu::{OpenOptions, Resources};
use vkxfb_rewriter::lower::compute::{self, DomainOrigin, WorkgroupSizes};
use vkxfb_rewriter::lower::{Backend, LowerError};
use vkxfb_rewriter::spirv::{Instruction, Module, Section};
use vkxfb_rewriter::tessellator::Domain;
use vkxfb_rewriter::topology::PrimitiveTopology;
use vkxfb_rewriter::vertex_input::VertexInput;

use crate::case::{Case, Draw, How, Outcome, UNTOUCHED};
use crate::common::settings::{cases, number};
use crate::common::skip::{Why, skip};
use crate::common::test_device::TestDevice;
use crate::common::{compile, compile_ahead, compile_stage, device, layer, optimize, validate};
use crate::native::{Captured, Native};
use crate::program::{Program, RECORD_DWORDS, STRIDE, VERTEX};

/// Where things are in the memory of a case.
const COUNTER: u64 = 0;
const COMMANDS: u64 = 64;
const INDICES: u64 = 1024;
const CAPTURED: u64 = 2048;

const COMMAND: u64 = 32;

/// The compiled control shader.
fn control(program: &Program) -> Vec<u32> {
    let words = compile_stage("tesc", &program.control(), &[]);
    if program.optimized { optimize(&words, &["-O"]) } else { words }
}

/// The compiled evaluation shader.
fn evaluation(program: &Program) -> Vec<u32> {
    let words = compile_stage("tese", &program.evaluation(), &[]);
    if !program.as_dxc {
        return words;
    }
    let mut module = Module::parse(&words).unwrap();
    let built_ins = [BuiltIn::TessCoord, BuiltIn::PrimitiveId, BuiltIn::PatchVertices];
    let built_ins = built_ins.map(|which| which as u32);
    let is_built_in = |i: &Instruction<'_>| {
        i.is(Op::Decorate)
            && i.operand(1) == Decoration::BuiltIn as u32
            && built_ins.contains(&i.operand(2))
    };
    let ids: Vec<u32> =
        module.section(Section::Annotations).filter(is_built_in).map(|i| i.operand(0)).collect();
    assert!(!ids.is_empty());
    for id in ids {
        module.push(Section::Annotations, Op::Decorate, &[id, Decoration::Patch as u32]);
    }
    module.words()
}

/// A number of entries that makes each of them a run of many slices.
const FEW_ENTRIES: u64 = 2;

fn lower(
    gpu: &TestDevice,
    program: &Program,
    sizes: Option<WorkgroupSizes>,
    staging: Option<u32>,
) -> Result<vkxfb_rewriter::lower::Lowered, LowerError> {
    let vertex = compile(VERTEX, &[]);
    let control = control(program);
    let evaluation = evaluation(program);
    let geometry = program.geometry().map(|source| compile_stage("geom", &source, &[]));
    let (vertex, control) = (Shader::new(&vertex), Shader::new(&control));
    let evaluation = Shader::new(&evaluation);
    let geometry = geometry.as_deref().map(Shader::new);
    let vertex_input = VertexInput::default();
    let mut target = gpu.compute_target(Backend::Compute).unwrap();
    target.workgroup_sizes = sizes.unwrap_or(target.workgroup_sizes);
    target.staging = staging.unwrap_or(target.staging);
    let origin = if program.lower_left { DomainOrigin::LowerLeft } else { DomainOrigin::UpperLeft };
    let options = compute::Options::new(&vertex_input)
        .vertex_shader(&vertex)
        .control_shader(&control)
        .domain_origin(origin)
        .target(target);
    match geometry {
        Some(geometry) => compute::lower(&geometry, &options.evaluation_shader(&evaluation)),
        None => compute::lower(&evaluation, &options),
    }
}

fn run(gpu: &mut TestDevice, case: &Case) -> Outcome {
    let sizes = match case.seed % 10 {
        0 => Some(WorkgroupSizes::all(96)),
        3 => Some(WorkgroupSizes::all(64).restarted(8)),
        7 => Some(WorkgroupSizes::all(16).restarted(24)),
        _ => None,
    };
    // The device's default, or room for the patches of few invocations, or of many.
    // With few entries, llvmpipe leaves the loops of a workgroup that evaluates together (`llvmpipe-short-loops`).
    let has_few_entries = gpu.context().settings().max_entries == FEW_ENTRIES;
    let staging = match case.seed / 3 % 8 {
        0 if !has_few_entries => Some(2 << 10),
        1 if !has_few_entries => Some(16 << 10),
        _ => None,
    };
    let lowered = lower(gpu, &case.program, sizes, staging);
    let lowered = lowered.unwrap_or_else(|error| panic!("{error}"));
    if case.seed.is_multiple_of(16) {
        validate(&lowered.specialized(&[]).unwrap(), "vulkan1.2");
    }
    let topology = PrimitiveTopology::PatchList;
    let desc = PipelineDesc {
        patch_control_points: case.program.taken,
        primitive_restart: case.restart,
        ..PipelineDesc::new(&lowered)
    };
    let desc = if case.seed.is_multiple_of(3) {
        PipelineDesc { topology: Some(topology.into()), ..desc }
    } else {
        desc
    };
    let pipeline = gpu.pipeline(&desc);
    let ctx = gpu.context();
    let usage = ctx.buffer_usages(Backend::Compute).capture
        | ctx.buffer_usages(Backend::Compute).index
        | ctx.buffer_usages(Backend::Compute).indirect
        | ctx.buffer_usages(Backend::Compute).counter;
    let mut image = vec![0u8; CAPTURED as usize];
    image[..4].copy_from_slice(&case.begin.unwrap_or(0).to_le_bytes());
    for (number, draw) in case.draws.iter().enumerate() {
        let Draw { count, instance_count, first, vertex_offset, first_instance, .. } = *draw;
        let offset = vertex_offset.cast_unsigned();
        let words = if draw.indexed {
            [count, instance_count, first, offset, first_instance]
        } else {
            [count, instance_count, first, first_instance, 0]
        };
        let at = (COMMANDS + COMMAND * number as u64) as usize;
        image[at..at + 20].copy_from_slice(bytemuck::cast_slice(&words));
    }
    let indices: &[u8] = bytemuck::cast_slice(&case.indices);
    image[INDICES as usize..][..indices.len()].copy_from_slice(indices);
    // Behind the captured range there is room for a stray primitive.
    let size = CAPTURED + case.size + 256;
    image.resize(size as usize, UNTOUCHED as u8);
    let memory = gpu.buffer(size, usage);
    gpu.write(&memory, 0, &image).unwrap();
    let pools = [
        gpu.query_pool(QueryKind::TransformFeedbackStream, 1),
        gpu.query_pool(QueryKind::PrimitivesGenerated, 1),
    ];
    let known = case.draws.iter().filter(|draw| draw.how == How::Direct);
    let is_restarted = |draw: &Draw| case.restart && draw.indexed;
    let patches: u64 = known
        .clone()
        .map(|draw| {
            let taken = if is_restarted(draw) { 1 } else { case.program.taken };
            u64::from(draw.instance_count) * u64::from(draw.count / taken)
        })
        .sum();
    let restarts = case.draws.iter().filter(|draw| is_restarted(draw)).count() as u64;
    let (direct, all) = (known.count() as u64, case.draws.len() as u64);
    let used = PipelineUse {
        pipeline: &pipeline,
        binds: 1,
        draws: all,
        primitives: patches,
        unknown_draws: all - direct,
    };
    let desc = ArenaDesc {
        queries: 2,
        restarted_draws: restarts,
        restarted_indices: restarts * case.indices.len() as u64,
        pipelines: &[used],
        ..ArenaDesc::new(1, all)
    };
    let mut arena = gpu.arena(desc);
    let kernels = gpu.kernels();
    gpu.submit(|ctx, cmd| {
        let buffer = memory.raw();
        let buffers = [Some(CaptureBuffer { buffer, offset: CAPTURED, size: case.size })];
        let counter = [Some(CounterBuffer { buffer, offset: COUNTER })];
        let begin = if case.begin.is_some() { counter } else { [None] };
        let desc =
            CaptureDesc { buffers: &buffers, counters: &begin, ..CaptureDesc::new(&pipeline) };
        // SAFETY: everything outlives the submission, which is waited for.
        unsafe {
            let mut capture = Capture::new(ctx, &kernels);
            let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
            let indices = IndexBuffer::new(buffer, indices.len() as u64, IndexType::Uint16);
            recorder.bind_index_buffer(&IndexBuffer { offset: INDICES, ..indices })?;
            for pool in &pools {
                recorder.begin_query(pool, 0, 0)?;
            }
            for (number, draw) in (0..).zip(&case.draws) {
                draw.command(COMMANDS + COMMAND * number).record(
                    &mut recorder,
                    topology,
                    buffer,
                )?;
            }
            for pool in &pools {
                recorder.end_query(pool.kind(), 0)?;
            }
            recorder.end(&counter)?;
        }
        Ok(())
    })
    .unwrap_or_else(|error| panic!("{error:?}"));
    let found: Vec<u32> = words_of(&gpu.read(&memory, 0..size).unwrap());
    let captured = &found[CAPTURED as usize / 4..];
    let (captured, behind) = captured.split_at(case.size as usize / 4);
    assert!(behind.iter().all(|word| *word == UNTOUCHED), "{}", case.describe());
    let result = |pool: &QueryPool| {
        // SAFETY: the device is live.
        let result = unsafe { pool.result(0) }.unwrap().unwrap();
        [result.primitives_written, result.primitives_needed]
    };
    let ([written, needed], [_, generated]) = (result(&pools[0]), result(&pools[1]));
    let queries = [written, needed, generated];
    Outcome { captured: captured.to_vec(), counter: found[0], queries }
}

fn words_of(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn compare(case: &Case, found: &Outcome) {
    let expected = case.expected();
    if *found == expected {
        return;
    }
    let differs = found.captured.iter().zip(&expected.captured).position(|(a, b)| a != b);
    let at = differs.unwrap_or(0) / RECORD_DWORDS * RECORD_DWORDS;
    let record = |words: &[u32]| words[at..words.len().min(at + RECORD_DWORDS)].to_vec();
    panic!(
        "{}\nrecord {}: {:x?}, not {:x?}; counter {}, not {}; queries {:?}, not {:?}",
        case.describe(),
        at / RECORD_DWORDS,
        record(&found.captured),
        record(&expected.captured),
        found.counter,
        expected.counter,
        found.queries,
        expected.queries
    );
}

/// Random cases, with the arguments of [`Case::random`]: `all` of them with `VKXFB_FULL=1`.
fn random(all: u64, direct_only: bool, most: Option<u32>) -> impl Iterator<Item = Case> {
    const BATCH: u64 = 50;
    let first = number("VKXFB_SEED", 0);
    let end = first + cases("VKXFB_TESSELLATION", all);
    (first..end).step_by(BATCH as usize).flat_map(move |first| {
        let seeds = first..end.min(first + BATCH);
        let cases: Vec<_> = seeds.map(|seed| Case::random(seed, direct_only, most)).collect();
        compile_ahead(cases.iter().flat_map(|case| case.program.sources()));
        cases
    })
}

#[test]
fn random_pipelines_capture_what_the_model_says() {
    random_pipelines_hold(Resources::Best, 200);
}

#[test]
fn random_pipelines_capture_the_same_by_descriptors() {
    random_pipelines_hold(Resources::Descriptors, 60);
}

fn random_pipelines_hold(resources: Resources, all: u64) {
    let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
    for case in random(all, false, None) {
        let found = run(&mut gpu, &case);
        compare(&case, &found);
    }
}

/// A draw of many workgroups has a Vulkan pipeline of its own, and its parameters in push constants. Here every draw has.
#[test]
fn random_pipelines_hold_if_all_draws_are_large() {
    for resources in [Resources::Best, Resources::Descriptors] {
        let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        gpu.set(|settings| settings.max_shared_workgroups = 0);
        for case in random(60, false, None) {
            let found = run(&mut gpu, &case);
            compare(&case, &found);
        }
    }
}

/// Nothing depends on how many entries the draws are divided into.
#[test]
fn random_pipelines_hold_with_two_entries() {
    let mut gpu = device::open_with(OpenOptions::default());
    gpu.set(|settings| settings.max_entries = FEW_ENTRIES);
    // llvmpipe leaves loops after 65,535 iterations.
    for case in random(60, false, Some(4)) {
        let found = run(&mut gpu, &case);
        compare(&case, &found);
    }
}

/// A patch of the largest levels has more loop iterations than llvmpipe executes, so it must be cut into slices, with
/// primitive restart too.
#[test]
fn patches_of_the_largest_levels_restart() {
    let mut gpu = device::open_with(OpenOptions::default());
    let is_large = |case: &Case| {
        let Program { tessellator, geometry, .. } = &case.program;
        geometry.is_some() && tessellator.domain == Domain::Quads && !tessellator.points
    };
    let mut case = (0..).map(|seed| Case::random(seed, true, None)).find(is_large).unwrap();
    // Nearly all levels are beyond the device's largest one, to which it clamps them.
    case.program.most = 1 << 20;
    case.program.invocations = 10;
    let taken = case.program.taken;
    case.draws = vec![Draw { indexed: true, ..Draw::vertices(2 * taken + 1) }];
    case.restart = true;
    case.indices = (0..=2 * taken as u16).collect();
    case.indices[taken as usize] = u16::MAX;
    let records: usize = case.primitives().iter().map(Vec::len).sum();
    assert!(records > 1 << 16, "{records}");
    case.size = records as u64 * STRIDE;
    let found = run(&mut gpu, &case);
    compare(&case, &found);
}

/// The device's own capture has the same patches in the same order, with as many vertices each. Which vertex is where
/// in a patch may differ.
#[test]
fn the_device_captures_the_same_patches() {
    let native = match Native::open() {
        Ok(native) => native,
        Err(reason) => return skip(Why::Expected(reason)),
    };
    // On the layer, lavapipe compiles the merged shaders of each case.
    for case in random(if layer::is_there() { 40 } else { 200 }, true, None) {
        if case.restart && !native.has_restart {
            continue;
        }
        let expected = case.expected();
        let (control, evaluation) = (case.program.control(), case.program.evaluation());
        let captured = Captured {
            sources: [VERTEX, &control, &evaluation],
            geometry: case.program.geometry(),
            control_points: case.program.taken,
            lower_left: case.program.lower_left,
            is_dynamic: case.seed % 2 == 1,
            restart: case.restart,
            levels: &[],
            indices: &case.indices,
            draws: &case.draws,
        };
        // SAFETY: the shaders are valid, and indices are within the buffer.
        let found = unsafe { native.capture(&captured, expected.captured.len()) };
        if layer::is_there() {
            let Outcome { captured, .. } = &expected;
            let at = found.iter().zip(captured).position(|(found, expected)| found != expected);
            assert_eq!(at, None, "{}", case.describe());
            continue;
        }
        // In a geometry shader behind tessellation, the PrimitiveId of lavapipe 22.3 counts primitives, not patches.
        let modulus = if case.program.geometry.is_some() { 1000 } else { u32::MAX };
        let of_patches = |words: &[u32]| -> Vec<[u32; 4]> {
            let (records, _) = words.as_chunks::<RECORD_DWORDS>();
            let of = |r: &[u32; RECORD_DWORDS]| [r[0] % modulus, r[1], r[2], r[3]];
            records.iter().map(of).collect()
        };
        let [found, expected] = [&found, &expected.captured].map(|words| of_patches(words));
        if let Some(at) = (0..expected.len()).find(|at| found[*at] != expected[*at]) {
            let (a, b) = (found[at], expected[at]);
            panic!("{}\nrecord {at}: {a:x?}, not {b:x?}", case.describe());
        }
    }
}

/// On the layer each vertex is where the model has it.
#[test]
fn the_layer_captures_what_the_model_says() {
    layer::run_on_it(the_device_captures_the_same_patches, &[]);
}

/// A wrong model is noticed.
#[test]
#[should_panic(expected = "; counter ")]
fn a_wrong_model_is_found_out() {
    let mut gpu = device::open_with(OpenOptions::default());
    let captures = |case: &Case| case.expected().queries[0] > 0;
    let mut case = (0..).map(|seed| Case::random(seed, false, Some(4))).find(captures).unwrap();
    let found = run(&mut gpu, &case);
    for draw in &mut case.draws {
        draw.first_instance += 1;
    }
    compare(&case, &found);
}
