// Accesses that are as wide as their alignment allows. If only an alignment of 4 bytes is declared,
// a GPU splits a vector into dwords. The alignment depends on the bound buffers and on where a
// capture resumes, so it is tested at run time. These functions are only called if the alignment is
// the same for all records or elements, so that all invocations take the same branch.

fn load2_wide(address: vec2<u32>) -> vec2<u32> {
    if may_be_wide() && (address.x & 7u) == 0u {
        return load2_aligned(address);
    }
    return load2(address);
}

fn load4_wide(address: vec2<u32>) -> vec4<u32> {
    if may_be_wide() && (address.x & 15u) == 0u {
        return load4_aligned(address);
    }
    return load4(address);
}

// `index` is a multiple of the dwords that are stored.

fn store2_wide(address: vec2<u32>, index: u32, value: vec2<u32>) {
    if may_be_wide() && (address.x & 7u) == 0u {
        store2_aligned(address, index, value);
    } else {
        store2(address, index, value);
    }
}

fn store4_wide(address: vec2<u32>, index: u32, value: vec4<u32>) {
    if may_be_wide() && (address.x & 15u) == 0u {
        store4_aligned(address, index, value);
    } else {
        store4(address, index, value);
    }
}
