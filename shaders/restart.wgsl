// Primitive restart: finds the segment that an index belongs to, and the number of primitives before the segment.
//
// A segment consists of the indices between two restarts. The segment and the number of primitives before it are found
// with a table of the restarts in a range of indices (`RestartRange`). Where the restarts are depends on the index
// buffer and not on a draw. So indirect draws share a table if they have the same bound indices, restart index,
// topology and flags; its range has all bound indices. Any other draw has a table of its own, whose range has the
// draw's indices.
//
// A `Run` summarises a sequence of consecutive indices. `join` computes the `Run` of two sequences, one behind the
// other, from the `Run` of each. This operation is associative. A reduction and a scan can therefore compute, for each
// sequence, the `State` before it: the number of primitives of the complete segments so far, and the number of indices
// of the last segment, which may go on. They do this with any number of workgroups, and no workgroup waits for another
// workgroup of the same dispatch:
//
//   xfb_restart        makes the tables. Each workgroup summarises 256 blocks of 32 indices, each invocation one or
//                      several of these blocks.
//   xfb_restart_scan   completes the tables of ranges for which xfb_restart has several workgroups. One workgroup
//                      scans over the summaries in a table.
//   xfb_setup          finds the first restart of a draw, and the `State` after this restart.
//   place_of_index     is called by captures, for one index. It joins the `State` before the workgroup that summarised
//                      the index's block, the summary of the workgroup's blocks before that block, and the restarts
//                      in that block before the index.
//
// A table has elements of 16 bytes (four dwords). For each workgroup of xfb_restart that summarises indices of the
// range, it has:
//
// * one element for the workgroup:
//   - two dwords: the `State` before the workgroup's blocks;
//   - one dword that is not used;
//   - one dword: the first restart after the workgroup's blocks;
//   or, if the table is yet to be completed by xfb_restart_scan, the `Run` of all blocks of the workgroup;
// * then, for each block of the workgroup, one element:
//   - one dword: the bit mask of the restarts in the block;
//   - two dwords: the `Run` of the workgroup's blocks before this block, whose head and tail take 14 bits each;
//   - one dword: the first restart in the workgroup's blocks after this block.
//
// "The first restart" is the position of its index in the range, or NONE if there is none. The last block of a range
// has no restarts: it stands for all positions beyond the range.

const BLOCK: u32 = 32u; // indices per block
const BLOCKS: u32 = 256u; // blocks per workgroup

// A summary of consecutive indices, for example of the `BLOCK` indices of one block. These indices are called the run.
struct Run {
    restarts: u32, // 1 if the run contains a restart
    head: u32, // indices before the first restart; all if there is none
    primitives: u32, // primitives of the segments that begin and end in the run
    tail: u32, // indices after the last restart
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

// What the indices before a position amount to: the primitives of their complete segments, and a last segment, which
// may go on.
struct State {
    primitives: u32, // primitives of the complete segments
    open: u32, // indices of the last segment
}

fn advance(topology: u32, vertices: u32, state: State, run: Run) -> State {
    let open = state.open + run.head;
    if run.restarts == 0u {
        return State(state.primitives, open);
    }
    return State(state.primitives + primitive_count(topology, vertices, open) + run.primitives, run.tail);
}

// The number of blocks for a range of `limit` indices, including a last block which stands for positions beyond the
// range.
fn block_count(limit: u32) -> u32 {
    return limit / BLOCK + select(0u, 1u, limit % BLOCK != 0u) + 1u;
}

// The number, from 0 on, of an element of a table: of the element of a workgroup (state_entry), or of a block
// (block_entry). The workgroups and blocks are numbered within the range.

fn state_entry(workgroup: u32) -> u32 {
    return workgroup * (BLOCKS + 1u);
}

fn block_entry(block: u32) -> u32 {
    return block + block / BLOCKS + 1u;
}

// The address of an element of a table. The product fits into 32 bits: a table for 2^32 indices takes little more than
// 2 GiB.
fn entry_address(table: vec2<u32>, entry: u32) -> vec2<u32> {
    return add_bytes(table, 16u * entry);
}

// The summary of a run of `length` indices whose restarts are the bits in `mask`.
fn run_of_mask(topology: u32, vertices: u32, mask: u32, length: u32) -> Run {
    if mask == 0u {
        return Run(0u, length, 0u, length);
    }
    let first = firstTrailingBit(mask);
    let last = firstLeadingBit(mask);
    // `whole` has a sequence of ones for each segment that begins and ends within the run.
    let whole = ~mask & ((1u << last) - 1u) & ~((1u << first) - 1u);
    return Run(1u, first, primitives_of_runs(topology, vertices, whole), length - last - 1u);
}

// The sum of primitive_count over all sequences of ones in `whole`. Each sequence is a segment with one vertex per bit.
fn primitives_of_runs(topology: u32, vertices: u32, whole: u32) -> u32 {
    let step = primitive_step(topology, vertices);
    // A kernel of a single invocation takes the loop below, which is shorter to compile.
    if is_step_of_patches(step) && kernel_width() != 1u {
        return patches_of_runs(step, whole);
    }
    if may_loop() {
        // In most runs no segment both begins and ends, so `whole` is 0 and the loop ends at once.
        var primitives = 0u;
        for (var rest = whole; rest != 0u;) {
            let first = firstTrailingBit(rest);
            primitives += primitive_count(topology, vertices, firstTrailingBit(~(rest >> first)));
            // Adding 1 at the first bit of a sequence of ones clears the sequence.
            rest &= rest + (1u << first);
        }
        return primitives;
    }
    // Shortens each sequence of ones at its start. The number of removed bits is the number of vertices that a
    // primitive has in common with the next primitive.
    let overlap = primitive_overlap(topology);
    var runs = whole;
    runs = select(runs, runs & (runs << 1u), overlap >= 1u);
    runs = select(runs, runs & (runs << 1u), overlap >= 2u);
    runs = select(runs, runs & (runs << 1u), overlap >= 3u);
    runs = select(runs, runs & (runs << 1u), overlap >= 4u);
    if step == 1u {
        return countOneBits(runs);
    }
    return last_of_steps(runs, step, 0u) + last_of_steps(runs, step, 1u) + last_of_steps(runs, step, 2u)
        + last_of_steps(runs, step, 3u) + last_of_steps(runs, step, 4u) + last_of_steps(runs, step, 5u);
}

// The number of patches of `step` vertices, at least five, in the segments that the sequences of ones in `whole` stand
// for.
fn patches_of_runs(step: u32, whole: u32) -> u32 {
    // Shortens each sequence of ones by four bits. Sequences that are too short for a patch vanish. Each other sequence
    // had at least five bits, with a zero behind them, so at most five sequences are left.
    let a = whole & (whole << 1u) & (whole << 2u) & (whole << 3u) & (whole << 4u);
    let b = without_first_run(a);
    let c = without_first_run(b);
    let d = without_first_run(c);
    let e = without_first_run(d);
    return patches_of_first_run(step, a) + patches_of_first_run(step, b) + patches_of_first_run(step, c)
        + patches_of_first_run(step, d) + patches_of_first_run(step, e);
}

// Returns `runs` without the first sequence of ones.
fn without_first_run(runs: u32) -> u32 {
    return runs & (runs + (runs & (0u - runs)));
}

// The number of patches in the segment that the first sequence of ones stands for. The sequence has four bits less
// than the segment has vertices.
fn patches_of_first_run(step: u32, runs: u32) -> u32 {
    let length = firstTrailingBit(~(runs >> (firstTrailingBit(runs) & 31u)));
    return (length + 4u) / step;
}

// Counts the primitives in the sequences of ones in `runs` that begin at bit `phase` or a multiple of `step` bits after
// it. In such a sequence each `step` bits, from its start on, stand for a primitive, whose last bit is counted.
fn last_of_steps(runs: u32, step: u32, phase: u32) -> u32 {
    if phase >= step {
        return 0u;
    }
    // `bits` has every second, third, fourth or sixth bit, depending on `step`.
    var bits = select(0x55555555u, 0x49249249u, step == 3u);
    bits = select(bits, 0x11111111u, step == 4u);
    bits = select(bits, 0x41041041u, step == 6u);
    // Adding 1 at the first bit of a sequence of ones clears the whole sequence. The carry stops in the zero behind the
    // sequence. So `begun_there` has the sequences that begin at a bit of `bits << phase`.
    let starts = runs & ~(runs << 1u) & (bits << phase);
    let begun_there = runs & ~(runs + starts);
    return countOneBits(begun_there & (bits << select(phase - 1u, step - 1u, phase == 0u)));
}

// -- Reduction

// A range of indices, and the address of its table.
struct RestartRange {
    // The address of index 0 of the buffer. The range begins at index `first`.
    index_address: vec2<u32>,
    table: vec2<u32>,
    first: u32,
    limit: u32, // indices of the range
    topology: u32,
    flags: u32, // bits INDEX_SIZE, and the number of vertices of a primitive
    restart_index: u32,
    first_workgroup: u32, // the first workgroup of the range in the dispatch
    reserved: vec2<u32>,
}

const RESTART_RANGE_SIZE: u32 = 48u;
const RESTART_RANGE_FIRST_WORKGROUP: u32 = 36u;

// The parameters of xfb_restart and xfb_restart_scan: the address of an array of `count` `RestartRange`s, whose tables
// one dispatch of xfb_restart computes. The first `scan_count` ranges have several workgroups. xfb_restart_scan
// completes their tables.
struct Reduction {
    ranges: vec2<u32>,
    count: u32,
    scan_count: u32,
}

fn load_restart_range(at: vec2<u32>) -> RestartRange {
    let a = load4_aligned(at, 0u);
    let b = load4_aligned(at, 4u);
    let c = load2_aligned(at, 8u);
    return RestartRange(a.xy, a.zw, b.x, b.y, b.z, b.w, c.x, c.y, vec2<u32>());
}

var<workgroup> runs: array<Run, MAX_KERNEL_WIDTH>;
// For each block of the workgroup, the mask of its restarts.
var<workgroup> restarts: array<atomic<u32>, BLOCKS>;
// In xfb_restart, `marks` has one bit for each block of a workgroup: whether the block contains a restart. In
// xfb_restart_scan, `marks` has one bit for each invocation instead: whether there is a restart in the workgroups whose
// table elements the invocation takes. `restarts` then has the position of the first such restart for each invocation.
// It has enough elements for that, because MAX_KERNEL_WIDTH is equal to BLOCKS.
var<workgroup> marks: array<atomic<u32>, BLOCKS / 32u>;

@compute @workgroup_size(MAX_KERNEL_WIDTH)
fn xfb_restart(
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let workgroup = workgroup_id.y * workgroups.x + workgroup_id.x;
    let reduction = load4_aligned(kernel.parameters, 0u);
    var low = 0u;
    var high = reduction.z;
    while high - low > 1u {
        let middle = low + (high - low) / 2u;
        let at = multiply_add(reduction.xy, middle, RESTART_RANGE_SIZE);
        if load1(at, RESTART_RANGE_FIRST_WORKGROUP / 4u) <= workgroup {
            low = middle;
        } else {
            high = middle;
        }
    }
    let range = load_restart_range(multiply_add(reduction.xy, low, RESTART_RANGE_SIZE));
    let vertices = vertices_per_primitive(range.flags);
    let blocks = block_count(range.limit);
    let first_block = (workgroup - range.first_workgroup) * BLOCKS;

    // The product is saturated, because the last block of the longest ranges begins at index 2^32.
    find_restarts(range, saturated(product(first_block, BLOCK)), local);
    // Each invocation summarises `share` consecutive blocks.
    let width = kernel_width();
    let share = BLOCKS / width;
    var run = Run();
    for (var i = 0u; i < share; i++) {
        let next = run_of_block(range, vertices, blocks, first_block, local * share + i);
        run = join(range.topology, vertices, run, next);
    }

    var before = scan_runs(range.topology, vertices, local, run);
    for (var i = 0u; i < share; i++) {
        let number = local * share + i;
        if first_block + number < blocks {
            // A workgroup has at most 8192 indices, so 14 bits are enough for the head and for the
            // tail.
            let packed = before.head | (before.tail << 14u) | (before.restarts << 31u);
            var next = marked_from(number + 1u);
            if next != NONE {
                next = (first_block + next) * BLOCK + firstTrailingBit(atomicLoad(&restarts[next]));
            }
            let words = vec4<u32>(atomicLoad(&restarts[number]), packed, before.primitives, next);
            store4_aligned(range.table, 4u * block_entry(first_block + number), words);
        }
        let next = run_of_block(range, vertices, blocks, first_block, number);
        before = join(range.topology, vertices, before, next);
    }
    if local == 0u && first_block < blocks {
        let all = runs[width - 1u];
        var words = vec4<u32>(all.head | (all.restarts << 31u), all.primitives, all.tail, 0u);
        if blocks <= BLOCKS {
            // If a table has only one workgroup, no scan follows: the state before the workgroup is empty,
            // and there is no restart after it.
            words = vec4<u32>(0u, 0u, 0u, NONE);
        }
        store4_aligned(range.table, 4u * state_entry(first_block / BLOCKS), words);
    }
}

// The summary of block `number` of the workgroup. It is empty for the last block of a range, and for blocks after it.
fn run_of_block(range: RestartRange, vertices: u32, blocks: u32, first_block: u32, number: u32) -> Run {
    let block = first_block + number;
    if block >= blocks - 1u {
        return Run();
    }
    let mask = atomicLoad(&restarts[number]);
    // A range may end within a block: positions beyond the range belong to the last segment.
    return run_of_mask(range.topology, vertices, mask, BLOCK);
}

// Finds the restarts among the indices of a workgroup. Neighbouring invocations load neighbouring indices.
// Indices beyond the range are not restarts.
//
// All invocations make the same number of iterations of each loop, so that they reach the barrier after it together.
// On Mali GPUs before v9, Mesa 25.0's compiler reconverges invocations only where two branches join, which is not the
// case where a loop has a single exit. In an iteration that has no index left for an invocation, the invocation loads
// the last index again.
fn find_restarts(range: RestartRange, start: u32, local: u32) {
    let count = min(BLOCKS * BLOCK, range.limit - min(range.limit, start));
    let width = kernel_width();
    for (var first = 0u; first < BLOCKS; first += width) {
        atomicStore(&restarts[first + local], 0u);
    }
    clear_marks(local);
    workgroupBarrier();
    let size = range.flags & INDEX_SIZE;
    let indices = multiply_add(range.index_address, range.first, size);
    var scanned = 0u;
    if size == 4u {
        // Each invocation loads sixteen indices per iteration, so that the loads overlap.
        let at = multiply_add(indices, start, 4u);
        let quads = count / 4u;
        let last = max(quads, 1u) - 1u;
        for (var first = 0u; first < quads; first += 4u * width) {
            let i = first + local;
            let places = min(vec4<u32>(i, i + width, i + 2u * width, i + 3u * width), vec4<u32>(last));
            let a = load4_wide(add_bytes(at, 16u * places.x));
            let b = load4_wide(add_bytes(at, 16u * places.y));
            let c = load4_wide(add_bytes(at, 16u * places.z));
            let d = load4_wide(add_bytes(at, 16u * places.w));
            // Several invocations have bits in one word, and some load the last indices again. So the bits are or-ed,
            // not added.
            add_restarts(range.restart_index, places.x, a);
            add_restarts(range.restart_index, places.y, b);
            add_restarts(range.restart_index, places.z, c);
            add_restarts(range.restart_index, places.w, d);
        }
        scanned = 4u * quads;
    }
    for (var first = scanned; first < count; first += width) {
        let i = min(first + local, max(count, 1u) - 1u);
        if load_bound_index(indices, range.limit, size, start + i) == range.restart_index {
            atomicOr(&restarts[i / BLOCK], 1u << (i % BLOCK));
        }
    }
    workgroupBarrier();
    for (var first = 0u; first < BLOCKS; first += width) {
        if atomicLoad(&restarts[first + local]) != 0u {
            mark(first + local);
        }
    }
    workgroupBarrier();
}

// Adds to `restarts` which of the indices 4 * `quad` to 4 * `quad` + 3 of the workgroup, whose values are `values`,
// are restarts.
fn add_restarts(restart_index: u32, quad: u32, values: vec4<u32>) {
    let found = select(vec4<u32>(), vec4<u32>(1u, 2u, 4u, 8u), values == vec4<u32>(restart_index));
    let bits = found.x | found.y | found.z | found.w;
    if bits != 0u {
        atomicOr(&restarts[quad / (BLOCK / 4u)], bits << (4u * (quad % (BLOCK / 4u))));
    }
}

fn clear_marks(local: u32) {
    if local < BLOCKS / 32u {
        atomicStore(&marks[local], 0u);
    }
}

fn mark(number: u32) {
    atomicOr(&marks[number / 32u], 1u << (number % 32u));
}

// The first number from `number` on whose bit in `marks` is set, or NONE.
fn marked_from(number: u32) -> u32 {
    var keep = 0xffffffffu << (number % 32u);
    for (var word = number / 32u; word < BLOCKS / 32u; word++) {
        let bits = atomicLoad(&marks[word]) & keep;
        if bits != 0u {
            return 32u * word + firstTrailingBit(bits);
        }
        keep = 0xffffffffu;
    }
    return NONE;
}

// Scans over the summaries of all invocations of a workgroup; `run` is that of this invocation. Returns the summary of
// the indices of all invocations before this one. Afterwards the last element of `runs` summarises the whole workgroup.
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

// -- Scan

// Replaces the `Run` of each workgroup in a table by the `State` before the workgroup and the first restart after the
// workgroup.
@compute @workgroup_size(MAX_KERNEL_WIDTH)
fn xfb_restart_scan(
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let number = workgroup_id.y * workgroups.x + workgroup_id.x;
    let reduction = load4_aligned(kernel.parameters, 0u);
    if number >= reduction.w {
        return;
    }
    let range = load_restart_range(multiply_add(reduction.xy, number, RESTART_RANGE_SIZE));
    let vertices = vertices_per_primitive(range.flags);
    let count = (block_count(range.limit) + BLOCKS - 1u) / BLOCKS;
    let width = kernel_width();

    // Each invocation takes the table elements of consecutive workgroups.
    let share = (count + kernel_width() - 1u) / kernel_width();
    let first = min(local * share, count);
    let end = min(first + share, count);
    var run = Run();
    // Four elements are loaded at a time, so that the loads overlap.
    for (var i = first; i < end; i += 4u) {
        let next = load_runs(range.table, i, end - 1u);
        run = join(range.topology, vertices, run, next[0]);
        run = join(range.topology, vertices, run, next[1]);
        run = join(range.topology, vertices, run, next[2]);
        run = join(range.topology, vertices, run, next[3]);
    }
    clear_marks(local);
    workgroupBarrier();
    atomicStore(&restarts[local], first_restart(first, run));
    if run.restarts != 0u {
        mark(local);
    }
    let before = scan_runs(range.topology, vertices, local, run);

    var next = marked_from(local + 1u);
    if next != NONE {
        next = atomicLoad(&restarts[next]);
    }
    for (var groups = (end - first + 3u) / 4u; groups > 0u; groups--) {
        let i = first + 4u * (groups - 1u);
        let found = load_runs(range.table, i, end - 1u);
        next = store_next(range.table, i + 3u, end, next, found[3]);
        next = store_next(range.table, i + 2u, end, next, found[2]);
        next = store_next(range.table, i + 1u, end, next, found[1]);
        next = store_next(range.table, i, end, next, found[0]);
    }
    var state = advance(range.topology, vertices, State(), before);
    for (var i = first; i < end; i += 4u) {
        let found = load_runs(range.table, i, end - 1u);
        state = store_state(range, vertices, i, end, state, found[0]);
        state = store_state(range, vertices, i + 1u, end, state, found[1]);
        state = store_state(range, vertices, i + 2u, end, state, found[2]);
        state = store_state(range, vertices, i + 3u, end, state, found[3]);
    }
}

// Stores `next`, the position of the first restart after a workgroup, in the workgroup's element of the table. Returns
// the first restart after the previous workgroup.
fn store_next(table: vec2<u32>, workgroup: u32, end: u32, next: u32, run: Run) -> u32 {
    if workgroup >= end {
        return next;
    }
    store1(table, 4u * state_entry(workgroup) + 3u, next);
    return select(next, first_restart(workgroup, run), run.restarts != 0u);
}

// Stores `state`, the state before a workgroup, in the workgroup's element of the table. Returns the state after the
// workgroup.
fn store_state(range: RestartRange, vertices: u32, workgroup: u32, end: u32, state: State, run: Run) -> State {
    if workgroup >= end {
        return state;
    }
    store2_aligned(range.table, 4u * state_entry(workgroup), vec2<u32>(state.primitives, state.open));
    return advance(range.topology, vertices, state, run);
}

// The summaries of four consecutive workgroups. Summaries of workgroups that do not exist are empty.
fn load_runs(table: vec2<u32>, workgroup: u32, last: u32) -> array<Run, 4> {
    return array<Run, 4>(
        load_run_until(table, workgroup, last),
        load_run_until(table, workgroup + 1u, last),
        load_run_until(table, workgroup + 2u, last),
        load_run_until(table, workgroup + 3u, last),
    );
}

fn load_run_until(table: vec2<u32>, workgroup: u32, last: u32) -> Run {
    let words = load4_aligned(entry_address(table, state_entry(min(workgroup, last))), 0u);
    let exists = workgroup <= last;
    return Run(
        select(0u, words.x >> 31u, exists),
        select(0u, words.x & 0x7fffffffu, exists),
        select(0u, words.y, exists),
        select(0u, words.z, exists),
    );
}

// The position in the range of the first restart in `run`, the summary of a workgroup. The run must contain a restart.
fn first_restart(workgroup: u32, run: Run) -> u32 {
    return workgroup * BLOCKS * BLOCK + run.head;
}

// -- Access to a table

// A position in a range: its block, and its number in this block. The number is below 32 except in the last block.
struct Position {
    block: u32,
    number: u32,
}

// The position `offset` indices after index `first`, in a range of `limit` indices. Positions from 2^32 on are in the
// last block.
fn position_behind(limit: u32, first: u32, offset: u32) -> Position {
    let position = first + offset;
    let last = block_count(limit) - 1u;
    let block = select(min(position / BLOCK, last), last, position < first);
    return Position(block, position - block * BLOCK);
}

fn load_block(table: vec2<u32>, block: u32) -> vec4<u32> {
    return load4_aligned(entry_address(table, block_entry(block)), 0u);
}

// The address of the element for the workgroup that summarised a block.
fn workgroup_address(table: vec2<u32>, block: u32) -> vec2<u32> {
    return entry_address(table, state_entry(block / BLOCKS));
}

// The state before a position. `before` is the state before the blocks of the workgroup that summarised the position's
// block, and `entry` is the table's element for this block.
fn state_before(topology: u32, vertices: u32, before: State, entry: vec4<u32>, position: Position) -> State {
    let between = Run(entry.y >> 31u, entry.y & 0x3fffu, entry.z, (entry.y >> 14u) & 0x3fffu);
    // This state is computed before run_of_mask is called, so that its inputs need no registers during the loop in
    // run_of_mask.
    let state = advance(topology, vertices, before, between);
    // Only the last block has more than 32 positions, and it has no restart.
    let bit = min(position.number, 31u);
    let here = run_of_mask(topology, vertices, entry.x & ((1u << bit) - 1u), position.number);
    return advance(topology, vertices, state, here);
}

// The first restart at or after a position, or NONE. `entry` is the table's element for the position's block, and
// `after` the first restart after the blocks of the workgroup that summarised this block.
fn restart_from(entry: vec4<u32>, after: u32, position: Position) -> u32 {
    let mask = entry.x & (0xffffffffu << min(position.number, 31u));
    if mask != 0u {
        return position.block * BLOCK + firstTrailingBit(mask);
    }
    return select(entry.w, after, entry.w == NONE);
}

// -- Draws

// Where a draw's indices are in the range of a table of restarts.
struct DrawRestarts {
    // The position of the draw's first index in the range, and the number of indices of the range.
    first: u32,
    limit: u32,
    // The number of indices before the draw's first restart, or NONE.
    head: u32,
    // The number to subtract, modulo 2^32, from the primitive count of a `State` of the table, to get the
    // count within the draw. This applies to positions after the draw's first restart.
    before: u32,
    table: vec2<u32>,
    reserved: vec2<u32>,
}

// Where a draw's indices are in its table of restarts, and what the indices of one instance amount to.
struct CountedRestarts {
    draw: DrawRestarts,
    state: State,
}

// Finds where a draw's indices are in its table of restarts, and what they amount to. The table of an indirect draw
// covers all bound indices; the table of any other draw covers only the draw's indices. range_of in
// src/runtime/recording/plan/restarts.rs implements the rule which indices a table covers.
fn restarts_of(command: DrawCommand, arguments: Arguments) -> CountedRestarts {
    let table = command.restart_table;
    let vertices = vertices_per_primitive(command.flags);
    let limit = min(command.count, arguments.index_limit);
    var restarts = DrawRestarts(0u, limit, NONE, 0u, table, vec2<u32>());
    if command.kind == INDIRECT {
        restarts.first = command.index_limit - arguments.index_limit;
        restarts.limit = command.index_limit;
    }
    let start = position_behind(restarts.limit, restarts.first, 0u);
    let restart = restart_from(load_block(table, start.block), load1(workgroup_address(table, start.block), 3u), start);
    // The index after the first restart, if there is one, and the end of the draw. This is a loop, because the code of
    // state_before is long, and compilers inline every call. Invocations may leave it after different numbers of
    // rounds: the draw's branch ends before the next barrier (see find_restarts).
    var state = State();
    for (var is_end = restart == NONE;; is_end = true) {
        let offset = select(restart - restarts.first + 1u, arguments.count, is_end);
        let at = position_behind(restarts.limit, restarts.first, offset);
        let before = load2_aligned(workgroup_address(table, at.block), 0u);
        let entry = load_block(table, at.block);
        state = state_before(command.topology, vertices, State(before.x, before.y), entry, at);
        if is_end {
            break;
        }
        restarts.head = restart - restarts.first;
        restarts.before = state.primitives - primitive_count(command.topology, vertices, restarts.head);
    }
    return CountedRestarts(restarts, state_in_draw(restarts, arguments.count, state));
}

// Converts `state`, which counts from the start of the table's range, to the `State` before index `offset` of the draw.
fn state_in_draw(restarts: DrawRestarts, offset: u32, state: State) -> State {
    if offset <= restarts.head {
        return State(0u, offset);
    }
    return State(state.primitives - restarts.before, state.open);
}

// -- Use by captures

// Where an index of a draw is in its segment, and where the records of the segment's primitives are.
struct Place {
    exists: bool, // whether the index is not a restart, and its segment begins before the end of the draw's records
    vertex: u32, // the number of the index in its segment
    start: u32, // the number of the segment's first index in the draw
    first_record: u32, // the segment's first record in the instance
    // The number of records of the segment's primitives, up to the last primitive that may contain the vertex. If the
    // index is a restart: the number of records of all primitives of the segment that it ends.
    record_count: u32,
}

// A primitive has at most 6 vertices, and a patch at most 32. So a primitive ends at most 5 vertices after any
// of its vertices, and a patch at most 31.
fn reach_of_primitives() -> u32 {
    return select(5u, 31u, may_be_patches());
}

// The number of indices of an instance. Each index is an item, except in a patch list, where each index has one item
// for each slice of a patch.
fn index_count() -> u32 {
    return select(draw.item_count, draw.item_count >> slice_bits(draw.flags), may_be_patches());
}

// Finds the segment of index `offset` of the draw.
fn place_of_index(offset: u32) -> Place {
    let topology = draw_topology();
    let vertices = vertices_per_primitive(draw.flags);
    let table = draw_restarts.table;
    let position = position_behind(draw_restarts.limit, draw_restarts.first, offset);
    let entry = load_block(table, position.block);

    // The number of indices after this one in the segment, up to reach_of_primitives(). It is computed before the
    // state, which needs registers.
    let last_block = block_count(draw_restarts.limit) - 1u;
    let next_entry = entry_address(table, block_entry(min(position.block + 1u, last_block)));
    var next = 0u;
    if position.block < last_block {
        next = load1(next_entry, 0u);
    }
    let bit = min(position.number, 31u);
    let following = ((entry.x >> bit) >> 1u) | (next << (31u - bit));
    let until_restart = firstTrailingBit(following | (1u << reach_of_primitives()));
    let is_restart = (entry.x & select(0u, 1u << bit, position.number < BLOCK)) != 0u;
    let behind = select(1u + min(until_restart, index_count() - 1u - offset), 0u, is_restart);

    let before = load2_aligned(workgroup_address(table, position.block), 0u);
    let here = state_before(topology, vertices, State(before.x, before.y), entry, position);
    let state = state_in_draw(draw_restarts, offset, here);
    let visible = state.open + behind;

    // Both primitive counts are clamped to output_limit(), which is at most 2^30, before they are multiplied by the
    // number of vertices of a primitive.
    let limit = output_limit();
    let first_record = min(state.primitives, limit) * vertices;
    let record_count = min(primitive_count(topology, vertices, visible), limit) * vertices;
    return Place(
        !is_restart & (first_record < limit),
        state.open,
        offset - state.open,
        first_record,
        min(record_count, limit),
    );
}
