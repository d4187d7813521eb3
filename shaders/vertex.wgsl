// The vertex backend: the application's vertex shader itself stores its outputs. A device may run it more
// than once for a vertex, and for vertices that do not exist. Therefore the stores may be repeated without
// harm, and only happen for vertices that exist.

fn xfb_vertex(vertex_index: u32, instance_index: u32) {
    use_pushed_draw();
    let vertex = vertex_index - draw.base_vertex;
    let instance = instance_index - draw.first_instance;
    if instance < draw.instance_count {
        let segment = segment_of_instance(instance);
        let item = item_of_vertex(vertex);
        if item < draw.item_count {
            emit_all(segment, records_of_item(item));
        }
        if is_tri_fan() & (vertex == 0u) {
            for (var record = hub_record(0u); record < draw.output_count; record += 3u) {
                emit(segment, record);
            }
        }
    }
}
