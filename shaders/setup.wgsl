// Counts and clamps draws whose arguments, or whose positions in the capture buffers, are only known on the GPU.
// One workgroup processes all draws.
//
// In all kernels memory is not coherent: an invocation must not read what another invocation of the dispatch
// wrote. Invocations exchange data through shared memory.

struct Setup {
    // The addresses of an array of `Input`, and of the array of `Draw` to write.
    inputs: vec2<u32>,
    draws: vec2<u32>,
    // A group consists of the consecutive inputs (recorded draw commands) that one dispatch captures. `groups`
    // has a dword for each group: the workgroup size of its pipeline. To `batches` the kernel writes a
    // `GroupBatch` for each group: the parameters of the dispatch. If any input may have several draws, `draws` has memory
    // only for draws that write something and for one draw of each group; for geometry shaders it has memory for all
    // draws.
    groups: vec2<u32>,
    batches: vec2<u32>,
    // The size of a draw: DRAW_SIZE, or RESTARTED_DRAW_SIZE if any draw has primitive restart.
    draw_stride: u32,
    input_count: u32,
    reserved: u32,
    workgroups_per_axis: u32,
    // Whether any input adds to a query.
    has_queries: u32,
    // For geometry shaders: all draws together have at most 2^entry_bits entries (runs of items that one invocation
    // processes) and one more per draw, because the last entry of a draw may have fewer items than the other entries.
    // The next member is the address of an `EntryTables`.
    entry_bits: u32,
    entry_tables: vec2<u32>,
    // A `Progress` follows.
}

// The memory for the entries of all groups. `counts` and `blocks` are the addresses of two arrays that all groups share:
// each group gets a part of both, see `Entries` in geometry.wgsl. `entries` is the address of an array to which the kernel
// writes an `Entries` for each group.
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

// The kinds of sums over runs of draws. The sums for the two kinds of queries add up primitives; the sum for a group
// adds up its workgroups and the draws that the kernel stores (parts.wgsl). A run consists of consecutive draws with
// the same query or group.
const STREAM_QUERY: u32 = 0u;
const GENERATED_QUERY: u32 = 1u;
const GROUP: u32 = 2u;
// The kind that is passed to sum_runs for a sum without runs, over the values of all invocations.
const NO_RUN: u32 = 3u;

// The parameters. They are in shared memory because registers are scarce.
var<workgroup> setup: Setup;

// The positions where the capture begins, and the number of records that fit from there on, or NONE if the stream is
// not captured. They are in shared memory because the kernel needs them at its end, and registers are scarce.
var<workgroup> start_position: vec4<u32>;
var<workgroup> start_room: u32;

// The number of records that fit after those of the draws placed so far (NONE if the stream is not captured), and the number
// of the next record. Both are the same in all invocations.
var<private> room: u32;
var<private> next_record: u32;

// For geometry shaders: the number of entries (runs of items that one invocation processes) that the draws so far
// need, and the number of items of all draws.
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
    // The draws of geometry shaders are processed twice: the first time, only their items are added up, from which
    // the number of items in each entry follows.
    var is_summing = assembles();
    for (var first = 0u;; first += width) {
        if assembles() && is_summing && first >= setup.input_count {
            is_summing = false;
            workgroupBarrier();
            first = 0u;
        }
        if first >= setup.input_count {
            break;
        }
        count_draws(first, local);
        var first_draw = 0u;
        loop {
            let draw_count = counted_draws(first);
            // The last draw of all is followed by an end, which ends its runs as the first draw of the next ones would.
            let has_end = first + width >= setup.input_count && !(assembles() && is_summing);
            if first_draw >= draw_count + select(0u, 1u, has_end) {
                break;
            }
            let exists = first_draw + local < draw_count;
            var part = Part(setup.input_count, 0u);
            var starts = select(0u, (1u << NO_RUN) - 1u, has_end && first_draw + local == draw_count);
            var made = Draw();
            var restarts = DrawRestarts();
            var placed = DrawPlacement(0u, 1u, vec2<u32>(), 0u, 0u);
            if exists {
                part = part_of(first, first_draw + local);
                starts = starts_of(part);
                let recorded = load_input(setup.inputs, part.input);
                let input = draw_of_input(recorded, part.index);
                var arguments = arguments_of(input);
                arguments.count = select(0u, arguments.count, part.index < existing_draws(recorded));
                var segments = State(0u, arguments.count);
                if may_restart() && (input.flags & RESTART) != 0u {
                    let found = restarts_of(input, arguments);
                    restarts = found.draw;
                    segments = found.state;
                }
                placed = needed_by_input(input, arguments, segments);
                made = draw_of(input, arguments);
            }
            // If the stream is not captured, nothing is stored and nothing overflows, so the draws are not placed: all
            // primitives count as written.
            if assembles() {
                made = assembled_draw(made, placed.primitives);
                // Only after the first time the number of all items is known.
                if !is_summing {
                    made = divided_draw(made);
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
            if exists && !(assembles() && is_summing) {
                group = load_group(setup.inputs, part.input);
                let size = load_workgroup_size(group);
                workgroups = workgroups_of(made, size);
                entries = workgroups * size;
            }
            if assembles() && is_summing {
                entries = made.item_count * made.instance_count;
            }
            // The sum over the draws before this one in its run or, if this draw begins a run, the sum over the
            // previous run. A run consists of consecutive draws: those with the same stream query if `which` is
            // STREAM_QUERY, those with the same generated query if it is GENERATED_QUERY, those of the same group
            // if it is GROUP, and all draws if it is NO_RUN.
            var sum = Sum();
            var before_in_group = vec4<u32>();
            // This is a loop, because the code of sum_runs is long, and compilers inline every call.
            var which = select(STREAM_QUERY, GROUP, setup.has_queries == 0u);
            for (which = select(which, NO_RUN, assembles() && is_summing); which <= NO_RUN; which++) {
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
                    add_to_any_query(load_query(part.input - 1u, which), sum.before);
                }
            }
            if assembles() && is_summing {
                if local == 0u {
                    all_items = add64(all_items, sum.last.zw);
                }
                first_draw += width;
                continue;
            }

            let number = next_draw + sum.before.x;
            next_draw += sum.last.x;
            if assembles() {
                if is_first {
                    start_entries(group, sum.before.z);
                }
                next_entry += sum.last.z;
            }
            var first_workgroup = 0u;
            if is_group_start {
                let ended = load_group(setup.inputs, part.input - 1u);
                store_group(ended, load_workgroup_size(ended), before_in_group, number);
            } else {
                first_workgroup = saturated(before_in_group.xy);
            }
            if is_kept {
                let at = multiply_add(setup.draws, number, setup.draw_stride);
                if !assembles() {
                    // Not computed by placed_draw, because registers are scarce.
                    made.reciprocal = reciprocal_of(made, invocations_per_item(made));
                }
                store_draw(at, made, first_workgroup);
                if may_restart() && (made.flags & RESTART) != 0u {
                    // The address of the table is loaded again, because registers are scarce.
                    let input = multiply_add(setup.inputs, part.input, INPUT_SIZE);
                    store_restarts(at, restarts, load2_aligned(input, INPUT_RESTART_TABLE / 4u));
                }
            }
            let fits = captures() && room >= placed.vertices;
            first_draw = next_block(first, first_draw, part, fits, local);
        }
    }

    // The counters are overwritten below, and a draw may read its vertex count from a counter. So this barrier orders
    // all loads before the store.
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

// The primitive counts of a draw of `input`. `segments` is what the vertices or indices of one instance amount to. Where
// its records begin, and how many primitives fit, is computed later.
fn needed_by_input(input: Input, arguments: Arguments, segments: State) -> DrawPlacement {
    let open = primitive_count(input.topology, vertices_per_primitive(input.flags), segments.open);
    var primitives = segments.primitives + open;
    if assembles() && (input.flags & RESTART) == 0u {
        // The items of patches are their slices.
        let bits = slice_bits(input.flags);
        primitives = min(primitives, MOST_ITEMS >> bits) << bits;
    }
    return needed_by(primitives, input.flags, arguments.instance_count);
}

// -- Placing: computes where each draw's records begin (after those of the draws before it), and clamps the draw to
// what fits into the buffers

// The result of a round of the loop in place(). A round goes over those draws of the block (one per invocation) that
// are not placed yet. It places them up to and including the first one for which fewer records are left than it would
// write if the round began with it, or all of them if there is no such draw.
struct Round {
    end: u32, // the number of the first draw that is not placed
    records: u32,
}

var<workgroup> round: Round;

// Places one draw per invocation: returns `unplaced` with the number of its first record and the number of primitives
// that fit.
//
// After a draw that does not fit completely, there is room for less than one of its primitives: at most 2
// records. Later draws may have smaller primitives, and are placed in a new round. A round that ends before the
// block's last draw takes at least one record, so all blocks together take at most 3 rounds more than there are blocks.
fn place(local: u32, unplaced: DrawPlacement) -> DrawPlacement {
    let width = kernel_width();
    var placed = unplaced;
    var first = 0u;
    while first < width {
        // The number of records that the draw would write if the round began with it.
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

// Returns the draw of a command before it is clamped: `item_count` is its number of vertices or indices.
fn draw_of(input: Input, arguments: Arguments) -> Draw {
    return Draw(
        input.topology,
        input.flags,
        0u,
        0u,
        arguments.count,
        arguments.instance_count,
        arguments.base_vertex,
        arguments.first_instance,
        input.draw_index,
        0u,
        0u,
        arguments.index_limit,
        arguments.index_address,
        0u,
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

// A draw of a geometry shader. Where its records begin is computed later (entries.wgsl), after its primitives are
// counted. Its items are its primitives or, with primitive restart, its indices, at which primitives may begin. A draw
// of patches has an item for each slice of each patch or index. Items beyond MOST_ITEMS are ignored.
fn assembled_draw(unclamped: Draw, primitives: u32) -> Draw {
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

// The draw `whole` of a geometry shader with its items divided into entries (runs of items that one invocation
// processes). Called only when the number of items of all draws is known.
fn divided_draw(whole: Draw) -> Draw {
    var made = whole;
    let items = made.item_count * made.instance_count;
    made.output_count = length_of_entries();
    made.invocations = items / made.output_count + select(1u, 0u, items % made.output_count == 0u);
    return made;
}

// The number of items per entry (a run of items that one invocation processes), chosen so that all draws together need
// at most 2^entry_bits entries, and one more for each draw whose last entry is shorter.
fn length_of_entries() -> u32 {
    // A draw has less than 2^31 items, and there are at most 2^16 draws (MAX_ASSEMBLED_DRAWS in
    // src/runtime/recording/collect/values.rs), so the sum is below 2^47.
    let bits = setup.entry_bits;
    let rounded = add64(all_items, vec2<u32>((1u << bits) - 1u, 0u));
    return max(1u, (rounded.x >> bits) | ((rounded.y << 1u) << (31u - bits)));
}

// Writes the addresses of the entries of a group that begins (see `Entries`).
// `before` is the number of entries of the draws of the block before this one.
//
// The entries of each group begin with a new block of ENTRIES_PER_BLOCK entries. Before that block, the arrays
// `counts` and `blocks` have space for the blocks that the entries of all previous groups fill, and for one more block
// per previous group, because the last block of a group may not be full.
fn start_entries(group: u32, before: u32) {
    let tables = load4_aligned(setup.entry_tables, 0u);
    let block = (next_entry + before) / ENTRIES_PER_BLOCK + group;
    let at = multiply_add(load2_aligned(setup.entry_tables, 4u), group, ENTRIES_SIZE);
    let counts = multiply_add(tables.xy, block, ENTRIES_PER_BLOCK * ENTRY_SIZE);
    store4_aligned(at, 0u, vec4<u32>(counts, multiply_add(tables.zw, block, ENTRY_BLOCK_SIZE)));
}

// Stores the number of entries of `group`, rounded up to whole blocks. Returns the number of workgroups in which each of
// these entries has an invocation; invocations without a draw write the count 0.
fn fill_entries(group: u32, size: u32, workgroups: u32) -> u32 {
    let entries = (workgroups * size + ENTRIES_PER_BLOCK - 1u) / ENTRIES_PER_BLOCK * ENTRIES_PER_BLOCK;
    let at = multiply_add(load2_aligned(setup.entry_tables, 4u), group, ENTRIES_SIZE);
    store1(at, 4u, entries);
    return (entries + size - 1u) / size;
}

fn workgroups_of(made: Draw, size: u32) -> u32 {
    return made.invocations / size + select(1u, 0u, made.invocations % size == 0u);
}

// Writes the `GroupBatch` of `group`, whose pipeline has workgroups of `size` invocations. The last draw of the group is
// the one before draw `end`. The group's VkDispatchIndirectCommand is folded into two axes as in src/runtime/device/fold.rs, so
// that its workgroups do not exceed the limit of one axis. `sums` contains the number of workgroups (64 bits) and of draws
// of the group.
fn store_group(group: u32, size: u32, sums: vec4<u32>, end: u32) {
    let batch = multiply_add(setup.batches, group, BATCH_SIZE);
    let first = end - sums.z;
    let draws = multiply_add(setup.draws, first, setup.draw_stride);
    let restarted = select(0u, RESTARTED_BATCH, setup.draw_stride == RESTARTED_DRAW_SIZE);
    store4_aligned(batch, 0u, vec4<u32>(draws, sums.z | restarted, NONE));
    store4_aligned(batch, 4u, start_position);
    let axis = setup.workgroups_per_axis;
    var count = min(saturated(sums.xy), axis * axis);
    if assembles() {
        count = fill_entries(group, size, count);
    }
    let rows = max(1u, count / axis + select(0u, 1u, count % axis != 0u));
    let columns = count / rows + select(0u, 1u, count % rows != 0u);
    store4_aligned(batch, 8u, vec4<u32>(columns, rows, 1u, 0u));
}

fn store_draw(at: vec2<u32>, made: Draw, first_workgroup: u32) {
    store4_aligned(at, 0u, vec4<u32>(made.xfb_topology, made.flags, made.output_count, made.output_end));
    store4_aligned(at, 4u, vec4<u32>(made.item_count, made.instance_count, made.base_vertex, made.first_instance));
    store4_aligned(at, 8u, vec4<u32>(made.draw_index, made.base_record, first_workgroup, made.index_limit));
    store4_aligned(at, 12u, vec4<u32>(made.index_address, made.invocations, made.reciprocal));
}

// Stores the `DrawRestarts` behind the draw at `at`. `table` is the address of its table of restarts.
fn store_restarts(at: vec2<u32>, restarts: DrawRestarts, table: vec2<u32>) {
    let behind = add_bytes(at, DRAW_SIZE);
    store4_aligned(behind, 0u, vec4<u32>(restarts.first, restarts.limit, restarts.head, restarts.before));
    store2(behind, 4u, table);
}
