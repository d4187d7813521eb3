// The resume kernel: for captures that resume from counters. The CPU knows how many primitives the draws have, but not
// where in the buffers the capture begins. It therefore numbers the records of all draws from 0, and this kernel
// computes where record 0 begins, and the number of the first record that does not fit. That number is the limit for
// every draw, because all draws have the same number of vertices per primitive.

struct Resume {
    // `known` is the address of an array of `Batch` that the CPU wrote, `batches` the address to which the
    // kernel writes the completed array. Both arrays have `count` elements, one for each dispatch.
    known: vec2<u32>,
    batches: vec2<u32>,
    count: u32,
    // The number of vertices per primitive.
    vertices: u32,
    // The primitives needed, of all draws together: 64 bits, low dword first.
    needed: vec2<u32>,
    // The addresses of the queries that the kernel adds to, or 0 for no query.
    stream_query: vec2<u32>,
    generated_query: vec2<u32>,
    progress: Progress,
}

// The offset of `progress` in the parameters, in bytes.
const RESUME_PROGRESS: u32 = 48u;
// The size of a `Batch` in bytes.
const KNOWN_BATCH_SIZE: u32 = 32u;
const RESUME_WIDTH: u32 = 32u;

@compute @workgroup_size(RESUME_WIDTH)
fn xfb_resume(@builtin(local_invocation_index) local: u32) {
    let at = kernel.parameters;
    let a = load4_aligned(at, 0u);
    let b = load4_aligned(at, 4u);
    let queries = load4_aligned(at, 8u);
    let progress = load_progress(add_bytes(at, RESUME_PROGRESS));
    let positions = start_positions(progress, kernel.parameters);
    let written = min(saturated(b.zw), room_at(progress, positions) / b.y);
    // All invocations have to read the counters before one invocation overwrites them.
    storageBarrier();
    for (var i = local; i < b.x; i += RESUME_WIDTH) {
        let head = load4_aligned(multiply_add(a.xy, i, KNOWN_BATCH_SIZE), 0u);
        let batch = multiply_add(a.zw, i, KNOWN_BATCH_SIZE);
        store4_aligned(batch, 0u, vec4<u32>(head.xyz, written * b.y));
        store4_aligned(batch, 4u, positions);
    }
    if local == 0u {
        store_positions(progress, positions, written * b.y);
        add_to_query(queries.xy, vec4<u32>(written, 0u, b.zw), a.zw);
        add_to_query(queries.zw, vec4<u32>(b.zw, 0u, 0u), a.zw);
    }
}
