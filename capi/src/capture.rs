//! Begins, ends, records and plays captures, and manages their memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk;
use vkxfb::runtime::{
    Arena, ArenaAccess, ArenaDesc, Capture, CaptureDesc, CaptureOrder, CounterBuffer, Recorded,
    Recorder, RuntimeError, VertexBuffer,
};

use crate::active_query::ActiveQuery;
use crate::arguments::{array, create, owned, required, required_mut};
use crate::buffers::{VKXFB_MAX_BUFFERS, VkxfbBufferRange, VkxfbCounterBuffer};
use crate::context::{Shared, VkxfbContext};
use crate::error::{Error, VkxfbResult, guard, guard_quietly, last_message};
use crate::extensible::{Output, extensible, read};
use crate::pipeline::VkxfbPipeline;

/// The number of draws in a capture for which a new arena is large enough.
const DRAWS: u64 = 64;

/// The parameters of the beginning of a capture.
#[repr(C)]
#[derive(Debug)]
pub struct VkxfbCaptureBeginInfo {
    /// The `sizeof` of the structure, as `VKXFB_INIT` sets it.
    pub struct_size: usize,
    /// The pipeline of the first draws.
    pub pipeline: *const VkxfbPipeline,
    /// Number of elements of `pBuffers`.
    pub buffer_count: u32,
    /// Capture buffers: the index is the number in the shader's `XfbBuffer` decoration, or how many
    /// times `gl_NextBuffer` stands before the output in `ppVaryings`. Offsets are multiples of 4. If
    /// a buffer is `VK_NULL_HANDLE`, its outputs are not captured.
    ///
    /// A range gets one record for each vertex of each point, line or triangle that is drawn, or
    /// that the geometry shader emits, so a strip of N vertices has up to 3 * (N - 2) records.
    /// Primitives that do not fit into the ranges of all buffers of their vertex stream are not
    /// written. This is not an error.
    pub p_buffers: *const VkxfbBufferRange,
    /// Number of elements of `pVertexBuffers`.
    pub vertex_buffer_count: u32,
    /// Vertex buffers: the index is the number of the binding. Each binding that the pipeline reads needs an
    /// element. If its buffer is `VK_NULL_HANDLE`, its attributes are zero until another one is bound.
    pub p_vertex_buffers: *const VkxfbBufferRange,
    /// Number of elements of `pCounterBuffers`, at most `VKXFB_MAX_BUFFERS`.
    pub counter_buffer_count: u32,
    /// Counters: the index is the number of the capture buffer. A counter says where writing to its
    /// buffer starts. Writing to a buffer without a counter starts at the start of its range. Several
    /// buffers may have the same counter here, though not at the end of a capture.
    pub p_counter_buffers: *const VkxfbCounterBuffer,
}

extensible! {
    VkxfbCaptureBeginInfo { ..p_counter_buffers }
    VkxfbCaptured { ..positions, dispatch_count, barrier_count }
}

/// The results of a capture, as far as the CPU knows them, and how many commands were recorded for
/// it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct VkxfbCaptured {
    /// The `sizeof` of the structure, as `VKXFB_INIT` sets it.
    pub struct_size: usize,
    /// Whether the numbers of primitives and the positions are known. They are known if the capture
    /// began without counters, and has no indirect draws, no draws by byte count, no conditional
    /// rendering, no primitive restart, and no geometry shader that emits to several vertex streams
    /// or not always the same number of vertices. Otherwise they are 0, and only counters and
    /// queries return the values.
    pub is_known: vk::Bool32,
    /// Number of primitives that are written.
    pub primitives_written: u64,
    /// Number of primitives that would be written if the buffers were large enough.
    pub primitives_needed: u64,
    /// Number of bytes that are written, from the start of the range of each capture buffer.
    pub positions: [u64; VKXFB_MAX_BUFFERS],
    /// Number of dispatches that were recorded.
    pub dispatch_count: u32,
    /// Number of pipeline barriers that were recorded.
    pub barrier_count: u32,
}

/// A capture, which corresponds to the commands from `vkCmdBeginTransformFeedbackEXT` to
/// `vkCmdEndTransformFeedbackEXT`, and the memory that it needs.
///
/// Draws of a capture are not rasterized. To show them, the application also draws them in its
/// render pass, with its own pipeline.
///
/// A capture can be begun and ended many times. The memory that this takes stays in use until
/// `vkxfb_capture_reset`: an application with several frames in flight has a capture for each
/// frame, and resets it when it resets the command buffers of the frame. Only one thread at a time
/// may use a capture.
///
/// The pipelines, buffers, descriptor sets and query pools that are used in it must be live until
/// the capture is begun again, ended by `vkxfb_capture_end` or destroyed, and every command buffer
/// that it was recorded or played into is reset or freed. `vkxfb_capture_finish` does not shorten
/// this, because the capture can still be played.
pub struct VkxfbCapture {
    capture: Capture,
    /// The memory that recording takes from. `None` only while the capture is destroyed.
    arena: Option<Arena>,
    /// A number that identifies the memory in the arena. Each reset changes it, and no other
    /// capture has the same number.
    memory: u64,
    /// The first command that failed since the capture was begun. `None` if none has failed.
    failed: Option<Failed>,
    /// Whether `vkxfb_capture_finish` has ended the capture, so that it can be played.
    is_finished: bool,
    pub(crate) active_queries: Vec<ActiveQuery>,
    pub(crate) shared: Arc<Shared>,
}

/// Creates a capture.
///
/// # Safety
/// `context` is live, and `pCapture` points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_create(
    context: *const VkxfbContext,
    p_capture: *mut *mut VkxfbCapture,
) -> VkxfbResult {
    // SAFETY: the caller's contract; the allocator belongs to the device.
    unsafe {
        create(p_capture, "pCapture", || {
            let shared = Arc::clone(&required(context, "context")?.shared);
            let desc = ArenaDesc::new(1, DRAWS);
            let arena = Arena::new(&shared.context, &mut *shared.allocator(), desc)?;
            let capture = Capture::new(&shared.context, shared.kernels());
            Ok(VkxfbCapture {
                capture,
                arena: Some(arena),
                memory: new_memory(),
                failed: None,
                is_finished: false,
                active_queries: Vec::new(),
                shared,
            })
        })
    }
}

/// Destroys a capture. NULL is ignored.
///
/// # Safety
/// `capture` is live or NULL, and is not used any more. Command buffers into which it was recorded or
/// played are not executed any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_destroy(capture: *mut VkxfbCapture) {
    guard_quietly(|| drop(unsafe { owned(capture) }));
}

/// Makes the memory of everything that was recorded available again. Without this, each capture
/// needs more memory. A capture that `vkxfb_capture_finish` has ended is kept, and can be played
/// again.
///
/// # Safety
/// `capture` is live. Command buffers into which it was recorded were reset or freed, and are not
/// being executed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_reset(capture: *mut VkxfbCapture) -> VkxfbResult {
    guard(|| {
        let capture = unsafe { required_mut(capture, "capture") }?;
        if !capture.is_finished {
            capture.forget();
        }
        if let Some(arena) = &mut capture.arena {
            unsafe { arena.reset() };
            capture.memory = new_memory();
        }
        Ok(())
    })
}

/// Begins a capture. Its commands are collected, and `vkxfb_capture_end` records them. If the
/// capture was begun before and has not ended, the draws of that time are dropped.
///
/// If this or a later command fails, all commands up to `vkxfb_capture_end` fail, too, with the same result
/// and with a message that names the command: it is enough to check the result of `vkxfb_capture_end`.
///
/// # Safety
/// `capture` is live and `pBeginInfo` points to a valid structure, whose pipeline was made with the
/// context of the capture. All handles belong to the context's device. They and the pipeline are live until
/// the capture is begun again, ended by `vkxfb_capture_end` or destroyed, and every command buffer that it was
/// recorded or played into is reset or freed. The buffers have the usage that
/// `vkxfb_context_buffer_usage` returns, and contain the ranges. The ranges of capture buffers
/// overlap neither each other nor memory that the draws read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_begin(
    capture: *mut VkxfbCapture,
    p_begin_info: *const VkxfbCaptureBeginInfo,
) -> VkxfbResult {
    unsafe {
        anew(capture);
        command(capture, "vkxfb_capture_begin", |capture| {
            capture.begin(&read(p_begin_info, "pBeginInfo")?)
        })
    }
}

/// Begins to count draws that are not captured, for queries of `VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT`: the
/// draws outside of `vkCmdBeginTransformFeedbackEXT` and `vkCmdEndTransformFeedbackEXT`. There is no pipeline,
/// and pipelines, vertex buffers and descriptor sets that are bound have no effect. The topology of each
/// draw decides how its primitives are counted.
///
/// # Safety
/// `capture` is live. The other requirements are those of `vkxfb_capture_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_begin_queries_only(
    capture: *mut VkxfbCapture,
) -> VkxfbResult {
    unsafe {
        anew(capture);
        command(capture, "vkxfb_capture_begin_queries_only", |capture| {
            Ok(capture.capture.begin(None)?)
        })
    }
}

/// Returns a new number for [`VkxfbCapture::memory`].
fn new_memory() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Forgets the failure or the end of an earlier capture.
///
/// # Safety
/// The contract of [`command`].
unsafe fn anew(capture: *mut VkxfbCapture) {
    if let Some(capture) = unsafe { capture.as_mut() } {
        capture.failed = None;
        capture.is_finished = false;
        capture.active_queries.clear();
    }
}

/// Ends a capture, and records it into a command buffer.
///
/// `pCounterBuffers` says where the counters are written; the index is the number of the capture
/// buffer. Each counter has four bytes of its own. `pCaptured` may be NULL.
///
/// A capture that begins with these counters goes on where this one has ended. It is ordered after this one,
/// so there need not be a barrier between them.
///
/// This overwrites state of the command buffer: the compute pipeline, the push constants of the
/// compute stage, and the descriptor sets of the compute bind point. Commands that read the
/// captured bytes need `vkxfb_context_record_barrier` before them.
///
/// If a command since the beginning failed, nothing is recorded, and the result of that command is
/// returned. In any case the capture can be begun again.
///
/// # Safety
/// `capture` is live. `commandBuffer` is a command buffer of its device that is being recorded, for
/// a queue with compute, outside of a render pass instance and of conditional rendering. Memory
/// that the draws read is visible to `VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT` and
/// `VK_ACCESS_SHADER_READ_BIT`, as is all that the host wrote before `vkQueueSubmit`, and earlier
/// accesses to the capture buffers and counters are ordered before the writes of this capture.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_end(
    capture: *mut VkxfbCapture,
    command_buffer: vk::CommandBuffer,
    counter_buffer_count: u32,
    p_counter_buffers: *const VkxfbCounterBuffer,
    p_captured: *mut VkxfbCaptured,
) -> VkxfbResult {
    let result = unsafe {
        command(capture, "vkxfb_capture_end", |capture| {
            let counters = array(p_counter_buffers, counter_buffer_count, "pCounterBuffers")?;
            let captured = Output::new(p_captured, "pCaptured")?;
            let recorded = capture.end(command_buffer, counters)?;
            if let Some(captured) = captured {
                captured.write(&recorded.into());
            }
            Ok(())
        })
    };
    if let Some(capture) = unsafe { capture.as_mut() }
        && !capture.is_finished
    {
        capture.forget();
    }
    result
}

/// Ends a capture as `vkxfb_capture_end` does, without recording it. `vkxfb_capture_play` records
/// it each time it is called, until the capture is begun again. Until then all other commands of
/// the capture fail, and change nothing.
///
/// # Safety
/// The requirements are those of `vkxfb_capture_end`, for the command buffers that the capture is
/// played into. Its pipelines, buffers, descriptor sets and query pools, and the counters that are
/// passed here, are live until the capture is begun again or destroyed, and every command buffer
/// that it was played into is reset or freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_finish(
    capture: *mut VkxfbCapture,
    counter_buffer_count: u32,
    p_counter_buffers: *const VkxfbCounterBuffer,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_finish", |capture| {
            let counters = array(p_counter_buffers, counter_buffer_count, "pCounterBuffers")?;
            let counters = capture.counter_buffers(counters)?;
            capture.capture.end(&counters)?;
            capture.is_finished = true;
            Ok(())
        })
    }
}

/// Records a capture that `vkxfb_capture_finish` has ended into a command buffer. It starts from
/// the same state each time. Counters are read, and queries are added to, each time that the
/// commands are executed.
///
/// `order` may be NULL. Then barriers order the kernels of this capture after those of earlier
/// captures, and the application records a barrier with the stage
/// `VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT` between captures to the same bytes. With an order, the
/// capture is ordered after all earlier captures that were played with it, whatever they access:
/// see `VkxfbCaptureOrder`. `pCaptured` may be NULL.
///
/// If this fails, nothing is recorded, and it may be called again. There is one exception: if some
/// draws have a geometry shader and others have none, or if they emit to several vertex streams, a
/// part of the capture may be recorded.
///
/// # Safety
/// The requirements are those of `vkxfb_capture_end`. `order` is live or NULL. All captures since
/// it was created or forgotten were played into this command buffer with it, and no other function
/// of the library has recorded into the command buffer since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_play(
    capture: *mut VkxfbCapture,
    command_buffer: vk::CommandBuffer,
    order: *mut VkxfbCaptureOrder,
    p_captured: *mut VkxfbCaptured,
) -> VkxfbResult {
    guard(|| {
        let (capture, captured) =
            unsafe { (required_mut(capture, "capture")?, Output::new(p_captured, "pCaptured")?) };
        if let Some(failed) = &capture.failed {
            return Err(failed.error());
        }
        if !capture.is_finished {
            let message = "the capture was not ended by vkxfb_capture_finish";
            return Err(Error::Argument(message.to_owned()));
        }
        unsafe {
            let recorded = capture.play(command_buffer, order.as_mut())?;
            if let Some(captured) = captured {
                captured.write(&recorded.into());
            }
        }
        Ok(())
    })
}

/// The memory that captures in a command buffer have accessed, so that barriers are recorded only
/// between those that access the same bytes. Such captures may write to the same bytes, add to the
/// same queries, resume from counters of others, and read vertices, indices and arguments of draws
/// that others captured. The order does not know which memory shaders access by the application's
/// descriptors and addresses, and which buffers share memory.
///
/// Each command buffer needs its own order. Only one thread at a time may use an order.
pub struct VkxfbCaptureOrder {
    order: CaptureOrder,
}

/// Creates an order without any accesses: the next capture is ordered after everything before it.
///
/// # Safety
/// `pOrder` points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_order_create(
    p_order: *mut *mut VkxfbCaptureOrder,
) -> VkxfbResult {
    unsafe {
        create(p_order, "pOrder", || Ok(VkxfbCaptureOrder { order: CaptureOrder::default() }))
    }
}

/// Resets an order to the state in which it was created, for another command buffer, or because
/// commands were recorded that the order does not know.
///
/// # Safety
/// `order` is live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_order_reset(order: *mut VkxfbCaptureOrder) -> VkxfbResult {
    guard(|| {
        unsafe { required_mut(order, "order") }?.order.reset();
        Ok(())
    })
}

/// Destroys an order. NULL is ignored.
///
/// # Safety
/// `order` is live or NULL, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_order_destroy(order: *mut VkxfbCaptureOrder) {
    guard_quietly(|| drop(unsafe { owned(order) }));
}

/// A command of a capture that has failed.
struct Failed {
    /// The name of the function.
    name: &'static str,
    result: VkxfbResult,
    message: String,
}

impl Failed {
    /// Returns the error of a later command. It names the one that failed, because a program may check the result of
    /// the end alone.
    fn error(&self) -> Error {
        let Self { name, result, message } = self;
        Error::Earlier { name, result: *result, message: message.clone() }
    }
}

/// Calls `function`, which implements the command `name` of a capture. If it fails, all later commands of
/// the capture fail, unless the capture is finished: then it stays unchanged, and can be played.
///
/// # Safety
/// The pointer is null, or to a live capture that nothing else uses meanwhile.
pub(crate) unsafe fn command(
    capture: *mut VkxfbCapture,
    name: &'static str,
    function: impl FnOnce(&mut VkxfbCapture) -> Result<(), Error>,
) -> VkxfbResult {
    let result = guard(|| {
        let capture = unsafe { required_mut(capture, "capture") }?;
        match &capture.failed {
            Some(failed) => Err(failed.error()),
            None if capture.is_finished => {
                let message = "the capture has ended by vkxfb_capture_finish: begin it again";
                Err(Error::Argument(message.to_owned()))
            }
            None => function(capture),
        }
    });
    if let Some(capture) = unsafe { capture.as_mut() }
        && result != VkxfbResult::VkxfbSuccess
        && !capture.is_finished
    {
        let failed = || Failed { name, result, message: last_message() };
        capture.failed.get_or_insert_with(failed);
    }
    result
}

impl VkxfbCapture {
    /// Returns the recorder, with which commands bind and draw.
    pub(crate) fn recorder(&mut self) -> Recorder<'_> {
        self.capture.recorder()
    }

    /// Discards a capture that has ended or has failed.
    fn forget(&mut self) {
        self.capture.clear();
        self.failed = None;
        self.is_finished = false;
        self.active_queries.clear();
    }

    /// # Safety
    /// The contract of [`vkxfb_capture_begin`].
    unsafe fn begin(&mut self, info: &VkxfbCaptureBeginInfo) -> Result<(), Error> {
        let (pipeline, buffers, vertex_buffers, counters) = unsafe {
            (
                required(info.pipeline, "pipeline")?,
                array(info.p_buffers, info.buffer_count, "pBuffers")?,
                array(info.p_vertex_buffers, info.vertex_buffer_count, "pVertexBuffers")?,
                array(info.p_counter_buffers, info.counter_buffer_count, "pCounterBuffers")?,
            )
        };
        unsafe {
            self.check_ranges("pBuffers", of_buffers(buffers))?;
            let buffers: Vec<_> = buffers.iter().map(VkxfbBufferRange::capture_buffer).collect();
            let vertex_buffers = self.vertex_buffers("pVertexBuffers", 0, vertex_buffers, &[])?;
            let counters = self.counter_buffers(counters)?;
            let desc = CaptureDesc {
                buffers: &buffers,
                vertex_buffers: &vertex_buffers,
                counters: &counters,
                ..CaptureDesc::new(&pipeline.pipeline)
            };
            Ok(self.capture.begin(&desc)?)
        }
    }

    /// # Safety
    /// The buffers are null, or live ones of the device.
    unsafe fn check_ranges(&self, name: &str, ranges: &[VkxfbBufferRange]) -> Result<(), Error> {
        for (index, &VkxfbBufferRange { buffer, offset, size }) in ranges.iter().enumerate() {
            let what = format_args!("{name}[{index}]");
            unsafe { self.shared.check_range(what, buffer, offset, size) }?;
        }
        Ok(())
    }

    /// Checks and converts vertex buffers of the bindings from `first` on. Buffers without an element of `strides`
    /// have the stride of their pipeline.
    ///
    /// # Safety
    /// The contract of [`check_ranges`](Self::check_ranges).
    pub(crate) unsafe fn vertex_buffers(
        &self,
        name: &str,
        first: u32,
        ranges: &[VkxfbBufferRange],
        strides: &[u32],
    ) -> Result<Vec<VertexBuffer>, Error> {
        unsafe { self.check_ranges(name, ranges) }?;
        let strides = strides.iter().copied().map(Some).chain(std::iter::repeat(None));
        let bindings = (first..=u32::MAX).zip(ranges).zip(strides);
        let bound = bindings.map(|((binding, range), stride)| {
            let &VkxfbBufferRange { buffer, offset, size } = range;
            VertexBuffer { binding, buffer, offset, size, stride }
        });
        Ok(bound.collect())
    }

    /// # Safety
    /// The contract of [`check_ranges`](Self::check_ranges).
    unsafe fn counter_buffers(
        &self,
        counters: &[VkxfbCounterBuffer],
    ) -> Result<Vec<Option<CounterBuffer>>, Error> {
        for (index, counter) in of_buffers(counters).iter().enumerate() {
            unsafe { counter.check(&self.shared, format_args!("pCounterBuffers[{index}]")) }?;
        }
        let counter = |&VkxfbCounterBuffer { buffer, offset }: &_| {
            (buffer != vk::Buffer::null()).then_some(CounterBuffer { buffer, offset })
        };
        Ok(counters.iter().map(counter).collect())
    }

    /// # Safety
    /// The contract of [`vkxfb_capture_end`].
    unsafe fn end(
        &mut self,
        command_buffer: vk::CommandBuffer,
        counters: &[VkxfbCounterBuffer],
    ) -> Result<Recorded, Error> {
        if command_buffer == vk::CommandBuffer::null() {
            return Err(Error::Null("commandBuffer"));
        }
        unsafe {
            let counters = self.counter_buffers(counters)?;
            self.capture.end(&counters)?;
            self.play(command_buffer, None)
        }
    }

    /// # Safety
    /// The contract of [`vkxfb_capture_play`].
    unsafe fn play(
        &mut self,
        command_buffer: vk::CommandBuffer,
        order: Option<&mut VkxfbCaptureOrder>,
    ) -> Result<Recorded, Error> {
        unsafe {
            self.record(command_buffer, |capture, _, arena| match order {
                Some(order) => capture.play_in_order(arena, command_buffer, &mut order.order),
                None => capture.play(arena, command_buffer),
            })
        }
    }

    /// Calls `function`, which records into a command buffer, with the memory of the capture. The
    /// memory grows if necessary.
    ///
    /// # Safety
    /// The objects that `function` uses are live until the command buffer is reset, and
    /// [`vkxfb_capture_reset`] is not called before.
    pub(crate) unsafe fn record<R>(
        &mut self,
        command_buffer: vk::CommandBuffer,
        function: impl for<'a> FnOnce(
            &mut Capture,
            &'a Shared,
            ArenaAccess<'a>,
        ) -> Result<R, RuntimeError>,
    ) -> Result<R, Error> {
        if command_buffer == vk::CommandBuffer::null() {
            return Err(Error::Null("commandBuffer"));
        }
        unsafe { self.with_memory(function) }
    }

    /// Like [`record`](Self::record), for a `function` that does not record into a command buffer.
    ///
    /// # Safety
    /// The contract of [`record`](Self::record).
    pub(crate) unsafe fn with_memory<R>(
        &mut self,
        function: impl for<'a> FnOnce(
            &mut Capture,
            &'a Shared,
            ArenaAccess<'a>,
        ) -> Result<R, RuntimeError>,
    ) -> Result<R, Error> {
        let Self { capture, arena: Some(arena), shared, .. } = self else {
            return Err(Error::Null("capture"));
        };
        let mut allocator = shared.allocator();
        // SAFETY: the arena is destroyed with the allocator of the context.
        let arena = unsafe { arena.growing(&mut *allocator) };
        Ok(function(capture, shared, arena)?)
    }

    /// Returns a number that identifies the memory that the capture has taken since its last reset.
    pub(crate) const fn memory(&self) -> u64 {
        self.memory
    }
}

impl Drop for VkxfbCapture {
    fn drop(&mut self) {
        if let Some(arena) = self.arena.take() {
            // SAFETY: the device no longer uses the arena, by the contract of
            // `vkxfb_capture_destroy`, and the allocator is the one that it was made with.
            unsafe { self.shared.context.destroy(arena, &mut *self.shared.allocator()) };
        }
    }
}

/// Returns the elements to check, one for each capture buffer. If there are too many, returns none,
/// because the recorder returns an error for their number. The number may be wrong, and the array
/// shorter, so its elements must not be read.
const fn of_buffers<T>(elements: &[T]) -> &[T] {
    if elements.len() <= VKXFB_MAX_BUFFERS { elements } else { &[] }
}

impl From<Recorded> for VkxfbCaptured {
    fn from(recorded: Recorded) -> Self {
        let captured = recorded.captured.unwrap_or_default();
        Self {
            struct_size: size_of::<Self>(),
            is_known: recorded.captured.is_some().into(),
            primitives_written: captured.primitives_written,
            primitives_needed: captured.primitives_needed,
            positions: captured.positions,
            dispatch_count: recorded.capture_dispatches + recorded.kernel_dispatches,
            barrier_count: recorded.barriers,
        }
    }
}
