//! Captures that the Vulkan layer refuses, among others in the same command buffer: the refused ones are lost, and all
//! else goes on. With the setting `strict` commands fail.

use ash::vk;

use super::pipeline_batches::{CONTROL, EVALUATION, VERTEX, with_equal_barriers};
use super::program::Program;
use crate::common::bare::BareInstance;
use crate::common::commands::query_pool;
use crate::common::skip::{Why, skip};
use crate::common::{self, attachment, discard, layer};

/// Emits a point for each point but one, so that they must be counted, and captures its number.
const GEOMETRY: &str = "#version 450
    layout(points) in;
    layout(points, max_vertices = 1) out;
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = gl_PrimitiveIDIn;
        gl_Position = vec4(0.0);
        if (gl_PrimitiveIDIn != 7) EmitVertex();
    }";

const PLAIN: &str = "#version 450
    void main() { gl_Position = vec4(0.0); }";

const WRITES: (vk::PipelineStageFlags, vk::AccessFlags) = (
    vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT,
    vk::AccessFlags::from_raw(
        vk::AccessFlags::TRANSFORM_FEEDBACK_WRITE_EXT.as_raw()
            | vk::AccessFlags::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT.as_raw(),
    ),
);

/// What the counters, and the buffers that are captured to, have before.
const UNTOUCHED: u32 = 0xa5a5_a5a5;
/// How often the command buffer is recorded.
const FRAMES: usize = 3;
const VERTICES: u32 = 3;
/// The number of instances with which a draw of a geometry shader has too many primitives.
const TOO_MANY: u32 = 1 << 31;

/// The captures of the command buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A vertex shader, which is captured.
    Right,
    /// Tessellation shaders that cannot be captured, and that rasterize.
    Shaders,
    /// A draw that is too large, and rasterizes nothing, after one that is not.
    Draw,
    /// A draw of [`Draw`](Self::Draw) that is too large, after one of [`Right`](Self::Right).
    Both,
}

impl Kind {
    /// The number of its first pipeline.
    const fn pipeline(self) -> usize {
        match self {
            Self::Right | Self::Both => 0,
            Self::Shaders => 1,
            Self::Draw => 2,
        }
    }
}

const CAPTURES: [Kind; 10] = [
    Kind::Both,
    Kind::Right,
    Kind::Shaders,
    Kind::Draw,
    Kind::Right,
    Kind::Right,
    Kind::Shaders,
    Kind::Draw,
    Kind::Both,
    Kind::Right,
];
const COUNT: usize = CAPTURES.len();
/// The number of dwords that are captured to: by [`CAPTURES`], and by the two captures of a chain that are not lost.
const DWORDS: usize = (COUNT + 2) * VERTICES as usize;
/// The capture during which an occlusion query counts.
const SEEN: usize = 2;

struct Scene {
    program: Program,
    layout: vk::PipelineLayout,
    /// The [pipelines](Kind::pipeline). That of the shaders that cannot be captured may be refused.
    pipelines: [Result<vk::Pipeline, vk::Result>; 3],
    target: (vk::Buffer, *mut u32),
    counters: (vk::Buffer, *mut u32),
    /// The transform feedback queries, one for each capture, and an occlusion query.
    queries: [vk::QueryPool; 2],
}

impl Scene {
    fn open() -> Option<Self> {
        use vk::{BufferUsageFlags as Usage, ShaderStageFlags as Stage};
        let mut program = Program::newer(&[], std::ptr::null_mut())?;
        // SAFETY: the instance is live.
        let core = unsafe {
            let instance = BareInstance::open_newer();
            instance.raw.get_physical_device_features(instance.physical_device())
        };
        if core.tessellation_shader == vk::FALSE || core.geometry_shader == vk::FALSE {
            skip(Why::Expected("the device lacks tessellationShader or geometryShader"));
            return None;
        }
        let target = program.buffer(DWORDS, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
        let counters = program.buffer(COUNT + 1, Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT);
        let raw = &program.raw;
        // SAFETY: the device is live, and the shaders are valid.
        unsafe {
            let layout = raw.create_pipeline_layout(&Default::default(), None).unwrap();
            let info = vk::GraphicsPipelineCreateInfo::default().layout(layout);
            let plain = common::compile_stage("vert", PLAIN, &[]);
            let geometry = common::compile_stage("geom", GEOMETRY, &[]);
            let right = discard::pipeline(raw, layout, &common::compile(common::CAPTURES, &[]));
            let stages = [(Stage::VERTEX, &plain[..]), (Stage::GEOMETRY, &geometry)];
            let draw = discard::of_shaders(raw, &stages, info);
            let pipelines = [Ok(right), tessellated(raw, info), Ok(draw)];
            let queries = [
                query_pool(raw, vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT, COUNT as u32),
                query_pool(raw, vk::QueryType::OCCLUSION, 1),
            ];
            Some(Self { program, layout, pipelines, target, counters, queries })
        }
    }

    /// Records all captures for which there is a pipeline, each with a query and a counter of its own.
    ///
    /// # Safety
    /// The command buffer is being recorded.
    unsafe fn record(&self, cmd: vk::CommandBuffer) {
        let raw = &self.program.raw;
        unsafe {
            self.reset_queries(cmd);
            attachment::begin_rendering(raw, cmd);
            (0..COUNT).for_each(|number| self.record_capture(cmd, number));
            self.record_chain(cmd);
            raw.cmd_end_rendering(cmd);
        }
    }

    /// # Safety
    /// The command buffer is being recorded, outside of rendering.
    unsafe fn reset_queries(&self, cmd: vk::CommandBuffer) {
        let [queries, occlusion] = self.queries;
        unsafe {
            self.program.raw.cmd_reset_query_pool(cmd, queries, 0, COUNT as u32);
            self.program.raw.cmd_reset_query_pool(cmd, occlusion, 0, 1);
        }
    }

    /// Records a capture of [`CAPTURES`] if there is a pipeline for it.
    ///
    /// # Safety
    /// The command buffer is being recorded, in rendering.
    unsafe fn record_capture(&self, cmd: vk::CommandBuffer, number: usize) {
        let (raw, xfb) = (&self.program.raw, self.program.xfb());
        let [queries, occlusion] = self.queries;
        let kind = CAPTURES[number];
        let Ok(pipeline) = self.pipelines[kind.pipeline()] else { return };
        let bind = |pipeline| {
            unsafe { raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline) };
        };
        unsafe {
            bind(pipeline);
            let size = u64::from(VERTICES) * 4;
            let offset = number as u64 * size;
            xfb.bind_target(cmd, self.target.0, offset, size);
            raw.cmd_begin_query(cmd, queries, number as u32, vk::QueryControlFlags::empty());
            xfb.begin(cmd);
            match kind {
                Kind::Right => raw.cmd_draw(cmd, VERTICES, 1, 0, 0),
                // While a query of the driver is active, it gets draws without rasterization, too.
                Kind::Shaders if number == SEEN => {
                    raw.cmd_begin_query(cmd, occlusion, 0, vk::QueryControlFlags::empty());
                    raw.cmd_draw(cmd, 1, 1, 0, 0);
                    raw.cmd_end_query(cmd, occlusion, 0);
                }
                Kind::Shaders => raw.cmd_draw(cmd, 1, 1, 0, 0),
                Kind::Draw | Kind::Both => {
                    raw.cmd_draw(cmd, 1, 1, 0, 0);
                    bind(self.pipelines[Kind::Draw.pipeline()].unwrap());
                    raw.cmd_draw(cmd, 1, TOO_MANY, 0, 0);
                }
            }
            let counter = number as u64 * 4;
            let end = xfb.cmd_end_transform_feedback_ext;
            // Some queries end before the capture does.
            let is_within = number >= COUNT / 2;
            if is_within {
                raw.cmd_end_query(cmd, queries, number as u32);
            }
            end(cmd, 0, 1, &raw const self.counters.0, &raw const counter);
            if !is_within {
                raw.cmd_end_query(cmd, queries, number as u32);
            }
        }
    }

    /// The memory that is captured to, and the counters.
    fn memory(&self) -> [*mut [u32]; 2] {
        let mapped = std::ptr::slice_from_raw_parts_mut;
        [mapped(self.target.1, DWORDS), mapped(self.counters.1, COUNT + 1)]
    }

    /// Records three captures, each of which continues where the one before it ended. The second one is lost, because no
    /// index buffer is bound for one of its draws.
    ///
    /// # Safety
    /// The command buffer is being recorded, in rendering.
    unsafe fn record_chain(&self, cmd: vk::CommandBuffer) {
        let (raw, xfb) = (&self.program.raw, self.program.xfb());
        let Ok(pipeline) = self.pipelines[Kind::Right.pipeline()] else { return };
        let (counter, place) = (&raw const self.counters.0, 4 * COUNT as u64);
        let dwords = (COUNT * VERTICES as usize) as u64;
        let (offset, size) = (4 * dwords, 4 * DWORDS as u64 - 4 * dwords);
        unsafe {
            raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            xfb.bind_target(cmd, self.target.0, offset, size);
            for number in 0..3 {
                let begin = xfb.cmd_begin_transform_feedback_ext;
                begin(cmd, 0, u32::from(number > 0), counter, &raw const place);
                raw.cmd_draw(cmd, VERTICES, 1, 0, 0);
                if number == 1 {
                    raw.cmd_draw_indexed(cmd, VERTICES, 1, 0, 0, 0);
                }
                (xfb.cmd_end_transform_feedback_ext)(cmd, 0, 1, counter, &raw const place);
            }
        }
    }

    fn close(self) {
        let raw = &self.program.raw;
        // SAFETY: nothing is in flight.
        unsafe {
            self.queries.iter().for_each(|pool| raw.destroy_query_pool(*pool, None));
            self.pipelines.iter().flatten().for_each(|made| raw.destroy_pipeline(*made, None));
            raw.destroy_pipeline_layout(self.layout, None);
        }
    }
}

/// Creates the pipeline of [`Kind::Shaders`].
///
/// # Safety
/// The layout is of the device.
unsafe fn tessellated(
    raw: &ash::Device,
    info: vk::GraphicsPipelineCreateInfo<'_>,
) -> Result<vk::Pipeline, vk::Result> {
    use vk::ShaderStageFlags as Stage;
    // A line from the left to the right.
    let line = "vec4(2.0 * gl_TessCoord.x - 1.0, 0.0, 0.0, 1.0)";
    let evaluation = EVALUATION.replace("isolines, point_mode", "isolines");
    let evaluation = evaluation.replace("vec4(0.0)", line);
    let sources = [
        (Stage::VERTEX, "vert", VERTEX),
        (Stage::TESSELLATION_CONTROL, "tesc", CONTROL),
        (Stage::TESSELLATION_EVALUATION, "tese", &evaluation),
    ];
    let stages = sources.map(|(stage, name, source)| {
        let words = with_equal_barriers(&common::compile_stage(name, source, &[]));
        // SAFETY: the module is valid.
        let module = unsafe { attachment::shader_module(raw, &words) };
        vk::PipelineShaderStageCreateInfo::default().stage(stage).module(module).name(c"main")
    });
    let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
        .topology(vk::PrimitiveTopology::PATCH_LIST);
    let tessellation = vk::PipelineTessellationStateCreateInfo::default().patch_control_points(1);
    let rasterization = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
    let samples = vk::PipelineMultisampleStateCreateInfo::default()
        .rasterization_samples(vk::SampleCountFlags::TYPE_1);
    let viewports =
        [vk::Viewport { width: 1.0, height: 1.0, max_depth: 1.0, ..Default::default() }];
    let scissors = [attachment::area(1)];
    let viewport =
        vk::PipelineViewportStateCreateInfo::default().viewports(&viewports).scissors(&scissors);
    let info = info
        .stages(&stages)
        .input_assembly_state(&assembly)
        .tessellation_state(&tessellation)
        .rasterization_state(&rasterization)
        .multisample_state(&samples)
        .viewport_state(&viewport);
    unsafe {
        let made = discard::create(raw, vk::PipelineCache::null(), info);
        stages.iter().for_each(|stage| raw.destroy_shader_module(stage.module, None));
        made
    }
}

#[test]
fn refused_captures_are_lost_alone() {
    if !layer::is_there() {
        return;
    }
    let Some(scene) = Scene::open() else { return };
    let (program, raw) = (&scene.program, &scene.program.raw);
    for frame in 0..FRAMES {
        // SAFETY: every handle is of the device, and in use only until the submission is done.
        unsafe {
            let [captured, counters] = scene.memory().map(|memory| &mut *memory);
            captured.fill(UNTOUCHED);
            counters.fill(UNTOUCHED);
            program.submit(WRITES, |cmd| scene.record(cmd));
            let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
            let mut queries = [[0_u64; 2]; COUNT];
            raw.get_query_pool_results(scene.queries[0], 0, &mut queries, flags).unwrap();
            let mut samples = [0_u64];
            raw.get_query_pool_results(scene.queries[1], 0, &mut samples, flags).unwrap();
            let (captured, chain) = captured.split_at(COUNT * VERTICES as usize);
            let captured = captured.chunks(VERTICES as usize);
            for ((found, kind), (counter, query)) in
                captured.zip(CAPTURES).zip(counters.iter().zip(queries))
            {
                let (data, counts) = match kind {
                    Kind::Right => ([0, 1, 2], (4 * VERTICES, [VERTICES.into(); 2])),
                    // A counter that Begin does not have becomes 0: what follows may read it.
                    _ => ([UNTOUCHED; 3], (0, [0; 2])),
                };
                let context = format!("{kind:?} of frame {frame}");
                assert_eq!((found, (*counter, query)), (&data[..], counts), "{context}");
            }
            assert!(samples[0] > 0, "what cannot be captured is drawn");
            assert_eq!((chain, counters[COUNT]), (&[0, 1, 2, 0, 1, 2][..], 8 * VERTICES));
        }
    }
    scene.close();
}

#[test]
fn refused_captures_are_lost_alone_on_the_layer() {
    let Some(said) = layer::run_on_it(refused_captures_are_lost_alone, &[]) else { return };
    let lost: Vec<_> = said.lines().filter(|line| line.contains("is lost")).collect();
    assert_eq!(
        lost.len(),
        3,
        "one for each pipeline and reason, whatever the number of frames: {said}"
    );
    let reasons = ["barrier in a function", "no index buffer", &TOO_MANY.to_string()];
    for reason in reasons {
        assert!(lost.iter().any(|line| line.contains(reason)), "{reason}: {said}");
    }
}

#[test]
fn refused_captures_fail() {
    if !layer::is_there() {
        return;
    }
    let Some(scene) = Scene::open() else { return };
    assert_eq!(scene.pipelines[Kind::Shaders.pipeline()], Err(vk::Result::ERROR_UNKNOWN));
    let raw = &scene.program.raw;
    // SAFETY: every handle is of the device, and nothing is submitted.
    unsafe {
        let (pool, cmd) = command_buffer(&scene.program, vk::CommandBufferLevel::PRIMARY);
        raw.begin_command_buffer(cmd, &Default::default()).unwrap();
        scene.record(cmd);
        assert_eq!(raw.end_command_buffer(cmd), Err(vk::Result::ERROR_UNKNOWN));
        raw.destroy_command_pool(pool, None);
    }
    scene.close();
}

#[test]
fn refused_captures_fail_on_the_strict_layer() {
    layer::run_on_it(refused_captures_fail, &[layer::STRICT]);
}

/// A command buffer in a pool of its own.
///
/// # Safety
/// The pool must be destroyed.
unsafe fn command_buffer(
    program: &Program,
    level: vk::CommandBufferLevel,
) -> (vk::CommandPool, vk::CommandBuffer) {
    let raw = &program.raw;
    let info = vk::CommandPoolCreateInfo::default().queue_family_index(program.family);
    // SAFETY: the device is live.
    unsafe {
        let pool = raw.create_command_pool(&info, None).unwrap();
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool)
            .level(level)
            .command_buffer_count(1);
        (pool, raw.allocate_command_buffers(&info).unwrap()[0])
    }
}

#[test]
fn captures_are_lost_in_each_execution() {
    if !layer::is_there() {
        return;
    }
    let Some(scene) = Scene::open() else { return };
    let (program, raw) = (&scene.program, &scene.program.raw);
    let lost = [Kind::Draw, Kind::Both];
    let is_lost = |number: &usize| lost.contains(&CAPTURES[*number]);
    let numbers: Vec<usize> = (0..COUNT).filter(is_lost).collect();
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        let (pool, secondary) = command_buffer(program, vk::CommandBufferLevel::SECONDARY);
        let mut rendering = vk::CommandBufferInheritanceRenderingInfo::default()
            .rasterization_samples(vk::SampleCountFlags::TYPE_1);
        let inherited = vk::CommandBufferInheritanceInfo::default().push_next(&mut rendering);
        let info = vk::CommandBufferBeginInfo::default()
            .flags(vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE)
            .inheritance_info(&inherited);
        raw.begin_command_buffer(secondary, &info).unwrap();
        numbers.iter().for_each(|number| scene.record_capture(secondary, *number));
        raw.end_command_buffer(secondary).unwrap();
        for execution in 0..2 {
            let [captured, counters] = scene.memory().map(|memory| &mut *memory);
            captured.fill(UNTOUCHED);
            counters.fill(UNTOUCHED);
            program.submit(WRITES, |cmd| {
                scene.reset_queries(cmd);
                let info = vk::RenderingInfo::default()
                    .flags(vk::RenderingFlags::CONTENTS_SECONDARY_COMMAND_BUFFERS)
                    .render_area(attachment::area(1))
                    .layer_count(1);
                raw.cmd_begin_rendering(cmd, &info);
                raw.cmd_execute_commands(cmd, &[secondary]);
                raw.cmd_end_rendering(cmd);
            });
            assert!(captured.iter().all(|dword| *dword == UNTOUCHED), "{execution}");
            for number in &numbers {
                let mut query = [[u64::MAX; 2]];
                let (pool, flags) = (scene.queries[0], vk::QueryResultFlags::TYPE_64);
                let found = raw.get_query_pool_results(pool, *number as u32, &mut query, flags);
                assert_eq!((found, query), (Ok(()), [[0; 2]]), "{number} of {execution}");
                assert_eq!(counters[*number], 0, "{number} of {execution}");
            }
        }
        raw.destroy_command_pool(pool, None);
    }
    scene.close();
}

#[test]
fn captures_are_lost_in_each_execution_on_the_layer() {
    layer::run_on_it(captures_are_lost_in_each_execution, &[]);
}

#[test]
fn copies_of_queries_that_cannot_be_recorded_fail() {
    if !layer::is_there() {
        return;
    }
    let Some(scene) = Scene::open() else { return };
    let raw = &scene.program.raw;
    // SAFETY: every handle is of the device, and nothing is submitted.
    unsafe {
        let (pool, cmd) = command_buffer(&scene.program, vk::CommandBufferLevel::PRIMARY);
        raw.begin_command_buffer(cmd, &Default::default()).unwrap();
        let (queries, target) = (scene.queries[0], scene.target.0);
        let flags = vk::QueryResultFlags::TYPE_64;
        // What is read of the results would be what was there before.
        raw.cmd_copy_query_pool_results(cmd, queries, 0, 2, target, 0, 6, flags);
        assert_eq!(raw.end_command_buffer(cmd), Err(vk::Result::ERROR_UNKNOWN));
        raw.destroy_command_pool(pool, None);
    }
    scene.close();
}

#[test]
fn copies_of_queries_that_cannot_be_recorded_fail_on_the_layer() {
    layer::run_on_it(copies_of_queries_that_cannot_be_recorded_fail, &[]);
}
