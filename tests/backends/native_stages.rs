//! Geometry and tessellation shaders that are captured by the driver and by compute, with the same calls of the
//! recorder: the results must be the same. `tests/geometry` and `tests/tessellation` compare random shaders with
//! captures that are recorded without the crate.

use std::time::Duration;

use ash::vk;
use vkxfb::Shader;
use vkxfb::capture::CaptureList;
use vkxfb::lower::compute::DomainOrigin;
use vkxfb::lower::{Backend, LowerError, Lowered, compute, native};
use vkxfb::runtime::{
    ArenaDesc, Capture, CaptureBuffer, CaptureDesc, Context, CounterBuffer, Draw, ErrorKind,
    Pipeline, PipelineDesc, PipelineUse, QueryKind, Recorder, RuntimeError,
};
use vkxfb::spirv::specialization::SpecializationConstant;
use vkxfb::topology::PrimitiveTopology;
use vkxfb::vertex_input::VertexInput;
use vkxfb_probe::gpu::OpenOptions;

use crate::common;
use crate::common::device;
use crate::common::skip::{Why, skip};
use crate::common::test_device::TestDevice;

/// A vertex shader that reads a specialization constant and push constants. The geometry shader
/// reads push constants, too. The transform feedback decorations of the vertex shader are ignored.
const SETTLED: &str = "#version 450
    layout(constant_id = 3) const uint STEP = 1u;
    layout(push_constant) uniform Pushed { uint start; } pushed;
    layout(location = 0, xfb_buffer = 1, xfb_stride = 4, xfb_offset = 0) flat out uint id;
    void main() { id = pushed.start + uint(gl_VertexIndex) * STEP; gl_Position = vec4(0.0); }";

/// Emits a strip of four vertices for every second triangle, and an incomplete triangle for the
/// others.
const EMITS: &str = "#version 450
    layout(triangles) in;
    layout(triangle_strip, max_vertices = 4) out;
    layout(push_constant) uniform Pushed { layout(offset = 16) uint added; } pushed;
    layout(location = 0) flat in uint id[];
    layout(location = 0, xfb_buffer = 0, xfb_stride = 12, xfb_offset = 0) flat out uvec2 found;
    void main() {
        uint count = id[0] % 2u == 0u ? 4u : 2u;
        for (uint i = 0u; i < count; i++) {
            found = uvec2(id[i % 3u], pushed.added + i);
            EmitVertex();
        }
    }";

/// The number of triangles of a capture: the draws have 19 and 38 triangles, of which 9 and 19 emit
/// two triangles each.
const TRIANGLES: u64 = 2 * (9 + 19);

/// Takes patches of three control points, passes on two, and has levels of 0 for every second patch.
const CONTROL: &str = "#version 450
    layout(vertices = 2) out;
    layout(location = 0) flat in uint id[];
    layout(location = 3) out uint passed[];
    layout(location = 5) patch out uint number;
    void main() {
        passed[gl_InvocationID] = id[gl_InvocationID + 1];
        number = uint(gl_PrimitiveID);
        bool drawn = id[0] % 2u == 0u;
        gl_TessLevelOuter[0] = drawn ? 2.0 : 0.0;
        gl_TessLevelOuter[1] = drawn ? 3.0 : 0.0;
        gl_TessLevelOuter[2] = gl_TessLevelOuter[3] = 1.0;
        gl_TessLevelInner[0] = gl_TessLevelInner[1] = 1.0;
    }";

/// Captures the same for each point of a patch: the order of points is the driver's choice.
const EVALUATES: &str = "#version 450
    layout(isolines, equal_spacing, point_mode) in;
    layout(push_constant) uniform Pushed { layout(offset = 16) uint added; } pushed;
    layout(location = 3) flat in uint passed[];
    layout(location = 5) patch in uint number;
    layout(location = 0, xfb_buffer = 0, xfb_stride = 12, xfb_offset = 0) flat out uvec2 found;
    void main() { found = uvec2(passed[0] ^ passed[1] << 8, pushed.added + number); }";

/// The number of points of a capture: the draws have 7 and 13 patches, of which 3 and 7 have two lines of four points.
const POINTS: u64 = 2 * 4 * (3 + 7);

/// What the draws of a test have, and how many primitives each of two captures writes.
#[derive(Clone, Copy)]
struct Drawn {
    topology: PrimitiveTopology,
    primitives: u64,
    vertices_per_primitive: u64,
}

impl Drawn {
    /// Bytes in which the records of two captures fit, except for the last primitive, for which there is room for a
    /// dword.
    const fn room(self) -> u64 {
        12 * self.vertices_per_primitive * (2 * self.primitives - 1) + 4
    }
}

const STRIPS: Drawn = Drawn {
    topology: PrimitiveTopology::TriangleStrip,
    primitives: TRIANGLES,
    vertices_per_primitive: 3,
};

const PATCHES: Drawn =
    Drawn { topology: PrimitiveTopology::PatchList, primitives: POINTS, vertices_per_primitive: 1 };

/// The results of the captures of a backend.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    bytes: Vec<u8>,
    counter: Vec<u8>,
    /// Primitives written and primitives needed, for each capture.
    queries: [[u64; 2]; 2],
}

/// Captures twice, the second time from the counter that the first capture wrote, with a query
/// around each capture.
fn captured(gpu: &mut TestDevice, lowered: &Lowered, drawn: Drawn) -> Found {
    let (topology, room) = (drawn.topology, drawn.room());
    let backend = lowered.backend();
    let ctx = gpu.context().clone();
    let input = VertexInput::default();
    let desc = PipelineDesc {
        topology: Some(topology.into()),
        patch_control_points: 3,
        vertex_input: Some(&input),
        render_pass: gpu.render_pass(),
        ..PipelineDesc::new(lowered)
    };
    let pipeline = gpu.pipeline(&desc);
    let usage = ctx.buffer_usages(backend).capture;
    let target = gpu.filled(usage, &vec![0xa5_u8; room as usize + 64]);
    let usage = ctx.buffer_usages(backend).counter;
    let counter = gpu.filled(usage, &[0xff_u8; 4]);
    let own = gpu.query_pool(QueryKind::TransformFeedbackStream, 2);
    let info = vk::QueryPoolCreateInfo::default()
        .query_type(vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT)
        .query_count(2);
    let device = ctx.device().clone();
    // SAFETY: the device is live.
    let drivers = (backend == Backend::Native)
        .then(|| unsafe { device.create_query_pool(&info, None) }.unwrap());
    let used = PipelineUse {
        pipeline: &pipeline,
        binds: 4,
        draws: 4,
        primitives: 4 * 80,
        unknown_draws: 0,
    };
    let mut arena = gpu.arena(ArenaDesc { pipelines: &[used], ..ArenaDesc::new(2, 4) });
    let kernels = gpu.kernels();
    let pass = (gpu.render_pass(), gpu.framebuffer());
    let buffers = [Some(CaptureBuffer::new(target.raw(), room))];
    let counters = [Some(CounterBuffer::new(counter.raw()))];
    gpu.submit(|ctx, cmd| {
        // SAFETY: everything outlives the submission, which is waited for.
        unsafe {
            if let Some(pool) = drivers {
                device.cmd_reset_query_pool(cmd, pool, 0, 2);
            }
            let mut capture = Capture::new(ctx, &kernels);
            for query in 0..2 {
                let resumed = if query == 0 { &[] } else { &counters[..] };
                let desc = CaptureDesc {
                    buffers: &buffers,
                    counters: resumed,
                    ..CaptureDesc::new(&pipeline)
                };
                device::begin_render_pass(ctx, cmd, backend, pass);
                let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                match drivers {
                    Some(pool) => {
                        let flags = vk::QueryControlFlags::empty();
                        device.cmd_begin_query(cmd, pool, query, flags);
                    }
                    None => recorder.begin_query(&own, query, 0)?,
                }
                recorder.push_constants(0, &7u32.to_ne_bytes())?;
                recorder.push_constants(16, &(100 * query).to_ne_bytes())?;
                recorder.draw(topology, &Draw::new(21))?;
                recorder.push_constants(16, &1000u32.to_ne_bytes())?;
                recorder.draw(topology, &Draw { first_vertex: 3, ..Draw::new(40) })?;
                match drivers {
                    Some(pool) => device.cmd_end_query(cmd, pool, query),
                    None => recorder.end_query(QueryKind::TransformFeedbackStream, 0)?,
                }
                let recorded = recorder.end(&counters)?;
                assert_eq!(recorded.captured, None, "{backend}: only the device knows");
                device::end_render_pass(ctx, cmd, backend);
                let (stages, accesses) =
                    (vk::PipelineStageFlags::ALL_COMMANDS, vk::AccessFlags::MEMORY_READ);
                let barrier = vk::MemoryBarrier::default()
                    .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
                    .dst_access_mask(accesses | vk::AccessFlags::MEMORY_WRITE);
                let none = vk::DependencyFlags::empty();
                device.cmd_pipeline_barrier(cmd, stages, stages, none, &[barrier], &[], &[]);
            }
        }
        Ok(())
    })
    .unwrap();
    let mut queries = [[0u64; 2]; 2];
    let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
    // SAFETY: the submission was waited for.
    unsafe {
        match drivers {
            Some(pool) => {
                device.get_query_pool_results(pool, 0, &mut queries, flags).unwrap();
                device.destroy_query_pool(pool, None);
            }
            None => {
                let mut bytes = [0; 32];
                let patience = Duration::from_secs(100);
                assert!(own.results(0, 2, &mut bytes, 16, flags, patience).unwrap());
                let values =
                    bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap()));
                let values: Vec<u64> = values.collect();
                queries = [[values[0], values[1]], [values[2], values[3]]];
            }
        }
    }
    Found { bytes: gpu.contents(&target), counter: gpu.contents(&counter), queries }
}

/// Compares records, counters and queries of native captures by the recorder with those of compute
/// captures, with decorations and with a capture list.
#[test]
fn the_recorder_captures_natively_what_it_does_by_compute() {
    let mut gpu = device::open_with(OpenOptions::default());
    if !gpu.backends().contains(&Backend::Native) || !gpu.context().enabled().geometry_shader {
        skip(Why::Expected("the device has no transform feedback of geometry shaders"));
        return;
    }
    let (vertex, geometry) =
        (common::compile(SETTLED, &[]), common::compile_stage("geom", EMITS, &[]));
    let step = 3u32.to_ne_bytes();
    let constants = [SpecializationConstant { constant_id: 3, data: &step }];
    let vertex = Shader::new(&vertex).specialization(&constants);
    let list = CaptureList::new(12).output("@0", 0);
    let input = VertexInput::default();
    let target = gpu.compute_target(Backend::Compute).unwrap();
    let mut all = Vec::new();
    for shader in [Shader::new(&geometry), Shader::new(&geometry).captures(&list)] {
        let options = compute::Options::new(&input).vertex_shader(&vertex).target(target);
        let by_compute = compute::lower(&shader, &options).unwrap();
        let options = native::Options::new().vertex_shader(&vertex);
        let natively = native::lower_with(&shader, &options).unwrap();
        let [stage] = natively.before() else { panic!("{natively:?}") };
        common::validate(&stage.words, "vulkan1.0");
        common::validate(&natively.words, "vulkan1.0");
        assert!(!common::disassemble(&stage.words).contains("Xfb"));
        assert_eq!(natively.geometry(), by_compute.geometry());
        assert_eq!(natively.push_constants, 0..32);
        assert_eq!(natively.layout.strides, by_compute.layout.strides);
        let [found, expected] =
            [&natively, &by_compute].map(|lowered| captured(&mut gpu, lowered, STRIPS));
        assert_eq!(found, expected);
        all.push(found);
    }
    assert_eq!(all[0], all[1]);
    assert_eq!(all[0].queries, [[TRIANGLES; 2], [TRIANGLES - 1, TRIANGLES]]);
}

/// Opens a device that can capture tessellation shaders natively.
fn with_tessellation() -> Option<TestDevice> {
    let gpu = device::open_with(OpenOptions::default());
    if gpu.backends().contains(&Backend::Native) && gpu.context().enabled().tessellation_shader {
        return Some(gpu);
    }
    skip(Why::Expected("the device has no transform feedback of tessellation shaders"));
    None
}

/// As above, of tessellation shaders.
#[test]
fn tessellation_shaders_are_captured_natively_as_by_compute() {
    let Some(mut gpu) = with_tessellation() else { return };
    let (vertex, control) =
        (common::compile(SETTLED, &[]), common::compile_stage("tesc", CONTROL, &[]));
    let evaluation = common::compile_stage("tese", EVALUATES, &[]);
    let step = 3u32.to_ne_bytes();
    let constants = [SpecializationConstant { constant_id: 3, data: &step }];
    let (vertex, control) =
        (Shader::new(&vertex).specialization(&constants), Shader::new(&control));
    let list = CaptureList::new(12).output("@0", 0);
    let input = VertexInput::default();
    let target = gpu.compute_target(Backend::Compute).unwrap();
    for shader in [Shader::new(&evaluation), Shader::new(&evaluation).captures(&list)] {
        let options = compute::Options::new(&input)
            .vertex_shader(&vertex)
            .control_shader(&control)
            .target(target);
        let by_compute = compute::lower(&shader, &options).unwrap();
        let options = native::Options::new().vertex_shader(&vertex).control_shader(&control);
        let natively = native::lower_with(&shader, &options).unwrap();
        for words in natively.before().iter().map(|before| &before.words).chain([&natively.words]) {
            common::validate(words, "vulkan1.0");
        }
        let stages: Vec<_> = natively.before().iter().map(|before| before.stage).collect();
        assert_eq!(
            stages,
            [spirv::ExecutionModel::Vertex, spirv::ExecutionModel::TessellationControl]
        );
        assert_eq!(natively.geometry(), by_compute.geometry());
        assert_eq!(natively.push_constants, 0..32);
        let [found, expected] =
            [&natively, &by_compute].map(|lowered| captured(&mut gpu, lowered, PATCHES));
        assert_eq!(found, expected);
        assert_eq!(found.queries, [[POINTS; 2], [POINTS - 1, POINTS]]);
    }
}

/// Twice the area of the triangles in the unit square, which is negative if they turn the other way.
fn turning(bytes: &[u8]) -> f32 {
    let coordinates: Vec<f32> =
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    let triangles = coordinates.chunks_exact(9);
    let area = |t: &[f32]| (t[3] - t[0]) * (t[7] - t[1]) - (t[6] - t[0]) * (t[4] - t[1]);
    triangles.map(area).sum()
}

/// The origin of the tessellation domain reverses the order of vertices, whichever shader declares it.
#[test]
fn the_domain_origin_reverses_triangles_natively_too() {
    let Some(mut gpu) = with_tessellation() else { return };
    let vertex = common::compile(SETTLED, &[]);
    let evaluates = |order: &str| {
        let source = "#version 450
            layout(quads, equal_spacing, ORDER) in;
            layout(location = 0, xfb_buffer = 0, xfb_stride = 12, xfb_offset = 0) out vec3 at;
            void main() { at = gl_TessCoord; }";
        common::compile_stage("tese", &source.replace("ORDER", order), &[])
    };
    let levels =
        CONTROL.replace("gl_TessLevelOuter[0] = drawn ? 2.0 : 0.0", "bool all = true").replace(
            "gl_TessLevelOuter[1] = drawn ? 3.0 : 0.0",
            "gl_TessLevelOuter[0] = gl_TessLevelOuter[1] = 1.0",
        );
    let control = common::compile_stage("tesc", &levels, &[]);
    let (vertex, control) = (Shader::new(&vertex), Shader::new(&control));
    let input = VertexInput::default();
    let target = gpu.compute_target(Backend::Compute).unwrap();
    // Two triangles of each of 7 + 13 patches.
    let drawn = Drawn { primitives: 40, vertices_per_primitive: 3, ..PATCHES };
    for (order, origin, is_negative) in [
        ("ccw", DomainOrigin::UpperLeft, true),
        ("ccw", DomainOrigin::LowerLeft, false),
        ("cw", DomainOrigin::UpperLeft, false),
        ("cw", DomainOrigin::LowerLeft, true),
    ] {
        let evaluation = evaluates(order);
        let shader = Shader::new(&evaluation);
        let options = compute::Options::new(&input)
            .vertex_shader(&vertex)
            .control_shader(&control)
            .domain_origin(origin)
            .target(target);
        let by_compute = compute::lower(&shader, &options).unwrap();
        let options = native::Options::new()
            .vertex_shader(&vertex)
            .control_shader(&control)
            .domain_origin(origin);
        let natively = native::lower_with(&shader, &options).unwrap();
        assert_eq!(natively.geometry(), by_compute.geometry(), "{order} {origin:?}");
        for lowered in [&natively, &by_compute] {
            let found = captured(&mut gpu, lowered, drawn);
            let area = turning(&found.bytes[..12 * 3 * 79]);
            let what = format!("{order} {origin:?} {}: {area}", lowered.backend());
            assert_eq!(area < 0.0, is_negative, "{what}");
            assert!((area.abs() - 79.0).abs() < 1e-3, "{what}");
        }
    }
}

/// Unsupported combinations are refused with an error that names them.
#[test]
fn what_is_no_native_pipeline_is_named() {
    let gpu = device::open_with(OpenOptions::default());
    if !gpu.backends().contains(&Backend::Native) {
        return;
    }
    let (vertex, geometry) =
        (common::compile(SETTLED, &[]), common::compile_stage("geom", EMITS, &[]));
    let (vertex, geometry) = (Shader::new(&vertex), Shader::new(&geometry));
    let options = native::Options::new().vertex_shader(&vertex);
    let error = native::lower_with(&vertex.stage(spirv::ExecutionModel::Vertex), &options);
    assert!(matches!(error, Err(LowerError::OtherStage { .. })), "{error:?}");

    let input = VertexInput::default();
    let error = |ctx: &Context, lowered: &Lowered, topology: PrimitiveTopology| {
        let desc = PipelineDesc {
            topology: Some(topology.into()),
            vertex_input: Some(&input),
            render_pass: gpu.render_pass(),
            ..PipelineDesc::new(lowered)
        };
        // SAFETY: the context is of a live device.
        unsafe { Pipeline::new(ctx, &desc) }.unwrap_err()
    };
    let (ctx, list) = (gpu.context(), PrimitiveTopology::TriangleList);
    let alone = native::lower(&geometry).unwrap();
    let said = error(ctx, &alone, list);
    assert!(matches!(said, RuntimeError::LoneStage { .. }), "{said}");
    assert_eq!(said.kind(), ErrorKind::Usage);

    let lowered = native::lower_with(&geometry, &options).unwrap();
    let said = error(ctx, &lowered, PrimitiveTopology::LineList);
    assert!(matches!(said, RuntimeError::GeometryInput { .. }), "{said}");

    let (caps, mut enabled) = (ctx.capabilities().clone(), ctx.enabled().clone());
    enabled.geometry_shader = false;
    // SAFETY: the device has that and more.
    let less = unsafe { Context::new(gpu.instance(), ctx.device(), caps, enabled) }.unwrap();
    let said = error(&less, &lowered, list);
    assert!(
        matches!(said, RuntimeError::FeatureNotEnabled { feature: "geometryShader", .. }),
        "{said}"
    );

    let (control, evaluation) = (
        common::compile_stage("tesc", CONTROL, &[]),
        common::compile_stage("tese", EVALUATES, &[]),
    );
    let (control, evaluation) = (Shader::new(&control), Shader::new(&evaluation));
    let error_of = |options| native::lower_with(&evaluation, &options).unwrap_err();
    let options = native::Options::new();
    assert_eq!(error_of(options.control_shader(&control)), LowerError::NoVertexShader);
    let options = options.vertex_shader(&vertex);
    let said = error_of(options.evaluation_shader(&evaluation));
    assert_eq!(said, LowerError::NoControlShader);
    let said = native::lower_with(&geometry, &options.control_shader(&control));
    assert!(matches!(said, Err(LowerError::EntryPoint(_))), "{said:?}");

    let patches = PrimitiveTopology::PatchList;
    let lowered = native::lower_with(&evaluation, &options.control_shader(&control)).unwrap();
    let said = error(ctx, &lowered, list);
    assert!(matches!(said, RuntimeError::GeometryInput { .. }), "{said}");
    let said = error(ctx, &lowered, patches);
    assert!(matches!(said, RuntimeError::NoControlPoints), "{said}");
    let (caps, mut enabled) = (ctx.capabilities().clone(), ctx.enabled().clone());
    enabled.tessellation_shader = false;
    // SAFETY: as above.
    let less = unsafe { Context::new(gpu.instance(), ctx.device(), caps, enabled) }.unwrap();
    let desc = PipelineDesc {
        topology: Some(patches.into()),
        patch_control_points: 3,
        vertex_input: Some(&input),
        render_pass: gpu.render_pass(),
        ..PipelineDesc::new(&lowered)
    };
    // SAFETY: the context is of a live device.
    let said = unsafe { Pipeline::new(&less, &desc) }.unwrap_err();
    assert!(
        matches!(said, RuntimeError::FeatureNotEnabled { feature: "tessellationShader", .. }),
        "{said}"
    );
}
