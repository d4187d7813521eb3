use std::collections::BTreeMap;

use super::*;
use proptest::prelude::*;

/// Reads the captured outputs from the decorations of a module. The result has the stride of each buffer, and a map
/// from the offset of each output to its size.
fn captured(words: &[u32]) -> BTreeMap<u32, (u32, BTreeMap<u32, u32>)> {
    use spirv::{Decoration as D, Op};
    let mut decorations: BTreeMap<(u32, Option<u32>, u32), u32> = BTreeMap::new();
    let (mut types, mut variables) = (BTreeMap::new(), BTreeMap::new());
    let mut rest = &words[5..];
    while let [head, ..] = rest {
        let (instruction, after) = rest.split_at((head >> 16) as usize);
        rest = after;
        match (Op::from_u32(head & 0xffff).unwrap(), &instruction[1..]) {
            (Op::Decorate, [target, decoration, value]) => {
                decorations.insert((*target, None, *decoration), *value);
            }
            (Op::MemberDecorate, [target, member, decoration, value]) => {
                decorations.insert((*target, Some(*member), *decoration), *value);
            }
            (op @ (Op::TypeInt | Op::TypeFloat | Op::TypeVector), [id, operands @ ..])
            | (op @ (Op::TypePointer | Op::TypeStruct), [id, operands @ ..]) => {
                types.insert(*id, (op, operands.to_vec()));
            }
            (Op::Variable, [pointer, id, class, ..])
                if *class == spirv::StorageClass::Output as u32 =>
            {
                variables.insert(*id, *pointer);
            }
            _ => {}
        }
    }
    let size = |id: u32| match &types[&id] {
        (Op::TypeVector, operands) => {
            assert_eq!(types[&operands[0]].1[0], 32);
            operands[1] * 4
        }
        (_, operands) => operands[0] / 8,
    };
    let get =
        |id, member, decoration: D| decorations.get(&(id, member, decoration as u32)).copied();
    let mut buffers = BTreeMap::new();
    for (variable, pointer) in variables {
        let pointee = types[&pointer].1[1];
        let fields: Vec<_> = match &types[&pointee] {
            (Op::TypeStruct, members) => (0..)
                .zip(members)
                .filter_map(|(m, t)| Some((get(pointee, Some(m), D::Offset)?, size(*t))))
                .collect(),
            _ => get(variable, None, D::Offset).map(|o| (o, size(pointee))).into_iter().collect(),
        };
        if fields.is_empty() {
            continue; // XfbBuffer without an Offset captures nothing.
        }
        let buffer = get(variable, None, D::XfbBuffer).unwrap();
        let stride = get(variable, None, D::XfbStride).unwrap();
        let entry = buffers.entry(buffer).or_insert((stride, BTreeMap::new()));
        assert_eq!(entry.0, stride);
        entry.1.extend(fields);
    }
    buffers
}

#[test]
fn buffers_agree_with_the_decorations() {
    for shader in ProbeShader::all() {
        let described: BTreeMap<_, _> = (0..)
            .zip(shader.buffers)
            .map(|(buffer, b)| {
                (buffer, (b.stride, b.fields.iter().map(|f| (f.offset, f.size)).collect()))
            })
            .collect();
        assert_eq!(captured(&shader.words()), described, "{shader}");
    }
}

#[test]
fn a_record_writes_its_fields_and_nothing_else() {
    for shader in ProbeShader::all() {
        for (buffer, description) in shader.buffers.iter().enumerate() {
            let mut written = vec![false; description.stride as usize];
            for vertex in 0..64 {
                for fill in [0x00, 0xff] {
                    let mut record = vec![fill; written.len()];
                    shader.record(buffer, vertex / 3, vertex, &mut record);
                    for (written, byte) in written.iter_mut().zip(record) {
                        *written |= byte != fill;
                    }
                }
            }
            let mut expected = vec![false; written.len()];
            for f in description.fields {
                expected[f.offset as usize..(f.offset + f.size) as usize].fill(true);
            }
            assert_eq!(written, expected, "{shader} buffer {buffer}");
        }
    }
}

#[test]
fn attributes_lie_in_their_elements_and_are_all_filled() {
    for shader in ProbeShader::all() {
        let VertexInput { bindings, attributes } = &shader.vertex_input;
        for b in bindings {
            let one = shader.vertex_buffer(b.binding, 1).unwrap();
            let mut covered = vec![false; b.stride as usize];
            for a in attributes.iter().filter(|a| a.binding == b.binding) {
                let range = a.offset as usize..(a.offset + a.format.size()) as usize;
                covered[range].fill(true);
            }
            // Only dwords in gaps keep the fill pattern.
            for (word, covered) in one.chunks(4).zip(covered.chunks(4)) {
                assert_eq!(word != [0xcd; 4], covered == [true; 4], "{shader} {b:?}");
            }
        }
        assert!(attributes.iter().all(|a| shader.vertex_input.binding(a.binding).is_some()));
    }
}

/// Computes each record from the bytes of the vertex buffers, as the shader does, and compares it with
/// `ProbeShader::record`. The test does not use the formulas that filled the vertex buffers.
#[test]
fn attribute_records_follow_from_the_vertex_buffers() {
    let shader = ProbeShader::attributes();
    let (instances, vertices) = (3, 50);
    let buffer = |b| shader.vertex_buffer(b, vertices).unwrap();
    let bindings = BTreeMap::from([(0, buffer(0)), (1, buffer(1)), (3, buffer(3))]);
    for (instance, vertex) in (0..instances).flat_map(|i| (0..vertices).map(move |v| (i, v))) {
        let pull = |location: u32| -> Vec<u32> {
            let a = shader.vertex_input.attribute(location).unwrap();
            let b = shader.vertex_input.binding(a.binding).unwrap();
            let element = match b.input_rate {
                InputRate::Vertex => vertex,
                InputRate::Instance { .. } => instance,
            };
            let start = (element * b.stride + a.offset) as usize;
            (0..a.format.components() as usize)
                .map(|c| word(&bindings[&a.binding], start + c * 4).unwrap())
                .collect()
        };
        let float = f32::from_bits;
        let (position, key, offset) = (pull(0), pull(1), pull(2));
        let (weight, serial) = (float(pull(3)[0]), pull(4)[0]);
        let mut expected: Vec<u32> =
            position.iter().map(|x| (float(*x) + weight).to_bits()).collect();
        expected.extend(&key);
        expected.push((weight + (instance & 255) as f32).to_bits());
        expected.push(offset[0]);
        expected.push(offset[1].wrapping_sub(serial));
        expected.push(offset[2].wrapping_mul(3).wrapping_add(serial));
        expected.push((position[0] ^ key[1]).wrapping_add(tag(instance, vertex)));
        expected.push(0xcdcd_cdcd);
        expected.extend(&position[2..]);
        expected.push(serial);
        let mut record = [0xcd; 60];
        shader.record(0, instance, vertex, &mut record);
        let expected: Vec<u8> = expected.into_iter().flat_map(u32::to_le_bytes).collect();
        assert_eq!(record[..], expected, "instance {instance} vertex {vertex}");
    }
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..)?.first_chunk().map(|b| u32::from_le_bytes(*b))
}

/// Returns the instance and vertex that a record identifies, in this order. `None` if no vertex has this record.
/// Ignores gaps (bytes that no output covers).
fn origin(shader: &ProbeShader, buffer: usize, record: &[u8]) -> Option<(u32, u32)> {
    let (instance, vertex) = match (shader.formulas, buffer) {
        (Formulas::Identify, _) => (word(record, 4)?, word(record, 0)?),
        (Formulas::TwoBuffers, 0) => {
            // Any bits convert to a candidate for the vertex, because casts from float saturate. Further down, the
            // candidate's own record is compared with the given record.
            let half = |offset| Some(f32::from_bits(word(record, offset)?) as u16);
            let whole = |low, high| Some(u32::from(half(low)?) | u32::from(half(high)?) << 16);
            (whole(8, 12)?, whole(0, 4)?)
        }
        (Formulas::TwoBuffers, _) => (word(record, 8)?, word(record, 4)?),
        (Formulas::Attributes, _) => {
            (word(record, 28)? ^ OFFSET_SALT, word(record, 16)? ^ KEY_SALT)
        }
    };
    let mut expected = record.to_vec();
    shader.record(buffer, instance, vertex, &mut expected);
    (expected == record).then_some((instance, vertex))
}

proptest! {
    #[test]
    fn records_name_their_origin(instance: u32, vertex: u32, flip in 0..8u32, at: usize) {
        for shader in ProbeShader::all() {
            for (buffer, description) in shader.buffers.iter().enumerate() {
                let mut record = vec![0xcd; description.stride as usize];
                prop_assert_eq!(origin(&shader, buffer, &record), None);
                shader.record(buffer, instance, vertex, &mut record);
                prop_assert_eq!(origin(&shader, buffer, &record), Some((instance, vertex)));
                let at = at % record.len();
                record[at] ^= 1 << flip;
                let at = at as u32;
                let gap = !description.fields.iter().any(|f| (f.offset..f.offset + f.size).contains(&at));
                prop_assert_eq!(origin(&shader, buffer, &record).is_some(), gap);
                record.fill(0);
                prop_assert_eq!(origin(&shader, buffer, &record), None);
            }
        }
    }

    #[test]
    fn any_part_of_a_vertex_buffer_can_be_filled_alone(first in 0..40u32, count in 0..40u32) {
        let shader = ProbeShader::attributes();
        for b in &shader.vertex_input.bindings {
            let whole = shader.vertex_buffer(b.binding, 80).unwrap();
            let mut part = vec![0xcd; (count * b.stride) as usize + 3];
            shader.fill_binding(b.binding, first, &mut part);
            let start = (first * b.stride) as usize;
            let bytes = (count * b.stride) as usize;
            prop_assert_eq!(&part[..bytes], &whole[start..start + bytes]);
            prop_assert_eq!(&part[bytes..], &[0xcd; 3][..]);
        }
    }
}
