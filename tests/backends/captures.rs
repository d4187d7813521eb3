//! Complete captures on a device, with the validation layer: appended draws, overflow, unbound
//! buffers, folded dispatches, provoking vertex conventions. Every backend, including native, is
//! compared with a model that works primitive by primitive.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use vkxfb::lower::{Backend, Shader};
use vkxfb::runtime::{Draw, RuntimeError};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::{InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput};
use vkxfb_probe::gpu::{CaptureRequest, CaptureTarget, GpuError, OpenOptions, Profile, VertexData};
use vkxfb_probe::shaders::ProbeShader;

use crate::common;
use crate::common::device::{
    Bound, Capture, Draws, PipelineOptions, RESOURCES, assert_same, lower, lower_on, open,
    open_with, pipeline, run,
};
use crate::common::test_device::TestDevice;

const TRI_STRIP: PrimitiveTopology = PrimitiveTopology::TriangleStrip;

fn draw(vertex_count: u32, instance_count: u32) -> Draw {
    Draw { vertex_count, instance_count, first_vertex: 0, first_instance: 0 }
}

fn options(topology: PrimitiveTopology) -> PipelineOptions {
    PipelineOptions { topology, provoking: ProvokingVertex::First, specialize: false }
}

fn any_draw() -> impl Strategy<Value = Draw> {
    (0..40u32, 0..4u32, 0..50u32, 0..9u32).prop_map(
        |(vertex_count, instance_count, first_vertex, first_instance)| Draw {
            vertex_count,
            instance_count,
            first_vertex,
            first_instance,
        },
    )
}

/// Returns a strategy for draws of `topology`, or of any topology if it is `None`, into buffers
/// that have room for all, some or none of the records.
fn any_capture(
    shader: &ProbeShader,
    topology: Option<PrimitiveTopology>,
) -> impl Strategy<Value = Capture> + use<> {
    let topologies: Vec<PrimitiveTopology> =
        topology.map_or(PrimitiveTopology::ALL.to_vec(), |t| vec![t]);
    let draws = proptest::collection::vec((proptest::sample::select(topologies), any_draw()), 1..5);
    let strides: Vec<u64> = shader.buffers.iter().map(|b| b.stride.into()).collect();
    let bounds = proptest::collection::vec((0..4u8, 0..8u64, 0..120u64), strides.len());
    (draws, bounds).prop_map(move |(draws, bounds)| {
        let vertices: u64 = draws
            .iter()
            .map(|(t, d)| t.output_count(d.vertex_count) * u64::from(d.instance_count))
            .sum();
        let bound = |((kind, offset, percent), stride): (&(u8, u64, u64), &u64)| {
            let size = (vertices * stride * percent / 100).next_multiple_of(4).max(4);
            (*kind > 0).then_some(Bound { offset: offset * 4, size })
        };
        let mut buffers: Vec<Option<Bound>> = bounds.iter().zip(&strides).map(bound).collect();
        // Native transform feedback needs at least one buffer.
        if buffers.iter().all(Option::is_none) {
            buffers[0] = Some(Bound { offset: 0, size: 4 });
        }
        Capture { draws, buffers }
    })
}

/// Draws `count` values from a strategy, with a fixed seed.
fn sample<S: Strategy>(strategy: &S, seed: u8, count: usize) -> Vec<S::Value> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

/// Whether a backend of this device supports draws with these options.
fn is_legal(gpu: &TestDevice, backend: Backend, options: PipelineOptions) -> bool {
    let enabled = gpu.context().enabled();
    let adjacency = enabled.geometry_shader || !options.topology.has_adjacency();
    let last = enabled.provoking_vertex_last || options.provoking == ProvokingVertex::First;
    match backend {
        Backend::Native => adjacency && last && enabled.preserve_provoking_vertex,
        Backend::Vertex => adjacency,
        Backend::Compute => true,
    }
}

/// Faults of drivers in their own captures. The tests below demonstrate the faults of lavapipe, and
/// fail once they are fixed.
/// * If one of several captured buffers is not bound, nothing is captured (lavapipe 22.3, NVIDIA
///   580.159). Only the outputs of that buffer should be ignored.
/// * A vertex is written if its outputs fit, even if its stride does not (lavapipe 22.3). That is
///   the rule of OpenGL.
fn is_known_native_bug(gpu: &TestDevice, shader: &ProbeShader, capture: &Capture) -> bool {
    let overflows_in_a_gap = |(buffer, bound): (usize, &Option<Bound>)| {
        let captured = &shader.buffers[buffer];
        let end = captured.fields.iter().map(|f| f.offset + f.size).max().unwrap_or(0);
        bound.is_some_and(|b| b.size % u64::from(captured.stride) >= u64::from(end))
    };
    capture.buffers.iter().any(Option::is_none)
        || (is_lavapipe(gpu) && capture.buffers.iter().enumerate().any(overflows_in_a_gap))
}

fn is_lavapipe(gpu: &TestDevice) -> bool {
    gpu.capabilities().driver_name == "llvmpipe"
}

/// Captures triangles natively.
fn native_triangle(gpu: &mut TestDevice, capture: &Capture) -> common::device::Outcome {
    let shader = ProbeShader::two_buffers();
    let lowered = lower(gpu, &shader, Backend::Native);
    let pipeline = pipeline(gpu, &shader, &lowered, options(TRI_STRIP));
    run(gpu, &shader, &pipeline, std::slice::from_ref(capture)).remove(0)
}

#[test]
fn lavapipe_needs_every_buffer_bound() {
    let mut gpu = open(Profile::Full);
    if is_lavapipe(&gpu) {
        let capture = Capture {
            draws: vec![(TRI_STRIP, draw(3, 1))],
            buffers: vec![Some(Bound { offset: 0, size: 96 }), None],
        };
        let found = native_triangle(&mut gpu, &capture);
        assert_eq!(found.allocations, capture.allocations(), "the bug is gone");
    }
}

#[test]
fn lavapipe_writes_vertices_whose_stride_does_not_fit() {
    let mut gpu = open(Profile::Full);
    if is_lavapipe(&gpu) {
        // The last record of buffer 0 lacks its trailing gap of 8 bytes.
        let capture = Capture {
            draws: vec![(TRI_STRIP, draw(3, 1))],
            buffers: vec![
                Some(Bound { offset: 0, size: 96 - 8 }),
                Some(Bound { offset: 0, size: 60 }),
            ],
        };
        let found = native_triangle(&mut gpu, &capture);
        assert_ne!(found.allocations, capture.allocations(), "the bug is gone");
    }
}

/// Compares random captures with the model, with one pipeline for each topology, on every backend.
#[test]
fn random_captures_agree_with_the_model() {
    for resources in RESOURCES {
        let mut gpu =
            open_with(OpenOptions { profile: Profile::Full, resources, ..Default::default() });
        let backends = gpu.backends().to_vec();
        let mut seed = 0;
        for shader in ProbeShader::all() {
            for backend in backends.iter().copied() {
                let lowered = lower(&gpu, &shader, backend);
                for topology in PrimitiveTopology::ALL {
                    seed += 1;
                    let captures = sample(&any_capture(&shader, Some(topology)), seed, 24);
                    for provoking in ProvokingVertex::ALL {
                        let specialize = seed % 2 == 0;
                        let options = PipelineOptions { topology, provoking, specialize };
                        if !is_legal(&gpu, backend, options) {
                            continue;
                        }
                        let pipeline = pipeline(&gpu, &shader, &lowered, options);
                        let found = run(&mut gpu, &shader, &pipeline, &captures);
                        for (capture, found) in captures.iter().zip(found) {
                            if backend == Backend::Native
                                && is_known_native_bug(&gpu, &shader, capture)
                            {
                                continue;
                            }
                            let what = format!("{backend} {shader} {provoking} {capture:?}");
                            let expected = capture.model(&shader, provoking);
                            assert_same(&found, &expected, &what);
                        }
                    }
                }
            }
        }
    }
}

/// Compares captures with one pipeline for all topologies, on a device of the floor, with
/// dispatches folded at various widths.
#[test]
fn dynamic_topology_folds_and_mixes_on_the_floor() {
    for resources in RESOURCES {
        let mut gpu =
            open_with(OpenOptions { profile: Profile::Bifrost, resources, ..Default::default() });
        assert_eq!(gpu.backends(), [Backend::Compute]);
        let mut seed = 100;
        for shader in ProbeShader::all() {
            let lowered = lower(&gpu, &shader, Backend::Compute);
            for provoking in ProvokingVertex::ALL {
                let options = PipelineOptions { provoking, ..options(TRI_STRIP) };
                let pipeline = pipeline(&gpu, &shader, &lowered, options);
                for max_workgroups in [2, 3, 7, 65535] {
                    seed += 1;
                    let captures = sample(&any_capture(&shader, None), seed, 32);
                    gpu.set(|settings| settings.max_workgroups_per_axis = max_workgroups);
                    let captures: Vec<Capture> = captures
                        .into_iter()
                        .filter(|c| c.draws.iter().all(|(_, d)| fits(d, max_workgroups)))
                        .collect();
                    let found = run(&mut gpu, &shader, &pipeline, &captures);
                    for (capture, found) in captures.iter().zip(found) {
                        let what = format!("{shader} {provoking} {max_workgroups} {capture:?}");
                        assert_same(&found, &capture.model(&shader, provoking), &what);
                    }
                }
            }
        }
    }
}

/// Whether the workgroups of 64 invocations of a draw fit on two axes, including the invocations
/// for the first vertex of a fan.
fn fits(draw: &Draw, max_workgroups: u32) -> bool {
    let capacity = 64 * u64::from(max_workgroups) * u64::from(max_workgroups);
    2 * u64::from(draw.vertex_count) * u64::from(draw.instance_count) <= capacity
}

/// Draws need every row of a folded dispatch, or one row too many.
#[test]
fn dispatches_fold_at_the_limit() {
    for resources in RESOURCES {
        let mut gpu = open_with(OpenOptions { resources, ..Default::default() });
        let shader = ProbeShader::identify();
        let lowered = lower(&gpu, &shader, Backend::Compute);
        let pipeline = pipeline(&gpu, &shader, &lowered, options(TRI_STRIP));
        gpu.set(|settings| settings.max_workgroups_per_axis = 3);
        let capture = |vertices: u32| Capture {
            draws: vec![(PrimitiveTopology::PointList, draw(vertices, 1))],
            buffers: vec![Some(Bound { offset: 0, size: u64::from(vertices) * 16 })],
        };
        let captures: Vec<Capture> =
            [1, 63, 64, 65, 3 * 64, 3 * 64 + 1, 6 * 64 + 1, 9 * 64].map(capture).into();
        let found = run(&mut gpu, &shader, &pipeline, &captures);
        for (capture, found) in captures.iter().zip(found) {
            let expected = capture.model(&shader, ProvokingVertex::First);
            assert_same(&found, &expected, &format!("{capture:?}"));
        }
        // Nothing is recorded of a draw that does not fit.
        let request = capture(9 * 64 + 1);
        let allocations = request.allocations();
        let target = CaptureTarget {
            initial: allocations[0].as_deref().unwrap(),
            offset: common::device::GUARD,
            size: request.buffers[0].unwrap().size,
        };
        let request = CaptureRequest {
            pipeline: &pipeline,
            vertex_data: &[],
            descriptor_sets: &[],
            push_constants: &[],
            draws: &request.draws,
            buffers: &[Some(target)],
            indices: &[],
            counters: false,
        };
        // SAFETY: the pipeline is of this device and reads no vertex data.
        let error = unsafe { gpu.capture(&[request]) }.unwrap_err();
        assert!(
            matches!(
                error,
                GpuError::Capture {
                    source: RuntimeError::DispatchTooLarge { workgroups: 10, per_axis: 3 },
                    ..
                }
            ),
            "{error:?}"
        );
    }
}

/// Attributes that are not completely within the binding read as zero, with defaults for components
/// that the format lacks. Nothing outside of the binding is read.
#[test]
fn attributes_out_of_range_are_zero() {
    for resources in RESOURCES {
        let mut gpu =
            open_with(OpenOptions { profile: Profile::Bifrost, resources, ..Default::default() });
        let shader = ProbeShader::attributes();
        let lowered = lower(&gpu, &shader, Backend::Compute);
        let pipeline = pipeline(&gpu, &shader, &lowered, options(TRI_STRIP));
        let vertices = 8;
        let data: Vec<(u32, Vec<u8>)> = shader
            .vertex_input
            .bindings
            .iter()
            .map(|b| {
                let mut bytes = shader.vertex_buffer(b.binding, vertices).unwrap();
                // Binding 0 ends inside the position of vertex 5, which comes after its key.
                bytes.truncate(if b.binding == 0 {
                    5 * b.stride as usize + 12
                } else {
                    bytes.len()
                });
                (b.binding, bytes)
            })
            .collect();
        let vertex_data: Vec<_> =
            data.iter().map(|(binding, bytes)| VertexData { binding: *binding, bytes }).collect();
        let capture = Capture {
            draws: vec![(PrimitiveTopology::PointList, draw(vertices, 1))],
            buffers: vec![Some(Bound { offset: 0, size: u64::from(vertices) * 60 })],
        };
        let allocations = capture.allocations();
        let target = CaptureTarget {
            initial: allocations[0].as_deref().unwrap(),
            offset: common::device::GUARD,
            size: capture.buffers[0].unwrap().size,
        };
        let request = CaptureRequest {
            pipeline: &pipeline,
            vertex_data: &vertex_data,
            descriptor_sets: &[],
            push_constants: &[],
            draws: &capture.draws,
            buffers: &[Some(target)],
            indices: &[],
            counters: false,
        };
        // SAFETY: the compute backend bounds what it reads.
        let found =
            unsafe { gpu.capture(&[request]) }.unwrap().remove(0).buffers.remove(0).unwrap();
        let expected =
            capture.model(&shader, ProvokingVertex::First).allocations.remove(0).unwrap();
        let word = |bytes: &[u8], vertex: usize, offset: usize| {
            let at = common::device::GUARD as usize + vertex * 60 + offset;
            u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
        };
        for vertex in 0..vertices as usize {
            // Captured are position + weight at 0, key at 16, position.zw at 48.
            let zw = [48, 52].map(|at| word(&found, vertex, at));
            let key = [16, 20].map(|at| word(&found, vertex, at));
            match vertex {
                0..=4 => assert_eq!(zw, [48, 52].map(|at| word(&expected, vertex, at))),
                _ => assert_eq!(zw, [0, 0], "vertex {vertex}"),
            }
            match vertex {
                0..=5 => assert_eq!(key, [16, 20].map(|at| word(&expected, vertex, at))),
                _ => assert_eq!(key, [0, 0], "vertex {vertex}"),
            }
        }
    }
}

/// Tests inputs that probe shaders do not read: components that a format lacks, a `Component`
/// decoration, elements with stride 0, and the built-ins of a draw.
#[test]
fn defaults_and_draw_parameters_are_supplied() {
    const SHADER: &str = r#"#version 450
        #extension GL_ARB_shader_draw_parameters : require
        #extension GL_EXT_multiview : require
        layout(location = 0) in vec4 two;
        layout(location = 1) in ivec4 one;
        layout(location = 2) in uvec4 three;
        layout(location = 3, component = 1) in vec2 middle;
        layout(location = 4) in uint constant;
        layout(xfb_buffer = 0, xfb_stride = 76) out;
        layout(location = 0, xfb_offset = 0) out vec4 a;
        layout(location = 1, xfb_offset = 16) flat out ivec4 b;
        layout(location = 2, xfb_offset = 32) flat out uvec4 c;
        layout(location = 3, xfb_offset = 48) out vec2 d;
        layout(location = 4, xfb_offset = 56) flat out ivec4 draw;
        layout(location = 5, xfb_offset = 72) flat out uint e;
        void main() {
            a = two; b = one; c = three; d = middle; e = constant;
            draw = ivec4(gl_BaseVertexARB, gl_BaseInstanceARB, gl_DrawIDARB, gl_ViewIndex);
        }"#;
    const STRIDE: usize = 76;
    let binding =
        |binding, stride| VertexBinding { binding, stride, input_rate: InputRate::Vertex };
    let attribute =
        |location, binding, format, offset| VertexAttribute { location, binding, format, offset };
    let vertex_input = VertexInput {
        bindings: vec![binding(0, 40), binding(1, 0)],
        attributes: vec![
            attribute(0, 0, VertexFormat::R32G32Sfloat, 0),
            attribute(1, 0, VertexFormat::R32Sint, 8),
            attribute(2, 0, VertexFormat::R32G32B32Uint, 12),
            attribute(3, 0, VertexFormat::R32G32B32A32Sfloat, 24),
            attribute(4, 1, VertexFormat::R32Uint, 0),
        ],
    };
    for resources in RESOURCES {
        let mut gpu =
            open_with(OpenOptions { profile: Profile::Bifrost, resources, ..Default::default() });
        let words = common::compile(SHADER, &[]);
        let lowered = lower_on(&gpu, Backend::Compute, &Shader::new(&words), &vertex_input);

        // Word w of vertex v is 100 v + w.
        let value = |vertex: u32, word: u32| 100 * vertex + word;
        let data: Vec<u8> =
            (0..5).flat_map(|v| (0..10).flat_map(move |w| value(v, w).to_le_bytes())).collect();
        let draws = Draws {
            lowered: &lowered,
            vertex_input: &vertex_input,
            vertex_data: &[data, 77u32.to_le_bytes().to_vec()],
            sets: &[],
            push_constants: &[],
            topology: PrimitiveTopology::PointList,
            draws: &[Draw {
                vertex_count: 3,
                instance_count: 2,
                first_vertex: 2,
                first_instance: 5,
            }],
        };
        let found = draws.capture(&mut gpu).remove(0).unwrap();
        assert_eq!(found.len(), 6 * STRIDE);
        for (record, bytes) in found.chunks_exact(STRIDE).enumerate() {
            let vertex = 2 + record as u32 % 3;
            let words: Vec<u32> =
                bytes.chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
            let word = |word| value(vertex, word);
            let expected = [
                [word(0), word(1), 0, 1f32.to_bits()],
                [word(2), 0, 0, 1],
                [word(3), word(4), word(5), 1],
                [word(7), word(8), 2, 5],
                [0, 0, 77, 0],
            ];
            assert_eq!(words, expected.concat()[..STRIDE / 4], "record {record}");
        }
    }
}

/// A capture list that is equivalent to the decorations captures the same from the shader without
/// decorations.
#[test]
fn lists_capture_what_decorations_do() {
    use spirv::BuiltIn;
    use vkxfb::capture::{CaptureEntry, CaptureList, Selector};
    use vkxfb::lower::{compute, native, vertex};

    for resources in RESOURCES {
        let mut gpu = open_with(OpenOptions { resources, ..Default::default() });
        let shader = ProbeShader::two_buffers();
        let words = shader.words();
        let entry = |selector, buffer, offset| CaptureEntry::new(selector, buffer, offset);
        let position =
            Selector::BuiltIn { built_in: BuiltIn::Position, component: 0, components: 4 };
        let list = CaptureList::default()
            .captures(vec![
                entry(Selector::Location { location: 1, component: 0, components: 3 }, 1, 4),
                entry(Selector::Name("checksum".to_owned()), 0, 20),
                entry(position, 0, 0),
            ])
            .strides([Some(32), Some(20), None, None]);
        let source = Shader::new(&words).captures(&list);
        let compute_options = compute::Options::new(&shader.vertex_input)
            .target(gpu.compute_target(Backend::Compute).unwrap());
        let native_options = native::Options::new()
            .max_output_components(gpu.capabilities().limits.max_vertex_output_components);
        for lowered in [
            native::lower_with(&source, &native_options).unwrap(),
            vertex::lower(&source).unwrap(),
            compute::lower(&source, &compute_options).unwrap(),
        ] {
            if !gpu.backends().contains(&lowered.backend())
                || !is_legal(&gpu, lowered.backend(), options(TRI_STRIP))
            {
                continue;
            }
            let pipeline = pipeline(&gpu, &shader, &lowered, options(TRI_STRIP));
            let capture = Capture {
                draws: vec![(TRI_STRIP, draw(9, 2))],
                buffers: vec![
                    Some(Bound { offset: 0, size: 42 * 32 }),
                    Some(Bound { offset: 8, size: 42 * 20 }),
                ],
            };
            let found = run(&mut gpu, &shader, &pipeline, std::slice::from_ref(&capture)).remove(0);
            let expected = capture.model(&shader, ProvokingVertex::First);
            assert_same(&found, &expected, &lowered.backend());
        }
    }
}
