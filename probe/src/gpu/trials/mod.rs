//! Runs trials on the device: tests of properties that no query reports. See [`Trial`].

mod dispatch;
mod stores;

use ash::vk;

use vkxfb::runtime::{Buffer, ConsumerScope, Context, MemoryLocation, RuntimeError};
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::spirv::words_from_bytes;

use self::dispatch::Dispatches;
use self::stores::Stores;
use super::{Gpu, GpuError, State};
use crate::trial::{Trial, TrialReport, TrialResult};

/// The value that [`Kit::begin`] writes after the last word. If it is in the buffer after the
/// submission, the submission was executed.
const EXECUTED: u32 = 0x7452_6941;

/// The description of a trial after which not even [`EXECUTED`] is in the buffer.
const NOTHING: &str = "nothing is executed";

/// The Vulkan objects of a trial: its pipelines, a buffer of words in which their shaders count invocations, and the
/// descriptor set for that buffer.
struct Kit {
    words: Buffer,
    size: usize,
    set_layout: vk::DescriptorSetLayout,
    pool: vk::DescriptorPool,
    set: vk::DescriptorSet,
    layout: vk::PipelineLayout,
    stage: vk::ShaderStageFlags,
    pipelines: Vec<vk::Pipeline>,
}

impl Gpu {
    /// Runs the trial [`Trial::IndirectDispatch`]: tests whether indirect dispatches work.
    ///
    /// # Errors
    /// The errors of [`submit`](Self::submit), or a failed command or allocation.
    pub fn try_indirect_dispatch(&mut self) -> Result<TrialReport, GpuError> {
        let trial = Trial::IndirectDispatch;
        self.fail_trial_if_injected(trial)?;
        if self.profile == super::Profile::Bifrost {
            let text = "not tried: the profile has none";
            return Ok(TrialReport::new(trial, TrialResult::Absent, text));
        }
        let dispatches = Dispatches::new();
        let counted = self.with_kit(
            dispatches.words(),
            vk::BufferUsageFlags::INDIRECT_BUFFER,
            vk::ShaderStageFlags::COMPUTE,
            dispatch::PUSHED,
            |gpu, kit| dispatches.run(gpu, kit),
        )?;
        let nothing = || (false, NOTHING.to_owned());
        let (works, text) = counted.map_or_else(nothing, |words| dispatches.judge(&words));
        let relied_on = self.context.settings().indirect_dispatch;
        let (result, text) = match (works, relied_on) {
            (true, true) => (TrialResult::Works, text),
            (true, false) => (TrialResult::Works, format!("{text}, but is not used (workaround)")),
            (false, true) => (TrialResult::Wrong, text),
            (false, false) => (TrialResult::DoneWithout, format!("{text}, and is not used")),
        };
        Ok(TrialReport::new(trial, result, text))
    }

    /// Runs the trial [`Trial::VertexStores`]: tests whether vertex shaders can store.
    ///
    /// # Errors
    /// The errors of [`submit`](Self::submit), or a failed command or allocation.
    pub fn try_vertex_stores(&mut self) -> Result<TrialReport, GpuError> {
        let trial = Trial::VertexStores;
        self.fail_trial_if_injected(trial)?;
        if let Err(unavailable) = self.capabilities().availability(Backend::Vertex) {
            let reasons = unavailable.reasons.join("; ");
            return Ok(TrialReport::new(trial, TrialResult::Absent, reasons));
        }
        let portability = self.capabilities().portability.as_ref();
        let has_fans = portability.is_none_or(|portability| portability.triangle_fans);
        let stores = Stores::new(has_fans);
        let counted = self.with_kit(
            stores.words(),
            vk::BufferUsageFlags::empty(),
            vk::ShaderStageFlags::VERTEX,
            stores::PUSHED,
            |gpu, kit| stores.run(gpu, kit),
        )?;
        let nothing = || (TrialResult::Wrong, NOTHING.to_owned());
        let (result, text) = counted.map_or_else(nothing, |words| stores.judge(&words));
        Ok(TrialReport::new(trial, result, text))
    }

    /// Creates the Vulkan objects of a trial, with a buffer of `words` words. Calls `f` with them, and destroys them.
    fn with_kit<R>(
        &mut self,
        words: usize,
        usage: vk::BufferUsageFlags,
        stage: vk::ShaderStageFlags,
        pushed: u32,
        f: impl FnOnce(&mut Self, &mut Kit) -> Result<R, GpuError>,
    ) -> Result<R, GpuError> {
        let usage = usage | vk::BufferUsageFlags::STORAGE_BUFFER;
        let buffer = self.create_buffer(words as u64 * 4 + 4, usage, MemoryLocation::Device)?;
        let mut kit = Kit {
            words: buffer,
            size: words,
            set_layout: vk::DescriptorSetLayout::null(),
            pool: vk::DescriptorPool::null(),
            set: vk::DescriptorSet::null(),
            layout: vk::PipelineLayout::null(),
            stage,
            pipelines: Vec::new(),
        };
        let result = kit.create(&self.context, pushed).map_err(GpuError::from);
        let result = result.and_then(|()| f(self, &mut kit));
        if self.state != State::Hung {
            // SAFETY: nothing is in flight.
            unsafe { kit.destroy(&self.context) };
        }
        self.destroy_buffer(kit.words);
        result
    }
}

impl Kit {
    /// Creates the descriptor set for the buffer of words, and the pipeline layout.
    fn create(&mut self, ctx: &Context, pushed: u32) -> Result<(), RuntimeError> {
        let device = ctx.device();
        let ty = vk::DescriptorType::STORAGE_BUFFER;
        let bindings = [vk::DescriptorSetLayoutBinding::default()
            .descriptor_type(ty)
            .descriptor_count(1)
            .stage_flags(self.stage)];
        let sizes = [vk::DescriptorPoolSize { ty, descriptor_count: 1 }];
        let ranges = [vk::PushConstantRange { stage_flags: self.stage, offset: 0, size: pushed }];
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        let pool = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
        // SAFETY: the device and the objects that are created here are live. The pool has room for
        // the set, which nothing uses yet, and the buffer was created with the usage for the
        // descriptor.
        unsafe {
            self.set_layout = device
                .create_descriptor_set_layout(&info, None)
                .map_err(RuntimeError::vulkan("vkCreateDescriptorSetLayout"))?;
            self.pool = device
                .create_descriptor_pool(&pool, None)
                .map_err(RuntimeError::vulkan("vkCreateDescriptorPool"))?;
            let set_layouts = [self.set_layout];
            let allocate = vk::DescriptorSetAllocateInfo::default()
                .descriptor_pool(self.pool)
                .set_layouts(&set_layouts);
            self.set = device
                .allocate_descriptor_sets(&allocate)
                .map_err(RuntimeError::vulkan("vkAllocateDescriptorSets"))?
                .first()
                .copied()
                .unwrap_or_default();
            let buffers = [vk::DescriptorBufferInfo {
                buffer: self.words.raw(),
                offset: 0,
                range: vk::WHOLE_SIZE,
            }];
            let write = vk::WriteDescriptorSet::default()
                .dst_set(self.set)
                .descriptor_type(ty)
                .buffer_info(&buffers);
            device.update_descriptor_sets(&[write], &[]);
            let info = vk::PipelineLayoutCreateInfo::default()
                .set_layouts(&set_layouts)
                .push_constant_ranges(&ranges);
            self.layout = device
                .create_pipeline_layout(&info, None)
                .map_err(RuntimeError::vulkan("vkCreatePipelineLayout"))?;
        }
        Ok(())
    }

    /// Fills the buffer of words with zeros, writes [`EXECUTED`] after the last word, and binds the buffer. A barrier
    /// makes the zeros visible to later shaders.
    ///
    /// # Safety
    /// `cmd` is being recorded, outside of a render pass instance.
    unsafe fn begin(&self, ctx: &Context, cmd: vk::CommandBuffer) {
        let (device, none) = (ctx.device(), vk::DependencyFlags::empty());
        let (point, stages) = match self.stage {
            vk::ShaderStageFlags::COMPUTE => {
                (vk::PipelineBindPoint::COMPUTE, vk::PipelineStageFlags::COMPUTE_SHADER)
            }
            _ => (vk::PipelineBindPoint::GRAPHICS, vk::PipelineStageFlags::VERTEX_SHADER),
        };
        let barrier = vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
            .dst_access_mask(vk::AccessFlags::SHADER_READ | vk::AccessFlags::SHADER_WRITE);
        // SAFETY: the caller's contract; the set was allocated with the set layout of the pipeline
        // layout.
        unsafe {
            let (words, size) = (self.words.raw(), self.size as u64 * 4);
            device.cmd_fill_buffer(cmd, words, 0, size, 0);
            device.cmd_fill_buffer(cmd, words, size, 4, EXECUTED);
            let from = vk::PipelineStageFlags::TRANSFER;
            device.cmd_pipeline_barrier(cmd, from, stages, none, &[barrier], &[], &[]);
            device.cmd_bind_descriptor_sets(cmd, point, self.layout, 0, &[self.set], &[]);
        }
    }

    /// Returns the words after a submission that begins with [`begin`](Self::begin) and ends with [`end`]. `None` if
    /// the submission was not executed.
    fn read(&self, gpu: &mut Gpu) -> Result<Option<Vec<u32>>, GpuError> {
        let bytes = gpu.read(&self.words, 0..self.words.size())?;
        let mut words: Vec<u32> = bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
        Ok((words.pop() == Some(EXECUTED)).then_some(words))
    }

    /// Destroys the pipelines, the descriptor set and their layouts, but not the buffer of words.
    ///
    /// # Safety
    /// The device is idle.
    unsafe fn destroy(&mut self, ctx: &Context) {
        let device = ctx.device();
        // SAFETY: the caller's contract. Destroying null handles is allowed.
        unsafe {
            for pipeline in self.pipelines.drain(..) {
                device.destroy_pipeline(pipeline, None);
            }
            device.destroy_pipeline_layout(self.layout, None);
            device.destroy_descriptor_pool(self.pool, None);
            device.destroy_descriptor_set_layout(self.set_layout, None);
        }
    }
}

/// Makes the stores of shaders visible to later copies.
///
/// # Safety
/// `cmd` is being recorded, outside of a render pass instance.
unsafe fn end(ctx: &Context, cmd: vk::CommandBuffer, backend: Backend) {
    unsafe { ctx.capture_barrier(cmd, backend, ConsumerScope::TRANSFER) };
}

/// Returns the words of a module that is compiled into this program.
fn module(bytes: &[u8]) -> Result<Vec<u32>, RuntimeError> {
    words_from_bytes(bytes).map_err(|error| RuntimeError::InvalidShader(error.to_string()))
}
