// Accesses that are as wide as they are aligned. A GPU that is told of 4 bytes alone takes a vector apart,
// dword by dword; what is bound and where a capture resumes decide at run time. Only accesses that every
// record or element aligns alike come here, so that all invocations go the same way.

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

fn store2_wide(address: vec2<u32>, index: u32, value: vec2<u32>) {
    if may_be_wide() && ((address.x + 4u * index) & 7u) == 0u {
        store2_aligned(address, index, value);
    } else {
        store2(address, index, value);
    }
}

fn store4_wide(address: vec2<u32>, index: u32, value: vec4<u32>) {
    if may_be_wide() && ((address.x + 4u * index) & 15u) == 0u {
        store4_aligned(address, index, value);
    } else {
        store4(address, index, value);
    }
}
