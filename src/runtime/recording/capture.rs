//! [`Capture`]: a compute capture as a value that is recorded later.

use ash::vk;

use crate::runtime::device::barrier::Barrier;
use crate::runtime::device::context::Context;
use crate::runtime::device::descriptor_heaps::DescriptorState;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::parameters::CounterBuffer;
use crate::runtime::memory::arena::ArenaAccess;
use crate::runtime::memory::arena::Suballocation;
use crate::runtime::pipelines::kernels::Kernels;
use crate::runtime::recording::capture_desc::{CaptureDesc, Captured, Recorded};
use crate::runtime::recording::collect::{Collected, Collector, Part, Position, Streams};
use crate::runtime::recording::plan::Plan;
use crate::runtime::recording::play::{
    CaptureOrder, Continuation, Places, Playback, Player, limits_of,
};
use vkxfb_rewriter::capture::{MAX_STREAMS, MAX_XFB_BUFFERS};
use vkxfb_rewriter::sysval::Address;

/// A compute capture as a value: the draws between Begin and End, with the state that is bound for each.
///
/// A capture borrows nothing, so an application can keep it with the other state of a command buffer, and collect draws
/// between any other commands. [`recorder`](Self::recorder) returns a recorder that binds and draws, [`end`](Self::end)
/// sets the counters to write, and [`play`](Self::play) records everything into a command buffer, any number of times.
///
/// A [`Recorder`](crate::runtime::Recorder) of the compute backend plays its capture when it ends. Whether the recorder
/// or the application plays the capture, an error loses no draws: they stay collected, and can be played again with
/// more memory. If only some draws of the capture have geometry shaders, if it has several vertex streams, or if
/// several captures [were begun](Self::begin_next) in the value, some draws may be recorded before the error; the other
/// draws must then be played into the same command buffer.
///
/// The capture keeps its memory: when it is begun again, collecting up to the same number of draws makes no heap
/// allocations.
#[derive(Debug)]
pub struct Capture {
    pub(super) ctx: Context,
    pub(super) streams: Streams,
    plan: Plan,
    places: Places,
    kernels: Kernels,
    /// Whether the recorder was dropped without `end`.
    is_abandoned: bool,
    /// Whether [`end`](Self::end) was called for the current capture.
    is_ended: bool,
    /// The state after the draws that were recorded before an error, or `None` if there are none.
    interrupted: Option<Interrupted>,
}

/// For each vertex stream, where the capture continues after the stream's last recorded draw. `None` if the stream was
/// not recorded.
type StreamContinuations = [Option<Continuation>; MAX_STREAMS as usize];

/// The command buffer into which some draws of a capture were recorded before others failed, and its state after these
/// draws.
#[derive(Debug, Clone, Copy)]
struct Interrupted {
    cmd: vk::CommandBuffer,
    recorded: Recorded,
    sets_disturbed: bool,
    /// The layout of the pipeline with which the set of the descriptor plan was bound last, or `None` if it was not
    /// bound.
    layout: Option<vk::PipelineLayout>,
    /// For each vertex stream, the memory to which the GPU writes the positions in the capture buffers, or `None` if
    /// the CPU knows them.
    positions: [Option<Suballocation>; MAX_STREAMS as usize],
}

impl Capture {
    /// Makes a capture that has not begun.
    pub fn new(ctx: &Context, kernels: &Kernels) -> Self {
        Self {
            ctx: ctx.clone(),
            streams: Streams::new(ctx),
            plan: Plan::default(),
            places: Places::default(),
            kernels: kernels.clone(),
            is_abandoned: false,
            is_ended: false,
            interrupted: None,
        }
    }

    /// Begins a capture, as [`Recorder::begin`](crate::runtime::Recorder::begin) does, without recording anything.
    /// Discards previously collected draws. Without a description transform feedback is not active: draws are only
    /// counted.
    ///
    /// # Errors
    /// The errors of [`Recorder::begin`](crate::runtime::Recorder::begin); [`RuntimeError::Unsupported`] for pipelines
    /// of other backends, which record draws immediately.
    ///
    /// # Safety
    /// The requirements of [`Recorder::begin`](crate::runtime::Recorder::begin) apply to all command buffers that the
    /// capture is [played](Self::play) into.
    pub unsafe fn begin<'d>(
        &mut self,
        desc: impl Into<Option<&'d CaptureDesc<'d>>>,
    ) -> Result<(), RuntimeError> {
        self.clear();
        self.kernels.pipelines()?;
        let Some(desc) = desc.into() else {
            self.streams.begin_inactive();
            return Ok(());
        };
        let begun = unsafe { self.streams.begin(desc) };
        if begun.is_err() {
            self.clear();
        }
        begun
    }

    /// Begins another capture in this value after [`end`](Self::end), as a further `vkCmdBeginTransformFeedbackEXT`
    /// does. [`play`](Self::play) records all captures of the value. If the CPU knows the counts of all their draws,
    /// and no capture accesses bytes that another one writes, the captures share barriers and the kernel that writes
    /// counters and queries, which saves time for many small captures. They always take effect as if they were played
    /// one after the other by [`play_in_order`](Self::play_in_order).
    ///
    /// Vertex buffers, indices, descriptor sets, push constants and conditional rendering stay as they are, and the
    /// vertex buffers of `desc` are bound in addition. Dynamic state is reset to the state of the pipeline, and no
    /// query is active. A query that ended in an earlier capture of this value cannot begin again
    /// ([`RuntimeError::QueryUsed`]).
    ///
    /// The new capture may begin with the counters that the end of the one before writes: all of its buffers must have
    /// one then. It goes on where that capture ended, which the CPU knows.
    ///
    /// Returns `false`, and changes nothing, if the new capture needs a `Capture` of its own: under the descriptor
    /// plan; if the capture before has not ended, was recorded in part, or has draws whose counts the CPU does not know
    /// (indirect draws, byte-count draws, primitive restart, conditional rendering); if the first one began with
    /// counters, or the new one begins with others; if the one before or the new one has a geometry or tessellation
    /// shader; if the new one has another pipeline; or if the value has more than 1,024 captures.
    ///
    /// # Errors
    /// The errors of [`Recorder::begin`](crate::runtime::Recorder::begin).
    ///
    /// # Safety
    /// The requirements of [`Recorder::begin`](crate::runtime::Recorder::begin) apply to all command buffers that the
    /// capture is [played](Self::play) into.
    pub unsafe fn begin_next(&mut self, desc: &CaptureDesc<'_>) -> Result<bool, RuntimeError> {
        if !self.is_ended || self.interrupted.is_some() {
            return Ok(false);
        }
        let has_begun = unsafe { self.streams.begin_next(desc) }?;
        self.is_ended = !has_begun;
        Ok(has_begun)
    }

    /// Discards all collected draws. The capture must be begun again.
    pub fn clear(&mut self) {
        self.streams.clear();
        (self.is_abandoned, self.is_ended) = (false, false);
        self.interrupted = None;
    }

    /// Discards the draws of the current capture: the one that [`begin`](Self::begin) or
    /// [`begin_next`](Self::begin_next) began last. It then writes nothing to its buffers, nothing of it is counted,
    /// and the counters that [`end`](Self::end) sets, which it must not have begun with, become 0. Queries that end in
    /// it become available with what they have counted otherwise. What is bound stays bound.
    pub fn discard_current(&mut self) {
        self.streams.discard_current();
    }

    /// Discards the draws of all captures of this value after [`end`](Self::end), as
    /// [`discard_current`](Self::discard_current) does: counters that captures would write become 0, unless the first
    /// one begins with them. If playing the capture has recorded some draws before an error, the capture does not go on
    /// behind them, and can be played into any command buffer.
    pub fn discard_all(&mut self) {
        self.streams.discard_all();
        self.interrupted = None;
    }

    /// Whether draws of the capture were recorded apart from others, so that these must be recorded into the same
    /// command buffer, with the same arena.
    pub const fn is_recorded_in_part(&self) -> bool {
        self.interrupted.is_some()
    }

    /// Whether a query is active that the next capture would have to go on with.
    pub(crate) fn has_active_query(&self) -> bool {
        self.streams.all().iter().any(|collector| collector.has_active_query())
    }

    /// Whether no draws and no ends of queries were collected since Begin.
    pub fn is_empty(&self) -> bool {
        self.streams.all().iter().all(|collector| collector.collected.is_empty())
    }

    /// Ends the capture and sets the counters to write, as [`Recorder::end`](crate::runtime::Recorder::end) does. A
    /// capture that is played without this call writes no counters.
    ///
    /// # Errors
    /// [`RuntimeError::NotBegun`], [`RuntimeError::TooManyCounters`],
    /// [`RuntimeError::DuplicateCounter`], [`RuntimeError::Misaligned`],
    /// [`RuntimeError::NoAddress`], [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`].
    ///
    /// # Safety
    /// The requirements of [`Recorder::end`](crate::runtime::Recorder::end) apply.
    pub unsafe fn end(&mut self, counters: &[Option<CounterBuffer>]) -> Result<(), RuntimeError> {
        unsafe { self.streams.end(counters) }?;
        (self.is_abandoned, self.is_ended) = (false, true);
        Ok(())
    }

    /// Notes that the recorder was dropped without `end`, so that playing the capture returns an error. Returns the
    /// number of collected draws.
    pub(super) fn abandon(&mut self) -> usize {
        let all = self.streams.all();
        self.is_abandoned = self.streams.check_begun().is_ok();
        all.iter().map(|collector| collector.collected.draws.len()).max().unwrap_or(0)
    }

    /// Records the collected draws. A capture can be played several times, into the same command buffer or different
    /// ones. It always begins with its initial state; counters are read when the commands are executed. If queries are
    /// not [reset](crate::runtime::QueryPool::reset) between two executions, their values add up. In that case, under
    /// the descriptor plan and on CPU devices, a host that polls a query may see a mixture of the results after the
    /// first and the second execution.
    ///
    /// [Synchronization](crate::guide::synchronization) lists the disturbed state and the recorded barriers. The
    /// application must record barriers between this capture and other captures to the same buffers, also between two
    /// plays of the same capture. Draws use the descriptor sets that
    /// [`Recorder::bind_descriptor_sets`](crate::runtime::Recorder::bind_descriptor_sets) bound, and for other set
    /// numbers those that are bound in `cmd`.
    ///
    /// If an earlier call recorded some draws before an error, playing continues after these draws, in the same command
    /// buffer.
    ///
    /// # Errors
    /// [`RuntimeError::NotBegun`], [`RuntimeError::NotEnded`], [`RuntimeError::RecordedElsewhere`];
    /// [`RuntimeError::ArenaFull`] and [`RuntimeError::NoDescriptorSet`], unless the arena is
    /// [growing](crate::runtime::Arena::growing); [`RuntimeError::NoAddress`], [`RuntimeError::Limit`],
    /// [`RuntimeError::DispatchTooLarge`], [`RuntimeError::DescriptorSetUnknown`]; the error of a failed command or
    /// allocation.
    ///
    /// In case of an error nothing is recorded, and all draws stay collected. There is one exception: if only some
    /// draws have a geometry shader, the capture has several vertex streams, or several captures
    /// [were begun](Self::begin_next), the draws, streams or captures before the one that failed may be recorded.
    ///
    /// # Safety
    /// The requirements of [`Recorder::begin`](crate::runtime::Recorder::begin) apply. If some draws were recorded
    /// before an error, the arena that they were recorded with has not been reset or destroyed since.
    pub unsafe fn play<'a>(
        &mut self,
        arena: impl Into<ArenaAccess<'a>>,
        cmd: vk::CommandBuffer,
    ) -> Result<Recorded, RuntimeError> {
        unsafe { self.play_with(&mut Playback::new(arena.into(), cmd)) }
    }

    /// Like [`play`](Self::play), but also orders this capture after all earlier compute captures. So this capture may
    /// write the same bytes and add to the same queries as earlier captures, resume from counters that they wrote, and
    /// read vertices, indices and draw arguments that they captured. Barriers for this order are recorded only where
    /// they are needed: before the first capture after [`CaptureOrder::default`] or [`reset`](CaptureOrder::reset),
    /// between captures that access the same bytes, and under the descriptor plan before every capture. Captures with
    /// counters or queries need none of these barriers, because the barriers that they record anyway also order them.
    ///
    /// The runtime does not know of buffers that alias the same memory, nor of memory that shaders access through the
    /// application's descriptors and addresses. If accesses to such memory depend on earlier captures, the application
    /// must record a barrier, or [reset](CaptureOrder::reset) the order.
    ///
    /// # Errors
    /// The errors of [`play`](Self::play).
    ///
    /// # Safety
    /// The requirements of [`play`](Self::play) apply. All captures since the order was made or reset were played into
    /// `cmd` with `order`, and no other function of this crate has recorded into `cmd` since. The application records
    /// the barriers between the captures and its own commands.
    pub unsafe fn play_in_order<'a>(
        &mut self,
        arena: impl Into<ArenaAccess<'a>>,
        cmd: vk::CommandBuffer,
        order: &mut CaptureOrder,
    ) -> Result<Recorded, RuntimeError> {
        unsafe { self.play_ordered(&mut Playback::new(arena.into(), cmd), Some(order)) }
    }

    /// Like [`play_in_order`](Self::play_in_order), for a command buffer in which descriptor heaps may be used.
    /// `descriptors` is the state of the command buffer before the call, and after it. Only draws of pipelines with
    /// another kind of descriptors than the state has, or with other heaps, change the state: kernels keep it. In case
    /// of an error it may be changed, too.
    ///
    /// # Errors
    /// The errors of [`play`](Self::play).
    ///
    /// # Safety
    /// The requirements of [`play_in_order`](Self::play_in_order) apply. `descriptors` is the state of the command
    /// buffer, and if it inherits heaps, all draws use these.
    pub unsafe fn play_in_state<'a>(
        &mut self,
        arena: impl Into<ArenaAccess<'a>>,
        cmd: vk::CommandBuffer,
        order: Option<&mut CaptureOrder>,
        descriptors: &mut DescriptorState,
    ) -> Result<Recorded, RuntimeError> {
        let mut playback = Playback::new(arena.into(), cmd);
        playback.descriptors = *descriptors;
        let recorded = unsafe { self.play_ordered(&mut playback, order) };
        *descriptors = playback.descriptors;
        recorded
    }

    /// Plays the capture, in the order that [`play_in_order`](Self::play_in_order) describes if there is an `order`.
    ///
    /// # Safety
    /// The requirements of [`play`](Self::play) apply, and those of `play_in_order` if there is an `order`.
    unsafe fn play_ordered(
        &mut self,
        playback: &mut Playback<'_>,
        order: Option<&mut CaptureOrder>,
    ) -> Result<Recorded, RuntimeError> {
        let Some(order) = order else {
            return unsafe { self.play_with(playback) };
        };
        if self.interrupted.is_some() {
            order.reset();
        }
        playback.order = Some(std::mem::take(order));
        let recorded = unsafe { self.play_with(playback) };
        *order = playback.order.take().unwrap_or_default();
        recorded
    }

    /// # Safety
    /// The requirements of [`play`](Self::play) apply.
    unsafe fn play_with(&mut self, playback: &mut Playback<'_>) -> Result<Recorded, RuntimeError> {
        if self.is_abandoned {
            return Err(RuntimeError::NotEnded);
        }
        if let Some(interrupted) = self.interrupted {
            if interrupted.cmd != playback.cmd {
                return Err(RuntimeError::RecordedElsewhere);
            }
            playback.recorded = interrupted.recorded;
            playback.sets_disturbed = interrupted.sets_disturbed;
            playback.layout = interrupted.layout;
        }
        unsafe { self.record(playback) }?;
        Ok(playback.recorded)
    }

    /// For each stream that was recorded (that is, not `None` in `after`): discards its draws, so that the capture
    /// continues after them.
    fn go_on(&mut self, playback: &Playback<'_>, after: &StreamContinuations) {
        let Playback { cmd, recorded, sets_disturbed, layout, .. } = *playback;
        let mut positions =
            self.interrupted.map(|interrupted| interrupted.positions).unwrap_or_default();
        let streams = self.streams.all_mut().iter_mut();
        for ((collector, position), after) in streams.zip(&mut positions).zip(after) {
            let Some(after) = after else { continue };
            *position = after.positions;
            collector.advance(after.position, after.captured);
        }
        self.interrupted = Some(Interrupted { cmd, recorded, sets_disturbed, layout, positions });
    }

    /// Ends the capture, and records the draws.
    ///
    /// # Errors
    /// The errors of [`end`](Self::end) and [`play`](Self::play). In case of an error the draws stay collected.
    ///
    /// # Safety
    /// The requirements of [`end`](Self::end) and [`play`](Self::play) apply.
    pub(super) unsafe fn finish(
        &mut self,
        playback: &mut Playback<'_>,
        counters: &[Option<CounterBuffer>],
    ) -> Result<Recorded, RuntimeError> {
        unsafe {
            self.end(counters)?;
            self.record(playback)?;
        }
        self.clear();
        Ok(playback.recorded)
    }

    /// Records the draws of each stream, and writes of counters. The draws stay collected.
    ///
    /// If recording a stream fails, the streams before it stay recorded: the next call continues after their draws.
    ///
    /// # Safety
    /// The requirements of [`play`](Self::play) apply.
    unsafe fn record(&mut self, playback: &mut Playback<'_>) -> Result<(), RuntimeError> {
        self.streams.check_begun()?;
        let mut all = StreamContinuations::default();
        let count = self.streams.all().len();
        for (stream, after) in all.iter_mut().enumerate().take(count) {
            match unsafe { self.record_stream(playback, stream) } {
                Ok(found) => *after = Some(found),
                Err(error) => {
                    if stream > 0 {
                        self.go_on(playback, &all);
                    }
                    return Err(error);
                }
            }
        }
        // No single `Captured` describes several vertex streams, or several captures.
        let is_single = self.streams.bound() == 1
            && self.streams.all().iter().all(|collector| collector.collected.ended.is_empty());
        let first = all[0].as_ref().filter(|_| is_single);
        playback.recorded.captured =
            first.and_then(|after| captured(self.streams.all().first()?, after));
        Ok(())
    }

    /// Records the draws of stream `stream`, and writes of its counters. Returns where the stream continues after
    /// these draws.
    ///
    /// # Safety
    /// The requirements of [`play`](Self::play) apply.
    unsafe fn record_stream(
        &mut self,
        playback: &mut Playback<'_>,
        stream: usize,
    ) -> Result<Continuation, RuntimeError> {
        let Self { streams, plan, places, kernels, interrupted, .. } = self;
        let earlier = interrupted
            .and_then(|interrupted| interrupted.positions.get(stream).copied().flatten());
        let Some(collector) = streams.all_mut().get_mut(stream) else {
            return Err(RuntimeError::NotBegun);
        };
        let counters = collector.end_counters;
        let mut recording =
            Recording { plan, places, kernels, collector, interrupted, stream, earlier };
        unsafe { recording.record(playback, counters) }
    }
}

/// Returns the result of a stream whose draws were recorded, or `None` if the CPU does not know it.
fn captured(collector: &Collector, after: &Continuation) -> Option<Captured> {
    let position = |target| after.position.in_buffer(&target).unwrap_or_default();
    let targets = collector.collected.targets;
    let positions = targets.map(|target| target.map_or(0, position));
    Some(Captured { positions, ..after.captured? })
}

/// The data to record one vertex stream of a capture.
struct Recording<'a> {
    plan: &'a mut Plan,
    places: &'a mut Places,
    kernels: &'a Kernels,
    collector: &'a mut Collector,
    interrupted: &'a mut Option<Interrupted>,
    stream: usize,
    /// The memory to which an earlier recording of the stream wrote the positions in the capture buffers, or `None` if
    /// the CPU knows them.
    earlier: Option<Suballocation>,
}

impl Recording<'_> {
    /// Records the draws. `counters` are those that the end of the current capture writes.
    ///
    /// # Safety
    /// The requirements of [`Capture::play`] apply.
    unsafe fn record(
        &mut self,
        playback: &mut Playback<'_>,
        counters: [Address; MAX_XFB_BUFFERS],
    ) -> Result<Continuation, RuntimeError> {
        let Collector { ctx, collected, .. } = &*self.collector;
        let are_several = !collected.ended.is_empty();
        let are_joined =
            are_several && self.plan.make_joined(&limits_of(ctx), collected, &counters)?;
        let parts = if are_joined { Vec::new() } else { collected.parts() };
        if parts.len() < 2 {
            return unsafe { self.record_part(playback, counters, are_joined) };
        }
        let (is_in_order, before) = (playback.order.is_some(), playback.recorded);
        if are_several {
            playback.order.get_or_insert_default();
        }
        let result = unsafe { self.record_parts(playback, counters, &parts) };
        playback.order.take_if(|_| !is_in_order);
        if result.is_err() && playback.recorded != before {
            if are_several {
                // The captures that were not recorded may later be played without a [`CaptureOrder`]. So a barrier
                // orders them after those that were recorded.
                let (ctx, which) = (&self.collector.ctx, Barrier::BetweenCaptures);
                playback.recorded.barriers +=
                    unsafe { ctx.kernel_barrier(playback.cmd, which, false) };
            }
            let Playback { cmd, recorded, sets_disturbed, layout, .. } = *playback;
            let mut positions =
                self.interrupted.map(|interrupted| interrupted.positions).unwrap_or_default();
            if let Some(position) = positions.get_mut(self.stream) {
                *position = self.earlier;
            }
            *self.interrupted =
                Some(Interrupted { cmd, recorded, sets_disturbed, layout, positions });
        }
        result
    }

    /// Records [parts](crate::runtime::recording::collect::Collected::parts) of the draws one after the other. A part
    /// continues where the part before it in its capture ended. If a part fails, those before it stay recorded, and
    /// their draws are discarded, so that the next call records only the remaining draws.
    ///
    /// # Safety
    /// The requirements of [`Capture::play`] apply.
    unsafe fn record_parts(
        &mut self,
        playback: &mut Playback<'_>,
        counters: [Address; MAX_XFB_BUFFERS],
        parts: &[Part],
    ) -> Result<Continuation, RuntimeError> {
        let collected = &mut self.collector.collected;
        let Collected { targets, continues, position, captured, .. } = *collected;
        let (draws, ends) =
            (std::mem::take(&mut collected.draws), std::mem::take(&mut collected.ends));
        let ended = std::mem::take(&mut collected.ended);
        let mut result = Err(RuntimeError::NotBegun);
        let mut failed = None;
        let mut parts = parts.iter().peekable();
        while let Some(part) = parts.next() {
            let next = parts.peek().map(|next| next.capture);
            let goes_on = next.is_some_and(|next| {
                next == part.capture || ended.get(next).map_or(continues, |next| next.continues)
            });
            let capture = ended.get(part.capture);
            let is_last = next != Some(part.capture);
            let counters = match capture {
                _ if !is_last => Default::default(),
                Some(ended) => ended.counters,
                None => counters,
            };
            let collected = &mut self.collector.collected;
            collected.targets = capture.map_or(targets, |ended| ended.targets);
            collected.draws.clear();
            collected.draws.extend_from_slice(draws.get(part.draws.clone()).unwrap_or_default());
            if next.is_none() {
                collected.ends.clone_from(&ends);
            }
            result = unsafe { self.record_part(playback, counters, false) };
            let Ok(after) = &result else {
                failed = Some(part);
                break;
            };
            let collected = &mut self.collector.collected;
            (self.earlier, collected.position) = if goes_on {
                (after.positions, after.position)
            } else {
                (None, Position::default())
            };
            // No single result describes several captures, not even if those before the last one were recorded earlier.
            collected.captured = after.captured.filter(|_| !is_last);
        }
        let collected = &mut self.collector.collected;
        collected.targets = targets;
        (collected.draws, collected.ends, collected.ended) = (draws, ends, ended);
        match failed {
            Some(part) => collected.forget_recorded(part),
            None => (collected.position, collected.captured) = (position, captured),
        }
        result
    }

    /// Records the collected draws: those of one [part](crate::runtime::recording::collect::Collected::parts), or all
    /// of them. `is_planned` says whether `plan` is already the plan of these draws, as it is if all captures are
    /// recorded together.
    ///
    /// # Safety
    /// The requirements of [`Capture::play`] apply.
    unsafe fn record_part(
        &mut self,
        playback: &mut Playback<'_>,
        counters: [Address; MAX_XFB_BUFFERS],
        is_planned: bool,
    ) -> Result<Continuation, RuntimeError> {
        let Self { plan, places, kernels, collector, earlier, .. } = self;
        let Collector { ctx, collected, bindings, table, .. } = &mut **collector;
        let mut after = Continuation {
            position: collected.position,
            positions: *earlier,
            captured: collected.captured,
        };
        if is_planned || !collected.is_empty() || counters != <[Address; _]>::default() {
            let mut player = Player {
                ctx,
                kernels,
                collected,
                bindings,
                table,
                plan,
                places,
                counters: &counters,
                earlier: *earlier,
            };
            after = unsafe { player.record(playback, is_planned) }?;
        }
        Ok(after)
    }
}
