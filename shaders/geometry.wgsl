// Captures of geometry shaders, and of tessellation shaders (patches.wgsl). The draws of a dispatch are divided
// into entries: an entry is a run of consecutive primitives of one draw, which one invocation processes. For
// each primitive the invocation runs the vertex shader for the vertices, then the geometry shader.
//
// How much a geometry shader emits is known only after it has run. The same pipeline therefore runs twice: the first
// run counts the primitives that each entry emits, the second run stores them. In between, kernels compute where the
// records of each entry begin (entries.wgsl). Besides its records, an entry takes only two dwords of memory.
//
// A vertex is stored when it is emitted, to all primitives of the strip that it may belong to. If a strip turns
// out to be incomplete, the next strip of the entry overwrites its records. After the last complete strip nothing is
// stored, because the counting run has found out how many primitives the entry emits.
//
// Neighbouring invocations store records that lie apart, which is slow. If all records of a workgroup fit into shared
// memory, the workgroup therefore collects them there before it stores them (staged.wgsl).
//
// If a shader always emits the same number of primitives and the CPU computes where its records begin, there is no
// counting run: where the records of an input primitive begin follows from its number.

// The memory of a dispatch for its entries: how many primitives each entry emits, and where the records of each block
// of entries begin.
struct Entries {
    // The address of an array with two dwords for each entry: the number of primitives that the entry emits, and the
    // sum of these numbers over the entries before it in its block.
    counts: vec2<u32>,
    // The address of an array with two dwords for each block of ENTRIES_PER_BLOCK entries: the number of primitives
    // that the block emits (64 bits), later replaced by the number of the block's first record (32 bits).
    blocks: vec2<u32>,
    // The number of entries in these blocks: a multiple of ENTRIES_PER_BLOCK. It includes entries of
    // invocations that have nothing to draw.
    count: u32,
    reserved: array<u32, 3>,
}

const ENTRY_SIZE: u32 = 8u;
const ENTRY_BLOCK_SIZE: u32 = 8u;
const ENTRIES_SIZE: u32 = 32u;

// The number of entries in a block. One workgroup of xfb_entry_sums (entries.wgsl) adds up the counts of a block.
const ENTRIES_PER_BLOCK: u32 = 512u;

// With primitive restart: the largest number of vertices that all primitives of an instance may have together. Further
// primitives are ignored.
const MOST_ASSEMBLED: u32 = 0x40000000u;

var<private> is_counting: bool;
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
// Whether the workgroup stages its records (staged.wgsl), which it does if all of them fit into shared memory.
var<private> is_staging: bool;

fn load_entries(at: vec2<u32>) -> Entries {
    let addresses = load4(at);
    return Entries(addresses.xy, addresses.zw, load1(at, 4u), array<u32, 3>());
}

// The records of an entry, whose numbers the kernels of entries.wgsl have computed.
fn records_of_entry(entries: Entries, entry: u32) -> Segment {
    let counts = load2(add_bytes(entries.counts, ENTRY_SIZE * entry));
    let first = load1(add_bytes(entries.blocks, ENTRY_BLOCK_SIZE * (entry / ENTRIES_PER_BLOCK)), 0u);
    // At most `limit / vertices` primitives fit. Both counts of the entry are clamped to this number before the
    // multiplication, so that no product exceeds 32 bits.
    let vertices = output_vertices();
    let limit = draw.output_end;
    let begin = min(first + min(counts.y, limit / vertices) * vertices, limit);
    return Segment(begin, min(min(counts.x, limit / vertices) * vertices, limit - begin));
}

// The records that a workgroup stores, which are consecutive. The segment is empty if the workgroup stores none, for
// example because it only counts primitives.
fn records_of_workgroup(workgroup: u32, exists: bool, entries: Entries) -> Segment {
    if is_placed() {
        let number = first_invocation(workgroup);
        let items = select(0u, draw.item_count * draw.instance_count, exists);
        let first = min(min(number, draw.invocations) * entry_length(), items);
        let end = min(number + workgroup_size(), draw.invocations) * entry_length();
        return records_of_items(first, min(end, items));
    }
    let entry = workgroup * workgroup_size();
    if is_counting || entry >= entries.count {
        return Segment(0u, 0u);
    }
    let first = records_of_entry(entries, entry).first;
    let last = records_of_entry(entries, min(entry + workgroup_size(), entries.count) - 1u);
    return Segment(first, last.first + last.count - first);
}

// Whether the CPU has computed where the records of the draw begin, so that there is no counting run.
fn is_placed() -> bool {
    return always_emitted() != 0u && !has_batch();
}

// The records of items (input primitives) `first` to `end` (exclusive) of a draw for which is_placed() is true. The
// draw's last item may fit only in part; its records then end at draw.output_end.
fn records_of_items(first: u32, end: u32) -> Segment {
    let each = always_emitted() * geometry_invocations() * output_vertices();
    let begin = min(draw.base_record + first * each, draw.output_end);
    return Segment(begin, min((end - first) * each, draw.output_end - begin));
}

// The number of items of an entry, unless it is the last one of a draw, which may have fewer. An item is an input
// primitive or a slice of a patch; if primitive restart is enabled, it is an index.
fn entry_length() -> u32 {
    return draw.output_count;
}

// Called for each vertex that the geometry shader emits.
fn emit_vertex() {
    if may_emit() {
        capture_vertex();
    }
}

// Whether the invocation has emitted fewer vertices to the captured stream than the shader declares. llvmpipe and others
// ignore further ones, and count each stream by itself. (The specification says nothing of them; Direct3D ends the shader.)
fn may_emit() -> bool {
    if most_emitted() == NONE {
        return true;
    }
    run_length++;
    return run_length <= most_emitted();
}

fn capture_vertex() {
    if !uniformly(is_counting) {
        let before = emitted * output_vertices();
        let count = entry_records.count - min(entry_records.count, before);
        let records = records_of_emitted(strip_length);
        let strip = Segment(entry_records.first + before, count);
        capture_record(strip, records.x);
        if output_vertices() > 1u {
            capture_record(strip, records.y);
        }
        if output_vertices() > 2u {
            capture_record(strip, records.z);
        }
    }
    strip_length++;
}

// Called instead of emit_vertex if the shader has several vertex streams. Each run captures only one stream,
// and ignores vertices of the others.
fn emit_stream_vertex(stream: u32) {
    if uniformly(stream == captured_stream()) {
        emit_vertex();
    }
}

fn captured_stream() -> u32 {
    return (sysvals.draw.flags >> STREAM_SHIFT) & 3u;
}

// Whether the side effects of the shaders happen in this run. They must happen only once. So they are left out of all
// counting runs. If several invocations run the vertex and the control shader for the same patch, the side effects of
// these shaders are left out of all of these invocations but one (is_repeating). If several streams are stored, the
// side effects are left out of the storing runs of all streams but one.
fn has_effects() -> bool {
    return !is_counting && !is_repeating && (sysvals.draw.flags & WITHOUT_EFFECTS) == 0u;
}

// Stores record `record` of a strip, or writes it to shared memory if the workgroup stages its records. Does nothing
// if the strip has fewer records.
fn capture_record(strip: Segment, record: u32) {
    if record < strip.count {
        if uniformly(is_staging) {
            stage_record(strip.first + record - first_output);
        } else {
            store_record(strip.first + record);
        }
    }
}

// The records that vertex `k` of an emitted strip is written to, counted from the strip's first record.
fn records_of_emitted(k: u32) -> vec3<u32> {
    let vertices = output_vertices();
    if vertices == 3u {
        return records_of_tri_strip(k);
    }
    return select(records_of_line_strip(k), vec3<u32>(k, NONE, NONE), vertices == 1u);
}

// Called where the geometry shader ends a strip, and after the shader.
fn end_primitive() {
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
    // An invocation without a draw goes on, to write the count 0 for its entry: xfb_entry_sums adds up the counts of
    // all entries of a block.
    let exists = begin_draw(workgroup, local);
    let entry = workgroup * workgroup_size() + local;
    let number = first_invocation(workgroup) + local;
    // The number of items in all instances. An item is an input primitive or a slice of a patch; with primitive restart
    // it is an index, at which a primitive may begin.
    let items = select(0u, draw.item_count * draw.instance_count, exists & (number < draw.invocations));
    let first = min(number, draw.invocations) * entry_length();
    let end = min(first + entry_length(), items);
    var entries = Entries();
    if is_placed() {
        is_counting = false;
        entry_records = records_of_items(min(first, end), end);
    } else {
        entries = load_entries(entries_address());
        is_counting = (sysvals.draw.flags & COUNTING) != 0u;
        if !is_counting && entry < entries.count {
            entry_records = records_of_entry(entries, entry);
        }
    }
    // Without staging the pipeline needs neither these loads nor the code behind the loop, with its barrier.
    var staged = Segment(0u, 0u);
    if staged_vertices() != 0u {
        staged = records_of_workgroup(workgroup, exists, entries);
    }
    is_staging = staged.count != 0u && staged.count <= staged_vertices();
    first_output = staged.first;
    // From here on only `entry_records` limits what is stored. `output_end` only limits how many vertices primitive
    // restart assembles.
    draw.output_end = MOST_ASSEMBLED;
    var place = instance_and_lane(min(first, items), draw.item_count);
    for (var item = first; item < end; item++) {
        let primitive = primitive_of_lane(place.y);
        if primitive.exists {
            run_primitive(place.x, primitive);
        }
        place.y++;
        if place.y == draw.item_count {
            place = vec2<u32>(place.x + 1u, 0u);
        }
    }
    if uniformly(is_staging) {
        // If a shader reads memory that other invocations write, it may emit less in this run than in the
        // counting run. Then copies of its last outputs fill the gap up to the count, because otherwise
        // the workgroup would store uninitialised shared memory, perhaps of another program.
        for (var left = emitted * output_vertices(); left < entry_records.count; left++) {
            stage_record(entry_records.first + left - first_output);
        }
        workgroupBarrier();
        for (var unit = local; unit < staged.count * staged_units(); unit += workgroup_size()) {
            store_staged(0u, staged.count, unit, LIST_EMITTED);
        }
    }
    // Not every invocation has an entry: the last row of a folded dispatch may have more workgroups
    // than needed.
    if is_counting && entry < entries.count {
        store1(entries.counts, 2u * entry, emitted);
    }
}
