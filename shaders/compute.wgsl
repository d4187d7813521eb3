// The compute backend: one invocation shades one vertex that contributes.
//
// A fan has two invocations per primitive: one for the rim vertex, and one that shades the hub
// again and stores it for this primitive only, so that no invocation has to store to all
// primitives. The two are neighbours, and so are the records that they write. In plain captures
// there are three for two primitives: the hub's invocation stores it for both, and like that of a
// rim vertex it stores two records, so that none waits for its neighbours.
//
// With primitive restart every index is an item, and only this shader finds out which of them
// contribute.
//
// There are several pipelines of this shader (src/runtime/pipeline/key.rs). Some take one draw, from push constants: with
// or without indices, or with primitive restart; the plain one of them does what is left if nothing can
// go wrong: the CPU has checked that all elements exist. One takes draws that the CPU lists. The fused
// one (fused.wgsl) takes one small draw without kernels. The code that pipelines remove costs time in
// compilers, registers on all devices, and time on devices that execute both sides of a branch.

// What an invocation shades.
struct Work {
    // Whether there is such a vertex in the draw, of which a record may be stored.
    exists: bool,
    segment: Segment,
    // The number of the item in the segment, or NONE. The hub's invocation of a fan has the item of
    // the rim vertex next to it.
    item: u32,
    // Whether an invocation of its own shades the hub.
    is_hub: bool,
}

// The number of a workgroup in a dispatch, which may be folded into two axes.
fn workgroup_number(id: vec3<u32>, workgroups: vec3<u32>) -> u32 {
    if is_plain() {
        return id.x;
    }
    return id.y * workgroups.x + id.x;
}

// Uses the draw that a workgroup captures. Returns false if there is nothing to do for it, because the
// draw was culled or the dispatch is larger than needed.
fn begin_draw(workgroup: u32, local: u32) -> bool {
    if is_fused() {
        use_fused_draw(workgroup, local);
    } else if is_batched() {
        if shares_draws() {
            use_listed_draw_together(workgroup, local);
        } else {
            use_listed_draw(workgroup);
        }
    } else if may_be_general() && shares_draws() {
        use_draw_together(workgroup, local);
    } else if may_be_general() && has_batch() {
        use_draw_of(workgroup);
    } else if may_restart() && !may_be_general() {
        use_known_restarts();
    } else {
        use_pushed_draw();
    }
    // Where the CPU places the draws, a dispatch has hardly more workgroups than they need.
    return !(may_be_general() || is_fused()) || first_invocation(workgroup) < draw.invocations;
}

// The number that the first invocation of a workgroup has in the draw.
fn first_invocation(workgroup: u32) -> u32 {
    // A draw that does not share its dispatch has the first workgroup.
    let may_share = may_be_general() || is_batched();
    return (workgroup - select(0u, draw.first_workgroup, may_share)) * workgroup_size();
}

// The instance that an invocation belongs to, and its number in the instance. The reciprocal makes
// a quotient that is at most 1 too small: most GPUs have no division, and llvmpipe executes it
// separately for each lane.
fn instance_and_lane(index: u32, per_instance: u32) -> vec2<u32> {
    if is_plain() {
        return vec2<u32>(0u, index);
    }
    if !uniformly(draw.instance_count > 1u) {
        return vec2<u32>(0u, index);
    }
    let instance = product(index, draw.reciprocal).y;
    let lane = index - instance * per_instance;
    let is_next = lane >= per_instance;
    return vec2<u32>(instance + select(0u, 1u, is_next), lane - select(0u, per_instance, is_next));
}

// The invocations of a fan's instance.
fn fan_invocations(items: u32) -> u32 {
    return items + select(items, (items + 1u) / 2u, is_plain());
}

// Finds out what an invocation shades, and sets the shader's inputs for it.
fn begin_work(workgroup: u32, local: u32) -> Work {
    var work = Work();
    let index = first_invocation(workgroup) + local;
    let is_fan = is_tri_fan();
    let per_instance = select(draw.item_count, fan_invocations(draw.item_count), is_fan);
    let place = instance_and_lane(index, per_instance);
    work.exists = (is_plain() | (place.x < draw.instance_count)) & (place.y < per_instance);
    // Without a vertex of its own an invocation has the inputs of the first one, so that nothing is read
    // that the draw would not read.
    let instance = select(0u, place.x, work.exists);
    let lane = select(0u, place.y, work.exists);

    var element = lane;
    if is_fan {
        // In plain captures a rim vertex, the hub, and the next rim vertex.
        element = select(lane / 2u, 2u * lane / 3u, is_plain());
        work.is_hub = select(lane % 2u == 1u, 2u * lane - 3u * element == 2u, is_plain());
    }
    var vertex = 0u;
    if is_restarted() {
        // Only the hub of a fan has the index of another element, which the place tells.
        let may_have_hub = pipeline_topology() == ANY_TOPOLOGY || pipeline_topology() == TRI_FAN;
        if !may_have_hub {
            vertex = index_of_element(element);
        }
        work.segment = segment_of_instance(instance);
        let place = place_of_index(element);
        work.segment = Segment(work.segment.first + place.first_record, place.record_count);
        if may_have_hub {
            vertex = index_of_element(select(element, place.start, work.is_hub));
        }
        // A restart is not the index of a vertex.
        vertex = select(0u, vertex, place.exists);
        work.item = item_of_vertex(place.vertex);
        work.exists &= place.exists & (work.item <= output_limit() + 2u);
    } else {
        work.segment = segment_of_instance(instance);
        vertex = index_of_element(select(vertex_of_item(element), 0u, work.is_hub));
        work.item = element;
    }
    set_inputs(draw.base_vertex + vertex, draw.first_instance + instance);
    return work;
}

// Runs the shader. One that has side effects or subgroup operations only runs where there is a vertex. Any
// other runs everywhere, without a branch. Which it is, is known when the shader is lowered.
fn shade_work(work: Work) {
    if work.exists | !shades_existing_only() {
        shade();
    }
}

// The records of the shaded vertex.
fn records_of(work: Work) -> vec3<u32> {
    let first = hub_record(work.item);
    let hub = vec3<u32>(first, select(NONE, first + 3u, is_plain()), NONE);
    return select(records_of_item(work.item), hub, work.is_hub);
}

@compute @workgroup_size(64)
fn xfb_compute(
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
    if work.exists {
        emit_all(work.segment, records_of(work));
    }
}
