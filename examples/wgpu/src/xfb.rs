//! What the example has of vkxfb: a device, what is made once, and a capture.

use anyhow::{Context as _, Result};
use vkxfb::ash::vk;
use vkxfb::capture::CaptureList;
use vkxfb::lower::compute;
use vkxfb::runtime::vulkan::vertex_input_descriptions;
use vkxfb::*;
use wgpu::hal;
use wgpu::hal::api::Vulkan;

use super::scene::{Captured, INDICES, Vertex};
use super::set::UniformSet;

/// wgpu's device, with what captures need beside: `request_device` would leave that out. Captures reach buffers by their
/// addresses, or by descriptors.
///
/// # Safety
/// The context and what is made with it are used no longer than the device lives.
pub unsafe fn device(
    adapter: &wgpu::Adapter,
    addresses: bool,
) -> Result<(wgpu::Device, wgpu::Queue, Context)> {
    let desc = wgpu::DeviceDescriptor::default();
    let (features, limits) = (desc.required_features, &desc.required_limits);
    // SAFETY: the handles are of one instance, which `adapter` keeps, and the device is created with what wgpu wants.
    unsafe {
        let hal = adapter.as_hal::<Vulkan>().context("not an adapter of Vulkan")?;
        let (shared, physical_device) = (hal.shared_instance(), hal.raw_physical_device());
        let (instance, version) = (shared.raw_instance(), shared.instance_api_version());
        let mut caps = Capabilities::query(shared.entry(), instance, version, physical_device)?;
        if !addresses {
            caps.buffer_device_address = None;
        }
        let required = required_features(&caps, &[Backend::Compute])?;

        // What wgpu would create the device with.
        let extensions = hal.required_device_extensions(features);
        let mut enabled = hal.physical_device_features(&extensions, features);
        let names: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&names);
        let info = enabled.add_to_device_create(info);
        let raw = required
            .with_create_info(info, |info| instance.create_device(physical_device, info, None))?;

        let context = Context::new(instance, &raw, caps, required)?;
        let hints = &desc.memory_hints;
        let open = hal.device_from_raw(raw, None, &extensions, features, limits, hints, 0, 0)?;
        let (device, queue) = adapter.create_device_from_hal(open, &desc)?;
        Ok((device, queue, context))
    }
}

/// What captures take that is made once.
pub struct Xfb {
    context: Context,
    allocator: SimpleAllocator,
    pipeline: Pipeline,
    kernels: Kernels,
    arena: Arena,
    set: UniformSet,
    /// Those with addresses.
    buffers: Vec<Buffer>,
}

impl Xfb {
    /// # Safety
    /// The context is of a device of the adapter, which lives until [`destroy`](Self::destroy), and so does the buffer.
    pub unsafe fn new(
        adapter: &wgpu::Adapter,
        context: Context,
        shader: &str,
        uniform: &wgpu::Buffer,
    ) -> Result<Self> {
        let words = frontend::wgsl::vertex_shader(shader, Some("bend"))?;
        // An output by its name in WGSL, or by its location.
        let list = CaptureList::new(size_of::<Captured>() as u32)
            .output("@Position", 0)
            .output("colour", 16);
        let binding =
            vk::VertexInputBindingDescription::default().stride(size_of::<Vertex>() as u32);
        let attribute =
            vk::VertexInputAttributeDescription::default().format(vk::Format::R32G32_SFLOAT);
        let vertex_input = vertex_input_descriptions(&[binding], &[attribute])?;
        let options = compute::Options::new(&vertex_input).target(context.compute_target()?);
        let lowered = compute::lower(&Shader::new(&words).captures(&list), &options)?;
        unsafe {
            let set = UniformSet::new(context.device(), raw(uniform)?)?;
            let pipeline = Pipeline::new(
                &context,
                &PipelineDesc { set_layouts: &[set.layout], ..PipelineDesc::new(&lowered) },
            )?;
            let kernels = Kernels::new(&context)?;
            let hal = adapter.as_hal::<Vulkan>().context("not an adapter of Vulkan")?;
            let instance = hal.shared_instance().raw_instance();
            let mut allocator = SimpleAllocator::new(instance, hal.raw_physical_device(), &context);
            let arena = Arena::new(&context, &mut allocator, ArenaDesc::new(1, 1))?;
            Ok(Self { context, allocator, pipeline, kernels, arena, set, buffers: Vec::new() })
        }
    }

    /// A buffer that captures take, and wgpu too.
    ///
    /// # Safety
    /// It is used no longer than until [`destroy`](Self::destroy).
    pub unsafe fn buffer(
        &mut self,
        device: &wgpu::Device,
        label: &'static str,
        size: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer> {
        let mut desc =
            wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
        if !self.context.has_addresses() {
            // Descriptors reach buffers with this usage.
            desc.usage |= wgpu::BufferUsages::STORAGE;
            // wgpu zeroes what was never written before the first use that it knows of: after the capture. What was
            // mapped counts as written.
            desc.mapped_at_creation = true;
            let buffer = device.create_buffer(&desc);
            buffer.unmap();
            return Ok(buffer);
        }
        // wgpu's own buffers have no addresses, but it takes those of others.
        let Self { context, allocator, buffers, .. } = self;
        let usage = context.buffer_usages(Backend::Compute).capture
            | vk::BufferUsageFlags::VERTEX_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let with_address =
            BufferDesc { name: "wgpu", size, usage, location: MemoryLocation::Device };
        unsafe {
            let buffer = Buffer::new(context, allocator, &with_address)?;
            let hal = hal::vulkan::Buffer::from_raw_externally_owned(buffer.raw(), Box::new(|| ()));
            buffers.push(buffer);
            Ok(device.create_buffer_from_hal::<Vulkan>(hal, &desc))
        }
    }

    /// Records a capture. The encoder is for that alone, since wgpu's own commands may not be recorded to it, too.
    ///
    /// # Safety
    /// The buffers live until the device is done with it, and no earlier capture is executed any more.
    pub unsafe fn capture(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        vertices: &wgpu::Buffer,
        indices: &wgpu::Buffer,
        captured: &wgpu::Buffer,
    ) -> Result<()> {
        let Self { context, allocator, pipeline, kernels, arena, set, .. } = self;
        unsafe {
            arena.reset();
            let vertex_buffers = &[VertexBuffer::new(0, raw(vertices)?, vertices.size())];
            let indices = IndexBuffer::new(raw(indices)?, indices.size(), IndexType::Uint16);
            let buffers = &[Some(CaptureBuffer::new(raw(captured)?, captured.size()))];
            let desc = CaptureDesc { buffers, vertex_buffers, ..CaptureDesc::new(pipeline) };
            encoder.as_hal_mut::<Vulkan, _, _>(|encoder| {
                let cmd = encoder.context("not an encoder of Vulkan")?.raw_handle();
                let mut capture = Capture::new(context, kernels);
                let arena = arena.growing(allocator);
                let mut recorder = Recorder::begin(&mut capture, arena, cmd, &desc)?;
                recorder.bind_descriptor_sets(0, &[set.raw], &[])?;
                recorder.bind_index_buffer(&indices)?;
                recorder
                    .draw_indexed(PrimitiveTopology::TriangleList, &DrawIndexed::new(INDICES))?;
                recorder.end(&[])?;
                Ok(())
            })
        }
    }

    /// # Safety
    /// The device is idle, and wgpu's buffers are dropped.
    pub unsafe fn destroy(mut self) {
        unsafe {
            self.set.destroy(self.context.device());
            let objects = (self.buffers, self.arena, self.kernels, self.pipeline);
            self.context.destroy(objects, &mut self.allocator);
        }
    }
}

/// The handle of wgpu's buffer.
fn raw(buffer: &wgpu::Buffer) -> Result<vk::Buffer> {
    // SAFETY: nobody here destroys it by its handle.
    let hal = unsafe { buffer.as_hal::<Vulkan>() }.context("not a buffer of Vulkan")?;
    // SAFETY: as above.
    Ok(unsafe { hal.raw_handle() })
}
