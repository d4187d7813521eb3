//! What tests of recordings capture with.

use ash::vk;
use vkxfb::lower::Backend;
use vkxfb::runtime::{
    Arena, Buffer, Capture, CaptureBuffer, CaptureDesc, Context, CounterBuffer, Kernels, Pipeline,
    Recorded, Recorder, RuntimeError,
};
use vkxfb_probe::shaders::ProbeShader;

use crate::common::device::{self, PipelineOptions};
use crate::common::test_device::{Owned, TestDevice};

pub const COMPUTE: Backend = Backend::Compute;

/// A pipeline of a probe shader for any topology, a buffer to capture to, and four counters, which
/// are 0. It does not have the device, so that it can be used in what the device submits. Tests
/// make what else they need.
pub struct Setup {
    pub pipeline: Owned<Pipeline>,
    pub kernels: Kernels,
    pub target: Owned<Buffer>,
    pub counters: Owned<Buffer>,
    pass: (vk::RenderPass, vk::Framebuffer),
}

impl Setup {
    /// `size` is the size in bytes of the buffer to capture to.
    pub fn new(gpu: &mut TestDevice, backend: Backend, shader: &ProbeShader, size: u64) -> Self {
        let lowered = device::lower(gpu, shader, backend);
        let pipeline = device::pipeline(gpu, shader, &lowered, PipelineOptions::ANY);
        let target = gpu.buffer(size, gpu.context().buffer_usages(backend).capture);
        let counters = gpu.filled(gpu.context().buffer_usages(backend).counter, &[0_u32; 4]);
        let pass = (gpu.render_pass(), gpu.framebuffer());
        Self { pipeline, kernels: gpu.kernels(), target, counters, pass }
    }

    /// Returns the whole buffer to capture to, as the first capture buffer.
    pub fn buffers(&self) -> [Option<CaptureBuffer>; 1] {
        [Some(CaptureBuffer::new(self.target.raw(), self.target.size()))]
    }

    /// Returns the first counter.
    pub fn counter(&self) -> Option<CounterBuffer> {
        Some(CounterBuffer::new(self.counters.raw()))
    }

    /// Overwrites the buffer to capture to, and the first counter.
    pub fn overwrite(&self, gpu: &mut TestDevice, byte: u8, counter: u32) {
        gpu.write(&self.target, 0, &vec![byte; self.target.size() as usize]).unwrap();
        gpu.write(&self.counters, 0, &counter.to_le_bytes()).unwrap();
    }

    /// Returns the value of the first counter.
    pub fn position(&self, gpu: &mut TestDevice) -> u32 {
        gpu.contents(&self.counters)[0]
    }

    /// Records a capture to the whole buffer, between two counters.
    ///
    /// # Safety
    /// As [`Recorder::begin`].
    pub unsafe fn record(
        &self,
        ctx: &Context,
        cmd: vk::CommandBuffer,
        arena: &mut Arena,
        [from, to]: [Option<CounterBuffer>; 2],
        draw: impl FnOnce(&mut Recorder<'_>) -> Result<(), RuntimeError>,
    ) -> Result<Recorded, RuntimeError> {
        let (buffers, counters) = (self.buffers(), [from]);
        let desc = CaptureDesc {
            buffers: &buffers,
            counters: &counters,
            ..CaptureDesc::new(&self.pipeline)
        };
        let backend = self.pipeline.backend();
        unsafe {
            device::begin_render_pass(ctx, cmd, backend, self.pass);
            let mut capture = Capture::new(ctx, &self.kernels);
            let mut recorder = Recorder::begin(&mut capture, arena, cmd, &desc)?;
            draw(&mut recorder)?;
            let recorded = recorder.end(&[to])?;
            device::end_render_pass(ctx, cmd, backend);
            Ok(recorded)
        }
    }
}
