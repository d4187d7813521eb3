// Primitive restart: which segment an index is in, and how many primitives lie before it.
//
// A segment is what lies between two restart indices. Runs of indices are summarised by an associative
// operation (`join`), so that a reduction and a scan, of any number of workgroups and without
// communication between them, find the state before each run:
//
//   xfb_restart   each invocation summarises a block of 32 indices, or several, each workgroup 256 blocks;
//   xfb_setup     one workgroup scans over the workgroups' summaries;
//   xfb_compute   each invocation joins the state before its workgroup of blocks, the summary of the
//                 blocks between, and the bit mask of its own block.
//
// In memory, for each workgroup 16 bytes (its summary, which xfb_setup replaces by the state before it),
// then for each of its blocks 16 bytes (mask of restarts; summary of what lies before it in its workgroup).
// The last workgroup's entry has the state behind all of them besides, in its last 8 bytes. The last block holds
// no restart: it stands for all indices from its first on, which lie beyond the index buffer or the draw.
//
// The place of a block does not depend on how many there are: of an instance of more than MOST_ITEMS indices, a
// capture stops short of them.

const BLOCK: u32 = 32u; // indices
const BLOCKS: u32 = 256u; // of a workgroup

// A run of indices.
struct Run {
    restarts: u32, // 1 if any
    head: u32, // indices before the first restart; all where there is none
    primitives: u32, // of the segments that begin and end within
    tail: u32, // indices behind the last restart
}

fn join(topology: u32, vertices: u32, a: Run, b: Run) -> Run {
    if b.restarts == 0u {
        return Run(a.restarts, a.head + select(b.head, 0u, a.restarts == 1u), a.primitives, a.tail + b.head);
    }
    if a.restarts == 0u {
        return Run(1u, a.head + b.head, b.primitives, b.tail);
    }
    let between = primitive_count(topology, vertices, a.tail + b.head);
    return Run(1u, a.head, a.primitives + between + b.primitives, b.tail);
}

// What lies before a run.
struct State {
    primitives: u32, // of the complete segments
    open: u32, // indices of the last segment
}

fn advance(topology: u32, vertices: u32, state: State, run: Run) -> State {
    let open = state.open + run.head;
    if run.restarts == 0u {
        return State(state.primitives, open);
    }
    return State(state.primitives + primitive_count(topology, vertices, open) + run.primitives, run.tail);
}

// Blocks of a draw of `count` indices, of which the buffer holds `limit`.
fn block_count(count: u32, limit: u32) -> u32 {
    let indices = min(count, limit);
    return indices / BLOCK + select(0u, 1u, indices % BLOCK != 0u) + 1u;
}

// Numbers of 16 bytes in a table.

fn state_entry(workgroup: u32) -> u32 {
    return workgroup * (BLOCKS + 1u);
}

fn block_entry(block: u32) -> u32 {
    return block + block / BLOCKS + 1u;
}

// The run of `length` indices whose restarts are the bits of `mask`.
fn run_of_mask(topology: u32, vertices: u32, mask: u32, length: u32) -> Run {
    if mask == 0u {
        return Run(0u, length, 0u, length);
    }
    let first = firstTrailingBit(mask);
    var last = first;
    var primitives = 0u;
    for (var rest = mask & (mask - 1u); rest != 0u; rest &= rest - 1u) {
        let next = firstTrailingBit(rest);
        primitives += primitive_count(topology, vertices, next - last - 1u);
        last = next;
    }
    return Run(1u, first, primitives, length - last - 1u);
}

// -- Reduction

// Draws whose indices are reduced in one dispatch.
struct Reduction {
    inputs: vec2<u32>,
    // Pairs: number of the input, and its first workgroup.
    list: vec2<u32>,
    count: u32,
    reserved: u32,
}

var<workgroup> runs: array<Run, MAX_KERNEL_WIDTH>;
// Of each block, by bits.
var<workgroup> restarts: array<atomic<u32>, BLOCKS>;

@compute @workgroup_size(MAX_KERNEL_WIDTH)
fn xfb_restart(
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let workgroup = workgroup_id.y * workgroups.x + workgroup_id.x;
    let head = load4(kernel.parameters);
    let count = load1(multiply_add(kernel.parameters, 1u, 16u));
    var low = 0u;
    var high = count;
    while high - low > 1u {
        let middle = low + (high - low) / 2u;
        if load1(multiply_add(multiply_add(head.zw, middle, 8u), 1u, 4u)) <= workgroup {
            low = middle;
        } else {
            high = middle;
        }
    }
    let entry = load2(multiply_add(head.zw, low, 8u));
    let input = load_input(head.xy, entry.x);
    let arguments = arguments_of(input);
    let vertices = vertices_per_primitive(input.flags);
    let blocks = block_count(arguments.count, arguments.index_limit);
    let first_block = (workgroup - entry.y) * BLOCKS;

    find_restarts(arguments, input.flags & INDEX_SIZE, input.restart_index, first_block * BLOCK, local);
    // Blocks of the invocation, one behind the other.
    let width = kernel_width();
    let share = BLOCKS / width;
    var run = Run();
    for (var i = 0u; i < share; i++) {
        let next = run_of_block(input.topology, vertices, arguments.count, blocks, first_block, local * share + i);
        run = join(input.topology, vertices, run, next);
    }

    var before = scan_runs(input.topology, vertices, local, run);
    for (var i = 0u; i < share; i++) {
        let number = local * share + i;
        if first_block + number < blocks {
            // At most 8192 indices: 14 bits each.
            let packed = before.head | (before.tail << 14u) | (before.restarts << 31u);
            let words = vec4<u32>(atomicLoad(&restarts[number]), packed, before.primitives, 0u);
            store4(input.restart_table, 4u * block_entry(first_block + number), words);
        }
        let next = run_of_block(input.topology, vertices, arguments.count, blocks, first_block, number);
        before = join(input.topology, vertices, before, next);
    }
    if local == 0u && first_block < blocks {
        let all = runs[width - 1u];
        let state = vec4<u32>(all.restarts, all.head, all.primitives, all.tail);
        store4(input.restart_table, 4u * state_entry(first_block / BLOCKS), state);
    }
}

// The run of a block, by its number in the workgroup. The last block of a draw has none, and neither has what
// lies behind it.
fn run_of_block(topology: u32, vertices: u32, count: u32, blocks: u32, first_block: u32, number: u32) -> Run {
    let block = first_block + number;
    if block >= blocks - 1u {
        return Run();
    }
    let mask = atomicLoad(&restarts[number]);
    return run_of_mask(topology, vertices, mask, min(BLOCK, count - block * BLOCK));
}

// Finds the restarts among the indices of a workgroup. Neighbouring invocations load neighbouring indices. Those beyond
// the index buffer, which are 0, restart nothing.
fn find_restarts(arguments: Arguments, size: u32, restart: u32, start: u32, local: u32) {
    let end = min(arguments.count, arguments.index_limit);
    let count = min(BLOCKS * BLOCK, end - min(end, start));
    let width = kernel_width();
    for (var i = local; i < BLOCKS; i += width) {
        atomicStore(&restarts[i], 0u);
    }
    workgroupBarrier();
    for (var i = local; i < count; i += width) {
        if load_index(arguments.index_address, arguments.index_limit, size, start + i) == restart {
            atomicOr(&restarts[i / BLOCK], 1u << (i % BLOCK));
        }
    }
    workgroupBarrier();
}

// Scans over the runs of a workgroup. What lies before the invocation's own is the result; all of them
// together are left in the element of `runs` of the last invocation.
fn scan_runs(topology: u32, vertices: u32, local: u32, run: Run) -> Run {
    runs[local] = run;
    workgroupBarrier();
    for (var step = 1u; step < kernel_width(); step *= 2u) {
        var joined = runs[local];
        if local >= step {
            joined = join(topology, vertices, runs[local - step], joined);
        }
        workgroupBarrier();
        runs[local] = joined;
        workgroupBarrier();
    }
    if local == 0u {
        return Run();
    }
    return runs[local - 1u];
}

// -- Use by the setup kernel

// Replaces the summary of each of a draw's workgroups by the state before it. The last entry also takes the
// state behind all of them.
fn scan_states(inputs: vec2<u32>, number: u32, local: u32) {
    let input = load_input(inputs, number);
    let arguments = arguments_of(input);
    let vertices = vertices_per_primitive(input.flags);
    let blocks = block_count(arguments.count, arguments.index_limit);
    // The CPU goes by the most that there can be. One alone is left to restarted_primitive_count.
    let summaries = (blocks + BLOCKS - 1u) / BLOCKS;
    let count = select(0u, summaries, summaries > 1u);
    let width = kernel_width();
    var carried = State();
    for (var first = 0u; first < count; first += width) {
        var run = Run();
        if first + local < count {
            run = load_run(multiply_add(input.restart_table, state_entry(first + local), 16u));
        }
        let before = advance(input.topology, vertices, carried, scan_runs(input.topology, vertices, local, run));
        if first + local < count {
            let words = vec2<u32>(before.primitives, before.open);
            store2(input.restart_table, 4u * state_entry(first + local), words);
        }
        carried = advance(input.topology, vertices, carried, runs[width - 1u]);
        workgroupBarrier();
    }
    // Stored once what stands there was loaded, and by all invocations: whichever has a draw of the input then reads
    // what it stored itself.
    storageBarrier();
    if count != 0u {
        let words = vec2<u32>(carried.primitives, carried.open);
        store2(input.restart_table, 4u * state_entry(count - 1u) + 2u, words);
    }
}

fn load_run(at: vec2<u32>) -> Run {
    let words = load4(at);
    return Run(words.x, words.y, words.z, words.w);
}

// Primitives of an instance. Where one workgroup of blocks was enough, its state becomes the initial one.
fn restarted_primitive_count(input: Input, arguments: Arguments) -> u32 {
    let vertices = vertices_per_primitive(input.flags);
    let blocks = block_count(arguments.count, arguments.index_limit);
    let count = (blocks + BLOCKS - 1u) / BLOCKS;
    let last = multiply_add(input.restart_table, state_entry(count - 1u), 16u);
    var state = State();
    if count == 1u {
        state = advance(input.topology, vertices, state, load_run(last));
        store4(last, 0u, vec4<u32>());
    } else {
        let behind = load2(multiply_add(last, 1u, 8u));
        state = State(behind.x, behind.y);
    }
    // The blocks before the last pass 2^32 where as many indices are bound.
    let before_last = saturated(product(BLOCK, blocks - 1u));
    let rest = arguments.count - min(arguments.count, before_last);
    return state.primitives + primitive_count(input.topology, vertices, state.open + rest);
}

// -- Use by captures

// Where an index stands.
struct Place {
    exists: bool, // false for a restart, and where nothing is written any more
    vertex: u32, // number in its segment
    start: u32, // position of the segment's first index
    first_record: u32, // of the segment, within the instance
    record_count: u32, // of the segment's primitives that the vertex can be in, or for a restart, of all
}

// Primitives end within 5 vertices behind any of theirs.
const REACH: u32 = 5u;

// The place of the index at `position`. For a restarted draw `item_count` is the number of indices.
fn place_of_index(position: u32) -> Place {
    let topology = draw_topology();
    let vertices = vertices_per_primitive(draw.flags);
    let blocks = block_count(draw.item_count, draw.index_limit);
    let block = min(position / BLOCK, blocks - 1u);
    let in_block = position - block * BLOCK;
    let entry = load4(multiply_add(draw.restart_table, block_entry(block), 16u));
    let before = load2(multiply_add(draw.restart_table, state_entry(block / BLOCKS), 16u));
    let between = Run(entry.y >> 31u, entry.y & 0x3fffu, entry.z, (entry.y >> 14u) & 0x3fffu);
    // Only the last block is longer than 32, and it has no restart.
    let bit = min(in_block, 31u);
    let here = run_of_mask(topology, vertices, entry.x & ((1u << bit) - 1u), in_block);
    var state = advance(topology, vertices, State(before.x, before.y), between);
    state = advance(topology, vertices, state, here);

    // How much of the segment follows, as far as it matters.
    var next = 0u;
    if block + 1u < blocks {
        next = load1(multiply_add(draw.restart_table, block_entry(block + 1u), 16u));
    }
    let following = ((entry.x >> bit) >> 1u) | (next << (31u - bit));
    let until_restart = firstTrailingBit(following | (1u << REACH));
    let is_restart = (entry.x & select(0u, 1u << bit, in_block < BLOCK)) != 0u;
    let behind = 1u + min(until_restart, draw.item_count - 1u - position);
    let visible = state.open + select(behind, 0u, is_restart);

    // What lies beyond the last record wraps nothing: the limit is at most 2^30.
    let limit = draw.output_limit;
    let first_record = min(state.primitives, limit) * vertices;
    let record_count = min(primitive_count(topology, vertices, visible), limit) * vertices;
    return Place(
        !is_restart & (first_record < limit),
        state.open,
        position - state.open,
        first_record,
        min(record_count, limit),
    );
}
