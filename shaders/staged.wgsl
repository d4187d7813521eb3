// The compute backend with staging: what a workgroup captures goes through shared memory, so that
// neighbouring invocations store neighbouring bytes, whole sectors of memory at a time.
//
// The invocations of a workgroup fill a run of records without gaps, but for primitives that they share with
// the workgroups beside: those records are stored directly, by whoever shades their vertex.

// Numbers of the first such record within the draw, and of the one behind the last.
var<workgroup> run_begin: u32;
var<workgroup> run_end: u32;

// Records from the first one of the primitive that begins at an item to that of the next item's. The items of
// lists are records themselves.
fn records_per_step() -> u32 {
    if is_tri_strip() | is_tri_strip_adj() | is_tri_fan() {
        return 3u;
    }
    return select(1u, 2u, is_line_strip() | is_line_strip_adj());
}

// The first record of the first primitive that begins at this item or behind it. Beyond the limit, which is
// at most 2^30 records, no number matters, and none wraps.
fn run_from(work: Work) -> u32 {
    let limit = draw.output_limit;
    let records = min(min(work.items_before, limit) * records_per_step(), work.segment.count);
    return min(min(work.segment.first, limit) + records, limit);
}

// Behind the last record of the last primitive that ends at this item or before it.
fn run_through(work: Work) -> u32 {
    let limit = draw.output_limit;
    if !work.in_draw {
        return limit;
    }
    // What a segment has beyond one item a primitive belongs to its last one.
    let overlap = item_count(draw_topology(), 0u, 0u);
    let primitives = max(min(work.items_through, limit + overlap), overlap) - overlap;
    let records = min(primitives * records_per_step(), work.segment.count);
    return min(min(work.segment.first, limit) + records, limit);
}

@compute @workgroup_size(64)
fn xfb_compute_staged(
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let workgroup = workgroup_id.y * workgroups.x + workgroup_id.x;
    let work = begin_work(workgroup, local);
    if work.is_idle {
        return;
    }
    // Lists of one unit a record are stored without gaps as they are.
    let is_staged = staged_units() > 1u || records_per_step() > 1u;
    if is_staged & (local == 0u) {
        run_begin = run_from(work);
    }
    if is_staged & (local == workgroup_size() - 1u) {
        run_end = run_through(work);
    }
    shade();
    var begin = 0u;
    var end = 0u;
    if is_staged {
        workgroupBarrier();
        begin = run_begin;
        end = run_end;
    }

    var outputs = vec3<u32>(NONE);
    if work.exists {
        let records = records_of(work);
        outputs.x = output_of(work.segment, records.x);
        outputs.y = output_of(work.segment, records.y);
        outputs.z = output_of(work.segment, records.z);
    }
    // A loop, as it is seldom that one is stored, and its code is long.
    for (var i = 0u; i < most_records_of_item(); i++) {
        store_beyond(select(select(outputs.z, outputs.y, i == 1u), outputs.x, i == 0u), begin, end);
    }

    for (var first = begin; first < end; first += staged_records()) {
        if first != begin {
            workgroupBarrier();
        }
        let count = min(staged_records(), end - first);
        stage_within(outputs.x, first, count);
        if most_records_of_item() > 1u {
            stage_within(outputs.y, first, count);
        }
        if most_records_of_item() > 2u {
            stage_within(outputs.z, first, count);
        }
        workgroupBarrier();
        for (var unit = local; unit < count * staged_units(); unit += workgroup_size()) {
            store_staged(draw.base_record + first, count, unit);
        }
    }
}

fn store_beyond(output: u32, begin: u32, end: u32) {
    if (output != NONE) & ((output < begin) | (output >= end)) {
        store_record(draw.base_record + output);
    }
}

fn stage_within(output: u32, first: u32, count: u32) {
    if output - first < count {
        stage_record(output - first);
    }
}
