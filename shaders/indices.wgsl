// Loads of indices from index buffers.

// Loads index `position` of a buffer with `limit` indices of `size` bytes (1, 2 or 4). Returns 0 beyond the end. In
// that case the load uses the address of the first index, because a driver may execute the load although its result is
// not used (see address_or).
fn load_index(address: vec2<u32>, limit: u32, size: u32, position: u32) -> u32 {
    let readable = select(0u, position, position < limit);
    if position >= limit {
        return 0u;
    }
    return load_bound_index(address, limit, size, readable);
}

// Loads index `position` of a buffer; `position` must be less than `limit`. The function loads the dword that contains
// the index. If that dword reaches beyond the last index, the buffer may end within the dword: a pipeline for such
// buffers loads the bytes of the index instead. For any other pipeline shaders can read the whole dword, and for a
// device that cannot load single bytes the buffer must contain it (IndexBuffer::size).
fn load_bound_index(address: vec2<u32>, limit: u32, size: u32, position: u32) -> u32 {
    // `size >> 1` is log2(size). The product of position and size may exceed 32 bits.
    let shift = size >> 1u;
    let at = add64(address, vec2<u32>(position << shift, (position >> 16u) >> (16u - shift)));
    let to_dword_end = (4u - (at.x & 3u)) >> shift;
    if may_load_bytes() && limit - position < to_dword_end {
        let last = load_byte(add_bytes(at, size - 1u));
        return select(last, load_byte(at) | (last << 8u), size == 2u);
    }
    let dword = load1(vec2<u32>(at.x & ~3u, at.y), 0u);
    return (dword >> (8u * (at.x & 3u))) & largest_index(size);
}

fn largest_index(size: u32) -> u32 {
    return 0xffffffffu >> (32u - 8u * size);
}

// The index of the vertex at position `element` in the draw, without the base vertex. Without an index buffer, the
// position itself.
fn index_of_element(element: u32) -> u32 {
    let size = draw.flags & INDEX_SIZE;
    if !may_be_indexed() || size == 0u {
        return element;
    }
    return load_index(draw.index_address, draw.index_limit, size, element);
}
