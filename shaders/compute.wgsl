// The compute backend: each invocation runs the vertex shader for one item, a vertex that contributes to the
// capture.
//
// All triangles of a fan share its first vertex, the hub; the other vertices are on the rim. A fan has two
// invocations per primitive: one for a rim vertex, and one that runs the shader for the hub again and stores the hub
// for the invocation's primitive only. So no invocation has to store to all primitives, and neighbouring invocations
// write neighbouring records. An unchecked capture has three invocations per two primitives: the hub's invocation
// stores the hub for both, so that like the invocation of a rim vertex it stores two records.
//
// With primitive restart every index is an item, and only this shader finds out which indices contribute to a
// primitive.
//
// This shader is specialised into several pipelines (src/runtime/pipelines/pipeline/compute.rs). Pipelines for one draw
// read the draw's parameters from push constants; there is one each without indices, with indices, and with primitive
// restart. An unchecked pipeline omits all bounds checks, because the CPU has checked that the vertex buffers contain
// all elements that the draw reads. The pipeline for listed draws captures several draws whose parameters the CPU wrote
// to memory. The fused pipeline (fused.wgsl) captures one small draw without kernels. Each branch that a specialised
// pipeline lacks saves compile time, registers, and time on devices that execute both sides of a branch.

// The vertex for which an invocation runs the vertex shader: a vertex of the draw, or the hub of a fan.
struct Work {
    // Whether the draw has this vertex and may write a record for it.
    exists: bool,
    segment: Segment,
    // The number of the item (a vertex that contributes to the capture) in the segment, or NONE if the vertex
    // contributes to no primitive. If `is_hub`, the item is the rim vertex with which the hub's primitive begins.
    item: u32,
    is_hub: bool,
}

// The number of a workgroup in a dispatch. A dispatch is folded into two axes if the number of its workgroups exceeds
// the limit of one axis (src/runtime/device/checks.rs).
fn workgroup_number(id: vec3<u32>, workgroups: vec3<u32>) -> u32 {
    if is_unchecked() {
        return id.x;
    }
    return id.y * workgroups.x + id.x;
}

// Loads the draw that a workgroup captures. Returns false if this function finds that the workgroup captures nothing,
// because the draw was discarded or the dispatch has more workgroups than the draw needs.
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
    // If the CPU computed where the records of the draws begin, the comparison is left out: hardly any workgroup of
    // the dispatch lacks work, so the comparison would cost more than it saves. A workgroup that lacks work finds out
    // later that its vertices do not exist.
    return !(may_be_general() || is_fused()) || first_invocation(workgroup) < draw.invocations;
}

// The number of a workgroup's first invocation, counted from the draw's first invocation.
fn first_invocation(workgroup: u32) -> u32 {
    // If a dispatch has only one draw, the draw begins at workgroup 0, and first_workgroup is not read.
    let may_share = may_be_general() || is_batched();
    return (workgroup - select(0u, draw.first_workgroup, may_share)) * workgroup_size();
}

// Returns the instance that an invocation belongs to, and the invocation's number in that instance. The product with
// the reciprocal replaces a division, for which most GPUs have no instruction, and which llvmpipe executes lane by
// lane. The product may be 1 less than the quotient. If so, the last line corrects both results.
fn instance_and_lane(index: u32, per_instance: u32) -> vec2<u32> {
    if is_unchecked() {
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

fn fan_invocations(items: u32) -> u32 {
    return items + select(items, (items + 1u) / 2u, is_unchecked());
}

// Finds out for which vertex an invocation runs the vertex shader, and sets the shader's inputs for it.
fn begin_work(workgroup: u32, local: u32) -> Work {
    var work = Work();
    let index = first_invocation(workgroup) + local;
    let is_fan = is_tri_fan();
    let per_instance = select(draw.item_count, fan_invocations(draw.item_count), is_fan);
    let place = instance_and_lane(index, per_instance);
    work.exists = (is_unchecked() | (place.x < draw.instance_count)) & (place.y < per_instance);
    // An invocation without a vertex uses the inputs of the first vertex, because memory beyond the vertices
    // of the draw may not be readable.
    let instance = select(0u, place.x, work.exists);
    let lane = select(0u, place.y, work.exists);

    var element = lane;
    if is_fan {
        // An unchecked capture has three invocations for each two primitives of a fan: one for a rim vertex, one for
        // the hub of both primitives, and one for the next rim vertex.
        element = select(lane / 2u, 2u * lane / 3u, is_unchecked());
        work.is_hub = select(lane % 2u == 1u, 2u * lane - 3u * element == 2u, is_unchecked());
    }
    var vertex = 0u;
    if is_restarted() {
        // The hub's index is the first index of the segment, and only place_of_index finds where the segment begins.
        // Pipelines that never have a hub therefore load the index before place_of_index, all others after it.
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
        // The restart index is not a vertex: an invocation for this index reads the attributes of vertex 0 instead.
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

// Runs the vertex shader. If the shader has side effects or subgroup operations, it must not run for an invocation
// without a vertex. Any other shader runs in all invocations, which saves the branch. shades_existing_only, a function
// whose body the linker generates, says which case applies.
fn shade_work(work: Work) {
    if work.exists | !shades_existing_only() {
        shade();
    }
}

// The numbers of the records, at most three, to which the outputs of the vertex are written. Unused components are
// NONE.
fn records_of(work: Work) -> vec3<u32> {
    let first = hub_record(work.item);
    let hub = vec3<u32>(first, select(NONE, first + 3u, is_unchecked()), NONE);
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
