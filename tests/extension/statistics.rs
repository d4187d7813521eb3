//! Pipeline statistics of draws that capture, natively and on the Vulkan layer. There a query counts what the driver
//! counts natively, but for what the layer's README says: the invocations of captures, and primitives of other streams.

use ash::{ext, vk};
use vk::{PrimitiveTopology as Topology, QueryPipelineStatisticFlags as Statistics};

use super::program::{self, Program};
use crate::common::bare::BareInstance;
use crate::common::native::WRITES;
use crate::common::{self, attachment, discard, layer};

const PLAIN: &str = "#version 450
    void main() {
        gl_Position = vec4(0.0, 0.0, 0.0, 1.0);
        gl_PointSize = 1.0;
    }";

/// Makes two lines of a point.
const GEOMETRY: &str = "#version 450
    layout(points) in;
    layout(line_strip, max_vertices = 3) out;
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        for (int i = 0; i < 3; i++) {
            captured = gl_PrimitiveIDIn;
            gl_Position = vec4(0.5 * i - 0.5, 0.0, 0.0, 1.0);
            EmitVertex();
        }
    }";

/// Makes a point of stream 0 and two of stream 1 of each point.
const STREAMS: &str = "#version 450
    layout(points) in;
    layout(points, max_vertices = 3) out;
    layout(stream = 0, location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0)
        out flat uint first;
    layout(stream = 1, location = 1, xfb_buffer = 1, xfb_stride = 4, xfb_offset = 0)
        out flat uint second;
    void main() {
        gl_Position = vec4(0.0, 0.0, 0.0, 1.0);
        first = gl_PrimitiveIDIn;
        EmitStreamVertex(0);
        for (int i = 0; i < 2; i++) {
            second = gl_PrimitiveIDIn;
            EmitStreamVertex(1);
        }
    }";

const CONTROL: &str = "#version 450
    layout(vertices = 1) out;
    void main() {
        for (int i = 0; i < 3; i++) gl_TessLevelOuter[i] = 1.0;
        gl_TessLevelInner[0] = 1.0;
    }";

/// Divides a patch of three control points into one triangle.
const EVALUATION: &str = "#version 450
    layout(triangles, ccw) in;
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = gl_PrimitiveID;
        gl_Position = vec4(gl_TessCoord.xy, 0.0, 1.0);
    }";

const FRAGMENT: &str = "#version 450
    void main() {}";

/// The number of vertices of a draw.
const VERTICES: u32 = 6;
/// The size of a capture buffer in bytes: for some of the records only.
const ROOM: u64 = 16;

/// The statistics of Vulkan 1.0.
const ALL: Statistics = Statistics::from_raw(0x7ff);
/// Which of the results are those of these statistics. That of compute shaders is the last one.
const GEOMETRY_INVOCATIONS: usize = 3;
const GEOMETRY_PRIMITIVES: usize = 4;
const COMPUTE: usize = 10;
type Counts = [u64; COMPUTE + 1];

/// The name of [`STREAMS`].
const STREAMS_NAME: &str = "streams";

/// Where a query begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    InPass,
    /// In a pass, in a secondary command buffer.
    InSecondary,
    /// Around two passes with a draw each.
    AroundPasses,
    /// Around a pass whose draw is in a secondary command buffer.
    AroundSecondary,
}

struct Machine {
    program: Program,
    /// Whether queries may be active while secondary command buffers are executed.
    inherits: bool,
    targets: [vk::Buffer; 2],
    layout: vk::PipelineLayout,
    secondaries: vk::CommandPool,
    stages: Vec<Stages>,
}

/// The shaders of a draw, and its topology.
struct Stages {
    name: &'static str,
    shaders: Vec<(vk::ShaderStageFlags, Vec<u32>)>,
    topology: Topology,
}

impl Machine {
    fn open() -> Option<Self> {
        if !program::has(&[]) {
            return None;
        }
        let instance = BareInstance::open();
        let mut xfb = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
        let mut all = vk::PhysicalDeviceFeatures2::default().push_next(&mut xfb);
        instance.features(&mut all);
        let core = all.features;
        if core.pipeline_statistics_query == vk::FALSE {
            layer::skip_without("pipeline statistics", false);
            return None;
        }
        xfb.p_next = std::ptr::null_mut();
        let has = |feature: vk::Bool32| feature == vk::TRUE;
        let (geometry, streams) = (has(core.geometry_shader), has(xfb.geometry_streams));
        let (tessellation, inherits) = (has(core.tessellation_shader), has(core.inherited_queries));
        let mut rendering = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
        let core = vk::PhysicalDeviceFeatures::default()
            .geometry_shader(geometry)
            .tessellation_shader(tessellation)
            .pipeline_statistics_query(true)
            .inherited_queries(inherits);
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .features(core)
            .push_next(&mut xfb)
            .push_next(&mut rendering);
        let names = [ext::transform_feedback::NAME.as_ptr()];
        let mut program = Program::on(instance.into_device(&mut features, &names));
        let usage = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT;
        let targets = [(); 2].map(|()| program.buffer(ROOM as usize / 4, usage).0);
        let pool = vk::CommandPoolCreateInfo::default().queue_family_index(program.family);
        use vk::ShaderStageFlags as Stage;
        let module = |stage, name, source| (stage, common::compile_stage(name, source, &[]));
        let mut stages = Vec::new();
        let mut add = |name, mut shaders: Vec<_>, topology| {
            shaders.push(module(Stage::FRAGMENT, "frag", FRAGMENT));
            stages.push(Stages { name, shaders, topology });
        };
        let plain = || module(Stage::VERTEX, "vert", PLAIN);
        let points = Topology::POINT_LIST;
        add("vertex", vec![module(Stage::VERTEX, "vert", common::CAPTURES)], points);
        if geometry {
            add("geometry", vec![plain(), module(Stage::GEOMETRY, "geom", GEOMETRY)], points);
        }
        if geometry && streams {
            add(STREAMS_NAME, vec![plain(), module(Stage::GEOMETRY, "geom", STREAMS)], points);
        }
        if tessellation {
            let control = module(Stage::TESSELLATION_CONTROL, "tesc", CONTROL);
            let evaluation = module(Stage::TESSELLATION_EVALUATION, "tese", EVALUATION);
            add("tessellation", vec![plain(), control, evaluation], Topology::PATCH_LIST);
        }
        // SAFETY: the device is live.
        let (layout, secondaries) = unsafe {
            (
                program.raw.create_pipeline_layout(&Default::default(), None).unwrap(),
                program.raw.create_command_pool(&pool, None).unwrap(),
            )
        };
        Some(Self { program, inherits, targets, layout, secondaries, stages })
    }

    /// # Safety
    /// The caller destroys the pipeline.
    unsafe fn pipeline(&self, stages: &Stages, discards: bool) -> vk::Pipeline {
        let is_taken = |(stage, _): &&(_, _)| !discards || *stage != vk::ShaderStageFlags::FRAGMENT;
        let shaders = stages.shaders.iter().filter(is_taken);
        let shaders: Vec<_> = shaders.map(|(stage, words)| (*stage, &words[..])).collect();
        let assembly =
            vk::PipelineInputAssemblyStateCreateInfo::default().topology(stages.topology);
        let rasterization = vk::PipelineRasterizationStateCreateInfo::default()
            .rasterizer_discard_enable(discards)
            .line_width(1.0);
        let viewports = [vk::Viewport { width: 8.0, height: 8.0, ..Default::default() }];
        let scissors = [attachment::area(8)];
        let viewport = vk::PipelineViewportStateCreateInfo::default()
            .viewports(&viewports)
            .scissors(&scissors);
        let samples = vk::PipelineMultisampleStateCreateInfo::default()
            .rasterization_samples(vk::SampleCountFlags::TYPE_1);
        let tessellation =
            vk::PipelineTessellationStateCreateInfo::default().patch_control_points(3);
        let info = vk::GraphicsPipelineCreateInfo::default()
            .input_assembly_state(&assembly)
            .rasterization_state(&rasterization)
            .viewport_state(&viewport)
            .multisample_state(&samples)
            .tessellation_state(&tessellation)
            .layout(self.layout);
        // SAFETY: the structures are valid.
        unsafe { discard::of_shaders(&self.program.raw, &shaders, info) }
    }

    /// Records a captured draw.
    ///
    /// # Safety
    /// The command buffer is being recorded, in a pass.
    unsafe fn draw(&self, cmd: vk::CommandBuffer, pipeline: vk::Pipeline) {
        let (raw, xfb) = (&self.program.raw, self.program.xfb());
        let (offsets, sizes) = ([0; 2], [ROOM; 2]);
        unsafe {
            raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            let bind = xfb.cmd_bind_transform_feedback_buffers_ext;
            bind(cmd, 0, 2, self.targets.as_ptr(), offsets.as_ptr(), sizes.as_ptr());
            xfb.begin(cmd);
            raw.cmd_draw(cmd, VERTICES, 1, 0, 0);
            xfb.end(cmd);
        }
    }

    /// Records a secondary command buffer, which is executed in a pass.
    ///
    /// # Safety
    /// What `record` records is valid.
    unsafe fn secondary(
        &self,
        statistics: Statistics,
        record: impl FnOnce(vk::CommandBuffer),
    ) -> vk::CommandBuffer {
        let mut rendering = vk::CommandBufferInheritanceRenderingInfo::default()
            .rasterization_samples(vk::SampleCountFlags::TYPE_1);
        let inherited = vk::CommandBufferInheritanceInfo::default()
            .pipeline_statistics(statistics)
            .push_next(&mut rendering);
        unsafe { self.program.secondary(self.secondaries, &inherited, record) }
    }

    /// Records a query at a place.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a pass.
    unsafe fn record(
        &self,
        cmd: vk::CommandBuffer,
        pool: vk::QueryPool,
        (place, statistics): (Place, Statistics),
        pipeline: vk::Pipeline,
    ) {
        let raw = &self.program.raw;
        let info = vk::RenderingInfo::default().render_area(attachment::area(8)).layer_count(1);
        let inner = info.flags(vk::RenderingFlags::CONTENTS_SECONDARY_COMMAND_BUFFERS);
        unsafe {
            let begin = |cmd| raw.cmd_begin_query(cmd, pool, 0, Default::default());
            let end = |cmd| raw.cmd_end_query(cmd, pool, 0);
            let in_pass = |info: &_, record: &dyn Fn()| {
                raw.cmd_begin_rendering(cmd, info);
                record();
                raw.cmd_end_rendering(cmd);
            };
            match place {
                Place::InPass => in_pass(&info, &|| {
                    begin(cmd);
                    self.draw(cmd, pipeline);
                    end(cmd);
                }),
                Place::InSecondary => {
                    let second = self.secondary(Default::default(), |second| {
                        begin(second);
                        self.draw(second, pipeline);
                        end(second);
                    });
                    in_pass(&inner, &|| raw.cmd_execute_commands(cmd, &[second]));
                }
                Place::AroundPasses => {
                    begin(cmd);
                    in_pass(&info, &|| self.draw(cmd, pipeline));
                    in_pass(&info, &|| self.draw(cmd, pipeline));
                    end(cmd);
                }
                Place::AroundSecondary => {
                    let second = self.secondary(statistics, |second| self.draw(second, pipeline));
                    begin(cmd);
                    in_pass(&inner, &|| raw.cmd_execute_commands(cmd, &[second]));
                    end(cmd);
                }
            }
        }
    }

    /// The statistics of a query at a place.
    fn count(
        &self,
        place: Place,
        statistics: Statistics,
        stages: &Stages,
        discards: bool,
    ) -> Counts {
        let raw = &self.program.raw;
        let info = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::PIPELINE_STATISTICS)
            .pipeline_statistics(statistics)
            .query_count(1);
        // SAFETY: everything is of the device, and the submission is waited for.
        unsafe {
            let pool = raw.create_query_pool(&info, None).unwrap();
            let pipeline = self.pipeline(stages, discards);
            self.program.submit(WRITES, |cmd| {
                raw.cmd_reset_query_pool(cmd, pool, 0, 1);
                self.record(cmd, pool, (place, statistics), pipeline);
            });
            let mut found = [Counts::default()];
            let flags = vk::QueryResultFlags::TYPE_64;
            raw.get_query_pool_results(pool, 0, &mut found, flags).unwrap();
            raw.destroy_pipeline(pipeline, None);
            raw.destroy_query_pool(pool, None);
            found[0]
        }
    }
}

/// The start of the lines with the statistics.
const STATISTICS_OF: &str = "statistics of ";

/// Prints a line for the statistics of each kind of draw.
fn print_statistics(places: [Place; 2], statistics: Statistics) -> Vec<String> {
    let Some(mut machine) = Machine::open() else { return Vec::new() };
    let is_there = |place: &Place| machine.inherits || *place != Place::AroundSecondary;
    let places: Vec<_> = places.into_iter().filter(is_there).collect();
    let mut lines = Vec::new();
    for precede in [false, true] {
        if precede {
            // While there is such a buffer, the layer records captures before their pass.
            _ = machine.program.buffer(1, vk::BufferUsageFlags::INDIRECT_BUFFER);
        }
        for place in &places {
            for stages in &machine.stages {
                for discards in [false, true] {
                    let name = stages.name;
                    let what = format!("{name}, {place:?}, discards {discards}, precede {precede}");
                    let counts = machine.count(*place, statistics, stages, discards);
                    lines.push(format!("{STATISTICS_OF}{what}: {counts:?}"));
                }
            }
        }
    }
    lines.iter().for_each(|line| eprintln!("{line}"));
    let messages = machine.program.take_messages();
    // SAFETY: nothing is in flight.
    unsafe {
        machine.program.raw.destroy_command_pool(machine.secondaries, None);
        machine.program.raw.destroy_pipeline_layout(machine.layout, None);
    }
    assert!(messages.is_empty(), "{messages:#?}");
    lines
}

/// What is counted for a kind of draw, from a line of [`print_statistics`].
fn parse(line: &str) -> Option<(&str, Counts)> {
    let (what, counts) = line.strip_prefix(STATISTICS_OF)?.rsplit_once(": ")?;
    let mut counts = counts.trim_matches(['[', ']']).split(", ").map(str::parse);
    Some((what, std::array::from_fn(|_| counts.next().unwrap().unwrap())))
}

/// Compares the lines that a test prints natively with those that it prints on the layer. `is_counted` is whether the
/// latter have the invocations of the captures, and `is_told` whether the log says so.
fn compare<T: Fn()>(native: &[String], test: T, is_counted: bool, is_told: bool) {
    let Some(said) = layer::run_on_it(test, &[]) else { return };
    let found: Vec<_> = said.lines().filter_map(parse).collect();
    let native: Vec<_> = native.iter().filter_map(|line| parse(line)).collect();
    // On the layer there may be captures that the driver has not got.
    assert!(!found.is_empty() && native.iter().all(|(what, _)| found.iter().any(|f| f.0 == *what)));
    for (what, mut counts) in found {
        assert_eq!(counts[COMPUTE] != 0, is_counted, "{what}: {counts:?}");
        counts[COMPUTE] = 0;
        let Some((_, mut expected)) = native.iter().find(|(name, _)| *name == what).copied() else {
            continue;
        };
        if what.starts_with(STREAMS_NAME) {
            // The driver's shader emits only to the stream that is rasterized: one point for each invocation.
            expected[GEOMETRY_PRIMITIVES] = expected[GEOMETRY_INVOCATIONS];
        }
        assert_eq!(counts, expected, "{what}");
    }
    let told = said.lines().filter(|line| line.contains(" WARN ") && line.contains(TOLD)).count();
    assert_eq!(told, usize::from(is_told), "{said}");
}

/// What the log says where a query may count the invocations of captures.
const TOLD: &str = "of compute shader invocations";

const IN_PASSES: [Place; 2] = [Place::InPass, Place::InSecondary];
const AROUND_PASSES: [Place; 2] = [Place::AroundPasses, Place::AroundSecondary];

#[test]
fn statistics_are_counted_in_passes() {
    print_statistics(IN_PASSES, ALL);
}

#[test]
fn statistics_are_counted_around_passes() {
    print_statistics(AROUND_PASSES, ALL);
}

#[test]
fn graphics_statistics_are_counted_around_passes() {
    print_statistics(AROUND_PASSES, ALL & !Statistics::COMPUTE_SHADER_INVOCATIONS);
}

#[test]
fn statistics_are_counted_in_passes_on_the_layer() {
    let native = print_statistics(IN_PASSES, ALL);
    compare(&native, statistics_are_counted_in_passes, false, true);
}

#[test]
fn statistics_are_counted_around_passes_on_the_layer() {
    let native = print_statistics(AROUND_PASSES, ALL);
    compare(&native, statistics_are_counted_around_passes, true, true);
    compare(&native, graphics_statistics_are_counted_around_passes, false, false);
}
