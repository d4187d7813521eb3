//! [`Device`]: the objects of a device that captures, in one.

use std::fmt;

use ash::vk;

use crate::lower::Backend;
use crate::runtime::{
    ArenaDesc, ArenaRing, Buffer, BufferDesc, ByteCountDraw, Capabilities, Capture, CaptureDesc,
    ConsumerScope, Context, CounterBuffer, Destroy, DrawCommands, Kernels, MemoryAllocator,
    MemoryLocation, Pipeline, Profile, QueryKind, QueryPool, Recorded, Recorder, RuntimeError,
    SimpleAllocator, Stages, StagesError, required_features,
};

/// An allocator that a [`Device`] owns.
type Allocator = Box<dyn MemoryAllocator + Send + Sync>;

/// The number of draws in a frame for which new arenas are large enough. They grow where a frame has more.
const DRAWS: u64 = 64;

/// A device that captures by compute: its [`Context`], its [`Kernels`], an allocator, and an [arena](ArenaRing) for
/// each frame in flight, which grows.
///
/// ```no_run
/// # use vkxfb::ash::{self, vk};
/// # use vkxfb::*;
/// # unsafe fn example(
/// #     entry: &ash::Entry, instance: &ash::Instance, physical_device: vk::PhysicalDevice,
/// #     info: vk::DeviceCreateInfo<'_>, cmd: vk::CommandBuffer, spirv: &[u32],
/// # ) -> Result<(), Box<dyn std::error::Error>> { unsafe {
/// let mut xfb = Device::create(entry, instance, vk::API_VERSION_1_2, physical_device, info)?;
/// let captured = xfb.buffer("captured", 3 * 3 * 16, MemoryLocation::Readback)?;
/// let pipeline = xfb.pipeline(&Stages::new(spirv).varyings(&["@Position"]))?;
///
/// // In each frame, once the device has finished the frame before the last. The host reads one buffer for each frame
/// // in flight; draws and other commands may read the same one in all frames.
/// xfb.next_frame();
/// let buffers = captured.as_capture_buffers();
/// let desc = CaptureDesc { buffers, ..CaptureDesc::new(&pipeline) };
/// xfb.capture(cmd, &desc, ConsumerScope::HOST, |recorder| {
///     recorder.draw(PrimitiveTopology::TriangleStrip, &Draw::new(5))
/// })?;
///
/// // At the end, when the device is idle.
/// xfb.destroy((captured, pipeline));
/// # Ok(())
/// # } }
/// ```
///
/// An engine whose arenas come from its own allocator, or that places barriers or records in several threads by its own
/// rules, makes these objects itself, or takes them from here: every function of this type is made of a few calls that
/// are public.
///
/// Dropping a device destroys nothing: [`destroy`](Self::destroy) does.
pub struct Device {
    context: Context,
    kernels: Kernels,
    allocator: Allocator,
    arenas: ArenaRing,
    /// What each call of `capture` collects its draws in.
    capture: Capture,
    /// Whether `destroy` also destroys the Vulkan device.
    is_owned: bool,
}

impl Device {
    /// The number of frames in flight of a device for which no other number was [set](Self::set_frames_in_flight).
    pub const FRAMES_IN_FLIGHT: usize = 2;

    /// Creates a Vulkan device with `info` and everything that captures require. [`destroy`](Self::destroy) destroys
    /// it.
    ///
    /// `instance_api_version` is the `apiVersion` that the instance was created with.
    ///
    /// # Errors
    /// [`RuntimeError::Unavailable`] if the device cannot capture by compute; a failed `vkCreateDevice`, allocation or
    /// other command.
    ///
    /// # Safety
    /// The requirements of [`Context::create_device`] apply. The instance outlives the device.
    pub unsafe fn create(
        entry: &ash::Entry,
        instance: &ash::Instance,
        instance_api_version: u32,
        physical_device: vk::PhysicalDevice,
        info: vk::DeviceCreateInfo<'_>,
    ) -> Result<Self, RuntimeError> {
        let (version, profile) = (instance_api_version, Profile::Full);
        unsafe {
            Self::create_with_profile(entry, instance, version, physical_device, info, profile)
        }
    }

    /// Like [`create`](Self::create), and uses no more of the device than a profile has: to try on this device what
    /// captures do on a lesser one.
    ///
    /// # Errors
    /// The errors of [`create`](Self::create).
    ///
    /// # Safety
    /// The requirements of [`create`](Self::create) apply.
    pub unsafe fn create_with_profile(
        entry: &ash::Entry,
        instance: &ash::Instance,
        instance_api_version: u32,
        physical_device: vk::PhysicalDevice,
        info: vk::DeviceCreateInfo<'_>,
        profile: Profile,
    ) -> Result<Self, RuntimeError> {
        // SAFETY: the caller's contract; where the device is destroyed, nobody uses it.
        unsafe {
            let version = instance_api_version;
            let mut capabilities = Capabilities::query(entry, instance, version, physical_device)?;
            capabilities.restrict_to(profile);
            let backends = &[Backend::Compute];
            let (device, context) =
                Context::create_device_of(instance, physical_device, info, capabilities, backends)?;
            let allocator = SimpleAllocator::new(instance, physical_device, &context);
            match Self::new(context, allocator) {
                Ok(this) => Ok(Self { is_owned: true, ..this }),
                Err(error) => {
                    device.destroy_device(None);
                    Err(error)
                }
            }
        }
    }

    /// Captures on an existing device, which was created with `info`: its extensions, and its features in
    /// `pEnabledFeatures` or in its chain. Queues are not read, and `info` may leave out what captures do not need.
    ///
    /// The device needs the feature `bufferDeviceAddress`, or else `shaderStorageBufferArrayDynamicIndexing`; it needs
    /// neither `geometryShader` nor `tessellationShader`. What captures use in addition, where it is enabled, is in
    /// [`RequiredFeatures`](crate::runtime::RequiredFeatures).
    ///
    /// # Errors
    /// [`RuntimeError::Unavailable`] if the device was created without something that captures by compute require; a
    /// failed allocation or other command.
    ///
    /// # Safety
    /// The requirements of [`Capabilities::restrict`] and [`Context::new`] apply. The Vulkan device outlives this one.
    pub unsafe fn from_existing(
        entry: &ash::Entry,
        instance: &ash::Instance,
        instance_api_version: u32,
        physical_device: vk::PhysicalDevice,
        device: &ash::Device,
        info: &vk::DeviceCreateInfo<'_>,
    ) -> Result<Self, RuntimeError> {
        unsafe {
            let mut capabilities =
                Capabilities::query(entry, instance, instance_api_version, physical_device)?;
            capabilities.restrict(info);
            let required = required_features(&capabilities, &[Backend::Compute])?;
            let context = Context::new(instance, device, capabilities, required)?;
            let allocator = SimpleAllocator::new(instance, physical_device, &context);
            Self::new(context, allocator)
        }
    }

    /// Captures with a context and an allocator of the application, for [`Self::FRAMES_IN_FLIGHT`] frames in flight.
    /// The allocator is dropped by [`destroy`](Self::destroy).
    ///
    /// # Errors
    /// A failed allocation or other command.
    ///
    /// # Safety
    /// The context was created for [`Backend::Compute`]. Its device is live, and outlives this one. `allocator` belongs
    /// to it, and was created as its implementation requires.
    pub unsafe fn new(
        context: Context,
        allocator: impl MemoryAllocator + Send + Sync + 'static,
    ) -> Result<Self, RuntimeError> {
        let mut allocator: Allocator = Box::new(allocator);
        // SAFETY: the caller's contract; nothing was recorded with the kernels.
        unsafe {
            let kernels = Kernels::new(&context)?;
            let frames = Self::FRAMES_IN_FLIGHT;
            match Self::arenas(&context, &mut allocator, frames) {
                Ok(arenas) => {
                    let capture = Capture::new(&context, &kernels);
                    Ok(Self { context, kernels, allocator, arenas, capture, is_owned: false })
                }
                Err(error) => {
                    context.destroy(kernels, &mut ());
                    Err(error)
                }
            }
        }
    }

    /// # Safety
    /// The requirements of [`new`](Self::new) apply.
    unsafe fn arenas(
        context: &Context,
        allocator: &mut Allocator,
        frames: usize,
    ) -> Result<ArenaRing, RuntimeError> {
        let desc = ArenaDesc::new(1, DRAWS);
        unsafe { ArenaRing::new(context, &mut **allocator, desc, frames) }
    }

    /// Sets for how many frames [`next_frame`](Self::next_frame) keeps what was recorded. 0 counts as 1.
    ///
    /// # Errors
    /// A failed allocation, after which the number is as before.
    ///
    /// # Safety
    /// Every command buffer that was recorded with this device has been reset or freed.
    pub unsafe fn set_frames_in_flight(&mut self, frames: usize) -> Result<(), RuntimeError> {
        unsafe {
            let arenas = Self::arenas(&self.context, &mut self.allocator, frames)?;
            let old = std::mem::replace(&mut self.arenas, arenas);
            self.context.destroy(old, &mut *self.allocator);
        }
        Ok(())
    }

    /// Begins a frame: the memory of the frame that began two frames ago ([`Self::FRAMES_IN_FLIGHT`]) is used again. With
    /// more frames in flight, [set their number](Self::set_frames_in_flight): otherwise frames overwrite the data of those
    /// that the device still executes, which the validation layer reports under the descriptor plan alone. Without this
    /// call each recording takes more memory, so only a program that records a few times leaves it out.
    ///
    /// # Safety
    /// Every command buffer that was recorded in the frame whose memory is used again has been reset or freed.
    pub unsafe fn next_frame(&mut self) {
        unsafe { self.arenas.next_frame() };
    }

    /// Creates a buffer that can be everything that captures read and write: capture buffer, counter buffer, vertex and
    /// index buffer, draw arguments and query results, also for the application's own draws and transfers.
    ///
    /// # Errors
    /// A failed allocation or other command.
    ///
    /// # Safety
    /// The device is live.
    pub unsafe fn buffer(
        &mut self,
        name: &str,
        size: u64,
        location: MemoryLocation,
    ) -> Result<Buffer, RuntimeError> {
        use vk::BufferUsageFlags as Usage;
        let usage = self.buffer_usage()
            | Usage::VERTEX_BUFFER
            | Usage::INDEX_BUFFER
            | Usage::INDIRECT_BUFFER
            | Usage::TRANSFER_SRC
            | Usage::TRANSFER_DST;
        let desc = BufferDesc { name, size, usage, location };
        unsafe { Buffer::new(&self.context, &mut *self.allocator, &desc) }
    }

    /// Returns what captures and other commands wrote to a buffer of [`MemoryLocation::Readback`]. The slice is empty
    /// if the memory is not mapped.
    ///
    /// # Errors
    /// A failed `vkInvalidateMappedMemoryRanges`.
    ///
    /// # Safety
    /// The buffer was made with this device. The device has executed the commands that write it, of which the last was
    /// followed by a barrier for [`ConsumerScope::HOST`], and writes it no more while the slice lives.
    pub unsafe fn read<'a>(&self, buffer: &'a Buffer) -> Result<&'a [u8], RuntimeError> {
        unsafe {
            buffer.invalidate(&self.context)?;
            Ok(buffer.mapped())
        }
    }

    /// The usage that the application's own buffers need in addition to theirs if captures read or write them. If it is
    /// `SHADER_DEVICE_ADDRESS`, their memory is allocated with `VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT`.
    pub fn buffer_usage(&self) -> vk::BufferUsageFlags {
        self.context.buffer_usages(Backend::Compute).capture
    }

    /// Creates a pool of `count` queries, which are in the reset state.
    ///
    /// # Errors
    /// The errors of [`QueryPool::new`].
    ///
    /// # Safety
    /// The device is live.
    pub unsafe fn query_pool(
        &mut self,
        kind: QueryKind,
        count: u32,
    ) -> Result<QueryPool, RuntimeError> {
        unsafe { QueryPool::new(&self.context, &mut *self.allocator, kind, count) }
    }

    /// Creates a pipeline from the stages of a graphics pipeline.
    ///
    /// # Errors
    /// The errors of [`Pipeline::from_stages`].
    ///
    /// # Safety
    /// The requirements of [`Pipeline::from_stages`] apply.
    pub unsafe fn pipeline(&self, stages: &Stages<'_>) -> Result<Pipeline, StagesError> {
        unsafe { Pipeline::from_stages(&self.context, stages) }
    }

    /// Records a capture, in place of `vkCmdBeginTransformFeedbackEXT`, the draws that `draw` records, and
    /// `vkCmdEndTransformFeedbackEXT`. After it, a barrier makes what was captured, and the counters, visible to `consumer`
    /// (of several consumers, `A | B`) and in any case to captures that follow; before it, a barrier waits for commands
    /// in the stages of `consumer`. So captures may follow each other into the same buffers, also in other frames, and go
    /// on where another one ended.
    ///
    /// If `draw` returns an error or panics, or if there is another error, no draw is recorded. There is one exception:
    /// if recording fails after a [part of the draws](Capture::play) was recorded, the command buffer must not be
    /// submitted.
    ///
    /// # Errors
    /// The error of `draw`; the errors of [`Recorder::begin`] and [`Recorder::end`], except for those of full arenas.
    ///
    /// # Safety
    /// The requirements of [`Recorder::begin`] and of [`Context::capture_barrier`] apply, but for earlier accesses to
    /// the capture buffers by captures of this device and in the stages of `consumer`.
    pub unsafe fn capture<E: From<RuntimeError>>(
        &mut self,
        cmd: vk::CommandBuffer,
        desc: &CaptureDesc<'_>,
        consumer: ConsumerScope,
        draw: impl FnOnce(&mut Recorder<'_>) -> Result<(), E>,
    ) -> Result<Recorded, E> {
        // SAFETY: the caller's contract; `self.capture` is played here alone.
        unsafe { self.capture_with_counters(cmd, desc, &[], consumer, draw) }
    }

    /// Like [`capture`](Self::capture), and writes `counters`, one for each capture buffer, as
    /// `vkCmdEndTransformFeedbackEXT` does. A capture that [begins with](field@CaptureDesc::counters) these goes on
    /// where this one has ended.
    ///
    /// # Errors
    /// The errors of [`capture`](Self::capture).
    ///
    /// # Safety
    /// The requirements of [`capture`](Self::capture) apply.
    pub unsafe fn capture_with_counters<E: From<RuntimeError>>(
        &mut self,
        cmd: vk::CommandBuffer,
        desc: &CaptureDesc<'_>,
        counters: &[Option<CounterBuffer>],
        consumer: ConsumerScope,
        draw: impl FnOnce(&mut Recorder<'_>) -> Result<(), E>,
    ) -> Result<Recorded, E> {
        use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
        let Self { context, allocator, arenas, capture, .. } = self;
        unsafe {
            capture.begin(desc)?;
            draw(&mut capture.recorder())?;
            if capture.has_active_query() {
                tracing::warn!(
                    "a capture ends with an active query: it has no result until a later capture begins and ends it"
                );
            }
            capture.end(counters)?;
            // The host reads after a fence, which orders its reads before what is submitted later.
            let readers = consumer.stages & !Stage::HOST;
            if !readers.is_empty() {
                let captures = (Stage::COMPUTE_SHADER, Access::empty());
                context.memory_barrier(cmd, (readers, Access::empty()), captures);
            }
            let recorded = capture.play(arenas.current().growing(&mut **allocator), cmd)?;
            // The application's shaders may also read uniform buffers.
            let access = Access::SHADER_READ | Access::SHADER_WRITE | Access::UNIFORM_READ;
            let captures = ConsumerScope { stages: Stage::COMPUTE_SHADER, access };
            context.capture_barrier(cmd, Backend::Compute, consumer | captures);
            Ok(recorded)
        }
    }

    /// Writes commands for `vkCmdDrawIndirect` that draw what was captured, in place of
    /// `vkCmdDrawIndirectByteCountEXT`: [`Kernels::write_draw_commands`] with the kernels and the arena of this device.
    ///
    /// # Errors
    /// The errors of [`Kernels::write_draw_commands`], except for those of full arenas.
    ///
    /// # Safety
    /// The requirements of [`Kernels::write_draw_commands`] apply.
    pub unsafe fn write_draw_commands(
        &mut self,
        cmd: vk::CommandBuffer,
        draws: &[ByteCountDraw],
        commands: &DrawCommands,
    ) -> Result<(), RuntimeError> {
        let Self { context, kernels, allocator, arenas, .. } = self;
        unsafe {
            let arena = arenas.current().growing(&mut **allocator);
            kernels.write_draw_commands(context, arena, cmd, draws, commands)
        }
    }

    /// Destroys the device, and `objects` that were made with it: buffers, pipelines and query pools, tuples, arrays,
    /// `Vec`s and `Option`s of them. The Vulkan device is destroyed too, if it was [created](Self::create) here.
    ///
    /// # Safety
    /// The requirements of [`Context::destroy`] apply to `objects`, with the context and the
    /// [allocator](Self::allocator) of this device. The Vulkan device is idle, and what was recorded with this one is
    /// not submitted any more. Objects that are not passed are not used any more.
    pub unsafe fn destroy(self, objects: impl Destroy<dyn MemoryAllocator + Send + Sync>) {
        let Self { context, kernels, mut allocator, arenas, is_owned, .. } = self;
        unsafe {
            context.destroy((objects, arenas, kernels), &mut *allocator);
            drop(allocator);
            if is_owned {
                context.device().destroy_device(None);
            }
        }
    }

    /// The Vulkan device.
    pub fn raw(&self) -> &ash::Device {
        self.context.device()
    }

    /// The context, with the functions and the properties of the device.
    pub const fn context(&self) -> &Context {
        &self.context
    }

    /// The pipelines that prepare captures. [`Kernels::prepare`] compiles them, so that no recording does.
    pub const fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    /// The allocator of the device's buffers and arenas. The device owns it: an engine that allocates from it, too, passes
    /// a type of its own to [`new`](Self::new) which implements [`MemoryAllocator`] for an allocator that both share.
    pub fn allocator(&mut self) -> &mut (dyn MemoryAllocator + Send + Sync) {
        &mut *self.allocator
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("context", &self.context)
            .field("arenas", &self.arenas)
            .field("is_owned", &self.is_owned)
            .finish_non_exhaustive()
    }
}
