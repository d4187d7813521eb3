// The setup kernel: places draws (computes where their records begin, and how many of their primitives fit) whose
// arguments, or whose positions in the capture buffers, only the GPU knows. One workgroup processes all draws, because
// the records of a draw begin where those of the draw before it end.
//
// In all kernels, accesses to buffers are not coherent between invocations: an invocation must not read what another
// one of the same dispatch wrote. Invocations exchange data through shared memory instead.

struct Setup {
    // The addresses of an array of `DrawCommand`, and of the array of `Draw` that the kernel writes.
    commands: vec2<u32>,
    draws: vec2<u32>,
    // A group consists of the consecutive draw commands that one dispatch captures. At the address `groups` there is a
    // dword for each group: the workgroup size of its pipeline. At `batches` the kernel writes a `GroupBatch` for each
    // group: the parameters of its dispatch. If any command may have several draws, `draws` has memory only for draws
    // that write something, and for one draw of each group. For geometry shaders it has memory for all draws.
    groups: vec2<u32>,
    batches: vec2<u32>,
    // The size of a draw: DRAW_SIZE, or RESTARTED_DRAW_SIZE if any draw has primitive restart.
    draw_stride: u32,
    command_count: u32,
    // The largest number of draws that a turn of the serial kernel processes, or NONE if it has only one turn.
    turn_draws: u32,
    workgroups_per_axis: u32,
    // 1 if any command adds to a query, otherwise 0.
    has_queries: u32,
    // For geometry shaders: all draws together have at most 2^entry_bits entries (sequences of items of which one
    // invocation processes each, geometry.wgsl), and one more per draw, because the last entry of a draw may have fewer
    // items than the others. `entry_tables` is the address of an `EntryTables`.
    entry_bits: u32,
    entry_tables: vec2<u32>,
    // A `Progress` follows.
}

// The memory for the entries of all groups. `counts` and `blocks` are the addresses of two arrays that all groups
// share: each group gets a part of both, see `Entries` in geometry.wgsl. `entries` is the address of an array to which
// the kernel writes an `Entries` for each group.
struct EntryTables {
    counts: vec2<u32>,
    blocks: vec2<u32>,
    entries: vec2<u32>,
    reserved: vec2<u32>,
}

struct GroupBatch {
    batch: Batch,
    workgroups: vec3<u32>,
    reserved: u32,
}

const BATCH_SIZE: u32 = 48u;
// The offset of the `Progress` in the parameters, in bytes.
const SETUP_PROGRESS: u32 = 64u;

// The largest number of items of a draw with primitive restart. A fan has two invocations per item, and the number of
// invocations must fit into 32 bits.
const MOST_ITEMS: u32 = 0x7fffffffu;
// The largest workgroup size of a kernel. Shared memory is declared for this size.
const MAX_KERNEL_WIDTH: u32 = 256u;

// The kinds of runs. A run consists of consecutive draws that add to the same query, or that are in the same group, and
// something is added up over its draws (sums.wgsl): for a query their primitives, for a group its workgroups and the
// draws that the kernel stores.
const STREAM_QUERY: u32 = 0u;
const GENERATED_QUERY: u32 = 1u;
const GROUP: u32 = 2u;
// Passed to sum_runs in place of a kind for a sum over the values of all invocations, without runs.
const NO_RUN: u32 = 3u;

// The parameters. They are in shared memory because registers are scarce.
var<workgroup> setup: Setup;

// Where in each buffer the capture begins, in bytes, and the number of records that fit from there on (NONE if the
// stream is not captured). They are in shared memory because the kernel needs them at its end, and registers are
// scarce.
var<workgroup> start_position: vec4<u32>;
var<workgroup> start_room: u32;

// The number of records for which there is room after those of the draws placed so far (NONE if the stream is not
// captured), and the number of the next record. Both are the same in all invocations.
var<private> room: u32;
var<private> next_record: u32;

// For geometry shaders: the number of entries of the draws so far, and the number of items of all draws.
var<private> next_entry: u32;
var<workgroup> all_items: vec2<u32>;

@compute @workgroup_size(MAX_KERNEL_WIDTH)
fn xfb_setup(@builtin(local_invocation_index) local: u32) {
    let width = kernel_width();
    // Only the first invocation reads and writes the counters.
    if local == 0u {
        setup = load_setup();
        let progress = load_progress(progress_address());
        let positions = start_positions(progress, kernel.parameters);
        start_position = positions;
        start_room = room_at(progress, positions);
        ends = array<vec4<u32>, 4>();
        all_items = vec2<u32>();
    }
    room = workgroupUniformLoad(&start_room);
    next_record = 0u;
    next_entry = 0u;
    var next_draw = 0u;
    // The draws of geometry shaders are processed in two rounds. The first round only adds up their items, because the
    // number of items per entry depends on the items of all draws.
    var is_summing = makes_entries();
    for (var first = 0u;; first += width) {
        if makes_entries() && is_summing && first >= setup.command_count {
            is_summing = false;
            workgroupBarrier();
            first = 0u;
        }
        if first >= setup.command_count {
            break;
        }
        count_draws(first, local);
        var first_draw = 0u;
        loop {
            let draw_count = counted_draws(first);
            // Behind the last draw of all, one invocation stands for an end: it ends the last runs, as the first draw
            // of further runs would.
            let has_end = first + width >= setup.command_count && !(makes_entries() && is_summing);
            if first_draw >= draw_count + select(0u, 1u, has_end) {
                break;
            }
            let exists = first_draw + local < draw_count;
            var part = Part(setup.command_count, 0u);
            var starts = select(0u, (1u << NO_RUN) - 1u, has_end && first_draw + local == draw_count);
            var made = Draw();
            var restarts = DrawRestarts();
            var placed = DrawPlacement(0u, 1u, vec2<u32>(), 0u, 0u);
            if exists {
                part = part_of(first, first_draw + local);
                starts = starts_of(part);
                let recorded = load_command(setup.commands, part.command);
                let command = draw_of_command(recorded, part.index);
                var arguments = arguments_of(command);
                arguments.count = select(0u, arguments.count, part.index < existing_draws(recorded));
                var segments = Prefix(0u, arguments.count);
                if may_restart() && (command.flags & RESTART) != 0u {
                    let found = restarts_of(command, arguments);
                    restarts = found.draw;
                    segments = found.prefix;
                }
                placed = needed_by_command(command, arguments, segments);
                made = draw_of(command, arguments);
            }
            // If the stream is not captured, nothing is stored and nothing overflows. So the draws are not placed, and
            // all their primitives count as written.
            if makes_entries() {
                made = draw_of_items(made, placed.primitives);
                // The number of all items is known only after the first round.
                if !is_summing {
                    made = draw_of_entries(made);
                }
            } else {
                if captures() {
                    placed = place(local, placed);
                }
                made = placed_draw(made, placed);
            }

            let is_group_start = (starts & (1u << GROUP)) != 0u;
            let is_first = exists && (is_group_start || first + first_draw + local == 0u);
            let is_kept = exists && (!has_several() || made.invocations != 0u || is_first);
            var group = 0u;
            var workgroups = 0u;
            var entries = 0u;
            if exists && !(makes_entries() && is_summing) {
                group = load_group(setup.commands, part.command);
                let size = load_workgroup_size(group);
                workgroups = workgroups_of(made, size);
                entries = workgroups * size;
            }
            if makes_entries() && is_summing {
                entries = made.item_count * made.instance_count;
            }
            // For each kind of run, `sum.before` is the sum over the draws before this one in its run or, if this draw
            // begins a run, the sum over the whole previous run.
            var sum = Sum();
            var before_in_group = vec4<u32>();
            // This is a loop, because the code of sum_runs is long, and compilers inline every call.
            var which = select(STREAM_QUERY, GROUP, setup.has_queries == 0u);
            for (which = select(which, NO_RUN, makes_entries() && is_summing); which <= NO_RUN; which++) {
                var value = vec4<u32>(select(0u, 1u, is_kept), 0u, entries, 0u);
                if which == STREAM_QUERY {
                    value = vec4<u32>(select(placed.needed, vec2<u32>(placed.written, 0u), captures()), placed.needed);
                }
                if which == GENERATED_QUERY {
                    value = vec4<u32>(placed.needed, 0u, 0u);
                }
                if which == GROUP {
                    value = vec4<u32>(workgroups, 0u, value.x, 0u);
                }
                let is_start = (starts & (1u << which)) != 0u;
                sum = sum_runs(local, is_start, value, which);
                if which == GROUP {
                    before_in_group = sum.before;
                } else if is_start {
                    add_to_any_query(load_query(part.command - 1u, which), sum.before);
                }
            }
            if makes_entries() && is_summing {
                if local == 0u {
                    all_items = add64(all_items, sum.last.zw);
                }
                first_draw += width;
                continue;
            }

            let number = next_draw + sum.before.x;
            next_draw += sum.last.x;
            if makes_entries() {
                if is_first {
                    start_entries(group, sum.before.z);
                }
                next_entry += sum.last.z;
            }
            var first_workgroup = 0u;
            if is_group_start {
                let ended = load_group(setup.commands, part.command - 1u);
                store_group(ended, load_workgroup_size(ended), before_in_group, number);
            } else {
                first_workgroup = saturated(before_in_group.xy);
            }
            if is_kept {
                let at = multiply_add(setup.draws, number, setup.draw_stride);
                if !makes_entries() {
                    // Not computed by placed_draw, because registers are scarce.
                    made.reciprocal = reciprocal_of(made, invocations_per_item(made));
                }
                store_draw(at, made, first_workgroup);
                if may_restart() && (made.flags & RESTART) != 0u {
                    // The address of the table is loaded again, because registers are scarce.
                    let command_at = multiply_add(setup.commands, part.command, DRAW_COMMAND_SIZE);
                    store_restarts(at, restarts, load2_aligned(command_at, DRAW_COMMAND_RESTART_TABLE / 4u));
                }
            }
            let fits = captures() && room >= placed.vertices;
            first_draw = next_block(first, first_draw, part, fits, local);
        }
    }

    // The counters are overwritten below, and draws may have read their vertex count from a counter
    // (vkCmdDrawIndirectByteCountEXT). This barrier orders these loads before the store.
    storageBarrier();
    if local == 0u {
        store_positions(load_progress(progress_address()), start_position, next_record);
    }
}

fn load_setup() -> Setup {
    let at = kernel.parameters;
    let a = load4_aligned(at, 0u);
    let b = load4_aligned(at, 4u);
    let c = load4_aligned(at, 8u);
    let d = load4_aligned(at, 12u);
    return Setup(
        a.xy, a.zw,
        b.xy, b.zw,
        c.x, c.y, c.z, c.w,
        d.x, d.y, d.zw,
    );
}

// Whether anything is captured. Otherwise the draws only add to queries.
fn captures() -> bool {
    return start_room != NONE;
}

fn progress_address() -> vec2<u32> {
    return add_bytes(kernel.parameters, SETUP_PROGRESS);
}

// The workgroup size of the pipeline that captures the draws of a group.
fn load_workgroup_size(group: u32) -> u32 {
    return load1(setup.groups, group);
}

// The primitives needed for a draw: those of all its instances, whether they fit or not. `segments` is what the
// vertices or indices of one instance amount to. The draw is placed later.
fn needed_by_command(command: DrawCommand, arguments: Arguments, segments: Prefix) -> DrawPlacement {
    let open = primitive_count(command.topology, vertices_per_primitive(command.flags), segments.open);
    var primitives = segments.primitives + open;
    if makes_entries() && (command.flags & RESTART) == 0u {
        // The items of patches are their slices.
        let bits = slice_bits(command.flags);
        primitives = min(primitives, MOST_ITEMS >> bits) << bits;
    }
    return needed_by(primitives, command.flags, arguments.instance_count);
}

// -- Placing: computes where each draw's records begin (after those of the draws before it), and clamps the draw to
// what fits into the buffers

// The result of a round of the loop in place(). A round places the draws of the block (one per invocation) that are not
// placed yet, up to and including the first one for which less room is left than it would take as the first of the
// round.
struct Round {
    end: u32, // the number of the first draw that is not placed
    records: u32,
}

var<workgroup> round: Round;

// Places one draw per invocation: returns `unplaced` with the number of its first record and of its primitives written
// (those that fit).
//
// A round is a prefix sum over the records that each draw would write if it were the first of the round. The sum is
// right up to the first draw for which less room is left than that. After this draw there is room for less than one of
// its primitives, which is at most 2 records. Later draws may have smaller primitives, which fit, so they are placed in
// a new round. A round that ends before the block's last draw takes at least one record. So all blocks together take at
// most 3 rounds more than there are blocks.
fn place(local: u32, unplaced: DrawPlacement) -> DrawPlacement {
    let width = kernel_width();
    var placed = unplaced;
    var first = 0u;
    while first < width {
        // The number of records that the draw would write if it were the first of the round.
        var records = 0u;
        if local >= first {
            records = fitting(placed, room) * placed.vertices;
        }
        let before = sum_runs(local, false, vec4<u32>(records, 0u, 0u, 0u), NO_RUN).before.xy;
        if local >= first && before.y == 0u && before.x <= room {
            let left = room - before.x;
            placed.written = min(records, left) / placed.vertices;
            placed.base_record = next_record + before.x;
            if records > left || local == width - 1u {
                round = Round(local + 1u, before.x + placed.written * placed.vertices);
            }
        }
        let done = workgroupUniformLoad(&round);
        first = done.end;
        next_record += done.records;
        room -= done.records;
    }
    return placed;
}

// Returns a draw with its counts as the command has them, not yet clamped to what fits: `item_count` is the number of
// vertices or indices.
fn draw_of(command: DrawCommand, arguments: Arguments) -> Draw {
    return Draw(
        command.flags,
        0u,
        0u,
        arguments.count,
        arguments.instance_count,
        arguments.base_vertex,
        0u,
        0u,
        arguments.index_address,
        arguments.index_limit,
        0u,
        command.topology,
        command.draw_index,
        arguments.first_instance,
        0u,
    );
}

// The draw `unclamped` with all counts clamped to what fits into the buffers.
fn placed_draw(unclamped: Draw, placed: DrawPlacement) -> Draw {
    var made = clamped(unclamped, placed);
    if may_restart() && (made.flags & RESTART) != 0u && placed.written != 0u {
        // Indices beyond the index buffer are read as 0 and are never restarts. So they form one long segment, with at
        // least one primitive per six indices. The draw keeps enough of these indices for all primitives that fit.
        let primitives = min(placed.primitives, placed.written);
        let beyond = 6u * (min(primitives, MOST_ITEMS / 6u - 1u) + 1u);
        let reached = made.index_limit + min(beyond, 0xffffffffu - made.index_limit);
        made.item_count = min(min(unclamped.item_count, reached), MOST_ITEMS);
    }
    return with_invocations(made, placed);
}

// A draw of a geometry shader, with its items: its input primitives or, with primitive restart, its indices, because a
// primitive may begin at each of them. A draw of patches has an item for each slice of each patch (or index). Items
// beyond MOST_ITEMS are ignored. The draw is placed later, after the count pass (entries.wgsl).
fn draw_of_items(unclamped: Draw, primitives: u32) -> Draw {
    var made = unclamped;
    let bits = slice_bits(made.flags);
    let indices = min(unclamped.item_count, MOST_ITEMS >> bits) << bits;
    made.item_count = min(select(primitives, indices, (made.flags & RESTART) != 0u), MOST_ITEMS);
    if primitives == 0u {
        made.item_count = 0u;
    }
    made.instance_count = min(made.instance_count, MOST_ITEMS / max(1u, made.item_count));
    made.output_end = NONE;
    made.reciprocal = reciprocal_of(made, 1u);
    return made;
}

// The draw `whole` of a geometry shader with its items divided into entries. Call it only when the number of items of
// all draws is known.
fn draw_of_entries(whole: Draw) -> Draw {
    var made = whole;
    let items = made.item_count * made.instance_count;
    made.output_count = length_of_entries();
    made.invocations = items / made.output_count + select(1u, 0u, items % made.output_count == 0u);
    return made;
}

// The number of items per entry. It is chosen so that all draws together need at most 2^entry_bits entries, and one
// more for each draw whose last entry is shorter.
fn length_of_entries() -> u32 {
    // A draw has less than 2^31 items, and there are at most 2^16 draws (MAX_GEOMETRY_DRAWS in
    // src/runtime/recording/collect/values.rs), so the sum is below 2^47.
    let bits = setup.entry_bits;
    let rounded = add64(all_items, vec2<u32>((1u << bits) - 1u, 0u));
    return max(1u, (rounded.x >> bits) | ((rounded.y << 1u) << (31u - bits)));
}

// Called for the first draw of a group: writes the addresses of the group's entries (see `Entries`). `before` is the
// number of entries of the draws of this block (one per invocation) before this one.
//
// The entries of each group begin with a new block of ENTRIES_PER_BLOCK entries. The number of that block is the number
// of blocks that the entries of all previous groups fill, and one more for each of these groups, because the last block
// of a group may not be full.
fn start_entries(group: u32, before: u32) {
    let tables = load4_aligned(setup.entry_tables, 0u);
    let block = (next_entry + before) / ENTRIES_PER_BLOCK + group;
    let at = multiply_add(load2_aligned(setup.entry_tables, 4u), group, ENTRIES_SIZE);
    let counts = multiply_add(tables.xy, block, ENTRIES_PER_BLOCK * ENTRY_SIZE);
    store4_aligned(at, 0u, vec4<u32>(counts, multiply_add(tables.zw, block, ENTRY_BLOCK_SIZE)));
}

// Stores the number of entries of `group`, rounded up to whole blocks. Returns the number of workgroups for which each
// of these entries has an invocation. The entries that only fill the last block belong to no draw, but their
// invocations have to write the count 0.
fn fill_entries(group: u32, size: u32, workgroups: u32) -> u32 {
    let entries = blocks_of(workgroups * size) * ENTRIES_PER_BLOCK;
    let at = multiply_add(load2_aligned(setup.entry_tables, 4u), group, ENTRIES_SIZE);
    store1(at, 4u, entries);
    return (entries + size - 1u) / size;
}

fn workgroups_of(made: Draw, size: u32) -> u32 {
    return made.invocations / size + select(1u, 0u, made.invocations % size == 0u);
}

// Writes the `GroupBatch` of `group`, whose pipeline has workgroups of `size` invocations. `sums` has the number of the
// group's workgroups (64 bits) and of its draws; the last of these is the one before draw `end`. The group's
// VkDispatchIndirectCommand is folded into two axes as in src/runtime/device/checks.rs, so that the number of workgroups
// does not exceed the limit of one axis.
fn store_group(group: u32, size: u32, sums: vec4<u32>, end: u32) {
    let batch = multiply_add(setup.batches, group, BATCH_SIZE);
    let first = end - sums.z;
    let draws = multiply_add(setup.draws, first, setup.draw_stride);
    let restarted = select(0u, RESTARTED_BATCH, setup.draw_stride == RESTARTED_DRAW_SIZE);
    store4_aligned(batch, 0u, vec4<u32>(draws, sums.z | restarted, NONE));
    store4_aligned(batch, 4u, start_position);
    let axis = setup.workgroups_per_axis;
    var count = min(saturated(sums.xy), axis * axis);
    if makes_entries() {
        count = fill_entries(group, size, count);
    }
    let rows = max(1u, count / axis + select(0u, 1u, count % axis != 0u));
    let columns = count / rows + select(0u, 1u, count % rows != 0u);
    store4_aligned(batch, 8u, vec4<u32>(columns, rows, 1u, 0u));
}

fn store_draw(at: vec2<u32>, made: Draw, first_workgroup: u32) {
    store4_aligned(at, 0u, vec4<u32>(made.flags, made.output_count, made.output_end, made.item_count));
    store4_aligned(at, 4u, vec4<u32>(made.instance_count, made.base_vertex, made.base_record, first_workgroup));
    store4_aligned(at, 8u, vec4<u32>(made.index_address, made.index_limit, made.reciprocal));
    store4_aligned(at, 12u, vec4<u32>(made.xfb_topology, made.draw_index, made.first_instance, made.invocations));
}

// Stores the `DrawRestarts` behind the draw at `at`. `table` is the address of its table of restarts.
fn store_restarts(at: vec2<u32>, restarts: DrawRestarts, table: vec2<u32>) {
    let behind = add_bytes(at, DRAW_SIZE);
    store4_aligned(behind, 0u, vec4<u32>(restarts.first, restarts.limit, restarts.head, restarts.before));
    store2(behind, 4u, table);
}
