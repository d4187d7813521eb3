//! The captures of a command buffer. They are collected while the program records a pass, and
//! recorded before or after the pass.

mod active_queries;
pub(super) mod binds;
mod collect;
mod passes;

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;
use vkxfb::runtime::descriptor_heaps::{BoundHeaps, DescriptorPlace, DescriptorState};
use vkxfb::runtime::{
    Arena, ArenaAccess, ArenaSize, Buffer, ByteCountDraw, Capture, CaptureBuffer, CaptureOrder,
    Context, DrawCommands, Kernels, RuntimeError, VertexBuffer,
};

use self::active_queries::ActiveQuery;
use self::collect::Active;
use self::passes::Pass;
use super::Emulation;
use super::descriptor_buffers::BoundBuffers;
use super::descriptor_pools::DescriptorPools;
#[cfg(feature = "drawn")]
use super::drawn::DrawnInstead;
use super::losses::Drawn;
use super::pipelines::PipelineError;
use super::queries::EndedQueries;
use super::state::{BUFFERS, Left, State};
use crate::translate::Subpass;

/// The initial size of the arena of a command buffer: 16 KiB for upload, 16 KiB for scratch, and 8
/// descriptor sets.
const ARENA: ArenaSize = ArenaSize { upload: 16 << 10, scratch: 16 << 10, descriptor_sets: 8 };

/// A capture of a command buffer. Each command buffer that executes a secondary command buffer plays the captures of
/// that command buffer, maybe at the same time as others.
pub(crate) type SharedCapture = Arc<Mutex<QueryCapture>>;

/// A capture, the queries that it ends, and what its first draw is drawn with.
pub(crate) struct QueryCapture {
    capture: Capture,
    ended: Vec<EndedQueries>,
    drawn: Drawn,
}

impl QueryCapture {
    fn clear(&mut self) {
        self.capture.clear();
        self.ended.clear();
        self.drawn = Drawn::default();
    }
}

impl Deref for QueryCapture {
    type Target = Capture;

    fn deref(&self) -> &Capture {
        &self.capture
    }
}

impl DerefMut for QueryCapture {
    fn deref_mut(&mut self) -> &mut Capture {
        &mut self.capture
    }
}

/// A capture or another computation that is *hoisted*: recorded before or after the pass that it belongs to.
#[derive(Clone)]
pub(crate) enum Hoisted {
    /// A capture, and where the descriptors are that its draws read.
    Capture(SharedCapture, ReadFrom),
    /// A capture without draws that only ends queries to which no active capture adds. Other captures and computations
    /// are put before it in the list `hoisted`, so that queries which end later can be added to it.
    Ends(SharedCapture),
    /// A dispatch that computes the arguments of a `vkCmdDrawIndirectByteCountEXT`.
    Commands(ByteCountDraw, DrawCommands),
}

/// Where the descriptors are that the draws of a capture read, apart from descriptor sets. They must be in one of these
/// places: descriptor buffers are bound once, before the capture, and heaps would invalidate them.
#[derive(Clone, Default)]
pub(crate) enum ReadFrom {
    /// Only in descriptor sets, if there are any.
    #[default]
    Sets,
    /// In these descriptor buffers.
    Buffers(BoundBuffers),
    /// In descriptor heaps.
    Heaps,
}

impl ReadFrom {
    /// Notes that a draw reads descriptors that are in `place`, of which `bound` are the bound descriptor buffers. Returns
    /// `false` if earlier draws of the capture have read them elsewhere, so that the draw cannot be captured.
    fn add(&mut self, place: &DescriptorPlace, bound: Option<&BoundBuffers>) -> bool {
        match (&*self, place, bound) {
            (Self::Sets, DescriptorPlace::Buffers, Some(bound)) => {
                *self = Self::Buffers(Arc::clone(bound));
                true
            }
            (Self::Sets, DescriptorPlace::Heaps(_), _) => {
                *self = Self::Heaps;
                true
            }
            (Self::Buffers(buffers), DescriptorPlace::Buffers, Some(bound)) => buffers == bound,
            (Self::Buffers(_), DescriptorPlace::Heaps(_), _)
            | (Self::Heaps, DescriptorPlace::Buffers, Some(_)) => false,
            _ => true,
        }
    }
}

/// The command that the layer records in place of a command of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forward {
    /// The program's command, unchanged.
    Yes,
    /// No command: the driver need not execute the program's command.
    No,
    /// A `vkCmdDrawIndirect` with one draw, whose arguments are at this offset in this buffer.
    DrawIndirect(vk::Buffer, u64),
    /// A list in place of a draw with a geometry shader.
    #[cfg(feature = "drawn")]
    Drawn(DrawnInstead),
    /// A `vkCmdBeginQuery` in place of `vkCmdBeginQueryIndexedEXT`, which the driver may not have.
    BeginQuery(vk::QueryPool, u32, vk::QueryControlFlags),
    /// A `vkCmdEndQuery` in place of `vkCmdEndQueryIndexedEXT`, which the driver may not have.
    EndQuery(vk::QueryPool, u32),
}

impl From<()> for Forward {
    fn from((): ()) -> Self {
        Self::Yes
    }
}

/// What a secondary command buffer leaves to the command buffers that execute it.
#[derive(Default)]
pub(crate) struct Executed {
    hoisted: Vec<Hoisted>,
    ended: Vec<EndedQueries>,
}

/// The layer's data of a command buffer of a device on which transform feedback is emulated.
pub(crate) struct Captures {
    emulation: Arc<Emulation>,
    pub(crate) state: State,
    active: Option<Active>,
    /// The active queries that the layer emulates.
    queries: Vec<ActiveQuery>,
    /// The number of active queries that the driver implements. They may count draws even if
    /// rasterization is discarded, so such draws must reach the driver.
    pub(super) other_queries: u32,
    /// The queries of the layer whose ends are recorded.
    ended: Vec<EndedQueries>,
    hoisted: Vec<Hoisted>,
    /// Whether the next capture may be begun in the [`Capture`] of the last capture in `hoisted`. If so, no draw was
    /// captured after the draws of that capture, and `state.changed` says what must be bound again.
    joins_last: bool,
    /// Whether the program has recorded a barrier since the captures in `hoisted` were deferred. The barrier also orders
    /// these captures, which come after it, so another one must follow them.
    passed_barrier: bool,
    /// The buffers of the capture that began last.
    last_buffers: [Option<CaptureBuffer>; BUFFERS],
    /// The memory that the captures of this command buffer accessed since the last barrier that the
    /// layer recorded between captures.
    order: CaptureOrder,
    /// Emptied captures, which later captures reuse. No other command buffer refers to them.
    spare: Vec<SharedCapture>,
    arena: Option<Arena>,
    /// The descriptor pools of the sets into which the layer writes pushed descriptors for
    /// captures.
    descriptor_pools: DescriptorPools,
    commands: Vec<Buffer>,
    command_count: u64,
    pass: Option<Pass>,
    /// Whether this is a secondary command buffer with `RENDER_PASS_CONTINUE`, whose commands are
    /// all inside of a pass.
    continues: bool,
    /// The subpass in which commands are recorded, while they are inside of a pass.
    subpass: Subpass,
    failed: Option<vk::Result>,
    /// The variant (the compute pipeline that replaces the bound graphics pipeline) with which the last draw was
    /// captured. It is out of date while `state.changed.variant` is true. `None` before the first captured draw, and
    /// after `vkCmdExecuteCommands`.
    variant: Option<vkxfb::runtime::Pipeline>,
    /// Whether the variant has to load attributes by bytes because of the bound vertex buffers:
    /// [`note_alignment`](Self::note_alignment).
    unaligned_attributes: bool,
    /// Temporary lists, which are kept so that their heap memory is used again: the list that
    /// [`vertex_buffers`](Self::vertex_buffers) returns, and the bytes of the push constants that captured stages read.
    vertex_buffers: Vec<VertexBuffer>,
    constants: Vec<u8>,
    /// The descriptor buffers that the layer has bound for captures, and must replace by the
    /// program's. `None` if the program's are bound.
    rebound: Option<BoundBuffers>,
    /// Which descriptors are valid in the command buffer while the layer records commands outside of a pass.
    descriptors: DescriptorState,
    /// The descriptor heaps that this command buffer inherits, if it is a secondary one.
    inherited_heaps: BoundHeaps,
}

impl Captures {
    pub(crate) fn new(emulation: &Arc<Emulation>) -> Self {
        Self {
            emulation: Arc::clone(emulation),
            state: State::new(&emulation.context().capabilities().limits),
            active: None,
            queries: Vec::new(),
            other_queries: 0,
            ended: Vec::new(),
            hoisted: Vec::new(),
            joins_last: false,
            passed_barrier: false,
            last_buffers: [None; BUFFERS],
            order: CaptureOrder::default(),
            spare: Vec::new(),
            arena: None,
            descriptor_pools: DescriptorPools::default(),
            commands: Vec::new(),
            command_count: 0,
            pass: None,
            continues: false,
            subpass: Subpass::default(),
            failed: None,
            variant: None,
            unaligned_attributes: false,
            vertex_buffers: Vec::new(),
            constants: Vec::new(),
            rebound: None,
            descriptors: DescriptorState::default(),
            inherited_heaps: BoundHeaps::default(),
        }
    }

    pub(super) fn emulation(&self) -> &Arc<Emulation> {
        &self.emulation
    }

    /// Prepares for a new recording. The device must have finished executing the previous one.
    ///
    /// `continues` is the subpass in which this is executed, if it is a secondary command buffer with
    /// `RENDER_PASS_CONTINUE`. `is_counted` says whether it inherits an active query of the driver. `inherited_heaps` are
    /// the descriptor heaps that it inherits.
    pub(crate) fn reset(
        &mut self,
        continues: Option<Subpass>,
        is_counted: bool,
        inherited_heaps: Option<BoundHeaps>,
    ) {
        self.state.reset();
        self.inherited_heaps = inherited_heaps.unwrap_or_default();
        if let Some(heaps) = inherited_heaps {
            self.state.change_heaps().bound = heaps;
        }
        self.queries.clear();
        self.ended.clear();
        self.other_queries = u32::from(is_counted);
        self.failed = None;
        self.variant = None;
        self.pass = None;
        self.continues = continues.is_some();
        self.subpass = continues.unwrap_or_default();
        if let Some(capture) = self.active.take().and_then(|active| active.capture) {
            self.keep(capture);
        }
        self.forget();
        self.order.reset();
        if let Some(arena) = &mut self.arena {
            // SAFETY: Vulkan requires that the command buffer is not pending execution.
            unsafe { arena.reset() };
        }
        // SAFETY: the command buffer is not pending execution.
        unsafe { self.descriptor_pools.reset(self.emulation.context().device()) };
        self.command_count = 0;
    }

    /// Frees the memory that was kept for the next recording.
    ///
    /// # Safety
    /// The command buffer is not pending execution.
    pub(crate) unsafe fn release(&mut self) {
        (self.hoisted, self.spare) = (Vec::new(), Vec::new());
        (self.queries, self.ended) = (Vec::new(), Vec::new());
        let (arena, commands) = (self.arena.take(), std::mem::take(&mut self.commands));
        let ctx = self.emulation.context();
        unsafe { self.descriptor_pools.release(ctx.device()) };
        self.emulation.memory().with(|allocator| {
            unsafe { ctx.destroy((arena, commands), allocator) };
        });
    }

    /// Clears the list `hoisted`: the captures and computations that are to be recorded outside of the pass. The
    /// captures are kept for reuse, unless another command buffer still refers to them.
    fn forget(&mut self) {
        (self.joins_last, self.passed_barrier) = (false, false);
        while let Some(hoisted) = self.hoisted.pop() {
            if let Hoisted::Capture(capture, ..) | Hoisted::Ends(capture) = hoisted {
                self.keep(capture);
            }
        }
    }

    /// Clears a capture and keeps it for reuse, unless another command buffer still refers to it.
    fn keep(&mut self, mut capture: SharedCapture) {
        if let Some(own) = Arc::get_mut(&mut capture) {
            own.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
            // Without memory it is dropped.
            if self.spare.try_reserve(1).is_ok() {
                self.spare.push(capture);
            }
        }
    }

    /// Logs that something is lost because of an error, unless the log has an error of that kind of the same pipeline or
    /// shaders. Recording goes on, but for lack of memory, on a lost device, and with the setting `strict`: then
    /// recording fails. Returns whether it goes on.
    pub(super) fn lose(
        &mut self,
        what: &str,
        drawn: Drawn,
        error: impl Into<PipelineError>,
    ) -> bool {
        let (error, losses) = (error.into(), &self.emulation.losses);
        if !losses.allows(&error) {
            self.refuse(what, error);
            return false;
        }
        if losses.is_new(drawn, &error) {
            tracing::error!("{what} is lost: {error}");
        }
        true
    }

    /// What the next draw is drawn with.
    pub(super) fn drawn(&self) -> Drawn {
        Drawn { pipeline: self.state.bound_pipeline, shaders: self.state.shaders }
    }

    /// Makes recording fail, because the program must know of the error, or because what follows would be wrong.
    /// `vkEndCommandBuffer` will return the error.
    fn refuse(&mut self, what: &str, error: impl Into<PipelineError>) {
        let error = error.into();
        tracing::error!("{what}: {error}");
        self.failed = Some(match error.result() {
            result @ (vk::Result::ERROR_OUT_OF_HOST_MEMORY | vk::Result::ERROR_UNKNOWN) => result,
            // vkEndCommandBuffer must not return the other results that may occur here, such as `ERROR_DEVICE_LOST`.
            _ => vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
        });
    }

    /// Whether the pipeline layout of a command is not null. If it is null, recording fails: Vulkan
    /// allows null, with a structure in the chain instead, only with the feature
    /// `dynamicGeneratedPipelineLayout`, which the layer reports as false.
    pub(crate) fn has_layout(&mut self, what: &str, layout: vk::PipelineLayout) -> bool {
        let has_it = layout != vk::PipelineLayout::null();
        if !has_it {
            self.refuse(what, PipelineError::Layout);
        }
        has_it
    }

    pub(crate) const fn failed(&self) -> Option<vk::Result> {
        self.failed
    }

    fn is_inside(&self) -> bool {
        self.continues || self.pass.is_some()
    }

    /// `vkCmdNextSubpass`
    pub(crate) const fn next_subpass(&mut self) {
        self.subpass.advance();
    }

    /// The number of views for which the driver executes a draw that is recorded now, and of queries that a query which
    /// begins now takes.
    fn views(&self) -> u32 {
        if self.is_inside() { self.subpass.views() } else { 1 }
    }

    /// Calls `call` with the arena of the command buffer and the allocator, so that the arena can
    /// grow. The first call creates the arena.
    ///
    /// # Errors
    /// An allocation fails, or `call` returns an error.
    ///
    /// # Safety
    /// The device is live.
    pub(super) unsafe fn with_arena(
        &mut self,
        call: impl for<'a> FnOnce(&'a Emulation, ArenaAccess<'a>) -> Result<(), RuntimeError>,
    ) -> Result<(), RuntimeError> {
        let emulation = Arc::clone(&self.emulation);
        let mut memory = emulation.memory().clone();
        unsafe {
            let arena = match &mut self.arena {
                Some(arena) => arena,
                none => none.insert(Arena::new(emulation.context(), &mut memory, ARENA)?),
            };
            call(&emulation, arena.growing(&mut memory))
        }
    }

    /// Adds a capture or computation that is to be recorded outside of the pass to the list `hoisted`. If the last
    /// element of the list ends queries ([`Hoisted::Ends`]), it stays the last one. Ending the queries later than the
    /// program does is correct, because an ended query cannot begin again without a reset, which is not possible in a
    /// pass.
    fn push(&mut self, hoisted: Hoisted) {
        let ends = usize::from(matches!(self.hoisted.last(), Some(Hoisted::Ends(_))));
        self.insert(self.hoisted.len() - ends, hoisted);
    }

    /// Adds a capture or computation at a place of the list `hoisted`. Without memory, recording fails.
    fn insert(&mut self, place: usize, hoisted: Hoisted) {
        match self.hoisted.try_reserve(1) {
            Ok(()) => self.hoisted.insert(place.min(self.hoisted.len()), hoisted),
            Err(error) => self.refuse("a list of captures", RuntimeError::from(error)),
        }
    }

    /// Returns a capture that has not begun.
    ///
    /// # Errors
    /// [`RuntimeError::HostMemory`]
    fn spare_capture(&mut self) -> Result<SharedCapture, RuntimeError> {
        if let Some(spare) = self.spare.pop() {
            return Ok(spare);
        }
        // More than a capture takes when it is created, so that creating it does not abort the program.
        const ROOM: usize = 64 << 10;
        let mut room = Vec::<u8>::new();
        let taken = room.try_reserve(ROOM);
        // Otherwise the compiler may leave the allocation out.
        std::hint::black_box(&mut room);
        taken.map_err(RuntimeError::from)?;
        drop(room);
        let (ctx, kernels) = (self.emulation.context(), self.emulation.kernels());
        let capture = Capture::new(ctx, kernels);
        let (ended, drawn) = (Vec::new(), Drawn::default());
        Ok(Arc::new(Mutex::new(QueryCapture { capture, ended, drawn })))
    }

    /// The descriptor heaps that this command buffer inherits, if it is a secondary one.
    pub(crate) const fn inherited_heaps(&self) -> BoundHeaps {
        self.inherited_heaps
    }

    /// Forgets the state that is undefined after `vkCmdExecuteCommands`. `inherited` are the descriptor heaps that all
    /// secondary command buffers inherit.
    pub(crate) fn forget_state(&mut self, inherited: BoundHeaps) {
        self.state.forget(inherited);
        self.variant = None;
        self.joins_last = false;
        self.order.reset();
    }

    /// Calls `record`, which records commands of the layer outside of a pass, with a context and with memory of the arena.
    /// Conditional rendering is ended before these commands and begun again after them, and the state that they disturb
    /// is restored. If `record` fails, so does recording: what follows may depend on its commands.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a pass.
    pub(super) unsafe fn record_outside(
        &mut self,
        what: &str,
        cmd: vk::CommandBuffer,
        record: impl for<'a> FnOnce(
            &'a Context,
            &'a Kernels,
            ArenaAccess<'a>,
        ) -> Result<(), RuntimeError>,
    ) {
        let emulation = Arc::clone(&self.emulation);
        let descriptors = self.state.restorable.before().descriptors();
        let suspended = self.state.conditional_rendering;
        self.order.reset();
        unsafe {
            if suspended.is_some() {
                emulation.end_conditional_rendering(cmd);
            }
            let recorded = self.with_arena(|emulation, arena| {
                record(emulation.context_for(descriptors), emulation.kernels(), arena)
            });
            if let Err(error) = recorded {
                self.refuse(what, error);
            }
            self.state.restore(&emulation, cmd, Left { descriptors, ..Left::default() });
            if let Some(condition) = suspended {
                emulation.begin_conditional_rendering(cmd, &condition);
            }
        }
    }
}

/// Locks a capture. Threads can only have to wait for the captures of secondary command buffers.
fn lock(capture: &SharedCapture) -> MutexGuard<'_, QueryCapture> {
    capture.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Captures {
    fn drop(&mut self) {
        // SAFETY: Vulkan requires that a command buffer that is freed is not pending execution.
        unsafe { self.release() };
    }
}

#[cfg(test)]
mod tests;
