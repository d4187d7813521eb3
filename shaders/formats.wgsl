// Conversions of vertex formats with less than 32 bits per component. Each function takes a fetched
// element, and the first bit and the width of each component as constants, which a driver can fold
// after inlining. Each returns the bits of the values that the shader reads.
//
// src/vertex_input/decode.rs implements the same in Rust. All conversions are exact: they use
// integers, or float operations without rounding, so that every device returns the same bits.

fn unsigned_fields(element: vec2<u32>, first_bit: vec4<u32>, width: vec4<u32>) -> vec4<u32> {
    let words = select(element.xxxx, element.yyyy, first_bit >= vec4<u32>(32u));
    let left = 32u - width - first_bit % 32u;
    return (words << left) >> (32u - width);
}

fn signed_fields(element: vec2<u32>, first_bit: vec4<u32>, width: vec4<u32>) -> vec4<i32> {
    let words = select(element.xxxx, element.yyyy, first_bit >= vec4<u32>(32u));
    let left = 32u - width - first_bit % 32u;
    return bitcast<vec4<i32>>(words << left) >> (32u - width);
}

fn convert_uint(element: vec2<u32>, first_bit: vec4<u32>, width: vec4<u32>) -> vec4<u32> {
    return unsigned_fields(element, first_bit, width);
}

fn convert_sint(element: vec2<u32>, first_bit: vec4<u32>, width: vec4<u32>) -> vec4<u32> {
    return bitcast<vec4<u32>>(signed_fields(element, first_bit, width));
}

fn convert_uscaled(element: vec2<u32>, first_bit: vec4<u32>, width: vec4<u32>) -> vec4<u32> {
    return bitcast<vec4<u32>>(vec4<f32>(unsigned_fields(element, first_bit, width)));
}

fn convert_sscaled(element: vec2<u32>, first_bit: vec4<u32>, width: vec4<u32>) -> vec4<u32> {
    return bitcast<vec4<u32>>(vec4<f32>(signed_fields(element, first_bit, width)));
}

// c / (2^width - 1), rounded to the nearest float. OpFDiv only guarantees 2.5 ULP.
//
// The binary digits of the fraction are those of c repeated forever, like 1/3 = 0.010101... The code rotates
// them so that they begin with a 1, and repeats them to fill 32 bits. At least the first 25 of these are
// right, which is enough for the mantissa and the rounding bit. No fraction lies exactly between two floats,
// because its digits never end. If all digits are 1, rounding up gives 1.0.
fn normalized(c: vec4<u32>, width: vec4<u32>) -> vec4<u32> {
    let maximum = vec4<u32>(0xffffffffu) >> (32u - width);
    let zeros = countLeadingZeros(c) - (32u - width);
    let digits = ((c << zeros) | (c >> (width - zeros))) & maximum;
    let unused = 32u % width;
    let once_in_each = (vec4<u32>(0xffffffffu) >> unused) / maximum;
    let fraction = (digits * once_in_each) << unused;
    let mantissa = ((fraction >> vec4<u32>(7u)) + 1u) >> vec4<u32>(1u);
    // The leading 1 of the mantissa overflows into the exponent, and increments it. The exponent is therefore
    // one less here.
    let value = ((125u - zeros) << vec4<u32>(23u)) + mantissa;
    return select(value, vec4<u32>(), c == vec4<u32>());
}

fn convert_unorm(element: vec2<u32>, first_bit: vec4<u32>, width: vec4<u32>) -> vec4<u32> {
    return normalized(unsigned_fields(element, first_bit, width), width);
}

// max(c / (2^(width - 1) - 1), -1)
fn convert_snorm(element: vec2<u32>, first_bit: vec4<u32>, width: vec4<u32>) -> vec4<u32> {
    let fields = signed_fields(element, first_bit, width);
    let magnitude_width = width - 1u;
    let maximum = vec4<u32>(0xffffffffu) >> (32u - magnitude_width);
    let magnitude = min(bitcast<vec4<u32>>(abs(fields)), maximum);
    let sign = bitcast<vec4<u32>>(fields) & vec4<u32>(0x80000000u);
    return normalized(magnitude, magnitude_width) | sign;
}

// Converts unsigned floats with 5 exponent bits and `mantissa_width` mantissa bits to 32-bit floats.
fn widened(small: vec4<u32>, mantissa_width: vec4<u32>) -> vec4<u32> {
    let shift = 23u - mantissa_width;
    let normal = (small << shift) + ((127u - 15u) << 23u);
    // Infinities and NaNs: the exponent has all bits set. NaNs keep their payload.
    let special = (small << shift) | vec4<u32>(0x7f800000u);
    // Subnormal values become normal 32-bit floats. The multiplication by a power of two is exact.
    let ulp = bitcast<vec4<f32>>((127u - 14u - mantissa_width) << vec4<u32>(23u));
    let subnormal = bitcast<vec4<u32>>(vec4<f32>(small) * ulp);
    let exponent = small >> mantissa_width;
    let finite = select(normal, subnormal, exponent == vec4<u32>(0u));
    return select(finite, special, exponent == vec4<u32>(31u));
}

fn convert_sfloat(element: vec2<u32>, first_bit: vec4<u32>, width: vec4<u32>) -> vec4<u32> {
    let half = unsigned_fields(element, first_bit, width);
    return widened(half & vec4<u32>(0x7fffu), vec4<u32>(10u)) | ((half & vec4<u32>(0x8000u)) << vec4<u32>(16u));
}

fn convert_ufloat(element: vec2<u32>, first_bit: vec4<u32>, width: vec4<u32>) -> vec4<u32> {
    return widened(unsigned_fields(element, first_bit, width), width - 5u);
}
