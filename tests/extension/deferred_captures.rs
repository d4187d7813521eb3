//! Captures in passes of their own, with other commands and barriers between them, natively and with the Vulkan layer.
//! Where a barrier is for captures alone, the layer records captures of several passes together, after the last of
//! them, and drops the passes that do nothing else.

use ash::vk;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use vk::{AccessFlags as Access, PipelineStageFlags as Stage};

use super::program::{self, Program};
use crate::common;
use crate::common::attachment::{self, Pass};
use crate::common::commands::query_pool;
use crate::common::{discard, layer};

/// Captures the sum of an attribute, a push constant and, if `READS` is 1, a dword of the other area.
const CAPTURES: &str = "#version 450
    layout(location = 0) in uint value;
    #if READS
    layout(set = 0, binding = 1) readonly buffer Captured { uint words[]; };
    #endif
    layout(push_constant) uniform Constants { uint added; };
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = value + added;
        #if READS
        captured += words[gl_VertexIndex];
        #endif
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

/// Overwrites the vertices.
const OVERWRITES: &str = "#version 450
    layout(local_size_x = 64) in;
    layout(set = 0, binding = 0) buffer Vertices { uint vertices[]; };
    layout(push_constant) uniform Constants { layout(offset = 4) uint first; };
    void main() {
        vertices[gl_LocalInvocationIndex] = first + gl_LocalInvocationIndex;
    }";

const VERTICES: usize = 64;
/// The number of dwords that can be captured to each of two areas, which are aligned as any device may ask. A draw that
/// takes its count from a counter draws at most as many vertices.
const SIZE: usize = 64;
const COUNTERS: usize = 2;
/// The most steps of a program.
const STEPS: usize = 12;
/// The first of the values with which a dispatch overwrites the vertices.
const OVERWRITTEN: u32 = 1000;

#[derive(Debug, Clone)]
enum Step {
    Pass(Kind, Vec<InPass>),
    /// Fills some of the captured dwords.
    FillTarget(usize, u32),
    /// Fills the vertices.
    FillVertices(u32),
    /// A dispatch overwrites the vertices. Nothing else binds its pipeline.
    Overwrite,
    /// Sets an event, and waits for it.
    Event,
    /// Copies the result of the query that ended last.
    CopyQuery,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rendering,
    RenderPass,
}

#[derive(Debug, Clone)]
enum InPass {
    Capture(Capture),
    /// A draw that is not captured.
    Draw,
}

#[derive(Debug, Clone)]
struct Capture {
    counter: usize,
    /// Whether the capture goes on where the last one with this counter ended.
    resumes: bool,
    /// The area that is captured to.
    area: usize,
    /// Whether the shader reads the other area.
    reads: bool,
    /// The dword of the area at which the captured range begins.
    at: usize,
    first: usize,
    count: usize,
    added: u32,
    /// Whether a query counts the capture.
    is_counted: bool,
    /// Whether the draw takes its count from the counter, in vertices of 4 bytes.
    by_bytes: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = (0..COUNTERS, prop::bool::weighted(0.6), 0..3_usize, 0..2_usize);
    let draw = (0..VERTICES - 6, 0..6_usize, 1..5_u32, prop::bool::weighted(0.1));
    let other = (prop::bool::weighted(0.2), prop::bool::weighted(0.2));
    let capture = (place, draw, other).prop_map(|(place, draw, (is_counted, reads))| {
        let (counter, resumes, range, area) = place;
        let (first, count, added, by_bytes) = draw;
        // Often the range of an earlier capture.
        let at = 8 * range;
        let added = 100 * added;
        Capture { counter, resumes, area, reads, at, first, count, added, is_counted, by_bytes }
    });
    let in_pass = prop_oneof![
        9 => capture.prop_map(InPass::Capture),
        1 => Just(InPass::Draw),
    ];
    // In a pass no barrier orders captures, so there is one at most.
    let pass = prop_oneof![
        8 => in_pass.clone().prop_map(|one| vec![one]),
        1 => Just(Vec::new()),
        1 => in_pass.prop_map(|one| vec![InPass::Draw, one, InPass::Draw]),
    ];
    let kind = prop_oneof![3 => Just(Kind::Rendering), 1 => Just(Kind::RenderPass)];
    let step = prop_oneof![
        12 => (kind, pass).prop_map(|(kind, pass)| Step::Pass(kind, pass)),
        1 => (0..2 * SIZE, 1..9_u32).prop_map(|(at, value)| Step::FillTarget(at, value)),
        1 => (1..9_u32).prop_map(Step::FillVertices),
        2 => Just(Step::Overwrite),
        1 => Just(Step::Event),
        1 => Just(Step::CopyQuery),
    ];
    // Whether a step goes on where the captures of the step before ended, if both have captures.
    let steps = prop::collection::vec((step, prop::bool::ANY), 2..=STEPS);
    steps.prop_map(|mut steps: Vec<(Step, bool)>| {
        for number in 1..steps.len() {
            let (before, behind) = steps.split_at_mut(number);
            if let ((step, true), Some((last, _))) = (&mut behind[0], before.last()) {
                step.go_on(last);
            }
        }
        steps.into_iter().map(|(step, _)| step).collect()
    })
}

/// What a program computes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Outcome {
    target: Vec<u32>,
    counters: Vec<u32>,
    /// The number of primitives written and needed, for each query that was used.
    queries: Vec<[u32; 2]>,
    /// The results that were copied. 0 for queries that were not copied.
    copied: Vec<[u32; 2]>,
}

/// Computes what the specification says.
fn expected(steps: &[Step]) -> Outcome {
    let mut vertices: Vec<u32> = (0..VERTICES as u32).collect();
    let mut outcome = Outcome {
        target: vec![u32::MAX; 2 * SIZE],
        counters: vec![0; COUNTERS],
        queries: Vec::new(),
        copied: vec![[0; 2]; STEPS],
    };
    for step in steps {
        match step {
            Step::FillTarget(at, value) => outcome.target[*at..].fill(*value),
            Step::FillVertices(value) => vertices.fill(*value),
            Step::Overwrite => {
                vertices = (0..VERTICES as u32).map(|number| OVERWRITTEN + number).collect();
            }
            Step::Event => {}
            Step::CopyQuery => {
                if let Some(last) = outcome.queries.len().checked_sub(1) {
                    outcome.copied[last] = outcome.queries[last];
                }
            }
            Step::Pass(_, in_pass) => {
                for capture in in_pass.iter().filter_map(InPass::capture) {
                    let counter = outcome.counters[capture.counter] as usize / 4;
                    let mut end = if capture.resumes { counter } else { 0 };
                    let (first, count) = capture.drawn(counter);
                    let room = SIZE - capture.at;
                    let written = count.min(room.saturating_sub(end));
                    for (vertex, value) in (first..).zip(&vertices[first..first + written]) {
                        let mut value = value + capture.added;
                        if capture.reads {
                            value = value.wrapping_add(outcome.target[capture.read() + vertex]);
                        }
                        outcome.target[SIZE * capture.area + capture.at + end] = value;
                        end += 1;
                    }
                    outcome.counters[capture.counter] = 4 * end as u32;
                    if capture.is_counted {
                        outcome.queries.push([written as u32, count as u32]);
                    }
                }
            }
        }
    }
    outcome
}

impl Step {
    /// Makes the captures of this step go on where those of another step ended.
    fn go_on(&mut self, last: &Self) {
        let (Self::Pass(kind, all), Self::Pass(last_kind, last)) = (self, last) else { return };
        let Some(last) = last.iter().find_map(InPass::capture) else { return };
        *kind = *last_kind;
        for one in all {
            if let InPass::Capture(capture) = one {
                let Capture { counter, area, reads, at, .. } = *last;
                *capture = Capture { counter, area, reads, at, resumes: true, ..capture.clone() };
            }
        }
    }

    /// Makes all draws have a count of their own.
    fn count_no_bytes(&mut self) {
        let Self::Pass(_, in_pass) = self else { return };
        for one in in_pass {
            if let InPass::Capture(capture) = one {
                capture.by_bytes = false;
            }
        }
    }
}

impl InPass {
    const fn capture(&self) -> Option<&Capture> {
        match self {
            Self::Capture(capture) => Some(capture),
            Self::Draw => None,
        }
    }
}

impl Capture {
    /// Returns the first dword of the area that the shader may read.
    const fn read(&self) -> usize {
        SIZE * (1 - self.area)
    }

    /// Returns the first vertex and the number of vertices, given how many vertices the counter counts.
    fn drawn(&self, counter: usize) -> (usize, usize) {
        if self.by_bytes { (0, counter) } else { (self.first, self.count) }
    }
}

/// What was written, and not yet made visible by a barrier.
#[derive(Default)]
struct Unseen {
    /// Whether vertices were written since a barrier for vertex input.
    by_vertex_input: bool,
    /// Whether vertices were written since a barrier for dispatches.
    by_dispatches: bool,
    /// Whether captured dwords were written since a barrier for vertex shaders.
    by_shaders: bool,
}

impl Unseen {
    /// Returns the stages and accesses that must wait before a step. They are as few as the specification allows, so
    /// that captures can stay deferred.
    fn waiting(&mut self, step: &Step) -> (Stage, Access) {
        let captures = Access::TRANSFORM_FEEDBACK_WRITE_EXT
            | Access::TRANSFORM_FEEDBACK_COUNTER_READ_EXT
            | Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT;
        let transfers = Access::TRANSFER_READ | Access::TRANSFER_WRITE;
        match step {
            Step::Pass(_, in_pass) => {
                let mut waiting = (Stage::TRANSFORM_FEEDBACK_EXT | Stage::DRAW_INDIRECT, captures);
                if std::mem::take(&mut self.by_vertex_input) {
                    waiting.0 |= Stage::VERTEX_INPUT;
                    waiting.1 |= Access::VERTEX_ATTRIBUTE_READ;
                }
                let captures = || in_pass.iter().filter_map(InPass::capture);
                if captures().any(|capture| capture.by_bytes) {
                    waiting.1 |= Access::INDIRECT_COMMAND_READ;
                }
                if captures().any(|capture| capture.reads) && self.by_shaders {
                    self.by_shaders = false;
                    waiting.0 |= Stage::VERTEX_SHADER;
                    waiting.1 |= Access::SHADER_READ;
                }
                self.by_shaders |= captures().next().is_some();
                waiting
            }
            Step::Overwrite => {
                self.by_vertex_input = true;
                if std::mem::take(&mut self.by_dispatches) {
                    (Stage::COMPUTE_SHADER, Access::SHADER_WRITE)
                } else {
                    // The dispatch only has to wait until captures have read the vertices. In a second scope
                    // `DRAW_INDIRECT` includes the later stage of compute shaders.
                    (Stage::DRAW_INDIRECT, Access::TRANSFORM_FEEDBACK_COUNTER_READ_EXT)
                }
            }
            Step::FillVertices(_) => {
                (self.by_vertex_input, self.by_dispatches) = (true, true);
                (Stage::TRANSFER, transfers)
            }
            Step::FillTarget(..) => {
                self.by_shaders = true;
                (Stage::TRANSFER, transfers)
            }
            Step::CopyQuery => (Stage::TRANSFER, transfers),
            Step::Event => (Stage::ALL_COMMANDS, Access::empty()),
        }
    }
}

/// Runs a program. `is_indirect` is whether the buffer of the counters has indirect usage.
fn run(device: &mut Program, steps: &[Step], is_indirect: bool) -> Outcome {
    use vk::BufferUsageFlags as Usage;
    let usage = Usage::TRANSFORM_FEEDBACK_BUFFER_EXT | Usage::STORAGE_BUFFER | Usage::TRANSFER_DST;
    let (target, captured) = device.buffer(2 * SIZE, usage);
    let usage = if is_indirect { Usage::INDIRECT_BUFFER } else { Usage::empty() };
    let usage = usage | Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT;
    let (counters, counted) = device.buffer(COUNTERS, usage);
    let usage = Usage::VERTEX_BUFFER | Usage::STORAGE_BUFFER | Usage::TRANSFER_DST;
    let (vertices, initial) = device.buffer(VERTICES, usage);
    let (copied, copies) = device.buffer(2 * STEPS, Usage::TRANSFER_DST);
    let (raw, functions) = (&device.raw, device.xfb());
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        std::slice::from_raw_parts_mut(captured, 2 * SIZE).fill(u32::MAX);
        std::slice::from_raw_parts_mut(counted, COUNTERS).fill(0);
        std::slice::from_raw_parts_mut(copies, 2 * STEPS).fill(0);
        for (number, vertex) in (0..VERTICES).zip(0..) {
            initial.add(number).write(vertex);
        }
        let storage = vk::DescriptorType::STORAGE_BUFFER;
        let (vertex, dispatch) = (vk::ShaderStageFlags::VERTEX, vk::ShaderStageFlags::COMPUTE);
        let set_layouts = [device.set_layout(&[(0, storage, dispatch), (1, storage, vertex)])];
        let range = |stages, offset| {
            vk::PushConstantRange::default().stage_flags(stages).offset(offset).size(4)
        };
        let ranges = [range(vertex, 0), range(dispatch, 4)];
        let info = vk::PipelineLayoutCreateInfo::default()
            .set_layouts(&set_layouts)
            .push_constant_ranges(&ranges);
        let layout = raw.create_pipeline_layout(&info, None).unwrap();
        let pass = Pass::empty(raw, &[]);
        // By the kind of the pass, and by whether the shader reads the other area.
        let pipelines = [vk::RenderPass::null(), pass.raw].map(|pass| {
            ["0", "1"]
                .map(|reads| device.pipeline_in(pass, &CAPTURES.replace("READS", reads), layout))
        });
        let words = common::compile_stage("comp", OVERWRITES, &[]);
        let info = vk::ComputePipelineCreateInfo::default().layout(layout);
        let dispatched = discard::compute(raw, &words, info);
        // By the area that is captured to.
        let (sets, of_areas) = device.descriptor_sets([set_layouts[0]; 2], &[(storage, 4)]);
        for (area, set) in of_areas.into_iter().enumerate() {
            let other = 4 * (SIZE * (1 - area)) as u64;
            device.write_set((set, 0, storage), (vertices, 0, 4 * VERTICES as u64));
            device.write_set((set, 1, storage), (target, other, 4 * SIZE as u64));
        }
        let pool = query_pool(raw, vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT, STEPS as u32);
        let event = raw.create_event(&Default::default(), None).unwrap();

        let mut queries = 0_u32;
        let capture = |cmd, capture: &Capture, queries: &mut u32| {
            if capture.is_counted {
                raw.cmd_begin_query(cmd, pool, *queries, vk::QueryControlFlags::empty());
            }
            let at = 4 * (SIZE * capture.area + capture.at) as u64;
            let size = 4 * (SIZE - capture.at) as u64;
            functions.bind_target(cmd, target, at, size);
            let place = 4 * capture.counter as u64;
            let resumed = u32::from(capture.resumes);
            let begin = functions.cmd_begin_transform_feedback_ext;
            begin(cmd, 0, resumed, &raw const counters, &raw const place);
            if capture.by_bytes {
                let draw = functions.cmd_draw_indirect_byte_count_ext;
                draw(cmd, 1, 0, counters, place, 0, 4);
            } else {
                raw.cmd_draw(cmd, capture.count as u32, 1, capture.first as u32, 0)
            }
            let end = functions.cmd_end_transform_feedback_ext;
            end(cmd, 0, 1, &raw const counters, &raw const place);
            if capture.is_counted {
                raw.cmd_end_query(cmd, pool, *queries);
                *queries += 1;
            }
        };
        device.submit((Stage::ALL_COMMANDS, Access::MEMORY_WRITE), |cmd| {
            let (graphics, compute) =
                (vk::PipelineBindPoint::GRAPHICS, vk::PipelineBindPoint::COMPUTE);
            raw.cmd_reset_query_pool(cmd, pool, 0, STEPS as u32);
            raw.cmd_bind_pipeline(cmd, compute, dispatched);
            for point in [graphics, compute] {
                raw.cmd_bind_descriptor_sets(cmd, point, layout, 0, &of_areas[..1], &[]);
            }
            raw.cmd_push_constants(cmd, layout, dispatch, 4, &OVERWRITTEN.to_ne_bytes());
            raw.cmd_bind_vertex_buffers(cmd, 0, &[vertices], &[0]);
            let mut unseen = Unseen::default();
            for step in steps {
                let (stages, accesses) = unseen.waiting(step);
                let written = (Stage::ALL_COMMANDS, Access::MEMORY_WRITE);
                device.barrier(cmd, written, (stages, accesses));
                match step {
                    Step::FillTarget(at, value) => {
                        raw.cmd_fill_buffer(cmd, target, 4 * *at as u64, vk::WHOLE_SIZE, *value);
                    }
                    Step::FillVertices(value) => {
                        raw.cmd_fill_buffer(cmd, vertices, 0, vk::WHOLE_SIZE, *value);
                    }
                    Step::Overwrite => raw.cmd_dispatch(cmd, 1, 1, 1),
                    Step::Event => {
                        raw.cmd_reset_event(cmd, event, Stage::ALL_COMMANDS);
                        let (all, none) = (Stage::ALL_COMMANDS, vk::DependencyFlags::empty());
                        raw.cmd_pipeline_barrier(cmd, all, all, none, &[], &[], &[]);
                        raw.cmd_set_event(cmd, event, Stage::ALL_COMMANDS);
                        raw.cmd_wait_events(cmd, &[event], all, all, &[], &[], &[]);
                    }
                    Step::CopyQuery => {
                        if let Some(last) = queries.checked_sub(1) {
                            let (at, flags) = (8 * u64::from(last), vk::QueryResultFlags::WAIT);
                            raw.cmd_copy_query_pool_results(
                                cmd, pool, last, 1, copied, at, 8, flags,
                            );
                        }
                    }
                    Step::Pass(kind, in_pass) => {
                        // Everything is set outside of the pass.
                        let mut reads = false;
                        for capture in in_pass.iter().filter_map(InPass::capture) {
                            let (set, added) = (of_areas[capture.area], capture.added);
                            raw.cmd_bind_descriptor_sets(cmd, graphics, layout, 0, &[set], &[]);
                            raw.cmd_push_constants(cmd, layout, vertex, 0, &added.to_ne_bytes());
                            reads |= capture.reads;
                        }
                        let pipeline = pipelines[*kind as usize][usize::from(reads)];
                        raw.cmd_bind_pipeline(cmd, graphics, pipeline);
                        let area = attachment::area(1);
                        match kind {
                            Kind::Rendering => {
                                let info =
                                    vk::RenderingInfo::default().render_area(area).layer_count(1);
                                raw.cmd_begin_rendering(cmd, &info);
                            }
                            Kind::RenderPass => {
                                let info = pass.begin_info(&[]);
                                let contents = vk::SubpassContents::INLINE;
                                raw.cmd_begin_render_pass(cmd, &info, contents);
                            }
                        }
                        for one in in_pass {
                            match one {
                                InPass::Capture(one) => capture(cmd, one, &mut queries),
                                InPass::Draw => raw.cmd_draw(cmd, 1, 1, 0, 0),
                            }
                        }
                        match kind {
                            Kind::Rendering => raw.cmd_end_rendering(cmd),
                            Kind::RenderPass => raw.cmd_end_render_pass(cmd),
                        }
                    }
                }
            }
        });
        let mut results = vec![[0_u32; 2]; queries as usize];
        if queries > 0 {
            let flags = vk::QueryResultFlags::WAIT;
            raw.get_query_pool_results(pool, 0, &mut results, flags).unwrap();
        }
        let copied = std::slice::from_raw_parts(copies.cast::<[u32; 2]>(), STEPS).to_vec();
        raw.destroy_event(event, None);
        raw.destroy_query_pool(pool, None);
        raw.destroy_descriptor_pool(sets, None);
        pipelines.into_iter().flatten().for_each(|one| raw.destroy_pipeline(one, None));
        raw.destroy_pipeline(dispatched, None);
        pass.destroy(raw);
        raw.destroy_pipeline_layout(layout, None);
        raw.destroy_descriptor_set_layout(set_layouts[0], None);
        Outcome {
            target: std::slice::from_raw_parts(captured, 2 * SIZE).to_vec(),
            counters: std::slice::from_raw_parts(counted, COUNTERS).to_vec(),
            queries: results,
            copied,
        }
    }
}

#[test]
fn captures_of_several_passes_are_those_of_each() {
    if !program::has(&[]) {
        return;
    }
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[1; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let count = common::settings::cases("VKXFB_DEFERRED", 60) / 2;
    // On the layer, captures come after their pass, or before it if a buffer has indirect usage.
    for is_indirect in [false, true] {
        let mut device = Program::open();
        for number in 0..count {
            let mut steps = steps().new_tree(&mut runner).unwrap().current();
            if !is_indirect {
                steps.iter_mut().for_each(Step::count_no_bytes);
            }
            let found = run(&mut device, &steps, is_indirect);
            assert_eq!(found, expected(&steps), "program {number}, {is_indirect}: {steps:#?}");
        }
    }
}

#[test]
fn captures_of_several_passes_are_those_of_each_on_the_layer() {
    let test = captures_of_several_passes_are_those_of_each;
    // The second time, passes are long with their first draw that is not captured.
    for long in ["256", "2"] {
        let variables = [("VKXFB_LOG", "vkxfb_layer=trace"), ("VKXFB_LONG_PASS", long)];
        let Some(said) = layer::run_on_it(test, &variables) else { return };
        for what in ["is_dropped=true", "is_dropped=false", "together with the one before"] {
            assert!(said.contains(what), "no {what}: {said}");
        }
    }
    layer::run_below_validation(test, &[("VKXFB_DEFERRED", "20")]);
}
