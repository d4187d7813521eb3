//! Shaders that make visible how often they run, and which invocations run together: a compute
//! capture runs them only for vertices that exist.

use std::collections::BTreeMap;

use ash::vk;
use vkxfb::lower::{Backend, Lowered, Shader, compute};
use vkxfb::runtime::Draw;
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::VertexInput;
use vkxfb_probe::gpu::{OpenOptions, Resources};

use crate::common;
use crate::common::descriptor_set::DescriptorSet;
use crate::common::device::{Draws, lower_on, open_with};
use crate::common::test_device::TestDevice;

const COMPUTE: Backend = Backend::Compute;

/// Counts the runs for each vertex (modulo 16) and instance (modulo 4) in 64 dwords. The draws have
/// fewer vertices and instances, so that a run for any other vertex is noticed.
const COUNTS: &str = "#version 450
    layout(set = 0, binding = 0) buffer Counts { uint counts[64]; };
    layout(location = 0, xfb_buffer = 0, xfb_stride = 8, xfb_offset = 0) flat out uvec2 captured;
    void main() {
        atomicAdd(counts[16 * (gl_InstanceIndex & 3) + (gl_VertexIndex & 15)], 1);
        captured = uvec2(gl_VertexIndex, gl_InstanceIndex);
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

/// The number of runs by vertex and instance, without those that never ran.
type Runs = BTreeMap<(u32, u32), u32>;

/// Captures draws of [`COUNTS`], and returns the runs of its shader.
fn runs(
    gpu: &mut TestDevice,
    backend: Backend,
    topology: PrimitiveTopology,
    draws: &[Draw],
) -> Runs {
    let words = common::compile(COUNTS, &[]);
    let vertex_input = VertexInput::default();
    let shader = Shader::new(&words);
    // It has a descriptor set of its own.
    let lowered = match backend {
        COMPUTE => {
            let target = gpu.compute_target(backend).unwrap();
            compute::lower(&shader, &compute::Options::new(&vertex_input).target(target)).unwrap()
        }
        backend => lower_on(gpu, backend, &shader, &vertex_input),
    };
    let counted = counted(gpu, &lowered, topology, draws).into_iter();
    (0u32..).zip(counted).filter(|(_, n)| *n > 0).map(|(at, n)| ((at % 16, at / 16), n)).collect()
}

/// Captures draws, and returns the 64 dwords of the shader's buffer, which are 0 before the draws.
fn counted(
    gpu: &mut TestDevice,
    lowered: &Lowered,
    topology: PrimitiveTopology,
    draws: &[Draw],
) -> Vec<u32> {
    let counts = gpu.filled(vk::BufferUsageFlags::STORAGE_BUFFER, &[0_u32; 64]);
    let set = DescriptorSet::new(gpu, vk::DescriptorType::STORAGE_BUFFER);
    // SAFETY: the buffer is one of storage, and nothing was submitted.
    unsafe { set.write(gpu.context().device(), counts.raw()) };
    let request = Draws {
        lowered,
        vertex_input: &VertexInput::default(),
        vertex_data: &[],
        sets: &[&set],
        push_constants: &[],
        topology,
        draws,
    };
    request.capture(gpu);
    gpu.contents(&counts)
}

/// A device with a dispatch for each draw, and with the kernels of GPUs.
fn of_draws() -> OpenOptions {
    OpenOptions { max_shared_workgroups: Some(0), parallel_kernels: true, ..Default::default() }
}

/// Devices with very different pipelines: with and without staging, with a dispatch for each draw,
/// with descriptors, and with shaders that are not optimized.
fn devices() -> [OpenOptions; 5] {
    [
        OpenOptions::default(),
        OpenOptions { staging: Some(4096), ..of_draws() },
        of_draws(),
        OpenOptions { resources: Resources::Descriptors, ..Default::default() },
        OpenOptions { unoptimized: true, ..Default::default() },
    ]
}

const fn draw(first_vertex: u32, vertex_count: u32, instance_count: u32) -> Draw {
    Draw { vertex_count, instance_count, first_vertex, first_instance: 0 }
}

/// Points share no vertices, so a driver has no reason to shade a vertex more than once.
#[test]
fn points_run_as_often_as_natively() {
    let five = [draw(3, 5, 1)];
    let expected: Runs = (3..8).map(|vertex| ((vertex, 0), 1)).collect();
    for options in devices() {
        let mut gpu = open_with(options.clone());
        for backend in [Backend::Native, COMPUTE] {
            if gpu.backends().contains(&backend) {
                let found = runs(&mut gpu, backend, PrimitiveTopology::PointList, &five);
                assert_eq!(found, expected, "{backend}, {options:?}");
            }
        }
    }
}

/// Tests what the guide says in "How often a vertex is shaded" (`limits`).
#[test]
fn every_vertex_of_a_primitive_runs_once_but_for_hubs() {
    // Workgroups are never full.
    let several = [draw(0, 7, 3), draw(7, 8, 1)];
    for options in devices() {
        let mut gpu = open_with(options.clone());
        for topology in PrimitiveTopology::ALL {
            let found = runs(&mut gpu, COMPUTE, topology, &several);
            let what = format!("{topology}, {options:?}: {found:?}");
            let mut expected = BTreeMap::new();
            for Draw { first_vertex, vertex_count, instance_count, .. } in several {
                for instance in 0..instance_count {
                    for output in 0..topology.output_count(vertex_count) {
                        let vertex = topology.gather(ProvokingVertex::First, output) as u32;
                        let hubs = topology == PrimitiveTopology::TriangleFan && vertex == 0;
                        expected.insert((first_vertex + vertex, instance), hubs);
                    }
                }
            }
            let last = several.iter().map(|draw| draw.vertex_count).max().unwrap();
            for (vertex, is_hub) in &expected {
                let runs = found.get(vertex).copied().unwrap_or_default();
                let most = if *is_hub { last } else { 1 };
                assert!((1..=most).contains(&runs), "{vertex:?} ran {runs} times, {what}");
            }
            // Vertices between those of adjacency may run, too.
            let drawn = |(vertex, instance): &(u32, u32)| {
                several.iter().any(|draw| {
                    (draw.first_vertex..draw.first_vertex + draw.vertex_count).contains(vertex)
                        && *instance < draw.instance_count
                })
            };
            assert!(found.keys().all(drawn), "{what}");
        }
    }
}

/// The side effects of a geometry shader, and of the vertex shader before it: in the branches of a
/// selection whose result is a phi, in a loop, one after the other, and in a function.
const EFFECTS: [&str; 2] = [
    "#version 450
    layout(set = 0, binding = 0) buffer Counts { uint counts[64]; };
    void main() { atomicAdd(counts[8 + gl_VertexIndex], 1); gl_Position = vec4(0.0); }",
    "#version 450
    layout(points) in;
    layout(points, max_vertices = 8) out;
    layout(set = 0, binding = 0) buffer Counts { uint counts[64]; };
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) flat out uint captured;
    void count(uint at) { counts[at] = counts[at] + 1; }
    void main() {
        bool isOdd = gl_PrimitiveIDIn % 2 == 1 && (atomicOr(counts[1], 1 << gl_PrimitiveIDIn), counts[63] == 0);
        uint emitted = isOdd ? 2 : 1;
        for (uint i = 0; i < emitted; i++) {
            atomicAdd(counts[0], 1);
            captured = i;
            EmitVertex();
        }
        count(16 + gl_PrimitiveIDIn);
        count(16 + gl_PrimitiveIDIn);
        atomicMin(counts[2], 0);
        // Its result decides, so it cannot be left out.
        if (atomicAdd(counts[3], 1) > 1000) EmitVertex();
    }",
];

/// The emitted primitives are counted first and then stored. Side effects must happen only when
/// they are stored.
#[test]
fn side_effects_of_geometry_shaders_happen_once() {
    let vertex = common::compile(EFFECTS[0], &[]);
    let words = common::compile_stage("geom", EFFECTS[1], &[]);
    let (vertex, vertex_input) = (Shader::new(&vertex), VertexInput::default());
    for options in devices() {
        let mut gpu = open_with(options.clone());
        let target = gpu.compute_target(COMPUTE).unwrap();
        let lowering = compute::Options::new(&vertex_input).vertex_shader(&vertex).target(target);
        let lowered = compute::lower(&Shader::new(&words), &lowering).unwrap();
        assert_eq!(lowered.geometry().unwrap().primitives, None, "it is counted");
        common::validate(&lowered.specialized(&[]).unwrap(), "vulkan1.2");
        let found = counted(&mut gpu, &lowered, PrimitiveTopology::PointList, &[draw(0, 5, 1)]);
        let mut expected = vec![0; 64];
        expected[..4].copy_from_slice(&[5 + 2, 0b01010, 0, 2 * 5]);
        expected[8..13].fill(1);
        expected[16..21].fill(2);
        assert_eq!(found, expected, "{options:?}");
    }
}

/// The shaders run for each stream that is captured, but their side effects must happen once.
#[test]
fn side_effects_of_several_streams_happen_once() {
    let vertex = common::compile(EFFECTS[0], &[]);
    let geometry = "#version 450
        layout(points) in;
        layout(points, max_vertices = 3) out;
        layout(set = 0, binding = 0) buffer Counts { uint counts[64]; };
        layout(stream = 2, location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) flat out uint second;
        layout(stream = 1, location = 1, xfb_buffer = 1, xfb_stride = 4, xfb_offset = 0) flat out uint first;
        void main() {
            atomicAdd(counts[0], 1);
            second = 1;
            EmitStreamVertex(2);
            first = 2;
            if (CONDITION) EmitStreamVertex(1);
        }";
    let cases = [("gl_PrimitiveIDIn % 2 == 0", None), ("true", Some(1))];
    let (vertex, vertex_input) = (Shader::new(&vertex), VertexInput::default());
    let cases = cases.iter().flat_map(|case| devices().map(|options| (options, *case)));
    for (options, (condition, primitives)) in cases {
        let geometry = geometry.replace("CONDITION", condition);
        let words = common::compile_stage("geom", &geometry, &[]);
        let mut gpu = open_with(options.clone());
        let target = gpu.compute_target(COMPUTE).unwrap();
        let lowering = compute::Options::new(&vertex_input).vertex_shader(&vertex).target(target);
        let lowered = compute::lower(&Shader::new(&words), &lowering).unwrap();
        assert_eq!(lowered.geometry().unwrap().primitives, primitives);
        let found = counted(&mut gpu, &lowered, PrimitiveTopology::PointList, &[draw(0, 5, 1)]);
        let mut expected = vec![0; 64];
        expected[0] = 5;
        expected[8..13].fill(1);
        assert_eq!(found, expected, "{options:?}");
    }
}

/// Subgroups must contain only the invocations of vertices.
#[test]
fn subgroup_operations_see_vertices_alone() {
    let words = common::compile(
        "#version 450
        #extension GL_KHR_shader_subgroup_arithmetic : require
        layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) flat out uint sum;
        void main() {
            sum = subgroupAdd(1);
            gl_Position = vec4(0.0);
        }",
        &["--target-env", "vulkan1.1"],
    );
    for options in devices() {
        let mut gpu = open_with(options.clone());
        let lowered = lower_on(&gpu, COMPUTE, &Shader::new(&words), &VertexInput::default());
        for topology in [PrimitiveTopology::TriangleList, PrimitiveTopology::TriangleStrip] {
            let request = Draws {
                lowered: &lowered,
                vertex_input: &VertexInput::default(),
                vertex_data: &[],
                sets: &[],
                push_constants: &[],
                topology,
                draws: &[draw(0, 3, 1)],
            };
            let found = request.capture(&mut gpu).remove(0).unwrap();
            // Every device has subgroups of 4 at least.
            assert_eq!(found, [3u32; 3].map(u32::to_le_bytes).concat(), "{topology}, {options:?}");
        }
    }
}
