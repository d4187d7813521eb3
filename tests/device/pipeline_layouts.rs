//! Pipeline layouts of applications: whether they match a shader, and captures with a layout that
//! was made compatible.

use ash::vk::{self, DescriptorType as D, ShaderStageFlags as S};
use vkxfb::runtime::vulkan::{PipelineLayoutDesc, PipelineLayoutError, SetLayoutInfo};
use vkxfb::runtime::{
    ArenaDesc, Capture, CaptureBuffer, CaptureDesc, ConsumerScope, Draw, Pipeline, PipelineDesc,
    Recorder,
};
use vkxfb_probe::gpu::{GpuError, OpenOptions, Profile};
use vkxfb_rewriter::lower::reflect::{
    DescriptorCount, ResourceInterface, ResourceType, resource_interface,
};
use vkxfb_rewriter::lower::{Backend, Lowered, Shader, compute};
use vkxfb_rewriter::spirv::specialization::SpecializationConstant;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_rewriter::vertex_input::VertexInput;

use crate::common;
use crate::common::device;
use crate::common::test_device::Owned;
use crate::common::test_device::TestDevice;

const COMPUTE: Backend = Backend::Compute;
const POINTS: PrimitiveTopology = PrimitiveTopology::PointList;

/// A shader that captures a value and declares a resource at set 2 binding 5.
fn source(declaration: &str, value: &str) -> String {
    format!(
        "#version 460
         #extension GL_EXT_nonuniform_qualifier : require
         #extension GL_EXT_samplerless_texture_functions : require
         #extension GL_EXT_ray_query : require
         {declaration}
         layout(location = 0, xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0) out vec4 captured;
         void main() {{ captured = vec4({value}); }}"
    )
}

fn interface(declaration: &str, value: &str) -> ResourceInterface {
    let words = common::compile(&source(declaration, value), &["--target-env", "spirv1.4"]);
    resource_interface(&Shader::new(&words)).unwrap()
}

fn binding(binding: u32, ty: D, count: u32, stages: S) -> vk::DescriptorSetLayoutBinding<'static> {
    vk::DescriptorSetLayoutBinding::default()
        .binding(binding)
        .descriptor_type(ty)
        .descriptor_count(count)
        .stage_flags(stages)
}

/// Checks a pipeline layout whose set 2 has these bindings against a shader.
fn check(
    shader: &ResourceInterface,
    bindings: &[vk::DescriptorSetLayoutBinding<'_>],
    backend: Backend,
) -> Result<(), PipelineLayoutError> {
    let other = [binding(5, D::INPUT_ATTACHMENT, 1, S::FRAGMENT)];
    let set_layouts: [&[_]; 3] = [&[], &other, bindings];
    let layout = PipelineLayoutDesc { set_layouts: &set_layouts, ..PipelineLayoutDesc::default() };
    layout.check(shader, backend)
}

/// Checks every descriptor type that is allowed for a variable, and every other one.
#[test]
fn descriptor_types() {
    const ALL: [D; 16] = [
        D::SAMPLER,
        D::COMBINED_IMAGE_SAMPLER,
        D::SAMPLED_IMAGE,
        D::STORAGE_IMAGE,
        D::UNIFORM_TEXEL_BUFFER,
        D::STORAGE_TEXEL_BUFFER,
        D::UNIFORM_BUFFER,
        D::STORAGE_BUFFER,
        D::UNIFORM_BUFFER_DYNAMIC,
        D::STORAGE_BUFFER_DYNAMIC,
        D::INPUT_ATTACHMENT,
        D::INLINE_UNIFORM_BLOCK,
        D::ACCELERATION_STRUCTURE_KHR,
        D::ACCELERATION_STRUCTURE_NV,
        D::SAMPLE_WEIGHT_IMAGE_QCOM,
        D::MUTABLE_EXT,
    ];
    const SAMPLE: &str = "textureLod(sampler2D(other, x), vec2(0.0), 0.0)";
    const OTHER: &str = "layout(set = 1, binding = 4) uniform texture2D other;";
    let cases: [(String, &str, ResourceType, &[D]); 11] = [
        (
            format!("uniform sampler x; {OTHER}"),
            SAMPLE,
            ResourceType::Sampler,
            &[D::SAMPLER, D::COMBINED_IMAGE_SAMPLER],
        ),
        (
            "uniform sampler2D x;".to_owned(),
            "textureLod(x, vec2(0.0), 0.0)",
            ResourceType::CombinedImageSampler,
            &[D::COMBINED_IMAGE_SAMPLER],
        ),
        (
            "uniform texture2D x;".to_owned(),
            "texelFetch(x, ivec2(0), 0)",
            ResourceType::SampledImage,
            &[D::SAMPLED_IMAGE, D::COMBINED_IMAGE_SAMPLER, D::SAMPLE_WEIGHT_IMAGE_QCOM],
        ),
        (
            "readonly uniform image2D x;".to_owned(),
            "imageLoad(x, ivec2(0))",
            ResourceType::StorageImage,
            &[D::STORAGE_IMAGE],
        ),
        (
            "uniform samplerBuffer x;".to_owned(),
            "texelFetch(x, 0)",
            ResourceType::UniformTexelBuffer,
            &[D::UNIFORM_TEXEL_BUFFER],
        ),
        (
            "uniform textureBuffer x;".to_owned(),
            "texelFetch(x, 0)",
            ResourceType::UniformTexelBuffer,
            &[D::UNIFORM_TEXEL_BUFFER],
        ),
        (
            "readonly uniform imageBuffer x;".to_owned(),
            "imageLoad(x, 0)",
            ResourceType::StorageTexelBuffer,
            &[D::STORAGE_TEXEL_BUFFER],
        ),
        (
            "uniform X { float value; } x;".to_owned(),
            "x.value",
            ResourceType::UniformBuffer,
            &[D::UNIFORM_BUFFER, D::UNIFORM_BUFFER_DYNAMIC, D::INLINE_UNIFORM_BLOCK],
        ),
        (
            "buffer X { float value; } x;".to_owned(),
            "x.value",
            ResourceType::StorageBuffer,
            &[D::STORAGE_BUFFER, D::STORAGE_BUFFER_DYNAMIC],
        ),
        (
            "uniform accelerationStructureEXT x;".to_owned(),
            "hit()",
            ResourceType::AccelerationStructure,
            &[D::ACCELERATION_STRUCTURE_KHR, D::ACCELERATION_STRUCTURE_NV],
        ),
        // Below SPIR-V 1.3 `BufferBlock` tells it from a uniform buffer.
        (
            "readonly buffer X { float value[]; } x;".to_owned(),
            "x.value[gl_VertexIndex]",
            ResourceType::StorageBuffer,
            &[D::STORAGE_BUFFER, D::STORAGE_BUFFER_DYNAMIC],
        ),
    ];
    for (declaration, value, resource, good) in &cases {
        let format = if declaration.contains("image") { ", rgba8" } else { "" };
        let mut declaration = format!("layout(set = 2, binding = 5{format}) {declaration}");
        if *value == "hit()" {
            declaration += "float hit() {
                rayQueryEXT query;
                rayQueryInitializeEXT(query, x, 0, 255, vec3(0.0), 0.0, vec3(1.0), 1.0);
                return float(rayQueryProceedEXT(query));
            }";
        }
        let source = source(&declaration, value);
        let versions: &[&str] = match *resource {
            // Its extension is of SPIR-V 1.4.
            ResourceType::AccelerationStructure => &["spirv1.4"],
            _ => &["spirv1.0", "spirv1.3", "spirv1.6"],
        };
        for version in versions {
            let words = common::compile(&source, &["--target-env", version]);
            let mut shader = resource_interface(&Shader::new(&words)).unwrap();
            shader.descriptors.retain(|descriptor| descriptor.set == 2);
            let [found] = &shader.descriptors[..] else { panic!("{shader:?}") };
            assert_eq!((found.binding, found.count), (5, DescriptorCount::One));
            assert_eq!(found.resource, *resource, "{version} {declaration}");
            for ty in ALL {
                let bindings =
                    [binding(3, D::SAMPLER, 1, S::ALL), binding(5, ty, 4, S::VERTEX | S::COMPUTE)];
                let result = check(&shader, &bindings, COMPUTE);
                if good.contains(&ty) || ty == D::MUTABLE_EXT {
                    assert_eq!(result, Ok(()), "{declaration} {ty:?}");
                    continue;
                }
                let variable = &found.variable;
                assert!(variable.to_lowercase().contains("'x'"), "{variable}");
                let expected = format!(
                    "descriptor set 2 binding 5 is {variable}, {resource}: the set layout has {ty:?}"
                );
                assert_eq!(result.unwrap_err().to_string(), expected);
            }
        }
    }
}

#[test]
fn descriptor_counts() {
    let counts = |declaration: &str, value: &str| {
        let shader = interface(&format!("layout(set = 2, binding = 5) {declaration}"), value);
        let count = shader.descriptors[0].count;
        (shader, count)
    };
    let uniform = "uniform X { float value; } x";
    for (declaration, value, count, needed) in [
        (format!("{uniform}[3];"), "x[1].value", DescriptorCount::Array(3), 3),
        (format!("{uniform}[1];"), "x[0].value", DescriptorCount::Array(1), 1),
        (format!("{uniform}[2][3];"), "x[1][2].value", DescriptorCount::Array(6), 6),
        (format!("{uniform}[];"), "x[gl_VertexIndex].value", DescriptorCount::RuntimeArray, 1),
        (format!("{uniform};"), "x.value", DescriptorCount::One, 1),
    ] {
        let (shader, found) = counts(&declaration, value);
        assert_eq!(found, count, "{declaration}");
        let of = |count| [binding(5, D::UNIFORM_BUFFER, count, S::ALL)];
        for count in [needed, needed + 1, 1 << 20] {
            assert_eq!(check(&shader, &of(count), COMPUTE), Ok(()), "{declaration} {count}");
        }
        // A binding without descriptors is only reserved.
        for count in [0, needed - 1] {
            let expected = format!(
                "descriptor set 2 binding 5 is {} with {needed} descriptors: the set layout has {count}",
                shader.descriptors[0].variable
            );
            let error = check(&shader, &of(count), COMPUTE).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        // For an inline uniform block, the count is its size in bytes.
        let inline = [binding(5, D::INLINE_UNIFORM_BLOCK, 4, S::ALL)];
        let result = check(&shader, &inline, COMPUTE).map_err(|error| error.to_string());
        match found {
            DescriptorCount::One => assert_eq!(result, Ok(())),
            _ => assert!(result.unwrap_err().ends_with("has an inline uniform block")),
        }
        // Descriptors of a mutable type count, too.
        let mutable = [binding(5, D::MUTABLE_EXT, needed - 1, S::ALL)];
        assert!(check(&shader, &mutable, COMPUTE).is_err());
    }

    // The count depends on the values of specialisation constants.
    let words = common::compile(
        &source(
            "layout(constant_id = 9) const int COUNT = 2;
             layout(set = 2, binding = 5) uniform sampler2D x[COUNT];",
            "textureLod(x[1], vec2(0.0), 0.0)",
        ),
        &[],
    );
    for (values, expected) in [(None, 2), (Some(7u32), 7)] {
        let data = values.map(u32::to_le_bytes);
        let constants: Vec<_> =
            data.iter().map(|data| SpecializationConstant { constant_id: 9, data }).collect();
        let shader = Shader::new(&words).specialization(&constants);
        let found = resource_interface(&shader).unwrap().descriptors[0].count;
        assert_eq!(found, DescriptorCount::Array(expected));
    }
}

#[test]
fn visibility_sets_and_bindings() {
    let declaration = "layout(set = 2, binding = 5) uniform Camera { float value; } camera;
        layout(set = 9, binding = 9) uniform Unused { float value; } unused;
        float uncalled() { return unused.value; }";
    let shader = interface(declaration, "camera.value");
    let text = |error: PipelineLayoutError| {
        error.to_string().replace(&shader.descriptors[0].variable, "'camera'")
    };
    let seen_by = |stages| [binding(5, D::UNIFORM_BUFFER, 1, stages)];
    for (backend, stages) in [
        (Backend::Native, S::VERTEX),
        (Backend::Vertex, S::ALL_GRAPHICS),
        (COMPUTE, S::COMPUTE),
        (COMPUTE, S::ALL),
    ] {
        assert_eq!(check(&shader, &seen_by(stages), backend), Ok(()));
    }
    for (backend, stages, expected) in [
        (Backend::Vertex, S::COMPUTE, "COMPUTE, and the vertex backend reads it in VERTEX"),
        (
            COMPUTE,
            S::VERTEX | S::FRAGMENT,
            "VERTEX | FRAGMENT, and the compute backend reads it in COMPUTE",
        ),
    ] {
        let error = check(&shader, &seen_by(stages), backend).unwrap_err();
        assert!(matches!(error, PipelineLayoutError::NotVisible { set: 2, binding: 5, .. }));
        assert_eq!(
            text(error),
            format!(
                "descriptor set 2 binding 5 is 'camera': the set layout has it for the stages {expected}"
            )
        );
    }
    // A binding that is visible to the vertex stage can be made visible to the compute stage.
    let bindings = seen_by(S::VERTEX);
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
    // SAFETY: the structure is valid.
    let visible = unsafe { SetLayoutInfo::with_compute(&info) };
    assert_eq!(check(&shader, visible.bindings(), COMPUTE), Ok(()));

    let other = [binding(4, D::UNIFORM_BUFFER, 1, S::ALL)];
    assert_eq!(
        text(check(&shader, &other, COMPUTE).unwrap_err()),
        "descriptor set 2 binding 5 is 'camera': the set layout has no such binding"
    );
    let set_layouts = [&bindings[..]; 2];
    let layout = PipelineLayoutDesc { set_layouts: &set_layouts, ..PipelineLayoutDesc::default() };
    assert_eq!(
        text(layout.check(&shader, COMPUTE).unwrap_err()),
        "descriptor set 2 binding 5 is 'camera': the pipeline layout has 2 set layouts"
    );
}

/// Two variables of one descriptor are each compared with the descriptor.
#[test]
fn variables_that_share_a_descriptor() {
    let shader = interface(
        "layout(set = 2, binding = 5) uniform sampler s;
         layout(set = 2, binding = 5) uniform texture2D t;",
        "textureLod(sampler2D(t, s), vec2(0.0), 0.0)",
    );
    assert_eq!(shader.descriptors.len(), 2);
    let of = |ty| [binding(5, ty, 1, S::ALL)];
    assert_eq!(check(&shader, &of(D::COMBINED_IMAGE_SAMPLER), COMPUTE), Ok(()));
    for ty in [D::SAMPLER, D::SAMPLED_IMAGE] {
        assert!(check(&shader, &of(ty), COMPUTE).is_err());
    }
}

#[test]
fn push_constants() {
    let block =
        "layout(push_constant) uniform Push { layout(offset = 16) vec3 a; float b[2]; } push;";
    let shader = interface(block, "push.b[1]");
    assert_eq!(shader.push_constants, 16..36);
    assert!(interface(block, "0.0").push_constants.is_empty());
    let check = |ranges: &[(S, u32, u32)]| {
        let range = |&(stage_flags, start, end): &(S, u32, u32)| vk::PushConstantRange {
            stage_flags,
            offset: start,
            size: end - start,
        };
        let ranges: Vec<_> = ranges.iter().map(range).collect();
        let layout =
            PipelineLayoutDesc { push_constant_ranges: &ranges, ..PipelineLayoutDesc::default() };
        layout.check(&shader, COMPUTE).map_err(|error| error.to_string())
    };
    let lacks = |byte: u32| {
        Err(format!(
            "the shader has push constants in bytes 16 to 36: no range for the vertex stage has byte {byte}"
        ))
    };
    let (vertex, fragment) = (S::VERTEX, S::FRAGMENT);
    assert_eq!(check(&[(vertex, 16, 36)]), Ok(()));
    assert_eq!(check(&[(fragment, 36, 64), (vertex | fragment, 0, 128)]), Ok(()));
    assert_eq!(check(&[]), lacks(16));
    assert_eq!(check(&[(fragment, 0, 128)]), lacks(16));
    assert_eq!(check(&[(vertex, 20, 64)]), lacks(16));
    assert_eq!(check(&[(vertex, 0, 32), (fragment, 32, 64)]), lacks(32));
    assert_eq!(check(&[(S::ALL, 4, u32::MAX)]), Ok(()));
}

/// A shader that reads two sets, and push constants.
const SHADER: &str = "#version 450
    layout(set = 0, binding = 3) uniform Frame { uint frame; };
    layout(set = 0, binding = 1) readonly buffer Object { uint object; } objects[2];
    layout(set = 1, binding = 0) uniform usamplerBuffer texels;
    layout(push_constant) uniform Push { layout(offset = 16) uint pushed; };
    layout(location = 0, xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0) out flat uvec4 captured;
    void main() {
        captured = uvec4(frame, objects[0].object + objects[1].object,
            texelFetch(texels, gl_VertexIndex).x, pushed + gl_VertexIndex);
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

/// The bindings of each set of an application that does not capture.
const SETS: [&[(u32, D, u32, S)]; 2] = [
    &[
        (3, D::UNIFORM_BUFFER, 1, S::VERTEX),
        (2, D::SAMPLER, 1, S::FRAGMENT),
        (1, D::STORAGE_BUFFER, 2, S::from_raw(S::VERTEX.as_raw() | S::FRAGMENT.as_raw())),
    ],
    &[(0, D::UNIFORM_TEXEL_BUFFER, 1, S::VERTEX)],
];

/// Returns the bindings of the sets as Vulkan structures.
fn set_bindings() -> [Vec<vk::DescriptorSetLayoutBinding<'static>>; 2] {
    SETS.map(|set| {
        set.iter().map(|&(number, ty, count, stages)| binding(number, ty, count, stages)).collect()
    })
}

/// Lowers the shader for a device, with the application's sets.
fn lower(gpu: &TestDevice, words: &[u32]) -> Lowered {
    let vertex_input = VertexInput::default();
    let target = gpu.context().compute_target().unwrap();
    let options = compute::Options::new(&vertex_input).target(target);
    compute::lower(&Shader::new(words), &options).unwrap()
}

fn make_pipeline(
    gpu: &TestDevice,
    shader: &Lowered,
    set_layouts: &[vk::DescriptorSetLayout],
) -> Owned<Pipeline> {
    let input = VertexInput::default();
    let desc = PipelineDesc {
        topology: Some(POINTS.into()),
        provoking_vertex: ProvokingVertex::First,
        vertex_input: Some(&input),
        set_layouts,
        ..PipelineDesc::new(shader)
    };
    gpu.pipeline(&desc)
}

/// Allocates descriptor sets of the layouts, and writes each buffer and the texel buffer to its
/// binding.
///
/// # Safety
/// The device and all objects are live until the sets are no longer used.
unsafe fn make_sets(
    device: &ash::Device,
    layouts: &[vk::DescriptorSetLayout],
    frame: vk::Buffer,
    objects: [vk::Buffer; 2],
    texels: vk::BufferView,
) -> (vk::DescriptorPool, Vec<vk::DescriptorSet>) {
    let sizes = [D::UNIFORM_BUFFER, D::SAMPLER, D::STORAGE_BUFFER, D::UNIFORM_TEXEL_BUFFER]
        .map(|ty| vk::DescriptorPoolSize { ty, descriptor_count: 2 });
    let info = vk::DescriptorPoolCreateInfo::default().max_sets(2).pool_sizes(&sizes);
    unsafe {
        let pool = device.create_descriptor_pool(&info, None).unwrap();
        let info =
            vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(layouts);
        let sets = device.allocate_descriptor_sets(&info).unwrap();
        let whole = |buffer| vk::DescriptorBufferInfo { buffer, offset: 0, range: vk::WHOLE_SIZE };
        let (frame, objects, texels) = ([whole(frame)], objects.map(whole), [texels]);
        let write = |set: usize, binding, ty| {
            let write = vk::WriteDescriptorSet::default().dst_set(sets[set]);
            write.dst_binding(binding).descriptor_type(ty)
        };
        let writes = [
            write(0, 3, D::UNIFORM_BUFFER).buffer_info(&frame),
            write(0, 1, D::STORAGE_BUFFER).buffer_info(&objects),
            write(1, 0, D::UNIFORM_TEXEL_BUFFER).texel_buffer_view(&texels),
        ];
        device.update_descriptor_sets(&writes, &[]);
        (pool, sets)
    }
}

const VERTICES: u32 = 6;
const PUSHED: u32 = 7000;

/// Bindings that an application created only for its vertex stage are also created for captures,
/// and nothing else changes.
#[test]
fn captures_with_a_layout_that_was_made_visible() {
    let words = common::compile(SHADER, &[]);
    let shader = resource_interface(&Shader::new(&words)).unwrap();
    let sets = set_bindings();
    let ranges =
        [vk::PushConstantRange { stage_flags: S::VERTEX | S::FRAGMENT, offset: 0, size: 20 }];
    let own = sets.each_ref().map(Vec::as_slice);
    let layout = PipelineLayoutDesc { set_layouts: &own, push_constant_ranges: &ranges };
    assert_eq!(layout.check(&shader, Backend::Native), Ok(()));
    let error = layout.check(&shader, COMPUTE).unwrap_err();
    assert!(matches!(error, PipelineLayoutError::NotVisible { set: 0, binding: 1, .. }), "{error}");
    resource_interface(&Shader::new(&words[..4])).unwrap_err();

    for resources in device::RESOURCES {
        for profile in [Profile::Full, Profile::Bifrost] {
            let options = OpenOptions { profile, resources, ..Default::default() };
            let mut gpu = device::open_with(options);
            // What is in a chain needs more than Vulkan 1.0.
            let flags = [vk::DescriptorBindingFlags::empty(); 3];
            let mut chains = sets.each_ref().map(|bindings| {
                let flags = &flags[..bindings.len()];
                vk::DescriptorSetLayoutBindingFlagsCreateInfo::default().binding_flags(flags)
            });
            let visible: Vec<SetLayoutInfo<'_>> = sets
                .iter()
                .zip(&mut chains)
                .map(|(bindings, chain)| {
                    let mut info = vk::DescriptorSetLayoutCreateInfo::default().bindings(bindings);
                    if profile == Profile::Full {
                        info = info.push_next(chain);
                    }
                    // SAFETY: the structure is valid.
                    unsafe { SetLayoutInfo::with_compute(&info) }
                })
                .collect();
            let bindings: Vec<_> = visible.iter().map(SetLayoutInfo::bindings).collect();
            let layout =
                PipelineLayoutDesc { set_layouts: &bindings, push_constant_ranges: &ranges };
            assert_eq!(layout.check(&shader, COMPUTE), Ok(()));

            let lowered = lower(&gpu, &words);
            let device = gpu.context().device().clone();
            let make = |info: &SetLayoutInfo<'_>| {
                // SAFETY: the structure is valid, and the device is live.
                unsafe { device.create_descriptor_set_layout(&info.info(), None) }.unwrap()
            };
            let layouts: Vec<vk::DescriptorSetLayout> = visible.iter().map(make).collect();
            let pipeline = make_pipeline(&gpu, &lowered, &layouts);
            let found = capture(&mut gpu, &pipeline, &layouts);
            let record =
                |vertex: u32| [11, 22 + 33, 100 + vertex, PUSHED + vertex].map(u32::to_le_bytes);
            let expected: Vec<u8> = (0..VERTICES).flat_map(record).flatten().collect();
            assert_eq!(found, expected, "{resources:?} {profile:?}");
            for layout in layouts {
                // SAFETY: nothing is in flight.
                unsafe { device.destroy_descriptor_set_layout(layout, None) };
            }
        }
    }
}

/// Captures with descriptor sets of these layouts, and returns the captured bytes.
fn capture(
    gpu: &mut TestDevice,
    pipeline: &Pipeline,
    layouts: &[vk::DescriptorSetLayout],
) -> Vec<u8> {
    let mut buffer = |values: &[u32], usage| gpu.filled(usage, values);
    let frame = buffer(&[11; 4], vk::BufferUsageFlags::UNIFORM_BUFFER);
    let objects = [22, 33].map(|value| buffer(&[value; 4], vk::BufferUsageFlags::STORAGE_BUFFER));
    let texels: Vec<u32> = (100..100 + VERTICES).collect();
    let texels = buffer(&texels, vk::BufferUsageFlags::UNIFORM_TEXEL_BUFFER);
    let usage = gpu.context().buffer_usages(COMPUTE).capture;
    let size = u64::from(VERTICES) * 16;
    let target = gpu.buffer(size, usage);
    let device = gpu.context().device().clone();
    let info = vk::BufferViewCreateInfo::default()
        .buffer(texels.raw())
        .format(vk::Format::R32_UINT)
        .range(vk::WHOLE_SIZE);
    let raw_objects = objects.each_ref().map(|buffer| buffer.raw());
    // SAFETY: the device is live, and all outlives the submission.
    let (view, (pool, sets)) = unsafe {
        let view = device.create_buffer_view(&info, None).unwrap();
        (view, make_sets(&device, layouts, frame.raw(), raw_objects, view))
    };
    let mut arena = gpu.arena(ArenaDesc::new(1, 1));
    let kernels = gpu.kernels();
    let buffers = [Some(CaptureBuffer::new(target.raw(), size))];
    let desc = CaptureDesc { buffers: &buffers, ..CaptureDesc::new(pipeline) };
    let draw = Draw::new(VERTICES);
    gpu.submit(|ctx, cmd| {
        // SAFETY: everything outlives the submission, which is waited for.
        unsafe {
            let mut capture = Capture::new(ctx, &kernels);
            let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
            recorder.bind_descriptor_sets(0, &sets, &[])?;
            recorder.push_constants(16, &PUSHED.to_le_bytes())?;
            recorder.draw(POINTS, &draw)?;
            recorder.end(&[])?;
            ctx.capture_barrier(cmd, COMPUTE, ConsumerScope::TRANSFER);
        }
        Ok::<_, GpuError>(())
    })
    .unwrap();
    let found = gpu.read(&target, 0..size).unwrap();
    // SAFETY: the submission was waited for.
    unsafe {
        device.destroy_descriptor_pool(pool, None);
        device.destroy_buffer_view(view, None);
    }
    found
}
