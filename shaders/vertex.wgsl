// The vertex backend: the vertex shader stores what it has just computed. It may run more than once for
// a vertex, and for vertices that do not exist: the stores are idempotent, and all are predicated.

fn xfb_vertex(vertex_index: u32, instance_index: u32) {
    let vertex = vertex_index - sysvals.first_vertex;
    let instance = instance_index - sysvals.first_instance;
    if instance < sysvals.instance_count {
        let item = item_of_vertex(vertex);
        if item < sysvals.item_count {
            emit_all(instance, records_of_item(item));
        }
        if is_tri_fan() & (vertex == 0u) {
            for (var record = hub_slot(); record < sysvals.xfb_output_count; record += 3u) {
                emit(instance, record);
            }
        }
    }
}
