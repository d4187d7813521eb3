// A fused capture: one draw of few workgroups, which also do what kernels do for other captures. Each
// finds out where the draw is captured and how much of it fits (placing.wgsl, as setup.wgsl does), and
// one of them writes counters and query results (as finish.wgsl does).

// The parameters, at fused_address().
struct Fused {
    progress: Progress,
    // The addresses of the queries that count, or 0.
    stream_query: vec2<u32>,
    generated_query: vec2<u32>,
    // See is_writer.
    arrived: u32,
    expected: u32,
    reserved: vec2<u32>,
}

const FUSED_QUERIES: u32 = 128u;
const FUSED_ARRIVED: u32 = 144u;
const FUSED_EXPECTED: u32 = 148u;

// Uses the draw in the push constants. It is not clamped yet: `item_count` is its number of
// vertices or indices, and `instance_count` that of all instances.
fn use_fused_draw(workgroup: u32, local: u32) {
    use_pushed_draw();
    let progress = load_progress(fused_address());
    let queries = load4(add_bytes(fused_address(), FUSED_QUERIES));
    let positions = start_positions(progress, fused_address());
    // A constant in a pipeline with one topology.
    draw.xfb_topology = draw_topology();
    let vertices = vertices_per_primitive(draw.flags);
    let primitives = primitive_count(draw.xfb_topology, vertices, draw.item_count);
    var placed = needed_by(primitives, draw.flags, draw.instance_count);
    placed.written = fitting(placed, room_at(progress, positions));
    draw = with_invocations(clamped(draw, placed), placed);
    first_bytes = positions;

    // Every invocation of the workgroup reads the counters before one of them writes counters.
    memory_barrier();
    if local == 0u {
        if is_writer(workgroup) {
            store_positions(progress, positions, output_limit());
            count_for_query(queries.xy, vec4<u32>(placed.written, 0u, placed.needed));
            count_for_query(queries.zw, vec4<u32>(placed.needed, 0u, 0u));
        }
    }
}

// Whether this workgroup writes counters. Where a capture of several workgroups begins with counters
// and ends with counters, which may be the same, that is the last one to come here: `expected` is
// their number, and those that came before have read the counters. Nobody waits, so workgroups need
// not run at the same time. Otherwise `expected` is 0, and it is the first workgroup.
fn is_writer(workgroup: u32) -> bool {
    let expected = load1(add_bytes(fused_address(), FUSED_EXPECTED));
    if expected == 0u {
        return workgroup == 0u;
    }
    let arrived = add_bytes(fused_address(), FUSED_ARRIVED);
    if arrive(arrived) + 1u != expected {
        return false;
    }
    // For the next execution of the command buffer.
    store1(arrived, 0u, 0u);
    return true;
}

// The same as add_to_query, for a single invocation.
fn count_for_query(query: vec2<u32>, counted: vec4<u32>) {
    let at = address_or(query, fused_address());
    if is_address(query) {
        store4(query, 0u, add_pairs(load4_written(at), counted));
    }
}
