//! What the driver captures itself, for comparison: the same recorder, on the native backend.

use anyhow::{Result, ensure};
use ash::vk;
use vkxfb::lower::native;
use vkxfb::*;

use super::gpu::{API_VERSION, Gpu};

/// What is captured natively.
pub struct NativeCapture<'a> {
    pub shader: Shader<'a>,
    pub vertex_input: &'a VertexInput,
    pub topology: PrimitiveTopology,
    pub set_layouts: &'a [vk::DescriptorSetLayout],
    pub vertex_buffers: &'a [VertexBuffer],
    /// Bytes that are captured.
    pub size: u64,
}

impl NativeCapture<'_> {
    /// The numbers that the driver captures of these draws; `None` where it captures nothing.
    ///
    /// # Safety
    /// As for [`Recorder::begin`]; `allocator` is the device's, and makes memory for addresses where there are some.
    pub unsafe fn run(
        &self,
        gpu: &Gpu,
        allocator: &mut dyn runtime::MemoryAllocator,
        draw: impl FnOnce(&mut Recorder<'_>) -> Result<(), RuntimeError>,
    ) -> Result<Option<Vec<f32>>> {
        if !gpu.has_transform_feedback() {
            return Ok(None);
        }
        // SAFETY: the caller's contract; the submission is waited for.
        unsafe {
            let (entry, instance) = (&gpu.entry, &gpu.instance);
            let mut capabilities =
                Capabilities::query(entry, instance, API_VERSION, gpu.physical_device)?;
            gpu.with_create_info(|info| capabilities.restrict(info));
            let required = required_features(&capabilities, &[Backend::Native, Backend::Compute])?;
            let context = Context::new(instance, &gpu.device, capabilities, required)?;
            let lowered = native::lower(&self.shader)?;
            let desc = PipelineDesc {
                vertex_input: Some(self.vertex_input),
                topology: Some(self.topology.into()),
                set_layouts: self.set_layouts,
                ..PipelineDesc::new(&lowered)
            };
            let pipeline = Pipeline::new(&context, &desc)?;
            let kernels = Kernels::new(&context)?;
            let mut arena = Arena::new(&context, allocator, ArenaDesc::new(1, 1))?;
            let mut capture = Capture::new(&context, &kernels);
            let usage = context.buffer_usages(Backend::Native).capture;
            let desc = BufferDesc {
                name: "captured natively",
                size: self.size,
                usage,
                location: MemoryLocation::Readback,
            };
            let captured = Buffer::new(&context, allocator, &desc)?;
            gpu.submit(|cmd| {
                let bound = [Some(CaptureBuffer::new(captured.raw(), captured.size()))];
                let desc = CaptureDesc {
                    buffers: &bound,
                    vertex_buffers: self.vertex_buffers,
                    ..CaptureDesc::new(&pipeline)
                };
                let extent = vk::Extent2D { width: 1, height: 1 };
                let rendering = vk::RenderingInfo::default()
                    .render_area(vk::Rect2D { offset: vk::Offset2D::default(), extent })
                    .layer_count(1);
                gpu.device.cmd_begin_rendering(cmd, &rendering);
                let mut recorder = Recorder::begin(&mut capture, &mut arena, cmd, &desc)?;
                draw(&mut recorder)?;
                recorder.end(&[])?;
                gpu.device.cmd_end_rendering(cmd);
                context.capture_barrier(cmd, Backend::Native, ConsumerScope::HOST);
                Ok(())
            })?;
            captured.invalidate(&context)?;
            let numbers = bytemuck::cast_slice(captured.mapped()).to_vec();
            context.destroy((captured, arena, kernels, pipeline), allocator);
            Ok(Some(numbers))
        }
    }
}

/// The largest difference between numbers that were captured and those that should have been. Fails where it is not
/// less than `tolerance`: compilers may change the order of operations. Fails if there are more or fewer numbers.
pub fn compare(what: &str, captured: &[f32], expected: &[f32], tolerance: f32) -> Result<f32> {
    let (found, wanted) = (captured.len(), expected.len());
    ensure!(found == wanted, "{found} numbers are captured, {what} has {wanted}");
    let mut largest = 0f32;
    for (index, (captured, expected)) in captured.iter().zip(expected).enumerate() {
        let difference = (captured - expected).abs();
        // What is no number is not less than anything.
        let is_close = difference < tolerance;
        ensure!(is_close, "number {index} is {captured}, {what} has {expected}");
        largest = largest.max(difference);
    }
    Ok(largest)
}
