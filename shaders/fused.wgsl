// A fused capture: one small draw whose workgroups also do the work of kernels, which saves the dispatches of kernels
// and the barriers between them and the capture. Each workgroup places the draw for itself (placing.wgsl, as setup.wgsl
// does). One workgroup writes counters and adds to queries (as finish.wgsl does).

// The parameters of a fused capture, at fused_address().
struct Fused {
    progress: Progress,
    // The addresses of the queries that the capture adds to, or 0 for no query.
    stream_query: vec2<u32>,
    generated_query: vec2<u32>,
    // The number of workgroups that have arrived, and the number that must arrive, see is_writer.
    arrived: u32,
    expected: u32,
    reserved: vec2<u32>,
}

const FUSED_QUERIES: u32 = 128u;
const FUSED_ARRIVED: u32 = 144u;
const FUSED_EXPECTED: u32 = 148u;

// Loads the draw from the push constants, and places it. In the push constants its counts are not clamped: `item_count`
// is the number of vertices or indices, and `instance_count` the number of instances of the draw command.
fn use_fused_draw(workgroup: u32, local: u32) {
    use_pushed_draw();
    let progress = load_progress(fused_address());
    let queries = load4(add_bytes(fused_address(), FUSED_QUERIES));
    let positions = start_positions(progress, fused_address());
    // In a pipeline for one topology draw_topology() is a constant, so that the compiler removes the code for the other
    // topologies.
    draw.xfb_topology = draw_topology();
    let vertices = vertices_per_primitive(draw.flags);
    let primitives = primitive_count(draw.xfb_topology, vertices, draw.item_count);
    var placed = needed_by(primitives, draw.flags, draw.instance_count);
    placed.written = fitting(placed, room_at(progress, positions));
    draw = with_invocations(clamped(draw, placed), placed);
    draw.reciprocal = reciprocal_of(draw, invocations_per_item(draw));
    first_bytes = positions;

    // All invocations of the workgroup have to read the counters before one invocation overwrites them.
    memory_barrier();
    if local == 0u {
        if is_writer(workgroup) {
            store_positions(progress, positions, output_limit());
            add_to_query(queries.xy, vec4<u32>(placed.written, 0u, placed.needed), fused_address());
            add_to_query(queries.zw, vec4<u32>(placed.needed, 0u, 0u), fused_address());
        }
    }
}

// Whether this workgroup writes the counters and queries. If a capture with several workgroups both reads and writes
// counters, that is the last workgroup to arrive here, because all others have read the counters by then; `expected` is
// the number of workgroups. No workgroup waits for another one, so the device need not run them at the same time. In
// other captures `expected` is 0, and workgroup 0 writes.
fn is_writer(workgroup: u32) -> bool {
    let expected = load1(fused_address(), FUSED_EXPECTED / 4u);
    if expected == 0u {
        return workgroup == 0u;
    }
    let arrived = add_bytes(fused_address(), FUSED_ARRIVED);
    if arrive(arrived) + 1u != expected {
        return false;
    }
    // The next execution of the command buffer has to count the workgroups from 0 again.
    store1(arrived, 0u, 0u);
    return true;
}
