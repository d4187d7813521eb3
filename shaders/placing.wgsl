// Computes where in the capture buffers the records of draws begin, and how many of their primitives fit.
// src/counts.rs implements the same in Rust.

// The parameters for placing draws: where the capture begins in its buffers, where the buffers end, and to which
// addresses the position after the capture is written.
struct Progress {
    // `earlier_positions` is the address of the positions that an earlier kernel of the same capture wrote to its
    // `later_positions`; `later_positions` is the address to write the positions after the draws to. Each may be 0.
    earlier_positions: vec2<u32>,
    later_positions: vec2<u32>,
    // For each buffer, in bytes: the position to begin at if there is neither `earlier_positions` nor a counter; the
    // size of the bound range; and the size of a record, or 0 if nothing is captured to the buffer. Then the address of
    // the counter to begin with, and the address of the counter to write at the end, each or 0. For a stream whose
    // buffers are not bound, the first size is 0 and the first stride 4, so that nothing fits.
    positions: vec4<u32>,
    sizes: vec4<u32>,
    strides: vec4<u32>,
    counters: array<vec2<u32>, 4>,
    new_counters: array<vec2<u32>, 4>,
}

// How many primitives a draw has, and where its records begin.
struct DrawPlacement {
    // The number of primitives of one instance.
    primitives: u32,
    vertices: u32, // vertices per primitive
    // As the transform feedback stream query counts them: the primitives needed, which are those of all instances (64
    // bits), and the primitives written, which are those that fit (32 bits).
    needed: vec2<u32>,
    written: u32,
    base_record: u32,
}

fn load_progress(at: vec2<u32>) -> Progress {
    let a = load4_aligned(at, 0u);
    let b = load4_aligned(at, 4u);
    let c = load4_aligned(at, 8u);
    let d = load4_aligned(at, 12u);
    let e = load4_aligned(at, 16u);
    let f = load4_aligned(at, 20u);
    let g = load4_aligned(at, 24u);
    let h = load4_aligned(at, 28u);
    return Progress(
        a.xy, a.zw,
        b, c, d,
        array<vec2<u32>, 4>(e.xy, e.zw, f.xy, f.zw),
        array<vec2<u32>, 4>(g.xy, g.zw, h.xy, h.zw),
    );
}

// The positions where the capture begins, in bytes from the start of each bound range. A counter
// that is not a multiple of 4 is rounded down. `readable` is the address of 16 readable bytes.
fn start_positions(progress: Progress, readable: vec2<u32>) -> vec4<u32> {
    let earlier = address_or(progress.earlier_positions, readable);
    if is_address(progress.earlier_positions) {
        return load4_written(earlier);
    }
    var positions = progress.positions;
    for (var b = 0u; b < 4u; b++) {
        let counter = progress.counters[b];
        let at = address_or(counter, readable);
        if is_address(counter) {
            positions[b] = load1_written(at) & ~3u;
        }
    }
    return positions;
}

// Stores where in each capture buffer the next record begins after `records` records from `positions` on: in
// `later_positions`, and in the counters that the end of the capture writes.
fn store_positions(progress: Progress, positions: vec4<u32>, records: u32) {
    let new_positions = positions + records * progress.strides;
    if is_address(progress.later_positions) {
        store4(progress.later_positions, 0u, new_positions);
    }
    for (var b = 0u; b < 4u; b++) {
        let counter = progress.new_counters[b];
        if is_address(counter) {
            store1(counter, 0u, new_positions[b]);
        }
    }
}

// The number of records that still fit into all captured buffers.
fn room_at(progress: Progress, positions: vec4<u32>) -> u32 {
    var least = 0xffffffffu;
    for (var b = 0u; b < 4u; b++) {
        if progress.strides[b] != 0u {
            let left = progress.sizes[b] - min(progress.sizes[b], positions[b]);
            least = min(least, left / progress.strides[b]);
        }
    }
    return least;
}

// The counts of a draw with `primitives` primitives per instance. `written` and `base_record` are 0: the caller
// computes them.
fn needed_by(primitives: u32, flags: u32, instance_count: u32) -> DrawPlacement {
    return DrawPlacement(primitives, vertices_per_primitive(flags), product(primitives, instance_count), 0u, 0u);
}

// The number of primitives of a draw that fit if there is room for `records` more records.
fn fitting(placed: DrawPlacement, records: u32) -> u32 {
    return min(saturated(placed.needed), records / placed.vertices);
}

// Returns the draw with its counts clamped to what fits into the capture buffers. DrawCounts in src/counts.rs has the
// same counts.
fn clamped(unclamped: Draw, placed: DrawPlacement) -> Draw {
    var made = unclamped;
    made.output_count = 0u;
    made.output_end = placed.base_record + placed.written * placed.vertices;
    made.item_count = 0u;
    made.instance_count = 0u;
    made.base_record = placed.base_record;
    if placed.written != 0u {
        let primitives = min(placed.primitives, placed.written);
        made.instance_count = (placed.written - 1u) / placed.primitives + 1u;
        made.output_count = primitives * placed.vertices;
        made.item_count = item_count(made.xfb_topology, placed.vertices, primitives);
    }
    return made;
}

// Returns the draw `clamped` with its number of invocations.
fn with_invocations(clamped: Draw, placed: DrawPlacement) -> Draw {
    var made = clamped;
    made.invocations = 0u;
    if placed.written != 0u {
        made.invocations = invocations_of(made, placed, invocations_per_item(made));
    }
    return made;
}

// The number of invocations per item (vertex or index) of a draw whose vertex shader is captured: two in a fan, one for
// a rim vertex and one for the hub (compute.wgsl).
fn invocations_per_item(made: Draw) -> u32 {
    return select(1u, 2u, made.xfb_topology == TRI_FAN);
}

// The reciprocal of the number of invocations per instance, by which instance_and_lane replaces a division.
fn reciprocal_of(made: Draw, per_item: u32) -> u32 {
    return 0xffffffffu / max(1u, per_item * made.item_count);
}

// The number of invocations of a draw, with `factor` invocations per item. They end with the last item that contributes
// to a written primitive: the last instance may be incomplete, because not all its primitives fit. The CPU computes the
// size of dispatches by the same rule (src/counts.rs).
fn invocations_of(made: Draw, placed: DrawPlacement, factor: u32) -> u32 {
    var instances = made.instance_count;
    var last = 0u;
    if (made.flags & RESTART) == 0u {
        instances = placed.written / placed.primitives;
        let rest = placed.written % placed.primitives;
        if rest != 0u {
            last = item_count(made.xfb_topology, placed.vertices, rest);
        }
    }
    return saturated(add64(product(instances * factor, made.item_count), vec2<u32>(last * factor, 0u)));
}
