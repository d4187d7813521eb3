// How much a draw captures. src/topology.rs and src/counts.rs state the same in Rust.

// Vertices of a primitive that are none of the next one's first.
fn primitive_step(topology: u32, vertices: u32) -> u32 {
    switch topology {
        case LINE_STRIP, TRI_STRIP, TRI_FAN, LINE_STRIP_ADJ: { return 1u; }
        case TRI_STRIP_ADJ: { return 2u; }
        case LINE_LIST_ADJ: { return 4u; }
        case TRI_LIST_ADJ: { return 6u; }
        default: { return vertices; }
    }
}

// Vertices that the first primitive takes beyond its step.
fn primitive_overlap(topology: u32) -> u32 {
    switch topology {
        case LINE_STRIP: { return 1u; }
        case TRI_STRIP, TRI_FAN: { return 2u; }
        case LINE_STRIP_ADJ: { return 3u; }
        case TRI_STRIP_ADJ: { return 4u; }
        default: { return 0u; }
    }
}

// Primitives of `n` vertices.
fn primitive_count(topology: u32, vertices: u32, n: u32) -> u32 {
    let beyond = n - min(n, primitive_overlap(topology));
    let step = primitive_step(topology, vertices);
    if step == 1u {
        return beyond;
    }
    return beyond / step;
}

// Items of `primitives` (at least one), see src/topology.rs. Fewer than 2^32 wherever the records are.
fn item_count(topology: u32, vertices: u32, primitives: u32) -> u32 {
    switch topology {
        case LINE_STRIP, LINE_STRIP_ADJ, TRI_FAN: { return primitives + 1u; }
        case TRI_STRIP, TRI_STRIP_ADJ: { return primitives + 2u; }
        default: { return primitives * vertices; }
    }
}
