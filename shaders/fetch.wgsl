// Vertex pulling: loads the elements of attributes like fixed-function vertex input does. formats.wgsl converts them.
//
// An element that is not completely within the binding is read as zeros. Its load uses the address of element 0, which
// is always readable: a driver may execute a load although its branch is not taken (see address_or).

const INLINE_ATTRIBUTES: u32 = 1u;

// Returns the attribute descriptor with the number `slot`. Descriptors with numbers below INLINE_ATTRIBUTES are in the
// sysvals. The others are in the table (`Sysvals.table`), 16 bytes each. If the table begins with the
// application's push constants, each 16 bytes of these take a number, too.
fn attribute_descriptor(slot: u32) -> AttributeDescriptor {
    if slot < INLINE_ATTRIBUTES {
        if is_batched() {
            return listed.attributes[slot];
        }
        return sysvals.attributes[slot];
    }
    let words = load4_aligned(table_address(), 4u * (slot - INLINE_ATTRIBUTES));
    return AttributeDescriptor(words.xy, words.z, words.w);
}

// The address of an element, or of element 0 if the element is beyond the binding. The offset of the element
// fits into 32 bits unless FAR_ATTRIBUTES is set.
fn element_address(descriptor: AttributeDescriptor, element: u32) -> vec2<u32> {
    let readable = select(element, 0u, is_beyond(descriptor, element));
    if uniformly(may_be_general() && (draw.flags & FAR_ATTRIBUTES) != 0u) {
        return multiply_add(descriptor.address, readable, descriptor.stride);
    }
    return add_bytes(descriptor.address, readable * descriptor.stride);
}

// Whether an element is not completely within the binding. Never true in unchecked captures, for which the
// CPU has checked all elements.
fn is_beyond(descriptor: AttributeDescriptor, element: u32) -> bool {
    return !is_unchecked() && element >= descriptor.limit;
}

// The element that an instance reads from a binding with the input rate of instances and this divisor.
fn divided_instance(instance_index: u32, divisor: u32) -> u32 {
    return base_instance() + (instance_index - base_instance()) / divisor;
}

// -- Functions for elements that consist of dwords and are aligned to 4 bytes.

fn fetch1(slot: u32, element: u32) -> u32 {
    let descriptor = attribute_descriptor(slot);
    let address = element_address(descriptor, element);
    if is_beyond(descriptor, element) {
        return 0u;
    }
    return load1(address, 0u);
}

fn fetch2(slot: u32, element: u32) -> vec2<u32> {
    let descriptor = attribute_descriptor(slot);
    let address = element_address(descriptor, element);
    if is_beyond(descriptor, element) {
        return vec2<u32>();
    }
    return load2_wide(address);
}

fn fetch3(slot: u32, element: u32) -> vec3<u32> {
    let descriptor = attribute_descriptor(slot);
    let address = element_address(descriptor, element);
    if is_beyond(descriptor, element) {
        return vec3<u32>();
    }
    return load3(address);
}

fn fetch4(slot: u32, element: u32) -> vec4<u32> {
    let descriptor = attribute_descriptor(slot);
    let address = element_address(descriptor, element);
    if is_beyond(descriptor, element) {
        return vec4<u32>();
    }
    return load4_wide(address);
}

// These functions load the dwords after the first four of an element of 24 or 32 bytes, which has 64-bit components.

fn fetch2_behind4(slot: u32, element: u32) -> vec2<u32> {
    let descriptor = attribute_descriptor(slot);
    let address = element_address(descriptor, element);
    if is_beyond(descriptor, element) {
        return vec2<u32>();
    }
    return load2_wide(add_bytes(address, 16u));
}

fn fetch4_behind4(slot: u32, element: u32) -> vec4<u32> {
    let descriptor = attribute_descriptor(slot);
    let address = element_address(descriptor, element);
    if is_beyond(descriptor, element) {
        return vec4<u32>();
    }
    return load4_wide(add_bytes(address, 16u));
}

// -- Functions for elements that may begin at any byte. They shift the element so that its first byte is in the
// lowest bits of the result; the bits above the element may be those of the bytes after it in memory. The functions
// read only dwords that contain a byte of the element, because the next dword may be on a page that is not mapped.

// dword_address returns the address of the dword that contains a byte, first_bit_in_dword the number of the
// byte's first bit in this dword.
fn dword_address(address: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(address.x & 0xfffffffcu, address.y);
}

fn first_bit_in_dword(address: vec2<u32>) -> u32 {
    return 8u * (address.x & 3u);
}

// Loads an element that is within one dword: 1 byte, or 2 bytes that are aligned to 2.
fn fetch_within_dword(slot: u32, element: u32) -> vec2<u32> {
    let descriptor = attribute_descriptor(slot);
    let address = element_address(descriptor, element);
    if is_beyond(descriptor, element) {
        return vec2<u32>();
    }
    return vec2<u32>(load1(dword_address(address), 0u) >> first_bit_in_dword(address), 0u);
}

// Loads 2 to 4 bytes, which may begin at any byte.
fn load_bytes(address: vec2<u32>, size: u32) -> u32 {
    let first = dword_address(address);
    let shift = first_bit_in_dword(address);
    let is_split = shift + 8u * size > 32u;
    let next = add_bytes(first, select(0u, 4u, is_split));
    var value = load1(first, 0u) >> shift;
    if is_split {
        value |= load1(next, 0u) << (32u - shift);
    }
    return value;
}

// Loads an element of 2 to 4 bytes, which may begin at any byte.
fn fetch_bytes(slot: u32, element: u32, size: u32) -> vec2<u32> {
    let descriptor = attribute_descriptor(slot);
    let address = element_address(descriptor, element);
    if is_beyond(descriptor, element) {
        return vec2<u32>();
    }
    return vec2<u32>(load_bytes(address, size), 0u);
}

// Loads the dword at `offset` in an element of dwords, which may begin at any byte.
fn fetch_unaligned(slot: u32, element: u32, offset: u32) -> u32 {
    let descriptor = attribute_descriptor(slot);
    let address = element_address(descriptor, element);
    if is_beyond(descriptor, element) {
        return 0u;
    }
    return load_bytes(add_bytes(address, offset), 4u);
}

// Loads an element of 6 or 8 bytes, which may begin at any byte.
fn fetch_halves(slot: u32, element: u32, size: u32) -> vec2<u32> {
    let descriptor = attribute_descriptor(slot);
    let address = element_address(descriptor, element);
    if is_beyond(descriptor, element) {
        return vec2<u32>();
    }
    let first = dword_address(address);
    let shift = first_bit_in_dword(address);
    let is_split = shift + 8u * size > 64u;
    let last = add_bytes(first, select(0u, 8u, is_split));
    let value = load2(first);
    if shift == 0u {
        return value;
    }
    var next = 0u;
    if is_split {
        next = load1(last, 0u);
    }
    return (value >> vec2<u32>(shift)) | (vec2<u32>(value.y, next) << vec2<u32>(32u - shift));
}
