// Counts of primitives and items. src/topology.rs and src/counts.rs implement the same in Rust.

// The number of vertices from the first vertex of a primitive to the first vertex of the next one.
fn primitive_step(topology: u32, vertices: u32) -> u32 {
    switch topology {
        case LINE_STRIP, TRI_STRIP, TRI_FAN, LINE_STRIP_ADJ: { return 1u; }
        case TRI_STRIP_ADJ: { return 2u; }
        case LINE_LIST_ADJ: { return 4u; }
        case TRI_LIST_ADJ: { return 6u; }
        default: { return vertices; }
    }
}

// The number of vertices that the first primitive has in addition to its step.
fn primitive_overlap(topology: u32) -> u32 {
    switch topology {
        case LINE_STRIP: { return 1u; }
        case TRI_STRIP, TRI_FAN: { return 2u; }
        case LINE_STRIP_ADJ: { return 3u; }
        case TRI_STRIP_ADJ: { return 4u; }
        default: { return 0u; }
    }
}

// The number of primitives of `n` vertices.
fn primitive_count(topology: u32, vertices: u32, n: u32) -> u32 {
    let beyond = n - min(n, primitive_overlap(topology));
    let step = primitive_step(topology, vertices);
    if step == 1u {
        return beyond;
    }
    return beyond / step;
}

// The number of items of `primitives` (at least one) primitives, see src/topology.rs. Less than
// 2^32 if the number of records is.
fn item_count(topology: u32, vertices: u32, primitives: u32) -> u32 {
    switch topology {
        case LINE_STRIP, LINE_STRIP_ADJ, TRI_FAN: { return primitives + 1u; }
        case TRI_STRIP, TRI_STRIP_ADJ: { return primitives + 2u; }
        default: { return primitives * vertices; }
    }
}
