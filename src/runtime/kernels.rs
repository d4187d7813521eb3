//! The pipelines of the kernels that prepare captures on the GPU, one set per device.

use std::sync::Arc;

use ash::vk;

use super::checks::check_limit;
use super::descriptors::with_layout;
use super::pipeline::compute_pipelines;
use super::{Context, RuntimeError};
use crate::lower::Backend;
use crate::lower::kernel::{self, KERNEL_CONSTANTS_SIZE, Kernel};

/// The pipelines of the [kernels](Kernel). A device without the compute backend has none, because
/// the other backends need none.
///
/// Clones share the pipelines.
#[derive(Debug, Clone)]
pub struct Kernels {
    pipelines: Option<Arc<Pipelines>>,
}

/// The pipelines, and their layout. Handles are null only during creation.
#[derive(Debug, Default)]
pub(super) struct Pipelines {
    layout: vk::PipelineLayout,
    /// By the number of the kernel.
    pipelines: [vk::Pipeline; Kernel::ALL.len()],
}

impl Kernels {
    /// Creates the pipelines; none if the device was not created for the compute backend.
    ///
    /// # Errors
    /// A failed command, or [`RuntimeError::InvalidShader`] for a mistake in this crate's shaders.
    ///
    /// # Safety
    /// The device of `ctx` is live, and `cache` is a pipeline cache of that device or null.
    #[tracing::instrument(name = "kernels", level = "debug", skip_all)]
    pub unsafe fn new(ctx: &Context, cache: vk::PipelineCache) -> Result<Self, RuntimeError> {
        if !ctx.enabled().has(Backend::Compute) {
            return Ok(Self::none());
        }
        let max = ctx.capabilities().limits.workgroup_invocations();
        let what = || "the workgroup of the kernels".to_owned();
        check_limit(what, kernel::MIN_WORKGROUP_SIZE, "maxComputeWorkGroupInvocations", max)?;
        let mut pipelines = Pipelines::default();
        // SAFETY: the caller's contract.
        let made = unsafe { pipelines.make(ctx, cache) };
        let kernels = Self { pipelines: Some(Arc::new(pipelines)) };
        match made {
            Ok(()) => Ok(kernels),
            Err(error) => {
                // SAFETY: nothing uses what was made so far.
                unsafe { kernels.destroy(ctx) };
                Err(error)
            }
        }
    }

    /// The kernels of a device without the compute backend.
    pub(crate) const fn none() -> Self {
        Self { pipelines: None }
    }

    /// The pipelines of the kernels.
    ///
    /// # Errors
    /// [`RuntimeError::NoKernels`].
    pub(super) fn pipelines(&self) -> Result<&Pipelines, RuntimeError> {
        self.pipelines.as_deref().ok_or(RuntimeError::NoKernels)
    }

    /// Destroys the pipelines.
    ///
    /// # Safety
    /// The device no longer uses the pipelines. Only one of all clones is destroyed, and nothing is
    /// recorded with the others afterwards. `ctx` is the context that the pipelines were made with.
    pub unsafe fn destroy(self, ctx: &Context) {
        let Some(Pipelines { layout, pipelines }) = self.pipelines.as_deref() else { return };
        // SAFETY: the caller's contract; null handles are ignored.
        unsafe {
            for pipeline in pipelines {
                ctx.device().destroy_pipeline(*pipeline, None);
            }
            ctx.device().destroy_pipeline_layout(*layout, None);
        }
    }
}

impl Pipelines {
    /// # Safety
    /// As [`Kernels::new`].
    unsafe fn make(&mut self, ctx: &Context, cache: vk::PipelineCache) -> Result<(), RuntimeError> {
        let ranges = [vk::PushConstantRange {
            stage_flags: vk::ShaderStageFlags::COMPUTE,
            offset: 0,
            size: KERNEL_CONSTANTS_SIZE,
        }];
        let make_layout = |sets: &[vk::DescriptorSetLayout]| {
            let info = vk::PipelineLayoutCreateInfo::default()
                .set_layouts(sets)
                .push_constant_ranges(&ranges);
            // SAFETY: the caller's contract.
            unsafe { ctx.device().create_pipeline_layout(&info, None) }
                .map_err(RuntimeError::vulkan("vkCreatePipelineLayout"))
        };
        self.layout = match ctx.table() {
            None => make_layout(&[]),
            // SAFETY: the caller's contract.
            Some(limits) => unsafe { with_layout(ctx, limits, |set| make_layout(&[set])) },
        }?;
        ctx.name(self.layout, "vkxfb kernels");
        let resources = ctx.resource_plan(0)?;
        let max_invocations = ctx.capabilities().limits.workgroup_invocations();
        for (kernel, pipeline) in Kernel::ALL.into_iter().zip(&mut self.pipelines) {
            let words = kernel::lower(kernel, resources, max_invocations)
                .map_err(|error| RuntimeError::InvalidShader(error.to_string()))?;
            let none = vk::SpecializationInfo::default();
            let entry = kernel.entry_point();
            // SAFETY: as above; the words are a valid module with that entry point.
            [*pipeline] = unsafe {
                compute_pipelines(ctx.device(), cache, self.layout, &words, entry, &[none])
            }?;
            let name = entry.to_string_lossy();
            ctx.name(*pipeline, &format!("vkxfb {}", name.trim_start_matches("xfb_")));
        }
        Ok(())
    }

    /// Binds a kernel, sets its parameters and dispatches it.
    ///
    /// # Safety
    /// `cmd` is in the recording state, outside of a render pass instance. `parameters` is the
    /// address of the kernel's parameters. They stay valid while the command buffer is executed, as
    /// does `set`, which contains the buffers under the descriptor plan.
    pub(super) unsafe fn dispatch(
        &self,
        ctx: &Context,
        cmd: vk::CommandBuffer,
        set: Option<vk::DescriptorSet>,
        kernel: Kernel,
        parameters: u64,
        [x, y]: [u32; 2],
    ) {
        let pipeline = self.pipelines[kernel as usize];
        let stage = vk::ShaderStageFlags::COMPUTE;
        let device = ctx.device();
        // SAFETY: the caller's contract.
        unsafe {
            let point = vk::PipelineBindPoint::COMPUTE;
            device.cmd_bind_pipeline(cmd, point, pipeline);
            if let Some(set) = set {
                device.cmd_bind_descriptor_sets(cmd, point, self.layout, 0, &[set], &[]);
            }
            device.cmd_push_constants(cmd, self.layout, stage, 0, &parameters.to_le_bytes());
            device.cmd_dispatch(cmd, x, y, 1);
        }
    }
}
