//! Captures of shaders with untyped pointers (`SPV_KHR_untyped_pointers`) to push constants, and to the heap itself
//! (`SPV_EXT_descriptor_heap`). glslang does not write them, so modules are rewritten.

use ash::vk;

use super::{Device, graphics_pipeline, heaps, mappings_of};
use crate::common::{self, attachment, layer};

const SHADER: &str = "#version 450
    layout(set = 0, binding = 0) uniform Values { uint value; };
    layout(push_constant) uniform Block { uint pushed[2]; uint first; mat2 matrix; };
    layout(location = 0, xfb_buffer = 0, xfb_stride = 8, xfb_offset = 0) out flat uint captured;
    layout(location = 1, xfb_buffer = 0, xfb_stride = 8, xfb_offset = 4) out flat float number;
    void main() {
        captured = value + pushed[(first + gl_VertexIndex) % 2];
        number = matrix[1].x;
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

/// Opcodes, capabilities, decorations and storage classes.
mod op {
    pub const NAME: u32 = 5;
    pub const EXTENSION: u32 = 10;
    pub const MEMORY_MODEL: u32 = 14;
    pub const ENTRY_POINT: u32 = 15;
    pub const CAPABILITY: u32 = 17;
    pub const TYPE_RUNTIME_ARRAY: u32 = 29;
    pub const TYPE_POINTER: u32 = 32;
    pub const CONSTANT: u32 = 43;
    pub const FUNCTION: u32 = 54;
    pub const VARIABLE: u32 = 59;
    pub const ACCESS_CHAIN: u32 = 65;
    pub const DECORATE: u32 = 71;
    pub const TYPE_UNTYPED_POINTER: u32 = 4417;
    pub const UNTYPED_VARIABLE: u32 = 4418;
    pub const UNTYPED_ACCESS_CHAIN: u32 = 4419;
    pub const TYPE_BUFFER: u32 = 5115;
    pub const BUFFER_POINTER: u32 = 5119;

    pub const UNTYPED_POINTERS: u32 = 4473;
    pub const DESCRIPTOR_HEAP: u32 = 5128;
    pub const BUILT_IN: u32 = 11;
    pub const ARRAY_STRIDE: u32 = 6;
    pub const RESOURCE_HEAP: u32 = 5123;
    pub const UNIFORM_CONSTANT: u32 = 0;
    pub const UNIFORM: u32 = 2;
    pub const PUSH_CONSTANT: u32 = 9;
}

/// The instructions of a module: opcodes with operands.
fn instructions(words: &[u32]) -> Vec<(u32, Vec<u32>)> {
    let (mut all, mut at) = (Vec::new(), 5);
    while at < words.len() {
        let length = (words[at] >> 16) as usize;
        all.push((words[at] & 0xffff, words[at + 1..at + length].to_vec()));
        at += length;
    }
    all
}

fn string(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(text.len() / 4 * 4 + 4, 0);
    bytes.chunks(4).map(|chunk| u32::from_le_bytes(chunk.try_into().unwrap())).collect()
}

/// Rewrites the shader so that it has untyped pointers to push constants and, with `slot` and the size of a descriptor,
/// reads the uniform buffer through a pointer to that slot of the heap, without a mapping.
fn with_untyped_pointers(words: &[u32], slot: Option<(u32, u32)>) -> Vec<u32> {
    let all = instructions(words);
    let variable_of = |class: u32| {
        let found =
            all.iter().find(|(op, words)| *op == op::VARIABLE && words[2] == class).unwrap();
        let pointer = all
            .iter()
            .find(|(op, words)| *op == op::TYPE_POINTER && words[0] == found.1[0])
            .unwrap();
        (found.1[1], pointer.1[2])
    };
    let (constants, block) = variable_of(op::PUSH_CONSTANT);
    let (uniforms, values) = variable_of(op::UNIFORM);
    let mut bound = words[3];
    let mut fresh = || {
        bound += 1;
        bound - 1
    };
    let [to_constants, to_heap, to_uniforms, heap, buffer, array, index] =
        [(); 7].map(|()| fresh());
    let uint = all.iter().find(|(op, words)| *op == 21 && words[1..] == [32, 0]).unwrap().1[0];
    let mut out: Vec<(u32, Vec<u32>)> = Vec::new();
    for (op, mut operands) in all.clone() {
        match op {
            op::MEMORY_MODEL => {
                out.push((op::CAPABILITY, vec![op::UNTYPED_POINTERS]));
                if slot.is_some() {
                    out.push((op::CAPABILITY, vec![op::DESCRIPTOR_HEAP]));
                }
                out.sort_by_key(|(op, _)| *op != op::CAPABILITY);
                out.push((op::EXTENSION, string("SPV_KHR_untyped_pointers")));
                if slot.is_some() {
                    out.push((op::EXTENSION, string("SPV_EXT_descriptor_heap")));
                }
                out.sort_by_key(|(op, _)| match *op {
                    op::CAPABILITY => 0,
                    op::EXTENSION => 1,
                    _ => 2,
                });
            }
            op::ENTRY_POINT if slot.is_some() => {
                operands.iter_mut().filter(|id| **id == uniforms).for_each(|id| *id = heap);
            }
            op::NAME | op::DECORATE if slot.is_some() && operands[0] == uniforms => continue,
            op::VARIABLE if operands[1] == constants => {
                let class = op::PUSH_CONSTANT;
                out.push((op::TYPE_UNTYPED_POINTER, vec![to_constants, class]));
                let words = vec![to_constants, constants, class, block];
                out.push((op::UNTYPED_VARIABLE, words));
                continue;
            }
            op::VARIABLE if operands[1] == uniforms && slot.is_some() => {
                let (class, number) = (op::UNIFORM_CONSTANT, slot.unwrap().0);
                out.push((op::TYPE_UNTYPED_POINTER, vec![to_heap, class]));
                out.push((op::UNTYPED_VARIABLE, vec![to_heap, heap, class]));
                out.push((op::TYPE_BUFFER, vec![buffer, op::UNIFORM]));
                out.push((op::TYPE_RUNTIME_ARRAY, vec![array, buffer]));
                out.push((op::TYPE_UNTYPED_POINTER, vec![to_uniforms, op::UNIFORM]));
                out.push((op::CONSTANT, vec![uint, index, number]));
                continue;
            }
            op::ACCESS_CHAIN if operands[2] == constants => {
                let words = [&[to_constants, operands[1], block], &operands[2..]].concat();
                out.push((op::UNTYPED_ACCESS_CHAIN, words));
                continue;
            }
            op::ACCESS_CHAIN if operands[2] == uniforms && slot.is_some() => {
                let [descriptor, pointer] = [(); 2].map(|()| fresh());
                out.push((op::UNTYPED_ACCESS_CHAIN, vec![to_heap, descriptor, array, heap, index]));
                out.push((op::BUFFER_POINTER, vec![to_uniforms, pointer, descriptor]));
                let words = [&[to_uniforms, operands[1], values, pointer], &operands[3..]].concat();
                out.push((op::UNTYPED_ACCESS_CHAIN, words));
                continue;
            }
            _ => {}
        }
        out.push((op, operands));
    }
    if let Some((_, size)) = slot {
        let first = out.iter().position(|(op, _)| *op == op::DECORATE).unwrap();
        out.insert(first, (op::DECORATE, vec![heap, op::BUILT_IN, op::RESOURCE_HEAP]));
        out.insert(first, (op::DECORATE, vec![array, op::ARRAY_STRIDE, size]));
    }
    assert!(out.iter().any(|(op, _)| *op == op::FUNCTION));
    let mut rewritten = words[..5].to_vec();
    rewritten[3] = bound;
    for (op, operands) in out {
        rewritten.push((operands.len() as u32 + 1) << 16 | op);
        rewritten.extend(operands);
    }
    rewritten
}

fn run(reads_heap: bool) {
    const SLOT: u32 = 3;
    const POINTS: u32 = 4;
    let Some(mut device) = Device::open() else { return };
    use vk::BufferUsageFlags2KHR as Usage2;
    let program = &mut device.program;
    let usage = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT;
    let (target, captured) = program.buffer(2 * POINTS as usize, usage);
    let (_, value, value_at) = program.buffer_with_address(4, Usage2::UNIFORM_BUFFER);
    let (_, heap, heap_at) = program.buffer_with_address(1024, heaps::USAGE);
    let raw = &device.program.raw;
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        value.write(100);
        let descriptor = device.descriptor();
        let place = heap.byte_add((SLOT * descriptor) as usize).cast();
        device.put(place, vk::DescriptorType::UNIFORM_BUFFER, value_at, 16);
        let words = common::compile(SHADER, &["--target-env", "vulkan1.2"]);
        let words = with_untyped_pointers(&words, reads_heap.then_some((SLOT, descriptor)));
        let all = if reads_heap {
            Vec::new()
        } else {
            vec![super::constant_mapping(0, 0, SLOT * descriptor)]
        };
        let shaders = [(vk::ShaderStageFlags::VERTEX, &words[..], &mappings_of(&all))];
        let pipeline = graphics_pipeline(raw, &shaders, vk::PrimitiveTopology::POINT_LIST);
        let stage = vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT;
        let xfb = device.program.xfb();
        let bound = device.resources_at(heap_at, 4 * 1024);
        device.program.submit((stage, vk::AccessFlags::TRANSFORM_FEEDBACK_WRITE_EXT), |cmd| {
            (device.bind_resources)(cmd, &raw const bound);
            let mut data = [0; 32];
            // The matrix begins at byte 16, after `pushed` and `first`, and its columns are 8 bytes apart.
            for (at, word) in [(0, 10), (4, 20), (8, 1), (24, 2.5_f32.to_bits())] {
                data[at..at + 4].copy_from_slice(&u32::to_le_bytes(word));
            }
            device.push_data(cmd, 0, &data);
            raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            attachment::begin_rendering(raw, cmd);
            xfb.bind_target(cmd, target, 0, u64::from(8 * POINTS));
            xfb.begin(cmd);
            raw.cmd_draw(cmd, POINTS, 1, 0, 0);
            xfb.end(cmd);
            raw.cmd_end_rendering(cmd);
        });
        let captured = std::slice::from_raw_parts(captured, 2 * POINTS as usize);
        let expected: Vec<u32> =
            [120, 110, 120, 110].into_iter().flat_map(|n| [n, 2.5_f32.to_bits()]).collect();
        assert_eq!(captured, expected, "reads the heap: {reads_heap}");
        raw.destroy_pipeline(pipeline, None);
    }
}

#[test]
fn untyped_pointers_are_followed() {
    run(false);
    run(true);
}

#[test]
fn untyped_pointers_are_followed_on_the_layer() {
    layer::run_on_it(untyped_pointers_are_followed, &[]);
}
