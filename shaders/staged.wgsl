// The compute backend with staging: a workgroup collects its vertices in shared memory, so that
// neighbouring invocations store neighbouring bytes, in whole sectors of memory.
//
// Each invocation stages its vertex once, and lists the records that it is written to. Then the
// workgroup copies all these records: neighbouring invocations copy neighbouring units of a record, and
// records of neighbouring vertices, which are near each other.

// The first record of the workgroup, where its invocations write consecutive records.
var<private> first_output: u32;

// The number of records that are listed for each vertex; in a fan for each two, a rim vertex and the hub
// next to it.
fn listed_per_vertex() -> u32 {
    return select(most_records_of_item(), 3u, is_tri_fan());
}

// The number of records that are listed for so many vertices, an even number of them in a fan.
fn listed_for(vertices: u32) -> u32 {
    return listed_per_vertex() * select(vertices, vertices / 2u, is_tri_fan());
}

// The vertex of a listed record.
fn vertex_of_listed(number: u32) -> u32 {
    if is_tri_fan() {
        let pair = number / 3u;
        return 2u * pair + ((number - 3u * pair) >> 1u);
    }
    let per_vertex = listed_per_vertex();
    return select(number >> (per_vertex >> 1u), number / 3u, per_vertex == 3u);
}

// Whether the invocations write one record each, one after the other, so that nothing has to be listed.
fn is_consecutive() -> bool {
    return listed_per_vertex() == 1u && !(may_be_general() && may_restart() && (draw.flags & RESTART) != 0u);
}

// The number of a listed record, or NONE.
fn listed_record(number: u32) -> u32 {
    if is_consecutive() {
        let output = first_output + number;
        return select(NONE, output, output < draw.output_end);
    }
    return listed_output(number);
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
    shade();
    if is_fused() || is_plain() {
        // These captures are small: their shader compiles faster without staging.
        if work.exists {
            emit_all(work.segment, records_of(work));
        }
        return;
    }
    if staged_units() == 1u && listed_per_vertex() == 1u {
        // Contiguous in the buffer without staging.
        if work.exists {
            emit(work.segment, records_of(work).x);
        }
        return;
    }
    first_output = draw.base_record + first_invocation(workgroup);
    if !is_consecutive() {
        list_records(work, local);
    }
    for (var first = 0u; first < workgroup_size(); first += staged_vertices()) {
        if first != 0u {
            workgroupBarrier();
        }
        if local - first < staged_vertices() {
            stage_record(local - first);
        }
        workgroupBarrier();
        let count = listed_for(min(staged_vertices(), workgroup_size() - first));
        for (var unit = local; unit < count * staged_units(); unit += workgroup_size()) {
            store_staged(listed_for(first), count, unit);
        }
    }
}

fn list_records(work: Work, local: u32) {
    let records = records_of(work);
    var number = listed_per_vertex() * local;
    // Beyond the draw, too: a workgroup has an even number of invocations.
    let is_hub = is_tri_fan() & (local % 2u == 1u);
    if is_tri_fan() {
        // The hub has one record, after the two of the rim vertex.
        number = 3u * (local / 2u) + select(0u, 2u, is_hub);
    }
    list_record(work, number, records.x);
    if most_records_of_item() > 1u && !is_hub {
        list_record(work, number + 1u, records.y);
    }
    if most_records_of_item() > 2u {
        list_record(work, number + 2u, records.z);
    }
}

fn list_record(work: Work, number: u32, record: u32) {
    list_output(number, select(NONE, output_of(work.segment, record), work.exists));
}
