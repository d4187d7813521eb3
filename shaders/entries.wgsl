// Kernels that place what geometry shaders emit (geometry.wgsl). The first one adds up the counts of each
// block of entries, the second one those of all blocks.

// The parameters of xfb_entry_sums.
struct EntrySums {
    // See `Entries`.
    counts: vec2<u32>,
    // For each block the primitives of all its entries, 64 bits.
    sums: vec2<u32>,
    // The address of the number of workgroups of the dispatch along two axes, if only the GPU knows it, and
    // their size. Otherwise 0, and the number of entries.
    workgroups: vec2<u32>,
    count: u32,
    room: u32,
}

// The entries of one invocation of xfb_entry_sums.
const ENTRIES_PER_INVOCATION: u32 = 4u;
const ENTRY_SUMS_WIDTH: u32 = 128u; // ENTRIES_PER_BLOCK / ENTRIES_PER_INVOCATION

@compute @workgroup_size(ENTRY_SUMS_WIDTH)
fn xfb_entry_sums(
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let addresses = load4(kernel.parameters);
    let sizes = load4(add_bytes(kernel.parameters, 16u));
    let block = workgroup_id.y * workgroups.x + workgroup_id.x;
    if block * ENTRIES_PER_BLOCK >= sizes.w {
        return;
    }
    var count = sizes.z;
    let axes = load2(address_or(sizes.xy, kernel.parameters));
    if is_address(sizes.xy) {
        count *= axes.x * axes.y;
    }
    let first = block * ENTRIES_PER_BLOCK + local * ENTRIES_PER_INVOCATION;
    let loaded = load4_written(add_bytes(addresses.xy, 4u * first));
    // There is room behind the last entry, which nobody has written.
    let numbers = vec4<u32>(first, first + 1u, first + 2u, first + 3u);
    let counts = select(vec4<u32>(), loaded, numbers < vec4<u32>(count));
    let two = add64(vec2<u32>(counts.x, 0u), vec2<u32>(counts.y, 0u));
    let three = add64(two, vec2<u32>(counts.z, 0u));
    let all = add64(three, vec2<u32>(counts.w, 0u));
    if local == 0u {
        ends[NO_RUN] = vec4<u32>();
    }
    let sum = sum_runs(local, false, vec4<u32>(all, 0u, 0u), NO_RUN);
    let before = sum.before.xy;
    store4(addresses.xy, sizes.w + first, vec4<u32>(
        saturated(before),
        saturated(add64(before, vec2<u32>(counts.x, 0u))),
        saturated(add64(before, two)),
        saturated(add64(before, three)),
    ));
    if local == 0u {
        store2(addresses.zw, 2u * block, sum.last.xy);
    }
}

// The parameters of xfb_place_entries.
struct PlaceEntries {
    // The address of `EntryJob`s, one for each dispatch, in order.
    jobs: vec2<u32>,
    job_count: u32,
    reserved: u32,
    progress: Progress,
}

struct EntryJob {
    // The `Batch` that counted, and where that is written which stores.
    counting: vec2<u32>,
    storing: vec2<u32>,
    entries: vec2<u32>,
    // The sums of its blocks, and their number.
    sums: vec2<u32>,
    block_count: u32,
    // Vertices per primitive.
    vertices: u32,
    reserved: vec2<u32>,
    // The queries that count, or 0.
    stream_query: vec2<u32>,
    generated_query: vec2<u32>,
}

const ENTRY_JOB_SIZE: u32 = 64u;
// Bytes from the start of the parameters.
const PLACE_PROGRESS: u32 = 16u;

// Whether it captures, and not only counts, is whether there is a limit for records.
@compute @workgroup_size(MAX_KERNEL_WIDTH)
fn xfb_place_entries(@builtin(local_invocation_index) local: u32) {
    let parameters = load4(kernel.parameters);
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
    for (var number = 0u; number < parameters.z; number++) {
        place_job(multiply_add(parameters.xy, number, ENTRY_JOB_SIZE), local);
    }
    if local == 0u {
        store_positions(load_progress(progress_at), start_position, next_record);
    }
}

// Places the entries of a dispatch after those of the dispatches before.
fn place_job(at: vec2<u32>, local: u32) {
    let batches = load4(at);
    let addresses = load4(add_bytes(at, 16u));
    let sizes = load2(add_bytes(at, 32u));
    let queries = load4(add_bytes(at, 48u));
    let captures = room != NONE;
    let vertices = sizes.y;
    let fits = select(0u, room / vertices, captures);
    let entries = load_entries(addresses.xy);
    var needed = vec2<u32>();
    for (var first = 0u; first < sizes.x; first += kernel_width()) {
        let block = first + local;
        var value = vec2<u32>();
        if block < sizes.x {
            value = load2(add_bytes(addresses.zw, 8u * block));
        }
        let sum = sum_runs(local, false, vec4<u32>(value, 0u, 0u), NO_RUN);
        if block < sizes.x {
            let before = min(saturated(add64(needed, sum.before.xy)), fits);
            store1(entries.blocks, block, next_record + before * vertices);
        }
        needed = add64(needed, sum.last.xy);
    }
    let written = min(saturated(needed), fits);
    let end = next_record + written * vertices;
    if local == 0u {
        store4(batches.zw, 0u, vec4<u32>(load3(batches.xy), end));
        store4(batches.zw, 4u, start_position);
        // If nothing is captured, nothing overflows.
        let counted = select(needed, vec2<u32>(written, 0u), captures);
        add_to_query(queries.xy, vec4<u32>(counted, needed));
        add_to_query(queries.zw, vec4<u32>(needed, 0u, 0u));
    }
    room = select(room, room - written * vertices, captures);
    next_record = end;
}
