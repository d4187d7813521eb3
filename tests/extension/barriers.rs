//! If any barrier that the Vulkan layer translates or records itself is left out, synchronization
//! validation below the layer must report the race. It does not compare submissions, so semaphores
//! are tested by the unit tests of the layer.
//!
//! These tests use descriptors, because synchronization validation does not see accesses by device
//! address.

use ash::vk::{AccessFlags as Access, PipelineStageFlags as Stage};
use ash::{ext, vk};

use super::program::CaptureCommands;
use crate::common::attachment::Pass;
use crate::common::bare::{BareDevice, BareInstance, HostBuffer};
use crate::common::settings::has_validation;
use crate::common::skip::{Why, skip};
use crate::common::{self, discard};

/// The size in bytes of the captured data, and of the data that captures read.
const SIZE: u64 = 256;
const VERTICES: u32 = 16;
/// The size in bytes of a record.
const RECORD: u64 = SIZE / VERTICES as u64;

const SHADER: &str = "#version 450
    layout(location = 0) in vec4 value;
    layout(xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0, location = 0) out vec4 captured;
    void main() {
        captured = value;
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

/// A dependency: the scope that is waited for, and the scope that waits.
type Dependency = [(Stage, Access); 2];

const COPY_TO_VERTICES: Dependency = [
    (Stage::TRANSFER, Access::TRANSFER_WRITE),
    (Stage::VERTEX_INPUT, Access::VERTEX_ATTRIBUTE_READ),
];
const CAPTURE_TO_COPY: Dependency = [
    (Stage::TRANSFORM_FEEDBACK_EXT, Access::TRANSFORM_FEEDBACK_WRITE_EXT),
    (Stage::TRANSFER, Access::TRANSFER_READ),
];
const CAPTURE_TO_VERTICES: Dependency = [
    (Stage::TRANSFORM_FEEDBACK_EXT, Access::TRANSFORM_FEEDBACK_WRITE_EXT),
    (Stage::VERTEX_INPUT, Access::VERTEX_ATTRIBUTE_READ),
];

/// A sequence of commands that is recorded and submitted separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sequence {
    /// A copy, a barrier, and a capture that reads the copied data.
    BarrierBefore,
    /// A capture, a barrier, and a copy of the captured data.
    BarrierBehind,
    /// As [`BarrierBefore`](Self::BarrierBefore), with an event instead of the barrier.
    EventBefore,
    EventBehind,
    /// As [`EventBefore`](Self::EventBefore), with a wait in the pass.
    EventInPass,
    /// As [`EventInPass`](Self::EventInPass), with the wait and the capture in a secondary command buffer.
    EventInSecondary,
    /// As [`BarrierBefore`](Self::BarrierBefore), with an external dependency of the render pass.
    RenderPassBefore,
    RenderPassBehind,
    /// Two captures in a pass. The second reads what the first captured.
    Captures,
    /// A capture, and a draw that reads the captured data, in a pass.
    Draw,
}

impl Sequence {
    const ALL: [Self; 10] = [
        Self::BarrierBefore,
        Self::BarrierBehind,
        Self::EventBefore,
        Self::EventBehind,
        Self::EventInPass,
        Self::EventInSecondary,
        Self::RenderPassBefore,
        Self::RenderPassBehind,
        Self::Captures,
        Self::Draw,
    ];

    /// Returns the subpass dependencies of the render pass.
    fn dependencies(self) -> Vec<vk::SubpassDependency> {
        let external = vk::SUBPASS_EXTERNAL;
        let (src, dst, [source, destination]) = match self {
            Self::RenderPassBefore => (external, 0, COPY_TO_VERTICES),
            Self::RenderPassBehind => (0, external, CAPTURE_TO_COPY),
            Self::Captures | Self::Draw => (0, 0, CAPTURE_TO_VERTICES),
            _ => return Vec::new(),
        };
        vec![
            vk::SubpassDependency::default()
                .src_subpass(src)
                .dst_subpass(dst)
                .src_stage_mask(source.0)
                .src_access_mask(source.1)
                .dst_stage_mask(destination.0)
                .dst_access_mask(destination.1),
        ]
    }
}

/// The layer's names for the barriers that can be left out, and the sequences in which the omission
/// must be reported.
const OMISSIONS: [(&str, &[Sequence]); 7] = [
    ("PipelineBarrier", &[Sequence::BarrierBefore, Sequence::BarrierBehind]),
    (
        "Event",
        &[
            Sequence::EventBefore,
            Sequence::EventBehind,
            Sequence::EventInPass,
            Sequence::EventInSecondary,
        ],
    ),
    ("RenderPass", &[Sequence::RenderPassBefore, Sequence::RenderPassBehind, Sequence::Draw]),
    ("BeforeCaptures", &[Sequence::RenderPassBefore]),
    ("BetweenCaptures", &[Sequence::Captures]),
    ("AfterCaptures", &[Sequence::Draw]),
    ("AfterPass", &[Sequence::RenderPassBehind]),
];

/// The start of a line that names the sequences for which races were reported.
const REPORT: &str = "races: ";

/// Runs every sequence with the layer, and prints those for which synchronization validation
/// reports a race.
#[test]
fn sequences_are_synchronized() {
    if !common::layer::is_there() {
        return run(None);
    }
    // If there is a buffer with indirect usage, captures are recorded before their pass. Otherwise most
    // come after it.
    use vk::BufferUsageFlags as Usage;
    for usage in [Usage::empty(), Usage::INDIRECT_BUFFER] {
        let machine = Machine::open(usage);
        for sequence in Sequence::ALL {
            machine.run(sequence);
            let messages = machine.device.take_messages();
            let all = messages.iter().all(|message| message.contains("SYNC-HAZARD"));
            assert!(all, "{messages:#?}");
            if !messages.is_empty() {
                eprintln!("{REPORT}{sequence:?}");
            }
        }
        machine.close();
    }
}

/// A text in the layer's log. Its line contains the number of captures of a pass, and the number of
/// their barriers.
const LOGGED: &str = "captures are recorded after their pass";

/// The number of captures of a pass without dependencies. Each has its own query, counter and part
/// of a buffer.
const FRAME: u32 = 16;

/// Captures a frame, with a buffer beside it whose memory other buffers may share if `has_aliases`.
fn capture_frame(has_aliases: bool) {
    let machine = Machine::open(vk::BufferUsageFlags::empty());
    let info = vk::QueryPoolCreateInfo::default()
        .query_type(vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT)
        .query_count(FRAME);
    let (device, flags) = (&machine.device.raw, vk::QueryControlFlags::empty());
    let mut external = vk::ExternalMemoryBufferCreateInfo::default();
    if has_aliases {
        external.handle_types = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;
    }
    let shared = vk::BufferCreateInfo::default()
        .size(SIZE)
        .usage(vk::BufferUsageFlags::TRANSFER_SRC)
        .push_next(&mut external);
    // SAFETY: the device is live.
    let (pool, shared) = unsafe {
        let pool = device.create_query_pool(&info, None).unwrap();
        (pool, device.create_buffer(&shared, None).unwrap())
    };
    let counted = |cmd| {
        for number in 0..FRAME {
            let at = u64::from(number);
            // SAFETY: a pass is being recorded, in which the pipeline is bound.
            unsafe {
                device.cmd_begin_query(cmd, pool, number, flags);
                machine.capture_part(cmd, at * SIZE / u64::from(FRAME), at * 4);
                device.cmd_end_query(cmd, pool, number);
            }
        }
    };
    // SAFETY: the command buffer is being recorded, outside of a pass.
    let reset = |cmd| unsafe { device.cmd_reset_query_pool(cmd, pool, 0, FRAME) };
    machine.run_in_pass(&[], reset, counted);
    let mut found = [[0_u64; 2]; FRAME as usize];
    let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
    // SAFETY: the submission has ended.
    unsafe { device.get_query_pool_results(pool, 0, &mut found, flags) }.unwrap();
    assert_eq!(found, [[1, 1]; FRAME as usize]);
    // SAFETY: as above.
    unsafe {
        device.destroy_query_pool(pool, None);
        device.destroy_buffer(shared, None);
    }
    let messages = machine.device.take_messages();
    assert!(messages.is_empty(), "{messages:#?}");
    machine.close();
}

/// Runs a test that calls [`capture_frame`] on the layer. Returns the line of its log that has [`LOGGED`].
fn logged_of_frame<F: Fn()>(test: F) -> Option<String> {
    let variables = [("VKXFB_LOG", "vkxfb_layer::emulation=trace,vkxfb_layer::device=info")];
    let said = common::layer::run_on_it(test, &variables)?;
    let logged: Vec<&str> = said.lines().filter(|line| line.contains(LOGGED)).collect();
    assert_eq!(logged.len(), 1, "{said}");
    Some(logged[0].to_owned())
}

#[test]
fn captures_of_a_frame_are_apart() {
    if common::layer::is_there() {
        return capture_frame(false);
    }
    let Some(logged) = logged_of_frame(captures_of_a_frame_are_apart) else { return };
    // The captures are recorded together. The queries end together after them, between two barriers.
    assert!(logged.contains("captures=2 barriers=3"), "{logged}");
}

/// Memory with several addresses looks like several memories.
#[test]
fn captures_of_a_frame_wait_where_buffers_may_alias() {
    if common::layer::is_there() {
        return capture_frame(true);
    }
    let test = captures_of_a_frame_wait_where_buffers_may_alias;
    let Some(logged) = logged_of_frame(test) else { return };
    assert!(logged.contains("captures=17"), "{logged}");
}

#[test]
fn each_barrier_that_lacks_is_reported() {
    for (name, _) in OMISSIONS {
        run(Some(name));
    }
}

/// Runs the sequences with something left out, and checks which races are reported.
fn run(omitted: Option<&str>) {
    if !has_validation() {
        return skip(Why::Expected("without the validation layer"));
    }
    let mut variables = vec![("VKXFB_DESCRIPTORS", "1")];
    variables.extend(omitted.map(|name| ("VKXFB_OMIT_TRANSLATION", name)));
    let Some(said) = common::layer::run_on_it(sequences_are_synchronized, &variables) else {
        return;
    };
    let has_switches = omitted.is_none() || said.contains("is for tests");
    assert!(has_switches, "built without the layer's switches: {said}");
    assert!(said.contains("addresses=false"), "{said}");
    let found: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix(REPORT)).collect();
    let missed = OMISSIONS.iter().find(|(name, _)| omitted == Some(*name));
    let missed = missed.map_or(&[][..], |(_, missed)| *missed);
    let missed = missed.iter().map(|sequence| format!("{sequence:?}"));
    // Whether captures come before or after their pass.
    let missed: Vec<String> = missed.clone().chain(missed).collect();
    assert_eq!(found, missed, "without {omitted:?}");
}

/// A device with a pipeline, and buffers between which sequences copy and capture.
struct Machine {
    device: BareDevice,
    xfb: CaptureCommands,
    module: vk::ShaderModule,
    layout: vk::PipelineLayout,
    event: vk::Event,
    /// The pool of secondary command buffers.
    pool: vk::CommandPool,
    buffers: [HostBuffer; 4],
}

impl Machine {
    /// Opens a machine. `usage` are usages of its buffers, in addition to those that sequences
    /// need.
    fn open(usage: vk::BufferUsageFlags) -> Self {
        let mut feedback =
            vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
        let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut feedback);
        let extensions = [ext::transform_feedback::NAME.as_ptr()];
        let device = BareInstance::open().into_device(&mut features, &extensions);
        let words = common::compile(SHADER, &["--target-env", "vulkan1.1"]);
        let info = vk::ShaderModuleCreateInfo::default().code(&words);
        let usage = usage
            | vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT
            | vk::BufferUsageFlags::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT
            | vk::BufferUsageFlags::VERTEX_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        // SAFETY: the device is live, and the words are valid.
        unsafe {
            Self {
                pool: device.command_pool(),
                xfb: CaptureCommands::new(&device),
                module: device.raw.create_shader_module(&info, None).unwrap(),
                layout: device.raw.create_pipeline_layout(&Default::default(), None).unwrap(),
                event: device.raw.create_event(&Default::default(), None).unwrap(),
                buffers: [(); 4].map(|()| device.host_buffer(SIZE, usage)),
                device,
            }
        }
    }

    fn close(self) {
        let device = &self.device.raw;
        // SAFETY: nothing is in flight.
        unsafe {
            device.destroy_shader_module(self.module, None);
            device.destroy_pipeline_layout(self.layout, None);
            device.destroy_event(self.event, None);
            device.destroy_command_pool(self.pool, None);
            self.buffers.into_iter().for_each(|buffer| self.device.destroy_buffer(buffer));
        }
    }

    fn run(&self, sequence: Sequence) {
        self.submit(&sequence.dependencies(), |cmd, pass, pipeline| {
            // SAFETY: the command buffer is being recorded.
            unsafe { self.record(cmd, sequence, pass, pipeline) };
        });
    }

    /// Submits a command buffer with a pass in which the pipeline is bound.
    fn run_in_pass(
        &self,
        dependencies: &[vk::SubpassDependency],
        record_before: impl FnOnce(vk::CommandBuffer),
        record: impl FnOnce(vk::CommandBuffer),
    ) {
        self.submit(dependencies, |cmd, pass, pipeline| {
            record_before(cmd);
            // SAFETY: the command buffer is being recorded.
            unsafe { pass.instance(&self.device.raw, cmd, &[], pipeline, || record(cmd)) };
        });
    }

    fn submit(
        &self,
        dependencies: &[vk::SubpassDependency],
        record: impl FnOnce(vk::CommandBuffer, Pass, vk::Pipeline),
    ) {
        let device = &self.device.raw;
        // SAFETY: every handle is of the device, and in use only until the submission is done.
        unsafe {
            let pass = Pass::empty(device, dependencies);
            let pipeline = self.pipeline(pass.raw);
            self.device.submit((Stage::ALL_COMMANDS, Access::MEMORY_WRITE), |cmd| {
                record(cmd, pass, pipeline);
            });
            device.destroy_pipeline(pipeline, None);
            pass.destroy(device);
        }
    }

    /// # Safety
    /// `cmd` is being recorded, and the handles are of the device.
    unsafe fn record(
        &self,
        cmd: vk::CommandBuffer,
        sequence: Sequence,
        pass: Pass,
        pipeline: vk::Pipeline,
    ) {
        let device = &self.device.raw;
        let copies_in = matches!(
            sequence,
            Sequence::BarrierBefore
                | Sequence::EventBefore
                | Sequence::EventInPass
                | Sequence::EventInSecondary
                | Sequence::RenderPassBefore
        );
        let copies_out = matches!(
            sequence,
            Sequence::BarrierBehind | Sequence::EventBehind | Sequence::RenderPassBehind
        );
        unsafe {
            if copies_in {
                self.copy(cmd, 0, 1);
            }
            match sequence {
                Sequence::BarrierBefore => self.barrier(cmd, COPY_TO_VERTICES),
                Sequence::EventBefore => self.event(cmd, COPY_TO_VERTICES),
                Sequence::EventInPass | Sequence::EventInSecondary => {
                    device.cmd_set_event(cmd, self.event, Stage::TRANSFER);
                }
                _ => {}
            }
            if sequence == Sequence::EventInSecondary {
                return self.execute(cmd, pass, pipeline);
            }
            pass.instance(device, cmd, &[], pipeline, || {
                if sequence == Sequence::EventInPass {
                    self.wait(cmd, COPY_TO_VERTICES);
                }
                self.capture(cmd, 1, 2);
                match sequence {
                    Sequence::Captures => {
                        self.barrier(cmd, CAPTURE_TO_VERTICES);
                        self.capture(cmd, 2, 3);
                    }
                    Sequence::Draw => {
                        self.barrier(cmd, CAPTURE_TO_VERTICES);
                        device.cmd_bind_vertex_buffers(cmd, 0, &[self.buffers[2].raw], &[0]);
                        device.cmd_draw(cmd, VERTICES, 1, 0, 0);
                    }
                    _ => {}
                }
            });
            match sequence {
                Sequence::BarrierBehind => self.barrier(cmd, CAPTURE_TO_COPY),
                Sequence::EventBehind => self.event(cmd, CAPTURE_TO_COPY),
                _ => {}
            }
            if copies_out {
                self.copy(cmd, 2, 3);
            }
        }
    }

    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn copy(&self, cmd: vk::CommandBuffer, from: usize, to: usize) {
        let region = vk::BufferCopy { size: SIZE, ..Default::default() };
        let (from, to) = (self.buffers[from].raw, self.buffers[to].raw);
        unsafe { self.device.raw.cmd_copy_buffer(cmd, from, to, &[region]) };
    }

    /// # Safety
    /// As [`record`](Self::record), in a pass.
    unsafe fn capture(&self, cmd: vk::CommandBuffer, from: usize, to: usize) {
        let (device, xfb) = (&self.device.raw, &self.xfb);
        let (from, to) = (self.buffers[from].raw, self.buffers[to].raw);
        unsafe {
            device.cmd_bind_vertex_buffers(cmd, 0, &[from], &[0]);
            xfb.bind_target(cmd, to, 0, SIZE);
            xfb.begin(cmd);
            device.cmd_draw(cmd, VERTICES, 1, 0, 0);
            xfb.end(cmd);
        }
    }

    /// Captures one vertex to the part of a buffer at `offset`, and writes the counter at `counter`
    /// of another buffer.
    ///
    /// # Safety
    /// As [`record`](Self::record), in a pass.
    unsafe fn capture_part(&self, cmd: vk::CommandBuffer, offset: u64, counter: u64) {
        let (device, xfb) = (&self.device.raw, &self.xfb);
        let [from, to, counters, _] = self.buffers.each_ref().map(|buffer| &buffer.raw);
        unsafe {
            device.cmd_bind_vertex_buffers(cmd, 0, &[*from], &[0]);
            xfb.bind_target(cmd, *to, offset, RECORD);
            xfb.begin(cmd);
            device.cmd_draw(cmd, 1, 1, 0, 0);
            (xfb.cmd_end_transform_feedback_ext)(cmd, 0, 1, counters, &counter);
        }
    }

    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn barrier(&self, cmd: vk::CommandBuffer, [source, destination]: Dependency) {
        unsafe { self.device.barrier(cmd, source, destination) };
    }

    /// # Safety
    /// As [`record`](Self::record), outside of a pass.
    unsafe fn event(&self, cmd: vk::CommandBuffer, dependency: Dependency) {
        unsafe {
            self.device.raw.cmd_set_event(cmd, self.event, dependency[0].0);
            self.wait(cmd, dependency);
        }
    }

    /// Waits for the event.
    ///
    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn wait(&self, cmd: vk::CommandBuffer, [source, destination]: Dependency) {
        let barrier =
            vk::MemoryBarrier::default().src_access_mask(source.1).dst_access_mask(destination.1);
        let (src, dst) = (source.0, destination.0);
        let device = &self.device.raw;
        unsafe { device.cmd_wait_events(cmd, &[self.event], src, dst, &[barrier], &[], &[]) };
    }

    /// Executes a secondary command buffer in a pass, with a wait for the event and a capture.
    ///
    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn execute(&self, cmd: vk::CommandBuffer, pass: Pass, pipeline: vk::Pipeline) {
        let device = &self.device.raw;
        unsafe {
            let level = vk::CommandBufferLevel::SECONDARY;
            let secondary = self.device.command_buffers(self.pool, level, 1)[0];
            let inherited = vk::CommandBufferInheritanceInfo::default().render_pass(pass.raw);
            let info = vk::CommandBufferBeginInfo::default()
                .flags(vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE)
                .inheritance_info(&inherited);
            device.begin_command_buffer(secondary, &info).unwrap();
            device.cmd_bind_pipeline(secondary, vk::PipelineBindPoint::GRAPHICS, pipeline);
            self.wait(secondary, COPY_TO_VERTICES);
            self.capture(secondary, 1, 2);
            device.end_command_buffer(secondary).unwrap();
            let contents = vk::SubpassContents::SECONDARY_COMMAND_BUFFERS;
            device.cmd_begin_render_pass(cmd, &pass.begin_info(&[]), contents);
            device.cmd_execute_commands(cmd, &[secondary]);
            device.cmd_end_render_pass(cmd);
        }
    }

    /// Creates a pipeline that captures points, with rasterizer discard.
    ///
    /// # Safety
    /// The render pass is of the device.
    unsafe fn pipeline(&self, render_pass: vk::RenderPass) -> vk::Pipeline {
        let bindings = [vk::VertexInputBindingDescription { stride: 16, ..Default::default() }];
        let attributes = [vk::VertexInputAttributeDescription {
            format: vk::Format::R32G32B32A32_SFLOAT,
            ..Default::default()
        }];
        let vertex_input = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&bindings)
            .vertex_attribute_descriptions(&attributes);
        let stages = [vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::VERTEX)
            .module(self.module)
            .name(c"main")];
        let info = vk::GraphicsPipelineCreateInfo::default()
            .stages(&stages)
            .vertex_input_state(&vertex_input)
            .layout(self.layout)
            .render_pass(render_pass);
        unsafe { discard::create(&self.device.raw, vk::PipelineCache::null(), info) }.unwrap()
    }
}
