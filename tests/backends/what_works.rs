//! README's table of what each backend captures says "yes" where a capture is recorded without an error, and "no" where
//! it is refused.

use vkxfb::lower::{Backend, LowerError, Lowered, Shader, compute, native, vertex};
use vkxfb::runtime::{
    ArenaDesc, Capture, CaptureBuffer, CaptureDesc, ConditionalRendering, CounterBuffer, Draw,
    DrawIndexed, IndexBuffer, IndexType, IndirectDraw, PipelineDesc, QueryKind, Recorder,
    RuntimeError,
};
use vkxfb::topology::PrimitiveTopology;
use vkxfb::vertex_input::VertexInput;
use vkxfb_probe::gpu::Profile;

use crate::common;
use crate::common::device;
use crate::common::test_device::TestDevice;

const README: &str = include_str!("../../README.md");

const POINTS: PrimitiveTopology = PrimitiveTopology::PointList;

const VERTEX: &str = "#version 450
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) flat out uint id;
    void main() { id = uint(gl_VertexIndex); gl_Position = vec4(0.0); gl_PointSize = 1.0; }";

const GEOMETRY: &str = "#version 450
    layout(points) in;
    layout(points, max_vertices = 1) out;
    layout(location = 0) flat in uint id[];
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) flat out uint found;
    void main() { found = id[0]; EmitVertex(); }";

const CONTROL: &str = "#version 450
    layout(vertices = 1) out;
    void main() { gl_TessLevelOuter[0] = gl_TessLevelOuter[1] = 1.0; }";

const EVALUATION: &str = "#version 450
    layout(isolines) in;
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out float found;
    void main() { found = gl_TessCoord.x; }";

const NARROW: &str = "#version 450
    #extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) flat out uint16_t id;
    void main() { id = uint16_t(gl_VertexIndex); gl_Position = vec4(0.0); }";

/// The stages of a pipeline: of the last one the outputs are captured.
#[derive(Clone, Copy)]
enum Stages {
    Vertex,
    Geometry,
    Tessellation,
    Narrow,
}

/// Lowers the last stage, for compute together with those before it.
fn lower(gpu: &TestDevice, backend: Backend, stages: Stages) -> Result<Lowered, LowerError> {
    let vertex_words = common::compile(VERTEX, &[]);
    let control_words = common::compile_stage("tesc", CONTROL, &[]);
    let last_words = match stages {
        Stages::Vertex => vertex_words.clone(),
        Stages::Geometry => common::compile_stage("geom", GEOMETRY, &[]),
        Stages::Tessellation => common::compile_stage("tese", EVALUATION, &[]),
        Stages::Narrow => common::compile(NARROW, &[]),
    };
    let (vertex_shader, control) = (Shader::new(&vertex_words), Shader::new(&control_words));
    let last = Shader::new(&last_words);
    let input = VertexInput::default();
    let mut options = compute::Options::new(&input).target(gpu.compute_target(backend).unwrap());
    if matches!(stages, Stages::Geometry | Stages::Tessellation) {
        options.vertex_shader = Some(&vertex_shader);
    }
    if matches!(stages, Stages::Tessellation) {
        options.control_shader = Some(&control);
    }
    match backend {
        Backend::Native => native::lower(&last),
        Backend::Vertex => vertex::lower(&last),
        Backend::Compute => compute::lower(&last, &options),
    }
}

/// What is recorded in a capture.
#[derive(Clone, Copy, Debug)]
enum Command {
    Draw,
    DrawIndexed,
    DrawIndirect,
    Counter,
    PrimitiveRestart,
    DrawMulti,
    Query,
    ConditionalRendering,
}

/// Records a capture with a command, and submits it. Returns whether the backend takes the command.
fn takes(gpu: &mut TestDevice, backend: Backend, command: Command) -> bool {
    let lowered = lower(gpu, backend, Stages::Vertex).unwrap();
    let input = VertexInput::default();
    let is_restart = matches!(command, Command::PrimitiveRestart);
    let topology = if is_restart { PrimitiveTopology::LineStrip } else { POINTS };
    let desc = PipelineDesc {
        topology: Some(topology.into()),
        primitive_restart: is_restart && backend == Backend::Compute,
        vertex_input: Some(&input),
        render_pass: gpu.render_pass(),
        ..PipelineDesc::new(&lowered)
    };
    let pipeline = gpu.pipeline(&desc);
    let ctx = gpu.context().clone();
    let usages = ctx.buffer_usages(backend);
    let target = gpu.buffer(64, usages.capture);
    let buffers = [Some(CaptureBuffer::new(target.raw(), 64))];
    let usage = usages.indirect | usages.index | usages.counter;
    let arguments = gpu.filled(usage, &[1u32, 1, 0, 0]);
    let pool = gpu.query_pool(QueryKind::TransformFeedbackStream, 1);
    let mut arena = gpu.arena(ArenaDesc::new(1, 2));
    let kernels = gpu.kernels();
    let pass = (gpu.render_pass(), gpu.framebuffer());
    let recorded = gpu.submit(|ctx, cmd| {
        let record = |recorder: &mut Recorder<'_>| -> Result<(), RuntimeError> {
            // SAFETY: all is of this device, outlives the submission, and holds what the draws read.
            unsafe {
                match command {
                    Command::Draw | Command::Counter => recorder.draw(POINTS, &Draw::new(1)),
                    Command::DrawIndexed => {
                        let indices = IndexBuffer::new(arguments.raw(), 16, IndexType::Uint32);
                        recorder.bind_index_buffer(&indices)?;
                        recorder.draw_indexed(POINTS, &DrawIndexed::new(1))
                    }
                    Command::DrawIndirect => {
                        let draw = IndirectDraw::new(arguments.raw(), 1, 16);
                        recorder.draw_indirect(POINTS, &draw)
                    }
                    Command::PrimitiveRestart => recorder.set_primitive_restart(true),
                    Command::DrawMulti => recorder.draw_multi(POINTS, &[Draw::new(1); 2]),
                    Command::Query => {
                        recorder.begin_query(&pool, 0, 0)?;
                        recorder.end_query(QueryKind::TransformFeedbackStream, 0)
                    }
                    Command::ConditionalRendering => {
                        let condition = ConditionalRendering::new(arguments.raw());
                        recorder.begin_conditional_rendering(&condition)?;
                        recorder.end_conditional_rendering()
                    }
                }
            }
        };
        let counters = [Some(CounterBuffer::new(arguments.raw()))];
        let ended = if matches!(command, Command::Counter) { &counters[..] } else { &[] };
        // SAFETY: as above.
        let recorded = unsafe {
            device::begin_render_pass(ctx, cmd, backend, pass);
            let mut capture = Capture::new(ctx, &kernels);
            let desc = CaptureDesc { buffers: &buffers, ..CaptureDesc::new(&pipeline) };
            let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
            let recorded = record(&mut recorder);
            let ended = recorder.end(ended).map(|_| ());
            device::end_render_pass(ctx, cmd, backend);
            recorded.and(ended)
        };
        Ok(recorded)
    });
    match recorded.unwrap() {
        Ok(()) => true,
        Err(RuntimeError::Unsupported { .. }) => false,
        Err(error) => panic!("{backend}, {command:?}: {error}"),
    }
}

/// What a row of the table is about.
enum Row {
    Stages(Stages),
    Commands(&'static [Command]),
}

/// The rows of the table by their first cell, without how a backend works and what it needs.
const ROWS: [(&str, Row); 8] = [
    ("vertex shaders", Row::Stages(Stages::Vertex)),
    ("geometry shaders, up to four vertex streams", Row::Stages(Stages::Geometry)),
    (
        "tessellation evaluation shaders, alone or with a geometry shader behind them",
        Row::Stages(Stages::Tessellation),
    ),
    ("draws without indices", Row::Commands(&[Command::Draw])),
    (
        "draws with indices, indirect draws",
        Row::Commands(&[Command::DrawIndexed, Command::DrawIndirect]),
    ),
    ("counters, from which the next capture goes on", Row::Commands(&[Command::Counter])),
    (
        "primitive restart, multi-draws, queries, conditional rendering",
        Row::Commands(&[
            Command::PrimitiveRestart,
            Command::DrawMulti,
            Command::Query,
            Command::ConditionalRendering,
        ]),
    ),
    ("outputs of 8 and 16 bits", Row::Stages(Stages::Narrow)),
];

#[test]
fn the_table_says_what_backends_take() {
    let mut gpu = device::open(Profile::Full);
    let table = README.split("## What works").nth(1).unwrap();
    let table: Vec<Vec<&str>> = table
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let names: Vec<&str> = table.iter().skip(4).map(|row| row[0]).collect();
    assert_eq!(names, ROWS.each_ref().map(|(name, _)| *name));
    for backend in gpu.backends().to_vec() {
        let column = table[0].iter().position(|name| *name == backend.name()).unwrap();
        for (name, row) in &ROWS {
            let said = table.iter().find(|row| row[0] == *name).unwrap()[column];
            let is_taken = match *row {
                Row::Stages(stages) => lower(&gpu, backend, stages).is_ok(),
                Row::Commands(commands) => {
                    let taken: Vec<bool> =
                        commands.iter().map(|command| takes(&mut gpu, backend, *command)).collect();
                    let all_alike = taken.iter().all(|is_taken| *is_taken == taken[0]);
                    assert!(all_alike, "{backend}: {commands:?} are {taken:?}");
                    taken[0]
                }
            };
            assert_eq!(said.starts_with("yes"), is_taken, "{backend}, {name}: README says {said}");
        }
    }
}
