// Decomposition: which vertices each primitive captures, and in which order. Here the mapping goes from vertices to
// records: for one vertex the functions compute, in O(1), the records that it is written to. src/topology.rs
// implements the same rules in Rust, and is tested against the tables of the specification.
//
// Items are the vertices that contribute to primitives, numbered consecutively. The hub of a fan (its first vertex,
// which all triangles share) is not an item. A record is an output vertex. The number of a record within its instance
// is primitive * vertices per primitive + the number of the vertex in the primitive.

const LIST: u32 = 0u;
const LINE_STRIP: u32 = 1u;
const TRI_STRIP: u32 = 2u;
const TRI_FAN: u32 = 3u;
const LINE_LIST_ADJ: u32 = 4u;
const LINE_STRIP_ADJ: u32 = 5u;
const TRI_LIST_ADJ: u32 = 6u;
const TRI_STRIP_ADJ: u32 = 7u;

// NONE stands for no item or no record. It is greater than or equal to every count.
const NONE: u32 = 0xffffffffu;

// The value of pipeline_topology() in a pipeline that supports all topologies.
const ANY_TOPOLOGY: u32 = 0xffffffffu;

// The topology of the draw: a constant if the pipeline has only one topology, otherwise a sysval.
fn draw_topology() -> u32 {
    return select(draw.xfb_topology, pipeline_topology(), pipeline_topology() != ANY_TOPOLOGY);
}

fn is_line_strip() -> bool { return draw_topology() == LINE_STRIP; }
fn is_tri_strip() -> bool { return draw_topology() == TRI_STRIP; }
fn is_tri_fan() -> bool { return draw_topology() == TRI_FAN; }
fn is_line_list_adj() -> bool { return draw_topology() == LINE_LIST_ADJ; }
fn is_line_strip_adj() -> bool { return draw_topology() == LINE_STRIP_ADJ; }
fn is_tri_list_adj() -> bool { return draw_topology() == TRI_LIST_ADJ; }
fn is_tri_strip_adj() -> bool { return draw_topology() == TRI_STRIP_ADJ; }

fn vertex_of_item(item: u32) -> u32 {
    if is_tri_fan() | is_line_strip_adj() {
        return item + 1u;
    }
    if is_tri_list_adj() | is_tri_strip_adj() {
        return item * 2u;
    }
    if is_line_list_adj() {
        return item / 2u * 4u + item % 2u + 1u;
    }
    return item;
}

fn item_of_vertex(vertex: u32) -> u32 {
    if is_tri_fan() | is_line_strip_adj() {
        return vertex - 1u;
    }
    if is_tri_list_adj() | is_tri_strip_adj() {
        return select(vertex / 2u, NONE, vertex % 2u == 1u);
    }
    if is_line_list_adj() {
        let place = vertex % 4u;
        return select(NONE, vertex / 4u * 2u + place - 1u, (place == 1u) | (place == 2u));
    }
    return vertex;
}

// The records of item `k`. Some of them may belong to primitives that do not exist, such as those after the last
// primitive. The numbers of such records are not below the segment's count, so is_captured drops these records. For a
// primitive before the first one, 3 * (0 - 1) wraps to such a number.
fn records_of_item(k: u32) -> vec3<u32> {
    if is_tri_strip() | is_tri_strip_adj() {
        return records_of_tri_strip(k);
    }
    if is_line_strip() | is_line_strip_adj() {
        return records_of_line_strip(k);
    }
    if is_tri_fan() {
        let record = 3u * k + is_last_vertex();
        return vec3<u32>(record, record - 2u, NONE);
    }
    return vec3<u32>(k, NONE, NONE);
}

// The records of vertex `k` of a triangle strip. Odd triangles write their vertices in the order 0 2 1, or 1
// 0 2 if the last vertex is the provoking one.
fn records_of_tri_strip(k: u32) -> vec3<u32> {
    let last = is_last_vertex();
    let odd = k & 1u;
    let slot0 = odd & last;
    let slot1 = select(1u, 2u - 2u * last, odd == 0u);
    let slot2 = 2u - (odd & (1u - last));
    return vec3<u32>(3u * k + slot0, 3u * (k - 1u) + slot1, 3u * (k - 2u) + slot2);
}

fn records_of_line_strip(k: u32) -> vec3<u32> {
    return vec3<u32>(2u * k, 2u * k - 1u, NONE);
}

// The largest number of records that one item is written to. In a pipeline for one topology this is a constant, so
// that the compiler removes the code for further records, which devices that execute both sides of a branch would
// otherwise execute.
fn most_records_of_item() -> u32 {
    if is_tri_strip() | is_tri_strip_adj() {
        return 3u;
    }
    return select(1u, 2u, is_line_strip() | is_line_strip_adj() | is_tri_fan());
}

// The number of the record of a fan's hub in the triangle whose first rim vertex is item `k`.
fn hub_record(k: u32) -> u32 {
    return 3u * k + select(2u, 0u, is_last_vertex() == 1u);
}

// A range of consecutive records that are decomposed together: the records of an instance, or with
// primitive restart the records between two restarts.
struct Segment {
    // The number of the segment's first record. Record 0 begins at `first_bytes` (sysvals.wgsl) in each capture buffer.
    first: u32,
    count: u32,
}

// The records of an instance. The products do not overflow, because the numbers of records are limited by the size of
// the capture buffers.
fn segment_of_instance(instance: u32) -> Segment {
    if is_unchecked() {
        return Segment(draw.base_record, output_limit());
    }
    return Segment(draw.base_record + instance * draw.output_count, draw.output_count);
}

// The largest number of records that the whole draw writes.
fn output_limit() -> u32 {
    return draw.output_end - draw.base_record;
}

// Whether a record is captured: it must belong to a primitive of the segment, and must not overflow the buffers. In an
// unchecked capture the first test is enough, because the CPU has clamped the record count of its only instance to
// what fits.
fn is_captured(segment: Segment, record: u32) -> bool {
    return (record < segment.count) & (is_unchecked() | (segment.first + record < draw.output_end));
}

// Translates the number of a record within its segment to the number that store_record takes. NONE if the record is not
// captured.
fn output_of(segment: Segment, record: u32) -> u32 {
    return select(NONE, segment.first + record, is_captured(segment, record));
}

fn emit(segment: Segment, record: u32) {
    if is_captured(segment, record) {
        store_record(segment.first + record);
    }
}

fn emit_all(segment: Segment, records: vec3<u32>) {
    // A pipeline for all topologies tests all three records: to skip some of them, it would have to keep the number of
    // records in a register across the first store. A record that the topology does not have is NONE, and NONE is never
    // captured.
    let most = select(most_records_of_item(), 3u, pipeline_topology() == ANY_TOPOLOGY);
    emit(segment, records.x);
    if most > 1u {
        emit(segment, records.y);
    }
    if most > 2u {
        emit(segment, records.z);
    }
}
