// The compute entry point for geometry shaders, and for tessellation shaders (patches.wgsl). The input primitives of
// each draw are divided into entries: an entry is a sequence of consecutive primitives of one draw, which one
// invocation processes. For each of these primitives the invocation runs the vertex shader once per vertex, and then
// the geometry shader.
//
// How many primitives a geometry shader emits is known only after it has run. The same pipeline is therefore dispatched
// twice. The count pass counts the primitives that each entry emits, and stores no records. Then kernels compute where
// the records of each entry begin, by a prefix sum over these counts (entries.wgsl). The emit pass runs the shaders
// again, and stores the records. Besides its records, an entry takes only one dword of memory.
//
// Without staging, the emit pass stores a vertex as soon as it is emitted, into the record of every primitive of the
// strip that the vertex may be a part of. If the shader ends the strip too early for the last of these primitives, the
// next strip of the entry overwrites that primitive's records. After the last complete primitive of the entry nothing
// is stored, because the number of primitives is known from the count pass.
//
// Neighbouring invocations then store records that lie apart, which is slow on most GPUs. With staging, an invocation
// writes each vertex to shared memory once, and lists the primitives; then the invocations of the workgroup store the
// records of all listed primitives together (emitted.wgsl).
//
// If the shader emits the same number of primitives for every input primitive, and the CPU computes where the draw's
// records begin, there is no count pass: the number of an input primitive says where its records begin.

// The memory of a dispatch for its entries: how many primitives each entry emits, and where the records of each block
// of consecutive entries begin.
struct Entries {
    // The address of an array with a dword for each entry: the number of primitives that the entry emits, later
    // replaced by the sum of these numbers over the entries before it in its block.
    counts: vec2<u32>,
    // The address of an array with two dwords for each block of ENTRIES_PER_BLOCK entries: the number of primitives
    // that the block emits (64 bits), later replaced by the number of the block's first record, and the number of its
    // primitives that fit.
    blocks: vec2<u32>,
    // The number of entries. The last entries of a draw may have no primitives: they only fill its last workgroup. It is
    // a multiple of ENTRIES_PER_BLOCK, because xfb_entry_sums adds up whole blocks, except in the last dispatch of a
    // list of draws: what is left of its last block counts as 0.
    count: u32,
    reserved: array<u32, 3>,
}

const ENTRY_SIZE: u32 = 4u;
const ENTRY_BLOCK_SIZE: u32 = 8u;
const ENTRIES_SIZE: u32 = 32u;

// The number of entries in a block. One workgroup of xfb_entry_sums (entries.wgsl) adds up the counts of a block.
const ENTRIES_PER_BLOCK: u32 = 1024u;

// With primitive restart: the largest number of vertices that input assembly takes for all primitives of an instance
// together. Further primitives are ignored.
const MOST_ASSEMBLED: u32 = 0x40000000u;

// Whether this dispatch is the count pass.
var<private> is_count_pass: bool;
// Whether another invocation, which has the first slice of this patch (patches.wgsl), runs the vertex and the control
// shader for the patch, too. If so, the side effects of these shaders happen there, and not in this invocation.
var<private> is_repeating: bool;
// The records that this invocation stores for its entry.
var<private> entry_records: Segment;
// The number of primitives that the entry emitted before the current strip, and the number of vertices that it emitted
// in this strip.
var<private> emitted: u32;
var<private> strip_length: u32;
// The number of vertices that this invocation of the geometry shader has emitted to the captured stream.
var<private> run_length: u32;

fn load_entries(at: vec2<u32>) -> Entries {
    let addresses = load4(at);
    return Entries(addresses.xy, addresses.zw, load1(at, 4u), array<u32, 3>());
}

// The `Entries` of the dispatch. An unchecked capture has both addresses in its push constants. It does not read the
// number of entries.
fn entries_of_dispatch() -> Entries {
    if is_unchecked() {
        return Entries(entries_address(), sysvals.draw.index_address, 0u, array<u32, 3>());
    }
    return load_entries(entries_address());
}

// The number of blocks that entries fill.
fn blocks_of(entry_count: u32) -> u32 {
    return (entry_count + ENTRIES_PER_BLOCK - 1u) / ENTRIES_PER_BLOCK;
}

// Whether an invocation has an entry. A dispatch may have more invocations than entries: in the last row, if it is folded
// into two axes, and in the last workgroup, if the size of a block is no multiple of that of a workgroup. The CPU makes
// sure that an unchecked capture has none (src/runtime/recording/plan/geometry.rs).
fn has_entry(entries: Entries, entry: u32) -> bool {
    return is_unchecked() || entry < entries.count;
}

// The records of an entry, whose numbers the kernels of entries.wgsl have computed.
fn records_of_entry(entries: Entries, entry: u32) -> Segment {
    let block = load2(add_bytes(entries.blocks, ENTRY_BLOCK_SIZE * (entry / ENTRIES_PER_BLOCK)));
    // The next entry may be in the next block, whose sums begin at 0. It exists, or the block is followed by memory of
    // `entries.blocks`.
    let sums = load2(add_bytes(entries.counts, ENTRY_SIZE * entry));
    let is_last = (entry + 1u) % ENTRIES_PER_BLOCK == 0u;
    return records_of_block(block, sums.x, select(sums.y, NONE, is_last));
}

// The records of the primitives `before` to `after` (exclusive) of a block. `block` are the number of the block's first
// record, and how many of its primitives fit. So no product exceeds 32 bits.
fn records_of_block(block: vec2<u32>, before: u32, after: u32) -> Segment {
    let first = min(before, block.y);
    let vertices = output_vertices();
    return Segment(block.x + first * vertices, (min(after, block.y) - first) * vertices);
}

// Whether each item is an input primitive for which the shader emits the same number of primitives.
fn emits_evenly() -> bool {
    return always_emitted() != 0u && !is_restarted();
}

// The number of primitives that the shader emits for `items` items, if emits_evenly().
fn emitted_for(items: u32) -> u32 {
    return always_emitted() * geometry_invocations() * items;
}

// Whether there is no count pass: the shader always emits the same number of primitives, and the CPU has computed where
// the draw's records begin.
fn is_placed() -> bool {
    return always_emitted() != 0u && !has_batch();
}

// The records of items (input primitives) `first` to `end` (exclusive) of a draw for which is_placed() is true. The
// draw's last item may fit only in part; its records then end at draw.output_end.
fn records_of_items(first: u32, end: u32) -> Segment {
    let each = emitted_for(1u) * output_vertices();
    let begin = min(draw.base_record + first * each, draw.output_end);
    return Segment(begin, min((end - first) * each, draw.output_end - begin));
}

// The number of items of an entry, unless it is the last one of a draw, which may have fewer. An item is an input
// primitive or a slice of a patch; if primitive restart is enabled, it is an index. In an unchecked capture, each item is
// an entry.
fn entry_length() -> u32 {
    return select(draw.output_count, 1u, is_unchecked());
}

// Called for each vertex that the geometry shader emits.
fn emit_vertex() {
    if may_emit() {
        capture_vertex();
    }
}

// Whether the invocation has emitted fewer vertices to the captured stream than the shader declares. llvmpipe and
// others ignore further ones, and count each stream by itself. (The specification says nothing of them; Direct3D ends
// the shader.)
fn may_emit() -> bool {
    if always_emitted() != 0u {
        return true;
    }
    run_length++;
    return run_length <= most_emitted();
}

fn capture_vertex() {
    if is_drawn() {
        draw_emitted();
    } else if !uniformly(is_count_pass) {
        if emits_together() {
            stage_emitted();
        } else {
            store_emitted();
        }
    }
    strip_length++;
}

// Stores the vertex into the records of all primitives that it may be a part of.
fn store_emitted() {
    let before = emitted * output_vertices();
    let count = entry_records.count - min(entry_records.count, before);
    let records = records_of_emitted(strip_length);
    let strip = Segment(entry_records.first + before, count);
    store_record_of(strip, strip_length, records.x);
    if output_vertices() > 1u {
        store_record_of(strip, strip_length - 1u, records.y);
    }
    if output_vertices() > 2u {
        store_record_of(strip, strip_length - 2u, records.z);
    }
}

// Called instead of emit_vertex if the shader has several vertex streams. Each pass is for one stream, and ignores the
// vertices of the others.
fn emit_stream_vertex(stream: u32) {
    if uniformly(stream == captured_stream()) {
        emit_vertex();
    }
}

fn captured_stream() -> u32 {
    return (sysvals.draw.flags >> STREAM_SHIFT) & 3u;
}

// Whether the side effects of the shaders (stores and atomic operations) happen in this invocation. They must happen
// once, although the shaders run several times. So they are left out of count passes and, if several streams are
// captured, out of the emit passes of all streams but one (WITHOUT_EFFECTS). If several invocations run the vertex and
// the control shader for the same patch, only one of them has the side effects of these two shaders (see is_repeating).
fn has_effects() -> bool {
    return !is_count_pass && !is_repeating && (sysvals.draw.flags & WITHOUT_EFFECTS) == 0u;
}

// Stores the outputs as record `record` of a strip, which belongs to primitive `primitive` of it. Does nothing if the
// strip has fewer records. A primitive beyond most_primitives() never has records, so its test changes nothing that is
// stored. But its number is known to compilers that unroll the shader's loop, which then leave out the stores for
// primitives that cannot exist.
fn store_record_of(strip: Segment, primitive: u32, record: u32) {
    if (primitive < most_primitives()) & (emits_one() | (record < strip.count)) {
        store_record(strip.first + record);
    }
}

// Whether each item emits the vertices of one primitive and no others, and nothing but its records shows whether the
// shaders have run for it. Then they do not run for an item whose primitive does not fit (run_item), and no record is
// tested. So all stores are in one block, and compilers can compute each value right before it is stored: on a Mali-G52
// twice as many threads fit into the registers.
fn emits_one() -> bool {
    return emits_evenly() && emitted_for(1u) == 1u && most_primitives() == 1u && !shades_existing_only();
}

// The largest number of primitives of an emitted strip.
fn most_primitives() -> u32 {
    let most = min(most_emitted(), NONE - 1u) + 1u;
    return most - min(most, output_vertices());
}

// The records that vertex `k` of an emitted strip is written to, counted from the strip's first record: one for each
// primitive that the vertex may be a part of.
fn records_of_emitted(k: u32) -> vec3<u32> {
    let vertices = output_vertices();
    if vertices == 3u {
        return records_of_tri_strip(k);
    }
    return select(records_of_line_strip(k), vec3<u32>(k, NONE, NONE), vertices == 1u);
}

// Called where the geometry shader ends a strip, and at the end of the shader, which ends the last strip.
fn end_primitive() {
    if is_drawn() {
        end_drawn_strip();
    }
    emitted += strip_length - min(strip_length, output_vertices() - 1u);
    strip_length = 0u;
}

// Called instead of end_primitive if the shader has several vertex streams.
fn end_stream_primitive(stream: u32) {
    if uniformly(stream == captured_stream()) {
        end_primitive();
    }
}

fn shade_vertices(instance: u32, primitive: Primitive) {
    for (var slot = 0u; slot < input_vertices(); slot++) {
        let vertex = index_of_element(element_of_slot(primitive, slot));
        set_inputs(draw.base_vertex + vertex, draw.first_instance + instance);
        shade();
        pass_vertex(slot);
    }
}

fn run_geometry(instance: u32, primitive: Primitive) {
    shade_vertices(instance, primitive);
    run_invocations(primitive.id);
}

// Runs all invocations of the geometry shader for a primitive. The inputs that belong to vertices must be
// set.
fn run_invocations(primitive: u32) {
    for (var invocation = 0u; invocation < geometry_invocations(); invocation++) {
        set_geometry_inputs(primitive, invocation);
        run_length = 0u;
        // It is 0 already, but compilers do not find that out.
        strip_length = 0u;
        shade_geometry();
        end_primitive();
    }
}

@compute @workgroup_size(64)
fn xfb_geometry(
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let workgroup = workgroup_number(workgroup_id, workgroups);
    // An invocation without a draw does not return here: it has to write the count 0 for its entry, because
    // xfb_entry_sums adds up the counts of all entries of a block.
    let exists = begin_draw(workgroup, local);
    if !may_be_general() && !is_batched() && has_batch() {
        // The draw is in the push constants, and the batch says where its records begin.
        first_bytes = load4_aligned(batch_address(), 4u);
    }
    let entry = workgroup * workgroup_size() + local;
    let number = first_invocation(workgroup) + local;
    // The number of items in all instances. An item is an input primitive or a slice of a patch; with primitive restart
    // it is an index, at which a primitive may begin.
    let items = select(0u, draw.item_count * draw.instance_count, exists);
    let first = min(min(number, draw.invocations) * entry_length(), items);
    let end = min(first + entry_length(), items);
    var entries = Entries();
    // The number of invocations before this one that stage at the same time (emitted.wgsl).
    let before = select(0u, local % stagers(), emits_together());
    is_last_of_turn = before + 1u == stagers() || local + 1u == workgroup_size();
    if is_placed() {
        is_count_pass = false;
        entry_records = records_of_items(first, end);
    } else {
        entries = entries_of_dispatch();
        is_count_pass = (sysvals.draw.flags & COUNT_PASS) != 0u;
        if is_count_pass | !has_entry(entries, entry) {
            entry_records = Segment();
        } else {
            entry_records = records_of_entry(entries, entry);
            if emits_together() && always_emitted() == 0u {
                first_of_turn = records_of_entry(entries, entry - before).first;
            }
        }
    }
    if emits_evenly() {
        // The shader need not run to count what it emits.
        if is_count_pass {
            if has_entry(entries, entry) {
                store1(entries.counts, entry, emitted_for(end - first));
            }
            return;
        }
        is_count_pass = false;
    }
    // From here on only `entry_records` limits what is stored. `output_end` limits only how many vertices input
    // assembly takes with primitive restart.
    draw.output_end = MOST_ASSEMBLED;
    let place = instance_and_lane(first, draw.item_count);
    if emits_together() {
        if !uniformly(is_count_pass) {
            emit_together(place, first, end, local);
            return;
        }
    }
    var at = place;
    for (var item = first; item < end; item++) {
        run_item(at);
        at = next_item(at);
    }
    if is_count_pass && has_entry(entries, entry) {
        store1(entries.counts, entry, emitted);
    }
}

// Runs the shaders for the items `first` to `end` (exclusive) of the invocation's entry. The invocations of the workgroup
// store together what all of them emit. `place` is the instance of the first item, and its number in that instance. The
// loops have the same number of iterations for all invocations of the workgroup, because there are barriers in them.
fn emit_together(place: vec2<u32>, first: u32, end: u32, local: u32) {
    var at = place;
    for (var round = 0u; round < entry_length(); round++) {
        for (var turn = 0u; turn < workgroup_size(); turn += stagers()) {
            if local - turn < stagers() {
                let exists = first + round < end;
                stage_item(local - turn, at, exists);
                if exists {
                    at = next_item(at);
                }
            }
            workgroupBarrier();
            // In the last turn fewer invocations may be left.
            store_items(min(stagers(), workgroup_size() - turn), local);
            workgroupBarrier();
        }
    }
}

// Runs the shaders for an item. `place` is its instance and its number in that instance.
fn run_item(place: vec2<u32>) {
    let primitive = primitive_of_lane(place.y);
    if primitive.exists && (!emits_one() || emitted * output_vertices() < entry_records.count) {
        run_primitive(place.x, primitive);
    }
}

// The place of the item after an item.
fn next_item(place: vec2<u32>) -> vec2<u32> {
    let is_last = place.y + 1u == draw.item_count;
    return select(vec2<u32>(place.x, place.y + 1u), vec2<u32>(place.x + 1u, 0u), is_last);
}
