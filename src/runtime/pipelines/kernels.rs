//! [`Kernels`]: the pipelines of the kernels, which prepare captures on the GPU. A device needs one set of them.

use std::sync::Arc;

use ash::vk;

use crate::runtime::device::checks::check_limit;
use crate::runtime::device::context::Context;
use crate::runtime::device::descriptor_heaps::ParameterTransport;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::memory::descriptors::sets::PipelineLayout;
use crate::runtime::memory::destroy::DestroyObject;
use crate::runtime::pipelines::pipeline::LazyPipeline;
use crate::runtime::pipelines::pipeline::{ComputeResources, compute_pipeline};
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::lower::kernel::{self, KERNEL_CONSTANTS_SIZE, Kernel};

/// The pipelines of the kernels. Kernels are compute shaders of this crate that count primitives, compute where draws
/// are captured, and write results. Only the compute backend uses them, so on a device without that backend this object
/// is empty.
///
/// Each pipeline is created by [`prepare`](Self::prepare), or otherwise when a recording first needs it: that recording
/// waits for the driver's compiler. Clones share the pipelines.
#[derive(Debug, Clone)]
pub struct Kernels {
    pipelines: Option<Arc<Pipelines>>,
}

#[derive(Debug)]
pub(crate) struct Pipelines {
    layout: PipelineLayout,
    /// The pipelines with push constants and those with push data, each in the order of
    /// [`Kernel::ALL`].
    pipelines: [[LazyPipeline; Kernel::ALL.len()]; 2],
}

/// The dispatch of a kernel.
pub(crate) struct Dispatch {
    pub kernel: Kernel,
    /// The address of the kernel's parameters.
    pub parameters: u64,
    pub workgroups: [u32; 2],
}

impl Kernels {
    /// Creates the pipeline layout, but no pipelines yet. Creates nothing if the device was not created for the compute
    /// backend.
    ///
    /// # Errors
    /// A failed command, or [`RuntimeError::Limit`].
    ///
    /// # Safety
    /// The device of `ctx` is live.
    #[tracing::instrument(name = "kernels", level = "debug", skip_all)]
    pub unsafe fn new(ctx: &Context) -> Result<Self, RuntimeError> {
        if !ctx.enabled().has(Backend::Compute) {
            return Ok(Self::none());
        }
        let max = ctx.capabilities().limits.workgroup_invocations();
        let what = || "the workgroup of the kernels".to_owned();
        check_limit(what, kernel::MIN_WORKGROUP_SIZE, "maxComputeWorkGroupInvocations", max)?;
        let pipelines = unsafe { Pipelines::new(ctx) }?;
        Ok(Self { pipelines: Some(Arc::new(pipelines)) })
    }

    /// Creates the pipelines that do not exist yet, so that no recording waits for a compiler. Any thread may call this
    /// function while other threads record. Recordings create missing pipelines themselves, without a pipeline cache.
    /// On processors that is so for captures of thousands of draws, or hundreds with primitive restart, whose counts or
    /// positions the GPU computes: their kernels take seconds to compile, and other captures do not need them.
    ///
    /// # Errors
    /// The error of a failed command, or [`RuntimeError::InvalidShader`] for a fault of this crate's shaders.
    ///
    /// # Safety
    /// The device of `ctx` is live, and `ctx` is the context that the kernels were made with. `cache` is a pipeline
    /// cache of that device or null. The kernels were not destroyed.
    pub unsafe fn prepare(
        &self,
        ctx: &Context,
        cache: vk::PipelineCache,
    ) -> Result<(), RuntimeError> {
        let is_serial = ctx.settings().serial_kernels;
        let used: Vec<Kernel> = Kernel::ALL
            .into_iter()
            .filter(|kernel| kernel.is_serial().is_none_or(|serial| serial == is_serial))
            .collect();
        unsafe { self.prepare_each(ctx, &used, cache) }
    }

    /// Like [`prepare`](Self::prepare), but creates only the pipelines of `kernels`.
    ///
    /// # Errors
    /// The errors of [`prepare`](Self::prepare).
    ///
    /// # Safety
    /// The requirements of [`prepare`](Self::prepare) apply.
    pub unsafe fn prepare_each(
        &self,
        ctx: &Context,
        kernels: &[Kernel],
        cache: vk::PipelineCache,
    ) -> Result<(), RuntimeError> {
        let Some(pipelines) = &self.pipelines else { return Ok(()) };
        for kernel in kernels {
            unsafe { pipelines.get(ctx, ctx.parameter_transport(), *kernel, cache) }?;
        }
        Ok(())
    }

    /// Makes an object without pipelines, for a device that was created without the compute backend.
    pub const fn none() -> Self {
        Self { pipelines: None }
    }

    /// The pipelines of the kernels.
    ///
    /// # Errors
    /// [`RuntimeError::NoKernels`] if the device was created without the compute backend.
    pub(crate) fn pipelines(&self) -> Result<&Pipelines, RuntimeError> {
        self.pipelines.as_deref().ok_or(RuntimeError::NoKernels)
    }
}

impl<A: ?Sized> DestroyObject<A> for Kernels {
    unsafe fn destroy(self, ctx: &Context, _: &mut A) {
        let Some(Pipelines { layout, pipelines }) = self.pipelines.as_deref() else { return };
        // SAFETY: the caller's contract; null handles are ignored.
        unsafe {
            for pipeline in pipelines.as_flattened() {
                ctx.device().destroy_pipeline(pipeline.raw(), None);
            }
            layout.destroy(ctx);
        }
    }
}

impl Pipelines {
    /// # Safety
    /// The requirements of [`Kernels::new`] apply.
    unsafe fn new(ctx: &Context) -> Result<Self, RuntimeError> {
        let ranges = [vk::PushConstantRange {
            stage_flags: vk::ShaderStageFlags::COMPUTE,
            offset: 0,
            size: KERNEL_CONSTANTS_SIZE,
        }];
        let layout = unsafe { PipelineLayout::new(ctx, &[], ctx.table(), &ranges) }?;
        ctx.name(layout.raw, "vkxfb kernels");
        Ok(Self { layout, pipelines: Default::default() })
    }

    /// Returns the pipeline of a kernel, and creates it if it does not exist.
    ///
    /// # Errors
    /// The errors of [`Kernels::prepare`].
    ///
    /// # Safety
    /// The requirements of [`Kernels::prepare`] apply.
    pub(crate) unsafe fn get(
        &self,
        ctx: &Context,
        transport: ParameterTransport,
        kernel: Kernel,
        cache: vk::PipelineCache,
    ) -> Result<vk::Pipeline, RuntimeError> {
        self.pipelines[transport as usize][kernel.index()].get_or_make(|| {
            let _span = tracing::info_span!("kernel", %kernel).entered();
            let target = kernel::Target::default()
                .resources(ctx.resource_plan()?)
                .max_invocations(ctx.capabilities().limits.workgroup_invocations())
                .byte_loads(ctx.enabled().byte_loads)
                .int64_accesses(ctx.int64_accesses());
            let words = kernel::for_pipeline(kernel, &target, ctx.settings().optimizes_shaders)
                .map_err(|error| RuntimeError::InvalidShader(error.to_string()))?;
            let (none, entry) = (vk::SpecializationInfo::default(), kernel.entry_point());
            let resources = match transport {
                ParameterTransport::PushConstants => ComputeResources::sets(self.layout.raw),
                ParameterTransport::PushData => ComputeResources::Heaps(None),
            };
            // SAFETY: the caller's contract; the words are a valid module with that entry point.
            let made =
                unsafe { compute_pipeline(resources, ctx.device(), cache, &words, entry, &none) }?;
            ctx.name(made, &format!("vkxfb kernel {kernel}"));
            Ok(made)
        })
    }

    /// Binds a kernel, sets its parameters and dispatches it.
    ///
    /// # Errors
    /// The errors of [`Kernels::prepare`], if the pipeline does not exist yet.
    ///
    /// # Safety
    /// `cmd` is in the recording state, outside of a render pass instance. Under the descriptor plan `set` contains the
    /// buffers that the kernel accesses, and parameters are push constants. The parameters and the set stay valid while
    /// the command buffer is executed. If parameters are push data, the context has the commands for it.
    pub(crate) unsafe fn dispatch(
        &self,
        ctx: &Context,
        cmd: vk::CommandBuffer,
        transport: ParameterTransport,
        set: Option<vk::DescriptorSet>,
        dispatch: &Dispatch,
    ) -> Result<(), RuntimeError> {
        let &Dispatch { kernel, parameters, workgroups: [x, y] } = dispatch;
        let pipeline = unsafe { self.get(ctx, transport, kernel, vk::PipelineCache::null()) }?;
        let (device, layout) = (ctx.device(), self.layout.raw);
        unsafe {
            let point = vk::PipelineBindPoint::COMPUTE;
            device.cmd_bind_pipeline(cmd, point, pipeline);
            if let Some(set) = set {
                device.cmd_bind_descriptor_sets(cmd, point, layout, 0, &[set], &[]);
            }
            ctx.push_parameters(transport, cmd, layout, &parameters.to_le_bytes());
            device.cmd_dispatch(cmd, x, y, 1);
        }
        Ok(())
    }
}
