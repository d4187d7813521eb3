//! Queries of generated primitives (`VK_EXT_primitives_generated_query`), natively and on the Vulkan layer, which counts
//! all of them where the driver lacks the extension: of draws that capture and of those that do not, of several pipelines,
//! in one pass and across passes, with several views, and in secondary command buffers; and what results say when.

use ash::{ext, khr, vk};
use vk::PrimitiveTopology as Topology;
use vkxfb::topology::PrimitiveTopology;

use super::program::Program;
use crate::common::bare::BareInstance;
use crate::common::commands::query_pool;
use crate::common::native::WRITES;
use crate::common::{self, attachment, discard, layer};

/// A vertex shader that neither captures nor reads anything.
const PLAIN: &str = "#version 450
    void main() {
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

/// Makes two lines of a point.
const GEOMETRY: &str = "#version 450
    layout(points) in;
    layout(line_strip, max_vertices = 3) out;
    void main() {
        for (int i = 0; i < 3; i++) {
            gl_Position = vec4(0.0);
            EmitVertex();
        }
        EndPrimitive();
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
    void main() {
        gl_Position = vec4(gl_TessCoord, 1.0);
    }";

/// The index that restarts primitives.
const R: u32 = u32::MAX;
const INDICES: [u32; 12] = [0, 1, 2, R, 3, 4, 5, 6, R, 0, R, 1];
/// The primitives of a strip of triangles by these indices with restart: of each run.
const RESTARTED: u64 = 1 + 2;
/// The number of vertices in the arguments of the indirect draws.
const INDIRECT: [u32; 2] = [7, 9];
/// The bytes that a counter counts, and those of a vertex of a draw by that.
const BYTES: [u32; 2] = [44, 4];

/// How the stages before rasterization are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stages {
    Plain,
    Captures,
    /// Those of `Captures`, drawn while transform feedback is not active.
    Idle,
    Geometry,
    Tessellation,
}

/// A draw, and the pipeline that it is drawn with.
#[derive(Debug, Clone, Copy)]
struct Draw {
    stages: Stages,
    topology: Topology,
    by: By,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Vertices(u32, u32),
    /// Indices, with restart.
    Indices,
    /// The commands of [`INDIRECT`].
    Indirect,
    IndexedIndirect,
    ByteCount,
}

impl Draw {
    const fn new(stages: Stages, topology: Topology, by: By) -> Self {
        Self { stages, topology, by }
    }

    /// The number of primitives that the draw generates.
    fn primitives(&self) -> u64 {
        let of = |vertices: u32| match self.stages {
            Stages::Geometry => 2 * u64::from(vertices),
            Stages::Tessellation => u64::from(vertices / 3),
            _ => PrimitiveTopology::try_from(self.topology).unwrap().primitive_count(vertices),
        };
        match self.by {
            By::Vertices(vertices, instances) => of(vertices) * u64::from(instances),
            By::Indices | By::IndexedIndirect => RESTARTED,
            By::Indirect => INDIRECT.into_iter().map(of).sum(),
            By::ByteCount => of(BYTES[0] / BYTES[1]),
        }
    }

    /// Whether lavapipe 22.3 counts the draw as it should.
    fn is_counted_natively(&self) -> bool {
        matches!(self.by, By::Vertices(..) | By::Indices)
    }
}

/// Where a query begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Around a pass for each draw.
    AroundPasses,
    /// Around a pass.
    AroundPass,
    InPass,
    /// In a pass, in a secondary command buffer.
    Secondary,
}

const PLACES: [Place; 4] =
    [Place::AroundPasses, Place::AroundPass, Place::InPass, Place::Secondary];

/// Draws that a query counts together.
fn programs(has: impl Fn(Stages) -> bool) -> Vec<Vec<Draw>> {
    use Stages::{Captures, Geometry, Idle, Plain, Tessellation};
    let topologies = [
        Topology::POINT_LIST,
        Topology::LINE_LIST,
        Topology::LINE_STRIP,
        Topology::TRIANGLE_LIST,
        Topology::TRIANGLE_STRIP,
        Topology::TRIANGLE_FAN,
    ];
    let mut programs = Vec::new();
    for stages in [Plain, Captures, Idle] {
        for topology in topologies {
            programs.push(vec![Draw::new(stages, topology, By::Vertices(11, 3))]);
            programs.push(vec![Draw::new(stages, topology, By::Indirect)]);
        }
        let strip = Topology::TRIANGLE_STRIP;
        for by in [By::Indices, By::IndexedIndirect, By::ByteCount, By::Vertices(2, 1)] {
            programs.push(vec![Draw::new(stages, strip, by)]);
        }
    }
    let points = Topology::POINT_LIST;
    programs.push(vec![]);
    programs.push(vec![Draw::new(Geometry, points, By::Vertices(5, 2))]);
    programs.push(vec![Draw::new(Geometry, points, By::Indirect)]);
    programs.push(vec![Draw::new(Tessellation, Topology::PATCH_LIST, By::Vertices(9, 2))]);
    // Pipelines with and without captures, and with and without other stages, one behind the other.
    programs.push(vec![
        Draw::new(Plain, points, By::Vertices(3, 1)),
        Draw::new(Plain, Topology::LINE_LIST, By::Vertices(4, 1)),
        Draw::new(Captures, points, By::Vertices(2, 1)),
        Draw::new(Idle, points, By::Vertices(3, 1)),
        Draw::new(Geometry, points, By::Vertices(1, 1)),
        Draw::new(Plain, Topology::TRIANGLE_STRIP, By::Indices),
        Draw::new(Captures, Topology::TRIANGLE_LIST, By::Vertices(6, 1)),
        Draw::new(Tessellation, Topology::PATCH_LIST, By::Vertices(6, 1)),
        Draw::new(Plain, points, By::Vertices(1, 1)),
    ]);
    programs.into_iter().filter(|draws| draws.iter().all(|draw| has(draw.stages))).collect()
}

struct Machine {
    program: Program,
    has_geometry: bool,
    has_tessellation: bool,
    /// Whether geometry shaders, and tessellation, may be in passes with several views.
    has_stages_of_views: [bool; 2],
    has_host_reset: bool,
    /// Whether a query in a pass with several views counts the primitives of one of them: a fault of NVIDIA's driver.
    counts_one_view: bool,
    has_libraries: bool,
    layout: vk::PipelineLayout,
    modules: [(vk::ShaderStageFlags, Vec<u32>); 5],
    target: vk::Buffer,
    indices: vk::Buffer,
    /// The arguments of indirect draws without and with indices, and a counter.
    commands: vk::Buffer,
    secondaries: vk::CommandPool,
}

/// The places of the commands with indices, and of the counter, in the buffer of commands.
const INDEXED: u64 = 32;
const COUNTER: u64 = 64;

impl Machine {
    fn open() -> Option<Self> {
        let instance = BareInstance::open();
        let mut has = vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT::default();
        let mut all = vk::PhysicalDeviceFeatures2::default().push_next(&mut has);
        instance.features(&mut all);
        let core = all.features;
        let counts_one_view = !layer::is_there() && instance.driver_name() == "NVIDIA";
        let counts = [
            has.primitives_generated_query,
            has.primitives_generated_query_with_rasterizer_discard,
        ];
        if counts != [vk::TRUE; 2] {
            layer::skip_without("queries of generated primitives", layer::counts_generated());
            return None;
        }
        let mut xfb =
            vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
        let mut rendering = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
        let mut generated = vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT::default()
            .primitives_generated_query(true)
            .primitives_generated_query_with_rasterizer_discard(true);
        let mut views = vk::PhysicalDeviceMultiviewFeatures::default();
        let mut resets = vk::PhysicalDeviceHostQueryResetFeatures::default();
        instance.features(
            &mut vk::PhysicalDeviceFeatures2::default()
                .push_next(&mut views)
                .push_next(&mut resets),
        );
        let mut multiview = vk::PhysicalDeviceMultiviewFeatures::default()
            .multiview(true)
            .multiview_geometry_shader(views.multiview_geometry_shader == vk::TRUE)
            .multiview_tessellation_shader(views.multiview_tessellation_shader == vk::TRUE);
        let mut host_reset = vk::PhysicalDeviceHostQueryResetFeatures::default()
            .host_query_reset(resets.host_query_reset == vk::TRUE);
        let enabled = vk::PhysicalDeviceFeatures::default()
            .geometry_shader(core.geometry_shader == vk::TRUE)
            .tessellation_shader(core.tessellation_shader == vk::TRUE)
            .multi_draw_indirect(true);
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .features(enabled)
            .push_next(&mut xfb)
            .push_next(&mut rendering)
            .push_next(&mut generated)
            .push_next(&mut multiview)
            .push_next(&mut host_reset);
        let libraries = [khr::pipeline_library::NAME, ext::graphics_pipeline_library::NAME];
        let has_libraries = instance.lacks(&libraries).is_none();
        let mut linked = vk::PhysicalDeviceGraphicsPipelineLibraryFeaturesEXT::default()
            .graphics_pipeline_library(true);
        let mut names = vec![ext::transform_feedback::NAME, ext::primitives_generated_query::NAME];
        if has_libraries {
            features = features.push_next(&mut linked);
            names.extend(libraries);
        }
        let names: Vec<_> = names.into_iter().map(std::ffi::CStr::as_ptr).collect();
        let mut program = Program::on(instance.into_device(&mut features, &names));
        use vk::{BufferUsageFlags as Usage, ShaderStageFlags as Stage};
        let (target, _) = program.buffer(64, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
        let (indices, mapped) = program.buffer(INDICES.len(), Usage::INDEX_BUFFER);
        // SAFETY: the buffers have that size.
        unsafe { mapped.copy_from(INDICES.as_ptr(), INDICES.len()) };
        let usage = Usage::INDIRECT_BUFFER | Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT;
        let (commands, mapped) = program.buffer(17, usage);
        let [first, second] = INDIRECT;
        let words = [first, 1, 0, 0, second, 1, 0, 0, INDICES.len() as u32, 1, 0, 0, 0];
        // SAFETY: as above.
        unsafe {
            mapped.copy_from(words.as_ptr(), words.len());
            mapped.add(COUNTER as usize / 4).write(BYTES[0]);
        }
        let pool = vk::CommandPoolCreateInfo::default().queue_family_index(program.family);
        // SAFETY: the device is live.
        let (layout, secondaries) = unsafe {
            (
                program.raw.create_pipeline_layout(&Default::default(), None).unwrap(),
                program.raw.create_command_pool(&pool, None).unwrap(),
            )
        };
        let module = |stage, name, source| (stage, common::compile_stage(name, source, &[]));
        Some(Self {
            has_geometry: enabled.geometry_shader == vk::TRUE,
            has_tessellation: enabled.tessellation_shader == vk::TRUE,
            has_stages_of_views: [
                views.multiview_geometry_shader == vk::TRUE,
                views.multiview_tessellation_shader == vk::TRUE,
            ],
            has_host_reset: resets.host_query_reset == vk::TRUE,
            counts_one_view,
            has_libraries,
            layout,
            modules: [
                module(Stage::VERTEX, "vert", PLAIN),
                module(Stage::VERTEX, "vert", common::CAPTURES),
                module(Stage::GEOMETRY, "geom", GEOMETRY),
                module(Stage::TESSELLATION_CONTROL, "tesc", CONTROL),
                module(Stage::TESSELLATION_EVALUATION, "tese", EVALUATION),
            ],
            target,
            indices,
            commands,
            secondaries,
            program,
        })
    }

    fn close(self) {
        // SAFETY: nothing is in flight.
        unsafe {
            self.program.raw.destroy_command_pool(self.secondaries, None);
            self.program.raw.destroy_pipeline_layout(self.layout, None);
        }
    }

    /// # Safety
    /// The caller destroys the pipeline.
    unsafe fn pipeline(&self, draw: &Draw, discards: bool) -> vk::Pipeline {
        unsafe { self.pipeline_in(Default::default(), draw, discards) }
    }

    /// Creates a pipeline that rasterizes, linked of libraries. It is the first one, and the others are the libraries.
    ///
    /// # Safety
    /// The caller destroys all of them.
    unsafe fn linked(&self, draw: &Draw) -> Vec<vk::Pipeline> {
        use vk::GraphicsPipelineLibraryFlagsEXT as Part;
        let raw = &self.program.raw;
        let cache = vk::PipelineCache::null();
        let depth = vk::PipelineDepthStencilStateCreateInfo::default();
        let blend = vk::PipelineColorBlendStateCreateInfo::default();
        let samples = vk::PipelineMultisampleStateCreateInfo::default()
            .rasterization_samples(vk::SampleCountFlags::TYPE_1);
        // The validation layer of Debian 12 crashes in draws of one without the parts behind rasterization.
        let parts = [
            Part::VERTEX_INPUT_INTERFACE,
            Part::PRE_RASTERIZATION_SHADERS,
            Part::FRAGMENT_SHADER | Part::FRAGMENT_OUTPUT_INTERFACE,
        ];
        // SAFETY: the structures are valid.
        unsafe {
            let libraries = parts.map(|part| {
                let is_before = !part.contains(Part::FRAGMENT_SHADER);
                let mut rendering = vk::PipelineRenderingCreateInfo::default();
                let mut part = vk::GraphicsPipelineLibraryCreateInfoEXT::default().flags(part);
                let info = vk::GraphicsPipelineCreateInfo::default()
                    .flags(vk::PipelineCreateFlags::LIBRARY_KHR)
                    .push_next(&mut part)
                    .push_next(&mut rendering);
                if is_before {
                    return self.pipeline_in(info, draw, false);
                }
                let info = info
                    .depth_stencil_state(&depth)
                    .color_blend_state(&blend)
                    .multisample_state(&samples)
                    .layout(self.layout);
                raw.create_graphics_pipelines(cache, &[info], None).unwrap()[0]
            });
            let mut linked = vk::PipelineLibraryCreateInfoKHR::default().libraries(&libraries);
            let info = vk::GraphicsPipelineCreateInfo::default()
                .layout(self.layout)
                .push_next(&mut linked);
            let made = raw.create_graphics_pipelines(cache, &[info], None).unwrap();
            [made, libraries.to_vec()].concat()
        }
    }

    /// As [`pipeline`](Self::pipeline), with the subpass or the chain of `info`.
    ///
    /// # Safety
    /// As there, and `info` is valid.
    unsafe fn pipeline_in(
        &self,
        info: vk::GraphicsPipelineCreateInfo<'_>,
        draw: &Draw,
        discards: bool,
    ) -> vk::Pipeline {
        let numbers = match draw.stages {
            Stages::Plain => &[0][..],
            Stages::Captures | Stages::Idle => &[1],
            Stages::Geometry => &[0, 2],
            Stages::Tessellation => &[0, 3, 4],
        };
        let stages = numbers.iter().map(|number| &self.modules[*number]);
        let stages: Vec<_> = stages.map(|(stage, words)| (*stage, &words[..])).collect();
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(draw.topology)
            .primitive_restart_enable(matches!(draw.by, By::Indices | By::IndexedIndirect));
        let rasterization = vk::PipelineRasterizationStateCreateInfo::default()
            .rasterizer_discard_enable(discards)
            .line_width(1.0);
        let viewports = [vk::Viewport { width: 1.0, height: 1.0, ..Default::default() }];
        let scissors = [attachment::area(1)];
        let viewport = vk::PipelineViewportStateCreateInfo::default()
            .viewports(&viewports)
            .scissors(&scissors);
        let samples = vk::PipelineMultisampleStateCreateInfo::default()
            .rasterization_samples(vk::SampleCountFlags::TYPE_1);
        let tessellation =
            vk::PipelineTessellationStateCreateInfo::default().patch_control_points(3);
        let info = info
            .input_assembly_state(&assembly)
            .rasterization_state(&rasterization)
            .viewport_state(&viewport)
            .multisample_state(&samples)
            .tessellation_state(&tessellation)
            .layout(self.layout);
        // SAFETY: the structures are valid.
        unsafe { discard::of_shaders(&self.program.raw, &stages, info) }
    }

    /// # Safety
    /// The command buffer is being recorded, in a pass.
    unsafe fn draw(&self, cmd: vk::CommandBuffer, pipeline: vk::Pipeline, draw: &Draw) {
        let (raw, xfb) = (&self.program.raw, self.program.xfb());
        let captures = draw.stages == Stages::Captures;
        unsafe {
            raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            raw.cmd_bind_index_buffer(cmd, self.indices, 0, vk::IndexType::UINT32);
            if captures {
                // There is room for some of the records only.
                let (offset, size) = (0, 16_u64);
                xfb.bind_target(cmd, self.target, offset, size);
                xfb.begin(cmd);
            }
            match draw.by {
                By::Vertices(vertices, instances) => raw.cmd_draw(cmd, vertices, instances, 0, 0),
                By::Indices => raw.cmd_draw_indexed(cmd, INDICES.len() as u32, 1, 0, 0, 0),
                By::Indirect => raw.cmd_draw_indirect(cmd, self.commands, 0, 2, 16),
                By::IndexedIndirect => {
                    raw.cmd_draw_indexed_indirect(cmd, self.commands, INDEXED, 1, 20);
                }
                By::ByteCount => (xfb.cmd_draw_indirect_byte_count_ext)(
                    cmd,
                    1,
                    0,
                    self.commands,
                    COUNTER,
                    0,
                    BYTES[1],
                ),
            }
            if captures {
                xfb.end(cmd);
            }
        }
    }

    /// Records the draws of a query at a place, and the beginning and the end of the query.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a pass.
    unsafe fn record(
        &self,
        cmd: vk::CommandBuffer,
        (pool, query): (vk::QueryPool, u32),
        place: Place,
        draws: &[(vk::Pipeline, Draw)],
    ) {
        let raw = &self.program.raw;
        let flags = vk::QueryControlFlags::empty();
        let secondary = vk::RenderingFlags::CONTENTS_SECONDARY_COMMAND_BUFFERS;
        let info = vk::RenderingInfo::default().render_area(attachment::area(1)).layer_count(1);
        unsafe {
            let begin = |cmd| raw.cmd_begin_query(cmd, pool, query, flags);
            let end = |cmd| raw.cmd_end_query(cmd, pool, query);
            let draw_all = |cmd| {
                draws.iter().for_each(|(pipeline, draw)| self.draw(cmd, *pipeline, draw));
            };
            match place {
                Place::AroundPasses => {
                    begin(cmd);
                    for (pipeline, draw) in draws {
                        raw.cmd_begin_rendering(cmd, &info);
                        self.draw(cmd, *pipeline, draw);
                        raw.cmd_end_rendering(cmd);
                    }
                    end(cmd);
                }
                Place::AroundPass => {
                    begin(cmd);
                    raw.cmd_begin_rendering(cmd, &info);
                    draw_all(cmd);
                    raw.cmd_end_rendering(cmd);
                    end(cmd);
                }
                Place::InPass => {
                    raw.cmd_begin_rendering(cmd, &info);
                    begin(cmd);
                    draw_all(cmd);
                    end(cmd);
                    // What comes behind the query is not counted.
                    draw_all(cmd);
                    raw.cmd_end_rendering(cmd);
                }
                Place::Secondary => {
                    let mut rendering = vk::CommandBufferInheritanceRenderingInfo::default()
                        .rasterization_samples(vk::SampleCountFlags::TYPE_1);
                    let inherited =
                        vk::CommandBufferInheritanceInfo::default().push_next(&mut rendering);
                    let inner = self.program.secondary(self.secondaries, &inherited, |inner| {
                        begin(inner);
                        draw_all(inner);
                        end(inner);
                    });
                    raw.cmd_begin_rendering(cmd, &info.flags(secondary));
                    raw.cmd_execute_commands(cmd, &[inner]);
                    raw.cmd_end_rendering(cmd);
                }
            }
        }
    }
}

#[test]
fn draws_are_counted() {
    let Some(machine) = Machine::open() else { return };
    let raw = &machine.program.raw;
    let has = |stages| match stages {
        Stages::Geometry => machine.has_geometry,
        Stages::Tessellation => machine.has_tessellation,
        Stages::Plain | Stages::Captures | Stages::Idle => true,
    };
    let programs: Vec<_> = programs(has)
        .into_iter()
        .filter(|draws| layer::is_there() || draws.iter().all(Draw::is_counted_natively))
        .collect();
    let mut wrong = Vec::new();
    for (discards, is_linked) in [(true, false), (false, false), (false, true)] {
        if is_linked && !machine.has_libraries {
            continue;
        }
        // Of linked pipelines, too, the validation layer of Debian 12 asks for a tessellation state.
        let is_taken = |draw: &Draw| !is_linked || draw.stages != Stages::Tessellation;
        let programs: Vec<_> =
            programs.iter().filter(|draws| draws.iter().all(is_taken)).cloned().collect();
        for place in PLACES {
            let count = programs.len() as u32;
            // SAFETY: everything is of the device, and the submission is waited for.
            let found = unsafe {
                let pool = query_pool(raw, vk::QueryType::PRIMITIVES_GENERATED_EXT, count);
                let mut libraries = Vec::new();
                let mut pipeline = |draw: &Draw| {
                    if !is_linked {
                        return (machine.pipeline(draw, discards), *draw);
                    }
                    let made = machine.linked(draw);
                    libraries.extend_from_slice(&made[1..]);
                    (made[0], *draw)
                };
                let drawn: Vec<Vec<_>> = programs
                    .iter()
                    .map(|draws| draws.iter().map(&mut pipeline).collect())
                    .collect();
                machine.program.submit(WRITES, |cmd| {
                    raw.cmd_reset_query_pool(cmd, pool, 0, count);
                    for (query, draws) in drawn.iter().enumerate() {
                        machine.record(cmd, (pool, query as u32), place, draws);
                    }
                });
                let mut found = vec![0_u64; programs.len()];
                let flags = vk::QueryResultFlags::TYPE_64;
                raw.get_query_pool_results(pool, 0, &mut found, flags).unwrap();
                let made = drawn.into_iter().flatten().map(|(pipeline, _)| pipeline);
                made.chain(libraries).for_each(|pipeline| raw.destroy_pipeline(pipeline, None));
                raw.destroy_query_pool(pool, None);
                let flags = vk::CommandPoolResetFlags::empty();
                raw.reset_command_pool(machine.secondaries, flags).unwrap();
                found
            };
            for (draws, found) in programs.iter().zip(found) {
                let expected = draws.iter().map(Draw::primitives).sum::<u64>();
                if found != expected {
                    let made = format!("discards: {discards}, linked: {is_linked}");
                    let what = format!("{place:?}, {made}, {draws:?}");
                    wrong.push(format!("{found}, not {expected}: {what}"));
                }
            }
        }
    }
    let messages = machine.program.take_messages();
    machine.close();
    assert!(wrong.is_empty(), "{} are wrong: {wrong:#?}", wrong.len());
    assert!(messages.is_empty(), "{messages:#?}");
}

/// The view masks of the subpasses of a pass.
const VIEW_MASKS: [u32; 2] = [0b101, 0b1110];

/// How a pass with several views begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Viewed {
    /// By dynamic rendering, once for each mask.
    Rendering,
    /// By a render pass object of `vkCreateRenderPass`.
    RenderPass,
    /// By one of `vkCreateRenderPass2`.
    RenderPass2,
}

impl Machine {
    /// Whether the stages may be in a pass with several views.
    fn has_with_views(&self, stages: Stages) -> bool {
        match stages {
            Stages::Geometry => self.has_geometry && self.has_stages_of_views[0],
            Stages::Tessellation => self.has_tessellation && self.has_stages_of_views[1],
            Stages::Plain | Stages::Idle => true,
            // Transform feedback must not be active there.
            Stages::Captures => false,
        }
    }

    /// Creates a render pass with [`VIEW_MASKS`]. Null for dynamic rendering.
    ///
    /// # Safety
    /// The caller destroys the render pass.
    unsafe fn render_pass(&self, viewed: Viewed) -> vk::RenderPass {
        let raw = &self.program.raw;
        // SAFETY: the device is live.
        unsafe {
            match viewed {
                Viewed::Rendering => vk::RenderPass::null(),
                Viewed::RenderPass => {
                    let subpasses = [vk::SubpassDescription::default(); 2];
                    let mut views =
                        vk::RenderPassMultiviewCreateInfo::default().view_masks(&VIEW_MASKS);
                    let info = vk::RenderPassCreateInfo::default()
                        .subpasses(&subpasses)
                        .push_next(&mut views);
                    raw.create_render_pass(&info, None).unwrap()
                }
                Viewed::RenderPass2 => {
                    let subpass = |mask| vk::SubpassDescription2::default().view_mask(mask);
                    let subpasses = VIEW_MASKS.map(subpass);
                    let info = vk::RenderPassCreateInfo2::default().subpasses(&subpasses);
                    raw.create_render_pass2(&info, None).unwrap()
                }
            }
        }
    }

    /// Calls `record` in each subpass of a pass with several views, with the number of the subpass.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a pass.
    unsafe fn record_viewed(
        &self,
        cmd: vk::CommandBuffer,
        viewed: Viewed,
        (pass, framebuffer): (vk::RenderPass, vk::Framebuffer),
        is_secondary: bool,
        record: &dyn Fn(vk::CommandBuffer, usize),
    ) {
        let raw = &self.program.raw;
        let (flags, contents) = if is_secondary {
            (
                vk::RenderingFlags::CONTENTS_SECONDARY_COMMAND_BUFFERS,
                vk::SubpassContents::SECONDARY_COMMAND_BUFFERS,
            )
        } else {
            (vk::RenderingFlags::empty(), vk::SubpassContents::INLINE)
        };
        let (begin, end) =
            (vk::SubpassBeginInfo::default().contents(contents), vk::SubpassEndInfo::default());
        let info = vk::RenderPassBeginInfo::default()
            .render_pass(pass)
            .framebuffer(framebuffer)
            .render_area(attachment::area(1));
        unsafe {
            for (subpass, mask) in VIEW_MASKS.into_iter().enumerate() {
                match (viewed, subpass) {
                    (Viewed::Rendering, _) => {
                        let info = vk::RenderingInfo::default()
                            .render_area(attachment::area(1))
                            .view_mask(mask)
                            .flags(flags);
                        raw.cmd_begin_rendering(cmd, &info);
                    }
                    (Viewed::RenderPass, 0) => raw.cmd_begin_render_pass(cmd, &info, contents),
                    (Viewed::RenderPass, _) => raw.cmd_next_subpass(cmd, contents),
                    (Viewed::RenderPass2, 0) => raw.cmd_begin_render_pass2(cmd, &info, &begin),
                    (Viewed::RenderPass2, _) => raw.cmd_next_subpass2(cmd, &begin, &end),
                }
                if is_secondary {
                    let mut rendering = vk::CommandBufferInheritanceRenderingInfo::default()
                        .view_mask(mask)
                        .rasterization_samples(vk::SampleCountFlags::TYPE_1);
                    let mut inherited = vk::CommandBufferInheritanceInfo::default()
                        .render_pass(pass)
                        .subpass(subpass as u32);
                    if viewed == Viewed::Rendering {
                        inherited = inherited.subpass(0).push_next(&mut rendering);
                    }
                    let inner = self
                        .program
                        .secondary(self.secondaries, &inherited, |inner| record(inner, subpass));
                    raw.cmd_execute_commands(cmd, &[inner]);
                } else {
                    record(cmd, subpass);
                }
                if viewed == Viewed::Rendering {
                    raw.cmd_end_rendering(cmd);
                }
            }
            match viewed {
                Viewed::Rendering => {}
                Viewed::RenderPass => raw.cmd_end_render_pass(cmd),
                Viewed::RenderPass2 => raw.cmd_end_render_pass2(cmd, &end),
            }
        }
    }
}

/// In a pass with several views a query is one query for each view. All become available, and their sum is that of all
/// views.
#[test]
fn views_are_counted() {
    let Some(machine) = Machine::open() else { return };
    let raw = &machine.program.raw;
    let (points, strip) = (Topology::POINT_LIST, Topology::TRIANGLE_STRIP);
    let draws = [
        Draw::new(Stages::Plain, points, By::Vertices(5, 2)),
        Draw::new(Stages::Idle, strip, By::Indices),
        Draw::new(Stages::Geometry, points, By::Vertices(3, 1)),
        Draw::new(Stages::Tessellation, Topology::PATCH_LIST, By::Vertices(6, 1)),
    ];
    let draws: Vec<_> =
        draws.into_iter().filter(|draw| machine.has_with_views(draw.stages)).collect();
    let expected: u64 = draws.iter().map(Draw::primitives).sum();
    let count: u32 = VIEW_MASKS.iter().map(|mask| mask.count_ones()).sum();
    let first = |subpass: usize| -> u32 {
        VIEW_MASKS[..subpass].iter().map(|mask| mask.count_ones()).sum()
    };
    let writes = (vk::PipelineStageFlags::TRANSFER, vk::AccessFlags::TRANSFER_WRITE);
    let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
    let mut wrong = Vec::new();
    for viewed in [Viewed::Rendering, Viewed::RenderPass, Viewed::RenderPass2] {
        for is_secondary in [false, true] {
            // SAFETY: everything is of the device, and the submission is waited for.
            let found = unsafe {
                let pool = query_pool(raw, vk::QueryType::PRIMITIVES_GENERATED_EXT, count);
                let pass = machine.render_pass(viewed);
                let info = vk::FramebufferCreateInfo::default()
                    .render_pass(pass)
                    .width(1)
                    .height(1)
                    .layers(1);
                let framebuffer = match viewed {
                    Viewed::Rendering => vk::Framebuffer::null(),
                    _ => raw.create_framebuffer(&info, None).unwrap(),
                };
                let pipeline = |subpass: usize, draw: &Draw| {
                    let mut rendering =
                        vk::PipelineRenderingCreateInfo::default().view_mask(VIEW_MASKS[subpass]);
                    let mut info = vk::GraphicsPipelineCreateInfo::default().render_pass(pass);
                    match viewed {
                        Viewed::Rendering => info = info.push_next(&mut rendering),
                        _ => info = info.subpass(subpass as u32),
                    }
                    (machine.pipeline_in(info, draw, true), *draw)
                };
                let drawn = [0, 1].map(|subpass| {
                    draws.iter().map(|draw| pipeline(subpass, draw)).collect::<Vec<_>>()
                });
                machine.program.submit(writes, |cmd| {
                    raw.cmd_reset_query_pool(cmd, pool, 0, count);
                    let framebuffer = (pass, framebuffer);
                    machine.record_viewed(
                        cmd,
                        viewed,
                        framebuffer,
                        is_secondary,
                        &|cmd, subpass| {
                            let query = first(subpass);
                            raw.cmd_begin_query(cmd, pool, query, Default::default());
                            let drawn = &drawn[subpass];
                            drawn.iter().for_each(|(pipeline, draw)| {
                                machine.draw(cmd, *pipeline, draw);
                            });
                            raw.cmd_end_query(cmd, pool, query);
                        },
                    );
                });
                let mut found = vec![[0_u64; 2]; count as usize];
                _ = raw.get_query_pool_results(pool, 0, &mut found, flags);
                let made = drawn.into_iter().flatten();
                made.for_each(|(pipeline, _)| raw.destroy_pipeline(pipeline, None));
                raw.destroy_framebuffer(framebuffer, None);
                raw.destroy_render_pass(pass, None);
                raw.destroy_query_pool(pool, None);
                let flags = vk::CommandPoolResetFlags::empty();
                raw.reset_command_pool(machine.secondaries, flags).unwrap();
                found
            };
            for (subpass, mask) in VIEW_MASKS.into_iter().enumerate() {
                let views = mask.count_ones();
                let found = &found[first(subpass) as usize..][..views as usize];
                let sum: u64 = found.iter().map(|[primitives, _]| primitives).sum();
                // Natively lavapipe 22.3 makes only the first available, with the sum.
                let known = if layer::is_there() { found } else { &found[..1] };
                let are_available = known.iter().all(|[_, available]| *available != 0);
                let counted = if machine.counts_one_view { 1 } else { u64::from(views) };
                if !are_available || sum != expected * counted {
                    wrong.push(format!(
                        "{viewed:?}, secondary: {is_secondary}, {views} views of {expected}: {found:?}"
                    ));
                }
            }
        }
    }
    let messages = machine.program.take_messages();
    machine.close();
    assert!(wrong.is_empty(), "{} are wrong: {wrong:#?}", wrong.len());
    assert!(messages.is_empty(), "{messages:#?}");
}

#[test]
fn views_are_counted_on_the_layer() {
    run_where_the_layer_counts(views_are_counted);
}

/// A query is available once it has ended, until it is reset, by a command or by the host. Copies say the same.
#[test]
fn queries_are_available_until_they_are_reset() {
    let Some(mut machine) = Machine::open() else { return };
    let (copies, mapped) = machine.program.buffer(8, vk::BufferUsageFlags::TRANSFER_DST);
    let raw = &machine.program.raw;
    let draw = Draw::new(Stages::Plain, Topology::LINE_LIST, By::Vertices(6, 1));
    let writes = (vk::PipelineStageFlags::TRANSFER, vk::AccessFlags::TRANSFER_WRITE);
    let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
    // Only the second query is ever begun.
    let counted = [None, Some(draw.primitives())];
    let results = |found: [[u64; 2]; 2]| {
        found.map(|[primitives, available]| (available != 0).then_some(primitives))
    };
    // SAFETY: everything is of the device, and each submission is waited for.
    unsafe {
        let pool = query_pool(raw, vk::QueryType::PRIMITIVES_GENERATED_EXT, 2);
        let drawn = [(machine.pipeline(&draw, true), draw)];
        let read = || {
            let mut found = [[0_u64; 2]; 2];
            let result = raw.get_query_pool_results(pool, 0, &mut found, flags);
            (result, results(found))
        };
        let not_ready = Err(vk::Result::NOT_READY);
        let submit = |resets: bool, counts: bool| {
            machine.program.submit(writes, |cmd| {
                if resets {
                    raw.cmd_reset_query_pool(cmd, pool, 0, 2);
                }
                if counts {
                    machine.record(cmd, (pool, 1), Place::AroundPass, &drawn);
                }
            });
            machine.program.submit(writes, |cmd| {
                raw.cmd_copy_query_pool_results(cmd, pool, 0, 2, copies, 0, 16, flags);
            });
            let copied: [u64; 4] = std::ptr::read_unaligned(mapped.cast());
            results([[copied[0], copied[1]], [copied[2], copied[3]]])
        };
        assert_eq!(submit(true, false), [None; 2]);
        assert_eq!(read(), (not_ready, [None; 2]));
        assert_eq!(submit(false, true), counted);
        assert_eq!(read(), (not_ready, counted));
        let mut second = [0_u64];
        let wait = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
        raw.get_query_pool_results(pool, 1, &mut second, wait).unwrap();
        assert_eq!(second, [draw.primitives()]);
        assert_eq!(submit(true, true), counted);
        if machine.has_host_reset {
            raw.reset_query_pool(pool, 0, 2);
            assert_eq!(read(), (not_ready, [None; 2]));
            assert_eq!(submit(false, false), [None; 2]);
            assert_eq!(submit(false, true), counted);
        }
        raw.destroy_pipeline(drawn[0].0, None);
        raw.destroy_query_pool(pool, None);
    }
    let messages = machine.program.take_messages();
    machine.close();
    assert!(messages.is_empty(), "{messages:#?}");
}

#[test]
fn queries_are_available_until_they_are_reset_on_the_layer() {
    run_where_the_layer_counts(queries_are_available_until_they_are_reset);
}

/// Without the driver's extension the layer counts all.
#[test]
fn draws_are_counted_on_the_layer() {
    run_where_the_layer_counts(draws_are_counted);
}

/// Runs a test on the layer, where that counts all generated primitives.
pub fn run_where_the_layer_counts<T: Fn()>(test: T) {
    let counts = [layer::COUNTS_GENERATED];
    let Some(said) = layer::run_on_it(test, &counts) else { return };
    assert!(said.contains("is for tests"), "built without the layer's switches: {said}");
}
