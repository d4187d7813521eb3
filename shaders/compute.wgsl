// The compute backend: one invocation shades one vertex that contributes.
//
// A fan has two invocations a primitive: one for the rim vertex, one that shades the hub again and
// stores it for that primitive alone, so that no invocation has to serve all primitives. The two are
// neighbours, and so are the records that they write.
//
// With primitive restart every index is an item: which of them contribute shows only here.

@compute @workgroup_size(64)
fn xfb_compute(
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let workgroup = workgroup_id.y * workgroups.x + workgroup_id.x;
    if (sysvals.batch.x | sysvals.batch.y) == 0u {
        use_pushed_draw();
    } else {
        use_draw_of(workgroup);
    }
    let index = (workgroup - draw.first_workgroup) * workgroup_size() + local;

    let is_fan = is_tri_fan();
    let per_instance = select(draw.item_count, 2u * draw.item_count, is_fan);
    var instance = 0u;
    var lane = index;
    if draw.instance_count > 1u {
        instance = index / per_instance;
        lane = index - instance * per_instance;
    }
    var exists = (instance < draw.instance_count) & (lane < per_instance);
    // The shader always runs, and on a vertex that exists: subgroup operations and barriers in it stay
    // uniform, and nothing is read that the draw does not read.
    instance = select(0u, instance, exists);
    lane = select(0u, lane, exists);

    let is_hub = is_fan & (lane % 2u == 1u);
    var item = select(lane, lane / 2u, is_fan);
    var segment = segment_of_instance(instance);
    var vertex = 0u;
    if may_restart() && (draw.flags & RESTART) != 0u {
        let place = place_of_index(item);
        segment = Segment(segment.first + place.first_record, place.record_count);
        // What restarts is no index of a vertex.
        vertex = select(0u, index_of_element(select(item, place.start, is_hub)), place.exists);
        item = item_of_vertex(place.vertex);
        exists &= place.exists & (item != NONE);
    } else {
        vertex = index_of_element(select(vertex_of_item(item), 0u, is_hub));
    }
    set_inputs(draw.base_vertex + vertex, draw.first_instance + instance);
    shade();

    if exists {
        emit_all(segment, select(records_of_item(item), vec3<u32>(3u * item + hub_slot(), NONE, NONE), is_hub));
    }
}
