//! Images to render to, from which the host reads the pixels.

use anyhow::{Context as _, Result};
use ash::vk;
use vkxfb::runtime::MemoryLocation;
use vkxfb_probe::gpu::Gpu;

use super::SIZE;

/// The size in bytes of a pixel.
const PIXEL: u64 = 4;

/// The number of samples per pixel: 4, which all devices support for the formats of colours and depths here.
pub(super) const SAMPLES: vk::SampleCountFlags = vk::SampleCountFlags::TYPE_4;
const COLOUR: vk::Format = vk::Format::R8G8B8A8_UNORM;
/// Depth formats, of which each device supports at least one.
const DEPTHS: [vk::Format; 3] =
    [vk::Format::D32_SFLOAT, vk::Format::X8_D24_UNORM_PACK32, vk::Format::D16_UNORM];

/// The size of a picture.
const EXTENT: vk::Extent2D = vk::Extent2D { width: SIZE, height: SIZE };

/// Images and a render pass to render a picture.
#[derive(Default)]
pub(super) struct PictureTarget {
    pub(super) render_pass: vk::RenderPass,
    framebuffer: vk::Framebuffer,
    /// The images. The last one is copied to the host.
    attachments: Vec<Attachment>,
}

struct Attachment {
    image: vk::Image,
    memory: vk::DeviceMemory,
    view: vk::ImageView,
}

impl PictureTarget {
    /// Creates the images, the render pass and the framebuffer. Even if that fails, the caller must
    /// call [`destroy`](Self::destroy).
    pub(super) fn make(&mut self, gpu: &Gpu) -> Result<()> {
        use vk::ImageUsageFlags as Usage;
        let depth = depth_format(gpu)?;
        let colour_usage = Usage::COLOR_ATTACHMENT;
        self.render_pass = render_pass(gpu, depth)?;
        self.attach(gpu, COLOUR, SAMPLES, colour_usage | Usage::TRANSIENT_ATTACHMENT)?;
        let usage = Usage::DEPTH_STENCIL_ATTACHMENT | Usage::TRANSIENT_ATTACHMENT;
        self.attach(gpu, depth, SAMPLES, usage)?;
        let one = vk::SampleCountFlags::TYPE_1;
        self.attach(gpu, COLOUR, one, colour_usage | Usage::TRANSFER_SRC)?;
        let views: Vec<_> = self.attachments.iter().map(|attachment| attachment.view).collect();
        let info = vk::FramebufferCreateInfo::default()
            .render_pass(self.render_pass)
            .attachments(&views)
            .width(SIZE)
            .height(SIZE)
            .layers(1);
        let device = gpu.context().device();
        // SAFETY: the views are of the render pass's attachments, and have the size of the
        // framebuffer.
        self.framebuffer = unsafe { device.create_framebuffer(&info, None) }?;
        Ok(())
    }

    fn attach(
        &mut self,
        gpu: &Gpu,
        format: vk::Format,
        samples: vk::SampleCountFlags,
        usage: vk::ImageUsageFlags,
    ) -> Result<()> {
        let device = gpu.context().device();
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(format)
            .extent(EXTENT.into())
            .mip_levels(1)
            .array_layers(1)
            .samples(samples)
            .usage(usage);
        let aspect = match format {
            COLOUR => vk::ImageAspectFlags::COLOR,
            _ => vk::ImageAspectFlags::DEPTH,
        };
        let null = || (vk::DeviceMemory::null(), vk::ImageView::null());
        // SAFETY: the device is live and supports the format. The objects are kept, and destroyed
        // later.
        unsafe {
            let image = device.create_image(&info, None)?;
            let (memory, view) = null();
            self.attachments.push(Attachment { image, memory, view });
            let needs = device.get_image_memory_requirements(image);
            let types = gpu.instance().get_physical_device_memory_properties(gpu.physical_device());
            let is_fit = |(index, ty): &(u32, &vk::MemoryType)| {
                needs.memory_type_bits & (1 << index) != 0
                    && ty.property_flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL)
            };
            let index = (0..).zip(types.memory_types_as_slice()).find(is_fit);
            let (index, _) = index.context("no device memory for an image")?;
            let info = vk::MemoryAllocateInfo::default()
                .allocation_size(needs.size)
                .memory_type_index(index);
            let memory = device.allocate_memory(&info, None)?;
            let own = self.attachments.last_mut().context("no image")?;
            own.memory = memory;
            device.bind_image_memory(image, memory, 0)?;
            let info = vk::ImageViewCreateInfo::default()
                .image(image)
                .view_type(vk::ImageViewType::TYPE_2D)
                .format(format)
                .subresource_range(whole(aspect));
            own.view = device.create_image_view(&info, None)?;
        }
        Ok(())
    }

    /// Renders on a background of one colour, and returns the pixels: red, green, blue and alpha,
    /// row by row.
    ///
    /// # Safety
    /// `draw` records draws for the render pass. Their objects belong to the device, and outlive
    /// the call.
    pub(super) unsafe fn draw(
        &self,
        gpu: &mut Gpu,
        ground: [f32; 4],
        draw: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<Vec<u8>> {
        let Self { render_pass, framebuffer, attachments } = self;
        let image = attachments.last().context("no image")?.image;
        let bytes = u64::from(SIZE) * u64::from(SIZE) * PIXEL;
        let usage = vk::BufferUsageFlags::TRANSFER_DST;
        let buffer = gpu.create_buffer(bytes, usage, MemoryLocation::Device)?;
        let area = vk::Rect2D { offset: vk::Offset2D::default(), extent: EXTENT };
        let viewport = vk::Viewport {
            width: SIZE as f32,
            height: SIZE as f32,
            max_depth: 1.0,
            ..vk::Viewport::default()
        };
        let clear = [
            vk::ClearValue { color: vk::ClearColorValue { float32: ground } },
            vk::ClearValue { depth_stencil: vk::ClearDepthStencilValue { depth: 1.0, stencil: 0 } },
        ];
        let begin = vk::RenderPassBeginInfo::default()
            .render_pass(*render_pass)
            .framebuffer(*framebuffer)
            .render_area(area)
            .clear_values(&clear);
        let layers = vk::ImageSubresourceLayers::default()
            .aspect_mask(vk::ImageAspectFlags::COLOR)
            .layer_count(1);
        let region = vk::BufferImageCopy::default()
            .image_subresource(layers)
            .image_extent(area.extent.into());
        let result = gpu.submit(|context, cmd| {
            let device = context.device();
            // SAFETY: the command buffer is being recorded. The render pass leaves the image in the
            // layout for copies, and the buffer is large enough for the copy.
            unsafe {
                device.cmd_begin_render_pass(cmd, &begin, vk::SubpassContents::INLINE);
                device.cmd_set_viewport(cmd, 0, &[viewport]);
                device.cmd_set_scissor(cmd, 0, &[area]);
                draw(device, cmd);
                device.cmd_end_render_pass(cmd);
                let layout = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
                device.cmd_copy_image_to_buffer(cmd, image, layout, buffer.raw(), &[region]);
                let copied = vk::MemoryBarrier::default()
                    .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
                    .dst_access_mask(vk::AccessFlags::TRANSFER_READ);
                device.cmd_pipeline_barrier(
                    cmd,
                    vk::PipelineStageFlags::TRANSFER,
                    vk::PipelineStageFlags::TRANSFER,
                    vk::DependencyFlags::empty(),
                    &[copied],
                    &[],
                    &[],
                );
            }
            Ok(())
        });
        let pixels = result.and_then(|()| gpu.read(&buffer, 0..bytes));
        gpu.destroy_buffer(buffer);
        Ok(pixels?)
    }

    /// Destroys all objects, as far as they exist.
    ///
    /// # Safety
    /// The device no longer uses them.
    pub(super) unsafe fn destroy(self, device: &ash::Device) {
        // SAFETY: the caller's contract. Destroying null handles is allowed.
        unsafe {
            device.destroy_framebuffer(self.framebuffer, None);
            device.destroy_render_pass(self.render_pass, None);
            for Attachment { image, memory, view } in self.attachments {
                device.destroy_image_view(view, None);
                device.destroy_image(image, None);
                device.free_memory(memory, None);
            }
        }
    }
}

fn depth_format(gpu: &Gpu) -> Result<vk::Format> {
    let is_fit = |format: &vk::Format| {
        // SAFETY: the physical device belongs to the instance.
        let properties = unsafe {
            gpu.instance().get_physical_device_format_properties(gpu.physical_device(), *format)
        };
        let attachment = vk::FormatFeatureFlags::DEPTH_STENCIL_ATTACHMENT;
        properties.optimal_tiling_features.contains(attachment)
    };
    DEPTHS.into_iter().find(is_fit).context("the device has no depth buffers")
}

/// Creates a render pass with a multisampled colour and depth image. The colours are resolved to
/// another image, which is then copied.
fn render_pass(gpu: &Gpu, depth: vk::Format) -> Result<vk::RenderPass> {
    use vk::{AccessFlags as Access, ImageLayout as Layout, PipelineStageFlags as Stage};
    let attachment = |format, samples, load, store, layout| {
        vk::AttachmentDescription::default()
            .format(format)
            .samples(samples)
            .load_op(load)
            .store_op(store)
            .stencil_load_op(vk::AttachmentLoadOp::DONT_CARE)
            .stencil_store_op(vk::AttachmentStoreOp::DONT_CARE)
            .final_layout(layout)
    };
    let (clear, unused) = (vk::AttachmentLoadOp::CLEAR, vk::AttachmentStoreOp::DONT_CARE);
    let (colours, depths) =
        (Layout::COLOR_ATTACHMENT_OPTIMAL, Layout::DEPTH_STENCIL_ATTACHMENT_OPTIMAL);
    let one = vk::SampleCountFlags::TYPE_1;
    let attachments = [
        attachment(COLOUR, SAMPLES, clear, unused, colours),
        attachment(depth, SAMPLES, clear, unused, depths),
        attachment(
            COLOUR,
            one,
            vk::AttachmentLoadOp::DONT_CARE,
            vk::AttachmentStoreOp::STORE,
            Layout::TRANSFER_SRC_OPTIMAL,
        ),
    ];
    let reference = |attachment, layout| vk::AttachmentReference { attachment, layout };
    let (colour, resolved) = ([reference(0, colours)], [reference(2, colours)]);
    let depth = reference(1, depths);
    let subpasses = [vk::SubpassDescription::default()
        .pipeline_bind_point(vk::PipelineBindPoint::GRAPHICS)
        .color_attachments(&colour)
        .resolve_attachments(&resolved)
        .depth_stencil_attachment(&depth)];
    let copied = [vk::SubpassDependency::default()
        .src_subpass(0)
        .dst_subpass(vk::SUBPASS_EXTERNAL)
        .src_stage_mask(Stage::COLOR_ATTACHMENT_OUTPUT)
        .src_access_mask(Access::COLOR_ATTACHMENT_WRITE)
        .dst_stage_mask(Stage::TRANSFER)
        .dst_access_mask(Access::TRANSFER_READ)];
    let info = vk::RenderPassCreateInfo::default()
        .attachments(&attachments)
        .subpasses(&subpasses)
        .dependencies(&copied);
    // SAFETY: the device is live, and supports the formats.
    Ok(unsafe { gpu.context().device().create_render_pass(&info, None) }?)
}

fn whole(aspect: vk::ImageAspectFlags) -> vk::ImageSubresourceRange {
    vk::ImageSubresourceRange::default().aspect_mask(aspect).level_count(1).layer_count(1)
}
