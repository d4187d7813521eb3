//! Random vertex input states, buffers and draws.

use vkxfb::runtime::Draw;
use vkxfb::vertex_input::{InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput};

use crate::CLASSES;
use crate::case::{Bound, Case};
use crate::common::rng::Rng;
use crate::shader::Input;

/// Generates a layout of these formats. Buffers are as long as the draw needs. If
/// `may_pass_the_end`, some buffers are shorter or null.
pub fn generate(seed: u64, formats: &[VertexFormat], may_pass_the_end: bool) -> Case {
    let mut rng = Rng::new(seed.wrapping_mul(0x1000_0001));
    let draw = Draw {
        vertex_count: 3 * (1 + rng.below(12)),
        instance_count: 1 + rng.below(5),
        first_vertex: rng.below(9),
        first_instance: rng.below(6),
    };
    // Compute captures load attributes that are not aligned, if not in the vertex input then in the buffers.
    let unaligned = may_pass_the_end && rng.percent(30);
    let vertex_input = VertexInput::default();
    let mut case = Case { vertex_input, inputs: vec![], bound: vec![], unaligned, draw };
    let mut location = 0;
    for binding in 0..1 + rng.below(4) {
        let binding = 2 * binding + rng.below(2);
        let input_rate = match rng.below(5) {
            0 | 1 => InputRate::Vertex,
            2 => InputRate::INSTANCE,
            _ => InputRate::Instance { divisor: rng.pick(&[0, 2, 3, 7]) },
        };
        let (mut end, mut alignment) = (0, 1);
        let is_described_so = unaligned && rng.percent(50);
        for _ in 0..1 + rng.below(3) {
            let format = rng.pick(formats);
            location += rng.below(2);
            // Attributes may overlap, in any order, and exceed the stride.
            let offset = rng.below(24) * if is_described_so { 1 } else { format.alignment() };
            end = end.max(offset + format.size());
            alignment = alignment.max(format.alignment());
            let attribute = VertexAttribute { location, binding, format, offset };
            case.vertex_input.attributes.push(attribute);
            inputs(&mut rng, &attribute, &mut case.inputs);
            location += format.size().div_ceil(16).max(1);
        }
        if is_described_so {
            alignment = 1;
        }
        let stride = match rng.below(8) {
            0 => 0,
            1 => alignment,
            _ => (end + rng.below(9)).next_multiple_of(alignment),
        };
        case.vertex_input.bindings.push(VertexBinding { binding, stride, input_rate });
        if unaligned {
            alignment = 1;
        }
        // Compute captures accept a stride with the buffer.
        let other = may_pass_the_end && rng.percent(10);
        let bound_stride = other.then(|| rng.below(40) * alignment);
        let last_vertex = draw.first_vertex + draw.vertex_count - 1;
        let last_instance = draw.first_instance + draw.instance_count - 1;
        // The last element that anything reads.
        let last = input_rate.element(last_vertex, draw.first_instance, last_instance);
        let needed = last * bound_stride.unwrap_or(stride) + end;
        let size = if may_pass_the_end && rng.percent(40) { 1 + rng.below(needed) } else { needed };
        let is_null = may_pass_the_end && rng.percent(8);
        let offset = if is_null { 0 } else { (rng.below(6) * alignment) as usize };
        let bytes = (!is_null).then(|| (0..size).map(|_| rng.u64() as u8).collect());
        case.bound.push(Bound { binding, offset, bytes, stride: bound_stride });
    }
    case
}

/// Adds one or two variables that read an attribute.
fn inputs(rng: &mut Rng, attribute: &VertexAttribute, inputs: &mut Vec<Input>) {
    let VertexAttribute { location, format, .. } = *attribute;
    let (bits, components) = (format.bits(), format.components());
    // The shaders for other classes of 64 bits might be none that the device has.
    let class = if bits == 32 && rng.percent(20) { rng.pick(&CLASSES) } else { format.class() };
    let input = |location, component, count| Input { location, component, class, bits, count };
    if bits == 64 {
        match components {
            // Neighbours in one location, and the second location by itself.
            2 if rng.percent(30) => inputs.extend([input(location, 0, 1), input(location, 2, 1)]),
            3 if rng.percent(30) => {
                inputs.extend([input(location, 0, 2), input(location + 1, 0, 1)])
            }
            4 if rng.percent(30) => {
                inputs.extend([input(location, 2, 1), input(location + 1, 0, 2)])
            }
            _ => inputs.push(input(location, 0, 1 + rng.below(components))),
        }
        return;
    }
    match rng.below(4) {
        0 => {
            let first = 1 + rng.below(3);
            inputs.push(input(location, 0, first));
            inputs.push(input(location, first, 1 + rng.below(4 - first)));
        }
        1 => inputs.push(input(location, 0, 1 + rng.below(4))),
        _ => inputs.push(input(location, 0, 4)),
    }
}
