// The compute backend with staging: what a workgroup captures goes through shared memory, so that
// neighbouring invocations store neighbouring bytes, whole sectors of memory at a time.
//
// The invocations of a workgroup fill a run of records without gaps, but for primitives that they share with
// the workgroups beside: those records are stored directly, by whoever shades their vertex.

// The run of outputs whose primitives lie wholly within the workgroup.
var<workgroup> run_begin: u32;
var<workgroup> run_end: u32;

// Records of a segment, from which on an item and those behind it fill all.
fn records_from_item(item: u32) -> u32 {
    return item * records_per_item();
}

// Records of a segment that so many items, the first ones, fill wholly.
fn records_of_items(items: u32) -> u32 {
    var overlap = 0u; // items that a primitive shares with the next
    if is_tri_strip() | is_tri_strip_adj() {
        overlap = 2u;
    } else if is_line_strip() | is_line_strip_adj() | is_tri_fan() {
        overlap = 1u;
    }
    return (items - min(items, overlap)) * records_per_item();
}

fn records_per_item() -> u32 {
    if is_tri_strip() | is_tri_strip_adj() | is_tri_fan() {
        return 3u;
    }
    return select(1u, 2u, is_line_strip() | is_line_strip_adj());
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
    let is_staged = staged_units() > 1u || records_per_item() > 1u;
    if is_staged & (local == 0u) {
        let before = min(records_from_item(work.items_before), work.segment.count);
        run_begin = work.segment.first + before;
    }
    if is_staged & (local == workgroup_size() - 1u) {
        let through = min(records_of_items(work.items_through), work.segment.count);
        run_end = select(draw.output_limit, min(work.segment.first + through, draw.output_limit), work.in_draw);
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
    store_beyond(outputs.x, begin, end);
    if most_records_of_item() > 1u {
        store_beyond(outputs.y, begin, end);
    }
    if most_records_of_item() > 2u {
        store_beyond(outputs.z, begin, end);
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
