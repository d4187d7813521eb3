// The kernels between the count pass and the emit pass of geometry shaders (geometry.wgsl): a prefix sum in two levels
// over the primitives that each entry emits. It tells where the records of each entry begin. xfb_entry_sums scans the
// counts within each block of consecutive entries. xfb_place_entries scans the sums of all blocks, clamps them to what
// fits, and writes counters and queries.

// The parameters of xfb_entry_sums. `counts` and `blocks` are the addresses of the arrays in `Entries` (geometry.wgsl)
// of the first dispatch. Those of the other dispatches follow in the same memory.
struct EntrySums {
    counts: vec2<u32>,
    blocks: vec2<u32>,
    // The address of the `Entries` of the last dispatch, which says where the blocks of all dispatches end.
    last: vec2<u32>,
    reserved: vec2<u32>,
}

// The number of entries that one invocation of xfb_entry_sums adds up.
const ENTRIES_PER_INVOCATION: u32 = 8u;
const ENTRY_SUMS_WIDTH: u32 = 128u; // ENTRIES_PER_BLOCK / ENTRIES_PER_INVOCATION

// How sum_before divides the invocations into groups, and the sums that they share. An invocation adds up the sums of
// those before it in its group one by one, and then the sums of the groups before. A scan in logarithmic steps would
// need more barriers and longer code, which take drivers for processors long to compile. The loops have at most 22
// iterations for a block: far from the 65,535 after which llvmpipe leaves loops (sums.wgsl).
const ENTRY_SUM_GROUP: u32 = 16u;
const ENTRY_SUM_GROUPS: u32 = 8u; // ENTRY_SUMS_WIDTH / ENTRY_SUM_GROUP
var<workgroup> entry_sums: array<vec2<u32>, ENTRY_SUMS_WIDTH>;
var<workgroup> entry_group_sums: array<vec2<u32>, ENTRY_SUM_GROUPS>;

@compute @workgroup_size(ENTRY_SUMS_WIDTH)
fn xfb_entry_sums(
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let addresses = load4_aligned(kernel.parameters, 0u);
    let last = load_entries(load2_aligned(kernel.parameters, 4u));
    // The blocks of all dispatches are in one array, which is shorter than 4 GiB. The difference of the low dwords is
    // therefore the difference of the addresses.
    let first_of_last = (last.blocks.x - addresses.z) / ENTRY_BLOCK_SIZE;
    let entry_count = first_of_last * ENTRIES_PER_BLOCK + last.count;
    for (var block = workgroup_id.x; block < blocks_of(entry_count); block += workgroups.x) {
        sum_block(addresses.xy, addresses.zw, block, entry_count, local);
    }
}

// Replaces the counts of the entries of a block by the sums before each, and stores the sum over the block. Entries from
// `entry_count` on were not counted.
fn sum_block(counts_at: vec2<u32>, blocks: vec2<u32>, block: u32, entry_count: u32, local: u32) {
    let first = block * ENTRIES_PER_BLOCK + local * ENTRIES_PER_INVOCATION;
    let a = load_four(counts_at, first, entry_count);
    let b = load_four(counts_at, first + 4u, entry_count);
    let all = add64(sum_of_four(a), sum_of_four(b));
    let before = sum_before(local, all);
    store4_aligned(counts_at, first, sums_before_four(before, a));
    store4_aligned(counts_at, first + 4u, sums_before_four(add64(before, sum_of_four(a)), b));
    if local == ENTRY_SUMS_WIDTH - 1u {
        store2(blocks, 2u * block, add64(before, all));
    }
}

// Loads the counts of four consecutive entries. Those from `entry_count` on are 0.
fn load_four(counts_at: vec2<u32>, first: u32, entry_count: u32) -> vec4<u32> {
    let counts = load4_written(add_bytes(counts_at, ENTRY_SIZE * first));
    return select(vec4<u32>(), counts, vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(entry_count));
}

fn sum_of_four(counts: vec4<u32>) -> vec2<u32> {
    let two = add64(vec2<u32>(counts.x, 0u), vec2<u32>(counts.y, 0u));
    return add64(two, add64(vec2<u32>(counts.z, 0u), vec2<u32>(counts.w, 0u)));
}

// The sums before each of four consecutive entries: `before` is the one before the first of them.
fn sums_before_four(before: vec2<u32>, counts: vec4<u32>) -> vec4<u32> {
    let one = add64(before, vec2<u32>(counts.x, 0u));
    let two = add64(one, vec2<u32>(counts.y, 0u));
    let three = add64(two, vec2<u32>(counts.z, 0u));
    return vec4<u32>(saturated(before), saturated(one), saturated(two), saturated(three));
}

// The sum over the values of the invocations before this one, which are 64-bit integers.
fn sum_before(local: u32, value: vec2<u32>) -> vec2<u32> {
    entry_sums[local] = value;
    workgroupBarrier();
    let group = local / ENTRY_SUM_GROUP;
    var sum = vec2<u32>();
    for (var other = group * ENTRY_SUM_GROUP; other < local; other++) {
        sum = add64(sum, entry_sums[other]);
    }
    if local % ENTRY_SUM_GROUP == ENTRY_SUM_GROUP - 1u {
        entry_group_sums[group] = add64(sum, value);
    }
    workgroupBarrier();
    for (var other = 0u; other < group; other++) {
        sum = add64(sum, entry_group_sums[other]);
    }
    return sum;
}

struct PlaceEntries {
    // The address of an array of `EntryJob`, one for each dispatch, in the order of the draws.
    jobs: vec2<u32>,
    job_count: u32,
    // The largest number of jobs and blocks that a turn of the serial kernel processes, or NONE if it has only one
    // turn.
    turn_steps: u32,
    // A `Progress` follows.
}

struct EntryJob {
    // The addresses of the `Batch` that the count pass read, and of the `Batch` to write for the emit pass.
    count_batch: vec2<u32>,
    emit_batch: vec2<u32>,
    entries: vec2<u32>,
    // The number of vertices of an emitted primitive.
    vertices: u32,
    reserved: u32,
    // The addresses of the queries that the kernel adds to, or 0 for no query.
    stream_query: vec2<u32>,
    generated_query: vec2<u32>,
}

const ENTRY_JOB_SIZE: u32 = 48u;
// The offset of the `Progress` in the parameters, in bytes.
const PLACE_PROGRESS: u32 = 16u;

// Places the entries of all dispatches, one dispatch after the other. If the stream is not captured, and its primitives
// are only counted for queries, all strides are 0, and `room` (the number of records that still fit) is NONE.
@compute @workgroup_size(MAX_KERNEL_WIDTH)
fn xfb_place_entries(@builtin(local_invocation_index) local: u32) {
    let parameters = load_place_entries();
    let progress_at = add_bytes(kernel.parameters, PLACE_PROGRESS);
    if local == 0u {
        let progress = load_progress(progress_at);
        let positions = start_positions(progress, kernel.parameters);
        start_position = positions;
        start_room = room_at(progress, positions);
        ends[NO_RUN] = vec4<u32>();
    }
    room = workgroupUniformLoad(&start_room);
    next_record = 0u;
    for (var number = 0u; number < parameters.job_count; number++) {
        // What one more iteration loads (see previous) is the last job.
        let last = previous(parameters.job_count);
        place_job(load_job(multiply_add(parameters.jobs, min(number, last), ENTRY_JOB_SIZE)), local);
    }
    if local == 0u {
        store_positions(load_progress(progress_at), start_position, next_record);
    }
}

fn load_place_entries() -> PlaceEntries {
    let a = load4_aligned(kernel.parameters, 0u);
    return PlaceEntries(a.xy, a.z, a.w);
}

fn load_job(at: vec2<u32>) -> EntryJob {
    let a = load4_aligned(at, 0u);
    let b = load4_aligned(at, 4u);
    let c = load4_aligned(at, 8u);
    return EntryJob(a.xy, a.zw, b.xy, b.z, b.w, c.xy, c.zw);
}

// Computes where the records of each block of a dispatch begin, after the records of the previous dispatches, and adds
// the dispatch's primitives to the queries.
fn place_job(job: EntryJob, local: u32) {
    let fits = select(0u, room / job.vertices, room != NONE);
    let entries = load_entries(address_or(job.entries, kernel.parameters));
    var needed = vec2<u32>();
    let block_count = blocks_of(entries.count);
    let step = BLOCKS_PER_INVOCATION * kernel_width();
    for (var first = 0u; first < block_count; first += step) {
        let block = first + BLOCKS_PER_INVOCATION * local;
        let a = primitives_of_block(entries, block, block_count);
        let b = primitives_of_block(entries, block + 1u, block_count);
        let c = primitives_of_block(entries, block + 2u, block_count);
        let d = primitives_of_block(entries, block + 3u, block_count);
        let all = add64(add64(a, b), add64(c, d));
        let sum = sum_runs(local, false, vec4<u32>(all, 0u, 0u), NO_RUN);
        let before = add64(needed, sum.before.xy);
        let after_a = add64(before, a);
        let after_b = add64(after_a, b);
        place_block(entries, block, block_count, before, a, fits, job.vertices);
        place_block(entries, block + 1u, block_count, after_a, b, fits, job.vertices);
        place_block(entries, block + 2u, block_count, after_b, c, fits, job.vertices);
        place_block(entries, block + 3u, block_count, add64(after_b, c), d, fits, job.vertices);
        needed = add64(needed, sum.last.xy);
    }
    end_job(job, needed, fits, local);
}

// The number of consecutive blocks that an invocation of xfb_place_entries adds up at once.
const BLOCKS_PER_INVOCATION: u32 = 4u;

// The number of primitives that the entries of a block emit, or 0 if there is no such block. Then the last block is
// loaded, so that no load waits for a condition.
fn primitives_of_block(entries: Entries, block: u32, block_count: u32) -> vec2<u32> {
    let at = add_bytes(entries.blocks, ENTRY_BLOCK_SIZE * min(block, block_count - 1u));
    let primitives = vec2<u32>(load1_written(at), load1_written(add_bytes(at, 4u)));
    return select(vec2<u32>(), primitives, block < block_count);
}

// Stores for a block where its records begin and how many of its primitives fit, if there is such a block: `before` are
// the primitives of the dispatch before it, and `count` those of the block.
fn place_block(
    entries: Entries, block: u32, block_count: u32, before: vec2<u32>, count: vec2<u32>, fits: u32, vertices: u32,
) {
    if block < block_count {
        let first = min(saturated(before), fits);
        let record = next_record + first * vertices;
        store2_aligned(entries.blocks, 2u * block, vec2<u32>(record, min(saturated(count), fits - first)));
    }
}

// Writes the `Batch` of a dispatch for the emit pass, and adds its primitives to the queries: `needed` are its
// primitives, of which `fits` fit.
fn end_job(job: EntryJob, needed: vec2<u32>, fits: u32, local: u32) {
    let captures = room != NONE;
    let written = min(saturated(needed), fits);
    let end = next_record + written * job.vertices;
    if local == 0u {
        store4_aligned(job.emit_batch, 0u, vec4<u32>(load4_aligned(job.count_batch, 0u).xyz, end));
        store4_aligned(job.emit_batch, 4u, start_position);
        // A stream query has the primitives written and the primitives needed. If the stream is not captured, nothing
        // overflows, and all primitives count as written.
        let counted = select(needed, vec2<u32>(written, 0u), captures);
        add_to_query(job.stream_query, vec4<u32>(counted, needed), job.emit_batch);
        add_to_query(job.generated_query, vec4<u32>(needed, 0u, 0u), job.emit_batch);
    }
    room = select(room, room - written * job.vertices, captures);
    next_record = end;
}
