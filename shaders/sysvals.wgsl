// System values: the data that the CPU passes to the GPU for each draw. src/sysval/ declares the same
// structures and documents their members, and a test compares the two.

struct AttributeDescriptor {
    address: vec2<u32>,
    limit: u32,
    stride: u32,
}

// A draw of a capture. Its counts are clamped to what fits into the capture buffers, except in the push constants of a
// fused capture. A draw in memory is loaded 16 bytes at a time. So the members that most pipelines for listed draws do
// not need are the last 16 bytes, whose load the compiler then removes.
struct Draw {
    flags: u32,
    output_count: u32,
    output_end: u32,
    item_count: u32,
    instance_count: u32,
    base_vertex: u32,
    base_record: u32,
    first_workgroup: u32,
    index_address: vec2<u32>,
    index_limit: u32,
    reciprocal: u32,
    xfb_topology: u32,
    draw_index: u32,
    first_instance: u32,
    invocations: u32,
}

// The push constants of a capture, and each of its listed draws. If the draws of the dispatch are not in the push
// constants, `source` and members of `draw` hold addresses and counts: see batch_address, fused_address,
// restart_table_address, listed_draws_address, listed_draw_count and entries_address.
struct Sysvals {
    draw: Draw,
    attributes: array<AttributeDescriptor, 1>,
    table: vec2<u32>,
    xfb_address: array<vec2<u32>, 4>,
    source: vec2<u32>,
}

// What is bound for a listed draw: the members of its `Sysvals` behind `draw`, without `source`.
struct Bound {
    attributes: array<AttributeDescriptor, 1>,
    table: vec2<u32>,
    xfb_address: array<vec2<u32>, 4>,
}

// The draws that one dispatch captures, if they are not in the push constants.
struct Batch {
    draws: vec2<u32>,
    // The number of draws, plus RESTARTED_BATCH if each draw is followed by its `DrawRestarts`.
    draw_count: u32,
    // The number of the first record that does not fit. In each capture buffer record 0 begins at `positions`.
    record_limit: u32,
    positions: vec4<u32>,
}

const DRAW_SIZE: u32 = 64u;
const SYSVALS_SIZE: u32 = 128u;
const RESTARTED_DRAW_SIZE: u32 = 96u;
const RESTARTED_BATCH: u32 = 0x80000000u;
const DRAW_FIRST_WORKGROUP: u32 = 28u;

// The bits of Draw.flags.
const INDEX_SIZE: u32 = 7u; // size of an index in bytes, 0 without an index buffer
const RESTART: u32 = 8u;
const LAST_VERTEX: u32 = 16u; // the last vertex of a primitive is the provoking one
const FAR_ATTRIBUTES: u32 = 64u; // an attribute may have elements 4 GiB or more after the first one
const HAS_BATCH: u32 = 128u; // only in the push constants: the draws are in a batch
const BOUND_PER_DRAW: u32 = 256u; // only in the push constants: listed draws differ in what is bound
const COUNT_PASS: u32 = 1024u; // only in the push constants: the dispatch is the count pass (geometry.wgsl)
const STREAM_SHIFT: u32 = 11u; // only in the push constants: two bits, the vertex stream that is captured
// Only in the push constants: side effects happen in the run for another vertex stream.
const WITHOUT_EFFECTS: u32 = 8192u;
const SLICE_SHIFT: u32 = 14u; // three bits, the binary logarithm of the number of slices of a patch
// The six highest bits: vertices per primitive or control points per patch, at most 32.
const VERTICES_PER_PRIMITIVE_SHIFT: u32 = 26u;

var<immediate> sysvals: Sysvals;

// The draw of this invocation, and for each buffer the offset in bytes at which record 0 begins.
var<private> draw: Draw;
var<private> first_bytes: vec4<u32>;
// If the draw is listed: what is bound for it, a copy of what the push constants have if all draws have that bound.
var<private> listed: Bound;
// If the draw has primitive restart: its table of restarts, and where the draw's indices are in the range of indices
// that the table covers.
var<private> draw_restarts: DrawRestarts;

fn use_pushed_draw() {
    draw = sysvals.draw;
    first_bytes = vec4<u32>();
}

// Returns the address of the draw that a workgroup captures, in a batch whose first 16 bytes are `head`: the
// last draw whose first workgroup is not after `workgroup`.
fn find_draw(head: vec4<u32>, workgroup: u32) -> vec2<u32> {
    let stride = select(DRAW_SIZE, RESTARTED_DRAW_SIZE, head.z >= RESTARTED_BATCH);
    var low = 0u;
    var high = head.z & ~RESTARTED_BATCH;
    while high - low > 1u {
        let middle = low + (high - low) / 2u;
        let first = load1(multiply_add(head.xy, middle, stride), DRAW_FIRST_WORKGROUP / 4u);
        if first <= workgroup {
            low = middle;
        } else {
            high = middle;
        }
    }
    return multiply_add(head.xy, low, stride);
}

// The address of a `Batch` if has_batch(), otherwise a readable address (see address_or). If a kernel computed where
// the records of the draws begin, the batch contains the draws. If the CPU listed the draws, the batch only says where
// their records begin.
fn batch_address() -> vec2<u32> {
    return sysvals.source;
}

// The address of the parameters of a fused capture (`Fused`).
fn fused_address() -> vec2<u32> {
    return sysvals.source;
}

// For a single draw with primitive restart, if the CPU computed where its records begin: the address of its table of
// restarts.
fn restart_table_address() -> vec2<u32> {
    return sysvals.source;
}

// For draws that the CPU listed: the address of the first of these draws.
fn listed_draws_address() -> vec2<u32> {
    return sysvals.draw.index_address;
}

fn listed_draw_count() -> u32 {
    return sysvals.draw.item_count;
}

// For draws of geometry or tessellation shaders that have a batch: the address of their `Entries`.
fn entries_address() -> vec2<u32> {
    return vec2<u32>(sysvals.draw.base_record, sysvals.draw.first_workgroup);
}

fn has_batch() -> bool {
    return (sysvals.draw.flags & HAS_BATCH) != 0u;
}

// The first 16 bytes of the batch. If there is no batch, the result describes one with a single draw at
// batch_address().
fn load_batch_head() -> vec4<u32> {
    let head = load4_aligned(batch_address(), 0u);
    return select(vec4<u32>(batch_address(), 1u, NONE), head, has_batch());
}

// Loads from a batch the draw that a workgroup captures.
fn use_draw_of(workgroup: u32) {
    let head = load_batch_head();
    first_bytes = load4_aligned(batch_address(), 4u);
    let at = find_draw(head, workgroup);
    draw = draw_at(at);
    limit_records(head.w);
    // `DrawRestarts` is loaded before the flags of the draw are known, so that its loads and those of the draw
    // overlap.
    let are_restarted = head.z >= RESTARTED_BATCH;
    let restarts = add_bytes(at, select(0u, DRAW_SIZE, are_restarted));
    if may_restart() & are_restarted {
        let words = load4_aligned(restarts, 0u);
        let table = load2_aligned(restarts, 4u);
        draw_restarts = DrawRestarts(words.x, words.y, words.z, words.w, table, vec2<u32>());
    }
}

// Clamps the records of `draw` to those that fit: the records from number `record_limit` on are dropped.
fn limit_records(record_limit: u32) {
    draw.output_end = max(min(draw.output_end, record_limit), draw.base_record);
}

// The address of the `Sysvals` of a workgroup's draw among listed draws. The draws are followed by a list that has 16
// bits for each workgroup: the number of its draw.
fn listed_draw(workgroup: u32) -> vec2<u32> {
    let draws = listed_draws_address();
    let list = add_bytes(draws, listed_draw_count() * SYSVALS_SIZE);
    let pair = load1(add_bytes(list, 2u * (workgroup & ~1u)), 0u);
    return multiply_add(draws, (pair >> (16u * (workgroup & 1u))) & 0xffffu, SYSVALS_SIZE);
}

// Loads the listed draw of a workgroup. If there is a batch, the batch says where the capture begins and how
// much fits.
fn use_listed_draw(workgroup: u32) {
    let at = listed_draw(workgroup);
    draw = draw_at(at);
    listed = Bound(sysvals.attributes, sysvals.table, sysvals.xfb_address);
    if uniformly((sysvals.draw.flags & BOUND_PER_DRAW) != 0u) {
        listed = bound_of_words(
            load4_aligned(at, 16u),
            load4_aligned(at, 20u),
            load4_aligned(at, 24u),
            load4_aligned(at, 28u),
        );
    }
    first_bytes = vec4<u32>();
    if has_batch() {
        limit_records(load4_aligned(batch_address(), 0u).w);
        first_bytes = load4_aligned(batch_address(), 4u);
    }
}

// Loads a draw with primitive restart from the push constants. Its table of restarts covers exactly the draw's
// indices.
fn use_known_restarts() {
    use_pushed_draw();
    draw_restarts = DrawRestarts(0u, draw.item_count, 0u, 0u, restart_table_address(), vec2<u32>());
}

fn draw_at(at: vec2<u32>) -> Draw {
    return draw_of_words(
        load4_aligned(at, 0u),
        load4_aligned(at, 4u),
        load4_aligned(at, 8u),
        load4_aligned(at, 12u),
    );
}

fn draw_of_words(a: vec4<u32>, b: vec4<u32>, c: vec4<u32>, d: vec4<u32>) -> Draw {
    return Draw(
        a.x, a.y, a.z, a.w,
        b.x, b.y, b.z, b.w,
        c.xy, c.z, c.w,
        d.x, d.y, d.z, d.w,
    );
}

fn bound_of_words(a: vec4<u32>, b: vec4<u32>, c: vec4<u32>, d: vec4<u32>) -> Bound {
    let attributes = array<AttributeDescriptor, 1>(AttributeDescriptor(a.xy, a.z, a.w));
    let xfb_address = array<vec2<u32>, 4>(b.zw, c.xy, c.zw, d.xy);
    return Bound(attributes, b.xy, xfb_address);
}

// Loads the draw from the sysvals in memory at address `at`. The linker inserts a call of this function if the
// push constants contain only that address.
fn use_draw_at(at: vec2<u32>) {
    draw = draw_at(at);
    first_bytes = vec4<u32>();
}

// Whether primitive restart is enabled for the draw. Always true in a pipeline that captures only single draws with
// primitive restart.
fn is_restarted() -> bool {
    return may_restart() && (!may_be_general() || (draw.flags & RESTART) != 0u);
}

fn is_last_vertex() -> u32 {
    return select(0u, 1u, (draw.flags & LAST_VERTEX) != 0u);
}

fn vertices_per_primitive(flags: u32) -> u32 {
    return flags >> VERTICES_PER_PRIMITIVE_SHIFT;
}

// The binary logarithm of the number of slices of a patch (patches.wgsl).
fn slice_bits(flags: u32) -> u32 {
    return (flags >> SLICE_SHIFT) & 7u;
}

fn xfb_address(buffer: u32) -> vec2<u32> {
    if is_batched() {
        return listed.xfb_address[buffer];
    }
    return sysvals.xfb_address[buffer];
}

// The address of a record of `stride` bytes in a buffer. The offset does not exceed 32 bits, because capture
// buffers end below 4 GiB.
fn record_address(buffer: u32, record: u32, stride: u32) -> vec2<u32> {
    return add_bytes(xfb_address(buffer), first_bytes[buffer] + record * stride);
}

fn xfb_is_bound(buffer: u32) -> bool {
    let address = xfb_address(buffer);
    return (address.x | address.y) != 0u;
}

// The address of the table, which contains the data for which the sysvals have no space: push constants and attribute
// descriptors.
fn table_address() -> vec2<u32> {
    if is_batched() {
        return listed.table;
    }
    return sysvals.table;
}

fn base_vertex() -> u32 {
    return draw.base_vertex;
}

fn base_instance() -> u32 {
    return draw.first_instance;
}

fn draw_index() -> u32 {
    return draw.draw_index;
}
