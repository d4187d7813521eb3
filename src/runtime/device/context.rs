//! [`Context`]: a device with its functions, its capabilities, and the features that it was created with. It also
//! records [barriers](crate::runtime::device::barrier).

pub mod overrides;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::{ext, vk};

use crate::runtime::device::barrier::{Barrier, ConsumerScope, Scope};
use crate::runtime::device::capabilities::Capabilities;
use crate::runtime::device::descriptor_heaps::{
    HeapCommands, ParameterTransport, record_parameters,
};
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::extensions::{AddressFn, DrawIndirectCountFn, TransformFeedbackFn};
use crate::runtime::device::features::{RequiredFeatures, required_features};
use crate::runtime::device::table_limits::TableLimits;
use crate::runtime::device::workarounds::WorkaroundEffect;
use vkxfb_rewriter::counts::MAX_BUFFER_SIZE;
use vkxfb_rewriter::lower::{Backend, ResourcePlan, compute};

/// The default of [`Context::max_shared_workgroups`](Context::max_shared_workgroups): draws share a
/// dispatch if each has at most this number of workgroups in it. A larger draw has its own dispatch, whose invocations
/// read the draw from push constants instead of memory, and whose Vulkan pipeline may stage records. For a small draw,
/// that pipeline would take more time to compile than it saves.
pub(crate) const MAX_SHARED_WORKGROUPS: u32 = 64;

/// The number of entries that all draws of a plan share. If there are more primitives, an entry has several of them;
/// neighbouring invocations then load and store at distant addresses. An NVIDIA H100 captures a million triangles at
/// 1.8 times the speed if each entry has one triangle instead of four.
pub(crate) const MAX_ENTRIES: u64 = 1 << 22;

/// The number of rounds of all loops after which llvmpipe ends the loops of an invocation (the workaround
/// `llvmpipe-short-loops`). Kernels of a single invocation take fewer on every device.
pub(crate) const MAX_KERNEL_ROUNDS: u64 = 65_535;

/// The number of workgroups per axis that every device supports.
const WORKGROUPS_EVERYWHERE: u32 = 65535;

/// Identifies a context and thereby its device. The `VkDevice` handle cannot identify it, because the implementation
/// may reuse the handle after the device is destroyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextId(u64);

impl ContextId {
    fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The handles of a device, for an application that does not use ash.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct RawDevice {
    /// [`vkGetInstanceProcAddr`](https://docs.vulkan.org/refpages/latest/refpages/source/vkGetInstanceProcAddr.html)
    /// of the loader. A layer passes its own or that of the next layer.
    pub get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
    /// The instance.
    pub instance: vk::Instance,
    /// The `apiVersion` that the instance was created with.
    pub instance_api_version: u32,
    /// The physical device.
    pub physical_device: vk::PhysicalDevice,
    /// The device.
    pub device: vk::Device,
}

impl RawDevice {
    /// Combines the handles of a device.
    pub const fn new(
        get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
        instance: vk::Instance,
        instance_api_version: u32,
        physical_device: vk::PhysicalDevice,
        device: vk::Device,
    ) -> Self {
        Self { get_instance_proc_addr, instance, instance_api_version, physical_device, device }
    }
}

impl fmt::Debug for RawDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawDevice")
            .field("instance", &self.instance)
            .field("instance_api_version", &self.instance_api_version)
            .field("physical_device", &self.physical_device)
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

/// A `VkDevice` with the functions that captures call. The application keeps ownership of the device.
///
/// Clones share functions and settings until a setter changes one of the clones.
#[derive(Clone)]
pub struct Context {
    shared: Arc<Shared>,
}

#[derive(Clone)]
struct Shared {
    id: ContextId,
    device: ash::Device,
    capabilities: Capabilities,
    enabled: RequiredFeatures,
    addresses: Option<AddressFn>,
    table: Option<TableLimits>,
    transform_feedback: Option<TransformFeedbackFn>,
    draw_indirect_count: Option<DrawIndirectCountFn>,
    max_workgroups_per_axis: u32,
    max_shared_workgroups: u32,
    max_entries: u64,
    serial_kernels: bool,
    kernel_rounds: u64,
    optimizes_shaders: bool,
    indirect_dispatch: bool,
    indirect_draws: bool,
    omitted: Option<Barrier>,
    debug_utils: Option<Arc<ext::debug_utils::Device>>,
    heap_commands: Option<Arc<dyn HeapCommands>>,
    transport: ParameterTransport,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("device", &self.shared.device.handle())
            .finish_non_exhaustive()
    }
}

impl Context {
    /// Loads the device functions that the enabled features need.
    ///
    /// # Errors
    /// [`RuntimeError::MissingFunction`] if a function cannot be loaded because the device was created without its
    /// extension or feature.
    ///
    /// # Safety
    /// `device` was created from `instance` with `enabled`, on the physical device that
    /// `capabilities` describes. The device outlives the context and all clones of it, including
    /// those that captures hold.
    #[tracing::instrument(name = "context", level = "debug", skip_all)]
    pub unsafe fn new(
        instance: &ash::Instance,
        device: &ash::Device,
        capabilities: Capabilities,
        enabled: RequiredFeatures,
    ) -> Result<Self, RuntimeError> {
        let addresses = enabled
            .address_source()
            .map(|source| AddressFn::load(instance, device, source))
            .transpose()?;
        let transform_feedback = enabled
            .has(Backend::Native)
            .then(|| TransformFeedbackFn::load(instance, device))
            .transpose()?;
        let draw_indirect_count = enabled
            .draw_indirect_count
            .then(|| DrawIndirectCountFn::load(instance, device))
            .transpose()?;
        let limits = &capabilities.limits;
        let table = enabled.uses_descriptors().then(|| {
            TableLimits::new(
                enabled.storage_buffers.min(limits.max_storage_buffers),
                limits.max_storage_buffer_range,
                limits.min_storage_buffer_offset_alignment,
            )
        });
        let [x, y, _] = capabilities.limits.max_workgroups;
        let shared = Shared {
            id: ContextId::next(),
            device: device.clone(),
            enabled,
            addresses,
            table,
            transform_feedback,
            draw_indirect_count,
            max_workgroups_per_axis: x.min(y).min(WORKGROUPS_EVERYWHERE),
            max_shared_workgroups: MAX_SHARED_WORKGROUPS,
            max_entries: MAX_ENTRIES,
            serial_kernels: capabilities.serial_kernels(),
            kernel_rounds: MAX_KERNEL_ROUNDS,
            optimizes_shaders: true,
            indirect_dispatch: capabilities.indirect_commands
                && !capabilities.identity().needs(WorkaroundEffect::DirectDispatch),
            indirect_draws: capabilities.indirect_commands
                && !capabilities.identity().needs(WorkaroundEffect::NoIndirectDraws),
            omitted: None,
            debug_utils: None,
            heap_commands: None,
            transport: ParameterTransport::default(),
            capabilities,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Makes a context for an existing device from its handles. `info` describes what the device
    /// was created with, see [`Capabilities::restrict`].
    ///
    /// # Errors
    /// [`RuntimeError::Unavailable`] for the first of `backends` that the device, as it was created, cannot run; the
    /// errors of [`Capabilities::query`] and [`new`](Self::new).
    ///
    /// # Safety
    /// The handles belong together. `info` is valid as [`Capabilities::restrict`] requires, and
    /// everything in it was enabled. The device and the instance outlive the context and all clones
    /// of it, including those that captures hold.
    pub unsafe fn from_raw(
        raw: &RawDevice,
        info: &vk::DeviceCreateInfo<'_>,
        backends: &[Backend],
    ) -> Result<Self, RuntimeError> {
        let get_instance_proc_addr = raw.get_instance_proc_addr;
        unsafe {
            let commands = ash::StaticFn { get_instance_proc_addr };
            let entry = ash::Entry::from_static_fn(commands.clone());
            let instance = ash::Instance::load(&commands, raw.instance);
            let device = ash::Device::load(instance.fp_v1_0(), raw.device);
            let version = raw.instance_api_version;
            let mut capabilities =
                Capabilities::query(&entry, &instance, version, raw.physical_device)?;
            capabilities.restrict(info);
            let required = required_features(&capabilities, backends)?;
            Self::new(&instance, &device, capabilities, required)
        }
    }

    /// The id that this context shares only with its clones.
    pub fn id(&self) -> ContextId {
        self.shared.id
    }

    /// Checks that an object that stores the context id `id` was made with this context or a clone of it. `what` names
    /// the object in the error.
    ///
    /// # Errors
    /// [`RuntimeError::OtherContext`].
    pub(crate) fn check_made(&self, id: ContextId, what: &'static str) -> Result<(), RuntimeError> {
        if id == self.id() { Ok(()) } else { Err(RuntimeError::OtherContext { what }) }
    }

    /// The device.
    pub fn device(&self) -> &ash::Device {
        &self.shared.device
    }

    /// The capabilities that were passed to [`new`](Self::new).
    pub fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    pub(crate) fn debug_utils(&self) -> Option<&Arc<ext::debug_utils::Device>> {
        self.shared.debug_utils.as_ref()
    }

    pub(crate) fn set_debug_utils_functions(&mut self, functions: ext::debug_utils::Device) {
        Arc::make_mut(&mut self.shared).debug_utils = Some(Arc::new(functions));
    }

    /// Sets the commands of `VK_EXT_descriptor_heap`. Captures need them for pipelines [in descriptor
    /// heaps](crate::runtime::descriptor_heaps), and in command buffers that use heaps.
    pub fn set_heap_commands(&mut self, commands: Arc<dyn HeapCommands>) {
        Arc::make_mut(&mut self.shared).heap_commands = Some(commands);
    }

    pub(crate) fn heap_commands(&self) -> Option<&Arc<dyn HeapCommands>> {
        self.shared.heap_commands.as_ref()
    }

    /// Sets how kernels get their parameters if they are recorded without a capture. In a command buffer that uses
    /// descriptor heaps, all functions of this crate have to be called with a clone of the context for which this is
    /// [`ParameterTransport::PushData`].
    pub fn set_parameter_transport(&mut self, transport: ParameterTransport) {
        Arc::make_mut(&mut self.shared).transport = transport;
    }

    pub(crate) fn parameter_transport(&self) -> ParameterTransport {
        self.shared.transport
    }

    /// Records the parameters of a compute shader, at offset 0.
    ///
    /// # Safety
    /// The requirements of [`record_parameters`] apply.
    pub(crate) unsafe fn push_parameters(
        &self,
        transport: ParameterTransport,
        cmd: vk::CommandBuffer,
        layout: vk::PipelineLayout,
        bytes: &[u8],
    ) {
        let commands = self.heap_commands();
        unsafe { record_parameters(transport, self.device(), commands, cmd, layout, bytes) };
    }

    /// The features that the device was created with, as they were passed to [`new`](Self::new).
    pub fn enabled(&self) -> &RequiredFeatures {
        &self.shared.enabled
    }

    /// Whether the device has buffer device addresses enabled.
    pub fn has_addresses(&self) -> bool {
        self.shared.addresses.is_some()
    }

    /// The flags for `VkMemoryAllocateFlagsInfo` with which an application allocates memory for buffers that captures
    /// access: `DEVICE_ADDRESS` if the context has device addresses, otherwise empty.
    pub fn memory_allocate_flags(&self) -> vk::MemoryAllocateFlags {
        if self.has_addresses() {
            vk::MemoryAllocateFlags::DEVICE_ADDRESS
        } else {
            vk::MemoryAllocateFlags::empty()
        }
    }

    /// Returns the [`compute::Target`] (resource plan, workgroup sizes and other settings) for which shaders have to be
    /// lowered so that compute captures can run them on this device.
    ///
    /// # Errors
    /// [`RuntimeError::FeatureNotEnabled`] if the device was not created for the compute backend.
    pub fn compute_target(&self) -> Result<compute::Target, RuntimeError> {
        let capabilities = &self.shared.capabilities;
        Ok(compute::Target::default()
            .resources(self.resource_plan()?)
            .workgroup_sizes(capabilities.workgroup_sizes())
            .staging(capabilities.staging())
            .int64_accesses(self.shared.enabled.shader_int64)
            .byte_loads(self.shared.enabled.byte_loads)
            .shared_draws(capabilities.shared_draws()))
    }

    /// The [`ResourcePlan`] by which compute captures access memory on this device. A shader must be lowered for this
    /// plan; the other members of its target may differ from those of [`compute_target`](Self::compute_target).
    ///
    /// # Errors
    /// The errors of [`compute_target`](Self::compute_target).
    pub fn resource_plan(&self) -> Result<ResourcePlan, RuntimeError> {
        match &self.shared.table {
            Some(table) => Ok(table.plan()),
            None if self.has_addresses() => Ok(ResourcePlan::DeviceAddress),
            None => Err(RuntimeError::FeatureNotEnabled {
                what: "the compute backend".to_owned(),
                feature: "bufferDeviceAddress, or shaderStorageBufferArrayDynamicIndexing",
            }),
        }
    }

    /// The largest size in bytes that a bound range of a capture buffer may have on the compute backend.
    pub fn max_capture_buffer(&self) -> u64 {
        self.table().map_or(MAX_BUFFER_SIZE, |table| table.max_range.min(MAX_BUFFER_SIZE))
    }

    /// The limits of the descriptor plan, or `None` if the device uses addresses or was not created for the compute
    /// backend.
    pub(crate) fn table(&self) -> Option<&TableLimits> {
        self.shared.table.as_ref()
    }

    /// Whether shaders in pipelines for one large draw test at run time whether accesses are
    /// aligned to their size ([`Capabilities::wide_accesses`]).
    pub(crate) fn tests_alignment(&self) -> bool {
        self.shared.table.is_none() && self.capabilities().wide_accesses()
    }

    /// The usage that a buffer needs so that shaders can access it.
    pub(crate) fn shader_usage(&self, backend: Backend) -> vk::BufferUsageFlags {
        match (&self.shared.table, backend) {
            (Some(_), Backend::Compute) => vk::BufferUsageFlags::STORAGE_BUFFER,
            _ => vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS,
        }
    }

    /// The device address of a buffer.
    ///
    /// # Errors
    /// [`RuntimeError::NoAddress`] if `bufferDeviceAddress` is not enabled or the device returns 0.
    ///
    /// # Safety
    /// `buffer` is a live buffer of the device with the usage `SHADER_DEVICE_ADDRESS`, bound to
    /// memory that was allocated with `VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT`.
    pub unsafe fn buffer_address(&self, buffer: vk::Buffer) -> Result<u64, RuntimeError> {
        let address = self.shared.addresses.as_ref().map_or(0, |f| unsafe { f.get(buffer) });
        match address {
            0 => Err(RuntimeError::NoAddress { what: format!("buffer {buffer:?}") }),
            address => Ok(address),
        }
    }

    /// The commands of `VK_EXT_transform_feedback`.
    ///
    /// # Errors
    /// [`RuntimeError::FeatureNotEnabled`] if the device was not created for the native backend.
    pub(crate) fn transform_feedback(&self) -> Result<&TransformFeedbackFn, RuntimeError> {
        self.shared.transform_feedback.as_ref().ok_or_else(|| RuntimeError::FeatureNotEnabled {
            what: "the native backend".to_owned(),
            feature: "transformFeedback",
        })
    }

    /// The number of workgroups that a dispatch may have along one axis: the device's limit, at
    /// most 65535.
    pub fn max_workgroups_per_axis(&self) -> u32 {
        self.shared.max_workgroups_per_axis
    }

    /// The number of workgroups up to which a draw shares a dispatch with other draws: [`MAX_SHARED_WORKGROUPS`], or
    /// less in tests. A larger draw has its own dispatch, and pipelines for its topology.
    pub(crate) fn max_shared_workgroups(&self) -> u32 {
        self.shared.max_shared_workgroups
    }

    /// The number of entries (runs of input primitives) that all draws of geometry and tessellation shaders in a plan
    /// share: [`MAX_ENTRIES`], or less in tests.
    pub(crate) fn max_entries(&self) -> u64 {
        self.shared.max_entries
    }

    /// Whether a single invocation of a kernel processes the draws of a capture: a [tuning](crate::runtime::tunings)
    /// for processors.
    pub(crate) fn serial_kernels(&self) -> bool {
        self.shared.serial_kernels
    }

    /// The number of rounds of all loops that an invocation of such a kernel may take: [`MAX_KERNEL_ROUNDS`], or less
    /// in tests.
    pub(crate) fn kernel_rounds(&self) -> u64 {
        self.shared.kernel_rounds
    }

    /// Whether the device gains from accesses to pairs of dwords as 64-bit integers, and the feature for it is enabled.
    pub(crate) fn int64_accesses(&self) -> bool {
        self.enabled().shader_int64 && self.capabilities().int64_accesses()
    }

    /// Whether shaders are [optimized](vkxfb_rewriter::lower::Lowered::specialized) before the driver compiles them.
    /// The default is true.
    pub(crate) fn optimizes_shaders(&self) -> bool {
        self.shared.optimizes_shaders
    }

    /// Sets whether shaders are optimized in all pipelines and [`Kernels`](crate::runtime::Kernels) that are created
    /// afterwards. Optimized shaders capture the same data. Without optimization drivers take longer to compile
    /// shaders, and some drivers generate slower code. Disable it to rule out a fault of the optimizer.
    pub fn set_optimizes_shaders(&mut self, optimizes: bool) {
        Arc::make_mut(&mut self.shared).optimizes_shaders = optimizes;
    }

    /// Whether captures may use `vkCmdDispatchIndirect`.
    pub fn has_indirect_dispatch(&self) -> bool {
        self.shared.indirect_dispatch
    }

    /// Sets whether captures may use `vkCmdDispatchIndirect`. No device reports that the command does not work; by
    /// default it is used, except on drivers where it is known to do nothing (`vkxfb info` tells whether the device has
    /// such a driver). Without the command, a capture whose size only the GPU knows is dispatched with the largest
    /// number of invocations that its capture buffers allow, and the surplus invocations do nothing. For an indirect
    /// draw with primitive restart this can be the number of bound indices times the number of primitives that fit,
    /// which can take longer than the driver's timeout: do not bind larger index ranges and capture buffers than
    /// needed.
    pub fn set_indirect_dispatch(&mut self, works: bool) {
        Arc::make_mut(&mut self.shared).indirect_dispatch = works;
    }

    /// Whether a [workaround](WorkaroundEffect::ShortLoops) limits how often loops iterate.
    pub(crate) fn limits_loops(&self) -> bool {
        self.shared.capabilities.identity().needs(WorkaroundEffect::ShortLoops)
    }

    /// Whether `vkCmdDrawIndirect` works.
    pub fn has_indirect_draws(&self) -> bool {
        self.shared.indirect_draws
    }

    /// Sets whether `vkCmdDrawIndirect` works. No device reports that the command does not work; by default it is
    /// assumed to work, except on drivers where it is known to do nothing (`vkxfb info` tells whether the device has
    /// such a driver). If it does not work,
    /// [`Kernels::write_draw_commands`](crate::runtime::Kernels::write_draw_commands) returns an error.
    pub fn set_indirect_draws(&mut self, work: bool) {
        Arc::make_mut(&mut self.shared).indirect_draws = work;
    }

    /// The command `vkCmdDrawIndirectCount`, for native captures.
    ///
    /// # Errors
    /// [`RuntimeError::FeatureNotEnabled`] if the device was created without `drawIndirectCount`.
    pub(crate) fn draw_indirect_count(&self) -> Result<&DrawIndirectCountFn, RuntimeError> {
        self.shared.draw_indirect_count.as_ref().ok_or_else(|| RuntimeError::FeatureNotEnabled {
            what: "a native indirect draw with a count".to_owned(),
            feature: "drawIndirectCount",
        })
    }

    /// The usage that a capture buffer needs for a backend.
    pub fn capture_buffer_usage(&self, backend: Backend) -> vk::BufferUsageFlags {
        match backend {
            Backend::Native => vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT,
            Backend::Vertex | Backend::Compute => self.shader_usage(backend),
        }
    }

    /// The usage that a vertex buffer needs for a backend.
    pub fn vertex_buffer_usage(&self, backend: Backend) -> vk::BufferUsageFlags {
        match backend {
            Backend::Native | Backend::Vertex => vk::BufferUsageFlags::VERTEX_BUFFER,
            Backend::Compute => self.shader_usage(backend),
        }
    }

    /// The usage that an index buffer needs for a backend.
    pub fn index_buffer_usage(&self, backend: Backend) -> vk::BufferUsageFlags {
        match backend {
            Backend::Native | Backend::Vertex => vk::BufferUsageFlags::INDEX_BUFFER,
            Backend::Compute => self.shader_usage(backend),
        }
    }

    /// The usage that a buffer of indirect arguments or draw counts needs for a backend. On the compute backend it is
    /// also the usage for predicates. (On the other backends the application uses Vulkan's own conditional rendering,
    /// which needs `CONDITIONAL_RENDERING_EXT`.)
    pub fn indirect_buffer_usage(&self, backend: Backend) -> vk::BufferUsageFlags {
        match backend {
            Backend::Native | Backend::Vertex => vk::BufferUsageFlags::INDIRECT_BUFFER,
            Backend::Compute => self.shader_usage(backend),
        }
    }

    /// The usage that a counter buffer needs for a backend. It also allows byte-count draws, which read their vertex
    /// count from the counter.
    pub fn counter_buffer_usage(&self, backend: Backend) -> vk::BufferUsageFlags {
        use vk::BufferUsageFlags as Usage;
        match backend {
            // VUID-vkCmdDrawIndirectByteCountEXT-counterBuffer-02290 requires INDIRECT_BUFFER.
            Backend::Native | Backend::Vertex => Usage::from_raw(
                Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT.as_raw()
                    | Usage::INDIRECT_BUFFER.as_raw(),
            ),
            Backend::Compute => self.shader_usage(backend),
        }
    }

    /// The usage that the destination buffer of
    /// [`QueryPool::copy_results`](crate::runtime::QueryPool::copy_results) needs.
    pub fn query_target_usage(&self) -> vk::BufferUsageFlags {
        self.shader_usage(Backend::Compute)
    }

    /// The usage that a buffer needs as the destination of
    /// [`Kernels::write_draw_commands`](crate::runtime::Kernels::write_draw_commands).
    pub fn draw_command_usage(&self) -> vk::BufferUsageFlags {
        self.shader_usage(Backend::Compute) | vk::BufferUsageFlags::INDIRECT_BUFFER
    }

    /// The stages and accesses with which a backend reads index buffers, indirect arguments, predicates and counters.
    /// If the GPU wrote such data, including counters that a capture resumes from, the writes must be made visible to
    /// this scope.
    pub const fn argument_scope(backend: Backend) -> (vk::PipelineStageFlags, vk::AccessFlags) {
        use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
        let stages = Stage::DRAW_INDIRECT.as_raw() | Stage::VERTEX_INPUT.as_raw();
        let accesses = Access::INDIRECT_COMMAND_READ.as_raw() | Access::INDEX_READ.as_raw();
        match backend {
            // vkCmdBeginTransformFeedbackEXT reads counters in the stage TRANSFORM_FEEDBACK; byte-count draws read them
            // in DRAW_INDIRECT.
            Backend::Native => (
                Stage::from_raw(Stage::TRANSFORM_FEEDBACK_EXT.as_raw() | stages),
                Access::from_raw(Access::TRANSFORM_FEEDBACK_COUNTER_READ_EXT.as_raw() | accesses),
            ),
            Backend::Vertex => (Stage::from_raw(stages), Access::from_raw(accesses)),
            Backend::Compute => (Stage::COMPUTE_SHADER, Access::SHADER_READ),
        }
    }

    /// The stage and accesses with which a backend writes its capture buffers and counters.
    ///
    /// Before a capture, the application must make earlier writes to these buffers available and visible to this scope,
    /// and order earlier reads of these buffers before the capture, as before `vkCmdBeginTransformFeedbackEXT`. Vertex
    /// data that the GPU wrote must become visible to `VERTEX_INPUT` / `VERTEX_ATTRIBUTE_READ` on the native and vertex
    /// backends, and to `COMPUTE_SHADER` / `SHADER_READ` on the compute backend.
    pub const fn write_scope(backend: Backend) -> (vk::PipelineStageFlags, vk::AccessFlags) {
        use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
        match backend {
            Backend::Native => (
                Stage::TRANSFORM_FEEDBACK_EXT,
                Access::from_raw(
                    Access::TRANSFORM_FEEDBACK_WRITE_EXT.as_raw()
                        | Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT.as_raw(),
                ),
            ),
            Backend::Vertex => (Stage::VERTEX_SHADER, Access::SHADER_WRITE),
            Backend::Compute => (Stage::COMPUTE_SHADER, Access::SHADER_WRITE),
        }
    }

    /// Records the barrier between captures and the commands that consume them.
    ///
    /// The barrier is one `vkCmdPipelineBarrier` with one global memory barrier from [`write_scope`](Self::write_scope)
    /// to the consumer. It covers every capture of `backend` that was recorded before it, and changes no bound state of
    /// the command buffer.
    ///
    /// # Safety
    /// `cmd` is in the recording state, for a queue that supports the stages of `backend` and
    /// `consumer`, and is outside of a render pass instance.
    pub unsafe fn capture_barrier(
        &self,
        cmd: vk::CommandBuffer,
        backend: Backend,
        consumer: ConsumerScope,
    ) {
        let consumer = (consumer.stages, consumer.access);
        unsafe {
            self.barrier(cmd, Barrier::CaptureToConsumer, Self::write_scope(backend), consumer)
        };
    }

    /// Records the barrier `which`, with the [scopes](Barrier::scopes) for kernels. Returns the number of barriers
    /// recorded: 0 if a test [omits](overrides::omit_barrier) the barrier, otherwise 1.
    ///
    /// # Safety
    /// `cmd` is in the recording state, for a queue that supports compute, and is outside of a
    /// render pass instance.
    pub(crate) unsafe fn kernel_barrier(&self, cmd: vk::CommandBuffer, which: Barrier) -> u32 {
        let (from, to) = which.scopes();
        unsafe { self.barrier(cmd, which, from, to) }
    }

    /// Whether a test [omits](overrides::omit_barrier) the barrier.
    pub(crate) fn omits(&self, which: Barrier) -> bool {
        self.shared.omitted == Some(which)
    }

    /// # Safety
    /// The requirements of [`memory_barrier`](Self::memory_barrier) apply.
    unsafe fn barrier(
        &self,
        cmd: vk::CommandBuffer,
        which: Barrier,
        from: Scope,
        to: Scope,
    ) -> u32 {
        if self.omits(which) {
            return 0;
        }
        unsafe { self.memory_barrier(cmd, from, to) };
        1
    }

    /// Records one global memory barrier.
    ///
    /// # Safety
    /// `cmd` is in the recording state, for a queue that supports the stages, and is outside of a
    /// render pass instance.
    pub(crate) unsafe fn memory_barrier(&self, cmd: vk::CommandBuffer, from: Scope, to: Scope) {
        let barrier = vk::MemoryBarrier::default().src_access_mask(from.1).dst_access_mask(to.1);
        unsafe {
            self.shared.device.cmd_pipeline_barrier(
                cmd,
                from.0,
                to.0,
                vk::DependencyFlags::empty(),
                &[barrier],
                &[],
                &[],
            );
        }
    }
}
