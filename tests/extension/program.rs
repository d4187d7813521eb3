//! A program that captures with the commands of the extension.

use std::ops::Deref;

use ash::{ext, vk};

use crate::common::bare::{BareDevice, BareInstance};

/// A vertex shader that captures the number of each vertex.
pub const CAPTURES: &str = "#version 450
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = gl_VertexIndex;
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

/// A device with transform feedback and dynamic rendering, and the buffers that the program has
/// created.
pub struct Program {
    device: BareDevice,
    xfb: ext::transform_feedback::Device,
    buffers: Vec<(vk::Buffer, vk::DeviceMemory)>,
}

impl Deref for Program {
    type Target = BareDevice;

    fn deref(&self) -> &BareDevice {
        &self.device
    }
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
        let device = BareInstance::open().into_device(&mut features, &extensions);
        let xfb = ext::transform_feedback::Device::new(device.instance(), &device.raw);
        Self { device, xfb, buffers: Vec::new() }
    }

    /// Returns the commands of the extension.
    pub fn xfb(&self) -> &ext::transform_feedback::DeviceFn {
        self.xfb.fp()
    }

    /// Creates a buffer of `dwords` dwords, which is mapped, and lives until the program is closed.
    pub fn buffer(&mut self, dwords: usize, usage: vk::BufferUsageFlags) -> (vk::Buffer, *mut u32) {
        let (buffer, memory) = self.device.host_buffer(4 * dwords as u64, usage);
        self.buffers.push((buffer, memory));
        let flags = vk::MemoryMapFlags::empty();
        // SAFETY: the memory is the buffer's, and the host sees it.
        let mapped = unsafe { self.device.raw.map_memory(memory, 0, vk::WHOLE_SIZE, flags) };
        (buffer, mapped.unwrap().cast())
    }

    /// Destroys everything; one message of the validation layer fails the test.
    pub fn close(self) {
        for (buffer, memory) in self.buffers {
            // SAFETY: nothing is in flight.
            unsafe {
                self.device.raw.destroy_buffer(buffer, None);
                self.device.raw.free_memory(memory, None);
            }
        }
        self.device.close();
    }
}
