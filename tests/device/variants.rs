//! Pipelines that are created when they are first needed, and that change within a capture.

use std::collections::BTreeSet;

use ash::vk::{self, Handle};
use vkxfb::lower::{Backend, Shader};
use vkxfb::runtime::vulkan::vertex_input_descriptions;
use vkxfb::runtime::{
    ArenaDesc, Capture, CaptureBuffer, CaptureDesc, ConsumerScope, Draw, Pipeline, Recorder,
    RuntimeError, Stages, StagesError, Variants,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::{InputRate, VertexInput};
use vkxfb_probe::gpu::{OpenOptions, Profile, Resources};
use vkxfb_probe::shaders::ProbeShader;

use crate::common::{self, device};

const COMPUTE: Backend = Backend::Compute;

fn desc<'a>(words: &'a [u32], vertex_input: &'a VertexInput) -> Stages<'a> {
    Stages {
        vertex_input,
        provoking_vertex: ProvokingVertex::First,
        primitive_restart: false,
        ..Stages::new(words)
    }
}

/// Threads that request the same variant get the same pipeline, and different variants have
/// different pipelines.
#[test]
fn variants_are_made_once() {
    let gpu = device::open(Profile::Full);
    let ctx = gpu.context();
    let (identify, attributes) = (ProbeShader::identify(), ProbeShader::attributes());
    let (identify_words, attribute_words) = (identify.words(), attributes.words());
    let mut instanced = attributes.vertex_input.clone();
    instanced.bindings[0].input_rate = InputRate::Instance { divisor: 3 };
    let mut wide = attributes.vertex_input.clone();
    wide.bindings[0].stride += 16;
    let plain = desc(&identify_words, &identify.vertex_input);
    let descs = [
        plain,
        Stages { topology: Some(PrimitiveTopology::TriangleFan.into()), ..plain },
        Stages { provoking_vertex: ProvokingVertex::Last, ..plain },
        Stages { primitive_restart: true, ..plain },
        desc(&attribute_words, &attributes.vertex_input),
        desc(&attribute_words, &instanced),
        desc(&attribute_words, &wide),
    ];
    let variants = Variants::default();
    let ask = |offset: usize| -> Vec<u64> {
        let number = |i: usize| (i + offset) % descs.len();
        let mut found = vec![0; descs.len()];
        for i in (0..descs.len()).map(number) {
            // SAFETY: the context is of a live device.
            let pipeline = unsafe { variants.get(ctx, &descs[i]) }.unwrap();
            found[i] = pipeline.raw_layout().as_raw();
        }
        found
    };
    let found: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|offset| scope.spawn(move || ask(offset))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(found.iter().all(|others| *others == found[0]));
    assert_eq!(found[0].iter().collect::<BTreeSet<_>>().len(), descs.len());

    assert!(variants.remove_layout(vk::DescriptorSetLayout::from_raw(1)).is_empty());
    // SAFETY: nothing was submitted.
    unsafe { ctx.destroy(variants, &mut ()) };
}

/// Refused stages have no pipeline, whether shaders or the device refuse them, and none when stages with the same shaders
/// are made. The pipelines are those that go with a set layout. What the device refuses is forgotten at once, since it
/// may not refuse it again; what is refused of a shader is kept, until its layout goes. On a device with the validation
/// layer an object of Vulkan that stayed would be a message.
#[test]
fn refused_stages_leave_nothing_behind() {
    let gpu = device::open(Profile::Full);
    let ctx = gpu.context();
    let attributes = ProbeShader::attributes();
    let words = attributes.words();
    // SAFETY: the device is live.
    let layout = unsafe {
        let info = vk::DescriptorSetLayoutCreateInfo::default();
        ctx.device().create_descriptor_set_layout(&info, None).unwrap()
    };
    let (one, most) = ([layout], gpu.capabilities().limits.max_descriptor_sets as usize);
    let (many, no_input) = (vec![layout; most + 1], VertexInput::default());
    let right = Stages { set_layouts: &one, ..desc(&words, &attributes.vertex_input) };
    let of_shader = Stages { vertex_input: &no_input, ..right };
    let of_device = Stages { set_layouts: &many, ..right };
    let variants = Variants::default();
    // SAFETY: the context is of a live device, to which the set layout belongs.
    let get = |stages: &Stages<'_>| unsafe { variants.get(ctx, stages) };
    let kept = || format!("{variants:?}").matches("Slot {").count();
    let refuse = || {
        let error = get(&of_device).unwrap_err();
        assert!(matches!(error, StagesError::Runtime(_)), "{error}");
        let before = kept();
        let error = get(&of_shader).unwrap_err();
        assert!(matches!(error, StagesError::Lower { .. }), "{error}");
        assert!(error.to_string().starts_with("vertex shader: input "), "{error}");
        before
    };
    assert_eq!(refuse(), 0);
    // What is refused again is what was kept.
    assert_eq!((refuse(), kept()), (1, 1));
    assert!(variants.remove_layout(layout).is_empty());
    assert_eq!(kept(), 0);

    get(&right).unwrap();
    assert_eq!((refuse(), kept()), (1, 2));
    get(&right).unwrap();
    let removed = variants.remove_layout(layout);
    assert_eq!((removed.len(), kept()), (1, 0));
    // SAFETY: nothing was submitted, and no pipeline is left that has the set layout.
    unsafe {
        removed.into_iter().for_each(|pipeline| ctx.destroy(pipeline, &mut ()));
        ctx.destroy(variants, &mut ());
        ctx.device().destroy_descriptor_set_layout(layout, None);
    }
}

/// Draws of one capture with several pipelines, and with either provoking vertex mode, are
/// appended.
#[test]
fn pipelines_change_within_a_capture() {
    let strip = PrimitiveTopology::TriangleStrip;
    let shader = ProbeShader::identify();
    let draw = Draw { vertex_count: 5, instance_count: 2, ..Draw::default() };
    let stride = shader.stride(0).unwrap() as usize;
    let words = shader.words();
    let attributes = ProbeShader::attributes();
    let attribute_words = attributes.words();
    for resources in [Resources::Best, Resources::Descriptors] {
        let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        let variants = Variants::default();
        let dynamic = desc(&words, &shader.vertex_input);
        let get = |desc: &Stages<'_>| {
            // SAFETY: the context is of a live device.
            unsafe { variants.get(gpu.context(), desc) }.unwrap()
        };
        let first = get(&dynamic);
        let second = get(&Stages { topology: Some(strip.into()), ..dynamic });
        let last = get(&Stages { provoking_vertex: ProvokingVertex::Last, ..dynamic });
        let other = get(&desc(&attribute_words, &attributes.vertex_input));

        let modes = [
            ProvokingVertex::First,
            ProvokingVertex::First,
            ProvokingVertex::Last,
            ProvokingVertex::First,
            ProvokingVertex::Last,
        ];
        let mut expected = Vec::new();
        for mode in modes {
            for (instance, index) in (0..draw.instance_count)
                .flat_map(|i| (0..strip.output_count(draw.vertex_count)).map(move |n| (i, n)))
            {
                let mut record = vec![0; stride];
                let vertex = strip.gather(mode, index) as u32;
                shader.record(0, instance, vertex, &mut record);
                expected.extend(record);
            }
        }
        let usage = gpu.context().buffer_usages(COMPUTE).capture;
        let size = expected.len() as u64;
        let target = gpu.buffer(size, usage);
        let mut arena = gpu.arena(ArenaDesc::new(1, 8));
        let mut capture = Capture::new(gpu.context(), &gpu.kernels());
        let buffers = [Some(CaptureBuffer::new(target.raw(), size))];
        let desc = CaptureDesc { buffers: &buffers, ..CaptureDesc::new(&first) };
        let recorded = gpu.submit(|ctx, cmd| {
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                recorder.draw(strip, &draw)?;
                recorder.bind_pipeline(&second)?;
                recorder.draw(strip, &draw)?;
                let error = recorder.draw(PrimitiveTopology::PointList, &draw).unwrap_err();
                assert!(matches!(error, RuntimeError::TopologyMismatch { .. }), "{error}");
                recorder.bind_pipeline(&last)?;
                // Other records are refused, and what was bound stays.
                let error = recorder.bind_pipeline(&other).unwrap_err();
                assert!(matches!(error, RuntimeError::StrideMismatch { buffer: 0, .. }), "{error}");
                recorder.draw(strip, &draw)?;
                recorder.set_provoking_vertex(ProvokingVertex::First)?;
                recorder.draw(strip, &draw)?;
                // Binding a pipeline sets its own mode.
                recorder.bind_pipeline(&first)?;
                recorder.set_provoking_vertex(ProvokingVertex::Last)?;
                recorder.draw(strip, &draw)?;
                let recorded = recorder.end(&[])?;
                ctx.capture_barrier(cmd, COMPUTE, ConsumerScope::HOST);
                Ok(recorded)
            }
        });
        assert_eq!(recorded.unwrap().captured.unwrap().positions[0], size);
        assert_eq!(gpu.read(&target, 0..size).unwrap(), expected, "{resources:?}");
        // SAFETY: the submission was waited for.
        unsafe { gpu.context().destroy(variants, &mut ()) };
    }
}

/// An error of several shaders says which of them is at fault.
#[test]
fn an_error_names_the_stage_at_fault() {
    const VERTEX: &str = "#version 450
        layout(location = 3) in vec4 pulled;
        void main() { gl_Position = pulled; }";
    const CONTROL: &str = "#version 450
        layout(vertices = 3) out;
        void main() {
            gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
            gl_TessLevelOuter[0] = 1.0; gl_TessLevelOuter[1] = 1.0; gl_TessLevelOuter[2] = 1.0;
            gl_TessLevelInner[0] = 1.0;
        }";
    const EVALUATION: &str = "#version 450
        layout(triangles) in;
        void main() { gl_Position = gl_in[0].gl_Position; }";
    const GEOMETRY: &str = "#version 450
        layout(triangles) in;
        layout(points, max_vertices = 1) out;
        void main() { gl_Position = gl_in[0].gl_Position; EmitVertex(); }";
    let gpu = device::open_with(OpenOptions::default());
    let vertex = common::compile(VERTEX, &[]);
    let control = common::compile_stage("tesc", CONTROL, &[]);
    let evaluation = common::compile_stage("tese", EVALUATION, &[]);
    let geometry = common::compile_stage("geom", GEOMETRY, &[]);
    let vertex_input = vertex_input_descriptions(
        &[vk::VertexInputBindingDescription::default().stride(16)],
        &[vk::VertexInputAttributeDescription::default()
            .location(3)
            .format(vk::Format::R32G32B32A32_SFLOAT)],
    )
    .unwrap();
    let all = Stages {
        vertex_input: &vertex_input,
        ..Stages::new(&vertex[..])
            .tessellation(&control[..], &evaluation[..], 3)
            .geometry(&geometry[..])
            .varyings(&["@Position"])
    };
    let make = |stages: &Stages<'_>| {
        // SAFETY: the context is of a live device.
        let made = unsafe { Pipeline::from_stages(gpu.context(), stages) };
        made.map(|pipeline| gpu.destroy_pipeline(pipeline)).map_err(|error| error.to_string())
    };
    make(&all).unwrap();
    let no_words = Shader::new(&[]);
    let nothing = VertexInput::default();
    for (stages, begin) in [
        (Stages { vertex: no_words, ..all }, "vertex shader: "),
        (Stages { control: Some(no_words), ..all }, "tessellation control shader: "),
        (Stages { evaluation: Some(no_words), ..all }, "tessellation evaluation shader: "),
        (Stages { geometry: Some(no_words), ..all }, "geometry shader: "),
        (Stages { vertex_input: &nothing, ..all }, "vertex shader: input 'pulled'"),
        (all.varyings(&["missing"]), "geometry shader: "),
        (
            Stages { geometry: None, ..all }.varyings(&["missing"]),
            "tessellation evaluation shader: ",
        ),
        (Stages { evaluation: None, ..all }, "a tessellation control shader is given without"),
    ] {
        let error = make(&stages).unwrap_err();
        assert!(error.starts_with(begin), "{error}");
    }
}
