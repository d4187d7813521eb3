//! `shaders/xfb.spv` is what naga compiles from `shaders/*.wgsl`. Definitions that the shaders
//! share with Rust are equal: the layout of the sysvals, and constants.

use std::collections::BTreeMap;
use std::mem::offset_of;
use std::path::{Path, PathBuf};

use naga::back::spv;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use vkxfb_rewriter::lower::compute::DEFAULT_WORKGROUP_SIZE;
use vkxfb_rewriter::lower::kernel::{ENTRY_SUMS_WIDTH, MAX_WORKGROUP_SIZE, RESUME_WIDTH};
use vkxfb_rewriter::lower::{SpecIds, WideAccesses};
use vkxfb_rewriter::sysval::draw_arguments::{CountedDraw, DrawArguments};
use vkxfb_rewriter::sysval::entries::{
    ENTRIES_PER_BLOCK, ENTRY_BLOCK_SIZE, ENTRY_SIZE, Entries, EntryJob, EntrySums, EntryTables,
    PlaceEntries,
};
use vkxfb_rewriter::sysval::results::{Query, RESULTS_WIDTH, Results, flags as result_flags};
use vkxfb_rewriter::sysval::setup::{
    BATCH_SIZE, DrawCommand, DrawRestarts, Finish, Fused, GroupBatch, MAX_DRAWS, Operation,
    Progress, RESTART_BLOCK, RESTART_BLOCKS, Reduction, RestartRange, RestartedDraw, Resume, Setup,
    kind, operation,
};
use vkxfb_rewriter::sysval::{
    AttributeDescriptor, Batch, DrawSysvals, INLINE_ATTRIBUTES, RESTARTED_BATCH, Sysvals, flags,
};
use vkxfb_rewriter::tessellator::{self, Domain, Spacing};
use vkxfb_rewriter::topology::XfbTopology;

const SOURCES: [&str; 32] = [
    "sysvals",
    "stubs",
    "wide",
    "decompose",
    "counts",
    "indices",
    "fetch",
    "formats",
    "placing",
    "compute",
    "assemble",
    "geometry",
    "tessellate",
    "patches",
    "fused",
    "shared",
    "staged",
    "emitted",
    "drawn",
    "vertex",
    "restart",
    "draw_commands",
    "setup",
    "setup_serial",
    "resume",
    "entries",
    "entries_serial",
    "parts",
    "sums",
    "finish",
    "results",
    "draw_arguments",
];

fn shaders() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders")
}

/// Returns the shader library, which is the concatenation of its files, because WGSL has no include
/// directive.
fn library() -> naga::Module {
    let source: String = SOURCES
        .iter()
        .map(|name| std::fs::read_to_string(shaders().join(format!("{name}.wgsl"))).unwrap())
        .collect();
    naga::front::wgsl::parse_str(&source)
        .unwrap_or_else(|error| panic!("{}", error.emit_to_string(&source)))
}

fn compile(module: &naga::Module) -> Vec<u32> {
    let info = Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES)
        .validate(module)
        .unwrap_or_else(|error| panic!("{error:?}"));
    let options = spv::Options {
        lang_version: (1, 0),
        // Names are how the linker finds functions.
        flags: spv::WriterFlags::DEBUG,
        fake_missing_bindings: false,
        binding_map: spv::BindingMap::default(),
        capabilities: None,
        bounds_check_policies: naga::proc::BoundsCheckPolicies::default(),
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        // Both options add code that the formulas do not need.
        force_loop_bounding: false,
        emit_int_div_checks: false,
        ray_query_initialization_tracking: false,
        trace_ray_argument_validation: false,
        use_storage_input_output_16: false,
        debug_info: None,
        task_dispatch_limits: None,
        mesh_shader_primitive_indices_clamp: false,
    };
    spv::write_vec(module, &info, &options, None).unwrap()
}

/// To write the file anew, run `VKXFB_REGENERATE=1 cargo test --test spirv library`.
#[test]
fn the_committed_library_is_fresh() {
    let words = compile(&library());
    let bytes: &[u8] = bytemuck::cast_slice(&words);
    let file = shaders().join("xfb.spv");
    if std::env::var_os("VKXFB_REGENERATE").is_some() {
        std::fs::write(&file, bytes).unwrap();
    }
    assert!(
        std::fs::read(&file).unwrap_or_default() == bytes,
        "shaders/xfb.spv is stale: run VKXFB_REGENERATE=1 cargo test --test spirv library"
    );
}

#[test]
fn sysvals_have_one_layout() {
    let module = library();
    let layout = |name: &str| {
        let (_, ty) = module
            .types
            .iter()
            .find(|(_, ty)| ty.name.as_deref() == Some(name))
            .unwrap_or_else(|| panic!("no struct {name}"));
        match &ty.inner {
            naga::TypeInner::Struct { members, span } => (
                members
                    .iter()
                    .map(|m| (m.name.clone().unwrap(), m.offset as usize))
                    .collect::<Vec<_>>(),
                *span as usize,
            ),
            other => panic!("{other:?}"),
        }
    };
    macro_rules! expected {
        ($ty:ident: $($field:ident),* $(,)?) => {{
            // Exhaustive: a field that is missing here does not compile.
            let _ = |value: $ty| { let $ty { $($field: _),* } = value; };
            (
                vec![$((stringify!($field).to_owned(), std::mem::offset_of!($ty, $field))),*],
                size_of::<$ty>(),
            )
        }};
    }
    assert_eq!(layout("Sysvals"), expected!(Sysvals: draw, attributes, table, xfb_address, source));
    assert_eq!(
        layout("Draw"),
        expected!(DrawSysvals:
            flags, output_count, output_end, item_count, instance_count, base_vertex,
            base_record, first_workgroup, index_address, index_limit, reciprocal, xfb_topology,
            draw_index, first_instance, invocations)
    );
    assert_eq!(
        layout("Batch"),
        expected!(Batch:
            draws, draw_count, record_limit, positions)
    );
    assert_eq!(
        layout("AttributeDescriptor"),
        expected!(AttributeDescriptor: address, limit, stride)
    );
    assert_eq!(
        layout("DrawCommand"),
        expected!(DrawCommand:
            kind, topology, flags, draw_index, count, instance_count, first, base_vertex,
            first_instance, group, index_limit, restart_index, index_address, arguments, count_address,
            restart_table, stream_query, generated_query, predicate, draw_count, stride)
    );
    assert_eq!(layout("GroupBatch"), expected!(GroupBatch: batch, workgroups, reserved));
    // The `Progress` behind these parameters is not a member in the shaders, because they are loaded without it.
    let (mut members, _) = expected!(Setup:
        commands, draws, groups, batches, draw_stride, command_count, turn_draws,
        workgroups_per_axis, has_queries, entry_bits, entry_tables, progress);
    members.pop();
    assert_eq!(layout("Setup"), (members, std::mem::offset_of!(Setup, progress)));
    let (mut members, _) = expected!(PlaceEntries: jobs, job_count, turn_steps, progress);
    members.pop();
    assert_eq!(layout("PlaceEntries"), (members, std::mem::offset_of!(PlaceEntries, progress)));
    assert_eq!(
        layout("Progress"),
        expected!(Progress:
            earlier_positions, later_positions, positions, sizes, strides, counters, new_counters)
    );
    assert_eq!(
        layout("Fused"),
        expected!(Fused:
            progress, stream_query, generated_query, arrived, expected, reserved)
    );
    assert_eq!(
        layout("Resume"),
        expected!(Resume:
            known, batches, count, vertices, needed, stream_query, generated_query, progress)
    );
    assert_eq!(layout("Entries"), expected!(Entries: counts, blocks, count, reserved));
    assert_eq!(layout("EntryTables"), expected!(EntryTables: counts, blocks, entries, reserved));
    assert_eq!(layout("EntrySums"), expected!(EntrySums: counts, blocks, last, reserved));
    assert_eq!(
        layout("EntryJob"),
        expected!(EntryJob:
            count_batch, emit_batch, entries, vertices, reserved, stream_query, generated_query)
    );
    assert_eq!(layout("Reduction"), expected!(Reduction: ranges, count, scan_count));
    assert_eq!(
        layout("RestartRange"),
        expected!(RestartRange:
            index_address, table, first, limit, topology, flags, restart_index, first_workgroup, reserved)
    );
    assert_eq!(
        layout("DrawRestarts"),
        expected!(DrawRestarts: first, limit, head, before, table, reserved)
    );
    assert_eq!(layout("Operation"), expected!(Operation: address, kind, reserved, values));
    assert_eq!(layout("Finish"), expected!(Finish: operations, count, reserved));
    assert_eq!(
        layout("CountedDraw"),
        expected!(CountedDraw:
            counter, command, counter_offset, vertex_stride, instance_count, first_instance)
    );
    assert_eq!(layout("DrawArguments"), expected!(DrawArguments: draws, count, reserved));
    assert_eq!(
        layout("Results"),
        expected!(Results:
            queries, copies, stride, count, value_count, flags)
    );
}

/// Compares constants by name: each constant of the shaders that Rust also has must be equal.
#[test]
fn constants_have_one_value() {
    let module = library();
    let value = |constant: &naga::Constant| match module.global_expressions[constant.init] {
        naga::Expression::Literal(naga::Literal::U32(value)) => u64::from(value),
        ref other => panic!("{:?}: {other:?}", constant.name),
    };
    let found: BTreeMap<&str, u64> = module
        .constants
        .iter()
        .filter_map(|(_, constant)| Some((constant.name.as_deref()?, value(constant))))
        .collect();
    let size = |size: usize| size as u64;
    let expected = BTreeMap::from([
        ("LIST", XfbTopology::List as u64),
        ("LINE_STRIP", XfbTopology::LineStrip as u64),
        ("TRI_STRIP", XfbTopology::TriStrip as u64),
        ("TRI_FAN", XfbTopology::TriFan as u64),
        ("LINE_LIST_ADJ", XfbTopology::LineListAdj as u64),
        ("LINE_STRIP_ADJ", XfbTopology::LineStripAdj as u64),
        ("TRI_LIST_ADJ", XfbTopology::TriListAdj as u64),
        ("TRI_STRIP_ADJ", XfbTopology::TriStripAdj as u64),
        ("ANY_TOPOLOGY", SpecIds::ANY_TOPOLOGY.into()),
        ("INLINE_ATTRIBUTES", size(INLINE_ATTRIBUTES)),
        ("DRAW_SIZE", size(size_of::<DrawSysvals>())),
        ("DRAW_FIRST_WORKGROUP", size(offset_of!(DrawSysvals, first_workgroup))),
        ("INDEX_SIZE", flags::INDEX_SIZE.into()),
        ("RESTART", flags::RESTART.into()),
        ("LAST_VERTEX", flags::LAST_VERTEX.into()),
        ("INVERTED", flags::INVERTED.into()),
        ("FAR_ATTRIBUTES", flags::FAR_ATTRIBUTES.into()),
        ("HAS_BATCH", flags::HAS_BATCH.into()),
        ("BOUND_PER_DRAW", flags::BOUND_PER_DRAW.into()),
        ("COUNT_PASS", flags::COUNT_PASS.into()),
        ("STREAM_SHIFT", flags::STREAM_SHIFT.into()),
        ("WITHOUT_EFFECTS", flags::WITHOUT_EFFECTS.into()),
        ("NARROW", WideAccesses::Narrow as u64),
        ("TESTED", WideAccesses::Tested as u64),
        ("ALIGNED", WideAccesses::Aligned as u64),
        ("SLICE_SHIFT", flags::SLICE_SHIFT.into()),
        ("VERTICES_PER_PRIMITIVE_SHIFT", flags::VERTICES_PER_PRIMITIVE_SHIFT.into()),
        ("BLOCK", RESTART_BLOCK),
        ("BLOCKS", RESTART_BLOCKS),
        ("RESTART_RANGE_SIZE", size(size_of::<RestartRange>())),
        ("RESTART_RANGE_FIRST_WORKGROUP", size(offset_of!(RestartRange, first_workgroup))),
        ("RESTARTED_DRAW_SIZE", size(size_of::<RestartedDraw>())),
        ("RESTARTED_BATCH", RESTARTED_BATCH.into()),
        ("SHARED_BATCH", size(size_of::<Sysvals>() / 8)),
        ("SHARED_PAIRS", size((size_of::<Sysvals>() + size_of::<Batch>()) / 8)),
        ("SYSVALS_SIZE", size(size_of::<Sysvals>())),
        ("RESUME_PROGRESS", size(offset_of!(Resume, progress))),
        ("RESUME_WIDTH", RESUME_WIDTH.into()),
        ("ENTRIES_PER_BLOCK", ENTRIES_PER_BLOCK.into()),
        ("ENTRIES_PER_INVOCATION", (ENTRIES_PER_BLOCK / ENTRY_SUMS_WIDTH).into()),
        ("ENTRY_SUMS_WIDTH", ENTRY_SUMS_WIDTH.into()),
        ("ENTRIES_SIZE", size(size_of::<Entries>())),
        ("ENTRY_SIZE", ENTRY_SIZE),
        ("ENTRY_BLOCK_SIZE", ENTRY_BLOCK_SIZE),
        ("ENTRY_JOB_SIZE", size(size_of::<EntryJob>())),
        ("PLACE_PROGRESS", size(offset_of!(PlaceEntries, progress))),
        ("KNOWN_BATCH_SIZE", size(size_of::<Batch>())),
        ("MAX_KERNEL_WIDTH", MAX_WORKGROUP_SIZE.into()),
        ("DIRECT", kind::DIRECT.into()),
        ("INDIRECT", kind::INDIRECT.into()),
        ("BYTE_COUNT", kind::BYTE_COUNT.into()),
        ("DRAW_COMMAND_SIZE", size(size_of::<DrawCommand>())),
        ("MOST_DRAWS", MAX_DRAWS.into()),
        ("DRAW_COMMAND_GROUP", size(offset_of!(DrawCommand, group))),
        ("DRAW_COMMAND_RESTART_TABLE", size(offset_of!(DrawCommand, restart_table))),
        ("DRAW_COMMAND_QUERIES", size(offset_of!(DrawCommand, stream_query))),
        ("BATCH_SIZE", BATCH_SIZE),
        ("SETUP_PROGRESS", size(offset_of!(Setup, progress))),
        ("FUSED_QUERIES", size(offset_of!(Fused, stream_query))),
        ("FUSED_ARRIVED", size(offset_of!(Fused, arrived))),
        ("FUSED_EXPECTED", size(offset_of!(Fused, expected))),
        ("STORE", operation::STORE.into()),
        ("ADD", operation::ADD.into()),
        ("END", operation::END.into()),
        ("OPERATION_SIZE", size(size_of::<Operation>())),
        ("COUNTED_DRAW_SIZE", size(size_of::<CountedDraw>())),
        ("RESULT_64", result_flags::RESULT_64.into()),
        ("RESULT_WITH_AVAILABILITY", result_flags::WITH_AVAILABILITY.into()),
        ("RESULT_PARTIAL", result_flags::PARTIAL.into()),
        ("RESULTS_WIDTH", RESULTS_WIDTH.into()),
        ("QUERY_SIZE", size(size_of::<Query>())),
        ("QUERY_RESULT", size(offset_of!(Query, result))),
        // Rust has no use for these.
        ("TESSELLATED_ONE", tessellator::ONE.into()),
        ("MOST_LEVEL", tessellator::MAX_LEVEL as u64),
        ("INFINITY_BITS", f32::INFINITY.to_bits().into()),
        ("TRIANGLES", Domain::Triangles as u64),
        ("QUADS", Domain::Quads as u64),
        ("ISOLINES", Domain::Isolines as u64),
        ("EQUAL", Spacing::Equal as u64),
        ("FRACTIONAL_EVEN", Spacing::FractionalEven as u64),
        ("FRACTIONAL_ODD", Spacing::FractionalOdd as u64),
        ("NONE", u32::MAX.into()),
        ("MOST_ITEMS", (1 << 31) - 1),
        ("MOST_ASSEMBLED", 1 << 30),
        ("STREAM_QUERY", 0),
        ("GENERATED_QUERY", 1),
        ("GROUP", 2),
        ("NO_RUN", 3),
        ("IS_SUMMING", 1 << 31),
        ("LIST_FAN", 4),
        ("LIST_EMITTED", 0),
        ("CACHED_ITEMS", 1 << 21),
        ("ENTRY_SUM_GROUP", 16),
        ("BLOCKS_PER_INVOCATION", 4),
        ("SLICE_RECORDS", 0),
        ("SLICE_FIRST_RECORD", 1),
        ("SLICE_FIRST_VERTEX", 2),
        ("SLICE_PATCH", 3),
        ("SLICE_RINGS", 4),
        ("SLICE_EDGES", 5),
        ("SLICE_SIZE", 11),
        ("ENTRY_SUM_GROUPS", u64::from(ENTRY_SUMS_WIDTH) / 16),
    ]);
    assert_eq!(found, expected);

    let widths: BTreeMap<&str, [u32; 3]> = module
        .entry_points
        .iter()
        .filter(|entry| entry.stage == naga::ShaderStage::Compute)
        .map(|entry| (entry.name.as_str(), entry.workgroup_size))
        .collect();
    let expected = BTreeMap::from([
        ("xfb_compute", [DEFAULT_WORKGROUP_SIZE, 1, 1]),
        ("xfb_compute_staged", [DEFAULT_WORKGROUP_SIZE, 1, 1]),
        ("xfb_geometry", [DEFAULT_WORKGROUP_SIZE, 1, 1]),
        ("xfb_entry_sums", [ENTRY_SUMS_WIDTH, 1, 1]),
        ("xfb_place_entries", [MAX_WORKGROUP_SIZE, 1, 1]),
        ("xfb_place_entries_serial", [1, 1, 1]),
        ("xfb_restart", [MAX_WORKGROUP_SIZE, 1, 1]),
        ("xfb_restart_scan", [MAX_WORKGROUP_SIZE, 1, 1]),
        ("xfb_setup", [MAX_WORKGROUP_SIZE, 1, 1]),
        ("xfb_setup_serial", [1, 1, 1]),
        ("xfb_resume", [RESUME_WIDTH, 1, 1]),
        ("xfb_finish", [1, 1, 1]),
        ("xfb_results", [RESULTS_WIDTH, 1, 1]),
        ("xfb_draw_arguments", [1, 1, 1]),
    ]);
    assert_eq!(widths, expected);
}
