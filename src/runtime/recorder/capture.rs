//! A capture as a value: its collected draws, and how they are recorded.

use ash::vk;

use super::collect::{Collected, Collector, Streams};
use super::plan::Plan;
use super::play::{CaptureOrder, Continuation, Places, Playback, Player};
use super::{CaptureDesc, Captured, Inner, Recorded, Recorder};
use crate::capture::{MAX_STREAMS, MAX_XFB_BUFFERS};
use crate::runtime::arena::Suballocation;
use crate::runtime::parameters::CounterBuffer;
use crate::runtime::{ArenaAccess, Context, Kernels, RuntimeError};
use crate::sysval::Address;

/// A compute capture as a value: the bound state, and the draws since Begin.
///
/// It borrows nothing, so an application can keep it with the other state of a command buffer, and
/// collect draws between any other commands. [`recorder`](Self::recorder) returns a recorder that
/// binds and draws, [`end`](Self::end) sets the counters, and [`play`](Self::play) records
/// everything into a command buffer, any number of times.
///
/// A [`Recorder`] of the compute backend plays its capture when it ends. Whether the recorder or
/// the application plays the capture, an error loses no draws: they stay collected, and can be
/// played again with more memory. If a capture has draws with and without geometry shaders, or
/// several vertex streams, some draws may be recorded before the error, as by a
/// [`flush`](Recorder::flush); then the rest must be played into the same command buffer.
///
/// The capture keeps its memory: when it is begun again, it makes no heap allocations for as many
/// draws as before.
#[derive(Debug)]
pub struct Capture {
    pub(super) ctx: Context,
    pub(super) streams: Streams,
    plan: Plan,
    places: Places,
    kernels: Kernels,
    /// Whether the recorder was dropped without `end`.
    is_abandoned: bool,
    /// The state of the command buffer that the first draws were flushed to. `None` if none were.
    flushed: Option<Flushed>,
}

/// For each vertex stream that was recorded, its state after its last draw.
type StreamContinuations = [Option<Continuation>; MAX_STREAMS as usize];

/// The state of a command buffer after a flush.
#[derive(Debug, Clone, Copy)]
struct Flushed {
    cmd: vk::CommandBuffer,
    recorded: Recorded,
    sets_disturbed: bool,
    /// The layout of the pipeline that was bound last.
    layout: Option<vk::PipelineLayout>,
    /// For each vertex stream, the memory to which the GPU writes the positions. `None` if the CPU
    /// knows them.
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
            flushed: None,
        }
    }

    /// Begins a capture, as [`Recorder::begin`] does, without recording anything. Discards previously collected draws.
    ///
    /// # Errors
    /// As [`Recorder::begin`]; [`RuntimeError::Unsupported`] for pipelines of other backends, which
    /// record draws immediately.
    ///
    /// # Safety
    /// As [`Recorder::begin`], for all command buffers that the capture is [played](Self::play)
    /// into.
    pub unsafe fn begin(&mut self, desc: &CaptureDesc<'_>) -> Result<(), RuntimeError> {
        self.clear();
        self.kernels.pipelines()?;
        // SAFETY: the caller's contract.
        let begun = unsafe { self.streams.begin(desc) };
        if begun.is_err() {
            self.clear();
        }
        begun
    }

    /// Begins counting draws that are not captured, as [`Recorder::begin_inactive`] does.
    ///
    /// # Errors
    /// The errors of [`Recorder::begin_inactive`].
    pub fn begin_inactive(&mut self) -> Result<(), RuntimeError> {
        self.clear();
        self.kernels.pipelines()?;
        self.streams.begin_inactive();
        Ok(())
    }

    /// Discards all collected draws. The capture must be begun again.
    pub fn clear(&mut self) {
        self.streams.clear();
        self.is_abandoned = false;
        self.flushed = None;
    }

    /// Whether no draws and no ends of queries were collected since Begin, or since the last
    /// [`Recorder::flush`].
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.streams.all().iter().all(|collector| collector.collected.is_empty())
    }

    /// Returns a recorder that binds and draws. It has no command buffer:
    /// [`flush`](Recorder::flush) returns an error, and [`end`](Recorder::end) does what
    /// [`end`](Self::end) of the capture does.
    pub fn recorder(&mut self) -> Recorder<'_> {
        Recorder { inner: Inner::Collect(self), is_open: false }
    }

    /// Ends the capture and sets the counters to write, as [`Recorder::end`] does. If it is not
    /// called, no counters are written.
    ///
    /// # Errors
    /// [`RuntimeError::NotBegun`], [`RuntimeError::TooManyCounters`],
    /// [`RuntimeError::DuplicateCounter`], [`RuntimeError::Misaligned`],
    /// [`RuntimeError::NoAddress`], [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`].
    ///
    /// # Safety
    /// The requirements of [`Recorder::end`] apply.
    pub unsafe fn end(&mut self, counters: &[Option<CounterBuffer>]) -> Result<(), RuntimeError> {
        // SAFETY: the caller's contract.
        unsafe { self.streams.end(counters) }?;
        self.is_abandoned = false;
        Ok(())
    }

    /// Notes that the recorder was dropped without `end`, so that playing returns an error. Returns the
    /// number of draws that were not recorded.
    pub(super) fn abandon(&mut self) -> usize {
        let all = self.streams.all();
        self.is_abandoned = all.iter().any(Collector::has_begun);
        all.iter().map(|collector| collector.collected.draws.len()).max().unwrap_or(0)
    }

    /// Records the collected draws. A capture can be played several times, into the same command buffer or different
    /// ones. It always begins with its initial state; counters are read when the commands are executed. If queries are
    /// not [reset](crate::runtime::QueryPool::reset) between two executions, their values add up; under the descriptor
    /// plan and on CPU devices, a polling host may then see parts of both results.
    ///
    /// [Synchronization](crate::guide::synchronization) lists the disturbed state and the recorded barriers. The
    /// application must record barriers between this and other captures to the same buffers, including earlier plays
    /// of the same capture. Draws use the descriptor sets that `cmd` has bound, except for sets that
    /// [`Recorder::bind_descriptor_sets`] bound.
    ///
    /// If a recorder flushed some draws of the capture, playing continues after these draws, in the
    /// same command buffer.
    ///
    /// # Errors
    /// [`RuntimeError::NotBegun`], [`RuntimeError::NotEnded`], [`RuntimeError::FlushedElsewhere`];
    /// [`RuntimeError::ArenaFull`], [`RuntimeError::NoDescriptorSet`] (neither if the arena is
    /// [growing](crate::runtime::Arena::growing)), [`RuntimeError::NoAddress`],
    /// [`RuntimeError::Limit`], [`RuntimeError::DispatchTooLarge`],
    /// [`RuntimeError::DescriptorSetUnknown`], a failed allocation. In case of an error nothing is
    /// recorded, and nothing is lost. Only if some draws have a geometry shader and others have none, or emit to
    /// several vertex streams, what comes before the draws or the stream that fail may be recorded.
    ///
    /// # Safety
    /// As [`Recorder::begin`]. The arena that draws were flushed with has not been reset or
    /// destroyed since.
    pub unsafe fn play<'a>(
        &mut self,
        arena: impl Into<ArenaAccess<'a>>,
        cmd: vk::CommandBuffer,
    ) -> Result<Recorded, RuntimeError> {
        // SAFETY: the caller's contract.
        unsafe { self.play_with(&mut Playback::new(arena.into(), cmd)) }
    }

    /// Like [`play`](Self::play), ordered after all earlier compute captures. The capture may write the same bytes,
    /// add to the same queries, resume from their counters, and read vertices, indices and draw arguments that they
    /// captured. Barriers are recorded only where this requires them: before the first capture after
    /// [`CaptureOrder::new`] or [`forget`](CaptureOrder::forget), between captures that access the same bytes, and
    /// before captures under the descriptor plan. Captures with counters and queries need no further barriers.
    ///
    /// The runtime does not know about buffers that alias the same memory, and about memory that shaders access
    /// through the application's descriptors and addresses. If these depend on earlier captures, the application
    /// records a barrier or calls `forget`.
    ///
    /// # Errors
    /// The errors of [`play`](Self::play).
    ///
    /// # Safety
    /// As [`play`](Self::play). All captures since `forget` were played into `cmd` with `order`,
    /// and no other function of this crate has recorded into `cmd` since. Barriers of the
    /// application order the captures with its own commands.
    pub unsafe fn play_in_order<'a>(
        &mut self,
        arena: impl Into<ArenaAccess<'a>>,
        cmd: vk::CommandBuffer,
        order: &mut CaptureOrder,
    ) -> Result<Recorded, RuntimeError> {
        if self.flushed.is_some() {
            order.forget();
        }
        let mut playback = Playback::new(arena.into(), cmd);
        playback.order = Some(std::mem::take(order));
        // SAFETY: the caller's contract.
        let recorded = unsafe { self.play_with(&mut playback) };
        *order = playback.order.unwrap_or_default();
        recorded
    }

    /// # Safety
    /// The requirements of [`play`](Self::play) apply.
    unsafe fn play_with(&mut self, playback: &mut Playback<'_>) -> Result<Recorded, RuntimeError> {
        if self.is_abandoned {
            return Err(RuntimeError::NotEnded);
        }
        if let Some(flushed) = self.flushed {
            if flushed.cmd != playback.cmd {
                return Err(RuntimeError::FlushedElsewhere);
            }
            playback.recorded = flushed.recorded;
            playback.sets_disturbed = flushed.sets_disturbed;
            playback.layout = flushed.layout;
        }
        // SAFETY: the caller's contract.
        unsafe { self.record(playback, true) }?;
        Ok(playback.recorded)
    }

    /// Records the draws that were collected so far, and discards them. The capture continues after these
    /// draws, in the same command buffer.
    ///
    /// # Errors
    /// The errors of [`play`](Self::play).
    ///
    /// # Safety
    /// The requirements of [`play`](Self::play) apply.
    pub(super) unsafe fn flush(&mut self, playback: &mut Playback<'_>) -> Result<(), RuntimeError> {
        // SAFETY: the caller's contract.
        let after = unsafe { self.record(playback, false) }?;
        self.go_on(playback, &after);
        self.streams.forget_ended();
        Ok(())
    }

    /// Discards the recorded draws of the streams in `after`. These streams continue after the
    /// discarded draws.
    fn go_on(&mut self, playback: &Playback<'_>, after: &StreamContinuations) {
        let Playback { cmd, recorded, sets_disturbed, layout, .. } = *playback;
        let mut positions = self.flushed.map(|flushed| flushed.positions).unwrap_or_default();
        let streams = self.streams.all_mut().iter_mut();
        for ((collector, position), after) in streams.zip(&mut positions).zip(after) {
            let Some(after) = after else { continue };
            *position = after.positions;
            collector.advance(after.position, after.captured);
        }
        self.flushed = Some(Flushed { cmd, recorded, sets_disturbed, layout, positions });
    }

    /// Ends the capture, and records the draws that were not flushed.
    ///
    /// # Errors
    /// As [`end`](Self::end) and [`play`](Self::play). The draws then stay collected.
    ///
    /// # Safety
    /// As [`end`](Self::end) and [`play`](Self::play).
    pub(super) unsafe fn finish(
        &mut self,
        playback: &mut Playback<'_>,
        counters: &[Option<CounterBuffer>],
    ) -> Result<Recorded, RuntimeError> {
        // SAFETY: the caller's contract.
        unsafe {
            self.end(counters)?;
            self.record(playback, true)?;
        }
        self.clear();
        Ok(playback.recorded)
    }

    /// Records the draws of each stream, and the counters if the capture ends. The draws stay collected. Returns the
    /// state of each stream after its draws.
    ///
    /// If a stream cannot be recorded, the streams before it stay recorded, and continue after
    /// their recorded draws.
    ///
    /// # Safety
    /// The requirements of [`play`](Self::play) apply.
    unsafe fn record(
        &mut self,
        playback: &mut Playback<'_>,
        is_end: bool,
    ) -> Result<StreamContinuations, RuntimeError> {
        self.streams.check_begun()?;
        let mut all = StreamContinuations::default();
        let count = self.streams.all().len();
        for (stream, after) in all.iter_mut().enumerate().take(count) {
            // SAFETY: the caller's contract.
            match unsafe { self.record_stream(playback, stream, is_end) } {
                Ok(found) => *after = Some(found),
                Err(error) => {
                    if stream > 0 {
                        self.go_on(playback, &all);
                    }
                    return Err(error);
                }
            }
        }
        // If a capture has several streams, it has no single result.
        let first = all[0].as_ref().filter(|_| self.streams.bound() == 1);
        playback.recorded.captured =
            first.and_then(|after| captured(self.streams.all().first()?, after));
        Ok(all)
    }

    /// Does what [`record`](Self::record) does, but only for one stream.
    ///
    /// # Safety
    /// The requirements of [`play`](Self::play) apply.
    unsafe fn record_stream(
        &mut self,
        playback: &mut Playback<'_>,
        stream: usize,
        is_end: bool,
    ) -> Result<Continuation, RuntimeError> {
        let Self { streams, plan, places, kernels, flushed, .. } = self;
        let earlier = flushed.and_then(|flushed| flushed.positions.get(stream).copied().flatten());
        let Some(collector) = streams.all_mut().get_mut(stream) else {
            return Err(RuntimeError::NotBegun);
        };
        let counters = if is_end { collector.end_counters } else { Default::default() };
        let mut recording = Recording { plan, places, kernels, collector, earlier };
        let parts = recording.collector.collected.parts();
        if parts.len() < 2 {
            // SAFETY: the caller's contract.
            return unsafe { recording.record_part(playback, counters) };
        }
        // Each part continues where the previous part ended, as the draws after a flush do.
        let Collected { position, captured, ref mut ends, ref draws, .. } =
            recording.collector.collected;
        let (ends, draws) = (std::mem::take(ends), draws.clone());
        let last = parts.len() - 1;
        let mut result = Err(RuntimeError::NotBegun);
        let mut failed = None;
        for (number, part) in parts.into_iter().enumerate() {
            let collected = &mut recording.collector.collected;
            collected.draws.clear();
            collected.draws.extend_from_slice(draws.get(part.clone()).unwrap_or_default());
            if number == last {
                collected.ends.clone_from(&ends);
            }
            let counters = if number == last { counters } else { Default::default() };
            // SAFETY: the caller's contract.
            result = unsafe { recording.record_part(playback, counters) };
            let Ok(after) = &result else {
                failed = Some(part.start);
                break;
            };
            recording.earlier = after.positions;
            let collected = &mut recording.collector.collected;
            (collected.position, collected.captured) = (after.position, after.captured);
        }
        let Recording { collector, earlier, .. } = recording;
        let collected = &mut collector.collected;
        (collected.draws, collected.ends) = (draws, ends);
        match failed.filter(|first| *first > 0) {
            // The parts before the part that failed are recorded. They are discarded, so that the next call
            // records only the other draws.
            Some(first) => {
                drop(collected.draws.drain(..first));
                let Playback { cmd, recorded, sets_disturbed, layout, .. } = *playback;
                let mut positions = flushed.map(|flushed| flushed.positions).unwrap_or_default();
                if let Some(position) = positions.get_mut(stream) {
                    *position = earlier;
                }
                *flushed = Some(Flushed { cmd, recorded, sets_disturbed, layout, positions });
            }
            None => (collected.position, collected.captured) = (position, captured),
        }
        result
    }
}

/// Returns the result of a stream, or `None` if the CPU does not know it.
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
    /// The memory to which an earlier recording of the stream wrote the positions. `None` if the
    /// CPU knows them.
    earlier: Option<Suballocation>,
}

impl Recording<'_> {
    /// Records the draws of one [part](super::collect::Collected::parts).
    ///
    /// # Safety
    /// The requirements of [`Capture::play`] apply.
    unsafe fn record_part(
        &mut self,
        playback: &mut Playback<'_>,
        counters: [Address; MAX_XFB_BUFFERS],
    ) -> Result<Continuation, RuntimeError> {
        let Self { plan, places, kernels, collector, earlier } = self;
        let Collector { ctx, collected, bindings, table, .. } = &mut **collector;
        let mut after = Continuation {
            position: collected.position,
            positions: *earlier,
            captured: collected.captured,
        };
        if !collected.is_empty() || counters != <[Address; _]>::default() {
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
            // SAFETY: the caller's contract.
            after = unsafe { player.record(playback) }?;
        }
        Ok(after)
    }
}
