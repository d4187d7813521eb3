//! An image to draw into, with a depth buffer, that is read back.

use anyhow::{Context as _, Result};
use ash::vk;

use super::gpu::Gpu;

pub const COLOUR: vk::Format = vk::Format::R8G8B8A8_UNORM;
pub const DEPTH: vk::Format = vk::Format::D32_SFLOAT;

/// Bytes of a pixel.
const PIXEL: u64 = 4;

/// The image, and memory that it is copied to.
pub struct Target {
    pub extent: vk::Extent2D,
    colour: Attachment,
    depth: Attachment,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
}

struct Attachment {
    image: vk::Image,
    view: vk::ImageView,
    memory: vk::DeviceMemory,
    aspect: vk::ImageAspectFlags,
}

impl Target {
    /// # Safety
    /// The device is live; the target is destroyed before it.
    pub unsafe fn new(gpu: &Gpu, width: u32, height: u32) -> Result<Self> {
        let extent = vk::Extent2D { width, height };
        let size = u64::from(width) * u64::from(height) * PIXEL;
        unsafe {
            let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
            let colour = Attachment::new(gpu, extent, COLOUR, usage, vk::ImageAspectFlags::COLOR)?;
            let usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
            let depth = Attachment::new(gpu, extent, DEPTH, usage, vk::ImageAspectFlags::DEPTH)?;
            let info = vk::BufferCreateInfo::default()
                .size(size)
                .usage(vk::BufferUsageFlags::TRANSFER_DST);
            let buffer = gpu.device.create_buffer(&info, None)?;
            let needs = gpu.device.get_buffer_memory_requirements(buffer);
            let flags =
                vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
            let memory = allocate(gpu, needs, flags)?;
            gpu.device.bind_buffer_memory(buffer, memory, 0)?;
            Ok(Self { extent, colour, depth, buffer, memory })
        }
    }

    /// Begins to draw, on a ground of one colour.
    ///
    /// # Safety
    /// `cmd` is being recorded, outside of a render pass instance.
    pub unsafe fn begin(&self, gpu: &Gpu, cmd: vk::CommandBuffer, ground: [f32; 4]) {
        use vk::{AccessFlags as Access, ImageLayout as Layout, PipelineStageFlags as Stage};
        let colour = vk::ClearValue { color: vk::ClearColorValue { float32: ground } };
        let depth =
            vk::ClearValue { depth_stencil: vk::ClearDepthStencilValue { depth: 1.0, stencil: 0 } };
        let colours = [self.colour.info(Layout::COLOR_ATTACHMENT_OPTIMAL, colour)];
        let depth = self.depth.info(Layout::DEPTH_ATTACHMENT_OPTIMAL, depth);
        let area = vk::Rect2D { offset: vk::Offset2D::default(), extent: self.extent };
        let info = vk::RenderingInfo::default()
            .render_area(area)
            .layer_count(1)
            .color_attachments(&colours)
            .depth_attachment(&depth);
        // What was drawn before may still be written, or copied from.
        let colour_write = Access::COLOR_ATTACHMENT_WRITE;
        let depth_write = Access::DEPTH_STENCIL_ATTACHMENT_WRITE;
        let tests = Stage::EARLY_FRAGMENT_TESTS | Stage::LATE_FRAGMENT_TESTS;
        let earlier = Stage::COLOR_ATTACHMENT_OUTPUT | Stage::TRANSFER;
        let barriers = [
            self.colour.barrier(Layout::UNDEFINED, Layout::COLOR_ATTACHMENT_OPTIMAL),
            self.depth.barrier(Layout::UNDEFINED, Layout::DEPTH_ATTACHMENT_OPTIMAL),
        ];
        let [colour, depth] = barriers;
        let barriers = [
            colour.src_access_mask(colour_write).dst_access_mask(colour_write),
            depth
                .src_access_mask(depth_write)
                .dst_access_mask(depth_write | Access::DEPTH_STENCIL_ATTACHMENT_READ),
        ];
        unsafe {
            gpu.device.cmd_pipeline_barrier(
                cmd,
                earlier | tests,
                Stage::COLOR_ATTACHMENT_OUTPUT | tests,
                vk::DependencyFlags::empty(),
                &[],
                &[],
                &barriers,
            );
            gpu.device.cmd_begin_rendering(cmd, &info);
            self.set_area(gpu, cmd, area);
        }
    }

    /// Draws go there, and nowhere else.
    ///
    /// # Safety
    /// `cmd` is being recorded.
    pub unsafe fn set_area(&self, gpu: &Gpu, cmd: vk::CommandBuffer, area: vk::Rect2D) {
        let vk::Rect2D { offset, extent } = area;
        let viewport = vk::Viewport {
            x: offset.x as f32,
            y: offset.y as f32,
            width: extent.width as f32,
            height: extent.height as f32,
            min_depth: 0.0,
            max_depth: 1.0,
        };
        unsafe {
            gpu.device.cmd_set_viewport(cmd, 0, &[viewport]);
            gpu.device.cmd_set_scissor(cmd, 0, &[area]);
        }
    }

    /// Ends drawing, and copies the image where [`pixels`](Self::pixels) finds it.
    ///
    /// # Safety
    /// `cmd` is being recorded, behind [`begin`](Self::begin).
    pub unsafe fn end(&self, gpu: &Gpu, cmd: vk::CommandBuffer) {
        use vk::{AccessFlags as Access, ImageLayout as Layout, PipelineStageFlags as Stage};
        let drawn = self
            .colour
            .barrier(Layout::COLOR_ATTACHMENT_OPTIMAL, Layout::TRANSFER_SRC_OPTIMAL)
            .src_access_mask(Access::COLOR_ATTACHMENT_WRITE)
            .dst_access_mask(Access::TRANSFER_READ);
        let copied = vk::MemoryBarrier::default()
            .src_access_mask(Access::TRANSFER_WRITE)
            .dst_access_mask(Access::HOST_READ | Access::TRANSFER_WRITE);
        let layers = vk::ImageSubresourceLayers::default()
            .aspect_mask(vk::ImageAspectFlags::COLOR)
            .layer_count(1);
        let region = vk::BufferImageCopy::default()
            .image_subresource(layers)
            .image_extent(self.extent.into());
        let none = vk::DependencyFlags::empty();
        unsafe {
            let (device, from) = (&gpu.device, Stage::COLOR_ATTACHMENT_OUTPUT);
            device.cmd_end_rendering(cmd);
            device.cmd_pipeline_barrier(cmd, from, Stage::TRANSFER, none, &[], &[], &[drawn]);
            device.cmd_copy_image_to_buffer(
                cmd,
                self.colour.image,
                Layout::TRANSFER_SRC_OPTIMAL,
                self.buffer,
                &[region],
            );
            let (from, to) = (Stage::TRANSFER, Stage::HOST | Stage::TRANSFER);
            device.cmd_pipeline_barrier(cmd, from, to, none, &[copied], &[], &[]);
        }
    }

    /// Red, green, blue and alpha of each pixel, row by row.
    ///
    /// # Safety
    /// The device is done with the command buffer of [`end`](Self::end).
    pub unsafe fn pixels(&self, gpu: &Gpu) -> Result<Vec<u8>> {
        let size = self.extent.width as usize * self.extent.height as usize * PIXEL as usize;
        // SAFETY: the caller's contract; the memory holds as much, and is mapped only here.
        unsafe {
            let flags = vk::MemoryMapFlags::empty();
            let mapped = gpu.device.map_memory(self.memory, 0, vk::WHOLE_SIZE, flags)?;
            let pixels = std::slice::from_raw_parts(mapped.cast::<u8>(), size).to_vec();
            gpu.device.unmap_memory(self.memory);
            Ok(pixels)
        }
    }

    /// # Safety
    /// The device no longer uses it.
    pub unsafe fn destroy(self, gpu: &Gpu) {
        unsafe {
            for attachment in [self.colour, self.depth] {
                gpu.device.destroy_image_view(attachment.view, None);
                gpu.device.destroy_image(attachment.image, None);
                gpu.device.free_memory(attachment.memory, None);
            }
            gpu.device.destroy_buffer(self.buffer, None);
            gpu.device.free_memory(self.memory, None);
        }
    }
}

/// # Safety
/// The device is live.
unsafe fn allocate(
    gpu: &Gpu,
    needs: vk::MemoryRequirements,
    flags: vk::MemoryPropertyFlags,
) -> Result<vk::DeviceMemory> {
    let index = gpu.memory_type(needs.memory_type_bits, flags).context("no such memory")?;
    let info =
        vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(index);
    Ok(unsafe { gpu.device.allocate_memory(&info, None) }?)
}

impl Attachment {
    /// # Safety
    /// The device is live, and has the format with that usage.
    unsafe fn new(
        gpu: &Gpu,
        extent: vk::Extent2D,
        format: vk::Format,
        usage: vk::ImageUsageFlags,
        aspect: vk::ImageAspectFlags,
    ) -> Result<Self> {
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(format)
            .extent(extent.into())
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .usage(usage);
        unsafe {
            let image = gpu.device.create_image(&info, None)?;
            let needs = gpu.device.get_image_memory_requirements(image);
            let memory = allocate(gpu, needs, vk::MemoryPropertyFlags::DEVICE_LOCAL)?;
            gpu.device.bind_image_memory(image, memory, 0)?;
            let info = vk::ImageViewCreateInfo::default()
                .image(image)
                .view_type(vk::ImageViewType::TYPE_2D)
                .format(format)
                .subresource_range(whole(aspect));
            let view = gpu.device.create_image_view(&info, None)?;
            Ok(Self { image, view, memory, aspect })
        }
    }

    fn info(
        &self,
        layout: vk::ImageLayout,
        clear: vk::ClearValue,
    ) -> vk::RenderingAttachmentInfo<'static> {
        vk::RenderingAttachmentInfo::default()
            .image_view(self.view)
            .image_layout(layout)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE)
            .clear_value(clear)
    }

    fn barrier(
        &self,
        from: vk::ImageLayout,
        to: vk::ImageLayout,
    ) -> vk::ImageMemoryBarrier<'static> {
        vk::ImageMemoryBarrier::default()
            .old_layout(from)
            .new_layout(to)
            .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .image(self.image)
            .subresource_range(whole(self.aspect))
    }
}

fn whole(aspect: vk::ImageAspectFlags) -> vk::ImageSubresourceRange {
    vk::ImageSubresourceRange::default().aspect_mask(aspect).level_count(1).layer_count(1)
}
