//! A headless device for the probe, tests, examples and benchmarks. It owns the Vulkan objects that
//! the runtime leaves to the application: instance, device, queue, command buffer and memory. Every
//! submission is waited for, so the device is idle between calls.

mod allocator;
mod buffers;
mod capture;
mod conformance;
mod contents;
mod draw_features;
mod driver;
mod error;
mod fetching;
mod inject;
mod instance;
mod kernel;
mod messages;
mod options;
mod pace;
mod shadow;
mod submission;
mod timing;
mod tools;
mod trials;

use std::sync::Arc;
use std::time::Duration;

use ash::{ext, vk};
use vkxfb::runtime::RuntimeError;
use vkxfb::runtime::{Barrier, Capabilities, Context, Kernels, Settings, required_features};
use vkxfb_rewriter::lower::{Backend, compute};
use vkxfb_rewriter::topology::PrimitiveTopology;

pub use self::capture::Step;
pub use self::capture::{CaptureRequest, CaptureResult, CaptureTarget, VertexData};
pub use self::contents::BoundContents;
pub use self::draw_features::DrawFeatures;
pub use self::driver::ManifestError;
pub use self::error::GpuError;
pub use self::fetching::Robustness;
pub use self::inject::InjectedFault;
pub use self::instance::layers;
pub use self::kernel::compute_pipeline;
pub use self::messages::Message;
pub use self::options::{
    DeviceInfo, DeviceSelector, HostMemory, OpenOptions, Profile, Resources, Tool,
};
pub use self::pace::SUBMISSION_LIMIT;
pub use self::timing::{MemoryLimits, Timestamps};

use self::allocator::OwnAllocator;
use self::instance::Instance;
use self::pace::Pace;

/// The default time limit of a submission; see [`Gpu::set_timeout`]. Devices that are CPUs have no
/// limit, because their speed depends on what else runs on the machine.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// Lists the devices of this machine, or of the driver that the options name. The options also
/// select the profile and the validation layer.
///
/// # Errors
/// [`GpuError::NoLoader`], [`GpuError::Driver`], [`GpuError::Manifest`], [`GpuError::NoDriver`], [`GpuError::NoDevice`],
/// [`GpuError::NoValidationLayer`], or a failed query.
pub fn devices(options: &OpenOptions) -> Result<Vec<DeviceInfo>, GpuError> {
    let instance = Instance::new(options)?;
    Ok(instance.devices(options.profile)?.into_iter().map(|(_, info)| info).collect())
}

/// The state of the device after submissions, which determines whether its objects may be used and destroyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The device works, and no submission is running.
    Idle,
    /// The device is lost. Its objects may be destroyed, but not used.
    Lost,
    /// A submission timed out and may still run. Objects that it may use are leaked, because they
    /// must not be destroyed.
    Hung,
}

/// A device with a queue, a command buffer and memory, for one submission at a time.
pub struct Gpu {
    context: Context,
    device_index: usize,
    device_count: usize,
    conformance_version: Option<String>,
    profile: Profile,
    physical_device: vk::PhysicalDevice,
    staging: Option<u32>,
    host_memory: HostMemory,
    robustness: Robustness,
    draw_features: DrawFeatures,
    later_point_size: bool,
    queue: vk::Queue,
    queue_family: u32,
    command_pool: vk::CommandPool,
    command_buffer: vk::CommandBuffer,
    fence: vk::Fence,
    render_pass: vk::RenderPass,
    framebuffer: vk::Framebuffer,
    kernels: Kernels,
    allocator: Option<OwnAllocator>,
    timeout: Duration,
    pace: Pace,
    submissions: u64,
    longest_submission: Duration,
    omitted: Option<Step>,
    injected: Option<InjectedFault>,
    state: State,
    /// Fields are dropped in order, and the instance must be destroyed last.
    instance: Instance,
}

impl Gpu {
    /// Opens a device.
    ///
    /// # Errors
    /// The errors of [`devices`]; [`GpuError::UnknownDevice`], [`GpuError::NoQueue`],
    /// [`GpuError::NoBackend`], or a failed command.
    pub fn open(options: &OpenOptions) -> Result<Self, GpuError> {
        let instance = Instance::new(options)?;
        let devices = instance.devices(options.profile)?;
        let device_count = devices.len();
        let (physical_device, info) = options::select(devices, options.device.as_ref())?;
        // SAFETY: the physical device belongs to the instance.
        let robustness = unsafe { Robustness::query(&instance, physical_device, &info, options) };
        let draw_features = match options.profile {
            // SAFETY: the physical device belongs to the instance.
            Profile::Full => unsafe { DrawFeatures::query(&instance.raw, physical_device, &info) },
            Profile::Bifrost => DrawFeatures::default(),
        };
        let mut caps = info.capabilities;
        if options.resources == Resources::Descriptors {
            caps.buffer_device_address = None;
        }
        if let Some(most) = options.storage_buffers {
            caps.limits.max_storage_buffers = caps.limits.max_storage_buffers.min(most);
        }
        if let Some(most) = options.workgroup_invocations {
            let limits = &mut caps.limits;
            limits.max_workgroup_invocations = limits.max_workgroup_invocations.min(most);
        }
        // SAFETY: the physical device belongs to the instance.
        let families =
            unsafe { instance.raw.get_physical_device_queue_family_properties(physical_device) };
        let wanted = vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE;
        let queue_family = (0u32..)
            .zip(&families)
            .find_map(|(i, family)| family.queue_flags.contains(wanted).then_some(i))
            .ok_or_else(|| GpuError::NoQueue { device: caps.device_name.clone() })?;

        let backends = match options.profile {
            Profile::Full => Backend::ALL
                .into_iter()
                .filter(|backend| caps.availability(*backend).is_ok())
                .collect(),
            Profile::Bifrost => vec![Backend::Compute],
        };
        if backends.is_empty() {
            return Err(GpuError::NoBackend(
                Backend::ALL
                    .into_iter()
                    .filter_map(|backend| caps.availability(backend).err())
                    .collect(),
            ));
        }
        let required =
            required_features(&caps, &backends).map_err(|e| GpuError::NoBackend(vec![e]))?;
        // SAFETY: the physical device belongs to the instance.
        let later_point_size = options.later_point_size
            && options.profile == Profile::Full
            && unsafe { instance.raw.get_physical_device_features(physical_device) }
                .shader_tessellation_and_geometry_point_size
                == vk::TRUE;
        // Shaders under test may use these features. No backend needs them.
        let features = match options.profile {
            Profile::Full => vk::PhysicalDeviceFeatures::default()
                .robust_buffer_access(options.robustness)
                .shader_tessellation_and_geometry_point_size(later_point_size)
                .shader_int64(caps.shader_int64)
                .shader_float64(caps.shader_float64)
                .shader_clip_distance(caps.shader_clip_distance)
                .shader_cull_distance(caps.shader_cull_distance),
            Profile::Bifrost => vk::PhysicalDeviceFeatures::default(),
        };
        let layer = ext::shader_viewport_index_layer::NAME;
        let mut extensions = match options.profile {
            Profile::Full if caps.extensions.contains(layer) => vec![layer],
            _ => Vec::new(),
        };
        let features = draw_features.core(features);
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(queue_family)
            .queue_priorities(&[1.0])];
        let mut create = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
        let mut robustness2 = robustness.features();
        if robustness.is_any() {
            create = create.push_next(&mut robustness2);
            extensions.push(ext::robustness2::NAME);
        }
        let device = draw_features
            .with_create_info(create, &extensions, |create, extensions| {
                let names: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
                let create = create.enabled_extension_names(&names).enabled_features(&features);
                // SAFETY: the structures are valid, and the device has the extensions and features
                // that they enable.
                unsafe {
                    required.with_create_info(create, |info| {
                        instance.raw.create_device(physical_device, info, None)
                    })
                }
            })
            .map_err(RuntimeError::vulkan("vkCreateDevice"))?;
        // SAFETY: the device was created with the extensions and features of `required`.
        let context = match unsafe { Context::new(&instance.raw, &device, caps, required) } {
            Ok(context) => context,
            Err(error) => {
                // SAFETY: no object of the device has been created.
                unsafe { device.destroy_device(None) };
                return Err(error.into());
            }
        };
        // Drivers for CPUs do not end long submissions, and their speed depends on what else runs, so submissions to
        // them get no time limits.
        let (timeout, submission_limit) = match context.capabilities().device_type {
            vk::PhysicalDeviceType::CPU => (Duration::MAX, Duration::MAX),
            _ => (TIMEOUT, SUBMISSION_LIMIT),
        };
        // SAFETY: the device was created with one queue of this family.
        let queue = unsafe { device.get_device_queue(queue_family, 0) };
        // From here on, dropping the `Gpu` cleans up after an error. Destroying null handles is
        // allowed.
        let mut gpu = Self {
            context,
            device_index: info.index,
            device_count,
            conformance_version: info.conformance_version,
            profile: options.profile,
            physical_device,
            staging: options.staging,
            host_memory: options.host_memory,
            robustness,
            draw_features,
            later_point_size,
            queue,
            queue_family,
            command_pool: vk::CommandPool::null(),
            command_buffer: vk::CommandBuffer::null(),
            fence: vk::Fence::null(),
            render_pass: vk::RenderPass::null(),
            framebuffer: vk::Framebuffer::null(),
            kernels: Kernels::none(),
            allocator: None,
            timeout,
            pace: Pace::new(submission_limit),
            submissions: 0,
            longest_submission: Duration::ZERO,
            omitted: None,
            injected: None,
            state: State::Idle,
            instance,
        };
        gpu.set(|settings| {
            settings.optimizes_shaders = !options.unoptimized;
            settings.serial_kernels &= !options.parallel_kernels;
            let most = settings.max_shared_workgroups;
            settings.max_shared_workgroups = options.max_shared_workgroups.unwrap_or(most);
            let rounds = settings.kernel_rounds;
            settings.kernel_rounds = options.kernel_rounds.unwrap_or(rounds);
        });
        gpu.create_objects()?;
        tracing::debug!(device = gpu.context.capabilities().device_name, "opened");
        Ok(gpu)
    }

    fn create_objects(&mut self) -> Result<(), GpuError> {
        let device = self.context.device().clone();
        // SAFETY: instance, physical device and context belong together, and live until the device
        // is dropped.
        let allocator = unsafe {
            let (instance, memory) = (&self.instance.raw, self.host_memory);
            OwnAllocator::new(instance, self.physical_device, &self.context, memory)
        }?;
        self.allocator = Some(allocator);
        let pool = vk::CommandPoolCreateInfo::default().queue_family_index(self.queue_family);
        let subpasses =
            [vk::SubpassDescription::default()
                .pipeline_bind_point(vk::PipelineBindPoint::GRAPHICS)];
        let pass = vk::RenderPassCreateInfo::default().subpasses(&subpasses);
        // SAFETY: the device is live, and the structures are valid.
        unsafe {
            self.command_pool = device
                .create_command_pool(&pool, None)
                .map_err(RuntimeError::vulkan("vkCreateCommandPool"))?;
            let allocate = vk::CommandBufferAllocateInfo::default()
                .command_pool(self.command_pool)
                .level(vk::CommandBufferLevel::PRIMARY)
                .command_buffer_count(1);
            self.command_buffer = device
                .allocate_command_buffers(&allocate)
                .map_err(RuntimeError::vulkan("vkAllocateCommandBuffers"))?
                .first()
                .copied()
                .unwrap_or_default();
            self.kernels = Kernels::new(&self.context)?;
            self.fence = device
                .create_fence(&vk::FenceCreateInfo::default(), None)
                .map_err(RuntimeError::vulkan("vkCreateFence"))?;
            self.render_pass = device
                .create_render_pass(&pass, None)
                .map_err(RuntimeError::vulkan("vkCreateRenderPass"))?;
            let frame = vk::FramebufferCreateInfo::default()
                .render_pass(self.render_pass)
                .width(1)
                .height(1)
                .layers(1);
            self.framebuffer = device
                .create_framebuffer(&frame, None)
                .map_err(RuntimeError::vulkan("vkCreateFramebuffer"))?;
        }
        Ok(())
    }

    /// The runtime's context, with which captures are recorded.
    pub const fn context(&self) -> &Context {
        &self.context
    }

    /// Changes the [`Settings`] of this device.
    pub fn set(&mut self, change: impl FnOnce(&mut Settings)) {
        let mut settings = self.context.settings();
        change(&mut settings);
        self.context.set_settings(settings);
    }

    /// Calls [`Context::omit_barrier`] for this device.
    ///
    /// # Safety
    /// The commands before and after the omitted barrier are not ordered. Whoever executes them must accept that they
    /// read and write arbitrary data.
    pub unsafe fn omit_barrier(&mut self, barrier: Option<Barrier>) {
        unsafe { self.context.omit_barrier(barrier) };
    }

    /// The capabilities of the device, as far as the profile allows them.
    pub fn capabilities(&self) -> &Capabilities {
        self.context.capabilities()
    }

    /// Returns the device properties for which shaders are lowered for the compute backend. For the other backends,
    /// which ignore such properties, returns the default.
    ///
    /// # Errors
    /// The errors of [`Context::compute_target`].
    pub fn compute_target(&self, backend: Backend) -> Result<compute::Target, GpuError> {
        match backend {
            Backend::Native | Backend::Vertex => Ok(compute::Target::default()),
            Backend::Compute => {
                let target = self.context.compute_target()?;
                Ok(target.staging(self.staging.unwrap_or(target.staging)))
            }
        }
    }

    /// Whether captures by a backend keep the order of the vertices of each primitive, of which vertex shaders draw a
    /// topology. Otherwise they may rotate it.
    pub fn preserves_order(&self, backend: Backend, topology: PrimitiveTopology) -> bool {
        let support = self.capabilities().provoking_vertex.as_ref();
        let fans = support.is_some_and(|support| support.triangle_fan_preserved);
        backend != Backend::Native
            || (self.context.enabled().preserve_provoking_vertex
                && (fans || topology != PrimitiveTopology::TriangleFan))
    }

    /// The backends that the device was opened for.
    pub fn backends(&self) -> &[Backend] {
        self.context.enabled().backends()
    }

    /// The index of the device in the order in which the loader lists devices.
    pub const fn device_index(&self) -> usize {
        self.device_index
    }

    /// The number of devices that the loader reports.
    pub const fn device_count(&self) -> usize {
        self.device_count
    }

    /// The conformance version that the driver states: [`DeviceInfo::conformance_version`].
    pub fn conformance_version(&self) -> Option<String> {
        self.conformance_version.clone()
    }

    /// The profile that the device was opened with.
    pub const fn profile(&self) -> Profile {
        self.profile
    }

    /// The optional features for draws that are enabled.
    pub const fn draw_features(&self) -> DrawFeatures {
        self.draw_features
    }

    /// Whether the native backend can capture geometry shaders that write `PointSize`:
    /// [`OpenOptions::later_point_size`] was set, and the device has the feature.
    pub const fn has_later_point_size(&self) -> bool {
        self.later_point_size
    }

    /// The instance, to load functions that the runtime does not call.
    pub const fn instance(&self) -> &ash::Instance {
        &self.instance.raw
    }

    /// The physical device, for queries that the runtime does not make.
    pub const fn physical_device(&self) -> vk::PhysicalDevice {
        self.physical_device
    }

    /// A render pass that has one subpass and no attachments.
    pub const fn render_pass(&self) -> vk::RenderPass {
        self.render_pass
    }

    /// A framebuffer of one pixel for [`render_pass`](Self::render_pass).
    pub const fn framebuffer(&self) -> vk::Framebuffer {
        self.framebuffer
    }

    /// Makes [`capture`](Self::capture) skip a step, for tests that prove that a missing step is
    /// detected. `None` skips no step.
    pub const fn omit_step(&mut self, step: Option<Step>) {
        self.omitted = step;
    }

    /// Returns the messages that the validation layer sent since the last call.
    pub fn take_messages(&self) -> Vec<Message> {
        self.instance.messages.take()
    }

    /// Destroys the device. Returns the messages that the validation layer sent since the last
    /// [`take_messages`](Self::take_messages), including those about objects that were not
    /// destroyed.
    pub fn close(self) -> Vec<Message> {
        let messages = Arc::clone(&self.instance.messages);
        drop(self);
        messages.take()
    }

    /// The queue, and the index of its family. The family supports graphics and compute.
    pub const fn queue(&self) -> (vk::Queue, u32) {
        (self.queue, self.queue_family)
    }

    /// The runtime's kernels, which this device destroys when it is dropped.
    pub fn kernels(&self) -> Kernels {
        self.kernels.clone()
    }

    /// Begins a render pass instance of [`render_pass`](Self::render_pass).
    ///
    /// # Safety
    /// `cmd` is being recorded, outside of a render pass instance.
    pub unsafe fn begin_render_pass(&self, cmd: vk::CommandBuffer) {
        unsafe { begin_render_pass(&self.context, cmd, self.render_pass, self.framebuffer) };
    }
}

/// Begins a render pass instance that covers one pixel. [`Gpu::begin_render_pass`] calls this with
/// its own objects.
///
/// # Safety
/// `cmd` is being recorded, outside of a render pass instance; the handles are of the device.
pub unsafe fn begin_render_pass(
    ctx: &Context,
    cmd: vk::CommandBuffer,
    render_pass: vk::RenderPass,
    framebuffer: vk::Framebuffer,
) {
    let info = vk::RenderPassBeginInfo::default()
        .render_pass(render_pass)
        .framebuffer(framebuffer)
        .render_area(vk::Rect2D {
            offset: vk::Offset2D { x: 0, y: 0 },
            extent: vk::Extent2D { width: 1, height: 1 },
        });
    unsafe { ctx.device().cmd_begin_render_pass(cmd, &info, vk::SubpassContents::INLINE) };
}

impl Drop for Gpu {
    fn drop(&mut self) {
        if self.state == State::Hung {
            std::mem::forget(self.allocator.take());
            self.instance.leak();
            return;
        }
        let device = self.context.device();
        // SAFETY: every submission was waited for, or the device is lost, so its objects may be
        // destroyed. Objects are destroyed before those that they were created from.
        unsafe {
            if self.state == State::Idle {
                let _ = device.device_wait_idle();
            }
            // Callers may have copies of the kernels, which cannot be used any more.
            self.context.destroy(self.kernels.clone(), &mut ());
            device.destroy_framebuffer(self.framebuffer, None);
            device.destroy_render_pass(self.render_pass, None);
            device.destroy_fence(self.fence, None);
            device.destroy_command_pool(self.command_pool, None);
            self.allocator = None;
            device.destroy_device(None);
        }
    }
}

#[cfg(test)]
mod tests;
