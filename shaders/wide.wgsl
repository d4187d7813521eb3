// Loads and stores that are as wide as the alignment of the address allows. If a shader declares an alignment
// of only 4 bytes, a GPU splits a vector into dwords. The alignment depends on the bound buffers and on where
// a capture resumes, so these functions test it at run time, unless the pipeline says that it is known. Call
// them only where the alignment is the same for all records or elements, so that all invocations take the same
// branch.

// The values of wide_loads() and wide_stores(): wide accesses are made never, or where a test finds the address
// aligned, or always.
const NARROW: u32 = 0u;
const TESTED: u32 = 1u;
const ALIGNED: u32 = 2u;

fn may_load_wide(address: vec2<u32>, dwords: u32) -> bool {
    return is_wide(wide_loads(), address, dwords);
}

fn may_store_wide(address: vec2<u32>, dwords: u32) -> bool {
    return is_wide(wide_stores(), address, dwords);
}

fn is_wide(accesses: u32, address: vec2<u32>, dwords: u32) -> bool {
    return accesses == ALIGNED
        || (accesses == TESTED && (address.x & (4u * dwords - 1u)) == 0u);
}

fn load2_wide(address: vec2<u32>) -> vec2<u32> {
    if may_load_wide(address, 2u) {
        return load2_aligned(address, 0u);
    }
    return load2(address);
}

fn load4_wide(address: vec2<u32>) -> vec4<u32> {
    if may_load_wide(address, 4u) {
        return load4_aligned(address, 0u);
    }
    return load4(address);
}
