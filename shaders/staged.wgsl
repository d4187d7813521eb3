// The compute backend with staging: a workgroup collects its records in shared memory, so that
// neighbouring invocations store neighbouring bytes, in whole sectors of memory.
//
// The invocations of a workgroup write a contiguous run of records, except for primitives that they
// share with neighbouring workgroups: each invocation stores those records directly.

// The number of the run's first record, and the number after its last record. Like all outputs they
// are counted like draw.base_record.
var<workgroup> run_begin: u32;
var<workgroup> run_end: u32;

// The number of records from the first record of the primitive that begins at an item to the first
// record of the primitive that begins at the next item. In lists each item is one record.
fn records_per_step() -> u32 {
    if is_tri_strip() | is_tri_strip_adj() | is_tri_fan() {
        return 3u;
    }
    return select(1u, 2u, is_line_strip() | is_line_strip_adj());
}

// The first record of the first primitive that begins at this item or a later one. Numbers are
// clamped to the limit, which is at most 2^30 records, so that nothing overflows.
fn run_from(work: Work) -> u32 {
    let limit = output_limit();
    let records = min(min(work.items_before, limit) * records_per_step(), work.segment.count);
    return min(min(work.segment.first, draw.output_end) + records, draw.output_end);
}

// The number after the last record of the last primitive that ends at this item or an earlier one.
fn run_through(work: Work) -> u32 {
    let limit = output_limit();
    if !work.in_draw {
        return draw.output_end;
    }
    // A segment has more items than primitives. The additional items belong to the last primitive.
    let overlap = item_count(draw_topology(), 0u, 0u);
    let primitives = max(min(work.items_through, limit + overlap), overlap) - overlap;
    let records = min(primitives * records_per_step(), work.segment.count);
    return min(min(work.segment.first, draw.output_end) + records, draw.output_end);
}

@compute @workgroup_size(64)
fn xfb_compute_staged(
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let workgroup = workgroup_number(workgroup_id, workgroups);
    if !begin_draw(workgroup, local) {
        return;
    }
    let work = begin_work(workgroup, local);
    // Lists with one unit per record are contiguous in the buffer without staging. Fused and plain
    // captures are small: their shader compiles faster without it.
    let is_staged = !is_fused() && !is_plain() && (staged_units() > 1u || records_per_step() > 1u);
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
    // A loop, because these stores are rare and their code is long.
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
            store_staged(first, count, unit);
        }
    }
}

fn store_beyond(output: u32, begin: u32, end: u32) {
    if (output != NONE) & ((output < begin) | (output >= end)) {
        store_record(output);
    }
}

fn stage_within(output: u32, first: u32, count: u32) {
    if output - first < count {
        stage_record(output - first);
    }
}
