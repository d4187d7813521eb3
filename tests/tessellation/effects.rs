//! Side effects of tessellation shaders happen once, although stages run in the counting run, too, and the first ones
//! for each slice of a patch.

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
    let target = gpu.compute_target(Backend::Compute).unwrap();
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
    let desc = PipelineDesc::new(&lowered).patch_control_points(3).set_layouts(&layouts);
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
    assert_eq!(counts, [3 * patches, 2 * patches, 3 * patches * triangles, 0]);
}
