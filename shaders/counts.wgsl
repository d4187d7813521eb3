// How much a draw captures. src/topology.rs and src/draw.rs state the same in Rust.

// Primitives of `n` vertices.
fn primitive_count(topology: u32, vertices: u32, n: u32) -> u32 {
    switch topology {
        case LINE_STRIP: { return n - min(n, 1u); }
        case TRI_STRIP, TRI_FAN: { return n - min(n, 2u); }
        case LINE_LIST_ADJ: { return n / 4u; }
        case LINE_STRIP_ADJ: { return n - min(n, 3u); }
        case TRI_LIST_ADJ: { return n / 6u; }
        case TRI_STRIP_ADJ: { return (n - min(n, 4u)) / 2u; }
        default: { return n / vertices; }
    }
}

// Items of `primitives` (at least one), see src/topology.rs. Fewer than 2^32 wherever the records are.
fn item_count(topology: u32, vertices: u32, primitives: u32) -> u32 {
    switch topology {
        case LINE_STRIP, LINE_STRIP_ADJ, TRI_FAN: { return primitives + 1u; }
        case TRI_STRIP, TRI_STRIP_ADJ: { return primitives + 2u; }
        default: { return primitives * vertices; }
    }
}
