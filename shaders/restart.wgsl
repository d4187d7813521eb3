// Primitive restart: finds the segment that an index belongs to, and the number of primitives before the segment.
//
// A segment consists of the indices between two restarts (indices that restart primitives). Where a segment begins, and
// where the records of its primitives go, depends on all indices before it. Both are found with a table of the restarts
// in a range of indices (`RestartRange`). Where the restarts are depends on the index buffer and not on a draw. So
// indirect draws share a table if they have the same bound indices, restart index, topology and flags; its range has
// all bound indices. Any other draw has a table of its own, whose range has the draw's indices.
//
// The tables are computed by a reduction and a scan (prefix sum). A `Summary` describes a sequence of consecutive
// indices, and `join` computes the `Summary` of two adjacent sequences from the `Summary` of each. This operation is
// associative, so the work can be divided in any way, and no workgroup waits for another one of the same dispatch. The
// result of the scan is, for each sequence, the `Prefix` before it: the number of primitives in the complete segments
// before the sequence, and the number of indices in the segment that the sequence continues.
//
//   xfb_restart        makes the tables. Each workgroup summarises 256 blocks of 32 indices; each invocation does one
//                      or several of these blocks.
//   xfb_restart_scan   completes the tables of ranges for which xfb_restart has several workgroups. One workgroup
//                      scans over the summaries in a table.
//   xfb_setup          finds the first restart of a draw, and the `Prefix` after this restart.
//   place_of_index     is called by captures, for one index. It starts with the `Prefix` before the workgroup that
//                      summarised the index's block, and advances it by the summary of the workgroup's blocks before
//                      that block, and by the indices in the block before the index.
//
// A table has elements of 16 bytes (four dwords). For each workgroup of xfb_restart that summarises indices of the
// range, it has:
//
// * one element for the workgroup:
//   - two dwords: the `Prefix` before the workgroup's blocks;
//   - one dword that is not used;
//   - one dword: the first restart after the workgroup's blocks;
//   or, if the table is yet to be completed by xfb_restart_scan, the `Summary` of all blocks of the workgroup;
// * then, for each block of the workgroup, one element:
//   - one dword: the bit mask of the restarts in the block;
//   - two dwords: the `Summary` of the workgroup's blocks before this block, whose head and tail take 14 bits each;
//   - one dword: the first restart in the workgroup's blocks after this block.
//
// "The first restart" is the position of its index in the range, or NONE if there is none. The last block of a range
// has no restarts: it stands for all positions beyond the range.

const BLOCK: u32 = 32u; // indices per block
const BLOCKS: u32 = 256u; // blocks per workgroup

// Describes a sequence of consecutive indices, for example the indices of one block.
struct Summary {
    restarts: u32, // 1 if there is a restart in the sequence, otherwise 0
    head: u32, // the number of indices before the first restart; all if there is none
    primitives: u32, // the number of primitives of the segments that begin and end in the sequence
    tail: u32, // the number of indices after the last restart
}

// The summary of the indices of `a` and, behind them, those of `b`. The tail of `a` and the head of `b` form one
// segment.
fn join(topology: u32, vertices: u32, a: Summary, b: Summary) -> Summary {
    if b.restarts == 0u {
        return Summary(a.restarts, a.head + select(b.head, 0u, a.restarts == 1u), a.primitives, a.tail + b.head);
    }
    if a.restarts == 0u {
        return Summary(1u, a.head + b.head, b.primitives, b.tail);
    }
    let between = primitive_count(topology, vertices, a.tail + b.head);
    return Summary(1u, a.head, a.primitives + between + b.primitives, b.tail);
}

// Describes all indices before a position.
struct Prefix {
    primitives: u32, // the number of primitives of the complete segments
    open: u32, // the number of indices of the last segment, which the indices from the position on may continue
}

// The prefix before the position behind the indices of `summary`, if `prefix` is the one before them.

fn advance(topology: u32, vertices: u32, prefix: Prefix, summary: Summary) -> Prefix {
    let open = prefix.open + summary.head;
    if summary.restarts == 0u {
        return Prefix(prefix.primitives, open);
    }
    return Prefix(prefix.primitives + primitive_count(topology, vertices, open) + summary.primitives, summary.tail);
}

// The number of blocks for a range of `limit` indices, including a last block which stands for positions beyond the
// range.
fn block_count(limit: u32) -> u32 {
    return limit / BLOCK + select(0u, 1u, limit % BLOCK != 0u) + 1u;
}

// The number of the element of a workgroup or of a block in a table. Workgroups, blocks and elements are numbered from
// 0 in each range.

fn workgroup_element(workgroup: u32) -> u32 {
    return workgroup * (BLOCKS + 1u);
}

fn block_element(block: u32) -> u32 {
    return block + block / BLOCKS + 1u;
}

// The address of an element of a table. The product fits into 32 bits: a table for 2^32 indices takes little more than
// 2 GiB.
fn table_element(table: vec2<u32>, element: u32) -> vec2<u32> {
    return add_bytes(table, 16u * element);
}

// The summary of `length` indices, at most 32, unless there are no restarts. The bits of `mask` are the restarts.
fn summary_of_mask(topology: u32, vertices: u32, mask: u32, length: u32) -> Summary {
    if mask == 0u {
        return Summary(0u, length, 0u, length);
    }
    let first = firstTrailingBit(mask);
    let last = firstLeadingBit(mask);
    // `whole` has a run of ones for each segment that begins and ends among these indices.
    let whole = ~mask & ((1u << last) - 1u) & ~((1u << first) - 1u);
    return Summary(1u, first, primitives_of_runs(topology, vertices, whole), length - last - 1u);
}

// The number of primitives of the segments that are given by the runs of ones in `whole`: each run is a segment, and
// each bit of it a vertex.
fn primitives_of_runs(topology: u32, vertices: u32, whole: u32) -> u32 {
    let step = primitive_step(topology, vertices);
    if is_step_of_patches(step) {
        return patches_of_runs(step, whole);
    }
    if may_loop() {
        // Few segments are so short that they begin and end within 32 indices. So `whole` is mostly 0, and the loop
        // ends at once.
        var primitives = 0u;
        for (var rest = whole; rest != 0u;) {
            let first = firstTrailingBit(rest);
            primitives += primitive_count(topology, vertices, firstTrailingBit(~(rest >> first)));
            // Adding 1 at the first bit of a run of ones clears the run.
            rest &= rest + (1u << first);
        }
        return primitives;
    }
    // Shortens each run of ones at its start, by the number of vertices that a primitive has in common with the next
    // one. In what is left of a run, each `step` bits are a primitive.
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

// The same for patches of `step` vertices, which are at least five.
fn patches_of_runs(step: u32, whole: u32) -> u32 {
    // Shortens each run of ones by four bits. Runs that are too short for a patch vanish. Each other run had at least
    // five bits, with a zero behind them, so at most five runs are left of 32 bits.
    let a = whole & (whole << 1u) & (whole << 2u) & (whole << 3u) & (whole << 4u);
    let b = without_first_run(a);
    let c = without_first_run(b);
    let d = without_first_run(c);
    let e = without_first_run(d);
    return patches_of_first_run(step, a) + patches_of_first_run(step, b) + patches_of_first_run(step, c)
        + patches_of_first_run(step, d) + patches_of_first_run(step, e);
}

// Returns `runs` without the first run of ones.
fn without_first_run(runs: u32) -> u32 {
    return runs & (runs + (runs & (0u - runs)));
}

// The number of patches in the segment that is given by the first run of ones. The run has four bits less than the
// segment has vertices.
fn patches_of_first_run(step: u32, runs: u32) -> u32 {
    let length = firstTrailingBit(~(runs >> (firstTrailingBit(runs) & 31u)));
    return (length + 4u) / step;
}

// Counts the primitives in those runs of ones that begin at bit `phase`, or at a multiple of `step` bits after it. In a
// run, each `step` bits from its start on are a primitive. The last bits of the primitives of all these runs are then
// at known places, and are counted at once.
fn last_of_steps(runs: u32, step: u32, phase: u32) -> u32 {
    if phase >= step {
        return 0u;
    }
    // `bits` has every second, third, fourth or sixth bit, depending on `step`.
    var bits = select(0x55555555u, 0x49249249u, step == 3u);
    bits = select(bits, 0x11111111u, step == 4u);
    bits = select(bits, 0x41041041u, step == 6u);
    // Adding 1 at the first bit of a run of ones clears the run, and the carry stops in the zero behind it. So
    // `begun_there` has the runs that begin at a bit of `bits << phase`.
    let starts = runs & ~(runs << 1u) & (bits << phase);
    let begun_there = runs & ~(runs + starts);
    return countOneBits(begun_there & (bits << select(phase - 1u, step - 1u, phase == 0u)));
}

// -- Reduction

// A range of indices, the address of its table, and how the indices form primitives.
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

// The parameters of xfb_restart and xfb_restart_scan: the address of an array of `count` `RestartRange`s. One dispatch
// of xfb_restart makes all their tables. The first `scan_count` ranges are those with several workgroups, whose tables
// xfb_restart_scan completes.
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

// The summary of what each invocation takes and, after scan_summaries, of all that it and the invocations before it
// take.
var<workgroup> summaries: array<Summary, MAX_KERNEL_WIDTH>;
// For each block of the workgroup, the mask of its restarts.
var<workgroup> restarts: array<atomic<u32>, BLOCKS>;
// One bit for each block of the workgroup: whether there is a restart in it.
//
// xfb_restart_scan uses these two variables otherwise: `marks` has a bit for each invocation, which says whether there
// is a restart in what the invocation takes, and `restarts` has the position of the first such restart. It has enough
// elements for that, because MAX_KERNEL_WIDTH is equal to BLOCKS.
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
    var summary = Summary();
    for (var i = 0u; i < share; i++) {
        let next = summary_of_block(range, vertices, blocks, first_block, local * share + i);
        summary = join(range.topology, vertices, summary, next);
    }

    var before = scan_summaries(range.topology, vertices, local, summary);
    for (var i = 0u; i < share; i++) {
        let number = local * share + i;
        if first_block + number < blocks {
            // A workgroup has at most 8192 indices, so 14 bits are enough for the head and for the tail.
            let packed = before.head | (before.tail << 14u) | (before.restarts << 31u);
            var next = marked_from(number + 1u);
            if next != NONE {
                next = (first_block + next) * BLOCK + firstTrailingBit(atomicLoad(&restarts[next]));
            }
            let words = vec4<u32>(atomicLoad(&restarts[number]), packed, before.primitives, next);
            store4_aligned(range.table, 4u * block_element(first_block + number), words);
        }
        let next = summary_of_block(range, vertices, blocks, first_block, number);
        before = join(range.topology, vertices, before, next);
    }
    if local == 0u && first_block < blocks {
        let all = summaries[width - 1u];
        var words = vec4<u32>(all.head | (all.restarts << 31u), all.primitives, all.tail, 0u);
        if blocks <= BLOCKS {
            // If a range has only one workgroup, no scan follows: the prefix before the workgroup is empty, and there
            // is no restart after it.
            words = vec4<u32>(0u, 0u, 0u, NONE);
        }
        store4_aligned(range.table, 4u * workgroup_element(first_block / BLOCKS), words);
    }
}

// The summary of block `number` of the workgroup. It is empty for the last block of a range, and for blocks after it.
fn summary_of_block(range: RestartRange, vertices: u32, blocks: u32, first_block: u32, number: u32) -> Summary {
    let block = first_block + number;
    if block >= blocks - 1u {
        return Summary();
    }
    let mask = atomicLoad(&restarts[number]);
    // A range may end within a block: positions beyond the range belong to the last segment.
    return summary_of_mask(range.topology, vertices, mask, BLOCK);
}

// Sets `restarts` and `marks` for the indices of a workgroup, which begin at position `start` of the range.
// Neighbouring invocations load neighbouring indices. Positions beyond the range have no restarts.
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

// Adds the restarts among four indices of the workgroup to `restarts`. The first one is number 4 * `quad`.
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

// A scan over the summaries of all invocations of a workgroup, of which `summary` is that of this invocation. Returns
// the summary of what all invocations before this one take. Afterwards the last element of `summaries` is that of the
// whole workgroup.
fn scan_summaries(topology: u32, vertices: u32, local: u32, summary: Summary) -> Summary {
    summaries[local] = summary;
    workgroupBarrier();
    for (var step = 1u; step < kernel_width(); step *= 2u) {
        var joined = summaries[local];
        if local >= step {
            joined = join(topology, vertices, summaries[local - step], joined);
        }
        workgroupBarrier();
        summaries[local] = joined;
        workgroupBarrier();
    }
    if local == 0u {
        return Summary();
    }
    return summaries[local - 1u];
}

// -- Scan

// Completes a table: in the element of each workgroup of xfb_restart, replaces the `Summary` by the `Prefix` before the
// workgroup and the first restart after it.
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

    // Each invocation takes the elements of `share` consecutive workgroups.
    let share = (count + kernel_width() - 1u) / kernel_width();
    let first = min(local * share, count);
    let end = min(first + share, count);
    var summary = Summary();
    // Four elements are loaded at a time, so that the loads overlap.
    for (var i = first; i < end; i += 4u) {
        let next = load_summaries(range.table, i, end - 1u);
        summary = join(range.topology, vertices, summary, next[0]);
        summary = join(range.topology, vertices, summary, next[1]);
        summary = join(range.topology, vertices, summary, next[2]);
        summary = join(range.topology, vertices, summary, next[3]);
    }
    clear_marks(local);
    workgroupBarrier();
    atomicStore(&restarts[local], first_restart(first, summary));
    if summary.restarts != 0u {
        mark(local);
    }
    let before = scan_summaries(range.topology, vertices, local, summary);

    var next = marked_from(local + 1u);
    if next != NONE {
        next = atomicLoad(&restarts[next]);
    }
    for (var groups = (end - first + 3u) / 4u; groups > 0u; groups--) {
        let i = first + 4u * (groups - 1u);
        let found = load_summaries(range.table, i, end - 1u);
        next = store_next(range.table, i + 3u, end, next, found[3]);
        next = store_next(range.table, i + 2u, end, next, found[2]);
        next = store_next(range.table, i + 1u, end, next, found[1]);
        next = store_next(range.table, i, end, next, found[0]);
    }
    var prefix = advance(range.topology, vertices, Prefix(), before);
    for (var i = first; i < end; i += 4u) {
        let found = load_summaries(range.table, i, end - 1u);
        prefix = store_prefix(range, vertices, i, end, prefix, found[0]);
        prefix = store_prefix(range, vertices, i + 1u, end, prefix, found[1]);
        prefix = store_prefix(range, vertices, i + 2u, end, prefix, found[2]);
        prefix = store_prefix(range, vertices, i + 3u, end, prefix, found[3]);
    }
}

// Stores `next`, the position of the first restart after a workgroup, in the workgroup's element of the table. Returns
// the first restart after the previous workgroup.
fn store_next(table: vec2<u32>, workgroup: u32, end: u32, next: u32, summary: Summary) -> u32 {
    if workgroup >= end {
        return next;
    }
    store1(table, 4u * workgroup_element(workgroup) + 3u, next);
    return select(next, first_restart(workgroup, summary), summary.restarts != 0u);
}

// Stores `prefix`, the prefix before a workgroup, in the workgroup's element of the table. Returns the prefix after the
// workgroup.
fn store_prefix(
    range: RestartRange,
    vertices: u32,
    workgroup: u32,
    end: u32,
    prefix: Prefix,
    summary: Summary,
) -> Prefix {
    if workgroup >= end {
        return prefix;
    }
    store2_aligned(range.table, 4u * workgroup_element(workgroup), vec2<u32>(prefix.primitives, prefix.open));
    return advance(range.topology, vertices, prefix, summary);
}

// The summaries of four consecutive workgroups. Summaries of workgroups that do not exist are empty.
fn load_summaries(table: vec2<u32>, workgroup: u32, last: u32) -> array<Summary, 4> {
    return array<Summary, 4>(
        load_summary_until(table, workgroup, last),
        load_summary_until(table, workgroup + 1u, last),
        load_summary_until(table, workgroup + 2u, last),
        load_summary_until(table, workgroup + 3u, last),
    );
}

fn load_summary_until(table: vec2<u32>, workgroup: u32, last: u32) -> Summary {
    let words = load4_aligned(table_element(table, workgroup_element(min(workgroup, last))), 0u);
    let exists = workgroup <= last;
    return Summary(
        select(0u, words.x >> 31u, exists),
        select(0u, words.x & 0x7fffffffu, exists),
        select(0u, words.y, exists),
        select(0u, words.z, exists),
    );
}

// The position in the range of the first restart of a workgroup whose summary has one.
fn first_restart(workgroup: u32, summary: Summary) -> u32 {
    return workgroup * BLOCKS * BLOCK + summary.head;
}

// -- Access to a table

// A position in a range: its block, and its number in this block. The number is below 32 except in the last block.
struct Position {
    block: u32,
    number: u32,
}

// The position `offset` indices after position `first` of a range of `limit` indices. The sum may exceed 32 bits: such
// positions are beyond the range, in its last block.
fn position_behind(limit: u32, first: u32, offset: u32) -> Position {
    let position = first + offset;
    let last = block_count(limit) - 1u;
    let block = select(min(position / BLOCK, last), last, position < first);
    return Position(block, position - block * BLOCK);
}

fn load_block(table: vec2<u32>, block: u32) -> vec4<u32> {
    return load4_aligned(table_element(table, block_element(block)), 0u);
}

// The address of the element for the workgroup that summarised a block.
fn workgroup_address(table: vec2<u32>, block: u32) -> vec2<u32> {
    return table_element(table, workgroup_element(block / BLOCKS));
}

// The summary of a workgroup's blocks before the one whose element this is.
fn summary_before_block(element: vec4<u32>) -> Summary {
    return Summary(element.y >> 31u, element.y & 0x3fffu, element.z, (element.y >> 14u) & 0x3fffu);
}

// The prefix before a position. `before` is the prefix before the blocks of the workgroup that summarised the
// position's block, and `element` is the element of this block.
fn prefix_before(topology: u32, vertices: u32, before: Prefix, element: vec4<u32>, position: Position) -> Prefix {
    let between = summary_before_block(element);
    // This prefix is computed before summary_of_mask is called, so that its inputs need no registers during the loop in
    // summary_of_mask.
    let prefix = advance(topology, vertices, before, between);
    // Only the last block has more than 32 positions, and it has no restart.
    let bit = min(position.number, 31u);
    let here = summary_of_mask(topology, vertices, element.x & ((1u << bit) - 1u), position.number);
    return advance(topology, vertices, prefix, here);
}

// The first restart at or after a position, or NONE. `element` is the table's element for the position's block, and
// `after` the first restart after the blocks of the workgroup that summarised this block.
fn restart_from(element: vec4<u32>, after: u32, position: Position) -> u32 {
    let mask = element.x & (0xffffffffu << min(position.number, 31u));
    if mask != 0u {
        return position.block * BLOCK + firstTrailingBit(mask);
    }
    return select(element.w, after, element.w == NONE);
}

// -- Draws

// Where a draw's indices are in the range of its table of restarts.
struct DrawRestarts {
    // The position of the draw's first index in the range, and the number of indices of the range.
    first: u32,
    limit: u32,
    // The number of indices before the draw's first restart, or NONE.
    head: u32,
    // For positions after the draw's first restart: the number to subtract, modulo 2^32, from the primitives of a
    // `Prefix` of the table, to get the primitives of the draw before the position.
    before: u32,
    table: vec2<u32>,
    reserved: vec2<u32>,
}

// Where a draw's indices are in its table of restarts, and the prefix after the indices of one instance.
struct CountedRestarts {
    draw: DrawRestarts,
    prefix: Prefix,
}

// Where a draw's indices are in the range of its table of restarts, as if there were no restart. The range of an
// indirect draw's table has all bound indices, that of any other draw only the draw's indices, as range_of in
// src/runtime/recording/plan/restarts.rs sets it.
fn range_of_draw(command: DrawCommand, arguments: Arguments) -> DrawRestarts {
    let limit = min(command.count, arguments.index_limit);
    var restarts = DrawRestarts(0u, limit, NONE, 0u, command.restart_table, vec2<u32>());
    if command.kind == INDIRECT {
        restarts.first = command.index_limit - arguments.index_limit;
        restarts.limit = command.index_limit;
    }
    return restarts;
}

// Finds a draw's indices in its table of restarts, and counts their primitives.
fn restarts_of(command: DrawCommand, arguments: Arguments) -> CountedRestarts {
    let table = command.restart_table;
    let vertices = vertices_per_primitive(command.flags);
    var restarts = range_of_draw(command, arguments);
    let start = position_behind(restarts.limit, restarts.first, 0u);
    let restart = restart_from(load_block(table, start.block), load1(workgroup_address(table, start.block), 3u), start);
    // Finds the prefix behind the first restart, if there is one, and then the prefix at the end of the draw. This is a
    // loop, because the code of prefix_before is long, and compilers inline every call. Invocations may leave the loop
    // after different numbers of iterations, although that is a problem before a barrier (see find_restarts): the
    // branch that calls this function ends before the next one.
    var prefix = Prefix();
    for (var is_end = restart == NONE;; is_end = true) {
        let offset = select(restart - restarts.first + 1u, arguments.count, is_end);
        let at = position_behind(restarts.limit, restarts.first, offset);
        let before = load2_aligned(workgroup_address(table, at.block), 0u);
        let element = load_block(table, at.block);
        prefix = prefix_before(command.topology, vertices, Prefix(before.x, before.y), element, at);
        if is_end {
            break;
        }
        restarts.head = restart - restarts.first;
        restarts.before = prefix.primitives - primitive_count(command.topology, vertices, restarts.head);
    }
    return CountedRestarts(restarts, prefix_in_draw(restarts, arguments.count, prefix));
}

// Converts `prefix`, which counts from the start of the table's range, to the `Prefix` before index `offset` of the
// draw.
fn prefix_in_draw(restarts: DrawRestarts, offset: u32, prefix: Prefix) -> Prefix {
    if offset <= restarts.head {
        return Prefix(0u, offset);
    }
    return Prefix(prefix.primitives - restarts.before, prefix.open);
}

// -- Use by captures

// Where an index of a draw is in its segment, and which records the segment's primitives have.
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

// The number of indices of an instance. Each index is an item; in a patch list each index is as many items as a patch
// has slices.
fn index_count() -> u32 {
    return select(draw.item_count, draw.item_count >> slice_bits(draw.flags), may_be_patches());
}

// Finds the place of index `offset` of the draw.
fn place_of_index(offset: u32) -> Place {
    let topology = draw_topology();
    let vertices = vertices_per_primitive(draw.flags);
    let table = draw_restarts.table;
    let position = position_behind(draw_restarts.limit, draw_restarts.first, offset);
    let element = load_block(table, position.block);

    // The number of indices of the segment after this one, at most reach_of_primitives(). It is computed before the
    // prefix, which needs registers.
    let last_block = block_count(draw_restarts.limit) - 1u;
    let next_element = table_element(table, block_element(min(position.block + 1u, last_block)));
    var next = 0u;
    if position.block < last_block {
        next = load1(next_element, 0u);
    }
    let bit = min(position.number, 31u);
    let following = ((element.x >> bit) >> 1u) | (next << (31u - bit));
    let until_restart = firstTrailingBit(following | (1u << reach_of_primitives()));
    let is_restart = (element.x & select(0u, 1u << bit, position.number < BLOCK)) != 0u;
    let behind = select(1u + min(until_restart, index_count() - 1u - offset), 0u, is_restart);

    let before = load2_aligned(workgroup_address(table, position.block), 0u);
    let here = prefix_before(topology, vertices, Prefix(before.x, before.y), element, position);
    let prefix = prefix_in_draw(draw_restarts, offset, here);
    let visible = prefix.open + behind;

    // Both primitive counts are clamped to output_limit(), which is at most 2^30, before they are multiplied by the
    // number of vertices of a primitive.
    let limit = output_limit();
    let first_record = min(prefix.primitives, limit) * vertices;
    let record_count = min(primitive_count(topology, vertices, visible), limit) * vertices;
    return Place(
        !is_restart & (first_record < limit),
        prefix.open,
        offset - prefix.open,
        first_record,
        min(record_count, limit),
    );
}
