// Vertex pulling: what fixed-function vertex input does, for 32-bit formats.

const INLINE_ATTRIBUTES: u32 = 1u;

fn attribute_descriptor(slot: u32) -> AttributeDescriptor {
    if slot < INLINE_ATTRIBUTES {
        return sysvals.attributes[slot];
    }
    let words = load4(multiply_add(sysvals.attribute_table, slot - INLINE_ATTRIBUTES, 16u));
    return AttributeDescriptor(words.xy, words.z, words.w);
}

// Element `element` of an attribute of `components` dwords. Absent components are (0, 0, 0, one);
// those of an element that the binding does not wholly hold are 0.
fn fetch(slot: u32, element: u32, components: u32, one: u32) -> vec4<u32> {
    var value = vec4<u32>(0u, 0u, 0u, select(one, 0u, components == 4u));
    let descriptor = attribute_descriptor(slot);
    if element < descriptor.limit {
        let address = multiply_add(descriptor.address, element, descriptor.stride);
        switch components {
            case 1u: { value.x = load1(address); }
            case 2u: { value = vec4<u32>(load2(address), value.zw); }
            case 3u: { value = vec4<u32>(load3(address), value.w); }
            default: { value = load4(address); }
        }
    }
    return value;
}
