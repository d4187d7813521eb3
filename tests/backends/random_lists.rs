//! Random capture lists on a device: the native backend, with and without splitting of blocks, must
//! capture the same bytes as the other backends.

use spirv::BuiltIn;
use vkxfb_probe::gpu::Profile;
use vkxfb_rewriter::capture::{CaptureEntry, CaptureList, Layout, Selector};
use vkxfb_rewriter::lower::{Backend, LowerError, Shader, compute, native, vertex};
use vkxfb_rewriter::spirv::Module;
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::spirv::entry_point::find_vertex_shader;
use vkxfb_rewriter::vertex_input::VertexInput;
use vkxfb_translators::split_blocks::{self, split_blocks};
use vkxfb_translators::stream_output::{SlotLocations, StreamOutput, StreamOutputInfo};

use crate::common;
use crate::common::device::{capture, open};
use crate::common::skip::{Why, skip};

/// A shader with matrices, structures, a block, `Component` decorations and 64-bit outputs. All
/// values are exact.
const SHADER: &str = "#version 450
    struct Inner { mat2 matrix; float list[2]; };
    struct Outer { vec2 pair; Inner inner; };
    layout(location = 0) out vec4 colour;
    layout(location = 1) out mat2x3 matrix;
    layout(location = 3) out Outer outer;
    layout(location = 8) flat out dvec3 wide;
    layout(location = 10) out Block { vec2 a; flat uvec3 b; } block;
    layout(location = 12, component = 1) flat out ivec2 packed;
    out gl_PerVertex { vec4 gl_Position; float gl_PointSize; };
    void main() {
        uint v = gl_VertexIndex;
        uint i = gl_InstanceIndex;
        float x = float(v * 64u + i);
        gl_Position = vec4(x, x + 1.0, x + 2.0, x + 3.0);
        gl_PointSize = 1.0;
        colour = vec4(x + 4.0, x + 5.0, x + 6.0, x + 7.0);
        matrix = mat2x3(x + 8.0, x + 9.0, x + 10.0, x + 11.0, x + 12.0, x + 13.0);
        Inner inner = Inner(mat2(x + 14.0, x + 15.0, x + 16.0, x + 17.0), float[2](x + 18.0, 0.0));
        outer = Outer(vec2(x + 19.0, x + 20.0), inner);
        outer.inner.list[(v & 1u) == 0u ? 0 : 1] += 21.0;
        wide = dvec3(x + 22.0, x + 23.0, x + 24.0) / 4.0LF;
        block.a = vec2(x + 25.0, x + 26.0);
        block.b = uvec3(v, i, v ^ 0xffffffffu);
        packed = ivec2(-int(v), int(i) - 9);
        if ((v & 3u) == 3u) return;
        packed.x += 1000;
    }";

/// For each scalar, vector and matrix column: its location, first component, number of components,
/// and dwords per component.
const PIECES: [(u32, u32, u32, u32); 13] = [
    (0, 0, 4, 1),
    (1, 0, 3, 1),
    (2, 0, 3, 1),
    (3, 0, 2, 1),
    (4, 0, 2, 1),
    (5, 0, 2, 1),
    (6, 0, 1, 1),
    (7, 0, 1, 1),
    (8, 0, 4, 2),
    (9, 0, 2, 2),
    (10, 0, 2, 1),
    (11, 0, 3, 1),
    (12, 1, 2, 1),
];

/// A generator of numbers below a bound.
struct Random(u32);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 16) % bound
    }
}

/// Returns a list of records for two buffers: runs of whole pieces in their order, and parts of
/// pieces anywhere.
fn random_list(random: &mut Random) -> CaptureList {
    let mut captures = Vec::new();
    let mut strides = [None; 4];
    for (buffer, stride) in (0..2).zip(&mut strides) {
        let mut offset = 0;
        for _ in 0..1 + random.below(3) {
            let mut push = |offset: &mut u32, selector, dwords| {
                captures.push(CaptureEntry::new(selector, buffer, *offset));
                *offset += dwords * 4;
            };
            match random.below(4) {
                0 => {
                    let (component, components) = [(0, 4), (1, 2)][random.below(2) as usize];
                    let built_in = BuiltIn::Position;
                    let selector = Selector::BuiltIn { built_in, component, components };
                    push(&mut offset, selector, components);
                }
                1 => {
                    let (location, first, dwords, each) = PIECES[random.below(13) as usize];
                    let skip = random.below(dwords / each) * each;
                    let components = dwords - skip;
                    let component = first + skip;
                    let selector = Selector::Location { location, component, components };
                    push(&mut offset, selector, components);
                }
                _ => {
                    let first = random.below(12) as usize;
                    let last = (first + 1 + random.below(4) as usize).min(13);
                    for (location, component, components, each) in &PIECES[first..last] {
                        let selector = Selector::Location {
                            location: *location,
                            component: *component,
                            components: *components,
                        };
                        if *each == 2 && random.below(4) > 0 {
                            offset = offset.next_multiple_of(8);
                        }
                        push(&mut offset, selector, *components);
                    }
                }
            }
            offset += random.below(3) * 4;
        }
        *stride = Some(offset.next_multiple_of(8));
    }
    CaptureList::default().captures(captures).strides(strides)
}

/// Converts a list to stream outputs, which are split at every fourth component of a location and
/// at random places.
fn records(random: &mut Random, list: &CaptureList) -> StreamOutputInfo {
    let mut outputs = Vec::new();
    for capture in &list.captures {
        // gl_Position and gl_PointSize are registers 0 and 1; all locations are written.
        let (mut register, mut component, mut left) = match capture.selector {
            Selector::Location { location, component, components } => {
                (location + 2, component, components)
            }
            Selector::BuiltIn { component, components, .. } => (0, component, components),
            Selector::Name(_) => unreachable!("the lists have no names"),
        };
        let mut dst_offset = capture.offset / 4;
        while left > 0 {
            let most = left.min(4 - component);
            let num_components = 1 + random.below(most);
            outputs.push(StreamOutput {
                register_index: register,
                start_component: component,
                num_components,
                output_buffer: capture.buffer,
                dst_offset,
                stream: 0,
            });
            (dst_offset, left) = (dst_offset + num_components, left - num_components);
            component += num_components;
            if component == 4 {
                (register, component) = (register + 1, 0);
            }
        }
    }
    for index in (1..outputs.len()).rev() {
        outputs.swap(index, random.below(index as u32 + 1) as usize);
    }
    let strides = list.strides.map(|stride| stride.unwrap_or(0) / 4);
    let locations = SlotLocations::Unpacked;
    StreamOutputInfo { outputs, strides, locations, outputs_written: None }
}

/// For each captured dword: its buffer, its offset, its variable, and its path, which also names
/// the component and the dword within that.
fn dwords(layout: &Layout) -> Vec<(u32, u32, u32, Vec<u32>)> {
    let mut dwords = Vec::new();
    for o in &layout.outputs {
        for dword in 0..o.dwords() {
            // The same for a vector, whether captured as a whole or component by component.
            let (each, mut path) = (o.bits / 32, o.path.clone());
            if o.components > 1 {
                path.push(dword / each);
            }
            path.push(dword % each);
            dwords.push((o.buffer, o.offset + dword * 4, o.variable.0, path));
        }
    }
    dwords
}

#[test]
fn native_captures_of_lists_are_those_of_the_other_backends() {
    let mut gpu = open(Profile::Full);
    let backends = gpu.backends().to_vec();
    if !backends.contains(&Backend::Native) || !gpu.capabilities().shader_float64 {
        skip(Why::Expected("the device has no transform feedback, or no shaderFloat64"));
        return;
    }
    let words = common::compile(SHADER, &[]);
    let module = Module::parse(&words).unwrap();
    let (declarations, entry) =
        (Declarations::of(&module), find_vertex_shader(&module, None).unwrap());
    let split = split_blocks(&words, &split_blocks::SplitOptions::default()).unwrap().words;
    common::validate(&split, "vulkan1.0");
    let vertex_input = VertexInput::default();
    let options = compute::Options::new(&vertex_input);
    let mut random = Random(1);
    let (mut inlined, mut explicit, mut over_budget) = (0, 0, 0);
    for _ in 0..24 {
        // The same as records, half of the time.
        let mut list = random_list(&mut random);
        let from_records = records(&mut random, &list)
            .list_of(&module, &declarations, &entry)
            .unwrap_or_else(|error| panic!("{error}: {list:?}"));
        let layout = |list| Layout::from_list(&declarations, &entry, list).unwrap();
        assert_eq!(dwords(&layout(&from_records)), dwords(&layout(&list)));
        if random.below(2) == 0 {
            list = from_records;
        }
        let of = |words| Shader::new(words).captures(&list);
        let expected = match compute::lower(&of(&words), &options) {
            Ok(lowered) => capture(&mut gpu, &lowered),
            Err(error) => panic!("{error}: {list:?}"),
        };
        if backends.contains(&Backend::Vertex) {
            let found = capture(&mut gpu, &vertex::lower(&of(&words)).unwrap());
            assert!(found == expected, "vertex: {list:?}");
        }
        for (what, words) in [("whole", &words), ("split", &split)] {
            let max_output_components = gpu.capabilities().limits.max_vertex_output_components;
            let options =
                native::EmitOptions::new(&list).max_output_components(max_output_components);
            match native::emit(words, &options) {
                Ok(emitted) => {
                    common::validate(&emitted.lowered.words, "vulkan1.0");
                    let found = capture(&mut gpu, &emitted.lowered);
                    assert!(found == expected, "{what}: {list:?}\n{emitted:?}");
                    inlined += emitted.inlined;
                    explicit += emitted.explicit;
                }
                Err(LowerError::LocationBudget { .. }) => over_budget += 1,
                Err(error) => panic!("{what}: {error}: {list:?}"),
            }
        }
    }
    assert!(inlined > 20 && explicit > 20 && over_budget < 8, "{inlined} {explicit} {over_budget}");
}
