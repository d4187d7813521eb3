//! Calls that would be undefined behaviour in a driver are refused before they reach the driver.

use ash::vk;
use vkxfb::runtime::{
    Arena, ArenaDesc, ArenaSize, Capture, CaptureBuffer, CaptureDesc, Context, ExpectedDraws,
    IndexBuffer, IndexType, Kernels, MemoryLocation, Pipeline, PipelineDesc, QueryKind, QueryPool,
    Recorder, ResultTarget, RuntimeError, VertexBuffer, required_features,
};
use vkxfb_probe::gpu::{Gpu, GpuError, OpenOptions, Profile, Resources};
use vkxfb_probe::shaders::ProbeShader;
use vkxfb_rewriter::lower::kernel::{self, Kernel};
use vkxfb_rewriter::lower::{
    Backend, LowerError, Lowered, ResourcePlan, Shader, compute, native, vertex,
};
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_rewriter::vertex_input::{
    InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
};

use crate::common;
use crate::common::device::{self, PipelineOptions, RESOURCES};
use crate::common::skip::{Why, skip};
use crate::common::test_device::{Owned, TestDevice};

const COMPUTE: Backend = Backend::Compute;

/// Captures an attribute.
const ATTRIBUTE: &str = "#version 450
    layout(location = 2) in uvec2 pulled;
    layout(location = 0, xfb_buffer = 0, xfb_stride = 8, xfb_offset = 0) out flat uvec2 captured;
    void main() {
        captured = pulled;
        gl_Position = vec4(0.0);
    }";

/// A shader that uses sets 0 and 2. It also declares set 1, and a function that is not called uses
/// set 3.
const SETS: &str = "#version 450
    layout(set = 0, binding = 0) uniform A { uint a; };
    layout(set = 1, binding = 0) uniform B { uint b; };
    layout(set = 2, binding = 0) readonly buffer C { uint c[]; };
    layout(set = 3, binding = 0) uniform D { uint d; };
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    uint unused() { return d; }
    uint sum() { return a + c[gl_VertexIndex]; }
    void main() {
        captured = sum();
        gl_Position = vec4(0.0);
    }";

fn input(format: VertexFormat, input_rate: InputRate) -> VertexInput {
    VertexInput {
        bindings: vec![VertexBinding { binding: 4, stride: 8, input_rate }],
        attributes: vec![VertexAttribute { location: 2, binding: 4, format, offset: 0 }],
    }
}

fn make_pipeline(
    gpu: &TestDevice,
    shader: &Lowered,
    vertex_input: &VertexInput,
    set_layouts: &[vk::DescriptorSetLayout],
) -> Result<Owned<Pipeline>, RuntimeError> {
    let desc = PipelineDesc {
        topology: Some(PrimitiveTopology::PointList.into()),
        specialize_topology: false,
        vertex_input: Some(vertex_input),
        set_layouts,
        render_pass: gpu.render_pass(),
        ..PipelineDesc::new(shader)
    };
    gpu.try_pipeline(&desc)
}

fn text<T>(result: Result<T, RuntimeError>) -> String {
    result.map(|_| ()).unwrap_err().to_string()
}

/// The formats and input rates for which a shader was lowered are compiled into it. The positions
/// of the attributes in memory are not.
#[test]
fn vertex_input_is_what_the_shader_was_lowered_for() {
    let gpu = device::open(Profile::Full);
    let lowered_for = input(VertexFormat::R32G32Uint, InputRate::Vertex);
    let options = compute::Options::new(&lowered_for).target(gpu.compute_target(COMPUTE).unwrap());
    let words = common::compile(ATTRIBUTE, &[]);
    let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
    let made = |vertex_input: &VertexInput| make_pipeline(&gpu, &lowered, vertex_input, &[]);
    assert_eq!(
        text(made(&input(VertexFormat::R32Uint, InputRate::Vertex))),
        "the vertex attribute at location 2 is R32Uint: the shader was lowered for R32G32Uint"
    );
    assert_eq!(
        text(made(&input(VertexFormat::R32G32Uint, InputRate::INSTANCE))),
        "the vertex attribute at location 2 advances by Instance { divisor: 1 }: the shader was lowered for \
         Vertex"
    );
    let mut moved = lowered_for.clone();
    moved.bindings[0] = VertexBinding { binding: 7, stride: 20, input_rate: InputRate::Vertex };
    moved.attributes[0] = VertexAttribute { binding: 7, offset: 4, ..moved.attributes[0] };
    for vertex_input in [lowered_for, moved] {
        made(&vertex_input).unwrap();
    }
    gpu.pipeline(&PipelineDesc::new(&lowered));
}

/// Other backends than the compute backend lower shaders without a vertex input state.
#[test]
fn graphics_pipelines_are_given_vertex_input() {
    let gpu = device::open(Profile::Full);
    let words = common::compile(ATTRIBUTE, &[]);
    let shader = Shader::new(&words);
    for lowered in [native::lower(&shader).unwrap(), vertex::lower(&shader).unwrap()] {
        let backend = lowered.backend();
        if !gpu.backends().contains(&backend) {
            continue;
        }
        let desc = PipelineDesc { render_pass: gpu.render_pass(), ..PipelineDesc::new(&lowered) };
        // SAFETY: the context is of a live device.
        let made = unsafe { Pipeline::new(gpu.context(), &desc) };
        assert_eq!(
            text(made),
            format!(
                "the vertex input state is missing, which a pipeline of the {backend} backend is made \
                 with"
            )
        );
    }
}

fn set_layout(gpu: &TestDevice) -> vk::DescriptorSetLayout {
    let info = vk::DescriptorSetLayoutCreateInfo::default();
    // SAFETY: the device is live.
    unsafe { gpu.context().device().create_descriptor_set_layout(&info, None) }.unwrap()
}

/// A driver uses the layout of a set that a shader uses, without checking that the set has one.
#[test]
fn a_set_without_a_layout_is_named() {
    let gpu = device::open(Profile::Full);
    let words = common::compile(SETS, &[]);
    let shader = Shader::new(&words);
    let none = VertexInput::default();
    let target = gpu.compute_target(COMPUTE).unwrap();
    let options = compute::Options::new(&none).target(target);
    let all = [
        native::lower(&shader).unwrap(),
        vertex::lower(&shader).unwrap(),
        compute::lower(&shader, &options).unwrap(),
    ];
    let layout = set_layout(&gpu);
    for lowered in all {
        assert_eq!(lowered.descriptor_sets, [0, 2]);
        if !gpu.backends().contains(&lowered.backend()) {
            continue;
        }
        let layouts = [layout; 2];
        for (given, set) in [(0, 0), (1, 2), (2, 2)] {
            let found = text(make_pipeline(&gpu, &lowered, &none, &layouts[..given]));
            let expected = format!(
                "the shader uses descriptor set {set}, for which the pipeline is given no layout: set_layouts has {given}"
            );
            assert_eq!(found, expected, "{}", lowered.backend());
        }
        let null = [layout, layout, vk::DescriptorSetLayout::null()];
        assert!(matches!(
            make_pipeline(&gpu, &lowered, &none, &null),
            Err(RuntimeError::MissingSetLayout { set: 2, layouts: 3 })
        ));
        let most = gpu.capabilities().limits.max_descriptor_sets;
        let many = vec![layout; most as usize + 1];
        let found = make_pipeline(&gpu, &lowered, &none, &many);
        assert!(matches!(found, Err(RuntimeError::Limit { limit: "maxBoundDescriptorSets", .. })));
    }
    // SAFETY: nothing was made with it.
    unsafe { gpu.context().device().destroy_descriptor_set_layout(layout, None) };
}

/// Code is generated for each buffer of a plan, so plans are refused if they have more buffers than
/// a shader can use.
#[test]
fn plans_have_as_many_buffers_as_can_be_used() {
    let words = common::compile(SETS, &[]);
    let vertex_input = VertexInput::default();
    for (reads, writes, is_right) in
        [(18, 6, true), (19, 6, false), (u32::MAX, 1, false), (u32::MAX, u32::MAX - 1, false)]
    {
        let resources = ResourcePlan::Descriptors { reads, writes };
        let target = compute::Target::default().resources(resources);
        let options = compute::Options::new(&vertex_input).target(target);
        let shader = compute::lower(&Shader::new(&words), &options).map(|_| ());
        let target = kernel::Target::default().resources(resources);
        let kernel = kernel::lower(Kernel::Resume, &target).map(|_| ());
        let expected =
            if is_right { Ok(()) } else { Err(LowerError::StorageBuffers { reads, writes }) };
        assert_eq!((shader, kernel), (expected.clone(), expected));
    }
}

/// Calls a function with a pool of three queries, a command buffer, and a buffer of 256 bytes to
/// which it copies results.
fn copy_results(
    gpu: &mut TestDevice,
    f: impl FnOnce(&Context, &mut Arena, &Kernels, vk::CommandBuffer, &QueryPool, vk::Buffer),
) {
    let pool = gpu.query_pool(QueryKind::TransformFeedbackStream, 3);
    let usage = gpu.context().buffer_usages(Backend::Compute).query_results;
    let target = gpu.create_buffer(256, usage, MemoryLocation::Readback).unwrap();
    let target = gpu.own(target, Gpu::destroy_buffer);
    let mut arena = gpu.arena(ArenaDesc::new(4, 0));
    let kernels = gpu.kernels();
    gpu.submit(|ctx, cmd| {
        f(ctx, &mut arena, &kernels, cmd, &pool, target.raw());
        Ok(())
    })
    .unwrap();
}

#[test]
fn results_of_queries_neither_overlap_nor_overflow() {
    let mut gpu = device::open(Profile::Full);
    let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
    copy_results(&mut gpu, |ctx, arena, kernels, cmd, pool, buffer| {
        let mut copy = |first, count, offset, stride| {
            let target = ResultTarget { buffer, offset, stride };
            // SAFETY: the target holds the results, or they are refused.
            unsafe {
                pool.copy_results(ctx, &mut *arena, kernels, cmd, first, count, &target, flags)
            }
        };
        let last = u64::MAX - 7;
        assert_eq!(
            text(copy(0, 3, 0, 16)),
            "the stride of query results is 16 bytes: each takes 24"
        );
        for (first, count, offset, stride) in
            [(0, 2, 0, last), (0, 3, 8, 1 << 63), (2, 1, last, 0), (0, 2, last - 24, 24)]
        {
            let error = copy(first, count, offset, stride);
            assert!(matches!(error, Err(RuntimeError::PastTheEnd { .. })), "{error:?}");
        }
        for (first, count) in [(u32::MAX, 1), (1, u32::MAX), (3, 1), (0, 4)] {
            let error = copy(first, count, 0, 24);
            assert!(matches!(error, Err(RuntimeError::QueryRange { .. })), "{error:?}");
        }
        // One result needs no stride.
        for (first, count, offset, stride) in [(0, 3, 0, 24), (1, 1, 72, 0), (3, 0, 0, 0)] {
            copy(first, count, offset, stride).unwrap();
        }
    });
}

/// Calls a function that records into a capture with primitive restart. No capture buffer is bound.
fn record(
    gpu: &mut TestDevice,
    f: impl FnOnce(&mut Recorder<'_>) -> Result<(), RuntimeError>,
) -> Result<(), RuntimeError> {
    let pipeline = device::restarting_pipeline(gpu, ProvokingVertex::First);
    let mut arena = gpu.arena(ArenaDesc::new(1, 1));
    let mut capture = gpu.new_capture();
    let desc = CaptureDesc::new(&pipeline);
    let mut result = Ok(());
    gpu.submit(|_, cmd| {
        // SAFETY: everything outlives the submission, which is waited for.
        unsafe {
            let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
            result = f(&mut recorder);
            recorder.end(&[])?;
        }
        Ok(())
    })
    .unwrap();
    result
}

/// Shaders that cannot load single bytes read the whole dword in which a range ends.
#[test]
fn ranges_end_within_the_memory_of_their_buffer() {
    for resources in RESOURCES {
        let profile = Profile::Bifrost;
        let mut gpu = device::open_with(OpenOptions { profile, resources, ..Default::default() });
        assert!(!gpu.context().enabled().byte_loads);
        let usage = gpu.context().buffer_usages(COMPUTE).index;
        let buffer = gpu.buffer(1022, usage);
        // SAFETY: the buffer is live.
        let memory =
            unsafe { gpu.context().device().get_buffer_memory_requirements(buffer.raw()) }.size;
        // A range up to the end of the memory, and one past its end.
        let whole = memory / 4 * 4;
        let indices = |size| IndexBuffer::new(buffer.raw(), size, IndexType::Uint16);
        let bind = |gpu: &mut TestDevice, size| {
            // SAFETY: nothing is drawn with it.
            record(gpu, |recorder| unsafe { recorder.bind_index_buffer(&indices(size)) })
        };
        bind(&mut gpu, 1018).unwrap();
        let found = bind(&mut gpu, whole + 2);
        assert_eq!(
            text(found),
            format!(
                "the index buffer ends with byte {} of its buffer, which has {memory} bytes of memory: \
                 shaders read whole dwords, so the buffer needs a size that is a multiple of 4 bytes",
                whole + 2
            )
        );
        let past = IndexBuffer { offset: u64::MAX - 1, ..indices(4) };
        // SAFETY: as above.
        let found = record(&mut gpu, |recorder| unsafe { recorder.bind_index_buffer(&past) });
        assert!(matches!(found, Err(RuntimeError::PastTheEnd { .. })), "{found:?}");
    }
}

/// The same applies to vertex buffers, whose attributes may end at any byte.
#[test]
fn attributes_end_within_the_memory_of_their_buffer() {
    let mut gpu = device::open(Profile::Full);
    let vertex_input = input(VertexFormat::R8G8Uint, InputRate::Vertex);
    let options = compute::Options::new(&vertex_input).target(gpu.compute_target(COMPUTE).unwrap());
    let words = common::compile(ATTRIBUTE, &[]);
    let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
    let pipeline = make_pipeline(&gpu, &lowered, &vertex_input, &[]).unwrap();
    let usage = gpu.context().buffer_usages(COMPUTE).vertex;
    let buffer = gpu.buffer(1022, usage);
    // SAFETY: the buffer is live.
    let memory =
        unsafe { gpu.context().device().get_buffer_memory_requirements(buffer.raw()) }.size;
    let mut arena = gpu.arena(ArenaDesc::new(2, 2));
    let kernels = gpu.kernels();
    gpu.submit(|ctx, cmd| {
        for (size, is_right) in [(1017, true), (memory / 4 * 4 + 1, false)] {
            let buffer = buffer.raw();
            let bound = VertexBuffer { binding: 4, buffer, offset: 0, size, stride: None };
            let vertex_buffers = [bound];
            let desc =
                CaptureDesc { vertex_buffers: &vertex_buffers, ..CaptureDesc::new(&pipeline) };
            // SAFETY: everything outlives the submission, and nothing is drawn.
            let begun = unsafe {
                Recorder::begin(&mut Capture::new(ctx, &kernels), &mut *arena, cmd, &desc)
                    .and_then(|recorder| recorder.end(&[]))
            };
            if is_right {
                _ = begun.unwrap();
            } else {
                assert!(matches!(begun, Err(RuntimeError::PartialDword { .. })))
            }
        }
        Ok(())
    })
    .unwrap();
}

/// A device that was created only for native captures has no kernels. Captures by compute report
/// this as an error.
#[test]
fn kernels_of_no_device_are_refused() {
    let mut gpu = device::open(Profile::Full);
    if !gpu.backends().contains(&Backend::Native) {
        return skip(Why::Expected("without native captures"));
    }
    let native = required_features(gpu.capabilities(), &[Backend::Native]).unwrap();
    // SAFETY: the device was created with more than that.
    let kernels = unsafe {
        let (device, caps) = (gpu.context().device(), gpu.capabilities().clone());
        let ctx = Context::new(gpu.instance(), device, caps, native).unwrap();
        Kernels::new(&ctx).unwrap()
    };
    let mut arena = gpu.arena(ArenaDesc::new(1, 1));
    gpu.submit(|ctx, cmd| {
        let mut capture = Capture::new(ctx, &kernels);
        // SAFETY: it is refused.
        let begun = unsafe { Recorder::begin(&mut capture, &mut *arena, cmd, None) };
        assert!(matches!(begun, Err(RuntimeError::NoKernels)));
        Ok(())
    })
    .unwrap();
}

/// The headless device does not use or destroy objects of another device.
#[test]
fn objects_of_another_device_are_left_alone() {
    if !common::settings::has_validation() {
        return skip(Why::Expected("without the validation layer"));
    }
    let [mut owner, mut other] = [(); 2].map(|()| device::open(Profile::Full));
    let usage = vk::BufferUsageFlags::empty();
    let buffer = owner.create_buffer(64, usage, MemoryLocation::Device).unwrap();
    assert!(matches!(other.read(&buffer, 0..4), Err(GpuError::ForeignBuffer)));
    assert!(matches!(other.write(&buffer, 0, &[0; 4]), Err(GpuError::ForeignBuffer)));
    other.destroy_buffer(buffer);
    let shader = ProbeShader::identify();
    let lowered = device::lower(&owner, &shader, COMPUTE);
    let pass = owner.render_pass();
    let options = PipelineOptions::ANY;
    let pipeline = device::pipeline_of(owner.context(), pass, &shader, &lowered, options);
    let draws: Vec<_> = ExpectedDraws::every(PrimitiveTopology::PointList).collect();
    // SAFETY: the device is live.
    unsafe { pipeline.prepare(owner.context(), &draws, vk::PipelineCache::null()) }.unwrap();
    other.destroy_pipeline(pipeline);
    // They still belong to the owner: the buffer, the pipelines and their layout. Of pipelines there are three for
    // single draws and one for a fused one, and of those for several draws and for any one each with a topology
    // and without.
    let messages = owner.close();
    let leaked = |what| messages.iter().filter(|m| m.text.contains(what)).count();
    assert!(messages.iter().all(|m| m.id.contains("vkDestroyDevice")), "{messages:#?}");
    assert!(leaked("VkBuffer 0x") == 1 && leaked("VkPipeline 0x") == 8, "{messages:#?}");
}

/// A buffer usage for which the device was not created is refused.
#[test]
fn buffers_are_used_for_what_is_enabled() {
    let descriptors = OpenOptions { resources: Resources::Descriptors, ..Default::default() };
    let mut gpu = device::open_with(OpenOptions { profile: Profile::Bifrost, ..descriptors });
    for usage in [
        vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS,
        vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT,
        vk::BufferUsageFlags::from_raw(1 << 31),
    ] {
        let found = gpu.create_buffer(64, usage, MemoryLocation::Device);
        assert!(matches!(found, Err(GpuError::BufferUsage { .. })), "{usage:?}");
    }
}

/// Sizes that are too large for a driver are refused, because drivers may not check them.
#[test]
fn buffers_are_as_large_as_the_device_takes() {
    let mut gpu = device::open(Profile::Full);
    let max = gpu.memory_limits().max_buffer;
    if let Some(size) = max.checked_add(1) {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER;
        let buffer = gpu.create_buffer(size, usage, MemoryLocation::Device).map(|_| ());
        let desc = ArenaSize { upload: 16, scratch: size, descriptor_sets: 0 };
        let arena = gpu.create_arena(desc).map(|_| ());
        for found in [buffer, arena] {
            assert!(
                matches!(found, Err(GpuError::Runtime(RuntimeError::Limit { .. }))),
                "{found:?}"
            );
        }
    }
}

/// The device's limit also applies to bindings that the pipeline does not read.
#[test]
fn vertex_bindings_are_the_device_s() {
    let mut gpu = device::open(Profile::Full);
    if !gpu.backends().contains(&Backend::Native) {
        return skip(Why::Expected("without native captures"));
    }
    let shader = ProbeShader::identify();
    let lowered = device::lower(&gpu, &shader, Backend::Native);
    let pipeline = make_pipeline(&gpu, &lowered, &shader.vertex_input, &[]).unwrap();
    let usage = gpu.context().buffer_usages(Backend::Native).capture
        | gpu.context().buffer_usages(Backend::Native).vertex;
    let buffer = gpu.buffer(64, usage);
    let mut arena = gpu.arena(ArenaDesc::new(0, 0));
    let kernels = gpu.kernels();
    let binding = gpu.capabilities().limits.max_vertex_bindings;
    gpu.submit(|ctx, cmd| {
        let raw = buffer.raw();
        let buffers = [Some(CaptureBuffer::new(raw, 64))];
        let vertex_buffers =
            [VertexBuffer { binding, buffer: raw, offset: 0, size: 64, stride: None }];
        let desc = CaptureDesc {
            buffers: &buffers,
            vertex_buffers: &vertex_buffers,
            ..CaptureDesc::new(&pipeline)
        };
        let mut capture = Capture::new(ctx, &kernels);
        // SAFETY: it is refused.
        let begun = unsafe { Recorder::begin(&mut capture, &mut *arena, cmd, &desc) };
        let limit = "maxVertexInputBindings";
        assert!(matches!(begun, Err(RuntimeError::Limit { limit: found, .. }) if found == limit));
        Ok(())
    })
    .unwrap();
}
