//! Queries of primitives written while capture buffers are not bound, natively and with the Vulkan layer. A primitive
//! counts as written if outputs of it are captured to a buffer: of a vertex stream none of whose buffers are bound it is
//! needed, but not written.

use ash::{ext, vk};
use vk::ShaderStageFlags as Stage;

use super::program::{self, Program};
use crate::common::bare::BareInstance;
use crate::common::commands::query_pool;
use crate::common::native::WRITES;
use crate::common::skip::{Why, skip};
use crate::common::{self, attachment, discard, layer};

/// The number of vertex streams that are queried, and of capture buffers.
const STREAMS: u32 = 2;
const BUFFERS: usize = 2;
/// The number of primitives of a draw.
const PRIMITIVES: u32 = 4;
/// Triangles of three vertices have room.
const DWORDS: usize = 3 * PRIMITIVES as usize;
const UNTOUCHED: u32 = 0xa5a5_a5a5;

/// The stages before rasterization. Of a vertex each makes a point, or a triangle of a patch of one control point; the
/// geometry shader makes a point for each of both streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stages {
    Vertex,
    Tessellation,
    Geometry,
}

/// How a draw is recorded: the CPU may know how many primitives it has, or only the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Vertices,
    Indirect,
}

/// Stages, and the stream that each buffer captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shaders {
    stages: Stages,
    streams: [Option<u32>; BUFFERS],
}

impl Shaders {
    fn all() -> Vec<Self> {
        use Stages::{Geometry, Tessellation, Vertex};
        let all = [
            (Vertex, [Some(0), None]),
            (Vertex, [Some(0), Some(0)]),
            (Tessellation, [Some(0), None]),
            (Geometry, [Some(0), Some(1)]),
            (Geometry, [Some(0), Some(0)]),
            (Geometry, [Some(1), None]),
        ];
        all.map(|(stages, streams)| Self { stages, streams }).to_vec()
    }

    fn outputs(&self) -> String {
        let output = |(buffer, stream): (usize, &Option<u32>)| {
            let stream = match (self.stages, (*stream)?) {
                (Stages::Geometry, stream) => format!("stream = {stream}, "),
                _ => String::new(),
            };
            Some(format!(
                "layout({stream}location = {buffer}, xfb_buffer = {buffer}, xfb_stride = 4, xfb_offset = 0) \
                 out flat uint captured{buffer};\n"
            ))
        };
        self.streams.iter().enumerate().filter_map(output).collect()
    }

    /// The shaders, compiled.
    fn compiled(&self) -> Vec<(Stage, Vec<u32>)> {
        let written = |(buffer, stream): (usize, &Option<u32>)| {
            stream.map(|_| format!("captured{buffer} = {buffer}u;\n"))
        };
        let writes: String = self.streams.iter().enumerate().filter_map(written).collect();
        let outputs = self.outputs();
        let vertex = |outputs: &str, writes: &str| {
            format!(
                "#version 450
                {outputs}
                void main() {{
                    {writes}
                    gl_Position = vec4(0.0);
                    gl_PointSize = 1.0;
                }}"
            )
        };
        let sources = match self.stages {
            Stages::Vertex => vec![(Stage::VERTEX, "vert", vertex(&outputs, &writes))],
            Stages::Tessellation => {
                let control = "#version 450
                    layout(vertices = 1) out;
                    void main() {
                        for (int i = 0; i < 4; i++) gl_TessLevelOuter[i] = 1.0;
                        for (int i = 0; i < 2; i++) gl_TessLevelInner[i] = 1.0;
                    }";
                let evaluation = format!(
                    "#version 450
                    layout(triangles) in;
                    {outputs}
                    void main() {{
                        {writes}
                        gl_Position = vec4(0.0);
                    }}"
                );
                vec![
                    (Stage::VERTEX, "vert", vertex("", "")),
                    (Stage::TESSELLATION_CONTROL, "tesc", control.to_owned()),
                    (Stage::TESSELLATION_EVALUATION, "tese", evaluation),
                ]
            }
            Stages::Geometry => {
                let geometry = format!(
                    "#version 450
                    layout(points) in;
                    layout(points, max_vertices = 2) out;
                    {outputs}
                    void main() {{
                        {writes}
                        EmitStreamVertex(0);
                        EndStreamPrimitive(0);
                        {writes}
                        EmitStreamVertex(1);
                        EndStreamPrimitive(1);
                    }}"
                );
                vec![(Stage::VERTEX, "vert", vertex("", "")), (Stage::GEOMETRY, "geom", geometry)]
            }
        };
        let compile = |(stage, name, source): (_, _, String)| {
            (stage, common::compile_stage(name, &source, &[]))
        };
        sources.into_iter().map(compile).collect()
    }

    /// What the queries of the streams have to count, and how many dwords each buffer receives.
    fn expected(&self, bound: [bool; BUFFERS]) -> Counts {
        let buffers = |stream| (0..BUFFERS).filter(move |b| self.streams[*b] == Some(stream));
        let count = |stream: u32| {
            let needed = match self.stages {
                Stages::Geometry => PRIMITIVES,
                _ => PRIMITIVES * u32::from(stream == 0),
            };
            // Nothing of a stream that is not captured can overflow.
            let is_written =
                buffers(stream).count() == 0 || buffers(stream).any(|buffer| bound[buffer]);
            [needed * u32::from(is_written), needed].map(u64::from)
        };
        let per_primitive = if self.stages == Stages::Tessellation { 3 } else { 1 };
        let records = PRIMITIVES as usize * per_primitive;
        let dwords = |b: usize| records * usize::from(self.streams[b].is_some() && bound[b]);
        Counts { queries: [0, 1].map(count), dwords: std::array::from_fn(dwords) }
    }

    /// Whether one of the streams of the geometry shader is not captured.
    fn leaves_a_stream(&self) -> bool {
        [0, 1].into_iter().any(|stream| !self.streams.contains(&Some(stream)))
    }

    /// Why a driver's own captures are not compared.
    fn fault(&self, driver: &str, bound: [bool; BUFFERS]) -> Option<&'static str> {
        let is_unbound = |b: usize| self.streams[b].is_some() && !bound[b];
        let is_partly = |b: usize| {
            is_unbound(b)
                && (0..BUFFERS).any(|other| bound[other] && self.streams[other] == self.streams[b])
        };
        match driver {
            _ if layer::is_there() => None,
            "llvmpipe" if (0..BUFFERS).any(is_partly) => {
                Some("lavapipe captures nothing while one of several captured buffers is not bound")
            }
            "llvmpipe" if bound == [false; BUFFERS] => {
                Some("lavapipe counts no primitives needed while no capture buffer is bound")
            }
            "NVIDIA" if (0..BUFFERS).any(is_unbound) => {
                Some("NVIDIA captures to what an earlier command buffer bound")
            }
            "NVIDIA" if self.stages == Stages::Geometry && self.leaves_a_stream() => Some(
                "NVIDIA counts nothing as written, or everything, of streams that are not captured",
            ),
            _ => None,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Counts {
    /// For each stream, the primitives written and needed.
    queries: [[u64; 2]; STREAMS as usize],
    /// For each buffer, the number of dwords that have changed.
    dwords: [usize; BUFFERS],
}

/// A device, and the buffers of its captures.
struct Machine {
    program: Program,
    driver: String,
    has: vk::PhysicalDeviceFeatures,
    targets: [(vk::Buffer, *mut u32); BUFFERS],
    counters: vk::Buffer,
    commands: vk::Buffer,
    layout: vk::PipelineLayout,
}

impl Machine {
    fn open() -> Self {
        let instance = BareInstance::open();
        let mut streams = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
        let mut all = vk::PhysicalDeviceFeatures2::default().push_next(&mut streams);
        instance.features(&mut all);
        let core = all.features;
        let has = vk::PhysicalDeviceFeatures::default()
            .geometry_shader(core.geometry_shader & streams.geometry_streams == vk::TRUE)
            .tessellation_shader(core.tessellation_shader == vk::TRUE);
        let driver = instance.driver_name();
        let mut feedback = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default()
            .transform_feedback(true)
            .geometry_streams(has.geometry_shader == vk::TRUE);
        let mut rendering = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .features(has)
            .push_next(&mut feedback)
            .push_next(&mut rendering);
        let extensions = [ext::transform_feedback::NAME.as_ptr()];
        let mut program = Program::on(instance.into_device(&mut features, &extensions));
        use vk::BufferUsageFlags as Usage;
        let target = Usage::TRANSFORM_FEEDBACK_BUFFER_EXT;
        let targets = std::array::from_fn(|_| program.buffer(DWORDS, target));
        let (counters, _) = program.buffer(BUFFERS, Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT);
        let (commands, mapped) = program.buffer(4, Usage::INDIRECT_BUFFER);
        // SAFETY: it is mapped, and as large.
        unsafe { mapped.cast::<[u32; 4]>().write([PRIMITIVES, 1, 0, 0]) };
        // SAFETY: the device is live.
        let layout = unsafe { program.raw.create_pipeline_layout(&Default::default(), None) };
        let layout = layout.unwrap();
        Self { program, driver, has, targets, counters, commands, layout }
    }

    fn takes(&self, stages: Stages) -> bool {
        match stages {
            Stages::Vertex => true,
            Stages::Tessellation => self.has.tessellation_shader == vk::TRUE,
            Stages::Geometry => self.has.geometry_shader == vk::TRUE,
        }
    }

    /// # Safety
    /// The device takes the stages.
    unsafe fn pipeline(&self, shaders: &Shaders) -> vk::Pipeline {
        let modules = shaders.compiled();
        let modules: Vec<_> = modules.iter().map(|(stage, words)| (*stage, &words[..])).collect();
        let topology = match shaders.stages {
            Stages::Tessellation => vk::PrimitiveTopology::PATCH_LIST,
            Stages::Vertex | Stages::Geometry => vk::PrimitiveTopology::POINT_LIST,
        };
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(topology);
        let tessellation =
            vk::PipelineTessellationStateCreateInfo::default().patch_control_points(1);
        let info = vk::GraphicsPipelineCreateInfo::default()
            .layout(self.layout)
            .input_assembly_state(&assembly)
            .tessellation_state(&tessellation);
        unsafe { discard::of_shaders(&self.program.raw, &modules, info) }
    }

    /// Captures a draw of the pipeline while some of the buffers are bound.
    ///
    /// # Safety
    /// The pipeline is live.
    unsafe fn capture(&self, pipeline: vk::Pipeline, by: By, bound: [bool; BUFFERS]) -> Counts {
        let (raw, functions) = (&self.program.raw, self.program.xfb());
        // SAFETY: everything is of the device, and in use only until the submission is done.
        unsafe {
            for (_, mapped) in &self.targets {
                mapped.cast::<[u32; DWORDS]>().write([UNTOUCHED; DWORDS]);
            }
            let pool = query_pool(raw, vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT, STREAMS);
            self.program.submit(WRITES, |cmd| {
                raw.cmd_reset_query_pool(cmd, pool, 0, STREAMS);
                raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
                for (number, (target, _)) in (0..).zip(&self.targets) {
                    if bound[number as usize] {
                        let bind = functions.cmd_bind_transform_feedback_buffers_ext;
                        // Both are the rest of the buffer.
                        let sizes = [std::ptr::from_ref(&vk::WHOLE_SIZE), std::ptr::null()];
                        bind(cmd, number, 1, target, &0, sizes[number as usize % 2]);
                    }
                }
                attachment::begin_rendering(raw, cmd);
                let begin = functions.cmd_begin_transform_feedback_ext;
                begin(cmd, 0, 0, std::ptr::null(), std::ptr::null());
                for stream in 0..STREAMS {
                    let begin = functions.cmd_begin_query_indexed_ext;
                    begin(cmd, pool, stream, vk::QueryControlFlags::empty(), stream);
                }
                match by {
                    By::Vertices => raw.cmd_draw(cmd, PRIMITIVES, 1, 0, 0),
                    By::Indirect => raw.cmd_draw_indirect(cmd, self.commands, 0, 1, 16),
                }
                for stream in 0..STREAMS {
                    (functions.cmd_end_query_indexed_ext)(cmd, pool, stream, stream);
                }
                // A counter of a buffer that is not bound may crash lavapipe.
                let counters =
                    bound.map(|is_bound| if is_bound { self.counters } else { vk::Buffer::null() });
                let end = functions.cmd_end_transform_feedback_ext;
                end(cmd, 0, BUFFERS as u32, counters.as_ptr(), [0, 4].as_ptr());
                raw.cmd_end_rendering(cmd);
            });
            let mut queries = [[0; 2]; STREAMS as usize];
            let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
            raw.get_query_pool_results(pool, 0, &mut queries, flags).unwrap();
            raw.destroy_query_pool(pool, None);
            let changed = |(_, mapped): (vk::Buffer, *mut u32)| {
                let dwords = mapped.cast::<[u32; DWORDS]>().read();
                dwords.iter().filter(|dword| **dword != UNTOUCHED).count()
            };
            Counts { queries, dwords: self.targets.map(changed) }
        }
    }
}

#[test]
fn what_is_not_bound_is_needed_and_not_written() {
    if !program::has(&[]) {
        return;
    }
    let machine = Machine::open();
    let mut wrong = Vec::new();
    for shaders in Shaders::all() {
        if !machine.takes(shaders.stages) {
            skip(Why::Expected(format!("the device lacks {:?}, or its streams", shaders.stages)));
            continue;
        }
        // SAFETY: the device takes the stages, and nothing is in flight.
        unsafe {
            let pipeline = machine.pipeline(&shaders);
            for by in [By::Vertices, By::Indirect] {
                for bound in [[false; 2], [true, false], [false, true], [true; 2]] {
                    if let Some(reason) = shaders.fault(&machine.driver, bound) {
                        eprintln!("not compared: {reason}");
                        continue;
                    }
                    let (expected, found) =
                        (shaders.expected(bound), machine.capture(pipeline, by, bound));
                    if found != expected {
                        wrong.push(format!(
                            "{shaders:?} by {by:?}, bound {bound:?}: {found:?}, not {expected:?}"
                        ));
                    }
                }
            }
            machine.program.raw.destroy_pipeline(pipeline, None);
        }
    }
    // SAFETY: nothing is in flight.
    unsafe { machine.program.raw.destroy_pipeline_layout(machine.layout, None) };
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_not_bound_is_needed_and_not_written_on_the_layer() {
    layer::run_on_it(what_is_not_bound_is_needed_and_not_written, &[]);
}

#[test]
fn what_is_not_bound_is_needed_and_not_written_by_descriptors_on_the_layer() {
    let test = what_is_not_bound_is_needed_and_not_written;
    layer::run_on_it(test, &[("VKXFB_DESCRIPTORS", "1")]);
}
