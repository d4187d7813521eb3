//! A device, and what the tests do with it.

use std::ffi::CStr;

use ash::prelude::VkResult;
use ash::{Device, Entry, Instance, ext, khr, vk};

use crate::shaders;

/// The extensions that are enabled where there are any: each has commands that name stages.
const OPTIONAL: [&CStr; 2] = [ext::shader_object::NAME, khr::maintenance6::NAME];

const FORMAT: vk::Format = vk::Format::R8G8B8A8_UNORM;

/// Creates an instance of Vulkan 1.3.
pub fn create_instance(entry: &Entry) -> VkResult<Instance> {
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
    let info = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: the create info is valid.
    unsafe { entry.create_instance(&info, None) }
}

/// A device of Vulkan 1.3, with a command buffer. What else is created is not destroyed: the process ends.
pub struct Program {
    _entry: Entry,
    pub instance: Instance,
    pub physical_device: vk::PhysicalDevice,
    pub device: Device,
    pub queue: vk::Queue,
    pub cmd: vk::CommandBuffer,
    /// Those of [`OPTIONAL`] that the device has.
    pub extensions: Vec<&'static CStr>,
    /// A layout with push constants.
    pub layout: vk::PipelineLayout,
    memories: vk::PhysicalDeviceMemoryProperties,
}

impl Program {
    pub fn new() -> Self {
        // SAFETY: everything is used as Vulkan requires.
        unsafe {
            let entry = Entry::load().unwrap();
            let instance = create_instance(&entry).unwrap();
            let physical_device = instance.enumerate_physical_devices().unwrap()[0];
            let memories = instance.get_physical_device_memory_properties(physical_device);
            let listed = instance.enumerate_device_extension_properties(physical_device).unwrap();
            let has = |name: &&CStr| {
                listed.iter().any(|listed| listed.extension_name_as_c_str() == Ok(*name))
            };
            let extensions: Vec<_> = OPTIONAL.into_iter().filter(has).collect();
            let features = vk::PhysicalDeviceFeatures::default();
            let device = create_device(&instance, physical_device, &features, &extensions).unwrap();
            let pool = device.create_command_pool(
                &vk::CommandPoolCreateInfo::default()
                    .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER),
                None,
            );
            let info = vk::CommandBufferAllocateInfo::default()
                .command_pool(pool.unwrap())
                .command_buffer_count(1);
            let cmd = device.allocate_command_buffers(&info).unwrap()[0];
            let ranges = [vk::PushConstantRange {
                stage_flags: vk::ShaderStageFlags::ALL_GRAPHICS,
                offset: 0,
                size: 4,
            }];
            let info = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&ranges);
            let layout = device.create_pipeline_layout(&info, None).unwrap();
            let queue = device.get_device_queue(0, 0);
            Self {
                _entry: entry,
                instance,
                physical_device,
                device,
                queue,
                cmd,
                extensions,
                layout,
                memories,
            }
        }
    }

    /// Destroys the device and the instance, with which the layer says how many violations there were.
    pub fn end(&self) {
        // SAFETY: they are not used again. What else was created is only memory to the driver, which the process returns.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }

    pub fn module(&self, words: &[u32]) -> VkResult<vk::ShaderModule> {
        let info = vk::ShaderModuleCreateInfo::default().code(words);
        // SAFETY: the words are SPIR-V.
        unsafe { self.device.create_shader_module(&info, None) }
    }

    /// Records commands, and returns what `vkEndCommandBuffer` does.
    pub fn record(&self, commands: impl FnOnce(&Device, vk::CommandBuffer)) -> VkResult<()> {
        let info = vk::CommandBufferBeginInfo::default();
        // SAFETY: nobody else uses the command buffer, which does not execute.
        unsafe {
            self.device.begin_command_buffer(self.cmd, &info).unwrap();
            commands(&self.device, self.cmd);
            self.device.end_command_buffer(self.cmd)
        }
    }

    /// Creates a pipeline that draws a point, after `change`.
    pub fn pipeline(
        &self,
        topology: vk::PrimitiveTopology,
        change: impl FnOnce(&mut Vec<vk::PipelineShaderStageCreateInfo<'_>>),
    ) -> VkResult<vk::Pipeline> {
        let [vertex, fragment] =
            [shaders::vertex(), shaders::fragment(&[])].map(|words| self.module(&words).unwrap());
        let stage = |stage, module| {
            vk::PipelineShaderStageCreateInfo::default().stage(stage).module(module).name(c"main")
        };
        let mut stages = vec![
            stage(vk::ShaderStageFlags::VERTEX, vertex),
            stage(vk::ShaderStageFlags::FRAGMENT, fragment),
        ];
        change(&mut stages);
        let vertex_input = vk::PipelineVertexInputStateCreateInfo::default();
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(topology);
        let area =
            vk::Rect2D { extent: vk::Extent2D { width: 1, height: 1 }, ..Default::default() };
        let (scissors, viewports) = (
            [area],
            [vk::Viewport { width: 1.0, height: 1.0, max_depth: 1.0, ..Default::default() }],
        );
        let viewport = vk::PipelineViewportStateCreateInfo::default()
            .scissors(&scissors)
            .viewports(&viewports);
        let rasterization = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
        let samples = vk::PipelineMultisampleStateCreateInfo::default()
            .rasterization_samples(vk::SampleCountFlags::TYPE_1);
        let attachments = [vk::PipelineColorBlendAttachmentState::default()
            .color_write_mask(vk::ColorComponentFlags::RGBA)];
        let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&attachments);
        let mut rendering =
            vk::PipelineRenderingCreateInfo::default().color_attachment_formats(&[FORMAT]);
        let info = vk::GraphicsPipelineCreateInfo::default()
            .stages(&stages)
            .vertex_input_state(&vertex_input)
            .input_assembly_state(&assembly)
            .viewport_state(&viewport)
            .rasterization_state(&rasterization)
            .multisample_state(&samples)
            .color_blend_state(&blend)
            .layout(self.layout)
            .push_next(&mut rendering);
        let cache = vk::PipelineCache::null();
        // SAFETY: the objects belong to the device.
        match unsafe { self.device.create_graphics_pipelines(cache, &[info], None) } {
            Ok(pipelines) => Ok(pipelines[0]),
            Err((pipelines, error)) => {
                assert_eq!(pipelines, [vk::Pipeline::null()]);
                Err(error)
            }
        }
    }

    /// Draws a point into an image of one pixel, and returns the pixel.
    pub fn draw(&self) -> [u8; 4] {
        let device = &self.device;
        // SAFETY: everything is used as Vulkan requires.
        unsafe {
            let info = vk::ImageCreateInfo::default()
                .image_type(vk::ImageType::TYPE_2D)
                .format(FORMAT)
                .extent(vk::Extent3D { width: 1, height: 1, depth: 1 })
                .mip_levels(1)
                .array_layers(1)
                .samples(vk::SampleCountFlags::TYPE_1)
                .usage(vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC);
            let image = device.create_image(&info, None).unwrap();
            let memory = self.allocate(
                device.get_image_memory_requirements(image),
                vk::MemoryPropertyFlags::empty(),
            );
            device.bind_image_memory(image, memory, 0).unwrap();
            let whole = vk::ImageSubresourceRange::default()
                .aspect_mask(vk::ImageAspectFlags::COLOR)
                .level_count(1)
                .layer_count(1);
            let info = vk::ImageViewCreateInfo::default()
                .image(image)
                .view_type(vk::ImageViewType::TYPE_2D)
                .format(FORMAT)
                .subresource_range(whole);
            let view = device.create_image_view(&info, None).unwrap();
            let info =
                vk::BufferCreateInfo::default().size(4).usage(vk::BufferUsageFlags::TRANSFER_DST);
            let buffer = device.create_buffer(&info, None).unwrap();
            let memory = self.allocate(
                device.get_buffer_memory_requirements(buffer),
                vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT,
            );
            device.bind_buffer_memory(buffer, memory, 0).unwrap();
            let pipeline = self.pipeline(vk::PrimitiveTopology::POINT_LIST, |_| {}).unwrap();
            let recorded = self.record(|device, cmd| {
                let barrier = |old, new| {
                    let all = vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE;
                    let barrier = vk::ImageMemoryBarrier::default()
                        .image(image)
                        .subresource_range(whole)
                        .old_layout(old)
                        .new_layout(new)
                        .src_access_mask(all)
                        .dst_access_mask(all);
                    let (before, after) = (
                        vk::PipelineStageFlags::ALL_GRAPHICS,
                        vk::PipelineStageFlags::ALL_COMMANDS,
                    );
                    let flags = vk::DependencyFlags::empty();
                    device.cmd_pipeline_barrier(cmd, before, after, flags, &[], &[], &[barrier]);
                };
                let rendered = vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL;
                barrier(vk::ImageLayout::UNDEFINED, rendered);
                let attachments = [vk::RenderingAttachmentInfo::default()
                    .image_view(view)
                    .image_layout(rendered)
                    .load_op(vk::AttachmentLoadOp::CLEAR)
                    .store_op(vk::AttachmentStoreOp::STORE)];
                let extent = vk::Extent2D { width: 1, height: 1 };
                let info = vk::RenderingInfo::default()
                    .render_area(vk::Rect2D { extent, ..Default::default() })
                    .layer_count(1)
                    .color_attachments(&attachments);
                device.cmd_begin_rendering(cmd, &info);
                device.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
                let stages = vk::ShaderStageFlags::ALL_GRAPHICS;
                device.cmd_push_constants(cmd, self.layout, stages, 0, &[0; 4]);
                device.cmd_draw(cmd, 1, 1, 0, 0);
                device.cmd_end_rendering(cmd);
                let copied = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
                barrier(rendered, copied);
                let region = vk::BufferImageCopy::default()
                    .image_subresource(
                        vk::ImageSubresourceLayers::default()
                            .aspect_mask(vk::ImageAspectFlags::COLOR)
                            .layer_count(1),
                    )
                    .image_extent(vk::Extent3D { width: 1, height: 1, depth: 1 });
                device.cmd_copy_image_to_buffer(cmd, image, copied, buffer, &[region]);
            });
            recorded.unwrap();
            let buffers = [self.cmd];
            let submit = vk::SubmitInfo::default().command_buffers(&buffers);
            device.queue_submit(self.queue, &[submit], vk::Fence::null()).unwrap();
            device.device_wait_idle().unwrap();
            let mapped = device.map_memory(memory, 0, 4, vk::MemoryMapFlags::empty()).unwrap();
            let pixel = mapped.cast::<[u8; 4]>().read();
            self.end();
            pixel
        }
    }

    /// # Safety
    /// The requirements are those of an object of the device.
    unsafe fn allocate(
        &self,
        needs: vk::MemoryRequirements,
        flags: vk::MemoryPropertyFlags,
    ) -> vk::DeviceMemory {
        let index = (0..self.memories.memory_type_count).find(|index| {
            let ty = self.memories.memory_types[*index as usize];
            needs.memory_type_bits & (1 << index) != 0 && ty.property_flags.contains(flags)
        });
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index(index.unwrap());
        unsafe { self.device.allocate_memory(&info, None) }.unwrap()
    }
}

/// Creates a device of Vulkan 1.3 with features and extensions.
///
/// # Safety
/// The physical device is of the instance.
pub unsafe fn create_device(
    instance: &Instance,
    physical_device: vk::PhysicalDevice,
    features: &vk::PhysicalDeviceFeatures,
    extensions: &[&CStr],
) -> VkResult<Device> {
    let queues =
        [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
    let names: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
    let mut vulkan_13 = vk::PhysicalDeviceVulkan13Features::default()
        .dynamic_rendering(true)
        .synchronization2(true);
    let mut objects = vk::PhysicalDeviceShaderObjectFeaturesEXT::default().shader_object(true);
    let mut maintenance = vk::PhysicalDeviceMaintenance6FeaturesKHR::default().maintenance6(true);
    let mut info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_features(features)
        .enabled_extension_names(&names)
        .push_next(&mut vulkan_13);
    if extensions.contains(&ext::shader_object::NAME) {
        info = info.push_next(&mut objects);
    }
    if extensions.contains(&khr::maintenance6::NAME) {
        info = info.push_next(&mut maintenance);
    }
    unsafe { instance.create_device(physical_device, &info, None) }
}
