//! A device that captures natively with tessellation and geometry shaders. The probe's device only
//! supports vertex shaders.

use ash::{ext, vk};

use crate::common::bare::BareInstance;
use crate::common::commands::{Counters, Range};
use crate::common::native::NativeDevice;
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
pub struct Device(NativeDevice);

impl Device {
    /// Opens the first device, or returns `None` if it lacks a feature.
    pub fn open() -> Option<Self> {
        let instance = BareInstance::open();
        let mut has_xfb = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
        let mut has = vk::PhysicalDeviceFeatures2::default().push_next(&mut has_xfb);
        instance.features(&mut has);
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
        Some(Self(NativeDevice::new(device)))
    }

    pub fn limits(&self) -> &vk::PhysicalDeviceLimits {
        &self.0.limits
    }

    /// Draws a scene, and returns the contents of each capture buffer.
    pub fn capture(&self, scene: &Scene<'_>) -> Vec<Vec<u8>> {
        let Self(device) = self;
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
            .tessellation_state(&tessellation);
        let mut end = 0;
        let ranges: Vec<_> = (scene.buffers.iter())
            .map(|size| {
                let range = Range { offset: end, size: *size as u64 };
                end += range.size;
                range
            })
            .collect();
        let (image, usage) =
            (vec![BEFORE; end as usize], vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT);
        let bound: Vec<_> = ranges.iter().copied().map(Some).collect();
        // SAFETY: the shaders are valid SPIR-V, and all that they capture is bound.
        let image = unsafe {
            device.run(scene.stages, info, (&image, usage), |cmd, buffer, pipeline| {
                device.in_pass(cmd, pipeline, || {
                    device.commands.bind_captures(cmd, buffer, &bound);
                    device.commands.begin(cmd, buffer, &Counters::default());
                    device.raw.cmd_draw(cmd, scene.vertices, 1, 0, 0);
                    device.commands.end(cmd, buffer, &Counters::default());
                });
            })
        };
        let of_range =
            |range: &Range| image[range.offset as usize..][..range.size as usize].to_vec();
        ranges.iter().map(of_range).collect()
    }
}
