//! Native captures on a [`BareDevice`]: pipelines of any stages draw in a pass without attachments, and a buffer has all
//! that draws read and captures write.

use std::ops::Deref;

use ash::vk;

use super::attachment::Pass;
use super::bare::{BareDevice, Scope};
use super::commands::Commands;
use super::discard;

/// The stages and accesses with which transform feedback writes.
pub const WRITES: Scope = (
    vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT,
    vk::AccessFlags::from_raw(
        vk::AccessFlags::TRANSFORM_FEEDBACK_WRITE_EXT.as_raw()
            | vk::AccessFlags::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT.as_raw(),
    ),
);

/// A device with transform feedback, and the pass and layout of its pipelines, which have no descriptors.
pub struct NativeDevice {
    device: BareDevice,
    pub commands: Commands,
    pass: Pass,
    layout: vk::PipelineLayout,
}

impl Deref for NativeDevice {
    type Target = BareDevice;

    fn deref(&self) -> &BareDevice {
        &self.device
    }
}

impl NativeDevice {
    pub fn new(device: BareDevice) -> Self {
        let commands = Commands::new(device.instance(), &device.raw);
        // SAFETY: the device is live; both are destroyed when this is dropped.
        let (pass, layout) = unsafe {
            let layout = device.raw.create_pipeline_layout(&Default::default(), None).unwrap();
            (Pass::empty(&device.raw, &[]), layout)
        };
        Self { device, commands, pass, layout }
    }

    /// Runs a submission with a pipeline of these shaders and of what `info` has, and with a buffer that holds `image`
    /// before it. Returns what the buffer holds after it. `record` gets the buffer, and the pipeline for
    /// [`in_pass`](Self::in_pass).
    ///
    /// # Safety
    /// The shaders are valid, and what `record` records.
    pub unsafe fn run(
        &self,
        shaders: &[(vk::ShaderStageFlags, &[u32])],
        info: vk::GraphicsPipelineCreateInfo<'_>,
        (image, usage): (&[u8], vk::BufferUsageFlags),
        record: impl FnOnce(vk::CommandBuffer, vk::Buffer, vk::Pipeline),
    ) -> Vec<u8> {
        let info = info.layout(self.layout).render_pass(self.pass.raw);
        let flags = match usage.contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS) {
            true => vk::MemoryAllocateFlags::DEVICE_ADDRESS,
            false => vk::MemoryAllocateFlags::empty(),
        };
        let flags = vk::MemoryAllocateFlagsInfo::default().flags(flags);
        let buffer = vk::BufferCreateInfo::default().size(image.len() as u64).usage(usage);
        let mut buffer = self.device.host_buffer_with(&buffer, (&raw const flags).cast());
        // SAFETY: the caller's contract; all is of the device, and lives until the submission is done.
        unsafe {
            buffer.bytes_mut().copy_from_slice(image);
            let pipeline = discard::of_shaders(&self.raw, shaders, info);
            self.device.submit(WRITES, |cmd| record(cmd, buffer.raw, pipeline));
            let found = buffer.bytes().to_vec();
            self.raw.destroy_pipeline(pipeline, None);
            self.device.destroy_buffer(buffer);
            found
        }
    }

    /// Records an instance of the pass in which the pipeline is bound.
    ///
    /// # Safety
    /// `cmd` is being recorded, outside of a pass, and the pipeline is of [`run`](Self::run).
    pub unsafe fn in_pass(
        &self,
        cmd: vk::CommandBuffer,
        pipeline: vk::Pipeline,
        record: impl FnOnce(),
    ) {
        unsafe { self.pass.instance(&self.raw, cmd, &[], pipeline, record) };
    }
}

impl Drop for NativeDevice {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        // SAFETY: every submission was waited for.
        unsafe {
            self.device.raw.destroy_pipeline_layout(self.layout, None);
            self.pass.destroy(&self.device.raw);
        }
    }
}
