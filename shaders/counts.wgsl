// Counts of primitives and items. src/topology.rs and src/counts.rs implement the same in Rust.
//
// The constants that are passed to nibble_of have four bits for each topology, with topology 0 in the lowest bits. A
// `switch` would cost registers: Mesa turns it into a sequence of conditions, and keeps the previous result for the
// case that no condition holds.

fn nibble_of(table: u32, topology: u32) -> u32 {
    return (table >> (4u * topology)) & 15u;
}

// The number of vertices from the first vertex of a primitive to the first vertex of the next one.
fn primitive_step(topology: u32, vertices: u32) -> u32 {
    return select(nibble_of(0x26141110u, topology), vertices, topology == LIST);
}

// Whether `step`, a result of primitive_step, is possible for patch lists only: 5, or more than 6.
fn is_step_of_patches(step: u32) -> bool {
    return may_be_patches() && (step == 5u || step > 6u);
}

// The number of vertices of a primitive in addition to primitive_step. The next primitive has these vertices,
// too.
fn primitive_overlap(topology: u32) -> u32 {
    return nibble_of(0x40302210u, topology);
}

// The number of primitives that `n` vertices make.
fn primitive_count(topology: u32, vertices: u32, n: u32) -> u32 {
    let beyond = n - min(n, primitive_overlap(topology));
    let step = primitive_step(topology, vertices);
    // Topologies other than patch lists have steps of 1, 2, 3, 4 or 6. A division by the constant 3 is cheaper
    // than a division by the step.
    let shifted = beyond >> firstTrailingBit(step);
    var count = select(shifted, shifted / 3u, (step == 3u) | (step == 6u));
    if is_step_of_patches(step) {
        count = beyond / step;
    }
    return count;
}

// The number of items in the first `primitives` (at least one) primitives of an instance; src/topology.rs explains the
// formula. The result is less than 2^32 if these primitives have less than 2^32 records.
fn item_count(topology: u32, vertices: u32, primitives: u32) -> u32 {
    let more = nibble_of(0x20101210u, topology);
    return select(primitives * vertices, primitives + more, more != 0u);
}
