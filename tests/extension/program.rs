//! A program that captures with the commands of the extension.

use std::ffi::{CStr, c_void};
use std::ops::Deref;

use ash::{ext, vk};

use crate::common::bare::{BareDevice, BareInstance, HostBuffer};
use crate::common::{self, discard, layer};

/// A device with transform feedback and dynamic rendering, and the buffers that the program has
/// created.
pub struct Program {
    device: BareDevice,
    xfb: CaptureCommands,
    buffers: Vec<HostBuffer>,
}

impl Deref for Program {
    type Target = BareDevice;

    fn deref(&self) -> &BareDevice {
        &self.device
    }
}

/// The commands of the extension.
pub struct CaptureCommands(ext::transform_feedback::Device);

impl Deref for CaptureCommands {
    type Target = ext::transform_feedback::DeviceFn;

    fn deref(&self) -> &Self::Target {
        self.0.fp()
    }
}

/// Commands that capture to one buffer, without counters.
impl CaptureCommands {
    pub fn new(device: &BareDevice) -> Self {
        Self(ext::transform_feedback::Device::new(device.instance(), &device.raw))
    }

    /// # Safety
    /// The command buffer is being recorded, and the range is in the buffer.
    pub unsafe fn bind_target(&self, cmd: vk::CommandBuffer, to: vk::Buffer, at: u64, size: u64) {
        unsafe { (self.cmd_bind_transform_feedback_buffers_ext)(cmd, 0, 1, &to, &at, &size) };
    }

    /// # Safety
    /// The command buffer is being recorded, in a pass, with all that a capture needs.
    pub unsafe fn begin(&self, cmd: vk::CommandBuffer) {
        let (none, nowhere) = (std::ptr::null(), std::ptr::null());
        unsafe { (self.cmd_begin_transform_feedback_ext)(cmd, 0, 0, none, nowhere) };
    }

    /// # Safety
    /// The command buffer is being recorded, and a capture has begun.
    pub unsafe fn end(&self, cmd: vk::CommandBuffer) {
        let (none, nowhere) = (std::ptr::null(), std::ptr::null());
        unsafe { (self.cmd_end_transform_feedback_ext)(cmd, 0, 0, none, nowhere) };
    }
}

/// Whether the device has transform feedback, and these extensions. If not, the test is skipped.
pub fn has(extensions: &[&CStr]) -> bool {
    let wanted = [&[ext::transform_feedback::NAME], extensions].concat();
    let lacks = BareInstance::open_newer().lacks(&wanted);
    if let Some(name) = lacks {
        let given = [ext::transform_feedback::NAME, ext::primitives_generated_query::NAME];
        layer::skip_without(&name.to_string_lossy(), given.contains(&name));
    }
    lacks.is_none()
}

impl Program {
    pub fn open() -> Self {
        let mut feature =
            vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
        let mut rendering = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut feature)
            .push_next(&mut rendering);
        let extensions = [ext::transform_feedback::NAME.as_ptr()];
        Self::on(BareInstance::open().into_device(&mut features, &extensions))
    }

    /// A program on a device with transform feedback.
    pub fn on(device: BareDevice) -> Self {
        let xfb = CaptureCommands::new(&device);
        Self { device, xfb, buffers: Vec::new() }
    }

    /// A program of what is newer than ash: with these extensions, with device addresses, and with
    /// the features of a chain. `None` where the device lacks an extension.
    pub fn newer(extensions: &[&CStr], chain: *mut c_void) -> Option<Self> {
        if !has(extensions) {
            return None;
        }
        let instance = BareInstance::open_newer();
        let physical = instance.physical_device();
        let mut names: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
        names.push(ext::transform_feedback::NAME.as_ptr());
        let mut feature =
            vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
        feature.p_next = chain;
        let mut addresses =
            vk::PhysicalDeviceVulkan12Features::default().buffer_device_address(true);
        addresses.p_next = (&raw mut feature).cast();
        let mut rendering = vk::PhysicalDeviceVulkan13Features::default()
            .dynamic_rendering(true)
            .pipeline_creation_cache_control(true)
            .synchronization2(true);
        rendering.p_next = (&raw mut addresses).cast();
        let p_next = (&raw mut rendering).cast();
        // SAFETY: the instance is live.
        let core = unsafe { instance.raw.get_physical_device_features(physical) };
        let core = vk::PhysicalDeviceFeatures::default()
            .geometry_shader(core.geometry_shader == vk::TRUE)
            .tessellation_shader(core.tessellation_shader == vk::TRUE);
        let mut features =
            vk::PhysicalDeviceFeatures2 { p_next, features: core, ..Default::default() };
        Some(Self::on(instance.into_device(&mut features, &names)))
    }

    /// A pipeline of a vertex shader that captures in dynamic rendering, without rasterization. The input at location 0
    /// is a `uint` of binding 0.
    ///
    /// # Safety
    /// The shader is valid, and the layout has what it reads.
    pub unsafe fn pipeline(&self, shader: &str, layout: vk::PipelineLayout) -> vk::Pipeline {
        unsafe { self.pipeline_in(vk::RenderPass::null(), shader, layout) }
    }

    /// A pipeline as that of [`pipeline`](Self::pipeline), for the first subpass of a render pass. If that is null, the
    /// pipeline is for dynamic rendering.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn pipeline_in(
        &self,
        pass: vk::RenderPass,
        shader: &str,
        layout: vk::PipelineLayout,
    ) -> vk::Pipeline {
        let bindings = [vk::VertexInputBindingDescription::default().stride(4)];
        let attributes =
            [vk::VertexInputAttributeDescription::default().format(vk::Format::R32_UINT)];
        let input = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&bindings)
            .vertex_attribute_descriptions(&attributes);
        let info = vk::GraphicsPipelineCreateInfo::default()
            .vertex_input_state(&input)
            .layout(layout)
            .render_pass(pass);
        let shaders = [(vk::ShaderStageFlags::VERTEX, &*common::compile(shader, &[]))];
        unsafe { discard::of_shaders(&self.device.raw, &shaders, info) }
    }

    /// A command of the device, of a type that ash does not have.
    ///
    /// # Safety
    /// The type is that of the command.
    pub unsafe fn command<F>(&self, name: &CStr) -> F {
        let get = self.instance().fp_v1_0().get_device_proc_addr;
        // SAFETY: the device is live; the rest is the caller's contract.
        unsafe {
            let found = get(self.raw.handle(), name.as_ptr());
            let found = found.unwrap_or_else(|| panic!("no {}", name.to_string_lossy()));
            std::mem::transmute_copy(&found)
        }
    }

    /// A buffer of so many dwords with an address, in memory that the host sees.
    pub fn buffer_with_address(
        &mut self,
        dwords: usize,
        usage: vk::BufferUsageFlags2KHR,
    ) -> (vk::Buffer, *mut u32, vk::DeviceAddress) {
        let address = vk::BufferUsageFlags2KHR::SHADER_DEVICE_ADDRESS;
        let mut usage = vk::BufferUsageFlags2CreateInfoKHR::default().usage(usage | address);
        let info = vk::BufferCreateInfo::default().size(4 * dwords as u64).push_next(&mut usage);
        let flags =
            vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let buffer = self.host_buffer_with(&info, (&raw const flags).cast());
        let info = vk::BufferDeviceAddressInfo::default().buffer(buffer.raw);
        // SAFETY: the device is live, and has addresses.
        let address = unsafe { self.raw.get_buffer_device_address(&info) };
        let (raw, mapped) = (buffer.raw, buffer.pointer());
        self.buffers.push(buffer);
        (raw, mapped, address)
    }

    /// Records a secondary command buffer of a pool, which is executed in a pass.
    ///
    /// # Safety
    /// The pool is of the device, and what the command buffer inherits is valid, and what `record` records.
    pub unsafe fn secondary(
        &self,
        pool: vk::CommandPool,
        inherited: &vk::CommandBufferInheritanceInfo<'_>,
        record: impl FnOnce(vk::CommandBuffer),
    ) -> vk::CommandBuffer {
        let raw = &self.raw;
        let continues = vk::CommandBufferBeginInfo::default()
            .flags(vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE)
            .inheritance_info(inherited);
        unsafe {
            let inner = self.command_buffers(pool, vk::CommandBufferLevel::SECONDARY, 1)[0];
            raw.begin_command_buffer(inner, &continues).unwrap();
            record(inner);
            raw.end_command_buffer(inner).unwrap();
            inner
        }
    }

    pub const fn xfb(&self) -> &CaptureCommands {
        &self.xfb
    }

    /// Creates a buffer of `dwords` dwords, which is mapped, and lives until the program is closed.
    pub fn buffer(&mut self, dwords: usize, usage: vk::BufferUsageFlags) -> (vk::Buffer, *mut u32) {
        let buffer = self.device.host_buffer(4 * dwords as u64, usage);
        let (raw, mapped) = (buffer.raw, buffer.pointer());
        self.buffers.push(buffer);
        (raw, mapped)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        for buffer in self.buffers.drain(..) {
            // SAFETY: nothing is in flight.
            unsafe { self.device.destroy_buffer(buffer) };
        }
    }
}
