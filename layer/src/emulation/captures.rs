//! The captures of a command buffer: collected as its passes are recorded, played before them.

use std::sync::{Arc, Mutex, Once, PoisonError};

use ash::vk;
use vkxfb::runtime::{
    Arena, ArenaAccess, ArenaDesc, Buffer, BufferDesc, ByteCountDraw, Capture, CaptureDesc,
    ConditionalRendering, CounterBuffer, DrawCommands, IndexBuffer, MemoryLocation, QueryKind,
    Recorder, RuntimeError, VertexBuffer,
};
use vkxfb::topology::PrimitiveTopology;

use super::Emulation;
use super::descriptor_pools::DescriptorPools;
use super::pipelines::{PipelineError, provoking};
use super::queries::Queries;
use super::state::{BUFFERS, BoundIndexBuffer, BoundVertexBuffer, Changed, State};
use crate::translate::{Around, Kind};

/// What an arena has before it grows.
const ARENA: ArenaDesc = ArenaDesc { upload: 16 << 10, scratch: 16 << 10, descriptor_sets: 8 };
/// Bytes of a buffer of draw commands, and of a command.
const COMMANDS: u64 = 4096;
const COMMAND: u64 = size_of::<vk::DrawIndirectCommand>() as u64;

/// What is recorded before a pass, in the order of the pass.
#[derive(Clone)]
pub(crate) enum Hoisted {
    Capture(Arc<Mutex<Capture>>),
    /// The arguments of a draw of what was captured.
    Commands(ByteCountDraw, DrawCommands),
}

/// What becomes of a command behind the layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forward {
    /// It goes on as it is.
    Yes,
    /// It ends here.
    No,
    /// A `vkCmdDrawIndirect` of one draw takes its place.
    DrawIndirect(vk::Buffer, u64),
    /// A `vkCmdBeginQuery` does: for its own queries the driver need not know the indexed command.
    BeginQuery(vk::QueryPool, u32, vk::QueryControlFlags),
    /// A `vkCmdEndQuery` does.
    EndQuery(vk::QueryPool, u32),
}

/// A capture between `vkCmdBeginTransformFeedbackEXT` and its end.
struct Active {
    capture: Capture,
    counters: [Option<CounterBuffer>; BUFFERS],
    /// Whether the capture is begun: it is with the first draw, which has all that it needs.
    is_begun: bool,
    /// Queries of the capture that it counts for.
    counts: [bool; 2],
}

/// A query that is active.
struct ActiveQuery {
    queries: Arc<Queries>,
    query: u32,
}

/// A pass that is being recorded.
#[derive(Default)]
struct Pass {
    side: Side,
    /// What its render pass asks of captures.
    around: Around,
    /// Conditional rendering that was begun before it.
    condition: Option<ConditionalRendering>,
    /// Whether it goes on with one that was suspended, between which and this nothing may stand.
    resumes: bool,
    /// Whether it captured something.
    has_captures: bool,
}

/// On which side of their pass captures are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Side {
    /// Before it, for something in the pass may consume what is captured: a draw behind a dependency within the pass, or
    /// one whose vertices a counter counts. The pass is withheld until it ends.
    #[default]
    Before,
    /// Behind it: the pass is recorded as its commands come. Nothing in it is ordered with captures, which are then free
    /// to come later.
    Behind,
}

/// What the layer knows of a command buffer that may capture.
pub(crate) struct Captures {
    emulation: Arc<Emulation>,
    pub(super) state: State,
    active: Option<Active>,
    queries: [Option<ActiveQuery>; 2],
    /// Queries of the driver that are active: draws that rasterize nothing count for them.
    pub(super) other_queries: u32,
    hoisted: Vec<Hoisted>,
    /// Values to collect in.
    spare: Vec<Capture>,
    arena: Option<Arena>,
    /// Of sets with descriptors that were pushed.
    descriptor_pools: DescriptorPools,
    commands: Vec<Buffer>,
    command_count: u64,
    /// The pass that is being recorded.
    pass: Option<Pass>,
    /// Whether the whole command buffer is part of a pass.
    continues: bool,
    /// Why it cannot be recorded.
    failed: Option<vk::Result>,
    /// The last variant, of the state as it is.
    variant: Option<vkxfb::runtime::Pipeline>,
}

impl Captures {
    pub(crate) fn new(emulation: &Arc<Emulation>) -> Self {
        Self {
            emulation: Arc::clone(emulation),
            state: State::default(),
            active: None,
            queries: [None, None],
            other_queries: 0,
            hoisted: Vec::new(),
            spare: Vec::new(),
            arena: None,
            descriptor_pools: DescriptorPools::default(),
            commands: Vec::new(),
            command_count: 0,
            pass: None,
            continues: false,
            failed: None,
            variant: None,
        }
    }

    pub(super) fn emulation(&self) -> &Arc<Emulation> {
        &self.emulation
    }

    /// Recording begins anew: the device is done with what was recorded before.
    pub(crate) fn reset(&mut self, continues: bool) {
        self.state = State::default();
        self.queries = [None, None];
        self.other_queries = 0;
        self.failed = None;
        self.variant = None;
        self.pass = None;
        self.continues = continues;
        if let Some(mut active) = self.active.take() {
            active.capture.clear();
            self.spare.push(active.capture);
        }
        self.forget();
        if let Some(arena) = &mut self.arena {
            // SAFETY: by Vulkan's rules no submission of the command buffer is under way.
            unsafe { arena.reset() };
        }
        // SAFETY: as above.
        unsafe { self.descriptor_pools.reset(self.emulation.context().device()) };
        self.command_count = 0;
    }

    /// Gives back the memory that is kept for what is recorded next. Nothing uses it any more.
    pub(crate) fn release(&mut self) {
        self.spare = Vec::new();
        let (arena, commands) = (self.arena.take(), std::mem::take(&mut self.commands));
        let ctx = self.emulation.context();
        // SAFETY: by Vulkan's rules no submission of the command buffer is under way when it is reset or freed.
        unsafe { self.descriptor_pools.release(ctx.device()) };
        self.emulation.memory().with(|allocator| {
            // SAFETY: as above.
            unsafe {
                if let Some(arena) = arena {
                    arena.destroy(ctx, allocator);
                }
                for buffer in commands {
                    buffer.destroy(ctx, allocator);
                }
            }
        });
    }

    /// Forgets what was hoisted, and keeps what it was collected in.
    fn forget(&mut self) {
        for hoisted in self.hoisted.drain(..) {
            if let Hoisted::Capture(capture) = hoisted
                && let Ok(capture) = Arc::try_unwrap(capture)
            {
                let mut capture = capture.into_inner().unwrap_or_else(PoisonError::into_inner);
                capture.clear();
                self.spare.push(capture);
            }
        }
    }

    fn fail(&mut self, what: &str, error: &RuntimeError) {
        tracing::error!("{what}: {error}");
        self.failed = Some(match error {
            RuntimeError::Vulkan { result, .. } => *result,
            RuntimeError::ArenaFull { .. } | RuntimeError::Allocation { .. } => {
                vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
            }
            _ => vk::Result::ERROR_UNKNOWN,
        });
    }

    /// Why the command buffer cannot be recorded, if so.
    pub(crate) const fn failed(&self) -> Option<vk::Result> {
        self.failed
    }

    fn is_inside(&self) -> bool {
        self.continues || self.pass.is_some()
    }

    // -- Passes

    /// A render pass instance begins. What its render pass asks of captures comes with it.
    pub(super) fn begin_pass(&mut self, around: Around) {
        self.begin(Pass { side: self.side(around.orders_captures), around, ..Pass::default() });
    }

    /// Dynamic rendering begins, or goes on.
    pub(super) fn begin_rendering(&mut self, flags: vk::RenderingFlags) {
        let resumes = flags.contains(vk::RenderingFlags::RESUMING);
        let suspends = flags.contains(vk::RenderingFlags::SUSPENDING);
        let side = match (suspends, resumes) {
            // Nothing may stand between it and the one that goes on with it.
            (true, _) => Side::Before,
            (false, true) => Side::Behind,
            (false, false) => self.side(false),
        };
        self.begin(Pass { side, resumes, ..Pass::default() });
    }

    fn side(&self, orders_captures: bool) -> Side {
        // Without a counter no draw counts vertices by one.
        match orders_captures || self.emulation.objects().have_counters() {
            true => Side::Before,
            false => Side::Behind,
        }
    }

    fn begin(&mut self, pass: Pass) {
        if pass.side == Side::Before {
            self.state.disturbed.begin_pass();
        }
        self.pass = Some(Pass { condition: self.state.conditional_rendering, ..pass });
    }

    /// Whether the pass has to be withheld: captures come before it.
    pub(crate) fn withhold(&self) -> bool {
        self.pass.as_ref().is_none_or(|pass| pass.side == Side::Before)
    }

    /// A pass is about to end: captures that come before it are recorded.
    ///
    /// # Safety
    /// The command buffer is being recorded, and stands before the pass if that is withheld.
    pub(super) unsafe fn end_pass(&mut self, cmd: vk::CommandBuffer) {
        if let Some(mut pass) = self.pass.take_if(|pass| pass.side == Side::Before) {
            // SAFETY: the caller's contract.
            unsafe { self.play(cmd, &mut pass) };
            self.state.disturbed.end_pass();
            self.pass = Some(pass);
        }
    }

    /// A pass has ended: captures that come behind it are recorded, and what its render pass asks behind both.
    ///
    /// # Safety
    /// The command buffer is being recorded, and stands behind the pass.
    pub(super) unsafe fn leave_pass(&mut self, cmd: vk::CommandBuffer) {
        let Some(mut pass) = self.pass.take() else { return };
        // SAFETY: the caller's contract.
        unsafe {
            if pass.side == Side::Behind {
                self.play(cmd, &mut pass);
            }
            if pass.has_captures {
                let barrier = self.emulation.pipeline_barrier();
                pass.around.after.record(Kind::BehindPass, barrier, cmd);
            }
        }
    }

    /// Records what was hoisted.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a render pass.
    unsafe fn play(&mut self, cmd: vk::CommandBuffer, pass: &mut Pass) {
        pass.has_captures = !self.hoisted.is_empty();
        if self.hoisted.is_empty() || self.failed.is_some() {
            self.forget();
            return;
        }
        if pass.resumes && pass.side == Side::Before {
            tracing::error!(
                "a capture in dynamic rendering that is resumed and suspended again: nothing may come before it or behind it"
            );
            self.failed = Some(vk::Result::ERROR_UNKNOWN);
            self.forget();
            return;
        }
        if !pass.around.between.is_empty() {
            static TOLD: Once = Once::new();
            TOLD.call_once(|| {
                tracing::warn!(
                    "captures come before all else of their pass: where a subpass waits for captures of another, \
                     draws may read what a later capture writes"
                );
            });
        }
        let emulation = Arc::clone(&self.emulation);
        let Pass { around, condition, .. } = pass;
        // SAFETY: the caller's contract.
        unsafe {
            if condition.is_some() {
                emulation.end_conditional_rendering(cmd);
            }
            around.before.record(Kind::BeforeCaptures, emulation.pipeline_barrier(), cmd);
            let hoisted = std::mem::take(&mut self.hoisted);
            match pass.side {
                Side::Before => {
                    tracing::trace!(
                        captures = hoisted.len(),
                        "captures are recorded before their pass"
                    );
                }
                Side::Behind => {
                    tracing::trace!(
                        captures = hoisted.len(),
                        "captures are recorded behind their pass"
                    );
                }
            }
            for item in &hoisted {
                if matches!(item, Hoisted::Capture(_)) {
                    emulation.order_captures(cmd);
                }
                if let Err(error) = self.play_one(cmd, item) {
                    self.fail("a capture", &error);
                    break;
                }
            }
            self.hoisted = hoisted;
            around.behind.record(Kind::BehindCaptures, emulation.pipeline_barrier(), cmd);
            self.state.disturbed.before().restore(&emulation, cmd);
            if let Some(condition) = condition {
                emulation.begin_conditional_rendering(cmd, condition);
            }
        }
        self.forget();
    }

    /// # Safety
    /// As [`play`](Self::play).
    unsafe fn play_one(
        &mut self,
        cmd: vk::CommandBuffer,
        item: &Hoisted,
    ) -> Result<(), RuntimeError> {
        // SAFETY: the caller's contract.
        unsafe {
            self.with_arena(|emulation, arena| match item {
                Hoisted::Capture(capture) => {
                    let mut capture = capture.lock().unwrap_or_else(PoisonError::into_inner);
                    capture.play(arena, cmd).map(drop)
                }
                Hoisted::Commands(draw, commands) => {
                    let (ctx, kernels) = (emulation.context(), emulation.kernels());
                    kernels.write_draw_commands(ctx, arena, cmd, &[*draw], commands)
                }
            })
        }
    }

    /// Does something with the arena, which is made where there is none, and grows.
    ///
    /// # Errors
    /// A failed allocation, or what the call says.
    ///
    /// # Safety
    /// The device is live.
    unsafe fn with_arena(
        &mut self,
        call: impl for<'a> FnOnce(&'a Emulation, ArenaAccess<'a>) -> Result<(), RuntimeError>,
    ) -> Result<(), RuntimeError> {
        let emulation = Arc::clone(&self.emulation);
        let called = emulation.memory().with(|allocator| {
            // SAFETY: the caller's contract.
            unsafe {
                let arena = match &mut self.arena {
                    Some(arena) => arena,
                    none => none.insert(Arena::new(emulation.context(), allocator, &ARENA)?),
                };
                call(&emulation, arena.growing(allocator))
            }
        });
        called.unwrap_or(Ok(()))
    }

    /// A capture to collect in.
    fn spare_capture(&mut self) -> Capture {
        let spare = self.spare.pop();
        spare.unwrap_or_else(|| Capture::new(self.emulation.context(), self.emulation.kernels()))
    }

    /// What secondary command buffers captured is captured by this one.
    pub(super) fn execute(&mut self, hoisted: Vec<Hoisted>) {
        if hoisted.iter().any(|hoisted| matches!(hoisted, Hoisted::Commands(..))) {
            self.refuse_behind();
        }
        self.hoisted.extend(hoisted);
    }

    /// A draw of what was captured needs its arguments before the pass.
    fn refuse_behind(&mut self) {
        if self.pass.as_ref().is_some_and(|pass| pass.side == Side::Behind) {
            tracing::error!(
                "vkCmdDrawIndirectByteCountEXT in a pass that was begun before there was a buffer for counters, or that \
                 goes on with one that was suspended: its arguments cannot be computed before the pass"
            );
            self.failed = Some(vk::Result::ERROR_UNKNOWN);
        }
    }

    /// What is captured where this command buffer is executed.
    pub(crate) fn hoisted(&self) -> Vec<Hoisted> {
        self.hoisted.clone()
    }

    /// What a command buffer finds behind others that it executed.
    pub(super) fn forget_state(&mut self) {
        self.state.forget();
        self.variant = None;
    }

    // -- Captures

    /// `vkCmdBeginTransformFeedbackEXT`
    pub(super) fn begin_capture(&mut self, counters: [Option<CounterBuffer>; BUFFERS]) {
        tracing::trace!("vkCmdBeginTransformFeedbackEXT: the capture is ours");
        let capture = self.spare_capture();
        self.state.changed = Changed::ALL;
        self.active = Some(Active { capture, counters, is_begun: false, counts: [false; 2] });
        self.find_pipeline();
    }

    /// `vkCmdEndTransformFeedbackEXT`
    ///
    /// # Safety
    /// Its contract.
    pub(super) unsafe fn end_capture(&mut self, counters: [Option<CounterBuffer>; BUFFERS]) {
        // SAFETY: the caller's contract.
        let ready = unsafe { self.begin_collecting() };
        let Some(mut active) = self.active.take() else { return };
        if ready.is_ok() && !active.is_begun {
            // Draws are right, and so the command buffer goes on.
            tracing::warn!("nothing was captured: the pipeline does not");
            let counters = counters_without_captures(&active.counters, counters);
            if counters.iter().all(Option::is_none) {
                self.spare.push(active.capture);
                return;
            }
            let ended = active.capture.begin_inactive();
            // SAFETY: the caller's contract.
            let ended = ended.and_then(|()| unsafe { active.capture.end(&counters) });
            return self.hoist(active.capture, ended.map_err(PipelineError::from));
        }
        // SAFETY: the caller's contract.
        let ended = ready.and_then(|()| unsafe { Ok(active.capture.end(&counters)?) });
        self.hoist(active.capture, ended);
    }

    /// A capture is ended: it is recorded before its pass.
    fn hoist(&mut self, capture: Capture, ended: Result<(), PipelineError>) {
        match ended {
            Ok(()) => self.hoisted.push(Hoisted::Capture(Arc::new(Mutex::new(capture)))),
            Err(error) => self.refuse("vkCmdEndTransformFeedbackEXT", &error),
        }
    }

    /// Whether a command says the pipeline layout. `VK_EXT_device_generated_commands` lets its chain say what of one
    /// there is instead; the extension is hidden, so that is refused.
    pub(super) fn has_layout(&mut self, what: &str, layout: vk::PipelineLayout) -> bool {
        let has_it = layout != vk::PipelineLayout::null();
        if !has_it {
            self.refuse(what, &PipelineError::Layout);
        }
        has_it
    }

    fn refuse(&mut self, what: &str, error: &PipelineError) {
        match error {
            PipelineError::Runtime(error) => self.fail(what, error),
            error => {
                tracing::error!("{what}: {error}");
                self.failed = Some(vk::Result::ERROR_UNKNOWN);
            }
        }
    }

    /// Begins the capture, unless it is begun: with the pipeline of the state.
    ///
    /// # Safety
    /// What is bound is valid.
    unsafe fn begin_collecting(&mut self) -> Result<(), PipelineError> {
        let is_begun = self.active.as_ref().is_none_or(|active| active.is_begun);
        if is_begun && !self.state.changed.vertex_input {
            return Ok(());
        }
        // SAFETY: the caller's contract.
        let Some(pipeline) = unsafe { self.current_variant() }? else { return Ok(()) };
        if is_begun {
            return Ok(());
        }
        let vertex_buffers = self.vertex_buffers();
        let Some(active) = &mut self.active else { return Ok(()) };
        let desc = CaptureDesc {
            pipeline: &pipeline,
            buffers: &self.state.capture_buffers,
            vertex_buffers: &vertex_buffers,
            counters: &active.counters,
        };
        // SAFETY: the caller's contract.
        unsafe { active.capture.begin(&desc) }?;
        active.is_begun = true;
        for (kind, query) in self.queries.iter().enumerate() {
            if let Some(ActiveQuery { queries, query }) = query
                && let Some(pool) = queries.pool()
            {
                // SAFETY: the caller's contract.
                unsafe { active.capture.recorder().begin_query(pool, *query) }?;
                active.counts[kind] = true;
            }
        }
        Ok(())
    }

    /// The compute pipeline of the state.
    ///
    /// # Safety
    /// The device is live.
    unsafe fn current_variant(
        &mut self,
    ) -> Result<Option<vkxfb::runtime::Pipeline>, PipelineError> {
        if !self.state.changed.vertex_input {
            return Ok(self.variant.clone());
        }
        let Some(pipeline) = self.state.pipeline.clone() else { return Ok(None) };
        let cache = vk::PipelineCache::null();
        // SAFETY: the caller's contract.
        let variant = unsafe {
            match (pipeline.dynamic.vertex_input, &self.state.vertex_input) {
                (false, _) => pipeline.static_variant(cache),
                (true, Ok(vertex_input)) => pipeline.variant(vertex_input, cache),
                (true, Err(error)) => Err(PipelineError::VertexInput(error.clone())),
            }
        }?;
        self.variant = Some(variant);
        Ok(self.variant.clone())
    }

    /// Those that the pipeline may read: what is not bound is null, and nothing of it lies within.
    fn vertex_buffers(&self) -> Vec<VertexBuffer> {
        let state = &self.state;
        let Some(pipeline) = &state.pipeline else { return Vec::new() };
        let dynamic = pipeline.dynamic;
        let input = match (dynamic.vertex_input, &state.vertex_input) {
            (false, _) => &pipeline.vertex_input,
            (true, Ok(input)) => input,
            (true, Err(_)) => return Vec::new(),
        };
        let has_strides = dynamic.stride || dynamic.vertex_input;
        let bound = input.bindings.iter().map(|binding| {
            let binding = binding.binding;
            let bound = state.vertex_buffers.get(binding as usize).copied().unwrap_or_default();
            let BoundVertexBuffer { buffer, offset, .. } = bound;
            let size = self.reached_size(buffer, offset, bound.size);
            let stride = bound.stride.filter(|_| has_strides);
            VertexBuffer { binding, buffer, offset, size, stride }
        });
        bound.collect()
    }

    /// Bytes of a range that may be all of the rest of its buffer.
    pub(super) fn size(&self, buffer: vk::Buffer, offset: u64, size: u64) -> u64 {
        match size {
            vk::WHOLE_SIZE => {
                let buffer = self.emulation.objects().buffers.get(buffer);
                buffer.map_or(0, |buffer| buffer.size.saturating_sub(offset))
            }
            size => size,
        }
    }

    /// Whether transform feedback is active.
    pub(crate) const fn is_active(&self) -> bool {
        self.active.is_some()
    }

    /// Looks up what is known of the graphics pipeline.
    pub(super) fn find_pipeline(&mut self) {
        self.state.pipeline = self.emulation.objects().pipelines.get(self.state.bound_pipeline);
    }

    /// A draw. `record` captures it.
    ///
    /// # Safety
    /// What is bound is valid, and so are the draw's arguments.
    #[inline]
    pub(super) unsafe fn draw(
        &mut self,
        record: impl FnOnce(&mut Recorder<'_>, PrimitiveTopology) -> Result<(), RuntimeError>,
    ) -> Forward {
        match self.is_active() {
            // SAFETY: the caller's contract.
            true => unsafe { self.draw_captured(record) },
            false => Forward::Yes,
        }
    }

    /// # Safety
    /// As [`draw`](Self::draw).
    #[inline(never)]
    unsafe fn draw_captured(
        &mut self,
        record: impl FnOnce(&mut Recorder<'_>, PrimitiveTopology) -> Result<(), RuntimeError>,
    ) -> Forward {
        // SAFETY: the caller's contract.
        if let Err(error) = unsafe { self.capture_draw(record) } {
            self.refuse("a draw", &error);
        }
        match self.discards() {
            true => Forward::No,
            false => Forward::Yes,
        }
    }

    /// Whether a draw has no effect beside its capture.
    fn discards(&self) -> bool {
        let Some(pipeline) = &self.state.pipeline else { return false };
        let discard = match pipeline.dynamic.discard {
            true => self.state.discard,
            false => pipeline.discard,
        };
        discard && self.other_queries == 0
    }

    /// # Safety
    /// As [`draw`](Self::draw).
    unsafe fn capture_draw(
        &mut self,
        record: impl FnOnce(&mut Recorder<'_>, PrimitiveTopology) -> Result<(), RuntimeError>,
    ) -> Result<(), PipelineError> {
        // SAFETY: the caller's contract.
        unsafe { self.begin_collecting() }?;
        let Some(pipeline) = self.state.pipeline.clone() else {
            tracing::debug!("a draw between Begin and End without a pipeline that captures");
            return Ok(());
        };
        let changed = std::mem::take(&mut self.state.changed);
        let vertex_buffers =
            (changed.vertex_input || changed.vertex_buffers).then(|| self.vertex_buffers());
        let index_buffer = self.state.index_buffer.filter(|_| changed.index_buffer).map(|bound| {
            let BoundIndexBuffer { buffer, offset, index_type, .. } = bound;
            let size = self.reached_size(buffer, offset, bound.size);
            IndexBuffer { buffer, offset, size, index_type }
        });
        if changed.sets || changed.vertex_input {
            // SAFETY: the caller's contract.
            unsafe { self.write_pushed_sets() }?;
        }
        let (state, variant) = (&self.state, &self.variant);
        let Some(Active { capture, .. }) = &mut self.active else { return Ok(()) };
        let mut recorder = capture.recorder();
        // SAFETY: the caller's contract.
        unsafe {
            if changed.vertex_input
                && let Some(variant) = variant
            {
                recorder.bind_pipeline(variant)?;
            }
            if let Some(buffers) = vertex_buffers {
                recorder.bind_vertex_buffers(&buffers)?;
            }
            if let Some(buffer) = &index_buffer {
                recorder.bind_index_buffer(buffer)?;
            }
            if (changed.sets || changed.vertex_input)
                && let Some(variant) = variant
            {
                // Others may be of another layout.
                for number in variant.used_sets() {
                    if let Some(pushed) = state.pushed_sets.over(*number, &state.sets) {
                        recorder.bind_descriptor_sets(*number, &[pushed.written], &[])?;
                        continue;
                    }
                    let bound = state.sets.get(*number as usize).and_then(Option::as_ref);
                    let bound = bound.ok_or(PipelineError::NoSet(*number))?;
                    recorder.bind_descriptor_sets(*number, &[bound.set], &bound.dynamic_offsets)?;
                }
            }
            if changed.constants {
                let constants = state.disturbed.vertex_constants();
                if !constants.is_empty() {
                    recorder.push_constants(0, &constants)?;
                }
            }
            if changed.conditional_rendering {
                // Ending what is not active is no error of the application.
                _ = recorder.end_conditional_rendering();
                if let Some(condition) = &state.conditional_rendering {
                    recorder.begin_conditional_rendering(condition)?;
                }
            }
        }
        if pipeline.dynamic.restart {
            recorder.set_primitive_restart(state.restart)?;
        }
        if pipeline.dynamic.provoking_vertex {
            recorder.set_provoking_vertex(provoking(state.is_last_provoking))?;
        }
        let topology = match pipeline.dynamic.topology {
            true => state.topology,
            false => pipeline.topology,
        };
        let topology = PrimitiveTopology::try_from(topology);
        let topology = topology.map_err(|error| {
            tracing::error!("a draw: {error}");
            PipelineError::Stage("tessellation")
        })?;
        Ok(record(&mut recorder, topology)?)
    }

    /// Has what was pushed in sets that the pipeline's captures can read.
    ///
    /// # Safety
    /// What was pushed is valid.
    unsafe fn write_pushed_sets(&mut self) -> Result<(), RuntimeError> {
        let Some(variant) = &self.variant else { return Ok(()) };
        let (state, pools) = (&mut self.state, &mut self.descriptor_pools);
        for number in variant.used_sets() {
            if state.pushed_sets.over(*number, &state.sets).is_some() {
                let device = self.emulation.context().device();
                // SAFETY: the caller's contract.
                unsafe { state.pushed_sets.write(*number, device, pools) }?;
            }
        }
        Ok(())
    }

    /// `vkCmdDrawIndirectByteCountEXT`
    ///
    /// # Safety
    /// Its contract.
    pub(super) unsafe fn draw_byte_count(&mut self, draw: ByteCountDraw) -> Forward {
        // SAFETY: the caller's contract.
        let forward = unsafe {
            self.draw(|recorder, topology| recorder.draw_indirect_byte_count(topology, &draw))
        };
        if forward == Forward::No {
            return forward;
        }
        self.refuse_behind();
        match self.place_command() {
            Ok(commands) => {
                self.hoisted.push(Hoisted::Commands(draw, commands));
                Forward::DrawIndirect(commands.buffer, commands.offset)
            }
            Err(error) => {
                self.fail("vkCmdDrawIndirectByteCountEXT", &error);
                Forward::No
            }
        }
    }

    /// Room for the arguments of a draw.
    fn place_command(&mut self) -> Result<DrawCommands, RuntimeError> {
        let per_buffer = COMMANDS / COMMAND;
        let (number, place) = (self.command_count / per_buffer, self.command_count % per_buffer);
        if number as usize == self.commands.len() {
            let ctx = self.emulation.context();
            let desc = BufferDesc {
                name: "arguments of draws of what was captured",
                size: COMMANDS,
                usage: ctx.draw_command_usage(),
                location: MemoryLocation::Device,
            };
            let made = self.emulation.memory().with(|allocator| {
                // SAFETY: the device is live.
                unsafe { Buffer::new(ctx, allocator, &desc) }
            });
            self.commands.extend(made.transpose()?);
        }
        let buffer = self.commands.get(number as usize).ok_or(RuntimeError::NoKernels)?.raw();
        self.command_count += 1;
        Ok(DrawCommands { buffer, offset: place * COMMAND, stride: 0 })
    }

    // -- Queries

    /// A query of the layer's begins.
    ///
    /// # Safety
    /// The contract of `vkCmdBeginQuery`.
    pub(super) unsafe fn begin_query(&mut self, queries: Arc<Queries>, query: u32) {
        let Some(pool) = queries.pool() else { return };
        let kind = pool.kind() as usize;
        let mut result = Ok(());
        if let Some(active) = self.active.as_mut().filter(|active| active.is_begun) {
            // SAFETY: the caller's contract.
            result = unsafe { active.capture.recorder().begin_query(pool, query) };
            active.counts[kind] = true;
        }
        self.queries[kind] = Some(ActiveQuery { queries, query });
        if let Err(error) = result {
            self.fail("vkCmdBeginQuery", &error);
        }
    }

    /// A query of the layer's ends.
    ///
    /// # Safety
    /// The contract of `vkCmdEndQuery`; outside of a pass nothing is recorded in one.
    pub(super) unsafe fn end_query(
        &mut self,
        cmd: vk::CommandBuffer,
        queries: &Arc<Queries>,
        query: u32,
    ) {
        let Some(pool) = queries.pool() else { return };
        let kind = pool.kind();
        self.queries[kind as usize] = None;
        // SAFETY: the caller's contract.
        let result = unsafe { self.end_query_of(pool, kind, query) };
        if let Err(error) = result {
            self.fail("vkCmdEndQuery", &error);
        }
        if !self.is_inside() {
            let condition = self.state.conditional_rendering;
            let mut here = Pass { condition, ..Pass::default() };
            // SAFETY: the caller's contract.
            unsafe { self.play(cmd, &mut here) };
        }
    }

    /// # Safety
    /// As [`end_query`](Self::end_query).
    unsafe fn end_query_of(
        &mut self,
        pool: &vkxfb::runtime::QueryPool,
        kind: QueryKind,
        query: u32,
    ) -> Result<(), RuntimeError> {
        if let Some(active) = &mut self.active
            && std::mem::take(&mut active.counts[kind as usize])
        {
            return active.capture.recorder().end_query(kind);
        }
        // What counted for it was recorded before: it becomes available behind that.
        let mut capture = self.spare_capture();
        capture.begin_inactive()?;
        // SAFETY: the caller's contract.
        unsafe { capture.recorder().begin_query(pool, query) }?;
        capture.recorder().end_query(kind)?;
        self.hoisted.push(Hoisted::Capture(Arc::new(Mutex::new(capture))));
        Ok(())
    }

    /// Records something of the layer's own outside of a pass: with an arena, and what it disturbs bound again.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a pass.
    pub(super) unsafe fn record_outside(
        &mut self,
        what: &str,
        cmd: vk::CommandBuffer,
        record: impl for<'a> FnOnce(&'a Emulation, ArenaAccess<'a>) -> Result<(), RuntimeError>,
    ) {
        let emulation = Arc::clone(&self.emulation);
        let suspended = self.state.conditional_rendering;
        // SAFETY: the caller's contract.
        unsafe {
            if suspended.is_some() {
                emulation.end_conditional_rendering(cmd);
            }
            if let Err(error) = self.with_arena(record) {
                self.fail(what, &error);
            }
            self.state.disturbed.before().restore(&emulation, cmd);
            if let Some(condition) = suspended {
                emulation.begin_conditional_rendering(cmd, &condition);
            }
        }
    }
}

/// The counters that become 0 at the end of what captured nothing, as they begin with nothing. Others keep what they
/// hold at the beginning.
fn counters_without_captures(
    begin: &[Option<CounterBuffer>; BUFFERS],
    mut end: [Option<CounterBuffer>; BUFFERS],
) -> [Option<CounterBuffer>; BUFFERS] {
    for (begin, end) in begin.iter().zip(&mut end) {
        let (Some(first), Some(last)) = (begin, *end) else { continue };
        if (first.buffer, first.offset) != (last.buffer, last.offset) {
            tracing::error!("a counter is not copied to another place: no pipeline captures");
        }
        *end = None;
    }
    end
}

impl Drop for Captures {
    fn drop(&mut self) {
        self.release();
    }
}
