//! A device that captures natively with tessellation and geometry shaders. The probe's device only
//! supports vertex shaders.

use ash::{ext, vk};

use crate::common::attachment::area;
use crate::common::bare::{BareDevice, BareInstance};
use crate::common::discard;
use crate::common::skip::{Why, skip};

/// The byte with which capture buffers are filled before a capture.
pub const BEFORE: u8 = 0xa5;

/// A draw of points, or of patches of one control point, and its capture buffers.
pub struct Scene<'a> {
    /// Shaders named `main`, from the vertex shader to the one that is captured.
    pub stages: &'a [(vk::ShaderStageFlags, &'a [u32])],
    pub vertices: u32,
    /// The size of each capture buffer in bytes.
    pub buffers: &'a [usize],
}

/// The first device, with tessellation and geometry shaders and native transform feedback.
pub struct Device {
    device: BareDevice,
    xfb: ext::transform_feedback::Device,
}

impl Device {
    /// Opens the first device, or returns `None` if it lacks a feature.
    pub fn open() -> Option<Self> {
        let instance = BareInstance::open();
        let mut has_xfb = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
        let mut has = vk::PhysicalDeviceFeatures2::default().push_next(&mut has_xfb);
        // SAFETY: the instance is live.
        unsafe { instance.raw.get_physical_device_features2(instance.physical_device(), &mut has) };
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
            skip(Why::Expected("the device lacks features"));
            return None;
        }
        let enabled = vk::PhysicalDeviceFeatures::default()
            .tessellation_shader(true)
            .geometry_shader(true)
            .shader_float64(true)
            .shader_tessellation_and_geometry_point_size(true);
        has_xfb.p_next = std::ptr::null_mut();
        let mut features =
            vk::PhysicalDeviceFeatures2::default().features(enabled).push_next(&mut has_xfb);
        let device = instance.into_device(&mut features, &[ext::transform_feedback::NAME.as_ptr()]);
        let xfb = ext::transform_feedback::Device::new(device.instance(), &device.raw);
        Some(Self { device, xfb })
    }

    pub fn limits(&self) -> &vk::PhysicalDeviceLimits {
        &self.device.limits
    }

    /// Draws a scene, and returns the contents of each capture buffer.
    pub fn capture(&self, scene: &Scene<'_>) -> Vec<Vec<u8>> {
        let device = &self.device.raw;
        let writes = (
            vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT,
            vk::AccessFlags::TRANSFORM_FEEDBACK_WRITE_EXT,
        );
        // SAFETY: every handle is of the device, and in use only until the submission is done.
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
            self.device.submit(writes, |cmd| {
                let begin = vk::RenderPassBeginInfo::default()
                    .render_pass(pass)
                    .framebuffer(framebuffer)
                    .render_area(area(1));
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
            });

            let read = |((buffer, memory), size): (&(vk::Buffer, vk::DeviceMemory), &usize)| {
                let flags = vk::MemoryMapFlags::empty();
                let mapped = device.map_memory(*memory, 0, vk::WHOLE_SIZE, flags).unwrap();
                let bytes = std::slice::from_raw_parts(mapped.cast::<u8>(), *size).to_vec();
                device.destroy_buffer(*buffer, None);
                device.free_memory(*memory, None);
                bytes
            };
            let result = buffers.iter().zip(scene.buffers).map(read).collect();
            device.destroy_pipeline(pipeline, None);
            device.destroy_pipeline_layout(layout, None);
            device.destroy_framebuffer(framebuffer, None);
            device.destroy_render_pass(pass, None);
            result
        }
    }

    /// Creates a capture buffer that the host can read.
    fn buffer(&self, size: usize) -> (vk::Buffer, vk::DeviceMemory) {
        let usage = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT;
        let (buffer, memory) = self.device.host_buffer(size as u64, usage);
        let (device, flags) = (&self.device.raw, vk::MemoryMapFlags::empty());
        // SAFETY: the memory is the buffer's, and the host sees it.
        unsafe {
            let mapped = device.map_memory(memory, 0, vk::WHOLE_SIZE, flags).unwrap();
            mapped.cast::<u8>().write_bytes(BEFORE, size);
            device.unmap_memory(memory);
        }
        (buffer, memory)
    }

    unsafe fn pipeline(
        &self,
        scene: &Scene<'_>,
        layout: vk::PipelineLayout,
        pass: vk::RenderPass,
    ) -> vk::Pipeline {
        let has = |stage| scene.stages.iter().any(|(of, _)| *of == stage);
        let topology = if has(vk::ShaderStageFlags::TESSELLATION_CONTROL) {
            vk::PrimitiveTopology::PATCH_LIST
        } else {
            vk::PrimitiveTopology::POINT_LIST
        };
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(topology);
        let tessellation =
            vk::PipelineTessellationStateCreateInfo::default().patch_control_points(1);
        let info = vk::GraphicsPipelineCreateInfo::default()
            .input_assembly_state(&assembly)
            .tessellation_state(&tessellation)
            .layout(layout)
            .render_pass(pass);
        // SAFETY: the device is live; modules are valid SPIR-V.
        unsafe { discard::of_shaders(&self.device.raw, scene.stages, info) }
    }
}
