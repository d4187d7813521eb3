// Counts of primitives and items. src/topology.rs and src/counts.rs implement the same in Rust.
//
// Each is a table with four bits per topology, the lowest for topology 0. A `switch` costs registers:
// Mesa makes a sequence of conditions of it, and keeps the result of the last execution in case that
// none of them holds.

fn entry_of(table: u32, topology: u32) -> u32 {
    return (table >> (4u * topology)) & 15u;
}

// The number of vertices from the first vertex of a primitive to the first vertex of the next one.
fn primitive_step(topology: u32, vertices: u32) -> u32 {
    return select(entry_of(0x26141110u, topology), vertices, topology == LIST);
}

// The number of vertices that the first primitive has in addition to its step.
fn primitive_overlap(topology: u32) -> u32 {
    return entry_of(0x40302210u, topology);
}

// The number of primitives of `n` vertices.
fn primitive_count(topology: u32, vertices: u32, n: u32) -> u32 {
    let beyond = n - min(n, primitive_overlap(topology));
    let step = primitive_step(topology, vertices);
    // A step is 1, 2, 3, 4 or 6. A division by a constant is cheaper.
    let shifted = beyond >> firstTrailingBit(step);
    return select(shifted, shifted / 3u, (step == 3u) | (step == 6u));
}

// The number of items of `primitives` (at least one) primitives, see src/topology.rs. Less than
// 2^32 if the number of records is.
fn item_count(topology: u32, vertices: u32, primitives: u32) -> u32 {
    let more = entry_of(0x20101210u, topology);
    return select(primitives * vertices, primitives + more, more != 0u);
}
