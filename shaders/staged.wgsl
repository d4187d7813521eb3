// The compute backend with staging: a workgroup collects its vertices in shared memory, so that neighbouring
// invocations store neighbouring bytes, and the device writes whole sectors of memory.
//
// Each invocation writes the outputs of its vertex to shared memory once, and lists the records that the vertex is
// written to. Then the workgroup copies all these records to the capture buffers. An invocation copies one unit (one,
// two or four dwords of a record) at a time: neighbouring invocations copy neighbouring units of a record, and then of
// the next record in the list.

// The number of the workgroup's first record, if its invocations write consecutive records.
var<private> first_output: u32;

// How many places in the list of records each staged vertex has, if a vertex shader is captured: the largest number of
// records that one vertex is written to, or LIST_FAN. The caller computes this value once and passes it on, because in
// pipelines for all topologies it depends on the draw.
fn listing() -> u32 {
    return select(most_records_of_item(), LIST_FAN, is_tri_fan());
}

// The value of `listing` for a fan. Each two staged vertices have three records: two of a rim vertex, and one of the
// hub, the vertex that all triangles share (compute.wgsl).
const LIST_FAN: u32 = 4u;

// The value of `listing` for a geometry shader, see emitted.wgsl.
const LIST_EMITTED: u32 = 0u;

// The number of records that are listed for `vertices` staged vertices of a vertex shader. In a fan `vertices` is even.
fn listed_for(vertices: u32, listing: u32) -> u32 {
    return min(listing, 3u) * (vertices >> (listing >> 2u));
}

// The number of the staged vertex whose outputs are the record at element `number` of the list.
fn vertex_of_listed(number: u32, listing: u32) -> u32 {
    if listing == LIST_EMITTED {
        return listed_output(number);
    }
    let is_fan = listing >> 2u;
    let third = number / 3u;
    let by_thirds = (third << is_fan) + (((number - 3u * third) >> 1u) & is_fan);
    return select(number >> (listing >> 1u), by_thirds, listing > 2u);
}

// Whether each invocation writes one record, and all these records are consecutive. In this case no list is needed.
fn is_consecutive(listing: u32) -> bool {
    return listing == 1u && !is_restarted();
}

// Whether the dispatch is for a single indexed draw that is larger than the caches. Captures of such a draw wait for
// memory, and the barriers of staging make them wait longer: an NVIDIA H200 captures a grid of 16 Mi indices, 32 bytes
// per record, at 0.96 of the speed of a copy, but with staging at 0.90. A grid of 256 Ki indices is faster with
// staging.
fn is_beyond_caches() -> bool {
    let is_single = !may_be_general() && !is_batched() && !may_restart();
    return may_be_indexed() && is_single && draw.item_count > CACHED_ITEMS;
}

// The number of items beyond which a draw with records of 32 bytes is taken to exceed the caches: 64 MiB of records,
// and the items' vertex attributes and indices.
const CACHED_ITEMS: u32 = 0x200000u;

// The record at element `number` of the list, by the number that store_record takes. NONE if it is not captured.
fn listed_record(number: u32, listing: u32) -> u32 {
    if listing == LIST_EMITTED {
        return record_of_emitted(number);
    }
    if is_consecutive(listing) {
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
    shade_work(work);
    if is_fused() || is_unchecked() {
        // In pipelines that stage, all fused and unchecked captures are small (large draws are checked). Staging would
        // save little, and the shader compiles faster without it.
        if work.exists {
            emit_all(work.segment, records_of(work));
        }
        return;
    }
    let listing = listing();
    // If records consist of one unit, neighbouring invocations store neighbouring bytes even without staging. If they
    // consist of two units, a draw that is beyond the caches is captured faster without staging.
    if listing == 1u && (staged_units() == 1u || (staged_units() == 2u && is_beyond_caches())) {
        if work.exists {
            emit(work.segment, records_of(work).x);
        }
        return;
    }
    first_output = draw.base_record + first_invocation(workgroup);
    if !is_consecutive(listing) {
        list_records(work, local, listing);
    }
    for (var first = 0u; first < workgroup_size(); first += staged_vertices()) {
        if first != 0u {
            workgroupBarrier();
        }
        if local - first < staged_vertices() {
            stage_record(local - first);
        }
        workgroupBarrier();
        let count = listed_for(min(staged_vertices(), workgroup_size() - first), listing);
        for (var unit = local; unit < count * staged_units(); unit += workgroup_size()) {
            store_staged(listed_for(first, listing), count, unit, listing);
        }
    }
}

// Lists the records that the invocation's vertex is written to, each by its number or NONE.
fn list_records(work: Work, local: u32, listing: u32) {
    let records = records_of(work);
    // In a fan, every second invocation runs the vertex shader for the hub. A workgroup has an even number of
    // invocations, so there is one for the hub also beyond the end of the draw.
    let is_hub = (listing == LIST_FAN) & (local % 2u == 1u);
    let number = select(listing * local, 3u * (local / 2u) + select(0u, 2u, is_hub), listing == LIST_FAN);
    list_record(work, number, records.x);
    if listing > 1u && !is_hub {
        list_record(work, number + 1u, records.y);
    }
    if listing == 3u {
        list_record(work, number + 2u, records.z);
    }
}

fn list_record(work: Work, number: u32, record: u32) {
    list_output(number, select(NONE, output_of(work.segment, record), work.exists));
}
