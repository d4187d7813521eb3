//! Devices with and without the layer, and the commands that the benchmark records on them.

use std::ffi::CStr;
use std::path::PathBuf;

use ash::{Device, Entry, Instance, ext, vk};
use serde_json::{Value, json};
use tempfile::TempDir;
use vkxfb::runtime::{Capabilities, required_features};
use vkxfb_rewriter::lower::Backend;

use super::shader;

const LAYER: &CStr = c"VK_LAYER_VKXFB_transform_feedback";
const FORWARDING: &CStr = c"VK_LAYER_VKXFB_forwarding";
/// The number of vertices of a draw that is not captured.
const VERTICES: u32 = 3;

/// What is set and bound before each draw of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binds {
    Nothing,
    /// Push constants and a vertex buffer.
    Vertices,
    /// A pipeline and a descriptor set with a dynamic offset.
    Pipeline,
}

/// A frame of captures. Each captures one draw, and writes a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// All captures are in one pass. Each captures 3 vertices into its own range of the buffer,
    /// with its own counter.
    Separate,
    /// Each capture is in its own pass, and resumes from the counter of the previous one, with 300
    /// vertices. Programs that translate OpenGL record captures in this way.
    Resumed,
}

impl Frame {
    const ALL: [Self; 2] = [Self::Separate, Self::Resumed];

    const fn vertices(self) -> u32 {
        match self {
            Self::Separate => 3,
            Self::Resumed => 300,
        }
    }

    /// Returns the size in bytes of the data that one capture writes.
    fn captured(self) -> u64 {
        u64::from(self.vertices() * shader::VERTEX)
    }
}

/// The way in which a device is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setup {
    /// Without the layer.
    Native,
    /// Without the layer, but with the features that the layer enables for captures. They may make a driver slower.
    Prepared,
    /// Like `Prepared`, on a layer that only copies the state and forwards the commands.
    Forwarding,
    /// On the layer, without the feature `transformFeedback`.
    WithoutFeature,
    /// On the layer, with the feature.
    WithFeature,
    /// Like `WithFeature`, with a buffer that has the usage `INDIRECT_BUFFER`. So the layer
    /// withholds passes, because a draw may take its vertex count from a counter that the pass
    /// writes.
    Withheld,
}

impl Setup {
    pub const ALL: [Self; 6] = [
        Self::Native,
        Self::Prepared,
        Self::Forwarding,
        Self::WithoutFeature,
        Self::WithFeature,
        Self::Withheld,
    ];

    pub const fn text(self) -> &'static str {
        match self {
            Self::Native => "without the layer",
            Self::Prepared => "the same, with the features of captures",
            Self::Forwarding => "on a layer that only forwards",
            Self::WithoutFeature => "with the layer, the feature is not enabled",
            Self::WithFeature => "the feature is enabled",
            Self::Withheld => "passes are withheld",
        }
    }

    const fn layer(self) -> Option<&'static CStr> {
        match self {
            Self::Native | Self::Prepared => None,
            Self::Forwarding => Some(FORWARDING),
            Self::WithoutFeature | Self::WithFeature | Self::Withheld => Some(LAYER),
        }
    }

    /// Whether the device has the extension and its feature.
    const fn captures(self) -> bool {
        matches!(self, Self::Native | Self::WithFeature | Self::Withheld)
    }

    /// Whether a layer has hooks for the commands that are recorded.
    pub const fn has_hooks(self) -> bool {
        matches!(self, Self::Forwarding | Self::WithFeature | Self::Withheld)
    }

    /// Whether the device gets the features of captures, which the layer itself enables where it captures.
    const fn is_prepared(self) -> bool {
        matches!(self, Self::Prepared | Self::Forwarding)
    }
}

/// Writes the manifests of the layers that cargo built beside this benchmark.
pub fn layer_manifests() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, mut manifest: Value| {
        manifest["layer"]["library_path"] = library(name).to_str().unwrap().into();
        let path = directory.path().join(name).with_extension("json");
        std::fs::write(path, manifest.to_string()).unwrap();
    };
    let manifest = include_str!("../../../cli/src/layer/manifest.json");
    write("vkxfb_layer", serde_json::from_str(manifest).unwrap());
    write(
        "vkxfb_forwarding",
        json!({
            "file_format_version": "1.2.0",
            "layer": {
                "name": FORWARDING.to_str().unwrap(),
                "type": "GLOBAL",
                "api_version": "1.4.360",
                "implementation_version": "1",
                "description": "Copies the state that draws read, and forwards all commands",
            },
        }),
    );
    directory
}

fn library(name: &str) -> PathBuf {
    let name = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = std::env::current_exe().unwrap().with_file_name(name);
    assert!(library.is_file(), "no {}", library.display());
    library
}

/// The commands of the extension that the benchmark calls.
pub struct CaptureCommands {
    bind_transform_feedback_buffers: vk::PFN_vkCmdBindTransformFeedbackBuffersEXT,
    begin_transform_feedback: vk::PFN_vkCmdBeginTransformFeedbackEXT,
    end_transform_feedback: vk::PFN_vkCmdEndTransformFeedbackEXT,
}

impl CaptureCommands {
    fn load(instance: &Instance, device: &Device) -> Self {
        let commands = ext::transform_feedback::Device::new(instance, device);
        let commands = commands.fp();
        Self {
            bind_transform_feedback_buffers: commands.cmd_bind_transform_feedback_buffers_ext,
            begin_transform_feedback: commands.cmd_begin_transform_feedback_ext,
            end_transform_feedback: commands.cmd_end_transform_feedback_ext,
        }
    }
}

pub struct BenchDevice {
    _entry: Entry,
    instance: Instance,
    name: String,
    raw: Device,
    captures: Option<CaptureCommands>,
    queue: vk::Queue,
    pool: vk::CommandPool,
    cmd: vk::CommandBuffer,
    fence: vk::Fence,
    render_pass: vk::RenderPass,
    framebuffer: vk::Framebuffer,
    set_layout: vk::DescriptorSetLayout,
    sets: vk::DescriptorPool,
    set: vk::DescriptorSet,
    layout: vk::PipelineLayout,
    shader: vk::ShaderModule,
    pipeline: vk::Pipeline,
    /// The module and the pipeline of a compute shader that does nothing. `None` on a layer.
    dispatched: Option<(vk::ShaderModule, vk::Pipeline)>,
    memory: vk::DeviceMemory,
    buffers: Vec<vk::Buffer>,
    /// The buffers for vertices, captured data and counters. The buffer for indirect draws comes
    /// last in `buffers`, and is not used.
    vertices: vk::Buffer,
    captured: vk::Buffer,
    counters: vk::Buffer,
}

impl BenchDevice {
    /// Opens the first device of the machine.
    pub fn new(setup: Setup) -> Self {
        // SAFETY: everything is created in the order that Vulkan requires, and destroyed by
        // `destroy`.
        unsafe {
            let entry = Entry::load().expect("a Vulkan loader");
            let version = vk::API_VERSION_1_1;
            let app = vk::ApplicationInfo::default().api_version(version);
            let layers: Vec<_> = setup.layer().map(CStr::as_ptr).into_iter().collect();
            let (flags, extensions) = crate::portability::enumeration(&entry).unwrap();
            let info = vk::InstanceCreateInfo::default()
                .flags(flags)
                .application_info(&app)
                .enabled_layer_names(&layers)
                .enabled_extension_names(&extensions);
            let instance = entry.create_instance(&info, None).unwrap();
            let physical = instance.enumerate_physical_devices().unwrap()[0];
            let properties = instance.get_physical_device_properties(physical);
            let name = properties.device_name_as_c_str().unwrap().to_string_lossy().into_owned();
            let families = instance.get_physical_device_queue_family_properties(physical);
            let graphics = vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE;
            let family = families.iter().position(|f| f.queue_flags.contains(graphics)).unwrap();
            let queues = [vk::DeviceQueueCreateInfo::default()
                .queue_family_index(family as u32)
                .queue_priorities(&[1.0])];
            let listed = instance.enumerate_device_extension_properties(physical).unwrap();
            let has_it = listed.iter().any(|extension| {
                extension.extension_name_as_c_str() == Ok(ext::transform_feedback::NAME)
            });
            let enables = has_it && setup.captures();
            let extensions: &[_] =
                if enables { &[ext::transform_feedback::NAME.as_ptr()] } else { &[] };
            let mut feature = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default()
                .transform_feedback(enables);
            let mut info = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queues)
                .enabled_extension_names(extensions);
            if enables {
                info = info.push_next(&mut feature);
            }
            let raw = if setup.is_prepared() {
                let caps = Capabilities::query(&entry, &instance, version, physical).unwrap();
                let required = required_features(&caps, &[Backend::Compute]).unwrap();
                required.with_create_info(info, |info| instance.create_device(physical, info, None))
            } else {
                instance.create_device(physical, &info, None)
            };
            let raw = raw.unwrap();
            let captures = enables.then(|| CaptureCommands::load(&instance, &raw));
            let memories = instance.get_physical_device_memory_properties(physical);

            let pool_info = vk::CommandPoolCreateInfo::default().queue_family_index(family as u32);
            let pool = raw.create_command_pool(&pool_info, None).unwrap();
            let cmd_info =
                vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
            let cmd = raw.allocate_command_buffers(&cmd_info).unwrap()[0];
            let fence = raw.create_fence(&vk::FenceCreateInfo::default(), None).unwrap();

            let subpasses = [vk::SubpassDescription::default()];
            let pass_info = vk::RenderPassCreateInfo::default().subpasses(&subpasses);
            let render_pass = raw.create_render_pass(&pass_info, None).unwrap();
            let framebuffer_info = vk::FramebufferCreateInfo::default()
                .render_pass(render_pass)
                .width(1)
                .height(1)
                .layers(1);
            let framebuffer = raw.create_framebuffer(&framebuffer_info, None).unwrap();

            let vertex = vk::BufferUsageFlags::VERTEX_BUFFER | vk::BufferUsageFlags::UNIFORM_BUFFER;
            let (xfb, counter) = if enables {
                (
                    vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT,
                    vk::BufferUsageFlags::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT,
                )
            } else {
                (vk::BufferUsageFlags::VERTEX_BUFFER, vk::BufferUsageFlags::VERTEX_BUFFER)
            };
            let count = u64::from(super::CAPTURES);
            let vertices = Frame::ALL.map(Frame::vertices).into_iter().max().unwrap_or(0);
            let captured = Frame::ALL.map(Frame::captured).into_iter().max().unwrap_or(0);
            let mut wanted = vec![
                (u64::from(vertices * shader::VERTEX), vertex),
                (count * captured, xfb),
                (count * 4, counter),
            ];
            if setup == Setup::Withheld {
                wanted.push((16, vk::BufferUsageFlags::INDIRECT_BUFFER));
            }
            let (memory, buffers) = make_buffers(&raw, &memories, &wanted);

            let words = shader::words(enables);
            let shader_info = vk::ShaderModuleCreateInfo::default().code(&words);
            let shader = raw.create_shader_module(&shader_info, None).unwrap();
            let ranges = [vk::PushConstantRange::default()
                .stage_flags(vk::ShaderStageFlags::VERTEX)
                .size(shader::CONSTANTS)];
            let (set_layout, sets, set) = make_set(&raw, buffers[0]);
            let set_layouts = [set_layout];
            let layout_info = vk::PipelineLayoutCreateInfo::default()
                .set_layouts(&set_layouts)
                .push_constant_ranges(&ranges);
            let layout = raw.create_pipeline_layout(&layout_info, None).unwrap();
            let pipeline = make_pipeline(&raw, shader, layout, render_pass);
            let dispatched = (setup == Setup::Native).then(|| make_dispatched(&raw, layout));

            Self {
                _entry: entry,
                instance,
                name,
                queue: raw.get_device_queue(family as u32, 0),
                raw,
                captures,
                pool,
                cmd,
                fence,
                render_pass,
                framebuffer,
                set_layout,
                sets,
                set,
                layout,
                shader,
                pipeline,
                dispatched,
                memory,
                vertices: buffers[0],
                captured: buffers[1],
                counters: buffers[2],
                buffers,
            }
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the function that draws: that of a layer, if it has a hook for the command, or the driver's.
    pub fn draw_function(&self) -> vk::PFN_vkCmdDraw {
        self.raw.fp_v1_0().cmd_draw
    }

    /// Returns the commands of the extension. `None` if the extension is not enabled.
    pub fn captures(&self) -> Option<&CaptureCommands> {
        self.captures.as_ref()
    }

    /// Frees the recorded commands. This is not measured, because it is the driver's work.
    pub fn reset(&self) {
        let flags = vk::CommandPoolResetFlags::empty();
        // SAFETY: the command buffer is not pending.
        unsafe { self.raw.reset_command_pool(self.pool, flags) }.unwrap();
    }

    /// Records a pass with `draws` draws.
    pub fn record_draws(&self, draws: u32, binds: Binds) {
        // SAFETY: the commands are valid, and the command buffer is not pending.
        unsafe {
            self.begin();
            for number in 0..draws {
                match binds {
                    Binds::Nothing => {}
                    Binds::Vertices => self.bind(number),
                    Binds::Pipeline => self.bind_pipeline(),
                }
                self.raw.cmd_draw(self.cmd, VERTICES, 1, 0, 0);
            }
            self.end();
        }
    }

    /// Records a frame of `captures` captures.
    pub fn record_captures(&self, ext: &CaptureCommands, frame: Frame, captures: u32) {
        // SAFETY: as above, and captures of one frame do not overlap.
        unsafe {
            self.begin();
            for number in 0..captures {
                if frame == Frame::Resumed && number > 0 {
                    self.raw.cmd_end_render_pass(self.cmd);
                    self.order_captures();
                    self.begin_pass();
                }
                self.capture(ext, frame, number);
            }
            self.end();
        }
    }

    /// Records a chain of as many dispatches as a frame has captures, each with the workgroups of a resumed capture,
    /// and each after a barrier. If `in_passes`, an empty pass comes before each barrier. Returns `None` on a layer.
    pub fn record_chain(&self, dispatches: u32, in_passes: bool) -> Option<()> {
        let (_, pipeline) = self.dispatched?;
        let (raw, cmd) = (&self.raw, self.cmd);
        let stage = vk::PipelineStageFlags::COMPUTE_SHADER;
        let barrier = vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::SHADER_WRITE)
            .dst_access_mask(vk::AccessFlags::SHADER_READ | vk::AccessFlags::SHADER_WRITE);
        let workgroups = Frame::Resumed.vertices().div_ceil(shader::WORKGROUP);
        let one_time = vk::CommandBufferBeginInfo::default()
            .flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the commands are valid, and the command buffer is not pending.
        unsafe {
            raw.begin_command_buffer(cmd, &one_time).unwrap();
            raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::COMPUTE, pipeline);
            for _ in 0..dispatches {
                if in_passes {
                    self.begin_pass();
                    raw.cmd_end_render_pass(cmd);
                }
                let flags = vk::DependencyFlags::empty();
                raw.cmd_pipeline_barrier(cmd, stage, stage, flags, &[barrier], &[], &[]);
                raw.cmd_dispatch(cmd, workgroups, 1, 1);
            }
            raw.end_command_buffer(cmd).unwrap();
        }
        Some(())
    }

    /// Submits the recorded commands, and waits until the device has executed them.
    pub fn submit(&self) {
        // SAFETY: the command buffer is recorded, and not pending.
        unsafe {
            let cmds = [self.cmd];
            let submit = vk::SubmitInfo::default().command_buffers(&cmds);
            self.raw.queue_submit(self.queue, &[submit], self.fence).unwrap();
            self.raw.wait_for_fences(&[self.fence], true, u64::MAX).unwrap();
            self.raw.reset_fences(&[self.fence]).unwrap();
        }
    }

    /// # Safety
    /// A pass is being recorded.
    unsafe fn capture(&self, ext: &CaptureCommands, frame: Frame, number: u32) {
        let (captured, at) = (frame.captured(), u64::from(number));
        let (offset, size, counter) = match frame {
            Frame::Separate => (at * captured, captured, at * 4),
            Frame::Resumed => (0, captured * u64::from(super::CAPTURES), 0),
        };
        let resumed = u32::from(frame == Frame::Resumed && number > 0);
        // SAFETY: the caller records a pass.
        unsafe {
            let bind = ext.bind_transform_feedback_buffers;
            bind(self.cmd, 0, 1, &self.captured, &offset, &size);
            self.bind(number);
            let begin = ext.begin_transform_feedback;
            begin(self.cmd, 0, resumed, &self.counters, &counter);
            self.raw.cmd_draw(self.cmd, frame.vertices(), 1, 0, 0);
            (ext.end_transform_feedback)(self.cmd, 0, 1, &self.counters, &counter);
        }
    }

    /// Records the barrier that lets a capture resume from the counter of an earlier one.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a pass.
    unsafe fn order_captures(&self) {
        let barrier = vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT)
            .dst_access_mask(vk::AccessFlags::TRANSFORM_FEEDBACK_COUNTER_READ_EXT);
        let writes = vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT;
        let reads = vk::PipelineStageFlags::DRAW_INDIRECT;
        let flags = vk::DependencyFlags::empty();
        // SAFETY: the caller records, outside a pass.
        unsafe {
            self.raw.cmd_pipeline_barrier(self.cmd, writes, reads, flags, &[barrier], &[], &[]);
        }
    }

    /// # Safety
    /// The command buffer is being recorded.
    unsafe fn bind(&self, number: u32) {
        let constants = [number as u8; shader::CONSTANTS as usize];
        let vertex = vk::ShaderStageFlags::VERTEX;
        // SAFETY: the caller records.
        unsafe {
            self.raw.cmd_push_constants(self.cmd, self.layout, vertex, 0, &constants);
            self.raw.cmd_bind_vertex_buffers(self.cmd, 0, &[self.vertices], &[0]);
        }
    }

    /// # Safety
    /// The command buffer is being recorded.
    unsafe fn bind_pipeline(&self) {
        let point = vk::PipelineBindPoint::GRAPHICS;
        // SAFETY: the caller records.
        unsafe {
            self.raw.cmd_bind_pipeline(self.cmd, point, self.pipeline);
            self.raw.cmd_bind_descriptor_sets(self.cmd, point, self.layout, 0, &[self.set], &[0]);
        }
    }

    /// # Safety
    /// The command buffer is not pending.
    unsafe fn begin(&self) {
        let one_time = vk::CommandBufferBeginInfo::default()
            .flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the command buffer is not pending.
        unsafe {
            self.raw.begin_command_buffer(self.cmd, &one_time).unwrap();
            self.begin_pass();
        }
    }

    /// # Safety
    /// The command buffer is being recorded, outside of a pass.
    unsafe fn begin_pass(&self) {
        let (cmd, raw) = (self.cmd, &self.raw);
        let area =
            vk::Rect2D { extent: vk::Extent2D { width: 1, height: 1 }, ..Default::default() };
        let pass = vk::RenderPassBeginInfo::default()
            .render_pass(self.render_pass)
            .framebuffer(self.framebuffer)
            .render_area(area);
        // SAFETY: the caller records, outside a pass.
        unsafe {
            raw.cmd_begin_render_pass(cmd, &pass, vk::SubpassContents::INLINE);
            self.bind_pipeline();
            self.bind(0);
        }
    }

    /// # Safety
    /// A pass is being recorded.
    unsafe fn end(&self) {
        // SAFETY: a pass is being recorded.
        unsafe {
            self.raw.cmd_end_render_pass(self.cmd);
            self.raw.end_command_buffer(self.cmd).unwrap();
        }
    }

    pub fn destroy(self) {
        // SAFETY: nothing is pending, and nothing is used any more.
        unsafe {
            let raw = &self.raw;
            raw.destroy_pipeline(self.pipeline, None);
            if let Some((module, pipeline)) = self.dispatched {
                raw.destroy_pipeline(pipeline, None);
                raw.destroy_shader_module(module, None);
            }
            raw.destroy_pipeline_layout(self.layout, None);
            raw.destroy_descriptor_pool(self.sets, None);
            raw.destroy_descriptor_set_layout(self.set_layout, None);
            raw.destroy_shader_module(self.shader, None);
            for buffer in self.buffers {
                raw.destroy_buffer(buffer, None);
            }
            raw.free_memory(self.memory, None);
            raw.destroy_framebuffer(self.framebuffer, None);
            raw.destroy_render_pass(self.render_pass, None);
            raw.destroy_fence(self.fence, None);
            raw.destroy_command_pool(self.pool, None);
            raw.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

/// Creates buffers with the sizes in bytes and usages of `wanted`, in one allocation.
///
/// # Safety
/// The device is live.
unsafe fn make_buffers(
    device: &Device,
    memories: &vk::PhysicalDeviceMemoryProperties,
    wanted: &[(u64, vk::BufferUsageFlags)],
) -> (vk::DeviceMemory, Vec<vk::Buffer>) {
    // SAFETY: the caller's device is live.
    unsafe {
        let mut places = Vec::new();
        let (mut end, mut types) = (0u64, u32::MAX);
        for (size, usage) in wanted {
            let info = vk::BufferCreateInfo::default().size(*size).usage(*usage);
            let buffer = device.create_buffer(&info, None).unwrap();
            let needs = device.get_buffer_memory_requirements(buffer);
            let start = end.next_multiple_of(needs.alignment);
            (end, types) = (start + needs.size, types & needs.memory_type_bits);
            places.push((buffer, start));
        }
        let local = vk::MemoryPropertyFlags::DEVICE_LOCAL;
        let index = (0..memories.memory_type_count)
            .find(|index| {
                let flags = memories.memory_types[*index as usize].property_flags;
                types & (1 << index) != 0 && flags.contains(local)
            })
            .expect("a memory type for all buffers");
        let info = vk::MemoryAllocateInfo::default().allocation_size(end).memory_type_index(index);
        let memory = device.allocate_memory(&info, None).unwrap();
        for (buffer, start) in &places {
            device.bind_buffer_memory(*buffer, memory, *start).unwrap();
        }
        (memory, places.into_iter().map(|(buffer, _)| buffer).collect())
    }
}

/// Creates a descriptor set with a dynamic uniform buffer, which no shader reads.
///
/// # Safety
/// The device is live, and the buffer is of the device.
unsafe fn make_set(
    device: &Device,
    buffer: vk::Buffer,
) -> (vk::DescriptorSetLayout, vk::DescriptorPool, vk::DescriptorSet) {
    let ty = vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC;
    let bindings = [vk::DescriptorSetLayoutBinding::default()
        .descriptor_type(ty)
        .descriptor_count(1)
        .stage_flags(vk::ShaderStageFlags::VERTEX)];
    let layout_info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
    let sizes = [vk::DescriptorPoolSize { ty, descriptor_count: 1 }];
    let pool_info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
    // SAFETY: the buffer belongs to the device, which is live.
    unsafe {
        let layouts = [device.create_descriptor_set_layout(&layout_info, None).unwrap()];
        let pool = device.create_descriptor_pool(&pool_info, None).unwrap();
        let info =
            vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        let set = device.allocate_descriptor_sets(&info).unwrap()[0];
        let range = u64::from(shader::VERTEX);
        let infos = [vk::DescriptorBufferInfo { buffer, offset: 0, range }];
        let write =
            vk::WriteDescriptorSet::default().dst_set(set).descriptor_type(ty).buffer_info(&infos);
        device.update_descriptor_sets(&[write], &[]);
        (layouts[0], pool, set)
    }
}

/// Creates a pipeline that discards rasterization.
///
/// # Safety
/// The device is live, and the handles are of the device.
unsafe fn make_pipeline(
    device: &Device,
    shader: vk::ShaderModule,
    layout: vk::PipelineLayout,
    render_pass: vk::RenderPass,
) -> vk::Pipeline {
    let stages = [vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::VERTEX)
        .module(shader)
        .name(c"main")];
    let bindings =
        [vk::VertexInputBindingDescription { stride: shader::VERTEX, ..Default::default() }];
    let attributes = [vk::VertexInputAttributeDescription {
        format: vk::Format::R32G32B32A32_SFLOAT,
        ..Default::default()
    }];
    let vertex_input = vk::PipelineVertexInputStateCreateInfo::default()
        .vertex_binding_descriptions(&bindings)
        .vertex_attribute_descriptions(&attributes);
    let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
        .topology(vk::PrimitiveTopology::TRIANGLE_LIST);
    let rasterization = vk::PipelineRasterizationStateCreateInfo::default()
        .rasterizer_discard_enable(true)
        .line_width(1.0);
    let info = vk::GraphicsPipelineCreateInfo::default()
        .stages(&stages)
        .vertex_input_state(&vertex_input)
        .input_assembly_state(&assembly)
        .rasterization_state(&rasterization)
        .layout(layout)
        .render_pass(render_pass);
    // SAFETY: the objects belong to the device, which is live.
    unsafe { device.create_graphics_pipelines(vk::PipelineCache::null(), &[info], None) }.unwrap()
        [0]
}

/// Creates the module and the pipeline of a compute shader that does nothing.
///
/// # Safety
/// The device is live, and the layout is of the device.
unsafe fn make_dispatched(
    device: &Device,
    layout: vk::PipelineLayout,
) -> (vk::ShaderModule, vk::Pipeline) {
    let words = shader::dispatched();
    let info = vk::ShaderModuleCreateInfo::default().code(&words);
    // SAFETY: the layout belongs to the device, which is live.
    unsafe {
        let module = device.create_shader_module(&info, None).unwrap();
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(c"main");
        let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout);
        let cache = vk::PipelineCache::null();
        (module, device.create_compute_pipelines(cache, &[info], None).unwrap()[0])
    }
}
