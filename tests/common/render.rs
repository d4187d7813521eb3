//! Draws a triangle over a small framebuffer with a fragment shader, and reads its attachments back.
//!
//! The device is its own: the probe's has no feature that only fragment shaders need.

use std::ffi::{CStr, c_void};
use std::sync::Mutex;

use ash::{ext, vk};

/// Texels of an attachment in each direction.
pub const SIZE: u32 = 4;
const TEXELS: usize = (SIZE * SIZE) as usize;
const TEXEL_BYTES: u64 = 16;

/// Covers the framebuffer.
const TRIANGLE: &str = "#version 450
    void main() {
        gl_Position = vec4(vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0, 0.0, 1.0);
    }";

/// What is drawn.
pub struct Scene<'a> {
    pub fragment: &'a [u32],
    /// Of 4 components of 32 bits.
    pub format: vk::Format,
    pub attachments: u32,
    /// What the attachments hold before.
    pub clear: [u32; 4],
    /// result = source 0 + source 1 * what was there
    pub dual_source: bool,
}

/// Texels of an attachment, row by row.
pub type Texels = Vec<[u32; 4]>;

/// A device under the validation layer.
pub struct Renderer {
    _entry: ash::Entry,
    instance: ash::Instance,
    debug_utils: ext::debug_utils::Instance,
    messenger: vk::DebugUtilsMessengerEXT,
    /// Outlives the messenger.
    messages: Box<Mutex<Vec<String>>>,
    memory: vk::PhysicalDeviceMemoryProperties,
    pub limits: vk::PhysicalDeviceLimits,
    device: ash::Device,
    queue: vk::Queue,
    family: u32,
    vertex: Vec<u32>,
}

/// # Safety
/// Called by Vulkan alone, with a `Mutex<Vec<String>>`.
unsafe extern "system" fn collect(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _types: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    messages: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the messenger's user data, which outlives it, and a valid structure.
    unsafe {
        let text = CStr::from_ptr((*data).p_message).to_string_lossy().into_owned();
        (*messages.cast::<Mutex<Vec<String>>>()).lock().unwrap().push(text);
    }
    vk::FALSE
}

impl Renderer {
    /// The first device, with `dualSrcBlend` and `independentBlend`.
    pub fn open() -> Self {
        // SAFETY: everything that is enabled is in Debian's lavapipe and layer, or creation fails.
        unsafe {
            let entry = ash::Entry::load().unwrap();
            let messages = Box::new(Mutex::new(Vec::new()));
            let mut messenger_info = vk::DebugUtilsMessengerCreateInfoEXT::default()
                .message_severity(
                    vk::DebugUtilsMessageSeverityFlagsEXT::WARNING
                        | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR,
                )
                .message_type(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION)
                .pfn_user_callback(Some(collect))
                .user_data((&raw const *messages).cast_mut().cast());
            let enables = [vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION];
            let mut features =
                vk::ValidationFeaturesEXT::default().enabled_validation_features(&enables);
            let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
            let layers = [c"VK_LAYER_KHRONOS_validation".as_ptr()];
            let extensions =
                [ext::debug_utils::NAME.as_ptr(), ext::validation_features::NAME.as_ptr()];
            let info = vk::InstanceCreateInfo::default()
                .application_info(&app)
                .enabled_layer_names(&layers)
                .enabled_extension_names(&extensions)
                .push_next(&mut features)
                .push_next(&mut messenger_info);
            let instance = entry.create_instance(&info, None).unwrap();
            let debug_utils = ext::debug_utils::Instance::new(&entry, &instance);
            messenger_info.p_next = std::ptr::null();
            let messenger =
                debug_utils.create_debug_utils_messenger(&messenger_info, None).unwrap();

            let physical = instance.enumerate_physical_devices().unwrap()[0];
            let families = instance.get_physical_device_queue_family_properties(physical);
            let graphics =
                |f: &vk::QueueFamilyProperties| f.queue_flags.contains(vk::QueueFlags::GRAPHICS);
            let family = families.iter().position(graphics).unwrap() as u32;
            let queues = [vk::DeviceQueueCreateInfo::default()
                .queue_family_index(family)
                .queue_priorities(&[1.0])];
            let enabled =
                vk::PhysicalDeviceFeatures::default().dual_src_blend(true).independent_blend(true);
            let info = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queues)
                .enabled_features(&enabled);
            let device = instance.create_device(physical, &info, None).unwrap();
            Self {
                memory: instance.get_physical_device_memory_properties(physical),
                limits: instance.get_physical_device_properties(physical).limits,
                queue: device.get_device_queue(family, 0),
                vertex: super::compile_stage("vert", TRIANGLE, &[]),
                _entry: entry,
                instance,
                debug_utils,
                messenger,
                messages,
                device,
                family,
            }
        }
    }

    /// Destroys everything; one message of the validation layer fails the test.
    pub fn close(self) {
        // SAFETY: nothing is in flight.
        unsafe {
            self.device.destroy_device(None);
            self.debug_utils.destroy_debug_utils_messenger(self.messenger, None);
            self.instance.destroy_instance(None);
        }
        let messages = self.messages.into_inner().unwrap();
        assert!(messages.is_empty(), "{messages:#?}");
    }

    /// Renders a scene; the texels of each attachment.
    pub fn render(&self, scene: &Scene<'_>) -> Vec<Texels> {
        let device = &self.device;
        let count = scene.attachments as usize;
        // SAFETY: every handle is of the device, and in use only until the wait at the end.
        unsafe {
            let images: Vec<_> = (0..count).map(|_| self.image(scene.format)).collect();
            let views: Vec<_> = images.iter().map(|(_, _, view)| *view).collect();
            let pass = self.render_pass(scene);
            let info = vk::FramebufferCreateInfo::default()
                .render_pass(pass)
                .attachments(&views)
                .width(SIZE)
                .height(SIZE)
                .layers(1);
            let framebuffer = device.create_framebuffer(&info, None).unwrap();
            let (layout, pipeline) = self.pipeline(scene, pass);
            let bytes = TEXELS as u64 * TEXEL_BYTES;
            let (buffer, buffer_memory) = self.readback_buffer(bytes * count as u64);

            let info = vk::CommandPoolCreateInfo::default().queue_family_index(self.family);
            let pool = device.create_command_pool(&info, None).unwrap();
            let info =
                vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
            let cmd = device.allocate_command_buffers(&info).unwrap()[0];
            device.begin_command_buffer(cmd, &vk::CommandBufferBeginInfo::default()).unwrap();
            let clear = vk::ClearColorValue { uint32: scene.clear };
            let clears = vec![vk::ClearValue { color: clear }; count];
            let begin = vk::RenderPassBeginInfo::default()
                .render_pass(pass)
                .framebuffer(framebuffer)
                .render_area(area())
                .clear_values(&clears);
            device.cmd_begin_render_pass(cmd, &begin, vk::SubpassContents::INLINE);
            device.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            device.cmd_draw(cmd, 3, 1, 0, 0);
            device.cmd_end_render_pass(cmd);
            for (offset, (image, ..)) in (0..).step_by(bytes as usize).zip(&images) {
                let region = vk::BufferImageCopy::default()
                    .buffer_offset(offset)
                    .image_subresource(
                        vk::ImageSubresourceLayers::default()
                            .aspect_mask(vk::ImageAspectFlags::COLOR)
                            .layer_count(1),
                    )
                    .image_extent(vk::Extent3D { width: SIZE, height: SIZE, depth: 1 });
                let from = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
                device.cmd_copy_image_to_buffer(cmd, *image, from, buffer, &[region]);
            }
            let barrier = vk::MemoryBarrier::default()
                .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
                .dst_access_mask(vk::AccessFlags::HOST_READ);
            device.cmd_pipeline_barrier(
                cmd,
                vk::PipelineStageFlags::TRANSFER,
                vk::PipelineStageFlags::HOST,
                vk::DependencyFlags::empty(),
                &[barrier],
                &[],
                &[],
            );
            device.end_command_buffer(cmd).unwrap();
            let commands = [cmd];
            let submit = vk::SubmitInfo::default().command_buffers(&commands);
            device.queue_submit(self.queue, &[submit], vk::Fence::null()).unwrap();
            device.queue_wait_idle(self.queue).unwrap();

            let flags = vk::MemoryMapFlags::empty();
            let mapped = device.map_memory(buffer_memory, 0, vk::WHOLE_SIZE, flags).unwrap();
            let texels = std::slice::from_raw_parts(mapped.cast::<[u32; 4]>(), count * TEXELS);
            let result = texels.chunks(TEXELS).map(<[_]>::to_vec).collect();

            device.destroy_command_pool(pool, None);
            device.destroy_buffer(buffer, None);
            device.free_memory(buffer_memory, None);
            device.destroy_pipeline(pipeline, None);
            device.destroy_pipeline_layout(layout, None);
            device.destroy_framebuffer(framebuffer, None);
            device.destroy_render_pass(pass, None);
            for (image, memory, view) in images {
                device.destroy_image_view(view, None);
                device.destroy_image(image, None);
                device.free_memory(memory, None);
            }
            result
        }
    }

    unsafe fn allocate(
        &self,
        needs: vk::MemoryRequirements,
        flags: vk::MemoryPropertyFlags,
    ) -> vk::DeviceMemory {
        let fits = |i: &u32| {
            needs.memory_type_bits >> i & 1 != 0
                && self.memory.memory_types[*i as usize].property_flags.contains(flags)
        };
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index((0..self.memory.memory_type_count).find(fits).unwrap());
        // SAFETY: the caller's contract: the device is live.
        unsafe { self.device.allocate_memory(&info, None) }.unwrap()
    }

    unsafe fn image(&self, format: vk::Format) -> (vk::Image, vk::DeviceMemory, vk::ImageView) {
        let device = &self.device;
        let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(format)
            .extent(vk::Extent3D { width: SIZE, height: SIZE, depth: 1 })
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .usage(usage);
        // SAFETY: the caller's contract: the device is live.
        unsafe {
            let image = device.create_image(&info, None).unwrap();
            let needs = device.get_image_memory_requirements(image);
            let memory = self.allocate(needs, vk::MemoryPropertyFlags::empty());
            device.bind_image_memory(image, memory, 0).unwrap();
            let range = vk::ImageSubresourceRange::default()
                .aspect_mask(vk::ImageAspectFlags::COLOR)
                .level_count(1)
                .layer_count(1);
            let info = vk::ImageViewCreateInfo::default()
                .image(image)
                .view_type(vk::ImageViewType::TYPE_2D)
                .format(format)
                .subresource_range(range);
            (image, memory, device.create_image_view(&info, None).unwrap())
        }
    }

    unsafe fn readback_buffer(&self, size: u64) -> (vk::Buffer, vk::DeviceMemory) {
        let info =
            vk::BufferCreateInfo::default().size(size).usage(vk::BufferUsageFlags::TRANSFER_DST);
        let flags = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        // SAFETY: the caller's contract: the device is live.
        unsafe {
            let buffer = self.device.create_buffer(&info, None).unwrap();
            let needs = self.device.get_buffer_memory_requirements(buffer);
            let memory = self.allocate(needs, flags);
            self.device.bind_buffer_memory(buffer, memory, 0).unwrap();
            (buffer, memory)
        }
    }

    unsafe fn render_pass(&self, scene: &Scene<'_>) -> vk::RenderPass {
        let attachment = vk::AttachmentDescription::default()
            .format(scene.format)
            .samples(vk::SampleCountFlags::TYPE_1)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE)
            .final_layout(vk::ImageLayout::TRANSFER_SRC_OPTIMAL);
        let attachments = vec![attachment; scene.attachments as usize];
        let layout = vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL;
        let references: Vec<_> = (0..scene.attachments)
            .map(|attachment| vk::AttachmentReference { attachment, layout })
            .collect();
        let subpasses = [vk::SubpassDescription::default().color_attachments(&references)];
        let dependencies = [vk::SubpassDependency::default()
            .src_subpass(0)
            .dst_subpass(vk::SUBPASS_EXTERNAL)
            .src_stage_mask(vk::PipelineStageFlags::COLOR_ATTACHMENT_OUTPUT)
            .src_access_mask(vk::AccessFlags::COLOR_ATTACHMENT_WRITE)
            .dst_stage_mask(vk::PipelineStageFlags::TRANSFER)
            .dst_access_mask(vk::AccessFlags::TRANSFER_READ)];
        let info = vk::RenderPassCreateInfo::default()
            .attachments(&attachments)
            .subpasses(&subpasses)
            .dependencies(&dependencies);
        // SAFETY: the caller's contract: the device is live.
        unsafe { self.device.create_render_pass(&info, None) }.unwrap()
    }

    unsafe fn pipeline(
        &self,
        scene: &Scene<'_>,
        pass: vk::RenderPass,
    ) -> (vk::PipelineLayout, vk::Pipeline) {
        let device = &self.device;
        // SAFETY: the caller's contract: the device is live; modules are valid SPIR-V.
        unsafe {
            let layout = device.create_pipeline_layout(&Default::default(), None).unwrap();
            let [vertex, fragment] = [&self.vertex, scene.fragment].map(|words| {
                let info = vk::ShaderModuleCreateInfo::default().code(words);
                device.create_shader_module(&info, None).unwrap()
            });
            let stage = |stage, module| {
                vk::PipelineShaderStageCreateInfo::default()
                    .stage(stage)
                    .module(module)
                    .name(c"main")
            };
            let stages = [
                stage(vk::ShaderStageFlags::VERTEX, vertex),
                stage(vk::ShaderStageFlags::FRAGMENT, fragment),
            ];
            let vertex_input = vk::PipelineVertexInputStateCreateInfo::default();
            let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
                .topology(vk::PrimitiveTopology::TRIANGLE_LIST);
            let viewports = [vk::Viewport {
                width: SIZE as f32,
                height: SIZE as f32,
                max_depth: 1.0,
                ..Default::default()
            }];
            let scissors = [area()];
            let viewport = vk::PipelineViewportStateCreateInfo::default()
                .viewports(&viewports)
                .scissors(&scissors);
            let raster = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
            let samples = vk::PipelineMultisampleStateCreateInfo::default()
                .rasterization_samples(vk::SampleCountFlags::TYPE_1);
            let blend = vk::PipelineColorBlendAttachmentState::default()
                .blend_enable(scene.dual_source)
                .src_color_blend_factor(vk::BlendFactor::ONE)
                .dst_color_blend_factor(vk::BlendFactor::SRC1_COLOR)
                .src_alpha_blend_factor(vk::BlendFactor::ONE)
                .dst_alpha_blend_factor(vk::BlendFactor::SRC1_ALPHA)
                .color_write_mask(vk::ColorComponentFlags::RGBA);
            let blends = vec![blend; scene.attachments as usize];
            let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&blends);
            let info = vk::GraphicsPipelineCreateInfo::default()
                .stages(&stages)
                .vertex_input_state(&vertex_input)
                .input_assembly_state(&assembly)
                .viewport_state(&viewport)
                .rasterization_state(&raster)
                .multisample_state(&samples)
                .color_blend_state(&blend)
                .layout(layout)
                .render_pass(pass);
            let cache = vk::PipelineCache::null();
            let pipeline = device.create_graphics_pipelines(cache, &[info], None).unwrap()[0];
            device.destroy_shader_module(vertex, None);
            device.destroy_shader_module(fragment, None);
            (layout, pipeline)
        }
    }
}

fn area() -> vk::Rect2D {
    let extent = vk::Extent2D { width: SIZE, height: SIZE };
    vk::Rect2D { offset: vk::Offset2D::default(), extent }
}
