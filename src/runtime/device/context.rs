//! [`Context`]: a device with its functions, its capabilities, and the features that it was created with. It also
//! records [barriers](crate::runtime::device::barrier).

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
pub(crate) struct ContextId(u64);

/// What [`Context::made`] takes. The trait is not exported, so that it cannot be implemented outside of this crate.
pub trait Made {
    /// Whether the object was made with `context` or a clone of it.
    fn is_of(&self, context: &Context) -> bool;
}

impl ContextId {
    fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The handles of a device, for an application that does not use ash. No member has a default, so that it has no `new`
/// and is written with all of them.
#[derive(Clone, Copy)]
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

/// What captures of a context do where a program may decide. A context [begins](Context::new) with what suits its
/// device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Whether shaders are optimized in the pipelines and [`Kernels`](crate::runtime::Kernels) that are created
    /// afterwards. Optimized shaders capture the same data. Without optimization drivers take longer to compile
    /// shaders, and some drivers generate slower code. Disable it to rule out a fault of the optimizer.
    pub optimizes_shaders: bool,
    /// Whether captures may use `vkCmdDispatchIndirect`. No device reports that the command does not work; by default
    /// it is used, except on drivers where it is known to do nothing (`vkxfb info` tells whether the device has such a
    /// driver). Without the command, a capture whose size only the GPU knows is dispatched with the largest number of
    /// invocations that its capture buffers allow, and the surplus invocations do nothing. For an indirect draw with
    /// primitive restart this can be the number of bound indices times the number of primitives that fit, which can
    /// take longer than the driver's timeout: do not bind larger index ranges and capture buffers than needed.
    pub indirect_dispatch: bool,
    /// Whether `vkCmdDrawIndirect` works. No device reports that the command does not work; by default it is assumed to
    /// work, except on drivers where it is known to do nothing (`vkxfb info` tells whether the device has such a
    /// driver). If it does not work, [`Kernels::write_draw_commands`](crate::runtime::Kernels::write_draw_commands)
    /// returns an error.
    pub indirect_draws: bool,
    /// The number of workgroups that a dispatch may have along one axis: at most 65535, and at most the device's limit.
    /// With a low value, small captures need a dispatch with two axes or are refused as too large, which otherwise
    /// happens only to huge captures.
    pub max_workgroups_per_axis: u32,
    /// The number of workgroups up to which a draw shares a dispatch with other draws, at most 64. A larger draw has
    /// its own dispatch, and pipelines for its topology.
    pub max_shared_workgroups: u32,
    /// The number of entries (runs of input primitives) that all draws of geometry and tessellation shaders in a
    /// recording share, at most 2^22. With a low value, draws have few entries with many primitives each, which
    /// otherwise only huge draws have.
    pub max_entries: u64,
    /// Whether a single invocation of a kernel processes the draws of a capture, as suits processors.
    pub serial_kernels: bool,
    /// The number of rounds of all loops that an invocation of such a kernel may take, at most 65535. With a low value,
    /// these kernels work in many turns, which otherwise happens only to captures of thousands of draws.
    pub kernel_rounds: u64,
}

/// The usages that the buffers of captures by one backend need, each for one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferUsages {
    /// For a capture buffer.
    pub capture: vk::BufferUsageFlags,
    /// For a vertex buffer.
    pub vertex: vk::BufferUsageFlags,
    /// For an index buffer.
    pub index: vk::BufferUsageFlags,
    /// For a buffer of indirect arguments or draw counts, and on the compute backend for predicates. (On the other
    /// backends the application uses Vulkan's own conditional rendering, which needs `CONDITIONAL_RENDERING_EXT`.)
    pub indirect: vk::BufferUsageFlags,
    /// For a counter buffer. It also allows byte-count draws, which read their vertex count from the counter.
    pub counter: vk::BufferUsageFlags,
    /// For the destination buffer of [`QueryPool::copy_results`](crate::runtime::QueryPool::copy_results), whatever
    /// the backend.
    pub query_results: vk::BufferUsageFlags,
    /// For the destination of [`Kernels::write_draw_commands`](crate::runtime::Kernels::write_draw_commands), whatever
    /// the backend.
    pub draw_commands: vk::BufferUsageFlags,
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
    settings: Settings,
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

impl Settings {
    /// Lowers the numbers to what the device and captures allow.
    fn within(self, capabilities: &Capabilities) -> Self {
        let [x, y, _] = capabilities.limits.max_workgroups;
        Self {
            max_workgroups_per_axis: self
                .max_workgroups_per_axis
                .min(x)
                .min(y)
                .min(WORKGROUPS_EVERYWHERE),
            max_shared_workgroups: self.max_shared_workgroups.min(MAX_SHARED_WORKGROUPS),
            max_entries: self.max_entries.clamp(1, MAX_ENTRIES),
            kernel_rounds: self.kernel_rounds.min(MAX_KERNEL_ROUNDS),
            ..self
        }
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
            .address_source
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
        let shared = Shared {
            id: ContextId::next(),
            device: device.clone(),
            enabled,
            addresses,
            table,
            transform_feedback,
            draw_indirect_count,
            settings: Settings {
                optimizes_shaders: true,
                indirect_dispatch: capabilities.indirect_commands
                    && !capabilities.identity().needs(WorkaroundEffect::DirectDispatch),
                indirect_draws: capabilities.indirect_commands
                    && !capabilities.identity().needs(WorkaroundEffect::NoIndirectDraws),
                max_workgroups_per_axis: u32::MAX,
                max_shared_workgroups: u32::MAX,
                max_entries: u64::MAX,
                serial_kernels: capabilities.serial_kernels(),
                kernel_rounds: u64::MAX,
            }
            .within(&capabilities),
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

    /// What captures do where a program may decide.
    pub fn settings(&self) -> Settings {
        self.shared.settings
    }

    /// Sets what captures that are recorded with this context do where a program may decide. Numbers are lowered to
    /// what the device allows. Clones that were made before keep their settings.
    pub fn set_settings(&mut self, settings: Settings) {
        let settings = settings.within(self.capabilities());
        Arc::make_mut(&mut self.shared).settings = settings;
    }

    /// Omits the barrier `barrier` from later recordings, so that a test can find out whether it would notice the
    /// missing barrier. `None` omits no barrier.
    ///
    /// # Safety
    /// The commands before and after the omitted barrier are not ordered. Whoever executes them must accept that they
    /// read and write arbitrary data.
    pub unsafe fn omit_barrier(&mut self, barrier: Option<Barrier>) {
        Arc::make_mut(&mut self.shared).omitted = barrier;
    }

    /// Whether a buffer, an arena, a query pool or a pipeline was made with this context or a clone of it.
    pub fn made(&self, object: &impl Made) -> bool {
        object.is_of(self)
    }

    /// The id that this context shares only with its clones.
    pub(crate) fn id(&self) -> ContextId {
        self.shared.id
    }

    /// Checks that an object was made with this context or a clone of it. `what` names it in the error.
    ///
    /// # Errors
    /// [`RuntimeError::OtherContext`].
    pub(crate) fn check_made(
        &self,
        object: &impl Made,
        what: &'static str,
    ) -> Result<(), RuntimeError> {
        if self.made(object) { Ok(()) } else { Err(RuntimeError::OtherContext { what }) }
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

    /// Whether the device has buffer device addresses enabled. If so, the memory of buffers that captures access is
    /// allocated with `VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT`.
    pub fn has_addresses(&self) -> bool {
        self.shared.addresses.is_some()
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
            .selects_elements(capabilities.selects_elements())
            .shared_draws(capabilities.shared_draws()))
    }

    /// The [`ResourcePlan`] by which compute captures access memory on this device. A shader must be lowered for this
    /// plan; the other members of its target may differ from those of [`compute_target`](Self::compute_target).
    ///
    /// # Errors
    /// The errors of [`compute_target`](Self::compute_target).
    pub(crate) fn resource_plan(&self) -> Result<ResourcePlan, RuntimeError> {
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
    pub(crate) unsafe fn buffer_address(&self, buffer: vk::Buffer) -> Result<u64, RuntimeError> {
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

    /// Whether the device gains from accesses to pairs of dwords as 64-bit integers, and the feature for it is enabled.
    pub(crate) fn int64_accesses(&self) -> bool {
        self.enabled().shader_int64 && self.capabilities().int64_accesses()
    }

    /// Whether a [workaround](WorkaroundEffect::ShortLoops) limits how often loops iterate.
    pub(crate) fn limits_loops(&self) -> bool {
        self.shared.capabilities.identity().needs(WorkaroundEffect::ShortLoops)
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

    /// The usages that buffers need for captures by `backend`.
    pub fn buffer_usages(&self, backend: Backend) -> BufferUsages {
        use vk::BufferUsageFlags as Usage;
        let (read, indirect) = (self.shader_usage(Backend::Compute), Usage::INDIRECT_BUFFER);
        let (query_results, draw_commands) = (read, read | indirect);
        let counter = Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT;
        match backend {
            Backend::Compute => BufferUsages {
                capture: read,
                vertex: read,
                index: read,
                indirect: read,
                counter: read,
                query_results,
                draw_commands,
            },
            Backend::Native | Backend::Vertex => BufferUsages {
                capture: match backend {
                    Backend::Native => Usage::TRANSFORM_FEEDBACK_BUFFER_EXT,
                    Backend::Vertex | Backend::Compute => self.shader_usage(backend),
                },
                vertex: Usage::VERTEX_BUFFER,
                index: Usage::INDEX_BUFFER,
                indirect,
                // VUID-vkCmdDrawIndirectByteCountEXT-counterBuffer-02290 requires INDIRECT_BUFFER.
                counter: counter | indirect,
                query_results,
                draw_commands,
            },
        }
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

    /// Records the barrier `which`, with the [scopes](Barrier::scopes) for kernels. `is_indirect` says whether any
    /// dispatch of the plan is indirect. Returns the number of barriers recorded: 0 if a test
    /// [omits](Self::omit_barrier) the barrier, otherwise 1.
    ///
    /// # Safety
    /// `cmd` is in the recording state, for a queue that supports compute, and is outside of a
    /// render pass instance.
    pub(crate) unsafe fn kernel_barrier(
        &self,
        cmd: vk::CommandBuffer,
        which: Barrier,
        is_indirect: bool,
    ) -> u32 {
        let (from, to) = which.scopes(is_indirect);
        unsafe { self.barrier(cmd, which, from, to) }
    }

    /// Whether a test [omits](Self::omit_barrier) the barrier.
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
