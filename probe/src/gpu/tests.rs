//! Tests on any device that is available; on lavapipe in CI. A test is skipped, with a message, if
//! there is no device or no validation layer.

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv;
use vkxfb::runtime::Barrier;
use vkxfb::runtime::{Draw, MemoryLocation, PipelineDesc};
use vkxfb_rewriter::lower::compute::WorkgroupSizes;
use vkxfb_rewriter::lower::{Lowered, Shader, compute, native};
use vkxfb_rewriter::lower::{LoweredCompute, LoweredKind};
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_rewriter::vertex_input::{
    InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
};

use super::*;

fn open(profile: Profile) -> Option<Gpu> {
    match Gpu::open(&OpenOptions { profile, validation: true, ..Default::default() }) {
        Ok(gpu) => Some(gpu),
        Err(
            error @ (GpuError::NoLoader { .. }
            | GpuError::NoDriver
            | GpuError::NoDevice
            | GpuError::NoValidationLayer
            | GpuError::NoBackend(_)),
        ) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A vertex shader that captures its `uvec4` attribute at location 0 to buffer 0, at byte 4 of
/// records of 20 bytes.
fn echo() -> Lowered {
    native::lower(&Shader::new(&echo_words())).unwrap()
}

fn echo_words() -> Vec<u32> {
    use spirv::{Decoration, ExecutionMode, ExecutionModel, StorageClass};
    let mut b = Builder::new();
    b.set_version(1, 0);
    b.capability(spirv::Capability::Shader);
    b.capability(spirv::Capability::TransformFeedback);
    b.memory_model(spirv::AddressingModel::Logical, spirv::MemoryModel::GLSL450);
    let void = b.type_void();
    let function = b.type_function(void, vec![]);
    let uint = b.type_int(32, 0);
    let vector = b.type_vector(uint, 4);
    let pointer_in = b.type_pointer(None, StorageClass::Input, vector);
    let pointer_out = b.type_pointer(None, StorageClass::Output, vector);
    let input = b.variable(pointer_in, None, StorageClass::Input, None);
    let output = b.variable(pointer_out, None, StorageClass::Output, None);
    for variable in [input, output] {
        b.decorate(variable, Decoration::Location, [Operand::LiteralBit32(0)]);
    }
    for (decoration, value) in
        [(Decoration::XfbBuffer, 0), (Decoration::XfbStride, 20), (Decoration::Offset, 4)]
    {
        b.decorate(output, decoration, [Operand::LiteralBit32(value)]);
    }
    let main = b.begin_function(void, None, spirv::FunctionControl::NONE, function).unwrap();
    b.begin_block(None).unwrap();
    let value = b.load(vector, None, input, None, []).unwrap();
    b.store(output, value, None, []).unwrap();
    b.ret().unwrap();
    b.end_function().unwrap();
    b.entry_point(ExecutionModel::Vertex, main, "main", [input, output]);
    b.execution_mode(main, ExecutionMode::Xfb, []);
    b.module().assemble()
}

fn echo_input() -> VertexInput {
    VertexInput {
        bindings: vec![VertexBinding { binding: 3, stride: 16, input_rate: InputRate::Vertex }],
        attributes: vec![VertexAttribute {
            location: 0,
            binding: 3,
            format: VertexFormat::R32G32B32A32Uint,
            offset: 0,
        }],
    }
}

fn desc<'a>(gpu: &Gpu, shader: &'a Lowered, input: &'a VertexInput) -> PipelineDesc<'a> {
    PipelineDesc {
        topology: Some(PrimitiveTopology::TriangleStrip.into()),
        specialize_topology: false,
        provoking_vertex: ProvokingVertex::First,
        vertex_input: Some(input),
        render_pass: gpu.render_pass(),
        ..PipelineDesc::new(shader)
    }
}

#[test]
fn both_profiles_open_and_close_without_a_message() {
    for profile in [Profile::Full, Profile::Bifrost] {
        let Some(mut gpu) = open(profile) else { return };
        if profile == Profile::Bifrost {
            assert_eq!(gpu.backends(), [Backend::Compute]);
            assert_eq!(gpu.capabilities().api_version, vk::API_VERSION_1_0);
        }
        let usage =
            vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
        let buffer = gpu.create_buffer(100, usage, MemoryLocation::Device).unwrap();
        assert_ne!(buffer.address(), 0);
        let bytes: Vec<u8> = (0..100).collect();
        gpu.write(&buffer, 0, &bytes).unwrap();
        gpu.write(&buffer, 10, &[99; 7]).unwrap();
        let read = gpu.read(&buffer, 5..20).unwrap();
        assert_eq!(read, [&bytes[5..10], &[99; 7], &bytes[17..20]].concat());
        assert!(matches!(gpu.read(&buffer, 90..101), Err(GpuError::OutOfRange { .. })));
        gpu.destroy_buffer(buffer);
        assert_eq!(gpu.close(), []);
    }
}

#[test]
fn what_is_not_destroyed_is_reported() {
    let Some(gpu) = open(Profile::Full) else { return };
    // SAFETY: the device is live.
    let fence = unsafe { gpu.context().device().create_fence(&Default::default(), None) };
    assert!(fence.is_ok());
    let messages = gpu.close();
    assert!(messages.iter().any(|m| m.error && m.id.contains("VUID-vkDestroyDevice")));
}

#[test]
fn devices_are_found_by_index_and_by_any_part_of_the_name() {
    let Some(gpu) = open(Profile::Full) else { return };
    let name = gpu.capabilities().device_name.clone();
    drop(gpu);
    let open = |selector: &str| {
        let device = Some(selector.parse().unwrap());
        Gpu::open(&OpenOptions { device, ..Default::default() })
    };
    for selector in ["0", &name.to_uppercase(), &name[1..4]] {
        assert_eq!(open(selector).unwrap().device_index(), 0, "{selector}");
    }
    for selector in ["no such device", "4711"] {
        let Err(error) = open(selector) else { panic!("{selector} was found") };
        let text = error.to_string();
        assert!(text.starts_with(&format!("no device '{selector}'")), "{text}");
        assert!(text.contains(&format!("0: {name}")), "{text}");
    }
}

#[test]
fn native_captures_in_one_batch() {
    let Some(mut gpu) = open(Profile::Full) else { return };
    if !gpu.backends().contains(&Backend::Native) {
        eprintln!("skipped: {}", gpu.capabilities().availability(Backend::Native).unwrap_err());
        return;
    }
    let (shader, input) = (echo(), echo_input());
    // SAFETY: the shader is valid, and was lowered for this backend and vertex input.
    let pipeline =
        unsafe { vkxfb::runtime::Pipeline::new(gpu.context(), &desc(&gpu, &shader, &input)) }
            .unwrap();
    let topology = PrimitiveTopology::TriangleStrip;
    let vertices: Vec<u32> = (0..200).collect();
    let initial = vec![0xCD; 8 + 20 * 100 + 8];
    // The first two draws fit. Of the third, only one primitive fits. The same request is passed
    // three times below, and each of the three captures has its own memory.
    let draw = |first_vertex, vertex_count| Draw {
        vertex_count,
        instance_count: 1,
        first_vertex,
        first_instance: 0,
    };
    let draws = [(topology, draw(0, 4)), (topology, draw(10, 6)), (topology, draw(3, 5))];
    let size = (2 + 4 + 1) * 3 * 20 + 59;
    let buffers = [Some(CaptureTarget { initial: &initial, offset: 8, size })];
    let request = CaptureRequest {
        pipeline: &pipeline,
        vertex_data: &[VertexData { binding: 3, bytes: bytemuck::cast_slice(&vertices) }],
        descriptor_sets: &[],
        push_constants: &[],
        draws: &draws,
        buffers: &buffers,
        indices: &[],
        counters: false,
    };
    // SAFETY: the draws read at most the 50 vertices that are given.
    let results = unsafe { gpu.capture(&[request; 3]) }.unwrap();

    let mut expected = initial.clone();
    let order = draws.iter().flat_map(|(_, d)| {
        (0..topology.output_count(d.vertex_count))
            .map(|o| u64::from(d.first_vertex) + topology.gather(ProvokingVertex::First, o))
    });
    for (record, vertex) in order.take(21).enumerate() {
        let (to, from) = (8 + record * 20 + 4, vertex as usize * 4);
        expected[to..to + 16].copy_from_slice(bytemuck::cast_slice(&vertices[from..from + 4]));
    }
    for result in results {
        assert_eq!(result.captured.primitives_needed, 9);
        assert_eq!(result.captured.primitives_written, 7);
        assert_eq!(result.captured.positions, [420, 0, 0, 0]);
        assert_eq!(result.buffers, [Some(expected.clone())]);
    }
    gpu.destroy_pipeline(pipeline);
    assert_eq!(gpu.close(), []);
}

/// If the barrier after a capture is left out, the validation layer reports a hazard. So the other
/// tests would notice a missing barrier.
#[test]
fn a_capture_without_its_barrier_is_reported() {
    let Some(mut gpu) = open(Profile::Full) else { return };
    if !gpu.backends().contains(&Backend::Native) {
        eprintln!("skipped: {}", gpu.capabilities().availability(Backend::Native).unwrap_err());
        return;
    }
    let (shader, input) = (echo(), echo_input());
    // SAFETY: the shader is valid, and was lowered for this backend and vertex input.
    let pipeline =
        unsafe { vkxfb::runtime::Pipeline::new(gpu.context(), &desc(&gpu, &shader, &input)) }
            .unwrap();
    let bytes = [0u8; 64];
    let draw = Draw { vertex_count: 3, instance_count: 1, ..Draw::default() };
    let request = CaptureRequest {
        pipeline: &pipeline,
        vertex_data: &[VertexData { binding: 3, bytes: &bytes }],
        descriptor_sets: &[],
        push_constants: &[],
        draws: &[(PrimitiveTopology::TriangleStrip, draw)],
        buffers: &[Some(CaptureTarget { initial: &bytes, offset: 0, size: 64 })],
        indices: &[],
        counters: false,
    };
    let mut hazards = |omitted| {
        // SAFETY: without the barrier a copy reads captured bytes too early, but no command depends
        // on their values.
        unsafe { gpu.omit_barrier(omitted) };
        // SAFETY: the draw reads at most 4 vertices.
        unsafe { gpu.capture(&[request]) }.unwrap();
        let messages = gpu.take_messages();
        assert!(messages.iter().all(|m| m.id == "SYNC-HAZARD-READ-AFTER-WRITE"), "{messages:?}");
        !messages.is_empty()
    };
    assert!(!hazards(None));
    assert!(hazards(Some(Barrier::CaptureToConsumer)));
    assert!(!hazards(None));
    gpu.destroy_pipeline(pipeline);
    assert_eq!(gpu.close(), []);
}

#[test]
fn graphics_pipelines_need_the_features_of_their_state() {
    let Some(gpu) = open(Profile::Full) else { return };
    if !gpu.backends().contains(&Backend::Native) {
        eprintln!("skipped: {}", gpu.capabilities().availability(Backend::Native).unwrap_err());
        return;
    }
    let mut bare = gpu.context().enabled().clone();
    bare.provoking_vertex_last = false;
    bare.preserve_provoking_vertex = false;
    bare.geometry_shader = false;
    // SAFETY: the device was created with more features than `bare` has.
    let ctx = unsafe {
        Context::new(&gpu.instance.raw, gpu.context().device(), gpu.capabilities().clone(), bare)
    }
    .unwrap();
    let (shader, input) = (echo(), echo_input());
    let desc = desc(&gpu, &shader, &input);
    let error = |desc: PipelineDesc<'_>| {
        // SAFETY: the pipeline is rejected before it is created.
        unsafe { vkxfb::runtime::Pipeline::new(&ctx, &desc) }.unwrap_err().to_string()
    };
    let without = "which the device was created without";
    assert_eq!(
        error(PipelineDesc {
            topology: Some(PrimitiveTopology::LineListWithAdjacency.into()),
            ..desc
        }),
        format!("topology line-list-with-adjacency needs the feature geometryShader, {without}")
    );
    assert_eq!(
        error(PipelineDesc { provoking_vertex: ProvokingVertex::Last, ..desc }),
        format!("provoking vertex last needs the feature provokingVertexLast, {without}")
    );
    let mut wide = shader.clone();
    wide.layout.strides[0] = Some(4096);
    let mut of_wide = desc;
    of_wide.shader = &wide;
    assert!(
        error(of_wide)
            .starts_with("the stride of capture buffer 0 in bytes is 4096: maxTransformFeedback")
    );
}

#[test]
fn a_capture_that_cannot_be_recorded_leaves_the_device_usable() {
    let Some(mut gpu) = open(Profile::Full) else { return };
    if !gpu.backends().contains(&Backend::Native) {
        eprintln!("skipped: {}", gpu.capabilities().availability(Backend::Native).unwrap_err());
        return;
    }
    let (shader, input) = (echo(), echo_input());
    // SAFETY: the shader is valid, and was lowered for this backend and vertex input.
    let pipeline =
        unsafe { vkxfb::runtime::Pipeline::new(gpu.context(), &desc(&gpu, &shader, &input)) }
            .unwrap();
    let bytes = [0u8; 64];
    let target = CaptureTarget { initial: &bytes, offset: 0, size: 64 };
    let data = [VertexData { binding: 3, bytes: &bytes }];
    let draw = Draw { vertex_count: 3, instance_count: 1, ..Draw::default() };
    let strip = [(PrimitiveTopology::TriangleStrip, draw)];
    let fan = [(PrimitiveTopology::TriangleFan, draw)];
    let request = CaptureRequest {
        pipeline: &pipeline,
        vertex_data: &data,
        descriptor_sets: &[],
        push_constants: &[],
        draws: &strip,
        buffers: &[Some(target)],
        indices: &[],
        counters: false,
    };
    let cases = [
        (CaptureRequest { buffers: &[None], ..request }, "no capture buffer is bound"),
        (CaptureRequest { buffers: &[None; 5], ..request }, "5 capture buffers are bound"),
        (
            CaptureRequest {
                buffers: &[Some(CaptureTarget { offset: 2, size: 60, ..target })],
                ..request
            },
            "the offset of capture buffer 0 is 66 bytes: it must be a multiple of 4",
        ),
        (
            CaptureRequest { vertex_data: &[], ..request },
            "no vertex buffer is bound to binding 3, which the attribute at location 0 reads",
        ),
        (
            CaptureRequest { draws: &fan, ..request },
            "a draw of topology triangle-fan with a pipeline that is fixed to triangle-strip",
        ),
    ];
    for (case, message) in cases {
        // SAFETY: the draws read at most 4 vertices.
        let error = unsafe { gpu.capture(&[request, case]) }.unwrap_err();
        let GpuError::Capture { capture: 1, source } = error else { panic!("{error}") };
        assert!(source.to_string().starts_with(message), "{source}");
    }
    let outside = [Some(CaptureTarget { offset: 4, ..target })];
    // SAFETY: the draws read at most 4 vertices.
    let error = unsafe { gpu.capture(&[CaptureRequest { buffers: &outside, ..request }]) };
    assert_eq!(
        error.unwrap_err().to_string(),
        "capture 0: the range of buffer 0, 4 + 64, passes its 64 bytes"
    );
    // SAFETY: the draws read at most 4 vertices.
    assert!(unsafe { gpu.capture(&[request]) }.is_ok());
    gpu.destroy_pipeline(pipeline);
    assert_eq!(gpu.close(), []);
}

#[test]
fn pipelines_are_refused_before_vulkan_is_called() {
    let Some(gpu) = open(Profile::Bifrost) else { return };
    let (native, input) = (echo(), echo_input());
    let error = |desc: &PipelineDesc<'_>| {
        // SAFETY: the pipeline is rejected before it is created.
        unsafe { vkxfb::runtime::Pipeline::new(gpu.context(), desc) }.unwrap_err().to_string()
    };
    assert_eq!(
        error(&desc(&gpu, &native, &input)),
        "the native backend needs the feature transformFeedback, which the device was created \
         without"
    );
    let options = compute::Options::new(&input);
    let small = compute::lower(&Shader::new(&echo_words()), &options).unwrap();
    let changed = |change: &dyn Fn(&mut LoweredCompute)| {
        let mut lowered = small.clone();
        if let LoweredKind::Compute(compute) = &mut lowered.kind {
            change(compute);
        }
        lowered
    };
    let shader = changed(&|compute| compute.attributes[0].location = 7);
    assert_eq!(
        error(&desc(&gpu, &shader, &input)),
        "the shader reads vertex attribute location 7, which the vertex input state does not \
         describe"
    );
    let sizes = WorkgroupSizes::all(64);
    for (workgroup_sizes, draws) in
        [(sizes.others(512), ""), (sizes.restarted(512), " for draws with primitive restart")]
    {
        let large = changed(&|compute| compute.workgroup_sizes = workgroup_sizes);
        assert_eq!(
            error(&desc(&gpu, &large, &input)),
            format!(
                "the workgroup of the lowered shader{draws} is 512: maxComputeWorkGroupInvocations is 256"
            )
        );
    }
    let max = gpu.capabilities().limits.max_shared_memory;
    let large = changed(&|compute| compute.shared_memory = max + 1);
    assert_eq!(
        error(&desc(&gpu, &large, &input)),
        format!(
            "the shared memory of the lowered shader in bytes is {}: maxComputeSharedMemorySize is {max}",
            max + 1
        )
    );
    let mut twice = input.clone();
    twice.bindings.push(twice.bindings[0]);
    assert_eq!(error(&desc(&gpu, &small, &twice)), "vertex input binding 3 is described twice");
    assert_eq!(gpu.close(), []);
}
