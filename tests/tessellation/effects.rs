//! Side effects of tessellation shaders happen once, although stages run in the count pass, too, and the first ones
//! for each slice of a patch. Control points behind the end of a control shader's arrays have none.

use ash::vk;
use vkxfb::Shader;
use vkxfb::lower::{Backend, compute};
use vkxfb::runtime::{Draw, PipelineDesc};
use vkxfb::topology::PrimitiveTopology;
use vkxfb::vertex_input::VertexInput;
use vkxfb_probe::gpu::{CaptureRequest, CaptureTarget, OpenOptions};

use crate::common::descriptor_set::DescriptorSet;
use crate::common::{compile, compile_stage, device};

const COUNTS: &str = "layout(set = 0, binding = 0) buffer Counts { uint counts[4]; };";

#[test]
fn each_stage_takes_effect_once() {
    // Without staging, with room for the patches of few invocations, and of all.
    for staging in [0, 2 << 10, 16 << 10] {
        takes_effect_once(staging);
    }
}

fn takes_effect_once(staging: u32) {
    let vertex = format!(
        "#version 450
        {COUNTS}
        void main() {{ atomicAdd(counts[0], 1u); gl_Position = vec4(0.0); }}"
    );
    let control = format!(
        "#version 450
        {COUNTS}
        layout(vertices = 2) out;
        void main() {{
            atomicAdd(counts[1], 1u);
            for (int i = 0; i < 4; i++) gl_TessLevelOuter[i] = 3.0;
            gl_TessLevelInner[0] = gl_TessLevelInner[1] = 5.0;
        }}"
    );
    let evaluation = format!(
        "#version 450
        {COUNTS}
        layout(quads) in;
        layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out float found;
        void main() {{ atomicAdd(counts[2], 1u); found = gl_TessCoord.x; }}"
    );
    let vertex = compile(&vertex, &[]);
    let control = compile_stage("tesc", &control, &[]);
    let evaluation = compile_stage("tese", &evaluation, &[]);
    let (vertex, control, input) =
        (Shader::new(&vertex), Shader::new(&control), VertexInput::default());
    let mut gpu = device::open_with(OpenOptions::default());
    let target = gpu.compute_target(Backend::Compute).unwrap().staging(staging);
    let options = compute::Options::new(&input)
        .vertex_shader(&vertex)
        .control_shader(&control)
        .target(target);
    let lowered = compute::lower(&Shader::new(&evaluation), &options).unwrap();
    assert!(lowered.effects.side_effects);
    let buffer = gpu.filled(vk::BufferUsageFlags::STORAGE_BUFFER, &[0_u32; 4]);
    let set = DescriptorSet::new(&gpu, vk::DescriptorType::STORAGE_BUFFER);
    // SAFETY: the buffer is one of storage, and nothing was submitted.
    unsafe { set.write(gpu.context().device(), buffer.raw()) };
    let layouts = [set.layout];
    let desc = PipelineDesc {
        patch_control_points: 3,
        set_layouts: &layouts,
        ..PipelineDesc::new(&lowered)
    };
    let pipeline = gpu.pipeline(&desc);
    let (patches, triangles) = (10, 2 * 3 * 3 + 4 * 3 + 4 * 3);
    let initial = vec![0xa5; 4 * 3 * (patches * triangles) as usize];
    let size = initial.len() as u64;
    let request = CaptureRequest {
        pipeline: &pipeline,
        vertex_data: &[],
        descriptor_sets: &[set.raw],
        push_constants: &[],
        draws: &[(PrimitiveTopology::PatchList, Draw::new(3 * patches + 2))],
        buffers: &[Some(CaptureTarget { initial: &initial, offset: 0, size })],
        indices: &[],
        counters: true,
    };
    // SAFETY: the pipeline and the set are of this device.
    let found = unsafe { gpu.capture(&[request]) }.unwrap().remove(0);
    assert_eq!(found.counters[0], Some(size as u32));
    let counts: Vec<u32> = gpu.contents(&buffer);
    assert_eq!(counts, [3 * patches, 2 * patches, 3 * patches * triangles, 0], "{staging}");
}

/// As HLSL has it: an `InputPatch` of three control points, and patches of four. No rule of Vulkan is against it.
#[test]
fn patches_may_have_more_control_points_than_the_control_shader_declares() {
    let vertex = compile(
        "#version 450
        layout(location = 0) out float id;
        void main() { id = gl_VertexIndex; gl_Position = vec4(0.0); }",
        &[],
    );
    let control = "#version 450
        layout(vertices = 3) out;
        layout(location = 0) in float id[];
        layout(location = 0) out float passed[];
        void main() {
            int other = (gl_InvocationID + 1) % 3;
            passed[gl_InvocationID] = id[other] + 100.0 * gl_PatchVerticesIn;
            for (int i = 0; i < 4; i++) gl_TessLevelOuter[i] = 1.0;
            gl_TessLevelInner[0] = 1.0;
        }";
    // GLSL has no arrays of three.
    let mut control = compile_stage("tesc", control, &[]);
    let lengths: Vec<usize> = (5..control.len() - 3)
        .filter(|at| control[*at] == 4 << 16 | 43 && control[at + 3] == 32)
        .collect();
    let [length] = lengths[..] else { panic!("{lengths:?}") };
    control[length + 3] = 3;
    let evaluation = compile_stage(
        "tese",
        "#version 450
        layout(triangles, point_mode) in;
        layout(location = 0) in float passed[];
        layout(location = 0, xfb_buffer = 0, xfb_stride = 12, xfb_offset = 0) out vec3 found;
        void main() { found = vec3(passed[0], passed[1], passed[2]); }",
        &[],
    );
    let (vertex, control, input) =
        (Shader::new(&vertex), Shader::new(&control), VertexInput::default());
    let mut gpu = device::open_with(OpenOptions::default());
    let options = compute::Options::new(&input)
        .vertex_shader(&vertex)
        .control_shader(&control)
        .target(gpu.compute_target(Backend::Compute).unwrap());
    let lowered = compute::lower(&Shader::new(&evaluation), &options).unwrap();
    let pipeline =
        gpu.pipeline(&PipelineDesc { patch_control_points: 4, ..PipelineDesc::new(&lowered) });
    let initial = vec![0; 2 * 3 * 12];
    let request = CaptureRequest {
        pipeline: &pipeline,
        vertex_data: &[],
        descriptor_sets: &[],
        push_constants: &[],
        draws: &[(PrimitiveTopology::PatchList, Draw::new(8))],
        buffers: &[Some(CaptureTarget {
            initial: &initial,
            offset: 0,
            size: initial.len() as u64,
        })],
        indices: &[],
        counters: true,
    };
    // SAFETY: the pipeline is of this device.
    let found = unsafe { gpu.capture(&[request]) }.unwrap().remove(0);
    let (found, _) = found.buffers[0].as_ref().unwrap().as_chunks();
    let found: Vec<f32> = found.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let patch = |first: f32| [first + 401.0, first + 402.0, first + 400.0].repeat(3);
    assert_eq!(found, [patch(0.0), patch(4.0)].concat());
}
