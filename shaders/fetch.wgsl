// Vertex pulling: what fixed-function vertex input extracts from memory, before its conversion.
//
// An element that the binding does not wholly hold is extracted as zeros.

const INLINE_ATTRIBUTES: u32 = 1u;

// The slots of the descriptors in the table are counted as if descriptors were all that is in it: its first 16
// bytes are slot INLINE_ATTRIBUTES, whatever they are.
fn attribute_descriptor(slot: u32) -> AttributeDescriptor {
    if slot < INLINE_ATTRIBUTES {
        return sysvals.attributes[slot];
    }
    let words = load4(multiply_add(sysvals.table, slot - INLINE_ATTRIBUTES, 16u));
    return AttributeDescriptor(words.xy, words.z, words.w);
}

fn element_address(descriptor: AttributeDescriptor, element: u32) -> vec2<u32> {
    return multiply_add(descriptor.address, element, descriptor.stride);
}

// The element of an instance, for a binding of that divisor.
fn divided_instance(instance_index: u32, divisor: u32) -> u32 {
    return base_instance() + (instance_index - base_instance()) / divisor;
}

// -- Elements of whole dwords: they lie on a multiple of 4.

fn fetch1(slot: u32, element: u32) -> u32 {
    let descriptor = attribute_descriptor(slot);
    if element >= descriptor.limit {
        return 0u;
    }
    return load1(element_address(descriptor, element));
}

fn fetch2(slot: u32, element: u32) -> vec2<u32> {
    let descriptor = attribute_descriptor(slot);
    if element >= descriptor.limit {
        return vec2<u32>();
    }
    return load2_wide(element_address(descriptor, element));
}

fn fetch3(slot: u32, element: u32) -> vec3<u32> {
    let descriptor = attribute_descriptor(slot);
    if element >= descriptor.limit {
        return vec3<u32>();
    }
    return load3(element_address(descriptor, element));
}

fn fetch4(slot: u32, element: u32) -> vec4<u32> {
    let descriptor = attribute_descriptor(slot);
    if element >= descriptor.limit {
        return vec4<u32>();
    }
    return load4_wide(element_address(descriptor, element));
}

// The dwords behind the first four, of elements of 24 and of 32 bytes.

fn fetch2_behind4(slot: u32, element: u32) -> vec2<u32> {
    let descriptor = attribute_descriptor(slot);
    if element >= descriptor.limit {
        return vec2<u32>();
    }
    return load2_wide(multiply_add(element_address(descriptor, element), 16u, 1u));
}

fn fetch4_behind4(slot: u32, element: u32) -> vec4<u32> {
    let descriptor = attribute_descriptor(slot);
    if element >= descriptor.limit {
        return vec4<u32>();
    }
    return load4_wide(multiply_add(element_address(descriptor, element), 16u, 1u));
}

// -- Elements that begin anywhere in a dword: the first byte goes to the lowest bits. What stands above
// the element is left over from its neighbours. No dword is read that holds no byte of the element, as
// the next one may be another page's.

// The dword of an address, and the bit in it where that byte begins.
fn dword_address(address: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(address.x & 0xfffffffcu, address.y);
}

fn first_bit_in_dword(address: vec2<u32>) -> u32 {
    return 8u * (address.x & 3u);
}

// Elements that no dword boundary parts: 1 byte, or 2 on a multiple of 2.
fn fetch_within_dword(slot: u32, element: u32) -> vec2<u32> {
    let descriptor = attribute_descriptor(slot);
    if element >= descriptor.limit {
        return vec2<u32>();
    }
    let address = element_address(descriptor, element);
    return vec2<u32>(load1(dword_address(address)) >> first_bit_in_dword(address), 0u);
}

// Elements of 2 to 4 bytes.
fn fetch_bytes(slot: u32, element: u32, size: u32) -> vec2<u32> {
    let descriptor = attribute_descriptor(slot);
    if element >= descriptor.limit {
        return vec2<u32>();
    }
    let address = element_address(descriptor, element);
    let first = dword_address(address);
    let shift = first_bit_in_dword(address);
    var value = load1(first) >> shift;
    if shift + 8u * size > 32u {
        value |= load1(multiply_add(first, 4u, 1u)) << (32u - shift);
    }
    return vec2<u32>(value, 0u);
}

// Elements of 6 or 8 bytes on a multiple of 2.
fn fetch_halves(slot: u32, element: u32, size: u32) -> vec2<u32> {
    let descriptor = attribute_descriptor(slot);
    if element >= descriptor.limit {
        return vec2<u32>();
    }
    let address = element_address(descriptor, element);
    let first = dword_address(address);
    let shift = first_bit_in_dword(address);
    let value = load2(first);
    if shift == 0u {
        return value;
    }
    var next = 0u;
    if shift + 8u * size > 64u {
        next = load1(multiply_add(first, 8u, 1u));
    }
    return (value >> vec2<u32>(shift)) | (vec2<u32>(value.y, next) << vec2<u32>(32u - shift));
}
