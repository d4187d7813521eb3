//! A capture as a value: what was collected of it, and how it is recorded.

use ash::vk;

use super::collect::Collector;
use super::plan::Plan;
use super::play::{After, CaptureOrder, Places, Playback, Player};
use super::{CaptureDesc, Captured, Inner, Recorded, Recorder};
use crate::capture::MAX_XFB_BUFFERS;
use crate::runtime::arena::Suballocation;
use crate::runtime::parameters::CounterBuffer;
use crate::runtime::{ArenaAccess, Context, Kernels, RuntimeError};
use crate::sysval::Address;

/// A compute capture as a value: what is bound, and the draws since Begin.
///
/// It borrows nothing, so an application can keep it with the other state of a command buffer, and
/// collect draws between any other commands. [`recorder`](Self::recorder) returns a recorder that
/// binds and draws, [`end`](Self::end) sets the counters, and [`play`](Self::play) records
/// everything into a command buffer, any number of times.
///
/// A [`Recorder`] of the compute backend plays its capture when it ends. In both cases nothing is
/// lost in case of an error: the collected draws stay, and can be played with more memory. Of draws with and
/// without geometry shaders some may be recorded by then, as by a [`flush`](Recorder::flush): the rest is played
/// into the same command buffer.
///
/// The capture keeps its memory: when it is begun again, it makes no heap allocations for as many
/// draws as before.
#[derive(Debug)]
pub struct Capture {
    pub(super) collector: Collector,
    plan: Plan,
    places: Places,
    kernels: Kernels,
    /// The counters to end with, by capture buffer.
    end_counters: [Address; MAX_XFB_BUFFERS],
    /// Whether the recorder was dropped without `end`.
    is_abandoned: bool,
    /// Where the first draws were flushed to, if any were.
    flushed: Option<Flushed>,
}

/// The state that a flush leaves in its command buffer.
#[derive(Debug, Clone, Copy)]
struct Flushed {
    cmd: vk::CommandBuffer,
    recorded: Recorded,
    sets_disturbed: bool,
    /// The layout of the last pipeline.
    layout: Option<vk::PipelineLayout>,
    /// Where the GPU writes the positions, if the CPU does not know them.
    positions: Option<Suballocation>,
}

impl Capture {
    /// A capture that has not begun.
    pub fn new(ctx: &Context, kernels: &Kernels) -> Self {
        Self {
            collector: Collector::new(ctx),
            plan: Plan::default(),
            places: Places::default(),
            kernels: kernels.clone(),
            end_counters: Default::default(),
            is_abandoned: false,
            flushed: None,
        }
    }

    /// Begins a capture, as [`Recorder::begin`] does, without recording anything. Discards what was
    /// collected before.
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
        let begun = unsafe { self.collector.begin(desc) };
        if begun.is_err() {
            self.clear();
        }
        begun
    }

    /// Begins counting draws that are not captured, as [`Recorder::begin_inactive`] does.
    ///
    /// # Errors
    /// As [`Recorder::begin_inactive`].
    pub fn begin_inactive(&mut self) -> Result<(), RuntimeError> {
        self.clear();
        self.kernels.pipelines()?;
        self.collector.begin_inactive();
        Ok(())
    }

    /// Discards what was collected. The capture must be begun again.
    pub fn clear(&mut self) {
        self.collector.clear();
        self.end_counters = Default::default();
        self.is_abandoned = false;
        self.flushed = None;
    }

    /// Whether no draws and no ends of queries were collected since Begin, or since the last
    /// [`Recorder::flush`].
    pub fn is_empty(&self) -> bool {
        self.collector.collected.is_empty()
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
    /// As [`Recorder::end`].
    pub unsafe fn end(&mut self, counters: &[Option<CounterBuffer>]) -> Result<(), RuntimeError> {
        // SAFETY: the caller's contract.
        self.end_counters = unsafe { self.collector.end(counters) }?;
        self.is_abandoned = false;
        Ok(())
    }

    /// Called if the recorder is dropped without `end`. Returns the number of draws that were not
    /// recorded.
    pub(super) const fn abandon(&mut self) -> usize {
        self.is_abandoned = self.collector.has_begun();
        self.collector.collected.draws.len()
    }

    /// Records what was collected. A capture can be played several times, into the same command
    /// buffer or different ones. It always begins with its initial state; counters are read when
    /// the commands are executed. If queries are not [reset](crate::runtime::QueryPool::reset)
    /// between two executions, their values add up, and by descriptors and on a processor a host that
    /// polls may see parts of both results.
    ///
    /// [Synchronization](crate::guide::synchronization) lists the state that is disturbed and the
    /// barriers that are recorded. The application must record barriers between this and other
    /// captures to the same buffers, including earlier plays of the same capture. Descriptor sets
    /// that were not bound by [`Recorder::bind_descriptor_sets`] are those that `cmd` has bound.
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
    /// recorded, and nothing is lost. Only if some draws have a geometry shader and others have none, what
    /// comes before the draws that fail may be recorded.
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

    /// As [`play`](Self::play), after all earlier captures by compute: it may capture to the same
    /// bytes, count for the same queries and resume from their counters, and may pull vertices,
    /// indices and arguments of draws that they captured. Barriers are recorded only where they are
    /// needed for that, also in captures with counters and queries: before the first capture after
    /// [`CaptureOrder::new`] or [`forget`](CaptureOrder::forget), between captures that touch the same
    /// bytes, and before captures by descriptors.
    ///
    /// Buffers that alias the same memory, and what shaders reach by the application's descriptors
    /// and addresses, are not known: where it depends on earlier captures, the application records a
    /// barrier or calls `forget`.
    ///
    /// # Errors
    /// As [`play`](Self::play).
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
    /// As [`play`](Self::play).
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
        unsafe { self.record(playback, self.end_counters) }?;
        Ok(playback.recorded)
    }

    /// Records the draws so far, and forgets them. The capture goes on after them, in the same command buffer.
    ///
    /// # Errors
    /// As [`play`](Self::play).
    ///
    /// # Safety
    /// As [`play`](Self::play).
    pub(super) unsafe fn flush(&mut self, playback: &mut Playback<'_>) -> Result<(), RuntimeError> {
        // SAFETY: the caller's contract.
        let after = unsafe { self.record(playback, Default::default()) }?;
        let Playback { cmd, recorded, sets_disturbed, layout, .. } = *playback;
        let positions = after.positions;
        self.flushed = Some(Flushed { cmd, recorded, sets_disturbed, layout, positions });
        self.collector.advance(after.position, after.captured);
        Ok(())
    }

    /// Ends the capture, and records what was not flushed.
    ///
    /// # Errors
    /// As [`end`](Self::end) and [`play`](Self::play). What was collected is then still there.
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
            self.record(playback, self.end_counters)?;
        }
        self.clear();
        Ok(playback.recorded)
    }

    /// Records the draws, and the counters if there are any. The draws stay collected.
    ///
    /// # Safety
    /// As [`play`](Self::play).
    unsafe fn record(
        &mut self,
        playback: &mut Playback<'_>,
        counters: [Address; MAX_XFB_BUFFERS],
    ) -> Result<After, RuntimeError> {
        self.collector.check_begun()?;
        let parts = self.collector.collected.parts();
        if parts.len() < 2 {
            // SAFETY: the caller's contract.
            return unsafe { self.record_part(playback, counters) };
        }
        // Each part goes on where the one before it ended, as after a flush.
        let (flushed, collected) = (self.flushed, &mut self.collector.collected);
        let (position, captured) = (collected.position, collected.captured);
        let (ends, draws) = (std::mem::take(&mut collected.ends), collected.draws.clone());
        let last = parts.len() - 1;
        let mut result = Err(RuntimeError::NotBegun);
        let mut failed = None;
        for (number, part) in parts.into_iter().enumerate() {
            let collected = &mut self.collector.collected;
            collected.draws.clear();
            collected.draws.extend_from_slice(draws.get(part.clone()).unwrap_or_default());
            if number == last {
                collected.ends.clone_from(&ends);
            }
            let counters = if number == last { counters } else { Default::default() };
            // SAFETY: the caller's contract.
            result = unsafe { self.record_part(playback, counters) };
            let Ok(after) = &result else {
                failed = Some(part.start);
                break;
            };
            let Playback { cmd, recorded, sets_disturbed, layout, .. } = *playback;
            let positions = after.positions;
            self.flushed = Some(Flushed { cmd, recorded, sets_disturbed, layout, positions });
            let collected = &mut self.collector.collected;
            (collected.position, collected.captured) = (after.position, after.captured);
        }
        let collected = &mut self.collector.collected;
        (collected.draws, collected.ends) = (draws, ends);
        match failed.filter(|first| *first > 0) {
            // What was recorded counts: the capture goes on with the draws that were not.
            Some(first) => drop(collected.draws.drain(..first)),
            None => {
                self.flushed = flushed;
                (collected.position, collected.captured) = (position, captured);
            }
        }
        result
    }

    /// Records the draws of one [part](super::collect::Collected::parts).
    ///
    /// # Safety
    /// As [`play`](Self::play).
    unsafe fn record_part(
        &mut self,
        playback: &mut Playback<'_>,
        counters: [Address; MAX_XFB_BUFFERS],
    ) -> Result<After, RuntimeError> {
        let Self { collector, plan, places, kernels, flushed, .. } = self;
        let Collector { ctx, collected, bindings, table, .. } = collector;
        let earlier = flushed.and_then(|flushed| flushed.positions);
        let mut after = After {
            position: collected.position,
            positions: earlier,
            captured: collected.captured,
        };
        if !collected.is_empty() || counters != <[Address; _]>::default() {
            let counters = &counters;
            let mut player = Player {
                ctx,
                kernels,
                collected,
                bindings,
                table,
                plan,
                places,
                counters,
                earlier,
            };
            // SAFETY: the caller's contract.
            after = unsafe { player.record(playback) }?;
        }
        playback.recorded.captured = after.captured.map(|captured| {
            let position = |target| after.position.in_buffer(&target).unwrap_or_default();
            let positions = collected.targets.map(|target| target.map_or(0, position));
            Captured { positions, ..captured }
        });
        Ok(after)
    }
}
