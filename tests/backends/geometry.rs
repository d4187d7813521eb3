//! Geometry shaders that are captured by compute: the records must be those that the source emits.
//! `tests/geometry` compares random geometry shaders with the driver's own captures.

use ash::vk;
use vkxfb::Shader;
use vkxfb::capture::CaptureList;
use vkxfb::lower::{Backend, compute};
use vkxfb::runtime::{
    ArenaDesc, Capture, CaptureBuffer, CaptureDesc, ConsumerScope, CounterBuffer, Draw,
    IndirectDraw, PipelineDesc, PipelineUse, Recorder,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::VertexInput;
use vkxfb_probe::gpu::{CaptureRequest, CaptureTarget, OpenOptions};

use crate::common;
use crate::common::descriptor_set::DescriptorSet;
use crate::common::device;

const VERTEX: &str = "#version 450
    layout(location = 0) flat out uvec2 id;
    void main() { id = uvec2(gl_VertexIndex, gl_InstanceIndex); gl_Position = vec4(0.0); }";

/// Emits the vertices of its primitive as one line strip. For odd primitives it also emits a single
/// point, which is not a line.
fn geometry(primitive: &str, vertices: u32) -> String {
    format!(
        "#version 450
        layout({primitive}, invocations = 2) in;
        layout(line_strip, max_vertices = 8) out;
        layout(location = 0) flat in uvec2 id[];
        layout(location = 0, xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0) flat out uvec4 found;
        void emit(uint slot) {{
            found = uvec4(id[slot], gl_PrimitiveIDIn, gl_InvocationID);
            EmitVertex();
        }}
        void main() {{
            for (uint slot = 0u; slot < {vertices}u; slot++) emit(slot);
            EndPrimitive();
            if (gl_PrimitiveIDIn % 2 == 1) emit(0u);
        }}"
    )
}

/// Returns the records that a draw must capture.
fn expected(topology: PrimitiveTopology, provoking: ProvokingVertex, draw: &Draw) -> Vec<u32> {
    let primitives = topology.primitive_count(draw.vertex_count);
    let mut words = Vec::new();
    for instance in 0..draw.instance_count {
        for primitive in 0..primitives {
            for invocation in 0..2 {
                for line in 1..topology.input_vertices() {
                    for slot in [line - 1, line] {
                        let vertex = topology.assemble(provoking, primitives, primitive, slot);
                        words.extend([
                            draw.first_vertex + vertex as u32,
                            draw.first_instance + instance,
                            primitive as u32,
                            invocation,
                        ]);
                    }
                }
            }
        }
    }
    words
}

#[test]
fn primitives_of_each_topology_are_assembled() {
    for resources in device::RESOURCES {
        let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        let vertex = common::compile(VERTEX, &[]);
        let vertex = Shader::new(&vertex);
        let vertex_input = VertexInput::default();
        for topology in PrimitiveTopology::ALL {
            let (primitive, vertices) = match topology.input_vertices() {
                2 => ("lines", 2),
                4 => ("lines_adjacency", 4),
                3 => ("triangles", 3),
                6 => ("triangles_adjacency", 6),
                _ => continue,
            };
            let words = common::compile_stage("geom", &geometry(primitive, vertices), &[]);
            let target = gpu.compute_target(Backend::Compute).unwrap();
            let options =
                compute::Options::new(&vertex_input).vertex_shader(&vertex).target(target);
            let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
            common::validate(&lowered.specialized(&[]).unwrap(), "vulkan1.2");
            for provoking in ProvokingVertex::ALL {
                let desc = PipelineDesc {
                    topology: Some(topology.into()),
                    provoking_vertex: provoking,
                    ..PipelineDesc::new(&lowered)
                };
                let pipeline = gpu.pipeline(&desc);
                let draw = |vertex_count, instance_count| Draw {
                    vertex_count,
                    instance_count,
                    first_vertex: 5,
                    first_instance: 7,
                };
                let draws = [draw(25, 2), draw(1, 3), draw(400, 1), draw(12, 1)];
                let expected: Vec<u32> = draws
                    .iter()
                    .flat_map(|draw| expected(topology, provoking, draw))
                    .chain([0xa5a5_a5a5; 8])
                    .collect();
                let initial = vec![0xa5; 4 * expected.len()];
                let size = initial.len() as u64 - 32;
                let target = CaptureTarget { initial: &initial, offset: 0, size };
                let request = CaptureRequest {
                    pipeline: &pipeline,
                    vertex_data: &[],
                    descriptor_sets: &[],
                    push_constants: &[],
                    draws: &draws.map(|draw| (topology, draw)),
                    buffers: &[Some(target)],
                    indices: &[],
                    counters: false,
                };
                // SAFETY: the pipeline is of this device.
                let found = unsafe { gpu.capture(&[request]) }.unwrap().remove(0).buffers.remove(0);
                let found = found.unwrap();
                let dwords =
                    found.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap()));
                let found: Vec<u32> = dwords.collect();
                let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
                if let Some(at) = differs {
                    let at = at / 4 * 4;
                    panic!(
                        "{topology}, {provoking}, {resources:?}: record {}: {:?}, not {:?}",
                        at / 4,
                        &found[at..at + 8],
                        &expected[at..at + 8]
                    );
                }
            }
        }
    }
}

/// Captures in one command buffer share the memory for the counts of entries.
#[test]
fn a_thousand_indirect_captures_stay_small() {
    const CAPTURES: u64 = 1000;
    let mut gpu = device::open_with(OpenOptions::default());
    let vertex = common::compile(VERTEX, &[]);
    let words = common::compile_stage("geom", &geometry("triangles", 3), &[]);
    let (vertex, vertex_input) = (Shader::new(&vertex), VertexInput::default());
    let target = gpu.compute_target(Backend::Compute).unwrap();
    let options = compute::Options::new(&vertex_input).vertex_shader(&vertex).target(target);
    let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
    let pipeline = gpu.pipeline(&PipelineDesc::new(&lowered));

    let ctx = gpu.context();
    let usage = ctx.buffer_usages(Backend::Compute).capture
        | ctx.buffer_usages(Backend::Compute).indirect
        | ctx.buffer_usages(Backend::Compute).counter;
    // A counter, the arguments of a draw of two triangles, and what they emit: each invocation a line of three
    // vertices, that is two lines, and a point more.
    let each: u64 = 2 * 2 * 2 * 2 * 16;
    let memory = gpu.buffer(64 + CAPTURES * each, usage);
    let mut words = [0u32; 16];
    words[4..8].copy_from_slice(&[6, 1, 0, 0]);
    gpu.write(&memory, 0, bytemuck::cast_slice(&words)).unwrap();
    let used = PipelineUse {
        pipeline: &pipeline,
        binds: CAPTURES,
        draws: CAPTURES,
        primitives: 0,
        unknown_draws: CAPTURES,
    };
    let desc = ArenaDesc { pipelines: &[used], ..ArenaDesc::new(CAPTURES, CAPTURES) };
    let mut arena = gpu.arena(desc);
    let kernels = gpu.kernels();
    let buffer = memory.raw();
    gpu.submit(|ctx, cmd| {
        let buffers = [Some(CaptureBuffer { buffer, offset: 64, size: CAPTURES * each })];
        let counters = [Some(CounterBuffer { buffer, offset: 0 })];
        let desc =
            CaptureDesc { buffers: &buffers, counters: &counters, ..CaptureDesc::new(&pipeline) };
        for _ in 0..CAPTURES {
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                let mut capture = Capture::new(ctx, &kernels);
                let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                let draw =
                    IndirectDraw { buffer, offset: 16, draw_count: 1, stride: 16, count: None };
                recorder.draw_indirect(PrimitiveTopology::TriangleList, &draw)?;
                recorder.end(&counters)?;
                ctx.capture_barrier(cmd, Backend::Compute, ConsumerScope::HOST);
            }
        }
        Ok(())
    })
    .unwrap();
    let used = arena.used().scratch;
    assert!((2 << 20..16 << 20).contains(&used), "{used} bytes");
    let found = gpu.read(&memory, 0..4).unwrap();
    assert_eq!(u32::from_le_bytes(found.try_into().unwrap()), (CAPTURES * each) as u32);
}

/// Captures `count` points. `value` is the content of the storage buffer at binding 0 of set 0.
fn capture_points(
    vertex: &[u32],
    geometry: &Shader<'_>,
    count: u32,
    value: Option<u32>,
    bytes: usize,
) -> Vec<u32> {
    let mut gpu = device::open_with(OpenOptions::default());
    let vertex = Shader::new(vertex);
    let vertex_input = VertexInput::default();
    let target = gpu.compute_target(Backend::Compute).unwrap();
    let options = compute::Options::new(&vertex_input).vertex_shader(&vertex).target(target);
    let lowered = compute::lower(geometry, &options).unwrap();
    common::validate(&lowered.specialized(&[]).unwrap(), "vulkan1.2");
    let bound = value.map(|value| {
        let buffer = gpu.filled(vk::BufferUsageFlags::STORAGE_BUFFER, &[value; 4]);
        let set = DescriptorSet::new(&gpu, vk::DescriptorType::STORAGE_BUFFER);
        // SAFETY: the buffer is one of storage, and nothing was submitted.
        unsafe { set.write(gpu.context().device(), buffer.raw()) };
        (set, buffer)
    });
    let layouts: Vec<_> = bound.iter().map(|(set, _)| set.layout).collect();
    let sets: Vec<_> = bound.iter().map(|(set, _)| set.raw).collect();
    let topology = PrimitiveTopology::PointList;
    let desc = PipelineDesc {
        topology: Some(topology.into()),
        set_layouts: &layouts,
        ..PipelineDesc::new(&lowered)
    };
    let pipeline = gpu.pipeline(&desc);
    let draw = Draw { vertex_count: count, instance_count: 1, first_vertex: 0, first_instance: 0 };
    let initial = vec![0xa5; bytes];
    let target = CaptureTarget { initial: &initial, offset: 0, size: bytes as u64 };
    let request = CaptureRequest {
        pipeline: &pipeline,
        vertex_data: &[],
        descriptor_sets: &sets,
        push_constants: &[],
        draws: &[(topology, draw)],
        buffers: &[Some(target)],
        indices: &[],
        counters: false,
    };
    // SAFETY: the pipeline and the set are of this device.
    let found = unsafe { gpu.capture(&[request]) }.unwrap().remove(0).buffers.remove(0).unwrap();
    found.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn outputs_of_the_geometry_shader_are_captured() {
    // Both capture, and have outputs of the same names, locations and built-ins.
    let vertex = common::compile(
        "#version 450
        layout(xfb_buffer = 0, xfb_stride = 20) out;
        layout(location = 0, xfb_buffer = 0, xfb_offset = 0) flat out uint found;
        layout(xfb_buffer = 0, xfb_offset = 4) out gl_PerVertex { vec4 gl_Position; };
        void main() { found = gl_VertexIndex; gl_Position = vec4(gl_VertexIndex); }",
        &[],
    );
    let geometry = common::compile_stage(
        "geom",
        "#version 450
        layout(points) in;
        layout(points, max_vertices = 1) out;
        layout(xfb_buffer = 0, xfb_stride = 8) out;
        layout(location = 0) flat in uint of_vertex[];
        layout(location = 0, xfb_buffer = 0, xfb_offset = 4) flat out uint found;
        layout(xfb_buffer = 0) out gl_PerVertex { vec4 gl_Position; };
        void main() {
            found = of_vertex[0] + 100u;
            gl_Position = gl_in[0].gl_Position + 0.5;
            EmitVertex();
        }",
        &[],
    );
    const UNCHANGED: u32 = 0xa5a5_a5a5;
    let decorated = Shader::new(&geometry);
    let found = capture_points(&vertex, &decorated, 3, None, 24);
    assert_eq!(found, [UNCHANGED, 100, UNCHANGED, 101, UNCHANGED, 102]);

    let list = CaptureList::new(20).output("@0", 0).output("@Position", 4);
    let listed = Shader::new(&geometry).captures(&list);
    let found = capture_points(&vertex, &listed, 3, None, 60);
    let expected = (0u8..3).flat_map(|n| {
        let position = (f32::from(n) + 0.5).to_bits();
        [100 + u32::from(n), position, position, position, position]
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test]
fn what_is_emitted_before_it_is_written_is_zero() {
    let vertex = common::compile(VERTEX, &[]);
    let geometry = common::compile_stage(
        "geom",
        "#version 450
        layout(points, invocations = 2) in;
        layout(points, max_vertices = 3) out;
        layout(location = 0) flat in uvec2 id[];
        layout(xfb_buffer = 0, xfb_stride = 8) out;
        layout(location = 0, xfb_buffer = 0, xfb_offset = 0) flat out uint always;
        layout(location = 1, xfb_buffer = 0, xfb_offset = 4) flat out uint late;
        void vertex() { EmitVertex(); }
        void main() {
            always = id[0].x;
            vertex();
            late = id[0].x + 100u;
            vertex();
        }",
        &[],
    );
    // The second invocation for a primitive finds the variables that the first one left.
    let found = capture_points(&vertex, &Shader::new(&geometry), 3, None, 3 * 2 * 16);
    let expected = (0..3).flat_map(|n| [[n, 0, n, n + 100]; 2]).flatten();
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test]
fn stages_of_different_versions_are_captured() {
    const BUFFER: &str = "layout(set = 0, binding = 0) buffer Values { uint value; } buffers;";
    let vertex = format!(
        "#version 450
        {BUFFER}
        layout(location = 0) flat out uint found;
        uint module_variable = 5u;
        void main() {{
            module_variable += buffers.value;
            found = module_variable + gl_VertexIndex;
        }}"
    );
    let geometry = format!(
        "#version 450
        {BUFFER}
        layout(points) in;
        layout(points, max_vertices = 1) out;
        layout(location = 0) flat in uint of_vertex[];
        layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 4) flat out uint found;
        void main() {{ found = of_vertex[0] + 1000u * buffers.value; EmitVertex(); }}"
    );
    for (of_vertex, of_geometry) in [("vulkan1.0", "vulkan1.2"), ("vulkan1.2", "vulkan1.0")] {
        let vertex = common::compile(&vertex, &["--target-env", of_vertex]);
        let geometry = common::compile_stage("geom", &geometry, &["--target-env", of_geometry]);
        let found = capture_points(&vertex, &Shader::new(&geometry), 3, Some(7), 12);
        assert_eq!(found, [7012, 7013, 7014], "{of_vertex}, {of_geometry}");
    }
}
