//! A device with tessellation and geometry shaders that captures natively. It is its own: the probe's has vertex
//! shaders alone.

use std::ffi::{CStr, c_void};
use std::sync::Mutex;

use ash::{ext, vk};

/// What capture buffers hold before.
pub const BEFORE: u8 = 0xa5;

/// Draws points, or patches of one control point, and what is captured of them.
pub struct Scene<'a> {
    /// Shaders named `main`, from the vertex shader to the one that is captured.
    pub stages: &'a [(vk::ShaderStageFlags, &'a [u32])],
    pub vertices: u32,
    /// Bytes of each capture buffer.
    pub buffers: &'a [usize],
}

/// A device under the validation layer.
pub struct Device {
    _entry: ash::Entry,
    instance: ash::Instance,
    debug_utils: ext::debug_utils::Instance,
    messenger: vk::DebugUtilsMessengerEXT,
    /// Outlives the messenger.
    messages: Box<Mutex<Vec<String>>>,
    memory: vk::PhysicalDeviceMemoryProperties,
    pub limits: vk::PhysicalDeviceLimits,
    device: ash::Device,
    xfb: ext::transform_feedback::Device,
    queue: vk::Queue,
    family: u32,
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

impl Device {
    /// The first device, or `None` where it lacks a feature.
    pub fn open() -> Option<Self> {
        // SAFETY: what is enabled is there, or creation fails; handles are destroyed once.
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
            let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
            let layers = match crate::common::settings::has_validation() {
                true => vec![c"VK_LAYER_KHRONOS_validation".as_ptr()],
                false => vec![],
            };
            let extensions = [ext::debug_utils::NAME.as_ptr()];
            let info = vk::InstanceCreateInfo::default()
                .application_info(&app)
                .enabled_layer_names(&layers)
                .enabled_extension_names(&extensions)
                .push_next(&mut messenger_info);
            let instance = entry.create_instance(&info, None).unwrap();
            let debug_utils = ext::debug_utils::Instance::new(&entry, &instance);
            messenger_info.p_next = std::ptr::null();
            let messenger =
                debug_utils.create_debug_utils_messenger(&messenger_info, None).unwrap();

            let physical = instance.enumerate_physical_devices().unwrap()[0];
            let mut has_xfb = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
            let mut has = vk::PhysicalDeviceFeatures2::default().push_next(&mut has_xfb);
            instance.get_physical_device_features2(physical, &mut has);
            let has = has.features;
            let needed = [
                has.tessellation_shader,
                has.geometry_shader,
                has.shader_float64,
                has.shader_tessellation_and_geometry_point_size,
                has_xfb.transform_feedback,
                has_xfb.geometry_streams,
            ];
            if needed.contains(&vk::FALSE) {
                eprintln!("skipped: the device lacks features");
                debug_utils.destroy_debug_utils_messenger(messenger, None);
                instance.destroy_instance(None);
                return None;
            }
            let families = instance.get_physical_device_queue_family_properties(physical);
            let graphics =
                |f: &vk::QueueFamilyProperties| f.queue_flags.contains(vk::QueueFlags::GRAPHICS);
            let family = families.iter().position(graphics).unwrap() as u32;
            let queues = [vk::DeviceQueueCreateInfo::default()
                .queue_family_index(family)
                .queue_priorities(&[1.0])];
            let features = vk::PhysicalDeviceFeatures::default()
                .tessellation_shader(true)
                .geometry_shader(true)
                .shader_float64(true)
                .shader_tessellation_and_geometry_point_size(true);
            let extensions = [ext::transform_feedback::NAME.as_ptr()];
            has_xfb.p_next = std::ptr::null_mut();
            let info = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queues)
                .enabled_features(&features)
                .enabled_extension_names(&extensions)
                .push_next(&mut has_xfb);
            let device = instance.create_device(physical, &info, None).unwrap();
            Some(Self {
                memory: instance.get_physical_device_memory_properties(physical),
                limits: instance.get_physical_device_properties(physical).limits,
                queue: device.get_device_queue(family, 0),
                xfb: ext::transform_feedback::Device::new(&instance, &device),
                _entry: entry,
                instance,
                debug_utils,
                messenger,
                messages,
                device,
                family,
            })
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

    /// Draws a scene; each capture buffer afterwards.
    pub fn capture(&self, scene: &Scene<'_>) -> Vec<Vec<u8>> {
        let device = &self.device;
        // SAFETY: every handle is of the device, and in use only until the wait.
        unsafe {
            let subpasses = [vk::SubpassDescription::default()];
            let info = vk::RenderPassCreateInfo::default().subpasses(&subpasses);
            let pass = device.create_render_pass(&info, None).unwrap();
            let info =
                vk::FramebufferCreateInfo::default().render_pass(pass).width(1).height(1).layers(1);
            let framebuffer = device.create_framebuffer(&info, None).unwrap();
            let layout = device.create_pipeline_layout(&Default::default(), None).unwrap();
            let pipeline = self.pipeline(scene, layout, pass);
            let buffers: Vec<_> = scene.buffers.iter().map(|size| self.buffer(*size)).collect();

            let info = vk::CommandPoolCreateInfo::default().queue_family_index(self.family);
            let pool = device.create_command_pool(&info, None).unwrap();
            let info =
                vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
            let cmd = device.allocate_command_buffers(&info).unwrap()[0];
            device.begin_command_buffer(cmd, &vk::CommandBufferBeginInfo::default()).unwrap();
            let begin = vk::RenderPassBeginInfo::default()
                .render_pass(pass)
                .framebuffer(framebuffer)
                .render_area(vk::Rect2D::default().extent(vk::Extent2D { width: 1, height: 1 }));
            device.cmd_begin_render_pass(cmd, &begin, vk::SubpassContents::INLINE);
            device.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            let raw: Vec<_> = buffers.iter().map(|(buffer, _)| *buffer).collect();
            let offsets = vec![0; raw.len()];
            let xfb = self.xfb.fp();
            let count = raw.len() as u32;
            (xfb.cmd_bind_transform_feedback_buffers_ext)(
                cmd,
                0,
                count,
                raw.as_ptr(),
                offsets.as_ptr(),
                std::ptr::null(),
            );
            let none = std::ptr::null();
            (xfb.cmd_begin_transform_feedback_ext)(cmd, 0, 0, none, std::ptr::null());
            device.cmd_draw(cmd, scene.vertices, 1, 0, 0);
            (xfb.cmd_end_transform_feedback_ext)(cmd, 0, 0, none, std::ptr::null());
            device.cmd_end_render_pass(cmd);
            let barrier = vk::MemoryBarrier::default()
                .src_access_mask(vk::AccessFlags::TRANSFORM_FEEDBACK_WRITE_EXT)
                .dst_access_mask(vk::AccessFlags::HOST_READ);
            device.cmd_pipeline_barrier(
                cmd,
                vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT,
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

            let read = |((buffer, memory), size): (&(vk::Buffer, vk::DeviceMemory), &usize)| {
                let flags = vk::MemoryMapFlags::empty();
                let mapped = device.map_memory(*memory, 0, vk::WHOLE_SIZE, flags).unwrap();
                let bytes = std::slice::from_raw_parts(mapped.cast::<u8>(), *size).to_vec();
                device.destroy_buffer(*buffer, None);
                device.free_memory(*memory, None);
                bytes
            };
            let result = buffers.iter().zip(scene.buffers).map(read).collect();
            device.destroy_command_pool(pool, None);
            device.destroy_pipeline(pipeline, None);
            device.destroy_pipeline_layout(layout, None);
            device.destroy_framebuffer(framebuffer, None);
            device.destroy_render_pass(pass, None);
            result
        }
    }

    /// A capture buffer that the host sees.
    unsafe fn buffer(&self, size: usize) -> (vk::Buffer, vk::DeviceMemory) {
        let info = vk::BufferCreateInfo::default()
            .size(size as u64)
            .usage(vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT);
        let flags = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        // SAFETY: the caller's contract: the device is live.
        unsafe {
            let buffer = self.device.create_buffer(&info, None).unwrap();
            let needs = self.device.get_buffer_memory_requirements(buffer);
            let fits = |i: &u32| {
                needs.memory_type_bits >> i & 1 != 0
                    && self.memory.memory_types[*i as usize].property_flags.contains(flags)
            };
            let info = vk::MemoryAllocateInfo::default()
                .allocation_size(needs.size)
                .memory_type_index((0..self.memory.memory_type_count).find(fits).unwrap());
            let memory = self.device.allocate_memory(&info, None).unwrap();
            self.device.bind_buffer_memory(buffer, memory, 0).unwrap();
            let flags = vk::MemoryMapFlags::empty();
            let mapped = self.device.map_memory(memory, 0, vk::WHOLE_SIZE, flags).unwrap();
            mapped.cast::<u8>().write_bytes(BEFORE, size);
            self.device.unmap_memory(memory);
            (buffer, memory)
        }
    }

    unsafe fn pipeline(
        &self,
        scene: &Scene<'_>,
        layout: vk::PipelineLayout,
        pass: vk::RenderPass,
    ) -> vk::Pipeline {
        let device = &self.device;
        let has = |stage| scene.stages.iter().any(|(of, _)| *of == stage);
        let topology = match has(vk::ShaderStageFlags::TESSELLATION_CONTROL) {
            true => vk::PrimitiveTopology::PATCH_LIST,
            false => vk::PrimitiveTopology::POINT_LIST,
        };
        // SAFETY: the caller's contract: the device is live; modules are valid SPIR-V.
        unsafe {
            let module = |words: &[u32]| {
                let info = vk::ShaderModuleCreateInfo::default().code(words);
                device.create_shader_module(&info, None).unwrap()
            };
            let modules: Vec<_> = scene.stages.iter().map(|(_, words)| module(words)).collect();
            let stage = |((stage, _), module): (&(vk::ShaderStageFlags, &[u32]), &_)| {
                vk::PipelineShaderStageCreateInfo::default()
                    .stage(*stage)
                    .module(*module)
                    .name(c"main")
            };
            let stages: Vec<_> = scene.stages.iter().zip(&modules).map(stage).collect();
            let vertex_input = vk::PipelineVertexInputStateCreateInfo::default();
            let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(topology);
            let tessellation =
                vk::PipelineTessellationStateCreateInfo::default().patch_control_points(1);
            let raster = vk::PipelineRasterizationStateCreateInfo::default()
                .rasterizer_discard_enable(true)
                .line_width(1.0);
            let info = vk::GraphicsPipelineCreateInfo::default()
                .stages(&stages)
                .vertex_input_state(&vertex_input)
                .input_assembly_state(&assembly)
                .tessellation_state(&tessellation)
                .rasterization_state(&raster)
                .layout(layout)
                .render_pass(pass);
            let cache = vk::PipelineCache::null();
            let pipeline = device.create_graphics_pipelines(cache, &[info], None).unwrap()[0];
            modules.into_iter().for_each(|module| device.destroy_shader_module(module, None));
            pipeline
        }
    }
}
