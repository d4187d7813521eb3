//! All that the engine has of vkxfb: what it makes once, and what a frame records.

use anyhow::Result;
use ash::vk;
use vkxfb::runtime::{PipelineUse, vulkan};
use vkxfb::{lower::compute, *};

use super::common::gpu::{API_VERSION, Gpu};
use super::frame::{FRAMES, Frame, Scene};
use super::memory::Memory;
use super::scene;

pub struct Xfb {
    pub context: Context,
    kernels: Kernels,
    pipeline: Pipeline,
    arenas: ArenaRing,
    capture: Capture,
}

/// The outputs at locations 0 and 1, of three floats each, in records of 24 bytes.
pub fn captures() -> CaptureList {
    CaptureList::new(24).output("@0", 0).output("@1", 12)
}

/// Makes a compute pipeline of a vertex shader.
///
/// # Safety
/// The context is of a live device, the set layout is the device's, and the shader is valid.
unsafe fn pipeline(
    context: &Context,
    spirv: &[u32],
    set_layout: vk::DescriptorSetLayout,
) -> Result<Pipeline> {
    let vertex_input = &vulkan::vertex_input_descriptions(&scene::BINDINGS, &scene::ATTRIBUTES)?;
    let options = compute::Options::new(vertex_input).target(context.compute_target()?);
    let shader = compute::lower(&Shader::new(spirv).captures(&captures()), &options)?;
    let set_layouts = [set_layout];
    let desc = PipelineDesc {
        topology: Some(PrimitiveTopology::TriangleList.into()),
        set_layouts: &set_layouts,
        ..PipelineDesc::new(&shader)
    };
    Ok(unsafe { Pipeline::new(context, &desc) }?)
}

impl Xfb {
    /// Takes a device as it is, a vertex shader, and the layout of its descriptor set 0.
    ///
    /// # Safety
    /// The handles are of live objects of one device, and the shader is valid.
    pub unsafe fn new(
        gpu: &Gpu,
        device: &ash::Device,
        memory: &mut Memory<'_>,
        spirv: &[u32],
        set_layout: vk::DescriptorSetLayout,
    ) -> Result<Self> {
        unsafe {
            let (entry, instance) = (&gpu.entry, &gpu.instance);
            let mut capabilities =
                Capabilities::query(entry, instance, API_VERSION, gpu.physical_device)?;
            gpu.with_create_info(|info| capabilities.restrict(info));
            let required = required_features(&capabilities, &[Backend::Compute])?;
            let context = Context::new(instance, device, capabilities, required)?;
            let pipeline = pipeline(&context, spirv, set_layout)?;
            let kernels = Kernels::new(&context)?;
            let arms = scene::ARMS as u64;
            let used = [PipelineUse::new(&pipeline, arms)];
            let desc = ArenaDesc { pipelines: &used, ..ArenaDesc::new(1, arms) };
            let arenas = ArenaRing::new(&context, memory, desc, FRAMES)?;
            let capture = Capture::new(&context, &kernels);
            Ok(Self { context, kernels, pipeline, arenas, capture })
        }
    }

    /// Captures a frame, for draws that read it as vertices.
    ///
    /// # Safety
    /// `cmd` is being recorded, outside of a render pass, and the device is done with what it was recorded
    /// with before: as many frames ago as there are arenas.
    pub unsafe fn record(
        &mut self,
        cmd: vk::CommandBuffer,
        scene: &Scene,
        frame: &Frame,
    ) -> Result<()> {
        let captured = [Some(CaptureBuffer::new(frame.captured.raw, frame.captured.size))];
        let vertices = [VertexBuffer::new(0, scene.vertices.raw, scene.vertices.size)];
        let desc = CaptureDesc {
            buffers: &captured,
            vertex_buffers: &vertices,
            ..CaptureDesc::new(&self.pipeline)
        };
        unsafe {
            let arena = self.arenas.next_frame();
            let mut recorder = Recorder::begin(&mut self.capture, arena, cmd, &desc)?;
            draw(&mut recorder, scene, frame)?;
            recorder.end(&[])?;
            self.context.capture_barrier(cmd, Backend::Compute, ConsumerScope::VERTEX_BUFFER);
        }
        Ok(())
    }

    /// # Safety
    /// The device is idle.
    pub unsafe fn destroy(self, memory: &mut Memory<'_>) {
        unsafe { self.context.destroy((self.arenas, self.kernels, self.pipeline), memory) };
    }
}

/// The draws of a frame: what stood between vkCmdBeginTransformFeedbackEXT and vkCmdEndTransformFeedbackEXT.
///
/// # Safety
/// As for [`Recorder::draw`].
pub unsafe fn draw(
    recorder: &mut Recorder<'_>,
    scene: &Scene,
    frame: &Frame,
) -> Result<(), RuntimeError> {
    let (indices, arm_indices) = (&scene.indices, DrawIndexed::new(scene.index_count));
    unsafe {
        let indices = IndexBuffer::new(indices.raw, indices.size, IndexType::Uint16);
        recorder.bind_index_buffer(&indices)?;
        for arm in 0..scene::ARMS {
            let skeleton = arm as u32 * scene.skeleton_stride;
            recorder.bind_descriptor_sets(0, &[frame.set], &[skeleton])?;
            recorder.push_constants(0, bytemuck::bytes_of(&scene::place(arm)))?;
            recorder.draw_indexed(PrimitiveTopology::TriangleList, &arm_indices)?;
        }
    }
    Ok(())
}
