//! Render passes, and colour attachments that are cleared, drawn to and copied from.

use ash::vk;

/// An image of one colour, with its memory and a view.
#[derive(Clone, Copy)]
pub struct Attachment {
    pub image: vk::Image,
    pub view: vk::ImageView,
    memory: vk::DeviceMemory,
}

impl Attachment {
    /// Creates a square image.
    ///
    /// # Safety
    /// The device is live, and the attachment is destroyed before.
    pub unsafe fn new(device: &ash::Device, format: vk::Format, side: u32) -> Self {
        let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(format)
            .extent(vk::Extent3D { width: side, height: side, depth: 1 })
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .usage(usage);
        unsafe {
            let image = device.create_image(&info, None).unwrap();
            let needs = device.get_image_memory_requirements(image);
            let info = vk::MemoryAllocateInfo::default()
                .allocation_size(needs.size)
                .memory_type_index(needs.memory_type_bits.trailing_zeros());
            let memory = device.allocate_memory(&info, None).unwrap();
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
            Self { image, view: device.create_image_view(&info, None).unwrap(), memory }
        }
    }

    /// Copies a square attachment to a buffer, after the [`Pass`] that drew to it.
    ///
    /// # Safety
    /// The buffer has room at the offset, and `cmd` is being recorded, outside of a render pass
    /// instance.
    pub unsafe fn copy(
        &self,
        device: &ash::Device,
        cmd: vk::CommandBuffer,
        side: u32,
        (buffer, offset): (vk::Buffer, u64),
    ) {
        let subresource = vk::ImageSubresourceLayers::default()
            .aspect_mask(vk::ImageAspectFlags::COLOR)
            .layer_count(1);
        let region = vk::BufferImageCopy::default()
            .buffer_offset(offset)
            .image_subresource(subresource)
            .image_extent(vk::Extent3D { width: side, height: side, depth: 1 });
        let from = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
        unsafe { device.cmd_copy_image_to_buffer(cmd, self.image, from, buffer, &[region]) };
    }

    /// # Safety
    /// Nothing that uses it is in flight.
    pub unsafe fn destroy(self, device: &ash::Device) {
        unsafe {
            device.destroy_image_view(self.view, None);
            device.destroy_image(self.image, None);
            device.free_memory(self.memory, None);
        }
    }
}

/// A render pass of one subpass, and its framebuffer, which is a square.
#[derive(Clone, Copy)]
pub struct Pass {
    pub raw: vk::RenderPass,
    pub framebuffer: vk::Framebuffer,
    side: u32,
}

impl Pass {
    /// Creates a pass without attachments, of one pixel.
    ///
    /// # Safety
    /// The device is live, and the pass is destroyed before.
    pub unsafe fn empty(device: &ash::Device, dependencies: &[vk::SubpassDependency]) -> Self {
        let subpasses = [vk::SubpassDescription::default()];
        let info =
            vk::RenderPassCreateInfo::default().subpasses(&subpasses).dependencies(dependencies);
        unsafe { Self::of(device, device.create_render_pass(&info, None).unwrap(), 1, &[]) }
    }

    /// Creates a pass that clears attachments of a format, and transitions them to the layout for
    /// copying.
    ///
    /// # Safety
    /// As [`empty`](Self::empty), and the views are of square images.
    pub unsafe fn clearing(
        device: &ash::Device,
        format: vk::Format,
        side: u32,
        views: &[vk::ImageView],
    ) -> Self {
        unsafe { Self::of(device, render_pass(device, format, views.len() as u32), side, views) }
    }

    /// # Safety
    /// The handles are of the device, and the views of square images.
    unsafe fn of(
        device: &ash::Device,
        raw: vk::RenderPass,
        side: u32,
        views: &[vk::ImageView],
    ) -> Self {
        let info = vk::FramebufferCreateInfo::default()
            .render_pass(raw)
            .attachments(views)
            .width(side)
            .height(side)
            .layers(1);
        Self { raw, framebuffer: unsafe { device.create_framebuffer(&info, None) }.unwrap(), side }
    }

    /// What an instance of the pass begins with.
    pub fn begin_info<'a>(&self, clears: &'a [vk::ClearValue]) -> vk::RenderPassBeginInfo<'a> {
        vk::RenderPassBeginInfo::default()
            .render_pass(self.raw)
            .framebuffer(self.framebuffer)
            .render_area(area(self.side))
            .clear_values(clears)
    }

    /// Records an instance of the pass in which a pipeline is bound, with what `record` records.
    ///
    /// # Safety
    /// `cmd` is being recorded, outside of a render pass instance, and the pipeline is for the pass.
    pub unsafe fn instance<R>(
        &self,
        device: &ash::Device,
        cmd: vk::CommandBuffer,
        clears: &[vk::ClearValue],
        pipeline: vk::Pipeline,
        record: impl FnOnce() -> R,
    ) -> R {
        let (begin, inline) = (self.begin_info(clears), vk::SubpassContents::INLINE);
        unsafe {
            device.cmd_begin_render_pass(cmd, &begin, inline);
            device.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            let result = record();
            device.cmd_end_render_pass(cmd);
            result
        }
    }

    /// # Safety
    /// Nothing that uses it is in flight.
    pub unsafe fn destroy(self, device: &ash::Device) {
        unsafe {
            device.destroy_framebuffer(self.framebuffer, None);
            device.destroy_render_pass(self.raw, None);
        }
    }
}

/// Creates a render pass that clears `count` attachments, and transitions them to the layout for
/// copying.
///
/// # Safety
/// The device is live.
unsafe fn render_pass(device: &ash::Device, format: vk::Format, count: u32) -> vk::RenderPass {
    let attachment = vk::AttachmentDescription::default()
        .format(format)
        .samples(vk::SampleCountFlags::TYPE_1)
        .load_op(vk::AttachmentLoadOp::CLEAR)
        .store_op(vk::AttachmentStoreOp::STORE)
        .final_layout(vk::ImageLayout::TRANSFER_SRC_OPTIMAL);
    let attachments = vec![attachment; count as usize];
    let layout = vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL;
    let reference = |attachment| vk::AttachmentReference { attachment, layout };
    let references: Vec<_> = (0..count).map(reference).collect();
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
    unsafe { device.create_render_pass(&info, None) }.unwrap()
}

/// Begins a pass without attachments, of one pixel.
///
/// # Safety
/// `cmd` is being recorded, outside of a pass, and dynamic rendering is enabled.
pub unsafe fn begin_rendering(device: &ash::Device, cmd: vk::CommandBuffer) {
    let info = vk::RenderingInfo::default().render_area(area(1)).layer_count(1);
    unsafe { device.cmd_begin_rendering(cmd, &info) };
}

/// The render area that covers a square attachment.
pub fn area(side: u32) -> vk::Rect2D {
    vk::Rect2D::default().extent(vk::Extent2D { width: side, height: side })
}

/// The states, apart from the stages, with which a pipeline draws to `count` square attachments.
pub struct Drawing {
    viewports: [vk::Viewport; 1],
    scissors: [vk::Rect2D; 1],
    blends: Vec<vk::PipelineColorBlendAttachmentState>,
    /// Whether the last vertex is the provoking one. The device needs a feature.
    pub last_vertex: bool,
}

impl Drawing {
    pub fn new(side: u32, blend: vk::PipelineColorBlendAttachmentState, count: u32) -> Self {
        let (width, height) = (side as f32, side as f32);
        let viewport = vk::Viewport { width, height, max_depth: 1.0, ..Default::default() };
        let blends = vec![blend; count as usize];
        Self { viewports: [viewport], scissors: [area(side)], blends, last_vertex: false }
    }

    /// Creates a pipeline of `stages`. `chain` may be null.
    ///
    /// # Safety
    /// The stages are valid and match the layout and the render pass, and the chain is valid.
    pub unsafe fn pipeline(
        &self,
        device: &ash::Device,
        stages: &[vk::PipelineShaderStageCreateInfo<'_>],
        topology: vk::PrimitiveTopology,
        layout: vk::PipelineLayout,
        render_pass: vk::RenderPass,
        chain: *const std::ffi::c_void,
    ) -> vk::Pipeline {
        let input = vk::PipelineVertexInputStateCreateInfo::default();
        unsafe {
            self.pipeline_with_input(device, stages, &input, topology, layout, render_pass, chain)
        }
    }

    /// Does what [`pipeline`](Self::pipeline) does, with vertex buffers.
    ///
    /// # Safety
    /// As there, and the vertex input matches the shader.
    #[allow(clippy::too_many_arguments, reason = "as many as pipeline has, and one")]
    pub unsafe fn pipeline_with_input(
        &self,
        device: &ash::Device,
        stages: &[vk::PipelineShaderStageCreateInfo<'_>],
        vertex_input: &vk::PipelineVertexInputStateCreateInfo<'_>,
        topology: vk::PrimitiveTopology,
        layout: vk::PipelineLayout,
        render_pass: vk::RenderPass,
        chain: *const std::ffi::c_void,
    ) -> vk::Pipeline {
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(topology);
        let viewport = vk::PipelineViewportStateCreateInfo::default()
            .viewports(&self.viewports)
            .scissors(&self.scissors);
        let mut provoking = vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT::default()
            .provoking_vertex_mode(vk::ProvokingVertexModeEXT::LAST_VERTEX);
        let mut raster = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
        if self.last_vertex {
            raster = raster.push_next(&mut provoking);
        }
        let samples = vk::PipelineMultisampleStateCreateInfo::default()
            .rasterization_samples(vk::SampleCountFlags::TYPE_1);
        let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&self.blends);
        let mut info = vk::GraphicsPipelineCreateInfo::default()
            .stages(stages)
            .vertex_input_state(vertex_input)
            .input_assembly_state(&assembly)
            .viewport_state(&viewport)
            .rasterization_state(&raster)
            .multisample_state(&samples)
            .color_blend_state(&blend)
            .layout(layout)
            .render_pass(render_pass);
        info.p_next = chain;
        let cache = vk::PipelineCache::null();
        unsafe { device.create_graphics_pipelines(cache, &[info], None) }.unwrap()[0]
    }
}

/// Creates a shader module of valid words.
///
/// # Safety
/// The device is live.
pub unsafe fn shader_module(device: &ash::Device, words: &[u32]) -> vk::ShaderModule {
    let info = vk::ShaderModuleCreateInfo::default().code(words);
    unsafe { device.create_shader_module(&info, None) }.unwrap()
}

/// Calls `create` with stages of shaders that are named `main`.
///
/// # Safety
/// The device is live.
pub unsafe fn with_stages<R>(
    device: &ash::Device,
    shaders: &[(vk::ShaderStageFlags, &[u32])],
    create: impl FnOnce(&[vk::PipelineShaderStageCreateInfo<'_>]) -> R,
) -> R {
    unsafe {
        let stage = |&(stage, words): &(_, &[u32])| {
            let module = shader_module(device, words);
            vk::PipelineShaderStageCreateInfo::default().stage(stage).module(module).name(c"main")
        };
        let stages: Vec<_> = shaders.iter().map(stage).collect();
        let made = create(&stages);
        stages.iter().for_each(|stage| device.destroy_shader_module(stage.module, None));
        made
    }
}
