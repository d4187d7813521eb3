// The compute backend: one invocation shades one vertex that contributes.
//
// A fan has two invocations a primitive: one for the rim vertex, one that shades the hub again and
// stores it for that primitive alone, so that no invocation has to serve all primitives. The two are
// neighbours, and so are the records that they write.

@compute @workgroup_size(64)
fn xfb_compute(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = (workgroup.y * workgroups.x + workgroup.x) * workgroup_size() + local;

    let is_fan = is_tri_fan();
    let per_instance = select(sysvals.item_count, 2u * sysvals.item_count, is_fan);
    var instance = 0u;
    var lane = index;
    if sysvals.instance_count > 1u {
        instance = index / per_instance;
        lane = index - instance * per_instance;
    }
    let exists = (instance < sysvals.instance_count) & (lane < per_instance);
    // The shader always runs, and on a vertex that exists: subgroup operations and barriers in it stay
    // uniform, and nothing is read that the draw does not read.
    instance = select(0u, instance, exists);
    lane = select(0u, lane, exists);

    let is_hub = is_fan & (lane % 2u == 1u);
    let item = select(lane, lane / 2u, is_fan);
    let vertex = select(vertex_of_item(item), 0u, is_hub);
    set_inputs(sysvals.first_vertex + vertex, sysvals.first_instance + instance);
    shade();

    if exists {
        emit_all(instance, select(records_of_item(item), vec3<u32>(3u * item + hub_slot(), NONE, NONE), is_hub));
    }
}
