// Index buffers.

// Loads index `position` of a buffer with `limit` indices of `size` bytes (1, 2 or 4). Returns 0
// beyond the end, and has the address of the first index there, which can be read even if there is none
// (see address_or). The whole dword that contains the index is loaded, because no memory protection
// has a finer granularity.
fn load_index(address: vec2<u32>, limit: u32, size: u32, position: u32) -> u32 {
    let readable = select(0u, position, position < limit);
    if position >= limit {
        return 0u;
    }
    return load_bound_index(address, size, readable);
}

// The same for a position that is within the buffer.
fn load_bound_index(address: vec2<u32>, size: u32, position: u32) -> u32 {
    // The size is a power of two, and the product may exceed 32 bits.
    let shift = size >> 1u;
    let at = add64(address, vec2<u32>(position << shift, (position >> 16u) >> (16u - shift)));
    let dword = load1(vec2<u32>(at.x & ~3u, at.y));
    return (dword >> (8u * (at.x & 3u))) & largest_index(size);
}

// The largest index with that size.
fn largest_index(size: u32) -> u32 {
    return 0xffffffffu >> (32u - 8u * size);
}

// The vertex index of an element, before the base is added.
fn index_of_element(element: u32) -> u32 {
    let size = draw.flags & INDEX_SIZE;
    if !may_be_indexed() || size == 0u {
        return element;
    }
    return load_index(draw.index_address, draw.index_limit, size, element);
}
